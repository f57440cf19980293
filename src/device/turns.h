/* turns.h - launches of a checked context, one at a time. */
#ifndef NDR_DEVICE_TURNS_H
#define NDR_DEVICE_TURNS_H

#include <stdatomic.h>

#include "device/order.h"

/* Launches of a checked context take turns. It has the turns of unmap calls, too. */
typedef struct ndr_turns {
    ndr_mutex lock; /* held for a moment only; guards the rest */
    ndr_condition passed;
    bool is_taken;
    atomic_uint waiting;          /* threads that wait for a turn; read without the lock */
    _Atomic(uint64_t) launches;   /* so far */
    struct ndr_overlap *overlaps; /* launches that were enqueued, and not waited for during their turn */
} ndr_turns;

void ndr_turns_init(ndr_turns *turns); /* zeroed memory */
void ndr_turns_destroy(ndr_turns *turns);

/* Wait for a turn; pass it on. It is a state, not a lock: its owner may wait in the driver, and destroy, create and
 * map need no turn. A thread that has one takes no other. */
void ndr_turn_take(ndr_turns *turns);
void ndr_turn_pass(ndr_turns *turns);

/* The number of a new launch, from 1. */
uint64_t ndr_turns_count(ndr_turns *turns);

/* How long a launch is waited for before the log has a warning. Tests lower it. */
extern int64_t ndr_long_wait_ns;

/* Without a turn, before a launch in that order: wait for what it waits for, which may be a host task that needs a
 * turn. `kernel`: its name, for the log. */
ndr_status ndr_turns_wait_before(const ndr_order *order, const char *kernel);

/* With a turn, wait until launch `number` has ended, with success or not. If it does not start, because another thread
 * has enqueued such a host task before it, the others get their turns first. */
ndr_status ndr_turn_wait(ndr_turns *turns, const ndr_event *event, uint64_t number, const char *kernel);

/* Whether a command in that order waits for the end of the host task that this thread runs: then it must not wait for
 * the command. */
bool ndr_waits_for_own_task(const ndr_order *order);

/* A launch was enqueued that is not waited for. */
void ndr_turns_add_overlap(ndr_turns *turns, const ndr_event *event, uint64_t number, const char *kernel);

/* With a turn, after the zones are read: a launch other than `number` that may have written to them since they were
 * last read, as the end of a sentence; empty if there is none. Forgets those that had ended before the turn. */
typedef struct ndr_overlap_text {
    char chars[256];
} ndr_overlap_text;
ndr_overlap_text ndr_turns_take_overlap(ndr_turns *turns, uint64_t number);

#endif
