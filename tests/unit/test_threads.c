/* test_threads.c - 64 threads make random operations over shared queues, buffers, kernels, events and prepared launches.
 *
 * Each thread owns a slice of two shared buffers and keeps a model of both. What a thread does with a slice is a chain
 * of commands on any of the shared queues: a command waits for the event of the one before, or follows it in an in-order
 * queue. All threads add to shared counters, whose sums are known.
 *
 * A thread makes some 100 operations, with NDR_TEST_LONG=1 100 000, with NDR_TEST_OPERATIONS=n n. The seed is printed,
 * and NDR_TEST_SEED sets it: each thread then makes the same operations, but the order between threads differs. */
#include "driver_faults.h"
#include "reference.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "device/context.h"
#include "device/queue.h"

enum {
    THREADS = 64,
    QUEUES = 4,
    ITEMS = 4,     /* of a launch that counts */
    VALUES = 8,    /* that are counted: 0 to 7 */
    MOST_INTS = 4096, /* of a slice */
    M = 5, K = 7, N = 3, MATRICES = M * K + K * N + M * N
};

static const char source[] = "#include <ndr/nd_item.clh>\n"
                             "typedef struct pair { int a; int b; } pair;\n"
                             "kernel void add(global int *x, int first, int by, NDR_RANGE(1))\n"
                             "{\n"
                             "    const ndr_item it = NDR_ITEM(1);\n"
                             "    x[first + (int)ndr_global_id(it, 0)] += by;\n"
                             "}\n"
                             "kernel void add_in_groups(global int *x, int first, int by, NDR_ND_RANGE(1))\n"
                             "{\n"
                             "    const ndr_nd_item it = NDR_ND_ITEM(1);\n"
                             "    x[first + (int)ndr_global_id(it, 0)] += by;\n"
                             "}\n"
                             "kernel void count(global int *counters, pair p)\n"
                             "{\n"
                             "    atomic_inc(&counters[p.b == ~p.a && p.a >= 0 && p.a < 8 ? p.a : 8]);\n"
                             "}\n";

/* ---- what all threads share ---- */

typedef struct pair {
    int32_t a, b; /* b is ~a */
} pair;

static ndr_queue *queues[QUEUES]; /* the last one out of order, if the device has such queues */
static ndr_buffer *viewed;        /* slices that threads use and map through their views */
static ndr_buffer *whole;         /* slices that threads use by their offsets; never mapped */
static ndr_buffer *matrices;      /* a, b and c of each thread */
static ndr_buffer *results;       /* a reduction's, of each thread */
static ndr_buffer *counters;      /* 8 values that launches counted; the ninth counts torn arguments */
static ndr_buffer *set_counters;  /* those of `shared` */
static ndr_kernel *add, *add_in_groups, *count;
static ndr_prepared *shared;      /* which any thread runs, and whose argument any thread sets */
static ndr_event *go;             /* of the program; all threads wait for it */
static _Atomic(ndr_event *) passed_on; /* from one thread to another; NULL: none */
static atomic_uint shared_runs, calls_wanted, calls_made;
static atomic_bool must_stop;
static size_t slice_ints;
static bool can_hold_back, can_fail;
static bool fails_in_shared; /* in the queue out of order, for all of which no thread then waits */

/* ---- a thread ---- */

/* The commands on one slice. They have ended if neither is set. */
typedef struct chain {
    ndr_buffer *buffer;
    size_t first;     /* int of the slice in the buffer */
    ndr_event *last;  /* of the latest command */
    ndr_queue *queue; /* in order, of the latest command if that has no event */
    int32_t *model;   /* what the slice holds when the commands have ended */
    int32_t *sent, *got, *expected; /* the host's memory of transfers that do not wait */
    bool is_sending, is_receiving;
} chain;

typedef struct worker {
    unsigned index;
    uint64_t random;
    ndr_buffer *view;
    ndr_prepared *prepared; /* add() to all of `view` */
    chain a, b;             /* in `view`, whose first int is 0, and in `whole` */
    unsigned counted[VALUES];
    unsigned operation;
    const char *name;       /* of the operation */
    char wrong[600];        /* "": nothing */
} worker;

static unsigned below(worker *w, unsigned n) { return (unsigned)(random_bits(&w->random) >> 33) % n; }
static bool flip(worker *w) { return below(w, 2) == 0; }

static bool is_wrong(worker *w, const char *what)
{
    if (!w->wrong[0])
        snprintf(w->wrong, sizeof w->wrong, "thread %u, operation %u (%s): %s", w->index, w->operation, w->name, what);
    atomic_store(&must_stop, true);
    return true;
}

static bool is_failed(worker *w, ndr_status status, const char *call)
{
    char what[500];
    if (status == NDR_OK) return false;
    snprintf(what, sizeof what, "%.150s gave %s: %.300s", call, ndr_status_name(status), ndr_last_error());
    return is_wrong(w, what);
}

/* A failed assertion of CMocka would leave the thread by longjmp(). */
#define TRY(call)                                  \
    do {                                           \
        if (is_failed(w, (call), #call)) return;   \
    } while (0)

static void expect_ints(worker *w, const int32_t *got, const int32_t *wanted, size_t n, const char *of)
{
    char what[200];
    for (size_t i = 0; i < n; ++i) {
        if (got[i] == wanted[i]) continue;
        snprintf(what, sizeof what, "%s: int %zu of %zu is %d, not %d", of, i, n, (int)got[i], (int)wanted[i]);
        is_wrong(w, what);
        return;
    }
}

/* ---- chains ---- */

/* Where the next command goes, and what it waits for. */
typedef struct place {
    ndr_queue *queue;
    ndr_event *waits[4];
    size_t count;
} place;

#define AT(p) ndr_after_all((p).queue, (p).waits, (p).count)

static bool is_in_order(const ndr_queue *line) { return !line->is_out_of_order; }

static void wait_for(worker *w, place *p, chain *c)
{
    if (c->queue == p->queue) return;
    if (c->queue) TRY(ndr_queue_mark(c->queue, &c->last));
    c->queue = NULL;
    if (c->last) p->waits[p->count++] = c->last;
}

static place choose_place(worker *w, chain *c, chain *also)
{
    place p = { .queue = queues[below(w, QUEUES)] };
    wait_for(w, &p, c);
    if (also) wait_for(w, &p, also);
    if (!is_in_order(p.queue)) p.waits[p.count++] = go; /* a mark or barrier without events waits for all work */
    else if (below(w, 4) == 0) p.waits[p.count++] = flip(w) ? go : NULL;
    return p;
}

/* An event that is no longer needed goes to another thread, or nowhere. */
static void drop(worker *w, ndr_event *event)
{
    if (event && below(w, 8) == 0) event = atomic_exchange(&passed_on, event);
    ndr_event_destroy(event);
}

/* The chain goes on with a command in `line`; `event` is NULL if it has none. */
static void go_on(worker *w, chain *c, ndr_queue *line, ndr_event *event)
{
    drop(w, c->last);
    c->last = event;
    c->queue = event ? NULL : line;
}

/* Where the event of a command goes: nowhere if the queue keeps the order. */
static ndr_event **wanted(worker *w, const place *p, ndr_event **event)
{
    *event = NULL;
    return is_in_order(p->queue) && flip(w) ? NULL : event;
}

static void wait_somehow(worker *w, chain *c)
{
    size_t which;
    if (c->queue && flip(w)) TRY(ndr_queue_finish(c->queue));
    else if (c->queue) TRY(ndr_queue_finish_within(c->queue, NDR_FOREVER - 1));
    switch (below(w, 4)) {
    case 0: TRY(ndr_event_wait_all(&c->last, 1, NDR_FOREVER)); break;
    case 1: TRY(ndr_event_wait_any(&c->last, 1, NDR_FOREVER, &which)); break;
    case 2: if (c->last) TRY(ndr_event_wait_within(c->last, NDR_FOREVER - 1)); break;
    default: if (c->last) TRY(ndr_event_wait(c->last));
    }
}

/* All commands of the chain have ended. */
static void end(worker *w, chain *c)
{
    drop(w, c->last);
    c->last = NULL;
    c->queue = NULL;
    c->is_sending = false;
    if (c->is_receiving) expect_ints(w, c->got, c->expected, slice_ints, "a read that did not wait");
    c->is_receiving = false;
}

static void sync(worker *w, chain *c)
{
    wait_somehow(w, c);
    if (!w->wrong[0]) end(w, c);
}

static chain *any_chain(worker *w) { return flip(w) ? &w->a : &w->b; }

/* A part of a slice. */
typedef struct part {
    size_t first, n;
} part;

static part any_part(worker *w)
{
    const size_t n = 1 + below(w, (unsigned)slice_ints);
    return (part){ below(w, (unsigned)(slice_ints - n + 1)), n };
}

/* Few sizes, because PoCL compiles a kernel for each local size. */
static part any_launch(worker *w)
{
    const size_t n = flip(w) ? slice_ints : 32;
    return (part){ below(w, (unsigned)(slice_ints - n + 1)), n };
}

static size_t byte_of(const chain *c, size_t i) { return (c->first + i) * sizeof(int32_t); }

static void add_to_model(chain *c, part at, int32_t by)
{
    for (size_t i = 0; i < at.n; ++i) c->model[at.first + i] += by;
}

/* ---- operations: launches ---- */

static void launch(worker *w)
{
    chain *c = any_chain(w);
    place p = choose_place(w, c, NULL);
    const part at = any_launch(w);
    const int by = (int)below(w, 1000);
    ndr_event *event, **const to = wanted(w, &p, &event);
    TRY(ndr_launch_event(AT(p), add, to, ndr_range_1d(at.n), c->buffer, (int)(c->first + at.first), by));
    add_to_model(c, at, by);
    go_on(w, c, p.queue, event);
}

/* 35 items in groups of 16: two pieces. */
static void launch_split(worker *w)
{
    chain *c = any_chain(w);
    place p = choose_place(w, c, NULL);
    ndr_nd_range range = ndr_nd_range_1d(35, 16);
    const part at = { below(w, (unsigned)slice_ints - 34), 35 };
    const int by = (int)below(w, 1000);
    ndr_event *event, **const to = wanted(w, &p, &event);
    range.edge = NDR_EDGE_SPLIT;
    TRY(ndr_launch_event(AT(p), add_in_groups, to, range, c->buffer, (int)(c->first + at.first), by));
    add_to_model(c, at, by);
    go_on(w, c, p.queue, event);
}

static void run_prepared(worker *w)
{
    place p = choose_place(w, &w->a, NULL);
    const int by = (int)below(w, 1000);
    ndr_event *event, **const to = wanted(w, &p, &event);
    TRY(ndr_prepared_set(w->prepared, 2, ndr_arg_of(by)));
    TRY(ndr_prepared_run(AT(p), w->prepared, to));
    add_to_model(&w->a, (part){ 0, slice_ints }, by);
    go_on(w, &w->a, p.queue, event);
}

static void launch_count(worker *w)
{
    const int value = (int)below(w, VALUES);
    const pair p = { value, ~value };
    TRY(ndr_launch(queues[below(w, QUEUES)], count, ndr_range_1d(ITEMS), counters, ndr_struct(pair, p)));
    w->counted[value] += ITEMS;
}

static void run_shared(worker *w)
{
    const int value = (int)below(w, VALUES);
    const pair p = { value, ~value };
    if (flip(w)) TRY(ndr_prepared_set(shared, 1, ndr_struct(pair, p)));
    TRY(ndr_prepared_run(queues[below(w, QUEUES)], shared, NULL));
    atomic_fetch_add(&shared_runs, 1);
}

static void get_kernel(worker *w)
{
    ndr_kernel *got = NULL;
    ndr_kernel_info info;
    TRY(ndr_kernel_get(context, &(ndr_kernel_desc){ .name = "add", .source = source }, &got));
    TRY(ndr_kernel_get_info(got, &info));
    if (got != add || info.arg_count != 3) is_wrong(w, "another kernel");
}

/* ---- operations: transfers ---- */

static void write(worker *w)
{
    chain *c = any_chain(w);
    place p = choose_place(w, c, NULL);
    const part at = any_part(w);
    for (size_t i = 0; i < at.n; ++i) c->model[at.first + i] = (int32_t)random_bits(&w->random);
    TRY(ndr_buffer_write(AT(p), c->buffer, byte_of(c, at.first), at.n * 4, c->model + at.first, NULL));
    end(w, c);
}

static void read_and_compare(worker *w)
{
    chain *c = any_chain(w);
    place p = choose_place(w, c, NULL);
    const part at = any_part(w);
    int32_t got[MOST_INTS];
    TRY(ndr_buffer_read(AT(p), c->buffer, byte_of(c, at.first), at.n * 4, got, NULL));
    expect_ints(w, got, c->model + at.first, at.n, "a read");
    end(w, c);
}

static void write_without_waiting(worker *w)
{
    chain *c = any_chain(w);
    if (c->is_sending) sync(w, c);
    place p = choose_place(w, c, NULL);
    const part at = any_part(w);
    ndr_event *event;
    for (size_t i = 0; i < at.n; ++i) c->model[at.first + i] = c->sent[i] = (int32_t)random_bits(&w->random);
    TRY(ndr_buffer_write(AT(p), c->buffer, byte_of(c, at.first), at.n * 4, c->sent, &event));
    go_on(w, c, p.queue, event);
    c->is_sending = true;
}

static void read_without_waiting(worker *w)
{
    chain *c = any_chain(w);
    if (c->is_receiving) sync(w, c);
    place p = choose_place(w, c, NULL);
    ndr_event *event;
    TRY(ndr_buffer_read(AT(p), c->buffer, byte_of(c, 0), slice_ints * 4, c->got, &event));
    go_on(w, c, p.queue, event);
    memcpy(c->expected, c->model, slice_ints * 4);
    c->is_receiving = true;
}

static void fill(worker *w)
{
    chain *c = any_chain(w);
    place p = choose_place(w, c, NULL);
    const part at = any_part(w);
    const int32_t value = (int32_t)random_bits(&w->random);
    ndr_event *event, **const to = wanted(w, &p, &event);
    TRY(ndr_buffer_fill(AT(p), c->buffer, byte_of(c, at.first), at.n * 4, &value, sizeof value, to));
    for (size_t i = 0; i < at.n; ++i) c->model[at.first + i] = value;
    go_on(w, c, p.queue, event);
}

/* Both chains go on with one command; the second with a mark behind it. */
static void go_on_together(worker *w, place *p, ndr_event *event)
{
    ndr_event *mark;
    go_on(w, &w->a, p->queue, event);
    TRY(ndr_queue_mark(ndr_after(queues[below(w, QUEUES)], event), &mark));
    go_on(w, &w->b, NULL, mark);
}

static void copy(worker *w)
{
    const bool is_forth = flip(w);
    chain *from = is_forth ? &w->a : &w->b, *to = is_forth ? &w->b : &w->a;
    place p = choose_place(w, from, to);
    const part at = any_part(w);
    const size_t there = below(w, (unsigned)(slice_ints - at.n + 1));
    ndr_event *event;
    TRY(ndr_buffer_copy(AT(p), from->buffer, byte_of(from, at.first), to->buffer, byte_of(to, there), at.n * 4, &event));
    memcpy(to->model + there, from->model + at.first, at.n * 4);
    go_on_together(w, &p, event);
}

/* Columns 1 to 3 of 4 rows of 8 become columns 5 to 7 of the other slice. */
static void copy_rect(worker *w)
{
    place p = choose_place(w, &w->a, &w->b);
    ndr_event *event;
    const ndr_rect_desc desc = { ndr_range_2d(4, 3), 4, { byte_of(&w->a, 0), { 0, 1 }, 32, 0 },
                                 { byte_of(&w->b, 0), { 0, 5 }, 32, 0 } };
    TRY(ndr_buffer_copy_rect(AT(p), w->a.buffer, w->b.buffer, &desc, &event));
    for (size_t r = 0; r < 4; ++r) memcpy(w->b.model + 8 * r + 5, w->a.model + 8 * r + 1, 3 * sizeof(int32_t));
    go_on_together(w, &p, event);
}

/* Queued work keeps the memory of a buffer that is destroyed. */
static void copy_from_temporary(worker *w)
{
    chain *c = any_chain(w);
    place p = choose_place(w, c, NULL);
    const part at = any_part(w);
    ndr_buffer *temporary;
    ndr_event *event, **const to = wanted(w, &p, &event);
    for (size_t i = 0; i < at.n; ++i) c->model[at.first + i] = (int32_t)random_bits(&w->random);
    TRY(ndr_buffer_create_from(context, at.n * 4, c->model + at.first, &temporary));
    const ndr_status status = ndr_buffer_copy(AT(p), temporary, 0, c->buffer, byte_of(c, at.first), at.n * 4, to);
    ndr_buffer_destroy(temporary);
    TRY(status);
    go_on(w, c, p.queue, event);
}

static void launch_on_new_view(worker *w)
{
    place p = choose_place(w, &w->a, NULL);
    ndr_buffer *view;
    ndr_event *event, **const to = wanted(w, &p, &event);
    TRY(ndr_buffer_create_view(flip(w) ? viewed : w->view, 0, 4, &view)); /* another thread's first int, maybe */
    ndr_buffer_destroy(view);
    TRY(ndr_buffer_create_view(w->view, 0, slice_ints * 4, &view));
    const ndr_status status = ndr_launch_event(AT(p), add, to, ndr_range_1d(slice_ints), view, 0, 1);
    ndr_buffer_destroy(view);
    TRY(status);
    add_to_model(&w->a, (part){ 0, slice_ints }, 1);
    go_on(w, &w->a, p.queue, event);
}

static void map(worker *w)
{
    place p = choose_place(w, &w->a, NULL);
    const part at = any_part(w);
    void *address;
    ndr_event *event = NULL;
    TRY(ndr_buffer_map(AT(p), w->view, NDR_MAP_READ_WRITE, at.first * 4, at.n * 4, &address));
    int32_t *const mapped = address;
    expect_ints(w, mapped, w->a.model + at.first, at.n, "a mapping");
    end(w, &w->a);
    for (size_t i = 0; i < at.n; ++i) w->a.model[at.first + i] = mapped[i] = (int32_t)random_bits(&w->random);
    p = choose_place(w, &w->a, NULL);
    if (is_in_order(p.queue) && flip(w)) TRY(ndr_buffer_unmap(AT(p), w->view, mapped, NULL));
    else TRY(ndr_buffer_unmap(AT(p), w->view, mapped, &event));
    go_on(w, &w->a, p.queue, event);
}

/* ---- operations: order ---- */

static void mark(worker *w)
{
    chain *c = any_chain(w);
    place p = choose_place(w, c, NULL);
    ndr_event *event = NULL;
    if (flip(w) || (fails_in_shared && !is_in_order(p.queue))) TRY(ndr_queue_mark(AT(p), &event));
    else TRY(ndr_queue_barrier(AT(p), &event));
    go_on(w, c, p.queue, event);
}

static void wait_for_chain(worker *w) { sync(w, any_chain(w)); }

static void use_queue(worker *w)
{
    ndr_queue *line = queues[below(w, fails_in_shared ? QUEUES - 1 : QUEUES)];
    uint64_t time_ns;
    switch (below(w, 4)) {
    case 0: TRY(ndr_queue_finish(line)); return;
    case 1: TRY(ndr_queue_finish_timed(line, &time_ns)); return;
    case 2: TRY(ndr_queue_barrier(line, NULL)); return;
    default: TRY(ndr_queue_flush(line));
    }
    const ndr_status status = ndr_queue_finish_within(line, 0);
    if (status != NDR_TIMEOUT) TRY(status);
}

static void query(worker *w)
{
    ndr_event_state state;
    const chain *c = any_chain(w);
    TRY(ndr_event_get_state(c->last ? c->last : go, &state));
    if (state == NDR_EVENT_FAILED) is_wrong(w, "an event has failed");
}

static void use_passed_on(worker *w)
{
    ndr_event *event = atomic_exchange(&passed_on, NULL);
    if (event && flip(w)) TRY(ndr_event_wait(event));
    chain *c = any_chain(w);
    place p = choose_place(w, c, NULL);
    ndr_event *behind;
    p.waits[p.count++] = event;
    TRY(ndr_queue_mark(AT(p), &behind));
    go_on(w, c, NULL, behind);
    ndr_event_destroy(event);
}

static void count_call(ndr_status status, const char *sentence, void *user)
{
    worker *w = user;
    if (status != NDR_OK) is_wrong(w, "a callback reports a failure");
    atomic_fetch_add(&calls_made, 1);
}

static void add_callback(worker *w)
{
    const chain *c = any_chain(w);
    TRY(ndr_event_set_callback(c->last ? c->last : go, count_call, w));
    atomic_fetch_add(&calls_wanted, 1);
}

static void complete(ndr_status status, const char *sentence, void *gate)
{
    if (ndr_event_complete(gate) != NDR_OK) atomic_store(&must_stop, true);
    ndr_event_destroy(gate);
    atomic_fetch_add(&calls_made, 1);
}

/* Work that waits for an event of the program. This thread ends it, or one of libndr's. Until then this thread must not
 * wait for the shared queue. */
static void hold_back(worker *w)
{
    chain *c = any_chain(w);
    place p = choose_place(w, c, NULL);
    ndr_event *event, *gate;
    if (!can_hold_back) return;
    TRY(ndr_event_create(context, &gate));
    p.waits[p.count++] = gate;
    const ndr_status status = ndr_launch_event(AT(p), add, &event, ndr_range_1d(slice_ints), c->buffer, (int)c->first, 1);
    if (flip(w) && ndr_event_set_callback(go, complete, gate) == NDR_OK) {
        atomic_fetch_add(&calls_wanted, 1);
    } else {
        if (is_failed(w, ndr_event_complete(gate), "ndr_event_complete(gate)")) return;
        ndr_event_destroy(gate);
    }
    TRY(status);
    add_to_model(c, (part){ 0, slice_ints }, 1);
    go_on(w, c, p.queue, event);
}

/* Work that waits for an event that fails, in the shared queue out of order, or on queues of its own: if a thread waits
 * for all of a queue, it gets the failures of others. */
static void fail_work(worker *w)
{
    ndr_queue *line = queues[QUEUES - 1], *other = line;
    ndr_event *gate, *behind[2];
    char why[40];
    if (!can_hold_back || !can_fail) return;
    sync(w, &w->b);
    snprintf(why, sizeof why, "lost by %u at %u", w->index, w->operation);
    if (!fails_in_shared) TRY(ndr_queue_create(context, NULL, &line));
    if (!fails_in_shared) TRY(ndr_queue_create(context, NULL, &other));
    TRY(ndr_event_create(context, &gate));
    TRY(ndr_launch_event(ndr_after(line, gate), add, &behind[0], ndr_range_1d(32), whole, (int)w->b.first, 1));
    TRY(ndr_launch_event(ndr_after(other, behind[0]), add, &behind[1], ndr_range_1d(32), whole,
                         (int)w->b.first, 1));
    TRY(ndr_event_fail(gate, NDR_NOT_FOUND, why));
    for (int i = 0; i < 2; ++i) {
        const ndr_status status = ndr_event_wait(behind[i]);
        if (status != NDR_NOT_FOUND || !strstr(ndr_last_error(), why)) is_wrong(w, "the failure is not reported");
        ndr_event_destroy(behind[i]);
    }
    ndr_event_destroy(gate);
    if (fails_in_shared) return;
    ndr_queue_destroy(other);
    ndr_queue_destroy(line);
}

static ndr_status run_task(void *user)
{
    atomic_fetch_add(&calls_made, 1);
    return NDR_OK;
}

static void add_task(worker *w)
{
    chain *c = any_chain(w);
    place p = choose_place(w, c, NULL);
    ndr_event *event, **const to = wanted(w, &p, &event);
    TRY(ndr_host_task(AT(p), run_task, NULL, to));
    atomic_fetch_add(&calls_wanted, 1);
    go_on(w, c, p.queue, event);
}

/* ---- operations: whole operations, on slices of `whole` ---- */

static int32_t reduced(const worker *w, ndr_op op, part at)
{
    int32_t r = op == NDR_OP_SUM ? 0 : INT32_MIN;
    for (size_t i = at.first; i < at.first + at.n; ++i) {
        const int32_t x = w->b.model[i];
        r = op == NDR_OP_SUM ? (int32_t)((uint32_t)r + (uint32_t)x) : r > x ? r : x;
    }
    return r;
}

static void reduce(worker *w)
{
    chain *c = &w->b;
    place p = choose_place(w, c, NULL);
    const part at = any_part(w);
    const bool is_sum = flip(w);
    const ndr_reduce_desc desc = { .dtype = NDR_DTYPE_I32, .op = is_sum ? NDR_OP_SUM : NDR_OP_MAX,
                                   .method = is_sum ? NDR_REDUCE_TREE : NDR_REDUCE_ATOMIC,
                                   .input = { whole, c->first + at.first }, .count = at.n, .output = { results, w->index } };
    ndr_event *event, **const to = wanted(w, &p, &event);
    const int32_t expected = reduced(w, desc.op, at);
    TRY(ndr_reduce(AT(p), &desc, to));
    go_on(w, c, p.queue, event);
    int32_t got = 0;
    p = choose_place(w, c, NULL);
    TRY(ndr_buffer_read(AT(p), results, w->index * sizeof got, sizeof got, &got, NULL));
    expect_ints(w, &got, &expected, 1, is_sum ? "a sum" : "a maximum");
    end(w, c);
}

static void expect_product(worker *w, const float *a, const float *b, const float *got)
{
    for (size_t i = 0; i < M; ++i)
        for (size_t j = 0; j < N; ++j) {
            float sum = 0; /* whole numbers: exact */
            for (size_t k = 0; k < K; ++k) sum += a[i * K + k] * b[k * N + j];
            if (got[i * N + j] != sum) is_wrong(w, "a product is wrong");
        }
}

static void multiply(worker *w)
{
    chain *c = &w->b;
    place p = choose_place(w, c, NULL);
    float host[MATRICES] = { 0 };
    const size_t first = w->index * MATRICES;
    for (size_t i = 0; i < M * K + K * N; ++i) host[i] = (float)below(w, 64);
    TRY(ndr_buffer_write(AT(p), matrices, first * sizeof(float), sizeof host, host, NULL));
    end(w, c);
    p = choose_place(w, c, NULL);
    const ndr_matmul_desc desc = { .dtype = NDR_DTYPE_F32, .a = { matrices, first, M, K, 0 },
                                   .b = { matrices, first + M * K, K, N, 0 },
                                   .c = { matrices, first + M * K + K * N, M, N, 0 } };
    ndr_event *event, **const to = wanted(w, &p, &event);
    TRY(ndr_matmul(AT(p), &desc, to));
    go_on(w, c, p.queue, event);
    p = choose_place(w, c, NULL);
    float got[M * N];
    TRY(ndr_buffer_read(AT(p), matrices, (first + M * K + K * N) * sizeof(float), sizeof got, got, NULL));
    end(w, c);
    expect_product(w, host, host + M * K, got);
}

/* ---- a thread's run ---- */

static const struct {
    const char *name;
    void (*run)(worker *w);
    unsigned weight;
} operations[] = {
    { "launch", launch, 6 },         { "split launch", launch_split, 2 },
    { "prepared launch", run_prepared, 4 }, { "count", launch_count, 6 },
    { "shared prepared launch", run_shared, 4 }, { "get a kernel", get_kernel, 1 },
    { "write", write, 2 },           { "read", read_and_compare, 2 },
    { "async write", write_without_waiting, 2 }, { "async read", read_without_waiting, 2 },
    { "fill", fill, 3 },             { "copy", copy, 3 },
    { "copy a rectangle", copy_rect, 2 }, { "temporary buffer", copy_from_temporary, 2 },
    { "new view", launch_on_new_view, 2 }, { "map", map, 3 },
    { "mark", mark, 2 },             { "wait", wait_for_chain, 2 },
    { "queue", use_queue, 2 },       { "query", query, 2 },
    { "event of another thread", use_passed_on, 2 }, { "callback", add_callback, 1 },
    { "user event", hold_back, 2 },  { "failure", fail_work, 1 },
    { "host task", add_task, 2 },    { "reduce", reduce, 2 },
    { "matmul", multiply, 1 },
};

static size_t any_operation(worker *w)
{
    unsigned all = 0;
    size_t i = 0;
    for (size_t o = 0; o < sizeof operations / sizeof operations[0]; ++o) all += operations[o].weight;
    for (unsigned at = below(w, all); at >= operations[i].weight; ++i) at -= operations[i].weight;
    return i;
}

static unsigned operations_each;

static void *work(void *worker_)
{
    worker *w = worker_;
    for (w->operation = 0; w->operation < operations_each && !atomic_load(&must_stop); ++w->operation) {
        const size_t i = any_operation(w);
        w->name = operations[i].name;
        operations[i].run(w);
    }
    w->name = "the end";
    if (!w->wrong[0]) sync(w, &w->a);
    if (!w->wrong[0]) sync(w, &w->b);
    return NULL;
}

/* ---- before and after ---- */

static int32_t *new_ints(void)
{
    int32_t *made = calloc(slice_ints, sizeof *made);
    assert_non_null(made);
    return made;
}

static chain new_chain(ndr_buffer *buffer, size_t first)
{
    return (chain){ .buffer = buffer, .first = first, .model = new_ints(), .sent = new_ints(), .got = new_ints(),
                    .expected = new_ints() };
}

static void free_chain(chain *c)
{
    ndr_event_destroy(c->last);
    free(c->model);
    free(c->sent);
    free(c->got);
    free(c->expected);
}

static worker new_worker(unsigned index, uint64_t seed)
{
    worker w = { .index = index, .random = (seed + index) << 32, .name = "the start" };
    assert_ok(ndr_buffer_create_view(viewed, index * slice_ints * 4, slice_ints * 4, &w.view));
    assert_ok(ndr_prepare(add, &w.prepared, ndr_range_1d(slice_ints), w.view, 0, 0));
    w.a = new_chain(w.view, 0);
    w.b = new_chain(whole, index * slice_ints);
    return w;
}

static void free_worker(worker *w)
{
    free_chain(&w->a);
    free_chain(&w->b);
    ndr_prepared_destroy(w->prepared);
    ndr_buffer_destroy(w->view);
}

static ndr_buffer *zeroed(size_t bytes)
{
    ndr_buffer *made = buffer_of(bytes, NULL);
    assert_ok(ndr_buffer_fill(queue, made, 0, bytes, &(const int32_t){ 0 }, sizeof(int32_t), NULL));
    return made;
}

static void open_queues(void)
{
    assert_ok(ndr_queue_create(context, NULL, &queues[0]));
    assert_ok(ndr_queue_create(context, &(ndr_queue_desc){ .is_profiling = true }, &queues[1]));
    assert_ok(ndr_queue_create(context, &(ndr_queue_desc){ .spin_ns = -1 }, &queues[2]));
    const ndr_status status = ndr_queue_create(context, &(ndr_queue_desc){ .is_out_of_order = true }, &queues[3]);
    if (status == NDR_UNSUPPORTED) assert_ok(ndr_queue_create(context, NULL, &queues[3]));
    else assert_ok(status);
}

static int open_all(void **state)
{
    if (open_device(state) != 0) return -1;
    slice_ints = device.view_align_bytes > 256 ? device.view_align_bytes / 4 : 64;
    assert_true(slice_ints <= MOST_INTS);
    open_queues();
    add = kernel_of(source, "add");
    add_in_groups = kernel_of(source, "add_in_groups");
    count = kernel_of(source, "count");
    viewed = zeroed(THREADS * slice_ints * 4);
    whole = zeroed(THREADS * slice_ints * 4);
    results = zeroed(THREADS * 4);
    matrices = zeroed(THREADS * MATRICES * sizeof(float));
    counters = zeroed((VALUES + 1) * 4);
    set_counters = zeroed((VALUES + 1) * 4);
    const pair none = { 0, ~0 };
    assert_ok(ndr_prepare(count, &shared, ndr_range_1d(ITEMS), set_counters, ndr_struct(pair, none)));
    assert_ok(ndr_queue_finish(queue));
    can_hold_back = !context->checker; /* a checked launch would wait for the event */
    can_fail = !driver_completes_failed_work();
    ndr_queue *const last = queues[QUEUES - 1];
    fails_in_shared = can_fail && can_hold_back && !is_in_order(last) && !driver_runs_in_order();
    return 0;
}

static int close_all(void **state)
{
    ndr_buffer *const buffers[] = { viewed, whole, results, matrices, counters, set_counters };
    ndr_event_destroy(atomic_exchange(&passed_on, NULL));
    ndr_event_destroy(go);
    ndr_prepared_destroy(shared);
    for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; ++i) ndr_buffer_destroy(buffers[i]);
    for (size_t i = 0; i < QUEUES; ++i) ndr_queue_destroy(queues[i]);
    return close_device(state);
}

static void wait_for_calls(void)
{
    while (atomic_load(&calls_made) < atomic_load(&calls_wanted))
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

static void check_slices(worker *w)
{
    int32_t got[MOST_INTS];
    read_buffer(w->view, got, slice_ints * 4);
    assert_memory_equal(got, w->a.model, slice_ints * 4);
    assert_ok(ndr_buffer_read(queue, whole, byte_of(&w->b, 0), slice_ints * 4, got, NULL));
    assert_memory_equal(got, w->b.model, slice_ints * 4);
}

static void check_counters(const worker *workers)
{
    uint32_t got[VALUES + 1], sum = 0;
    read_buffer(counters, got, sizeof got);
    for (size_t v = 0; v < VALUES; ++v) {
        unsigned expected = 0;
        for (size_t t = 0; t < THREADS; ++t) expected += workers[t].counted[v];
        assert_int_equal(got[v], expected);
    }
    assert_int_equal(got[VALUES], 0);
    read_buffer(set_counters, got, sizeof got);
    for (size_t v = 0; v < VALUES; ++v) sum += got[v];
    assert_int_equal(sum, ITEMS * atomic_load(&shared_runs));
    assert_int_equal(got[VALUES], 0);
}

static void test_threads__get_right_results_from_what_they_share(void **state)
{
    static worker workers[THREADS];
    pthread_t threads[THREADS];
    const uint64_t seed = number_from_env("NDR_TEST_SEED", (uint64_t)time(NULL));
    operations_each = (unsigned)number_from_env("NDR_TEST_OPERATIONS", number_from_env("NDR_TEST_LONG", 0) ? 100000 : 100);
    print_message("NDR_TEST_SEED=%llu, %u operations of each thread\n", (unsigned long long)seed, operations_each);
    assert_ok(ndr_event_create(context, &go));
    for (unsigned i = 0; i < THREADS; ++i) workers[i] = new_worker(i, seed);
    for (unsigned i = 0; i < THREADS; ++i) assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    assert_ok(ndr_event_complete(go));
    for (unsigned i = 0; i < THREADS; ++i) assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (unsigned i = 0; i < THREADS; ++i)
        if (workers[i].wrong[0]) print_error("%s\n", workers[i].wrong);
    assert_false(atomic_load(&must_stop));
    wait_for_calls();
    for (size_t i = 0; i < QUEUES; ++i) {
        const ndr_status status = ndr_queue_finish(queues[i]);
        if (!fails_in_shared || i < QUEUES - 1) assert_ok(status);
        else if (status != NDR_OK) assert_refused(NDR_NOT_FOUND, status, "lost by ");
    }
    for (unsigned i = 0; i < THREADS; ++i) check_slices(&workers[i]);
    check_counters(workers);
    for (unsigned i = 0; i < THREADS; ++i) free_worker(&workers[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads__get_right_results_from_what_they_share),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
