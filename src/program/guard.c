/* guard.c - whether a launch of a kernel can be rounded up, because its items past the range return at once.
 *
 * NDR_ITEM() returns from the kernel in items past the range. If that is the first thing a kernel does, its launch
 * can be rounded up. This is decided from the text, and only for simple cases. Other kernels are launched in several
 * pieces, which is correct and a little slower. */
#include "program/code.h"

#include <string.h>

/* Whether the text neither reads the number of launched items or groups, nor waits for items that may have returned,
 * nor may hide such a call: with ## or in a file that only the compiler finds. */
static bool is_free_of_group_calls(const char *chars)
{
    static const char *const names[] = { "get_global_size", "get_global_linear_id", "get_local_", "get_enqueued_",
                                         "get_num_",        "get_group_id",         "get_sub_",   "get_max_sub_",
                                         "barrier",         "work_group_",          "sub_group_", "intel_sub_group_",
                                         "async_work_",     "wait_group_",          "include",    "imacros" };
    for (size_t i = 0; i < NDR_COUNT_OF(names); ++i)
        if (ndr_word_find_start(chars, names[i])) return false;
    return !strstr(chars, "##") && !strstr(chars, "%:");
}

/* Whether the name at `at` occurs only there, and not in a prototype, a call, a directive or a macro. */
static bool occurs_once(const ndr_code *code, const char *options, const char *at)
{
    char name[128];
    const size_t length = ndr_word_length(at);
    if (length >= sizeof name) return false;
    memcpy(name, at, length);
    name[length] = '\0';
    const char *found = ndr_word_find(code->chars.chars, name);
    return !ndr_word_find(found + 1, name) && !ndr_word_find(code->macros.chars, name) && !ndr_word_find(options, name);
}

/* NULL if `at` is NULL. */
static const char *skip_token(const char *at, const char *token) { return at ? ndr_word_take(at, token) : NULL; }

/* Whether a body starts with `const ndr_item it = NDR_ITEM(1);` or `const size_t i = ndr_global_id(NDR_ITEM(1),
 * 0);`, without macros that could do something before. */
static bool starts_with_item(const ndr_code *code, const char *options, const char *body)
{
    const char *at = ndr_word_skip_blanks(body + 1);
    for (size_t length; (length = ndr_word_length(at)) > 0; at = ndr_word_skip_blanks(at + length))
        if (ndr_code_redefines(code, options, at)) return false;
    const char *value = skip_token(at, "="), *inside = skip_token(skip_token(value, "ndr_global_id"), "(");
    const char *dims = skip_token(skip_token(inside ? inside : value, "NDR_ITEM"), "(");
    if (!dims || *dims < '1' || *dims > '3') return false; /* NDR_ITEM(0) does not return */
    at = skip_token(ndr_word_skip_blanks(dims + 1), ")");
    if (inside) at = skip_token(at, ",");
    if (inside && at) at = skip_token(ndr_word_skip_blanks(at + strspn(at, "0123456789")), ")");
    return at && (*at == ';' || *at == ',') && !ndr_code_redefines(code, options, "NDR_ITEM")
           && !ndr_code_redefines(code, options, "ndr_global_id");
}

/* Whether braces show the end of a body: none is in a macro or written %>. */
static bool shows_bodies(const ndr_code *code, const char *options)
{
    return !strstr(code->chars.chars, "%>") && !strpbrk(code->macros.chars, "{}%") && !strpbrk(options, "{}%");
}

static const char *find_body(const ndr_code *code, const char *name)
{
    ndr_code_kernel kernel;
    for (const char *at = code->chars.chars; ndr_code_next_kernel(&at, &kernel);)
        if (kernel.name == name) return kernel.body;
    return NULL;
}

/* Blank the bodies of other kernels in `own`, a copy of the code: their calls do not matter. */
static void blank_others(const ndr_code *code, const char *options, const char *name, char *own)
{
    ndr_code_kernel kernel;
    for (const char *at = code->chars.chars; ndr_code_next_kernel(&at, &kernel);)
        if (kernel.name != name && kernel.body && occurs_once(code, options, kernel.name))
            memset(own + (kernel.body - code->chars.chars), ' ', (size_t)(kernel.end - kernel.body));
}

/* Whether no group call can be in the kernel called at `name`, or in what it calls. */
static ndr_status has_no_group_calls(const ndr_code *code, const char *options, const char *name, bool *has_none)
{
    const ndr_text *all = &code->chars;
    *has_none = is_free_of_group_calls(code->macros.chars) && is_free_of_group_calls(options);
    if (!*has_none || is_free_of_group_calls(all->chars)) return NDR_OK;
    *has_none = false;
    ndr_text own = { 0 };
    ndr_text_add_chars(&own, all->chars, all->length);
    NDR_REQUIRE_AS(NDR_OUT_OF_HOST_MEMORY, !own.failed, "no memory to read a program's text");
    if (shows_bodies(code, options)) blank_others(code, options, name, own.chars);
    *has_none = is_free_of_group_calls(own.chars);
    ndr_text_free(&own);
    return NDR_OK;
}

ndr_status ndr_guard_read(const ndr_code *code, const char *options, const char *name, bool *is_first)
{
    const char *all = code->chars.chars, *found = ndr_word_find(all, name);
    *is_first = false;
    if (!found || !occurs_once(code, options, found) || strstr(all, "??")) return NDR_OK; /* it may be a trigraph */
    const char *body = find_body(code, found);
    if (!body || !starts_with_item(code, options, body)) return NDR_OK;
    return has_no_group_calls(code, options, found, is_first);
}

/* ---- kernels with reducers ---- */

static bool is_called(const ndr_code_kernel *kernel, const char *name)
{
    return ndr_word_length(kernel->name) == strlen(name) && strncmp(kernel->name, name, strlen(name)) == 0;
}

static ndr_status refuse_words(const char *name, const ndr_code_kernel *kernel)
{
    static const char *const words[] = { "return", "goto", "barrier", "work_group_barrier" };
    for (size_t i = 0; i < NDR_COUNT_OF(words); ++i) {
        const char *found = ndr_word_find(kernel->body, words[i]);
        if (found && found < kernel->end)
            return ndr_fail(NDR_BUILD_FAILED,
                            "kernel \"%s\" has reducers (NDR_REDUCTION) and `%s`: a work-item of it runs many indexes, "
                            "and stores their values at its end; end an index with `continue`, and use barriers in a "
                            "kernel without reducers",
                            name, words[i]);
    }
    return NDR_OK;
}

static ndr_status check_body(const char *name, const ndr_code_kernel *kernel)
{
    const char *loop = ndr_word_find(kernel->body, "NDR_REDUCE");
    NDR_REQUIRE_AS(NDR_BUILD_FAILED, loop && loop < kernel->end,
                   "kernel \"%s\" has reducers (NDR_REDUCTION), but no NDR_REDUCE in its body, which runs the indexes "
                   "of its range; write it there, and not in a macro",
                   name);
    return refuse_words(name, kernel);
}

ndr_status ndr_guard_check_reduction(const ndr_code *code, const char *name)
{
    ndr_code_kernel kernel;
    for (const char *at = code->chars.chars; ndr_code_next_kernel(&at, &kernel);)
        if (kernel.body && is_called(&kernel, name)) NDR_TRY(check_body(name, &kernel));
    return NDR_OK;
}
