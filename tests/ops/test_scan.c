/* test_scan.c - ndr_scan: types, operators, directions and segments against a plain loop, and what it refuses. */
#include "support.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>

#include "device/context.h"
#include "forcing.h"
#include "ndr/ndr_ops.h"
#include "ops/scan/scan.h"
#include "reference.h"
#include "scanned.h"
#include "refusals.h"

/* Elements after the input and the output. */
enum { GUARDS = 3 };

static bool device_can(ndr_dtype dtype) { return dtype != NDR_DTYPE_F64 || device.has_f64; }
static size_t bytes_of(ndr_dtype dtype, size_t count) { return count * ndr_dtype_size(dtype); }

/* ---- one scan, with checks of everything around it ---- */

typedef struct scan {
    ndr_dtype dtype;
    ndr_op op;
    bool is_exclusive, is_backward;
    size_t count, length; /* length 0: no segments of equal length */
    bool has_flags, has_initial, is_in_place;
    size_t input_offset, output_offset, flags_offset;
    uint64_t seed;
} scan;

static const char *text_of(const scan *c)
{
    static char text[256];
    snprintf(text, sizeof text,
             "%s, op %d, exclusive %d, backward %d, count %zu, length %zu, flags %d, initial %d, in place %d, "
             "offsets %zu %zu %zu, seed %" PRIu64,
             ndr_dtype_name(c->dtype), (int)c->op, c->is_exclusive, c->is_backward, c->count, c->length, c->has_flags,
             c->has_initial, c->is_in_place, c->input_offset, c->output_offset, c->flags_offset, c->seed);
    return text;
}

static number initial_of(const scan *c)
{
    uint64_t seed = c->seed + 77;
    return scanned_element(c->dtype, c->op, &seed);
}

static bool begins_segment(const scan *c, const unsigned char *flags, size_t i)
{
    return i == 0 || (c->has_flags && flags[i]) || (c->length && i % c->length == 0);
}

static bool is_start(const scan *c, const unsigned char *flags, size_t i)
{
    if (!c->is_backward) return begins_segment(c, flags, i);
    return i + 1 == c->count || begins_segment(c, flags, i + 1);
}

static void check_results(const scan *c, const void *in, const unsigned char *flags, const void *out)
{
    scanned start = scanned_nothing(c->dtype, c->op), value = start;
    if (c->has_initial) start = scanned_with(c->dtype, c->op, start, initial_of(c));
    for (size_t n = 0; n < c->count; ++n) {
        const size_t i = c->is_backward ? c->count - 1 - n : n;
        if (is_start(c, flags, i)) value = start;
        const scanned before = value;
        value = scanned_with(c->dtype, c->op, value, number_get(c->dtype, in, i));
        const scanned wanted = c->is_exclusive ? before : value;
        const number got = number_get(c->dtype, out, i);
        if (scanned_is(c->dtype, c->op, wanted, got)) continue;
        print_error("%s: element %zu is %s, not %s\n", text_of(c), i, number_text(c->dtype, got),
                    scanned_text(c->dtype, wanted));
        fail();
    }
}

static void check_guards(const scan *c, const unsigned char *out)
{
    const size_t begin = bytes_of(c->dtype, c->output_offset), end = begin + bytes_of(c->dtype, c->count);
    for (size_t byte = 0; byte < end + bytes_of(c->dtype, GUARDS); ++byte)
        if ((byte < begin || byte >= end) && out[byte] != 0xa5) {
            print_error("%s: byte %zu beside the output was written\n", text_of(c), byte);
            fail();
        }
}

/* Scan host elements, and give the output with GUARDS around it. */
static unsigned char *run_scan(const scan *c, const void *in, const unsigned char *flags)
{
    const size_t size = ndr_dtype_size(c->dtype);
    const size_t in_at = c->is_in_place ? c->output_offset : c->input_offset;
    const size_t out_bytes = (c->output_offset + c->count + GUARDS) * size;
    const size_t in_bytes = c->is_in_place ? out_bytes : (in_at + c->count + GUARDS) * size;
    unsigned char *host_in = malloc(in_bytes), *host_out = malloc(out_bytes);
    memset(host_in, 0xa5, in_bytes);
    memset(host_out, 0xa5, out_bytes);
    memcpy(host_in + in_at * size, in, c->count * size);
    ndr_buffer *input = buffer_of(in_bytes, host_in);
    ndr_buffer *output = c->is_in_place ? input : buffer_of(out_bytes, host_out);
    unsigned char *host_flags = malloc(c->flags_offset + c->count + 1);
    memset(host_flags, 1, c->flags_offset + c->count + 1);
    memcpy(host_flags + c->flags_offset, flags, c->count);
    ndr_buffer *marks = buffer_of(c->flags_offset + c->count + 1, host_flags);
    ndr_scan_desc desc = { .dtype = c->dtype,
                           .op = c->op,
                           .is_exclusive = c->is_exclusive,
                           .is_backward = c->is_backward,
                           .input = { input, in_at },
                           .length = c->length,
                           .count = c->count,
                           .output = { output, c->output_offset } };
    if (c->has_initial) desc.initial = scanned_arg(c->dtype, initial_of(c));
    if (c->has_flags) desc.flags = (ndr_span){ marks, c->flags_offset };
    assert_ok(ndr_scan(queue, &desc, NULL));
    read_buffer(output, host_out, out_bytes);
    if (!c->is_in_place) {
        unsigned char *after = malloc(in_bytes);
        read_buffer(input, after, in_bytes);
        assert_memory_equal(after, host_in, in_bytes);
        free(after);
        ndr_buffer_destroy(output);
    }
    destroy_buffers(input, marks);
    free(host_in);
    free(host_flags);
    return host_out;
}

static void check_scan(const scan *c, const void *in, const unsigned char *flags)
{
    unsigned char *out = run_scan(c, in, flags);
    const void *results = out + bytes_of(c->dtype, c->output_offset);
    check_guards(c, out);
    check_results(c, in, flags, results);
    free(out);
}

static void *elements_of(const scan *c)
{
    uint64_t seed = c->seed;
    void *in = malloc(bytes_of(c->dtype, c->count) + 8);
    for (size_t i = 0; i < c->count; ++i) number_set(c->dtype, in, i, scanned_element(c->dtype, c->op, &seed));
    return in;
}

/* About every `distance`th element begins a segment. */
static unsigned char *flags_of(const scan *c, size_t distance)
{
    uint64_t seed = c->seed + 5;
    unsigned char *flags = calloc(c->count + 1, 1);
    for (size_t i = 0; i < c->count; ++i)
        if (random_bits(&seed) % distance == 0) flags[i] = (unsigned char)(1 + random_bits(&seed) % 255);
    return flags;
}

static void check(const scan *c)
{
    static const size_t distances[] = { 1, 3, 40, 1000, 30000 };
    void *in = elements_of(c);
    for (size_t d = 0; d < (!c->has_flags ? 1 : quick() ? 2 : COUNT_OF(distances)); ++d) {
        unsigned char *flags = flags_of(c, distances[d]);
        check_scan(c, in, flags);
        free(flags);
    }
    free(in);
}

/* ---- results ---- */

/* 0, 1, around vectors, tiles and chunks, and primes; the last ones have several chunks and shares of tiles. */
static const size_t counts[] = { 0,    1,    2,    15,   16,   17,    63,    64,    65,    1009,  1023,  1024,
                                 1025, 4095, 4096, 4097, 8209, 16383, 16384, 16385, 32769, 40961, 65537, 100003 };
static const size_t quick_counts[] = { 0, 1, 17, 65, 257 };
static const size_t few_counts[] = { 1, 100, 4097, 40009 };
static const size_t quick_few_counts[] = { 1, 67 };

static void check_counts(scan c, const size_t *list, size_t length)
{
    for (size_t i = 0; i < length; ++i) {
        c.count = list[i];
        c.seed = i + 1;
        c.input_offset = i % 5;
        c.output_offset = (i + 2) % 3;
        c.flags_offset = i % 7;
        check(&c);
    }
}

static void check_all_counts(scan c)
{
    if (quick()) check_counts(c, quick_counts, COUNT_OF(quick_counts));
    else check_counts(c, counts, COUNT_OF(counts));
}

static void check_few_counts(scan c)
{
    if (!device_can(c.dtype)) return;
    if (quick()) check_counts(c, quick_few_counts, COUNT_OF(quick_few_counts));
    else check_counts(c, few_counts, COUNT_OF(few_counts));
}

static void test_scan__of_any_count_agrees_with_a_loop(void **state)
{
    check_all_counts((scan){ .dtype = NDR_DTYPE_U32, .op = NDR_OP_SUM });
    check_all_counts((scan){ .dtype = NDR_DTYPE_F32, .op = NDR_OP_SUM, .is_exclusive = true });
    check_all_counts((scan){ .dtype = NDR_DTYPE_U32, .op = NDR_OP_SUM, .is_backward = true });
}

static void test_scan__takes_every_type(void **state)
{
    for (ndr_dtype dtype = NDR_DTYPE_I8; dtype <= NDR_DTYPE_F64; ++dtype)
        if (takes_case(dtype, 5)) check_few_counts((scan){ .dtype = dtype, .op = NDR_OP_SUM, .is_exclusive = true, .is_backward = dtype % 2 });
}

static void test_scan__takes_every_operator(void **state)
{
    const ndr_dtype integers[] = { NDR_DTYPE_I8, NDR_DTYPE_U64, NDR_DTYPE_I32 };
    const ndr_dtype floats[] = { NDR_DTYPE_F32, NDR_DTYPE_F64 };
    for (ndr_op op = NDR_OP_SUM; op <= NDR_OP_LOGICAL_OR; ++op)
        if (takes_case(op, 5)) check_few_counts((scan){ .dtype = integers[op % 3], .op = op, .is_exclusive = op % 2 });
    for (ndr_op op = NDR_OP_SUM; op <= NDR_OP_LOGICAL_OR; ++op) {
        if ((op >= NDR_OP_BIT_AND && op <= NDR_OP_BIT_XOR) || !takes_case(op, 5)) continue;
        check_few_counts((scan){ .dtype = floats[op % 2], .op = op, .is_backward = op / 2 % 2 });
    }
}

static void test_scan__begins_with_an_initial_value(void **state)
{
    for (int form = 0; form < 4; ++form) {
        const scan c = { .is_exclusive = form % 2, .is_backward = form / 2, .has_initial = true };
        scan integers = c, floats = c;
        integers.dtype = NDR_DTYPE_I16;
        integers.op = NDR_OP_SUM;
        floats.dtype = NDR_DTYPE_F32;
        floats.op = NDR_OP_MAX;
        check_few_counts(form % 3 ? integers : floats);
    }
}

/* Elements that are not 0 are all the same, also of floats; exclusive ones begin with the initial value or the identity. */
static void test_scan__by_logical_operators_gives_0_and_1(void **state)
{
    for (unsigned form = 0; form < 8; ++form)
        if (takes_case(form, 5)) check_few_counts((scan){ .dtype = form % 2 ? NDR_DTYPE_F32 : NDR_DTYPE_I16,
                                 .op = form / 2 % 2 ? NDR_OP_LOGICAL_AND : NDR_OP_LOGICAL_OR,
                                 .is_exclusive = form / 4,
                                 .has_initial = form % 3 == 0,
                                 .is_in_place = form % 4 == 1,
                                 .has_flags = form > 4 });
}

static void test_scan__by_length_scans_each_row_by_itself(void **state)
{
    const size_t lengths[] = { 7, 1, 100, 16, 4096, 16384, 20011, SIZE_MAX };
    for (int form = 0; form < 4; ++form)
        for (size_t i = 0; i < (quick() ? 1 : COUNT_OF(lengths)); ++i)
            check_few_counts((scan){ .dtype = NDR_DTYPE_U32,
                                     .op = NDR_OP_SUM,
                                     .is_exclusive = form % 2,
                                     .is_backward = form / 2,
                                     .has_initial = i % 2,
                                     .length = lengths[i] });
}

static void test_scan__by_flags_begins_anew_at_each(void **state)
{
    for (int form = 0; form < 4; ++form)
        for (int has_initial = 0; has_initial < 2; ++has_initial)
            check_few_counts((scan){ .dtype = NDR_DTYPE_U32,
                                     .op = NDR_OP_SUM,
                                     .is_exclusive = form % 2,
                                     .is_backward = form / 2,
                                     .has_flags = true,
                                     .has_initial = has_initial });
    check_few_counts((scan){ .dtype = NDR_DTYPE_U8, .op = NDR_OP_MAX, .has_flags = true });
    check_few_counts((scan){ .dtype = NDR_DTYPE_F64, .op = NDR_OP_SUM, .has_flags = true });
}

static void test_scan__works_in_place(void **state)
{
    for (int form = 0; form < 4; ++form)
        check_few_counts((scan){ .dtype = NDR_DTYPE_U32,
                                 .op = NDR_OP_SUM,
                                 .is_exclusive = form % 2,
                                 .is_backward = form / 2,
                                 .is_in_place = true });
}

static void test_scan__by_small_groups_has_rows_of_blocks_of_tiles(void **state)
{
    const size_t groups[] = { 2, 4, 8 }, count = quick() ? 1009 : 40009;
    for (size_t i = 0; i < COUNT_OF(groups); ++i) {
        context->caps.info.max_group_size = groups[i];
        check(&(scan){ .dtype = NDR_DTYPE_U32, .op = NDR_OP_SUM, .is_backward = i % 2, .count = count, .seed = i });
        check(&(scan){ .dtype = NDR_DTYPE_U64,
                       .op = NDR_OP_SUM,
                       .is_exclusive = true,
                       .is_backward = i % 2,
                       .has_flags = true,
                       .count = count,
                       .seed = i + 10 });
    }
    context->caps.info.max_group_size = device.max_group_size;
}

/* Just enough for two tiles in a group; with NDR_TEST_LONG chunks whose rows of rows fill. */
static void test_scan__of_millions_agrees_with_a_loop(void **state)
{
    const size_t count = quick() ? 1031 : forced_variant || number_from_env("NDR_TEST_LONG", 0) == 0 ? 2200013 : 9000011;
    check(&(scan){ .dtype = NDR_DTYPE_U64, .op = NDR_OP_SUM, .count = count, .seed = 3 });
    check(&(scan){ .dtype = NDR_DTYPE_F32, .op = NDR_OP_SUM, .count = count, .seed = 4, .is_backward = true });
    check(&(scan){ .dtype = NDR_DTYPE_U64,
                   .op = NDR_OP_SUM,
                   .is_exclusive = true,
                   .is_backward = true,
                   .count = count,
                   .length = count / 3,
                   .seed = 5 });
}

static scan random_scan(uint64_t seed)
{
    static const ndr_dtype dtypes[] = { NDR_DTYPE_I8, NDR_DTYPE_U32, NDR_DTYPE_I64, NDR_DTYPE_F32 };
    static const size_t most[] = { 40, 5000, 50000, 300000 };
    scan c = { .dtype = dtypes[random_bits(&seed) % COUNT_OF(dtypes)] };
    c.op = (ndr_op)(1 + random_bits(&seed) % (is_float(c.dtype) ? 4 : 9));
    c.is_exclusive = random_bits(&seed) % 2;
    c.is_backward = random_bits(&seed) % 2;
    c.has_initial = random_bits(&seed) % 2;
    c.is_in_place = random_bits(&seed) % 2;
    c.count = random_below(&seed, quick() ? 300 : most[random_below(&seed, COUNT_OF(most))]);
    c.has_flags = random_bits(&seed) % 3 == 0;
    if (!c.has_flags && random_bits(&seed) % 2) c.length = 1 + random_below(&seed, c.count + 1);
    c.input_offset = random_below(&seed, 9);
    c.output_offset = random_below(&seed, 9);
    c.flags_offset = random_below(&seed, 9);
    c.seed = seed;
    return c;
}

static void test_scan__agrees_with_a_loop_in_generated_cases(void **state)
{
    const uint64_t given = number_from_env("NDR_TEST_SEED", 0), first = given ? given : 1;
    const size_t count = quick() ? 4 : 16;
    print_message("NDR_TEST_SEED=%" PRIu64 ": of %zu scans those of the day\n", first, count);
    for (uint64_t seed = first; seed < first + count; ++seed) {
        if (seed != given && !takes_case(seed, 5)) continue;
        const scan c = random_scan(seed);
        check(&c);
    }
}

/* ---- numbers ---- */

static void scan_floats(ndr_op op, bool is_exclusive, size_t count, const float *in, float *out)
{
    const scan c = { .dtype = NDR_DTYPE_F32, .op = op, .is_exclusive = is_exclusive, .count = count };
    unsigned char *flags = calloc(count, 1), *results = run_scan(&c, in, flags);
    memcpy(out, results, count * sizeof *out);
    free(flags);
    free(results);
}

static void test_scan__leaves_nan_out_of_minima_until_there_is_a_number(void **state)
{
    float in[70], out[70];
    for (size_t i = 0; i < 70; ++i) in[i] = i == 40 ? 3 : i == 60 ? 2 : NAN;
    scan_floats(NDR_OP_MIN, false, 70, in, out);
    for (size_t i = 0; i < 70; ++i) assert_true(i < 40 ? isnan(out[i]) : out[i] == (i < 60 ? 3 : 2));
    scan_floats(NDR_OP_MIN, true, 70, in, out);
    assert_true(out[0] == INFINITY);
    for (size_t i = 1; i < 70; ++i) assert_true(i <= 40 ? isnan(out[i]) : out[i] == (i <= 60 ? 3 : 2));
    scan_floats(NDR_OP_MAX, true, 70, in, out);
    assert_true(out[0] == -INFINITY);
    for (size_t i = 1; i < 70; ++i) assert_true(i <= 40 ? isnan(out[i]) : out[i] == 3);
}

static void test_scan__lets_nan_and_infinities_into_sums_from_there_on(void **state)
{
    float in[70], out[70];
    for (size_t i = 0; i < 70; ++i) in[i] = i == 20 ? INFINITY : i == 50 ? -INFINITY : 1;
    scan_floats(NDR_OP_SUM, false, 70, in, out);
    for (size_t i = 0; i < 70; ++i)
        assert_true(i < 20 ? out[i] == (float)(i + 1) : i < 50 ? out[i] == INFINITY : isnan(out[i]));
}

/* A device may flush subnormals to 0. */
static void test_scan__takes_the_two_zeros_for_equal(void **state)
{
    const float in[] = { -0.0f, 0.0f, -0.0f, FLT_MIN / 2 };
    float out[4];
    for (ndr_op op = NDR_OP_SUM; op <= NDR_OP_MAX; ++op) {
        scan_floats(op, false, 4, in, out);
        for (size_t i = 0; i < 3; ++i) assert_true(out[i] == 0);
        assert_true(out[3] == 0 || out[3] == FLT_MIN / 2);
    }
}

static void test_scan__gives_the_same_bits_every_time_and_at_every_offset(void **state)
{
    scan c = { .dtype = NDR_DTYPE_F32, .op = NDR_OP_SUM, .count = quick() ? 600 : 100003, .seed = 8 };
    void *in = elements_of(&c);
    unsigned char *flags = calloc(c.count, 1), *first = run_scan(&c, in, flags);
    for (size_t i = 1; i < (quick() ? 3 : 9); ++i) {
        c.input_offset = i % 5;
        c.is_in_place = i % 2;
        unsigned char *again = run_scan(&c, in, flags);
        assert_memory_equal(again, first, c.count * sizeof(float));
        free(again);
    }
    free(in);
    free(flags);
    free(first);
}

/* ---- order ---- */

static void test_scan__gives_an_event_even_of_no_elements(void **state)
{
    const size_t list[] = { 0, 1, quick() ? 300 : 100003 };
    for (size_t i = 0; i < COUNT_OF(list); ++i) {
        ndr_buffer *both = buffer_of((list[i] + 1) * sizeof(int32_t), NULL);
        assert_ok(
            ndr_buffer_fill(queue, both, 0, (list[i] + 1) * sizeof(int32_t), &(int32_t){ 1 }, sizeof(int32_t), NULL));
        const ndr_scan_desc desc = {
            .dtype = NDR_DTYPE_I32, .op = NDR_OP_SUM, .input = { both, 0 }, .count = list[i], .output = { both, 0 }
        };
        ndr_event *event = NULL;
        assert_ok(ndr_scan(queue, &desc, &event));
        assert_non_null(event);
        assert_ok(ndr_event_wait(event));
        ndr_event_destroy(event);
        int32_t last;
        assert_ok(ndr_buffer_read(queue, both, (list[i] ? list[i] - 1 : 0) * sizeof last, sizeof last, &last, NULL));
        assert_int_equal(last, list[i] ? list[i] : 1);
        ndr_buffer_destroy(both);
    }
}

static void test_scan__explains_itself_without_buffers(void **state)
{
    char text[400];
    size_t length = 0;
    const ndr_scan_desc desc = { .dtype = NDR_DTYPE_F32, .op = NDR_OP_SUM, .count = 1000 };
    assert_ok(ndr_scan_explain(context, &desc, sizeof text, text, &length));
    assert_int_equal(strlen(text), length);
    unsigned named = 0;
    for (size_t i = 0; i < ndr_scan_operation.variant_count; ++i) {
        const char *name = ndr_scan_operation.variants[i]->name;
        named += strncmp(text, name, strlen(name)) == 0 && strncmp(text + strlen(name), "; ", 2) == 0;
    }
    if (named != 1) fail_msg("\"%s\" does not begin with the name of a variant", text);
}

/* ---- refusals ---- */

static ndr_status run(ndr_queue *on, const void *desc, ndr_event **event) { return ndr_scan(on, desc, event); }

static const refusal_suite refusals = {
    .call = "ndr_scan",
    .run = run,
    .descs = (const ndr_scan_desc[]){ { .dtype = NDR_DTYPE_I32, .op = NDR_OP_SUM, .count = 5, .output.offset = 1 } },
    .desc_bytes = sizeof(ndr_scan_desc),
    .desc_count = 1,
    .dtype = offsetof(ndr_scan_desc, dtype),
    .first_dtype = NDR_DTYPE_I8,
    .dtypes = "i8, u8, i16, u16, i32, u32, i64, u64, f32 or f64",
    .operands = { { .name = "input",
                    .buffer = offsetof(ndr_scan_desc, input.buffer),
                    .offset = offsetof(ndr_scan_desc, input.offset),
                    .end = 5,
                    .before = (const int32_t[]){ 1, 2, 3, 4, 5 } },
                  { .name = "output",
                    .buffer = offsetof(ndr_scan_desc, output.buffer),
                    .offset = offsetof(ndr_scan_desc, output.offset),
                    .begin = 1,
                    .end = 6,
                    .before = (const int32_t[]){ -1, -2, -3, -4, -5, -6 },
                    .after = (const int32_t[]){ -1, 1, 3, 6, 10, 15 } } },
    .operand_count = 2,
    .takes_in_place = true,
};

static void test_scan__refuses_operators_that_the_type_lacks(void **state)
{
    ndr_buffer *both = buffer_of(40, NULL);
    ndr_scan_desc desc = { .dtype = NDR_DTYPE_F32, .input = { both, 0 }, .count = 4, .output = { both, 0 } };
    assert_refused(NDR_BAD_ARGUMENT, ndr_scan(queue, &desc, NULL), "op is 0, which is not valid; use NDR_OP_SUM");
    desc.op = NDR_OP_ARG_MIN;
    assert_refused(NDR_BAD_ARGUMENT, ndr_scan(queue, &desc, NULL), "op is 10");
    desc.op = NDR_OP_BIT_AND;
    assert_refused(NDR_BAD_ARGUMENT, ndr_scan(queue, &desc, NULL), "NDR_OP_BIT_AND", "dtype is f32", "another operator");
    ndr_buffer_destroy(both);
}

static void test_scan__refuses_an_initial_value_of_another_type(void **state)
{
    const struct {
        ndr_dtype dtype;
        ndr_arg initial;
        bool is_taken;
    } cases[] = {
        { NDR_DTYPE_I8, ndr_arg_of(-128), true },
        { NDR_DTYPE_I8, ndr_arg_of(128), false },
        { NDR_DTYPE_I8, ndr_arg_of(-129), false },
        { NDR_DTYPE_U8, ndr_arg_of(255), true },
        { NDR_DTYPE_U8, ndr_arg_of(-1), false },
        { NDR_DTYPE_U8, ndr_arg_of(256u), false },
        { NDR_DTYPE_I32, ndr_arg_of(1.0f), false },
        { NDR_DTYPE_I64, ndr_arg_of(UINT64_MAX), false },
        { NDR_DTYPE_U64, ndr_arg_of(UINT64_MAX), true },
        { NDR_DTYPE_F32, ndr_arg_of(1), false },
        { NDR_DTYPE_F32, ndr_arg_of(1.0), false },
        { NDR_DTYPE_F32, ndr_arg_of(1.0f), true },
        { NDR_DTYPE_I32, ndr_null, false },
    };
    ndr_buffer *both = buffer_of(64, NULL);
    for (size_t i = 0; i < COUNT_OF(cases); ++i) {
        const ndr_scan_desc desc = { .dtype = cases[i].dtype,
                                     .op = NDR_OP_SUM,
                                     .initial = cases[i].initial,
                                     .input = { both, 0 },
                                     .count = 4,
                                     .output = { both, 4 } };
        if (cases[i].is_taken) assert_ok(ndr_scan(queue, &desc, NULL));
        else
            assert_refused(NDR_BAD_ARGUMENT, ndr_scan(queue, &desc, NULL), "ndr_scan: initial is not a value of",
                           ndr_dtype_name(cases[i].dtype), "ndr_arg_of()");
    }
    assert_ok(ndr_queue_finish(queue));
    ndr_buffer_destroy(both);
}

static void test_scan__refuses_flags_that_do_not_fit(void **state)
{
    ndr_buffer *both = buffer_of(40, NULL), *flags = buffer_of(9, NULL);
    ndr_scan_desc desc = { .dtype = NDR_DTYPE_I32,
                           .op = NDR_OP_SUM,
                           .input = { both, 0 },
                           .flags = { flags, 1 },
                           .length = 2,
                           .count = 9,
                           .output = { both, 0 } };
    assert_refused(NDR_BAD_ARGUMENT, ndr_scan(queue, &desc, NULL), "flags are set, and length is 2", "leave out");
    desc.length = 0;
    assert_refused(NDR_OUT_OF_BOUNDS, ndr_scan(queue, &desc, NULL), "flags is 9 elements from element 1", "holds 9");
    desc.count = 4;
    desc.flags = (ndr_span){ both, 12 };
    assert_refused(NDR_BAD_ARGUMENT, ndr_scan(queue, &desc, NULL), "output", "overlaps flags");
    destroy_buffers(both, flags);
}

/* ---- every variant, whatever this device would choose ---- */

static bool is_chosen(const ndr_op_variant *variant)
{
    const ndr_scan_request request = { .dtype = NDR_DTYPE_F32,
                                       .op = NDR_OP_SUM,
                                       .input = { .cols = 1000, .element_bytes = 4 } };
    return ndr_op_select(&ndr_scan_operation, &context->caps, 0, NULL, &request) == variant;
}

/* The tests that each row runs. */
#define RESULTS \
    cmocka_unit_test(test_scan__of_any_count_agrees_with_a_loop), \
    cmocka_unit_test(test_scan__takes_every_type), \
    cmocka_unit_test(test_scan__takes_every_operator), \
    cmocka_unit_test(test_scan__begins_with_an_initial_value), \
    cmocka_unit_test(test_scan__by_logical_operators_gives_0_and_1), \
    cmocka_unit_test(test_scan__by_length_scans_each_row_by_itself), \
    cmocka_unit_test(test_scan__by_flags_begins_anew_at_each), \
    cmocka_unit_test(test_scan__works_in_place), \
    cmocka_unit_test(test_scan__by_small_groups_has_rows_of_blocks_of_tiles), \
    cmocka_unit_test(test_scan__of_millions_agrees_with_a_loop), \
    cmocka_unit_test(test_scan__agrees_with_a_loop_in_generated_cases), \
    cmocka_unit_test(test_scan__leaves_nan_out_of_minima_until_there_is_a_number), \
    cmocka_unit_test(test_scan__lets_nan_and_infinities_into_sums_from_there_on), \
    cmocka_unit_test(test_scan__takes_the_two_zeros_for_equal), \
    cmocka_unit_test(test_scan__gives_the_same_bits_every_time_and_at_every_offset)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RESULTS,
        cmocka_unit_test(test_scan__gives_an_event_even_of_no_elements),
        cmocka_unit_test(test_scan__explains_itself_without_buffers),
        REFUSALS(scan, refusals),
        cmocka_unit_test(test_scan__refuses_operators_that_the_type_lacks),
        cmocka_unit_test(test_scan__refuses_an_initial_value_of_another_type),
        cmocka_unit_test(test_scan__refuses_flags_that_do_not_fit),
    };
    const struct CMUnitTest results[] = { RESULTS };
    return run_variants(&ndr_scan_operation,
                        &(variant_tests){ tests, results, COUNT_OF(tests), COUNT_OF(results), is_chosen });
}
