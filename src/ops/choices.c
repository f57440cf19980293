/* choices.c - what a context keeps about variants: those that tests force, those that ndr_tune() found fastest, and
 * what is known about their needs on its device. */
#include "device/cache.h"
#include "device/context.h"
#include "ops/choices.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const ndr_attachment_kind kind = { "an operation's choices", sizeof(ndr_choices), NDR_LOCK_CHOICES, NULL, NULL };

ndr_status ndr_choices_get(ndr_context *context, ndr_choices **out)
{
    ndr_attachment *found;
    NDR_TRY(ndr_attachment_get(&context->attachments, &kind, &found));
    *out = (ndr_choices *)found;
    return NDR_OK;
}

/* ---- preferences ---- */

static size_t count_of(const ndr_choices *c) { return atomic_load_explicit(&c->count, memory_order_acquire); }

/* Among the first `count`. */
static ndr_preference *find(ndr_choices *c, size_t count, const ndr_operation *operation, uint32_t request_class)
{
    for (ndr_preference *p = c->preferences; p < c->preferences + count; ++p)
        if (p->operation == operation && p->request_class == request_class) return p;
    return NULL;
}

static const ndr_op_variant *variant_of(const ndr_preference *p) { return p ? atomic_load(&p->variant) : NULL; }

/* With the lock held. Others see a new preference after `count` is set. */
static ndr_status set_preference(ndr_choices *c, const ndr_operation *operation, uint32_t request_class,
                                 const ndr_op_variant *variant)
{
    ndr_preference *p = find(c, c->used, operation, request_class);
    const size_t most = request_class == NDR_EVERY_CLASS ? NDR_COUNT_OF(c->preferences) : NDR_MAX_PREFERENCES;
    NDR_REQUIRE_AS(NDR_LIMIT_EXCEEDED, p || c->used < most,
                   "%s: the context already keeps %d tuned shapes, which is the limit; tune more in another context",
                   operation->name, NDR_MAX_PREFERENCES);
    if (!p) {
        p = &c->preferences[c->used++];
        p->operation = operation;
        p->request_class = request_class;
    }
    atomic_store(&p->variant, variant);
    return NDR_OK;
}

ndr_status ndr_op_prefer(ndr_context *context, const ndr_operation *operation, uint32_t request_class,
                         const ndr_op_variant *variant)
{
    ndr_choices *c;
    NDR_TRY(ndr_choices_get(context, &c));
    ndr_mutex_lock(&c->base.lock);
    const ndr_status status = set_preference(c, operation, request_class, variant);
    atomic_store_explicit(&c->count, c->used, memory_order_release);
    ndr_mutex_unlock(&c->base.lock);
    return status;
}

static const ndr_op_variant *find_variant(const ndr_operation *operation, const char *name)
{
    for (size_t i = 0; i < operation->variant_count; ++i)
        if (strcmp(operation->variants[i]->name, name) == 0) return operation->variants[i];
    return NULL;
}

/* ---- on disk: a line "CLASS VARIANT" for each tuned class of an operation ---- */

typedef struct question {
    char chars[64];
} question;

/* Of a part of a device, they are its own. */
static question question_of(const ndr_context *context, const ndr_operation *operation)
{
    question out;
    snprintf(out.chars, sizeof out.chars, "tuned variants of %s, %u units", operation->name,
             context->caps.info.compute_units);
    return out;
}

/* Lines that do not fit are left out: their classes select from the list. */
static void add_lines(ndr_choices *c, const ndr_operation *operation, char *text)
{
    for (char *end, *name; (end = strchr(text, '\n')) != NULL; text = end + 1) {
        *end = '\0';
        const unsigned long request_class = strtoul(text, &name, 10);
        const ndr_op_variant *variant = *name ? find_variant(operation, name + 1) : NULL;
        if (variant && request_class < NDR_EVERY_CLASS)
            NDR_IGNORE(set_preference(c, operation, (uint32_t)request_class, variant));
    }
}

/* Read what earlier processes have tuned. The preference for every class marks that this was done; others see it
 * together with them. */
static ndr_status load(ndr_context *context, ndr_choices *c, const ndr_operation *operation)
{
    ndr_text text = { 0 };
    ndr_status status = NDR_OK;
    ndr_mutex_lock(&c->base.lock);
    if (!find(c, c->used, operation, NDR_EVERY_CLASS)) {
        status = set_preference(c, operation, NDR_EVERY_CLASS, NULL);
        if (operation->class_of && ndr_cache_get(context, question_of(context, operation).chars, &text))
            add_lines(c, operation, text.chars);
        atomic_store_explicit(&c->count, c->used, memory_order_release);
    }
    ndr_mutex_unlock(&c->base.lock);
    ndr_text_free(&text);
    return status;
}

ndr_status ndr_op_keep_tuned(ndr_context *context, const ndr_operation *operation)
{
    ndr_choices *c;
    ndr_text text = { 0 };
    if (!context->disk.folder.chars) return NDR_OK; /* without a store */
    NDR_TRY(ndr_choices_get(context, &c));
    for (ndr_preference *p = c->preferences, *end = p + count_of(c); p < end; ++p)
        if (p->operation == operation && p->request_class < NDR_EVERY_CLASS && variant_of(p))
            ndr_text_add(&text, "%lu %s\n", (unsigned long)p->request_class, variant_of(p)->name);
    if (text.chars && !text.failed)
        (void)ndr_cache_put(context, question_of(context, operation).chars, text.chars, text.length);
    ndr_text_free(&text);
    return NDR_OK;
}

/* ---- what the operations read ---- */

static ndr_status get_every_class(ndr_context *context, ndr_choices *c, const ndr_operation *operation,
                                  ndr_preference **out)
{
    *out = find(c, count_of(c), operation, NDR_EVERY_CLASS);
    if (*out) return NDR_OK;
    NDR_TRY(load(context, c, operation));
    *out = find(c, count_of(c), operation, NDR_EVERY_CLASS);
    return NDR_OK;
}

ndr_status ndr_op_get_every_class(ndr_context *context, const ndr_operation *operation, ndr_preference **out)
{
    ndr_choices *c;
    NDR_TRY(ndr_choices_get(context, &c));
    return get_every_class(context, c, operation, out);
}

ndr_status ndr_op_get_preferred(ndr_context *context, const ndr_operation *operation, uint32_t request_class,
                                const ndr_op_variant **variant, ndr_lacks *lacks)
{
    ndr_choices *c;
    ndr_preference *forced;
    NDR_TRY(ndr_choices_get(context, &c));
    NDR_TRY(get_every_class(context, c, operation, &forced));
    *lacks = atomic_load(&c->lacks) | atomic_load(&forced->wrong);
    *variant = variant_of(forced);
    if (!*variant) *variant = variant_of(find(c, count_of(c), operation, request_class));
    return NDR_OK;
}
