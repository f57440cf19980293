/* launch.h - the fourth floor: launches a kernel over a range with arguments. */
#ifndef NDR_LAUNCH_H
#define NDR_LAUNCH_H

#include "program/program.h"

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

enum { NDR_MAX_PIECES = 8 };

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

/* Enough of an argument to detect that the next one is the same. */
typedef struct ndr_arg_mark {
    ndr_arg_kind kind; /* NDR_ARG_NONE: equal to no other */
    uint64_t value;    /* the bits of a number, the identity of a buffer, the bytes of local memory */
} ndr_arg_mark;

/* One argument for clSetKernelArg(). */
typedef struct ndr_bound {
    ndr_arg_mark set; /* set in OpenCL's kernel by an earlier launch */
    ndr_arg_mark given;
    bool is_set; /* `given` is set already; the members below are not used */
    size_t size_bytes;
    const void *value; /* in the ndr_arg, its buffer, or `integer`; NULL for local memory */
    union {
        uint8_t u8;
        uint16_t u16;
        uint32_t u32;
        uint64_t u64;
    } integer; /* in the parameter's width */
} ndr_bound;

/* Check each argument against the kernel's signature and convert it to an element of `bound`, which has room for
 * info.arg_count. Nothing is set yet. `*local_bytes` is the sum of their local memory. */
ndr_status ndr_args_check(const ndr_kernel *kernel, const ndr_arg *args, size_t arg_count, ndr_bound *bound,
                          size_t *local_bytes);

/* Set the arguments that are not set already. The caller holds the kernel's lock. */
ndr_status ndr_args_bind(const ndr_kernel *kernel, ndr_bound *bound, size_t arg_count);

/* ---- launch.c ---- */

/* ndr_launch_v() with a wait list; NULL: it waits for no event. */
ndr_status ndr_launch_after(ndr_queue *queue, ndr_kernel *kernel, const ndr_nd_range *range, const ndr_arg *args,
                            size_t arg_count, const ndr_wait_list *waits, ndr_event **event);

/* The same without NDR_CHECK. Not inlined: GCC would split it, which costs 13 instructions a launch. */
ndr_status ndr_launch_plain(ndr_queue *queue, ndr_kernel *kernel, const ndr_nd_range *range, const ndr_arg *args,
                            size_t arg_count, const ndr_wait_list *waits, ndr_event **event) __attribute__((noinline));

/* ---- checked.c ---- */

/* The same if any context is checked: checks the handles first. In a checked context it waits for the launch, and
 * returns NDR_OUT_OF_BOUNDS if the launch wrote outside a buffer. */
ndr_status ndr_launch_checked(ndr_queue *queue, ndr_kernel *kernel, const ndr_nd_range *range, const ndr_arg *args,
                              size_t arg_count, const ndr_wait_list *waits, ndr_event **event) __attribute__((cold));

#endif
