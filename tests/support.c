/* support.c - what the tests share. */
#include "support.h"

ndr_context *context;
ndr_queue *queue;
ndr_device_info device;

int open_device(void **state)
{
    (void)state;
    if (ndr_context_create(NULL, &context) != NDR_OK
        || ndr_queue_create(context, &(ndr_queue_desc){ .profiling = true }, &queue) != NDR_OK
        || ndr_context_get_device(context, &device) != NDR_OK) {
        print_error("%s\n", ndr_last_error());
        return -1;
    }
    print_message("on %s (%s)\n", device.name, device.platform);
    return 0;
}

int close_device(void **state)
{
    (void)state;
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

bool quick(void)
{
    const char *set = getenv("NDR_TEST_QUICK");
    return set && *set;
}

ndr_kernel *kernel_of(const char *source, const char *name)
{
    ndr_kernel *kernel = NULL;
    assert_ok(ndr_kernel_get(context, &(ndr_kernel_desc){ .name = name, .source = source }, &kernel));
    return kernel;
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
    assert_ok(ndr_buffer_read(queue, buffer, 0, size_bytes, host));
}
