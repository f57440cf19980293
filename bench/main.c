/* main.c - measures the rows of docs/performance.md that are asked for. */
#define _POSIX_C_SOURCE 200809L
#include "bench.h"

#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct options {
    const char *device, *rows, *csv, *clblast, *cold;
    bool lists;
    bench_settings settings;
} options;

/* ---- options ---- */

static const char help[] =
    "bench - libndr beside others, and beside what it is held to; docs/performance.md explains the table\n"
    "\n"
    "  --rows REGEX    only rows whose names match (extended, as grep -E)\n"
    "  --rounds N      rounds of each row, at most 200; 15 unless said otherwise, or more in 15 s\n"
    "  --quick         3 rounds, to see whether everything runs\n"
    "  --csv FILE      the table as CSV, too\n"
    "  --clblast FILE  CLBlast with the parameters that its tuner left in FILE.json\n"
    "  --device WORDS  which device (Portable Computing Language)\n"
    "  --seed N        of the operands and of the order; the clock's unless given\n"
    "  --list          print the names of the rows and stop\n"
    "  --help          print this and stop\n"
    "\n"
    "Exit status: 0 all goals reached, 1 a row fell short or was wrong, 2 the bench itself failed.\n";

static void refuse(const char *what, const char *argument)
{
    fprintf(stderr, "bench: %s \"%s\"; --help lists the options\n", what, argument);
    exit(2);
}

static size_t to_number(const char *text, size_t most)
{
    char *end;
    const unsigned long long value = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || value == 0 || value > most)
        refuse("this is no number that will do:", text);
    return (size_t)value;
}

static options read_options(int argc, char **argv)
{
    options o = { .device = "Portable Computing Language",
                  .rows = "",
                  .settings = { .rounds = 15,
                                .row_s = 15,
                                .seed = (uint64_t)time(NULL),
                                .shortest_s = 10e-3,
                                .slow_s = 1,
                                .slow_rounds = 3,
                                .settle_s = 30e-3,
                                .warm_s = 30e-3 } };
    for (int i = 1; i < argc; ++i) {
        const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(name, "--help") == 0) {
            fputs(help, stdout);
            exit(0);
        }
        if (strcmp(name, "--quick") == 0) {
            o.settings.rounds = 3;
            o.settings.row_s = 0;
        } else if (strcmp(name, "--list") == 0) o.lists = true;
        else if (!value) refuse("unknown, or nothing follows:", name);
        else if (strcmp(name, "--rows") == 0) o.rows = argv[++i];
        else if (strcmp(name, "--csv") == 0) o.csv = argv[++i];
        else if (strcmp(name, "--clblast") == 0) o.clblast = argv[++i];
        else if (strcmp(name, "--device") == 0) o.device = argv[++i];
        else if (strcmp(name, "--cold") == 0) o.cold = argv[++i]; /* not for people: cold.c calls itself */
        else if (strcmp(name, "--rounds") == 0) {
            o.settings.rounds = to_number(argv[++i], MOST_ROUNDS);
            o.settings.row_s = 0;
        } else if (strcmp(name, "--seed") == 0) o.settings.seed = to_number(argv[++i], SIZE_MAX);
        else refuse("there is no option", name);
    }
    return o;
}

/* ---- rows ---- */

/* Call `with` for each row whose name matches. */
static void for_each_row(const options *o, void (*with)(const bench_row *, const bench_settings *))
{
    regex_t wanted;
    if (regcomp(&wanted, o->rows, REG_EXTENDED | REG_NOSUB) != 0) refuse("this is no regular expression:", o->rows);
    const row_list lists[] = { ceiling_rows(), matmul_rows(), reduce_rows(), launch_rows(), cold_rows() };
    for (size_t l = 0; l < COUNT_OF(lists); ++l)
        for (size_t i = 0; i < lists[l].count; ++i)
            if (regexec(&wanted, lists[l].rows[i].name, 0, NULL, 0) == 0) with(&lists[l].rows[i], &o->settings);
    regfree(&wanted);
}

static void print_name(const bench_row *row, const bench_settings *settings)
{
    (void)settings;
    puts(row->name);
}

static void measure_and_report(const bench_row *row, const bench_settings *settings)
{
    static bench_result measurements; /* tens of KiB */
    measure(row, settings, &measurements);
    report(&measurements);
}

static int bench(const options *o)
{
    if (o->csv && !report_to_csv(o->csv)) refuse("cannot write to", o->csv);
    machine_describe();
    if (o->clblast) clblast_tune(o->clblast);
    printf("rounds    %zu", o->settings.rounds);
    if (o->settings.row_s > 0) printf(", or as many as %.0f s hold", o->settings.row_s);
    printf(", seed %llu\n", (unsigned long long)o->settings.seed);
    report_head();
    for_each_row(o, measure_and_report);
    printf("\n%zu short of what they are held to\n", report_shorts());
    return report_shorts() == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    const options o = read_options(argc, argv);
    if (o.lists) {
        for_each_row(&o, print_name);
        return EXIT_SUCCESS;
    }
    machine_prepare(argv);
    open_device(o.device);
    const int status = o.cold ? cold_child(o.cold) : bench(&o);
    close_device();
    return status;
}
