/* atomic_chunks_two_launches.c - the atomic method on CPUs that do not order memory between groups: a second launch
 * stores the combined value. */
#include "ops/reduce/reduce.h"

static ndr_status run(ndr_op_job *job) { return ndr_reduce_run_and_take(job, ndr_reduce_launch_chunks); }

const ndr_op_row ndr_reduce_atomic_chunks_two_launches = {
    .name = "atomic_chunks_two_launches",
    .file = "reduce/atomic_chunks_two_launches.cl",
    .kernel = "reduce_chunks_to_cell",
    .cannot = ndr_reduce_is_no_atomic,
    .unsuited = ndr_op_lacks_vectors,
    .plan = ndr_reduce_plan_chunks,
    .run = run,
};
