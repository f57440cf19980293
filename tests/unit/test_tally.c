/* test_tally.c - durations counted by name, and their table. */
#include "support.h"

#include "base/tally.h"

static uint64_t seed = 1;

static uint64_t next_random(void)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return seed >> 11;
}

static int compare(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Durations from 0 to `most`, as many small ones as large ones on a logarithmic scale. */
static void check_median(size_t count, unsigned bits)
{
    ndr_tally *list = NULL, *tally = ndr_tally_get(&list, "kernel", "k");
    uint64_t *all = calloc(count, sizeof *all), total = 0;
    for (size_t i = 0; i < count; ++i) {
        all[i] = next_random() >> (53 - next_random() % (bits + 1)); /* of 53 random bits */
        total += all[i];
        ndr_tally_add(tally, all[i]);
    }
    qsort(all, count, sizeof *all, compare);
    const uint64_t median = all[(count - 1) / 2], got = ndr_tally_median_ns(tally);
    assert_int_equal(tally->count, count);
    assert_int_equal(tally->min_ns, all[0]);
    assert_int_equal(tally->max_ns, all[count - 1]);
    assert_int_equal(tally->total_ns, total);
    const double error = median ? (double)got / (double)median - 1 : (double)got;
    if (error > 0.032 || error < -0.032)
        fail_msg("%zu values, %u bits: median %llu, not %llu", count, bits, (unsigned long long)got,
                 (unsigned long long)median);
    free(all);
    ndr_tallies_free(&list);
}

static void test_tally__gives_a_median_within_its_error(void **state)
{
    seed = number_from_env("NDR_TEST_SEED", 1);
    print_message("NDR_TEST_SEED=%llu\n", (unsigned long long)seed);
    static const size_t counts[] = { 1, 2, 3, 4, 127, 128, 4097 };
    for (unsigned bits = 1; bits <= 53; ++bits)
        for (size_t i = 0; i < sizeof counts / sizeof counts[0]; ++i) check_median(counts[i], bits);
}

static void test_tally__takes_the_least_and_the_largest_duration(void **state)
{
    ndr_tally *list = NULL, *tally = ndr_tally_get(&list, "kernel", "k");
    ndr_tally_add(tally, UINT64_MAX);
    assert_int_equal(ndr_tally_median_ns(tally), UINT64_MAX);
    ndr_tally_add(tally, 0);
    assert_int_equal(tally->min_ns, 0);
    assert_int_equal(ndr_tally_median_ns(tally), 0); /* the lower of two */
    ndr_tallies_free(&list);
}

static void test_tally__tells_names_and_categories_apart(void **state)
{
    ndr_tally *list = NULL;
    ndr_tally *kernel = ndr_tally_get(&list, "kernel", "read"), *transfer = ndr_tally_get(&list, "transfer", "read");
    assert_ptr_not_equal(kernel, transfer);
    assert_ptr_equal(ndr_tally_get(&list, "kernel", "read"), kernel);
    assert_ptr_equal(ndr_tally_get(&list, "transfer", "read"), transfer);
    assert_ptr_equal(ndr_tally_get(&list, "kernel", "read"), kernel);
    ndr_tallies_free(&list);
    assert_null(list);
}

static void test_tally__has_a_limit_of_names(void **state)
{
    ndr_tally *list = NULL, *others = NULL;
    char name[16];
    for (int i = 0; i < NDR_TALLY_MAX_NAMES + 100; ++i) {
        snprintf(name, sizeof name, "k%d", i);
        ndr_tally *tally = ndr_tally_get(&list, "kernel", name);
        if (i < NDR_TALLY_MAX_NAMES) assert_string_equal(tally->name, name);
        else assert_string_equal(tally->name, "(others)");
        if (i == NDR_TALLY_MAX_NAMES) others = tally;
        if (i > NDR_TALLY_MAX_NAMES) assert_ptr_equal(tally, others);
    }
    assert_string_equal(ndr_tally_get(&list, "kernel", "k7")->name, "k7");
    size_t length = 0;
    for (const ndr_tally *t = list; t; t = t->next) ++length;
    assert_int_equal(length, NDR_TALLY_MAX_NAMES + 1);
    ndr_tallies_free(&list);
}

static void add(ndr_tally *tally, uint64_t ns, uint64_t bytes, uint64_t flops)
{
    ndr_tally_add(tally, ns);
    tally->bytes += bytes;
    tally->flops += flops;
}

static void test_tally__prints_a_table(void **state)
{
    ndr_tally *list = NULL;
    ndr_text out = { 0 };
    add(ndr_tally_get(&list, "kernel", "slow"), 2999600, 0, 0);
    add(ndr_tally_get(&list, "kernel", "twice"), 100, 0, 0);
    add(ndr_tally_get(&list, "kernel", "twice"), 300, 0, 0);
    add(ndr_tally_get(&list, "transfer", "read"), 1000000, 4000000, 0);
    add(ndr_tally_get(&list, "region", "matmul tiled"), 2000000, 1000000, 5000000000);
    (void)ndr_tally_get(&list, "kernel", "never ended");
    ndr_tallies_print(list, &out);
    static const char wanted[] = "command                                  count       min    median       max     "
                                 "total share %     GB/s  GFLOP/s\n"
                                 "slow                                         1   3.00 ms   3.00 ms   3.00 ms   3.00 "
                                 "ms    75.0        -        -\n"
                                 "read                                         1   1.00 ms   1.00 ms   1.00 ms   1.00 "
                                 "ms    25.0        4        -\n"
                                 "twice                                        2    100 ns    102 ns    300 ns    400 "
                                 "ns     0.0        -        -\n"
                                 "operation or region                      count       min    median       max     "
                                 "total share %     GB/s  GFLOP/s\n"
                                 "matmul tiled                                 1   2.00 ms   2.00 ms   2.00 ms   2.00 "
                                 "ms    50.0      0.5  2.5e+03\n";
    assert_string_equal(out.chars, wanted);
    ndr_text_free(&out);
    ndr_tallies_free(&list);
}

static void test_tally__prints_every_row_once_if_totals_are_equal(void **state)
{
    ndr_tally *list = NULL;
    ndr_text out = { 0 };
    char name[16];
    for (int i = 0; i < 20; ++i) {
        snprintf(name, sizeof name, "k%02d", i);
        ndr_tally_add(ndr_tally_get(&list, "kernel", name), 7);
    }
    ndr_tallies_print(list, &out);
    for (int i = 0; i < 20; ++i) {
        snprintf(name, sizeof name, "\nk%02d ", i);
        const char *found = strstr(out.chars, name);
        assert_non_null(found);
        assert_null(strstr(found + 1, name));
    }
    ndr_text_free(&out);
    ndr_tallies_free(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tally__gives_a_median_within_its_error),
        cmocka_unit_test(test_tally__takes_the_least_and_the_largest_duration),
        cmocka_unit_test(test_tally__tells_names_and_categories_apart),
        cmocka_unit_test(test_tally__has_a_limit_of_names),
        cmocka_unit_test(test_tally__prints_a_table),
        cmocka_unit_test(test_tally__prints_every_row_once_if_totals_are_equal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
