/* exchange.c - rectangles of buffers that are sent to neighbours and received from them, again and again.
 *
 * A rank's messages are in its part of a window. A receiver on the same host takes them from there, and tells when it
 * has; to one on another host they are sent. */
#include "own.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

/* MPI keeps the order of messages of one tag between two ranks, so that the n-th one is the n-th one received. */
enum { MESSAGE, TAKEN /* the receiver has it */ };

typedef struct message {
    ndr_mpi_message what;
    size_t bytes;
    char *host;                 /* where its bytes are: within the host in the sender's part of the window */
    bool is_within;             /* the host */
    ndr_event *event;           /* of the transfer between device and `host`; NULL: none is under way */
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

static bool is_set(const message *m) { return m->what.peer != MPI_PROC_NULL; }

static ndr_status check(const ndr_mpi *mpi, const char *kind, size_t index, const ndr_mpi_message *m)
{
    char sentence[200];
    if (m->peer == MPI_PROC_NULL) return NDR_OK;
    if (m->peer < 0 || m->peer >= mpi->size)
        snprintf(sentence, sizeof sentence, "ndr_mpi_exchange_create: peer of %s[%zu] is %d, but there are %d ranks",
                 kind, index, m->peer, mpi->size);
    else if (m->rows == 0 || m->row_bytes == 0 || m->rows > INT_MAX / m->row_bytes)
        snprintf(sentence, sizeof sentence,
                 "ndr_mpi_exchange_create: %s[%zu] has %zu rows of %zu bytes; 1 to 2^31 - 1 bytes can be sent", kind,
                 index, m->rows, m->row_bytes);
    else return NDR_OK;
    return ndr_error_set(NDR_BAD_ARGUMENT, sentence);
}

static ndr_status fill(const ndr_mpi *mpi, const char *kind, const ndr_mpi_message *given, size_t count, message **made)
{
    message *const list = *made = calloc(count + 1, sizeof *list);
    if (!list) return ndr_error_set(NDR_OUT_OF_HOST_MEMORY, "ndr_mpi_exchange_create: no memory for the messages");
    for (size_t i = 0; i < count; ++i) {
        NDR_TRY(check(mpi, kind, i, &given[i]));
        list[i] = (message){ .what = given[i], .request = MPI_REQUEST_NULL, .taken = MPI_REQUEST_NULL };
        if (!is_set(&list[i])) continue;
        list[i].bytes = given[i].rows * given[i].row_bytes;
        list[i].is_within = mpi->own->host_ranks[given[i].peer] != MPI_UNDEFINED;
    }
    return NDR_OK;
}

/* All that is sent, and what comes from other hosts; each begins at a multiple of 64. Returns the end. */
static size_t place(message *list, size_t count, bool is_sent, size_t at, char *part)
{
    for (size_t i = 0; i < count; ++i) {
        if (!is_set(&list[i]) || (list[i].is_within && !is_sent)) continue;
        list[i].host = part + at;
        at += (list[i].bytes + 63) / 64 * 64;
    }
    return at;
}

/* Each sender tells where its message will be. */
static ndr_status find_within(ndr_mpi_exchange *x)
{
    for (size_t i = 0; i < x->receive_count; ++i) {
        message *m = &x->receives[i];
        if (is_set(m) && m->is_within)
            MPI_TRY(MPI_Irecv, &m->host, (int)sizeof m->host, MPI_BYTE, m->what.peer, MESSAGE, x->comm, &m->request);
    }
    for (size_t i = 0; i < x->send_count; ++i) {
        message *m = &x->sends[i];
        const size_t offset = (size_t)(m->host - x->window.part);
        if (is_set(m) && m->is_within)
            MPI_TRY(MPI_Send, &offset, (int)sizeof offset, MPI_BYTE, m->what.peer, MESSAGE, x->comm);
    }
    for (size_t i = 0; i < x->receive_count; ++i) {
        message *m = &x->receives[i];
        char *part;
        if (!is_set(m) || !m->is_within) continue;
        MPI_TRY(MPI_Wait, &m->request, MPI_STATUS_IGNORE);
        NDR_TRY(ndr_mpi_window_find(&x->window, x->mpi->own->host_ranks[m->what.peer], &part));
        m->host = part + (size_t)(uintptr_t)m->host;
    }
    return NDR_OK;
}

static ndr_status make(ndr_mpi_exchange *x)
{
    char none = 0;
    const size_t sent = place(x->sends, x->send_count, true, 0, &none);
    const size_t all = place(x->receives, x->receive_count, false, sent, &none);
    NDR_TRY(ndr_mpi_window_create(x->mpi, all, &x->window));
    place(x->sends, x->send_count, true, 0, x->window.part);
    place(x->receives, x->receive_count, false, sent, x->window.part);
    return find_within(x);
}

ndr_status ndr_mpi_exchange_create(const ndr_mpi *mpi, const ndr_mpi_message *sends, size_t send_count,
                                   const ndr_mpi_message *receives, size_t receive_count, ndr_mpi_exchange **exchange)
{
    ndr_mpi_exchange *const made = calloc(1, sizeof *made);
    if (!made) return ndr_mpi_raise(mpi, ndr_error_set(NDR_OUT_OF_HOST_MEMORY, "ndr_mpi_exchange_create: no memory"));
    made->mpi = mpi;
    made->send_count = send_count;
    made->receive_count = receive_count;
    made->window.win = MPI_WIN_NULL;
    const int code = MPI_Comm_dup(mpi->own->comm, &made->comm);
    ndr_status status = code == MPI_SUCCESS ? NDR_OK : ndr_mpi_fail("MPI_Comm_dup", code);
    if (status == NDR_OK) status = fill(mpi, "sends", sends, send_count, &made->sends);
    if (status == NDR_OK) status = fill(mpi, "receives", receives, receive_count, &made->receives);
    if (status == NDR_OK) status = make(made);
    if (status == NDR_OK) *exchange = made;
    return ndr_mpi_raise(mpi, status);
}

/* ---- one exchange ---- */

static ndr_status end_transfer(message *m)
{
    ndr_event *const event = m->event;
    m->event = NULL;
    if (!event) return NDR_OK;
    const ndr_status status = ndr_event_wait(event);
    ndr_event_destroy(event);
    return status;
}

static ndr_rect_desc rect_of(const message *m, bool is_read)
{
    const ndr_rect_side device = { .offset_bytes = m->what.offset_bytes, .row_pitch_bytes = m->what.pitch_bytes };
    const ndr_rect_side host = { .offset_bytes = 0 };
    return (ndr_rect_desc){ .extent = ndr_range_2d(m->what.rows, m->what.row_bytes),
                            .from = is_read ? device : host,
                            .to = is_read ? host : device };
}

/* The last exchange is over: senders get their memory back. */
static ndr_status finish(ndr_mpi_exchange *x)
{
    for (size_t i = 0; i < x->receive_count; ++i) {
        message *m = &x->receives[i];
        const bool was_under_way = m->event != NULL;
        NDR_TRY(end_transfer(m));
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
        if (is_set(m))
            NDR_TRY(ndr_buffer_read_rect(NDR_MPI_QUEUE(queue, after), m->what.buffer, &rect, m->host, &m->event));
    }
    for (size_t i = 0; i < x->receive_count; ++i) {
        message *m = &x->receives[i];
        if (is_set(m))
            MPI_TRY(MPI_Irecv, m->is_within ? NULL : m->host, m->is_within ? 0 : (int)m->bytes, MPI_BYTE, m->what.peer,
                    MESSAGE, x->comm, &m->request);
    }
    return ndr_queue_flush(queue);
}

ndr_status ndr_mpi_exchange_start(ndr_mpi_exchange *exchange, ndr_event *after)
{
    return ndr_mpi_raise(exchange->mpi, start(exchange, after));
}

static ndr_status send(ndr_mpi_exchange *x, message *m)
{
    NDR_TRY(end_transfer(m));
    if (m->is_within) {
        MPI_TRY(MPI_Win_sync, x->window.win);
        MPI_TRY(MPI_Irecv, NULL, 0, MPI_BYTE, m->what.peer, TAKEN, x->comm, &m->taken);
    }
    MPI_TRY(MPI_Isend, m->is_within ? NULL : m->host, m->is_within ? 0 : (int)m->bytes, MPI_BYTE, m->what.peer, MESSAGE,
            x->comm, &m->request);
    return NDR_OK;
}

static ndr_status receive(ndr_mpi_exchange *x, message *m, ndr_event *after)
{
    const ndr_rect_desc rect = rect_of(m, false);
    MPI_TRY(MPI_Wait, &m->request, MPI_STATUS_IGNORE);
    if (m->is_within) MPI_TRY(MPI_Win_sync, x->window.win);
    return ndr_buffer_write_rect(NDR_MPI_QUEUE(x->mpi->own->transfers, after), m->what.buffer, &rect, m->host,
                                 &m->event);
}

static ndr_status finish_start(ndr_mpi_exchange *x, ndr_event *after, ndr_event **event)
{
    for (size_t i = 0; i < x->send_count; ++i)
        if (is_set(&x->sends[i])) NDR_TRY(send(x, &x->sends[i]));
    for (size_t i = 0; i < x->receive_count; ++i)
        if (is_set(&x->receives[i])) NDR_TRY(receive(x, &x->receives[i], after));
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
