/* bind.cl - one kernel for each way in which a generated function passes an argument. */
#include "bind_types.h"
#include <ndr/nd_item.clh>
#include <ndr/reduction.clh>

#define GROUP 4
#define WIDE (2 * GROUP)

constant int bias = 7;
constant float weights[GROUP + 1] = { 1, 2, 3, 4, 5 };

typedef float4 quad;

typedef struct {
    int only_here;
} hidden;

kernel void numbers(global float *out, char a, uchar b, short c, ushort d, int e, uint f, long g, ulong h, float x,
                    NDR_RANGE(1))
{
    const ndr_item it = NDR_ITEM(1);
    out[ndr_global_id(it, 0)] = a + b + c + d + e + f + g + h + x + bias + weights[0] + STEPS;
}

kernel void vectors(global float *out, quad v, uchar3 u, float2 w, NDR_RANGE(1))
{
    const ndr_item it = NDR_ITEM(1);
    out[ndr_global_id(it, 0)] = v.x + v.y + v.z + v.w + u.x + u.y + u.z + w.x + w.y;
}

kernel void structs(global float *out, const struct pair p, cell c, hidden h, NDR_RANGE(1))
{
    const ndr_item it = NDR_ITEM(1);
    out[ndr_global_id(it, 0)] = p.first + p.second + c.value + c.tag + h.only_here;
}

/* Each group reverses its elements through local memory. */
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void reverse(global const int *in, local int *tile,
                                                                       local cell *cells, local float3 *more,
                                                                       global int *out, NDR_ND_RANGE(1))
{
    const ndr_nd_item it = NDR_ND_ITEM(1);
    const size_t i = ndr_local_id(it, 0);
    tile[i] = in[ndr_global_id(it, 0)];
    cells[i].value = tile[i];
    more[i].z = 0;
    ndr_group_barrier(ndr_get_group(it));
    out[ndr_global_id(it, 0)] = cells[GROUP - 1 - i].value + (int)more[i].z;
}

/* `range` and `queue` are names of the function's own parameters, too, and `class` is a word of C++. */
kernel void names(global int *queue, int range, int class, int event, NDR_RANGE(1))
{
    const ndr_item it = NDR_ITEM(1);
    queue[ndr_global_id(it, 0)] = range + class + event;
}

kernel void sum(global const int *x, NDR_REDUCTION(1, (SUM, int, total)))
{
    NDR_REDUCE(i, 1, total) { NDR_COMBINE(total, x[ndr_global_id(i, 0)]); }
}
