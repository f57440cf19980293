/* refusals.c - each test takes every request of a suite, changes one thing in it and checks the refusal. */
#include "refusals.h"

#include "device/queue.h"

typedef struct request {
    const refusal_suite *suite;
    const void *original;
    ndr_queue *queue;
    void *desc;
    ndr_buffer *buffers[4];
} request;

/* ---- a request ---- */

static const refusal_suite *suite_of(void **state) { return *state; }

/* A formatted part of a sentence. The last four results stay valid. */
static const char *part(const char *format, ...)
{
    static char parts[4][128];
    static size_t next;
    char *text = parts[next++ % 4];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof parts[0], format, args);
    va_end(args);
    return text;
}

static void set_size(request *r, size_t where, size_t value) { *(size_t *)((char *)r->desc + where) = value; }

static void set_buffer(request *r, size_t operand, ndr_buffer *buffer)
{
    *(ndr_buffer **)((char *)r->desc + r->suite->operands[operand].buffer) = buffer;
}

static ndr_dtype *dtype_of(request *r) { return (ndr_dtype *)((char *)r->desc + r->suite->dtype); }

static void restore(request *r)
{
    memcpy(r->desc, r->original, r->suite->desc_bytes);
    for (size_t i = 0; i < r->suite->operand_count; ++i) set_buffer(r, i, r->buffers[i]);
}

/* The suite's request of that number. Its buffers have room for elements of `element_bytes`; 0 means its own type. */
static request request_of(void **suite, size_t number, ndr_queue *on, size_t element_bytes)
{
    request r = { .suite = suite_of(suite), .queue = on };
    r.original = (const char *)r.suite->descs + number * r.suite->desc_bytes;
    r.desc = malloc(r.suite->desc_bytes);
    assert_non_null(r.desc);
    restore(&r);
    const size_t own_bytes = ndr_dtype_size(*dtype_of(&r));
    for (size_t i = 0; i < r.suite->operand_count; ++i) {
        const refusal_operand *o = &r.suite->operands[i];
        const size_t bytes = o->end * (element_bytes ? element_bytes : own_bytes);
        assert_ok(ndr_buffer_create(on->context, bytes, &r.buffers[i]));
        assert_ok(ndr_buffer_write(on, r.buffers[i], 0, o->end * own_bytes, o->before, NULL));
    }
    restore(&r);
    return r;
}

static ndr_status run(const request *r) { return r->suite->run(r->queue, r->desc, NULL); }

#define assert_request_refused(status, r, ...) assert_refused(status, run(r), (r)->suite->call, __VA_ARGS__)

static void check_contents(request *r, bool has_run)
{
    const size_t element_bytes = ndr_dtype_size(*dtype_of(r));
    for (size_t i = 0; i < r->suite->operand_count; ++i) {
        const refusal_operand *o = &r->suite->operands[i];
        void *got = malloc(o->end * element_bytes);
        assert_non_null(got);
        assert_ok(ndr_buffer_read(r->queue, r->buffers[i], 0, o->end * element_bytes, got, NULL));
        assert_memory_equal(got, has_run && o->after ? o->after : o->before, o->end * element_bytes);
        free(got);
    }
}

/* Check that nothing was written so far and that the same objects still work. */
static void close_request(request *r)
{
    restore(r);
    check_contents(r, false);
    assert_ok(run(r));
    check_contents(r, true);
    for (size_t i = 0; i < r->suite->operand_count; ++i) ndr_buffer_destroy(r->buffers[i]);
    free(r->desc);
}

/* Run `test` with each request, on the shared queue. */
static void each_request(void **suite, void (*test)(request *r))
{
    for (size_t d = 0; d < suite_of(suite)->desc_count; ++d) {
        request r = request_of(suite, d, queue, 0);
        test(&r);
        close_request(&r);
    }
}

/* ---- the tests ---- */

static void without_queue_or_desc(request *r)
{
    assert_refused(NDR_BAD_ARGUMENT, r->suite->run(NULL, r->desc, NULL), r->suite->call, ": queue is NULL");
    assert_refused(NDR_BAD_ARGUMENT, r->suite->run(queue, NULL, NULL), r->suite->call, "desc is NULL");
}

void refuses_a_missing_queue_or_desc(void **suite) { each_request(suite, without_queue_or_desc); }

static void of_other_types(request *r)
{
    for (int dtype = NDR_DTYPE_I8; dtype <= NDR_DTYPE_BF16; ++dtype) {
        const bool is_listed = dtype >= (int)r->suite->first_dtype && dtype <= NDR_DTYPE_F64;
        if (is_listed || r->suite->more_dtypes & 1u << dtype) continue;
        *dtype_of(r) = (ndr_dtype)dtype;
        assert_request_refused(NDR_BAD_ARGUMENT, r, part("dtype is %s", ndr_dtype_name((ndr_dtype)dtype)),
                               r->suite->dtypes);
    }
    *dtype_of(r) = NDR_DTYPE_NONE;
    assert_request_refused(NDR_BAD_ARGUMENT, r, "dtype is not set", r->suite->dtypes);
    *dtype_of(r) = (ndr_dtype)(NDR_DTYPE_BF16 + 1);
    assert_request_refused(NDR_BAD_ARGUMENT, r, "dtype is ?", r->suite->dtypes);
}

void refuses_types_it_does_not_take(void **suite) { each_request(suite, of_other_types); }

static void with_low_pitch(request *r)
{
    for (size_t i = 0; i < r->suite->operand_count; ++i) {
        const refusal_operand *o = &r->suite->operands[i];
        if (!o->pitch) continue;
        restore(r);
        set_size(r, o->pitch, o->cols - 1);
        assert_request_refused(NDR_BAD_ARGUMENT, r, part("%s has %zu columns", o->name, o->cols),
                               part("its pitch is %zu; use at least", o->cols - 1));
    }
}

void refuses_rows_that_would_overlap(void **suite) { each_request(suite, with_low_pitch); }

static void past_the_end(request *r)
{
    for (size_t i = 0; i < r->suite->operand_count; ++i) {
        const refusal_operand *o = &r->suite->operands[i];
        const size_t offsets[] = { o->begin + 1, SIZE_MAX - 2, SIZE_MAX }; /* the last two pass SIZE_MAX */
        const size_t pitches[] = { o->cols + 1, SIZE_MAX };
        for (size_t k = 0; k < 3; ++k) {
            restore(r);
            set_size(r, o->offset, offsets[k]);
            assert_request_refused(NDR_OUT_OF_BOUNDS, r, part(": %s is ", o->name),
                                   part("from element %zu,", offsets[k]), part("holds %zu", o->end));
        }
        for (size_t k = 0; o->pitch && k < 2; ++k) {
            restore(r);
            set_size(r, o->pitch, pitches[k]);
            assert_request_refused(NDR_OUT_OF_BOUNDS, r, part(": %s is", o->name), part("with pitch %zu", pitches[k]),
                                   part("holds %zu", o->end));
        }
    }
}

void refuses_elements_past_the_end(void **suite) { each_request(suite, past_the_end); }

static void without_a_buffer(request *r)
{
    for (size_t i = 0; i < r->suite->operand_count; ++i) {
        restore(r);
        set_buffer(r, i, NULL);
        assert_request_refused(NDR_BAD_ARGUMENT, r, part(": %s has no buffer", r->suite->operands[i].name));
    }
}

void refuses_missing_buffers(void **suite) { each_request(suite, without_a_buffer); }

static size_t length_of(const refusal_operand *o) { return o->end - o->begin; }

/* All inputs in one buffer of `elements`, with room for the output after each. `starts` is where each begins. */
static ndr_buffer *share_buffer(request *r, size_t starts[4], size_t *elements)
{
    const size_t inputs = r->suite->operand_count - 1, bytes = ndr_dtype_size(*dtype_of(r));
    *elements = 0;
    for (size_t i = 0; i < inputs; ++i) {
        starts[i] = *elements;
        *elements += length_of(&r->suite->operands[i]) + length_of(&r->suite->operands[inputs]);
    }
    ndr_buffer *shared = buffer_of(*elements * bytes, NULL);
    for (size_t i = 0; i < inputs; ++i) {
        const refusal_operand *o = &r->suite->operands[i];
        assert_ok(ndr_buffer_write(queue, shared, starts[i] * bytes, length_of(o) * bytes,
                                   (const char *)o->before + o->begin * bytes, NULL));
        set_buffer(r, i, shared);
        set_size(r, o->offset, starts[i]);
    }
    set_buffer(r, inputs, shared);
    return shared;
}

/* The first input that an output at `at` overlaps; the number of inputs if it overlaps none. */
static size_t input_at(const refusal_suite *suite, const size_t starts[4], size_t at)
{
    const size_t inputs = suite->operand_count - 1;
    for (size_t i = 0; i < inputs; ++i)
        if (at < starts[i] + length_of(&suite->operands[i]) && starts[i] < at + length_of(&suite->operands[inputs]))
            return i;
    return inputs;
}

static void check_output_at(request *r, ndr_buffer *shared, size_t at)
{
    const refusal_operand *output = &r->suite->operands[r->suite->operand_count - 1];
    const size_t bytes = ndr_dtype_size(*dtype_of(r));
    unsigned char got[64];
    assert_true(length_of(output) * bytes <= sizeof got);
    assert_ok(run(r));
    assert_ok(ndr_buffer_read(queue, shared, at * bytes, length_of(output) * bytes, got, NULL));
    assert_memory_equal(got, (const char *)output->after + output->begin * bytes, length_of(output) * bytes);
}

/* The output is moved through the buffer of the inputs. */
static void within_an_input(request *r)
{
    const refusal_suite *suite = r->suite;
    const refusal_operand *output = &suite->operands[suite->operand_count - 1];
    size_t starts[4], elements;
    ndr_buffer *shared = share_buffer(r, starts, &elements);
    for (size_t at = 0; at + length_of(output) <= elements; ++at) {
        set_size(r, output->offset, at);
        const size_t met = input_at(suite, starts, at);
        if (met == suite->operand_count - 1) {
            check_output_at(r, shared, at);
            continue;
        }
        if (suite->takes_in_place && at == starts[met]) continue;
        const refusal_operand *input = &suite->operands[met];
        assert_request_refused(
            NDR_BAD_ARGUMENT, r,
            part(": %s, elements %zu to %zu, overlaps", output->name, at, at + length_of(output) - 1),
            part("overlaps %s, elements %zu to %zu of the same buffer", input->name, starts[met],
                 starts[met] + length_of(input) - 1));
    }
    ndr_buffer_destroy(shared);
}

void refuses_an_output_that_meets_an_input(void **suite) { each_request(suite, within_an_input); }

static void with_foreign_buffers(request *r)
{
    ndr_context *other;
    assert_ok(ndr_context_create(NULL, &other));
    for (size_t i = 0; i < r->suite->operand_count; ++i) {
        const refusal_operand *o = &r->suite->operands[i];
        ndr_buffer *foreign;
        assert_ok(ndr_buffer_create_from(other, o->end * ndr_dtype_size(*dtype_of(r)), o->before, &foreign));
        restore(r);
        set_buffer(r, i, foreign);
        assert_request_refused(NDR_BAD_ARGUMENT, r, part(": %s and the queue belong to different contexts", o->name));
        ndr_buffer_destroy(foreign);
    }
    ndr_context_destroy(other);
}

void refuses_buffers_of_another_context(void **suite) { each_request(suite, with_foreign_buffers); }

static void with_an_event(request *r)
{
    ndr_event *const before = (ndr_event *)r;
    ndr_event *event = before;
    const refusal_operand *output = &r->suite->operands[r->suite->operand_count - 1];
    set_size(r, output->offset, output->begin + 1);
    assert_refused(NDR_OUT_OF_BOUNDS, r->suite->run(queue, r->desc, &event), part(": %s is", output->name));
    assert_ptr_equal(event, before);
}

void leaves_the_event_alone_when_refused(void **suite) { each_request(suite, with_an_event); }

void refuses_f64_where_the_device_has_none(void **suite)
{
    ndr_context *poor;
    ndr_queue *on;
    set_env("NDR_DISABLE", "fp64");
    assert_ok(ndr_context_create(NULL, &poor));
    restore_env();
    assert_ok(ndr_queue_create(poor, NULL, &on));
    for (size_t d = 0; d < suite_of(suite)->desc_count; ++d) {
        request r = request_of(suite, d, on, sizeof(double));
        *dtype_of(&r) = NDR_DTYPE_F64;
        assert_request_refused(NDR_UNSUPPORTED, &r, device.name, "no f64");
        close_request(&r);
    }
    ndr_queue_destroy(on);
    ndr_context_destroy(poor);
}
