/* nbody.cl - bodies that attract each other: each group loads bodies into local memory, a tile at a time. */
#include "../common/colour.clh"
#include <ndr/atomic.clh>
#include <ndr/local.clh>
#include <ndr/nd_item.clh>

/* x, y, z of `at` are a place, w is a mass. The number of bodies is a multiple of the group's size. */
kernel void advance(global const float4 *at, global const float4 *speed, global float4 *next_at,
                    global float4 *next_speed, local float4 *tile, float seconds, NDR_ND_RANGE(1))
{
    const ndr_nd_item it = NDR_ND_ITEM(1);
    const ndr_group g = ndr_get_group(it);
    const size_t i = ndr_global_id(it, 0), me = ndr_local_id(g, 0), width = ndr_local_range(g, 0);
    const float4 here = at[i];
    float3 pull = 0.0f;
    for (size_t first = 0; first < ndr_global_range(it, 0); first += width) {
        tile[me] = at[first + me];
        ndr_group_barrier(g, NDR_FENCE_LOCAL);
        for (size_t k = 0; k < width; ++k) {
            const float3 way = tile[k].xyz - here.xyz;
            const float near = rsqrt(dot(way, way) + 1e-4f);
            pull += tile[k].w * near * near * near * way;
        }
        ndr_group_barrier(g, NDR_FENCE_LOCAL); /* the next load overwrites what others may still read */
    }
    const float3 now = speed[i].xyz + seconds * pull;
    next_speed[i] = (float4)(now, 0.0f);
    next_at[i] = (float4)(here.xyz + seconds * now, here.w);
}

/* Each body adds light to its pixel of a square of side 4. */
kernel void expose(global const float4 *at, global uint *light, int size, NDR_ND_RANGE(1))
{
    const ndr_nd_item it = NDR_ND_ITEM(1);
    const float4 here = at[ndr_global_id(it, 0)];
    const int row = (int)floor((here.y + 2) / 4 * size), col = (int)floor((here.x + 2) / 4 * size);
    if (row >= 0 && row < size && col >= 0 && col < size) ndr_atomic_fetch_add(&light[ndr_at(size, row, col)], 1u);
}

kernel void develop(global const uint *light, global uchar *rgb, float most, NDR_ND_RANGE(1))
{
    const ndr_nd_item it = NDR_ND_ITEM(1);
    const size_t i = ndr_global_id(it, 0);
    if (ndr_in_range(it)) put_pixel(rgb, i, heat_colour(log(1.0f + light[i]) / log(1.0f + most)));
}
