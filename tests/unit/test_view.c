/* test_view.c - views: parts of a buffer that are used as buffers, checks of overlap, and mappings of both. */
#include "support.h"

#include "device/opencl.h"
#include "ndr/ndr_cl.h"
#include "reference.h"

static size_t align; /* of views on this device */

static int open_and_align(void **state)
{
    if (open_device(state) != 0) return -1;
    align = device.view_align_bytes;
    return 0;
}

static ndr_buffer *view_of(ndr_buffer *buffer, size_t offset_bytes, size_t size_bytes)
{
    ndr_buffer *view = NULL;
    assert_ok(ndr_buffer_create_view(buffer, offset_bytes, size_bytes, &view));
    assert_int_equal(ndr_buffer_size(view), size_bytes);
    return view;
}

/* Bytes 0, 1, 2 ... 250, 0 ... */
static unsigned char *count_up(size_t size_bytes)
{
    unsigned char *bytes = malloc(size_bytes);
    assert_non_null(bytes);
    for (size_t i = 0; i < size_bytes; ++i) bytes[i] = (unsigned char)(i % 251);
    return bytes;
}

static void assert_holds(ndr_buffer *buffer, const void *wanted, size_t size_bytes)
{
    unsigned char *got = malloc(size_bytes);
    assert_non_null(got);
    read_buffer(buffer, got, size_bytes);
    assert_memory_equal(got, wanted, size_bytes);
    free(got);
}

/* ---- making ---- */

static void test_view__shows_its_bytes_of_the_buffer(void **state)
{
    const size_t sizes[] = { 1, 127, 128, 129, 1009, 4096, 4097 };
    unsigned char *wanted = count_up(4 * align + 5000);
    ndr_buffer *whole = buffer_of(4 * align + 5000, wanted);
    for (size_t at = 0; at <= 4 * align; at += align)
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
            ndr_buffer *view = view_of(whole, at, sizes[i]);
            assert_holds(view, wanted + at, sizes[i]);
            ndr_buffer_destroy(view);
        }
    ndr_buffer_destroy(whole);
    free(wanted);
}

static void test_view__of_a_view_is_one_of_the_buffer(void **state)
{
    unsigned char *wanted = count_up(8 * align);
    ndr_buffer *whole = buffer_of(8 * align, wanted);
    ndr_buffer *outer = view_of(whole, 2 * align, 5 * align), *inner = view_of(outer, 3 * align, align + 7);
    assert_holds(inner, wanted + 5 * align, align + 7);
    memset(wanted + 5 * align, 0xee, align);
    assert_ok(ndr_buffer_write(queue, inner, 0, align, wanted + 5 * align, NULL));
    assert_holds(whole, wanted, 8 * align);
    destroy_buffers(whole, outer);
    assert_holds(inner, wanted + 5 * align, align + 7); /* the memory stays until its last view is gone */
    ndr_buffer_destroy(inner);
    free(wanted);
}

static void test_view__of_0_bytes_may_start_anywhere(void **state)
{
    const int wanted = 5;
    ndr_buffer *whole = buffer_of(sizeof wanted, &wanted);
    for (size_t at = 0; at <= sizeof wanted; ++at) {
        ndr_buffer *view = view_of(whole, at, 0);
        assert_ok(ndr_launch(queue, kernel_of(plain_kernels, "add_one"), ndr_range_1d(0), view));
        ndr_buffer_destroy(view);
    }
    assert_holds(whole, &wanted, sizeof wanted);
    ndr_buffer_destroy(whole);
}

static void test_view__refuses_what_does_not_fit(void **state)
{
    ndr_buffer *whole = buffer_of(2 * align, NULL), *view = NULL;
    char end[80];
    snprintf(end, sizeof end, "%zu bytes from byte %zu reach past the end of a buffer of %zu", align + 1, align, 2 * align);
    assert_refused(NDR_OUT_OF_BOUNDS, ndr_buffer_create_view(whole, align, align + 1, &view), "ndr_buffer_create_view",
                   end);
    assert_refused(NDR_OUT_OF_BOUNDS, ndr_buffer_create_view(whole, align, SIZE_MAX, &view), "past the end");
    assert_refused(NDR_OUT_OF_BOUNDS, ndr_buffer_create_view(whole, SIZE_MAX - align + 1, align, &view), "past the end");
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_create_view(NULL, 0, 1, &view), "buffer is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_create_view(whole, 0, 1, NULL), "view is NULL");
    assert_null(view);
    ndr_buffer_destroy(whole);
}

static void test_view__refuses_an_offset_that_is_not_aligned(void **state)
{
    skip_without(align > 1, "a view may start at any byte of this device");
    ndr_buffer *whole = buffer_of(4 * align, NULL), *view = NULL;
    char given[64], limit[96], advice[64];
    snprintf(given, sizeof given, "offset_bytes is %zu,", 2 * align + 1);
    snprintf(limit, sizeof limit, "starts at a multiple of %zu bytes (ndr_device_info.view_align_bytes)", align);
    snprintf(advice, sizeof advice, "start it at %zu,", 2 * align);
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_create_view(whole, 2 * align + 1, 4, &view), given, device.name, limit,
                   advice);
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_create_view(whole, align - 1, 4, &view), limit, "start it at 0,");
    assert_null(view);
    ndr_buffer_destroy(whole);
}

/* ---- using ---- */

static void test_view__is_an_argument_of_launches(void **state)
{
    enum { N = 97 };
    int wanted[N], none[N] = { 0 };
    for (int i = 0; i < N; ++i) wanted[i] = i;
    ndr_buffer *whole = buffer_of(align + 2 * (sizeof wanted + align), NULL);
    const size_t second = (align + sizeof wanted + align - 1) / align * align;
    ndr_buffer *from = view_of(whole, align, sizeof wanted), *to = view_of(whole, second, sizeof wanted);
    assert_ok(ndr_buffer_write(queue, whole, align, sizeof wanted, wanted, NULL));
    assert_ok(ndr_buffer_write(queue, whole, second, sizeof none, none, NULL));
    assert_ok(ndr_launch(queue, kernel_of(plain_kernels, "copy_ints"), ndr_range_1d(N), to, from));
    assert_ok(ndr_launch(queue, kernel_of(plain_kernels, "add_one"), ndr_range_1d(N), from));
    assert_ok(ndr_buffer_read(queue, whole, second, sizeof none, none, NULL));
    assert_memory_equal(none, wanted, sizeof wanted);
    for (int i = 0; i < N; ++i) ++wanted[i];
    assert_holds(from, wanted, sizeof wanted);
    destroy_buffers(from, to, whole);
}

static void test_view__is_an_operand_of_operations(void **state)
{
    enum { N = 4097 };
    static int ones[N];
    for (int i = 0; i < N; ++i) ones[i] = i % 3;
    const size_t output = (sizeof ones + align - 1) / align * align;
    ndr_buffer *whole = buffer_of(output + align, NULL);
    ndr_buffer *input = view_of(whole, 0, sizeof ones), *sum = view_of(whole, output, sizeof(int));
    assert_ok(ndr_buffer_write(queue, input, 0, sizeof ones, ones, NULL));
    const ndr_reduce_desc desc = {
        .dtype = NDR_DTYPE_I32, .op = NDR_OP_SUM, .input = { input, 0 }, .count = N, .output = { sum, 0 }
    };
    int got, wanted = 0;
    for (int i = 0; i < N; ++i) wanted += ones[i];
    assert_ok(ndr_reduce(queue, &desc, NULL));
    assert_ok(ndr_buffer_read(queue, whole, output, sizeof got, &got, NULL));
    assert_int_equal(got, wanted);
    destroy_buffers(whole, input, sum);
}

static void test_view__is_filled_and_copied(void **state)
{
    unsigned char *wanted = count_up(6 * align);
    ndr_buffer *whole = buffer_of(6 * align, wanted);
    ndr_buffer *low = view_of(whole, align, 2 * align), *high = view_of(whole, 4 * align, 2 * align);
    const unsigned char pattern[4] = { 7, 8, 9, 10 };
    assert_ok(ndr_buffer_fill(queue, high, 4, 8, pattern, sizeof pattern, NULL));
    memcpy(wanted + 4 * align + 4, pattern, 4);
    memcpy(wanted + 4 * align + 8, pattern, 4);
    assert_ok(ndr_buffer_copy(queue, high, 1, low, 3, 2 * align - 3, NULL));
    memcpy(wanted + align + 3, wanted + 4 * align + 1, 2 * align - 3);
    assert_ok(ndr_buffer_copy(queue, whole, 0, low, 0, 5, NULL)); /* the buffer and its view, apart */
    memcpy(wanted + align, wanted, 5);
    assert_holds(whole, wanted, 6 * align);
    assert_holds(high, wanted + 4 * align, 2 * align);
    destroy_buffers(low, high, whole);
    free(wanted);
}

static void test_view__over_host_memory_shows_there_when_mapped(void **state)
{
    const size_t size_bytes = (2 * align + 4095) / 4096 * 4096;
    unsigned char *host = aligned_alloc(4096, size_bytes);
    assert_non_null(host);
    memset(host, 1, size_bytes);
    const int seven = 7;
    ndr_buffer *over, *source = buffer_of(sizeof seven, &seven);
    void *mapped;
    assert_ok(ndr_buffer_create_over(context, size_bytes, host, &over));
    ndr_buffer *view = view_of(over, align, align);
    assert_ok(ndr_launch(queue, kernel_of(plain_kernels, "copy_ints"), ndr_range_1d(1), view, source));
    assert_ok(ndr_buffer_map(queue, view, NDR_MAP_READ, 0, align, &mapped));
    assert_ptr_equal(mapped, host + align);
    assert_memory_equal(mapped, &seven, sizeof seven);
    assert_ok(ndr_buffer_unmap(queue, view, mapped, NULL));
    destroy_buffers(source, over, view);
    assert_ok(ndr_queue_finish(queue));
    free(host);
}

/* ---- overlap ---- */

static void test_view__copy_refuses_views_that_overlap(void **state)
{
    unsigned char *wanted = count_up(4 * align);
    ndr_buffer *whole = buffer_of(4 * align, wanted);
    ndr_buffer *low = view_of(whole, 0, 3 * align), *high = view_of(whole, align, 3 * align);
    const char *const why = "of two buffers over the same memory overlap";
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_copy(queue, low, align, high, 0, align, NULL), why);
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_copy(queue, high, 0, low, 2 * align - 1, align, NULL), why);
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_copy(queue, whole, 2 * align, high, 0, align + 1, NULL), why);
    assert_ok(ndr_buffer_copy(queue, low, 0, high, 0, align, NULL)); /* they touch */
    memcpy(wanted + align, wanted, align);
    assert_ok(ndr_buffer_copy(queue, high, 2 * align, low, align, 0, NULL));
    assert_holds(whole, wanted, 4 * align);
    destroy_buffers(low, high, whole);
    free(wanted);
}

static ndr_status sum_into(ndr_buffer *input, size_t count, ndr_buffer *output, size_t offset)
{
    const ndr_reduce_desc desc = {
        .dtype = NDR_DTYPE_I32, .op = NDR_OP_SUM, .input = { input, 0 }, .count = count, .output = { output, offset }
    };
    return ndr_reduce(queue, &desc, NULL);
}

static void test_view__operations_refuse_views_that_overlap(void **state)
{
    unsigned char *zeros = calloc(1, 4 * align);
    assert_non_null(zeros);
    ndr_buffer *whole = buffer_of(4 * align, zeros);
    ndr_buffer *low = view_of(whole, 0, 3 * align), *high = view_of(whole, align, 3 * align);
    const size_t ints = align / sizeof(int);
    const char *const why = "of another buffer over the same memory: move one of them";
    assert_refused(NDR_BAD_ARGUMENT, sum_into(low, 3 * ints, high, 0), "output, elements 0 to 0", why);
    assert_refused(NDR_BAD_ARGUMENT, sum_into(low, 3 * ints, whole, 3 * ints - 1), why);
    assert_refused(NDR_BAD_ARGUMENT, sum_into(whole, ints + 1, high, 0), why);
    assert_ok(sum_into(low, ints, high, 0));
    assert_ok(sum_into(high, 2 * ints, low, ints - 1));
    assert_ok(ndr_queue_finish(queue));
    destroy_buffers(low, high, whole);
    free(zeros);
}

/* ---- mapping ---- */

static void test_view__mapped_keeps_the_device_from_its_bytes(void **state)
{
    unsigned char *wanted = count_up(4 * align), byte = 1;
    ndr_buffer *whole = buffer_of(4 * align, wanted);
    ndr_buffer *view = view_of(whole, align, align), *around = view_of(whole, 0, 2 * align),
               *apart = view_of(whole, 2 * align, align);
    unsigned char *host;
    const char *const why = "mapped";
    assert_ok(ndr_buffer_map(queue, view, NDR_MAP_READ_WRITE, 0, 3, (void **)&host));
    assert_memory_equal(host, wanted + align, 3);
    host[0] = wanted[align] = 77;
    ndr_kernel *add_one = kernel_of(plain_kernels, "add_one");
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, add_one, ndr_range_1d(1), view), why);
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, add_one, ndr_range_1d(1), whole), why);
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, add_one, ndr_range_1d(1), around), why);
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_read(queue, whole, 0, 1, &byte, NULL), why);
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_write(queue, around, 0, 1, &byte, NULL), why);
    assert_ok(ndr_buffer_write(queue, apart, 0, 1, &byte, NULL));
    wanted[2 * align] = 1;
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_unmap(queue, whole, host, NULL), "is not where this buffer is mapped");
    assert_ok(ndr_buffer_unmap(queue, view, host, NULL));
    assert_ok(ndr_queue_finish(queue));
    assert_holds(whole, wanted, 4 * align);
    destroy_buffers(view, around, apart, whole);
    free(wanted);
}

static void test_view__is_kept_from_the_device_by_a_mapping_of_its_buffer(void **state)
{
    unsigned char *wanted = count_up(4 * align);
    ndr_buffer *whole = buffer_of(4 * align, wanted);
    ndr_buffer *low = view_of(whole, 0, align), *high = view_of(whole, 2 * align, align);
    ndr_kernel *add_one = kernel_of(plain_kernels, "add_one"), *copy_ints = kernel_of(plain_kernels, "copy_ints");
    void *host;
    assert_ok(ndr_buffer_map(queue, whole, NDR_MAP_READ, align - 1, align, &host));
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, add_one, ndr_range_1d(1), low), "mapped");
    assert_ok(ndr_launch(queue, copy_ints, ndr_range_1d(1), high, low)); /* both only read it */
    assert_ok(ndr_buffer_unmap(queue, whole, host, NULL));
    assert_ok(ndr_launch(queue, add_one, ndr_range_1d(1), low));
    destroy_buffers(low, high, whole);
    free(wanted);
}

static void test_view__destroyed_while_mapped_is_unmapped(void **state)
{
    unsigned char *wanted = count_up(2 * align);
    ndr_buffer *whole = buffer_of(2 * align, wanted), *view = view_of(whole, 0, align), *other = view_of(whole, align, 8);
    void *host, *kept;
    assert_ok(ndr_buffer_map(queue, view, NDR_MAP_READ, 0, 8, &host));
    assert_ok(ndr_buffer_map(queue, view, NDR_MAP_READ_WRITE, 8, 8, &host));
    assert_ok(ndr_buffer_map(queue, other, NDR_MAP_READ, 0, 8, &kept));
    ndr_buffer_destroy(view);
    assert_memory_equal(kept, wanted + align, 8);
    assert_ok(ndr_buffer_unmap(queue, other, kept, NULL));
    assert_ok(ndr_launch(queue, kernel_of(plain_kernels, "add_one"), ndr_range_1d(1), whole));
    destroy_buffers(whole, other);
    free(wanted);
}

/* Nothing waits in between, so that the work of a view often ends after the view. PoCL 7.0 crashes if a sub-buffer goes
 * while a command uses the buffer. */
static void test_view__is_destroyed_while_its_buffer_is_used(void **state)
{
    const int32_t rounds = quick() ? 20 : 2000;
    ndr_buffer *whole = buffer_of(4 * align, NULL);
    for (int32_t i = 1; i <= rounds; ++i) {
        ndr_buffer *view = view_of(whole, (size_t)i % 4 * align, 4);
        assert_ok(ndr_buffer_fill(queue, whole, 0, 4 * align, &(const int32_t){ -i }, 4, NULL));
        assert_ok(ndr_buffer_fill(queue, view, 0, 4, &i, 4, NULL));
        ndr_buffer_destroy(view);
    }
    int32_t got;
    assert_ok(ndr_buffer_read(queue, whole, (size_t)rounds % 4 * align, 4, &got, NULL));
    assert_int_equal(got, rounds);
    assert_ok(ndr_buffer_read(queue, whole, (size_t)(rounds + 1) % 4 * align, 4, &got, NULL));
    assert_int_equal(got, -rounds);
    ndr_buffer_destroy(whole);
}

/* ---- OpenCL's sub-buffers ---- */

static void test_view__is_a_sub_buffer_for_opencl(void **state)
{
    unsigned char *wanted = count_up(4 * align);
    ndr_buffer *whole = buffer_of(4 * align, wanted), *view = view_of(whole, align, align + 3);
    size_t size_bytes = 0;
    assert_int_equal(clGetMemObjectInfo(ndr_buffer_cl(view), CL_MEM_SIZE, sizeof size_bytes, &size_bytes, NULL), CL_SUCCESS);
    assert_int_equal(size_bytes, align + 3);
    unsigned char got[3];
    assert_int_equal(clEnqueueReadBuffer(ndr_queue_cl(queue), ndr_buffer_cl(view), CL_TRUE, align, 3, got, 0, NULL, NULL),
                     CL_SUCCESS);
    assert_memory_equal(got, wanted + 2 * align, 3);
    destroy_buffers(view, whole);
    free(wanted);
}

/* A buffer over OpenCL's sub-buffer: views of it are views of the whole memory, and overlap is found. */
static void test_view__of_a_foreign_sub_buffer_is_one_of_its_memory(void **state)
{
    unsigned char *wanted = count_up(4 * align);
    cl_int error;
    cl_mem memory = clCreateBuffer(ndr_context_cl(context), CL_MEM_COPY_HOST_PTR, 4 * align, wanted, &error);
    assert_int_equal(error, CL_SUCCESS);
    cl_mem part = clCreateSubBuffer(memory, 0, CL_BUFFER_CREATE_TYPE_REGION,
                                    &(cl_buffer_region){ align, 2 * align }, &error);
    assert_int_equal(error, CL_SUCCESS);
    ndr_buffer *whole, *foreign;
    assert_ok(ndr_buffer_from_cl(context, memory, &whole));
    assert_ok(ndr_buffer_from_cl(context, part, &foreign));
    clReleaseMemObject(part);
    clReleaseMemObject(memory);
    ndr_buffer *view = view_of(foreign, align, align);
    assert_holds(view, wanted + 2 * align, align);
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_copy(queue, whole, 2 * align, view, 0, 1, NULL), "overlap");
    assert_ok(ndr_buffer_copy(queue, whole, 0, view, 0, align, NULL));
    assert_holds(view, wanted, align);
    destroy_buffers(foreign, whole);
    assert_holds(view, wanted, align);
    ndr_buffer_destroy(view);
    free(wanted);
}

/* ---- random ---- */

enum { VIEWS = 12, UNITS = 9 };

/* A view and the place of its bytes in the model. */
typedef struct modelled {
    ndr_buffer *buffer;
    size_t at, size;
} modelled;

static size_t below(uint64_t *seed, size_t count) { return (size_t)(random_bits(seed) >> 33) % count; }

static modelled random_view(uint64_t *seed, const modelled *of)
{
    modelled made = { .at = below(seed, of->size / align + 1) * align };
    made.size = below(seed, of->size - made.at + 1);
    made.buffer = view_of(of->buffer, made.at, made.size);
    made.at += of->at;
    return made;
}

/* One command on a random view, on the device and in the model. */
static void do_something(uint64_t *seed, const modelled *views, unsigned char *model)
{
    const modelled a = views[below(seed, VIEWS)], b = views[below(seed, VIEWS)];
    const size_t from = below(seed, a.size + 1), to = below(seed, b.size + 1);
    const size_t size = below(seed, (a.size - from < b.size - to ? a.size - from : b.size - to) + 1);
    const unsigned char value = (unsigned char)below(seed, 256);
    void *host;
    switch (below(seed, 3)) {
    case 0:
        assert_ok(ndr_buffer_fill(queue, a.buffer, from, size, &value, 1, NULL));
        memset(model + a.at + from, value, size);
        break;
    case 1: {
        const bool overlap = size > 0 && a.at + from < b.at + to + size && b.at + to < a.at + from + size;
        const ndr_status status = ndr_buffer_copy(queue, a.buffer, from, b.buffer, to, size, NULL);
        assert_int_equal(status, overlap ? NDR_BAD_ARGUMENT : NDR_OK);
        if (!overlap) memcpy(model + b.at + to, model + a.at + from, size);
        break;
    }
    default:
        if (size == 0) break;
        assert_ok(ndr_buffer_map(queue, a.buffer, NDR_MAP_READ_WRITE, from, size, &host));
        assert_memory_equal(host, model + a.at + from, size);
        memset(host, value, size / 2);
        memset(model + a.at + from, value, size / 2);
        assert_ok(ndr_buffer_unmap(queue, a.buffer, host, NULL));
    }
}

static void test_view__random_ones_hold_what_a_model_holds(void **state)
{
    const uint64_t first = number_from_env("NDR_TEST_SEED", 1);
    for (uint64_t s = first; s < first + (quick() ? 2 : 20); ++s) {
        print_message("seed %llu\n", (unsigned long long)s);
        uint64_t seed = s << 32; /* far from the next one's, because random_bits() counts up */
        const size_t size = UNITS * align + below(&seed, align);
        unsigned char *model = count_up(size);
        modelled views[VIEWS] = { { buffer_of(size, model), 0, size } };
        for (size_t i = 1; i < VIEWS; ++i) views[i] = random_view(&seed, &views[below(&seed, i)]);
        for (int i = 0; i < 40; ++i) do_something(&seed, views, model);
        for (size_t i = 0; i < VIEWS; ++i) assert_holds(views[i].buffer, model + views[i].at, views[i].size);
        for (size_t i = 0; i < VIEWS; ++i) ndr_buffer_destroy(views[(i * 5 + s) % VIEWS].buffer);
        free(model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_view__shows_its_bytes_of_the_buffer),
        cmocka_unit_test(test_view__of_a_view_is_one_of_the_buffer),
        cmocka_unit_test(test_view__of_0_bytes_may_start_anywhere),
        cmocka_unit_test(test_view__refuses_what_does_not_fit),
        cmocka_unit_test(test_view__refuses_an_offset_that_is_not_aligned),
        cmocka_unit_test(test_view__is_an_argument_of_launches),
        cmocka_unit_test(test_view__is_an_operand_of_operations),
        cmocka_unit_test(test_view__is_filled_and_copied),
        cmocka_unit_test(test_view__over_host_memory_shows_there_when_mapped),
        cmocka_unit_test(test_view__copy_refuses_views_that_overlap),
        cmocka_unit_test(test_view__operations_refuse_views_that_overlap),
        cmocka_unit_test(test_view__mapped_keeps_the_device_from_its_bytes),
        cmocka_unit_test(test_view__is_kept_from_the_device_by_a_mapping_of_its_buffer),
        cmocka_unit_test(test_view__destroyed_while_mapped_is_unmapped),
        cmocka_unit_test(test_view__is_destroyed_while_its_buffer_is_used),
        cmocka_unit_test(test_view__is_a_sub_buffer_for_opencl),
        cmocka_unit_test(test_view__of_a_foreign_sub_buffer_is_one_of_its_memory),
        cmocka_unit_test(test_view__random_ones_hold_what_a_model_holds),
    };
    return cmocka_run_group_tests(tests, open_and_align, close_device);
}
