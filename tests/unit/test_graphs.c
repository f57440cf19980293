/* test_graphs.c - random graphs of work, some of which fails in the middle, compared with a model.
 *
 * A graph has up to 24 nodes: users' events, commands and host tasks, in up to three queues, in order and out of
 * order. Each command has a slot of a shared buffer, which it writes once, from the slots of two nodes that it waits
 * for. Up to three threads enqueue the nodes, two end the users' events, and one waits for events meanwhile. Then each
 * node must have run or have failed: for what must have run the slot has the value of the model, and for what failed it
 * is untouched, and the sentence names a node that was to fail and comes before.
 *
 * NDR_TEST_GRAPHS=n makes n graphs, NDR_TEST_LONG=1 100 000. The seed is printed, and NDR_TEST_SEED=s begins with the
 * graph of seed s: its plan is the same, but the order between threads differs. */
#include "driver_faults.h"
#include "reference.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#include "device/context.h"
#include "device/queue.h"

enum {
    MOST_NODES = 24,
    MOST_WAITS = 4,
    MOST_QUEUES = 3,
    MOST_THREADS = 3,
    MOST_POLLS = 300,
    ZERO = MOST_NODES, /* a slot that nobody writes */
    SLOTS = MOST_NODES + 1,
    PITCH = 128, /* ints from slot to slot */
    FIRST = 3,   /* int of a slot that is written */
    INTS = 100,  /* that are written */
    UNTOUCHED = -1,
};

static const char source[] = "#include <ndr/nd_item.clh>\n"
                             "int later(int turns)\n"
                             "{\n"
                             "    uint x = turns;\n"
                             "    for (int i = 0; i < turns; ++i) x = x * x + i;\n"
                             "    return x == 12345 ? 1 : 0;\n"
                             "}\n"
                             "kernel void add(global int *x, int to, int a, int b, int by, int turns, NDR_RANGE(1))\n"
                             "{\n"
                             "    const ndr_item it = NDR_ITEM(1);\n"
                             "    const int i = (int)ndr_global_id(it, 0);\n"
                             "    x[to + i] = x[a + i] + x[b + i] + by + later(turns);\n"
                             "}\n"
                             "kernel void add_in_groups(global int *x, int to, int a, int b, int by, int turns, "
                             "NDR_ND_RANGE(1))\n"
                             "{\n"
                             "    const ndr_nd_item it = NDR_ND_ITEM(1);\n"
                             "    const int i = (int)ndr_global_id(it, 0);\n"
                             "    x[to + i] = x[a + i] + x[b + i] + by + later(turns);\n"
                             "}\n";

typedef enum kind {
    GATE, /* a user's event */
    LAUNCH, SPLIT, PREPARED, COPY, FILL, WRITE, READ, READ_NOW, MARK, BARRIER, TASK, FINISH,
} kind;

static const char *const kind_names[] = { "user's event", "launch", "split launch", "prepared launch", "copy", "fill",
                                          "write", "read", "blocking read", "mark", "barrier", "host task", "finish" };

typedef struct node {
    /* the plan */
    unsigned index;
    kind kind;
    unsigned queue, thread;
    unsigned waits[MOST_WAITS], wait_count; /* nodes */
    unsigned a, b;                          /* slots that it reads */
    bool is_wanted;                         /* its event */
    bool is_destroyed_early;                /* its event, as soon as nobody passes it any more */
    bool fails;
    bool has_callback;
    unsigned ender, trigger;                /* of a gate: who ends it, and after which node */
    bool awaits_end;                        /* of that node; otherwise that it was enqueued */
    int by, turns;
    uint32_t may; /* the failing nodes whose failure may reach it: a bit each */
    ndr_prepared *prepared;
    int32_t sent[INTS], got[INTS];
    /* what happened */
    atomic_uint stage; /* of `stages` */
    atomic_uint users; /* of its event */
    atomic_bool has_run; /* a task */
    ndr_event *event;
    ndr_status status;
    char sentence[300];
} node;

enum stages { PLANNED, ENQUEUED, REFUSED };

typedef struct graph {
    uint64_t seed, random;
    node nodes[MOST_NODES];
    unsigned count, gates, queues, threads;
    bool is_out_of_order[MOST_QUEUES];
    bool blocks;               /* some nodes block the thread that enqueues */
    bool finishes_first;       /* the queues, before the events are waited for */
    bool destroys_queues;      /* before anything is waited for */
    ndr_queue *lines[MOST_QUEUES];
    atomic_bool has_started;
    atomic_uint calls_wanted, calls_made;
    int32_t ints[SLOTS * PITCH];
    atomic_bool is_wrong;
} graph;

static graph g; /* one at a time; a debugger finds the seed here */

static ndr_buffer *x;
static ndr_kernel *add, *add_in_groups;
static bool has_out_of_order, is_fragile, runs_in_any_order;

/* ---- random ---- */

static unsigned below(unsigned n) { return (unsigned)(random_bits(&g.random) >> 33) % n; }
static bool one_in(unsigned n) { return below(n) == 0; }

/* ---- the plan ---- */

static bool is_command_of(const node *n, unsigned q) { return n->kind != GATE && n->queue == q; }
static bool blocks(const node *n) { return n->kind == READ_NOW || n->kind == FINISH; }

/* Whether a failure of the earlier node may reach the later one by the queue alone. */
static bool may_reach_in_queue(const node *from, const node *to)
{
    if (from->kind == GATE || !is_command_of(to, from->queue) || from == to) return false;
    if (from->thread == to->thread && from->index > to->index) return false;
    if (!g.is_out_of_order[to->queue] || !runs_in_any_order) return true;
    if (to->kind == MARK || to->kind == BARRIER || to->kind == TASK || to->kind == FINISH) return true;
    for (unsigned i = g.gates; i < g.count; ++i)
        if (g.nodes[i].kind == BARRIER && is_command_of(&g.nodes[i], to->queue)) return true;
    return false;
}

static bool spread_failures(void)
{
    bool has_changed = false;
    for (unsigned i = 0; i < g.count; ++i) {
        node *const n = &g.nodes[i];
        uint32_t may = n->may | (n->fails ? UINT32_C(1) << i : 0);
        for (unsigned w = 0; w < n->wait_count; ++w) may |= g.nodes[n->waits[w]].may;
        for (unsigned j = 0; j < g.count; ++j)
            if (may_reach_in_queue(&g.nodes[j], n)) may |= g.nodes[j].may;
        has_changed = has_changed || may != n->may;
        n->may = may;
    }
    return has_changed;
}

static void plan_gate(node *n)
{
    n->kind = GATE;
    n->is_wanted = true;
    n->ender = below(2);
    n->trigger = below(g.count);
    n->awaits_end = one_in(2);
}

static kind any_kind(void)
{
    static const kind often[] = { LAUNCH, LAUNCH, LAUNCH, SPLIT, PREPARED, COPY, FILL, WRITE, READ, MARK, BARRIER, TASK,
                                  TASK };
    return often[below(sizeof often / sizeof often[0])];
}

static bool already_waits(const node *n, unsigned for_node)
{
    for (unsigned w = 0; w < n->wait_count; ++w)
        if (n->waits[w] == for_node) return true;
    return false;
}

static void plan_waits(node *n)
{
    const unsigned wanted = n->index > 0 ? below(5) : 0;
    for (unsigned w = 0; w < wanted && w < MOST_WAITS; ++w) {
        const unsigned before = below(n->index);
        if (g.nodes[before].is_wanted && !already_waits(n, before)) n->waits[n->wait_count++] = before;
    }
}

/* The node before it of the same thread in the same in-order queue; ZERO: none. */
static unsigned find_predecessor(const node *n)
{
    if (g.is_out_of_order[n->queue]) return ZERO;
    for (unsigned i = n->index; i-- > g.gates;)
        if (g.nodes[i].thread == n->thread && is_command_of(&g.nodes[i], n->queue)) return i;
    return ZERO;
}

static void plan_command(node *n)
{
    n->kind = g.blocks && one_in(6) ? (one_in(2) ? READ_NOW : FINISH) : any_kind();
    n->queue = below(g.queues);
    n->thread = below(g.threads);
    n->by = (int)(1 + below(1000));
    n->turns = one_in(2) ? 0 : (int)below(20000) / INTS;
    n->is_wanted = !blocks(n) && !one_in(3);
    n->is_destroyed_early = n->is_wanted && one_in(8);
    n->has_callback = n->is_wanted && one_in(16);
    if (n->kind != FINISH) plan_waits(n);
    n->a = n->wait_count > 0 ? n->waits[0] : find_predecessor(n);
    n->b = n->wait_count > 1 ? n->waits[1] : ZERO;
}

/* Two threads in one in-order queue: one command waits for an event that fails, the others for nothing. */
static void plan_two_in_one_queue(void)
{
    g.gates = g.queues = 1;
    g.threads = 2;
    g.count = 16;
    g.is_out_of_order[0] = false;
    plan_gate(&g.nodes[0]);
    g.nodes[0].trigger = 15;
    for (unsigned i = 1; i < g.count; ++i) {
        node *const n = &g.nodes[i];
        *n = (node){ .index = i, .kind = LAUNCH, .thread = i > 3, .a = ZERO, .b = ZERO, .by = (int)i };
        n->is_wanted = i <= 3;
        if (i == 1) n->waits[n->wait_count++] = 0;
    }
}

static void plan_any(void)
{
    g.queues = 1 + below(MOST_QUEUES);
    g.threads = 1 + below(MOST_THREADS);
    g.gates = one_in(8) ? 0 : 1 + below(3);
    g.count = g.gates + 2 + below(MOST_NODES - 1 - g.gates);
    g.blocks = one_in(4);
    for (unsigned q = 0; q < g.queues; ++q) g.is_out_of_order[q] = has_out_of_order && one_in(3);
    for (unsigned i = 0; i < g.gates; ++i) plan_gate(&g.nodes[i]);
    for (unsigned i = g.gates; i < g.count; ++i) plan_command(&g.nodes[i]);
}

/* Intel's runtime crashes if several events of a wait list fail, and out of order where anything fails. It reports work
 * behind failed work as complete, sometimes before other work that it waits for has failed. */
static void plan_one_fragile_failure(void)
{
    for (unsigned q = 0; q < g.queues; ++q) g.is_out_of_order[q] = false;
    for (unsigned i = g.gates; i < g.count; ++i) {
        node *const n = &g.nodes[i];
        unsigned kept = 0, failing = 0;
        for (unsigned w = 0; w < n->wait_count; ++w) {
            const bool may_fail = g.nodes[n->waits[w]].may != 0;
            if (may_fail && failing++ > 0) continue;
            n->waits[kept++] = n->waits[w];
        }
        n->wait_count = kept;
        if (failing > 0) n->may = 1;
        n->a = n->wait_count > 0 ? n->waits[0] : ZERO;
        n->b = n->wait_count > 1 ? n->waits[1] : ZERO;
    }
}

static void plan_failures(void)
{
    const unsigned failures = below(4);
    for (unsigned f = 0; f < failures; ++f) {
        node *const n = &g.nodes[below(f == 0 && g.gates ? g.gates : g.count)];
        n->fails = n->kind == GATE || n->kind == TASK;
        if (!is_fragile || !n->fails) continue;
        n->may = 1;
        plan_one_fragile_failure();
        break;
    }
    for (unsigned i = 0; i < g.count; ++i) g.nodes[i].may = 0;
    while (spread_failures()) {}
}

static void count_users(void)
{
    for (unsigned i = 0; i < g.count; ++i)
        for (unsigned w = 0; w < g.nodes[i].wait_count; ++w)
            atomic_fetch_add(&g.nodes[g.nodes[i].waits[w]].users, 1);
}

static void plan(uint64_t seed)
{
    memset(&g, 0, sizeof g);
    g.seed = seed;
    g.random = seed << 20;
    for (unsigned i = 0; i < MOST_NODES; ++i) g.nodes[i].index = i;
    if (one_in(16)) plan_two_in_one_queue();
    else plan_any();
    plan_failures();
    g.finishes_first = one_in(2);
    g.destroys_queues = !g.finishes_first && one_in(4);
    for (unsigned i = 0; i < g.count; ++i) {
        node *const n = &g.nodes[i];
        if (g.destroys_queues && !blocks(n)) n->is_wanted = true, n->is_destroyed_early = false;
        for (unsigned k = 0; k < INTS; ++k) n->sent[k] = n->by + (int)k, n->got[k] = UNTOUCHED;
    }
    count_users();
}

/* ---- enqueueing ---- */

static void go_wrong(const node *n, const char *what)
{
    if (atomic_exchange(&g.is_wrong, true)) return;
    print_error("graph of seed %llu, node %u of %u (%s, queue %u%s, thread %u): %s; status %s: %s\n",
                (unsigned long long)g.seed, n->index, g.count, kind_names[n->kind], n->queue,
                g.is_out_of_order[n->queue] ? " out of order" : "", n->thread, what, ndr_status_name(n->status),
                n->sentence);
}

static size_t int_of(unsigned slot) { return (size_t)slot * PITCH + FIRST; }
static size_t byte_of(unsigned slot) { return int_of(slot) * sizeof(int32_t); }
static int arg_of(unsigned slot) { return (int)int_of(slot); }

static ndr_status run_task(void *node_)
{
    node *const n = node_;
    atomic_store(&n->has_run, true);
    return n->fails ? ndr_fail(NDR_NOT_FOUND, "lost by <%u>", n->index) : NDR_OK;
}

static ndr_status split(ndr_queue *on, node *n, ndr_event **event)
{
    ndr_nd_range range = ndr_nd_range_1d(INTS, 16);
    range.edge = NDR_EDGE_SPLIT;
    return ndr_launch_event(on, add_in_groups, event, range, x, arg_of(n->index), arg_of(n->a), arg_of(n->b), n->by,
                            n->turns);
}

static ndr_status enqueue_on(ndr_queue *on, node *n, ndr_event **event)
{
    const size_t bytes = INTS * sizeof(int32_t);
    switch (n->kind) {
    case LAUNCH:
        return ndr_launch_event(on, add, event, ndr_range_1d(INTS), x, arg_of(n->index), arg_of(n->a), arg_of(n->b),
                                n->by, n->turns);
    case SPLIT: return split(on, n, event);
    case PREPARED: return ndr_prepared_run(on, n->prepared, event);
    case COPY: return ndr_buffer_copy(on, x, byte_of(n->a), x, byte_of(n->index), bytes, event);
    case FILL: return ndr_buffer_fill(on, x, byte_of(n->index), bytes, &n->by, sizeof n->by, event);
    case WRITE: return ndr_buffer_write(on, x, byte_of(n->index), bytes, n->sent, event);
    case READ: return ndr_buffer_read(on, x, byte_of(n->a), bytes, n->got, event);
    case READ_NOW: return ndr_buffer_read(on, x, byte_of(n->a), bytes, n->got, NULL);
    case MARK: return ndr_queue_mark(on, event);
    case BARRIER: return ndr_queue_barrier(on, event);
    case TASK: return ndr_host_task(on, run_task, n, event);
    default: return NDR_OK;
    }
}

static void note(node *n, ndr_status status)
{
    n->status = status;
    snprintf(n->sentence, sizeof n->sentence, "%s", status == NDR_OK ? "" : ndr_last_error());
}

static void call_back(ndr_status status, const char *sentence, void *user)
{
    atomic_fetch_add(&g.calls_made, 1);
}

static void add_callback(node *n)
{
    const ndr_status status = ndr_event_set_callback(n->event, call_back, n);
    if (status == NDR_OK) atomic_fetch_add(&g.calls_wanted, 1);
    else note(n, status), go_wrong(n, "no callback");
}

/* The last of those that pass an event destroys it. The thread that enqueued it counts as one. */
static void stop_using(node *n)
{
    if (n->is_destroyed_early && atomic_fetch_sub(&n->users, 1) == 1) ndr_event_destroy(n->event);
}

static void wait_until_enqueued(const node *n)
{
    while (atomic_load(&n->stage) == PLANNED) sched_yield();
}

/* False: one of the nodes before was refused. */
static bool collect(node *n, ndr_event **events)
{
    bool are_all = true;
    for (unsigned w = 0; w < n->wait_count; ++w) {
        node *const before = &g.nodes[n->waits[w]];
        wait_until_enqueued(before);
        events[w] = before->event;
        if (atomic_load(&before->stage) != REFUSED) continue;
        n->status = before->status;
        memcpy(n->sentence, before->sentence, sizeof n->sentence);
        are_all = false;
    }
    return are_all;
}

static void enqueue(node *n)
{
    ndr_event *events[MOST_WAITS] = { NULL }, *made = NULL;
    ndr_queue *const line = g.lines[n->queue];
    ndr_event **const to = n->is_wanted ? &made : NULL;
    if (!collect(n, events)) n->is_wanted = false;
    else if (n->kind == FINISH) note(n, ndr_queue_finish(line));
    else if (n->wait_count == 0) note(n, enqueue_on(line, n, to));
    else note(n, enqueue_on(NDR_QUEUE_(ndr_after_all(line, events, n->wait_count)), n, to));
    for (unsigned w = 0; w < n->wait_count; ++w) stop_using(&g.nodes[n->waits[w]]);
    n->event = made;
    if (made && n->has_callback) add_callback(n);
    atomic_store(&n->stage, n->status == NDR_OK ? ENQUEUED : REFUSED);
    if (made) stop_using(n);
}

static void *enqueue_all(void *thread)
{
    while (!atomic_load(&g.has_started)) sched_yield();
    for (unsigned i = g.gates; i < g.count; ++i)
        if (g.nodes[i].thread == (unsigned)(uintptr_t)thread) enqueue(&g.nodes[i]);
    return NULL;
}

/* ---- meanwhile ---- */

static bool has_come(const node *gate)
{
    const node *const n = &g.nodes[gate->trigger];
    if (atomic_load(&n->stage) == PLANNED) return false;
    if (!gate->awaits_end || !n->event || n->is_destroyed_early) return true;
    ndr_event_state state;
    return ndr_event_get_state(n->event, &state) != NDR_OK || state == NDR_EVENT_COMPLETE || state == NDR_EVENT_FAILED;
}

/* What it waits for may never come before the gate ends, hence the limit. */
static void end_gate(node *n)
{
    char why[20];
    for (unsigned i = 0; i < MOST_POLLS && !has_come(n); ++i) sched_yield();
    snprintf(why, sizeof why, "lost by <%u>", n->index);
    const ndr_status status = n->fails ? ndr_event_fail(n->event, NDR_NOT_FOUND, why) : ndr_event_complete(n->event);
    if (status == NDR_OK) return;
    note(n, status);
    go_wrong(n, "the end of a user's event is refused");
}

static void *end_gates(void *ender)
{
    while (!atomic_load(&g.has_started)) sched_yield();
    for (unsigned i = 0; i < g.gates; ++i)
        if (g.nodes[i].ender == (unsigned)(uintptr_t)ender) end_gate(&g.nodes[i]);
    return NULL;
}

static void *watch(void *nothing)
{
    for (unsigned i = 0; i < g.count; ++i) {
        wait_until_enqueued(&g.nodes[i]);
        if (g.nodes[i].event && !g.nodes[i].is_destroyed_early && i % 2) NDR_IGNORE(ndr_event_wait(g.nodes[i].event));
    }
    return nothing;
}

static void run_threads(void)
{
    pthread_t threads[MOST_THREADS + 2];
    unsigned started = 0;
    for (uintptr_t t = 0; t < g.threads; ++t)
        assert_int_equal(pthread_create(&threads[started++], NULL, enqueue_all, (void *)t), 0);
    assert_int_equal(pthread_create(&threads[started++], NULL, end_gates, (void *)(uintptr_t)1), 0);
    if (g.seed % 2) assert_int_equal(pthread_create(&threads[started++], NULL, watch, NULL), 0);
    atomic_store(&g.has_started, true);
    end_gates(NULL);
    for (unsigned t = 0; t < started; ++t) assert_int_equal(pthread_join(threads[t], NULL), 0);
}

/* ---- what must have happened ---- */

static bool is_known(const node *n)
{
    return blocks(n) || atomic_load(&n->stage) == REFUSED || (n->is_wanted && !n->is_destroyed_early);
}

static bool has_failed(const node *n) { return is_known(n) && n->status != NDR_OK; }

static bool must_have_failed(const node *n)
{
    for (unsigned w = 0; w < n->wait_count; ++w)
        if (has_failed(&g.nodes[n->waits[w]])) return true;
    return n->fails && n->kind == GATE;
}

/* A sentence names the node that was to fail: "lost by <3>". Intel's runtime may report a failure of a wait only. Where
 * a queue out of order runs in order, work may fail before what it did not wait for. */
static bool has_reason(const node *n)
{
    const char *const at = strstr(n->sentence, "lost by <");
    if (!at) return (is_fragile || !runs_in_any_order) && n->may != 0;
    return n->may >> strtoul(at + 9, NULL, 10) & 1;
}

/* The failure of a queue is reported once with its reason. Another ndr_queue_finish() may know only that the last
 * launch has failed. */
static bool has_reason_of_queue(const node *n)
{
    return has_reason(n) || (n->may != 0 && strstr(n->sentence, "the last launch was enqueued, but failed"));
}

static void check_status(const node *n)
{
    if (!is_known(n)) return;
    if (has_failed(n)) {
        if (!(n->kind == FINISH ? has_reason_of_queue(n) : has_reason(n))) go_wrong(n, "no reason to fail, or another");
        return;
    }
    if (must_have_failed(n) && !is_fragile) go_wrong(n, "it did not fail, although what it waits for did");
    if (n->fails && n->kind == TASK && atomic_load(&n->has_run)) go_wrong(n, "a task that failed did not");
}

static bool writes(const node *n)
{
    return n->kind == LAUNCH || n->kind == SPLIT || n->kind == PREPARED || n->kind == COPY || n->kind == FILL
           || n->kind == WRITE;
}

static bool reads(const node *n) { return n->kind == READ || n->kind == READ_NOW; }

static int32_t modelled(const node *n, unsigned k)
{
    const int32_t a = g.ints[int_of(n->a) + k], b = g.ints[int_of(n->b) + k];
    switch (n->kind) {
    case LAUNCH:
    case SPLIT:
    case PREPARED: return a + b + n->by;
    case FILL: return n->by;
    case WRITE: return n->sent[k];
    default: return a;
    }
}

static bool holds(const int32_t *got, const node *n)
{
    for (unsigned k = 0; k < INTS; ++k)
        if (got[k] != modelled(n, k)) return false;
    return true;
}

static bool is_all(const int32_t *got, size_t count, int32_t value)
{
    for (size_t k = 0; k < count; ++k)
        if (got[k] != value) return false;
    return true;
}

static void check_values(const node *n)
{
    const int32_t *const slot = &g.ints[(size_t)n->index * PITCH];
    const int32_t *const got = reads(n) ? n->got : slot + FIRST;
    const bool is_untouched = is_all(got, INTS, reads(n) ? UNTOUCHED : 0);
    const bool may_have_run = !has_failed(n) || is_fragile, may_not_have = !is_known(n) ? n->may != 0 : has_failed(n);
    if (!is_all(slot, FIRST, 0) || !is_all(slot + FIRST + INTS, PITCH - FIRST - INTS, 0))
        go_wrong(n, "bytes beside its slot");
    if (!writes(n) && !reads(n)) return;
    if (!(may_have_run && holds(got, n)) && !(may_not_have && is_untouched))
        go_wrong(n, is_untouched ? "it did not run" : holds(got, n) ? "it ran, although it failed" : "a wrong value");
}

static void check_task(const node *n)
{
    if (n->kind != TASK || !is_known(n)) return;
    if (!has_failed(n) && !atomic_load(&n->has_run)) go_wrong(n, "a task did not run");
    if (must_have_failed(n) && atomic_load(&n->has_run) && !is_fragile) go_wrong(n, "a task ran, although it failed");
}

/* ---- a graph ---- */

static void finish(unsigned q)
{
    node report = { .queue = q, .kind = FINISH };
    bool has_reported = false, must_fail = false;
    note(&report, ndr_queue_finish(g.lines[q]));
    for (unsigned i = g.gates; i < g.count; ++i) {
        const node *const n = &g.nodes[i];
        if (!is_command_of(n, q)) continue;
        report.may |= n->may;
        has_reported = has_reported || blocks(n);
        must_fail = must_fail || (atomic_load(&n->stage) == ENQUEUED && n->wait_count > 0 && has_failed(n));
    }
    if (must_fail && !has_reported && report.status == NDR_OK) go_wrong(&report, "the queue does not report a failure");
    if (report.status != NDR_OK && !has_reason_of_queue(&report)) go_wrong(&report, "a wrong failure of a queue");
}

static void wait_for_nodes(void)
{
    for (unsigned i = g.count; i-- > 0;) {
        node *const n = &g.nodes[i];
        if (n->event && !n->is_destroyed_early && atomic_load(&n->stage) == ENQUEUED) note(n, ndr_event_wait(n->event));
    }
}

static void open_nodes(void)
{
    for (unsigned q = 0; q < g.queues; ++q)
        assert_ok(ndr_queue_create(context, &(ndr_queue_desc){ .is_out_of_order = g.is_out_of_order[q] }, &g.lines[q]));
    for (unsigned i = 0; i < g.count; ++i) {
        node *const n = &g.nodes[i];
        if (n->is_destroyed_early) atomic_fetch_add(&n->users, 1);
        if (n->kind == PREPARED)
            assert_ok(ndr_prepare(add, &n->prepared, ndr_range_1d(INTS), x, arg_of(i), arg_of(n->a), arg_of(n->b),
                                  n->by, n->turns));
        if (n->kind == GATE) assert_ok(ndr_event_create(context, &n->event));
        if (n->kind == GATE) atomic_store(&n->stage, ENQUEUED);
    }
    assert_ok(ndr_buffer_fill(queue, x, 0, sizeof g.ints, &(const int32_t){ 0 }, sizeof(int32_t), NULL));
    assert_ok(ndr_queue_finish(queue));
}

/* Intel's runtime hangs if an out-of-order queue is released when its work has just ended, unless clFinish() is called:
 * tools/ndr/faults/queues.c, `released`. */
static void destroy_queues(void)
{
    for (unsigned q = 0; q < g.queues; ++q) {
        ndr_queue *const line = g.lines[q];
        g.lines[q] = NULL;
        if (is_fragile && line && line->is_out_of_order) assert_int_equal(clFinish(line->cl), CL_SUCCESS);
        ndr_queue_destroy(line);
    }
}

static void close_nodes(void)
{
    for (unsigned i = 0; i < g.count; ++i) {
        if (!g.nodes[i].is_destroyed_early) ndr_event_destroy(g.nodes[i].event);
        ndr_prepared_destroy(g.nodes[i].prepared);
    }
    while (atomic_load(&g.calls_made) < atomic_load(&g.calls_wanted)) sched_yield();
    destroy_queues();
}

static void check_nodes(void)
{
    assert_ok(ndr_buffer_read(queue, x, 0, sizeof g.ints, g.ints, NULL));
    for (unsigned i = 0; i < g.count; ++i) {
        check_status(&g.nodes[i]);
        check_values(&g.nodes[i]);
        check_task(&g.nodes[i]);
    }
}

/* For whoever looks for the fault. */
static void print_graph(void)
{
    for (unsigned i = 0; i < g.count; ++i) {
        const node *const n = &g.nodes[i];
        print_error("  %2u %-15s queue %u%s thread %u%s%s%s behind", n->index, kind_names[n->kind], n->queue,
                    g.is_out_of_order[n->queue] ? " out of order" : "", n->thread, n->fails ? " fails" : "",
                    n->is_wanted ? " event" : "", n->is_destroyed_early ? " destroyed early" : "");
        for (unsigned w = 0; w < n->wait_count; ++w) print_error(" %u", n->waits[w]);
        print_error("; %s\n", is_known(n) ? ndr_status_name(n->status) : "unknown");
    }
}

static bool run_graph(uint64_t seed)
{
    plan(seed);
    open_nodes();
    run_threads();
    if (g.destroys_queues) destroy_queues();
    for (unsigned q = 0; q < g.queues && g.finishes_first; ++q) finish(q);
    wait_for_nodes();
    for (unsigned q = 0; q < g.queues && !g.finishes_first && !g.destroys_queues; ++q) finish(q);
    check_nodes();
    if (atomic_load(&g.is_wrong)) print_graph();
    close_nodes();
    return !atomic_load(&g.is_wrong);
}

static void test_graphs__run_or_fail_as_their_model(void **state)
{
    skip_where_launches_are_waited_for();
    const uint64_t otherwise = number_from_env("NDR_TEST_LONG", 0) ? 100000 : quick() ? 5 : 200;
    const uint64_t seed = number_from_env("NDR_TEST_SEED", (uint64_t)time(NULL));
    const uint64_t count = number_from_env("NDR_TEST_GRAPHS", otherwise);
    unsigned wrong = 0;
    print_message("NDR_TEST_SEED=%llu, %llu graphs\n", (unsigned long long)seed, (unsigned long long)count);
    for (uint64_t i = 0; i < count; ++i) wrong += !run_graph(seed + i);
    assert_int_equal(wrong, 0);
}

/* ---- a group ---- */

static bool makes_out_of_order(void)
{
    ndr_queue *line = NULL;
    const ndr_status status = ndr_queue_create(context, &(ndr_queue_desc){ .is_out_of_order = true }, &line);
    ndr_queue_destroy(line);
    return status == NDR_OK;
}

static int open_all(void **state)
{
    if (open_device(state) != 0) return -1;
    x = buffer_of(sizeof g.ints, g.ints);
    add = kernel_of(source, "add");
    add_in_groups = kernel_of(source, "add_in_groups");
    has_out_of_order = makes_out_of_order();
    is_fragile = driver_completes_failed_work();
    runs_in_any_order = has_out_of_order && !context->checker && !driver_runs_in_order();
    return 0;
}

static int close_all(void **state)
{
    ndr_buffer_destroy(x);
    return close_device(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_graphs__run_or_fail_as_their_model),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
