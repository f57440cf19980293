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

struct ndr_mpi_own {
    MPI_Comm comm, host, leaders; /* all; those of this host; one of each host, NULL of others */
    int *host_ranks;              /* of each rank, in `host`; MPI_UNDEFINED: of another host */
    int *host_leaders;            /* of each rank, the rank of its host in `leaders` */
    ndr_mpi_window window;
    ndr_queue *transfers;
    bool is_part; /* made by ndr_mpi_split(): context and queue are another's */
};

/* End all ranks if it failed, or return it. */
ndr_status ndr_mpi_raise(const ndr_mpi *mpi, ndr_status status);

/* Fail with MPI's text. */
ndr_status ndr_mpi_fail(const char *call, int code);
#define MPI_TRY(function, ...)                                           \
    do {                                                                 \
        const int code_ = function(__VA_ARGS__);                         \
        if (code_ != MPI_SUCCESS) return ndr_mpi_fail(#function, code_); \
    } while (0)
#define NDR_TRY(call)                                  \
    do {                                               \
        const ndr_status try_status_ = (call);         \
        if (try_status_ != NDR_OK) return try_status_; \
    } while (0)

/* All ranks of the host call these. */
ndr_status ndr_mpi_window_create(const ndr_mpi *mpi, size_t size_bytes, ndr_mpi_window *window);
void ndr_mpi_window_destroy(ndr_mpi_window *window);

/* The part of another rank of the host; of MPI_PROC_NULL: the first that is not empty. */
ndr_status ndr_mpi_window_find(const ndr_mpi_window *window, int host_rank, char **part);

/* A queue, or that queue behind an event. */
#define NDR_MPI_QUEUE(queue, event) ndr_after_all((queue), &(event), (event) ? 1u : 0u)

#endif
