/* test_reducer.c - reducers: arguments of a launch to which each index adds a value. */
#include "support.h"

#include "launch/launch.h"

#include <math.h>

/* Integers take x[i] as it is, floats small numbers, so that all sums and products are exact. */
#define REAL_OF "((x[at] & 15) - 8)"
#define COMMON(T, V, P)                                                                                      \
    "kernel void all_" #T "(global const int *x, NDR_REDUCTION(1, (SUM, " #T ", a), (PRODUCT, " #T           \
    ", b), (MIN, " #T ", c), (MAX, " #T ", d)))\n"                                                           \
    "{ NDR_AHEAD(x); NDR_REDUCE(i, 1, a, b, c, d) { const size_t at = ndr_global_id(i, 0); const " #T " v = (" #T ")" V ";\n" \
    "  NDR_COMBINE(a, v); NDR_COMBINE(b, " P "); NDR_COMBINE(c, v); NDR_COMBINE(d, v); } }\n"
#define BITS(T)                                                                                              \
    "kernel void all_" #T "(global const int *x, NDR_REDUCTION(1, (SUM, " #T ", a), (PRODUCT, " #T           \
    ", b), (MIN, " #T ", c), (MAX, " #T ", d), (BIT_AND, " #T ", e), (BIT_OR, " #T ", f), (BIT_XOR, " #T ", g)))\n" \
    "{ NDR_REDUCE(i, 1, a, b, c, d, e, f, g) { const " #T " v = (" #T ")x[ndr_global_id(i, 0)];\n"           \
    "  NDR_COMBINE(a, v); NDR_COMBINE(b, v | 1); NDR_COMBINE(c, v); NDR_COMBINE(d, v);\n"                    \
    "  NDR_COMBINE(e, v | 64); NDR_COMBINE(f, v & 5); NDR_COMBINE(g, v); } }\n"

static const char integers[] = "#include \"ndr/reduction.clh\"\n" BITS(int) BITS(ulong) BITS(char) BITS(ushort)
    "kernel void mixed(global const int *x, NDR_REDUCTION(1, (SUM, uint, a), (MIN, uint, b), (SUM, long, c),\n"
    "                                                    (MAX, long, d), (SUM, uchar, e), (MAX, uchar, f),\n"
    "                                                    (PRODUCT, short, g), (MIN, short, h)))\n"
    "{ NDR_AHEAD(x); NDR_REDUCE(i, 1, h, g, f, e, d, c, b, a) { const int v = x[ndr_global_id(i, 0)];\n"
    "  NDR_COMBINE(a, v); NDR_COMBINE(b, v); NDR_COMBINE(c, v); NDR_COMBINE(d, v); NDR_COMBINE(e, v);\n"
    "  NDR_COMBINE(f, v); NDR_COMBINE(g, v | 1); NDR_COMBINE(h, v); } }\n";
static const char floats[] =
    "#include \"ndr/reduction.clh\"\n" COMMON(float, REAL_OF, "x[at] & 1 ? -1 : 1");
static const char doubles[] =
    "#include \"ndr/reduction.clh\"\n" COMMON(double, REAL_OF, "x[at] & 1 ? -1 : 1");

static const char others[] =
    "#include \"ndr/reduction.clh\"\n"
    /* each index once, with its place, in 1 to 3 dimensions */
    "#define PLACES(dims) \\\n"
    "kernel void places_##dims(global uint *seen, NDR_REDUCTION(dims, (SUM, ulong, sum), (SUM, uint, count))) \\\n"
    "{ \\\n"
    "    NDR_AHEAD(seen, seen + 1); \\\n"
    "    NDR_REDUCE(i, dims, count, sum) { \\\n"
    "        ulong place = 0; \\\n"
    "        for (uint d = 0; d < dims; ++d) place = place * 1009 + ndr_global_id(i, d); \\\n"
    "        seen[ndr_global_linear_id(i)] += 1; \\\n"
    "        if (ndr_global_linear_id(i) % 3 == 1) continue; \\\n"
    "        NDR_COMBINE(sum, place * (ndr_global_linear_id(i) + ndr_global_range(i, 0))); \\\n"
    "        if (ndr_global_linear_id(i) % 3 == 2) break; \\\n"
    "        NDR_COMBINE(count, 1); \\\n"
    "        NDR_COMBINE(count, ndr_dims(i)); \\\n"
    "    } \\\n"
    "}\n"
    "PLACES(1)\nPLACES(2)\nPLACES(3)\n"
    "kernel void looked_at(global const float *x, NDR_REDUCTION(1, (SUM, float, sum), (MIN, float, least),\n"
    "                                                         (MAX, float, most)))\n"
    "{\n"
    "    NDR_REDUCE(i, 1, sum, least, most) {\n"
    "        const float v = x[ndr_global_id(i, 0)];\n"
    "        NDR_COMBINE(sum, v);\n"
    "        NDR_COMBINE(least, v);\n"
    "        NDR_COMBINE(most, v);\n"
    "    }\n"
    "}\n"
    "kernel void logical(global const int *x, NDR_REDUCTION(1, (BIT_AND, int, all), (BIT_OR, int, any)))\n"
    "{ NDR_REDUCE(i, 1, any, all) { NDR_COMBINE(all, x[ndr_global_id(i, 0)] != 0); NDR_COMBINE(any, x[ndr_global_id(i, 0)] != 0); } }\n"
    "kernel void halves(global const half *x, NDR_REDUCTION(1, (SUM, float, sum)))\n"
    "{ NDR_REDUCE(i, 1, sum) NDR_COMBINE(sum, vload_half(ndr_global_id(i, 0), x)); }\n"
    "kernel void plain(global float *x, NDR_RANGE(1)) { x[ndr_global_id(NDR_ITEM(1), 0)] = 0; }\n"
    "kernel void tell_order(global uint *x, NDR_RANGE(1)) { x[ndr_global_id(NDR_ITEM(1), 0)] = NDR_ORDERS_DEVICE_; }\n";

enum { MOST = 300007 };
static int32_t x[MOST];

static void fill(uint64_t *seed)
{
    for (size_t i = 0; i < MOST; ++i) {
        *seed = *seed * 6364136223846793005u + 1442695040888963407u;
        x[i] = (int32_t)(*seed >> 32);
    }
}

static uint64_t new_seed(void)
{
    const uint64_t seed = number_from_env("NDR_TEST_SEED", 20261122);
    print_message("NDR_TEST_SEED=%llu\n", (unsigned long long)seed);
    return seed;
}

static ndr_arg reducer_as(ndr_op op, ndr_dtype dtype, const void *initial, size_t bytes, ndr_buffer *to, size_t at)
{
    ndr_arg arg = { .kind = NDR_ARG_REDUCER, .dtype = dtype };
    memcpy(&arg.as.reducer.initial, initial, bytes);
    arg.as.reducer.buffer = to;
    arg.as.reducer.element = at;
    arg.as.reducer.op = op;
    return arg;
}

static const ndr_op ops[] = { NDR_OP_SUM, NDR_OP_PRODUCT, NDR_OP_MIN, NDR_OP_MAX, NDR_OP_BIT_AND, NDR_OP_BIT_OR,
                              NDR_OP_BIT_XOR };

/* ---- all operators and types ---- */

/* What the kernel computes from x[0..n), with 3 as the initial value of all. `v` and `p` are the values of an element. */
#define DEFINE_REFERENCE(T, W, v, p)                                        \
    static void reference_##T(size_t n, void *out)                          \
    {                                                                       \
        T r[4] = { 3, 3, 3, 3 };                                            \
        for (size_t i = 0; i < n; ++i) {                                    \
            const T value = (T)(v);                                         \
            r[0] = (T)((W)r[0] + (W)value);                                 \
            r[1] = (T)((W)r[1] * (W)(T)(p));                                \
            r[2] = value < r[2] ? value : r[2];                             \
            r[3] = r[3] < value ? value : r[3];                             \
        }                                                                   \
        memcpy(out, r, sizeof r);                                           \
    }
#define DEFINE_BITS(T)                                                      \
    DEFINE_REFERENCE(T, uint64_t, x[i], value | 1)                          \
    static void bits_##T(size_t n, void *out)                               \
    {                                                                       \
        T r[3] = { 3, 3, 3 };                                               \
        for (size_t i = 0; i < n; ++i) {                                    \
            const T value = (T)x[i];                                        \
            r[0] = (T)(r[0] & (value | 64));                                \
            r[1] = (T)(r[1] | (value & 5));                                 \
            r[2] = (T)(r[2] ^ value);                                       \
        }                                                                   \
        memcpy(out, r, sizeof r);                                           \
    }
DEFINE_BITS(int32_t)
DEFINE_BITS(uint64_t)
DEFINE_BITS(int8_t)
DEFINE_BITS(uint16_t)
DEFINE_REFERENCE(float, float, (x[i] & 15) - 8, x[i] & 1 ? -1 : 1)
DEFINE_REFERENCE(double, double, (x[i] & 15) - 8, x[i] & 1 ? -1 : 1)

static const struct {
    const char *name;
    ndr_dtype dtype;
    void (*reference)(size_t n, void *out);
    void (*bits)(size_t n, void *out);
} types[] = {
    { "all_int", NDR_DTYPE_I32, reference_int32_t, bits_int32_t },
    { "all_ulong", NDR_DTYPE_U64, reference_uint64_t, bits_uint64_t },
    { "all_char", NDR_DTYPE_I8, reference_int8_t, bits_int8_t },
    { "all_ushort", NDR_DTYPE_U16, reference_uint16_t, bits_uint16_t },
    { "all_float", NDR_DTYPE_F32, reference_float, NULL },
    { "all_double", NDR_DTYPE_F64, reference_double, NULL },
};

static void check_type(size_t t, ndr_kernel *kernel, ndr_buffer *input, size_t n)
{
    const ndr_dtype dtype = types[t].dtype;
    const size_t bytes = ndr_dtype_size(dtype), count = types[t].bits ? 7 : 4;
    unsigned char initial[8] = { 3 }, got[8 * 9], wanted[8 * 9], untouched[8 * 9];
    const float f = 3;
    const double d = 3;
    if (dtype == NDR_DTYPE_F32) memcpy(initial, &f, sizeof f);
    if (dtype == NDR_DTYPE_F64) memcpy(initial, &d, sizeof d);
    memset(untouched, 0xa5, sizeof untouched);
    memcpy(wanted, untouched, sizeof wanted);
    types[t].reference(n, wanted + bytes);
    if (types[t].bits) types[t].bits(n, wanted + 5 * bytes);
    ndr_buffer *results = buffer_of(sizeof untouched, untouched);
    ndr_arg args[8] = { ndr_arg_of(input) };
    for (size_t i = 0; i < count; ++i) args[i + 1] = reducer_as(ops[i], dtype, initial, bytes, results, i + 1);
    const ndr_nd_range range = { .global = ndr_range_1d(n) };
    assert_ok(ndr_launch_v(queue, kernel, &range, args, count + 1, NULL));
    take_buffer(results, got, sizeof got);
    if (memcmp(got, wanted, sizeof got) == 0) return;
    for (size_t i = 0; i < 9; ++i)
        if (memcmp(got + i * bytes, wanted + i * bytes, bytes) != 0)
            print_error("%s of %zu: element %zu differs\n", types[t].name, n, i);
    fail();
}

static void check_types(const char *source, size_t first, size_t count)
{
    static const size_t sizes[] = { 0, 1, 64, 65, 257, 1009, 16385, MOST };
    uint64_t seed = new_seed();
    fill(&seed);
    ndr_buffer *input = buffer_of(sizeof x, x);
    for (size_t t = first; t < first + count; t += quick() ? 4 : 1) {
        ndr_kernel *kernel = kernel_of(source, types[t].name);
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0] && (!quick() || sizes[s] < 100); ++s)
            check_type(t, kernel, input, sizes[s]);
    }
    ndr_buffer_destroy(input);
}

static void test_reducer__combines_integers_with_each_operator(void **state)
{
    check_types(integers, 0, 4);
}

static void test_reducer__of_several_types_share_a_launch(void **state)
{
    const size_t n = quick() ? 65 : 70001;
    uint64_t seed = new_seed(), got[8] = { 0 };
    struct {
        uint32_t sum, least;
        int64_t long_sum, most;
        uint8_t byte_sum, byte_most;
        int16_t product, short_least;
    } r = { 5, 5, -5, INT64_MIN, 5, 5, -5, -5 };
    fill(&seed);
    ndr_buffer *input = buffer_of(4 * n, x), *results = buffer_of(sizeof got, got);
    assert_ok(ndr_launch(queue, kernel_of(integers, "mixed"), ndr_range_1d(n), input,
                         ndr_reducer(NDR_OP_SUM, r.sum, results, 0), ndr_reducer(NDR_OP_MIN, r.least, results, 2),
                         ndr_reducer(NDR_OP_SUM, r.long_sum, results, 2), ndr_reducer(NDR_OP_MAX, r.most, results, 3),
                         ndr_reducer(NDR_OP_SUM, r.byte_sum, results, 32), ndr_reducer(NDR_OP_MAX, r.byte_most, results, 40),
                         ndr_reducer(NDR_OP_PRODUCT, r.product, results, 24),
                         ndr_reducer(NDR_OP_MIN, r.short_least, results, 28)));
    read_buffer(results, got, sizeof got);
    for (size_t i = 0; i < n; ++i) {
        r.sum += (uint32_t)x[i];
        r.least = (uint32_t)x[i] < r.least ? (uint32_t)x[i] : r.least;
        r.long_sum += x[i];
        r.most = x[i] > r.most ? x[i] : r.most;
        r.byte_sum = (uint8_t)(r.byte_sum + (uint8_t)x[i]);
        r.byte_most = (uint8_t)x[i] > r.byte_most ? (uint8_t)x[i] : r.byte_most;
        r.product = (int16_t)(r.product * (int16_t)(x[i] | 1));
        r.short_least = (int16_t)x[i] < r.short_least ? (int16_t)x[i] : r.short_least;
    }
    assert_int_equal((uint32_t)got[0], r.sum);
    assert_int_equal((uint32_t)got[1], r.least);
    assert_int_equal((int64_t)got[2], r.long_sum);
    assert_int_equal((int64_t)got[3], r.most);
    assert_int_equal((uint8_t)got[4], r.byte_sum);
    assert_int_equal((uint8_t)got[5], r.byte_most);
    assert_int_equal((int16_t)got[6], r.product);
    assert_int_equal((int16_t)got[7], r.short_least);
    destroy_buffers(input, results);
}

static void test_reducer__combines_floats_with_each_operator(void **state)
{
    check_types(floats, 4, 1);
}

static void test_reducer__combines_doubles_with_each_operator(void **state)
{
    skip_without(device.has_f64, "f64");
    check_types(doubles, 5, 1);
}

/* ---- ranges ---- */

static uint32_t seen[MOST];

static void check_places(ndr_range range, const size_t offset[3], ndr_queue *on, bool waits_for_another)
{
    static const char *const names[] = { "places_1", "places_2", "places_3" };
    size_t n = 1, id[3] = { 0, 0, 0 };
    for (unsigned d = 0; d < range.dims; ++d) n *= range.size[d];
    memset(seen, 0, sizeof seen);
    ndr_buffer *visits = buffer_of(n ? 4 * n : 4, seen);
    ndr_buffer *results = buffer_of(4 * 8, NULL);
    ndr_nd_range whole = { .global = range, .offset = { offset[0], offset[1], offset[2] } };
    const ndr_arg args[] = { ndr_arg_of(visits), ndr_reducer(NDR_OP_SUM, (uint64_t)7, results, 2),
                             ndr_reducer(NDR_OP_SUM, 9, results, 1) };
    ndr_event *before = NULL, *after;
    const uint32_t two = 2;
    if (waits_for_another) assert_ok(ndr_buffer_fill(on, results, 0, 32, &two, 4, &before));
    assert_ok(ndr_launch_v(ndr_after(on, before), kernel_of(others, names[range.dims - 1]), &whole, args, 3, &after));
    assert_ok(ndr_event_wait(after));
    uint64_t sum = 7, got[4];
    uint32_t count = 9, got_count;
    for (size_t i = 0; i < n; ++i) {
        uint64_t place = 0;
        for (unsigned d = 0; d < range.dims; ++d) place = place * 1009 + id[d] + offset[d];
        if (i % 3 != 1) sum += place * (i + range.size[0]);
        if (i % 3 == 0) count += 1 + range.dims;
        for (unsigned d = range.dims; d-- > 0 && ++id[d] == range.size[d];) id[d] = 0;
    }
    assert_ok(ndr_buffer_read(on, results, 0, sizeof got, got, NULL));
    memcpy(&got_count, (char *)got + 4, 4);
    if (n) assert_ok(ndr_buffer_read(on, visits, 0, 4 * n, seen, NULL));
    if (got[2] != sum || got_count != count)
        print_error("%u dimensions, %zu x %zu x %zu\n", range.dims, range.size[0], range.size[1], range.size[2]);
    assert_int_equal(got[2], sum);
    assert_int_equal(got_count, count);
    for (size_t i = 0; i < n; ++i) assert_int_equal(seen[i], 1);
    ndr_event_destroy(before);
    ndr_event_destroy(after);
    destroy_buffers(visits, results);
}

static void test_reducer__runs_each_index_once_in_any_range(void **state)
{
    static const ndr_range ranges[] = {
        { 1, { 0 } },           { 1, { 1 } },        { 1, { 4097 } },      { 1, { 131071 } },    { 2, { 0, 5 } },
        { 2, { 5, 0 } },        { 2, { 7, 1 } },     { 2, { 1, 263 } },    { 2, { 1009, 3 } },   { 2, { 130, 257 } },
        { 2, { 3, 65537 } },    { 3, { 1, 1, 1 } },  { 3, { 5, 7, 64 } },  { 3, { 31, 33, 65 } }, { 3, { 4, 0, 3 } },
    };
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; ++i) {
        size_t n = 1;
        for (unsigned d = 0; d < ranges[i].dims; ++d) n *= ranges[i].size[d];
        if (quick() && n > 10) continue;
        check_places(ranges[i], (const size_t[3]){ 0 }, queue, false);
        check_places(ranges[i], (const size_t[3]){ 5, 1000, 3 }, queue, true);
    }
}

static void test_reducer__runs_generated_ranges(void **state)
{
    uint64_t seed = new_seed();
    for (unsigned i = 0; i < (quick() ? 3u : 30u); ++i) {
        ndr_range range = { .dims = 1 + i % 3 };
        size_t room = quick() ? 40 : 200000, offset[3];
        for (unsigned d = 0; d < 3; ++d) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            range.size[d] = d < range.dims ? 1 + (size_t)(seed >> 33) % (d + 1 == range.dims ? room : room / 20 + 1) : 0;
            if (d < range.dims) room = room / range.size[d] + 1;
            offset[d] = (size_t)(seed >> 50);
        }
        check_places(range, offset, queue, i & 1);
    }
}

static void test_reducer__runs_out_of_order(void **state)
{
    ndr_queue *loose = NULL;
    const ndr_status status = ndr_queue_create(context, &(ndr_queue_desc){ .is_out_of_order = true }, &loose);
    skip_without(status != NDR_UNSUPPORTED, "the device has no out-of-order queues");
    assert_ok(status);
    for (unsigned i = 0; i < 8; ++i) check_places(ndr_range_2d(17, quick() ? 97 : 4097), (const size_t[3]){ 0 }, loose, true);
    ndr_queue_destroy(loose);
}

/* ---- memory between the groups ---- */

/* Several chunks on every device. */
static size_t many(void) { return quick() ? 2049 : MOST; }

static unsigned pieces;

static void keep_pieces(ndr_log_level level, const char *id, const char *text, void *user)
{
    const char *found = strcmp(id, "launch") == 0 ? strstr(text, "pieces ") : NULL;
    if (found) pieces = (unsigned)strtoul(found + strlen("pieces "), NULL, 10);
}

static void test_reducer__is_one_launch_where_groups_order_memory(void **state)
{
    uint32_t orders;
    ndr_buffer *told = buffer_of(4, NULL);
    assert_ok(ndr_launch(queue, kernel_of(others, "tell_order"), ndr_range_1d(1), told));
    take_buffer(told, &orders, 4);
    assert_ok(ndr_log_set(NDR_LOG_DEBUG, keep_pieces, NULL));
    check_places(ndr_range_1d(many()), (const size_t[3]){ 0 }, queue, false);
    assert_ok(ndr_log_set(NDR_LOG_DEFAULT, NULL, NULL));
    assert_int_equal(pieces, orders ? 1 : 2);
}

static void sum_into(ndr_queue *on, ndr_buffer *input, ndr_buffer *sums, size_t at)
{
    ndr_arg args[8] = { ndr_arg_of(input) };
    for (size_t i = 0; i < 7; ++i) args[i + 1] = reducer_as(ops[i], NDR_DTYPE_I32, &(int32_t){ 0 }, 4, sums, at + i);
    const ndr_nd_range range = { .global = ndr_range_1d(many()) };
    assert_ok(ndr_launch_v(on, kernel_of(integers, "all_int"), &range, args, 8, NULL));
}

/* As a launch that failed halfway leaves its slot of the workspace. */
static void spoil_slot(void)
{
    ndr_workspace *work;
    const uint32_t rest = 5;
    assert_ok(ndr_workspace_borrow(queue, NDR_WORKSPACE_HEAD_BYTES, &work));
    const size_t slot = ndr_workspace_take_slot(work) * NDR_SLOT_WORDS * sizeof rest;
    assert_ok(ndr_buffer_fill(queue, ndr_workspace_buffer(work), slot, NDR_SLOT_WORDS * sizeof rest, &rest, 4, NULL));
    ndr_workspace_return(work, NULL);
}

/* Two queues use one kernel in turn, and reductions on one of them use the same slots. */
static void test_reducer__shares_workspaces_with_operations_and_a_failed_launch(void **state)
{
    enum { ROUNDS = 2 * NDR_SLOTS + 1, EACH = 8 };
    static int32_t got[2][ROUNDS][EACH];
    uint64_t seed = new_seed();
    uint32_t sum = 0;
    ndr_queue *on[2] = { queue };
    assert_ok(ndr_queue_create(context, NULL, &on[1]));
    fill(&seed);
    for (size_t i = 0; i < many(); ++i) sum += (uint32_t)x[i];
    ndr_buffer *input = buffer_of(sizeof x, x);
    ndr_buffer *sums[2] = { buffer_of(sizeof got[0], NULL), buffer_of(sizeof got[1], NULL) };
    for (size_t round = 0; round < ROUNDS; ++round) {
        if (round == 2) spoil_slot();
        for (size_t q = 0; q < 2; ++q) sum_into(on[q], input, sums[q], round * EACH);
        const ndr_reduce_desc all = { .dtype = NDR_DTYPE_I32, .op = NDR_OP_SUM, .count = many(), .input = { input, 0 },
                                      .output = { sums[0], round * EACH + 7 } };
        assert_ok(ndr_reduce(queue, &all, NULL));
    }
    for (size_t q = 0; q < 2; ++q) assert_ok(ndr_buffer_read(on[q], sums[q], 0, sizeof got[q], got[q], NULL));
    for (size_t round = 0; round < ROUNDS; ++round) {
        for (size_t q = 0; q < 2; ++q) assert_int_equal((uint32_t)got[q][round][0], sum);
        for (size_t q = 0; q < 2; ++q) assert_memory_equal(got[q][round], got[0][0], 7 * sizeof got[0][0][0]);
        assert_int_equal((uint32_t)got[0][round][7], sum);
    }
    for (size_t q = 0; q < 2; ++q) ndr_buffer_destroy(sums[q]);
    ndr_buffer_destroy(input);
    ndr_queue_destroy(on[1]);
}

/* ---- prepared launches ---- */

static void run_and_compare(ndr_queue *on, ndr_prepared *prepared, ndr_buffer *results, size_t at, const int32_t wanted[7])
{
    int32_t got[7];
    ndr_event *done;
    assert_ok(ndr_prepared_run(on, prepared, &done));
    assert_ok(ndr_buffer_read(ndr_after(queue, done), results, at * sizeof *got, sizeof got, got, NULL));
    assert_memory_equal(got, wanted, sizeof got);
    ndr_event_destroy(done);
}

/* On two queues, each with a workspace of its own, and with launches of the same kernel between the runs. One of them is
 * out of order, where the device has such queues. */
static void test_reducer__runs_prepared(void **state)
{
    static const size_t sizes[] = { 0, 1, 65, 16385, MOST };
    enum { AT = 20 };
    uint64_t seed = new_seed();
    ndr_queue *other;
    fill(&seed);
    if (ndr_queue_create(context, &(ndr_queue_desc){ .is_out_of_order = true }, &other) != NDR_OK)
        assert_ok(ndr_queue_create(context, NULL, &other));
    ndr_kernel *kernel = kernel_of(integers, "all_int");
    ndr_buffer *input = buffer_of(sizeof x, x), *results = buffer_of(4 * 40, NULL), *more = buffer_of(4 * 40, NULL);
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0] && (!quick() || sizes[s] < 100); ++s) {
        int32_t wanted[7];
        reference_int32_t(sizes[s], wanted);
        bits_int32_t(sizes[s], wanted + 4);
        ndr_arg args[8] = { ndr_arg_of(input) };
        for (size_t i = 0; i < 7; ++i) args[i + 1] = reducer_as(ops[i], NDR_DTYPE_I32, &(int32_t){ 3 }, 4, results, i);
        const ndr_nd_range range = { .global = ndr_range_1d(sizes[s]) };
        ndr_prepared *prepared;
        assert_ok(ndr_prepare_v(kernel, &range, args, 8, &prepared));
        run_and_compare(queue, prepared, results, 0, wanted);
        sum_into(other, input, more, 0);
        run_and_compare(other, prepared, results, 0, wanted);
        for (size_t i = 0; i < 7; ++i)
            assert_ok(ndr_prepared_set(prepared, i + 1, ndr_reducer(ops[i], i == 0 ? -4 : 3, more, AT + i)));
        wanted[0] = (int32_t)((uint32_t)wanted[0] - 7);
        for (unsigned i = 0; i < 3; ++i) run_and_compare(i & 1 ? other : queue, prepared, more, AT, wanted);
        ndr_prepared_destroy(prepared);
    }
    destroy_buffers(input, results, more);
    ndr_queue_destroy(other);
}

static void test_reducer__of_a_prepared_launch_is_set_or_refused(void **state)
{
    const int32_t ones[3] = { 1, 1, 1 };
    int32_t got[9];
    ndr_buffer *input = buffer_of(sizeof ones, ones), *results = buffer_of(sizeof got, NULL);
    ndr_arg args[8] = { ndr_arg_of(input) };
    for (size_t i = 0; i < 7; ++i) args[i + 1] = reducer_as(ops[i], NDR_DTYPE_I32, &(int32_t){ 3 }, 4, results, i);
    const ndr_nd_range range = { .global = ndr_range_1d(3) };
    ndr_prepared *prepared;
    args[7].as.reducer.element = 0;
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_prepare_v(kernel_of(integers, "all_int"), &range, args, 8, &prepared),
                   "\"a\" and \"g\" go to the same element, 0");
    args[7].as.reducer.element = 6;
    assert_ok(ndr_prepare_v(kernel_of(integers, "all_int"), &range, args, 8, &prepared));
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_prepared_set(prepared, 3, ndr_reducer(NDR_OP_MIN, 0, results, 5)),
                   "\"c\" and \"f\" go to the same element, 5");
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_prepared_set(prepared, 7, ndr_reducer(NDR_OP_BIT_XOR, 0, results, 0)),
                   "\"a\" and \"g\" go to the same element, 0");
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_prepared_set(prepared, 3, ndr_reducer(NDR_OP_MAX, 0, results, 2)),
                   "\"c\"", "NDR_OP_MAX");
    assert_refused(NDR_OUT_OF_BOUNDS, ndr_prepared_set(prepared, 3, ndr_reducer(NDR_OP_MIN, 0, results, 9)), "element 9");
    assert_ok(ndr_prepared_set(prepared, 3, ndr_reducer(NDR_OP_MIN, -8, results, 2))); /* its own element */
    void *host;
    assert_ok(ndr_buffer_map(queue, results, NDR_MAP_READ, 0, 4, &host));
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_prepared_run(queue, prepared, NULL), "\"a\"", "mapped");
    assert_ok(ndr_buffer_unmap(queue, results, host, NULL));
    ndr_buffer_destroy(input); /* the launch has what it needs */
    assert_ok(ndr_prepared_run(queue, prepared, NULL));
    take_buffer(results, got, sizeof got);
    assert_memory_equal(got, ((const int32_t[7]){ 6, 3, -8, 3, 3 & 65, 3 | 1, 3 ^ 1 }), 7 * sizeof *got);
    assert_ok(ndr_prepared_run(queue, prepared, NULL));
    ndr_prepared_destroy(prepared);
    assert_ok(ndr_queue_finish(queue));
}

/* ---- floats ---- */

static void look_at(const float *values, size_t n, const float initial[3], float got[3])
{
    ndr_buffer *input = buffer_of(n ? 4 * n : 4, values), *results = buffer_of(12, NULL);
    assert_ok(ndr_launch(queue, kernel_of(others, "looked_at"), ndr_range_1d(n), input,
                         ndr_reducer(NDR_OP_SUM, initial[0], results, 0), ndr_reducer(NDR_OP_MIN, initial[1], results, 1),
                         ndr_reducer(NDR_OP_MAX, initial[2], results, 2)));
    take_buffer(results, got, 12);
    ndr_buffer_destroy(input);
}

static void test_reducer__leaves_nan_out_of_minima_and_maxima(void **state)
{
    enum { N = 147 };
    float values[N], got[3];
    for (size_t i = 0; i < N; ++i) values[i] = NAN;
    look_at(values, N, (const float[3]){ 1, 2, 3 }, got);
    assert_true(isnan(got[0]) && got[1] == 2 && got[2] == 3);
    values[137] = -5;
    look_at(values, N, (const float[3]){ 1, INFINITY, -INFINITY }, got);
    assert_true(isnan(got[0]) && got[1] == -5 && got[2] == -5);
    values[0] = INFINITY;
    look_at(values, 1, (const float[3]){ 1, INFINITY, -INFINITY }, got);
    assert_true(got[0] == INFINITY && got[1] == INFINITY && got[2] == INFINITY);
}

static void test_reducer__of_nothing_is_the_initial_value(void **state)
{
    const float zeros[2] = { -0.0f, -0.0f };
    float got[3];
    look_at(zeros, 0, (const float[3]){ -0.0f, 5, -INFINITY }, got);
    assert_true(got[0] == 0 && signbit(got[0]) && got[1] == 5 && got[2] == -INFINITY);
    look_at(zeros, 2, (const float[3]){ -0.0f, 5, -INFINITY }, got);
    assert_true(got[0] == 0 && signbit(got[0]) && got[1] == 0 && got[2] == 0);
}

static void test_reducer__of_floats_has_the_same_bits_each_time(void **state)
{
    static float values[MOST];
    const size_t n = quick() ? 150 : MOST;
    uint64_t seed = new_seed();
    double exact = 0, size = 0;
    fill(&seed);
    for (size_t i = 0; i < n; ++i) values[i] = (float)x[i], exact += values[i], size += fabs((double)values[i]);
    float first[3], got[3];
    look_at(values, n, (const float[3]){ 0, INFINITY, -INFINITY }, first);
    assert_true(fabs(first[0] - exact) <= 2048 * 6e-8 * size);
    for (unsigned i = 0; i < 5; ++i) {
        look_at(values, n, (const float[3]){ 0, INFINITY, -INFINITY }, got);
        assert_memory_equal(got, first, sizeof got);
    }
}

static void test_reducer__sums_halves_as_floats(void **state)
{
    static const uint16_t values[] = { 0x3c00, 0xc000, 0x3800, 0x7bff, 0x0001 }; /* 1, -2, 0.5, 65504, 2^-24 */
    float got;
    ndr_buffer *input = buffer_of(sizeof values, values), *sum = buffer_of(sizeof got, NULL);
    assert_ok(ndr_launch(queue, kernel_of(others, "halves"), ndr_range_1d(4), input, ndr_reducer(NDR_OP_SUM, 0.25f, sum, 0)));
    read_buffer(sum, &got, sizeof got);
    assert_true(got == 65503.75f);
    const ndr_nd_range last = { .global = ndr_range_1d(1), .offset = { 4 } };
    assert_ok(ndr_launch(queue, kernel_of(others, "halves"), last, input, ndr_reducer(NDR_OP_SUM, 0.0f, sum, 0)));
    take_buffer(sum, &got, sizeof got);
    assert_true(got == 0x1p-24f);
    ndr_buffer_destroy(input);
}

/* ---- logical operators ---- */

static void check_logical(const int32_t *values, size_t n, int32_t all, int32_t any)
{
    int32_t got[2];
    ndr_buffer *input = buffer_of(4 * n, values), *results = buffer_of(sizeof got, NULL);
    assert_ok(ndr_launch(queue, kernel_of(others, "logical"), ndr_range_1d(n), input,
                         ndr_reducer(NDR_OP_BIT_AND, 1, results, 0), ndr_reducer(NDR_OP_BIT_OR, 0, results, 1)));
    take_buffer(results, got, sizeof got);
    assert_int_equal(got[0], all);
    assert_int_equal(got[1], any);
    ndr_buffer_destroy(input);
}

static void test_reducer__of_bits_is_a_logical_operator(void **state)
{
    enum { N = 4097 };
    static int32_t values[N];
    const size_t n = quick() ? 65 : N;
    check_logical(values, n, 0, 0);
    values[n - 1] = 2;
    check_logical(values, n, 0, 1);
    for (size_t i = 0; i < n; ++i) values[i] = INT32_MIN;
    check_logical(values, n, 1, 1);
    values[n / 2] = 0;
    check_logical(values, n, 0, 1);
}

/* ---- what is refused ---- */

static void test_reducer__that_does_not_fit_is_refused(void **state)
{
    ndr_kernel *k = kernel_of(others, "looked_at"), *plain = kernel_of(others, "plain");
    const float old[3] = { 11, 12, 13 };
    float now[3];
    ndr_buffer *r = buffer_of(12, old);
    const ndr_range n = ndr_range_1d(2);
    const ndr_arg sum = ndr_reducer(NDR_OP_SUM, 0.0f, r, 0), least = ndr_reducer(NDR_OP_MIN, 0.0f, r, 1),
                  most = ndr_reducer(NDR_OP_MAX, 0.0f, r, 2);
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, k, n, r, sum, most, least), "argument 2", "\"least\"",
                   "is given NDR_OP_MAX, but the kernel's reducer has NDR_OP_MIN; use the same operator in both");
    assert_refused(NDR_BAD_KERNEL_ARGUMENT,
                   ndr_launch(queue, k, n, r, ndr_reducer(NDR_OP_SUM, 0.0, r, 0), least, most), "argument 1",
                   "takes a float", "double");
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, k, n, r, ndr_reducer(NDR_OP_SUM, 0, r, 0), least, most),
                   "takes a float, but the integer ");
    assert_refused(NDR_BAD_KERNEL_ARGUMENT,
                   ndr_launch(queue, k, n, r, sum, ndr_reducer(NDR_OP_MIN, NAN, r, 1), most), "NaN", "infinity");
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, k, n, r, ndr_reducer(NDR_OP_SUM, 0.0f, NULL, 0), least, most),
                   "without a buffer; pass the buffer that receives");
    assert_refused(NDR_OUT_OF_BOUNDS, ndr_launch(queue, k, n, r, ndr_reducer(NDR_OP_SUM, 0.0f, r, 3), least, most),
                   "element 3", "holds 3 elements of 4 bytes, counted from 0; lower it");
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, k, n, r, ndr_reducer(NDR_OP_SUM, 0.0f, r, 2), least, most),
                   "\"sum\"", "\"most\"", "same element, 2");
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, k, n, r, r, least, most), "takes a reducer", "a buffer");
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, plain, n, sum), "takes a buffer", "a reducer");
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, k, n, r, ndr_reducer(NDR_OP_SUM, r, r, 0), least, most),
                   "argument 1", "ndr_reducer a number");
    assert_refused(NDR_BAD_RANGE, ndr_launch(queue, k, ndr_nd_range_1d(2, 1), r, sum, least, most),
                   "kernel \"looked_at\" has reducers (NDR_REDUCTION)", "launch it over an ndr_range without a local size",
                   "for groups, write NDR_ND_RANGE and ndr_reduce_over_group()", "ndr_reduce()");
    assert_refused(NDR_BAD_RANGE, ndr_launch(queue, k, ndr_groups_of(n, ndr_range_1d(0)), r, sum, least, most),
                   "reducers", "ndr_range");
    assert_refused(NDR_BAD_RANGE, ndr_launch(queue, k, ndr_range_2d(2, 1), r, sum, least, most), "looked_at");
    void *host;
    assert_ok(ndr_buffer_map(queue, r, NDR_MAP_READ, 0, 12, &host));
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, k, n, r, sum, least, most), "mapped");
    assert_ok(ndr_buffer_unmap(queue, r, host, NULL));
    take_buffer(r, now, sizeof now);
    assert_memory_equal(now, old, sizeof now);
}

/* As docs/vocabulary/reduction.md and that sentence say. */
static const char in_groups[] =
    "#include \"ndr/group.clh\"\n"
    "#define SUM_OF_GROUPS(dims) \\\n"
    "kernel void groups_##dims(global const int *x, global int *sums, NDR_ND_RANGE(dims)) \\\n"
    "{ \\\n"
    "    const ndr_nd_item it = NDR_ND_ITEM(dims); \\\n"
    "    const ndr_group g = ndr_get_group(it); \\\n"
    "    const int sum = ndr_reduce_over_group(g, x[ndr_global_linear_id(it)], NDR_PLUS); \\\n"
    "    if (ndr_leader(g)) sums[ndr_group_linear_id(it)] = sum; \\\n"
    "}\n"
    "SUM_OF_GROUPS(1)\nSUM_OF_GROUPS(2)\nSUM_OF_GROUPS(3)\n";

static void check_groups(const char *name, ndr_nd_range range, size_t groups)
{
    static int32_t values[1024];
    int32_t wanted = 0, got;
    const size_t count = ndr_sizes_product(range.global.dims, range.global.size);
    ndr_kernel *k = kernel_of(in_groups, name);
    skip_without_group(k, count / groups);
    for (size_t i = 0; i < count; ++i) wanted += values[i] = (int32_t)(i * i % 1009) - 300;
    ndr_buffer *in = buffer_of(sizeof values, values), *sums = buffer_of(groups * sizeof got, NULL),
               *sum = buffer_of(sizeof got, NULL);
    assert_ok(ndr_launch(queue, k, range, in, sums));
    assert_ok(ndr_reduce(queue, &(ndr_reduce_desc){ .dtype = NDR_DTYPE_I32, .op = NDR_OP_SUM, .input = { sums, 0 },
                                                    .count = groups, .output = { sum, 0 } }, NULL));
    take_buffer(sum, &got, sizeof got);
    assert_int_equal(got, wanted);
    destroy_buffers(in, sums);
}

static void test_reducer__is_not_needed_for_groups_of_a_given_size(void **state)
{
    check_groups("groups_1", ndr_nd_range_1d(1024, 64), 16);
    check_groups("groups_2", ndr_nd_range_2d(16, 24, 4, 8), 12);
    check_groups("groups_3", ndr_nd_range_3d(4, 6, 8, 2, 3, 4), 8);
}

static void assert_no_kernel(const char *source, const char *part)
{
    ndr_kernel *kernel;
    const ndr_kernel_desc desc = { .name = "k", .source = source };
    assert_refused(NDR_BUILD_FAILED, ndr_kernel_get(context, &desc, &kernel), part);
}

static void test_reducer__kernel_that_may_lose_values_does_not_build(void **state)
{
#define KERNEL(reducers, body) \
    "#include \"ndr/item.clh\"\n#include \"ndr/reduction.clh\"\n"  \
    "kernel void k(global int *x, NDR_REDUCTION(1, " reducers ")) { " body " }\n"
    assert_no_kernel(KERNEL("(SUM, int, a)", "NDR_REDUCE(i, 1, a) { if (x[0]) return; NDR_COMBINE(a, 1); }"), "`return`");
    assert_no_kernel(KERNEL("(SUM, int, a)", "NDR_REDUCE(i, 1, a) { barrier(CLK_GLOBAL_MEM_FENCE); NDR_COMBINE(a, 1); }"),
                     "`barrier`");
    assert_no_kernel(KERNEL("(SUM, int, a)", "x[0] = 1;"), "no NDR_REDUCE");
    assert_no_kernel(KERNEL("(SUM, int, a), (MIN, int, b)", "NDR_REDUCE(i, 1, a) { NDR_COMBINE(a, 1); }"),
                     "names all its reducers: write the same dimensions and reducers in both");
    assert_no_kernel(KERNEL("(SUM, int, a)", "NDR_REDUCE(i, 2, a) { NDR_COMBINE(a, 1); }"),
                     "as many dimensions as the kernel's NDR_REDUCTION");
    assert_no_kernel(KERNEL("(SUM, int, a)", "NDR_REDUCE(i, 1, a) NDR_COMBINE(a, 1); NDR_REDUCE(j, 1, a) {}"),
                     "a kernel has one NDR_REDUCE");
    assert_no_kernel(KERNEL("(BIT_OR, float, a)", "NDR_REDUCE(i, 1, a) { NDR_COMBINE(a, 1); }"),
                     "NDR_REDUCTION does not take this operator with this type");
    assert_no_kernel(KERNEL("(SUM, half, a)", "NDR_REDUCE(i, 1, a) { NDR_COMBINE(a, 1); }"),
                     "T is char to ulong, float, or double if the device has it");
    assert_no_kernel(KERNEL("(SUM, int, a)", "const ndr_item it = NDR_ITEM(1); NDR_REDUCE(i, 1, a) {} (void)it;"),
                     "NDR_REDUCE belongs to a kernel that ends its parameters with NDR_REDUCTION, NDR_ITEM to one with");
#undef KERNEL
}

/* Some of these crashed clang in the drivers: it takes an undeclared name for another one. */
static void test_reducer__kernel_with_a_slip_is_told_what_to_write(void **state)
{
#define KERNEL(parameters, body) "#include \"ndr/reduction.clh\"\nkernel void k(global int *x, " parameters ") { " body " }\n"
#define LOOP "NDR_REDUCE(i, 1, a) { NDR_COMBINE(a, 1); }"
    static const char lists[] = "1 to 8 reducers, each in parentheses";
    assert_no_kernel(KERNEL("NDR_REDUCTION(1, SUM, int, a)", LOOP), lists);
    assert_no_kernel(KERNEL("NDR_REDUCTION(1, (SUM, int, a),)", LOOP), lists);
    assert_no_kernel(KERNEL("NDR_REDUCTION(1)", "NDR_REDUCE(i, 1) {}"), lists);
    assert_no_kernel(KERNEL("int n", LOOP), "NDR_ITEM, NDR_ND_ITEM and NDR_REDUCE work in a kernel that ends");
    assert_no_kernel(KERNEL("NDR_RANGE(1)", LOOP), "NDR_REDUCE belongs to a kernel that ends its parameters with");
    assert_no_kernel(KERNEL("NDR_REDUCTION(1, (SUM, int, a))", "if (*x) " LOOP), "outside of branches, loops and blocks");
    assert_no_kernel(KERNEL("NDR_REDUCTION(1, (SUM, int, a))", "{ " LOOP " }"), "outside of branches, loops and blocks");
    assert_no_kernel(KERNEL("NDR_REDUCTION(1, (SUM, int, a))", "NDR_COMBINE(a, 1); " LOOP),
                     "NDR_COMBINE takes a reducer that NDR_REDUCE names");
#undef LOOP
#undef KERNEL
}

/* Compilers that are made from a clang before version 9 refuse variadic macros: the one of NVIDIA's driver 580 for
 * -cl-std=CL1.2 does. The rest of the vocabulary works there. */
static void test_reducer__needs_a_compiler_with_variadic_macros(void **state)
{
    ndr_kernel *kernel;
    ndr_kernel_desc desc = { .name = "k", .options = "-cl-std=CL1.2 -D__clang_major__=8" };
    desc.source = "#include \"ndr/ndr.clh\"\n"
                  "kernel void k(global int *x, NDR_RANGE(1)) { x[ndr_global_id(NDR_ITEM(1), 0)] = 1; }\n";
    const ndr_status status = ndr_kernel_get(context, &desc, &kernel);
    skip_without(status == NDR_OK || !strstr(ndr_last_error(), "Unsupported Clang"),
                 "the driver's own header reads __clang_major__, by which the test names an older compiler");
    assert_ok(status);
    desc.source = "#include \"ndr/ndr.clh\"\n"
                  "kernel void k(global int *x, NDR_REDUCTION(1, (SUM, int, a))) { NDR_REDUCE(i, 1, a) {} }\n";
    assert_refused(NDR_BUILD_FAILED, ndr_kernel_get(context, &desc, &kernel), "this compiler has no variadic macros",
                   "leave out -cl-std, or use ndr_reduce()");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reducer__combines_integers_with_each_operator),
        cmocka_unit_test(test_reducer__of_several_types_share_a_launch),
        cmocka_unit_test(test_reducer__combines_floats_with_each_operator),
        cmocka_unit_test(test_reducer__combines_doubles_with_each_operator),
        cmocka_unit_test(test_reducer__runs_each_index_once_in_any_range),
        cmocka_unit_test(test_reducer__runs_generated_ranges),
        cmocka_unit_test(test_reducer__runs_out_of_order),
        cmocka_unit_test(test_reducer__is_one_launch_where_groups_order_memory),
        cmocka_unit_test(test_reducer__shares_workspaces_with_operations_and_a_failed_launch),
        cmocka_unit_test(test_reducer__runs_prepared),
        cmocka_unit_test(test_reducer__of_a_prepared_launch_is_set_or_refused),
        cmocka_unit_test(test_reducer__leaves_nan_out_of_minima_and_maxima),
        cmocka_unit_test(test_reducer__of_nothing_is_the_initial_value),
        cmocka_unit_test(test_reducer__of_floats_has_the_same_bits_each_time),
        cmocka_unit_test(test_reducer__sums_halves_as_floats),
        cmocka_unit_test(test_reducer__of_bits_is_a_logical_operator),
        cmocka_unit_test(test_reducer__that_does_not_fit_is_refused),
        cmocka_unit_test(test_reducer__is_not_needed_for_groups_of_a_given_size),
        cmocka_unit_test(test_reducer__kernel_that_may_lose_values_does_not_build),
        cmocka_unit_test(test_reducer__kernel_with_a_slip_is_told_what_to_write),
        cmocka_unit_test(test_reducer__needs_a_compiler_with_variadic_macros),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
