/* rows_forms.c - products of other types, of transposed matrices and with an epilogue, beside libndr's plain product of
 * the same sizes in F32. */
#include "rows_forms.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ndr/ndr_ops.h"

/* ---- operands ---- */

static size_t elements_of(const forms *j) { return j->of.count * j->of.n * j->of.n; }

static void *begin(const void *shape)
{
    forms *j = allocate(sizeof *j);
    memset(j, 0, sizeof *j);
    j->of = *(const forms_shape *)shape;
    j->a = shared_create(elements_of(j) * ndr_dtype_size(j->of.dtype));
    j->b = shared_create(elements_of(j) * ndr_dtype_size(j->of.dtype));
    j->bias = shared_create(j->of.n * sizeof(float));
    j->c = shared_create(elements_of(j) * sizeof(float));
    j->plain_a = shared_create(elements_of(j) * sizeof(float));
    j->plain_b = shared_create(elements_of(j) * sizeof(float));
    return j;
}

static void each(forms *j, void (*with)(shared_memory *memory))
{
    shared_memory *const all[] = { &j->a, &j->b, &j->bias, &j->c, &j->plain_a, &j->plain_b };
    for (size_t i = 0; i < COUNT_OF(all); ++i) with(all[i]);
}

static void to_device(shared_memory *memory) { shared_hand_over(memory, true); }
static void to_host(shared_memory *memory) { shared_hand_over(memory, false); }

static void end(void *job)
{
    each(job, shared_destroy);
    free(job);
}

static void hand_over(void *job, bool on_device) { each(job, on_device ? to_device : to_host); }

/* 8 bits times `unit`, or times 1 of integers: exact in all of the types. */
static void fill(const forms *j, void *to, float *plain, float unit, uint64_t seed)
{
    for (size_t i = 0; i < elements_of(j); ++i) {
        const int value = (int)(next_random(&seed) & 255) - 128;
        const bool is_integer = j->of.dtype == NDR_DTYPE_I8;
        plain[i] = (float)value * (is_integer ? 1 : unit);
        if (is_integer) ((int8_t *)to)[i] = (int8_t)value;
        else if (j->of.dtype == NDR_DTYPE_F32) ((float *)to)[i] = plain[i];
        else if (j->of.dtype == NDR_DTYPE_F16) ((uint16_t *)to)[i] = ndr_f16_from_float(plain[i]);
        else ((uint16_t *)to)[i] = ndr_bf16_from_float(plain[i]);
    }
}

/* The elements of a have the size with which sums are about 1, as where GELU is used: of much larger ones exp() is 0 or
 * less than the least normal number, with which CPUs compute more slowly. */
static void refill(void *job, uint64_t seed)
{
    forms *j = job;
    fill(j, j->a.host, j->plain_a.host, ldexpf(0x1p-7f, 1 - ilogb((double)j->of.n) / 2), seed);
    fill(j, j->b.host, j->plain_b.host, 0x1p-7f, seed + 1);
    fill_f32(j->bias.host, j->of.n, -1, 2, seed + 2);
}

static void reset(void *job)
{
    forms *j = job;
    memset(j->c.host, 0xff, elements_of(j) * sizeof(float)); /* NaN */
}

/* ---- contenders ---- */

static const char gelu[] = "float gelu(float x)\n"
                           "{ return x / (1.0f + exp(-1.5957691f * (x + 0.044715f * x * x * x))); }";

static ndr_matmul_desc product_of(const forms *j, ndr_dtype dtype, ndr_buffer *a, ndr_buffer *b)
{
    const size_t n = j->of.n;
    return (ndr_matmul_desc){ .dtype = dtype,
                              .a = { a, 0, n, n, 0 },
                              .b = { b, 0, n, n, 0 },
                              .c = { j->c.buffer, 0, n, n, 0 },
                              .count = j->of.count,
                              .a_stride = n * n,
                              .b_stride = n * n,
                              .c_stride = n * n,
                              .output_dtype = dtype == NDR_DTYPE_I8 ? NDR_DTYPE_I32 : NDR_DTYPE_F32 };
}

static void run_libndr(void *job)
{
    const forms *j = job;
    const ndr_map_array bias = { "bias",
                                 { j->bias.buffer, NDR_DTYPE_F32, 0, ndr_range_2d(j->of.n, j->of.n), { 0, 1 } } };
    ndr_matmul_desc desc = product_of(j, j->of.dtype, j->a.buffer, j->b.buffer);
    desc.transposes_a = j->of.transposes_a;
    desc.transposes_b = j->of.transposes_b;
    if (j->of.epilogue) {
        desc.epilogue = j->of.epilogue == FORMS_GELU ? "gelu(r + bias)" : "r + bias";
        desc.declarations = gelu;
        desc.inputs = &bias;
        desc.input_count = 1;
    }
    MUST(ndr_matmul(the_queue, &desc, NULL));
    MUST(ndr_queue_finish(the_queue));
}

static void run_plain(void *job)
{
    const forms *j = job;
    const ndr_matmul_desc desc = product_of(j, NDR_DTYPE_F32, j->plain_a.buffer, j->plain_b.buffer);
    MUST(ndr_matmul(the_queue, &desc, NULL));
    MUST(ndr_queue_finish(the_queue));
}

enum { LIBNDR, PLAIN };

static const contender forms_own[] = {
    [LIBNDR] = { .name = "libndr", .on_device = true, .run = run_libndr },
    [PLAIN] = { .name = "libndr, plain f32", .on_device = true, .run = run_plain },
    { 0 },
};

/* ---- checking ---- */

static bool check(void *job, const contender *who, size_t calls, bool thoroughly)
{
    enum { ELEMENTS = 64 };
    const forms *j = job;
    const size_t n = j->of.n;
    const bool is_plain = who == &forms_own[PLAIN], is_integer = j->of.dtype == NDR_DTYPE_I8 && !is_plain;
    const bool turns_a = j->of.transposes_a && !is_plain, turns_b = j->of.transposes_b && !is_plain;
    uint64_t seed = calls + thoroughly;
    for (size_t i = 0; i < ELEMENTS; ++i) {
        const size_t product = (size_t)next_random(&seed) % j->of.count, row = (size_t)next_random(&seed) % n;
        const size_t col = (size_t)next_random(&seed) % n, at = product * n * n + row * n + col;
        const float *a = (const float *)j->plain_a.host + product * n * n;
        const float *b = (const float *)j->plain_b.host + product * n * n;
        double sum = 0, size = 0;
        for (size_t p = 0; p < n; ++p) {
            const size_t at_a = turns_a ? p * n + row : row * n + p, at_b = turns_b ? col * n + p : p * n + col;
            const double term = (double)a[at_a] * (double)b[at_b];
            sum += term;
            size += fabs(term);
        }
        if (j->of.epilogue && !is_plain) sum += (double)((const float *)j->bias.host)[col];
        if (j->of.epilogue == FORMS_GELU && !is_plain)
            sum = sum / (1 + exp(-1.5957691 * (sum + 0.044715 * sum * sum * sum)));
        const double got = element_at(is_integer ? NDR_DTYPE_I32 : NDR_DTYPE_F32, j->c.host, at);
        const double bound = is_integer ? 0 : ((double)n + 2) * 0x1p-23 * (size + 1) * (j->of.epilogue ? 2 : 1);
        if (fabs(got - sum) <= bound) continue; /* false for NaN */
        fprintf(stderr, "bench: %s: element (%zu, %zu, %zu) is %.9g instead of %.9g +- %.3g\n", who->name, product, row,
                col, got, sum, bound);
        return false;
    }
    return true;
}

const work forms_work = { forms_own, begin, end, refill, reset, hand_over, check };

/* ---- rows ---- */

#define FORM(name_, aim_, n_, count_, ...)                                                                          \
    {                                                                                                               \
        .name = name_, .work = &forms_work, .shape = &(const forms_shape){ .n = n_, .count = count_, __VA_ARGS__ }, \
        .unit = &gflops, .amount = 2.0 * (n_) * (n_) * (n_) * (count_), .alternates = true,                         \
        .rivals = { { "libndr, plain f32", { RATE_AT_LEAST, 0.9, aim_ } } },                                        \
    }
#define SIZES(name, aim, ...)                                                                                       \
    FORM("matmul " name " 256", aim, 256, 1, __VA_ARGS__), FORM("matmul " name " 1024", aim, 1024, 1, __VA_ARGS__), \
        FORM("matmul " name " 2048", aim, 2048, 1, __VA_ARGS__),                                                    \
        FORM("matmul " name " 1000 x 32", aim, 32, 1000, __VA_ARGS__)

static const bench_row rows[] = {
    SIZES("f32 a^T", 0.97, .dtype = NDR_DTYPE_F32, .transposes_a = true),
    SIZES("f32 b^T", 0.97, .dtype = NDR_DTYPE_F32, .transposes_b = true),
    SIZES("f32 a^T b^T", 0.97, .dtype = NDR_DTYPE_F32, .transposes_a = true, .transposes_b = true),
    SIZES("f32 r + bias", 0.97, .dtype = NDR_DTYPE_F32, .epilogue = FORMS_BIAS),
    SIZES("f32 gelu(r + bias)", 0.97, .dtype = NDR_DTYPE_F32, .epilogue = FORMS_GELU),
    SIZES("f16", 0.97, .dtype = NDR_DTYPE_F16),
    SIZES("bf16", 0.97, .dtype = NDR_DTYPE_BF16),
    SIZES("i8", 0.97, .dtype = NDR_DTYPE_I8),
};

row_list forms_rows(void) { return (row_list){ .rows = rows, .count = COUNT_OF(rows) }; }
