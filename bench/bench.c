/* bench.c - measures those rows of docs/appendix/bench.md that its options select. */
#define _POSIX_C_SOURCE 200809L
#include "gpu.h"

#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct options {
    const char *device, *rows, *csv, *clblast, *first_call;
    bool lists;
    bool on_gpu; /* the rows of a GPU, whose names begin with "gpu: ", instead of the others */
    bench_settings settings;
} options;

/* ---- options ---- */

static const char help[] =
    "bench - measures libndr beside other libraries and its goals; docs/appendix/bench.md explains them\n"
    "\n"
    "  --rows REGEX    only rows whose names match (extended, as grep -E). Rows of a GPU only if it begins with ^gpu:\n"
    "                  --device gpu --rows '^gpu' measures all of them\n"
    "  --rounds N      rounds of each row, at most 200; default: 15, or as many more as take 15 s\n"
    "  --quick         3 rounds, to see whether everything runs\n"
    "  --csv FILE      write the table as CSV, too\n"
    "  --core NAME     code for a CPU with fewer instructions, PoCL's and OpenBLAS's: avx512, avx2 or sse2\n"
    "  --one-thread    each library on one thread, by CPU time: a busy machine does not matter much\n"
    "  --threads N     each library on N threads, and the process on the first N CPUs that it may use\n"
    "  --rival NAME    compare with this library only\n"
    "  --clblast FILE  run CLBlast with the parameters that its tuner left in FILE\n"
    "  --device TEXT   the device, as for ndr_context_create(); default: Portable Computing Language\n"
    "  --seed N        for operands and order; default: the time\n"
    "  --list          print the names of the rows and stop\n"
    "  --help          print this and stop\n"
    "\n"
    "Exit status: 0 all goals reached, 1 a goal was missed or a result was wrong, 2 the bench itself failed,\n"
    "3 PoCL cannot generate code for the core of --core here.\n";

static void refuse(const char *what, const char *argument)
{
    fprintf(stderr, "bench: %s \"%s\"; --help lists the options\n", what, argument);
    exit(2);
}

static size_t to_number(const char *text, size_t max)
{
    char *end;
    const unsigned long long value = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || value == 0 || value > max)
        refuse("not a number from 1 to the option's limit:", text);
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
                                .warm_up_s = 30e-3 } };
    for (int i = 1; i < argc; ++i) {
        const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(name, "--help") == 0) {
            fputs(help, stdout);
            exit(0);
        }
        if (strcmp(name, "--one-thread") == 0) {
            the_one_thread = true;
        } else if (strcmp(name, "--quick") == 0) {
            o.settings.rounds = 3;
            o.settings.row_s = 0;
        } else if (strcmp(name, "--list") == 0) o.lists = true;
        else if (!value) refuse("unknown option, or its value is missing:", name);
        else if (strcmp(name, "--rows") == 0) o.rows = argv[++i];
        else if (strcmp(name, "--csv") == 0) o.csv = argv[++i];
        else if (strcmp(name, "--threads") == 0) the_threads = to_number(argv[++i], 1024);
        else if (strcmp(name, "--rival") == 0) the_rival = argv[++i];
        else if (strcmp(name, "--core") == 0) the_core = argv[++i];
        else if (strcmp(name, "--clblast") == 0) o.clblast = argv[++i];
        else if (strcmp(name, "--device") == 0) o.device = argv[++i];
        else if (strcmp(name, "--first-call") == 0) o.first_call = argv[++i]; /* for first_call.c only */
        else if (strcmp(name, "--rounds") == 0) {
            o.settings.rounds = to_number(argv[++i], MAX_ROUNDS);
            o.settings.row_s = 0;
        } else if (strcmp(name, "--seed") == 0) o.settings.seed = to_number(argv[++i], SIZE_MAX);
        else refuse("unknown option", name);
    }
    if (the_one_thread) the_threads = 1;
    o.on_gpu = strncmp(o.rows, "^gpu", 4) == 0;
    if (o.on_gpu) o.settings.settle_s = 0; /* no threads of libraries have to fall asleep */
    return o;
}

/* ---- rows ---- */

static const struct {
    row_list (*list)(void);
    bool of_gpu;
} lists[] = {
    { ceiling_rows, false },      { matmul_rows, false },     { reduce_rows, false },    { scan_rows, false },
    { launch_rows, false },       { cold_rows, false },       { get_rows, false },       { sort_rows, false },
    { move_rows, false },         { map_rows, false },        { histogram_rows, false }, { axes_rows, false },
    { forms_rows, false },        { gpu_ceiling_rows, true }, { gpu_matmul_rows, true }, { gpu_reduce_rows, true },
    { gpu_operation_rows, true },
};

/* Call `with` for each row whose name matches. */
static void for_each_row(const options *o, void (*with)(const bench_row *, const bench_settings *))
{
    regex_t wanted;
    if (regcomp(&wanted, o->rows, REG_EXTENDED | REG_NOSUB) != 0) refuse("not a regular expression:", o->rows);
    for (size_t l = 0; l < COUNT_OF(lists); ++l) {
        if (lists[l].of_gpu != o->on_gpu) continue;
        const row_list list = lists[l].list();
        for (size_t i = 0; i < list.count; ++i)
            if (regexec(&wanted, list.rows[i].name, 0, NULL, 0) == 0) with(&list.rows[i], &o->settings);
    }
    regfree(&wanted);
}

static void print_name(const bench_row *row, const bench_settings *settings)
{
    (void)settings;
    puts(row->name);
}

static void measure_and_report(const bench_row *row, const bench_settings *settings)
{
    static bench_result result; /* tens of KiB */
    measure(row, settings, &result);
    report(&result);
}

/* What a child does: make the call and print its seconds. */
static int make_first_call(const char *name)
{
    for (size_t l = 0; l < COUNT_OF(lists); ++l) {
        const row_list list = lists[l].list();
        for (size_t i = 0; i < list.first_call_count; ++i) {
            if (strcmp(list.first_calls[i].name, name) != 0) continue;
            printf("%.6f\n", time_first_call(&list.first_calls[i]));
            return EXIT_SUCCESS;
        }
    }
    refuse("unknown first call", name);
    return EXIT_FAILURE;
}

static int bench(const options *o)
{
    if (o->csv && !report_to_csv(o->csv)) refuse("cannot write to", o->csv);
    machine_describe();
    if (o->clblast) rival_tune("CLBlast", o->clblast);
    printf("rounds    %zu", o->settings.rounds);
    if (o->settings.row_s > 0) printf(", or as many as fit in %.0f s", o->settings.row_s);
    printf(", seed %llu\n", (unsigned long long)o->settings.seed);
    report_head();
    for_each_row(o, measure_and_report);
    printf("\n%zu goals missed\n", missed_goals());
    return missed_goals() == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    const options o = read_options(argc, argv);
    if (o.lists) {
        for_each_row(&o, print_name);
        return EXIT_SUCCESS;
    }
    machine_prepare(argv, the_core, o.on_gpu);
    open_device(o.device);
    if (the_core) core_check(the_core);
    const int status = o.first_call ? make_first_call(o.first_call) : bench(&o);
    gpu_close();
    close_device();
    return status;
}
