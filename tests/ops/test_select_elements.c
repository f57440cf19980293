/* test_select_elements.c - ndr_select() against a plain loop, and what it refuses. */
#include "support.h"

#include <inttypes.h>

#include "device/context.h"
#include "forcing.h"
#include "ndr/ndr_ops.h"
#include "ops/select/select.h"
#include "reference.h"

/* Bytes after the output. */
enum { GUARDS = 24 };

typedef struct selection {
    ndr_dtype dtype;
    size_t count, input_offset, flags_offset, output_offset, selected_offset;
    unsigned percent; /* of the elements that are selected */
    bool by_runs, keeps_others;
    uint64_t seed;
} selection;

static unsigned char *random_bytes(size_t count, uint64_t seed)
{
    unsigned char *bytes = malloc(count + 1);
    for (size_t i = 0; i < count; ++i) bytes[i] = (unsigned char)random_bits(&seed);
    return bytes;
}

static unsigned char *random_flags(const selection *c, size_t count)
{
    uint64_t seed = c->seed + 9;
    unsigned char *flags = calloc(count + 1, 1);
    for (size_t i = 0; i < count; ++i)
        if (random_bits(&seed) % 100 < c->percent) flags[i] = (unsigned char)(1 + random_bits(&seed) % 255);
    return flags;
}

static bool is_selected(const selection *c, const unsigned char *in, const unsigned char *flags, size_t i)
{
    const size_t size = ndr_dtype_size(c->dtype);
    const unsigned char *x = in + (c->input_offset + i) * size;
    return c->by_runs ? i == 0 || memcmp(x, x - size, size) != 0 : flags[c->flags_offset + i] != 0;
}

/* What output and starts hold afterwards, and the number of selected elements. */
static uint64_t select_on_host(const selection *c, const unsigned char *in, const unsigned char *flags,
                               unsigned char *out, uint64_t *starts)
{
    const size_t size = ndr_dtype_size(c->dtype);
    uint64_t selected = 0, stored = 0;
    for (size_t i = 0; i < c->count; ++i)
        if (is_selected(c, in, flags, i)) starts[selected++] = i;
    starts[selected] = c->count;
    for (int others = 0; others <= c->keeps_others; ++others)
        for (size_t i = 0; i < c->count; ++i)
            if (is_selected(c, in, flags, i) != others)
                memcpy(out + (c->output_offset + stored++) * size, in + (c->input_offset + i) * size, size);
    return selected;
}

/* Runs of up to some elements, by making elements equal to the one before. */
static void make_runs(const selection *c, unsigned char *in)
{
    const size_t size = ndr_dtype_size(c->dtype);
    uint64_t seed = c->seed + 4;
    for (size_t i = c->input_offset + 1; i < c->input_offset + c->count; ++i)
        if (random_bits(&seed) % 100 >= c->percent) memcpy(in + i * size, in + (i - 1) * size, size);
}

static void check(const selection *c)
{
    const size_t size = ndr_dtype_size(c->dtype);
    const size_t in_bytes = (c->input_offset + c->count) * size, flag_bytes = c->flags_offset + c->count;
    const size_t out_bytes = (c->output_offset + c->count) * size + GUARDS;
    const size_t start_bytes = (c->flags_offset + c->count + 2) * sizeof(uint64_t);
    unsigned char *in = random_bytes(in_bytes, c->seed), *flags = random_flags(c, flag_bytes);
    unsigned char *wanted = malloc(out_bytes), *got = malloc(out_bytes);
    uint64_t *starts = malloc(start_bytes), *got_starts = malloc(start_bytes);
    uint64_t counts[4] = { 7, 7, 7, 7 };
    memset(wanted, 0xa5, out_bytes);
    memset(starts, 0xa5, start_bytes);
    if (c->by_runs) make_runs(c, in);
    ndr_buffer *input = buffer_of(in_bytes, in), *marks = buffer_of(flag_bytes, flags);
    ndr_buffer *output = buffer_of(out_bytes, wanted), *selected = buffer_of(sizeof counts, counts);
    ndr_buffer *places = buffer_of(start_bytes, starts);
    ndr_select_desc desc = { .dtype = c->dtype,
                             .by_runs = c->by_runs,
                             .keeps_others = c->keeps_others,
                             .input = { input, c->input_offset },
                             .count = c->count,
                             .output = { output, c->output_offset },
                             .selected = { selected, c->selected_offset } };
    if (!c->by_runs) desc.flags = (ndr_span){ marks, c->flags_offset };
    else if (c->seed % 4) desc.starts = (ndr_span){ places, c->flags_offset };
    assert_ok(ndr_select(queue, &desc, NULL));
    counts[c->selected_offset] = select_on_host(c, in, flags, wanted, starts + c->flags_offset);
    read_buffer(output, got, out_bytes);
    if (memcmp(got, wanted, out_bytes) != 0)
        print_error("seed %" PRIu64 ", %zu elements of %zu bytes, runs %d, others %d\n", c->seed, c->count, size,
                    c->by_runs, c->keeps_others);
    assert_memory_equal(got, wanted, out_bytes);
    uint64_t got_counts[4];
    take_buffer(selected, got_counts, sizeof got_counts);
    assert_memory_equal(got_counts, counts, sizeof counts);
    take_buffer(places, got_starts, start_bytes);
    if (desc.starts.buffer) assert_memory_equal(got_starts, starts, start_bytes);
    destroy_buffers(input, marks, output);
    free(in);
    free(flags);
    free(wanted);
    free(got);
    free(starts);
    free(got_starts);
}

/* ---- results ---- */

static const unsigned percents[] = { 0, 1, 50, 99, 100 };

static void test_select__of_any_count_agrees_with_a_loop(void **state)
{
    const size_t counts[] = { 0, 1, 2, 15, 16, 17, 257, 4095, 4096, 4097, 16383, 16384, 16385, 40009, 100003 };
    const size_t quick_counts[] = { 0, 1, 17, 300 };
    const size_t *list = quick() ? quick_counts : counts;
    for (size_t i = 0; i < (quick() ? COUNT_OF(quick_counts) : COUNT_OF(counts)); ++i)
        for (size_t p = 0; p < COUNT_OF(percents); ++p)
            check(&(selection){ .dtype = NDR_DTYPE_U32,
                                .count = list[i],
                                .input_offset = i % 3,
                                .flags_offset = i % 5,
                                .output_offset = (i + p) % 4,
                                .selected_offset = p % 4,
                                .percent = percents[p],
                                .seed = i,
                                .by_runs = (i + p) % 4 == 1,
                                .keeps_others = (i + p) % 4 > 1 });
}

static void test_select__takes_every_type(void **state)
{
    for (ndr_dtype dtype = NDR_DTYPE_I8; dtype <= NDR_DTYPE_BF16; ++dtype)
        check(&(selection){ .dtype = dtype,
                            .count = quick() ? 65 : 20011,
                            .percent = 30,
                            .seed = 3,
                            .by_runs = dtype % 2,
                            .keeps_others = dtype % 3 == 0 });
}

/* Several chunks in each group, and several tiles. */
static void test_select__of_millions_agrees_with_a_loop(void **state)
{
    const size_t count = quick() ? 1031 : 4300011;
    check(&(selection){ .dtype = NDR_DTYPE_U16, .count = count, .flags_offset = 3, .percent = 40, .seed = 4 });
    check(&(selection){ .dtype = NDR_DTYPE_U32, .count = count, .percent = 60, .seed = 5, .keeps_others = true });
    check(&(selection){ .dtype = NDR_DTYPE_F32, .count = count, .percent = 1, .seed = 6, .by_runs = true });
}

static void test_select__agrees_with_a_loop_in_generated_cases(void **state)
{
    const uint64_t first = number_from_env("NDR_TEST_SEED", 1);
    const size_t count = quick() ? 3 : 24;
    print_message("NDR_TEST_SEED=%" PRIu64 ": %zu selections\n", first, count);
    for (uint64_t seed = first; seed < first + count; ++seed) {
        uint64_t s = seed;
        check(&(selection){ .dtype = (ndr_dtype)(1 + random_bits(&s) % 11),
                            .count = random_below(&s, quick() ? 400 : 200000),
                            .input_offset = random_below(&s, 9),
                            .flags_offset = random_below(&s, 9),
                            .output_offset = random_below(&s, 9),
                            .selected_offset = random_below(&s, 4),
                            .percent = (unsigned)(random_bits(&s) % 101),
                            .seed = s,
                            .by_runs = seed % 2,
                            .keeps_others = seed % 5 < 2 });
    }
}

static void test_select__explains_itself_without_buffers(void **state)
{
    char text[400];
    assert_ok(
        ndr_select_explain(context, &(ndr_select_desc){ .dtype = NDR_DTYPE_F16, .count = 9 }, sizeof text, text, NULL));
    assert_true(strncmp(text, "chunks; ", 8) == 0 || strncmp(text, "tiles; ", 7) == 0);
}

/* ---- refusals ---- */

typedef struct bench {
    ndr_buffer *input, *flags, *output, *selected;
    ndr_select_desc desc;
} bench;

static bench bench_of(void)
{
    const unsigned char flags[6] = { 1, 0, 1, 0, 0, 1 };
    const int32_t input[6] = { 1, 2, 3, 4, 5, 6 };
    bench b = { buffer_of(sizeof input, input),
                buffer_of(sizeof flags, flags),
                buffer_of(sizeof input, NULL),
                buffer_of(sizeof(uint64_t), NULL),
                { .dtype = NDR_DTYPE_I32 } };
    b.desc = (ndr_select_desc){ .dtype = NDR_DTYPE_I32,
                                .input = { b.input, 0 },
                                .flags = { b.flags, 0 },
                                .count = 6,
                                .output = { b.output, 0 },
                                .selected = { b.selected, 0 } };
    return b;
}

/* Check that the same objects still work. */
static void close_bench(bench *b)
{
    int32_t got[6];
    uint64_t selected;
    assert_ok(ndr_select(queue, &b->desc, NULL));
    read_buffer(b->output, got, 3 * sizeof *got);
    read_buffer(b->selected, &selected, sizeof selected);
    assert_int_equal(selected, 3);
    assert_memory_equal(got, ((const int32_t[]){ 1, 3, 6 }), 3 * sizeof *got);
    destroy_buffers(b->input, b->flags, b->output, b->selected);
}

static void test_select__refuses_what_is_missing(void **state)
{
    bench b = bench_of();
    ndr_select_desc desc = b.desc;
    assert_refused(NDR_BAD_ARGUMENT, ndr_select(NULL, &desc, NULL), "ndr_select: queue is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_select(queue, NULL, NULL), "ndr_select: desc is NULL");
    desc.dtype = NDR_DTYPE_NONE;
    assert_refused(NDR_BAD_ARGUMENT, ndr_select(queue, &desc, NULL), "ndr_select: dtype is not set");
    desc.dtype = (ndr_dtype)99;
    assert_refused(NDR_BAD_ARGUMENT, ndr_select(queue, &desc, NULL), "ndr_select: dtype is not valid");
    desc = b.desc;
    desc.flags.buffer = NULL;
    assert_refused(NDR_BAD_ARGUMENT, ndr_select(queue, &desc, NULL), "flags has no buffer");
    desc = b.desc;
    desc.selected.buffer = NULL;
    assert_refused(NDR_BAD_ARGUMENT, ndr_select(queue, &desc, NULL), "selected has no buffer");
    close_bench(&b);
}

static void test_select__refuses_flags_and_runs_at_once(void **state)
{
    bench b = bench_of();
    ndr_select_desc desc = b.desc;
    desc.by_runs = true;
    assert_refused(NDR_BAD_ARGUMENT, ndr_select(queue, &desc, NULL), "by_runs and flags are set", "leave out the other");
    desc = b.desc;
    desc.starts.buffer = b.selected;
    assert_refused(NDR_BAD_ARGUMENT, ndr_select(queue, &desc, NULL), "starts are set, but by_runs is not");
    desc.by_runs = true;
    desc.flags.buffer = NULL;
    assert_refused(NDR_OUT_OF_BOUNDS, ndr_select(queue, &desc, NULL), "starts is 7 elements", "holds 1");
    close_bench(&b);
}

static void test_select__refuses_elements_past_the_end(void **state)
{
    bench b = bench_of();
    ndr_select_desc desc = b.desc;
    desc.count = 7;
    assert_refused(NDR_OUT_OF_BOUNDS, ndr_select(queue, &desc, NULL), "input is 7 elements from element 0", "holds 6");
    desc = b.desc;
    desc.flags.offset = 1;
    assert_refused(NDR_OUT_OF_BOUNDS, ndr_select(queue, &desc, NULL), "flags is 6 elements from element 1", "holds 6");
    desc = b.desc;
    desc.output.offset = SIZE_MAX;
    assert_refused(NDR_OUT_OF_BOUNDS, ndr_select(queue, &desc, NULL), "output is 6 elements");
    desc = b.desc;
    desc.selected.offset = 1;
    assert_refused(NDR_OUT_OF_BOUNDS, ndr_select(queue, &desc, NULL), "selected is 1 elements from element 1");
    close_bench(&b);
}

static void test_select__refuses_outputs_that_overlap_anything(void **state)
{
    bench b = bench_of();
    ndr_select_desc desc = b.desc;
    desc.output.buffer = b.input;
    assert_refused(NDR_BAD_ARGUMENT, ndr_select(queue, &desc, NULL), "output", "overlaps input", "move one of them");
    desc = b.desc;
    desc.selected.buffer = b.output;
    assert_refused(NDR_BAD_ARGUMENT, ndr_select(queue, &desc, NULL), "selected", "overlaps output");
    desc.selected.buffer = b.input;
    assert_refused(NDR_BAD_ARGUMENT, ndr_select(queue, &desc, NULL), "selected", "overlaps input");
    close_bench(&b);
}

/* ---- every variant, whatever this device would choose ---- */

static bool is_chosen(const ndr_op_variant *variant)
{
    const ndr_select_request request = { .count = 1000, .element_bytes = 4 };
    return ndr_op_select(&ndr_select_operation, &context->caps, 0, NULL, &request) == variant;
}

/* The tests that each row runs. */
#define RESULTS \
    cmocka_unit_test(test_select__of_any_count_agrees_with_a_loop), \
    cmocka_unit_test(test_select__takes_every_type), \
    cmocka_unit_test(test_select__of_millions_agrees_with_a_loop), \
    cmocka_unit_test(test_select__agrees_with_a_loop_in_generated_cases)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RESULTS,
        cmocka_unit_test(test_select__explains_itself_without_buffers),
        cmocka_unit_test(test_select__refuses_what_is_missing),
        cmocka_unit_test(test_select__refuses_flags_and_runs_at_once),
        cmocka_unit_test(test_select__refuses_elements_past_the_end),
        cmocka_unit_test(test_select__refuses_outputs_that_overlap_anything),
    };
    const struct CMUnitTest results[] = { RESULTS };
    return run_variants(&ndr_select_operation,
                        &(variant_tests){ tests, results, COUNT_OF(tests), COUNT_OF(results), is_chosen });
}
