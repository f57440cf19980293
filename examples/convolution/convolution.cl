/* convolution.cl - each pixel becomes a weighted sum of its neighbours, which a group loads once into local memory. */
#include "../common/colour.clh"
#include <ndr/loops.clh>
#include <ndr/local.clh>

/* The tile has the pixels of a group and `reach` more on each side; past the edge the nearest pixel counts. */
kernel void convolve(global const float *in, constant float *weights, int reach, local float *tile, global float *out,
                     NDR_ND_RANGE(2))
{
    const ndr_nd_item it = NDR_ND_ITEM(2);
    const ndr_group g = ndr_get_group(it);
    const int rows = (int)ndr_global_range(it, 0), cols = (int)ndr_global_range(it, 1);
    const int width = (int)ndr_local_range(g, 1) + 2 * reach, height = (int)ndr_local_range(g, 0) + 2 * reach;
    const int top = (int)(ndr_group_id(g, 0) * ndr_max_local_range(g, 0)) - reach;
    const int left = (int)(ndr_group_id(g, 1) * ndr_max_local_range(g, 1)) - reach;
    NDR_FOR_LOCAL(i, g, width * height) {
        const int y = clamp(top + (int)i / width, 0, rows - 1), x = clamp(left + (int)i % width, 0, cols - 1);
        tile[i] = in[y * cols + x];
    }
    ndr_group_barrier(g, NDR_FENCE_LOCAL);

    const int row = (int)ndr_local_id(g, 0), col = (int)ndr_local_id(g, 1), side = 2 * reach + 1;
    float sum = 0;
    for (int y = 0; y < side; ++y)
        for (int x = 0; x < side; ++x) sum += weights[y * side + x] * tile[ndr_at(width, row + y, col + x)];
    out[ndr_at(cols, ndr_global_id(it, 0), ndr_global_id(it, 1))] = sum;
}

/* Three pictures side by side: as it was, blurred, and its edges. */
kernel void paint(global const float *as_is, global const float *blurred, global const float *edges, global uchar *rgb,
                  NDR_RANGE(2))
{
    const ndr_item it = NDR_ITEM(2);
    const size_t size = ndr_global_range(it, 0), col = ndr_global_id(it, 1) % size;
    const size_t i = ndr_at(size, ndr_global_id(it, 0), col);
    const int which = (int)(ndr_global_id(it, 1) / size);
    const float value = which == 0 ? as_is[i] : which == 1 ? blurred[i] : fabs(edges[i]);
    put_pixel(rgb, ndr_global_linear_id(it), which == 2 ? heat_colour(value) : (float3)(value));
}
