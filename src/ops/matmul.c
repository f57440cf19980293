/* matmul.c - c = alpha * a * b + beta * c. */
#include "ops/ops.h"

#include <stdio.h>

/* A multiplication that has passed its checks. */
typedef struct product {
    ndr_queue *queue;
    const ndr_matmul_desc *desc;
    double alpha, beta;
    ndr_operand a, b, c;
    ndr_gemm_tuning tuning;
} product;

/* ---- checks ---- */

static ndr_operand operand(const char *name, const ndr_matrix *matrix, size_t element_bytes)
{
    return (ndr_operand){ .call = "ndr_matmul",
                          .name = name,
                          .buffer = matrix->buffer,
                          .offset = matrix->offset,
                          .rows = matrix->rows,
                          .cols = matrix->cols,
                          .pitch = matrix->pitch ? matrix->pitch : matrix->cols,
                          .element_bytes = element_bytes };
}

static ndr_status check_type(const ndr_queue *queue, const ndr_matmul_desc *desc)
{
    const ndr_device_info *device = &queue->context->caps.info;
    NDR_REQUIRE(desc->dtype == NDR_DTYPE_F32 || desc->dtype == NDR_DTYPE_F64, "ndr_matmul: dtype is %s; use f32 or f64",
                desc->dtype == NDR_DTYPE_NONE ? "not set" : ndr_dtype_name(desc->dtype));
    NDR_REQUIRE_AS(NDR_UNSUPPORTED, desc->dtype != NDR_DTYPE_F64 || device->has_f64,
                   "ndr_matmul: device \"%s\" has no f64; use f32", device->name);
    return NDR_OK;
}

static ndr_status check_shapes(const product *p)
{
    const ndr_operand *a = &p->a, *b = &p->b, *c = &p->c;
    NDR_REQUIRE(a->cols == b->rows,
                "ndr_matmul: a is %zu x %zu and b is %zu x %zu; the columns of a must be the rows "
                "of b",
                a->rows, a->cols, b->rows, b->cols);
    NDR_REQUIRE(c->rows == a->rows && c->cols == b->cols,
                "ndr_matmul: c is %zu x %zu, but a * b is %zu x %zu; make c of that size", c->rows, c->cols, a->rows,
                b->cols);
    return NDR_OK;
}

/* A factor without is_set is a forgotten ndr_scaling_of(): dropping it would give a wrong product. */
static ndr_status check_scaling(const ndr_scaling *scaling)
{
    NDR_REQUIRE(scaling->is_set || (scaling->alpha == 0 && scaling->beta == 0),
                "ndr_matmul: scaling has alpha %g and beta %g, but is_set is false; write .scaling = ndr_scaling_of(%g, "
                "%g)",
                scaling->alpha, scaling->beta, scaling->alpha, scaling->beta);
    return NDR_OK;
}

static ndr_status check(ndr_queue *queue, const ndr_matmul_desc *desc, product *p)
{
    NDR_REQUIRE_SET_IN("ndr_matmul", queue);
    NDR_REQUIRE(desc, "ndr_matmul: desc is NULL");
    NDR_TRY(check_type(queue, desc));
    NDR_TRY(check_scaling(&desc->scaling));
    const size_t element_bytes = ndr_dtype_size(desc->dtype);
    *p = (product){ .queue = queue,
                    .desc = desc,
                    .alpha = desc->scaling.is_set ? desc->scaling.alpha : 1,
                    .beta = desc->scaling.beta,
                    .a = operand("a", &desc->a, element_bytes),
                    .b = operand("b", &desc->b, element_bytes),
                    .c = operand("c", &desc->c, element_bytes) };
    NDR_TRY(check_shapes(p));
    NDR_TRY(ndr_operand_check(&p->a, queue));
    NDR_TRY(ndr_operand_check(&p->b, queue));
    NDR_TRY(ndr_operand_check(&p->c, queue));
    NDR_TRY(ndr_operand_check_apart(&p->c, &p->a));
    return ndr_operand_check_apart(&p->c, &p->b);
}

/* ---- kernels ---- */

void ndr_gemm_options(const ndr_gemm_tuning *t, ndr_dtype dtype, char options[NDR_OPTIONS_SIZE])
{
    const char *type = ndr_dtype_describe(dtype)->cl_name;
    if (t->variant == NDR_GEMM_TILED)
        snprintf(options, NDR_OPTIONS_SIZE, "-DT=%s -DTILE_M=%u -DTILE_N=%u -DTILE_K=%u -DITEM_M=%u -DITEM_N=%u", type,
                 t->tile_m, t->tile_n, t->tile_k, t->item_m, t->item_n);
    else
        snprintf(options, NDR_OPTIONS_SIZE, "-DT=%s -DLANES=%u -DVECTORS=%u -DDEPTH=%u -DTHIN_ROWS=%u -DFETCH_AHEAD=%d",
                 type, t->lanes, t->vectors, t->depth, t->variant == NDR_GEMM_THIN ? t->thin_rows : NDR_GEMM_MR,
                 t->fetches_ahead);
}

static ndr_status get_kernel(const product *p, const char *name, ndr_kernel **kernel)
{
    char options[NDR_OPTIONS_SIZE];
    ndr_gemm_options(&p->tuning, p->desc->dtype, options);
    const ndr_kernel_desc desc = { .name = name,
                                   .bundled = p->tuning.variant == NDR_GEMM_TILED ? "gemm_tiled.cl" : "gemm_cpu.cl",
                                   .options = options };
    return ndr_kernel_get(p->queue->context, &desc, kernel);
}

static ndr_arg scalar(const product *p, double value)
{
    return p->desc->dtype == NDR_DTYPE_F64 ? ndr_arg_of(value) : ndr_arg_of((float)value);
}

/* Without alpha, a and b must not be read: a product over no columns is zero. */
static size_t depth_of(const product *p) { return p->alpha == 0 ? 0 : p->a.cols; }

/* ---- one launch ---- */

/* The variants that read the matrices where they are have one signature. */
static ndr_status multiply_by(const product *p, ndr_kernel *kernel, ndr_nd_range range, ndr_event **event)
{
    return ndr_launch_event(p->queue, kernel, event, range, p->c.rows, p->c.cols, depth_of(p),
                            scalar(p, p->alpha), ndr_operand_arg(&p->a), p->a.offset, p->a.pitch,
                            ndr_operand_arg(&p->b), p->b.offset, p->b.pitch, scalar(p, p->beta), p->c.buffer,
                            p->c.offset, p->c.pitch);
}

static ndr_status multiply_over(const product *p, const char *name, ndr_nd_range range, ndr_event **event)
{
    ndr_kernel *kernel;
    NDR_TRY(get_kernel(p, name, &kernel));
    return multiply_by(p, kernel, range, event);
}

static size_t group_rows(const ndr_gemm_tuning *t) { return t->tile_m / t->item_m; }
static size_t group_cols(const ndr_gemm_tuning *t) { return t->tile_n / t->item_n; }

/* A kernel may take smaller groups than its device, which is known once it is built: smaller tiles then, of which the
 * last have one item. */
static ndr_status get_tiled_kernel(product *p, ndr_kernel **kernel)
{
    NDR_TRY(get_kernel(p, "gemm_tiled", kernel));
    while (group_rows(&p->tuning) * group_cols(&p->tuning) > ndr_max_size(1, (*kernel)->info.max_group_size)) {
        ndr_device_info device = p->queue->context->caps.info;
        device.max_group_size = (*kernel)->info.max_group_size;
        p->tuning = ndr_tune_gemm(&device, NDR_GEMM_TILED, p->c.element_bytes, p->c.rows, p->c.cols, depth_of(p));
        NDR_TRY(get_kernel(p, "gemm_tiled", kernel));
    }
    return NDR_OK;
}

static ndr_status multiply_tiled(product *p, ndr_event **event)
{
    ndr_kernel *kernel;
    NDR_TRY(get_tiled_kernel(p, &kernel));
    const ndr_gemm_tuning *t = &p->tuning;
    return multiply_by(p, kernel,
                       ndr_nd_range_2d(ndr_ceil_div(p->c.rows, t->tile_m) * group_rows(t),
                                       ndr_ceil_div(p->c.cols, t->tile_n) * group_cols(t), group_rows(t), group_cols(t)),
                       event);
}

static size_t panel_cols(const product *p) { return (size_t)p->tuning.vectors * p->tuning.lanes; }

static ndr_status multiply_direct(const product *p, ndr_event **event)
{
    return multiply_over(
        p, "gemm_direct",
        ndr_nd_range_2d(ndr_ceil_div(p->c.rows, NDR_GEMM_MR), ndr_ceil_div(p->c.cols, panel_cols(p)), 1, 1), event);
}

static ndr_status multiply_thin(const product *p, ndr_event **event)
{
    return multiply_over(p, "gemm_thin", ndr_nd_range_1d(ndr_ceil_div(p->c.cols, 16 * (size_t)p->tuning.lanes), 1),
                         event);
}

/* ---- packed: b into panels, then the product ---- */

static ndr_status pack_and_multiply(const product *p, ndr_kernel *pack, ndr_kernel *multiply, ndr_buffer *workspace,
                                    ndr_event **event)
{
    const ndr_gemm_tuning *t = &p->tuning;
    const size_t panels = ndr_ceil_div(p->c.cols, panel_cols(p));
    ndr_event *first = NULL, *last = NULL;
    NDR_TRY(ndr_launch_event(
        p->queue, pack, event ? &first : NULL,
        ndr_nd_range_2d(ndr_ceil_div(p->b.rows, NDR_GEMM_PACK_ROWS), ndr_ceil_div(panels, NDR_GEMM_PACK_PANELS), 1, 1),
        p->b.cols, p->b.rows, p->b.buffer, p->b.offset, p->b.pitch, workspace));
    const size_t elements = t->block_rows * t->depth;
    const ndr_arg block = ndr_arg_local_(p->desc->dtype, p->c.element_bytes, 1, elements, 1, 1);
    const ndr_status status =
        ndr_launch_event(p->queue, multiply, event ? &last : NULL, ndr_nd_range_1d(t->workers, 1), p->c.rows, p->c.cols,
                         depth_of(p), scalar(p, p->alpha), p->a.buffer, p->a.offset, p->a.pitch, workspace,
                         scalar(p, p->beta), p->c.buffer, p->c.offset, p->c.pitch, t->block_rows, block);
    return ndr_event_join(status, first, last, event);
}

static ndr_status multiply_packed(const product *p, ndr_event **event)
{
    size_t bytes;
    const size_t padded = ndr_ceil_div(p->c.cols, panel_cols(p)) * panel_cols(p);
    NDR_REQUIRE_AS(NDR_LIMIT_EXCEEDED,
                   ndr_mul_fits(padded, p->b.rows, &bytes) && ndr_mul_fits(bytes, p->b.element_bytes, &bytes)
                       && ndr_add_fits(bytes, NDR_SCRATCH_COUNTERS * sizeof(cl_uint), &bytes),
                   "ndr_matmul: b is %zu x %zu: too large to copy", p->b.rows, p->b.cols);
    ndr_kernel *pack, *multiply;
    ndr_buffer *workspace;
    NDR_TRY(get_kernel(p, "gemm_pack_b", &pack));
    NDR_TRY(get_kernel(p, "gemm_packed", &multiply));
    NDR_TRY(ndr_queue_borrow_workspace(p->queue, bytes, &workspace));
    const ndr_status status = pack_and_multiply(p, pack, multiply, workspace, event);
    ndr_queue_return_workspace(p->queue);
    return status;
}

/* ---- multiplying ---- */

ndr_status ndr_matmul(ndr_queue *queue, const ndr_matmul_desc *desc, ndr_event **event)
{
    product p;
    NDR_TRY(check(queue, desc, &p));
    if (p.c.rows == 0 || p.c.cols == 0) return ndr_queue_mark(queue, event);
    const ndr_context *context = queue->context;
    p.tuning = ndr_tune_gemm(&context->caps.info, (ndr_gemm_variant)context->forced.gemm, p.c.element_bytes, p.c.rows,
                             p.c.cols, depth_of(&p));
    switch (p.tuning.variant) {
    case NDR_GEMM_DIRECT: return multiply_direct(&p, event);
    case NDR_GEMM_PACKED: return multiply_packed(&p, event);
    case NDR_GEMM_THIN: return multiply_thin(&p, event);
    case NDR_GEMM_TILED:
    default: return multiply_tiled(&p, event);
    }
}
