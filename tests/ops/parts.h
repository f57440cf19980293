/* parts.h - runs the first kernel of `halves` and `rounded`, which is plain OpenCL C, and reads the parts that it
 * stores by the description in shared/split.h. */
#ifndef NDR_TESTS_PARTS_H
#define NDR_TESTS_PARTS_H

#include "support.h"

#include <math.h>

#include "launch/launch.h"
#include "shared/split.h"

enum { NUMBER = 7 }; /* what a mark holds that is set */

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

/* Of a stretch. */
static size_t steps_of(const bench *s) { return (size_t)NDR_SPLIT_DEPTH * NDR_SPLIT_SLABS(s->parts); }

static bench open_bench(size_t m, size_t n, size_t k, size_t gap, size_t offset, unsigned parts, unsigned tile_n)
{
    bench s = { .m = m, .n = n, .k = k, .gap = gap, .offset = offset, .parts = parts, .tile_n = tile_n };
    s.a = make_matrix(m, k, &s, 1);
    s.b = make_matrix(k, n, &s, 2);
    s.stretches = ndr_ceil_div(k, NDR_SPLIT_STEPS(parts, k));
    s.blocks_m = ndr_ceil_div(m, NDR_SPLIT_ROWS);
    s.blocks_n = ndr_ceil_div(n, tile_n);
    return s;
}

static size_t lines_of(const bench *s) { return s->blocks_m * NDR_SPLIT_ROWS + s->blocks_n * s->tile_n; }

static size_t bytes_of(const bench *s)
{
    return NDR_WORKSPACE_HEAD_BYTES + lines_of(s) * s->stretches * NDR_SPLIT_LINE_BYTES(s->parts);
}

static ndr_kernel *get_kernel(const bench *s)
{
    char options[64];
    ndr_kernel *kernel;
    snprintf(options, sizeof options, "-DPARTS=%u -DTILE_N=%u -DSTAGES=2", s->parts, s->tile_n);
    const ndr_kernel_desc desc = { .name = "gemm_halves_parts", .bundled = "matmul/halves.cl", .options = options };
    assert_ok(ndr_kernel_get(context, &desc, &kernel));
    return kernel;
}

static void split(bench *s)
{
    enum { ITEMS = 4 * NDR_SPLIT_CHUNK };
    const size_t bytes = bytes_of(s);
    const ndr_nd_range range = ndr_nd_range_1d(lines_of(s) / NDR_SPLIT_CHUNK * s->stretches * ITEMS, ITEMS);
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
    assert_ok(ndr_launch_v(queue, get_kernel(s), &range, args, NDR_COUNT_OF(args), NULL));
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

/* Marks, as bits. */
static unsigned marks_of(const bench *s, unsigned count)
{
    unsigned marks = 0;
    for (unsigned i = 0; i < count; ++i)
        if (s->workspace[NDR_MARKS + i] == NUMBER) marks |= 1u << i;
    return marks;
}

#endif
