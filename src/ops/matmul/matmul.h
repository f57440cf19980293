/* matmul.h - shared by the implementations of ndr_matmul(). */
#ifndef NDR_OPS_MATMUL_H
#define NDR_OPS_MATMUL_H

#include "ops/core.h"
#include "ops/names.h"
#include "ops/operand.h"
#include "ops/select.h"

#include "shared/blocks.h"
#include "shared/copy.h"
#include "shared/split.h"

enum { NDR_MATMUL_SIDES = 3 }; /* a, b and c */

/* What is stored in c instead of a result. */
typedef struct ndr_matmul_epilogue {
    const char *expression;
    ndr_names names;                     /* its inputs are those below, its shape is that of all products */
    ndr_map_array inputs[NDR_MAX_NAMES]; /* with dimensions for the products, the rows and the columns of c */
    bool swaps;                          /* rows and columns of c are the caller's columns and rows */
    bool reads_c;                        /* an input is c itself */
} ndr_matmul_epilogue;

/* On the device: the kernels of a request do nothing unless that word is, or is not, that number. */
typedef struct ndr_matmul_condition {
    ndr_buffer *words;
    size_t at;
    unsigned number;
    bool is_equal;
} ndr_matmul_condition;

/* Checked multiplications of one shape, as many as c has matrices. Plans read no buffers. All matrices are stored by
 * rows: a product of matrices by columns is that of their transposes. */
typedef struct ndr_matmul_request {
    ndr_dtype dtype, output_dtype; /* of a and b, of c; NONE: the default, as ndr_matmul_output() has it */
    ndr_accuracy accuracy;         /* lower than that of the type only for f32 */
    double alpha, beta;
    ndr_operand a, b, c;                   /* as they are stored */
    bool transposes_a, transposes_b;       /* a is k x m, b is n x k */
    ndr_matrix_part part;                  /* of c */
    ndr_operand offsets[NDR_MATMUL_SIDES]; /* of the products' a, b and c; without a buffer: strides */
    ndr_core core;
    size_t depth;         /* columns of op(a) to use: 0 if alpha is 0, because a and b must not be read then */
    size_t first_product; /* of a part of a batch */
    const ndr_matmul_epilogue *epilogue;   /* NULL: none */
    const ndr_matmul_condition *condition; /* the same; only for `units`, `mma` and `tiled` */
} ndr_matmul_request;

/* What a variant takes beyond products of f32 and f64 as they lie, of which all of c is stored. */
enum {
    NDR_MATMUL_TYPES = 1 << 0,      /* other types of a, b and c */
    NDR_MATMUL_TRANSPOSES = 1 << 1, /* a or b transposed */
    NDR_MATMUL_PARTS = 1 << 2,      /* a triangle of c */
    NDR_MATMUL_OFFSETS = 1 << 3,    /* of a batch in buffers */
    NDR_MATMUL_EPILOGUES = 1 << 4,
    NDR_MATMUL_ALL = (1 << 5) - 1
};

extern const ndr_operation ndr_matmul_operation;

/* `blocked` by small tiles, while another variant is tried. */
extern const ndr_op_variant ndr_matmul_blocked_soon;

/* ---- request.c ---- */

/* The request of a call's descriptor, whose buffers are not read; its core is not set. `epilogue` is filled in if the
 * product has one, and must last as long as the request. Refuses types that the operation or the device lacks, an
 * accuracy or a part without a name, shapes that do not agree, and an epilogue's wrong names. */
ndr_status ndr_matmul_make_request(const char *call, const ndr_context *context, const ndr_matmul_desc *desc,
                                   ndr_matmul_epilogue *epilogue, ndr_matmul_request *request);

/* Refuse what is wrong with the buffers. */
ndr_status ndr_matmul_check_buffers(const ndr_matmul_request *request, ndr_queue *queue);

/* Refuse a product with a matrix of more bytes than fit in memory: plans count its tiles. */
ndr_status ndr_matmul_check_size(const char *call, size_t m, size_t n, size_t k);

/* Pure, for cannot(): NULL if the request asks for nothing but what the variant `takes`; otherwise the reason. */
const char *ndr_matmul_exceeds(const ndr_matmul_request *request, unsigned takes);

/* Pure, cannot() of variants that take nothing more: the reason against all but products of f32 and f64 as they lie. */
const char *ndr_matmul_is_unusual(const ndr_op_case *of);

/* Pure: the dtype of c; the type of results in OpenCL C, "float", and its bytes; whether that is an integer. */
ndr_dtype ndr_matmul_output(const ndr_matmul_request *request);
const char *ndr_matmul_result_type(const ndr_matmul_request *request);
size_t ndr_matmul_result_bytes(const ndr_matmul_request *request);
bool ndr_matmul_is_integer(const ndr_matmul_request *request);

/* Pure: the options that kernels/matmul/elements.clh reads; "" if they are the defaults, for the sums' type. */
typedef struct ndr_element_options {
    char chars[96];
} ndr_element_options;
ndr_element_options ndr_matmul_print_elements(const ndr_matmul_request *request);

/* ---- epilogue.c ---- */

/* Refuse what is wrong with an epilogue, and fill it in for a request of which all else is set. */
ndr_status ndr_matmul_make_epilogue(const char *call, const ndr_context *context, const ndr_matmul_desc *desc,
                                    ndr_matmul_request *request, ndr_matmul_epilogue *epilogue);
ndr_status ndr_matmul_check_epilogue(const ndr_matmul_request *request, const ndr_context *context);

/* Pure, write() of the variants that take epilogues or conditions: their parameters, as macros, the function
 * ndr_epilogue(), and IS_NEEDED. */
void ndr_matmul_write(const ndr_op_case *of, ndr_text *out);

/* Pure: append the arguments of MORE_PARAMETERS to `list`, behind the `used` first ones; how many there are. */
enum { NDR_MATMUL_ARGS = 32 + NDR_NAMES_ARGS };
typedef struct ndr_matmul_args {
    ndr_arg list[NDR_MATMUL_ARGS];
    ndr_names_args names;
} ndr_matmul_args;
size_t ndr_matmul_add_args(const ndr_matmul_request *request, size_t used, ndr_matmul_args *args);

/* ---- matmul.c ---- */

/* alpha or beta as an argument, in the type of the sums. */
ndr_arg ndr_matmul_scalar(const ndr_matmul_request *request, double value);

/* Pure: a matrix as an operand of `call`. */
ndr_operand ndr_matmul_operand(const char *call, const char *name, const ndr_matrix *matrix, ndr_dtype dtype);

/* Pure: element i of a matrix on the host. */
double ndr_matmul_get(ndr_dtype dtype, const void *from, size_t i);

/* Make a matrix of these elements on the host and on the device, with NaN around its rows, or 99 if they are integers.
 * `element` NULL: all are so. The caller frees both, also after a failure. */
typedef double ndr_matmul_element(const void *from, size_t row, size_t col);
ndr_status ndr_matmul_create(ndr_context *context, ndr_operand *matrix, ndr_dtype dtype, ndr_matmul_element *element,
                             const void *from, void **host);

/* Pure, for cannot(): NULL if the kernels' 32-bit offsets reach a tile of a and b, otherwise the reason. */
const char *ndr_matmul_is_too_wide(const ndr_matmul_request *request);

/* Pure, for a matrix of the request: elements of 16 bytes if it is of the type that is multiplied, not transposed, and
 * each row starts and ends at a multiple of that, or 1. */
unsigned ndr_matmul_run_of(const ndr_matmul_request *request, const ndr_operand *matrix);

/* Pure: how many products the request has, and how many of them the first launch takes. */
size_t ndr_matmul_count(const ndr_matmul_request *request);
size_t ndr_matmul_first_count(const ndr_matmul_request *request);

/* Call `launch` for up to `most` products of the job at a time, until all are enqueued. */
typedef ndr_status ndr_matmul_launch(ndr_op_job *job, const ndr_matmul_request *part);
ndr_status ndr_matmul_launch_parts(ndr_op_job *job, size_t most, ndr_matmul_launch *launch);

/* Pure: the arguments that most kernels take, m, n, k, alpha, a, b, beta and c, where a matrix is a buffer, an offset, a
 * pitch and, with strides, a stride. Returns how many they are. */
enum { NDR_MATMUL_MATRICES = 17 };
size_t ndr_matmul_list_matrices(const ndr_matmul_request *request, bool has_strides, ndr_arg *list);

/* Launch a kernel with these arguments and those of MORE_PARAMETERS. */
ndr_status ndr_matmul_launch_with(ndr_op_job *job, ndr_kernel *kernel, const ndr_nd_range *range,
                                  const ndr_matmul_request *request, const ndr_arg *list, size_t count);

/* launch() of the variants with one kernel that reads the matrices in place: their kernels have the same parameters. The
 * first dimension of their range is for the products. */
ndr_status ndr_matmul_launch_kernel(ndr_op_job *job);

/* The same for part of a batch, with `count` arguments more, behind those of all such kernels. */
ndr_status ndr_matmul_launch_in_place(ndr_op_job *job, const ndr_matmul_request *part, const ndr_arg *more,
                                      size_t count);

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

/* Pure: how many products of elements a sum may have: those of integers are added in floats, without rounding. */
size_t ndr_matmul_exact_depth(const ndr_matmul_request *request);

/* Pure: the build options that the kernels for blocks share. */
typedef struct ndr_block_options {
    char chars[192];
} ndr_block_options;
ndr_block_options ndr_matmul_print_block(const ndr_caps *caps, const ndr_matmul_request *request,
                                         ndr_matmul_block block);

/* Pure: the bytes of b as it is multiplied, at most SIZE_MAX. */
size_t ndr_matmul_b_bytes(const ndr_matmul_request *request);

#endif
