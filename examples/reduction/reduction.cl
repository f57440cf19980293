/* reduction.cl - four kernels on the way from many numbers to their sum. */
#include "ndr/atomic.clh"
#include "ndr/nd_item.clh"

/* One item computes the sum: correct, but slow. */
kernel void sum_serially(global const uint *input, uint n, global uint *sum, NDR_RANGE(1))
{
    uint total = 0;
    for (uint i = 0; i < n; ++i) total += input[i];
    sum[ndr_global_id(NDR_ITEM(1), 0)] = total;
}

/* Add the upper part of x to the lower. Only item i accesses elements i and i + stride. */
kernel void add_upper_part(global float *x, uint stride, NDR_RANGE(1))
{
    const size_t i = ndr_global_id(NDR_ITEM(1), 0);
    x[i] += x[i + stride];
}

/* Every item adds to one cell. That cell is not among the inputs: reading it there would be a race. */
kernel void sum_atomically(global const uint *input, global uint *sum, NDR_RANGE(1))
{
    ndr_atomic_fetch_add(sum, input[ndr_global_id(NDR_ITEM(1), 0)]);
}

/* A tree in each group, its nodes in local memory: one sum for each group.
 *
 *     a b c d e      five items: the lower three add what lies three further
 *     ad be c        two steps later the sum is in element 0;
 *     adc be         no power of two is needed
 *     adcbe
 */
kernel void sum_groups(global const uint *input, uint n, local uint *part, global uint *sums, NDR_ND_RANGE(1))
{
    const ndr_nd_item it = NDR_ND_ITEM(1);
    const ndr_group g = ndr_get_group(it);
    const size_t i = ndr_global_id(it, 0), id = ndr_local_id(it, 0);

    part[id] = i < n ? input[i] : 0; /* items past the end must also reach the barriers */
    for (size_t size = ndr_local_range(it, 0); size > 1;) {
        ndr_group_barrier(g, NDR_FENCE_LOCAL);
        const size_t lower = (size + 1) / 2;
        if (id + lower < size) part[id] += part[id + lower];
        size = lower;
    }
    if (ndr_leader(g)) sums[ndr_group_id(it, 0)] = part[0];
}
