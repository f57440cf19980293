/* doctor_quirks.c - the faults of a device's driver: those that are known, of which libndr avoids some, and those that
 * self-tests found. */
#include "doctor.h"

#include <ndr/ndr_ops.h>
#include <stdlib.h>
#include <string.h>

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

typedef enum seen { NOT_SEEN, ON_ANOTHER_VERSION, ON_THIS_VERSION } seen;

/* `list` is like "PoCL 3.1, 7.0, Mesa 22.3"; such a version is a part of the driver's, "3.1+debian". */
static seen find_seen(const char *list, const char *name, const char *driver)
{
    seen found = NOT_SEEN;
    const char *at = strstr(list, name);
    if (!at) return NOT_SEEN;
    for (at += strlen(name) + strspn(at + strlen(name), " "); *at >= '0' && *at <= '9';) {
        char version[32];
        const size_t length = strcspn(at, ",");
        snprintf(version, sizeof version, "%.*s", (int)length, at);
        if (found != ON_THIS_VERSION) found = strstr(driver, version) ? ON_THIS_VERSION : ON_ANOTHER_VERSION;
        at += length + strspn(at + length, ", ");
    }
    return found;
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

static void report_open_quirk(report *r, const json_t *row)
{
    char *const fault = without_links(json_string_value(json_object_get(row, "fault")));
    char *const instead = without_links(json_string_value(json_object_get(row, "instead")));
    add_finding(r, NOTE, "quirks", instead, "a known fault of this driver that libndr cannot avoid, %s: %s",
                json_string_value(json_object_get(row, "id")), fault ? fault : "");
    free(fault);
    free(instead);
}

typedef struct ids {
    char text[2000];
} ids;

static void add_id(ids *list, const json_t *row)
{
    const size_t used = strlen(list->text);
    snprintf(list->text + used, sizeof list->text - used, "%s%s", used ? ", " : "",
             json_string_value(json_object_get(row, "id")));
}

/* A finding for all that libndr avoids, one for each that the program must avoid, and one for those that were seen on
 * another version. */
void report_quirks(report *r, const json_t *device)
{
    size_t i;
    json_t *row;
    ids avoided = { "" }, elsewhere = { "" };
    const char *const platform = json_string_value(json_object_get(device, "platform"));
    const char *const driver = json_string_value(json_object_get(device, "driver"));
    const char *const name = platform ? find_name(platform) : NULL;
    if (!name) return;
    json_array_foreach(json_object_get(device, "quirks"), i, row) {
        const seen s = find_seen(json_string_value(json_object_get(row, "seen_on")), name, driver);
        const bool is_on = json_is_true(json_object_get(row, "is_on"));
        const bool is_open = strcmp(json_string_value(json_object_get(row, "sign")), "not avoided") == 0;
        if (s != NOT_SEEN && is_on) add_id(&avoided, row);
        if (s == ON_THIS_VERSION && is_open) report_open_quirk(r, row);
        if (s == ON_ANOTHER_VERSION && is_open) add_id(&elsewhere, row);
    }
    if (*avoided.text)
        add_finding(r, OK, "quirks", NULL, "libndr avoids these known faults of %s here: %s (docs/appendix/drivers.md)",
                    name, avoided.text);
    if (*elsewhere.text)
        add_finding(r, OK, "quirks", NULL, "these faults were seen on other versions of %s: %s (docs/appendix/drivers.md)",
                    name, elsewhere.text);
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
