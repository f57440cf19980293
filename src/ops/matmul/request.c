/* request.c - the checks of a product, and its request: matrices by columns become those of the transposed product. */
#include "device/context.h"
#include "device/queue.h"
#include "ops/matmul/matmul.h"

#include <stdio.h>

/* ---- types ---- */

static ndr_dtype default_output(ndr_dtype dtype)
{
    return dtype == NDR_DTYPE_I8 || dtype == NDR_DTYPE_U8 ? NDR_DTYPE_I32 : dtype;
}

ndr_dtype ndr_matmul_output(const ndr_matmul_request *request)
{
    return request->output_dtype ? request->output_dtype : default_output(request->dtype);
}

bool ndr_matmul_is_integer(const ndr_matmul_request *request)
{
    return request->dtype == NDR_DTYPE_I8 || request->dtype == NDR_DTYPE_U8;
}

const char *ndr_matmul_result_type(const ndr_matmul_request *request)
{
    return request->dtype == NDR_DTYPE_F64 ? "double" : ndr_matmul_is_integer(request) ? "uint" : "float";
}

size_t ndr_matmul_result_bytes(const ndr_matmul_request *request)
{
    return request->dtype == NDR_DTYPE_F64 ? sizeof(double) : sizeof(float);
}

/* Whether products of that type can be stored as the other one: of floats of up to 32 bits any of these, and of all but
 * f64 others by an epilogue. */
static bool gives(ndr_dtype dtype, ndr_dtype output, bool has_epilogue)
{
    const bool is_float = output == NDR_DTYPE_F16 || output == NDR_DTYPE_BF16 || output == NDR_DTYPE_F32;
    const bool is_integer = output == NDR_DTYPE_I8 || output == NDR_DTYPE_U8 || output == NDR_DTYPE_I32;
    if (output == default_output(dtype)) return true;
    if (dtype == NDR_DTYPE_F64) return false;
    return has_epilogue ? is_float || is_integer : is_float && ndr_dtype_describe(dtype)->is_float;
}

static ndr_status check_output(const char *call, ndr_dtype dtype, ndr_dtype output, bool has_epilogue)
{
    const bool is_integer = !ndr_dtype_describe(dtype)->is_float;
    NDR_REQUIRE(gives(dtype, output, has_epilogue),
                "%s: output_dtype is %s, which a product of %s does not give; use %s", call, ndr_dtype_name(output),
                ndr_dtype_name(dtype),
                dtype == NDR_DTYPE_F64 ? "f64"
                : has_epilogue         ? "f16, bf16, f32, i8, u8 or i32"
                : is_integer           ? "i32, or an epilogue that converts r"
                                       : "f16, bf16 or f32, or an epilogue that converts r");
    return NDR_OK;
}

static ndr_status check_type(const char *call, const ndr_context *context, const ndr_matmul_desc *desc)
{
    const ndr_device_info *device = &context->caps.info;
    const ndr_dtype dtype = desc->dtype;
    NDR_REQUIRE(dtype == NDR_DTYPE_F32 || dtype == NDR_DTYPE_F64 || dtype == NDR_DTYPE_F16 || dtype == NDR_DTYPE_BF16
                    || dtype == NDR_DTYPE_I8 || dtype == NDR_DTYPE_U8,
                "%s: dtype is %s; use f32, f64, f16, bf16, i8 or u8", call,
                dtype == NDR_DTYPE_NONE ? "not set" : ndr_dtype_name(dtype));
    NDR_REQUIRE_AS(NDR_UNSUPPORTED, dtype != NDR_DTYPE_F64 || device->has_f64, "%s: device \"%s\" has no f64; use f32",
                   call, device->name);
    if (desc->output_dtype) NDR_TRY(check_output(call, dtype, desc->output_dtype, desc->epilogue != NULL));
    NDR_REQUIRE(desc->accuracy == NDR_ACCURACY_FULL || desc->accuracy == NDR_ACCURACY_TF32,
                "%s: accuracy is %d; use NDR_ACCURACY_FULL (%d) or NDR_ACCURACY_TF32 (%d)", call, (int)desc->accuracy,
                NDR_ACCURACY_FULL, NDR_ACCURACY_TF32);
    return NDR_OK;
}

/* ---- factors ---- */

static ndr_status check_factor(const ndr_matmul_desc *desc, const char *name, double factor)
{
    const bool is_float = ndr_dtype_describe(desc->dtype)->is_float;
    NDR_REQUIRE(is_float || (factor >= INT32_MIN && factor <= INT32_MAX && factor == (int32_t)factor),
                "ndr_matmul: %s is %.17g, but sums of %s are 32-bit integers; use a whole number from -2^31 to "
                "2^31 - 1, or an epilogue such as \"r * %g\"",
                name, factor, ndr_dtype_name(desc->dtype), factor);
    return NDR_OK;
}

/* A factor without is_set is a forgotten ndr_scaling_of(): ignoring it would give a wrong product. */
static ndr_status check_scaling(const ndr_matmul_desc *desc)
{
    const ndr_scaling *scaling = &desc->scaling;
    NDR_REQUIRE(scaling->is_set || (scaling->alpha == 0 && scaling->beta == 0),
                "ndr_matmul: scaling has alpha %g and beta %g, but is_set is false; write .scaling = "
                "ndr_scaling_of(%g, %g)",
                scaling->alpha, scaling->beta, scaling->alpha, scaling->beta);
    NDR_TRY(check_factor(desc, "alpha", scaling->alpha));
    NDR_TRY(check_factor(desc, "beta", scaling->beta));
    const bool is_float = ndr_dtype_describe(desc->dtype)->is_float;
    const bool is_c_float = desc->output_dtype && ndr_dtype_describe(desc->output_dtype)->is_float;
    NDR_REQUIRE(is_float || !is_c_float || scaling->beta == 0,
                "ndr_matmul: beta is %g, but c is %s and sums of %s are integers; use beta 0, and c as an input of the "
                "epilogue",
                scaling->beta, ndr_dtype_name(desc->output_dtype), ndr_dtype_name(desc->dtype));
    return NDR_OK;
}

/* ---- shapes ---- */

/* As the caller says it: with transposes "a is 3 x 4 and transposed". */
static ndr_status check_shapes(const ndr_matmul_desc *d)
{
    const char *const a_form = d->transposes_a ? " and transposed" : "";
    const char *const b_form = d->transposes_b ? " and transposed" : "";
    const size_t m = d->transposes_a ? d->a.cols : d->a.rows, k = d->transposes_a ? d->a.rows : d->a.cols;
    const size_t n = d->transposes_b ? d->b.rows : d->b.cols, b_k = d->transposes_b ? d->b.cols : d->b.rows;
    NDR_REQUIRE(k == b_k, "ndr_matmul: a is %zu x %zu%s and b is %zu x %zu%s; a needs as many %s as b has %s",
                d->a.rows, d->a.cols, a_form, d->b.rows, d->b.cols, b_form, d->transposes_a ? "rows" : "columns",
                d->transposes_b ? "columns" : "rows");
    NDR_REQUIRE(d->c.rows == m && d->c.cols == n,
                "ndr_matmul: c is %zu x %zu, but the product is %zu x %zu; make c that size", d->c.rows, d->c.cols, m,
                n);
    NDR_REQUIRE(d->part == NDR_MATRIX_WHOLE || d->part == NDR_MATRIX_LOWER || d->part == NDR_MATRIX_UPPER,
                "ndr_matmul: part is %d; use NDR_MATRIX_WHOLE (%d), NDR_MATRIX_LOWER (%d) or NDR_MATRIX_UPPER (%d)",
                (int)d->part, NDR_MATRIX_WHOLE, NDR_MATRIX_LOWER, NDR_MATRIX_UPPER);
    NDR_REQUIRE(d->part == NDR_MATRIX_WHOLE || m == n,
                "ndr_matmul: part is a triangle, but c is %zu x %zu; make c square, or part NDR_MATRIX_WHOLE", m, n);
    return NDR_OK;
}

static ndr_status check_distances(const ndr_matmul_desc *d)
{
    const struct {
        const char *name;
        const ndr_buffer *offsets;
        size_t stride;
    } all[NDR_MATMUL_SIDES] = { { "a", d->a_offsets.buffer, d->a_stride },
                                { "b", d->b_offsets.buffer, d->b_stride },
                                { "c", d->c_offsets.buffer, d->c_stride } };
    for (size_t i = 0; i < NDR_MATMUL_SIDES; ++i)
        NDR_REQUIRE(!all[i].offsets || all[i].stride == 0,
                    "ndr_matmul: %s_stride is %zu and %s_offsets is set, too; set one of them", all[i].name,
                    all[i].stride, all[i].name);
    return NDR_OK;
}

/* ---- the request ---- */

static ndr_operand operand_of(const char *name, const ndr_matrix *matrix, ndr_dtype dtype, bool is_column_major)
{
    ndr_matrix by_rows = *matrix;
    if (is_column_major) by_rows.rows = matrix->cols, by_rows.cols = matrix->rows;
    ndr_operand operand = ndr_matmul_operand("ndr_matmul", name, &by_rows, dtype);
    operand.is_by_columns = is_column_major;
    return operand;
}

static ndr_operand offsets_of(const char *name, const ndr_span *offsets, const ndr_matmul_desc *desc)
{
    return ndr_operand_of("ndr_matmul", name, *offsets, ndr_max_size(desc->count, 1), sizeof(uint64_t));
}

/* c = a * b by columns is c' = b' * a' by rows, where ' is a transpose: the same elements in memory. */
static void swap_sides(ndr_matmul_request *r)
{
    const ndr_operand a = r->a;
    const ndr_operand a_offsets = r->offsets[0];
    const bool transposes_a = r->transposes_a;
    r->a = r->b, r->b = a;
    r->offsets[0] = r->offsets[1], r->offsets[1] = a_offsets;
    r->transposes_a = r->transposes_b, r->transposes_b = transposes_a;
    if (r->part) r->part = r->part == NDR_MATRIX_LOWER ? NDR_MATRIX_UPPER : NDR_MATRIX_LOWER;
}

ndr_status ndr_matmul_make_request(const char *call, const ndr_context *context, const ndr_matmul_desc *desc,
                                   ndr_matmul_epilogue *epilogue, ndr_matmul_request *request)
{
    NDR_REQUIRE(desc, "%s: desc is NULL; pass the address of a descriptor whose members are set", call);
    NDR_TRY(check_type(call, context, desc));
    NDR_TRY(check_scaling(desc));
    NDR_TRY(check_shapes(desc));
    NDR_TRY(check_distances(desc));
    const bool by_columns = desc->is_column_major;
    *request = (ndr_matmul_request){
        .dtype = desc->dtype,
        .output_dtype = desc->output_dtype ? desc->output_dtype : default_output(desc->dtype),
        .accuracy = desc->dtype == NDR_DTYPE_F32 ? desc->accuracy : NDR_ACCURACY_FULL,
        .alpha = desc->scaling.is_set ? desc->scaling.alpha : 1,
        .beta = desc->scaling.beta,
        .transposes_a = desc->transposes_a,
        .transposes_b = desc->transposes_b,
        .part = desc->part,
        .offsets = { offsets_of("a_offsets", &desc->a_offsets, desc), offsets_of("b_offsets", &desc->b_offsets, desc),
                     offsets_of("c_offsets", &desc->c_offsets, desc) },
    };
    request->a = operand_of("a", &desc->a, desc->dtype, by_columns);
    request->b = operand_of("b", &desc->b, desc->dtype, by_columns);
    request->c = operand_of("c", &desc->c, request->output_dtype, by_columns);
    if (request->alpha != 0) request->depth = desc->transposes_a ? desc->a.rows : desc->a.cols;
    if (desc->count > 1) {
        request->a.further = request->b.further = request->c.further = desc->count - 1;
        request->a.stride = desc->a_stride;
        request->b.stride = desc->b_stride;
        request->c.stride = desc->c_stride;
    }
    if (by_columns) swap_sides(request);
    return ndr_matmul_make_epilogue(call, context, desc, request, epilogue);
}

const char *ndr_matmul_exceeds(const ndr_matmul_request *r, unsigned takes)
{
    const bool is_usual = r->dtype == NDR_DTYPE_F32 || r->dtype == NDR_DTYPE_F64;
    const bool has_offsets = r->offsets[0].buffer || r->offsets[1].buffer || r->offsets[2].buffer;
    if (!(takes & NDR_MATMUL_TYPES) && (!is_usual || ndr_matmul_output(r) != r->dtype))
        return "the elements are not all f32, nor all f64";
    if (!(takes & NDR_MATMUL_TRANSPOSES) && (r->transposes_a || r->transposes_b)) return "a or b is transposed";
    if (!(takes & NDR_MATMUL_PARTS) && r->part) return "only a triangle of c is wanted";
    if (!(takes & NDR_MATMUL_OFFSETS) && has_offsets) return "the products of the batch lie at offsets from a buffer";
    if (!(takes & NDR_MATMUL_EPILOGUES) && r->epilogue) return "there is an epilogue";
    return NULL;
}

ndr_element_options ndr_matmul_print_elements(const ndr_matmul_request *r)
{
    ndr_element_options out = { "" };
    const ndr_dtype output = ndr_matmul_output(r);
    const bool is_usual = r->dtype == output && (r->dtype == NDR_DTYPE_F32 || r->dtype == NDR_DTYPE_F64);
    const bool all = r->epilogue != NULL; /* which may have macros of these names */
    size_t used = 0;
    if (all || !is_usual)
        used += (size_t)snprintf(out.chars, sizeof out.chars, " -DR=%s -DIN=%s -DOUT=%s", ndr_matmul_result_type(r),
                                 ndr_dtype_name(r->dtype), ndr_dtype_name(output));
    const struct {
        const char *name;
        unsigned value;
    } rest[] = { { "TRANSPOSES_A", r->transposes_a },
                 { "TRANSPOSES_B", r->transposes_b },
                 { "PART", (unsigned)r->part },
                 { "OFFSETS", (r->offsets[0].buffer ? 1u : 0) | (r->offsets[1].buffer ? 2u : 0)
                                  | (r->offsets[2].buffer ? 4u : 0) } };
    for (size_t i = 0; i < NDR_COUNT_OF(rest); ++i)
        if (all || rest[i].value)
            used +=
                (size_t)snprintf(out.chars + used, sizeof out.chars - used, " -D%s=%u", rest[i].name, rest[i].value);
    return out;
}

/* ---- buffers ---- */

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
                c->is_by_columns ? c->cols : c->rows, c->is_by_columns ? c->rows : c->cols, c->pitch, c->stride, other,
                (c->rows - 1) * c->pitch + c->cols);
    return NDR_OK;
}

/* With offsets, as if all products lay where one with offset 0 does: no other offset needs less memory. */
static ndr_status check_side(const ndr_operand *side, const ndr_operand *offsets, ndr_queue *queue)
{
    ndr_operand first = *side;
    if (!offsets->buffer) return ndr_operand_check(side, queue);
    first.further = 0;
    NDR_TRY(ndr_operand_check(&first, queue));
    return ndr_operand_check(offsets, queue);
}

/* Matrices at offsets may lie anywhere. */
static ndr_status check_apart(const ndr_matmul_request *r, const ndr_operand *input, const ndr_operand *offsets)
{
    const bool is_known = !r->offsets[2].buffer;
    if (is_known && !offsets->buffer) NDR_TRY(ndr_operand_check_apart(&r->c, input));
    return is_known && offsets->buffer ? ndr_operand_check_apart(&r->c, offsets) : NDR_OK;
}

ndr_status ndr_matmul_check_buffers(const ndr_matmul_request *r, ndr_queue *queue)
{
    NDR_TRY(check_side(&r->a, &r->offsets[0], queue));
    NDR_TRY(check_side(&r->b, &r->offsets[1], queue));
    NDR_TRY(check_side(&r->c, &r->offsets[2], queue));
    if (!r->offsets[2].buffer) NDR_TRY(check_stride(&r->c));
    NDR_TRY(check_apart(r, &r->a, &r->offsets[0]));
    NDR_TRY(check_apart(r, &r->b, &r->offsets[1]));
    return ndr_matmul_check_epilogue(r, queue->context);
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
