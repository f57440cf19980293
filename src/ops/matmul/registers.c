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
    return (ndr_matmul_block){ rows / 4 * 4, vectors, core->vector_bytes / (unsigned)ndr_dtype_size(request->dtype) };
}

size_t ndr_matmul_block_cols(ndr_matmul_block block) { return (size_t)block.vectors * block.lanes; }

ndr_block_options ndr_matmul_print_block(const ndr_caps *caps, const ndr_matmul_request *request,
                                         ndr_matmul_block block)
{
    ndr_block_options out;
    snprintf(out.chars, sizeof out.chars, "-DT=%s -DMR=%u -DVECTORS=%u -DLANES=%u -DFUSES=%d -DFETCH_AHEAD=%d",
             ndr_dtype_describe(request->dtype)->cl_name, block.rows, block.vectors, block.lanes, request->core.fuses,
             caps->info.type == NDR_DEVICE_TYPE_CPU);
    return out;
}

size_t ndr_matmul_b_bytes(const ndr_matmul_request *request)
{
    size_t bytes;
    const bool fits = ndr_mul_fits(request->c.cols, request->depth, &bytes)
                      && ndr_mul_fits(bytes, ndr_dtype_size(request->dtype), &bytes);
    return fits ? bytes : SIZE_MAX;
}
