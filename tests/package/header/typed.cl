/* typed.cl - kernels whose launches typed.c gets wrong. */
#include <ndr/nd_item.clh>

struct pair {
    int first;
    float second;
};

kernel void axpy(float a, global const float *x, global float *y, NDR_RANGE(1))
{
    const ndr_item it = NDR_ITEM(1);
    y[ndr_global_id(it, 0)] += a * x[ndr_global_id(it, 0)];
}

kernel void all(global float *x, local float *tile, int n, float4 v, struct pair p, read_only image2d_t from, sampler_t by,
                NDR_ND_RANGE(2))
{
    (void)NDR_ND_ITEM(2);
    (void)tile;
    x[0] = n + v.x + p.second + read_imagef(from, by, (int2)(0, 0)).x;
}
