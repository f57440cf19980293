/* test_driver.c - what the driver refuses although all checks were passed: each of its calls once, and then none.
 *
 * The functions below stand before the ICD loader's and pass calls on, but for the one that the test has chosen. */
#define _GNU_SOURCE
#include "support.h"

#include <dlfcn.h>

#include "ops/ops.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* ---- between libndr and the driver ---- */

typedef enum call {
    NO_CALL,
    CREATE_QUEUE,
    CREATE_BUFFER,
    CREATE_PROGRAM,
    BUILD,
    CREATE_KERNEL,
    SET_ARG,
    ENQUEUE,
    MARK,
    WRITE,
    READ,
    FILL,
    COPY,
    MAP,
    UNMAP,
    FINISH
} call;

/* The call to refuse: the one after `passing` others of its kind. */
static struct {
    call kind;
    size_t passing;
    cl_int code;
    bool has_refused;
} plan;

static size_t items_enqueued;

static void refuse(call kind, size_t passing, cl_int code)
{
    plan.kind = kind;
    plan.passing = passing;
    plan.code = code;
    plan.has_refused = false;
}

static bool refuse_none(void)
{
    plan.kind = NO_CALL;
    return plan.has_refused;
}

static bool is_refused(call kind)
{
    if (plan.kind != kind || plan.has_refused) return false;
    plan.has_refused = plan.passing == 0;
    if (!plan.has_refused) --plan.passing;
    return plan.has_refused;
}

/* ISO C knows no cast from an object's address to a function's. */
static void find_next(const char *name, void *function)
{
    void *found = dlsym(RTLD_NEXT, name);
    if (!found) fail_msg("the ICD loader has no %s", name);
    memcpy(function, &found, sizeof found);
}

#define STANDS_BEFORE(kind, name, parameters, ...)  \
    CL_API_ENTRY cl_int CL_API_CALL name parameters \
    {                                               \
        cl_int(CL_API_CALL *next) parameters;       \
        if (is_refused(kind)) return plan.code;     \
        find_next(#name, &next);                    \
        return next(__VA_ARGS__);                   \
    }

/* Of those that return what they make, and the code through their last parameter. */
#define STANDS_BEFORE_MAKING(type, kind, name, parameters, ...)      \
    CL_API_ENTRY type CL_API_CALL name parameters                    \
    {                                                                \
        type(CL_API_CALL *next) parameters;                          \
        if (is_refused(kind)) return *error = plan.code, (type)NULL; \
        find_next(#name, &next);                                     \
        return next(__VA_ARGS__);                                    \
    }

STANDS_BEFORE_MAKING(cl_command_queue, CREATE_QUEUE, clCreateCommandQueue,
                     (cl_context c, cl_device_id d, cl_command_queue_properties p, cl_int *error), c, d, p, error)
STANDS_BEFORE_MAKING(cl_mem, CREATE_BUFFER, clCreateBuffer,
                     (cl_context c, cl_mem_flags f, size_t bytes, void *host, cl_int *error), c, f, bytes, host, error)
STANDS_BEFORE_MAKING(cl_program, CREATE_PROGRAM, clCreateProgramWithSource,
                     (cl_context c, cl_uint count, const char **texts, const size_t *lengths, cl_int *error), c, count,
                     texts, lengths, error)
STANDS_BEFORE_MAKING(cl_kernel, CREATE_KERNEL, clCreateKernel, (cl_program p, const char *name, cl_int *error), p, name,
                     error)
STANDS_BEFORE_MAKING(void *, MAP, clEnqueueMapBuffer,
                     (cl_command_queue q, cl_mem m, cl_bool waits, cl_map_flags f, size_t offset, size_t bytes,
                      cl_uint count, const cl_event *list, cl_event *event, cl_int *error),
                     q, m, waits, f, offset, bytes, count, list, event, error)
STANDS_BEFORE(BUILD, clBuildProgram,
              (cl_program p, cl_uint count, const cl_device_id *devices, const char *options,
               void(CL_CALLBACK *then)(cl_program, void *), void *data),
              p, count, devices, options, then, data)
STANDS_BEFORE(SET_ARG, clSetKernelArg, (cl_kernel k, cl_uint index, size_t bytes, const void *value), k, index, bytes,
              value)
STANDS_BEFORE(MARK, clEnqueueMarkerWithWaitList,
              (cl_command_queue q, cl_uint count, const cl_event *list, cl_event *event), q, count, list, event)
STANDS_BEFORE(WRITE, clEnqueueWriteBuffer,
              (cl_command_queue q, cl_mem m, cl_bool waits, size_t offset, size_t bytes, const void *host,
               cl_uint count, const cl_event *list, cl_event *event),
              q, m, waits, offset, bytes, host, count, list, event)
STANDS_BEFORE(READ, clEnqueueReadBuffer,
              (cl_command_queue q, cl_mem m, cl_bool waits, size_t offset, size_t bytes, void *host, cl_uint count,
               const cl_event *list, cl_event *event),
              q, m, waits, offset, bytes, host, count, list, event)
STANDS_BEFORE(FILL, clEnqueueFillBuffer,
              (cl_command_queue q, cl_mem m, const void *pattern, size_t pattern_bytes, size_t offset, size_t bytes,
               cl_uint count, const cl_event *list, cl_event *event),
              q, m, pattern, pattern_bytes, offset, bytes, count, list, event)
STANDS_BEFORE(COPY, clEnqueueCopyBuffer,
              (cl_command_queue q, cl_mem from, cl_mem to, size_t from_offset, size_t to_offset, size_t bytes,
               cl_uint count, const cl_event *list, cl_event *event),
              q, from, to, from_offset, to_offset, bytes, count, list, event)
STANDS_BEFORE(UNMAP, clEnqueueUnmapMemObject,
              (cl_command_queue q, cl_mem m, void *mapped, cl_uint count, const cl_event *list, cl_event *event), q, m,
              mapped, count, list, event)
STANDS_BEFORE(FINISH, clFinish, (cl_command_queue q), q)

/* The global size, once its items are counted. */
static const size_t *counted(cl_uint dims, const size_t *global)
{
    size_t items = 1;
    for (cl_uint d = 0; d < dims; ++d) items *= global[d];
    items_enqueued += items;
    return global;
}

STANDS_BEFORE(ENQUEUE, clEnqueueNDRangeKernel,
              (cl_command_queue q, cl_kernel k, cl_uint dims, const size_t *offset, const size_t *global,
               const size_t *local, cl_uint count, const cl_event *list, cl_event *event),
              q, k, dims, offset, counted(dims, global), local, count, list, event)

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

/* Whatever was refused is not taken for held: what OpenCL's kernel has is from the launch before. */
static void test_driver__refuses_an_argument_and_the_next_launch_sets_it(void **state)
{
    (void)state;
    static const char *const names[] = { "argument 0 \"out\"", "argument 1 \"a\"", "argument 2 \"b\"" };
    ndr_kernel *const put = kernel_of(kernels, "put");
    for (size_t refused = 0; refused < 3; ++refused) {
        ndr_buffer *first = buffer_of(sizeof(int), NULL), *second = buffer_of(sizeof(int), &(const int){ 7 });
        assert_ok(ndr_launch(queue, put, ndr_range_1d(1), first, 1, 2));
        refuse(SET_ARG, refused, CL_INVALID_ARG_VALUE);
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

/* Local memory, the hidden scratch, the hidden record. */
static void test_driver__refuses_what_a_group_is_told_and_the_next_launch_tells_it(void **state)
{
    (void)state;
    ndr_kernel *const tell = kernel_of(kernels, "tell");
    ndr_buffer *out = buffer_of(2 * sizeof(int), NULL);
    for (size_t refused = 0; refused < 3; ++refused) {
        assert_ok(ndr_launch(queue, tell, ndr_nd_range_1d(64, 16), out, ndr_local(int, 16)));
        refuse(SET_ARG, refused, CL_OUT_OF_RESOURCES);
        const ndr_nd_range other = ndr_nd_range_1d(24, 8);
        assert_refused(refused == 0 ? NDR_BAD_KERNEL_ARGUMENT : NDR_DRIVER_ERROR,
                       ndr_launch(queue, tell, other, out, ndr_local(int, 8)), "CL_OUT_OF_RESOURCES");
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

/* 33 x 33 in groups of 8 x 8: four pieces. What has been enqueued runs, and the sentence says how much that is. */
static void test_driver__refuses_a_piece_of_a_launch(void **state)
{
    (void)state;
    ndr_kernel *const count = kernel_of(kernels, "count");
    ndr_nd_range range = ndr_nd_range_2d(33, 33, 8, 8);
    range.edge = NDR_EDGE_SPLIT;
    for (size_t refused = 0; refused < 4; ++refused)
        for (int wants_event = 0; wants_event < 2; ++wants_event) {
            char run[32];
            snprintf(run, sizeof run, "%zu of its 4 pieces run", refused);
            ndr_buffer *out = buffer_of(sizeof(int), &(const int){ 0 });
            ndr_event *const before = (ndr_event *)&run, *event = before;
            items_enqueued = 0;
            refuse(ENQUEUE, refused, CL_OUT_OF_RESOURCES);
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
    ndr_buffer *a, *b, *c;
    ndr_reduce_method method;
} operation;

/* Refuse each call of each kind once, as long as there is one more; after that the operation works. */
static void check_every_refusal(operation o)
{
    static const call kinds[] = { CREATE_BUFFER, SET_ARG, ENQUEUE, MARK, WRITE, FILL, COPY };
    size_t refusals = 0;
    for (size_t k = 0; k < COUNT_OF(kinds); ++k)
        for (size_t passing = 0;; ++passing) {
            ndr_event *const before = (ndr_event *)&o, *event = before;
            assert_ok(ndr_queue_create(context, NULL, &o.queue));
            refuse(kinds[k], passing, CL_OUT_OF_RESOURCES);
            const ndr_status status = o.run(&o, &event);
            const bool refused = refuse_none();
            if (refused) {
                assert_int_not_equal(status, NDR_OK);
                assert_non_null(strstr(ndr_last_error(), "CL_OUT_OF_RESOURCES"));
                assert_int_equal(ndr_last_cl_error(), CL_OUT_OF_RESOURCES);
                assert_ptr_equal(event, before);
                assert_ok(ndr_queue_finish(o.queue));
                assert_ok(o.run(&o, &event));
                ++refusals;
            } else {
                assert_ok(status);
            }
            assert_ok(ndr_event_wait(event));
            ndr_event_destroy(event);
            o.check(&o);
            ndr_queue_destroy(o.queue);
            if (!refused) break;
        }
    assert_true(refusals > 0);
}

enum { M = 40, N = 50, K = 9, MOST = 70000 };

/* More than one group in every variant; when quick in those that are not one launch of chunks. */
static size_t count_to_reduce(void) { return quick() ? 2100 : MOST; }

static ndr_status multiply(operation *o, ndr_event **event)
{
    const size_t m = context->forced.gemm == NDR_GEMM_THIN ? 8 : M;
    const ndr_matmul_desc desc = { .dtype = NDR_DTYPE_F32,
                                   .a = { o->a, 0, m, K, 0 },
                                   .b = { o->b, 0, K, N, 0 },
                                   .c = { o->c, 0, m, N, 0 } };
    return ndr_matmul(o->queue, &desc, event);
}

static void check_product(operation *o)
{
    float got[M * N];
    const size_t m = context->forced.gemm == NDR_GEMM_THIN ? 8 : M;
    assert_ok(ndr_buffer_read(o->queue, o->c, 0, m * N * sizeof *got, got));
    for (size_t i = 0; i < m * N; ++i) assert_true(got[i] == 2 * K);
}

static void test_driver__refuses_a_step_of_a_product(void **state)
{
    (void)state;
    static float a[M * K], b[K * N];
    for (size_t i = 0; i < COUNT_OF(a); ++i) a[i] = 1;
    for (size_t i = 0; i < COUNT_OF(b); ++i) b[i] = 2;
    operation o = { .run = multiply,
                    .check = check_product,
                    .a = buffer_of(sizeof a, a),
                    .b = buffer_of(sizeof b, b),
                    .c = buffer_of(M * N * sizeof(float), NULL) };
    for (unsigned variant = NDR_GEMM_TILED; variant <= NDR_GEMM_THIN; ++variant) {
        context->forced.gemm = variant;
        o.queue = queue;
        assert_ok(multiply(&o, NULL)); /* builds its kernels */
        assert_ok(ndr_queue_finish(queue));
        check_every_refusal(o);
    }
    context->forced.gemm = NDR_GEMM_CHOOSE;
    ndr_buffer_destroy(o.a);
    ndr_buffer_destroy(o.b);
    ndr_buffer_destroy(o.c);
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
    assert_ok(ndr_buffer_read(o->queue, o->c, 0, sizeof got, &got));
    assert_int_equal(got, 3 * count_to_reduce());
}

static void test_driver__refuses_a_step_of_a_reduction(void **state)
{
    (void)state;
    static const ndr_reduce_method methods[] = { NDR_REDUCE_TREE, NDR_REDUCE_ATOMIC, NDR_REDUCE_RECURSIVE };
    static int32_t threes[MOST];
    for (size_t i = 0; i < MOST; ++i) threes[i] = 3;
    operation o = {
        .run = reduce, .check = check_sum, .a = buffer_of(sizeof threes, threes), .c = buffer_of(sizeof(int32_t), NULL)
    };
    for (unsigned variant = NDR_REDUCE_GROUPS; variant <= NDR_REDUCE_CHUNKS; ++variant)
        for (size_t m = 0; m < COUNT_OF(methods); ++m) {
            context->forced.reduce = variant;
            o.method = methods[m];
            o.queue = queue;
            assert_ok(reduce(&o, NULL));
            assert_ok(ndr_queue_finish(queue));
            check_every_refusal(o);
        }
    context->forced.reduce = NDR_REDUCE_CHOOSE;
    ndr_buffer_destroy(o.a);
    ndr_buffer_destroy(o.c);
}

/* ---- all else ---- */

#define assert_driver_refuses(kind, call_, ...)                                              \
    do {                                                                                     \
        refuse((kind), 0, CL_OUT_OF_HOST_MEMORY);                                            \
        assert_refused(NDR_OUT_OF_HOST_MEMORY, call_, __VA_ARGS__, "CL_OUT_OF_HOST_MEMORY"); \
        assert_true(refuse_none());                                                          \
        assert_int_equal(ndr_last_cl_error(), CL_OUT_OF_HOST_MEMORY);                        \
    } while (0)

static void test_driver__refuses_to_make_queues_and_buffers(void **state)
{
    (void)state;
    ndr_queue *const no_queue = (ndr_queue *)&state, *made_queue = no_queue;
    assert_driver_refuses(CREATE_QUEUE, ndr_queue_create(context, NULL, &made_queue), "clCreateCommandQueue");
    assert_ptr_equal(made_queue, no_queue);
    ndr_buffer *const no_buffer = (ndr_buffer *)&state, *made = no_buffer;
    assert_driver_refuses(CREATE_BUFFER, ndr_buffer_create(context, 8, &made), "clCreateBuffer");
    assert_ptr_equal(made, no_buffer);
    refuse(CREATE_BUFFER, 0, CL_MEM_OBJECT_ALLOCATION_FAILURE);
    assert_refused(NDR_OUT_OF_DEVICE_MEMORY, ndr_buffer_create(context, 8, &made), "clCreateBuffer");
    assert_true(refuse_none());
    assert_ptr_equal(made, no_buffer);
}

static void test_driver__refuses_transfers_and_the_next_works(void **state)
{
    (void)state;
    const int before[2] = { 1, 2 }, after[2] = { 3, 4 };
    int got[2] = { 5, 6 };
    ndr_buffer *x = buffer_of(sizeof before, before), *y = buffer_of(sizeof before, before);
    ndr_event *const no_event = (ndr_event *)&got, *event = no_event;
    void *const nothing = &got, *mapped = nothing;
    assert_driver_refuses(WRITE, ndr_buffer_write(queue, x, 0, sizeof after, after), "clEnqueueWriteBuffer");
    assert_driver_refuses(FILL, ndr_buffer_fill(queue, x, 0, sizeof after, after, sizeof after, &event),
                          "clEnqueueFillBuffer");
    assert_driver_refuses(COPY, ndr_buffer_copy(queue, x, 0, y, 0, sizeof before, &event), "clEnqueueCopyBuffer");
    assert_driver_refuses(MARK, ndr_buffer_copy(queue, x, 0, y, 0, 0, &event), "clEnqueueMarkerWithWaitList");
    assert_driver_refuses(MAP, ndr_buffer_map(queue, x, NDR_MAP_READ, 0, sizeof before, &mapped), "clEnqueueMapBuffer");
    assert_driver_refuses(READ, ndr_buffer_read(queue, x, 0, sizeof got, got), "clEnqueueReadBuffer");
    assert_driver_refuses(FINISH, ndr_queue_finish(queue), "clFinish");
    assert_ptr_equal(event, no_event);
    assert_ptr_equal(mapped, nothing);
    assert_memory_equal(got, ((const int[]){ 5, 6 }), sizeof got);
    read_buffer(x, got, sizeof got); /* nothing of it is left: not mapped, not written */
    assert_memory_equal(got, before, sizeof got);

    assert_ok(ndr_buffer_map(queue, x, NDR_MAP_READ, 0, sizeof before, &mapped));
    assert_driver_refuses(UNMAP, ndr_buffer_unmap(queue, x, mapped), "clEnqueueUnmapMemObject");
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_write(queue, x, 0, sizeof after, after), "mapped"); /* still */
    assert_ok(ndr_buffer_unmap(queue, x, mapped));
    assert_ok(ndr_buffer_write(queue, x, 0, sizeof after, after));
    read_buffer(x, got, sizeof got);
    assert_memory_equal(got, after, sizeof got);
    ndr_buffer_destroy(x);
    ndr_buffer_destroy(y);
}

/* A source that nothing else has built in this context. */
static void test_driver__refuses_to_build_and_then_builds(void **state)
{
    (void)state;
    const ndr_kernel_desc desc = { .name = "alone",
                                   .source = "#include \"ndr/item.clh\"\n"
                                             "kernel void alone(global int *x, NDR_RANGE(1))\n"
                                             "{\n"
                                             "    const ndr_item it = NDR_ITEM(1);\n"
                                             "    x[ndr_global_id(it, 0)] = 5;\n"
                                             "}\n" };
    ndr_kernel *const none = (ndr_kernel *)&state, *kernel = none;
    const call kinds[] = { CREATE_PROGRAM, BUILD, CREATE_KERNEL };
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_driver__refuses_an_argument_and_the_next_launch_sets_it),
        cmocka_unit_test(test_driver__refuses_what_a_group_is_told_and_the_next_launch_tells_it),
        cmocka_unit_test(test_driver__refuses_a_piece_of_a_launch),
        cmocka_unit_test(test_driver__refuses_a_step_of_a_product),
        cmocka_unit_test(test_driver__refuses_a_step_of_a_reduction),
        cmocka_unit_test(test_driver__refuses_to_make_queues_and_buffers),
        cmocka_unit_test(test_driver__refuses_transfers_and_the_next_works),
        cmocka_unit_test(test_driver__refuses_to_build_and_then_builds),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
