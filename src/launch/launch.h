/* launch.h - the fourth floor: launches a kernel over a range with arguments. */
#ifndef NDR_LAUNCH_H
#define NDR_LAUNCH_H

#include "device/order.h"
#include "launch/args.h"
#include "launch/range.h"
#include "launch/workspace.h"

/* What a caller wants launched. */
typedef struct ndr_launch_request {
    const ndr_order *order;
    ndr_kernel *kernel;
    const ndr_nd_range *range;
    const ndr_arg *args;
    size_t arg_count;
    ndr_prepared *prepared;   /* what to run, with its own arguments; NULL: it is not prepared */
    ndr_workspace *workspace; /* of a kernel with reducers; NULL: none is borrowed yet */
    ndr_arg *kept;            /* gets the arguments, with a reference to each object; NULL: nothing */
} ndr_launch_request;

/* ndr_launch_v(). */
ndr_status ndr_launch_in(const ndr_launch_request *request, ndr_event **event);

/* The same of objects that are checked: borrow a workspace if there are reducers, wait for a turn if launches are
 * checked, and run. */
ndr_status ndr_launch_start(const ndr_launch_request *request, ndr_event **event);

/* The same, whether NDR_DUMP saves launches or not. */
ndr_status ndr_launch_start_unsaved(const ndr_launch_request *request, ndr_event **event);

/* The last step: bind what is not bound, and enqueue. */
ndr_status ndr_launch_run(const ndr_launch_request *request, ndr_event **event);

/* ---- planned launches ---- */

/* A piece of a plan for OpenCL: sizes in its order, and the launch record. */
typedef struct ndr_cl_piece {
    size_t offset[3], global[3], local[3];
    ndr_reduction_record record; /* only `of`, if the kernel has no reducers */
} ndr_cl_piece;

/* A launch with its plan, and the arguments set in OpenCL's kernel. A kernel keeps its last one, so that the next
 * launch plans and sets only what differs; a prepared launch has its own. */
typedef struct ndr_planned {
    ndr_kernel *kernel;
    cl_kernel clones[NDR_MAX_PIECES]; /* of a prepared launch: one for each piece, with all arguments; NULL otherwise */
    ndr_nd_range range;               /* dims 0: none */
    ndr_range_plan plan;
    ndr_cl_piece pieces[NDR_MAX_PIECES];
    const ndr_reduction_record *record; /* set in OpenCL's kernel, one of `pieces`; NULL: none */
    size_t scratch_bytes, scratch_set;  /* of the hidden local argument; 0: none; and what is set in OpenCL's kernel */
    bool has_new;                       /* some arguments are not set in OpenCL's kernel */
    bool had_shared;                    /* an argument was a pointer into shared memory */
    ndr_bound bound[];
} ndr_planned;

ndr_status ndr_planned_new(ndr_kernel *kernel, ndr_planned **planned);

/* Plan the range, and check and convert all arguments. Nothing is set yet. */
ndr_status ndr_planned_fill(ndr_planned *planned, const ndr_nd_range *range, const ndr_arg *args, size_t arg_count);

/* Make the clone of a piece, with all its arguments. */
ndr_status ndr_planned_make_clone(ndr_planned *planned, unsigned piece);

/* Refuse more local memory, in arguments and for group functions, than the device has. */
ndr_status ndr_planned_check_local(const ndr_planned *planned, size_t argument_bytes);

/* The kernel in which launches of this kernel set arguments, with its lock held. */
static inline cl_kernel ndr_launch_kernel_of(const ndr_kernel *kernel)
{
    return kernel->renewed ? kernel->renewed : kernel->cl;
}

#endif
