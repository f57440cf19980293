/* gpu.h - works whose operands lie in the device's own memory, timed on the device: for the rows "gpu: ...".
 *
 *   gpu.c              one call by events, or many calls back to back; libndr's queue with times
 *   rows_gpu_*.c       ceilings, products, reductions
 *   rivals/cuda.c      the same for rivals that run on CUDA: rivals/cublas.c, rivals/cub.c */
#ifndef GPU_H
#define GPU_H

#include "rows_matmul.h"

/* How one contender does a work. A job has its operands and results on the host; these functions copy them. */
typedef struct gpu_calls {
    void (*upload)(void *job); /* the operands, unless they are on the device; may be NULL */
    void (*reset)(void *job);  /* the result on the device as before the first call; may be NULL */
    void (*enqueue)(void *job);
    double (*time_one)(void *job); /* one call; returns its seconds by the device's events */
    void (*finish)(void);
    void (*download)(void *job); /* the result; may be NULL */
} gpu_calls;

/* Warms up and returns the seconds of one call. Its result is that of one call after a reset. */
double gpu_time(const gpu_calls *calls, void *job, bool back_to_back);

/* libndr's queue with times; made at the first use. */
ndr_queue *gpu_timed_queue(void);
void gpu_close(void); /* must be called before close_device(), which keeps programs on disk */

/* The seconds of the work of an event, which is destroyed. */
double gpu_event_seconds(ndr_event *event);
void gpu_finish(void);

/* 1, 2, 3, ... */
size_t gpu_next_number(void);

/* A product whose matrices begin `offset` elements after the start of their buffers. */
typedef struct gpu_matmul_shape {
    matmul_shape of;
    size_t offset;
    bool back_to_back;
    ndr_accuracy accuracy;
} gpu_matmul_shape;

typedef struct gpu_matmul {
    matmul on_host; /* first, so that a pointer to this is one to that; its shared buffers are not used */
    size_t offset;
    bool back_to_back;
    size_t number; /* of the job: other operands have another one */
    ndr_buffer *a, *b, *c, *bias;
} gpu_matmul;

/* C on the device as before the first call; C to the host. */
void gpu_matmul_reset(void *job);
void gpu_matmul_download(void *job);

extern const work gpu_matmul_work;
extern const contender gpu_matmul_own[];

typedef struct gpu_reduce_shape {
    ndr_dtype dtype; /* F32, F64, I32 or I64 */
    ndr_op op;
    ndr_reduce_method method;
    size_t count;
    bool back_to_back;
    ndr_numerics numerics;
} gpu_reduce_shape;

/* The input is a pattern, repeated until there are `count` elements. */
typedef struct gpu_reduction {
    gpu_reduce_shape of;
    size_t number; /* of the job */
    size_t pattern_bytes;
    void *pattern;
    ndr_buffer *input, *output;
    union {
        float f32;
        double f64;
        int32_t i32;
        int64_t i64;
        unsigned char bytes[8];
    } result;
    double expected, absolute_sum; /* of floats */
    int64_t expected_integer;
} gpu_reduction;

/* ---- operations on large buffers: rows_gpu_operations.c ---- */

typedef enum gpu_operation_kind { GPU_SCAN, GPU_SORT, GPU_SORT_PAIRS, GPU_HISTOGRAM, GPU_AXIS } gpu_operation_kind;

typedef struct gpu_operation_shape {
    gpu_operation_kind kind;
    ndr_dtype dtype;   /* F32 or U32; of a histogram U8 */
    size_t rows, cols; /* elements: rows * cols */
    unsigned axis;     /* GPU_AXIS: 0 sums columns, 1 sums rows */
    bool back_to_back;
} gpu_operation_shape;

/* Outputs are downloaded and checked in the first round only. */
typedef struct gpu_operation {
    gpu_operation_shape of;
    size_t number; /* of the job */
    size_t refills;
    size_t count, input_bytes, output_bytes;
    void *input, *output;       /* on the host */
    uint32_t *values, *sorted;  /* of pairs: the places of keys; NULL otherwise */
    ndr_buffer *on_device[4];   /* input, output, values, sorted */
} gpu_operation;

bool gpu_operation_is_checked(const gpu_operation *job);

extern const work gpu_operation_work;
extern const contender gpu_operation_own[];

extern const work gpu_reduce_work;
extern const contender gpu_reduce_own[];

#endif
