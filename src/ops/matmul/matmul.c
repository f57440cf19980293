/* matmul.c - ndr_matmul(), c = alpha * a * b + beta * c: its checks and the list of its implementations. */
#include "ops/matmul/matmul.h"

/* ---- the list ---- */

extern const ndr_op_row ndr_matmul_thin, ndr_matmul_packed, ndr_matmul_direct, ndr_matmul_blocked, ndr_matmul_tiled;

static const ndr_op_row *const rows[] = { &ndr_matmul_thin, &ndr_matmul_packed, &ndr_matmul_direct,
                                         &ndr_matmul_blocked, &ndr_matmul_tiled };

const ndr_operation ndr_matmul_operation = { "matmul", rows, sizeof rows / sizeof rows[0], ndr_matmul_class_of };

/* ---- shared by the implementations ---- */

ndr_arg ndr_matmul_scalar(const ndr_matmul_request *request, double value)
{
    return request->dtype == NDR_DTYPE_F64 ? ndr_arg_of(value) : ndr_arg_of((float)value);
}

ndr_status ndr_matmul_run_kernel(ndr_op_job *job)
{
    const ndr_matmul_request *r = job->request;
    ndr_kernel *kernel;
    NDR_TRY(ndr_op_get_main_kernel(job, &kernel));
    return ndr_op_launch(job, kernel, job->plan.range, r->c.rows, r->c.cols, r->depth, ndr_matmul_scalar(r, r->alpha),
                         ndr_operand_arg(&r->a), r->a.offset, r->a.pitch, ndr_operand_arg(&r->b), r->b.offset,
                         r->b.pitch, ndr_matmul_scalar(r, r->beta), r->c.buffer, r->c.offset, r->c.pitch);
}

/* ---- shared with ndr_tune() ---- */

ndr_operand ndr_matmul_operand(const char *call, const char *name, const ndr_matrix *matrix, ndr_dtype dtype)
{
    return (ndr_operand){ .call = call,
                          .name = name,
                          .buffer = matrix->buffer,
                          .offset = matrix->offset,
                          .rows = matrix->rows,
                          .cols = matrix->cols,
                          .pitch = matrix->pitch ? matrix->pitch : matrix->cols,
                          .element_bytes = ndr_dtype_size(dtype) };
}

ndr_status ndr_matmul_check_type(const char *call, const ndr_context *context, ndr_dtype dtype)
{
    const ndr_device_info *device = &context->caps.info;
    NDR_REQUIRE(dtype == NDR_DTYPE_F32 || dtype == NDR_DTYPE_F64, "%s: dtype is %s; use f32 or f64", call,
                dtype == NDR_DTYPE_NONE ? "not set" : ndr_dtype_name(dtype));
    NDR_REQUIRE_AS(NDR_UNSUPPORTED, dtype != NDR_DTYPE_F64 || device->has_f64,
                   "%s: device \"%s\" has no f64; use f32", call, device->name);
    return NDR_OK;
}

/* ---- checks ---- */

static ndr_status check_shapes(const ndr_matmul_request *r)
{
    const ndr_operand *a = &r->a, *b = &r->b, *c = &r->c;
    NDR_REQUIRE(a->cols == b->rows,
                "ndr_matmul: a is %zu x %zu and b is %zu x %zu; the columns of a must be the rows "
                "of b",
                a->rows, a->cols, b->rows, b->cols);
    NDR_REQUIRE(c->rows == a->rows && c->cols == b->cols,
                "ndr_matmul: c is %zu x %zu, but a * b is %zu x %zu; make c of that size", c->rows, c->cols, a->rows,
                b->cols);
    return NDR_OK;
}

/* A factor without is_set is a forgotten ndr_scaling_of(): ignoring it would give a wrong product. */
static ndr_status check_scaling(const ndr_scaling *scaling)
{
    NDR_REQUIRE(scaling->is_set || (scaling->alpha == 0 && scaling->beta == 0),
                "ndr_matmul: scaling has alpha %g and beta %g, but is_set is false; write .scaling = ndr_scaling_of(%g, "
                "%g)",
                scaling->alpha, scaling->beta, scaling->alpha, scaling->beta);
    return NDR_OK;
}

static ndr_status check_matmul(ndr_queue *queue, const ndr_matmul_desc *desc, ndr_matmul_request *request)
{
    NDR_REQUIRE_SET_IN("ndr_matmul", queue);
    NDR_REQUIRE(desc, "ndr_matmul: desc is NULL");
    NDR_TRY(ndr_matmul_check_type("ndr_matmul", queue->context, desc->dtype));
    NDR_TRY(check_scaling(&desc->scaling));
    const double alpha = desc->scaling.is_set ? desc->scaling.alpha : 1;
    *request = (ndr_matmul_request){ .dtype = desc->dtype,
                                     .alpha = alpha,
                                     .beta = desc->scaling.beta,
                                     .a = ndr_matmul_operand("ndr_matmul", "a", &desc->a, desc->dtype),
                                     .b = ndr_matmul_operand("ndr_matmul", "b", &desc->b, desc->dtype),
                                     .c = ndr_matmul_operand("ndr_matmul", "c", &desc->c, desc->dtype),
                                     .depth = alpha == 0 ? 0 : desc->a.cols };
    NDR_TRY(check_shapes(request));
    NDR_TRY(ndr_operand_check(&request->a, queue));
    NDR_TRY(ndr_operand_check(&request->b, queue));
    NDR_TRY(ndr_operand_check(&request->c, queue));
    NDR_TRY(ndr_operand_check_apart(&request->c, &request->a));
    return ndr_operand_check_apart(&request->c, &request->b);
}

ndr_status ndr_matmul(ndr_queue *queue, const ndr_matmul_desc *desc, ndr_event **event)
{
    ndr_matmul_request request;
    NDR_TRY(check_matmul(queue, desc, &request));
    if (request.c.rows == 0 || request.c.cols == 0) return ndr_queue_mark(queue, event);
    NDR_TRY(ndr_core_get(queue->context, &request.core));
    return ndr_op_run(&ndr_matmul_operation, queue, &request, event);
}
