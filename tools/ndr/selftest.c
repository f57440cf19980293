/* selftest.c - `ndr selftest`: runs on a device what libndr relies on, each part in a process of its own. */
#include "selftest.h"

#include <stdlib.h>
#include <string.h>

typedef struct options {
    common common;
    double seconds;
} options;

static const struct argp_option list[] = {
    { "timeout", 't', "SECONDS", 0, "How long a part may take; 60 if not given", 0 },
    { 0 },
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    options *o = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &o->common; return 0;
    case ARGP_KEY_ARG: argp_error(state, "too many arguments: \"%s\"", arg); return 0;
    case 't': o->seconds = read_positive(state, "--timeout", arg, 86400); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    .options = list,
    .parser = parse_option,
    .doc =
        "Runs on a device what libndr relies on, and compares the results with those of plain C: transfers, samples "
        "of the kernel vocabulary, and each implementation of operations that the device takes. A driver that crashes or "
        "hangs fails one part only. An implementation that fails is not used on this driver any more: the store "
        "(NDR_CACHE) keeps that.",
    .children = (const struct argp_child[]){ { .argp = &common_argp }, { 0 } },
};

/* ---- in a child ---- */

typedef struct input {
    const part *part; /* NULL: only open the device */
    const char *device;
    const char *disabled; /* a word for NDR_DISABLE; NULL: as it is */
} input;

static void disable(const char *word)
{
    char words[400];
    const char *const earlier = getenv("NDR_DISABLE");
    snprintf(words, sizeof words, "%s%s%s", earlier ? earlier : "", earlier && *earlier ? "," : "", word);
    setenv("NDR_DISABLE", words, 1);
}

static ndr_status open_device(trial *t, const char *device)
{
    set_stage("opened the device");
    TRY(ndr_context_create(device, &t->context));
    TRY(ndr_context_get_device(t->context, &t->device));
    return ndr_queue_create(t->context, NULL, &t->queue);
}

/* The context writes programs to the store when it ends. */
static void close_device(trial *t)
{
    set_stage("ended its work");
    ndr_queue_destroy(t->queue);
    ndr_context_destroy(t->context);
}

static json_t *error_json(ndr_status status)
{
    return json_pack("{so si}", "error", text_json(ndr_last_error()), "status", (int)status);
}

static json_t *look_at_device(const void *given)
{
    const input *const in = given;
    trial t = { 0 };
    const ndr_status status = open_device(&t, in->device);
    if (status != NDR_OK) return error_json(status);
    json_t *const out = json_pack("{so so so}", "name", text_json(t.device.name), "platform",
                                  text_json(t.device.platform), "driver", text_json(t.device.driver));
    close_device(&t);
    return out;
}

static json_t *try_part(const void *given)
{
    const input *const in = given;
    trial t = { 0 };
    if (in->disabled) disable(in->disabled);
    ndr_status status = open_device(&t, in->device);
    if (status == NDR_OK) status = in->part->run(&t, in->part);
    if (status != NDR_OK) return error_json(status);
    close_device(&t);
    if (*t.wrong) return json_pack("{so}", "error", text_json(t.wrong));
    return *t.skipped ? json_pack("{so}", "skipped", text_json(t.skipped)) : json_object();
}

/* ---- the report ---- */

typedef enum outcome { PASSED, SKIPPED, FAULTY } outcome;

static const struct {
    const char *name;
    style style;
} outcomes[] = { [PASSED] = { "passed", GOOD }, [SKIPPED] = { "skipped", PLAIN }, [FAULTY] = { "FAILED", BAD } };

typedef struct report {
    const options *options;
    json_t *parts; /* of {name, outcome, text, fix}, without those that are NULL */
    size_t counts[FAULTY + 1];
} report;

static void add_part(report *r, const char *name, outcome o, const char *text, const char *fix)
{
    json_t *const p = json_pack("{ss ss}", "name", name, "outcome", o == FAULTY ? "failed" : outcomes[o].name);
    if (text) json_object_set_new(p, "text", text_json(text));
    if (fix) json_object_set_new(p, "fix", text_json(fix));
    json_array_append_new(r->parts, p);
    ++r->counts[o];
    if (r->options->common.is_json) return;
    clear_progress();
    print_verdict(outcomes[o].style, 7, outcomes[o].name, name, text, fix);
}

const char fix_of_chance[] =
    "it passes when it runs again: run `ndr selftest` again, with a longer --timeout if the machine is busy; if it fails "
    "again, report this with the output of `ndr doctor --json`";

static const char fix_of_drivers[] = "update the driver, and report this with the output of `ndr doctor --json`";

/* Whether the part passes with a word of NDR_DISABLE, or when it runs again, if the word is NULL. */
static bool passes(const report *r, const part *p, const char *word)
{
    char why[300];
    const input in = { p, r->options->common.device, word };
    json_t *const result = run_in_child(try_part, &in, r->options->seconds, why);
    const bool is_right = result && !json_object_get(result, "error");
    json_decref(result);
    return is_right;
}

/* The first word of NDR_DISABLE with which the part passes; "": there is none. */
static void find_word(const report *r, const part *p, char word[40])
{
    const char *rest = p->words;
    int length;
    for (; rest && sscanf(rest, " %39s%n", word, &length) == 1; rest += length)
        if (passes(r, p, word)) return;
    *word = '\0';
}

static void report_fault(report *r, const part *p, const char *why)
{
    char word[40], fix[300];
    if (passes(r, p, NULL)) {
        add_part(r, p->name, FAULTY, why, fix_of_chance);
        return;
    }
    find_word(r, p, word);
    snprintf(fix, sizeof fix, "%s%s%s%s", *word ? "set NDR_DISABLE=" : "", word,
             *word ? ", with which it passes; " : "", fix_of_drivers);
    add_part(r, p->name, FAULTY, why, fix);
}

static void run_part(report *r, const part *p)
{
    char why[300];
    const input in = { p, r->options->common.device, NULL };
    json_t *const result = run_in_child(try_part, &in, r->options->seconds, why);
    const char *const error = json_string_value(json_object_get(result, "error"));
    const char *const skipped = json_string_value(json_object_get(result, "skipped"));
    if (!result || error) report_fault(r, p, error ? error : why);
    else add_part(r, p->name, skipped ? SKIPPED : PASSED, skipped, NULL);
    json_decref(result);
}

/* ---- the parts ---- */

static const part samples[] = {
    { .name = "transfers", .run = test_transfers },
    { .name = "range", .run = test_range },
    { .name = "groups, barriers, local memory", .run = test_groups },
    { .name = "group functions", .run = test_group_functions, .words = "sub_groups" },
    { .name = "atomics", .run = test_atomics, .words = "float_atomics memory_order" },
    { .name = "64-bit atomics", .run = test_long_atomics, .words = "int64_atomics" },
    { .name = "reducers", .run = test_reducers, .words = "sub_groups memory_order" },
};

enum { SAMPLES = sizeof samples / sizeof samples[0] };

static void report_row(void *user, const char *name, const char *fault, const char *fix)
{
    add_part(user, name, fault ? FAULTY : PASSED, fault, fault && !fix ? fix_of_drivers : fix);
}

static void run_parts(report *r)
{
    const tested_rows rows = { r->options->common.device, r->options->seconds, report_row, r };
    for (size_t i = 0; i < SAMPLES; ++i) {
        show_progress(samples[i].name, i, SAMPLES + 1);
        run_part(r, &samples[i]);
    }
    show_progress("operations", SAMPLES, SAMPLES + 1);
    const size_t before = json_array_size(r->parts);
    test_operations(&rows);
    if (json_array_size(r->parts) == before) add_part(r, "operations", SKIPPED, "NDR_SELFTEST is off", NULL);
    show_progress("operations", SAMPLES + 1, SAMPLES + 1);
}

/* ---- the command ---- */

static int end_report(report *r, const json_t *device)
{
    const int code = r->counts[FAULTY] ? FAILED : DONE;
    if (r->options->common.is_json) {
        const int printed =
            print_json(json_pack("{ss sO so sI sI sI}", "version", ndr_version(), "device", device, "parts", r->parts,
                                 "passed", (json_int_t)r->counts[PASSED], "failed", (json_int_t)r->counts[FAULTY],
                                 "skipped", (json_int_t)r->counts[SKIPPED]));
        return printed == DONE ? code : FAILED;
    }
    printf("%zu passed, %zu failed, %zu skipped\n", r->counts[PASSED], r->counts[FAULTY], r->counts[SKIPPED]);
    json_decref(r->parts);
    return fflush(stdout) == 0 ? code : fail_with("the result cannot be written to stdout");
}

static int run_on(const options *o, const json_t *device)
{
    report r = { .options = o, .parts = json_array() };
    if (!o->common.is_json)
        printf("device \"%s\" (%s, driver %s)\n", json_string_value(json_object_get(device, "name")),
               json_string_value(json_object_get(device, "platform")),
               json_string_value(json_object_get(device, "driver")));
    run_parts(&r);
    return end_report(&r, device);
}

static int run(int argc, char **argv)
{
    char why[300];
    options o = { .seconds = 60 };
    parse(&argp, argc, argv, &o);
    const input in = { .device = o.common.device };
    json_t *const device = run_in_child(look_at_device, &in, o.seconds, why);
    const char *const error = json_string_value(json_object_get(device, "error"));
    const ndr_status status = (ndr_status)json_integer_value(json_object_get(device, "status"));
    int code;
    if (error) code = fail_as(status, error);
    else if (!device) code = fail_with("the device does not open: %s; `ndr doctor` looks for the cause", why);
    else code = run_on(&o, device);
    json_decref(device);
    return code;
}

const command selftest_command = { "selftest", "tests on a device what libndr relies on", run };
