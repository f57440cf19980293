/* prove.c - hard products, for which a variant of ndr_matmul() must keep the bound of docs/numerics.md: for variants that
 * use more than OpenCL C, and for self-tests. */
#include "device/context.h"
#include "device/queue.h"
#include "ops/answers.h"
#include "ops/matmul/matmul.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Elements are 2^(-spread ... 0) * 2^exponent, with all bits of the type, or the 11 to which `rounded` may round them,
 * so that it must keep the bound of the others; without signs rounding errors add up. Integers have all values. Every
 * `period`-th step has other exponents, which makes elements too small for parts; 0: none has. */
typedef struct hard_case {
    size_t m, n, k, gap, offset;
    double alpha, beta;
    int a_exponent, b_exponent, spread;
    bool has_signs, has_infinities;
    unsigned period;
    int a_rise, b_rise;      /* of the exponents at these steps */
    ndr_dtype dtype, output; /* NONE: f32 or f64, as the variant takes them */
    bool transposes_a, transposes_b;
    ndr_matrix_part part;
    size_t count;      /* of a batch */
    bool has_epilogue; /* which adds to each column a number of its own */
} hard_case;

#define OF(in, out, ...) .dtype = NDR_DTYPE_##in, .output = NDR_DTYPE_##out, __VA_ARGS__

/* Sizes are odd, rows are not aligned, and the depths end within a step. Some cases take the widest tiles. */
static const hard_case cases[] = {
    { 129, 65, 64, 0, 0, 1, 0, 0, 0, 0, true, false, 0, 0, 0, .count = 1 },
    { 131, 200, 173, 3, 1, 0.5, -2, 0, 0, 30, true, false, 0, 0, 0, .count = 1 },
    { 128, 128, 515, 4, 4, 1, 0, 0, 0, 0, false, false, 0, 0, 0, .count = 1 },
    { 70, 130, 160, 1, 2, 1, 1, -128, 7, 3, true, false, 0, 0, 0, .count = 1 },
    { 70, 130, 160, 0, 0, -1, 0, 90, -125, 9, true, false, 0, 0, 0, .count = 1 },
    { 130, 130, 131, 0, 0, 1, 0, 0, 0, 5, true, true, 0, 0, 0, .count = 1 },
    /* outliers against elements near 0; against zeros, the least that parts take */
    { 130, 70, 389, 1, 3, 1, 0, 0, 0, 0, false, false, 64, 30, -40, .count = 1 },
    { 130, 70, 389, 0, 0, 1, 0, 0, 0, 0, false, false, 64, 29, -1000, .count = 1 },
    /* as many small elements as parts take; smaller ones */
    { 130, 70, 388, 0, 0, 1, 0, 40, 40, 7, false, false, 4, -37, 1, .count = 1 },
    { 130, 70, 389, 1, 3, 1, 0, 0, -1000, 3, true, false, 2, -40, 1000, .count = 1 },
    { 2050, 6000, 130, 0, 0, 1, 0, 0, 0, 1, false, false, 0, 0, 0, .count = 1 },
    { 2050, 6000, 130, 0, 0, 1, 0, 0, -1000, 3, true, false, 2, -40, 1000, .count = 1 },
    { 2052, 2052, 131, 1, 3, 1, 0, 0, 0, 1, true, false, 0, 0, 0, .count = 1 },
    { 2043, 2043, 97, 1, 3, 1, 0, 0, 0, 1, true, false, 0, 0, 0, .count = 1 },
    /* few rows: in parts of the depth, and more tiles than units */
    { 33, 1000, 4097, 1, 3, 1, 2, 0, 0, 3, true, false, 0, 0, 0, .count = 1 },
    { 64, 400, 1024, 4, 4, 1, 0, 0, 0, 0, false, false, 0, 0, 0, .count = 1 },
    { 127, 20000, 69, 0, 0, -1, 1, 0, 0, 5, true, true, 0, 0, 0, .count = 1 },
    { 40, 19000, 131, 2, 2, 1, 0, 0, -1000, 3, true, false, 2, -40, 1000, .count = 1 },
    { 64, 200, 330, 0, 0, 1, 0, 90, -125, 9, true, false, 0, 0, 0, .count = 2 },
    /* narrow types: smaller than a box of the copy engine, in parts of the depth, and, on 132 units, all tiles */
    { 5, 40, 8, 0, 0, 1, 0, 0, 0, 5, true, false, 0, 0, 0, OF(F16, F16, .count = 3) },
    { 129, 65, 64, 0, 0, 1, 0, 0, 0, 5, true, false, 0, 0, 0, OF(F16, F16, .count = 3) },
    { 131, 200, 1173, 3, 1, 0.5, -2, 0, 0, 3, true, true, 0, 0, 0, OF(F16, F16, .count = 2) },
    { 190, 130, 4104, 8, 8, 1, 0, 4, -18, 6, false, false, 0, 0, 0, OF(F16, F32, .transposes_a = true, .count = 1) },
    { 1660, 2552, 200, 8, 8, 1, 0, 0, 0, 7, true, false, 0, 0, 0, OF(F16, F16, .transposes_b = true, .count = 1) },
    { 259, 6536, 136, 0, 0, 2, 1, 0, 0, 3, false, false, 0, 0, 0, OF(F16, BF16, .count = 1) },
    { 534, 5224, 72, 8, 0, 1, 0, 0, 0, 3, true, false, 0, 0, 0, OF(F16, F16, .count = 1) },
    { 203, 6536, 115, 0, 0, 1, 1, -60, 50, 9, true, true, 0, 0, 0, OF(BF16, F32, .transposes_b = true, .count = 1) },
    { 331, 8128, 136, 5, 3, -1, 1, 0, 0, 7, true, false, 0, 0, 0, OF(BF16, BF16, .transposes_a = true, .count = 1) },
    { 1530, 4104, 136, 0, 0, 1, 0, 0, 0, 7, true, false, 0, 0, 0, OF(F16, F16, .count = 1) },
    { 1100, 1100, 136, 8, 0, 1, 0, 0, 0, 1, false, false, 0, 0, 0,
      OF(BF16, BF16, .part = NDR_MATRIX_LOWER, .count = 1) },
    /* texts of their own: tiles that are whole, and in parts of the depth */
    { 300, 1000, 200, 8, 8, 1, 1, 0, 0, 3, true, false, 0, 0, 0, OF(F16, F16, .count = 2, .has_epilogue = true) },
    { 190, 130, 4104, 8, 8, 1, 0, 0, 0, 3, true, false, 0, 0, 0, OF(BF16, F16, .count = 1, .has_epilogue = true) },
    { 67, 131, 200, 1, 3, 1, 0, 0, 0, 3, true, false, 0, 0, 0,
      OF(BF16, F32, .transposes_a = true, .transposes_b = true, .part = NDR_MATRIX_UPPER, .count = 3) },
    { 129, 65, 515, 1, 3, 2, -1, 0, 0, 0, true, false, 0, 0, 0, OF(I8, I32, .count = 2) },
    { 1660, 2568, 400, 0, 0, 1, 0, 0, 0, 0, true, false, 0, 0, 0, OF(I8, I32, .transposes_b = true, .count = 1) },
    { 190, 130, 4104, 0, 0, 1, 0, 0, 0, 0, false, false, 0, 0, 0, OF(U8, I32, .transposes_a = true, .count = 1) },
};

/* ---- matrices ---- */

static uint64_t hash(uint64_t x)
{
    x = (x + 1) * 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 32) * 0xd6e8feb86659fd93u;
    return x ^ x >> 32;
}

enum { A = 1, B = 2, C = 3 }; /* the matrices, also the seeds of their elements */

static int exponent_at(const hard_case *h, unsigned matrix, size_t i, size_t j)
{
    if (matrix == C) return 0;
    const bool rises = h->period && (matrix == A ? j : i) % h->period == h->period - 1;
    return matrix == A ? h->a_exponent + (rises ? h->a_rise : 0) : h->b_exponent + (rises ? h->b_rise : 0);
}

/* An element of one of the matrices of a product. */
typedef struct source {
    const hard_case *h;
    ndr_accuracy accuracy;
    ndr_dtype dtype;
    unsigned matrix;
} source;

static double element(const void *from, size_t i, size_t j)
{
    const source *s = from;
    const hard_case *h = s->h;
    const uint64_t bits = hash(s->matrix + ((uint64_t)i << 32 | j));
    const int exponent = exponent_at(h, s->matrix, i, j);
    if (s->dtype == NDR_DTYPE_U8) return (double)(uint8_t)bits;
    if (!ndr_dtype_describe(s->dtype)->is_float) return (double)(int8_t)bits;
    if (h->has_infinities && bits % 4099 == 0) return bits & 1 << 20 ? INFINITY : NAN;
    const uint64_t fraction = s->accuracy == NDR_ACCURACY_TF32 ? bits >> 54 << 42 : bits >> 12;
    const double size = ldexp(1 + (double)fraction * 0x1p-52, exponent - (int)(bits >> 1 & 63) % (h->spread + 1));
    return h->has_signs && (bits & 1) ? -size : size;
}

/* ---- checks ---- */

typedef struct product {
    const hard_case *h;
    ndr_matmul_request request;
    ndr_matmul_epilogue epilogue;
    ndr_buffer *bias;
    void *a, *b, *c, *got; /* on the host */
} product;

static double at(const ndr_operand *m, ndr_dtype dtype, const void *from, size_t row, size_t col)
{
    return ndr_matmul_get(dtype, from, m->offset + row * m->pitch + col);
}

/* Element (row, col) of op(a) or op(b) of a product; the matrices of a batch lie below each other. */
static double factor(const product *p, const ndr_operand *m, const void *from, bool transposes, size_t which,
                     size_t row, size_t col)
{
    const size_t first = which * m->rows;
    const ndr_dtype dtype = p->request.dtype;
    return transposes ? at(m, dtype, from, first + col, row) : at(m, dtype, from, first + row, col);
}

/* The error of rounding to the type of c: half of its last bit, and of the least number. */
static long double rounding_of(ndr_dtype dtype, long double x)
{
    if (dtype == NDR_DTYPE_F16) return fabsl(x) * 0x1p-11L + 0x1p-25L;
    return dtype == NDR_DTYPE_BF16 ? fabsl(x) * 0x1p-8L + 0x1p-134L : 0;
}

/* What an epilogue adds to a column. */
static float bias_of(size_t col) { return (float)(col % 31) - 15; }

/* A loop in the type itself gives an infinity where a sum passes the largest number; no case comes near it. */
static bool is_right_at(const product *p, size_t which, size_t row, size_t col)
{
    const ndr_matmul_request *r = &p->request;
    const ndr_dtype output = ndr_matmul_output(r);
    const bool is_f64 = r->dtype == NDR_DTYPE_F64;
    const double eps = is_f64 ? DBL_EPSILON : FLT_EPSILON, least = is_f64 ? DBL_MIN : FLT_MIN;
    const double k = (double)p->h->k, got = at(&r->c, output, p->got, which * p->h->m + row, col);
    long double sum = 0, size = 0;
    for (size_t i = 0; i < p->h->k; ++i) {
        const long double term = (long double)factor(p, &r->a, p->a, r->transposes_a, which, row, i)
                                 * factor(p, &r->b, p->b, r->transposes_b, which, i, col);
        sum += term;
        size += fabsl(term);
    }
    const double before = p->h->beta != 0 ? at(&r->c, output, p->c, which * p->h->m + row, col) : 0;
    const long double bias = p->h->has_epilogue ? bias_of(col) : 0;
    const long double old = p->h->beta * (long double)before, wanted = p->h->alpha * sum + old + bias;
    if (ndr_matmul_is_integer(r)) return got == (double)wanted;
    if (isnan(wanted)) return isnan(got);
    if (isinf(wanted)) return got == (double)wanted;
    const long double bound = (k + 2) * eps * (fabs(p->h->alpha) * size + fabsl(old) + fabsl(bias)) + 2 * k * least;
    return fabsl(wanted - got) <= bound + rounding_of(output, fabsl(wanted) + bound);
}

static bool is_in_part(const hard_case *h, size_t row, size_t col)
{
    if (col >= h->n) return false;
    return h->part == NDR_MATRIX_WHOLE || (h->part == NDR_MATRIX_LOWER ? col <= row : col >= row);
}

static bool is_as_before(const product *p, size_t row, size_t col)
{
    const ndr_operand *c = &p->request.c;
    const size_t from = (c->offset + row * c->pitch + col) * c->element_bytes;
    return memcmp((const char *)p->got + from, (const char *)p->c + from, c->element_bytes) == 0;
}

/* Of large products some rows, the last one among them. What lies beside the product must be as before. */
static bool is_right_everywhere(const product *p)
{
    enum { ELEMENTS = 1 << 22 };
    const hard_case *h = p->h;
    const size_t rows = h->m * h->count, step = 1 + rows * h->n * h->k / ELEMENTS;
    for (size_t row = rows; row-- > 0; row = row < step ? 0 : row + 1 - step)
        for (size_t col = 0; col < h->n + h->gap; ++col)
            if (is_in_part(h, row % h->m, col) ? !is_right_at(p, row / h->m, row % h->m, col)
                                               : !is_as_before(p, row, col))
                return false;
    return true;
}

/* The matrices of a batch lie below each other. */
static ndr_status create(ndr_context *context, product *p, unsigned which, ndr_operand *matrix, size_t rows,
                         size_t cols, ndr_dtype dtype, void **host)
{
    const size_t count = p->h->count;
    const ndr_matrix described = { NULL, p->h->offset, rows * count, cols, cols + p->h->gap };
    const source s = { p->h, p->request.accuracy, dtype, which };
    *matrix = ndr_matmul_operand("ndr_matmul", "a proof", &described, dtype);
    NDR_TRY(ndr_matmul_create(context, matrix, dtype, which == C && p->h->beta == 0 ? NULL : element, &s, host));
    matrix->rows = rows;
    matrix->further = count - 1;
    matrix->stride = count > 1 ? rows * matrix->pitch : 0;
    return NDR_OK;
}

/* The epilogue of a request whose c is set. */
static ndr_status add_epilogue(ndr_context *context, product *p)
{
    const hard_case *h = p->h;
    const size_t bytes = h->n * sizeof(float);
    float *const host = malloc(bytes);
    if (!host) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory to try a variant");
    for (size_t col = 0; col < h->n; ++col) host[col] = bias_of(col);
    const ndr_status status = ndr_buffer_create_from(context, bytes, host, &p->bias);
    free(host);
    NDR_TRY(status);
    const ndr_map_array bias = {
        "bias",
        { .buffer = p->bias, .dtype = NDR_DTYPE_F32, .shape = ndr_range_2d(h->m, h->n), .stride = { 0, 1 } },
    };
    const ndr_matmul_desc desc = { .c = { .rows = h->m, .cols = h->n },
                                   .count = h->count,
                                   .epilogue = "r + bias",
                                   .inputs = &bias,
                                   .input_count = 1 };
    return ndr_matmul_make_epilogue("ndr_matmul", context, &desc, &p->request, &p->epilogue);
}

/* By what the context would take if `variant` is NULL. */
static ndr_status multiply(ndr_queue *queue, const ndr_op_variant *variant, product *p, bool *is_right)
{
    const hard_case *h = p->h;
    const bool ta = h->transposes_a, tb = h->transposes_b;
    const ndr_dtype in = p->request.dtype, out = ndr_matmul_output(&p->request);
    NDR_TRY(create(queue->context, p, A, &p->request.a, ta ? h->k : h->m, ta ? h->m : h->k, in, &p->a));
    NDR_TRY(create(queue->context, p, B, &p->request.b, tb ? h->n : h->k, tb ? h->k : h->n, in, &p->b));
    NDR_TRY(create(queue->context, p, C, &p->request.c, h->m, h->n, out, &p->c));
    if (h->has_epilogue) NDR_TRY(add_epilogue(queue->context, p));
    const size_t bytes = ndr_buffer_size(p->request.c.buffer);
    p->got = malloc(bytes);
    if (!p->got) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory to try a variant");
    const ndr_order order = { .queue = queue };
    NDR_TRY(variant ? ndr_op_run_variant(variant, &order, &p->request, NULL)
                    : ndr_op_run(&ndr_matmul_operation, &order, &p->request, NULL));
    NDR_TRY(ndr_buffer_read(queue, p->request.c.buffer, 0, bytes, p->got, NULL));
    *is_right = is_right_everywhere(p);
    return NDR_OK;
}

static ndr_status multiply_and_free(ndr_queue *queue, const ndr_op_variant *variant, product *p, bool *is_right)
{
    const ndr_status status = multiply(queue, variant, p, is_right);
    ndr_buffer_destroy(p->request.a.buffer);
    ndr_buffer_destroy(p->request.b.buffer);
    ndr_buffer_destroy(p->request.c.buffer);
    ndr_buffer_destroy(p->bias);
    free(p->a);
    free(p->b);
    free(p->c);
    free(p->got);
    return status;
}

static ndr_status try_case(ndr_queue *queue, const ndr_op_variant *variant, const hard_case *h, bool *is_right)
{
    const bool is_f64 = variant->needs == NDR_NEEDS_F64_MMA || variant->needs == NDR_NEEDS_RESIDUES;
    const ndr_dtype dtype = is_f64 ? NDR_DTYPE_F64 : NDR_DTYPE_F32;
    product p = { .h = h,
                  .request = { .dtype = h->dtype ? h->dtype : dtype,
                               .output_dtype = h->output,
                               .alpha = h->alpha,
                               .beta = h->beta,
                               .depth = h->k,
                               .c = { .rows = h->m, .cols = h->n },
                               .transposes_a = h->transposes_a,
                               .transposes_b = h->transposes_b,
                               .part = h->part } };
    if (h->has_epilogue) p.request.epilogue = &p.epilogue;
    p.request.accuracy = variant->needs == NDR_NEEDS_ROUNDED_MMA ? NDR_ACCURACY_TF32 : NDR_ACCURACY_FULL;
    if (ndr_op_cannot(variant, &p.request)) return NDR_OK;
    return multiply_and_free(queue, variant, &p, is_right);
}

ndr_status ndr_matmul_prove(ndr_queue *queue, const ndr_op_variant *variant, bool *is_right)
{
    *is_right = true;
    for (size_t i = 0; i < NDR_COUNT_OF(cases) && *is_right; ++i) {
        NDR_TRY(ndr_op_goes_on(queue));
        NDR_TRY(try_case(queue, variant, &cases[i], is_right));
    }
    return NDR_OK;
}

/* ---- for self-tests ---- */

/* Shapes for each variant: for all devices, and for GPUs. Each has pitches, offsets and factors, or none. */
static const struct {
    size_t m, n, k;
    ndr_dtype dtype;
    ndr_accuracy accuracy;
    bool is_padded;
} shapes[NDR_MATMUL_ANSWERS] = {
    { 3, 1031, 1033, NDR_DTYPE_F32, 0, false },
    { 127, 131, 137, NDR_DTYPE_F32, 0, true },
    { 67, 1033, 257, NDR_DTYPE_F32, 0, false },
    { 67, 131, 137, NDR_DTYPE_F16, 0, true },
    { 67, 131, 137, NDR_DTYPE_BF16, 0, false },
    { 67, 131, 137, NDR_DTYPE_I8, 0, true },
    { 1, 1, 1, NDR_DTYPE_F32, 0, true },
    { 31, 1, 4097, NDR_DTYPE_F32, 0, false },
    { 7, 8209, 1031, NDR_DTYPE_F32, 0, true },
    { 8209, 7, 1031, NDR_DTYPE_F32, 0, false },
    { 1031, 1033, 1039, NDR_DTYPE_F32, 0, true },
    { 2053, 2063, 1031, NDR_DTYPE_F32, 0, false },
    { 1031, 1033, 1039, NDR_DTYPE_F32, NDR_ACCURACY_TF32, false },
    { 7, 8209, 1031, NDR_DTYPE_F64, 0, false },
    { 1031, 1033, 1039, NDR_DTYPE_F64, 0, true },
    { 1031, 1033, 1039, NDR_DTYPE_F16, 0, false },
    { 1031, 1033, 1039, NDR_DTYPE_U8, 0, true },
};

enum { FOR_ALL = 6 };

static bool applies(const ndr_device_info *device, size_t i)
{
    if (i >= FOR_ALL && device->type != NDR_DEVICE_TYPE_GPU) return false;
    return shapes[i].dtype != NDR_DTYPE_F64 || device->has_f64;
}

ndr_status ndr_matmul_ask(ndr_trial *t, size_t i)
{
    ndr_context *const context = t->queue->context;
    hard_case h = {
        .m = shapes[i].m, .n = shapes[i].n, .k = shapes[i].k, .alpha = 1, .spread = 3, .has_signs = true, .count = 1
    };
    bool is_right = true;
    if (!applies(&context->caps.info, i)) return NDR_OK;
    if (shapes[i].is_padded) h.gap = h.offset = 3, h.alpha = 2, h.beta = -1;
    const ndr_matmul_desc desc = { .dtype = shapes[i].dtype,
                                   .accuracy = shapes[i].accuracy,
                                   .scaling = ndr_scaling_of(h.alpha, h.beta),
                                   .a = { NULL, h.offset, h.m, h.k, h.k + h.gap },
                                   .b = { NULL, h.offset, h.k, h.n, h.n + h.gap },
                                   .c = { NULL, h.offset, h.m, h.n, h.n + h.gap } };
    if (t->explains) return ndr_matmul_explain(context, &desc, sizeof t->taken, t->taken, NULL);
    product p = { .h = &h };
    NDR_TRY(ndr_matmul_make_request("ndr_selftest", context, &desc, NULL, &p.request));
    NDR_TRY(ndr_core_get(context, &p.request.core));
    NDR_TRY(multiply_and_free(t->queue, NULL, &p, &is_right));
    if (!is_right)
        snprintf(t->fault, sizeof t->fault, "a product of %zu x %zu x %zu of %s is wrong", h.m, h.n, h.k,
                 ndr_dtype_name(shapes[i].dtype));
    return NDR_OK;
}
