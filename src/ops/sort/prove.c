/* prove.c - sorts whose results are known, for variants whose groups wait for each other. */
#include "device/queue.h"
#include "ops/progress.h"
#include "ops/sort/sort.h"

#include <stdlib.h>

/* Around tiles and many of them. Values are the places of keys, so that the order of equal keys shows. */
static const struct {
    size_t count;
    uint32_t mask; /* of the bits that keys have */
    bool has_values;
} cases[] = { { 1, ~UINT32_C(0), false },       { 4097, 0xff00ff, true },  { 70001, 0, true },
              { 1000003, ~UINT32_C(0), false }, { 1000003, 0xf00f, true } };

enum { MOST = 1000003, BUFFERS = 4 };

typedef struct trial {
    ndr_queue *queue;
    const ndr_op_variant *variant;
    ndr_buffer *buffers[BUFFERS]; /* keys, values, both sorted */
    uint32_t *keys, *sorted, *values;
} trial;

static uint32_t key_of(size_t i, uint32_t mask)
{
    uint32_t x = (uint32_t)i * UINT32_C(0x9E3779B1);
    x = (x ^ x >> 15) * UINT32_C(0x85EBCA6B);
    return (x ^ x >> 13) & mask;
}

/* Of keys without values the sum shows that they are the same ones. */
static bool is_right(const trial *t, size_t count, bool has_values)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < count; ++i) {
        if (i > 0 && t->sorted[i - 1] > t->sorted[i]) return false;
        if (has_values && (t->values[i] >= count || t->keys[t->values[i]] != t->sorted[i])) return false;
        if (has_values && i > 0 && t->sorted[i - 1] == t->sorted[i] && t->values[i - 1] >= t->values[i]) return false;
        sum += t->keys[i] - t->sorted[i];
    }
    return sum == 0;
}

static ndr_operand operand_of(const char *name, ndr_buffer *buffer, size_t count)
{
    return ndr_operand_of("ndr_sort", name, (ndr_span){ buffer, 0 }, count, count ? sizeof(uint32_t) : 0);
}

static ndr_status try_case(trial *t, size_t c, bool *right)
{
    const ndr_order order = { .queue = t->queue };
    const size_t count = cases[c].count, values = cases[c].has_values ? count : 0, bytes = count * sizeof(uint32_t);
    const ndr_sort_request request = {
        .dtype = NDR_DTYPE_U32,
        .bits = 32,
        .count = count,
        .value_bytes = values ? sizeof(uint32_t) : 0,
        .input = { operand_of("keys", t->buffers[0], count), operand_of("values", t->buffers[1], values) },
        .output = { operand_of("sorted_keys", t->buffers[2], count),
                    operand_of("sorted_values", t->buffers[3], values) },
    };
    for (size_t i = 0; i < count; ++i) t->keys[i] = key_of(i, cases[c].mask);
    for (size_t i = 0; i < count; ++i) t->values[i] = (uint32_t)i;
    NDR_TRY(ndr_buffer_write(t->queue, t->buffers[0], 0, bytes, t->keys, NULL));
    NDR_TRY(ndr_buffer_write(t->queue, t->buffers[1], 0, bytes, t->values, NULL));
    NDR_TRY(ndr_op_run_variant(t->variant, &order, &request, NULL));
    NDR_TRY(ndr_buffer_read(t->queue, t->buffers[2], 0, bytes, t->sorted, NULL));
    if (values) NDR_TRY(ndr_buffer_read(t->queue, t->buffers[3], 0, bytes, t->values, NULL));
    *right = is_right(t, count, values > 0);
    return NDR_OK;
}

static ndr_status try_all(trial *t, bool *right)
{
    uint32_t *const host = malloc(3 * (size_t)MOST * sizeof *host);
    ndr_status status = host ? NDR_OK : ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory to try a variant");
    if (host) t->keys = host, t->sorted = host + MOST, t->values = host + 2 * (size_t)MOST;
    for (size_t b = 0; b < BUFFERS && status == NDR_OK; ++b)
        status = ndr_buffer_create(t->queue->context, MOST * sizeof *host, &t->buffers[b]);
    for (size_t c = 0; c < NDR_COUNT_OF(cases) && status == NDR_OK && *right; ++c) status = try_case(t, c, right);
    for (size_t b = 0; b < BUFFERS; ++b) ndr_buffer_destroy(t->buffers[b]);
    free(host);
    return status;
}

ndr_status ndr_sort_prove(ndr_queue *queue, const ndr_op_variant *variant, bool *is_right)
{
    trial t = { .queue = queue, .variant = variant };
    NDR_TRY(ndr_progress_prove(queue, is_right));
    return *is_right ? try_all(&t, is_right) : NDR_OK;
}
