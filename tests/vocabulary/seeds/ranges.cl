/* ranges.cl - the seeds' programs without groups, each item on its own. test_seeds.c launches them. */
#include "ndr/atomic.clh"
#include "ndr/item.clh"
#include "ndr/local.clh"
#include "ndr/loops.clh"

/* E2: fold the upper part of x on the lower. Only item i uses elements i and i + stride. */
kernel void fold(global float *x, global float *sums, ulong stride, NDR_RANGE(1))
{
    const size_t i = ndr_global_id(NDR_ITEM(1), 0);
    sums[i] = x[i] + x[i + stride];
    x[i] = sums[i];
}

/* E6: one item, one loop. */
kernel void sum_serially(global const int *x, ulong n, global int *sum, NDR_RANGE(1))
{
    int total = 0;
    for (size_t i = 0; i < n; ++i) total += x[i];
    sum[ndr_global_id(NDR_ITEM(1), 0)] = total;
}

/* E7: all items add to one cell, which no item reads as an input. */
kernel void sum_atomically(global const int *x, global int *sum, NDR_RANGE(1))
{
    ndr_atomic_fetch_add(sum, x[ndr_global_id(NDR_ITEM(1), 0)]);
}

/* E10, E12 */
kernel void add_floats(global const float *a, global const float *b, global float *c, NDR_RANGE(1))
{
    const size_t i = ndr_global_id(NDR_ITEM(1), 0);
    c[i] = a[i] + b[i];
}

/* E14 */
kernel void add_ints(global const int *a, global const int *b, global int *c, NDR_RANGE(1))
{
    const size_t i = ndr_global_id(NDR_ITEM(1), 0);
    c[i] = a[i] + b[i];
}

/* E15 */
kernel void add_matrices(global const int *a, global const int *b, global int *c, NDR_RANGE(2))
{
    const ndr_item it = NDR_ITEM(2);
    const size_t at = ndr_at(ndr_global_range(it, 1), ndr_global_id(it, 0), ndr_global_id(it, 1));
    c[at] = a[at] + b[at];
}

/* E11: at (row, col), the linear id. */
kernel void number(global int *x, NDR_RANGE(2))
{
    const ndr_item it = NDR_ITEM(2);
    x[ndr_at(ndr_global_range(it, 1), ndr_global_id(it, 0), ndr_global_id(it, 1))] = (int)ndr_global_linear_id(it);
}

/* E13: every item runs exactly once. */
kernel void count(global int *times, NDR_RANGE(2))
{
    const ndr_item it = NDR_ITEM(2);
    ndr_atomic_fetch_add(&times[ndr_at(ndr_global_range(it, 1), ndr_global_id(it, 0), ndr_global_id(it, 1))], 1);
}

/* E16: an item for each element of c, a row of a and a column of b. */
kernel void multiply(global const float *a, global const float *b, global float *c, ulong n, NDR_RANGE(2))
{
    const ndr_item it = NDR_ITEM(2);
    const size_t i = ndr_global_id(it, 0), j = ndr_global_id(it, 1);
    float sum = 0;
    for (size_t k = 0; k < n; ++k) sum += a[ndr_at(n, i, k)] * b[ndr_at(n, k, j)];
    c[ndr_at(n, i, j)] = sum;
}

/* E24: the range says how many workers, n how many units. A worker writes its number to each of its units. */
kernel void share_out(global int *times, global int *worker, ulong n, NDR_RANGE(1))
{
    const ndr_item it = NDR_ITEM(1);
    NDR_FOR_GLOBAL(i, it, n) {
        ndr_atomic_fetch_add(&times[i], 1);
        worker[i] = (int)ndr_global_id(it, 0);
    }
}
