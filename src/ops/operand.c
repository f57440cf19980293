/* operand.c - checks the operands of an operation: buffer, bounds, overlap. */
#include "device/buffer.h"
#include "device/map.h"
#include "device/queue.h"
#include "ops/operand.h"

ndr_operand ndr_operand_of(const char *call, const char *name, ndr_span span, size_t count, size_t element_bytes)
{
    return (ndr_operand){ .call = call,
                          .name = name,
                          .buffer = span.buffer,
                          .offset = span.offset,
                          .rows = 1,
                          .cols = count,
                          .pitch = count,
                          .element_bytes = element_bytes };
}

static bool is_empty(const ndr_operand *operand) { return operand->rows == 0 || operand->cols == 0; }

/* The index behind the last element; false if it exceeds SIZE_MAX. */
static bool find_end(const ndr_operand *operand, size_t *end)
{
    size_t others;
    return ndr_mul_fits(operand->rows - 1, operand->pitch, end) && ndr_add_fits(*end, operand->cols, end)
           && ndr_add_fits(*end, operand->offset, end) && ndr_mul_fits(operand->further, operand->stride, &others)
           && ndr_add_fits(*end, others, end);
}

ndr_status ndr_operand_check(const ndr_operand *o, const ndr_queue *queue)
{
    const size_t rows = o->is_by_columns ? o->cols : o->rows, cols = o->is_by_columns ? o->rows : o->cols;
    NDR_REQUIRE(o->rows <= 1 || o->pitch >= o->cols,
                "%s: %s has %zu %s, but its pitch is %zu; use at least %zu, or 0 for no padding", o->call, o->name,
                o->cols, o->is_by_columns ? "rows" : "columns", o->pitch, o->cols);
    if (is_empty(o)) return NDR_OK;
    NDR_REQUIRE(o->buffer, "%s: %s has no buffer; set %s.buffer", o->call, o->name, o->name);
    NDR_REQUIRE_LIVE(NDR_HANDLE_BUFFER, o->buffer, o->call, o->name);
    NDR_REQUIRE(o->buffer->context == queue->context,
                "%s: %s and the queue belong to different contexts%s; create both in one", o->call, o->name,
                ndr_handle_or_destroyed());
    const size_t held = o->buffer->size_bytes / o->element_bytes;
    size_t end;
    const bool fits = find_end(o, &end) && end <= held;
    if (fits) return NDR_OK;
    if (o->further)
        return ndr_fail(NDR_OUT_OF_BOUNDS,
                        "%s: %s is %zu x %zu with pitch %zu from element %zu, and that of product %zu begins %zu x %zu "
                        "elements later, but its buffer holds %zu elements: make the matrix, its offset, its stride or "
                        "the count smaller",
                        o->call, o->name, rows, cols, o->pitch, o->offset, o->further, o->further, o->stride, held);
    if (o->rows == 1)
        return ndr_fail(
            NDR_OUT_OF_BOUNDS,
            "%s: %s is %zu elements from element %zu, but its buffer holds %zu: lower the count or the offset", o->call,
            o->name, o->cols, o->offset, held);
    return ndr_fail(NDR_OUT_OF_BOUNDS,
                    "%s: %s is %zu x %zu with pitch %zu from element %zu, but its buffer holds %zu elements: make the "
                    "matrix or its offset smaller",
                    o->call, o->name, rows, cols, o->pitch, o->offset, held);
}

static ndr_bytes bytes_of(const ndr_operand *o, size_t end)
{
    return (ndr_bytes){ o->buffer, o->offset * o->element_bytes, (end - o->offset) * o->element_bytes };
}

ndr_status ndr_operand_check_apart(const ndr_operand *output, const ndr_operand *input)
{
    if (is_empty(output) || is_empty(input)) return NDR_OK;
    size_t output_end, input_end; /* both fit: ndr_operand_check() was called before */
    (void)find_end(output, &output_end);
    (void)find_end(input, &input_end);
    NDR_REQUIRE(!ndr_bytes_overlap(bytes_of(output, output_end), bytes_of(input, input_end)),
                "%s: %s, elements %zu to %zu, overlaps %s, elements %zu to %zu of %s: move one of them", output->call,
                output->name, output->offset, output_end - 1, input->name, input->offset, input_end - 1,
                output->buffer == input->buffer ? "the same buffer" : "another buffer over the same memory");
    return NDR_OK;
}

ndr_status ndr_operand_check_op(const char *call, ndr_op op, ndr_dtype dtype)
{
    const bool is_bits = op >= NDR_OP_BIT_AND && op <= NDR_OP_BIT_XOR;
    NDR_REQUIRE(op > NDR_OP_NONE && ndr_op_name(op),
                "%s: op is %d, which is not valid; use NDR_OP_SUM, NDR_OP_MIN, NDR_OP_MAX or another ndr_op", call,
                (int)op);
    NDR_REQUIRE(!is_bits || !ndr_dtype_describe(dtype)->is_float,
                "%s: op is NDR_OP_%s, which is for integers, but dtype is %s; use a dtype of integers, or another "
                "operator",
                call, ndr_op_name(op), ndr_dtype_name(dtype));
    return NDR_OK;
}

ndr_arg ndr_operand_arg(const ndr_operand *operand)
{
    return is_empty(operand) ? ndr_null : ndr_arg_of(operand->buffer);
}
