/* rows.c - the implementations of ndr_map_reduce(). Results with many elements are combined in parts, which a second
 * launch combines. Sizes depend on the call and on limits of the device alone: so do the bits of a result. */
#include "ops/map_reduce/map_reduce.h"

#include <stdio.h>

/* How a plan divides the work. */
typedef struct division {
    size_t lanes, items, group;    /* items: of one result */
    bool is_narrow;                /* lanes along a kept dimension have room in registers */
    size_t span, blocks, parts;    /* span: results of a group in a row; blocks of results, and parts of each */
    size_t part_group, part_items; /* of the groups that combine parts */
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

/* Lanes are kept in registers, if there is room. Along the reduced dimension there are few of them for few elements,
 * because all are combined in the end. Along a kept one there are others, in the first cache, for many results in a row:
 * they read memory in long pieces. A group has enough elements to amortise its start. */
static division divide_in_chunks(const ndr_map_reduce_request *r)
{
    enum { REGISTERS = 512, OWN = 8, FEW = 16, MANY = 64, CACHED = 1 << 12 };
    enum { STEPS = 2, LONGEST = 1 << 19, ENOUGH = 1 << 14, ENOUGH_KEPT = 1 << 16, GROUPS = 64 };
    const ndr_reduced_layout *l = &r->layout;
    const size_t count = mean_count(r), bytes = r->value_bytes;
    division d = { .items = 1, .group = 1, .span = 1, .lanes = FEW };
    if (l->is_along_reduced) {
        while (d.lanes < MANY && bytes * d.lanes * 2 <= REGISTERS && count >= d.lanes * 2 * STEPS) d.lanes *= 2;
        if (r->desc->element) d.lanes = OWN;
        d.span = ndr_clamp_size(ENOUGH / ndr_max_size(count, 1), 1, ENOUGH / 16);
        d.blocks = ndr_ceil_div(l->kept, d.span);
    } else {
        while (d.lanes < l->inner && bytes * d.lanes * 2 <= REGISTERS) d.lanes *= 2;
        d.is_narrow = l->inner <= d.lanes;
        if (!d.is_narrow) d.lanes = ndr_max_size(CACHED / bytes / 16, 1) * 16;
        d.blocks = l->kept / l->inner * ndr_ceil_div(l->inner, d.lanes);
    }
    const size_t enough = l->is_along_reduced ? ENOUGH : ENOUGH_KEPT;
    const size_t width = l->is_along_reduced ? d.span : ndr_min_size(l->inner, d.lanes);
    d.parts = d.blocks == 0 ? 1
                            : count_parts(ndr_ceil_div(GROUPS, d.blocks), width * count / enough, count,
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

/* How many elements an item loads together: more where it has many of a row. */
static size_t lanes_for(const ndr_map_reduce_request *r, size_t items)
{
    enum { FEW = 4, MANY = 16, BYTES = 64, LONG = 64 };
    if (r->desc->element) return 1;
    if (ndr_has_segments(r->desc) || r->layout.row / items < LONG) return FEW;
    return ndr_clamp_size(power_of_two_below(BYTES / r->value_bytes), FEW, MANY);
}

/* An item has about four elements or more, a part 16 for each item; neighbouring results are read together: all of a
 * row where they are few, so that no item of a group is idle; or 32, or 64 of so many that the device is full even so.
 * Where the fault loops_end_early would end the loops of the items of a long segment, there are parts for one segment of
 * all elements. */
static division divide_in_groups(const ndr_caps *caps, const ndr_map_reduce_request *r)
{
    enum { PREFERRED_GROUP = 256, TOGETHER = 32, LONGEST = 1 << 14, ENOUGH = 16 };
    enum { FULL = 512, WAVES = 1584 }; /* groups: 4 and 12 for each compute unit of the largest GPUs */
    const ndr_reduced_layout *l = &r->layout;
    const size_t count = mean_count(r);
    const size_t limit = ndr_min_size(ndr_min_size(caps->info.max_group_size, caps->info.max_local_size[2]),
                                      caps->info.local_memory_bytes / r->value_bytes);
    division d = { .group = PREFERRED_GROUP, .span = 1 };
    while (d.group > limit && d.group > 1) d.group /= 2;
    const size_t most = l->kept < FULL * 2 * TOGETHER ? TOGETHER : 2 * TOGETHER;
    const size_t together = l->is_along_reduced ? 1 : ndr_min_size(most, power_of_two_below(l->inner));
    d.items = ndr_min_size(power_of_two_below(ndr_max_size(count / 4, 1)), ndr_max_size(d.group / together, 1));
    if (!l->is_along_reduced && l->inner > 0 && l->inner <= d.group / 2 && d.group / l->inner <= count / 4) {
        d.items = d.group / l->inner;
        d.group = d.items * l->inner;
    }
    d.lanes = lanes_for(r, d.items);
    d.blocks = ndr_ceil_div(l->kept, d.group / d.items);
    const size_t longest = ndr_quirk_is_on(caps->quirks, NDR_QUIRK_LOOPS_END_EARLY) ? l->count : count;
    const size_t wanted = d.blocks < FULL ? WAVES / ndr_max_size(d.blocks, 1) : 1;
    d.parts = d.blocks == 0 ? 1 : count_parts(wanted, count / (d.items * ENOUGH), longest, LONGEST * d.items);
    d.part_group = power_of_two_below(d.group);
    d.part_items = ndr_min_size(power_of_two_below(ndr_max_size(d.parts / 4, 1)), d.part_group);
    return d;
}

/* ---- short rows ---- */

enum { SHORT_ROWS_GROUP = 256 };

/* An item combines few elements, which its group has room for in 32 KiB of local memory. Their number is a constant of
 * the kernel, in steps, so that there are few programs. */
static division divide_in_short_rows(const ndr_map_reduce_request *r)
{
    enum { BYTES = 96, STEP = 8 };
    const ndr_reduced_layout *l = &r->layout;
    const size_t most = BYTES / r->value_bytes;
    division d = { .items = 1, .group = SHORT_ROWS_GROUP, .parts = 1 };
    while (l->row > d.items * most) d.items *= 2;
    d.lanes = ndr_min_size(ndr_ceil_div(ndr_ceil_div(l->row, d.items), STEP) * STEP, most);
    d.span = d.group / d.items;
    d.blocks = ndr_ceil_div(l->kept, d.span);
    return d;
}

static const char *cannot_in_short_rows(const ndr_op_case *of)
{
    enum { LARGEST = 8, LONGEST = 1024 };
    const ndr_map_reduce_request *r = of->request;
    const ndr_reduced_layout *l = &r->layout;
    if (r->desc->element || r->value_bytes > LARGEST) return "a value has more than 8 bytes, or a type of the caller's";
    if (!l->is_along_reduced || ndr_has_segments(r->desc) || l->count != l->row || l->kept != l->inner)
        return "results are not those of rows of neighbouring elements";
    return l->row > LONGEST ? "rows have more than 1024 elements" : NULL;
}

static const char *unsuited_in_short_rows(const ndr_op_case *of)
{
    enum { SHORTEST = 4, MANY = 256 };
    const ndr_map_reduce_request *r = of->request;
    const ndr_device_info *device = &of->caps->info;
    if (ndr_has_vectors(of->caps)) return "the device is a CPU whose items have vector registers";
    if (ndr_min_size(device->max_group_size, device->max_local_size[2]) < SHORT_ROWS_GROUP)
        return "the device has no groups of 256 items";
    return r->layout.row < SHORTEST || divide_in_short_rows(r).blocks < MANY ? "there are few rows, or too short ones"
                                                                             : NULL;
}

/* ---- both ---- */

enum { CHUNKS, CHUNKS_TWO_LAUNCHES, GROUPS, SHORT_ROWS };

static division divide(const ndr_op_case *of)
{
    switch (of->variant->form) {
    case CHUNKS:
    case CHUNKS_TWO_LAUNCHES: return divide_in_chunks(of->request);
    case SHORT_ROWS: return divide_in_short_rows(of->request);
    default: return divide_in_groups(of->caps, of->request);
    }
}

static void plan(const ndr_op_case *of, ndr_op_plan *plan)
{
    const ndr_map_reduce_request *r = of->request;
    const division d = divide(of);
    const size_t partials = d.parts * r->layout.kept;
    *plan = (ndr_op_plan){ .range = ndr_nd_range_1d(d.blocks * d.parts * d.group, d.group),
                           .local_bytes = of->variant->form == GROUPS ? d.group * r->value_bytes : 0,
                           .workspace_bytes = d.parts > 1 ? NDR_WORKSPACE_HEAD_BYTES + partials * r->value_bytes : 0 };
    if (of->variant->form == SHORT_ROWS) {
        plan->local_bytes = d.group * (d.lanes + 2) * r->value_bytes;
        snprintf(plan->options, sizeof plan->options, "-DGROUP=%zu -DITEMS=%zu -DLENGTH=%zu", d.group, d.items,
                 d.lanes);
        return;
    }
    snprintf(plan->options, sizeof plan->options,
             "-DIN_ONE_LAUNCH=%d -DALONG_REDUCED=%d -DIS_NARROW=%d -DLANES=%zu -DGROUP=%zu -DITEMS=%zu "
             "-DPART_GROUP=%zu -DPART_ITEMS=%zu%s%s%s",
             of->variant->form == CHUNKS, r->layout.is_along_reduced, d.is_narrow, d.lanes, d.group, d.items,
             d.part_group, d.part_items,
             ndr_has_segments(r->desc) ? " -DOFFSETS" : "",
             of->caps->info.type == NDR_DEVICE_TYPE_CPU ? " -DFETCH_AHEAD=1" : "", ndr_op_registers(of->caps));
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
        ndr_arg_of(job->of.variant->form == CHUNKS ? ndr_op_take_slot(job) : 0), /* of chunks only */
    };
    ndr_names_args args;
    ndr_arg all[NDR_NAMES_ARGS + NDR_COUNT_OF(more)];
    const size_t count = ndr_names_fill_args(&r->canonical, &args);
    memcpy(all, args.list, count * sizeof *all);
    memcpy(all + count, more, sizeof more);
    const bool is_chunks = job->of.variant->form == CHUNKS || job->of.variant->form == CHUNKS_TWO_LAUNCHES;
    const size_t without_slot = count + NDR_COUNT_OF(more) - 1;
    NDR_TRY(ndr_op_launch_v(job, job->kernel, &job->plan.range, all, without_slot + (is_chunks ? 1 : 0)));
    if (!job->others[0]) return NDR_OK;
    const size_t results = is_chunks ? d.lanes : d.part_group / d.part_items, group = is_chunks ? 1 : d.part_group;
    const ndr_nd_range second = ndr_nd_range_1d(ndr_ceil_div(l->kept, results) * group, group);
    return ndr_op_launch_v(job, job->others[0], &second, all, without_slot);
}

static const ndr_op_variant chunks = {
    .name = "chunks",
    .file = "map_reduce/chunks.cl",
    .kernel = "map_reduce_chunks",
    .needs = NDR_NEEDS_DEVICE_ORDER,
    .form = CHUNKS,
    .unsuited = ndr_op_lacks_vectors,
    .write = ndr_map_reduce_write,
    .plan = plan,
    .launch = launch,
};
static const ndr_op_variant chunks_two_launches = {
    .name = "chunks_two_launches",
    .file = "map_reduce/chunks.cl",
    .kernel = "map_reduce_chunks",
    .others = { "map_reduce_chunk_parts" },
    .form = CHUNKS_TWO_LAUNCHES,
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
static const ndr_op_variant short_rows = {
    .name = "short_rows",
    .file = "map_reduce/short_rows.cl",
    .kernel = "map_reduce_short_rows",
    .form = SHORT_ROWS,
    .cannot = cannot_in_short_rows,
    .unsuited = unsuited_in_short_rows,
    .write = ndr_map_reduce_write,
    .plan = plan,
    .launch = launch,
};
static const ndr_op_variant *const variants[] = { &chunks, &chunks_two_launches, &short_rows, &groups };

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
