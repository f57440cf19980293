/* random.c - ndr_random(): its checks and its implementations, which differ in the blocks that an item makes. */
#include "device/context.h"
#include "device/queue.h"
#include "ops/random/random.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- the rows ---- */

/* Of a row: the blocks of 16 bytes that an item makes, `form` of the variant. */
enum { CHUNK = 2048, ONE_BLOCK = 1, PREFERRED_GROUP = 256 };

/* The types of the kernel's values: integers are added modulo 2^width, so a sign makes no difference. */
static const char *cl_type_of(ndr_dtype dtype)
{
    return ndr_dtype_describe(dtype)->is_float ? ndr_dtype_describe(dtype)->cl_name
           : ndr_dtype_size(dtype) == 8        ? "ulong"
                                               : "uint";
}

static uint64_t count_blocks(const ndr_random_request *r)
{
    const uint64_t lanes = 16 / ndr_dtype_size(r->dtype), end = r->first + r->output.cols;
    return end / lanes + (end % lanes > 0) - r->first / lanes;
}

/* Integers below 2^width are uniform words. */
static bool takes_all_words(const ndr_random_request *r)
{
    return r->distribution == NDR_RANDOM_BELOW && r->below == (ndr_dtype_size(r->dtype) == 4 ? (uint64_t)1 << 32 : 0);
}

static const char *draw_of(const ndr_random_request *r)
{
    static const char *const names[] = { [NDR_RANDOM_UNIFORM] = "UNIFORM",
                                         [NDR_RANDOM_NORMAL] = "NORMAL",
                                         [NDR_RANDOM_BELOW] = "BELOW",
                                         [NDR_RANDOM_PERMUTATION] = "PERMUTED" };
    return takes_all_words(r) ? "UNIFORM" : names[r->distribution];
}

static void plan(const ndr_op_case *of, ndr_op_plan *plan)
{
    const ndr_random_request *r = of->request;
    const size_t blocks = of->variant->form, items = (size_t)(count_blocks(r) + blocks - 1) / blocks;
    const size_t limit = ndr_min_size(of->caps->info.max_group_size, of->caps->info.max_local_size[2]);
    const size_t group = blocks == CHUNK ? 1 : ndr_min_size(PREFERRED_GROUP, limit);
    *plan = (ndr_op_plan){ .range = ndr_nd_range_1d(ndr_max_size(items, 1), group) };
    plan->range.edge = NDR_EDGE_ROUND_UP;
    snprintf(plan->options, sizeof plan->options, "-DT=%s -DDRAW=%s -DBLOCKS=%zu", cl_type_of(r->dtype), draw_of(r),
             blocks);
}

/* 2^width mod n */
static uint64_t count_refused(const ndr_random_request *r)
{
    if (r->distribution != NDR_RANDOM_BELOW || takes_all_words(r)) return 0;
    return ndr_dtype_size(r->dtype) == 4 ? ((uint64_t)1 << 32) % r->below : (0 - r->below) % r->below;
}

static ndr_status launch(ndr_op_job *job)
{
    const ndr_random_request *r = job->of.request;
    return ndr_op_launch(job, job->kernel, job->plan.range, r->output.buffer, r->output.offset, r->output.cols, r->seed,
                         r->stream, r->first, r->below, count_refused(r), (uint64_t)r->low);
}

#define FILL(row, blocks, ...)                                    \
    static const ndr_op_variant row = { .name = #row,             \
                                        .file = "random/fill.cl", \
                                        .kernel = "random_fill",  \
                                        .form = (blocks),         \
                                        .plan = plan,             \
                                        .launch = launch,         \
                                        __VA_ARGS__ }
FILL(chunks, CHUNK, .unsuited = ndr_op_lacks_vectors);
FILL(items, ONE_BLOCK, .unsuited = NULL);

static const ndr_op_variant *const variants[] = { &chunks, &items };

static ndr_op_work work_of(const void *request)
{
    const ndr_random_request *r = request;
    return (ndr_op_work){ r->output.cols * ndr_dtype_size(r->dtype), 0 };
}

const ndr_operation ndr_random_operation = { "random", variants, NDR_COUNT_OF(variants), NULL, work_of };

/* ---- checks ---- */

static ndr_status check_type(const ndr_device_info *device, const ndr_random_desc *desc)
{
    NDR_REQUIRE(desc->dtype >= NDR_DTYPE_I32 && desc->dtype <= NDR_DTYPE_F64,
                "ndr_random: dtype is %s; use i32, u32, i64, u64, f32 or f64",
                desc->dtype == NDR_DTYPE_NONE ? "not set" : ndr_dtype_name(desc->dtype));
    NDR_REQUIRE_AS(NDR_UNSUPPORTED, desc->dtype != NDR_DTYPE_F64 || device->has_f64,
                   "ndr_random: device \"%s\" has no f64; use f32", device->name);
    NDR_REQUIRE(desc->distribution >= NDR_RANDOM_UNIFORM && desc->distribution <= NDR_RANDOM_PERMUTATION,
                "ndr_random: distribution is %d, which is not valid; use NDR_RANDOM_UNIFORM, NDR_RANDOM_NORMAL, "
                "NDR_RANDOM_BELOW or NDR_RANDOM_PERMUTATION",
                (int)desc->distribution);
    const bool is_float = ndr_dtype_describe(desc->dtype)->is_float;
    NDR_REQUIRE(is_float || desc->distribution != NDR_RANDOM_NORMAL,
                "ndr_random: normal values are floats, but dtype is %s; use f32 or f64", ndr_dtype_name(desc->dtype));
    NDR_REQUIRE(!is_float || desc->distribution < NDR_RANDOM_BELOW,
                "ndr_random: integers below a limit and permutations are integers, but dtype is %s; use i32, u32, i64 "
                "or u64",
                ndr_dtype_name(desc->dtype));
    return NDR_OK;
}

/* The largest value of an integer type. */
static uint64_t highest_of(ndr_dtype dtype)
{
    return dtype == NDR_DTYPE_I32   ? INT32_MAX
           : dtype == NDR_DTYPE_U32 ? UINT32_MAX
           : dtype == NDR_DTYPE_I64 ? INT64_MAX
                                    : UINT64_MAX;
}

/* The values low to low + n - 1 are values of the type; n of 0 is refused before. */
static ndr_status check_values(const ndr_random_desc *desc, uint64_t n)
{
    const uint64_t highest = highest_of(desc->dtype);
    const bool is_signed = desc->dtype == NDR_DTYPE_I32 || desc->dtype == NDR_DTYPE_I64;
    NDR_REQUIRE(is_signed ? desc->low >= -(int64_t)highest - 1 && desc->low <= (int64_t)highest
                          : desc->low >= 0 && (uint64_t)desc->low <= highest,
                "ndr_random: low is %" PRId64 ", which is not a value of %s; use a larger type, or another low",
                desc->low, ndr_dtype_name(desc->dtype));
    NDR_REQUIRE(n - 1 <= highest - (uint64_t)desc->low,
                "ndr_random: %" PRIu64 " values from %" PRId64 " on exceed the largest value of %s, %" PRIu64
                "; lower below or low, or use a larger type",
                n, desc->low, ndr_dtype_name(desc->dtype), highest);
    return NDR_OK;
}

/* How many values integers may have. */
static ndr_status check_below(const ndr_random_desc *desc, uint64_t *below)
{
    const bool is_permutation = desc->distribution == NDR_RANDOM_PERMUTATION;
    if (desc->distribution < NDR_RANDOM_BELOW) {
        NDR_REQUIRE(desc->below == 0 && desc->low == 0,
                    "ndr_random: below is %" PRIu64 " and low is %" PRId64 ", which uniform and normal values do not "
                    "have; set both to 0, or distribution to NDR_RANDOM_BELOW",
                    desc->below, desc->low);
        return NDR_OK;
    }
    NDR_REQUIRE(is_permutation || desc->below > 0,
                "ndr_random: below is 0, so there is no value to draw; set it to the number of values");
    NDR_REQUIRE(!is_permutation || desc->below > 0 || desc->first == 0,
                "ndr_random: first is %" PRIu64 ", but below is 0; set below to the length of the whole permutation",
                desc->first);
    *below = desc->below ? desc->below : desc->count;
    NDR_REQUIRE(!is_permutation || (desc->first <= *below && desc->count <= *below - desc->first),
                "ndr_random: %zu elements from element %" PRIu64 " on exceed a permutation of %" PRIu64
                "; lower count or first",
                desc->count, desc->first, *below);
    return *below ? check_values(desc, *below) : NDR_OK;
}

static ndr_status make_request(const ndr_context *context, const ndr_random_desc *desc, ndr_random_request *request)
{
    const uint64_t most = (uint64_t)1 << 48;
    uint64_t below = 0;
    NDR_REQUIRE(desc, "ndr_random: desc is NULL; pass the address of a descriptor whose members are set");
    NDR_TRY(check_type(&context->caps.info, desc));
    NDR_REQUIRE(desc->first <= most && desc->count <= most - desc->first,
                "ndr_random: %zu values from value %" PRIu64 " on exceed a stream, which has 2^48; use another stream",
                desc->count, desc->first);
    NDR_TRY(check_below(desc, &below));
    *request = (ndr_random_request){
        .dtype = desc->dtype,
        .distribution = desc->distribution,
        .seed = desc->seed,
        .stream = desc->stream,
        .first = desc->first,
        .below = below,
        .low = desc->low,
        .output = ndr_operand_of("ndr_random", "output", desc->output, desc->count, ndr_dtype_size(desc->dtype)),
    };
    return NDR_OK;
}

static ndr_status check_random(ndr_queue *queue, const ndr_random_desc *desc, ndr_random_request *request)
{
    NDR_REQUIRE_SET_IN("ndr_random", queue);
    NDR_TRY(make_request(queue->context, desc, request));
    return ndr_operand_check(&request->output, queue);
}

ndr_status ndr_random(ndr_queue *queue, const ndr_random_desc *desc, ndr_event **event)
{
    const ndr_order order = ndr_order_of(queue);
    ndr_random_request request;
    NDR_TRY(check_random(order.queue, desc, &request));
    if (request.output.cols == 0) return ndr_queue_mark_in(&order, event);
    return ndr_op_run(&ndr_random_operation, &order, &request, event);
}

NDR_OP_EXPLAIN(ndr_random, ndr_random_request, make_request(context, desc, &r), &ndr_random_operation)
