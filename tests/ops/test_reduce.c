/* test_reduce.c - ndr_reduce: each method, operator and type against a plain loop, and what it refuses. */
#include "support.h"

#include <math.h>

#include "forcing.h"
#include "device/context.h"
#include "ops/reduce/reduce.h"
#include "reference.h"
#include "refusals.h"

/* ---- methods, operators and types ---- */

static const ndr_dtype dtypes[] = { NDR_DTYPE_I32, NDR_DTYPE_U32, NDR_DTYPE_I64,
                                    NDR_DTYPE_U64, NDR_DTYPE_F32, NDR_DTYPE_F64 };
static const ndr_op ops[] = { NDR_OP_SUM, NDR_OP_MIN, NDR_OP_MAX };
static const char *const op_names[] = { [NDR_OP_SUM] = "sum", [NDR_OP_MIN] = "min", [NDR_OP_MAX] = "max" };
static const ndr_reduce_method methods[] = { NDR_REDUCE_TREE, NDR_REDUCE_ATOMIC, NDR_REDUCE_RECURSIVE };
static const char *const method_names[] = { "tree", "atomic", "recursive" };

/* A forced row is tested only with its own method, and with one integer type of each width, because the text over T
 * is the same; the atomic method, whose cell depends on the sign, with both of 32 bits. */
static bool is_for(const ndr_op_variant *variant, ndr_reduce_method method)
{
    return !ndr_op_cannot(variant, &(ndr_reduce_request){ .method = method });
}

static bool device_can(ndr_dtype dtype, ndr_reduce_method method)
{
    if (forced_variant && (!is_for(forced_variant, method) || dtype == NDR_DTYPE_I64)) return false;
    if (forced_variant && dtype == NDR_DTYPE_U32 && method != NDR_REDUCE_ATOMIC) return false;
    if (dtype == NDR_DTYPE_F64 && !device.has_f64) return false;
    return method != NDR_REDUCE_ATOMIC || ndr_dtype_size(dtype) < 8 || device.has_int64_atomics;
}

/* The widest float that the device has. */
static ndr_dtype widest_float(void) { return device.has_f64 ? NDR_DTYPE_F64 : NDR_DTYPE_F32; }

/* ---- one reduction, with checks of everything around it ---- */

/* Elements after the input and around the output. */
enum { GUARDS = 3 };

typedef struct reduction {
    ndr_dtype dtype;
    ndr_op op;
    ndr_reduce_method method;
    size_t count, input_offset, output_offset;
    const void *host; /* the elements before `input_offset`, those of the input, and GUARDS more */
} reduction;

static size_t bytes_of(ndr_dtype dtype, size_t count) { return count * ndr_dtype_size(dtype); }

/* Check that the elements around the output are unchanged. */
static void check_guards(const reduction *r, const unsigned char *outputs)
{
    const size_t size = ndr_dtype_size(r->dtype);
    for (size_t byte = 0; byte < bytes_of(r->dtype, r->output_offset + 1 + GUARDS); ++byte)
        if (byte / size != r->output_offset) assert_int_equal(outputs[byte], 0xa5);
}

static number reduce_on(const reduction *r, ndr_buffer *input, ndr_buffer *output)
{
    unsigned char outputs[64 * sizeof(number)];
    const size_t output_bytes = bytes_of(r->dtype, r->output_offset + 1 + GUARDS);
    assert_true(output_bytes <= sizeof outputs);
    memset(outputs, 0xa5, sizeof outputs);
    assert_ok(ndr_buffer_write(queue, output, 0, output_bytes, outputs, NULL));
    const ndr_reduce_desc desc = { .dtype = r->dtype,
                                   .op = r->op,
                                   .method = r->method,
                                   .input = { input, r->input_offset },
                                   .count = r->count,
                                   .output = { output, r->output_offset } };
    assert_ok(ndr_reduce(queue, &desc, NULL));
    read_buffer(output, outputs, output_bytes);
    check_guards(r, outputs);
    return number_get(r->dtype, outputs, r->output_offset);
}

static void check_untouched(const reduction *r, ndr_buffer *input)
{
    const size_t bytes = bytes_of(r->dtype, r->input_offset + r->count + GUARDS);
    void *after = malloc(bytes);
    read_buffer(input, after, bytes);
    assert_memory_equal(after, r->host, bytes);
    free(after);
}

/* Reduce, check that nothing else changed, and give the result. */
static number reduce(const reduction *r)
{
    ndr_buffer *input = buffer_of(bytes_of(r->dtype, r->input_offset + r->count + GUARDS), r->host);
    ndr_buffer *output = buffer_of(bytes_of(r->dtype, r->output_offset + 1 + GUARDS), NULL);
    const number got = reduce_on(r, input, output);
    check_untouched(r, input);
    ndr_buffer_destroy(input);
    ndr_buffer_destroy(output);
    return got;
}

static void fail_reduction(const reduction *r, number got)
{
    const void *input = (const char *)r->host + bytes_of(r->dtype, r->input_offset);
    print_error("%s %s of %zu %s from element %zu gave %s; the loop gives %s\n", method_names[r->method],
                op_names[r->op], r->count, ndr_dtype_name(r->dtype), r->input_offset, number_text(r->dtype, got),
                number_text(r->dtype, reference_reduce(r->dtype, r->op, input, r->count)));
    fail();
}

static void check(const reduction *r)
{
    const void *input = (const char *)r->host + bytes_of(r->dtype, r->input_offset);
    const number got = reduce(r);
    if (!reduces_to(r->dtype, r->op, r->method, input, r->count, got)) fail_reduction(r, got);
}

/* Every method that the device has for this type, each with one or no operator on each day. */
static void check_all(ndr_dtype dtype, size_t count, size_t offset, const void *host)
{
    for (size_t m = 0; m < COUNT_OF(methods); ++m)
        for (size_t o = 0; o < COUNT_OF(ops) && device_can(dtype, methods[m]); ++o)
            if (takes_case(o + m + (size_t)dtype, 5)) check(&(reduction){ dtype, ops[o], methods[m], count, offset, offset % 4, host });
}

static void *random_elements(ndr_dtype dtype, size_t count, uint64_t seed)
{
    void *array = malloc(bytes_of(dtype, count) + 1);
    for (size_t i = 0; i < count; ++i) number_set(dtype, array, i, random_number(dtype, &seed));
    return array;
}

/* ---- against a plain loop ---- */

/* 0, 1, around what an item, a group and all groups take at a time, and primes. */
static const size_t counts[] = { 0,    1,    2,    3,    7,    63,   64,   65,   255,   256,   257,
                                 1009, 2047, 2048, 2049, 4095, 4096, 4097, 8209, 65537, 100003 };
static const size_t quick_counts[] = { 0, 1, 2, 65, 257 };

static void check_counts(ndr_dtype dtype)
{
    const size_t *list = quick() ? quick_counts : counts;
    const size_t length = quick() ? COUNT_OF(quick_counts) : COUNT_OF(counts);
    void *host = random_elements(dtype, list[length - 1] + 16 + GUARDS, 1);
    for (size_t i = 0; i < length; ++i) check_all(dtype, list[i], i % 5, host);
    free(host);
}

static void test_reduce__of_any_count_agrees_with_a_loop_for_32_bit_integers(void **state)
{
    check_counts(NDR_DTYPE_I32);
    check_counts(NDR_DTYPE_U32);
}

static void test_reduce__of_any_count_agrees_with_a_loop_for_64_bit_integers(void **state)
{
    check_counts(NDR_DTYPE_I64);
    check_counts(NDR_DTYPE_U64);
}

static void test_reduce__of_any_count_agrees_with_a_loop_for_f32(void **state)
{
    check_counts(NDR_DTYPE_F32);
}

static void test_reduce__of_any_count_agrees_with_a_loop_for_f64(void **state)
{
    skip_without(device.has_f64, "the device has no f64");
    check_counts(NDR_DTYPE_F64);
}

static void test_reduce__of_a_million_agrees_with_a_loop(void **state)
{
    const size_t count = quick() ? 4099 : 1000003;
    const ndr_dtype some[] = { NDR_DTYPE_I32, NDR_DTYPE_U64, NDR_DTYPE_F32 };
    for (size_t t = 0; t < COUNT_OF(some); ++t) {
        void *host = random_elements(some[t], count + 1 + GUARDS, 2);
        for (size_t m = 0; m < COUNT_OF(methods); ++m)
            if (device_can(some[t], methods[m]))
                check(&(reduction){ some[t], ops[t], methods[m], count, 1, 2, host });
        free(host);
    }
}

/* A read one element past either end would find the extreme value there. */
static void test_reduce__reads_exactly_its_elements(void **state)
{
    const size_t list[] = { 1, 64, 65, 257, 4097 };
    for (size_t i = 0; i < (quick() ? 3 : COUNT_OF(list)); ++i) {
        const size_t count = list[i];
        int32_t *host = malloc((count + 7 + GUARDS) * sizeof *host);
        for (size_t k = 0; k < count + 7 + GUARDS; ++k) host[k] = k < 7 || k >= count + 7 ? 1 << 30 : 1;
        for (size_t m = 0; m < COUNT_OF(methods); ++m) {
            if (!device_can(NDR_DTYPE_I32, methods[m])) continue;
            const number sum = reduce(&(reduction){ NDR_DTYPE_I32, NDR_OP_SUM, methods[m], count, 7, 0, host });
            assert_int_equal(sum.i32, count);
            const number max = reduce(&(reduction){ NDR_DTYPE_I32, NDR_OP_MAX, methods[m], count, 7, 1, host });
            assert_int_equal(max.i32, 1);
        }
        free(host);
    }
}

/* A method that skipped an element would miss the extreme one. */
static void test_reduce__finds_an_extreme_wherever_it_stands(void **state)
{
    const size_t count = quick() ? 130 : 3001, step = quick() ? 43 : 101;
    float *host = calloc(count + GUARDS, sizeof *host);
    for (size_t at = 0; at < count; at += step)
        for (size_t m = 0; m < COUNT_OF(methods); ++m) {
            if (!device_can(NDR_DTYPE_F32, methods[m])) continue;
            host[at] = -1;
            check(&(reduction){ NDR_DTYPE_F32, NDR_OP_MIN, methods[m], count, 0, 0, host });
            host[at] = 1;
            check(&(reduction){ NDR_DTYPE_F32, NDR_OP_MAX, methods[m], count, 0, 0, host });
            host[at] = 0;
        }
    free(host);
}

/* ---- numbers ---- */

static void test_reduce__of_nothing_is_the_identity(void **state)
{
    for (size_t t = 0; t < COUNT_OF(dtypes); ++t)
        for (size_t m = 0; m < COUNT_OF(methods); ++m)
            for (size_t o = 0; o < COUNT_OF(ops) && device_can(dtypes[t], methods[m]); ++o) {
                const reduction r = { dtypes[t], ops[o], methods[m], 0, 0, 1, NULL };
                ndr_buffer *output = buffer_of(bytes_of(r.dtype, 2 + GUARDS), NULL);
                const number got = reduce_on(&r, NULL, output); /* without an input buffer */
                if (!number_equal(r.dtype, got, reference_reduce(r.dtype, r.op, "", 0))) fail_reduction(&r, got);
                ndr_buffer_destroy(output);
            }
}

static void test_reduce__wraps_integer_sums(void **state)
{
    const struct {
        ndr_dtype dtype;
        number x, sum_of_300;
    } rows[] = {
        { NDR_DTYPE_I32, { .i32 = INT32_MAX }, { .i32 = -300 } }, /* 300 * (2^31 - 1) = 150 * 2^32 - 300 */
        { NDR_DTYPE_U32, { .u32 = UINT32_MAX }, { .u32 = UINT32_MAX - 299 } },
        { NDR_DTYPE_I64, { .i64 = INT64_MIN }, { .i64 = 0 } },
        { NDR_DTYPE_U64, { .u64 = UINT64_MAX }, { .u64 = UINT64_MAX - 299 } },
    };
    for (size_t t = 0; t < COUNT_OF(rows); ++t) {
        uint64_t host[300 + GUARDS];
        for (size_t i = 0; i < 300 + GUARDS; ++i) number_set(rows[t].dtype, host, i, rows[t].x);
        for (size_t m = 0; m < COUNT_OF(methods); ++m) {
            if (!device_can(rows[t].dtype, methods[m])) continue;
            const reduction r = { rows[t].dtype, NDR_OP_SUM, methods[m], 300, 0, 0, host };
            const number got = reduce(&r);
            if (!number_equal(r.dtype, got, rows[t].sum_of_300)) fail_reduction(&r, got);
        }
    }
}

/* Whole numbers below 2^24 are exact in any order. */
static void test_reduce__adds_whole_floats_exactly(void **state)
{
    const size_t count = quick() ? 300 : 5000;
    float *host = calloc(count + GUARDS, sizeof *host);
    for (size_t i = 0; i < count; ++i) host[i] = (float)i;
    for (size_t m = 0; m < COUNT_OF(methods); ++m) {
        if (!device_can(NDR_DTYPE_F32, methods[m])) continue;
        const number got = reduce(&(reduction){ NDR_DTYPE_F32, NDR_OP_SUM, methods[m], count, 0, 0, host });
        assert_true(got.f32 == (float)(count * (count - 1) / 2));
    }
    free(host);
}

/* 0.1 is rounded the same way at each addition, so one long chain of additions would exceed the bound by far. */
static void check_bound(ndr_dtype dtype, number x)
{
    const size_t count = quick() ? 4099 : 1000003;
    void *host = malloc(bytes_of(dtype, count + GUARDS));
    for (size_t i = 0; i < count + GUARDS; ++i) number_set(dtype, host, i, x);
    for (size_t m = 0; m < COUNT_OF(methods); ++m)
        if (device_can(dtype, methods[m])) check(&(reduction){ dtype, NDR_OP_SUM, methods[m], count, 0, 0, host });
    free(host);
}

static void test_reduce__keeps_float_sums_within_their_bound(void **state)
{
    check_bound(NDR_DTYPE_F32, (number){ .f32 = 0.1f });
    if (device.has_f64) check_bound(NDR_DTYPE_F64, (number){ .f64 = 0.1 });
}

/* Large numbers that cancel. The bound depends on the magnitudes, not on the sum. */
static void test_reduce__keeps_sums_that_cancel_within_their_bound(void **state)
{
    const size_t count = quick() ? 200 : 10007;
    float *host = calloc(count + GUARDS, sizeof *host);
    for (size_t i = 0; i < count; ++i) host[i] = i % 2 ? -1e6f / (float)(i + 1) : 1e6f / (float)(i + 1);
    for (size_t m = 0; m < COUNT_OF(methods); ++m)
        if (device_can(NDR_DTYPE_F32, methods[m]))
            check(&(reduction){ NDR_DTYPE_F32, NDR_OP_SUM, methods[m], count, 0, 0, host });
    free(host);
}

/* Each row is put at several places among ordinary numbers. */
static void check_special(ndr_dtype dtype, const double *special, size_t specials, size_t count, bool alone)
{
    double *host = calloc(count + GUARDS, sizeof *host); /* room for either type */
    uint64_t seed = 3;
    for (size_t shift = 0; shift < (quick() ? 1 : 2); ++shift) {
        for (size_t i = 0; i < count; ++i) number_set(dtype, host, i, random_number(dtype, &seed));
        for (size_t i = 0; i < (alone ? count : specials); ++i) {
            number x;
            if (dtype == NDR_DTYPE_F32) x.f32 = (float)special[i % specials];
            else x.f64 = special[i % specials];
            number_set(dtype, host, alone ? i : (i * 89 + shift * (count - 1)) % count, x);
        }
        check_all(dtype, count, 0, host);
    }
    free(host);
}

static void check_specials(const double *special, size_t specials, bool alone)
{
    const size_t lengths[] = { 100, 3, 5000 };
    for (size_t i = 0; i < (quick() ? 1 : COUNT_OF(lengths)); ++i) {
        check_special(NDR_DTYPE_F32, special, specials, lengths[i], alone);
        if (widest_float() == NDR_DTYPE_F64 && !quick())
            check_special(NDR_DTYPE_F64, special, specials, lengths[i], alone);
    }
}

static void test_reduce__leaves_nan_out_of_minima_and_lets_it_into_sums(void **state)
{
    check_specials((const double[]){ NAN, 1.5, -NAN }, 3, false);
}

static void test_reduce__of_nothing_but_nan_is_nan(void **state)
{
    check_specials((const double[]){ NAN }, 1, true);
}

static void test_reduce__counts_infinities_as_numbers(void **state)
{
    check_specials((const double[]){ INFINITY }, 1, false);
    check_specials((const double[]){ -INFINITY }, 1, false);
    check_specials((const double[]){ INFINITY, -INFINITY }, 2, false); /* their sum is NaN */
    check_specials((const double[]){ INFINITY }, 1, true);
    check_specials((const double[]){ INFINITY, NAN }, 2, true);
}

static void test_reduce__takes_the_two_zeros_for_equal(void **state)
{
    check_specials((const double[]){ -0.0 }, 1, true);
    check_specials((const double[]){ -0.0, 0.0 }, 2, true);
}

/* The library launches it in groups of 64, in which no half is ever rounded. */
static void test_reduce__by_recursion_would_take_groups_of_any_size(void **state)
{
    const size_t sizes[] = { 1, 2, 3, 5, 7, 33, 63 };
    int32_t host[2 * 63], got[2];
    for (int32_t i = 0; i < 2 * 63; ++i) host[i] = i;
    ndr_kernel *kernel;
    const ndr_kernel_desc desc = { .name = "reduce_recursive",
                                   .bundled = "reduce/recursive.cl",
                                   .options = "-DT=int" };
    assert_ok(ndr_kernel_get(context, &desc, &kernel));
    ndr_buffer *input = buffer_of(sizeof host, host), *output = buffer_of(sizeof got, NULL);
    for (size_t i = 0; i < COUNT_OF(sizes); ++i) {
        const size_t n = fitting_group(kernel, sizes[i]);
        assert_ok(ndr_launch(queue, kernel, ndr_nd_range_1d(2 * n, n), input, 0, 2 * n, output, 0,
                             ndr_local(int32_t, n)));
        read_buffer(output, got, sizeof got);
        assert_int_equal(got[0], n * (n - 1) / 2);
        assert_int_equal(got[0] + got[1], 2 * n * (2 * n - 1) / 2);
    }
    ndr_buffer_destroy(input);
    ndr_buffer_destroy(output);
}

/* Turns with chunks: runs of a quarter of what is left for each group, two for each group, down to single chunks. */
static size_t count_turns(size_t chunks, size_t groups)
{
    size_t turns = 0;
    for (size_t run; (run = chunks / (4 * groups)) > 1; turns += 2 * groups) chunks -= run * 2 * groups;
    return turns + chunks;
}

/* The library launches a group for each compute unit. A group takes chunks until none is left, so a few groups, or
 * many, leave nothing out. */
static void test_reduce__by_chunks_takes_any_number_of_groups(void **state)
{
    enum { CHUNK = 101, MOST = 131, COUNT = MOST * CHUNK - 10, WORDS = NDR_WORKSPACE_HEAD + MOST };
    const size_t chunks[] = { 2, 10, 128, MOST }, groups[] = { 2, 3, 10, 13 };
    skip_without(takes_vectors(), "no item of the device has vector registers by itself");
    static int32_t host[COUNT], words[WORDS];
    for (int32_t i = 0; i < COUNT; ++i) host[i] = i / CHUNK;
    ndr_kernel *kernel;
    const ndr_kernel_desc desc = { .name = "reduce_each_chunk",
                                   .bundled = "reduce/tree_chunks_two_launches.cl",
                                   .options = "-DT=int" };
    assert_ok(ndr_kernel_get(context, &desc, &kernel));
    ndr_buffer *input = buffer_of(sizeof host, host), *workspace = buffer_of(sizeof words, words);
    for (size_t c = 0; c < COUNT_OF(chunks); ++c) {
        for (size_t i = 0; i < COUNT_OF(groups); ++i) {
            const size_t count = chunks[c] * CHUNK - 10;
            memset(words, 0, sizeof words);
            assert_ok(ndr_buffer_write(queue, workspace, 0, sizeof words, words, NULL));
            assert_ok(ndr_launch(queue, kernel, ndr_nd_range_1d(groups[i], 1), input, 0, count, CHUNK, workspace, 0,
                                 ndr_null, 0));
            read_buffer(workspace, words, sizeof words);
            /* each group looks once more */
            assert_int_equal(words[NDR_SLOT_TAKEN], count_turns(chunks[c], groups[i]) + groups[i]);
            for (size_t j = 0; j < MOST; ++j) {
                const size_t length = j >= chunks[c] ? 0 : j + 1 < chunks[c] ? CHUNK : CHUNK - 10;
                assert_int_equal(words[NDR_WORKSPACE_HEAD + j], j * length);
            }
        }
    }
    ndr_buffer_destroy(input);
    ndr_buffer_destroy(workspace);
}

/* ---- further operators, and integers of 8 and 16 bits ---- */

/* Element i of any integer type, as the low bits of the result. */
static uint64_t bits_at(ndr_dtype dtype, const unsigned char *array, size_t i)
{
    const size_t bytes = ndr_dtype_size(dtype);
    uint64_t bits = 0;
    memcpy(&bits, array + i * bytes, bytes);
    return bits;
}

/* With the sign's bit in every higher one, so that they are ordered as int64_t. */
static int64_t value_at(ndr_dtype dtype, const unsigned char *array, size_t i)
{
    const unsigned shift = 64 - 8 * (unsigned)ndr_dtype_size(dtype);
    const bool is_signed = dtype == NDR_DTYPE_I8 || dtype == NDR_DTYPE_I16 || dtype == NDR_DTYPE_I32;
    const uint64_t bits = bits_at(dtype, array, i);
    return is_signed ? (int64_t)(bits << shift) >> shift : (int64_t)bits;
}

static uint64_t combine_bits(ndr_op op, uint64_t a, uint64_t b)
{
    switch (op) {
    case NDR_OP_SUM: return a + b;
    case NDR_OP_PRODUCT: return a * b;
    case NDR_OP_MIN: return (int64_t)b < (int64_t)a ? b : a;
    case NDR_OP_MAX: return (int64_t)a < (int64_t)b ? b : a;
    case NDR_OP_BIT_AND: return a & b;
    case NDR_OP_BIT_OR: return a | b;
    case NDR_OP_BIT_XOR: return a ^ b;
    case NDR_OP_LOGICAL_AND: return a && b;
    default: return a || b;
    }
}

static void check_operator(ndr_op op, ndr_dtype dtype, const unsigned char *host, ndr_buffer *input, size_t offset,
                           size_t count)
{
    static const ndr_reduce_method some[] = { NDR_REDUCE_TREE, NDR_REDUCE_RECURSIVE };
    const bool is_logical = op >= NDR_OP_LOGICAL_AND;
    uint64_t wanted = is_logical ? op == NDR_OP_LOGICAL_AND : (uint64_t)value_at(dtype, host, offset);
    for (size_t i = is_logical ? 0 : 1; i < count; ++i)
        wanted = combine_bits(op, wanted, (uint64_t)value_at(dtype, host, offset + i));
    for (size_t m = 0; m < COUNT_OF(some); ++m) {
        unsigned char got[8] = { 0 };
        if (forced_variant && !is_for(forced_variant, some[m])) continue;
        ndr_buffer *output = buffer_of(8, got);
        assert_ok(ndr_reduce(queue,
                             &(const ndr_reduce_desc){ .dtype = dtype,
                                                       .op = op,
                                                       .method = some[m],
                                                       .input = { input, offset },
                                                       .count = count,
                                                       .output = { output, 0 } },
                             NULL));
        read_buffer(output, got, sizeof got);
        if (bits_at(dtype, got, 0) != bits_at(dtype, (const unsigned char *)&wanted, 0))
            fail_msg("op %d of %zu %s gave %llx, not %llx", (int)op, count, ndr_dtype_name(dtype),
                     (unsigned long long)bits_at(dtype, got, 0), (unsigned long long)wanted);
        ndr_buffer_destroy(output);
    }
}

/* Odd factors, so that products do not vanish; for the bit and logical operators one element that decides. */
static void test_reduce__has_every_operator_for_every_integer(void **state)
{
    enum { MOST = 40000 };
    static unsigned char host[8 * MOST];
    static const size_t sizes[] = { 1, 2, 63, 1009, 4097, 16384, 16385, 39989 };
    static const ndr_dtype all[] = { NDR_DTYPE_I8, NDR_DTYPE_U8, NDR_DTYPE_I16, NDR_DTYPE_U16, NDR_DTYPE_I32, NDR_DTYPE_U64 };
    size_t cases = 0;
    for (size_t t = 0; t < COUNT_OF(all); ++t)
        for (ndr_op op = NDR_OP_SUM; op <= NDR_OP_LOGICAL_OR; ++op) {
            const bool is_long = !forced_variant && number_from_env("NDR_TEST_LONG", 0) > 0;
            if (!is_long && t % 3 != (size_t)op % 3) continue;
            if (all[t] >= NDR_DTYPE_I32 && op <= NDR_OP_MAX) continue; /* tested above */
            if (!takes_case(cases++, 5)) continue;
            uint64_t seed = 7 + (uint64_t)op;
            for (size_t i = 0; i < sizeof host; ++i) host[i] = (unsigned char)(random_bits(&seed) | 1);
            if (op == NDR_OP_LOGICAL_OR) memset(host, 0, sizeof host);
            if (op == NDR_OP_LOGICAL_OR) host[ndr_dtype_size(all[t]) * 39000] = 2;
            if (op == NDR_OP_LOGICAL_AND) memset(host + ndr_dtype_size(all[t]) * 39000, 0, 8);
            ndr_buffer *input = buffer_of(sizeof host, host);
            for (size_t i = 0; i < (quick() ? 4 : COUNT_OF(sizes)); ++i)
                check_operator(op, all[t], host, input, i % 4, sizes[i]);
            ndr_buffer_destroy(input);
        }
}

static void check_float_operator(ndr_op op, const float *host, size_t count, float wanted)
{
    float got = -1;
    ndr_buffer *input = buffer_of((count + 1) * sizeof *host, host), *output = buffer_of(sizeof got, &got);
    const ndr_reduce_desc desc = { .dtype = NDR_DTYPE_F32, .op = op, .input = { input, 0 }, .count = count, .output = { output, 0 } };
    assert_ok(ndr_reduce(queue, &desc, NULL));
    read_buffer(output, &got, sizeof got);
    assert_true(got == wanted);
    ndr_buffer_destroy(input), ndr_buffer_destroy(output);
}

/* Powers of two multiply exactly. NaN is not 0; -0 is. */
static void test_reduce__multiplies_floats_and_asks_whether_they_are_zero(void **state)
{
    enum { COUNT = 5000 };
    static float host[COUNT + 1];
    if (forced_variant && !is_for(forced_variant, NDR_REDUCE_TREE)) return;
    for (size_t i = 0; i < COUNT; ++i) host[i] = i % 3 ? 1 : -1; /* 1667 times -1 */
    host[1] = 0.5f, host[1000] = 16;
    check_float_operator(NDR_OP_PRODUCT, host, COUNT, -8);
    check_float_operator(NDR_OP_PRODUCT, host, 0, 1);
    host[3] = NAN;
    check_float_operator(NDR_OP_LOGICAL_AND, host, COUNT, 1);
    check_float_operator(NDR_OP_LOGICAL_AND, host, 0, 1);
    host[4999] = -0.0f;
    check_float_operator(NDR_OP_LOGICAL_AND, host, COUNT, 0);
    for (size_t i = 0; i < COUNT; ++i) host[i] = -0.0f;
    check_float_operator(NDR_OP_LOGICAL_OR, host, COUNT, 0);
    host[4999] = NAN;
    check_float_operator(NDR_OP_LOGICAL_OR, host, COUNT, 1);
}

/* ---- elements of 16 bits, which are combined as floats ---- */

static uint16_t reduce_narrow(ndr_dtype dtype, ndr_op op, const uint16_t *host, size_t offset, size_t count)
{
    uint16_t got[3] = { 0xa5a5, 0xa5a5, 0xa5a5 };
    ndr_buffer *input = buffer_of((offset + count) * sizeof *host + 2, host), *output = buffer_of(sizeof got, got);
    const ndr_reduce_desc desc = {
        .dtype = dtype, .op = op, .input = { input, offset }, .count = count, .output = { output, 1 }
    };
    assert_ok(ndr_reduce(queue, &desc, NULL));
    read_buffer(output, got, sizeof got);
    assert_true(got[0] == 0xa5a5 && got[2] == 0xa5a5);
    ndr_buffer_destroy(input), ndr_buffer_destroy(output);
    return got[1];
}

static float narrow_value(ndr_dtype dtype, uint16_t bits)
{
    float value;
    assert_ok(ndr_widen_floats(dtype, 1, &bits, &value));
    return value;
}

static float rounded(ndr_dtype dtype, float value)
{
    uint16_t bits;
    assert_ok(ndr_narrow_floats(dtype, 1, &value, &bits));
    return narrow_value(dtype, bits);
}

/* What is stored of a float within the bound of a sum. */
static void check_narrow_sum(ndr_dtype dtype, const uint16_t *host, const float *floats, size_t offset, size_t count)
{
    const float got = narrow_value(dtype, reduce_narrow(dtype, NDR_OP_SUM, host, offset, count));
    double exact = 0, size = 0;
    for (size_t i = 0; i < count; ++i) exact += (double)floats[offset + i], size += fabs((double)floats[offset + i]);
    const double bound = size * 0x1p-23 * (2 + log2((double)count + 1));
    const float low = rounded(dtype, (float)(exact - bound)), high = rounded(dtype, (float)(exact + bound));
    if (!(got >= low && got <= high))
        fail_msg("the sum of %zu %s from element %zu is %g, not %g to %g", count, ndr_dtype_name(dtype), offset,
                 (double)got, (double)low, (double)high);
}

/* Bits of any number, with few NaN. */
static void check_narrow_extremes(ndr_dtype dtype, const uint16_t *host, const float *floats, size_t offset,
                                  size_t count)
{
    for (ndr_op op = NDR_OP_MIN; op <= NDR_OP_MAX; ++op) {
        const number got = { .f32 = narrow_value(dtype, reduce_narrow(dtype, op, host, offset, count)) };
        const number wanted = reference_reduce(NDR_DTYPE_F32, op, floats + offset, count);
        if (!number_equal(NDR_DTYPE_F32, got, wanted))
            fail_msg("the %s of %zu %s from element %zu is %s, not %s", op_names[op], count, ndr_dtype_name(dtype),
                     offset, number_text(NDR_DTYPE_F32, got), number_text(NDR_DTYPE_F32, wanted));
    }
}

static void test_reduce__of_any_count_agrees_with_a_loop_for_elements_of_16_bits(void **state)
{
    const size_t *list = quick() ? quick_counts : counts;
    const size_t length = quick() ? COUNT_OF(quick_counts) : COUNT_OF(counts), most = list[length - 1] + 4;
    if (forced_variant && !is_for(forced_variant, NDR_REDUCE_TREE)) return;
    uint16_t *host = malloc(most * sizeof *host + 2);
    float *floats = malloc(most * sizeof *floats);
    for (ndr_dtype dtype = NDR_DTYPE_F16; dtype <= NDR_DTYPE_BF16; ++dtype) {
        uint64_t seed = 9;
        for (size_t i = 0; i < most; ++i) floats[i] = random_number(NDR_DTYPE_F32, &seed).f32;
        assert_ok(ndr_narrow_floats(dtype, most, floats, host));
        assert_ok(ndr_widen_floats(dtype, most, host, floats));
        for (size_t i = 0; i < length; ++i) check_narrow_sum(dtype, host, floats, i % 4, list[i]);
        for (size_t i = 0; i < most; ++i) host[i] = (uint16_t)random_bits(&seed);
        assert_ok(ndr_widen_floats(dtype, most, host, floats));
        for (size_t i = 0; i < length; ++i) check_narrow_extremes(dtype, host, floats, i % 4, list[i]);
        for (size_t i = 0; i < most; ++i) host[i] |= 0x7fff; /* NaN */
        assert_ok(ndr_widen_floats(dtype, most, host, floats));
        check_narrow_extremes(dtype, host, floats, 1, list[length - 1]);
    }
    free(host), free(floats);
}

/* Sums that lie in the middle of two numbers, and what is combined beyond the range of f16. */
static void test_reduce__rounds_elements_of_16_bits_once_and_to_even(void **state)
{
    static const struct {
        ndr_dtype dtype;
        ndr_op op;
        uint16_t host[4], wanted;
    } rows[] = {
        { NDR_DTYPE_BF16, NDR_OP_SUM, { 0x3f80, 0x3b80, 0, 0 }, 0x3f80 },           /* 1 + 2^-8 */
        { NDR_DTYPE_BF16, NDR_OP_SUM, { 0x3f81, 0x3b80, 0, 0 }, 0x3f82 },           /* 1 + 2^-7 + 2^-8 */
        { NDR_DTYPE_BF16, NDR_OP_SUM, { 0x3f80, 0x3b00, 0x3b00, 0x3780 }, 0x3f81 }, /* 1 + 2^-9 + 2^-9 + 2^-16 */
        { NDR_DTYPE_F16, NDR_OP_SUM, { 0x3c00, 0x1000, 0, 0 }, 0x3c00 },            /* 1 + 2^-11 */
        { NDR_DTYPE_F16, NDR_OP_SUM, { 0x3c01, 0x1000, 0, 0 }, 0x3c02 },
        { NDR_DTYPE_F16, NDR_OP_SUM, { 0x7bff, 0x7bff, 0xfbff, 0xfbfe }, 0x5000 },     /* 32 */
        { NDR_DTYPE_F16, NDR_OP_SUM, { 0x7bff, 0x4c00, 0, 0 }, 0x7c00 },               /* 65504 + 16 */
        { NDR_DTYPE_F16, NDR_OP_PRODUCT, { 0x7800, 0x7800, 0x0400, 0x0400 }, 0x4400 }, /* 2^15 2^15 2^-14 2^-14 */
        { NDR_DTYPE_BF16, NDR_OP_LOGICAL_AND, { 0x8000, 0x3f80, 0x3f80, 0x3f80 }, 0 },
        { NDR_DTYPE_BF16, NDR_OP_LOGICAL_OR, { 0x8000, 0, 0x7fff, 0 }, 0x3f80 },
        { NDR_DTYPE_F16, NDR_OP_LOGICAL_AND, { 0x7fff, 1, 0x8001, 0xfc00 }, 0x3c00 },
    };
    if (forced_variant && !is_for(forced_variant, NDR_REDUCE_TREE)) return;
    for (size_t i = 0; i < COUNT_OF(rows); ++i)
        assert_int_equal(reduce_narrow(rows[i].dtype, rows[i].op, rows[i].host, 0, 4), rows[i].wanted);
    assert_int_equal(reduce_narrow(NDR_DTYPE_F16, NDR_OP_MIN, rows[0].host, 0, 0), 0x7c00);
    assert_int_equal(reduce_narrow(NDR_DTYPE_BF16, NDR_OP_PRODUCT, rows[0].host, 0, 0), 0x3f80);
}

/* ---- the same bits ---- */

static void check_same_bits(ndr_reduce_method method, ndr_dtype dtype)
{
    const size_t count = quick() ? 777 : 100003, runs = quick() ? 3 : 20;
    if (forced_variant && !is_for(forced_variant, method)) return;
    char *host = random_elements(dtype, count + GUARDS, 4);
    const number first = reduce(&(reduction){ dtype, NDR_OP_SUM, method, count, 0, 0, host });
    for (size_t run = 1; run < runs; ++run) {
        char *moved = malloc(bytes_of(dtype, run + count + GUARDS));
        memset(moved, 0x7f, bytes_of(dtype, run));
        memcpy(moved + bytes_of(dtype, run), host, bytes_of(dtype, count + GUARDS));
        const number same = reduce(&(reduction){ dtype, NDR_OP_SUM, method, count, 0, 0, host });
        const number elsewhere = reduce(&(reduction){ dtype, NDR_OP_SUM, method, count, run, run % 3, moved });
        assert_memory_equal(&same, &first, ndr_dtype_size(dtype));
        assert_memory_equal(&elsewhere, &first, ndr_dtype_size(dtype));
        free(moved);
    }
    free(host);
}

static void test_reduce__by_tree_gives_the_same_bits_every_time_and_at_every_offset(void **state)
{
    check_same_bits(NDR_REDUCE_TREE, NDR_DTYPE_F32);
    if (device.has_f64) check_same_bits(NDR_REDUCE_TREE, NDR_DTYPE_F64);
}

static void test_reduce__by_recursion_gives_the_same_bits_every_time_and_at_every_offset(void **state)
{
    check_same_bits(NDR_REDUCE_RECURSIVE, NDR_DTYPE_F32);
    if (device.has_f64) check_same_bits(NDR_REDUCE_RECURSIVE, NDR_DTYPE_F64);
}

/* ---- as enqueued work ---- */

/* A valid reduction of {1, 2, 3, 4, 5} in i32. Each refusal changes one thing in it. */
typedef struct bench {
    ndr_buffer *input, *output;
    ndr_reduce_desc desc;
} bench;

static bench bench_of(void)
{
    const int32_t five[] = { 1, 2, 3, 4, 5 }, two[] = { -1, -2 };
    bench b = { .input = buffer_of(sizeof five, five), .output = buffer_of(sizeof two, two) };
    b.desc = (ndr_reduce_desc){ .dtype = NDR_DTYPE_I32,
                                .op = NDR_OP_SUM,
                                .input = { b.input, 0 },
                                .count = 5,
                                .output = { b.output, 1 } };
    return b;
}

/* Check that nothing was written so far and that the same objects still work. */
static void close_bench(bench *b)
{
    int32_t five[5], two[2];
    read_buffer(b->input, five, sizeof five);
    read_buffer(b->output, two, sizeof two);
    assert_memory_equal(five, ((const int32_t[]){ 1, 2, 3, 4, 5 }), sizeof five);
    assert_memory_equal(two, ((const int32_t[]){ -1, -2 }), sizeof two);
    assert_ok(ndr_reduce(queue, &b->desc, NULL));
    read_buffer(b->output, two, sizeof two);
    assert_memory_equal(two, ((const int32_t[]){ -1, 15 }), sizeof two);
    ndr_buffer_destroy(b->input);
    ndr_buffer_destroy(b->output);
}

static void test_reduce__gives_an_event_that_ends_and_tells_its_time(void **state)
{
    const size_t list[] = { 0, 1, 65, quick() ? 300 : 100003 };
    float *host = random_elements(NDR_DTYPE_F32, 100003, 5);
    ndr_buffer *input = buffer_of(100003 * sizeof *host, host), *output = buffer_of(sizeof(float), NULL);
    for (size_t m = 0; m < COUNT_OF(methods); ++m)
        for (size_t i = 0; i < COUNT_OF(list); ++i) {
            const ndr_reduce_desc desc = { .dtype = NDR_DTYPE_F32,
                                           .op = NDR_OP_MAX,
                                           .method = methods[m],
                                           .input = { input, 0 },
                                           .count = list[i],
                                           .output = { output, 0 } };
            ndr_event *event = NULL;
            assert_ok(ndr_reduce(queue, &desc, &event));
            assert_non_null(event);
            assert_ok(ndr_event_wait(event));
            ndr_event_state how_far = NDR_EVENT_QUEUED;
            assert_ok(ndr_event_get_state(event, &how_far));
            assert_int_equal(how_far, NDR_EVENT_COMPLETE);
            uint64_t elapsed_ns = UINT64_MAX;
            assert_ok(ndr_event_elapsed_ns(event, &elapsed_ns));
            assert_true(elapsed_ns < UINT64_C(600000000000));
            if (list[i] == 100003) assert_true(elapsed_ns > 0);
            ndr_event_destroy(event);
        }
    ndr_buffer_destroy(input);
    ndr_buffer_destroy(output);
    free(host);
}

/* Three sums into one buffer and a sum over those, without waiting in between. */
static void test_reduce__sees_what_the_queue_did_before(void **state)
{
    for (size_t m = 0; m < COUNT_OF(methods); ++m) {
        ndr_buffer *input = buffer_of(3000 * sizeof(int32_t), NULL), *sums = buffer_of(4 * sizeof(int32_t), NULL);
        ndr_reduce_desc desc = { .dtype = NDR_DTYPE_I32, .op = NDR_OP_SUM, .method = methods[m], .count = 1000 };
        for (size_t i = 0; i < 3; ++i) {
            const int32_t pattern = (int32_t)i + 1;
            assert_ok(ndr_buffer_fill(queue, input, i * 1000 * sizeof pattern, 1000 * sizeof pattern, &pattern,
                                      sizeof pattern, NULL));
            desc.input = (ndr_span){ input, i * 1000 };
            desc.output = (ndr_span){ sums, i };
            assert_ok(ndr_reduce(queue, &desc, NULL));
        }
        desc.input = (ndr_span){ sums, 0 };
        desc.count = 3;
        desc.output = (ndr_span){ sums, 3 }; /* the same buffer, after the three sums */
        assert_ok(ndr_reduce(queue, &desc, NULL));
        int32_t got[4];
        read_buffer(sums, got, sizeof got);
        assert_memory_equal(got, ((const int32_t[]){ 1000, 2000, 3000, 6000 }), sizeof got);
        ndr_buffer_destroy(input);
        ndr_buffer_destroy(sums);
    }
}

static void test_reduce__takes_an_output_beside_the_input_in_one_buffer(void **state)
{
    const int32_t host[] = { 0, 1, 2, 3, 0 };
    for (size_t m = 0; m < COUNT_OF(methods); ++m) {
        ndr_buffer *both = buffer_of(sizeof host, host);
        ndr_reduce_desc desc = { .dtype = NDR_DTYPE_I32,
                                 .op = NDR_OP_SUM,
                                 .method = methods[m],
                                 .input = { both, 1 },
                                 .count = 3 };
        desc.output = (ndr_span){ both, 0 };
        assert_ok(ndr_reduce(queue, &desc, NULL));
        desc.output = (ndr_span){ both, 4 };
        assert_ok(ndr_reduce(queue, &desc, NULL));
        int32_t got[5];
        read_buffer(both, got, sizeof got);
        assert_memory_equal(got, ((const int32_t[]){ 6, 1, 2, 3, 6 }), sizeof got);
        ndr_buffer_destroy(both);
    }
}

static void test_reduce__lets_its_buffers_be_destroyed_while_queued(void **state)
{
    ndr_buffer *output = buffer_of(sizeof(int32_t), NULL);
    for (size_t m = 0; m < COUNT_OF(methods); ++m) {
        const size_t count = quick() ? 300 : 100003;
        ndr_buffer *input = buffer_of(count * sizeof(int32_t), NULL);
        assert_ok(ndr_buffer_fill(queue, input, 0, count * sizeof(int32_t), &(int32_t){ 1 }, sizeof(int32_t), NULL));
        const ndr_reduce_desc desc = { .dtype = NDR_DTYPE_I32,
                                       .op = NDR_OP_SUM,
                                       .method = methods[m],
                                       .input = { input, 0 },
                                       .count = count,
                                       .output = { output, 0 } };
        assert_ok(ndr_reduce(queue, &desc, NULL));
        ndr_buffer_destroy(input);
        int32_t got = 0;
        read_buffer(output, &got, sizeof got);
        assert_int_equal(got, count);
    }
    ndr_buffer_destroy(output);
}

/* ---- refusals ---- */

static ndr_status run(ndr_queue *on, const void *desc, ndr_event **event) { return ndr_reduce(on, desc, event); }

/* The sum of {1, 2, 3, 4, 5} by each method. */
static const refusal_suite refusals = {
    .call = "ndr_reduce",
    .run = run,
    .descs = (const ndr_reduce_desc[]){ { .dtype = NDR_DTYPE_I32, .op = NDR_OP_SUM, .count = 5, .output.offset = 1 },
                                        { .dtype = NDR_DTYPE_I32,
                                          .op = NDR_OP_SUM,
                                          .method = NDR_REDUCE_ATOMIC,
                                          .count = 5,
                                          .output.offset = 1 },
                                        { .dtype = NDR_DTYPE_I32,
                                          .op = NDR_OP_SUM,
                                          .method = NDR_REDUCE_RECURSIVE,
                                          .count = 5,
                                          .output.offset = 1 } },
    .desc_bytes = sizeof(ndr_reduce_desc),
    .desc_count = 3,
    .dtype = offsetof(ndr_reduce_desc, dtype),
    .first_dtype = NDR_DTYPE_I8,
    .more_dtypes = 1u << NDR_DTYPE_F16 | 1u << NDR_DTYPE_BF16,
    .dtypes = "i32, u32, i64, u64, f32, f64, f16 or bf16",
    .operands = { { .name = "input",
                    .buffer = offsetof(ndr_reduce_desc, input.buffer),
                    .offset = offsetof(ndr_reduce_desc, input.offset),
                    .end = 5,
                    .before = (const int32_t[]){ 1, 2, 3, 4, 5 } },
                  { .name = "output",
                    .buffer = offsetof(ndr_reduce_desc, output.buffer),
                    .offset = offsetof(ndr_reduce_desc, output.offset),
                    .begin = 1,
                    .end = 2,
                    .before = (const int32_t[]){ -1, -2 },
                    .after = (const int32_t[]){ -1, 15 } } },
    .operand_count = 2,
};

static void test_reduce__refuses_operators_and_methods_that_are_none(void **state)
{
    bench b = bench_of();
    ndr_reduce_desc desc = b.desc;
    desc.op = NDR_OP_NONE;
    assert_refused(NDR_BAD_ARGUMENT, ndr_reduce(queue, &desc, NULL), "op is 0", "NDR_OP_SUM, NDR_OP_MIN");
    desc.op = (ndr_op)10;
    assert_refused(NDR_BAD_ARGUMENT, ndr_reduce(queue, &desc, NULL), "op is 10");
    desc.op = NDR_OP_BIT_OR;
    desc.dtype = NDR_DTYPE_F32;
    assert_refused(NDR_BAD_ARGUMENT, ndr_reduce(queue, &desc, NULL), "NDR_OP_BIT_OR", "for integers", "f32");
    desc = b.desc;
    desc.method = (ndr_reduce_method)3;
    assert_refused(NDR_BAD_ARGUMENT, ndr_reduce(queue, &desc, NULL), "3 is not an ndr_reduce_method");
    close_bench(&b);
}

/* The atomic method's cell has 32 or 64 bits. */
static void test_reduce__refuses_other_operators_and_small_integers_by_the_atomic_method(void **state)
{
    bench b = bench_of();
    ndr_reduce_desc desc = b.desc;
    desc.method = NDR_REDUCE_ATOMIC;
    desc.op = NDR_OP_PRODUCT;
    assert_refused(NDR_BAD_ARGUMENT, ndr_reduce(queue, &desc, NULL), "atomic method", "NDR_OP_PRODUCT of i32", "NDR_REDUCE_TREE");
    desc.op = NDR_OP_SUM;
    desc.dtype = NDR_DTYPE_U8;
    assert_refused(NDR_BAD_ARGUMENT, ndr_reduce(queue, &desc, NULL), "atomic method", "NDR_OP_SUM of u8");
    close_bench(&b);
}

static void test_reduce__refuses_elements_of_16_bits_by_other_methods_and_numerics(void **state)
{
    bench b = bench_of();
    ndr_reduce_desc desc = b.desc;
    desc.dtype = NDR_DTYPE_F16;
    desc.method = NDR_REDUCE_ATOMIC;
    assert_refused(NDR_BAD_ARGUMENT, ndr_reduce(queue, &desc, NULL), "NDR_OP_SUM of f16; use NDR_REDUCE_TREE");
    desc.method = NDR_REDUCE_RECURSIVE;
    assert_refused(NDR_BAD_ARGUMENT, ndr_reduce(queue, &desc, NULL), "does not take f16; use NDR_REDUCE_TREE");
    desc.method = NDR_REDUCE_TREE;
    desc.dtype = NDR_DTYPE_BF16;
    desc.numerics = NDR_NUMERICS_REPRODUCIBLE;
    assert_refused(NDR_BAD_ARGUMENT, ndr_reduce(queue, &desc, NULL), "NDR_NUMERICS_REPRODUCIBLE", "dtype is bf16");
    desc.numerics = NDR_NUMERICS_FAST;
    desc.factors = desc.input;
    assert_refused(NDR_BAD_ARGUMENT, ndr_reduce(queue, &desc, NULL), "NDR_OP_SUM of bf16", "ndr_map_reduce()");
    desc.factors = (ndr_span){ NULL, 0 };
    desc.op = NDR_OP_BIT_OR;
    assert_refused(NDR_BAD_ARGUMENT, ndr_reduce(queue, &desc, NULL), "for integers", "bf16");
    close_bench(&b);
}

static void test_reduce__refuses_more_elements_than_there_are(void **state)
{
    bench b = bench_of();
    for (size_t m = 0; m < COUNT_OF(methods); ++m) {
        ndr_reduce_desc desc = b.desc;
        desc.method = methods[m];
        desc.count = 6;
        assert_refused(NDR_OUT_OF_BOUNDS, ndr_reduce(queue, &desc, NULL), "input is 6 elements from element 0",
                       "holds 5");
        desc.count = SIZE_MAX;
        assert_refused(NDR_OUT_OF_BOUNDS, ndr_reduce(queue, &desc, NULL), "input is", "holds 5");
    }
    close_bench(&b);
}

/* 20 bytes hold two and a half of these. */
static void test_reduce__counts_whole_elements_of_a_buffer(void **state)
{
    bench b = bench_of();
    ndr_reduce_desc desc = b.desc;
    desc.dtype = NDR_DTYPE_I64;
    desc.count = 3;
    desc.output.offset = 0;
    assert_refused(NDR_OUT_OF_BOUNDS, ndr_reduce(queue, &desc, NULL), "input is 3 elements", "holds 2");
    close_bench(&b);
}

static void test_reduce__of_nothing_needs_a_place_for_its_answer(void **state)
{
    bench b = bench_of();
    ndr_reduce_desc desc = b.desc;
    desc.count = 0;
    desc.output.buffer = NULL;
    assert_refused(NDR_BAD_ARGUMENT, ndr_reduce(queue, &desc, NULL), "output has no buffer");
    ndr_buffer *empty = buffer_of(0, NULL);
    desc.output = (ndr_span){ empty, 0 };
    assert_refused(NDR_OUT_OF_BOUNDS, ndr_reduce(queue, &desc, NULL), "output is 1 elements", "holds 0");
    ndr_buffer_destroy(empty);
    close_bench(&b);
}

/* ---- devices that lack something, by NDR_DISABLE ---- */

typedef struct limited_device {
    ndr_context *context;
    ndr_queue *queue;
    ndr_buffer *buffer;
    ndr_reduce_desc desc; /* of four elements before a fifth */
} limited_device;

static const int64_t limited_elements[5] = { 1, 2, 3, 4, -5 };

static limited_device limited_device_of(const char *disabled, ndr_dtype dtype, ndr_reduce_method method)
{
    limited_device p;
    set_env("NDR_DISABLE", disabled);
    assert_ok(ndr_context_create(NULL, &p.context));
    restore_env();
    assert_ok(ndr_queue_create(p.context, NULL, &p.queue));
    assert_ok(ndr_buffer_create_from(p.context, sizeof limited_elements, limited_elements, &p.buffer));
    p.desc = (ndr_reduce_desc){ .dtype = dtype, .op = NDR_OP_SUM, .method = method, .input = { p.buffer, 0 }, .count = 4,
                                .output = { p.buffer, 4 } };
    return p;
}

static void check_limited_buffer(const limited_device *p, int64_t last)
{
    int64_t got[5];
    assert_ok(ndr_buffer_read(p->queue, p->buffer, 0, sizeof got, got, NULL));
    assert_memory_equal(got, limited_elements, 4 * sizeof got[0]);
    assert_int_equal(got[4], last);
}

static void close_limited_device(limited_device *p)
{
    ndr_buffer_destroy(p->buffer);
    ndr_queue_destroy(p->queue);
    ndr_context_destroy(p->context);
}

static void test_reduce__refuses_the_atomic_method_where_64_bit_atomics_lack(void **state)
{
    const ndr_dtype wide[] = { NDR_DTYPE_I64, NDR_DTYPE_U64, NDR_DTYPE_F64 };
    for (size_t t = 0; t < (device.has_f64 ? 3 : 2); ++t) {
        limited_device p = limited_device_of("int64_atomics", wide[t], NDR_REDUCE_ATOMIC);
        assert_refused(NDR_UNSUPPORTED, ndr_reduce(p.queue, &p.desc, NULL), device.name, "no 64-bit atomics",
                       ndr_dtype_name(wide[t]), "use NDR_REDUCE_TREE");
        check_limited_buffer(&p, -5);
        p.desc.dtype = NDR_DTYPE_I64;
        p.desc.method = NDR_REDUCE_RECURSIVE; /* this method does not need it, nor does the tree */
        assert_ok(ndr_reduce(p.queue, &p.desc, NULL));
        check_limited_buffer(&p, 10);
        close_limited_device(&p);
    }
}

static void test_reduce__by_atomic_of_32_bits_does_without_64_bit_atomics(void **state)
{
    limited_device p = limited_device_of("int64_atomics,fp64", NDR_DTYPE_I32, NDR_REDUCE_ATOMIC);
    p.desc.output.offset = 9; /* the upper half of the fifth element */
    p.desc.count = 8;
    assert_ok(ndr_reduce(p.queue, &p.desc, NULL));
    int32_t got[10];
    assert_ok(ndr_buffer_read(p.queue, p.buffer, 0, sizeof got, got, NULL));
    assert_int_equal(got[9], 10);
    close_limited_device(&p);
}

/* ---- every variant, whatever this device would choose ---- */

static bool is_chosen(const ndr_op_variant *variant)
{
    for (size_t m = 0; m < COUNT_OF(methods); ++m) {
        const ndr_reduce_request request = { .dtype = NDR_DTYPE_F32, .method = methods[m], .input = { .cols = 1000 } };
        if (ndr_op_select(&ndr_reduce_operation, &context->caps, 0, NULL, &request) == variant) return true;
    }
    return false;
}

/* The tests that each row runs. */
#define RESULTS \
    cmocka_unit_test(test_reduce__of_any_count_agrees_with_a_loop_for_32_bit_integers), \
    cmocka_unit_test(test_reduce__of_any_count_agrees_with_a_loop_for_64_bit_integers), \
    cmocka_unit_test(test_reduce__of_any_count_agrees_with_a_loop_for_f32), \
    cmocka_unit_test(test_reduce__of_any_count_agrees_with_a_loop_for_f64), \
    cmocka_unit_test(test_reduce__of_a_million_agrees_with_a_loop), \
    cmocka_unit_test(test_reduce__reads_exactly_its_elements), \
    cmocka_unit_test(test_reduce__finds_an_extreme_wherever_it_stands), \
    cmocka_unit_test(test_reduce__of_nothing_is_the_identity), \
    cmocka_unit_test(test_reduce__wraps_integer_sums), \
    cmocka_unit_test(test_reduce__adds_whole_floats_exactly), \
    cmocka_unit_test(test_reduce__keeps_float_sums_within_their_bound), \
    cmocka_unit_test(test_reduce__keeps_sums_that_cancel_within_their_bound), \
    cmocka_unit_test(test_reduce__leaves_nan_out_of_minima_and_lets_it_into_sums), \
    cmocka_unit_test(test_reduce__of_nothing_but_nan_is_nan), \
    cmocka_unit_test(test_reduce__counts_infinities_as_numbers), \
    cmocka_unit_test(test_reduce__takes_the_two_zeros_for_equal), \
    cmocka_unit_test(test_reduce__has_every_operator_for_every_integer), \
    cmocka_unit_test(test_reduce__multiplies_floats_and_asks_whether_they_are_zero), \
    cmocka_unit_test(test_reduce__of_any_count_agrees_with_a_loop_for_elements_of_16_bits), \
    cmocka_unit_test(test_reduce__rounds_elements_of_16_bits_once_and_to_even), \
    cmocka_unit_test(test_reduce__by_tree_gives_the_same_bits_every_time_and_at_every_offset)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RESULTS,
        cmocka_unit_test(test_reduce__by_recursion_would_take_groups_of_any_size),
        cmocka_unit_test(test_reduce__by_chunks_takes_any_number_of_groups),
        cmocka_unit_test(test_reduce__by_recursion_gives_the_same_bits_every_time_and_at_every_offset),
        cmocka_unit_test(test_reduce__gives_an_event_that_ends_and_tells_its_time),
        cmocka_unit_test(test_reduce__sees_what_the_queue_did_before),
        cmocka_unit_test(test_reduce__takes_an_output_beside_the_input_in_one_buffer),
        cmocka_unit_test(test_reduce__lets_its_buffers_be_destroyed_while_queued),
        REFUSALS(reduce, refusals),
        cmocka_unit_test(test_reduce__refuses_operators_and_methods_that_are_none),
        cmocka_unit_test(test_reduce__refuses_other_operators_and_small_integers_by_the_atomic_method),
        cmocka_unit_test(test_reduce__refuses_elements_of_16_bits_by_other_methods_and_numerics),
        cmocka_unit_test(test_reduce__refuses_more_elements_than_there_are),
        cmocka_unit_test(test_reduce__counts_whole_elements_of_a_buffer),
        cmocka_unit_test(test_reduce__of_nothing_needs_a_place_for_its_answer),
        cmocka_unit_test(test_reduce__refuses_the_atomic_method_where_64_bit_atomics_lack),
        cmocka_unit_test(test_reduce__by_atomic_of_32_bits_does_without_64_bit_atomics),
    };
    const struct CMUnitTest results[] = { RESULTS };
    return run_variants(&ndr_reduce_operation,
                    &(variant_tests){ tests, results, COUNT_OF(tests), COUNT_OF(results), is_chosen });
}
