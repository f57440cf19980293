/* replay.c - `ndr replay`: runs a launch again that NDR_DUMP saved. */
#include "replay.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- options ---- */

typedef struct options {
    common common;
    const char *folder;
    bool must_compare, shrinks;
    run_options run;
} options;

enum {
    OPTION_COMPARE = 0x200,
    OPTION_REPEAT,
    OPTION_TIME,
    OPTION_CHECK,
    OPTION_SHRINK,
    OPTION_TOLERANCE,
    OPTION_TIMEOUT
};

static size_t read_count(const struct argp_state *state, const char *option, const char *text, size_t most)
{
    char *end;
    errno = 0;
    const unsigned long long value = strtoull(text, &end, 10);
    if (errno || *end || end == text || *text == '-' || value == 0 || value > most)
        argp_error(state, "%s is \"%s\"; give a number from 1 to %zu", option, text, most);
    return (size_t)value;
}

static double read_tolerance(const struct argp_state *state, const char *text)
{
    char *end;
    const double value = strtod(text, &end);
    if (*end || end == text || !(value >= 0 && value < 1))
        argp_error(state, "--tolerance is \"%s\"; give a number from 0 on, less than 1", text);
    return value;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    options *o = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &o->common; return 0;
    case OPTION_COMPARE: o->must_compare = true; return 0;
    case OPTION_REPEAT: o->run.repeats = read_count(state, "--repeat", arg, 1000000); return 0;
    case OPTION_TIME: o->run.has_times = true; return 0;
    case OPTION_CHECK: o->run.is_checked = true; return 0;
    case OPTION_SHRINK: o->shrinks = true; return 0;
    case OPTION_TOLERANCE: o->run.tolerance = read_tolerance(state, arg); return 0;
    case OPTION_TIMEOUT: o->run.timeout_s = (unsigned)read_count(state, "--timeout", arg, 86400); return 0;
    case ARGP_KEY_ARG:
        if (o->folder) argp_error(state, "too many arguments: \"%s\"", arg);
        o->folder = arg;
        return 0;
    case ARGP_KEY_NO_ARGS: argp_error(state, "name the folder of a launch"); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option replay_options[] = {
    { "compare", OPTION_COMPARE, NULL, 0, "Fail if no results were saved to compare with", 0 },
    { "tolerance", OPTION_TOLERANCE, "R", 0, "Elements of float and double may differ by R times the larger one", 0 },
    { "repeat", OPTION_REPEAT, "N", 0, "Run it N times, or until it fails or differs", 0 },
    { "time", OPTION_TIME, NULL, 0, "Print the times of the runs", 0 },
    { "check", OPTION_CHECK, NULL, 0, "Look for writes outside of buffers, as NDR_CHECK=1 does", 0 },
    { "shrink", OPTION_SHRINK, NULL, 0, "Find the smallest range that fails in the same way, and save that launch", 0 },
    { "timeout", OPTION_TIMEOUT, "S", 0, "End a run after S seconds; 30 with --shrink", 0 },
    { 0 },
};

static const struct argp argp = {
    .options = replay_options,
    .parser = parse_option,
    .args_doc = "DIR",
    .doc = "Runs a launch again that NDR_DUMP saved, on any device, and compares its results.\v"
           "The exit code is 0 if the launch succeeds with the saved results.",
    .children = (const struct argp_child[]){ { .argp = &common_argp, .header = "For all commands:" }, { 0 } },
};

/* ---- the choice of a launch ---- */

static bool has_launch(const char *folder, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s/launch.json", folder, name);
    return name[0] != '.' && access(path, F_OK) == 0;
}

/* Of a folder that has no launch.json, but folders with one: USAGE, and a message with their names. */
static int refuse_many(const char *folder)
{
    char names[1200] = "";
    size_t count = 0, used = 0;
    DIR *const opened = opendir(folder);
    for (const struct dirent *entry; opened && (entry = readdir(opened));) {
        if (!has_launch(folder, entry->d_name)) continue;
        ++count;
        if (used + strlen(entry->d_name) + 8 < sizeof names)
            used += (size_t)sprintf(names + used, "%s%s", used ? ", " : "", entry->d_name);
    }
    if (opened) closedir(opened);
    if (count > 0) fail_with("\"%s\" has %zu launches; name one of them: %s", folder, count, names);
    return count > 0 ? USAGE : DONE;
}

static int choose(const char *folder, saved_launch *l)
{
    char path[4096];
    *l = (saved_launch){ 0 };
    snprintf(path, sizeof path, "%s/launch.json", folder);
    const int error = access(path, F_OK) == 0 ? 0 : errno;
    if (error && refuse_many(folder) != DONE) return USAGE;
    if (error)
        return fail_with("\"%s\" cannot be read: %s; name the folder of a launch, which a program saves if "
                         "NDR_DUMP=FOLDER is set",
                         path, strerror(error));
    return load_launch(folder, l);
}

/* ---- the result ---- */

static const char *outcome_of(const json_t *result) { return json_string_value(json_object_get(result, "outcome")); }

/* Whether it ended as it did when it was saved. One that ended its process then is saved without an end. */
static bool is_same(const saved_launch *l, const json_t *result)
{
    const char *const outcome = outcome_of(result);
    const bool had_no_end = strcmp(l->status, "not ended") == 0 || strcmp(l->status, "crash") == 0;
    const bool has_no_end = strcmp(outcome, "crash") == 0 || strcmp(outcome, "timeout") == 0;
    if (l->is_shrunk && strcmp(l->status, "NDR_OK") == 0) return strcmp(outcome, "different") == 0;
    return strcmp(outcome, l->status) == 0 || (had_no_end && has_no_end);
}

static void copy_members(const json_t *from, json_t *to)
{
    static const char *const members[] = { "status", "sentence", "cl_error", "libndr",
                                           "device", "platform", "driver",   "time_ns" };
    for (size_t i = 0; i < sizeof members / sizeof members[0]; ++i) {
        json_t *const value = json_object_get(from, members[i]);
        if (value) json_object_set(to, members[i], value);
    }
}

static size_t count_compared(const saved_launch *l)
{
    size_t count = 0;
    for (size_t i = 0; i < l->buffer_count; ++i) count += l->buffers[i].after != NULL;
    return count;
}

static json_t *describe(const saved_launch *l, json_t *result)
{
    json_t *const saved = json_object(), *const zeros = json_array();
    copy_members(l->root, saved);
    for (size_t i = 0; i < l->buffer_count; ++i)
        if (l->buffers[i].missing)
            json_array_append_new(zeros, json_pack("{sI ss ss}", "buffer", (json_int_t)i, "name",
                                                   l->buffers[i].name ? l->buffers[i].name : "", "reason",
                                                   l->buffers[i].missing));
    return json_pack("{ss so so so so sI sb}", "kernel", l->kernel, "range", describe_range(&l->range), "saved", saved,
                     "replayed", result, "zeros", zeros, "compared_buffers", (json_int_t)count_compared(l), "same",
                     (int)is_same(l, result));
}

/* ---- text ---- */

static const char *text_of(const json_t *object, const char *key)
{
    const char *const text = json_string_value(json_object_get(object, key));
    return text ? text : "?";
}

/* "(32, 64)" */
static void print_sizes(const char *what, const json_t *sizes)
{
    size_t i;
    json_t *value;
    if (json_array_size(sizes) == 0) return;
    printf(", %s (", what);
    json_array_foreach((json_t *)(uintptr_t)sizes, i, value)
        printf("%s%" JSON_INTEGER_FORMAT, i ? ", " : "", json_integer_value(value));
    printf(")");
}

static bool has_offset(const json_t *range)
{
    const json_t *const offset = json_object_get(range, "offset");
    size_t i = 0;
    while (i < json_array_size(offset) && json_integer_value(json_array_get(offset, i)) == 0) ++i;
    return i < json_array_size(offset);
}

static void print_range(const json_t *range)
{
    print_sizes("global", json_object_get(range, "global"));
    print_sizes("groups", json_object_get(range, "groups"));
    print_sizes("local", json_object_get(range, "local"));
    if (has_offset(range)) print_sizes("offset", json_object_get(range, "offset"));
}

/* A run that crashed has no device. */
static void print_end(const char *when, const json_t *end, const char *how)
{
    const bool is_good = strcmp(how, "NDR_OK") == 0;
    printf("%s", when);
    if (json_object_get(end, "device"))
        printf(" on %s (%s, %s)", text_of(end, "device"), text_of(end, "platform"), text_of(end, "driver"));
    printf(": %s%s%s\n", style_begin(is_good ? GOOD : BAD), how, style_end());
    const char *const sentence = json_string_value(json_object_get(end, "sentence"));
    if (sentence) printf("  %s\n", sentence);
}

static void print_differences(const json_t *list)
{
    size_t i, k;
    json_t *buffer, *element;
    json_array_foreach((json_t *)(uintptr_t)list, i, buffer)
    {
        printf("buffer %" JSON_INTEGER_FORMAT " \"%s\": %" JSON_INTEGER_FORMAT " of %" JSON_INTEGER_FORMAT
               " elements (%s) differ\n",
               json_integer_value(json_object_get(buffer, "buffer")), text_of(buffer, "name"),
               json_integer_value(json_object_get(buffer, "different")),
               json_integer_value(json_object_get(buffer, "elements")), text_of(buffer, "dtype"));
        json_array_foreach(json_object_get(buffer, "first"), k, element)
            printf("  element %" JSON_INTEGER_FORMAT ": %s here, %s saved\n",
                   json_integer_value(json_object_get(element, "element")), text_of(element, "here"),
                   text_of(element, "saved"));
    }
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_times(const json_t *times, const char *key, const char *what)
{
    char shortest[32], median[32], longest[32];
    const size_t count = json_array_size(times);
    double *const sorted = calloc(count + 1, sizeof *sorted);
    for (size_t i = 0; sorted && i < count; ++i)
        sorted[i] = 1e-9 * json_number_value(json_object_get(json_array_get(times, i), key));
    if (sorted) qsort(sorted, count, sizeof *sorted, compare_doubles);
    if (sorted && count > 0)
        printf("%s: shortest %s, median %s, longest %s of %zu runs\n", what, with_prefix(shortest, sorted[0], "s"),
               with_prefix(median, sorted[count / 2], "s"), with_prefix(longest, sorted[count - 1], "s"), count);
    free(sorted);
}

static void print_result(const json_t *data)
{
    const json_t *const saved = json_object_get(data, "saved"), *const here = json_object_get(data, "replayed");
    size_t i;
    json_t *zero;
    printf("kernel \"%s\"", text_of(data, "kernel"));
    print_range(json_object_get(data, "range"));
    printf("\n");
    print_end("saved", saved, text_of(saved, "status"));
    json_array_foreach(json_object_get(data, "zeros"), i, zero)
        printf("buffer \"%s\" begins with zeros, because it was not saved: %s\n", text_of(zero, "name"),
               text_of(zero, "reason"));
    print_end("replayed", here, outcome_of(here));
    print_differences(json_object_get(here, "differences"));
    print_times(json_object_get(here, "times"), "device_ns", "on the device");
    print_times(json_object_get(here, "times"), "host_ns", "on the host");
    const json_int_t compared = json_integer_value(json_object_get(data, "compared_buffers"));
    if (!json_is_true(json_object_get(data, "same"))) printf("It did not end as it did when it was saved.\n");
    else if (strcmp(outcome_of(here), "NDR_OK") != 0) printf("It fails as it did when it was saved.\n");
    else if (compared == 0) printf("It succeeds as it did when it was saved; no results were saved.\n");
    else
        printf("It succeeds with the saved results, in %" JSON_INTEGER_FORMAT " buffer%s.\n", compared,
               compared == 1 ? "" : "s");
}

static void print_shrunk(const json_t *shrunk)
{
    printf("smallest range");
    print_range(json_object_get(shrunk, "range"));
    printf(", after %" JSON_INTEGER_FORMAT " tries\nsaved in %s\n",
           json_integer_value(json_object_get(shrunk, "tries")), text_of(shrunk, "folder"));
}

/* ---- running ---- */

static int code_of(const json_t *result)
{
    const char *const outcome = outcome_of(result);
    static const ndr_status none[] = { NDR_NO_DRIVER, NDR_NO_DEVICE, NDR_NO_MATCHING_DEVICE };
    for (size_t i = 0; i < sizeof none / sizeof none[0]; ++i)
        if (strcmp(outcome, ndr_status_name(none[i])) == 0) return NO_DEVICE;
    return strcmp(outcome, "NDR_OK") == 0 ? DONE : FAILED;
}

static int shrink(const options *o, saved_launch *l, json_t *result, json_t *data)
{
    if (strcmp(outcome_of(result), "NDR_OK") == 0)
        return fail_with("the launch succeeds here, so there is nothing to shrink");
    if (json_is_false(json_object_get(result, "built")))
        return fail_with("the kernel cannot be made here, so no range can be tried: %s", text_of(result, "sentence"));
    json_t *const shrunk = json_object();
    json_object_set_new(data, "shrunk", shrunk);
    return shrink_launch(l, &o->run, result, shrunk);
}

static int replay(const options *o, saved_launch *l)
{
    if (o->must_compare && count_compared(l) == 0)
        return fail_with("no results of this launch were saved (%s), so there is nothing to compare; leave out "
                         "--compare",
                         l->status);
    json_t *const result = run_launch(l, &o->run), *const data = describe(l, result);
    int code = code_of(result);
    if (!o->common.is_json) print_result(data);
    if (o->shrinks && code != NO_DEVICE) {
        code = shrink(o, l, result, data);
        if (code == DONE && !o->common.is_json) print_shrunk(json_object_get(data, "shrunk"));
    }
    if (!o->common.is_json) return json_decref(data), code;
    return print_json(data) == DONE ? code : FAILED;
}

static int run(int argc, char **argv)
{
    enum { SHRINK_TIMEOUT_S = 30 };
    options o = { .run = { .repeats = 1 } };
    saved_launch l;
    parse(&argp, argc, argv, &o);
    o.run.device = o.common.device;
    if (o.shrinks && o.run.timeout_s == 0) o.run.timeout_s = SHRINK_TIMEOUT_S;
    int code = choose(o.folder, &l);
    o.run.is_checked = o.run.is_checked || l.is_checked;
    if (code == DONE) code = replay(&o, &l);
    free_launch(&l);
    return code;
}

const command replay_command = { "replay", "runs a launch again that NDR_DUMP saved", run };
