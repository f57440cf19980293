/* histogram.cl - the brightness of a picture is counted, summed up, and spread over the whole scale. */
#include <ndr/atomic.clh>
#include <ndr/joint.clh>
#include <ndr/loops.clh>

#define BINS 256

/* Count in local memory first: few items meet at one number there. */
kernel void count(global const uchar *grey, ulong n, local uint *part, global uint *bins, NDR_ND_RANGE(1))
{
    const ndr_nd_item it = NDR_ND_ITEM(1);
    const ndr_group g = ndr_get_group(it);
    NDR_FOR_LOCAL(i, g, BINS) part[i] = 0;
    ndr_group_barrier(g);
    NDR_FOR_GLOBAL(i, it, n) ndr_atomic_fetch_add(&part[grey[i]], 1u, NDR_RELAXED, NDR_SCOPE_WORK_GROUP);
    ndr_group_barrier(g);
    NDR_FOR_LOCAL(i, g, BINS) ndr_atomic_fetch_add(&bins[i], part[i]);
}

/* One group of any size: how many pixels are as dark as each brightness, or darker. */
kernel void sum_up(global const uint *bins, global uint *sums, NDR_ND_RANGE(1))
{
    const ndr_nd_item it = NDR_ND_ITEM(1);
    ndr_joint_inclusive_scan(ndr_get_group(it), bins, BINS, sums, NDR_PLUS);
}

/* The picture on the left, the equalised one on the right, and below each its histogram. */
kernel void paint(global const uchar *grey, global const uint *sums, global const uint *bins, float pixels,
                  global uchar *rgb, NDR_RANGE(2))
{
    const ndr_item it = NDR_ITEM(2);
    const int size = (int)ndr_global_range(it, 1) / 2, row = (int)ndr_global_id(it, 0);
    const int col = (int)ndr_global_id(it, 1) % size, is_right = (int)ndr_global_id(it, 1) / size;
    uchar3 colour;
    if (row < size) {
        const uchar old = grey[row * size + col];
        colour = (uchar3)(is_right ? convert_uchar_sat(255.0f * sums[old] / pixels) : old);
    } else {
        /* The bins that fall on this column; equalised, a bin moves to 255 times the share of its sum. */
        const int height = (int)ndr_global_range(it, 0) - size;
        const float from = 255.0f * col / size, to = 255.0f * (col + 1) / size;
        float sum = 0;
        for (int b = 0; b < BINS; ++b) {
            const float at = is_right ? 255.0f * sums[b] / pixels : b;
            if (at >= from && at < to) sum += bins[b];
        }
        const float bar = 20 * sum / pixels * height;
        colour = height - (row - size) <= bar ? (uchar3)(64, 81, 181) : (uchar3)(240, 240, 240);
    }
    vstore3(colour, ndr_global_linear_id(it), rgb);
}
