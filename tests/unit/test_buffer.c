/* test_buffer.c - device memory: created, filled, copied, read, mapped; a refusal writes nothing. */
#include "support.h"

#include <sched.h>

#include "device/buffer.h"

enum { BYTES = 256 };
static unsigned char counting[BYTES]; /* 0, 1, 2 ... */

static int open_and_count(void **state)
{
    for (int i = 0; i < BYTES; ++i) counting[i] = (unsigned char)i;
    return open_device(state);
}

static ndr_buffer *counting_buffer(void) { return buffer_of(BYTES, counting); }

/* The buffer's bytes are `wanted`; it is destroyed. */
static void assert_holds_and_destroy(ndr_buffer *buffer, const void *wanted, size_t size_bytes)
{
    unsigned char *got = malloc(size_bytes);
    assert_non_null(got);
    take_buffer(buffer, got, size_bytes);
    assert_memory_equal(got, wanted, size_bytes);
    free(got);
}

/* ---- making ---- */

static void test_buffer__has_the_size_it_was_made_with(void **state)
{
    static const size_t sizes[] = { 0, 1, 3, 4096, 1000003 };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
        ndr_buffer *buffer = buffer_of(sizes[i], NULL);
        assert_int_equal(ndr_buffer_size(buffer), sizes[i]);
        ndr_buffer_destroy(buffer);
    }
}

static void test_buffer__null_has_no_size_and_may_be_destroyed(void **state)
{
    assert_int_equal(ndr_buffer_size(NULL), 0);
    ndr_buffer_destroy(NULL);
}

static void test_buffer__starts_as_a_copy(void **state)
{
    unsigned char host[BYTES];
    memcpy(host, counting, BYTES);
    ndr_buffer *buffer = buffer_of(BYTES, host);
    memset(host, 0xff, BYTES); /* the buffer has its own copy */
    assert_holds_and_destroy(buffer, counting, BYTES);
}

static void test_buffer__of_0_bytes_needs_no_memory(void **state)
{
    ndr_buffer *buffer;
    assert_ok(ndr_buffer_create_from(context, 0, NULL, &buffer));
    ndr_buffer_destroy(buffer);
    assert_ok(ndr_buffer_create_from(context, 0, counting, &buffer));
    ndr_buffer_destroy(buffer);
    assert_ok(ndr_buffer_create_over(context, 0, NULL, &buffer));
    assert_int_equal(ndr_buffer_size(buffer), 0);
    ndr_buffer_destroy(buffer);
}

static void test_buffer__refuses_null(void **state)
{
    ndr_buffer *buffer = NULL;
    unsigned char host[4];
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_create(NULL, 4, &buffer), "ndr_buffer_create",
                   "context is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_create(context, 4, NULL), "ndr_buffer_create",
                   "buffer is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_create_from(NULL, 4, host, &buffer), "context is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_create_from(context, 4, host, NULL), "buffer is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_create_from(context, 4, NULL, &buffer),
                   "ndr_buffer_create_from", "host is NULL, but size_bytes is 4");
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_create_over(NULL, 4, host, &buffer), "context is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_create_over(context, 4, host, NULL), "buffer is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_create_over(context, 4, NULL, &buffer),
                   "ndr_buffer_create_over", "host is NULL, but size_bytes is 4");
    assert_null(buffer);
}

static void test_buffer__over_the_device_s_largest_is_refused(void **state)
{
    ndr_buffer *buffer = NULL;
    char largest[64], asked[64];
    snprintf(largest, sizeof largest, "%zu bytes: use several buffers", device.max_buffer_bytes);
    snprintf(asked, sizeof asked, "%zu bytes", SIZE_MAX);
    assert_refused(NDR_LIMIT_EXCEEDED, ndr_buffer_create(context, device.max_buffer_bytes + 1, &buffer),
                   largest, device.name);
    assert_refused(NDR_LIMIT_EXCEEDED, ndr_buffer_create(context, SIZE_MAX, &buffer), asked);
    assert_refused(NDR_LIMIT_EXCEEDED, ndr_buffer_create_from(context, SIZE_MAX, counting, &buffer),
                   largest);
    assert_null(buffer);
}

static void test_buffer__over_host_memory_holds_what_is_there(void **state)
{
    void *host = aligned_alloc(4096, 4096);
    assert_non_null(host);
    memcpy(host, counting, BYTES);
    ndr_buffer *buffer;
    assert_ok(ndr_buffer_create_over(context, 4096, host, &buffer));
    assert_int_equal(ndr_buffer_size(buffer), 4096);
    assert_holds_and_destroy(buffer, counting, BYTES);
    free(host);
}

static void test_buffer__over_host_memory_shows_there_when_mapped(void **state)
{
    int *host = aligned_alloc(4096, 4096);
    assert_non_null(host);
    memset(host, 0, 4096);
    const int from[4] = { 5, 6, 7, 8 };
    ndr_buffer *over, *source = buffer_of(sizeof from, from);
    void *mapped = NULL;
    assert_ok(ndr_buffer_create_over(context, 4096, host, &over));
    assert_ok(ndr_launch(queue, kernel_of(plain_kernels, "copy_ints"), ndr_range_1d(4), over, source));
    assert_ok(ndr_buffer_map(queue, over, NDR_MAP_READ, 4, 12, &mapped));
    assert_ptr_equal(mapped, host + 1);
    assert_int_equal(host[1], 6);
    assert_int_equal(host[3], 8);
    assert_ok(ndr_buffer_unmap(queue, over, mapped, NULL));
    assert_ok(ndr_queue_finish(queue));
    destroy_buffers(over, source);
    free(host);
}

/* ---- options ---- */

static ndr_buffer *buffer_with(ndr_buffer_desc desc)
{
    ndr_buffer *buffer = NULL;
    assert_ok(ndr_buffer_create_with(context, &desc, &buffer));
    assert_int_equal(ndr_buffer_size(buffer), desc.size_bytes);
    return buffer;
}

/* Each combination that makes a buffer: what is allowed works. */
static void test_buffer__made_with_options_is_used_as_they_allow(void **state)
{
    ndr_kernel *copy_ints = kernel_of(plain_kernels, "copy_ints");
    ndr_buffer *other = counting_buffer();
    for (int kernels = NDR_ACCESS_READ_WRITE; kernels <= NDR_ACCESS_WRITE; ++kernels)
        for (int host = NDR_ACCESS_READ_WRITE; host <= NDR_ACCESS_NONE; ++host)
            for (int is_pinned = 0; is_pinned < 2; ++is_pinned) {
                unsigned char got[BYTES];
                ndr_buffer *made = buffer_with((ndr_buffer_desc){ .size_bytes = BYTES,
                                                                  .contents = counting,
                                                                  .is_pinned = is_pinned,
                                                                  .kernels = (ndr_access)kernels,
                                                                  .host = (ndr_access)host });
                assert_ok(ndr_buffer_copy(queue, made, 0, other, 0, BYTES, NULL));
                read_buffer(other, got, BYTES);
                assert_memory_equal(got, counting, BYTES);
                if (host == NDR_ACCESS_READ_WRITE || host == NDR_ACCESS_READ)
                    assert_ok(ndr_buffer_read(queue, made, 0, BYTES, got, NULL));
                if (host == NDR_ACCESS_READ_WRITE || host == NDR_ACCESS_WRITE)
                    assert_ok(ndr_buffer_write(queue, made, 0, BYTES, counting, NULL));
                if (kernels != NDR_ACCESS_WRITE)
                    assert_ok(ndr_launch(queue, copy_ints, ndr_range_1d(BYTES / 4), other, made));
                if (kernels != NDR_ACCESS_READ)
                    assert_ok(ndr_launch(queue, copy_ints, ndr_range_1d(BYTES / 4), made, other));
                ndr_buffer_destroy(made);
            }
    assert_holds_and_destroy(other, counting, BYTES);
}

static void test_buffer__refuses_the_host_what_its_options_exclude(void **state)
{
    unsigned char bytes[BYTES] = { 0 };
    void *mapped;
    const ndr_rect_desc four = { .extent = ndr_range_1d(4) };
    ndr_buffer *to_read = buffer_with((ndr_buffer_desc){ .size_bytes = BYTES, .host = NDR_ACCESS_READ }),
               *to_write = buffer_with((ndr_buffer_desc){ .size_bytes = BYTES, .host = NDR_ACCESS_WRITE }),
               *not = buffer_with((ndr_buffer_desc){ .size_bytes = BYTES, .host = NDR_ACCESS_NONE }), *view;
    const char *const reads =
        "created with write-only host access, so the host cannot read it; change ndr_buffer_desc.host";
    const char *const writes = "created with read-only host access, so the host cannot write it";
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_read(queue, to_write, 0, 4, bytes, NULL), "ndr_buffer_read: ", reads);
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_read_rect(queue, to_write, &four, bytes, NULL),
                   "ndr_buffer_read_rect: ", reads);
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_map(queue, to_write, NDR_MAP_READ, 0, 4, &mapped), reads);
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_map(queue, to_write, NDR_MAP_READ_WRITE, 0, 4, &mapped), reads);
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_write(queue, to_read, 0, 4, bytes, NULL), writes);
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_write_rect(queue, to_read, &four, bytes, NULL), writes);
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_map(queue, to_read, NDR_MAP_WRITE, 0, 4, &mapped), writes);
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_write(queue, not, 0, 4, bytes, NULL),
                   "without host access, so the host cannot write it");
    assert_ok(ndr_buffer_map(queue, to_write, NDR_MAP_WRITE, 0, 4, &mapped));
    assert_ok(ndr_buffer_unmap(queue, to_write, mapped, NULL));
    assert_ok(ndr_buffer_map(queue, to_read, NDR_MAP_READ, 0, 4, &mapped));
    assert_ok(ndr_buffer_unmap(queue, to_read, mapped, NULL));
    assert_ok(ndr_buffer_create_view(to_read, 0, 4, &view)); /* it inherits them */
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_write(queue, view, 0, 4, bytes, NULL), writes);
    destroy_buffers(view, to_read, to_write, not);
}

static void test_buffer__refuses_kernels_what_its_options_exclude(void **state)
{
    ndr_kernel *copy_ints = kernel_of(plain_kernels, "copy_ints");
    ndr_buffer *to_read = buffer_with((ndr_buffer_desc){ .size_bytes = BYTES, .kernels = NDR_ACCESS_READ }),
               *to_write = buffer_with((ndr_buffer_desc){ .size_bytes = BYTES, .kernels = NDR_ACCESS_WRITE });
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, copy_ints, ndr_range_1d(4), to_read, to_read),
                   "argument 0 \"to\"", "created read-only for kernels (ndr_buffer_desc.kernels)",
                   "declare the parameter const");
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, copy_ints, ndr_range_1d(4), to_write, to_write),
                   "argument 1 \"from\"",
                   "created write-only for kernels (ndr_buffer_desc.kernels), but this kernel reads it");
    destroy_buffers(to_read, to_write);
}

static void test_buffer__refuses_options_that_contradict(void **state)
{
    ndr_buffer *buffer = NULL;
    unsigned char host[4];
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_create_with(context, NULL, &buffer), "desc is NULL");
    assert_refused(NDR_BAD_ARGUMENT,
                   ndr_buffer_create_with(context, &(ndr_buffer_desc){ .size_bytes = 4, .kernels = NDR_ACCESS_NONE }, &buffer),
                   "ndr_buffer_create_with: kernels is 3; use NDR_ACCESS_READ_WRITE");
    assert_refused(NDR_BAD_ARGUMENT,
                   ndr_buffer_create_with(context, &(ndr_buffer_desc){ .size_bytes = 4, .host = (ndr_access)-1 }, &buffer),
                   "host is -1, not an ndr_access");
    assert_refused(NDR_BAD_ARGUMENT,
                   ndr_buffer_create_with(context, &(ndr_buffer_desc){ .size_bytes = 4, .contents = host, .over = host }, &buffer),
                   "over is set, but so is contents");
    assert_refused(NDR_BAD_ARGUMENT,
                   ndr_buffer_create_with(context, &(ndr_buffer_desc){ .size_bytes = 4, .over = host, .is_pinned = true }, &buffer),
                   "over is set, but so is is_pinned");
    assert_refused(NDR_LIMIT_EXCEEDED,
                   ndr_buffer_create_with(context, &(ndr_buffer_desc){ .size_bytes = SIZE_MAX, .is_pinned = true }, &buffer),
                   "exceeds the largest buffer");
    assert_null(buffer);
}

/* As docs/memory.md describes it: the mapped address is the host's side of other transfers. */
static void test_buffer__pinned_is_the_host_s_side_of_transfers(void **state)
{
    enum { LARGE = 100003 };
    unsigned char *host, *wanted = malloc(LARGE);
    ndr_event *done;
    assert_non_null(wanted);
    for (size_t i = 0; i < LARGE; ++i) wanted[i] = (unsigned char)(i % 241);
    ndr_buffer *pinned = buffer_with((ndr_buffer_desc){ .size_bytes = LARGE, .is_pinned = true }),
               *buffer = buffer_of(LARGE, NULL);
    assert_ok(ndr_buffer_map(queue, pinned, NDR_MAP_READ_WRITE, 0, LARGE, (void **)&host));
    memcpy(host, wanted, LARGE);
    assert_ok(ndr_buffer_write(queue, buffer, 0, LARGE, host, NULL));
    memset(host, 0, LARGE);
    assert_ok(ndr_buffer_read(queue, buffer, 0, LARGE, host, &done));
    ndr_event_destroy(done);
    assert_ok(ndr_queue_finish(queue));
    assert_memory_equal(host, wanted, LARGE);
    assert_ok(ndr_buffer_unmap(queue, pinned, host, NULL));
    ndr_buffer_destroy(buffer);
    assert_holds_and_destroy(pinned, wanted, LARGE);
    free(wanted);
}

/* ---- writing and reading ---- */

static void test_buffer__write_and_read_keep_to_their_span(void **state)
{
    unsigned char wanted[BYTES], got[16];
    memcpy(wanted, counting, BYTES);
    memset(wanted + 13, 0xee, 7);
    ndr_buffer *buffer = counting_buffer();
    assert_ok(ndr_buffer_write(queue, buffer, 13, 7, wanted + 13, NULL));
    memset(got, 0x11, sizeof got);
    assert_ok(ndr_buffer_read(queue, buffer, 12, 9, got + 2, NULL));
    assert_memory_equal(got + 2, wanted + 12, 9);
    assert_true(got[1] == 0x11 && got[11] == 0x11);
    assert_holds_and_destroy(buffer, wanted, BYTES);
}

static void test_buffer__write_has_taken_the_bytes_when_it_returns(void **state)
{
    unsigned char host[BYTES];
    memcpy(host, counting, BYTES);
    ndr_buffer *buffer = buffer_of(BYTES, NULL);
    assert_ok(ndr_buffer_write(queue, buffer, 0, BYTES, host, NULL));
    memset(host, 0, BYTES);
    assert_holds_and_destroy(buffer, counting, BYTES);
}

static void test_buffer__async_transfers_are_done_once_their_event_is(void **state)
{
    unsigned char got[BYTES] = { 0 };
    ndr_buffer *buffer = buffer_of(BYTES, NULL);
    ndr_event *written, *done;
    assert_ok(ndr_buffer_write(queue, buffer, 0, BYTES, counting, &written));
    assert_ok(ndr_buffer_read(queue, buffer, 100, 50, got + 100, &done));
    assert_ok(ndr_event_wait(done));
    assert_memory_equal(got + 100, counting + 100, 50);
    assert_int_equal(got[99], 0);
    assert_int_equal(got[150], 0);
    ndr_event_destroy(written);
    ndr_event_destroy(done);
    ndr_buffer_destroy(buffer);
}

static void test_buffer__transfers_go_on_without_their_event(void **state)
{
    unsigned char got[BYTES] = { 0 };
    ndr_event *write, *read;
    ndr_buffer *buffer = buffer_of(BYTES, NULL);
    assert_ok(ndr_buffer_write(queue, buffer, 0, BYTES, counting, &write));
    assert_ok(ndr_buffer_read(queue, buffer, 0, BYTES, got, &read));
    ndr_event_destroy(write);
    ndr_event_destroy(read);
    assert_ok(ndr_queue_finish(queue));
    assert_memory_equal(got, counting, BYTES);
    ndr_buffer_destroy(buffer);
}

static void test_buffer__destroyed_early_is_kept_by_its_work(void **state)
{
    unsigned char got[BYTES] = { 0 };
    ndr_event *done;
    ndr_buffer *from = counting_buffer(), *to = buffer_of(BYTES, NULL);
    assert_ok(ndr_buffer_copy(queue, from, 0, to, 0, BYTES, NULL));
    ndr_buffer_destroy(from);
    assert_ok(ndr_buffer_read(queue, to, 0, BYTES, got, &done));
    ndr_buffer_destroy(to);
    ndr_event_destroy(done);
    assert_ok(ndr_queue_finish(queue));
    assert_memory_equal(got, counting, BYTES);
}

/* ---- empty spans ---- */

static void test_buffer__transfers_of_0_bytes_do_nothing(void **state)
{
    ndr_buffer *buffer = counting_buffer();
    assert_ok(ndr_buffer_write(queue, buffer, BYTES, 0, NULL, NULL));
    assert_ok(ndr_buffer_read(queue, buffer, BYTES, 0, NULL, NULL));
    assert_ok(ndr_buffer_fill(queue, buffer, BYTES, 0, counting, 4, NULL));
    assert_ok(ndr_buffer_copy(queue, buffer, 5, buffer, 5, 0, NULL));
    assert_holds_and_destroy(buffer, counting, BYTES);
}

static void test_buffer__transfers_of_0_bytes_have_an_event_that_completes(void **state)
{
    ndr_buffer *buffer = buffer_of(0, NULL);
    ndr_event *done[4];
    assert_ok(ndr_buffer_write(queue, buffer, 0, 0, NULL, &done[0]));
    assert_ok(ndr_buffer_read(queue, buffer, 0, 0, NULL, &done[1]));
    assert_ok(ndr_buffer_fill(queue, buffer, 0, 0, counting, 1, &done[2]));
    assert_ok(ndr_buffer_copy(queue, buffer, 0, buffer, 0, 0, &done[3]));
    for (int i = 0; i < 4; ++i) {
        assert_ok(ndr_event_wait(done[i]));
        ndr_event_destroy(done[i]);
    }
    ndr_buffer_destroy(buffer);
}

/* ---- spans that do not fit ---- */

static void test_buffer__refuses_to_reach_past_its_end(void **state)
{
    ndr_buffer *buffer = counting_buffer(), *small = buffer_of(8, counting);
    unsigned char host[BYTES + 1];
    memset(host, 0x77, sizeof host);
    void *mapped = NULL;
    ndr_event *done = NULL;
    const char *const why = "reach past the end of a buffer of 256 bytes";
    assert_refused(NDR_OUT_OF_BOUNDS, ndr_buffer_write(queue, buffer, 0, BYTES + 1, host, NULL),
                   "ndr_buffer_write: ", why, "257 bytes from byte 0");
    assert_refused(NDR_OUT_OF_BOUNDS, ndr_buffer_read(queue, buffer, 250, 7, host, NULL), "ndr_buffer_read: ", why);
    assert_refused(NDR_OUT_OF_BOUNDS, ndr_buffer_write(queue, buffer, BYTES, 1, host, &done), "ndr_buffer_write", why);
    assert_refused(NDR_OUT_OF_BOUNDS, ndr_buffer_read(queue, buffer, BYTES + 1, 0, host, &done), "ndr_buffer_read",
                   why);
    assert_refused(NDR_OUT_OF_BOUNDS, ndr_buffer_fill(queue, buffer, 252, 8, host, 4, &done),
                   "ndr_buffer_fill", why);
    assert_refused(NDR_OUT_OF_BOUNDS, ndr_buffer_copy(queue, buffer, 250, small, 0, 7, &done),
                   "ndr_buffer_copy, from", why);
    assert_refused(NDR_OUT_OF_BOUNDS, ndr_buffer_copy(queue, buffer, 0, small, 2, 7, &done),
                   "ndr_buffer_copy, to", "7 bytes from byte 2 reach past the end of a buffer of 8 bytes");
    assert_refused(NDR_OUT_OF_BOUNDS, ndr_buffer_map(queue, buffer, NDR_MAP_READ, 200, 57, &mapped),
                   "ndr_buffer_map", why);
    assert_true(host[0] == 0x77 && !done && !mapped);
    assert_holds_and_destroy(small, counting, 8);
    assert_holds_and_destroy(buffer, counting, BYTES);
}

static void test_buffer__refuses_spans_whose_end_overflows(void **state)
{
    ndr_buffer *buffer = counting_buffer();
    unsigned char host[8] = { 0 };
    char most[32];
    snprintf(most, sizeof most, "from byte %zu", SIZE_MAX);
    assert_refused(NDR_OUT_OF_BOUNDS, ndr_buffer_read(queue, buffer, SIZE_MAX, 8, host, NULL), most);
    assert_refused(NDR_OUT_OF_BOUNDS, ndr_buffer_write(queue, buffer, SIZE_MAX - 3, 8, host, NULL), "past the end");
    assert_refused(NDR_OUT_OF_BOUNDS, ndr_buffer_read(queue, buffer, 8, SIZE_MAX, host, NULL), "past the end");
    assert_holds_and_destroy(buffer, counting, BYTES);
}

static void test_buffer__transfers_refuse_null(void **state)
{
    ndr_buffer *buffer = counting_buffer();
    unsigned char host[4] = { 0 };
    void *mapped;
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_write(NULL, buffer, 0, 4, host, NULL),
                   "ndr_buffer_write: queue is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_write(queue, NULL, 0, 4, host, NULL),
                   "ndr_buffer_write: buffer is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_write(queue, buffer, 0, 4, NULL, NULL),
                   "host is NULL, but size_bytes is 4");
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_read(NULL, buffer, 0, 4, host, NULL), "ndr_buffer_read: queue is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_read(queue, NULL, 0, 0, host, NULL), "ndr_buffer_read: buffer is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_read(queue, buffer, 0, 4, NULL, NULL), "host is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_write(queue, buffer, 0, 4, NULL, NULL), "host is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_read(queue, buffer, 0, 4, NULL, NULL), "host is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_fill(NULL, buffer, 0, 4, host, 4, NULL), "queue is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_fill(queue, NULL, 0, 4, host, 4, NULL), "buffer is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_fill(queue, buffer, 0, 4, NULL, 4, NULL),
                   "pattern is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_copy(NULL, buffer, 0, buffer, 8, 4, NULL), "queue is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_copy(queue, NULL, 0, buffer, 8, 4, NULL),
                   "from: buffer is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_copy(queue, buffer, 0, NULL, 8, 4, NULL),
                   "to: buffer is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_map(NULL, buffer, NDR_MAP_READ, 0, 4, &mapped),
                   "queue is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_map(queue, NULL, NDR_MAP_READ, 0, 4, &mapped),
                   "buffer is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_map(queue, buffer, NDR_MAP_READ, 0, 4, NULL),
                   "host is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_unmap(NULL, buffer, host, NULL), "queue is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_unmap(queue, NULL, host, NULL), "buffer is NULL");
    assert_holds_and_destroy(buffer, counting, BYTES);
}

static void test_buffer__refuses_a_queue_of_another_context(void **state)
{
    ndr_context *other;
    ndr_queue *line;
    ndr_buffer *mine = counting_buffer(), *theirs;
    unsigned char host[4] = { 0 };
    void *mapped;
    const char *const why = "queue and buffer belong to different contexts";
    assert_ok(ndr_context_create(NULL, &other));
    assert_ok(ndr_queue_create(other, NULL, &line));
    assert_ok(ndr_buffer_create(other, BYTES, &theirs));
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_write(line, mine, 0, 4, host, NULL), "ndr_buffer_write", why);
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_read(line, mine, 0, 0, host, NULL), "ndr_buffer_read", why);
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_fill(line, mine, 0, 4, host, 4, NULL), "ndr_buffer_fill",
                   why);
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_map(line, mine, NDR_MAP_READ, 0, 4, &mapped),
                   "ndr_buffer_map", why);
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_copy(queue, mine, 0, theirs, 0, 4, NULL),
                   "copy, to: ", why);
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_copy(line, mine, 0, theirs, 0, 4, NULL),
                   "copy, from: ", why);
    ndr_buffer_destroy(theirs);
    ndr_queue_destroy(line);
    ndr_context_destroy(other);
    assert_holds_and_destroy(mine, counting, BYTES);
}

/* ---- filling ---- */

static void test_buffer__fill_repeats_patterns_of_every_size(void **state)
{
    for (size_t pattern = 1; pattern <= 128; pattern *= 2) {
        unsigned char wanted[3 * 128 + 256];
        memset(wanted, 0, sizeof wanted);
        ndr_buffer *buffer = buffer_of(sizeof wanted, wanted);
        for (size_t i = 0; i < 3 * pattern; ++i) wanted[pattern + i] = counting[i % pattern + 1];
        assert_ok(ndr_buffer_fill(queue, buffer, pattern, 3 * pattern, counting + 1, pattern, NULL));
        assert_holds_and_destroy(buffer, wanted, sizeof wanted);
    }
}

static void test_buffer__fill_has_taken_the_pattern_when_it_returns(void **state)
{
    int pattern = 7, wanted[16];
    for (int i = 0; i < 16; ++i) wanted[i] = 7;
    ndr_buffer *buffer = buffer_of(sizeof wanted, NULL);
    assert_ok(ndr_buffer_fill(queue, buffer, 0, sizeof wanted, &pattern, sizeof pattern, NULL));
    pattern = 8;
    assert_holds_and_destroy(buffer, wanted, sizeof wanted);
}

static void test_buffer__fill_refuses_patterns_of_other_sizes(void **state)
{
    static const size_t sizes[] = { 0, 3, 12, 127, 129, 256, SIZE_MAX };
    ndr_buffer *buffer = counting_buffer();
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
        char given[64];
        snprintf(given, sizeof given, "128 bytes, not %zu", sizes[i]);
        assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_fill(queue, buffer, 0, 0, counting, sizes[i], NULL),
                       given);
    }
    assert_holds_and_destroy(buffer, counting, BYTES);
}

static void test_buffer__fill_refuses_spans_that_cut_a_pattern(void **state)
{
    ndr_buffer *buffer = counting_buffer();
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_fill(queue, buffer, 2, 8, counting, 4, NULL),
                   "offset 2 and size 8 must both be multiples of the pattern's 4 bytes");
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_fill(queue, buffer, 4, 6, counting, 4, NULL),
                   "offset 4 and size 6");
    assert_holds_and_destroy(buffer, counting, BYTES);
}

/* ---- copying ---- */

static void test_buffer__copy_keeps_to_its_span(void **state)
{
    unsigned char wanted[BYTES];
    memset(wanted, 0xcc, BYTES);
    ndr_buffer *from = counting_buffer(), *to = buffer_of(BYTES, wanted);
    memcpy(wanted + 31, counting + 101, 57);
    assert_ok(ndr_buffer_copy(queue, from, 101, to, 31, 57, NULL));
    assert_holds_and_destroy(to, wanted, BYTES);
    assert_holds_and_destroy(from, counting, BYTES);
}

static void test_buffer__copy_within_one_buffer_may_touch(void **state)
{
    unsigned char wanted[BYTES];
    memcpy(wanted, counting, BYTES);
    memcpy(wanted + 64, counting, 64);
    memcpy(wanted + 128, counting + 192, 64);
    ndr_buffer *buffer = counting_buffer();
    assert_ok(ndr_buffer_copy(queue, buffer, 0, buffer, 64, 64, NULL));
    assert_ok(ndr_buffer_copy(queue, buffer, 192, buffer, 128, 64, NULL));
    assert_holds_and_destroy(buffer, wanted, BYTES);
}

static void test_buffer__copy_refuses_spans_that_meet(void **state)
{
    ndr_buffer *buffer = counting_buffer();
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_copy(queue, buffer, 0, buffer, 63, 64, NULL),
                   "64 bytes from byte 0 and to byte 63 of the same buffer overlap");
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_copy(queue, buffer, 63, buffer, 0, 64, NULL), "overlap");
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_copy(queue, buffer, 8, buffer, 8, 1, NULL), "overlap");
    assert_holds_and_destroy(buffer, counting, BYTES);
}

/* ---- mapping ---- */

static void test_buffer__mapped_for_reading_shows_its_bytes(void **state)
{
    ndr_buffer *buffer = counting_buffer();
    void *host = NULL;
    assert_ok(ndr_buffer_map(queue, buffer, NDR_MAP_READ, 40, 80, &host));
    assert_memory_equal(host, counting + 40, 80);
    assert_ok(ndr_buffer_unmap(queue, buffer, host, NULL));
    assert_holds_and_destroy(buffer, counting, BYTES);
}

static void test_buffer__mapped_for_writing_takes_what_is_written(void **state)
{
    unsigned char wanted[BYTES];
    memcpy(wanted, counting, BYTES);
    memset(wanted + 40, 0xab, 80);
    ndr_buffer *buffer = counting_buffer();
    void *host = NULL;
    assert_ok(ndr_buffer_map(queue, buffer, NDR_MAP_WRITE, 40, 80, &host));
    memset(host, 0xab, 80);
    assert_ok(ndr_buffer_unmap(queue, buffer, host, NULL));
    assert_holds_and_destroy(buffer, wanted, BYTES);
}

static void test_buffer__mapped_for_both_keeps_what_is_not_changed(void **state)
{
    unsigned char wanted[BYTES];
    memcpy(wanted, counting, BYTES);
    wanted[50] = 0xab;
    ndr_buffer *buffer = counting_buffer();
    void *host = NULL;
    assert_ok(ndr_buffer_map(queue, buffer, NDR_MAP_READ_WRITE, 40, 80, &host));
    assert_memory_equal(host, counting + 40, 80);
    ((unsigned char *)host)[10] = 0xab;
    assert_ok(ndr_buffer_unmap(queue, buffer, host, NULL));
    assert_holds_and_destroy(buffer, wanted, BYTES);
}

static void test_buffer__map_waits_for_the_work_before_it(void **state)
{
    int x[64] = { 0 };
    ndr_buffer *buffer = buffer_of(sizeof x, x);
    void *host;
    for (int i = 0; i < 20; ++i)
        assert_ok(ndr_launch(queue, kernel_of(plain_kernels, "add_one"), ndr_range_1d(64), buffer));
    assert_ok(ndr_buffer_map(queue, buffer, NDR_MAP_READ, 0, sizeof x, &host));
    for (int i = 0; i < 64; ++i) assert_int_equal(((const int *)host)[i], 20);
    assert_ok(ndr_buffer_unmap(queue, buffer, host, NULL));
    ndr_buffer_destroy(buffer);
}

static void test_buffer__mapped_twice_is_free_after_both(void **state)
{
    ndr_kernel *add_one = kernel_of(plain_kernels, "add_one");
    ndr_buffer *buffer = counting_buffer();
    void *a, *b;
    assert_ok(ndr_buffer_map(queue, buffer, NDR_MAP_READ, 0, 64, &a));
    assert_ok(ndr_buffer_map(queue, buffer, NDR_MAP_READ_WRITE, 128, 64, &b));
    assert_ok(ndr_buffer_unmap(queue, buffer, a, NULL));
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, add_one, ndr_range_1d(1), buffer), "mapped");
    assert_ok(ndr_buffer_unmap(queue, buffer, b, NULL));
    assert_ok(ndr_launch(queue, add_one, ndr_range_1d(1), buffer));
    ndr_buffer_destroy(buffer);
}

/* In bytes of one memory, also through views. */
static void test_buffer__map_refuses_to_overlap_unless_both_read(void **state)
{
    static const char why[] = "overlaps an earlier one, and one of the two is for writing; unmap the earlier one first";
    static const ndr_map_access accesses[] = { NDR_MAP_READ, NDR_MAP_WRITE, NDR_MAP_READ_WRITE };
    const size_t align = device.view_align_bytes;
    ndr_buffer *whole = buffer_of(4 * align, NULL), *view;
    assert_ok(ndr_buffer_create_view(whole, align, 2 * align, &view));
    for (size_t i = 0; i < 9; ++i) {
        const ndr_map_access first = accesses[i / 3], second = accesses[i % 3];
        void *a, *b, *beside;
        assert_ok(ndr_buffer_map(queue, view, first, 0, align, &a));
        assert_ok(ndr_buffer_map(queue, whole, second, 2 * align, 4, &beside));
        const ndr_status status = ndr_buffer_map(queue, whole, second, 2 * align - 1, 1, &b);
        if (i > 0) assert_refused(NDR_BAD_ARGUMENT, status, "the mapping of 1 bytes", why);
        else assert_ok(status);
        if (i > 0) assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_map(queue, view, second, 0, align, &b), why);
        else assert_ok(ndr_buffer_unmap(queue, whole, b, NULL));
        assert_ok(ndr_buffer_unmap(queue, whole, beside, NULL));
        assert_ok(ndr_buffer_unmap(queue, view, a, NULL));
    }
    destroy_buffers(view, whole);
}

static void test_buffer__mapped_for_writing_is_kept_from_the_device(void **state)
{
    ndr_kernel *add_one = kernel_of(plain_kernels, "add_one"),
               *copy_ints = kernel_of(plain_kernels, "copy_ints");
    ndr_buffer *buffer = counting_buffer(), *other = counting_buffer();
    unsigned char bytes[4] = { 0 };
    void *host;
    const char *const why = "the host has the buffer mapped; unmap it first";
    assert_ok(ndr_buffer_map(queue, buffer, NDR_MAP_WRITE, 0, BYTES, &host));
    memcpy(host, counting, BYTES);
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, add_one, ndr_range_1d(4), buffer), "\"x\"",
                   "a buffer that the host has mapped; unmap it first");
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, copy_ints, ndr_range_1d(4), other, buffer),
                   "\"from\"", "a buffer that the host has mapped");
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_write(queue, buffer, 0, 4, bytes, NULL), "ndr_buffer_write", why);
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_read(queue, buffer, 0, 4, bytes, NULL), "ndr_buffer_read", why);
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_fill(queue, buffer, 0, 4, bytes, 4, NULL),
                   "ndr_buffer_fill", why);
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_copy(queue, buffer, 0, other, 0, 4, NULL),
                   "ndr_buffer_copy", why);
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_copy(queue, other, 0, buffer, 0, 4, NULL),
                   "ndr_buffer_copy", why);
    assert_ok(ndr_buffer_unmap(queue, buffer, host, NULL));
    assert_ok(ndr_queue_finish(queue));
    assert_holds_and_destroy(other, counting, BYTES);
    assert_holds_and_destroy(buffer, counting, BYTES);
}

static void test_buffer__mapped_for_reading_may_be_read_by_the_device(void **state)
{
    ndr_kernel *add_one = kernel_of(plain_kernels, "add_one"),
               *copy_ints = kernel_of(plain_kernels, "copy_ints");
    ndr_buffer *buffer = counting_buffer(), *other = buffer_of(BYTES, NULL);
    unsigned char bytes[4];
    void *host;
    assert_ok(ndr_buffer_map(queue, buffer, NDR_MAP_READ, 0, BYTES, &host));
    assert_ok(ndr_launch(queue, copy_ints, ndr_range_1d(BYTES / 4), other, buffer));
    assert_ok(ndr_buffer_read(queue, buffer, 0, 4, bytes, NULL));
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, add_one, ndr_range_1d(4), buffer), "mapped");
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, copy_ints, ndr_range_1d(4), buffer, other),
                   "\"to\"");
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_write(queue, buffer, 0, 4, bytes, NULL), "mapped");
    assert_ok(ndr_buffer_unmap(queue, buffer, host, NULL));
    assert_holds_and_destroy(other, counting, BYTES);
    assert_holds_and_destroy(buffer, counting, BYTES);
}

static void test_buffer__map_refuses_a_span_of_0_bytes(void **state)
{
    ndr_buffer *buffer = counting_buffer();
    void *host = NULL;
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_map(queue, buffer, NDR_MAP_READ, 0, 0, &host),
                   "a span of 0 bytes has no address");
    assert_null(host);
    assert_holds_and_destroy(buffer, counting, BYTES);
}

static void test_buffer__map_refuses_an_access_that_is_none(void **state)
{
    ndr_buffer *buffer = counting_buffer();
    void *host = NULL;
    static const int invalid[] = { 0, 4, -1 };
    for (int i = 0; i < 3; ++i) {
        char named[64];
        snprintf(named, sizeof named, "%d is not an ndr_map_access", invalid[i]);
        assert_refused(NDR_BAD_ARGUMENT,
                       ndr_buffer_map(queue, buffer, (ndr_map_access)invalid[i], 0, 4, &host), named);
    }
    assert_null(host);
    assert_holds_and_destroy(buffer, counting, BYTES);
}

static void test_buffer__unmap_refuses_an_address_that_is_not_mapped(void **state)
{
    ndr_buffer *buffer = counting_buffer();
    void *host;
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_unmap(queue, buffer, counting, NULL),
                   "is not where this buffer is mapped");
    assert_ok(ndr_buffer_map(queue, buffer, NDR_MAP_READ, 0, BYTES, &host));
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_unmap(queue, buffer, (char *)host + 1, NULL), "is not where");
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_unmap(queue, buffer, NULL, NULL), "is not where");
    assert_ok(ndr_buffer_unmap(queue, buffer, host, NULL));
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_unmap(queue, buffer, host, NULL), "is not where"); /* it was unmapped */
    assert_holds_and_destroy(buffer, counting, BYTES);
}

/* The final count. PoCL 3.1 decrements it only after waking the thread that waits for the unmapping. */
static cl_uint count_of(cl_mem cl, cl_mem_info what, cl_uint wanted)
{
    cl_uint count = 0;
    for (size_t polls = 0; polls < 1000000; ++polls) {
        assert_int_equal(clGetMemObjectInfo(cl, what, sizeof count, &count, NULL), CL_SUCCESS);
        if (count == wanted) break;
        sched_yield();
    }
    return count;
}

static void test_buffer__destroyed_while_mapped_is_unmapped(void **state)
{
    ndr_buffer *buffer = counting_buffer();
    void *host;
    assert_ok(ndr_buffer_map(queue, buffer, NDR_MAP_READ, 0, BYTES, &host));
    assert_ok(ndr_buffer_map(queue, buffer, NDR_MAP_READ, 128, 64, &host));
    const cl_mem cl = buffer->cl;
    assert_int_equal(clRetainMemObject(cl), CL_SUCCESS);
    ndr_buffer_destroy(buffer);
    assert_ok(ndr_queue_finish(queue));
    assert_int_equal(count_of(cl, CL_MEM_MAP_COUNT, 0), 0);
    assert_int_equal(count_of(cl, CL_MEM_REFERENCE_COUNT, 1), 1);
    clReleaseMemObject(cl);
}

static void test_buffer__mapped_through_a_destroyed_queue_is_unmapped_all_the_same(void **state)
{
    ndr_buffer *buffer = counting_buffer();
    ndr_queue *line;
    void *host;
    assert_ok(ndr_queue_create(context, NULL, &line));
    assert_ok(ndr_buffer_map(line, buffer, NDR_MAP_READ_WRITE, 0, BYTES, &host));
    assert_memory_equal(host, counting, BYTES);
    ndr_queue_destroy(line);
    ndr_buffer_destroy(buffer);
}

/* ---- threads ---- */

enum { THREADS = 64, SHARE = 48, SHARED = 64, ALL = THREADS * SHARE + SHARED };

typedef struct mapper {
    ndr_buffer *buffer; /* the whole or, for every other thread, a view of all of it */
    ndr_queue *line;
    size_t rounds, share; /* the thread's own bytes of the buffer */
    const char *wrong;    /* the first failure; only the main thread may use CMocka's checks */
} mapper;

/* Bytes that no thread writes. All threads map them at one address. */
static const char *look_at_the_last(const mapper *m)
{
    void *host = NULL;
    if (ndr_buffer_map(m->line, m->buffer, NDR_MAP_READ, THREADS * SHARE, SHARED, &host) != NDR_OK) return "map to read";
    const bool same = memcmp(host, counting, SHARED) == 0;
    if (ndr_buffer_unmap(m->line, m->buffer, host, NULL) != NDR_OK) return "unmap what was read";
    return same ? NULL : "bytes that are not the buffer's";
}

/* Every byte of the thread's share must be `before`. Add one to each. */
static const char *count_up_its_share(const mapper *m, unsigned char before)
{
    unsigned char *host = NULL;
    bool same = true;
    if (ndr_buffer_map(m->line, m->buffer, NDR_MAP_READ_WRITE, m->share, SHARE, (void **)&host) != NDR_OK)
        return "map to write";
    for (size_t i = 0; i < SHARE; ++i) same = same && host[i]++ == before;
    if (ndr_buffer_unmap(m->line, m->buffer, host, NULL) != NDR_OK) return "unmap what was written";
    return same ? NULL : "bytes that are not those written before";
}

static void *map_again_and_again(void *given)
{
    mapper *m = given;
    for (size_t round = 0; round < m->rounds && !m->wrong; ++round) {
        m->wrong = look_at_the_last(m);
        if (!m->wrong) m->wrong = count_up_its_share(m, (unsigned char)round);
    }
    return NULL;
}

/* Half of the threads share a queue, the others have their own. */
static void test_buffer__is_mapped_by_several_threads_at_a_time(void **state)
{
    skip_without(!quick(), "a simulator takes commands of one thread only");
    const size_t rounds = quick() ? 5 : 100;
    ndr_buffer *buffer = buffer_of(ALL, NULL), *view;
    mapper mappers[THREADS];
    pthread_t threads[THREADS];
    const unsigned char zero = 0;
    assert_ok(ndr_buffer_create_view(buffer, 0, ALL, &view));
    assert_ok(ndr_buffer_fill(queue, buffer, 0, THREADS * SHARE, &zero, 1, NULL));
    assert_ok(ndr_buffer_write(queue, buffer, THREADS * SHARE, SHARED, counting, NULL));
    assert_ok(ndr_queue_finish(queue));
    for (size_t i = 0; i < THREADS; ++i) {
        mappers[i] = (mapper){ i % 2 ? view : buffer, queue, rounds, i * SHARE, NULL };
        if (i >= THREADS / 2) assert_ok(ndr_queue_create(context, NULL, &mappers[i].line));
    }
    for (size_t i = 0; i < THREADS; ++i)
        assert_int_equal(pthread_create(&threads[i], NULL, map_again_and_again, &mappers[i]), 0);
    for (size_t i = 0; i < THREADS; ++i) assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (size_t i = 0; i < THREADS; ++i) {
        if (mappers[i].wrong) fail_msg("thread %zu: %s", i, mappers[i].wrong);
        if (i >= THREADS / 2) ndr_queue_destroy(mappers[i].line);
    }
    unsigned char ends[ALL];
    memset(ends, (unsigned char)rounds, THREADS * SHARE);
    memcpy(ends + THREADS * SHARE, counting, SHARED);
    ndr_buffer_destroy(view);
    assert_holds_and_destroy(buffer, ends, ALL);
}

/* ---- arrival ---- */

static __typeof__(clEnqueueWriteBuffer) *real_write;
static bool blocked, had_event;

static CL_API_ENTRY cl_int CL_API_CALL record_write(cl_command_queue line, cl_mem to, cl_bool blocks, size_t offset,
                                                    size_t bytes, const void *from, cl_uint count,
                                                    const cl_event *waits, cl_event *done)
{
    blocked = blocks;
    had_event = done != NULL;
    return real_write(line, to, blocks, offset, bytes, from, count, waits, done);
}

/* OpenCL's blocking write may return before: only the event tells. On a queue that otherwise blocks in the driver. */
static void test_buffer__a_write_waits_until_the_bytes_have_arrived(void **state)
{
    const int32_t seven = 7;
    ndr_queue *line;
    ndr_buffer *buffer = buffer_of(sizeof seven, NULL);
    assert_ok(ndr_queue_create(context, &(ndr_queue_desc){ .spin_ns = -1 }, &line));
    real_write = ndr_cl.clEnqueueWriteBuffer;
    ndr_cl.clEnqueueWriteBuffer = record_write;
    const ndr_status status = ndr_buffer_write(line, buffer, 0, sizeof seven, &seven, NULL);
    ndr_cl.clEnqueueWriteBuffer = real_write;
    assert_ok(status);
    assert_false(blocked);
    assert_true(had_event);
    ndr_queue_destroy(line);
    assert_holds_and_destroy(buffer, &seven, sizeof seven);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_buffer__has_the_size_it_was_made_with),
        cmocka_unit_test(test_buffer__null_has_no_size_and_may_be_destroyed),
        cmocka_unit_test(test_buffer__starts_as_a_copy),
        cmocka_unit_test(test_buffer__of_0_bytes_needs_no_memory),
        cmocka_unit_test(test_buffer__refuses_null),
        cmocka_unit_test(test_buffer__over_the_device_s_largest_is_refused),
        cmocka_unit_test(test_buffer__over_host_memory_holds_what_is_there),
        cmocka_unit_test(test_buffer__over_host_memory_shows_there_when_mapped),
        cmocka_unit_test(test_buffer__made_with_options_is_used_as_they_allow),
        cmocka_unit_test(test_buffer__refuses_the_host_what_its_options_exclude),
        cmocka_unit_test(test_buffer__refuses_kernels_what_its_options_exclude),
        cmocka_unit_test(test_buffer__refuses_options_that_contradict),
        cmocka_unit_test(test_buffer__pinned_is_the_host_s_side_of_transfers),
        cmocka_unit_test(test_buffer__write_and_read_keep_to_their_span),
        cmocka_unit_test(test_buffer__write_has_taken_the_bytes_when_it_returns),
        cmocka_unit_test(test_buffer__async_transfers_are_done_once_their_event_is),
        cmocka_unit_test(test_buffer__transfers_go_on_without_their_event),
        cmocka_unit_test(test_buffer__destroyed_early_is_kept_by_its_work),
        cmocka_unit_test(test_buffer__transfers_of_0_bytes_do_nothing),
        cmocka_unit_test(test_buffer__transfers_of_0_bytes_have_an_event_that_completes),
        cmocka_unit_test(test_buffer__refuses_to_reach_past_its_end),
        cmocka_unit_test(test_buffer__refuses_spans_whose_end_overflows),
        cmocka_unit_test(test_buffer__transfers_refuse_null),
        cmocka_unit_test(test_buffer__refuses_a_queue_of_another_context),
        cmocka_unit_test(test_buffer__fill_repeats_patterns_of_every_size),
        cmocka_unit_test(test_buffer__fill_has_taken_the_pattern_when_it_returns),
        cmocka_unit_test(test_buffer__fill_refuses_patterns_of_other_sizes),
        cmocka_unit_test(test_buffer__fill_refuses_spans_that_cut_a_pattern),
        cmocka_unit_test(test_buffer__copy_keeps_to_its_span),
        cmocka_unit_test(test_buffer__copy_within_one_buffer_may_touch),
        cmocka_unit_test(test_buffer__copy_refuses_spans_that_meet),
        cmocka_unit_test(test_buffer__mapped_for_reading_shows_its_bytes),
        cmocka_unit_test(test_buffer__mapped_for_writing_takes_what_is_written),
        cmocka_unit_test(test_buffer__mapped_for_both_keeps_what_is_not_changed),
        cmocka_unit_test(test_buffer__map_waits_for_the_work_before_it),
        cmocka_unit_test(test_buffer__mapped_twice_is_free_after_both),
        cmocka_unit_test(test_buffer__map_refuses_to_overlap_unless_both_read),
        cmocka_unit_test(test_buffer__mapped_for_writing_is_kept_from_the_device),
        cmocka_unit_test(test_buffer__mapped_for_reading_may_be_read_by_the_device),
        cmocka_unit_test(test_buffer__map_refuses_a_span_of_0_bytes),
        cmocka_unit_test(test_buffer__map_refuses_an_access_that_is_none),
        cmocka_unit_test(test_buffer__unmap_refuses_an_address_that_is_not_mapped),
        cmocka_unit_test(test_buffer__destroyed_while_mapped_is_unmapped),
        cmocka_unit_test(test_buffer__mapped_through_a_destroyed_queue_is_unmapped_all_the_same),
        cmocka_unit_test(test_buffer__is_mapped_by_several_threads_at_a_time),
        cmocka_unit_test(test_buffer__a_write_waits_until_the_bytes_have_arrived),
    };
    return cmocka_run_group_tests(tests, open_and_count, close_device);
}
