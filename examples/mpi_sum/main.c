/* main.c - a sum by several ranks: each has a part of the numbers on its device. */
#include "example.h"
#include "ranks.h"

#include <ndr/ndr_ops.h>

#include <stdlib.h>

static double sum(ndr_mpi *mpi, size_t size, void *user, bool *is_right)
{
    enum { TIMES = 3 };
    size_t first;
    const size_t count = share_of(mpi, size, &first);
    double total = 0, seconds = 1e9;
    ndr_buffer *x, *result;
    (void)user;
    CHECK(ndr_buffer_create(mpi->context, count * sizeof(double), &x));
    CHECK(ndr_buffer_create(mpi->context, sizeof(double), &result));
    const ndr_map_array numbers = { "x", ndr_array_of(x, NDR_DTYPE_F64, ndr_range_1d(count)) };
    const ndr_map_desc fill = { .statement = "x = i % 8", .outputs = &numbers, .output_count = 1, .first = first };
    const ndr_reduce_desc add = {
        .dtype = NDR_DTYPE_F64, .op = NDR_OP_SUM, .input = { x, 0 }, .count = count, .output = { result, 0 }
    };
    CHECK(ndr_map(mpi->queue, &fill, NULL));
    for (int i = 0; i < TIMES; ++i) {
        ndr_event *added;
        CHECK(ndr_queue_finish(mpi->queue));
        const double start = now(mpi);
        CHECK(ndr_reduce(mpi->queue, &add, &added));
        CHECK(ndr_mpi_all_reduce(mpi, NDR_DTYPE_F64, NDR_OP_SUM, result, 0, 1, added));
        const double took = now(mpi) - start;
        seconds = took < seconds ? took : seconds;
        ndr_event_destroy(added);
    }
    CHECK(ndr_buffer_read(mpi->queue, result, 0, sizeof total, &total, NULL));
    const size_t rest = size % 8;
    *is_right = *is_right && total == (double)(size / 8 * 28 + rest * (rest - (rest > 0)) / 2);
    ndr_buffer_destroy(x);
    ndr_buffer_destroy(result);
    return seconds;
}

int main(int argc, char **argv)
{
    const char *device = NULL;
    size_t size = 4000000;
    ndr_mpi *mpi;
    MPI_Init(&argc, &argv);
    const option options[] = { OPTION_DEVICE(&device),
                               { "--size", "numbers", &size, NULL },
                               { NULL, NULL, NULL, NULL } };
    read_options(argc, argv, "A sum by several ranks.", options);
    MUST(ndr_mpi_create(MPI_COMM_WORLD, device, &mpi));
    const int status = show_scaling(mpi, size, 1, sum, NULL);
    ndr_mpi_destroy(mpi);
    MPI_Finalize();
    return status;
}
