/* rows_sort.h - the operands of a sort, for its rivals. */
#ifndef ROWS_SORT_H
#define ROWS_SORT_H

#include "bench.h"

typedef struct sort_shape {
    bool has_values;
    size_t count;
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

extern const work sort_work, merge_sort_work;

#endif
