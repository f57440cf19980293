/* support.c - what the tests share. */
#include "support.h"

#include <inttypes.h>
#include <time.h>

#include "device/context.h"

ndr_context *context;
ndr_queue *queue;
ndr_device_info device;

/* Read once, so that midnight does not divide a run. */
static uint64_t day(void)
{
    static uint64_t number;
    if (!number) number = number_from_env("NDR_TEST_DAY", (uint64_t)time(NULL) / (24 * 60 * 60));
    return number;
}

int open_device(void **state)
{
    setenv("NDR_CACHE", "off", 0); /* as CTest sets it: a test run by hand does not write to the user's store */
    if (ndr_context_create(NULL, &context) != NDR_OK
        || ndr_queue_create(context, &(ndr_queue_desc){ .is_profiling = true }, &queue) != NDR_OK
        || ndr_context_get_device(context, &device) != NDR_OK) {
        print_error("%s\n", ndr_last_error());
        return -1;
    }
    print_message("on %s (%s), NDR_TEST_DAY=%" PRIu64 "\n", device.name, device.platform, day());
    return 0;
}

int close_device(void **state)
{
    /* PoCL crashes if it still compiles a launch when the process ends. */
    if (queue) NDR_IGNORE(ndr_queue_finish_within(queue, UINT64_C(10000000000)));
    ndr_queue_destroy(queue);
    ndr_context_destroy(context);
    return 0;
}

void assert_ok_(ndr_status status, const char *call, const char *file, int line)
{
    if (status == NDR_OK) return;
    print_error("%s\n  gave %s: %s\n", call, ndr_status_name(status), ndr_last_error());
    _fail(file, line);
}

void assert_refused_(ndr_status wanted, ndr_status status, const char *call, const char *file, int line,
                     const char *const *parts)
{
    const char *missing = NULL;
    for (; *parts && !missing; ++parts)
        if (!strstr(ndr_last_error(), *parts)) missing = *parts;
    if (status == wanted && !missing) return;
    print_error("%s\n  gave %s, wanted %s: %s\n", call, ndr_status_name(status), ndr_status_name(wanted),
                status ? ndr_last_error() : "(no error)");
    if (missing) print_error("  the sentence lacks \"%s\"\n", missing);
    _fail(file, line);
}

void skip_where_launches_are_waited_for(void)
{
    char report[32];
    assert_ok(ndr_context_get_check_report(context, sizeof report, report, NULL));
    skip_without(strstr(report, "checking is off"), "a checked launch ends with the call");
}

bool quick(void)
{
    const char *set = getenv("NDR_TEST_QUICK");
    return set && *set;
}

bool is_simulated(void) { return quick() && strcmp(getenv("NDR_TEST_QUICK"), "sizes") != 0; }

bool all_cases(void) { return number_from_env("NDR_TEST_LONG", 0) != 0; }

bool is_today(size_t i, size_t days) { return all_cases() || (i + day()) % days == 0; }

bool takes_case(size_t i, size_t days) { return is_simulated() || is_today(i, days); }

ndr_kernel *kernel_with(const char *source, const char *name, const char *options)
{
    ndr_kernel *kernel = NULL;
    const ndr_kernel_desc desc = { .name = name, .source = source, .options = options };
    assert_ok(ndr_kernel_get(context, &desc, &kernel));
    return kernel;
}

ndr_kernel *kernel_of(const char *source, const char *name) { return kernel_with(source, name, NULL); }

ndr_kernel *kernel_without_parameters(void)
{
    ndr_kernel *kernel = NULL;
    const ndr_kernel_desc desc = { .name = "nothing", .source = "kernel void nothing(void) {}\n" };
    const ndr_status status = ndr_kernel_get(context, &desc, &kernel);
    skip_without(status != NDR_BUILD_FAILED, "the driver cannot build a kernel without parameters");
    assert_ok(status);
    return kernel;
}

bool takes_vectors(void)
{
    return device.type != NDR_DEVICE_TYPE_CPU || device.native_f32_width > 1 || is_simulated();
}

size_t fitting_group(const ndr_kernel *kernel, size_t wanted)
{
    ndr_kernel_info info;
    assert_ok(ndr_kernel_get_info(kernel, &info));
    return wanted < info.max_group_size ? wanted : info.max_group_size;
}

void skip_without_group(const ndr_kernel *kernel, size_t items)
{
    char why[120];
    snprintf(why, sizeof why, "the kernel is written for groups of %zu, and takes %zu here", items,
             fitting_group(kernel, items));
    skip_without(fitting_group(kernel, items) == items, why);
}

ndr_buffer *buffer_of(size_t size_bytes, const void *host)
{
    ndr_buffer *buffer = NULL;
    if (host) assert_ok(ndr_buffer_create_from(context, size_bytes, host, &buffer));
    else assert_ok(ndr_buffer_create(context, size_bytes, &buffer));
    return buffer;
}

void read_buffer(ndr_buffer *buffer, void *host, size_t size_bytes)
{
    assert_ok(ndr_buffer_read(queue, buffer, 0, size_bytes, host, NULL));
}

void destroy_buffers_(ndr_buffer *const *buffers, size_t count)
{
    for (size_t i = 0; i < count; ++i) ndr_buffer_destroy(buffers[i]);
}

void take_buffer(ndr_buffer *buffer, void *host, size_t size_bytes)
{
    read_buffer(buffer, host, size_bytes);
    ndr_buffer_destroy(buffer);
}

/* Tests write to the working directory. Among libndr's sources they would overwrite some. */
static void refuse_sources(void)
{
    FILE *const file = fopen("include/ndr/ndr.h", "rb");
    if (!file) return;
    fclose(file);
    fail_msg("the working directory is that of libndr's sources; run the test by ctest, or in another folder");
}

void write_file(const char *path, const char *text)
{
    refuse_sources();
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    const size_t length = strlen(text);
    const size_t written = fwrite(text, 1, length, file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(written, length);
}

/* ---- the environment ---- */

static char env_name[64], env_value[1024];
static bool env_was_set;

void set_env(const char *name, const char *value)
{
    const char *before = getenv(name);
    if (!env_name[0]) {
        snprintf(env_name, sizeof env_name, "%s", name);
        snprintf(env_value, sizeof env_value, "%s", before ? before : "");
        env_was_set = before != NULL;
    }
    assert_string_equal(env_name, name); /* one at a time */
    if (value) setenv(name, value, 1);
    else unsetenv(name);
}

void restore_env(void)
{
    if (env_was_set) setenv(env_name, env_value, 1);
    else unsetenv(env_name);
    env_name[0] = '\0';
}

uint64_t number_from_env(const char *name, uint64_t otherwise)
{
    const char *set_to = getenv(name);
    return set_to && *set_to ? strtoull(set_to, NULL, 10) : otherwise;
}

/* ---- kernels ---- */

const char plain_kernels[] =
    "#include <ndr/nd_item.clh>\n"
    "kernel void add_one(global int *x, NDR_RANGE(1))\n"
    "{\n"
    "    const ndr_item it = NDR_ITEM(1);\n"
    "    x[ndr_global_id(it, 0)] += 1;\n"
    "}\n"
    "kernel void copy_ints(global int *to, global const int *from, NDR_RANGE(1))\n"
    "{\n"
    "    const ndr_item it = NDR_ITEM(1);\n"
    "    to[ndr_global_id(it, 0)] = from[ndr_global_id(it, 0)];\n"
    "}\n"
    "kernel void spin(global int *x, int turns, NDR_ND_RANGE(1))\n"
    "{\n"
    "    const ndr_nd_item it = NDR_ND_ITEM(1);\n"
    "    const size_t i = ndr_global_id(it, 0);\n"
    "    uint y = (uint)x[i];\n"
    "    for (int t = 0; t < turns; ++t) y = y * 1664525u + 1013904223u;\n"
    "    x[i] += y == 0xfffffff0u ? 2 : 1;\n"
    "}\n";

bool can_be_halved(void)
{
    cl_device_partition_property kinds[16];
    size_t bytes = 0, known = 0;
    (void)ndr_cl.clGetDeviceInfo(context->device, CL_DEVICE_PARTITION_PROPERTIES, sizeof kinds, kinds, &bytes);
    for (size_t i = 0; i < bytes / sizeof kinds[0]; ++i)
        known += kinds[i] == CL_DEVICE_PARTITION_EQUALLY || kinds[i] == CL_DEVICE_PARTITION_BY_COUNTS;
    return known == 2 && device.compute_units >= 2;
}
