/* matmul.c - ndr_matmul(), c = alpha * a * b + beta * c: its checks and the list of its implementations. */
#include "device/context.h"
#include "device/queue.h"
#include "ops/matmul/matmul.h"
#include "ops/warm.h"

#include <math.h>
#include <stdlib.h>

/* ---- the list ---- */

/* In the order in which they are asked. */
#define VARIANTS(V)                                                                  \
    V(thin) V(packed) V(direct) V(few) V(residues) V(mma) V(small) V(units)          \
    V(rounded) V(halves) V(three_parts) V(blocked) V(tiled)
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
    if (request->dtype == NDR_DTYPE_F64) return ndr_arg_of(value);
    return ndr_matmul_is_integer(request) ? ndr_arg_of((uint32_t)(int32_t)value) : ndr_arg_of((float)value);
}

const char *ndr_matmul_is_too_wide(const ndr_matmul_request *request)
{
    enum { MAX_PITCH = 1 << 24 };
    const bool is_near = request->a.pitch < MAX_PITCH && request->b.pitch < MAX_PITCH;
    return is_near ? NULL : "rows of a or b are too far apart for 32-bit offsets";
}

unsigned ndr_matmul_run_of(const ndr_matmul_request *request, const ndr_operand *matrix)
{
    const size_t bytes = ndr_matmul_result_bytes(request);
    const unsigned lanes = (unsigned)(16 / bytes);
    const size_t ends = matrix->offset | matrix->pitch | matrix->cols | matrix->stride;
    const bool is_a = matrix == &request->a, is_b = matrix == &request->b;
    const bool turns = (is_a && request->transposes_a) || (is_b && request->transposes_b);
    const bool lies_anywhere = request->offsets[is_a ? 0 : is_b ? 1 : 2].buffer != NULL;
    return matrix->element_bytes == bytes && !turns && !lies_anywhere && ends % lanes == 0 ? lanes : 1;
}

const char *ndr_matmul_is_unusual(const ndr_op_case *of) { return ndr_matmul_exceeds(of->request, 0); }

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
    ndr_operand *const matrices[NDR_MATMUL_SIDES] = { &part.a, &part.b, &part.c };
    const size_t count = ndr_matmul_count(&part);
    for (size_t first = 0; first < count; first += most) {
        part.a.further = part.b.further = part.c.further = ndr_min_size(most, count - first) - 1;
        const ndr_status status = launch(job, &part);
        if (status != NDR_OK) return fail_at_product(status, first, count);
        part.first_product += most;
        for (size_t i = 0; i < NDR_MATMUL_SIDES; ++i) {
            matrices[i]->offset += most * matrices[i]->stride;
            part.offsets[i].offset += most;
        }
    }
    return NDR_OK;
}

static size_t list_matrix(const ndr_operand *matrix, bool has_stride, ndr_arg *list)
{
    list[0] = ndr_operand_arg(matrix);
    list[1] = ndr_arg_of(matrix->offset);
    list[2] = ndr_arg_of(matrix->pitch);
    if (has_stride) list[3] = ndr_arg_of(matrix->stride);
    return has_stride ? 4 : 3;
}

size_t ndr_matmul_list_matrices(const ndr_matmul_request *r, bool has_strides, ndr_arg *list)
{
    size_t used = 0;
    list[used++] = ndr_arg_of(r->c.rows);
    list[used++] = ndr_arg_of(r->c.cols);
    list[used++] = ndr_arg_of(r->depth);
    list[used++] = ndr_matmul_scalar(r, r->alpha);
    used += list_matrix(&r->a, has_strides, list + used);
    used += list_matrix(&r->b, has_strides, list + used);
    list[used++] = ndr_matmul_scalar(r, r->beta);
    return used + list_matrix(&r->c, has_strides, list + used);
}

ndr_status ndr_matmul_launch_with(ndr_op_job *job, ndr_kernel *kernel, const ndr_nd_range *range,
                                  const ndr_matmul_request *r, const ndr_arg *list, size_t count)
{
    ndr_matmul_args args;
    memcpy(args.list, list, count * sizeof *list);
    return ndr_op_launch_v(job, kernel, range, args.list, ndr_matmul_add_args(r, count, &args));
}

ndr_status ndr_matmul_launch_in_place(ndr_op_job *job, const ndr_matmul_request *r, const ndr_arg *more, size_t count)
{
    const size_t products = ndr_matmul_count(r);
    ndr_nd_range range = job->plan.range;
    range.global.size[0] = ndr_min_size(range.global.size[0], products);
    ndr_matmul_args args = { .list = { ndr_arg_of(products) } };
    const size_t used = 1 + ndr_matmul_list_matrices(r, true, args.list + 1);
    if (count) memcpy(args.list + used, more, count * sizeof *more);
    return ndr_op_launch_v(job, job->kernel, &range, args.list, ndr_matmul_add_args(r, used + count, &args));
}

static ndr_status launch_kernel(ndr_op_job *job, const ndr_matmul_request *r)
{
    return ndr_matmul_launch_in_place(job, r, NULL, 0);
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
    switch (dtype) {
    case NDR_DTYPE_F64: return ((const double *)from)[i];
    case NDR_DTYPE_F16: return (double)ndr_f16_to_float(((const uint16_t *)from)[i]);
    case NDR_DTYPE_BF16: return (double)ndr_bf16_to_float(((const uint16_t *)from)[i]);
    case NDR_DTYPE_I8: return ((const int8_t *)from)[i];
    case NDR_DTYPE_U8: return ((const uint8_t *)from)[i];
    case NDR_DTYPE_I32: return ((const int32_t *)from)[i];
    default: return (double)((const float *)from)[i];
    }
}

static void set(ndr_dtype dtype, void *to, size_t i, double value)
{
    switch (dtype) {
    case NDR_DTYPE_F64: ((double *)to)[i] = value; break;
    case NDR_DTYPE_F16: ((uint16_t *)to)[i] = ndr_f16_from_float((float)value); break;
    case NDR_DTYPE_BF16: ((uint16_t *)to)[i] = ndr_bf16_from_float((float)value); break;
    case NDR_DTYPE_I8: ((int8_t *)to)[i] = (int8_t)value; break;
    case NDR_DTYPE_U8: ((uint8_t *)to)[i] = (uint8_t)value; break;
    case NDR_DTYPE_I32: ((int32_t *)to)[i] = (int32_t)value; break;
    default: ((float *)to)[i] = (float)value;
    }
}

ndr_status ndr_matmul_create(ndr_context *context, ndr_operand *matrix, ndr_dtype dtype, ndr_matmul_element *element,
                             const void *from, void **host)
{
    const size_t count = matrix->offset + matrix->rows * matrix->pitch, bytes = count * matrix->element_bytes;
    *host = malloc(bytes);
    if (!*host)
        return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "%s: no memory for %zu bytes of %s", matrix->call, bytes, matrix->name);
    const double poison = ndr_dtype_describe(dtype)->is_float ? (double)NAN : 99;
    for (size_t i = 0; i < count; ++i) set(dtype, *host, i, poison);
    for (size_t i = 0; i < matrix->rows && element; ++i)
        for (size_t j = 0; j < matrix->cols; ++j)
            set(dtype, *host, matrix->offset + i * matrix->pitch + j, element(from, i, j));
    return ndr_buffer_create_from(context, bytes, *host, &matrix->buffer);
}

/* ---- the calls ---- */

/* The first product's own program tells what the cores are for which it was planned: a program less to build. Kernels
 * without blocks in registers have no such probe. */
static ndr_status take_core(ndr_context *context, ndr_matmul_request *request)
{
    bool is_assumed;
    ndr_kernel *probe;
    NDR_TRY(ndr_core_assume(context, &request->core, &is_assumed));
    if (!is_assumed) return NDR_OK;
    const ndr_status status = ndr_op_build(&ndr_matmul_operation, context, request, NDR_CORE_PROBE, &probe);
    if (status == NDR_NOT_FOUND) return ndr_core_get(context, &request->core);
    return status == NDR_OK ? ndr_core_learn(context, probe, &request->core) : status;
}

ndr_status ndr_matmul(ndr_queue *queue, const ndr_matmul_desc *desc, ndr_event **event)
{
    const ndr_order order = ndr_order_of(queue);
    ndr_matmul_request request;
    ndr_matmul_epilogue epilogue;
    NDR_TRY(ndr_order_check_queue("ndr_matmul", &order));
    NDR_TRY(ndr_matmul_make_request("ndr_matmul", order.queue->context, desc, &epilogue, &request));
    NDR_TRY(ndr_matmul_check_buffers(&request, order.queue));
    if (request.c.rows == 0 || request.c.cols == 0) return ndr_queue_mark_in(&order, event);
    NDR_TRY(take_core(order.queue->context, &request));
    return ndr_op_run(&ndr_matmul_operation, &order, &request, event);
}

/* Of a call that has no queue. */
static ndr_status make_request_of(const char *call, ndr_context *context, const ndr_matmul_desc *desc,
                                  ndr_matmul_epilogue *epilogue, ndr_matmul_request *request)
{
    NDR_TRY(ndr_matmul_make_request("ndr_matmul", context, desc, epilogue, request));
    NDR_REQUIRE(request->c.rows > 0 && request->c.cols > 0,
                "%s: c is %zu x %zu; a product without elements runs no kernel", call, request->c.rows,
                request->c.cols);
    return ndr_matmul_check_size(call, request->c.rows, request->c.cols,
                                 request->transposes_a ? request->a.rows : request->a.cols);
}

ndr_status ndr_matmul_build(ndr_context *context, const ndr_matmul_desc *desc, ndr_kernel **kernel)
{
    ndr_matmul_request request;
    ndr_matmul_epilogue epilogue;
    NDR_TRY(make_request_of("ndr_cache_warm", context, desc, &epilogue, &request));
    NDR_TRY(take_core(context, &request));
    return ndr_op_build(&ndr_matmul_operation, context, &request, NULL, kernel);
}

ndr_status ndr_matmul_explain(ndr_context *context, const ndr_matmul_desc *desc, size_t capacity, char *text,
                              size_t *length)
{
    ndr_matmul_request request;
    ndr_matmul_epilogue epilogue;
    NDR_REQUIRE_SET(context);
    NDR_TRY(make_request_of(__func__, context, desc, &epilogue, &request));
    NDR_TRY(ndr_core_get(context, &request.core));
    return ndr_op_explain_in(&ndr_matmul_operation, context, &request, capacity, text, length);
}
