/* lost_layer.c - an OpenCL layer in which the device of one rank is lost: from the 40th transfer on, each fails. */
#include "tools/layer.h"

#include <stdatomic.h>
#include <stdlib.h>

static atomic_int transfers;

static int is_lost(void)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    if (!rank) rank = getenv("PMI_RANK");
    return rank && strcmp(rank, "1") == 0 && atomic_fetch_add(&transfers, 1) >= 40;
}

static cl_int CL_API_CALL read(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t size,
                               void *to, cl_uint wait_count, const cl_event *wait, cl_event *event)
{
    if (is_lost()) return CL_OUT_OF_RESOURCES;
    return below->clEnqueueReadBuffer(queue, buffer, blocking, offset, size, to, wait_count, wait, event);
}

static void replace(void)
{
    ours.clEnqueueReadBuffer = read;
}
