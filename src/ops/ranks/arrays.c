/* arrays.c - reductions, maps and scans of arrays of the host by a group. */
#include "ops/ranks/ranks.h"

#include <stdlib.h>

/* ---- reductions ---- */

/* Reproducible sums combine blocks of 4096 elements, and their results in the same way. So the result of 4096 * 4096 is
 * one of the values that are combined next. */
size_t ndr_group_tree = (size_t)1 << 24;

static ndr_status reduce_chunk(const ndr_chunk *c, const void *desc_, ndr_event **done)
{
    const ndr_group_reduce_desc *desc = desc_;
    return ndr_reduce(c->queue,
                      &(ndr_reduce_desc){ .dtype = desc->dtype,
                                          .op = desc->op,
                                          .numerics = desc->numerics,
                                          .input = { c->buffers[0], 0 },
                                          .count = c->count,
                                          .output = { c->buffers[1], 0 } },
                      done);
}

/* The first rank combines what is left: few elements, as a rule the results of chunks. */
static ndr_status reduce_by_first(ndr_group *group, const ndr_group_reduce_desc *desc, const void *input, size_t count)
{
    const ndr_group_rank *const first = &group->ranks[0];
    const size_t element_bytes = ndr_dtype_size(desc->dtype);
    ndr_buffer *values;
    NDR_TRY(ndr_buffer_create(first->context, (count + 1) * element_bytes, &values));
    ndr_status status = ndr_buffer_write(first->queue, values, element_bytes, count * element_bytes, input, NULL);
    if (status == NDR_OK)
        status = ndr_reduce(first->queue,
                            &(ndr_reduce_desc){ .dtype = desc->dtype,
                                                .op = desc->op,
                                                .numerics = desc->numerics,
                                                .input = { values, 1 },
                                                .count = count,
                                                .output = { values, 0 } },
                            NULL);
    if (status == NDR_OK) status = ndr_buffer_read(first->queue, values, 0, element_bytes, desc->output, NULL);
    ndr_buffer_destroy(values);
    return status;
}

static ndr_status reduce_chunks(ndr_group *group, const ndr_group_reduce_desc *desc, const char *call, size_t chunk,
                                void *results)
{
    const size_t element_bytes = ndr_dtype_size(desc->dtype);
    const ndr_stream_array arrays[] = { { .input = desc->input, .element_bytes = element_bytes },
                                        { .output = results, .element_bytes = element_bytes, .is_of_chunks = true } };
    return ndr_stream_run(group, &(ndr_stream){ call, arrays, 2, desc->count, chunk, reduce_chunk, desc });
}

static ndr_status check_dtype(const char *call, ndr_dtype dtype)
{
    NDR_REQUIRE(dtype >= NDR_DTYPE_I8 && dtype <= NDR_DTYPE_F64,
                "%s: dtype is %s; use i8, u8, i16, u16, i32, u32, i64, u64, f32 or f64", call,
                dtype == NDR_DTYPE_NONE ? "not set" : ndr_dtype_name(dtype));
    return NDR_OK;
}

static ndr_status check_array(const char *call, const char *name, const void *array, size_t count)
{
    NDR_REQUIRE(array || count == 0, "%s: %s is NULL, but count is %zu; pass an array of that length", call, name,
                count);
    return NDR_OK;
}

static void *new_results(const char *call, size_t count, size_t element_bytes)
{
    void *const made = calloc(count ? count : 1, element_bytes);
    if (!made) NDR_IGNORE(ndr_fail(NDR_OUT_OF_HOST_MEMORY, "%s: no memory for the results of %zu chunks", call, count));
    return made;
}

ndr_status ndr_group_reduce(ndr_group *group, const ndr_group_reduce_desc *desc)
{
    NDR_REQUIRE_SET(group, desc);
    NDR_TRY(check_dtype(__func__, desc->dtype));
    NDR_TRY(check_array(__func__, "input", desc->input, desc->count));
    NDR_REQUIRE(desc->output, "ndr_group_reduce: output is NULL; pass the address of an element");
    NDR_REQUIRE_AS(NDR_UNSUPPORTED, desc->numerics != NDR_NUMERICS_EXACT,
                   "ndr_group_reduce: numerics is NDR_NUMERICS_EXACT, which one device computes; use ndr_reduce(), or "
                   "NDR_NUMERICS_REPRODUCIBLE");
    const size_t element_bytes = ndr_dtype_size(desc->dtype);
    const size_t chunk =
        desc->numerics == NDR_NUMERICS_FAST ? ndr_stream_chunk_for(desc->count, element_bytes) : ndr_group_tree;
    const size_t chunks = ndr_ceil_div(desc->count, chunk);
    if (chunks <= 1) return reduce_by_first(group, desc, desc->input, desc->count);
    void *const results = new_results(__func__, chunks, element_bytes);
    if (!results) return NDR_OUT_OF_HOST_MEMORY;
    ndr_status status = reduce_chunks(group, desc, __func__, chunk, results);
    if (status == NDR_OK) status = reduce_by_first(group, desc, results, chunks);
    free(results);
    return status;
}

/* ---- maps ---- */

static ndr_status map_chunk(const ndr_chunk *c, const void *desc_, ndr_event **done)
{
    const ndr_group_map_desc *desc = desc_;
    ndr_map_array inputs[NDR_STREAM_ARRAYS], outputs[NDR_STREAM_ARRAYS];
    size_t input_count = 0, output_count = 0;
    for (size_t i = 0; i < desc->array_count; ++i) {
        const ndr_group_array *a = &desc->arrays[i];
        const ndr_map_array array = { a->name, ndr_array_of(c->buffers[i], a->dtype, ndr_range_1d(c->count)) };
        if (a->input) inputs[input_count++] = array;
        if (a->output) outputs[output_count++] = array;
    }
    return ndr_map(c->queue,
                   &(ndr_map_desc){ .statement = desc->statement,
                                    .declarations = desc->declarations,
                                    .scalars = desc->scalars,
                                    .scalar_count = desc->scalar_count,
                                    .inputs = inputs,
                                    .input_count = input_count,
                                    .outputs = outputs,
                                    .output_count = output_count,
                                    .first = c->first },
                   done);
}

static ndr_status check_map(const ndr_group_map_desc *desc)
{
    NDR_REQUIRE_AS(NDR_LIMIT_EXCEEDED, desc->array_count <= NDR_STREAM_ARRAYS,
                   "ndr_group_map: array_count is %zu, but a map has at most %d arrays", desc->array_count,
                   (int)NDR_STREAM_ARRAYS);
    NDR_REQUIRE(desc->arrays && desc->array_count > 0, "ndr_group_map: there is no array; set arrays and array_count");
    for (size_t i = 0; i < desc->array_count; ++i) {
        const ndr_group_array *a = &desc->arrays[i];
        NDR_REQUIRE(ndr_dtype_size(a->dtype) > 0, "ndr_group_map: arrays[%zu].dtype is not set; use an ndr_dtype", i);
        NDR_REQUIRE(a->input || a->output || desc->count == 0,
                    "ndr_group_map: arrays[%zu] has neither input nor output; set at least one of them", i);
    }
    return NDR_OK;
}

ndr_status ndr_group_map(ndr_group *group, const ndr_group_map_desc *desc)
{
    ndr_stream_array arrays[NDR_STREAM_ARRAYS];
    size_t element_bytes = 1;
    NDR_REQUIRE_SET(group, desc);
    NDR_TRY(check_map(desc));
    for (size_t i = 0; i < desc->array_count; ++i) {
        const ndr_group_array *a = &desc->arrays[i];
        arrays[i] = (ndr_stream_array){ a->input, a->output, ndr_dtype_size(a->dtype), false };
        element_bytes = ndr_max_size(element_bytes, arrays[i].element_bytes);
    }
    const size_t chunk = ndr_stream_chunk_for(desc->count, element_bytes);
    return ndr_stream_run(group,
                          &(ndr_stream){ __func__, arrays, desc->array_count, desc->count, chunk, map_chunk, desc });
}

/* ---- scans ---- */

/* `befores` has what is combined before each chunk; the first chunk has nothing before it. */
typedef struct scan {
    const ndr_group_scan_desc *desc;
    const char *befores;
} scan;

static ndr_arg value_of(ndr_dtype dtype, const void *at)
{
    ndr_arg value = ndr_null;
    switch (dtype) {
#define CASE(name, type) \
    case NDR_DTYPE_##name: value = ndr_arg_of(*(const type *)at); break
        CASE(I8, int8_t);
        CASE(U8, uint8_t);
        CASE(I16, int16_t);
        CASE(U16, uint16_t);
        CASE(I32, int32_t);
        CASE(U32, uint32_t);
        CASE(I64, int64_t);
        CASE(U64, uint64_t);
        CASE(F32, float);
        CASE(F64, double);
#undef CASE
    default: break;
    }
    return value;
}

static ndr_status scan_chunk(const ndr_chunk *c, const void *scan_, ndr_event **done)
{
    const scan *s = scan_;
    const size_t element_bytes = ndr_dtype_size(s->desc->dtype);
    ndr_scan_desc desc = { .dtype = s->desc->dtype,
                           .op = s->desc->op,
                           .is_exclusive = s->desc->is_exclusive,
                           .input = { c->buffers[0], 0 },
                           .count = c->count,
                           .output = { c->buffers[1] ? c->buffers[1] : c->buffers[0], 0 } };
    if (c->index > 0) desc.initial = value_of(desc.dtype, s->befores + c->index * element_bytes);
    return ndr_scan(c->queue, &desc, done);
}

/* The exclusive scan of the chunks' results, by the first rank. */
static ndr_status scan_results(ndr_group *group, const ndr_group_scan_desc *desc, void *results, size_t count)
{
    const ndr_group_rank *const first = &group->ranks[0];
    const size_t bytes = count * ndr_dtype_size(desc->dtype);
    ndr_buffer *values;
    NDR_TRY(ndr_buffer_create_from(first->context, bytes, results, &values));
    const ndr_span span = { values, 0 };
    const ndr_scan_desc exclusive = {
        .dtype = desc->dtype, .op = desc->op, .is_exclusive = true, .input = span, .count = count, .output = span
    };
    ndr_status status = ndr_scan(first->queue, &exclusive, NULL);
    if (status == NDR_OK) status = ndr_buffer_read(first->queue, values, 0, bytes, results, NULL);
    ndr_buffer_destroy(values);
    return status;
}

static ndr_status scan_with(ndr_group *group, const ndr_group_scan_desc *desc, size_t chunk, void *results)
{
    const size_t chunks = ndr_ceil_div(desc->count, chunk), element_bytes = ndr_dtype_size(desc->dtype);
    const bool is_in_place = desc->input == desc->output;
    const ndr_stream_array arrays[] = {
        { .input = desc->input, .output = is_in_place ? desc->output : NULL, .element_bytes = element_bytes },
        { .output = is_in_place ? NULL : desc->output, .element_bytes = element_bytes }
    };
    const scan s = { desc, results };
    const ndr_group_reduce_desc sums = {
        .dtype = desc->dtype, .op = desc->op, .input = desc->input, .count = desc->count
    };
    if (chunks > 1) {
        NDR_TRY(reduce_chunks(group, &sums, "ndr_group_scan", chunk, results));
        NDR_TRY(scan_results(group, desc, results, chunks));
    }
    return ndr_stream_run(
        group, &(ndr_stream){ "ndr_group_scan", arrays, is_in_place ? 1 : 2, desc->count, chunk, scan_chunk, &s });
}

ndr_status ndr_group_scan(ndr_group *group, const ndr_group_scan_desc *desc)
{
    NDR_REQUIRE_SET(group, desc);
    NDR_TRY(check_dtype(__func__, desc->dtype));
    NDR_TRY(check_array(__func__, "input", desc->input, desc->count));
    NDR_TRY(check_array(__func__, "output", desc->output, desc->count));
    const size_t element_bytes = ndr_dtype_size(desc->dtype), chunk = ndr_stream_chunk_for(desc->count, element_bytes);
    void *const results = new_results(__func__, ndr_ceil_div(desc->count, chunk), element_bytes);
    if (!results) return NDR_OUT_OF_HOST_MEMORY;
    const ndr_status status = scan_with(group, desc, chunk, results);
    free(results);
    return status;
}
