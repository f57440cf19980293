/* test_rect.c - transfers of rectangles between buffers and the host's memory, compared with plain loops. */
#include "support.h"

#include "reference.h"

/* ---- a plain model ---- */

/* The place of element (i, j, k) of a rectangle, padded with dimensions of 1 in front. */
static size_t place_of(const ndr_rect_desc *d, const ndr_rect_side *s, const size_t at[3])
{
    const size_t element = d->element_bytes ? d->element_bytes : 1, pad = 3 - d->extent.dims;
    const size_t *size = d->extent.size;
    const size_t row = s->row_pitch_bytes ? s->row_pitch_bytes : size[d->extent.dims - 1] * element;
    const size_t plane = s->plane_pitch_bytes ? s->plane_pitch_bytes : d->extent.dims > 2 ? size[1] * row : 0;
    const size_t strides[3] = { plane, row, element };
    size_t place = s->offset_bytes;
    for (size_t i = pad; i < 3; ++i) place += (s->origin[i - pad] + at[i]) * strides[i];
    return place;
}

static void padded(const ndr_range *extent, size_t size[3])
{
    const size_t pad = 3 - extent->dims;
    for (size_t i = 0; i < 3; ++i) size[i] = i < pad ? 1 : extent->size[i - pad];
}

static void model_copy(const ndr_rect_desc *d, const unsigned char *from, unsigned char *to)
{
    size_t size[3], at[3];
    padded(&d->extent, size);
    for (at[0] = 0; at[0] < size[0]; ++at[0])
        for (at[1] = 0; at[1] < size[1]; ++at[1])
            for (at[2] = 0; at[2] < size[2]; ++at[2])
                memcpy(to + place_of(d, &d->to, at), from + place_of(d, &d->from, at),
                       d->element_bytes ? d->element_bytes : 1);
}

/* Whether both sides, in the same bytes, have one in common. */
static bool model_overlap(const ndr_rect_desc *d, size_t total)
{
    unsigned char *marks = calloc(1, total), *ones = malloc(total);
    assert_true(marks && ones);
    memset(ones, 1, total);
    const ndr_rect_desc turned = { d->extent, d->element_bytes, d->to, d->from };
    model_copy(&turned, ones, marks); /* marks what is read */
    ndr_rect_desc written = *d;
    written.from = written.to;
    unsigned char *before = malloc(total);
    assert_non_null(before);
    memcpy(before, marks, total);
    memset(marks, 0, total);
    model_copy(&written, ones, marks); /* and what is written */
    bool is_found = false;
    for (size_t i = 0; i < total; ++i) is_found = is_found || (marks[i] && before[i]);
    free(marks);
    free(ones);
    free(before);
    return is_found;
}

/* ---- random rectangles ---- */

enum { LARGEST = 40000 };

static unsigned char source[LARGEST], target[LARGEST], got[LARGEST];
static uint64_t seed;

static size_t below(size_t count) { return (size_t)(random_bits(&seed) >> 33) % count; }

/* A side that fits the extent; pitches and origins of 0 are likely. */
static ndr_rect_side random_side(const ndr_range *extent, size_t element)
{
    const unsigned dims = extent->dims;
    ndr_rect_side s = { .offset_bytes = below(3) ? 0 : below(100) };
    size_t stride = element;
    for (unsigned d = dims; d-- > 0;) {
        const bool has_origin = d == 0 || below(2);
        s.origin[d] = has_origin ? below(4) : 0;
        if (d == 0) break;
        size_t *pitch = d + 1 == dims ? &s.row_pitch_bytes : &s.plane_pitch_bytes;
        const size_t needed = (s.origin[d] + extent->size[d]) * stride;
        *pitch = s.origin[d] || below(2) ? needed + (d + 1 == dims ? below(7) : below(3) * stride) : 0;
        stride = *pitch ? *pitch : extent->size[d] * stride;
    }
    return s;
}

static ndr_rect_desc random_rect(void)
{
    static const size_t elements[] = { 0, 1, 2, 3, 4, 8, 16 };
    ndr_rect_desc d = { .extent.dims = 1 + (unsigned)below(3), .element_bytes = elements[below(7)] };
    for (unsigned i = 0; i < d.extent.dims; ++i) d.extent.size[i] = below(10) ? 1 + below(9) : 1;
    d.from = random_side(&d.extent, d.element_bytes ? d.element_bytes : 1);
    d.to = random_side(&d.extent, d.element_bytes ? d.element_bytes : 1);
    return d;
}

static void print_rect(const ndr_rect_desc *d)
{
    const ndr_rect_side *const sides[] = { &d->from, &d->to };
    print_message("extent %u: %zu %zu %zu of %zu bytes\n", d->extent.dims, d->extent.size[0], d->extent.size[1],
                  d->extent.size[2], d->element_bytes);
    for (int i = 0; i < 2; ++i)
        print_message("  %s byte %zu, origin %zu %zu %zu, pitches %zu %zu\n", i ? "to" : "from", sides[i]->offset_bytes,
                      sides[i]->origin[0], sides[i]->origin[1], sides[i]->origin[2], sides[i]->row_pitch_bytes,
                      sides[i]->plane_pitch_bytes);
}

static void assert_target(ndr_buffer *buffer, const ndr_rect_desc *d, const char *call)
{
    read_buffer(buffer, got, LARGEST);
    if (memcmp(got, target, LARGEST) == 0) return;
    print_rect(d);
    fail_msg("%s left other bytes than a plain loop", call);
}

/* By each of the calls, and each time all bytes are compared. */
static void try_rect(const ndr_rect_desc *d, ndr_buffer *from, ndr_buffer *to)
{
    ndr_event *done;
    for (size_t i = 0; i < LARGEST; ++i) target[i] = 0;
    assert_ok(ndr_buffer_write(queue, to, 0, LARGEST, target, NULL));
    model_copy(d, source, target);
    assert_ok(ndr_buffer_copy_rect(queue, from, to, d, NULL));
    assert_target(to, d, "ndr_buffer_copy_rect");
    memset(got, 0, LARGEST);
    assert_ok(ndr_buffer_write(queue, to, 0, LARGEST, got, NULL));
    if (below(2)) {
        assert_ok(ndr_buffer_write_rect(queue, to, d, source, NULL));
    } else {
        assert_ok(ndr_buffer_write_rect(queue, to, d, source, &done));
        assert_ok(ndr_event_wait(done));
        ndr_event_destroy(done);
    }
    assert_target(to, d, "ndr_buffer_write_rect");
    memset(got, 0, LARGEST);
    if (below(2)) {
        assert_ok(ndr_buffer_read_rect(queue, from, d, got, NULL));
    } else {
        assert_ok(ndr_buffer_read_rect(queue, from, d, got, &done));
        assert_ok(ndr_event_wait(done));
        ndr_event_destroy(done);
    }
    if (memcmp(got, target, LARGEST) == 0) return;
    print_rect(d);
    fail_msg("ndr_buffer_read_rect read other bytes than a plain loop");
}

static void test_rect__random_ones_are_transferred_as_by_a_plain_loop(void **state)
{
    const uint64_t first = number_from_env("NDR_TEST_SEED", 1), count = quick() ? 20 : 400;
    print_message("NDR_TEST_SEED=%llu\n", (unsigned long long)first);
    seed = first << 32;
    for (size_t i = 0; i < LARGEST; ++i) source[i] = (unsigned char)(1 + i % 253);
    ndr_buffer *from = buffer_of(LARGEST, source), *to = buffer_of(LARGEST, source);
    for (uint64_t i = 0; i < count; ++i) {
        const ndr_rect_desc d = random_rect();
        try_rect(&d, from, to);
    }
    destroy_buffers(from, to);
}

/* ---- within one memory ---- */

static void fail_for(const ndr_rect_desc *d, const char *why)
{
    print_rect(d);
    fail_msg("%s", why);
}

/* The result must be the model's, or a refusal. Rectangles that share a byte must be refused. Those that do not may be
 * refused only if OpenCL's rule counts more than their bytes, for rows that pass their pitch. */
static void try_within(const ndr_rect_desc *d, ndr_buffer *buffer, ndr_buffer *view, size_t shift, size_t *copied)
{
    ndr_rect_desc whole = *d; /* both sides as places in the buffer */
    whole.to.offset_bytes += shift;
    const bool is_shared = model_overlap(&whole, LARGEST);
    memcpy(target, source, LARGEST);
    assert_ok(ndr_buffer_write(queue, buffer, 0, LARGEST, source, NULL));
    const ndr_status status = ndr_buffer_copy_rect(queue, buffer, view, d, NULL);
    if (status == NDR_OK) model_copy(&whole, source, target);
    else if (!strstr(ndr_last_error(), "overlap")) fail_for(d, ndr_last_error());
    if (is_shared && status == NDR_OK) fail_for(d, "an overlap was not refused");
    const size_t row = d->extent.dims > 1 ? d->from.row_pitch_bytes : 0;
    const bool is_in_rows = row == 0 || (d->from.offset_bytes % row == 0 && whole.to.offset_bytes % row == 0);
    if (!is_shared && status != NDR_OK && is_in_rows && d->extent.dims < 3)
        fail_for(d, "rectangles that are apart were refused");
    assert_target(buffer, d, "ndr_buffer_copy_rect within one buffer");
    *copied += status == NDR_OK;
}

/* The side at another place of the same memory: the pitches are the same. */
static void move_side(ndr_rect_desc *d)
{
    d->to = d->from;
    d->to.offset_bytes = below(2) ? below(600) : d->from.offset_bytes + below(6) * d->from.row_pitch_bytes;
}

static void test_rect__random_ones_within_a_buffer_and_its_view(void **state)
{
    const size_t align = device.view_align_bytes, count = quick() ? 30 : 400;
    size_t copied = 0;
    seed = number_from_env("NDR_TEST_SEED", 1) << 32;
    ndr_buffer *buffer = buffer_of(LARGEST, source), *view;
    assert_ok(ndr_buffer_create_view(buffer, align, LARGEST - align, &view));
    for (size_t i = 0; i < count; ++i) {
        ndr_rect_desc d = random_rect();
        move_side(&d);
        if (below(2)) try_within(&d, buffer, buffer, 0, &copied);
        else try_within(&d, buffer, view, align, &copied);
    }
    assert_true(copied > count / 10);
    destroy_buffers(buffer, view);
}

/* 8 rows of 10 ints. */
static ndr_rect_desc part_of_8_by_10(size_t row, size_t col, size_t to_row, size_t to_col, size_t rows, size_t cols)
{
    return (ndr_rect_desc){ .extent = ndr_range_2d(rows, cols),
                            .element_bytes = 4,
                            .from = { .origin = { row, col }, .row_pitch_bytes = 40 },
                            .to = { .origin = { to_row, to_col }, .row_pitch_bytes = 40 } };
}

static void test_rect__within_one_buffer_may_touch_and_not_overlap(void **state)
{
    int ints[80], moved[80];
    for (int i = 0; i < 80; ++i) ints[i] = moved[i] = i;
    ndr_buffer *buffer = buffer_of(sizeof ints, ints);
    const ndr_rect_desc beside = part_of_8_by_10(0, 0, 0, 5, 8, 5), below_it = part_of_8_by_10(0, 0, 4, 0, 4, 3);
    const ndr_rect_desc corner = part_of_8_by_10(0, 0, 3, 4, 4, 5), itself = part_of_8_by_10(2, 2, 2, 2, 1, 1);
    const ndr_rect_desc narrow = { ndr_range_2d(2, 2), 4, { .row_pitch_bytes = 40 }, { .offset_bytes = 200, .row_pitch_bytes = 44 } };
    assert_ok(ndr_buffer_copy_rect(queue, buffer, buffer, &beside, NULL));
    model_copy(&beside, (unsigned char *)ints, (unsigned char *)moved);
    assert_ok(ndr_buffer_copy_rect(queue, buffer, buffer, &below_it, NULL));
    memcpy(ints, moved, sizeof ints);
    model_copy(&below_it, (unsigned char *)ints, (unsigned char *)moved);
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_copy_rect(queue, buffer, buffer, &corner, NULL),
                   "the rectangles at byte 0 of from and at byte 136 of to overlap in memory");
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_copy_rect(queue, buffer, buffer, &itself, NULL), "overlap");
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_copy_rect(queue, buffer, buffer, &narrow, NULL), "need the same pitches",
                   "rows are 40 and 44 bytes apart");
    take_buffer(buffer, ints, sizeof ints);
    assert_memory_equal(ints, moved, sizeof ints);
}

/* ---- empty ones ---- */

static void test_rect__without_elements_does_nothing(void **state)
{
    static const ndr_range empty[] = { { 1, { 0 } }, { 2, { 0, 5 } }, { 2, { SIZE_MAX, 0 } }, { 3, { 2, 0, SIZE_MAX } } };
    const int wanted[4] = { 1, 2, 3, 4 };
    ndr_buffer *buffer = buffer_of(sizeof wanted, wanted);
    ndr_event *done;
    for (size_t i = 0; i < sizeof empty / sizeof empty[0]; ++i) {
        const ndr_rect_desc d = { .extent = empty[i], .element_bytes = 4, .from.offset_bytes = 1000 };
        assert_ok(ndr_buffer_copy_rect(queue, buffer, buffer, &d, &done));
        assert_ok(ndr_event_wait(done));
        ndr_event_destroy(done);
        assert_ok(ndr_buffer_write_rect(queue, buffer, &d, NULL, NULL));
        assert_ok(ndr_buffer_read_rect(queue, buffer, &d, NULL, NULL));
    }
    take_buffer(buffer, got, sizeof wanted);
    assert_memory_equal(got, wanted, sizeof wanted);
}

/* ---- refusals ---- */

static ndr_buffer *small; /* 1000 bytes */

static ndr_status copy_part(ndr_rect_desc d)
{
    ndr_buffer *to = buffer_of(10000, NULL);
    const ndr_status status = ndr_buffer_copy_rect(queue, small, to, &d, NULL);
    ndr_buffer_destroy(to);
    return status;
}

static void test_rect__refuses_what_does_not_fit_by_dimension(void **state)
{
    small = buffer_of(1000, NULL);
    const ndr_range flat = ndr_range_2d(10, 20), deep = ndr_range_3d(5, 4, 3);
    const ndr_rect_side dense = { 0 };
    const size_t huge = SIZE_MAX / 2;
    char most[64];
    snprintf(most, sizeof most, "origin %zu and extent 2", SIZE_MAX);
    assert_refused(NDR_OUT_OF_BOUNDS, copy_part((ndr_rect_desc){ flat, 4, { .row_pitch_bytes = 103 }, dense }),
                   "ndr_buffer_copy_rect, from, dimension 0: origin 0 and extent 10 reach past the end of a buffer of 1000 "
                   "bytes",
                   "row_pitch_bytes 103");
    assert_ok(copy_part((ndr_rect_desc){ flat, 4, { .row_pitch_bytes = 102 }, dense })); /* 9 * 102 + 80 = 998 */
    assert_refused(NDR_OUT_OF_BOUNDS, copy_part((ndr_rect_desc){ flat, 4, { .offset_bytes = 921 }, dense }),
                   "dimension 1: origin 0 and extent 20", "offset_bytes 921");
    assert_refused(NDR_OUT_OF_BOUNDS,
                   copy_part((ndr_rect_desc){ deep, 4, { .row_pitch_bytes = 48, .plane_pitch_bytes = 240 }, dense }),
                   "dimension 0: origin 0 and extent 5", "plane_pitch_bytes 240");
    assert_refused(NDR_BAD_ARGUMENT, copy_part((ndr_rect_desc){ flat, 4, { .origin = { 0, 1 } }, dense }),
                   "dimension 1: origin 1 and extent 20 of 4 bytes each do not fit into row_pitch_bytes, 80; increase it");
    assert_refused(NDR_BAD_ARGUMENT, copy_part((ndr_rect_desc){ flat, 4, dense, { .row_pitch_bytes = 79 } }),
                   "ndr_buffer_copy_rect, to, dimension 1", "row_pitch_bytes, 79");
    assert_refused(NDR_BAD_ARGUMENT,
                   copy_part((ndr_rect_desc){ deep, 4, { .row_pitch_bytes = 12, .plane_pitch_bytes = 47 }, dense }),
                   "dimension 1: origin 0 and extent 4 of 12 bytes each do not fit into plane_pitch_bytes, 47");
    assert_refused(NDR_BAD_ARGUMENT,
                   copy_part((ndr_rect_desc){ deep, 4, { .row_pitch_bytes = 12, .plane_pitch_bytes = 50 }, dense }),
                   "plane_pitch_bytes is 50; it must be a multiple of row_pitch_bytes, 12");
    assert_refused(NDR_OUT_OF_BOUNDS, copy_part((ndr_rect_desc){ { 1, { huge } }, 4, dense, dense }), "dimension 0",
                   "past the end");
    assert_refused(NDR_OUT_OF_BOUNDS, copy_part((ndr_rect_desc){ { 1, { 2 } }, 4, { .origin = { SIZE_MAX } }, dense }),
                   most);
    assert_refused(NDR_OUT_OF_BOUNDS, copy_part((ndr_rect_desc){ { 1, { 2 } }, 4, { .offset_bytes = SIZE_MAX }, dense }),
                   "past the end");
    assert_refused(NDR_OUT_OF_BOUNDS,
                   copy_part((ndr_rect_desc){ { 2, { huge, 1 } }, 4, { .row_pitch_bytes = huge }, dense }), "dimension 0");
    const ndr_rect_desc on_host = { ndr_range_2d(3, 4), 4, dense, { .row_pitch_bytes = huge } };
    assert_refused(NDR_OUT_OF_BOUNDS, ndr_buffer_read_rect(queue, small, &on_host, got, NULL),
                   "ndr_buffer_read_rect, to", "exceed the host's address space");
    ndr_buffer_destroy(small);
}

static void test_rect__refuses_other_mistakes(void **state)
{
    small = buffer_of(1000, NULL);
    ndr_context *other;
    ndr_buffer *theirs;
    void *host;
    ndr_rect_desc d = { .extent = { 4, { 1, 1, 1 } } };
    assert_ok(ndr_context_create(NULL, &other));
    assert_ok(ndr_buffer_create(other, 100, &theirs));
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_copy_rect(queue, small, small, &d, NULL), "extent.dims is 4; make it 1, 2");
    d.extent.dims = 0;
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_read_rect(queue, small, &d, got, NULL), "extent.dims is 0");
    d.extent = ndr_range_1d(4);
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_copy_rect(queue, small, small, NULL, NULL), "desc is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_copy_rect(NULL, small, small, &d, NULL), "queue is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_copy_rect(queue, NULL, small, &d, NULL), "from: buffer is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_copy_rect(queue, small, NULL, &d, NULL), "to: buffer is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_copy_rect(queue, small, theirs, &d, NULL), "different contexts");
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_write_rect(queue, NULL, &d, got, NULL),
                   "ndr_buffer_write_rect: buffer is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_read_rect(queue, small, &d, NULL, NULL), "host is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_write_rect(queue, small, &d, NULL, NULL), "host is NULL");
    assert_ok(ndr_buffer_map(queue, small, NDR_MAP_READ, 0, 4, &host));
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_write_rect(queue, small, &d, got, NULL), "mapped; unmap it first");
    assert_ok(ndr_buffer_read_rect(queue, small, &d, got, NULL));
    assert_ok(ndr_buffer_unmap(queue, small, host, NULL));
    ndr_buffer_destroy(theirs);
    ndr_context_destroy(other);
    ndr_buffer_destroy(small);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rect__random_ones_are_transferred_as_by_a_plain_loop),
        cmocka_unit_test(test_rect__random_ones_within_a_buffer_and_its_view),
        cmocka_unit_test(test_rect__within_one_buffer_may_touch_and_not_overlap),
        cmocka_unit_test(test_rect__without_elements_does_nothing),
        cmocka_unit_test(test_rect__refuses_what_does_not_fit_by_dimension),
        cmocka_unit_test(test_rect__refuses_other_mistakes),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
