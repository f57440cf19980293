/* matmul.c - c = alpha * a * b + beta * c. */
#include "ops/ops.h"

#include <stdio.h>

/* A multiplication that has passed its checks. */
typedef struct product {
    ndr_queue *queue;
    const ndr_matmul_desc *desc;
    ndr_operand a, b, c;
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
    NDR_REQUIRE(desc->dtype == NDR_DTYPE_F32 || desc->dtype == NDR_DTYPE_F64,
                "ndr_matmul: dtype is %s; it takes f32 and f64",
                desc->dtype == NDR_DTYPE_NONE ? "not set" : ndr_dtype_name(desc->dtype));
    NDR_REQUIRE_AS(NDR_UNSUPPORTED, desc->dtype != NDR_DTYPE_F64 || device->has_f64,
                   "ndr_matmul: device \"%s\" has no f64", device->name);
    return NDR_OK;
}

static ndr_status check_shapes(const product *p)
{
    const ndr_operand *a = &p->a, *b = &p->b, *c = &p->c;
    NDR_REQUIRE(a->cols == b->rows, "ndr_matmul: a is %zu x %zu and b is %zu x %zu; the columns of a must be the rows "
                "of b", a->rows, a->cols, b->rows, b->cols);
    NDR_REQUIRE(c->rows == a->rows && c->cols == b->cols, "ndr_matmul: c is %zu x %zu, but a * b is %zu x %zu", c->rows,
                c->cols, a->rows, b->cols);
    return NDR_OK;
}

static ndr_status check(ndr_queue *queue, const ndr_matmul_desc *desc, product *p)
{
    NDR_REQUIRE(queue, "ndr_matmul: queue is NULL");
    NDR_REQUIRE(desc, "ndr_matmul: desc is NULL");
    NDR_TRY(check_type(queue, desc));
    const size_t element_bytes = ndr_dtype_size(desc->dtype);
    *p = (product){ queue, desc, operand("a", &desc->a, element_bytes), operand("b", &desc->b, element_bytes),
                    operand("c", &desc->c, element_bytes) };
    NDR_TRY(check_shapes(p));
    NDR_TRY(ndr_operand_check(&p->a, queue));
    NDR_TRY(ndr_operand_check(&p->b, queue));
    NDR_TRY(ndr_operand_check(&p->c, queue));
    NDR_TRY(ndr_operand_check_apart(&p->c, &p->a));
    return ndr_operand_check_apart(&p->c, &p->b);
}

/* ---- multiplying ---- */

static ndr_status get_kernel(const product *p, const ndr_gemm_tuning *t, ndr_kernel **kernel)
{
    char options[160];
    snprintf(options, sizeof options, "-DT=%s -DTILE_M=%u -DTILE_N=%u -DTILE_K=%u -DITEM_M=%u -DITEM_N=%u",
             ndr_dtype_describe(p->desc->dtype)->cl_name, t->tile_m, t->tile_n, t->tile_k, t->item_m, t->item_n);
    const ndr_kernel_desc desc = { .name = "gemm_tiled", .bundled = "gemm_tiled.cl", .options = options };
    return ndr_kernel_get(p->queue->context, &desc, kernel);
}

static ndr_arg scalar(const product *p, double value)
{
    return p->desc->dtype == NDR_DTYPE_F64 ? ndr_arg_of(value) : ndr_arg_of((float)value);
}

static ndr_status launch(const product *p, const ndr_gemm_tuning *t, ndr_kernel *kernel, ndr_event **event)
{
    const size_t group_rows = t->tile_m / t->item_m, group_cols = t->tile_n / t->item_n;
    /* Without alpha, a and b must not be read: a product over no columns is zero. */
    const size_t depth = p->desc->alpha == 0 ? 0 : p->a.cols;
    return ndr_launch_event(p->queue, kernel, event,
                            ndr_nd_range_2d(ndr_ceil_div(p->c.rows, t->tile_m) * group_rows,
                                            ndr_ceil_div(p->c.cols, t->tile_n) * group_cols, group_rows, group_cols),
                            p->c.rows, p->c.cols, depth, scalar(p, p->desc->alpha), ndr_operand_arg(&p->a), p->a.offset,
                            p->a.pitch, ndr_operand_arg(&p->b), p->b.offset, p->b.pitch, scalar(p, p->desc->beta),
                            p->c.buffer, p->c.offset, p->c.pitch);
}

ndr_status ndr_matmul(ndr_queue *queue, const ndr_matmul_desc *desc, ndr_event **event)
{
    product p;
    NDR_TRY(check(queue, desc, &p));
    if (p.c.rows == 0 || p.c.cols == 0) return ndr_queue_mark(queue, event);
    const ndr_gemm_tuning tuning = ndr_tune_gemm(&queue->context->caps.info, p.c.element_bytes);
    ndr_kernel *kernel;
    NDR_TRY(get_kernel(&p, &tuning, &kernel));
    return launch(&p, &tuning, kernel, event);
}
