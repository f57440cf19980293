/* test_split.c - the first kernel of the row `split`, which is plain OpenCL C: the parts of elements, their places, and
 * the marks of elements to which parts do not do justice. */
#include "support.h"

#include <math.h>

#include "ops/ops.h"
#include "shared/split.h"

enum { NUMBER = 7 };

typedef struct bench {
    size_t m, n, k, gap, offset;
    unsigned tile_n;
    float *a, *b;
    uint32_t *workspace; /* as the kernel leaves it */
    size_t slabs, blocks_m, blocks_n;
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
    s.slabs = ndr_ceil_div(k, NDR_SPLIT_DEPTH);
    s.blocks_m = ndr_ceil_div(m, NDR_SPLIT_ROWS);
    s.blocks_n = ndr_ceil_div(n, tile_n);
    return s;
}

static size_t lines_of(const bench *s) { return s->blocks_m * NDR_SPLIT_ROWS + s->blocks_n * s->tile_n; }

static void split(bench *s)
{
    char options[64];
    ndr_kernel *kernel;
    const size_t bytes = NDR_WORKSPACE_HEAD_BYTES + lines_of(s) * s->slabs * NDR_SPLIT_LINE_BYTES;
    const size_t groups = lines_of(s) / NDR_SPLIT_CHUNK * s->slabs, items = 4 * NDR_SPLIT_CHUNK;
    snprintf(options, sizeof options, "-DTILE_N=%u -DSTAGES=4", s->tile_n);
    const ndr_kernel_desc desc = { .name = "gemm_split_parts", .bundled = "matmul/split.cl", .options = options };
    assert_ok(ndr_kernel_get(context, &desc, &kernel));
    s->workspace = calloc(bytes, 1);
    ndr_buffer *a = buffer_of((s->offset + s->m * (s->k + s->gap)) * sizeof(float), s->a);
    ndr_buffer *b = buffer_of((s->offset + s->k * (s->n + s->gap)) * sizeof(float), s->b);
    ndr_buffer *workspace = buffer_of(bytes, s->workspace);
    assert_ok(ndr_launch(queue, kernel, ndr_nd_range_1d(groups * items, items), s->m, s->n, s->k, a, s->offset,
                         s->k + s->gap, b, s->offset, s->n + s->gap, workspace, (unsigned)NUMBER));
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

/* Part `part` of step `step` of a line, by the description in shared/split.h. */
static float part_at(const bench *s, bool is_b, size_t line, size_t step, size_t part)
{
    const size_t lines = is_b ? s->tile_n : NDR_SPLIT_ROWS, block = line / lines, within = line % lines;
    const size_t slab_bytes = lines * NDR_SPLIT_LINE_BYTES, quarter = step % NDR_SPLIT_DEPTH / 8;
    const size_t before = is_b ? s->blocks_m * s->slabs * NDR_SPLIT_ROWS * NDR_SPLIT_LINE_BYTES : 0;
    const size_t at = before + (block * s->slabs + step / NDR_SPLIT_DEPTH) * slab_bytes + part * lines * 64
                      + within * 64 + (quarter ^ (within / 2 % 4)) * 16 + step % 8 * 2;
    uint16_t bits;
    memcpy(&bits, (const char *)(s->workspace + NDR_WORKSPACE_HEAD) + at, sizeof bits);
    const uint32_t whole = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &whole, sizeof value);
    return value;
}

/* All 24 bits of an element are in its parts, each of which is at most 2^-8 of the one before; padding is 0. */
static void check_line(const bench *s, bool is_b, size_t line)
{
    for (size_t step = 0; step < s->slabs * NDR_SPLIT_DEPTH; ++step) {
        const bool is_inside = step < s->k && line < (is_b ? s->n : s->m);
        const size_t at = is_b ? step * (s->n + s->gap) + line : line * (s->k + s->gap) + step;
        const float wanted = is_inside ? (is_b ? s->b : s->a)[s->offset + at] : 0;
        const float h = part_at(s, is_b, line, step, 0), i = part_at(s, is_b, line, step, 1);
        const float l = part_at(s, is_b, line, step, 2);
        assert_true((double)h + i + l == (double)wanted);
        assert_true(fabsf(i) <= fabsf(h) * 0x1p-8f && fabsf(l) <= fabsf(h) * 0x1p-16f);
    }
}

static void check_parts(size_t m, size_t n, size_t k, size_t gap, size_t offset, unsigned tile_n)
{
    bench s = open_bench(m, n, k, gap, offset, tile_n);
    split(&s);
    for (size_t line = 0; line < s.blocks_m * NDR_SPLIT_ROWS; ++line) check_line(&s, false, line);
    for (size_t line = 0; line < s.blocks_n * tile_n; ++line) check_line(&s, true, line);
    for (size_t i = 0; i < NDR_SPLIT_MARKS; ++i) assert_int_equal(s.workspace[NDR_MARKS + i], 0);
    close_bench(&s);
}

static void test_split__stores_all_bits_in_three_parts(void **state)
{
    (void)state;
    check_parts(3, 5, 64, 0, 0, 64);
    check_parts(129, 65, 33, 1, 3, 64);
    if (quick()) return;
    check_parts(128, 130, 72, 4, 4, 128);
    check_parts(1, 127, 97, 0, 1, 128);
}

/* ---- marks ---- */

/* One element of one matrix is changed to `value`: the marks, as bits. */
static unsigned marks_of(bool in_b, float value)
{
    bench s = open_bench(130, 70, 40, 0, 0, 64);
    if (in_b) s.b[39 * 70 + 69] = value;
    else s.a[129 * 40 + 39] = value;
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
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i += quick() ? 4 : 1) {
        assert_int_equal(marks_of(false, cases[i].value), cases[i].in_a);
        assert_int_equal(marks_of(true, cases[i].value), cases[i].in_b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_split__stores_all_bits_in_three_parts),
        cmocka_unit_test(test_split__marks_elements_beyond_its_parts),
    };
    return cmocka_run_group_tests_name("split", tests, open_device, close_device);
}
