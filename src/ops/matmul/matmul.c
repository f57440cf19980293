/* matmul.c - ndr_matmul(), c = alpha * a * b + beta * c: its checks and the list of its implementations. */
#include "device/context.h"
#include "device/queue.h"
#include "ops/matmul/matmul.h"
#include "ops/warm.h"

#include <math.h>
#include <stdlib.h>

/* ---- the list ---- */

/* In the order in which they are asked. */
#define VARIANTS(V)                                                                         \
    V(thin) V(packed) V(direct) V(few_rows_local) V(few_rows) V(few_cols) V(mma) V(rounded) \
    V(halves) V(split) V(blocked) V(tiled)
#define DECLARE(name) extern const ndr_op_variant ndr_matmul_##name;
#define POINT_TO(name) &ndr_matmul_##name,
VARIANTS(DECLARE)
static const ndr_op_variant *const variants[] = { VARIANTS(POINT_TO) };

static uint64_t elements_of(const ndr_operand *matrix)
{
    return (uint64_t)matrix->rows * matrix->cols * (matrix->stride ? matrix->further + 1 : 1);
}

/* A multiplication and an addition for each pair of elements. */
static ndr_op_work work_of(const void *request)
{
    const ndr_matmul_request *r = request;
    const uint64_t inputs = r->depth ? elements_of(&r->a) + elements_of(&r->b) : 0;
    const uint64_t elements = inputs + elements_of(&r->c) * (r->beta != 0 ? 2 : 1);
    const uint64_t pairs = (uint64_t)r->c.rows * r->c.cols * (r->c.further + 1) * r->depth;
    return (ndr_op_work){ elements * ndr_dtype_size(r->dtype), 2 * pairs };
}

const ndr_operation ndr_matmul_operation = { "matmul", variants, NDR_COUNT_OF(variants), ndr_matmul_class_of, work_of };

/* ---- shared by the implementations ---- */

ndr_arg ndr_matmul_scalar(const ndr_matmul_request *request, double value)
{
    return request->dtype == NDR_DTYPE_F64 ? ndr_arg_of(value) : ndr_arg_of((float)value);
}

const char *ndr_matmul_is_too_wide(const ndr_matmul_request *request)
{
    enum { MAX_PITCH = 1 << 24 };
    const bool is_near = request->a.pitch < MAX_PITCH && request->b.pitch < MAX_PITCH;
    return is_near ? NULL : "rows of a or b are too far apart for 32-bit offsets";
}

unsigned ndr_matmul_run_of(const ndr_matmul_request *request, const ndr_operand *matrix)
{
    const unsigned lanes = (unsigned)(16 / ndr_dtype_size(request->dtype));
    const size_t ends = matrix->offset | matrix->pitch | matrix->cols | matrix->stride;
    return ends % lanes == 0 ? lanes : 1;
}

unsigned ndr_matmul_round_few(size_t count)
{
    unsigned rounded = 1;
    while (rounded < count && rounded < NDR_FEW) rounded *= 2;
    return rounded;
}

const char *ndr_matmul_has_many_rows(const ndr_op_case *of)
{
    const ndr_matmul_request *r = of->request;
    return r->c.rows <= NDR_FEW ? NULL : "c has more than 8 rows";
}

/* Products of a launch: GPUs may count the groups of the first of three dimensions in 16 bits. */
enum { MAX_PRODUCTS = 1 << 15 };

size_t ndr_matmul_count(const ndr_matmul_request *request) { return request->c.further + 1; }
size_t ndr_matmul_first_count(const ndr_matmul_request *request)
{
    return ndr_min_size(ndr_matmul_count(request), MAX_PRODUCTS);
}

static ndr_status fail_at_product(ndr_status status, size_t first, size_t count)
{
    if (first == 0) return status;
    return ndr_fail_with_code(status, ndr_last_cl_error(), "ndr_matmul: %s; %zu of %zu products are enqueued",
                              ndr_last_error(), first, count);
}

ndr_status ndr_matmul_launch_parts(ndr_op_job *job, size_t most, ndr_matmul_launch *launch)
{
    ndr_matmul_request part = *(const ndr_matmul_request *)job->of.request;
    ndr_operand *const matrices[] = { &part.a, &part.b, &part.c };
    const size_t count = ndr_matmul_count(&part);
    for (size_t first = 0; first < count; first += most) {
        part.a.further = part.b.further = part.c.further = ndr_min_size(most, count - first) - 1;
        const ndr_status status = launch(job, &part);
        if (status != NDR_OK) return fail_at_product(status, first, count);
        for (size_t i = 0; i < NDR_COUNT_OF(matrices); ++i) matrices[i]->offset += most * matrices[i]->stride;
    }
    return NDR_OK;
}

static ndr_status launch_kernel(ndr_op_job *job, const ndr_matmul_request *r)
{
    const size_t count = ndr_matmul_count(r);
    ndr_nd_range range = job->plan.range;
    range.global.size[0] = ndr_min_size(range.global.size[0], count);
    return ndr_op_launch(job, job->kernel, range, count, r->c.rows, r->c.cols, r->depth, ndr_matmul_scalar(r, r->alpha),
                         ndr_operand_arg(&r->a), r->a.offset, r->a.pitch, r->a.stride, ndr_operand_arg(&r->b),
                         r->b.offset, r->b.pitch, r->b.stride, ndr_matmul_scalar(r, r->beta), r->c.buffer, r->c.offset,
                         r->c.pitch, r->c.stride);
}

ndr_status ndr_matmul_launch_kernel(ndr_op_job *job)
{
    return ndr_matmul_launch_parts(job, MAX_PRODUCTS, launch_kernel);
}

/* ---- shared with ndr_tune() and proofs ---- */

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

double ndr_matmul_get(ndr_dtype dtype, const void *from, size_t i)
{
    return dtype == NDR_DTYPE_F64 ? ((const double *)from)[i] : (double)((const float *)from)[i];
}

static void set(ndr_dtype dtype, void *to, size_t i, double value)
{
    if (dtype == NDR_DTYPE_F64) ((double *)to)[i] = value;
    else ((float *)to)[i] = (float)value;
}

ndr_status ndr_matmul_create(ndr_context *context, ndr_operand *matrix, ndr_dtype dtype, ndr_matmul_element *element,
                             const void *from, void **host)
{
    const size_t count = matrix->offset + matrix->rows * matrix->pitch, bytes = count * matrix->element_bytes;
    *host = malloc(bytes);
    if (!*host)
        return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "%s: no memory for %zu bytes of %s", matrix->call, bytes, matrix->name);
    for (size_t i = 0; i < count; ++i) set(dtype, *host, i, NAN);
    for (size_t i = 0; i < matrix->rows && element; ++i)
        for (size_t j = 0; j < matrix->cols; ++j)
            set(dtype, *host, matrix->offset + i * matrix->pitch + j, element(from, i, j));
    return ndr_buffer_create_from(context, bytes, *host, &matrix->buffer);
}

ndr_status ndr_matmul_check_size(const char *call, size_t m, size_t n, size_t k)
{
    size_t elements, bytes;
    NDR_REQUIRE_AS(NDR_LIMIT_EXCEEDED,
                   ndr_mul_fits(m, n, &elements) && ndr_mul_fits(elements, 8, &bytes)
                       && ndr_mul_fits(k, ndr_max_size(m, n), &elements) && ndr_mul_fits(elements, 8, &bytes),
                   "%s: a product of %zu x %zu x %zu exceeds the address space", call, m, n, k);
    return NDR_OK;
}

/* ---- checks ---- */

static ndr_status check_type(const char *call, const ndr_context *context, ndr_dtype dtype, ndr_accuracy accuracy)
{
    const ndr_device_info *device = &context->caps.info;
    NDR_REQUIRE(dtype == NDR_DTYPE_F32 || dtype == NDR_DTYPE_F64, "%s: dtype is %s; use f32 or f64", call,
                dtype == NDR_DTYPE_NONE ? "not set" : ndr_dtype_name(dtype));
    NDR_REQUIRE_AS(NDR_UNSUPPORTED, dtype != NDR_DTYPE_F64 || device->has_f64,
                   "%s: device \"%s\" has no f64; use f32", call, device->name);
    NDR_REQUIRE(accuracy == NDR_ACCURACY_FULL || accuracy == NDR_ACCURACY_TF32,
                "%s: accuracy is %d; use NDR_ACCURACY_FULL (%d) or NDR_ACCURACY_TF32 (%d)", call, (int)accuracy,
                NDR_ACCURACY_FULL, NDR_ACCURACY_TF32);
    return NDR_OK;
}

static ndr_status check_shapes(const ndr_matmul_request *r)
{
    const ndr_operand *a = &r->a, *b = &r->b, *c = &r->c;
    NDR_REQUIRE(a->cols == b->rows,
                "ndr_matmul: a is %zu x %zu and b is %zu x %zu; a needs as many columns as b has rows",
                a->rows, a->cols, b->rows, b->cols);
    NDR_REQUIRE(c->rows == a->rows && c->cols == b->cols,
                "ndr_matmul: c is %zu x %zu, but a * b is %zu x %zu; make c that size", c->rows, c->cols, a->rows,
                b->cols);
    return NDR_OK;
}

/* The first product whose c overlaps that of product 0; 0 if there is none. */
static size_t find_overlap(const ndr_operand *c)
{
    const size_t end = (c->rows - 1) * c->pitch + c->cols;
    for (size_t i = 1, at = c->stride; i <= c->further && at < end; ++i, at += c->stride) {
        const size_t row = at / c->pitch, col = at % c->pitch; /* of product 0 */
        if (col < c->cols || (row + 1 < c->rows && c->pitch - col < c->cols)) return i;
    }
    return 0;
}

static ndr_status check_stride(const ndr_operand *c)
{
    const size_t other = c->rows && c->cols ? find_overlap(c) : 0;
    NDR_REQUIRE(other == 0,
                "ndr_matmul: c is %zu x %zu with pitch %zu and c_stride is %zu, so products 0 and %zu overlap in c; "
                "make c_stride %zu or more",
                c->rows, c->cols, c->pitch, c->stride, other, (c->rows - 1) * c->pitch + c->cols);
    return NDR_OK;
}

/* A factor without is_set is a forgotten ndr_scaling_of(): ignoring it would give a wrong product. */
static ndr_status check_scaling(const ndr_scaling *scaling)
{
    NDR_REQUIRE(scaling->is_set || (scaling->alpha == 0 && scaling->beta == 0),
                "ndr_matmul: scaling has alpha %g and beta %g, but is_set is false; write .scaling = "
                "ndr_scaling_of(%g, %g)",
                scaling->alpha, scaling->beta, scaling->alpha, scaling->beta);
    return NDR_OK;
}

ndr_status ndr_matmul_make_request(const char *call, const ndr_context *context, const ndr_matmul_desc *desc,
                                   ndr_matmul_request *request)
{
    NDR_REQUIRE(desc, "%s: desc is NULL; pass the address of a descriptor whose members are set", call);
    NDR_TRY(check_type(call, context, desc->dtype, desc->accuracy));
    NDR_TRY(check_scaling(&desc->scaling));
    *request = (ndr_matmul_request){ .dtype = desc->dtype,
                                     .accuracy = desc->dtype == NDR_DTYPE_F32 ? desc->accuracy : NDR_ACCURACY_FULL,
                                     .alpha = desc->scaling.is_set ? desc->scaling.alpha : 1,
                                     .beta = desc->scaling.beta,
                                     .a = ndr_matmul_operand(call, "a", &desc->a, desc->dtype),
                                     .b = ndr_matmul_operand(call, "b", &desc->b, desc->dtype),
                                     .c = ndr_matmul_operand(call, "c", &desc->c, desc->dtype) };
    if (request->alpha != 0) request->depth = desc->a.cols;
    if (desc->count > 1) {
        request->a.further = request->b.further = request->c.further = desc->count - 1;
        request->a.stride = desc->a_stride;
        request->b.stride = desc->b_stride;
        request->c.stride = desc->c_stride;
    }
    return check_shapes(request);
}

static ndr_status check_matmul(ndr_queue *queue, const ndr_matmul_desc *desc, ndr_matmul_request *request)
{
    NDR_REQUIRE_SET_IN("ndr_matmul", queue);
    NDR_TRY(ndr_matmul_make_request("ndr_matmul", queue->context, desc, request));
    NDR_TRY(ndr_operand_check(&request->a, queue));
    NDR_TRY(ndr_operand_check(&request->b, queue));
    NDR_TRY(ndr_operand_check(&request->c, queue));
    NDR_TRY(check_stride(&request->c));
    NDR_TRY(ndr_operand_check_apart(&request->c, &request->a));
    return ndr_operand_check_apart(&request->c, &request->b);
}

ndr_status ndr_matmul(ndr_queue *queue, const ndr_matmul_desc *desc, ndr_event **event)
{
    const ndr_order order = ndr_order_of(queue);
    ndr_matmul_request request;
    NDR_TRY(check_matmul(order.queue, desc, &request));
    if (request.c.rows == 0 || request.c.cols == 0) return ndr_queue_mark_in(&order, event);
    NDR_TRY(ndr_core_get(order.queue->context, &request.core));
    return ndr_op_run(&ndr_matmul_operation, &order, &request, event);
}

/* Of a call that has no queue. */
static ndr_status make_request_of(const char *call, ndr_context *context, const ndr_matmul_desc *desc,
                                  ndr_matmul_request *request)
{
    NDR_TRY(ndr_matmul_make_request("ndr_matmul", context, desc, request));
    NDR_REQUIRE(request->c.rows > 0 && request->c.cols > 0,
                "%s: c is %zu x %zu; a product without elements runs no kernel", call, request->c.rows,
                request->c.cols);
    NDR_TRY(ndr_matmul_check_size(call, request->c.rows, request->c.cols, request->a.cols));
    return ndr_core_get(context, &request->core);
}

ndr_status ndr_matmul_build(ndr_context *context, const ndr_matmul_desc *desc, ndr_kernel **kernel)
{
    ndr_matmul_request request;
    NDR_TRY(make_request_of("ndr_cache_warm", context, desc, &request));
    return ndr_op_build(&ndr_matmul_operation, context, &request, kernel);
}

ndr_status ndr_matmul_explain(ndr_context *context, const ndr_matmul_desc *desc, size_t capacity, char *text,
                              size_t *length)
{
    ndr_matmul_request request;
    NDR_REQUIRE_SET(context);
    NDR_TRY(make_request_of(__func__, context, desc, &request));
    return ndr_op_explain_in(&ndr_matmul_operation, context, &request, capacity, text, length);
}
