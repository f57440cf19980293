/* parameter.c - reads the parameters of a kernel from its text: name, type, address space. Pure. */
#include "program/outline.h"

#include <stdlib.h>
#include <string.h>

static ndr_status fail_without_memory(void)
{
    return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for a kernel's parameters");
}

void ndr_parameter_free(ndr_outline_param *param)
{
    free((void *)(uintptr_t)param->name);
    free((void *)(uintptr_t)param->declaration);
    free((void *)(uintptr_t)param->type_name);
    free((void *)(uintptr_t)param->header);
}

/* ---- words ---- */

/* What the words of a parameter say. */
typedef struct words {
    ndr_text type;    /* "unsigned int" */
    const char *name; /* the last word */
    unsigned stars;   /* an array counts as one */
    bool is_global, is_constant, is_local, is_const;
    bool is_complex; /* a pointer to an array */
} words;

/* Append the text with one blank in place of several, and without blanks at its ends. */
static void add_squeezed(const char *at, const char *end, ndr_text *out)
{
    while (at < end && *at == ' ') ++at;
    for (; at < end; ++at) {
        const bool is_last = ndr_word_skip_blanks(at) >= end;
        if (*at != ' ' || (!is_last && at[1] != ' ')) ndr_text_add_chars(out, at, 1);
    }
}

static const char *const globals[] = { "global", "__global", NULL };
static const char *const constants[] = { "constant", "__constant", NULL };
static const char *const locals[] = { "local", "__local", NULL };
static const char *const others[] = { "private",      "__private",    "volatile",    "restrict",   "__restrict",
                                      "__restrict__", "read_only",    "__read_only", "write_only", "__write_only",
                                      "read_write",   "__read_write", NULL };

/* A word that is not the name. */
static void add_word(const char *at, size_t length, words *w)
{
    if (ndr_word_is_one_of(at, globals)) w->is_global = true;
    else if (ndr_word_is_one_of(at, constants)) w->is_constant = true;
    else if (ndr_word_is_one_of(at, locals)) w->is_local = true;
    else if (ndr_word_take(at, "const")) w->is_const |= w->stars == 0;
    else if (!ndr_word_is_one_of(at, others)) {
        if (w->type.length) ndr_text_add(&w->type, " ");
        ndr_text_add_chars(&w->type, at, length);
    }
}

static bool is_qualifier(const char *at)
{
    return ndr_word_is_one_of(at, globals) || ndr_word_is_one_of(at, constants) || ndr_word_is_one_of(at, locals)
           || ndr_word_is_one_of(at, others) || ndr_word_take(at, "const") != NULL;
}

/* The last word outside of brackets; of `float (*rows)[4]` that inside the parentheses. */
static const char *find_name(const char *at, const char *end)
{
    const char *name = NULL;
    while (at < end) {
        const size_t length = ndr_word_length(at);
        if (length > 0 && !is_qualifier(at)) name = at;
        const char *next = *at == '[' ? ndr_plain_skip_pair(at, end) : NULL;
        at = next ? next : at + (length > 0 ? length : 1);
    }
    return name;
}

/* False: there is something that only the compiler can read. */
static bool read_words(const ndr_param_text *text, words *w)
{
    const char *at = text->at;
    w->name = find_name(at, text->end);
    while (at < text->end) {
        const size_t length = ndr_word_length(at);
        if (length > 0 && at != w->name) add_word(at, length, w);
        if (*at == '*') ++w->stars;
        if (*at == '(') w->is_complex = true;
        if (*at == '(' && *ndr_word_skip_blanks(at + 1) != '*') return false;
        const bool is_array = *at == '[' && !w->is_complex;
        if (is_array && w->stars++ > 0) w->is_complex = true;
        const char *next = *at == '[' ? ndr_plain_skip_pair(at, text->end) : at + (length > 0 ? length : 1);
        if (!next) return false;
        at = next;
    }
    return w->name && w->type.length > 0;
}

/* ---- kinds ---- */

static ndr_outline_kind kind_of_value(const ndr_plain *plain, ndr_outline_param *param)
{
    const char *type = param->type_name;
    if (strcmp(type, "sampler_t") == 0) return NDR_OUTLINE_SAMPLER;
    if (ndr_is_opaque(type)) return strncmp(type, "image", 5) == 0 ? NDR_OUTLINE_IMAGE : NDR_OUTLINE_ANY;
    if (param->lanes > 0) return param->lanes == 1 ? NDR_OUTLINE_NUMBER : NDR_OUTLINE_VECTOR;
    return ndr_plain_is_struct(plain, type) ? NDR_OUTLINE_STRUCT : NDR_OUTLINE_ANY;
}

static ndr_outline_kind kind_of(const ndr_plain *plain, const words *w, ndr_outline_param *param)
{
    const bool is_memory = w->is_global || w->is_constant;
    if (w->is_complex && w->is_local) return NDR_OUTLINE_ANY;
    if (is_memory) return w->stars > 0 ? NDR_OUTLINE_BUFFER : NDR_OUTLINE_ANY;
    if (w->is_local) return w->stars == 1 ? NDR_OUTLINE_LOCAL : NDR_OUTLINE_ANY;
    return w->stars > 0 ? NDR_OUTLINE_ANY : kind_of_value(plain, param);
}

static void describe(const ndr_plain *plain, const words *w, ndr_outline_param *param)
{
    const ndr_builtin type = ndr_plain_type(plain, param->type_name);
    param->dtype = w->stars > 1 ? NDR_DTYPE_NONE : type.dtype;
    param->lanes = w->stars > 1 ? 0 : type.lanes;
    param->is_const = w->is_constant || (w->is_const && w->stars > 0);
    param->kind = kind_of(plain, w, param);
}

/* ---- reading ---- */

static ndr_status copy_texts(const ndr_plain *plain, const ndr_param_text *text, const words *w,
                             ndr_outline_param *param)
{
    ndr_text declaration = { 0 };
    add_squeezed(text->at, text->end, &declaration);
    if (declaration.failed || w->type.failed) {
        ndr_text_free(&declaration);
        return fail_without_memory();
    }
    param->declaration = declaration.chars;
    param->name = ndr_text_copy(w->name, ndr_word_length(w->name));
    param->type_name = ndr_text_copy(w->type.chars, w->type.length);
    const char *header = param->type_name ? ndr_plain_header(plain, param->type_name) : NULL;
    if (header) param->header = ndr_text_copy(header, strcspn(header, "\n"));
    return param->name && param->type_name && (!header || param->header) ? NDR_OK : fail_without_memory();
}

/* Its words do not make a parameter. */
static ndr_status refuse(const ndr_param_text *text, const words *w)
{
    if (w->type.failed) return fail_without_memory();
    ndr_text shown = { 0 };
    add_squeezed(text->at, text->end, &shown);
    const ndr_status status =
        ndr_fail(NDR_UNSUPPORTED,
                 "\"%s\", kernel \"%s\": parameter %zu, \"%s\", is not an address space, a type and a name; write "
                 "these instead of a macro with arguments",
                 text->title, text->kernel, text->index, shown.chars ? shown.chars : "");
    ndr_text_free(&shown);
    return status;
}

ndr_status ndr_parameter_read(const ndr_plain *plain, const ndr_param_text *text, ndr_outline_param *param)
{
    words w = { .name = NULL };
    ndr_status status = read_words(text, &w) ? copy_texts(plain, text, &w, param) : refuse(text, &w);
    if (status == NDR_OK) describe(plain, &w, param);
    ndr_text_free(&w.type);
    return status;
}

/* The operator's word, the type, the name. */
ndr_status ndr_parameter_read_reducer(const ndr_plain *plain, const ndr_param_text *text, ndr_outline_param *param)
{
    words w = { .stars = 1 };
    const char *first =
        text->at < text->end && *text->at == '(' ? memchr(text->at, ',', (size_t)(text->end - text->at)) : NULL;
    const char *second = first ? memchr(first + 1, ',', (size_t)(text->end - first - 1)) : NULL;
    if (second) w.name = ndr_word_skip_blanks(second + 1);
    if (second) add_squeezed(first + 1, second, &w.type);
    ndr_status status = second && ndr_word_length(w.name) > 0 && w.type.length > 0 ? copy_texts(plain, text, &w, param)
                                                                                   : refuse(text, &w);
    if (status == NDR_OK) describe(plain, &w, param);
    param->kind = NDR_OUTLINE_REDUCER;
    ndr_text_free(&w.type);
    return status;
}
