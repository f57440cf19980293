/* tree_groups_one_launch.c - the tree by groups of many items in one launch: the last group to finish combines the
 * partials of all groups. */
#include "ops/reduce/reduce.h"

/* With one group, tree_groups needs only one launch too, and stores no partials. */
static const char *unsuited(const ndr_caps *caps, const void *request)
{
    return ndr_reduce_groups_for(caps, request).count > 1 ? NULL : "one group combines all elements";
}

static void plan(const ndr_caps *caps, const void *request, ndr_op_plan *plan)
{
    ndr_reduce_plan_groups(caps, request, plan);
    plan->workspace_bytes = ndr_reduce_partials_bytes(request, ndr_reduce_groups_for(caps, request).count);
}

const ndr_op_row ndr_reduce_tree_groups_one_launch = {
    .name = "tree_groups_one_launch",
    .file = "reduce/tree_groups_one_launch.cl",
    .kernel = "reduce_groups",
    .needs = NDR_NEEDS_DEVICE_ORDER,
    .cannot = ndr_reduce_is_no_tree,
    .unsuited = unsuited,
    .plan = plan,
    .run = ndr_reduce_run_groups,
};
