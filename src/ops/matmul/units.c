/* units.c - the product of half, bfloat16 or bytes by a GPU's matrix units, which the copy engine feeds from where the
 * matrices are: kernels/matmul/units.cl. */
#include "ops/matmul/matmul.h"

#include "shared/units.h"

#include <math.h>
#include <stdio.h>

/* ---- sizes ---- */

enum { TEAM = 128, LOCAL_BYTES = 227 << 10, MOST_STAGES = 8, ROW_BYTES = 128, BOX_BYTES = 64 * ROW_BYTES };

/* Times as measured on an H200, in ns, of one stage with all units at work. */
typedef struct tile {
    unsigned teams, blocks, n; /* blocks of 64 rows of a team; columns */
    unsigned stage_ns;
} tile;

static const tile forms[] = { { 2, 1, 256, 715 }, { 2, 1, 192, 525 }, { 2, 1, 128, 380 },
                              { 1, 1, 256, 375 }, { 1, 1, 128, 210 }, { 1, 1, 64, 140 },
                              { 3, 1, 192, 765 }, { 3, 1, 128, 525 }, { 2, 2, 192, 1100 } };
enum { SMALLEST = 5, LARGEST = 8 };

/* To store C from 64 rows x 64 columns of a team. To add sums of parts: for each level, and what a unit reads a ns. */
enum { STORE_NS = 250, LEVEL_NS = 1500, ADDED_BYTES_PER_NS = 80 };

/* Memory is read in lines of 128 bytes: a row of a stage takes one, or two if it begins within a line. */
enum { LINE_BYTES = 128, ENGINE_BYTES = 16, ROW_PS = 1700, CROSSING_ROW_PS = 2400 };

typedef struct sizes {
    tile tile;
    unsigned stages;     /* in local memory */
    size_t tiles, units; /* tiles of a product; tiles and parts of them of all products */
    size_t whole, parts; /* tiles that are computed whole; parts of each of the others */
    size_t part_stages;
    double ns;
} sizes;

static size_t in_bytes(const ndr_matmul_request *r) { return ndr_dtype_size(r->dtype); }
static size_t out_bytes(const ndr_matmul_request *r) { return ndr_dtype_size(ndr_matmul_output(r)); }
static unsigned rows_of(const tile *t) { return 64 * t->teams * t->blocks; }

/* Tiles of a product with elements in its part of c: as find_unit() in the kernel counts them. */
static size_t count_tiles(const tile *t, const ndr_matmul_request *r)
{
    const size_t tiles_m = ndr_ceil_div(r->c.rows, rows_of(t)), tiles_n = ndr_ceil_div(r->c.cols, t->n);
    size_t count = 0;
    if (r->part == NDR_MATRIX_WHOLE) return tiles_m * tiles_n;
    for (size_t j = 0; j < tiles_n; ++j) {
        const size_t first = ndr_min_size(tiles_m, j * t->n / rows_of(t));
        const size_t end = ndr_min_size(tiles_m, ((j + 1) * t->n - 1) / rows_of(t) + 1);
        count += r->part == NDR_MATRIX_LOWER ? tiles_m - first : end;
    }
    return count;
}

static size_t stage_bytes(const tile *t) { return (size_t)ROW_BYTES * (rows_of(t) + t->n); }

/* For results on their way to c: one or two boxes for a team. */
static size_t box_bytes(const tile *t, const ndr_matmul_request *r)
{
    const size_t cols = ROW_BYTES / out_bytes(r);
    return (size_t)t->teams * (t->n < 2 * cols ? 1 : 2) * BOX_BYTES;
}

/* Of a group, but for the stages. */
static size_t other_bytes(const tile *t, const ndr_matmul_request *r)
{
    return box_bytes(t, r) + 1024 + NDR_UNITS_MAPS * NDR_UNITS_MAP_BYTES + 2 * MOST_STAGES * sizeof(uint64_t)
           + t->teams * sizeof(uint32_t);
}

/* Whether a matrix's rows begin at multiples of so many bytes. */
static bool is_aligned(const ndr_operand *m, size_t bytes)
{
    return (m->offset | m->pitch | m->stride) * m->element_bytes % bytes == 0;
}

/* Whether rows begin within lines, if the matrix is read in place. */
static bool crosses(const ndr_operand *m) { return is_aligned(m, ENGINE_BYTES) && !is_aligned(m, LINE_BYTES); }

/* Of a stage: the matrix units need so long, and so does the cache. */
static double stage_ns(const tile *t, const ndr_matmul_request *r)
{
    const unsigned a_ps = crosses(&r->a) ? CROSSING_ROW_PS : ROW_PS, b_ps = crosses(&r->b) ? CROSSING_ROW_PS : ROW_PS;
    const double cache_ns = (double)(rows_of(t) * a_ps + t->n * b_ps) / 1000;
    return cache_ns > t->stage_ns ? cache_ns : t->stage_ns;
}

static size_t part_bytes(const tile *t) { return (size_t)rows_of(t) * t->n * sizeof(float); }

/* To add the sums of the parts of a tile: by one team for each of its blocks, at each level. */
static double adding_ns(const tile *t, size_t parts)
{
    double ns = 0;
    for (size_t left = parts; left > 1; left = ndr_ceil_div(left, NDR_UNITS_FAN))
        ns += LEVEL_NS + (double)(ndr_min_size(left, NDR_UNITS_FAN) * part_bytes(t)) / ADDED_BYTES_PER_NS;
    return ns;
}

static size_t count_counters(const sizes *s)
{
    const size_t divided = s->parts > 1 ? (s->units - s->whole) / s->parts : 0;
    return divided * s->tile.teams * s->tile.blocks * NDR_UNITS_COUNTERS(s->parts);
}

/* The units compute tiles in rounds. The last round may leave units idle: then its tiles are computed in parts, if that
 * is faster. */
static sizes estimate(const tile *t, size_t units, const ndr_matmul_request *r)
{
    enum { LEAST_STAGES = 4 };
    const size_t tiles = count_tiles(t, r), all = tiles * ndr_matmul_count(r), rest = all % units;
    const size_t depth = ndr_ceil_div(r->depth, ROW_BYTES / in_bytes(r));
    const double each_ns = stage_ns(t, r), store_ns = (double)STORE_NS * rows_of(t) / 64 * t->n / 64;
    sizes s = { .tile = *t, .tiles = tiles, .units = all, .whole = all, .parts = 1, .part_stages = depth };
    const size_t fit = (LOCAL_BYTES - other_bytes(t, r)) / stage_bytes(t);
    s.stages = (unsigned)ndr_min_size(MOST_STAGES, fit);
    s.ns = (double)ndr_ceil_div(all, units) * ((double)depth * each_ns + store_ns);
    const size_t parts = rest ? ndr_min_size(units / rest, depth / LEAST_STAGES) : 0;
    if (parts < 2) return s;
    sizes d = s;
    d.part_stages = ndr_ceil_div(depth, parts);
    d.parts = ndr_ceil_div(depth, d.part_stages);
    d.whole = all - rest;
    d.units = d.whole + rest * d.parts;
    d.ns = (double)(d.whole / units) * ((double)depth * each_ns + store_ns) + (double)d.part_stages * each_ns
           + 2 * store_ns + adding_ns(t, d.parts);
    return d.ns < s.ns && count_counters(&d) <= NDR_COUNTER_COUNT ? d : s;
}

static size_t matrices_of(const ndr_operand *m) { return m->stride ? m->further + 1 : 1; }

/* A call asks twice, and programs make the same call again and again: the last answer is kept. */
static sizes sizes_for(const ndr_caps *caps, const ndr_matmul_request *r)
{
    static _Thread_local struct {
        size_t asked[10]; /* all that an estimate reads */
        sizes answer;
    } last;
    const size_t units = ndr_max_size(1, caps->info.compute_units);
    const size_t asked[] = { units,       r->c.rows,         r->c.cols,      r->depth,          ndr_matmul_count(r),
                             in_bytes(r), out_bytes(r),      r->part,        crosses(&r->a),    crosses(&r->b) };
    if (memcmp(last.asked, asked, sizeof asked) == 0) return last.answer;
    sizes best = { .ns = INFINITY };
    for (size_t i = 0; i < NDR_COUNT_OF(forms); ++i) {
        const sizes s = estimate(&forms[i], units, r);
        if (s.ns < best.ns) best = s;
    }
    memcpy(last.asked, asked, sizeof asked);
    last.answer = best;
    return best;
}

static size_t count_groups(const ndr_caps *caps, const sizes *s)
{
    return ndr_min_size(s->units, ndr_max_size(1, caps->info.compute_units));
}

/* ---- the workspace ---- */

/* A matrix as the second kernel reads it: in place, or a copy that begins `offset` bytes behind the workspace's
 * head. */
typedef struct brought {
    bool is_copied, is_turned;
    size_t offset, pitch, stride; /* of copies in bytes */
    size_t matrices;
} brought;

static brought bring(const ndr_operand *from, bool turns, size_t *end)
{
    const size_t rows = turns ? from->cols : from->rows, cols = turns ? from->rows : from->cols;
    brought b = { .is_copied = turns || !is_aligned(from, ENGINE_BYTES),
                  .is_turned = turns,
                  .offset = *end,
                  .pitch = ndr_ceil_div(cols * from->element_bytes, LINE_BYTES) * LINE_BYTES,
                  .matrices = matrices_of(from) };
    b.stride = b.pitch * rows;
    if (b.is_copied) *end += b.stride * b.matrices;
    return b;
}

typedef struct layout {
    brought a, b;
    size_t sums, end; /* bytes behind the head */
} layout;

/* Bytes are multiplied along k alone: a must not be transposed then, b must. All parts begin at lines. */
static layout lay_out(const ndr_caps *caps, const sizes *s, const ndr_matmul_request *r)
{
    const bool is_bytes = in_bytes(r) == 1;
    const size_t groups = ndr_max_size(1, caps->info.compute_units), rest = s->units - s->whole;
    layout l = { .end = groups * NDR_UNITS_MAPS * NDR_UNITS_MAP_BYTES };
    l.a = bring(&r->a, is_bytes && r->transposes_a, &l.end);
    l.b = bring(&r->b, is_bytes && !r->transposes_b, &l.end);
    l.sums = l.end;
    l.end += rest * part_bytes(&s->tile);
    return l;
}

static size_t workspace_bytes(const ndr_caps *caps, const sizes *s, const ndr_matmul_request *r)
{
    return NDR_WORKSPACE_HEAD_BYTES + lay_out(caps, s, r).end;
}

static uint64_t most_bytes(const ndr_caps *caps)
{
    enum { SHARE = 8 };
    const uint64_t share = caps->info.global_memory_bytes / SHARE;
    return share < caps->info.max_buffer_bytes ? share : caps->info.max_buffer_bytes;
}

/* ---- choosing ---- */

static bool has_type(ndr_dtype dtype)
{
    return dtype == NDR_DTYPE_F16 || dtype == NDR_DTYPE_BF16 || dtype == NDR_DTYPE_I8 || dtype == NDR_DTYPE_U8;
}

static bool is_far(const ndr_operand *m)
{
    const uint64_t far = UINT64_C(1) << 32; /* the copy engine counts to 2^40 bytes */
    return m->rows >= 1u << 31 || m->cols >= 1u << 31 || m->pitch >= far || m->stride >= far;
}

static const char *cannot(const ndr_op_case *of)
{
    const ndr_matmul_request *r = of->request;
    const char *const unusual = ndr_matmul_exceeds(r, NDR_MATMUL_ALL & ~(unsigned)NDR_MATMUL_OFFSETS);
    if (unusual) return unusual;
    if (!has_type(r->dtype)) return "the elements of a and b are not f16, bf16, i8 or u8";
    if (r->depth == 0) return "there are no columns of a to multiply";
    if (is_far(&r->a) || is_far(&r->b) || is_far(&r->c)) return "the matrices are too large for the copy engine";
    if (ndr_matmul_count(r) * count_tiles(&forms[SMALLEST], r) >= 1u << 31) return "there are too many tiles";
    return NULL;
}

static const char *unsuited(const ndr_op_case *of)
{
    enum { LEAST = 1 << 18 };
    const ndr_matmul_request *r = of->request;
    /* No choice has more sums of parts: those of the largest tile, one part for each compute unit. */
    const sizes s = { .tile = forms[LARGEST], .units = of->caps->info.compute_units };
    if (workspace_bytes(of->caps, &s, r) > most_bytes(of->caps))
        return "the copies of a and b need more than an eighth of the device's memory";
    const double work = (double)r->c.rows * (double)r->c.cols * (double)r->depth * (double)ndr_matmul_count(r);
    return work < LEAST ? "the products are too small for matrix units" : NULL;
}

/* ---- launching ---- */

static void plan(const ndr_op_case *of, ndr_op_plan *plan)
{
    const ndr_matmul_request *r = of->request;
    const sizes s = sizes_for(of->caps, r);
    const size_t items = (size_t)TEAM * (s.tile.teams + 1);
    const bool is_bytes = in_bytes(r) == 1;
    const layout l = lay_out(of->caps, &s, r);
    *plan = (ndr_op_plan){ .range = ndr_nd_range_1d(count_groups(of->caps, &s) * items, items),
                           .leaves_others = !l.a.is_copied && !l.b.is_copied,
                           .local_bytes = s.stages * stage_bytes(&s.tile) + other_bytes(&s.tile, r),
                           .workspace_bytes = workspace_bytes(of->caps, &s, r) };
    snprintf(plan->options, sizeof plan->options,
             "-DT=%s -DIN=%s -DOUT=%s -DTEAMS=%u -DBLOCKS=%u -DTILE_N=%u -DSTAGES=%u -DHAS_PARTS=%d -DSCALES=%d "
             "-DNDR_PTX_TARGET=sm_90a%s%s%s",
             ndr_matmul_result_type(r), ndr_dtype_name(r->dtype), ndr_dtype_name(ndr_matmul_output(r)), s.tile.teams,
             s.tile.blocks, s.tile.n, s.stages, s.parts > 1, r->alpha != 1 || r->beta != 0,
             r->transposes_a && !is_bytes ? " -DTRANSPOSES_A=1" : "",
             r->transposes_b || is_bytes ? " -DTRANSPOSES_B=1" : "",
             r->part == NDR_MATRIX_WHOLE   ? ""
             : r->part == NDR_MATRIX_LOWER ? " -DPART=1"
                                           : " -DPART=2");
}

/* Copy a matrix if it cannot be read in place. */
static ndr_status launch_copy(ndr_op_job *job, const ndr_operand *from, const brought *b)
{
    enum { ITEMS = 256 };
    const size_t chunks = ndr_ceil_div(from->rows, NDR_UNITS_CHUNK) * ndr_ceil_div(from->cols, NDR_UNITS_CHUNK);
    if (!b->is_copied) return NDR_OK;
    return ndr_op_launch(job, job->others[0], ndr_nd_range_1d(chunks * b->matrices * ITEMS, ITEMS), from->rows,
                         from->cols, from->buffer, from->offset, from->pitch, from->stride, (uint32_t)b->is_turned,
                         ndr_workspace_buffer(job->workspace), b->offset, b->pitch / 16, b->stride / 16);
}

/* A matrix that is multiplied: its buffer, and where it is there, in elements. */
static ndr_arg place(const ndr_op_job *job, const ndr_operand *from, const brought *b, uint64_t *offset,
                     uint64_t *pitch, uint64_t *stride)
{
    const size_t size = from->element_bytes;
    *offset = b->is_copied ? (NDR_WORKSPACE_HEAD_BYTES + b->offset) / size : from->offset;
    *pitch = b->is_copied ? b->pitch / size : from->pitch;
    *stride = b->is_copied ? b->stride / size : from->stride;
    return ndr_arg_of(b->is_copied ? ndr_workspace_buffer(job->workspace) : from->buffer);
}

/* alpha or beta. */
static uint32_t bits_of(const ndr_matmul_request *r, double value)
{
    uint32_t bits = (uint32_t)(int32_t)value;
    const float x = (float)value;
    if (!ndr_matmul_is_integer(r)) memcpy(&bits, &x, sizeof bits);
    return bits;
}

static ndr_status launch(ndr_op_job *job)
{
    const ndr_matmul_request *r = job->of.request;
    const sizes s = sizes_for(job->of.caps, r);
    const layout l = lay_out(job->of.caps, &s, r);
    NDR_TRY(launch_copy(job, &r->a, &l.a));
    NDR_TRY(launch_copy(job, &r->b, &l.b));
    ndr_units_numbers x = { .m = (uint32_t)r->c.rows,
                            .n = (uint32_t)r->c.cols,
                            .k = (uint32_t)r->depth,
                            .alpha = bits_of(r, r->alpha),
                            .beta = bits_of(r, r->beta),
                            .a_count = (uint32_t)l.a.matrices,
                            .b_count = (uint32_t)l.b.matrices,
                            .c_count = (uint32_t)ndr_matmul_count(r),
                            .c_offset = r->c.offset,
                            .c_pitch = r->c.pitch,
                            .c_stride = r->c.stride,
                            .tiles = (uint32_t)s.tiles,
                            .units = (uint32_t)s.units,
                            .whole = (uint32_t)s.whole,
                            .parts = (uint32_t)s.parts,
                            .part_stages = (uint32_t)s.part_stages,
                            .sums = l.sums };
    const ndr_arg a = place(job, &r->a, &l.a, &x.a_offset, &x.a_pitch, &x.a_stride);
    const ndr_arg b = place(job, &r->b, &l.b, &x.b_offset, &x.b_pitch, &x.b_stride);
    const ndr_arg args[] = { ndr_struct(ndr_units_numbers, x), a, b, ndr_arg_of(r->c.buffer),
                             ndr_arg_of(ndr_workspace_buffer(job->workspace)) };
    return ndr_matmul_launch_with(job, job->kernel, &job->plan.range, r, args, NDR_COUNT_OF(args));
}

/* `tiled` takes every product, and needs no memory. */
extern const ndr_op_variant ndr_matmul_tiled;
NDR_OP_VARIANT(matmul, units, "gemm_units", NDR_NEEDS_NARROW_MMA, .others = { "gemm_units_bring" },
               .cannot = cannot, .unsuited = unsuited, .write = ndr_matmul_write, .plan = plan, .launch = launch,
               .prove = ndr_matmul_prove, .proves_later = true, .instead = &ndr_matmul_tiled);
