/* test_merge.c - ndr_merge() and ndr_merge_sort() against sorts on the host, and what they refuse. */
#include "support.h"

#include <inttypes.h>
#include <math.h>

#include "device/context.h"
#include "forcing.h"
#include "ndr/ndr_ops.h"
#include "ops/merge/merge.h"
#include "reference.h"

/* An element whose order does not depend on all of it. */
struct pair {
    uint32_t key, place, more;
};
#define PAIR "struct pair { uint key, place, more; };"

typedef struct sorting {
    ndr_dtype dtype; /* NONE: struct pair */
    bool is_descending, is_in_place;
    size_t count, length, segments, input_offset, output_offset;
    uint64_t seed;
} sorting;

static size_t bytes_of(const sorting *c) { return c->dtype ? ndr_dtype_size(c->dtype) : sizeof(struct pair); }

/* ---- the host ---- */

static bool is_number_less(ndr_dtype dtype, number a, number b)
{
    switch (dtype) {
    case NDR_DTYPE_I8: return (int8_t)a.u64 < (int8_t)b.u64;
    case NDR_DTYPE_I16: return (int16_t)a.u64 < (int16_t)b.u64;
    case NDR_DTYPE_I32: return a.i32 < b.i32;
    case NDR_DTYPE_I64: return a.i64 < b.i64;
    case NDR_DTYPE_F32: return a.f32 < b.f32 || (isnan(b.f32) && !isnan(a.f32));
    case NDR_DTYPE_F64: return a.f64 < b.f64 || (isnan(b.f64) && !isnan(a.f64));
    default: return a.u64 < b.u64;
    }
}

static bool is_less(const sorting *c, const void *elements, size_t i, size_t j)
{
    const struct pair *pairs = elements;
    const size_t a = c->is_descending ? j : i, b = c->is_descending ? i : j;
    if (!c->dtype) return pairs[a].key < pairs[b].key;
    return is_number_less(c->dtype, number_get(c->dtype, elements, a), number_get(c->dtype, elements, b));
}

/* Put the places of elements [begin, end) in order, by a merge sort. */
static void sort_places(const sorting *c, const void *elements, size_t *places, size_t *temp, size_t begin, size_t end)
{
    const size_t middle = begin + (end - begin) / 2;
    if (end - begin < 2) return;
    sort_places(c, elements, places, temp, begin, middle);
    sort_places(c, elements, places, temp, middle, end);
    for (size_t i = begin, j = middle, to = begin; to < end; ++to)
        temp[to] = i < middle && (j == end || !is_less(c, elements, places[j], places[i])) ? places[i++] : places[j++];
    memcpy(places + begin, temp + begin, (end - begin) * sizeof *places);
}

/* `starts` has the indexes where segments begin, and the count behind them. */
static void sort_on_host(const sorting *c, const unsigned char *in, const uint64_t *starts, size_t segments,
                         unsigned char *out)
{
    const size_t size = bytes_of(c);
    size_t *places = malloc((c->count + 1) * sizeof *places), *temp = malloc((c->count + 1) * sizeof *temp);
    for (size_t i = 0; i < c->count; ++i) places[i] = i;
    for (size_t s = 0; s < segments; ++s) sort_places(c, in, places, temp, (size_t)starts[s], (size_t)starts[s + 1]);
    for (size_t i = 0; i < c->count; ++i) memcpy(out + i * size, in + places[i] * size, size);
    free(places);
    free(temp);
}

/* ---- elements ---- */

/* Many are equal. */
static unsigned char *elements_of(const sorting *c)
{
    uint64_t seed = c->seed;
    unsigned char *elements = calloc(c->count + 1, bytes_of(c));
    for (size_t i = 0; i < c->count; ++i) {
        number x = c->dtype ? random_number(c->dtype, &seed) : (number){ 0 };
        if (is_float(c->dtype) && random_bits(&seed) % 8 == 0) {
            const float special[] = { NAN, INFINITY, -INFINITY, -0.0f, 0.0f };
            const float chosen = special[random_bits(&seed) % COUNT_OF(special)];
            if (c->dtype == NDR_DTYPE_F32) x.f32 = chosen;
            else x.f64 = (double)chosen;
        }
        if (c->dtype) number_set(c->dtype, elements, i, x);
        else ((struct pair *)(void *)elements)[i] = (struct pair){ (uint32_t)(random_bits(&seed) % 50), (uint32_t)i, 7 };
    }
    return elements;
}

/* Where segments begin, with empty ones; `count` behind them. */
static uint64_t *starts_of(const sorting *c, size_t *segments)
{
    uint64_t seed = c->seed + 3;
    *segments = c->segments          ? c->segments + 1
                : c->length && c->count ? (c->count + c->length - 1) / c->length
                                        : 1;
    uint64_t *starts = calloc(*segments + 1, sizeof *starts);
    for (size_t s = 1; s < *segments; ++s) {
        const size_t random = random_below(&seed, c->count + 1);
        size_t at = s;
        if (!c->segments) starts[s] = s * c->length;
        else for (starts[s] = random; at > 1 && starts[at - 1] > random; --at) starts[at] = starts[at - 1], starts[at - 1] = random;
    }
    starts[*segments] = c->count;
    return starts;
}

static void check_bytes(const sorting *c, ndr_buffer *output, const unsigned char *wanted, size_t bytes)
{
    unsigned char *got = malloc(bytes);
    read_buffer(output, got, bytes);
    if (memcmp(got, wanted, bytes) != 0)
        print_error("dtype %d, %zu elements, length %zu, %zu segments, descending %d, in place %d, seed %" PRIu64 "\n",
                    (int)c->dtype, c->count, c->length, c->segments, c->is_descending, c->is_in_place, c->seed);
    assert_memory_equal(got, wanted, bytes);
    free(got);
}

static const char *less_of(const sorting *c)
{
    if (c->dtype) return !c->is_descending ? NULL : is_float(c->dtype) ? "(a > b) | ((a != a) & (b == b))" : "a > b";
    return c->is_descending ? "a.key > b.key" : "a.key < b.key";
}

static void check_sort(const sorting *c)
{
    if (c->dtype == NDR_DTYPE_F64 && !device.has_f64) return;
    const size_t size = bytes_of(c), in_at = c->is_in_place ? c->output_offset : c->input_offset;
    const size_t in_bytes = (in_at + c->count + 1) * size, out_bytes = (c->output_offset + c->count + 1) * size;
    size_t segments;
    unsigned char *elements = elements_of(c), *in = malloc(in_bytes), *wanted = malloc(out_bytes);
    uint64_t *starts = starts_of(c, &segments);
    memset(in, 0xa5, in_bytes);
    memset(wanted, 0xa5, out_bytes);
    memcpy(in + in_at * size, elements, c->count * size);
    ndr_buffer *input = buffer_of(in_bytes, in), *output = c->is_in_place ? input : buffer_of(out_bytes, wanted);
    ndr_buffer *marks = buffer_of((segments + 1) * sizeof *starts, starts);
    const ndr_merge_sort_desc desc = { .dtype = c->dtype,
                                       .element = c->dtype ? NULL : "struct pair",
                                       .element_bytes = c->dtype ? 0 : sizeof(struct pair),
                                       .less = less_of(c),
                                       .declarations = c->dtype ? NULL : PAIR,
                                       .input = { input, in_at },
                                       .starts = { marks, 1 },
                                       .segments = c->segments,
                                       .length = c->length,
                                       .count = c->count,
                                       .output = { output, c->output_offset } };
    assert_ok(ndr_merge_sort(queue, &desc, NULL));
    sort_on_host(c, elements, starts, segments, wanted + c->output_offset * size);
    check_bytes(c, output, wanted, out_bytes);
    ndr_buffer_destroy(input);
    if (!c->is_in_place) ndr_buffer_destroy(output);
    ndr_buffer_destroy(marks);
    free(elements);
    free(in);
    free(wanted);
    free(starts);
}

/* Sort two parts on the host; merged they are the stable sort of all. */
static void check_merge(const sorting *c, size_t first_count)
{
    if (c->dtype == NDR_DTYPE_F64 && !device.has_f64) return;
    const size_t size = bytes_of(c), out_bytes = (c->output_offset + c->count + 1) * size;
    const uint64_t parts[] = { 0, first_count, c->count }, whole[] = { 0, c->count };
    unsigned char *elements = elements_of(c), *sorted = malloc((c->count + 1) * size), *wanted = malloc(out_bytes);
    memset(wanted, 0xa5, out_bytes);
    sort_on_host(c, elements, parts, 2, sorted);
    ndr_buffer *both = buffer_of((c->count + 1) * size, sorted), *output = buffer_of(out_bytes, wanted);
    const ndr_merge_desc desc = { .dtype = c->dtype,
                                  .element = c->dtype ? NULL : "struct pair",
                                  .element_bytes = c->dtype ? 0 : sizeof(struct pair),
                                  .less = less_of(c),
                                  .declarations = c->dtype ? NULL : PAIR,
                                  .first = { both, 0 },
                                  .first_count = first_count,
                                  .second = { both, first_count },
                                  .second_count = c->count - first_count,
                                  .output = { output, c->output_offset } };
    assert_ok(ndr_merge(queue, &desc, NULL));
    sort_on_host(c, elements, whole, 1, wanted + c->output_offset * size);
    check_bytes(c, output, wanted, out_bytes);
    destroy_buffers(both, output);
    free(elements);
    free(sorted);
    free(wanted);
}

/* ---- results ---- */

static void test_merge_sort__of_any_count_is_stable(void **state)
{
    const size_t counts[] = { 0, 1, 2, 15, 16, 17, 31, 32, 33, 1021, 1024, 1025, 4095, 4097, 8193, 65537 };
    for (size_t i = 0; i < (quick() ? 8 : COUNT_OF(counts)); ++i) {
        check_sort(&(sorting){ .count = counts[i], .input_offset = i % 3, .output_offset = i % 2, .seed = i });
        check_merge(&(sorting){ .count = counts[i], .output_offset = i % 3, .seed = i }, counts[i] / 3);
    }
}

static void test_merge_sort__takes_every_number(void **state)
{
    for (ndr_dtype dtype = NDR_DTYPE_I8; dtype <= NDR_DTYPE_F64; ++dtype) {
        const sorting c = { .dtype = dtype, .is_descending = dtype % 3 == 0, .count = quick() ? 70 : 3001, .seed = 5 };
        check_sort(&c);
        check_merge(&c, c.count - c.count / 5);
    }
}

static void test_merge_sort__sorts_each_segment(void **state)
{
    const size_t lengths[] = { 1, 7, 16, 100, 1000, 100000 }, many[] = { 1, 2, 60, 3000 };
    const size_t count = quick() ? 200 : 20011;
    for (size_t i = 0; i < (quick() ? 4 : COUNT_OF(lengths)); ++i)
        check_sort(&(sorting){ .count = count, .length = lengths[i], .is_in_place = i % 2, .seed = i });
    for (size_t i = 0; i < (quick() ? 3 : COUNT_OF(many)); ++i)
        check_sort(&(sorting){ .count = count, .segments = many[i], .is_in_place = i % 2, .seed = i });
}

static void test_merge_sort__agrees_with_the_host_in_generated_cases(void **state)
{
    const uint64_t first = number_from_env("NDR_TEST_SEED", 1);
    const size_t cases = quick() ? 4 : 30;
    print_message("NDR_TEST_SEED=%" PRIu64 ": %zu sorts and merges\n", first, cases);
    for (uint64_t seed = first; seed < first + cases; ++seed) {
        static const ndr_dtype dtypes[] = { NDR_DTYPE_NONE, NDR_DTYPE_U32, NDR_DTYPE_F32 };
        uint64_t s = seed;
        sorting c = { .dtype = dtypes[random_bits(&s) % COUNT_OF(dtypes)] };
        c.is_descending = random_bits(&s) % 2;
        c.is_in_place = random_bits(&s) % 2;
        c.count = random_below(&s, quick() ? 300 : 60000);
        c.input_offset = random_below(&s, 5);
        c.output_offset = random_below(&s, 5);
        c.seed = s;
        if (random_bits(&s) % 3 == 0) c.length = 1 + random_below(&s, c.count + 1);
        else if (random_bits(&s) % 2) c.segments = 1 + random_below(&s, 300);
        check_sort(&c);
        check_merge(&c, random_below(&s, c.count + 1));
    }
}

/* ---- refusals ---- */

/* A descriptor that sorts 9 8 7 ... 1 in `x`. */
static ndr_merge_sort_desc sort_of(ndr_buffer **x)
{
    const int32_t values[] = { 9, 8, 7, 6, 5, 4, 3, 2, 1 };
    *x = buffer_of(sizeof values, values);
    return (ndr_merge_sort_desc){ .dtype = NDR_DTYPE_I32, .input = { *x, 0 }, .count = 9, .output = { *x, 0 } };
}

/* Refused calls changed nothing, and the same objects still work. */
static void close_sort(const ndr_merge_sort_desc *desc, ndr_buffer *x)
{
    int32_t got[9];
    read_buffer(x, got, sizeof got);
    assert_memory_equal(got, ((const int32_t[]){ 9, 8, 7, 6, 5, 4, 3, 2, 1 }), sizeof got);
    assert_ok(ndr_merge_sort(queue, desc, NULL));
    take_buffer(x, got, sizeof got);
    assert_memory_equal(got, ((const int32_t[]){ 1, 2, 3, 4, 5, 6, 7, 8, 9 }), sizeof got);
}

#define SORT_REFUSES(code, change, ...)                                          \
    do {                                                                         \
        ndr_merge_sort_desc desc = good;                                         \
        change;                                                                  \
        assert_refused(code, ndr_merge_sort(queue, &desc, NULL), __VA_ARGS__);   \
    } while (0)

static void test_merge_sort__refuses_what_does_not_fit(void **state)
{
    ndr_buffer *x;
    const ndr_merge_sort_desc good = sort_of(&x);
    assert_refused(NDR_BAD_ARGUMENT, ndr_merge_sort(NULL, &good, NULL), "ndr_merge_sort: queue is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_merge_sort(queue, NULL, NULL), "ndr_merge_sort: desc is NULL");
    SORT_REFUSES(NDR_BAD_ARGUMENT, desc.dtype = NDR_DTYPE_NONE, "ndr_merge_sort: dtype is not set", "or set element");
    SORT_REFUSES(NDR_BAD_ARGUMENT, desc.dtype = NDR_DTYPE_F16, "dtype is f16", "use i8");
    SORT_REFUSES(NDR_BAD_ARGUMENT, desc.element = "struct pair", "element is set, too");
    SORT_REFUSES(NDR_BAD_ARGUMENT, (desc.dtype = NDR_DTYPE_NONE, desc.element = "int2"), "element_bytes is 0", "int2");
    SORT_REFUSES(NDR_BAD_ARGUMENT, (desc.dtype = NDR_DTYPE_NONE, desc.element = "int2", desc.element_bytes = 8),
                 "have no order", "set less");
    SORT_REFUSES(NDR_BAD_ARGUMENT, desc.less = " \n", "less is empty");
    SORT_REFUSES(NDR_BAD_ARGUMENT, desc.less = "a < b; 1", "less \"a < b; 1\" goes on behind a ;");
    SORT_REFUSES(NDR_BAD_ARGUMENT, desc.declarations = "/*", "declarations \"/*\" begins a comment");
    SORT_REFUSES(NDR_BAD_ARGUMENT, (desc.length = 2, desc.segments = 1), "leave out the other");
    SORT_REFUSES(NDR_BAD_ARGUMENT, desc.segments = 1, "starts has no buffer");
    SORT_REFUSES(NDR_OUT_OF_BOUNDS, desc.count = 10, "input is 10 elements", "holds 9");
    SORT_REFUSES(NDR_BAD_ARGUMENT, (desc.count = 5, desc.output.offset = 4), "output", "overlaps input");
    close_sort(&good, x);
}

static void test_merge_sort__shows_the_line_of_an_error(void **state)
{
    ndr_buffer *x;
    const ndr_merge_sort_desc good = sort_of(&x);
    SORT_REFUSES(NDR_BUILD_FAILED, desc.less = "a <\n    nothing", "less:2:5", "nothing");
    SORT_REFUSES(NDR_BAD_ARGUMENT,
                 (desc.dtype = NDR_DTYPE_NONE, desc.element = "int", desc.element_bytes = 8, desc.count = 4,
                  desc.less = "a < b"),
                 "element_bytes is 8, but \"int\" has another size");
    close_sort(&good, x);
}

static void test_merge__refuses_outputs_that_overlap_an_input(void **state)
{
    const int32_t values[] = { 1, 3, 5, 2, 4, 6, 0, 0, 0, 0, 0, 0 };
    ndr_buffer *x = buffer_of(sizeof values, values);
    ndr_merge_desc desc = { .dtype = NDR_DTYPE_I32,
                            .first = { x, 0 },
                            .first_count = 3,
                            .second = { x, 3 },
                            .second_count = 3,
                            .output = { x, 0 } };
    assert_refused(NDR_BAD_ARGUMENT, ndr_merge(queue, &desc, NULL), "ndr_merge: output", "overlaps first");
    desc.output.offset = 5;
    assert_refused(NDR_BAD_ARGUMENT, ndr_merge(queue, &desc, NULL), "overlaps second");
    desc.output.offset = 6;
    desc.first_count = SIZE_MAX;
    assert_refused(NDR_OUT_OF_BOUNDS, ndr_merge(queue, &desc, NULL), "together more than a size_t counts");
    desc.first_count = 3;
    assert_refused(NDR_BAD_ARGUMENT, ndr_merge(NULL, &desc, NULL), "ndr_merge: queue is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_merge(queue, NULL, NULL), "ndr_merge: desc is NULL");
    int32_t got[12];
    assert_ok(ndr_merge(queue, &desc, NULL));
    take_buffer(x, got, sizeof got);
    assert_memory_equal(got, ((const int32_t[]){ 1, 3, 5, 2, 4, 6, 1, 2, 3, 4, 5, 6 }), sizeof got);
}

static void test_merge__explains_itself_without_buffers(void **state)
{
    char text[400];
    assert_ok(ndr_merge_explain(context, &(ndr_merge_desc){ .dtype = NDR_DTYPE_U8 }, sizeof text, text, NULL));
    assert_string_equal(text, "shares");
    assert_ok(
        ndr_merge_sort_explain(context, &(ndr_merge_sort_desc){ .dtype = NDR_DTYPE_U8 }, sizeof text, text, NULL));
    assert_string_equal(text, "shares");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_merge_sort__of_any_count_is_stable),
        cmocka_unit_test(test_merge_sort__takes_every_number),
        cmocka_unit_test(test_merge_sort__sorts_each_segment),
        cmocka_unit_test(test_merge_sort__agrees_with_the_host_in_generated_cases),
        cmocka_unit_test(test_merge_sort__refuses_what_does_not_fit),
        cmocka_unit_test(test_merge_sort__shows_the_line_of_an_error),
        cmocka_unit_test(test_merge__refuses_outputs_that_overlap_an_input),
        cmocka_unit_test(test_merge__explains_itself_without_buffers),
    };
    return cmocka_run_group_tests_name("merge", tests, open_device, close_device);
}
