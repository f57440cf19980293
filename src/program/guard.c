/* guard.c - what can be read off a program's text alone: whether a kernel's items may be more than were asked for,
 * because those past the end return before they do anything; and which types its kernels take.
 *
 * NDR_ITEM() returns from the kernel where the item is past the range. Where that is the first thing a kernel does, its
 * launch may be rounded up. Pure, and careful: false for anything but the plain case, whose launch then runs as several
 * pieces, as right and a little slower. */
#include "program/program.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* ---- the text, reduced to code ---- */

/* Whether `#line 1 "kernels/ndr/item.clh"` or the like opens a file of our vocabulary. */
static bool opens_vocabulary(const char *mark)
{
    char name[64];
    return sscanf(mark, "#line %*u \"kernels/%63[^\"]", name) == 1 && strncmp(name, "ndr/", 4) == 0
           && ndr_source_find(name);
}

/* Append the program's own lines, as ndr_source_expand() has marked them. */
static void add_own_lines(const char *text, ndr_text *out)
{
    for (bool is_ours = false; *text;) {
        const char *end = strchr(text, '\n'), *next = end ? end + 1 : text + strlen(text);
        if (strncmp(text, "#line ", 6) == 0) is_ours = opens_vocabulary(text);
        else if (!is_ours) ndr_text_add_chars(out, text, (size_t)(next - text));
        text = next;
    }
}

/* The end of the string or character that starts at `at`. */
static const char *skip_quoted(const char *at)
{
    const char quote = *at++;
    while (*at && *at != quote && *at != '\n') at += at[0] == '\\' && at[1] ? 2 : 1;
    return *at == quote ? at + 1 : at;
}

/* The same with a blank for each comment, and for each string "" that tells nothing. */
static void add_code(const char *text, ndr_text *out)
{
    while (*text) {
        if (text[0] == '\\' && text[1] == '\n') {
            text += 2;
        } else if (text[0] == '/' && text[1] == '/') {
            while (*text && *text != '\n') text += text[0] == '\\' && text[1] ? 2 : 1;
        } else if (text[0] == '/' && text[1] == '*') {
            const char *end = strstr(text + 2, "*/");
            text = end ? end + 2 : text + strlen(text);
            ndr_text_add_chars(out, " ", 1);
        } else if (*text == '"' || *text == '\'') {
            text = skip_quoted(text);
            ndr_text_add_chars(out, "\"\"", 2);
        } else {
            ndr_text_add_chars(out, text++, 1);
        }
    }
}

/* ---- words ---- */

static const char *skip_space(const char *at)
{
    while (isspace((unsigned char)*at)) ++at;
    return at;
}

/* Where `at` goes on behind `token` and blanks; NULL if something else stands there, or `at` is NULL already. */
static const char *take(const char *at, const char *token)
{
    const size_t length = strlen(token);
    if (!at || strncmp(at, token, length) != 0) return NULL;
    if (ndr_word_has(token[length - 1]) && ndr_word_has(at[length])) return NULL;
    return skip_space(at + length);
}

/* The same for any identifier. */
static const char *take_word(const char *at)
{
    if (!at || !ndr_word_has(*at) || isdigit((unsigned char)*at)) return NULL;
    while (ndr_word_has(*at)) ++at;
    return skip_space(at);
}

/* The same for a number in digits. */
static const char *take_number(const char *at)
{
    if (!at || !isdigit((unsigned char)*at)) return NULL;
    while (isdigit((unsigned char)*at)) ++at;
    return skip_space(at);
}

/* The other way: where `word` starts that ends, blanks left out, before `at`; NULL if something else stands there. */
static const char *take_back(const char *code, const char *at, const char *word)
{
    const size_t length = strlen(word);
    while (at && at > code && isspace((unsigned char)at[-1])) --at;
    if (!at || (size_t)(at - code) < length || strncmp(at - length, word, length) != 0) return NULL;
    at -= length;
    return at == code || !ndr_word_has(at[-1]) ? at : NULL;
}

/* ---- what does not go with more items ---- */

/* No word that sees how many items or groups OpenCL launched, or waits for items that may have returned; and nothing
 * that could hide one from us: words pasted together, files that only the compiler finds. */
static bool is_plain(const char *code)
{
    static const char *const odd[] = { "get_global_size", "get_global_linear_id", "get_local_", "get_enqueued_",
                                       "get_num_",        "get_group_id",         "get_sub_",   "get_max_sub_",
                                       "barrier",         "work_group_",          "sub_group_", "intel_sub_group_",
                                       "async_work_",     "wait_group_",          "include",    "import",
                                       "imacros" };
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; ++i)
        if (ndr_word_find_start(code, odd[i])) return false;
    return !strstr(code, "##");
}

/* Whether a macro gives the word at `at` another meaning, in the text or with -D. */
static bool is_redefined(const char *code, const char *options, const char *at)
{
    char option[64] = "-D";
    size_t length = strlen(option);
    while (ndr_word_has(*at) && length < sizeof option - 1) option[length++] = *at++;
    if (length == sizeof option - 1) return true;
    const char *word = option + strlen("-D");
    if (ndr_word_find(options, option) || ndr_word_find(options, word)) return true;
    for (const char *use = ndr_word_find(code, word); use; use = ndr_word_find(use + 1, word))
        if (take_back(code, use, "define") || take_back(code, use, "undef")) return true;
    return false;
}

/* ---- the kernel ---- */

static bool is_in_directive(const char *code, const char *at)
{
    while (at > code && at[-1] != '\n') --at;
    return *skip_space(at) == '#';
}

/* Whether a word is a kernel's name where it is defined, and not in a macro. */
static bool is_defined_at(const char *code, const char *name)
{
    const char *type = take_back(code, name, "void");
    if (!take_back(code, type, "kernel") && !take_back(code, type, "__kernel")) return false;
    return !is_in_directive(code, name);
}

/* Behind the parenthesis that closes the one at `at`; NULL if there is none, or a directive comes between. */
static const char *skip_parentheses(const char *at)
{
    size_t open = 0;
    if (!at || *at != '(') return NULL;
    do {
        if (*at == '#') return NULL;
        open += *at == '(';
        open -= *at == ')';
    } while (*at++ && open > 0);
    return open ? NULL : skip_space(at);
}

/* `const ndr_item it = NDR_ITEM(1);` or `const size_t i = ndr_global_id(NDR_ITEM(1), 0);` */
static bool starts_with_item(const char *code, const char *options, const char *body)
{
    const char *constant = take(body, "const"), *type = constant ? constant : body, *name = take_word(type);
    const char *value = take(take_word(name), "=");
    const char *inside = take(take(value, "ndr_global_id"), "(");
    const char *item = inside ? inside : value;
    const char *dims = take(take(item, "NDR_ITEM"), "("); /* that of 0 lets every item pass */
    const char *behind = take(dims, "1");
    if (!behind) behind = take(dims, "2");
    if (!behind) behind = take(dims, "3");
    behind = take(behind, ")");
    if (inside) behind = take_number(take(behind, ",")); /* nothing else that might be done first */
    if (!behind || (inside && *behind != ')')) return false;
    const char *const words[] = { body, type, name, value, item };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; ++i)
        if (is_redefined(code, options, words[i])) return false;
    return true;
}

static bool starts_guarded(const char *code, const char *options, const char *name)
{
    const char *found = ndr_word_find(code, name);
    if (!found || ndr_word_find(found + 1, name)) return false; /* a prototype, an #if, a macro: who knows */
    if (ndr_word_find(options, name) || !is_defined_at(code, found)) return false;
    const char *body = take(skip_parentheses(take(found, name)), "{");
    return body && starts_with_item(code, options, body);
}

ndr_status ndr_guard_read(const char *text, const char *options, const char *name, bool *is_first)
{
    ndr_text own = { 0 }, code = { 0 };
    add_own_lines(text, &own);
    if (own.chars) add_code(own.chars, &code);
    const bool failed = own.failed || code.failed;
    const bool plain = !failed && code.chars && is_plain(code.chars) && is_plain(options);
    const bool first = plain && starts_guarded(code.chars, options, name);
    ndr_text_free(&own);
    ndr_text_free(&code);
    if (failed) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory to read the text of \"%s\"", name);
    *is_first = first;
    return NDR_OK;
}

/* ---- the types that kernels take ---- */

static bool is_among(const char *const *words, const char *at)
{
    while (*words && !take(at, *words)) ++words;
    return *words != NULL;
}

/* The words of a parameter that make up its type and name: "struct", "pair", "p". */
typedef struct param_words {
    const char *at[3];
    unsigned count, stars;
    bool is_local;
} param_words;

/* False where it is no value and no pointer to local memory, or nothing that is read here. */
static bool read_words(const char *at, const char *end, param_words *out)
{
    static const char *const others[] = { "global",     "__global",     "constant",   "__constant",   "generic",
                                          "__generic",  "read_only",    "__read_only", "write_only",  "__write_only",
                                          "read_write", "__read_write", "pipe",       "signed",       "unsigned",
                                          NULL };
    static const char *const qualifiers[] = { "const",        "volatile", "restrict",  "__restrict",
                                              "__restrict__", "private",  "__private", NULL };
    static const char *const locals[] = { "local", "__local", NULL };
    for (at = skip_space(at); at < end;) {
        const char *behind = take_word(at);
        if (behind ? is_among(others, at) : *at != '*') return false;
        if (!behind) {
            ++out->stars;
            at = skip_space(at + 1);
            continue;
        }
        if (is_among(locals, at)) out->is_local = true;
        else if (!is_among(qualifiers, at) && out->count++ < 3) out->at[out->count - 1] = at;
        at = behind;
    }
    return out->stars == out->is_local;
}

static void add_word(const char *word, ndr_text *out) { ndr_text_add_chars(out, word, ndr_word_length(word)); }

static void add_type(const char *code, const char *options, const char *param, const char *end, ndr_text *out)
{
    static const char *const keywords[] = { "struct", "union", "enum", NULL };
    param_words words = { 0 };
    if (!read_words(param, end, &words)) return;
    const unsigned type = words.count > 0 && is_among(keywords, words.at[0]);
    if (words.count != type + 2 || is_redefined(code, options, words.at[type])) return;
    if (type) add_word(words.at[0], out);
    if (type) ndr_text_add_chars(out, " ", 1);
    add_word(words.at[type], out);
    ndr_text_add(out, words.is_local ? "*\n" : "\n");
}

/* The parenthesis before a kernel's parameters, the last before its body but for attributes; NULL where that is not plain. */
static const char *find_parameters(const char *at)
{
    const char *found = NULL;
    for (bool is_attribute = false; at && *at != '{' && *at != ';';) {
        const char *behind = take_word(at);
        if (!behind && *at != '(') return NULL;
        if (!behind && !is_attribute) found = at;
        is_attribute = behind && take(at, "__attribute__");
        at = behind ? behind : skip_parentheses(at);
    }
    return at ? found : NULL;
}

static void add_types(const char *code, const char *options, const char *at, ndr_text *out)
{
    int open = 0;
    for (const char *param = at + 1; param && *at; ++at) {
        open += *at == '(';
        open -= *at == ')';
        if (open > 0 && !(open == 1 && *at == ',')) continue;
        add_type(code, options, param, at, out);
        param = open > 0 ? at + 1 : NULL;
    }
}

ndr_status ndr_guard_list_types(const char *text, const char *options, ndr_text *out)
{
    static const char *const words[] = { "kernel", "__kernel" };
    ndr_text own = { 0 }, code = { 0 };
    add_own_lines(text, &own);
    if (own.chars) add_code(own.chars, &code);
    for (size_t i = 0; code.chars && i < sizeof words / sizeof words[0]; ++i)
        for (const char *at = ndr_word_find(code.chars, words[i]); at; at = ndr_word_find(at + 1, words[i])) {
            const char *list = is_in_directive(code.chars, at) ? NULL : find_parameters(take_word(at));
            if (list) add_types(code.chars, options, list, out);
        }
    const bool failed = own.failed || code.failed || out->failed;
    ndr_text_free(&own);
    ndr_text_free(&code);
    return failed ? ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory to read a program's text") : NDR_OK;
}
