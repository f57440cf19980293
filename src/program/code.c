/* code.c - reduces a program's text to code: its macros, kernels, and their parameters' types. Pure. */
#include "program/program.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* ---- the text, reduced ---- */

/* Whether the text of a #line, such as `1 "kernels/ndr/item.clh"`, starts a file of the vocabulary. */
static bool opens_vocabulary(const char *mark)
{
    char name[64];
    return sscanf(mark, "%*u \"kernels/%63[^\"]", name) == 1 && strncmp(name, "ndr/", 4) == 0 && ndr_source_find(name);
}

/* The name that a directive defines or undefines, or "include", which may define any. */
static const char *find_macro(const ndr_line *line)
{
    const char *name = ndr_line_is(line, "define");
    if (!name) name = ndr_line_is(line, "undef");
    return name ? name : ndr_line_is(line, "include") ? "include" : "";
}

static void add_line(const ndr_line *line, ndr_code *out)
{
    ndr_text_add(&out->chars, line->directive.length ? " # " : " ");
    if (line->directive.length) ndr_text_add(&out->macros, "%s\n", find_macro(line));
}

ndr_status ndr_code_read(const char *text, ndr_code *out)
{
    ndr_line line = { 0 };
    bool failed = false;
    *out = (ndr_code){ 0 };
    ndr_text_add(&out->chars, " ");
    ndr_text_add(&out->macros, "\n");
    line.code = &out->chars;
    for (const char *next = text; next && *text; text = next) {
        ndr_line_read(text, &line);
        failed |= line.directive.failed;
        const char *mark = ndr_line_is(&line, "line");
        const bool is_ours = mark && opens_vocabulary(mark);
        next = is_ours ? strstr(line.next - 1, "\n#line ") : line.next;
        if (!mark) add_line(&line, out);
    }
    ndr_text_free(&line.directive);
    for (char *c = out->chars.chars; c && *c; ++c)
        if (isspace((unsigned char)*c)) *c = ' ';
    failed |= out->chars.failed || out->macros.failed;
    return failed ? ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory to read a program's text") : NDR_OK;
}

void ndr_code_free(ndr_code *code)
{
    ndr_text_free(&code->chars);
    ndr_text_free(&code->macros);
}

bool ndr_code_redefines(const ndr_code *code, const char *options, const char *at)
{
    char option[64];
    const int length = snprintf(option, sizeof option, "-D%.*s", (int)ndr_word_length(at), at);
    const char *word = option + strlen("-D");
    if (length >= (int)sizeof option || ndr_word_find(options, option) || ndr_word_find(options, word)) return true;
    const char *found = ndr_word_find(code->macros.chars, word);
    while (found && found[-1] != '\n') found = ndr_word_find(found + 1, word);
    return found != NULL;
}

/* ---- kernels ---- */

/* The position behind the parenthesis or brace that closes the one at `at`; NULL if a directive or the end comes
 * first. */
static const char *skip_pair(const char *at)
{
    const char open = *at, close = open == '(' ? ')' : '}';
    size_t depth = 0;
    do {
        depth += *at == open;
        depth -= *at == close;
        if (!*at || *at == '#') return NULL;
    } while (++at, depth > 0);
    return ndr_word_skip_blanks(at);
}

/* Read from behind the word "kernel" to the body. The last parentheses before it, except those of attributes,
 * contain the parameters. */
static bool read_kernel(const char *at, ndr_code_kernel *out)
{
    const char *word = "";
    *out = (ndr_code_kernel){ 0 };
    while (at && *at != '{' && *at != ';') {
        const size_t length = ndr_word_length(at);
        if (length == 0 && *at != '(') return false;
        if (length == 0 && !ndr_word_take(word, "__attribute__")) out->name = word, out->list = at;
        if (length > 0) word = at;
        at = length > 0 ? ndr_word_skip_blanks(at + length) : skip_pair(at);
    }
    if (at && *at == '{') out->end = skip_pair(at);
    if (out->end) out->body = at;
    return at && out->list;
}

bool ndr_code_next_kernel(const char **at, ndr_code_kernel *found)
{
    do {
        const char *plain = ndr_word_find(*at, "kernel"), *reserved = ndr_word_find(*at, "__kernel");
        const char *word = !plain || (reserved && reserved < plain) ? reserved : plain;
        if (!word) return false;
        *at = ndr_word_skip_blanks(word + ndr_word_length(word));
    } while (!read_kernel(*at, found));
    return true;
}

/* ---- the types that kernels take ---- */

/* The words of a parameter's type and name: "struct", "pair", "p". */
typedef struct param_words {
    const char *at[3];
    unsigned count, stars;
    bool is_local;
} param_words;

/* False if it is neither a value nor a pointer to local memory, or too complex. Other qualifiers, such as global and
 * pipe, make one word too many. */
static bool read_words(const char *at, const char *end, param_words *out)
{
    static const char *const qualifiers[] = { "const",        "volatile", "restrict",  "__restrict",
                                              "__restrict__", "private",  "__private", NULL };
    static const char *const locals[] = { "local", "__local", NULL };
    for (size_t length; at = ndr_word_skip_blanks(at), at < end; at += length) {
        length = *at == '*' ? 1 : ndr_word_length(at);
        if (length == 0) return false;
        if (*at == '*') ++out->stars;
        else if (ndr_word_is_one_of(at, locals)) out->is_local = true;
        else if (!ndr_word_is_one_of(at, qualifiers) && out->count++ < 3) out->at[out->count - 1] = at;
    }
    return out->stars == out->is_local;
}

static void add_word(const char *word, ndr_text *out) { ndr_text_add_chars(out, word, ndr_word_length(word)); }

static void add_type(const ndr_code *code, const char *options, const char *param, const char *end, ndr_text *out)
{
    static const char *const keywords[] = { "struct", "union", "enum", NULL };
    param_words words = { 0 };
    if (!read_words(param, end, &words)) return;
    const unsigned type = words.count > 0 && ndr_word_is_one_of(words.at[0], keywords);
    if (words.count != type + 2 || ndr_code_redefines(code, options, words.at[type])) return;
    if (type) add_word(words.at[0], out);
    if (type) ndr_text_add_chars(out, " ", 1);
    add_word(words.at[type], out);
    ndr_text_add(out, words.is_local ? "*\n" : "\n");
}

static void add_types(const ndr_code *code, const char *options, const char *at, ndr_text *out)
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

ndr_status ndr_code_list_types(const char *text, const char *options, ndr_text *out)
{
    ndr_code code;
    ndr_code_kernel kernel;
    const ndr_status status = ndr_code_read(text, &code);
    for (const char *at = code.chars.chars; status == NDR_OK && ndr_code_next_kernel(&at, &kernel);)
        add_types(&code, options, kernel.list, out);
    ndr_code_free(&code);
    return status == NDR_OK && out->failed ? ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for a program's types")
                                           : status;
}
