/* launch.h - third floor: a kernel, a range and arguments become enqueued work. */
#ifndef NDR_LAUNCH_H
#define NDR_LAUNCH_H

#include "program/program.h"

/* ---- range.c ---- */

/* What a range has to fit: plain data from kernel and device. Sizes in our order, of a 3-D range. */
typedef struct ndr_range_rules {
    const char *kernel; /* its name, for sentences */
    ndr_form form;
    unsigned dims;            /* that the kernel is written for; 0 for any */
    bool is_guarded;          /* more items than asked for do no harm */
    size_t max_group_size;    /* of the kernel */
    size_t max_local_size[3]; /* of the device */
    size_t required[3];       /* reqd_work_group_size; zeros where there is none */
    unsigned address_bits;
} ndr_range_rules;

ndr_range_rules ndr_range_rules_of(const ndr_kernel *kernel);

/* One OpenCL launch's worth of a range: every group in it has the same size. */
typedef struct ndr_piece {
    size_t global[3], local[3], offset[3];
    size_t first_group[3];
} ndr_piece;

enum { NDR_MAX_PIECES = 8 };

/* A range, checked and completed: one piece when its sizes divide evenly or are rounded up, up to eight when they do
 * not, none when it is empty. */
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
    ndr_arg_kind kind; /* NONE: like no other */
    uint64_t value;    /* a number's bits as they were given, a buffer's identity, the bytes of local memory */
} ndr_arg_mark;

/* One argument as clSetKernelArg wants it. */
typedef struct ndr_bound {
    ndr_arg_mark set;   /* what OpenCL's kernel has, from the launch before */
    ndr_arg_mark given;
    bool is_set; /* what is given is set already; then the rest need not be there */
    size_t size_bytes;
    const void *value; /* NULL for local memory */
    union {
        cl_mem mem;
        int64_t integer; /* its low bytes, in the parameter's width */
        int8_t i8;
        int16_t i16;
        int32_t i32;
        float f32;
        double f64;
    } copy; /* what `value` points to, unless it is a struct of the caller's */
} ndr_bound;

/* Check each argument against the kernel's signature and turn it into one of `bound`, which has room for info.arg_count;
 * nothing is set yet. `*local_bytes` is what they ask for in local memory. */
ndr_status ndr_args_check(const ndr_kernel *kernel, const ndr_arg *args, size_t arg_count, ndr_bound *bound,
                          size_t *local_bytes);

/* Set those that are not set already; with the kernel's lock held. */
ndr_status ndr_args_bind(const ndr_kernel *kernel, ndr_bound *bound, size_t arg_count);

/* ---- launch.c ---- */

/* ndr_launch_v() that waits for `waits` first; NULL: for nothing. */
ndr_status ndr_launch_after(ndr_queue *queue, ndr_kernel *kernel, const ndr_nd_range *range, const ndr_arg *args,
                            size_t arg_count, const ndr_wait_list *waits, ndr_event **event);

/* The same without NDR_CHECK. Never inlined: GCC would cut it in two, which costs 13 instructions a launch. */
ndr_status ndr_launch_plain(ndr_queue *queue, ndr_kernel *kernel, const ndr_nd_range *range, const ndr_arg *args,
                            size_t arg_count, const ndr_wait_list *waits, ndr_event **event) __attribute__((noinline));

/* ---- checked.c ---- */

/* The same where some context is checked: the handles first; in a checked context the launch is waited for, and refused
 * with NDR_OUT_OF_BOUNDS where it wrote outside a buffer. */
ndr_status ndr_launch_checked(ndr_queue *queue, ndr_kernel *kernel, const ndr_nd_range *range, const ndr_arg *args,
                              size_t arg_count, const ndr_wait_list *waits, ndr_event **event) __attribute__((cold));

#endif
