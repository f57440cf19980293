/* dtype.c - the element types: their names for users and in OpenCL C, and their sizes; half in bits; the operators' names. */
#include "base/base.h"

#include <string.h>

const ndr_dtype_info *ndr_dtype_describe(ndr_dtype dtype)
{
    static const ndr_dtype_info table[] = {
        [NDR_DTYPE_I8] = { "i8", "char", 1, false, true },
        [NDR_DTYPE_U8] = { "u8", "uchar", 1, false, false },
        [NDR_DTYPE_I16] = { "i16", "short", 2, false, true },
        [NDR_DTYPE_U16] = { "u16", "ushort", 2, false, false },
        [NDR_DTYPE_I32] = { "i32", "int", 4, false, true },
        [NDR_DTYPE_U32] = { "u32", "uint", 4, false, false },
        [NDR_DTYPE_I64] = { "i64", "long", 8, false, true },
        [NDR_DTYPE_U64] = { "u64", "ulong", 8, false, false },
        [NDR_DTYPE_F32] = { "f32", "float", 4, true, true },
        [NDR_DTYPE_F64] = { "f64", "double", 8, true, true },
        [NDR_DTYPE_F16] = { "f16", "half", 2, true, true },
    };
    const size_t index = (size_t)dtype;
    return index < NDR_COUNT_OF(table) && table[index].name ? &table[index] : NULL;
}

const char *ndr_dtype_name(ndr_dtype dtype)
{
    const ndr_dtype_info *info = ndr_dtype_describe(dtype);
    return info ? info->name : "?";
}

size_t ndr_dtype_size(ndr_dtype dtype)
{
    const ndr_dtype_info *info = ndr_dtype_describe(dtype);
    return info ? info->size_bytes : 0;
}

const char *ndr_op_name(ndr_op op)
{
    static const char *const names[] = {
        [NDR_OP_SUM] = "SUM",
        [NDR_OP_MIN] = "MIN",
        [NDR_OP_MAX] = "MAX",
        [NDR_OP_PRODUCT] = "PRODUCT",
        [NDR_OP_BIT_AND] = "BIT_AND",
        [NDR_OP_BIT_OR] = "BIT_OR",
        [NDR_OP_BIT_XOR] = "BIT_XOR",
        [NDR_OP_LOGICAL_AND] = "LOGICAL_AND",
        [NDR_OP_LOGICAL_OR] = "LOGICAL_OR",
    };
    return (unsigned)op < NDR_COUNT_OF(names) ? names[op] : NULL;
}

/* bits / 2^count, rounded to the nearest integer, or to the even one of two. */
static uint32_t shift_rounding(uint32_t bits, unsigned count)
{
    return (bits + (1u << (count - 1)) - 1 + (bits >> count & 1)) >> count;
}

/* A half has 5 bits of exponent, biased by 15, and 10 of fraction; a float 8, biased by 127, and 23. */
static uint32_t half_magnitude(uint32_t bits)
{
    const uint32_t exponent = bits >> 23;
    if (bits > 0x7f800000) return 0x7e00;     /* NaN */
    if (exponent >= 127 + 16) return 0x7c00;  /* infinity; rounding takes 65520 there too */
    if (exponent > 127 - 15) return shift_rounding(bits - ((127 - 15) << 23), 13);
    const unsigned count = 126 - exponent; /* of a multiple of 2^-24 */
    return count > 24 ? 0 : shift_rounding((bits & 0x7fffff) | 0x800000, count);
}

uint16_t ndr_half_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (uint16_t)((bits >> 16 & 0x8000) | half_magnitude(bits & 0x7fffffff));
}
