/* dtype.c - the element types: their names for users and in OpenCL C, and their sizes; floats of 16 bits; the operators'
 * names. */
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
        [NDR_DTYPE_BF16] = { "bf16", "ushort", 2, true, true },
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

bool ndr_dtype_is_narrow(ndr_dtype dtype) { return dtype == NDR_DTYPE_F16 || dtype == NDR_DTYPE_BF16; }

const char *ndr_dtype_options(ndr_dtype dtype)
{
    static const char *const options[] = {
        [NDR_DTYPE_I8] = "-DT=char",
        [NDR_DTYPE_U8] = "-DT=uchar",
        [NDR_DTYPE_I16] = "-DT=short",
        [NDR_DTYPE_U16] = "-DT=ushort",
        [NDR_DTYPE_I32] = "-DT=int",
        [NDR_DTYPE_U32] = "-DT=uint",
        [NDR_DTYPE_I64] = "-DT=long",
        [NDR_DTYPE_U64] = "-DT=ulong",
        [NDR_DTYPE_F32] = "-DT=float",
        [NDR_DTYPE_F64] = "-DT=double",
        [NDR_DTYPE_F16] = "-DT=float -DNARROW=1",
        [NDR_DTYPE_BF16] = "-DT=float -DNARROW=2",
    };
    return options[dtype];
}

/* ---- floats of 16 bits ---- */

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* bits / 2^count, rounded to the nearest integer, or to the even one of two. */
static uint32_t shift_rounding(uint32_t bits, unsigned count)
{
    return (bits + (1u << (count - 1)) - 1 + (bits >> count & 1)) >> count;
}

enum { FLOAT_INFINITY = 0x7f800000, FLOAT_QUIET = 0x400000, FLOAT_SIGN = 31 };

/* A half has 5 bits of exponent, biased by 15, and 10 of fraction; a float 8, biased by 127, and 23. */
static uint32_t half_magnitude(uint32_t bits)
{
    const uint32_t exponent = bits >> 23;
    if (bits > FLOAT_INFINITY) return 0x7e00 | (bits >> 13 & 0x3ff); /* NaN */
    if (exponent >= 127 + 16) return 0x7c00;                         /* infinity; rounding takes 65520 there too */
    if (exponent > 127 - 15) return shift_rounding(bits - ((127 - 15) << 23), 13);
    const unsigned count = 126 - exponent; /* of a multiple of 2^-24 */
    return count > 24 ? 0 : shift_rounding((bits & 0x7fffff) | 0x800000, count);
}

uint16_t ndr_f16_from_float(float value)
{
    const uint32_t bits = bits_of(value);
    return (uint16_t)((bits >> 16 & 0x8000) | half_magnitude(bits & 0x7fffffff));
}

float ndr_f16_to_float(uint16_t bits)
{
    const uint32_t sign = (uint32_t)bits >> 15 << FLOAT_SIGN, magnitude = bits & 0x7fff;
    if (magnitude > 0x7c00) return float_of(sign | FLOAT_INFINITY | FLOAT_QUIET | (magnitude & 0x3ff) << 13);
    if (magnitude == 0x7c00) return float_of(sign | FLOAT_INFINITY);
    if (magnitude >= 0x400) return float_of(sign | ((magnitude << 13) + ((127 - 15) << 23)));
    return float_of(sign | bits_of((float)magnitude / (1 << 24)));
}

uint16_t ndr_bf16_from_float(float value)
{
    const uint32_t bits = bits_of(value);
    const bool is_nan = (bits & 0x7fffffff) > FLOAT_INFINITY;
    return (uint16_t)(is_nan ? (bits | FLOAT_QUIET) >> 16 : shift_rounding(bits, 16));
}

float ndr_bf16_to_float(uint16_t bits)
{
    const bool is_nan = (bits & 0x7fff) > FLOAT_INFINITY >> 16;
    return float_of((uint32_t)bits << 16 | (is_nan ? FLOAT_QUIET : 0));
}

static ndr_status check_narrow(const char *call, ndr_dtype dtype, size_t count, const void *from, const void *to)
{
    NDR_REQUIRE(ndr_dtype_is_narrow(dtype), "%s: dtype is %s; use NDR_DTYPE_F16 or NDR_DTYPE_BF16", call,
                dtype == NDR_DTYPE_NONE ? "not set" : ndr_dtype_name(dtype));
    NDR_REQUIRE(count == 0 || (from && to),
                "%s: floats or bits is NULL, but count is %zu; pass memory for that many elements, or 0", call, count);
    return NDR_OK;
}

ndr_status ndr_narrow_floats(ndr_dtype dtype, size_t count, const float *floats, uint16_t *bits)
{
    NDR_TRY(check_narrow("ndr_narrow_floats", dtype, count, floats, bits));
    for (size_t i = 0; i < count; ++i)
        bits[i] = dtype == NDR_DTYPE_F16 ? ndr_f16_from_float(floats[i]) : ndr_bf16_from_float(floats[i]);
    return NDR_OK;
}

ndr_status ndr_widen_floats(ndr_dtype dtype, size_t count, const uint16_t *bits, float *floats)
{
    NDR_TRY(check_narrow("ndr_widen_floats", dtype, count, bits, floats));
    for (size_t i = 0; i < count; ++i)
        floats[i] = dtype == NDR_DTYPE_F16 ? ndr_f16_to_float(bits[i]) : ndr_bf16_to_float(bits[i]);
    return NDR_OK;
}
