/* rows.c - the implementations of ndr_histogram(): tables of counts, which the last group or a second kernel adds up. */
#include "ops/histogram/histogram.h"

#include <stdio.h>

/* A launch takes so many elements that no count of a table wraps; a multiple of all numbers of channels. Fewer where the
 * fault loops_end_early would end the loops of an item. */
static size_t most_elements(const ndr_caps *caps)
{
    enum { MOST = 12 << 27, MOST_OF_SHORT_LOOPS = 12 << 20 };
    return ndr_quirk_is_on(caps->quirks, NDR_QUIRK_LOOPS_END_EARLY) ? MOST_OF_SHORT_LOOPS : MOST;
}

static void print_options(const ndr_histogram_request *r, const char *more, char options[NDR_OPTIONS_SIZE])
{
    snprintf(options, NDR_OPTIONS_SIZE, "-DT=%s -DOUT=%s -DW=%s -DWEIGHTED=%d -DBINS=%d -DCHANNELS=%u %s",
             ndr_dtype_describe(r->dtype)->cl_name, ndr_dtype_describe(r->output_dtype)->cl_name,
             r->output_dtype == NDR_DTYPE_F32 ? "float" : "uint", r->has_weights, (int)r->bins, r->channels, more);
}

static size_t workspace_for(const ndr_histogram_request *r, size_t tables)
{
    return NDR_WORKSPACE_HEAD_BYTES + tables * ndr_histogram_table(r) * sizeof(cl_uint);
}

/* The three numbers of the bins: ndr_arg_of() of the types that bins.clh gives them. */
static void print_bins(const ndr_histogram_request *r, ndr_arg numbers[3])
{
    if (r->bins == NDR_BINS_OF_REALS && r->dtype == NDR_DTYPE_F32) {
        const float lower = (float)r->lower, upper = (float)r->upper, width = upper - lower; /* each step is rounded */
        const float scale = (float)r->bin_count / width;
        numbers[0] = ndr_arg_of(lower);
        numbers[1] = ndr_arg_of(upper);
        numbers[2] = ndr_arg_of(scale);
    } else if (r->bins == NDR_BINS_OF_REALS) {
        const double width = r->upper - r->lower, scale = r->bin_count / width;
        numbers[0] = ndr_arg_of(r->lower);
        numbers[1] = ndr_arg_of(r->upper);
        numbers[2] = ndr_arg_of(scale);
    } else {
        numbers[0] = ndr_arg_of(r->first);
        numbers[1] = ndr_arg_of(r->limit);
        numbers[2] = ndr_arg_of(r->step);
    }
}

/* Of one launch. */
typedef struct part {
    const ndr_histogram_request *r;
    ndr_nd_range range;
    size_t begin, count; /* elements */
    size_t tables;
    ndr_arg numbers[3]; /* of the bins */
} part;

static ndr_status fold(ndr_op_job *job, const part *p)
{
    const ndr_histogram_request *r = p->r;
    return ndr_op_launch(job, job->others[0], ndr_range_1d(r->output.cols), r->bin_count, ndr_op_workspace_arg(job),
                         (cl_uint)p->tables, r->output.buffer, r->output.offset, (cl_uint)(r->adds || p->begin > 0));
}

/* By groups: more bins would leave tables far apart in memory to one item. */
static ndr_status fold_by_groups(ndr_op_job *job, const part *p)
{
    enum { COLUMNS = 8 };
    const ndr_histogram_request *r = p->r;
    const size_t most = ndr_max_size(job->others[0]->info.max_group_size, 1);
    const size_t group = ndr_min_size(p->range.local.size[0], most), columns = ndr_min_size(group, COLUMNS);
    const ndr_nd_range range = ndr_nd_range_1d(ndr_ceil_div(r->output.cols, columns) * group, group);
    return ndr_op_launch(job, job->others[0], range, r->bin_count, ndr_op_workspace_arg(job), (cl_uint)p->tables,
                         r->output.buffer, r->output.offset, (cl_uint)(r->adds || p->begin > 0), (cl_uint)columns,
                         ndr_arg_local_(r->output_dtype, r->output.element_bytes, 1, group, 1, 1));
}

/* Count and add up, as often as there are elements; once for none. `add_up` NULL: `count` does it. */
static ndr_status launch_parts(ndr_op_job *job, ndr_status (*count)(ndr_op_job *job, part *p),
                               ndr_status (*add_up)(ndr_op_job *job, const part *p))
{
    part p = { .r = job->of.request };
    const size_t elements = p.r->input.cols, most = most_elements(job->of.caps);
    print_bins(p.r, p.numbers);
    do {
        p.count = ndr_min_size(elements - p.begin, most);
        NDR_TRY(count(job, &p));
        if (add_up) NDR_TRY(add_up(job, &p));
        p.begin += p.count;
    } while (p.begin < elements);
    return NDR_OK;
}

/* ---- one item for each chunk ---- */

enum { TABLES_OF_CHUNK = 4, MOST_BINS_FOR_TABLES = 1 << 12 };

/* More tables of many bins leave the cache. */
static size_t tables_of_chunk(const ndr_histogram_request *r)
{
    return ndr_histogram_table(r) <= MOST_BINS_FOR_TABLES ? TABLES_OF_CHUNK : 1;
}

/* Chunks are so long that clearing and adding up their tables takes a small part of the time. */
static size_t chunk_count(const ndr_histogram_request *r, size_t elements)
{
    enum { MIN_CHUNK = 1 << 15, MIN_FOR_ENTRY = 16, MOST_CHUNKS = 64 };
    const size_t least = ndr_max_size(MIN_CHUNK, MIN_FOR_ENTRY * ndr_histogram_table(r) * tables_of_chunk(r));
    return ndr_clamp_size(elements / least, 1, MOST_CHUNKS);
}

/* One item adds up few bins sooner than a second launch begins. */
static bool takes_one_launch(const ndr_op_case *of)
{
    return of->caps->orders_device && ndr_histogram_table(of->request) <= MOST_BINS_FOR_TABLES;
}

static void plan_chunks(const ndr_op_case *of, ndr_op_plan *plan)
{
    const ndr_histogram_request *r = of->request;
    const size_t tables = tables_of_chunk(r);
    const size_t chunks = chunk_count(r, ndr_min_size(r->input.cols, most_elements(of->caps)));
    char text[48];
    *plan = (ndr_op_plan){ .range = ndr_nd_range_1d(chunks, 1),
                           .workspace_bytes = workspace_for(r, chunks * tables),
                           .leaves_others = takes_one_launch(of) };
    snprintf(text, sizeof text, "-DTABLES=%zu -DIN_ONE_LAUNCH=%d", tables, takes_one_launch(of));
    print_options(r, text, plan->options);
}

static ndr_status count_chunks(ndr_op_job *job, part *p)
{
    const ndr_histogram_request *r = p->r;
    const size_t chunks = chunk_count(r, p->count), step = 16 * r->channels;
    const size_t chunk = ndr_max_size(ndr_ceil_div(ndr_ceil_div(p->count, chunks), step), 1) * step;
    p->tables = ndr_max_size(ndr_ceil_div(p->count, chunk), 1);
    const ndr_nd_range range = ndr_nd_range_1d(p->tables, 1);
    p->tables *= tables_of_chunk(r);
    return ndr_op_launch(job, job->kernel, range, ndr_operand_arg(&r->input), r->input.offset + p->begin, p->count,
                         chunk, r->bin_count, p->numbers[0], p->numbers[1], p->numbers[2], ndr_operand_arg(&r->edges),
                         r->edges.offset, ndr_operand_arg(&r->weights), r->weights.offset + p->begin,
                         ndr_op_workspace_arg(job), ndr_op_take_slot(job), r->output.buffer, r->output.offset,
                         (cl_uint)(r->adds || p->begin > 0));
}

static ndr_status launch_chunks(ndr_op_job *job)
{
    return launch_parts(job, count_chunks, takes_one_launch(&job->of) ? NULL : fold);
}

NDR_OP_VARIANT(histogram, chunks, "histogram_chunks", 0, .others = { "histogram_fold" },
               .unsuited = ndr_op_lacks_vectors, .plan = plan_chunks, .launch = launch_chunks);

/* ---- groups with a table in local memory ---- */

enum { PREFERRED_GROUP = 256, MOST_ENTRIES = 1 << 22 };

static size_t lanes_of(const ndr_histogram_request *r) { return 16 / r->input.element_bytes; }

static size_t table_bytes(const ndr_histogram_request *r) { return ndr_histogram_table(r) * sizeof(cl_uint); }

static ndr_nd_range groups_for(const ndr_caps *caps, const ndr_histogram_request *r, size_t elements)
{
    enum { ITEMS_OF_A_WAVE = 792 * PREFERRED_GROUP, LEAST_FOR_ITEM = 8 };
    const size_t limit = ndr_min_size(caps->info.max_group_size, caps->info.max_local_size[2]);
    size_t size = PREFERRED_GROUP;
    while (size > limit) size /= 2;
    const size_t most = ndr_clamp_size(MOST_ENTRIES / ndr_histogram_table(r), 1, ITEMS_OF_A_WAVE / size);
    const size_t groups = ndr_clamp_size(elements / (size * lanes_of(r) * LEAST_FOR_ITEM), 1, most);
    return ndr_nd_range_1d(groups * size, size);
}

static void plan_groups(const ndr_op_case *of, ndr_op_plan *plan)
{
    const ndr_histogram_request *r = of->request;
    const ndr_nd_range range = groups_for(of->caps, r, ndr_min_size(r->input.cols, most_elements(of->caps)));
    char text[32];
    *plan = (ndr_op_plan){ .range = range,
                           .local_bytes = table_bytes(r),
                           .workspace_bytes = workspace_for(r, range.global.size[0] / range.local.size[0]) };
    snprintf(text, sizeof text, "-DLANES=%zu", lanes_of(r));
    print_options(r, text, plan->options);
}

/* The whole range also for the last part: then its tables are those of the plan. */
static ndr_status count_groups(ndr_op_job *job, part *p)
{
    const ndr_histogram_request *r = p->r;
    const ndr_nd_range range = job->plan.range;
    const ndr_dtype dtype = r->output_dtype == NDR_DTYPE_F32 ? NDR_DTYPE_F32 : NDR_DTYPE_U32;
    p->range = range;
    p->tables = range.global.size[0] / range.local.size[0];
    return ndr_op_launch(job, job->kernel, range, ndr_operand_arg(&r->input), r->input.offset + p->begin, p->count,
                         r->bin_count, p->numbers[0], p->numbers[1], p->numbers[2], ndr_operand_arg(&r->edges),
                         r->edges.offset, ndr_operand_arg(&r->weights), r->weights.offset + p->begin,
                         ndr_op_workspace_arg(job),
                         ndr_arg_local_(dtype, sizeof(cl_uint), 1, ndr_histogram_table(r), 1, 1));
}

static ndr_status launch_groups(ndr_op_job *job) { return launch_parts(job, count_groups, fold_by_groups); }

static const char *has_large_table(const ndr_op_case *of)
{
    return table_bytes(of->request) <= of->caps->info.local_memory_bytes ? NULL : "local memory holds fewer bins";
}

NDR_OP_VARIANT(histogram, groups, "histogram_groups", 0, .others = { "histogram_fold_groups" },
               .unsuited = has_large_table, .plan = plan_groups, .launch = launch_groups);

/* ---- elements of 8 bits: a table with copies ---- */

enum { VALUES = 256, COPIES = 32 }; /* as in kernels/histogram/bytes.cl */

/* Few groups for few elements. */
static ndr_nd_range bytes_for(const ndr_caps *caps, size_t elements)
{
    enum { BYTES_GROUP = 512, OF_A_UNIT = 3, LEAST_FOR_ITEM = 64 };
    const size_t limit = ndr_min_size(caps->info.max_group_size, caps->info.max_local_size[2]);
    const size_t most = OF_A_UNIT * ndr_max_size(caps->info.compute_units, 1);
    size_t group = BYTES_GROUP;
    while (group > limit && group > 1) group /= 2;
    return ndr_nd_range_1d(ndr_clamp_size(elements / (group * LEAST_FOR_ITEM), 1, most) * group, group);
}

static void plan_bytes(const ndr_op_case *of, ndr_op_plan *plan)
{
    const ndr_histogram_request *r = of->request;
    const ndr_nd_range range = bytes_for(of->caps, ndr_min_size(r->input.cols, most_elements(of->caps)));
    const size_t group = range.local.size[0];
    char text[32];
    *plan = (ndr_op_plan){ .range = range,
                           .local_bytes = VALUES * COPIES * sizeof(cl_uint),
                           .workspace_bytes = workspace_for(r, range.global.size[0] / group) };
    snprintf(text, sizeof text, "-DGROUP=%zu", group);
    print_options(r, text, plan->options);
}

static ndr_status count_bytes(ndr_op_job *job, part *p)
{
    const ndr_histogram_request *r = p->r;
    p->range = job->plan.range;
    p->tables = p->range.global.size[0] / p->range.local.size[0];
    return ndr_op_launch(job, job->kernel, p->range, ndr_operand_arg(&r->input), r->input.offset + p->begin, p->count,
                         r->bin_count, p->numbers[0], p->numbers[1], p->numbers[2], ndr_operand_arg(&r->edges),
                         r->edges.offset, ndr_op_workspace_arg(job),
                         ndr_arg_local_(NDR_DTYPE_U32, sizeof(cl_uint), 1, VALUES * COPIES, 1, 1));
}

static ndr_status launch_bytes(ndr_op_job *job) { return launch_parts(job, count_bytes, fold_by_groups); }

static const char *has_other_values(const ndr_op_case *of)
{
    const ndr_histogram_request *r = of->request;
    if (r->input.element_bytes > 1) return "the elements have more than 8 bits";
    if (r->channels > 1 || r->has_weights || r->output_dtype == NDR_DTYPE_F32)
        return "it counts one channel, without weights";
    return r->bin_count > VALUES ? "there are more bins than values" : NULL;
}

static const char *has_little_local_memory(const ndr_op_case *of)
{
    return of->caps->info.local_memory_bytes < VALUES * COPIES * sizeof(cl_uint) ? "the device has less local memory"
                                                                                 : NULL;
}

NDR_OP_VARIANT(histogram, bytes, "histogram_bytes", 0, .others = { "histogram_fold_groups" },
               .cannot = has_other_values, .unsuited = has_little_local_memory, .plan = plan_bytes,
               .launch = launch_bytes);

/* ---- one table ---- */

static void plan_atomics(const ndr_op_case *of, ndr_op_plan *plan)
{
    enum { MOST_ITEMS = 1 << 20 };
    const ndr_histogram_request *r = of->request;
    *plan = (ndr_op_plan){ .range = { .global = ndr_range_1d(ndr_clamp_size(r->input.cols, 1, MOST_ITEMS)) },
                           .workspace_bytes = workspace_for(r, 1) };
    print_options(r, "", plan->options);
}

static ndr_status count_in_one(ndr_op_job *job, part *p)
{
    const ndr_histogram_request *r = p->r;
    p->tables = 1;
    NDR_TRY(ndr_op_launch(job, job->others[1], ndr_range_1d(ndr_histogram_table(r)), ndr_op_workspace_arg(job)));
    return ndr_op_launch(job, job->kernel, job->plan.range, ndr_operand_arg(&r->input), r->input.offset + p->begin,
                         p->count, r->bin_count, p->numbers[0], p->numbers[1], p->numbers[2],
                         ndr_operand_arg(&r->edges), r->edges.offset, ndr_operand_arg(&r->weights),
                         r->weights.offset + p->begin, ndr_op_workspace_arg(job));
}

static ndr_status launch_atomics(ndr_op_job *job) { return launch_parts(job, count_in_one, fold); }

NDR_OP_VARIANT(histogram, atomics, "histogram_atomics", 0, .others = { "histogram_fold", "histogram_clear" },
               .plan = plan_atomics, .launch = launch_atomics);
