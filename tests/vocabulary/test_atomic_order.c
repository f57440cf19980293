/* test_atomic_order.c - atomics with order and scope, fences, and what a device cannot do. */
#include "support.h"

/* Whether a statement over `global int *p`, `local int *q` and `int e` builds. */
static ndr_status try_statement(const char *statement, const char *options)
{
    char source[512];
    snprintf(source, sizeof source,
             "#include \"ndr/atomic.clh\"\n"
             "kernel void k(global int *p, local int *q, int e, uint n)\n"
             "{\n"
             "    %s;\n"
             "    p[0] = e;\n"
             "}\n",
             statement);
    ndr_kernel *kernel;
    return ndr_kernel_get(context, &(ndr_kernel_desc){ .name = "k", .source = source, .options = options }, &kernel);
}

static bool builds(const char *statement) { return try_statement(statement, NULL) == NDR_OK; }

#define DEVICE_ORDER "ndr_atomic_fence(NDR_ACQ_REL, NDR_SCOPE_DEVICE)"
#define ONE_ORDER "ndr_atomic_fence(NDR_SEQ_CST, NDR_SCOPE_DEVICE)"

/* ---- every function, with order and scope ---- */

/* Calls every function on a location that no other item uses, and collects which of them gave wrong results. Also adds
 * to a location that all items share. */
static const char functions_source[] =
    "#include \"ndr/ndr.clh\"\n"
    "#define O ORDER, SCOPE\n"
    "#define EXPECT(n, x) if (!(x)) wrong |= 1u << n\n"
    "#define TRY(p)                                                                                  \\\n"
    "    ndr_atomic_store(p, (T)5, STORE, SCOPE);                                                    \\\n"
    "    EXPECT(0, ndr_atomic_load(p, LOAD, SCOPE) == 5);                                            \\\n"
    "    EXPECT(1, ndr_atomic_exchange(p, (T)6, O) == 5);                                            \\\n"
    "    seen = 9;                                                                                   \\\n"
    "    EXPECT(2, !ndr_atomic_compare_exchange(p, &seen, (T)1, O) && seen == 6);                    \\\n"
    "    EXPECT(3, ndr_atomic_compare_exchange(p, &seen, (T)7, O) && seen == 6);                     \\\n"
    "    EXPECT(4, !ndr_atomic_compare_exchange(p, &seen, (T)1, ORDER, LOAD, SCOPE) && seen == 7);   \\\n"
    "    EXPECT(5, ndr_atomic_compare_exchange(p, &seen, (T)12, ORDER, LOAD, SCOPE) && seen == 7);   \\\n"
    "    EXPECT(6, ndr_atomic_fetch_add(p, (T)3, O) == 12);                                          \\\n"
    "    EXPECT(7, ndr_atomic_fetch_sub(p, (T)1, O) == 15);                                          \\\n"
    "    EXPECT(8, ndr_atomic_fetch_min(p, (T)4, O) == 14);                                          \\\n"
    "    EXPECT(9, ndr_atomic_fetch_max(p, (T)6, O) == 4);                                           \\\n"
    "    BITS(p)                                                                                     \\\n"
    "    EXPECT(13, ndr_atomic_load(p, LOAD, SCOPE) == LAST);\n"
    "#ifdef IS_FLOAT\n"
    "#define LAST 6\n"
    "#define BITS(p)\n"
    "#else\n"
    "#define LAST 9\n"
    "#define BITS(p)                                                                                 \\\n"
    "    EXPECT(10, ndr_atomic_fetch_and(p, (T)3, O) == 6);                                          \\\n"
    "    EXPECT(11, ndr_atomic_fetch_or(p, (T)8, O) == 2);                                           \\\n"
    "    EXPECT(12, ndr_atomic_fetch_xor(p, (T)3, O) == 10);\n"
    "#endif\n"
    "kernel void functions(global T *own, global T *all, local T *tile, global uint *out, NDR_ND_RANGE(1))\n"
    "{\n"
    "    const ndr_nd_item it = NDR_ND_ITEM(1);\n"
    "    const ndr_group g = ndr_get_group(it);\n"
    "    const size_t i = ndr_global_id(it, 0), l = ndr_local_id(it, 0), n = ndr_local_range(it, 0);\n"
    "    uint wrong = 0;\n"
    "    T seen;\n"
    "    own[i] = 0;\n"
    "    tile[l] = 0;\n"
    "    if (l == 0) tile[n] = 0;\n"
    "    ndr_group_barrier(g);\n"
    "    TRY(own + i)\n"
    "    TRY(tile + l)\n"
    "    (void)ndr_atomic_fetch_add(all, (T)1, O);\n"
    "    (void)ndr_atomic_fetch_add(tile + n, (T)2, O);\n"
    "    (void)ndr_atomic_fetch_sub(tile + n, (T)1, O);\n"
    "    ndr_group_barrier(g);\n"
    "    EXPECT(14, ndr_atomic_load(tile + n) == n);\n"
    "    out[i] = wrong;\n"
    "}\n";

enum { GROUPS = 3, SIZE = 13, ITEMS = GROUPS * SIZE };

typedef struct element_type {
    const char *name;
    size_t size;
    bool is_float;
} element_type;

static const element_type types[] = { { "int", 4, false },   { "uint", 4, false },  { "float", 4, true },
                                      { "long", 8, false },  { "ulong", 8, false }, { "double", 8, true } };

static bool device_has(const element_type *type)
{
    if (type->size == 8 && !device.has_int64_atomics) return false;
    return strcmp(type->name, "double") != 0 || device.has_f64;
}

static double value_of(const element_type *type, const void *at)
{
    if (type->size == 4) return type->is_float ? (double)*(const float *)at : (double)*(const int32_t *)at;
    return type->is_float ? *(const double *)at : (double)*(const int64_t *)at;
}

static void check_functions(const element_type *type, const char *order, const char *load, const char *store,
                            const char *scope, const char *more)
{
    char options[256];
    snprintf(options, sizeof options, "-DT=%s%s -DORDER=NDR_%s -DLOAD=NDR_%s -DSTORE=NDR_%s -DSCOPE=NDR_SCOPE_%s %s",
             type->name, type->is_float ? " -DIS_FLOAT" : "", order, load, store, scope, more);
    ndr_kernel *kernel = kernel_with(functions_source, "functions", options);
    uint32_t wrong[ITEMS];
    const uint64_t zero = 0;
    uint64_t total = 0;
    ndr_buffer *own = buffer_of(ITEMS * type->size, NULL), *all = buffer_of(sizeof zero, &zero);
    ndr_buffer *out = buffer_of(sizeof wrong, NULL);
    const ndr_arg tile = { .kind = NDR_ARG_LOCAL, .size_bytes = type->size, .as.extent = { SIZE + 1, 1, 1 } };
    assert_ok(ndr_launch(queue, kernel, ndr_nd_range_1d(ITEMS, SIZE), own, all, tile, out));
    read_buffer(out, wrong, sizeof wrong);
    for (int i = 0; i < ITEMS; ++i) {
        if (wrong[i]) print_error("with %s, item %d: functions %#x\n", options, i, wrong[i]);
        assert_int_equal(wrong[i], 0);
    }
    assert_ok(ndr_buffer_read(queue, all, 0, type->size, &total, NULL));
    assert_true(value_of(type, &total) == ITEMS);
    destroy_buffers(own, all, out);
}

static void test_atomic_order__has_every_function_and_type_within_a_group(void **state)
{
    for (size_t t = 0; t < sizeof types / sizeof types[0]; ++t) {
        if (!device_has(&types[t])) continue;
        check_functions(&types[t], "ACQ_REL", "ACQUIRE", "RELEASE", "WORK_GROUP", "");
    }
}

static void test_atomic_order__has_every_order_within_a_group(void **state)
{
    check_functions(&types[0], "RELAXED", "RELAXED", "RELAXED", "SUB_GROUP", "");
    check_functions(&types[0], "RELAXED", "RELAXED", "RELAXED", "DEVICE", "");
    check_functions(&types[0], "ACQUIRE", "ACQUIRE", "RELEASE", "SUB_GROUP", "");
    check_functions(&types[0], "RELEASE", "RELAXED", "RELEASE", "WORK_GROUP", "");
}

static void test_atomic_order__works_as_opencl_c_1_2(void **state)
{
    check_functions(&types[0], "ACQ_REL", "ACQUIRE", "RELEASE", "WORK_GROUP", "-cl-std=CL1.2");
    check_functions(&types[2], "ACQ_REL", "ACQUIRE", "RELEASE", "WORK_GROUP", "-cl-std=CL1.2");
}

static void test_atomic_order__has_every_function_across_the_device(void **state)
{
    skip_without(builds(DEVICE_ORDER), ndr_last_error());
    check_functions(&types[1], "ACQ_REL", "ACQUIRE", "RELEASE", "DEVICE", "");
    check_functions(&types[2], "ACQ_REL", "ACQUIRE", "RELEASE", "DEVICE", "");
}

static void test_atomic_order__has_one_order_for_all(void **state)
{
    skip_without(builds(ONE_ORDER), ndr_last_error());
    check_functions(&types[0], "SEQ_CST", "SEQ_CST", "SEQ_CST", "DEVICE", "");
    check_functions(&types[2], "SEQ_CST", "SEQ_CST", "SEQ_CST", "WORK_GROUP", "");
}

/* ---- what order is for ---- */

/* The last item of a group to arrive adds up what the others wrote before they arrived, without a barrier. */
static void test_atomic_order__hands_writes_over_within_a_group(void **state)
{
    skip_without(!quick(), "Oclgrind knows no order but a barrier's, and calls this a race");
    static const char source[] =
        "#include \"ndr/ndr.clh\"\n"
        "kernel void last(local int *tile, global int *far, global int *out, NDR_ND_RANGE(1))\n"
        "{\n"
        "    const ndr_nd_item it = NDR_ND_ITEM(1);\n"
        "    const ndr_group g = ndr_get_group(it);\n"
        "    const uint n = (uint)ndr_local_range(it, 0), l = (uint)ndr_local_id(it, 0);\n"
        "    global int *mine = far + n * ndr_group_id(it, 0);\n"
        "    if (l == 0) tile[n] = 0;\n"
        "    ndr_group_barrier(g);\n"
        "    tile[l] = (int)l;\n"
        "    mine[l] = (int)l;\n"
        "    ARRIVE\n"
        "    if (arrived == (int)n - 1) {\n"
        "        int sum = 0;\n"
        "        for (uint i = 0; i < n; ++i) sum += tile[i] + mine[i];\n"
        "        out[ndr_group_id(it, 0)] = sum;\n"
        "    }\n"
        "}\n";
    static const char *const arrive_forms[] = {
        "#define ARRIVE const int arrived = ndr_atomic_fetch_add(tile + n, 1, NDR_ACQ_REL, NDR_SCOPE_WORK_GROUP);\n",
        "#define ARRIVE ndr_atomic_fence(NDR_RELEASE, NDR_SCOPE_WORK_GROUP); \\\n"
        "    const int arrived = ndr_atomic_fetch_add(tile + n, 1);          \\\n"
        "    ndr_atomic_fence(NDR_ACQUIRE, NDR_SCOPE_WORK_GROUP);\n",
    };
    enum { MANY = 40, LARGEST = 64 };
    int32_t out[MANY];
    ndr_buffer *far = buffer_of(MANY * LARGEST * sizeof(int32_t), NULL), *result = buffer_of(sizeof out, NULL);
    for (int form = 0; form < 2; ++form) {
        char text[2048];
        snprintf(text, sizeof text, "%s%s", arrive_forms[form], source);
        ndr_kernel *kernel = kernel_of(text, "last");
        const size_t n = fitting_group(kernel, LARGEST);
        for (int run = 0; run < 5; ++run) {
            assert_ok(ndr_buffer_fill(queue, far, 0, MANY * n * sizeof(int32_t), &(int32_t){ -1 }, 4, NULL));
            assert_ok(ndr_launch(queue, kernel, ndr_nd_range_1d(MANY * n, n), ndr_local(int, n + 1), far, result));
            read_buffer(result, out, sizeof out);
            for (int i = 0; i < MANY; ++i) assert_int_equal(out[i], n * (n - 1));
        }
    }
    destroy_buffers(far, result);
}

/* The last group to arrive adds up what the other groups' leaders wrote before they arrived. */
static void test_atomic_order__hands_writes_over_between_groups(void **state)
{
    skip_without(builds(DEVICE_ORDER), ndr_last_error());
    ndr_kernel *kernel = kernel_of(
        "#include \"ndr/ndr.clh\"\n"
        "kernel void last(global uint *parts, global uint *counter, global uint *out, uint seed, NDR_ND_RANGE(1))\n"
        "{\n"
        "    const ndr_nd_item it = NDR_ND_ITEM(1);\n"
        "    const uint n = (uint)ndr_group_range(it, 0), i = (uint)ndr_group_id(it, 0);\n"
        "    if (ndr_local_id(it, 0) != 0) return;\n"
        "    parts[i] = seed + i;\n"
        "    const uint arrived = ndr_atomic_fetch_add(counter, 1, NDR_ACQ_REL, NDR_SCOPE_DEVICE);\n"
        "    if (arrived != n - 1) return;\n"
        "    uint sum = 0;\n"
        "    for (uint k = 0; k < n; ++k) sum += parts[k];\n"
        "    out[0] = sum;\n"
        "    ndr_atomic_store(counter, 0, NDR_RELEASE, NDR_SCOPE_DEVICE);\n"
        "}\n",
        "last");
    enum { MANY = 500, RUNS = 200 };
    const uint32_t zero = 0;
    uint32_t sum;
    ndr_buffer *parts = buffer_of(MANY * sizeof(uint32_t), NULL), *counter = buffer_of(sizeof zero, &zero);
    ndr_buffer *out = buffer_of(sizeof sum, NULL);
    for (uint32_t run = 0; run < RUNS; ++run) {
        assert_ok(ndr_launch(queue, kernel, ndr_nd_range_1d(MANY * 2, 2), parts, counter, out, run));
        read_buffer(out, &sum, sizeof sum);
        assert_int_equal(sum, MANY * run + MANY * (MANY - 1) / 2);
    }
    destroy_buffers(parts, counter, out);
}

/* Two groups repeatedly write one location each and then read the other's. With a sequentially consistent fence in
 * between, one of the two must see the other's write. Without it, both sometimes read too early. The accesses are
 * volatile and not atomic, so that only the fence orders them. Rounds start together if both groups run at the same
 * time. OpenCL does not promise that, so the groups wait for each other only for a limited time. */
static const char fence_source[] =
    "#include \"ndr/ndr.clh\"\n"
    "kernel void race(global volatile uint *x, global volatile uint *y, global uint *meet, global uint *seen, uint rounds,\n"
    "                 NDR_ND_RANGE(1))\n"
    "{\n"
    "    const ndr_nd_item it = NDR_ND_ITEM(1);\n"
    "    const bool first = ndr_group_id(it, 0) == 0;\n"
    "    global volatile uint *mine = first ? x : y, *other = first ? y : x;\n"
    "    for (uint r = 0; r < rounds; ++r) {\n"
    "        (void)ndr_atomic_fetch_add(meet + r, 1);\n"
    "        for (uint wait = 0; wait < 2000 && ndr_atomic_load(meet + r) < 2; ++wait) { }\n"
    "        mine[16 * r] = 1;\n"
    "        FENCE;\n"
    "        seen[2 * r + (first ? 0 : 1)] = other[16 * r];\n"
    "    }\n"
    "}\n";

static unsigned count_too_early(const char *fence)
{
    enum { ROUNDS = 20000, LAUNCHES = 5 };
    char text[2048];
    snprintf(text, sizeof text, "#define FENCE %s\n%s", fence, fence_source);
    ndr_kernel *kernel = kernel_of(text, "race");
    const size_t bytes = 16 * ROUNDS * sizeof(uint32_t);
    ndr_buffer *x = buffer_of(bytes, NULL), *y = buffer_of(bytes, NULL), *meet = buffer_of(bytes / 16, NULL);
    ndr_buffer *result = buffer_of(bytes / 8, NULL);
    unsigned both = 0;
    for (int launch = 0; launch < LAUNCHES; ++launch) {
        static uint32_t seen[2 * ROUNDS];
        const uint32_t zero = 0;
        assert_ok(ndr_buffer_fill(queue, x, 0, bytes, &zero, 4, NULL));
        assert_ok(ndr_buffer_fill(queue, y, 0, bytes, &zero, 4, NULL));
        assert_ok(ndr_buffer_fill(queue, meet, 0, bytes / 16, &zero, 4, NULL));
        assert_ok(ndr_launch(queue, kernel, ndr_nd_range_1d(2, 1), x, y, meet, result, (uint32_t)ROUNDS));
        read_buffer(result, seen, sizeof seen);
        for (size_t r = 0; r < ROUNDS; ++r) both += seen[2 * r] == 0 && seen[2 * r + 1] == 0;
    }
    destroy_buffers(x, y, meet, result);
    return both;
}

static void test_atomic_fence__of_one_order_keeps_a_read_behind_a_write(void **state)
{
    skip_without(builds(ONE_ORDER), ndr_last_error());
    print_message("without a fence both groups read too early in %u rounds\n", count_too_early(""));
    assert_int_equal(count_too_early(ONE_ORDER), 0);
}

static void test_atomic_fence__needs_nothing_for_one_item(void **state)
{
    assert_ok(try_statement("ndr_atomic_fence(NDR_ACQ_REL, NDR_SCOPE_WORK_ITEM)", NULL));
    assert_ok(try_statement("ndr_atomic_fence(NDR_RELAXED, NDR_SCOPE_DEVICE)", NULL));
    assert_ok(try_statement("ndr_atomic_fence(NDR_RELEASE, NDR_SCOPE_SUB_GROUP)", NULL));
}

/* ---- what does not compile ---- */

#define REFUSED_WITH(options, statement, sentence) \
    assert_refused(NDR_BUILD_FAILED, try_statement(statement, options), sentence)
#define REFUSED(statement, sentence) REFUSED_WITH(NULL, statement, sentence)

static void test_atomic_order__refuses_scopes_that_make_no_sense(void **state)
{
    REFUSED("e = ndr_atomic_load(p, NDR_RELAXED, NDR_SCOPE_WORK_ITEM)", "NDR_SCOPE_WORK_ITEM is for fences");
    REFUSED("e = ndr_atomic_fetch_add(q, 1, NDR_RELAXED, NDR_SCOPE_WORK_ITEM)", "NDR_SCOPE_WORK_ITEM is for fences");
    REFUSED("ndr_atomic_store(p, 1, NDR_RELAXED, NDR_SCOPE_SYSTEM)", "NDR_SCOPE_SYSTEM: a buffer belongs to one device");
    REFUSED("ndr_atomic_fence(NDR_RELEASE, NDR_SCOPE_SYSTEM)", "NDR_SCOPE_SYSTEM: a buffer belongs to one device");
}

static void test_atomic_order__takes_any_wider_scope_for_the_group_in_local_memory(void **state)
{
    assert_ok(try_statement("e = ndr_atomic_fetch_add(q, 1, NDR_ACQ_REL, NDR_SCOPE_DEVICE)", "-cl-std=CL1.2"));
    assert_ok(try_statement("e = ndr_atomic_fetch_add(q, 1, NDR_ACQ_REL, NDR_SCOPE_SYSTEM)", NULL));
}

static void test_atomic_order__refuses_orders_that_a_function_cannot_have(void **state)
{
    REFUSED("e = ndr_atomic_load(p, NDR_RELEASE, NDR_SCOPE_WORK_GROUP)", "a load takes NDR_RELAXED, NDR_ACQUIRE or");
    REFUSED("e = ndr_atomic_load(q, NDR_ACQ_REL, NDR_SCOPE_WORK_GROUP)", "a load takes NDR_RELAXED, NDR_ACQUIRE or");
    REFUSED("ndr_atomic_store(p, 1, NDR_ACQUIRE, NDR_SCOPE_WORK_GROUP)", "a store takes NDR_RELAXED, NDR_RELEASE or");
    REFUSED("ndr_atomic_compare_exchange(p, &e, 1, NDR_ACQ_REL, NDR_RELEASE, NDR_SCOPE_WORK_GROUP)", "failing is a load");
}

static void test_atomic_order__refuses_what_opencl_c_1_2_cannot_order(void **state)
{
    skip_without(!builds("int ptx[NDR_PTX ? 1 : -1]"), "inline PTX orders in every language version");
    REFUSED_WITH("-cl-std=CL1.2", "ndr_atomic_store(p, 1, NDR_RELEASE, NDR_SCOPE_DEVICE)",
                 "NDR_SCOPE_DEVICE takes only NDR_RELAXED here");
    REFUSED_WITH("-cl-std=CL1.2", DEVICE_ORDER, "NDR_SCOPE_DEVICE takes only NDR_RELAXED here");
    REFUSED_WITH("-cl-std=CL1.2", "e = ndr_atomic_fetch_or(q, 1, NDR_SEQ_CST, NDR_SCOPE_WORK_GROUP)",
                 "NDR_SEQ_CST: this device has NDR_ACQ_REL at most");
    REFUSED_WITH("-cl-std=CL1.2", "ndr_atomic_fence(NDR_SEQ_CST, NDR_SCOPE_WORK_GROUP)",
                 "NDR_SEQ_CST: this device has NDR_ACQ_REL at most");
}

static void test_atomic_order__wants_constants_in_their_places(void **state)
{
    REFUSED("ndr_order o = { n }; e = ndr_atomic_load(p, o, NDR_SCOPE_DEVICE)", "order and scope are named in the call");
    REFUSED("ndr_order o = { n }; ndr_atomic_fence(o, NDR_SCOPE_DEVICE)", "order and scope are named in the call");
    REFUSED("e = ndr_atomic_load(p, NDR_SCOPE_DEVICE, NDR_RELAXED)", "no matching function");
}

static void test_atomic_order__refuses_other_pointers(void **state)
{
    REFUSED("ndr_atomic_fetch_add((global short *)p, 1, NDR_RELAXED, NDR_SCOPE_DEVICE)", "atomics are for int, uint");
    REFUSED("ndr_atomic_store((local char *)q, 1, NDR_RELAXED, NDR_SCOPE_DEVICE)", "atomics are for int, uint");
    REFUSED("ndr_atomic_fetch_or((global float *)p, 1, NDR_RELAXED, NDR_SCOPE_DEVICE)",
            device.has_int64_atomics ? "and, or, xor for integers only" : "atomics are for int, uint");
    REFUSED("int2 v; v = ndr_atomic_load((global int2 *)p, NDR_RELAXED, NDR_SCOPE_DEVICE)", "atomics are for int, uint");
}

/* ---- what NDR_DISABLE takes away ---- */

static void test_atomic_order__is_32_bits_wide_where_the_rest_is_taken_away(void **state)
{
    ndr_context *usual = context;
    set_env("NDR_DISABLE", "int64_atomics");
    const ndr_status status = ndr_context_create(NULL, &context);
    if (status == NDR_OK) {
        const ndr_status plain = try_statement("ndr_atomic_fetch_add((global long *)p, 1)", NULL);
        const bool plain_says = strstr(ndr_last_error(), "this device has no 64-bit ones") != NULL;
        const ndr_status ordered =
            try_statement("ndr_atomic_fetch_add((local ulong *)q, 1, NDR_ACQ_REL, NDR_SCOPE_WORK_GROUP)", NULL);
        const bool ordered_says = strstr(ndr_last_error(), "this device has no 64-bit ones") != NULL;
        const ndr_status narrow = try_statement("ndr_atomic_fetch_add(p, 1, NDR_ACQ_REL, NDR_SCOPE_WORK_GROUP)", NULL);
        ndr_context_destroy(context);
        context = usual;
        restore_env();
        assert_int_equal(plain, NDR_BUILD_FAILED);
        assert_true(plain_says);
        assert_int_equal(ordered, NDR_BUILD_FAILED);
        assert_true(ordered_says);
        assert_int_equal(narrow, NDR_OK);
    }
    context = usual;
    restore_env();
    assert_ok(status);
}

static void test_op__has_no_double_where_it_is_taken_away(void **state)
{
    skip_without(device.has_f64, "the device has no double to take away");
    ndr_context *usual = context;
    set_env("NDR_DISABLE", "fp64");
    const ndr_status status = ndr_context_create(NULL, &context);
    if (status == NDR_OK) {
        const ndr_status combined = try_statement("e = (int)ndr_combine((double)e, (double)e, NDR_PLUS)", NULL);
        const bool says = strstr(ndr_last_error(), "double is taken away by NDR_DISABLE") != NULL;
        const ndr_status single = try_statement("e = (int)ndr_combine((float)e, (float)e, NDR_PLUS)", NULL);
        ndr_context_destroy(context);
        context = usual;
        restore_env();
        assert_int_equal(combined, NDR_BUILD_FAILED);
        assert_true(says);
        assert_int_equal(single, NDR_OK);
    }
    context = usual;
    restore_env();
    assert_ok(status);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_atomic_order__has_every_function_and_type_within_a_group),
        cmocka_unit_test(test_atomic_order__has_every_order_within_a_group),
        cmocka_unit_test(test_atomic_order__works_as_opencl_c_1_2),
        cmocka_unit_test(test_atomic_order__has_every_function_across_the_device),
        cmocka_unit_test(test_atomic_order__has_one_order_for_all),
        cmocka_unit_test(test_atomic_order__hands_writes_over_within_a_group),
        cmocka_unit_test(test_atomic_order__hands_writes_over_between_groups),
        cmocka_unit_test(test_atomic_fence__of_one_order_keeps_a_read_behind_a_write),
        cmocka_unit_test(test_atomic_fence__needs_nothing_for_one_item),
        cmocka_unit_test(test_atomic_order__refuses_scopes_that_make_no_sense),
        cmocka_unit_test(test_atomic_order__takes_any_wider_scope_for_the_group_in_local_memory),
        cmocka_unit_test(test_atomic_order__refuses_orders_that_a_function_cannot_have),
        cmocka_unit_test(test_atomic_order__refuses_what_opencl_c_1_2_cannot_order),
        cmocka_unit_test(test_atomic_order__wants_constants_in_their_places),
        cmocka_unit_test(test_atomic_order__refuses_other_pointers),
        cmocka_unit_test(test_atomic_order__is_32_bits_wide_where_the_rest_is_taken_away),
        cmocka_unit_test(test_op__has_no_double_where_it_is_taken_away),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
