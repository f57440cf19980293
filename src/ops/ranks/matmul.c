/* matmul.c - products of matrices of the host by a group: each rank has some rows of a and c, and multiplies them by b.
 *
 * A rank that shares the host's memory works in it. To another one its rows of a are written, and then panels of
 * columns of b; meanwhile the panel before is multiplied, and that of c before it is read. */
#include "device/event.h"
#include "device/queue.h"
#include "ops/ranks/ranks.h"

typedef struct product {
    ndr_group *group;
    const ndr_group_matmul_desc *desc;
    size_t element_bytes, a_pitch, b_pitch, c_pitch;
} product;

/* The rows of one rank. */
typedef struct share {
    const product *of;
    const ndr_group_rank *rank;
    size_t first, count;
    ndr_buffer *a, *b, *c; /* all of it, over the host's memory; or only a */
    ndr_event *written;    /* a */
} share;

static bool reads_c(const ndr_group_matmul_desc *desc) { return desc->scaling.is_set && desc->scaling.beta != 0; }

static const char *a_of(const share *s)
{
    return (const char *)s->of->desc->a + s->first * s->of->a_pitch * s->of->element_bytes;
}

static char *c_of(const share *s) { return (char *)s->of->desc->c + s->first * s->of->c_pitch * s->of->element_bytes; }

/* Elements from the first one of a matrix of the host to the end of its last row. */
static size_t extent_of(size_t rows, size_t cols, size_t pitch) { return rows ? (rows - 1) * pitch + cols : 0; }

/* ---- in the host's memory ---- */

static ndr_status make_over(const share *s, size_t elements, const void *host, ndr_buffer **buffer)
{
    return ndr_buffer_create_over(s->rank->context, elements * s->of->element_bytes, (void *)(uintptr_t)host, buffer);
}

static ndr_status lie_over(share *s)
{
    const ndr_group_matmul_desc *d = s->of->desc;
    NDR_TRY(make_over(s, extent_of(s->count, d->k, s->of->a_pitch), a_of(s), &s->a));
    NDR_TRY(make_over(s, extent_of(d->k, d->n, s->of->b_pitch), d->b, &s->b));
    return make_over(s, extent_of(s->count, d->n, s->of->c_pitch), c_of(s), &s->c);
}

static ndr_status multiply_in_place(share *s)
{
    const ndr_group_matmul_desc *d = s->of->desc;
    void *host;
    NDR_TRY(lie_over(s));
    const ndr_matmul_desc desc = { .dtype = d->dtype,
                                   .scaling = d->scaling,
                                   .accuracy = d->accuracy,
                                   .a = { s->a, 0, s->count, d->k, s->of->a_pitch },
                                   .b = { s->b, 0, d->k, d->n, s->of->b_pitch },
                                   .c = { s->c, 0, s->count, d->n, s->of->c_pitch } };
    NDR_TRY(ndr_matmul(s->rank->queue, &desc, NULL));
    NDR_TRY(ndr_buffer_map(s->rank->queue, s->c, NDR_MAP_READ, 0, ndr_buffer_size(s->c), &host));
    return ndr_buffer_unmap(s->rank->queue, s->c, host, NULL);
}

/* ---- by panels ---- */

enum { SLOTS = 3, PANELS = 8, PANEL_ROUND = 256 };

typedef struct panel {
    ndr_buffer *b, *c;
    ndr_event *written, *c_written, *done, *read;
} panel;

/* A block of rows of the host, and the same, dense, in a buffer. */
static ndr_rect_desc block(const share *s, size_t rows, size_t cols, size_t pitch, size_t first_col, bool is_read)
{
    const ndr_rect_side host = { .origin = { 0, first_col, 0 }, .row_pitch_bytes = pitch * s->of->element_bytes };
    const ndr_rect_side device = { .row_pitch_bytes = cols * s->of->element_bytes };
    return (ndr_rect_desc){ .extent = { 2, { rows, cols, 0 } },
                            .element_bytes = s->of->element_bytes,
                            .from = is_read ? device : host,
                            .to = is_read ? host : device };
}

static ndr_status make_panel(const share *s, size_t width, panel *p)
{
    const size_t column = width * s->of->element_bytes;
    if (p->b) return NDR_OK;
    NDR_TRY(ndr_buffer_create(s->rank->context, s->of->desc->k * column, &p->b));
    return ndr_buffer_create(s->rank->context, s->count * column, &p->c);
}

static ndr_status write_panel(const share *s, size_t first, size_t width, panel *p)
{
    const ndr_group_matmul_desc *d = s->of->desc;
    const ndr_rect_desc b = block(s, d->k, width, s->of->b_pitch, first, false);
    const ndr_rect_desc c = block(s, s->count, width, s->of->c_pitch, first, false);
    NDR_TRY(ndr_buffer_write_rect(s->rank->in, p->b, &b, d->b, &p->written));
    if (reads_c(d)) NDR_TRY(ndr_buffer_write_rect(s->rank->in, p->c, &c, c_of(s), &p->c_written));
    return ndr_queue_flush(s->rank->in);
}

static ndr_status multiply_panel(const share *s, size_t width, panel *p)
{
    const ndr_group_matmul_desc *d = s->of->desc;
    ndr_event *const before[] = { s->written, p->written, p->c_written };
    ndr_queue_after after = { NDR_AFTER_SEAL, s->rank->queue, before, 3 };
    NDR_TRY(ndr_matmul((ndr_queue *)(void *)&after,
                       &(ndr_matmul_desc){ .dtype = d->dtype,
                                           .scaling = d->scaling,
                                           .accuracy = d->accuracy,
                                           .a = { s->a, 0, s->count, d->k, 0 },
                                           .b = { p->b, 0, d->k, width, 0 },
                                           .c = { p->c, 0, s->count, width, 0 } },
                       &p->done));
    return ndr_queue_flush(s->rank->queue);
}

static ndr_status read_panel(const share *s, size_t first, size_t width, panel *p)
{
    const ndr_rect_desc c = block(s, s->count, width, s->of->c_pitch, first, true);
    ndr_queue_after after = { NDR_AFTER_SEAL, s->rank->out, &p->done, 1 };
    NDR_TRY(ndr_buffer_read_rect((ndr_queue *)(void *)&after, p->c, &c, c_of(s), &p->read));
    return ndr_queue_flush(s->rank->out);
}

static void drop(ndr_event **event)
{
    ndr_event_destroy(*event);
    *event = NULL;
}

static ndr_status finish_panel(panel *p)
{
    if (p->read) NDR_TRY(ndr_event_wait(p->read));
    drop(&p->written);
    drop(&p->c_written);
    drop(&p->done);
    drop(&p->read);
    return NDR_OK;
}

static void free_panel(panel *p)
{
    drop(&p->written);
    drop(&p->c_written);
    drop(&p->done);
    drop(&p->read);
    ndr_buffer_destroy(p->b);
    ndr_buffer_destroy(p->c);
}

static ndr_status multiply_panels(share *s, panel *panels)
{
    const ndr_group_matmul_desc *d = s->of->desc;
    const size_t step = ndr_ceil_div(ndr_ceil_div(d->n, PANELS), PANEL_ROUND) * PANEL_ROUND;
    const ndr_rect_desc a = block(s, s->count, d->k, s->of->a_pitch, 0, false);
    NDR_TRY(ndr_buffer_create(s->rank->context, s->count * d->k * s->of->element_bytes, &s->a));
    if (d->k > 0) NDR_TRY(ndr_buffer_write_rect(s->rank->in, s->a, &a, a_of(s), &s->written));
    for (size_t first = 0, turn = 0; first < d->n; first += step, ++turn) {
        panel *const p = &panels[turn % SLOTS];
        const size_t width = ndr_min_size(step, d->n - first);
        NDR_TRY(finish_panel(p));
        NDR_TRY(make_panel(s, ndr_min_size(step, d->n), p));
        NDR_TRY(write_panel(s, first, width, p));
        NDR_TRY(multiply_panel(s, width, p));
        NDR_TRY(read_panel(s, first, width, p));
    }
    for (size_t i = 0; i < SLOTS; ++i) NDR_TRY(finish_panel(&panels[i]));
    return NDR_OK;
}

/* What is under way uses the host's memory, also after a failure. */
static ndr_status multiply_by_panels(share *s)
{
    panel panels[SLOTS] = { { 0 } };
    ndr_status status = multiply_panels(s, panels);
    if (status != NDR_OK) {
        status = ndr_queue_end(s->rank->in, status);
        status = ndr_queue_end(s->rank->queue, status);
        status = ndr_queue_end(s->rank->out, status);
    }
    for (size_t i = 0; i < SLOTS; ++i) free_panel(&panels[i]);
    return status;
}

/* ---- the call ---- */

static ndr_status multiply_rows(size_t rank, ndr_queue *queue, size_t first, size_t count, void *product_)
{
    const product *p = product_;
    share s = { .of = p, .rank = &p->group->ranks[rank], .first = first, .count = count };
    ndr_status status = (s.rank->device.shares_host_memory ? multiply_in_place : multiply_by_panels)(&s);
    if (status != NDR_OK) status = ndr_queue_end(queue, status);
    else status = ndr_queue_finish(queue); /* buffers may lie over the host's memory */
    ndr_event_destroy(s.written);
    ndr_buffer_destroy(s.a);
    ndr_buffer_destroy(s.b);
    ndr_buffer_destroy(s.c);
    return status;
}

static ndr_status check_matrix(const char *name, const void *matrix, size_t rows, size_t cols, size_t *pitch)
{
    size_t elements, bytes;
    if (*pitch == 0) *pitch = cols;
    NDR_REQUIRE(*pitch >= cols, "ndr_group_matmul: %s_pitch is %zu, but %s has %zu columns; increase it", name, *pitch,
                name, cols);
    NDR_REQUIRE(matrix || rows == 0 || cols == 0, "ndr_group_matmul: %s is NULL; pass a matrix of %zu x %zu elements",
                name, rows, cols);
    NDR_REQUIRE(ndr_mul_fits(rows, *pitch, &elements) && ndr_mul_fits(elements, 8, &bytes),
                "ndr_group_matmul: %s has %zu rows of %zu elements, which exceed the host's address space; reduce them",
                name, rows, *pitch);
    return NDR_OK;
}

ndr_status ndr_group_matmul(ndr_group *group, const ndr_group_matmul_desc *desc)
{
    NDR_REQUIRE_SET(group, desc);
    NDR_REQUIRE(desc->dtype == NDR_DTYPE_F32 || desc->dtype == NDR_DTYPE_F64,
                "ndr_group_matmul: dtype is %s; use f32 or f64",
                desc->dtype == NDR_DTYPE_NONE ? "not set" : ndr_dtype_name(desc->dtype));
    product p = { group, desc, ndr_dtype_size(desc->dtype), desc->a_pitch, desc->b_pitch, desc->c_pitch };
    NDR_TRY(check_matrix("a", desc->a, desc->m, desc->k, &p.a_pitch));
    NDR_TRY(check_matrix("b", desc->b, desc->k, desc->n, &p.b_pitch));
    NDR_TRY(check_matrix("c", desc->c, desc->m, desc->n, &p.c_pitch));
    if (desc->m == 0 || desc->n == 0) return NDR_OK;
    return ndr_group_share(group, __func__, desc->m, multiply_rows, &p);
}
