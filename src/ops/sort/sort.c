/* sort.c - ndr_sort(): its checks and the list of its implementations for all keys, which are radix sorts. */
#include "device/context.h"
#include "device/queue.h"
#include "ndr/ndr_ops.h"
#include "ops/sort/sort.h"

#include <stdio.h>

/* ---- the list ---- */

/* In the order in which they are asked. */
#define VARIANTS(V) V(one_chunk) V(chunks) V(one_tile) V(one_sweep) V(tiles)
#define DECLARE(name) extern const ndr_op_variant ndr_sort_##name;
#define POINT_TO(name) &ndr_sort_##name,
VARIANTS(DECLARE)
static const ndr_op_variant *const variants[] = { VARIANTS(POINT_TO) };

/* Each element is read and written once, however many passes there are. */
ndr_op_work ndr_sort_work_of(const void *request)
{
    const ndr_sort_request *r = request;
    return (ndr_op_work){ 2 * (uint64_t)r->count * (ndr_dtype_size(r->dtype) + r->value_bytes), 0 };
}

const ndr_operation ndr_sort_operation = { "sort", variants, NDR_COUNT_OF(variants), NULL, ndr_sort_work_of };

/* ---- values ---- */

/* As wide as divide a value, 16 bytes at most. */
size_t ndr_sort_word_bytes(size_t value_bytes)
{
    size_t bytes = 16;
    while (value_bytes % bytes) bytes /= 2;
    return bytes;
}

const char *ndr_sort_word_name(size_t value_bytes)
{
    static const char *const names[] = { [1] = "uchar", [2] = "ushort", [4] = "uint", [8] = "ulong", [16] = "uint4" };
    return names[value_bytes ? ndr_sort_word_bytes(value_bytes) : 1];
}

ndr_arg ndr_sort_words_arg(const ndr_sort_request *request)
{
    return ndr_arg_of((uint64_t)(request->value_bytes / ndr_sort_word_bytes(request->value_bytes)));
}

/* ---- shared by the implementations ---- */

/* Ranks of unsigned integers and of floats in ascending order need none. */
ndr_arg ndr_sort_flip_arg(const ndr_sort_request *request)
{
    const ndr_dtype_info *type = ndr_dtype_describe(request->dtype);
    const unsigned width = 8 * (unsigned)type->size_bytes;
    const uint64_t all = UINT64_MAX >> (64 - width);
    const uint64_t sign = type->is_signed && !type->is_float ? (uint64_t)1 << (width - 1) : 0;
    return ndr_arg_of(request->is_descending ? all ^ sign : sign);
}

void ndr_sort_print_options(const ndr_sort_request *request, const char *more, char options[NDR_OPTIONS_SIZE])
{
    static const char *const keys[] = { [1] = "uchar", [2] = "ushort", [4] = "uint", [8] = "ulong" };
    const ndr_dtype_info *type = ndr_dtype_describe(request->dtype);
    const size_t value = request->value_bytes, word = ndr_sort_word_bytes(value);
    const char *infinite = request->dtype == NDR_DTYPE_BF16 ? "-DINFINITE=0x7f80 " : "";
    const char *count = value == 0 ? "0" : value == word ? "1" : "words";
    snprintf(options, NDR_OPTIONS_SIZE, "-DKEY=%s -DIS_FLOAT=%d %s-DWORD=%s -DWORDS=%s %s", keys[type->size_bytes],
             type->is_float, infinite, ndr_sort_word_name(value), count, more);
}

unsigned ndr_sort_passes(const ndr_sort_request *request)
{
    const unsigned passes = (request->bits + NDR_SORT_BITS - 1) / NDR_SORT_BITS;
    return request->is_in_place ? passes + passes % 2 : passes;
}

/* Where keys and values begin in the workspace, in bytes: multiples of every element. */
typedef struct layout {
    size_t keys, values, end;
} layout;

/* With one pass there are no elements in it. Their bytes fit: those of the operands do. */
static layout layout_for(const ndr_sort_request *request, size_t counts)
{
    const bool has_elements = ndr_sort_passes(request) > 1;
    const size_t align = ndr_max_size(request->value_bytes, 1) * 16;
    const size_t keys_bytes = request->count * ndr_dtype_size(request->dtype);
    layout l = { .keys = NDR_WORKSPACE_HEAD_BYTES + counts * sizeof(cl_ulong) };
    l.values = ndr_ceil_div(l.keys + (has_elements ? keys_bytes : 0), align) * align;
    l.end = l.values + (has_elements ? request->count * request->value_bytes : 0);
    return l;
}

size_t ndr_sort_workspace_bytes(const ndr_sort_request *request, size_t counts)
{
    return layout_for(request, counts).end;
}

ndr_sort_elements ndr_sort_temp(const ndr_op_job *job, size_t counts)
{
    const ndr_sort_request *r = job->of.request;
    const layout l = layout_for(r, counts);
    ndr_sort_elements temp = r->output;
    temp.keys.buffer = temp.values.buffer = ndr_workspace_buffer(job->workspace);
    temp.keys.offset = l.keys / temp.keys.element_bytes;
    temp.values.offset = r->value_bytes ? l.values / r->value_bytes : 0;
    return temp;
}

/* They write to the output and the workspace in turn. */
ndr_status ndr_sort_run_passes(ndr_op_job *job, size_t counts,
                               ndr_status (*run)(ndr_op_job *job, const ndr_sort_pass *pass))
{
    const ndr_sort_request *r = job->of.request;
    const ndr_sort_elements temp = ndr_sort_temp(job, counts);
    const unsigned passes = ndr_sort_passes(r);
    ndr_sort_pass pass = { .from = r->input };
    for (unsigned p = 0; p < passes; ++p) {
        const unsigned first = NDR_SORT_SHIFT(r->bits, passes, p), end = NDR_SORT_SHIFT(r->bits, passes, p + 1);
        pass.to = (passes - p) % 2 == 1 ? r->output : temp;
        pass.shift = r->begin_bit + first;
        pass.bits = end - first;
        pass.number = p;
        NDR_TRY(run(job, &pass));
        pass.from = pass.to;
    }
    return NDR_OK;
}

/* ---- checks ---- */

/* Without bytes there are no elements. */
static ndr_operand operand_of(const char *name, const ndr_span *span, size_t count, size_t element_bytes)
{
    const ndr_span none = { NULL, 0 };
    return element_bytes ? ndr_operand_of("ndr_sort", name, *span, count, element_bytes)
                         : ndr_operand_of("ndr_sort", name, none, 0, 0);
}

static bool is_same(const ndr_operand *a, const ndr_operand *b)
{
    return a->cols && a->buffer == b->buffer && a->offset == b->offset;
}

static ndr_status check_bits(const ndr_sort_desc *desc, ndr_sort_request *request)
{
    const unsigned width = 8 * (unsigned)ndr_dtype_size(desc->dtype), end = desc->end_bit ? desc->end_bit : width;
    NDR_REQUIRE(end <= width, "ndr_sort: end_bit is %u, but %s has %u bits; use at most %u, or 0 for all", end,
                ndr_dtype_name(desc->dtype), width, width);
    NDR_REQUIRE(desc->begin_bit < end, "ndr_sort: begin_bit is %u, and end_bit %u; begin_bit must be lower, and end_bit 0 means all bits",
                desc->begin_bit, end);
    request->begin_bit = desc->begin_bit;
    request->bits = end - desc->begin_bit;
    return NDR_OK;
}

/* Segments of equal length, or by offsets; one that has all keys is none. */
static ndr_status set_segments(const ndr_sort_desc *desc, ndr_sort_request *r)
{
    const bool has_offsets = desc->offsets.buffer || desc->segments;
    NDR_REQUIRE(desc->length == 0 || !has_offsets,
                "ndr_sort: length is %zu, and offsets of %zu segments are set; segments are told apart by one of them: leave "
                "out the other",
                desc->length, desc->segments);
    NDR_REQUIRE(desc->segments < SIZE_MAX, "ndr_sort: segments is %zu, and there is one more offset; use fewer segments",
                desc->segments);
    if (has_offsets) {
        r->segments = desc->segments;
        r->offsets = ndr_operand_of("ndr_sort", "offsets", desc->offsets, desc->segments + 1, sizeof(uint64_t));
        r->is_segmented = true;
    } else if (desc->length > 0 && desc->length < desc->count) {
        r->length = desc->length;
        r->segments = ndr_ceil_div(desc->count, desc->length);
        r->is_segmented = true;
    }
    return NDR_OK;
}

static ndr_status make_request(const ndr_sort_desc *desc, ndr_sort_request *request)
{
    NDR_REQUIRE(desc, "ndr_sort: desc is NULL; pass the address of a descriptor whose members are set");
    const size_t key_bytes = ndr_dtype_size(desc->dtype), value_bytes = desc->value_bytes;
    NDR_REQUIRE(key_bytes, "ndr_sort: dtype is %s; use the type of the keys, NDR_DTYPE_I8 to NDR_DTYPE_BF16",
                desc->dtype == NDR_DTYPE_NONE ? "not set" : "not valid");
    NDR_REQUIRE(value_bytes <= UINT32_MAX, "ndr_sort: value_bytes is %zu; use at most %u", value_bytes, UINT32_MAX);
    *request = (ndr_sort_request){
        .dtype = desc->dtype,
        .is_descending = desc->is_descending,
        .count = desc->count,
        .value_bytes = value_bytes,
        .input = { operand_of("keys", &desc->keys, desc->count, key_bytes),
                   operand_of("values", &desc->values, desc->count, value_bytes) },
        .output = { operand_of("sorted_keys", &desc->sorted_keys, desc->count, key_bytes),
                    operand_of("sorted_values", &desc->sorted_values, desc->count, value_bytes) },
    };
    request->is_in_place = is_same(&request->output.keys, &request->input.keys)
                           || is_same(&request->output.values, &request->input.values);
    NDR_TRY(check_bits(desc, request));
    return set_segments(desc, request);
}

static ndr_status check_apart(const ndr_operand *output, const ndr_operand *own, const ndr_operand *other)
{
    if (!is_same(output, own)) NDR_TRY(ndr_operand_check_apart(output, own));
    return ndr_operand_check_apart(output, other);
}

static ndr_status check_operands(const ndr_sort_request *r, const ndr_queue *queue)
{
    NDR_TRY(ndr_operand_check(&r->input.keys, queue));
    NDR_TRY(ndr_operand_check(&r->output.keys, queue));
    if (r->value_bytes) {
        NDR_TRY(ndr_operand_check(&r->input.values, queue));
        NDR_TRY(ndr_operand_check(&r->output.values, queue));
    }
    NDR_TRY(ndr_operand_check(&r->offsets, queue));
    NDR_TRY(ndr_operand_check_apart(&r->output.keys, &r->offsets));
    NDR_TRY(ndr_operand_check_apart(&r->output.values, &r->offsets));
    NDR_TRY(check_apart(&r->output.keys, &r->input.keys, &r->input.values));
    NDR_TRY(check_apart(&r->output.values, &r->input.values, &r->input.keys));
    return ndr_operand_check_apart(&r->output.values, &r->output.keys);
}

static ndr_status check_sort(ndr_queue *queue, const ndr_sort_desc *desc, ndr_sort_request *request)
{
    NDR_REQUIRE_SET_IN("ndr_sort", queue);
    NDR_TRY(make_request(desc, request));
    return check_operands(request, queue);
}

static const ndr_operation *operation_of(const ndr_sort_request *request)
{
    return request->is_segmented ? &ndr_sort_segments_operation : &ndr_sort_operation;
}

ndr_status ndr_sort(ndr_queue *queue, const ndr_sort_desc *desc, ndr_event **event)
{
    const ndr_order order = ndr_order_of(queue);
    ndr_sort_request request;
    NDR_TRY(check_sort(order.queue, desc, &request));
    if (request.count == 0 || (request.is_segmented && request.segments == 0)) return ndr_queue_mark_in(&order, event);
    return ndr_op_run(operation_of(&request), &order, &request, event);
}

NDR_OP_EXPLAIN(ndr_sort, ndr_sort_request, make_request(desc, &r), operation_of(&r))
