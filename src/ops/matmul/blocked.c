/* blocked.c - the product on GPUs: each item keeps a block of c in registers. Where tiles do not fill the compute
 * units, parts of the depth do. */
#include "ops/matmul/matmul.h"

#include <stdio.h>

typedef struct tile {
    unsigned m, n, k, item_m, item_n, slices; /* as in kernels/matmul/blocked.cl */
} tile;

typedef struct sizes {
    const tile *tile;
    size_t tiles, whole;     /* of all c; of them by groups that take all of k */
    size_t parts, depth;     /* of k, for each of the other tiles; steps of a part */
    bool copies_a, copies_b; /* with rows of whole vectors */
} sizes;

/* Largest first. The last one is for devices with small groups: it fits groups of one. */
static const tile f32_tiles[] = {
    { 128, 256, 16, 8, 16, 1 }, { 128, 128, 8, 8, 8, 1 }, { 64, 128, 8, 8, 8, 1 }, { 64, 64, 16, 8, 8, 2 },
    { 32, 64, 32, 4, 8, 4 },    { 16, 32, 64, 4, 4, 8 },  { 8, 8, 8, 8, 8, 1 },
};
/* If loads of A and B are of single elements. */
static const tile f32_odd_tiles[] = {
    { 128, 128, 8, 8, 16, 1 }, { 64, 128, 8, 8, 8, 1 }, { 64, 64, 16, 8, 8, 2 },
    { 32, 64, 32, 4, 8, 4 },   { 16, 32, 64, 4, 4, 8 }, { 8, 8, 8, 8, 8, 1 },
};
static const tile f64_tiles[] = {
    { 128, 128, 8, 8, 8, 1 }, { 128, 64, 8, 8, 8, 1 }, { 64, 64, 16, 4, 8, 1 },
    { 32, 64, 32, 4, 4, 2 },  { 32, 32, 32, 4, 4, 4 }, { 8, 8, 8, 8, 8, 1 },
};
/* For batches that occupy every compute unit without slices. */
static const tile f32_batch_tiles[] = {
    { 128, 128, 8, 8, 8, 1 }, { 64, 128, 8, 8, 8, 1 }, { 32, 64, 16, 4, 8, 1 },
    { 32, 32, 16, 4, 4, 1 },  { 8, 8, 8, 8, 8, 1 },
};

/* The same if loads of A or B are of single elements. */
static const tile f32_odd_batch_tiles[] = {
    { 128, 128, 8, 8, 8, 1 }, { 64, 64, 8, 4, 8, 1 }, { 64, 96, 8, 4, 12, 1 },
    { 32, 32, 8, 4, 4, 1 },   { 8, 8, 8, 8, 8, 1 },
};

/* For first calls: their kernels build in a quarter of the time of the largest tile's. */
static const tile soon_tiles[] = { { 64, 64, 8, 8, 4, 1 }, { 32, 32, 16, 4, 4, 1 }, { 8, 8, 8, 8, 8, 1 } };

typedef struct tile_list {
    const tile *largest, *smallest; /* for devices with large groups; behind the smallest is the one for the others */
} tile_list;

#define LIST_OF(tiles) ((tile_list){ tiles, tiles + NDR_COUNT_OF(tiles) - 2 })

static tile_list tiles_for(const ndr_caps *caps, const ndr_matmul_request *r, bool has_copies)
{
    enum { PRODUCTS_PER_UNIT = 4 };
    if (r->dtype == NDR_DTYPE_F64) return LIST_OF(f64_tiles);
    const bool has_many =
        r->c.further && ndr_matmul_first_count(r) >= (size_t)PRODUCTS_PER_UNIT * caps->info.compute_units;
    const bool is_odd = ndr_matmul_run_of(r, &r->a) == 1 || ndr_matmul_run_of(r, &r->b) == 1;
    if (has_many) return is_odd ? LIST_OF(f32_odd_batch_tiles) : LIST_OF(f32_batch_tiles);
    return is_odd && !has_copies ? LIST_OF(f32_odd_tiles) : LIST_OF(f32_tiles);
}

static size_t group_items(const tile *t) { return (size_t)(t->m / t->item_m) * (t->n / t->item_n) * t->slices; }
static size_t tile_bytes(const tile *t, size_t element_bytes) { return 2 * t->k * (t->m + t->n) * element_bytes; }

static size_t count_tiles(const tile *t, const ndr_matmul_request *r)
{
    return ndr_ceil_div(r->c.rows, t->m) * ndr_ceil_div(r->c.cols, t->n) * ndr_matmul_first_count(r);
}

/* Whether items have 128 sums, and as many other registers: then these limit the groups of a unit. */
static bool is_large(const tile *t) { return t->item_m * t->item_n == 128; }
static size_t large_groups(const tile *t, const ndr_caps *caps) { return caps->registers / (256 * group_items(t)); }

static bool fits(const tile *t, const ndr_caps *caps, size_t element_bytes)
{
    const ndr_device_info *device = &caps->info;
    const size_t items = group_items(t);
    return tile_bytes(t, element_bytes) <= device->local_memory_bytes && items <= device->max_group_size
           && items <= device->max_local_size[2] && (!is_large(t) || large_groups(t, caps) > 0);
}

/* In rounds of as many groups as run at once. Groups for parts of k take 1 / parts of the time of a whole tile's. The
 * second launch, and the sums to store for it, cost each part as much as DEPTH steps. */
static double cost_of(size_t groups, size_t at_once, size_t parts, size_t k)
{
    enum { DEPTH = 64 };
    const double rounds = (double)ndr_ceil_div(groups, at_once);
    return parts == 1 ? rounds : rounds / (double)parts + (double)(DEPTH * parts) / (double)k;
}

static size_t choose_parts(size_t tiles, size_t at_once, size_t k)
{
    enum { MAX_PARTS = 8 };
    size_t best = 1;
    for (size_t parts = 2; parts <= MAX_PARTS; ++parts)
        if (cost_of(tiles * parts, at_once, parts, k) < cost_of(tiles * best, at_once, best, k)) best = parts;
    return best;
}

/* Whether c fills at least half a tile in each dimension; in a batch, more than half of its tiles. */
static bool fills_tiles(const tile *t, const ndr_matmul_request *r)
{
    if (!r->c.further) return r->c.rows >= t->m / 2 && r->c.cols >= t->n / 2;
    const double filled = (double)r->c.rows * (double)r->c.cols * (double)ndr_matmul_first_count(r);
    return 2 * filled > (double)count_tiles(t, r) * t->m * t->n;
}

/* Whether groups of these tiles, or of parts of them, keep the units busy for more than 3/5 of the time. */
static bool large_fills(const tile *t, const ndr_caps *caps, const ndr_matmul_request *r)
{
    const size_t at_once = large_groups(t, caps) * ndr_max_size(1, caps->info.compute_units), tiles = count_tiles(t, r);
    const size_t rest = tiles % at_once, parts = r->c.further ? 1 : choose_parts(rest, at_once, r->depth);
    const double rounds = (double)(tiles / at_once) + cost_of(rest * parts, at_once, parts, r->depth);
    return 5 * (double)tiles > 3 * rounds * (double)at_once;
}

/* How many tiles occupy the units: of smaller blocks, a unit can run two groups without slices, or of few items. */
static size_t enough_tiles(const tile *t, const ndr_caps *caps)
{
    enum { FEW = 128 };
    const size_t units = caps->info.compute_units;
    return t->slices == 1 || group_items(t) <= FEW ? units + units / 2 : units - units / 4;
}

/* Along few steps most of the time goes to storing c, for which more groups at once are better. */
static bool fills(const tile *t, const ndr_caps *caps, const ndr_matmul_request *r)
{
    enum { MIN_DEPTH = 32 };
    if (!fills_tiles(t, r)) return false;
    return is_large(t) ? r->depth >= MIN_DEPTH && large_fills(t, caps, r) : count_tiles(t, r) >= enough_tiles(t, caps);
}

/* The largest tile that fits the device and is filled; otherwise the last but one, or the last if that does not fit. */
static const tile *choose_tile(const tile_list *list, const ndr_caps *caps, const ndr_matmul_request *r)
{
    const tile *t = list->largest;
    const size_t bytes = ndr_matmul_result_bytes(r);
    while (t < list->smallest && !(fits(t, caps, bytes) && fills(t, caps, r))) ++t;
    return fits(t, caps, bytes) ? t : list->smallest + 1;
}

/* Groups of the smallest tiles are small: several of them fit a unit. DEPTH steps are worth the second launch. */
static size_t choose_parts_of_small(size_t tiles, size_t units, size_t k)
{
    enum { GROUPS_PER_UNIT = 4, DEPTH = 512, MAX_PARTS = 32 };
    if (tiles >= units) return 1;
    return ndr_min_size(ndr_min_size(GROUPS_PER_UNIT * units / tiles, k / DEPTH), MAX_PARTS);
}

/* ---- copies ---- */

static size_t lanes_of(const ndr_matmul_request *r) { return 16 / ndr_matmul_result_bytes(r); }

/* Elements of a copied row: whole vectors. */
static size_t padded(const ndr_matmul_request *r, size_t cols) { return ndr_ceil_div(cols, lanes_of(r)) * lanes_of(r); }

static size_t a_elements(const ndr_matmul_request *r, const sizes *s)
{
    return s->copies_a ? r->c.rows * padded(r, r->depth) : 0;
}

static size_t b_elements(const ndr_matmul_request *r, const sizes *s)
{
    return s->copies_b ? padded(r, r->depth) * padded(r, r->c.cols) : 0;
}

/* Copy the matrices of a large product whose rows are not whole vectors of the type that is multiplied: the largest
 * tiles need vectors. Transposed ones, and those of other types, are slower to read in place. If one is copied, both are
 * multiples of a vector along k. */
static void choose_copies(const ndr_caps *caps, const ndr_matmul_request *r, sizes *s)
{
    enum { MIN_SIDE = 3000, MIN_UNUSUAL_SIDE = 768, MIN_DEPTH = 256, SHARE = 8 };
    const bool is_usual = r->a.element_bytes == ndr_matmul_result_bytes(r) && !r->transposes_a && !r->transposes_b;
    const size_t side = ndr_min_size(r->c.rows, r->c.cols), least = is_usual ? MIN_SIDE : MIN_UNUSUAL_SIDE;
    const bool has_offsets = r->offsets[0].buffer || r->offsets[1].buffer;
    const bool pays = side >= least && r->depth >= MIN_DEPTH && !has_offsets;
    if (r->dtype == NDR_DTYPE_F64 || r->c.further || !pays || !fits(f32_tiles, caps, sizeof(float))) return;
    s->copies_a = ndr_matmul_run_of(r, &r->a) == 1;
    s->copies_b = ndr_matmul_run_of(r, &r->b) == 1 || r->depth % lanes_of(r) != 0;
    const size_t bytes = (a_elements(r, s) + b_elements(r, s)) * sizeof(float);
    if (bytes > caps->info.max_buffer_bytes || bytes > caps->info.global_memory_bytes / SHARE)
        s->copies_a = s->copies_b = false;
}

/* ---- sizes ---- */

/* The forms of the variants that need no workspace: they read a and b in place and divide no tile. SOON has small tiles
 * only. */
enum { IN_PLACE = 1, SOON };

/* What does not fill a round of all units is computed in parts of k: all of the smallest tiles if they are fewer than
 * the units, and the last round of tiles with large blocks. Not in a batch. */
static sizes sizes_for(const ndr_op_case *of)
{
    const ndr_matmul_request *r = of->request;
    const ndr_caps *caps = of->caps;
    const unsigned form = of->variant->form;
    const bool is_in_place = form == IN_PLACE || form == SOON;
    sizes s = { .parts = 1 };
    if (!is_in_place) choose_copies(caps, r, &s);
    const bool has_copies = s.copies_a || s.copies_b;
    const size_t units = ndr_max_size(1, caps->info.compute_units), k = has_copies ? padded(r, r->depth) : r->depth;
    const tile_list list = form == SOON ? LIST_OF(soon_tiles) : tiles_for(caps, r, has_copies);
    s.tile = choose_tile(&list, caps, r);
    s.depth = k;
    s.tiles = s.whole = count_tiles(s.tile, r);
    if (is_in_place || r->c.further || k == 0 || !(is_large(s.tile) || s.tile >= list.smallest)) return s;
    const size_t at_once = units * large_groups(s.tile, caps), rest = is_large(s.tile) ? s.tiles % at_once : s.tiles;
    const size_t parts = is_large(s.tile) ? choose_parts(rest, at_once, k) : choose_parts_of_small(rest, units, k);
    if (parts < 2) return s;
    s.depth = ndr_ceil_div(ndr_ceil_div(k, parts), s.tile->k) * s.tile->k;
    s.parts = ndr_ceil_div(k, s.depth);
    s.whole = s.tiles - rest;
    return s;
}

static const char *cannot(const ndr_op_case *of) { return ndr_matmul_is_too_wide(of->request); }

static const char *unsuited(const ndr_op_case *of)
{
    enum { MIN_ITEMS = 64, MIN_BYTES = 32 << 10 };
    const ndr_device_info *device = &of->caps->info;
    const bool is_large = device->max_group_size >= MIN_ITEMS && device->local_memory_bytes >= MIN_BYTES;
    return device->type == NDR_DEVICE_TYPE_GPU && is_large
               ? NULL
               : "the device is no GPU with groups of 64 items and 32 KiB of local memory";
}

static size_t count_sums(const sizes *s) { return (s->tiles - s->whole) * s->parts * s->tile->m * s->tile->n; }

static void plan(const ndr_op_case *of, ndr_op_plan *plan)
{
    const ndr_matmul_request *r = of->request;
    const sizes s = sizes_for(of);
    const tile *t = s.tile;
    const size_t bytes = ndr_matmul_result_bytes(r), items = group_items(t);
    const unsigned lanes = (unsigned)lanes_of(r);
    *plan = (ndr_op_plan){ .range = ndr_nd_range_1d((s.whole + (s.tiles - s.whole) * s.parts) * items, items),
                           .local_bytes = tile_bytes(t, bytes) };
    const size_t elements = count_sums(&s) + a_elements(r, &s) + b_elements(r, &s);
    if (elements > 0) plan->workspace_bytes = NDR_WORKSPACE_HEAD_BYTES + elements * bytes;
    snprintf(plan->options, sizeof plan->options,
             "-DT=%s -DLANES=%u -DTILE_M=%u -DTILE_N=%u -DTILE_K=%u -DITEM_M=%u -DITEM_N=%u -DSLICES=%u -DA_RUN=%u "
             "-DB_RUN=%u -DC_RUN=%u -DCLAMP_M=%d -DCLAMP_N=%d -DCOPIES_A=%d -DCOPIES_B=%d%s",
             ndr_matmul_result_type(r), lanes, t->m, t->n, t->k, t->item_m, t->item_n, t->slices,
             s.copies_a ? lanes : ndr_matmul_run_of(r, &r->a), s.copies_b ? lanes : ndr_matmul_run_of(r, &r->b),
             ndr_matmul_run_of(r, &r->c), r->c.rows < t->m, r->c.cols < t->n, s.copies_a, s.copies_b,
             ndr_matmul_print_elements(r).chars);
}

/* ---- launches ---- */

/* Copy a matrix to the workspace, `at` elements after its head, and use the copy. */
static ndr_status copy(ndr_op_job *job, ndr_operand *matrix, bool is_transposed, size_t rows, size_t at)
{
    const ndr_matmul_request *r = job->of.request;
    const ndr_operand from = *matrix;
    const size_t from_rows = is_transposed ? from.cols : from.rows, from_cols = is_transposed ? from.rows : from.cols;
    matrix->buffer = ndr_workspace_buffer(job->workspace);
    matrix->offset = NDR_WORKSPACE_HEAD_BYTES / ndr_matmul_result_bytes(r) + at;
    matrix->rows = rows;
    matrix->cols = matrix->pitch = padded(r, from_cols);
    const size_t groups = ndr_ceil_div(rows, NDR_COPY_ROWS) * ndr_ceil_div(matrix->cols, NDR_COPY_ITEMS);
    return ndr_op_launch(job, job->others[0], ndr_nd_range_1d(groups * NDR_COPY_ITEMS, NDR_COPY_ITEMS), from_rows,
                         from_cols, from.buffer, from.offset, from.pitch, (unsigned)is_transposed, rows, matrix->cols,
                         matrix->buffer, at);
}

/* The products of the plan's range, or the last ones. */
static ndr_status multiply(ndr_op_job *job, const ndr_matmul_request *r)
{
    const sizes s = sizes_for(&job->of);
    const size_t items = group_items(s.tile), divided = s.tiles - s.whole;
    const size_t whole = s.whole / ndr_matmul_first_count(job->of.request) * ndr_matmul_count(r);
    const ndr_nd_range range = ndr_nd_range_1d((whole + divided * s.parts) * items, items);
    ndr_arg list[NDR_MATMUL_MATRICES + 4];
    size_t used = ndr_matmul_list_matrices(r, true, list);
    list[used++] = ndr_arg_of(whole);
    list[used++] = ndr_arg_of(divided);
    list[used++] = ndr_arg_of(s.depth);
    list[used++] = ndr_op_workspace_arg(job);
    return ndr_matmul_launch_with(job, job->kernel, &range, r, list, used);
}

static ndr_status add_parts(ndr_op_job *job, const sizes *s)
{
    const ndr_matmul_request *r = job->of.request;
    const size_t divided = s->tiles - s->whole, vectors = s->tile->item_m * s->tile->item_n / lanes_of(r);
    const size_t items = group_items(s->tile) / s->tile->slices;
    const ndr_nd_range range = ndr_nd_range_1d(divided * vectors * items, items);
    const ndr_arg list[] = { ndr_arg_of(r->c.rows),         ndr_arg_of(r->c.cols),    ndr_matmul_scalar(r, r->alpha),
                             ndr_matmul_scalar(r, r->beta), ndr_arg_of(r->c.buffer),  ndr_arg_of(r->c.offset),
                             ndr_arg_of(r->c.pitch),        ndr_arg_of(s->whole),     ndr_arg_of(divided),
                             ndr_arg_of(s->parts),          ndr_op_workspace_arg(job) };
    return ndr_matmul_launch_with(job, job->others[1], &range, r, list, NDR_COUNT_OF(list));
}

static ndr_status launch(ndr_op_job *job)
{
    const sizes s = sizes_for(&job->of);
    ndr_matmul_request r = *(const ndr_matmul_request *)job->of.request;
    if (!job->workspace) return ndr_matmul_launch_parts(job, ndr_matmul_first_count(&r), multiply);
    const size_t a_at = count_sums(&s), b_at = a_at + a_elements(&r, &s);
    const size_t k = s.copies_a || s.copies_b ? padded(&r, r.depth) : r.depth;
    if (s.copies_a) NDR_TRY(copy(job, &r.a, r.transposes_a, r.c.rows, a_at));
    if (s.copies_b) NDR_TRY(copy(job, &r.b, r.transposes_b, k, b_at));
    r.depth = k;
    NDR_TRY(multiply(job, &r));
    return s.parts > 1 ? add_parts(job, &s) : NDR_OK;
}

#define OF_FORM(words, number)                                                                                      \
    {                                                                                                               \
        .name = (words), .file = "matmul/blocked.cl", .kernel = "gemm_blocked", .form = (number), .cannot = cannot, \
        .write = ndr_matmul_write, .plan = plan, .launch = launch                                                   \
    }
static const ndr_op_variant in_place = OF_FORM("blocked in place", IN_PLACE);
const ndr_op_variant ndr_matmul_blocked_soon = OF_FORM("blocked soon", SOON);

NDR_OP_VARIANT(matmul, blocked, "gemm_blocked", 0, .others = { "gemm_blocked_copy", "gemm_blocked_add" },
               .cannot = cannot, .unsuited = unsuited, .write = ndr_matmul_write, .plan = plan, .launch = launch,
               .meanwhile = &ndr_matmul_blocked_soon, .instead = &in_place);
