/* trial.c - tries variants in a thread while others do their work, so that the first call of an operation need not
 * wait. */
#include "device/context.h"
#include "device/queue.h"
#include "ops/choices.h"
#include "ops/select.h"

#include <stdlib.h>

enum { MAX_TRIALS = 16 };

typedef enum state { WAITS, IS_TRIED, HAS_ENDED } state;

typedef struct trial {
    const ndr_operation *operation;
    const ndr_op_variant *variant;
    state state;
    ndr_verdict verdict;     /* once it has ended; UNKNOWN: there was no memory for it */
    unsigned failures, rest; /* how often there was none; calls until it is tried again */
} trial;

/* Of a context. The thread has a context of its own, with an OpenCL context of its own: drivers may let the calls in an
 * OpenCL context wait for a build in it. It puts programs and verdicts into the same store. */
typedef struct ndr_trials {
    ndr_attachment base; /* its lock guards all members but `ends` */
    trial list[MAX_TRIALS];
    size_t count;
    const ndr_context *given;
    ndr_thread thread;
    unsigned long process; /* in which it was started: a child made by fork() has no such thread */
    bool has_thread, runs; /* it was started, and not joined; it will look at the list again */
    bool cannot_start;     /* callers try variants themselves */
    atomic_bool ends;      /* the context is being destroyed */
} ndr_trials;

/* ---- the end of the process ---- */

/* Drivers free what their compilers use when the process ends. So exit() waits for the threads, which end after the
 * build or the command that they are in; it makes no calls of OpenCL. */
static struct {
    ndr_mutex lock; /* guards `running` and `is_registered` */
    ndr_condition has_ended;
    size_t running;
    bool is_registered;
    atomic_ulong process; /* that counts them: a child made by fork() has none */
} threads = { .lock = NDR_MUTEX_INITIALIZER(NDR_LOCK_TRIALS), .has_ended = NDR_CONDITION_INITIALIZER };
static atomic_bool process_ends;
static _Thread_local bool is_thread; /* which cannot wait for itself if a callback of the log calls exit() */

static void end_all(void)
{
    atomic_store(&process_ends, true);
    if (is_thread || atomic_load(&threads.process) != ndr_process_id()) return;
    ndr_mutex_lock(&threads.lock);
    while (threads.running > 0) ndr_condition_wait(&threads.has_ended, &threads.lock);
    ndr_mutex_unlock(&threads.lock);
}

/* Before a thread is started. */
static bool count_thread(void)
{
    ndr_mutex_lock(&threads.lock);
    if (!threads.is_registered) threads.is_registered = atexit(end_all) == 0;
    if (atomic_exchange(&threads.process, ndr_process_id()) != ndr_process_id()) threads.running = 0;
    const bool is_counted = threads.is_registered && !atomic_load(&process_ends);
    threads.running += is_counted;
    ndr_mutex_unlock(&threads.lock);
    return is_counted;
}

static void end_thread(void)
{
    ndr_mutex_lock(&threads.lock);
    --threads.running;
    ndr_condition_wake_all(&threads.has_ended);
    ndr_mutex_unlock(&threads.lock);
}

/* ---- the thread ---- */

static bool is_to_end(const ndr_trials *all) { return atomic_load(&all->ends) || atomic_load(&process_ends); }

ndr_status ndr_op_goes_on(ndr_queue *queue)
{
    ndr_choices *choices;
    NDR_TRY(ndr_choices_get(queue->context, &choices));
    if (!choices->tried_for || !is_to_end(choices->tried_for)) return NDR_OK;
    return ndr_fail(NDR_TIMEOUT, "the context is destroyed before a variant is tried");
}

/* NULL: there is none, and the thread ends. */
static trial *take_next(ndr_trials *all)
{
    trial *next = NULL;
    ndr_mutex_lock(&all->base.lock);
    for (size_t i = 0; i < all->count && !next && !is_to_end(all); ++i)
        if (all->list[i].state == WAITS) next = &all->list[i];
    if (next) next->state = IS_TRIED;
    else all->runs = false;
    ndr_mutex_unlock(&all->base.lock);
    return next;
}

static void end_trial(ndr_trials *all, trial *t, ndr_verdict verdict)
{
    enum { MOST_DOUBLINGS = 16 };
    ndr_mutex_lock(&all->base.lock);
    t->verdict = verdict;
    t->state = HAS_ENDED;
    if (verdict == NDR_VERDICT_UNKNOWN) {
        t->rest = (1u << t->failures) - 1;
        if (t->failures < MOST_DOUBLINGS) ++t->failures;
    }
    ndr_mutex_unlock(&all->base.lock);
}

/* As the first call of a context on this device. */
static ndr_verdict try(ndr_context *own, const trial *t)
{
    const ndr_lacks bit = ndr_op_leave_out(t->operation, t->variant);
    ndr_preference *known;
    bool is_right;
    if (ndr_op_prove(t->operation, own, t->variant, &is_right) != NDR_OK) return NDR_VERDICT_UNKNOWN;
    if (ndr_op_get_every_class(own, t->operation, &known) != NDR_OK) return NDR_VERDICT_UNKNOWN;
    if (!(atomic_load(&known->judged) & bit)) return NDR_VERDICT_UNKNOWN;
    return is_right ? NDR_VERDICT_RIGHT : NDR_VERDICT_WRONG;
}

static ndr_status open_own(ndr_trials *all, ndr_context **own)
{
    ndr_choices *choices;
    NDR_TRY(ndr_context_open_beside(all->given, own));
    const ndr_status status = ndr_choices_get(*own, &choices);
    if (status == NDR_OK) choices->tried_for = all;
    else ndr_context_destroy(*own);
    return status;
}

static void give_up(ndr_trials *all)
{
    ndr_mutex_lock(&all->base.lock);
    all->runs = false;
    all->cannot_start = true;
    ndr_mutex_unlock(&all->base.lock);
}

static void *run(void *argument)
{
    ndr_trials *const all = argument;
    ndr_context *own;
    is_thread = true;
    if (open_own(all, &own) == NDR_OK) {
        for (trial *next; (next = take_next(all)) != NULL;) end_trial(all, next, try(own, next));
        ndr_context_destroy(own);
    } else give_up(all);
    end_thread();
    return NULL;
}

/* ---- of a context ---- */

static void join_thread(ndr_trials *all)
{
    ndr_mutex_lock(&all->base.lock);
    const bool joins = all->has_thread;
    const ndr_thread thread = all->thread;
    all->has_thread = false;
    ndr_mutex_unlock(&all->base.lock);
    if (joins) ndr_thread_join(thread);
}

static void close_trials(ndr_attachment *attachment)
{
    ndr_trials *const all = (ndr_trials *)attachment;
    atomic_store(&all->ends, true);
    if (all->process == ndr_process_id()) join_thread(all);
}

static const ndr_attachment_kind kind = { "the variants that are tried", sizeof(ndr_trials), NDR_LOCK_CHOICES, NULL,
                                          close_trials };

/* With the lock held. A thread that does not run will not take the lock again. */
static bool start_thread(ndr_trials *all, const ndr_context *context)
{
    if (all->has_thread) ndr_thread_join(all->thread);
    all->has_thread = false;
    if (!count_thread()) return false;
    all->given = context;
    all->process = ndr_process_id();
    all->runs = all->has_thread = ndr_thread_start(&all->thread, run, all);
    if (!all->runs) end_thread();
    return all->runs;
}

/* With the lock held; NULL: it is not listed. */
static trial *find(ndr_trials *all, const ndr_operation *operation, const ndr_op_variant *variant)
{
    for (size_t i = 0; i < all->count; ++i)
        if (all->list[i].operation == operation && all->list[i].variant == variant) return &all->list[i];
    return NULL;
}

/* With the lock held; NULL: there is no room for it. */
static trial *add(ndr_trials *all, const ndr_operation *operation, const ndr_op_variant *variant)
{
    if (all->count == MAX_TRIALS) return NULL;
    all->list[all->count] = (trial){ operation, variant, WAITS, NDR_VERDICT_UNKNOWN, 0, 0 };
    return &all->list[all->count++];
}

static bool is_listed(ndr_trials *all, const ndr_operation *operation, const ndr_op_variant *variant)
{
    ndr_mutex_lock(&all->base.lock);
    const bool is = find(all, operation, variant) != NULL;
    ndr_mutex_unlock(&all->base.lock);
    return is;
}

/* By an earlier process. */
static bool is_known(const ndr_operation *operation, ndr_context *context, const ndr_op_variant *variant)
{
    ndr_text why = { 0 };
    const bool is = ndr_op_recall(operation, context, variant, &why) != NDR_VERDICT_UNKNOWN;
    ndr_text_free(&why);
    return is;
}

/* With the lock held: what is known of a variant now; it is tried again after some calls if there was no memory. */
static ndr_verdict read_verdict(trial *t)
{
    if (t->state == HAS_ENDED && t->verdict == NDR_VERDICT_UNKNOWN && t->rest-- == 0) t->state = WAITS;
    return t->state == HAS_ENDED ? t->verdict : NDR_VERDICT_UNKNOWN;
}

bool ndr_op_tries(const ndr_operation *operation, ndr_context *context, const ndr_op_variant *variant)
{
    ndr_attachment *found;
    ndr_verdict verdict = NDR_VERDICT_UNKNOWN;
    if (ndr_attachment_get(&context->attachments, &kind, &found) != NDR_OK) return false;
    ndr_trials *const all = (ndr_trials *)found;
    if (!is_listed(all, operation, variant) && is_known(operation, context, variant)) return false;
    ndr_mutex_lock(&all->base.lock);
    trial *t = find(all, operation, variant);
    if (!t) t = add(all, operation, variant);
    if (t) verdict = read_verdict(t);
    const bool waits = t && verdict == NDR_VERDICT_UNKNOWN && !all->cannot_start;
    ndr_mutex_unlock(&all->base.lock);
    if (verdict != NDR_VERDICT_UNKNOWN)
        NDR_IGNORE(ndr_op_note(operation, context, variant, verdict == NDR_VERDICT_WRONG));
    return waits;
}

void ndr_op_start_trials(ndr_context *context)
{
    ndr_attachment *found;
    bool is_needed = false;
    if (ndr_attachment_get(&context->attachments, &kind, &found) != NDR_OK) return;
    ndr_trials *const all = (ndr_trials *)found;
    ndr_mutex_lock(&all->base.lock);
    for (size_t i = 0; i < all->count; ++i) is_needed |= all->list[i].state == WAITS;
    if (is_needed && !all->runs) all->cannot_start = !start_thread(all, context);
    ndr_mutex_unlock(&all->base.lock);
}

void ndr_op_wait_for_trials(ndr_context *context)
{
    ndr_attachment *found;
    if (ndr_attachment_get(&context->attachments, &kind, &found) == NDR_OK) join_thread((ndr_trials *)found);
}
