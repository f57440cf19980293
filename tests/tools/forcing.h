/* forcing.h - run each row of an operation, not only the row that the device would choose. */
#ifndef NDR_TESTS_FORCING_H
#define NDR_TESTS_FORCING_H

#include "support.h"

#include "ops/ops.h"

/* Make the shared context take the row of that name, NULL for its own choice. */
void force(const ndr_operation *operation, const char *row);

/* Whether the shared context can take a row without compiling its kernels for minutes. */
bool takes_row(const ndr_operation *operation, const ndr_op_row *row);

/* Whether a row, or what is forced, is the one of that name. */
bool is_row(const ndr_op_row *row, const char *name);
bool is_forced(const ndr_operation *operation, const char *name);

/* The row of that name; the test fails if there is none. */
const ndr_op_row *row_of(const ndr_operation *operation, const char *name);

/* The row that run_rows() forces; NULL if the device chooses. */
extern const ndr_op_row *forced_row;

typedef struct row_tests {
    const struct CMUnitTest *all, *results;
    size_t all_count, result_count;
    bool (*is_chosen)(const ndr_op_row *row);
} row_tests;

/* Run an operation's tests: `all` of them with the device's choice, then `results` with each other row forced that the
 * device can take. `is_chosen` reports the rows that it chooses anyway. With NDR_TEST_PART=K/N only every Nth test
 * runs, from the Kth; with NDR_TEST_ROWS, a list of names, only those rows are forced; with NDR_TEST_QUICK no test that
 * only looks for refusals runs. Returns the number of failures. */
int run_rows(const ndr_operation *operation, const row_tests *tests);

#endif
