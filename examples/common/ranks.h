/* ranks.h - what the examples with MPI share: the same work by 1, 2, 4 ... of the ranks. */
#ifndef EXAMPLE_RANKS_H
#define EXAMPLE_RANKS_H

#include <ndr/ndr_mpi.h>

#include <math.h>
#include <stdio.h>

/* On several ranks: end all of them, and not only this one. */
#define CHECK(call) ndr_mpi_check(mpi, (call))

/* Does work of that size with these ranks and returns the seconds; `*is_right`: whether its result is. */
typedef double scaled_work(ndr_mpi *mpi, size_t size, void *user, bool *is_right);

static inline double now(const ndr_mpi *mpi)
{
    MPI_Barrier(mpi->comm);
    return MPI_Wtime();
}

/* Strong scaling: the same size. Weak scaling: the same work for each rank, if the work is size to the power of
 * `power`. Sizes that grow are multiples of 64. */
static inline int show_scaling(ndr_mpi *mpi, size_t size, double power, scaled_work *work, void *user)
{
    double strong_1 = 0, weak_1 = 0;
    bool is_right = true;
    if (mpi->rank == 0) printf("ranks |     size    seconds  speed-up |     size    seconds  efficiency\n");
    for (int ranks = 1; ranks <= mpi->size;
         ranks = ranks * 2 <= mpi->size || ranks == mpi->size ? ranks * 2 : mpi->size) {
        ndr_mpi *some;
        const size_t grown = (size_t)((double)size * pow(ranks, 1 / power) / 64 + 0.5) * 64;
        CHECK(ndr_mpi_split(mpi, mpi->rank < ranks, mpi->rank, &some));
        if (mpi->rank < ranks) {
            const double strong = work(some, size, user, &is_right), weak = work(some, grown, user, &is_right);
            if (ranks == 1) strong_1 = strong, weak_1 = weak;
            if (mpi->rank == 0)
                printf("%5d | %8zu %10.4f %9.2f | %8zu %10.4f %10.0f%%\n", ranks, size, strong, strong_1 / strong,
                       grown, weak, 100 * weak_1 / weak);
        }
        ndr_mpi_destroy(some);
        MPI_Barrier(mpi->comm);
    }
    int all_right = is_right;
    MPI_Allreduce(MPI_IN_PLACE, &all_right, 1, MPI_INT, MPI_MIN, mpi->comm);
    if (mpi->rank == 0) printf("%s\n", all_right ? "right" : "wrong");
    return all_right ? 0 : 1;
}

/* Elements or rows of a rank: of `all`, from *first on. */
static inline size_t share_of(const ndr_mpi *mpi, size_t all, size_t *first)
{
    const size_t rank = (size_t)mpi->rank, size = (size_t)mpi->size;
    *first = all * rank / size;
    return all * (rank + 1) / size - *first;
}

#endif
