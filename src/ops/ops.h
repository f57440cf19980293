/* ops.h - top floor: whole operations, made of launches. */
#ifndef NDR_OPS_H
#define NDR_OPS_H

#include "launch/launch.h"

/* ---- operand.c ---- */

/* Elements of a buffer that an operation reads or writes. A matrix is `rows` runs of `cols` elements, the starts
 * of two neighbours `pitch` apart; anything else is one run. */
typedef struct ndr_operand {
    const char *call, *name; /* for sentences: "ndr_reduce", "input" */
    ndr_buffer *buffer;
    size_t offset, rows, cols, pitch; /* elements */
    size_t element_bytes;
} ndr_operand;

/* Refuse what is NULL, of another context, or past the end of its buffer. No elements: anything goes. */
ndr_status ndr_operand_check(const ndr_operand *operand, const ndr_queue *queue);

/* Refuse an output whose bytes meet those of an input. */
ndr_status ndr_operand_check_apart(const ndr_operand *output, const ndr_operand *input);

/* The argument for a kernel: the buffer, or a deliberate NULL where there are no elements. */
ndr_arg ndr_operand_arg(const ndr_operand *operand);

/* ---- tuning.c ---- */

/* How a reduction goes about it on a device. */
typedef enum ndr_reduce_variant {
    NDR_REDUCE_CHOOSE = 0,
    NDR_REDUCE_GROUPS, /* kernels/reduce_tree.cl: groups of many items, neighbours read neighbours */
    NDR_REDUCE_CHUNKS, /* kernels/reduce_chunks.cl: groups of one item, each with a chunk of its own */
} ndr_reduce_variant;

/* How a reduction is dealt out. */
typedef struct ndr_reduce_tuning {
    ndr_reduce_variant variant;
    size_t group_size, group_count;
    size_t chunk;       /* elements of one group, where the variant has chunks */
    bool fetches_ahead; /* there: asks for elements before it needs them */
} ndr_reduce_tuning;

/* Pure. The dealing depends on `count` alone, never on the number of compute units: the tree's bits must be the same
 * on every device of a kind. `forced` other than CHOOSE overrides the choice of variant. */
ndr_reduce_tuning ndr_tune_reduce(const ndr_device_info *device, ndr_reduce_variant forced, ndr_reduce_method method,
                                  size_t count);

/* How a multiplication goes about it on a device. */
typedef enum ndr_gemm_variant {
    NDR_GEMM_CHOOSE = 0,
    NDR_GEMM_TILED,  /* kernels/gemm_tiled.cl: groups of many items, tiles in local memory */
    NDR_GEMM_DIRECT, /* kernels/gemm_cpu.cl: groups of one item, matrices where they are */
    NDR_GEMM_PACKED, /* the same, from packed panels and blocks */
    NDR_GEMM_THIN,   /* the same, for a few rows */
} ndr_gemm_variant;

/* The sizes that the kernels are built and launched with; see the pictures there. */
typedef struct ndr_gemm_tuning {
    ndr_gemm_variant variant;
    unsigned tile_m, tile_n, tile_k, item_m, item_n; /* tiled */
    unsigned lanes, vectors, depth;                  /* the others: NR = vectors * lanes; MR is 8 */
    unsigned thin_rows;                              /* thin */
    size_t block_rows, workers;                      /* packed */
    bool fetches_ahead;                              /* packed: asks for C, and for the next panel of B */
} ndr_gemm_tuning;

enum { NDR_GEMM_MR = 8, NDR_GEMM_PACK_ROWS = 16, NDR_GEMM_PACK_PANELS = 16 }; /* as kernels/gemm_cpu.cl has them */

/* Pure. Tiles and blocks always fit the device's local memory and groups. `forced` other than CHOOSE overrides the
 * choice of variant; THIN needs m <= 8, and is DIRECT where that does not hold. */
ndr_gemm_tuning ndr_tune_gemm(const ndr_device_info *device, ndr_gemm_variant forced, size_t element_bytes, size_t m,
                              size_t n, size_t k);

/* ---- reduce.c, matmul.c ---- */

enum { NDR_OPTIONS_SIZE = 160 };

/* Pure: what kernels/reduce_*.cl and kernels/gemm_*.cl are built with. */
void ndr_reduce_options(const ndr_reduce_tuning *tuning, ndr_dtype dtype, ndr_op op, char options[NDR_OPTIONS_SIZE]);
void ndr_gemm_options(const ndr_gemm_tuning *tuning, ndr_dtype dtype, char options[NDR_OPTIONS_SIZE]);

#endif
