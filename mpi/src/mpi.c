/* mpi.c - a rank's device, the memory that the ranks of a host share, and the end of all ranks. */
#include "own.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- failures ---- */

ndr_status ndr_mpi_fail(ndr_status status, const char *format, ...)
{
    char sentence[MPI_MAX_ERROR_STRING + 100];
    va_list values;
    va_start(values, format);
    vsnprintf(sentence, sizeof sentence, format, values);
    va_end(values);
    return ndr_error_set(status, sentence);
}

ndr_status ndr_mpi_fail_with_code(const char *call, int code)
{
    char text[MPI_MAX_ERROR_STRING + 1] = "";
    int length = 0;
    MPI_Error_string(code, text, &length);
    return ndr_mpi_fail(NDR_DRIVER_ERROR, "%s: %s", call, text);
}

ndr_status ndr_mpi_raise(const ndr_mpi *mpi, ndr_status status)
{
    char host[MPI_MAX_PROCESSOR_NAME + 1] = "";
    int length = 0;
    MPI_Errhandler handler;
    if (status == NDR_OK) return NDR_OK;
    MPI_Comm_get_errhandler(mpi->comm, &handler);
    const bool returns = handler == MPI_ERRORS_RETURN;
    MPI_Errhandler_free(&handler);
    if (returns) return status;
    MPI_Get_processor_name(host, &length);
    fprintf(stderr, "ndr_mpi: rank %d of %d on %s: %s\n", mpi->rank, mpi->size, host, ndr_last_error());
    fflush(stderr);
    MPI_Abort(mpi->comm, 1);
    return status;
}

void ndr_mpi_check(const ndr_mpi *mpi, ndr_status status) { (void)ndr_mpi_raise(mpi, status); }

ndr_status ndr_mpi_end(ndr_event **event)
{
    ndr_event *const ended = *event;
    *event = NULL;
    if (!ended) return NDR_OK;
    const ndr_status status = ndr_event_wait(ended);
    ndr_event_destroy(ended);
    return status;
}

/* ---- windows ---- */

/* A mapping pins the memory where the device has its own. Without it transfers are slower, but right. */
static ndr_buffer *pin(const ndr_mpi *mpi, char *parts, size_t size_bytes)
{
    ndr_device_info device;
    ndr_buffer *over;
    void *host;
    if (size_bytes == 0 || ndr_context_get_device(mpi->context, &device) != NDR_OK || device.shares_host_memory)
        return NULL;
    if (ndr_buffer_create_over(mpi->context, size_bytes, parts, &over) != NDR_OK) return NULL;
    if (ndr_buffer_map(mpi->own->transfers, over, NDR_MAP_READ_WRITE, 0, size_bytes, &host) == NDR_OK) return over;
    ndr_buffer_destroy(over);
    return NULL;
}

/* A rank transfers from and to the parts of others, too, so it pins them all; they lie one behind the other. */
ndr_status ndr_mpi_window_create(const ndr_mpi *mpi, size_t size_bytes, ndr_mpi_window *window)
{
    MPI_TRY(MPI_Win_allocate_shared, (MPI_Aint)size_bytes, 1, MPI_INFO_NULL, mpi->own->host, &window->part,
            &window->win);
    MPI_TRY(MPI_Win_lock_all, MPI_MODE_NOCHECK, window->win);
    if (size_bytes > 0) memset(window->part, 0, size_bytes); /* its pages are near this rank */
    unsigned long long all = size_bytes;
    char *first;
    MPI_TRY(MPI_Allreduce, MPI_IN_PLACE, &all, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, mpi->own->host);
    NDR_TRY(ndr_mpi_window_find(window, MPI_PROC_NULL, &first));
    window->pin = pin(mpi, first, (size_t)all);
    return NDR_OK;
}

void ndr_mpi_window_destroy(ndr_mpi_window *window)
{
    ndr_buffer_destroy(window->pin);
    if (window->win == MPI_WIN_NULL) return;
    MPI_Win_unlock_all(window->win);
    MPI_Win_free(&window->win);
}

ndr_status ndr_mpi_window_find(const ndr_mpi_window *window, int host_rank, char **part)
{
    MPI_Aint bytes;
    int unit;
    MPI_TRY(MPI_Win_shared_query, window->win, host_rank, &bytes, &unit, part);
    return NDR_OK;
}

/* ---- devices ---- */

static ndr_status count_devices(ndr_device_type type, size_t *count)
{
    size_t all;
    *count = 0;
    NDR_TRY(ndr_device_list(0, NULL, &all));
    ndr_device_info *const list = calloc(all, sizeof *list);
    if (!list) return ndr_mpi_fail(NDR_OUT_OF_HOST_MEMORY, "ndr_mpi_create: no memory for a list of %zu devices", all);
    const ndr_status status = ndr_device_list(all, list, &all);
    for (size_t i = 0; i < all && status == NDR_OK; ++i) *count += list[i].type == type;
    free(list);
    return status;
}

/* The whole device if it has no such parts. */
static ndr_status open_part(const ndr_mpi *mpi, const char *device, ndr_context **context)
{
    const ndr_context_desc desc = { .device = device,
                                    .part_count = (size_t)mpi->host_size,
                                    .part = (size_t)mpi->host_rank };
    const ndr_status status = ndr_context_create_with(&desc, context);
    return status == NDR_UNSUPPORTED || status == NDR_LIMIT_EXCEEDED ? ndr_context_create(device, context) : status;
}

/* `first`: of what the words name without a number. */
static ndr_status open_in_turn(const ndr_mpi *mpi, const char *device, ndr_device_type first, ndr_context **context)
{
    char nth[64];
    size_t count;
    const char *const type = ndr_device_type_name(first);
    if (first == NDR_DEVICE_TYPE_CPU) return open_part(mpi, device, context);
    if ((device && *device && strcmp(device, type) != 0) || (!device && getenv("NDR_DEVICE")))
        return ndr_context_create(device, context);
    NDR_TRY(count_devices(first, &count));
    snprintf(nth, sizeof nth, "%s:%zu", type, (size_t)mpi->host_rank % (count ? count : 1));
    return ndr_context_create(nth, context);
}

static ndr_status open_device(ndr_mpi *mpi, const char *device)
{
    ndr_context *first;
    ndr_device_info info;
    NDR_TRY(ndr_context_create(device, &first));
    ndr_status status = ndr_context_get_device(first, &info);
    ndr_context_destroy(first);
    if (status == NDR_OK) status = open_in_turn(mpi, device, info.type, &mpi->context);
    return status == NDR_OK ? ndr_queue_create(mpi->context, NULL, &mpi->queue) : status;
}

/* ---- ranks ---- */

bool ndr_mpi_is_within(const ndr_mpi *mpi, int rank)
{
    return mpi->own->places[rank].host == mpi->own->places[mpi->rank].host;
}

/* The leaders tell the others of their hosts, and then all tell all. */
static ndr_status find_places(ndr_mpi *mpi)
{
    struct ndr_mpi_own *own = mpi->own;
    ndr_mpi_place here = { 0, mpi->host_rank };
    own->places = calloc((size_t)mpi->size, sizeof here);
    if (!own->places)
        return ndr_mpi_fail(NDR_OUT_OF_HOST_MEMORY, "ndr_mpi_create: no memory for a list of %d ranks", mpi->size);
    if (own->leaders != MPI_COMM_NULL) MPI_TRY(MPI_Comm_rank, own->leaders, &here.host);
    MPI_TRY(MPI_Bcast, &here.host, 1, MPI_INT, 0, own->host);
    MPI_TRY(MPI_Allgather, &here, 2, MPI_INT, own->places, 2, MPI_INT, mpi->comm);
    return NDR_OK;
}

static ndr_status split_hosts(MPI_Comm comm, ndr_mpi *mpi)
{
    struct ndr_mpi_own *own = mpi->own;
    MPI_TRY(MPI_Comm_dup, comm, &mpi->comm);
    MPI_TRY(MPI_Comm_rank, comm, &mpi->rank);
    MPI_TRY(MPI_Comm_size, comm, &mpi->size);
    MPI_TRY(MPI_Comm_split_type, comm, MPI_COMM_TYPE_SHARED, mpi->rank, MPI_INFO_NULL, &own->host);
    MPI_TRY(MPI_Comm_rank, own->host, &mpi->host_rank);
    MPI_TRY(MPI_Comm_size, own->host, &mpi->host_size);
    MPI_TRY(MPI_Comm_split, comm, mpi->host_rank == 0 ? 0 : MPI_UNDEFINED, mpi->rank, &own->leaders);
    return find_places(mpi);
}

static ndr_status fill(MPI_Comm comm, const char *device, const ndr_mpi *whole, ndr_mpi *mpi)
{
    NDR_TRY(split_hosts(comm, mpi));
    mpi->own->is_part = whole != NULL;
    if (whole) mpi->context = whole->context, mpi->queue = whole->queue;
    else NDR_TRY(open_device(mpi, device));
    NDR_TRY(ndr_queue_create(mpi->context, NULL, &mpi->own->transfers));
    return ndr_mpi_window_create(mpi, (size_t)NDR_MPI_PIECE_BYTES * NDR_MPI_SLOTS, &mpi->own->window);
}

/* After a failure the others wait: nothing is destroyed, which all ranks would have to do. */
static ndr_status create(MPI_Comm comm, const char *device, const ndr_mpi *whole, ndr_mpi **mpi)
{
    typedef struct both {
        ndr_mpi mpi;
        struct ndr_mpi_own own;
    } both;
    both *const made = calloc(1, sizeof *made);
    if (!made) {
        MPI_Comm_call_errhandler(comm, MPI_ERR_NO_MEM);
        return ndr_mpi_fail(NDR_OUT_OF_HOST_MEMORY, "ndr_mpi_create: no memory for a rank");
    }
    made->mpi.own = &made->own;
    made->mpi.comm = made->own.host = made->own.leaders = MPI_COMM_NULL;
    made->own.window.win = MPI_WIN_NULL;
    const ndr_status status = fill(comm, device, whole, &made->mpi);
    if (status == NDR_OK) *mpi = &made->mpi;
    return ndr_mpi_raise(&made->mpi, status);
}

ndr_status ndr_mpi_create(MPI_Comm comm, const char *device, ndr_mpi **mpi) { return create(comm, device, NULL, mpi); }

ndr_status ndr_mpi_split(const ndr_mpi *mpi, int color, int key, ndr_mpi **part)
{
    MPI_Comm comm;
    MPI_TRY(MPI_Comm_split, mpi->comm, color, key, &comm);
    const ndr_status status = create(comm, NULL, mpi, part);
    MPI_Comm_free(&comm);
    return status;
}

void ndr_mpi_destroy(ndr_mpi *mpi)
{
    if (!mpi) return;
    ndr_mpi_window_destroy(&mpi->own->window);
    ndr_queue_destroy(mpi->own->transfers);
    if (!mpi->own->is_part) {
        ndr_queue_destroy(mpi->queue);
        ndr_context_destroy(mpi->context);
    }
    if (mpi->own->leaders != MPI_COMM_NULL) MPI_Comm_free(&mpi->own->leaders);
    MPI_Comm_free(&mpi->own->host);
    MPI_Comm_free(&mpi->comm);
    free(mpi->own->places);
    free(mpi);
}
