/* test_large.c - operations on more than 2^32 elements, in buffers of more than 4 GiB: on GPUs with enough memory.
 *
 * Element i is i % 251. So each result has a formula, and the device compares. NDR_TEST_ELEMENTS=n takes n elements, on
 * any device. */
#include "support.h"

#include <inttypes.h>

#include "device/context.h"
#include "forcing.h"
#include "ndr/ndr_ops.h"
#include "ops/histogram/histogram.h"
#include "ops/scan/scan.h"
#include "ops/sort/sort.h"

enum { PERIOD = 251, SUM_OF_PERIOD = PERIOD * (PERIOD - 1) / 2, GUARDS = 5 };

/* CHECK: byte k of the first n is WANTED, and those behind are as before. `count` elements are in x. */
static const char text[] =
    "#include \"ndr/item.clh\"\n"
    "#define EACH(k, n) ulong k = ndr_global_id(NDR_ITEM(1), 0); k < (n); k += ndr_global_range(NDR_ITEM(1), 0)\n"
    "kernel void fill(global uchar *x, ulong n, NDR_RANGE(1)) { for (EACH(k, n)) x[k] = k % 251; }\n"
    "kernel void flag(global uchar *x, ulong n, NDR_RANGE(1)) { for (EACH(k, n)) x[k] = k % 3 == 1; }\n"
    "ulong sum_before(ulong k) { return k / 251 * (251 * 250 / 2) + k % 251 * (k % 251 - 1) / 2; }\n"
    "uchar sorted(ulong k, ulong count)\n"
    "{\n"
    "    const ulong each = count / 251, more = count % 251, first = more * (each + 1);\n"
    "    return k < first ? k / (each + 1) : more + (k - first) / each;\n"
    "}\n"
    "#define CHECK(name, WANTED)                                                                                \\\n"
    "    kernel void name(global const uchar *y, ulong n, ulong count, global uint *wrong, NDR_RANGE(1))        \\\n"
    "    {                                                                                                      \\\n"
    "        for (EACH(k, n + 5))                                                                               \\\n"
    "            if (y[k] != (k < n ? (uchar)(WANTED) : 0xa5)) atomic_inc(wrong);                               \\\n"
    "    }\n"
    "CHECK(inclusive, sum_before(k + 1))\n"
    "CHECK(backward, sum_before(count) - sum_before(k + 1))\n"
    "CHECK(selected, (3 * k + 1) % 251)\n"
    "CHECK(in_order, sorted(k, count))\n";

static size_t count;
static const char *missing; /* why nothing can be tested here; NULL: it can */
static ndr_buffer *x, *y;

static void run(const char *name, ndr_buffer *on)
{
    assert_ok(ndr_launch(queue, kernel_of(text, name), ndr_range_1d(1 << 20), on, (uint64_t)count));
}

/* What a result has before. */
static void forget(void)
{
    const unsigned char guard = 0xa5;
    assert_ok(ndr_buffer_fill(queue, y, 0, count + GUARDS, &guard, 1, NULL));
}

static void check(const char *name, size_t n)
{
    uint32_t wrong = 0;
    ndr_buffer *counter = buffer_of(sizeof wrong, &wrong);
    assert_ok(
        ndr_launch(queue, kernel_of(text, name), ndr_range_1d(1 << 20), y, (uint64_t)n, (uint64_t)count, counter));
    take_buffer(counter, &wrong, sizeof wrong);
    if (wrong) fail_msg("%s: %" PRIu32 " of %zu elements, or guards, are wrong", name, wrong, n);
}

static uint64_t sum_of_all(void)
{
    const uint64_t rest = count % PERIOD;
    return count / PERIOD * SUM_OF_PERIOD + rest * (rest - 1) / 2;
}

static uint64_t count_of(unsigned value) { return count / PERIOD + (value < count % PERIOD); }

/* ---- the tests ---- */

static void test_large__sums_and_maxima_see_the_last_element(void **state)
{
    skip_without(!missing, missing);
    const unsigned char most = 255, before = (unsigned char)((count - 1) % PERIOD);
    ndr_reduce_desc reduce = {
        .dtype = NDR_DTYPE_U8, .op = NDR_OP_SUM, .input = { x, 0 }, .count = count, .output = { y, 0 }
    };
    unsigned char got;
    assert_ok(ndr_reduce(queue, &reduce, NULL));
    read_buffer(y, &got, 1);
    assert_int_equal(got, sum_of_all() % 256);
    assert_ok(ndr_buffer_write(queue, x, count - 1, 1, &most, NULL));
    reduce.op = NDR_OP_MAX;
    assert_ok(ndr_reduce(queue, &reduce, NULL));
    read_buffer(y, &got, 1);
    assert_int_equal(got, most);
    assert_ok(ndr_buffer_write(queue, x, count - 1, 1, &before, NULL));
}

static void test_large__expressions_are_summed(void **state)
{
    skip_without(!missing, missing);
    uint64_t got = 0;
    const ndr_map_array input = { "x", ndr_array_of(x, NDR_DTYPE_U8, ndr_range_1d(count)) };
    assert_ok(ndr_map_reduce(queue,
                             &(ndr_map_reduce_desc){ .dtype = NDR_DTYPE_U64,
                                                     .op = NDR_OP_SUM,
                                                     .expression = "x",
                                                     .inputs = &input,
                                                     .input_count = 1,
                                                     .host = &got },
                             NULL));
    assert_int_equal(got, sum_of_all());
}

static void check_scans(void)
{
    ndr_scan_desc scan = {
        .dtype = NDR_DTYPE_U8, .op = NDR_OP_SUM, .input = { x, 0 }, .count = count, .output = { y, 0 }
    };
    forget();
    assert_ok(ndr_scan(queue, &scan, NULL));
    check("inclusive", count);
    scan.is_backward = scan.is_exclusive = true;
    forget();
    assert_ok(ndr_scan(queue, &scan, NULL));
    check("backward", count);
}

static void check_sort(void)
{
    forget();
    assert_ok(ndr_sort(queue,
                       &(ndr_sort_desc){
                           .dtype = NDR_DTYPE_U8, .keys = { x, 0 }, .count = count, .sorted_keys = { y, 0 } },
                       NULL));
    check("in_order", count);
}

/* Call `check_it` with each of the variants that the device takes. */
static void with_each(const ndr_operation *operation, const char *const *names, size_t name_count,
                      void (*check_it)(void))
{
    unsigned taken = 0;
    for (size_t i = 0; i < name_count; ++i) {
        if (force_in(context, operation, names[i]) != NDR_OK) continue;
        print_message("%s: %s\n", operation->name, names[i]);
        check_it();
        ++taken;
    }
    force(operation, NULL);
    assert_true(taken > 0);
}

static void test_large__scans_are_right(void **state)
{
    static const char *const names[] = { "copied", "look_back", "tiles" };
    skip_without(!missing, missing);
    with_each(&ndr_scan_operation, names, COUNT_OF(names), check_scans);
}

static void test_large__sorts_are_right(void **state)
{
    static const char *const names[] = { "one_sweep", "tiles" };
    skip_without(!missing, missing);
    with_each(&ndr_sort_operation, names, COUNT_OF(names), check_sort);
}

static void check_histogram(void)
{
    uint64_t got[256];
    assert_ok(ndr_histogram(queue,
                            &(ndr_histogram_desc){ .dtype = NDR_DTYPE_U8,
                                                   .output_dtype = NDR_DTYPE_U64,
                                                   .bins = COUNT_OF(got),
                                                   .upper = COUNT_OF(got),
                                                   .input = { x, 0 },
                                                   .count = count,
                                                   .output = { y, 0 } },
                            NULL));
    read_buffer(y, got, sizeof got);
    for (unsigned i = 0; i < COUNT_OF(got); ++i) assert_int_equal(got[i], i < PERIOD ? count_of(i) : 0);
}

static void test_large__histograms_are_right(void **state)
{
    static const char *const names[] = { "bytes", "groups" };
    skip_without(!missing, missing);
    with_each(&ndr_histogram_operation, names, COUNT_OF(names), check_histogram);
}

static void test_large__selections_are_right(void **state)
{
    skip_without(!missing, missing);
    uint64_t chosen = 0;
    ndr_buffer *flags = buffer_of(count, NULL), *number = buffer_of(sizeof chosen, NULL);
    run("flag", flags);
    forget();
    assert_ok(ndr_select(queue,
                         &(ndr_select_desc){ .dtype = NDR_DTYPE_U8,
                                             .input = { x, 0 },
                                             .flags = { flags, 0 },
                                             .count = count,
                                             .output = { y, 0 },
                                             .selected = { number, 0 } },
                         NULL));
    take_buffer(number, &chosen, sizeof chosen);
    assert_int_equal(chosen, (count + 1) / 3);
    check("selected", (size_t)chosen);
    ndr_buffer_destroy(flags);
}

/* ---- the device ---- */

/* Three buffers, and the workspace of a sort. */
static const char *find_missing(uint64_t wanted)
{
    const uint64_t needed = (uint64_t)20 << 30;
    if (getenv("NDR_TEST_ELEMENTS")) return NULL;
    if (device.type != NDR_DEVICE_TYPE_GPU)
        return "this takes minutes on a CPU; NDR_TEST_ELEMENTS=n takes fewer elements";
    if (device.global_memory_bytes < needed) return "the device has less than 20 GiB of memory";
    return device.max_buffer_bytes < wanted + GUARDS ? "the device has no buffers of more than 4 GiB" : NULL;
}

static int open_large(void **state)
{
    if (open_with_progress(state) != 0) return -1;
    const uint64_t wanted = number_from_env("NDR_TEST_ELEMENTS", (UINT64_C(1) << 32) + 4099);
    missing = find_missing(wanted);
    if (missing) return 0;
    count = (size_t)wanted;
    x = buffer_of(count + GUARDS, NULL);
    y = buffer_of(ndr_max_size(count + GUARDS, 4096), NULL);
    run("fill", x);
    return 0;
}

static int close_large(void **state)
{
    destroy_buffers(x, y);
    return close_device(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_large__sums_and_maxima_see_the_last_element),
        cmocka_unit_test(test_large__expressions_are_summed),
        cmocka_unit_test(test_large__scans_are_right),
        cmocka_unit_test(test_large__sorts_are_right),
        cmocka_unit_test(test_large__histograms_are_right),
        cmocka_unit_test(test_large__selections_are_right),
    };
    return cmocka_run_group_tests_name("large", tests, open_large, close_large);
}
