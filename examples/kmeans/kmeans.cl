/* kmeans.cl - points join the nearest of CENTRES centres, which move to the middle of their points. */
#include "../common/colour.clh"
#include <ndr/atomic.clh>
#include <ndr/group.clh>
#include <ndr/loops.clh>

uint nearest(constant float2 *centres, float2 point)
{
    uint best = 0;
    for (uint c = 1; c < CENTRES; ++c)
        if (distance(point, centres[c]) < distance(point, centres[best])) best = c;
    return best;
}

/* For each centre x, y and the number of its points, in whole numbers, whose sums do not depend on an order. Each group
 * sums in local memory first. */
kernel void assign(global const float2 *points, ulong n, constant float2 *centres, local uint *part, global uint *sums,
                   NDR_ND_RANGE(1))
{
    const ndr_nd_item it = NDR_ND_ITEM(1);
    const ndr_group g = ndr_get_group(it);
    NDR_FOR_LOCAL(i, g, 3 * CENTRES) part[i] = 0;
    ndr_group_barrier(g);
    NDR_FOR_GLOBAL(i, it, n) {
        const uint c = nearest(centres, points[i]);
        const uint2 place = convert_uint2_rte(points[i] * 10000.0f);
        ndr_atomic_fetch_add(&part[3 * c], place.x, NDR_RELAXED, NDR_SCOPE_WORK_GROUP);
        ndr_atomic_fetch_add(&part[3 * c + 1], place.y, NDR_RELAXED, NDR_SCOPE_WORK_GROUP);
        ndr_atomic_fetch_add(&part[3 * c + 2], 1u, NDR_RELAXED, NDR_SCOPE_WORK_GROUP);
    }
    ndr_group_barrier(g);
    NDR_FOR_LOCAL(i, g, 3 * CENTRES) ndr_atomic_fetch_add(&sums[i], part[i]);
}

/* A centre without points stays where it is. */
kernel void move(global const uint *sums, global float2 *centres, NDR_RANGE(1))
{
    const ndr_item it = NDR_ITEM(1);
    const size_t c = ndr_global_id(it, 0);
    const uint count = sums[3 * c + 2];
    if (count > 0) centres[c] = (float2)(sums[3 * c], sums[3 * c + 1]) / (10000.0f * count);
}

float3 colour_of(uint c)
{
    return 0.5f + 0.5f * cos(6.2832f * ((float3)(0.0f, 0.33f, 0.67f) + (float)c / CENTRES));
}

/* The pixel of each point gets the number of its centre, counted from 1; of several points the largest. */
kernel void mark(global const float2 *points, constant float2 *centres, int size, global uint *marks, NDR_RANGE(1))
{
    const ndr_item it = NDR_ITEM(1);
    const float2 at = points[ndr_global_id(it, 0)];
    const int row = clamp((int)(at.y * size), 0, size - 1), col = clamp((int)(at.x * size), 0, size - 1);
    ndr_atomic_fetch_max(&marks[row * size + col], nearest(centres, at) + 1);
}

kernel void paint(constant float2 *centres, global const uint *marks, global uchar *rgb, NDR_RANGE(2))
{
    const ndr_item it = NDR_ITEM(2);
    const size_t i = ndr_global_linear_id(it);
    const float2 at = (float2)(ndr_global_id(it, 1), ndr_global_id(it, 0)) / ndr_global_range(it, 0);
    const uint c = nearest(centres, at);
    const float3 colour = marks[i] > 0 ? 0.8f * colour_of(marks[i] - 1) : 0.75f + 0.25f * colour_of(c);
    put_pixel(rgb, i, distance(at, centres[c]) < 0.012f ? (float3)(0.0f) : colour);
}
