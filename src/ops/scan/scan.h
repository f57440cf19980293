/* scan.h - shared by the implementations of ndr_scan(). */
#ifndef NDR_OPS_SCAN_H
#define NDR_OPS_SCAN_H

#include "ops/array.h"
#include "ops/operand.h"
#include "ops/select.h"
#include "ops/sequence.h"

/* How segments are told apart; the values of the macro SEGMENTS. */
typedef enum ndr_scan_segments {
    NDR_SCAN_WHOLE = 0,
    NDR_SCAN_BY_FLAGS = 1,
    NDR_SCAN_BY_LENGTH = 2,
} ndr_scan_segments;

/* A checked scan. Plans read no buffers. */
typedef struct ndr_scan_request {
    ndr_dtype dtype; /* of the kernels: unsigned where the sign does not matter */
    ndr_op op;
    bool is_exclusive, is_backward, has_initial;
    ndr_arg initial; /* of the kernels' type */
    ndr_scan_segments segments;
    size_t length;
    ndr_operand input, flags, output;
} ndr_scan_request;

extern const ndr_operation ndr_scan_operation;

/* Pure: the build options of all kernels of kernels/scan/, and `more`. */
void ndr_scan_print_options(const ndr_scan_request *request, const char *more, char options[NDR_OPTIONS_SIZE]);

/* The arguments of all kernels before and behind `size`. */
#define NDR_SCAN_ARGS(r)                                                                                           \
    ndr_operand_arg(&(r)->input), (r)->input.offset, ndr_operand_arg(&(r)->output), (r)->output.offset,            \
        ndr_operand_arg(&(r)->flags), (r)->flags.offset, (r)->input.cols, (r)->length
#define NDR_SCAN_INITIAL(r) (unsigned)(r)->has_initial, (r)->initial

/* Launch a kernel of kernels/scan/ over the job's range. `size`: elements of a chunk, or tiles of a group. */
ndr_status ndr_scan_launch(ndr_op_job *job, ndr_kernel *kernel, size_t size);

/* Whether a variant whose groups wait for each other gives right results. */
ndr_status ndr_scan_prove(ndr_queue *queue, const ndr_op_variant *variant, bool *is_right);

/* ---- checks ---- */

/* Check the type, the operator and the initial value, and set what of the request does not depend on elements. */
ndr_status ndr_scan_check(const char *call, const ndr_device_info *device, const ndr_scan_desc *desc,
                          ndr_scan_request *request);

/* The whole request. */
ndr_status ndr_scan_make_request(const ndr_context *context, const ndr_scan_desc *desc, ndr_scan_request *request);

/* Logical operators: each element becomes 0 or 1, and then another operator is for the call. */
bool ndr_scan_is_logical(ndr_op op);
void ndr_scan_set_truth(const ndr_scan_request *request, ndr_scan_desc *desc);
ndr_status ndr_scan_make_truth(ndr_queue *queue, const ndr_array *input, const ndr_array *output, ndr_sequence *sequence);

/* ---- sizes ---- */

/* Pure: the workspace of so many partials, each with a byte; 0 for one. */
size_t ndr_scan_workspace_bytes(const ndr_scan_request *request, size_t partials);

#endif
