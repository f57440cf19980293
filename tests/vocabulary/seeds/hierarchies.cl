/* hierarchies.cl - the seeds' hierarchical kernels. test_seeds.c launches them, over groups. */
#include "ndr/hierarchy.clh"
#include "ndr/local.clh"

/* Element (i, j) of a * b. */
static float element(global const float *a, global const float *b, const size_t n, const size_t i, const size_t j)
{
    float sum = 0;
    for (size_t k = 0; k < n; ++k) sum += a[ndr_at(n, i, k)] * b[ndr_at(n, k, j)];
    return sum;
}

/* E20: a group for each block of c, an item of it for each element. */
kernel void multiply(global const float *a, global const float *b, global float *c, ulong n, NDR_ND_RANGE(2))
{
    const ndr_group g = NDR_GROUP(2);
    const size_t ib = ndr_group_id(g, 0), jb = ndr_group_id(g, 1);
    NDR_WORK_ITEMS(h, g) {
        const size_t i = ib * ndr_local_range(h, 0) + ndr_local_id(h, 0);
        const size_t j = jb * ndr_local_range(h, 1) + ndr_local_id(h, 1);
        c[ndr_at(n, i, j)] = element(a, b, n, i, j);
    }
}

/* E21: which item of the group runs logical item i, and as its first, second or later one. */
kernel void deal(global int *done_by, global int *turn, ulong logical, NDR_ND_RANGE(1))
{
    const ndr_group g = NDR_GROUP(1);
    NDR_PRIVATE(int, turns);
    turns[0] = 0;
    NDR_WORK_ITEMS_OVER(h, g, ndr_range_1d(logical)) {
        done_by[ndr_logical_local_id(h, 0)] = (int)ndr_physical_local_id(h, 0);
        turn[ndr_logical_local_id(h, 0)] = turns[ndr_mine(h)]++;
    }
}

/* E22: the same work for each group, whatever its number of items. */
kernel void multiply_blocks(global const float *a, global const float *b, global float *c, ulong n, ulong block,
                            NDR_ND_RANGE(2))
{
    const ndr_group g = NDR_GROUP(2);
    const size_t ib = ndr_group_id(g, 0), jb = ndr_group_id(g, 1);
    NDR_WORK_ITEMS_OVER(h, g, ndr_range_2d(block, block)) {
        const size_t i = ib * block + ndr_logical_local_id(h, 0), j = jb * block + ndr_logical_local_id(h, 1);
        c[ndr_at(n, i, j)] = element(a, b, n, i, j);
    }
}

/* E23: E22, with a copy of the block's place in every item of the group, over two scopes. */
kernel void multiply_blocks_privately(global const float *a, global const float *b, global float *c, ulong n,
                                      ulong block, NDR_ND_RANGE(2))
{
    const ndr_group g = NDR_GROUP(2);
    NDR_PRIVATE(int, ib);
    NDR_PRIVATE(int, jb);
    NDR_WORK_ITEMS(h, g) {
        ib[ndr_mine(h)] = (int)ndr_group_id(g, 0);
        jb[ndr_mine(h)] = (int)ndr_group_id(g, 1);
    }
    NDR_WORK_ITEMS_OVER(h, g, ndr_range_2d(block, block)) {
        const size_t i = ib[ndr_mine(h)] * block + ndr_logical_local_id(h, 0);
        const size_t j = jb[ndr_mine(h)] * block + ndr_logical_local_id(h, 1);
        c[ndr_at(n, i, j)] = element(a, b, n, i, j);
    }
}
