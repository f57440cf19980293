/* exact_chunks.cl - exact sums and dot products on CPUs: groups of one item, which reads vectors.
 *
 * The kernels are reduce_exact and round_exact. */
#include "shared/exact.h"
#ifndef GROUP
#define GROUP 1
#endif
#define LANES 16
#define ROWS (NDR_EXACT_ELEMENTS_ON_CPUS / LANES)
#include "reduce/exact.clh"
