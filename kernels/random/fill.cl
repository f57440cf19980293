/* fill.cl - random numbers: values of a stream, from one index on.
 *
 *   stream    | 0 1 2 3 | 4 5 6 7 | 8 9 ...        a block of Philox gives the LANES values of 16 bytes
 *   output        | 2 3 | 4 5 6 7 | 8              `count` values, from value `first` on
 *
 * An item makes BLOCKS blocks, RUN at a time. Where items have vector registers these are many, and the compiler
 * vectorises the loops over the values of a run. Elsewhere an item makes one block; neighbours store side by side. */
#include "join.clh"
#include "ndr/nd_item.clh"
#include "ndr/random.clh"

#define UNIFORM 0
#define BELOW 1
#define NORMAL 2
#define PERMUTED 3

/* Defaults, so that the file compiles alone; the library sets others. */
#ifndef T
#define T uint /* or ulong, also for signed integers; float, double */
#endif
#ifndef DRAW
#define DRAW UNIFORM /* of any T; BELOW and PERMUTED: integers; NORMAL: floats */
#endif
#ifndef BLOCKS
#define BLOCKS 1
#endif

/* Of each T: the values of a block, and the type of a word that becomes one of them. */
#define LANES_uint 4
#define LANES_float 4
#define LANES_ulong 2
#define LANES_double 2
#define LANES JOIN(LANES_, T)
#define V JOIN(T, LANES)
#define WORD_uint uint
#define WORD_float uint
#define WORD_ulong ulong
#define WORD_double ulong
#define WORD JOIN(WORD_, T)

#if BLOCKS > 1
#define RUN 64 /* blocks; a multiple of 8 */
#else
#define RUN 1
#endif
#define VALUES (RUN * LANES) /* of a run */

/* What values are made of. */
typedef struct draw_of {
    ndr_random random;
    WORD n, refused; /* of BELOW: words x with x * n mod 2^width below `refused` are refused */
    WORD low;        /* is added to integers */
} draw_of;

/* ---- the words of a run ---- */

#if RUN == 1
static inline void read_uint(ndr_random r, ulong block, uint *words)
{
    const ndr_words_ of = ndr_random_block_(r, block, 0);
    words[0] = of.x, words[1] = of.y, words[2] = of.z, words[3] = of.w;
}

static inline void read_ulong(ndr_random r, ulong block, ulong *words)
{
    const ndr_words_ of = ndr_random_block_(r, block, 0);
    words[0] = ndr_random_low_(of), words[1] = ndr_random_high_(of);
}

#else
/* The 64-bit halves of eight blocks, which are side by side in lanes of 64 bits: products of 32 bits would be
 * vectorised with many conversions. The upper half of a lane may hold anything. */
static inline void read_eight(ndr_random r, ulong block, ulong *halves)
{
    const ulong low = 0xFFFFFFFF;
    const ulong8 b = block + (ulong8)(0, 1, 2, 3, 4, 5, 6, 7);
    ulong8 x = b, y = b >> 32, z = r.stream, w = r.stream >> 32;
    uint key0 = (uint)r.seed, key1 = (uint)(r.seed >> 32);
#pragma unroll
    for (uint round = 0; round < 10; ++round) {
        const ulong8 first = (x & low) * 0xD2511F53ul, second = (z & low) * 0xCD9E8D57ul;
        x = second >> 32 ^ y ^ key0, y = second;
        z = first >> 32 ^ w ^ key1, w = first;
        key0 += 0x9E3779B9u, key1 += 0xBB67AE85u;
    }
    ulong lower[8], upper[8]; /* arrays: the fault vector_part_uninitialised */
    vstore8((x & low) | y << 32, 0, lower);
    vstore8((z & low) | w << 32, 0, upper);
#pragma unroll
    for (uint j = 0; j < 8; ++j) halves[2 * j] = lower[j], halves[2 * j + 1] = upper[j];
}

static inline void read_uint(ndr_random r, ulong block, uint *words)
{
    for (uint i = 0; i < RUN; i += 8) {
        ulong halves[16];
        read_eight(r, block + i, halves);
        vstore16(as_uint16(vload8(0, halves)), i / 4, words);
        vstore16(as_uint16(vload8(1, halves)), i / 4 + 1, words);
    }
}

static inline void read_ulong(ndr_random r, ulong block, ulong *words)
{
    for (uint i = 0; i < RUN; i += 8) read_eight(r, block + i, words + 2 * i);
}
#endif
#define READ JOIN(read_, WORD)

/* ---- the values of a run, of which the first is value i ---- */

#define UNIFORM_uint(word, low) ((word) + (low))
#define UNIFORM_ulong(word, low) ((word) + (low))
#define UNIFORM_float(word, low) ndr_random_unit_float_(word)
#define UNIFORM_double(word, low) ndr_random_unit_double_(word)
#define UNIFORM_OF JOIN(UNIFORM_, T)

#define TWO_NORMALS JOIN(JOIN(ndr_normal_, T), s_)
#define NORMALS_OF JOIN(JOIN(ndr_random_normal_, T), s_)

#define SCALE JOIN(JOIN(ndr_random_scale_, T), _)
#define BELOW_N JOIN(JOIN(ndr_random_, T), _below)

#if DRAW == PERMUTED
/* Of elements past the end any value: they are not stored. */
static inline void make_run(const draw_of *d, const ndr_permutation_ *p, ulong i, T *v)
{
    ulong to[VALUES];
    for (uint k = 0; k < VALUES; ++k) to[k] = ndr_permute_once_(p, min(i + k, (ulong)d->n - 1));
    for (uint k = 0; k < VALUES; ++k) {
        while (to[k] >= d->n) to[k] = ndr_permute_once_(p, to[k]);
        v[k] = d->low + (T)to[k];
    }
}

#else
static inline void make_run(const draw_of *d, const ndr_permutation_ *p, ulong i, T *v)
{
    WORD words[VALUES];
    READ(d->random, i / LANES, words);
#if DRAW == NORMAL
    for (uint k = 0; k < VALUES; k += 2) {
        const TWO_NORMALS two = NORMALS_OF(words[k], words[k + 1]);
        v[k] = two.x, v[k + 1] = two.y;
    }
#elif DRAW == UNIFORM
    for (uint k = 0; k < VALUES; ++k) v[k] = UNIFORM_OF(words[k], d->low);
#else
    uint is_refused = 0;
    for (uint k = 0; k < VALUES; ++k) {
        v[k] = d->low + SCALE(words[k], d->n);
        is_refused |= words[k] * d->n < d->refused;
    }
    if (!is_refused) return;
    for (uint k = 0; k < VALUES; ++k)
        if (words[k] * d->n < d->refused) v[k] = d->low + BELOW_N(d->random, i + k, d->n);
#endif
    (void)p;
}
#endif

/* ---- stores ---- */

/* The run's values from `begin` to before `end`; `to` is where the first of them goes. On GPUs one access of 16 bytes,
 * where the address allows it, is several times as fast as four. */
static inline void store_run(global T *to, const T *v, uint begin, uint end)
{
#if RUN == 1
    if (end - begin == LANES && (uintptr_t)to % sizeof(V) == 0) *(global V *)to = JOIN(vload, LANES)(0, v);
    else
#endif
    for (uint k = begin; k < end; ++k) to[k - begin] = v[k];
}

kernel void random_fill(global T *output, ulong offset, ulong count, ulong seed, ulong stream, ulong first, ulong n,
                        ulong refused, ulong low, NDR_ND_RANGE(1))
{
    const ulong item = ndr_global_id(NDR_ND_ITEM(1), 0);
    const ulong begin = first - first % LANES + item * (BLOCKS * LANES);
    const ulong last = min(begin + BLOCKS * LANES, first + count);
    const draw_of d = { ndr_random_of(seed, stream), (WORD)n, (WORD)refused, (WORD)low };
#if DRAW == PERMUTED
    ndr_permutation_ permutation, *const p = &permutation;
    ndr_permutation_set_(p, d.random, n);
#else
    const ndr_permutation_ *const p = 0;
#endif
    for (ulong i = begin; i < last; i += VALUES) {
        T v[VALUES];
        const ulong from = max(i, first);
        make_run(&d, p, i, v);
        store_run(output + offset + (from - first), v, (uint)(from - i), (uint)min(last - i, (ulong)VALUES));
    }
}
