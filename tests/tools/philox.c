/* philox.c - the expected values of random streams. */
#include "philox.h"

#include <float.h>
#include <math.h>

/* ---- the generator ---- */

static uint32_t high(uint64_t x) { return (uint32_t)(x >> 32); }

void philox(uint32_t words[4], const uint32_t key[2])
{
    uint32_t k[2] = { key[0], key[1] };
    for (int round = 0; round < 10; ++round) {
        const uint64_t p0 = (uint64_t)0xD2511F53 * words[0], p1 = (uint64_t)0xCD9E8D57 * words[2];
        const uint32_t next[4] = { high(p1) ^ words[1] ^ k[0], (uint32_t)p1, high(p0) ^ words[3] ^ k[1], (uint32_t)p0 };
        for (int i = 0; i < 4; ++i) words[i] = next[i];
        k[0] += 0x9E3779B9;
        k[1] += 0xBB67AE85;
    }
}

static void read_block(uint64_t seed, uint64_t stream, uint64_t block, uint32_t attempt, uint32_t words[4])
{
    const uint64_t counter = block | (uint64_t)attempt << 48;
    words[0] = (uint32_t)counter;
    words[1] = high(counter);
    words[2] = (uint32_t)stream;
    words[3] = high(stream);
    philox(words, (const uint32_t[]){ (uint32_t)seed, high(seed) });
}

uint32_t philox_u32(uint64_t seed, uint64_t stream, uint64_t i, uint32_t attempt)
{
    uint32_t words[4];
    read_block(seed, stream, i / 4, attempt, words);
    return words[i % 4];
}

uint64_t philox_u64(uint64_t seed, uint64_t stream, uint64_t i, uint32_t attempt)
{
    uint32_t words[4];
    read_block(seed, stream, i / 2, attempt, words);
    return words[i % 2 * 2] | (uint64_t)words[i % 2 * 2 + 1] << 32;
}

/* ---- integers below n ---- */

uint64_t product_high(uint64_t a, uint64_t b)
{
    const uint64_t a0 = (uint32_t)a, b0 = (uint32_t)b, a1 = a >> 32, b1 = b >> 32;
    const uint64_t middle = a1 * b0 + (a0 * b0 >> 32), other = a0 * b1 + (uint32_t)middle;
    return a1 * b1 + (middle >> 32) + (other >> 32);
}

uint32_t philox_u32_below(uint64_t seed, uint64_t stream, uint64_t i, uint32_t n)
{
    const uint64_t width = (uint64_t)1 << 32, refused = width % n;
    for (uint32_t attempt = 0;; ++attempt) {
        const uint64_t product = (uint64_t)philox_u32(seed, stream, i, attempt) * n;
        if (product % width >= refused) return (uint32_t)(product / width);
    }
}

uint64_t philox_u64_below(uint64_t seed, uint64_t stream, uint64_t i, uint64_t n)
{
    const uint64_t refused = (UINT64_MAX % n + 1) % n;
    for (uint32_t attempt = 0;; ++attempt) {
        const uint64_t x = philox_u64(seed, stream, i, attempt);
        if (x * n >= refused) return product_high(x, n);
    }
}

/* ---- floats ---- */

float philox_f32(uint64_t seed, uint64_t stream, uint64_t i)
{
    return ldexpf((float)(philox_u32(seed, stream, i, 0) >> 8), -24);
}

double philox_f64(uint64_t seed, uint64_t stream, uint64_t i)
{
    return ldexp((double)(philox_u64(seed, stream, i, 0) >> 11), -53);
}

void normals_of(uint64_t a, uint64_t b, unsigned bits, long double values[2])
{
    const long double pi = 3.14159265358979323846264338327950288L, whole = ldexpl(1, (int)bits);
    const long double u = (long double)(a | 1), v = (long double)(b | 1);
    /* Near 1 by the exact difference from 1. */
    const long double log_u = u > whole / 2 ? log1pl((u - whole) / whole) : logl(u / whole);
    const long double radius = sqrtl(-2 * log_u);
    /* To the nearest quarter of a turn, exactly: the cosine and sine are small there. */
    const long double quarter = floorl(v / whole * 4 + 0.5L), rest = 2 * pi * ((v - quarter * (whole / 4)) / whole);
    const long double c = cosl(rest), s = sinl(rest);
    const int q = (int)quarter % 4;
    values[0] = radius * (q == 0 ? c : q == 1 ? -s : q == 2 ? -c : s);
    values[1] = radius * (q == 0 ? s : q == 1 ? c : q == 2 ? -s : -c);
}

long double philox_normal(ndr_dtype dtype, uint64_t seed, uint64_t stream, uint64_t i)
{
    const uint64_t first = i / 2 * 2;
    long double values[2];
    if (dtype == NDR_DTYPE_F32)
        normals_of(philox_u32(seed, stream, first, 0), philox_u32(seed, stream, first + 1, 0), 32, values);
    else normals_of(philox_u64(seed, stream, first, 0), philox_u64(seed, stream, first + 1, 0), 64, values);
    return values[i % 2];
}

long double ulps_from(ndr_dtype dtype, long double value, long double exact)
{
    int exponent;
    (void)frexpl(exact, &exponent);
    return fabsl(value - exact) / ldexpl(1, exponent - (dtype == NDR_DTYPE_F32 ? FLT_MANT_DIG : DBL_MANT_DIG));
}

/* ---- permutations ---- */

static uint32_t mix(uint32_t x, uint32_t key)
{
    x = (x ^ key) * 0xD2511F53;
    x = (x ^ x >> 16) * 0xCD9E8D57;
    return x ^ x >> 15;
}

static uint64_t permute_once(const uint32_t keys[24], unsigned bits, uint64_t i)
{
    const unsigned low_bits = bits / 2, high_bits = bits - low_bits;
    uint64_t low = i % ((uint64_t)1 << low_bits), up = i >> low_bits;
    for (int round = 0; round < 24; ++round) {
        if (round % 2 == 0) up ^= mix((uint32_t)low, keys[round]) % ((uint64_t)1 << high_bits);
        else low ^= mix((uint32_t)up, keys[round]) % ((uint64_t)1 << low_bits);
    }
    return up << low_bits | low;
}

uint64_t philox_permuted(uint64_t seed, uint64_t stream, uint64_t i, uint64_t n)
{
    uint32_t keys[24];
    unsigned bits = 0;
    while (bits < 64 && (n - 1) >> bits) ++bits;
    for (uint32_t j = 0; j < 6; ++j) read_block(seed, stream, n - 1, 0xFFF8 + j, keys + 4 * j);
    do i = permute_once(keys, bits, i);
    while (i >= n);
    return i;
}
