/* submit.h - enqueues one command by the form of OpenCL's function that does not block. */
#ifndef NDR_DEVICE_SUBMIT_H
#define NDR_DEVICE_SUBMIT_H

#include "device/opencl.h"

/* Events that a command waits for; a count of 0: none. */
typedef struct ndr_wait_list {
    cl_uint count;
    const cl_event *events;
} ndr_wait_list;

/* Where the next command goes and what it waits for. Each command that is enqueued moves it on to the next one. */
typedef struct ndr_submission {
    cl_command_queue queue;
    ndr_wait_list waits;
    cl_event *done; /* gets the command's event, which the caller releases; NULL: no command needs one */
    bool is_chain;  /* each command waits for the event of the one before it */
    bool may_block; /* a read takes the form that blocks */
} ndr_submission;

/* What a command other than a kernel does, and with which memory: bytes of a buffer if the name does not say more. Those
 * of rectangles, images and shared memory follow in groups. */
typedef enum ndr_work {
    NDR_WORK_MARKER,
    NDR_WORK_BARRIER,
    NDR_WORK_NO_OP, /* a fill of a byte that nobody reads */
    NDR_WORK_READ,
    NDR_WORK_WRITE,
    NDR_WORK_COPY,
    NDR_WORK_FILL,
    NDR_WORK_MAP,
    NDR_WORK_UNMAP, /* of an image, too */
    NDR_WORK_READ_RECT,
    NDR_WORK_WRITE_RECT,
    NDR_WORK_COPY_RECT,
    NDR_WORK_READ_IMAGE,
    NDR_WORK_WRITE_IMAGE,
    NDR_WORK_COPY_IMAGE,
    NDR_WORK_FILL_IMAGE,
    NDR_WORK_MAP_IMAGE,
    NDR_WORK_COPY_SHARED, /* between any addresses of shared memory and of the host's */
    NDR_WORK_MAP_SHARED,
    NDR_WORK_UNMAP_SHARED,
    NDR_WORK_PREFETCH, /* shared memory */
} ndr_work;

/* One side of a command, in OpenCL's order: columns (bytes, or elements of an image), rows, planes. The host's memory and
 * shared memory have no `cl`. */
typedef struct ndr_cl_side {
    cl_mem cl;
    size_t origin[3], pitch[2]; /* bytes from row to row and from plane to plane; 0: dense */
    size_t before;              /* bytes of `cl` in front of the caller's view, which the log does not count */
} ndr_cl_side;

/* The extension's function that copies shared memory, by the name below; NULL: OpenCL 2.0's. */
typedef cl_int(CL_API_CALL *ndr_shared_copier)(cl_command_queue, cl_bool, void *, const void *, size_t, cl_uint,
                                               const cl_event *, cl_event *);
extern const char ndr_shared_copier_name[];

/* A command other than a kernel. Members that its work has no use for are not read. */
typedef struct ndr_transfer {
    ndr_work work;
    ndr_cl_side from, to; /* a map, an unmapping and a prefetch are of `from`, a fill is of `to` */
    size_t extent[3];     /* bytes or elements of a row, rows, planes */
    size_t element_bytes; /* of an image, for traces */
    const void *source;   /* the host's memory, shared memory or a fill's pattern. It must stay until the end */
    void *target;         /* the host's memory or shared memory */
    size_t pattern_bytes; /* of a fill */
    cl_map_flags flags;   /* of a map */
    void **mapped;        /* gets the address of what is mapped */
    size_t *mapped_pitch; /* of an image: gets the pitches of rows and planes */
    ndr_shared_copier copier;
} ndr_transfer;

extern const ndr_transfer ndr_marker;

/* How many bytes or elements; 0: there is nothing to do. */
static inline size_t ndr_transfer_count(const ndr_transfer *t) { return t->extent[0] * t->extent[1] * t->extent[2]; }

/* Enqueue a command. Sizes and offsets of a kernel are in OpenCL's order; its name is for traces. A failure names OpenCL's
 * function and leaves the outputs and `s` unchanged. */
ndr_status ndr_submit_kernel(ndr_submission *s, cl_kernel kernel, const char *name, unsigned dims, const size_t *offset,
                             const size_t *global, const size_t *local);
ndr_status ndr_submit(ndr_submission *s, const void *transfer); /* an ndr_transfer */

/* Whether the loader has OpenCL 2.0's commands for shared memory, and 2.1's that migrates it. */
bool ndr_submit_knows_shared(void);
bool ndr_submit_knows_migration(void);

/* The same for a command behind no event whose failure does not replace ndr_last_error(): the code of OpenCL's function,
 * whose name `call` gets. `done` may be NULL. */
cl_int ndr_submit_quietly(cl_command_queue queue, const ndr_transfer *transfer, cl_event *done, const char **call);

#endif
