/* chunks.c - the sorts on CPUs: groups of one item, which take a chunk each. */
#include "ops/sort/sort.h"

/* ---- many chunks ---- */

typedef struct sizes {
    size_t chunk, count; /* elements; chunks */
} sizes;

/* A few chunks for each compute unit, because some take longer; each group reads the counts of all. */
size_t ndr_sort_chunk_for(const ndr_caps *caps, size_t count)
{
    enum { MIN_CHUNK = 1 << 13, PER_UNIT = 4, MAX_CHUNKS = 256 };
    const size_t most = ndr_clamp_size((size_t)caps->info.compute_units * PER_UNIT, 1, MAX_CHUNKS);
    return ndr_max_size(ndr_ceil_div(count, most), MIN_CHUNK);
}

static sizes sizes_for(const ndr_caps *caps, const ndr_sort_request *request)
{
    const size_t chunk = ndr_sort_chunk_for(caps, request->count);
    return (sizes){ chunk, ndr_max_size(ndr_ceil_div(request->count, chunk), 1) };
}

static size_t counts_for(const ndr_caps *caps, const ndr_sort_request *request)
{
    return sizes_for(caps, request).count * NDR_SORT_DIGITS;
}

static void plan(const ndr_op_case *of, ndr_op_plan *plan)
{
    *plan = (ndr_op_plan){ .range = ndr_nd_range_1d(sizes_for(of->caps, of->request).count, 1),
                           .workspace_bytes = ndr_sort_workspace_bytes(of->request, counts_for(of->caps, of->request)) };
    ndr_sort_print_options(of->request, "", plan->options);
}

static ndr_status run_pass(ndr_op_job *job, const ndr_sort_pass *pass)
{
    const ndr_sort_request *r = job->of.request;
    const size_t chunk = sizes_for(job->of.caps, r).chunk, counts = NDR_SORT_COUNTS_OFFSET;
    NDR_TRY(ndr_op_launch(job, job->others[0], job->plan.range, ndr_operand_arg(&pass->from.keys),
                          pass->from.keys.offset, r->count, chunk, ndr_sort_flip_arg(r), pass->shift, pass->bits,
                          ndr_op_workspace_arg(job), counts));
    return ndr_op_launch(job, job->kernel, job->plan.range, NDR_SORT_ARGS(pass->from), NDR_SORT_ARGS(pass->to),
                         ndr_sort_words_arg(r), r->count, chunk, ndr_sort_flip_arg(r), pass->shift, pass->bits,
                         ndr_op_workspace_arg(job), counts);
}

static ndr_status launch(ndr_op_job *job)
{
    return ndr_sort_run_passes(job, counts_for(job->of.caps, job->of.request), run_pass);
}

NDR_OP_VARIANT(sort, chunks, "sort_chunks", 0, .others = { "sort_count_chunks" }, .unsuited = ndr_op_lacks_vectors,
               .plan = plan, .launch = launch);

/* ---- one chunk ---- */

static const char *unsuited_alone(const ndr_op_case *of)
{
    enum { MAX_COUNT = 1 << 14 };
    const ndr_sort_request *r = of->request;
    const char *reason = ndr_op_lacks_vectors(of);
    return reason || r->count <= MAX_COUNT ? reason : "several cores are faster";
}

static void plan_alone(const ndr_op_case *of, ndr_op_plan *plan)
{
    *plan = (ndr_op_plan){ .range = ndr_nd_range_1d(1, 1),
                           .workspace_bytes = ndr_sort_workspace_bytes(of->request, 0) };
    ndr_sort_print_options(of->request, "", plan->options);
}

static ndr_status launch_alone(ndr_op_job *job)
{
    const ndr_sort_request *r = job->of.request;
    const ndr_sort_elements temp = ndr_sort_temp(job, 0);
    return ndr_op_launch(job, job->kernel, job->plan.range, NDR_SORT_ARGS(r->input), NDR_SORT_ARGS(r->output),
                         ndr_sort_words_arg(r), r->count, ndr_sort_flip_arg(r), r->begin_bit, r->bits,
                         ndr_sort_passes(r), NDR_SORT_ARGS(temp));
}

NDR_OP_VARIANT(sort, one_chunk, "sort_one_chunk", 0, .unsuited = unsuited_alone, .plan = plan_alone,
               .launch = launch_alone);
