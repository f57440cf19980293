/* pi.cl - how many points of a square lie inside its quarter of a circle. */
#include <ndr/reduction.clh>

/* Multiples of two fractions, in units of 2^-32, spread evenly over the square. */
kernel void count_inside(NDR_REDUCTION(1, (SUM, uint, inside)))
{
    NDR_REDUCE(i, 1, inside) {
        const uint at = (uint)ndr_global_id(i, 0);
        const float x = (float)(at * 3242174889u) * 0x1p-32f, y = (float)(at * 2447445414u) * 0x1p-32f;
        NDR_COMBINE(inside, x * x + y * y < 1);
    }
}
