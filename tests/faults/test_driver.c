/* test_driver.c - errors of the driver after all of libndr's checks: each call fails once, and a retry succeeds. */
#include "faults/between.h"

#include "forcing.h"
#include "ndr/ndr_shared.h"

#include "device/buffer.h"
#include "device/context.h"
#include "device/wait.h"
#include "ops/matmul/matmul.h"
#include "ops/reduce/reduce.h"

/* ---- devices ---- */

enum { MAX_DEVICES = 32 };

typedef struct list {
    size_t count;
    ndr_device_info devices[MAX_DEVICES];
} list;

static list list_devices(void)
{
    static list got;
    got = (list){ 0 };
    assert_ok(ndr_device_list(MAX_DEVICES, got.devices, &got.count));
    assert_true(got.count <= MAX_DEVICES);
    return got;
}

/* If each device is listed twice and one is left out, the others are unchanged. */
static void assert_same_but_for_one(const list *got, const list *all)
{
    assert_int_equal(got->count, all->count - 1);
    size_t left_out = 0;
    while (left_out < got->count && memcmp(&got->devices[left_out], &all->devices[left_out], sizeof *all->devices) == 0)
        ++left_out;
    assert_memory_equal(got->devices + left_out, all->devices + left_out + 1,
                        (got->count - left_out) * sizeof *all->devices);
}

static void test_driver__leaves_out_a_device_that_cannot_answer(void **state)
{
    platforms_twice = true;
    static list all, got;
    memset(calls, 0, sizeof calls);
    all = list_devices();
    const size_t queries = calls[CALL_clGetDeviceInfo];
    static const cl_int codes[] = { CL_OUT_OF_RESOURCES, CL_OUT_OF_HOST_MEMORY, CL_DEVICE_NOT_AVAILABLE };
    for (size_t i = 0; i < queries; ++i) {
        const cl_int code = codes[i % COUNT_OF(codes)];
        refuse(CALL_clGetDeviceInfo, i, code);
        got = list_devices();
        assert_true(refuse_none());
        assert_same_but_for_one(&got, &all);

        ndr_context *const nothing = (ndr_context *)&got, *made = nothing;
        refuse(CALL_clGetDeviceInfo, i, code);
        assert_refused(NDR_NO_MATCHING_DEVICE, ndr_context_create("nobody", &made), "asks for \"nobody\"",
                       "; skipped: platform \"", ", device ", "clGetDeviceInfo gave", ndr_cl_error_name(code));
        assert_true(refuse_none());
        assert_int_equal(ndr_last_cl_error(), code);
        assert_null(strstr(ndr_last_error(), "outside its buffers")); /* no query can report that */
        assert_ptr_equal(made, nothing);
    }
    platforms_twice = false;
}

/* A device may answer optional queries with CL_INVALID_VALUE: double, SPIR-V, sub-groups, vendors' queries, versions,
 * UUIDs and addresses. */
static void test_driver__takes_an_invalid_value_for_a_no(void **state)
{
    static list all, got;
    memset(calls, 0, sizeof calls);
    all = list_devices();
    size_t answered_no = 0;
    for (size_t i = 0; all.count == 1 && i < calls[CALL_clGetDeviceInfo]; ++i) {
        const size_t before = calls[CALL_clGetDeviceInfo];
        refuse(CALL_clGetDeviceInfo, i, CL_INVALID_VALUE);
        const ndr_status status = ndr_device_list(MAX_DEVICES, got.devices, &got.count);
        assert_true(refuse_none());
        calls[CALL_clGetDeviceInfo] = before;
        if (status == NDR_OK) ++answered_no;
        else assert_refused(NDR_NO_DEVICE, status, "clGetDeviceInfo gave CL_INVALID_VALUE (-30)");
    }
    if (all.count == 1) assert_in_range(answered_no, 6, 13); /* read_if_known() has 13 calls */
}

static void test_driver__leaves_out_a_platform_that_cannot_list(void **state)
{
    static list all, got;
    memset(calls, 0, sizeof calls);
    all = list_devices();
    const size_t platforms = calls[CALL_clGetDeviceIDs];
    platforms_twice = true;
    for (size_t i = 0; i < 2 * platforms; ++i) {
        refuse(CALL_clGetDeviceIDs, i, CL_OUT_OF_HOST_MEMORY);
        got = list_devices();
        assert_true(refuse_none());
        assert_in_range(got.count, all.count, 2 * all.count);
        ndr_context *made = NULL;
        refuse(CALL_clGetDeviceIDs, i, CL_OUT_OF_HOST_MEMORY);
        assert_refused(NDR_NO_MATCHING_DEVICE, ndr_context_create("nobody", &made), "; skipped: platform \"",
                       "\": clGetDeviceIDs gave CL_OUT_OF_HOST_MEMORY (-6)");
        assert_true(refuse_none());
        refuse(CALL_clGetDeviceIDs, i, CL_DEVICE_NOT_FOUND); /* having no devices is no fault */
        assert_refused(NDR_NO_MATCHING_DEVICE, ndr_context_create("nobody", &made), "contains that; choose from ");
        assert_true(refuse_none());
        assert_null(strstr(ndr_last_error(), "left out"));
    }
    platforms_twice = false;
}

/* ---- launches ---- */

static const char kernels[] = "#include \"ndr/ndr.clh\"\n"
                              "kernel void put(global int *out, int a, int b) { out[0] = 10 * a + b; }\n"
                              "kernel void tell(global int *out, local int *room, NDR_ND_RANGE(1))\n"
                              "{\n"
                              "    const ndr_nd_item it = NDR_ND_ITEM(1);\n"
                              "    const ndr_group g = ndr_get_group(it);\n"
                              "    room[ndr_local_id(it, 0)] = 1;\n"
                              "    ndr_group_barrier(g);\n"
                              "    const int items = ndr_reduce_over_group(g, room[ndr_local_id(it, 0)], NDR_PLUS);\n"
                              "    if (ndr_global_id(it, 0) > 0) return;\n"
                              "    out[0] = (int)ndr_global_range(it, 0);\n"
                              "    out[1] = items;\n"
                              "}\n"
                              "kernel void count(global int *out, NDR_ND_RANGE(2))\n"
                              "{\n"
                              "    const ndr_nd_item it = NDR_ND_ITEM(2);\n"
                              "    if (ndr_global_id(it, 0) < ndr_global_range(it, 0)) ndr_atomic_fetch_add(out, 1);\n"
                              "}\n";

/* A refused argument does not count as held, because OpenCL's kernel still has the one of the previous launch. */
static void test_driver__refuses_an_argument_and_the_next_launch_sets_it(void **state)
{
    static const char *const names[] = { "argument 0 \"out\"", "argument 1 \"a\"", "argument 2 \"b\"" };
    ndr_kernel *const put = kernel_of(kernels, "put");
    for (size_t refused = 0; refused < 3; ++refused) {
        ndr_buffer *first = buffer_of(sizeof(int), NULL), *second = buffer_of(sizeof(int), &(const int){ 7 });
        assert_ok(ndr_launch(queue, put, ndr_range_1d(1), first, 1, 2));
        refuse(CALL_clSetKernelArg, refused, CL_INVALID_ARG_VALUE);
        assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, put, ndr_range_1d(1), second, 3, 4), "kernel \"put\"",
                       names[refused], "CL_INVALID_ARG_VALUE");
        assert_int_equal(ndr_last_cl_error(), CL_INVALID_ARG_VALUE);
        assert_true(refuse_none());
        int got;
        read_buffer(second, &got, sizeof got);
        assert_int_equal(got, 7);
        assert_ok(ndr_launch(queue, put, ndr_range_1d(1), second, 3, 4));
        read_buffer(second, &got, sizeof got);
        assert_int_equal(got, 34);
        read_buffer(first, &got, sizeof got);
        assert_int_equal(got, 12);
        ndr_buffer_destroy(first);
        ndr_buffer_destroy(second);
    }
}

/* Lack of memory or resources is no fault of the argument. */
static void test_driver__is_out_of_memory_for_an_argument(void **state)
{
    ndr_kernel *const put = kernel_of(kernels, "put");
    ndr_buffer *out = buffer_of(sizeof(int), NULL);
    assert_ok(ndr_launch(queue, put, ndr_range_1d(1), out, 1, 2));
    refuse(CALL_clSetKernelArg, 0, CL_OUT_OF_HOST_MEMORY);
    assert_refused(NDR_OUT_OF_HOST_MEMORY, ndr_launch(queue, put, ndr_range_1d(1), out, 3, 2), "kernel \"put\"",
                   "argument 1 \"a\" (int)", "clSetKernelArg gave CL_OUT_OF_HOST_MEMORY (-6)");
    assert_int_equal(ndr_last_cl_error(), CL_OUT_OF_HOST_MEMORY);
    assert_true(refuse_none());
    ndr_buffer_destroy(out);
}

/* Local memory, the hidden scratch, the hidden record. */
static void test_driver__refuses_what_a_group_is_told_and_the_next_launch_tells_it(void **state)
{
    ndr_kernel *const tell = kernel_of(kernels, "tell");
    ndr_buffer *out = buffer_of(2 * sizeof(int), NULL);
    for (size_t refused = 0; refused < 3; ++refused) {
        assert_ok(ndr_launch(queue, tell, ndr_nd_range_1d(64, 16), out, ndr_local(int, 16)));
        refuse(CALL_clSetKernelArg, refused, CL_OUT_OF_RESOURCES);
        const ndr_nd_range other = ndr_nd_range_1d(24, 8);
        assert_refused(NDR_DRIVER_ERROR, ndr_launch(queue, tell, other, out, ndr_local(int, 8)),
                       "clSetKernelArg gave CL_OUT_OF_RESOURCES");
        assert_true(refuse_none());
        int got[2];
        read_buffer(out, got, sizeof got);
        assert_memory_equal(got, ((const int[]){ 64, 16 }), sizeof got);
        assert_ok(ndr_launch(queue, tell, other, out, ndr_local(int, 8)));
        read_buffer(out, got, sizeof got);
        assert_memory_equal(got, ((const int[]){ 24, 8 }), sizeof got);
    }
    ndr_buffer_destroy(out);
}

/* 33 x 33 in groups of 8 x 4: four pieces. The enqueued pieces run, and the sentence gives their number. */
static void test_driver__refuses_a_piece_of_a_launch(void **state)
{
    ndr_kernel *const count = kernel_of(kernels, "count");
    ndr_nd_range range = ndr_nd_range_2d(33, 33, 8, 4);
    range.edge = NDR_EDGE_SPLIT;
    for (size_t refused = 0; refused < 4; ++refused)
        for (int wants_event = 0; wants_event < 2; ++wants_event) {
            char run[32];
            snprintf(run, sizeof run, "%zu of its 4 pieces are enqueued", refused);
            ndr_buffer *out = buffer_of(sizeof(int), &(const int){ 0 });
            ndr_event *const before = (ndr_event *)&run, *event = before;
            items_enqueued = 0;
            refuse(CALL_clEnqueueNDRangeKernel, refused, CL_OUT_OF_RESOURCES);
            assert_refused(NDR_DRIVER_ERROR, ndr_launch_event(queue, count, wants_event ? &event : NULL, range, out),
                           "kernel \"count\"", "clEnqueueNDRangeKernel gave CL_OUT_OF_RESOURCES", run);
            assert_int_equal(ndr_last_cl_error(), CL_OUT_OF_RESOURCES);
            assert_true(refuse_none());
            assert_ptr_equal(event, before);
            int got;
            read_buffer(out, &got, sizeof got);
            assert_int_equal(got, items_enqueued);
            const int before_the_next = got;
            assert_ok(ndr_launch(queue, count, range, out));
            read_buffer(out, &got, sizeof got);
            assert_int_equal(got, before_the_next + 33 * 33);
            ndr_buffer_destroy(out);
        }
}

/* ---- operations ---- */

/* One operation on a queue of its own, which has neither scratch nor workspace yet. */
typedef struct operation {
    ndr_queue *queue;
    ndr_status (*run)(struct operation *o, ndr_event **event);
    void (*check)(struct operation *o);
    ndr_buffer *a, *b, *c; /* c is the output */
    ndr_reduce_method method;
} operation;

static void fill_output(operation *o)
{
    static const unsigned char pattern = 0x5a;
    assert_ok(ndr_buffer_fill(o->queue, o->c, 0, ndr_buffer_size(o->c), &pattern, 1, NULL));
}

/* A refused operation has written nothing. */
static void assert_output_unchanged(operation *o)
{
    const size_t bytes = ndr_buffer_size(o->c);
    unsigned char *got = NULL;
    assert_ok(ndr_buffer_map(o->queue, o->c, NDR_MAP_READ, 0, bytes, (void **)&got));
    for (size_t i = 0; i < bytes; ++i) assert_int_equal(got[i], 0x5a);
    assert_ok(ndr_buffer_unmap(o->queue, o->c, got, NULL));
}

/* Returns whether there was a call to refuse. The operation must report it and write nothing. A retry works. */
static bool check_refusal(operation *o, call kind, size_t passing)
{
    ndr_event *const before = (ndr_event *)o, *event = before;
    fill_output(o);
    refuse(kind, passing, CL_OUT_OF_RESOURCES);
    const ndr_status status = o->run(o, &event);
    const bool refused = refuse_none();
    if (refused) {
        assert_int_not_equal(status, NDR_OK);
        assert_non_null(strstr(ndr_last_error(), "CL_OUT_OF_RESOURCES"));
        assert_int_equal(ndr_last_cl_error(), CL_OUT_OF_RESOURCES);
        assert_ptr_equal(event, before);
        assert_output_unchanged(o);
        assert_ok(o->run(o, &event));
    } else {
        assert_ok(status);
    }
    assert_ok(ndr_event_wait(event));
    ndr_event_destroy(event);
    o->check(o);
    return refused;
}

/* Refuse each call of each kind once, until there are no more calls. An operation creates some objects only once per
 * queue, so each of their refusals gets a new queue. (The others do not need one, and with a new queue some drivers
 * compile kernels again.) */
static void check_every_refusal(operation o)
{
    static const struct {
        call kind;
        bool is_of_a_new_queue;
    } kinds[] = {
        { CALL_clCreateBuffer, true },          { CALL_clEnqueueWriteBuffer, true },
        { CALL_clSetKernelArg, false },         { CALL_clEnqueueNDRangeKernel, false },
        { CALL_clEnqueueFillBuffer, false },    { CALL_clEnqueueMarkerWithWaitList, false },
        { CALL_clEnqueueCopyBuffer, false },
    };
    size_t refusals = 0;
    for (size_t k = 0; k < COUNT_OF(kinds); ++k) {
        assert_ok(ndr_queue_create(context, NULL, &o.queue));
        for (size_t passing = 0; check_refusal(&o, kinds[k].kind, passing); ++passing) {
            ++refusals;
            if (!kinds[k].is_of_a_new_queue) continue;
            ndr_queue_destroy(o.queue);
            assert_ok(ndr_queue_create(context, NULL, &o.queue));
        }
        ndr_queue_destroy(o.queue);
    }
    assert_true(refusals > 0);
}

enum { M = 40, N = 50, K = 9, MOST = 70000 };

/* Enough for more than one group in every row; if quick() is true, in all but those with one launch of chunks. */
static size_t count_to_reduce(void) { return quick() ? 2100 : MOST; }

static ndr_status multiply(operation *o, ndr_event **event)
{
    const size_t m = is_forced(&ndr_matmul_operation, "thin") ? 8 : M;
    const ndr_matmul_desc desc = { .dtype = NDR_DTYPE_F32,
                                   .a = { o->a, 0, m, K, 0 },
                                   .b = { o->b, 0, K, N, 0 },
                                   .c = { o->c, 0, m, N, 0 } };
    return ndr_matmul(o->queue, &desc, event);
}

static void check_product(operation *o)
{
    float got[M * N];
    const size_t m = is_forced(&ndr_matmul_operation, "thin") ? 8 : M;
    assert_ok(ndr_buffer_read(o->queue, o->c, 0, m * N * sizeof *got, got, NULL));
    for (size_t i = 0; i < m * N; ++i) assert_true(got[i] == 2 * K);
}

static void test_driver__refuses_a_step_of_a_product(void **state)
{
    static float a[M * K], b[K * N];
    for (size_t i = 0; i < COUNT_OF(a); ++i) a[i] = 1;
    for (size_t i = 0; i < COUNT_OF(b); ++i) b[i] = 2;
    operation o = { .run = multiply,
                    .check = check_product,
                    .a = buffer_of(sizeof a, a),
                    .b = buffer_of(sizeof b, b),
                    .c = buffer_of(M * N * sizeof(float), NULL) };
    for (size_t i = 0; i < ndr_matmul_operation.variant_count; ++i) {
        if (!takes_variant(&ndr_matmul_operation, ndr_matmul_operation.variants[i])) continue;
        force(&ndr_matmul_operation, ndr_matmul_operation.variants[i]->name);
        o.queue = queue;
        assert_ok(multiply(&o, NULL)); /* builds its kernels */
        assert_ok(ndr_queue_finish(queue));
        check_every_refusal(o);
    }
    force(&ndr_matmul_operation, NULL);
    ndr_buffer_destroy(o.a);
    ndr_buffer_destroy(o.b);
    ndr_buffer_destroy(o.c);
}

/* A batch of two launches, at most 2^15 products each. The enqueued products are computed, and the sentence gives their
 * number. */
static void test_driver__refuses_a_part_of_a_batch(void **state)
{
    enum { PRODUCTS = 40000, FIRST = 1 << 15 };
    skip_without(!quick(), "the device is too slow for so many products");
    ndr_buffer *twos = buffer_of(sizeof(float), &(const float){ 2 }), *c = buffer_of(PRODUCTS * sizeof(float), NULL);
    const ndr_matmul_desc desc = { .dtype = NDR_DTYPE_F32,
                                   .a = { twos, 0, 1, 1, 0 },
                                   .b = { twos, 0, 1, 1, 0 },
                                   .c = { c, 0, 1, 1, 0 },
                                   .count = PRODUCTS,
                                   .c_stride = 1 };
    for (size_t refused = 0; refused < 2; ++refused) {
        assert_ok(ndr_buffer_fill(queue, c, 0, PRODUCTS * sizeof(float), &(const float){ 9 }, sizeof(float), NULL));
        refuse(CALL_clEnqueueNDRangeKernel, refused, CL_OUT_OF_RESOURCES);
        assert_refused(NDR_DRIVER_ERROR, ndr_matmul(queue, &desc, NULL), "gave CL_OUT_OF_RESOURCES",
                       refused ? "; 32768 of 40000 products are enqueued" : "0 of its 1 pieces are enqueued");
        assert_true(refuse_none());
        static float got[PRODUCTS];
        read_buffer(c, got, sizeof got);
        for (size_t i = 0; i < PRODUCTS; ++i) assert_true(got[i] == (refused && i < FIRST ? 4 : 9));
        assert_ok(ndr_matmul(queue, &desc, NULL));
        read_buffer(c, got, sizeof got);
        for (size_t i = 0; i < PRODUCTS; ++i) assert_true(got[i] == 4);
    }
    ndr_buffer_destroy(twos);
    ndr_buffer_destroy(c);
}

static ndr_status reduce(operation *o, ndr_event **event)
{
    const ndr_reduce_desc desc = { .dtype = NDR_DTYPE_I32,
                                   .op = NDR_OP_SUM,
                                   .method = o->method,
                                   .input = { o->a, 0 },
                                   .count = count_to_reduce(),
                                   .output = { o->c, 0 } };
    return ndr_reduce(o->queue, &desc, event);
}

static void check_sum(operation *o)
{
    int32_t got = 0;
    assert_ok(ndr_buffer_read(o->queue, o->c, 0, sizeof got, &got, NULL));
    assert_int_equal(got, 3 * count_to_reduce());
}

static void test_driver__refuses_a_step_of_a_reduction(void **state)
{
    static const ndr_reduce_method methods[] = { NDR_REDUCE_TREE, NDR_REDUCE_ATOMIC, NDR_REDUCE_RECURSIVE };
    static int32_t threes[MOST];
    for (size_t i = 0; i < MOST; ++i) threes[i] = 3;
    operation o = {
        .run = reduce, .check = check_sum, .a = buffer_of(sizeof threes, threes), .c = buffer_of(sizeof(int32_t), NULL)
    };
    for (size_t i = 0; i < ndr_reduce_operation.variant_count; ++i)
        for (size_t m = 0; m < COUNT_OF(methods); ++m) {
            const ndr_op_variant *variant = ndr_reduce_operation.variants[i];
            if (ndr_op_cannot(variant, &(ndr_reduce_request){ .method = methods[m] })) continue;
            if (!takes_variant(&ndr_reduce_operation, variant)) continue;
            force(&ndr_reduce_operation, variant->name);
            o.method = methods[m];
            o.queue = queue;
            assert_ok(reduce(&o, NULL));
            assert_ok(ndr_queue_finish(queue));
            check_every_refusal(o);
        }
    force(&ndr_reduce_operation, NULL);
    ndr_buffer_destroy(o.a);
    ndr_buffer_destroy(o.c);
}

/* A kernel of libndr may take fewer items in a group than the device offers. */
static void test_driver__gives_operations_as_small_groups_as_their_kernels_take(void **state)
{
    static const size_t limits[] = { 128, 33, 32, 1 };
    static float a[M * K], b[K * N];
    static int32_t threes[MOST];
    for (size_t i = 0; i < COUNT_OF(a); ++i) a[i] = 1;
    for (size_t i = 0; i < COUNT_OF(b); ++i) b[i] = 2;
    for (size_t i = 0; i < MOST; ++i) threes[i] = 3;
    ndr_context *const shared = context;
    ndr_queue *const shared_queue = queue;
    for (size_t i = 0; i < COUNT_OF(limits); ++i) {
        assert_ok(ndr_context_create(NULL, &context)); /* its kernels are not built yet */
        assert_ok(ndr_queue_create(context, NULL, &queue));
        force(&ndr_matmul_operation, "tiled");
        largest_group = limits[i];
        operation o = { .queue = queue, .a = buffer_of(sizeof a, a), .b = buffer_of(sizeof b, b),
                        .c = buffer_of(M * N * sizeof(float), NULL) };
        assert_ok(multiply(&o, NULL));
        check_product(&o);
        operation r = { .queue = queue, .a = buffer_of(sizeof threes, threes), .c = buffer_of(sizeof(int32_t), NULL) };
        for (r.method = NDR_REDUCE_TREE; r.method <= NDR_REDUCE_ATOMIC; ++r.method) {
            force(&ndr_reduce_operation, r.method == NDR_REDUCE_TREE ? "tree_groups" : "atomic_groups");
            assert_ok(reduce(&r, NULL));
            check_sum(&r);
        }
        largest_group = 0;
        ndr_buffer_destroy(o.a);
        ndr_buffer_destroy(o.b);
        ndr_buffer_destroy(o.c);
        ndr_buffer_destroy(r.a);
        ndr_buffer_destroy(r.c);
        ndr_queue_destroy(queue);
        ndr_context_destroy(context);
    }
    context = shared;
    queue = shared_queue;
}

/* ---- all other calls ---- */

#define assert_driver_refuses(function, call_)                                                 \
    do {                                                                                       \
        refuse(CALL_##function, 0, CL_OUT_OF_HOST_MEMORY);                                     \
        assert_refused(NDR_OUT_OF_HOST_MEMORY, call_, #function " gave CL_OUT_OF_HOST_MEMORY"); \
        assert_true(refuse_none());                                                            \
        assert_int_equal(ndr_last_cl_error(), CL_OUT_OF_HOST_MEMORY);                          \
    } while (0)

static void test_driver__refuses_to_make_queues_and_buffers(void **state)
{
    ndr_queue *const no_queue = (ndr_queue *)&state, *made_queue = no_queue;
    assert_driver_refuses(clCreateCommandQueue, ndr_queue_create(context, NULL, &made_queue));
    assert_ptr_equal(made_queue, no_queue);
    ndr_buffer *const no_buffer = (ndr_buffer *)&state, *made = no_buffer;
    assert_driver_refuses(clCreateBuffer, ndr_buffer_create(context, 8, &made));
    assert_ptr_equal(made, no_buffer);
    refuse(CALL_clCreateBuffer, 0, CL_MEM_OBJECT_ALLOCATION_FAILURE);
    assert_refused(NDR_OUT_OF_DEVICE_MEMORY, ndr_buffer_create(context, 8, &made), "clCreateBuffer");
    assert_true(refuse_none());
    assert_ptr_equal(made, no_buffer);
}

static void test_driver__without_memory_says_how_much_there_is(void **state)
{
    ndr_buffer *made = NULL;
    char there[256];
    snprintf(there, sizeof there, "; 1000 bytes were asked for; a buffer of device \"%s\" has at most %zu, its memory %llu "
             "bytes", device.name, device.max_buffer_bytes, (unsigned long long)device.global_memory_bytes);
    skip_without(!context->checker, "a buffer with guard zones asks for more");
    refuse(CALL_clCreateBuffer, 0, CL_MEM_OBJECT_ALLOCATION_FAILURE);
    assert_refused(NDR_OUT_OF_DEVICE_MEMORY, ndr_buffer_create(context, 1000, &made),
                   "clCreateBuffer gave CL_MEM_OBJECT_ALLOCATION_FAILURE (-4)", there);
    assert_int_equal(ndr_last_cl_error(), CL_MEM_OBJECT_ALLOCATION_FAILURE);
    assert_null(strstr(ndr_last_error(), "free"));
    free_kib = 3;
    refuse(CALL_clCreateBuffer, 0, CL_OUT_OF_HOST_MEMORY);
    assert_refused(NDR_OUT_OF_HOST_MEMORY, ndr_buffer_create(context, 1000, &made), there, ", 3072 of them free");
    free_kib = 0;
    assert_true(refuse_none());
    assert_null(made);
}

static void test_driver__refuses_transfers_and_the_next_works(void **state)
{
    const int before[2] = { 1, 2 }, after[2] = { 3, 4 };
    int got[2] = { 5, 6 };
    ndr_buffer *x = buffer_of(sizeof before, before), *y = buffer_of(sizeof before, before);
    ndr_event *const no_event = (ndr_event *)&got, *event = no_event;
    void *const nothing = &got, *mapped = nothing;
    assert_driver_refuses(clEnqueueWriteBuffer, ndr_buffer_write(queue, x, 0, sizeof after, after, NULL));
    assert_driver_refuses(clEnqueueFillBuffer, ndr_buffer_fill(queue, x, 0, sizeof after, after, sizeof after, &event));
    assert_driver_refuses(clEnqueueCopyBuffer, ndr_buffer_copy(queue, x, 0, y, 0, sizeof before, &event));
    assert_driver_refuses(clEnqueueMarkerWithWaitList, ndr_buffer_copy(queue, x, 0, y, 0, 0, &event));
    assert_driver_refuses(clEnqueueMapBuffer, ndr_buffer_map(queue, x, NDR_MAP_READ, 0, sizeof before, &mapped));
    assert_driver_refuses(clEnqueueReadBuffer, ndr_buffer_read(queue, x, 0, sizeof got, got, NULL));
    assert_driver_refuses(clFinish, ndr_queue_finish(queue));
    assert_ptr_equal(event, no_event);
    assert_ptr_equal(mapped, nothing);
    assert_memory_equal(got, ((const int[]){ 5, 6 }), sizeof got);
    read_buffer(x, got, sizeof got); /* the buffer is neither mapped nor written */
    assert_memory_equal(got, before, sizeof got);

    assert_ok(ndr_buffer_map(queue, x, NDR_MAP_READ, 0, sizeof before, &mapped));
    assert_driver_refuses(clEnqueueUnmapMemObject, ndr_buffer_unmap(queue, x, mapped, NULL));
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_write(queue, x, 0, sizeof after, after, NULL),
                   "mapped"); /* still mapped */
    assert_ok(ndr_buffer_unmap(queue, x, mapped, NULL));
    assert_ok(ndr_buffer_write(queue, x, 0, sizeof after, after, NULL));
    read_buffer(x, got, sizeof got);
    assert_memory_equal(got, after, sizeof got);
    ndr_buffer_destroy(x);
    ndr_buffer_destroy(y);
}

/* ---- rectangles at the end of a buffer ---- */

/* Rows and planes of bytes in a buffer that ends with the last one. */
typedef struct block {
    ndr_range extent;
    ndr_rect_side side;
    size_t bytes, commands; /* of the buffer; how many transfer it if the driver wants whole pitches */
} block;

static const block blocks[] = {
    { { 2, { 10, 80 } }, { .row_pitch_bytes = 102 }, 998, 2 },
    { { 2, { 10, 80 } }, { .origin = { 0, 22 }, .row_pitch_bytes = 102 }, 1020, 1 },
    { { 2, { 10, 80 } }, { .origin = { 3, 5 }, .row_pitch_bytes = 102 }, 1309, 2 },
    { { 2, { 2, 7 } }, { .offset_bytes = 3, .row_pitch_bytes = 11 }, 21, 2 },
    { { 3, { 5, 4, 12 } }, { .row_pitch_bytes = 48, .plane_pitch_bytes = 240 }, 1116, 3 },
    { { 3, { 5, 3, 12 } }, { .origin = { 2, 1, 7 }, .row_pitch_bytes = 48, .plane_pitch_bytes = 240 }, 1603, 3 },
    { { 3, { 2, 1, 12 } }, { .row_pitch_bytes = 48, .plane_pitch_bytes = 240 }, 252, 2 },
    { { 3, { 5, 4, 48 } }, { .row_pitch_bytes = 48, .plane_pitch_bytes = 240 }, 1152, 2 },
};
enum { MOST_BYTES = 2000 };

static unsigned char counted_up[MOST_BYTES], dense[MOST_BYTES], spread[MOST_BYTES];

/* By a plain loop: the block in counted_up, densely, and the dense one in zeros, as a block. */
static size_t model(const block *b)
{
    const bool is_deep = b->extent.dims == 3;
    const size_t *size = b->extent.size + is_deep, *origin = b->side.origin + is_deep;
    const size_t planes = is_deep ? b->extent.size[0] : 1, first_plane = is_deep ? b->side.origin[0] : 0;
    size_t count = 0;
    memset(spread, 0, sizeof spread);
    for (size_t i = 0; i < planes; ++i)
        for (size_t j = 0; j < size[0]; ++j)
            for (size_t k = 0; k < size[1]; ++k) {
                const size_t at = b->side.offset_bytes + (first_plane + i) * b->side.plane_pitch_bytes
                                  + (origin[0] + j) * b->side.row_pitch_bytes + origin[1] + k;
                assert_true(at < b->bytes);
                spread[at] = dense[count++] = counted_up[at];
            }
    return count;
}

static size_t count_transfers(void)
{
    static const call kinds[] = { CALL_clEnqueueCopyBuffer, CALL_clEnqueueCopyBufferRect, CALL_clEnqueueReadBuffer,
                                  CALL_clEnqueueReadBufferRect, CALL_clEnqueueWriteBuffer, CALL_clEnqueueWriteBufferRect };
    size_t count = 0;
    for (size_t i = 0; i < COUNT_OF(kinds); ++i) count += calls[kinds[i]];
    return count;
}

/* What was enqueued since the calls were cleared is `commands` transfers; `done` is the event of all. */
static void assert_commands(size_t commands, ndr_event *done)
{
    assert_int_equal(count_transfers(), commands);
    assert_ok(ndr_event_wait(done));
    assert_int_equal((int)done->piece_count, (int)commands);
    ndr_event_destroy(done);
    memset(calls, 0, sizeof calls);
}

static void try_block(const block *b, ndr_queue *line)
{
    unsigned char zeros[MOST_BYTES] = { 0 }, got[MOST_BYTES];
    const size_t count = model(b);
    const ndr_rect_desc gather = { b->extent, 1, b->side, { 0 } }, scatter = { b->extent, 1, { 0 }, b->side };
    ndr_buffer *from = buffer_of(b->bytes, counted_up), *packed = buffer_of(count, zeros), *to = buffer_of(b->bytes, zeros);
    ndr_event *done;
    memset(calls, 0, sizeof calls);
    assert_ok(ndr_buffer_copy_rect(line, from, packed, &gather, &done));
    assert_commands(b->commands, done);
    assert_ok(ndr_buffer_copy_rect(line, packed, to, &scatter, &done));
    assert_commands(b->commands, done);
    read_buffer(packed, got, count);
    assert_memory_equal(got, dense, count);
    read_buffer(to, got, b->bytes);
    assert_memory_equal(got, spread, b->bytes);

    memset(got, 0, count);
    assert_ok(ndr_buffer_read_rect(line, from, &gather, got, NULL));
    assert_memory_equal(got, dense, count);
    assert_ok(ndr_buffer_write(line, to, 0, b->bytes, zeros, NULL));
    assert_ok(ndr_buffer_write_rect(line, to, &scatter, dense, NULL));
    read_buffer(to, got, b->bytes);
    assert_memory_equal(got, spread, b->bytes);
    memset(calls, 0, sizeof calls);
    assert_ok(ndr_buffer_write_rect(line, to, &scatter, dense, &done));
    assert_commands(b->commands, done);
    assert_ok(ndr_buffer_read_rect(line, from, &gather, got, &done));
    assert_commands(b->commands, done);
    assert_memory_equal(got, dense, count);
    ndr_buffer_destroy(from);
    ndr_buffer_destroy(packed);
    ndr_buffer_destroy(to);
}

static void try_blocks(ndr_queue *line)
{
    for (size_t i = 0; i < sizeof counted_up; ++i) counted_up[i] = (unsigned char)(1 + i % 253);
    wants_whole_pitches = true;
    for (size_t i = 0; i < COUNT_OF(blocks); ++i) try_block(&blocks[i], line);
    wants_whole_pitches = false;
}

static void test_driver__may_want_whole_pitches_of_rectangles(void **state)
{
    skip_without(!context->checker, "guard zones leave room behind each buffer");
    try_blocks(queue);
}

/* The last row waits for the rows before it, which wait for what the caller named. */
static void assert_last_waits(ndr_queue *line)
{
    const block *b = &blocks[0];
    const ndr_rect_desc gather = { b->extent, 1, b->side, { 0 } };
    ndr_buffer *from = buffer_of(b->bytes, counted_up), *to = buffer_of(b->bytes, counted_up);
    ndr_event *gate, *done;
    assert_ok(ndr_event_create(context, &gate));
    assert_ok(ndr_buffer_copy_rect(ndr_after(line, gate), from, to, &gather, &done));
    assert_int_equal(waits_enqueued.count, 1);
    assert_ptr_equal(waits_enqueued.events, &done->pieces[0]);
    assert_ok(ndr_event_complete(gate));
    assert_ok(ndr_event_wait(done));
    ndr_event_destroy(gate);
    ndr_event_destroy(done);
    ndr_buffer_destroy(from);
    ndr_buffer_destroy(to);
}

static void test_driver__may_want_whole_pitches_of_rectangles_out_of_order(void **state)
{
    skip_without(!context->checker, "guard zones leave room behind each buffer");
    ndr_queue *unordered = NULL;
    const ndr_status made = ndr_queue_create(context, &(ndr_queue_desc){ .is_out_of_order = true }, &unordered);
    skip_without(made != NDR_UNSUPPORTED, "the device has no out-of-order queues");
    assert_ok(made);
    try_blocks(unordered);
    assert_last_waits(unordered);
    ndr_queue_destroy(unordered);
}

/* ---- waiting ---- */

/* Checked handles stay in memory for a while after they are destroyed. */
static void assert_alive_as(const alive *then)
{
    alive wanted = *then;
    if (ndr_handles_are_checked()) wanted.blocks = now.blocks;
    assert_memory_equal(&now, &wanted, sizeof now);
}

static void test_driver__refuses_the_last_row_of_a_rectangle(void **state)
{
    skip_without(!context->checker, "guard zones leave room behind each buffer");
    const block *b = &blocks[0];
    const ndr_rect_desc gather = { b->extent, 1, b->side, { 0 } };
    unsigned char got[MOST_BYTES];
    ndr_buffer *from = buffer_of(b->bytes, counted_up), *to = buffer_of(b->bytes, NULL);
    ndr_event *const no_event = (ndr_event *)&got, *event = no_event;
    assert_ok(ndr_queue_finish(queue));
    const alive then = now;
    assert_driver_refuses(clEnqueueCopyBuffer, ndr_buffer_copy_rect(queue, from, to, &gather, &event));
    assert_driver_refuses(clEnqueueReadBuffer, ndr_buffer_read_rect(queue, from, &gather, got, &event));
    assert_driver_refuses(clEnqueueReadBuffer, ndr_buffer_read_rect(queue, from, &gather, got, NULL));
    assert_ptr_equal(event, no_event);
    assert_alive_as(&then);
    ndr_buffer_destroy(from);
    ndr_buffer_destroy(to);
}

/* ---- sub-buffers ---- */

static ndr_buffer *view_of(ndr_buffer *buffer, size_t offset_bytes, size_t size_bytes)
{
    ndr_buffer *view = NULL;
    assert_ok(ndr_buffer_create_view(buffer, offset_bytes, size_bytes, &view));
    return view;
}

/* Some drivers crash if an older one that overlaps a newer one is released first (NVIDIA 580). */
static void test_driver__gets_overlapping_sub_buffers_back_newest_first(void **state)
{
    const size_t align = device.view_align_bytes, usual = ndr_max_unused_sub_buffers;
    ndr_buffer *whole = buffer_of(6 * align, NULL);
    const alive then = now;
    ndr_max_unused_sub_buffers = 0;
    ndr_buffer *low = view_of(whole, 0, 2 * align), *middle = view_of(whole, align, 2 * align),
               *high = view_of(whole, 2 * align, 2 * align), *apart = view_of(whole, 4 * align, align);
    assert_int_equal(now.buffers, then.buffers + 4);
    const cl_mem first = low->cl;
    ndr_buffer_destroy(apart);
    assert_int_equal(now.buffers, then.buffers + 3);
    ndr_buffer_destroy(low); /* below `middle` */
    assert_int_equal(now.buffers, then.buffers + 3);
    low = view_of(whole, 0, 2 * align);
    assert_int_equal(now.buffers, then.buffers + 3);
    assert_ptr_equal(low->cl, first);
    ndr_buffer_destroy(low);
    ndr_buffer_destroy(middle); /* below `high` */
    assert_int_equal(now.buffers, then.buffers + 3);
    ndr_buffer_destroy(high);
    assert_alive_as(&then);
    refuse(CALL_clCreateSubBuffer, 0, CL_OUT_OF_RESOURCES);
    assert_true(ndr_buffer_create_view(whole, 0, align, &low) != NDR_OK && refuse_none());
    assert_alive_as(&then);
    ndr_buffer_destroy(whole);
    ndr_max_unused_sub_buffers = usual;
}

/* PoCL 7.0 crashes if they go while other commands use the buffer. */
static void test_driver__keeps_sub_buffers_until_their_buffer_goes(void **state)
{
    const size_t align = device.view_align_bytes, usual = ndr_max_unused_sub_buffers;
    const alive before = now;
    ndr_buffer *whole = buffer_of(6 * align, NULL);
    const alive then = now;
    for (size_t i = 0; i < 12; ++i) ndr_buffer_destroy(view_of(whole, i % 6 * align, align));
    assert_int_equal(now.buffers, then.buffers + 6);
    ndr_max_unused_sub_buffers = 2; /* all but the newest, and those in use */
    ndr_buffer *oldest = view_of(whole, 0, align);
    ndr_buffer_destroy(view_of(whole, 4 * align, align));
    assert_int_equal(now.buffers, then.buffers + 3);
    ndr_buffer_destroy(oldest);
    assert_int_equal(now.buffers, then.buffers + 2);
    ndr_max_unused_sub_buffers = usual;
    ndr_buffer *last = view_of(whole, align, align);
    ndr_buffer_destroy(whole);
    assert_int_equal(now.buffers, then.buffers + 3);
    ndr_buffer_destroy(last);
    assert_alive_as(&before);
}

enum { INTS = 1000 };

/* Enqueue work that takes a while. Later commands must wait for it. */
static void keep_busy(ndr_buffer *spun)
{
    assert_ok(ndr_launch(queue, kernel_of(plain_kernels, "spin"), ndr_nd_range_1d(1, 1), spun,
                         quick() ? 100 : 20000000));
}

static void assert_all(const int *got, int wanted)
{
    for (size_t i = 0; i < INTS; ++i) assert_int_equal(got[i], wanted);
}

static void set_all(int *x, int value)
{
    for (size_t i = 0; i < INTS; ++i) x[i] = value;
}

static const cl_int wait_codes[] = { CL_OUT_OF_RESOURCES, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST,
                                     CL_INVALID_EVENT };

static void test_driver__ends_a_read_that_it_could_not_wait_for(void **state)
{
    const bool wait_sleeps = context->caps.wait_sleeps;
    int host[INTS];
    set_all(host, 1);
    ndr_buffer *x = buffer_of(sizeof host, host), *spun = buffer_of(sizeof(int), &(const int){ 0 });
    for (int spins = 0; spins < 2; ++spins)
        for (size_t i = 0; i < COUNT_OF(wait_codes); ++i) {
            keep_busy(spun);
            context->caps.wait_sleeps = spins;
            refuse(CALL_clWaitForEvents, 0, wait_codes[i]);
            assert_refused(NDR_DRIVER_ERROR, ndr_buffer_read(queue, x, 0, sizeof host, host, NULL),
                           "clWaitForEvents gave", ndr_cl_error_name(wait_codes[i]));
            assert_int_equal(ndr_last_cl_error(), wait_codes[i]);
            assert_null(strstr(ndr_last_error(), "may still be running"));
            assert_true(refuse_none());
            set_all(host, 9); /* the caller owns it again: the driver writes no more */
            assert_ok(ndr_queue_finish(queue));
            assert_all(host, 9);
        }
    context->caps.wait_sleeps = wait_sleeps;
    ndr_buffer_destroy(x);
    ndr_buffer_destroy(spun);
}

static void test_driver__ends_a_write_that_it_could_not_wait_for(void **state)
{
    const bool wait_sleeps = context->caps.wait_sleeps;
    int host[INTS];
    ndr_buffer *x = buffer_of(sizeof host, NULL), *spun = buffer_of(sizeof(int), &(const int){ 0 });
    for (int spins = 0; spins < 2; ++spins)
        for (size_t i = 0; i < COUNT_OF(wait_codes); ++i) {
            keep_busy(spun);
            set_all(host, 7);
            context->caps.wait_sleeps = spins;
            refuse(CALL_clWaitForEvents, 0, wait_codes[i]); /* a write never waits otherwise */
            assert_refused(NDR_DRIVER_ERROR, ndr_buffer_write(queue, x, 0, sizeof host, host, NULL),
                           "clWaitForEvents gave");
            assert_true(refuse_none());
            set_all(host, 9); /* the driver reads no more */
            read_buffer(x, host, sizeof host);
            assert_all(host, 7);
        }
    context->caps.wait_sleeps = wait_sleeps;
    ndr_buffer_destroy(x);
    ndr_buffer_destroy(spun);
}

/* Both the wait and clFinish fail. The sentence must warn that the work may still be running. */
static void test_driver__says_where_work_may_still_be_running(void **state)
{
    const bool wait_sleeps = context->caps.wait_sleeps, shares = context->caps.info.shares_host_memory;
    const bool was_in_turn = atomic_exchange(&ndr_waits_in_turn, false); /* a marker would take clFinish()'s place */
    int host[INTS];
    ndr_buffer *x = buffer_of(sizeof host, NULL);
    context->caps.info.shares_host_memory = true; /* otherwise the read waits in the driver */
    static const char said[] = "the work may still be running: its memory must stay until ndr_queue_finish() succeeds";
    for (int spins = 0; spins < 2; ++spins) {
        context->caps.wait_sleeps = spins;
        atomic_store(&context->has_user_events, false); /* of earlier tests: the queue would be finished by an event */
        refuse(CALL_clWaitForEvents, 0, CL_OUT_OF_RESOURCES);
        refuse_also(CALL_clFinish);
        refuse_also(CALL_clGetEventInfo);
        assert_refused(NDR_DRIVER_ERROR, ndr_buffer_read(queue, x, 0, sizeof host, host, NULL), said);
        assert_true(refuse_none());
        assert_int_equal(ndr_last_cl_error(), CL_OUT_OF_RESOURCES);
        assert_ok(ndr_queue_finish(queue));
    }
    context->caps.wait_sleeps = wait_sleeps;
    context->caps.info.shares_host_memory = shares;
    atomic_store(&ndr_waits_in_turn, was_in_turn);
    ndr_buffer_destroy(x);
}

static const uint64_t in_turn = NDR_QUIRK_BIT(NDR_QUIRK_WAIT_RUNS_COMMANDS) | NDR_QUIRK_BIT(NDR_QUIRK_ENQUEUE_RACES);

/* Where threads take turns, a thread may poll the marker, which would never end without the flush. */
static void test_driver__refuses_to_flush_what_a_thread_polls_in_its_turn(void **state)
{
    const bool was_in_turn = atomic_exchange(&ndr_waits_in_turn, true);
    const uint64_t quirks = context->caps.quirks;
    context->caps.quirks |= in_turn;
    const alive then = now;
    refuse(CALL_clFlush, 0, CL_OUT_OF_RESOURCES);
    assert_refused(NDR_DRIVER_ERROR, ndr_queue_finish(queue), "clFlush gave");
    assert_true(refuse_none());
    assert_int_equal(now.events, then.events);
    assert_ok(ndr_queue_finish(queue));
    context->caps.quirks = quirks;
    atomic_store(&ndr_waits_in_turn, was_in_turn);
}

/* The failed wait is reported although the event's state is complete. */
static void test_driver__passes_on_that_a_wait_failed(void **state)
{
    ndr_buffer *x = buffer_of(sizeof(int), &(const int){ 0 });
    for (size_t i = 0; i < COUNT_OF(wait_codes); ++i) {
        ndr_event *done;
        assert_ok(ndr_launch_event(queue, kernel_of(plain_kernels, "add_one"), &done, ndr_range_1d(1), x));
        assert_ok(ndr_queue_finish(queue));
        refuse(CALL_clWaitForEvents, 0, wait_codes[i]);
        assert_refused(NDR_DRIVER_ERROR, ndr_event_wait(done), "clWaitForEvents gave",
                       ndr_cl_error_name(wait_codes[i]));
        assert_true(refuse_none());
        assert_int_equal(ndr_last_cl_error(), wait_codes[i]);
        assert_null(strstr(ndr_last_error(), "may still be running")); /* the event is complete */
        assert_ok(ndr_event_wait(done));
        ndr_event_destroy(done);
    }
    ndr_buffer_destroy(x);
}

static void test_driver__refuses_to_wait_for_a_mapping_and_nothing_is_mapped(void **state)
{
    const int before[2] = { 1, 2 };
    ndr_buffer *x = buffer_of(sizeof before, before);
    void *const nothing = &x, *mapped = nothing;
    const alive then = now;
    for (size_t i = 0; i < COUNT_OF(wait_codes); ++i) {
        refuse(CALL_clWaitForEvents, 0, wait_codes[i]);
        assert_refused(NDR_DRIVER_ERROR, ndr_buffer_map(queue, x, NDR_MAP_READ_WRITE, 0, sizeof before, &mapped),
                       "clWaitForEvents gave", ndr_cl_error_name(wait_codes[i]));
        assert_true(refuse_none());
        assert_ptr_equal(mapped, nothing);
        assert_alive_as(&then);
        assert_ok(ndr_buffer_write(queue, x, 0, sizeof before, before, NULL));
    }
    ndr_buffer_destroy(x);
}

/* ---- NDR_CHECK ---- */

static void test_driver__makes_a_checked_buffer_whole_or_not_at_all(void **state)
{
    static const call kinds[] = { CALL_clCreateCommandQueue, CALL_clCreateBuffer, CALL_clEnqueueWriteBuffer,
                                  CALL_clCreateSubBuffer, CALL_malloc };
    ndr_context *checked;
    assert_ok(ndr_context_create_with(&(ndr_context_desc){ .check = NDR_CHECK_ON }, &checked));
    for (size_t k = 0; k < COUNT_OF(kinds); ++k) {
        ndr_buffer *made = NULL;
        for (size_t passing = 0; !made; ++passing) {
            const alive then = now;
            refuse(kinds[k], passing, CL_OUT_OF_HOST_MEMORY);
            const ndr_status status = ndr_buffer_create(checked, 100, &made);
            assert_int_equal(status, refuse_none() ? NDR_OUT_OF_HOST_MEMORY : NDR_OK);
            if (!made) assert_memory_equal(&now, &then, sizeof now);
            else assert_true(passing >= 1);
        }
        ndr_buffer_destroy(made);
    }
    refuse(CALL_clCreateBuffer, 0, CL_MEM_OBJECT_ALLOCATION_FAILURE);
    ndr_buffer *none = NULL;
    assert_refused(
        NDR_OUT_OF_DEVICE_MEMORY, ndr_buffer_create(checked, 100, &none),
        "clCreateBuffer gave CL_MEM_OBJECT_ALLOCATION_FAILURE (-4); a buffer of 100 bytes takes 131172 with its "
        "guard zones");
    assert_true(refuse_none());
    ndr_context_destroy(checked);
}

static void test_driver__opens_a_checked_context_whole_or_not_at_all(void **state)
{
    ndr_context *made = NULL;
    for (size_t passing = 0; !made; ++passing) {
        const alive then = now;
        refuse(CALL_malloc, passing, CL_SUCCESS);
        const ndr_status status = ndr_context_create_with(&(ndr_context_desc){ .check = NDR_CHECK_ON }, &made);
        assert_int_equal(status, refuse_none() ? NDR_OUT_OF_HOST_MEMORY : NDR_OK);
        if (!made) assert_int_equal(now.contexts, then.contexts);
    }
    ndr_context_destroy(made);
}

/* If the zones cannot be read after a launch, the launch has run but is reported as failed. */
static void test_driver__refuses_to_look_at_what_a_launch_did(void **state)
{
    ndr_context *checked;
    ndr_queue *line;
    ndr_buffer *x;
    ndr_kernel *add_one;
    ndr_event *event = NULL;
    assert_ok(ndr_context_create_with(&(ndr_context_desc){ .check = NDR_CHECK_ON }, &checked));
    assert_ok(ndr_queue_create(checked, NULL, &line));
    assert_ok(ndr_buffer_create_from(checked, sizeof(int), &(const int){ 5 }, &x));
    assert_ok(ndr_kernel_get(checked, &(ndr_kernel_desc){ .name = "add_one", .source = plain_kernels }, &add_one));
    static const call kinds[] = { CALL_clEnqueueReadBuffer, CALL_clWaitForEvents };
    for (size_t k = 0; k < COUNT_OF(kinds); ++k) {
        const alive then = now;
        refuse(kinds[k], 0, CL_OUT_OF_RESOURCES);
        assert_refused(NDR_DRIVER_ERROR, ndr_launch_event(line, add_one, &event, ndr_range_1d(1), x),
                       call_names[kinds[k]]);
        assert_true(refuse_none());
        assert_null(event);
        assert_ok(ndr_queue_finish(line)); /* it may keep the event of the last launch */
        assert_int_equal(now.events, then.events);
    }
    int got;
    assert_ok(ndr_buffer_read(line, x, 0, sizeof got, &got, NULL));
    assert_int_equal(got, 7);
    ndr_buffer_destroy(x);
    ndr_queue_destroy(line);
    ndr_context_destroy(checked);
}

/* LeakSanitizer must not report what the driver may still use. */
void __lsan_disable(void) __attribute__((weak));
void __lsan_enable(void) __attribute__((weak));

/* Both are refused if the wait for the zones is; without has_waited the driver cannot wait for their queue, either. */
static void refuse_to_wait_for_zones(ndr_context *checked, bool has_waited)
{
    ndr_buffer *none = NULL;
    ndr_shared *no_memory = NULL;
    ndr_shared_info info;
    const alive then = now;
    memset(calls, 0, sizeof calls);
    refuse(CALL_clWaitForEvents, 0, CL_OUT_OF_RESOURCES);
    if (!has_waited) refuse_also(CALL_clFinish);
    assert_refused(NDR_DRIVER_ERROR, ndr_buffer_create(checked, 100, &none), "clWaitForEvents gave CL_OUT_OF_RESOURCES",
                   has_waited ? "" : "; a copy of guard zones may still be running: its memory is kept until the process "
                                     "ends");
    assert_true(refuse_none());
    assert_int_equal(strstr(ndr_last_error(), "may still be running") == NULL, has_waited);
    assert_int_equal(calls[CALL_clFinish], 1);
    assert_int_equal(now.blocks, then.blocks + !has_waited);
    assert_ok(ndr_shared_get_info(checked, NDR_SHARED_ANY, &info));
    refuse(CALL_clWaitForEvents, 0, CL_OUT_OF_RESOURCES);
    if (!has_waited) refuse_also(CALL_clFinish);
    if (info.is_available) assert_refused(NDR_DRIVER_ERROR, ndr_shared_create(checked, NDR_SHARED_ANY, 100, &no_memory), "");
    refuse_none();
    assert_int_equal(now.shared, then.shared + (info.is_available && !has_waited));
}

/* Their memory is freed once the driver has ended the copy, or never. */
static void test_driver__refuses_to_wait_for_guard_zones(void **state)
{
    const bool was_in_turn = atomic_exchange(&ndr_waits_in_turn, false); /* as above */
    for (int has_waited = 1; has_waited >= 0; --has_waited) {
        ndr_context *checked;
        if (__lsan_disable) __lsan_disable();
        assert_ok(ndr_context_create_with(&(ndr_context_desc){ .check = NDR_CHECK_ON }, &checked));
        refuse_to_wait_for_zones(checked, has_waited);
        ndr_context_destroy(checked);
        if (__lsan_enable) __lsan_enable();
    }
    atomic_store(&ndr_waits_in_turn, was_in_turn);
}

/* ---- counting references ---- */

static void test_driver__needs_no_second_count_of_an_event(void **state)
{
    ndr_kernel *const add_one = kernel_of(plain_kernels, "add_one");
    ndr_buffer *x = buffer_of(sizeof(int), &(const int){ 0 });
    const alive then = now;
    for (int wants_event = 0; wants_event < 2; ++wants_event) {
        ndr_queue *line;
        ndr_event *done = NULL;
        assert_ok(ndr_queue_create(context, NULL, &line));
        refuse(CALL_clRetainEvent, 0, CL_OUT_OF_HOST_MEMORY);
        assert_ok(ndr_launch_event(line, add_one, wants_event ? &done : NULL, ndr_range_1d(1), x));
        refuse_none(); /* libndr may make no such call */
        if (done) assert_ok(ndr_event_wait(done));
        ndr_event_destroy(done);
        assert_ok(ndr_queue_finish(line));
        ndr_queue_destroy(line);
        assert_alive_as(&then);
    }
    ndr_buffer_destroy(x);
}

static void test_driver__counts_a_queue_before_it_maps(void **state)
{
    const int before[2] = { 1, 2 };
    ndr_buffer *x = buffer_of(sizeof before, before);
    ndr_queue *line;
    void *const nothing = &x, *mapped = nothing;
    const alive then = now;
    assert_ok(ndr_queue_create(context, NULL, &line));
    refuse(CALL_clRetainCommandQueue, 0, CL_OUT_OF_HOST_MEMORY);
    assert_refused(NDR_OUT_OF_HOST_MEMORY, ndr_buffer_map(line, x, NDR_MAP_READ, 0, sizeof before, &mapped),
                   "clRetainCommandQueue gave CL_OUT_OF_HOST_MEMORY");
    assert_true(refuse_none());
    assert_ptr_equal(mapped, nothing);
    assert_int_equal(now.mappings, then.mappings);
    assert_ok(ndr_buffer_map(line, x, NDR_MAP_READ, 0, sizeof before, &mapped));
    assert_memory_equal(mapped, before, sizeof before);
    ndr_queue_destroy(line); /* the mapping keeps the queue alive */
    ndr_buffer_destroy(x);
    assert_int_equal(now.queues, then.queues);
    assert_int_equal(now.events, then.events);
    assert_int_equal(now.mappings, then.mappings);
}

/* A source that this context has not built before. */
static void test_driver__refuses_to_build_and_then_builds(void **state)
{
    const ndr_kernel_desc desc = { .name = "alone",
                                   .source = "#include \"ndr/item.clh\"\n"
                                             "kernel void alone(global int *x, NDR_RANGE(1))\n"
                                             "{\n"
                                             "    const ndr_item it = NDR_ITEM(1);\n"
                                             "    x[ndr_global_id(it, 0)] = 5;\n"
                                             "}\n" };
    ndr_kernel *const none = (ndr_kernel *)&state, *kernel = none;
    const call kinds[] = { CALL_clCreateProgramWithSource, CALL_clBuildProgram, CALL_clCreateKernel };
    for (size_t i = 0; i < COUNT_OF(kinds); ++i) {
        refuse(kinds[i], 0, CL_OUT_OF_HOST_MEMORY);
        assert_int_not_equal(ndr_kernel_get(context, &desc, &kernel), NDR_OK);
        assert_true(refuse_none());
        assert_int_equal(ndr_last_cl_error(), CL_OUT_OF_HOST_MEMORY);
        assert_ptr_equal(kernel, none);
    }
    assert_ok(ndr_kernel_get(context, &desc, &kernel));
    ndr_buffer *x = buffer_of(3 * sizeof(int), NULL);
    assert_ok(ndr_launch(queue, kernel, ndr_range_1d(3), x));
    int got[3];
    read_buffer(x, got, sizeof got);
    assert_memory_equal(got, ((const int[]){ 5, 5, 5 }), sizeof got);
    ndr_buffer_destroy(x);
}

static void test_driver__fails_to_build_for_a_reason_that_is_not_the_text(void **state)
{
    static const struct {
        cl_int code;
        ndr_status status;
        const char *says;
    } table[] = {
        { CL_DEVICE_NOT_AVAILABLE, NDR_DRIVER_ERROR, "clBuildProgram gave CL_DEVICE_NOT_AVAILABLE (-2)" },
        { CL_OUT_OF_RESOURCES, NDR_DRIVER_ERROR, "clBuildProgram gave CL_OUT_OF_RESOURCES (-5)" },
        { CL_OUT_OF_HOST_MEMORY, NDR_OUT_OF_HOST_MEMORY, "clBuildProgram gave CL_OUT_OF_HOST_MEMORY (-6)" },
        { CL_BUILD_PROGRAM_FAILURE, NDR_BUILD_FAILED, "did not build for" },
        { CL_INVALID_BUILD_OPTIONS, NDR_BUILD_FAILED, "-DUNBUILT" },
    };
    const ndr_kernel_desc desc = {
        .name = "k", .label = "a text", .options = "-DUNBUILT", .source = "kernel void k(global int *x) { x[0] = 1; }\n"
    };
    for (size_t i = 0; i < COUNT_OF(table); ++i) {
        ndr_kernel *kernel;
        refuse(CALL_clBuildProgram, 0, table[i].code);
        assert_refused(table[i].status, ndr_kernel_get(context, &desc, &kernel), "\"a text\"", table[i].says);
        assert_true(refuse_none());
        assert_int_equal(ndr_last_cl_error(), table[i].code);
    }
}

/* Three kernels whose types only the program's text defines. */
static const char typed[] = "typedef float real_t;\n"
                            "typedef struct { int x[2]; } pair;\n"
                            "struct cell { char c[5]; };\n"
                            "kernel void k(global int *out, real_t f, pair p) { out[0] = (int)f + 10 * p.x[0] + 100 * p.x[1]; }\n"
                            "kernel void l(global int *out, const pair p, local struct cell *c) { out[0] = p.x[0]; }\n"
                            "#define HIDDEN(type) kernel void h(global int *out, type f) { out[0] = f; } \\\n"
                            "                     kernel void i(global int *out, type f) { out[0] = 2 * f; }\n"
                            "typedef int count_t;\n"
                            "HIDDEN(count_t)\n"
                            "kernel void j(global int *out, T f) { out[0] = f; }\n";

static void test_driver__builds_once_what_takes_types_of_its_own(void **state)
{
    const ndr_kernel_desc of_k = { .name = "k", .source = typed, .options = "-DT=int -Werror" };
    ndr_kernel_desc desc = of_k;
    ndr_kernel *kernel;
    memset(calls, 0, sizeof calls);
    assert_ok(ndr_kernel_get(context, &desc, &kernel));
    assert_int_equal(kernel->params[1].type.dtype, NDR_DTYPE_F32);
    assert_int_equal(kernel->params[2].size_bytes, 8);
    desc.name = "l";
    assert_ok(ndr_kernel_get(context, &desc, &kernel));
    assert_int_equal(kernel->params[1].size_bytes, 8);
    assert_int_equal(kernel->params[2].size_bytes, 5);
    desc.name = "j";
    assert_ok(ndr_kernel_get(context, &desc, &kernel));
    assert_int_equal(calls[CALL_clBuildProgram], 1);
    desc.name = "h"; /* its type is in a macro, and is then known for the next kernel */
    assert_ok(ndr_kernel_get(context, &desc, &kernel));
    assert_int_equal(kernel->params[1].type.dtype, NDR_DTYPE_I32);
    assert_int_equal(calls[CALL_clBuildProgram], 2);
    desc.name = "i";
    assert_ok(ndr_kernel_get(context, &desc, &kernel));
    assert_int_equal(kernel->params[1].type.dtype, NDR_DTYPE_I32);
    assert_int_equal(calls[CALL_clBuildProgram], 2);
}

/* Errors that the log reports in the user's text do not come from the probes. */
static void test_driver__builds_once_what_the_log_says_is_wrong(void **state)
{
    static const struct {
        const char *text;
        size_t builds;
        bool is_right;
    } rows[] = {
        { "typedef struct { int x; } own;\nkernel void k(global int *x, own o) { x[0] = nobody; }\n", 1, false },
        { "kernel void k(global int *x, nobody o) { x[0] = 1; }\n", 2, false }, /* the probes fail as well */
        { "typedef struct { int x; } own;\nkernel void k(global int *x, own o) { x[0] = 1; }\n"
          "#if 0\nkernel void none(nobody o) {}\n#endif\n", 3, true }, /* and a third with a probe for `own` only */
        { "typedef struct { int x; } own;\nkernel void k(global int *x, own o) { int pipe = 1; x[0] = nobody; }\n",
          2, false }, /* the second build is in OpenCL C 1.2 */
    };
    const size_t count = context->caps.c_version > 120 ? COUNT_OF(rows) : COUNT_OF(rows) - 1;
    for (size_t i = 0; i < count; ++i) {
        const ndr_kernel_desc desc = { .name = "k", .source = rows[i].text, .label = "mine.cl" };
        ndr_kernel *kernel;
        memset(calls, 0, sizeof calls);
        const ndr_status status = ndr_kernel_get(context, &desc, &kernel);
        assert_int_equal(calls[CALL_clBuildProgram], rows[i].builds);
        if (rows[i].is_right) {
            assert_ok(status);
            continue;
        }
        assert_refused(NDR_BUILD_FAILED, status, "\"mine.cl\" did not build", "nobody");
        assert_null(strstr(ndr_last_build_log(), "ndr_"));
    }
}

/* An image named by a typedef, with the descriptions that drivers give and might give. */
static void test_driver__has_images_told_from_buffers_however_it_describes_them(void **state)
{
    cl_bool has_images = CL_FALSE;
    assert_int_equal(clGetDeviceInfo(context->device, CL_DEVICE_IMAGE_SUPPORT, sizeof has_images, &has_images, NULL),
                     CL_SUCCESS);
    skip_without(has_images, "the device has no images");
    static const struct {
        cl_kernel_arg_address_qualifier space;
        cl_kernel_arg_access_qualifier access;
    } answers[] = { { 0, 0 },
                    { CL_KERNEL_ARG_ADDRESS_GLOBAL, CL_KERNEL_ARG_ACCESS_READ_ONLY },
                    { CL_KERNEL_ARG_ADDRESS_GLOBAL, CL_KERNEL_ARG_ACCESS_NONE },
                    { CL_KERNEL_ARG_ADDRESS_CONSTANT, CL_KERNEL_ARG_ACCESS_NONE },
                    { CL_KERNEL_ARG_ADDRESS_PRIVATE, CL_KERNEL_ARG_ACCESS_READ_ONLY } };
    ndr_buffer *x = buffer_of(64, NULL);
    for (size_t i = 0; i < COUNT_OF(answers); ++i) {
        char label[32];
        snprintf(label, sizeof label, "image %zu", i);
        const ndr_kernel_desc desc = { .name = "k",
                                       .label = label,
                                       .source = "typedef image2d_t I;\n"
                                                 "kernel void k(global int *x, I img) { x[0] = get_image_width(img); }\n" };
        ndr_kernel *kernel;
        image_space = answers[i].space;
        image_access = answers[i].access;
        const ndr_status status = ndr_kernel_get(context, &desc, &kernel);
        image_space = 0;
        assert_ok(status);
        assert_refused(NDR_UNSUPPORTED, ndr_launch(queue, kernel, ndr_range_1d(1), x, x),
                       "argument 1 \"img\" (I) is of a type that libndr cannot pass");
    }
    ndr_buffer_destroy(x);
}

/* Get the kernel with one call refused, then again, and launch it. Returns false if there was no such call. */
static bool types_are_refused_once(const char *source, size_t row, call kind, size_t passing)
{
    const struct { int32_t x[2]; } pair = { { 3, 4 } };
    const struct { int32_t x[3]; } triple = { { 0, 0, 0 } };
    char label[48];
    snprintf(label, sizeof label, "types %zu %d %zu", row, (int)kind, passing); /* new to the context */
    const ndr_kernel_desc desc = { .name = "k", .label = label, .source = source };
    ndr_kernel *const none = (ndr_kernel *)label, *kernel = none;
    refuse(kind, passing, CL_OUT_OF_HOST_MEMORY);
    const ndr_status status = ndr_kernel_get(context, &desc, &kernel);
    if (!refuse_none()) {
        assert_ok(status);
        return false;
    }
    assert_int_equal(status, NDR_OUT_OF_HOST_MEMORY);
    if (kind != CALL_malloc) assert_int_equal(ndr_last_cl_error(), CL_OUT_OF_HOST_MEMORY);
    assert_ptr_equal(kernel, none);
    assert_ok(ndr_kernel_get(context, &desc, &kernel));
    int got = 0;
    ndr_buffer *out = buffer_of(sizeof got, &got);
    assert_ok(ndr_launch(queue, kernel, ndr_range_1d(1), out, 2.0f, ndr_arg_struct_(&pair, sizeof pair, "pair")));
    read_buffer(out, &got, sizeof got);
    assert_int_equal(got, 432);
    assert_refused(NDR_BAD_KERNEL_ARGUMENT,
                   ndr_launch(queue, kernel, ndr_range_1d(1), out, 2.0f, ndr_arg_struct_(&triple, sizeof triple, "pair")),
                   "has 8 bytes on the device, but 12 are given");
    ndr_buffer_destroy(out);
    return true;
}

/* A kernel whose types the driver does not define, in the text and in a macro. Types in a macro need a second build.
 * Each call is refused once, and a retry finds all types. */
static void test_driver__refuses_to_tell_the_types_and_the_next_try_knows_them(void **state)
{
    enum { KINDS = 8 };
#define TYPES "typedef float real_t;\ntypedef struct { int x[2]; } pair;\n"
#define BODY "{ out[0] = (int)f + 10 * p.x[0] + 100 * p.x[1]; }\n"
    static const call kinds[KINDS] = { CALL_clCreateProgramWithSource, CALL_clBuildProgram,     CALL_clGetProgramInfo,
                                       CALL_clCreateKernel,            CALL_clGetKernelWorkGroupInfo,
                                       CALL_clGetKernelArgInfo,        CALL_clGetKernelInfo,    CALL_malloc };
    static const struct {
        const char *source;
        size_t least[KINDS];
    } rows[] = { { TYPES "kernel void k(global int *out, real_t f, pair p) " BODY, { 1, 1, 0, 5, 9, 21, 1, 12 } },
                 { TYPES "#define K kernel void k(global int *out, real_t f, pair p)\nK " BODY,
                   { 2, 2, 2 } } }; /* the rest is the same; only here the driver is asked for the text */
    for (size_t r = 0; r < COUNT_OF(rows); ++r)
        for (size_t k = 0; k < KINDS; ++k) {
            size_t passing = 0;
            if (rows[r].least[k] == 0) continue;
            while (types_are_refused_once(rows[r].source, r, kinds[k], passing)) ++passing;
            assert_true(passing >= rows[r].least[k]);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_driver__leaves_out_a_device_that_cannot_answer),
        cmocka_unit_test(test_driver__takes_an_invalid_value_for_a_no),
        cmocka_unit_test(test_driver__leaves_out_a_platform_that_cannot_list),
        cmocka_unit_test(test_driver__refuses_an_argument_and_the_next_launch_sets_it),
        cmocka_unit_test(test_driver__is_out_of_memory_for_an_argument),
        cmocka_unit_test(test_driver__refuses_what_a_group_is_told_and_the_next_launch_tells_it),
        cmocka_unit_test(test_driver__refuses_a_piece_of_a_launch),
        cmocka_unit_test(test_driver__refuses_a_step_of_a_product),
        cmocka_unit_test(test_driver__refuses_a_part_of_a_batch),
        cmocka_unit_test(test_driver__refuses_a_step_of_a_reduction),
        cmocka_unit_test(test_driver__gives_operations_as_small_groups_as_their_kernels_take),
        cmocka_unit_test(test_driver__refuses_to_make_queues_and_buffers),
        cmocka_unit_test(test_driver__without_memory_says_how_much_there_is),
        cmocka_unit_test(test_driver__refuses_transfers_and_the_next_works),
        cmocka_unit_test(test_driver__may_want_whole_pitches_of_rectangles),
        cmocka_unit_test(test_driver__may_want_whole_pitches_of_rectangles_out_of_order),
        cmocka_unit_test(test_driver__refuses_the_last_row_of_a_rectangle),
        cmocka_unit_test(test_driver__gets_overlapping_sub_buffers_back_newest_first),
        cmocka_unit_test(test_driver__keeps_sub_buffers_until_their_buffer_goes),
        cmocka_unit_test(test_driver__ends_a_read_that_it_could_not_wait_for),
        cmocka_unit_test(test_driver__ends_a_write_that_it_could_not_wait_for),
        cmocka_unit_test(test_driver__says_where_work_may_still_be_running),
        cmocka_unit_test(test_driver__refuses_to_flush_what_a_thread_polls_in_its_turn),
        cmocka_unit_test(test_driver__passes_on_that_a_wait_failed),
        cmocka_unit_test(test_driver__refuses_to_wait_for_a_mapping_and_nothing_is_mapped),
        cmocka_unit_test(test_driver__needs_no_second_count_of_an_event),
        cmocka_unit_test(test_driver__counts_a_queue_before_it_maps),
        cmocka_unit_test(test_driver__refuses_to_build_and_then_builds),
        cmocka_unit_test(test_driver__fails_to_build_for_a_reason_that_is_not_the_text),
        cmocka_unit_test(test_driver__builds_once_what_takes_types_of_its_own),
        cmocka_unit_test(test_driver__builds_once_what_the_log_says_is_wrong),
        cmocka_unit_test(test_driver__has_images_told_from_buffers_however_it_describes_them),
        cmocka_unit_test(test_driver__refuses_to_tell_the_types_and_the_next_try_knows_them),
        cmocka_unit_test(test_driver__makes_a_checked_buffer_whole_or_not_at_all),
        cmocka_unit_test(test_driver__opens_a_checked_context_whole_or_not_at_all),
        cmocka_unit_test(test_driver__refuses_to_look_at_what_a_launch_did),
        cmocka_unit_test(test_driver__refuses_to_wait_for_guard_zones),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
