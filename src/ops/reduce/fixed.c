/* fixed.c - reductions of floats in an order that their number alone determines. */
#include "device/queue.h"
#include "ops/reduce/reduce.h"

#include <stdio.h>

enum { BLOCK = 4096 /* elements, as in kernels/reduce/fixed.clh */ };

static size_t blocks_of(size_t elements) { return ndr_max_size(ndr_ceil_div(elements, BLOCK), 1); }

/* An item for each block on CPUs, in about 128 groups; elsewhere a group. */
static ndr_nd_range range_over(size_t blocks, size_t group)
{
    enum { PREFERRED_COUNT = 128 };
    return ndr_nd_range_1d(group * (group == 1 ? ndr_min_size(blocks, PREFERRED_COUNT) : blocks), group);
}

/* The results of all launches but the last. */
static size_t count_results(size_t elements)
{
    size_t all = 0;
    for (size_t blocks = blocks_of(elements); blocks > 1; blocks = blocks_of(blocks)) all += blocks;
    return all;
}

static void plan_groups_of(const ndr_op_case *of, size_t group, ndr_op_plan *plan)
{
    enum { COLUMNS = 256 /* of all strips */ };
    const ndr_reduce_request *r = of->request;
    const size_t results = count_results(r->input.cols);
    *plan = (ndr_op_plan){ .range = range_over(blocks_of(r->input.cols), group),
                           .local_bytes = (group == 1 ? 1 : COLUMNS) * ndr_dtype_size(r->dtype) + sizeof(cl_uint),
                           .workspace_bytes = results ? ndr_reduce_workspace_bytes(r, results) : 0 };
    snprintf(plan->options, sizeof plan->options, "-DREAL=%s -DOP_NAME=%s -DGROUP=%zu%s%s%s",
             ndr_dtype_describe(r->dtype)->cl_name, ndr_op_name(r->op), group,
             ndr_reduce_is_dot(r) ? " -DIS_DOT=1" : "",
             of->caps->flushes_f32 && r->dtype == NDR_DTYPE_F32 && r->op == NDR_OP_SUM ? " -DFLUSHES=1" : "",
             group == 1 && of->caps->info.type == NDR_DEVICE_TYPE_CPU ? " -DFETCH_AHEAD=1" : "");
}

static void plan_chunks(const ndr_op_case *of, ndr_op_plan *plan) { plan_groups_of(of, 1, plan); }

static void plan_groups(const ndr_op_case *of, ndr_op_plan *plan)
{
    const size_t limit = ndr_min_size(of->caps->info.max_group_size, of->caps->info.max_local_size[2]);
    plan_groups_of(of, limit >= 64 ? 64 : limit >= 16 ? 16 : 1, plan);
}

/* Each launch but the last stores its results behind those of the one before. */
static ndr_status launch(ndr_op_job *job)
{
    const ndr_reduce_request *r = job->of.request;
    const size_t group = job->plan.range.local.size[0], most = job->of.caps->orders_device ? BLOCK : 1;
    size_t blocks = blocks_of(r->input.cols), free_from = NDR_WORKSPACE_HEAD_BYTES / ndr_dtype_size(r->dtype);
    ndr_operand results = r->output;
    if (blocks > 1)
        results = ndr_reduce_operand("results", ndr_workspace_buffer(job->workspace), free_from, blocks, r->dtype);
    NDR_TRY(ndr_op_launch(job, job->kernel, job->plan.range, NDR_NUMERICS_INPUT(r, blocks), results.buffer,
                          results.offset, ndr_op_take_slot(job), r->output.buffer, r->output.offset));
    while (blocks > most) {
        const ndr_operand input = results;
        free_from += blocks;
        blocks = blocks_of(input.cols);
        results = blocks == 1 ? r->output : ndr_reduce_operand("results", input.buffer, free_from, blocks, r->dtype);
        NDR_TRY(ndr_op_launch(job, job->others[0], range_over(blocks, group), input.buffer, input.offset, input.cols,
                              blocks, results.buffer, results.offset, ndr_op_take_slot(job), r->output.buffer,
                              r->output.offset));
    }
    return NDR_OK;
}

/* ---- whether the device rounds each sum ---- */

enum { COUNT = BLOCK - 1, COLUMNS = 64, STRIP = 1024 /* as in kernels/reduce/fixed.clh */ };

/* Each store rounds, on hosts that keep more bits, too. */
static float add_on_host(const float x[COUNT])
{
    volatile float column[COLUMNS] = { 0 };
    for (size_t c = 0; c < COLUMNS; ++c)
        for (size_t begin = c; begin < COUNT; begin += STRIP) {
            volatile float strip = 0;
            for (size_t i = begin; i < ndr_min_size(begin - c + STRIP, COUNT); i += COLUMNS) strip = strip + x[i];
            column[c] = column[c] + strip;
        }
    for (size_t width = COLUMNS / 2; width > 0; width /= 2)
        for (size_t c = 0; c < width; ++c) column[c] = column[c] + column[c + width];
    return column[0];
}

static ndr_status try_sum(ndr_queue *queue, const ndr_op_variant *variant, ndr_buffer *buffer, const float x[COUNT],
                          bool *is_right)
{
    const ndr_order order = { .queue = queue };
    const ndr_reduce_request request = { .dtype = NDR_DTYPE_F32,
                                         .op = NDR_OP_SUM,
                                         .numerics = NDR_NUMERICS_REPRODUCIBLE,
                                         .input = ndr_reduce_operand("input", buffer, 0, COUNT, NDR_DTYPE_F32),
                                         .output = ndr_reduce_operand("output", buffer, COUNT, 1, NDR_DTYPE_F32) };
    float sum = 0;
    NDR_TRY(ndr_buffer_write(queue, buffer, 0, COUNT * sizeof *x, x, NULL));
    NDR_TRY(ndr_op_run_variant(variant, &order, &request, NULL));
    NDR_TRY(ndr_buffer_read(queue, buffer, COUNT * sizeof sum, sizeof sum, &sum, NULL));
    *is_right = sum == add_on_host(x);
    return NDR_OK;
}

/* Some devices keep more bits than a float has in some of their sums, as the x87 does. About half of random data show it,
 * if few sums are so. */
static ndr_status prove(ndr_queue *queue, const ndr_op_variant *variant, bool *is_right)
{
    enum { TRIES = 24 };
    float x[COUNT];
    ndr_buffer *buffer;
    ndr_status status = NDR_OK;
    uint32_t bits = 1;
    *is_right = true;
    NDR_TRY(ndr_buffer_create(queue->context, (COUNT + 1) * sizeof *x, &buffer));
    for (size_t i = 0; i < TRIES && status == NDR_OK && *is_right; ++i) {
        for (size_t j = 0; j < COUNT; ++j) {
            bits = bits * 1664525 + 1013904223;
            x[j] = (float)(bits >> 8) * 0x1p-20f;
        }
        status = try_sum(queue, variant, buffer, x, is_right);
    }
    ndr_buffer_destroy(buffer);
    return status;
}

#define FIXED(variant, ...)                                                                                            \
    NDR_OP_VARIANT(reduce, variant, "reduce_fixed", 0, .others = { "reduce_fixed_results" },                           \
                   .form = NDR_NUMERICS_REPRODUCIBLE, .cannot = ndr_numerics_cannot, .launch = launch, .prove = prove, \
                   __VA_ARGS__)
FIXED(fixed_chunks, .unsuited = ndr_op_lacks_vectors, .plan = plan_chunks);
FIXED(fixed_groups, .plan = plan_groups);
