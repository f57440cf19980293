/* tiles.c - scans by groups of many items, each of which takes neighbouring tiles. */
#include "ops/scan/scan.h"

#include <stdio.h>

#include "shared/tiles.h"

typedef struct sizes {
    size_t group, lanes, tile, tiles, groups; /* items; elements of a vector, of a tile; tiles of a group */
} sizes;

/* A tile, and two parts for each item: of segments with a flag. */
static size_t local_bytes(const ndr_scan_request *r, sizes s)
{
    const size_t bytes = r->input.element_bytes;
    return s.tile * bytes + 2 * s.group * (r->segments ? 2 * ndr_max_size(bytes, sizeof(cl_uint)) : bytes);
}

static sizes with_group(const ndr_scan_request *r, size_t group)
{
    const size_t lanes = NDR_TILE_VECTOR_BYTES / r->input.element_bytes;
    return (sizes){ .group = group, .lanes = lanes, .tile = group * NDR_TILE_VECTORS * lanes };
}

/* Iterations of an item for a tile, at most, with loops over its vectors and lanes that are not unrolled. */
static size_t turns_of_tile(const sizes *s)
{
    enum { LOOPS_OVER_OWN = 3, LOOPS_OVER_LANES = 2, OTHERS = 16 };
    const size_t own = NDR_TILE_VECTORS * s->lanes;
    return LOOPS_OVER_OWN * (own + 1) + LOOPS_OVER_LANES * (own + 2 * NDR_TILE_VECTORS + 1) + OTHERS;
}

/* About as many groups as large GPUs run at a time; more where the fault loops_end_early would end their loops. */
static sizes sizes_for(const ndr_caps *caps, const ndr_scan_request *r)
{
    enum { PREFERRED_GROUP = 256, PREFERRED_GROUPS = 1024 };
    const size_t limit = ndr_min_size(caps->info.max_group_size, caps->info.max_local_size[2]);
    sizes s = with_group(r, PREFERRED_GROUP);
    while (s.group > 1 && (s.group > limit || local_bytes(r, s) > caps->info.local_memory_bytes))
        s = with_group(r, s.group / 2);
    const size_t all = ndr_max_size(ndr_ceil_div(r->input.cols, s.tile), 1);
    s.tiles = ndr_min_size(ndr_ceil_div(all, PREFERRED_GROUPS), ndr_quirk_turns(caps->quirks) / turns_of_tile(&s));
    s.groups = ndr_ceil_div(all, s.tiles);
    return s;
}

static void plan(const ndr_op_case *of, ndr_op_plan *plan)
{
    const ndr_scan_request *r = of->request;
    const sizes s = sizes_for(of->caps, r);
    char macros[64];
    *plan = (ndr_op_plan){ .range = ndr_nd_range_1d(s.groups * s.group, s.group),
                           .local_bytes = local_bytes(r, s),
                           .workspace_bytes = ndr_scan_workspace_bytes(r, s.groups) };
    snprintf(macros, sizeof macros, "-DGROUP=%zu -DLANES=%zu", s.group, s.lanes);
    ndr_scan_print_options(r, macros, plan->options);
}

static ndr_status launch(ndr_op_job *job)
{
    const size_t tiles = sizes_for(job->of.caps, job->of.request).tiles;
    if (job->others[0]) NDR_TRY(ndr_scan_launch(job, job->others[0], tiles));
    return ndr_scan_launch(job, job->kernel, tiles);
}

NDR_OP_VARIANT(scan, tiles, "scan_tiles", 0, .others = { "scan_reduce_tiles" }, .plan = plan, .launch = launch);
