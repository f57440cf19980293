/* test_shared.c - shared allocations: kinds, pointers in arguments, in structs and in memory, maps, copies, guard zones.
 */
#include "support.h"

#include "device/context.h"
#include "device/shared.h"
#include "ndr/ndr_shared.h"
#include "reference.h"

enum { FIRST = NDR_SHARED_COARSE, KINDS = NDR_SHARED_MIGRATED + 1, N = 4097 };

static const char *const names[] = { "ANY", "COARSE", "FINE", "HOST", "DEVICE", "MIGRATED" };

static const char source[] = "typedef struct node { global struct node *next; int value; } node;\n"
                             "typedef struct box { ulong x; int value; } box;\n"
                             "kernel void add(global int *x, int value) { x[get_global_id(0)] += value; }\n"
                             "kernel void put_at(global int *x, long at) { x[at] = 1; }\n"
                             "kernel void copy(global int *to, global const int *from)\n"
                             "{\n"
                             "    to[get_global_id(0)] = from[get_global_id(0)];\n"
                             "}\n"
                             "kernel void open_box(box b) { ((global int *)b.x)[get_global_id(0)] += b.value; }\n"
                             "kernel void walk(global node *head, global int *sum)\n"
                             "{\n"
                             "    int s = 0;\n"
                             "    for (global node *n = head; n; n = n->next) s += n->value++;\n"
                             "    *sum = s;\n"
                             "}\n";

typedef struct node {
    struct node *next;
    int value;
} node;

/* As OpenCL C aligns it; i386's C aligns members of 64 bits to 4 bytes. */
typedef struct box {
    _Alignas(8) uint64_t x;
    int value;
} box;

static ndr_shared_info info_of(ndr_shared_kind kind)
{
    ndr_shared_info info;
    assert_ok(ndr_shared_get_info(context, kind, &info));
    return info;
}

static bool has(int kind) { return info_of((ndr_shared_kind)kind).is_available; }
static bool has_any(void) { return has(NDR_SHARED_COARSE) || has(NDR_SHARED_DEVICE) || has(NDR_SHARED_HOST); }

static ndr_shared *shared_of(int kind, size_t size_bytes)
{
    ndr_shared *made = NULL;
    assert_ok(ndr_shared_create(context, (ndr_shared_kind)kind, size_bytes, &made));
    return made;
}

static int *map(ndr_shared *shared, ndr_map_access access)
{
    assert_ok(ndr_shared_map(queue, shared, access, 0, ndr_shared_size(shared), NULL));
    return ndr_shared_pointer(shared);
}

static void unmap(ndr_shared *shared) { assert_ok(ndr_shared_unmap(queue, shared, ndr_shared_pointer(shared), NULL)); }

/* 0, 1, 2, ... */
static ndr_shared *counting(int kind, size_t count)
{
    static int ints[N];
    for (size_t i = 0; i < count; ++i) ints[i] = (int)i;
    ndr_shared *made = shared_of(kind, count * sizeof(int));
    assert_ok(ndr_shared_write(queue, made, 0, count * sizeof(int), ints, NULL));
    return made;
}

/* ---- kinds ---- */

static void test_shared__kinds_are_what_the_driver_says(void **state)
{
    cl_device_svm_capabilities svm = 0;
    if (clGetDeviceInfo(context->device, CL_DEVICE_SVM_CAPABILITIES, sizeof svm, &svm, NULL) != CL_SUCCESS) svm = 0;
    assert_int_equal(has(NDR_SHARED_COARSE), (svm & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER) != 0);
    assert_int_equal(has(NDR_SHARED_FINE), (svm & CL_DEVICE_SVM_FINE_GRAIN_BUFFER) != 0);
    assert_int_equal(info_of(NDR_SHARED_FINE).has_atomics, has(NDR_SHARED_FINE) && (svm & CL_DEVICE_SVM_ATOMICS));
    assert_int_equal(info_of(NDR_SHARED_COARSE).needs_map, has(NDR_SHARED_COARSE));
    assert_false(info_of(NDR_SHARED_DEVICE).is_host_accessible);
    char text[8192] = "";
    assert_int_equal(clGetDeviceInfo(context->device, CL_DEVICE_EXTENSIONS, sizeof text, text, NULL), CL_SUCCESS);
    assert_int_equal(has(NDR_SHARED_DEVICE), strstr(text, "cl_intel_unified_shared_memory") != NULL);
    for (int kind = FIRST; kind < KINDS; ++kind)
        print_message("%s %s\n", names[kind], has(kind) ? "yes" : "no");
}

static void test_shared__a_kind_that_is_lacking_is_refused(void **state)
{
    ndr_shared *made = NULL;
    char why[64];
    for (int kind = NDR_SHARED_ANY; kind < KINDS; ++kind) {
        if (has(kind)) continue;
        snprintf(why, sizeof why, has_any() ? "of the kind NDR_SHARED_%s; it has" : "has no shared memory; use buffers",
                 names[kind]);
        assert_refused(NDR_UNSUPPORTED, ndr_shared_create(context, (ndr_shared_kind)kind, 8, &made), device.name, why);
    }
    assert_null(made);
}

static void test_shared__any_is_a_kind_that_the_is_host_accessible(void **state)
{
    const ndr_shared_info any = info_of(NDR_SHARED_ANY);
    skip_without(any.is_available, "the device has no shared memory");
    assert_true(any.is_host_accessible);
    ndr_shared *made = shared_of(NDR_SHARED_ANY, sizeof(int));
    assert_int_equal(made->kind, any.kind);
    map(made, NDR_MAP_WRITE)[0] = 7;
    unmap(made);
    ndr_shared_destroy(made);
}

/* ---- arguments ---- */

static void test_shared__its_pointers_are_arguments(void **state)
{
    static const size_t counts[] = { 1, 127, 129, N };
    static int got[N];
    skip_without(has_any(), "the device has no shared memory");
    ndr_kernel *add = kernel_of(source, "add");
    for (int kind = FIRST; kind < KINDS; ++kind)
        for (size_t c = 0; has(kind) && c < 4; ++c) {
            const size_t n = counts[c], middle = n / 2;
            ndr_shared *x = counting(kind, n);
            int *const start = ndr_shared_pointer(x);
            assert_int_equal((uintptr_t)start % 128, 0);
            assert_ok(ndr_launch(queue, add, ndr_range_1d(n), x, 100));
            assert_ok(ndr_launch(queue, add, ndr_range_1d(n - middle), ndr_shared_at(x, start + middle), 1000));
            assert_ok(ndr_shared_prefetch(queue, x, 0, n * sizeof(int), NULL));
            assert_ok(ndr_shared_read(queue, x, 0, n * sizeof(int), got, NULL));
            for (size_t i = 0; i < n; ++i) assert_int_equal(got[i], i + 100 + (i >= middle ? 1000 : 0));
            ndr_shared_destroy(x);
        }
}

/* One kernel object gets both, so that one must not leave anything for the other. */
static void test_shared__alternates_with_buffers(void **state)
{
    skip_without(has_any(), "the device has no shared memory");
    ndr_kernel *add = kernel_of(source, "add");
    const int zero = 0;
    int in_buffer = -1, got = -1;
    ndr_buffer *y = buffer_of(sizeof zero, &zero);
    for (int kind = FIRST; kind < KINDS; ++kind) {
        if (!has(kind)) continue;
        ndr_shared *x = counting(kind, 1);
        for (int i = 0; i < 3; ++i) {
            assert_ok(ndr_launch(queue, add, ndr_range_1d(1), x, 2));
            assert_ok(ndr_launch(queue, add, ndr_range_1d(1), y, 1));
        }
        assert_ok(ndr_shared_read(queue, x, 0, sizeof got, &got, NULL));
        assert_int_equal(got, 6);
        ndr_shared_destroy(x);
        const int before = in_buffer < 0 ? 0 : in_buffer;
        read_buffer(y, &in_buffer, sizeof in_buffer);
        assert_int_equal(in_buffer, before + 3);
    }
    ndr_buffer_destroy(y);
}

static void test_shared__wrong_arguments_are_refused(void **state)
{
    skip_without(has(NDR_SHARED_ANY), "the device has no shared memory");
    ndr_kernel *add = kernel_of(source, "add");
    ndr_shared *x = shared_of(NDR_SHARED_ANY, 16), *foreign = NULL;
    unsigned char *const start = ndr_shared_pointer(x);
    ndr_context *other = NULL;
    assert_ok(ndr_context_create(NULL, &other));
    assert_ok(ndr_shared_create(other, NDR_SHARED_ANY, 16, &foreign));
    const ndr_range one = ndr_range_1d(1);
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, add, one, ndr_shared_at(x, start + 17), 1),
                   "argument 0 \"x\" (int*) is given the address", "not in the shared allocation of 16 bytes",
                   "; pass an address in it");
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, add, one, ndr_shared_at(x, start - 1), 1), "not in");
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, add, one, (ndr_shared *)NULL, 1),
                   "is a NULL shared allocation");
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, add, one, foreign, 1), "of another context");
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, add, one, x, x),
                   "takes an integer, but a shared allocation is given");
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, add, one, x, ndr_reaches(x)), "argument 1",
                   "is given ndr_reaches(), which is not an argument; put it after the last argument");
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, add, one, x, ndr_reaches(x), 1),
                   "takes 2 arguments, but 3 are given", "; move ndr_reaches() behind them");
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, add, one, x, 1, ndr_reaches(NULL)),
                   "argument 2 (ndr_reaches()) is a NULL shared allocation");
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, add, one, x, 1, ndr_reaches(x), ndr_reaches(foreign)),
                   "argument 3 (ndr_reaches()) is a shared allocation of another context");
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, add, one, x, ndr_reaches(x), ndr_reaches(x)),
                   "takes 2 arguments, but 1 is given");
    const ndr_nd_range range = { .global = one };
    assert_ok(ndr_launch(queue, add, one, x, 1)); /* after which another kind of argument takes a new OpenCL kernel */
    assert_refused(NDR_BAD_ARGUMENT, ndr_launch_v(queue, add, &range, NULL, 2, NULL),
                   "kernel \"add\": args is NULL, but arg_count is 2");
    assert_refused(NDR_BAD_ARGUMENT, ndr_shared_create(context, (ndr_shared_kind)9, 1, &foreign),
                   "ndr_shared_create: kind is 9, not an ndr_shared_kind");
    assert_refused(NDR_OUT_OF_BOUNDS, ndr_shared_read(queue, x, 12, 8, start, NULL), "at most 4 fit there");
    assert_refused(NDR_BAD_ARGUMENT, ndr_shared_copy(queue, x, 0, foreign, 0, 1, NULL), "ndr_shared_copy, to",
                   "different contexts");
    ndr_shared_destroy(foreign);
    ndr_context_destroy(other);
    ndr_shared_destroy(x);
}

/* As an argument, and by addresses that only memory contains. */
static void test_shared__a_kernel_with_reducers_takes_and_reaches_it(void **state)
{
    static const char text[] = "#include \"ndr/reduction.clh\"\n"
                               "typedef struct row { global const int *at; } row;\n"
                               "kernel void total(global const row *x, NDR_REDUCTION(1, (SUM, int, sum)))\n"
                               "{ NDR_REDUCE(i, 1, sum) { NDR_COMBINE(sum, *x[ndr_global_id(i, 0)].at); } }\n";
    enum { COUNT = 1000 };
    int got = 0;
    skip_without(has(NDR_SHARED_ANY), "the device has no shared memory");
    ndr_kernel *total = kernel_of(text, "total");
    ndr_shared *numbers = counting(NDR_SHARED_ANY, COUNT), *rows = shared_of(NDR_SHARED_ANY, COUNT * sizeof(int *));
    const int *first = ndr_shared_pointer(numbers), **row = (void *)map(rows, NDR_MAP_WRITE);
    for (int i = 0; i < COUNT; ++i) row[i] = first + COUNT - 1 - i;
    unmap(rows);
    ndr_buffer *sum = buffer_of(sizeof got, NULL);
    for (int i = 0; i < 2; ++i) {
        assert_ok(ndr_launch(queue, total, ndr_range_1d(COUNT), rows, ndr_reducer(NDR_OP_SUM, i, sum, 0), ndr_reaches(numbers)));
        read_buffer(sum, &got, sizeof got);
        assert_int_equal(got, (COUNT - 1) * (COUNT / 2) + i);
    }
    ndr_buffer_destroy(sum);
    ndr_shared_destroy(numbers);
    ndr_shared_destroy(rows);
}

/* ---- pointers in memory ---- */

/* A list that alternates between two allocations, and two more without a use. */
static void walk_list(int kind)
{
    enum { NODES = 500 };
    ndr_shared *halves[] = { shared_of(kind, NODES * sizeof(node)), shared_of(kind, NODES * sizeof(node)) };
    ndr_shared *sum = shared_of(kind, sizeof(int));
    node *half[] = { (void *)map(halves[0], NDR_MAP_WRITE), (void *)map(halves[1], NDR_MAP_WRITE) };
    for (int i = 0; i < 2 * NODES; ++i)
        half[i % 2][i / 2] = (node){ i + 1 < 2 * NODES ? &half[(i + 1) % 2][(i + 1) / 2] : NULL, i };
    unmap(halves[0]);
    unmap(halves[1]);

    ndr_kernel *walk = kernel_of(source, "walk");
    const int wanted = NODES * (2 * NODES - 1);
    for (int round = 0; round < 2; ++round) {
        assert_ok(ndr_launch(queue, walk, ndr_range_1d(1), halves[0], sum, ndr_reaches(halves[1])));
        assert_int_equal(map(sum, NDR_MAP_READ)[0], wanted + round * 2 * NODES);
        unmap(sum);
    }
    const node *seen = (void *)map(halves[1], NDR_MAP_READ);
    for (int i = 0; i < NODES; ++i) assert_int_equal(seen[i].value, 2 * i + 1 + 2);
    unmap(halves[1]);
    ndr_shared_destroy(sum);
    ndr_shared_destroy(halves[0]);
    ndr_shared_destroy(halves[1]);
}

static void test_shared__kernels_follow_pointers_in_memory(void **state)
{
    skip_without(has(NDR_SHARED_ANY), "the device has no shared memory");
    for (int kind = FIRST; kind < KINDS; ++kind)
        if (info_of((ndr_shared_kind)kind).is_host_accessible) walk_list(kind);
}

static void test_shared__kernels_follow_pointers_in_structs(void **state)
{
    int got[3];
    skip_without(has_any(), "the device has no shared memory");
    ndr_kernel *open = kernel_of(source, "open_box");
    for (int kind = FIRST; kind < KINDS; ++kind) {
        if (!has(kind)) continue;
        ndr_shared *x = counting(kind, 3);
        const box b = { (uintptr_t)ndr_shared_pointer(x), 50 };
        assert_ok(ndr_launch(queue, open, ndr_range_1d(3), ndr_struct(box, b), ndr_reaches(x)));
        assert_ok(ndr_shared_read(queue, x, 0, sizeof got, got, NULL));
        for (int i = 0; i < 3; ++i) assert_int_equal(got[i], 50 + i);
        ndr_shared_destroy(x);
    }
}

/* ---- prepared launches ---- */

static void test_shared__prepared_launches_keep_it(void **state)
{
    int got[2];
    skip_without(has_any(), "the device has no shared memory");
    ndr_kernel *add = kernel_of(source, "add"), *open = kernel_of(source, "open_box");
    for (int kind = FIRST; kind < KINDS; ++kind) {
        if (!has(kind)) continue;
        ndr_shared *x = counting(kind, 2), *y = counting(kind, 2), *out = shared_of(kind, sizeof got);
        ndr_prepared *by_argument = NULL, *by_pointer = NULL, *copy = NULL;
        const box b = { (uintptr_t)ndr_shared_pointer(x), 10 };
        assert_ok(ndr_prepare(add, &by_argument, ndr_range_1d(2), x, 1));
        assert_ok(ndr_prepare(open, &by_pointer, ndr_range_1d(2), ndr_struct(box, b), ndr_reaches(x)));
        assert_ok(ndr_prepare(kernel_of(source, "copy"), &copy, ndr_range_1d(2), out, x));
        ndr_shared_destroy(x);
        assert_ok(ndr_prepared_run(queue, by_argument, NULL));
        assert_ok(ndr_prepared_run(queue, by_pointer, NULL));
        assert_ok(ndr_prepared_run(queue, copy, NULL));
        assert_ok(ndr_prepared_set(by_argument, 0, ndr_arg_of(y)));
        assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_prepared_set(by_argument, 0, ndr_null),
                       "argument 0 \"x\" (int*) is a shared allocation in this prepared launch",
                       "prepare another launch");
        assert_ok(ndr_prepared_run(queue, by_argument, NULL));
        assert_ok(ndr_shared_read(queue, out, 0, sizeof got, got, NULL));
        for (int i = 0; i < 2; ++i) assert_int_equal(got[i], 11 + i);
        assert_ok(ndr_shared_read(queue, y, 0, sizeof got, got, NULL));
        for (int i = 0; i < 2; ++i) assert_int_equal(got[i], 1 + i);
        ndr_prepared_destroy(copy);
        ndr_prepared_destroy(by_argument);
        ndr_prepared_destroy(by_pointer);
        ndr_shared_destroy(y);
        ndr_shared_destroy(out);
    }
}

/* ---- mapping ---- */

static void test_shared__a_mapped_allocation_is_not_used_by_commands(void **state)
{
    int got;
    skip_without(has(NDR_SHARED_ANY), "the device has no shared memory");
    ndr_kernel *copy = kernel_of(source, "copy"), *open = kernel_of(source, "open_box");
    const ndr_range one = ndr_range_1d(1);
    for (int kind = FIRST; kind < KINDS; ++kind) {
        if (!info_of((ndr_shared_kind)kind).is_host_accessible) continue;
        ndr_shared *x = counting(kind, 1), *y = counting(kind, 1);
        const box b = { (uintptr_t)ndr_shared_pointer(x), 1 };
        ndr_prepared *prepared = NULL;
        assert_ok(ndr_prepare(copy, &prepared, one, x, y));
        map(x, NDR_MAP_READ);
        assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, copy, one, x, y),
                       "argument 0 \"to\" (int*) is a shared allocation that the host has mapped; unmap it first");
        assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_prepared_run(queue, prepared, NULL), "host has mapped");
        assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, open, one, ndr_struct(box, b), ndr_reaches(x)),
                       "argument 1 (ndr_reaches()) is a shared allocation that the host has mapped; unmap it first");
        assert_refused(NDR_BAD_ARGUMENT, ndr_shared_write(queue, x, 0, sizeof got, &got, NULL),
                       "ndr_shared_write: ", "mapped");
        assert_refused(NDR_BAD_ARGUMENT, ndr_shared_prefetch(queue, x, 0, 4, NULL), "mapped");
        assert_refused(NDR_BAD_ARGUMENT, ndr_shared_map(queue, x, NDR_MAP_READ, 0, 4, NULL), "mapped already");
        assert_ok(ndr_launch(queue, copy, one, y, x));
        assert_ok(ndr_shared_read(queue, x, 0, sizeof got, &got, NULL));
        unmap(x);
        map(x, NDR_MAP_READ_WRITE);
        assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, copy, one, y, x), "argument 1 \"from\"", "mapped");
        unmap(x);
        assert_ok(ndr_prepared_run(queue, prepared, NULL));
        assert_refused(NDR_BAD_ARGUMENT, ndr_shared_unmap(queue, x, ndr_shared_pointer(x), NULL), "ndr_shared_unmap: ",
                       "is not where this allocation is mapped; pass the address that ndr_shared_map() returned");
        map(y, NDR_MAP_WRITE); /* destroyed while it is mapped */
        ndr_prepared_destroy(prepared);
        ndr_shared_destroy(x);
        ndr_shared_destroy(y);
    }
}

static void test_shared__a_mapping_is_named_by_its_address(void **state)
{
    skip_without(has(NDR_SHARED_ANY), "the device has no shared memory");
    ndr_shared *x = counting(NDR_SHARED_ANY, 8);
    int *host = NULL, got = 0;
    assert_ok(ndr_shared_map(queue, x, NDR_MAP_READ_WRITE, 3 * sizeof(int), sizeof(int), (void **)&host));
    assert_ptr_equal(host, (int *)ndr_shared_pointer(x) + 3);
    *host = 33;
    assert_refused(NDR_BAD_ARGUMENT, ndr_shared_unmap(queue, x, ndr_shared_pointer(x), NULL), "is not where");
    assert_refused(NDR_BAD_ARGUMENT, ndr_shared_unmap(queue, x, NULL, NULL), "is not where");
    assert_ok(ndr_shared_unmap(queue, x, host, NULL));
    assert_ok(ndr_shared_read(queue, x, 3 * sizeof(int), sizeof(int), &got, NULL));
    assert_int_equal(got, 33);
    ndr_shared_destroy(x);
}

/* Behind an event that has not ended, so that a call that waits would not return. */
static void test_shared__transfers_with_an_event_do_not_wait(void **state)
{
    skip_without(has(NDR_SHARED_ANY), "the device has no shared memory");
    ndr_shared *x = shared_of(NDR_SHARED_ANY, sizeof(int));
    const int seven = 7;
    int got = 0;
    ndr_event *gate, *written, *read;
    assert_ok(ndr_event_create(context, &gate));
    assert_ok(ndr_shared_write(ndr_after(queue, gate), x, 0, sizeof seven, &seven, &written));
    assert_ok(ndr_shared_read(ndr_after(queue, written), x, 0, sizeof got, &got, &read));
    assert_ok(ndr_event_complete(gate));
    assert_ok(ndr_event_wait(read));
    assert_int_equal(got, 7);
    ndr_event_destroy(gate);
    ndr_event_destroy(written);
    ndr_event_destroy(read);
    ndr_shared_destroy(x);
}

static void test_shared__wrong_spans_are_refused(void **state)
{
    char host[16] = "";
    ndr_event *event = NULL;
    skip_without(has(NDR_SHARED_ANY), "the device has no shared memory");
    ndr_shared *x = shared_of(NDR_SHARED_ANY, 16), *none = shared_of(NDR_SHARED_ANY, 0);
    assert_non_null(ndr_shared_pointer(none));
    assert_int_equal(ndr_shared_size(none), 0);
    assert_null(ndr_shared_pointer(NULL));
    assert_refused(NDR_OUT_OF_BOUNDS, ndr_shared_map(queue, x, NDR_MAP_READ, 9, 8, NULL), "8 bytes from byte 9",
                   "allocation of 16 bytes");
    assert_refused(NDR_OUT_OF_BOUNDS, ndr_shared_read(queue, x, 17, 0, host, NULL), "from byte 17");
    assert_refused(NDR_OUT_OF_BOUNDS, ndr_shared_write(queue, x, 1, SIZE_MAX, host, NULL), "from byte 1");
    assert_refused(NDR_OUT_OF_BOUNDS, ndr_shared_prefetch(queue, none, 0, 1, NULL), "allocation of 0 bytes");
    assert_refused(NDR_BAD_ARGUMENT, ndr_shared_map(queue, x, NDR_MAP_READ, 0, 0, NULL), "0 bytes");
    assert_refused(NDR_BAD_ARGUMENT, ndr_shared_map(queue, x, (ndr_map_access)0, 0, 1, NULL),
                   "0 is not an ndr_map_access");
    assert_refused(NDR_BAD_ARGUMENT, ndr_shared_write(queue, x, 0, 1, NULL, NULL), "host is NULL, but size_bytes is 1");
    assert_refused(NDR_BAD_ARGUMENT, ndr_shared_copy(queue, x, 0, x, 7, 8, NULL), "8 bytes from byte 0 and to byte 7",
                   "overlap");
    assert_refused(NDR_BAD_ARGUMENT, ndr_shared_create(context, (ndr_shared_kind)6, 1, &none), "kind is 6");
    assert_refused(NDR_LIMIT_EXCEEDED, ndr_shared_create(context, NDR_SHARED_ANY, SIZE_MAX, &none), device.name);
    assert_ok(ndr_shared_copy(queue, x, 0, x, 8, 8, &event));
    assert_ok(ndr_event_wait(event));
    ndr_event_destroy(event);
    assert_ok(ndr_shared_write(queue, none, 0, 0, NULL, NULL));
    ndr_shared_destroy(x);
    ndr_shared_destroy(none);
}

static void test_shared__device_memory_is_not_mapped(void **state)
{
    skip_without(has(NDR_SHARED_DEVICE), "the device has no shared memory of the kind DEVICE");
    ndr_shared *x = shared_of(NDR_SHARED_DEVICE, 16);
    assert_refused(NDR_BAD_ARGUMENT, ndr_shared_map(queue, x, NDR_MAP_READ, 0, 16, NULL), "NDR_SHARED_DEVICE",
                   "ndr_shared_read()");
    ndr_shared_destroy(x);
}

/* ---- copies ---- */

static void test_shared__copies_between_all_kinds(void **state)
{
    int got[N];
    skip_without(has_any(), "the device has no shared memory");
    for (int from = FIRST; from < KINDS; ++from)
        for (int to = FIRST; to < KINDS; ++to) {
            if (!has(from) || !has(to)) continue;
            ndr_shared *x = counting(from, N), *y = counting(to, N);
            assert_ok(ndr_shared_copy(queue, x, 4, y, 400, 100 * sizeof(int), NULL));
            assert_ok(ndr_shared_read(queue, y, 0, sizeof got, got, NULL));
            for (int i = 0; i < N; ++i) assert_int_equal(got[i], i >= 100 && i < 200 ? i - 99 : i);
            ndr_shared_destroy(x);
            ndr_shared_destroy(y);
        }
}

/* ---- order ---- */

static void test_shared__commands_wait_for_events(void **state)
{
    skip_where_launches_are_waited_for();
    skip_without(has_any(), "the device has no shared memory");
    ndr_kernel *add = kernel_of(source, "add");
    for (int kind = FIRST; kind < KINDS; ++kind) {
        if (!has(kind)) continue;
        int got = -1;
        ndr_shared *x = counting(kind, 1), *y = counting(kind, 1);
        ndr_event *gate = NULL, *copied = NULL;
        ndr_event_state reached;
        assert_ok(ndr_event_create(context, &gate));
        assert_ok(ndr_launch(ndr_after(queue, gate), add, ndr_range_1d(1), x, 5));
        assert_ok(ndr_shared_copy(queue, x, 0, y, 0, sizeof got, &copied));
        assert_ok(ndr_event_get_state(copied, &reached));
        assert_int_not_equal(reached, NDR_EVENT_COMPLETE);
        assert_ok(ndr_event_complete(gate));
        assert_ok(ndr_shared_read(ndr_after(queue, copied), y, 0, sizeof got, &got, NULL));
        assert_int_equal(got, 5);
        ndr_event_destroy(gate);
        ndr_event_destroy(copied);
        ndr_shared_destroy(x);
        ndr_shared_destroy(y);
    }
}

static void test_shared__a_failure_reaches_its_commands(void **state)
{
    skip_where_launches_are_waited_for();
    skip_without(has(NDR_SHARED_ANY), "the device has no shared memory");
    ndr_shared *x = counting(NDR_SHARED_ANY, 1);
    ndr_event *gate = NULL, *moved = NULL;
    assert_ok(ndr_event_create(context, &gate));
    assert_ok(ndr_shared_prefetch(ndr_after(queue, gate), x, 0, 4, &moved));
    assert_ok(ndr_event_fail(gate, NDR_NOT_FOUND, "lost"));
    assert_refused(NDR_NOT_FOUND, ndr_event_wait(moved), "lost");
    assert_int_equal(ndr_queue_finish(queue), NDR_NOT_FOUND);
    ndr_event_destroy(gate);
    ndr_event_destroy(moved);
    ndr_shared_destroy(x);
}

/* The memory is freed at once, so all that uses it has ended before, on every queue and behind every reference. */
static void test_shared__destroying_waits_for_its_users(void **state)
{
    skip_where_launches_are_waited_for();
    skip_without(has_any(), "the device has no shared memory");
    ndr_kernel *spin = kernel_of(plain_kernels, "spin");
    ndr_queue *other = NULL;
    assert_ok(ndr_queue_create(context, NULL, &other));
    for (int kind = FIRST; kind < KINDS; ++kind) {
        if (!has(kind)) continue;
        ndr_shared *x = counting(kind, 64);
        ndr_event *events[2] = { NULL, NULL };
        for (int i = 0; i < 2; ++i) {
            ndr_queue *line = i ? other : queue;
            assert_ok(ndr_launch_event(line, spin, &events[i], ndr_nd_range_1d(64, 64), x, 1000000));
            assert_ok(ndr_queue_flush(line));
        }
        ndr_shared_destroy(x);
        for (int i = 0; i < 2; ++i) {
            ndr_event_state reached;
            assert_ok(ndr_event_get_state(events[i], &reached));
            assert_int_equal(reached, NDR_EVENT_COMPLETE);
            ndr_event_destroy(events[i]);
        }
    }
    ndr_queue_destroy(other);
}

/* A launch needs only the counts of mappings: a map that waits must not hold it up. */
static ndr_status map_later(void *given) { return ndr_shared_map(queue, given, NDR_MAP_READ, 0, 4, NULL); }

static void test_shared__a_map_that_waits_blocks_no_launch(void **state)
{
    skip_where_launches_are_waited_for();
    skip_without(has(NDR_SHARED_ANY), "the device has no shared memory");
    ndr_kernel *add = kernel_of(source, "add");
    ndr_shared *x = counting(NDR_SHARED_ANY, 1);
    ndr_queue *other = NULL;
    ndr_event *gate = NULL, *mapped = NULL;
    assert_ok(ndr_queue_create(context, NULL, &other));
    assert_ok(ndr_event_create(context, &gate));
    assert_ok(ndr_queue_barrier(ndr_after(queue, gate), NULL));
    assert_ok(ndr_host_task(other, map_later, x, &mapped));
    for (int i = 0; i < 50; ++i) assert_ok(ndr_launch(queue, add, ndr_range_1d(1), x, 1)); /* behind the gate */
    assert_ok(ndr_event_complete(gate));
    assert_ok(ndr_event_wait(mapped));
    unmap(x);
    assert_int_equal(map(x, NDR_MAP_READ)[0], 50);
    ndr_event_destroy(gate);
    ndr_event_destroy(mapped);
    ndr_queue_destroy(other);
    ndr_shared_destroy(x);
}

/* ---- traces ---- */

static void keep_table(const char *text, void *table) { snprintf(table, 4096, "%s", text); }

static void test_shared__its_commands_are_traced(void **state)
{
    skip_without(has(NDR_SHARED_COARSE), "the device has no coarse-grained memory");
    static const char *const rows[] = { "map shared", "unmap shared", "copy shared" };
    char table[4096] = "";
    ndr_context *made = NULL;
    ndr_queue *line = NULL;
    ndr_shared *x = NULL;
    assert_ok(ndr_trace_start(&(ndr_trace_desc){ .has_table = true, .callback = keep_table, .user = table }));
    assert_ok(ndr_context_create_with(&(ndr_context_desc){ .check = NDR_CHECK_OFF }, &made));
    assert_ok(ndr_queue_create(made, NULL, &line));
    assert_ok(ndr_shared_create(made, NDR_SHARED_COARSE, 64, &x));
    assert_ok(ndr_shared_map(line, x, NDR_MAP_WRITE, 0, 64, NULL));
    assert_ok(ndr_shared_unmap(line, x, ndr_shared_pointer(x), NULL));
    assert_ok(ndr_shared_copy(line, x, 0, x, 32, 32, NULL));
    ndr_shared_destroy(x);
    ndr_queue_destroy(line);
    ndr_context_destroy(made);
    for (size_t i = 0; i < 3; ++i)
        if (!strstr(table, rows[i])) fail_msg("the table lacks \"%s\":\n%s", rows[i], table);
}

/* ---- guard zones ---- */

static void test_shared__guard_zones_find_writes_outside(void **state)
{
    skip_without(has_any(), "the device has no shared memory");
    ndr_context *made = NULL;
    ndr_queue *line = NULL;
    ndr_kernel *put = NULL, *open = NULL;
    assert_ok(ndr_context_create_with(&(ndr_context_desc){ .check = NDR_CHECK_ON }, &made));
    assert_ok(ndr_queue_create(made, NULL, &line));
    assert_ok(ndr_kernel_get(made, &(ndr_kernel_desc){ .name = "put_at", .source = source }, &put));
    assert_ok(ndr_kernel_get(made, &(ndr_kernel_desc){ .name = "open_box", .source = source }, &open));
    for (int kind = FIRST; kind < KINDS; ++kind) {
        if (!has(kind)) continue;
        ndr_shared *x = NULL;
        unsigned fresh = 0;
        assert_ok(ndr_shared_create(made, (ndr_shared_kind)kind, 40, &x));
        assert_ok(ndr_shared_read(line, x, 36, sizeof fresh, &fresh, NULL));
        assert_int_equal(fresh, 0xfff0bad1);
        const ndr_range one = ndr_range_1d(1);
        assert_ok(ndr_launch(line, put, one, x, (int64_t)9));
        assert_refused(NDR_OUT_OF_BOUNDS, ndr_launch(line, put, one, x, (int64_t)10),
                       "kernel \"put_at\", argument 0 \"x\" (int*)", "wrote past the end of its shared allocation (40 bytes",
                       "byte 40 (of element 10)");
        assert_refused(NDR_OUT_OF_BOUNDS, ndr_launch(line, put, one, x, (int64_t)-1), "before the start");
        assert_ok(ndr_launch(line, put, one, x, (int64_t)0));
        const box b = { (uintptr_t)ndr_shared_pointer(x), 1 };
        assert_refused(NDR_OUT_OF_BOUNDS,
                       ndr_launch(line, open, ndr_range_1d(11), ndr_struct(box, b), ndr_reaches(x)),
                       "kernel \"open_box\"", "not among its arguments", "(40 bytes)");
        if (info_of((ndr_shared_kind)kind).is_host_accessible) {
            assert_ok(ndr_shared_map(line, x, NDR_MAP_READ_WRITE, 0, 40, NULL));
            ((volatile int *)ndr_shared_pointer(x))[10] = 1;
            assert_refused(NDR_OUT_OF_BOUNDS, ndr_shared_unmap(line, x, ndr_shared_pointer(x), NULL),
                           "ndr_shared_unmap: while the allocation was mapped", "past the end of the allocation");
        }
        ndr_shared_destroy(x);
        assert_refused(NDR_BAD_ARGUMENT, ndr_shared_read(line, x, 0, 4, &fresh, NULL), "destroyed");
        assert_refused(NDR_BAD_ARGUMENT, ndr_launch(line, put, one, x, (int64_t)0), "destroyed");
    }
    ndr_queue_destroy(line);
    ndr_context_destroy(made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shared__kinds_are_what_the_driver_says),
        cmocka_unit_test(test_shared__a_kind_that_is_lacking_is_refused),
        cmocka_unit_test(test_shared__any_is_a_kind_that_the_is_host_accessible),
        cmocka_unit_test(test_shared__its_pointers_are_arguments),
        cmocka_unit_test(test_shared__alternates_with_buffers),
        cmocka_unit_test(test_shared__wrong_arguments_are_refused),
        cmocka_unit_test(test_shared__a_kernel_with_reducers_takes_and_reaches_it),
        cmocka_unit_test(test_shared__kernels_follow_pointers_in_memory),
        cmocka_unit_test(test_shared__kernels_follow_pointers_in_structs),
        cmocka_unit_test(test_shared__prepared_launches_keep_it),
        cmocka_unit_test(test_shared__a_mapped_allocation_is_not_used_by_commands),
        cmocka_unit_test(test_shared__a_mapping_is_named_by_its_address),
        cmocka_unit_test(test_shared__transfers_with_an_event_do_not_wait),
        cmocka_unit_test(test_shared__wrong_spans_are_refused),
        cmocka_unit_test(test_shared__device_memory_is_not_mapped),
        cmocka_unit_test(test_shared__copies_between_all_kinds),
        cmocka_unit_test(test_shared__commands_wait_for_events),
        cmocka_unit_test(test_shared__a_failure_reaches_its_commands),
        cmocka_unit_test(test_shared__destroying_waits_for_its_users),
        cmocka_unit_test(test_shared__a_map_that_waits_blocks_no_launch),
        cmocka_unit_test(test_shared__its_commands_are_traced),
        cmocka_unit_test(test_shared__guard_zones_find_writes_outside),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
