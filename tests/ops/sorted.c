/* sorted.c - the order of keys, as sorted.h describes it. */
#include "sorted.h"
#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int compare_numbers(double a, double b)
{
    if (isnan(a) || isnan(b)) return isnan(a) - isnan(b);
    return (a > b) - (a < b);
}

#define COMPARE_AS(type)                                  \
    {                                                     \
        type x, y;                                        \
        memcpy(&x, a, sizeof x), memcpy(&y, b, sizeof y); \
        return (x > y) - (x < y);                         \
    }

static int compare_keys(ndr_dtype dtype, const void *a, const void *b)
{
    switch (dtype) {
    case NDR_DTYPE_I8: COMPARE_AS(int8_t)
    case NDR_DTYPE_U8: COMPARE_AS(uint8_t)
    case NDR_DTYPE_I16: COMPARE_AS(int16_t)
    case NDR_DTYPE_U16: COMPARE_AS(uint16_t)
    case NDR_DTYPE_I32: COMPARE_AS(int32_t)
    case NDR_DTYPE_U32: COMPARE_AS(uint32_t)
    case NDR_DTYPE_I64: COMPARE_AS(int64_t)
    case NDR_DTYPE_U64: COMPARE_AS(uint64_t)
    case NDR_DTYPE_F16:
    case NDR_DTYPE_BF16: {
        float x, y;
        assert_int_equal(ndr_widen_floats(dtype, 1, a, &x), NDR_OK);
        assert_int_equal(ndr_widen_floats(dtype, 1, b, &y), NDR_OK);
        return compare_numbers((double)x, (double)y);
    }
    case NDR_DTYPE_F32: {
        float x, y;
        memcpy(&x, a, sizeof x), memcpy(&y, b, sizeof y);
        return compare_numbers((double)x, (double)y);
    }
    default: {
        double x, y;
        memcpy(&x, a, sizeof x), memcpy(&y, b, sizeof y);
        return compare_numbers(x, y);
    }
    }
}

/* The bits of an integer key as the header counts them. */
static uint64_t bits_of(ndr_dtype dtype, const void *key, unsigned begin, unsigned end)
{
    uint64_t bits = 0;
    const unsigned width = 8 * (unsigned)ndr_dtype_size(dtype);
    memcpy(&bits, key, width / 8);
    const bool is_signed = dtype == NDR_DTYPE_I8 || dtype == NDR_DTYPE_I16 || dtype == NDR_DTYPE_I32
                           || dtype == NDR_DTYPE_I64;
    if (is_signed) bits ^= (uint64_t)1 << (width - 1);
    return bits >> begin & UINT64_MAX >> (64 - (end - begin));
}

static int compare_in_order(const key_order *s, const unsigned char *keys, size_t a, size_t b)
{
    const size_t size = ndr_dtype_size(s->dtype);
    const void *x = keys + a * size, *y = keys + b * size;
    int order = compare_keys(s->dtype, x, y);
    if (s->end_bit) {
        const uint64_t i = bits_of(s->dtype, x, s->begin_bit, s->end_bit);
        const uint64_t j = bits_of(s->dtype, y, s->begin_bit, s->end_bit);
        order = (i > j) - (i < j);
    }
    return s->is_descending ? -order : order;
}

static void sort_some(const key_order *s, const unsigned char *keys, size_t *order, size_t *scratch, size_t count)
{
    if (count < 2) return;
    const size_t half = count / 2;
    sort_some(s, keys, order, scratch, half);
    sort_some(s, keys, order + half, scratch, count - half);
    memcpy(scratch, order, count * sizeof *order);
    for (size_t i = 0, j = half, k = 0; k < count; ++k)
        order[k] = j == count || (i < half && compare_in_order(s, keys, scratch[i], scratch[j]) <= 0) ? scratch[i++]
                                                                                             : scratch[j++];
}

size_t *sorted_indices(const key_order *order, const unsigned char *keys, size_t count)
{
    size_t *indices = malloc((2 * count + 1) * sizeof *indices);
    for (size_t i = 0; i < count; ++i) indices[i] = i;
    sort_some(order, keys, indices, indices + count, count);
    return indices;
}

/* ---- keys ---- */

unsigned char *keys_of(ndr_dtype dtype, size_t count, key_pattern which, uint64_t seed)
{
    const size_t size = ndr_dtype_size(dtype);
    unsigned char *keys = malloc(count * size + 1);
    uint64_t state = seed + 77 * (uint64_t)which + 1;
    for (size_t i = 0; i < count; ++i) {
        const uint64_t random = random_bits(&state);
        uint64_t bits = random;
        if (which == FEW) bits = random % 3 * UINT64_C(0x8040201008040201);
        if (which == EQUAL) bits = UINT64_C(0x3f3f3f3f3f3f3f3f);
        if (which == UP) bits = i;
        if (which == DOWN) bits = count - i;
        if (which == HIGH_BITS) bits = random & UINT64_C(0xf000f000f000f0f0);
        memcpy(keys + i * size, &bits, size); /* little-endian */
    }
    return keys;
}
