/* split.cl - C = alpha * A * B + beta * C in float, row-major, by a GPU's matrix units, at the accuracy of float: by three
 * bfloat16 parts of each element.
 *
 *   A is m x k, B is k x n, C is m x n; offsets and pitches are in elements.
 *
 * An element is the sum of three parts, h + i + l. gemm_split_parts() stores them in the workspace, and gemm_split() adds
 * six of the nine products of parts: l*h, h*l, i*i, i*h, h*i and h*h. Marks in the workspace tell what gemm_split_parts()
 * found among the elements: for some gemm_split() multiplies A and B themselves, slowly.
 *
 * The results are within the bound of a loop in float: docs/appendix/proofs.md. The matrix units cut bits off when
 * they add, so they add one stretch from zero, and plain additions, which round, add those sums. */
#define COPY_WARPS 1
#define PARTS 3
#include "matmul/parts.clh"

/* ---- parts ---- */

static inline void set_marks(global uint *marks, uint number, const float *x, bool is_a)
{
    uint greatest = 0, least = 0xffffffff; /* of the magnitudes; of those less 1, where 0 is the greatest */
#pragma unroll
    for (uint i = 0; i < VALUES; ++i) {
        const uint magnitude = as_uint(x[i]) & 0x7fffffff;
        greatest = max(greatest, magnitude);
        least = min(least, magnitude - 1);
    }
    if (greatest >= 0x7f7f8000) marks[NDR_SPLIT_BEYOND] = number;
    if (greatest >= as_uint(0x1p8f)) set_mark(marks + (is_a ? NDR_SPLIT_A_LARGE : NDR_SPLIT_B_LARGE), number);
    if (least < as_uint(0x1p-110f) - 1) set_mark(marks + (is_a ? NDR_SPLIT_A_TINY : NDR_SPLIT_B_TINY), number);
}

/* Over the chunks, one group each. */
kernel __attribute__((reqd_work_group_size(4 * CHUNK, 1, 1))) void
gemm_split_parts(ulong m, ulong n, ulong k, global const float *restrict a, ulong a_offset, ulong a_pitch,
                 global const float *restrict b, ulong b_offset, ulong b_pitch, global uint *restrict workspace,
                 uint number)
{
    local float copy[CHUNK * (STEPS + 1)];
    const chunk at = find_chunk(get_group_id(0), m, n, k, workspace);
    float x[VALUES];
    load_values(x, &at, copy, a + a_offset, a_pitch, (a_offset | a_pitch) % 4 == 0, b + b_offset, b_pitch);
    set_marks(workspace + NDR_MARKS, number, x, at.is_a);
    store_parts(&at, x);
}

#ifdef NDR_PTX

/* Whether three parts of A and B give products within the bound. */
static inline bool parts_suffice(global const uint *marks, uint number)
{
    bool is_set[NDR_SPLIT_MARKS];
#pragma unroll
    for (uint i = 0; i < NDR_SPLIT_MARKS; ++i) is_set[i] = marks[i] == number;
    return !is_set[NDR_SPLIT_BEYOND] && !(is_set[NDR_SPLIT_A_TINY] && is_set[NDR_SPLIT_B_LARGE])
           && !(is_set[NDR_SPLIT_B_TINY] && is_set[NDR_SPLIT_A_LARGE]);
}

/* Add a tile's stretches. */
INLINE void add_stretches(float *sum, uint stretches, uint memory, uint full, uint empty, ring *at)
{
    const uint item = get_local_id(0), team = item / 128;
    float part[SUMS];
#pragma unroll
    for (uint j = 0; j < SUMS; ++j) sum[j] = part[j] = 0;
    for (uint s = 0; s < stretches; ++s) {
        const ulong a_at = A_OF(at->stage), b_at = B_OF(at->stage);
        wait_for_turn(team);
        barrier_wait(full + 8 * at->stage, at->phase);
        begin_products();
        MULTIPLY_3_PARTS(MULTIPLY_PARTS, part, a_at, b_at);
        end_products();
        pass_turn(team);
        add_stage(sum, part, item, empty, at, STAGES);
    }
}

/* Over groups that take the tiles in turn, at most one for each compute unit. */
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
gemm_split(ulong m, ulong n, ulong k, float alpha, global const float *restrict a, ulong a_offset, ulong a_pitch,
           global const float *restrict b, ulong b_offset, ulong b_pitch, float beta, global float *restrict c,
           ulong c_offset, ulong c_pitch, global uint *restrict workspace, uint number)
{
    local uchar stages[STAGES * STAGE_PITCH + 1024] __attribute__((aligned(1024)));
    local ulong barriers[2 * STAGES];
    const product p = { m, n, k, a + a_offset, b + b_offset, c + c_offset, a_pitch, b_pitch, c_pitch, alpha, beta,
                        (a_offset | a_pitch) % 4 == 0, (b_offset | b_pitch) % 4 == 0, (c_offset | c_pitch) % 2 == 0 };
    const uint memory = (PTX_ADDRESS(stages) + 1023) & ~1023u;
    const uint full = PTX_ADDRESS(barriers), empty = full + 8 * STAGES;
    const uint item = get_local_id(0), first = get_group_id(0), stride = get_num_groups(0);
    const uint tiles = count_tiles(&p);

    if (!parts_suffice(workspace + NDR_MARKS, number)) {
        if (item < 32 * WARPS)
            for (uint i = first; i < tiles; i += stride) multiply_plainly(&p, find_tile(i, m, n));
        return;
    }
    open_stages(full, empty, STAGES, 1);
    if (item >= 32 * WARPS) {
        if (item == 32 * WARPS) copy_tiles(&p, first, stride, workspace, memory, full, empty);
        return;
    }
    if (item / 128 == 1) pass_turn(1); /* team 0 begins */
    ring at = { 0, 0 };
    for (uint i = first; i < tiles; i += stride) {
        float sum[SUMS];
        add_stretches(sum, count_stretches(&p), memory, full, empty, &at);
        store_sums(&p, find_tile(i, m, n), sum);
    }
}

#endif
