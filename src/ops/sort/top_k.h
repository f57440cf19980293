/* top_k.h - shared by the implementations of ndr_top_k(). */
#ifndef NDR_OPS_SORT_TOP_K_H
#define NDR_OPS_SORT_TOP_K_H

#include "ops/sort/sort.h"

#include "shared/top_k.h"

/* A checked call. Plans read no buffers. */
typedef struct ndr_top_k_request {
    ndr_sort_request order; /* of the keys: type, direction, bits; its values are indexes of U64 */
    size_t rows, length, k; /* of the keys; a row has `length` */
    size_t value_bytes;
    ndr_operand keys, values, top_keys, top_values, top_indexes; /* cols 0: none */
} ndr_top_k_request;

/* The whole result in one operation; and in three: a selection of the k first elements of each row, in the order of the row,
 * then a sort of these, then their values. */
extern const ndr_operation ndr_top_k_operation, ndr_top_k_select_operation, ndr_top_k_values_operation;

/* Pure: whether the first one is for the request. */
bool ndr_top_k_is_whole(const ndr_caps *caps, const ndr_top_k_request *request);

/* The words of a value, as an argument. */
ndr_arg ndr_top_k_value_words(const ndr_top_k_request *request);

/* Pure: the build options of the kernels, and `more`. */
void ndr_top_k_print_options(const ndr_top_k_request *request, const char *more, char options[NDR_OPTIONS_SIZE]);

#endif
