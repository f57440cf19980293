/** @file ndr_index.h
 * Index-space values on the host: arithmetic on ranges and ids, linear indices, more than three dimensions.
 *
 * Plain values and inline functions. An operation without a valid result (different numbers of dimensions, a
 * division by 0, a difference below 0, a sum or product past SIZE_MAX) gives a value of 0 dimensions, which every
 * launch refuses. SYCL's names stand in brackets. */
#ifndef NDR_NDR_INDEX_H
#define NDR_NDR_INDEX_H

#include "ndr/ndr.h"

/* ---- ids ------------------------------------------------------------------------------------------- */

/** A place in a range [id]: 1 to 3 indices, the last one contiguous. */
typedef struct ndr_id {
    unsigned dims; /**< 1, 2 or 3. */
    size_t at[3];  /**< The first `dims` count. */
} ndr_id;

/** The id (i). */
static inline ndr_id ndr_id_1d(size_t i)
{
    ndr_id id = { 1, { i, 0, 0 } };
    return id;
}

/** The id (row, col). */
static inline ndr_id ndr_id_2d(size_t row, size_t col)
{
    ndr_id id = { 2, { row, col, 0 } };
    return id;
}

/** The id (plane, row, col). */
static inline ndr_id ndr_id_3d(size_t plane, size_t row, size_t col)
{
    ndr_id id = { 3, { plane, row, col } };
    return id;
}

/** The range of `dims` dimensions whose every size is n: use it for a single number in arithmetic. */
static inline ndr_range ndr_range_all(unsigned dims, size_t n)
{
    ndr_range range = { dims, { n, n, n } };
    for (unsigned d = dims; d < 3; ++d) range.size[d] = 0;
    return range;
}

/** The id with the range's numbers, to add a range to an id. */
static inline ndr_id ndr_id_of_range(ndr_range range)
{
    ndr_id id = { range.dims, { range.size[0], range.size[1], range.size[2] } };
    return id;
}

/** The range with the id's numbers. */
static inline ndr_range ndr_range_of_id(ndr_id id)
{
    ndr_range range = { id.dims, { id.at[0], id.at[1], id.at[2] } };
    return range;
}

/* ---- arithmetic ------------------------------------------------------------------------------------ */

/** The number of elements [range::size()]: the product; 0 for no dimensions; SIZE_MAX if the product is larger. */
static inline size_t ndr_range_total(ndr_range range)
{
    size_t total = range.dims ? 1 : 0;
    for (unsigned d = 0; d < range.dims && d < 3; ++d)
        if (range.size[d] == 0) return 0;
    for (unsigned d = 0; d < range.dims && d < 3; ++d) {
        if (total > SIZE_MAX / range.size[d]) return SIZE_MAX;
        total *= range.size[d];
    }
    return total;
}

/** Whether dimensions and sizes are the same [==]. */
static inline bool ndr_range_equal(ndr_range a, ndr_range b)
{
    bool same = a.dims == b.dims;
    for (unsigned d = 0; d < a.dims && d < 3; ++d) same = same && a.size[d] == b.size[d];
    return same;
}

/** Whether dimensions and indices are the same [==]. */
static inline bool ndr_id_equal(ndr_id a, ndr_id b)
{
    return ndr_range_equal(ndr_range_of_id(a), ndr_range_of_id(b));
}

/** a + b [+], dimension by dimension. */
static inline ndr_range ndr_range_add(ndr_range a, ndr_range b)
{
    ndr_range none = { 0, { 0, 0, 0 } }, out = none;
    if (a.dims != b.dims || a.dims > 3) return none;
    for (unsigned d = 0; d < a.dims; ++d) {
        if (!(a.size[d] <= SIZE_MAX - b.size[d])) return none;
        out.size[d] = a.size[d] + b.size[d];
    }
    out.dims = a.dims;
    return out;
}

/** a + b [+], dimension by dimension. */
static inline ndr_id ndr_id_add(ndr_id a, ndr_id b)
{
    return ndr_id_of_range(ndr_range_add(ndr_range_of_id(a), ndr_range_of_id(b)));
}

/** a - b [-], dimension by dimension. */
static inline ndr_range ndr_range_sub(ndr_range a, ndr_range b)
{
    ndr_range none = { 0, { 0, 0, 0 } }, out = none;
    if (a.dims != b.dims || a.dims > 3) return none;
    for (unsigned d = 0; d < a.dims; ++d) {
        if (!(a.size[d] >= b.size[d])) return none;
        out.size[d] = a.size[d] - b.size[d];
    }
    out.dims = a.dims;
    return out;
}

/** a - b [-], dimension by dimension. */
static inline ndr_id ndr_id_sub(ndr_id a, ndr_id b)
{
    return ndr_id_of_range(ndr_range_sub(ndr_range_of_id(a), ndr_range_of_id(b)));
}

/** a * b [*], dimension by dimension. */
static inline ndr_range ndr_range_mul(ndr_range a, ndr_range b)
{
    ndr_range none = { 0, { 0, 0, 0 } }, out = none;
    if (a.dims != b.dims || a.dims > 3) return none;
    for (unsigned d = 0; d < a.dims; ++d) {
        if (!(b.size[d] == 0 || a.size[d] <= SIZE_MAX / b.size[d])) return none;
        out.size[d] = a.size[d] * b.size[d];
    }
    out.dims = a.dims;
    return out;
}

/** a * b [*], dimension by dimension. */
static inline ndr_id ndr_id_mul(ndr_id a, ndr_id b)
{
    return ndr_id_of_range(ndr_range_mul(ndr_range_of_id(a), ndr_range_of_id(b)));
}

/** a / b [/], rounded down, dimension by dimension. */
static inline ndr_range ndr_range_div(ndr_range a, ndr_range b)
{
    ndr_range none = { 0, { 0, 0, 0 } }, out = none;
    if (a.dims != b.dims || a.dims > 3) return none;
    for (unsigned d = 0; d < a.dims; ++d) {
        if (!(b.size[d] != 0)) return none;
        out.size[d] = a.size[d] / b.size[d];
    }
    out.dims = a.dims;
    return out;
}

/** a / b [/], rounded down, dimension by dimension. */
static inline ndr_id ndr_id_div(ndr_id a, ndr_id b)
{
    return ndr_id_of_range(ndr_range_div(ndr_range_of_id(a), ndr_range_of_id(b)));
}

/** a % b [%], dimension by dimension. */
static inline ndr_range ndr_range_mod(ndr_range a, ndr_range b)
{
    ndr_range none = { 0, { 0, 0, 0 } }, out = none;
    if (a.dims != b.dims || a.dims > 3) return none;
    for (unsigned d = 0; d < a.dims; ++d) {
        if (!(b.size[d] != 0)) return none;
        out.size[d] = a.size[d] % b.size[d];
    }
    out.dims = a.dims;
    return out;
}

/** a % b [%], dimension by dimension. */
static inline ndr_id ndr_id_mod(ndr_id a, ndr_id b)
{
    return ndr_id_of_range(ndr_range_mod(ndr_range_of_id(a), ndr_range_of_id(b)));
}

/** Rounded up to multiples of `local`, dimension by dimension: what NDR_EDGE_ROUND_UP launches. */
static inline ndr_range ndr_range_round_up(ndr_range range, ndr_range local)
{
    ndr_range up = range;
    if (range.dims != local.dims) up.dims = 0;
    for (unsigned d = 0; d < up.dims && d < 3; ++d) {
        const size_t rest = local.size[d] ? range.size[d] % local.size[d] : 0;
        const size_t missing = rest ? local.size[d] - rest : 0;
        if (local.size[d] == 0 || range.size[d] > SIZE_MAX - missing) return ndr_range_all(0, 0);
        up.size[d] = range.size[d] + missing;
    }
    return up;
}

/** The number of groups [nd_range::get_group_range()], edge groups included; 0 dimensions if the library chooses the
 * local size. */
static inline ndr_range ndr_nd_range_groups(ndr_nd_range range)
{
    return range.groups.dims ? range.groups
                             : ndr_range_div(ndr_range_round_up(range.global, range.local), range.local);
}

/* ---- linear indices -------------------------------------------------------------------------------- */

/** The linear index of `index` in an array of `dims` extents, the last dimension contiguous: SYCL's linearization, for
 * any number of dimensions. Indices past their extent are not checked. */
static inline size_t ndr_linearize(size_t dims, const size_t *extents, const size_t *index)
{
    size_t linear = 0;
    for (size_t d = 0; d < dims; ++d) linear = linear * extents[d] + index[d];
    return linear;
}

/** The reverse: the index of element `linear`. No extent may be 0. */
static inline void ndr_delinearize(size_t dims, const size_t *extents, size_t linear, size_t *index)
{
    for (size_t d = dims; d-- > 0;) {
        index[d] = linear % extents[d];
        linear /= extents[d];
    }
}

/** The linear index of an id in a range [item::get_linear_id()]. */
static inline size_t ndr_linear_id(ndr_range range, ndr_id id)
{
    return ndr_linearize(range.dims < 3 ? range.dims : 3, range.size, id.at);
}

/** The id of a linear index in a range without zeros. */
static inline ndr_id ndr_id_at(ndr_range range, size_t linear)
{
    ndr_id id = { range.dims < 3 ? range.dims : 3, { 0, 0, 0 } };
    ndr_delinearize(id.dims, range.size, linear, id.at);
    return id;
}

#endif
