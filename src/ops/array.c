/* array.c - checks strided arrays: dimensions, types, bounds, overlap. */
#include "device/map.h"
#include "ops/array.h"

size_t ndr_array_count(const ndr_array *array) { return ndr_sizes_product(array->shape.dims, array->shape.size); }

bool ndr_array_is_packed(const ndr_array *array)
{
    size_t wanted = 1;
    for (unsigned d = array->shape.dims; d-- > 0; wanted *= array->shape.size[d])
        if (array->shape.size[d] > 1 && array->stride[d] != (int64_t)wanted) return false;
    return true;
}

bool ndr_array_is_same(const ndr_array *a, const ndr_array *b)
{
    bool is_same = a->buffer == b->buffer && a->dtype == b->dtype && a->offset == b->offset;
    for (unsigned d = 0; d < a->shape.dims && is_same; ++d)
        is_same = a->shape.size[d] <= 1 || a->stride[d] == b->stride[d];
    return is_same;
}

ndr_arg ndr_array_arg(const ndr_array *array) { return ndr_array_count(array) ? ndr_arg_of(array->buffer) : ndr_null; }

/* ---- bounds ---- */

/* The absolute stride of a dimension. */
static uint64_t distance_of(const ndr_array *array, unsigned d)
{
    const int64_t stride = array->stride[d];
    return stride < 0 ? 0 - (uint64_t)stride : (uint64_t)stride;
}

/* Elements between the first and the last index of a dimension; false if that overflows. */
static bool find_reach(const ndr_array *array, unsigned d, size_t *reach)
{
    const uint64_t distance = distance_of(array, d);
    const size_t steps = array->shape.size[d] - 1;
    *reach = 0;
    return steps == 0 || (distance <= SIZE_MAX && ndr_mul_fits((size_t)distance, steps, reach));
}

/* The lowest element and the one behind the highest; false if one is before 0 or above SIZE_MAX. */
static bool find_bounds(const ndr_array *array, size_t *begin, size_t *end)
{
    size_t below = 0, above = 0, reach;
    for (unsigned d = 0; d < array->shape.dims; ++d) {
        if (!find_reach(array, d, &reach)) return false;
        if (!ndr_add_fits(array->stride[d] < 0 ? below : above, reach, array->stride[d] < 0 ? &below : &above))
            return false;
    }
    *begin = array->offset - below;
    return below <= array->offset && ndr_add_fits(array->offset, above, end) && ndr_add_fits(*end, 1, end);
}

ndr_bytes ndr_array_bytes(const ndr_array *array)
{
    size_t begin = 0, end = 0;
    const size_t size = ndr_dtype_size(array->dtype);
    (void)find_bounds(array, &begin, &end); /* checked before */
    return (ndr_bytes){ array->buffer, begin * size, (end - begin) * size };
}

/* ---- checks ---- */

ndr_status ndr_array_check(const char *call, const char *name, const ndr_array *array, const ndr_device_info *device)
{
    NDR_REQUIRE(array->shape.dims >= 1 && array->shape.dims <= 3,
                "%s: array \"%s\" has %u dimensions; make it with ndr_array_of(), in 1 to 3", call, name,
                array->shape.dims);
    NDR_REQUIRE(ndr_dtype_describe(array->dtype), "%s: array \"%s\" has %s; set it to its elements' type", call, name,
                array->dtype == NDR_DTYPE_NONE ? "no dtype" : "a dtype that is not valid");
    NDR_REQUIRE_AS(NDR_UNSUPPORTED, !device || array->dtype != NDR_DTYPE_F64 || device->has_f64,
                   "%s: array \"%s\" is f64, which device \"%s\" does not have; use f32", call, name, device->name);
    NDR_REQUIRE(ndr_array_count(array) < SIZE_MAX,
                "%s: array \"%s\" of shape %s has more elements than a size_t counts", call, name,
                ndr_sizes_print(array->shape.dims, array->shape.size).chars);
    return NDR_OK;
}

ndr_status ndr_array_check_buffer(const char *call, const char *name, const ndr_array *array,
                                  const ndr_context *context)
{
    size_t begin, end;
    if (ndr_array_count(array) == 0) return NDR_OK;
    NDR_REQUIRE(array->buffer, "%s: array \"%s\" has no buffer; set array.buffer", call, name);
    NDR_REQUIRE_LIVE(NDR_HANDLE_BUFFER, array->buffer, call, name);
    NDR_REQUIRE(array->buffer->context == context,
                "%s: array \"%s\" and the queue belong to different contexts%s; create both in one", call, name,
                ndr_handle_or_destroyed());
    const size_t held = array->buffer->size_bytes / ndr_dtype_size(array->dtype);
    NDR_REQUIRE_AS(NDR_OUT_OF_BOUNDS, find_bounds(array, &begin, &end) && end <= held,
                   "%s: array \"%s\" of shape %s from element %zu with strides (%lld, %lld, %lld) leaves its buffer of "
                   "%zu elements; make the shape, the offset or a stride smaller",
                   call, name, ndr_sizes_print(array->shape.dims, array->shape.size).chars, array->offset,
                   (long long)array->stride[0], (long long)(array->shape.dims > 1 ? array->stride[1] : 0),
                   (long long)(array->shape.dims > 2 ? array->stride[2] : 0), held);
    return NDR_OK;
}

/* Each stride passes all elements that the dimensions of smaller strides reach. */
ndr_status ndr_array_check_output(const char *call, const char *name, const ndr_array *array)
{
    const unsigned dims = array->shape.dims;
    if (ndr_array_count(array) == 0) return NDR_OK;
    for (unsigned d = 0; d < dims; ++d) {
        size_t below = 0, reach, mine;
        const uint64_t distance = distance_of(array, d);
        if (array->shape.size[d] <= 1 || !find_reach(array, d, &mine)) continue;
        for (unsigned other = 0; other < dims; ++other) {
            const uint64_t its = distance_of(array, other);
            const bool is_smaller = its < distance || (its == distance && other > d);
            if (other != d && is_smaller && array->shape.size[other] > 1 && find_reach(array, other, &reach))
                below += reach;
        }
        NDR_REQUIRE(
            distance > below,
            "%s: output \"%s\" of shape %s has several indexes for one element, because stride[%u] is %lld; use "
            "the strides of ndr_array_of()",
            call, name, ndr_sizes_print(dims, array->shape.size).chars, d, (long long)array->stride[d]);
    }
    return NDR_OK;
}

ndr_status ndr_array_check_outside(const char *call, const char *name, ndr_bytes output, const char *other_name,
                                   const ndr_array *other)
{
    if (ndr_array_count(other) == 0) return NDR_OK;
    const ndr_bytes its = ndr_array_bytes(other);
    NDR_REQUIRE(!ndr_bytes_overlap(output, its),
                "%s: \"%s\", bytes %zu to %zu, overlaps \"%s\", bytes %zu to %zu of %s: move one of them", call, name,
                output.offset_bytes, output.offset_bytes + output.size_bytes - 1, other_name, its.offset_bytes,
                its.offset_bytes + its.size_bytes - 1,
                output.buffer == other->buffer ? "the same buffer" : "another buffer over the same memory");
    return NDR_OK;
}

ndr_status ndr_array_check_apart(const char *call, const char *name, const ndr_array *array, const char *other_name,
                                 const ndr_array *other)
{
    return ndr_array_count(array) > 0 ? ndr_array_check_outside(call, name, ndr_array_bytes(array), other_name, other)
                                      : NDR_OK;
}
