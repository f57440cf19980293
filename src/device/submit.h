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

/* Enqueue a command by the form of OpenCL's function that does not block. Sizes and offsets of a kernel are in OpenCL's
 * order; its name is for traces. The host's memory must stay until the command has ended. A failure names OpenCL's
 * function and leaves the outputs and `s` unchanged. */
ndr_status ndr_submit_kernel(ndr_submission *s, cl_kernel kernel, const char *name, unsigned dims, const size_t *offset,
                             const size_t *global, const size_t *local);
ndr_status ndr_submit_marker(ndr_submission *s);
ndr_status ndr_submit_barrier(ndr_submission *s);
ndr_status ndr_submit_read(ndr_submission *s, cl_mem from, size_t offset_bytes, size_t size_bytes, void *host);
ndr_status ndr_submit_write(ndr_submission *s, cl_mem to, size_t offset_bytes, size_t size_bytes, const void *host);
ndr_status ndr_submit_copy(ndr_submission *s, cl_mem from, size_t from_offset_bytes, cl_mem to, size_t to_offset_bytes,
                           size_t size_bytes);
ndr_status ndr_submit_fill(ndr_submission *s, cl_mem to, const void *pattern, size_t pattern_bytes, size_t offset_bytes,
                           size_t size_bytes);
ndr_status ndr_submit_map(ndr_submission *s, cl_mem buffer, cl_map_flags flags, size_t offset_bytes, size_t size_bytes,
                          void **host);
ndr_status ndr_submit_unmap(ndr_submission *s, cl_mem buffer, void *host);

/* A command without work: it fills byte `at` of memory that nobody reads. */
ndr_status ndr_submit_no_op(ndr_submission *s, cl_mem memory, size_t at);

/* One side of a rectangle in OpenCL's order: columns in bytes, rows, planes. The host's memory has no `cl`, and starts
 * at the origin. */
typedef struct ndr_cl_rect_side {
    cl_mem cl;
    size_t origin[3], pitch[2]; /* a plane's pitch of 0 is that of the rectangle */
} ndr_cl_rect_side;

ndr_status ndr_submit_read_rect(ndr_submission *s, const ndr_cl_rect_side *from, const ndr_cl_rect_side *to,
                                const size_t extent[3], void *host);
ndr_status ndr_submit_write_rect(ndr_submission *s, const ndr_cl_rect_side *to, const ndr_cl_rect_side *from,
                                 const size_t extent[3], const void *host);
ndr_status ndr_submit_copy_rect(ndr_submission *s, const ndr_cl_rect_side *from, const ndr_cl_rect_side *to,
                                const size_t extent[3]);

/* A part of an image: origin and extent in elements, in OpenCL's order. */
typedef struct ndr_cl_part {
    cl_mem cl;
    size_t element_bytes; /* for traces */
    size_t origin[3], extent[3];
} ndr_cl_part;

/* Pitches of the host's memory; 0: dense. Copies go to `to_origin` of `to`. */
ndr_status ndr_submit_read_image(ndr_submission *s, const ndr_cl_part *part, size_t row_pitch, size_t slice_pitch,
                                 void *host);
ndr_status ndr_submit_write_image(ndr_submission *s, const ndr_cl_part *part, size_t row_pitch, size_t slice_pitch,
                                  void *host);
ndr_status ndr_submit_fill_image(ndr_submission *s, const ndr_cl_part *part, const void *value);
ndr_status ndr_submit_copy_image(ndr_submission *s, const ndr_cl_part *part, cl_mem to, const size_t to_origin[3]);
ndr_status ndr_submit_map_image(ndr_submission *s, const ndr_cl_part *part, cl_map_flags flags, void **host,
                                size_t *row_pitch, size_t *slice_pitch);

/* Of OpenCL 2.0's shared memory. */
ndr_status ndr_submit_shared_map(ndr_submission *s, void *start, cl_map_flags flags, size_t size_bytes);
ndr_status ndr_submit_shared_unmap(ndr_submission *s, void *start);
ndr_status ndr_submit_shared_migrate(ndr_submission *s, const void *start, size_t size_bytes);

/* Whether the loader has OpenCL 2.0's commands for shared memory, and 2.1's that migrates it. */
bool ndr_submit_knows_shared(void);
bool ndr_submit_knows_migration(void);

/* Copies between addresses of shared memory, of any kind, and the host's. `copy` is the extension's function of the
 * name below; NULL: OpenCL 2.0's. */
typedef cl_int(CL_API_CALL *ndr_shared_copier)(cl_command_queue, cl_bool, void *, const void *, size_t, cl_uint,
                                               const cl_event *, cl_event *);
extern const char ndr_shared_copier_name[];
ndr_status ndr_submit_shared_copy(ndr_submission *s, ndr_shared_copier copy, void *to, const void *from,
                                  size_t size_bytes);

/* For commands whose failure does not replace ndr_last_error(): they return the code of OpenCL's function, whose name
 * `call` gets. */
cl_int ndr_submit_last_marker(cl_command_queue queue, cl_event *done, const char **call);
cl_int ndr_submit_last_unmap(cl_command_queue queue, cl_mem buffer, void *host);

#endif
