/* layout.c - how a reduction goes through its shape: which dimensions are one, and along which one items lie. */
#include "ops/map_reduce/map_reduce.h"

/* ---- strides ---- */

/* Of the innermost dimension of an axis. The segments' axis has none: only outputs have a stride along it. */
static int64_t stride_of(const ndr_reduced_axis *axis, const ndr_array *array, bool is_output)
{
    if (is_output && axis->is_reduced) return 0;
    if (axis->count == 0) return is_output ? array->stride[0] : 0;
    return array->stride[axis->from[axis->count - 1]];
}

void ndr_reduced_strides(const ndr_reduced_layout *layout, const ndr_array *array, bool is_output, int64_t strides[3])
{
    for (unsigned d = 0; d < 3; ++d) strides[d] = d < layout->dims ? stride_of(&layout->axes[d], array, is_output) : 0;
}

/* The largest distance of neighbours along an axis. */
static uint64_t distance_of(const ndr_map_reduce_request *r, const ndr_reduced_axis *axis)
{
    uint64_t most = 0;
    for (size_t i = 0; i < r->names.input_count; ++i) {
        const int64_t stride = stride_of(axis, &r->names.inputs[i].array, false);
        const uint64_t distance = stride < 0 ? 0 - (uint64_t)stride : (uint64_t)stride;
        most = distance > most ? distance : most;
    }
    return most;
}

/* ---- axes ---- */

static void swap_axes(ndr_reduced_axis *a, ndr_reduced_axis *b)
{
    const ndr_reduced_axis old = *a;
    *a = *b;
    *b = old;
}

/* One axis for each dimension, the one with the nearest neighbours last. Those of one index are left out. */
static void list_axes(ndr_map_reduce_request *r)
{
    ndr_reduced_layout *l = &r->layout;
    for (unsigned d = 0; d < r->names.shape.dims; ++d) {
        const bool is_reduced = r->desc->axes == 0 || (r->desc->axes >> d & 1);
        if (r->names.shape.size[d] == 1) continue;
        l->axes[l->dims++] = (ndr_reduced_axis){ r->names.shape.size[d], is_reduced, 1, { d } };
        for (unsigned at = l->dims - 1; at > 0; --at)
            if (distance_of(r, &l->axes[at]) > distance_of(r, &l->axes[at - 1]))
                swap_axes(&l->axes[at], &l->axes[at - 1]);
    }
}

static bool continues(const ndr_reduced_axis *outer, const ndr_reduced_axis *inner, const ndr_array *array,
                      bool is_output)
{
    return stride_of(outer, array, is_output) == stride_of(inner, array, is_output) * (int64_t)inner->size;
}

/* Whether all arrays continue from one index of the outer axis to the next. */
static bool are_one(const ndr_map_reduce_request *r, const ndr_reduced_axis *outer, const ndr_reduced_axis *inner)
{
    bool are = outer->is_reduced == inner->is_reduced;
    for (size_t i = 0; are && i < r->names.input_count; ++i)
        are = continues(outer, inner, &r->names.inputs[i].array, false);
    for (size_t i = 0; are && i < r->value_count; ++i)
        if (r->values[i].is_stored) are = continues(outer, inner, &r->values[i].given.output, true);
    return are;
}

static void join_axes(ndr_map_reduce_request *r)
{
    ndr_reduced_layout *l = &r->layout;
    for (unsigned d = l->dims; d-- > 1;) {
        ndr_reduced_axis *outer = &l->axes[d - 1], *inner = &l->axes[d];
        if (!are_one(r, outer, inner)) continue;
        outer->size *= inner->size;
        for (unsigned i = 0; i < inner->count; ++i) outer->from[outer->count++] = inner->from[i];
        memmove(inner, inner + 1, (l->dims - d - 1) * sizeof *inner);
        --l->dims;
    }
}

/* ---- the order of indexes ---- */

/* The last axis of a kind, or the longest one if that is short; it becomes the last. NULL: there is none. */
static ndr_reduced_axis *find_inner(ndr_reduced_layout *l, bool is_reduced)
{
    enum { SHORT = 16 };
    ndr_reduced_axis *last = NULL, *longest = NULL;
    for (unsigned d = 0; d < l->dims; ++d) {
        if (l->axes[d].is_reduced != is_reduced) continue;
        last = &l->axes[d];
        if (!longest || last->size > longest->size) longest = last;
    }
    if (last && last->size < SHORT) swap_axes(longest, last);
    return last;
}

/* Along the axis of the nearest neighbours, unless it is much shorter than the other one. NULL: there is no such axis. */
static bool lies_along_reduced(const ndr_reduced_axis *kept, const ndr_reduced_axis *reduced, bool is_nearest)
{
    enum { SHORT = 16, LONG = 64 };
    if (!kept || !reduced) return !kept;
    return is_nearest ? reduced->size >= SHORT || kept->size < 4 * reduced->size
                      : kept->size < SHORT / 2 && reduced->size >= LONG;
}

void ndr_reduced_lay_out(ndr_map_reduce_request *r)
{
    ndr_reduced_layout *l = &r->layout;
    *l = (ndr_reduced_layout){ .dims = 0 };
    if (ndr_has_segments(r->desc)) {
        l->axes[l->dims++] = (ndr_reduced_axis){ .size = r->desc->segments };
        l->axes[l->dims++] = (ndr_reduced_axis){ r->names.shape.size[0], true, 1, { 0 } };
    } else {
        list_axes(r);
        join_axes(r);
    }
    const bool is_nearest = l->dims == 0 || l->axes[l->dims - 1].is_reduced;
    const ndr_reduced_axis *kept = find_inner(l, false), *reduced = find_inner(l, true);
    l->kept = l->count = 1;
    for (unsigned d = 0; d < l->dims; ++d) *(l->axes[d].is_reduced ? &l->count : &l->kept) *= l->axes[d].size;
    l->inner = kept ? ndr_max_size(kept->size, 1) : 1;
    l->row = reduced ? ndr_max_size(reduced->size, 1) : 1;
    l->is_along_reduced = ndr_has_segments(r->desc) || lies_along_reduced(kept, reduced, is_nearest);
    if (l->dims == 0) l->axes[l->dims++] = (ndr_reduced_axis){ 1, true, 0, { 0 } };
}
