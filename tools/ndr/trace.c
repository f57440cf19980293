/* trace.c - `ndr trace`: runs a program with libndr's tracing on, and shows what it recorded.
 *
 * The program, and each process that it starts, writes its timeline to a folder beside the results. The table and the
 * page come from these files, so that a process that was killed has them, too. */
#include "trace.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- options ---- */

/* Exit codes, if not the program's. */
enum { TRACE_FAILED = 125, NOT_STARTED = 126, NOT_FOUND = 127, SIGNALLED = 128 };

typedef struct options {
    common common;
    const char *prefix, *from;
    double peak_gflops, peak_gbps; /* 0: the trace's best */
    size_t max_bars;               /* of the page */
    char **program;
} options;

enum { MAX_BARS = 0x200, PEAK_GFLOPS, PEAK_GBPS };

static size_t parse_count(const char *text, struct argp_state *state)
{
    char *end;
    const double value = strtod(text, &end);
    if (end == text || *end || !(value >= 1) || value > 1e9)
        argp_error(state, "--max-bars is \"%s\"; give a number from 1 to 1e9", text);
    return (size_t)value;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    options *o = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &o->common; return 0;
    case 'o': o->prefix = arg; return 0;
    case 'f': o->from = arg; return 0;
    case MAX_BARS: o->max_bars = parse_count(arg, state); return 0;
    case PEAK_GFLOPS: o->peak_gflops = read_positive(state, "--peak-gflops", arg, 1e12); return 0;
    case PEAK_GBPS: o->peak_gbps = read_positive(state, "--peak-gbps", arg, 1e12); return 0;
    case ARGP_KEY_ARG:
        o->program = &state->argv[state->next - 1]; /* with all that follows */
        state->next = state->argc;
        return 0;
    case ARGP_KEY_END:
        if (o->from && o->program) argp_error(state, "--from reads a file, so give it no program");
        if (!o->from && !o->program) argp_error(state, "there is no program; write: ndr trace -- PROGRAM ARGUMENTS");
        if (o->prefix && !*o->prefix)
            argp_error(state, "--output is \"\"; give the beginning of a path, such as out/trace");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    .options =
        (const struct argp_option[]){
            { "output", 'o', "PREFIX", 0,
              "Write PREFIX.json, the timeline, and PREFIX.html, the page (default: trace, or the name of --from)", 0 },
            { "from", 'f', "FILE.json", 0, "Read this timeline of NDR_TRACE or ndr_trace_start() and run no program",
              0 },
            { "max-bars", MAX_BARS, "NUMBER", 0,
              "The first so many bars go to the page (default: 2e6, a page of 60 MB)", 0 },
            { "peak-gflops", PEAK_GFLOPS, "NUMBER", 0,
              "The device's GFLOP/s, for the roofline (default: the trace's best)", 0 },
            { "peak-gbps", PEAK_GBPS, "NUMBER", 0,
              "The GB/s of the device's memory, for the roofline (default: the trace's best)", 0 },
            { 0 } },
    .parser = parse_option,
    .args_doc = "-- PROGRAM [ARGUMENT...]\n--from FILE.json",
    .doc =
        "Runs a program that uses libndr, prints a table of its kernels and transfers on stderr, and writes a timeline "
        "for Perfetto and a page that shows timeline, table and roofline in any browser.\v"
        "With --json the table goes to stdout, and the program's own stdout to stderr. The exit code is the program's; "
        "128 + N if signal N ended it; 127 or 126 if it cannot be found or started; 125 if its trace cannot be "
        "written or it made none.",
    .children = (const struct argp_child[]){ { .argp = &common_argp }, { 0 } },
};

/* ---- the program ---- */

static volatile sig_atomic_t child;

/* Signals that another process sends. Those of the terminal reach the program, too. */
static void forward(int number, siginfo_t *info, void *context)
{
    (void)context;
    const int error = errno;
    if (info->si_code <= 0 && child > 0) kill((pid_t)child, number);
    errno = error;
}

static const int forwarded[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2 };

static void catch_signals(sigset_t *set)
{
    struct sigaction action = { .sa_flags = SA_SIGINFO | SA_RESTART, .sa_sigaction = forward };
    sigemptyset(&action.sa_mask);
    sigemptyset(set);
    for (size_t i = 0; i < sizeof forwarded / sizeof forwarded[0]; ++i) {
        sigaddset(set, forwarded[i]);
        struct sigaction old; /* one that is ignored, as by nohup, stays so */
        if (sigaction(forwarded[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(forwarded[i], &action, NULL);
    }
}

/* Starts the program. Gives 0, or an errno. Signals wait until `child` is known. */
static int start(const options *o)
{
    extern char **environ;
    sigset_t set, before;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t actions;
    pid_t made;
    catch_signals(&set);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_init(&actions);
    sigprocmask(SIG_BLOCK, &set, &before);
    posix_spawnattr_setsigmask(&attributes, &before);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    if (o->common.is_json) posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
    const int error = posix_spawnp(&made, o->program[0], &actions, &attributes, o->program, environ);
    if (!error) child = made;
    sigprocmask(SIG_SETMASK, &before, NULL);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return error;
}

/* Runs the program to its end; gives its status, of waitpid(). */
static int run_program(const options *o, const char *folder, int *status)
{
    char *words;
    if (asprintf(&words, "%s/%%p.json", folder) < 0) return ENOMEM;
    setenv("NDR_TRACE", words, 1);
    free(words);
    if (o->common.device) setenv("NDR_DEVICE", o->common.device, 1);
    fflush(NULL);
    const int error = start(o);
    if (error) return error;
    while (waitpid((pid_t)child, status, 0) < 0)
        if (errno != EINTR) return errno;
    child = 0;
    return 0;
}

/* ---- results ---- */

typedef struct results {
    const options *options;
    int status;       /* of the program; -1: none ran */
    json_t *list;     /* an object for each process */
    char title[2000]; /* the command line */
} results;

static char *make_path(const char *prefix, const char *process, const char *extension)
{
    char *path;
    return asprintf(&path, "%s%s%s.%s", prefix, *process ? "." : "", process, extension) < 0 ? NULL : path;
}

static json_t *describe_end(int status)
{
    char text[100];
    if (WIFSIGNALED(status))
        snprintf(text, sizeof text, "The program was ended by signal %d (%s).", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else snprintf(text, sizeof text, "The program ended with exit code %d.", WEXITSTATUS(status));
    return json_string(text);
}

/* Sentences about what is missing. */
static json_t *make_notes(const results *r, const timeline *t, const json_t *table)
{
    char text[300];
    size_t i;
    const json_t *group;
    json_t *const notes = json_array();
    if (r->status > 0) json_array_append_new(notes, describe_end(r->status));
    if (!t->is_complete)
        json_array_append_new(notes, json_string("The process was killed or crashed: what it did after its last "
                                                 "wait may be missing."));
    const long long untimed = json_integer_value(json_object_get(table, "untimed"));
    if (untimed) {
        snprintf(
            text, sizeof text,
            "%lld command%s no times: %s had not ended at the last wait or transfer, or failed, or the driver does "
            "not tell them.",
            untimed, untimed == 1 ? " has" : "s have", untimed == 1 ? "it" : "they");
        json_array_append_new(notes, json_string(text));
    }
    json_array_foreach(t->groups, i, group)
    {
        const char *const labels = json_string_value(json_object_get(group, "labels"));
        const char *const name = json_string_value(json_object_get(group, "name"));
        if (!labels || !name || !*labels) continue;
        snprintf(text, sizeof text, "%s: %s.", name, labels);
        json_array_append_new(notes, json_string(text));
    }
    return notes;
}

static json_t *make_about(const results *r, const timeline *t, const json_t *table)
{
    char when[40] = "";
    const time_t now = time(NULL);
    struct tm local;
    if (localtime_r(&now, &local)) strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S %z", &local);
    return json_pack("{ss ss ss sI sI sf sf so}", "title", r->title, "when", when, "version", ndr_version(), "end_ns",
                     (json_int_t)t->end_ns, "slices", (json_int_t)t->slice_count, "peak_gflops",
                     r->options->peak_gflops, "peak_gbps", r->options->peak_gbps, "notes", make_notes(r, t, table));
}

/* Ends the array of a file whose process could not. */
static void complete(const timeline *t, const char *path)
{
    FILE *const file = t->is_complete ? NULL : fopen(path, "r+");
    if (!file) return;
    const bool is_cut = t->whole_bytes && ftruncate(fileno(file), (off_t)t->whole_bytes) == 0;
    if (is_cut && fseek(file, 0, SEEK_END) == 0) fputs("\n]\n", file);
    fclose(file);
}

static void print_text(const char *path, const json_t *table, const json_t *about, const char *timeline_path)
{
    size_t i;
    const json_t *note;
    table_print(table, stderr);
    json_array_foreach(json_object_get(about, "notes"), i, note) fprintf(stderr, "%s\n", json_string_value(note));
    fprintf(stderr, "ndr trace: wrote %s%s%s\n", path, timeline_path ? " and " : "",
            timeline_path ? timeline_path : "");
}

static int add_result(results *r, const char *page, const char *timeline_path, json_t *table, json_t *about)
{
    json_t *const result = json_pack("{ss ss sO sO}", "page", page, "timeline", timeline_path, "table", table, "notes",
                                     json_object_get(about, "notes"));
    if (json_array_append_new(r->list, result) == 0 || !r->options->common.is_json) return DONE;
    return fail_with("--json cannot print the path \"%s\", because it is not UTF-8", page);
}

/* The timeline `t` of the file. */
static int show_as(results *r, const timeline *t, const char *path, const char *page, bool is_new)
{
    json_t *const table = table_make(t);
    json_t *const about = table ? make_about(r, t, table) : NULL;
    int code = about ? page_write(t, table, about, r->options->max_bars, page)
                     : fail_with("there is no memory for the table of \"%s\"", path);
    if (code == DONE && !r->options->common.is_json) print_text(page, table, about, is_new ? path : NULL);
    if (code == DONE) code = add_result(r, page, path, table, about);
    json_decref(table);
    json_decref(about);
    return code;
}

/* Shows the timeline in `source`, which moves to `path` first, unless that is NULL. */
static int show(results *r, const char *source, const char *path, const char *page)
{
    timeline t;
    int code = timeline_read(&t, source);
    if (code == DONE && path) complete(&t, source);
    if (path && rename(source, path) != 0)
        code = fail_with("the timeline cannot be moved from \"%s\" to \"%s\": %s", source, path, strerror(errno));
    if (code == DONE) code = show_as(r, &t, path ? path : source, page, path != NULL);
    timeline_free(&t);
    return code;
}

/* ---- files ---- */

/* A folder beside the results. NULL: a message was printed. */
static char *make_folder(const char *prefix)
{
    char *folder, *current = *prefix == '/' ? strdup("") : getcwd(NULL, 0);
    if (!current || asprintf(&folder, "%s%s%s.XXXXXX", current, *prefix == '/' ? "" : "/", prefix) < 0) folder = NULL;
    free(current);
    if (!folder) {
        fail_with("there is no memory, or the current folder is gone");
        return NULL;
    }
    const bool has_percent = strstr(folder, "%p") != NULL;
    if (!has_percent && mkdtemp(folder)) return folder;
    if (has_percent) fail_with("\"%s\" contains %%p, which NDR_TRACE replaces; give another --output", folder);
    else
        fail_with("no folder can be made beside \"%s\": %s; give an --output that this user can write to", prefix,
                  strerror(errno));
    free(folder);
    return NULL;
}

static int is_timeline(const struct dirent *entry) { return strstr(entry->d_name, ".json") != NULL; }

/* Shows the timelines of all processes. One gets the names that were asked for, several their numbers as well. */
static int show_all(results *r, const char *folder)
{
    struct dirent **entries;
    const int count = scandir(folder, &entries, is_timeline, versionsort);
    if (count < 0) return fail_with("the folder \"%s\" cannot be read: %s", folder, strerror(errno));
    int code = DONE;
    for (int i = 0; i < count; ++i) {
        char *source, *const process = entries[i]->d_name;
        if (asprintf(&source, "%s/%s", folder, process) < 0) source = NULL;
        *strstr(process, ".json") = '\0';
        char *const json = make_path(r->options->prefix, count > 1 ? process : "", "json");
        char *const page = make_path(r->options->prefix, count > 1 ? process : "", "html");
        if (!r->options->common.is_json && count > 1) fprintf(stderr, "process %s\n", process);
        const bool has_paths = source && json && page;
        if ((has_paths ? show(r, source, json, page) : fail_with("there is no memory for the paths")) != DONE)
            code = FAILED;
        free(source), free(json), free(page), free(entries[i]);
    }
    free(entries);
    if (count == 0)
        code = fail_with(
            "\"%s\" made no trace: it made no context of libndr, or it started a trace itself: trace a program that "
            "uses libndr, and remove its ndr_trace_start()",
            r->options->program[0]);
    return code;
}

static void write_title(results *r)
{
    size_t used = 0;
    for (char **word = r->options->program; word && *word && used < sizeof r->title; ++word)
        used += (size_t)snprintf(r->title + used, sizeof r->title - used, "%s%s", used ? " " : "", *word);
    if (r->options->from) snprintf(r->title, sizeof r->title, "%s", r->options->from);
    /* JSON takes UTF-8 only. */
    json_t *const text = json_string(r->title);
    for (char *c = r->title; !text && *c; ++c)
        if ((unsigned char)*c > 127) *c = '?';
    json_decref(text);
}

/* The exit code that stands for the program's. */
static int code_of(int status) { return WIFSIGNALED(status) ? SIGNALLED + WTERMSIG(status) : WEXITSTATUS(status); }

static json_t *result_json(const results *r)
{
    json_t *const out = json_pack("{ss sO}", "program", r->title, "processes", r->list);
    if (r->status >= 0) json_object_set_new(out, "exit_code", json_integer(code_of(r->status)));
    return out;
}

static int refuse_program(const char *name, int error)
{
    if (error == ENOENT && !strchr(name, '/'))
        return fail_with("\"%s\" cannot be started: no folder of PATH has it; write ./%s if it is in this folder", name,
                         name);
    return fail_with("\"%s\" cannot be started: %s; name a file that this user may run", name, strerror(error));
}

static int trace_program(results *r)
{
    char *const folder = make_folder(r->options->prefix);
    if (!folder) return TRACE_FAILED;
    const int error = run_program(r->options, folder, &r->status);
    const int shown = error ? refuse_program(r->options->program[0], error) : show_all(r, folder);
    rmdir(folder);
    free(folder);
    if (error) return error == ENOENT ? NOT_FOUND : NOT_STARTED;
    const int code = code_of(r->status);
    return code == 0 && shown != DONE ? TRACE_FAILED : code;
}

/* The page is beside the file, unless --output names another place. */
static int trace_file(results *r)
{
    const char *const from = r->options->from, *const dot = strrchr(from, '.');
    char *const name = strndup(from, dot && !strchr(dot, '/') ? (size_t)(dot - from) : strlen(from));
    const char *const prefix = r->options->prefix ? r->options->prefix : name;
    char *const page = prefix ? make_path(prefix, "", "html") : NULL;
    free(name);
    const int code = page ? show(r, r->options->from, NULL, page) : fail_with("there is no memory for the path");
    free(page);
    return code;
}

static int run(int argc, char **argv)
{
    options o = { .max_bars = 2000000 };
    parse_in_order(&argp, argc, argv, &o);
    results r = { .options = &o, .status = -1, .list = json_array() };
    if (o.program && !o.prefix) o.prefix = "trace";
    write_title(&r);
    const int code = o.from ? trace_file(&r) : trace_program(&r);
    if (o.common.is_json && json_array_size(r.list) && print_json(result_json(&r)) != DONE && code == DONE)
        return json_decref(r.list), o.from ? FAILED : TRACE_FAILED;
    json_decref(r.list);
    return code;
}

const command trace_command = { "trace", "runs a program and shows its kernels and transfers in time", run };
