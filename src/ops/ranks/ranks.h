/* ranks.h - several contexts, and arrays of the host that go through them in chunks. */
#ifndef NDR_OPS_RANKS_H
#define NDR_OPS_RANKS_H

#include <stdatomic.h>

#include "base/base.h"
#include "ndr/ndr_group.h"

typedef struct ndr_group_rank {
    ndr_group *group;
    ndr_context *context;
    ndr_queue *queue, *in, *out; /* of the work, and of transfers to and from the device */
    ndr_device_info device;
    double speeds[2];  /* rows in a second, in the latest call and in the one before; 0: there was none */
    ndr_thread thread; /* waits for `job`; the first rank has none, its caller works */
    bool has_thread;
    struct runner *job; /* guarded by the group's lock; NULL: it is done */
} ndr_group_rank;

struct ndr_group {
    ndr_group_rank *ranks;
    size_t size;
    bool has_own;          /* it made the contexts of its ranks, and destroys them */
    ndr_mutex lock;        /* guards the jobs and `ends` */
    ndr_condition changed; /* wakes when a job or `ends` has changed */
    bool ends;
    unsigned long process; /* that has the threads */
};

/* Call `work` for each rank on a thread of its own, which is kept for the next call. The first rank that fails makes
 * the call fail, in a sentence with the rank. */
typedef ndr_status ndr_rank_work(ndr_group *group, size_t rank, void *user);
ndr_status ndr_group_run(ndr_group *group, const char *call, ndr_rank_work *work, void *user);

/* ndr_group_each() for the call of that name. */
ndr_status ndr_group_share(ndr_group *group, const char *call, size_t count, ndr_group_function *function, void *user);

/* A shorter call measures the launch and the wait, and no speed. Tests change it. */
extern int64_t ndr_group_least_ns;

/* Elements whose reproducible sum is one value of those that are combined next. Tests lower it. */
extern size_t ndr_group_tree;

/* ---- stream.c ---- */

enum { NDR_STREAM_ARRAYS = 24 };

/* An array of the host, `count` elements of it or one for each chunk. */
typedef struct ndr_stream_array {
    const void *input; /* NULL: it is not read */
    void *output;      /* NULL: it is not written */
    size_t element_bytes;
    bool is_of_chunks;
} ndr_stream_array;

/* Elements that a rank works on, in buffers of the arrays' chunks. */
typedef struct ndr_chunk {
    size_t rank, index, first, count;
    ndr_queue *queue; /* may be the result of ndr_after() */
    ndr_buffer *const *buffers;
} ndr_chunk;

typedef struct ndr_stream {
    const char *call; /* for sentences */
    const ndr_stream_array *arrays;
    size_t array_count, count, chunk; /* elements of a chunk, but the last */
    ndr_status (*work)(const ndr_chunk *chunk, const void *user, ndr_event **done); /* enqueues on the chunk's queue */
    const void *user;
} ndr_stream;

/* Ranks take chunk after chunk until none is left. */
ndr_status ndr_stream_run(ndr_group *group, const ndr_stream *stream);

/* Pure: elements of a chunk, a power of two. */
size_t ndr_stream_chunk_for(size_t count, size_t element_bytes);

#endif
