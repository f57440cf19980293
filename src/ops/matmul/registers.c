/* registers.c - the block of C that fits the vector registers of a CPU. */
#include "ops/matmul/matmul.h"

#include <stdio.h>

/* A step along k needs registers for the block, for `vectors` vectors of b and one of a, and for as many products if
 * they are not added by the same instruction. Narrower blocks without that instruction, since compilers move registers
 * for it, too. */
ndr_matmul_block ndr_matmul_choose_block(const ndr_matmul_request *request)
{
    const ndr_core *core = &request->core;
    const unsigned vectors = core->fuses ? 3 : 2, others = 1 + (core->fuses ? vectors : 2 * vectors);
    const unsigned rows = (core->registers - others) / vectors;
    return (ndr_matmul_block){ rows / 4 * 4, vectors, core->vector_bytes / (unsigned)ndr_matmul_result_bytes(request) };
}

size_t ndr_matmul_block_cols(ndr_matmul_block block) { return (size_t)block.vectors * block.lanes; }

ndr_block_options ndr_matmul_print_block(const ndr_caps *caps, const ndr_matmul_request *request,
                                         ndr_matmul_block block)
{
    ndr_block_options out;
    snprintf(out.chars, sizeof out.chars, "-DT=%s -DMR=%u -DVECTORS=%u -DLANES=%u -DFUSES=%d -DFETCH_AHEAD=%d%s",
             request->dtype == NDR_DTYPE_F64 ? "double" : "float", block.rows, block.vectors, block.lanes,
             request->core.fuses, caps->info.type == NDR_DEVICE_TYPE_CPU, ndr_matmul_print_elements(request).chars);
    return out;
}

/* A float holds whole numbers of up to 24 bits. */
size_t ndr_matmul_exact_depth(const ndr_matmul_request *request)
{
    return request->dtype == NDR_DTYPE_I8 ? 1u << 10 : request->dtype == NDR_DTYPE_U8 ? 1u << 8 : SIZE_MAX;
}

size_t ndr_matmul_b_bytes(const ndr_matmul_request *request)
{
    size_t bytes;
    const bool fits = ndr_mul_fits(request->c.cols, request->depth, &bytes)
                      && ndr_mul_fits(bytes, ndr_matmul_result_bytes(request), &bytes);
    return fits ? bytes : SIZE_MAX;
}
