/* selftest.c - ndr_selftest(): which implementations give right results on a device, by requests of known results. */
#include "device/cache.h"
#include "device/context.h"
#include "device/queue.h"
#include "ops/choices.h"
#include "ops/selftest.h"

#include <stdlib.h>

typedef struct selftest {
    ndr_context *context; /* the caller's */
    ndr_queue *queue;     /* of a context that uses all variants but those found wrong */
    ndr_selftest_callback *each;
    void *user;
    const ndr_answers *answers; /* of the present operation */
    ndr_lacks asked;            /* its variants that were tested */
    bool again;                 /* one was wrong: another one takes its requests */
    ndr_status first;           /* of a request that no right variant takes */
    ndr_text error;
} selftest;

/* ---- one request ---- */

static ndr_status ask(const selftest *s, size_t i, bool explains, ndr_trial *t)
{
    *t = (ndr_trial){ .queue = s->queue, .explains = explains };
    const ndr_status status = s->answers->ask(t, i);
    for (size_t b = 0; b < t->buffer_count; ++b) ndr_buffer_destroy(t->buffers[b]);
    for (size_t h = 0; h < t->host_count; ++h) free(t->hosts[h]);
    return status;
}

/* The other requests are run nevertheless: variants of their own may take them. */
static void keep_first(selftest *s, ndr_status status)
{
    if (s->first != NDR_OK) return;
    s->first = status;
    ndr_text_add_all(&s->error, ndr_last_error());
}

/* Which variant takes it; NULL: the request does not apply to the device, or no right variant is left. */
static ndr_status find_taken(selftest *s, size_t i, const ndr_op_variant **variant)
{
    const ndr_operation *const operation = s->answers->operation;
    ndr_trial t;
    *variant = NULL;
    const ndr_status status = ask(s, i, true, &t);
    if (status == NDR_UNSUPPORTED) return keep_first(s, status), NDR_OK;
    if (status != NDR_OK) return status;
    t.taken[strcspn(t.taken, ";")] = '\0';
    for (size_t v = 0; v < operation->variant_count; ++v)
        if (strcmp(operation->variants[v]->name, t.taken) == 0) *variant = operation->variants[v];
    return NDR_OK;
}

/* ---- one variant ---- */

/* All requests that it takes, and its own proof; until something is wrong. */
static ndr_status run_requests(selftest *s, const ndr_op_variant *variant, ndr_text *fault)
{
    bool is_right = true;
    if (variant->prove) NDR_TRY(ndr_op_try(s->queue, variant, &is_right));
    if (!is_right) ndr_text_add_all(fault, "its results are wrong");
    for (size_t i = 0; i < s->answers->count && !fault->length; ++i) {
        const ndr_op_variant *taken;
        ndr_trial t;
        NDR_TRY(find_taken(s, i, &taken));
        if (taken != variant) continue;
        NDR_TRY(ask(s, i, false, &t));
        ndr_text_add_all(fault, t.fault);
    }
    return NDR_OK;
}

/* Here and, with a line in the log, in the caller's context. */
static ndr_status judge(const selftest *s, const ndr_op_variant *variant, ndr_selftest_row *row, bool is_kept)
{
    const bool is_wrong = row->verdict == NDR_VERDICT_WRONG;
    row->is_kept = ndr_op_judge(s->answers->operation, s->context, variant, is_wrong ? row->fault : NULL, is_kept);
    return ndr_op_note(s->answers->operation, s->queue->context, variant, is_wrong);
}

/* A failure of the driver is not kept: it may not happen again. Without memory on the device nothing is known. */
static ndr_status run_variant(selftest *s, const ndr_op_variant *variant, ndr_selftest_row *row, ndr_text *fault)
{
    ndr_text_clear(fault);
    const ndr_status status = run_requests(s, variant, fault);
    if (status == NDR_OUT_OF_HOST_MEMORY) return status;
    if (status != NDR_OK) ndr_text_clear(fault);
    if (status != NDR_OK) ndr_text_add_all(fault, ndr_last_error());
    row->fault = fault->length ? fault->chars : "";
    row->verdict = *row->fault ? NDR_VERDICT_WRONG : NDR_VERDICT_RIGHT;
    if (status != NDR_OUT_OF_DEVICE_MEMORY)
        return judge(s, variant, row, status == NDR_OK || status == NDR_BUILD_FAILED);
    row->verdict = NDR_VERDICT_UNKNOWN;
    return NDR_OK;
}

static ndr_status refuse_variant(const selftest *s, const ndr_op_variant *variant, ndr_selftest_row *row)
{
    row->verdict = NDR_VERDICT_WRONG;
    row->fault = "its self-test ended the process, or did not end";
    return judge(s, variant, row, true);
}

static ndr_selftest_action decide(const selftest *s, const ndr_selftest_row *row)
{
    const ndr_selftest_action action = s->each ? s->each(row, s->user) : NDR_SELFTEST_DEFAULT;
    if (action != NDR_SELFTEST_DEFAULT) return action;
    return row->verdict == NDR_VERDICT_UNKNOWN ? NDR_SELFTEST_RUN : NDR_SELFTEST_SKIP;
}

static ndr_status act(selftest *s, const ndr_op_variant *variant, ndr_selftest_row *row, ndr_text *fault)
{
    const ndr_selftest_action action = decide(s, row);
    if (action == NDR_SELFTEST_RUN) return run_variant(s, variant, row, fault);
    if (action == NDR_SELFTEST_REFUSE) return refuse_variant(s, variant, row);
    row->is_kept = row->verdict != NDR_VERDICT_UNKNOWN;
    return ndr_op_note(s->answers->operation, s->queue->context, variant, row->verdict == NDR_VERDICT_WRONG);
}

static ndr_status test_variant(selftest *s, const ndr_op_variant *variant)
{
    ndr_text fault = { 0 };
    ndr_selftest_row row = { .operation = s->answers->operation->name, .implementation = variant->name };
    row.verdict = ndr_op_recall(s->answers->operation, s->context, variant, &fault);
    row.fault = fault.length ? fault.chars : "";
    const ndr_status status = act(s, variant, &row, &fault);
    row.is_done = true;
    if (status == NDR_OK && s->each) (void)s->each(&row, s->user);
    s->again |= row.verdict == NDR_VERDICT_WRONG;
    ndr_text_free(&fault);
    return status;
}

/* ---- all ---- */

static ndr_status test_operation(selftest *s)
{
    const ndr_op_variant *variant;
    s->asked = 0;
    do {
        s->again = false;
        for (size_t i = 0; i < s->answers->count; ++i) {
            NDR_TRY(find_taken(s, i, &variant));
            const ndr_lacks bit = variant ? ndr_op_leave_out(s->answers->operation, variant) : 0;
            if (s->asked & bit || !bit) continue;
            s->asked |= bit;
            NDR_TRY(test_variant(s, variant));
        }
    } while (s->again);
    return NDR_OK;
}

static ndr_status test_all(selftest *s, const ndr_answers *answers, size_t count)
{
    for (size_t i = 0; i < count; ++i) {
        s->answers = &answers[i];
        NDR_TRY(test_operation(s));
    }
    return s->first == NDR_OK ? NDR_OK : ndr_fail(s->first, "%s", s->error.failed ? "no memory" : s->error.chars);
}

/* Over the caller's OpenCL context. It knows the tuned variants, and then has no store: to keep programs takes half as
 * long as to build them. */
static ndr_status open_own(ndr_context *context, const ndr_answers *answers, size_t count, ndr_context **own)
{
    ndr_catalog_entry entry = { .device = context->device, .caps = context->caps };
    ndr_choices *choices;
    ndr_preference *tuned;
    NDR_TRY_CL(clGetDeviceInfo(entry.device, CL_DEVICE_PLATFORM, sizeof entry.platform, &entry.platform, NULL));
    NDR_TRY(ndr_context_open(&entry, context->cl, NDR_CHECK_OFF, own));
    NDR_TRY(ndr_choices_get(*own, &choices));
    atomic_store(&choices->trusts, true);
    for (size_t i = 0; i < count; ++i) NDR_TRY(ndr_op_get_every_class(*own, answers[i].operation, &tuned));
    ndr_cache_close(*own);
    return NDR_OK;
}

ndr_status ndr_selftest_run(ndr_context *context, const ndr_answers *answers, size_t count, ndr_selftest_callback *each,
                            void *user)
{
    selftest s = { .context = context, .each = each, .user = user };
    ndr_context *own = NULL;
    ndr_status status = open_own(context, answers, count, &own);
    if (status == NDR_OK) status = ndr_queue_create(own, NULL, &s.queue);
    if (status == NDR_OK) status = test_all(&s, answers, count);
    ndr_queue_destroy(s.queue);
    ndr_context_destroy(own);
    ndr_text_free(&s.error);
    return status;
}

ndr_status ndr_selftest(ndr_context *context, ndr_selftest_callback *each, void *user)
{
    NDR_REQUIRE_SET(context);
    if (context->caps.skips_selftest) return NDR_OK;
    return ndr_selftest_run(context, ndr_all_answers, ndr_all_answers_count, each, user);
}
