/* gemm_cpu.cl - C = alpha * A * B + beta * C, row-major, on devices whose groups are threads with vector registers.
 *
 *   A is m x k, B is k x n, C is m x n; offsets and pitches are in elements. Groups of one item; nothing waits.
 *
 *                  k          NR                 An item owns MR rows and NR = VECTORS * LANES columns of C in
 *             +---------+  +------+              MR * VECTORS vector registers: for each step along k it loads
 *          MR |a ->     |  |b     |              VECTORS vectors of a row of B, and multiplies each by one element
 *             +---------+  ||     |  k           of A for each of its rows.
 *                          |v     |
 *                          +------+              Ragged edges: rows past the last are computed from the last one and
 *             +------+                           not stored; columns past the last come from a copy of that edge of
 *          MR |  C   |                           B, filled up with zeros.
 *             +------+
 *
 * gemm_direct   reads A and B where they are: one launch, for matrices that stay in the cache.
 * gemm_packed   reads B from panels that gemm_pack_b laid out before: k rows of NR columns, one behind the other,
 *               so that the inner loop runs through memory in one line; A goes to local memory block by block in the
 *               order it is used in. While one panel is used the next is fetched. For large matrices.
 * gemm_thin     for a few rows: keeps a strip of C in the first cache and runs along the rows of B, each read once.
 */
#include "ndr/atomic.clh"
#include "ndr/nd_item.clh"

/* src/ops/matmul.c says otherwise; with these the file compiles by itself. */
#ifndef T
#define T float /* of an element */
#define LANES 16 /* elements of a vector register */
#endif
#include "vectors.clh"

#ifndef VECTORS
#define VECTORS 3 /* registers of one row of the block: 3 * 8 accumulators, 3 of B and 1 of A fit 32 */
#endif
#ifndef DEPTH
#define DEPTH 640 /* most steps along k for which a block of A stays packed, a multiple of 8: MR * DEPTH elements fit
                   * the first cache, and the block the second */
#endif

#define MR 8
#define NR (VECTORS * LANES)

/* The same for 8 elements, whatever a register holds. */
#define T8 JOIN(T, 8)
typedef struct __attribute__((packed)) anywhere8 {
    T8 v;
} anywhere8;
#define AT8(space, i, p) (((space anywhere8 *)(p))[i].v)

/* Where C goes, and what it becomes: alpha * sum + beta * C. */
typedef struct target {
    global T *c; /* element (0, 0) of the block */
    ulong pitch;
    uint rows, cols; /* of the block that are there: 1 to MR, 1 to NR */
    T alpha, beta;
} target;

static inline void store_block(const target *to, V sum[MR][VECTORS])
{
    const uint whole = to->cols / LANES; /* vectors; the columns past them go one by one */
#pragma unroll
    for (uint r = 0; r < MR; ++r) {
        if (r >= to->rows) break;
        global T *const c = to->c + r * to->pitch;
#pragma unroll
        for (uint v = 0; v < VECTORS; ++v) {
            if (v >= whole) continue;
            V x = to->alpha * sum[r][v];
            if (to->beta != (T)0) x += to->beta * AT(global const, v, c); /* 0: C may hold anything, even NaN */
            AT(global, v, c) = x;
        }
    }
    if (whole * LANES == to->cols) return;
    T flat[MR * NR];
#pragma unroll
    for (uint r = 0; r < MR; ++r)
#pragma unroll
        for (uint v = 0; v < VECTORS; ++v) AT(private, r * VECTORS + v, flat) = sum[r][v];
    for (uint r = 0; r < to->rows; ++r)
        for (uint j = whole * LANES; j < to->cols; ++j) {
            global T *const c = to->c + r * to->pitch + j;
            const T x = to->alpha * flat[r * NR + j];
            *c = to->beta == (T)0 ? x : x + to->beta * *c;
        }
}

/* Have the block of C brought to the cache while its product is computed. */
static inline void fetch_ahead(const target *to)
{
#if FETCH_AHEAD
    for (uint r = 0; r < to->rows; ++r)
#pragma unroll
        for (uint v = 0; v < VECTORS; ++v) FETCH(to->c + r * to->pitch + v * LANES, 1, 3);
#endif
    (void)to;
}

/* What a step of a multiplication may do for what comes after: nothing, have the rows of B that are ROWS_AHEAD steps
 * away brought to the first cache, or have `share` elements of `next` brought to the second. */
#define ROWS_AHEAD 8
#define FETCH_NOTHING(vectors) (void)next, (void)share
#if FETCH_AHEAD
#define FETCH_ROW(vectors)                                      \
    FETCH_NOTHING(vectors);                                     \
    _Pragma("unroll") for (uint v = 0; v < vectors; ++v)        \
        FETCH(b + ROWS_AHEAD * b_pitch + v * LANES, 0, 3)
#define FETCH_SHARE(vectors) FETCH(next, 0, 2), next += share
#else
#define FETCH_ROW FETCH_NOTHING
#define FETCH_SHARE FETCH_NOTHING
#endif

/* sum = rows of A times the first `vectors` vectors of columns of B, `depth` steps along k; zero in the other columns.
 * Row r of A starts at a[a_row[r]] and its elements lie `a_step` apart; rows of B lie `b_pitch` apart. */
#define DEFINE_MULTIPLY(name, vectors, a_space, b_space, fetch)                                              \
    static inline void name(V sum[MR][VECTORS], a_space const T *a, const ulong a_row[MR], ulong a_step,      \
                            b_space const T *b, ulong b_pitch, ulong depth, global const T *next, ulong share) \
    {                                                                                                        \
        _Pragma("unroll") for (uint r = 0; r < MR; ++r)                                                      \
            _Pragma("unroll") for (uint v = 0; v < VECTORS; ++v) sum[r][v] = (V)(0);                         \
        for (ulong p = 0; p < depth; ++p) {                                                                  \
            V x[vectors];                                                                                    \
            fetch(vectors);                                                                                  \
            _Pragma("unroll") for (uint v = 0; v < vectors; ++v) x[v] = AT(b_space const, v, b);             \
            _Pragma("unroll") for (uint r = 0; r < MR; ++r)                                                  \
            {                                                                                                \
                const V y = (V)(a[a_row[r]]);                                                                \
                _Pragma("unroll") for (uint v = 0; v < vectors; ++v) sum[r][v] = fma(y, x[v], sum[r][v]);    \
            }                                                                                                \
            a += a_step;                                                                                     \
            b += b_pitch;                                                                                    \
        }                                                                                                    \
    }
DEFINE_MULTIPLY(multiply_global, VECTORS, global, global, FETCH_ROW)
DEFINE_MULTIPLY(multiply_global2, 2, global, global, FETCH_ROW)
DEFINE_MULTIPLY(multiply_global1, 1, global, global, FETCH_ROW)
DEFINE_MULTIPLY(multiply_edge, VECTORS, global, private, FETCH_NOTHING)
DEFINE_MULTIPLY(multiply_edge1, 1, global, private, FETCH_NOTHING)
DEFINE_MULTIPLY(multiply_packed, VECTORS, local, global, FETCH_SHARE)
DEFINE_MULTIPLY(multiply_packed2, 2, local, global, FETCH_SHARE)
DEFINE_MULTIPLY(multiply_packed1, 1, local, global, FETCH_SHARE)

/* ---- direct ----------------------------------------------------------------------------------------- */

/* Over (rows of blocks, columns of blocks) groups. */
kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
gemm_direct(ulong m, ulong n, ulong k, T alpha, global const T *a, ulong a_offset, ulong a_pitch, global const T *b,
            ulong b_offset, ulong b_pitch, T beta, global T *c, ulong c_offset, ulong c_pitch, NDR_ND_RANGE(2))
{
    const ndr_nd_item it = NDR_ND_ITEM(2);
    const ulong row = ndr_group_id(it, 0) * MR, col = ndr_group_id(it, 1) * NR;
    const target to = { c + c_offset + row * c_pitch + col, c_pitch, (uint)min((ulong)MR, m - row),
                        (uint)min((ulong)NR, n - col), alpha, beta };
    ulong a_row[MR];
#pragma unroll
    for (uint r = 0; r < MR; ++r) a_row[r] = min((ulong)r, m - 1 - row) * a_pitch;
    a += a_offset + row * a_pitch;
    b += b_offset + col;

    V sum[MR][VECTORS];
    if (to.cols == NR) {
        multiply_global(sum, a, a_row, 1, b, b_pitch, k, b, 0);
    } else if (to.cols == 2 * LANES) {
        multiply_global2(sum, a, a_row, 1, b, b_pitch, k, b, 0);
    } else if (to.cols == LANES) {
        multiply_global1(sum, a, a_row, 1, b, b_pitch, k, b, 0);
    } else {
        /* The edge of B, 16 rows at a time, filled up with zeros. */
        T edge[16 * NR];
        for (uint q = 0; q < 16 * NR; ++q) edge[q] = (T)0;
        V total[MR][VECTORS];
#pragma unroll
        for (uint r = 0; r < MR; ++r)
#pragma unroll
            for (uint v = 0; v < VECTORS; ++v) total[r][v] = (V)(0);
        for (ulong p = 0; p < k; p += 16) {
            const uint depth = (uint)min((ulong)16, k - p);
            for (uint q = 0; q < depth; ++q)
                for (uint j = 0; j < to.cols; ++j) edge[q * NR + j] = b[(p + q) * b_pitch + j];
            if (to.cols < LANES) multiply_edge1(sum, a + p, a_row, 1, edge, NR, depth, b, 0);
            else multiply_edge(sum, a + p, a_row, 1, edge, NR, depth, b, 0);
#pragma unroll
            for (uint r = 0; r < MR; ++r)
#pragma unroll
                for (uint v = 0; v < VECTORS; ++v) total[r][v] += sum[r][v];
        }
#pragma unroll
        for (uint r = 0; r < MR; ++r)
#pragma unroll
            for (uint v = 0; v < VECTORS; ++v) sum[r][v] = total[r][v];
    }
    store_block(&to, sum);
}

/* ---- packed ----------------------------------------------------------------------------------------- */

#define PACK_ROWS 16 /* of B, for one item: few enough that their pages stay at hand while it goes along them, */
#define PACK_PANELS 16 /* panel by panel */
#define COUNTERS 64 /* uints in front of the panels; the first is the counter by which gemm_packed deals out its work */

/* Lay B out in panels of NR columns, filled up with zeros: panel j, row p begins at (j * k + p) * NR. Over (blocks of
 * PACK_ROWS rows, blocks of PACK_PANELS panels) groups. */
kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
gemm_pack_b(ulong n, ulong k, global const T *b, ulong b_offset, ulong b_pitch, global uint *workspace,
            NDR_ND_RANGE(2))
{
    const ndr_nd_item it = NDR_ND_ITEM(2);
    const ulong first = ndr_group_id(it, 0) * PACK_ROWS, last = min(k, first + PACK_ROWS);
    const ulong col0 = ndr_group_id(it, 1) * PACK_PANELS * NR, col1 = min(n, col0 + PACK_PANELS * NR);
    if (ndr_global_linear_id(it) == 0) *workspace = 0;
    b += b_offset;
    for (ulong col = col0; col < col1; col += NR) {
        global T *const panel = (global T *)(workspace + COUNTERS) + col * k;
        if (col + NR <= n) {
            for (ulong p = first; p < last; ++p)
#pragma unroll
                for (uint v = 0; v < VECTORS; ++v)
                    AT(global, v, panel + p * NR) = AT(global const, v, b + p * b_pitch + col);
        } else {
            for (ulong p = first; p < last; ++p)
                for (uint j = 0; j < NR; ++j) panel[p * NR + j] = col + j < n ? b[p * b_pitch + col + j] : (T)0;
        }
    }
}

/* 8 elements of 8 rows to 8 elements of 8 columns: three times the upper half of the rows is zipped with the lower. */
static inline void transpose_8x8(global const T *from, ulong pitch, local T *to)
{
    T8 x[8], y[8];
#pragma unroll
    for (uint r = 0; r < 8; ++r) x[r] = AT8(global const, 0, from + r * pitch);
#pragma unroll
    for (uint times = 0; times < 3; ++times) {
#pragma unroll
        for (uint r = 0; r < 4; ++r) {
            const T8 u = x[r], l = x[r + 4];
            y[2 * r] = (T8)(u.s0, l.s0, u.s1, l.s1, u.s2, l.s2, u.s3, l.s3);
            y[2 * r + 1] = (T8)(u.s4, l.s4, u.s5, l.s5, u.s6, l.s6, u.s7, l.s7);
        }
#pragma unroll
        for (uint r = 0; r < 8; ++r) x[r] = y[r];
    }
#pragma unroll
    for (uint r = 0; r < 8; ++r) AT8(local, r, to) = x[r];
}

/* Bring rows [row, row + rows) of A, columns [p, p + depth), to `block`: MR rows side by side, step by step, one such
 * ribbon after the other. Rows past the last are filled with zeros. */
static inline void pack_a(local T *block, global const T *a, ulong a_pitch, ulong rows, uint depth)
{
    for (ulong i = 0; i < rows; i += MR, block += MR * depth) {
        global const T *const source = a + i * a_pitch;
        const uint there = (uint)min((ulong)MR, rows - i);
        uint p = 0;
        if (there == MR) {
            for (; p + 8 <= depth; p += 8) transpose_8x8(source + p, a_pitch, block + p * MR);
            for (; p < depth; ++p)
#pragma unroll
                for (uint r = 0; r < MR; ++r) block[p * MR + r] = source[r * a_pitch + p];
        } else {
            for (; p < depth; ++p)
                for (uint r = 0; r < MR; ++r) block[p * MR + r] = r < there ? source[r * a_pitch + p] : (T)0;
        }
    }
}

/* A handful of groups deal the work out among themselves, `block_rows` rows of C at a time. `block` holds block_rows *
 * DEPTH elements. */
kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
gemm_packed(ulong m, ulong n, ulong k, T alpha, global const T *a, ulong a_offset, ulong a_pitch,
            global uint *workspace, T beta, global T *c, ulong c_offset, ulong c_pitch, ulong block_rows,
            local T *block, NDR_ND_RANGE(1))
{
    global const T *const panels = (global const T *)(workspace + COUNTERS);
    ulong a_row[MR];
#pragma unroll
    for (uint r = 0; r < MR; ++r) a_row[r] = r;
    a += a_offset;
    c += c_offset;
    const ulong passes = (k + DEPTH - 1) / DEPTH;
    const ulong step = ((k + passes - 1) / passes + 7) / 8 * 8; /* equal passes: each reads and writes all of C */
    const ulong share = (NR * MR + block_rows - 1) / block_rows; /* of the next panel, for each step with this one */
    for (;;) {
        const ulong row0 = ndr_atomic_fetch_add(workspace, 1u) * block_rows;
        if (row0 >= m) return;
        const ulong rows = min(block_rows, m - row0);
        for (ulong p = 0; p < k; p += step) {
            const uint depth = (uint)min(step, k - p);
            const T now_beta = p == 0 ? beta : (T)1;
            pack_a(block, a + row0 * a_pitch + p, a_pitch, rows, depth);
            for (ulong col = 0; col < n; col += NR) {
                global const T *const panel = panels + (col / NR * k + p) * NR;
                global const T *next = col + NR < n ? panel + k * NR : panels + (p + depth) * NR;
                for (ulong i = 0; i < rows; i += MR) {
                    const target to = { c + (row0 + i) * c_pitch + col, c_pitch, (uint)min((ulong)MR, rows - i),
                                        (uint)min((ulong)NR, n - col), alpha, now_beta };
                    V sum[MR][VECTORS];
                    fetch_ahead(&to);
                    local const T *const ribbon = block + i * depth;
                    if (to.cols > 2 * LANES)
                        multiply_packed(sum, ribbon, a_row, MR, panel, NR, depth, next, share);
                    else if (to.cols > LANES)
                        multiply_packed2(sum, ribbon, a_row, MR, panel, NR, depth, next, share);
                    else
                        multiply_packed1(sum, ribbon, a_row, MR, panel, NR, depth, next, share);
                    next += depth * share;
                    store_block(&to, sum);
                }
            }
        }
    }
}

/* ---- thin ------------------------------------------------------------------------------------------- */

#ifndef THIN_ROWS
#define THIN_ROWS 8 /* rows of C that an item keeps; src/ops/matmul.c takes the power of two that m needs */
#endif
#define STRIP (16 * LANES) /* columns of C that an item keeps: THIN_ROWS * STRIP elements stay in the first cache */
#define THIN_DEPTH 4 /* rows of B that are read side by side */

/* acc += A[.., p .. p + depth) * B[p .. p + depth, columns of the strip]. */
static inline void thin_steps(T acc[THIN_ROWS][STRIP], const T x[THIN_ROWS][THIN_DEPTH], global const T *b,
                              ulong b_pitch, uint vectors)
{
    for (uint v = 0; v < vectors; ++v) {
        V y[THIN_DEPTH];
#pragma unroll
        for (uint q = 0; q < THIN_DEPTH; ++q) y[q] = AT(global const, v, b + q * b_pitch);
#pragma unroll
        for (uint r = 0; r < THIN_ROWS; ++r) {
            V sum = AT(private, v, acc[r]);
#pragma unroll
            for (uint q = 0; q < THIN_DEPTH; ++q) sum = fma((V)(x[r][q]), y[q], sum);
            AT(private, v, acc[r]) = sum;
        }
    }
}

/* m <= THIN_ROWS. Over strips of C. */
kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
gemm_thin(ulong m, ulong n, ulong k, T alpha, global const T *a, ulong a_offset, ulong a_pitch, global const T *b,
          ulong b_offset, ulong b_pitch, T beta, global T *c, ulong c_offset, ulong c_pitch, NDR_ND_RANGE(1))
{
    const ndr_nd_item it = NDR_ND_ITEM(1);
    const ulong col = ndr_group_id(it, 0) * STRIP;
    const uint cols = (uint)min((ulong)STRIP, n - col);
    const uint vectors = cols / LANES; /* whole ones; what is left goes one by one */
    T acc[THIN_ROWS][STRIP];
    for (uint r = 0; r < THIN_ROWS; ++r)
        for (uint j = 0; j < STRIP; ++j) acc[r][j] = (T)0;
    a += a_offset;
    b += b_offset + col;
    c += c_offset + col;

    ulong p = 0;
    for (; p + THIN_DEPTH <= k; p += THIN_DEPTH) {
        T x[THIN_ROWS][THIN_DEPTH];
        for (uint r = 0; r < THIN_ROWS; ++r)
#pragma unroll
            for (uint q = 0; q < THIN_DEPTH; ++q) x[r][q] = a[min((ulong)r, m - 1) * a_pitch + p + q];
        thin_steps(acc, x, b + p * b_pitch, b_pitch, vectors);
        for (uint j = vectors * LANES; j < cols; ++j)
            for (uint r = 0; r < THIN_ROWS; ++r)
                for (uint q = 0; q < THIN_DEPTH; ++q) acc[r][j] = fma(x[r][q], b[(p + q) * b_pitch + j], acc[r][j]);
    }
    for (; p < k; ++p)
        for (uint r = 0; r < THIN_ROWS; ++r) {
            const T x = a[min((ulong)r, m - 1) * a_pitch + p];
            for (uint j = 0; j < cols; ++j) acc[r][j] = fma(x, b[p * b_pitch + j], acc[r][j]);
        }
    for (uint r = 0; r < m; ++r)
        for (uint j = 0; j < cols; ++j) {
            global T *const out = c + r * c_pitch + j;
            const T product = alpha * acc[r][j];
            *out = beta == (T)0 ? product : product + beta * *out;
        }
}
