/* matmul.h - what the implementations of ndr_matmul() share. */
#ifndef NDR_OPS_MATMUL_H
#define NDR_OPS_MATMUL_H

#include "ops/ops.h"

#include "shared/blocks.h"

/* A multiplication that has passed its checks. Plans read no buffers. */
typedef struct ndr_matmul_request {
    ndr_dtype dtype;
    double alpha, beta;
    ndr_operand a, b, c;
    size_t depth; /* columns of a that count: none where alpha is 0, for then a and b must not be read */
} ndr_matmul_request;

extern const ndr_operation ndr_matmul_operation;

/* ---- matmul.c ---- */

/* alpha or beta as an argument, in the matrices' type. */
ndr_arg ndr_matmul_scalar(const ndr_matmul_request *request, double value);

/* The run() of the rows whose one kernel reads the matrices where they are: all those have one signature. */
ndr_status ndr_matmul_run_kernel(ndr_op_job *job);

/* ---- registers.c ---- */

/* The block of C that an item keeps in vector registers: NDR_BLOCK_ROWS rows of `vectors` vectors of `lanes`
 * elements. */
typedef struct ndr_matmul_block {
    unsigned lanes, vectors;
} ndr_matmul_block;

/* Pure. */
ndr_matmul_block ndr_matmul_choose_block(const ndr_matmul_request *request);
size_t ndr_matmul_block_cols(const ndr_matmul_request *request);

/* Pure: the bytes of b, at most SIZE_MAX. */
size_t ndr_matmul_b_bytes(const ndr_matmul_request *request);

#endif
