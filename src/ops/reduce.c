/* reduce.c - many elements to one: as a tree, through one atomic, or by launching until one group is left. */
#include "ops/ops.h"

#include <stdio.h>

/* What kernels/reduce_*.cl are built with for each operator. */
typedef struct op_row {
    const char *name, *op, *atomic;
} op_row; /* as OP_NAME, OP and ATOMIC_COMBINE */

static const op_row ops[] = {
    [NDR_OP_SUM] = { "SUM", "NDR_PLUS", "ndr_atomic_fetch_add" },
    [NDR_OP_MIN] = { "MIN", "NDR_MINIMUM", "ndr_atomic_fetch_min" },
    [NDR_OP_MAX] = { "MAX", "NDR_MAXIMUM", "ndr_atomic_fetch_max" },
};

/* A reduction that has passed its checks, with everything the methods need. */
typedef struct reduction {
    ndr_queue *queue;
    const ndr_reduce_desc *desc;
    ndr_operand input, output;
    ndr_reduce_tuning tuning;
    char options[NDR_OPTIONS_SIZE];
} reduction;

/* ---- checks ---- */

static ndr_status check_type(const ndr_queue *queue, const ndr_reduce_desc *desc)
{
    const ndr_device_info *device = &queue->context->caps.info;
    NDR_REQUIRE(desc->dtype >= NDR_DTYPE_I32 && desc->dtype <= NDR_DTYPE_F64,
                "ndr_reduce: dtype is %s; use i32, u32, i64, u64, f32 or f64",
                desc->dtype == NDR_DTYPE_NONE ? "not set" : ndr_dtype_name(desc->dtype));
    NDR_REQUIRE(desc->op >= NDR_OP_SUM && desc->op <= NDR_OP_MAX,
                "ndr_reduce: op is %d, which is not valid; use NDR_OP_SUM, NDR_OP_MIN or NDR_OP_MAX", (int)desc->op);
    NDR_REQUIRE(
        (unsigned)desc->method <= NDR_REDUCE_RECURSIVE,
        "ndr_reduce: %d is not an ndr_reduce_method; use NDR_REDUCE_TREE, NDR_REDUCE_ATOMIC or NDR_REDUCE_RECURSIVE",
        (int)desc->method);
    NDR_REQUIRE_AS(NDR_UNSUPPORTED, desc->dtype != NDR_DTYPE_F64 || device->has_f64,
                   "ndr_reduce: device \"%s\" has no f64; use f32", device->name);
    NDR_REQUIRE_AS(NDR_UNSUPPORTED,
                   desc->method != NDR_REDUCE_ATOMIC || ndr_dtype_size(desc->dtype) < 8 || device->has_int64_atomics,
                   "ndr_reduce: device \"%s\" has no 64-bit atomics, which the atomic method needs for %s; use the "
                   "tree",
                   device->name, ndr_dtype_name(desc->dtype));
    return NDR_OK;
}

static ndr_operand operand(const char *name, const ndr_span *span, size_t count, size_t element_bytes)
{
    return (ndr_operand){ .call = "ndr_reduce",
                          .name = name,
                          .buffer = span->buffer,
                          .offset = span->offset,
                          .rows = 1,
                          .cols = count,
                          .pitch = count,
                          .element_bytes = element_bytes };
}

static ndr_status check(ndr_queue *queue, const ndr_reduce_desc *desc, reduction *r)
{
    NDR_REQUIRE_SET_IN("ndr_reduce", queue);
    NDR_REQUIRE(desc, "ndr_reduce: desc is NULL");
    NDR_TRY(check_type(queue, desc));
    const size_t element_bytes = ndr_dtype_size(desc->dtype);
    r->queue = queue;
    r->desc = desc;
    r->input = operand("input", &desc->input, desc->count, element_bytes);
    r->output = operand("output", &desc->output, 1, element_bytes);
    NDR_TRY(ndr_operand_check(&r->input, queue));
    NDR_TRY(ndr_operand_check(&r->output, queue));
    return ndr_operand_check_apart(&r->output, &r->input);
}

void ndr_reduce_options(const ndr_reduce_tuning *tuning, ndr_dtype dtype, ndr_op op, char options[NDR_OPTIONS_SIZE])
{
    snprintf(options, NDR_OPTIONS_SIZE,
             "-DT=%s -DWORD=%s -DOP_NAME=%s -DOP=%s -DATOMIC_COMBINE=%s -DFETCH_AHEAD=%d",
             ndr_dtype_describe(dtype)->cl_name, ndr_dtype_size(dtype) == 8 ? "ulong" : "uint", ops[op].name,
             ops[op].op, ops[op].atomic, tuning->fetches_ahead);
}

static void plan(reduction *r)
{
    const ndr_context *context = r->queue->context;
    r->tuning = ndr_tune_reduce(&context->caps.info, (ndr_reduce_variant)context->forced.reduce, r->desc->method,
                                r->desc->count);
    ndr_reduce_options(&r->tuning, r->desc->dtype, r->desc->op, r->options);
}

/* ---- steps ---- */

static ndr_status get_kernel(const reduction *r, const char *file, const char *name, ndr_kernel **kernel)
{
    const ndr_kernel_desc desc = { .name = name, .bundled = file, .options = r->options };
    return ndr_kernel_get(r->queue->context, &desc, kernel);
}

/* A kernel may take smaller groups than its device, which is known once it is built. */
static void fit_groups(reduction *r, const ndr_kernel *kernel)
{
    const ndr_device_info *limits = &r->queue->context->caps.info;
    if (kernel->info.max_group_size >= limits->max_group_size) return;
    ndr_device_info device = *limits;
    device.max_group_size = kernel->info.max_group_size;
    r->tuning = ndr_tune_reduce(&device, r->tuning.variant, r->desc->method, r->desc->count);
}

/* One launch that leaves one element for each of its groups. */
static ndr_status fold(const reduction *r, ndr_kernel *kernel, const ndr_operand *input, const ndr_operand *output,
                       size_t groups, ndr_event **event)
{
    return ndr_launch_event(r->queue, kernel, event,
                            ndr_nd_range_1d(groups * r->tuning.group_size, r->tuning.group_size),
                            ndr_operand_arg(input), input->offset, input->cols, output->buffer, output->offset);
}

/* ---- the tree: partials, then one group over them ---- */

static ndr_status fold_twice(const reduction *r, ndr_kernel *kernel, ndr_buffer *partials, ndr_event **event)
{
    const size_t groups = r->tuning.group_count;
    const ndr_span at_start = { partials, 0 };
    const ndr_operand middle = operand("partials", &at_start, groups, r->input.element_bytes);
    ndr_event *first = NULL, *last = NULL;
    NDR_TRY(fold(r, kernel, &r->input, &middle, groups, event ? &first : NULL));
    const ndr_status status = fold(r, kernel, &middle, &r->output, 1, event ? &last : NULL);
    return ndr_event_join(status, first, last, event);
}

/* One launch: the last chunk to be done combines what all of them left in the queue's scratch. */
static ndr_status reduce_chunks(const reduction *r, const char *file, const char *name, ndr_event **event)
{
    ndr_kernel *kernel;
    ndr_buffer *scratch = NULL; /* one group needs none */
    NDR_TRY(get_kernel(r, file, name, &kernel));
    if (r->tuning.group_count > 1) NDR_TRY(ndr_queue_get_scratch(r->queue, &scratch));
    return ndr_launch_event(r->queue, kernel, event, ndr_nd_range_1d(r->tuning.group_count, 1),
                            ndr_operand_arg(&r->input), r->input.offset, r->input.cols, r->tuning.chunk,
                            scratch ? ndr_arg_of(scratch) : ndr_null, r->output.buffer, r->output.offset);
}

static ndr_status reduce_tree(reduction *r, ndr_event **event)
{
    if (r->tuning.variant == NDR_REDUCE_CHUNKS) return reduce_chunks(r, "reduce_chunks.cl", "reduce_chunks", event);
    ndr_kernel *kernel;
    NDR_TRY(get_kernel(r, "reduce_tree.cl", "reduce_tree", &kernel));
    fit_groups(r, kernel);
    const size_t groups = r->tuning.group_count;
    if (groups == 1) return fold(r, kernel, &r->input, &r->output, 1, event);

    ndr_buffer *partials;
    NDR_TRY(ndr_buffer_create(r->queue->context, groups * r->input.element_bytes, &partials));
    const ndr_status status = fold_twice(r, kernel, partials, event);
    ndr_buffer_destroy(partials); /* OpenCL lets go of it once the launches are done */
    return status;
}

/* ---- the atomic: every group combines its own with one cell, which becomes the output at the end ---- */

typedef struct atomic_kernels {
    ndr_kernel *begin, *rest, *end;
} atomic_kernels;

static ndr_status fold_and_end(const reduction *r, const atomic_kernels *k, ndr_buffer *cell, ndr_event **event)
{
    const ndr_span at_start = { cell, 0 };
    const ndr_operand sum = operand("partials", &at_start, 1, r->input.element_bytes);
    NDR_TRY(fold(r, k->rest, &r->input, &sum, r->tuning.group_count, NULL));
    return ndr_launch_event(r->queue, k->end, event, ndr_range_1d(1), cell, r->output.buffer, r->output.offset);
}

static ndr_status reduce_in_cell(const reduction *r, const atomic_kernels *k, ndr_buffer *cell, ndr_event **event)
{
    ndr_event *first = NULL, *last = NULL;
    NDR_TRY(ndr_launch_event(r->queue, k->begin, event ? &first : NULL, ndr_range_1d(1), r->input.cols, cell));
    const ndr_status status = fold_and_end(r, k, cell, event ? &last : NULL);
    return ndr_event_join(status, first, last, event);
}

static ndr_status reduce_atomic(reduction *r, ndr_event **event)
{
    if (r->tuning.variant == NDR_REDUCE_CHUNKS)
        return reduce_chunks(r, "reduce_chunks_atomic.cl", "reduce_chunks_atomic", event);
    atomic_kernels k;
    ndr_buffer *cell;
    NDR_TRY(get_kernel(r, "reduce_atomic.cl", "reduce_begin", &k.begin));
    NDR_TRY(get_kernel(r, "reduce_atomic.cl", "reduce_atomic", &k.rest));
    NDR_TRY(get_kernel(r, "reduce_atomic.cl", "reduce_end", &k.end));
    fit_groups(r, k.rest);
    NDR_TRY(ndr_queue_borrow_workspace(r->queue, r->input.element_bytes, &cell));
    const ndr_status status = reduce_in_cell(r, &k, cell, event);
    ndr_queue_return_workspace(r->queue);
    return status;
}

/* ---- the textbook's recursion: a tree of one element an item, launched until one group is left ---- */

enum { RECURSIVE_GROUP = 64 };

static ndr_status fold_groups(const reduction *r, ndr_kernel *kernel, const ndr_operand *input,
                              const ndr_operand *output, size_t group, ndr_event **event)
{
    ndr_nd_range range = ndr_nd_range_1d(input->cols ? input->cols : 1, group);
    range.edge = NDR_EDGE_ROUND_UP;
    const ndr_arg args[] = {
        ndr_operand_arg(input),     ndr_arg_of(input->offset),
        ndr_arg_of(input->cols),    ndr_arg_of(output->buffer),
        ndr_arg_of(output->offset), ndr_arg_local_(r->desc->dtype, r->input.element_bytes, 1, group, 1, 1)
    };
    return ndr_launch_v(r->queue, kernel, &range, args, sizeof args / sizeof args[0], event);
}

/* Each level writes behind the one before it in `levels`, the last one into the output. */
static ndr_status fold_until_one(const reduction *r, ndr_kernel *kernel, ndr_buffer *levels, size_t group,
                                 ndr_event **event)
{
    ndr_event *first = NULL, *last = NULL;
    ndr_operand input = r->input;
    size_t free_from = 0;
    ndr_status status = NDR_OK;
    for (bool done = false; !done && status == NDR_OK;) {
        const size_t groups = ndr_ceil_div(input.cols ? input.cols : 1, group);
        const ndr_span span = { levels, free_from };
        const ndr_operand level = operand("partials", &span, groups, r->input.element_bytes);
        done = groups == 1;
        ndr_event **wanted = !event ? NULL : done ? &last : first ? NULL : &first;
        status = fold_groups(r, kernel, &input, done ? &r->output : &level, group, wanted);
        free_from += groups;
        input = level;
    }
    if (event && !first && status == NDR_OK) {
        *event = last;
        return status;
    }
    return ndr_event_join(status, first, last, event);
}

static size_t elements_of_levels(size_t count, size_t group)
{
    size_t elements = 0;
    for (size_t groups = ndr_ceil_div(count, group); groups > 1; groups = ndr_ceil_div(groups, group))
        elements += groups;
    return elements;
}

static ndr_status reduce_recursive(const reduction *r, ndr_event **event)
{
    ndr_kernel *kernel;
    NDR_TRY(get_kernel(r, "reduce_recursive.cl", "reduce_recursive", &kernel));
    /* Groups of one would never come to an end. */
    const size_t group = ndr_min_size(RECURSIVE_GROUP, kernel->info.max_group_size);
    NDR_REQUIRE_AS(NDR_UNSUPPORTED, group > 1 || r->desc->count <= 1,
                   "ndr_reduce: device \"%s\" has groups of one item, which the recursive method cannot use; use the "
                   "tree",
                   r->queue->context->caps.info.name);
    ndr_buffer *levels;
    NDR_TRY(ndr_buffer_create(r->queue->context, elements_of_levels(r->desc->count, group) * r->input.element_bytes,
                              &levels));
    const ndr_status status = fold_until_one(r, kernel, levels, group, event);
    ndr_buffer_destroy(levels);
    return status;
}

/* ---- reducing ---- */

ndr_status ndr_reduce(ndr_queue *queue, const ndr_reduce_desc *desc, ndr_event **event)
{
    reduction r = { 0 };
    NDR_TRY(check(queue, desc, &r));
    plan(&r);
    switch (desc->method) {
    case NDR_REDUCE_ATOMIC: return reduce_atomic(&r, event);
    case NDR_REDUCE_RECURSIVE: return reduce_recursive(&r, event);
    case NDR_REDUCE_TREE:
    default: return reduce_tree(&r, event);
    }
}
