/* test_fill.c - fills of buffers, also where there are more patterns than some drivers count. */
#include "faults/between.h"

#include "device/buffer.h"
#include "device/context.h"
#include "program/program.h"
#include "reference.h"

/* ---- large fills: recorded, not done ---- */

static struct {
    size_t next, commands; /* the byte that the next command must begin at */
    size_t pattern_bytes;
    const unsigned char *pattern;
    unsigned char tile[384]; /* of the buffer that is copied from */
} filling;

static void expect_bytes(const unsigned char *bytes, size_t count, size_t offset, size_t size)
{
    assert_true(offset == filling.next);
    for (size_t i = 0; i < count; ++i)
        assert_int_equal(bytes[i], filling.pattern[(offset + i) % filling.pattern_bytes]);
    filling.next += size;
    ++filling.commands;
}

static cl_int CL_API_CALL record_fill(cl_command_queue on, cl_mem memory, const void *pattern, size_t pattern_bytes,
                                      size_t offset, size_t size, cl_uint count, const cl_event *waits, cl_event *done)
{
    assert_true(offset % pattern_bytes == 0 && size % pattern_bytes == 0 && size > 0);
    assert_true((offset + size) / pattern_bytes <= INT32_MAX);
    expect_bytes(pattern, pattern_bytes, offset, size);
    if (done) *done = NULL;
    return CL_SUCCESS;
}

static __typeof__(clCreateBuffer) *real_create;
static __typeof__(clEnqueueFillBuffer) *real_fill;
static __typeof__(clEnqueueCopyBuffer) *real_copy;

static cl_mem CL_API_CALL record_create(cl_context in, cl_mem_flags flags, size_t size, void *host, cl_int *error)
{
    assert_int_equal(size, sizeof filling.tile);
    memcpy(filling.tile, host, size);
    return real_create(in, flags, size, host, error);
}

static cl_int CL_API_CALL record_copy(cl_command_queue on, cl_mem from, cl_mem to, size_t from_offset, size_t to_offset,
                                      size_t size, cl_uint count, const cl_event *waits, cl_event *done)
{
    assert_in_range(size, 1, 255);
    assert_true(from_offset + size <= sizeof filling.tile);
    expect_bytes(filling.tile + from_offset, size, to_offset, size);
    if (done) *done = NULL;
    return CL_SUCCESS;
}

static cl_int CL_API_CALL refuse_fill(cl_command_queue on, cl_mem memory, const void *pattern, size_t pattern_bytes,
                                      size_t offset, size_t size, cl_uint count, const cl_event *waits, cl_event *done)
{
    return CL_INVALID_VALUE;
}

static void record(__typeof__(clEnqueueFillBuffer) *fill)
{
    real_create = ndr_cl.clCreateBuffer;
    real_fill = ndr_cl.clEnqueueFillBuffer;
    real_copy = ndr_cl.clEnqueueCopyBuffer;
    ndr_cl.clCreateBuffer = record_create;
    ndr_cl.clEnqueueFillBuffer = fill;
    ndr_cl.clEnqueueCopyBuffer = record_copy;
}

static void stop_recording(void)
{
    ndr_cl.clCreateBuffer = real_create;
    ndr_cl.clEnqueueFillBuffer = real_fill;
    ndr_cl.clEnqueueCopyBuffer = real_copy;
}

/* A buffer that claims to have so many bytes. */
static ndr_buffer *large_buffer(void)
{
    ndr_buffer *buffer = buffer_of(64, NULL);
    buffer->size_bytes = SIZE_MAX / 2;
    return buffer;
}

static void test_fill__counts_patterns_in_31_bits(void **state)
{
    if (sizeof(size_t) < 8) skip();
    skip_without(!context->checker, "a guard zone moves the first byte");
    unsigned char pattern[128];
    for (size_t i = 0; i < sizeof pattern; ++i) pattern[i] = (unsigned char)(i * 37 + 1);
    ndr_buffer *x = large_buffer();
    record(record_fill);
    for (size_t bytes = 1; bytes <= 32; bytes *= 2) {
        const size_t most = (size_t)INT32_MAX * bytes;
        const size_t offsets[] = { 0, bytes, 3 * bytes, 128, most - bytes, most, most + bytes, most + 128 };
        const size_t sizes[] = { bytes, 2 * bytes, 128, 192, 256, 320, most - bytes, most, most + bytes, 2 * most };
        for (size_t o = 0; o < sizeof offsets / sizeof offsets[0]; ++o)
            for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; ++s) {
                filling.next = offsets[o];
                filling.commands = 0;
                filling.pattern = pattern;
                filling.pattern_bytes = bytes;
                assert_ok(ndr_buffer_fill(queue, x, offsets[o], sizes[s], pattern, bytes, NULL));
                assert_true(filling.next == offsets[o] + sizes[s]);
                if (filling.next <= most) assert_int_equal(filling.commands, 1);
            }
    }
    stop_recording();
    ndr_buffer_destroy(x);
}

/* The bytes before the first multiple of 128 are copied before the driver refuses the rest. */
static void test_fill__says_that_some_bytes_may_be_filled(void **state)
{
    if (sizeof(size_t) < 8) skip();
    skip_without(!context->checker, "a guard zone moves the first byte");
    static const unsigned char one = 1;
    const size_t most = INT32_MAX;
    ndr_buffer *x = large_buffer();
    record(refuse_fill);
    filling.next = 3;
    filling.pattern = &one;
    filling.pattern_bytes = 1;
    assert_refused(NDR_DRIVER_ERROR, ndr_buffer_fill(queue, x, 3, most, &one, 1, NULL),
                   "clEnqueueFillBuffer gave CL_INVALID_VALUE (-30); some of the bytes may be filled");
    assert_true(filling.next == 128);
    assert_int_equal(ndr_buffer_fill(queue, x, 0, most + 1, &one, 1, NULL), NDR_DRIVER_ERROR);
    stop_recording();
    assert_null(strstr(ndr_last_error(), "some of the bytes"));
    ndr_buffer_destroy(x);
}

/* ---- with a lower limit, so that small buffers will do ---- */

enum { BYTES = 4096, LIMIT = 500 };

static void fill_and_check(ndr_queue *line, ndr_buffer *x, size_t offset, size_t size, size_t pattern_bytes)
{
    unsigned char pattern[128], got[BYTES];
    const unsigned char zero = 0;
    for (size_t i = 0; i < sizeof pattern; ++i) pattern[i] = (unsigned char)(i * 37 + 1);
    ndr_event *cleared;
    assert_ok(ndr_buffer_fill(line, x, 0, BYTES, &zero, 1, &cleared));
    assert_ok(ndr_buffer_fill(ndr_after(line, cleared), x, offset, size, pattern, pattern_bytes, NULL));
    assert_ok(ndr_queue_finish(line));
    assert_ok(ndr_buffer_read(line, x, 0, sizeof got, got, NULL));
    for (size_t i = 0; i < BYTES; ++i)
        if (got[i] != (i >= offset && i < offset + size ? pattern[(i - offset) % pattern_bytes] : 0))
            fail_msg("byte %zu of a fill of %zu bytes from %zu by %zu is %d", i, size, offset, pattern_bytes, got[i]);
    ndr_event_destroy(cleared);
}

static size_t below(uint64_t *seed, size_t count) { return (size_t)(random_bits(seed) >> 33) % count; }

static void try_fills(ndr_queue *line)
{
    ndr_buffer *x = buffer_of(BYTES, NULL);
    uint64_t seed = number_from_env("NDR_TEST_SEED", 1);
    print_message("NDR_TEST_SEED=%llu\n", (unsigned long long)seed);
    ndr_max_fill_patterns = LIMIT;
    for (int round = 0; round < (quick() ? 40 : 300); ++round) {
        const size_t pattern_bytes = (size_t)1 << below(&seed, 6), most = BYTES / pattern_bytes;
        const size_t first = below(&seed, most), count = 1 + below(&seed, most - first);
        fill_and_check(line, x, first * pattern_bytes, count * pattern_bytes, pattern_bytes);
    }
    ndr_max_fill_patterns = INT32_MAX;
    ndr_buffer_destroy(x);
}

static void test_fill__behind_the_limit_is_the_same(void **state)
{
    try_fills(queue);
}

static void test_fill__behind_the_limit_is_the_same_out_of_order(void **state)
{
    ndr_queue *unordered = NULL;
    const ndr_status made = ndr_queue_create(context, &(ndr_queue_desc){ .is_out_of_order = true }, &unordered);
    skip_without(made != NDR_UNSUPPORTED, "the device has no out-of-order queues");
    assert_ok(made);
    try_fills(unordered);
    ndr_queue_destroy(unordered);
}

/* The fill returns before the event ends, which another call then fails. */
static void test_fill__behind_work_that_fails_does_not_block(void **state)
{
    skip_without(!quick(), "a simulator blocks in the fill itself");
    ndr_buffer *x = buffer_of(BYTES, NULL);
    ndr_event *gate, *done;
    const unsigned char seven = 7;
    ndr_max_fill_patterns = LIMIT;
    assert_ok(ndr_event_create(context, &gate));
    assert_ok(ndr_buffer_fill(ndr_after(queue, gate), x, 1001, 300, &seven, 1, &done));
    assert_ok(ndr_event_fail(gate, NDR_BAD_ARGUMENT, "on purpose"));
    assert_refused(NDR_BAD_ARGUMENT, ndr_event_wait(done), "on purpose");
    NDR_IGNORE(ndr_queue_finish(queue));
    ndr_max_fill_patterns = INT32_MAX;
    ndr_event_destroy(done);
    ndr_event_destroy(gate);
    ndr_buffer_destroy(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fill__counts_patterns_in_31_bits),
        cmocka_unit_test(test_fill__says_that_some_bytes_may_be_filled),
        cmocka_unit_test(test_fill__behind_the_limit_is_the_same),
        cmocka_unit_test(test_fill__behind_the_limit_is_the_same_out_of_order),
        cmocka_unit_test(test_fill__behind_work_that_fails_does_not_block),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
