/* halves.cl - C = alpha * A * B + beta * C in float, row-major, by a GPU's matrix units, at the accuracy of float: by two
 * half parts of each element.
 *
 *   A is m x k, B is k x n, C is m x n; offsets and pitches are in elements.
 *
 * An element times a power of two, which its line has for each stretch of 64 steps, is h + l / 2^11, up to a small error:
 * both are halves. gemm_halves_parts() stores them in the workspace as shared/split.h says: padded with zeros, B
 * transposed, in the order in which gemm_halves() copies them to local memory. Marks in the workspace tell what it found
 * among the elements. If they prove that the errors are small enough, gemm_halves() adds l*h, h*l and h*h. Otherwise it
 * multiplies A and B themselves in three parts.
 *
 * docs/numerics.md shows that the results are within the bound of a loop in float. The matrix units cut bits off when
 * they add, so they add one stretch from zero, and plain additions, which round, add those sums. */
#include "matmul/three_parts.clh"
#include "shared/split.h"
#include "ndr/detail/workspace.h"

/* The default, with which the file compiles by itself. */
#ifndef STAGES
#define STAGES 3
#endif

#define SLAB NDR_SPLIT_DEPTH
#define CHUNK NDR_SPLIT_CHUNK
#define SLABS NDR_SPLIT_SLABS(2)
#define STEPS (SLABS * SLAB) /* of a stretch */
#define LINE_BYTES NDR_SPLIT_LINE_BYTES(2)
#define A_BYTES (TILE_M * LINE_BYTES) /* of a stretch */
#define B_BYTES (TILE_N * LINE_BYTES)

/* ---- marks ---- */

/* Whether the elements prove that the errors of two parts are small. */
static inline bool halves_suffice(global const uint *marks, uint number)
{
    const bool is_beyond = marks[NDR_HALVES_BEYOND] == number;
    const bool is_coarse = marks[NDR_HALVES_COARSE] == number, is_sparse = marks[NDR_HALVES_SPARSE] == number;
    return !is_beyond && !(is_coarse && is_sparse);
}

/* Many items may set a mark; few of them write it. */
static inline void set_mark(global uint *mark, uint number)
{
    if (*mark != number) *mark = number;
}

/* ---- parts ---- */

#define VALUES (8 * SLABS) /* of an item: 8 of each slab of a line */

/* The bits of a half: x rounded to nearest, ties to even. */
static inline uint round_to_half(float x, float *rounded)
{
    ushort bits;
    vstore_half_rte(x, 0, (half *)&bits);
    *rounded = vload_half(0, (const half *)&bits);
    return bits;
}

static inline uint find_greatest(const float *x)
{
    uint greatest = 0;
#pragma unroll
    for (uint i = 0; i < VALUES; ++i) greatest = max(greatest, as_uint(x[i]) & 0x7fffffff);
    return greatest;
}

/* The exponent of a line's factor, as the bits of a float have it: the greatest magnitude times 2^(268 - exponent) is at
 * least 2^14 and below 2^15. 1 is the factor of zeros, and of elements that halves do not take. */
static inline uint find_exponent(uint greatest)
{
    const bool is_beyond = greatest < as_uint(0x1p-49f) || greatest >= as_uint(0x1p60f);
    return is_beyond ? 127 + 14 : greatest >> 23;
}

/* Multiply by the line's factor, and count: 1 for a large element, 256 for a small one. */
static inline uint scale(float *x, uint exponent)
{
    const float factor = as_float((268 - exponent) << 23);
    uint count = 0;
#pragma unroll
    for (uint i = 0; i < VALUES; ++i) {
        const bool is_zero = x[i] == 0;
        x[i] *= factor;
        if (fabs(x[i]) >= NDR_HALVES_LARGE) count += 1;
        else if (!is_zero && !(fabs(x[i]) >= NDR_HALVES_FINE(2))) count += 256;
    }
    return count;
}

/* Of a line's stretch, whose count is that of all its elements. */
static inline void set_marks(global uint *marks, uint number, uint greatest, uint count, uint steps)
{
    const bool is_beyond = greatest != 0 && find_exponent(greatest) != greatest >> 23;
    if (is_beyond) set_mark(marks + NDR_HALVES_BEYOND, number);
    if (count >= 256) set_mark(marks + NDR_HALVES_COARSE, number);
    if (greatest != 0 && 4 * (count % 256) < 3 * steps) set_mark(marks + NDR_HALVES_SPARSE, number);
}

/* Store the parts of the elements of a line, `quarter` of each slab, in the block's stretch at `to`. */
static inline void store_parts(global uchar *to, uint lines, uint line, uint quarter, const float *x)
{
    to += line * (SLAB * 2) + (quarter ^ (line / 2 % 4)) * 16;
#pragma unroll
    for (uint slab = 0; slab < SLABS; ++slab) {
        uint parts[2][8];
#pragma unroll
        for (uint i = 0; i < 8; ++i) {
            float rounded;
            parts[0][i] = round_to_half(x[8 * slab + i], &rounded);
            parts[1][i] = round_to_half((x[8 * slab + i] - rounded) * 0x1p11f, &rounded);
        }
#pragma unroll
        for (uint p = 0; p < 2; ++p)
            *(global uint4 *)(to + (slab * 2 + p) * lines * (SLAB * 2)) =
                (uint4)(parts[p][0] | parts[p][1] << 16, parts[p][2] | parts[p][3] << 16,
                        parts[p][4] | parts[p][5] << 16, parts[p][6] | parts[p][7] << 16);
    }
}

/* What a group splits: a chunk of lines of one stretch. */
typedef struct chunk {
    ulong line, step; /* the first ones */
    ulong lines;      /* of the whole matrix */
    ulong end;        /* of the steps */
} chunk;

/* Copy a chunk of rows of A to local memory. */
static inline void copy_rows(local float *to, const chunk *at, global const float *a, ulong pitch)
{
#pragma unroll
    for (uint i = 0; i < STEPS / 4; ++i) {
        const uint element = get_local_id(0) + i * (4 * CHUNK), row = element / STEPS, col = element % STEPS;
        const bool is_inside = at->line + row < at->lines && at->step + col < at->end;
        to[row * (STEPS + 1) + col] = is_inside ? a[(at->line + row) * pitch + at->step + col] : 0;
    }
}

/* Copy a chunk of columns of B to local memory, as rows. */
static inline void copy_cols(local float *to, const chunk *at, global const float *b, ulong pitch)
{
#pragma unroll
    for (uint i = 0; i < STEPS / 4; ++i) {
        const uint element = get_local_id(0) + i * (4 * CHUNK), row = element / CHUNK, col = element % CHUNK;
        const bool is_inside = at->line + col < at->lines && at->step + row < at->end;
        to[col * (STEPS + 1) + row] = is_inside ? b[(at->step + row) * pitch + at->line + col] : 0;
    }
}

/* 8 steps of a row of A, which begins at a multiple of 16 bytes. */
static inline void load_row(float *x, const chunk *at, ulong row, ulong step, global const float *a, ulong pitch)
{
    a += row * pitch + step;
    if (row < at->lines && step + 8 <= at->end) {
        const float4 lo = *(global const float4 *)a, hi = *(global const float4 *)(a + 4);
        x[0] = lo.x, x[1] = lo.y, x[2] = lo.z, x[3] = lo.w;
        x[4] = hi.x, x[5] = hi.y, x[6] = hi.z, x[7] = hi.w;
        return;
    }
#pragma unroll
    for (uint i = 0; i < 8; ++i) x[i] = row < at->lines && step + i < at->end ? a[i] : 0;
}

/* The first step of a stretch, or k after the last one. No stretch is short: the last one has 32 to 39 steps if the
 * depth leaves less, at the cost of the one before. */
static inline ulong find_step(uint stretch, uint stretches, ulong k)
{
    const ulong step = (ulong)STEPS * stretch;
    if (stretch == stretches) return k;
    return min(step, (k - 32) & ~7ul);
}

/* What gemm_halves_parts() shares in a group. */
typedef struct shared_by_lines {
    float copy[CHUNK * (STEPS + 1)];
    uint greatest[4 * CHUNK], counts[4 * CHUNK];
} shared_by_lines;

/* Split one chunk: those of A come first, then those of B. 4 items split a line. */
static inline void split_chunk(uint index, ulong m, ulong n, ulong k, global const float *a, ulong a_pitch,
                               bool is_aligned, global const float *b, ulong b_pitch, global uint *workspace,
                               uint number, local shared_by_lines *shared)
{
    const uint stretches = (uint)((k + STEPS - 1) / STEPS), blocks_m = (uint)((m + TILE_M - 1) / TILE_M);
    const uint a_chunks = blocks_m * (TILE_M / CHUNK) * stretches, b_index = index - a_chunks;
    const uint b_chunks = (uint)((n + TILE_N - 1) / TILE_N) * (TILE_N / CHUNK);
    const bool is_a = index < a_chunks, is_direct = is_a && is_aligned;
    const uint stretch = is_a ? index % stretches : b_index / b_chunks;
    const ulong first = (ulong)CHUNK * (is_a ? index / stretches : b_index % b_chunks);
    const chunk at = { first, find_step(stretch, stretches, k), is_a ? m : n, find_step(stretch + 1, stretches, k) };
    const uint item = get_local_id(0), quarter = item % 4;
    const uint lines = is_a ? TILE_M : TILE_N, line = (uint)at.line + item / 4, block = line / lines;
    global uint *const marks = workspace + NDR_MARKS;
    global uchar *const all = (global uchar *)(workspace + NDR_WORKSPACE_HEAD);
    global uchar *const to = (is_a ? all : all + (ulong)blocks_m * stretches * A_BYTES)
                             + ((ulong)block * stretches + stretch) * lines * LINE_BYTES;
    float x[VALUES];

    if (!is_a) copy_cols(shared->copy, &at, b, b_pitch);
    else if (!is_direct) copy_rows(shared->copy, &at, a, a_pitch);
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (uint slab = 0; slab < SLABS; ++slab) {
        const uint step = slab * SLAB + quarter * 8;
        if (is_direct) {
            load_row(x + 8 * slab, &at, line, at.step + step, a, a_pitch);
        } else {
#pragma unroll
            for (uint i = 0; i < 8; ++i) x[8 * slab + i] = shared->copy[item / 4 * (STEPS + 1) + step + i];
        }
    }
    shared->greatest[item] = find_greatest(x);
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint4 g = vload4(item / 4, shared->greatest);
    const uint greatest = max(max(g.x, g.y), max(g.z, g.w)), exponent = find_exponent(greatest);
    shared->counts[item] = scale(x, exponent);
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint4 count = vload4(item / 4, shared->counts);
    if (quarter == 0) {
        set_marks(marks, number, greatest, count.x + count.y + count.z + count.w, (uint)(at.end - at.step));
        ((global float *)(to + 2 * SLABS * lines * (SLAB * 2)))[line % lines] = as_float((exponent - 14) << 23);
    }
    store_parts(to, lines, line & (lines - 1), quarter, x);
}

/* Over the chunks, one group each. */
kernel __attribute__((reqd_work_group_size(4 * CHUNK, 1, 1))) void
gemm_halves_parts(ulong m, ulong n, ulong k, global const float *restrict a, ulong a_offset, ulong a_pitch,
                  global const float *restrict b, ulong b_offset, ulong b_pitch, global uint *restrict workspace,
                  uint number)
{
    local shared_by_lines shared;
    split_chunk(get_group_id(0), m, n, k, a + a_offset, a_pitch, (a_offset | a_pitch) % 4 == 0, b + b_offset, b_pitch,
                workspace, number, &shared);
}

#ifdef NDR_PTX

#define STAGE_BYTES (A_BYTES + B_BYTES)
#define STAGE_PITCH ((STAGE_BYTES + 1023) / 1024 * 1024)

/* Announce `bytes` that copies will bring. */
static inline void barrier_expect(uint at, uint bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at), "r"(bytes) : "memory");
}

static inline void copy_bytes(uint to, global const uchar *from, uint bytes, uint barrier)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
                 "l"(from), "r"(bytes), "r"(barrier)
                 : "memory");
}

/* sum = (adds ? sum : 0) + 64 rows * TILE_N columns over 16 steps, without waiting. A matrix is described by 64 bits:
 * its address / 16, and LINES. */
#define LINES (1ul << 16 | 32ul << 32 | 2ul << 62) /* 512 bytes for 8 lines; quarters exchanged over 64 bytes */
#if TILE_N == 64
#define MULTIPLY_HALVES(sum, a, b, adds)                                                                          \
    asm volatile(LATER "{.reg .pred p; setp.ne.b32 p, %34, 0; wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16" \
                       " {" NAMES_32 "}, %32, %33, p, 1, 1, 0, 0;}"                                               \
                 : REGISTERS_32(sum, 0)                                                                           \
                 : "l"(a), "l"(b), "r"(adds)                                                                      \
                 : "memory")
#else
#define MULTIPLY_HALVES(sum, a, b, adds)                                                                           \
    asm volatile(LATER "{.reg .pred p; setp.ne.b32 p, %66, 0; wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16" \
                       " {" NAMES_64 "}, %64, %65, p, 1, 1, 0, 0;}"                                                \
                 : REGISTERS_32(sum, 0), REGISTERS_32(sum, 32)                                                     \
                 : "l"(a), "l"(b), "r"(adds)                                                                       \
                 : "memory")
#endif

/* The 32 steps of one product of parts of a slab. Part p of slab s has the number p + 2 * s. */
#define MULTIPLY_PARTS_OF_2(sum, a, p, b, q, adds)                                           \
    do {                                                                                     \
        MULTIPLY_HALVES(sum, (a) + (p) * (TILE_M * 4), (b) + (q) * (TILE_N * 4), adds);      \
        MULTIPLY_HALVES(sum, (a) + (p) * (TILE_M * 4) + 2, (b) + (q) * (TILE_N * 4) + 2, 1); \
    } while (0)

/* Copy the parts that a tile needs to the stages in turn: by one item. */
static inline void copy_parts(global const uchar *a_from, global const uchar *b_from, uint stretches, uint memory,
                              uint full, uint empty, ring *at)
{
    for (uint s = 0; s < stretches; ++s) {
        const uint to = memory + at->stage * STAGE_PITCH, barrier = full + 8 * at->stage;
        barrier_wait(empty + 8 * at->stage, at->phase ^ 1);
        barrier_expect(barrier, STAGE_BYTES);
        copy_bytes(to, a_from, A_BYTES, barrier);
        copy_bytes(to + A_BYTES, b_from, B_BYTES, barrier);
        a_from += A_BYTES;
        b_from += B_BYTES;
        advance(at, STAGES);
    }
}

/* A stage's matrices, for a team. */
#define A_OF(stage) (LINES | (memory + (stage)*STAGE_PITCH + team * (64 * SLAB * 2)) >> 4)
#define B_OF(stage) (LINES | (memory + (stage)*STAGE_PITCH + A_BYTES) >> 4)

/* Begin to add l*h and h*l, times 2^11. */
#define BEGIN_RESTS(part, stage)                                     \
    do {                                                             \
        const ulong a_at = A_OF(stage), b_at = B_OF(stage);          \
        MULTIPLY_PARTS_OF_2(part, a_at, 1, b_at, 0, 0);              \
        MULTIPLY_PARTS_OF_2(part, a_at, 3, b_at, 2, 1);              \
        MULTIPLY_PARTS_OF_2(part, a_at, 0, b_at, 1, 1);              \
        MULTIPLY_PARTS_OF_2(part, a_at, 2, b_at, 3, 1);              \
        end_products();                                              \
    } while (0)

/* sum += part * factors, which are read two at a time. */
INLINE void add_part(float *sum, const float *part, uint rows_at, uint cols_at)
{
    float x, y;
    asm volatile("ld.shared.f32 %0, [%1];" : "=f"(x) : "r"(rows_at) : "memory");
    asm volatile("ld.shared.f32 %0, [%1];" : "=f"(y) : "r"(rows_at + 32) : "memory");
#pragma unroll
    for (uint j = 0; j < SUMS; j += 4) {
        float u, v;
        asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(u), "=f"(v) : "r"(cols_at + 8 * j) : "memory");
        sum[j] = fma(part[j], x * u, sum[j]);
        sum[j + 1] = fma(part[j + 1], x * v, sum[j + 1]);
        sum[j + 2] = fma(part[j + 2], y * u, sum[j + 2]);
        sum[j + 3] = fma(part[j + 3], y * v, sum[j + 3]);
    }
}

/* One stretch, the sums of whose rests are in `part`: add h*h, and begin the rests of the next one in `next`. */
INLINE void add_stretch(float *sum, float *part, float *next, bool is_last, uint memory, uint full, uint empty, ring *at)
{
    const uint item = get_local_id(0), lane = item % 32, warp = item / 32, team = warp / 4;
    const uint stage = at->stage, from = memory + stage * STAGE_PITCH;
    advance(at, STAGES);
    wait_for_turn(team);
    begin_products();
    MULTIPLY_PARTS_OF_2(part, A_OF(stage), 0, B_OF(stage), 0, 1);
    MULTIPLY_PARTS_OF_2(part, A_OF(stage), 2, B_OF(stage), 2, 1);
    end_products();
    if (!is_last) {
        barrier_wait(full + 8 * at->stage, at->phase);
        BEGIN_RESTS(next, at->stage);
        pass_turn(team);
        asm volatile(LATER "wgmma.wait_group.sync.aligned 1;" ::: "memory");
    } else {
        pass_turn(team);
        wait_for_products();
    }
    add_part(sum, part, from + 2 * SLABS * TILE_M * (SLAB * 2) + (warp * 16 + lane / 4) * 4,
             from + A_BYTES + 2 * SLABS * TILE_N * (SLAB * 2) + lane % 4 * 8);
    join_warp();
    if (lane == 0) barrier_arrive(empty + 8 * stage);
    wait_for_products();
#pragma unroll
    for (uint j = 0; j < SUMS; ++j) next[j] *= 0x1p-11f;
}

/* Add a tile's stretches. In a turn a team adds h*h of one and begins the rests of the next one. While the other team has
 * its turn, it adds the sums of the one, and divides those of the rests by 2^11. */
INLINE void add_stretches(float *sum, uint stretches, uint memory, uint full, uint empty, ring *at)
{
    const uint team = get_local_id(0) / 128;
    float even[SUMS], odd[SUMS];
#pragma unroll
    for (uint j = 0; j < SUMS; ++j) sum[j] = even[j] = odd[j] = 0;
    wait_for_turn(team);
    barrier_wait(full + 8 * at->stage, at->phase);
    begin_products();
    BEGIN_RESTS(even, at->stage);
    pass_turn(team);
    wait_for_products();
#pragma unroll
    for (uint j = 0; j < SUMS; ++j) even[j] *= 0x1p-11f;
    for (uint s = 0; s < stretches; s += 2) {
        add_stretch(sum, even, odd, s + 1 == stretches, memory, full, empty, at);
        if (s + 1 == stretches) break;
        add_stretch(sum, odd, even, s + 2 == stretches, memory, full, empty, at);
    }
}

/* The tiles of a product whose two parts suffice, from `first` on every `stride`-th one. */
INLINE void multiply_in_halves(const product *p, uint first, uint stride, global const uchar *parts,
                               local uchar *at_1024, local ulong *barriers)
{
    const uint item = get_local_id(0), team = item / 128, tiles = count_tiles(p);
    const uint memory = PTX_ADDRESS(at_1024), full = PTX_ADDRESS(barriers), empty = full + 8 * STAGES;
    const uint stretches = (uint)((p->k + STEPS - 1) / STEPS);
    const ulong a_bytes = (p->m + TILE_M - 1) / TILE_M * stretches * A_BYTES;
    ring at = { 0, 0 };
    if (item == 0) {
        for (uint i = 0; i < STAGES; ++i) {
            barrier_init(full + 8 * i, 1);
            barrier_init(empty + 8 * i, WARPS);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item >= 32 * WARPS) {
        asm volatile(LATER "setmaxnreg.dec.sync.aligned.u32 24;" ::: "memory");
        if (item > 32 * WARPS) return;
        for (uint i = first; i < tiles; i += stride) {
            const tile t = find_tile(i, p->m, p->n);
            copy_parts(parts + t.row / TILE_M * stretches * A_BYTES,
                       parts + a_bytes + t.col / TILE_N * stretches * B_BYTES, stretches, memory, full, empty, &at);
        }
        return;
    }
    asm volatile(LATER "setmaxnreg.inc.sync.aligned.u32 240;" ::: "memory");
    if (team == 1) pass_turn(1); /* team 0 begins */
    for (uint i = first; i < tiles; i += stride) {
        float sum[SUMS];
        add_stretches(sum, stretches, memory, full, empty, &at);
        store_sums(p, find_tile(i, p->m, p->n), sum);
    }
}

#define MAX(x, y) ((x) > (y) ? (x) : (y))

/* Over groups that take the tiles in turn, at most one for each compute unit. */
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
gemm_halves(ulong m, ulong n, ulong k, float alpha, global const float *restrict a, ulong a_offset, ulong a_pitch,
            global const float *restrict b, ulong b_offset, ulong b_pitch, float beta, global float *restrict c,
            ulong c_offset, ulong c_pitch, global uint *restrict workspace, uint number)
{
    local uchar stages[MAX(STAGES * STAGE_PITCH, THREE_PARTS_BYTES) + 1024] __attribute__((aligned(1024)));
    local ulong barriers[2 * MAX(STAGES, B_STAGES)];
    local uint marks[2 * TILE_MARKS];
    local uchar *const at_1024 = stages + (1024 - PTX_ADDRESS(stages) % 1024) % 1024;
    const product p = { m, n, k, a + a_offset, b + b_offset, c + c_offset, a_pitch, b_pitch, c_pitch, alpha, beta,
                        (a_offset | a_pitch) % 4 == 0, (b_offset | b_pitch) % 4 == 0, (c_offset | c_pitch) % 2 == 0 };
    if (halves_suffice(workspace + NDR_MARKS, number))
        multiply_in_halves(&p, get_group_id(0), get_num_groups(0),
                           (global const uchar *)(workspace + NDR_WORKSPACE_HEAD), at_1024, barriers);
    else multiply_in_three_parts(&p, get_group_id(0), get_num_groups(0), at_1024, barriers, marks);
}

#endif
