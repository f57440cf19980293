/* selftest_transfers.c - writes, reads, fills, copies, rectangles and mappings, each repeated on an array in plain C. */
#include "selftest.h"

#include <string.h>

enum { SIZE = 8192 };

typedef struct pair {
    trial *trial;
    ndr_buffer *buffer;
    uint8_t mirror[SIZE]; /* what the buffer should hold */
} pair;

static uint8_t byte_of(size_t i) { return (uint8_t)(i * 2654435761u >> 13); }

static ndr_status compare(pair *x, const char *after)
{
    uint8_t got[SIZE];
    if (*x->trial->wrong) return NDR_OK;
    TRY(ndr_buffer_read(x->trial->queue, x->buffer, 0, SIZE, got, NULL));
    size_t i = 0;
    while (i < SIZE && got[i] == x->mirror[i]) ++i;
    if (i < SIZE)
        snprintf(x->trial->wrong, sizeof x->trial->wrong, "after %s, byte %zu of a buffer is %u instead of %u", after,
                 i, got[i], x->mirror[i]);
    return NDR_OK;
}

static ndr_status test_write(pair *x)
{
    enum { AT = 13, COUNT = 4099 };
    uint8_t bytes[COUNT];
    set_stage("wrote a buffer");
    for (size_t i = 0; i < COUNT; ++i) bytes[i] = byte_of(i);
    memcpy(x->mirror + AT, bytes, COUNT);
    TRY(ndr_buffer_write(x->trial->queue, x->buffer, AT, COUNT, bytes, NULL));
    return compare(x, "a write of 4099 bytes at byte 13");
}

static ndr_status test_fills(pair *x)
{
    set_stage("filled a buffer");
    for (size_t bytes = 1; bytes <= 128; bytes *= 2) {
        uint8_t pattern[128];
        char what[80];
        const size_t at = 3 * bytes, size = 5 * bytes;
        for (size_t i = 0; i < bytes; ++i) pattern[i] = byte_of(bytes + i);
        for (size_t i = 0; i < size; ++i) x->mirror[at + i] = pattern[i % bytes];
        TRY(ndr_buffer_fill(x->trial->queue, x->buffer, at, size, pattern, bytes, NULL));
        snprintf(what, sizeof what, "a fill with a pattern of %zu bytes", bytes);
        TRY(compare(x, what));
    }
    return NDR_OK;
}

static ndr_status test_copy(pair *x)
{
    set_stage("copied a buffer");
    memcpy(x->mirror + 5001, x->mirror + 17, 2003);
    TRY(ndr_buffer_copy(x->trial->queue, x->buffer, 17, x->buffer, 5001, 2003, NULL));
    return compare(x, "a copy of 2003 bytes from byte 17 to byte 5001");
}

static ndr_status test_rectangle(pair *x)
{
    enum { ROWS = 7, COLS = 19, PITCH = 100, AT = 301 };
    uint8_t bytes[ROWS * COLS];
    const ndr_rect_desc desc = { .extent = ndr_range_2d(ROWS, COLS),
                                 .to = { .offset_bytes = AT, .row_pitch_bytes = PITCH } };
    set_stage("wrote a rectangle");
    for (size_t i = 0; i < sizeof bytes; ++i) bytes[i] = byte_of(i + 77);
    for (size_t row = 0; row < ROWS; ++row) memcpy(x->mirror + AT + row * PITCH, bytes + row * COLS, COLS);
    TRY(ndr_buffer_write_rect(x->trial->queue, x->buffer, &desc, bytes, NULL));
    return compare(x, "a write of 7 rows of 19 bytes");
}

static ndr_status test_map(pair *x)
{
    enum { AT = 1003, COUNT = 999 };
    void *host;
    set_stage("mapped a buffer");
    TRY(ndr_buffer_map(x->trial->queue, x->buffer, NDR_MAP_READ_WRITE, AT, COUNT, &host));
    if (memcmp(host, x->mirror + AT, COUNT) != 0 && !*x->trial->wrong)
        snprintf(x->trial->wrong, sizeof x->trial->wrong, "a mapping shows other bytes than the buffer has");
    for (size_t i = 0; i < COUNT; ++i) ((uint8_t *)host)[i] = x->mirror[AT + i] = byte_of(i + 999);
    TRY(ndr_buffer_unmap(x->trial->queue, x->buffer, host, NULL));
    return compare(x, "a mapping that the host has written to");
}

ndr_status test_transfers(trial *t, const part *p)
{
    static ndr_status (*const steps[])(pair * x) = { test_write, test_fills, test_copy, test_rectangle, test_map };
    pair x = { .trial = t };
    (void)p;
    for (size_t i = 0; i < SIZE; ++i) x.mirror[i] = byte_of(i + 5);
    TRY(ndr_buffer_create_from(t->context, SIZE, x.mirror, &x.buffer));
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; ++i) TRY(steps[i](&x));
    ndr_buffer_destroy(x.buffer);
    return NDR_OK;
}
