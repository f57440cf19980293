/* macros.c - tracks which macros are certainly defined at a place of a text, without its compiler.
 *
 * A macro is tracked from its first test in the text on. What a branch defines that the compiler may skip is unknown
 * after the branch. */
#include "program/macros.h"

#include <string.h>

/* ---- macros ---- */

enum { MAX_MACROS = 4096 };

typedef struct macro {
    ndr_hash name;
    unsigned depth;   /* open branches at its definition, plus 1; 0: it may be undefined */
    size_t body;      /* 1 plus its offset in `bodies`; 0: unknown */
    bool is_guard;    /* its body is empty or 1; compilers may define macros with others, such as INT_MAX */
    bool is_ours;     /* one of NDR_... */
    bool was_defined; /* by some line */
} macro;

static bool is_ours(const char *name) { return strncmp(name, "NDR_", 4) == 0; }

/* The compiler may define it. */
static bool is_opencl(const char *name)
{
    return strncmp(name, "cl_", 3) == 0 || strncmp(name, "__opencl", 8) == 0 || strncmp(name, "__OPENCL", 8) == 0;
}

static macro *macro_at(const ndr_macros *m, size_t index) { return (macro *)(void *)m->list.chars + index; }
static size_t count_macros(const ndr_macros *m) { return m->list.length / sizeof(macro); }

/* The macro of that name. If `follow`, it is tracked from now on. NULL: it is not tracked. */
static macro *find_macro(ndr_macros *m, const char *name, bool follow)
{
    const size_t length = ndr_word_length(name), count = count_macros(m);
    const macro made = { .name = ndr_hash_bytes(name, length), .is_ours = is_ours(name) };
    for (size_t i = 0; i < count; ++i)
        if (ndr_hash_equal(macro_at(m, i)->name, made.name)) return macro_at(m, i);
    if (!follow || length == 0 || count == MAX_MACROS) return NULL;
    ndr_text_add_chars(&m->list, (const char *)&made, sizeof made);
    return m->list.failed ? NULL : macro_at(m, count);
}

/* Keep a body that names a file. */
static size_t keep_body(ndr_macros *m, const char *body)
{
    const size_t at = m->bodies.length + 1;
    if (*body != '"' && *body != '<') return 0;
    ndr_text_add_chars(&m->bodies, body, strlen(body) + 1);
    return m->bodies.failed ? 0 : at;
}

static bool is_blank_or_one(const char *body)
{
    const char *rest = *body ? ndr_word_take(body, "1") : body;
    return rest && !*rest;
}

void ndr_macros_define(ndr_macros *m, const char *rest)
{
    const char *body = ndr_word_skip_blanks(rest + ndr_word_length(rest));
    macro *defined = find_macro(m, rest, is_ours(rest) || *body == '"' || *body == '<');
    if (!defined) return;
    defined->depth = m->branches + 1;
    defined->body = keep_body(m, body);
    defined->is_guard = is_blank_or_one(body);
    defined->was_defined = true;
}

void ndr_macros_undefine(ndr_macros *m, const char *rest)
{
    macro *found = find_macro(m, rest, false);
    if (found) found->depth = 0;
}

void ndr_macros_forget(ndr_macros *m)
{
    m->is_incomplete = true;
    for (size_t i = 0; i < count_macros(m); ++i)
        if (!macro_at(m, i)->is_ours) macro_at(m, i)->depth = 0;
}

bool ndr_macros_has(ndr_macros *m, const char *name)
{
    const macro *found = find_macro(m, name, true);
    return found && found->depth > 0;
}

bool ndr_macros_may_have(ndr_macros *m, const char *name)
{
    const macro *found = find_macro(m, name, true);
    return !found || found->was_defined || (m->is_incomplete && !found->is_ours)
           || ndr_code_redefines(m->code, m->options, name);
}

const char *ndr_macros_get_body(ndr_macros *m, const char *word)
{
    const macro *found = find_macro(m, word, false);
    const bool is_known = found && found->depth > 0 && found->body > 0;
    return is_known && !*ndr_word_skip_blanks(word + ndr_word_length(word)) ? m->bodies.chars + found->body - 1 : NULL;
}

void ndr_macros_free(ndr_macros *m)
{
    ndr_text_free(&m->list);
    ndr_text_free(&m->bodies);
}

/* ---- conditions ---- */

/* The name of the macro of `ifndef X` or `if !defined(X)`, if that is all of `text`; otherwise NULL. `*if_defined`:
 * the condition is true if it is defined. */
static const char *read_test(const char *text, bool *if_defined)
{
    const char *name = ndr_word_take(text, "ifdef"), *other = ndr_word_take(text, "ifndef"),
               *at = ndr_word_take(text, "if");
    *if_defined = !other;
    if (other) name = other;
    if (at && *at == '!') *if_defined = false, at = ndr_word_skip_blanks(at + 1);
    if (at) name = ndr_word_take(at, "defined");
    const bool is_open = at && name && *name == '(';
    if (is_open) name = ndr_word_skip_blanks(name + 1);
    if (!name || !ndr_word_length(name)) return NULL;
    const char *rest = ndr_word_skip_blanks(name + ndr_word_length(name));
    return (is_open ? *rest != ')' || *ndr_word_skip_blanks(rest + 1) : at && *rest) ? NULL : name;
}

/* Begin a branch. `condition` is NULL, or its guard becomes the macro of `ifndef X`. */
static void enter_branch(ndr_macros *m, ndr_branch *b, const char *condition)
{
    bool if_defined = true;
    const char *name = condition ? read_test(condition, &if_defined) : NULL;
    const char *number = condition ? ndr_word_take(condition, "if") : NULL;
    const bool is_zero = number && *number == '0' && !*ndr_word_skip_blanks(number + 1);
    const bool is_guard = name && !if_defined;
    b->is_new = is_guard && !is_opencl(name) && !ndr_macros_may_have(m, name);
    b->is_skipped = b->outer_is_skipped || is_zero || (name && ndr_macros_has(m, name) && !if_defined);
    const macro *guard = is_guard ? find_macro(m, name, false) : NULL;
    b->guard = guard ? (size_t)(guard - macro_at(m, 0)) + 1 : 0;
}

/* ---- branches ---- */

/* What is defined in the branch becomes unknown. */
static void leave_branch(ndr_macros *m)
{
    for (size_t i = 0; i < count_macros(m); ++i)
        if (macro_at(m, i)->depth > m->branches) macro_at(m, i)->depth = 0;
}

void ndr_branch_open(ndr_macros *m, ndr_branch *b, const char *condition, bool outer_is_skipped)
{
    *b = (ndr_branch){ .outer_is_skipped = outer_is_skipped };
    enter_branch(m, b, condition);
    ++m->branches;
}

void ndr_branch_next(ndr_macros *m, ndr_branch *b, const char *condition)
{
    leave_branch(m);
    enter_branch(m, b, condition);
    b->guard = 0;
}

/* What a file defines between its guard's #ifndef and the #endif stays known. Returns whether there is any. */
static bool keep_definitions(ndr_macros *m, const macro *guard)
{
    bool has_other = false;
    for (size_t i = 0; i < count_macros(m); ++i) {
        macro *kept = macro_at(m, i);
        if (kept->depth <= m->branches) continue;
        kept->depth = m->branches;
        has_other |= kept != guard;
    }
    return has_other;
}

bool ndr_branch_close(ndr_macros *m, ndr_branch *b, bool is_file)
{
    macro *guard = b->guard && !b->is_skipped ? macro_at(m, b->guard - 1) : NULL;
    bool needs_guard_check = false;
    if (guard && guard->depth > 0) { /* `#ifndef X` that defines X: it is defined in either case */
        guard->depth = m->branches;
        if (is_file && b->is_new && guard->is_guard) needs_guard_check = keep_definitions(m, guard);
        if (!b->is_new) guard->body = 0;
    }
    leave_branch(m);
    --m->branches;
    return needs_guard_check;
}
