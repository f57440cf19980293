/* doctor_quirks.c - the faults of a device's driver: those that are known, by their reproducers, and those that self-tests
 * found. */
#include "doctor.h"
#include "faults/faults.h"

#include <fcntl.h>
#include <ndr/ndr_cl.h>
#include <ndr/ndr_ops.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

json_t *list_quirks(const ndr_context *context)
{
    ndr_quirk_info rows[200];
    size_t count = 0;
    json_t *const list = json_array();
    if (ndr_context_get_quirks(context, 200, rows, &count) != NDR_OK) return list;
    for (size_t i = 0; i < count && i < 200; ++i)
        json_array_append_new(list, json_pack("{ss ss ss ss ss sb}", "id", rows[i].id, "seen_on", rows[i].seen_on,
                                              "fault", rows[i].fault, "instead", rows[i].instead, "sign", rows[i].sign,
                                              "is_on", rows[i].is_on));
    return list;
}

/* How the table of faults names drivers, and how their platforms are named. */
static const char *const names_of_drivers[][2] = { { "PoCL", "Portable Computing Language" },
                                                   { "Intel CPU", "Intel(R) OpenCL" },
                                                   { "NVIDIA", "NVIDIA CUDA" },
                                                   { "Mesa", "rusticl" },
                                                   { "Oclgrind", "Oclgrind" } };

static const char *find_name(const char *platform)
{
    for (size_t i = 0; i < sizeof names_of_drivers / sizeof names_of_drivers[0]; ++i)
        if (strcasestr(platform, names_of_drivers[i][1])) return names_of_drivers[i][0];
    return NULL;
}

/* Replaces links, "[text](target)", by their texts. */
static char *without_links(const char *text)
{
    char *const out = strdup(text);
    for (char *open = out; open && (open = strchr(open, '[')); ++open) {
        char *const close = strstr(open, "]("), *const end = close ? strchr(close, ')') : NULL;
        if (!end) break;
        memmove(close, end + 1, strlen(end + 1) + 1);
        memmove(open, open + 1, strlen(open + 1) + 1);
    }
    return out;
}

/* ---- reproducers ---- */

typedef struct attempt {
    const char *device; /* as of --device */
    const fault *reproducer;
} attempt;

/* What drivers print when they abort. */
static void silence(void)
{
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere < 0) return;
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
}

static json_t *reproduce(const void *input)
{
    const attempt *const a = input;
    ndr_context *opened;
    silence();
    set_stage("ran the reproducer");
    setenv("NDR_CACHE", "off", 1);
    if (a->reproducer->prepare) a->reproducer->prepare();
    if (ndr_context_create(a->device, &opened) != NDR_OK) return json_pack("{si}", "result", NOT_TRIED);
    void *const device = ndr_context_cl_device(opened);
    ndr_context_destroy(opened);
    return json_pack("{si}", "result", run_fault(a->reproducer, device));
}

/* RIGHT, WRONG or NOT_TRIED; of WRONG `how` says what happened, or is "". */
static int try_reproducer(const char *device, const char *id, double seconds, char how[300])
{
    const attempt a = { device, find_fault(id) };
    *how = '\0';
    if (!a.reproducer) return NOT_TRIED;
    json_t *const outcome = run_in_child(reproduce, &a, seconds, how);
    const json_t *const number = json_object_get(outcome, "result");
    const int result = number ? (int)json_integer_value(number) : outcome ? NOT_TRIED : WRONG;
    json_decref(outcome);
    return result;
}

/* ---- findings ---- */

static void report_open_quirk(report *r, const json_t *row, const char *how)
{
    char *const what = without_links(json_string_value(json_object_get(row, "fault")));
    char *const instead = without_links(json_string_value(json_object_get(row, "instead")));
    add_finding(r, NOTE, "quirks", instead, "this driver has a fault that libndr cannot avoid, %s: %s%s%s%s",
                json_string_value(json_object_get(row, "id")), what ? what : "", *how ? " (Tried: " : "", how,
                *how ? ".)" : "");
    free(what);
    free(instead);
}

/* The driver has it, but not the sign by which libndr tells. */
static void report_unseen_quirk(report *r, const json_t *row)
{
    char fix[300];
    const char *const id = json_string_value(json_object_get(row, "id"));
    snprintf(fix, sizeof fix, "set NDR_QUIRKS=+%s, and report this with the output of `ndr doctor --json`", id);
    add_finding(r, NOTE, "quirks", fix, "this driver has the fault %s, which libndr avoids on others only", id);
}

typedef struct ids {
    char text[4000];
} ids;

static void add_id(ids *list, const char *id)
{
    const size_t used = strlen(list->text);
    snprintf(list->text + used, sizeof list->text - used, "%s%s", used ? ", " : "", id);
}

static void report_ids(report *r, const ids *list, const char *what)
{
    if (*list->text) add_finding(r, OK, "quirks", NULL, "%s: %s", what, list->text);
}

/* There is a finding for each fault that libndr does not avoid, and one for all others that end alike. */
void report_quirks(report *r, const json_t *device, const char *words, double seconds)
{
    size_t i;
    json_t *row;
    ids known = { "" }, avoided = { "" }, absent = { "" }, untried = { "" };
    const json_t *const rows = json_object_get(device, "quirks");
    const char *const platform = json_string_value(json_object_get(device, "platform"));
    const char *const name = platform ? find_name(platform) : NULL;
    json_array_foreach(rows, i, row) {
        const char *const id = json_string_value(json_object_get(row, "id"));
        const char *const sign = json_string_value(json_object_get(row, "sign"));
        const bool is_of_driver = name && strstr(json_string_value(json_object_get(row, "seen_on")), name);
        const bool is_on = json_is_true(json_object_get(row, "is_on")), is_open = strcmp(sign, "not avoided") == 0;
        char how[300];
        const bool is_due = r->faults == ALL_FAULTS || (r->faults == OPEN_FAULTS && is_of_driver && is_open);
        if (!is_due && is_of_driver && (is_on || is_open)) add_id(&known, id);
        if (!is_due) continue;
        show_progress("known faults", i, json_array_size(rows));
        const int result = try_reproducer(words, id, seconds, how);
        if (result == RIGHT) add_id(&absent, id);
        else if (result == NOT_TRIED) add_id(&untried, id);
        else if (is_open) report_open_quirk(r, row, how);
        else if (!is_on && strcmp(sign, "no switch") != 0) report_unseen_quirk(r, row);
        else add_id(&avoided, id);
    }
    show_progress("known faults", json_array_size(rows), json_array_size(rows));
    report_ids(r, &known, "known faults of such drivers, which `ndr doctor --faults=all` tries");
    report_ids(r, &avoided, "this driver has these faults, which libndr avoids (docs/appendix/drivers.md)");
    report_ids(r, &absent, "these known faults do not show on this driver");
    report_ids(r, &untried, "these known faults cannot be tried on this device");
}

/* ---- self-tests ---- */

static ndr_selftest_action add_verdict(const ndr_selftest_row *row, void *verdicts)
{
    char name[80];
    snprintf(name, sizeof name, "%s %s", row->operation, row->implementation);
    if (!row->is_done)
        json_array_append_new(verdicts, json_pack("{ss si so}", "name", name, "verdict", (int)row->verdict, "fault",
                                                  text_json(row->fault)));
    return NDR_SELFTEST_SKIP;
}

/* It fails for operations that have no right implementation, which the list shows. */
json_t *list_verdicts(ndr_context *context)
{
    json_t *const list = json_array();
    set_stage("looked for verdicts of self-tests");
    const ndr_status ignored = ndr_selftest(context, add_verdict, list);
    (void)ignored;
    return list;
}

void report_verdicts(report *r, const json_t *device)
{
    size_t i, counts[NDR_VERDICT_WRONG + 1] = { 0 };
    json_t *row;
    json_array_foreach(json_object_get(device, "verdicts"), i, row) {
        const json_int_t verdict = json_integer_value(json_object_get(row, "verdict"));
        ++counts[verdict];
        if (verdict == NDR_VERDICT_WRONG)
            add_finding(r, NOTE, "self-test", "update the driver, and run `ndr selftest` again",
                        "libndr does not use %s on this driver: %s", json_string_value(json_object_get(row, "name")),
                        json_string_value(json_object_get(row, "fault")));
    }
    if (counts[NDR_VERDICT_UNKNOWN])
        add_finding(r, OK, "self-test", NULL,
                    "%zu implementations of operations are not tested on this driver; `ndr selftest` tests them",
                    counts[NDR_VERDICT_UNKNOWN]);
    else if (counts[NDR_VERDICT_RIGHT])
        add_finding(r, OK, "self-test", NULL, "%zu implementations of operations give right results on this driver",
                    counts[NDR_VERDICT_RIGHT]);
}
