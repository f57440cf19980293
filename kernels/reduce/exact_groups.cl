/* exact_groups.cl - exact sums and dot products by groups of many items.
 *
 * The kernels are reduce_exact and round_exact. */
#include "reduce/exact.clh"
