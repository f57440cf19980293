/* scanned.h - the results of ndr_scan() and ndr_array_scan(), by a plain loop that adds one element after the other. */
#ifndef NDR_TESTS_SCANNED_H
#define NDR_TESTS_SCANNED_H

#include "reference.h"

/* What was combined so far: integers exactly, floats in long double, with what their bound needs. */
typedef struct scanned {
    uint64_t bits;
    long double value, magnitudes;
    size_t count;
} scanned;

/* Of no elements, and of another one. */
scanned scanned_nothing(ndr_dtype dtype, ndr_op op);
scanned scanned_with(ndr_dtype dtype, ndr_op op, scanned before, number x);

/* Whether a scan may give `got`. */
bool scanned_is(ndr_dtype dtype, ndr_op op, scanned wanted, number got);

/* For messages; valid until the next call. */
const char *scanned_text(ndr_dtype dtype, scanned wanted);

/* An element of which products neither overflow nor vanish; of logical operators it often is 0. */
number scanned_element(ndr_dtype dtype, ndr_op op, uint64_t *seed);

/* ndr_arg_of() of a value of the type. */
ndr_arg scanned_arg(ndr_dtype dtype, number x);

#endif
