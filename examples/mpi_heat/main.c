/* main.c - heat on a plate whose rows are divided among ranks: neighbours exchange their edges while the inside is
 * computed. */
#include "example.h"
#include "ranks.h"

#include <stdlib.h>

typedef struct setup {
    size_t steps;
    const char *picture; /* of the last run */
} setup;

/* The rows of a rank, with a row of its neighbours on each side. */
typedef struct strip {
    ndr_mpi *mpi;
    size_t first, rows, cols;
    size_t item_rows; /* of an item of `advance` */
    ndr_kernel *advance, *paint;
    ndr_buffer *heat[2], *conducts;
    ndr_mpi_exchange *edges[2]; /* of heat[0] and heat[1] */
} strip;

/* As in examples/heat: a hot disc on the left, and a wall in the middle with a gap. Past the plate nothing conducts. */
static void fill(const strip *s, size_t size, float *heat, float *conducts)
{
    for (size_t r = 0; r < s->rows + 2; ++r)
        for (size_t col = 0; col < s->cols; ++col) {
            const bool is_on_plate = s->first + r >= 1 && s->first + r <= size;
            const double y = (double)(s->first + r - 1) / (double)size - 0.5, x = (double)col / (double)size - 0.28;
            const bool is_wall = col * 100 / size >= 48 && col * 100 / size < 51 && (y < -0.06 || y > 0.06);
            heat[r * s->cols + col] = is_on_plate && x * x + y * y < 0.03 ? 1 : 0;
            conducts[r * s->cols + col] = is_on_plate && !is_wall ? 1 : 0;
        }
}

static void get_kernels(strip *s)
{
    ndr_mpi *const mpi = s->mpi;
    ndr_device_info device;
    CHECK(ndr_context_get_device(mpi->context, &device));
    const bool is_gpu = device.type == NDR_DEVICE_TYPE_GPU;
    ndr_kernel_desc desc = { .name = "advance", .file = EXAMPLE_DIR "/heat.cl", .options = is_gpu ? "-DROWS=4" : "" };
    s->item_rows = is_gpu ? 4 : 1;
    CHECK(ndr_kernel_get(mpi->context, &desc, &s->advance));
    desc.name = "paint";
    CHECK(ndr_kernel_get(mpi->context, &desc, &s->paint));
}

static void open_strip(strip *s, size_t size)
{
    ndr_mpi *const mpi = s->mpi;
    const size_t row = s->cols * sizeof(float), all = s->rows + 2;
    const int above = mpi->rank > 0 ? mpi->rank - 1 : MPI_PROC_NULL;
    const int below = mpi->rank + 1 < mpi->size ? mpi->rank + 1 : MPI_PROC_NULL;
    float *heat = allocate(all * s->cols, sizeof *heat), *conducts = allocate(all * s->cols, sizeof *conducts);
    fill(s, size, heat, conducts);
    get_kernels(s);
    CHECK(ndr_buffer_create_from(mpi->context, all * row, conducts, &s->conducts));
    for (int i = 0; i < 2; ++i) {
        CHECK(ndr_buffer_create_from(mpi->context, all * row, heat, &s->heat[i]));
        ndr_buffer *const x = s->heat[i];
        const ndr_mpi_message sends[] = { { above, x, row, 1, row, 0 }, { below, x, s->rows * row, 1, row, 0 } };
        const ndr_mpi_message receives[] = { { above, x, 0, 1, row, 0 }, { below, x, (s->rows + 1) * row, 1, row, 0 } };
        CHECK(ndr_mpi_exchange_create(mpi, sends, 2, receives, 2, &s->edges[i]));
    }
    free(heat);
    free(conducts);
}

static void close_strip(strip *s)
{
    for (int i = 0; i < 2; ++i) {
        ndr_mpi_exchange_destroy(s->edges[i]);
        ndr_buffer_destroy(s->heat[i]);
    }
    ndr_buffer_destroy(s->conducts);
}

/* Rows of heat[from], behind the work of `after`; NULL: there is none. */
static void advance(const strip *s, ndr_event *after, int from, size_t first, size_t rows, ndr_event **done)
{
    ndr_mpi *const mpi = s->mpi;
    ndr_buffer *const x = s->heat[from], *const y = s->heat[1 - from];
    const ndr_range range = ndr_range_2d((rows + s->item_rows - 1) / s->item_rows, s->cols);
    CHECK(ndr_launch_event(ndr_after(mpi->queue, after), s->advance, done, range, x, y, s->conducts, first, rows));
}

/* From heat[from] to the other. `arrived`: the neighbours' rows of heat[from]. */
static void step(strip *s, int from, ndr_event **arrived)
{
    ndr_mpi *const mpi = s->mpi;
    const size_t last = s->rows;
    ndr_event *edges;
    advance(s, *arrived, from, 1, 1, NULL);
    advance(s, NULL, from, last, last > 1, &edges);
    if (last > 2) advance(s, NULL, from, 2, last - 2, NULL);
    CHECK(ndr_queue_flush(mpi->queue));
    ndr_event_destroy(*arrived);
    CHECK(ndr_mpi_exchange_start(s->edges[1 - from], edges));
    CHECK(ndr_mpi_exchange_end(s->edges[1 - from], edges, arrived));
    ndr_event_destroy(edges);
}

static double heat_of(strip *s)
{
    ndr_mpi *const mpi = s->mpi;
    float *heat = allocate(s->rows * s->cols, sizeof *heat);
    double sum = 0;
    CHECK(
        ndr_buffer_read(mpi->queue, s->heat[0], s->cols * sizeof *heat, s->rows * s->cols * sizeof *heat, heat, NULL));
    for (size_t i = 0; i < s->rows * s->cols; ++i) sum += (double)heat[i];
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, mpi->comm);
    free(heat);
    return sum;
}

/* The ranks write their rows one after the other. */
static void save(strip *s, size_t size, const char *path)
{
    ndr_mpi *const mpi = s->mpi;
    const size_t pixels = s->rows * s->cols;
    unsigned char *host = allocate(pixels, 3);
    ndr_buffer *rgb;
    CHECK(ndr_buffer_create(mpi->context, pixels * 3, &rgb));
    CHECK(ndr_launch(mpi->queue, s->paint, ndr_range_1d(pixels), s->heat[0], s->conducts, s->cols, rgb));
    CHECK(ndr_buffer_read(mpi->queue, rgb, 0, pixels * 3, host, NULL));
    for (int rank = 0; rank < mpi->size; ++rank) {
        MPI_Barrier(mpi->comm);
        FILE *file = rank == mpi->rank ? fopen(path, rank == 0 ? "wb" : "ab") : NULL;
        if (!file) continue;
        if (rank == 0) fprintf(file, "P6\n%zu %zu\n255\n", size, size);
        fwrite(host, 3, pixels, file);
        fclose(file);
    }
    ndr_buffer_destroy(rgb);
    free(host);
}

static double run(ndr_mpi *mpi, size_t size, void *setup_, bool *is_right)
{
    const setup *set = setup_;
    strip s = { .mpi = mpi, .cols = size };
    ndr_event *arrived = NULL;
    s.rows = share_of(mpi, size, &s.first);
    open_strip(&s, size);
    const double before = heat_of(&s);
    for (int i = 0; i < 2; ++i) step(&s, i, &arrived); /* kernels are compiled */
    CHECK(ndr_queue_finish(mpi->queue));
    const double start = now(mpi);
    for (size_t i = 0; i < set->steps / 2 * 2; ++i) step(&s, (int)(i % 2), &arrived);
    CHECK(ndr_queue_finish(mpi->queue));
    const double seconds = now(mpi) - start;
    CHECK(ndr_event_wait(arrived));
    ndr_event_destroy(arrived);
    *is_right = *is_right && fabs(heat_of(&s) - before) < 1e-3 * before; /* no heat is lost */
    if (set->picture) save(&s, size, set->picture);
    close_strip(&s);
    return seconds;
}

int main(int argc, char **argv)
{
    const char *device = NULL;
    size_t size = 512;
    setup set = { 100, NULL };
    ndr_mpi *mpi;
    MPI_Init(&argc, &argv);
    const option options[] = { OPTION_DEVICE(&device),
                               { "--picture", "write the picture of the last run to this PPM file", NULL,
                                 &set.picture },
                               { "--size", "rows and columns", &size, NULL },
                               { "--steps", "steps, two each time", &set.steps, NULL },
                               { NULL, NULL, NULL, NULL } };
    read_options(argc, argv, "Heat on a plate whose rows are divided among ranks.", options);
    MUST(ndr_mpi_create(MPI_COMM_WORLD, device, &mpi));
    const int status = show_scaling(mpi, size, 2, run, &set);
    ndr_mpi_destroy(mpi);
    MPI_Finalize();
    return status;
}
