/* test_task.c - functions of the host: tasks between commands, and callbacks of events. */
#include "driver_faults.h"

#include <pthread.h>

#include "base/base.h"

enum { INTS = 64, BYTES = INTS * sizeof(int32_t) };

static const int32_t zeros[INTS];

/* ---- waiting for functions: the test ends after them ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int calls;

static void count_call(void)
{
    pthread_mutex_lock(&lock);
    ++calls;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static void wait_for_calls(int wanted)
{
    pthread_mutex_lock(&lock);
    while (calls < wanted) pthread_cond_wait(&changed, &lock);
    assert_int_equal(calls, wanted);
    calls = 0;
    pthread_mutex_unlock(&lock);
}

/* ---- tasks ---- */

typedef struct work {
    ndr_buffer *x;
    int32_t seen;
    bool enqueues;
    pthread_t thread;
} work;

/* Reads x, adds 10 to its first element. Waits and enqueues on a queue of its own. */
static ndr_status add_ten(void *work_)
{
    work *w = work_;
    ndr_queue *own;
    w->thread = pthread_self();
    ndr_status status = ndr_queue_create(context, NULL, &own);
    if (status == NDR_OK) status = ndr_buffer_read(own, w->x, 0, sizeof w->seen, &w->seen, NULL);
    const int32_t sum = w->seen + 10;
    if (status == NDR_OK) status = ndr_buffer_write(own, w->x, 0, sizeof sum, &sum, NULL);
    ndr_queue_destroy(own);
    count_call();
    return status;
}

static int32_t first_of(ndr_buffer *x)
{
    int32_t first = -1;
    assert_ok(ndr_buffer_read(queue, x, 0, sizeof first, &first, NULL));
    return first;
}

static void test_task__runs_between_commands(void **state)
{
    ndr_kernel *add_one = kernel_of(plain_kernels, "add_one");
    for (int i = 0; i < 20; ++i) {
        work w = { .x = buffer_of(BYTES, zeros) };
        ndr_event *done = NULL;
        assert_ok(ndr_launch(queue, add_one, ndr_range_1d(INTS), w.x));
        assert_ok(ndr_host_task(queue, add_ten, &w, i % 2 ? &done : NULL));
        assert_ok(ndr_launch(queue, add_one, ndr_range_1d(INTS), w.x));
        assert_int_equal(first_of(w.x), 12);
        assert_int_equal(w.seen, 1);
        assert_false(pthread_equal(w.thread, pthread_self()));
        if (done) assert_ok(ndr_event_wait(done));
        wait_for_calls(1);
        ndr_event_destroy(done);
        ndr_buffer_destroy(w.x);
    }
}

static ndr_status only_count(void *unused)
{
    count_call();
    return NDR_OK;
}

/* The task's thread may begin to wait after this one. */
static void test_task__runs_while_this_thread_finishes_the_queue(void **state)
{
    enum { TASKS = 20 };
    for (int i = 0; i < TASKS; ++i) {
        assert_ok(ndr_host_task(queue, only_count, NULL, NULL));
        assert_ok(ndr_queue_finish(queue));
    }
    wait_for_calls(TASKS);
}

static void test_task__waits_for_events_in_a_queue_out_of_order(void **state)
{
    ndr_queue *line = NULL;
    const ndr_status made = ndr_queue_create(context, &(ndr_queue_desc){ .is_out_of_order = true }, &line);
    skip_without(made != NDR_UNSUPPORTED, "the device has no out-of-order queues");
    assert_ok(made);
    ndr_kernel *add_one = kernel_of(plain_kernels, "add_one");
    work w = { .x = buffer_of(BYTES, zeros) };
    ndr_event *first, *task, *second;
    assert_ok(ndr_launch_event(line, add_one, &first, ndr_range_1d(INTS), w.x));
    assert_ok(ndr_host_task(ndr_after(line, first), add_ten, &w, &task));
    assert_ok(ndr_launch_event(ndr_after(line, task), add_one, &second, ndr_range_1d(INTS), w.x));
    assert_ok(ndr_event_wait(second));
    assert_int_equal(first_of(w.x), 12);
    wait_for_calls(1);
    ndr_event *const all[] = { first, task, second };
    for (int i = 0; i < 3; ++i) ndr_event_destroy(all[i]);
    ndr_buffer_destroy(w.x);
    ndr_queue_destroy(line);
}

static ndr_status fail_by_itself(void *unused)
{
    count_call();
    return ndr_fail(NDR_NOT_FOUND, "there is no such row");
}

static ndr_status fail_without_a_sentence(void *unused)
{
    count_call();
    return NDR_BAD_RANGE;
}

static void test_task__that_fails_without_a_sentence_has_its_status_named(void **state)
{
    ndr_queue *line;
    ndr_event *task;
    assert_ok(ndr_queue_create(context, NULL, &line));
    assert_ok(ndr_host_task(line, fail_without_a_sentence, NULL, &task));
    wait_for_calls(1);
    assert_refused(NDR_BAD_RANGE, ndr_event_wait(task), "a function of ndr_host_task() failed: NDR_BAD_RANGE");
    assert_refused(NDR_BAD_RANGE, ndr_queue_finish(line), "NDR_BAD_RANGE");
    ndr_event_destroy(task);
    ndr_queue_destroy(line);
}

static void test_task__that_fails_fails_what_is_behind_it(void **state)
{
    skip_where_launches_are_waited_for();
    ndr_queue *line;
    ndr_event *task, *behind;
    ndr_kernel *add_one = kernel_of(plain_kernels, "add_one");
    ndr_buffer *x = buffer_of(BYTES, zeros);
    assert_ok(ndr_queue_create(context, NULL, &line));
    assert_ok(ndr_host_task(line, fail_by_itself, NULL, &task));
    const ndr_status enqueued = ndr_launch_event(ndr_after(line, task), add_one, &behind, ndr_range_1d(INTS), x);
    wait_for_calls(1);
    assert_refused(NDR_NOT_FOUND, ndr_event_wait(task), "a function of ndr_host_task() failed: there is no such row");
    if (enqueued == NDR_OK) { /* else the task had failed before */
        assert_refused(NDR_NOT_FOUND, ndr_event_wait(behind), "because work before it did: a function of ndr_host_task() "
                       "failed: there is no such row");
        ndr_event_destroy(behind);
    }
    assert_refused(NDR_NOT_FOUND, ndr_queue_finish(line), "there is no such row");
    if (!driver_completes_failed_work()) assert_int_equal(first_of(x), 0);
    ndr_event_destroy(task);
    ndr_buffer_destroy(x);
    ndr_queue_destroy(line);
}

static void test_task__is_not_called_behind_failed_work(void **state)
{
    skip_where_launches_are_waited_for();
    ndr_queue *line;
    ndr_event *gate, *task;
    assert_ok(ndr_queue_create(context, NULL, &line));
    assert_ok(ndr_event_create(context, &gate));
    assert_ok(ndr_host_task(ndr_after(line, gate), fail_by_itself, NULL, &task));
    assert_ok(ndr_event_fail(gate, NDR_BAD_RANGE, "too far"));
    assert_refused(NDR_BAD_RANGE, ndr_event_wait(task), "too far");
    assert_refused(NDR_BAD_RANGE, ndr_queue_finish(line), "too far");
    wait_for_calls(0);
    ndr_event_destroy(gate);
    ndr_event_destroy(task);
    ndr_queue_destroy(line);
}

/* ---- callbacks ---- */

typedef struct ending {
    ndr_status status;
    char sentence[256];
    ndr_event *event; /* to destroy */
} ending;

static void test_task__a_chain_of_tasks_names_the_first_failure_once(void **state)
{
    enum { TASKS = 20 };
    ndr_event *gate, *last = NULL;
    skip_where_launches_are_waited_for();
    assert_ok(ndr_event_create(context, &gate));
    for (int i = 0; i < TASKS; ++i) {
        ndr_event *const before = i == 0 ? gate : last;
        ndr_queue *line;
        assert_ok(ndr_queue_create(context, NULL, &line));
        assert_ok(ndr_host_task(ndr_after(line, before), only_count, NULL, &last));
        ndr_queue_destroy(line);
        if (i > 0) ndr_event_destroy(before);
    }
    assert_ok(ndr_event_fail(gate, NDR_NOT_FOUND, "lost"));
    assert_refused(NDR_NOT_FOUND, ndr_event_wait(last), "lost");
    assert_string_equal(ndr_last_error(), "the work was enqueued, but failed because work before it did: lost");
    ndr_event_destroy(last);
    ndr_event_destroy(gate);
}

static void note_end(ndr_status status, const char *sentence, void *ending_)
{
    ending *e = ending_;
    e->status = status;
    snprintf(e->sentence, sizeof e->sentence, "%s", sentence);
    ndr_event_destroy(e->event);
    count_call();
}

static void test_task__callback_tells_how_work_ended(void **state)
{
    enum { EVENTS = 37 };
    ndr_event *gates[EVENTS];
    ending ends[EVENTS];
    for (int i = 0; i < EVENTS; ++i) {
        assert_ok(ndr_event_create(context, &gates[i]));
        ends[i] = (ending){ .status = (ndr_status)-1 };
        if (i % 3 == 0) ends[i].event = gates[i]; /* the callback destroys it */
        assert_ok(ndr_event_set_callback(gates[i], note_end, &ends[i]));
    }
    for (int i = 0; i < EVENTS; ++i)
        assert_ok(i % 2 ? ndr_event_complete(gates[i]) : ndr_event_fail(gates[i], NDR_NOT_FOUND, "even"));
    wait_for_calls(EVENTS);
    for (int i = 0; i < EVENTS; ++i) {
        assert_int_equal(ends[i].status, i % 2 ? NDR_OK : NDR_NOT_FOUND);
        assert_string_equal(ends[i].sentence, i % 2 ? "" : "even");
        if (i % 3) ndr_event_destroy(gates[i]);
    }
}

static void test_task__callback_of_work_that_has_ended_is_called_too(void **state)
{
    ndr_event *done;
    ending end = { .status = (ndr_status)-1 };
    assert_ok(ndr_queue_mark(queue, &done));
    assert_ok(ndr_event_wait(done));
    assert_ok(ndr_event_set_callback(done, note_end, &end));
    wait_for_calls(1);
    assert_int_equal(end.status, NDR_OK);
    ndr_event_destroy(done);
}

static void test_task__refuses_null(void **state)
{
    ndr_event *event = NULL;
    assert_refused(NDR_BAD_ARGUMENT, ndr_host_task(NULL, add_ten, NULL, &event), "ndr_host_task", "queue is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_host_task(queue, NULL, NULL, &event), "function is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_event_set_callback(NULL, note_end, NULL), "event is NULL");
    assert_ok(ndr_queue_mark(queue, &event));
    assert_refused(NDR_BAD_ARGUMENT, ndr_event_set_callback(event, NULL, NULL), "callback is NULL");
    ndr_event_destroy(event);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_task__runs_between_commands),
        cmocka_unit_test(test_task__runs_while_this_thread_finishes_the_queue),
        cmocka_unit_test(test_task__waits_for_events_in_a_queue_out_of_order),
        cmocka_unit_test(test_task__that_fails_without_a_sentence_has_its_status_named),
        cmocka_unit_test(test_task__that_fails_fails_what_is_behind_it),
        cmocka_unit_test(test_task__is_not_called_behind_failed_work),
        cmocka_unit_test(test_task__a_chain_of_tasks_names_the_first_failure_once),
        cmocka_unit_test(test_task__callback_tells_how_work_ended),
        cmocka_unit_test(test_task__callback_of_work_that_has_ended_is_called_too),
        cmocka_unit_test(test_task__refuses_null),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
