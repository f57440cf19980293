/* command.c - what the subcommands of `ndr` share: options, messages, results, progress. */
#include "command.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- options of all subcommands ---- */

static const char *program = "ndr"; /* "ndr NAME" */

enum { OPTION_JSON = 0x100 };

static error_t parse_common(int key, char *arg, struct argp_state *state)
{
    common *c = state->input;
    switch (key) {
    case 'd': c->device = arg; return 0;
    case OPTION_JSON: c->is_json = true; return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option common_options[] = {
    { "device", 'd', "TEXT", 0, "A type (gpu, cpu, accelerator), an index, or part of a name; instead of NDR_DEVICE", 1 },
    { "json", OPTION_JSON, NULL, 0, "Print JSON", 1 },
    { 0 },
};

const struct argp common_argp = { .options = common_options, .parser = parse_common };

static void parse_with(const struct argp *argp, int argc, char **argv, unsigned flags, void *input)
{
    program = argv[0];
    argp_err_exit_status = USAGE;
    argp_parse(argp, argc, argv, flags, NULL, input);
}

void parse(const struct argp *argp, int argc, char **argv, void *input) { parse_with(argp, argc, argv, 0, input); }

void parse_in_order(const struct argp *argp, int argc, char **argv, void *input)
{
    parse_with(argp, argc, argv, ARGP_IN_ORDER, input);
}

size_t read_count(const struct argp_state *state, const char *option, const char *text, size_t least, size_t most)
{
    char *end;
    errno = 0;
    const unsigned long long value = strtoull(text, &end, 10);
    if (errno || *end || end == text || *text == '-' || value < least || value > most)
        argp_error(state, "%s is \"%s\"; give a number from %zu to %zu", option, text, least, most);
    return (size_t)value;
}

double read_positive(const struct argp_state *state, const char *option, const char *text, double most)
{
    char *end;
    const double value = strtod(text, &end);
    if (end == text || *end || !(value > 0) || value > most)
        argp_error(state, "%s is \"%s\"; give a number, more than 0 and at most %.0f", option, text, most);
    return value;
}

/* ---- time ---- */

double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int compare_times(const void *left, const void *right)
{
    const int64_t *const a = left, *const b = right;
    return *a < *b ? -1 : *a > *b;
}

/* ---- messages ---- */

int fail(ndr_status status) { return fail_as(status, ndr_last_error()); }

int fail_as(ndr_status status, const char *sentence)
{
    end_waiting();
    clear_progress();
    fprintf(stderr, "%s: %s: %s\n", program, ndr_status_name(status), sentence);
    const bool has_none = status == NDR_NO_DRIVER || status == NDR_NO_DEVICE || status == NDR_NO_MATCHING_DEVICE;
    return has_none ? NO_DEVICE : FAILED;
}

int fail_with(const char *format, ...)
{
    end_waiting();
    clear_progress();
    va_list list;
    va_start(list, format);
    fprintf(stderr, "%s: ", program);
    vfprintf(stderr, format, list);
    fputc('\n', stderr);
    va_end(list);
    return FAILED;
}

/* ---- results ---- */

int print_json(json_t *data)
{
    const int status = json_dumpf(data, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
    json_decref(data);
    putchar('\n');
    return status == 0 && fflush(stdout) == 0 ? DONE : fail_with("the result cannot be written to stdout");
}

json_t *text_json(const char *text)
{
    json_t *whole = json_string(text);
    if (whole) return whole;
    char *const copy = strdup(text);
    for (char *c = copy; c && *c; ++c)
        if ((unsigned char)*c >= 0x80) *c = '?';
    whole = json_string(copy ? copy : "");
    free(copy);
    return whole;
}

static bool has_colour(void)
{
    const char *off = getenv("NO_COLOR"), *terminal = getenv("TERM");
    return isatty(STDOUT_FILENO) && !(off && *off) && terminal && strcmp(terminal, "dumb") != 0;
}

const char *style_begin(style s)
{
    static const char *const codes[] = { [PLAIN] = "", [BOLD] = "\033[1m", [GOOD] = "\033[32m", [WARNING] = "\033[33m",
                                         [BAD] = "\033[31m" };
    return has_colour() ? codes[s] : "";
}

const char *style_end(void) { return has_colour() ? "\033[0m" : ""; }

void print_verdict(style s, int width, const char *word, const char *what, const char *detail, const char *fix)
{
    printf("%s%-*s%s  %s%s%s\n", style_begin(s), width, word, style_end(), what, detail ? ": " : "",
           detail ? detail : "");
    if (fix) printf("%*sfix: %s\n", width + 2, "", fix);
    fflush(stdout);
}

const char *with_prefix(char text[32], double value, const char *unit)
{
    static const struct {
        double factor;
        const char *name;
    } prefixes[] = { { 1e12, "T" }, { 1e9, "G" }, { 1e6, "M" }, { 1e3, "k" },
                     { 1, "" },     { 1e-3, "m" }, { 1e-6, "u" }, { 1e-9, "n" } };
    const size_t last = sizeof prefixes / sizeof prefixes[0] - 1;
    size_t i = 0;
    if (value == 0) i = 4;
    else while (i < last && value < prefixes[i].factor) ++i;
    snprintf(text, 32, "%.3g %s%s", value / prefixes[i].factor, prefixes[i].name, unit);
    return text;
}

const char *with_binary_prefix(char text[32], uint64_t bytes)
{
    static const char *const names[] = { "bytes", "KiB", "MiB", "GiB", "TiB", "PiB" };
    double value = (double)bytes;
    size_t i = 0;
    for (; value >= 1024 && i < 5; ++i) value /= 1024;
    snprintf(text, 32, "%.4g %s", value, names[i]);
    return text;
}

/* ---- progress ---- */

enum { BAR = 30 };

static bool is_shown;

void clear_progress(void)
{
    if (is_shown) fprintf(stderr, "\r\033[K");
    is_shown = false;
}

static void draw(double part, const char *format, ...)
{
    char text[200];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    const int filled = (int)(BAR * (part < 1 ? part : 1));
    fprintf(stderr, "\r\033[K[%.*s%*s] %s", filled, "##############################", BAR - filled, "", text);
    is_shown = true;
}

void show_progress(const char *what, size_t done, size_t count)
{
    static double start;
    if (!isatty(STDERR_FILENO)) return;
    if (done == 0 || start == 0) start = now_s();
    if (done == count) {
        clear_progress();
        start = 0;
        return;
    }
    if (now_s() - start >= 1) draw((double)done / (double)count, "%zu/%zu %s", done, count, what);
}

static struct {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t has_ended;
    bool is_on; /* the thread runs */
    bool ends;  /* it is to end */
    const char *what;
    double start, seconds;
} waiting = { .lock = PTHREAD_MUTEX_INITIALIZER, .has_ended = PTHREAD_COND_INITIALIZER };

static void draw_waiting(void)
{
    const double passed = now_s() - waiting.start;
    if (passed < waiting.seconds)
        draw(passed / waiting.seconds, "%.0f/%.0f s %s", passed, waiting.seconds, waiting.what);
    else draw(waiting.seconds > 0, "%.0f s %s", passed, waiting.what);
}

static void *wait_in_thread(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&waiting.lock);
    while (!waiting.ends) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        ++until.tv_sec;
        const int code = pthread_cond_timedwait(&waiting.has_ended, &waiting.lock, &until);
        if (code == ETIMEDOUT && !waiting.ends) draw_waiting();
    }
    pthread_mutex_unlock(&waiting.lock);
    return NULL;
}

void begin_waiting(const char *what, double seconds)
{
    if (!isatty(STDERR_FILENO) || waiting.is_on || is_shown) return;
    waiting.what = what;
    waiting.seconds = seconds;
    waiting.start = now_s();
    waiting.ends = false;
    waiting.is_on = pthread_create(&waiting.thread, NULL, wait_in_thread, NULL) == 0;
}

void end_waiting(void)
{
    if (!waiting.is_on) return;
    pthread_mutex_lock(&waiting.lock);
    waiting.ends = true;
    pthread_cond_signal(&waiting.has_ended);
    pthread_mutex_unlock(&waiting.lock);
    pthread_join(waiting.thread, NULL);
    waiting.is_on = false;
    clear_progress();
}
