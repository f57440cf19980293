/* stream.c - arrays of the host go through the ranks of a group in chunks: the next chunk is written to the device
 * while one is worked on and the one before it is read.
 *
 * Each rank takes the next chunk that is left, so that none waits for a slower one. A rank that shares the host's
 * memory has buffers over it. */
#include "device/event.h"
#include "device/queue.h"
#include "ops/ranks/ranks.h"

enum { SLOTS = 3 };

size_t ndr_stream_chunk_for(size_t count, size_t element_bytes)
{
    enum { CHUNKS = 64, MIN_BYTES = 1 << 18, MAX_BYTES = 1 << 25 };
    size_t chunk = 1;
    while (chunk * element_bytes < MIN_BYTES) chunk *= 2;
    while (chunk < count / CHUNKS && chunk * element_bytes < MAX_BYTES) chunk *= 2;
    return chunk;
}

typedef struct run {
    const ndr_stream *stream;
    atomic_size_t next; /* chunk */
    atomic_bool stops;  /* a rank has failed */
} run;

/* Of one rank, for one chunk at a time. */
typedef struct slot {
    ndr_buffer *buffers[NDR_STREAM_ARRAYS];
    bool is_over[NDR_STREAM_ARRAYS]; /* a buffer over the host's memory, for this chunk only */
    ndr_event *written[NDR_STREAM_ARRAYS], *read[NDR_STREAM_ARRAYS], *done;
    ndr_chunk chunk; /* none is under way: count is 0 */
} slot;

static size_t bytes_of(const ndr_stream_array *a, const ndr_chunk *c)
{
    return a->element_bytes * (a->is_of_chunks ? 1 : c->count);
}

static size_t offset_of(const ndr_stream_array *a, const ndr_chunk *c)
{
    return a->element_bytes * (a->is_of_chunks ? c->index : c->first);
}

static const void *input_of(const ndr_stream_array *a, const ndr_chunk *c)
{
    return a->input ? (const char *)a->input + offset_of(a, c) : NULL;
}

static void *output_of(const ndr_stream_array *a, const ndr_chunk *c)
{
    return a->output ? (char *)a->output + offset_of(a, c) : NULL;
}

/* ---- buffers ---- */

/* Not where an output has other memory than its input. */
static bool can_lie_over(const ndr_group_rank *rank, const ndr_stream_array *a)
{
    const uintptr_t host = (uintptr_t)(a->input ? a->input : a->output);
    return rank->device.shares_host_memory && !a->is_of_chunks && host % a->element_bytes == 0
           && (!a->input || !a->output || a->input == a->output);
}

static ndr_status make_buffer(const ndr_stream *stream, const ndr_group_rank *rank, slot *s, size_t index)
{
    const ndr_stream_array *a = &stream->arrays[index];
    void *const host = a->output ? output_of(a, &s->chunk) : (void *)(uintptr_t)input_of(a, &s->chunk);
    s->is_over[index] = can_lie_over(rank, a);
    if (s->buffers[index]) return NDR_OK;
    if (s->is_over[index])
        return ndr_buffer_create_over(rank->context, bytes_of(a, &s->chunk), host, &s->buffers[index]);
    return ndr_buffer_create(rank->context, a->element_bytes * (a->is_of_chunks ? 1 : stream->chunk),
                             &s->buffers[index]);
}

static void drop(ndr_event **event)
{
    ndr_event_destroy(*event);
    *event = NULL;
}

static void free_slot(const ndr_stream *stream, slot *s, bool only_over)
{
    for (size_t i = 0; i < stream->array_count; ++i) {
        drop(&s->written[i]);
        drop(&s->read[i]);
        if (only_over && !s->is_over[i]) continue;
        ndr_buffer_destroy(s->buffers[i]);
        s->buffers[i] = NULL;
    }
    drop(&s->done);
    s->chunk.count = 0;
}

/* ---- a chunk ---- */

static ndr_status write_inputs(const ndr_stream *stream, const ndr_group_rank *rank, slot *s)
{
    for (size_t i = 0; i < stream->array_count; ++i) {
        const ndr_stream_array *a = &stream->arrays[i];
        NDR_TRY(make_buffer(stream, rank, s, i));
        if (a->input && !s->is_over[i])
            NDR_TRY(ndr_buffer_write(rank->in, s->buffers[i], 0, bytes_of(a, &s->chunk), input_of(a, &s->chunk),
                                     &s->written[i]));
    }
    return ndr_queue_flush(rank->in);
}

static ndr_status read_outputs(const ndr_stream *stream, const ndr_group_rank *rank, slot *s)
{
    ndr_queue_after after = { NDR_AFTER_SEAL, rank->out, &s->done, 1 };
    for (size_t i = 0; i < stream->array_count; ++i) {
        const ndr_stream_array *a = &stream->arrays[i];
        if (a->output && !s->is_over[i])
            NDR_TRY(ndr_buffer_read((ndr_queue *)(void *)&after, s->buffers[i], 0, bytes_of(a, &s->chunk),
                                    output_of(a, &s->chunk), &s->read[i]));
    }
    return ndr_queue_flush(rank->out);
}

static ndr_status start(const ndr_stream *stream, const ndr_group_rank *rank, slot *s)
{
    ndr_queue_after after = { NDR_AFTER_SEAL, rank->queue, s->written, stream->array_count };
    NDR_TRY(write_inputs(stream, rank, s));
    s->chunk.queue = (ndr_queue *)(void *)&after;
    s->chunk.buffers = s->buffers;
    NDR_TRY(stream->work(&s->chunk, stream->user, &s->done));
    NDR_TRY(ndr_queue_flush(rank->queue));
    return read_outputs(stream, rank, s);
}

/* A mapping makes the device's results the host's; where memory is shared it copies nothing. */
static ndr_status take_over(const ndr_group_rank *rank, ndr_buffer *over)
{
    void *host;
    NDR_TRY(ndr_buffer_map(rank->queue, over, NDR_MAP_READ, 0, ndr_buffer_size(over), &host));
    return ndr_buffer_unmap(rank->queue, over, host, NULL);
}

static ndr_status finish(const ndr_stream *stream, const ndr_group_rank *rank, slot *s)
{
    if (s->chunk.count == 0) return NDR_OK;
    NDR_TRY(ndr_event_wait(s->done));
    for (size_t i = 0; i < stream->array_count; ++i) {
        if (s->read[i]) NDR_TRY(ndr_event_wait(s->read[i]));
        if (s->is_over[i] && stream->arrays[i].output) NDR_TRY(take_over(rank, s->buffers[i]));
    }
    free_slot(stream, s, true);
    return NDR_OK;
}

/* ---- a rank ---- */

static ndr_status run_chunks(run *r, ndr_group *group, size_t index, slot *slots)
{
    const ndr_stream *stream = r->stream;
    const size_t chunks = ndr_ceil_div(stream->count, stream->chunk);
    const ndr_group_rank *const rank = &group->ranks[index];
    for (size_t turn = 0; !atomic_load(&r->stops); ++turn) {
        slot *const s = &slots[turn % SLOTS];
        NDR_TRY(finish(stream, rank, s));
        const size_t chunk = atomic_fetch_add(&r->next, 1), first = chunk * stream->chunk;
        if (chunk >= chunks) break;
        s->chunk = (ndr_chunk){ .rank = index, .index = chunk, .first = first };
        s->chunk.count = ndr_min_size(stream->chunk, stream->count - first);
        NDR_TRY(start(stream, rank, s));
    }
    for (size_t i = 0; i < SLOTS; ++i) NDR_TRY(finish(stream, rank, &slots[i]));
    return NDR_OK;
}

/* What is under way uses the host's memory, also after a failure. */
static ndr_status run_rank(ndr_group *group, size_t index, void *run_)
{
    run *r = run_;
    const ndr_group_rank *const rank = &group->ranks[index];
    slot slots[SLOTS];
    memset(slots, 0, sizeof slots);
    ndr_status status = run_chunks(r, group, index, slots);
    if (status != NDR_OK) {
        atomic_store(&r->stops, true);
        status = ndr_queue_end(rank->in, status);
        status = ndr_queue_end(rank->queue, status);
        status = ndr_queue_end(rank->out, status);
    }
    for (size_t i = 0; i < SLOTS; ++i) free_slot(r->stream, &slots[i], false);
    if (status == NDR_OK) status = ndr_queue_finish(rank->queue);
    return status;
}

ndr_status ndr_stream_run(ndr_group *group, const ndr_stream *stream)
{
    run r = { .stream = stream };
    return ndr_group_run(group, stream->call, run_rank, &r);
}
