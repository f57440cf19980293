/* test_log_messages.c - the messages of docs/logging.md: when each is printed and what it names. */
#include "support.h"

#include <signal.h>
#include <sys/resource.h>

#include "device/opencl.h"

static ndr_text logged; /* "level id: text\n" of each message since forget() */

static void collect(ndr_log_level level, const char *id, const char *text, void *user)
{
    static const char *const names[] = { "", "", "error", "warn", "info", "debug" };
    ndr_text_add(&logged, "%s %s: %s\n", names[level], id, text);
}

static void forget(void) { ndr_text_clear(&logged); }

static int listen_to_all(void **state)
{
    forget();
    return ndr_log_set(NDR_LOG_DEBUG, collect, NULL) != NDR_OK;
}

static int stop_listening(void **state)
{
    return ndr_log_set(NDR_LOG_DEFAULT, NULL, NULL) != NDR_OK;
}

/* One of the messages begins with this text. */
#define assert_logged(...) assert_logged_(__LINE__, __VA_ARGS__)
__attribute__((format(printf, 2, 3))) static void assert_logged_(int line, const char *format, ...)
{
    ndr_text wanted = { 0 };
    va_list args;
    va_start(args, format);
    ndr_text_add(&wanted, "\n");
    ndr_text_add_v(&wanted, format, args);
    va_end(args);
    const char *all = logged.chars ? logged.chars : "";
    const bool is_there = strncmp(all, wanted.chars + 1, wanted.length - 1) == 0 || strstr(all, wanted.chars);
    if (!is_there) print_message("line %d: no message%s\namong\n%s", line, wanted.chars, all);
    ndr_text_free(&wanted);
    assert_true(is_there);
}

static bool has_logged(const char *part) { return logged.chars && strstr(logged.chars, part); }

/* ---- devices ---- */

static void test_log_messages__tell_the_devices_found(void **state)
{
    ndr_device_info devices[8];
    size_t count;
    assert_ok(ndr_device_list(8, devices, &count));
    for (size_t i = 0; i < count && i < 8; ++i)
        assert_logged("info device.found: device %zu: %s \"%s\" (%s, driver %s), %s", i,
                      ndr_device_type_name(devices[i].type), devices[i].name, devices[i].platform, devices[i].driver,
                      devices[i].opencl);
}

static cl_int CL_API_CALL refuse_device_info(cl_device_id asked, cl_device_info what, size_t size, void *value,
                                             size_t *needed)
{
    return CL_DEVICE_NOT_AVAILABLE;
}

static void test_log_messages__tell_the_devices_left_out(void **state)
{
    size_t count;
    __typeof__(clGetDeviceInfo) *const there = ndr_cl.clGetDeviceInfo;
    ndr_cl.clGetDeviceInfo = refuse_device_info;
    const ndr_status status = ndr_device_list(0, NULL, &count);
    ndr_cl.clGetDeviceInfo = there;
    assert_int_equal(status, NDR_NO_DEVICE);
    assert_logged("warn device.left_out: platform \"%s\", device 0: "
                  "clGetDeviceInfo gave CL_DEVICE_NOT_AVAILABLE (-2)\n",
                  device.platform);
    assert_logged("error failure: NDR_NO_DEVICE: ");
}

static void open_and_close(const char *words)
{
    ndr_context *made;
    forget();
    assert_ok(ndr_context_create(words, &made));
    ndr_context_destroy(made);
}

static void test_log_messages__tell_why_a_device_was_chosen(void **state)
{
    set_env("NDR_DEVICE", NULL);
    open_and_close(NULL);
    assert_logged("info device.chosen: device ");
    assert_true(has_logged("\": the first gpu, else accelerator, else cpu\n"));
    set_env("NDR_DEVICE", "0");
    open_and_close(NULL);
    assert_logged("info device.chosen: device 0, \"");
    assert_true(has_logged("\": NDR_DEVICE asks for \"0\"\n"));
    open_and_close(device.name);
    assert_true(has_logged("ndr_context_create asks for \""));
    restore_env();
}

/* ---- kernels ---- */

static const char source[] = "kernel void one(global int *x) { x[get_global_id(0)] = VALUE; }\n"
                             "kernel void two(global int *x) { x[get_global_id(0)] = 2; }\n";

static ndr_kernel *get(const char *name)
{
    ndr_kernel *kernel;
    forget();
    assert_ok(ndr_kernel_get(context, &(ndr_kernel_desc){ .name = name, .source = source, .options = "-DVALUE=1" },
                             &kernel));
    return kernel;
}

static void test_log_messages__tell_what_is_built_and_what_is_not(void **state)
{
    get("one");
    assert_logged("info program.built: \"");
    assert_true(has_logged(" ms, for \""));
    assert_true(has_logged(device.name));
    assert_true(has_logged("-DVALUE=1"));
    get("two");
    assert_logged("debug program.found: \"");
    assert_false(has_logged("program.built"));
    get("two");
    assert_logged("debug kernel.found: \"two\" is built already\n");
    assert_false(has_logged("program."));
}

static void test_log_messages__tell_a_launch(void **state)
{
    ndr_kernel *one = get("one");
    ndr_buffer *x = buffer_of(96 * sizeof(int), NULL);
    forget();
    assert_ok(ndr_launch(queue, one, ndr_nd_range_2d(12, 8, 2, 4), x));
    assert_logged("debug launch: kernel \"one\", global (12, 8), local (2, 4), pieces 1\n");
    forget();
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, one, ndr_range_1d(1), 1.0), "one");
    assert_logged("error failure: NDR_BAD_KERNEL_ARGUMENT: kernel \"one\"");
    assert_false(has_logged("launch:"));
    assert_ok(ndr_queue_finish(queue));
    ndr_buffer_destroy(x);
}

/* ---- other commands ---- */

static void test_log_messages__tell_each_command(void **state)
{
    char bytes[64] = { 0 };
    ndr_buffer *x = buffer_of(sizeof bytes, NULL), *y = buffer_of(sizeof bytes, NULL);
    void *mapped;
    ndr_event *mark;
    assert_ok(ndr_log_set(NDR_LOG_DEBUG, collect, NULL));
    assert_ok(ndr_buffer_write(queue, x, 16, 32, bytes, NULL));
    assert_ok(ndr_buffer_copy(queue, x, 8, y, 4, 12, NULL));
    assert_ok(ndr_buffer_fill(queue, y, 60, 4, bytes, 1, NULL));
    assert_ok(ndr_buffer_read(queue, y, 1, 7, bytes, NULL));
    assert_ok(ndr_buffer_map(queue, x, NDR_MAP_READ, 3, 5, &mapped));
    assert_ok(ndr_buffer_unmap(queue, x, mapped, NULL));
    assert_ok(ndr_queue_mark(queue, &mark));
    assert_logged("debug command: write of 32 bytes to byte 16\n");
    assert_logged("debug command: copy of 12 bytes from byte 8 to byte 4\n");
    assert_logged("debug command: fill of 4 bytes from byte 60\n");
    assert_logged("debug command: read of 7 bytes from byte 1\n");
    assert_logged("debug command: map of 5 bytes from byte 3\n");
    assert_logged("debug command: unmap\n");
    assert_logged("debug command: marker\n");
    assert_ok(ndr_event_wait(mark));
    ndr_event_destroy(mark);
    destroy_buffers(x, y);
}

/* Not from the start of the memory that a view lies in. */
static void test_log_messages__count_bytes_from_the_start_of_a_view(void **state)
{
    const size_t align = device.view_align_bytes;
    char bytes[16] = { 0 };
    ndr_buffer *whole = buffer_of(4 * align, NULL), *x, *y;
    assert_ok(ndr_buffer_create_view(whole, align, align, &x));
    assert_ok(ndr_buffer_create_view(whole, 2 * align, 2 * align, &y));
    const ndr_rect_desc rect = {
        .extent = ndr_range_2d(2, 3), .element_bytes = 2, .from = { .offset_bytes = 3 }, .to = { .offset_bytes = 1 }
    };
    forget();
    assert_ok(ndr_buffer_copy(queue, x, 8, y, 4, 11, NULL));
    assert_ok(ndr_buffer_write(queue, x, 5, 9, bytes, NULL));
    assert_ok(ndr_buffer_fill(queue, y, 6, 7, bytes, 1, NULL));
    assert_ok(ndr_buffer_read_rect(queue, y, &rect, bytes, NULL));
    assert_ok(ndr_buffer_write_rect(queue, y, &rect, bytes, NULL));
    assert_ok(ndr_buffer_copy_rect(queue, x, y, &rect, NULL));
    assert_logged("debug command: copy of 11 bytes from byte 8 to byte 4\n");
    assert_logged("debug command: write of 9 bytes to byte 5\n");
    assert_logged("debug command: fill of 7 bytes from byte 6\n");
    assert_logged("debug command: read of 12 bytes from byte 3\n");
    assert_logged("debug command: write of 12 bytes to byte 1\n");
    assert_logged("debug command: copy of 12 bytes from byte 3 to byte 1\n");
    assert_ok(ndr_queue_finish(queue));
    destroy_buffers(x, y, whole);
}

static void test_log_messages__of_details_are_left_out_at_info(void **state)
{
    assert_ok(ndr_log_set(NDR_LOG_INFO, collect, NULL));
    ndr_kernel *one = get("one");
    ndr_buffer *x = buffer_of(sizeof(int), NULL);
    assert_ok(ndr_launch(queue, one, ndr_range_1d(1), x));
    assert_ok(ndr_queue_finish(queue));
    assert_false(has_logged(" "));
    ndr_buffer_destroy(x);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, listen_to_all, stop_listening)

static int close_all(void **state)
{
    ndr_text_free(&logged);
    return close_device(state);
}

/* ---- traces ---- */

static void test_log_messages__tell_of_a_trace(void **state)
{
    ndr_context *made;
    struct rlimit before;
    set_env("NDR_TRACE", "logged.json");
    signal(SIGXFSZ, SIG_IGN); /* the driver may write files, too */
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 100, before.rlim_max }), 0); /* for the next file */
    const ndr_status status = ndr_context_create(NULL, &made);
    if (status == NDR_OK) ndr_context_destroy(made);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    restore_env();
    assert_int_equal(status, NDR_OK);
    assert_logged("info trace.started: NDR_TRACE: logged.json\n");
    assert_logged("warn trace.cut: the trace file gets no more records: File too large; free space there, or name another file\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_log_messages__tell_the_devices_found),
        TEST(test_log_messages__tell_the_devices_left_out),
        TEST(test_log_messages__tell_why_a_device_was_chosen),
        TEST(test_log_messages__tell_what_is_built_and_what_is_not),
        TEST(test_log_messages__tell_a_launch),
        TEST(test_log_messages__tell_each_command),
        TEST(test_log_messages__count_bytes_from_the_start_of_a_view),
        TEST(test_log_messages__tell_of_a_trace),
        TEST(test_log_messages__of_details_are_left_out_at_info),
    };
    return cmocka_run_group_tests(tests, open_device, close_all);
}
