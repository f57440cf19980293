/* main.c - a product of matrices whose blocks are divided among a grid of ranks: SUMMA.
 *
 * Panels of a go along the rows of the grid, panels of b along its columns. While a product of panels is computed, the
 * calling thread sends the next ones. Source: R. van de Geijn, J. Watts, "SUMMA", 1997. */
#include "example.h"
#include "ranks.h"

#include <stdlib.h>

typedef struct grid {
    ndr_mpi *mpi, *row, *col;                    /* all; those in this rank's row of the grid; in its column */
    size_t rows, cols;                           /* of the grid */
    size_t block_rows, block_cols, steps, width; /* of a block of c; how many panels, and how wide they are */
    ndr_buffer *a, *b, *c, *panels_a[2], *panels_b[2];
} grid;

static void divide(grid *g, size_t size)
{
    ndr_mpi *const mpi = g->mpi;
    g->rows = (size_t)sqrt((double)mpi->size);
    while ((size_t)mpi->size % g->rows != 0) --g->rows;
    g->cols = (size_t)mpi->size / g->rows;
    g->block_rows = size / g->rows;
    g->block_cols = size / g->cols;
    g->steps = g->rows * g->cols; /* a multiple of both, so that each panel has one owner */
    g->width = size / g->steps;
    CHECK(ndr_mpi_split(mpi, mpi->rank / (int)g->cols, mpi->rank, &g->row));
    CHECK(ndr_mpi_split(mpi, mpi->rank % (int)g->cols, mpi->rank, &g->col));
}

/* Small whole numbers, so that the product is exact. */
static float a_at(size_t row, size_t col) { return (float)((row * 3 + col) % 5) - 2; }
static float b_at(size_t row, size_t col) { return (float)((row + 2 * col) % 7) - 3; }

static ndr_buffer *block_of(const grid *g, size_t rows, size_t cols, float (*at)(size_t, size_t))
{
    ndr_mpi *const mpi = g->mpi;
    const size_t first_row = (size_t)g->col->rank * rows, first_col = (size_t)g->row->rank * cols;
    float *host = allocate(rows * cols, sizeof *host);
    ndr_buffer *made;
    for (size_t r = 0; r < rows; ++r)
        for (size_t c = 0; c < cols; ++c) host[r * cols + c] = at ? at(first_row + r, first_col + c) : 0;
    CHECK(ndr_buffer_create_from(mpi->context, rows * cols * sizeof *host, host, &made));
    free(host);
    return made;
}

static void open_blocks(grid *g, size_t size)
{
    ndr_mpi *const mpi = g->mpi;
    const size_t depth_a = size / g->cols, depth_b = size / g->rows;
    g->a = block_of(g, g->block_rows, depth_a, a_at);
    g->b = block_of(g, depth_b, g->block_cols, b_at);
    g->c = block_of(g, g->block_rows, g->block_cols, NULL);
    for (int i = 0; i < 2; ++i) {
        CHECK(ndr_buffer_create(mpi->context, g->block_rows * g->width * sizeof(float), &g->panels_a[i]));
        CHECK(ndr_buffer_create(mpi->context, g->width * g->block_cols * sizeof(float), &g->panels_b[i]));
    }
}

static void close_blocks(grid *g)
{
    ndr_buffer *const all[] = { g->a, g->b, g->c, g->panels_a[0], g->panels_a[1], g->panels_b[0], g->panels_b[1] };
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i) ndr_buffer_destroy(all[i]);
    ndr_mpi_destroy(g->row);
    ndr_mpi_destroy(g->col);
}

/* Panel `step` of a and b, when the product `before` that read the same buffers has ended. Owners copy theirs out. */
static void send_panels(const grid *g, size_t step, ndr_event *before)
{
    ndr_mpi *const mpi = g->mpi;
    const size_t in_a = g->steps / g->cols, in_b = g->steps / g->rows; /* panels of a block */
    const int owner_a = (int)(step / in_a), owner_b = (int)(step / in_b);
    ndr_buffer *const a = g->panels_a[step % 2], *const b = g->panels_b[step % 2];
    ndr_event *copied = before;
    if (g->row->rank == owner_a) {
        const ndr_rect_desc rect = { .extent = ndr_range_2d(g->block_rows, g->width),
                                     .element_bytes = sizeof(float),
                                     .from = { .origin = { 0, step % in_a * g->width, 0 },
                                               .row_pitch_bytes = in_a * g->width * sizeof(float) } };
        CHECK(ndr_buffer_copy_rect(ndr_after(mpi->queue, before), g->a, a, &rect, &copied));
    }
    CHECK(ndr_mpi_broadcast(g->row, owner_a, a, 0, ndr_buffer_size(a), copied));
    if (copied != before) ndr_event_destroy(copied);
    copied = before;
    if (g->col->rank == owner_b)
        CHECK(ndr_buffer_copy(ndr_after(mpi->queue, before), g->b, step % in_b * ndr_buffer_size(b), b, 0,
                              ndr_buffer_size(b), &copied));
    CHECK(ndr_mpi_broadcast(g->col, owner_b, b, 0, ndr_buffer_size(b), copied));
    if (copied != before) ndr_event_destroy(copied);
}

static ndr_event *multiply_panels(const grid *g, size_t step)
{
    ndr_mpi *const mpi = g->mpi;
    ndr_event *done;
    const ndr_matmul_desc desc = { .dtype = NDR_DTYPE_F32,
                                   .scaling = ndr_scaling_of(1, step > 0),
                                   .a = { g->panels_a[step % 2], 0, g->block_rows, g->width, 0 },
                                   .b = { g->panels_b[step % 2], 0, g->width, g->block_cols, 0 },
                                   .c = { g->c, 0, g->block_rows, g->block_cols, 0 } };
    CHECK(ndr_matmul(mpi->queue, &desc, &done));
    CHECK(ndr_queue_flush(mpi->queue));
    return done;
}

static double multiply_all(const grid *g)
{
    ndr_mpi *const mpi = g->mpi;
    ndr_event *done[2] = { NULL, NULL };
    CHECK(ndr_queue_finish(mpi->queue));
    const double start = now(mpi);
    for (size_t step = 0; step < g->steps; ++step) {
        send_panels(g, step, done[step % 2]);
        ndr_event_destroy(done[step % 2]);
        done[step % 2] = multiply_panels(g, step);
    }
    CHECK(ndr_queue_finish(mpi->queue));
    const double seconds = now(mpi) - start;
    ndr_event_destroy(done[0]);
    ndr_event_destroy(done[1]);
    return seconds;
}

/* Some elements of this rank's block. */
static bool is_product(const grid *g, size_t size)
{
    ndr_mpi *const mpi = g->mpi;
    float *c = allocate(g->block_rows * g->block_cols, sizeof *c);
    bool is_right = true;
    CHECK(ndr_buffer_read(mpi->queue, g->c, 0, ndr_buffer_size(g->c), c, NULL));
    for (size_t i = 0; i < 50; ++i) {
        const size_t at = i * 7919 % (g->block_rows * g->block_cols);
        const size_t row = (size_t)g->col->rank * g->block_rows + at / g->block_cols;
        const size_t col = (size_t)g->row->rank * g->block_cols + at % g->block_cols;
        float wanted = 0;
        for (size_t k = 0; k < size; ++k) wanted += a_at(row, k) * b_at(k, col);
        is_right = is_right && c[at] == wanted;
    }
    free(c);
    return is_right;
}

static double multiply(ndr_mpi *mpi, size_t size, void *user, bool *is_right)
{
    grid g = { .mpi = mpi };
    (void)user;
    divide(&g, size);
    size = g.width * g.steps; /* divided evenly */
    g.block_rows = size / g.rows;
    g.block_cols = size / g.cols;
    open_blocks(&g, size);
    (void)multiply_all(&g); /* kernels are compiled */
    const double seconds = multiply_all(&g);
    *is_right = *is_right && is_product(&g, size);
    close_blocks(&g);
    return seconds;
}

int main(int argc, char **argv)
{
    const char *device = NULL;
    size_t size = 512;
    ndr_mpi *mpi;
    MPI_Init(&argc, &argv);
    const option options[] = { OPTION_DEVICE(&device),
                               { "--size", "rows and columns", &size, NULL },
                               { NULL, NULL, NULL, NULL } };
    read_options(argc, argv, "A product of matrices by a grid of ranks.", options);
    MUST(ndr_mpi_create(MPI_COMM_WORLD, device, &mpi));
    const int status = show_scaling(mpi, size, 3, multiply, NULL);
    ndr_mpi_destroy(mpi);
    MPI_Finalize();
    return status;
}
