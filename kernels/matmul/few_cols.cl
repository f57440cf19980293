/* few_cols.cl - C = alpha * A * B + beta * C on GPUs for few columns, row-major: A is read once, in its order.
 *
 *   A is m x k, B is k x n, C is m x n; offsets and pitches are in elements.
 *
 * A group computes TEAMS * ROWS rows of C. SIDE items side by side along k are a team: it has ROWS rows. A group has
 * SLICES such sets of teams. It goes along k in steps of CHUNK, of which each slice takes a part. The chunk of B is
 * copied to local memory, transposed. At the end the sums of all items for an element are added in a fixed order. */
#include "join.clh"
#include "ndr/nd_item.clh"

/* Defaults, with which the file compiles by itself. */
#ifndef T
#define T float   /* of an element */
#define RUN 1     /* elements of A in one load: those of 16 bytes if all such vectors are aligned */
#define COLS 8    /* at least n; divides SIDE * SLICES */
#define ROWS 4    /* of an item */
#define STEPS 8   /* loads of an item along k in a chunk, for each row */
#define TEAMS 8
#define SLICES 4
#endif

#define SIDE 8
#define ALL (SIDE * SLICES) /* items with a sum for the same element of C */
#define GROUP (ALL * TEAMS)
#define CHUNK (ALL * STEPS * RUN)
#define PITCH (CHUNK + 16 / (uint)sizeof(T)) /* so that columns begin in different banks */
#define B_ROWS (GROUP / COLS) /* that the group loads at once */
#define B_LOADS ((CHUNK + B_ROWS - 1) / B_ROWS)
#define ADDENDS (ALL / COLS)  /* that remain of the sums for an element after the first addition */
#define PLACE (ALL + ADDENDS) /* from the sums for one element to those for the next: they begin in different banks */
#define MAX(x, y) ((x) > (y) ? (x) : (y))
#define SCRATCH MAX(COLS * PITCH, MAX(COLS * TEAMS * PLACE, ROWS * GROUP))

#if RUN == 1
typedef T run;
#else
typedef JOIN(T, RUN) run;
#endif

static inline T add_products(T sum, run x, run y)
{
#if RUN == 1
    return fma(x, y, sum);
#else
    sum = fma(x.s1, y.s1, fma(x.s0, y.s0, sum));
#if RUN == 4
    sum = fma(x.s3, y.s3, fma(x.s2, y.s2, sum));
#endif
    return sum;
#endif
}

/* This item's elements of a chunk of A, of which `steps` steps exist; the others are zeros. */
static inline void load_a(run x[STEPS][ROWS], global const T *const a[ROWS], uint first, uint steps)
{
#pragma unroll
    for (uint s = 0; s < STEPS; ++s)
#pragma unroll
        for (uint r = 0; r < ROWS; ++r) {
            const uint at = first + s * (SIDE * RUN);
            x[s][r] = at < steps ? *(global const run *)(a[r] + at) : (run)(0);
        }
}

/* The same of B; the item's elements are in one column. */
static inline void load_b(T y[B_LOADS], uint row, global const T *b, ulong pitch, uint steps)
{
#pragma unroll
    for (uint i = 0; i < B_LOADS; ++i) y[i] = row + i * B_ROWS < steps ? b[i * (B_ROWS * pitch)] : (T)0;
}

static inline void store_b(local T *tile, uint item, const T y[B_LOADS])
{
#pragma unroll
    for (uint i = 0; i < B_LOADS; ++i) {
        const uint row = item / COLS + i * B_ROWS;
        if (row < CHUNK) tile[item % COLS * PITCH + row] = y[i];
    }
}

/* Add the sums of all items for each element. Afterwards element e of the group's ROWS x COLS x TEAMS is the sum of
 * ADDENDS neighbours in `scratch`. */
static inline void share_sums(T sum[ROWS][COLS], local T *scratch, uint item)
{
    const uint team = item / SIDE % TEAMS, z = item / (SIDE * TEAMS) * SIDE + item % SIDE;
    T part[ROWS];
#pragma unroll
    for (uint r = 0; r < ROWS; ++r) {
        barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
        for (uint j = 0; j < COLS; ++j) scratch[(j * TEAMS + team) * PLACE + z] = sum[r][j];
        barrier(CLK_LOCAL_MEM_FENCE);
        part[r] = (T)0;
#pragma unroll
        for (uint i = 0; i < COLS; ++i) part[r] += scratch[item / ADDENDS * PLACE + i * ADDENDS + item % ADDENDS];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (uint r = 0; r < ROWS; ++r) scratch[r * GROUP + item] = part[r];
    barrier(CLK_LOCAL_MEM_FENCE);
}

/* Over (products, tiles of TEAMS * ROWS rows) groups. */
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
gemm_few_cols(ulong count, ulong m, ulong n, ulong k, T alpha, global const T *restrict a, ulong a_offset,
              ulong a_pitch, ulong a_stride, global const T *restrict b, ulong b_offset, ulong b_pitch, ulong b_stride,
              T beta, global T *restrict c, ulong c_offset, ulong c_pitch, ulong c_stride, NDR_ND_RANGE(2))
{
    const ndr_nd_item it = NDR_ND_ITEM(2);
    local T tile[SCRATCH] __attribute__((aligned(16)));
    const uint item = (uint)ndr_local_id(it, 1), side = item % SIDE, team = item / SIDE % TEAMS;
    const uint slice = item / (SIDE * TEAMS), first = (slice * STEPS * SIDE + side) * RUN;
    const ulong product = ndr_group_id(it, 0), row0 = ndr_group_id(it, 1) * (TEAMS * ROWS);
    (void)count; /* the range has a group for each product */
    a += a_offset + product * a_stride;
    const uint b_row = item / COLS;
    b += b_offset + product * b_stride + b_row * b_pitch + min(item % COLS, (uint)n - 1); /* C has no more columns */
    c += c_offset + product * c_stride;
    global const T *a_rows[ROWS];
#pragma unroll
    for (uint r = 0; r < ROWS; ++r) a_rows[r] = a + min(row0 + r * TEAMS + team, m - 1) * a_pitch;

    T sum[ROWS][COLS];
#pragma unroll
    for (uint r = 0; r < ROWS; ++r)
#pragma unroll
        for (uint j = 0; j < COLS; ++j) sum[r][j] = (T)0;

    for (ulong p = 0; p < k; p += CHUNK) {
        run x[STEPS][ROWS];
        T y[B_LOADS];
        if (k - p >= CHUNK) { /* a constant: nothing is compared */
            load_a(x, a_rows, first, CHUNK);
            load_b(y, b_row, b, b_pitch, CHUNK);
        } else {
            load_a(x, a_rows, first, (uint)(k - p));
            load_b(y, b_row, b, b_pitch, (uint)(k - p));
        }
#pragma unroll
        for (uint r = 0; r < ROWS; ++r) a_rows[r] += CHUNK;
        b += CHUNK * b_pitch;
        store_b(tile, item, y);
        barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
        for (uint s = 0; s < STEPS; ++s)
#pragma unroll
            for (uint j = 0; j < COLS; ++j) {
                const run z = *(local const run *)(tile + j * PITCH + first + s * (SIDE * RUN));
#pragma unroll
                for (uint r = 0; r < ROWS; ++r) sum[r][j] = add_products(sum[r][j], x[s][r], z);
            }
        barrier(CLK_LOCAL_MEM_FENCE);
    }

    share_sums(sum, tile, item);
    for (uint e = item; e < ROWS * COLS * TEAMS; e += GROUP) {
        const ulong row = row0 + e / (COLS * TEAMS) * TEAMS + e % TEAMS;
        const uint col = e / TEAMS % COLS;
        T all = (T)0;
#pragma unroll
        for (uint i = 0; i < ADDENDS; ++i) all += tile[e * ADDENDS + i];
        global T *const out = c + row * c_pitch + col;
        if (row < m && col < n) *out = alpha * all + (beta == (T)0 ? (T)0 : beta * *out);
    }
}
