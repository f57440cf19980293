/* wide.cl - C = alpha * A * B + beta * C in float for few rows, row-major, by matrix units for bfloat16: B is read
 * once.
 *
 *   A is m x k with m <= TILE_N, B is k x n, C is m x n; offsets and pitches are in elements.
 *
 * The matrix units compute the transpose of C, so that the elements of B are their first operand, which may come from
 * registers: each item loads some, splits them into three bfloat16 parts (three_parts.clh), and multiplies them by
 * parts of A in local memory. A group computes one tile of TILE_COLS columns after the other. Of its warps two teams of
 * 4 multiply COLS columns each, and 4 split A, into A_STAGES stages in turn, for both. While one team splits, the other
 * multiplies.
 *
 *   instruction            B in registers (16 of 64 rows a warp)     A in local memory
 *   64 x TILE_N x 16       rows: columns of B; steps along k         columns: rows of A
 *
 * Tiles may be computed in parts of k: their sums go to the workspace, and gemm_wide_add() adds them, always in the
 * same order. */

/* Defaults, with which the file compiles by itself. */
#ifndef TILE_N
#define TILE_N 64 /* rows of C: 64 or 128 */
#endif
#define B_FORM "0" /* in the names of the instruction: A lies along k */
#include "matmul/three_parts.clh"
#include "ndr/detail/workspace.h"
#include "shared/wide.h"

#ifdef NDR_PTX

/* ---- sizes ---- */

#define STEPS 64                          /* of a stage: two slabs */
#define A_PART_BYTES (TILE_N * STEPS * 2) /* one part of a stage: rows of 128 bytes */
#define A_STAGE_BYTES (3 * A_PART_BYTES)
#define A_STAGES NDR_WIDE_STAGES(TILE_N)
#define A_PIECES_OF_ITEM (TILE_N / 8)          /* of a stage, of those that split A */
#define FETCHED_STAGES NDR_WIDE_FETCHED_STAGES /* of elements of A that are copied or used */
#define FETCHED_BYTES (128 * A_PIECES_OF_ITEM * PIECE_BYTES)
#define COLS 64
#define TILE_COLS (2 * COLS)
#define AHEAD (TILE_N == 64 ? 4 : 2) /* slabs of B that an item has loaded */
#define ELEMENTS 16                  /* of an item in a slab of B: two columns, 8 steps */

/* What of the product which unit of work computes: parts of tiles. */
typedef struct work {
    uint units, parts, part_slabs;
} work;

/* A unit of work: its first column, and its slabs. */
typedef struct unit {
    ulong col;
    uint first, slabs;
} unit;

static inline unit find_unit(const product *p, const work *w, uint index)
{
    const uint slabs = (uint)((p->k + DEPTH - 1) / DEPTH);
    unit found;
    found.col = (ulong)(index / w->parts) * TILE_COLS;
    found.first = index % w->parts * w->part_slabs;
    found.slabs = min(w->part_slabs, slabs - found.first);
    return found;
}

/* ---- A ---- */

/* Copy an item's elements of a stage, which only it reads: 4 neighbouring steps of rows 8 apart, of which `count` steps
 * exist. */
INLINE void fetch_a(const product *p, uint to, ulong step, uint first_row, uint count)
{
    global const float *from = p->a + (count && first_row < p->m ? first_row * p->a_pitch + step : 0);
#pragma unroll 2
    for (uint row = first_row; row < TILE_N; row += 8) {
        copy_piece(to, from, row < p->m ? count : 0, p->a_is_aligned);
        to += 128 * PIECE_BYTES;
        if (count && row + 8 < p->m) from += 8 * p->a_pitch;
    }
    end_copies();
}

/* Split the rows of A for all slabs of a unit, to the stages in turn. */
INLINE void split_a(const product *p, const unit *u, uint memory, uint full, uint empty, ring *at, range *seen)
{
    const uint item = get_local_id(0) - 32 * WARPS, quad = item % 16, first_row = item / 16;
    const uint place = first_row * 128 + (quad / 2 ^ first_row % 8) * 16 + quad % 2 * 8;
    const uint fetched = memory + A_STAGES * A_STAGE_BYTES + item * PIECE_BYTES;
    const ulong first = (ulong)u->first * DEPTH + quad * 4;
#define FETCH_A(stage)                                                                                             \
    fetch_a(p, fetched + (stage) % FETCHED_STAGES * FETCHED_BYTES, first + (stage) * STEPS, first_row,             \
            (uint)min(p->k - min(p->k, first + (stage) * STEPS), 4ul))
    for (uint s = 0; s < FETCHED_STAGES - 1; ++s) FETCH_A(s);
    for (uint s = 0; 2 * s < u->slabs; ++s) {
        const uint to = memory + at->stage * A_STAGE_BYTES + place, from = fetched + s % FETCHED_STAGES * FETCHED_BYTES;
        FETCH_A(s + FETCHED_STAGES - 1);
        WAIT_FOR_COPIES(2); /* but for the FETCHED_STAGES - 1 last ones */
        barrier_wait(empty + 8 * at->stage, at->phase ^ 1);
#pragma unroll 2
        for (uint i = 0; i < A_PIECES_OF_ITEM; ++i) {
            float x[4];
            uint parts[3][2];
            load_piece(x, from + i * (128 * PIECE_BYTES));
            note(seen, x);
            split_pair(x[0], x[1], &parts[0][0], &parts[1][0], &parts[2][0]);
            split_pair(x[2], x[3], &parts[0][1], &parts[1][1], &parts[2][1]);
#pragma unroll
            for (uint part = 0; part < 3; ++part)
                asm volatile("st.shared.v2.b32 [%0], {%1, %2};" ::"r"(to + i * 1024 + part * A_PART_BYTES),
                             "r"(parts[part][0]), "r"(parts[part][1])
                             : "memory");
        }
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); /* wgmma reads them */
        join_warp();
        if (item % 32 == 0) barrier_arrive(full + 8 * at->stage);
        advance(at, A_STAGES);
    }
}

/* ---- B ---- */

/* The first of the two columns of an item among those of its team, and the first of its steps in a slab. The others are
 * 1, 8, 9, 16, 17, 24 and 25 later. */
static inline uint col_of_item(void) { return get_local_id(0) % 128 / 32 * 16 + get_local_id(0) % 32 / 4 * 2; }
static inline uint step_of_item(void) { return get_local_id(0) % 4 * 2; }
#define STEP_OF(i) ((i) / 2 * 8 + (i) % 2)

/* The first row of an item's sums. Compilers do not see that it is the same for all units: otherwise they compute the
 * addresses of all rows in advance, for which there are no registers. */
static inline uint row_of_item(void)
{
    uint row = step_of_item();
    asm volatile("" : "+r"(row));
    return row;
}

/* Load an item's elements of a slab: pairs of neighbours. `left` steps exist from the item's first one on, `count`
 * columns. */
INLINE void load_pairs(float *x, global const float *from, ulong pitch, uint left, uint count, bool is_aligned)
{
    if (is_aligned) {
#pragma unroll
        for (uint i = 0; i < ELEMENTS / 2; ++i)
            asm volatile("{.reg .pred p; setp.gt.u32 p, %3, %4; mov.f32 %0, 0f00000000; mov.f32 %1, 0f00000000; "
                         "@p ld.global.nc.v2.f32 {%0, %1}, [%2];}"
                         : "=&f"(x[2 * i]), "=&f"(x[2 * i + 1])
                         : "l"(from + STEP_OF(i) * pitch), "r"(count == 2 ? left : 0), "r"(STEP_OF(i)));
        return;
    }
#pragma unroll
    for (uint i = 0; i < ELEMENTS; ++i)
        asm volatile("{.reg .pred p; setp.gt.u32 p, %2, %3; mov.f32 %0, 0f00000000; @p ld.global.nc.f32 %0, [%1];}"
                     : "=&f"(x[i])
                     : "l"(from + STEP_OF(i / 2) * pitch + i % 2), "r"(count > i % 2 ? left : 0), "r"(STEP_OF(i / 2)));
}

/* To parts as the instructions take them: of 16 steps each. */
INLINE void split_pairs(uint parts[3][2][4], const float *x, range *seen)
{
#pragma unroll
    for (uint i = 0; i < ELEMENTS; i += 4) note(seen, x + i);
#pragma unroll
    for (uint i = 0; i < ELEMENTS / 4; ++i)
#pragma unroll
        for (uint h = 0; h < 2; ++h) {
            const uint at = i % 2 * 2 + h;
            split_pair(x[4 * i + h], x[4 * i + 2 + h], &parts[0][i / 2][at], &parts[1][i / 2][at],
                       &parts[2][i / 2][at]);
        }
}

/* ---- sums ---- */

/* A stage of A: rows of 128 bytes, 8 of them are 1024 bytes, eighths are exchanged. 16 steps are 32 bytes. */
#define STAGE_AT(at) (1ul << 16 | 1024ul / 16 << 32 | 1ul << 62 | (at) >> 4)
#define MULTIPLY_SLAB(sum, b, p, a, q, adds)                                      \
    do {                                                                          \
        MULTIPLY_BFLOATS(sum, (b)[p][0], (a) + (q) * (A_PART_BYTES / 16), adds);  \
        MULTIPLY_BFLOATS(sum, (b)[p][1], (a) + (q) * (A_PART_BYTES / 16) + 2, 1); \
    } while (0)

/* An item's sums j and j + 2 are neighbours in a row of C. The first sum and the row of a pair of them. */
#define PAIRS_OF_ITEM (SUMS / 2)
#define PAIR_SUM(i) ((i) / 2 * 4 + (i) % 2)
#define PAIR_ROW(i) ((i) / 2 * 8 + (i) % 2)

/* Where an item's elements of B are, from a unit's first slab on. */
typedef struct source {
    global const float *from;
    ulong pitch;
    uint left, count; /* steps of the unit, columns */
    bool is_aligned;
} source;

static inline ulong col_in(const unit *u) { return u->col + get_local_id(0) / 128 * COLS + col_of_item(); }

static inline source find_source(const product *p, const unit *u)
{
    const ulong col = col_in(u), step = (ulong)u->first * DEPTH + step_of_item();
    const ulong end = min(p->k, (ulong)(u->first + u->slabs) * DEPTH);
    source found;
    found.from = p->b + step * p->b_pitch + col;
    found.pitch = p->b_pitch;
    found.left = (uint)(end - min(end, step));
    found.count = (uint)min(p->n - min(p->n, col), 2ul);
    found.is_aligned = p->b_is_aligned;
    return found;
}

INLINE void load_slab(float *x, const source *of, uint slab)
{
    load_pairs(x, of->from + slab * DEPTH * of->pitch, of->pitch, of->left - min(of->left, slab * DEPTH), of->count,
               of->is_aligned);
}

/* Add a slab, whose elements of B are in `x`, and load to there those of the slab that takes the place. */
INLINE void add_slab_of(float *sum, float *x, const source *of, uint slab, bool is_last, uint memory, uint full,
                        uint empty, ring *at, range *seen)
{
    uint parts[3][2][4];
    float part[SUMS];
    split_pairs(parts, x, seen);
    load_slab(x, of, slab + AHEAD);
    if (slab % 2 == 0) barrier_wait(full + 8 * at->stage, at->phase);
    const ulong a = STAGE_AT(memory + at->stage * A_STAGE_BYTES) + slab % 2 * (DEPTH * 2 / 16);
#pragma unroll
    for (uint j = 0; j < SUMS; ++j) part[j] = 0;
    begin_products();
    MULTIPLY_3_PARTS(MULTIPLY_SLAB, part, parts, a);
    end_products();
    wait_for_products();
    if (slab % 2 == 1 || is_last) {
        join_warp();
        if (get_local_id(0) % 32 == 0) barrier_arrive(empty + 8 * at->stage);
        advance(at, A_STAGES);
    }
#pragma unroll
    for (uint j = 0; j < SUMS; ++j) sum[j] += part[j];
}

/* The sums of a unit. */
INLINE void add_slabs_of(float *sum, const product *p, const unit *u, uint memory, uint full, uint empty, ring *at,
                         range *seen)
{
    const source of = find_source(p, u);
    float x[AHEAD][ELEMENTS];
#pragma unroll
    for (uint j = 0; j < SUMS; ++j) sum[j] = 0;
#pragma unroll
    for (uint i = 0; i < AHEAD; ++i) load_slab(x[i], &of, i);
    for (uint s = 0; s < u->slabs; s += AHEAD)
#pragma unroll
        for (uint i = 0; i < AHEAD; ++i)
            if (s + i < u->slabs)
                add_slab_of(sum, x[i], &of, s + i, s + i + 1 == u->slabs, memory, full, empty, at, seen);
}

/* The same by a loop in float, for elements that three parts cannot hold. */
INLINE void add_plainly(float *sum, const product *p, const unit *u)
{
    const ulong col = col_in(u), end = min(p->k, (ulong)(u->first + u->slabs) * DEPTH);
    const uint first_row = row_of_item();
#pragma unroll
    for (uint j = 0; j < SUMS; ++j) sum[j] = 0;
    for (ulong s = (ulong)u->first * DEPTH; s < end; ++s) {
        float x[SUMS / 2], y[2];
#pragma unroll
        for (uint i = 0; i < SUMS / 2; ++i)
            x[i] = p->a[min((ulong)(first_row + PAIR_ROW(i)), p->m - 1) * p->a_pitch + s];
#pragma unroll
        for (uint h = 0; h < 2; ++h) y[h] = p->b[s * p->b_pitch + min(col + h, p->n - 1)];
#pragma unroll
        for (uint j = 0; j < SUMS; ++j) sum[j] = fma(x[j / 4 * 2 + j % 2], y[j / 2 % 2], sum[j]);
    }
}

/* ---- C ---- */

/* Two neighbours of a row of C. */
static inline void store_two(const product *p, ulong row, ulong col, float x, float y)
{
    global float *const c = p->c + row * p->c_pitch + col;
    const uint count = row < p->m ? (uint)min(p->n - min(p->n, col), 2ul) : 0;
    float2 pair = p->alpha * (float2)(x, y);
    if (p->beta != 0) pair += p->beta * load_pair(c, count, p->c_is_aligned); /* 0: it may hold NaN */
    store_pair(c, pair, count, p->c_is_aligned);
}

INLINE void store_unit(const product *p, const unit *u, const float *sum)
{
    const uint first_row = row_of_item();
#pragma unroll
    for (uint i = 0; i < PAIRS_OF_ITEM; ++i)
        store_two(p, first_row + PAIR_ROW(i), col_in(u), sum[PAIR_SUM(i)], sum[PAIR_SUM(i) + 2]);
}

/* The sums of a unit in the workspace: [pair][item of both teams]. */
#define SUMS_OF_PARTS ((global float2 *)(workspace + NDR_WORKSPACE_HEAD))

INLINE void store_part(global float2 *sums, uint index, const float *sum)
{
    global float2 *const to = sums + (ulong)index * (PAIRS_OF_ITEM * 32 * WARPS) + get_local_id(0);
#pragma unroll
    for (uint i = 0; i < PAIRS_OF_ITEM; ++i) to[i * (32 * WARPS)] = (float2)(sum[PAIR_SUM(i)], sum[PAIR_SUM(i) + 2]);
}

/* ---- kernels ---- */

#define PARAMETERS                                                                                                   \
    ulong m, ulong n, ulong k, float alpha, global const float *restrict a, ulong a_offset, ulong a_pitch,           \
        global const float *restrict b, ulong b_offset, ulong b_pitch, float beta, global float *restrict c,         \
        ulong c_offset, ulong c_pitch, uint units, uint parts, uint part_slabs, global uint *restrict workspace
#define PRODUCT                                                                                         \
    {                                                                                                   \
        m, n, k, a + a_offset, b + b_offset, c + c_offset, a_pitch, b_pitch, c_pitch, alpha, beta,      \
            (a_offset | a_pitch) % 4 == 0, (b_offset | b_pitch | n) % 2 == 0, (c_offset | c_pitch) % 2 == 0 \
    }

/* Over groups that take the units of work in turn, at most one for each compute unit. */
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void gemm_wide(PARAMETERS)
{
    local uchar stages[TILE_N * NDR_WIDE_ROW_BYTES(TILE_N) + 1024] __attribute__((aligned(1024)));
    local ulong barriers[2 * A_STAGES];
    local uint marks[2 * TILE_MARKS];
    const product p = PRODUCT;
    const work w = { units, parts, part_slabs };
    const uint memory = (PTX_ADDRESS(stages) + 1023) & ~1023u;
    const uint full = PTX_ADDRESS(barriers), empty = full + 8 * A_STAGES, item = get_local_id(0);
    uint number = 0; /* of a unit of this group */
    ring at = { 0, 0 };

    if (item < 2 * TILE_MARKS) marks[item] = 0;
    open_stages(full, empty, A_STAGES, COPY_WARPS);

    if (item >= 32 * WARPS) {
        LEAVE_REGISTERS(40);
        for (uint i = get_group_id(0); i < units; i += get_num_groups(0)) {
            const unit u = find_unit(&p, &w, i);
            range seen = { 0, 0xffffffff };
            split_a(&p, &u, memory, full, empty, &at, &seen);
            end_slabs(&seen, marks, ++number, true);
        }
        return;
    }
    TAKE_REGISTERS(232);
    for (uint i = get_group_id(0); i < units; i += get_num_groups(0)) {
        const unit u = find_unit(&p, &w, i);
        range seen = { 0, 0xffffffff };
        float sum[SUMS];
        add_slabs_of(sum, &p, &u, memory, full, empty, &at, &seen);
        end_slabs(&seen, marks, ++number, false);
        if (!parts_suffice(marks + number % 2 * TILE_MARKS, number)) add_plainly(sum, &p, &u);
        if (parts == 1) store_unit(&p, &u, sum);
        else store_part(SUMS_OF_PARTS, i, sum);
    }
}

/* Over the tiles in parts: for each a group for a pair of sums of each item. Each of NDR_WIDE_SHARES items adds a share
 * of the parts: one after the other all parts would take as long as the products. */
kernel __attribute__((reqd_work_group_size(NDR_WIDE_SHARES * 32 * WARPS, 1, 1))) void gemm_wide_add(PARAMETERS)
{
    local float2 of_shares[NDR_WIDE_SHARES * 32 * WARPS];
    const product p = PRODUCT;
    const uint item = get_local_id(0) % (32 * WARPS), share = get_local_id(0) / (32 * WARPS);
    const uint pair = get_group_id(0) % PAIRS_OF_ITEM, tile = get_group_id(0) / PAIRS_OF_ITEM;
    global const float2 *const from =
        SUMS_OF_PARTS + ((ulong)tile * parts * PAIRS_OF_ITEM + pair) * (32 * WARPS) + item;
    float2 all = 0;
#pragma unroll 8
    for (uint i = share; i < parts; i += NDR_WIDE_SHARES) all += from[(ulong)i * (PAIRS_OF_ITEM * 32 * WARPS)];
    of_shares[get_local_id(0)] = all;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (share > 0) return;
#pragma unroll
    for (uint i = 1; i < NDR_WIDE_SHARES; ++i) all += of_shares[i * (32 * WARPS) + item];
    const ulong col = (ulong)tile * TILE_COLS + item / 128 * COLS + col_of_item();
    store_two(&p, row_of_item() + PAIR_ROW(pair), col, all.x, all.y);
}

#endif
