/* explain.c - explains and shortens a compiler's log.
 *
 * Compilers word their errors differently, but all print the identifiers that an error is about. */
#include "program/explain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- lines ---- */

/* [chars, end) without the newline; `next` is the start of the next line. */
typedef struct line {
    const char *chars, *end, *next;
} line;

static line line_at(const char *text)
{
    const char *end = text + strcspn(text, "\n");
    return (line){ text, end, *end ? end + 1 : end };
}

/* The first occurrence of `what` in a line, or NULL. */
static const char *find_in_line(line l, const char *what)
{
    const size_t length = strlen(what);
    for (const char *c = l.chars; c + length <= l.end; ++c)
        if (*c == *what && memcmp(c, what, length) == 0) return c;
    return NULL;
}

/* Whether a line starts a message of that kind: "error: FILE:..." or "FILE:...: error: ..." */
static bool starts_message(line l, const char *kind)
{
    const char *found = find_in_line(l, kind);
    return found && (found == l.chars || found[-1] == ' ');
}

static bool starts_error(line l) { return starts_message(l, "error:"); }

static bool has_identifier(line l, const char *name)
{
    const size_t length = strlen(name);
    const bool is_whole = ndr_word_has(name[length - 1]) && name[length - 1] != '_';
    for (const char *at = find_in_line(l, name); at; at = find_in_line((line){ at + 1, l.end, NULL }, name)) {
        const bool is_start = at == l.chars || !ndr_word_has(at[-1]);
        if (is_start && !(is_whole && ndr_word_has(at[length]))) return true;
    }
    return false;
}

bool ndr_explain_has(const char *chars, const char *end, const char *name)
{
    return has_identifier((line){ chars, end, end }, name);
}

/* ---- mistakes with the hidden record ---- */

#define FORMS                                                                                                      \
    "NDR_ITEM belongs to a kernel that ends its parameters with NDR_RANGE, NDR_ND_ITEM to one with NDR_ND_RANGE: " \
    "use a matching pair"
#define DIMS                                                                                                        \
    "NDR_ITEM takes as many dimensions as the kernel's NDR_RANGE, and NDR_ND_ITEM as NDR_ND_RANGE: write the same " \
    "number in both, 1 to 3, or 0 to leave it to the launch"
#define REDUCTIONS                                                                                                 \
    "NDR_REDUCE belongs to a kernel that ends its parameters with NDR_REDUCTION, NDR_ITEM to one with NDR_RANGE, " \
    "NDR_ND_ITEM to one with NDR_ND_RANGE: use a matching pair"
#define ONE_LEVEL                                                                                                     \
    "NDR_REDUCE and variables in local memory stand in the body of a kernel, outside of branches, loops and blocks: " \
    "move them there"
#define A_GROUP "this takes a group: pass ndr_get_group(it), of an item that NDR_ND_ITEM made"

#define HALF                                                                                                           \
    "the device lacks cl_khr_fp16, so kernels can neither compute with half nor take it by value: take a float, or a " \
    "pointer to half with vload_half() and vstore_half()"

#define COMBINE \
    "a reducer takes values only by NDR_COMBINE: write NDR_COMBINE(sum, x) in place of sum += x, for every operator"
#define NO_RAND                                                                                                   \
    "OpenCL C has no rand(): #include \"ndr/random.clh\", and call ndr_random_uint(ndr_random_of(seed, id), i) " \
    "with the item's id and a seed that the host passes"

/* The cause of an error with these identifiers. */
static const struct {
    const char *names[2];
    const char *sentence;
} mistakes[] = {
    { { "pasting", "ndr_reducer_" },
      "NDR_REDUCTION has names of its own for operators: write (SUM, float, s) in place of (NDR_PLUS, float, s), or "
      "PRODUCT, MIN, MAX, and for integers BIT_AND, BIT_OR or BIT_XOR" },
    { { "operands", "ndr_reducer_" }, COMBINE },
    { { "incompatible", "ndr_reducer_" }, COMBINE },
    { { "undeclared", "rand" }, NO_RAND },
    { { "implicit", "rand" }, NO_RAND },
    { { "extern", "rand" }, NO_RAND },
    { { "size_t", "kernel parameter" },
      "size_t has another size on other devices, so a kernel cannot take one: write ulong for the parameter, and pass "
      "a uint64_t" },
    { { "bool", "kernel parameter" },
      "bool has no size that the host knows, so a kernel cannot take one: write int for the parameter" },
    { { "unknown", "ndr_reducer_" },
      "NDR_REDUCTION does not take this operator with this type: write (SUM, T, name), or PRODUCT, MIN, MAX, and for "
      "integers BIT_AND, BIT_OR or BIT_XOR; T is char to ulong, float, or double if the device has it" },
    { { "NDR_REDUCER_PARAMETER_OF_" },
      "NDR_REDUCTION takes 1 to 3 dimensions, and then 1 to 8 reducers, each in parentheses: write NDR_REDUCTION(1, "
      "(SUM, float, sum), (MIN, float, least))" },
    { { "ndr_reducers_need_variadic_macros" },
      "this compiler has no variadic macros, which reducers (NDR_REDUCTION) need: leave out -cl-std, or use "
      "ndr_reduce()" },
    { { "redefinition", "ndr_gathered_" }, "a kernel has one NDR_REDUCE: combine all its reducers in that" },
    { { "ndr_reduction_record_", "ndr_range_record_" }, REDUCTIONS },
    { { "ndr_reduction_record_", "ndr_nd_range_record_" }, REDUCTIONS },
    { { "ndr_reduction_record_" },
      "NDR_REDUCE takes as many dimensions as the kernel's NDR_REDUCTION and names all its reducers: write the same "
      "dimensions and reducers in both" },
    { { "ndr_gathered_" }, ONE_LEVEL },
    { { "outermost" }, ONE_LEVEL },
    { { "undeclared", "ndr_now_" },
      "NDR_COMBINE takes a reducer that NDR_REDUCE names, and works only in the statement behind that" },
    { { "ndr_record_" },
      "NDR_ITEM, NDR_ND_ITEM and NDR_REDUCE work in a kernel that ends its parameters with NDR_RANGE, NDR_ND_RANGE or "
      "NDR_REDUCTION, behind a comma: add that to the kernel, and pass the item to helper functions" },
    { { "ndr_scratch_" }, FORMS },
    { { "ndr_range_record_", "ndr_nd_range_record_" }, FORMS },
    { { "ndr_range_record_" }, DIMS },
    { { "ndr_nd_range_record_" }, DIMS },
    { { "ndr_item_of_" }, DIMS },
    { { "ndr_nd_item_of_" }, DIMS },
    { { "NDR_ITEM" }, DIMS },
    { { "NDR_ND_ITEM" }, DIMS },
    { { "ndr_item", "ndr_nd_item" }, "NDR_ITEM makes an ndr_item, and NDR_ND_ITEM an ndr_nd_item: name that type" },
    { { "ndr_item", "ndr_group" }, A_GROUP },
    { { "ndr_nd_item", "ndr_group" }, A_GROUP },
    { { "'pipe'" },
      "pipe is a reserved word of OpenCL C 2.0 and later: choose another name, or build with -cl-std=CL1.2" },
    { { "'generic'" }, "generic is a reserved word of OpenCL C 2.0 and later: choose another name" },
    { { "declaring", "half" }, HALF },
    { { "cl_khr_fp16" }, HALF },
};

static bool add_mistake(line l, ndr_text *out)
{
    for (size_t i = 0; i < NDR_COUNT_OF(mistakes); ++i)
        if (has_identifier(l, mistakes[i].names[0])
            && (!mistakes[i].names[1] || has_identifier(l, mistakes[i].names[1]))) {
            ndr_text_add(out, "%s", mistakes[i].sentence);
            return true;
        }
    return false;
}

/* Adds "name: why". */
static bool add_reason(const char *name, const char *name_end, const char *why, line l, ndr_text *out)
{
    if (strncmp(name, "ndr_", 4) != 0) return false;
    ndr_text_add(out, "%.*s: %.*s", (int)(name_end - name), name, (int)(l.end - why), why);
    return true;
}

/* A call that the vocabulary refuses itself: "'ndr_group_barrier' is unavailable: a range has no groups", or in older
 * compilers "unavailable function 'ndr_group_barrier': a range has no groups". */
static bool add_refusal(line l, ndr_text *out)
{
    static const char behind[] = "' is unavailable: ", before[] = "unavailable function '", colon[] = "': ";
    const char *found = find_in_line(l, behind), *name = found;
    while (name && name > l.chars && ndr_word_has(name[-1])) --name;
    if (name) return add_reason(name, found, found + strlen(behind), l, out);
    found = find_in_line(l, before);
    if (!found) return false;
    name = found + strlen(before);
    const char *end = find_in_line((line){ name, l.end, NULL }, colon);
    return end && add_reason(name, end, end + strlen(colon), l, out);
}

/* ---- names of the host ---- */

static const struct {
    const char *host, *device;
} operators[] = { { "NDR_OP_SUM", "NDR_PLUS" },        { "NDR_OP_PRODUCT", "NDR_MULTIPLIES" },
                  { "NDR_OP_MIN", "NDR_MINIMUM" },     { "NDR_OP_MAX", "NDR_MAXIMUM" },
                  { "NDR_OP_BIT_AND", "NDR_BIT_AND" }, { "NDR_OP_BIT_OR", "NDR_BIT_OR" },
                  { "NDR_OP_BIT_XOR", "NDR_BIT_XOR" }, { "NDR_OP_LOGICAL_AND", "NDR_LOGICAL_AND" },
                  { "NDR_OP_LOGICAL_OR", "NDR_LOGICAL_OR" } };

static bool add_operator(line l, ndr_text *out)
{
    for (size_t i = 0; i < NDR_COUNT_OF(operators); ++i) {
        if (!has_identifier(l, operators[i].host)) continue;
        ndr_text_add(out,
                     "%s is a name of the host: in a kernel write %s (ndr/op.clh), and %s in the parentheses of "
                     "NDR_REDUCTION",
                     operators[i].host, operators[i].device, operators[i].host + strlen("NDR_OP_"));
        return true;
    }
    return false;
}

/* ---- names whose header is missing ---- */

/* The first file of the vocabulary that contains a name, in the order of ndr/ndr.clh, where each file comes after
 * those that it needs. NULL: none. */
static const ndr_source_file *find_header(const char *name)
{
    char path[64];
    int read = 0;
    const ndr_source_file *all = ndr_source_find("ndr/ndr.clh");
    for (const char *at = strstr(all->text, "#include"); at; at = strstr(at + read, "#include")) {
        if (sscanf(at, "#include \"%63[^\"]\"%n", path, &read) != 1) return NULL;
        const ndr_source_file *file = ndr_source_find(path);
        if (file && has_identifier((line){ file->text, file->text + file->length, NULL }, name)) return file;
    }
    return NULL;
}

/* The next public identifier of the vocabulary from `at` on; false: none. */
static bool next_name(const char **at, const char *end, char name[64])
{
    const char *c = *at;
    while (c < end) {
        const char *start = c;
        while (c < end && ndr_word_has(*c)) ++c;
        const size_t length = (size_t)(c - start);
        *at = c;
        const bool is_ours = length > 4 && (strncmp(start, "ndr_", 4) == 0 || strncmp(start, "NDR_", 4) == 0);
        if (is_ours && length < 64 && start[length - 1] != '_') {
            snprintf(name, 64, "%.*s", (int)length, start);
            return true;
        }
        c += length == 0;
    }
    return false;
}

/* The same of ndr/matrix.clh, which ndr/ndr.clh leaves out. */
static bool add_tiles(const ndr_source *source, const char *name, ndr_text *out)
{
    const bool is_of_tiles = strncmp(name, "ndr_matrix", 10) == 0 || strncmp(name, "NDR_MATRIX", 10) == 0;
    if (!is_of_tiles || ndr_source_includes(source, "ndr/matrix.clh")) return false;
    ndr_text_add(out, "%s is declared in ndr/matrix.clh: #include \"ndr/matrix.clh\"", name);
    return true;
}

static bool add_header(const ndr_source *source, line l, ndr_text *out)
{
    char name[64];
    for (const char *at = l.chars; next_name(&at, l.end, name);) {
        if (add_tiles(source, name, out)) return true;
        const ndr_source_file *header = find_header(name);
        if (!header || ndr_source_includes(source, header->name)) continue;
        ndr_text_add(out, "%s is declared in %s: #include \"%s\", or \"ndr/ndr.clh\"", name, header->name,
                     header->name);
        return true;
    }
    return false;
}

/* An unknown macro at the end of a parameter list or around a name that it declares may cause an error that does not name
 * the macro: compilers may report an undeclared argument of a call before the function. */
static bool add_form(const ndr_source *source, ndr_text *out)
{
    static const char *const forms[] = { "NDR_RANGE",      "NDR_ND_RANGE",        "NDR_REDUCTION",   "NDR_REDUCE",
                                         "NDR_FOR_GLOBAL", "NDR_FOR_GROUPS",      "NDR_FOR_LOCAL",   "NDR_WORK_ITEMS",
                                         "NDR_PRIVATE",    "NDR_WORK_ITEMS_OVER", "NDR_GROUP_LOCAL", "NDR_ONCE" };
    for (size_t i = 0; i < NDR_COUNT_OF(forms); ++i)
        if (ndr_code_uses(&source->code, forms[i]) && add_header(source, line_at(forms[i]), out)) return true;
    return false;
}

/* ---- calls that fit no function ---- */

#define G "g is ndr_get_group(it) in an NDR_ND_RANGE kernel"
#define ANY_G G ", or a sub-group"
#define S "s is a sub-group"
#define SCALARS                                                                                                       \
    "scalars of one type: char to ulong, float, and double where the device has it; convert half to float, and call " \
    "once for each component of a vector"
#define OP "op is an operator such as NDR_PLUS, a bit operator only for integers"

/* The arguments of the vocabulary's functions, by the start of their names. */
static const struct {
    const char *name, *takes;
} calls[] = {
    { "ndr_atomic_", "a pointer to int, uint, long, ulong, float or double and a scalar that fits: for an integer, "
                     "cast a float; of a vector, take one component; convert half to float" },
    { "ndr_reduce_over_group", "(g, x, op) or (g, x, init, op): " ANY_G "; " OP "; x and init are " SCALARS },
    { "ndr_inclusive_scan_over_group", "(g, x, op) or (g, x, op, init): " ANY_G "; " OP "; x and init are " SCALARS },
    { "ndr_exclusive_scan_over_group", "(g, x, op) or (g, x, init, op): " ANY_G "; " OP "; x and init are " SCALARS },
    { "ndr_group_broadcast", "(g, x) or (g, x, id): " ANY_G "; x is one of the " SCALARS },
    { "ndr_group_barrier",
      "(g) or (g, fence): " ANY_G "; fence is NDR_FENCE_LOCAL, NDR_FENCE_GLOBAL or NDR_FENCE_BOTH" },
    { "ndr_group_copy",
      "(g, to, from, n) or (g, to, from, n, stride): " G "; to and from are a global and a local "
      "pointer, or the other way round, to the same scalars or vectors, of which n counts: cast any other pointer" },
    { "ndr_select_from_group", "(s, x, id): " S "; x is one of the " SCALARS },
    { "ndr_shift_group_", "(s, x, distance): " S "; x is one of the " SCALARS },
    { "ndr_permute_group_by_xor", "(s, x, mask): " S "; x is one of the " SCALARS },
    { "ndr_combine", "(a, b, op): " OP "; a and b are " SCALARS },
    { "ndr_joint_", "g first: " G "; then pointers to global or local " SCALARS },
    { "ndr_any_of_group", "(g, p): " ANY_G "; p is one bool, and any() or all() make one of a vector" },
    { "ndr_all_of_group", "(g, p): " ANY_G "; p is one bool, and any() or all() make one of a vector" },
    { "ndr_none_of_group", "(g, p): " ANY_G "; p is one bool, and any() or all() make one of a vector" },
};

/* Explain a call that matches no function, or more than one. */
static bool add_call(line l, ndr_text *out)
{
    static const char before[] = "call to '";
    const char *name = find_in_line(l, before);
    if (!name) return false;
    name += strlen(before);
    for (size_t i = 0; i < NDR_COUNT_OF(calls); ++i)
        if (strncmp(name, calls[i].name, strlen(calls[i].name)) == 0) {
            ndr_text_add(out, "%.*s takes %s", (int)strcspn(name, "'"), name, calls[i].takes);
            return true;
        }
    return false;
}

/* ---- macros that change the vocabulary ---- */

/* A line of the vocabulary. */
typedef struct place {
    const ndr_source_file *file;
    line line;
} place;

/* Read the next "kernels/ndr/item.clh:101" in `l`, which then begins behind it. False: there is none. */
static bool next_place(line *l, place *found)
{
    static const char folder[] = "kernels/";
    for (const char *at; (at = find_in_line(*l, "kernels/ndr/"));) {
        char name[64];
        unsigned long number;
        l->chars = at + strlen(folder);
        if (sscanf(l->chars, "%63[^:]:%lu", name, &number) != 2 || !(found->file = ndr_source_find(name))) continue;
        found->line = line_at(found->file->text);
        for (; number > 1 && *found->line.next; --number) found->line = line_at(found->line.next);
        return true;
    }
    return false;
}

enum { MIN_SHOWN = 24 }; /* a line of the user may be equal to a shorter one */

/* Some compilers use one name for all files, but show the line behind the error: find it in the vocabulary. */
static bool find_shown_line(line error, place *found)
{
    found->line = line_at(error.next);
    const char *start = found->line.chars + strspn(found->line.chars, " \t");
    char shown[256];
    snprintf(shown, sizeof shown, "%.*s", (int)(found->line.end - start), start);
    if (strlen(shown) < MIN_SHOWN) return false;
    for (found->file = ndr_embedded_files; found->file->name; ++found->file)
        if (strncmp(found->file->name, "ndr/", 4) == 0 && strstr(found->file->text, shown)) return true;
    return false;
}

/* Whether the macro of the user that is defined at `name` has the name of something in that line. */
static bool add_macro(const char *name, const place *where, ndr_text *out)
{
    char word[64];
    const size_t length = ndr_word_length(name);
    if (length == 0 || length >= sizeof word || strncmp(name, "NDR_", 4) == 0) return false;
    snprintf(word, sizeof word, "%.*s", (int)length, name);
    if (!has_identifier(where->line, word)) return false;
    ndr_text_add(out,
                 "the macro %s changes %s, which uses this name: give the macro another one, or define it behind "
                 "the #include",
                 word, where->file->name);
    return true;
}

static bool add_macros(const ndr_source *source, const char *options, const place *where, ndr_text *out)
{
    for (const char *at = strstr(options, "-D"); at; at = strstr(at + 2, "-D"))
        if (add_macro(at + 2 + strspn(at + 2, " \t\"'"), where, out)) return true;
    const char *macros = source->code.macros.chars;
    for (line l = line_at(macros ? macros : ""); *l.chars; l = line_at(l.next))
        if (add_macro(l.chars, where, out)) return true;
    return false;
}

/* An error in the vocabulary itself comes from a macro. Of an error inside another macro, the notes name its lines. */
static bool add_collision(const ndr_source *source, const char *options, line l, ndr_text *out)
{
    place where;
    line rest = l;
    if (!next_place(&rest, &where)) return find_shown_line(l, &where) && add_macros(source, options, &where, out);
    do {
        for (rest = l; next_place(&rest, &where);)
            if (add_macros(source, options, &where, out)) return true;
        l = line_at(l.next);
    } while (*l.chars && !starts_error(l));
    return false;
}

/* ---- the log ---- */

/* The nearest file of the vocabulary to "ndr/items.clh", or NULL. */
static const char *find_near_file(const char *name)
{
    const char *nearest = NULL;
    size_t least = strlen(name) / 3;
    for (const ndr_source_file *file = ndr_embedded_files; file->name; ++file) {
        const size_t distance = ndr_text_distance(file->name, name);
        if (strncmp(file->name, "ndr/", 4) != 0 || strstr(file->name, "/detail/") || distance > least) continue;
        least = distance;
        nearest = file->name;
    }
    return nearest;
}

static void add_vocabulary(ndr_text *out)
{
    const char *comma = "";
    for (const ndr_source_file *file = ndr_embedded_files; file->name; ++file) {
        if (strncmp(file->name, "ndr/", 4) != 0 || strstr(file->name, "/detail/")) continue;
        ndr_text_add(out, "%s%s", comma, file->name + strlen("ndr/"));
        comma = ", ";
    }
}

/* Files of the vocabulary are always pasted: if the compiler looks for one, its name is wrong, or a macro gives it. */
static bool add_missing_file(line l, ndr_text *out)
{
    char name[64];
    const char *found = find_in_line(l, "'ndr/");
    if (!found || !find_in_line(l, "not found") || sscanf(found, "'%63[^']", name) != 1) return false;
    const char *near = find_near_file(name);
    if (ndr_source_find(name))
        ndr_text_add(out,
                     "files of the vocabulary are included by their own names, which no macro puts together: write "
                     "#include \"%s\"",
                     name);
    else if (near)
        ndr_text_add(out, "the vocabulary has no %s: write #include \"%s\"%s", name, near,
                     strcmp(near, "ndr/ndr.clh") == 0 ? "" : ", or \"ndr/ndr.clh\" for all of it");
    else {
        ndr_text_add(out, "the vocabulary has no %s: write #include \"ndr/ndr.clh\" for all of it; in ndr/ it has ",
                     name);
        add_vocabulary(out);
    }
    return true;
}

/* Of a file of the user's, the source has where libndr looked for it. */
static bool add_missing_own_file(const ndr_source *source, line l, ndr_text *out)
{
    const char *absent = source->absent.chars;
    if (!absent || !find_in_line(l, "not found")) return false;
    for (line file = line_at(absent); *file.chars; file = line_at(file.next)) {
        char quoted[600];
        snprintf(quoted, sizeof quoted, "'%.*s'", (int)strcspn(file.chars + 1, "'"), file.chars + 1);
        if (!find_in_line(l, quoted)) continue;
        ndr_text_add_chars(out, file.chars, (size_t)(file.end - file.chars));
        return true;
    }
    return false;
}

static bool add_host_header(const ndr_source *source, line l, ndr_text *out)
{
    return source->absent.chars && ndr_explain_host_header(source->absent.chars, l.chars, l.end, out);
}

/* The compiler does not know that a file was pasted, if it includes the same file itself. */
static bool add_twice(const ndr_source *source, line l, ndr_text *out)
{
    if (!find_in_line(l, "redefinition") || !source->flags.length || !strstr(source->text.chars, "#define NDR_ONCE_"))
        return false;
    ndr_text_add(out,
                 "a file with #pragma once is there twice if one #include writes its name and a macro spells it in "
                 "another: write the name in both, or guard the file with #ifndef");
    return true;
}

/* A rule of the language explains the first error only: in later ones the compiler may have lost its place. It does not
 * explain an error in the vocabulary, whose text is right. */
static bool add_rule(const char *log, ndr_text *out)
{
    line l = line_at(log);
    while (*l.chars && !starts_error(l)) l = line_at(l.next);
    return *l.chars && !find_in_line(l, "kernels/ndr/") && ndr_explain_rule(l.chars, l.end, out);
}

/* A linker has no line of the text, and its message need not begin with "error:". */
static bool add_undefined(const char *log, ndr_text *out)
{
    static const char *const messages[] = { "Cannot find symbol", "Unresolved extern", "undefined reference",
                                            "undefined symbol", "Symbols not found" };
    for (size_t i = 0; i < NDR_COUNT_OF(messages); ++i) {
        if (!strstr(log, messages[i])) continue;
        ndr_text_add(out, "a function is called that the text declares, but does not define: define it, add the text "
                          "or file that does to desc->linked, and write static inline in place of inline");
        return true;
    }
    return false;
}

/* Explains the first error with a known cause, because later ones may follow from it. A linker may report "fatal :
 * Unresolved extern function 'f'" after the compiler's warnings. */
void ndr_explain_log(const ndr_source *source, const char *options, const char *log, ndr_text *out)
{
    for (line l = line_at(log); *l.chars; l = line_at(l.next)) {
        if (!starts_error(l) && !starts_message(l, "fatal ")) continue;
        if (add_collision(source, options, l, out) || add_refusal(l, out) || add_operator(l, out)
            || add_header(source, l, out) || add_mistake(l, out) || add_call(l, out) || add_missing_file(l, out)
            || add_host_header(source, l, out) || add_missing_own_file(source, l, out) || add_twice(source, l, out)
            || ndr_explain_word(l.chars, l.end, out))
            return;
    }
    if (add_form(source, out)) return;
    if (add_rule(log, out) || add_undefined(log, out)) return;
    /* "implicit declaration" may be a warning, followed by another error. */
    for (line l = line_at(log); *l.chars; l = line_at(l.next))
        if (starts_message(l, "warning:") && add_header(source, l, out)) return;
}

bool ndr_explain_has_error(const char *log, const char *title)
{
    const bool shows_lines = strstr(log, "  ^") != NULL;
    for (line l = line_at(log); *l.chars; l = line_at(l.next)) {
        const char *found = find_in_line(l, title);
        if (starts_error(l) && (shows_lines || (found && found[strlen(title)] == ':'))) return true;
    }
    return false;
}

static size_t count_errors(const char *log)
{
    size_t errors = 0;
    for (line l = line_at(log); *l.chars; l = line_at(l.next)) errors += starts_error(l);
    return errors;
}

bool ndr_explain_has_errors(const char *log) { return count_errors(log) > 0; }

enum { MAX_ERRORS = 10, MAX_LINES = 12, MAX_LINES_AHEAD = 100 };

/* An error includes the notes after it. The lines before the first message are kept, and so is a log without
 * recognised errors. */
void ndr_explain_shorten(const char *log, ndr_text *out)
{
    size_t errors = 0, lines = 0, left_out = 0;
    bool is_kept = true;
    const bool has_errors = count_errors(log) > 0;
    for (line l = line_at(log); *l.chars; l = line_at(l.next)) {
        if (starts_error(l)) ++errors, lines = 0, is_kept = errors <= MAX_ERRORS;
        else if (starts_message(l, "warning:")) is_kept = !has_errors;
        ++lines;
        if (is_kept && lines <= (errors ? MAX_LINES : MAX_LINES_AHEAD))
            ndr_text_add_chars(out, l.chars, (size_t)(l.next - l.chars));
        else ++left_out;
    }
    const bool is_in_line = out->length > 0 && out->chars[out->length - 1] != '\n';
    if (left_out > 0)
        ndr_text_add(out, "%s(%zu lines of the log are left out; ndr_last_build_log() has all)", is_in_line ? "\n" : "",
                     left_out);
}

/* ---- words that newer languages reserve ---- */

bool ndr_explain_uses_later_words(const ndr_code *code)
{
    static const char *const words[] = { "pipe",         "generic",      "ctz",          "memory_order",
                                         "memory_scope", "atomic_flag",  "atomic_int",   "atomic_uint",
                                         "atomic_long",  "atomic_ulong", "atomic_float", "atomic_double" };
    for (size_t i = 0; i < NDR_COUNT_OF(words); ++i)
        if (ndr_code_uses(code, words[i])) return true;
    return false;
}
