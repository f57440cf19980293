/* bench.h - operations with their data, for `ndr bench` and `ndr devices`: bench_operations.c. */
#ifndef NDR_BENCH_H
#define NDR_BENCH_H

#include "operation.h"

#include <ndr/ndr_ops.h>

typedef enum operation_id {
    MATMUL,
    REDUCE,
    SCAN,
    ARRAY_SCAN,
    SORT,
    TOP_K,
    MERGE,
    MERGE_SORT,
    SELECT,
    HISTOGRAM,
    RANDOM,
    GATHER,
    SCATTER,
    TRANSPOSE,
    MAP,
    MAP_REDUCE,
    COPY,
    FILL,
    LAUNCH,
    OPERATIONS
} operation_id;

/* What a buffer has before the call. */
typedef enum contents {
    ROOM, /* anything */
    NUMBERS,
    FLAGS,         /* 0, 1, 0, 1 ... */
    UNIFORM,       /* all values of an integer type, and floats in [0, 1) */
    PERMUTATION,   /* the numbers below `count`, each once, in an order that looks random */
    SORTED_HALVES, /* of random values */
} contents;

/* A buffer that a call needs. */
typedef struct need {
    contents contents;
    size_t count;
    ndr_dtype dtype;
    ndr_buffer **places[2]; /* where the descriptor has it; NULL: nowhere */
} need;

enum { MOST_BUFFERS = 4 };

/* One call. It stays where it is, because its needs point into its descriptor. The caller sets `context`, `sizes` and,
 * where the operation has them, `dtype`, `op`, `method` and `accuracy`. */
typedef struct work {
    ndr_context *context;
    operation_id operation;
    size_t sizes[3]; /* m, n and k; rows and columns; or elements, bytes or items */
    ndr_dtype dtype;
    ndr_op op;
    ndr_reduce_method method;
    ndr_accuracy accuracy;
    union {
        ndr_matmul_desc matmul;
        ndr_reduce_desc reduce;
        ndr_scan_desc scan;
        ndr_array_scan_desc array_scan;
        ndr_sort_desc sort;
        ndr_top_k_desc top_k;
        ndr_merge_desc merge;
        ndr_merge_sort_desc merge_sort;
        ndr_select_desc select;
        ndr_histogram_desc histogram;
        ndr_random_desc random;
        ndr_gather_desc gather;
        ndr_scatter_desc scatter;
        ndr_array_copy_desc copy;
        ndr_map_desc map;
        ndr_map_reduce_desc map_reduce;
    } desc;
    ndr_map_array inputs[2], output; /* of a map */
    need needs[MOST_BUFFERS];
    size_t need_count;
    ndr_buffer *buffers[MOST_BUFFERS]; /* of the needs */
    ndr_kernel *kernel;
    uint64_t moved, flops; /* bytes read and written, each once; operations on floating-point numbers */
} work;

typedef struct operation {
    const char *name;
    unsigned dims;        /* how many sizes a shape has */
    uint64_t most;        /* of each */
    const choice *dtypes; /* NULL: it has no elements */
    bool has_op;
    void (*set)(work *w);
} operation;

extern const operation operations[OPERATIONS];

/* Sets the descriptor, without buffers, and the counts of bytes and operations. */
void set_work(work *w, operation_id id);

/* Makes the buffers, which the caller destroys, and their data. */
ndr_status fill_work(work *w, ndr_queue *queue);

ndr_status enqueue_work(const work *w, ndr_queue *queue, ndr_event **event);

/* The implementation and why not others, as ndr_reduce_explain(); "" of what has none. Needs no buffers. */
ndr_status explain_work(const work *w, size_t capacity, char *text);

#endif
