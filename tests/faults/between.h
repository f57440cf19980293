/* between.h - intercepts calls between libndr and the driver: refuses a call that the test has chosen, and counts
 * objects.
 *
 * In a test program that is linked with between.c, libndr's table of OpenCL functions has the functions of between.c.
 * They pass each call on to the ICD loader. Its malloc(), calloc() and realloc() pass libndr's allocations on to the C
 * library. */
#ifndef NDR_TESTS_BETWEEN_H
#define NDR_TESTS_BETWEEN_H

#include "support.h"

#include <stdatomic.h>

#include "device/opencl.h"
#include "device/submit.h"

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

/* In addition to the one call, refuse all calls of this kind with the same code. May be called for several kinds. */
void refuse_also(call kind);

/* Stop refusing. Returns whether there was such a call. */
bool refuse_none(void);

/* How many calls of each kind there were since the test last cleared them. */
extern size_t calls[CALLS];

/* The number of live objects: those created and retained, less those released; mappings less unmappings; user
 * events that have not ended. */
typedef struct alive {
    long contexts, queues, buffers, shared, samplers, programs, kernels, events, gates, mappings, blocks;
} alive;
extern alive now;

/* The threads that libndr has started and that have not ended. */
extern atomic_int threads_running;

/* If set, each platform is listed twice, so that others remain if one is refused. */
extern bool platforms_twice;

/* The items of all launches so far. */
extern size_t items_enqueued;

/* The wait list of the latest command. */
extern ndr_wait_list waits_enqueued;

/* How kernels' image arguments are described from now on. The driver's results if both are 0. */
extern cl_kernel_arg_address_qualifier image_space;
extern cl_kernel_arg_access_qualifier image_access;

/* Refuse rectangles as NVIDIA's driver does: the whole pitch of the last row (without a pitch of planes) or of the last
 * plane must be in the buffer. */
extern bool wants_whole_pitches;

/* The free memory that devices report from now on, in KiB; 0 means the driver's result. */
extern size_t free_kib;

/* The largest group that kernels built from now on report; 0 means the driver's value. */
extern size_t largest_group;

#endif
