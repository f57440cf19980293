/* halves.cl - C = alpha * A * B + beta * C in float, row-major, by a GPU's matrix units: by half parts of each element.
 *
 *   A is m x k, B is k x n, C is m x n; offsets and pitches are in elements.
 *
 * An element is multiplied by a power of two, which its line has for each stretch. gemm_halves_parts() stores its parts
 * in the workspace. Marks there tell what it found among the elements. If they prove that the errors are small enough,
 * gemm_halves() multiplies parts. Otherwise it multiplies A and B themselves in three parts. There are two forms:
 *
 *   PARTS 2: at the accuracy of float. An element is h + l / 2^11, up to a small error; l*h, h*l and h*h are added.
 *   PARTS 1: at that of TF32. An element is rounded to h; h*h is added.
 *
 * The results are within the bounds of ndr_matmul(): docs/appendix/proofs.md. The matrix units cut bits off when they
 * add, so they add one stretch from zero, and plain additions, which round, add those sums. */
#include "matmul/parts.clh"

/* ---- marks ---- */

/* Whether the elements prove that the errors of the parts are small. */
static inline bool halves_suffice(global const uint *marks, uint number)
{
    const bool is_beyond = marks[NDR_HALVES_BEYOND] == number;
    const bool is_coarse = marks[NDR_HALVES_COARSE] == number, is_sparse = marks[NDR_HALVES_SPARSE] == number;
    return !is_beyond && !(is_coarse && is_sparse);
}

/* ---- parts ---- */

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
        else if (!is_zero && !(fabs(x[i]) >= NDR_HALVES_FINE(PARTS))) count += 256;
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

/* Over the chunks, one group each. */
kernel __attribute__((reqd_work_group_size(4 * CHUNK, 1, 1))) void
gemm_halves_parts(ulong m, ulong n, ulong k, global const float *restrict a, ulong a_offset, ulong a_pitch,
                  global const float *restrict b, ulong b_offset, ulong b_pitch, global uint *restrict workspace,
                  uint number)
{
    local float copy[CHUNK * (STEPS + 1)];
    local uint greatest[4 * CHUNK], counts[4 * CHUNK]; /* of items */
    const chunk at = find_chunk(get_group_id(0), m, n, k, workspace);
    const uint item = get_local_id(0);
    float x[VALUES];
    load_values(x, &at, copy, a + a_offset, a_pitch, (a_offset | a_pitch) % 4 == 0, b + b_offset, b_pitch);
    greatest[item] = find_greatest(x);
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint4 g = vload4(item / 4, greatest);
    const uint of_line = max(max(g.x, g.y), max(g.z, g.w)), exponent = find_exponent(of_line);
    counts[item] = scale(x, exponent);
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint4 count = vload4(item / 4, counts);
    if (item % 4 == 0) {
        global float *const factors = (global float *)(at.to + PARTS * SLABS * at.block_lines * (SLAB * 2));
        set_marks(workspace + NDR_MARKS, number, of_line, count.x + count.y + count.z + count.w,
                  (uint)(at.end - at.step));
        factors[line_of(&at)] = as_float((exponent - 14) << 23);
    }
    store_parts(&at, x);
}

#ifdef NDR_PTX

/* Where the stage at `from` has the factors of an item's first row and column. */
static inline uint row_factors(uint from)
{
    const uint item = get_local_id(0);
    return from + PARTS * SLABS * TILE_M * (SLAB * 2) + (item / 32 * 16 + item % 32 / 4) * 4;
}

static inline uint col_factors(uint from)
{
    return from + A_BYTES + PARTS * SLABS * TILE_N * (SLAB * 2) + get_local_id(0) % 4 * 8;
}

#if PARTS == 2

/* Begin to add l*h and h*l, times 2^11. */
#define BEGIN_RESTS(part, stage)                            \
    do {                                                    \
        const ulong a_at = A_OF(stage), b_at = B_OF(stage); \
        MULTIPLY_PARTS(part, a_at, 1, b_at, 0, 0);          \
        MULTIPLY_PARTS(part, a_at, 3, b_at, 2, 1);          \
        MULTIPLY_PARTS(part, a_at, 0, b_at, 1, 1);          \
        MULTIPLY_PARTS(part, a_at, 2, b_at, 3, 1);          \
        end_products();                                     \
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
    const uint item = get_local_id(0), team = item / 128;
    const uint stage = at->stage, from = memory + stage * STAGE_PITCH;
    advance(at, STAGES);
    wait_for_turn(team);
    begin_products();
    MULTIPLY_PARTS(part, A_OF(stage), 0, B_OF(stage), 0, 1);
    MULTIPLY_PARTS(part, A_OF(stage), 2, B_OF(stage), 2, 1);
    end_products();
    if (!is_last) {
        barrier_wait(full + 8 * at->stage, at->phase);
        BEGIN_RESTS(next, at->stage);
        pass_turn(team);
        wait_for_earlier_products();
    } else {
        pass_turn(team);
        wait_for_products();
    }
    add_part(sum, part, row_factors(from), col_factors(from));
    join_warp();
    if (item % 32 == 0) barrier_arrive(empty + 8 * stage);
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

#else

/* The factors of an item's sums, from those of its rows and columns: multiplied while the matrix units work. */
INLINE void load_factors(float *factors, uint rows_at, uint cols_at)
{
    float x, y;
    asm volatile("ld.shared.f32 %0, [%1];" : "=f"(x) : "r"(rows_at) : "memory");
    asm volatile("ld.shared.f32 %0, [%1];" : "=f"(y) : "r"(rows_at + 32) : "memory");
#pragma unroll
    for (uint j = 0; j < SUMS; j += 4)
        asm volatile("{.reg .f32 u, v; ld.shared.v2.f32 {u, v}, [%4]; mul.f32 %0, %5, u; mul.f32 %1, %5, v; "
                     "mul.f32 %2, %6, u; mul.f32 %3, %6, v;}"
                     : "=f"(factors[j]), "=f"(factors[j + 1]), "=f"(factors[j + 2]), "=f"(factors[j + 3])
                     : "r"(cols_at + 8 * j), "f"(x), "f"(y)
                     : "memory");
}

/* Add a tile's stretches. While the other team has its turn, a team adds the sums of one. */
INLINE void add_stretches(float *sum, uint stretches, uint memory, uint full, uint empty, ring *at)
{
    const uint item = get_local_id(0), team = item / 128;
    float part[SUMS], factors[SUMS];
#pragma unroll
    for (uint j = 0; j < SUMS; ++j) sum[j] = part[j] = 0;
    for (uint s = 0; s < stretches; ++s) {
        const uint from = memory + at->stage * STAGE_PITCH;
        const ulong a_at = A_OF(at->stage), b_at = B_OF(at->stage);
        wait_for_turn(team);
        barrier_wait(full + 8 * at->stage, at->phase);
        begin_products();
        MULTIPLY_PARTS(part, a_at, 0, b_at, 0, 0);
        MULTIPLY_PARTS(part, a_at, 1, b_at, 1, 1);
        MULTIPLY_PARTS(part, a_at, 2, b_at, 2, 1);
        end_products();
        pass_turn(team);
        load_factors(factors, row_factors(from), col_factors(from));
        wait_for_products();
        join_warp();
        if (item % 32 == 0) barrier_arrive(empty + 8 * at->stage);
#pragma unroll
        for (uint j = 0; j < SUMS; ++j) sum[j] = fma(part[j], factors[j], sum[j]);
        advance(at, STAGES);
    }
}

#endif

/* The tiles of a product whose parts suffice, from `first` on every `stride`-th one. */
INLINE void multiply_in_halves(const product *p, uint first, uint stride, global const uint *workspace,
                               local uchar *at_1024, local ulong *barriers)
{
    const uint item = get_local_id(0), team = item / 128, tiles = count_tiles(p), stretches = count_stretches(p->k);
    const uint memory = PTX_ADDRESS(at_1024), full = PTX_ADDRESS(barriers), empty = full + 8 * STAGES;
    ring at = { 0, 0 };
    open_stages(full, empty, STAGES, 1);
    if (item >= 32 * WARPS) {
        LEAVE_REGISTERS(24);
        if (item == 32 * WARPS) copy_tiles(p, first, stride, workspace, memory, full, empty);
        return;
    }
    TAKE_REGISTERS(240);
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
    local ulong barriers[2 * MAX(STAGES, A_STAGES)];
    local uint marks[2 * TILE_MARKS];
    local uchar *const at_1024 = stages + (1024 - PTX_ADDRESS(stages) % 1024) % 1024;
    const product p = PRODUCT;
    if (halves_suffice(workspace + NDR_MARKS, number))
        multiply_in_halves(&p, get_group_id(0), get_num_groups(0), workspace, at_1024, barriers);
    else {
        const work w = whole_tiles(&p);
        multiply_in_three_parts(&p, &w, at_1024, barriers, marks, 0);
    }
}

#endif
