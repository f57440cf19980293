/* range.h - what a range of a launch becomes: pieces with equal groups. */
#ifndef NDR_LAUNCH_RANGE_H
#define NDR_LAUNCH_RANGE_H

#include "device/event.h"
#include "program/program.h"

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

#endif
