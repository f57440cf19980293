/* between.h - stands between libndr and the driver: refuses a call that the test has chosen, and counts what is made.
 *
 * A test program that is linked with between.c has its functions in libndr's table of OpenCL's. They pass each call on to
 * the ICD loader, as its malloc() and the like pass libndr's allocations on to the C library. */
#ifndef NDR_TESTS_BETWEEN_H
#define NDR_TESTS_BETWEEN_H

#include "support.h"

#include "device/device.h"

/* What can be refused: CALL_clFinish and so on, for each function of libndr's table but the releases. */
#define AS_CALL(function) CALL_##function,
typedef enum call {
    NO_CALL,
    NDR_CL_FUNCTIONS(AS_CALL, AS_CALL)
    CALL_malloc, /* malloc(), calloc(), realloc(): refused with NULL, whatever the code */
    CALLS
} call;

/* "clFinish"; "malloc" for all three. */
extern const char *const call_names[CALLS];

/* Refuse one call, the one after `passing` others of its kind, with the code. */
void refuse(call kind, size_t passing, cl_int code);

/* As refuse(), of a transfer: it is enqueued all the same, and not waited for. */
void refuse_afterwards(call kind, size_t passing, cl_int code);

/* Beside the one call, refuse all of this kind with its code. Of several kinds, too. */
void refuse_also(call kind);

/* The end of it: whether there was such a call. */
bool refuse_none(void);

/* How many calls of each kind there were since the test last cleared them. */
extern size_t calls[CALLS];

/* What is alive of what passed through: made and counted, less released; mappings less unmappings. */
typedef struct alive {
    long contexts, queues, buffers, programs, kernels, events, mappings, blocks;
} alive;
extern alive now;

/* Set: each platform is listed twice, so that there are others than the one refused. */
extern bool platforms_twice;

/* Of all launches. */
extern size_t items_enqueued;

/* The wait list of the latest command. */
extern ndr_wait_list waits_enqueued;

/* How images are described from now on: the driver's answers where both are 0. */
extern cl_kernel_arg_address_qualifier image_space;
extern cl_kernel_arg_access_qualifier image_access;

/* What kernels that are built from now on say is the largest group that they take; 0 leaves it to the driver. */
extern size_t largest_group;

#endif
