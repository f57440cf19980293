/* rows.c - the implementations of ndr_map_reduce(). Results with many elements are combined in parts, which a second
 * launch combines. Sizes depend on the call and on limits of the device alone: so do the bits of a result. */
#include "ops/map_reduce/map_reduce.h"

#include <stdio.h>

/* How a plan divides the work. */
typedef struct division {
    size_t lanes, items, group; /* items: of one result */
    size_t span, blocks, parts; /* span: results of a group in a row; blocks of results, and parts of each */
} division;

/* Elements of a result, of segments on average. */
static size_t mean_count(const ndr_map_reduce_request *r)
{
    const ndr_reduced_layout *l = &r->layout;
    return ndr_has_segments(r->desc) && l->kept > 0 ? ndr_ceil_div(l->count, l->kept) : l->count;
}

/* At most `most` parts, and as many as are needed for parts of at most `longest` elements. */
static size_t count_parts(size_t wanted, size_t most, size_t count, size_t longest)
{
    return ndr_max_size(ndr_clamp_size(wanted, 1, ndr_max_size(most, 1)), ndr_ceil_div(count, longest));
}

/* ---- chunks ---- */

/* The lanes along the reduced dimension are kept in registers; few of them for few elements, because all are combined in
 * the end. Those along a kept one are in the first cache: they read memory in long pieces, unless there are few results
 * in a row. A group has enough elements to amortise its start. */
static division divide_in_chunks(const ndr_map_reduce_request *r)
{
    enum { REGISTERS = 512, OWN = 8, FEW = 16, CACHED = 1 << 12, NARROW = 128 };
    enum { SHORT = 1 << 10, LONGEST = 1 << 19, ENOUGH = 1 << 14, GROUPS = 64 };
    const ndr_reduced_layout *l = &r->layout;
    const size_t count = mean_count(r), bytes = r->value_bytes;
    division d = { .items = 1, .group = 1, .span = 1 };
    if (l->is_along_reduced) {
        d.lanes = r->desc->element          ? OWN
                  : count < SHORT           ? FEW
                  : bytes * 64 <= REGISTERS ? 64
                  : bytes * 32 <= REGISTERS ? 32
                                            : FEW;
        d.span = ndr_clamp_size(ENOUGH / ndr_max_size(count, 1), 1, ENOUGH / 16);
        d.blocks = ndr_ceil_div(l->kept, d.span);
    } else {
        d.lanes = l->inner < NARROW ? NARROW / 2 : ndr_max_size(CACHED / bytes / 16, 1) * 16;
        d.blocks = l->kept / l->inner * ndr_ceil_div(l->inner, d.lanes);
    }
    const size_t width = l->is_along_reduced ? d.span : ndr_min_size(l->inner, d.lanes);
    d.parts = d.blocks == 0 ? 1
                            : count_parts(ndr_ceil_div(GROUPS, d.blocks), width * count / ENOUGH, count,
                                          LONGEST * (l->is_along_reduced ? d.lanes : 1));
    return d;
}

/* ---- groups ---- */

static size_t power_of_two_below(size_t n)
{
    size_t power = 1;
    while (power <= n / 2) power *= 2;
    return power;
}

/* How many elements an item loads together: more where items read long rows, and have registers for it. */
static size_t lanes_for(const ndr_map_reduce_request *r, size_t items)
{
    enum { FEW = 4, MANY = 8, SMALL = 4, LONG = 64, WIDE = 1 << 10 };
    const ndr_reduced_layout *l = &r->layout;
    const bool is_wide = l->is_along_reduced ? !ndr_has_segments(r->desc) : l->inner >= WIDE;
    if (r->desc->element) return 1;
    return is_wide && r->value_bytes <= SMALL && l->row / items >= LONG ? MANY : FEW;
}

/* An item has about four elements or more, a part 16 for each item; neighbouring results are read together: all of a
 * row where they are few, so that no item of a group is idle, or 32. Where the fault loops_end_early would end the loops
 * of the items of a long segment, there are parts for one segment of all elements. */
static division divide_in_groups(const ndr_caps *caps, const ndr_map_reduce_request *r)
{
    enum { PREFERRED_GROUP = 256, TOGETHER = 32, WAVE = 1 << 18, LONGEST = 1 << 14, ENOUGH = 16 };
    const ndr_reduced_layout *l = &r->layout;
    const size_t count = mean_count(r);
    const size_t limit = ndr_min_size(ndr_min_size(caps->info.max_group_size, caps->info.max_local_size[2]),
                                      caps->info.local_memory_bytes / r->value_bytes);
    division d = { .group = PREFERRED_GROUP, .span = 1 };
    while (d.group > limit && d.group > 1) d.group /= 2;
    const size_t together = l->is_along_reduced ? 1 : ndr_min_size(TOGETHER, power_of_two_below(l->inner));
    d.items = ndr_min_size(power_of_two_below(ndr_max_size(count / 4, 1)), ndr_max_size(d.group / together, 1));
    if (!l->is_along_reduced && l->inner > 0 && l->inner <= d.group / 2 && d.group / l->inner <= count / 4) {
        d.items = d.group / l->inner;
        d.group = d.items * l->inner;
    }
    d.lanes = lanes_for(r, d.items);
    d.blocks = ndr_ceil_div(l->kept, d.group / d.items);
    const size_t longest = ndr_quirk_is_on(caps->quirks, NDR_QUIRK_LOOPS_END_EARLY) ? l->count : count;
    d.parts = d.blocks == 0
                  ? 1
                  : count_parts(WAVE / (d.blocks * d.group), count / (d.items * ENOUGH), longest, LONGEST * d.items);
    return d;
}

/* ---- both ---- */

enum { CHUNKS, GROUPS };

static division divide(const ndr_op_case *of)
{
    return of->variant->form == CHUNKS ? divide_in_chunks(of->request) : divide_in_groups(of->caps, of->request);
}

static void plan(const ndr_op_case *of, ndr_op_plan *plan)
{
    const ndr_map_reduce_request *r = of->request;
    const division d = divide(of);
    const size_t partials = d.parts * r->layout.kept;
    *plan = (ndr_op_plan){ .range = ndr_nd_range_1d(d.blocks * d.parts * d.group, d.group),
                           .local_bytes = of->variant->form == GROUPS ? d.group * r->value_bytes : 0,
                           .workspace_bytes = d.parts > 1 ? NDR_WORKSPACE_HEAD_BYTES + partials * r->value_bytes : 0 };
    snprintf(plan->options, sizeof plan->options, "-DALONG_REDUCED=%d -DLANES=%zu -DGROUP=%zu -DITEMS=%zu%s%s",
             r->layout.is_along_reduced, d.lanes, d.group, d.items, ndr_has_segments(r->desc) ? " -DOFFSETS" : "",
             of->caps->info.type == NDR_DEVICE_TYPE_CPU ? " -DFETCH_AHEAD=1" : "");
}

static ndr_status launch(ndr_op_job *job)
{
    const ndr_map_reduce_request *r = job->of.request;
    const ndr_reduced_layout *l = &r->layout;
    const division d = divide(&job->of);
    const size_t *size = r->names.shape.size;
    const unsigned dims = r->names.shape.dims;
    const uint64_t sizes[4] = { size[0], dims > 1 ? size[1] : 1, dims > 2 ? size[2] : 1, 1 };
    const ndr_arg more[] = {
        { .kind = NDR_ARG_VECTOR, .dtype = NDR_DTYPE_U64, .size_bytes = sizeof sizes, .as.value.bytes = sizes },
        ndr_arg_of((uint64_t)l->kept),
        ndr_arg_of((uint64_t)l->inner),
        ndr_arg_of((uint64_t)l->count),
        ndr_arg_of((uint64_t)l->row),
        ndr_arg_of((uint64_t)d.parts),
        ndr_arg_of((uint64_t)d.span),
        ndr_operand_arg(&r->offsets),
        ndr_arg_of((uint64_t)r->offsets.offset),
        ndr_op_workspace_arg(job),
    };
    ndr_names_args args;
    ndr_arg all[NDR_NAMES_ARGS + NDR_COUNT_OF(more)];
    const size_t count = ndr_names_fill_args(&r->canonical, &args);
    memcpy(all, args.list, count * sizeof *all);
    memcpy(all + count, more, sizeof more);
    NDR_TRY(ndr_op_launch_v(job, job->kernel, &job->plan.range, all, count + NDR_COUNT_OF(more)));
    if (d.parts == 1) return NDR_OK;
    const size_t results = job->of.variant->form == CHUNKS ? d.lanes : d.group / d.items;
    const ndr_nd_range second = ndr_nd_range_1d(ndr_ceil_div(l->kept, results) * d.group, d.group);
    return ndr_op_launch_v(job, job->others[0], &second, all, count + NDR_COUNT_OF(more));
}

static const ndr_op_variant chunks = {
    .name = "chunks",
    .file = "map_reduce/chunks.cl",
    .kernel = "map_reduce_chunks",
    .others = { "map_reduce_chunk_parts" },
    .form = CHUNKS,
    .unsuited = ndr_op_lacks_vectors,
    .write = ndr_map_reduce_write,
    .plan = plan,
    .launch = launch,
};
static const ndr_op_variant groups = {
    .name = "groups",
    .file = "map_reduce/groups.cl",
    .kernel = "map_reduce_groups",
    .others = { "map_reduce_group_parts" },
    .form = GROUPS,
    .write = ndr_map_reduce_write,
    .plan = plan,
    .launch = launch,
};
static const ndr_op_variant *const variants[] = { &chunks, &groups };

/* One operation for each element of a value after the first. */
static ndr_op_work work_of(const void *request)
{
    const ndr_map_reduce_request *r = request;
    const size_t elements = ndr_names_count(&r->names), results = r->layout.kept;
    ndr_op_work work = { ndr_names_bytes(&r->names), 0 };
    for (size_t i = 0; i < r->value_count; ++i) {
        const ndr_dtype_info *type = ndr_dtype_describe(r->values[i].given.dtype); /* NULL: a type of the caller's */
        if (r->values[i].is_stored) work.bytes += results * r->values[i].result_bytes;
        if (type && type->is_float && elements > results) work.flops += elements - results;
    }
    return work;
}

/* Never tuned: another variant would change the bits of a sum. */
const ndr_operation ndr_map_reduce_operation = { "map_reduce", variants, NDR_COUNT_OF(variants), NULL, work_of };
