/* test_split.c - the first kernel of the rows `split` and `rounded`, which is plain OpenCL C: the parts of
 * elements, their places, and the marks of elements to which parts do not do justice. */
#include "support.h"

#include <math.h>

#include "ops/ops.h"
#include "shared/split.h"

enum { NUMBER = 7 };

typedef struct bench {
    size_t m, n, k, gap, offset;
    unsigned parts, tile_n;
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

static bench open_bench(size_t m, size_t n, size_t k, size_t gap, size_t offset, unsigned parts, unsigned tile_n)
{
    bench s = { .m = m, .n = n, .k = k, .gap = gap, .offset = offset, .parts = parts, .tile_n = tile_n };
    s.a = make_matrix(m, k, &s, 1);
    s.b = make_matrix(k, n, &s, 2);
    s.stretches = ndr_ceil_div(k, NDR_SPLIT_DEPTH * NDR_SPLIT_SLABS(parts));
    s.blocks_m = ndr_ceil_div(m, NDR_SPLIT_ROWS);
    s.blocks_n = ndr_ceil_div(n, tile_n);
    return s;
}

/* Of a stretch. */
static size_t steps_of(const bench *s) { return (size_t)NDR_SPLIT_DEPTH * NDR_SPLIT_SLABS(s->parts); }
static size_t lines_of(const bench *s) { return s->blocks_m * NDR_SPLIT_ROWS + s->blocks_n * s->tile_n; }

static ndr_kernel *get_kernel(const bench *s, const char *name)
{
    char options[64];
    ndr_kernel *kernel;
    snprintf(options, sizeof options, "-DPARTS=%u -DTILE_N=%u -DSTAGES=2", s->parts, s->tile_n);
    const ndr_kernel_desc desc = { .name = name, .bundled = "matmul/split.cl", .options = options };
    assert_ok(ndr_kernel_get(context, &desc, &kernel));
    return kernel;
}

static size_t chunks_of(const bench *s) { return lines_of(s) / NDR_SPLIT_CHUNK * s->stretches; }
static size_t bytes_of(const bench *s)
{
    return NDR_WORKSPACE_HEAD_BYTES + lines_of(s) * s->stretches * NDR_SPLIT_LINE_BYTES(s->parts);
}

/* With `groups` groups of gemm_split_parts_again(); 0: by gemm_split_parts(). */
static void split_by(bench *s, size_t groups)
{
    enum { ITEMS = 4 * NDR_SPLIT_CHUNK };
    const size_t bytes = bytes_of(s);
    ndr_kernel *kernel = get_kernel(s, groups ? "gemm_split_parts_again" : "gemm_split_parts");
    const ndr_nd_range range = ndr_nd_range_1d((groups ? groups : chunks_of(s)) * ITEMS, ITEMS);
    if (!s->workspace) s->workspace = calloc(bytes, 1);
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
                             ndr_arg_of((unsigned)NUMBER),
                             ndr_arg_of((unsigned)chunks_of(s)) };
    assert_ok(ndr_launch_v(queue, kernel, &range, args, NDR_COUNT_OF(args) - (groups ? 0 : 1), NULL));
    read_buffer(workspace, s->workspace, bytes);
    ndr_buffer_destroy(a);
    ndr_buffer_destroy(b);
    ndr_buffer_destroy(workspace);
}

static void split(bench *s) { split_by(s, 0); }

static void close_bench(bench *s)
{
    free(s->a);
    free(s->b);
    free(s->workspace);
}

/* The bytes of a stretch of a line's block, by the description in shared/split.h. */
static const char *stretch_at(const bench *s, bool is_b, size_t line, size_t stretch)
{
    const size_t lines = is_b ? s->tile_n : NDR_SPLIT_ROWS, line_bytes = NDR_SPLIT_LINE_BYTES(s->parts);
    const size_t before = is_b ? s->blocks_m * s->stretches * NDR_SPLIT_ROWS * line_bytes : 0;
    return (const char *)(s->workspace + NDR_WORKSPACE_HEAD) + before
           + (line / lines * s->stretches + stretch) * lines * line_bytes;
}

static uint16_t bits_at(const bench *s, bool is_b, size_t line, size_t stretch, size_t step, size_t part)
{
    const size_t lines = is_b ? s->tile_n : NDR_SPLIT_ROWS, within = line % lines;
    const size_t quarter = step % NDR_SPLIT_DEPTH / 8, slab = step / NDR_SPLIT_DEPTH;
    const size_t at =
        (slab * s->parts + part) * lines * 64 + within * 64 + (quarter ^ (within / 2 % 4)) * 16 + step % 8 * 2;
    uint16_t bits;
    memcpy(&bits, stretch_at(s, is_b, line, stretch) + at, sizeof bits);
    return bits;
}

/* Part `part` of a step of a stretch of a line. */
static float part_at(const bench *s, bool is_b, size_t line, size_t stretch, size_t step, size_t part)
{
    const uint16_t bits = bits_at(s, is_b, line, stretch, step, part);
    const uint32_t whole = (uint32_t)bits << 16;
    const int exponent = bits >> 10 & 31;
    float value;
    memcpy(&value, &whole, sizeof value);
    if (s->parts == 3) return value;
    value = ldexpf((float)((bits & 1023) + (exponent ? 1024 : 0)), (exponent ? exponent : 1) - 25);
    return bits >> 15 ? -value : value;
}

/* What the matrix has at a step of a line, 0 beyond its edges. */
static float element_at(const bench *s, bool is_b, size_t line, size_t step)
{
    if (step >= s->k || line >= (is_b ? s->n : s->m)) return 0;
    return is_b ? s->b[s->offset + step * (s->n + s->gap) + line] : s->a[s->offset + line * (s->k + s->gap) + step];
}

/* All 24 bits of an element are in its parts, each of which is at most 2^-8 of the one before; padding is 0. */
static void check_line(const bench *s, bool is_b, size_t line)
{
    for (size_t step = 0; step < s->stretches * NDR_SPLIT_DEPTH; ++step) {
        const size_t stretch = step / NDR_SPLIT_DEPTH, within = step % NDR_SPLIT_DEPTH;
        const float h = part_at(s, is_b, line, stretch, within, 0), i = part_at(s, is_b, line, stretch, within, 1);
        const float l = part_at(s, is_b, line, stretch, within, 2);
        assert_true((double)h + i + l == (double)element_at(s, is_b, line, step));
        assert_true(fabsf(i) <= fabsf(h) * 0x1p-8f && fabsf(l) <= fabsf(h) * 0x1p-16f);
    }
}

static void check_parts(size_t m, size_t n, size_t k, size_t gap, size_t offset, unsigned tile_n)
{
    bench s = open_bench(m, n, k, gap, offset, 3, tile_n);
    split(&s);
    for (size_t line = 0; line < s.blocks_m * NDR_SPLIT_ROWS; ++line) check_line(&s, false, line);
    for (size_t line = 0; line < s.blocks_n * tile_n; ++line) check_line(&s, true, line);
    for (size_t i = 0; i < NDR_SPLIT_MARKS; ++i) assert_int_equal(s.workspace[NDR_MARKS + i], 0);
    close_bench(&s);
}

static void test_split__stores_all_bits_in_three_parts(void **state)
{
    (void)state;
    check_parts(129, 65, 33, 1, 3, 64);
    if (quick()) return;
    check_parts(3, 5, 64, 0, 0, 64);
    check_parts(128, 130, 72, 4, 4, 128);
    check_parts(1, 127, 97, 0, 1, 128);
}

/* ---- marks ---- */

/* One element of one matrix is changed to `value`: the marks, as bits. */
static unsigned marks_of(bool in_b, float value)
{
    bench s = open_bench(quick() ? 2 : 130, quick() ? 2 : 70, 40, 0, 0, 3, 64);
    if (in_b) s.b[s.k * s.n - 1] = value;
    else s.a[s.m * s.k - 1] = value;
    split(&s);
    unsigned marks = 0;
    for (unsigned i = 0; i < NDR_SPLIT_MARKS; ++i)
        if (s.workspace[NDR_MARKS + i] == NUMBER) marks |= 1u << i;
    close_bench(&s);
    return marks;
}

static void test_split__marks_elements_beyond_its_parts(void **state)
{
    (void)state;
    const struct {
        float value;
        unsigned in_a, in_b;
    } cases[] = {
        { 0, 0, 0 },
        { -0.0f, 0, 0 },
        { 0x1p-110f, 0, 0 },
        { 0x1.fffffep-111f, 1u << NDR_SPLIT_A_TINY, 1u << NDR_SPLIT_B_TINY },
        { -0x1p-149f, 1u << NDR_SPLIT_A_TINY, 1u << NDR_SPLIT_B_TINY },
        { 0x1.fffffep7f, 0, 0 },
        { -0x1p8f, 1u << NDR_SPLIT_A_LARGE, 1u << NDR_SPLIT_B_LARGE },
        { 0x1.fefffep127f, 1u << NDR_SPLIT_A_LARGE, 1u << NDR_SPLIT_B_LARGE },
        { 0x1.ffp127f, 1u << NDR_SPLIT_A_LARGE | 1u << NDR_SPLIT_BEYOND,
          1u << NDR_SPLIT_B_LARGE | 1u << NDR_SPLIT_BEYOND },
        { -INFINITY, 1u << NDR_SPLIT_A_LARGE | 1u << NDR_SPLIT_BEYOND,
          1u << NDR_SPLIT_B_LARGE | 1u << NDR_SPLIT_BEYOND },
        { NAN, 1u << NDR_SPLIT_A_LARGE | 1u << NDR_SPLIT_BEYOND, 1u << NDR_SPLIT_B_LARGE | 1u << NDR_SPLIT_BEYOND },
    };
    if (quick()) { /* a mark of each matrix */
        assert_int_equal(marks_of(false, cases[4].value), cases[4].in_a);
        assert_int_equal(marks_of(true, cases[8].value), cases[8].in_b);
        return;
    }
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        assert_int_equal(marks_of(false, cases[i].value), cases[i].in_a);
        assert_int_equal(marks_of(true, cases[i].value), cases[i].in_b);
    }
}

/* ---- halves ---- */

/* The first step of a stretch: the last one has at least 32 steps, or all. */
static size_t first_step(const bench *s, size_t stretch)
{
    const size_t late = (s->k - 32) / 8 * 8;
    return stretch == s->stretches ? s->k : ndr_min_size(steps_of(s) * stretch, late);
}

/* h + l is the element divided by the line's factor, up to half a bit of l; or h, up to half a bit of h. */
static void check_halves_of(const bench *s, bool is_b, size_t line, size_t stretch)
{
    const size_t first = first_step(s, stretch), count = first_step(s, stretch + 1) - first;
    const size_t lines = is_b ? s->tile_n : NDR_SPLIT_ROWS;
    float factor;
    double most = 0;
    memcpy(&factor, stretch_at(s, is_b, line, stretch) + lines * steps_of(s) * s->parts * 2 + line % lines * 4,
           sizeof factor);
    assert_true(count <= steps_of(s) && count >= 25);
    for (size_t step = 0; step < steps_of(s); ++step) {
        const double wanted = step < count ? (double)element_at(s, is_b, line, first + step) / (double)factor : 0;
        const double h = (double)part_at(s, is_b, line, stretch, step, 0);
        const double error = fabs(wanted) * 0x1p-11;
        assert_true(fabs(h - wanted) <= fmax(error, 0x1p-25));
        most = fmax(most, fabs(wanted));
    }
    if (most == 0) assert_true(factor == 1);
    else assert_true(most >= 0x1p14 && most < 0x1p15);
}

static void check_halves(const bench *s)
{
    for (size_t stretch = 0; stretch < s->stretches; ++stretch) {
        for (size_t line = 0; line < s->blocks_m * NDR_SPLIT_ROWS; ++line) check_halves_of(s, false, line, stretch);
        for (size_t line = 0; line < s->blocks_n * s->tile_n; ++line) check_halves_of(s, true, line, stretch);
    }
}

static void test_split__stores_halves_of_elements_times_a_power_of_two(void **state)
{
    (void)state;
    const struct {
        size_t m, n, k, gap, offset;
        unsigned parts, tile_n;
    } cases[] = { { 3, 5, 130, 0, 0, 1, 64 }, { 129, 65, 200, 1, 3, 1, 64 }, { 128, 130, 288, 4, 4, 1, 128 } };
    for (size_t i = 0; i < (quick() ? 2 : NDR_COUNT_OF(cases)); ++i) {
        bench s = open_bench(cases[i].m, cases[i].n, cases[i].k, cases[i].gap, cases[i].offset, cases[i].parts,
                             cases[i].tile_n);
        const size_t lines = quick() ? 1 : s.m, steps = quick() ? 32 : s.k; /* so that one item sets a mark */
        for (size_t j = 0; j < lines; ++j) /* numbers that a half has only as subnormal ones, and zeros */
            for (size_t p = j % 7; p < steps; p += 7)
                s.a[s.offset + j * (s.k + s.gap) + p] *= p % 2 ? 0 : ldexpf(1, -(int)(p % 41));
        split(&s);
        check_halves(&s);
        assert_int_equal(s.workspace[NDR_MARKS + NDR_HALVES_TRIED], NUMBER);
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

static unsigned marks_after(const change *c, unsigned parts, bool in_b)
{
    bench s = open_bench(2, 2, FIRST + STEPS, 0, 0, parts, 64);
    for (size_t i = 0; i < s.m * s.k; ++i) s.a[i] = 1 + fabsf(s.a[i]) / 2;
    for (size_t i = 0; i < s.n * s.k; ++i) s.b[i] = 1 + fabsf(s.b[i]) / 2;
    for (size_t i = c->every - 1; i < STEPS; i += c->every)
        *(in_b ? &s.b[(FIRST + i) * s.n + LINE] : &s.a[LINE * s.k + FIRST + i]) = c->value;
    split(&s);
    unsigned marks = 0;
    for (unsigned i = NDR_HALVES_TRIED + 1; i < NDR_SPLIT_MARKS; ++i)
        if (s.workspace[NDR_MARKS + i] == NUMBER) marks |= 1u << i;
    close_bench(&s);
    return marks;
}

static void check_marks_after(const change *c, unsigned parts)
{
    const unsigned seen = ~(c->marks & BEYOND ? COARSE | SPARSE : 0u);
    assert_int_equal(marks_after(c, parts, false) & seen, c->marks);
    assert_int_equal(marks_after(c, parts, true) & seen, c->marks);
}

static void test_split__marks_what_halves_do_not_prove(void **state)
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
        { 0x1p30f, STEPS, COARSE | SPARSE }, /* an outlier: the others are small beside it */
        { 0x1p18f, STEPS, SPARSE },          /* not so small: times 2^-4 they are at least 2^-5 */
        { 0x1.fffffep59f, 1, 0 },
        { 0x1p60f, 1, BEYOND },
        { INFINITY, STEPS, BEYOND },
        { -NAN, STEPS, BEYOND },
        { -0x1p-49f, 1, 0 },
        { 0x1.fffffep-50f, 1, BEYOND },
        { -0x1p-149f, STEPS, COARSE },
    };
    const change of_one[] = { { 0x1p20f, STEPS, SPARSE },
                              { 0x1p28f, STEPS, SPARSE }, /* times 2^-14 the others are normal halves */
                              { 0x1p29f, STEPS, COARSE | SPARSE } };
    for (size_t i = quick() ? 6 : 0; i < NDR_COUNT_OF(cases); i += quick() ? 99 : 1)
        check_marks_after(&cases[i], 1);
    if (quick()) return;
    for (size_t i = 0; i < NDR_COUNT_OF(of_one); ++i) check_marks_after(&of_one[i], 1);
}

/* ---- after halves ---- */

static void set_halves(bench *s, unsigned tried, unsigned beyond, unsigned coarse, unsigned sparse)
{
    s->workspace = calloc(bytes_of(s), 1);
    s->workspace[NDR_MARKS + NDR_HALVES_TRIED] = tried;
    s->workspace[NDR_MARKS + NDR_HALVES_BEYOND] = beyond;
    s->workspace[NDR_MARKS + NDR_HALVES_COARSE] = coarse;
    s->workspace[NDR_MARKS + NDR_HALVES_SPARSE] = sparse;
}

static void test_split__into_three_parts_again_unless_two_suffice(void **state)
{
    (void)state;
    enum { OLD = NUMBER - 1 };
    const struct {
        unsigned tried, beyond, coarse, sparse;
        bool splits;
    } cases[] = {
        { NUMBER, OLD, NUMBER, NUMBER, true }, { NUMBER, OLD, NUMBER, OLD, false }, { NUMBER, OLD, OLD, NUMBER, false },
        { NUMBER, NUMBER, OLD, OLD, true },    { OLD, OLD, OLD, OLD, true },
    };
    for (size_t i = 0; i < (quick() ? 2 : NDR_COUNT_OF(cases)); ++i) {
        bench s = open_bench(3, 5, 40, 1, 3, 3, 64);
        set_halves(&s, cases[i].tried, cases[i].beyond, cases[i].coarse, cases[i].sparse);
        split_by(&s, 2); /* groups, for 6 chunks */
        if (cases[i].splits) {
            for (size_t line = 0; line < s.blocks_m * NDR_SPLIT_ROWS; ++line) check_line(&s, false, line);
            for (size_t line = 0; line < s.blocks_n * s.tile_n; ++line) check_line(&s, true, line);
        } else {
            for (size_t j = NDR_WORKSPACE_HEAD; j < bytes_of(&s) / 4; ++j) assert_int_equal(s.workspace[j], 0);
        }
        close_bench(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_split__stores_all_bits_in_three_parts),
        cmocka_unit_test(test_split__marks_elements_beyond_its_parts),
        cmocka_unit_test(test_split__stores_halves_of_elements_times_a_power_of_two),
        cmocka_unit_test(test_split__marks_what_halves_do_not_prove),
        cmocka_unit_test(test_split__into_three_parts_again_unless_two_suffice),
    };
    return cmocka_run_group_tests_name("split", tests, open_device, close_device);
}
