/* groups.cl - the seeds' programs whose items work in groups. test_seeds.c launches them. */
#include "ndr/local.clh"
#include "ndr/nd_item.clh"

/* E1, E26: a group owns a block of c, and slides a window along a's rows and another down b's columns. Past an edge a
 * window holds zeros. Every item reaches every barrier. */
kernel void slide(global const float *a, global const float *b, local float *a_window, local float *b_window,
                  global float *c, ulong rows, ulong inner, ulong cols, NDR_ND_RANGE(2))
{
    const ndr_nd_item it = NDR_ND_ITEM(2);
    const ndr_group g = ndr_get_group(it);
    const size_t row = ndr_global_id(it, 0), col = ndr_global_id(it, 1);
    const size_t i = ndr_local_id(it, 0), j = ndr_local_id(it, 1), side = ndr_local_range(it, 0);

    float sum = 0;
    for (size_t start = 0; start < inner; start += side) {
        const bool in_a = row < rows && start + j < inner, in_b = start + i < inner && col < cols;
        a_window[ndr_at(side, i, j)] = in_a ? a[ndr_at(inner, row, start + j)] : 0.0f;
        b_window[ndr_at(side, i, j)] = in_b ? b[ndr_at(cols, start + i, col)] : 0.0f;
        ndr_group_barrier(g);
        for (size_t k = 0; k < side; ++k) sum += a_window[ndr_at(side, i, k)] * b_window[ndr_at(side, k, j)];
        ndr_group_barrier(g); /* the next window overwrites what others may still read */
    }
    if (row < rows && col < cols) c[ndr_at(cols, row, col)] = sum;
}

/* E3: a barrier that names no memory. */
kernel void twice(global float *x, NDR_ND_RANGE(1))
{
    const ndr_nd_item it = NDR_ND_ITEM(1);
    const float before = x[ndr_global_id(it, 0)];
    ndr_group_barrier(ndr_get_group(it));
    x[ndr_global_id(it, 0)] = before * 2;
}

/* E4: its local array is for a group of ten items, so the kernel requires this size. */
kernel __attribute__((reqd_work_group_size(10, 1, 1))) void add_reversed(global float *x, NDR_ND_RANGE(1))
{
    const ndr_nd_item it = NDR_ND_ITEM(1);
    const size_t i = ndr_local_id(it, 0);
    local float t[10];
    t[i] = x[ndr_global_id(it, 0)];
    ndr_group_barrier(ndr_get_group(it), NDR_FENCE_LOCAL);
    x[ndr_global_id(it, 0)] += t[10 - 1 - i];
}

/* A tree over the 64 elements of `part`: the leader has their sum in part[0]. */
static void fold(const ndr_nd_item it, local int *part)
{
    const size_t i = ndr_local_id(it, 0);
    for (size_t stride = ndr_local_range(it, 0) / 2; stride > 0; stride /= 2) {
        ndr_group_barrier(ndr_get_group(it), NDR_FENCE_LOCAL);
        if (i < stride) part[i] += part[i + stride];
    }
}

/* E5: a sum for each group of 64. */
kernel void sum_groups(global const int *x, global int *sums, NDR_ND_RANGE(1))
{
    const ndr_nd_item it = NDR_ND_ITEM(1);
    local int part[64];
    part[ndr_local_id(it, 0)] = x[ndr_global_id(it, 0)];
    fold(it, part);
    if (ndr_leader(ndr_get_group(it))) sums[ndr_group_id(it, 0)] = part[0];
}

/* E8: the same over n elements, however many items there are. */
kernel void sum_groups_of(global const int *x, ulong n, global int *sums, NDR_ND_RANGE(1))
{
    const ndr_nd_item it = NDR_ND_ITEM(1);
    const size_t i = ndr_global_id(it, 0);
    local int part[64];
    part[ndr_local_id(it, 0)] = i < n ? x[i] : 0;
    fold(it, part);
    if (ndr_leader(ndr_get_group(it))) sums[ndr_group_id(it, 0)] = part[0];
}

/* E9: an item's private array keeps its values across a barrier. */
kernel void keep(global float *x, NDR_ND_RANGE(1))
{
    const ndr_nd_item it = NDR_ND_ITEM(1);
    float own[1] = { (float)ndr_global_id(it, 0) };
    ndr_group_barrier(ndr_get_group(it), NDR_FENCE_LOCAL);
    x[ndr_global_id(it, 0)] = own[0] * 2;
}

/* E17: each item writes its group at its place. */
kernel void groups(global int *group_of, NDR_ND_RANGE(3))
{
    const ndr_nd_item it = NDR_ND_ITEM(3);
    group_of[ndr_global_linear_id(it)] = (int)ndr_group_linear_id(it);
}

/* E18: the same product, computed by items in groups. */
kernel void multiply(global const float *a, global const float *b, global float *c, ulong n, NDR_ND_RANGE(2))
{
    const ndr_nd_item it = NDR_ND_ITEM(2);
    const size_t i = ndr_global_id(it, 0), j = ndr_global_id(it, 1);
    float sum = 0;
    for (size_t k = 0; k < n; ++k) sum += a[ndr_at(n, i, k)] * b[ndr_at(n, k, j)];
    c[ndr_at(n, i, j)] = sum;
}

/* E19: a function that the whole group must call takes the group as a parameter. */
static void body(const ndr_group g, global int *rows, global int *cols, const size_t at)
{
    rows[at] = (int)ndr_local_range(g, 0);
    cols[at] = (int)ndr_local_range(g, 1);
}
kernel void ask_group(global int *rows, global int *cols, NDR_ND_RANGE(2))
{
    const ndr_nd_item it = NDR_ND_ITEM(2);
    body(ndr_get_group(it), rows, cols, ndr_global_linear_id(it));
}

/* E25: an item's global, group and local ids, by libndr and by OpenCL. OpenCL's x is libndr's last dimension. */
kernel void places(global int2 *global_id, global int2 *group_id, global int2 *local_id, NDR_ND_RANGE(2))
{
    const ndr_nd_item it = NDR_ND_ITEM(2);
    const size_t at = ndr_global_linear_id(it);
    global_id[at] = (int2)((int)ndr_global_id(it, 1), (int)ndr_global_id(it, 0));
    group_id[at] = (int2)((int)ndr_group_id(it, 1), (int)ndr_group_id(it, 0));
    local_id[at] = (int2)((int)ndr_local_id(it, 1), (int)ndr_local_id(it, 0));
}
