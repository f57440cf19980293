/* pinned.c - host memory that a device transfers fast, which a context keeps for transfers in pieces.
 *
 * Such memory takes milliseconds to make. It is OpenCL's own objects, because libndr's would keep the context. */
#include "device/buffer.h"
#include "device/command.h"
#include "device/context.h"
#include "device/pinned.h"
#include "device/wait.h"

#include <stdlib.h>

struct ndr_pinned {
    ndr_pinned *next; /* of those that nobody has borrowed */
    size_t size_bytes;
    cl_command_queue queue; /* of the mapping */
    cl_mem memory;
    void *host;
};

typedef struct keeper {
    ndr_attachment base; /* of the context; its lock guards the rest */
    ndr_pinned *first;
} keeper;

char *ndr_pinned_host(const ndr_pinned *pinned) { return pinned->host; }

/* A part that was not made is NULL. If a wait for the mapping has failed, the mapping may not have ended yet, and a
 * driver may refuse to unmap it. */
static void free_pinned(ndr_pinned *p)
{
    const ndr_transfer unmap = { .work = NDR_WORK_UNMAP, .from.cl = p->memory, .target = p->host };
    const char *call;
    if (p->queue) (void)ndr_cl.clFinish(p->queue);
    if (p->host) (void)ndr_submit_quietly(p->queue, &unmap, NULL, &call);
    if (p->queue) (void)ndr_cl.clFinish(p->queue);
    if (p->memory) ndr_cl.clReleaseMemObject(p->memory);
    if (p->queue) ndr_cl.clReleaseCommandQueue(p->queue);
    free(p);
}

static void close_keeper(ndr_attachment *gone)
{
    for (ndr_pinned *p = ((keeper *)gone)->first, *next; p; p = next) {
        next = p->next;
        free_pinned(p);
    }
}

static const ndr_attachment_kind kind = { "the memory of transfers", sizeof(keeper), NDR_LOCK_LIST, NULL,
                                          close_keeper };

static ndr_status map(ndr_context *context, ndr_pinned *p)
{
    const ndr_transfer map = { .work = NDR_WORK_MAP,
                               .from.cl = p->memory,
                               .extent = { p->size_bytes, 1, 1 },
                               .flags = CL_MAP_READ | CL_MAP_WRITE,
                               .mapped = &p->host };
    const char *call;
    NDR_TRY(ndr_command_run_alone(context, p->queue, &map, NULL));
    const cl_int error = ndr_wait_for_queue(context, p->queue, &call);
    NDR_TRY_CL_AS(call, error);
    return NDR_OK;
}

static ndr_status fill(ndr_context *context, ndr_pinned *p)
{
    cl_int error;
    const ndr_status status =
        ndr_buffer_allocate(context, CL_MEM_ALLOC_HOST_PTR, p->size_bytes, NULL, false, &p->memory);
    if (status != NDR_OK) return ndr_fail_memory(context, status, p->size_bytes);
    p->queue = ndr_cl.clCreateCommandQueue(context->cl, context->device, 0, &error);
    NDR_TRY_CL_AS("clCreateCommandQueue", error);
    return map(context, p);
}

static ndr_status make(ndr_context *context, size_t size_bytes, ndr_pinned **pinned)
{
    ndr_pinned *made = calloc(1, sizeof *made);
    if (!made) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for a transfer");
    made->size_bytes = size_bytes;
    const ndr_status status = fill(context, made);
    if (status == NDR_OK) *pinned = made;
    else free_pinned(made);
    return status;
}

static ndr_pinned *take(keeper *k)
{
    ndr_mutex_lock(&k->base.lock);
    ndr_pinned *const taken = k->first;
    if (taken) k->first = taken->next;
    ndr_mutex_unlock(&k->base.lock);
    return taken;
}

/* The latest that was returned; one that is too small makes room for a larger one. */
ndr_status ndr_pinned_borrow(ndr_context *context, size_t size_bytes, ndr_pinned **pinned)
{
    ndr_attachment *found;
    NDR_TRY(ndr_attachment_get(&context->attachments, &kind, &found));
    ndr_pinned *const kept = take((keeper *)found);
    if (kept && kept->size_bytes >= size_bytes) {
        *pinned = kept;
        return NDR_OK;
    }
    if (kept) free_pinned(kept);
    return make(context, size_bytes, pinned);
}

/* The attachment is there: it was borrowed from. */
void ndr_pinned_return(ndr_context *context, ndr_pinned *pinned)
{
    ndr_attachment *found;
    if (ndr_attachment_get(&context->attachments, &kind, &found) != NDR_OK) return;
    keeper *const k = (keeper *)found;
    ndr_mutex_lock(&k->base.lock);
    pinned->next = k->first;
    k->first = pinned;
    ndr_mutex_unlock(&k->base.lock);
}
