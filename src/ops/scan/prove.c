/* prove.c - scans whose results are known, for variants whose groups wait for each other. */
#include "device/queue.h"
#include "ops/progress.h"
#include "ops/scan/scan.h"

#include <stdlib.h>

/* Around tiles, and several blocks of tiles; aligned for copies, and not. */
static const struct {
    size_t count, offset;
    bool is_backward;
} cases[] = { { 1, 0, false },      { 4097, 1, false },   { 70001, 0, true },
              { 1 << 20, 0, false }, { 5000011, 0, false }, { 3000017, 3, true } };

enum { MOST = 5000011 + 3 };

static uint32_t element(size_t i) { return (uint32_t)(i * UINT32_C(2654435761)) >> 7; }

static bool is_right(const uint32_t *got, size_t count, bool is_backward)
{
    uint32_t sum = 0;
    for (size_t n = 0; n < count; ++n) {
        const size_t i = is_backward ? count - 1 - n : n;
        sum += element(i);
        if (got[i] != sum) return false;
    }
    return true;
}

static ndr_status try_case(ndr_queue *queue, const ndr_op_variant *variant, size_t c, ndr_buffer *buffer,
                           uint32_t *host, bool *right)
{
    const ndr_order order = { .queue = queue };
    const size_t count = cases[c].count, bytes = count * sizeof *host, at = cases[c].offset * sizeof *host;
    const ndr_operand all =
        ndr_operand_of("ndr_scan", "a proof", (ndr_span){ buffer, cases[c].offset }, count, sizeof *host);
    const ndr_scan_request request = { .dtype = NDR_DTYPE_U32,
                                       .op = NDR_OP_SUM,
                                       .is_backward = cases[c].is_backward,
                                       .initial = ndr_arg_of(0u),
                                       .input = all,
                                       .flags = ndr_operand_of("ndr_scan", "flags", (ndr_span){ NULL, 0 }, 0, 1),
                                       .output = all };
    for (size_t i = 0; i < count; ++i) host[i] = element(i);
    NDR_TRY(ndr_buffer_write(queue, buffer, at, bytes, host, NULL));
    NDR_TRY(ndr_op_run_variant(variant, &order, &request, NULL));
    NDR_TRY(ndr_buffer_read(queue, buffer, at, bytes, host, NULL));
    *right = is_right(host, count, cases[c].is_backward);
    return NDR_OK;
}

static ndr_status try_all(ndr_queue *queue, const ndr_op_variant *variant, ndr_buffer *buffer, bool *right)
{
    uint32_t *const host = malloc(MOST * sizeof *host);
    ndr_status status = host ? NDR_OK : ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory to try a variant");
    for (size_t c = 0; c < NDR_COUNT_OF(cases) && status == NDR_OK && *right; ++c)
        status = try_case(queue, variant, c, buffer, host, right);
    free(host);
    return status;
}

ndr_status ndr_scan_prove(ndr_queue *queue, const ndr_op_variant *variant, bool *is_right)
{
    ndr_buffer *buffer;
    NDR_TRY(ndr_progress_prove(queue, is_right));
    if (!*is_right) return NDR_OK;
    NDR_TRY(ndr_buffer_create(queue->context, MOST * sizeof(uint32_t), &buffer));
    const ndr_status status = try_all(queue, variant, buffer, is_right);
    ndr_buffer_destroy(buffer);
    return status;
}
