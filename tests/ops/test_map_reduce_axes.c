/* test_map_reduce_axes.c - ndr_map_reduce() along dimensions and over segments, with several values, indexes and outputs
 * of any kind, against plain loops, in every row. Elements are small whole numbers: sums of floats are exact. */
#include "support.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "forcing.h"
#include "ndr/ndr_ops.h"
#include "ops/map_reduce/map_reduce.h"
#include "reference.h"
#include "strides.h"

static uint64_t seed;

/* ---- elements ---- */

static const ndr_dtype types[] = { NDR_DTYPE_I32, NDR_DTYPE_F32, NDR_DTYPE_U8,
                                   NDR_DTYPE_I64, NDR_DTYPE_F16, NDR_DTYPE_BF16 };

static size_t pick(uint64_t *state, size_t below) { return (size_t)(random_bits(state) % below); }

static void put_at(ndr_dtype dtype, void *host, size_t i, int64_t value)
{
    switch (dtype) {
    case NDR_DTYPE_U8: ((uint8_t *)host)[i] = (uint8_t)value; break;
    case NDR_DTYPE_I32: ((int32_t *)host)[i] = (int32_t)value; break;
    case NDR_DTYPE_I64: ((int64_t *)host)[i] = value; break;
    case NDR_DTYPE_F16: ((uint16_t *)host)[i] = ndr_f16_from_float((float)value); break;
    case NDR_DTYPE_BF16: ((uint16_t *)host)[i] = ndr_bf16_from_float((float)value); break;
    default: ((float *)host)[i] = (float)value; break;
    }
}

/* The bits as a number, so that all types compare alike. */
static uint64_t bits_at(ndr_dtype dtype, const void *host, size_t i)
{
    uint64_t bits = 0;
    memcpy(&bits, (const char *)host + i * ndr_dtype_size(dtype), ndr_dtype_size(dtype));
    return bits;
}

/* ---- a generated call ---- */

typedef struct reduction {
    ndr_dtype dtype, sum_dtype, output_dtype;
    ndr_op op;
    ndr_array x, y; /* y repeats */
    bool has_y, is_packed, is_combined;
    unsigned axes;
    ndr_array output;
} reduction;

/* Dimensions in any order in memory, with gaps, backward; `repeats`: some with stride 0. The elements that it needs. */
static size_t place_array(ndr_array *a, ndr_dtype dtype, ndr_range shape, bool repeats, uint64_t *state)
{
    unsigned order[3] = { 0, 1, 2 };
    *a = (ndr_array){ .dtype = dtype, .shape = shape, .offset = pick(state, 5) };
    const bool is_packed = pick(state, 2);
    size_t needed = 1;
    for (unsigned d = shape.dims; d-- > 0;) {
        const unsigned other = is_packed ? d : (unsigned)pick(state, d + 1), last = order[d];
        order[d] = order[other], order[other] = last;
    }
    for (unsigned d = shape.dims; d-- > 0;) {
        const unsigned at = order[d];
        const size_t size = shape.size[at], stride = needed + (is_packed ? 0 : pick(state, 2));
        if (size == 0) continue;
        if (repeats && pick(state, 2)) continue;
        a->stride[at] = (int64_t)stride;
        if (!is_packed && pick(state, 4) == 0) {
            a->stride[at] = -(int64_t)stride;
            a->offset += (size - 1) * stride;
        }
        needed = stride * (size - 1) + needed;
    }
    return needed + a->offset + 5;
}

static const char *describe(const reduction *r)
{
    static char text[300];
    snprintf(text, sizeof text,
             "%s op %d to %s, %zu x %zu x %zu (%u), axes %u, strides %lld %lld %lld, y %d, packed %d, combined %d, "
             "NDR_TEST_SEED=%" PRIu64,
             ndr_dtype_name(r->dtype), (int)r->op, ndr_dtype_name(r->output_dtype), r->x.shape.size[0],
             r->x.shape.size[1], r->x.shape.size[2], r->x.shape.dims, r->axes, (long long)r->x.stride[0],
             (long long)r->x.stride[1], (long long)r->x.stride[2], r->has_y, r->is_packed, r->is_combined, seed);
    return text;
}

static int64_t identity_of(const reduction *r)
{
    if (ndr_op_is_arg(r->op)) return -1;
    return r->op == NDR_OP_SUM ? 0 : r->op == NDR_OP_PRODUCT ? 1 : 77; /* of minima: tested elsewhere */
}

/* A result so far, and for an index the value there. */
typedef struct running {
    int64_t result, value;
    bool is_any;
} running;

static void combine(ndr_op op, running *to, int64_t value, int64_t index)
{
    const bool is_less = value<to->value, is_more = value> to->value;
    const bool takes = !to->is_any || (op == NDR_OP_MIN || op == NDR_OP_ARG_MIN ? is_less : is_more);
    if (op == NDR_OP_SUM) to->value += value;
    else if (op == NDR_OP_BIT_XOR) to->value ^= value;
    else if (takes) to->value = value, to->result = index;
    to->is_any = true;
}

/* The plain loop: over all indexes, into the result of each. */
static running *expect(const reduction *r, const int64_t *x, const int64_t *y, ndr_range kept)
{
    const size_t *size = r->x.shape.size;
    const ndr_array results = ndr_array_of(NULL, NDR_DTYPE_I64, kept);
    running *all = calloc(ndr_sizes_product(kept.dims, kept.size) + 1, sizeof *all);
    size_t at[3];
    for (at[0] = 0; at[0] < size[0]; ++at[0])
        for (at[1] = 0; at[1] < size[1]; ++at[1])
            for (at[2] = 0; at[2] < size[2]; ++at[2]) {
                size_t own[3] = { 0, 0, 0 };
                int64_t place = 0;
                for (unsigned d = 0; d < r->x.shape.dims; ++d)
                    if (kept.size[d] == 1 && (!r->axes || (r->axes >> d & 1)))
                        place = place * (int64_t)size[d] + (int64_t)at[d];
                    else own[d] = at[d];
                const int64_t value = x[index_of(&r->x, at)] + (r->has_y ? y[index_of(&r->y, at)] : 0);
                combine(r->op, &all[index_of(&results, own)], value, place);
            }
    return all;
}

static ndr_buffer *fill(ndr_dtype dtype, size_t count, int64_t **values, uint64_t *state)
{
    void *host = calloc(count, 8);
    *values = calloc(count, sizeof **values);
    for (size_t i = 0; i < count; ++i) {
        (*values)[i] = (int64_t)pick(state, 7) - (dtype == NDR_DTYPE_U8 ? 0 : 3);
        put_at(dtype, host, i, (*values)[i]);
    }
    ndr_buffer *b = buffer_of(count * ndr_dtype_size(dtype), host);
    free(host);
    return b;
}

static void check_outputs(const reduction *r, const running *wanted, const void *before, const void *after,
                          size_t count, ndr_range kept)
{
    const bool is_arg = ndr_op_is_arg(r->op);
    unsigned char *model = malloc(count * 8 + 8);
    const ndr_array results = ndr_array_of(NULL, NDR_DTYPE_I64, kept);
    const size_t bytes = ndr_dtype_size(r->output_dtype);
    size_t at[3];
    memcpy(model, before, count * bytes);
    for (at[0] = 0; at[0] < kept.size[0]; ++at[0])
        for (at[1] = 0; at[1] < (kept.dims > 1 ? kept.size[1] : 1); ++at[1])
            for (at[2] = 0; at[2] < (kept.dims > 2 ? kept.size[2] : 1); ++at[2]) {
                running w = wanted[index_of(&results, at)];
                if (!w.is_any) w.value = w.result = identity_of(r);
                if (r->is_combined) combine(r->op, &w, 3, 0); /* what the output holds */
                put_at(r->output_dtype, model, index_of(&r->output, at), is_arg ? w.result : w.value);
            }
    for (size_t i = 0; i < count; ++i)
        if (bits_at(r->output_dtype, model, i) != bits_at(r->output_dtype, after, i))
            fail_msg("element %zu of the output is 0x%" PRIx64 ", not 0x%" PRIx64 ": %s", i,
                     bits_at(r->output_dtype, after, i), bits_at(r->output_dtype, model, i), describe(r));
    free(model);
}

static void check(reduction *r, size_t x_count, size_t y_count, uint64_t *state)
{
    int64_t *xs, *ys;
    ndr_range kept = r->x.shape;
    for (unsigned d = 0; d < kept.dims; ++d)
        if (!r->axes || (r->axes >> d & 1)) kept.size[d] = 1;
    const size_t results = ndr_sizes_product(kept.dims, kept.size);
    size_t count = results + 3;
    r->output = ndr_array_of(NULL, r->output_dtype, kept);
    r->output.offset = 2;
    if (!r->is_packed) count = place_array(&r->output, r->output_dtype, kept, false, state);
    r->x.buffer = fill(r->dtype, x_count, &xs, state);
    r->y.buffer = fill(r->dtype, y_count, &ys, state);
    for (unsigned d = kept.dims; d < 3; ++d) r->x.shape.size[d] = r->y.shape.size[d] = 1;
    void *before = calloc(count, 8), *after = calloc(count, 8);
    for (size_t i = 0; i < count; ++i) put_at(r->output_dtype, before, i, 3);
    ndr_buffer *out = buffer_of(count * ndr_dtype_size(r->output_dtype), before);
    r->output.buffer = out;
    const ndr_map_array inputs[] = { { "x", r->x }, { "y", r->y } };
    ndr_map_reduce_desc desc = { .dtype = r->sum_dtype,
                                 .op = r->op,
                                 .expression = r->has_y ? "x + y" : "x",
                                 .inputs = inputs,
                                 .input_count = r->has_y ? 2 : 1,
                                 .axes = r->axes,
                                 .is_combined = r->is_combined,
                                 .output = r->output };
    if (r->is_packed) desc.output.shape.dims = 0;
    running *wanted = expect(r, xs, ys, kept);
    const ndr_status status = ndr_map_reduce(queue, &desc, NULL);
    if (status) fail_msg("%s: %s", ndr_last_error(), describe(r));
    read_buffer(out, after, count * ndr_dtype_size(r->output_dtype));
    check_outputs(r, wanted, before, after, count, kept);
    ndr_buffer_destroy(out), ndr_buffer_destroy(r->x.buffer), ndr_buffer_destroy(r->y.buffer);
    free(before), free(after), free(wanted), free(xs), free(ys);
}

static void choose_types(reduction *r, uint64_t *state)
{
    static const ndr_op ops[] = { NDR_OP_SUM, NDR_OP_MIN, NDR_OP_MAX, NDR_OP_SUM, NDR_OP_ARG_MIN, NDR_OP_ARG_MAX };
    r->dtype = types[pick(state, COUNT_OF(types))];
    r->op = ops[pick(state, COUNT_OF(ops))];
    const bool is_narrow = ndr_dtype_is_narrow(r->dtype);
    r->sum_dtype = is_narrow ? NDR_DTYPE_F32 : r->dtype == NDR_DTYPE_U8 ? NDR_DTYPE_I32 : r->dtype;
    r->output_dtype = ndr_op_is_arg(r->op)                                   ? NDR_DTYPE_I64
                      : r->op != NDR_OP_SUM || (is_narrow && pick(state, 2)) ? r->dtype /* sums are rounded */
                                                                             : r->sum_dtype;
    r->is_combined = !ndr_op_is_arg(r->op) && pick(state, 3) == 0;
    r->is_packed = pick(state, 2);
}

static void check_generated(uint64_t *state)
{
    const size_t limit = quick() ? 300 : 150000;
    reduction r = { .has_y = pick(state, 3) == 0 };
    ndr_range shape = { .dims = 1 + (unsigned)pick(state, 3), .size = { 1, 1, 1 } };
    choose_types(&r, state);
    for (unsigned d = 0; d < shape.dims; ++d) {
        static const size_t sizes[] = { 1, 2, 3, 7, 16, 37, 63, 64, 65, 257, 1031, 4097, 70001 };
        do shape.size[d] = sizes[pick(state, COUNT_OF(sizes))];
        while (ndr_sizes_product(shape.dims, shape.size) > limit);
    }
    r.axes = (unsigned)pick(state, 1u << shape.dims);
    const size_t x_count = place_array(&r.x, r.dtype, shape, false, state);
    const size_t y_count = place_array(&r.y, r.dtype, shape, true, state);
    check(&r, x_count, y_count, state);
}

static void test_map_reduce_axes__of_generated_arrays(void **unused)
{
    for (unsigned i = 0; i < (quick() ? 8 : 60); ++i) {
        uint64_t state = seed + i;
        if (quick() || is_today(i, 7)) check_generated(&state);
    }
}

/* Of i32 sums of packed matrices, one kernel for each axis: around every tile, and of up to 64 parts. */
static void test_map_reduce_axes__of_matrices_of_many_sizes(void **unused)
{
    static const size_t shapes[][2] = {
        { 1, 1 },      { 0, 5 },     { 5, 0 },     { 2, 63 },    { 63, 2 },     { 65, 64 },    { 64, 65 },
        { 3, 1023 },   { 3, 1024 },  { 3, 1025 },  { 1025, 3 },  { 40000, 3 },  { 3, 40001 },  { 7, 16385 },
        { 16385, 7 },  { 300, 257 }, { 33, 2049 }, { 2049, 33 }, { 70001, 1 },  { 1, 70001 },  { 20000, 37 },
        { 37, 20001 }, { 4096, 16 }, { 16, 4097 }, { 700, 700 }, { 530, 1031 }, { 70000, 67 },
    };
    uint64_t state = seed;
    for (size_t i = 0; i < (quick() ? 9 : COUNT_OF(shapes)); ++i)
        for (unsigned axes = 0; axes < 4; ++axes) {
            reduction r = { .dtype = NDR_DTYPE_I32,
                            .sum_dtype = NDR_DTYPE_I32,
                            .output_dtype = NDR_DTYPE_I32,
                            .op = NDR_OP_SUM,
                            .is_packed = true,
                            .axes = axes };
            r.x = r.y = ndr_array_of(NULL, NDR_DTYPE_I32, ndr_range_2d(shapes[i][0], shapes[i][1]));
            check(&r, shapes[i][0] * shapes[i][1] + 1, 1, &state);
        }
}

/* ---- segments ---- */

static void check_segments(size_t count, size_t segments, size_t longest, ndr_op op, uint64_t *state)
{
    float *xs = calloc(count + 1, sizeof *xs), *got = calloc(segments + 1, sizeof *got);
    uint64_t *offsets = calloc(segments + 2, sizeof *offsets);
    for (size_t i = 0; i < count; ++i) xs[i] = (float)((int)pick(state, 9) - 4);
    xs[count] = 1000; /* past the shape */
    offsets[1] = pick(state, 4);
    for (size_t s = 1; s <= segments; ++s) offsets[1 + s] = offsets[s] + pick(state, longest + 1);
    if (segments > 5) offsets[3] = 0; /* decreases: an empty segment */
    ndr_buffer *x = buffer_of((count + 1) * sizeof *xs, xs), *o = buffer_of((segments + 2) * sizeof *offsets, offsets);
    const ndr_map_array input = { "x", ndr_array_of(x, NDR_DTYPE_F32, ndr_range_1d(count)) };
    const ndr_map_reduce_desc desc = { .dtype = NDR_DTYPE_F32,
                                       .op = op,
                                       .expression = "x",
                                       .inputs = &input,
                                       .input_count = 1,
                                       .offsets = { o, 1 },
                                       .segments = segments,
                                       .host = got };
    assert_ok(ndr_map_reduce(queue, &desc, NULL));
    for (size_t s = 0; s < segments; ++s) {
        float wanted = op == NDR_OP_SUM ? 0 : -INFINITY;
        for (uint64_t i = offsets[1 + s]; i < offsets[2 + s] && i < count; ++i)
            wanted = op == NDR_OP_SUM ? wanted + xs[i] : fmaxf(wanted, xs[i]);
        if (got[s] != wanted)
            fail_msg("segment %zu of %zu over %zu is %g, not %g; NDR_TEST_SEED=%" PRIu64, s, segments, count,
                     (double)got[s], (double)wanted, seed);
    }
    ndr_buffer_destroy(x), ndr_buffer_destroy(o);
    free(xs), free(got), free(offsets);
}

static void test_map_reduce_axes__are_segments_by_offsets(void **unused)
{
    static const size_t cases[][3] = { { 1000, 30, 40 },     { 0, 3, 9 },        { 100, 0, 0 },       { 100, 100, 3 },
                                       { 100000, 2, 60000 }, { 50000, 9000, 9 }, { 30000, 40, 1500 }, { 9, 1, 9 } };
    uint64_t state = seed;
    for (size_t i = 0; i < (quick() ? 4 : COUNT_OF(cases)); ++i) {
        check_segments(cases[i][0], cases[i][1], cases[i][2], NDR_OP_SUM, &state);
        check_segments(cases[i][0], cases[i][1], cases[i][2], NDR_OP_MAX, &state);
    }
}

/* One segment has nearly all elements: more for each of its items than the fault loops_end_early leaves. */
static void test_map_reduce_axes__have_a_long_segment_among_short_ones(void **unused)
{
    enum { COUNT = 1600000, SEGMENTS = 100000, LONG = 1000 };
    const size_t count = quick() ? 5000 : COUNT, segments = quick() ? 2000 : SEGMENTS;
    float *got = calloc(segments, sizeof *got);
    uint64_t *offsets = calloc(segments + 1, sizeof *offsets);
    for (size_t s = 0; s <= segments; ++s) offsets[s] = s <= LONG ? s : count - (segments - s);
    ndr_buffer *o = buffer_of((segments + 1) * sizeof *offsets, offsets);
    const ndr_map_reduce_desc desc = { .dtype = NDR_DTYPE_F32, .op = NDR_OP_SUM, .expression = "1",
                                       .shape = ndr_range_1d(count), .offsets = { o, 0 }, .segments = segments,
                                       .host = got };
    assert_ok(ndr_map_reduce(queue, &desc, NULL));
    for (size_t s = 0; s < segments; ++s) {
        const float wanted = (float)(offsets[s + 1] - offsets[s]);
        if (got[s] != wanted) fail_msg("segment %zu is %g, not %g", s, (double)got[s], (double)wanted);
    }
    ndr_buffer_destroy(o);
    free(got), free(offsets);
}

/* ---- several values ---- */

static void test_map_reduce_axes__have_several_values_in_one_pass(void **unused)
{
    skip_without(!is_simulated(), "Oclgrind lacks llvm.experimental.noalias.scope.decl, which structs need there");
    enum { ROWS = 70, COLS = 900 };
    static float xs[ROWS * COLS], low[COLS], mean[COLS];
    static uint64_t first[COLS];
    float strided[2 * COLS];
    uint64_t state = seed;
    for (size_t i = 0; i < ROWS * COLS; ++i) xs[i] = (float)((int)pick(&state, 9) - 4);
    for (size_t i = 0; i < 2 * COLS; ++i) strided[i] = 55;
    ndr_buffer *x = buffer_of(sizeof xs, xs), *to = buffer_of(sizeof strided, strided);
    const ndr_map_array input = { "x", ndr_array_of(x, NDR_DTYPE_F32, ndr_range_2d(ROWS, COLS)) };
    const ndr_map_scalar n = { "n", ndr_arg_of(70.0f) };
    ndr_array second = ndr_array_of(to, NDR_DTYPE_F32, ndr_range_2d(1, COLS));
    second.offset = 1, second.stride[1] = 2;
    const ndr_map_reduce_value values[] = {
        { .name = "low", .dtype = NDR_DTYPE_F32, .op = NDR_OP_MIN, .expression = "x", .host = low },
        { .name = "most", .dtype = NDR_DTYPE_F32, .op = NDR_OP_ARG_MAX, .expression = "x", .host = first },
        { .name = "sum", .dtype = NDR_DTYPE_I64, .op = NDR_OP_SUM, .expression = "(long)x" },
        { .name = "mean",
          .dtype = NDR_DTYPE_F32,
          .op = NDR_OP_SUM,
          .expression = "x",
          .finish = "r.mean / n",
          .host = mean },
        { .name = "squares",
          .dtype = NDR_DTYPE_F32,
          .op = NDR_OP_SUM,
          .expression = "x * x",
          .finish = "r.squares - r.sum + r.most.value",
          .output = second },
    };
    const ndr_map_reduce_desc desc = { .values = values,
                                       .value_count = COUNT_OF(values),
                                       .axes = 1u << 0,
                                       .scalars = &n,
                                       .scalar_count = 1,
                                       .inputs = &input,
                                       .input_count = 1 };
    assert_ok(ndr_map_reduce(queue, &desc, NULL));
    read_buffer(to, strided, sizeof strided);
    for (size_t c = 0; c < COLS; ++c) {
        float smallest = 9, largest = -9, sum = 0, squares = 0;
        uint64_t at = 0;
        for (size_t i = 0; i < ROWS; ++i) {
            const float v = xs[i * COLS + c];
            smallest = fminf(smallest, v), sum += v, squares += v * v;
            if (v > largest) largest = v, at = i;
        }
        assert_true(low[c] == smallest);
        assert_int_equal(first[c], at);
        assert_true(fabsf(mean[c] - sum / 70) <= FLT_EPSILON * fabsf(sum));
        assert_true(strided[2 * c] == 55);
        assert_true(strided[2 * c + 1] == squares - sum + largest);
    }
    ndr_buffer_destroy(x), ndr_buffer_destroy(to);
}

/* ---- floats ---- */

static void reduce_rows(ndr_op op, size_t rows, size_t cols, const float *xs, void *results)
{
    ndr_buffer *x = buffer_of(ndr_max_size(rows * cols, 1) * sizeof *xs, xs);
    const ndr_map_array input = { "x", ndr_array_of(x, NDR_DTYPE_F32, ndr_range_2d(rows, cols)) };
    assert_ok(ndr_map_reduce(queue,
                             &(const ndr_map_reduce_desc){ .dtype = NDR_DTYPE_F32,
                                                           .op = op,
                                                           .expression = "x",
                                                           .inputs = &input,
                                                           .input_count = 1,
                                                           .axes = 1u << 1,
                                                           .host = results },
                             NULL));
    ndr_buffer_destroy(x);
}

static void test_map_reduce_axes__find_the_first_index_and_leave_nan_out(void **unused)
{
    const float xs[5][4] = { { NAN, 2, -1, -1 },
                             { NAN, NAN, NAN, NAN },
                             { 0.0f, -0.0f, 5, 5 },
                             { INFINITY, INFINITY, NAN, INFINITY },
                             { -INFINITY, NAN, -INFINITY, 1 } };
    const uint64_t least[5] = { 2, 0, 0, 0, 0 }, most[5] = { 1, 0, 2, 0, 3 };
    uint64_t got[5];
    float value[5];
    reduce_rows(NDR_OP_ARG_MIN, 5, 4, &xs[0][0], got);
    assert_memory_equal(got, least, sizeof got);
    reduce_rows(NDR_OP_ARG_MAX, 5, 4, &xs[0][0], got);
    assert_memory_equal(got, most, sizeof got);
    reduce_rows(NDR_OP_ARG_MAX, 3, 0, &xs[0][0], got);
    for (int i = 0; i < 3; ++i) assert_true(got[i] == UINT64_MAX);
    reduce_rows(NDR_OP_MIN, 5, 4, &xs[0][0], value);
    assert_true(value[0] == -1 && isnan(value[1]) && value[2] == 0 && isinf(value[3]) && value[4] == -INFINITY);
    reduce_rows(NDR_OP_MIN, 3, 0, &xs[0][0], value);
    assert_true(value[0] == INFINITY && value[2] == INFINITY);
}

/* The bound of docs/numerics.md, along each dimension, and the same bits again. */
static void test_map_reduce_axes__sums_keep_the_bound_and_their_bits(void **unused)
{
    const size_t rows = quick() ? 40 : 700, cols = quick() ? 30 : 300, most = rows > cols ? rows : cols;
    float *xs = calloc(rows * cols, sizeof *xs), *got = calloc(most, sizeof *got), *again = calloc(most, sizeof *got);
    uint64_t state = seed;
    for (size_t i = 0; i < rows * cols; ++i) xs[i] = random_number(NDR_DTYPE_F32, &state).f32;
    ndr_buffer *x = buffer_of(rows * cols * sizeof *xs, xs);
    const ndr_map_array input = { "x", ndr_array_of(x, NDR_DTYPE_F32, ndr_range_2d(rows, cols)) };
    for (unsigned axis = 0; axis < 2; ++axis) {
        const size_t kept = axis ? rows : cols, count = axis ? cols : rows;
        ndr_map_reduce_desc desc = { .dtype = NDR_DTYPE_F32,
                                     .op = NDR_OP_SUM,
                                     .expression = "x",
                                     .inputs = &input,
                                     .input_count = 1,
                                     .axes = 1u << axis,
                                     .host = got };
        assert_ok(ndr_map_reduce(queue, &desc, NULL));
        desc.host = again;
        assert_ok(ndr_map_reduce(queue, &desc, NULL));
        assert_memory_equal(got, again, kept * sizeof *got);
        for (size_t k = 0; k < kept; ++k) {
            double sum = 0, magnitudes = 0;
            for (size_t i = 0; i < count; ++i) {
                const double v = xs[axis ? k * cols + i : i * cols + k];
                sum += v, magnitudes += fabs(v);
            }
            assert_true(fabs(got[k] - sum) <= (ceil(log2((double)count)) + 256) * (double)FLT_EPSILON * magnitudes);
        }
    }
    ndr_buffer_destroy(x);
    free(xs), free(got), free(again);
}

/* Sums that lose what they add, were they one chain, or not in f64. */
static void test_map_reduce_axes__accumulate_in_the_wider_type(void **unused)
{
    skip_without(device.has_f64, "the device has no f64");
    enum { N = 3000 };
    float xs[N], got = 0;
    for (int i = 0; i < N; ++i) xs[i] = i % 2 ? 1.0f : i % 4 ? 1e10f : -1e10f;
    ndr_buffer *x = buffer_of(sizeof xs, xs);
    const ndr_map_array input = { "x", ndr_array_of(x, NDR_DTYPE_F32, ndr_range_1d(N)) };
    assert_ok(ndr_map_reduce(queue,
                             &(const ndr_map_reduce_desc){ .dtype = NDR_DTYPE_F64,
                                                           .op = NDR_OP_SUM,
                                                           .expression = "x",
                                                           .inputs = &input,
                                                           .input_count = 1,
                                                           .output.dtype = NDR_DTYPE_F32,
                                                           .host = &got },
                             NULL));
    assert_true(got == N / 2);
    ndr_buffer_destroy(x);
}

/* Each expression may use the index of the call, whatever the axes are joined to. */
static void test_map_reduce_axes__know_the_indexes_of_the_call(void **unused)
{
    const ndr_range shape = ndr_range_3d(3, 5, 7);
    for (unsigned axes = 0; axes < 8; ++axes) {
        int64_t got[105] = { 0 }, wanted[105] = { 0 };
        size_t kept[3], strides[3], size = 1;
        for (unsigned d = 3; d-- > 0;) {
            kept[d] = !axes || (axes >> d & 1) ? 1 : shape.size[d];
            strides[d] = size, size *= kept[d];
        }
        for (size_t a = 0; a < 3; ++a)
            for (size_t b = 0; b < 5; ++b)
                for (size_t c = 0; c < 7; ++c)
                    wanted[a % kept[0] * strides[0] + b % kept[1] * strides[1] + c % kept[2] * strides[2]] +=
                        (int64_t)(1000000 * a + 10000 * b + 100 * c + (a * 5 + b) * 7 + c);
        assert_ok(ndr_map_reduce(queue,
                                 &(const ndr_map_reduce_desc){ .dtype = NDR_DTYPE_I64,
                                                               .op = NDR_OP_SUM,
                                                               .expression = "1000000 * i0 + 10000 * i1 + 100 * i2 + i",
                                                               .shape = shape,
                                                               .axes = axes,
                                                               .host = got },
                                 NULL));
        assert_memory_equal(got, wanted, sizeof got);
    }
}

/* ---- refusals ---- */

#define REFUSED(status, desc, ...) assert_refused((status), ndr_map_reduce(queue, (desc), NULL), __VA_ARGS__)
#define DESC(...)                  \
    (&(const ndr_map_reduce_desc){ \
        .dtype = NDR_DTYPE_F32, .op = NDR_OP_SUM, .expression = "x", .inputs = &x, .input_count = 1, __VA_ARGS__ })
#define SEGMENTS(...)              \
    (&(const ndr_map_reduce_desc){ \
        .dtype = NDR_DTYPE_F32, .op = NDR_OP_SUM, .expression = "1", .shape = ndr_range_1d(9), __VA_ARGS__ })
#define SEVERAL(count, ...)                                                                 \
    (&(const ndr_map_reduce_desc){ .values = (const ndr_map_reduce_value[]){ __VA_ARGS__ }, \
                                   .value_count = (count),                                  \
                                   .inputs = &x,                                            \
                                   .input_count = 1 })
#define VALUE(name_, to)                                                                                    \
    {                                                                                                       \
        .name = (name_), .dtype = NDR_DTYPE_F32, .op = NDR_OP_SUM, .expression = "x", .output.buffer = (to) \
    }

static void test_map_reduce_axes__refuses_what_does_not_fit(void **unused)
{
    float got[9] = { 0 };
    uint64_t offsets[9] = { 0 };
    ndr_buffer *from = buffer_of(24 * sizeof(float), NULL), *to = buffer_of(24 * sizeof(float), NULL),
               *at = buffer_of(sizeof offsets, offsets);
    const ndr_map_array x = { "x", ndr_array_of(from, NDR_DTYPE_F32, ndr_range_2d(4, 6)) };
    ndr_array wrong = ndr_array_of(to, NDR_DTYPE_F32, ndr_range_2d(4, 6)), flat = wrong, gaps = wrong;
    flat.shape.size[0] = 1, flat.stride[1] = 0;
    gaps.shape.size[0] = 1, gaps.stride[1] = 2;
    REFUSED(NDR_BAD_ARGUMENT, DESC(.axes = 4, .host = got), "axes is 0x4", "2 dimensions", "bits 0 to 1");
    REFUSED(NDR_BAD_ARGUMENT, DESC(.axes = 1, .output = wrong), "output has shape (4, 6)", "results have (1, 6)");
    REFUSED(NDR_BAD_ARGUMENT, DESC(.axes = 1, .output = flat), "several indexes for one element");
    REFUSED(NDR_BAD_ARGUMENT, DESC(.axes = 1, .output = gaps, .host = got), "has strides", "host is set");
    REFUSED(NDR_OUT_OF_BOUNDS, DESC(.axes = 1, .output = { .buffer = to, .offset = 19 }), "output is 6 elements");
    REFUSED(NDR_BAD_ARGUMENT, DESC(.axes = 1, .output = { .buffer = from }), "\"output\"", "overlaps \"x\"");
    REFUSED(NDR_BAD_ARGUMENT, DESC(.offsets = { at, 0 }, .segments = 3, .host = got), "shape of 2 dimensions");
    REFUSED(NDR_BAD_ARGUMENT, SEGMENTS(.segments = 3, .host = got), "offsets has no buffer");
    REFUSED(NDR_OUT_OF_BOUNDS, SEGMENTS(.offsets = { at, 0 }, .segments = 9, .host = got), "offsets is 10 elements");
    REFUSED(NDR_BAD_ARGUMENT, SEGMENTS(.offsets = { at, 0 }, .segments = 3, .output = { .buffer = at, .offset = 1 }),
            "output overlaps the offsets");
    REFUSED(NDR_BAD_ARGUMENT, DESC(.is_combined = true, .finish = "r", .output = { .buffer = to }), "is_combined",
            "finish is");
    REFUSED(NDR_BAD_ARGUMENT, DESC(.is_combined = true, .host = got), "is_combined", "no buffer");
    REFUSED(NDR_BAD_ARGUMENT, DESC(.values = &(const ndr_map_reduce_value)VALUE("a", to), .value_count = 1),
            "values are set", "dtype");
    REFUSED(NDR_LIMIT_EXCEEDED, SEVERAL(9, VALUE("a", to)), "value_count is 9", "1 to 8");
    REFUSED(NDR_BAD_ARGUMENT, SEVERAL(2, VALUE("a", to), VALUE("2b", NULL)), "values[1] is called \"2b\"");
    REFUSED(NDR_BAD_ARGUMENT, SEVERAL(2, VALUE("a", to), VALUE("a", to)), "values[0] and values[1] are called \"a\"");
    REFUSED(NDR_BAD_ARGUMENT, SEVERAL(2, VALUE("a", to), { .name = "b", .op = NDR_OP_SUM, .expression = "x" }),
            "values[1].dtype is not set");
    REFUSED(NDR_BAD_ARGUMENT, SEVERAL(2, VALUE("a", to), { .name = "b", .dtype = NDR_DTYPE_F32, .op = NDR_OP_SUM }),
            "values[1].expression is not set");
    REFUSED(NDR_BAD_ARGUMENT, SEVERAL(2, VALUE("a", to), VALUE("b", to)),
            "values[0].output and values[1].output overlap");
    ndr_buffer_destroy(from), ndr_buffer_destroy(to), ndr_buffer_destroy(at);
}

/* ---- every row ---- */

static bool is_chosen(const ndr_op_variant *variant)
{
    return is_variant(variant, takes_vectors() ? "chunks" : "groups");
}

#define RESULTS                                                                         \
    cmocka_unit_test(test_map_reduce_axes__of_generated_arrays),                        \
        cmocka_unit_test(test_map_reduce_axes__of_matrices_of_many_sizes),              \
        cmocka_unit_test(test_map_reduce_axes__are_segments_by_offsets),                \
        cmocka_unit_test(test_map_reduce_axes__have_a_long_segment_among_short_ones),   \
        cmocka_unit_test(test_map_reduce_axes__have_several_values_in_one_pass),        \
        cmocka_unit_test(test_map_reduce_axes__find_the_first_index_and_leave_nan_out), \
        cmocka_unit_test(test_map_reduce_axes__sums_keep_the_bound_and_their_bits),     \
        cmocka_unit_test(test_map_reduce_axes__accumulate_in_the_wider_type),           \
        cmocka_unit_test(test_map_reduce_axes__know_the_indexes_of_the_call)

int main(void)
{
    static const struct CMUnitTest all[] = { RESULTS,
                                             cmocka_unit_test(test_map_reduce_axes__refuses_what_does_not_fit) };
    static const struct CMUnitTest results[] = { RESULTS };
    const variant_tests tests = { all, results, COUNT_OF(all), COUNT_OF(results), is_chosen };
    seed = number_from_env("NDR_TEST_SEED", 20261124);
    print_message("NDR_TEST_SEED=%" PRIu64 "\n", seed);
    return run_variants(&ndr_map_reduce_operation, &tests);
}
