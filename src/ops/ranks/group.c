/* group.c - groups of contexts: their ranks, and the division of rows among them. */
#include "device/context.h"
#include "device/queue.h"
#include "ops/ranks/ranks.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- making ---- */

static void free_rank(ndr_group_rank *rank)
{
    ndr_queue_destroy(rank->queue);
    ndr_queue_destroy(rank->in);
    ndr_queue_destroy(rank->out);
    if (rank->context) ndr_context_release(rank->context);
}

void ndr_group_destroy(ndr_group *group)
{
    if (!group) return;
    for (size_t i = 0; i < group->size; ++i) free_rank(&group->ranks[i]);
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
    *rank = (ndr_group_rank){ .context = context, .device = context->caps.info };
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

/* ---- a thread for each rank ---- */

typedef struct runner {
    ndr_group *group;
    size_t rank;
    ndr_rank_work *work;
    void *user;
    ndr_thread thread;
    bool has_thread;
    ndr_status status;
    int32_t code;
    char *sentence;
} runner;

static void *run_one(void *runner_)
{
    runner *r = runner_;
    r->status = r->work(r->group, r->rank, r->user);
    if (r->status == NDR_OK) return NULL;
    r->code = ndr_last_cl_error();
    r->sentence = ndr_text_copy(ndr_last_error(), strlen(ndr_last_error()));
    return NULL;
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
    for (size_t i = 0; i < group->size; ++i) {
        runners[i] = (runner){ .group = group, .rank = i, .work = work, .user = user };
        runners[i].has_thread = i > 0 && ndr_thread_start(&runners[i].thread, run_one, &runners[i]);
    }
    for (size_t i = 0; i < group->size; ++i)
        if (!runners[i].has_thread) run_one(&runners[i]);
    for (size_t i = 0; i < group->size; ++i)
        if (runners[i].has_thread) ndr_thread_join(runners[i].thread);
    ndr_status status = NDR_OK;
    for (size_t i = 0; i < group->size; ++i) {
        if (status == NDR_OK) status = report(call, group, &runners[i]);
        free(runners[i].sentence);
    }
    free(runners);
    return status;
}

/* ---- rows ---- */

typedef struct rows {
    ndr_group_function *function;
    void *user;
    size_t *starts; /* of the ranks, and the end */
} rows;

/* A call that builds kernels says nothing about the device: the better one of two counts. */
static double speed_of(const ndr_group_rank *rank) { return rank->speeds[rank->speeds[0] < rank->speeds[1]]; }

/* Shares of many rows are multiples of ROUND, which suits products. If one speed is not known, none counts. Each rank
 * has some rows, so that it is measured again. */
static void divide(const ndr_group *group, size_t count, size_t *starts)
{
    enum { ROUND = 64 };
    const size_t unit = count / group->size >= 4 * ROUND ? ROUND : 1, least = count >= group->size ? unit : 0;
    bool are_known = true;
    double all = 0, before = 0;
    for (size_t i = 0; i < group->size; ++i) are_known = are_known && group->ranks[i].speeds[1] > 0;
    for (size_t i = 0; i < group->size; ++i) all += are_known ? speed_of(&group->ranks[i]) : 1;
    for (size_t i = 0; i < group->size; ++i) {
        const size_t start = (size_t)((double)count * (before / all)) / unit * unit;
        starts[i] = i == 0 ? 0 : ndr_max_size(start, starts[i - 1] + least);
        starts[i] = ndr_min_size(starts[i], count - (group->size - i) * least);
        before += are_known ? speed_of(&group->ranks[i]) : 1;
    }
    starts[group->size] = count;
}

int64_t ndr_group_least_ns = 2 * 1000 * 1000;

static ndr_status run_rows(ndr_group *group, size_t index, void *rows_)
{
    const rows *r = rows_;
    const size_t first = r->starts[index], count = r->starts[index + 1] - first;
    ndr_group_rank *const rank = &group->ranks[index];
    const int64_t start_ns = ndr_clock_ns();
    if (count == 0) return NDR_OK;
    NDR_TRY(r->function(index, rank->queue, first, count, r->user));
    NDR_TRY(ndr_queue_finish(rank->queue));
    const int64_t took_ns = ndr_clock_ns() - start_ns;
    if (took_ns < ndr_group_least_ns) return NDR_OK;
    rank->speeds[1] = rank->speeds[0];
    rank->speeds[0] = (double)count / ((double)took_ns * 1e-9 + 1e-9);
    return NDR_OK;
}

ndr_status ndr_group_share(ndr_group *group, const char *call, size_t count, ndr_group_function *function, void *user)
{
    rows r = { function, user, calloc(group->size + 1, sizeof(size_t)) };
    if (!r.starts) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "%s: no memory for the rows of a group", call);
    divide(group, count, r.starts);
    const ndr_status status = ndr_group_run(group, call, run_rows, &r);
    free(r.starts);
    return status;
}

ndr_status ndr_group_each(ndr_group *group, size_t count, ndr_group_function *function, void *user)
{
    NDR_REQUIRE_SET(group);
    NDR_REQUIRE(function, "ndr_group_each: function is NULL; pass the function to call for each rank");
    return ndr_group_share(group, __func__, count, function, user);
}
