/* macros.c - tracks macros and conditions of a text without its compiler.
 *
 * A macro is tracked from its first test in the text on. Other conditions are unknown. Definitions in a branch that
 * the compiler may skip are unknown after the branch. */
#include "program/program.h"

#include <stdlib.h>
#include <string.h>

/* ---- macros ---- */

/* What is known about a macro: whether it is defined, and its body if there is only one. */
typedef struct fact {
    ndr_truth defined;
    size_t body; /* offset in `bodies` */
} fact;

enum { NO_BODY, MANY_BODIES, MAX_MACROS = 4096, DEFINED_BITS = 1 << 17 };

typedef struct macro {
    ndr_hash name;
    fact now;
    bool is_ours;   /* by its name */
    bool is_opencl; /* by its name: the compiler may define it */
} macro;

/* The state of a macro before a change. */
typedef struct change {
    size_t macro;
    fact before;
} change;

struct ndr_macros {
    ndr_text list, changes, bodies;
    unsigned branches;                       /* number of open branches */
    bool is_incomplete;                      /* a part of the text is read only by the compiler */
    unsigned char defined[DEFINED_BITS / 8]; /* by hash: macros that some line may have defined */
};

#define NO_MACRO SIZE_MAX

static macro *macro_at(const ndr_macros *m, size_t index) { return (macro *)(void *)m->list.chars + index; }
static change *change_at(const ndr_macros *m, size_t index) { return (change *)(void *)m->changes.chars + index; }
static size_t count_changes(const ndr_macros *m) { return m->changes.length / sizeof(change); }
static const char *body_at(const ndr_macros *m, size_t body) { return m->bodies.failed ? "?" : m->bodies.chars + body; }

/* The index of a macro in the list; if `follow`, it is added if it is missing. */
static size_t find_macro(ndr_macros *m, const char *name, size_t length, bool follow)
{
    const macro made = { .name = ndr_hash_bytes(name, length, 0),
                         .is_ours = strncmp(name, "NDR_", 4) == 0,
                         .is_opencl = strncmp(name, "cl_", 3) == 0 || strncmp(name, "__opencl", 8) == 0
                                      || strncmp(name, "__OPENCL", 8) == 0 };
    const size_t count = m->list.length / sizeof made;
    for (size_t i = 0; i < count; ++i)
        if (ndr_hash_equal(macro_at(m, i)->name, made.name)) return i;
    if (!follow || length == 0 || count == MAX_MACROS) return NO_MACRO;
    ndr_text_add_chars(&m->list, (const char *)&made, sizeof made);
    return m->list.failed ? NO_MACRO : count;
}

static void set_fact(ndr_macros *m, size_t index, fact now)
{
    if (index == NO_MACRO) return;
    const change made = { index, macro_at(m, index)->now };
    if (m->branches) ndr_text_add_chars(&m->changes, (const char *)&made, sizeof made);
    macro_at(m, index)->now = now;
}

/* Record that a line or an option may define a macro. */
static void note_definition(ndr_macros *m, const char *name, size_t length)
{
    const size_t bit = ndr_hash_bytes(name, length, 0).words[0] % DEFINED_BITS;
    m->defined[bit / 8] |= (unsigned char)(1u << bit % 8);
}

/* Whether no line or option has defined the macro so far. The compiler may have. */
static bool is_new(const ndr_macros *m, size_t index)
{
    const macro *asked = macro_at(m, index);
    const size_t bit = asked->name.words[0] % DEFINED_BITS;
    return !asked->is_opencl && !(m->defined[bit / 8] >> bit % 8 & 1) && (!m->is_incomplete || asked->is_ours);
}

static size_t keep_body(ndr_macros *m, const char *body, size_t length)
{
    const size_t at = m->bodies.length;
    ndr_text_add_chars(&m->bodies, body, length);
    ndr_text_add_chars(&m->bodies, "", 1);
    return at;
}

static void define_macro(ndr_macros *m, const char *name, size_t length, const char *body, ndr_truth defined)
{
    const size_t index = find_macro(m, name, length, *body == '"' || *body == '<');
    size_t end = strlen(body);
    while (end > 0 && body[end - 1] == ' ') --end;
    if (index != NO_MACRO) set_fact(m, index, (fact){ defined, keep_body(m, body, end) });
}

void ndr_macros_define(ndr_macros *m, const char *rest)
{
    const size_t length = ndr_word_length(rest);
    note_definition(m, rest, length);
    define_macro(m, rest, length, rest[length] == '(' ? "?" : ndr_word_skip_blanks(rest + length), NDR_YES);
}

void ndr_macros_undefine(ndr_macros *m, const char *rest)
{
    set_fact(m, find_macro(m, rest, ndr_word_length(rest), false), (fact){ NDR_NO, NO_BODY });
}

void ndr_macros_forget(ndr_macros *m)
{
    m->is_incomplete = true;
    for (size_t i = 0; i < m->list.length / sizeof(macro); ++i)
        if (!macro_at(m, i)->is_ours) set_fact(m, i, (fact){ NDR_UNKNOWN, MANY_BODIES });
}

void ndr_macros_add_own(ndr_macros *m, const char *name)
{
    const size_t index = find_macro(m, name, strlen(name), true);
    if (index != NO_MACRO) macro_at(m, index)->now = (fact){ NDR_NO, NO_BODY };
}

ndr_truth ndr_macros_is_defined(ndr_macros *m, const char *name)
{
    const size_t index = find_macro(m, name, strlen(name), false);
    return index == NO_MACRO ? NDR_UNKNOWN : macro_at(m, index)->now.defined;
}

const char *ndr_macros_get_body(ndr_macros *m, const char *word)
{
    const size_t length = ndr_word_length(word), index = find_macro(m, word, length, false);
    if (index == NO_MACRO || *ndr_word_skip_blanks(word + length)) return NULL;
    const fact now = macro_at(m, index)->now;
    return now.body > MANY_BODIES ? body_at(m, now.body) : NULL;
}

ndr_macros *ndr_macros_new(void)
{
    ndr_macros *made = calloc(1, sizeof *made);
    if (made) ndr_text_add_chars(&made->bodies, "\0\0", 2); /* NO_BODY and MANY_BODIES */
    return made;
}

bool ndr_macros_failed(const ndr_macros *m) { return m->list.failed || m->changes.failed || m->bodies.failed; }

void ndr_macros_free(ndr_macros *m)
{
    if (!m) return;
    ndr_text_free(&m->list);
    ndr_text_free(&m->changes);
    ndr_text_free(&m->bodies);
    free(m);
}

/* Reads -D NAME=BODY, -DNAME and -U. Drivers interpret quotes differently: if there are any, definitions are
 * unknown. */
void ndr_macros_read_options(ndr_macros *m, const char *options)
{
    const ndr_truth defined = strpbrk(options, "\"'\\") ? NDR_UNKNOWN : NDR_YES;
    for (const char *at = strchr(options, '-'); at; at = strchr(at + 1, '-')) {
        if ((at > options && !strchr(" \t\"'", at[-1])) || (at[1] != 'D' && at[1] != 'U')) continue;
        const char *name = at + 2 + strspn(at + 2, " \t\"'");
        const size_t length = ndr_word_length(name);
        ndr_text body = { 0 };
        bool quoted = false;
        const char *c = name + length + (name[length] == '=');
        for (; *c && (quoted || !strchr(" \t'", *c)); ++c) {
            quoted ^= *c == '"';
            if (*c != '\\') ndr_text_add_chars(&body, c, 1);
        }
        const size_t index = find_macro(m, name, length, true);
        note_definition(m, name, length);
        if (at[1] == 'D') define_macro(m, name, length, body.length ? body.chars : "1", defined);
        else set_fact(m, index, (fact){ NDR_UNKNOWN, MANY_BODIES });
        m->bodies.failed |= body.failed;
        ndr_text_free(&body);
    }
}

/* ---- conditions ---- */

static ndr_truth truth_of(bool value) { return value ? NDR_YES : NDR_NO; }

/* The macro of `ifndef X` or `if !defined(X)`, if that is all of `text`. `*if_defined`: the condition is true if it
 * is defined. */
static size_t read_test(ndr_macros *m, const char *text, bool *if_defined)
{
    const char *name = ndr_word_take(text, "ifdef"), *other = ndr_word_take(text, "ifndef"),
               *at = ndr_word_take(text, "if");
    *if_defined = !other;
    if (other) name = other;
    if (at && *at == '!') *if_defined = false, at = ndr_word_skip_blanks(at + 1);
    if (at) name = ndr_word_take(at, "defined");
    const bool is_open = at && name && *name == '(';
    if (is_open) name = ndr_word_skip_blanks(name + 1);
    if (!name || !ndr_word_length(name)) return NO_MACRO;
    const char *rest = ndr_word_skip_blanks(name + ndr_word_length(name));
    if (is_open ? *rest != ')' || *ndr_word_skip_blanks(rest + 1) : at && *rest) return NO_MACRO;
    return find_macro(m, name, ndr_word_length(name), true);
}

static ndr_truth read_condition(ndr_macros *m, const char *text, size_t *guard)
{
    bool if_defined;
    const size_t index = read_test(m, text, &if_defined);
    const ndr_truth defined = index == NO_MACRO ? NDR_UNKNOWN : macro_at(m, index)->now.defined;
    *guard = if_defined ? NO_MACRO : index;
    if (defined != NDR_UNKNOWN) return truth_of(if_defined == (defined == NDR_YES));
    const char *number = ndr_word_take(text, "if");
    const bool is_digit = number && (*number == '0' || *number == '1') && !*ndr_word_skip_blanks(number + 1);
    return is_digit ? truth_of(*number == '1') : NDR_UNKNOWN;
}

/* ---- branches ---- */

static void enter_branch(ndr_macros *m, ndr_branch *b, ndr_truth condition)
{
    b->is_skipped = b->outer_is_skipped || b->is_decided || condition == NDR_NO;
    b->is_taken = condition == NDR_YES && !b->is_skipped && !b->may_be_another;
    b->is_decided |= condition == NDR_YES;
    b->may_be_another |= condition == NDR_UNKNOWN;
    b->since = count_changes(m);
}

void ndr_branch_open(ndr_macros *m, ndr_branch *b, const char *condition, bool outer_is_skipped)
{
    *b = (ndr_branch){ .outer_is_skipped = outer_is_skipped, .first = count_changes(m), .guard = NO_MACRO };
    const ndr_truth known = outer_is_skipped ? NDR_NO : read_condition(m, condition, &b->guard);
    b->is_new = b->guard != NO_MACRO && is_new(m, b->guard);
    ++m->branches;
    enter_branch(m, b, known);
}

/* Restore the state before the branch. The changes then hold the state inside the branch. */
static void undo_changes(ndr_macros *m, size_t since)
{
    for (size_t i = count_changes(m); i-- > since;) {
        macro *changed = macro_at(m, change_at(m, i)->macro);
        const fact now = changed->now;
        changed->now = change_at(m, i)->before;
        change_at(m, i)->before = now;
    }
}

void ndr_branch_next(ndr_macros *m, ndr_branch *b, const char *condition)
{
    size_t guard;
    undo_changes(m, b->since);
    b->guard = NO_MACRO;
    const bool is_evaluated = condition && !b->outer_is_skipped && !b->is_decided;
    enter_branch(m, b, is_evaluated ? read_condition(m, condition, &guard) : NDR_YES);
}

static fact merge_facts(const ndr_macros *m, fact a, fact b)
{
    if (a.defined != b.defined) a.defined = NDR_UNKNOWN;
    if (a.body == NO_BODY) a.body = b.body;
    else if (b.body != NO_BODY && strcmp(body_at(m, a.body), body_at(m, b.body)) != 0) a.body = MANY_BODIES;
    return a;
}

static bool changes_other_macro(const ndr_macros *m, const ndr_branch *b)
{
    for (size_t i = b->first; i < count_changes(m); ++i)
        if (change_at(m, i)->macro != b->guard) return true;
    return false;
}

/* A guard macro is empty, or 1. Compilers may define macros with other bodies, such as INT_MAX. */
static bool is_defined_as_guard(const ndr_macros *m, size_t index)
{
    const char *body = body_at(m, macro_at(m, index)->now.body);
    return !*body || strcmp(body, "1") == 0;
}

bool ndr_branch_close(ndr_macros *m, ndr_branch *b, bool is_file)
{
    const bool guards = b->guard != NO_MACRO && !b->is_skipped && macro_at(m, b->guard)->now.defined == NDR_YES;
    const bool is_certain = guards && is_file && b->is_new && is_defined_as_guard(m, b->guard);
    const bool needs_guard_check = is_certain && changes_other_macro(m, b);
    --m->branches;
    if (!is_certain) undo_changes(m, b->since);
    for (size_t i = b->first; !is_certain && i < count_changes(m); ++i) {
        macro *changed = macro_at(m, change_at(m, i)->macro);
        const fact inside = change_at(m, i)->before;
        change_at(m, i)->before = changed->now;
        changed->now = merge_facts(m, changed->now, inside);
    }
    if (!m->branches) m->changes.length = 0; /* nothing to restore */
    if (guards) set_fact(m, b->guard, (fact){ NDR_YES, macro_at(m, b->guard)->now.body });
    return needs_guard_check;
}
