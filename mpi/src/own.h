/* own.h - what the files of ndr_mpi share. */
#ifndef NDR_MPI_OWN_H
#define NDR_MPI_OWN_H

#include "ndr/ndr_mpi.h"

#include <stdbool.h>

enum { NDR_MPI_PIECE_BYTES = 16 << 20, NDR_MPI_SLOTS = 2 }; /* of a rank's part of the host's memory */

/* Memory that the ranks of a host share; each has a part. */
typedef struct ndr_mpi_window {
    MPI_Win win;
    char *part;      /* this rank's */
    ndr_buffer *pin; /* over all parts; NULL: the device reads them anyway */
} ndr_mpi_window;

/* Where a rank is. */
typedef struct ndr_mpi_place {
    int host, rank; /* the rank of its host's first rank in `leaders`; its own in `host` */
} ndr_mpi_place;

struct ndr_mpi_own {
    MPI_Comm host, leaders; /* those of this host; one of each host, NULL of others */
    ndr_mpi_place *places;  /* of all ranks */
    ndr_mpi_window window;
    ndr_queue *transfers;
    bool is_part; /* made by ndr_mpi_split(): context and queue are another's */
};

/* End all ranks if it failed, or return it. */
ndr_status ndr_mpi_raise(const ndr_mpi *mpi, ndr_status status);

/* Fail with a sentence, as printf() forms it. */
#ifdef __GNUC__
__attribute__((format(printf, 2, 3)))
#endif
ndr_status
ndr_mpi_fail(ndr_status status, const char *format, ...);

/* Fail with MPI's text. */
ndr_status ndr_mpi_fail_with_code(const char *call, int code);
#define MPI_TRY(function, ...)                                                     \
    do {                                                                           \
        const int code_ = function(__VA_ARGS__);                                   \
        if (code_ != MPI_SUCCESS) return ndr_mpi_fail_with_code(#function, code_); \
    } while (0)
#define NDR_TRY(call)                                  \
    do {                                               \
        const ndr_status try_status_ = (call);         \
        if (try_status_ != NDR_OK) return try_status_; \
    } while (0)

/* All ranks of the host call these. */
ndr_status ndr_mpi_window_create(const ndr_mpi *mpi, size_t size_bytes, ndr_mpi_window *window);
void ndr_mpi_window_destroy(ndr_mpi_window *window);

/* Whether the rank is on this host. */
bool ndr_mpi_is_within(const ndr_mpi *mpi, int rank);

/* Wait for the event and destroy it; NULL: there is none. */
ndr_status ndr_mpi_end(ndr_event **event);

/* The part of a rank of the host; of MPI_PROC_NULL: the first that is not empty. */
ndr_status ndr_mpi_window_find(const ndr_mpi_window *window, int host_rank, char **part);

/* A queue, or that queue behind an event. */
#define NDR_MPI_QUEUE(queue, event) ndr_after_all((queue), &(event), (event) ? 1u : 0u)

#endif
