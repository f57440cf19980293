/* collective.c - broadcasts and reductions of buffers, in pieces.
 *
 * A piece is in the part of the window that the host's first rank, the leader, has. The leaders send it to each other,
 * and all ranks of a host transfer it from and to their devices. It has two slots: transfers to the device of one piece
 * go on while the next one is read and sent. */
#include "own.h"

typedef struct piece {
    size_t offset_bytes, size_bytes; /* in the buffer */
    char *own, *leader;              /* the slot, of this rank and of its leader */
} piece;

/* What happens to a piece between its devices and all devices; in the end it is in the leaders' slots. */
typedef struct collective {
    const ndr_mpi *mpi;
    ndr_buffer *buffer;
    size_t offset_bytes, size_bytes;
    ndr_event *after;
    ndr_status (*gather)(const struct collective *c, const piece *p);
    int root;          /* of a broadcast; otherwise -1 */
    MPI_Datatype type; /* of a reduction */
    MPI_Op op;
    size_t element_bytes;
} collective;

/* All that the ranks of the host have written is seen by all of them. */
static ndr_status meet(const ndr_mpi *mpi)
{
    MPI_TRY(MPI_Win_sync, mpi->own->window.win);
    MPI_TRY(MPI_Barrier, mpi->own->host);
    MPI_TRY(MPI_Win_sync, mpi->own->window.win);
    return NDR_OK;
}

static ndr_status read_piece(const collective *c, const piece *p, char *host)
{
    return ndr_buffer_read(NDR_MPI_QUEUE(c->mpi->own->transfers, c->after), c->buffer, p->offset_bytes, p->size_bytes,
                           host, NULL);
}

static ndr_status run_piece(const collective *c, const piece *p, ndr_event **written)
{
    NDR_TRY(ndr_mpi_end(written)); /* the slot's piece before */
    NDR_TRY(c->gather(c, p));
    NDR_TRY(meet(c->mpi));
    if (c->mpi->rank == c->root) return NDR_OK;
    NDR_TRY(ndr_buffer_write(NDR_MPI_QUEUE(c->mpi->own->transfers, c->after), c->buffer, p->offset_bytes, p->size_bytes,
                             p->leader, written));
    return ndr_queue_flush(c->mpi->own->transfers);
}

/* The slots are used until the last ranks have written them: the next collective begins with a meeting. */
static ndr_status run(const collective *c)
{
    ndr_event *written[NDR_MPI_SLOTS] = { NULL };
    char *leader;
    ndr_status status = ndr_mpi_window_find(&c->mpi->own->window, 0, &leader);
    for (size_t at = 0, turn = 0; at < c->size_bytes && status == NDR_OK; at += NDR_MPI_PIECE_BYTES, ++turn) {
        const size_t slot = turn % NDR_MPI_SLOTS, left = c->size_bytes - at;
        const piece p = { .offset_bytes = c->offset_bytes + at,
                          .size_bytes = left < NDR_MPI_PIECE_BYTES ? left : NDR_MPI_PIECE_BYTES,
                          .own = c->mpi->own->window.part + slot * NDR_MPI_PIECE_BYTES,
                          .leader = leader + slot * NDR_MPI_PIECE_BYTES };
        status = run_piece(c, &p, &written[slot]);
    }
    for (size_t i = 0; i < NDR_MPI_SLOTS; ++i) {
        const ndr_status ended = ndr_mpi_end(&written[i]);
        if (status == NDR_OK) status = ended;
    }
    return ndr_mpi_raise(c->mpi, status);
}

/* ---- broadcasts ---- */

static ndr_status gather_root(const collective *c, const piece *p)
{
    const struct ndr_mpi_own *own = c->mpi->own;
    NDR_TRY(meet(c->mpi)); /* nobody reads the slot's piece before any more */
    if (c->mpi->rank == c->root) NDR_TRY(read_piece(c, p, p->leader));
    if (ndr_mpi_is_within(c->mpi, c->root)) NDR_TRY(meet(c->mpi));
    if (own->leaders != MPI_COMM_NULL)
        MPI_TRY(MPI_Bcast, p->leader, (int)p->size_bytes, MPI_BYTE, own->places[c->root].host, own->leaders);
    return NDR_OK;
}

static ndr_status check_broadcast(const ndr_mpi *mpi, int root, size_t whole, size_t offset_bytes, size_t size_bytes)
{
    const size_t most = offset_bytes < whole ? whole - offset_bytes : 0;
    if (root < 0 || root >= mpi->size)
        return ndr_mpi_fail(NDR_BAD_ARGUMENT, "ndr_mpi_broadcast: root is %d, but there are %d ranks", root, mpi->size);
    if (offset_bytes <= whole && size_bytes <= most) return NDR_OK;
    return ndr_mpi_fail(NDR_OUT_OF_BOUNDS,
                        "ndr_mpi_broadcast: %zu bytes from byte %zu reach past the end of a buffer of %zu bytes; %zu "
                        "fit there",
                        size_bytes, offset_bytes, whole, most);
}

ndr_status ndr_mpi_broadcast(const ndr_mpi *mpi, int root, ndr_buffer *buffer, size_t offset_bytes, size_t size_bytes,
                             ndr_event *after)
{
    NDR_TRY(ndr_mpi_raise(mpi, check_broadcast(mpi, root, ndr_buffer_size(buffer), offset_bytes, size_bytes)));
    if (mpi->size == 1) return ndr_mpi_raise(mpi, after ? ndr_event_wait(after) : NDR_OK);
    return run(&(collective){ mpi, buffer, offset_bytes, size_bytes, after, gather_root, .root = root });
}

/* ---- reductions ---- */

/* Each rank of the host combines its share of the piece, in the order of the ranks. */
static ndr_status combine_share(const collective *c, const piece *p)
{
    const size_t ranks = (size_t)c->mpi->host_size, rank = (size_t)c->mpi->host_rank;
    const size_t elements = p->size_bytes / c->element_bytes;
    const size_t first = elements * rank / ranks, count = elements * (rank + 1) / ranks - first;
    const size_t slot_bytes = (size_t)(p->own - c->mpi->own->window.part);
    for (int other = 1; other < c->mpi->host_size; ++other) {
        char *part;
        NDR_TRY(ndr_mpi_window_find(&c->mpi->own->window, other, &part));
        MPI_TRY(MPI_Reduce_local, part + slot_bytes + first * c->element_bytes, p->leader + first * c->element_bytes,
                (int)count, c->type, c->op);
    }
    return NDR_OK;
}

static ndr_status gather_all(const collective *c, const piece *p)
{
    const struct ndr_mpi_own *own = c->mpi->own;
    NDR_TRY(meet(c->mpi)); /* nobody reads the slot's piece before any more */
    NDR_TRY(read_piece(c, p, p->own));
    NDR_TRY(meet(c->mpi));
    NDR_TRY(combine_share(c, p));
    NDR_TRY(meet(c->mpi));
    if (own->leaders != MPI_COMM_NULL)
        MPI_TRY(MPI_Allreduce, MPI_IN_PLACE, p->leader, (int)(p->size_bytes / c->element_bytes), c->type, c->op,
                own->leaders);
    return NDR_OK;
}

static MPI_Datatype type_of(ndr_dtype dtype)
{
    const MPI_Datatype types[] = { MPI_INT8_T,   MPI_UINT8_T, MPI_INT16_T,  MPI_UINT16_T, MPI_INT32_T,
                                   MPI_UINT32_T, MPI_INT64_T, MPI_UINT64_T, MPI_FLOAT,    MPI_DOUBLE };
    return dtype >= NDR_DTYPE_I8 && dtype <= NDR_DTYPE_F64 ? types[dtype - NDR_DTYPE_I8] : MPI_DATATYPE_NULL;
}

static MPI_Op op_of(ndr_op op, bool is_float)
{
    const MPI_Op ops[] = { MPI_SUM, MPI_MIN, MPI_MAX, MPI_PROD, MPI_BAND, MPI_BOR, MPI_BXOR, MPI_LAND, MPI_LOR };
    const ndr_op last = is_float ? NDR_OP_PRODUCT : NDR_OP_LOGICAL_OR;
    return op >= NDR_OP_SUM && op <= last ? ops[op - NDR_OP_SUM] : MPI_OP_NULL;
}

ndr_status ndr_mpi_all_reduce(const ndr_mpi *mpi, ndr_dtype dtype, ndr_op op, ndr_buffer *buffer, size_t offset,
                              size_t count, ndr_event *after)
{
    const size_t element_bytes = ndr_dtype_size(dtype);
    const MPI_Datatype type = type_of(dtype);
    const MPI_Op combine = op_of(op, dtype == NDR_DTYPE_F32 || dtype == NDR_DTYPE_F64);
    if (type == MPI_DATATYPE_NULL || combine == MPI_OP_NULL)
        return ndr_mpi_raise(
            mpi, ndr_mpi_fail(NDR_BAD_ARGUMENT,
                              "ndr_mpi_all_reduce: it has no operator %d of %s; use NDR_OP_SUM, MIN, MAX or PRODUCT, "
                              "or of integers a bit or logical operator",
                              (int)op, ndr_dtype_name(dtype)));
    return run(&(collective){ mpi, buffer, offset * element_bytes, count * element_bytes, after, gather_all, -1, type,
                              combine, element_bytes });
}
