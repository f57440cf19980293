/* thin.c - the product on CPUs for few rows: a strip of c stays in the first cache, and b is read once. */
#include "ops/matmul/matmul.h"

#include <stdio.h>

typedef struct sizes {
    unsigned lanes, rows; /* of the strip; `rows` is the power of two that fits m */
} sizes;

static sizes sizes_for(const ndr_matmul_request *request)
{
    sizes s = { ndr_matmul_choose_block(request).lanes, 1 };
    while (s.rows < request->c.rows && s.rows < NDR_BLOCK_ROWS) s.rows *= 2;
    return s;
}

static const char *cannot(const void *request)
{
    const ndr_matmul_request *r = request;
    return r->c.rows <= NDR_BLOCK_ROWS ? NULL : "c has more rows than a strip";
}

static const char *unsuited(const ndr_caps *caps, const void *request)
{
    enum { FROM_BYTES = 1 << 18 };
    const char *reason = ndr_op_lacks_vectors(caps, request);
    return reason || ndr_matmul_b_bytes(request) >= FROM_BYTES ? reason : "b is small enough to be read several times";
}

static void plan(const ndr_caps *caps, const void *request, ndr_op_plan *plan)
{
    const ndr_matmul_request *r = request;
    const sizes s = sizes_for(r);
    *plan = (ndr_op_plan){ .file = "matmul/thin.cl",
                           .kernel = "gemm_thin",
                           .range = ndr_nd_range_1d(ndr_ceil_div(r->c.cols, NDR_STRIP_VECTORS * (size_t)s.lanes), 1) };
    snprintf(plan->options, sizeof plan->options, "-DT=%s -DLANES=%u -DTHIN_ROWS=%u -DFETCH_AHEAD=%d",
             ndr_dtype_describe(r->dtype)->cl_name, s.lanes, s.rows, caps->info.type == NDR_DEVICE_TYPE_CPU);
}

const ndr_op_row ndr_matmul_thin = {
    .name = "thin", .cannot = cannot, .unsuited = unsuited, .plan = plan, .run = ndr_matmul_run_kernel
};
