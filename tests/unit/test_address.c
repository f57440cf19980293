/* test_address.c - buffers with addresses on the device, which structs and memory may contain. */
#include "support.h"

#include "device/context.h"
#include "reference.h"

static const char source[] = "typedef struct node { ulong next; int value; } node;\n"
                             "typedef struct box { ulong x; int value; } box;\n"
                             "kernel void link(ulong low, ulong high, int n)\n"
                             "{\n"
                             "    int i = get_global_id(0);\n"
                             "    ulong next = (i % 2 ? low : high) + (i + 1) / 2 * sizeof(node);\n"
                             "    ((global node *)(i % 2 ? high : low))[i / 2] = (node){ i + 1 < n ? next : 0, i };\n"
                             "}\n"
                             "kernel void walk(ulong head, global int *sum)\n"
                             "{\n"
                             "    int s = 0;\n"
                             "    for (ulong at = head; at;) {\n"
                             "        global node *n = (global node *)at;\n"
                             "        s += n->value++;\n"
                             "        at = n->next;\n"
                             "    }\n"
                             "    *sum = s;\n"
                             "}\n"
                             "kernel void open_box(box b) { ((global int *)b.x)[get_global_id(0)] += b.value; }\n"
                             "kernel void spin_box(box b)\n"
                             "{\n"
                             "    global volatile int *x = (global volatile int *)b.x;\n"
                             "    for (int i = 0; i < b.value; ++i) *x += 1;\n"
                             "}\n";

/* As OpenCL C aligns them; i386's C aligns members of 64 bits to 4 bytes. */
typedef struct node {
    _Alignas(8) uint64_t next;
    int32_t value;
} node;

typedef struct box {
    _Alignas(8) uint64_t x;
    int32_t value;
} box;

static ndr_buffer *addressed(ndr_context *in, size_t size_bytes, const void *contents)
{
    ndr_buffer *made = NULL;
    const ndr_buffer_desc desc = { .size_bytes = size_bytes, .contents = contents, .has_address = true };
    assert_ok(ndr_buffer_create_with(in, &desc, &made));
    return made;
}

static uint64_t address_of(const ndr_buffer *buffer)
{
    uint64_t address = 0;
    assert_ok(ndr_buffer_get_address(buffer, &address));
    assert_int_not_equal(address, 0);
    return address;
}

static void skip_without_addresses(void) { skip_without(device.has_buffer_addresses, "buffers have no addresses"); }

/* ---- making ---- */

static void test_address__is_offered_as_the_driver_says(void **state)
{
    char text[8192] = "";
    assert_int_equal(clGetDeviceInfo(context->device, CL_DEVICE_EXTENSIONS, sizeof text, text, NULL), CL_SUCCESS);
    assert_int_equal(device.has_buffer_addresses, strstr(text, "cl_ext_buffer_device_address") != NULL);
}

static void test_address__is_refused_where_it_is_lacking(void **state)
{
    skip_without(!device.has_buffer_addresses, "buffers have addresses");
    ndr_buffer *made = NULL;
    assert_refused(NDR_UNSUPPORTED,
                   ndr_buffer_create_with(context, &(ndr_buffer_desc){ .size_bytes = 8, .has_address = true }, &made),
                   "has_address is set", device.name, "has_buffer_addresses of ndr_device_info", "use indices");
    assert_null(made);
}

static void test_address__of_a_buffer_without_one_is_refused(void **state)
{
    ndr_buffer *plain = buffer_of(8, NULL);
    uint64_t address = 7;
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_get_address(plain, &address), "created without an address",
                   "ndr_buffer_desc.has_address");
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_get_address(NULL, &address), "buffer is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_get_address(plain, NULL), "address is NULL");
    assert_int_equal(address, 7);
    ndr_buffer_destroy(plain);
}

static void test_address__of_a_view_is_inside_the_buffer(void **state)
{
    skip_without_addresses();
    const size_t align = device.view_align_bytes;
    ndr_buffer *whole = addressed(context, 4 * align, NULL), *other = addressed(context, 4 * align, NULL), *view, *inner, *empty;
    assert_ok(ndr_buffer_create_view(whole, align, 3 * align, &view));
    assert_ok(ndr_buffer_create_view(view, align, 8, &inner));
    assert_ok(ndr_buffer_create_view(whole, 3, 0, &empty));
    const uint64_t start = address_of(whole), other_start = address_of(other);
    assert_int_equal(address_of(view), start + align);
    assert_int_equal(address_of(inner), start + 2 * align);
    assert_true(other_start >= start + 4 * align || start >= other_start + 4 * align);
    assert_true(address_of(empty) != 0);
    ndr_buffer_destroy(whole);
    assert_int_equal(address_of(view), start + align);
    destroy_buffers(view, inner, empty, other);
}

/* ---- use ---- */

/* Nodes 0, 2, 4 ... are in one buffer, 1, 3, 5 ... in a view of another. The device links and walks them. */
static void test_address__kernels_follow_those_in_memory(void **state)
{
    enum { NODES = 1009 };
    static node got[NODES];
    skip_without_addresses();
    const size_t align = device.view_align_bytes, bytes = (NODES / 2 + 1) * sizeof(node);
    ndr_buffer *low = addressed(context, bytes, NULL), *whole = addressed(context, align + bytes, NULL), *high;
    ndr_buffer *sum = buffer_of(4, NULL);
    assert_ok(ndr_buffer_create_view(whole, align, bytes, &high));
    const uint64_t head = address_of(low);
    assert_ok(ndr_launch(queue, kernel_of(source, "link"), ndr_range_1d(NODES), head, address_of(high), NODES,
                         ndr_reaches_buffer(low), ndr_reaches_buffer(high)));
    for (int round = 0; round < 2; ++round) {
        int32_t s = 0;
        assert_ok(ndr_launch(queue, kernel_of(source, "walk"), ndr_range_1d(1), head, sum, ndr_reaches_buffer(low),
                             ndr_reaches_buffer(high)));
        read_buffer(sum, &s, sizeof s);
        assert_int_equal(s, NODES * (NODES - 1) / 2 + round * NODES);
    }
    assert_ok(ndr_buffer_read(queue, high, 0, NODES / 2 * sizeof(node), got, NULL));
    for (int i = 0; i < NODES / 2; ++i) {
        assert_int_equal(got[i].value, 2 * i + 1 + 2);
        assert_int_equal(got[i].next, head + (uint64_t)(i + 1) * sizeof(node));
    }
    destroy_buffers(low, high, whole, sum);
}

static void test_address__kernels_follow_those_in_structs(void **state)
{
    static const int32_t contents[] = { 10, 11, 12, 13 };
    int32_t got[4];
    skip_without_addresses();
    ndr_buffer *x = addressed(context, sizeof contents, contents);
    ndr_prepared *prepared = NULL;
    const box b = { address_of(x) + 4, 100 };
    assert_ok(ndr_launch(queue, kernel_of(source, "open_box"), ndr_range_1d(3), ndr_struct(box, b), ndr_reaches_buffer(x)));
    assert_ok(ndr_prepare(kernel_of(source, "open_box"), &prepared, ndr_range_1d(3), ndr_struct(box, b),
                          ndr_reaches_buffer(x)));
    assert_ok(ndr_prepared_run(queue, prepared, NULL));
    take_buffer(x, got, sizeof got);
    for (int i = 0; i < 4; ++i) assert_int_equal(got[i], 10 + i + (i ? 200 : 0));
    assert_ok(ndr_prepared_run(queue, prepared, NULL)); /* it keeps the buffer */
    assert_ok(ndr_queue_finish(queue));
    ndr_prepared_destroy(prepared);
}

static void test_address__declarations_are_checked(void **state)
{
    ndr_kernel *open = kernel_of(source, "open_box");
    const box b = { 0, 1 };
    const ndr_range one = ndr_range_1d(1);
    ndr_buffer *plain = buffer_of(8, NULL);
    ndr_context *other = NULL;
    ndr_buffer *foreign = NULL;
    assert_ok(ndr_context_create_with(&(ndr_context_desc){ .check = NDR_CHECK_OFF }, &other));
    assert_ok(ndr_buffer_create(other, 8, &foreign));
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, open, one, ndr_struct(box, b), ndr_reaches_buffer(plain)),
                   "kernel \"open_box\"", "argument 1 (ndr_reaches_buffer()) was created without an address");
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, open, one, ndr_struct(box, b), ndr_reaches_buffer(NULL)),
                   "(ndr_reaches_buffer()) is a NULL buffer");
    assert_refused(NDR_BAD_KERNEL_ARGUMENT,
                   ndr_launch(queue, open, one, ndr_struct(box, b), ndr_reaches_buffer(foreign)),
                   "(ndr_reaches_buffer()) is a buffer of another context");
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, open, one, ndr_reaches_buffer(plain), ndr_struct(box, b)),
                   "takes 1 argument, but 2 are given", "move ndr_reaches() behind them");
    destroy_buffers(plain, foreign);
    ndr_context_destroy(other);
}

static void test_address__mapped_buffer_is_refused(void **state)
{
    void *host;
    skip_without_addresses();
    ndr_kernel *open = kernel_of(source, "open_box");
    ndr_buffer *x = addressed(context, 8, NULL);
    const box b = { address_of(x), 1 };
    assert_ok(ndr_buffer_map(queue, x, NDR_MAP_READ, 0, 4, &host));
    assert_refused(NDR_BAD_KERNEL_ARGUMENT,
                   ndr_launch(queue, open, ndr_range_1d(1), ndr_struct(box, b), ndr_reaches_buffer(x)),
                   "argument 1 (ndr_reaches_buffer()) is a buffer that the host has mapped; unmap it first");
    assert_ok(ndr_buffer_unmap(queue, x, host, NULL));
    assert_ok(ndr_launch(queue, open, ndr_range_1d(1), ndr_struct(box, b), ndr_reaches_buffer(x)));
    ndr_buffer_destroy(x);
}

/* OpenCL knows nothing of the use, so the memory must stay until the work has ended, behind a view, too. */
static void test_address__destroying_waits_for_its_users(void **state)
{
    skip_where_launches_are_waited_for();
    skip_without_addresses();
    ndr_buffer *whole = addressed(context, 8, NULL), *view;
    ndr_event *done = NULL;
    ndr_event_state reached;
    assert_ok(ndr_buffer_create_view(whole, 0, 4, &view));
    const box b = { address_of(view), 30000000 };
    assert_ok(ndr_launch_event(queue, kernel_of(source, "spin_box"), &done, ndr_range_1d(1), ndr_struct(box, b),
                               ndr_reaches_buffer(view)));
    assert_ok(ndr_queue_flush(queue));
    destroy_buffers(whole, view);
    assert_ok(ndr_event_get_state(done, &reached));
    assert_int_equal(reached, NDR_EVENT_COMPLETE);
    ndr_event_destroy(done);
}

/* PoCL 7.0 needs no declaration on the CPU; other devices may. */
static cl_uint declared_name;
static uint64_t declared[2];
static size_t declared_bytes;

static cl_int CL_API_CALL record_info(cl_kernel kernel, cl_kernel_exec_info name, size_t bytes, const void *value)
{
    declared_name = name;
    declared_bytes = bytes;
    memcpy(declared, value, bytes < sizeof declared ? bytes : sizeof declared);
    return clSetKernelExecInfo(kernel, name, bytes, value);
}

static void test_address__is_declared_to_the_driver(void **state)
{
    skip_without_addresses();
    ndr_buffer *x = addressed(context, 8, NULL), *y = addressed(context, 8, NULL);
    const box b = { address_of(x), 1 };
    __typeof__(ndr_cl.clSetKernelExecInfo) usual = ndr_cl.clSetKernelExecInfo;
    ndr_cl.clSetKernelExecInfo = record_info;
    const ndr_status status = ndr_launch(queue, kernel_of(source, "open_box"), ndr_range_1d(1), ndr_struct(box, b),
                                         ndr_reaches_buffer(y), ndr_reaches_buffer(x));
    ndr_cl.clSetKernelExecInfo = usual;
    assert_ok(status);
    assert_int_equal(declared_name, 0x5002); /* CL_KERNEL_EXEC_INFO_DEVICE_PTRS_EXT */
    assert_int_equal(declared_bytes, sizeof declared);
    assert_int_equal(declared[0], address_of(y));
    assert_int_equal(declared[1], address_of(x));
    destroy_buffers(x, y);
}

/* ---- guard zones ---- */

static void test_address__guard_zones_find_writes_outside(void **state)
{
    skip_without_addresses();
    ndr_context *made = NULL;
    ndr_queue *line = NULL;
    ndr_kernel *open = NULL;
    int32_t got[10];
    assert_ok(ndr_context_create_with(&(ndr_context_desc){ .check = NDR_CHECK_ON }, &made));
    assert_ok(ndr_queue_create(made, NULL, &line));
    assert_ok(ndr_kernel_get(made, &(ndr_kernel_desc){ .name = "open_box", .source = source }, &open));
    const int32_t contents[10] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 };
    ndr_buffer *x = addressed(made, sizeof contents, contents);
    const box b = { address_of(x), 1 }, before = { address_of(x) - 4, 1 };
    assert_ok(ndr_launch(line, open, ndr_range_1d(10), ndr_struct(box, b), ndr_reaches_buffer(x)));
    assert_ok(ndr_buffer_read(line, x, 0, sizeof got, got, NULL));
    for (int i = 0; i < 10; ++i) assert_int_equal(got[i], i + 2);
    assert_refused(NDR_OUT_OF_BOUNDS, ndr_launch(line, open, ndr_range_1d(11), ndr_struct(box, b), ndr_reaches_buffer(x)),
                   "kernel \"open_box\"", "not among its arguments", "past the end", "(40 bytes)");
    assert_refused(NDR_OUT_OF_BOUNDS,
                   ndr_launch(line, open, ndr_range_1d(1), ndr_struct(box, before), ndr_reaches_buffer(x)),
                   "before the start");
    ndr_buffer_destroy(x);
    assert_refused(NDR_BAD_ARGUMENT, ndr_launch(line, open, ndr_range_1d(1), ndr_struct(box, b), ndr_reaches_buffer(x)),
                   "destroyed");
    ndr_queue_destroy(line);
    ndr_context_destroy(made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_address__is_offered_as_the_driver_says),
        cmocka_unit_test(test_address__is_refused_where_it_is_lacking),
        cmocka_unit_test(test_address__of_a_buffer_without_one_is_refused),
        cmocka_unit_test(test_address__of_a_view_is_inside_the_buffer),
        cmocka_unit_test(test_address__kernels_follow_those_in_memory),
        cmocka_unit_test(test_address__kernels_follow_those_in_structs),
        cmocka_unit_test(test_address__declarations_are_checked),
        cmocka_unit_test(test_address__mapped_buffer_is_refused),
        cmocka_unit_test(test_address__destroying_waits_for_its_users),
        cmocka_unit_test(test_address__is_declared_to_the_driver),
        cmocka_unit_test(test_address__guard_zones_find_writes_outside),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
