/* scanned.c - scans by plain loops, as scanned.h describes them. */
#include "scanned.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static bool is_signed(ndr_dtype dtype)
{
    return dtype == NDR_DTYPE_I8 || dtype == NDR_DTYPE_I16 || dtype == NDR_DTYPE_I32 || dtype == NDR_DTYPE_I64;
}

static uint64_t mask_of(ndr_dtype dtype) { return UINT64_MAX >> (64 - 8 * ndr_dtype_size(dtype)); }

/* ---- integers ---- */

static bool is_less(ndr_dtype dtype, uint64_t a, uint64_t b)
{
    const uint64_t sign = is_signed(dtype) ? (mask_of(dtype) >> 1) + 1 : 0;
    return (a ^ sign) < (b ^ sign);
}

static uint64_t combine_integers(ndr_dtype dtype, ndr_op op, uint64_t a, uint64_t b)
{
    switch (op) {
    case NDR_OP_SUM: return (a + b) & mask_of(dtype);
    case NDR_OP_PRODUCT: return (a * b) & mask_of(dtype);
    case NDR_OP_BIT_AND: return a & b;
    case NDR_OP_BIT_OR: return a | b;
    case NDR_OP_BIT_XOR: return a ^ b;
    case NDR_OP_LOGICAL_AND: return a && b;
    case NDR_OP_LOGICAL_OR: return a || b;
    case NDR_OP_MIN: return is_less(dtype, b, a) ? b : a;
    default: return is_less(dtype, a, b) ? b : a;
    }
}

static uint64_t integer_identity(ndr_dtype dtype, ndr_op op)
{
    const uint64_t lowest = is_signed(dtype) ? (mask_of(dtype) >> 1) + 1 : 0;
    switch (op) {
    case NDR_OP_PRODUCT:
    case NDR_OP_LOGICAL_AND: return 1;
    case NDR_OP_BIT_AND: return mask_of(dtype);
    case NDR_OP_MIN: return ~lowest & mask_of(dtype);
    case NDR_OP_MAX: return lowest;
    default: return 0;
    }
}

/* ---- floats ---- */

static long double combine_floats(ndr_op op, scanned a, long double x)
{
    switch (op) {
    case NDR_OP_SUM: return a.value + x;
    case NDR_OP_PRODUCT: return a.value * x;
    case NDR_OP_LOGICAL_AND: return a.value != 0 && x != 0;
    case NDR_OP_LOGICAL_OR: return a.value != 0 || x != 0;
    case NDR_OP_MIN: return a.count ? fminl(a.value, x) : x;
    default: return a.count ? fmaxl(a.value, x) : x;
    }
}

static long double float_identity(ndr_op op)
{
    switch (op) {
    case NDR_OP_PRODUCT:
    case NDR_OP_LOGICAL_AND: return 1;
    case NDR_OP_MIN: return INFINITY;
    case NDR_OP_MAX: return -INFINITY;
    default: return 0;
    }
}

static bool is_close(ndr_dtype dtype, ndr_op op, scanned wanted, long double got)
{
    const long double eps = dtype == NDR_DTYPE_F32 ? (long double)FLT_EPSILON : (long double)DBL_EPSILON;
    if (isnan(wanted.value) || isnan(got)) return isnan(wanted.value) && isnan(got);
    if (isinf(wanted.value) || (op != NDR_OP_SUM && op != NDR_OP_PRODUCT)) return got == wanted.value;
    const long double bound =
        op == NDR_OP_SUM ? 256 * eps * wanted.magnitudes : (long double)wanted.count * eps * fabsl(wanted.value);
    return fabsl(got - wanted.value) <= bound;
}

/* ---- both ---- */

scanned scanned_nothing(ndr_dtype dtype, ndr_op op)
{
    return is_float(dtype) ? (scanned){ .value = float_identity(op) } : (scanned){ .bits = integer_identity(dtype, op) };
}

scanned scanned_with(ndr_dtype dtype, ndr_op op, scanned a, number x)
{
    if (!is_float(dtype)) {
        a.bits = combine_integers(dtype, op, a.bits, x.u64 & mask_of(dtype));
        return a;
    }
    a.value = combine_floats(op, a, real(dtype, x));
    a.magnitudes += fabsl(real(dtype, x));
    ++a.count;
    return a;
}

bool scanned_is(ndr_dtype dtype, ndr_op op, scanned wanted, number got)
{
    return is_float(dtype) ? is_close(dtype, op, wanted, real(dtype, got)) : (got.u64 & mask_of(dtype)) == wanted.bits;
}

const char *scanned_text(ndr_dtype dtype, scanned wanted)
{
    static char text[48];
    if (is_float(dtype)) snprintf(text, sizeof text, "%.20Lg", wanted.value);
    else snprintf(text, sizeof text, "%#" PRIx64, wanted.bits);
    return text;
}

number scanned_element(ndr_dtype dtype, ndr_op op, uint64_t *seed)
{
    const bool is_logical = op == NDR_OP_LOGICAL_AND || op == NDR_OP_LOGICAL_OR;
    number x = random_number(dtype, seed);
    if (op == NDR_OP_PRODUCT && dtype == NDR_DTYPE_F32) x.f32 = 1 + x.f32 / 256;
    if (op == NDR_OP_PRODUCT && dtype == NDR_DTYPE_F64) x.f64 = 1 + x.f64 / 256;
    if (op == NDR_OP_PRODUCT && !is_float(dtype)) x.u64 |= 1;
    if (is_logical && random_bits(seed) % 30 == (op == NDR_OP_LOGICAL_OR)) x = number_of(dtype, 0);
    if (op == NDR_OP_LOGICAL_OR && random_bits(seed) % 30) x = number_of(dtype, 0);
    return x;
}

ndr_arg scanned_arg(ndr_dtype dtype, number x)
{
    switch (dtype) {
    case NDR_DTYPE_I8: return ndr_arg_of((int8_t)x.u64);
    case NDR_DTYPE_I16: return ndr_arg_of((int16_t)x.u64);
    case NDR_DTYPE_I32: return ndr_arg_of(x.i32);
    case NDR_DTYPE_I64: return ndr_arg_of(x.i64);
    case NDR_DTYPE_F32: return ndr_arg_of(x.f32);
    case NDR_DTYPE_F64: return ndr_arg_of(x.f64);
    default: return ndr_arg_of(x.u64 & mask_of(dtype));
    }
}
