/* test_dump.c - launches that NDR_DUMP saves: which ones, what their folders have, and what is not saved. */
#include "support.h"

#include <dirent.h>
#include <limits.h>
#include <pthread.h>
#include <unistd.h>

#include "device/context.h"
#include "device/opencl.h"
#include "driver_faults.h"
#include "json.h"
#include "launch/dump.h"
#include "ndr/ndr_image.h"

enum { N = 64 };

static const char source[] = "#include <ndr/item.clh>\n"
                             "#include <ndr/reduction.clh>\n"
                             "typedef struct pair { int first; float second; } pair;\n"
                             "kernel void add(global const int *x, global int *y, int a, NDR_RANGE(1))\n"
                             "{\n"
                             "    const size_t i = ndr_global_id(NDR_ITEM(1), 0);\n"
                             "    y[i] = x[i] + a;\n"
                             "}\n"
                             "kernel void past(global int *y, int by) { y[get_global_id(0) + by] = 7; }\n"
                             "kernel void many(global int *y, pair p, float3 v, ulong u, float f, local int *t,\n"
                             "                 global int *none)\n"
                             "{\n"
                             "    t[0] = p.first + (int)v.x + (int)u + (int)f;\n"
                             "    y[get_global_id(0)] = none ? 0 : t[0];\n"
                             "}\n";

typedef struct pair {
    int first;
    float second;
} pair;

static char folder[PATH_MAX + 16];
static ndr_text logged;

/* ---- a context that saves launches ---- */

static void collect(ndr_log_level level, const char *id, const char *text, void *user)
{
    if (strncmp(id, "dump.", 5) == 0) ndr_text_add(&logged, "%s: %s\n", id, text);
}

static void remove_all(void)
{
    char command[PATH_MAX + 64];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    assert_int_equal(system(command), 0);
}

static int begin(void **state)
{
    assert_non_null(getcwd(folder, PATH_MAX));
    strcat(folder, "/saved");
    remove_all();
    setenv("NDR_CACHE", "off", 0);
    ndr_text_clear(&logged);
    return ndr_log_set(NDR_LOG_INFO, collect, NULL) != NDR_OK;
}

static int end(void **state)
{
    restore_env();
    ndr_queue_destroy(queue);
    ndr_context_destroy(context);
    queue = NULL;
    context = NULL;
    ndr_max_dumps = 100;
    ndr_max_dump_bytes = UINT64_C(1) << 30;
    ndr_text_free(&logged);
    remove_all();
    return ndr_log_set(NDR_LOG_DEFAULT, NULL, NULL) != NDR_OK;
}

/* NDR_DUMP is the folder with `words` behind it. */
static void open_with(const char *words, ndr_check_mode check)
{
    char value[PATH_MAX + 100];
    snprintf(value, sizeof value, "%s%s", folder, words);
    set_env("NDR_DUMP", value);
    assert_ok(ndr_context_create_with(&(ndr_context_desc){ .check = check }, &context));
    assert_ok(ndr_queue_create(context, NULL, &queue));
    restore_env();
}

static ndr_buffer *ints(int first)
{
    int host[N];
    for (int i = 0; i < N; ++i) host[i] = first + i;
    return buffer_of(sizeof host, host);
}

static ndr_status launch_add(ndr_buffer *x, ndr_buffer *y)
{
    return ndr_launch(queue, kernel_of(source, "add"), ndr_range_1d(N), x, y, 5);
}

/* ---- what is saved ---- */

static size_t count_saved(void)
{
    size_t count = 0;
    DIR *const opened = opendir(folder);
    for (struct dirent *entry; opened && (entry = readdir(opened));)
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    if (opened) closedir(opened);
    return count;
}

/* The path of a file of the only launch. */
static const char *path_of(const char *name)
{
    static char path[PATH_MAX + 600];
    DIR *const opened = opendir(folder);
    assert_non_null(opened);
    assert_int_equal(count_saved(), 1);
    for (struct dirent *entry; (entry = readdir(opened));)
        if (entry->d_name[0] != '.') snprintf(path, sizeof path, "%s/%s/%s", folder, entry->d_name, name);
    closedir(opened);
    return path;
}

static ndr_text read_saved(const char *name)
{
    ndr_text text = { 0 };
    ndr_file_info info;
    assert_int_equal(ndr_file_read(path_of(name), 1 << 20, &text, &info), 0);
    assert_false(text.failed);
    return text;
}

/* launch.json of the only launch must be JSON and contain each part. */
static void check_json(const char *const *parts)
{
    ndr_text json = read_saved("launch.json");
    json_check(json.chars, json.length);
    for (; *parts; ++parts)
        if (!strstr(json.chars, *parts)) fail_msg("launch.json lacks %s:\n%s", *parts, json.chars);
    ndr_text_free(&json);
}
#define assert_saved(...) check_json((const char *const[]){ __VA_ARGS__, NULL })

static void check_ints(const char *name, int first)
{
    ndr_text bytes = read_saved(name);
    assert_int_equal(bytes.length, N * sizeof(int));
    for (int i = 0; i < N; ++i) {
        int value;
        memcpy(&value, bytes.chars + (size_t)i * sizeof value, sizeof value);
        assert_int_equal(value, first + i);
    }
    ndr_text_free(&bytes);
}

/* ---- the words of NDR_DUMP ---- */

static void test_dump__reads_its_words(void **state)
{
    static const struct {
        const char *words, *kernel;
        bool saves_all;
        int64_t slow_ns;
    } rows[] = { { "/a/b", NULL, false, 0 },
                 { "/a/b,all", NULL, true, 0 },
                 { "/a/b,kernel=add", "add", true, 0 },
                 { "/a/b,slow=12", NULL, false, 12000000 },
                 { "/a/b,kernel=add,slow=1", "add", false, 1000000 } };
    for (size_t i = 0; i < NDR_COUNT_OF(rows); ++i) {
        ndr_dumps d = { 0 };
        assert_ok(ndr_dumps_parse(rows[i].words, &d));
        assert_string_equal(d.folder, "/a/b");
        assert_int_equal(d.saves_all, rows[i].saves_all);
        assert_int_equal(d.slow_ns, rows[i].slow_ns);
        assert_int_equal(d.kernel != NULL, rows[i].kernel != NULL);
        if (d.kernel) assert_string_equal(d.kernel, rows[i].kernel);
        ndr_dumps_free(&d);
    }
}

static void test_dump__refuses_other_words(void **state)
{
    static const char *const rows[] = { "/a,al",      "/a,kernel=",         "/a,slow=0", "/a,slow=-1",
                                        "/a,slow=1x", "/a,slow=9999999999", "/a,",       "/a,kernel=x,kernel=y" };
    for (size_t i = 0; i < NDR_COUNT_OF(rows); ++i) {
        ndr_dumps d = { 0 };
        assert_refused(NDR_BAD_ARGUMENT, ndr_dumps_parse(rows[i], &d), "NDR_DUMP is", rows[i], "slow=MILLISECONDS");
        ndr_dumps_free(&d);
    }
    ndr_dumps d = { 0 };
    assert_refused(NDR_BAD_ARGUMENT, ndr_dumps_parse(",all", &d), "names no folder");
    ndr_dumps_free(&d);
}

static void test_dump__is_off_by_default(void **state)
{
    ndr_dumps d = { 0 };
    assert_ok(ndr_dumps_parse(NULL, &d));
    assert_ok(ndr_dumps_parse("", &d));
    assert_null(d.folder);
}

static void test_dump__reads_a_relative_folder_from_the_working_directory(void **state)
{
    ndr_dumps d = { 0 };
    assert_ok(ndr_dumps_parse("saved", &d));
    assert_string_equal(d.folder, folder);
    ndr_dumps_free(&d);
}

static void test_dump__refuses_a_folder_that_cannot_be_written(void **state)
{
    ndr_context *made;
    write_file("a_file", "");
    set_env("NDR_DUMP", "a_file/inside");
    assert_refused(NDR_BAD_ARGUMENT, ndr_context_create(NULL, &made), "NDR_DUMP", "a_file/inside", "Not a directory",
                   "choose a folder");
}

/* ---- which launches are saved ---- */

static void test_dump__does_not_save_what_succeeds(void **state)
{
    open_with("", NDR_CHECK_OFF);
    ndr_buffer *x = ints(0), *y = ints(0);
    assert_ok(launch_add(x, y));
    assert_int_equal(count_saved(), 0);
    destroy_buffers(x, y);
}

static cl_int CL_API_CALL refuse_launch(cl_command_queue q, cl_kernel k, cl_uint dims, const size_t *offset,
                                        const size_t *global, const size_t *local, cl_uint count, const cl_event *waits,
                                        cl_event *made)
{
    return CL_OUT_OF_RESOURCES;
}

static void test_dump__saves_what_the_driver_refuses(void **state)
{
    open_with("", NDR_CHECK_OFF);
    ndr_buffer *x = ints(10), *y = ints(20);
    ndr_kernel *const kernel = kernel_of(source, "add");
    const __typeof__(ndr_cl.clEnqueueNDRangeKernel) real = ndr_cl.clEnqueueNDRangeKernel;
    ndr_cl.clEnqueueNDRangeKernel = refuse_launch;
    const ndr_status status = ndr_launch(queue, kernel, ndr_range_1d(N), x, y, 5);
    ndr_cl.clEnqueueNDRangeKernel = real;
    assert_refused(NDR_DRIVER_ERROR, status, "kernel \"add\"", "CL_OUT_OF_RESOURCES");
    assert_int_equal(ndr_last_cl_error(), CL_OUT_OF_RESOURCES);
    assert_saved("\"status\": \"NDR_DRIVER_ERROR\", \"cl_error\": -5", "CL_OUT_OF_RESOURCES", "\"name\": \"add\"",
                 "\"global\": [64]", "\"value\": \"5\"", "\"before\": \"buffer1.bin\"");
    check_ints("buffer0.bin", 10);
    check_ints("buffer1.bin", 20);
    assert_int_not_equal(access(path_of("buffer1.after.bin"), F_OK), 0);
    destroy_buffers(x, y);
}

static void test_dump__does_not_save_what_libndr_refuses(void **state)
{
    open_with("", NDR_CHECK_OFF);
    ndr_buffer *x = ints(0);
    ndr_kernel *const kernel = kernel_of(source, "add");
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, kernel, ndr_range_1d(N), x, x, 5.0f), "takes an integer");
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, kernel, ndr_range_1d(N), x), "takes 3 arguments");
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, kernel, ndr_range_1d(N), x, (ndr_buffer *)NULL, 5),
                   "NULL buffer");
    assert_refused(NDR_BAD_RANGE, ndr_launch(queue, kernel, ndr_range_2d(N, 1), x, x, 5), "dimension");
    assert_int_equal(count_saved(), 0);
    ndr_buffer_destroy(x);
}

static void test_dump__saves_what_writes_out_of_bounds(void **state)
{
    open_with("", NDR_CHECK_ON);
    ndr_buffer *y = ints(3);
    assert_refused(NDR_OUT_OF_BOUNDS, ndr_launch(queue, kernel_of(source, "past"), ndr_range_1d(N), y, 8),
                   "past the end");
    assert_saved("\"status\": \"NDR_OUT_OF_BOUNDS\"", "past the end of its buffer", "\"check\": true");
    check_ints("buffer0.bin", 3);
    ndr_buffer_destroy(y);
}

static void test_dump__saves_results_of_all_launches(void **state)
{
    open_with(",all", NDR_CHECK_OFF);
    ndr_buffer *x = ints(10), *y = ints(20);
    assert_ok(launch_add(x, y));
    assert_saved("\"status\": \"NDR_OK\", \"time_ns\": ", "\"is_written\": false, \"before\": \"buffer0.bin\"}",
                 "\"is_written\": true, \"before\": \"buffer1.bin\", \"after\": \"buffer1.after.bin\"}");
    check_ints("buffer0.bin", 10);
    check_ints("buffer1.bin", 20);
    check_ints("buffer1.after.bin", 15);
    assert_int_not_equal(access(path_of("buffer0.after.bin"), F_OK), 0);
    destroy_buffers(x, y);
}

static ndr_text seen_early;

/* As the driver sees it: a launch that ends the process is saved already. */
static cl_int CL_API_CALL look_and_refuse(cl_command_queue q, cl_kernel k, cl_uint dims, const size_t *offset,
                                          const size_t *global, const size_t *local, cl_uint count,
                                          const cl_event *waits, cl_event *made)
{
    seen_early = read_saved("launch.json");
    return refuse_launch(q, k, dims, offset, global, local, count, waits, made);
}

static void test_dump__saves_all_launches_before_they_run(void **state)
{
    open_with(",kernel=add", NDR_CHECK_OFF);
    ndr_buffer *x = ints(10);
    ndr_kernel *const kernel = kernel_of(source, "add");
    const __typeof__(ndr_cl.clEnqueueNDRangeKernel) real = ndr_cl.clEnqueueNDRangeKernel;
    ndr_cl.clEnqueueNDRangeKernel = look_and_refuse;
    const ndr_status status = ndr_launch(queue, kernel, ndr_range_1d(N), x, x, 5);
    ndr_cl.clEnqueueNDRangeKernel = real;
    assert_refused(NDR_DRIVER_ERROR, status, "kernel \"add\"");
    assert_non_null(strstr(seen_early.chars, "\"status\": \"not ended\""));
    assert_saved("\"status\": \"NDR_DRIVER_ERROR\"");
    ndr_text_free(&seen_early);
    ndr_buffer_destroy(x);
}

static void test_dump__saves_only_the_kernel_that_is_named(void **state)
{
    open_with(",kernel=past", NDR_CHECK_OFF);
    ndr_buffer *x = ints(10);
    assert_ok(launch_add(x, x));
    assert_int_equal(count_saved(), 0);
    assert_ok(ndr_launch(queue, kernel_of(source, "past"), ndr_range_1d(N), x, 0));
    assert_saved("\"name\": \"past\"");
    ndr_buffer_destroy(x);
}

static void test_dump__saves_only_slow_launches(void **state)
{
    open_with(",slow=999999", NDR_CHECK_OFF);
    ndr_buffer *x = ints(10), *y = ints(10);
    assert_ok(launch_add(x, y));
    assert_int_equal(count_saved(), 0);
    context->dumps.slow_ns = 1; /* less than any launch takes */
    assert_ok(launch_add(x, y));
    assert_saved("\"status\": \"NDR_OK\"", "\"after\"");
    destroy_buffers(x, y);
}

/* ---- what a folder has ---- */

static void test_dump__leaves_the_vocabulary_in_the_text(void **state)
{
    ndr_kernel *kernel;
    const char *const dirs[] = { ".", NULL };
    open_with(",all", NDR_CHECK_OFF);
    write_file("own.clh", "#include <ndr/item.clh>\n#define FACTOR 3\n");
    const ndr_kernel_desc desc = { .name = "f",
                                   .label = "a \"text\"",
                                   .source = "#include <own.clh>\n"
                                             "kernel void f(global int *y, NDR_RANGE(1))\n"
                                             "{ y[ndr_global_id(NDR_ITEM(1), 0)] = FACTOR * MORE; }\n",
                                   .include_dirs = dirs,
                                   .options = "-DMORE=2" };
    assert_ok(ndr_kernel_get(context, &desc, &kernel));
    ndr_buffer *y = ints(0);
    assert_ok(ndr_launch(queue, kernel, ndr_range_1d(N), y));
    ndr_text text = read_saved("kernel.cl");
    assert_non_null(strstr(text.chars, "#include <ndr/item.clh>\n"));
    assert_non_null(strstr(text.chars, "#define FACTOR 3\n"));
    assert_null(strstr(text.chars, "own.clh>"));
    assert_null(strstr(text.chars, "ndr_cl_dim_"));
    assert_saved("\"title\": \"a \\\"text\\\"\", \"options\": \"-DMORE=2\"", "\"files\": [\"kernel.cl\"]");
    ndr_text_free(&text);
    ndr_buffer_destroy(y);
}

static void test_dump__saves_each_text_of_a_linked_program(void **state)
{
    ndr_kernel *kernel;
    const char *const linked[] = { "int twice(int x) { return 2 * x; }\n", NULL };
    open_with(",all", NDR_CHECK_OFF);
    skip_for_fault(driver_links_few_texts(), "most texts are not linked");
    const ndr_kernel_desc desc = { .name = "f",
                                   .source = "int twice(int x);\nkernel void f(global int *y) { y[0] = twice(4); }\n",
                                   .linked = linked };
    assert_ok(ndr_kernel_get(context, &desc, &kernel));
    ndr_buffer *y = ints(0);
    assert_ok(ndr_launch(queue, kernel, ndr_range_1d(1), y));
    assert_saved("\"files\": [\"kernel.cl\", \"kernel1.cl\"]");
    ndr_text first = read_saved("kernel.cl"), second = read_saved("kernel1.cl");
    assert_non_null(strstr(first.chars, "kernel void f"));
    assert_non_null(strstr(second.chars, "return 2 * x"));
    ndr_text_free(&first);
    ndr_text_free(&second);
    ndr_buffer_destroy(y);
}

static void test_dump__saves_each_kind_of_value(void **state)
{
    open_with(",all", NDR_CHECK_OFF);
    ndr_buffer *y = ints(0);
    const pair p = { 3, 0.5f };
    assert_ok(ndr_launch(queue, kernel_of(source, "many"), ndr_nd_range_1d(4, 4), y, ndr_struct(pair, p),
                         ndr_vector(float, 1, 2, 3), UINT64_MAX, 1.0f, ndr_local(int, 2, 4), ndr_null));
    assert_saved("\"kind\": \"struct\", \"name\": \"p\"", "\"type_name\": \"pair\", \"bytes\": \"030000000000003f\"",
                 "\"kind\": \"vector\"", "\"dtype\": \"f32\", \"bytes\": \"0000803f0000004000004040\"",
                 "\"value\": \"18446744073709551615\"", "\"kind\": \"float\"", "\"bytes\": \"0000803f\"",
                 "\"element_bytes\": 4, \"extents\": [2, 4, 1]", "\"kind\": \"null\"", "\"local\": [4]");
    ndr_buffer_destroy(y);
}

static void test_dump__saves_shared_memory_of_arguments_once(void **state)
{
    open_with(",all", NDR_CHECK_OFF);
    int host[1024] = { 0 };
    ndr_buffer *whole = buffer_of(sizeof host, host), *view;
    assert_ok(ndr_buffer_create_view(whole, sizeof host / 2, N * sizeof(int), &view));
    assert_ok(launch_add(view, whole));
    assert_saved("\"buffer\": 0, \"offset_bytes\": 2048, \"size_bytes\": 256",
                 "\"buffer\": 0, \"offset_bytes\": 0, \"size_bytes\": 4096",
                 "{\"size_bytes\": 4096, \"is_written\": true");
    assert_int_not_equal(access(path_of("buffer1.bin"), F_OK), 0);
    destroy_buffers(view, whole);
}

static void test_dump__reads_buffers_that_the_host_may_not(void **state)
{
    int host[N];
    for (int i = 0; i < N; ++i) host[i] = 7 + i;
    open_with(",all", NDR_CHECK_OFF);
    ndr_buffer *x, *y = ints(0);
    const ndr_buffer_desc desc = { .size_bytes = sizeof host, .contents = host, .host = NDR_ACCESS_NONE };
    assert_ok(ndr_buffer_create_with(context, &desc, &x));
    assert_ok(launch_add(x, y));
    check_ints("buffer0.bin", 7);
    destroy_buffers(x, y);
}

static void test_dump__names_the_file_of_an_operation(void **state)
{
    open_with(",all", NDR_CHECK_OFF);
    ndr_buffer *x = ints(1), *y = ints(0);
    assert_ok(
        ndr_reduce(queue,
                   &(ndr_reduce_desc){
                       .dtype = NDR_DTYPE_I32, .op = NDR_OP_SUM, .input = { x, 0 }, .count = N, .output = { y, 0 } },
                   NULL));
    assert_true(count_saved() > 0);
    assert_non_null(strstr(logged.chars, "dump.saved"));
    destroy_buffers(x, y);
}

static void test_dump__saves_the_values_of_a_prepared_launch(void **state)
{
    open_with(",all", NDR_CHECK_OFF);
    ndr_prepared *prepared;
    ndr_buffer *y = ints(0);
    pair p = { 3, 0.5f };
    assert_ok(ndr_prepare(kernel_of(source, "many"), &prepared, ndr_nd_range_1d(4, 4), y,
                          ndr_arg_struct_(&p, sizeof p, "pair"), ndr_vector(float, 1, 2, 3), UINT64_MAX, 1.0f,
                          ndr_local(int, 8), ndr_null));
    p.first = 9; /* the prepared launch has a copy */
    assert_ok(ndr_prepared_run(queue, prepared, NULL));
    assert_saved("\"bytes\": \"030000000000003f\"", "\"bytes\": \"0000803f0000004000004040\"", "\"buffer\": 0",
                 "\"after\"");
    remove_all();
    const pair other = { 4, 0.5f };
    assert_ok(ndr_prepared_set(prepared, 1, ndr_struct(pair, other)));
    assert_ok(ndr_prepared_run(queue, prepared, NULL));
    assert_saved("\"bytes\": \"040000000000003f\"", "\"bytes\": \"0000803f0000004000004040\"");
    ndr_prepared_destroy(prepared);
    ndr_buffer_destroy(y);
}

static void test_dump__says_that_images_are_not_saved(void **state)
{
    open_with(",all", NDR_CHECK_OFF);
    ndr_image *image;
    ndr_buffer *y = ints(0);
    const ndr_image_desc desc = { .size = ndr_range_2d(4, 4), .format = { NDR_CHANNELS_RGBA, NDR_CHANNEL_F32 } };
    const ndr_status status = ndr_image_create(context, &desc, &image);
    if (status == NDR_UNSUPPORTED) ndr_buffer_destroy(y);
    skip_without(status != NDR_UNSUPPORTED, "the device has no images");
    assert_ok(status);
    ndr_kernel *const kernel = kernel_of("kernel void f(read_only image2d_t image, global int *y)\n"
                                         "{ y[0] = get_image_width(image); }\n",
                                         "f");
    assert_ok(ndr_launch(queue, kernel, ndr_range_1d(1), image, y));
    assert_saved("\"kind\": \"image\"", "\"not_saved\": \"NDR_DUMP saves no images, samplers or shared memory\"");
    ndr_image_destroy(image);
    ndr_buffer_destroy(y);
}

static void test_dump__does_not_wait_for_what_the_caller_holds_back(void **state)
{
    open_with(",all", NDR_CHECK_OFF);
    ndr_buffer *x = ints(0), *y = ints(0);
    ndr_event *gate;
    ndr_kernel *const kernel = kernel_of(source, "add");
    assert_ok(ndr_event_create(context, &gate));
    assert_ok(ndr_launch(ndr_after(queue, gate), kernel, ndr_range_1d(N), x, y, 5));
    assert_saved("\"status\": \"not ended\"",
                 "\"not_saved\": \"when it was enqueued, the launch waited for an event of");
    assert_ok(ndr_event_complete(gate));
    assert_ok(ndr_queue_finish(queue));
    remove_all();
    assert_ok(ndr_launch(queue, kernel, ndr_range_1d(N), x, y, 5));
    assert_saved("\"status\": \"NDR_OK\"", "\"after\"");
    ndr_event_destroy(gate);
    destroy_buffers(x, y);
}

static ndr_status launch_in_task(void *pair_of_buffers)
{
    ndr_buffer *const *const b = pair_of_buffers;
    return ndr_launch(queue, kernel_of(source, "add"), ndr_range_1d(N), b[0], b[1], 5);
}

static void test_dump__does_not_wait_for_the_task_that_launches(void **state)
{
    open_with(",all", NDR_CHECK_OFF);
    ndr_buffer *both[] = { ints(0), ints(0) };
    (void)kernel_of(source, "add");
    assert_ok(ndr_host_task(queue, launch_in_task, both, NULL));
    assert_ok(ndr_queue_finish(queue));
    assert_saved("\"status\": \"not ended\"");
    destroy_buffers(both[0], both[1]);
}

/* ---- limits and failures ---- */

static void test_dump__keeps_the_folder_below_its_limits(void **state)
{
    open_with(",all", NDR_CHECK_OFF);
    ndr_buffer *x = ints(0), *y = ints(0);
    ndr_max_dump_bytes = 3000; /* more than one launch has, and less than two */
    assert_ok(launch_add(x, y));
    assert_ok(launch_add(x, y));
    assert_int_equal(count_saved(), 1);
    assert_non_null(strstr(logged.chars, "dump.full: a launch of kernel \"add\" is not saved"));
    remove_all();
    ndr_buffer *large = buffer_of(1 << 16, NULL);
    assert_ok(launch_add(x, large));
    assert_saved("\"not_saved\": \"the launch's buffers have 65792 bytes together\"");
    ndr_buffer_destroy(large);
    ndr_max_dumps = 1;
    ndr_max_dump_bytes = 1 << 20;
    ndr_text_clear(&logged);
    assert_ok(launch_add(x, y));
    assert_ok(launch_add(x, y));
    assert_int_equal(count_saved(), 1);
    assert_ptr_equal(strstr(logged.chars, "dump.full"), logged.chars);
    assert_null(strstr(logged.chars + 1, "dump.full")); /* once */
    destroy_buffers(x, y);
}

static void test_dump__reports_a_folder_that_went_away(void **state)
{
    open_with(",all", NDR_CHECK_OFF);
    ndr_buffer *x = ints(0), *y = ints(0);
    write_file(folder, "a file in its place");
    assert_ok(launch_add(x, y));
    assert_non_null(strstr(logged.chars, "dump.failed: a launch of kernel \"add\" is not saved"));
    assert_non_null(strstr(logged.chars, "Not a directory"));
    destroy_buffers(x, y);
}

static void *launch_often(void *unused)
{
    enum { TIMES = 5 };
    ndr_queue *own;
    ndr_buffer *x = ints(0), *y = ints(0);
    assert_ok(ndr_queue_create(context, NULL, &own));
    for (int i = 0; i < TIMES; ++i) assert_ok(ndr_launch(own, kernel_of(source, "add"), ndr_range_1d(N), x, y, 5));
    ndr_queue_destroy(own);
    destroy_buffers(x, y);
    return NULL;
}

static void test_dump__saves_launches_of_several_threads(void **state)
{
    enum { THREADS = 3 };
    pthread_t threads[THREADS];
    open_with(",all", NDR_CHECK_OFF);
    for (int i = 0; i < THREADS; ++i) assert_int_equal(pthread_create(&threads[i], NULL, launch_often, NULL), 0);
    for (int i = 0; i < THREADS; ++i) assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(count_saved(), THREADS * 5);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_dump__##name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(reads_its_words),
        TEST(refuses_other_words),
        TEST(is_off_by_default),
        TEST(reads_a_relative_folder_from_the_working_directory),
        TEST(refuses_a_folder_that_cannot_be_written),
        TEST(does_not_save_what_succeeds),
        TEST(saves_what_the_driver_refuses),
        TEST(does_not_save_what_libndr_refuses),
        TEST(saves_what_writes_out_of_bounds),
        TEST(saves_results_of_all_launches),
        TEST(saves_all_launches_before_they_run),
        TEST(saves_only_the_kernel_that_is_named),
        TEST(saves_only_slow_launches),
        TEST(leaves_the_vocabulary_in_the_text),
        TEST(saves_each_text_of_a_linked_program),
        TEST(saves_each_kind_of_value),
        TEST(saves_shared_memory_of_arguments_once),
        TEST(reads_buffers_that_the_host_may_not),
        TEST(names_the_file_of_an_operation),
        TEST(saves_the_values_of_a_prepared_launch),
        TEST(says_that_images_are_not_saved),
        TEST(does_not_wait_for_what_the_caller_holds_back),
        TEST(does_not_wait_for_the_task_that_launches),
        TEST(keeps_the_folder_below_its_limits),
        TEST(reports_a_folder_that_went_away),
        TEST(saves_launches_of_several_threads),
    };
    return cmocka_run_group_tests_name("dump", tests, NULL, NULL);
}
