/* selftest_kernels.c - samples of the vocabulary: each a kernel, and its results in plain C. */
#include "selftest.h"

#include <limits.h>
#include <string.h>

/* ---- what they share ---- */

static ndr_status get_kernel(trial *t, const char *name, const char *source, ndr_kernel **kernel)
{
    set_stage("built a kernel");
    ndr_kernel_info info;
    TRY(ndr_kernel_get(t->context, &(ndr_kernel_desc){ .name = name, .source = source }, kernel));
    TRY(ndr_kernel_get_info(*kernel, &info));
    t->most_items = info.max_group_size;
    set_stage("ran a kernel");
    return NDR_OK;
}

static ndr_status read_all(trial *t, ndr_buffer *from, void *to)
{
    return ndr_buffer_read(t->queue, from, 0, ndr_buffer_size(from), to, NULL);
}

/* Records the first difference. */
static void compare(trial *t, const char *what, const int *got, const int *wanted, size_t count)
{
    for (size_t i = 0; i < count && !*t->wrong; ++i)
        if (got[i] != wanted[i])
            snprintf(t->wrong, sizeof t->wrong, "element %zu of %s is %d instead of %d", i, what, got[i], wanted[i]);
}

/* ---- a range ---- */

ndr_status test_range(trial *t, const part *p)
{
    static const char source[] = "#include <ndr/item.clh>\n"
                                 "kernel void selftest_range(global int *ids, NDR_RANGE(3))\n"
                                 "{\n"
                                 "    const ndr_item it = NDR_ITEM(3);\n"
                                 "    const size_t rows = ndr_global_range(it, 1), cols = ndr_global_range(it, 2);\n"
                                 "    const size_t row = ndr_global_id(it, 0) * rows + ndr_global_id(it, 1);\n"
                                 "    ids[row * cols + ndr_global_id(it, 2)] += (int)ndr_global_linear_id(it);\n"
                                 "}\n";
    enum { PLANES = 5, ROWS = 17, COLS = 61, COUNT = PLANES * ROWS * COLS, GUARD = 64 };
    int got[COUNT + GUARD], wanted[COUNT + GUARD];
    ndr_kernel *kernel;
    ndr_buffer *ids;
    for (int i = 0; i < COUNT + GUARD; ++i) got[i] = 7, wanted[i] = i < COUNT ? 7 + i : 7;
    (void)p;
    TRY(ndr_buffer_create_from(t->context, sizeof got, got, &ids));
    TRY(get_kernel(t, "selftest_range", source, &kernel));
    TRY(ndr_launch(t->queue, kernel, ndr_range_3d(PLANES, ROWS, COLS), ids));
    TRY(read_all(t, ids, got));
    compare(t, "a kernel over 5 x 17 x 61 items", got, wanted, COUNT + GUARD);
    ndr_buffer_destroy(ids);
    return NDR_OK;
}

/* ---- groups of 1000 items, the last of which is smaller ---- */

enum { ITEMS = 1000, MOST_ITEMS_OF_GROUP = 64 };

static int min_of(size_t a, size_t b) { return (int)(a < b ? a : b); }

/* Of the kernel that get_kernel() got. */
static int group_size(const trial *t) { return min_of(t->most_items, MOST_ITEMS_OF_GROUP); }

static ndr_nd_range range_of(const trial *t)
{
    ndr_nd_range range = ndr_nd_range_of(ndr_range_1d(ITEMS), ndr_range_1d((size_t)group_size(t)));
    range.edge = NDR_EDGE_SPLIT;
    return range;
}

/* The first item of the group of item i, and the group's size. */
static int first_of(const trial *t, int i) { return i / group_size(t) * group_size(t); }
static int size_of(const trial *t, int i) { return min_of((size_t)group_size(t), (size_t)(ITEMS - first_of(t, i))); }

ndr_status test_groups(trial *t, const part *p)
{
    static const char source[] =
        "#include <ndr/nd_item.clh>\n"
        "kernel void selftest_groups(global int *out, local int *a, local int *b, NDR_ND_RANGE(1))\n"
        "{\n"
        "    const ndr_nd_item it = NDR_ND_ITEM(1);\n"
        "    const ndr_group g = ndr_get_group(it);\n"
        "    const int l = (int)ndr_local_id(it, 0), n = (int)ndr_local_range(it, 0);\n"
        "    a[l] = (int)ndr_global_id(it, 0) + 100 * (int)ndr_group_id(it, 0);\n"
        "    ndr_group_barrier(g);\n"
        "    b[l] = a[n - 1 - l];\n"
        "    ndr_group_barrier(g);\n"
        "    out[ndr_global_id(it, 0)] = b[(l + 1) % n];\n"
        "}\n";
    int got[ITEMS], wanted[ITEMS];
    ndr_kernel *kernel;
    ndr_buffer *out;
    (void)p;
    TRY(ndr_buffer_create(t->context, sizeof got, &out));
    TRY(get_kernel(t, "selftest_groups", source, &kernel));
    for (int i = 0; i < ITEMS; ++i) {
        const int first = first_of(t, i), n = size_of(t, i), next = (i - first + 1) % n;
        wanted[i] = first + n - 1 - next + 100 * (first / group_size(t));
    }
    TRY(ndr_launch(t->queue, kernel, range_of(t), out, ndr_local(int, (size_t)group_size(t)),
                   ndr_local(int, (size_t)group_size(t))));
    TRY(read_all(t, out, got));
    compare(t, "a kernel with barriers and local memory", got, wanted, ITEMS);
    ndr_buffer_destroy(out);
    return NDR_OK;
}

/* ---- group functions ---- */

ndr_status test_group_functions(trial *t, const part *p)
{
    static const char source[] =
        "#include <ndr/group.clh>\n"
        "kernel void selftest_group_functions(global int *out, NDR_ND_RANGE(1))\n"
        "{\n"
        "    const ndr_nd_item it = NDR_ND_ITEM(1);\n"
        "    const ndr_group g = ndr_get_group(it);\n"
        "    const int i = (int)ndr_global_id(it, 0), last = (int)ndr_local_range(it, 0) - 1;\n"
        "    out[5 * i] = ndr_reduce_over_group(g, i, NDR_PLUS);\n"
        "    out[5 * i + 1] = ndr_inclusive_scan_over_group(g, i, NDR_PLUS);\n"
        "    out[5 * i + 2] = (int)ndr_exclusive_scan_over_group(g, (float)i, NDR_PLUS);\n"
        "    out[5 * i + 3] = ndr_group_broadcast(g, i, (size_t)last);\n"
        "    out[5 * i + 4] = ndr_any_of_group(g, i % 300 == 299);\n"
        "}\n";
    int got[5 * ITEMS], wanted[5 * ITEMS];
    ndr_kernel *kernel;
    ndr_buffer *out;
    (void)p;
    TRY(ndr_buffer_create(t->context, sizeof got, &out));
    TRY(get_kernel(t, "selftest_group_functions", source, &kernel));
    for (int i = 0; i < ITEMS; ++i) {
        const int first = first_of(t, i), last = first + size_of(t, i) - 1;
        int sum = 0, before = 0, any = 0;
        for (int k = first; k <= last; ++k) sum += k, before += k < i ? k : 0, any |= k % 300 == 299;
        memcpy(wanted + 5 * (size_t)i, (int[]){ sum, before + i, before, last, any }, 5 * sizeof(int));
    }
    TRY(ndr_launch(t->queue, kernel, range_of(t), out));
    TRY(read_all(t, out, got));
    compare(t, "a kernel with reductions, scans, broadcasts and predicates of groups", got, wanted, 5 * ITEMS);
    ndr_buffer_destroy(out);
    return NDR_OK;
}

/* ---- atomics ---- */

ndr_status test_atomics(trial *t, const part *p)
{
    static const char source[] =
        "#include <ndr/atomic.clh>\n"
        "kernel void selftest_atomics(global int *ints, global float *real, global int *seen,\n"
        "                             NDR_RANGE(1))\n"
        "{\n"
        "    const ndr_item it = NDR_ITEM(1);\n"
        "    const int i = (int)ndr_global_id(it, 0);\n"
        "    (void)ndr_atomic_fetch_max(&ints[1], i * 37 % 1009);\n"
        "    (void)ndr_atomic_fetch_min(&ints[2], i * 37 % 1009 + 5);\n"
        "    (void)ndr_atomic_fetch_xor(&ints[3], i);\n"
        "    (void)ndr_atomic_fetch_add(real, 1.0f);\n"
        "    seen[ndr_atomic_fetch_add(&ints[0], 1) % 1000] += 1;\n"
        "}\n";
    int ints[4] = { 0, 0, INT_MAX, 0 }, wanted[4] = { ITEMS, 0, INT_MAX, 0 }, seen[ITEMS] = { 0 }, ones[ITEMS];
    float real = 0;
    ndr_kernel *kernel;
    ndr_buffer *buffers[3];
    for (int i = 0; i < ITEMS; ++i) {
        const int x = i * 37 % 1009;
        wanted[1] = x > wanted[1] ? x : wanted[1];
        wanted[2] = x + 5 < wanted[2] ? x + 5 : wanted[2];
        wanted[3] ^= i;
        ones[i] = 1;
    }
    (void)p;
    TRY(ndr_buffer_create_from(t->context, sizeof ints, ints, &buffers[0]));
    TRY(ndr_buffer_create_from(t->context, sizeof real, &real, &buffers[1]));
    TRY(ndr_buffer_create_from(t->context, sizeof seen, seen, &buffers[2]));
    TRY(get_kernel(t, "selftest_atomics", source, &kernel));
    TRY(ndr_launch(t->queue, kernel, ndr_range_1d(ITEMS), buffers[0], buffers[1], buffers[2]));
    TRY(read_all(t, buffers[0], ints));
    TRY(read_all(t, buffers[1], &real));
    TRY(read_all(t, buffers[2], seen));
    compare(t, "a count, maximum, minimum and exclusive or by atomics", ints, wanted, 4);
    compare(t, "the tickets that an atomic count gave out", seen, ones, ITEMS);
    if (!*t->wrong && real != ITEMS)
        snprintf(t->wrong, sizeof t->wrong, "a float count by atomics is %g instead of %d", (double)real, ITEMS);
    for (int i = 0; i < 3; ++i) ndr_buffer_destroy(buffers[i]);
    return NDR_OK;
}

ndr_status test_long_atomics(trial *t, const part *p)
{
    static const char source[] = "#include <ndr/atomic.clh>\n"
                                 "kernel void selftest_long_atomics(global long *sum, NDR_RANGE(1))\n"
                                 "{\n"
                                 "    const ndr_item it = NDR_ITEM(1);\n"
                                 "    (void)ndr_atomic_fetch_add(sum, (long)ndr_global_id(it, 0) << 32);\n"
                                 "}\n";
    int64_t sum = 1;
    const int64_t wanted = ((int64_t)ITEMS * (ITEMS - 1) / 2 << 32) + 1;
    ndr_kernel *kernel;
    ndr_buffer *out;
    (void)p;
    if (!t->device.has_int64_atomics)
        return snprintf(t->skipped, sizeof t->skipped, "the device has no 64-bit atomics"), NDR_OK;
    TRY(ndr_buffer_create_from(t->context, sizeof sum, &sum, &out));
    TRY(get_kernel(t, "selftest_long_atomics", source, &kernel));
    TRY(ndr_launch(t->queue, kernel, ndr_range_1d(ITEMS), out));
    TRY(read_all(t, out, &sum));
    if (sum != wanted)
        snprintf(t->wrong, sizeof t->wrong, "a 64-bit sum by atomics is %lld instead of %lld", (long long)sum,
                 (long long)wanted);
    ndr_buffer_destroy(out);
    return NDR_OK;
}

/* ---- reducers ---- */

ndr_status test_reducers(trial *t, const part *p)
{
    static const char source[] =
        "#include <ndr/reduction.clh>\n"
        "kernel void selftest_reducers(global const int *x, NDR_REDUCTION(2, (SUM, int, sum), (MIN, int, least)))\n"
        "{\n"
        "    NDR_REDUCE(i, 2, sum, least) {\n"
        "        const int value = x[ndr_global_linear_id(i)];\n"
        "        NDR_COMBINE(sum, value);\n"
        "        NDR_COMBINE(least, value);\n"
        "    }\n"
        "}\n";
    enum { ROWS = 53, COLS = 61, COUNT = ROWS * COLS };
    int x[COUNT], got[2] = { 0, 0 }, wanted[2] = { 11, 0 };
    ndr_kernel *kernel;
    ndr_buffer *in, *out;
    for (int i = 0; i < COUNT; ++i) {
        x[i] = i * 7919 % 1009 - 500;
        wanted[0] += x[i];
        wanted[1] = x[i] < wanted[1] ? x[i] : wanted[1];
    }
    (void)p;
    TRY(ndr_buffer_create_from(t->context, sizeof x, x, &in));
    TRY(ndr_buffer_create(t->context, sizeof got, &out));
    TRY(get_kernel(t, "selftest_reducers", source, &kernel));
    TRY(ndr_launch(t->queue, kernel, ndr_range_2d(ROWS, COLS), in, ndr_reducer(NDR_OP_SUM, 11, out, 0),
                   ndr_reducer(NDR_OP_MIN, 0, out, 1)));
    TRY(read_all(t, out, got));
    compare(t, "a sum and a minimum of 53 x 61 elements", got, wanted, 2);
    ndr_buffer_destroy(in);
    ndr_buffer_destroy(out);
    return NDR_OK;
}
