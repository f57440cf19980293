/* fixed_groups.cl - reduces floats in an order that is the same on every device: a group has a block.
 *
 * The kernels are reduce_fixed and reduce_fixed_results. */
#include "reduce/fixed.clh"
