/* main.c - bodies that attract each other, divided among ranks: the bodies of each rank go round in a ring, and while
 * some are passed on, their pull is computed. */
#include "example.h"
#include "ranks.h"

#include <stdlib.h>
#include <string.h>

typedef struct bodies {
    ndr_mpi *mpi;
    size_t count; /* of a rank */
    ndr_kernel *pull, *advance;
    ndr_buffer *at, *speed, *pulls, *guests[2]; /* guests: the bodies that go round */
    ndr_mpi_exchange *passes[2];                /* guests[0] to the neighbour's guests[1], and the other way */
} bodies;

/* The same for every division: body i of all. Their impulses add up to 0. */
static void fill(const bodies *b, float *at)
{
    for (size_t i = 0; i < b->count; ++i) {
        const uint32_t n = (uint32_t)((size_t)b->mpi->rank * b->count + i);
        for (uint32_t d = 0; d < 3; ++d)
            at[4 * i + d] = (float)((3 * n + d + 1) * 2654435761u >> 8) / 16777216.0f - 0.5f;
        at[4 * i + 3] = 1.0f / (float)(b->count * (size_t)b->mpi->size);
    }
}

static void open_bodies(bodies *b)
{
    ndr_mpi *const mpi = b->mpi;
    const size_t bytes = b->count * 16;
    const int next = (mpi->rank + 1) % mpi->size, last = (mpi->rank + mpi->size - 1) % mpi->size;
    float *at = allocate(b->count, 16), *zeros = allocate(b->count, 16);
    memset(zeros, 0, bytes);
    fill(b, at);
    CHECK(
        ndr_kernel_get(mpi->context, &(ndr_kernel_desc){ .name = "pull", .file = EXAMPLE_DIR "/nbody.cl" }, &b->pull));
    CHECK(ndr_kernel_get(mpi->context, &(ndr_kernel_desc){ .name = "advance", .file = EXAMPLE_DIR "/nbody.cl" },
                         &b->advance));
    CHECK(ndr_buffer_create_from(mpi->context, bytes, at, &b->at));
    CHECK(ndr_buffer_create_from(mpi->context, bytes, zeros, &b->speed));
    CHECK(ndr_buffer_create_from(mpi->context, bytes, zeros, &b->pulls));
    for (int i = 0; i < 2; ++i) CHECK(ndr_buffer_create(mpi->context, bytes, &b->guests[i]));
    for (int i = 0; i < 2; ++i)
        CHECK(ndr_mpi_exchange_create(mpi, &(ndr_mpi_message){ next, b->guests[i], 0, 1, bytes, 0 }, 1,
                                      &(ndr_mpi_message){ last, b->guests[1 - i], 0, 1, bytes, 0 }, 1, &b->passes[i]));
    free(at);
    free(zeros);
}

static void close_bodies(bodies *b)
{
    for (int i = 0; i < 2; ++i) ndr_mpi_exchange_destroy(b->passes[i]);
    ndr_buffer *const all[] = { b->at, b->speed, b->pulls, b->guests[0], b->guests[1] };
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i) ndr_buffer_destroy(all[i]);
}

/* Each rank sees the bodies of all, one rank's after the other's. */
static void step(const bodies *b)
{
    ndr_mpi *const mpi = b->mpi;
    ndr_event *here, *used = NULL;
    CHECK(ndr_buffer_copy(mpi->queue, b->at, 0, b->guests[0], 0, ndr_buffer_size(b->at), &here));
    for (int turn = 0; turn < mpi->size; ++turn) {
        ndr_event *next = NULL, *done;
        ndr_buffer *const guests = b->guests[turn % 2];
        CHECK(ndr_launch_event(ndr_after(mpi->queue, here), b->pull, &done, ndr_range_1d(b->count), b->at, guests,
                               b->count, b->pulls));
        CHECK(ndr_queue_flush(mpi->queue));
        if (turn + 1 < mpi->size) {
            CHECK(ndr_mpi_exchange_start(b->passes[turn % 2], here));
            CHECK(ndr_mpi_exchange_end(b->passes[turn % 2], used,
                                       &next)); /* `used`: the guests before are no longer read */
        }
        ndr_event_destroy(here);
        ndr_event_destroy(used);
        here = next;
        used = done;
    }
    ndr_event_destroy(used);
    CHECK(ndr_launch(mpi->queue, b->advance, ndr_range_1d(b->count), b->at, b->speed, b->pulls, 0.01f));
}

/* The sum of all speeds stays 0, because bodies of one mass pull each other alike. */
static bool keeps_impulse(const bodies *b)
{
    ndr_mpi *const mpi = b->mpi;
    float *speed = allocate(b->count, 16);
    double sums[4] = { 0 };
    CHECK(ndr_buffer_read(mpi->queue, b->speed, 0, b->count * 16, speed, NULL));
    for (size_t i = 0; i < b->count; ++i) {
        for (int d = 0; d < 3; ++d) sums[d] += (double)speed[4 * i + (size_t)d];
        sums[3] += fabs((double)speed[4 * i]);
    }
    MPI_Allreduce(MPI_IN_PLACE, sums, 4, MPI_DOUBLE, MPI_SUM, mpi->comm);
    free(speed);
    const double largest = fmax(fabs(sums[0]), fmax(fabs(sums[1]), fabs(sums[2])));
    return sums[3] > 0 && largest < 1e-4 * sums[3];
}

static double run(ndr_mpi *mpi, size_t size, void *steps, bool *is_right)
{
    bodies b = { .mpi = mpi, .count = size / (size_t)mpi->size };
    open_bodies(&b);
    step(&b); /* kernels are compiled */
    CHECK(ndr_queue_finish(mpi->queue));
    const double start = now(mpi);
    for (size_t i = 0; i < *(size_t *)steps; ++i) step(&b);
    CHECK(ndr_queue_finish(mpi->queue));
    const double seconds = now(mpi) - start;
    *is_right = *is_right && keeps_impulse(&b);
    close_bodies(&b);
    return seconds;
}

int main(int argc, char **argv)
{
    const char *device = NULL;
    size_t size = 4096, steps = 4;
    ndr_mpi *mpi;
    MPI_Init(&argc, &argv);
    const option options[] = { OPTION_DEVICE(&device),
                               { "--size", "bodies", &size, NULL },
                               { "--steps", "steps", &steps, NULL },
                               { NULL, NULL, NULL, NULL } };
    read_options(argc, argv, "Bodies that attract each other, divided among ranks.", options);
    MUST(ndr_mpi_create(MPI_COMM_WORLD, device, &mpi));
    const int status = show_scaling(mpi, size, 2, run, &steps);
    ndr_mpi_destroy(mpi);
    MPI_Finalize();
    return status;
}
