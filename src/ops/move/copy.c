/* copy.c - ndr_array_copy(): its checks, the order of its dimensions and its implementations. */
#include "device/context.h"
#include "device/queue.h"
#include "ops/move/move.h"

#include <stdio.h>

enum { TILE = 32, ROWS_AT_ONCE = 8, BLOCK_COLS = 1024, BLOCK_ELEMENTS = 1 << 15 };

const char *ndr_word_name(size_t element_bytes)
{
    static const char *const names[] = { [1] = "uchar", [2] = "ushort", [4] = "uint", [8] = "ulong" };
    return names[element_bytes];
}

/* ---- dimensions ---- */

static uint64_t distance(int64_t stride) { return stride < 0 ? 0 - (uint64_t)stride : (uint64_t)stride; }

static void swap_dimensions(ndr_copy_request *r, unsigned a, unsigned b)
{
    const size_t size = r->size[a];
    const int64_t from = r->from[a], to = r->to[a];
    r->size[a] = r->size[b], r->from[a] = r->from[b], r->to[a] = r->to[b];
    r->size[b] = size, r->from[b] = from, r->to[b] = to;
}

/* Dimensions of size 1 come first, then those of the output's larger steps. */
static bool comes_after(const ndr_copy_request *r, unsigned a, unsigned b)
{
    if (r->size[a] == 1 || r->size[b] == 1) return r->size[b] == 1 && r->size[a] != 1;
    return distance(r->to[a]) < distance(r->to[b]);
}

/* Make dimensions d - 1 and d one, which takes the place of d, if both arrays step through them alike. */
static void merge_at(ndr_copy_request *r, unsigned d)
{
    const int64_t size = (int64_t)r->size[d];
    int64_t from, to;
    const bool fits = size <= INT32_MAX && distance(r->from[d]) <= INT32_MAX && distance(r->to[d]) <= INT32_MAX;
    if (!fits || r->size[d - 1] == 1) return;
    from = r->from[d] * size, to = r->to[d] * size;
    if (r->from[d - 1] != from || r->to[d - 1] != to) return;
    r->size[d] *= r->size[d - 1];
    r->size[d - 1] = 1;
    if (d == 2) swap_dimensions(r, 0, 1);
}

ndr_copy_request ndr_copy_request_of(const ndr_array *input, const ndr_array *output)
{
    ndr_copy_request r = { .input = input, .output = output, .size = { 1, 1, 1 } };
    for (unsigned d = 0; d < input->shape.dims; ++d)
        r.size[d] = input->shape.size[d], r.from[d] = input->stride[d], r.to[d] = output->stride[d];
    for (unsigned turn = 0; turn < 2; ++turn)
        for (unsigned d = 0; d < 2; ++d)
            if (comes_after(&r, d, d + 1)) swap_dimensions(&r, d, d + 1);
    merge_at(&r, 1);
    merge_at(&r, 2);
    unsigned nearest = 2;
    for (unsigned d = 2; d-- > 0;)
        if (r.size[d] > 1 && r.from[d] != 0 && distance(r.from[d]) < distance(r.from[nearest])) nearest = d;
    if (nearest == 0) swap_dimensions(&r, 0, 1);
    r.transposes = nearest != 2;
    return r;
}

/* ---- implementations ---- */

/* Of copy_blocks: rows and columns of a block. */
static void find_block(const ndr_copy_request *r, size_t *rows, size_t *cols)
{
    *rows = TILE, *cols = BLOCK_COLS;
    if (r->transposes) return;
    *cols = ndr_min_size(r->size[2], BLOCK_ELEMENTS);
    *rows = ndr_ceil_div(BLOCK_ELEMENTS, *cols);
}

/* Items of a dimension that a group has at most. */
static size_t limit_of(const ndr_caps *caps, unsigned dimension)
{
    return ndr_min_size(caps->info.max_group_size, caps->info.max_local_size[dimension]);
}

static size_t rows_at_once(const ndr_caps *caps)
{
    return ndr_clamp_size(limit_of(caps, 0) / TILE, 1, ndr_min_size(ROWS_AT_ONCE, limit_of(caps, 1)));
}

static void plan_for(const ndr_op_case *of, ndr_nd_range range, ndr_op_plan *plan)
{
    const ndr_copy_request *r = of->request;
    *plan = (ndr_op_plan){ .range = range };
    snprintf(plan->options, sizeof plan->options, "-DE=%s -DTILE_ROWS=%zu",
             ndr_word_name(ndr_dtype_size(r->input->dtype)), rows_at_once(of->caps));
}

static void plan_blocks(const ndr_op_case *of, ndr_op_plan *plan)
{
    const ndr_copy_request *r = of->request;
    size_t rows, cols;
    find_block(r, &rows, &cols);
    plan_for(of, ndr_nd_range_3d(r->size[0], ndr_ceil_div(r->size[1], rows), ndr_ceil_div(r->size[2], cols), 1, 1, 1),
             plan);
}

static void plan_items(const ndr_op_case *of, ndr_op_plan *plan)
{
    const size_t *size = ((const ndr_copy_request *)of->request)->size;
    plan_for(of, (ndr_nd_range){ .global = ndr_range_3d(size[0], size[1], size[2]) }, plan);
}

static void plan_tiles(const ndr_op_case *of, ndr_op_plan *plan)
{
    const ndr_copy_request *r = of->request;
    const size_t rows = rows_at_once(of->caps);
    plan_for(of,
             ndr_nd_range_3d(r->size[0], ndr_ceil_div(r->size[1], TILE) * rows, ndr_ceil_div(r->size[2], TILE) * TILE,
                             1, rows, TILE),
             plan);
    plan->local_bytes = TILE * (TILE + 1) * ndr_dtype_size(r->input->dtype);
}

static const char *unsuited_to_tiles(const ndr_op_case *of)
{
    if (!((const ndr_copy_request *)of->request)->transposes)
        return "the nearest elements of the input are the nearest ones of the output";
    return limit_of(of->caps, 2) < TILE ? "groups of this device have fewer than 32 items" : NULL;
}

static ndr_status launch(ndr_op_job *job)
{
    const ndr_copy_request *r = job->of.request;
    size_t rows, cols;
    find_block(r, &rows, &cols);
    const ndr_arg args[] = { ndr_arg_of(r->input->buffer),
                             ndr_arg_of(r->input->offset),
                             ndr_arg_of(r->from[0]),
                             ndr_arg_of(r->from[1]),
                             ndr_arg_of(r->from[2]),
                             ndr_arg_of(r->output->buffer),
                             ndr_arg_of(r->output->offset),
                             ndr_arg_of(r->to[0]),
                             ndr_arg_of(r->to[1]),
                             ndr_arg_of(r->to[2]),
                             ndr_arg_of(r->size[1]),
                             ndr_arg_of(r->size[2]),
                             ndr_arg_of(rows),
                             ndr_arg_of(cols) };
    const size_t unused = job->of.variant->form; /* of the last arguments */
    return ndr_op_launch_v(job, job->kernel, &job->plan.range, args, NDR_COUNT_OF(args) - unused);
}

#define COPY(row, last_unused, ...)                             \
    static const ndr_op_variant row = { .name = #row,           \
                                        .file = "move/copy.cl", \
                                        .kernel = "copy_" #row, \
                                        .form = (last_unused),  \
                                        .plan = plan_##row,     \
                                        .launch = launch,       \
                                        __VA_ARGS__ }
COPY(blocks, 0, .unsuited = ndr_op_lacks_vectors);
COPY(tiles, 2, .unsuited = unsuited_to_tiles);
COPY(items, 4, .unsuited = NULL);

static const ndr_op_variant *const variants[] = { &blocks, &tiles, &items };

static ndr_op_work work_of(const void *request)
{
    const ndr_array *output = ((const ndr_copy_request *)request)->output;
    return (ndr_op_work){ 2 * (uint64_t)ndr_array_count(output) * ndr_dtype_size(output->dtype), 0 };
}

const ndr_operation ndr_array_copy_operation = { "array_copy", variants, NDR_COUNT_OF(variants), NULL, work_of };

/* ---- the call ---- */

static bool has_shape(const ndr_array *a, const ndr_array *b)
{
    bool has = a->shape.dims == b->shape.dims;
    for (unsigned d = 0; d < a->shape.dims && has; ++d) has = a->shape.size[d] == b->shape.size[d];
    return has;
}

static ndr_status make_request(const ndr_array_copy_desc *desc, ndr_copy_request *request)
{
    static const char call[] = "ndr_array_copy";
    NDR_REQUIRE(desc, "ndr_array_copy: desc is NULL; pass the address of a descriptor whose members are set");
    NDR_TRY(ndr_array_check(call, "input", &desc->input, NULL));
    NDR_TRY(ndr_array_check(call, "output", &desc->output, NULL));
    NDR_REQUIRE(desc->input.dtype == desc->output.dtype,
                "ndr_array_copy: input is %s and output is %s; make them the same, or convert with ndr_map()",
                ndr_dtype_name(desc->input.dtype), ndr_dtype_name(desc->output.dtype));
    NDR_REQUIRE(has_shape(&desc->input, &desc->output),
                "ndr_array_copy: input has shape %s and output has shape %s; make them the same",
                ndr_sizes_print(desc->input.shape.dims, desc->input.shape.size).chars,
                ndr_sizes_print(desc->output.shape.dims, desc->output.shape.size).chars);
    NDR_TRY(ndr_array_check_output(call, "output", &desc->output));
    *request = ndr_copy_request_of(&desc->input, &desc->output);
    return NDR_OK;
}

ndr_status ndr_array_copy(ndr_queue *queue, const ndr_array_copy_desc *desc, ndr_event **event)
{
    const ndr_order order = ndr_order_of(queue);
    ndr_copy_request request;
    queue = order.queue;
    NDR_REQUIRE_SET_IN("ndr_array_copy", queue);
    NDR_TRY(make_request(desc, &request));
    NDR_TRY(ndr_array_check_buffer("ndr_array_copy", "input", &desc->input, order.queue->context));
    NDR_TRY(ndr_array_check_buffer("ndr_array_copy", "output", &desc->output, order.queue->context));
    NDR_TRY(ndr_array_check_apart("ndr_array_copy", "output", &desc->output, "input", &desc->input));
    if (ndr_array_count(&desc->output) == 0) return ndr_queue_mark_in(&order, event);
    return ndr_op_run(&ndr_array_copy_operation, &order, &request, event);
}

NDR_OP_EXPLAIN(ndr_array_copy, ndr_copy_request, make_request(desc, &r), &ndr_array_copy_operation)
