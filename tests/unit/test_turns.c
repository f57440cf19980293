/* test_turns.c - NDR_CHECK while other threads work: host tasks and threads that end events call all of libndr during a
 * checked launch, and the launch that wrote outside a buffer is named. */
#include "support.h"

#include <pthread.h>
#include <stdatomic.h>

#include "device/event.h"
#include "device/turns.h"

static const char kernels[] = "#include <ndr/reduction.clh>\n"
                              "kernel void put(global uchar *x, ulong at) { x[at] = 7; }\n"
                              "kernel void sum(global const int *x, NDR_REDUCTION(1, (SUM, int, s)))\n"
                              "{\n"
                              "    NDR_REDUCE(it, 1, s) NDR_COMBINE(s, x[ndr_global_id(it, 0)]);\n"
                              "}\n";

enum { BYTES = 100 };

static ndr_kernel *put, *sum;

static int open_checked(void **state)
{
    const ndr_context_desc desc = { .check = NDR_CHECK_ON };
    if (ndr_context_create_with(&desc, &context) != NDR_OK || ndr_queue_create(context, NULL, &queue) != NDR_OK
        || ndr_context_get_device(context, &device) != NDR_OK)
        return -1;
    return ndr_kernel_get(context, &(ndr_kernel_desc){ .name = "put", .source = kernels }, &put) != NDR_OK
           || ndr_kernel_get(context, &(ndr_kernel_desc){ .name = "sum", .source = kernels }, &sum) != NDR_OK;
}

static ndr_status put_at(ndr_queue *line, ndr_buffer *x, uint64_t at)
{
    return ndr_launch(line, put, ndr_range_1d(1), x, (cl_ulong)at);
}

/* ---- calls during a launch ---- */

typedef struct scene {
    ndr_queue *line, *other; /* in order; a launch of this thread waits in `line` */
    ndr_buffer *old, *x;
    ndr_event *gate;
    ndr_status (*call)(struct scene *scene);
} scene;

static ndr_status create(scene *s)
{
    ndr_buffer *made = NULL;
    const ndr_status status = ndr_buffer_create(context, BYTES, &made);
    ndr_buffer_destroy(made);
    return status;
}

static ndr_status destroy(scene *s)
{
    ndr_buffer_destroy(s->old);
    s->old = NULL;
    return NDR_OK;
}

static ndr_status launch(scene *s) { return put_at(s->other, s->x, 0); }

static ndr_status launch_behind_itself(scene *s) { return put_at(s->line, s->x, 0); }

static ndr_status map(scene *s)
{
    void *host;
    NDR_TRY(ndr_buffer_map(s->other, s->x, NDR_MAP_WRITE, 0, BYTES, &host));
    return ndr_buffer_unmap(s->other, s->x, host, NULL);
}

static ndr_status report(scene *s)
{
    char text[256];
    return ndr_context_get_check_report(context, sizeof text, text, NULL);
}

static ndr_status reduce_in(ndr_queue *line)
{
    ndr_buffer *in = NULL, *out = NULL;
    const int32_t ones[4] = { 1, 1, 1, 1 };
    ndr_status status = ndr_buffer_create_from(context, sizeof ones, ones, &in);
    if (status == NDR_OK) status = ndr_buffer_create(context, sizeof(int32_t), &out);
    if (status == NDR_OK)
        status = ndr_reduce(
            line,
            &(ndr_reduce_desc){ .dtype = NDR_DTYPE_I32, .op = NDR_OP_SUM, .input = { in, 0 }, .count = 4, .output = { out, 0 } },
            NULL);
    if (status == NDR_OK) status = ndr_launch(line, sum, ndr_range_1d(4), in, ndr_reducer(NDR_OP_SUM, 0, out, 0));
    destroy_buffers(in, out);
    return status;
}

static ndr_status reduce(scene *s) { return reduce_in(s->other); }

static ndr_status reduce_behind_itself(scene *s) { return reduce_in(s->line); }

static ndr_status (*const calls[])(scene *) = {
    create, destroy, launch, launch_behind_itself, map, report, reduce, reduce_behind_itself,
};

static scene open_scene(void)
{
    scene s = { .old = buffer_of(BYTES, NULL), .x = buffer_of(BYTES, NULL) };
    assert_ok(ndr_queue_create(context, NULL, &s.line));
    assert_ok(ndr_queue_create(context, NULL, &s.other));
    assert_ok(ndr_event_create(context, &s.gate));
    return s;
}

static void close_scene(scene *s)
{
    assert_ok(ndr_queue_finish(s->line));
    ndr_event_destroy(s->gate);
    destroy_buffers(s->old, s->x);
    ndr_queue_destroy(s->line);
    ndr_queue_destroy(s->other);
}

static ndr_status run_call(void *scene_)
{
    scene *s = scene_;
    return s->call(s);
}

static void test_turns__let_a_host_task_call_everything(void **state)
{
    for (size_t i = 0; i < NDR_COUNT_OF(calls); ++i)
        for (int reduces = 0; reduces < 2; ++reduces) {
            scene s = open_scene();
            ndr_event *task;
            ndr_buffer *mine = buffer_of(BYTES, NULL);
            s.call = calls[i];
            print_message("call %zu before %s\n", i, reduces ? "an operation" : "a launch");
            assert_ok(ndr_host_task(s.line, run_call, &s, &task));
            assert_ok(reduces ? reduce_in(s.line) : put_at(s.line, mine, 0));
            assert_ok(ndr_event_wait(task));
            ndr_event_destroy(task);
            ndr_buffer_destroy(mine);
            close_scene(&s);
        }
}

static void *call_and_open_gate(void *scene_)
{
    scene *s = scene_;
    const ndr_status status = s->call(s);
    return ndr_event_complete(s->gate) == NDR_OK && status == NDR_OK ? s : NULL;
}

static void test_turns__let_another_thread_call_everything_before_it_ends_an_event(void **state)
{
    for (size_t i = 0; i < NDR_COUNT_OF(calls); ++i) {
        scene s = open_scene();
        pthread_t thread;
        void *right;
        ndr_buffer *mine = buffer_of(BYTES, NULL);
        s.call = calls[i];
        if (calls[i] == launch_behind_itself || calls[i] == reduce_behind_itself) s.call = create;
        assert_int_equal(pthread_create(&thread, NULL, call_and_open_gate, &s), 0);
        assert_ok(put_at(NDR_QUEUE_(ndr_after(s.line, s.gate)), mine, 0));
        pthread_join(thread, &right);
        assert_ptr_equal(right, &s);
        ndr_buffer_destroy(mine);
        close_scene(&s);
    }
}

/* ---- who is named ---- */

typedef struct culprit {
    scene *s;
    ndr_status status;
    char sentence[1024];
} culprit;

static ndr_status write_outside(void *culprit_)
{
    culprit *c = culprit_;
    c->status = put_at(c->s->other, c->s->x, BYTES);
    snprintf(c->sentence, sizeof c->sentence, "%s", ndr_last_error());
    return NDR_OK;
}

static void test_turns__name_the_launch_of_a_host_task(void **state)
{
    scene s = open_scene();
    culprit c = { .s = &s };
    assert_ok(ndr_host_task(s.line, write_outside, &c, NULL));
    assert_ok(put_at(s.line, s.old, 0));
    assert_int_equal(c.status, NDR_OUT_OF_BOUNDS);
    assert_non_null(strstr(c.sentence, "past the end of its buffer (100 bytes"));
    assert_null(strstr(c.sentence, "may have written"));
    close_scene(&s);
}

static ndr_status write_outside_behind_itself(void *scene_)
{
    scene *s = scene_;
    return put_at(s->line, s->x, BYTES);
}

/* That launch cannot be waited for: it starts when the task has ended. */
static void test_turns__name_two_launches_if_one_was_not_waited_for(void **state)
{
    scene s = open_scene();
    ndr_event *task;
    assert_ok(ndr_host_task(s.line, write_outside_behind_itself, &s, &task));
    assert_ok(ndr_event_wait(task));
    assert_refused(NDR_OUT_OF_BOUNDS, put_at(s.line, s.old, 0), "a buffer that is not among its arguments",
                   "; launch ", ", of kernel \"put\", may have written there instead: a host task made it");
    assert_ok(put_at(s.line, s.old, 0));
    assert_refused(NDR_OUT_OF_BOUNDS, put_at(s.line, s.old, BYTES), "with the buffer's size");
    assert_null(strstr(ndr_last_error(), "may have written"));
    ndr_event_destroy(task);
    close_scene(&s);
}

/* ---- work that another thread enqueues just before a launch, behind what that has waited for ---- */

static __typeof__(clEnqueueNDRangeKernel) *real_enqueue;
static cl_event gate_before; /* NULL: the next launch is enqueued as usual */
static atomic_bool is_enqueued;

static cl_int CL_API_CALL enqueue_behind_gate(cl_command_queue line, cl_kernel kernel, cl_uint dims,
                                              const size_t *offset, const size_t *global, const size_t *local,
                                              cl_uint count, const cl_event *list, cl_event *event)
{
    cl_event gate = gate_before, mark = NULL;
    gate_before = NULL;
    cl_int error = gate ? clEnqueueMarkerWithWaitList(line, 1, &gate, &mark) : CL_SUCCESS;
    if (mark) clReleaseEvent(mark);
    if (error == CL_SUCCESS) error = real_enqueue(line, kernel, dims, offset, global, local, count, list, event);
    if (gate) atomic_store(&is_enqueued, true);
    return error;
}

static void *launch_then_open_gate(void *scene_)
{
    scene *s = scene_;
    while (!atomic_load(&is_enqueued)) ndr_thread_yield();
    const ndr_status status = put_at(s->other, s->x, BYTES);
    const bool is_right = status == NDR_OUT_OF_BOUNDS && strstr(ndr_last_error(), "its buffer (100 bytes")
                          && !strstr(ndr_last_error(), "may have written");
    return ndr_event_complete(s->gate) == NDR_OK && is_right ? s : NULL;
}

static void test_turns__go_to_others_while_a_launch_cannot_start(void **state)
{
    scene s = open_scene();
    pthread_t thread;
    void *right;
    atomic_store(&is_enqueued, false);
    gate_before = ndr_event_first(s.gate);
    real_enqueue = ndr_cl.clEnqueueNDRangeKernel;
    ndr_cl.clEnqueueNDRangeKernel = enqueue_behind_gate;
    assert_int_equal(pthread_create(&thread, NULL, launch_then_open_gate, &s), 0);
    const ndr_status status = put_at(s.line, s.old, BYTES);
    ndr_cl.clEnqueueNDRangeKernel = real_enqueue;
    assert_refused(NDR_OUT_OF_BOUNDS, status, "argument 0 \"x\"", "its buffer (100 bytes");
    assert_null(strstr(ndr_last_error(), "may have written"));
    pthread_join(thread, &right);
    assert_ptr_equal(right, &s);
    close_scene(&s);
}

/* ---- a host task between a reduction's workspace and its launch ---- */

static __typeof__(clSetKernelArg) *real_set;
static scene *task_scene; /* NULL: the task is enqueued */

static cl_int CL_API_CALL enqueue_task_and_set(cl_kernel kernel, cl_uint index, size_t bytes, const void *value)
{
    scene *const s = task_scene;
    task_scene = NULL;
    if (s) assert_ok(ndr_host_task(s->line, run_call, s, NULL));
    return real_set(kernel, index, bytes, value);
}

static void test_turns__a_host_task_needs_no_workspace_that_is_lent(void **state)
{
    scene s = open_scene();
    ndr_buffer *ones = buffer_of(sizeof(int32_t[4]), (const int32_t[4]){ 1, 1, 1, 1 });
    ndr_buffer *out = buffer_of(sizeof(int32_t), NULL);
    int32_t got = 0;
    s.call = reduce_behind_itself;
    task_scene = &s;
    real_set = ndr_cl.clSetKernelArg, ndr_cl.clSetKernelArg = enqueue_task_and_set;
    const ndr_status status = ndr_launch(s.line, sum, ndr_range_1d(4), ones, ndr_reducer(NDR_OP_SUM, 0, out, 0));
    ndr_cl.clSetKernelArg = real_set;
    assert_null(task_scene);
    assert_ok(status);
    assert_ok(ndr_buffer_read(s.line, out, 0, sizeof got, &got, NULL));
    assert_int_equal(got, 4);
    destroy_buffers(ones, out);
    close_scene(&s);
}

/* ---- long waits ---- */

static char logged[1024]; /* the first warning that contains `user` */
static atomic_bool is_warned;

static void keep_warning(ndr_log_level level, const char *id, const char *text, void *user)
{
    if (level != NDR_LOG_WARN || !strstr(text, user) || atomic_load(&is_warned)) return;
    snprintf(logged, sizeof logged, "%s: %s", id, text);
    atomic_store(&is_warned, true);
}

static void listen_for(char *part)
{
    atomic_store(&is_warned, false);
    logged[0] = '\0';
    assert_ok(ndr_log_set(NDR_LOG_WARN, keep_warning, part));
}

static void test_turns__warn_of_a_kernel_that_does_not_end(void **state)
{
    ndr_buffer *x = buffer_of(sizeof(int32_t), &(int32_t){ 0 });
    ndr_kernel *spin = kernel_of(plain_kernels, "spin");
    const int64_t usual = ndr_long_wait_ns;
    listen_for("for the launch");
    ndr_long_wait_ns = 0;
    for (int32_t turns = 1 << 16; !atomic_load(&is_warned) && turns < 1 << 30; turns *= 2)
        assert_ok(ndr_launch(queue, spin, ndr_nd_range_1d(1, 1), x, turns));
    ndr_long_wait_ns = usual;
    assert_ok(ndr_log_set(NDR_LOG_DEFAULT, NULL, NULL));
    assert_string_equal(logged, "check.waiting: NDR_CHECK has waited 0 s for the launch of kernel \"spin\" to end, and "
                                "goes on waiting; look for a loop in it that does not end");
    ndr_buffer_destroy(x);
}

static void *open_gate_after_warning(void *gate)
{
    while (!atomic_load(&is_warned)) ndr_thread_yield();
    return ndr_event_complete(gate) == NDR_OK ? gate : NULL;
}

static void test_turns__warn_of_an_event_that_nobody_ends(void **state)
{
    scene s = open_scene();
    pthread_t thread;
    void *right;
    const int64_t usual = ndr_long_wait_ns;
    listen_for("to launch");
    ndr_long_wait_ns = 0;
    assert_int_equal(pthread_create(&thread, NULL, open_gate_after_warning, s.gate), 0);
    const ndr_status status = put_at(NDR_QUEUE_(ndr_after(s.line, s.gate)), s.x, 0);
    pthread_join(thread, &right);
    ndr_long_wait_ns = usual;
    assert_ok(ndr_log_set(NDR_LOG_DEFAULT, NULL, NULL));
    assert_ok(status);
    assert_ptr_equal(right, s.gate);
    assert_string_equal(logged, "check.waiting: NDR_CHECK has waited 0 s to launch kernel \"put\", until the work before "
                                "it has ended, and goes on waiting; look for an event of ndr_event_create() that "
                                "nobody ends, or that this thread ends later");
    close_scene(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_turns__let_a_host_task_call_everything),
        cmocka_unit_test(test_turns__let_another_thread_call_everything_before_it_ends_an_event),
        cmocka_unit_test(test_turns__name_the_launch_of_a_host_task),
        cmocka_unit_test(test_turns__name_two_launches_if_one_was_not_waited_for),
        cmocka_unit_test(test_turns__go_to_others_while_a_launch_cannot_start),
        cmocka_unit_test(test_turns__a_host_task_needs_no_workspace_that_is_lent),
        cmocka_unit_test(test_turns__warn_of_a_kernel_that_does_not_end),
        cmocka_unit_test(test_turns__warn_of_an_event_that_nobody_ends),
    };
    return cmocka_run_group_tests(tests, open_checked, close_device);
}
