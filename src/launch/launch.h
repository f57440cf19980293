/* launch.h - the fourth floor: launches a kernel over a range with arguments. */
#ifndef NDR_LAUNCH_H
#define NDR_LAUNCH_H

#include "device/event.h"
#include "device/order.h"
#include "program/program.h"

#include "ndr/detail/workspace.h"

/* ---- range.c ---- */

/* Limits and requirements of a range: plain data from kernel and device. Sizes are in libndr's order, of a 3-D
 * range. */
typedef struct ndr_range_rules {
    const char *kernel; /* its name, for sentences */
    ndr_form form;
    unsigned dims;            /* of the kernel; 0 for any */
    bool is_guarded;          /* the launch can be rounded up */
    size_t max_group_size;    /* of the kernel */
    size_t max_local_size[3]; /* of the device */
    size_t required[3];       /* reqd_work_group_size; zeros where there is none */
    unsigned address_bits;
} ndr_range_rules;

ndr_range_rules ndr_range_rules_of(const ndr_kernel *kernel);

/* The part of a range that one OpenCL launch runs: all its groups have the same size. */
typedef struct ndr_piece {
    size_t global[3], local[3], offset[3];
    size_t first_group[3];
} ndr_piece;

/* A checked and completed range: one piece if its sizes divide evenly or are rounded up, up to eight if they do not,
 * none if it is empty. */
typedef struct ndr_range_plan {
    unsigned dims;
    size_t global_range[3], offset[3], group_range[3], local_range[3];
    size_t largest_group; /* work-items */
    unsigned piece_count;
    ndr_piece pieces[NDR_MAX_PIECES];
} ndr_range_plan;

/* Pure: needs no device. */
ndr_status ndr_range_make_plan(const ndr_nd_range *range, const ndr_range_rules *rules, ndr_range_plan *plan);

/* ---- args.c ---- */

/* Pure: the type of a parameter in sentences. The driver calls that of a reducer "ndr_reducer_MIN_int*". */
const char *ndr_param_shown_type(const ndr_param *param);

/* Enough of an argument to detect that the next one is the same. */
typedef struct ndr_arg_mark {
    ndr_arg_kind kind; /* NDR_ARG_NONE: equal to no other */
    uint64_t value;    /* the bits of a number, the identity of a buffer, the bytes of local memory */
} ndr_arg_mark;

/* One argument for clSetKernelArg(). */
typedef struct ndr_bound {
    ndr_arg_mark set; /* set in OpenCL's kernel by an earlier launch */
    ndr_arg_mark given;
    bool had_shared; /* the last argument that was set was a pointer into shared memory */
    bool is_set; /* `given` is set already; the members below are not used */
    size_t size_bytes;
    const void *value; /* in the ndr_arg, its buffer, or `copy`; NULL for local memory; the pointer into `shared` */
    const ndr_shared *shared; /* NULL: another argument */
    union {
        uint8_t u8;
        uint16_t u16, halves[16];
        uint32_t u32;
        uint64_t u64, three[4];
    } copy; /* an integer or a half in the parameter's width; a vector of halves or of three */
} ndr_bound;

/* Check each argument against the kernel's signature and convert it to an element of `bound`, which has room for
 * info.arg_count. Nothing is set yet. `*local_bytes` is the sum of their local memory. */
ndr_status ndr_args_check(const ndr_kernel *kernel, const ndr_arg *args, size_t arg_count, ndr_bound *bound,
                          size_t *local_bytes);

/* The same for one argument; its local memory is added to `*local_bytes`. */
ndr_status ndr_args_check_one(const ndr_kernel *kernel, size_t index, const ndr_arg *arg, ndr_bound *bound,
                              size_t *local_bytes);

/* After the driver has refused an argument or a launch with `status`: if the arguments exceed the device's limit, say so.
 * Most drivers accept more than they promise, so nothing is refused before. Returns the status. */
ndr_status ndr_args_fail_for_bytes(const ndr_kernel *kernel, ndr_status status) __attribute__((cold));

/* Whether as.buffer is a buffer of a parameter, or NULL. as.reducer begins with it, too. */
static inline bool ndr_arg_has_buffer(const ndr_arg *arg)
{
    return arg->kind == NDR_ARG_BUFFER || arg->kind == NDR_ARG_REDUCER;
}

static inline bool ndr_arg_has_shared(const ndr_arg *arg)
{
    return arg->kind == NDR_ARG_SHARED || arg->kind == NDR_ARG_REACHED;
}

/* Checked arguments: refuse memory that the device cannot use now, because the host has it mapped. The launch on
 * `queue` comes next. */
ndr_status ndr_args_check_use(const ndr_kernel *kernel, const ndr_queue *queue, const ndr_arg *args, size_t arg_count);

/* How many of the last arguments fill no parameter, and their checks. */
size_t ndr_args_count_reached(const ndr_arg *args, size_t arg_count);
ndr_status ndr_args_check_reached(const ndr_kernel *kernel, const ndr_arg *reached, size_t count);

/* Before the arguments are checked: whether one is given where OpenCL's kernel had a pointer into shared memory, and is
 * none itself. NVIDIA's driver 580 refuses to launch a kernel that gets a buffer there. */
bool ndr_args_need_new_kernel(const ndr_bound *bound, const ndr_arg *args, size_t arg_count);

/* Set the arguments that are not set already in `cl`, which is `kernel`'s own or a clone of it. No other thread uses
 * `cl`. */
ndr_status ndr_args_bind(const ndr_kernel *kernel, cl_kernel cl, ndr_bound *bound, size_t arg_count);
ndr_status ndr_args_bind_one(const ndr_kernel *kernel, cl_kernel cl, size_t index, const ndr_bound *bound);

/* ---- workspace.c ---- */

/* Temporary memory of a queue, used by one operation or launch with reducers after the other. Its head is described in
 * kernels/ndr/detail/workspace.h. One thread borrows it at a time, until its launches are enqueued. A host task of a
 * checked context gets one of its own if the queue's is lent. */
typedef struct ndr_workspace ndr_workspace;

/* Borrow at least `size_bytes`, including the head, whose slots are zeros in a new workspace. If it fails, nothing
 * is borrowed. */
ndr_status ndr_workspace_borrow(ndr_queue *queue, size_t size_bytes, ndr_workspace **workspace);

/* `last` is the event of the borrower's last command, or NULL if there is none: the next borrower's launches wait
 * for it. */
void ndr_workspace_return(ndr_workspace *workspace, ndr_event *last);

ndr_buffer *ndr_workspace_buffer(const ndr_workspace *workspace);

/* The event that the borrower's first launch must wait for; NULL: none. */
ndr_event *ndr_workspace_busy_until(const ndr_workspace *workspace);

/* The next slot, for one launch. That launch zeroes the slot after it. */
unsigned ndr_workspace_take_slot(ndr_workspace *workspace);

/* A number for marks: not 0, and not among the last 2^32 - 2 ones. */
unsigned ndr_workspace_take_number(ndr_workspace *workspace);

/* ---- launch.c ---- */

/* What a caller wants launched. */
typedef struct ndr_launch_request {
    const ndr_order *order;
    ndr_kernel *kernel;
    const ndr_nd_range *range;
    const ndr_arg *args;
    size_t arg_count;
    ndr_prepared *prepared;   /* what to run; NULL: it is not prepared */
    ndr_workspace *workspace; /* what a launch with reducers has borrowed; NULL: nothing yet */
} ndr_launch_request;

/* A piece of a plan for OpenCL: sizes in its order, and the launch record. */
typedef struct ndr_cl_piece {
    size_t offset[3], global[3], local[3];
    ndr_reduction_record record; /* only `of`, if the kernel has no reducers */
} ndr_cl_piece;

/* A launch with its plan, and the arguments set in OpenCL's kernel. A kernel keeps its last one, so that the next
 * launch plans and sets only what differs; a prepared launch has its own. */
typedef struct ndr_planned {
    ndr_nd_range range; /* dims 0: none */
    ndr_range_plan plan;
    ndr_cl_piece pieces[NDR_MAX_PIECES];
    const ndr_reduction_record *record; /* set in OpenCL's kernel, one of `pieces`; NULL: none */
    size_t scratch_bytes;               /* set in OpenCL's kernel; 0: none */
    ndr_bound bound[];
} ndr_planned;

/* The state of one launch. */
typedef struct ndr_launch_state {
    ndr_queue *queue;
    ndr_kernel *kernel;
    const cl_kernel *clones;  /* one for each piece, with all its arguments; NULL: the kernel's own is used */
    ndr_planned *planned;     /* used with its owner's lock held */
    ndr_workspace *workspace; /* of a kernel with reducers, otherwise NULL */
    size_t arg_count;
    size_t scratch_bytes; /* of the hidden local argument; 0 where the kernel has none */
    const ndr_order *order;
} ndr_launch_state;

/* The kernel in which launches set arguments. The caller holds the kernel's lock. */
cl_kernel ndr_launch_kernel_of(const ndr_kernel *kernel);

/* The state of a launch, without `planned` and `clones`. */
ndr_launch_state ndr_launch_state_of(const ndr_launch_request *request);

/* The steps of a launch, with the lock of `planned` held. */
ndr_status ndr_launch_plan(ndr_launch_state *l, const ndr_launch_request *request);
ndr_status ndr_launch_enqueue(const ndr_launch_state *l, ndr_event **event);

/* Set all arguments of a planned piece in its clone. */
ndr_status ndr_launch_bind_clone(const ndr_launch_state *l, unsigned piece);

/* Refuse more local memory, in arguments and for group functions, than the device has. */
ndr_status ndr_launch_check_local(const ndr_kernel *kernel, size_t arguments, size_t scratch);

/* ndr_launch_v() or ndr_prepared_run(), checked if launches are. */
ndr_status ndr_launch_in(const ndr_launch_request *request, ndr_event **event);

/* The same without NDR_CHECK. Not inlined: GCC would split it, which costs 13 instructions a launch. */
ndr_status ndr_launch_plain(const ndr_launch_request *request, ndr_event **event) __attribute__((noinline));

/* ---- prepared.c ---- */

/* ndr_launch_plain() of objects that are checked. `kept` takes the arguments that it runs with, with a reference to
 * each object; NULL: nothing. */
ndr_status ndr_prepared_run_plain(const ndr_launch_request *request, ndr_arg *kept, ndr_event **event);

/* Return the reference of an argument in `kept`. */
void ndr_prepared_release_object(const ndr_arg *arg);

/* ---- reduction.c ---- */

/* Pure: divide the planned range of a kernel with reducers into chunks, for one launch or two. */
void ndr_reduction_divide(const ndr_kernel *kernel, const ndr_nd_range *range, ndr_planned *planned);

/* Refuse reducers with the same destination. All arguments are checked. */
ndr_status ndr_reduction_check(const ndr_kernel *kernel, const ndr_arg *args);

/* The same for the reducer `arg` in place of args[index]. */
ndr_status ndr_reduction_check_one(const ndr_kernel *kernel, const ndr_arg *args, size_t index, const ndr_arg *arg);

/* Set the hidden arguments but the record, in each clone if there are clones. */
ndr_status ndr_reduction_bind(const ndr_launch_state *l, const ndr_arg *args);

/* Borrow a workspace and launch with it, checked if launches are. */
ndr_status ndr_reduction_launch(const ndr_launch_request *request, ndr_event **event);

/* ---- checked.c ---- */

/* Checks the handles first. In a checked context it waits for the launch, and returns NDR_OUT_OF_BOUNDS if the launch
 * wrote outside a buffer. */
ndr_status ndr_launch_checked(const ndr_launch_request *request, ndr_event **event) __attribute__((cold));

/* Refuse arguments that have a handle which is not live. */
ndr_status ndr_launch_check_handles(const ndr_kernel *kernel, const ndr_arg *args, size_t arg_count);
ndr_status ndr_launch_check_handle(const ndr_kernel *kernel, size_t index, const ndr_arg *arg);

#endif
