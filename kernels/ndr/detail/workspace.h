/* workspace.h - the head of a queue's workspace. C and OpenCL C compile this file.
 *
 *     | slot 0 | slot 1 | ... | slot 7 | own counter | marks | ... | counters | bytes for anything
 *     0        4        8              32            33            64         1024                 uints
 *
 * A slot holds what the groups of one launch share: a counter of groups, and for some operations one of turns, and a
 * cell. All are 0 before and after the launch. A launch that fails may leave its slot in any state. So launches use the
 * slots in turn, and each one zeroes the next slot before that is used again.
 *
 * The own counter is for operations that initialise it themselves.
 *
 * The counters are 0 before and after a launch, for kernels that run to their end or not at all, unless their context is
 * lost.
 *
 * A mark is set if it holds a launch's own number, ndr_workspace_take_number(). So nothing has to clear marks. */
#ifndef NDR_DETAIL_WORKSPACE_H
#define NDR_DETAIL_WORKSPACE_H

#define NDR_SLOTS 8
#define NDR_SLOT_WORDS 4
#define NDR_SLOT_TAKEN 1 /* offset of the number of turns taken (turns.h), in words */
#define NDR_SLOT_CELL 2 /* offset of the cell in a slot, in words; aligned for a ulong */
#define NDR_OWN_COUNTER (NDR_SLOTS * NDR_SLOT_WORDS)
#define NDR_MARKS (NDR_OWN_COUNTER + 1)
#define NDR_COUNTERS 64
#define NDR_COUNTER_COUNT 960
#define NDR_WORKSPACE_HEAD (NDR_COUNTERS + NDR_COUNTER_COUNT) /* uints before the free bytes */
#define NDR_WORKSPACE_HEAD_BYTES (4 * NDR_WORKSPACE_HEAD)

#endif
