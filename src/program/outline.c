/* outline.c - describes a source without a device: its text with includes, its kernels and its constants. */
#include "program/outline.h"
#include "program/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct item_list {
    void *items;
    size_t count, item_bytes;
    bool failed;
} item_list;

typedef struct kernel_entry {
    ndr_outline_kernel info;
    item_list params; /* of ndr_outline_param */
} kernel_entry;

struct ndr_outline {
    ndr_source source, full; /* with the vocabulary's includes, and with its files */
    item_list kernels, constants;
    item_list files, absent; /* of strings in `source`; the last is NULL */
    char *title;
    char key[33]; /* a hash of the text */
};

static ndr_status fail_without_memory(void) { return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for an outline"); }

/* ---- lists ---- */

/* Append a zeroed item; NULL: no memory. */
static void *add(item_list *list)
{
    char *items = realloc(list->items, (list->count + 1) * list->item_bytes);
    list->failed |= !items;
    if (!items) return NULL;
    list->items = items;
    return memset(items + list->count++ * list->item_bytes, 0, list->item_bytes);
}

static kernel_entry *kernel_at(const ndr_outline *outline, size_t index)
{
    return (kernel_entry *)outline->kernels.items + index;
}

static ndr_outline_param *param_at(const kernel_entry *kernel, size_t index)
{
    return (ndr_outline_param *)kernel->params.items + index;
}

static ndr_outline_constant *constant_at(const ndr_outline *outline, size_t index)
{
    return (ndr_outline_constant *)outline->constants.items + index;
}

static void free_kernel(kernel_entry *kernel)
{
    for (size_t i = 0; i < kernel->params.count; ++i) ndr_parameter_free(param_at(kernel, i));
    free(kernel->params.items);
    free((void *)(uintptr_t)kernel->info.name);
}

void ndr_outline_destroy(ndr_outline *outline)
{
    if (!outline) return;
    for (size_t i = 0; i < outline->kernels.count; ++i) free_kernel(kernel_at(outline, i));
    for (size_t i = 0; i < outline->constants.count; ++i) free((void *)(uintptr_t)constant_at(outline, i)->name);
    free(outline->kernels.items);
    free(outline->constants.items);
    free(outline->files.items);
    free(outline->absent.items);
    free(outline->title);
    ndr_source_free(&outline->source);
    ndr_source_free(&outline->full);
    free(outline);
}

/* ---- the parameters of a kernel ---- */

/* The end of an element of a list: the comma behind it, or the end of the list. */
static const char *end_of_element(const char *at, const char *end)
{
    while (at < end && *at != ',') {
        const char *next = *at == '(' || *at == '[' ? ndr_plain_skip_pair(at, end) : at + 1;
        at = next ? next : end;
    }
    return at;
}

/* Blank the attributes in a list of parameters. */
static void blank_attributes(char *chars)
{
    for (char *at = chars; (at = (char *)(uintptr_t)ndr_word_find(at, "__attribute__"));) {
        char *open = at + strcspn(at, "(");
        const char *close = *open ? ndr_plain_skip_pair(open, open + strlen(open)) : NULL;
        if (!close) return;
        memset(at, ' ', (size_t)(close - at));
    }
}

static ndr_status add_param(const ndr_plain *plain, const ndr_param_text *text, bool is_reducer, kernel_entry *kernel)
{
    ndr_outline_param *param = add(&kernel->params);
    if (!param) return fail_without_memory();
    return (is_reducer ? ndr_parameter_read_reducer : ndr_parameter_read)(plain, text, param);
}

/* NDR_RANGE(1), NDR_ND_RANGE(2) or NDR_REDUCTION(1, (SUM, float, sum)). */
static ndr_status read_record(const ndr_plain *plain, const ndr_param_text *text, const char *list,
                              kernel_entry *kernel)
{
    const char *at = ndr_word_skip_blanks(list + 1), *end = text->end - 1, *stop = end_of_element(at, end);
    int64_t dims = 0;
    if (ndr_plain_evaluate(plain, at, stop, &dims) && dims >= 0 && dims <= 3) kernel->info.dims = (unsigned)dims;
    ndr_param_text reducer = *text;
    for (; stop < end; stop = reducer.end) {
        reducer.at = ndr_word_skip_blanks(stop + 1);
        reducer.end = end_of_element(reducer.at, end);
        reducer.index = kernel->params.count;
        NDR_TRY(add_param(plain, &reducer, true, kernel));
    }
    return NDR_OK;
}

static ndr_status read_param(const ndr_plain *plain, const ndr_param_text *text, kernel_entry *kernel)
{
    static const char *const records[] = { "NDR_RANGE", "NDR_ND_RANGE", "NDR_REDUCTION" };
    for (size_t i = 0; i < NDR_COUNT_OF(records); ++i) {
        const char *list = ndr_word_take(text->at, records[i]);
        if (!list || *list != '(') continue;
        kernel->info.takes_groups = i == 1;
        return read_record(plain, text, list, kernel);
    }
    return add_param(plain, text, false, kernel);
}

/* `chars`: what is between the parentheses, with macros replaced. */
static ndr_status read_params(const ndr_plain *plain, const char *title, char *chars, kernel_entry *kernel)
{
    blank_attributes(chars);
    const char *end = chars + strlen(chars);
    ndr_param_text text = { .kernel = kernel->info.name, .title = title };
    const char *first = ndr_word_skip_blanks(chars), *rest = ndr_word_take(first, "void");
    if (!*first || (rest && !*rest)) return NDR_OK;
    for (const char *at = chars; at <= end; at = text.end + 1) {
        text.at = ndr_word_skip_blanks(at);
        text.end = end_of_element(text.at, end);
        const char *last = text.end;
        while (text.end > text.at && text.end[-1] == ' ') --text.end;
        text.index = kernel->params.count;
        NDR_TRY(read_param(plain, &text, kernel));
        text.end = last;
    }
    return NDR_OK;
}

/* ---- kernels ---- */

/* reqd_work_group_size(x, y, z) between the word `kernel` and the body, in libndr's order of dimensions. */
static void read_required(const ndr_plain *plain, const char *at, const char *end, size_t sizes[3])
{
    const char *found = ndr_word_find(at, "reqd_work_group_size"), *open = found ? strchr(found, '(') : NULL;
    const char *close = open && open < end ? ndr_plain_skip_pair(open, end) : NULL;
    size_t read[3] = { 0, 0, 0 };
    if (!close) return;
    const char *from = open + 1;
    for (unsigned d = 0; d < 3; ++d) {
        const char *stop = end_of_element(from, close - 1);
        int64_t value;
        if (!ndr_plain_evaluate(plain, from, stop, &value) || value < 1) return;
        read[2 - d] = (size_t)value;
        from = ndr_min_size((size_t)(stop + 1 - from), (size_t)(close - 1 - from)) + from;
    }
    memcpy(sizes, read, sizeof read);
}

static bool are_equal(const kernel_entry *a, const kernel_entry *b)
{
    if (a->params.count != b->params.count || a->info.dims != b->info.dims
        || a->info.takes_groups != b->info.takes_groups)
        return false;
    for (size_t i = 0; i < a->params.count; ++i)
        if (strcmp(param_at(a, i)->declaration, param_at(b, i)->declaration) != 0) return false;
    return true;
}

/* A kernel may be written once in each branch of a condition. */
static ndr_status keep_once(ndr_outline *outline)
{
    const size_t last = outline->kernels.count - 1;
    for (size_t i = 0; i < last; ++i) {
        if (strcmp(kernel_at(outline, i)->info.name, kernel_at(outline, last)->info.name) != 0) continue;
        NDR_REQUIRE_AS(NDR_UNSUPPORTED, are_equal(kernel_at(outline, i), kernel_at(outline, last)),
                       "\"%s\" has two kernels \"%s\" with different parameters; give each its own name",
                       outline->title, kernel_at(outline, i)->info.name);
        free_kernel(kernel_at(outline, last));
        --outline->kernels.count;
        return NDR_OK;
    }
    return NDR_OK;
}

static ndr_status add_kernel(const ndr_plain *plain, const char *word, const ndr_code_kernel *found, const char *stop,
                             ndr_outline *outline)
{
    const char *close = ndr_plain_skip_pair(found->list, stop);
    kernel_entry *kernel = add(&outline->kernels);
    if (!kernel || !close) return fail_without_memory();
    kernel->params.item_bytes = sizeof(ndr_outline_param);
    kernel->info.name = ndr_text_copy(found->name, ndr_word_length(found->name));
    ndr_text list = { 0 };
    ndr_plain_expand(plain, found->list + 1, close - 1, &list);
    ndr_text_add_chars(&list, "", 0);
    ndr_status status = kernel->info.name && !list.failed
                            ? read_params(plain, outline->title, list.chars ? list.chars : (char[1]){ 0 }, kernel)
                            : fail_without_memory();
    ndr_text_free(&list);
    NDR_TRY(status);
    read_required(plain, word, stop, kernel->info.required_local_size);
    kernel->info.param_count = kernel->params.count;
    return keep_once(outline);
}

static ndr_status list_kernels(const ndr_plain *plain, ndr_outline *outline)
{
    ndr_code_kernel found;
    const char *word;
    for (const char *at = plain->code->chars.chars; (at = ndr_code_find_kernel(at, &word));) {
        if (!ndr_code_read_kernel(at, &found)) {
            NDR_REQUIRE_AS(NDR_UNSUPPORTED, !ndr_word_take(at, "void"),
                           "\"%s\" has a kernel with a directive such as #if among its parameters; write two kernels, "
                           "or put the directive in front of the kernel",
                           outline->title);
            continue;
        }
        const char *stop = found.list + strcspn(found.list, "{;");
        if (*stop == '{') NDR_TRY(add_kernel(plain, word, &found, stop, outline));
    }
    return NDR_OK;
}

/* ---- constants ---- */

static void add_constant(void *visitor, const char *name, size_t length, const char *suffix, int64_t value)
{
    item_list *list = visitor;
    ndr_text text = { 0 };
    ndr_text_add(&text, "%.*s%s", (int)length, name, suffix);
    list->failed |= text.failed;
    for (size_t i = 0; i < list->count && !text.failed; ++i)
        if (strcmp(((ndr_outline_constant *)list->items)[i].name, text.chars) == 0) text.failed = true;
    ndr_outline_constant *made = text.failed ? NULL : add(list);
    if (made) *made = (ndr_outline_constant){ .name = text.chars, .value = value };
    else ndr_text_free(&text);
}

/* ---- creating ---- */

/* Make a list of the lines of `text`, each of which becomes a string. */
static void list_lines(ndr_text *text, item_list *list)
{
    for (char *line = text->chars, *end; line && *line; line = end + 1) {
        end = line + strcspn(line, "\n");
        const char **item = add(list);
        if (item) *item = line;
        if (!*end) break;
        *end = '\0';
    }
    add(list);
}

static ndr_status fill(const ndr_kernel_desc *desc, ndr_outline *outline)
{
    const char *options = desc->options ? desc->options : "";
    outline->title = ndr_text_copy(ndr_program_title(desc), strlen(ndr_program_title(desc)));
    if (!outline->title) return fail_without_memory();
    NDR_TRY(ndr_build_check_options(outline->title, options));
    NDR_TRY(ndr_program_read(desc, true, &outline->source));
    NDR_TRY(ndr_program_read(desc, false, &outline->full));
    NDR_REQUIRE_AS(NDR_UNSUPPORTED, !outline->source.flags.length,
                   "\"%s\" includes a file whose name only the compiler can expand, so its text cannot be taken in: "
                   "write the name out",
                   outline->title);
    const ndr_hash hash = ndr_hash_bytes(outline->source.text.chars, outline->source.text.length);
    snprintf(outline->key, sizeof outline->key, "%016llx%016llx", (unsigned long long)hash.words[0],
             (unsigned long long)hash.words[1]);
    bool failed = false;
    const ndr_plain plain = { &outline->source.code, options, &failed };
    NDR_TRY(list_kernels(&plain, outline));
    ndr_plain_list_constants(&plain, add_constant, &outline->constants);
    list_lines(&outline->source.paths, &outline->files);
    list_lines(&outline->source.absent, &outline->absent);
    failed |= outline->constants.failed || outline->files.failed || outline->absent.failed;
    return failed ? fail_without_memory() : NDR_OK;
}

ndr_status ndr_outline_create(const ndr_kernel_desc *desc, ndr_outline **outline)
{
    NDR_REQUIRE_SET(desc, outline);
    NDR_REQUIRE(!desc->source != !desc->file,
                "ndr_outline_create: %s of desc->source and desc->file is set; set just one",
                desc->source ? "each" : "none");
    ndr_outline *made = calloc(1, sizeof *made);
    if (!made) return fail_without_memory();
    made->kernels.item_bytes = sizeof(kernel_entry);
    made->constants.item_bytes = sizeof(ndr_outline_constant);
    made->files.item_bytes = made->absent.item_bytes = sizeof(const char *);
    const ndr_kernel_desc text = { .source = desc->source,
                                   .file = desc->file,
                                   .options = desc->options,
                                   .include_dirs = desc->include_dirs,
                                   .label = desc->label };
    const ndr_status status = fill(&text, made);
    if (status == NDR_OK) *outline = made;
    else ndr_outline_destroy(made);
    return status;
}

/* ---- describing ---- */

ndr_status ndr_outline_get_info(const ndr_outline *outline, ndr_outline_info *info)
{
    NDR_REQUIRE_SET(outline, info);
    *info = (ndr_outline_info){ .text = outline->source.text.chars,
                                .key = outline->key,
                                .files = outline->files.items,
                                .absent = outline->absent.items,
                                .kernel_count = outline->kernels.count,
                                .constant_count = outline->constants.count,
                                .full_text = outline->full.text.chars };
    return NDR_OK;
}

ndr_status ndr_outline_get_kernel(const ndr_outline *outline, size_t index, ndr_outline_kernel *kernel)
{
    NDR_REQUIRE_SET(outline, kernel);
    NDR_REQUIRE(index < outline->kernels.count, "ndr_outline_get_kernel: index is %zu, but \"%s\" has %zu kernels",
                index, outline->title, outline->kernels.count);
    *kernel = kernel_at(outline, index)->info;
    return NDR_OK;
}

ndr_status ndr_outline_get_param(const ndr_outline *outline, size_t kernel, size_t index, ndr_outline_param *param)
{
    ndr_outline_kernel of;
    NDR_REQUIRE_SET(param);
    NDR_TRY(ndr_outline_get_kernel(outline, kernel, &of));
    NDR_REQUIRE(index < of.param_count, "ndr_outline_get_param: index is %zu, but kernel \"%s\" has %zu parameters",
                index, of.name, of.param_count);
    *param = *param_at(kernel_at(outline, kernel), index);
    return NDR_OK;
}

ndr_status ndr_outline_get_constant(const ndr_outline *outline, size_t index, ndr_outline_constant *constant)
{
    NDR_REQUIRE_SET(outline, constant);
    NDR_REQUIRE(index < outline->constants.count,
                "ndr_outline_get_constant: index is %zu, but \"%s\" has %zu constants", index, outline->title,
                outline->constants.count);
    *constant = *constant_at(outline, index);
    return NDR_OK;
}
