/* registers.c - the block of C that fits the vector registers of a CPU. */
#include "ops/matmul/matmul.h"

ndr_matmul_block ndr_matmul_choose_block(const ndr_matmul_request *request)
{
    enum { REGISTER_BYTES = 64, VECTORS = 3 };
    return (ndr_matmul_block){ (unsigned)(REGISTER_BYTES / ndr_dtype_size(request->dtype)), VECTORS };
}

size_t ndr_matmul_block_cols(const ndr_matmul_request *request)
{
    const ndr_matmul_block block = ndr_matmul_choose_block(request);
    return (size_t)block.vectors * block.lanes;
}

size_t ndr_matmul_b_bytes(const ndr_matmul_request *request)
{
    size_t bytes;
    const bool fits = ndr_mul_fits(request->c.cols, request->depth, &bytes)
                      && ndr_mul_fits(bytes, ndr_dtype_size(request->dtype), &bytes);
    return fits ? bytes : SIZE_MAX;
}
