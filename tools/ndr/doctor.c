/* doctor.c - `ndr doctor`: what is wrong with a machine, and how to mend it. */
#include "doctor.h"
#include "operation.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

typedef struct options {
    common common;
    double seconds;
    faults_run faults;
} options;

enum { OPTION_FAULTS = 0x200 };

static const choice words_of_faults[] = {
    { "none", NO_FAULTS }, { "open", OPEN_FAULTS }, { "all", ALL_FAULTS }, { 0 }
};

static const struct argp_option list[] = {
    { "faults", OPTION_FAULTS, "WHICH", 0,
      "The known faults of drivers whose reproducers run: none, open (those of such drivers that libndr cannot avoid; "
      "default) or all, which takes minutes",
      0 },
    { "timeout", 't', "SECONDS", 0, "How long a driver may take for a step; 60 if not given", 0 },
    { 0 },
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    options *o = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &o->common; return 0;
    case ARGP_KEY_ARG: argp_error(state, "too many arguments: \"%s\"", arg); return 0;
    case OPTION_FAULTS: o->faults = (faults_run)read_word(state, "--faults", arg, words_of_faults); return 0;
    case 't': o->seconds = read_positive(state, "--timeout", arg, 86400); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    .options = list,
    .parser = parse_option,
    .doc =
        "Looks for what keeps libndr from working on this machine: the environment, folders, device nodes, the OpenCL "
        "loader, drivers, and on each device a kernel and the reproducers of known faults. Each fault is printed with "
        "its fix. With --device only that device is tried.",
    .children = (const struct argp_child[]){ { .argp = &common_argp }, { 0 } },
};

/* ---- findings ---- */

static const struct {
    const char *name, *shown;
    style style;
} levels[] = { [OK] = { "ok", "ok", GOOD }, [NOTE] = { "note", "note", WARNING }, [FAULT] = { "fault", "FAULT", BAD } };

void add_finding(report *r, level l, const char *check, const char *fix, const char *format, ...)
{
    char *text = NULL;
    va_list args;
    clear_progress();
    va_start(args, format);
    const int length = vasprintf(&text, format, args);
    va_end(args);
    if (fix && !*fix) fix = NULL;
    json_t *const finding = json_pack("{ss ss so}", "check", check, "level", levels[l].name, "text",
                                      text_json(length >= 0 ? text : "(no memory for the text)"));
    if (fix) json_object_set_new(finding, "fix", text_json(fix));
    json_array_append_new(r->findings, finding);
    ++r->counts[l];
    if (!r->is_json)
        print_verdict(levels[l].style, 5, levels[l].shown, length >= 0 ? text : "(no memory for the text)", NULL, fix);
    if (length >= 0) free(text);
}

/* ---- the command ---- */

static void check_version(report *r)
{
    const bool is_same = strcmp(ndr_version(), NDR_VERSION_STRING) == 0;
    add_finding(r, is_same ? OK : NOTE, "version", NULL, "libndr %s%s%s", ndr_version(),
                is_same ? "" : "; the command ndr is of version ", is_same ? "" : NDR_VERSION_STRING);
}

static int end_report(report *r)
{
    const size_t faults = r->counts[FAULT];
    if (r->is_json) {
        const int printed = print_json(
            json_pack("{ss so sI}", "version", ndr_version(), "findings", r->findings, "faults", (json_int_t)faults));
        return printed == DONE && faults == 0 ? DONE : FAILED;
    }
    printf("%zu fault%s, %zu note%s\n", faults, faults == 1 ? "" : "s", r->counts[NOTE],
           r->counts[NOTE] == 1 ? "" : "s");
    json_decref(r->findings);
    return faults == 0 ? DONE : FAILED;
}

static int run(int argc, char **argv)
{
    options o = { .seconds = 60, .faults = OPEN_FAULTS };
    parse(&argp, argc, argv, &o);
    report r = { .findings = json_array(), .is_json = o.common.is_json, .faults = o.faults };
    NDR_IGNORE(ndr_log_set(NDR_LOG_OFF, NULL, NULL)); /* NDR_LOG is for programs; findings have what is logged */
    check_version(&r);
    check_folders(&r);
    check_nodes(&r);
    check_icd_files(&r, o.seconds);
    check_environment(&r, o.seconds);
    check_devices(&r, o.common.device, o.seconds);
    return end_report(&r);
}

const command doctor_command = { "doctor", "says what is wrong with a machine, and how to mend it", run };
