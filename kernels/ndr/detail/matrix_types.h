/* matrix_types.h - what ndr/matrix.clh knows of each element type, by its name. */
#ifndef NDR_DETAIL_MATRIX_TYPES_H
#define NDR_DETAIL_MATRIX_TYPES_H

#include "ndr/item.clh"

#define NDR_MATRIX_PASTE_2_(a, b) a##b
#define NDR_MATRIX_PASTE_(a, b) NDR_MATRIX_PASTE_2_(a, b)
#define NDR_MATRIX_OF_TYPE_(what) NDR_MATRIX_PASTE_(NDR_MATRIX_PASTE_(NDR_MATRIX_, what##_of_), NDR_MATRIX_TYPE)

/* Bytes of an element, its type in memory and its bits there; the type of sums. */
#define NDR_MATRIX_bytes_of_f16 2
#define NDR_MATRIX_bytes_of_bf16 2
#define NDR_MATRIX_bytes_of_i8 1
#define NDR_MATRIX_bytes_of_f32 4
#define NDR_MATRIX_bytes_of_f64 8
#define NDR_MATRIX_BYTES_ NDR_MATRIX_OF_TYPE_(bytes)
#define NDR_MATRIX_in_of_f16 half
#define NDR_MATRIX_in_of_bf16 ushort
#define NDR_MATRIX_in_of_i8 char
#define NDR_MATRIX_in_of_f32 float
#define NDR_MATRIX_in_of_f64 double
#define NDR_MATRIX_IN_ NDR_MATRIX_OF_TYPE_(in)
#define NDR_MATRIX_sum_of_f16 float
#define NDR_MATRIX_sum_of_bf16 float
#define NDR_MATRIX_sum_of_i8 int
#define NDR_MATRIX_sum_of_f32 float
#define NDR_MATRIX_sum_of_f64 double
#define NDR_MATRIX_T_ NDR_MATRIX_OF_TYPE_(sum)
#define NDR_MATRIX_has_float_sums_of_f16 1
#define NDR_MATRIX_has_float_sums_of_bf16 1
#define NDR_MATRIX_has_float_sums_of_i8 0
#define NDR_MATRIX_has_float_sums_of_f32 1
#define NDR_MATRIX_has_float_sums_of_f64 0
#define NDR_MATRIX_HAS_FLOAT_SUMS_ NDR_MATRIX_OF_TYPE_(has_float_sums)

/* Which of the library's NDR_MATRIX_UNITS has units for the type, 9 for none; for i8 only along columns of B. */
#define NDR_MATRIX_units_of_f16 1
#define NDR_MATRIX_units_of_bf16 1
#define NDR_MATRIX_units_of_i8 (NDR_MATRIX_B_BY_COLUMNS ? 1 : 9)
#define NDR_MATRIX_units_of_f32 9
#define NDR_MATRIX_units_of_f64 9
#define NDR_MATRIX_NEEDED_UNITS_ NDR_MATRIX_OF_TYPE_(units)

/* Element i of memory in the type of sums. */
#define NDR_MATRIX_value_of_f16(p, i) vload_half(i, p)
#define NDR_MATRIX_value_of_bf16(p, i) as_float((uint)(p)[i] << 16)
#define NDR_MATRIX_value_of_i8(p, i) (int)(p)[i]
#define NDR_MATRIX_value_of_f32(p, i) (p)[i]
#define NDR_MATRIX_value_of_f64(p, i) (p)[i]
#define NDR_MATRIX_VALUE_(p, i) NDR_MATRIX_OF_TYPE_(value)(p, i)

/* ---- rounding ---- */

/* The bfloat16 nearest to x, ties to even; a NaN stays one. */
NDR_INLINE_ ushort ndr_matrix_bfloat_(const float x)
{
    const uint bits = as_uint(x);
    return (ushort)(isnan(x) ? bits >> 16 | 0x40 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* Two neighbours in memory. */
#ifdef NDR_PTX
NDR_INLINE_ uint ndr_matrix_halves_(const float x, const float y)
{
    uint bits;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(y), "f"(x));
    return bits;
}
#else
NDR_INLINE_ uint ndr_matrix_halves_(const float x, const float y)
{
    uint bits;
    vstore_half2_rte((float2)(x, y), 0, (half *)&bits);
    return bits;
}
#endif
NDR_INLINE_ uint ndr_matrix_bfloats_(const float x, const float y)
{
    return ndr_matrix_bfloat_(x) | (uint)ndr_matrix_bfloat_(y) << 16;
}

#endif
