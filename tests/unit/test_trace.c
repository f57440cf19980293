/* test_trace.c - traces: what the table and the timeline say of known work, what is refused, and failures meanwhile. */
#include "support.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device/buffer.h"
#include "device/context.h"
#include "device/queue.h"
#include "device/submit.h"
#include "device/trace.h"
#include "launch/launch.h"
#include "ndr/ndr_cl.h"

#include "traces.h"

/* ---- known work ---- */

static ndr_kernel *add_one(void)
{
    ndr_kernel *kernel;
    assert_ok(ndr_kernel_get(
        traced, &(ndr_kernel_desc){ .name = "add_one", .source = plain_kernels, .label = "a \"b\".cl" }, &kernel));
    return kernel;
}

enum { ITEMS = 64, BYTES = ITEMS * sizeof(int), LAUNCHES = 200 };

static void do_known_work(void)
{
    ndr_kernel *kernel = add_one();
    ndr_buffer *x, *y;
    int host[ITEMS] = { 0 };
    assert_ok(ndr_buffer_create(traced, BYTES, &x));
    assert_ok(ndr_buffer_create(traced, BYTES, &y));
    assert_ok(ndr_buffer_fill(line, x, 0, BYTES, &host[0], sizeof host[0], NULL));
    for (int i = 0; i < LAUNCHES; ++i) assert_ok(ndr_launch(line, kernel, ndr_range_1d(ITEMS), x));
    ndr_event *copied;
    assert_ok(ndr_buffer_copy(line, x, 0, y, 0, BYTES, &copied));
    assert_ok(ndr_event_wait_within(copied, UINT64_C(1000000000000)));
    ndr_event_destroy(copied);
    assert_ok(ndr_queue_finish(line));
    assert_ok(ndr_buffer_read(line, y, 0, BYTES, host, NULL));
    for (int i = 0; i < ITEMS; ++i) assert_int_equal(host[i], LAUNCHES);
    destroy_buffers(x, y);
}

static void test_trace__counts_commands_in_a_table(void **state)
{
    open_traced(NULL);
    do_known_work();
    assert_string_equal(table, "");
    close_traced();
    check_row("add_one", LAUNCHES);
    check_row("copy", 1);
    check_row("fill", 1);
    check_row("read", 1);
    assert_non_null(strstr(table, "Medians are within 3.2 %."));
    assert_non_null(strstr(table, "of the host's.\n"));
    assert_null(strstr(table, "commands"));
    assert_null(strstr(table, "records"));
}

static void test_trace__writes_a_timeline(void **state)
{
    open_traced("known.json");
    do_known_work();
    close_traced();
    read_slices("known.json", "");
    assert_int_equal(count_slices("kernel", "add_one"), LAUNCHES);
    assert_int_equal(count_slices("kernel", NULL), LAUNCHES);
    assert_int_equal(count_slices("transfer", NULL), 3);
    assert_int_equal(count_slices("enqueue", NULL), LAUNCHES + 3);
    assert_int_equal(find_slice("transfer", "copy")->bytes, BYTES);
    assert_int_equal(find_slice("transfer", "read")->bytes, BYTES);
    assert_int_equal(find_slice("enqueue", "fill")->bytes, BYTES);
    assert_int_equal(count_slices("wait", "finish"), 1);
    assert_int_equal(count_slices("wait", "wait with a limit"), 1);
    const slice *build = find_slice("build", "a \\");
    assert_true(strcmp(build->result, "compiled") == 0 || strcmp(build->result, "from disk") == 0);
    assert_true(row_names >= 2); /* this thread, and the queue */
}

/* The device's times lie between the call that enqueued the work and the end of the wait for it. */
static void test_trace__maps_the_devices_times_to_the_hosts(void **state)
{
    open_traced("mapped.json");
    do_known_work();
    close_traced();
    const char *note = strstr(table, "times are within ");
    assert_non_null(note);
    const double error_us = strtod(note + 17, NULL) + 0.2; /* printed with one digit */
    assert_true(error_us > 0);
    read_slices("mapped.json", "");
    const slice *fill = find_slice("enqueue", "fill"), *finish = find_slice("wait", "finish");
    double end_us = 0;
    for (const slice *s = slices; s < slices + slice_count; ++s) {
        if (strcmp(s->category, "kernel") != 0) continue;
        assert_true(s->start_us >= fill->start_us - error_us);
        assert_true(s->start_us + s->time_us <= finish->start_us + finish->time_us + error_us);
        assert_int_not_equal(s->group, fill->group);
        end_us = s->start_us + s->time_us;
    }
    assert_true(end_us > 0);
}

static void test_trace__numbers_commands(void **state)
{
    open_traced("numbers.json");
    ndr_kernel *plane;
    ndr_buffer *x;
    static const char source[] = "kernel void plane(global int *x)\n"
                                 "{ x[32 * get_global_id(1) + get_global_id(0)] = 1; }\n";
    assert_ok(ndr_kernel_get(traced, &(ndr_kernel_desc){ .name = "plane", .source = source }, &plane));
    assert_ok(ndr_buffer_create_from(traced, BYTES, (int[ITEMS]){ 0 }, &x));
    assert_ok(ndr_launch(line, plane, ndr_nd_range_2d(2, 32, 1, 8), x));
    assert_ok(ndr_launch(line, add_one(), ndr_range_1d(ITEMS), x));
    ndr_buffer_destroy(x);
    close_traced();
    read_slices("numbers.json", "");
    size_t commands = 0;
    for (const slice *s = slices; s < slices + slice_count; ++s) {
        if (strcmp(s->category, "kernel") != 0 && strcmp(s->category, "transfer") != 0) continue;
        assert_int_equal(s->command, find_slice("enqueue", s->name)->command);
        assert_in_range(s->command, 1, slice_count);
        ++commands;
    }
    assert_true(commands >= 2);
    assert_string_equal(find_slice("enqueue", "plane")->global, "2,32");
    assert_string_equal(find_slice("enqueue", "plane")->local, "1,8");
    assert_string_equal(find_slice("enqueue", "add_one")->global, "64");
}

/* In one row nothing overlaps, except in the eighth, which takes the rest; times are printed in ns. */
static void test_trace__shows_a_queue_as_rows_without_overlap(void **state)
{
    open_traced("rows.json");
    do_known_work();
    close_traced();
    read_slices("rows.json", "");
    for (const slice *a = slices; a < slices + slice_count; ++a)
        for (const slice *b = a + 1; b < slices + slice_count && a->group > 1; ++b)
            if (b->group == a->group && b->row == a->row && a->row % 8 != 7)
                assert_true(b->start_us + 0.0005 >= a->start_us + a->time_us);
}

static void test_trace__numbers_queues_and_contexts(void **state)
{
    ndr_context *other;
    ndr_queue *second, *third;
    ndr_event *mark;
    open_traced("queues.json");
    assert_ok(ndr_context_create_with(&unchecked, &other));
    assert_ok(ndr_queue_create(traced, NULL, &second));
    assert_ok(ndr_queue_create(other, NULL, &third));
    ndr_queue *const all[] = { line, second, third };
    for (size_t i = 0; i < 3; ++i) {
        assert_ok(ndr_queue_mark(all[i], &mark));
        assert_ok(ndr_event_wait(mark));
        ndr_event_destroy(mark);
    }
    ndr_queue_destroy(second);
    ndr_queue_destroy(third);
    ndr_context_destroy(other);
    assert_string_equal(table, "");
    close_traced();
    check_row("marker", 3);
    read_slices("queues.json", "");
    assert_int_equal(count_slices("order", "marker"), 3);
    assert_int_equal(count_slices("wait", "wait"), 3);
    size_t rows = 0, groups = 0;
    for (const slice *a = slices; a < slices + slice_count; ++a) {
        bool is_new_row = strcmp(a->category, "order") == 0, is_new_group = is_new_row;
        for (const slice *b = slices; b < a; ++b) {
            if (b->group == a->group) is_new_group = false;
            if (b->group == a->group && b->row == a->row) is_new_row = false;
        }
        rows += is_new_row;
        groups += is_new_group;
    }
    assert_int_equal(rows, 3);
    assert_int_equal(groups, 2);
}

static void test_trace__tells_the_bytes_of_rectangles(void **state)
{
    open_traced("rectangles.json");
    ndr_buffer *x;
    int host[ITEMS] = { 0 };
    const size_t at[3] = { 0 }, extent[3] = { 12, 3, 1 };
    cl_event done;
    assert_ok(ndr_buffer_create_from(traced, BYTES, host, &x));
    const ndr_cl_side side = { .cl = x->cl, .pitch = { 16, 64 } };
    assert_memory_equal(side.origin, at, sizeof at);
    ndr_transfer t = { .work = NDR_WORK_WRITE_RECT, .from = side, .to = side, .source = host, .target = host };
    memcpy(t.extent, extent, sizeof extent);
    assert_ok(ndr_submit(&(ndr_submission){ .queue = line->cl }, &t));
    t.work = NDR_WORK_READ_RECT;
    assert_ok(ndr_submit(&(ndr_submission){ .queue = line->cl, .done = &done }, &t));
    assert_int_equal(clWaitForEvents(1, &done), CL_SUCCESS);
    clReleaseEvent(done);
    ndr_buffer_destroy(x);
    close_traced();
    read_slices("rectangles.json", "");
    assert_int_equal(find_slice("transfer", "write")->bytes, 36);
    assert_int_equal(find_slice("transfer", "read")->bytes, 36);
    assert_int_equal(find_slice("enqueue", "read")->bytes, 36);
}

static void test_trace__tells_the_bytes_of_images(void **state)
{
    cl_bool has_images = CL_FALSE;
    assert_int_equal(clGetDeviceInfo(context->device, CL_DEVICE_IMAGE_SUPPORT, sizeof has_images, &has_images, NULL),
                     CL_SUCCESS);
    skip_without(has_images, "the device has no images");
    open_traced("images.json");
    static float values[7 * 5 * 4];
    ndr_image *from, *to;
    ndr_mapped_part mapped;
    ndr_image_desc desc = { .format = { NDR_CHANNELS_RGBA, NDR_CHANNEL_F32 }, .size = ndr_range_2d(7, 5) };
    const ndr_image_part part = { .extent = ndr_range_2d(2, 3) };
    assert_ok(ndr_image_create(traced, &desc, &from));
    assert_ok(ndr_image_create(traced, &desc, &to));
    assert_ok(ndr_image_write(line, from, NULL, values, NULL));
    assert_ok(ndr_image_fill(line, to, NULL, values, NULL));
    assert_ok(ndr_image_copy(line, from, &part, to, NULL, NULL));
    assert_ok(ndr_image_read(line, to, &part, values, NULL));
    assert_ok(ndr_image_map(line, to, NDR_MAP_READ, &part, &mapped));
    assert_ok(ndr_image_unmap(line, to, mapped.host, NULL));
    ndr_image_destroy(from);
    ndr_image_destroy(to);
    close_traced();
    read_slices("images.json", "");
    assert_int_equal(find_slice("transfer", "write image")->bytes, 7 * 5 * 16);
    assert_int_equal(find_slice("transfer", "fill image")->bytes, 7 * 5 * 16);
    assert_int_equal(find_slice("transfer", "copy image")->bytes, 2 * 3 * 16);
    assert_int_equal(find_slice("transfer", "read image")->bytes, 2 * 3 * 16);
    assert_int_equal(find_slice("transfer", "map image")->bytes, 2 * 3 * 16);
}

static void test_trace__waits_for_the_work_of_a_context_that_ends(void **state)
{
    enum { MARKS = 100 };
    open_traced("unfinished.json");
    ndr_kernel *spin;
    ndr_buffer *x;
    assert_ok(ndr_kernel_get(traced, &(ndr_kernel_desc){ .name = "spin", .source = plain_kernels }, &spin));
    assert_ok(ndr_buffer_create_from(traced, BYTES, (int[ITEMS]){ 0 }, &x));
    assert_ok(ndr_launch(line, spin, ndr_nd_range_1d(ITEMS, 1), x, quick() ? 100 : 1000000));
    for (int i = 0; i < MARKS; ++i) assert_ok(ndr_submit(&(ndr_submission){ .queue = line->cl }, &ndr_marker));
    ndr_buffer_destroy(x);
    close_traced();
    check_row("spin", 1);
    check_row("marker", MARKS);
    read_slices("unfinished.json", "");
    assert_int_equal(count_slices("order", "marker"), MARKS);
}

/* ---- regions and operations ---- */

static void test_trace__shows_operations_with_their_row(void **state)
{
    enum { N = 4097, M = 8 };
    open_traced("operations.json");
    ndr_buffer *in, *out;
    float *ones = malloc(N * sizeof *ones);
    for (int i = 0; i < N; ++i) ones[i] = 1;
    assert_ok(ndr_buffer_create_from(traced, N * sizeof *ones, ones, &in));
    assert_ok(ndr_buffer_create(traced, N * sizeof *ones, &out));
    free(ones);
    const ndr_reduce_desc sum = {
        .dtype = NDR_DTYPE_F32, .op = NDR_OP_SUM, .input = { in, 0 }, .count = N, .output = { out, 0 }
    };
    for (int i = 0; i < 3; ++i) assert_ok(ndr_reduce(line, &sum, NULL));
    assert_ok(ndr_matmul(
        line,
        &(ndr_matmul_desc){
            .dtype = NDR_DTYPE_F32, .a = { in, 0, M, M, 0 }, .b = { in, M * M, M, M, 0 }, .c = { out, 0, M, M, 0 } },
        NULL));
    destroy_buffers(in, out);
    close_traced();
    read_slices("operations.json", "");
    size_t reductions = 0, products = 0, inside = 0;
    for (const slice *s = slices; s < slices + slice_count; ++s) {
        inside += strcmp(s->category, "kernel") == 0 && strlen(s->in) > 0;
        if (strcmp(s->category, "region") != 0) continue;
        if (strncmp(s->name, "reduce ", 7) == 0 && ++reductions) {
            assert_int_equal(s->bytes, (N + 1) * sizeof(float));
            assert_int_equal(s->flops, N - 1);
            if (reductions == 1) check_row(s->name, 3);
        }
        if (strncmp(s->name, "matmul ", 7) == 0 && ++products) {
            assert_int_equal(s->bytes, 3 * M * M * sizeof(float));
            assert_int_equal(s->flops, 2 * M * M * M);
            check_row(s->name, 1);
        }
    }
    assert_int_equal(reductions, 3);
    assert_int_equal(products, 1);
    assert_true(inside >= 4);
    assert_int_equal(inside, count_slices("kernel", NULL));
}

static void test_trace__shows_regions_within_regions(void **state)
{
    open_traced("regions.json");
    ndr_kernel *kernel = add_one();
    ndr_buffer *x;
    assert_ok(ndr_buffer_create_from(traced, BYTES, (int[ITEMS]){ 0 }, &x));
    for (int step = 0; step < 5; ++step) {
        ndr_trace_begin("step \"\\ 1\"", 1000000, 0);
        assert_ok(ndr_launch(line, kernel, ndr_range_1d(ITEMS), x));
        for (int i = 0; i < 2; ++i) {
            ndr_trace_begin("inner", 0, 0);
            assert_ok(ndr_launch(line, kernel, ndr_range_1d(ITEMS), x));
            ndr_trace_end();
        }
        ndr_trace_end();
    }
    ndr_trace_begin(NULL, 5, 5); /* without commands */
    ndr_trace_end();
    ndr_trace_end(); /* there is none */
    ndr_trace_begin("left open", 0, 0);
    ndr_buffer_destroy(x);
    close_traced();
    check_row("add_one", 15);
    check_row("inner", 10);
    check_row("step \"\\ 1\"", 5);
    assert_null(strstr(table, "\nregion  "));
    assert_null(strstr(table, "left open"));
    read_slices("regions.json", "");
    assert_int_equal(count_slices("region", NULL), 5 + 10 + 1);
    assert_int_equal(count_slices("region", "inner"), 10);
    size_t inner = 0, outer = 0;
    for (const slice *s = slices; s < slices + slice_count; ++s) {
        inner += strcmp(s->category, "kernel") == 0 && strcmp(s->in, "inner") == 0;
        outer += strcmp(s->category, "kernel") == 0 && strncmp(s->in, "step ", 5) == 0;
    }
    assert_int_equal(inner, 10);
    assert_int_equal(outer, 5);
    ndr_trace_end(); /* of a trace that is over */
    ndr_trace_begin("no trace", 0, 0);
    ndr_trace_end();
}

/* ---- what does not change ---- */

static void test_trace__does_not_give_queues_times_for_the_user(void **state)
{
    open_traced(NULL);
    ndr_event *mark;
    uint64_t ns;
    assert_ok(ndr_queue_mark(line, &mark));
    assert_refused(NDR_BAD_ARGUMENT, ndr_event_elapsed_ns(mark, &ns), "the queue keeps no times", "profiling");
    ndr_event_destroy(mark);
    close_traced();
}

static void test_trace__counts_commands_of_foreign_queues_without_times(void **state)
{
    cl_int error;
    ndr_queue *foreign;
    ndr_event *mark;
    open_traced("foreign.json");
    cl_command_queue cl = clCreateCommandQueue(traced->cl, traced->device, 0, &error);
    assert_int_equal(error, CL_SUCCESS);
    assert_ok(ndr_queue_from_cl(traced, cl, &foreign));
    assert_ok(ndr_queue_mark(foreign, &mark));
    assert_ok(ndr_queue_finish(foreign));
    ndr_event_destroy(mark);
    ndr_queue_destroy(foreign);
    clReleaseCommandQueue(cl);
    close_traced();
    assert_non_null(strstr(table, "1 commands have no times and are not counted.\n"));
    read_slices("foreign.json", "");
    assert_int_equal(count_slices("enqueue", "marker"), 1);
    assert_int_equal(count_slices("transfer", NULL), 0);
}

static void test_trace__leaves_earlier_and_later_contexts_alone(void **state)
{
    ndr_event *mark;
    open_traced("alone.json");
    assert_ok(ndr_queue_mark(queue, &mark)); /* of a context that was there before */
    ndr_event_destroy(mark);
    close_traced();
    read_slices("alone.json", "");
    assert_int_equal(slice_count, 0);
    assert_null(strstr(table, "marker"));
    table[0] = '\0';
    assert_ok(ndr_context_create_with(&unchecked, &traced));
    assert_ok(ndr_queue_create(traced, NULL, &line));
    assert_ok(ndr_queue_mark(line, &mark));
    ndr_event_destroy(mark);
    close_traced();
    assert_string_equal(table, "");
    assert_null(ndr_is_traced() ? "a trace runs" : NULL);
}

/* ---- starting ---- */

static void test_trace__refuses_what_it_cannot_start(void **state)
{
    assert_refused(NDR_BAD_ARGUMENT, ndr_trace_start(NULL), "ndr_trace_start", "desc is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_trace_start(&(ndr_trace_desc){ 0 }),
                   "neither desc->has_table nor desc->file is set");
    assert_refused(NDR_BAD_ARGUMENT, ndr_trace_start(&(ndr_trace_desc){ .file = "" }), "desc->file is \"\"");
    assert_refused(NDR_BAD_ARGUMENT, ndr_trace_start(&(ndr_trace_desc){ .file = "nowhere/a.json", .has_table = true }),
                   "ndr_trace_start: the file \"nowhere/a.json\" cannot be created: No such file or directory",
                   "choose a folder that this user can write to");
    open_traced(NULL);
    assert_refused(NDR_BAD_ARGUMENT, ndr_trace_start(&(ndr_trace_desc){ .has_table = true }),
                   "a trace is already running");
    close_traced();
    open_traced(NULL);
    close_traced();
    assert_non_null(strstr(table, "libndr trace of "));
}

static void test_trace__reads_the_words_of_the_environment(void **state)
{
    ndr_trace_desc desc;
    static const struct {
        const char *words, *file;
        bool has_table;
    } right[] = { { NULL, NULL, false },
                  { "", NULL, false },
                  { "table", NULL, true },
                  { "a.json", "a.json", false },
                  { "table.json", "table.json", false },
                  { "table,b.json", "b.json", true },
                  { "tables/x.json", "tables/x.json", false },
                  { "table,table,.json", "table,.json", true } };
    for (size_t i = 0; i < sizeof right / sizeof right[0]; ++i) {
        assert_ok(ndr_trace_parse(right[i].words, &desc));
        assert_int_equal(desc.has_table, right[i].has_table);
        assert_true(right[i].file ? desc.file && strcmp(desc.file, right[i].file) == 0 : !desc.file);
    }
    static const char *const wrong[] = {
        "1", "on", "tables", "table,", "table,x", "x", ".json", "a.json,table", "TABLE"
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; ++i) {
        char quoted[64];
        snprintf(quoted, sizeof quoted, "NDR_TRACE is \"%s\"; set it to table, a path", wrong[i]);
        assert_refused(NDR_BAD_ARGUMENT, ndr_trace_parse(wrong[i], &desc), quoted, "table,PATH.json");
    }
}

static void test_trace__is_started_by_the_environment(void **state)
{
    char path[64];
    ndr_event *mark;
    set_env("NDR_TRACE", "process-%p.json");
    for (unsigned round = 1; round <= 3; ++round) { /* the file goes on */
        assert_ok(ndr_context_create_with(&unchecked, &traced));
        assert_ok(ndr_queue_create(traced, NULL, &line));
        assert_ok(ndr_queue_mark(line, &mark));
        ndr_event_destroy(mark);
        close_traced();
        snprintf(path, sizeof path, "process-%ld.json", (long)getpid());
        read_slices(path, "");
        assert_int_equal(count_slices("order", "marker"), round);
        const slice *last = &slices[slice_count - 1];
        assert_int_equal(last->group, 1 + round); /* a context of its own, */
        assert_int_equal(last->command, round);   /* numbers that go on, and the same clock */
        for (const slice *s = slices; s < last; ++s) assert_true(s->group == 1 || s->start_us < last->start_us);
    }
    assert_int_equal(remove(path), 0);
    traced = NULL;
    set_env("NDR_TRACE", "nowhere/a.json");
    assert_refused(NDR_BAD_ARGUMENT, ndr_context_create(NULL, &traced),
                   "NDR_TRACE: the file \"nowhere/a.json\" cannot be created");
    set_env("NDR_TRACE", "tabel");
    assert_refused(NDR_BAD_ARGUMENT, ndr_context_create(NULL, &traced), "NDR_TRACE is \"tabel\"");
    assert_null(traced);
    restore_env();
}

/* ---- many ---- */

enum { THREADS = 64, EACH = 100 };

static void *mark_many(void *nothing)
{
    ndr_queue *own;
    ndr_event *mark;
    if (ndr_queue_create(traced, NULL, &own) != NDR_OK) return NULL;
    for (int i = 0; i < EACH; ++i) {
        ndr_trace_begin(i % 2 ? "odd" : "even", 1, 1);
        if (ndr_queue_mark(own, &mark) != NDR_OK) return NULL;
        ndr_event_destroy(mark);
        ndr_trace_end();
        if (i % 50 == 49 && ndr_queue_finish(own) != NDR_OK) return NULL;
    }
    ndr_queue_destroy(own);
    return (void)nothing, &traced;
}

static void test_trace__takes_many_threads(void **state)
{
    skip_without(strcmp(device.platform, "Oclgrind") != 0,
                 "Oclgrind crashes where threads enqueue at the same time, as plain OpenCL shows");
    pthread_t threads[THREADS];
    open_traced("threads.json");
    for (int i = 0; i < THREADS; ++i) assert_int_equal(pthread_create(&threads[i], NULL, mark_many, NULL), 0);
    for (int i = 0; i < THREADS; ++i) {
        void *done;
        assert_int_equal(pthread_join(threads[i], &done), 0);
        assert_ptr_equal(done, &traced);
    }
    close_traced();
    check_row("marker", THREADS * EACH);
    check_row("odd", THREADS * EACH / 2);
    check_row("even", THREADS * EACH / 2);
    read_slices("threads.json", "");
}

/* The work waits for an event of the test, so that no command ends. */
static void test_trace__keeps_a_limited_number_of_commands(void **state)
{
    enum { LIMIT = 512, OVER = 100 };
    cl_int error;
    const size_t before = ndr_trace_max_pending;
    ndr_trace_max_pending = LIMIT;
    open_traced(NULL);
    cl_event gate = clCreateUserEvent(traced->cl, &error);
    assert_int_equal(error, CL_SUCCESS);
    const ndr_wait_list waits = { 1, &gate };
    for (int i = 0; i < LIMIT + OVER; ++i)
        assert_ok(ndr_submit(
            &(ndr_submission){ .queue = line->cl, .waits = i == 0 ? waits : (ndr_wait_list){ 0 } }, &ndr_marker));
    assert_int_equal(clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
    assert_ok(ndr_queue_finish(line));
    clReleaseEvent(gate);
    close_traced();
    ndr_trace_max_pending = before;
    check_row("marker", LIMIT);
    assert_non_null(strstr(table, "100 commands have no times and are not counted.\n"));
}

/* ---- processes ---- */

/* Run in a process of its own: marks until it is killed. */
static int mark_until_killed(void)
{
    ndr_context *made;
    ndr_queue *own;
    ndr_event *mark;
    if (ndr_context_create_with(&unchecked, &made) != NDR_OK || ndr_queue_create(made, NULL, &own) != NDR_OK) return 1;
    for (int i = 0;; ++i) {
        if (ndr_queue_mark(own, &mark) != NDR_OK || (i % 50 == 49 && ndr_queue_finish(own) != NDR_OK)) return 1;
        ndr_event_destroy(mark);
        if (i == 2000 && write(STDOUT_FILENO, "x", 1) != 1) return 1;
    }
}

static void test_trace__is_valid_after_a_kill(void **state)
{
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    set_env("NDR_TRACE", "killed.json");
    const pid_t child = fork();
    if (child == 0) {
        dup2(ready[1], STDOUT_FILENO);
        execl("/proc/self/exe", "test_trace", "mark", (char *)NULL);
        _exit(1);
    }
    restore_env();
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(kill(child, SIGKILL), 0);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    close(ready[0]), close(ready[1]);
    read_slices("killed.json", "]");
    assert_true(count_slices("order", "marker") > 1000);
    assert_true(count_slices("wait", "finish") > 20);
}

/* Run in a process of its own: does known work and returns without destroying anything. */
static int leave(void)
{
    assert_ok(ndr_context_create_with(&unchecked, &traced));
    assert_ok(ndr_queue_create(traced, NULL, &line));
    do_known_work();
    return 0;
}

/* The same, with a trace of its own whose callback must not be called, and with a command that never ends. */
static void abort_instead(const char *text, void *user)
{
    abort();
}

static int leave_a_callback(void)
{
    const ndr_trace_desc desc = { .file = "callback.json", .has_table = true, .callback = abort_instead };
    ndr_event *event, *mark;
    assert_ok(ndr_trace_start(&desc));
    (void)leave();
    assert_ok(ndr_event_create(traced, &event));
    assert_ok(ndr_queue_mark(ndr_after(line, event), &mark));
    return 0;
}

/* A trace without a context. */
static int leave_nothing(void) { return ndr_trace_start(&(ndr_trace_desc){ .file = "nothing.json" }); }

/* An earlier handler of exit() takes the driver's part, and ends the process without destructors. */
static void end_at_once(void) { _exit(0); }

static int leave_and_crash(void)
{
    if (atexit(end_at_once) != 0) return 1;
    (void)leave();
    ndr_trace_begin("last", 0, 0);
    ndr_trace_end();
    return 0;
}

/* An earlier handler destroys the context. */
static int leave_to_a_handler(void) { return atexit(close_traced) || leave(); }

/* Ends as a process that is killed, without handlers, with records that fill no page. */
static int leave_at_once(void)
{
    ndr_event *mark;
    assert_ok(ndr_context_create_with(&unchecked, &traced));
    assert_ok(ndr_queue_create(traced, NULL, &line));
    assert_ok(ndr_queue_mark(line, &mark));
    assert_ok(ndr_queue_finish(line));
    _exit(0);
}

/* A child made by fork() records regions with what it inherited, and ends by exit(). */
static int leave_a_child(void)
{
    enum { REGIONS = 1000 };
    (void)leave();
    const pid_t child = fork();
    for (int i = 0; i < REGIONS; ++i) {
        ndr_trace_begin(child ? "of the parent" : "of the child", 0, 0);
        ndr_trace_end();
        if (child && i == 0) waitpid(child, NULL, 0);
    }
    if (child) close_traced();
    return 0;
}

/* Run this program as `what`, and write its stderr to the file `said`. */
static void run_itself(const char *what, const char *said)
{
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        if (!freopen(said, "w", stderr)) _exit(1);
        execl("/proc/self/exe", "test_trace", what, (char *)NULL);
        _exit(1);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void read_table(const char *path)
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    const size_t length = fread(table, 1, sizeof table - 1, file);
    table[length] = '\0';
    fclose(file);
}

static void test_trace__has_what_was_read_if_the_process_ends_first(void **state)
{
    set_env("NDR_TRACE", "table,left.json");
    run_itself("leave", "left.txt");
    restore_env();
    read_slices("left.json", "");
    assert_int_equal(count_slices("kernel", "add_one"), LAUNCHES);
    assert_int_equal(count_slices("transfer", NULL), 3);
    read_table("left.txt");
    check_row("add_one", LAUNCHES);
    check_row("read", 1);
    assert_non_null(strstr(table, "libndr trace: the process ended before the traced contexts were destroyed; "
                                  "0 commands are missing; destroy the contexts and all their objects\n"));
}

static void test_trace__is_written_before_earlier_handlers_of_exit(void **state)
{
    set_env("NDR_TRACE", "crashed.json");
    run_itself("leave and crash", "crashed.txt");
    restore_env();
    read_slices("crashed.json", "]");
    assert_int_equal(count_slices("kernel", "add_one"), LAUNCHES);
    assert_int_equal(count_slices("region", "last"), 1);
}

static void test_trace__goes_on_in_earlier_handlers_of_exit(void **state)
{
    skip_without(strcmp(device.platform, "Oclgrind") != 0,
                 "Oclgrind crashes if it is called by a handler of exit() that is older than it");
    set_env("NDR_TRACE", "table,handler.json");
    run_itself("leave to a handler", "handler.txt");
    restore_env();
    read_slices("handler.json", "");
    assert_int_equal(count_slices("kernel", "add_one"), LAUNCHES);
    read_table("handler.txt");
    check_row("add_one", LAUNCHES);
    assert_null(strstr(table, "the process ended"));
}

static void test_trace__has_records_if_the_process_ends_at_once(void **state)
{
    set_env("NDR_TRACE", "at_once.json");
    run_itself("leave at once", "at_once.txt");
    restore_env();
    read_slices("at_once.json", "]");
    assert_int_equal(count_slices("wait", "finish"), 1);
    assert_int_equal(count_slices("order", "marker"), 1);
}

static void test_trace__does_not_call_back_when_the_process_ends(void **state)
{
    run_itself("leave a callback", "callback.txt");
    read_slices("callback.json", "");
    assert_int_equal(count_slices("kernel", "add_one"), LAUNCHES);
    read_table("callback.txt");
    assert_string_equal(table, "");
    char *text = NULL;
    size_t length = 0;
    FILE *file = fopen("callback.json", "r");
    assert_non_null(file);
    assert_true(getdelim(&text, &length, '\0', file) > 0);
    fclose(file);
    static const char said[] = "the process ended first; commands that are missing: ";
    const char *const at = strstr(text, said);
    assert_non_null(at);
    assert_in_range(atoi(at + sizeof said - 1), 1, 2); /* the mark, and one in front of it unless it was seen to end */
    free(text);
}

static void test_trace__without_a_context_says_nothing(void **state)
{
    run_itself("leave nothing", "nothing.txt");
    read_slices("nothing.json", "");
    assert_int_equal(slice_count, 0);
    read_table("nothing.txt");
    assert_string_equal(table, "");
}

static void test_trace__is_not_written_by_a_child_made_by_fork(void **state)
{
    set_env("NDR_TRACE", "table,child.json");
    run_itself("leave a child", "child.txt");
    restore_env();
    read_slices("child.json", "");
    assert_int_equal(count_slices("kernel", "add_one"), LAUNCHES);
    assert_int_equal(count_slices("region", "of the parent"), 1000);
    assert_int_equal(count_slices("region", "of the child"), 0);
    read_table("child.txt");
    check_row("add_one", LAUNCHES);
    assert_null(strstr(strstr(table, "libndr trace of ") + 1, "libndr trace of ")); /* one table */
}

/* What a child made by fork() does with an inherited context changes nothing in its parent's file. */
static void test_trace__ignores_a_child_made_by_fork(void **state)
{
    ndr_event *mark;
    open_traced("fork.json");
    const pid_t child = fork();
    if (child == 0) {
        ndr_trace_remove_context(traced);
        _exit(0);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_ok(ndr_queue_mark(line, &mark));
    ndr_event_destroy(mark);
    close_traced();
    read_slices("fork.json", "");
    assert_int_equal(count_slices("order", "marker"), 1);
    check_row("marker", 1);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "mark") == 0) return mark_until_killed();
    if (strcmp(what, "leave") == 0) return leave();
    if (strcmp(what, "leave and crash") == 0) return leave_and_crash();
    if (strcmp(what, "leave to a handler") == 0) return leave_to_a_handler();
    if (strcmp(what, "leave at once") == 0) return leave_at_once();
    if (strcmp(what, "leave a child") == 0) return leave_a_child();
    if (strcmp(what, "leave a callback") == 0) return leave_a_callback();
    if (strcmp(what, "leave nothing") == 0) return leave_nothing();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trace__counts_commands_in_a_table),
        cmocka_unit_test(test_trace__writes_a_timeline),
        cmocka_unit_test(test_trace__maps_the_devices_times_to_the_hosts),
        cmocka_unit_test(test_trace__numbers_commands),
        cmocka_unit_test(test_trace__shows_a_queue_as_rows_without_overlap),
        cmocka_unit_test(test_trace__numbers_queues_and_contexts),
        cmocka_unit_test(test_trace__tells_the_bytes_of_rectangles),
        cmocka_unit_test(test_trace__tells_the_bytes_of_images),
        cmocka_unit_test(test_trace__waits_for_the_work_of_a_context_that_ends),
        cmocka_unit_test(test_trace__shows_operations_with_their_row),
        cmocka_unit_test(test_trace__shows_regions_within_regions),
        cmocka_unit_test(test_trace__does_not_give_queues_times_for_the_user),
        cmocka_unit_test(test_trace__counts_commands_of_foreign_queues_without_times),
        cmocka_unit_test(test_trace__leaves_earlier_and_later_contexts_alone),
        cmocka_unit_test(test_trace__refuses_what_it_cannot_start),
        cmocka_unit_test(test_trace__reads_the_words_of_the_environment),
        cmocka_unit_test(test_trace__is_started_by_the_environment),
        cmocka_unit_test(test_trace__takes_many_threads),
        cmocka_unit_test(test_trace__keeps_a_limited_number_of_commands),
        cmocka_unit_test(test_trace__is_valid_after_a_kill),
        cmocka_unit_test(test_trace__has_what_was_read_if_the_process_ends_first),
        cmocka_unit_test(test_trace__is_written_before_earlier_handlers_of_exit),
        cmocka_unit_test(test_trace__goes_on_in_earlier_handlers_of_exit),
        cmocka_unit_test(test_trace__has_records_if_the_process_ends_at_once),
        cmocka_unit_test(test_trace__does_not_call_back_when_the_process_ends),
        cmocka_unit_test(test_trace__without_a_context_says_nothing),
        cmocka_unit_test(test_trace__is_not_written_by_a_child_made_by_fork),
        cmocka_unit_test(test_trace__ignores_a_child_made_by_fork),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
