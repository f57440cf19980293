/* test_move.c - ndr_array_copy(), ndr_gather() and ndr_scatter(): arrays of any shape, strides and indexes against plain
 * loops, and what they refuse. */
#include "support.h"

#include "forcing.h"
#include "ndr/ndr_ops.h"
#include "ops/move/move.h"
#include "reference.h"
#include "refusals.h"
#include "strides.h"

#include <inttypes.h>

/* NDR_TEST_SEED repeats a run; a failure prints it. */
static uint64_t seed;

static const ndr_dtype dtypes[] = { NDR_DTYPE_I8,  NDR_DTYPE_U16, NDR_DTYPE_I32, NDR_DTYPE_F32,
                                    NDR_DTYPE_U64, NDR_DTYPE_F64, NDR_DTYPE_BF16 };

static unsigned char *random_bytes(size_t count, uint64_t *random)
{
    unsigned char *bytes = malloc(count + 1);
    for (size_t i = 0; i < count; ++i) bytes[i] = (unsigned char)random_bits(random);
    return bytes;
}

static void assert_same_bytes(const unsigned char *got, const unsigned char *wanted, size_t bytes, const char *what)
{
    for (size_t i = 0; i < bytes; ++i)
        if (got[i] != wanted[i])
            fail_msg("NDR_TEST_SEED=%" PRIu64 ": %s: byte %zu of %zu is %u, not %u", seed, what, i, bytes, got[i],
                     wanted[i]);
}

/* ---- copies ---- */

static void copy_plainly(const ndr_array *input, const ndr_array *output, const unsigned char *from, unsigned char *to)
{
    const size_t bytes = ndr_dtype_size(input->dtype);
    size_t size[3] = { 1, 1, 1 }, at[3];
    for (unsigned d = 0; d < input->shape.dims; ++d) size[d] = input->shape.size[d];
    for (at[0] = 0; at[0] < size[0]; ++at[0])
        for (at[1] = 0; at[1] < size[1]; ++at[1])
            for (at[2] = 0; at[2] < size[2]; ++at[2])
                memcpy(to + index_of(output, at) * bytes, from + index_of(input, at) * bytes, bytes);
}

/* Copy random bytes and compare the whole output, with what lies around it and between its elements. */
static void check_copy(ndr_array input, ndr_array output, uint64_t *random)
{
    char what[200];
    const size_t bytes = ndr_dtype_size(input.dtype);
    const size_t in_bytes = place(&input, random_below(random, 9)) * bytes;
    const size_t out_bytes = place(&output, random_below(random, 9)) * bytes;
    unsigned char *from = random_bytes(in_bytes, random), *wanted = random_bytes(out_bytes, random);
    unsigned char *got = malloc(out_bytes);
    input.buffer = buffer_of(in_bytes, from);
    output.buffer = buffer_of(out_bytes, wanted);
    assert_ok(ndr_array_copy(queue, &(ndr_array_copy_desc){ .input = input, .output = output }, NULL));
    read_buffer(output.buffer, got, out_bytes);
    copy_plainly(&input, &output, from, wanted);
    snprintf(what, sizeof what,
             "%s, %u dimensions of %zu, %zu, %zu, strides (%" PRId64 ", %" PRId64 ", %" PRId64 ") to (%" PRId64
             ", %" PRId64 ", %" PRId64 ")",
             ndr_dtype_name(input.dtype), input.shape.dims, input.shape.size[0], input.shape.size[1],
             input.shape.size[2], input.stride[0], input.stride[1], input.stride[2], output.stride[0], output.stride[1],
             output.stride[2]);
    assert_same_bytes(got, wanted, out_bytes, what);
    free(from), free(wanted), free(got);
    destroy_buffers(input.buffer, output.buffer);
}

static void check_random_copies(unsigned turns, size_t most)
{
    static const size_t hard[] = { 1, 2, 31, 32, 33, 63, 64, 65, 97 };
    uint64_t random = seed;
    for (unsigned turn = 0; turn < turns; ++turn) {
        const unsigned dims = 1 + (unsigned)random_below(&random, 3);
        const ndr_dtype dtype = dtypes[random_below(&random, COUNT_OF(dtypes))];
        size_t size[3], left = most;
        for (unsigned d = 0; d < 3; ++d) {
            size[d] = random_bits(&random) % 2 ? hard[random_below(&random, COUNT_OF(hard))]
                                               : random_below(&random, dims == 1 ? most : 200);
            size[d] = size[d] <= left ? size[d] : left;
            left /= size[d] ? size[d] : 1;
        }
        ndr_array input = ndr_array_of(NULL, dtype, shape_of(dims, size)), output = input;
        make_strides(&input, true, &random);
        make_strides(&output, false, &random);
        check_copy(input, output, &random);
    }
}

static void test_move__copies_arrays_of_any_shape_and_strides(void **state)
{
    check_random_copies(quick() ? 12 : forced_variant ? 40 : 150, quick() ? 1000 : 200000);
}

/* Sizes around a tile and a block in both dimensions, each element size. */
static void test_move__transposes_any_size(void **state)
{
    static const size_t sizes[][2] = { { 1, 1 },   { 1, 97 },    { 97, 1 },    { 31, 33 },   { 32, 32 },
                                       { 33, 31 }, { 64, 1025 }, { 1024, 64 }, { 4097, 37 }, { 37, 4097 } };
    uint64_t random = seed;
    for (size_t i = 0; i < (quick() ? 6 : COUNT_OF(sizes)); ++i)
        for (size_t t = 0; t < COUNT_OF(dtypes); t += quick() ? 4 : 1) {
            ndr_array input = ndr_array_of(NULL, dtypes[t], ndr_range_2d(sizes[i][0], sizes[i][1])), output = input;
            output.stride[0] = 1, output.stride[1] = (int64_t)sizes[i][0];
            check_copy(input, output, &random);
            check_copy(output, input, &random);
        }
}

/* The cube of planes, rows and columns in each order of the other's dimensions. */
static void test_move__permutes_three_dimensions(void **state)
{
    static const unsigned orders[][3] = {
        { 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 }, { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 }
    };
    uint64_t random = seed;
    for (size_t o = 0; o < COUNT_OF(orders); ++o) {
        ndr_array input = ndr_array_of(NULL, NDR_DTYPE_I32, ndr_range_3d(5, quick() ? 7 : 40, 35)), output = input;
        int64_t stride = 1;
        for (unsigned k = 3; k-- > 0; stride *= (int64_t)input.shape.size[orders[o][k]])
            output.stride[orders[o][k]] = stride;
        check_copy(input, output, &random);
    }
}

static void assert_dimensions(const ndr_copy_request *r, size_t planes, size_t rows, size_t cols, bool transposes)
{
    assert_int_equal(r->size[0], planes);
    assert_int_equal(r->size[1], rows);
    assert_int_equal(r->size[2], cols);
    assert_int_equal(r->transposes, transposes);
}

/* Neighbours of the output are along dimension 2, of the input along 1 or 2, and steps that are alike are one. */
static void test_move__orders_and_merges_dimensions(void **state)
{
    const ndr_array packed = ndr_array_of(NULL, NDR_DTYPE_I32, ndr_range_3d(3, 4, 5));
    ndr_array output = packed;
    ndr_copy_request r = ndr_copy_request_of(&packed, &output);
    assert_dimensions(&r, 1, 1, 60, false);
    output.stride[0] = 1, output.stride[1] = 15, output.stride[2] = 3; /* in memory: rows, columns, planes */
    r = ndr_copy_request_of(&packed, &output);
    assert_dimensions(&r, 1, 20, 3, true);
    output.stride[0] = 1, output.stride[1] = 3, output.stride[2] = 12; /* columns, rows, planes */
    r = ndr_copy_request_of(&packed, &output);
    assert_dimensions(&r, 4, 5, 3, true);
    assert_int_equal(r.from[1], 1);
    output = packed, output.stride[0] = 40; /* every second plane */
    r = ndr_copy_request_of(&packed, &output);
    assert_dimensions(&r, 1, 3, 20, false);
}

static void test_move__runs_nothing_without_elements(void **state)
{
    const ndr_array none = ndr_array_of(NULL, NDR_DTYPE_F32, ndr_range_2d(3, 0));
    ndr_event *events[3];
    assert_ok(ndr_array_copy(queue, &(ndr_array_copy_desc){ .input = none, .output = none }, &events[0]));
    assert_ok(
        ndr_gather(queue, &(ndr_gather_desc){ .dtype = NDR_DTYPE_F32, .index_dtype = NDR_DTYPE_U32 }, &events[1]));
    assert_ok(
        ndr_scatter(queue, &(ndr_scatter_desc){ .dtype = NDR_DTYPE_F32, .index_dtype = NDR_DTYPE_U32 }, &events[2]));
    for (size_t i = 0; i < COUNT_OF(events); ++i) {
        assert_ok(ndr_event_wait(events[i]));
        ndr_event_destroy(events[i]);
    }
}

/* ---- gathers and scatters ---- */

static const ndr_dtype index_dtypes[] = { NDR_DTYPE_I32, NDR_DTYPE_U32, NDR_DTYPE_I64, NDR_DTYPE_U64 };

/* An index of [0, table), or, now and then, one that is too high or negative. UINT64_MAX: none of the table. */
static uint64_t put_index(unsigned char *indexes, size_t i, ndr_dtype dtype, size_t table, uint64_t *random)
{
    static const uint64_t outside[] = { UINT64_MAX, UINT64_C(0x80000000), UINT64_C(0x8000000000000000), 0 };
    const bool is_outside = table == 0 || random_bits(random) % 8 == 0;
    uint64_t index = is_outside ? outside[random_below(random, COUNT_OF(outside))] : random_bits(random) % table;
    if (is_outside && index == 0) index = table;
    const size_t bytes = ndr_dtype_size(dtype);
    memcpy(indexes + i * bytes, &index, bytes);
    if (bytes == 4) index = (uint32_t)index;
    return index < table ? index : UINT64_MAX;
}

typedef struct moving {
    ndr_dtype dtype, index_dtype;
    size_t table, count;
} moving;

/* Gather, or scatter with distinct indexes: an index that came before is made one that is none of the table. */
static void check_moving(const moving *m, bool is_scatter, uint64_t *random)
{
    enum { GUARDS = 3 };
    char what[100];
    const size_t bytes = ndr_dtype_size(m->dtype), index_bytes = ndr_dtype_size(m->index_dtype);
    const size_t from = random_below(random, 5), by = random_below(random, 5), to = random_below(random, 5);
    const size_t in_count = is_scatter ? m->count : m->table, out_count = is_scatter ? m->table : m->count;
    const size_t in_bytes = (from + in_count + GUARDS) * bytes, out_bytes = (to + out_count + GUARDS) * bytes;
    unsigned char *in = random_bytes(in_bytes, random), *wanted = random_bytes(out_bytes, random);
    unsigned char *indexes = calloc(by + m->count + GUARDS, index_bytes), *got = malloc(out_bytes);
    bool *is_taken = calloc(m->table + 1, sizeof *is_taken);
    ndr_buffer *input = buffer_of(in_bytes, in), *output = buffer_of(out_bytes, wanted);
    for (size_t i = 0; i < m->count; ++i) {
        uint64_t index = put_index(indexes, by + i, m->index_dtype, m->table, random);
        if (is_scatter && index != UINT64_MAX && is_taken[index]) {
            memset(indexes + (by + i) * index_bytes, 0xff, index_bytes);
            index = UINT64_MAX;
        }
        if (index != UINT64_MAX) is_taken[index] = true;
        if (!is_scatter && index == UINT64_MAX) memset(wanted + (to + i) * bytes, 0, bytes);
        else if (!is_scatter) memcpy(wanted + (to + i) * bytes, in + (from + index) * bytes, bytes);
        else if (index != UINT64_MAX) memcpy(wanted + (to + index) * bytes, in + (from + i) * bytes, bytes);
    }
    ndr_buffer *list = buffer_of((by + m->count + GUARDS) * index_bytes, indexes);
    if (is_scatter)
        assert_ok(ndr_scatter(queue,
                              &(ndr_scatter_desc){ .dtype = m->dtype,
                                                   .index_dtype = m->index_dtype,
                                                   .input = { input, from },
                                                   .indexes = { list, by },
                                                   .count = m->count,
                                                   .output_count = m->table,
                                                   .output = { output, to } },
                              NULL));
    else
        assert_ok(ndr_gather(queue,
                             &(ndr_gather_desc){ .dtype = m->dtype,
                                                 .index_dtype = m->index_dtype,
                                                 .input = { input, from },
                                                 .indexes = { list, by },
                                                 .input_count = m->table,
                                                 .count = m->count,
                                                 .output = { output, to } },
                             NULL));
    read_buffer(output, got, out_bytes);
    snprintf(what, sizeof what, "%s of %zu %s by %zu %s", is_scatter ? "scatter" : "gather", m->table,
             ndr_dtype_name(m->dtype), m->count, ndr_dtype_name(m->index_dtype));
    assert_same_bytes(got, wanted, out_bytes, what);
    free(in), free(wanted), free(indexes), free(got), free(is_taken);
    ndr_buffer_destroy(input), ndr_buffer_destroy(output), ndr_buffer_destroy(list);
}

static void check_movings(bool is_scatter)
{
    static const size_t sizes[] = { 0, 1, 2, 97, 4095, 4096, 4097, 8193, 65537 };
    uint64_t random = seed;
    for (size_t i = 0; i < (quick() ? 4 : COUNT_OF(sizes)); ++i)
        for (size_t k = 0; k < (quick() ? 1u : 4u); ++k) {
            const moving m = { dtypes[random_below(&random, COUNT_OF(dtypes))], index_dtypes[k],
                               random_bits(&random) % 2 ? sizes[i] : random_below(&random, 5000), sizes[i] };
            check_moving(&m, is_scatter, &random);
        }
}

static void test_move__gathers_by_any_index(void **state)
{
    check_movings(false);
}

static void test_move__scatters_to_any_index(void **state)
{
    check_movings(true);
}

/* ---- refusals ---- */

static void test_move__refuses_arrays_that_do_not_fit(void **state)
{
    ndr_buffer *buffer = buffer_of(1000 * sizeof(float), NULL);
    const ndr_array rows = ndr_array_of(buffer, NDR_DTYPE_F32, ndr_range_2d(10, 20));
    ndr_array_copy_desc desc = { .input = rows, .output = rows };
    desc.output.offset = 199;
    assert_refused(NDR_BAD_ARGUMENT, ndr_array_copy(queue, &desc, NULL), "\"output\", bytes 796 to 1595",
                   "overlaps \"input\", bytes 0 to 799");
    desc.output.offset = 200;
    assert_ok(ndr_array_copy(queue, &desc, NULL));
    desc.output.dtype = NDR_DTYPE_I32;
    assert_refused(NDR_BAD_ARGUMENT, ndr_array_copy(queue, &desc, NULL), "input is f32 and output is i32", "ndr_map()");
    desc.output.dtype = NDR_DTYPE_F32;
    desc.output.shape = ndr_range_2d(20, 10);
    assert_refused(NDR_BAD_ARGUMENT, ndr_array_copy(queue, &desc, NULL), "input has shape (10, 20)",
                   "output has shape (20, 10)");
    desc.output.shape = rows.shape;
    desc.output.stride[1] = 0;
    assert_refused(NDR_BAD_ARGUMENT, ndr_array_copy(queue, &desc, NULL), "output \"output\"",
                   "several indexes for one element");
    desc.output = rows, desc.output.offset = 801;
    assert_refused(NDR_OUT_OF_BOUNDS, ndr_array_copy(queue, &desc, NULL), "array \"output\"",
                   "its buffer of 1000 elements");
    desc.output.buffer = NULL;
    assert_refused(NDR_BAD_ARGUMENT, ndr_array_copy(queue, &desc, NULL), "array \"output\" has no buffer");
    desc.input.shape.dims = 4;
    assert_refused(NDR_BAD_ARGUMENT, ndr_array_copy(queue, &desc, NULL), "array \"input\" has 4 dimensions");
    assert_refused(NDR_BAD_ARGUMENT, ndr_array_copy(NULL, &desc, NULL), "ndr_array_copy: queue is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_array_copy(queue, NULL, NULL), "ndr_array_copy: desc is NULL");
    ndr_buffer_destroy(buffer);
}

static void test_move__refuses_indexes_that_are_floats(void **state)
{
    const ndr_gather_desc from = { .dtype = NDR_DTYPE_F32, .index_dtype = NDR_DTYPE_F32 };
    const ndr_scatter_desc to = { .dtype = NDR_DTYPE_F32 };
    assert_refused(NDR_BAD_ARGUMENT, ndr_gather(queue, &from, NULL), "ndr_gather: index_dtype is f32",
                   "use i32, u32, i64 or u64");
    assert_refused(NDR_BAD_ARGUMENT, ndr_scatter(queue, &to, NULL), "ndr_scatter: index_dtype is not set");
}

static void test_move__explains_its_choice(void **state)
{
    char text[1000];
    ndr_array_copy_desc desc = { .input = ndr_array_of(NULL, NDR_DTYPE_F32, ndr_range_2d(100, 200)) };
    desc.output = desc.input;
    assert_ok(ndr_array_copy_explain(context, &desc, sizeof text, text, NULL));
    assert_null(strstr(text, "tiles\n"));
    desc.output.stride[0] = 1, desc.output.stride[1] = 100;
    assert_ok(ndr_array_copy_explain(context, &desc, sizeof text, text, NULL));
    assert_non_null(strstr(text, takes_vectors() && device.type == NDR_DEVICE_TYPE_CPU ? "blocks" : "tiles"));
}

static ndr_status gather(ndr_queue *on, const void *desc, ndr_event **event) { return ndr_gather(on, desc, event); }
static ndr_status scatter(ndr_queue *on, const void *desc, ndr_event **event) { return ndr_scatter(on, desc, event); }

static const int32_t from[] = { 7, 8, 9 }, indexes[] = { 9, 2, 0, 1 }, before[] = { 5, 5, 5, 5 };

/* The indexes and the output are those from element 1 on. */
#define OPERANDS(desc, result)                                \
    .operands = { { .name = "input",                          \
                    .buffer = offsetof(desc, input.buffer),   \
                    .offset = offsetof(desc, input.offset),   \
                    .end = 3,                                 \
                    .before = from },                         \
                  { .name = "indexes",                        \
                    .buffer = offsetof(desc, indexes.buffer), \
                    .offset = offsetof(desc, indexes.offset), \
                    .begin = 1,                               \
                    .end = 4,                                 \
                    .before = indexes },                      \
                  { .name = "output",                         \
                    .buffer = offsetof(desc, output.buffer),  \
                    .offset = offsetof(desc, output.offset),  \
                    .begin = 1,                               \
                    .end = 4,                                 \
                    .before = before,                         \
                    .after = (result) } },                    \
    .operand_count = 3

#define REQUEST \
    .dtype = NDR_DTYPE_I32, .index_dtype = NDR_DTYPE_I32, .count = 3, .indexes.offset = 1, .output.offset = 1

static const refusal_suite gather_refusals = {
    .call = "ndr_gather",
    .run = gather,
    .descs = (const ndr_gather_desc[]){ { REQUEST, .input_count = 3 } },
    .desc_bytes = sizeof(ndr_gather_desc),
    .desc_count = 1,
    .dtype = offsetof(ndr_gather_desc, dtype),
    OPERANDS(ndr_gather_desc, ((const int32_t[]){ 5, 9, 7, 8 })),
};
static const refusal_suite scatter_refusals = {
    .call = "ndr_scatter",
    .run = scatter,
    .descs = (const ndr_scatter_desc[]){ { REQUEST, .output_count = 3 } },
    .desc_bytes = sizeof(ndr_scatter_desc),
    .desc_count = 1,
    .dtype = offsetof(ndr_scatter_desc, dtype),
    OPERANDS(ndr_scatter_desc, ((const int32_t[]){ 5, 8, 9, 7 })),
};

/* Any type of elements is taken. */
#define SHARED_REFUSALS(operation, suite)                                                                             \
    REFUSAL(operation, suite, refuses_a_missing_queue_or_desc),                                                       \
        REFUSAL(operation, suite, refuses_elements_past_the_end), REFUSAL(operation, suite, refuses_missing_buffers), \
        REFUSAL(operation, suite, refuses_an_output_that_meets_an_input),                                             \
        REFUSAL(operation, suite, refuses_buffers_of_another_context),                                                \
        REFUSAL(operation, suite, leaves_the_event_alone_when_refused)

/* Which variant a copy takes depends on its strides, so each is forced. */
static bool is_chosen(const ndr_op_variant *variant)
{
    return false;
}

int main(void)
{
    const char *given = getenv("NDR_TEST_SEED");
    seed = given ? strtoull(given, NULL, 10) : 1;
    const struct CMUnitTest copies[] = {
        cmocka_unit_test(test_move__copies_arrays_of_any_shape_and_strides),
        cmocka_unit_test(test_move__transposes_any_size),
        cmocka_unit_test(test_move__permutes_three_dimensions),
        cmocka_unit_test(test_move__runs_nothing_without_elements),
        cmocka_unit_test(test_move__orders_and_merges_dimensions),
        cmocka_unit_test(test_move__refuses_arrays_that_do_not_fit),
        cmocka_unit_test(test_move__explains_its_choice),
    };
    const struct CMUnitTest gathers[] = {
        cmocka_unit_test(test_move__gathers_by_any_index),
        SHARED_REFUSALS(gather, gather_refusals),
        cmocka_unit_test(test_move__refuses_indexes_that_are_floats),
    };
    const struct CMUnitTest scatters[] = {
        cmocka_unit_test(test_move__scatters_to_any_index),
        SHARED_REFUSALS(scatter, scatter_refusals),
    };
    return run_variants(&ndr_array_copy_operation, &(variant_tests){ copies, copies, COUNT_OF(copies), 3, is_chosen })
           + run_variants(&ndr_gather_operation, &(variant_tests){ gathers, gathers, COUNT_OF(gathers), 1, is_chosen })
           + run_variants(&ndr_scatter_operation,
                          &(variant_tests){ scatters, scatters, COUNT_OF(scatters), 1, is_chosen });
}
