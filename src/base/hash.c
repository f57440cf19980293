/* hash.c - a 128-bit hash of bytes.
 *
 * MurmurHash3_x64_128 by Austin Appleby (public domain). It is wide enough that two texts of a process do not share
 * a hash by chance. It does not resist deliberate collisions, and need not: a user who chooses a kernel's source
 * also chooses the code that runs. */
#include "base/base.h"

static uint64_t rotate(uint64_t x, unsigned bits) { return x << bits | x >> (64 - bits); }

/* Up to 8 bytes, little-endian; missing bytes are 0. */
static uint64_t load_word(const unsigned char *bytes, size_t count)
{
    uint64_t word = 0;
    for (size_t i = 0; i < ndr_min_size(count, 8); ++i) word |= (uint64_t)bytes[i] << 8 * i;
    return word;
}

static const uint64_t first_factor = 0x87c37b91114253d5, second_factor = 0x4cf5ad432745937f;

/* Mix one block of up to 16 bytes. Only a whole block also rotates the state. */
static void mix_block(ndr_hash *hash, const unsigned char *bytes, size_t count)
{
    uint64_t *h = hash->words;
    h[0] ^= rotate(load_word(bytes, count) * first_factor, 31) * second_factor;
    if (count >= 16) h[0] = (rotate(h[0], 27) + h[1]) * 5 + 0x52dce729;
    if (count > 8) h[1] ^= rotate(load_word(bytes + 8, count - 8) * second_factor, 33) * first_factor;
    if (count >= 16) h[1] = (rotate(h[1], 31) + h[0]) * 5 + 0x38495ab5;
}

/* Every bit of `x` reaches every bit of the result. */
static uint64_t mix_final(uint64_t x)
{
    x = (x ^ x >> 33) * 0xff51afd7ed558ccd;
    x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53;
    return x ^ x >> 33;
}

ndr_hash ndr_hash_bytes(const void *bytes, size_t count, uint32_t seed)
{
    const unsigned char *at = bytes;
    ndr_hash hash = { { seed, seed } };
    size_t left = count;
    for (; left >= 16; left -= 16, at += 16) mix_block(&hash, at, 16);
    if (left > 0) mix_block(&hash, at, left);
    uint64_t *h = hash.words;
    h[0] ^= count;
    h[1] ^= count;
    h[0] += h[1];
    h[1] += h[0];
    h[0] = mix_final(h[0]);
    h[1] = mix_final(h[1]);
    h[0] += h[1];
    h[1] += h[0];
    return hash;
}

bool ndr_hash_equal(ndr_hash a, ndr_hash b) { return a.words[0] == b.words[0] && a.words[1] == b.words[1]; }
