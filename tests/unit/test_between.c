/* test_between.c - ndr_buffer_transfer(): between contexts in each of its ways, order, failures, refusals. */
#include "driver_faults.h"

#include <time.h>

#include "device/buffer.h"
#include "device/context.h"
#include "device/pinned.h"
#include "device/queue.h"

enum { MAX_BYTES = (1 << 21) + 9 };

static ndr_context *other; /* half of the device if it can be divided, otherwise all of it */
static ndr_queue *other_queue;
static unsigned char sent[MAX_BYTES], got[MAX_BYTES];

static int open_both(void **state)
{
    open_device(state);
    const bool halves = can_be_halved();
    assert_ok(ndr_context_create_with(&(ndr_context_desc){ .part_count = halves ? 2 : 0, .part = halves }, &other));
    assert_ok(ndr_queue_create(other, NULL, &other_queue));
    for (size_t i = 0; i < MAX_BYTES; ++i) sent[i] = (unsigned char)(i * 2654435761u >> 11);
    return 0;
}

static int close_both(void **state)
{
    ndr_queue_destroy(other_queue);
    ndr_context_destroy(other);
    return close_device(state);
}

static ndr_buffer *other_buffer(size_t size_bytes)
{
    ndr_buffer *made;
    assert_ok(ndr_buffer_create(other, size_bytes, &made));
    return made;
}

static void read_other(ndr_buffer *buffer, size_t size_bytes)
{
    assert_ok(ndr_buffer_read(other_queue, buffer, 0, size_bytes, got, NULL));
}

static void wait_and_destroy(ndr_event *event)
{
    assert_ok(ndr_event_wait(event));
    ndr_event_destroy(event);
}

/* ---- the ways ---- */

typedef struct way {
    const char *name;
    bool from_shares, to_shares; /* claimed; a device that does not share the host's memory can be mapped, too */
    bool is_small;
} way;

static const way ways[] = { { "map the first", true, true, false },
                            { "map the second", false, true, false },
                            { "pieces", false, false, false },
                            { "read and write", true, true, true } };
enum { WAYS = 4 };
static bool really_shares[2];

static size_t small_bytes;

static void take(const way *w)
{
    small_bytes = ndr_max_small_bytes;
    ndr_max_small_bytes = w->is_small ? small_bytes : 0;
    really_shares[0] = context->caps.info.shares_host_memory;
    really_shares[1] = other->caps.info.shares_host_memory;
    context->caps.info.shares_host_memory = w->from_shares;
    other->caps.info.shares_host_memory = w->to_shares;
}

static void give_back(void)
{
    ndr_max_small_bytes = small_bytes;
    context->caps.info.shares_host_memory = really_shares[0];
    other->caps.info.shares_host_memory = really_shares[1];
}

typedef struct span {
    size_t from, to, bytes;
} span;

/* Bytes around those that are written stay. */
static void check_transfer(const way *w, span s, bool has_event)
{
    static const unsigned char fill = 0x5a;
    const size_t around = 7, whole = s.to + s.bytes + around;
    ndr_buffer *from = buffer_of(s.from + s.bytes, sent), *to = other_buffer(whole);
    ndr_event *done = NULL;
    assert_ok(ndr_buffer_fill(other_queue, to, 0, whole, &fill, 1, NULL));
    take(w);
    const ndr_status status =
        ndr_buffer_transfer(queue, from, s.from, other_queue, to, s.to, s.bytes, has_event ? &done : NULL);
    if (status == NDR_OK && has_event) wait_and_destroy(done);
    give_back();
    assert_ok(status);
    read_other(to, whole);
    for (size_t i = 0; i < whole; ++i) {
        const unsigned char wanted = i >= s.to && i < s.to + s.bytes ? sent[s.from + i - s.to] : fill;
        if (got[i] != wanted)
            fail_msg("%s%s: %zu bytes from %zu to %zu: byte %zu is %d, not %d", w->name, has_event ? ", later" : "",
                     s.bytes, s.from, s.to, i, got[i], wanted);
    }
    ndr_buffer_destroy(from);
    ndr_buffer_destroy(to);
}

static void check_ways(span s)
{
    for (size_t w = 0; w < WAYS; ++w)
        for (int has_event = 0; has_event < 2; ++has_event) check_transfer(&ways[w], s, has_event);
}

static void test_transfer__moves_any_bytes_in_each_way(void **state)
{
    static const size_t sizes[] = { 0, 1, 4096, 4097, 65521, (1 << 20) - 1, 1 << 20, (1 << 20) + 1 };
    const size_t count = quick() ? 4 : 8;
    for (size_t i = 0; i < count; ++i) check_ways((span){ i % 3, i % 2 ? 129 : 0, sizes[i] });
}

/* With the least pieces, so that slots are used again and the last piece has any length. */
static void test_transfer__in_many_pieces(void **state)
{
    const size_t largest = ndr_max_piece_bytes;
    uint64_t random = number_from_env("NDR_TEST_SEED", (uint64_t)time(NULL));
    print_message("NDR_TEST_SEED=%llu\n", (unsigned long long)random);
    for (int i = 0; i < (quick() ? 3 : 20); ++i) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        const span part = { (size_t)(random >> 13) % 100, (size_t)(random >> 23) % 100,
                            (size_t)(random >> 40) % 30000 };
        ndr_max_piece_bytes = 1 + (size_t)(random >> 33) % 3000;
        check_transfer(&ways[2], part, i % 2);
    }
    ndr_max_piece_bytes = largest;
}

static void test_transfer__keeps_its_memory_for_the_next_one(void **state)
{
    ndr_buffer *from = buffer_of(100, sent), *to = other_buffer(100);
    ndr_pinned *kept[2];
    for (int i = 0; i < 2; ++i) {
        take(&ways[2]);
        const ndr_status status = ndr_buffer_transfer(queue, from, 0, other_queue, to, 0, 100, NULL);
        give_back();
        assert_ok(status);
        assert_ok(ndr_pinned_borrow(context, 1, &kept[i]));
        assert_memory_equal(ndr_pinned_host(kept[i]), sent, 100);
        ndr_pinned_return(context, kept[i]);
    }
    assert_ptr_equal(kept[0], kept[1]);
    ndr_buffer_destroy(from);
    ndr_buffer_destroy(to);
}

static void test_transfer__between_views(void **state)
{
    const size_t align = device.view_align_bytes;
    ndr_buffer *from = buffer_of(3 * align, sent), *to = other_buffer(3 * align), *left, *right;
    assert_ok(ndr_buffer_create_view(from, align, align, &left));
    assert_ok(ndr_buffer_create_view(to, 2 * align, align, &right));
    for (size_t w = 0; w < WAYS; ++w) {
        assert_ok(ndr_buffer_fill(other_queue, to, 0, 3 * align, &(char){ 0 }, 1, NULL));
        take(&ways[w]);
        const ndr_status status = ndr_buffer_transfer(queue, left, 1, other_queue, right, 3, align - 3, NULL);
        give_back();
        assert_ok(status);
        read_other(to, 3 * align);
        assert_memory_equal(got + 2 * align + 3, sent + align + 1, align - 3);
        assert_int_equal(got[2 * align + 2], 0);
    }
    ndr_buffer_destroy(left);
    ndr_buffer_destroy(right);
    ndr_buffer_destroy(from);
    ndr_buffer_destroy(to);
}

/* ---- within a context ---- */

static void test_transfer__within_a_context_is_a_copy(void **state)
{
    ndr_queue *second;
    ndr_event *done;
    assert_ok(ndr_queue_create(context, NULL, &second));
    ndr_buffer *x = buffer_of(200, sent), *y = buffer_of(200, NULL);
    assert_ok(ndr_buffer_transfer(queue, x, 0, second, y, 0, 200, NULL));
    assert_ok(ndr_buffer_transfer(second, y, 50, queue, x, 150, 50, &done));
    assert_ok(ndr_buffer_transfer(queue, x, 150, queue, x, 0, 50, NULL));
    wait_and_destroy(done);
    read_buffer(x, got, 200);
    assert_memory_equal(got, sent + 50, 50);
    assert_memory_equal(got + 50, sent + 50, 100);
    assert_memory_equal(got + 150, sent + 50, 50);
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_transfer(queue, x, 0, second, x, 1, 100, NULL),
                   "ndr_buffer_transfer: 100 bytes from byte 0 and to byte 1 of the same buffer overlap");
    ndr_buffer_destroy(x);
    ndr_buffer_destroy(y);
    ndr_queue_destroy(second);
}

/* ---- order ---- */

/* What is before the transfer in both queues ends first, what is behind it in both comes later. */
static void check_order(ndr_context *to_context, ndr_queue *to_queue, bool gates_to)
{
    const int32_t three = 3, five = 5;
    int32_t ends[3] = { 0 };
    ndr_buffer *from = buffer_of(4, &(int32_t){ 1 }), *to, *copy;
    ndr_event *gate, *done;
    assert_ok(ndr_buffer_create(to_context, 4, &to));
    assert_ok(ndr_buffer_create(to_context, 4, &copy));
    assert_ok(ndr_event_create(gates_to ? to_context : context, &gate));
    if (!gates_to) assert_ok(ndr_buffer_fill(ndr_after(queue, gate), from, 0, 4, &three, 4, NULL));
    else assert_ok(ndr_buffer_fill(ndr_after(to_queue, gate), to, 0, 4, &five, 4, NULL));
    assert_ok(ndr_buffer_transfer(queue, from, 0, to_queue, to, 0, 4, &done));
    assert_ok(ndr_buffer_fill(queue, from, 0, 4, &five, 4, NULL));
    assert_ok(ndr_buffer_copy(to_queue, to, 0, copy, 0, 4, NULL));
    assert_ok(ndr_event_complete(gate));
    assert_ok(ndr_buffer_read(to_queue, copy, 0, 4, &ends[0], NULL));
    assert_ok(ndr_buffer_read(queue, from, 0, 4, &ends[1], NULL));
    assert_ok(ndr_buffer_read(to_queue, to, 0, 4, &ends[2], NULL));
    assert_int_equal(ends[0], gates_to ? 1 : 3);
    assert_int_equal(ends[1], 5);
    assert_int_equal(ends[2], ends[0]);
    wait_and_destroy(done);
    ndr_event_destroy(gate);
    ndr_buffer_destroy(from);
    ndr_buffer_destroy(to);
    ndr_buffer_destroy(copy);
}

static void test_transfer__is_a_command_of_both_queues(void **state)
{
    ndr_queue *second;
    assert_ok(ndr_queue_create(context, NULL, &second));
    for (int gates_to = 0; gates_to < 2; ++gates_to) {
        check_order(other, other_queue, gates_to);
        check_order(context, second, gates_to);
    }
    ndr_queue_destroy(second);
}

static void test_transfer__waits_for_the_events_of_both_sides(void **state)
{
    ndr_buffer *from = buffer_of(100, sent), *to = other_buffer(100);
    ndr_event *gates[2], *done;
    ndr_event_state now;
    assert_ok(ndr_event_create(context, &gates[0]));
    assert_ok(ndr_event_create(other, &gates[1]));
    for (int first = 0; first < 2; ++first) {
        assert_ok(ndr_buffer_transfer(ndr_after(queue, gates[0]), from, 0, ndr_after(other_queue, gates[1]), to, 0, 100,
                                      &done));
        if (first == 0) {
            assert_ok(ndr_event_complete(gates[0]));
            assert_ok(ndr_event_get_state(done, &now));
            assert_true(now == NDR_EVENT_QUEUED || now == NDR_EVENT_SUBMITTED);
            assert_ok(ndr_event_complete(gates[1]));
        }
        wait_and_destroy(done);
    }
    assert_ok(ndr_buffer_transfer(ndr_after(queue, gates[0]), from, 0, ndr_after(other_queue, gates[1]), to, 0, 100,
                                  NULL));
    read_other(to, 100);
    assert_memory_equal(got, sent, 100);
    ndr_event_destroy(gates[0]);
    ndr_event_destroy(gates[1]);
    ndr_buffer_destroy(from);
    ndr_buffer_destroy(to);
}

static void test_transfer__outlives_the_objects_that_it_was_made_with(void **state)
{
    ndr_context *short_lived;
    ndr_queue *line;
    ndr_buffer *from, *to = other_buffer(MAX_BYTES);
    ndr_event *gate, *done;
    assert_ok(ndr_context_create(NULL, &short_lived));
    assert_ok(ndr_queue_create(short_lived, NULL, &line));
    assert_ok(ndr_buffer_create_from(short_lived, MAX_BYTES, sent, &from));
    assert_ok(ndr_event_create(short_lived, &gate));
    assert_ok(ndr_buffer_transfer(ndr_after(line, gate), from, 0, other_queue, to, 0, MAX_BYTES, &done));
    ndr_buffer_destroy(from);
    ndr_queue_destroy(line);
    ndr_context_destroy(short_lived);
    assert_ok(ndr_event_complete(gate));
    ndr_event_destroy(gate);
    wait_and_destroy(done);
    read_other(to, MAX_BYTES);
    assert_memory_equal(got, sent, MAX_BYTES);
    ndr_buffer_destroy(to);
}

/* ---- failures ---- */

static void test_transfer__fails_with_the_work_before_it(void **state)
{
    for (int fails_to = 0; fails_to < 2; ++fails_to) {
        ndr_queue *line, *far;
        ndr_event *gate, *done, *behind;
        assert_ok(ndr_queue_create(context, NULL, &line));
        assert_ok(ndr_queue_create(other, NULL, &far));
        ndr_buffer *from = buffer_of(100, sent), *to = other_buffer(100);
        assert_ok(ndr_buffer_fill(far, to, 0, 100, &(char){ 7 }, 1, NULL));
        assert_ok(ndr_queue_finish(far));
        assert_ok(ndr_event_create(fails_to ? other : context, &gate));
        if (fails_to) assert_ok(ndr_buffer_transfer(line, from, 0, ndr_after(far, gate), to, 0, 100, &done));
        else assert_ok(ndr_buffer_transfer(ndr_after(line, gate), from, 0, far, to, 0, 100, &done));
        assert_ok(ndr_queue_mark(fails_to ? line : far, &behind));
        assert_ok(ndr_event_fail(gate, NDR_NOT_FOUND, "the cat is out"));
        assert_refused(NDR_NOT_FOUND, ndr_event_wait(done), "the cat is out");
        NDR_IGNORE(ndr_event_wait(behind)); /* drivers differ in whether a mark fails */
        read_other(to, 100);
        for (int i = 0; i < 100; ++i) assert_int_equal(got[i], 7);
        ndr_event_destroy(gate);
        ndr_event_destroy(done);
        ndr_event_destroy(behind);
        ndr_buffer_destroy(from);
        ndr_buffer_destroy(to);
        ndr_queue_destroy(line);
        ndr_queue_destroy(far);
    }
}

static void test_transfer__refuses_what_it_cannot_do(void **state)
{
    ndr_buffer *from = buffer_of(100, sent), *to = other_buffer(100), *closed;
    void *mapped;
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_transfer(NULL, from, 0, other_queue, to, 0, 1, NULL),
                   "ndr_buffer_transfer, from: queue is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_transfer(queue, from, 0, other_queue, NULL, 0, 1, NULL),
                   "ndr_buffer_transfer, to: buffer is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_transfer(queue, to, 0, other_queue, to, 0, 1, NULL),
                   "ndr_buffer_transfer, from: queue and buffer belong to different contexts");
    assert_refused(NDR_OUT_OF_BOUNDS, ndr_buffer_transfer(queue, from, 99, other_queue, to, 0, 2, NULL),
                   "ndr_buffer_transfer, from: 2 bytes from byte 99 reach past the end of a buffer of 100 bytes");
    assert_refused(NDR_OUT_OF_BOUNDS, ndr_buffer_transfer(queue, from, 0, other_queue, to, 101, 0, NULL),
                   "ndr_buffer_transfer, to:", "byte 101");
    assert_ok(ndr_buffer_map(other_queue, to, NDR_MAP_READ, 0, 1, &mapped));
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_transfer(queue, from, 0, other_queue, to, 0, 1, NULL),
                   "ndr_buffer_transfer, to: the host has the buffer mapped");
    assert_ok(ndr_buffer_unmap(other_queue, to, mapped, NULL));
    assert_ok(ndr_buffer_create_with(other, &(ndr_buffer_desc){ .size_bytes = 8, .host = NDR_ACCESS_READ }, &closed));
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_transfer(queue, from, 0, other_queue, closed, 0, 8, NULL),
                   "ndr_buffer_transfer, to: the buffer was created with read-only host access");
    ndr_buffer_destroy(closed);
    ndr_buffer_destroy(from);
    ndr_buffer_destroy(to);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_transfer__moves_any_bytes_in_each_way),
        cmocka_unit_test(test_transfer__in_many_pieces),
        cmocka_unit_test(test_transfer__keeps_its_memory_for_the_next_one),
        cmocka_unit_test(test_transfer__between_views),
        cmocka_unit_test(test_transfer__within_a_context_is_a_copy),
        cmocka_unit_test(test_transfer__is_a_command_of_both_queues),
        cmocka_unit_test(test_transfer__waits_for_the_events_of_both_sides),
        cmocka_unit_test(test_transfer__outlives_the_objects_that_it_was_made_with),
        cmocka_unit_test(test_transfer__fails_with_the_work_before_it),
        cmocka_unit_test(test_transfer__refuses_what_it_cannot_do),
    };
    return cmocka_run_group_tests(tests, open_both, close_both);
}
