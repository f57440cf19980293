/* mean_variance.cl - mean, variance and extremes of many numbers, in one launch with four reducers. */
#include <ndr/reduction.clh>

/* Distances from `near` are summed: squares of large numbers would leave no digits for a small variance. */
kernel void look_at(global const float *x, float near,
                    NDR_REDUCTION(1, (SUM, float, sum), (SUM, float, squares), (MIN, float, least), (MAX, float, most)))
{
    NDR_REDUCE(i, 1, sum, squares, least, most) {
        const float value = x[ndr_global_id(i, 0)], distance = value - near;
        NDR_COMBINE(sum, distance);
        NDR_COMBINE(squares, distance * distance);
        NDR_COMBINE(least, value);
        NDR_COMBINE(most, value);
    }
}
