/* fixed_chunks.cl - reduces floats in an order that is the same on every device, on CPUs: an item has a block.
 *
 * The kernels are reduce_fixed and reduce_fixed_results. */
#ifndef GROUP
#define GROUP 1
#endif
#include "reduce/fixed.clh"
