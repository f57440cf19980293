/* test_group.c - ndr/group.clh: reductions over a group and broadcasts, in groups of every size and shape. */
#include "support.h"

#include "reference.h"

/* ---- sums of floats in groups of any size ---- */

static const char sums[] =
    "#include <ndr/group.clh>\n"
    "kernel void sum(global const float *x, global float *out, NDR_ND_RANGE(1))\n"
    "{\n"
    "    const ndr_nd_item it = NDR_ND_ITEM(1);\n"
    "    const size_t i = ndr_global_id(it, 0);\n"
    "    out[i] = ndr_reduce_over_group(ndr_get_group(it), x[i], NDR_PLUS);\n"
    "}\n";

/* Every item of each group must have the sum of its group, edge groups included. */
static void check_sums(size_t n, size_t group)
{
    float *x = malloc(n * sizeof *x), *got = malloc(n * sizeof *got);
    uint64_t seed = group;
    for (size_t i = 0; i < n; ++i) x[i] = random_number(NDR_DTYPE_F32, &seed).f32;
    ndr_buffer *in = buffer_of(n * sizeof *x, x), *out = buffer_of(n * sizeof *x, NULL);
    ndr_nd_range range = ndr_nd_range_1d(n, group);
    range.edge = NDR_EDGE_SPLIT;
    assert_ok(ndr_launch(queue, kernel_of(sums, "sum"), range, in, out));
    read_buffer(out, got, n * sizeof *got);
    for (size_t i = 0; i < n; ++i) {
        const size_t start = i / group * group, size = n - start < group ? n - start : group;
        const number sum = { .f32 = got[i] };
        if (got[i] == got[start] && reduces_to(NDR_DTYPE_F32, NDR_OP_SUM, NDR_REDUCE_TREE, x + start, size, sum))
            continue;
        print_error("item %zu of a group of %zu has %.9g, its leader %.9g, the loop %.9g\n", i - start, size,
                    (double)got[i], (double)got[start], (double)reference_sum(NDR_DTYPE_F32, x + start, size));
        fail();
    }
    destroy_buffers(in, out);
    free(x);
    free(got);
}

static size_t largest_group(void)
{
    ndr_kernel_info info;
    assert_ok(ndr_kernel_get_info(kernel_of(sums, "sum"), &info));
    const size_t of_kernel = info.max_group_size, of_device = device.max_local_size[2];
    const size_t by_scratch = device.local_memory_bytes / 8 - 1; /* some drivers use a little local memory */
    const size_t smaller = of_kernel < of_device ? of_kernel : of_device;
    return smaller < by_scratch ? smaller : by_scratch;
}

static void test_group__sums_in_groups_of_1_to_33(void **state)
{
    const size_t most = fitting_group(kernel_of(sums, "sum"), 33);
    for (size_t group = 1; group <= most; group += quick() ? 4 : 1) check_sums(2 * group, group);
}

static void test_group__sums_in_groups_around_powers_of_two_and_in_primes(void **state)
{
    const size_t sizes[] = { 37,  61,  63,  64,  65,  97,  127, 128,  129,  251, 255,
                             256, 257, 509, 511, 512, 513, 521, 1021, 1023, 1024 };
    const size_t limit = quick() ? 100 : largest_group();
    for (size_t i = 0; i < COUNT_OF(sizes); i += quick() ? 4 : 1)
        if (sizes[i] <= limit) check_sums(2 * sizes[i], sizes[i]);
}

static void test_group__sums_in_the_largest_group_there_is(void **state)
{
    const size_t largest = largest_group();
    check_sums(largest, largest);
    if (largest > 1 && !quick()) check_sums(largest - 1, largest - 1);
}

static void test_group__sums_in_smaller_groups_along_a_split_edge(void **state)
{
    const size_t group = fitting_group(kernel_of(sums, "sum"), 64);
    check_sums(100, group);
    check_sums(group * (quick() ? 1 : 50) + 1, group); /* the last group is one item */
    check_sums(5, group);                              /* here the only group has five items */
}

static void test_group__gives_the_same_bits_every_time_and_in_every_group(void **state)
{
    enum { LARGEST = 61, GROUPS = 7 };
    float x[GROUPS * LARGEST], first[GROUPS * LARGEST], got[GROUPS * LARGEST];
    uint64_t seed = 2;
    const size_t group = fitting_group(kernel_of(sums, "sum"), LARGEST);
    for (size_t i = 0; i < GROUPS * group; ++i)
        x[i] = i < group ? random_number(NDR_DTYPE_F32, &seed).f32 : x[i - group];
    ndr_buffer *in = buffer_of(sizeof x, x), *out = buffer_of(sizeof x, NULL);
    for (unsigned run = 0; run < (quick() ? 2 : 20); ++run) {
        assert_ok(ndr_launch(queue, kernel_of(sums, "sum"), ndr_nd_range_1d(GROUPS * group, group), in, out));
        read_buffer(out, run == 0 ? first : got, GROUPS * group * sizeof *got);
        if (run > 0) assert_memory_equal(got, first, GROUPS * group * sizeof *got);
    }
    for (size_t i = 1; i < GROUPS * group; ++i) assert_memory_equal(&first[i], &first[0], sizeof(float));
    destroy_buffers(in, out);
}

/* ---- every type and operator ---- */

/* NDR_DTYPE_I8 to NDR_DTYPE_F64, and their names on the device. */
static const char *const cl_names[] = { "",     "char", "uchar", "short", "ushort", "int",
                                        "uint", "long", "ulong", "float", "double" };
enum { PLUS, MULTIPLIES, MINIMUM, MAXIMUM, LOGICAL_AND, LOGICAL_OR, NUMBER_OPS, BIT_AND = 6, BIT_OR, BIT_XOR, ALL_OPS };

/* The operator is an argument here, so that each type needs only one kernel with one reduction of each kind. Other
 * tests here have constant operators. A broadcast follows. */
static const char combinations[] =
    "#include <ndr/group.clh>\n"
    "#define COMBINE(T, BITS) \\\n"
    "    kernel void combine_##T(global const T *x, global T *out, int which, NDR_ND_RANGE(1)) \\\n"
    "    { \\\n"
    "        const ndr_nd_item it = NDR_ND_ITEM(1); \\\n"
    "        const ndr_group g = ndr_get_group(it); \\\n"
    "        const size_t i = ndr_global_id(it, 0), n = ndr_global_range(it, 0); \\\n"
    "        const ndr_op op = which == 0 ? NDR_PLUS : which == 1 ? NDR_MULTIPLIES : which == 2 ? NDR_MINIMUM \\\n"
    "            : which == 3 ? NDR_MAXIMUM : which == 4 ? NDR_LOGICAL_AND : NDR_LOGICAL_OR; \\\n"
    "        if (which < 6) out[i] = ndr_reduce_over_group(g, x[i], op); \\\n"
    "        BITS \\\n"
    "        out[n + i] = ndr_group_broadcast(g, x[i]); \\\n"
    "    }\n"
    "#define BITS \\\n"
    "    const ndr_bit_op bits = which == 6 ? NDR_BIT_AND : which == 7 ? NDR_BIT_OR : NDR_BIT_XOR; \\\n"
    "    if (which >= 6) out[i] = ndr_reduce_over_group(g, x[i], bits);\n"
    "COMBINE(char, BITS) COMBINE(uchar, BITS) COMBINE(short, BITS) COMBINE(ushort, BITS)\n"
    "COMBINE(int, BITS) COMBINE(uint, BITS) COMBINE(long, BITS) COMBINE(ulong, BITS)\n"
    "COMBINE(float, )\n"
    "#if NDR_HAS_F64_\n"
    "COMBINE(double, )\n"
    "#endif\n";

static int64_t signed_get(ndr_dtype dtype, const void *x, size_t i)
{
    switch (dtype) {
    case NDR_DTYPE_I8: return ((const int8_t *)x)[i];
    case NDR_DTYPE_U8: return ((const uint8_t *)x)[i];
    case NDR_DTYPE_I16: return ((const int16_t *)x)[i];
    case NDR_DTYPE_U16: return ((const uint16_t *)x)[i];
    case NDR_DTYPE_I32: return ((const int32_t *)x)[i];
    case NDR_DTYPE_U32: return ((const uint32_t *)x)[i];
    default: return ((const int64_t *)x)[i];
    }
}

static bool is_less(ndr_dtype dtype, int64_t a, int64_t b)
{
    return dtype == NDR_DTYPE_U64 ? (uint64_t)a < (uint64_t)b : a < b;
}

/* Computed in 64 bits; the type keeps the low bits. */
static int64_t combined(ndr_dtype dtype, int op, int64_t a, int64_t b)
{
    switch (op) {
    case PLUS: return (int64_t)((uint64_t)a + (uint64_t)b);
    case MULTIPLIES: return (int64_t)((uint64_t)a * (uint64_t)b);
    case MINIMUM: return is_less(dtype, b, a) ? b : a;
    case MAXIMUM: return is_less(dtype, a, b) ? b : a;
    case LOGICAL_AND: return a && b;
    case LOGICAL_OR: return a || b;
    case BIT_AND: return a & b;
    case BIT_OR: return a | b;
    default: return a ^ b;
    }
}

static double combined_float(int op, double a, double b)
{
    switch (op) {
    case PLUS: return a + b;
    case MULTIPLIES: return a * b;
    case MINIMUM: return b < a ? b : a;
    case MAXIMUM: return a < b ? b : a;
    case LOGICAL_AND: return a != 0 && b != 0;
    default: return a != 0 || b != 0;
    }
}

/* Whole floats, whose sums and products of ones and twos are exact. */
static void fill(ndr_dtype dtype, int op, void *x, size_t n)
{
    uint64_t seed = (uint64_t)op + 1;
    for (size_t i = 0; i < n; ++i) {
        const uint64_t bits = random_bits(&seed);
        const bool sparse = op == LOGICAL_AND || op == LOGICAL_OR; /* mostly all ones, mostly all zeros */
        const int rare = bits % 41 == 0 ? (op == LOGICAL_OR) : (op == LOGICAL_AND);
        const int whole = sparse ? rare : op == MULTIPLIES ? (bits % 16 == 0 ? 2 : 1) : (int)(bits % 201) - 100;
        if (is_float(dtype)) number_set(dtype, x, i, number_of(dtype, whole));
        else memcpy((char *)x + i * ndr_dtype_size(dtype), sparse ? &(int64_t){ rare } : (const int64_t *)&bits,
                    ndr_dtype_size(dtype));
    }
}

static bool agrees(ndr_dtype dtype, int op, const void *x, size_t count, const void *got, size_t at)
{
    const char *all = x;
    if (is_float(dtype)) {
        double total = (double)real(dtype, number_get(dtype, all, 0));
        for (size_t i = 1; i < count; ++i)
            total = combined_float(op, total, (double)real(dtype, number_get(dtype, all, i)));
        if (op >= LOGICAL_AND && count == 1) return true; /* the element itself, which need not be 0 or 1 */
        return (double)real(dtype, number_get(dtype, got, at)) == total;
    }
    int64_t total = signed_get(dtype, all, 0);
    for (size_t i = 1; i < count; ++i) total = combined(dtype, op, total, signed_get(dtype, all, i));
    return memcmp((const char *)got + at * ndr_dtype_size(dtype), &total, ndr_dtype_size(dtype)) == 0;
}

/* Three groups. Other tests here have split edges, because every size costs a compilation. */
static void check_combined(ndr_dtype dtype, int op, size_t group)
{
    const size_t size = ndr_dtype_size(dtype), n = 3 * group;
    char name[32], *x = malloc(n * size), *got = malloc(2 * n * size);
    snprintf(name, sizeof name, "combine_%s", cl_names[dtype]);
    fill(dtype, op, x, n);
    ndr_buffer *in = buffer_of(n * size, x), *out = buffer_of(2 * n * size, NULL);
    assert_ok(ndr_launch(queue, kernel_of(combinations, name), ndr_nd_range_1d(n, group), in, out, op));
    read_buffer(out, got, 2 * n * size);
    for (size_t i = 0; i < n; ++i) {
        const size_t start = i / group * group;
        if (!agrees(dtype, op, x + start * size, group, got, i)) {
            print_error("operator %d on %s in a group of %zu is wrong at item %zu\n", op, cl_names[dtype], group,
                        i - start);
            fail();
        }
        assert_memory_equal(got + (n + i) * size, x + start * size, size); /* the leader's own */
    }
    destroy_buffers(in, out);
    free(x);
    free(got);
}

static void check_type(ndr_dtype dtype)
{
    const size_t sizes[] = { 1, 7, 33, 64 }; /* all others are tested above, and each costs a compilation for each type */
    char name[32];
    snprintf(name, sizeof name, "combine_%s", cl_names[dtype]);
    const size_t most = fitting_group(kernel_of(combinations, name), 100);
    for (size_t i = 0; i < COUNT_OF(sizes); i += quick() ? 2 : 1)
        for (int op = 0; takes_case(i + (size_t)dtype, 5) && op < (is_float(dtype) ? NUMBER_OPS : ALL_OPS) && sizes[i] <= most; ++op)
            check_combined(dtype, op, sizes[i]);
}

static void test_group__combines_integers_of_8_bits_by_any_operator(void **state)
{
    check_type(NDR_DTYPE_I8);
    check_type(NDR_DTYPE_U8);
}

static void test_group__combines_integers_of_16_bits_by_any_operator(void **state)
{
    check_type(NDR_DTYPE_I16);
    check_type(NDR_DTYPE_U16);
}

static void test_group__combines_integers_of_32_bits_by_any_operator(void **state)
{
    check_type(NDR_DTYPE_I32);
    check_type(NDR_DTYPE_U32);
}

static void test_group__combines_integers_of_64_bits_by_any_operator(void **state)
{
    check_type(NDR_DTYPE_I64);
    check_type(NDR_DTYPE_U64);
}

static void test_group__combines_f32_by_any_operator(void **state)
{
    check_type(NDR_DTYPE_F32);
}

static void test_group__combines_f64_by_any_operator(void **state)
{
    skip_without(device.has_f64, "the device has no f64");
    check_type(NDR_DTYPE_F64);
}

/* ---- shapes, and several in one kernel ---- */

static const char shapes[] =
    "#include <ndr/group.clh>\n"
    "#define SHAPE(d) \\\n"
    "    kernel void sum_##d(global int *out, NDR_ND_RANGE(d)) \\\n"
    "    { \\\n"
    "        const ndr_nd_item it = NDR_ND_ITEM(d); \\\n"
    "        const ndr_group g = ndr_get_group(it); \\\n"
    "        const int x = (int)ndr_global_linear_id(it); \\\n"
    "        global int *mine = out + 2 * x; \\\n"
    "        mine[0] = ndr_reduce_over_group(g, x, NDR_PLUS); \\\n"
    "        mine[1] = ndr_group_broadcast(g, x); \\\n"
    "    }\n"
    "SHAPE(0)\n"
    "SHAPE(1)\n"
    "SHAPE(2)\n"
    "SHAPE(3)\n"
    "\n"
    "/* Two types and four operators, one after the other through the same scratch, in a loop and through a\n"
    "   helper. */\n"
    "static float range_of(ndr_group g, float x)\n"
    "{\n"
    "    return ndr_reduce_over_group(g, x, NDR_MAXIMUM) - ndr_reduce_over_group(g, x, NDR_MINIMUM);\n"
    "}\n"
    "kernel void several(global const int *x, global float *out, NDR_ND_RANGE(1))\n"
    "{\n"
    "    const ndr_nd_item it = NDR_ND_ITEM(1);\n"
    "    const ndr_group g = ndr_get_group(it);\n"
    "    const size_t i = ndr_global_id(it, 0);\n"
    "    float sum = 0;\n"
    "    for (int turn = 0; turn < 3; ++turn) {\n"
    "        sum += (float)ndr_reduce_over_group(g, x[i] + turn, NDR_PLUS);\n"
    "        sum += range_of(g, (float)x[i] * 0.5f);\n"
    "        sum += (float)ndr_reduce_over_group(g, (long)x[i] << 32, NDR_BIT_OR) * 0x1p-32f;\n"
    "        sum += (float)ndr_group_broadcast(g, (char)x[i]);\n"
    "    }\n"
    "    out[i] = sum;\n"
    "}\n"
    "kernel void crowded(global int *out, local int *t, NDR_ND_RANGE(1))\n"
    "{\n"
    "    const ndr_nd_item it = NDR_ND_ITEM(1);\n"
    "    const size_t id = ndr_local_id(it, 0), n = ndr_local_range(it, 0);\n"
    "    t[id] = (int)id;\n"
    "    out[id] = ndr_reduce_over_group(ndr_get_group(it), (int)id, NDR_PLUS) + t[n - 1 - id];\n"
    "}\n"
    "kernel void nothing_but_nan(global float *out, NDR_ND_RANGE(1))\n"
    "{\n"
    "    const ndr_nd_item it = NDR_ND_ITEM(1);\n"
    "    const ndr_group g = ndr_get_group(it);\n"
    "    const float some = ndr_local_id(it, 0) == 3 ? 5.0f : NAN;\n"
    "    out[4 * ndr_global_id(it, 0)] = ndr_reduce_over_group(g, NAN, NDR_MINIMUM);\n"
    "    out[4 * ndr_global_id(it, 0) + 1] = ndr_reduce_over_group(g, NAN, NDR_MAXIMUM);\n"
    "    out[4 * ndr_global_id(it, 0) + 2] = ndr_reduce_over_group(g, some, NDR_MINIMUM);\n"
    "    out[4 * ndr_global_id(it, 0) + 3] = ndr_reduce_over_group(g, some, NDR_MAXIMUM);\n"
    "}\n";

/* x is an item's linear id; each has the sum over its group, and the leader's x. */
static void check_shape(ndr_nd_range range, unsigned suffix)
{
    const unsigned dims = range.global.dims;
    size_t n[3] = { 1, 1, 1 }, local[3] = { 1, 1, 1 };
    for (unsigned d = 0; d < dims; ++d) {
        n[3 - dims + d] = range.global.size[d];
        local[3 - dims + d] = range.local.size[d];
    }
    const size_t total = n[0] * n[1] * n[2];
    int32_t(*got)[2] = malloc(total * sizeof *got);
    char name[8];
    snprintf(name, sizeof name, "sum_%u", suffix);
    range.edge = NDR_EDGE_SPLIT;
    ndr_buffer *out = buffer_of(total * sizeof *got, NULL);
    assert_ok(ndr_launch(queue, kernel_of(shapes, name), range, out));
    read_buffer(out, got, total * sizeof *got);
    for (size_t at = 0; at < total; ++at) {
        const size_t place[3] = { at / n[2] / n[1], at / n[2] % n[1], at % n[2] };
        size_t from[3], to[3];
        for (unsigned d = 0; d < 3; ++d) {
            from[d] = place[d] / local[d] * local[d];
            to[d] = from[d] + local[d] < n[d] ? from[d] + local[d] : n[d];
        }
        size_t sum = 0;
        for (size_t i = from[0]; i < to[0]; ++i)
            for (size_t j = from[1]; j < to[1]; ++j)
                for (size_t k = from[2]; k < to[2]; ++k) sum += (i * n[1] + j) * n[2] + k;
        assert_int_equal(got[at][0], sum);
        assert_int_equal(got[at][1], (from[0] * n[1] + from[1]) * n[2] + from[2]);
    }
    ndr_buffer_destroy(out);
    free(got);
}

static void test_group__may_have_1_to_3_dimensions(void **state)
{
    for (unsigned any = 0; any < 2; ++any) { /* constant dimensions, then those of the launch */
        check_shape(ndr_nd_range_1d(20, 10), any ? 0 : 1);
        check_shape(ndr_nd_range_2d(8, 12, 4, 6), any ? 0 : 2);
        check_shape(ndr_nd_range_3d(4, 6, 10, 2, 3, 5), any ? 0 : 3);
    }
}

static void test_group__of_2_or_3_dimensions_may_be_a_split_edge(void **state)
{
    check_shape(ndr_nd_range_2d(5, 7, 2, 3), 2);
    check_shape(ndr_nd_range_2d(9, 13, 4, 6), 2);
    check_shape(ndr_nd_range_3d(5, 7, 11, 2, 3, 5), 3);
}

static void test_group__does_several_things_in_one_kernel(void **state)
{
    enum { N = 100 };
    const int group = (int)fitting_group(kernel_of(shapes, "several"), 33);
    int32_t x[N];
    float got[N];
    for (int i = 0; i < N; ++i) x[i] = i * 7 % 64;
    ndr_buffer *in = buffer_of(sizeof x, x), *out = buffer_of(sizeof got, NULL);
    ndr_nd_range range = ndr_nd_range_1d(N, (size_t)group);
    range.edge = NDR_EDGE_SPLIT;
    assert_ok(ndr_launch(queue, kernel_of(shapes, "several"), range, in, out));
    read_buffer(out, got, sizeof got);
    for (int i = 0; i < N; ++i) {
        const int start = i / group * group, end = start + group < N ? start + group : N;
        int sum = 0, least = x[start], most = x[start], bits = 0;
        for (int k = start; k < end; ++k) {
            sum += x[k];
            least = x[k] < least ? x[k] : least;
            most = x[k] > most ? x[k] : most;
            bits |= x[k];
        }
        const float turns = 3 * ((float)sum + (float)(most - least) * 0.5f + (float)bits + (float)x[start]);
        assert_true(got[i] == turns + 3 * (float)(end - start)); /* each iteration adds its number: 0 + 1 + 2 */
    }
    destroy_buffers(in, out);
}

static void test_group__leaves_nan_out_unless_there_is_nothing_else(void **state)
{
    enum { MOST = 33 };
    float got[MOST][4];
    const size_t n = fitting_group(kernel_of(shapes, "nothing_but_nan"), MOST);
    ndr_buffer *out = buffer_of(sizeof got, NULL);
    assert_ok(ndr_launch(queue, kernel_of(shapes, "nothing_but_nan"), ndr_nd_range_1d(n, n), out));
    take_buffer(out, got, n * sizeof *got);
    for (size_t i = 0; i < n; ++i) {
        assert_true(got[i][0] != got[i][0]);
        assert_true(got[i][1] != got[i][1]);
        assert_true(got[i][2] == 5);
        assert_true(got[i][3] == 5);
    }
}

/* ---- refusals ---- */

static void check_does_not_build(const char *statement, const char *sentence)
{
    char source[512];
    snprintf(source, sizeof source,
             "#include <ndr/group.clh>\n"
             "kernel void wrong(global float *x, NDR_ND_RANGE(1))\n"
             "{\n"
             "    const ndr_nd_item it = NDR_ND_ITEM(1);\n"
             "    const ndr_group g = ndr_get_group(it);\n"
             "    %s;\n"
             "}\n",
             statement);
    ndr_kernel *kernel;
    assert_refused(NDR_BUILD_FAILED,
                   ndr_kernel_get(context, &(ndr_kernel_desc){ .name = "wrong", .source = source }, &kernel),
                   sentence);
}

static void test_group__does_not_build_with_what_makes_no_sense(void **state)
{
    check_does_not_build("x[0] = ndr_reduce_over_group(g, x[0], NDR_BIT_XOR)", "bit operators are for integers");
    check_does_not_build("x[0] = ndr_reduce_over_group(it, x[0], NDR_PLUS)", "ndr_reduce_over_group");
}

/* Local memory that would fit without the scratch. */
static void test_group__needs_scratch_beside_the_local_memory_asked_for(void **state)
{
    int32_t got[32];
    ndr_buffer *out = buffer_of(sizeof got, memset(got, 0x55, sizeof got));
    ndr_kernel *kernel = kernel_of(shapes, "crowded");
    const size_t all = device.local_memory_bytes / sizeof(int32_t);
    assert_refused(NDR_LIMIT_EXCEEDED,
                   ndr_launch(queue, kernel, ndr_nd_range_1d(32, 32), out, ndr_local(int32_t, all - 32)),
                   "\"crowded\"", "local memory", "256 for group functions");
    read_buffer(out, got, sizeof got);
    for (size_t i = 0; i < 32; ++i) assert_int_equal(got[i], 0x55555555);
    assert_ok(ndr_launch(queue, kernel, ndr_nd_range_1d(32, 32), out, ndr_local(int32_t, 32)));
    take_buffer(out, got, sizeof got);
    for (int i = 0; i < 32; ++i) assert_int_equal(got[i], 31 * 32 / 2 + 31 - i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_group__sums_in_groups_of_1_to_33),
        cmocka_unit_test(test_group__sums_in_groups_around_powers_of_two_and_in_primes),
        cmocka_unit_test(test_group__sums_in_the_largest_group_there_is),
        cmocka_unit_test(test_group__sums_in_smaller_groups_along_a_split_edge),
        cmocka_unit_test(test_group__gives_the_same_bits_every_time_and_in_every_group),
        cmocka_unit_test(test_group__combines_integers_of_8_bits_by_any_operator),
        cmocka_unit_test(test_group__combines_integers_of_16_bits_by_any_operator),
        cmocka_unit_test(test_group__combines_integers_of_32_bits_by_any_operator),
        cmocka_unit_test(test_group__combines_integers_of_64_bits_by_any_operator),
        cmocka_unit_test(test_group__combines_f32_by_any_operator),
        cmocka_unit_test(test_group__combines_f64_by_any_operator),
        cmocka_unit_test(test_group__may_have_1_to_3_dimensions),
        cmocka_unit_test(test_group__of_2_or_3_dimensions_may_be_a_split_edge),
        cmocka_unit_test(test_group__does_several_things_in_one_kernel),
        cmocka_unit_test(test_group__leaves_nan_out_unless_there_is_nothing_else),
        cmocka_unit_test(test_group__does_not_build_with_what_makes_no_sense),
        cmocka_unit_test(test_group__needs_scratch_beside_the_local_memory_asked_for),
    };
    return cmocka_run_group_tests_name("group", tests, open_device, close_device);
}
