/* rows_sort.h - the operands of a sort, of segments, or of a search for the smallest keys, for their rivals. */
#ifndef ROWS_SORT_H
#define ROWS_SORT_H

#include "bench.h"

typedef struct sort_shape {
    bool has_values;
    size_t count;
    size_t length; /* of segments, which divides the count; 0: one */
    size_t k;      /* of the smallest keys of each segment */
} sort_shape;

/* A key with its value, for libraries that sort structs. */
typedef struct sort_pair {
    uint32_t key, value;
} sort_pair;

/* Keys of u32. The value of each is its index. */
typedef struct sorting {
    sort_shape of;
    shared_memory keys, values, sorted_keys, sorted_values;
    sort_pair *pairs, *sorted_pairs; /* the same for rivals; NULL without values */
} sorting;

extern const work sort_work, merge_sort_work, segments_work, top_k_work;

#endif
