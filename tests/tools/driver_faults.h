/* driver_faults.h - faults of drivers that a test cannot avoid. A few lines of plain OpenCL show each fault on the
 * device that the tests share. A test is skipped only if they show the fault. */
#ifndef NDR_TESTS_DRIVER_FAULTS_H
#define NDR_TESTS_DRIVER_FAULTS_H

#include "support.h"

/* Skip the test if the driver has the fault. */
#define skip_for_fault(has_fault, what) skip_without(!(has_fault), "a fault of the driver, shown in plain OpenCL: " what)

/* clSetKernelArg() refuses a struct's sizeof if the struct ends in padding (Mesa 22.3.6). */
bool driver_refuses_padded_structs(void);

/* clGetEventProfilingInfo() reports a nanosecond for all work (Mesa 22.3.6). */
bool driver_measures_nothing(void);

/* `condition ? (char)3 : loaded` is not 3 if the condition is true, and larger kernels of that kind crash the compiler
 * (Mesa 22.3.6). */
bool driver_loses_chosen_bytes(void);

/* clLinkProgram() fails for most texts: their modules have different versions of SPIR-V (Mesa 22.3.6). */
bool driver_links_few_texts(void);

/* Work that waits for an event that fails does not run, but is reported as complete (Intel's CPU runtime of 2026). Such a
 * driver also crashes if two events of one wait list fail, or a barrier of a queue out of order, and an in-order queue
 * runs what comes after failed work. */
bool driver_completes_failed_work(void);

/* The driver runs queues out of order in order, as OpenCL allows. Then what is behind failed work may fail. */
bool driver_runs_in_order(void);

/* A return of whole groups, before a barrier in a branch, makes all groups take one way (PoCL 7.0). The row `blocked` of
 * products, for GPUs, has both. */
bool driver_returns_for_all(void);

#endif
