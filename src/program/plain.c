/* plain.c - reads macros, integer expressions and typedefs of a text as far as they are plain. Pure. */
#include "program/plain.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 16 }; /* of macros and typedefs inside each other */

/* ---- macros ---- */

/* A part of a text. */
typedef struct part {
    const char *at, *end;
} part;

static part trim(const char *at, const char *end)
{
    while (at < end && *at == ' ') ++at;
    while (end > at && end[-1] == ' ') --end;
    return (part){ at, end };
}

static bool are_equal(part a, part b)
{
    return a.end - a.at == b.end - b.at && memcmp(a.at, b.at, (size_t)(a.end - a.at)) == 0;
}

static bool is_word(const char *at, const char *word, size_t length)
{
    return ndr_word_length(at) == length && memcmp(at, word, length) == 0;
}

/* The definitions of a macro. */
typedef struct definition {
    unsigned count; /* of different ones; an #undef and one with parameters make it uncertain, too */
    part body;
} definition;

static void add_definition(definition *found, part body)
{
    if (found->count > 0 && are_equal(found->body, body)) return;
    ++found->count;
    found->body = body;
}

/* The macro of a -D at `at`: its name and body; the position behind it. */
static const char *read_option(const char *at, part *name, part *body)
{
    static const char one[] = "1";
    at += 2 + strspn(at + 2, " \t");
    *name = (part){ at, at + ndr_word_length(at) };
    const bool has_body = *name->end == '=';
    const char *start = name->end + has_body;
    *body = has_body ? (part){ start, start + strcspn(start, " \t") } : (part){ one, one + 1 };
    return has_body ? body->end : name->end;
}

/* -D comes first: a text that defines the macro too does so where it is not defined yet. */
static definition find_macro(const ndr_plain *plain, const char *word, size_t length)
{
    definition found = { 0, { NULL, NULL } };
    part name, body;
    for (const char *at = strstr(plain->options, "-D"); at; at = strstr(at, "-D")) {
        at = read_option(at, &name, &body);
        if (is_word(name.at, word, length)) add_definition(&found, body);
    }
    if (found.count > 0) return found;
    for (const char *line = plain->code->macros.chars, *end; line && *line; line = end + 1) {
        end = line + strcspn(line, "\n");
        const bool is_undefined = *line == ' ';
        const char *at = line + is_undefined;
        if (is_word(at, word, length)) {
            found.count += is_undefined || at[length] == '(' ? 2 : 0;
            add_definition(&found, trim(at + length, end));
        }
        if (!*end) break;
    }
    return found;
}

static void expand(const ndr_plain *plain, const char *at, const char *end, unsigned depth, ndr_text *out)
{
    while (at < end) {
        const size_t word = ndr_word_length(at);
        size_t length = word ? word : 1;
        if (!word && isdigit((unsigned char)*at)) /* a number with its suffix */
            while (at + length < end && (ndr_word_has(at[length]) || at[length] == '.')) ++length;
        const definition macro = word ? find_macro(plain, at, word) : (definition){ 0, { NULL, NULL } };
        if (macro.count == 1 && depth < MAX_DEPTH) expand(plain, macro.body.at, macro.body.end, depth + 1, out);
        else ndr_text_add_chars(out, at, length);
        at += length;
    }
}

void ndr_plain_expand(const ndr_plain *plain, const char *at, const char *end, ndr_text *out)
{
    expand(plain, at, end, 0, out);
}

/* ---- integers ---- */

/* An expression that is evaluated. */
typedef struct reader {
    const char *at;
    unsigned depth;
    bool failed;
} reader;

static int64_t read_binary(reader *r, unsigned least);

static int64_t check(reader *r, int64_t value)
{
    r->failed |= value < INT32_MIN || value > INT32_MAX;
    return r->failed ? 0 : value;
}

/* A digit's value, or the base. */
static unsigned digit_of(char c, unsigned base)
{
    const char *digits = "0123456789abcdef", *found = c ? strchr(digits, tolower((unsigned char)c)) : NULL;
    const unsigned value = found ? (unsigned)(found - digits) : base;
    return value < base ? value : base;
}

static int64_t read_number(reader *r)
{
    const bool is_hex = r->at[0] == '0' && (r->at[1] | 32) == 'x';
    const unsigned base = is_hex ? 16 : r->at[0] == '0' ? 8 : 10;
    int64_t value = 0;
    r->at += is_hex ? 2 : 0;
    r->failed |= digit_of(*r->at, base) == base;
    for (; digit_of(*r->at, base) < base && !r->failed; ++r->at)
        value = check(r, value * base + digit_of(*r->at, base));
    r->at += strspn(r->at, "uUlL");
    r->failed |= ndr_word_has(*r->at) || *r->at == '.';
    return value;
}

static int64_t read_unary(reader *r)
{
    r->at = ndr_word_skip_blanks(r->at);
    const char c = *r->at;
    if (r->failed || r->depth > MAX_DEPTH) return r->failed = true, 0;
    if (isdigit((unsigned char)c)) return read_number(r);
    if (!c || !strchr("(-+~", c)) return r->failed = true, 0;
    ++r->at;
    ++r->depth;
    const int64_t value = c == '(' ? read_binary(r, 0) : read_unary(r);
    --r->depth;
    if (c == '(') r->failed |= *r->at != ')';
    if (c == '(' && !r->failed) r->at = ndr_word_skip_blanks(r->at + 1);
    return c == '-' ? check(r, -value) : c == '~' ? ~value : value;
}

static const struct {
    char name[3];
    unsigned rank;
} operators[] = { { "<<", 4 }, { ">>", 4 }, { "|", 1 }, { "^", 2 }, { "&", 3 },
                  { "+", 5 },  { "-", 5 },  { "*", 6 }, { "/", 6 }, { "%", 6 } };

static int64_t apply(reader *r, const char *name, int64_t a, int64_t b)
{
    const bool shifts = name[1] != '\0', divides = *name == '/' || *name == '%';
    if ((shifts && (a < 0 || b < 0 || b > 31)) || (divides && b == 0)) r->failed = true;
    if (r->failed) return 0;
    switch (*name) {
    case '<': return check(r, a << b);
    case '>': return a >> b;
    case '|': return a | b;
    case '^': return a ^ b;
    case '&': return a & b;
    case '+': return check(r, a + b);
    case '-': return check(r, a - b);
    case '*': return check(r, a * b);
    case '/': return check(r, a / b);
    default: return a % b;
    }
}

/* Operators of `least` rank or more. */
static int64_t read_binary(reader *r, unsigned least)
{
    int64_t value = read_unary(r);
    for (size_t i = 0; i < NDR_COUNT_OF(operators) && !r->failed; ++i) {
        r->at = ndr_word_skip_blanks(r->at);
        const size_t length = strlen(operators[i].name);
        if (operators[i].rank < least || strncmp(r->at, operators[i].name, length) != 0) continue;
        r->at += length;
        const int64_t right = read_binary(r, operators[i].rank + 1);
        value = apply(r, operators[i].name, value, right);
        i = SIZE_MAX; /* from the first one again */
    }
    return value;
}

bool ndr_plain_evaluate(const ndr_plain *plain, const char *at, const char *end, int64_t *value)
{
    ndr_text text = { 0 };
    expand(plain, at, end, 0, &text);
    reader r = { text.chars ? text.chars : "", 0, text.failed };
    const int64_t found = read_binary(&r, 0);
    *plain->failed |= text.failed;
    const bool is_plain = !r.failed && *ndr_word_skip_blanks(r.at) == '\0';
    ndr_text_free(&text);
    if (is_plain) *value = found;
    return is_plain;
}

/* ---- declarations ---- */

const char *ndr_plain_skip_pair(const char *at, const char *end)
{
    const char open = *at, close = open == '(' ? ')' : open == '[' ? ']' : '}';
    size_t depth = 0;
    for (; at < end; ++at) {
        depth += *at == open;
        depth -= *at == close;
        if (depth == 0) return at + 1;
    }
    return NULL;
}

/* A typedef: the name that it declares, and its type before that. */
typedef struct alias {
    const char *name;
    part type;
    bool has_more; /* an array or a function */
} alias;

/* Read what follows the word "typedef", up to its semicolon. */
static bool read_typedef(const char *at, alias *out)
{
    const char *start = at, *end = at + strlen(at);
    while (*at && *at != ';') {
        const char *next = *at == '{' || *at == '(' || *at == '[' ? ndr_plain_skip_pair(at, end) : at + 1;
        if (!next) return false;
        if (ndr_word_length(at) > 0) out->name = at, next = at + ndr_word_length(at);
        out->has_more = *at == '[' || *at == '(';
        at = next;
    }
    if (!*at || !out->name) return false;
    out->has_more |= *ndr_word_skip_blanks(out->name + ndr_word_length(out->name)) != ';';
    out->type = trim(start, out->name);
    return true;
}

/* The next typedef of the type from `*at` on. */
static bool next_typedef(const char **at, const char *name, alias *found)
{
    for (const char *word; (word = ndr_word_find(*at, "typedef"));) {
        *found = (alias){ .name = NULL };
        *at = word + strlen("typedef");
        if (read_typedef(*at, found) && is_word(found->name, name, strlen(name))) return true;
    }
    return false;
}

static ndr_builtin type_of(const ndr_plain *plain, const char *name, unsigned depth);

/* Of the type inside a typedef. */
static ndr_builtin target_of(const ndr_plain *plain, const alias *found, unsigned depth)
{
    char name[64];
    ndr_text text = { 0 };
    expand(plain, found->type.at, found->type.end, 0, &text);
    *plain->failed |= text.failed;
    const char *at = ndr_word_skip_blanks(text.chars ? text.chars : "");
    const size_t length = strlen(at);
    const bool is_known = !text.failed && !found->has_more && length < sizeof name && depth < MAX_DEPTH;
    memcpy(name, at, is_known ? length : 0);
    name[is_known ? length : 0] = '\0';
    ndr_text_free(&text);
    return type_of(plain, name, depth + 1);
}

/* Two branches of a condition may have different typedefs of one name: then it is not certain. */
static ndr_builtin type_of(const ndr_plain *plain, const char *name, unsigned depth)
{
    const ndr_builtin none = { NDR_DTYPE_NONE, 0 };
    ndr_builtin type = ndr_builtin_named(name);
    if (type.lanes > 0 || !*name) return type;
    alias found;
    bool is_first = true;
    for (const char *at = plain->code->chars.chars; next_typedef(&at, name, &found); is_first = false) {
        const ndr_builtin target = target_of(plain, &found, depth);
        if (is_first) type = target;
        else if (target.dtype != type.dtype || target.lanes != type.lanes) return none;
    }
    return type;
}

ndr_builtin ndr_plain_type(const ndr_plain *plain, const char *type_name) { return type_of(plain, type_name, 0); }

bool ndr_plain_is_struct(const ndr_plain *plain, const char *type_name)
{
    static const char *const keywords[] = { "struct", "union", NULL };
    const char *at = plain->code->chars.chars;
    alias found;
    if (ndr_word_is_one_of(type_name, keywords)) return true;
    return next_typedef(&at, type_name, &found) && ndr_word_is_one_of(found.type.at, keywords) && !found.has_more;
}

/* Where `struct pair {` or the typedef of a name is; NULL if it is nowhere. */
static const char *find_declaration(const ndr_plain *plain, const char *type)
{
    const char *chars = plain->code->chars.chars, *space = strrchr(type, ' '), *name = space ? space + 1 : type;
    alias found;
    if (!space) {
        const char *at = chars;
        return next_typedef(&at, name, &found) ? found.name : NULL;
    }
    for (const char *at = chars; (at = ndr_word_find(at, name)); ++at) {
        const char *before = at;
        while (before > chars && before[-1] == ' ') --before;
        const size_t keyword = strcspn(type, " ");
        const bool has_keyword = (size_t)(before - chars) > keyword && memcmp(before - keyword, type, keyword) == 0;
        if (has_keyword && *ndr_word_skip_blanks(at + strlen(name)) == '{') return at;
    }
    return NULL;
}

const char *ndr_plain_header(const ndr_plain *plain, const char *type_name)
{
    const char *found = find_declaration(plain, type_name), *file = NULL;
    const char *line = plain->code->places.chars;
    while (found && line && *line) {
        char *name;
        const unsigned long long offset = strtoull(line, &name, 10);
        if (offset <= (size_t)(found - plain->code->chars.chars)) file = name + 1;
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    const size_t length = file ? strcspn(file, "\n") : 0;
    return length > 2 && strncmp(file + length - 2, ".h", 2) == 0 ? file : NULL;
}

/* ---- constants ---- */

static void list_options(const ndr_plain *plain, ndr_constant_visit *visit, void *visitor)
{
    part name, body;
    int64_t value;
    for (const char *at = strstr(plain->options, "-D"); at; at = strstr(at, "-D")) {
        at = read_option(at, &name, &body);
        const definition macro = find_macro(plain, name.at, (size_t)(name.end - name.at));
        if (macro.count == 1 && ndr_plain_evaluate(plain, body.at, body.end, &value))
            visit(visitor, name.at, (size_t)(name.end - name.at), "", value);
    }
}

static void list_macros(const ndr_plain *plain, ndr_constant_visit *visit, void *visitor)
{
    int64_t value;
    for (const char *line = plain->code->macros.chars, *end; line && *line; line = end + 1) {
        end = line + strcspn(line, "\n");
        const size_t length = ndr_word_length(line);
        const definition macro = length ? find_macro(plain, line, length) : (definition){ 0, { NULL, NULL } };
        if (macro.count == 1 && ndr_plain_evaluate(plain, macro.body.at, macro.body.end, &value))
            visit(visitor, line, length, "", value);
        if (!*end) break;
    }
}

/* Behind the word `constant`: `int n = 3;` or `float weights[9] = ...`. */
static void read_constant(const ndr_plain *plain, const char *at, ndr_constant_visit *visit, void *visitor)
{
    const char *name = NULL, *start = at, *end = at + strlen(at);
    for (size_t length; (length = ndr_word_length(at)) > 0; at = ndr_word_skip_blanks(at + length)) name = at;
    const char *close = *at == '[' ? ndr_plain_skip_pair(at, end) : NULL;
    const char *rest = ndr_word_skip_blanks(close ? close : at), *stop = rest + strcspn(rest, ";");
    char type[64];
    int64_t value;
    if (!name || name == start || (*rest != '=' && *rest != ';')) return;
    const part words = trim(start, name);
    const size_t length = (size_t)(words.end - words.at);
    if (length >= sizeof type) return;
    memcpy(type, words.at, length);
    type[length] = '\0';
    const char *plain_type = strncmp(type, "const ", 6) == 0 ? type + 6 : type;
    const ndr_builtin builtin = ndr_plain_type(plain, plain_type);
    const bool is_integer = builtin.lanes == 1 && builtin.dtype >= NDR_DTYPE_I8 && builtin.dtype <= NDR_DTYPE_U64;
    if (close && ndr_plain_evaluate(plain, at + 1, close - 1, &value))
        visit(visitor, name, ndr_word_length(name), "_count", value);
    if (!close && *rest == '=' && is_integer && ndr_plain_evaluate(plain, rest + 1, stop, &value))
        visit(visitor, name, ndr_word_length(name), "", value);
}

void ndr_plain_list_constants(const ndr_plain *plain, ndr_constant_visit *visit, void *visitor)
{
    static const char *const words[] = { "constant", "__constant" };
    list_options(plain, visit, visitor);
    list_macros(plain, visit, visitor);
    for (size_t i = 0; i < NDR_COUNT_OF(words); ++i)
        for (const char *at = plain->code->chars.chars; at && (at = ndr_word_find(at, words[i]));) {
            at += strlen(words[i]);
            read_constant(plain, ndr_word_skip_blanks(at), visit, visitor);
        }
}
