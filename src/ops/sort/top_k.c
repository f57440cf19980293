/* top_k.c - ndr_top_k(): its checks, and the operations of which it consists. */
#include "device/context.h"
#include "device/queue.h"
#include "ops/sequence.h"
#include "ops/sort/top_k.h"

#include <stdio.h>

/* ---- shared by the implementations ---- */

ndr_arg ndr_top_k_value_words(const ndr_top_k_request *r)
{
    return ndr_arg_of((uint64_t)(r->value_bytes ? r->value_bytes / ndr_sort_word_bytes(r->value_bytes) : 0));
}

void ndr_top_k_print_options(const ndr_top_k_request *r, const char *more, char options[NDR_OPTIONS_SIZE])
{
    char all[96];
    snprintf(all, sizeof all, "-DVALUE=%s%s", ndr_sort_word_name(r->value_bytes), more);
    ndr_sort_print_options(&r->order, all, options);
}

/* ---- checks ---- */

static ndr_operand operand_of(const char *name, ndr_span span, size_t count, size_t element_bytes)
{
    return ndr_operand_of("ndr_top_k", name, span, element_bytes ? count : 0, element_bytes ? element_bytes : 1);
}

static ndr_status check_sizes(const ndr_top_k_desc *desc, size_t length)
{
    NDR_REQUIRE(length == 0 || desc->count % length == 0,
                "ndr_top_k: count is %zu, and length %zu; use a multiple of the length, because all segments have as many "
                "keys",
                desc->count, length);
    NDR_REQUIRE(desc->count == 0 || (desc->k > 0 && desc->k <= length),
                "ndr_top_k: k is %zu, but a segment has %zu keys; use 1 to %zu", desc->k, length, length);
    NDR_REQUIRE(desc->value_bytes <= UINT32_MAX, "ndr_top_k: value_bytes is %zu; use at most %u", desc->value_bytes,
                UINT32_MAX);
    return NDR_OK;
}

static ndr_status make_request(const ndr_top_k_desc *desc, ndr_top_k_request *r)
{
    NDR_REQUIRE(desc, "ndr_top_k: desc is NULL; pass the address of a descriptor whose members are set");
    const size_t key_bytes = ndr_dtype_size(desc->dtype), length = desc->length ? desc->length : desc->count;
    NDR_REQUIRE(key_bytes, "ndr_top_k: dtype is %s; use the type of the keys, any ndr_dtype",
                desc->dtype == NDR_DTYPE_NONE ? "not set" : "not valid");
    NDR_TRY(check_sizes(desc, length));
    const size_t rows = desc->count ? desc->count / length : 0, stored = rows * desc->k;
    *r = (ndr_top_k_request){
        .order = { .dtype = desc->dtype,
                   .is_descending = desc->is_largest,
                   .is_in_place = true,
                   .bits = 8 * (unsigned)key_bytes,
                   .value_bytes = sizeof(uint64_t) },
        .rows = rows,
        .length = length,
        .k = desc->k,
        .value_bytes = desc->value_bytes,
        .keys = operand_of("keys", desc->keys, desc->count, key_bytes),
        .values = operand_of("values", desc->values, desc->count, desc->value_bytes),
        .top_keys = operand_of("top_keys", desc->top_keys, desc->top_keys.buffer ? stored : 0, key_bytes),
        .top_values = operand_of("top_values", desc->top_values, stored, desc->value_bytes),
        .top_indexes = operand_of("top_indexes", desc->top_indexes, desc->top_indexes.buffer ? stored : 0,
                                  sizeof(uint64_t)),
    };
    return NDR_OK;
}

/* No output overlaps an input, nor an output before it. */
static ndr_status check_operands(const ndr_top_k_request *r, const ndr_queue *queue)
{
    enum { INPUTS = 2 };
    const ndr_operand *const all[] = { &r->keys, &r->values, &r->top_keys, &r->top_values, &r->top_indexes };
    NDR_REQUIRE(r->rows == 0 || r->top_keys.cols || r->top_values.cols || r->top_indexes.cols,
                "ndr_top_k: no output is set; set top_keys.buffer, top_indexes.buffer, or value_bytes with values and "
                "top_values");
    for (size_t i = 0; i < NDR_COUNT_OF(all); ++i) NDR_TRY(ndr_operand_check(all[i], queue));
    for (size_t i = INPUTS; i < NDR_COUNT_OF(all); ++i)
        for (size_t k = 0; k < i; ++k) NDR_TRY(ndr_operand_check_apart(all[i], all[k]));
    return NDR_OK;
}

/* ---- a selection, a sort and values ---- */

/* Sort what was selected, in place. */
static ndr_status sort_selected(ndr_sequence *s, const ndr_top_k_request *r)
{
    ndr_sort_request sort = r->order;
    if (r->k == 1) return NDR_OK;
    if (r->top_indexes.cols == 0) sort.value_bytes = 0;
    sort.count = r->rows * r->k;
    sort.input.keys = sort.output.keys = r->top_keys;
    sort.input.values = sort.output.values = r->top_indexes;
    sort.is_segmented = r->rows > 1;
    sort.segments = r->rows;
    sort.length = r->k;
    return ndr_sequence_run(s, sort.is_segmented ? &ndr_sort_segments_operation : &ndr_sort_operation, &sort);
}

static ndr_status run_sequence(const ndr_order *order, const ndr_top_k_request *r, ndr_event **event)
{
    ndr_sequence s = ndr_sequence_begin(order, event != NULL);
    ndr_status status = ndr_sequence_run(&s, &ndr_top_k_select_operation, r);
    if (status == NDR_OK) status = sort_selected(&s, r);
    if (status == NDR_OK && r->value_bytes) status = ndr_sequence_run(&s, &ndr_top_k_values_operation, r);
    return ndr_sequence_end(&s, status, event);
}

static ndr_status make_output(const ndr_context *context, ndr_operand *output, size_t count, size_t element_bytes,
                              ndr_buffer **made)
{
    *made = NULL;
    NDR_TRY(ndr_buffer_create((ndr_context *)context, count * element_bytes, made));
    output->buffer = *made;
    output->offset = 0;
    output->cols = output->pitch = count;
    return NDR_OK;
}

/* Keys are sorted, and values are found by indexes, also where the caller does not want them. OpenCL keeps a buffer until
 * the work on it is done. */
static ndr_status run_in_parts(const ndr_order *order, ndr_top_k_request *r, ndr_event **event)
{
    ndr_buffer *keys = NULL, *indexes = NULL;
    ndr_status status = NDR_OK;
    const size_t stored = r->rows * r->k;
    if (r->top_keys.cols == 0)
        status = make_output(order->queue->context, &r->top_keys, stored, r->top_keys.element_bytes, &keys);
    if (status == NDR_OK && r->value_bytes && r->top_indexes.cols == 0)
        status = make_output(order->queue->context, &r->top_indexes, stored, sizeof(uint64_t), &indexes);
    if (status == NDR_OK) status = run_sequence(order, r, event);
    ndr_buffer_destroy(keys);
    ndr_buffer_destroy(indexes);
    return status;
}

/* ---- the calls ---- */

static ndr_status check_search(ndr_queue *queue, const ndr_top_k_desc *desc, ndr_top_k_request *request)
{
    NDR_REQUIRE_SET_IN("ndr_top_k", queue);
    NDR_TRY(make_request(desc, request));
    return check_operands(request, queue);
}

ndr_status ndr_top_k(ndr_queue *queue, const ndr_top_k_desc *desc, ndr_event **event)
{
    const ndr_order order = ndr_order_of(queue);
    ndr_top_k_request r;
    NDR_TRY(check_search(order.queue, desc, &r));
    if (r.rows == 0) return ndr_queue_mark_in(&order, event);
    return ndr_top_k_is_whole(&order.queue->context->caps, &r) ? ndr_op_run(&ndr_top_k_operation, &order, &r, event)
                                                               : run_in_parts(&order, &r, event);
}

NDR_OP_EXPLAIN(ndr_top_k, ndr_top_k_request, make_request(desc, &r),
               ndr_top_k_is_whole(&context->caps, &r) ? &ndr_top_k_operation : &ndr_top_k_select_operation)
