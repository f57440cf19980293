/* ranks.c - a program of several ranks: messages, broadcasts and reductions, or a rank that fails in a given way.
 *
 *     ranks messages        everything, with results compared on every rank
 *     ranks forever         exchanges messages until it is ended; rank 0 prints "under way" after some of them
 *     ranks killed          the same, and rank 1 kills itself
 *     ranks memory          the same, and rank 1 asks for more memory than there is
 *     ranks returns         with MPI_ERRORS_RETURN a failure is returned */
#include <ndr/ndr_mpi.h>

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static ndr_mpi *mpi;

#define MUST(call) ndr_mpi_check(mpi, (call))
#define HOLDS(condition)                                                                                \
    do {                                                                                                \
        if (!(condition)) {                                                                             \
            fprintf(stderr, "rank %d, line %d: not: %s\n", mpi ? mpi->rank : -1, __LINE__, #condition); \
            MPI_Abort(MPI_COMM_WORLD, 3);                                                               \
        }                                                                                               \
    } while (0)

static ndr_buffer *buffer_of(size_t bytes, const void *contents)
{
    ndr_buffer *made;
    MUST(ndr_buffer_create_from(mpi->context, bytes, contents, &made));
    return made;
}

/* ---- messages ---- */

enum { ROWS = 6, COLS = 7 };

/* A ring: a row to the right neighbour, two columns to the left one. Element (r, c) of rank k begins as 1000 k + 10 r +
 * c, plus the step. Row 5 gets the left neighbour's row 0, columns 5 and 6 the right one's columns 0 and 1. */
static void check_ring(size_t steps)
{
    const int right = (mpi->rank + 1) % mpi->size, left = (mpi->rank + mpi->size - 1) % mpi->size;
    int32_t cells[ROWS][COLS] = { { 0 } };
    ndr_buffer *x = buffer_of(sizeof cells, cells);
    const size_t row = sizeof cells[0];
    const ndr_mpi_message sends[] = { { right, x, 0, 1, row, 0 },
                                      { left, x, row, 4, 8, row },
                                      { MPI_PROC_NULL, NULL, 0, 0, 0, 0 } };
    const ndr_mpi_message receives[] = { { left, x, 5 * row, 1, row, 0 },
                                         { MPI_PROC_NULL, NULL, 0, 0, 0, 0 },
                                         { right, x, row + 20, 4, 8, row } };
    ndr_mpi_exchange *exchange;
    MUST(ndr_mpi_exchange_create(mpi, sends, 3, receives, 3, &exchange));
    for (size_t step = 0; step < steps; ++step) {
        ndr_event *ready, *arrived;
        for (int r = 0; r < ROWS; ++r)
            for (int c = 0; c < COLS; ++c) cells[r][c] = 1000 * mpi->rank + 10 * r + c + (int32_t)step;
        MUST(ndr_buffer_write(mpi->queue, x, 0, sizeof cells, cells, &ready));
        MUST(ndr_mpi_exchange_start(exchange, ready));
        MUST(ndr_mpi_exchange_end(exchange, ready, &arrived));
        MUST(ndr_buffer_read(ndr_after(mpi->queue, arrived), x, 0, sizeof cells, cells, NULL));
        ndr_event_destroy(ready);
        ndr_event_destroy(arrived);
        for (int c = 0; c < COLS; ++c) HOLDS(cells[5][c] == 1000 * left + c + (int32_t)step);
        for (int r = 1; r < 5; ++r)
            for (int c = 0; c < 2; ++c) HOLDS(cells[r][5 + c] == 1000 * right + 10 * r + c + (int32_t)step);
        HOLDS(cells[0][6] == 1000 * mpi->rank + 6 + (int32_t)step);
    }
    ndr_mpi_exchange_destroy(exchange);
    ndr_buffer_destroy(x);
}

/* ---- all ranks ---- */

static uint32_t value_at(int rank, size_t i) { return (uint32_t)i * 2654435761u + 77u * (uint32_t)rank; }

static void check_collectives(size_t count)
{
    uint32_t *x = malloc((count + 3) * sizeof *x);
    for (int root = 0; root < mpi->size; ++root) {
        for (size_t i = 0; i < count + 3; ++i) x[i] = value_at(mpi->rank, i);
        ndr_buffer *b = buffer_of((count + 3) * sizeof *x, x);
        MUST(ndr_mpi_broadcast(mpi, root, b, 2 * sizeof *x, count * sizeof *x, NULL));
        MUST(ndr_buffer_read(mpi->queue, b, 0, (count + 3) * sizeof *x, x, NULL));
        for (size_t i = 0; i < count + 3; ++i) HOLDS(x[i] == value_at(i < 2 || i == count + 2 ? mpi->rank : root, i));
        MUST(ndr_mpi_all_reduce(mpi, NDR_DTYPE_U32, root % 2 ? NDR_OP_MAX : NDR_OP_SUM, b, 2, count, NULL));
        MUST(ndr_buffer_read(mpi->queue, b, 0, (count + 3) * sizeof *x, x, NULL));
        for (size_t i = 2; i < count + 2; ++i) HOLDS(x[i] == value_at(root, i) * (root % 2 ? 1u : (uint32_t)mpi->size));
        ndr_buffer_destroy(b);
    }
    for (size_t i = 0; i < count; ++i) x[i] = value_at(mpi->rank, i);
    ndr_buffer *b = buffer_of((count + 3) * sizeof *x, x);
    MUST(ndr_mpi_all_reduce(mpi, NDR_DTYPE_U32, NDR_OP_SUM, b, 0, count, NULL));
    MUST(ndr_buffer_read(mpi->queue, b, 0, count * sizeof *x, x, NULL));
    for (size_t i = 0; i < count; ++i) {
        uint32_t sum = 0;
        for (int r = 0; r < mpi->size; ++r) sum += value_at(r, i);
        HOLDS(x[i] == sum);
    }
    ndr_buffer_destroy(b);
    free(x);
}

static void check_f64(void)
{
    double x[3] = { mpi->rank + 1, -mpi->rank, 2 };
    ndr_buffer *b = buffer_of(sizeof x, x);
    MUST(ndr_mpi_all_reduce(mpi, NDR_DTYPE_F64, NDR_OP_MIN, b, 0, 2, NULL));
    MUST(ndr_mpi_all_reduce(mpi, NDR_DTYPE_F64, NDR_OP_PRODUCT, b, 2, 1, NULL));
    MUST(ndr_buffer_read(mpi->queue, b, 0, sizeof x, x, NULL));
    HOLDS(x[0] == 1 && x[1] == 1 - mpi->size && x[2] == (double)(1 << mpi->size));
    ndr_buffer_destroy(b);
}

/* The even and the odd ranks. */
static void check_split(void)
{
    ndr_mpi *part;
    uint32_t sum = 1u << mpi->rank, wanted = 0;
    MUST(ndr_mpi_split(mpi, mpi->rank % 2, mpi->rank, &part));
    HOLDS(part->rank == mpi->rank / 2 && part->context == mpi->context);
    ndr_buffer *b = buffer_of(sizeof sum, &sum);
    MUST(ndr_mpi_all_reduce(part, NDR_DTYPE_U32, NDR_OP_BIT_OR, b, 0, 1, NULL));
    MUST(ndr_buffer_read(mpi->queue, b, 0, sizeof sum, &sum, NULL));
    for (int r = mpi->rank % 2; r < mpi->size; r += 2) wanted |= 1u << r;
    HOLDS(sum == wanted);
    ndr_buffer_destroy(b);
    ndr_mpi_destroy(part);
}

static void check_device(void)
{
    ndr_device_info whole, own;
    ndr_context *context;
    MUST(ndr_context_create(NULL, &context));
    MUST(ndr_context_get_device(context, &whole));
    MUST(ndr_context_get_device(mpi->context, &own));
    const unsigned ranks = (unsigned)mpi->host_size;
    if (whole.type == NDR_DEVICE_TYPE_CPU && ranks <= whole.compute_units)
        HOLDS(own.compute_units == whole.compute_units / ranks);
    ndr_context_destroy(context);
}

/* ---- failures ---- */

static void exchange_forever(const char *how)
{
    for (size_t step = 0;; ++step) {
        if (step == 3 && mpi->rank == 1 && strcmp(how, "killed") == 0) raise(SIGKILL);
        if (step == 3 && mpi->rank == 1 && strcmp(how, "memory") == 0) {
            ndr_buffer *large;
            MUST(ndr_buffer_create(mpi->context, SIZE_MAX / 2, &large));
        }
        check_ring(2);
        check_collectives(5);
        if (step == 3 && mpi->rank == 0) printf("under way\n"), fflush(stdout);
    }
}

/* An exchange that has failed cannot be destroyed: its end would wait for the other rank. */
static void check_unequal(void)
{
    char sentence[100];
    ndr_event *arrived;
    ndr_mpi_exchange *exchange;
    const int other = 1 - mpi->rank;
    const uint64_t zero = 0;
    ndr_buffer *b = buffer_of(sizeof zero, &zero);
    const ndr_mpi_message four = { other, b, 0, 1, 4, 0 }, eight = { other, b, 0, 2, 4, 0 };
    HOLDS(ndr_mpi_exchange_create(mpi, &four, 1, &eight, 1, &exchange) == NDR_OK);
    HOLDS(ndr_mpi_exchange_start(exchange, NULL) == NDR_OK);
    HOLDS(ndr_mpi_exchange_end(exchange, NULL, &arrived) == NDR_BAD_ARGUMENT);
    snprintf(sentence, sizeof sentence, "ndr_mpi_exchange_end: rank %d sends 4 bytes, but rank %d receives 8", other,
             mpi->rank);
    HOLDS(strstr(ndr_last_error(), sentence) != NULL);
    ndr_buffer_destroy(b);
}

static void check_returns(void)
{
    uint32_t zero = 0;
    ndr_buffer *b = buffer_of(sizeof zero, &zero);
    MPI_Comm_set_errhandler(mpi->comm, MPI_ERRORS_RETURN);
    HOLDS(ndr_mpi_all_reduce(mpi, NDR_DTYPE_F32, NDR_OP_BIT_OR, b, 0, 1, NULL) == NDR_BAD_ARGUMENT);
    HOLDS(strstr(ndr_last_error(), "ndr_mpi_all_reduce: it has no operator 6 of f32") != NULL);
    HOLDS(ndr_mpi_broadcast(mpi, mpi->size, b, 0, 4, NULL) == NDR_BAD_ARGUMENT);
    HOLDS(strstr(ndr_last_error(), "ndr_mpi_broadcast: root is ") != NULL);
    HOLDS(ndr_mpi_broadcast(mpi, 0, b, 1, ndr_buffer_size(b), NULL) == NDR_OUT_OF_BOUNDS);
    HOLDS(strstr(ndr_last_error(), "reach past the end of a buffer") != NULL);
    ndr_mpi_exchange *exchange;
    const ndr_mpi_message wrong[] = { { mpi->size, b, 0, 1, 4, 0 }, { 0, b, 0, 0, 4, 0 } };
    HOLDS(ndr_mpi_exchange_create(mpi, wrong, 1, NULL, 0, &exchange) == NDR_BAD_ARGUMENT);
    HOLDS(strstr(ndr_last_error(), "peer of sends[0] is ") != NULL);
    HOLDS(ndr_mpi_exchange_create(mpi, NULL, 0, wrong + 1, 1, &exchange) == NDR_BAD_ARGUMENT);
    HOLDS(strstr(ndr_last_error(), "receives[0] has 0 rows of 4 bytes") != NULL);
    check_unequal();
    ndr_mpi_check(mpi, NDR_OK);
    ndr_buffer_destroy(b);
}

int main(int argc, char **argv)
{
    const char *const how = argc > 1 ? argv[1] : "messages";
    MPI_Init(&argc, &argv);
    if (ndr_mpi_create(MPI_COMM_WORLD, NULL, &mpi) != NDR_OK) return 1;
    if (strcmp(how, "returns") == 0) check_returns();
    else if (strcmp(how, "messages") != 0) exchange_forever(how);
    else {
        const size_t piece = 16 << 20;
        const size_t counts[] = { 0, 1, 4097, piece / 4, 2 * piece / 4 + 5 };
        check_device();
        for (size_t steps = 0; steps < 4; ++steps) check_ring(steps);
        for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i) check_collectives(counts[i]);
        check_f64();
        check_split();
        check_ring(50);
    }
    if (mpi->rank == 0) printf("%d ranks, %d of them on one host: all holds\n", mpi->size, mpi->host_size);
    ndr_mpi_destroy(mpi);
    MPI_Finalize();
    return 0;
}
