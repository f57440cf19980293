/* look_back.c - scans in one launch by groups of many items, each of which waits for those before it. */
#include "ops/scan/scan.h"

#include <stdio.h>

#include "shared/tiles.h"

/* How tiles come to local memory. */
enum { BY_ITEMS, BY_COPIES };

typedef struct sizes {
    size_t group, lanes, vectors, tiles; /* items; elements of a vector, vectors of an item; tiles of all */
} sizes;

/* A tile, parts, which with segments have a flag, and what else the kernel declares, with gaps. Copies go with PTX:
 * parts are those of warps, and of the levels of looking back; otherwise items have two. */
static size_t local_bytes(unsigned form, const ndr_scan_request *r, size_t group, size_t vectors)
{
    enum { OTHERS = 192, WARP = 32, LEVELS = 3 };
    const size_t bytes = r->input.element_bytes, flag = r->segments ? ndr_max_size(bytes, sizeof(cl_uint)) : 0;
    const size_t parts = form == BY_COPIES && !r->segments ? group / WARP + LEVELS : 2 * group;
    return group * vectors * NDR_TILE_VECTOR_BYTES + parts * (bytes + flag) + OTHERS;
}

/* Larger tiles pass fewer parts on; smaller ones leave more groups on a compute unit. An odd number of vectors keeps
 * items in different banks. Items note cuts in 64 bits. */
static size_t most_vectors(const ndr_scan_request *r)
{
    enum { MOST = 7, CUTS = 64 };
    const size_t of_cuts = CUTS * r->input.element_bytes / NDR_TILE_VECTOR_BYTES - 1;
    return r->segments ? ndr_min_size(MOST, of_cuts) : MOST;
}

static sizes sizes_for(const ndr_op_case *of)
{
    enum { PREFERRED_GROUP = 256 };
    const ndr_scan_request *r = of->request;
    const ndr_device_info *device = &of->caps->info;
    const size_t limit = ndr_min_size(device->max_group_size, device->max_local_size[2]);
    sizes s = { .group = PREFERRED_GROUP,
                .lanes = NDR_TILE_VECTOR_BYTES / r->input.element_bytes,
                .vectors = most_vectors(r) };
    while (s.group > 2
           && (s.group > limit || local_bytes(of->variant->form, r, s.group, 1) > device->local_memory_bytes))
        s.group /= 2;
    while (s.vectors > 1 && local_bytes(of->variant->form, r, s.group, s.vectors) > device->local_memory_bytes)
        s.vectors -= 2;
    s.tiles = ndr_max_size(ndr_ceil_div(r->input.cols, s.group * s.vectors * s.lanes), 1);
    return s;
}

/* Words of a tile, and of each block and row of blocks: as in kernels/scan/look_back.cl. */
static size_t numbered_bytes(const ndr_scan_request *r, const sizes *s)
{
    const bool is_long = r->input.element_bytes == sizeof(cl_ulong), has_cuts = r->segments != NDR_SCAN_WHOLE;
    const size_t block = s->group / 2, words = (size_t)1 + is_long + has_cuts;
    return (s->tiles + s->tiles / block + s->tiles / block / block) * words * sizeof(cl_ulong);
}

static void plan(const ndr_op_case *of, ndr_op_plan *plan)
{
    const ndr_scan_request *r = of->request;
    const sizes s = sizes_for(of);
    char macros[96];
    *plan = (ndr_op_plan){ .range = ndr_nd_range_1d(s.tiles * s.group, s.group),
                           .local_bytes = local_bytes(of->variant->form, r, s.group, s.vectors),
                           .workspace_bytes = s.tiles > 1 ? NDR_WORKSPACE_HEAD_BYTES : 0,
                           .numbered_bytes = s.tiles > 1 ? numbered_bytes(r, &s) : 0 };
    snprintf(macros, sizeof macros, "-DGROUP=%zu -DLANES=%zu -DVECTORS=%zu%s", s.group, s.lanes, s.vectors,
             of->variant->form == BY_COPIES ? " -DCOPIES_TILES=1" : "");
    ndr_scan_print_options(r, macros, plan->options);
}

static ndr_status launch(ndr_op_job *job)
{
    const ndr_scan_request *r = job->of.request;
    const size_t tiles_of_group = 1;
    return ndr_op_launch(job, job->kernel, job->plan.range, NDR_SCAN_ARGS(r), tiles_of_group, NDR_SCAN_INITIAL(r),
                         ndr_op_workspace_arg(job), ndr_op_take_slot(job), ndr_op_numbered_arg(job),
                         ndr_op_take_number(job));
}

/* `tiles` needs less memory. */
extern const ndr_op_variant ndr_scan_tiles;
#define LOOK_BACK(name_, need, form_)                                                                            \
    const ndr_op_variant ndr_scan_##name_ = { .name = #name_, .file = "scan/look_back.cl",                      \
                                              .kernel = "scan_look_back", .needs = (need), .form = (form_),     \
                                              .plan = plan, .launch = launch, .prove = ndr_scan_prove,          \
                                              .instead = &ndr_scan_tiles }
LOOK_BACK(copied, NDR_NEEDS_COPY_ENGINE, BY_COPIES);
LOOK_BACK(look_back, NDR_NEEDS_PROGRESS, BY_ITEMS);
