/* test_prepared.c - prepared launches: they run as often as asked with the arguments that they hold, and a run or a
 * change that cannot be right is refused. */
#include "support.h"

#include <pthread.h>

#include "launch/launch.h"
#include "ndr/ndr_cl.h"

enum { N = 100, THREADS = 4, RUNS_EACH = 200 };

static const char source[] =
    "#include \"ndr/nd_item.clh\"\n"
    "typedef struct pair { int first; float second; } pair;\n"
    "kernel void put(global int *out, pair p, float3 a, uchar small, local int *t, global const int *x, NDR_ND_RANGE(1))\n"
    "{\n"
    "    const ndr_nd_item it = NDR_ND_ITEM(1);\n"
    "    const size_t i = ndr_global_id(it, 0);\n"
    "    t[ndr_local_id(it, 0)] = p.first + (int)p.second + (int)(a.x + a.y + a.z) + small;\n"
    "    out[i] += t[ndr_local_id(it, 0)] + (x ? x[i] : 0);\n"
    "}\n"
    "kernel void count(global int *seen, int amount, NDR_ND_RANGE(3))\n"
    "{\n"
    "    atomic_add(&seen[ndr_global_linear_id(NDR_ND_ITEM(3))], amount);\n"
    "}\n"
    "kernel void plain(global int *seen, int amount) { atomic_add(seen, amount); }\n"
    "kernel void past_end(global int *seen, uint at) { seen[at] = 7; }\n";

typedef struct pair {
    int first;
    float second;
} pair;

static ndr_kernel *kernel(const char *name) { return kernel_of(source, name); }

static ndr_buffer *zeros(size_t ints)
{
    int *host = calloc(ints, sizeof *host);
    assert_non_null(host);
    ndr_buffer *made = buffer_of(ints * sizeof *host, host);
    free(host);
    return made;
}

static int first_of(ndr_buffer *buffer)
{
    int value;
    read_buffer(buffer, &value, sizeof value);
    return value;
}

/* "plain" over one item, which adds `amount` to the first int of `seen`. */
static ndr_prepared *prepare_plain(ndr_buffer *seen, int amount)
{
    ndr_prepared *made;
    assert_ok(ndr_prepare(kernel("plain"), &made, ndr_range_1d(1), seen, amount));
    return made;
}

static void run(ndr_prepared *prepared) { assert_ok(ndr_prepared_run(queue, prepared, NULL)); }

/* ---- running ---- */

static void test_prepared__runs_many_times_with_each_kind_of_argument(void **state)
{
    pair p = { 1, 10.0f };
    int got[N];
    ndr_buffer *out = zeros(N), *x = zeros(N);
    ndr_prepared *prepared;
    assert_ok(ndr_prepare(kernel("put"), &prepared, ndr_nd_range_1d(N, 10), out, ndr_struct(pair, p),
                          ndr_vector(float, 50, 30, 20),
                          1000 - 800, ndr_local(int, 10), ndr_null));
    p.first = -1; /* the launch has a copy */
    run(prepared);
    run(prepared);
    read_buffer(out, got, sizeof got);
    for (int i = 0; i < N; ++i) assert_int_equal(got[i], 2 * 311);

    p.first = 5;
    assert_ok(ndr_prepared_set(prepared, 1, ndr_struct(pair, p)));
    assert_ok(ndr_prepared_set(prepared, 2, ndr_vector(float, 4, 2, 1)));
    assert_ok(ndr_prepared_set(prepared, 3, ndr_arg_of(255)));
    assert_ok(ndr_prepared_set(prepared, 4, ndr_local(int, 20)));
    assert_ok(ndr_prepared_set(prepared, 5, ndr_arg_of(x)));
    run(prepared);
    take_buffer(out, got, sizeof got);
    for (int i = 0; i < N; ++i) assert_int_equal(got[i], 2 * 311 + 5 + 10 + 7 + 255);
    ndr_prepared_destroy(prepared);
    ndr_buffer_destroy(x);
}

static void test_prepared__keeps_its_arguments_whatever_else_the_kernel_runs_with(void **state)
{
    ndr_buffer *a = zeros(1), *b = zeros(1), *c = zeros(1);
    ndr_prepared *first = prepare_plain(a, 1), *second = prepare_plain(b, 100);
    for (int i = 0; i < 5; ++i) {
        run(first);
        assert_ok(ndr_launch(queue, kernel("plain"), ndr_range_1d(1), c, 10000));
        run(second);
    }
    assert_int_equal(first_of(a), 5);
    assert_int_equal(first_of(b), 500);
    assert_int_equal(first_of(c), 50000);
    ndr_prepared_destroy(first);
    ndr_prepared_destroy(second);
    destroy_buffers(a, b, c);
}

/* Sizes that no local size divides in any dimension: 8 pieces. */
static void test_prepared__of_eight_pieces_runs_each_item_once(void **state)
{
    enum { ITEMS = 3 * 5 * 7 };
    int got[ITEMS];
    ndr_buffer *seen = zeros(ITEMS);
    ndr_nd_range range = ndr_nd_range_3d(3, 5, 7, 2, 2, 2);
    range.edge = NDR_EDGE_SPLIT;
    ndr_prepared *prepared;
    ndr_event *event;
    assert_ok(ndr_prepare(kernel("count"), &prepared, range, seen, 1));
    run(prepared);
    assert_ok(ndr_prepared_set(prepared, 1, ndr_arg_of(10)));
    assert_ok(ndr_prepared_run(queue, prepared, &event));
    assert_ok(ndr_event_wait(event));
    ndr_event_destroy(event);
    take_buffer(seen, got, sizeof got);
    for (int i = 0; i < ITEMS; ++i) assert_int_equal(got[i], 11);
    ndr_prepared_destroy(prepared);
}

static void test_prepared__over_nothing_gives_an_event(void **state)
{
    ndr_buffer *seen = zeros(1);
    ndr_prepared *prepared;
    ndr_event *event = NULL;
    assert_ok(ndr_prepare(kernel("plain"), &prepared, ndr_range_1d(0), seen, 1));
    assert_ok(ndr_prepared_set(prepared, 1, ndr_arg_of(2)));
    assert_ok(ndr_prepared_run(queue, prepared, &event));
    assert_ok(ndr_event_wait(event));
    assert_int_equal(first_of(seen), 0);
    ndr_event_destroy(event);
    ndr_prepared_destroy(prepared);
    ndr_buffer_destroy(seen);
}

static void test_prepared__runs_a_kernel_that_was_made_elsewhere(void **state)
{
    ndr_kernel *foreign;
    ndr_buffer *seen = zeros(1);
    ndr_prepared *prepared;
    assert_ok(ndr_kernel_from_cl(context, ndr_kernel_cl(kernel("plain")), &foreign));
    assert_ok(ndr_prepare(foreign, &prepared, ndr_range_1d(3), seen, 4));
    run(prepared);
    assert_int_equal(first_of(seen), 12);
    ndr_prepared_destroy(prepared);
    ndr_buffer_destroy(seen);
}

static void test_prepared__outlives_the_context_handle(void **state)
{
    ndr_context *other;
    ndr_queue *line;
    ndr_kernel *k;
    ndr_buffer *seen;
    ndr_prepared *prepared;
    int got = 0;
    assert_ok(ndr_context_create(NULL, &other));
    assert_ok(ndr_queue_create(other, NULL, &line));
    assert_ok(ndr_kernel_get(other, &(ndr_kernel_desc){ .name = "plain", .source = source }, &k));
    assert_ok(ndr_buffer_create_from(other, sizeof got, &got, &seen));
    assert_ok(ndr_prepare(k, &prepared, ndr_range_1d(1), seen, 3));
    ndr_context_destroy(other);
    assert_ok(ndr_prepared_run(line, prepared, NULL));
    assert_ok(ndr_buffer_read(line, seen, 0, sizeof got, &got, NULL));
    assert_int_equal(got, 3);
    ndr_queue_destroy(line);
    ndr_buffer_destroy(seen);
    ndr_prepared_destroy(prepared); /* the last that refers to the context and to the buffer's struct */
}

/* ---- refusals ---- */

static void test_prepared__refuses_what_a_launch_refuses(void **state)
{
    ndr_buffer *seen = zeros(1);
    ndr_prepared *made = (ndr_prepared *)(void *)&state;
    ndr_kernel *k = kernel("plain");
    const ndr_nd_range one = { .global = { 1, { 1, 0, 0 } } };
    const ndr_arg args[] = { ndr_arg_of(seen), ndr_arg_of(1) };
    const pair p = { 1, 0 };
    assert_refused(NDR_BAD_ARGUMENT, ndr_prepare_v(NULL, &one, args, 2, &made), "ndr_prepare: kernel is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_prepare_v(k, NULL, args, 2, &made), "ndr_prepare: range is NULL", "\"plain\"");
    assert_refused(NDR_BAD_ARGUMENT, ndr_prepare_v(k, &one, args, 2, NULL), "ndr_prepare: prepared is NULL");
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_prepare(k, &made, ndr_range_1d(1), seen),
                   "\"plain\" takes 2 arguments, but 1 is given");
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_prepare(k, &made, ndr_range_1d(1), seen, 1.0f),
                   "argument 1 \"amount\" (int) takes an integer");
    assert_refused(NDR_BAD_RANGE, ndr_prepare(k, &made, ndr_nd_range_1d(10, 4), seen, 1),
                   "global size 10 is not a multiple of local size 4");
    assert_refused(NDR_LIMIT_EXCEEDED,
                   ndr_prepare(kernel("put"), &made, ndr_nd_range_1d(4, 2), seen, ndr_struct(pair, p),
                               ndr_vector(float, 1, 0, 0), 1, ndr_local(int, device.local_memory_bytes), ndr_null),
                   "kernel \"put\" would need", "of local memory");
    assert_ptr_equal(made, &state);
    ndr_buffer_destroy(seen);
}

static void test_prepared__keeps_an_argument_if_another_is_refused(void **state)
{
    ndr_buffer *seen = zeros(1);
    ndr_prepared *prepared = prepare_plain(seen, 3);
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_prepared_set(prepared, 1, ndr_arg_of(1.5f)),
                   "kernel \"plain\", argument 1 \"amount\" (int) takes an integer");
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_prepared_set(prepared, 1, ndr_arg_of(INT64_MAX)),
                   "argument 1 \"amount\" (int) cannot hold 9223372036854775807");
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_prepared_set(prepared, 0, ndr_arg_of((ndr_buffer *)NULL)),
                   "argument 0 \"seen\"", "is a NULL buffer");
    assert_refused(NDR_BAD_ARGUMENT, ndr_prepared_set(prepared, 2, ndr_arg_of(1)),
                   "index is 2, but kernel \"plain\" takes 2 arguments");
    assert_refused(NDR_BAD_ARGUMENT, ndr_prepared_set(NULL, 0, ndr_arg_of(1)), "prepared is NULL");
    run(prepared);
    assert_int_equal(first_of(seen), 3);
    ndr_prepared_destroy(prepared);
    ndr_buffer_destroy(seen);
}

static void test_prepared__counts_all_local_memory_when_one_argument_changes(void **state)
{
    const pair p = { 1, 0 };
    ndr_buffer *out = zeros(N);
    ndr_prepared *prepared;
    assert_ok(ndr_prepare(kernel("put"), &prepared, ndr_nd_range_1d(N, 10), out, ndr_struct(pair, p),
                          ndr_vector(float, 0, 0, 0), 0, ndr_local(int, 10), ndr_null));
    assert_refused(NDR_LIMIT_EXCEEDED, ndr_prepared_set(prepared, 4, ndr_local(int, device.local_memory_bytes / 4 + 1)),
                   "kernel \"put\" would need", "of local memory");
    assert_refused(NDR_LIMIT_EXCEEDED, ndr_prepared_set(prepared, 4, ndr_local(int, SIZE_MAX / 2, 4)),
                   "exceeds the address space");
    run(prepared);
    assert_int_equal(first_of(out), 1);
    ndr_prepared_destroy(prepared);
    ndr_buffer_destroy(out);
}

static void test_prepared__is_refused_while_the_host_has_a_buffer_mapped(void **state)
{
    ndr_buffer *seen = zeros(1);
    void *host;
    assert_ok(ndr_buffer_map(queue, seen, NDR_MAP_READ, 0, sizeof(int), &host));
    ndr_prepared *prepared = prepare_plain(seen, 1); /* nothing runs yet */
    ndr_event *event = (ndr_event *)(void *)&state;
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_prepared_run(queue, prepared, &event),
                   "kernel \"plain\", argument 0 \"seen\" (int*) is a buffer that the host has mapped; unmap it first");
    assert_ptr_equal(event, &state);
    assert_ok(ndr_buffer_unmap(queue, seen, host, NULL));
    run(prepared);
    assert_int_equal(first_of(seen), 1);
    ndr_prepared_destroy(prepared);
    ndr_buffer_destroy(seen);
}

/* A view shows what the memory holds after its buffer is destroyed. */
static void test_prepared__keeps_the_memory_of_a_buffer_that_is_destroyed(void **state)
{
    ndr_buffer *seen = zeros(1), *other = zeros(1), *view;
    assert_ok(ndr_buffer_create_view(seen, 0, sizeof(int), &view));
    ndr_prepared *prepared = prepare_plain(seen, 1);
    run(prepared);
    ndr_buffer_destroy(seen);
    run(prepared);
    assert_int_equal(first_of(view), 2);
    assert_ok(ndr_prepared_set(prepared, 0, ndr_arg_of(other)));
    destroy_buffers(view, other);
    run(prepared);
    assert_ok(ndr_queue_finish(queue));
    ndr_prepared_destroy(prepared);
}

static void test_prepared__refuses_null_and_the_queue_of_another_context(void **state)
{
    ndr_context *other;
    ndr_queue *line;
    ndr_buffer *seen = zeros(1);
    ndr_prepared *prepared = prepare_plain(seen, 1);
    assert_ok(ndr_context_create(NULL, &other));
    assert_ok(ndr_queue_create(other, NULL, &line));
    assert_refused(NDR_BAD_ARGUMENT, ndr_prepared_run(line, prepared, NULL),
                   "the launch of kernel \"plain\" was prepared in another context than the queue's");
    assert_refused(NDR_BAD_ARGUMENT, ndr_prepared_run(NULL, prepared, NULL), "ndr_prepared_run: queue is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_prepared_run(queue, NULL, NULL), "ndr_prepared_run: prepared is NULL");
    ndr_prepared_destroy(NULL);
    ndr_queue_destroy(line);
    ndr_context_destroy(other);
    ndr_prepared_destroy(prepared);
    ndr_buffer_destroy(seen);
}

static unsigned passing;

static cl_int refuse_to_set(cl_kernel cl, cl_uint index, size_t size_bytes, const void *value)
{
    return passing-- == 0 ? CL_OUT_OF_RESOURCES : clSetKernelArg(cl, index, size_bytes, value);
}

/* The driver fails at the fourth of eight pieces. */
static void test_prepared__is_refused_until_an_argument_is_set_that_the_driver_refused(void **state)
{
    enum { ITEMS = 3 * 5 * 7 };
    int got[ITEMS];
    ndr_buffer *seen = zeros(ITEMS);
    ndr_nd_range range = ndr_nd_range_3d(3, 5, 7, 2, 2, 2);
    range.edge = NDR_EDGE_SPLIT;
    ndr_prepared *prepared;
    assert_ok(ndr_prepare(kernel("count"), &prepared, range, seen, 1));
    const ndr_cl_functions real = ndr_cl;
    passing = 3;
    ndr_cl.clSetKernelArg = refuse_to_set;
    const ndr_status status = ndr_prepared_set(prepared, 1, ndr_arg_of(2));
    ndr_cl = real;
    assert_refused(NDR_DRIVER_ERROR, status, "argument 1 \"amount\" (int)", "clSetKernelArg", "CL_OUT_OF_RESOURCES");
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_prepared_run(queue, prepared, NULL),
                   "argument 1 \"amount\" (int) is not set, because OpenCL failed; set it again");
    assert_ok(ndr_prepared_set(prepared, 1, ndr_arg_of(2)));
    run(prepared);
    take_buffer(seen, got, sizeof got);
    for (int i = 0; i < ITEMS; ++i) assert_int_equal(got[i], 2);
    ndr_prepared_destroy(prepared);
}

/* ---- NDR_CHECK ---- */

static void test_prepared__is_checked_in_a_checked_context(void **state)
{
    ndr_context *checked;
    ndr_queue *line;
    ndr_kernel *k;
    ndr_buffer *seen, *gone;
    ndr_prepared *prepared;
    assert_ok(ndr_context_create_with(&(ndr_context_desc){ .check = NDR_CHECK_ON }, &checked));
    assert_ok(ndr_queue_create(checked, NULL, &line));
    assert_ok(ndr_kernel_get(checked, &(ndr_kernel_desc){ .name = "past_end", .source = source }, &k));
    assert_ok(ndr_buffer_create(checked, 10 * sizeof(int), &seen));
    assert_ok(ndr_buffer_create(checked, 10 * sizeof(int), &gone));
    assert_ok(ndr_prepare(k, &prepared, ndr_range_1d(1), seen, 9));
    assert_ok(ndr_prepared_run(line, prepared, NULL));
    assert_ok(ndr_prepared_set(prepared, 1, ndr_arg_of(10)));
    assert_refused(NDR_OUT_OF_BOUNDS, ndr_prepared_run(line, prepared, NULL), "kernel \"past_end\", argument 0 \"seen\" (int*)",
                   "wrote past the end of its buffer", "byte 40 (of element 10)", "global 1");
    ndr_buffer_destroy(gone);
    assert_refused(NDR_BAD_ARGUMENT, ndr_prepared_set(prepared, 0, ndr_arg_of(gone)), "argument 0 \"seen\"",
                   "is a buffer that has been destroyed");
    ndr_prepared_destroy(prepared);
    assert_refused(NDR_BAD_ARGUMENT, ndr_prepared_run(line, prepared, NULL),
                   "is a prepared launch that has been destroyed");
    ndr_buffer_destroy(seen);
    ndr_queue_destroy(line);
    ndr_context_destroy(checked);
}

/* ---- threads ---- */

typedef struct worker {
    pthread_t thread;
    ndr_queue *line;
    ndr_prepared *prepared;
    bool sets, failed;
} worker;

static void *work(void *argument)
{
    worker *w = argument;
    for (int i = 0; i < RUNS_EACH && !w->failed; ++i) {
        if (w->sets) w->failed = ndr_prepared_set(w->prepared, 1, ndr_arg_of(i % 2 ? 1 : 2)) != NDR_OK;
        w->failed |= ndr_prepared_run(w->line, w->prepared, NULL) != NDR_OK;
    }
    w->failed |= ndr_queue_finish(w->line) != NDR_OK;
    return NULL;
}

static int run_in_threads(bool sets)
{
    ndr_buffer *seen = zeros(1);
    ndr_prepared *prepared = prepare_plain(seen, 1);
    worker workers[THREADS];
    for (int i = 0; i < THREADS; ++i) {
        workers[i] = (worker){ .prepared = prepared, .sets = sets };
        assert_ok(ndr_queue_create(context, NULL, &workers[i].line));
    }
    for (int i = 0; i < THREADS; ++i)
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    for (int i = 0; i < THREADS; ++i) assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
    for (int i = 0; i < THREADS; ++i) {
        assert_false(workers[i].failed);
        ndr_queue_destroy(workers[i].line);
    }
    const int total = first_of(seen);
    ndr_prepared_destroy(prepared);
    ndr_buffer_destroy(seen);
    return total;
}

static void test_prepared__is_run_by_several_threads_at_once(void **state)
{
    skip_without(strcmp(device.platform, "Oclgrind") != 0, "Oclgrind simulates the kernels of one thread at a time");
    assert_int_equal(run_in_threads(false), THREADS * RUNS_EACH);
    const int total = run_in_threads(true); /* each run adds 1 or 2 */
    assert_in_range(total, THREADS * RUNS_EACH, 2 * THREADS * RUNS_EACH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_prepared__runs_many_times_with_each_kind_of_argument),
        cmocka_unit_test(test_prepared__keeps_its_arguments_whatever_else_the_kernel_runs_with),
        cmocka_unit_test(test_prepared__of_eight_pieces_runs_each_item_once),
        cmocka_unit_test(test_prepared__over_nothing_gives_an_event),
        cmocka_unit_test(test_prepared__runs_a_kernel_that_was_made_elsewhere),
        cmocka_unit_test(test_prepared__outlives_the_context_handle),
        cmocka_unit_test(test_prepared__refuses_what_a_launch_refuses),
        cmocka_unit_test(test_prepared__keeps_an_argument_if_another_is_refused),
        cmocka_unit_test(test_prepared__counts_all_local_memory_when_one_argument_changes),
        cmocka_unit_test(test_prepared__is_refused_while_the_host_has_a_buffer_mapped),
        cmocka_unit_test(test_prepared__keeps_the_memory_of_a_buffer_that_is_destroyed),
        cmocka_unit_test(test_prepared__refuses_null_and_the_queue_of_another_context),
        cmocka_unit_test(test_prepared__is_refused_until_an_argument_is_set_that_the_driver_refused),
        cmocka_unit_test(test_prepared__is_checked_in_a_checked_context),
        cmocka_unit_test(test_prepared__is_run_by_several_threads_at_once),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
