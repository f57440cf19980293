/* recursive.c - the textbook recursion: each item loads one element; launched until one group is left. */
#include "ops/reduce/reduce.h"

typedef struct sizes {
    size_t group_size, elements; /* of all levels but the input and the output */
} sizes;

/* Groups of one item would never end: then there are no levels. */
static sizes sizes_for(const ndr_caps *caps, const ndr_reduce_request *request)
{
    enum { PREFERRED_GROUP = 64 };
    sizes s = { ndr_min_size(PREFERRED_GROUP, caps->info.max_group_size), 0 };
    if (s.group_size < 2) return s;
    for (size_t groups = ndr_ceil_div(request->input.cols, s.group_size); groups > 1;
         groups = ndr_ceil_div(groups, s.group_size))
        s.elements += groups;
    return s;
}

/* Over `count` elements, none included. */
static ndr_nd_range range_over(size_t count, size_t group_size)
{
    ndr_nd_range range = ndr_nd_range_1d(count ? count : 1, group_size);
    range.edge = NDR_EDGE_ROUND_UP;
    return range;
}

static void plan(const ndr_op_case *of, ndr_op_plan *plan)
{
    const ndr_reduce_request *r = of->request;
    const sizes s = sizes_for(of->caps, r);
    *plan = (ndr_op_plan){
        .range = range_over(r->input.cols, s.group_size),
        .local_bytes = s.group_size * r->input.element_bytes,
        .workspace_bytes = s.elements ? ndr_reduce_workspace_bytes(r, s.elements) : 0,
    };
    ndr_reduce_print_options(r, "", plan->options);
}

static ndr_status fold_groups(ndr_op_job *job, const ndr_operand *input, const ndr_operand *output)
{
    const size_t group_size = job->plan.range.local.size[0];
    const ndr_dtype dtype = ((const ndr_reduce_request *)job->of.request)->dtype;
    return ndr_op_launch(job, job->kernel, range_over(input->cols, group_size), ndr_operand_arg(input), input->offset,
                         input->cols, output->buffer, output->offset,
                         ndr_arg_local_(dtype, input->element_bytes, 1, group_size, 1, 1));
}

/* Each level is stored behind the previous one in the workspace. The last one is the output. */
static ndr_status launch(ndr_op_job *job)
{
    const ndr_reduce_request *r = job->of.request;
    const size_t group_size = job->plan.range.local.size[0];
    NDR_REQUIRE_AS(NDR_UNSUPPORTED, group_size > 1 || r->input.cols <= 1,
                   "ndr_reduce: device \"%s\" has groups of one item, which the recursive method cannot use; use "
                   "NDR_REDUCE_TREE",
                   job->of.caps->info.name);
    ndr_operand input = r->input;
    size_t free_from = NDR_WORKSPACE_HEAD_BYTES / r->input.element_bytes;
    while (input.cols > group_size) {
        const ndr_operand level = ndr_reduce_operand("partials", ndr_workspace_buffer(job->workspace), free_from,
                                                     ndr_ceil_div(input.cols, group_size), r->dtype);
        NDR_TRY(fold_groups(job, &input, &level));
        free_from += level.cols;
        input = level;
    }
    return fold_groups(job, &input, &r->output);
}

NDR_REDUCE_VARIANT(recursive, NDR_REDUCE_RECURSIVE, "reduce_recursive", NULL, 0, .plan = plan, .launch = launch);
