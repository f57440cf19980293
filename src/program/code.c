/* code.c - reads a program's own code: its macros, kernels, and their parameters' types. Pure. */
#include "program/code.h"

#include <stdio.h>
#include <string.h>

/* ---- names ---- */

/* The line of the macro called `word`, defined or not; NULL: there is none. */
static const char *find_macro(const ndr_code *code, const char *word)
{
    const char *all = code->macros.chars, *found = all ? ndr_word_find(all, word) : NULL;
    while (found && found[-1] != '\n' && (found[-1] != ' ' || found[-2] != '\n'))
        found = ndr_word_find(found + 1, word);
    return found;
}

bool ndr_code_redefines(const ndr_code *code, const char *options, const char *at)
{
    char option[64];
    const int length = snprintf(option, sizeof option, "-D%.*s", (int)ndr_word_length(at), at);
    const char *word = option + strlen("-D");
    if (length >= (int)sizeof option || ndr_word_find(options, option) || ndr_word_find(options, word)) return true;
    return find_macro(code, word) != NULL;
}

bool ndr_code_uses(const ndr_code *code, const char *name)
{
    return (code->chars.chars && ndr_word_find(code->chars.chars, name))
           || (code->macros.chars && ndr_word_find(code->macros.chars, name));
}

bool ndr_code_has_function(const ndr_code *code, const char *name)
{
    for (const char *at = code->chars.chars; at && (at = ndr_word_find(at, "void"));) {
        at = ndr_word_skip_blanks(at + strlen("void"));
        const char *list = ndr_word_take(at, name);
        if (list && *list == '(') return true;
    }
    return false;
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
bool ndr_code_read_kernel(const char *at, ndr_code_kernel *out)
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

const char *ndr_code_find_kernel(const char *at, const char **word)
{
    const char *plain = ndr_word_find(at, "kernel"), *reserved = ndr_word_find(at, "__kernel");
    *word = !plain || (reserved && reserved < plain) ? reserved : plain;
    return *word ? ndr_word_skip_blanks(*word + ndr_word_length(*word)) : NULL;
}

bool ndr_code_next_kernel(const char **at, ndr_code_kernel *found)
{
    const char *word;
    do {
        const char *behind = ndr_code_find_kernel(*at, &word);
        if (!behind) return false;
        *at = behind;
    } while (!ndr_code_read_kernel(*at, found));
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

void ndr_code_list_types(const ndr_code *code, const char *options, ndr_text *out)
{
    ndr_code_kernel kernel;
    for (const char *at = code->chars.chars; ndr_code_next_kernel(&at, &kernel);)
        add_types(code, options, kernel.list, out);
}
