/* prefer.c - what a context keeps about rows: those that tests force, those that ndr_tune() found fastest, and what
 * is known about their needs on its device. */
#include "device/cache.h"
#include "device/context.h"
#include "ops/ops.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PREFERENCES = 64 };

typedef struct preference {
    const ndr_operation *operation;
    uint32_t request_class;        /* NDR_EVERY_CLASS, or one that was tuned */
    const ndr_op_row *_Atomic row; /* NULL: no preference now */
} preference;

typedef struct choices {
    ndr_attachment base; /* of the context; its lock is held while preferences are added, and not to read them */
    atomic_uint needs[NDR_NEEDS_KINDS];
    preference preferences[MAX_PREFERENCES];
    size_t used;         /* guarded by the lock */
    atomic_size_t count; /* of them, to be read without it */
} choices;

static const ndr_attachment_kind kind = { "an operation's choices", sizeof(choices), NDR_LOCK_CHOICES, NULL, NULL };

static ndr_status get_choices(ndr_context *context, choices **out)
{
    ndr_attachment *found;
    NDR_TRY(ndr_attachment_get(&context->attachments, &kind, &found));
    *out = (choices *)found;
    return NDR_OK;
}

ndr_status ndr_op_get_needs(ndr_context *context, ndr_needs_kind which, unsigned *needs)
{
    choices *c;
    NDR_TRY(get_choices(context, &c));
    *needs = atomic_load(&c->needs[which]);
    return NDR_OK;
}

ndr_status ndr_op_add_needs(ndr_context *context, ndr_needs_kind which, unsigned needs)
{
    choices *c;
    NDR_TRY(get_choices(context, &c));
    atomic_fetch_or(&c->needs[which], needs);
    return NDR_OK;
}

/* ---- preferences ---- */

/* Among the first `count`. */
static preference *find_among(choices *c, size_t count, const ndr_operation *operation, uint32_t request_class)
{
    for (preference *p = c->preferences; p < c->preferences + count; ++p)
        if (p->operation == operation && p->request_class == request_class) return p;
    return NULL;
}

static preference *find_preference(choices *c, const ndr_operation *operation, uint32_t request_class)
{
    return find_among(c, atomic_load_explicit(&c->count, memory_order_acquire), operation, request_class);
}

static const ndr_op_row *preferred_for(choices *c, const ndr_operation *operation, uint32_t request_class)
{
    preference *found = find_preference(c, operation, request_class);
    return found ? atomic_load(&found->row) : NULL;
}

/* With the lock held. Others see a new preference after publish(). */
static ndr_status set_preference(choices *c, const ndr_operation *operation, uint32_t request_class,
                                 const ndr_op_row *row)
{
    preference *p = find_among(c, c->used, operation, request_class);
    NDR_REQUIRE_AS(NDR_LIMIT_EXCEEDED, p || c->used < MAX_PREFERENCES,
                   "%s: the context already keeps %d tuned shapes, which is the limit; tune more in another context", operation->name,
                   MAX_PREFERENCES);
    if (!p) {
        p = &c->preferences[c->used++];
        p->operation = operation;
        p->request_class = request_class;
    }
    atomic_store(&p->row, row);
    return NDR_OK;
}

static void publish(choices *c) { atomic_store_explicit(&c->count, c->used, memory_order_release); }

ndr_status ndr_op_prefer(ndr_context *context, const ndr_operation *operation, uint32_t request_class,
                         const ndr_op_row *row)
{
    choices *c;
    NDR_TRY(get_choices(context, &c));
    ndr_mutex_lock(&c->base.lock);
    const ndr_status status = set_preference(c, operation, request_class, row);
    publish(c);
    ndr_mutex_unlock(&c->base.lock);
    return status;
}

static const ndr_op_row *find_row(const ndr_operation *operation, const char *name)
{
    for (size_t i = 0; i < operation->row_count; ++i)
        if (strcmp(operation->rows[i]->name, name) == 0) return operation->rows[i];
    return NULL;
}

/* ---- on disk: a line "CLASS ROW" for each tuned class of an operation ---- */

enum { QUESTION_SIZE = 64 };

static void print_question(const ndr_operation *operation, char question[QUESTION_SIZE])
{
    snprintf(question, QUESTION_SIZE, "tuned rows of %s", operation->name);
}

static void add_line(choices *c, const ndr_operation *operation, char *line)
{
    char *name;
    const unsigned long request_class = strtoul(line, &name, 10);
    const ndr_op_row *row = *name ? find_row(operation, name + 1) : NULL;
    if (row && request_class < NDR_EVERY_CLASS)
        NDR_IGNORE(set_preference(c, operation, (uint32_t)request_class, row)); /* full: select from the list */
}

static void add_lines(choices *c, const ndr_operation *operation, char *text)
{
    for (char *end; (end = strchr(text, '\n')) != NULL; text = end + 1) {
        *end = '\0';
        add_line(c, operation, text);
    }
}

/* Read what earlier processes have tuned. The preference for every class marks that this was done; it is published
 * together with them. */
static ndr_status load(ndr_context *context, choices *c, const ndr_operation *operation)
{
    char question[QUESTION_SIZE];
    ndr_text text = { 0 };
    ndr_status status = NDR_OK;
    print_question(operation, question);
    ndr_mutex_lock(&c->base.lock);
    if (!find_preference(c, operation, NDR_EVERY_CLASS)) {
        status = set_preference(c, operation, NDR_EVERY_CLASS, NULL);
        if (operation->class_of && ndr_cache_get(context, question, &text)) add_lines(c, operation, text.chars);
        publish(c);
    }
    ndr_mutex_unlock(&c->base.lock);
    ndr_text_free(&text);
    return status;
}

ndr_status ndr_op_keep_tuned(ndr_context *context, const ndr_operation *operation)
{
    choices *c;
    char question[QUESTION_SIZE];
    ndr_text text = { 0 };
    NDR_TRY(get_choices(context, &c));
    const size_t count = context->disk.folder.chars ? atomic_load_explicit(&c->count, memory_order_acquire) : 0;
    for (preference *p = c->preferences; p < c->preferences + count; ++p) {
        const ndr_op_row *row = atomic_load(&p->row);
        if (p->operation == operation && p->request_class < NDR_EVERY_CLASS && row)
            ndr_text_add(&text, "%lu %s\n", (unsigned long)p->request_class, row->name);
    }
    print_question(operation, question);
    if (text.chars && !text.failed) (void)ndr_cache_put(context, question, text.chars, strlen(text.chars));
    ndr_text_free(&text);
    return NDR_OK;
}

/* ---- what the operations read ---- */

ndr_status ndr_op_get_preferred(ndr_context *context, const ndr_operation *operation, const void *request,
                                const ndr_op_row **row, unsigned *lacks)
{
    choices *c;
    NDR_TRY(get_choices(context, &c));
    preference *forced = find_preference(c, operation, NDR_EVERY_CLASS);
    if (!forced) NDR_TRY(load(context, c, operation));
    *lacks = atomic_load(&c->needs[NDR_NEEDS_LACKING]);
    *row = forced ? atomic_load(&forced->row) : NULL;
    if (!*row && operation->class_of) *row = preferred_for(c, operation, operation->class_of(request));
    return NDR_OK;
}

static ndr_status refuse_name(const ndr_operation *operation, const char *name)
{
    ndr_text names = { 0 };
    for (size_t i = 0; i < operation->row_count; ++i)
        ndr_text_add(&names, "%s%s", i ? ", " : "", operation->rows[i]->name);
    const ndr_status status =
        ndr_fail(NDR_NOT_FOUND, "%s has no row \"%s\"; it has %s", operation->name, name, names.chars);
    ndr_text_free(&names);
    return status;
}

ndr_status ndr_op_force(ndr_context *context, const ndr_operation *operation, const char *name)
{
    choices *c;
    const ndr_op_row *row = name ? find_row(operation, name) : NULL;
    if (name && !row) return refuse_name(operation, name);
    NDR_TRY(get_choices(context, &c));
    const char *unmet = row ? ndr_op_find_unmet(row, &context->caps, atomic_load(&c->needs[NDR_NEEDS_LACKING])) : NULL;
    NDR_REQUIRE_AS(NDR_UNSUPPORTED, !unmet, "%s: %s needs %s, which device \"%s\" lacks", operation->name, name, unmet,
                   context->caps.info.name);
    return ndr_op_prefer(context, operation, NDR_EVERY_CLASS, row);
}

const char *ndr_op_forced(ndr_context *context, const ndr_operation *operation)
{
    choices *c;
    const ndr_op_row *row = get_choices(context, &c) == NDR_OK ? preferred_for(c, operation, NDR_EVERY_CLASS) : NULL;
    return row ? row->name : NULL;
}
