/* test_array_scan.c - ndr_array_scan(): lines of arrays of any shape and strides against a plain loop, and what it refuses. */
#include "support.h"

#include <inttypes.h>
#include <math.h>

#include "device/context.h"
#include "forcing.h"
#include "ndr/ndr_ops.h"
#include "ops/scan/lines.h"
#include "reference.h"
#include "scanned.h"
#include "strides.h"

/* NDR_TEST_SEED repeats a run; a failure prints it. */
static uint64_t seed;

static bool device_can(ndr_dtype dtype) { return dtype != NDR_DTYPE_F64 || device.has_f64; }

/* ---- one scan, with checks of everything around it ---- */

typedef struct scan {
    ndr_op op;
    bool is_exclusive, is_backward, has_initial, is_in_place;
    unsigned axis;
    ndr_array input, output; /* without buffers and offsets */
} scan;

static const char *text_of(const scan *c)
{
    static char text[320];
    const ndr_array *in = &c->input, *out = &c->output;
    snprintf(text, sizeof text,
             "%s, op %d, exclusive %d, backward %d, initial %d, in place %d, axis %u of %u dimensions of %zu, %zu, %zu, "
             "strides (%" PRId64 ", %" PRId64 ", %" PRId64 ") to (%" PRId64 ", %" PRId64 ", %" PRId64
             "); NDR_TEST_SEED=%" PRIu64,
             ndr_dtype_name(in->dtype), (int)c->op, c->is_exclusive, c->is_backward, c->has_initial, c->is_in_place,
             c->axis, in->shape.dims, in->shape.size[0], in->shape.size[1], in->shape.size[2], in->stride[0],
             in->stride[1], in->stride[2], out->stride[0], out->stride[1], out->stride[2], seed);
    return text;
}

static void fail_at(const scan *c, const size_t *at, number got, const char *wanted)
{
    print_error("%s: element (%zu, %zu, %zu) is %s, not %s\n", text_of(c), at[0], at[1], at[2],
                number_text(c->input.dtype, got), wanted);
    fail();
}

/* One line, from what the input held to what the output holds. Marks what it looked at. */
static void check_line(const scan *c, size_t at[3], number initial, const void *before, const void *after, bool *is_seen)
{
    const ndr_dtype dtype = c->input.dtype;
    const size_t count = c->input.shape.size[c->axis];
    scanned value = scanned_nothing(dtype, c->op);
    if (c->has_initial) value = scanned_with(dtype, c->op, value, initial);
    for (size_t n = 0; n < count; ++n) {
        at[c->axis] = c->is_backward ? count - 1 - n : n;
        const scanned earlier = value;
        value = scanned_with(dtype, c->op, value, number_get(dtype, before, index_of(&c->input, at)));
        const scanned wanted = c->is_exclusive ? earlier : value;
        const number got = number_get(dtype, after, index_of(&c->output, at));
        is_seen[index_of(&c->output, at)] = true;
        if (!scanned_is(dtype, c->op, wanted, got)) fail_at(c, at, got, scanned_text(dtype, wanted));
    }
}

static void check_results(const scan *c, number initial, const void *before, const unsigned char *old,
                          const unsigned char *after, size_t elements)
{
    const size_t bytes = ndr_dtype_size(c->input.dtype);
    bool *is_seen = calloc(elements, sizeof *is_seen);
    size_t size[3] = { 1, 1, 1 }, at[3] = { 0 };
    for (unsigned d = 0; d < c->input.shape.dims; ++d) size[d] = d == c->axis ? 1 : c->input.shape.size[d];
    for (size_t i = 0; i < size[0]; ++i)
        for (size_t k = 0; k < size[1]; ++k)
            for (size_t l = 0; l < size[2]; ++l) {
                at[0] = i, at[1] = k, at[2] = l;
                check_line(c, at, initial, before, after, is_seen);
            }
    for (size_t i = 0; i < elements; ++i)
        if (!is_seen[i] && memcmp(after + i * bytes, old + i * bytes, bytes) != 0)
            fail_msg("%s: element %zu of the buffer was written", text_of(c), i);
    free(is_seen);
}

static unsigned char *elements_of(const scan *c, size_t count, uint64_t *random)
{
    unsigned char *host = malloc((count + 1) * ndr_dtype_size(c->input.dtype) + 8);
    for (size_t i = 0; i < count; ++i)
        number_set(c->input.dtype, host, i, scanned_element(c->input.dtype, c->op, random));
    return host;
}

static ndr_array_scan_desc desc_of(const scan *c, ndr_buffer *input, ndr_buffer *output, number initial)
{
    ndr_array_scan_desc desc = { .op = c->op,
                                 .is_exclusive = c->is_exclusive,
                                 .is_backward = c->is_backward,
                                 .axis = c->axis,
                                 .input = c->input,
                                 .output = c->output };
    if (c->has_initial) desc.initial = scanned_arg(c->input.dtype, initial);
    desc.input.buffer = input;
    desc.output.buffer = output;
    return desc;
}

static void check(scan c, uint64_t *random)
{
    if (!device_can(c.input.dtype)) return;
    if (c.is_in_place) c.input = c.output;
    const size_t bytes = ndr_dtype_size(c.input.dtype), guards = random_below(random, 9);
    const size_t out_count = place(&c.output, guards);
    const size_t in_count = place(&c.input, c.is_in_place ? guards : random_below(random, 9));
    const number initial = scanned_element(c.input.dtype, c.op, random);
    unsigned char *before = elements_of(&c, in_count, random), *old = before, *after = malloc(out_count * bytes);
    ndr_buffer *input = buffer_of(in_count * bytes, before), *output = input;
    if (!c.is_in_place) {
        old = elements_of(&c, out_count, random);
        output = buffer_of(out_count * bytes, old);
    }
    const ndr_array_scan_desc desc = desc_of(&c, input, output, initial);
    assert_ok(ndr_array_scan(queue, &desc, NULL));
    read_buffer(output, after, out_count * bytes);
    check_results(&c, initial, before, old, after, out_count);
    if (!c.is_in_place) {
        free(old);
        ndr_buffer_destroy(output);
    }
    ndr_buffer_destroy(input);
    free(before), free(after);
}

/* Arrays whose elements follow each other. */
static scan scan_of(ndr_dtype dtype, ndr_op op, unsigned dims, const size_t *size, unsigned axis)
{
    const ndr_array array = ndr_array_of(NULL, dtype, shape_of(dims, size));
    return (scan){ .op = op, .axis = axis, .input = array, .output = array };
}

/* ---- results ---- */

/* Short and long lines, few and many, around vectors, tiles and blocks of lines; some are divided into parts. */
static void test_array_scan__of_a_matrix_agrees_with_a_loop(void **state)
{
    const size_t shapes[][2] = { { 1, 1 },    { 3, 1 },     { 1, 3 },      { 7, 65 },   { 64, 64 },   { 1000, 3 }, { 37, 1025 },
                                 { 1100, 70 }, { 4097, 17 }, { 17, 4099 }, { 2, 200003 }, { 200003, 2 }, { 70001, 1 } };
    const size_t quick_shapes[][2] = { { 5, 3 }, { 3, 70 }, { 70, 3 } };
    uint64_t random = seed;
    for (size_t i = 0; i < (quick() ? COUNT_OF(quick_shapes) : COUNT_OF(shapes)); ++i)
        for (unsigned form = 0; form < 8; ++form) {
            const size_t *size = quick() ? quick_shapes[i] : shapes[i];
            if (quick() && (form ^ i) % 3) continue;
            scan c = scan_of(form % 3 ? NDR_DTYPE_F32 : NDR_DTYPE_U32, NDR_OP_SUM, 2, size, form % 2);
            c.is_exclusive = form / 2 % 2;
            c.is_backward = form / 4;
            c.has_initial = i % 2;
            check(c, &random);
        }
}

static void test_array_scan__takes_every_type_and_operator(void **state)
{
    const size_t size[3] = { quick() ? 3 : 9, quick() ? 5 : 130, quick() ? 4 : 67 };
    size_t cases = 0;
    uint64_t random = seed;
    for (ndr_dtype dtype = NDR_DTYPE_I8; dtype <= NDR_DTYPE_F64; ++dtype)
        for (ndr_op op = NDR_OP_SUM; op <= NDR_OP_LOGICAL_OR; ++op) {
            const bool is_bits = op >= NDR_OP_BIT_AND && op <= NDR_OP_BIT_XOR;
            if ((is_bits && is_float(dtype)) || (op != NDR_OP_SUM && (dtype + op) % (quick() ? 9 : 3))) continue;
            if (!takes_case(cases++, 5)) continue;
            scan c = scan_of(dtype, op, 3, size, (unsigned)(dtype + op) % 3);
            c.is_exclusive = dtype % 2;
            c.is_backward = op % 2;
            c.is_in_place = (dtype + op) % 4 == 0;
            check(c, &random);
        }
}

static void test_array_scan__works_in_place(void **state)
{
    const size_t size[2] = { quick() ? 5 : 300, quick() ? 7 : 211 };
    uint64_t random = seed;
    for (unsigned form = 0; form < 8; ++form) {
        scan c = scan_of(NDR_DTYPE_I32, NDR_OP_SUM, 2, size, form % 2);
        c.is_in_place = true;
        c.is_exclusive = form / 2 % 2;
        c.is_backward = form / 4;
        c.output.stride[0] += 3; /* a gap behind each row */
        check(c, &random);
    }
}

static void test_array_scan__of_generated_arrays_agrees_with_a_loop(void **state)
{
    static const ndr_dtype dtypes[] = { NDR_DTYPE_I8, NDR_DTYPE_U16, NDR_DTYPE_I32, NDR_DTYPE_U64, NDR_DTYPE_F32, NDR_DTYPE_F64 };
    static const size_t hard[] = { 1, 2, 15, 16, 17, 63, 64, 65, 129, 1025 };
    for (unsigned turn = 0; turn < (quick() ? 6 : forced_variant ? 30 : 60); ++turn) {
        if (!takes_case(turn, 5)) continue;
        uint64_t random = seed + turn;
        const unsigned dims = 1 + (unsigned)random_below(&random, 3);
        const ndr_dtype dtype = dtypes[random_below(&random, COUNT_OF(dtypes))];
        size_t size[3], left = quick() ? 300 : 200000;
        for (unsigned d = 0; d < 3; ++d) {
            size[d] = random_bits(&random) % 2 ? hard[random_below(&random, COUNT_OF(hard))]
                                               : random_below(&random, random_bits(&random) % 4 ? 200 : left);
            size[d] = size[d] <= left ? size[d] : left;
            left /= size[d] ? size[d] : 1;
        }
        const ndr_op op = (ndr_op)(1 + random_below(&random, is_float(dtype) ? 4 : 9));
        scan c = scan_of(dtype, op, dims, size, (unsigned)random_below(&random, dims));
        c.is_exclusive = random_bits(&random) % 2;
        c.is_backward = random_bits(&random) % 2;
        c.has_initial = random_bits(&random) % 2;
        c.is_in_place = random_bits(&random) % 3 == 0;
        if (random_bits(&random) % 4) make_strides(&c.input, true, &random);
        if (random_bits(&random) % 4) make_strides(&c.output, false, &random);
        check(c, &random);
    }
}

static void test_array_scan__leaves_nan_out_of_minima_until_there_is_a_number(void **state)
{
    enum { ROWS = 5, COLS = 70 };
    float host[ROWS][COLS];
    for (unsigned axis = 0; axis < 2; ++axis) {
        for (size_t i = 0; i < ROWS; ++i)
            for (size_t k = 0; k < COLS; ++k) host[i][k] = (axis ? k : i) == 2 ? 3 : NAN;
        ndr_buffer *both = buffer_of(sizeof host, host);
        ndr_array_scan_desc desc = { .op = NDR_OP_MIN, .axis = axis,
                                     .input = ndr_array_of(both, NDR_DTYPE_F32, ndr_range_2d(ROWS, COLS)) };
        desc.output = desc.input;
        assert_ok(ndr_array_scan(queue, &desc, NULL));
        take_buffer(both, host, sizeof host);
        for (size_t i = 0; i < ROWS; ++i)
            for (size_t k = 0; k < COLS; ++k) assert_true((axis ? k : i) < 2 ? isnan(host[i][k]) : host[i][k] == 3);
    }
}

static void test_array_scan__gives_the_same_bits_every_time(void **state)
{
    const size_t shapes[][2] = { { quick() ? 3 : 3, quick() ? 300 : 200003 }, { quick() ? 300 : 200003, 3 }, { 100, 200 } };
    uint64_t random = seed;
    for (size_t s = 0; s < COUNT_OF(shapes); ++s)
        for (unsigned axis = 0; axis < 2; ++axis) {
            scan c = scan_of(NDR_DTYPE_F32, NDR_OP_SUM, 2, shapes[s], axis);
            const size_t bytes = shapes[s][0] * shapes[s][1] * sizeof(float);
            unsigned char *host = elements_of(&c, shapes[s][0] * shapes[s][1], &random), *first = malloc(bytes), *again = malloc(bytes);
            ndr_buffer *input = buffer_of(bytes, host), *output = buffer_of(bytes, host);
            const ndr_array_scan_desc desc = desc_of(&c, input, output, (number){ 0 });
            for (int turn = 0; turn < 4; ++turn) {
                assert_ok(ndr_array_scan(queue, &desc, NULL));
                read_buffer(output, turn ? again : first, bytes);
                if (turn) assert_memory_equal(again, first, bytes);
            }
            ndr_buffer_destroy(input), ndr_buffer_destroy(output);
            free(host), free(first), free(again);
        }
}

/* ---- on the queue ---- */

static void test_array_scan__gives_an_event_and_follows_work_out_of_order(void **state)
{
    enum { ROWS = 4, COLS = 50 };
    int32_t host[ROWS][COLS];
    ndr_queue *line;
    ndr_event *filled, *done, *end;
    const ndr_status status = ndr_queue_create(context, &(ndr_queue_desc){ .is_out_of_order = true }, &line);
    skip_without(status != NDR_UNSUPPORTED, "the device has no out-of-order queues");
    assert_ok(status);
    ndr_buffer *both = buffer_of(sizeof host, NULL);
    ndr_array_scan_desc desc = { .op = NDR_OP_LOGICAL_AND,
                                 .input = ndr_array_of(both, NDR_DTYPE_I32, ndr_range_2d(ROWS, COLS)) };
    desc.output = desc.input;
    assert_ok(ndr_buffer_fill(line, both, 0, sizeof host, &(int32_t){ 7 }, sizeof(int32_t), &filled));
    assert_ok(ndr_array_scan(ndr_after(line, filled), &desc, &done)); /* ones */
    desc.op = NDR_OP_SUM, desc.axis = 1;
    assert_ok(ndr_array_scan(ndr_after(line, done), &desc, &end));
    assert_ok(ndr_event_wait(end));
    take_buffer(both, host, sizeof host);
    for (int i = 0; i < ROWS; ++i)
        for (int k = 0; k < COLS; ++k) assert_int_equal(host[i][k], k + 1);
    ndr_event_destroy(filled), ndr_event_destroy(done), ndr_event_destroy(end);
    ndr_queue_destroy(line);
}

static void test_array_scan__of_nothing_needs_no_buffers(void **state)
{
    const ndr_array none = ndr_array_of(NULL, NDR_DTYPE_F32, ndr_range_2d(3, 0));
    ndr_event *event = NULL;
    for (ndr_op op = NDR_OP_SUM; op <= NDR_OP_LOGICAL_AND; op += NDR_OP_LOGICAL_AND - NDR_OP_SUM) {
        assert_ok(ndr_array_scan(queue, &(ndr_array_scan_desc){ .op = op, .input = none, .output = none }, &event));
        assert_ok(ndr_event_wait(event));
        ndr_event_destroy(event);
    }
}

/* An item goes through more elements of a line than the fault loops_end_early lets it, unless there are more parts. */
static void test_array_scan__of_two_very_long_columns(void **state)
{
    enum { ROWS = 70000001, COLS = 2 };
    skip_without(ndr_avoids(context, NDR_QUIRK_LOOPS_END_EARLY), "the driver ends no loops early");
    const size_t count = (size_t)ROWS * COLS;
    const unsigned char one = 1;
    unsigned char *got = malloc(count);
    size_t wrong = 0;
    ndr_buffer *x = buffer_of(count, NULL);
    const ndr_array all = ndr_array_of(x, NDR_DTYPE_U8, ndr_range_2d(ROWS, COLS));
    assert_ok(ndr_buffer_fill(queue, x, 0, count, &one, 1, NULL));
    assert_ok(ndr_array_scan(queue, &(ndr_array_scan_desc){ .op = NDR_OP_SUM, .input = all, .output = all }, NULL));
    take_buffer(x, got, count);
    for (size_t i = 0; i < count; ++i) wrong += got[i] != (unsigned char)(i / COLS + 1);
    assert_int_equal(wrong, 0);
    free(got);
}

/* Groups of two items have rows of more tiles than llvmpipe's loops reach. Every driver avoids the fault here. The rows
 * have a gap between them: ndr_scan() would take them without. */
static void test_array_scan__of_long_rows_is_right_where_loops_end_early(void **state)
{
    enum { ROWS = 257, COLS = 127801, PITCH = COLS + 1 };
    ndr_caps *const caps = &context->caps;
    const uint64_t quirks = caps->quirks;
    const size_t most = caps->info.max_group_size, count = (size_t)ROWS * PITCH;
    const unsigned char one = 1;
    size_t wrong = 0;
    skip_without(!is_simulated(), "a simulator takes minutes");
    unsigned char *got = malloc(count);
    ndr_buffer *x = buffer_of(count, NULL);
    ndr_array all = ndr_array_of(x, NDR_DTYPE_U8, ndr_range_2d(ROWS, COLS));
    all.stride[0] = PITCH;
    caps->quirks |= NDR_QUIRK_BIT(NDR_QUIRK_LOOPS_END_EARLY);
    caps->info.max_group_size = 4; /* two: the fault loop_of_two */
    force(&ndr_array_scan_operation, "line_groups");
    assert_ok(ndr_buffer_fill(queue, x, 0, count, &one, 1, NULL));
    assert_ok(ndr_array_scan(queue, &(ndr_array_scan_desc){ .op = NDR_OP_SUM, .axis = 1, .input = all, .output = all },
                             NULL));
    take_buffer(x, got, count);
    for (size_t i = 0; i < count; ++i)
        wrong += got[i] != (unsigned char)(i % PITCH < COLS ? i % PITCH + 1 : one);
    force(&ndr_array_scan_operation, NULL);
    caps->info.max_group_size = most;
    caps->quirks = quirks;
    assert_int_equal(wrong, 0);
    free(got);
}

/* ---- where lines are ---- */

static void assert_lines(const ndr_array *array, unsigned axis, size_t count, size_t lines, size_t inner, bool is_along)
{
    ndr_line_request r = { .scan = { .dtype = array->dtype } };
    ndr_lines_lay_out(array, array, axis, &r);
    assert_int_equal(r.count, count);
    assert_int_equal(r.lines, lines);
    assert_int_equal(r.inner, inner);
    assert_int_equal(r.is_along, is_along);
    assert_int_equal(ndr_lines_are_packed(&r), is_along);
}

static void test_array_scan__joins_dimensions_beside_the_axis(void **state)
{
    const ndr_array array = ndr_array_of(NULL, NDR_DTYPE_I32, ndr_range_3d(3, 4, 5));
    assert_lines(&array, 0, 3, 20, 20, false);
    assert_lines(&array, 1, 4, 15, 5, false);
    assert_lines(&array, 2, 5, 12, 12, true);
    const ndr_array row = ndr_array_of(NULL, NDR_DTYPE_I32, ndr_range_3d(1, 1, 50));
    assert_lines(&row, 2, 50, 1, 1, true);
    assert_lines(&row, 0, 1, 50, 50, false);
}

/* ---- refusals ---- */

#define assert_scan_refused(status, desc, ...) \
    assert_refused(status, ndr_array_scan(queue, desc, NULL), "ndr_array_scan: ", __VA_ARGS__)

static void test_array_scan__refuses_what_does_not_fit(void **state)
{
    ndr_buffer *one = buffer_of(1000 * sizeof(float), NULL), *other = buffer_of(1000 * sizeof(float), NULL);
    const ndr_array_scan_desc right = { .op = NDR_OP_SUM, .axis = 1,
                                        .input = ndr_array_of(one, NDR_DTYPE_F32, ndr_range_2d(10, 20)),
                                        .output = ndr_array_of(other, NDR_DTYPE_F32, ndr_range_2d(10, 20)) };
    ndr_array_scan_desc desc = right;
    assert_refused(NDR_BAD_ARGUMENT, ndr_array_scan((ndr_queue *)NULL, &desc, NULL), "ndr_array_scan: queue is NULL");
    assert_scan_refused(NDR_BAD_ARGUMENT, NULL, "desc is NULL");
    desc.axis = 2;
    assert_scan_refused(NDR_BAD_ARGUMENT, &desc, "axis is 2, but the arrays have 2 dimensions; use 0 to 1");
    desc = right, desc.op = NDR_OP_NONE;
    assert_scan_refused(NDR_BAD_ARGUMENT, &desc, "op is 0, which is not valid; use NDR_OP_SUM");
    desc.op = NDR_OP_BIT_OR;
    assert_scan_refused(NDR_BAD_ARGUMENT, &desc, "NDR_OP_BIT_OR", "dtype is f32");
    desc.op = NDR_OP_ARG_MAX;
    assert_scan_refused(NDR_BAD_ARGUMENT, &desc, "op is 11");
    desc = right, desc.input.dtype = desc.output.dtype = NDR_DTYPE_F16;
    assert_scan_refused(NDR_BAD_ARGUMENT, &desc, "dtype is f16; use i8");
    desc = right, desc.output.dtype = NDR_DTYPE_I32;
    assert_scan_refused(NDR_BAD_ARGUMENT, &desc, "input is f32 and output is i32", "convert with ndr_map()");
    desc = right, desc.output.shape.size[1] = 19;
    assert_scan_refused(NDR_BAD_ARGUMENT, &desc, "input has shape", "output has shape", "make them the same");
    desc = right, desc.initial = ndr_arg_of(1);
    assert_scan_refused(NDR_BAD_ARGUMENT, &desc, "initial is not a value of f32");
    desc = right, desc.input.buffer = NULL;
    assert_scan_refused(NDR_BAD_ARGUMENT, &desc, "array \"input\" has no buffer");
    desc = right, desc.output.stride[0] = 200;
    assert_scan_refused(NDR_OUT_OF_BOUNDS, &desc, "array \"output\"", "leaves its buffer of 1000 elements");
    desc = right, desc.output.stride[0] = 0;
    assert_scan_refused(NDR_BAD_ARGUMENT, &desc, "output \"output\"", "several indexes for one element");
    desc = right, desc.output.buffer = one, desc.output.offset = 1;
    assert_scan_refused(NDR_BAD_ARGUMENT, &desc, "\"output\", bytes", "overlaps \"input\"");
    desc.output = desc.input, desc.output.stride[0] = 1, desc.output.stride[1] = 10; /* transposed in place */
    assert_scan_refused(NDR_BAD_ARGUMENT, &desc, "overlaps \"input\"");
    ndr_buffer_destroy(one), ndr_buffer_destroy(other);
}

static void test_array_scan__says_what_it_would_run(void **state)
{
    char text[400];
    const ndr_array matrix = ndr_array_of(NULL, NDR_DTYPE_F32, ndr_range_2d(100, 200));
    ndr_array_scan_desc desc = { .op = NDR_OP_SUM, .axis = 0, .input = matrix, .output = matrix };
    assert_ok(ndr_array_scan_explain(context, &desc, sizeof text, text, NULL));
    assert_true(strncmp(text, "line_", 5) == 0);
    desc.input = desc.output = ndr_array_of(NULL, NDR_DTYPE_F32, ndr_range_1d(20000));
    assert_ok(ndr_array_scan_explain(context, &desc, sizeof text, text, NULL));
    assert_true(strncmp(text, "line_", 5) != 0); /* ndr_scan()'s */
}

/* ---- every variant, whatever this device would choose ---- */

static bool is_chosen(const ndr_op_variant *variant)
{
    const ndr_array matrix = ndr_array_of(NULL, NDR_DTYPE_F32, ndr_range_2d(100, 200));
    ndr_line_request request = { .scan = { .dtype = NDR_DTYPE_F32, .op = NDR_OP_SUM } };
    ndr_lines_lay_out(&matrix, &matrix, 0, &request);
    return ndr_op_select(&ndr_array_scan_operation, &context->caps, 0, NULL, &request) == variant;
}

/* The tests that each variant runs. */
#define RESULTS \
    cmocka_unit_test(test_array_scan__of_a_matrix_agrees_with_a_loop), \
    cmocka_unit_test(test_array_scan__takes_every_type_and_operator), \
    cmocka_unit_test(test_array_scan__works_in_place), \
    cmocka_unit_test(test_array_scan__of_generated_arrays_agrees_with_a_loop), \
    cmocka_unit_test(test_array_scan__leaves_nan_out_of_minima_until_there_is_a_number), \
    cmocka_unit_test(test_array_scan__gives_the_same_bits_every_time)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RESULTS,
        cmocka_unit_test(test_array_scan__gives_an_event_and_follows_work_out_of_order),
        cmocka_unit_test(test_array_scan__of_nothing_needs_no_buffers),
        cmocka_unit_test(test_array_scan__of_two_very_long_columns),
        cmocka_unit_test(test_array_scan__of_long_rows_is_right_where_loops_end_early),
        cmocka_unit_test(test_array_scan__joins_dimensions_beside_the_axis),
        cmocka_unit_test(test_array_scan__refuses_what_does_not_fit),
        cmocka_unit_test(test_array_scan__says_what_it_would_run),
    };
    const struct CMUnitTest results[] = { RESULTS };
    seed = number_from_env("NDR_TEST_SEED", 20261124);
    print_message("NDR_TEST_SEED=%" PRIu64 "\n", seed);
    return run_variants(&ndr_array_scan_operation,
                        &(variant_tests){ tests, results, COUNT_OF(tests), COUNT_OF(results), is_chosen });
}
