/* driver_faults.h - faults of drivers that a test cannot go round: each shown by a few lines of plain OpenCL, on the
 * device that the tests share. A test is skipped only where they show it. */
#ifndef NDR_TESTS_DRIVER_FAULTS_H
#define NDR_TESTS_DRIVER_FAULTS_H

#include "support.h"

/* The test ends as skipped where the driver has the fault. */
#define skip_for_fault(has_fault, what) skip_without(!(has_fault), "a fault of the driver, shown in plain OpenCL: " what)

/* clSetKernelArg() refuses a struct's sizeof where that ends in padding (Mesa 22.3.6). */
bool driver_refuses_padded_structs(void);

/* clGetEventProfilingInfo() says that work of any length took a nanosecond (Mesa 22.3.6). */
bool driver_measures_nothing(void);

/* `condition ? (char)3 : loaded` is not 3 where the condition holds, and larger kernels of that kind crash the compiler
 * (Mesa 22.3.6). */
bool driver_loses_chosen_bytes(void);

#endif
