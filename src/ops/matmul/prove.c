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
 * so that it must keep the bound of the others; without signs rounding errors add up. Every `period`-th step has other
 * exponents, which makes elements too small for parts; 0: none has. Sizes are odd, rows are not aligned, and the depths
 * end within a step. Some cases take the widest tiles. */
typedef struct hard_case {
    size_t m, n, k, gap, offset;
    double alpha, beta;
    int a_exponent, b_exponent, spread;
    bool has_signs, has_infinities;
    unsigned period;
    int a_rise, b_rise; /* of the exponents at these steps */
} hard_case;

static const hard_case cases[] = {
    { 129, 65, 64, 0, 0, 1, 0, 0, 0, 0, true, false, 0, 0, 0 },
    { 131, 200, 173, 3, 1, 0.5, -2, 0, 0, 30, true, false, 0, 0, 0 },
    { 128, 128, 515, 4, 4, 1, 0, 0, 0, 0, false, false, 0, 0, 0 },
    { 70, 130, 160, 1, 2, 1, 1, -128, 7, 3, true, false, 0, 0, 0 },
    { 70, 130, 160, 0, 0, -1, 0, 90, -125, 9, true, false, 0, 0, 0 },
    { 130, 130, 131, 0, 0, 1, 0, 0, 0, 5, true, true, 0, 0, 0 },
    { 130, 70, 389, 1, 3, 1, 0, 0, 0, 0, false, false, 64, 30, -40 },     /* outliers against elements near 0 */
    { 130, 70, 389, 0, 0, 1, 0, 0, 0, 0, false, false, 64, 29, -1000 },   /* against zeros: the least that parts take */
    { 130, 70, 388, 0, 0, 1, 0, 40, 40, 7, false, false, 4, -37, 1 },     /* as many small elements as parts take */
    { 130, 70, 389, 1, 3, 1, 0, 0, -1000, 3, true, false, 2, -40, 1000 }, /* smaller than parts take */
    { 2050, 6000, 130, 0, 0, 1, 0, 0, 0, 1, false, false, 0, 0, 0 },
    { 2050, 6000, 130, 0, 0, 1, 0, 0, -1000, 3, true, false, 2, -40, 1000 },
    { 2052, 2052, 131, 1, 3, 1, 0, 0, 0, 1, true, false, 0, 0, 0 },
    { 2043, 2043, 97, 1, 3, 1, 0, 0, 0, 1, true, false, 0, 0, 0 },
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
    unsigned matrix;
} source;

static double element(const void *from, size_t i, size_t j)
{
    const source *s = from;
    const hard_case *h = s->h;
    const uint64_t bits = hash(s->matrix + ((uint64_t)i << 32 | j));
    const int exponent = exponent_at(h, s->matrix, i, j);
    if (h->has_infinities && bits % 4099 == 0) return bits & 1 << 20 ? INFINITY : NAN;
    const uint64_t fraction = s->accuracy == NDR_ACCURACY_TF32 ? bits >> 54 << 42 : bits >> 12;
    const double size = ldexp(1 + (double)fraction * 0x1p-52, exponent - (int)(bits >> 1 & 63) % (h->spread + 1));
    return h->has_signs && (bits & 1) ? -size : size;
}

/* ---- checks ---- */

typedef struct product {
    const hard_case *h;
    ndr_matmul_request request;
    void *a, *b, *c, *got; /* on the host */
} product;

static double at(const product *p, const ndr_operand *m, const void *from, size_t row, size_t col)
{
    return ndr_matmul_get(p->request.dtype, from, m->offset + row * m->pitch + col);
}

/* A loop in the type itself gives an infinity where a sum passes the largest number; no case comes near it. */
static bool is_right_at(const product *p, size_t row, size_t col)
{
    const bool is_f64 = p->request.dtype == NDR_DTYPE_F64;
    const double eps = is_f64 ? DBL_EPSILON : FLT_EPSILON, least = is_f64 ? DBL_MIN : FLT_MIN;
    const double k = (double)p->h->k, got = at(p, &p->request.c, p->got, row, col);
    long double sum = 0, size = 0;
    for (size_t i = 0; i < p->h->k; ++i) {
        const long double term = (long double)at(p, &p->request.a, p->a, row, i) * at(p, &p->request.b, p->b, i, col);
        sum += term;
        size += fabsl(term);
    }
    const long double old = p->h->beta != 0 ? p->h->beta * (long double)at(p, &p->request.c, p->c, row, col) : 0;
    const long double wanted = p->h->alpha * sum + old;
    const long double bound = (k + 2) * eps * (fabs(p->h->alpha) * size + fabsl(old)) + 2 * k * least;
    if (isnan(wanted)) return isnan(got);
    if (isinf(wanted)) return got == (double)wanted;
    return fabsl(wanted - got) <= bound;
}

/* Of large products some rows, the last one among them. What lies between the rows must be as before: NaN. */
static bool is_right_everywhere(const product *p)
{
    enum { ELEMENTS = 1 << 22 };
    const size_t step = 1 + p->h->m * p->h->n * p->h->k / ELEMENTS, pitch = p->h->n + p->h->gap;
    for (size_t row = p->h->m; row-- > 0; row = row < step ? 0 : row + 1 - step) {
        for (size_t col = 0; col < p->h->n; ++col)
            if (!is_right_at(p, row, col)) return false;
        for (size_t col = p->h->n; col < pitch; ++col)
            if (!isnan(at(p, &p->request.c, p->got, row, col))) return false;
    }
    return true;
}

static ndr_status create(ndr_context *context, product *p, unsigned which, ndr_operand *matrix, size_t rows,
                         size_t cols, void **host)
{
    const ndr_matrix described = { NULL, p->h->offset, rows, cols, cols + p->h->gap };
    const source s = { p->h, p->request.accuracy, which };
    *matrix = ndr_matmul_operand("ndr_matmul", "a proof", &described, p->request.dtype);
    return ndr_matmul_create(context, matrix, p->request.dtype, which == C && p->h->beta == 0 ? NULL : element, &s,
                             host);
}

/* By what the context would take if `variant` is NULL. */
static ndr_status multiply(ndr_queue *queue, const ndr_op_variant *variant, product *p, bool *is_right)
{
    const hard_case *h = p->h;
    NDR_TRY(create(queue->context, p, A, &p->request.a, h->m, h->k, &p->a));
    NDR_TRY(create(queue->context, p, B, &p->request.b, h->k, h->n, &p->b));
    NDR_TRY(create(queue->context, p, C, &p->request.c, h->m, h->n, &p->c));
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
    free(p->a);
    free(p->b);
    free(p->c);
    free(p->got);
    return status;
}

static ndr_status try_case(ndr_queue *queue, const ndr_op_variant *variant, ndr_dtype dtype, const hard_case *h,
                           bool *is_right)
{
    product p = { .h = h, .request = { .dtype = dtype, .alpha = h->alpha, .beta = h->beta, .depth = h->k } };
    p.request.accuracy = variant->needs == NDR_NEEDS_ROUNDED_MMA ? NDR_ACCURACY_TF32 : NDR_ACCURACY_FULL;
    if (ndr_op_cannot(variant, &p.request)) return NDR_OK;
    return multiply_and_free(queue, variant, &p, is_right);
}

ndr_status ndr_matmul_prove(ndr_queue *queue, const ndr_op_variant *variant, bool *is_right)
{
    *is_right = true;
    const ndr_dtype dtype = variant->needs == NDR_NEEDS_F64_MMA ? NDR_DTYPE_F64 : NDR_DTYPE_F32;
    for (size_t i = 0; i < NDR_COUNT_OF(cases) && *is_right; ++i)
        NDR_TRY(try_case(queue, variant, dtype, &cases[i], is_right));
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
    { 1, 1, 1, NDR_DTYPE_F32, 0, true },
    { 31, 1, 4097, NDR_DTYPE_F32, 0, false },
    { 7, 8209, 1031, NDR_DTYPE_F32, 0, true },
    { 8209, 7, 1031, NDR_DTYPE_F32, 0, false },
    { 1031, 1033, 1039, NDR_DTYPE_F32, 0, true },
    { 2053, 2063, 1031, NDR_DTYPE_F32, 0, false },
    { 1031, 1033, 1039, NDR_DTYPE_F32, NDR_ACCURACY_TF32, false },
    { 7, 8209, 1031, NDR_DTYPE_F64, 0, false },
    { 1031, 1033, 1039, NDR_DTYPE_F64, 0, true },
};

enum { FOR_ALL = 3 };

static bool applies(const ndr_device_info *device, size_t i)
{
    if (i >= FOR_ALL && device->type != NDR_DEVICE_TYPE_GPU) return false;
    return shapes[i].dtype != NDR_DTYPE_F64 || device->has_f64;
}

ndr_status ndr_matmul_ask(ndr_trial *t, size_t i)
{
    ndr_context *const context = t->queue->context;
    hard_case h = { .m = shapes[i].m, .n = shapes[i].n, .k = shapes[i].k, .alpha = 1, .spread = 3, .has_signs = true };
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
