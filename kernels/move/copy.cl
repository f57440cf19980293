/* copy.cl - copies an array into one of the same shape with other strides; transposing is the case where neighbours of the
 * input are rows of the output.
 *
 * The library orders the dimensions: neighbours along dimension 2 are the nearest ones of the output, and along 1 the
 * nearest ones of the input, if those are others. Dimensions that both arrays step through alike are one. */
#include "ndr/nd_item.clh"
#include "once.clh"

/* Defaults, so that a file compiles alone; the library sets others. */
#ifndef E
#define E uint /* of an element: an unsigned integer of its size */
#endif
#ifndef TILE_ROWS
#define TILE_ROWS 8 /* rows of a tile that the items of a group copy at once */
#endif

#define TILE 32
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define V JOIN(E, 8)

/* The arguments of each kernel: the first elements, and the steps from one index of a dimension to the next. */
#define ARRAYS                                                                                                  \
    global const E *input, ulong offset, long from0, long from1, long from2, global E *output, ulong output_offset, \
        long to0, long to1, long to2

/* y[i * to + j] = x[j * from + i] for i, j < 8. Three times, vectors k and k + 4 are interleaved. */
static inline void transpose_8_by_8(global const E *x, const long from, global E *y, const long to)
{
    V v[8], w[8];
#pragma unroll
    for (uint k = 0; k < 8; ++k) v[k] = vload8(0, x + (long)k * from);
#pragma unroll
    for (uint turn = 0; turn < 3; ++turn) {
#pragma unroll
        for (uint k = 0; k < 4; ++k) {
            const V a = v[k], b = v[k + 4];
            w[2 * k] = (V)(a.s0, b.s0, a.s1, b.s1, a.s2, b.s2, a.s3, b.s3);
            w[2 * k + 1] = (V)(a.s4, b.s4, a.s5, b.s5, a.s6, b.s6, a.s7, b.s7);
        }
#pragma unroll
        for (uint k = 0; k < 8; ++k) v[k] = w[k];
    }
#pragma unroll
    for (uint k = 0; k < 8; ++k) vstore8(v[k], 0, y + (long)k * to);
}

/* y[i * to + j] = x[j * from + i] for i < rows and j < cols, at most TILE. */
static inline void transpose_tile(global const E *x, const long from, global E *y, const long to, const long rows,
                                  const long cols)
{
    const long end = rows / 8 * 8, last = cols / 8 * 8;
    for (long i = 0; i < end; i += 8)
        for (long j = 0; j < last; j += 8) transpose_8_by_8(x + j * from + i, from, y + i * to + j, to);
    for (long i = 0; i < rows; ++i)
        for (long j = i < end ? last : 0; j < cols; ++j) y[i * to + j] = x[j * from + i];
}

/* Copy x[i * from1 + j * from2] to y[i * to1 + j * to2] for i < end and j < last: along dimension 2 if both arrays have
 * neighbours there, or by tiles, whose rows of both arrays stay in the first cache. */
ONCE void copy_block(global const E *x, const long from1, const long from2, global E *y, const long to1, const long to2,
                     const long end, const long last)
{
    if (from2 == 1 && to2 == 1) {
        for (long i = 0; i < end; ++i)
            for (long j = 0; j < last; ++j) y[i * to1 + j] = x[i * from1 + j];
        return;
    }
    for (long begin = 0; begin < last; begin += TILE)
        if (from1 == 1 && to2 == 1)
            transpose_tile(x + begin * from2, from2, y + begin, to1, end, min((long)TILE, last - begin));
        else
            for (long i = 0; i < end; ++i)
                for (long j = begin; j < min(begin + TILE, last); ++j) y[i * to1 + j * to2] = x[i * from1 + j * from2];
}

/* For CPUs. A group of one item copies a block of `rows` by `cols`, or what is left of `height` by `width`. */
kernel __attribute__((reqd_work_group_size(1, 1, 1))) void copy_blocks(ARRAYS, ulong height, ulong width, ulong rows,
                                                                       ulong cols, NDR_ND_RANGE(3))
{
    const ndr_group g = ndr_get_group(NDR_ND_ITEM(3));
    const long plane = (long)ndr_group_id(g, 0), row = (long)(ndr_group_id(g, 1) * rows);
    const long col = (long)(ndr_group_id(g, 2) * cols);
    const long end = (long)min(rows, height - (ulong)row), last = (long)min(cols, width - (ulong)col);
    copy_block(input + offset + plane * from0 + row * from1 + col * from2, from1, from2,
               output + output_offset + plane * to0 + row * to1 + col * to2, to1, to2, end, last);
}

/* For GPUs, if both arrays have neighbours along dimension 2, or none has: an item copies an element. */
kernel void copy_items(ARRAYS, NDR_RANGE(3))
{
    const ndr_item it = NDR_ITEM(3);
    const long plane = (long)ndr_global_id(it, 0), row = (long)ndr_global_id(it, 1), col = (long)ndr_global_id(it, 2);
    const E x = (input + offset)[plane * from0 + row * from1 + col * from2];
    (output + output_offset)[plane * to0 + row * to1 + col * to2] = x;
}

/* For GPUs, to transpose: a group loads a tile along dimension 1 and stores it along dimension 2, so that neighbouring
 * items have neighbouring elements both times. A row of the tile has one element more, so that a column of it lies in all
 * banks of the local memory. Groups of (1, TILE_ROWS, TILE) items. */
kernel void copy_tiles(ARRAYS, ulong height, ulong width, NDR_ND_RANGE(3))
{
    local E tile[TILE][TILE + 1];
    const ndr_group g = ndr_get_group(NDR_ND_ITEM(3));
    const ulong plane = ndr_group_id(g, 0), top = ndr_group_id(g, 1) * TILE, left = ndr_group_id(g, 2) * TILE;
    const uint id = ndr_local_id(g, 2), first = ndr_local_id(g, 1);
    global const E *const x = input + offset + (long)plane * from0 + (long)top * from1 + (long)left * from2;
    global E *const y = output + output_offset + (long)plane * to0 + (long)top * to1 + (long)left * to2;
    for (uint j = first; j < TILE; j += TILE_ROWS)
        if (top + id < height && left + j < width) tile[j][id] = x[(long)id * from1 + (long)j * from2];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = first; i < TILE; i += TILE_ROWS)
        if (top + i < height && left + id < width) y[(long)i * to1 + (long)id * to2] = tile[id][i];
}
