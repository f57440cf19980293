/* tune.c - ndr_tune(): a product of known result, on which the implementations of ndr_matmul() are measured. */
#include "device/queue.h"
#include "ops/choices.h"
#include "ops/matmul/matmul.h"
#include "ops/measure.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- classes ---- */

/* ceil(log2(size)); 0 for 0. */
static uint32_t log2_above(size_t size)
{
    uint32_t bits = 0;
    while (bits < 63 && ((size_t)1 << bits) < size) ++bits;
    return bits;
}

uint32_t ndr_matmul_class_of(const void *request)
{
    const ndr_matmul_request *r = request;
    const uint32_t type = r->dtype == NDR_DTYPE_F64;
    const uint32_t is_batch = r->c.further > 0; /* ndr_tune() measures no batches */
    const uint32_t is_low = r->accuracy != NDR_ACCURACY_FULL;
    const uint32_t is_other = ndr_matmul_exceeds(r, 0) != NULL; /* nor these */
    return is_other << 21 | is_low << 20 | is_batch << 19 | type << 18 | log2_above(r->c.rows) << 12
           | log2_above(r->c.cols) << 6 | log2_above(r->depth);
}

/* ---- a product of known result ---- */

/* Elements are -2 to 2. Each sum of up to MAX_DEPTH products is then a whole number that f32 holds exactly, so all
 * variants must give the same c. */
enum { MAX_DEPTH = 1 << 22 };

static double a_element(const void *from, size_t row, size_t col)
{
    return (void)from, (double)((row * 7 + col * 3 + row / 5 * col / 3) % 5) - 2;
}

static double b_element(const void *from, size_t row, size_t col)
{
    return (void)from, (double)((row * 2 + col * 9 + row / 7 * col / 2) % 5) - 2;
}

/* What c is multiplied with to check it. */
static double weight(size_t col) { return (double)((col * 2654435761u) % 2003) - 1001; }

/* c * w == a * (b * w) for a vector w, which needs n^2 operations, not n^3 (Freivalds, 1977). All numbers are exact. */
static bool is_product(const ndr_matmul_request *r, const void *c, double *b_w)
{
    for (size_t p = 0; p < r->depth; ++p) {
        b_w[p] = 0;
        for (size_t j = 0; j < r->c.cols; ++j) b_w[p] += b_element(NULL, p, j) * weight(j);
    }
    for (size_t i = 0; i < r->c.rows; ++i) {
        double c_w = 0, a_b_w = 0;
        for (size_t j = 0; j < r->c.cols; ++j) c_w += ndr_matmul_get(r->dtype, c, i * r->c.cols + j) * weight(j);
        for (size_t p = 0; p < r->depth; ++p) a_b_w += a_element(NULL, i, p) * b_w[p];
        if (c_w != a_b_w) return false; /* also if c has a NaN */
    }
    return true;
}

static size_t bytes_of(const ndr_operand *matrix) { return matrix->rows * matrix->cols * matrix->element_bytes; }

/* Overwrite c afterwards: the next variant must write it again. */
static ndr_status check(ndr_queue *queue, const void *request, bool *is_right)
{
    const ndr_matmul_request *r = request;
    const unsigned char nan = 0xff;
    void *c = malloc(bytes_of(&r->c));
    double *b_w = calloc(r->depth, sizeof *b_w);
    ndr_status status =
        c && b_w ? ndr_buffer_read(queue, r->c.buffer, 0, bytes_of(&r->c), c, NULL)
                 : ndr_fail(NDR_OUT_OF_HOST_MEMORY, "ndr_tune: no memory for %zu bytes of c", bytes_of(&r->c));
    if (status == NDR_OK) *is_right = is_product(r, c, b_w);
    if (status == NDR_OK) status = ndr_buffer_fill(queue, r->c.buffer, 0, bytes_of(&r->c), &nan, sizeof nan, NULL);
    free(b_w);
    free(c);
    return status;
}

static ndr_status create(ndr_context *context, ndr_matmul_request *r, ndr_operand *matrix, ndr_matmul_element *element)
{
    void *host;
    const ndr_status status = ndr_matmul_create(context, matrix, r->dtype, element, NULL, &host);
    free(host);
    return status;
}

static ndr_status create_matrices(ndr_context *context, ndr_matmul_request *r)
{
    NDR_TRY(create(context, r, &r->a, a_element));
    NDR_TRY(create(context, r, &r->b, b_element));
    return create(context, r, &r->c, NULL);
}

/* ---- the call ---- */

static ndr_status check_type(const ndr_tune_desc *desc)
{
    NDR_REQUIRE(desc->dtype == NDR_DTYPE_F32 || desc->dtype == NDR_DTYPE_F64, "ndr_tune: dtype is %s; use f32 or f64",
                desc->dtype == NDR_DTYPE_NONE ? "not set" : ndr_dtype_name(desc->dtype));
    return NDR_OK;
}

static ndr_status check_sizes(const ndr_tune_desc *desc)
{
    NDR_REQUIRE(desc->m && desc->n && desc->k, "ndr_tune: m is %zu, n is %zu and k is %zu; each must be 1 or more",
                desc->m, desc->n, desc->k);
    NDR_REQUIRE_AS(NDR_LIMIT_EXCEEDED, desc->k <= MAX_DEPTH, "ndr_tune: k is %zu; use at most %d", desc->k, MAX_DEPTH);
    NDR_TRY(ndr_matmul_check_size("ndr_tune", desc->m, desc->n, desc->k));
    NDR_REQUIRE(desc->max_seconds >= 0, "ndr_tune: max_seconds is %g; use 0 or more", desc->max_seconds);
    return NDR_OK;
}

static ndr_status tune(ndr_queue *queue, const ndr_tune_desc *desc, ndr_matmul_request *r, ndr_op_winner *winner)
{
    enum { PART_ROWS = 64, DEFAULT_SECONDS = 30 };
    ndr_matmul_request part = *r;
    const ndr_op_sample sample = { .part = &part,
                                   .whole = r,
                                   .part_count = ndr_ceil_div(desc->m, PART_ROWS),
                                   .check = check,
                                   .clock_ns = ndr_clock_ns };
    part.a.rows = part.c.rows = ndr_min_size(desc->m, PART_ROWS);
    NDR_TRY(ndr_op_measure(&ndr_matmul_operation, queue, &sample,
                           desc->max_seconds > 0 ? desc->max_seconds : DEFAULT_SECONDS, winner));
    ndr_log(NDR_LOG_INFO, "op.tune",
            "matmul: %s %zu x %zu x %zu takes %g s by %s and %g s by %s, which the list selects",
            ndr_dtype_name(desc->dtype), desc->m, desc->n, desc->k, winner->seconds, winner->variant->name,
            winner->listed_seconds, winner->listed->name);
    NDR_TRY(ndr_op_prefer(queue->context, &ndr_matmul_operation, ndr_matmul_class_of(r), winner->variant));
    return ndr_op_keep_tuned(queue->context, &ndr_matmul_operation);
}

static void report(const ndr_op_winner *winner, ndr_tune_result *result)
{
    *result = (ndr_tune_result){ .seconds = winner->seconds, .listed_seconds = winner->listed_seconds };
    snprintf(result->row, sizeof result->row, "%s", winner->variant->name);
    snprintf(result->listed_row, sizeof result->listed_row, "%s", winner->listed->name);
}

ndr_status ndr_tune(ndr_context *context, const ndr_tune_desc *desc, ndr_tune_result *result)
{
    NDR_REQUIRE_SET_IN("ndr_tune", context);
    NDR_REQUIRE(desc, "ndr_tune: desc is NULL; pass the address of a descriptor whose members are set");
    ndr_queue *queue;
    ndr_op_winner winner;
    ndr_matmul_request r;
    const ndr_matmul_desc product = { .dtype = desc->dtype,
                                      .accuracy = desc->accuracy,
                                      .a = { .rows = desc->m, .cols = desc->k },
                                      .b = { .rows = desc->k, .cols = desc->n },
                                      .c = { .rows = desc->m, .cols = desc->n } };
    NDR_TRY(check_type(desc));
    NDR_TRY(ndr_matmul_make_request("ndr_tune", context, &product, NULL, &r));
    NDR_TRY(check_sizes(desc));
    NDR_TRY(ndr_core_get(context, &r.core));
    NDR_TRY(ndr_queue_create(context, NULL, &queue));
    ndr_status status = create_matrices(context, &r);
    if (status == NDR_OK) status = tune(queue, desc, &r, &winner);
    ndr_buffer_destroy(r.a.buffer);
    ndr_buffer_destroy(r.b.buffer);
    ndr_buffer_destroy(r.c.buffer);
    ndr_queue_destroy(queue);
    if (status == NDR_OK && result) report(&winner, result);
    return status;
}
