/* rows_cold.c - first calls with PoCL's cache empty: building a bundled file, and the first call of an operation. */
#include "bench.h"
#include "rows_axes.h"
#include "rows_histogram.h"
#include "rows_map.h"
#include "rows_matmul.h"
#include "rows_move.h"
#include "rows_reduce.h"
#include "rows_scan.h"
#include "rows_sort.h"

#include <math.h>
#include <stdio.h>

/* ---- what the children do ---- */

static void run_build(void *job)
{
    ndr_kernel *kernel;
    MUST(ndr_kernel_get(the_context, job, &kernel));
}
static const contender build_own[] = { { .name = "libndr", .run = run_build }, { 0 } };
static const work build_work = { .own = build_own };

#define BUILD_OF(file, kernel) \
    { "cold: build of " file, 1, &build_work, &(const ndr_kernel_desc){ .bundled = file, .name = kernel }, build_own }
#define FIRST_SUM(name, method)                \
    { "cold: first sum" name, 1, &reduce_work, \
      &(const reduce_shape){ NDR_DTYPE_F32, NDR_OP_SUM, method, 1000000, 1, NDR_NUMERICS_FAST }, reduce_own }
#define FIRST_SGEMM(name, m, n, k) \
    { "cold: first sgemm " name, 1, &matmul_work, \
      &(const matmul_shape){ NDR_DTYPE_F32, m, n, k, 0, 1, 0, 1, MATMUL_PLAIN }, matmul_own }
#define FIRST(name, programs, work, type, ...) \
    { "cold: first " name, programs, &work, &(const type){ __VA_ARGS__ }, NULL }

static const first_call first_calls[] = {
    BUILD_OF("reduce/tree_chunks.cl", "reduce_chunks"),
    BUILD_OF("reduce/atomic_chunks.cl", "reduce_chunks_atomic"),
    BUILD_OF("reduce/tree_groups.cl", "reduce_tree"),
    BUILD_OF("reduce/atomic_groups.cl", "reduce_atomic"),
    BUILD_OF("reduce/recursive.cl", "reduce_recursive"),
    BUILD_OF("matmul/direct.cl", "gemm_direct"),
    BUILD_OF("matmul/packed.cl", "gemm_packed"),
    BUILD_OF("matmul/thin.cl", "gemm_thin"),
    BUILD_OF("matmul/tiled.cl", "gemm_tiled"),
    FIRST_SUM("", NDR_REDUCE_TREE),
    FIRST_SUM(" atomic", NDR_REDUCE_ATOMIC),
    FIRST_SUM(" recursive", NDR_REDUCE_RECURSIVE),
    FIRST_SGEMM("64", 64, 64, 64),
    FIRST_SGEMM("1000", 1000, 1000, 1000),
    FIRST_SGEMM("8 x 1000 x 1000", 8, 1000, 1000),
    FIRST("sums along axis 0", 1, axes_work, axes_shape, 1000, 1000, 0),
    FIRST("sums along axis 1", 1, axes_work, axes_shape, 1000, 1000, 1),
    FIRST("scan", 1, scan_work, scan_shape, NDR_DTYPE_F32, 1 << 20),
    FIRST("scan along axis 0", 1, line_work, line_shape, 1000, 1000, 0),
    FIRST("sort", 1, sort_work, sort_shape, false, 1 << 20, 0, 0),
    FIRST("sort of pairs", 1, sort_work, sort_shape, true, 1 << 20, 0, 0),
    FIRST("sort of segments", 1, segments_work, sort_shape, false, 1 << 20, 64, 0),
    FIRST("top 1000", 1, top_k_work, sort_shape, false, 1 << 20, 0, 1000),
    FIRST("merge sort", 1, merge_sort_work, sort_shape, false, 1 << 20, 0, 0),
    FIRST("histogram", 1, histogram_work, histogram_shape, NDR_DTYPE_F32, 256, 1 << 20),
    FIRST("transpose", 1, transpose_work, move_shape, 1000, 1000),
    FIRST("gather", 1, gather_work, move_shape, 1, 1 << 20),
    FIRST("map", 2, map_work, size_t, 1 << 20), /* and the raw kernel */
};

/* ---- what the rows measure ---- */

static double time_cold(void *job) { return cold_call_s(job, NULL); }
static const contender cold_own[] = { { .name = "libndr", .time = time_cold }, { 0 } };
static const work cold_work = { .own = cold_own };

/* Programs that were built but not used, over all first calls. A count, which the harness treats as seconds. */
static double count_unused(void *job)
{
    (void)job;
    double unused = 0;
    for (size_t i = 0; i < COUNT_OF(first_calls); ++i) {
        const first_call *call = &first_calls[i];
        size_t programs;
        (void)cold_call_s(call, &programs);
        if (programs != call->programs)
            fprintf(stderr, "bench: %s left %zu programs in the cache, but needs %zu\n", call->name, programs,
                    call->programs);
        unused += fabs((double)programs - (double)call->programs);
    }
    return unused;
}
static const contender unused_own[] = { { .name = "libndr", .time = count_unused }, { 0 } };
static const work unused_work = { .own = unused_own };

row_list cold_rows(void)
{
    enum { CALLS = COUNT_OF(first_calls) };
    static bench_row rows[CALLS + 1];
    for (size_t i = 0; i < CALLS; ++i)
        rows[i] = (bench_row){ .name = first_calls[i].name,
                               .work = &cold_work,
                               .shape = &first_calls[i],
                               .amount = 1,
                               .unit = &seconds_each,
                               .rivals = { { NULL, { VALUE_AT_MOST, 3, 1.5 } } },
                               .max_rounds = 5 };
    rows[CALLS] = (bench_row){ .name = "cold: programs built but not used",
                               .work = &unused_work,
                               .amount = 1,
                               .unit = &programs_each,
                               .rivals = { { NULL, { VALUE_AT_MOST, 0, 0 } } },
                               .max_rounds = 1 };
    return (row_list){ rows, COUNT_OF(rows), first_calls, CALLS };
}
