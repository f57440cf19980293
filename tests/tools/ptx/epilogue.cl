/* epilogue.cl - kernels/matmul/units.cl with an epilogue, "r * bias + old": the text that src/ops/matmul/epilogue.c
 * writes in front of it, for the elements of a row that all rows have, and a matrix. */
#include "ndr/item.clh"
#define EPILOGUE_PARAMETERS                                                                                      \
    , const ulong ndr_first, global const float *ndr_in_bias, const long4 ndr_in_bias_at,                        \
        global const half *ndr_in_old, const long4 ndr_in_old_at
#define EPILOGUE_ARGUMENTS , ndr_first, ndr_in_bias, ndr_in_bias_at, ndr_in_old, ndr_in_old_at
#define INPUT_MATRICES 1
typedef struct ndr_inputs {
    float bias;
    float old;
    uchar ndr_none;
} ndr_inputs;
NDR_INLINE_ ndr_inputs ndr_load_inputs(ulong ndr_i0, const ulong ndr_i1, const ulong ndr_i2 EPILOGUE_PARAMETERS)
{
    ndr_i0 += ndr_first;
    const ndr_inputs ndr_of = {
        ndr_in_bias[ndr_in_bias_at.s0 + (long)ndr_i2],
        vload_half(ndr_in_old_at.s0 + (long)ndr_i0 * ndr_in_old_at.s1 + (long)ndr_i1 * ndr_in_old_at.s2 + (long)ndr_i2,
                   ndr_in_old),
        0
    };
    return ndr_of;
}
NDR_INLINE_ float ndr_epilogue(const float ndr_r, const ndr_inputs ndr_of, ulong ndr_i0, const ulong ndr_i1,
                               const ulong ndr_i2 EPILOGUE_PARAMETERS)
{
    return ndr_r * ndr_of.bias + ndr_of.old;
}
#include "matmul/units.cl"
