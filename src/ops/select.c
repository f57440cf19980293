/* select.c - selects the row of an operation that runs a request, and explains the choice. */
#include "ops/ops.h"

#include <string.h>

/* ---- needs ---- */

static bool has_device_order(const ndr_caps *caps) { return caps->orders_device; }

static const struct {
    unsigned bit;
    const char *what; /* "it needs ..." */
    bool (*is_met)(const ndr_caps *caps);
} needs[] = {
    { NDR_NEEDS_DEVICE_ORDER, "memory order between groups (OpenCL 3.0's acq_rel at device scope)", has_device_order },
};
enum { NEEDS = sizeof needs / sizeof needs[0] };

/* The first need that the device does not meet, in words; NULL: it meets all. */
static const char *find_unmet(const ndr_op_row *row, const ndr_caps *caps, unsigned lacks)
{
    for (size_t i = 0; i < NEEDS; ++i)
        if ((row->needs & needs[i].bit) && ((lacks & needs[i].bit) || !needs[i].is_met(caps))) return needs[i].what;
    return NULL;
}

const char *ndr_op_lacks_vectors(const ndr_caps *caps, const void *request)
{
    (void)request;
    /* If a register holds several items, a kernel written for one takes compilers minutes (llvmpipe). */
    const bool has_vectors = caps->info.type == NDR_DEVICE_TYPE_CPU && caps->info.native_f32_width > 1;
    return has_vectors ? NULL : "the device is no CPU on which an item has vector registers by itself";
}

/* ---- choosing ---- */

static const char *find_obstacle(const ndr_op_row *row, const void *request)
{
    return row->cannot ? row->cannot(request) : NULL;
}

static const char *find_objection(const ndr_op_row *row, const ndr_caps *caps, const void *request)
{
    return row->unsuited ? row->unsuited(caps, request) : NULL;
}

static bool can_run(const ndr_op_row *row, const ndr_caps *caps, unsigned lacks, const void *request)
{
    return !find_unmet(row, caps, lacks) && !find_obstacle(row, request);
}

const ndr_op_row *ndr_op_select(const ndr_operation *operation, const ndr_caps *caps, unsigned lacks,
                                const ndr_op_row *preferred, const void *request)
{
    if (preferred && can_run(preferred, caps, lacks, request)) return preferred;
    size_t i = 0;
    while (i + 1 < operation->row_count
           && (!can_run(operation->rows[i], caps, lacks, request) || find_objection(operation->rows[i], caps, request)))
        ++i;
    return operation->rows[i];
}

/* ---- explaining ---- */

static void explain_row(const ndr_op_row *row, const ndr_caps *caps, unsigned lacks, const char *otherwise,
                        const void *request, ndr_text *out)
{
    const char *unmet = find_unmet(row, caps, lacks), *obstacle = find_obstacle(row, request);
    const char *objection = find_objection(row, caps, request);
    const char *why = unmet ? unmet : obstacle ? obstacle : objection ? objection : otherwise;
    ndr_text_add(out, "; not %s: %s%s", row->name, unmet ? "the device lacks " : "", why);
}

void ndr_op_explain(const ndr_operation *operation, const ndr_caps *caps, unsigned lacks, const ndr_op_row *preferred,
                    const void *request, ndr_text *out)
{
    const ndr_op_row *taken = ndr_op_select(operation, caps, lacks, preferred, request);
    const char *otherwise = taken == preferred ? "another is preferred" : "it comes later in the list";
    ndr_text_add(out, "%s: %s", operation->name, taken->name);
    for (size_t i = 0; i < operation->row_count; ++i)
        if (operation->rows[i] != taken) explain_row(operation->rows[i], caps, lacks, otherwise, request, out);
}

/* ---- the state of a context ---- */

enum { MAX_PREFERENCES = 64 };

typedef struct preference {
    const ndr_operation *operation;
    uint32_t request_class;      /* NDR_EVERY_CLASS, or one that was tuned */
    const ndr_op_row *_Atomic row; /* NULL: none any more */
} preference;

typedef struct choices {
    ndr_attachment base; /* of the context */
    atomic_uint lacks;   /* needs that the device reports, but whose kernels did not build */
    ndr_mutex lock;      /* held while preferences are added; they are read without it */
    preference preferences[MAX_PREFERENCES];
    atomic_size_t count;
} choices;

static void open_choices(ndr_attachment *made) { ndr_mutex_init(&((choices *)made)->lock); }
static void close_choices(ndr_attachment *gone) { ndr_mutex_destroy(&((choices *)gone)->lock); }

static const ndr_attachment_kind kind = { "an operation's choices", sizeof(choices), open_choices, close_choices };

static ndr_status get_choices(ndr_context *context, choices **out)
{
    ndr_attachment *found;
    NDR_TRY(ndr_attachment_get(&context->attachments, &kind, &found));
    *out = (choices *)found;
    return NDR_OK;
}

ndr_status ndr_op_get_lacks(ndr_context *context, unsigned *lacks)
{
    choices *c;
    NDR_TRY(get_choices(context, &c));
    *lacks = atomic_load(&c->lacks);
    return NDR_OK;
}

/* ---- preferences ---- */

static preference *find_preference(choices *c, const ndr_operation *operation, uint32_t request_class)
{
    const size_t count = atomic_load_explicit(&c->count, memory_order_acquire);
    for (preference *p = c->preferences; p < c->preferences + count; ++p)
        if (p->operation == operation && p->request_class == request_class) return p;
    return NULL;
}

static const ndr_op_row *preferred_for(choices *c, const ndr_operation *operation, uint32_t request_class)
{
    preference *found = find_preference(c, operation, request_class);
    return found ? atomic_load(&found->row) : NULL;
}

/* The forced row, else the tuned one, else NULL. */
static const ndr_op_row *find_preferred(choices *c, const ndr_operation *operation, const void *request)
{
    if (atomic_load_explicit(&c->count, memory_order_relaxed) == 0) return NULL;
    const ndr_op_row *forced = preferred_for(c, operation, NDR_EVERY_CLASS);
    return forced || !operation->class_of ? forced : preferred_for(c, operation, operation->class_of(request));
}

static ndr_status set_preference(choices *c, const ndr_operation *operation, uint32_t request_class,
                                 const ndr_op_row *row)
{
    preference *p = find_preference(c, operation, request_class);
    const size_t count = atomic_load(&c->count);
    NDR_REQUIRE_AS(NDR_LIMIT_EXCEEDED, p || count < MAX_PREFERENCES,
                   "%s: the context keeps %d tuned shapes already; tune more in another context", operation->name,
                   MAX_PREFERENCES);
    if (!p) {
        p = &c->preferences[count];
        p->operation = operation;
        p->request_class = request_class;
    }
    atomic_store(&p->row, row);
    if (p == &c->preferences[count]) atomic_store_explicit(&c->count, count + 1, memory_order_release);
    return NDR_OK;
}

ndr_status ndr_op_prefer(ndr_context *context, const ndr_operation *operation, uint32_t request_class,
                         const ndr_op_row *row)
{
    choices *c;
    NDR_TRY(get_choices(context, &c));
    ndr_mutex_lock(&c->lock);
    const ndr_status status = set_preference(c, operation, request_class, row);
    ndr_mutex_unlock(&c->lock);
    return status;
}

static ndr_status find_row(const ndr_operation *operation, const char *name, const ndr_op_row **row)
{
    ndr_text names = { 0 };
    for (size_t i = 0; i < operation->row_count; ++i) {
        if (strcmp(operation->rows[i]->name, name) == 0) *row = operation->rows[i];
        ndr_text_add(&names, "%s%s", i ? ", " : "", operation->rows[i]->name);
    }
    const ndr_status status =
        *row ? NDR_OK : ndr_fail(NDR_NOT_FOUND, "%s has no row \"%s\"; it has %s", operation->name, name, names.chars);
    ndr_text_free(&names);
    return status;
}

ndr_status ndr_op_force(ndr_context *context, const ndr_operation *operation, const char *name)
{
    choices *c;
    const ndr_op_row *row = NULL;
    NDR_TRY(get_choices(context, &c));
    if (name) NDR_TRY(find_row(operation, name, &row));
    const char *unmet = row ? find_unmet(row, &context->caps, atomic_load(&c->lacks)) : NULL;
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

/* ---- running ---- */

ndr_status ndr_op_run_row(const ndr_op_row *row, ndr_queue *queue, const void *request, ndr_event **event)
{
    ndr_op_job job; /* members that are not set here are set before use */
    job.queue = queue;
    job.row = row;
    job.request = request;
    job.caps = &queue->context->caps;
    job.workspace = NULL;
    job.keeps_events = event || queue->is_out_of_order;
    job.event = NULL;
    row->plan(job.caps, request, &job.plan);
    const ndr_status status = row->run(&job);
    if (job.workspace)
        ndr_workspace_return(job.workspace, queue->is_out_of_order && job.event ? ndr_event_end(job.event) : NULL);
    if (status == NDR_OK && event) *event = job.event;
    else ndr_event_destroy(job.event);
    return status;
}

static void log_choice(const ndr_operation *operation, const ndr_caps *caps, unsigned lacks,
                       const ndr_op_row *preferred, const void *request)
{
    ndr_text text = { 0 };
    ndr_op_explain(operation, caps, lacks, preferred, request, &text);
    ndr_log(NDR_LOG_DEBUG, "op.row", "%s", text.chars ? text.chars : operation->name);
    ndr_text_free(&text);
}

/* If a row's kernel does not build although the device reports its needs, record that and select again. */
ndr_status ndr_op_run(const ndr_operation *operation, ndr_queue *queue, const void *request, ndr_event **event)
{
    const ndr_caps *caps = &queue->context->caps;
    choices *c;
    NDR_TRY(get_choices(queue->context, &c));
    for (;;) {
        const unsigned lacks = atomic_load(&c->lacks);
        const ndr_op_row *preferred = find_preferred(c, operation, request);
        const ndr_op_row *row = ndr_op_select(operation, caps, lacks, preferred, request);
        if (ndr_logs(NDR_LOG_DEBUG)) log_choice(operation, caps, lacks, preferred, request);
        const ndr_status status = ndr_op_run_row(row, queue, request, event);
        if (status != NDR_BUILD_FAILED || !row->needs) return status;
        ndr_log(NDR_LOG_WARN, "op.lacks", "%s: %s did not build, although device \"%s\" says to have what it needs: %s",
                operation->name, row->name, caps->info.name, ndr_last_error());
        atomic_fetch_or(&c->lacks, row->needs);
    }
}
