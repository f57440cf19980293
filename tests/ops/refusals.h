/* refusals.h - what every operation refuses, tested with a table that each operation supplies. */
#ifndef NDR_TESTS_REFUSALS_H
#define NDR_TESTS_REFUSALS_H

#include "support.h"

/* An operand: a span, or a matrix with its rows one after another. */
typedef struct refusal_operand {
    const char *name;           /* its name in the sentences */
    size_t buffer, offset;      /* where the descriptor has them, by offsetof() */
    size_t pitch;               /* the same for a matrix; 0 for a span */
    size_t cols;                /* elements in a row */
    size_t begin, end;          /* the elements that a request takes, up to the end of the buffer */
    const void *before, *after; /* what the buffer holds; `after` only for the output */
} refusal_operand;

typedef struct refusal_suite {
    const char *call;
    ndr_status (*run)(ndr_queue *queue, const void *desc, ndr_event **event);
    const void *descs; /* requests that work once they have buffers; they differ in the method alone */
    size_t desc_bytes, desc_count;
    size_t dtype;                /* where the descriptor has it, by offsetof() */
    ndr_dtype first_dtype;       /* the types from this one to f64 are taken, */
    unsigned more_dtypes;        /* those of these bits, and no other */
    const char *dtypes;          /* as the sentence lists them */
    refusal_operand operands[4]; /* the last one is the output */
    size_t operand_count;
    bool takes_in_place; /* the output may be exactly an input */
} refusal_suite;

void refuses_a_missing_queue_or_desc(void **suite);
void refuses_types_it_does_not_take(void **suite);
void refuses_elements_past_the_end(void **suite);
void refuses_missing_buffers(void **suite);
void refuses_an_output_that_meets_an_input(void **suite);
void refuses_buffers_of_another_context(void **suite);
void leaves_the_event_alone_when_refused(void **suite);
void refuses_f64_where_the_device_has_none(void **suite);
void refuses_rows_that_would_overlap(void **suite); /* for matrices only, so not in REFUSALS() */

/* The tests of a suite, for the operation's list of tests: test_OPERATION__refuses_... */
#define REFUSAL(operation, suite, behaviour)                                        \
    {                                                                               \
        "test_" #operation "__" #behaviour, behaviour, NULL, NULL, (void *)&(suite) \
    }
#define REFUSALS(operation, suite)                                                                                    \
    REFUSAL(operation, suite, refuses_a_missing_queue_or_desc),                                                       \
        REFUSAL(operation, suite, refuses_types_it_does_not_take),                                                    \
        REFUSAL(operation, suite, refuses_elements_past_the_end), REFUSAL(operation, suite, refuses_missing_buffers), \
        REFUSAL(operation, suite, refuses_an_output_that_meets_an_input),                                             \
        REFUSAL(operation, suite, refuses_buffers_of_another_context),                                                \
        REFUSAL(operation, suite, leaves_the_event_alone_when_refused),                                               \
        REFUSAL(operation, suite, refuses_f64_where_the_device_has_none)

#endif
