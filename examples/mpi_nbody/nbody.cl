/* nbody.cl - the pull of some bodies on others. x, y, z are a place, w is a mass. */
#include <ndr/item.clh>

/* Add to pulls[i] what `count` bodies of another rank, or of this one, do to body i. */
kernel void pull(global const float4 *at, global const float4 *others, ulong count, global float4 *pulls, NDR_RANGE(1))
{
    const ndr_item it = NDR_ITEM(1);
    const size_t i = ndr_global_id(it, 0);
    const float4 here = at[i];
    float3 sum = pulls[i].xyz;
    for (ulong k = 0; k < count; ++k) {
        const float4 other = others[k];
        const float3 way = other.xyz - here.xyz;
        const float near = rsqrt(dot(way, way) + 1e-2f);
        sum += other.w * near * near * near * way;
    }
    pulls[i] = (float4)(sum, 0.0f);
}

kernel void advance(global float4 *at, global float4 *speed, global float4 *pulls, float seconds, NDR_RANGE(1))
{
    const ndr_item it = NDR_ITEM(1);
    const size_t i = ndr_global_id(it, 0);
    speed[i] += seconds * pulls[i];
    at[i] += seconds * (float4)(speed[i].xyz, 0.0f);
    pulls[i] = 0.0f;
}
