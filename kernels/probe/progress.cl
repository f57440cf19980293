/* progress.cl - whether groups that have begun go on while others wait for them.
 *
 * Each group takes the next turn, waits until the group before has had its turn, and ends its own. If one has looked
 * `looks` times in vain, all give up: marks[0] turns are taken, marks[1] is 1 if they gave up, marks[2] turns have
 * ended.
 */
#include "ndr/nd_item.clh"

static inline uint look(volatile global uint *mark) { return atomic_or(mark, 0u); }

/* The group's other items wait at the barrier meanwhile. */
kernel void probe_progress(volatile global uint *marks, const uint looks, NDR_ND_RANGE(1))
{
    const ndr_nd_item it = NDR_ND_ITEM(1);
    if (ndr_local_id(it, 0) == 0) {
        const uint turn = atomic_inc(marks);
        uint left = looks;
        while (left > 0 && look(marks + 2) != turn && look(marks + 1) == 0) --left;
        if (left == 0) atomic_xchg(marks + 1, 1u);
        atomic_inc(marks + 2);
    }
    barrier(CLK_GLOBAL_MEM_FENCE);
}
