/* blocked.cl - C = alpha * A * B + beta * C on GPUs, row-major: a block of C in the registers of each item.
 *
 *   A is m x k, B is k x n, C is m x n; offsets and pitches are in elements. elements.clh has their types and forms.
 *
 *                  TILE_N                A group computes one TILE_M x TILE_N tile of C. It goes along k in steps of
 *               +----------+             TILE_K. While the items multiply one step from local memory, they load the
 *        TILE_K |  b_tile  |             next one to registers, and store it to the other half of local memory.
 *               +----------+
 *    TILE_K     +----------+             An item computes ITEM_M x ITEM_N elements, as squares of LANES x LANES spread
 *   +------+    |          |             over the tile: neighbours read neighbouring vectors of local memory.
 *   |a_tile|    |  C tile  | TILE_M      a_tile is transposed.
 *   +------+    +----------+             The group has SLICES slices. Each takes a part of every step along k. Their
 *                                        sums are added at the end, in the order of the slices.
 *
 * If C is smaller than a tile, rows and columns past the last are computed from the last one and not stored. If k is no
 * multiple of TILE_K, the first step is the short one, padded with zeros: the others need no checks. */
#include "matmul/bands.clh"
#include "ndr/item.clh"
#include "ndr/nd_item.clh"
#include "ndr/detail/workspace.h"
#include "shared/copy.h"

/* Defaults, with which the file compiles by itself. */
#ifndef T
#define T float /* of an element */
#define LANES 4 /* elements of 16 bytes */
#define TILE_M 64
#define TILE_N 64
#define TILE_K 8
#define ITEM_M 4
#define ITEM_N 4
#define SLICES 1
#define A_RUN 1   /* elements of A along k in one load: LANES if all such vectors are aligned */
#define B_RUN 1   /* the same of B along n */
#define C_RUN 1   /* the same of C; looked at where loads of A and B are of vectors */
#define COPIES_A 0 /* 1: A is a copy in the workspace */
#define COPIES_B 0
#define CLAMP_M 1 /* 0 if C has at least TILE_M rows */
#define CLAMP_N 1 /* 0 if C has at least TILE_N columns */
#endif

#include "matmul/elements.clh"

#define V JOIN(T, LANES)
#define ITEMS_M (TILE_M / ITEM_M)
#define ITEMS_N (TILE_N / ITEM_N)
#define SLICE (ITEMS_M * ITEMS_N) /* items of a slice */
#define GROUP (SLICE * SLICES)
#define SIDE_N (ITEMS_N < 8 ? ITEMS_N : 8) /* items side by side along n among 32 neighbours */
#define SIDE_M (32 / SIDE_N)
#define A_SIDE (A_RUN == 1 ? 8 : TILE_K / A_RUN < 4 ? TILE_K / A_RUN : 4) /* items side by side along k that load A */
#define A_LOADS (TILE_M * TILE_K / A_RUN / GROUP)
#define B_LOADS (TILE_N * TILE_K / B_RUN / GROUP)
/* Column `col` of a_tile has its rows in another order, row ^ TURN(col): so 32 neighbours store their elements to 32
 * banks of local memory. A vector of rows stays one. */
#define TURN(col) ((col) / A_RUN % A_SIDE * (32 / A_SIDE) & (ITEMS_M * LANES - 1))

/* Compilers move loads past a barrier if they know that nothing changes the memory. In a step of many products they
 * spread vectors over these; in others they load too late, or need more registers for single elements. */
#if A_RUN > 1 && B_RUN > 1 && ITEM_M * ITEM_N > 64 && !HAS_EPILOGUE
#define UNCHANGED restrict
#else
#define UNCHANGED
#endif

#define VECTORS (ITEM_M * ITEM_N / LANES) /* of an item's block of C */
#define BAND_ROWS 8 /* rows of tiles computed together: the cache keeps what they share */

/* Whether C is stored as the sums are. */
#define STORES_SUMS (!CONVERTS_OUT && !HAS_EPILOGUE && PART == 0)

/* Copies are row-major, of T. Without one, A_RUN and B_RUN are 1 if the matrix is transposed or has other elements. */
#define A_TURNS (TRANSPOSES_A && !COPIES_A)
#define B_TURNS (TRANSPOSES_B && !COPIES_B)
#if CONVERTS_IN && !COPIES_A
typedef IN_T a_in;
#define LOAD_A(i) LOAD_IN(a_from, A_PLACE(i))
#else
typedef T a_in;
#define LOAD_A(i) (*(global const a_run *)(a_from + A_PLACE(i)))
#endif
#if CONVERTS_IN && !COPIES_B
typedef IN_T b_in;
#define LOAD_B(i) LOAD_IN(b_from, B_PLACE(i))
#else
typedef T b_in;
#define LOAD_B(i) (*(global const b_run *)(b_from + B_PLACE(i)))
#endif

/* The place of an item's loads of A and B in the tiles. */
#define A_ROW(i) ((item + (i) * GROUP) / A_SIDE % TILE_M)
#define A_COL(i) (((item + (i) * GROUP) % A_SIDE + (item + (i) * GROUP) / (A_SIDE * TILE_M) * A_SIDE) * A_RUN)
#define B_ROW(i) ((item + (i) * GROUP) / (TILE_N / B_RUN))
#define B_COL(i) ((item + (i) * GROUP) % (TILE_N / B_RUN) * B_RUN)

/* An item's loads of A and B at one step. The rows and columns of a transposed matrix change places. */
#define A_PLACE(i) AT_PLACE(A_TURNS, CLAMP_M ? min(A_ROW(i), rows - 1) : A_ROW(i), A_COL(i), a_pitch)
#define B_PLACE(i) AT_PLACE(B_TURNS, B_ROW(i), CLAMP_N ? min(B_COL(i), cols - B_RUN) : B_COL(i), b_pitch)
#define AT_PLACE(transposed, row, col, pitch) \
    ((transposed) ? (col) * (uint)(pitch) + (row) : (row) * (uint)(pitch) + (col))
#if T_IS_FLOAT
#define MULTIPLY_ADD(x, y, z) fma(x, y, z)
#else
#define MULTIPLY_ADD(x, y, z) ((x) * (y) + (z))
#endif

/* Copy the elements of a vector. */
static inline void unpack(T *to, V x)
{
    to[0] = x.s0;
    to[1] = x.s1;
#if LANES == 4
    to[2] = x.s2;
    to[3] = x.s3;
#endif
}

#if A_RUN == 1
typedef T a_run;
#else
typedef V a_run;
#endif
#if B_RUN == 1
typedef T b_run;
#else
typedef V b_run;
#endif

static inline void store_a(local T *tile, uint item, const a_run *x)
{
#pragma unroll
    for (uint i = 0; i < A_LOADS; ++i) {
        local T *const to = tile + A_COL(i) * TILE_M + (A_ROW(i) ^ TURN(A_COL(i)));
#if A_RUN == 1
        to[0] = x[i];
#else
        T part[LANES];
        unpack(part, x[i]);
#pragma unroll
        for (uint j = 0; j < LANES; ++j) to[j * TILE_M] = part[j];
#endif
    }
}

static inline void store_b(local T *tile, uint item, const b_run *x)
{
#pragma unroll
    for (uint i = 0; i < B_LOADS; ++i) *(local b_run *)(tile + B_ROW(i) * TILE_N + B_COL(i)) = x[i];
}

/* Read an item's operands of one step: ITEM_M elements of a column of A, ITEM_N of a row of B. */
static inline void read_step(T *x, T *y, local const T *a, local const T *b)
{
#pragma unroll
    for (uint i = 0; i < ITEM_M / LANES; ++i) unpack(x + i * LANES, *(local const V *)(a + i * (ITEMS_M * LANES)));
#pragma unroll
    for (uint j = 0; j < ITEM_N / LANES; ++j) unpack(y + j * LANES, *(local const V *)(b + j * (ITEMS_N * LANES)));
}

static inline void multiply_step(T sum[ITEM_M][ITEM_N], const T *x, const T *y)
{
#pragma unroll
    for (uint i = 0; i < ITEM_M; ++i)
#pragma unroll
        for (uint j = 0; j < ITEM_N; ++j) sum[i][j] = MULTIPLY_ADD(x[i], y[j], sum[i][j]);
}

/* The steps of one slice. Its part of a_tile begins at a; the item's first row there is a_row. b points to the item's
 * first operands. */
static inline void multiply_tiles(T sum[ITEM_M][ITEM_N], local const T *a, uint a_row, local const T *b)
{
    T x[2][ITEM_M], y[2][ITEM_N]; /* of this step and of the next one */
    read_step(x[0], y[0], a + (a_row ^ TURN(0)), b);
#pragma unroll
    for (uint p = 0; p < TILE_K / SLICES; ++p) {
        const uint now = p & 1, next = (p + 1) & 1;
        if (p + 1 < TILE_K / SLICES)
            read_step(x[next], y[next], a + (p + 1) * TILE_M + (a_row ^ TURN(p + 1)), b + (p + 1) * TILE_N);
        multiply_step(sum, x[now], y[now]);
    }
}

/* Add the sums of all slices to those of the first, one slice at a time. */
static inline void add_slices(T sum[ITEM_M][ITEM_N], local T *scratch, uint slice, uint place)
{
    for (uint z = 1; z < SLICES; ++z) {
        barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
        for (uint e = 0; e < ITEM_M * ITEM_N; ++e)
            if (slice == z) scratch[e * SLICE + place] = sum[e / ITEM_N][e % ITEM_N];
        barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
        for (uint e = 0; e < ITEM_M * ITEM_N; ++e)
            if (slice == 0) sum[e / ITEM_N][e % ITEM_N] += scratch[e * SLICE + place];
    }
}

#if LANES == 4
#define PACK(x) ((V)((x)[0], (x)[1], (x)[2], (x)[3]))
#else
#define PACK(x) ((V)((x)[0], (x)[1]))
#endif

/* Store LANES elements of a row of C, of which the first one is (row, col). This tile stores [begin, end) of them. */
NDR_INLINE_ void store_run(global OUT_T *c, const T *sum, uint begin, uint end, bool is_aligned, T alpha, T beta,
                           ulong product, ulong row, ulong col EPILOGUE_PARAMETERS)
{
#if STORES_SUMS
    if (is_aligned && begin == 0 && end >= LANES) {
        V x = alpha * PACK(sum);
        if (beta != (T)0) x += beta * *(global const V *)c; /* 0: C is not read, it may hold NaN */
        *(global V *)c = x;
        return;
    }
#pragma unroll
    for (uint j = 0; j < LANES; ++j)
        if (j >= begin && j < end) c[j] = alpha * sum[j] + (beta == (T)0 ? (T)0 : beta * c[j]);
    (void)product, (void)row, (void)col;
#else
#pragma unroll
    for (uint j = 0; j < LANES; ++j)
        if (j >= begin && j < end && IS_IN_PART(row, col + j))
            store_result(sum[j], alpha, beta, c, j, product, row, col + j EPILOGUE_ARGUMENTS);
    (void)is_aligned;
#endif
}

/* Columns that B has for so many of C: a copy of B has whole vectors. */
#define WHOLE(cols) (((cols) + B_RUN - 1) / B_RUN * B_RUN)

/* The tile of a group, and the part of it that the group stores: the last tile ends where C or the copy of B ends, and
 * stores only what no other tile stores. */
typedef struct place {
    ulong product, row, col; /* of the tile's first element */
    uint above, rows;        /* rows before the part, and of it */
    uint before, cols;
} place;

static inline place find_tile(uint tile, ulong m, ulong n)
{
    const uint tiles_m = (uint)((m + TILE_M - 1) / TILE_M), tiles_n = (uint)((n + TILE_N - 1) / TILE_N);
    place at;
    at.product = tile / (tiles_m * tiles_n);
    const uint2 found = find_in_bands(tile % (tiles_m * tiles_n), tiles_m, tiles_n, BAND_ROWS);
    at.row = (ulong)found.x * TILE_M;
    at.col = (ulong)found.y * TILE_N;
    at.rows = (uint)min((ulong)TILE_M, m - at.row);
    at.cols = (uint)min((ulong)TILE_N, n - at.col);
    at.above = CLAMP_M ? 0 : TILE_M - at.rows;
    at.before = CLAMP_N ? 0 : TILE_N - WHOLE(at.cols);
    at.row -= at.above;
    at.col -= at.before;
    return at;
}

/* The first of an item's columns and rows in the tile. */
static inline uint first_col(uint item)
{
    return (item / 32 % (ITEMS_N / SIDE_N) * SIDE_N + item % 32 % SIDE_N) * LANES;
}

static inline uint first_row(uint item)
{
    return (item / 32 / (ITEMS_N / SIDE_N) * SIDE_M + item % 32 / SIDE_N) * LANES;
}

/* Row i and column j of an item, in the tile. */
#define ROW(i) ((i) / LANES * (ITEMS_M * LANES) + (i) % LANES)
#define COL(j) ((j) * ITEMS_N)

/* Whether the tile is stored by vectors. Where A and B are loaded by vectors, code for the other C costs registers. */
#define HAS_VECTORS (A_RUN > 1 && B_RUN > 1)
#define MAY_STORE_ELEMENTS (STORES_SUMS && (!HAS_VECTORS || C_RUN == 1))
#define MAY_STORE_VECTORS (!STORES_SUMS || !HAS_VECTORS || C_RUN > 1)

#if MAY_STORE_ELEMENTS
/* One row of each item: ITEMS_M rows of the tile, in local memory. What an item stores of it. */
#define SHARED (ITEMS_M * TILE_N)
#define SHARED_LOADS ((SHARED + GROUP - 1) / GROUP)
#define SHARED_ROW(e) ((item + (e) * GROUP) / TILE_N * LANES + ROW(i))
#define SHARED_COL(e) ((item + (e) * GROUP) % TILE_N)
#define IS_STORED(e)                                                                                                 \
    (item + (e) * GROUP < SHARED && SHARED_ROW(e) >= at.above && SHARED_ROW(e) < at.above + at.rows                  \
     && SHARED_COL(e) >= at.before && SHARED_COL(e) < at.before + at.cols)

/* With whole vectors of A and B, unrolled code would need more registers; with single elements, the loop does. */
#if HAS_VECTORS
#define FOR_EACH_ROW
#else
#define FOR_EACH_ROW _Pragma("unroll")
#endif

/* Store a tile of a C whose rows are not aligned: neighbours store neighbouring elements, which come from local memory.
 * An item reads what it needs of C before it stores. Always inlined: the fault shared_local_array. */
static inline __attribute__((always_inline)) void
store_elements(global OUT_T *c, ulong c_pitch, T sum[ITEM_M][ITEM_N], local T *scratch, uint item, place at, T alpha,
               T beta)
{
    local T *const mine = scratch + first_row(item % SLICE) / LANES * TILE_N + first_col(item % SLICE);
    FOR_EACH_ROW
    for (uint i = 0; i < ITEM_M; ++i) {
        barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
        for (uint r = 0; r < ITEM_M; ++r)
#pragma unroll
            for (uint j = 0; j < ITEM_N; j += LANES)
                if (r == i && item < SLICE) *(local V *)(mine + COL(j)) = PACK(&sum[r][j]);
        barrier(CLK_LOCAL_MEM_FENCE);
        T old[SHARED_LOADS];
#pragma unroll
        for (uint e = 0; e < SHARED_LOADS; ++e) /* 0: C is not read, it may hold NaN */
            old[e] = beta != (T)0 && IS_STORED(e) ? beta * c[SHARED_ROW(e) * c_pitch + SHARED_COL(e)] : (T)0;
#pragma unroll
        for (uint e = 0; e < SHARED_LOADS; ++e)
            if (IS_STORED(e))
                c[SHARED_ROW(e) * c_pitch + SHARED_COL(e)] = alpha * scratch[item + e * GROUP] + old[e];
    }
}
#endif

/* Over `whole` groups, one for each of the first tiles, and one for each part of k of the `divided` tiles after them. A
 * part takes `depth` steps along k, and its group stores its sums to the workspace. */
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
gemm_blocked(ulong m, ulong n, ulong k, T alpha, global const a_in *UNCHANGED a, ulong a_offset, ulong a_pitch,
             ulong a_stride, global const b_in *UNCHANGED b, ulong b_offset, ulong b_pitch, ulong b_stride, T beta,
             global OUT_T *UNCHANGED c, ulong c_offset, ulong c_pitch, ulong c_stride, ulong whole, ulong divided,
             ulong depth, global uint *UNCHANGED workspace MORE_PARAMETERS, NDR_ND_RANGE(1))
{
    const ndr_nd_item it = NDR_ND_ITEM(1);
    local T tiles[2 * TILE_K * (TILE_M + TILE_N)] __attribute__((aligned(16)));
    local T *const a_tiles = tiles, *const b_tiles = tiles + 2 * TILE_K * TILE_M;

    const uint group = (uint)ndr_group_id(it, 0);
    const bool is_part = group >= (uint)whole;
    const uint index = group - (uint)whole; /* of the part */
    const place at = find_tile(is_part ? (uint)whole + index % (uint)divided : group, m, n);
    const ulong k0 = is_part ? index / (uint)divided * depth : 0;
    const bool is_wanted = IS_PARTLY_IN(at.row + at.above, at.col + at.before, at.rows, at.cols);
    const ulong steps = !is_wanted ? 0 : is_part ? min(depth, k - k0) : k;

    const uint item = (uint)ndr_local_id(it, 0) % GROUP; /* compilers now see that it is less */
    const uint slice = item / SLICE, x = first_col(item % SLICE), y = first_row(item % SLICE);

    T sum[ITEM_M][ITEM_N];
#pragma unroll
    for (uint i = 0; i < ITEM_M; ++i)
#pragma unroll
        for (uint j = 0; j < ITEM_N; ++j) sum[i][j] = (T)0;

    if (steps > 0) {
        const uint rows = at.rows, cols = WHOLE(at.cols);
        const ulong a_step = A_TURNS ? a_pitch : 1, b_step = B_TURNS ? 1 : b_pitch; /* along k */
        global const a_in *a_from = a + a_offset + k0 * a_step + at.row * (A_TURNS ? 1 : a_pitch);
        global const b_in *b_from = b + b_offset + k0 * b_step + at.col * (B_TURNS ? b_pitch : 1);
        a_from += COPIES_A ? 0 : A_OF(at.product);
        b_from += COPIES_B ? 0 : B_OF(at.product);
        const uint first = (uint)((steps - 1) % TILE_K) + 1;
        a_run a_next[A_LOADS];
        b_run b_next[B_LOADS];
#pragma unroll
        for (uint i = 0; i < A_LOADS; ++i) a_next[i] = A_COL(i) < first ? LOAD_A(i) : (a_run)(0);
#pragma unroll
        for (uint i = 0; i < B_LOADS; ++i) b_next[i] = B_ROW(i) < first ? LOAD_B(i) : (b_run)(0);
        a_from += first * a_step;
        b_from += first * b_step;
        store_a(a_tiles, item, a_next);
        store_b(b_tiles, item, b_next);

        local const T *const a_mine = a_tiles + slice * (TILE_K / SLICES * TILE_M);
        local const T *const b_mine = b_tiles + slice * (TILE_K / SLICES * TILE_N) + x;
        const uint a_row = y ^ TURN(slice * (TILE_K / SLICES));
        uint now = 0;
        for (ulong left = steps - first; left > 0; left -= TILE_K) {
#pragma unroll
            for (uint i = 0; i < A_LOADS; ++i) a_next[i] = LOAD_A(i);
#pragma unroll
            for (uint i = 0; i < B_LOADS; ++i) b_next[i] = LOAD_B(i);
            a_from += TILE_K * a_step;
            b_from += TILE_K * b_step;
            barrier(CLK_LOCAL_MEM_FENCE);
            multiply_tiles(sum, a_mine + now * (TILE_K * TILE_M), a_row, b_mine + now * (TILE_K * TILE_N));
            now ^= 1;
            store_a(a_tiles + now * (TILE_K * TILE_M), item, a_next);
            store_b(b_tiles + now * (TILE_K * TILE_N), item, b_next);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        multiply_tiles(sum, a_mine + now * (TILE_K * TILE_M), a_row, b_mine + now * (TILE_K * TILE_N));
    }
#if SLICES > 1
    add_slices(sum, tiles, slice, item % SLICE);
#endif
    if (is_part) {
        if (slice > 0) return;
        global V *const out = (global V *)(workspace + NDR_WORKSPACE_HEAD) + (ulong)index * VECTORS * SLICE + item;
#pragma unroll
        for (uint v = 0; v < VECTORS; ++v)
            out[v * SLICE] = PACK(sum[v / (ITEM_N / LANES)] + v % (ITEM_N / LANES) * LANES);
        return;
    }
    c += c_offset + C_OF(at.product) + at.row * c_pitch + at.col;
#if MAY_STORE_ELEMENTS
    if (!MAY_STORE_VECTORS || (c_offset | c_pitch | c_stride | at.before) % LANES != 0) {
        store_elements(c, c_pitch, sum, tiles, item, at, alpha, beta);
        return;
    }
#endif
#if MAY_STORE_VECTORS
    if (slice > 0) return;
    c += y * c_pitch + x;
#if HAS_VECTORS && STORES_SUMS /* otherwise the registers that this takes cost more than it gains */
    if (at.rows == TILE_M && at.cols == TILE_N && alpha == (T)1 && beta == (T)0) {
#pragma unroll
        for (uint i = 0; i < ITEM_M; ++i)
#pragma unroll
            for (uint j = 0; j < ITEM_N; j += LANES) *(global V *)(c + ROW(i) * c_pitch + COL(j)) = PACK(&sum[i][j]);
        return;
    }
#endif
#pragma unroll
    for (uint i = 0; i < ITEM_M; ++i) {
        if (y + ROW(i) < at.above || y + ROW(i) >= at.above + at.rows) continue;
#pragma unroll
        for (uint j = 0; j < ITEM_N; j += LANES) {
            const uint col = x + COL(j), last = at.before + at.cols;
            store_run(c + ROW(i) * c_pitch + COL(j), &sum[i][j], at.before - min(at.before, col),
                      last - min(last, col), true, alpha, beta, at.product, at.row + y + ROW(i),
                      at.col + col EPILOGUE_ARGUMENTS);
        }
    }
#endif
}

/* Over VECTORS groups of SLICE items for each divided tile: C = alpha * (the sums of all parts, added in their order) +
 * beta * C. */
kernel void gemm_blocked_add(ulong m, ulong n, T alpha, T beta, global OUT_T *UNCHANGED c, ulong c_offset,
                             ulong c_pitch, ulong whole, ulong divided, ulong parts,
                             global const uint *restrict workspace MORE_PARAMETERS, NDR_ND_RANGE(1))
{
    const ndr_nd_item it = NDR_ND_ITEM(1);
    const uint group = (uint)ndr_group_id(it, 0), item = (uint)ndr_local_id(it, 0), v = group % VECTORS;
    const place at = find_tile((uint)whole + group / VECTORS, m, n);
    global const V *const sums = (global const V *)(workspace + NDR_WORKSPACE_HEAD) + (ulong)group * SLICE + item;
    V sum = sums[0];
    for (ulong part = 1; part < parts; ++part) sum += sums[part * divided * VECTORS * SLICE];

    const uint row = first_row(item) + ROW(v / (ITEM_N / LANES));
    const uint col = first_col(item) + COL(v % (ITEM_N / LANES) * LANES);
    if (row < at.above || row >= at.above + at.rows) return;
    T one[LANES];
    unpack(one, sum);
    const uint last = at.before + at.cols;
    const ulong c_stride = 0; /* of one product */
    (void)c_stride;
    store_run(c + c_offset + C_OF(0) + (at.row + row) * c_pitch + at.col + col, one, at.before - min(at.before, col),
              last - min(last, col), (c_offset | c_pitch | at.before) % LANES == 0, alpha, beta, 0, at.row + row,
              at.col + col EPILOGUE_ARGUMENTS);
}

/* Copy a matrix to the workspace, `to` elements after its head, with zeros up to to_rows x to_cols. If it is stored
 * transposed, its column c begins at from[c * pitch]. Over groups of NDR_COPY_ITEMS columns of NDR_COPY_ROWS rows. */
kernel void gemm_blocked_copy(ulong rows, ulong cols, global const IN_T *restrict from, ulong offset, ulong pitch,
                              uint is_transposed, ulong to_rows, ulong to_cols, global uint *restrict workspace,
                              ulong to, NDR_ND_RANGE(1))
{
    const ndr_nd_item it = NDR_ND_ITEM(1);
    const uint across = ((uint)to_cols + NDR_COPY_ITEMS - 1) / NDR_COPY_ITEMS, group = (uint)ndr_group_id(it, 0);
    const uint col = group % across * NDR_COPY_ITEMS + (uint)ndr_local_id(it, 0), row = group / across * NDR_COPY_ROWS;
    const ulong right = is_transposed ? pitch : 1, down = is_transposed ? 1 : pitch;
    from += offset + min(col, (uint)cols - 1) * right;
    T x[NDR_COPY_ROWS];
#pragma unroll
    for (uint r = 0; r < NDR_COPY_ROWS; ++r) x[r] = LOAD_IN(from, min(row + r, (uint)rows - 1) * down);
    if (col >= to_cols) return;
    global T *const out = (global T *)(workspace + NDR_WORKSPACE_HEAD) + to + row * to_cols + col;
#pragma unroll
    for (uint r = 0; r < NDR_COPY_ROWS; ++r)
        if (row + r < to_rows) out[r * to_cols] = row + r < rows && col < cols ? x[r] : (T)0;
}
