/* test_sub_group.c - sub-groups: their members, and the values they exchange.
 *
 * The same tests run with the device's kind of sub-group and with several requested sizes that the device supports.
 * The device reports which items are in which sub-group. One test checks the report, and the tests of the functions
 * rely on it. */
#include "support.h"

#include "driver_faults.h"

#include <math.h>

enum { MOST = 512 }; /* items of a launch here */

/* ---- one launch ---- */

/* A size of sub-groups to request, and the groups to run. */
typedef struct trial {
    size_t requested; /* 0: none */
    size_t items;     /* of all groups together */
    size_t local;     /* of one group; the last may be smaller */
} trial;

static const trial trials[] = {
    { 0, 21, 7 },  { 0, 64, 32 },   { 0, 66, 33 },  { 0, 170, 70 }, { 4, 1, 1 },
    { 4, 26, 13 }, { 8, 64, 32 },   { 8, 75, 33 },  { 16, 48, 16 }, { 3, 35, 13 },
    { 1, 10, 5 },  { 32, 170, 70 }, { 64, 70, 70 },
};
enum { TRIALS = sizeof trials / sizeof trials[0] };

/* Leave sizes out that the device's own sub-groups cannot have. */
static ndr_kernel *kernel_of_size(const char *source, const char *name, size_t requested)
{
    ndr_kernel *kernel = NULL;
    const ndr_status status = ndr_kernel_get(
        context, &(ndr_kernel_desc){ .name = name, .source = source, .sub_group_size = requested },
        &kernel);
    if (status == NDR_UNSUPPORTED && requested) return NULL;
    assert_ok(status);
    return kernel;
}

/* Leave groups out too that are too large for the kernel. */
static ndr_kernel *kernel_for(const char *source, const char *name, const trial *t)
{
    ndr_kernel *kernel = kernel_of_size(source, name, t->requested);
    ndr_kernel_info info;
    if (kernel) assert_ok(ndr_kernel_get_info(kernel, &info));
    return kernel && t->local <= info.max_group_size ? kernel : NULL;
}

static ndr_nd_range range_of(const trial *t)
{
    ndr_nd_range range = ndr_nd_range_1d(t->items, t->local);
    range.edge = NDR_EDGE_SPLIT;
    return range;
}

static ndr_sub_group_kind kind_of(ndr_kernel *kernel, size_t local)
{
    ndr_sub_group_info info;
    assert_ok(ndr_kernel_get_sub_groups(kernel, &(ndr_range){ 1, { local, 0, 0 } }, &info));
    return info.kind;
}

/* ---- where items are ---- */

typedef struct place {
    uint32_t id, count, local_id, local_range, max_local_range, leader, group, same;
} place;

static const char places_source[] =
    "#include \"ndr/sub_group.clh\"\n"
    "typedef struct place { uint id, count, local_id, local_range, max_local_range, leader, group, same; } "
    "place;\n"
    "void write(global place *out, const ndr_nd_item it)\n"
    "{\n"
    "    const ndr_sub_group sg = ndr_get_sub_group(it);\n"
    "    const bool same = ndr_dims(sg) == 1 && ndr_group_id(sg, 0) == ndr_group_linear_id(sg)\n"
    "                      && ndr_group_range(sg, 0) == ndr_group_linear_range(sg)\n"
    "                      && ndr_local_id(sg, 0) == ndr_local_linear_id(sg)\n"
    "                      && ndr_local_range(sg, 0) == ndr_local_linear_range(sg)\n"
    "                      && ndr_max_local_range(sg, 0) == ndr_max_local_range(sg);\n"
    "    const place p = { ndr_group_linear_id(sg), ndr_group_linear_range(sg), ndr_local_linear_id(sg),\n"
    "                      ndr_local_linear_range(sg), ndr_max_local_range(sg), ndr_leader(sg),\n"
    "                      (uint)ndr_group_linear_id(it), same };\n"
    "    out[ndr_global_linear_id(it)] = p;\n"
    "}\n"
    "NDR_SUB_GROUP_KERNEL kernel void places(global place *out, NDR_ND_RANGE(1)) { write(out, "
    "NDR_ND_ITEM(1)); }\n"
    "NDR_SUB_GROUP_KERNEL kernel void places_3d(global place *out, NDR_ND_RANGE(3)) { write(out, "
    "NDR_ND_ITEM(3)); }\n";

static place places[MOST], places_again[MOST];

/* Fill `places` for a trial; false if the device cannot have that size. */
static bool read_places(const trial *t)
{
    ndr_kernel *kernel = kernel_for(places_source, "places", t);
    if (!kernel) return false;
    ndr_buffer *out = buffer_of(t->items * sizeof(place), NULL);
    assert_ok(ndr_launch(queue, kernel, range_of(t), out));
    take_buffer(out, places, t->items * sizeof(place));
    return true;
}

/* The item of the same group's same sub-group with another local id. */
static size_t neighbour(const trial *t, size_t item, uint32_t local_id)
{
    const size_t first = item / t->local * t->local;
    for (size_t i = first; i < first + t->local && i < t->items; ++i)
        if (places[i].id == places[item].id && places[i].local_id == local_id) return i;
    fail_msg("no item %u in sub-group %u", local_id, places[item].id);
    return 0;
}

/* Sub-groups partition a group of `items` at places[first] according to the rules. */
static void check_group(size_t first, size_t items, uint32_t max)
{
    uint32_t sum = 0;
    for (size_t i = first; i < first + items; ++i) {
        const place *p = &places[i];
        assert_true(p->same);
        assert_int_equal(p->group, places[first].group);
        assert_int_equal(p->max_local_range, max);
        assert_int_equal(p->count, (items + max - 1) / max);
        assert_true(p->id < p->count);
        assert_true(p->local_id < p->local_range);
        assert_int_equal(p->local_range, p->id + 1 < p->count ? max : items - (p->count - 1) * max);
        assert_int_equal(p->leader, p->local_id == 0);
        sum += p->leader ? p->local_range : 0;
        for (size_t j = first; j < i; ++j)
            assert_false(places[j].id == p->id && places[j].local_id == p->local_id);
    }
    assert_int_equal(sum, items);
}

static void test_sub_group__partitions_each_group_and_only_the_last_is_smaller(void **state)
{
    for (size_t k = 0; k < TRIALS; ++k) {
        const trial *t = &trials[k];
        if (!read_places(t)) continue;
        for (size_t first = 0; first < t->items; first += t->local) {
            const size_t items = t->items - first < t->local ? t->items - first : t->local;
            check_group(first, items, places[first].max_local_range);
        }
    }
}

static void test_sub_group__is_what_the_host_is_told(void **state)
{
    for (size_t k = 0; k < TRIALS; ++k) {
        const trial *t = &trials[k];
        if (!read_places(t)) continue;
        ndr_kernel *kernel = kernel_for(places_source, "places", t);
        ndr_sub_group_info info;
        assert_ok(ndr_kernel_get_sub_groups(kernel, &(ndr_range){ 1, { t->local, 0, 0 } }, &info));
        assert_int_equal(info.max_size, places[0].max_local_range);
        assert_int_equal(info.count, places[0].count);
        if (t->requested && t->local >= t->requested) assert_int_equal(info.max_size, t->requested);
        if (info.kind == NDR_SUB_GROUP_WHOLE) assert_int_equal(info.count, 1);
    }
}

static void test_sub_group__stays_the_same_over_launches_and_groups(void **state)
{
    for (size_t k = 0; k < TRIALS; ++k) {
        const trial *t = &trials[k];
        if (!read_places(t)) continue;
        memcpy(places_again, places, sizeof places);
        assert_true(read_places(t));
        assert_memory_equal(places, places_again, t->items * sizeof(place));
        for (size_t i = t->local; i < t->items / t->local * t->local; ++i) {
            assert_int_equal(places[i].id, places[i % t->local].id);
            assert_int_equal(places[i].local_id, places[i % t->local].local_id);
        }
    }
}

static void test_sub_group__runs_along_the_last_dimension(void **state)
{
    ndr_kernel *kernel = kernel_of_size(places_source, "places_3d", 4);
    skip_without(kernel, "the device has no sub-groups of 4");
    ndr_buffer *out = buffer_of(MOST * sizeof(place), NULL);
    assert_ok(ndr_launch(queue, kernel, ndr_nd_range_3d(8, 8, 8, 2, 4, 4), out));
    take_buffer(out, places, sizeof places);
    for (size_t z = 0; z < 8; ++z)
        for (size_t y = 0; y < 8; ++y)
            for (size_t x = 0; x < 8; ++x) {
                const place *p = &places[(z * 8 + y) * 8 + x];
                assert_int_equal(p->count, 8);
                assert_int_equal(p->local_range, 4);
                assert_int_equal(p->local_id, x % 4);
                assert_int_equal(p->id, z % 2 * 4 + y % 4);
            }
}

/* ---- elements of every type as int64_t; infinities are its smallest and largest value ---- */

static const ndr_dtype all_dtypes[] = { NDR_DTYPE_I8,  NDR_DTYPE_U8,  NDR_DTYPE_I16, NDR_DTYPE_U16,
                                        NDR_DTYPE_I32, NDR_DTYPE_U32, NDR_DTYPE_I64, NDR_DTYPE_U64,
                                        NDR_DTYPE_F32, NDR_DTYPE_F64 };
static const char *const cl_names[] = { "char", "uchar", "short", "ushort", "int",
                                        "uint", "long",  "ulong", "float",  "double" };
enum { DTYPES = 10, OPS = 9, RESULTS = 6, INIT = 3 };
static const char *const op_names[OPS] = { "NDR_PLUS",    "NDR_MULTIPLIES",  "NDR_MINIMUM",
                                           "NDR_MAXIMUM", "NDR_LOGICAL_AND", "NDR_LOGICAL_OR",
                                           "NDR_BIT_AND", "NDR_BIT_OR",      "NDR_BIT_XOR" };

static bool is_float(int type) { return type >= 8; }
static bool is_signed(int type) { return is_float(type) || type % 2 == 0; }
enum { BYTES = 2 }; /* types of 8 bits, which come first */

static bool has_type(int type) { return type < 9 || device.has_f64; }
static bool has_op(int type, int op) { return !is_float(type) || op < 6; }

static int64_t from_double(double x) { return isinf(x) ? (x > 0 ? INT64_MAX : INT64_MIN) : (int64_t)x; }

static int64_t narrow(int type, int64_t x)
{
    switch (type) {
    case 0:
        return (int8_t)x;
    case 1:
        return (uint8_t)x;
    case 2:
        return (int16_t)x;
    case 3:
        return (uint16_t)x;
    case 4:
        return (int32_t)x;
    case 5:
        return (uint32_t)x;
    default:
        return x;
    }
}

static int64_t element(int type, const void *array, size_t i)
{
    switch (type) {
    case 0:
        return ((const int8_t *)array)[i];
    case 1:
        return ((const uint8_t *)array)[i];
    case 2:
        return ((const int16_t *)array)[i];
    case 3:
        return ((const uint16_t *)array)[i];
    case 4:
        return ((const int32_t *)array)[i];
    case 5:
        return ((const uint32_t *)array)[i];
    case 8:
        return from_double(((const float *)array)[i]);
    case 9:
        return from_double(((const double *)array)[i]);
    default:
        return ((const int64_t *)array)[i];
    }
}

static void set_element(int type, void *array, size_t i, int64_t x)
{
    switch (type) {
    case 0:
    case 1:
        ((uint8_t *)array)[i] = (uint8_t)x;
        break;
    case 2:
    case 3:
        ((uint16_t *)array)[i] = (uint16_t)x;
        break;
    case 4:
    case 5:
        ((uint32_t *)array)[i] = (uint32_t)x;
        break;
    case 8:
        ((float *)array)[i] = (float)x;
        break;
    case 9:
        ((double *)array)[i] = (double)x;
        break;
    default:
        ((int64_t *)array)[i] = x;
    }
}

static int64_t combine(int type, int op, int64_t a, int64_t b)
{
    switch (op) {
    case 0:
        return narrow(type, (int64_t)((uint64_t)a + (uint64_t)b));
    case 1:
        return narrow(type, (int64_t)((uint64_t)a * (uint64_t)b));
    case 2:
        return a < b ? a : b;
    case 3:
        return a < b ? b : a;
    case 4:
        return a && b;
    case 5:
        return a || b;
    case 6:
        return a & b;
    case 7:
        return a | b;
    default:
        return a ^ b;
    }
}

static int64_t identity(int type, int op)
{
    const int bits = (int)ndr_dtype_size(all_dtypes[type]) * 8;
    const int64_t highest = is_float(type)    ? INT64_MAX
                            : is_signed(type) ? (int64_t)(UINT64_MAX >> (65 - bits))
                                              : (int64_t)(UINT64_MAX >> (64 - bits));
    switch (op) {
    case 1:
    case 4:
        return 1;
    case 2:
        return highest;
    case 3:
        return is_float(type) ? INT64_MIN : is_signed(type) ? -highest - 1 : 0;
    case 6:
        return narrow(type, -1);
    default:
        return 0;
    }
}

/* Small numbers, so that products of floats stay exact and unsigned ones compare as signed ones do. */
static int64_t sample(int type, int op, size_t i)
{
    static const int64_t factors[] = { 1, 2, 1, 1, -1, 1, 3, 1, 1, 1, 1 };
    int64_t x = op == 1   ? factors[i % 11]
                : op == 4 ? (int64_t)(i % 5)
                : op == 5 ? (int64_t)(i % 7 == 3)
                          : (int64_t)(i * 7919 % 23) - 11;
    if (!is_signed(type) && x < 0) x = -x;
    return x;
}

/* ---- combining ---- */

static char functions_source[32768];

/* Which types are tested with which operators: each type with sum and maximum, one type with all. Another test covers
 * the operators themselves. */
static bool is_tried(int type, int op)
{
    return has_type(type) && has_op(type, op) && (op == 0 || op == 3 || type == 4);
}

/* A third of the types with each operator, and of the operators with each type. */
static bool is_today_tried(int type, int op) { return is_tried(type, op) && takes_case((size_t)(type + op), 5); }

/* A kernel "type_op" for every type and operator that is tried; or for int and NDR_PLUS only. */
static void write_functions(const char *before, bool all)
{
    int n = snprintf(
        functions_source, sizeof functions_source,
        "%s\n#include \"ndr/sub_group.clh\"\n"
        "#define FUNCTIONS(T, op, name) \\\n"
        "    NDR_SUB_GROUP_KERNEL kernel void name(global const T *x, global T *y, NDR_ND_RANGE(1)) \\\n"
        "    { \\\n"
        "        const ndr_nd_item it = NDR_ND_ITEM(1); \\\n"
        "        const ndr_sub_group sg = ndr_get_sub_group(it); \\\n"
        "        const size_t i = ndr_global_id(it, 0); \\\n"
        "        global T *out = y + 6 * i; \\\n"
        "        out[0] = ndr_reduce_over_group(sg, x[i], op); \\\n"
        "        out[1] = ndr_reduce_over_group(sg, x[i], (T)3, op); \\\n"
        "        out[2] = ndr_inclusive_scan_over_group(sg, x[i], op); \\\n"
        "        out[3] = ndr_inclusive_scan_over_group(sg, x[i], op, (T)3); \\\n"
        "        out[4] = ndr_exclusive_scan_over_group(sg, x[i], op); \\\n"
        "        out[5] = ndr_exclusive_scan_over_group(sg, x[i], (T)3, op); \\\n"
        "    }\n",
        before);
    for (int type = 0; type < DTYPES; ++type)
        for (int op = 0; op < OPS; ++op)
            if (all ? is_today_tried(type, op) : type == 4 && op == 0)
                n += snprintf(functions_source + n, sizeof functions_source - (size_t)n,
                              "FUNCTIONS(%s, %s, %s_%d)\n", cl_names[type], op_names[op], cl_names[type],
                              op);
    assert_true((size_t)n < sizeof functions_source);
}

/* Items 0 to end - 1 of the item's sub-group. A single element is the result itself, whatever the operator. */
static int64_t fold(const trial *t, int type, int op, size_t item, uint32_t end, bool with_init)
{
    int64_t sum = with_init ? INIT : identity(type, op);
    for (uint32_t l = 0; l < end; ++l) {
        const int64_t x = sample(type, op, neighbour(t, item, l));
        sum = l == 0 && !with_init ? x : combine(type, op, sum, x);
    }
    return sum;
}

static int64_t expected(const trial *t, int type, int op, size_t item, int result)
{
    const place *p = &places[item];
    const uint32_t end = result < 2 ? p->local_range : result < 4 ? p->local_id + 1 : p->local_id;
    return fold(t, type, op, item, end, result % 2 == 1);
}

static void check_functions(const trial *t, int type, int op)
{
    char name[32];
    snprintf(name, sizeof name, "%s_%d", cl_names[type], op);
    ndr_kernel *kernel = kernel_for(functions_source, name, t);
    if (!kernel || !read_places(t)) return;
    static int64_t x[MOST], y[MOST * RESULTS];
    for (size_t i = 0; i < t->items; ++i) set_element(type, x, i, sample(type, op, i));
    const size_t bytes = t->items * ndr_dtype_size(all_dtypes[type]);
    ndr_buffer *in = buffer_of(bytes, x), *out = buffer_of(bytes * RESULTS, NULL);
    assert_ok(ndr_launch(queue, kernel, range_of(t), in, out));
    read_buffer(out, y, bytes * RESULTS);
    for (size_t i = 0; i < t->items; ++i)
        for (int r = 0; r < RESULTS; ++r) {
            const int64_t got = element(type, y, i * RESULTS + (size_t)r),
                          wanted = expected(t, type, op, i, r);
            if (got != wanted)
                fail_msg("%s %s, sub-groups of %zu, groups of %zu, item %zu, result %d: %lld, not %lld",
                         cl_names[type], op_names[op], t->requested, t->local, i, r, (long long)got,
                         (long long)wanted);
        }
    destroy_buffers(in, out);
}

static void test_sub_group__reduces_and_scans_in_any_size(void **state)
{
    write_functions("", false);
    for (size_t k = 0; k < TRIALS; ++k) check_functions(&trials[k], 4, 0);
}

/* Types `from` to `to` - 1. */
static void check_types(int from, int to)
{
    const trial whole = { 0, 13, 13 }, fours = { 4, 13, 13 };
    for (int type = from; type < to; ++type)
        for (int op = 0; op < OPS; ++op)
            if (is_today_tried(type, op)) {
                check_functions(&whole, type, op);
                if (op == 0) check_functions(&fours, type, op);
            }
}

static void test_sub_group__reduces_and_scans_every_type_by_every_operator(void **state)
{
    write_functions("", true);
    check_types(BYTES, DTYPES);
    skip_for_fault(driver_loses_chosen_bytes(), "a choice of two 8-bit values is neither");
    check_types(0, BYTES);
}

static void test_sub_group__works_without_the_driver_s_shuffles(void **state)
{
    skip_without(kind_of(kernel_of_size(places_source, "places", 0), 1) == NDR_SUB_GROUP_NATIVE,
                 "the device has no sub-groups of its own");
    write_functions("#undef cl_khr_subgroup_shuffle", false);
    for (size_t k = 0; k < TRIALS; ++k) check_functions(&trials[k], 4, 0);
}

static void test_sub_group__leaves_nan_out_of_a_minimum(void **state)
{
    static const char source[] =
        "#include \"ndr/sub_group.clh\"\n"
        "NDR_SUB_GROUP_KERNEL kernel void least(global const float *x, global float *y, NDR_ND_RANGE(1))\n"
        "{\n"
        "    const ndr_nd_item it = NDR_ND_ITEM(1);\n"
        "    const size_t i = ndr_global_id(it, 0);\n"
        "    y[i] = ndr_reduce_over_group(ndr_get_sub_group(it), x[i], NDR_MINIMUM);\n"
        "}\n";
    const trial t = { 4, 8, 8 };
    ndr_kernel *kernel = kernel_of_size(source, "least", t.requested);
    skip_without(kernel && read_places(&t), "the device has no sub-groups of 4");
    const float x[8] = { NAN, 3, NAN, 2, NAN, NAN, NAN, NAN };
    float y[8];
    ndr_buffer *in = buffer_of(sizeof x, x), *out = buffer_of(sizeof y, NULL);
    assert_ok(ndr_launch(queue, kernel, range_of(&t), in, out));
    take_buffer(out, y, sizeof y);
    for (size_t i = 0; i < 4; ++i) assert_true(y[i] == 2);
    for (size_t i = 4; i < 8; ++i) assert_true(isnan(y[i]));
    ndr_buffer_destroy(in);
}

/* ---- exchanges ---- */

static const char exchange_macro[] =
    "#include \"ndr/sub_group.clh\"\n"
    "#define EXCHANGE(T) \\\n"
    "    NDR_SUB_GROUP_KERNEL kernel void exchange_##T(global const T *x, global T *y, NDR_ND_RANGE(1)) "
    "\\\n"
    "    { \\\n"
    "        const ndr_nd_item it = NDR_ND_ITEM(1); \\\n"
    "        const ndr_sub_group sg = ndr_get_sub_group(it); \\\n"
    "        const size_t i = ndr_global_id(it, 0); \\\n"
    "        const uint id = ndr_local_linear_id(sg), range = ndr_local_linear_range(sg); \\\n"
    "        global T *out = y + 12 * i; \\\n"
    "        out[0] = ndr_group_broadcast(sg, x[i]); \\\n"
    "        out[1] = ndr_group_broadcast(sg, x[i], range - 1); \\\n"
    "        out[2] = ndr_select_from_group(sg, x[i], (id * 5 + 1) % range); \\\n"
    "        out[3] = ndr_select_from_group(sg, x[i], range); \\\n"
    "        out[4] = ndr_shift_group_left(sg, x[i], 1); \\\n"
    "        out[5] = ndr_shift_group_left(sg, x[i], 3); \\\n"
    "        out[6] = ndr_shift_group_left(sg, x[i], 0xffffffffu); \\\n"
    "        out[7] = ndr_shift_group_right(sg, x[i], 1); \\\n"
    "        out[8] = ndr_shift_group_right(sg, x[i], 3); \\\n"
    "        out[9] = ndr_shift_group_right(sg, x[i], 0xffffffffu); \\\n"
    "        out[10] = ndr_permute_group_by_xor(sg, x[i], 1); \\\n"
    "        out[11] = ndr_permute_group_by_xor(sg, x[i], 2); \\\n"
    "    }\n";

static char exchange_source[4096];

/* A kernel for each of `types`, "EXCHANGE(int)". */
static void write_exchanges(const char *types)
{
    const int n = snprintf(exchange_source, sizeof exchange_source, "%s%s\n", exchange_macro, types);
    assert_true((size_t)n < sizeof exchange_source);
}

/* The item whose element item `p` takes; `p` itself if there is no such item. */
static uint32_t giver(const place *p, int result)
{
    const uint32_t id = p->local_id, range = p->local_range;
    const uint32_t wanted[12] = { 0,
                                  range - 1,
                                  (id * 5 + 1) % range,
                                  id,
                                  id + 1,
                                  id + 3,
                                  id,
                                  id >= 1 ? id - 1 : id,
                                  id >= 3 ? id - 3 : id,
                                  id,
                                  id ^ 1,
                                  id ^ 2 };
    return wanted[result] < range ? wanted[result] : id;
}

static void check_exchange(const trial *t, int type)
{
    char name[32];
    snprintf(name, sizeof name, "exchange_%s", cl_names[type]);
    ndr_kernel *kernel = kernel_for(exchange_source, name, t);
    if (!kernel || !read_places(t)) return;
    static int64_t x[MOST], y[MOST * 12];
    /* all bits in use: bytes that differ from item to item, and within one */
    const size_t size = ndr_dtype_size(all_dtypes[type]);
    unsigned char *bytes = (unsigned char *)x;
    for (size_t i = 0; i < t->items * size; ++i) bytes[i] = (unsigned char)(i * 37 + 11 + i / 256);
    ndr_buffer *in = buffer_of(t->items * size, x), *out = buffer_of(t->items * size * 12, NULL);
    assert_ok(ndr_launch(queue, kernel, range_of(t), in, out));
    read_buffer(out, y, t->items * size * 12);
    for (size_t i = 0; i < t->items; ++i)
        for (int r = 0; r < 12; ++r) {
            const size_t from = neighbour(t, i, giver(&places[i], r));
            if (memcmp((unsigned char *)y + (i * 12 + (size_t)r) * size, bytes + from * size, size) != 0)
                fail_msg("%s, sub-groups of %zu, groups of %zu, item %zu, result %d", cl_names[type],
                         t->requested, t->local, i, r);
        }
    destroy_buffers(in, out);
}

static void test_sub_group__exchanges_elements_in_any_size(void **state)
{
    write_exchanges("EXCHANGE(int)");
    for (size_t k = 0; k < TRIALS; ++k) check_exchange(&trials[k], 4);
}

static void test_sub_group__exchanges_every_type(void **state)
{
    const trial whole = { 0, 13, 13 }, fours = { 4, 13, 13 };
    write_exchanges("EXCHANGE(char) EXCHANGE(uchar) EXCHANGE(short) EXCHANGE(ushort) EXCHANGE(int) EXCHANGE(uint)\n"
                    "EXCHANGE(long) EXCHANGE(ulong) EXCHANGE(float)\n"
                    "#if NDR_HAS_F64_\n"
                    "EXCHANGE(double)\n"
                    "#endif\n");
    for (int type = 0; type < DTYPES; ++type)
        if (has_type(type)) {
            check_exchange(&whole, type);
            if (type % 5 == 0 || type == 7 || type == 9) check_exchange(&fours, type); /* each width once */
        }
}

/* ---- any, all, none; the barrier ---- */

static void test_sub_group__votes(void **state)
{
    static const char source[] =
        "#include \"ndr/sub_group.clh\"\n"
        "NDR_SUB_GROUP_KERNEL kernel void vote(global const int *x, global int *y, NDR_ND_RANGE(1))\n"
        "{\n"
        "    const ndr_nd_item it = NDR_ND_ITEM(1);\n"
        "    const ndr_sub_group sg = ndr_get_sub_group(it);\n"
        "    const bool p = x[ndr_global_id(it, 0)] > 0;\n"
        "    const int some = ndr_any_of_group(sg, p), every = ndr_all_of_group(sg, p);\n"
        "    y[ndr_global_id(it, 0)] = some + 2 * every + 4 * ndr_none_of_group(sg, p);\n"
        "}\n";
    for (size_t k = 0; k < TRIALS; k += 2) {
        const trial *t = &trials[k];
        ndr_kernel *kernel = kernel_for(source, "vote", t);
        if (!kernel || !read_places(t)) continue;
        int32_t x[MOST], y[MOST];
        /* in turn no item, every item, the leader, the last item */
        for (size_t i = 0; i < t->items; ++i) {
            const place *p = &places[i];
            const uint32_t turn = (p->group + p->id) % 4;
            x[i] =
                turn == 1 || (turn == 2 && p->leader) || (turn == 3 && p->local_id + 1 == p->local_range);
        }
        ndr_buffer *in = buffer_of(t->items * sizeof x[0], x),
                   *out = buffer_of(t->items * sizeof y[0], NULL);
        assert_ok(ndr_launch(queue, kernel, range_of(t), in, out));
        take_buffer(out, y, t->items * sizeof y[0]);
        for (size_t i = 0; i < t->items; ++i) {
            const place *p = &places[i];
            const uint32_t turn = (p->group + p->id) % 4;
            const bool any = turn != 0, all = turn == 1 || (turn > 1 && p->local_range == 1);
            assert_int_equal(y[i], any + 2 * all + 4 * !any);
        }
        ndr_buffer_destroy(in);
    }
}

static void test_sub_group__sees_after_a_barrier_what_was_written_before(void **state)
{
    static const char source[] =
        "#include \"ndr/sub_group.clh\"\n"
        "NDR_SUB_GROUP_KERNEL kernel void turn(global uint *x, local uint *t, NDR_ND_RANGE(1))\n"
        "{\n"
        "    const ndr_nd_item it = NDR_ND_ITEM(1);\n"
        "    const ndr_sub_group sg = ndr_get_sub_group(it);\n"
        "    local uint *mine = t + ndr_group_linear_id(sg) * ndr_max_local_range(sg);\n"
        "    const uint id = ndr_local_linear_id(sg), range = ndr_local_linear_range(sg);\n"
        "    for (uint k = 0; k < 3; ++k) {\n"
        "        mine[id] = x[ndr_global_id(it, 0)];\n"
        "        ndr_group_barrier(sg, NDR_FENCE_LOCAL);\n"
        "        x[ndr_global_id(it, 0)] = mine[(id + 1) % range];\n"
        "        ndr_group_barrier(sg);\n"
        "    }\n"
        "}\n";
    for (size_t k = 0; k < TRIALS; k += 2) {
        const trial *t = &trials[k];
        ndr_kernel *kernel = kernel_for(source, "turn", t);
        if (!kernel || !read_places(t)) continue;
        uint32_t x[MOST], y[MOST];
        for (size_t i = 0; i < t->items; ++i) x[i] = (uint32_t)i;
        ndr_buffer *buffer = buffer_of(t->items * sizeof x[0], x);
        assert_ok(ndr_launch(queue, kernel, range_of(t), buffer, ndr_local(uint32_t, t->local)));
        take_buffer(buffer, y, t->items * sizeof y[0]);
        for (size_t i = 0; i < t->items; ++i)
            assert_int_equal(y[i], neighbour(t, i, (places[i].local_id + 3) % places[i].local_range));
    }
}

/* ---- by kind ---- */

static void test_sub_group__of_a_whole_group_does_what_the_group_does(void **state)
{
    static const char source[] =
        "#include \"ndr/sub_group.clh\"\n"
        "kernel void both(global const int *x, global int *y, NDR_ND_RANGE(1))\n"
        "{\n"
        "    const ndr_nd_item it = NDR_ND_ITEM(1);\n"
        "    const ndr_sub_group sg = ndr_get_sub_group(it);\n"
        "    const ndr_group g = ndr_get_group(it);\n"
        "    const size_t i = ndr_global_id(it, 0);\n"
        "    y[14 * i] = ndr_reduce_over_group(sg, x[i], NDR_MAXIMUM);\n"
        "    y[14 * i + 1] = ndr_reduce_over_group(g, x[i], NDR_MAXIMUM);\n"
        "    y[14 * i + 2] = ndr_group_broadcast(sg, x[i]);\n"
        "    y[14 * i + 3] = ndr_group_broadcast(g, x[i]);\n"
        "    y[14 * i + 4] = ndr_inclusive_scan_over_group(sg, x[i], NDR_PLUS);\n"
        "    y[14 * i + 5] = ndr_inclusive_scan_over_group(g, x[i], NDR_PLUS);\n"
        "    y[14 * i + 6] = ndr_exclusive_scan_over_group(sg, x[i], 7, NDR_BIT_XOR);\n"
        "    y[14 * i + 7] = ndr_exclusive_scan_over_group(g, x[i], 7, NDR_BIT_XOR);\n"
        "    y[14 * i + 8] = ndr_exclusive_scan_over_group(sg, x[i], NDR_MINIMUM);\n"
        "    y[14 * i + 9] = ndr_exclusive_scan_over_group(g, x[i], NDR_MINIMUM);\n"
        "    y[14 * i + 10] = ndr_any_of_group(sg, x[i] > 490);\n"
        "    y[14 * i + 11] = ndr_any_of_group(g, x[i] > 490);\n"
        "    y[14 * i + 12] = ndr_leader(sg) + 2 * (int)ndr_local_linear_id(sg);\n"
        "    y[14 * i + 13] = ndr_leader(g) + 2 * (int)ndr_local_linear_id(g);\n"
        "}\n";
    static const size_t locals[] = { 1, 7, 31 };
    static int32_t x[MOST], y[14 * MOST];
    for (size_t k = 0; k < 3; ++k) {
        const trial t = { 0, 3 * locals[k], locals[k] };
        ndr_kernel *kernel = kernel_of_size(source, "both", 0);
        skip_without(kind_of(kernel, t.local) == NDR_SUB_GROUP_WHOLE, "the device has smaller sub-groups");
        for (size_t i = 0; i < t.items; ++i) x[i] = (int32_t)(i * 7919 % 1009) - 500;
        ndr_buffer *in = buffer_of(t.items * sizeof x[0], x),
                   *out = buffer_of(14 * t.items * sizeof y[0], NULL);
        assert_ok(ndr_launch(queue, kernel, range_of(&t), in, out));
        take_buffer(out, y, 14 * t.items * sizeof y[0]);
        for (size_t i = 0; i < 7 * t.items; ++i) assert_int_equal(y[2 * i], y[2 * i + 1]);
        ndr_buffer_destroy(in);
    }
}

static void test_sub_group__goes_its_own_way_where_it_is_a_warp(void **state)
{
    static const char source[] =
        "#include \"ndr/sub_group.clh\"\n"
        "kernel void odd(global int *x, NDR_ND_RANGE(1))\n"
        "{\n"
        "    const ndr_nd_item it = NDR_ND_ITEM(1);\n"
        "    const ndr_sub_group sg = ndr_get_sub_group(it);\n"
        "#if !NDR_SUB_GROUPS_CONVERGED\n"
        "    if (ndr_group_linear_id(sg) % 2 == 1)\n"
        "        x[ndr_global_id(it, 0)] = ndr_reduce_over_group(sg, 1, NDR_PLUS);\n"
        "#endif\n"
        "}\n";
    ndr_kernel *kernel = kernel_of_size(source, "odd", 0);
    skip_without(kind_of(kernel, 1) == NDR_SUB_GROUP_WARP, "sub-groups are no warps here");
    const trial t = { 0, 200, 100 };
    assert_true(read_places(&t));
    int32_t x[200] = { 0 };
    ndr_buffer *buffer = buffer_of(sizeof x, x);
    assert_ok(ndr_launch(queue, kernel, range_of(&t), buffer));
    take_buffer(buffer, x, sizeof x);
    for (size_t i = 0; i < 200; ++i) assert_int_equal(x[i], places[i].id % 2 ? places[i].local_range : 0);
}

/* ---- refusals ---- */

static void test_sub_group__larger_than_any_group_is_refused(void **state)
{
    ndr_kernel *kernel = NULL;
    assert_refused(NDR_UNSUPPORTED,
                   ndr_kernel_get(context,
                                  &(ndr_kernel_desc){ .name = "places",
                                                      .source = places_source,
                                                      .sub_group_size = device.max_group_size + 1 },
                                  &kernel),
                   "sub-group size", device.name);
}

static void assert_sentence(const char *body, const char *range, const char *sentence)
{
    char source[1024];
    snprintf(source, sizeof source,
             "#include \"ndr/sub_group.clh\"\nkernel void k(global float *x, %s)\n{\n%s\n}\n", range, body);
    ndr_kernel *kernel = NULL;
    assert_refused(NDR_BUILD_FAILED,
                   ndr_kernel_get(context, &(ndr_kernel_desc){ .name = "k", .source = source }, &kernel),
                   sentence);
}

static void test_sub_group__call_without_meaning_does_not_compile(void **state)
{
    assert_sentence("ndr_get_sub_group(NDR_ITEM(1));", "NDR_RANGE(1)",
                    "items of a range have no sub-group");
    assert_sentence("ndr_get_sub_group(ndr_get_group(NDR_ND_ITEM(1)));", "NDR_ND_RANGE(1)",
                    "a group has several sub-groups");
    assert_sentence("const ndr_sub_group sg = ndr_get_sub_group(NDR_ND_ITEM(1));"
                    "x[0] = ndr_reduce_over_group(sg, x[0], NDR_BIT_OR);",
                    "NDR_ND_RANGE(1)", "bit operators are for integers");
    assert_sentence("const ndr_sub_group sg = ndr_get_sub_group(NDR_ND_ITEM(1));"
                    "x[0] = ndr_exclusive_scan_over_group(sg, x[0], 1.0f, NDR_BIT_OR);",
                    "NDR_ND_RANGE(1)", "bit operators are for integers");
    assert_sentence("const ndr_sub_group sg = ndr_get_sub_group(NDR_ND_ITEM(1));"
                    "x[0] = ndr_shift_group_left(sg, (float2)(1, 2), 1).x;",
                    "NDR_ND_RANGE(1)", ": ndr_shift_group_left takes (s, x, distance): s is a sub-group");
    assert_sentence("const ndr_sub_group sg = ndr_get_sub_group(NDR_ND_ITEM(1));"
                    "x[0] = ndr_any_of_group(sg, (int2)(0, 1));",
                    "NDR_ND_RANGE(1)", ": ndr_any_of_group takes (g, p): ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sub_group__partitions_each_group_and_only_the_last_is_smaller),
        cmocka_unit_test(test_sub_group__is_what_the_host_is_told),
        cmocka_unit_test(test_sub_group__stays_the_same_over_launches_and_groups),
        cmocka_unit_test(test_sub_group__runs_along_the_last_dimension),
        cmocka_unit_test(test_sub_group__reduces_and_scans_in_any_size),
        cmocka_unit_test(test_sub_group__reduces_and_scans_every_type_by_every_operator),
        cmocka_unit_test(test_sub_group__works_without_the_driver_s_shuffles),
        cmocka_unit_test(test_sub_group__leaves_nan_out_of_a_minimum),
        cmocka_unit_test(test_sub_group__exchanges_elements_in_any_size),
        cmocka_unit_test(test_sub_group__exchanges_every_type),
        cmocka_unit_test(test_sub_group__votes),
        cmocka_unit_test(test_sub_group__sees_after_a_barrier_what_was_written_before),
        cmocka_unit_test(test_sub_group__of_a_whole_group_does_what_the_group_does),
        cmocka_unit_test(test_sub_group__goes_its_own_way_where_it_is_a_warp),
        cmocka_unit_test(test_sub_group__larger_than_any_group_is_refused),
        cmocka_unit_test(test_sub_group__call_without_meaning_does_not_compile),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
