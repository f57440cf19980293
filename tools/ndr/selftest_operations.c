/* selftest_operations.c - the implementations of operations that the device takes, by ndr_selftest() in children. */
#include "selftest.h"

#include <ndr/ndr_ops.h>
#include <string.h>

typedef struct input {
    const char *device;
    const char *only; /* "scan tiles"; NULL: all */
    ndr_selftest_action action;
} input;

typedef struct collecting {
    const input *in;
    json_t *rows; /* of {name, verdict, fault, kept} */
} collecting;

static ndr_selftest_action collect(const ndr_selftest_row *row, void *user)
{
    const collecting *const c = user;
    char name[80], stage[100];
    snprintf(name, sizeof name, "%s %s", row->operation, row->implementation);
    const bool is_asked = !c->in->only || strcmp(c->in->only, name) == 0;
    if (row->is_done && is_asked)
        json_array_append_new(c->rows, json_pack("{ss si so sb}", "name", name, "verdict", (int)row->verdict, "fault",
                                                 text_json(row->fault), "kept", row->is_kept));
    snprintf(stage, sizeof stage, "%s %s", row->is_done ? "ended" : "tested", name);
    set_stage(stage);
    return is_asked ? c->in->action : NDR_SELFTEST_SKIP;
}

static json_t *test_rows(const void *given)
{
    const input *const in = given;
    const collecting c = { in, json_array() };
    ndr_context *context;
    set_stage("opened the device");
    ndr_status status = ndr_context_create(in->device, &context);
    if (status == NDR_OK) status = ndr_selftest(context, collect, (void *)&c);
    json_t *const out = json_pack("{so}", "rows", c.rows);
    if (status == NDR_UNSUPPORTED) json_object_set_new(out, "refused", text_json(ndr_last_error()));
    else if (status != NDR_OK) json_object_set_new(out, "error", text_json(ndr_last_error()));
    set_stage("ended its work");
    if (status == NDR_OK) ndr_context_destroy(context);
    return out;
}

/* The rows; NULL: `why` says why there are none. The caller releases `*result`. */
static json_t *ask(const input *in, double seconds, json_t **result, char why[300])
{
    *result = run_in_child(test_rows, in, seconds, why);
    const char *const error = json_string_value(json_object_get(*result, "error"));
    if (error) snprintf(why, 300, "%s", error);
    return error ? NULL : json_object_get(*result, "rows");
}

/* ---- the report ---- */

static const char *fix_of(const json_t *row)
{
    if (json_integer_value(json_object_get(row, "verdict")) == NDR_VERDICT_UNKNOWN)
        return "free memory of the device, and run `ndr selftest` again";
    return json_is_true(json_object_get(row, "kept"))
               ? "libndr does not use it on this driver any more; update the driver, and report this with the output of "
                 "`ndr doctor --json`"
               : "programs use it, because this is not kept: run `ndr selftest` again with a store that can be written "
                 "(NDR_CACHE), or update the driver; report this with the output of `ndr doctor --json`";
}

static void report_rows(const json_t *result, row_reporter *report, void *user)
{
    size_t i;
    json_t *row;
    const char *const refused = json_string_value(json_object_get(result, "refused"));
    json_array_foreach(json_object_get(result, "rows"), i, row) {
        const char *const fault = json_string_value(json_object_get(row, "fault"));
        const bool is_right = json_integer_value(json_object_get(row, "verdict")) == NDR_VERDICT_RIGHT;
        report(user, json_string_value(json_object_get(row, "name")), is_right ? NULL : fault,
               is_right ? NULL : fix_of(row));
    }
    if (refused) report(user, "operations", refused, NULL);
}

/* ---- each in a child of its own, after a crash ---- */

/* Returns whether its process ended as it should. */
static bool test_alone(const tested_rows *t, const char *name)
{
    char why[300], ignored[300];
    json_t *result, *refused;
    const input run = { t->device, name, NDR_SELFTEST_RUN }, refuse = { t->device, name, NDR_SELFTEST_REFUSE };
    const bool ended = ask(&run, t->seconds, &result, why);
    if (ended) report_rows(result, t->report, t->user);
    else {
        const json_t *const rows = ask(&refuse, t->seconds, &refused, ignored);
        t->report(t->user, name, why, fix_of(json_array_get(rows, 0)));
        json_decref(refused);
    }
    json_decref(result);
    return ended;
}

/* The first of the rows that is not in `seen`; "": there is none. */
static void find_next(const json_t *rows, const json_t *seen, char next[80])
{
    size_t i;
    json_t *row;
    *next = '\0';
    json_array_foreach(rows, i, row) {
        const char *const name = json_string_value(json_object_get(row, "name"));
        if (!*next && name && !json_object_get(seen, name)) snprintf(next, 80, "%s", name);
    }
}

/* What crashed before must do so again: the machine may have been busy. */
static void test_each(const tested_rows *t, const char *why_before)
{
    char next[80], why[300];
    bool all_ended = true;
    json_t *const seen = json_object();
    const input list = { t->device, NULL, NDR_SELFTEST_SKIP };
    do {
        json_t *result;
        const json_t *const rows = ask(&list, t->seconds, &result, why);
        if (!rows) t->report(t->user, "choice of implementations", why, NULL);
        all_ended &= rows != NULL;
        find_next(rows, seen, next);
        json_decref(result);
        if (!*next) break;
        json_object_set_new(seen, next, json_true());
        all_ended &= test_alone(t, next);
    } while (true);
    if (all_ended) t->report(t->user, "operations", why_before, fix_of_chance);
    json_decref(seen);
}

void test_operations(const tested_rows *t)
{
    char why[300];
    json_t *result;
    const input all = { t->device, NULL, NDR_SELFTEST_RUN };
    if (ask(&all, t->seconds, &result, why)) report_rows(result, t->report, t->user);
    else test_each(t, why);
    json_decref(result);
}
