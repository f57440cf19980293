/* units.cl - C = alpha * A * B + beta * C of half, bfloat16 or bytes, row-major, by a GPU's matrix units.
 *
 *   A is m x k, B is k x n, C is m x n; offsets, pitches and strides are in elements. elements.clh has their types and
 *   forms.
 *
 * A group computes one TILE_M x TILE_N tile of C after the other. Its last warps let the copy engine bring the steps of
 * A and B to local memory, into STAGES stages in turn; TEAMS teams of 4 warps multiply BLOCKS times 64 rows each. Each
 * stage has two barriers: `full` ends a phase when its bytes have come, `empty` when all teams have read them. The copy
 * engine takes the matrices where they are, and the matrix units take those of 16 bits in either order, so nothing is
 * packed. Bytes they take along k alone. Matrices that are stored otherwise, or whose rows do not begin at multiples of
 * 16 bytes, are copied to the workspace by gemm_units_bring().
 *
 * Tiles that leave matrix units idle, the last ones or all of them, are computed in parts of the depth. Their sums go to
 * the workspace. Of FAN parts the team that ends last adds the sums, always in the same order, and stores those for the
 * next level, until one team has all of them. */

/* Defaults, with which the file compiles by itself. */
#ifndef TEAMS
#define T float
#define IN f16
#define OUT f16
#define TEAMS 2    /* 1 to 3 */
#define BLOCKS 1   /* 1 or 2: of 64 rows of C that a team multiplies */
#define TILE_N 256 /* 64, 128, 192 or 256 columns of C */
#define STAGES 4
#define HAS_PARTS 1 /* 0: all tiles are computed whole */
#define SCALES 1 /* 0: alpha is 1 and beta 0 */
#endif
#include "matmul/elements.clh"
#include "matmul/products.clh"
#include "shared/units.h"
#include "ndr/detail/workspace.h"

/* ---- types ---- */

#define BYTES_f16 2
#define BYTES_bf16 2
#define BYTES_i8 1
#define BYTES_u8 1
#define BYTES_f32 4
#define BYTES_i32 4
#define IN_BYTES JOIN(BYTES_, IN)
#define OUT_BYTES JOIN(BYTES_, OUT)
#define BITS_1 uchar
#define BITS_2 ushort
#define BITS_4 uint
#define IN_BITS JOIN(BITS_, IN_BYTES) /* the bits of an element of A or B */
#define OUT_BITS JOIN(BITS_, OUT_BYTES)

/* ---- copies of A and B ---- */

#define CHUNK NDR_UNITS_CHUNK
#define PIECE (16 / IN_BYTES) /* elements of 16 bytes */
#define COPY_ITEMS 256

static inline void put_element(uint *x, uint i, IN_BITS element)
{
    x[i * IN_BYTES / 4] |= (uint)element << 8 * (i * IN_BYTES % 4);
}

/* Copy rows of a chunk, so that each begins at a line of the cache. */
static inline void copy_chunk(global uint4 *to, ulong to_pitch, global const IN_BITS *from, ulong pitch, uint rows,
                              uint cols)
{
    const uint pieces = CHUNK / PIECE, piece = get_local_id(0) % pieces;
    for (uint row = get_local_id(0) / pieces; row < rows; row += COPY_ITEMS / pieces) {
        uint x[4] = { 0, 0, 0, 0 };
#pragma unroll
        for (uint i = 0; i < PIECE; ++i)
            if (piece * PIECE + i < cols) put_element(x, i, from[row * pitch + piece * PIECE + i]);
        if (piece * PIECE < cols) to[row * to_pitch + piece] = (uint4)(x[0], x[1], x[2], x[3]);
    }
}

/* Copy columns of a chunk as rows. */
static inline void turn_chunk(global uint4 *to, ulong to_pitch, global const IN_BITS *from, ulong pitch, uint rows,
                              uint cols, local IN_BITS *copy)
{
    enum { PITCH = CHUNK + 4 / IN_BYTES };
    const uint pieces = CHUNK / PIECE, piece = get_local_id(0) % pieces;
    for (uint i = get_local_id(0); i < CHUNK * CHUNK; i += COPY_ITEMS)
        copy[i / CHUNK * PITCH + i % CHUNK] =
            i / CHUNK < rows && i % CHUNK < cols ? from[i / CHUNK * pitch + i % CHUNK] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint col = get_local_id(0) / pieces; col < cols; col += COPY_ITEMS / pieces) {
        uint x[4] = { 0, 0, 0, 0 };
#pragma unroll
        for (uint i = 0; i < PIECE; ++i) put_element(x, i, copy[(piece * PIECE + i) * PITCH + col]);
        if (piece * PIECE < rows) to[col * to_pitch + piece] = (uint4)(x[0], x[1], x[2], x[3]);
    }
}

/* Copy or turn matrices of rows x cols elements: over the chunks, one group each. The copies begin `to_offset` bytes
 * behind the workspace's head; `to_pitch` and `to_stride` are in 16 bytes. */
kernel __attribute__((reqd_work_group_size(COPY_ITEMS, 1, 1))) void
gemm_units_bring(ulong rows, ulong cols, global const IN_BITS *restrict from, ulong offset, ulong pitch, ulong stride,
                 uint is_turned, global uint *restrict workspace, ulong to_offset, ulong to_pitch, ulong to_stride)
{
    local IN_BITS copy[CHUNK * (CHUNK + 4 / IN_BYTES)];
    const uint across = (uint)((cols + CHUNK - 1) / CHUNK), down = (uint)((rows + CHUNK - 1) / CHUNK);
    const uint chunk = get_group_id(0) % (across * down), matrix = get_group_id(0) / (across * down);
    const ulong row = (ulong)(chunk / across) * CHUNK, col = (ulong)(chunk % across) * CHUNK;
    const uint some_rows = (uint)min(rows - row, (ulong)CHUNK), some_cols = (uint)min(cols - col, (ulong)CHUNK);
    global uint4 *const to = (global uint4 *)(workspace + NDR_WORKSPACE_HEAD) + to_offset / 16 + matrix * to_stride;
    from += offset + matrix * stride + row * pitch + col;
    if (is_turned) turn_chunk(to + col * to_pitch + row / PIECE, to_pitch, from, pitch, some_rows, some_cols, copy);
    else copy_chunk(to + row * to_pitch + col / PIECE, to_pitch, from, pitch, some_rows, some_cols);
}

#ifdef NDR_PTX

/* ---- sizes ---- */

#define TEAM 128 /* items */
#define GROUP (TEAM * (TEAMS + 1))
#define TILE_M (64 * TEAMS * BLOCKS)
#define SUMS (TILE_N / 2)                /* of an item, for a block */
#define STEPS (BOX_ROW_BYTES / IN_BYTES) /* of a stage */
#define BOX_BYTES (64 * BOX_ROW_BYTES)
#define A_BYTES (TILE_M * BOX_ROW_BYTES) /* of a stage */
#define B_BYTES (TILE_N * BOX_ROW_BYTES)
#define STAGE_BYTES (A_BYTES + B_BYTES)
#define BOX_COLS (BOX_ROW_BYTES / OUT_BYTES)  /* of C */
#define BOXES (TILE_N < 2 * BOX_COLS ? 1 : 2) /* of C in local memory, for a team */
#define OUT_COLS (BOXES * BOX_COLS)

#define FAN NDR_UNITS_FAN
#define LOADS_AHEAD (!INPUT_MATRICES) /* inputs, while those before are used: there are registers for them */
#define SOME_SUMS ((TEAMS * BLOCKS > 2 && INPUT_MATRICES ? 16 : 32) / BLOCKS) /* for which C and inputs are loaded */

/* Team 0 multiplies the last TURN stages of a tile before team 1 does, so that one team stores C while the other
 * multiplies. Team 1 waits for that at a barrier. It holds TURN + 1 stages meanwhile, so more must exist. If team 0
 * could finish the next tile with the rest, it would arrive twice at the barrier: so there are at most 6 stages, and a
 * tile of TURN stages or fewer, of which team 1 would hold one stage less, has no turns. */
#define TURN (TEAMS == 2 && BLOCKS == 1 && OUT_BYTES == 2 && STAGES > 3 && STAGES < 7 ? 3 : 0)

/* Of the sums and of C: four sums, two neighbours, an element's name in maps. */
#define SUM4_float float4
#define SUM4_uint uint4
#define SUM4 JOIN(SUM4_, T)
#define PAIR_f16 ushort2
#define PAIR_bf16 ushort2
#define PAIR_f32 float2
#define PAIR_i32 int2
#define PAIR_i8 char2
#define PAIR_u8 uchar2
#define PAIR JOIN(PAIR_, OUT)
#define ROUND_PAIR_f16 round_halves
#define ROUND_PAIR_bf16 round_bfloats
#define ROUND_PAIR JOIN(ROUND_PAIR_, OUT)
#define MAP_OF_f16 MAP_OF_HALVES
#define MAP_OF_bf16 MAP_OF_BFLOATS
#define MAP_OF_f32 MAP_OF_FLOATS
#define MAP_OF_i32 MAP_OF_INTS
#define MAP_OF_i8 MAP_OF_BYTES
#define MAP_OF_u8 MAP_OF_BYTES

/* ---- units of work ---- */

/* C = alpha * A * B + beta * C, and what of it which unit of work computes. */
typedef struct product {
    uint m, n, k, alone;     /* products with an A of their own: all, or 1 */
    uint alone_b;            /* the same for B */
    uint tiles;              /* of a product */
    uint units, whole;       /* tiles and parts of tiles; tiles that are computed whole, which come first */
    uint parts, part_stages; /* of each of the others; stages of a part, the last one may have fewer */
    T alpha, beta;
    global OUT_T *c; /* element (0, 0) of product 0 */
    ulong c_pitch, c_stride;
    uint c_is_mapped; /* rows begin at multiples of 16 bytes, and whole tiles are stored */
} product;

/* Where a search for tiles stands: a band or a column of it, and how many tiles come before it. */
typedef struct place {
    uint product, band, col, before;
} place;

/* A tile, or a part of one. */
typedef struct unit {
    uint row, col, product; /* the first ones */
    uint first, stages;     /* of A and B */
    uint part;              /* its number among all parts, if it is one */
    bool is_whole;
} unit;

/* The rows of tiles of a band that a column of tiles has. */
static inline uint2 rows_of(const product *p, uint band, uint col)
{
    uint first = band, end = min(band + NDR_UNITS_BAND, (p->m + TILE_M - 1) / TILE_M);
#if PART == 1
    first = max(first, col * TILE_N / TILE_M);
#elif PART == 2
    end = min(end, (col * TILE_N + TILE_N - 1) / TILE_M + 1);
#endif
    return (uint2)(first, max(first, end));
}

/* The row and column of tile `within` of a product, in tiles. The first products wait for this, and a division takes
 * some 300 cycles: so only units that need one have it. */
static inline uint2 find_tile(const product *p, uint within, place *at)
{
    const uint tiles_n = (p->n + TILE_N - 1) / TILE_N;
#if PART == 0
    const uint of_band = NDR_UNITS_BAND * tiles_n;
    if (within - at->before >= of_band) {
        const uint bands = (within - at->before) / of_band;
        at->band += bands * NDR_UNITS_BAND;
        at->before += bands * of_band;
    }
    const uint left = within - at->before, height = rows_of(p, at->band, 0).y - at->band;
    const uint col = height == NDR_UNITS_BAND ? left / NDR_UNITS_BAND : left / height;
    return (uint2)(at->band + left - col * height, col);
#else
    uint2 rows = rows_of(p, at->band, at->col);
    while (within - at->before >= rows.y - rows.x) {
        at->before += rows.y - rows.x;
        if (++at->col == tiles_n) {
            at->col = 0;
            at->band += NDR_UNITS_BAND;
        }
        rows = rows_of(p, at->band, at->col);
    }
    return (uint2)(rows.x + within - at->before, at->col);
#endif
}

/* The unit `index`; the place is that of an earlier one, or zeros. */
static inline unit find_unit(const product *p, uint index, place *at)
{
    const uint stages = (p->k + STEPS - 1) / STEPS;
    uint tile = index, part = 0;
    unit found;
    found.is_whole = index < p->whole;
    if (!found.is_whole) {
        tile = p->whole + (index - p->whole) / p->parts;
        part = (index - p->whole) % p->parts;
    }
    found.product = tile < p->tiles ? 0 : tile / p->tiles;
    if (found.product != at->product) {
        at->product = found.product;
        at->band = at->col = at->before = 0;
    }
    const uint2 place = find_tile(p, tile - found.product * p->tiles, at);
    found.row = place.x * TILE_M;
    found.col = place.y * TILE_N;
    found.part = index - p->whole;
    found.first = found.is_whole ? 0 : part * p->part_stages;
    found.stages = found.is_whole ? stages : min(stages - found.first, p->part_stages);
    return found;
}

/* ---- copies of A and B to stages ---- */

/* The local memory of a group, from a multiple of 1024 bytes on: stages, results on their way to C, maps, the stages'
 * barriers. */
#define OUT_AT (STAGES * STAGE_BYTES)
#define MAPS_AT (OUT_AT + TEAMS * BOXES * BOX_BYTES)
#define FULL_AT (MAPS_AT + NDR_UNITS_MAPS * MAP_BYTES)
#define EMPTY_AT (FULL_AT + 8 * STAGES)
#define LOCAL_BYTES (EMPTY_AT + 8 * STAGES)

/* All stages of the units of a group, from unit u on: by one item. */
INLINE void bring_units(const product *p, unit u, place found, global const uchar *maps, uint memory)
{
    global const uchar *const a_map = maps, *const b_map = maps + MAP_BYTES;
    ring at = { 0, 0 };
    map_wait(a_map);
    map_wait(b_map);
    for (uint i = get_group_id(0);;) {
        const uint of_a = min(u.product, p->alone - 1), of_b = min(u.product, p->alone_b - 1);
        for (uint s = 0; s < u.stages; ++s) {
            const uint step = (u.first + s) * STEPS, to = memory + at.stage * STAGE_BYTES;
            const uint bytes = memory + FULL_AT + 8 * at.stage;
            barrier_wait(memory + EMPTY_AT + 8 * at.stage, at.phase ^ 1);
            barrier_expect(bytes, STAGE_BYTES);
#if TRANSPOSES_A
#pragma unroll
            for (uint t = 0; t < TEAMS * BLOCKS; ++t)
                box_load(to + t * BOX_BYTES, a_map, u.row + 64 * t, step, of_a, bytes);
#else
            box_load(to, a_map, step, u.row, of_a, bytes);
#endif
#if TRANSPOSES_B
            box_load(to + A_BYTES, b_map, step, u.col, of_b, bytes);
#else
#pragma unroll
            for (uint j = 0; j < TILE_N / 64; ++j)
                box_load(to + A_BYTES + j * BOX_BYTES, b_map, u.col + 64 * j, step, of_b, bytes);
#endif
            advance(&at, STAGES);
        }
        i += get_num_groups(0);
        if (i >= p->units) break;
        u = find_unit(p, i, &found);
    }
}

/* ---- sums ---- */

#if TRANSPOSES_A
#define A_SHAPE x.k, x.m
#define A_BOX STEPS, 64
#else
#define A_SHAPE x.m, x.k
#define A_BOX TILE_M, STEPS
#endif
#if TRANSPOSES_B
#define B_SHAPE x.n, x.k
#define B_BOX TILE_N, STEPS
#else
#define B_SHAPE x.k, x.n
#define B_BOX STEPS, 64
#endif

/* The sums of a unit, by a team. A stage is free when the products of the next one have begun. Those of the last one
 * are still under way afterwards: the caller waits for them, and then arrives at the barrier that is returned. */
INLINE uint add_stages(T *sum, uint team, uint stages, uint memory, ring *at)
{
    const bool tells = get_local_id(0) % TEAM == 0;
    uint used = 0;
    for (uint s = 0; s < stages; ++s) {
        const uint from = memory + at->stage * STAGE_BYTES;
        if (TURN > 0 && team == 1 && s > 0 && s + TURN == stages) JOIN_ITEMS(1 + TEAMS, 256);
        barrier_wait(memory + FULL_AT + 8 * at->stage, at->phase);
        begin_products();
#pragma unroll
        for (uint b = 0; b < BLOCKS; ++b)
            MULTIPLY(sum + b * SUMS, from + (team * BLOCKS + b) * BOX_BYTES, from + A_BYTES, s);
        end_products();
        if (TURN > 0 && team == 0 && s + 1 == stages && stages > TURN) ARRIVE_ITEMS(1 + TEAMS, 256);
        wait_for_earlier_products();
        if (s > 0 && tells) barrier_arrive(used);
        used = memory + EMPTY_AT + 8 * at->stage;
        advance(at, STAGES);
    }
    return used;
}

/* ---- results ---- */

/* The place of an item's sum 0 among those of a team: products.clh. */
static inline uint row_of_item(void) { return get_local_id(0) % TEAM / 32 * 16 + get_local_id(0) % 32 / 4; }
static inline uint col_of_item(void) { return get_local_id(0) % 4 * 2; }

static inline bool is_in_c(const product *p, uint row, uint col)
{
    return row < p->m && col < p->n && IS_IN_PART(row, col);
}

static inline global OUT_T *element_of(const product *p, uint which, uint row, uint col)
{
    return p->c + which * p->c_stride + row * p->c_pitch + col;
}

/* Whether all elements of a tile are in C. */
static inline bool is_inside(const product *p, const unit *u)
{
    return u->row + TILE_M <= p->m && u->col + TILE_N <= p->n;
}

/* The next functions are for SOME_SUMS sums of an item, the first of which is in that row and column. Compilers do not
 * see that some rows are those of other calls: otherwise they compute all addresses in advance, for which there are no
 * registers. */
#define ROW_OF(row, s) ((row) + (s) / 2 % 2 * 8)
#define COL_OF(col, s) ((col) + (s) / 4 * 8 + (s) % 2)

/* The elements of C. */
INLINE void load_old(T *old, const product *p, const unit *u, uint row, uint col)
{
    const bool has_pairs = p->c_is_mapped && is_inside(p, u);
    asm volatile("" : "+r"(row), "+r"(col));
#pragma unroll
    for (uint s = 0; s < SOME_SUMS; s += 2) {
        const uint r = ROW_OF(row, s), c = COL_OF(col, s);
        global const OUT_T *const from = element_of(p, u->product, r, c);
        if (has_pairs) {
            const PAIR pair = *(global const PAIR *)from;
            old[s] = LOAD_OUT((const OUT_T *)&pair, 0);
            old[s + 1] = LOAD_OUT((const OUT_T *)&pair, 1);
        } else {
            if (is_in_c(p, r, c)) old[s] = LOAD_OUT(from, 0);
            if (is_in_c(p, r, c + 1)) old[s + 1] = LOAD_OUT(from, 1);
        }
    }
}

/* The inputs of an epilogue; outside of C those of the last row or column. */
INLINE void load_inputs(ndr_inputs *inputs, const product *p, const unit *u, uint row, uint col EPILOGUE_PARAMETERS)
{
    asm volatile("" : "+r"(row), "+r"(col));
    if (is_inside(p, u)) {
#pragma unroll
        for (uint s = 0; s < SOME_SUMS; ++s)
            inputs[s] = EPILOGUE_INPUTS(u->product, ROW_OF((ulong)row, s), COL_OF((ulong)col, s));
    } else {
#pragma unroll
        for (uint s = 0; s < SOME_SUMS; ++s)
            inputs[s] = EPILOGUE_INPUTS(u->product, min(ROW_OF(row, s), p->m - 1), min(COL_OF(col, s), p->n - 1));
    }
}

/* What C gets. With beta 0 C is not read, it may hold NaN. */
INLINE void finish(STORED_T *results, const T *sum, const ndr_inputs *inputs, const product *p, const unit *u, uint row,
                   uint col EPILOGUE_PARAMETERS)
{
#if SCALES
    T old[SOME_SUMS];
#pragma unroll
    for (uint s = 0; s < SOME_SUMS; ++s) old[s] = 0;
    if (p->beta != 0) load_old(old, p, u, row, col);
#endif
    asm volatile("" : "+r"(row), "+r"(col)); /* as in load_old() */
#pragma unroll
    for (uint s = 0; s < SOME_SUMS; ++s) {
        T r = sum[s];
#if SCALES
        r = p->alpha * r + p->beta * old[s];
#endif
        results[s] = FINISH(r, inputs[s], u->product, min(ROW_OF(row, s), p->m - 1), min(COL_OF(col, s), p->n - 1));
    }
}

/* ---- C ---- */

/* Where a team has a row's 16 bytes `piece` in local memory, before the copy engine takes them. */
static inline uint place_of(uint out, uint row, uint piece)
{
    return out + piece / 8 * BOX_BYTES + row * BOX_ROW_BYTES + (piece % 8 ^ row % 8) * 16;
}

/* Write results of an item there, the first of which are those of sum `first` of a chunk. */
INLINE void put_results(uint out, const STORED_T *results, uint first)
{
    const uint lane = get_local_id(0) % 32;
#if OUT_BYTES == 2
    const uint row = get_local_id(0) % TEAM / 32 * 16 + lane % 16;
#pragma unroll
    for (uint s = 0; s < SOME_SUMS; s += 8) { /* 16 x 16 elements of a warp */
        const uint at = place_of(out, row, (first + s) / 4 | lane / 16);
        uint pairs[4];
#pragma unroll
        for (uint i = 0; i < 4; ++i) pairs[i] = ROUND_PAIR(results[s + 2 * i], results[s + 2 * i + 1]);
        store_squares(at, pairs);
    }
#else
    const uint row = row_of_item();
#pragma unroll
    for (uint s = 0; s < SOME_SUMS; s += 2) {
        const uint bytes = ((first + s) / 4 * 8 + lane % 4 * 2) * OUT_BYTES;
        const uint at = place_of(out, row + s / 2 % 2 * 8, bytes / 16) + bytes % 16;
        const PAIR pair = { results[s], results[s + 1] };
        *PTX_POINTER(PAIR, at) = pair;
    }
#endif
}

/* Store what is there, from column `first` of a tile on, without the copy engine. */
INLINE void store_plainly(const product *p, const unit *u, uint block, uint out, uint first)
{
    const uint lane = get_local_id(0) % 32, cols = min((uint)OUT_COLS, TILE_N - first);
    for (uint i = 0; i < 16; ++i) {
        const uint row = get_local_id(0) % TEAM / 32 * 16 + i;
        for (uint col = lane; col < cols; col += 32) {
            const uint at = place_of(out, row, col * OUT_BYTES / 16) + col * OUT_BYTES % 16;
            const uint c_row = u->row + 64 * block + row, c_col = u->col + first + col;
            if (is_in_c(p, c_row, c_col))
                *(global OUT_BITS *)element_of(p, u->product, c_row, c_col) = *PTX_POINTER(const OUT_BITS, at);
        }
    }
}

static inline void join_team(uint team) { JOIN_ITEMS(1 + team, 128); }

/* The results of a block of a whole tile, by a team, some columns after the other through local memory. If inputs are
 * loaded ahead, those of the first sums have been. */
INLINE void store_sums(const product *p, const unit *u, uint team, uint block, const T *sum,
                       ndr_inputs (*inputs)[SOME_SUMS], uint out, global const uchar *map EPILOGUE_PARAMETERS)
{
    const bool tells = get_local_id(0) % TEAM == 0, is_mapped = p->c_is_mapped;
    uint row = u->row + 64 * block + row_of_item(), col = u->col + col_of_item();
    asm volatile("" : "+r"(row), "+r"(col), "+r"(out)); /* as in load_old() */
#pragma unroll
    for (uint first = 0; first < SUMS; first += SOME_SUMS) {
        const uint within = first % (OUT_COLS / 2), from = 2 * (first - within);
        const uint next = first + SOME_SUMS, turn = first / SOME_SUMS % 2;
        STORED_T results[SOME_SUMS];
        if (!LOADS_AHEAD) load_inputs(inputs[turn], p, u, row, col + first * 2 EPILOGUE_ARGUMENTS);
        else if (next < SUMS) load_inputs(inputs[!turn], p, u, row, col + next * 2 EPILOGUE_ARGUMENTS);
        finish(results, sum + first, inputs[turn], p, u, row, col + first * 2 EPILOGUE_ARGUMENTS);
        if (within == 0) {
            if (tells) wait_for_reads();
            join_team(team);
        }
        put_results(out, results, within);
        if (within + SOME_SUMS < OUT_COLS / 2 && next < SUMS) continue;
        if (is_mapped) show_to_engine();
        join_team(team);
        if (!is_mapped) {
            store_plainly(p, u, block, out, from);
        } else if (tells) {
#pragma unroll
            for (uint i = 0; i < BOXES; ++i)
                if (from + i * BOX_COLS < TILE_N)
                    box_store(map, u->col + from + i * BOX_COLS, u->row + 64 * block, u->product, out + i * BOX_BYTES);
            end_stores();
        }
    }
}

/* ---- parts of tiles ---- */

#if HAS_PARTS

/* The sums of a block for a part: [sum / 4][item]. */
static inline global SUM4 *sums_of(global SUM4 *sums, uint part, uint block)
{
    return sums + ((ulong)part * (TEAMS * BLOCKS) + block) * (SUMS / 4 * TEAM);
}

INLINE void store_part(global SUM4 *sums, uint part, uint block, const T *sum)
{
    global SUM4 *const to = sums_of(sums, part, block) + get_local_id(0) % TEAM;
#pragma unroll
    for (uint s = 0; s < SUMS; s += 4) to[s / 4 * TEAM] = (SUM4)(sum[s], sum[s + 1], sum[s + 2], sum[s + 3]);
}

/* Add the sums of `count` parts, `distance` parts apart, in their order. */
INLINE void add_parts(T *sum, global SUM4 *sums, uint part, uint distance, uint count, uint block)
{
    global const SUM4 *from = sums_of(sums, part, block) + get_local_id(0) % TEAM;
#pragma unroll
    for (uint s = 0; s < SUMS; ++s) sum[s] = 0;
    for (uint i = 0; i < count; ++i) {
#pragma unroll
        for (uint s = 0; s < SUMS; s += 4) {
            const SUM4 x = from[s / 4 * TEAM];
            sum[s] += x.x, sum[s + 1] += x.y, sum[s + 2] += x.z, sum[s + 3] += x.w;
        }
        from += (ulong)distance * (TEAMS * BLOCKS * SUMS / 4 * TEAM);
    }
}

/* Whether a team is the last of `count` that call this for a counter, which is 0 before and after: what the others
 * have stored is visible then. */
INLINE bool is_last_team(global uint *counter, uint count, uint team, local uint *is_last)
{
    join_team(team);
    if (get_local_id(0) % TEAM == 0) {
        is_last[team] = add_in_order(counter, 1) + 1 == count;
        if (is_last[team]) *counter = 0;
    }
    join_team(team);
    return is_last[team];
}

/* After a team's part of a tile: whether `sum` now has the sums of all parts. */
INLINE bool join_parts(T *sum, const product *p, const unit *u, uint team, uint block, global SUM4 *sums,
                       global uint *counters, local uint *is_last)
{
    const uint tile = u->part / p->parts, first = tile * p->parts;
    uint part = u->part - first;
    counters += (tile * (TEAMS * BLOCKS) + block) * NDR_UNITS_COUNTERS(p->parts);
    store_part(sums, u->part, block, sum);
    for (uint distance = 1; distance < p->parts; distance *= FAN) {
        const uint index = part / (distance * FAN), count = (p->parts + distance - 1) / distance;
        const uint some = min(count - index * FAN, (uint)FAN);
        if (!is_last_team(counters + index, some, team, is_last)) return false;
        part = index * (distance * FAN);
        add_parts(sum, sums, first + part, distance, some, block);
        counters += (count + FAN - 1) / FAN;
        if (count > FAN) store_part(sums, first + part, block, sum);
    }
    return true;
}
#endif

/* ---- kernels ---- */

#define PRODUCT                                                                                                        \
    {                                                                                                                  \
        x.m, x.n, x.k, x.a_count, x.b_count, x.tiles, x.units, x.whole, x.parts, x.part_stages, AS_T(x.alpha),         \
            AS_T(x.beta), c + x.c_offset, x.c_pitch, x.c_stride,                                                       \
            (x.c_offset | x.c_pitch | x.c_stride) % (16 / OUT_BYTES) == 0 && (TILE_N % BOX_COLS == 0) && (PART == 0)   \
    }
#define AS_T JOIN(as_, T)

#define SUMS_OF_PARTS ((global SUM4 *)((global uchar *)(workspace + NDR_WORKSPACE_HEAD) + x.sums))

/* Distances of 16 bytes are as good as any where there is one matrix. */
static inline layout layout_of(ulong address, uint rows, uint cols, uint count, ulong pitch, ulong stride,
                               uint box_rows, uint box_cols)
{
    const layout of = { address, rows, cols, count, pitch, count > 1 ? stride : 16, box_rows, box_cols };
    return of;
}

/* Make the map of A, B or C, the first, second or third one, and put it where the copy engine finds it: by a warp. */
INLINE void make_map(uint which, const layout *of, uint memory, global uchar *maps)
{
    const uint map = memory + MAPS_AT + which * MAP_BYTES;
    PTX_POINTER(uint, map)[get_local_id(0) % 32] = 0;
    join_warp();
    if (get_local_id(0) % 32 == 0) {
        if (which < 2) MAKE_MAP(map, *of, JOIN(MAP_OF_, IN));
        else MAKE_MAP(map, *of, JOIN(MAP_OF_, OUT));
    }
    join_warp();
    map_put(maps + which * MAP_BYTES, map);
}

/* Over groups that take the units of work in turn, at most one for each compute unit. */
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
gemm_units(ndr_units_numbers x, global const IN_BITS *a, global const IN_BITS *b, global OUT_T *c,
           global uint *workspace MORE_PARAMETERS)
{
    local uchar bytes[LOCAL_BYTES + 1023] __attribute__((aligned(1024)));
#if HAS_PARTS
    local uint is_last[TEAMS];
#endif
    if (!IS_NEEDED) return;
    const product p = PRODUCT;
    const uint item = get_local_id(0), team = item / TEAM, warp = item / 32;
    const uint memory = (PTX_ADDRESS(bytes) + 1023) & ~1023u;
    global uchar *const maps =
        (global uchar *)(workspace + NDR_WORKSPACE_HEAD) + get_group_id(0) * (NDR_UNITS_MAPS * MAP_BYTES);

    if (item < 2 * STAGES) {
        barrier_init(memory + FULL_AT + 8 * item, item < STAGES ? 1 : TEAMS);
        show_barriers();
    }
    /* Three warps make the maps, while the others find their first unit: the first products wait for both. */
    place found = { 0, 0, 0, 0 };
    unit u = { 0, 0, 0, 0, 0, 0, false };
    const uint which = warp - 4 * TEAMS;
    if (which < NDR_UNITS_MAPS) {
        const layout of_a = layout_of((ulong)(uintptr_t)(a + x.a_offset), A_SHAPE, x.a_count, x.a_pitch * IN_BYTES,
                                      x.a_stride * IN_BYTES, A_BOX);
        const layout of_b = layout_of((ulong)(uintptr_t)(b + x.b_offset), B_SHAPE, x.b_count, x.b_pitch * IN_BYTES,
                                      x.b_stride * IN_BYTES, B_BOX);
        const layout of_c = layout_of((ulong)(uintptr_t)p.c, x.m, x.n, x.c_count, x.c_pitch * OUT_BYTES,
                                      x.c_stride * OUT_BYTES, 64, BOX_COLS);
        const layout of = which == 0 ? of_a : which == 1 ? of_b : of_c;
        if (which < 2 || p.c_is_mapped) make_map(which, &of, memory, maps);
    } else {
        u = find_unit(&p, get_group_id(0), &found);
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    if (team == TEAMS) {
#if TEAMS > 1
        LEAVE_REGISTERS(24);
#endif
        if (item == GROUP - 1) bring_units(&p, u, found, maps, memory);
        return;
    }
#if TEAMS == 2
    TAKE_REGISTERS(240);
#elif TEAMS == 3
    TAKE_REGISTERS(160);
#endif
    const bool tells = item % TEAM == 0;
    const uint boxes = memory + OUT_AT + team * (BOXES * BOX_BYTES);
    ring at = { 0, 0 };
    T sum[BLOCKS * SUMS];
#pragma unroll
    for (uint s = 0; s < BLOCKS * SUMS; ++s) sum[s] = 0;
    for (uint i = get_group_id(0);;) {
        const uint used = add_stages(sum, team, u.stages, memory, &at);
        ndr_inputs inputs[2][SOME_SUMS];
        if (tells && p.c_is_mapped) map_wait(maps + 2 * MAP_BYTES);
        const uint row = u.row + 64 * BLOCKS * team + row_of_item(), col = u.col + col_of_item();
        if (LOADS_AHEAD) load_inputs(inputs[0], &p, &u, row, col EPILOGUE_ARGUMENTS);
        wait_for_products();
        if (tells) barrier_arrive(used);
#pragma unroll
        for (uint b = 0; b < BLOCKS; ++b) {
            const uint block = team * BLOCKS + b;
            T *const of_block = sum + b * SUMS;
#if HAS_PARTS
            if (!u.is_whole
                && !join_parts(of_block, &p, &u, team, block, SUMS_OF_PARTS, workspace + NDR_COUNTERS, is_last))
                continue;
#endif
            if (LOADS_AHEAD && b > 0) load_inputs(inputs[0], &p, &u, row + 64 * b, col EPILOGUE_ARGUMENTS);
            store_sums(&p, &u, team, block, of_block, inputs, boxes, maps + 2 * MAP_BYTES EPILOGUE_ARGUMENTS);
        }
        i += get_num_groups(0);
        if (i >= x.units) break;
        u = find_unit(&p, i, &found);
    }
    if (tells) wait_for_reads();
}

#endif
