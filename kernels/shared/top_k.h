/* top_k.h - what the launches of a selection tell each other of a row. C and OpenCL C compile this file. */
#ifndef NDR_SHARED_TOP_K_H
#define NDR_SHARED_TOP_K_H

/* A row's state, in ulongs. There are two for each row: a round reads one and makes the other. */
#define NDR_TOP_K_SOURCE 0  /* where the elements are that remain: 0 the row, 1 list 0, 2 list 1 */
#define NDR_TOP_K_COUNT 1   /* elements there */
#define NDR_TOP_K_LEFT 2    /* how many of those with the prefix are wanted */
#define NDR_TOP_K_STORED 3  /* elements that are stored */
#define NDR_TOP_K_PREFIX 4  /* the higher bits of the rank of the last element that is wanted */
#define NDR_TOP_K_STATE 5

/* A list is written if it has at most one of so many elements of its source. */
#define NDR_TOP_K_FEWER 4

#endif
