/* group.c - groups of contexts: their ranks, and the division of rows among them. */
#include "device/context.h"
#include "device/queue.h"
#include "ops/ranks/ranks.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- a thread for each rank ---- */

typedef struct runner {
    ndr_group *group;
    size_t rank;
    ndr_rank_work *work;
    void *user;
    ndr_status status;
    int32_t code;
    char *sentence;
} runner;

static void run_one(runner *r)
{
    r->status = r->work(r->group, r->rank, r->user);
    if (r->status == NDR_OK) return;
    r->code = ndr_last_cl_error();
    r->sentence = ndr_text_copy(ndr_last_error(), strlen(ndr_last_error()));
}

static void *serve(void *rank_)
{
    ndr_group_rank *const rank = rank_;
    ndr_group *const group = rank->group;
    ndr_mutex_lock(&group->lock);
    while (!group->ends) {
        if (!rank->job) {
            ndr_condition_wait(&group->changed, &group->lock);
            continue;
        }
        ndr_mutex_unlock(&group->lock);
        run_one(rank->job);
        ndr_mutex_lock(&group->lock);
        rank->job = NULL;
        ndr_condition_wake_all(&group->changed);
    }
    ndr_mutex_unlock(&group->lock);
    return NULL;
}

static void start_threads(ndr_group *group)
{
    for (size_t i = 1; i < group->size; ++i) {
        ndr_group_rank *const rank = &group->ranks[i];
        if (!rank->has_thread) rank->has_thread = ndr_thread_start(&rank->thread, serve, rank);
    }
}

/* A child made by fork() has no such threads. */
static void end_threads(ndr_group *group)
{
    if (group->process != ndr_process_id()) return;
    ndr_mutex_lock(&group->lock);
    group->ends = true;
    ndr_condition_wake_all(&group->changed);
    ndr_mutex_unlock(&group->lock);
    for (size_t i = 0; i < group->size; ++i)
        if (group->ranks[i].has_thread) ndr_thread_join(group->ranks[i].thread);
}

static void run_all(ndr_group *group, runner *runners)
{
    ndr_mutex_lock(&group->lock);
    for (size_t i = 0; i < group->size; ++i)
        if (group->ranks[i].has_thread) group->ranks[i].job = &runners[i];
    ndr_condition_wake_all(&group->changed);
    ndr_mutex_unlock(&group->lock);
    for (size_t i = 0; i < group->size; ++i)
        if (!group->ranks[i].has_thread) run_one(&runners[i]);
    ndr_mutex_lock(&group->lock);
    for (size_t i = 0; i < group->size; ++i)
        while (group->ranks[i].job) ndr_condition_wait(&group->changed, &group->lock);
    ndr_mutex_unlock(&group->lock);
}

static ndr_status report(const char *call, const ndr_group *group, const runner *r)
{
    if (r->status == NDR_OK) return NDR_OK;
    return ndr_fail_with_code(r->status, r->code, "%s: rank %zu of %zu, device \"%s\": %s", call, r->rank, group->size,
                              group->ranks[r->rank].device.name,
                              r->sentence ? r->sentence : "no memory for the reason");
}

/* Without a thread a rank is run by the caller. */
ndr_status ndr_group_run(ndr_group *group, const char *call, ndr_rank_work *work, void *user)
{
    runner *const runners = calloc(group->size, sizeof *runners);
    if (!runners) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "%s: no memory for the threads of a group", call);
    for (size_t i = 0; i < group->size; ++i)
        runners[i] = (runner){ .group = group, .rank = i, .work = work, .user = user };
    start_threads(group);
    run_all(group, runners);
    ndr_status status = NDR_OK;
    for (size_t i = 0; i < group->size; ++i) {
        if (status == NDR_OK) status = report(call, group, &runners[i]);
        free(runners[i].sentence);
    }
    free(runners);
    return status;
}

/* ---- making ---- */

static void free_rank(ndr_group_rank *rank)
{
    ndr_queue_destroy(rank->queue);
    ndr_queue_destroy(rank->in);
    ndr_queue_destroy(rank->out);
    if (rank->group->has_own) ndr_context_destroy(rank->context);
    else ndr_context_release(rank->context);
}

void ndr_group_destroy(ndr_group *group)
{
    if (!group) return;
    end_threads(group);
    for (size_t i = 0; i < group->size; ++i) free_rank(&group->ranks[i]);
    ndr_condition_destroy(&group->changed);
    ndr_mutex_destroy(&group->lock);
    free(group->ranks);
    free(group);
}

/* Takes over the reference to the context. */
static ndr_status add_rank(ndr_group *group, ndr_context *context)
{
    ndr_group_rank *const more = realloc(group->ranks, (group->size + 1) * sizeof *more);
    if (!more) {
        ndr_context_release(context);
        return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for a group");
    }
    group->ranks = more;
    ndr_group_rank *const rank = &more[group->size++];
    *rank = (ndr_group_rank){ .group = group, .context = context, .device = context->caps.info };
    NDR_TRY(ndr_queue_create(context, NULL, &rank->queue));
    NDR_TRY(ndr_queue_create(context, NULL, &rank->in));
    return ndr_queue_create(context, NULL, &rank->out);
}

static bool has_uuid(const ndr_group *group, const ndr_device_info *device)
{
    static const uint8_t none[sizeof device->uuid];
    if (memcmp(device->uuid, none, sizeof none) == 0) return false;
    for (size_t i = 0; i < group->size; ++i)
        if (memcmp(device->uuid, group->ranks[i].device.uuid, sizeof none) == 0) return true;
    return false;
}

static bool names_one(const char *words)
{
    const char *const colon = strrchr(words, ':'), *const number = colon ? colon + 1 : words;
    return *number && number[strspn(number, "0123456789")] == '\0';
}

/* "gpu" is the first one; then "gpu:1" and so on are added, until there is none. */
static ndr_status add_others(ndr_group *group, const char *words)
{
    for (size_t n = 1;; ++n) {
        char nth[192];
        ndr_context *context;
        snprintf(nth, sizeof nth, "%s:%zu", words, n);
        const ndr_status status = ndr_context_create(nth, &context);
        if (status == NDR_NO_MATCHING_DEVICE) return NDR_OK;
        NDR_TRY(status);
        if (has_uuid(group, &context->caps.info)) ndr_context_release(context);
        else NDR_TRY(add_rank(group, context));
    }
}

static ndr_status add_devices(ndr_group *group, const char *device)
{
    const char *words = device ? device : ndr_environment("NDR_DEVICE");
    ndr_context *first;
    NDR_TRY(ndr_context_create(device, &first));
    const bool is_gpu = first->caps.info.type == NDR_DEVICE_TYPE_GPU;
    NDR_TRY(add_rank(group, first));
    if (!words || !*words) words = is_gpu ? "gpu" : NULL;
    return words && !names_one(words) ? add_others(group, words) : NDR_OK;
}

static ndr_status add_parts(ndr_group *group, const ndr_group_desc *desc)
{
    for (size_t i = 0; i < desc->part_count; ++i) {
        ndr_context *part;
        NDR_TRY(ndr_context_create_with(
            &(ndr_context_desc){ .device = desc->device, .part_count = desc->part_count, .part = i }, &part));
        NDR_TRY(add_rank(group, part));
    }
    return NDR_OK;
}

static ndr_status add_contexts(ndr_group *group, const ndr_group_desc *desc)
{
    NDR_REQUIRE(!desc->device && desc->part_count == 0,
                "ndr_group_create: contexts is set, but so is %s; set only one of them",
                desc->device ? "device" : "part_count");
    NDR_REQUIRE(desc->context_count > 0, "ndr_group_create: contexts is set, but context_count is 0; set it");
    for (size_t i = 0; i < desc->context_count; ++i) {
        ndr_context *const context = desc->contexts[i];
        NDR_REQUIRE(context, "ndr_group_create: contexts[%zu] is NULL; make one with ndr_context_create()", i);
        NDR_REQUIRE_LIVE(NDR_HANDLE_CONTEXT, context, "ndr_group_create", "contexts");
        NDR_TRY(add_rank(group, ndr_context_keep(context)));
    }
    return NDR_OK;
}

ndr_status ndr_group_create(const ndr_group_desc *desc, ndr_group **group)
{
    const ndr_group_desc wanted = desc ? *desc : (ndr_group_desc){ 0 };
    NDR_REQUIRE_SET(group);
    ndr_group *const made = calloc(1, sizeof *made);
    if (!made) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for a group");
    ndr_mutex_init(&made->lock, NDR_LOCK_GROUP);
    ndr_condition_init(&made->changed);
    made->process = ndr_process_id();
    made->has_own = !wanted.contexts;
    const ndr_status status = wanted.contexts     ? add_contexts(made, &wanted)
                              : wanted.part_count ? add_parts(made, &wanted)
                                                  : add_devices(made, wanted.device);
    if (status == NDR_OK) *group = made;
    else ndr_group_destroy(made);
    return status;
}

size_t ndr_group_size(const ndr_group *group) { return group ? group->size : 0; }

ndr_context *ndr_group_context(const ndr_group *group, size_t rank)
{
    return rank < ndr_group_size(group) ? group->ranks[rank].context : NULL;
}

ndr_queue *ndr_group_queue(const ndr_group *group, size_t rank)
{
    return rank < ndr_group_size(group) ? group->ranks[rank].queue : NULL;
}

/* ---- rows ---- */

/* Of a rank: its rows end where those of the next one start. */
typedef struct share {
    size_t start;
    int64_t took_ns;
} share;

typedef struct rows {
    ndr_group_function *function;
    void *user;
    share *shares; /* of the ranks, and one whose start is the end */
} rows;

/* A call that builds kernels says nothing about the device: the better one of two counts. */
static double speed_of(const ndr_group_rank *rank) { return rank->speeds[rank->speeds[0] < rank->speeds[1]]; }

/* Shares of many rows are multiples of ROUND, which suits products. If one speed is not known, none counts. Each rank
 * has some rows, so that it is measured again. */
static void divide(const ndr_group *group, size_t count, share *shares)
{
    enum { ROUND = 64 };
    const size_t unit = count / group->size >= 4 * ROUND ? ROUND : 1, least = count >= group->size ? unit : 0;
    bool are_known = true;
    double all = 0, before = 0;
    for (size_t i = 0; i < group->size; ++i) are_known = are_known && group->ranks[i].speeds[1] > 0;
    for (size_t i = 0; i < group->size; ++i) all += are_known ? speed_of(&group->ranks[i]) : 1;
    for (size_t i = 0; i < group->size; ++i) {
        const size_t start = (size_t)((double)count * (before / all)) / unit * unit;
        shares[i].start = i == 0 ? 0 : ndr_max_size(start, shares[i - 1].start + least);
        shares[i].start = ndr_min_size(shares[i].start, count - (group->size - i) * least);
        before += are_known ? speed_of(&group->ranks[i]) : 1;
    }
    shares[group->size].start = count;
}

static ndr_status run_rows(ndr_group *group, size_t index, void *rows_)
{
    const rows *r = rows_;
    share *const own = &r->shares[index];
    const size_t count = own[1].start - own->start;
    const int64_t start_ns = ndr_clock_ns();
    if (count == 0) return NDR_OK;
    NDR_TRY(r->function(index, group->ranks[index].queue, own->start, count, r->user));
    NDR_TRY(ndr_queue_finish(group->ranks[index].queue));
    own->took_ns = ndr_clock_ns() - start_ns;
    return NDR_OK;
}

int64_t ndr_group_least_ns = 2 * 1000 * 1000;

/* After a short call no speed is known. */
static void note_speeds(ndr_group *group, const share *shares)
{
    int64_t longest_ns = 0;
    for (size_t i = 0; i < group->size; ++i)
        if (shares[i].took_ns > longest_ns) longest_ns = shares[i].took_ns;
    for (size_t i = 0; i < group->size; ++i) {
        ndr_group_rank *const rank = &group->ranks[i];
        const double count = (double)(shares[i + 1].start - shares[i].start);
        const bool is_short = longest_ns < ndr_group_least_ns;
        rank->speeds[1] = is_short ? 0 : rank->speeds[0];
        rank->speeds[0] = is_short ? 0 : count / ((double)shares[i].took_ns * 1e-9 + 1e-9);
    }
}

ndr_status ndr_group_share(ndr_group *group, const char *call, size_t count, ndr_group_function *function, void *user)
{
    rows r = { function, user, calloc(group->size + 1, sizeof(share)) };
    if (!r.shares) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "%s: no memory for the rows of a group", call);
    divide(group, count, r.shares);
    const ndr_status status = ndr_group_run(group, call, run_rows, &r);
    if (status == NDR_OK) note_speeds(group, r.shares);
    free(r.shares);
    return status;
}

ndr_status ndr_group_each(ndr_group *group, size_t count, ndr_group_function *function, void *user)
{
    NDR_REQUIRE_SET(group);
    NDR_REQUIRE(function, "ndr_group_each: function is NULL; pass the function to call for each rank");
    return ndr_group_share(group, __func__, count, function, user);
}
