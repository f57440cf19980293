/** @file ndr_mpi.h
 * libndr beside MPI: a device for each rank, and messages between buffers.
 *
 *     ndr_mpi *mpi;
 *     MPI_Init(&argc, &argv);
 *     ndr_mpi_create(MPI_COMM_WORLD, "gpu", &mpi);
 *     ... kernels and operations on mpi->queue, as in a program of one process ...
 *     ndr_mpi_all_reduce(mpi, NDR_DTYPE_F64, NDR_OP_SUM, buffer, 0, 1, NULL);
 *     ndr_mpi_destroy(mpi);
 *     MPI_Finalize();
 *
 * A library of its own, ndr::ndr_mpi, because it is compiled for one MPI (any of version 3): docs/scale.md. The calling
 * thread does all of MPI, so MPI_Init() is enough. Ranks of one host pass the bytes through memory that they share,
 * which their devices reach as pinned memory.
 *
 * **Errors.** Where one rank fails, the others would wait for it for ever. So a function that all ranks call ends them
 * all, as MPI's own functions do: it prints its sentence, with the rank, to stderr, and calls MPI_Abort(). If the
 * communicator has the error handler MPI_ERRORS_RETURN, it returns the status instead, and the program has to end.
 * ndr_mpi_check() does the same for any status of the program's. */
#ifndef NDR_NDR_MPI_H
#define NDR_NDR_MPI_H

#include <mpi.h>

#include "ndr/ndr.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A rank's device among those of a communicator. Read it; change nothing. */
typedef struct ndr_mpi {
    struct ndr_mpi_own *own; /**< The library's. */
    MPI_Comm comm;           /**< A duplicate with its error handler, for the program's own messages. */
    int rank;                /**< Of this process in it, and how many there are. */
    int size;                /**< Ranks. */
    int host_rank;           /**< Among the ranks of this host. */
    int host_size;           /**< Ranks of this host. */
    ndr_context *context;    /**< The device of this rank. */
    ndr_queue *queue;        /**< A queue for the program's work. The library does not use it. */
} ndr_mpi;

/** Open a device for each rank of `comm`; all of them call it. `device` is as in ndr_context_create(). If it is a type,
 * or NULL and NDR_DEVICE is not set, the ranks of a host take the devices of that type in turn: "gpu:0", "gpu:1" and so
 * on. A CPU is divided into as many parts as the host has ranks, if it has that many compute units. */
NDR_MUST_CHECK ndr_status ndr_mpi_create(MPI_Comm comm, const char *device, ndr_mpi **mpi);

/** The ranks that pass the same `color`, in the order of `key`, as MPI_Comm_split(): with the context and the queue of
 * `mpi`, which must live as long. All ranks of `mpi` call it. */
NDR_MUST_CHECK ndr_status ndr_mpi_split(const ndr_mpi *mpi, int color, int key, ndr_mpi **part);

/** Destroy it; all ranks call it. NULL is fine. */
NDR_API void ndr_mpi_destroy(ndr_mpi *mpi);

/** Unless `status` is NDR_OK, end all ranks with the sentence of ndr_last_error(), as above. */
NDR_API void ndr_mpi_check(const ndr_mpi *mpi, ndr_status status);

/* ---- messages between neighbours ----------------------------------------------------------------- */

/** A rectangle of bytes in a buffer, and the rank to which or from which it goes. The struct is fixed. */
typedef struct ndr_mpi_message {
    int peer;            /**< A rank; MPI_PROC_NULL: there is no neighbour, and nothing is done. */
    ndr_buffer *buffer;  /**< Of this rank's context. */
    size_t offset_bytes; /**< The first byte. */
    size_t rows;         /**< 1 or more. */
    size_t row_bytes;    /**< Bytes of a row; rows times row_bytes are less than 2^31. */
    size_t pitch_bytes;  /**< From one row to the next; 0: row_bytes. */
} ndr_mpi_message;

/** Messages that are sent again and again. */
typedef struct ndr_mpi_exchange ndr_mpi_exchange;

/** Prepare an exchange; all ranks of `mpi` call it. The n-th message that a rank sends to another is the n-th one that
 * the other receives from it, and has as many bytes; ndr_mpi_exchange_end() fails where it has not. The buffers must
 * live as long as the exchange. */
NDR_MUST_CHECK ndr_status ndr_mpi_exchange_create(const ndr_mpi *mpi, const ndr_mpi_message *sends, size_t send_count,
                                                  const ndr_mpi_message *receives, size_t receive_count,
                                                  ndr_mpi_exchange **exchange);

/** Begin to read what is to be sent, when the work of `after` (NULL: none) has ended. Returns at once: enqueue work
 * that needs nothing from the neighbours, and then call ndr_mpi_exchange_end(). */
NDR_MUST_CHECK ndr_status ndr_mpi_exchange_start(ndr_mpi_exchange *exchange, ndr_event *after);

/** Send and receive, and write what was received into its buffers, when the work of `after` (NULL: none) has ended.
 * Returns when all messages have arrived at this host; `event` completes when they are in the buffers. */
NDR_MUST_CHECK ndr_status ndr_mpi_exchange_end(ndr_mpi_exchange *exchange, ndr_event *after, ndr_event **event);

/** Destroy an exchange that has ended; all ranks call it. NULL is fine. */
NDR_API void ndr_mpi_exchange_destroy(ndr_mpi_exchange *exchange);

/* ---- all ranks ----------------------------------------------------------------------------------- */

/** Copy bytes of the buffer of rank `root` into the buffers of all, when the work of `after` (NULL: none) has ended.
 * All ranks call it, with the same root and size. Returns when the bytes are there; what the devices compute goes on
 * meanwhile. */
NDR_MUST_CHECK ndr_status ndr_mpi_broadcast(const ndr_mpi *mpi, int root, ndr_buffer *buffer, size_t offset_bytes,
                                            size_t size_bytes, ndr_event *after);

/** Combine element i of all ranks' buffers, for `count` elements from element `offset` on, and give the results to all,
 * when the work of `after` (NULL: none) has ended. All ranks call it, with the same type, operator and count. `op` is
 * any of ndr_reduce(), the bit operators for integers; `dtype` I8 to U64, F32 or F64. Returns when the results are
 * there. */
NDR_MUST_CHECK ndr_status ndr_mpi_all_reduce(const ndr_mpi *mpi, ndr_dtype dtype, ndr_op op, ndr_buffer *buffer,
                                             size_t offset, size_t count, ndr_event *after);

#ifdef __cplusplus
}
#endif

#endif
