/* test_nd_item.c - ndr/nd_item.clh: the functions of an item of an nd_range and of its group, barriers, and the memory
 * that a group shares. */
#include "support.h"

/* ---- every getter of every item ---- */

/* The numbers that an item writes. A number for each dimension takes three places. */
enum {
    DIMS,
    ID,
    RANGE = ID + 3,
    OFFSET = RANGE + 3,
    LINEAR_ID = OFFSET + 3,
    LINEAR_RANGE,
    IN_RANGE,
    LOCAL_ID,
    LOCAL_RANGE = LOCAL_ID + 3,
    MAX_LOCAL_RANGE = LOCAL_RANGE + 3,
    LOCAL_LINEAR_ID = MAX_LOCAL_RANGE + 3,
    LOCAL_LINEAR_RANGE,
    GROUP_ID,
    GROUP_RANGE = GROUP_ID + 3,
    GROUP_LINEAR_ID = GROUP_RANGE + 3,
    GROUP_LINEAR_RANGE,
    LEADER,
    GROUP_DISAGREES, /* how many getters give another value for the group than for the item */
    FIELDS
};
_Static_assert(FIELDS == 34, "the kernel below writes 34");

/* As in test_item.c, OpenCL's own ids decide where an item's results go. */
static const char getters[] =
    "#include <ndr/nd_item.clh>\n"
    "typedef struct place { ulong at; bool inside; } place;\n"
    "static place place_of(ulong ox, ulong oy, ulong oz, ulong nx, ulong ny, ulong nz)\n"
    "{\n"
    "    const ulong x = get_global_id(0) - ox, y = get_global_id(1) - oy, z = get_global_id(2) - oz;\n"
    "    const place p = { (z * ny + y) * nx + x, x < nx && y < ny && z < nz };\n"
    "    return p;\n"
    "}\n"
    "#define BOTH(getter) (row[33] += getter(it) != getter(g), getter(it))\n"
    "#define BOTH_AT(getter, i) (row[33] += getter(it, i) != getter(g, i), getter(it, i))\n"
    "#define RECORD(d) \\\n"
    "    kernel void record_##d(global ulong *out, global int *times, global int *outside, ulong ox, \\\n"
    "                           ulong oy, ulong oz, ulong nx, ulong ny, ulong nz, NDR_ND_RANGE(d)) \\\n"
    "    { \\\n"
    "        const ndr_nd_item it = NDR_ND_ITEM(d); \\\n"
    "        const ndr_group g = ndr_get_group(it); \\\n"
    "        const place p = place_of(ox, oy, oz, nx, ny, nz); \\\n"
    "        if (!p.inside) { \\\n"
    "            atomic_inc(&outside[ndr_in_range(it) ? 1 : 0]); \\\n"
    "            return; \\\n"
    "        } \\\n"
    "        atomic_inc(&times[p.at]); \\\n"
    "        global ulong *row = out + 34 * p.at; \\\n"
    "        row[33] = 0; \\\n"
    "        row[0] = BOTH(ndr_dims); \\\n"
    "        for (uint i = 0; i < 3; ++i) { \\\n"
    "            const bool is = i < ndr_dims(it); \\\n"
    "            row[1 + i] = is ? ndr_global_id(it, i) : 0; \\\n"
    "            row[4 + i] = is ? ndr_global_range(it, i) : 0; \\\n"
    "            row[7 + i] = is ? ndr_offset(it, i) : 0; \\\n"
    "            row[13 + i] = is ? BOTH_AT(ndr_local_id, i) : 0; \\\n"
    "            row[16 + i] = is ? BOTH_AT(ndr_local_range, i) : 0; \\\n"
    "            row[19 + i] = is ? BOTH_AT(ndr_max_local_range, i) : 0; \\\n"
    "            row[24 + i] = is ? BOTH_AT(ndr_group_id, i) : 0; \\\n"
    "            row[27 + i] = is ? BOTH_AT(ndr_group_range, i) : 0; \\\n"
    "        } \\\n"
    "        row[10] = ndr_global_linear_id(it); \\\n"
    "        row[11] = ndr_global_linear_range(it); \\\n"
    "        row[12] = ndr_in_range(it); \\\n"
    "        row[22] = BOTH(ndr_local_linear_id); \\\n"
    "        row[23] = BOTH(ndr_local_linear_range); \\\n"
    "        row[30] = BOTH(ndr_group_linear_id); \\\n"
    "        row[31] = BOTH(ndr_group_linear_range); \\\n"
    "        row[32] = ndr_leader(g); \\\n"
    "    }\n"
    "RECORD(0)\n"
    "RECORD(1)\n"
    "RECORD(2)\n"
    "RECORD(3)\n";

typedef struct records {
    size_t total;
    uint64_t (*rows)[FIELDS];
    int32_t outside[2]; /* items that rounding up added; those of them that wrongly report to be in range */
} records;

static size_t total_of(const ndr_range *range)
{
    size_t total = 1;
    for (unsigned d = 0; d < range->dims; ++d) total *= range->size[d];
    return total;
}

/* Launch record_`suffix` and check that each item ran once. */
static records record(const ndr_nd_range *range, unsigned suffix)
{
    char name[16];
    snprintf(name, sizeof name, "record_%u", suffix);
    ndr_kernel *kernel = kernel_of(getters, name);
    size_t size[3] = { 1, 1, 1 }, offset[3] = { 0, 0, 0 }; /* in OpenCL's order */
    for (unsigned d = 0; d < range->global.dims; ++d) {
        size[range->global.dims - 1 - d] = range->global.size[d];
        offset[range->global.dims - 1 - d] = range->offset[d];
    }
    records r = { .total = total_of(&range->global) };
    r.rows = malloc(r.total * sizeof *r.rows);
    int32_t *times = calloc(r.total, sizeof *times);
    ndr_buffer *out = buffer_of(r.total * sizeof *r.rows, NULL);
    ndr_buffer *counts = buffer_of(r.total * sizeof *times, times);
    ndr_buffer *outside = buffer_of(sizeof r.outside, r.outside);
    assert_ok(ndr_launch(queue, kernel, *range, out, counts, outside, offset[0], offset[1], offset[2], size[0],
                         size[1], size[2]));
    take_buffer(counts, times, r.total * sizeof *times);
    for (size_t i = 0; i < r.total; ++i) assert_int_equal(times[i], 1);
    take_buffer(out, r.rows, r.total * sizeof *r.rows);
    take_buffer(outside, r.outside, sizeof r.outside);
    free(times);
    return r;
}

static uint64_t linear(unsigned dims, const uint64_t *id, const uint64_t *range)
{
    if (dims == 1) return id[0];
    if (dims == 2) return id[0] * range[1] + id[1];
    return (id[0] * range[1] + id[1]) * range[2] + id[2];
}

static uint64_t product(unsigned dims, const uint64_t *range)
{
    return range[0] * (dims > 1 ? range[1] : 1) * (dims > 2 ? range[2] : 1);
}

/* What the item at `step` from the first one must report, in groups of `local`. */
static void expect(const ndr_nd_range *range, const size_t *local, const uint64_t step[3], uint64_t row[FIELDS])
{
    const unsigned dims = range->global.dims;
    memset(row, 0, FIELDS * sizeof *row);
    row[DIMS] = dims;
    for (unsigned d = 0; d < dims; ++d) {
        const size_t n = range->global.size[d], group = (size_t)step[d] / local[d], left = n - group * local[d];
        row[ID + d] = range->offset[d] + step[d];
        row[RANGE + d] = n;
        row[OFFSET + d] = range->offset[d];
        row[LOCAL_ID + d] = step[d] % local[d];
        row[LOCAL_RANGE + d] = range->edge != NDR_EDGE_ROUND_UP && left < local[d] ? left : local[d];
        row[MAX_LOCAL_RANGE + d] = local[d];
        row[GROUP_ID + d] = group;
        row[GROUP_RANGE + d] = (n + local[d] - 1) / local[d];
    }
    row[LINEAR_ID] = linear(dims, step, &row[RANGE]);
    row[LINEAR_RANGE] = product(dims, &row[RANGE]);
    row[IN_RANGE] = 1;
    row[LOCAL_LINEAR_ID] = linear(dims, &row[LOCAL_ID], &row[LOCAL_RANGE]);
    row[LOCAL_LINEAR_RANGE] = product(dims, &row[LOCAL_RANGE]);
    row[GROUP_LINEAR_ID] = linear(dims, &row[GROUP_ID], &row[GROUP_RANGE]);
    row[GROUP_LINEAR_RANGE] = product(dims, &row[GROUP_RANGE]);
    row[LEADER] = row[LOCAL_LINEAR_ID] == 0;
}

static void check_rows(const ndr_nd_range *range, const size_t *local, const records *r)
{
    uint64_t step[3] = { 0, 0, 0 };
    for (size_t i = 0; i < r->total; ++i) {
        uint64_t wanted[FIELDS];
        expect(range, local, step, wanted);
        for (unsigned f = 0; f < FIELDS; ++f) {
            if (r->rows[i][f] == wanted[f]) continue;
            print_error("item (%llu, %llu, %llu), field %u: %llu, not %llu\n", (unsigned long long)step[0],
                        (unsigned long long)step[1], (unsigned long long)step[2], f,
                        (unsigned long long)r->rows[i][f], (unsigned long long)wanted[f]);
            fail();
        }
        for (unsigned d = range->global.dims; d-- > 0;) { /* the last dimension runs fastest */
            if (++step[d] < range->global.size[d]) break;
            step[d] = 0;
        }
    }
}

/* With constant dimensions and with those of the launch. */
static void check_range(ndr_nd_range range)
{
    const unsigned dims = range.global.dims;
    if (dims == 1) range.local.size[0] = fitting_group(kernel_of(getters, "record_0"), range.local.size[0]);
    for (unsigned suffix = 0; suffix <= dims; suffix += dims) {
        records r = record(&range, suffix);
        check_rows(&range, range.local.size, &r);
        if (range.edge != NDR_EDGE_ROUND_UP) assert_int_equal(r.outside[0], 0);
        assert_int_equal(r.outside[1], 0);
        free(r.rows);
    }
}

static ndr_nd_range with(ndr_nd_range range, ndr_edge edge, size_t o0, size_t o1, size_t o2)
{
    range.edge = edge;
    range.offset[0] = o0;
    range.offset[1] = o1;
    range.offset[2] = o2;
    return range;
}

static void test_nd_item__in_1_dimension_knows_all_about_itself_and_its_group(void **state)
{
    check_range(ndr_nd_range_1d(1, 1));
    check_range(ndr_nd_range_1d(64, 64));
    check_range(ndr_nd_range_1d(quick() ? 14 : 7 * 101, 7));
    check_range(with(ndr_nd_range_1d(quick() ? 128 : 1024, 64), NDR_EDGE_REJECT, 5, 0, 0));
}

static void test_nd_item__in_2_dimensions_knows_all_about_itself_and_its_group(void **state)
{
    check_range(ndr_nd_range_2d(2, 8, 2, 8));
    check_range(ndr_nd_range_2d(6, 20, 3, 4));
    check_range(with(ndr_nd_range_2d(6, 20, 2, 5), NDR_EDGE_REJECT, 100, 7, 0));
}

static void test_nd_item__in_3_dimensions_knows_all_about_itself_and_its_group(void **state)
{
    check_range(ndr_nd_range_3d(2, 3, 5, 2, 3, 5));
    check_range(ndr_nd_range_3d(2, 3, 5, 1, 1, 1));
    check_range(with(ndr_nd_range_3d(4, 9, 10, 2, 3, 5), NDR_EDGE_REJECT, 1, 20, 300));
}

/* Up to 2, 4 and 8 sizes of group, each with true ids. */
static void test_nd_item__of_a_split_edge_has_true_ids_and_its_own_local_range(void **state)
{
    check_range(with(ndr_nd_range_1d(quick() ? 100 : 1000, 64), NDR_EDGE_SPLIT, 3, 0, 0));
    check_range(with(ndr_nd_range_1d(5, 64), NDR_EDGE_SPLIT, 0, 0, 0)); /* the edge is the whole range */
    check_range(with(ndr_nd_range_2d(5, 7, 2, 3), NDR_EDGE_SPLIT, 10, 20, 0));
    check_range(with(ndr_nd_range_2d(4, 7, 2, 3), NDR_EDGE_SPLIT, 0, 0, 0));
    check_range(with(ndr_nd_range_3d(5, 7, 11, 2, 3, 4), NDR_EDGE_SPLIT, 1, 2, 3));
}

/* How many groups of each size there are: 2 * 2 * 2 whole ones, and so on down to the corner. */
static void test_nd_item__of_a_split_edge_is_in_one_of_eight_sizes(void **state)
{
    const ndr_nd_range range = with(ndr_nd_range_3d(5, 7, 11, 2, 3, 4), NDR_EDGE_SPLIT, 0, 0, 0);
    records r = record(&range, 3);
    unsigned tally[3][4][5] = { { { 0 } } };
    for (size_t i = 0; i < r.total; ++i) {
        const uint64_t *size = &r.rows[i][LOCAL_RANGE];
        if (r.rows[i][LEADER]) ++tally[size[0]][size[1]][size[2]];
    }
    assert_int_equal(tally[2][3][4], 8);
    assert_int_equal(tally[1][3][4], 4);
    assert_int_equal(tally[2][1][4], 4);
    assert_int_equal(tally[2][3][3], 4);
    assert_int_equal(tally[1][1][4], 2);
    assert_int_equal(tally[1][3][3], 2);
    assert_int_equal(tally[2][1][3], 2);
    assert_int_equal(tally[1][1][3], 1);
    free(r.rows);
}

static void test_nd_item__of_a_range_rounded_up_guards_itself(void **state)
{
    check_range(with(ndr_nd_range_1d(100, 64), NDR_EDGE_ROUND_UP, 3, 0, 0));
    check_range(with(ndr_nd_range_2d(5, 7, 2, 3), NDR_EDGE_ROUND_UP, 10, 20, 0));
    check_range(with(ndr_nd_range_3d(3, 4, 7, 2, 3, 4), NDR_EDGE_ROUND_UP, 1, 2, 3));

    const ndr_nd_range range = with(ndr_nd_range_2d(5, 7, 2, 3), NDR_EDGE_ROUND_UP, 0, 0, 0);
    records r = record(&range, 2);
    assert_int_equal(r.outside[0], 6 * 9 - 5 * 7);
    free(r.rows);
}

/* Groups of the size that ndr_kernel_suggest_local() suggests, with split edges. */
static void check_automatic(ndr_range global)
{
    const ndr_range zeros = { global.dims, { 0, 0, 0 } };
    const ndr_nd_range range = ndr_nd_range_of(global, zeros);
    char name[16];
    snprintf(name, sizeof name, "record_%u", global.dims);
    ndr_range local;
    assert_ok(ndr_kernel_suggest_local(kernel_of(getters, name), &global, &local));
    records r = record(&range, global.dims);
    check_rows(&range, local.size, &r);
    free(r.rows);
}

static void test_nd_item__in_groups_of_a_chosen_size_knows_that_size(void **state)
{
    check_automatic(ndr_range_1d(quick() ? 100 : 1009));
    check_automatic(ndr_range_2d(7, 13));
    check_automatic(ndr_range_3d(3, 5, 11));
}

/* Per dimension g = w * S + s + F, W = ceil(G / S), and each pair (w, s) belongs to one item. */
static void test_nd_item__has_the_global_id_of_the_specification_s_formula(void **state)
{
    const ndr_nd_range range = with(ndr_nd_range_2d(12, 30, 3, 6), NDR_EDGE_REJECT, 11, 13, 0);
    records r = record(&range, 2);
    unsigned seen[4][5][3][6] = { { { { 0 } } } };
    for (size_t i = 0; i < r.total; ++i) {
        const uint64_t *row = r.rows[i], *w = &row[GROUP_ID], *s = &row[LOCAL_ID];
        for (unsigned d = 0; d < 2; ++d) {
            assert_int_equal(row[ID + d], w[d] * row[LOCAL_RANGE + d] + s[d] + row[OFFSET + d]);
            assert_int_equal(row[GROUP_RANGE + d], range.global.size[d] / range.local.size[d]);
            assert_true(row[ID + d] >= range.offset[d]);
            assert_true(row[ID + d] < range.offset[d] + range.global.size[d]);
        }
        ++seen[w[0]][w[1]][s[0]][s[1]];
    }
    for (size_t i = 0; i < sizeof seen / sizeof(unsigned); ++i) assert_int_equal((&seen[0][0][0][0])[i], 1);
    free(r.rows);
}

/* ---- barriers ---- */

static const char barrier_kernels[] =
    "#include <ndr/nd_item.clh>\n"
    "\n"
    "/* A helper that takes only the group. */\n"
    "static size_t neighbour(ndr_group g) { return (ndr_local_linear_id(g) + 1) % ndr_local_linear_range(g); }\n"
    "static size_t start_of(ndr_group g) { return ndr_group_id(g, 0) * ndr_max_local_range(g, 0); }\n"
    "\n"
    "kernel void hand_on_local(global int *out, local int *t, NDR_ND_RANGE(1))\n"
    "{\n"
    "    const ndr_nd_item it = NDR_ND_ITEM(1);\n"
    "    const ndr_group g = ndr_get_group(it);\n"
    "    t[ndr_local_id(it, 0)] = (int)ndr_global_id(it, 0);\n"
    "    ndr_group_barrier(g, NDR_FENCE_LOCAL);\n"
    "    out[ndr_global_id(it, 0)] = t[neighbour(g)];\n"
    "}\n"
    "kernel void hand_on_global(global int *out, global int *t, NDR_ND_RANGE(1))\n"
    "{\n"
    "    const ndr_nd_item it = NDR_ND_ITEM(1);\n"
    "    const ndr_group g = ndr_get_group(it);\n"
    "    t[ndr_global_id(it, 0)] = (int)ndr_global_id(it, 0);\n"
    "    ndr_group_barrier(g, NDR_FENCE_GLOBAL);\n"
    "    out[ndr_global_id(it, 0)] = t[start_of(g) + neighbour(g)];\n"
    "}\n"
    "#define HAND_ON_BOTH(name, barrier) \\\n"
    "    kernel void name(global int *out, global int *t, local int *u, NDR_ND_RANGE(1)) \\\n"
    "    { \\\n"
    "        const ndr_nd_item it = NDR_ND_ITEM(1); \\\n"
    "        const ndr_group g = ndr_get_group(it); \\\n"
    "        t[ndr_global_id(it, 0)] = (int)ndr_global_id(it, 0); \\\n"
    "        u[ndr_local_id(it, 0)] = (int)ndr_local_id(it, 0); \\\n"
    "        barrier; \\\n"
    "        const int way = t[start_of(g) + neighbour(g)] - u[neighbour(g)]; \\\n"
    "        out[ndr_global_id(it, 0)] = way + (int)neighbour(g); \\\n"
    "    }\n"
    "HAND_ON_BOTH(hand_on_both, ndr_group_barrier(g, NDR_FENCE_BOTH))\n"
    "HAND_ON_BOTH(hand_on_default, ndr_group_barrier(g))\n"
    "\n"
    "/* Each iteration reads what other items wrote in the one before. */\n"
    "kernel void take_turns(global int *x, local int *t, int turns, NDR_ND_RANGE(1))\n"
    "{\n"
    "    const ndr_nd_item it = NDR_ND_ITEM(1);\n"
    "    const ndr_group g = ndr_get_group(it);\n"
    "    const size_t id = ndr_local_id(it, 0);\n"
    "    t[id] = x[ndr_global_id(it, 0)];\n"
    "    ndr_group_barrier(g, NDR_FENCE_LOCAL);\n"
    "    for (int turn = 0; turn < turns; ++turn) {\n"
    "        const int next = t[neighbour(g)];\n"
    "        ndr_group_barrier(g, NDR_FENCE_LOCAL);\n"
    "        t[id] = next;\n"
    "        ndr_group_barrier(g, NDR_FENCE_LOCAL);\n"
    "    }\n"
    "    x[ndr_global_id(it, 0)] = t[id];\n"
    "}\n";

/* The number of items is no multiple of the group, so that edge groups take part. */
static void check_handed_on(const char *name, size_t n, size_t group, bool takes_global, bool takes_local)
{
    group = fitting_group(kernel_of(barrier_kernels, name), group);
    int32_t *got = malloc(n * sizeof *got);
    ndr_buffer *out = buffer_of(n * sizeof *got, NULL), *scratch = buffer_of(n * sizeof *got, NULL);
    const ndr_nd_range range = with(ndr_nd_range_1d(n, group), NDR_EDGE_SPLIT, 0, 0, 0);
    const ndr_arg args[] = { ndr_arg_of(out), takes_global ? ndr_arg_of(scratch) : ndr_local(int32_t, group),
                             ndr_local(int32_t, group) };
    assert_ok(ndr_launch_v(queue, kernel_of(barrier_kernels, name), &range, args, takes_global && takes_local ? 3 : 2,
                           NULL));
    take_buffer(out, got, n * sizeof *got);
    for (size_t i = 0; i < n; ++i) {
        const size_t start = i / group * group, size = n - start < group ? n - start : group;
        assert_int_equal(got[i], start + (i - start + 1) % size);
    }
    ndr_buffer_destroy(scratch);
    free(got);
}

static void check_barrier(const char *name, bool takes_global, bool takes_local)
{
    check_handed_on(name, 3, 1, takes_global, takes_local);
    check_handed_on(name, 20, 7, takes_global, takes_local);
    check_handed_on(name, quick() ? 100 : 10000, 64, takes_global, takes_local);
}

static void test_nd_item__waits_at_a_local_barrier_for_local_memory(void **state)
{
    check_barrier("hand_on_local", false, true);
}

static void test_nd_item__waits_at_a_global_barrier_for_global_memory(void **state)
{
    check_barrier("hand_on_global", true, false);
}

static void test_nd_item__waits_at_a_barrier_of_both_for_both(void **state)
{
    check_barrier("hand_on_both", true, true);
}

static void test_nd_item__waits_at_a_plain_barrier_for_both(void **state)
{
    check_barrier("hand_on_default", true, true);
}

static void test_nd_item__may_meet_barriers_in_a_loop(void **state)
{
    enum { N = 128, TURNS = 37 };
    int32_t x[N];
    ndr_kernel *kernel = kernel_of(barrier_kernels, "take_turns");
    const int group = (int)fitting_group(kernel, 64);
    for (int i = 0; i < N; ++i) x[i] = i;
    ndr_buffer *buffer = buffer_of(sizeof x, x);
    assert_ok(ndr_launch(queue, kernel, ndr_nd_range_1d(N, (size_t)group), buffer, ndr_local(int32_t, (size_t)group),
                         (int)TURNS));
    take_buffer(buffer, x, sizeof x);
    for (int i = 0; i < N; ++i) assert_int_equal(x[i], i / group * group + (i + TURNS) % group);
}

/* ---- local memory ---- */

static const char local_kernels[] =
    "#include <ndr/nd_item.clh>\n"
    "#include <ndr/local.clh>\n"
    "\n"
    "kernel void reverse_static(global int *x, NDR_ND_RANGE(1))\n"
    "{\n"
    "    const ndr_nd_item it = NDR_ND_ITEM(1);\n"
    "    local int t[64];\n"
    "    t[ndr_local_id(it, 0)] = x[ndr_global_id(it, 0)];\n"
    "    ndr_group_barrier(ndr_get_group(it), NDR_FENCE_LOCAL);\n"
    "    x[ndr_global_id(it, 0)] = t[ndr_local_range(it, 0) - 1 - ndr_local_id(it, 0)];\n"
    "}\n"
    "kernel void reverse_1(global int *x, local int *t, NDR_ND_RANGE(1))\n"
    "{\n"
    "    const ndr_nd_item it = NDR_ND_ITEM(1);\n"
    "    t[ndr_local_id(it, 0)] = x[ndr_global_linear_id(it)];\n"
    "    ndr_group_barrier(ndr_get_group(it), NDR_FENCE_LOCAL);\n"
    "    x[ndr_global_linear_id(it)] = t[ndr_local_range(it, 0) - 1 - ndr_local_id(it, 0)];\n"
    "}\n"
    "kernel void reverse_2(global int *x, local int *t, NDR_ND_RANGE(2))\n"
    "{\n"
    "    const ndr_nd_item it = NDR_ND_ITEM(2);\n"
    "    const size_t rows = ndr_local_range(it, 0), cols = ndr_local_range(it, 1);\n"
    "    const size_t i = ndr_local_id(it, 0), j = ndr_local_id(it, 1);\n"
    "    t[ndr_at(cols, i, j)] = x[ndr_global_linear_id(it)];\n"
    "    ndr_group_barrier(ndr_get_group(it), NDR_FENCE_LOCAL);\n"
    "    x[ndr_global_linear_id(it)] = t[ndr_at(cols, rows - 1 - i, cols - 1 - j)];\n"
    "}\n"
    "kernel void reverse_3(global int *x, local int *t, NDR_ND_RANGE(3))\n"
    "{\n"
    "    const ndr_nd_item it = NDR_ND_ITEM(3);\n"
    "    const size_t planes = ndr_local_range(it, 0), rows = ndr_local_range(it, 1);\n"
    "    const size_t cols = ndr_local_range(it, 2);\n"
    "    const size_t i = ndr_local_id(it, 0), j = ndr_local_id(it, 1), k = ndr_local_id(it, 2);\n"
    "    t[ndr_at(rows, cols, i, j, k)] = x[ndr_global_linear_id(it)];\n"
    "    ndr_group_barrier(ndr_get_group(it), NDR_FENCE_LOCAL);\n"
    "    x[ndr_global_linear_id(it)] = t[ndr_at(rows, cols, planes - 1 - i, rows - 1 - j, cols - 1 - k)];\n"
    "}\n"
    "\n"
    "/* Each item writes the group's number to local memory and checks what the others wrote. */\n"
    "kernel void sign_in(global int *foreign, NDR_ND_RANGE(1))\n"
    "{\n"
    "    const ndr_nd_item it = NDR_ND_ITEM(1);\n"
    "    const ndr_group g = ndr_get_group(it);\n"
    "    local int t[16];\n"
    "    int seen = 0;\n"
    "    for (int turn = 0; turn < 3; ++turn) {\n"
    "        t[ndr_local_id(it, 0)] = (int)ndr_group_id(it, 0) * 3 + turn;\n"
    "        ndr_group_barrier(g, NDR_FENCE_LOCAL);\n"
    "        for (size_t i = 0; i < 16; ++i) seen += t[i] != (int)ndr_group_id(it, 0) * 3 + turn;\n"
    "        ndr_group_barrier(g, NDR_FENCE_LOCAL);\n"
    "    }\n"
    "    foreign[ndr_global_id(it, 0)] = seen;\n"
    "}\n"
    "\n"
    "kernel void keep(global int *out, NDR_ND_RANGE(1))\n"
    "{\n"
    "    const ndr_nd_item it = NDR_ND_ITEM(1);\n"
    "    const ndr_group g = ndr_get_group(it);\n"
    "    int own[8];\n"
    "    for (int i = 0; i < 8; ++i) own[i] = (int)ndr_global_id(it, 0) * 10 + i;\n"
    "    ndr_group_barrier(g);\n"
    "    int sum = 0;\n"
    "    for (int i = 0; i < 8; ++i) sum += own[(i + (int)ndr_local_id(it, 0)) % 8];\n"
    "    ndr_group_barrier(g);\n"
    "    out[ndr_global_id(it, 0)] = sum - own[3];\n"
    "}\n"
    "\n"
    "kernel void arrive(global int *arrived, global int *group_of, NDR_ND_RANGE(1))\n"
    "{\n"
    "    const ndr_nd_item it = NDR_ND_ITEM(1);\n"
    "    if (ndr_leader(ndr_get_group(it))) {\n"
    "        atomic_inc(arrived);\n"
    "        atomic_add(&group_of[ndr_group_id(it, 0)], (int)ndr_global_id(it, 0) + 1);\n"
    "    }\n"
    "}\n";

/* x counts 0, 1, 2 ... over the range. Afterwards each group's part is reversed. */
static void check_reversed(ndr_nd_range range, const ndr_arg *tile, const char *name)
{
    if (range.global.dims == 1)
        range.local.size[0] = fitting_group(kernel_of(local_kernels, name), range.local.size[0]);
    const size_t total = total_of(&range.global);
    int32_t *x = malloc(total * sizeof *x);
    for (size_t i = 0; i < total; ++i) x[i] = (int32_t)i;
    ndr_buffer *buffer = buffer_of(total * sizeof *x, x);
    const ndr_arg args[] = { ndr_arg_of(buffer), tile ? *tile : ndr_null };
    assert_ok(ndr_launch_v(queue, kernel_of(local_kernels, name), &range, args, tile ? 2 : 1, NULL));
    read_buffer(buffer, x, total * sizeof *x);
    const unsigned dims = range.global.dims;
    for (size_t i = 0; i < total; ++i) {
        size_t rest = i, mirrored = 0, stride = 1;
        for (unsigned d = dims; d-- > 0;) {
            const size_t n = range.global.size[d], local = range.local.size[d], at = rest % n;
            const size_t start = at / local * local, size = n - start < local ? n - start : local;
            mirrored += (start + size - 1 - (at - start)) * stride;
            stride *= n;
            rest /= n;
        }
        assert_int_equal(x[i], mirrored);
    }
    ndr_buffer_destroy(buffer);
    free(x);
}

static void test_nd_item__shares_a_local_array_of_the_kernel(void **state)
{
    check_reversed(ndr_nd_range_1d(192, 64), NULL, "reverse_static");
    check_reversed(with(ndr_nd_range_1d(150, 64), NDR_EDGE_SPLIT, 0, 0, 0), NULL, "reverse_static");
}

static void test_nd_item__shares_local_memory_that_the_host_gives(void **state)
{
    const ndr_arg line = ndr_local(int32_t, 64), plane = ndr_local(int32_t, 2, 5), block = ndr_local(int32_t, 2, 3, 4);
    check_reversed(ndr_nd_range_1d(192, 64), &line, "reverse_1");
    check_reversed(with(ndr_nd_range_1d(150, 64), NDR_EDGE_SPLIT, 9, 0, 0), &line, "reverse_1");
    check_reversed(ndr_nd_range_2d(6, 20, 2, 5), &plane, "reverse_2");
    check_reversed(with(ndr_nd_range_2d(5, 12, 2, 5), NDR_EDGE_SPLIT, 9, 9, 0), &plane, "reverse_2");
    check_reversed(ndr_nd_range_3d(4, 6, 8, 2, 3, 4), &block, "reverse_3");
    check_reversed(with(ndr_nd_range_3d(5, 7, 11, 2, 3, 4), NDR_EDGE_SPLIT, 1, 2, 3), &block, "reverse_3");
}

/* One kernel, with sizes that only the launch gives. */
static void test_nd_item__gets_as_much_local_memory_as_each_launch_asks_for(void **state)
{
    const size_t sizes[] = { 7, 64, 1, 7 };
    for (size_t i = 0; i < COUNT_OF(sizes); ++i) {
        const ndr_arg line = ndr_local(int32_t, sizes[i]);
        check_reversed(ndr_nd_range_1d(3 * sizes[i], sizes[i]), &line, "reverse_1");
    }
}

static void test_nd_item__sees_no_local_memory_of_other_groups(void **state)
{
    const size_t n = 16 * (quick() ? 10 : 2000);
    int32_t *foreign = malloc(n * sizeof *foreign);
    ndr_buffer *buffer = buffer_of(n * sizeof *foreign, NULL);
    assert_ok(ndr_launch(queue, kernel_of(local_kernels, "sign_in"), ndr_nd_range_1d(n, 16), buffer));
    take_buffer(buffer, foreign, n * sizeof *foreign);
    for (size_t i = 0; i < n; ++i) assert_int_equal(foreign[i], 0);
    free(foreign);
}

static void test_nd_item__keeps_a_private_array_over_a_barrier(void **state)
{
    enum { N = 150 };
    int32_t got[N];
    ndr_buffer *out = buffer_of(sizeof got, NULL);
    ndr_kernel *kernel = kernel_of(local_kernels, "keep");
    assert_ok(ndr_launch(queue, kernel, with(ndr_nd_range_1d(N, fitting_group(kernel, 64)), NDR_EDGE_SPLIT, 0, 0, 0),
                         out));
    take_buffer(out, got, sizeof got);
    for (int i = 0; i < N; ++i) assert_int_equal(got[i], 8 * 10 * i + 28 - (10 * i + 3));
}

/* ---- many groups ---- */

/* Far more groups than the device has compute units; they may run in any order. */
static void test_nd_item__comes_in_any_number_of_groups(void **state)
{
    const size_t groups = quick() ? 500 : 100000;
    int32_t zero = 0, *group_of = calloc(groups, sizeof *group_of);
    ndr_buffer *arrived = buffer_of(sizeof zero, &zero), *each = buffer_of(groups * sizeof *group_of, group_of);
    assert_ok(ndr_launch(queue, kernel_of(local_kernels, "arrive"), ndr_nd_range_1d(groups * 7, 7), arrived, each));
    take_buffer(arrived, &zero, sizeof zero);
    assert_int_equal(zero, groups);
    take_buffer(each, group_of, groups * sizeof *group_of);
    for (size_t i = 0; i < groups; ++i) assert_int_equal(group_of[i], i * 7 + 1);
    free(group_of);
}

/* ---- refusals ---- */

static void test_nd_item__is_not_launched_over_a_range(void **state)
{
    ndr_buffer *x = buffer_of(64 * 4, NULL);
    ndr_kernel *kernel = kernel_of(local_kernels, "reverse_static");
    assert_refused(NDR_BAD_RANGE, ndr_launch(queue, kernel, ndr_range_1d(64), x), "\"reverse_static\"",
                   "works in groups (NDR_ND_RANGE)", "ndr_nd_range");
    assert_refused(NDR_BAD_RANGE, ndr_launch(queue, kernel, ndr_nd_range_2d(8, 8, 8, 8), x), "\"reverse_static\"",
                   "written for 1 dimension", "has 2");
    check_reversed(ndr_nd_range_1d(64, 64), NULL, "reverse_static"); /* still works after the refusals */
    ndr_buffer_destroy(x);
}

static void test_nd_item__is_no_group(void **state)
{
    const char source[] = "#include <ndr/nd_item.clh>\n"
                          "kernel void wrong(NDR_ND_RANGE(1))\n"
                          "{\n"
                          "    const ndr_nd_item it = NDR_ND_ITEM(1);\n"
                          "    ndr_group_barrier(it);\n"
                          "}\n";
    ndr_kernel *kernel;
    assert_refused(NDR_BUILD_FAILED,
                   ndr_kernel_get(context, &(ndr_kernel_desc){ .name = "wrong", .source = source }, &kernel),
                   "a barrier takes a group: ndr_group_barrier(ndr_get_group(it))");
}

/* The compiler distinguishes fences by type, so no variable can hold one. */
static void test_nd_item__keeps_no_fence_in_a_variable(void **state)
{
    const char source[] = "#include <ndr/nd_item.clh>\n"
                          "kernel void wrong(NDR_ND_RANGE(1))\n"
                          "{\n"
                          "    const ndr_nd_item it = NDR_ND_ITEM(1);\n"
                          "    const ndr_fence fence = NDR_FENCE_LOCAL;\n"
                          "    ndr_group_barrier(ndr_get_group(it), fence);\n"
                          "}\n";
    ndr_kernel *kernel;
    assert_refused(NDR_BUILD_FAILED,
                   ndr_kernel_get(context, &(ndr_kernel_desc){ .name = "wrong", .source = source }, &kernel),
                   "a fence cannot be kept in a variable; name it in the call: NDR_FENCE_LOCAL, NDR_FENCE_GLOBAL or "
                   "NDR_FENCE_BOTH");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nd_item__in_1_dimension_knows_all_about_itself_and_its_group),
        cmocka_unit_test(test_nd_item__in_2_dimensions_knows_all_about_itself_and_its_group),
        cmocka_unit_test(test_nd_item__in_3_dimensions_knows_all_about_itself_and_its_group),
        cmocka_unit_test(test_nd_item__of_a_split_edge_has_true_ids_and_its_own_local_range),
        cmocka_unit_test(test_nd_item__of_a_split_edge_is_in_one_of_eight_sizes),
        cmocka_unit_test(test_nd_item__of_a_range_rounded_up_guards_itself),
        cmocka_unit_test(test_nd_item__in_groups_of_a_chosen_size_knows_that_size),
        cmocka_unit_test(test_nd_item__has_the_global_id_of_the_specification_s_formula),
        cmocka_unit_test(test_nd_item__waits_at_a_local_barrier_for_local_memory),
        cmocka_unit_test(test_nd_item__waits_at_a_global_barrier_for_global_memory),
        cmocka_unit_test(test_nd_item__waits_at_a_barrier_of_both_for_both),
        cmocka_unit_test(test_nd_item__waits_at_a_plain_barrier_for_both),
        cmocka_unit_test(test_nd_item__may_meet_barriers_in_a_loop),
        cmocka_unit_test(test_nd_item__shares_a_local_array_of_the_kernel),
        cmocka_unit_test(test_nd_item__shares_local_memory_that_the_host_gives),
        cmocka_unit_test(test_nd_item__gets_as_much_local_memory_as_each_launch_asks_for),
        cmocka_unit_test(test_nd_item__sees_no_local_memory_of_other_groups),
        cmocka_unit_test(test_nd_item__keeps_a_private_array_over_a_barrier),
        cmocka_unit_test(test_nd_item__comes_in_any_number_of_groups),
        cmocka_unit_test(test_nd_item__is_not_launched_over_a_range),
        cmocka_unit_test(test_nd_item__is_no_group),
        cmocka_unit_test(test_nd_item__keeps_no_fence_in_a_variable),
    };
    return cmocka_run_group_tests_name("nd_item", tests, open_device, close_device);
}
