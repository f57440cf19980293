/* matmul.h - shared by the implementations of ndr_matmul(). */
#ifndef NDR_OPS_MATMUL_H
#define NDR_OPS_MATMUL_H

#include "ops/core.h"
#include "ops/operand.h"
#include "ops/select.h"

#include "shared/blocks.h"
#include "shared/copy.h"
#include "shared/split.h"

/* Checked multiplications of one shape, as many as c has matrices. Plans read no buffers. */
typedef struct ndr_matmul_request {
    ndr_dtype dtype;
    ndr_accuracy accuracy; /* lower than that of the type only for f32 */
    double alpha, beta;
    ndr_operand a, b, c;
    ndr_core core;
    size_t depth; /* columns of a to use: 0 if alpha is 0, because a and b must not be read then */
} ndr_matmul_request;

extern const ndr_operation ndr_matmul_operation;

/* ---- matmul.c ---- */

/* alpha or beta as an argument, in the matrices' type. */
ndr_arg ndr_matmul_scalar(const ndr_matmul_request *request, double value);

/* Pure: a matrix as an operand of `call`. */
ndr_operand ndr_matmul_operand(const char *call, const char *name, const ndr_matrix *matrix, ndr_dtype dtype);

/* Pure: element i of a matrix on the host. */
double ndr_matmul_get(ndr_dtype dtype, const void *from, size_t i);

/* Make a matrix of these elements on the host and on the device, with NaN around its rows. `element` NULL: all are NaN.
 * The caller frees both, also after a failure. */
typedef double ndr_matmul_element(const void *from, size_t row, size_t col);
ndr_status ndr_matmul_create(ndr_context *context, ndr_operand *matrix, ndr_dtype dtype, ndr_matmul_element *element,
                             const void *from, void **host);

/* Pure, for cannot(): NULL if the kernels' 32-bit offsets reach a tile of a and b, otherwise the reason. */
const char *ndr_matmul_is_too_wide(const ndr_matmul_request *request);

/* Pure, for a matrix of the request: elements of 16 bytes if each row starts and ends at a multiple of that, or 1. */
unsigned ndr_matmul_run_of(const ndr_matmul_request *request, const ndr_operand *matrix);

/* Pure: the power of two from `count` on, at most NDR_FEW. */
enum { NDR_FEW = 8 };
unsigned ndr_matmul_round_few(size_t count);

/* Pure, cannot() of the variants for few rows: NULL if c has at most NDR_FEW, otherwise the reason. */
const char *ndr_matmul_has_many_rows(const ndr_op_case *of);

/* The request of a call's descriptor, whose buffers are not read; its core is not set. Refuses a dtype other than f32 and
 * f64, one that the device lacks, an accuracy without a name, and shapes that do not agree. */
ndr_status ndr_matmul_make_request(const char *call, const ndr_context *context, const ndr_matmul_desc *desc,
                                   ndr_matmul_request *request);

/* Refuse a product with a matrix of more bytes than fit in memory: plans count its tiles. */
ndr_status ndr_matmul_check_size(const char *call, size_t m, size_t n, size_t k);

/* Pure: how many products the request has, and how many of them the first launch takes. */
size_t ndr_matmul_count(const ndr_matmul_request *request);
size_t ndr_matmul_first_count(const ndr_matmul_request *request);

/* Call `launch` for up to `most` products of the job at a time, until all are enqueued. */
typedef ndr_status ndr_matmul_launch(ndr_op_job *job, const ndr_matmul_request *part);
ndr_status ndr_matmul_launch_parts(ndr_op_job *job, size_t most, ndr_matmul_launch *launch);

/* launch() of the variants with one kernel that reads the matrices in place: their kernels have the same parameters. The
 * first dimension of their range is for the products. */
ndr_status ndr_matmul_launch_kernel(ndr_op_job *job);

/* ---- prove.c ---- */

/* prove() of the variants that use more than OpenCL C: try the variant on hard products. */
ndr_status ndr_matmul_prove(ndr_queue *queue, const ndr_op_variant *variant, bool *is_right);

/* ---- tune.c ---- */

/* Pure: the type, the accuracy, and the powers of two just above c's rows, c's columns and the depth. */
uint32_t ndr_matmul_class_of(const void *request);

/* ---- registers.c ---- */

/* The block of C in an item's vector registers: `rows` rows of `vectors` vectors of `lanes` elements. */
typedef struct ndr_matmul_block {
    unsigned rows, vectors, lanes;
} ndr_matmul_block;

/* Pure. */
ndr_matmul_block ndr_matmul_choose_block(const ndr_matmul_request *request);
size_t ndr_matmul_block_cols(ndr_matmul_block block);

/* Pure: the build options that the kernels for blocks share. */
typedef struct ndr_block_options {
    char chars[96];
} ndr_block_options;
ndr_block_options ndr_matmul_print_block(const ndr_caps *caps, const ndr_matmul_request *request,
                                         ndr_matmul_block block);

/* Pure: the bytes of b, at most SIZE_MAX. */
size_t ndr_matmul_b_bytes(const ndr_matmul_request *request);

#endif
