/* tree_chunks.c - the tree on CPUs in one launch: the last group to finish combines the partials of all groups. */
#include "ops/reduce/reduce.h"

enum { MAX_CHUNKS = 1 << 16 /* a partial of each: half a MiB at most */ };

static const char *cannot(const void *request) { return ndr_reduce_method_mismatch(request, NDR_REDUCE_TREE); }

static void plan(const ndr_caps *caps, const void *request, ndr_op_plan *plan)
{
    *plan = (ndr_op_plan){ .file = "reduce/tree_chunks.cl", .kernel = "reduce_chunks" };
    ndr_reduce_plan_chunks(caps, request, MAX_CHUNKS, 1, plan);
}

static ndr_status run(ndr_op_job *job) { return ndr_reduce_run_chunks(job, MAX_CHUNKS); }

const ndr_op_row ndr_reduce_tree_chunks = {
    .name = "tree_chunks",
    .needs = NDR_NEEDS_DEVICE_ORDER,
    .cannot = cannot,
    .unsuited = ndr_op_lacks_vectors,
    .plan = plan,
    .run = run,
};
