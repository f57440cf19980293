/* sorted.h - the order that ndr_sort() and ndr_top_k() give to keys, by plain comparisons and a stable merge sort. */
#ifndef NDR_TESTS_SORTED_H
#define NDR_TESTS_SORTED_H

#include "reference.h"

/* Which key comes first. end_bit 0: all bits. */
typedef struct key_order {
    ndr_dtype dtype;
    bool is_descending;
    unsigned begin_bit, end_bit;
} key_order;

/* The indices of the keys in their order; equal keys keep theirs. To be freed. */
size_t *sorted_indices(const key_order *order, const unsigned char *keys, size_t count);

typedef enum key_pattern { RANDOM, FEW, EQUAL, UP, DOWN, HIGH_BITS, PATTERNS } key_pattern;

/* Keys to sort, to be freed. */
unsigned char *keys_of(ndr_dtype dtype, size_t count, key_pattern which, uint64_t seed);

#endif
