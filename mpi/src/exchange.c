/* exchange.c - rectangles of buffers that are sent to neighbours and received from them, again and again.
 *
 * A rank's messages are in its part of a window. A receiver on the same host gets a letter that says where, takes them
 * from there, and tells when it has; to one on another host they are sent. */
#include "own.h"

#include <limits.h>
#include <stdlib.h>

/* MPI keeps the order of messages of one tag between two ranks, so that the n-th one is the n-th one received. */
enum { MESSAGE, TAKEN /* the receiver has it */ };

/* What is sent within a host. */
typedef struct letter {
    size_t offset, bytes; /* of the message, in the sender's part of the window */
} letter;

typedef struct message {
    ndr_mpi_message what;
    letter letter; /* of one that is received from another host: in this rank's part */
    size_t bytes;
    bool is_within;             /* the host */
    ndr_event *event;           /* of the transfer between device and window; NULL: none is under way */
    MPI_Request request, taken; /* of the message; of the receiver's word */
} message;

struct ndr_mpi_exchange {
    const ndr_mpi *mpi;
    MPI_Comm comm; /* of its own: no other's messages come between */
    message *sends, *receives;
    size_t send_count, receive_count;
    ndr_mpi_window window;
};

/* ---- preparing ---- */

static ndr_status check(const ndr_mpi *mpi, const char *kind, size_t index, const ndr_mpi_message *m)
{
    if (m->peer < 0 || m->peer >= mpi->size)
        return ndr_mpi_fail(NDR_BAD_ARGUMENT, "ndr_mpi_exchange_create: peer of %s[%zu] is %d, but there are %d ranks",
                            kind, index, m->peer, mpi->size);
    if (m->rows == 0 || m->row_bytes == 0 || m->rows > INT_MAX / m->row_bytes)
        return ndr_mpi_fail(NDR_BAD_ARGUMENT,
                            "ndr_mpi_exchange_create: %s[%zu] has %zu rows of %zu bytes; 1 to 2^31 - 1 bytes can be "
                            "sent",
                            kind, index, m->rows, m->row_bytes);
    return NDR_OK;
}

/* Without those of no neighbour. `*count`: of the given ones, then of these. */
static ndr_status fill(const ndr_mpi *mpi, const char *kind, const ndr_mpi_message *given, size_t *count,
                       message **made)
{
    message *m = *made = calloc(*count + 1, sizeof *m);
    if (!m) return ndr_mpi_fail(NDR_OUT_OF_HOST_MEMORY, "ndr_mpi_exchange_create: no memory for %zu messages", *count);
    for (size_t i = 0; i < *count; ++i) {
        if (given[i].peer == MPI_PROC_NULL) continue;
        NDR_TRY(check(mpi, kind, i, &given[i]));
        *m++ = (message){ .what = given[i],
                          .bytes = given[i].rows * given[i].row_bytes,
                          .is_within = ndr_mpi_is_within(mpi, given[i].peer),
                          .request = MPI_REQUEST_NULL,
                          .taken = MPI_REQUEST_NULL };
    }
    *count = (size_t)(m - *made);
    return NDR_OK;
}

/* In this rank's part: all that is sent, and what comes from other hosts; each begins at a multiple of 64. Returns the
 * end. */
static size_t place(message *list, size_t count, bool is_sent, size_t at)
{
    for (size_t i = 0; i < count; ++i) {
        if (list[i].is_within && !is_sent) continue;
        list[i].letter = (letter){ at, list[i].bytes };
        at += (list[i].bytes + 63) / 64 * 64;
    }
    return at;
}

static ndr_status make(ndr_mpi_exchange *x, const ndr_mpi_message *sends, const ndr_mpi_message *receives)
{
    MPI_TRY(MPI_Comm_dup, x->mpi->comm, &x->comm);
    NDR_TRY(fill(x->mpi, "sends", sends, &x->send_count, &x->sends));
    NDR_TRY(fill(x->mpi, "receives", receives, &x->receive_count, &x->receives));
    const size_t sent = place(x->sends, x->send_count, true, 0);
    return ndr_mpi_window_create(x->mpi, place(x->receives, x->receive_count, false, sent), &x->window);
}

ndr_status ndr_mpi_exchange_create(const ndr_mpi *mpi, const ndr_mpi_message *sends, size_t send_count,
                                   const ndr_mpi_message *receives, size_t receive_count, ndr_mpi_exchange **exchange)
{
    ndr_mpi_exchange *const made = calloc(1, sizeof *made);
    if (!made) return ndr_mpi_raise(mpi, ndr_mpi_fail(NDR_OUT_OF_HOST_MEMORY, "ndr_mpi_exchange_create: no memory"));
    made->mpi = mpi;
    made->send_count = send_count;
    made->receive_count = receive_count;
    made->window.win = MPI_WIN_NULL;
    const ndr_status status = make(made, sends, receives);
    if (status == NDR_OK) *exchange = made;
    return ndr_mpi_raise(mpi, status);
}

/* ---- one exchange ---- */

/* What MPI sends or receives: the message itself, or within a host the letter. */
static void *content_of(const ndr_mpi_exchange *x, message *m, int *bytes)
{
    *bytes = m->is_within ? (int)sizeof m->letter : (int)m->bytes;
    return m->is_within ? (void *)&m->letter : x->window.part + m->letter.offset;
}

/* Between the buffer and the window, where it is dense. */
static ndr_rect_desc rect_of(const message *m, bool is_read)
{
    ndr_rect_desc rect = { .extent = ndr_range_2d(m->what.rows, m->what.row_bytes) };
    ndr_rect_side *const device = is_read ? &rect.from : &rect.to;
    *device = (ndr_rect_side){ .offset_bytes = m->what.offset_bytes, .row_pitch_bytes = m->what.pitch_bytes };
    return rect;
}

/* The last exchange is over: senders get their memory back. */
static ndr_status finish(ndr_mpi_exchange *x)
{
    for (size_t i = 0; i < x->receive_count; ++i) {
        message *m = &x->receives[i];
        const bool was_under_way = m->event != NULL;
        NDR_TRY(ndr_mpi_end(&m->event));
        if (was_under_way && m->is_within) MPI_TRY(MPI_Send, NULL, 0, MPI_BYTE, m->what.peer, TAKEN, x->comm);
    }
    for (size_t i = 0; i < x->send_count; ++i) {
        MPI_TRY(MPI_Wait, &x->sends[i].request, MPI_STATUS_IGNORE);
        MPI_TRY(MPI_Wait, &x->sends[i].taken, MPI_STATUS_IGNORE);
    }
    return NDR_OK;
}

static ndr_status start(ndr_mpi_exchange *x, ndr_event *after)
{
    ndr_queue *const queue = x->mpi->own->transfers;
    NDR_TRY(finish(x));
    for (size_t i = 0; i < x->send_count; ++i) {
        message *m = &x->sends[i];
        const ndr_rect_desc rect = rect_of(m, true);
        NDR_TRY(ndr_buffer_read_rect(NDR_MPI_QUEUE(queue, after), m->what.buffer, &rect,
                                     x->window.part + m->letter.offset, &m->event));
    }
    for (size_t i = 0; i < x->receive_count; ++i) {
        message *m = &x->receives[i];
        int bytes;
        void *const content = content_of(x, m, &bytes);
        MPI_TRY(MPI_Irecv, content, bytes, MPI_BYTE, m->what.peer, MESSAGE, x->comm, &m->request);
    }
    return ndr_queue_flush(queue);
}

ndr_status ndr_mpi_exchange_start(ndr_mpi_exchange *exchange, ndr_event *after)
{
    return ndr_mpi_raise(exchange->mpi, start(exchange, after));
}

static ndr_status send(ndr_mpi_exchange *x, message *m)
{
    int bytes;
    void *const content = content_of(x, m, &bytes);
    NDR_TRY(ndr_mpi_end(&m->event));
    if (m->is_within) {
        MPI_TRY(MPI_Win_sync, x->window.win);
        MPI_TRY(MPI_Irecv, NULL, 0, MPI_BYTE, m->what.peer, TAKEN, x->comm, &m->taken);
    }
    MPI_TRY(MPI_Isend, content, bytes, MPI_BYTE, m->what.peer, MESSAGE, x->comm, &m->request);
    return NDR_OK;
}

/* Where a message is that has arrived at this host. */
static ndr_status find(const ndr_mpi_exchange *x, const message *m, char **host)
{
    const int here = x->mpi->rank, owner = m->is_within ? m->what.peer : here;
    if (m->letter.bytes != m->bytes)
        return ndr_mpi_fail(NDR_BAD_ARGUMENT, "ndr_mpi_exchange_end: rank %d sends %zu bytes, but rank %d receives %zu",
                            m->what.peer, m->letter.bytes, here, m->bytes);
    NDR_TRY(ndr_mpi_window_find(&x->window, x->mpi->own->places[owner].rank, host));
    *host += m->letter.offset;
    return NDR_OK;
}

static ndr_status receive(ndr_mpi_exchange *x, message *m, ndr_event *after)
{
    const ndr_rect_desc rect = rect_of(m, false);
    char *host;
    MPI_TRY(MPI_Wait, &m->request, MPI_STATUS_IGNORE);
    NDR_TRY(find(x, m, &host));
    if (m->is_within) MPI_TRY(MPI_Win_sync, x->window.win);
    return ndr_buffer_write_rect(NDR_MPI_QUEUE(x->mpi->own->transfers, after), m->what.buffer, &rect, host, &m->event);
}

static ndr_status finish_start(ndr_mpi_exchange *x, ndr_event *after, ndr_event **event)
{
    for (size_t i = 0; i < x->send_count; ++i) NDR_TRY(send(x, &x->sends[i]));
    for (size_t i = 0; i < x->receive_count; ++i) NDR_TRY(receive(x, &x->receives[i], after));
    NDR_TRY(ndr_queue_mark(NDR_MPI_QUEUE(x->mpi->own->transfers, after), event));
    return ndr_queue_flush(x->mpi->own->transfers);
}

ndr_status ndr_mpi_exchange_end(ndr_mpi_exchange *exchange, ndr_event *after, ndr_event **event)
{
    return ndr_mpi_raise(exchange->mpi, finish_start(exchange, after, event));
}

void ndr_mpi_exchange_destroy(ndr_mpi_exchange *exchange)
{
    if (!exchange) return;
    NDR_IGNORE(ndr_mpi_raise(exchange->mpi, finish(exchange)));
    ndr_mpi_window_destroy(&exchange->window);
    MPI_Comm_free(&exchange->comm);
    free(exchange->sends);
    free(exchange->receives);
    free(exchange);
}
