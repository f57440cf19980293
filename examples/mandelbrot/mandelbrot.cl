/* mandelbrot.cl - each item iterates z = z * z + c for its pixel's c until z leaves a disc. */
#include "../common/colour.clh"
#include <ndr/item.clh>
#include <ndr/local.clh>

kernel void mandelbrot(global uint *counts, global uchar *rgb, float left, float top, float step, uint most,
                       NDR_RANGE(2))
{
    const ndr_item it = NDR_ITEM(2);
    const size_t i = ndr_at(ndr_global_range(it, 1), ndr_global_id(it, 0), ndr_global_id(it, 1));
    const float cx = left + step * ndr_global_id(it, 1), cy = top - step * ndr_global_id(it, 0);
    float x = 0, y = 0;
    uint n = 0;
    while (n < most && x * x + y * y < 256.0f) {
        const float next = x * x - y * y + cx;
        y = 2 * x * y + cy;
        x = next;
        ++n;
    }
    counts[i] = n;

    const float smooth = n - log2(0.5f * log2(x * x + y * y)); /* without steps from count to count */
    put_pixel(rgb, i, n == most ? (float3)(0.0f) : heat_colour(1.0f - exp(-0.05f * smooth)));
}
