/* few.cl - C = alpha * A * B + beta * C on GPUs for few rows: B is read once, in its order.
 *
 *   A is m x k, B is k x n, C is m x n, or n x m if TURNS_C; offsets and pitches are in elements. elements.clh has their
 *   types and forms.
 *
 * Build the file with what elements.clh needs, and
 *   ROWS           at least m; a power of two
 *   A_RUN, B_RUN   elements of A and of B in one load: neighbours, of which the rows of the matrix are multiples
 *   STEPS          loads in flight of an item, for each of its columns if B is transposed
 *   TURNS_C        1: C is stored by columns; a product of few columns is such a product of few rows
 *   LOCAL_A        1: A comes through local memory to strips: of f64 without an epilogue, A not transposed
 *
 * If B is stored by rows, a group computes a strip of C, WIDTH * SPREAD vectors of B_RUN columns wide. It goes along k in
 * chunks, of which each of its SLICES takes STEPS steps.
 *
 * If B is transposed, a group computes TEAMS * COLS columns of C. SIDE items side by side along k are a team: it has COLS
 * columns. A group has SLICES such sets of teams. It goes along k in chunks, of which each slice takes a part. The chunk
 * of A is in local memory.
 *
 * At the end the sums of all items for an element are added in a fixed order. */
#include "ndr/nd_item.clh"

/* Defaults, with which the file compiles by itself. */
#ifndef ROWS
#define ROWS 8
#define A_RUN 1
#define B_RUN 1
#define STEPS 4   /* in strips a multiple of A_RUN */
#define WIDTH 8
#define SLICES 32 /* a power of two */
#define TEAMS 8
#define COLS 4
#endif
#ifndef TURNS_C
#define TURNS_C 0
#endif
#ifndef LOCAL_A
#define LOCAL_A 0
#endif
#ifndef SPREAD
#define SPREAD 1  /* vectors of an item in a row of B, WIDTH vectors apart */
#endif
#include "matmul/elements.clh"

/* ---- elements ---- */

#define LANES_1
#define LANES_2 2
#define LANES_4 4
#define LANES_8 8
#define LANES_16 16
#define VECTOR(type, run) JOIN(type, JOIN(LANES_, run))
#define BITS_f32 float
#define BITS_f64 double
#define BITS_f16 ushort
#define BITS_bf16 ushort
#define BITS_i8 char
#define BITS_u8 uchar
#define BITS JOIN(BITS_, IN)
typedef VECTOR(BITS, A_RUN) a_bits;
typedef VECTOR(BITS, B_RUN) b_bits;
typedef VECTOR(T, A_RUN) a_run;
typedef VECTOR(T, B_RUN) b_run;

/* Elements as they are stored, as vectors of T. */
#define VALUES_f32(run, x) (x)
#define VALUES_f64(run, x) (x)
#define VALUES_f16(run, x) VECTOR(vload_half, run)(0, (private const half *)&(x))
#define VALUES_bf16(run, x) VECTOR(as_float, run)(VECTOR(convert_uint, run)(x) << 16)
#define VALUES_i8(run, x) VECTOR(as_uint, run)(VECTOR(convert_int, run)(x))
#define VALUES_u8(run, x) VECTOR(convert_uint, run)(x)
#define VALUES(run, x) JOIN(VALUES_, IN)(run, x)
#define LANE(x, i) (((private const T *)&(x))[i]) /* of a vector of T */
#define MAX(x, y) ((x) > (y) ? (x) : (y))

#if T_IS_FLOAT
#define MULTIPLY_ADD(x, y, z) fma(x, y, z)
#else
#define MULTIPLY_ADD(x, y, z) ((x) * (y) + (z))
#endif

/* Where element (row, step) of A lies. */
#if TRANSPOSES_A
#define A_AT(row, step) ((step) * a_pitch + (row))
#else
#define A_AT(row, step) ((row) * a_pitch + (step))
#endif

#if TURNS_C
#define STORE_SUM(sum, row, col) \
    store_result(sum, alpha, beta, c, (col) * c_pitch + (row), product, col, row EPILOGUE_ARGUMENTS)
#else
#define STORE_SUM(sum, row, col) \
    store_result(sum, alpha, beta, c, (row) * c_pitch + (col), product, row, col EPILOGUE_ARGUMENTS)
#endif

/* Inputs of an epilogue may be C. */
#if HAS_EPILOGUE
#define ALONE
#else
#define ALONE restrict
#endif

#define PARAMETERS                                                                                                       \
    ulong count, ulong m, ulong n, ulong k, R alpha, global const IN_T *restrict a, ulong a_offset, ulong a_pitch,       \
        ulong a_stride, global const IN_T *restrict b, ulong b_offset, ulong b_pitch, ulong b_stride, R beta,            \
        global OUT_T *ALONE c, ulong c_offset, ulong c_pitch, ulong c_stride MORE_PARAMETERS, NDR_ND_RANGE(2)

#if !TRANSPOSES_B

/* ---- strips ---- */

#define GROUP (WIDTH * SLICES)
#define CHUNK (SLICES * STEPS)
#define SUMS (ROWS * SPREAD) /* of an item */
#define STRIP (WIDTH * SPREAD * B_RUN)

/* Add the slices' sums to those of the first. `scratch` has SUMS * GROUP / 2 elements. */
static inline void add_slices(b_run sum[SUMS], local b_run *scratch, uint item)
{
    for (uint items = GROUP / 2; items >= WIDTH; items /= 2) {
#pragma unroll
        for (uint i = 0; i < SUMS; ++i)
            if (item >= items && item < 2 * items) scratch[i * (GROUP / 2) + item - items] = sum[i];
        barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
        for (uint i = 0; i < SUMS; ++i)
            if (item < items) sum[i] += scratch[i * (GROUP / 2) + item];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

#if LOCAL_A

#define SCRATCH_COLUMNS (GROUP / 2 * B_RUN * SPREAD) /* for half of the sums */
#define TILE_COLUMNS MAX(2 * CHUNK, SCRATCH_COLUMNS)
#define A_LOADS ((CHUNK * ROWS + GROUP - 1) / GROUP)
typedef VECTOR(T, ROWS) column;

/* An item's elements of a chunk of A: of one row. Those of steps that do not exist are zeros. */
static inline void load_a(T x[A_LOADS], uint item, global const T *a, ulong steps)
{
#pragma unroll
    for (uint i = 0; i < A_LOADS; ++i) {
        const uint step = (item + i * GROUP) / ROWS;
        x[i] = step < steps ? a[step] : (T)0;
    }
}

static inline void store_a(local T *tile, uint item, const T x[A_LOADS])
{
#pragma unroll
    for (uint i = 0; i < A_LOADS; ++i)
        if (item + i * GROUP < CHUNK * ROWS) tile[item + i * GROUP] = x[i];
}

/* Add STEPS columns of A times this item's part of as many rows of B. */
static inline void add_steps(b_run sum[ROWS][SPREAD], b_run y[STEPS][SPREAD], local const column *a)
{
#pragma unroll
    for (uint s = 0; s < STEPS; ++s) {
        const column x = a[s];
#pragma unroll
        for (uint r = 0; r < ROWS; ++r)
#pragma unroll
            for (uint q = 0; q < SPREAD; ++q) sum[r][q] = fma((b_run)(LANE(x, r)), y[s][q], sum[r][q]);
    }
}

/* Over (products, strips) groups. While the items multiply one chunk of A from local memory, they load the next one. */
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void gemm_few(PARAMETERS)
{
    const ndr_nd_item it = NDR_ND_ITEM(2);
    local column tiles[TILE_COLUMNS] __attribute__((aligned(64)));
    const uint item = (uint)ndr_local_id(it, 1), first = item / WIDTH * STEPS;
    const ulong product = ndr_group_id(it, 0), col = ndr_group_id(it, 1) * STRIP + item % WIDTH * B_RUN;
    (void)count; /* the range has a group for each product */
    a += a_offset + A_OF(product) + A_AT(min((ulong)(item % ROWS), m - 1), 0);
    b += b_offset + B_OF(product) + first * b_pitch;
    c += c_offset + C_OF(product);
    ulong at[SPREAD];
    b_run sum[ROWS][SPREAD];
#pragma unroll
    for (uint q = 0; q < SPREAD; ++q) {
        at[q] = min(col + q * (WIDTH * B_RUN), n - B_RUN);
#pragma unroll
        for (uint r = 0; r < ROWS; ++r) sum[r][q] = (b_run)(0);
    }

    T x[A_LOADS];
    load_a(x, item, a, k);
    store_a((local T *)tiles, item, x);
    uint now = 0;
    ulong left = k;
    for (; left >= CHUNK; left -= CHUNK) {
        b_run y[STEPS][SPREAD];
#pragma unroll
        for (uint s = 0; s < STEPS; ++s)
#pragma unroll
            for (uint q = 0; q < SPREAD; ++q) y[s][q] = *(global const b_run *)(b + s * b_pitch + at[q]);
        a += CHUNK;
        b += CHUNK * b_pitch;
        load_a(x, item, a, left - CHUNK);
        barrier(CLK_LOCAL_MEM_FENCE);
        add_steps(sum, y, tiles + now * CHUNK + first);
        now ^= 1;
        store_a((local T *)(tiles + now * CHUNK), item, x);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (left > 0) {
        b_run y[STEPS][SPREAD];
#pragma unroll
        for (uint s = 0; s < STEPS; ++s)
#pragma unroll
            for (uint q = 0; q < SPREAD; ++q)
                y[s][q] = first + s < left ? *(global const b_run *)(b + s * b_pitch + at[q]) : (b_run)(0);
        add_steps(sum, y, tiles + now * CHUNK + first);
        barrier(CLK_LOCAL_MEM_FENCE);
    }

    add_slices((private b_run *)sum, (local b_run *)tiles, item);
    if (item >= WIDTH) return;
#pragma unroll
    for (uint q = 0; q < SPREAD; ++q) {
        const ulong first_col = col + q * (WIDTH * B_RUN);
        if (first_col >= n) continue;
#pragma unroll
        for (uint r = 0; r < ROWS; ++r)
#pragma unroll
            for (uint j = 0; j < B_RUN; ++j) { /* by STORE_SUM() some take twice as long on NVIDIA's driver */
                const ulong to = TURNS_C ? (first_col + j) * c_pitch + r : r * c_pitch + first_col + j;
                if (r < m) c[to] = alpha * LANE(sum[r][q], j) + (beta == (R)0 ? (R)0 : beta * c[to]);
            }
    }
}

#else

/* Add STEPS columns of A times this item's part of as many rows of B. All loads of B come first. */
static inline void add_steps(b_run sum[ROWS], global const IN_T *const a[ROWS], ulong a_pitch, global const IN_T *b,
                             ulong b_pitch)
{
    b_bits y[STEPS];
    a_bits x[STEPS / A_RUN][ROWS];
#pragma unroll
    for (uint s = 0; s < STEPS; ++s) y[s] = *(global const b_bits *)(b + s * b_pitch);
#pragma unroll
    for (uint s = 0; s < STEPS / A_RUN; ++s)
#pragma unroll
        for (uint r = 0; r < ROWS; ++r) x[s][r] = *(global const a_bits *)(a[r] + A_AT(0, s * A_RUN));
#pragma unroll
    for (uint s = 0; s < STEPS / A_RUN; ++s)
#pragma unroll
        for (uint r = 0; r < ROWS; ++r) {
            const a_run each = VALUES(A_RUN, x[s][r]);
#pragma unroll
            for (uint q = 0; q < A_RUN; ++q)
                sum[r] = MULTIPLY_ADD((b_run)(LANE(each, q)), VALUES(B_RUN, y[s * A_RUN + q]), sum[r]);
        }
}

/* Over (products, strips) groups. */
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void gemm_few(PARAMETERS)
{
    const ndr_nd_item it = NDR_ND_ITEM(2);
    local b_run scratch[ROWS * GROUP / 2];
    const uint item = (uint)ndr_local_id(it, 1), first = item / WIDTH * STEPS;
    const ulong product = ndr_group_id(it, 0), col = ndr_group_id(it, 1) * STRIP + item % WIDTH * B_RUN;
    (void)count; /* the range has a group for each product */
    b += b_offset + B_OF(product) + first * b_pitch + min(col, n - B_RUN);
    c += c_offset + C_OF(product);
    global const IN_T *a_rows[ROWS];
    b_run sum[ROWS];
#pragma unroll
    for (uint r = 0; r < ROWS; ++r) {
        a_rows[r] = a + a_offset + A_OF(product) + A_AT(min((ulong)r, m - 1), first);
        sum[r] = (b_run)(0);
    }

    ulong p = first;
    for (; p + STEPS <= k; p += CHUNK) {
        add_steps(sum, a_rows, a_pitch, b, b_pitch);
#pragma unroll
        for (uint r = 0; r < ROWS; ++r) a_rows[r] += A_AT(0, CHUNK);
        b += CHUNK * b_pitch;
    }
    for (uint s = 0; p + s < k; ++s) { /* fewer than STEPS */
        const b_bits y = *(global const b_bits *)(b + s * b_pitch);
#pragma unroll
        for (uint r = 0; r < ROWS; ++r)
            sum[r] = MULTIPLY_ADD((b_run)(LOAD_IN(a_rows[r], A_AT(0, s))), VALUES(B_RUN, y), sum[r]);
    }

    add_slices(sum, scratch, item);
    if (item >= WIDTH || col >= n) return;
#pragma unroll
    for (uint r = 0; r < ROWS; ++r)
#pragma unroll
        for (uint j = 0; j < B_RUN; ++j)
            if (r < m) STORE_SUM(LANE(sum[r], j), r, col + j);
}
#endif

#else

/* ---- columns along k ---- */

#define SIDE 8
#define ALL (SIDE * SLICES) /* items with a sum for the same element of C */
#define GROUP (ALL * TEAMS)
#define CHUNK (ALL * STEPS * B_RUN)
#define PITCH (CHUNK + 16 / (uint)sizeof(T)) /* so that rows begin in different banks */
#define A_STEPS (GROUP / ROWS)               /* that the group loads at once */
#define A_LOADS ((CHUNK + A_STEPS - 1) / A_STEPS)
#define ADDENDS (ALL / ROWS)  /* that remain of the sums for an element after the first addition */
#define PLACE (ALL + ADDENDS) /* from the sums for one element to those for the next: they begin in different banks */
#define SCRATCH MAX(ROWS * PITCH, MAX(ROWS * TEAMS * PLACE, COLS * GROUP))

/* Vectors of 16 bytes, in one load. */
#define BYTES_f16 2
#define BYTES_bf16 2
#define BYTES_i8 1
#define BYTES_u8 1
#define BYTES_f32 4
#define BYTES_f64 8
#if JOIN(BYTES_, IN) < 4 && JOIN(BYTES_, IN) * B_RUN == 16
#define LOAD_B(p) JOIN(as_, VECTOR(BITS, B_RUN))(*(global const uint4 *)(p))
#else
#define LOAD_B(p) (*(global const b_bits *)(p))
#endif

/* Elements of A that an item reads are in parts of at most 16 bytes, those of neighbours beside each other. */
#if JOIN(KIND_, T) == KIND_f64
#define MOST_RUN 2
#else
#define MOST_RUN 4
#endif
#if B_RUN < MOST_RUN
#define PART_RUN B_RUN
#else
#define PART_RUN MOST_RUN
#endif
typedef VECTOR(T, PART_RUN) part_run;
#if B_RUN <= MOST_RUN
#define TILE_AT(row, step) ((row) * PITCH + (step))
#else
#define TILE_AT(row, step)                                                                                        \
    ((row) * PITCH + (step) / (SIDE * B_RUN) * (SIDE * B_RUN) + (step) % B_RUN / PART_RUN * (SIDE * PART_RUN) \
     + (step) % (SIDE * B_RUN) / B_RUN * PART_RUN + (step) % PART_RUN)
#endif

/* This item's elements of a chunk of B, of which `steps` steps exist; the others are zeros. */
static inline void load_b(b_bits y[STEPS][COLS], global const IN_T *const b[COLS], uint first, uint steps)
{
#pragma unroll
    for (uint s = 0; s < STEPS; ++s)
#pragma unroll
        for (uint j = 0; j < COLS; ++j) {
            const uint at = first + s * (SIDE * B_RUN);
            y[s][j] = at < steps ? LOAD_B(b[j] + at) : (b_bits)(0);
        }
}

/* The same of A; the item's elements are in one row. */
static inline void load_a(T x[A_LOADS], uint step, global const IN_T *a, ulong a_pitch, uint steps)
{
#pragma unroll
    for (uint i = 0; i < A_LOADS; ++i)
        x[i] = step + i * A_STEPS < steps ? LOAD_IN(a, A_AT(0, i * A_STEPS)) : (T)0;
}

static inline void store_a(local T *tile, uint row, uint step, const T x[A_LOADS])
{
#pragma unroll
    for (uint i = 0; i < A_LOADS; ++i) {
        const uint at = step + i * A_STEPS;
        if (at < CHUNK) tile[TILE_AT(row, at)] = x[i];
    }
}

/* Add the sums of all items for each element. Afterwards element e of the group's COLS x ROWS x TEAMS is the sum of
 * ADDENDS neighbours in `scratch`. */
static inline void share_sums(T sum[COLS][ROWS], local T *scratch, uint item)
{
    const uint team = item / SIDE % TEAMS, z = item / (SIDE * TEAMS) * SIDE + item % SIDE;
    T part[COLS];
#pragma unroll
    for (uint j = 0; j < COLS; ++j) {
        barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
        for (uint r = 0; r < ROWS; ++r) scratch[(r * TEAMS + team) * PLACE + z] = sum[j][r];
        barrier(CLK_LOCAL_MEM_FENCE);
        part[j] = (T)0;
#pragma unroll
        for (uint i = 0; i < ROWS; ++i) part[j] += scratch[item / ADDENDS * PLACE + i * ADDENDS + item % ADDENDS];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (uint j = 0; j < COLS; ++j) scratch[j * GROUP + item] = part[j];
    barrier(CLK_LOCAL_MEM_FENCE);
}

/* Over (products, tiles of TEAMS * COLS columns) groups. */
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void gemm_few(PARAMETERS)
{
    const ndr_nd_item it = NDR_ND_ITEM(2);
    local T tile[SCRATCH] __attribute__((aligned(16)));
    const uint item = (uint)ndr_local_id(it, 1), side = item % SIDE, team = item / SIDE % TEAMS;
    const uint first = (item / (SIDE * TEAMS) * STEPS * SIDE + side) * B_RUN;
    const ulong product = ndr_group_id(it, 0), col0 = ndr_group_id(it, 1) * (TEAMS * COLS);
    (void)count; /* the range has a group for each product */
    const uint a_row = TRANSPOSES_A ? item % ROWS : item / A_STEPS; /* neighbours read neighbouring elements */
    const uint a_step = TRANSPOSES_A ? item / ROWS : item % A_STEPS;
    a += a_offset + A_OF(product) + A_AT(min(a_row, (uint)m - 1), a_step); /* C has no more rows */
    b += b_offset + B_OF(product);
    c += c_offset + C_OF(product);
    global const IN_T *b_cols[COLS];
#pragma unroll
    for (uint j = 0; j < COLS; ++j) b_cols[j] = b + min(col0 + j * TEAMS + team, n - 1) * b_pitch;

    T sum[COLS][ROWS];
#pragma unroll
    for (uint j = 0; j < COLS; ++j)
#pragma unroll
        for (uint r = 0; r < ROWS; ++r) sum[j][r] = (T)0;

    for (ulong p = 0; p < k; p += CHUNK) {
        b_bits y[STEPS][COLS];
        T x[A_LOADS];
        if (k - p >= CHUNK) { /* a constant: nothing is compared */
            load_b(y, b_cols, first, CHUNK);
            load_a(x, a_step, a, a_pitch, CHUNK);
        } else {
            load_b(y, b_cols, first, (uint)(k - p));
            load_a(x, a_step, a, a_pitch, (uint)(k - p));
        }
#pragma unroll
        for (uint j = 0; j < COLS; ++j) b_cols[j] += CHUNK;
        a += A_AT(0, CHUNK);
        store_a(tile, a_row, a_step, x);
        barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
        for (uint s = 0; s < STEPS; ++s) {
            b_run each[COLS];
#pragma unroll
            for (uint j = 0; j < COLS; ++j) each[j] = VALUES(B_RUN, y[s][j]);
#pragma unroll
            for (uint r = 0; r < ROWS; ++r)
#pragma unroll
                for (uint i = 0; i < B_RUN; i += PART_RUN) {
                    const uint at = TILE_AT(r, first + s * (SIDE * B_RUN)) + i * SIDE;
                    const part_run z = *(local const part_run *)(tile + at);
#pragma unroll
                    for (uint j = 0; j < COLS; ++j)
#pragma unroll
                        for (uint q = 0; q < PART_RUN; ++q) sum[j][r] = 
                                MULTIPLY_ADD(LANE(each[j], i + q), LANE(z, q), sum[j][r]);
                }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }

    share_sums(sum, tile, item);
    for (uint e = item; e < COLS * ROWS * TEAMS; e += GROUP) {
        const ulong col = col0 + e / (ROWS * TEAMS) * TEAMS + e % TEAMS;
        const uint row = e / TEAMS % ROWS;
        T all = (T)0;
#pragma unroll
        for (uint i = 0; i < ADDENDS; ++i) all += tile[e * ADDENDS + i];
        if (row < m && col < n) STORE_SUM(all, row, col);
    }
}
#endif
