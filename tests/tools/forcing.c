/* forcing.c - run each row of an operation, not only the row that the device would choose. */
#include "forcing.h"

#include <assert.h>

#include "device/context.h"

void force(const ndr_operation *operation, const char *row) { assert_ok(ndr_op_force(context, operation, row)); }

bool is_row(const ndr_op_row *row, const char *name) { return strcmp(row->name, name) == 0; }

bool is_forced(const ndr_operation *operation, const char *name)
{
    const char *forced = ndr_op_forced(context, operation);
    return forced && strcmp(forced, name) == 0;
}

/* Only rows for items with vector registers have an `unsuited` function. */
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

/* ---- every row ---- */

const ndr_op_row *forced_row;

static const ndr_operation *forced_operation;

static int open_forced(void **state)
{
    if (open_device(state) != 0) return -1;
    force(forced_operation, forced_row->name);
    return 0;
}

static bool is_on_list(const ndr_op_row *row)
{
    const char *list = getenv("NDR_TEST_ROWS");
    return !list || strstr(list, row->name);
}

/* Whether the row remains to be tested: the device can take it, and does not choose it anyway. */
static bool is_left(const ndr_operation *operation, const ndr_op_row *row, bool (*is_chosen)(const ndr_op_row *row))
{
    void *state = NULL;
    const bool is_left = open_device(&state) == 0 && takes_row(operation, row) && !is_chosen(row);
    close_device(&state);
    return is_left;
}

static bool is_in_part(size_t number)
{
    unsigned part = 1, parts = 1;
    const char *text = getenv("NDR_TEST_PART");
    if (text && (sscanf(text, "%u/%u", &part, &parts) != 2 || part < 1 || part > parts)) {
        print_error("NDR_TEST_PART is \"%s\"; write K/N\n", text);
        exit(2);
    }
    return number % parts == part - 1;
}

/* After each test: a row whose needs the device reports has built, if it was taken. A row with a proof may be refused. */
static int check_built(void **state)
{
    (void)state;
    unsigned lacks;
    assert_ok(ndr_op_get_needs(context, NDR_NEEDS_LACKING, &lacks));
    for (size_t i = 0; i < forced_operation->row_count; ++i) {
        const ndr_op_row *row = forced_operation->rows[i];
        if (!row->prove && (row->needs & lacks))
            fail_msg("%s: %s or a row of the same needs did not build, although the device reports them: %s",
                     forced_operation->name, row->name, ndr_op_find_unmet(row, &context->caps, lacks));
    }
    return 0;
}

/* Run those tests of a group that belong to this part. */
static int run_group(const char *name, const struct CMUnitTest *tests, size_t count, CMFixtureFunction open)
{
    struct CMUnitTest part[64];
    size_t taken = 0;
    assert(count <= sizeof part / sizeof part[0]);
    for (size_t i = 0; i < count; ++i) {
        if (!is_in_part(i) || (quick() && strstr(tests[i].name, "__refuses_"))) continue;
        assert(!tests[i].teardown_func);
        part[taken] = tests[i];
        part[taken++].teardown_func = check_built;
    }
    return taken ? _cmocka_run_group_tests(name, part, taken, open, close_device) : 0;
}

int run_rows(const ndr_operation *operation, const row_tests *tests)
{
    forced_operation = operation;
    int failed = run_group(operation->name, tests->all, tests->all_count, open_device);
    for (size_t i = 0; i < operation->row_count; ++i) {
        if (!is_on_list(operation->rows[i]) || !is_left(operation, operation->rows[i], tests->is_chosen)) continue;
        forced_row = operation->rows[i];
        failed += run_group(forced_row->name, tests->results, tests->result_count, open_forced);
    }
    return failed;
}
