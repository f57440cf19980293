/** @file ndr_group.h
 * Operations on arrays of the host by several devices: all GPUs, or parts of a CPU.
 *
 *     ndr_group *group;
 *     ndr_group_create(&(ndr_group_desc){ .device = "gpu" }, &group);
 *     ndr_group_matmul(group, &(ndr_group_matmul_desc){
 *         .dtype = NDR_DTYPE_F32, .m = m, .n = n, .k = k, .a = a, .b = b, .c = c });
 *     ndr_group_destroy(group);
 *
 * A group is a list of contexts, its ranks. Arrays and matrices are the host's, before and after a call; nothing stays
 * on the devices. A call returns when its results are there. Devices that share the host's memory work in it. To others
 * the bytes are transferred in chunks, while the chunks before are computed and returned; from and to pinned memory
 * (ndr_buffer_desc.is_pinned) that is several times faster. docs/scale.md says what pays.
 *
 * If a rank fails, the call fails with its status, and the sentence names the rank and the device; the outputs may have
 * been written in part. A group is used by one call at a time: two threads need two groups. */
#ifndef NDR_NDR_GROUP_H
#define NDR_NDR_GROUP_H

#include "ndr/ndr_ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Several devices, or parts of one. */
typedef struct ndr_group ndr_group;

/** The ranks of a group. */
typedef struct ndr_group_desc {
    const char *device;  /**< As in ndr_context_create(), but every device that it matches is a rank: "gpu" is all GPUs,
                              "gpu:1" one. A device that two drivers list with the same UUID is one rank. NULL: as
                              NDR_DEVICE says; if that is unset or empty, all GPUs, or without one the default
                              device. */
    size_t part_count;   /**< Divide the device into that many equal parts; each is a rank. 0: whole devices. */
    ndr_context *const *contexts; /**< Instead of both: `context_count` contexts, which may be destroyed at once. */
    size_t context_count;         /**< 1 or more with `contexts`. */
    NDR_MAY_GROW
} ndr_group_desc;

/** Make a group; `desc` NULL means all defaults. */
NDR_SIZED ndr_status ndr_group_create(const ndr_group_desc *desc, ndr_group **group);

/** Destroy a group. NULL is fine. */
NDR_API void ndr_group_destroy(ndr_group *group);

/** The number of ranks; 0 for NULL. */
NDR_API size_t ndr_group_size(const ndr_group *group);

/** The context of a rank, counted from 0, which lives as long as the group; NULL if there is no such rank. */
NDR_API ndr_context *ndr_group_context(const ndr_group *group, size_t rank);

/** The queue of a rank in which the group's own work runs; NULL if there is no such rank. */
NDR_API ndr_queue *ndr_group_queue(const ndr_group *group, size_t rank);

/** What a rank does with its rows in ndr_group_each(): `count` rows from `first` on. */
typedef ndr_status ndr_group_function(size_t rank, ndr_queue *queue, size_t first, size_t count, void *user);

/** Divide `rows` rows among the ranks by their speeds, and call `function` for each rank, all at the same time: each on
 * a thread of its own. It may call all of libndr, and what it enqueues on `queue` is finished before this call returns.
 * Each rank has a row at least, or 64 of many, if there are that many; one without rows is not called.
 *
 * The speed of a rank is the rows that it has done for each second, in the better one of the two latest calls of this
 * function and of ndr_group_matmul(), so that a call which builds kernels does not count. Until there have been two, and
 * after a call of less than 2 ms, all speeds are the same. */
NDR_MUST_CHECK ndr_status ndr_group_each(ndr_group *group, size_t rows, ndr_group_function *function, void *user);

/** c = alpha * a * b + beta * c, of row-major matrices in the host's memory, as ndr_matmul(). The rows of a and c are
 * divided by speed, as in ndr_group_each(). b goes to each device by its own link, in panels of columns; a panel is
 * multiplied while the next one arrives and the one before returns. */
typedef struct ndr_group_matmul_desc {
    ndr_dtype dtype;       /**< F32 or F64. */
    ndr_accuracy accuracy; /**< Default: FULL. */
    ndr_scaling scaling;   /**< Default: alpha 1, beta 0. */
    size_t m;              /**< Rows of a and c; may be 0, as n and k. */
    size_t n;              /**< Columns of b and c. */
    size_t k;              /**< Columns of a, rows of b. */
    const void *a;         /**< m x k */
    const void *b;         /**< k x n */
    void *c;               /**< m x n; must not overlap a or b. */
    size_t a_pitch;        /**< Elements from one row of a to the next; 0 means its columns. */
    size_t b_pitch;        /**< The same for b. */
    size_t c_pitch;        /**< The same for c. */
    NDR_MAY_GROW
} ndr_group_matmul_desc;

/** Multiply matrices. */
NDR_SIZED ndr_status ndr_group_matmul(ndr_group *group, const ndr_group_matmul_desc *desc);

/** Combine input[0..count) into *output, as ndr_reduce() by the tree.
 *
 * The chunks depend on `count` and the dtype alone, and each rank takes the next one that is left. So devices of one
 * kind give the same bits on every run, whatever their number. With NDR_NUMERICS_REPRODUCIBLE the bits are those of
 * ndr_reduce() on any device. */
typedef struct ndr_group_reduce_desc {
    ndr_dtype dtype;       /**< I8 to U64, F32 or F64. */
    ndr_op op;             /**< Any that ndr_reduce() has. */
    ndr_numerics numerics; /**< FAST or REPRODUCIBLE. EXACT is for one device: ndr_reduce(). */
    const void *input;     /**< `count` elements. */
    size_t count;          /**< May be 0. */
    void *output;          /**< One element. */
    NDR_MAY_GROW
} ndr_group_reduce_desc;

/** Reduce an array. */
NDR_SIZED ndr_status ndr_group_reduce(ndr_group *group, const ndr_group_reduce_desc *desc);

/** An array with its name in a statement. The struct is fixed. */
typedef struct ndr_group_array {
    const char *name;  /**< As in ndr_map_array. */
    ndr_dtype dtype;   /**< Of its elements. */
    const void *input; /**< Its elements, which are read; NULL: none are, the name starts as 0. */
    void *output;      /**< Where the values go that the name has at the end; NULL: nowhere. It may be `input`. */
} ndr_group_array;

/** For each index run a statement, as ndr_map(): "y = a * x + y". `i` is the index in the whole arrays. */
typedef struct ndr_group_map_desc {
    const char *statement;         /**< "y = a * x + y". */
    const char *declarations;      /**< As in ndr_map_desc; NULL: none. */
    const ndr_map_scalar *scalars; /**< `scalar_count` values. */
    size_t scalar_count;           /**< May be 0. */
    const ndr_group_array *arrays; /**< `array_count` arrays of `count` elements each. */
    size_t array_count;            /**< At least one has an output. */
    size_t count;                  /**< May be 0. */
    NDR_MAY_GROW
} ndr_group_map_desc;

/** Run a statement for each index. */
NDR_SIZED ndr_status ndr_group_map(ndr_group *group, const ndr_group_map_desc *desc);

/** Prefix sums and the like, as ndr_scan() of one segment. Each chunk is read twice: for its own result, and with that
 * of all chunks before it. */
typedef struct ndr_group_scan_desc {
    ndr_dtype dtype;   /**< Any but F16. */
    ndr_op op;         /**< Any that ndr_scan() has. */
    bool is_exclusive; /**< Leave out the element itself. Default: inclusive. */
    const void *input; /**< `count` elements. */
    size_t count;      /**< May be 0. */
    void *output;      /**< `count` elements: those of `input`, or none of them. */
    NDR_MAY_GROW
} ndr_group_scan_desc;

/** Scan an array. */
NDR_SIZED ndr_status ndr_group_scan(ndr_group *group, const ndr_group_scan_desc *desc);

/* ---- as in ndr_sized.h --------------------------------------------------------------------------- */

NDR_MUST_CHECK ndr_status ndr_group_create_sized(const ndr_group_desc *desc, size_t desc_bytes, ndr_group **group);
NDR_MUST_CHECK ndr_status ndr_group_matmul_sized(ndr_group *group, const ndr_group_matmul_desc *desc,
                                                 size_t desc_bytes);
NDR_MUST_CHECK ndr_status ndr_group_reduce_sized(ndr_group *group, const ndr_group_reduce_desc *desc,
                                                 size_t desc_bytes);
NDR_MUST_CHECK ndr_status ndr_group_map_sized(ndr_group *group, const ndr_group_map_desc *desc, size_t desc_bytes);
NDR_MUST_CHECK ndr_status ndr_group_scan_sized(ndr_group *group, const ndr_group_scan_desc *desc, size_t desc_bytes);

#ifndef NDR_BUILDING
static inline ndr_status ndr_group_create(const ndr_group_desc *desc_, ndr_group **group_)
{
    return ndr_group_create_sized(desc_, sizeof *desc_, group_);
}

static inline ndr_status ndr_group_matmul(ndr_group *group_, const ndr_group_matmul_desc *desc_)
{
    return ndr_group_matmul_sized(group_, desc_, sizeof *desc_);
}

static inline ndr_status ndr_group_reduce(ndr_group *group_, const ndr_group_reduce_desc *desc_)
{
    return ndr_group_reduce_sized(group_, desc_, sizeof *desc_);
}

static inline ndr_status ndr_group_map(ndr_group *group_, const ndr_group_map_desc *desc_)
{
    return ndr_group_map_sized(group_, desc_, sizeof *desc_);
}

static inline ndr_status ndr_group_scan(ndr_group *group_, const ndr_group_scan_desc *desc_)
{
    return ndr_group_scan_sized(group_, desc_, sizeof *desc_);
}
#endif

#ifdef __cplusplus
}
#endif

#endif
