/* chunks.c - scans on CPUs: groups of one item, which take chunks in turn. */
#include "ops/scan/scan.h"

typedef struct chunks {
    size_t elements, count, groups; /* of a chunk; chunks */
} chunks;

/* A chunk is long enough to amortise its partial. It is short enough to limit rounding errors, to occupy all cores, and
 * to stay in a core's second cache between the two times that it is read. Chunks do not depend on the device: their
 * bounds determine the bits of sums. Without memory order between groups there is one. */
static chunks chunks_for(const ndr_caps *caps, const ndr_scan_request *r)
{
    enum { MIN_CHUNK = 1 << 14, MAX_CHUNK = 1 << 17, PREFERRED_COUNT = 128, MAX_PARTIALS = 1 << 17 };
    const size_t elements = r->input.cols, units = ndr_max_size(caps->info.compute_units, 1);
    const size_t share = ndr_clamp_size(ndr_ceil_div(elements, PREFERRED_COUNT), MIN_CHUNK, MAX_CHUNK);
    chunks c = { .elements = ndr_max_size(share, ndr_ceil_div(elements, MAX_PARTIALS)) };
    c.count = ndr_max_size(ndr_ceil_div(elements, c.elements), 1);
    c.groups = caps->orders_device ? ndr_min_size(c.count, units) : 1;
    return c;
}

static void plan(const ndr_op_case *of, ndr_op_plan *plan)
{
    const ndr_scan_request *r = of->request;
    const chunks c = chunks_for(of->caps, r);
    *plan = (ndr_op_plan){ .range = ndr_nd_range_1d(c.groups, 1),
                           .workspace_bytes = c.groups > 1 ? ndr_scan_workspace_bytes(r, c.count) : 0,
                           .numbered_bytes = c.groups > 1 ? c.count * sizeof(cl_ulong) : 0 };
    ndr_scan_print_options(r, of->caps->info.type == NDR_DEVICE_TYPE_CPU ? "-DFETCH_AHEAD=1" : "", plan->options);
}

static ndr_status launch(ndr_op_job *job)
{
    const ndr_scan_request *r = job->of.request;
    return ndr_op_launch(job, job->kernel, job->plan.range, NDR_SCAN_ARGS(r), chunks_for(job->of.caps, r).elements,
                         NDR_SCAN_INITIAL(r), ndr_op_workspace_arg(job), ndr_op_take_slot(job),
                         ndr_op_numbered_arg(job), ndr_op_take_number(job));
}

NDR_OP_VARIANT(scan, chunks, "scan_chunks", 0, .unsuited = ndr_op_lacks_vectors, .plan = plan, .launch = launch);
