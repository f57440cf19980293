/* forcing.h - each row of an operation, whatever the device would choose. */
#ifndef NDR_TESTS_FORCING_H
#define NDR_TESTS_FORCING_H

#include "ops/ops.h"

/* Make the shared context take the row of that name, NULL for its own choice. */
void force(const ndr_operation *operation, const char *row);

/* Whether the shared context can take a row, and compiling its kernels does not take minutes. */
bool takes_row(const ndr_operation *operation, const ndr_op_row *row);

/* Whether a row, or what is forced, is the one of that name. */
bool is_row(const ndr_op_row *row, const char *name);
bool is_forced(const ndr_operation *operation, const char *name);

/* The row of that name; the test fails if there is none. */
const ndr_op_row *row_of(const ndr_operation *operation, const char *name);

#endif
