/* exact.cl - the sum of floats, or of their products, as if all were added without rounding; rounded once, at the end.
 *
 * Integers alone: so the bits are the same on every device, with any number of groups, for every order of the input.
 *
 *   a long number   | limb 0 | limb 1 | ...            each group has one: 32 bits a limb, more until carries move up
 *   a window        the exponents base ... base + REACH, of which an item has PARTS 64-bit sums for each lane: a
 *                   significand, shifted by its distance from the base, is added with its sign
 *
 * Groups read blocks of ROWS rows. As long as all exponents of a block lie in the window, nothing else happens. If one
 * does not, the block's sums are dropped, and the block is read once for each window that it needs, from its largest
 * exponent on; the next block begins with the first of these. So common data take one pass, and data of extreme range a
 * pass for every 30 to 50 binary orders of magnitude.
 */
#include "join.clh"
#include "ndr/nd_item.clh"
#include "ndr/detail/fetch.h"
#include "ndr/detail/workspace.h"
#include "shared/exact.h"

/* Defaults, so that the file compiles alone; the library sets others. */
#ifndef WORD
#define WORD uint /* as wide as an element */
#endif
#ifndef IS_DOT
#define IS_DOT 0
#endif
#ifndef GROUP
#define GROUP 256 /* items of a group; 1: on CPUs */
#endif
#ifndef LANES
#define LANES 4 /* elements of an item in a row */
#endif
#ifndef ROWS
#define ROWS 16 /* of a block: 64 at most */
#endif
#ifndef FETCH_AHEAD
#define FETCH_AHEAD 0 /* 1 on CPUs */
#endif

/* ---- the format ---- */

#define IS_64_uint 0
#define IS_64_ulong 1
#define IS_64 JOIN(IS_64_, WORD)
#define SIGNED_uint int
#define SIGNED_ulong long
#if IS_64
#define FRACTION 52
#define MOST 2047 /* the exponent of infinities and NaN */
#define SMALLEST 1074 /* the least number is 2^-SMALLEST */
#else
#define FRACTION 23
#define MOST 255
#define SMALLEST 149
#endif
#define WIDTH (8 * sizeof(WORD))
#define HIDDEN ((WORD)1 << FRACTION)
#define INFINITE ((WORD)MOST << FRACTION)
#define SIGN_BIT ((WORD)1 << (WIDTH - 1))

/* Positions count from the last bit of the smallest element or product. */
#define LAST_POSITION NDR_EXACT_LAST_POSITION(IS_64, IS_DOT)
#define UNIT (IS_DOT ? SMALLEST : 0) /* of the smallest number */
#define SPECIAL (4 * MOST)           /* of what is infinite or NaN */

/* A significand and its distance: 24 + 33 bits in one part, of 64 rows; or digits of DIGIT bits. */
#define DIGIT NDR_EXACT_DIGIT
#define PARTS NDR_EXACT_PARTS(IS_64, IS_DOT)
#define REACH (PARTS == 1 ? 33 : DIGIT)
#define ROOM 3 /* of REACH, above the largest exponent of the block that decides the window */

#define LIMBS NDR_EXACT_LIMBS(IS_64, IS_DOT)
#define CELLS NDR_EXACT_CELLS(IS_64, IS_DOT)
#define LIMB_MASK 0xffffffffUL

#define W JOIN(WORD, LANES)
#define S JOIN(JOIN(SIGNED_, WORD), LANES)
#define L JOIN(long, LANES)
#define U JOIN(ulong, LANES)
#define TO(type, x) JOIN(convert_, type)(x)
#define AS(type, x) JOIN(as_, type)(x)

/* ---- elements ---- */

#define ROW ((ulong)GROUP * LANES)
#define BLOCK (ROW * ROWS)

/* `second` has the factors of a dot product; otherwise it is not read. */
#define INPUT global const WORD *first, global const WORD *second, const ulong count
#define INPUT_VALUES first, second, count
#if IS_DOT
#define ELEMENTS const W x, const W y
#define ELEMENT_VALUES x, y
#define LOAD_ELEMENTS(i) const W x = load(first, i, count), y = load(second, i, count)
#else
#define ELEMENTS const W x
#define ELEMENT_VALUES x
#define LOAD_ELEMENTS(i) const W x = load(first, i, count)
#endif

/* An item's elements of the row that begins at i; those from `count` on are 0. Which item has which does not matter. */
#if GROUP == 1
typedef struct __attribute__((packed)) anywhere {
    W v;
} anywhere;

static inline W load(global const WORD *x, const ulong i, const ulong count)
{
    if (i + LANES <= count) {
#if FETCH_AHEAD
        if (i * sizeof(WORD) % NDR_FETCH_EVERY_ == 0)
            NDR_FETCH_((global const char *)(x + i) + NDR_FETCH_BYTES_, 0, 2);
#endif
        return ((global const anywhere *)(x + i))->v;
    }
    WORD lane[LANES];
    for (uint k = 0; k < LANES; ++k) lane[k] = i + k < count ? x[i + k] : 0;
    return JOIN(vload, LANES)(0, lane);
}
#else
static inline W load(global const WORD *x, const ulong i, const ulong count)
{
    const ulong first = i + get_local_id(0);
    WORD lane[LANES];
#pragma unroll
    for (uint k = 0; k < LANES; ++k) lane[k] = first + k * GROUP < count ? x[first + k * GROUP] : 0;
    return JOIN(vload, LANES)(0, lane);
}
#endif

static inline W exponent_of(const W x) { return (x >> FRACTION) & (WORD)MOST; }

static inline W is_special(const W x) { return AS(W, exponent_of(x) == (WORD)MOST); }

/* Subnormal numbers have the exponent 1 and no hidden bit. */
static inline W significand_of(const W x)
{
    return (x & (HIDDEN - 1)) | (AS(W, exponent_of(x) != (WORD)0) & HIDDEN);
}

/* The position of the last bit of an element, or product; SPECIAL or more if it is infinite or NaN. */
static inline W position_of(ELEMENTS)
{
    const W a = max(exponent_of(x), (WORD)1) - 1;
#if IS_DOT
    return (a + max(exponent_of(y), (WORD)1) - 1) | ((is_special(x) | is_special(y)) & SPECIAL);
#else
    return a | (is_special(x) & SPECIAL);
#endif
}

/* All bits if an element, or product, is not 0: inf * 0 is not. */
static inline W is_not_zero(ELEMENTS)
{
    const W a = AS(W, x << 1 != (WORD)0);
#if IS_DOT
    return (a & AS(W, y << 1 != (WORD)0)) | is_special(x) | is_special(y);
#else
    return a;
#endif
}

static inline W sign_of(ELEMENTS)
{
#if IS_DOT
    return AS(W, AS(S, x ^ y) >> (WIDTH - 1));
#else
    return AS(W, AS(S, x) >> (WIDTH - 1));
#endif
}

/* ---- windows ---- */

#define TO_L(x) JOIN(convert_, L)(AS(S, x)) /* keeps the sign */
#define TO_U(x) JOIN(convert_, U)(x)
#define ADD_PART(i, digit) part[i] += (AS(L, digit) ^ sign) - sign

/* Add the elements at the positions base + [0, span) to the parts; span <= REACH + 1. All bits are set in lanes of
 * others, unless they are 0. */
static inline W add_row(ELEMENTS, const WORD base, const WORD span, L *part)
{
    const W distance = position_of(ELEMENT_VALUES) - base, inside = AS(W, distance < span);
    const W a = significand_of(x) & inside;
    const U shift = TO_U(distance & 63);
#if PARTS == 1
    const S sign = AS(S, sign_of(x)), signed_a = (AS(S, a) ^ sign) - sign;
    part[0] += AS(L, AS(U, TO_L(signed_a)) << shift);
#else
    const L sign = TO_L(sign_of(ELEMENT_VALUES));
    const ulong mask = ((ulong)1 << DIGIT) - 1;
    const U back = DIGIT - shift;
#if !IS_DOT
    const U digit = a;
#elif !IS_64
    const U digit = TO_U(a) * TO_U(significand_of(y));
#else
    const ulong half_mask = ((ulong)1 << DIGIT / 2) - 1;
    const U b = significand_of(y), a0 = a & half_mask, a1 = a >> DIGIT / 2, b0 = b & half_mask, b1 = b >> DIGIT / 2;
    const U middle = a0 * b1 + a1 * b0, low = a0 * b0 + ((middle & half_mask) << DIGIT / 2);
    const U digit = low & mask, next = a1 * b1 + (middle >> DIGIT / 2) + (low >> DIGIT);
#endif
    ADD_PART(0, (digit << shift) & mask);
#if PARTS == 2
    ADD_PART(1, digit >> back);
#else
    ADD_PART(1, ((next << shift) & mask) | (digit >> back));
    ADD_PART(2, next >> back);
#endif
#endif
    return is_not_zero(ELEMENT_VALUES) & ~inside;
}

/* ---- a group ---- */

/* Functions of local memory are always inlined: the fault shared_local_array. */
#define ALWAYS static inline __attribute__((always_inline))

static inline ulong fold_or(const W x)
{
    WORD lane[LANES], all = 0;
    JOIN(vstore, LANES)(x, 0, lane);
    for (uint k = 0; k < LANES; ++k) all |= lane[k];
    return all;
}

static inline uint fold_max(const W x)
{
    WORD lane[LANES], most = 0;
    JOIN(vstore, LANES)(x, 0, lane);
    for (uint k = 0; k < LANES; ++k) most = max(most, lane[k]);
    return (uint)most;
}

static inline long fold_sum(const L x)
{
    long lane[LANES], sum = 0;
    JOIN(vstore, LANES)(x, 0, lane);
    for (uint k = 0; k < LANES; ++k) sum += lane[k];
    return sum;
}

#if GROUP == 1
#define SYNCHRONIZE()
ALWAYS uint max_over_group(const uint x, local uint *word) { return x; }
ALWAYS long sum_over_group(const long x, local long *scratch) { return x; }
#else
#define SYNCHRONIZE() barrier(CLK_LOCAL_MEM_FENCE)

ALWAYS uint max_over_group(const uint x, local uint *word)
{
    SYNCHRONIZE();
    if (get_local_id(0) == 0) *word = 0;
    SYNCHRONIZE();
    if (x) atomic_max(word, x);
    SYNCHRONIZE();
    return *word;
}

/* The first item gets the sum. */
ALWAYS long sum_over_group(const long x, local long *scratch)
{
    const uint id = get_local_id(0);
    SYNCHRONIZE();
    scratch[id] = x;
    for (uint width = GROUP / 2; width > 0; width /= 2) {
        SYNCHRONIZE();
        if (id < width) scratch[id] += scratch[id + width];
    }
    return scratch[id];
}
#endif

/* Add x * 2^position to a long number. */
ALWAYS void add_at(local long *limb, const ulong position, const long x)
{
    const uint shift = position % 32;
    const ulong low = ((ulong)x & LIMB_MASK) << shift, high = (ulong)(x >> 32) << shift;
    limb += position / 32;
    limb[0] += low & LIMB_MASK;
    limb[1] += (low >> 32) + (high & LIMB_MASK);
    limb[2] += (long)high >> 32;
}

/* What a group has: its long number, and of the present window the halves of all parts of the blocks so far. */
typedef struct sums {
    local long *limb, *scratch; /* CELLS, GROUP */
    local uint *word;
    L low[PARTS], high[PARTS];
} sums;

ALWAYS void add_parts(sums *s, const L *part)
{
#pragma unroll
    for (uint j = 0; j < PARTS; ++j) {
        s->low[j] += part[j] & (long)LIMB_MASK;
        s->high[j] += part[j] >> 32;
    }
}

/* Move the halves to the long number. */
ALWAYS void close_window(sums *s, const WORD base)
{
#pragma unroll
    for (uint j = 0; j < PARTS; ++j) {
        const long low = sum_over_group(fold_sum(s->low[j]), s->scratch);
        const long high = sum_over_group(fold_sum(s->high[j]), s->scratch);
        if (get_local_id(0) == 0) {
            add_at(s->limb, base + j * DIGIT, low);
            add_at(s->limb, base + j * DIGIT + 32, high);
        }
        s->low[j] = s->high[j] = 0;
    }
}

/* A cell behind the limbs counts infinities and NaN: as a sum, like the limbs. */
#define NAN_SEEN ((long)1 << 40)
#define INFINITY_SEEN ((long)1 << 20)
#define MINUS_INFINITY_SEEN ((long)1)

ALWAYS void see_special(sums *s, const W nan, const W plus, const W minus)
{
    const uint mine = (fold_or(nan) ? 4u : 0u) | (fold_or(plus) ? 2u : 0u) | (fold_or(minus) ? 1u : 0u);
    for (uint bit = 1; bit <= 4; bit *= 2)
        if (max_over_group(mine & bit, s->word) && get_local_id(0) == 0)
            s->limb[LIMBS] |= bit == 4 ? NAN_SEEN : bit == 2 ? INFINITY_SEEN : MINUS_INFINITY_SEEN;
}

static inline W is_nan(ELEMENTS)
{
    const W a = x & ~SIGN_BIT;
#if IS_DOT
    const W b = y & ~SIGN_BIT;
    return AS(W, a > INFINITE) | AS(W, b > INFINITE) | (AS(W, a == INFINITE) & AS(W, b == (WORD)0))
           | (AS(W, b == INFINITE) & AS(W, a == (WORD)0));
#else
    return AS(W, a > INFINITE);
#endif
}

/* The largest position in a block, and 1; 0: all is 0, infinite or NaN. */
ALWAYS uint scan_block(sums *s, INPUT, const ulong begin)
{
    W top = 0, nan = 0, plus = 0, minus = 0;
    for (uint r = 0; r < ROWS; ++r) {
        LOAD_ELEMENTS(begin + r * ROW);
        const W position = position_of(ELEMENT_VALUES), special = AS(W, position >= (WORD)SPECIAL);
        const W is_none = is_nan(ELEMENT_VALUES), sign = sign_of(ELEMENT_VALUES);
        top = max(top, (position + 1) & is_not_zero(ELEMENT_VALUES) & ~special);
        nan |= is_none;
        plus |= special & ~is_none & ~sign;
        minus |= special & ~is_none & sign;
    }
    see_special(s, nan, plus, minus);
    return max_over_group(fold_max(top), s->word);
}

/* Add a block whose elements do not all lie in the window at `base`. Returns a better base for the next block. */
ALWAYS WORD add_block_by_windows(sums *s, INPUT, const ulong begin, const WORD before)
{
    WORD better = before;
    bool is_first = true;
    uint top = scan_block(s, INPUT_VALUES, begin);
    while (top > 0) {
        const WORD base = top > REACH - ROOM ? top - (REACH - ROOM) : 0;
        L part[PARTS];
        W left = 0;
        for (uint j = 0; j < PARTS; ++j) part[j] = 0;
        for (uint r = 0; r < ROWS; ++r) {
            LOAD_ELEMENTS(begin + r * ROW);
            const W outside = add_row(ELEMENT_VALUES, base, top - base, part), position = position_of(ELEMENT_VALUES);
            left = max(left, outside & AS(W, position < base) & (position + 1));
        }
        add_parts(s, part);
        close_window(s, base);
        if (is_first) better = base;
        is_first = false;
        top = max_over_group(fold_max(left), s->word);
    }
    return better;
}

/* Add blocks begin to end, of the input's. */
ALWAYS void add_blocks(sums *s, INPUT, const ulong begin, const ulong end)
{
    WORD base = LAST_POSITION / 2;
    for (ulong b = begin; b < end; ++b) {
        L part[PARTS];
        W outside = 0;
        for (uint j = 0; j < PARTS; ++j) part[j] = 0;
        for (uint r = 0; r < ROWS; ++r) {
            LOAD_ELEMENTS(b * BLOCK + r * ROW);
            outside |= add_row(ELEMENT_VALUES, base, REACH + 1, part);
        }
        if (!max_over_group(fold_or(outside) != 0, s->word)) {
            add_parts(s, part);
            continue;
        }
        close_window(s, base);
        base = add_block_by_windows(s, INPUT_VALUES, b * BLOCK, base);
    }
    close_window(s, base);
}

/* The first item: make all limbs but the last less than 2^32, and not negative. */
ALWAYS void carry(local long *limb)
{
    for (uint i = 0; i + 1 < LIMBS; ++i) {
        limb[i + 1] += limb[i] >> 32;
        limb[i] &= LIMB_MASK;
    }
}

/* Stores the cells of each group, one group after the other, behind the workspace's head. */
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
reduce_exact(global const WORD *input, ulong offset, global const WORD *factors, ulong factors_offset, ulong count,
             ulong blocks, global uint *workspace, NDR_ND_RANGE(1))
{
    local long limb[CELLS], scratch[GROUP];
    local uint word[1];
    const uint id = get_local_id(0);
    const ulong g = get_group_id(0), each = blocks / get_num_groups(0), more = blocks % get_num_groups(0);
    const ulong begin = g * each + min(g, more);
    sums s;
    s.limb = limb, s.scratch = scratch, s.word = word;
    for (uint j = 0; j < PARTS; ++j) s.low[j] = s.high[j] = 0;
    for (uint i = id; i < CELLS; i += GROUP) limb[i] = 0;
    SYNCHRONIZE();
    add_blocks(&s, input + offset, factors + factors_offset, count, begin, begin + each + (g < more));
    if (id == 0) carry(limb);
    SYNCHRONIZE();
    global long *const out = (global long *)(workspace + NDR_WORKSPACE_HEAD) + g * CELLS;
    for (uint i = id; i < CELLS; i += GROUP) out[i] = limb[i];
}

/* ---- the result ---- */

/* Bits position to position + 63 of a long number that is not negative. */
ALWAYS ulong bits_at(const local long *limb, const uint position)
{
    const uint i = position / 32, shift = position % 32;
    const ulong low = limb[i] | (ulong)limb[i + 1] << 32;
    return shift ? low >> shift | (ulong)limb[i + 2] << (64 - shift) : low;
}

/* Whether bits 0 to end - 1 have a 1. */
ALWAYS bool has_bits_below(const local long *limb, const uint end)
{
    uint i = 0;
    for (; i < end / 32; ++i)
        if (limb[i]) return true;
    return (limb[i] & (((long)1 << end % 32) - 1)) != 0;
}

/* The nearest float; of two, the even one. The limbs are those of carry(), and are left changed. */
ALWAYS WORD round_to_nearest(local long *limb)
{
    const bool is_negative = limb[LIMBS - 1] < 0;
    if (is_negative) {
        for (uint i = 0; i < LIMBS; ++i) limb[i] = -limb[i];
        carry(limb);
    }
    uint last = LIMBS;
    while (last > 0 && limb[last - 1] == 0) --last;
    if (last == 0) return 0;
    const uint highest = 32 * last - 1 - clz((uint)limb[last - 1]);
    const uint end = max(highest, (uint)(UNIT + FRACTION)) - FRACTION; /* the position of the result's last bit */
    ulong significand = bits_at(limb, end) & (2 * (ulong)HIDDEN - 1);
    if (end > 0 && (bits_at(limb, end - 1) & 1) && ((significand & 1) || has_bits_below(limb, end - 1))) ++significand;
    const ulong rounded = end - UNIT >= MOST ? (ulong)INFINITE : ((ulong)(end - UNIT) << FRACTION) + significand;
    return (WORD)min(rounded, (ulong)INFINITE) | (is_negative ? SIGN_BIT : 0);
}

#define NEITHER (INFINITE | HIDDEN >> 1) /* a quiet NaN */

ALWAYS WORD result_of(local long *limb)
{
    const long seen = limb[LIMBS];
    const bool plus = seen / INFINITY_SEEN % (NAN_SEEN / INFINITY_SEEN) != 0, minus = seen % INFINITY_SEEN != 0;
    if (seen >= NAN_SEEN || (plus && minus)) return NEITHER;
    if (plus || minus) return INFINITE | (minus ? SIGN_BIT : 0);
    carry(limb);
    return round_to_nearest(limb);
}

#define SLICES (NDR_EXACT_MAX_CELLS / CELLS) /* of the groups, whose cells are added at the same time */

/* Adds the cells of all groups, by one group of any size. */
kernel void round_exact(global const uint *workspace, ulong groups, global WORD *output, ulong output_offset,
                        NDR_ND_RANGE(1))
{
    local long sums[SLICES * CELLS];
    const uint id = get_local_id(0), size = get_local_size(0);
    global const long *const cells = (global const long *)(workspace + NDR_WORKSPACE_HEAD);
    for (uint i = id; i < SLICES * CELLS; i += size) {
        long sum = 0;
        for (ulong g = i / CELLS; g < groups; g += SLICES) sum += cells[g * CELLS + i % CELLS];
        sums[i] = sum;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = id; i < CELLS; i += size)
        for (uint slice = 1; slice < SLICES; ++slice) sums[i] += sums[slice * CELLS + i];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (id == 0) output[output_offset] = result_of(sums);
}
