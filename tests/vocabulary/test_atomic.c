/* test_atomic.c - ndr/atomic.clh: one location and many items, in global and in local memory. */
#include "support.h"

#include <math.h>

#include "reference.h"

/* ---- the cells that all items change ---- */

enum { ADD, SUB, MIN, MAX, EXCHANGE, TICKET, LOADED, STORED, AND, OR, XOR, CELLS };

/* In change_T every item changes cells in global memory: v[i] is its input, before[i] and ticket[i] are its results.
 * gather_T does the same in local memory and copies the cells out, CELLS for each group. ticket[i] is the value that an
 * increment by hand replaced: load, then compare_exchange until it succeeds. */
#define CHANGER(space)                                                                                        \
    "#define CHANGE_" space "(T) \\\n"                                                                        \
    "    static void change_" space "_##T(volatile " space " T *cells, T v, global T *before, global T *ticket) \\\n" \
    "    { \\\n"                                                                                              \
    "        ndr_atomic_fetch_add(&cells[0], v); \\\n"                                                        \
    "        ndr_atomic_fetch_sub(&cells[1], v); \\\n"                                                        \
    "        ndr_atomic_fetch_min(&cells[2], v); \\\n"                                                        \
    "        ndr_atomic_fetch_max(&cells[3], v); \\\n"                                                        \
    "        *before = ndr_atomic_exchange(&cells[4], v); \\\n"                                               \
    "        T seen = ndr_atomic_load(&cells[5]); \\\n"                                                       \
    "        while (!ndr_atomic_compare_exchange(&cells[5], &seen, seen + (T)1)) { } \\\n"                    \
    "        *ticket = seen; \\\n"                                                                            \
    "        ndr_atomic_store(&cells[7], (T)7); \\\n"                                                         \
    "    }\n"                                                                                                 \
    "#define CHANGE_BITS_" space "(T) \\\n"                                                                   \
    "    static void change_bits_" space "_##T(volatile " space " T *cells, T v) \\\n"                        \
    "    { \\\n"                                                                                              \
    "        ndr_atomic_fetch_and(&cells[8], v); \\\n"                                                        \
    "        ndr_atomic_fetch_or(&cells[9], v); \\\n"                                                         \
    "        ndr_atomic_fetch_xor(&cells[10], v); \\\n"                                                       \
    "    }\n"

static const char changers[] =
    "#include <ndr/nd_item.clh>\n"
    "#include <ndr/atomic.clh>\n" CHANGER("global") CHANGER("local")
    "#define CHANGES(T) CHANGE_global(T) CHANGE_local(T)\n"
    "#define CHANGES_BITS(T) CHANGE_BITS_global(T) CHANGE_BITS_local(T)\n"
    "#define NO_BITS(T) \\\n"
    "    static void change_bits_global_##T(volatile global T *cells, T v) { } \\\n"
    "    static void change_bits_local_##T(volatile local T *cells, T v) { }\n"
    "#define KERNELS(T) CHANGES(T) \\\n"
    "    kernel void change_##T(global T *cells, global const T *v, global T *before, global T *ticket, \\\n"
    "                         NDR_ND_RANGE(1)) \\\n"
    "    { \\\n"
    "        const ndr_nd_item it = NDR_ND_ITEM(1); \\\n"
    "        const size_t i = ndr_global_id(it, 0); \\\n"
    "        change_global_##T(cells, v[i], &before[i], &ticket[i]); \\\n"
    "        change_bits_global_##T(cells, v[i]); \\\n"
    "        if (i == 0) ndr_atomic_store(&cells[6], ndr_atomic_load(&cells[6]) + (T)1); \\\n"
    "    } \\\n"
    "    kernel void gather_##T(global T *cells, global const T *v, global T *before, global T *ticket, \\\n"
    "                           NDR_ND_RANGE(1)) \\\n"
    "    { \\\n"
    "        const ndr_nd_item it = NDR_ND_ITEM(1); \\\n"
    "        const ndr_group g = ndr_get_group(it); \\\n"
    "        const size_t i = ndr_global_id(it, 0), at = 11 * ndr_group_id(it, 0); \\\n"
    "        local T own[11]; \\\n"
    "        if (ndr_leader(g)) for (size_t c = 0; c < 11; ++c) own[c] = cells[at + c]; \\\n"
    "        ndr_group_barrier(g); \\\n"
    "        change_local_##T(own, v[i], &before[i], &ticket[i]); \\\n"
    "        change_bits_local_##T(own, v[i]); \\\n"
    "        if (ndr_leader(g)) ndr_atomic_store(&own[6], ndr_atomic_load(&own[6]) + (T)1); \\\n"
    "        ndr_group_barrier(g); \\\n"
    "        if (ndr_leader(g)) for (size_t c = 0; c < 11; ++c) cells[at + c] = own[c]; \\\n"
    "    }\n";

/* In two sources, because a device may have only 32 bits. */
static const char of_32_bits[] = "CHANGES_BITS(int) KERNELS(int)\n"
                                 "CHANGES_BITS(uint) KERNELS(uint)\n"
                                 "NO_BITS(float) KERNELS(float)\n";
static const char of_64_bits[] = "CHANGES_BITS(long) KERNELS(long)\n"
                                 "CHANGES_BITS(ulong) KERNELS(ulong)\n"
                                 "#if NDR_HAS_F64_\n"
                                 "NO_BITS(double) KERNELS(double)\n"
                                 "#endif\n";

static ndr_kernel *kernel_for(const char *rest, const char *name)
{
    char source[8192];
    assert_true((size_t)snprintf(source, sizeof source, "%s%s", changers, rest) < sizeof source);
    return kernel_of(source, name);
}

/* ---- the expected results ---- */

/* The items that share a set of cells. */
typedef struct sharers {
    ndr_dtype dtype;
    size_t items, first;         /* how many, and the number of the first of them */
    const void *v;               /* the input of each */
    const void *before, *ticket; /* the results of each */
    const void *cells;           /* at the end */
} sharers;

/* The cells' first values. The loaded one is 41 and grows by one; the stored one is overwritten. */
static void start_cells(ndr_dtype dtype, void *cells, size_t from)
{
    const number zero = number_of(dtype, 0);
    for (size_t c = 0; c < CELLS; ++c) number_set(dtype, cells, from + c, zero);
    number_set(dtype, cells, from + MIN, reference_reduce(dtype, NDR_OP_MIN, "", 0));
    number_set(dtype, cells, from + MAX, reference_reduce(dtype, NDR_OP_MAX, "", 0));
    number_set(dtype, cells, from + EXCHANGE, number_of(dtype, 1000));
    number_set(dtype, cells, from + LOADED, number_of(dtype, 41));
    if (!is_float(dtype)) number_set(dtype, cells, from + AND, number_of(dtype, -1));
}

static void check_cell(const sharers *p, unsigned cell, number wanted)
{
    const number got = number_get(p->dtype, p->cells, cell);
    if (number_equal(p->dtype, got, wanted)) return;
    print_error("%s: cell %u of the %zu items from %zu on holds %s, not %s\n", ndr_dtype_name(p->dtype), cell, p->items,
                p->first, number_text(p->dtype, got), number_text(p->dtype, wanted));
    fail();
}

/* The exchanges' results with the final value are the inputs with the start value, in some order. */
static void check_exchanged(const sharers *p)
{
    const size_t size = ndr_dtype_size(p->dtype);
    char *in = malloc((p->items + 1) * size), *out = malloc((p->items + 1) * size);
    memcpy(in, p->v, p->items * size);
    number_set(p->dtype, in, p->items, number_of(p->dtype, 1000));
    memcpy(out, p->before, p->items * size);
    number_set(p->dtype, out, p->items, number_get(p->dtype, p->cells, EXCHANGE));
    for (size_t i = 0; i <= p->items; ++i) { /* find each in `out` and remove it */
        size_t at = 0;
        while (at <= p->items - i && memcmp(in + i * size, out + at * size, size) != 0) ++at;
        assert_true(at <= p->items - i);
        memmove(out + at * size, out + (p->items - i) * size, size);
    }
    free(in);
    free(out);
}

/* Each item has a different number, from 0. */
static void check_tickets(const sharers *p)
{
    unsigned char *drawn = calloc(p->items, 1);
    for (size_t i = 0; i < p->items; ++i) {
        const number ticket = number_get(p->dtype, p->ticket, i);
        size_t at = 0;
        while (at < p->items && !number_equal(p->dtype, ticket, number_of(p->dtype, (int)at))) ++at;
        assert_true(at < p->items);
        assert_int_equal(drawn[at]++, 0);
    }
    check_cell(p, TICKET, number_of(p->dtype, (int)p->items));
    free(drawn);
}

static void check_bits(const sharers *p)
{
    uint64_t all = UINT64_MAX, any = 0, odd = 0;
    for (size_t i = 0; i < p->items; ++i) {
        const uint64_t bits = number_get(p->dtype, p->v, i).u64;
        all &= bits;
        any |= bits;
        odd ^= bits;
    }
    check_cell(p, AND, (number){ .u64 = all });
    check_cell(p, OR, (number){ .u64 = any });
    check_cell(p, XOR, (number){ .u64 = odd });
}

static void check_cells(const sharers *p)
{
    const number sum = reference_reduce(p->dtype, NDR_OP_SUM, p->v, p->items);
    number negative = sum;
    if (p->dtype == NDR_DTYPE_F32) negative.f32 = -sum.f32;
    else if (p->dtype == NDR_DTYPE_F64) negative.f64 = -sum.f64;
    else negative.u64 = 0 - sum.u64;
    check_cell(p, ADD, sum);
    check_cell(p, SUB, negative);
    check_cell(p, MIN, reference_reduce(p->dtype, NDR_OP_MIN, p->v, p->items));
    check_cell(p, MAX, reference_reduce(p->dtype, NDR_OP_MAX, p->v, p->items));
    check_cell(p, LOADED, number_of(p->dtype, 42));
    check_cell(p, STORED, number_of(p->dtype, 7));
    check_exchanged(p);
    check_tickets(p);
    if (!is_float(p->dtype)) check_bits(p);
}

/* ---- running ---- */

enum { GROUP = 32 };

/* Integers of all bits; whole floats, whose sum is exact in any order. */
static void fill_values(ndr_dtype dtype, void *v, size_t items)
{
    uint64_t seed = 1;
    for (size_t i = 0; i < items; ++i)
        number_set(dtype, v, i, is_float(dtype) ? number_of(dtype, (int)(random_bits(&seed) % 2000) - 1000)
                                                : random_number(dtype, &seed));
}

/* `items` items share `sets` sets of cells, each set the same number of items. */
static void check_changes(ndr_dtype dtype, ndr_kernel *kernel, size_t items, size_t sets)
{
    const size_t size = ndr_dtype_size(dtype);
    char *v = malloc(items * size), *before = malloc(items * size), *ticket = malloc(items * size);
    char *cells = malloc(sets * CELLS * size);
    fill_values(dtype, v, items);
    for (size_t i = 0; i < sets; ++i) start_cells(dtype, cells, i * CELLS);
    ndr_buffer *on[] = { buffer_of(sets * CELLS * size, cells), buffer_of(items * size, v),
                         buffer_of(items * size, NULL), buffer_of(items * size, NULL) };
    assert_ok(ndr_launch(queue, kernel, ndr_nd_range_1d(items, GROUP), on[0], on[1], on[2], on[3]));
    read_buffer(on[0], cells, sets * CELLS * size);
    read_buffer(on[2], before, items * size);
    read_buffer(on[3], ticket, items * size);
    const size_t each = items / sets;
    for (size_t i = 0; i < sets; ++i)
        check_cells(&(sharers){ dtype, each, i * each, v + i * each * size, before + i * each * size,
                              ticket + i * each * size, cells + i * CELLS * size });
    for (size_t i = 0; i < 4; ++i) ndr_buffer_destroy(on[i]);
    free(v);
    free(before);
    free(ticket);
    free(cells);
}

static void check_type(ndr_dtype dtype, const char *cl_name)
{
    const char *rest = ndr_dtype_size(dtype) == 4 ? of_32_bits : of_64_bits;
    char name[32];
    snprintf(name, sizeof name, "change_%s", cl_name);
    check_changes(dtype, kernel_for(rest, name), GROUP, 1);
    check_changes(dtype, kernel_for(rest, name), GROUP * (quick() ? 3 : 64), 1);
    snprintf(name, sizeof name, "gather_%s", cl_name);
    const size_t groups = quick() ? 3 : 64;
    check_changes(dtype, kernel_for(rest, name), GROUP * groups, groups);
}

static void test_atomic__on_int_loses_nothing(void **state)
{
    check_type(NDR_DTYPE_I32, "int");
}

static void test_atomic__on_uint_loses_nothing(void **state)
{
    check_type(NDR_DTYPE_U32, "uint");
}

static void test_atomic__on_float_loses_nothing(void **state)
{
    check_type(NDR_DTYPE_F32, "float");
}

static void test_atomic__on_long_loses_nothing(void **state)
{
    skip_without(device.has_int64_atomics, "the device has no 64-bit atomics");
    check_type(NDR_DTYPE_I64, "long");
}

static void test_atomic__on_ulong_loses_nothing(void **state)
{
    skip_without(device.has_int64_atomics, "the device has no 64-bit atomics");
    check_type(NDR_DTYPE_U64, "ulong");
}

static void test_atomic__on_double_loses_nothing(void **state)
{
    skip_without(device.has_f64, "the device has no f64");
    skip_without(device.has_int64_atomics, "the device has no 64-bit atomics");
    check_type(NDR_DTYPE_F64, "double");
}

/* ---- one item, one answer ---- */

static const char alone[] =
    "#include <ndr/atomic.clh>\n"
    "kernel void steps(global int *x, global int *was, NDR_RANGE(1))\n"
    "{\n"
    "    was[0] = ndr_atomic_fetch_add(x, 5);\n"
    "    was[1] = ndr_atomic_fetch_sub(x, 3);\n"
    "    was[2] = ndr_atomic_fetch_min(x, 9);\n"
    "    was[3] = ndr_atomic_fetch_max(x, 20);\n"
    "    was[4] = ndr_atomic_exchange(x, 6);\n"
    "    was[5] = ndr_atomic_fetch_and(x, 12);\n"
    "    was[6] = ndr_atomic_fetch_or(x, 3);\n"
    "    was[7] = ndr_atomic_fetch_xor(x, 5);\n"
    "    int expected = 99;\n"
    "    was[8] = ndr_atomic_compare_exchange(x, &expected, 1);\n"
    "    was[9] = expected;\n"
    "    was[10] = ndr_atomic_compare_exchange(x, &expected, 1);\n"
    "    was[11] = expected;\n"
    "    ndr_atomic_store(x, 77);\n"
    "    was[12] = ndr_atomic_load(x);\n"
    "}\n"
    "kernel void float_steps(global float *x, global float *was, NDR_RANGE(1))\n"
    "{\n"
    "    was[0] = ndr_atomic_fetch_add(x, 0.5f);\n"
    "    was[1] = ndr_atomic_fetch_sub(x, 0.25f);\n"
    "    was[2] = ndr_atomic_fetch_min(x, -2.0f);\n"
    "    was[3] = ndr_atomic_fetch_max(x, 3.0f);\n"
    "    was[4] = ndr_atomic_exchange(x, -0.0f);\n"
    "    float expected = 0.0f;\n"
    "    was[5] = ndr_atomic_compare_exchange(x, &expected, 1.0f);\n"
    "    was[6] = 1 / expected;\n"
    "    was[7] = ndr_atomic_compare_exchange(x, &expected, NAN);\n"
    "    expected = NAN;\n"
    "    was[8] = ndr_atomic_compare_exchange(x, &expected, 4.0f);\n"
    "    was[9] = ndr_atomic_load(x);\n"
    "}\n"
    "kernel void extremes(global float *cells, global const float *v, NDR_RANGE(1))\n"
    "{\n"
    "    const ndr_item it = NDR_ITEM(1);\n"
    "    ndr_atomic_fetch_min(&cells[0], v[ndr_global_id(it, 0)]);\n"
    "    ndr_atomic_fetch_max(&cells[1], v[ndr_global_id(it, 0)]);\n"
    "    ndr_atomic_fetch_add(&cells[2], v[ndr_global_id(it, 0)]);\n"
    "}\n";

static void test_atomic__gives_what_was_there_before(void **state)
{
    int32_t x = 10, was[13];
    ndr_buffer *location = buffer_of(sizeof x, &x), *answers = buffer_of(sizeof was, NULL);
    assert_ok(ndr_launch(queue, kernel_of(alone, "steps"), ndr_range_1d(1), location, answers));
    take_buffer(answers, was, sizeof was);
    assert_memory_equal(was, ((const int32_t[]){ 10, 15, 12, 9, 20, 6, 4, 7, 0, 2, 1, 2, 77 }), sizeof was);
    ndr_buffer_destroy(location);
}

/* Bits are compared: -0 is not 0, and a NaN equals itself. */
static void test_atomic__compares_bits_of_floats(void **state)
{
    float x = 1, was[10];
    ndr_buffer *location = buffer_of(sizeof x, &x), *answers = buffer_of(sizeof was, NULL);
    assert_ok(ndr_launch(queue, kernel_of(alone, "float_steps"), ndr_range_1d(1), location, answers));
    take_buffer(answers, was, sizeof was);
    const float wanted[] = { 1, 1.5f, 1.25f, -2, 3, 0, -INFINITY, 1, 1, 4 };
    for (size_t i = 0; i < 10; ++i) assert_true(was[i] == wanted[i]);
    ndr_buffer_destroy(location);
}

static void check_extremes(const float *v, size_t count, float start, float min, float max, float sum)
{
    const float before[] = { start, start, 0 };
    ndr_buffer *cells = buffer_of(sizeof before, before), *values = buffer_of(count * sizeof *v, v);
    assert_ok(ndr_launch(queue, kernel_of(alone, "extremes"), ndr_range_1d(count), cells, values));
    float got[3];
    const float wanted[] = { min, max, sum };
    take_buffer(cells, got, sizeof got);
    for (size_t i = 0; i < 3; ++i) assert_true(isnan(wanted[i]) ? isnan(got[i]) : got[i] == wanted[i]);
    ndr_buffer_destroy(values);
}

static void test_atomic__leaves_nan_out_of_minima_and_maxima(void **state)
{
    const float mixed[] = { NAN, 2, -NAN, -3, NAN }, nothing[] = { NAN, NAN, -NAN };
    const float wide[] = { INFINITY, -INFINITY, NAN };
    check_extremes(mixed, 5, NAN, -3, 2, NAN);
    check_extremes(mixed, 5, 1, -3, 2, NAN);
    check_extremes(nothing, 3, NAN, NAN, NAN, NAN);
    check_extremes(nothing, 3, 1, 1, 1, NAN);
    check_extremes(wide, 3, NAN, -INFINITY, INFINITY, NAN);
    check_extremes(mixed + 1, 1, NAN, 2, 2, 2);
}

/* ---- calls that are refused ---- */

static void check_is_refused(const char *parameter, const char *call, const char *sentence)
{
    char source[512];
    snprintf(source, sizeof source,
             "#include <ndr/atomic.clh>\n"
             "kernel void wrong(%s, NDR_RANGE(1)) { %s; }\n",
             parameter, call);
    ndr_kernel *kernel;
    assert_refused(NDR_BUILD_FAILED,
                   ndr_kernel_get(context, &(ndr_kernel_desc){ .name = "wrong", .source = source }, &kernel),
                   sentence);
}

static void check_does_not_build(const char *parameter, const char *call)
{
    check_is_refused(parameter, call, "atomics are for int, uint");
}

static void test_atomic__does_not_build_with_types_that_have_none(void **state)
{
    check_does_not_build("global char *x", "ndr_atomic_fetch_add(x, 1)");
    check_does_not_build("global ushort *x", "ndr_atomic_load(x)");
    check_does_not_build("global float *x", "ndr_atomic_fetch_xor(x, 1)");
    check_does_not_build("local float *x", "ndr_atomic_fetch_and(x, 1)");
    check_does_not_build("global float4 *x", "ndr_atomic_load(x)");
    check_does_not_build("global char *x", "ndr_atomic_fetch_add(x, 1.5f)");
    check_does_not_build("global float *x", "ndr_atomic_fetch_or(x, 1.0f)");
}

#define FITS "takes a pointer to int, uint, long, ulong, float or double and a scalar that fits"

static void test_atomic__does_not_build_with_a_fraction_for_an_integer(void **state)
{
    static const char *const calls[] = {
        "ndr_atomic_store(x, v)",     "ndr_atomic_exchange(x, v)",  "ndr_atomic_fetch_add(x, v)",
        "ndr_atomic_fetch_sub(x, v)", "ndr_atomic_fetch_min(x, v)", "ndr_atomic_fetch_max(x, v)",
        "ndr_atomic_fetch_and(x, v)", "ndr_atomic_fetch_or(x, v)",  "ndr_atomic_fetch_xor(x, v)",
    };
    static const char *const parameters[] = { "global int *x, float v", "global uint *x, float v",
                                              "local int *x, float v", "local uint *x, float v" };
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; ++i) {
        char sentence[128];
        snprintf(sentence, sizeof sentence, ": %.*s " FITS, (int)strcspn(calls[i], "("), calls[i]);
        check_is_refused(parameters[i % 4], calls[i], sentence);
    }
    check_is_refused("global int *x", "ndr_atomic_fetch_add(x, 2.7)", ": ndr_atomic_fetch_add " FITS);
    check_is_refused("global int *x", "int e = 0; ndr_atomic_compare_exchange(x, &e, 2.7f)",
                     ": ndr_atomic_compare_exchange " FITS);
    check_is_refused("global int *x", "ndr_atomic_fetch_add(x, 2.7f, NDR_RELAXED, NDR_SCOPE_DEVICE)",
                     ": ndr_atomic_fetch_add " FITS);
    check_is_refused("local uint *x",
                     "uint e = 0; ndr_atomic_compare_exchange(x, &e, 2.7f, NDR_ACQUIRE, NDR_SCOPE_WORK_GROUP)",
                     ": ndr_atomic_compare_exchange " FITS);
    if (device.has_int64_atomics) {
        check_is_refused("global long *x, float v", "ndr_atomic_fetch_max(x, v)", ": ndr_atomic_fetch_max " FITS);
        check_is_refused("local ulong *x", "ndr_atomic_fetch_add(x, 2.7)", ": ndr_atomic_fetch_add " FITS);
    }
}

static void test_atomic__does_not_build_with_a_vector(void **state)
{
    check_is_refused("global int *x", "ndr_atomic_fetch_add(x, (int2)(1, 2))", ": ndr_atomic_fetch_add " FITS);
    check_is_refused("global float4 *x", "ndr_atomic_store(x, x[1])", "of a vector, take one component");
}

/* At the end each location holds its number, whatever type the values have. */
static void test_atomic__converts_numbers_that_fit(void **state)
{
    ndr_kernel *kernel = kernel_of("#include <ndr/atomic.clh>\n"
                                   "kernel void numbers(global int *i, global uint *u, global float *f, NDR_RANGE(1))\n"
                                   "{\n"
                                   "    const ndr_item it = NDR_ITEM(1);\n"
                                   "    const short s = 3;\n"
                                   "    const uchar c = 4;\n"
                                   "    const ulong l = 5;\n"
                                   "    ndr_atomic_fetch_add(i, s);\n"
                                   "    ndr_atomic_fetch_add(i, 2u);\n"
                                   "    ndr_atomic_fetch_add(i, l, NDR_RELAXED, NDR_SCOPE_DEVICE);\n"
                                   "    ndr_atomic_fetch_max(u, 2);\n"
                                   "    ndr_atomic_fetch_or(u, c);\n"
                                   "    ndr_atomic_fetch_add(u, true);\n"
                                   "    ndr_atomic_store(f, 2);\n"
                                   "    ndr_atomic_fetch_add(f, 0.5);\n"
                                   "    ndr_atomic_fetch_add(f, 0.25f);\n"
                                   "    ndr_atomic_fetch_sub(f, 1u, NDR_RELAXED, NDR_SCOPE_DEVICE);\n"
                                   "    ndr_atomic_fetch_max(f, 0.5, NDR_RELAXED, NDR_SCOPE_DEVICE);\n"
                                   "}\n",
                                   "numbers");
    int32_t i = 0;
    uint32_t u = 0;
    float f = 0;
    ndr_buffer *ints = buffer_of(sizeof i, &i), *uints = buffer_of(sizeof u, &u), *floats = buffer_of(sizeof f, &f);
    assert_ok(ndr_launch(queue, kernel, ndr_range_1d(1), ints, uints, floats));
    take_buffer(ints, &i, sizeof i);
    take_buffer(uints, &u, sizeof u);
    take_buffer(floats, &f, sizeof f);
    assert_int_equal(i, 10);
    assert_int_equal(u, 7);
    assert_true(f == 1.75f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_atomic__on_int_loses_nothing),
        cmocka_unit_test(test_atomic__on_uint_loses_nothing),
        cmocka_unit_test(test_atomic__on_float_loses_nothing),
        cmocka_unit_test(test_atomic__on_long_loses_nothing),
        cmocka_unit_test(test_atomic__on_ulong_loses_nothing),
        cmocka_unit_test(test_atomic__on_double_loses_nothing),
        cmocka_unit_test(test_atomic__gives_what_was_there_before),
        cmocka_unit_test(test_atomic__compares_bits_of_floats),
        cmocka_unit_test(test_atomic__leaves_nan_out_of_minima_and_maxima),
        cmocka_unit_test(test_atomic__does_not_build_with_types_that_have_none),
        cmocka_unit_test(test_atomic__does_not_build_with_a_fraction_for_an_integer),
        cmocka_unit_test(test_atomic__does_not_build_with_a_vector),
        cmocka_unit_test(test_atomic__converts_numbers_that_fit),
    };
    return cmocka_run_group_tests_name("atomic", tests, open_device, close_device);
}
