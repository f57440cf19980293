/* command.h - what the subcommands of `ndr` share.
 *
 * Each subcommand is a file named after it, which defines `NAME_command`. ndr.c lists them. A subcommand parses its
 * arguments with argp and takes the options of common_argp as a child. It makes its result as JSON data first, so that
 * --json and the text show the same. */
#ifndef NDR_COMMAND_H
#define NDR_COMMAND_H

#include <argp.h>
#include <jansson.h>
#include <ndr/ndr.h>
#include <stdbool.h>
#include <stdio.h>

/* Exit codes, in `ndr --help` and in the manual. */
enum {
    DONE = 0,
    FAILED = 1,    /* What was asked for failed, or found a fault. */
    USAGE = 2,     /* The command line is wrong. */
    NO_DEVICE = 3, /* There is no driver or no device. */
};

typedef struct command {
    const char *name, *summary;
    int (*run)(int argc, char **argv); /* `argv[0]` is "ndr NAME"; gives an exit code */
} command;

/* ---- options of all subcommands ---- */

typedef struct common {
    const char *device; /* NULL: NDR_DEVICE chooses */
    bool is_json;
} common;

/* The child's input is a `common`. */
extern const struct argp common_argp;

/* Parses the arguments with `argp`, which gets `input`. Ends the program with USAGE if they are wrong. */
void parse(const struct argp *argp, int argc, char **argv, void *input);

/* The same, and `argp` gets the arguments in their places between the options, as a program with options of its own. */
void parse_in_order(const struct argp *argp, int argc, char **argv, void *input);

/* A whole number from `least` to `most`; a number more than 0 and at most `most`. They end the program with USAGE, and a
 * sentence that names `option`, if the text is something else. */
size_t read_count(const struct argp_state *state, const char *option, const char *text, size_t least, size_t most);
double read_positive(const struct argp_state *state, const char *option, const char *text, double most);

/* ---- calls, and time ---- */

#define TRY(call)                              \
    do {                                       \
        const ndr_status status_ = (call);     \
        if (status_ != NDR_OK) return status_; \
    } while (0)

/* Seconds of a clock that is never set back. */
double now_s(void);

/* For qsort(), of times in ns: int64_t, or uint64_t of less than 2^63. */
int compare_times(const void *left, const void *right);

/* ---- messages ---- */

/* Prints "ndr NAME: sentence" on stderr; gives FAILED, or NO_DEVICE if `status` says so. */
int fail(ndr_status status);

/* The same with the sentence of a call that failed in another process. */
int fail_as(ndr_status status, const char *sentence);

/* The same for a sentence of the tool's own; gives FAILED. */
#if defined(__GNUC__)
__attribute__((format(printf, 1, 2)))
#endif
int fail_with(const char *format, ...);

/* ---- results ---- */

/* Prints `data` as JSON on stdout and releases it; gives DONE, or FAILED if stdout cannot be written. */
int print_json(json_t *data);

/* A JSON string. If the text is not UTF-8, as a driver's name may be, '?' replaces all bytes that are not ASCII. */
json_t *text_json(const char *text);

typedef enum style { PLAIN, BOLD, GOOD, WARNING, BAD } style;

/* Begin and end of a style on stdout; "" unless stdout is a terminal and NO_COLOR is unset or empty. */
const char *style_begin(style s);
const char *style_end(void);

/* Prints "WORD  what: detail" and, on a line of its own, the fix. `width` is that of the longest word; `detail` and `fix`
 * may be NULL. */
void print_verdict(style s, int width, const char *word, const char *what, const char *detail, const char *fix);

/* "12.3 GB/s"-like figures: 3 digits and a prefix of 1000. `text` is returned. */
const char *with_prefix(char text[32], double value, const char *unit);

/* The same with prefixes of 1024: "4 GiB". */
const char *with_binary_prefix(char text[32], uint64_t bytes);

/* ---- progress ---- */

/* A bar on stderr for work that lasts more than a second; nothing if stderr is no terminal. `done` of `count`; the last
 * call, with done == count, removes it. */
void show_progress(const char *what, size_t done, size_t count);

/* Removes the bar until it is shown again: before lines that are printed during the work. */
void clear_progress(void);

/* The same bar for work in one call, from begin_waiting() to end_waiting(), which a thread draws: the seconds so far, of
 * `seconds`; 0: the end is not known. Nothing else is printed meanwhile; fail() and fail_with() end it. */
void begin_waiting(const char *what, double seconds);
void end_waiting(void);

#endif
