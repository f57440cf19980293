/* doctor_environment.c - the environment variables that libndr reads. docs/devices.md lists them. */
#include "doctor.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct variable {
    const char *name;
    enum { OF_LIBNDR, OF_OTHERS } whose; /* only libndr refuses values */
} variables[] = {
    { "NDR_OPENCL", OF_LIBNDR },      { "NDR_LOG", OF_LIBNDR },           { "NDR_DEVICE", OF_LIBNDR },
    { "NDR_DISABLE", OF_LIBNDR },     { "NDR_QUIRKS", OF_LIBNDR },        { "NDR_CHECK", OF_LIBNDR },
    { "NDR_TRACE", OF_LIBNDR },       { "NDR_DUMP", OF_LIBNDR },          { "NDR_CACHE", OF_LIBNDR },
    { "NDR_CACHE_MIB", OF_LIBNDR },   { "XDG_CACHE_HOME", OF_OTHERS },    { "HOME", OF_OTHERS },
    { "OCL_ICD_VENDORS", OF_OTHERS }, { "OCL_ICD_FILENAMES", OF_OTHERS }, { "POCL_CACHE_DIR", OF_OTHERS },
    { "TMPDIR", OF_OTHERS },          { "NDR_SELFTEST", OF_LIBNDR },
};

enum { VARIABLES = sizeof variables / sizeof variables[0] };

/* ---- values ---- */

void unset_variables(const char *kept)
{
    for (size_t i = 0; i < VARIABLES; ++i) {
        const char *const name = variables[i].name;
        const bool is_kept = strcmp(name, "NDR_OPENCL") == 0 || (kept && strcmp(name, kept) == 0);
        if (variables[i].whose == OF_LIBNDR && !is_kept) unsetenv(name);
    }
}

/* NDR_CACHE and NDR_CACHE_MIB need no device. */
static ndr_status use_value(const char *name)
{
    ndr_context *context;
    if (strncmp(name, "NDR_CACHE", 9) != 0) return setenv("NDR_CACHE", "off", 1), ndr_context_create(NULL, &context);
    const ndr_status status = ndr_cache_get_folder(0, NULL, NULL);
    return status == NDR_NOT_KEPT ? NDR_OK : status;
}

/* In a child: makes a context with one of libndr's variables alone. A sentence that names it is about its value. */
static json_t *try_value(const void *input)
{
    const char *const name = input;
    unset_variables(name);
    set_stage("made a context");
    if (ndr_log_set(NDR_LOG_OFF, NULL, NULL) != NDR_OK) return NULL;
    const ndr_status status = use_value(name);
    const bool is_refused = status != NDR_OK && strstr(ndr_last_error(), name);
    return json_pack("{sb sb so}", "refused", is_refused, "made", status == NDR_OK, "error",
                     text_json(status == NDR_OK ? "" : ndr_last_error()));
}

/* A timeline would replace the file of that name: only its folder is examined. */
static bool check_file_of_trace(report *r, const char *value)
{
    const size_t length = strlen(value);
    if (length < 5 || strcmp(value + length - 5, ".json") != 0) return false;
    char *const path = strdup(strncmp(value, "table,", 6) == 0 ? value + 6 : value);
    if (!path) return false;
    char *const slash = strrchr(path, '/');
    if (slash) *slash = '\0';
    const char *const folder = !slash ? "." : slash == path ? "/" : path;
    const char *const fault = access(folder, F_OK) == 0 ? find_fault_of_folder(folder) : "it does not exist";
    add_finding(r, fault ? FAULT : OK, "environment", fault ? "set NDR_TRACE to a file in a folder of this user" : NULL,
                "NDR_TRACE is \"%s\"%s%s", value, fault ? "; its folder: " : "", fault ? fault : "");
    free(path);
    return true;
}

/* Returns whether the value is refused. */
static bool check_value(report *r, const char *name, const char *value, double seconds)
{
    char why[300];
    if (strcmp(name, "NDR_TRACE") == 0 && check_file_of_trace(r, value)) return false;
    json_t *const result = r->has_dead_driver ? NULL : run_in_child(try_value, name, seconds, why);
    const bool is_refused = json_is_true(json_object_get(result, "refused"));
    if (is_refused)
        add_finding(r, FAULT, "environment", NULL, "%s", json_string_value(json_object_get(result, "error")));
    else if (json_is_true(json_object_get(result, "made")))
        add_finding(r, OK, "environment", NULL, "%s is \"%s\"", name, value);
    else
        add_finding(r, NOTE, "environment", NULL, "%s is \"%s\"; without a device that cannot be checked", name, value);
    json_decref(result);
    return is_refused;
}

/* ---- misspelt names ---- */

extern char **environ;

static bool is_known(const char *name, size_t length)
{
    for (size_t i = 0; i < VARIABLES; ++i)
        if (strlen(variables[i].name) == length && strncmp(variables[i].name, name, length) == 0) return true;
    return strncmp(name, "NDR_TEST_", 9) == 0;
}

static void check_names(report *r)
{
    for (char **v = environ; *v; ++v) {
        const size_t length = strcspn(*v, "=");
        if (strncmp(*v, "NDR_", 4) == 0 && !is_known(*v, length))
            add_finding(r, NOTE, "environment", "docs/devices.md lists the variables",
                        "libndr reads no variable %.*s; is its name misspelt?", (int)length, *v);
    }
}

void check_environment(report *r, double seconds)
{
    bool is_refused[VARIABLES] = { false };
    check_names(r);
    for (size_t i = 0; i < VARIABLES; ++i) {
        const struct variable *const v = &variables[i];
        const char *const value = getenv(v->name);
        if (!value || !*value) continue;
        if (v->whose == OF_LIBNDR) is_refused[i] = check_value(r, v->name, value, seconds);
        else add_finding(r, OK, "environment", NULL, "%s is \"%s\"", v->name, value);
    }
    for (size_t i = 0; i < VARIABLES; ++i) {
        if (is_refused[i]) unsetenv(variables[i].name);
        r->has_refused_value |= is_refused[i];
    }
    unsetenv("NDR_LOG");
    unsetenv("NDR_TRACE");
    unsetenv("NDR_DUMP");
}
