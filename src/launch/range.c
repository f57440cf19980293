/* range.c - checks a range, chooses its local size, and splits it into pieces with equal groups.
 *
 * Pure arithmetic on plain data: tested without a device.
 *
 *        n = 1000, local 256, split:   |256|256|256|232|      the last one is a piece of its own
 *        (5, 7) by (2, 3), split:      4 x 6 in (2, 3), 4 x 1 in (2, 1), 1 x 6 in (1, 3), 1 x 1 in (1, 1)
 */
#include "device/context.h"
#include "launch/range.h"

#include <stddef.h>
#include <string.h>

/* Group sizes that suit the known devices; see docs/appendix/decisions/launch.md. */
enum { PREFERRED_GROUP = 256, DEFAULT_GROUP = 64 };

/* Groups of one OpenCL launch: drivers count them in 32 bits, some of them signed. */
enum { MAX_GROUPS = INT32_MAX };

/* A size or offset above this is a negative number converted to size_t. */
#define MAX_SIZE (SIZE_MAX / 2)

/* The state of planning. */
typedef struct planner {
    const ndr_nd_range *range;
    const ndr_range_rules *rules;
    unsigned dims;
    size_t local[3];
    size_t edge_local[3]; /* local size of the pieces at the far edge; 0: the length of the edge */
    bool rounds_up;
} planner;

/* ---- limits ---- */

/* The largest local size in dimension d. The dimensions of a range are the last ones of three. */
static size_t limit_of(const planner *p, unsigned d)
{
    return ndr_min_size(p->rules->max_local_size[3 - p->dims + d], p->rules->max_group_size);
}

/* The largest id of the device. It is below SIZE_MAX, which item_count() returns for more items than can be counted. */
static size_t max_id(const ndr_range_rules *rules)
{
    return rules->address_bits < 64 ? ndr_min_size(UINT32_MAX, SIZE_MAX - 1) : MAX_SIZE;
}

static size_t largest_power_of_two(size_t limit)
{
    size_t power = 1;
    while (power <= limit / 2) power *= 2;
    return power;
}

/* ---- checks ---- */

static bool has_groups(const ndr_nd_range *range) { return range->local.dims != 0; }

static bool is_automatic(const ndr_nd_range *range)
{
    for (unsigned d = 0; d < range->local.dims; ++d)
        if (range->local.size[d]) return false;
    return true;
}

static ndr_status check_dims(const planner *p)
{
    const ndr_nd_range *range = p->range;
    const char *kernel = p->rules->kernel;
    NDR_REQUIRE_AS(NDR_BAD_RANGE, range->global.dims >= 1 && range->global.dims <= 3,
                   "kernel \"%s\": a range has 1 to 3 dimensions, not %u: make it with ndr_range_1d(), _2d() or _3d()",
                   kernel, range->global.dims);
    NDR_REQUIRE_AS(NDR_BAD_RANGE, range->local.dims == 0 || range->local.dims == range->global.dims,
                   "kernel \"%s\": the global range has %u dimension%s, but the local range has %u: give both "
                   "the same number",
                   kernel, range->global.dims, range->global.dims == 1 ? "" : "s", range->local.dims);
    NDR_REQUIRE_AS(
        NDR_BAD_RANGE, p->rules->dims == 0 || p->rules->dims == range->global.dims,
        "kernel \"%s\" is written for %u dimension%s, but the range %s has %u: launch it over ndr_range_%ud()", kernel,
        p->rules->dims, p->rules->dims == 1 ? "" : "s", ndr_sizes_print(range->global.dims, range->global.size).chars,
        range->global.dims, p->rules->dims);
    NDR_REQUIRE_AS(NDR_BAD_RANGE, (unsigned)range->edge <= NDR_EDGE_SPLIT,
                   "kernel \"%s\": %d is not an ndr_edge; use NDR_EDGE_REJECT, NDR_EDGE_ROUND_UP or NDR_EDGE_SPLIT",
                   kernel, (int)range->edge);
    return NDR_OK;
}

static ndr_status check_form(const planner *p)
{
    const ndr_form form = p->rules->form;
    NDR_REQUIRE_AS(NDR_BAD_RANGE, form != NDR_FORM_RANGE || !has_groups(p->range),
                   "kernel \"%s\" has no groups (NDR_RANGE): launch it over an ndr_range, or write NDR_ND_RANGE",
                   p->rules->kernel);
    NDR_REQUIRE_AS(NDR_BAD_RANGE, form != NDR_FORM_ND_RANGE || has_groups(p->range),
                   "kernel \"%s\" works in groups (NDR_ND_RANGE): launch it over an ndr_nd_range; a local size of 0 "
                   "lets the library choose",
                   p->rules->kernel);
    NDR_REQUIRE_AS(NDR_BAD_RANGE, form != NDR_FORM_REDUCTION || !has_groups(p->range),
                   "kernel \"%s\" has reducers (NDR_REDUCTION), and its items take many indexes each: launch it over "
                   "an ndr_range without a local size; for groups, write NDR_ND_RANGE and ndr_reduce_over_group(), and "
                   "combine the groups' values by ndr_reduce()",
                   p->rules->kernel);
    return NDR_OK;
}

static ndr_status check_not_negative(const planner *p, const char *what, const size_t sizes[3], unsigned dims)
{
    for (unsigned d = 0; d < dims; ++d)
        NDR_REQUIRE_AS(NDR_BAD_RANGE, sizes[d] <= MAX_SIZE,
                       "kernel \"%s\": %s %zu in dimension %u is the negative number %td as a size_t; use 0 or more",
                       p->rules->kernel, what, sizes[d], d, (ptrdiff_t)sizes[d]);
    return NDR_OK;
}

static ndr_status check_signs(const planner *p)
{
    const ndr_nd_range *range = p->range;
    NDR_TRY(check_not_negative(p, "global size", range->global.size, p->dims));
    NDR_TRY(check_not_negative(p, "local size", range->local.size, range->local.dims));
    return check_not_negative(p, "offset", range->offset, p->dims);
}

static size_t item_count(const planner *p) { return ndr_sizes_product(p->dims, p->range->global.size); }

/* Ids and counts must fit size_t on the device and on the host. */
static ndr_status check_sizes(const planner *p)
{
    const size_t largest = max_id(p->rules);
    for (unsigned d = 0; d < p->dims; ++d) {
        const size_t size = p->range->global.size[d], offset = p->range->offset[d];
        NDR_REQUIRE_AS(NDR_BAD_RANGE, size <= largest && offset <= largest - size,
                       "kernel \"%s\": global size %zu from offset %zu in dimension %u exceeds the device's largest "
                       "id, %zu: make one of them smaller",
                       p->rules->kernel, size, offset, d, largest);
    }
    NDR_REQUIRE_AS(NDR_BAD_RANGE, item_count(p) <= largest,
                   "kernel \"%s\": global size %s has more work-items than the device can count, %zu: launch parts of "
                   "it",
                   p->rules->kernel, ndr_sizes_print(p->dims, p->range->global.size).chars, largest);
    return NDR_OK;
}

/* Of a local size that is not all zeros. */
static ndr_status check_no_zero(const planner *p, const size_t local[3])
{
    for (unsigned d = 0; d < p->dims; ++d)
        NDR_REQUIRE_AS(NDR_BAD_RANGE, local[d] > 0,
                       "kernel \"%s\": local size %s is 0 in dimension %u; set every dimension, or leave all 0 to "
                       "let the library choose",
                       p->rules->kernel, ndr_sizes_print(p->dims, local).chars, d);
    return NDR_OK;
}

static ndr_status check_given_local(const planner *p)
{
    const char *kernel = p->rules->kernel;
    const size_t items = ndr_sizes_product(p->dims, p->local);
    NDR_TRY(check_no_zero(p, p->local));
    for (unsigned d = 0; d < p->dims; ++d) {
        const size_t device_limit = p->rules->max_local_size[3 - p->dims + d];
        NDR_REQUIRE_AS(
            NDR_LIMIT_EXCEEDED, p->local[d] <= device_limit,
            "kernel \"%s\": local size %s; the device takes at most %zu in dimension %u: make it smaller, or all zeros "
            "to let the library choose",
            kernel, ndr_sizes_print(p->dims, p->local).chars, device_limit, d);
    }
    NDR_REQUIRE_AS(NDR_LIMIT_EXCEEDED, items <= p->rules->max_group_size,
                   "kernel \"%s\": local size %s makes groups of %zu work-items; this kernel on this device takes at "
                   "most %zu: make it smaller, or all zeros to let the library choose",
                   kernel, ndr_sizes_print(p->dims, p->local).chars, items, p->rules->max_group_size);
    return NDR_OK;
}

static bool has_required(const ndr_range_rules *rules) { return rules->required[2] != 0; }

/* The required size in the dimensions of the range, or all of it if it has more. */
static ndr_size_text print_required(const planner *p)
{
    const size_t *required = p->rules->required;
    unsigned dims = 3;
    while (dims > p->dims && required[3 - dims] == 1) --dims;
    return ndr_sizes_print(dims, required + 3 - dims);
}

static ndr_status check_required(const planner *p)
{
    if (!has_required(p->rules)) return NDR_OK;
    const size_t *required = p->rules->required;
    bool same = true;
    for (unsigned d = 0; d < 3 - p->dims; ++d) same &= required[d] == 1;
    for (unsigned d = 0; d < p->dims; ++d) same &= required[3 - p->dims + d] == p->local[d];
    NDR_REQUIRE_AS(NDR_BAD_RANGE, same,
                   "kernel \"%s\" requires the local size %s (reqd_work_group_size), not %s: give that one, or all "
                   "zeros to let the library choose",
                   p->rules->kernel, print_required(p).chars, ndr_sizes_print(p->dims, p->local).chars);
    return NDR_OK;
}

/* ---- choosing ---- */

/* The largest divisor of `size` up to `limit`: for kernels that can be neither split nor rounded up. */
static size_t best_divisor(size_t size, size_t limit)
{
    size_t divisor = ndr_min_size(size, limit);
    while (divisor > 1 && size % divisor != 0) --divisor;
    return ndr_max_size(divisor, 1);
}

/* A power of two that leaves at most an eighth of `size` as the rest; at least 1. */
static size_t low_waste_power(size_t size, size_t limit)
{
    size_t power = largest_power_of_two(ndr_min_size(size, limit));
    while (power > 1 && size % power > size / 8) power /= 2;
    return power;
}

/* The number of items to put into a group: larger than preferred only if there would be too many groups. */
static size_t preferred_group_items(const planner *p)
{
    const size_t preferred = ndr_ceil_div(item_count(p), PREFERRED_GROUP) <= MAX_GROUPS ? PREFERRED_GROUP : SIZE_MAX;
    return largest_power_of_two(ndr_min_size(preferred, p->rules->max_group_size));
}

/* The local size of dimension d for groups of at most `room` items. */
static size_t choose_size(const planner *p, unsigned d, size_t room)
{
    const size_t size = p->range->global.size[d];
    const size_t limit = ndr_min_size(room, limit_of(p, d));
    const bool is_contiguous = d + 1 == p->dims;
    if (p->rounds_up) /* the smallest power of two that holds the size */
        return ndr_min_size(largest_power_of_two(limit), largest_power_of_two(2 * ndr_min_size(size, limit) - 1));
    switch (p->rules->form) {
    case NDR_FORM_PLAIN: return best_divisor(size, limit);
    case NDR_FORM_RANGE: return low_waste_power(size, limit);
    case NDR_FORM_ND_RANGE:
    default: return is_contiguous ? ndr_min_size(size, limit) : largest_power_of_two(ndr_min_size(size, limit));
    }
}

/* Fill groups along the contiguous dimension first. Only kernels that can be neither split nor rounded up get
 * divisors: for others a prime size would give groups of one item. */
static void choose_local(planner *p)
{
    size_t room = preferred_group_items(p);
    /* A range smaller than one group runs as groups of one item: one launch, and no new group size for the driver to
     * build. */
    if (p->rules->form == NDR_FORM_RANGE && !p->rounds_up && item_count(p) < room) room = 1;
    for (unsigned d = p->dims; d-- > 0;) {
        p->local[d] = choose_size(p, d, room);
        room /= p->local[d];
        if (room == 0) room = 1;
    }
    if (p->rules->form == NDR_FORM_RANGE)
        for (unsigned d = 0; d < p->dims; ++d) p->edge_local[d] = 1;
}

static void adopt_required(const planner *p, size_t local[3])
{
    for (unsigned d = 0; d < p->dims; ++d) local[d] = p->rules->required[3 - p->dims + d];
}

/* ---- rounding up ---- */

/* The first dimension that groups do not divide; the number of dimensions if there is none. */
static unsigned find_ragged(const planner *p)
{
    unsigned d = 0;
    while (d < p->dims && p->range->global.size[d] % p->local[d] == 0) ++d;
    return d;
}

/* A double, because it does not overflow. */
static double rounded_up(size_t size, size_t local) { return (double)ndr_ceil_div(size, local) * (double)local; }

/* The largest local size that makes the rounded range larger by an eighth at most. */
static void choose_rounding_local(const planner *p, size_t local[3])
{
    double asked = 1, run = 1;
    size_t room = preferred_group_items(p);
    for (unsigned d = p->dims; d-- > 0;) {
        const size_t size = p->range->global.size[d];
        asked *= (double)size;
        local[d] = largest_power_of_two(ndr_min_size(size, ndr_min_size(room, limit_of(p, d))));
        while (local[d] > 1 && run * rounded_up(size, local[d]) > 1.125 * asked) local[d] /= 2;
        run *= rounded_up(size, local[d]);
        room /= local[d];
    }
}

/* Whether rounding up keeps items and ids countable, also for drivers that count in 32 bits. */
static bool may_grow_by(const planner *p, const size_t local[3])
{
    size_t items = 1, asked = 1; /* the range itself is countable */
    for (unsigned d = 0; d < p->dims; ++d) {
        const size_t size = p->range->global.size[d], offset = p->range->offset[d];
        size_t rounded, end;
        if (!ndr_mul_fits(ndr_ceil_div(size, local[d]), local[d], &rounded)) return false;
        if (!ndr_mul_fits(items, rounded, &items) || items > max_id(p->rules)) return false;
        if (!ndr_add_fits(offset, rounded, &end) || end > max_id(p->rules)) return false;
        if (end > UINT32_MAX && offset + size <= UINT32_MAX) return false;
        asked *= size;
    }
    return items <= UINT32_MAX || asked > UINT32_MAX;
}

/* Round up instead of splitting, if the kernel itself returns in the items past the range. */
static void round_up_if_guarded(planner *p)
{
    size_t local[3];
    if (!p->rules->is_guarded || p->rounds_up || find_ragged(p) == p->dims) return;
    if (has_required(p->rules)) memcpy(local, p->local, sizeof local);
    else choose_rounding_local(p, local);
    if (!may_grow_by(p, local)) return;
    memcpy(p->local, local, p->dims * sizeof *local);
    p->rounds_up = true;
}

/* ---- edges ---- */

static ndr_status check_edges(const planner *p, bool automatic)
{
    const unsigned d = find_ragged(p);
    if (p->rounds_up || d == p->dims) return NDR_OK;
    const char *kernel = p->rules->kernel;
    const ndr_size_text global = ndr_sizes_print(p->dims, p->range->global.size);
    const ndr_size_text local = ndr_sizes_print(p->dims, p->local);
    const char *guard = p->rules->form == NDR_FORM_PLAIN ? "get_global_id(0) < n" : "ndr_in_range(it)";
    NDR_REQUIRE_AS(NDR_BAD_RANGE, !has_required(p->rules),
                   "kernel \"%s\": global size %s is not a multiple of the required local size %s in dimension %u, and "
                   "such a kernel cannot have smaller groups; make it a multiple, or set edge to NDR_EDGE_ROUND_UP and "
                   "guard with %s",
                   kernel, global.chars, local.chars, d, guard);
    if (p->rules->form != NDR_FORM_PLAIN && automatic) return NDR_OK;
    NDR_REQUIRE_AS(
        NDR_BAD_RANGE, p->range->edge == NDR_EDGE_SPLIT,
        "kernel \"%s\": global size %s is not a multiple of local size %s in dimension %u; make it a multiple, or "
        "set edge to NDR_EDGE_ROUND_UP and guard with %s%s%s",
        kernel, global.chars, local.chars, d, guard,
        p->rules->form == NDR_FORM_ND_RANGE ? ", or to NDR_EDGE_SPLIT, which makes the last groups smaller" : "",
        p->local[d] > p->range->global.size[d] ? "; global sizes precede local ones in ndr_nd_range_1d()" : "");
    NDR_REQUIRE_AS(NDR_BAD_RANGE, p->rules->form != NDR_FORM_PLAIN,
                   "kernel \"%s\" cannot be split: without NDR_ND_RANGE among its parameters its groups would get "
                   "wrong ids; use a multiple of local size %s, or NDR_EDGE_ROUND_UP and guard with %s",
                   kernel, local.chars, guard);
    return NDR_OK;
}

/* ---- pieces ---- */

/* Make the piece at one corner. Bit d of `corner` selects the part of dimension d behind `full`. False if the piece
 * is empty. */
static bool make_piece(const planner *p, const size_t full[3], unsigned corner, ndr_piece *piece)
{
    *piece = (ndr_piece){ { 0 }, { 0 }, { 0 }, { 0 } };
    for (unsigned d = 0; d < p->dims; ++d) {
        const bool edge = corner >> d & 1;
        const size_t size = p->range->global.size[d], left = size > full[d] ? size - full[d] : 0;
        piece->global[d] = edge ? left : full[d];
        if (piece->global[d] == 0) return false;
        piece->local[d] = !edge ? p->local[d] : p->edge_local[d] ? p->edge_local[d] : left;
        piece->offset[d] = p->range->offset[d] + (edge ? full[d] : 0);
        piece->first_group[d] = edge ? full[d] / p->local[d] : 0;
    }
    return true;
}

static ndr_status check_rounded(const planner *p)
{
    const size_t largest = max_id(p->rules);
    for (unsigned d = 0; d < p->dims && p->rounds_up; ++d) {
        size_t rounded;
        NDR_REQUIRE_AS(NDR_BAD_RANGE,
                       ndr_mul_fits(ndr_ceil_div(p->range->global.size[d], p->local[d]), p->local[d], &rounded)
                           && rounded <= largest && p->range->offset[d] <= largest - rounded,
                       "kernel \"%s\": global size %zu rounded up to a multiple of %zu in dimension %u exceeds the "
                       "device's largest id, %zu: reduce the global size",
                       p->rules->kernel, p->range->global.size[d], p->local[d], d, largest);
    }
    return NDR_OK;
}

static ndr_status check_group_count(const planner *p, const ndr_piece *piece)
{
    size_t groups = 1;
    for (unsigned d = 0; d < p->dims; ++d) groups *= piece->global[d] / piece->local[d];
    NDR_REQUIRE_AS(NDR_LIMIT_EXCEEDED, groups <= MAX_GROUPS,
                   "kernel \"%s\": global size %s in groups of %s makes %zu groups of one launch; it takes at most "
                   "%d: make groups larger, or launch parts of the range with an offset",
                   p->rules->kernel, ndr_sizes_print(p->dims, p->range->global.size).chars,
                   ndr_sizes_print(p->dims, piece->local).chars, groups, (int)MAX_GROUPS);
    return NDR_OK;
}

static ndr_status make_pieces(const planner *p, ndr_range_plan *plan)
{
    size_t full[3]; /* covered by groups of full size */
    for (unsigned d = 0; d < p->dims; ++d)
        full[d] = (p->range->global.size[d] + (p->rounds_up ? p->local[d] - 1 : 0)) / p->local[d] * p->local[d];
    for (unsigned corner = 0; corner < 1u << p->dims; ++corner) {
        ndr_piece *piece = &plan->pieces[plan->piece_count];
        if (!make_piece(p, full, corner, piece)) continue;
        NDR_TRY(check_group_count(p, piece));
        plan->largest_group = ndr_max_size(plan->largest_group, ndr_sizes_product(p->dims, piece->local));
        ++plan->piece_count;
    }
    return NDR_OK;
}

/* ---- ranges counted in groups ---- */

/* The local size if only the number of groups is given. */
static void choose_group(const planner *p, size_t local[3])
{
    for (unsigned d = 0; d < p->dims; ++d) local[d] = 1;
    if (has_required(p->rules)) adopt_required(p, local);
    else local[p->dims - 1] = ndr_min_size(DEFAULT_GROUP, limit_of(p, p->dims - 1));
}

/* Convert a range whose `global` counts groups to work-items. */
static ndr_status count_items(const planner *p, ndr_nd_range *items)
{
    const ndr_nd_range *range = p->range;
    NDR_REQUIRE_AS(NDR_BAD_RANGE, has_groups(range),
                   "kernel \"%s\": groups is set, but local has no dimensions; set local.dims, with sizes of 0 to let "
                   "the library choose",
                   p->rules->kernel);
    ndr_nd_range counted = *range;
    if (is_automatic(range)) choose_group(p, counted.local.size);
    NDR_TRY(check_no_zero(p, counted.local.size));
    for (unsigned d = 0; d < p->dims; ++d)
        NDR_REQUIRE_AS(NDR_BAD_RANGE,
                       ndr_mul_fits(range->global.size[d], counted.local.size[d], &counted.global.size[d]),
                       "kernel \"%s\": %zu groups of %zu work-items in dimension %u exceed size_t: launch fewer groups",
                       p->rules->kernel, range->global.size[d], counted.local.size[d], d);
    *items = counted;
    return NDR_OK;
}

/* ---- the plan ---- */

static ndr_status choose_or_check_local(planner *p, bool automatic)
{
    if (!automatic) {
        memcpy(p->local, p->range->local.size, sizeof p->local);
        NDR_TRY(check_given_local(p));
        return check_required(p);
    }
    if (has_required(p->rules)) {
        adopt_required(p, p->local);
        NDR_TRY(check_required(p)); /* a 1-D range does not fit a required 2-D size */
    } else {
        choose_local(p);
    }
    round_up_if_guarded(p);
    return NDR_OK;
}

static void fill_sizes(const planner *p, ndr_range_plan *plan)
{
    for (unsigned d = 0; d < p->dims; ++d) {
        plan->global_range[d] = p->range->global.size[d];
        plan->offset[d] = p->range->offset[d];
        plan->local_range[d] = p->local[d];
        plan->group_range[d] = ndr_ceil_div(p->range->global.size[d], p->local[d]);
    }
}

static ndr_status plan_items(planner *p, ndr_range_plan *plan)
{
    const bool automatic = is_automatic(p->range);
    NDR_TRY(check_sizes(p));
    NDR_TRY(choose_or_check_local(p, automatic));
    NDR_TRY(check_edges(p, automatic));
    NDR_TRY(check_rounded(p));
    fill_sizes(p, plan);
    return make_pieces(p, plan);
}

ndr_status ndr_range_make_plan(const ndr_nd_range *range, const ndr_range_rules *rules, ndr_range_plan *plan)
{
    ndr_nd_range counted, items;
    const bool counts_groups = range->groups.dims > 0;
    NDR_REQUIRE_AS(NDR_BAD_RANGE, !counts_groups || range->global.dims == 0,
                   "kernel \"%s\": the range has both global, %s, and groups, %s; set only one of them", rules->kernel,
                   ndr_sizes_print(range->global.dims, range->global.size).chars,
                   ndr_sizes_print(range->groups.dims, range->groups.size).chars);
    if (counts_groups) {
        counted = *range;
        counted.global = range->groups;
        range = &counted;
    }
    planner p = {
        .range = range, .rules = rules, .dims = range->global.dims, .rounds_up = range->edge == NDR_EDGE_ROUND_UP
    };
    NDR_TRY(check_dims(&p));
    NDR_TRY(check_form(&p));
    NDR_TRY(check_signs(&p));
    ndr_range_plan made; /* make_piece() fills the pieces */
    memset(&made, 0, offsetof(ndr_range_plan, pieces));
    made.dims = p.dims;
    if (item_count(&p) > 0) { /* otherwise nothing runs, and the local size is not checked */
        if (counts_groups) {
            NDR_TRY(count_items(&p, &items));
            p.range = &items;
            NDR_TRY(check_signs(&p));
        }
        NDR_TRY(plan_items(&p, &made));
    }
    /* Only the used pieces, most often one of eight. */
    memcpy(plan, &made, offsetof(ndr_range_plan, pieces) + made.piece_count * sizeof made.pieces[0]);
    return NDR_OK;
}

/* ---- queries ---- */

ndr_range_rules ndr_range_rules_of(const ndr_kernel *kernel)
{
    const ndr_device_info *device = &kernel->context->caps.info;
    ndr_range_rules rules = { .kernel = kernel->name,
                              .form = kernel->form,
                              .dims = kernel->dims,
                              .is_guarded = kernel->is_guarded,
                              .max_group_size = ndr_min_size(kernel->info.max_group_size, device->max_group_size),
                              .address_bits = device->address_bits };
    memcpy(rules.max_local_size, device->max_local_size, sizeof rules.max_local_size);
    memcpy(rules.required, kernel->info.required_local_size, sizeof rules.required);
    return rules;
}

ndr_status ndr_kernel_suggest_local(const ndr_kernel *kernel, const ndr_range *global, ndr_range *local)
{
    NDR_REQUIRE_SET(kernel, global, local);
    ndr_nd_range range = { .global = *global };
    if (kernel->form == NDR_FORM_ND_RANGE) range.local.dims = global->dims;
    const ndr_range_rules rules = ndr_range_rules_of(kernel);
    ndr_range_plan plan;
    NDR_TRY(ndr_range_make_plan(&range, &rules, &plan));
    ndr_range suggested = { .dims = global->dims };
    for (unsigned d = 0; d < global->dims; ++d) suggested.size[d] = plan.piece_count ? plan.local_range[d] : 1;
    *local = suggested;
    return NDR_OK;
}
