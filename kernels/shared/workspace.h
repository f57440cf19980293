/* workspace.h - how a queue's workspace begins. C and OpenCL C compile this file.
 *
 *     | slot 0 | slot 1 | ... | slot 7 | own counter | ... | bytes for anything
 *     0        4        8              32                  64                      uints
 *
 * A slot holds the counter, and for some the cell, by which the groups of one launch meet; both are 0 before and after.
 * A launch that fails midway leaves its slot in any state. So launches take the slots in turn, and each zeroes the next
 * one: a slot that was spoilt is whole again before it is its turn.
 *
 * The own counter is for operations that give it its first value themselves. */
#ifndef NDR_SHARED_WORKSPACE_H
#define NDR_SHARED_WORKSPACE_H

#define NDR_SLOTS 8
#define NDR_SLOT_WORDS 4
#define NDR_SLOT_CELL 2 /* word of a slot where the cell is: a place that suits a ulong */
#define NDR_OWN_COUNTER (NDR_SLOTS * NDR_SLOT_WORDS)
#define NDR_WORKSPACE_HEAD 64 /* uints before the bytes for anything */
#define NDR_WORKSPACE_HEAD_BYTES (4 * NDR_WORKSPACE_HEAD)

#endif
