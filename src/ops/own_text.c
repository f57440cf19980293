/* own_text.c - checks of texts of the caller that an operation writes into a kernel. */
#include "ops/own_text.h"
#include "program/lines.h"

#include <stdlib.h>

/* What is wrong, and what to do. */
typedef struct fault {
    const char *what, *fix;
} fault;

/* Append the code of a text, a line for each. */
static fault read_lines(const char *text, ndr_own_kind kind, bool *has_branches, ndr_text *code)
{
    ndr_line line = { .code = code };
    bool is_open = false, has_directive = false;
    for (const char *at = text; *at && !is_open; at = line.next) {
        ndr_line_read(at, &line);
        has_directive |= line.directive.length > 0;
        *has_branches |= ndr_line_is(&line, "if") || ndr_line_is(&line, "ifdef") || ndr_line_is(&line, "ifndef");
        is_open = line.is_open;
        code->failed |= line.directive.failed;
        ndr_text_add_chars(code, "\n", 1);
    }
    ndr_text_free(&line.directive);
    if (is_open) return (fault){ "begins a comment and does not end it", "add */" };
    if (has_directive && kind == NDR_OWN_EXPRESSION)
        return (fault){ "has a line that begins with #", "move it to declarations" };
    return (fault){ NULL, NULL };
}

/* Of code with all branches of #if, brackets need not match. */
static fault check_brackets(const char *code)
{
    enum { DEEPEST = 256 }; /* compilers take no more */
    static const fault open = { "does not close a bracket that it opens", "add the closing one" },
                       closed = { "closes a bracket that it does not open", "remove it, or open it" },
                       deep = { "has more than 256 brackets in each other", "call functions of declarations" },
                       quoted = { "does not close a quote", "add the closing one" };
    char expected[DEEPEST];
    size_t depth = 0;
    for (const char *c = code; *c; ++c) {
        const char close = *c == '(' ? ')' : *c == '[' ? ']' : *c == '{' ? '}' : '\0';
        if (close && depth == DEEPEST) return deep;
        if (close) expected[depth++] = close;
        else if ((*c == ')' || *c == ']' || *c == '}') && (depth == 0 || expected[--depth] != *c)) return closed;
        if (*c != '"' && *c != '\'') continue;
        if (c[1] != *c) return quoted; /* what is between two is left out of code */
        ++c;
    }
    return depth > 0 ? open : (fault){ NULL, NULL };
}

/* Of code whose brackets match. A ; at the end is not needed, and does no harm. */
static fault check_value(const char *code)
{
    const char *const first = code + strspn(code, " \n");
    size_t depth = 0;
    if (ndr_word_take(first, "return")) return (fault){ "begins with return", "write the value alone" };
    for (const char *c = first; *c; ++c) {
        depth += *c == '(' || *c == '[' || *c == '{';
        depth -= *c == ')' || *c == ']' || *c == '}';
        if (depth == 0 && *c == ',') return (fault){ "has a comma outside of brackets", "put it in parentheses" };
        if (depth == 0 && *c == ';' && c[1 + strspn(c + 1, " \n;")])
            return (fault){ "goes on behind a ;", "write one value, and call a function of declarations where that takes "
                                                  "statements" };
    }
    return (fault){ NULL, NULL };
}

static fault find_fault(const char *text, ndr_own_kind kind, ndr_text *code)
{
    bool has_branches = false;
    size_t length = strlen(text);
    while (length > 0 && (text[length - 1] == ' ' || text[length - 1] == '\t')) --length;
    if (length > 0 && text[length - 1] == '\\') return (fault){ "ends with a backslash", "remove it" };
    fault found = read_lines(text, kind, &has_branches, code);
    if (!code->chars || code->failed || found.what || kind == NDR_OWN_DECLARATIONS) return found;
    if (!code->chars[strspn(code->chars, " \n;")]) return (fault){ "has no code", "write some, or leave it out" };
    if (!has_branches) found = check_brackets(code->chars);
    return found.what || kind == NDR_OWN_STATEMENTS ? found : check_value(code->chars);
}

ndr_status ndr_own_check(const char *call, const char *what, const char *text, ndr_own_kind kind)
{
    enum { SHOWN = 60 };
    if (!text) return NDR_OK;
    ndr_text code = { 0 };
    char *const clean = ndr_text_copy(text, strlen(text));
    if (clean) ndr_line_clean(clean);
    const fault found = clean ? find_fault(clean, kind, &code) : (fault){ NULL, NULL };
    const bool failed = !clean || code.failed;
    free(clean);
    ndr_text_free(&code);
    if (failed) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory to check the text of %s", what);
    const bool is_long = strlen(text) > SHOWN;
    NDR_REQUIRE(!found.what, "%s: %s \"%.*s%s\" %s: %s", call, what, is_long ? SHOWN : (int)strlen(text), text,
                is_long ? "..." : "", found.what, found.fix);
    return NDR_OK;
}
