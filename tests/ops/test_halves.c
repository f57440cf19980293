/* test_halves.c - the first kernel of the row `halves`, which is plain OpenCL C: the parts of elements, their places, and
 * the marks of elements to which parts do not do justice. */
#include "support.h"

#include <math.h>

#include "ops/ops.h"
#include "shared/split.h"

enum { NUMBER = 7, TILE_M = 128 };

typedef struct bench {
    size_t m, n, k, gap, offset;
    unsigned tile_n;
    float *a, *b;
    uint32_t *workspace; /* as the kernel leaves it */
    size_t stretches, blocks_m, blocks_n;
} bench;

static float random_float(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (float)((int32_t)*state * 0x1p-31) * (1 + (float)(*state >> 9 & 1023) * 0x1p-20f);
}

static float *make_matrix(size_t rows, size_t cols, const bench *s, uint32_t seed)
{
    const size_t total = s->offset + rows * (cols + s->gap);
    float *out = malloc(total * sizeof *out);
    for (size_t i = 0; i < total; ++i) out[i] = NAN; /* what is between the rows must not be read */
    for (size_t i = 0; i < rows; ++i)
        for (size_t j = 0; j < cols; ++j) out[s->offset + i * (cols + s->gap) + j] = random_float(&seed);
    return out;
}

static bench open_bench(size_t m, size_t n, size_t k, size_t gap, size_t offset, unsigned tile_n)
{
    bench s = { .m = m, .n = n, .k = k, .gap = gap, .offset = offset, .tile_n = tile_n };
    s.a = make_matrix(m, k, &s, 1);
    s.b = make_matrix(k, n, &s, 2);
    s.stretches = ndr_ceil_div(k, NDR_SPLIT_DEPTH * NDR_SPLIT_SLABS(2));
    s.blocks_m = ndr_ceil_div(m, TILE_M);
    s.blocks_n = ndr_ceil_div(n, tile_n);
    return s;
}

static size_t lines_of(const bench *s) { return s->blocks_m * TILE_M + s->blocks_n * s->tile_n; }

static ndr_kernel *get_kernel(const bench *s)
{
    char options[64];
    ndr_kernel *kernel;
    snprintf(options, sizeof options, "-DTILE_N=%u -DSTAGES=2", s->tile_n);
    const ndr_kernel_desc desc = { .name = "gemm_halves_parts", .bundled = "matmul/halves.cl", .options = options };
    assert_ok(ndr_kernel_get(context, &desc, &kernel));
    return kernel;
}

static size_t chunks_of(const bench *s) { return lines_of(s) / NDR_SPLIT_CHUNK * s->stretches; }
static size_t bytes_of(const bench *s)
{
    return NDR_WORKSPACE_HEAD_BYTES + lines_of(s) * s->stretches * NDR_SPLIT_LINE_BYTES(2);
}

static void split(bench *s)
{
    enum { ITEMS = 4 * NDR_SPLIT_CHUNK };
    const size_t bytes = bytes_of(s);
    ndr_kernel *kernel = get_kernel(s);
    const ndr_nd_range range = ndr_nd_range_1d(chunks_of(s) * ITEMS, ITEMS);
    s->workspace = calloc(bytes, 1);
    ndr_buffer *a = buffer_of((s->offset + s->m * (s->k + s->gap)) * sizeof(float), s->a);
    ndr_buffer *b = buffer_of((s->offset + s->k * (s->n + s->gap)) * sizeof(float), s->b);
    ndr_buffer *workspace = buffer_of(bytes, s->workspace);
    const ndr_arg args[] = { ndr_arg_of(s->m),
                             ndr_arg_of(s->n),
                             ndr_arg_of(s->k),
                             ndr_arg_of(a),
                             ndr_arg_of(s->offset),
                             ndr_arg_of(s->k + s->gap),
                             ndr_arg_of(b),
                             ndr_arg_of(s->offset),
                             ndr_arg_of(s->n + s->gap),
                             ndr_arg_of(workspace),
                             ndr_arg_of((unsigned)NUMBER) };
    assert_ok(ndr_launch_v(queue, kernel, &range, args, NDR_COUNT_OF(args), NULL));
    read_buffer(workspace, s->workspace, bytes);
    ndr_buffer_destroy(a);
    ndr_buffer_destroy(b);
    ndr_buffer_destroy(workspace);
}

static void close_bench(bench *s)
{
    free(s->a);
    free(s->b);
    free(s->workspace);
}

/* The bytes of a stretch of a line's block, by the description in shared/split.h. */
static const char *stretch_at(const bench *s, bool is_b, size_t line, size_t stretch)
{
    const size_t lines = is_b ? s->tile_n : TILE_M, line_bytes = NDR_SPLIT_LINE_BYTES(2);
    const size_t before = is_b ? s->blocks_m * s->stretches * TILE_M * line_bytes : 0;
    return (const char *)(s->workspace + NDR_WORKSPACE_HEAD) + before
           + (line / lines * s->stretches + stretch) * lines * line_bytes;
}

static uint16_t bits_at(const bench *s, bool is_b, size_t line, size_t stretch, size_t step, size_t part)
{
    const size_t lines = is_b ? s->tile_n : TILE_M, within = line % lines;
    const size_t quarter = step % NDR_SPLIT_DEPTH / 8, slab = step / NDR_SPLIT_DEPTH;
    const size_t at = (slab * 2 + part) * lines * 64 + within * 64 + (quarter ^ (within / 2 % 4)) * 16 + step % 8 * 2;
    uint16_t bits;
    memcpy(&bits, stretch_at(s, is_b, line, stretch) + at, sizeof bits);
    return bits;
}

/* Part `part` of a step of a stretch of a line. */
static float part_at(const bench *s, bool is_b, size_t line, size_t stretch, size_t step, size_t part)
{
    const uint16_t bits = bits_at(s, is_b, line, stretch, step, part);
    const int exponent = bits >> 10 & 31;
    const float value = ldexpf((float)((bits & 1023) + (exponent ? 1024 : 0)), (exponent ? exponent : 1) - 25);
    return bits >> 15 ? -value : value;
}

/* What the matrix has at a step of a line, 0 beyond its edges. */
static float element_at(const bench *s, bool is_b, size_t line, size_t step)
{
    if (step >= s->k || line >= (is_b ? s->n : s->m)) return 0;
    return is_b ? s->b[s->offset + step * (s->n + s->gap) + line] : s->a[s->offset + line * (s->k + s->gap) + step];
}

/* The first step of a stretch: the last one has at least 32 steps, or all. */
static size_t first_step(const bench *s, size_t stretch)
{
    const size_t late = (s->k - 32) / 8 * 8;
    return stretch == s->stretches ? s->k : ndr_min_size(64 * stretch, late);
}

/* h + l / 2^11 is the element divided by the line's factor, up to half a bit of l. */
static void check_halves_of(const bench *s, bool is_b, size_t line, size_t stretch)
{
    const size_t first = first_step(s, stretch), count = first_step(s, stretch + 1) - first;
    const size_t lines = is_b ? s->tile_n : TILE_M;
    float factor;
    double most = 0;
    memcpy(&factor, stretch_at(s, is_b, line, stretch) + lines * 256 + line % lines * 4, sizeof factor);
    assert_true(count <= 64 && count >= 25);
    for (size_t step = 0; step < 64; ++step) {
        const double wanted = step < count ? (double)element_at(s, is_b, line, first + step) / (double)factor : 0;
        const double h = (double)part_at(s, is_b, line, stretch, step, 0);
        const double l = (double)part_at(s, is_b, line, stretch, step, 1);
        assert_true(fabs(h + l * 0x1p-11 - wanted) <= fmax(fabs(wanted) * 0x1p-23, 0x1p-36));
        assert_true(fabs(l) <= fmax(fabs(h), 0x1p-14));
        most = fmax(most, fabs(wanted));
    }
    if (most == 0) assert_true(factor == 1);
    else assert_true(most >= 0x1p14 && most < 0x1p15);
}

static void check_halves(const bench *s)
{
    for (size_t stretch = 0; stretch < s->stretches; ++stretch) {
        for (size_t line = 0; line < s->blocks_m * TILE_M; ++line) check_halves_of(s, false, line, stretch);
        for (size_t line = 0; line < s->blocks_n * s->tile_n; ++line) check_halves_of(s, true, line, stretch);
    }
}

static void test_halves__of_elements_times_a_power_of_two(void **state)
{
    (void)state;
    const struct {
        size_t m, n, k, gap, offset;
        unsigned tile_n;
    } cases[] = { { 3, 5, 70, 0, 0, 64 }, { 129, 65, 200, 1, 3, 64 }, { 128, 130, 256, 4, 4, 128 } };
    for (size_t i = 0; i < NDR_COUNT_OF(cases); i += quick() ? 9 : 1) {
        bench s = open_bench(cases[i].m, cases[i].n, cases[i].k, cases[i].gap, cases[i].offset, cases[i].tile_n);
        const size_t lines = quick() ? 1 : s.m, steps = quick() ? 32 : s.k; /* so that one item sets a mark */
        for (size_t j = 0; j < lines; ++j) /* numbers that a half has only as subnormal ones, and zeros */
            for (size_t p = j % 7; p < steps; p += 7)
                s.a[s.offset + j * (s.k + s.gap) + p] *= p % 2 ? 0 : ldexpf(1, -(int)(p % 41));
        split(&s);
        check_halves(&s);
        close_bench(&s);
    }
}

/* Elements of 1 to 2, of which those that `change` is for are others. */
enum { LINE = 1, FIRST = 64, STEPS = 36 }; /* a line, and its last stretch */
typedef struct change {
    float value;
    size_t every; /* step of the stretch */
    unsigned marks;
} change;

enum { BEYOND = 1 << NDR_HALVES_BEYOND, COARSE = 1 << NDR_HALVES_COARSE, SPARSE = 1 << NDR_HALVES_SPARSE };

static unsigned marks_after(const change *c, bool in_b)
{
    bench s = open_bench(2, 2, FIRST + STEPS, 0, 0, 64);
    for (size_t i = 0; i < s.m * s.k; ++i) s.a[i] = 1 + fabsf(s.a[i]) / 2;
    for (size_t i = 0; i < s.n * s.k; ++i) s.b[i] = 1 + fabsf(s.b[i]) / 2;
    for (size_t i = c->every - 1; i < STEPS; i += c->every)
        *(in_b ? &s.b[(FIRST + i) * s.n + LINE] : &s.a[LINE * s.k + FIRST + i]) = c->value;
    split(&s);
    unsigned marks = 0;
    for (unsigned i = NDR_HALVES_BEYOND; i < NDR_SPLIT_MARKS; ++i)
        if (s.workspace[NDR_MARKS + i] == NUMBER) marks |= 1u << i;
    close_bench(&s);
    return marks;
}

static void test_halves__marks_what_they_do_not_prove(void **state)
{
    (void)state;
    const change cases[] = {
        { 1, 1, 0 },
        { 0, 1, 0 },             /* a line of zeros has no errors */
        { 0, 2, SPARSE },        /* half of them: no errors, but nothing to hide others' errors either */
        { 0, 4, 0 },             /* 27 of 36 are large */
        { 0, 3, SPARSE },        /* 24 */
        { 0x1p-30f, 4, COARSE }, /* enough large ones */
        { 0x1p-30f, 3, COARSE | SPARSE },
        { 0x1p-29f, 3, SPARSE },             /* times 2^14 they are 2^-15 */
        { 0x1p30f, STEPS, COARSE | SPARSE }, /* an outlier: the others are small beside it */
        { 0x1p29f, STEPS, SPARSE },          /* not so small: times 2^-15 they are at least 2^-15 */
        { 0x1.fffffep59f, 1, 0 },
        { 0x1p60f, 1, BEYOND },
        { INFINITY, STEPS, BEYOND },
        { -NAN, STEPS, BEYOND },
        { -0x1p-49f, 1, 0 },
        { 0x1.fffffep-50f, 1, BEYOND },
        { -0x1p-149f, STEPS, COARSE },
    };
    for (size_t i = quick() ? 6 : 0; i < NDR_COUNT_OF(cases); i += quick() ? 99 : 1) {
        const unsigned in_a = marks_after(&cases[i], false) & ~(cases[i].marks & BEYOND ? COARSE | SPARSE : 0u);
        const unsigned in_b = marks_after(&cases[i], true) & ~(cases[i].marks & BEYOND ? COARSE | SPARSE : 0u);
        assert_int_equal(in_a, cases[i].marks);
        assert_int_equal(in_b, cases[i].marks);
    }
}

/* ---- the bound ---- */

/* Elements of 2^-range to 1, of which one of `zeros` is not 0: only the largest ones, only the smallest ones, or any. */
static void fill_line(float *to, size_t step, size_t count, int range, uint32_t zeros, uint32_t *state)
{
    const uint32_t kind = (*state >> 20) % 3;
    for (size_t i = 0; i < count; ++i) {
        const float x = random_float(state);
        const int exponent = kind == 0             ? 0
                             : kind == 1 && i % 16 ? range
                                                   : (int)((*state >> 16) % (uint32_t)(range + 1));
        to[i * step] = (*state >> 8) % zeros ? 0 : ldexpf(copysignf(1 + fabsf(x) / 2, x), -exponent);
    }
}

/* The sum of the three products of parts that gemm_halves() adds, without rounding. */
static double multiply_parts(const bench *s, size_t row, size_t col)
{
    double sum = 0;
    for (size_t t = 0; t < s->stretches; ++t) {
        float x, y;
        double part = 0;
        memcpy(&x, stretch_at(s, false, row, t) + TILE_M * 256 + row * 4, sizeof x);
        memcpy(&y, stretch_at(s, true, col, t) + s->tile_n * 256 + col * 4, sizeof y);
        for (size_t i = 0; i < 64; ++i) {
            const double a = (double)part_at(s, false, row, t, i, 0), a_rest = (double)part_at(s, false, row, t, i, 1);
            const double b = (double)part_at(s, true, col, t, i, 0), b_rest = (double)part_at(s, true, col, t, i, 1);
            part += a * b + (a_rest * b + a * b_rest) * 0x1p-11;
        }
        sum += part * (double)x * (double)y;
    }
    return sum;
}

/* docs/numerics.md: the errors of the parts, and what the products leave out. */
static void check_bound(const bench *s)
{
    for (size_t i = 0; i < s->m; ++i)
        for (size_t j = 0; j < s->n; ++j) {
            double sum = 0, size = 0;
            for (size_t p = 0; p < s->k; ++p) {
                const double term = (double)element_at(s, false, i, p) * (double)element_at(s, true, j, p);
                sum += term;
                size += fabs(term);
            }
            assert_true(fabs(multiply_parts(s, i, j) - sum) <= 18.3 * 0x1p-23 * size);
        }
}

static bool is_accepted(const bench *s)
{
    const uint32_t *marks = s->workspace + NDR_MARKS;
    const bool is_coarse = marks[NDR_HALVES_COARSE] == NUMBER, is_sparse = marks[NDR_HALVES_SPARSE] == NUMBER;
    return marks[NDR_HALVES_BEYOND] != NUMBER && !(is_coarse && is_sparse);
}

/* Any zeros are accepted, as results of max(x, 0) have them, if the others are at least 2^-29 of the largest. */
static void test_halves__keep_the_bound_of_what_they_accept(void **state)
{
    (void)state;
    const uint64_t first = number_from_env("NDR_TEST_SEED", 1);
    size_t refused = 0;
    for (uint64_t seed = first; seed < first + (quick() ? 1 : 24); ++seed) {
        uint32_t random = (uint32_t)seed * 2654435761u;
        const int range = quick() ? 8 : seed % 3 ? 28 : 40; /* 8: no item sets a mark */
        const uint32_t zeros = quick() ? 0 : (uint32_t)seed;
        bench s = open_bench(3, 4, 200, 1, 3, 64);
        for (size_t i = 0; i < s.m; ++i)
            fill_line(s.a + s.offset + i * (s.k + s.gap), 1, s.k, range, 1 + zeros % 4, &random);
        for (size_t j = 0; j < s.n; ++j) fill_line(s.b + s.offset + j, s.n + s.gap, s.k, range, 1 + zeros % 5, &random);
        split(&s);
        if (!is_accepted(&s)) {
            if (range < 40) fail_msg("NDR_TEST_SEED=%d is refused", (int)seed);
            ++refused;
        } else check_bound(&s);
        close_bench(&s);
    }
    assert_true(quick() || refused > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_halves__of_elements_times_a_power_of_two),
        cmocka_unit_test(test_halves__marks_what_they_do_not_prove),
        cmocka_unit_test(test_halves__keep_the_bound_of_what_they_accept),
    };
    return cmocka_run_group_tests_name("halves", tests, open_device, close_device);
}
