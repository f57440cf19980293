/* forcing.c - each row of an operation, whatever the device would choose. */
#include "support.h"

#include "forcing.h"

void force(const ndr_operation *operation, const char *row) { assert_ok(ndr_op_force(context, operation, row)); }

bool is_row(const ndr_op_row *row, const char *name) { return strcmp(row->name, name) == 0; }

bool is_forced(const ndr_operation *operation, const char *name)
{
    const char *forced = ndr_op_forced(context, operation);
    return forced && strcmp(forced, name) == 0;
}

/* A row that suits some devices only is one for items with vector registers. */
bool takes_row(const ndr_operation *operation, const ndr_op_row *row)
{
    const char *before = ndr_op_forced(context, operation);
    const bool takes = (takes_vectors() || !row->unsuited) && ndr_op_force(context, operation, row->name) == NDR_OK;
    force(operation, before);
    return takes;
}

const ndr_op_row *row_of(const ndr_operation *operation, const char *name)
{
    for (size_t i = 0; i < operation->row_count; ++i)
        if (is_row(operation->rows[i], name)) return operation->rows[i];
    fail_msg("%s has no row \"%s\"", operation->name, name);
    return NULL;
}
