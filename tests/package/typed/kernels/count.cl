#include <ndr/reduction.clh>

/* How many elements are below LIMIT. */
kernel void count(global const float *x, NDR_REDUCTION(1, (SUM, uint, below)))
{
    NDR_REDUCE(i, 1, below) { NDR_COMBINE(below, x[ndr_global_id(i, 0)] < LIMIT); }
}
