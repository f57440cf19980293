/* example.c - what the examples share. */
#include "example.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- failing ---- */

void must_have_worked(ndr_status status, const char *call)
{
    if (status == NDR_OK) return;
    fprintf(stderr, "%s\n  %s: %s\n", call, ndr_status_name(status), ndr_last_error());
    exit(1);
}

void *allocate(size_t count, size_t bytes)
{
    void *memory = calloc(count ? count : 1, bytes);
    if (memory) return memory;
    fprintf(stderr, "no memory for %zu times %zu bytes\n", count, bytes);
    exit(1);
}

/* ---- options ---- */

static void print_help(const char *program, const char *about, const option *options)
{
    printf("%s - %s\n\n", program, about);
    for (const option *o = options; o->name; ++o) {
        printf("  %-9s %-6s %s", o->name, o->number ? "N" : "WORDS", o->help);
        if (o->number) printf(" (%zu)", *o->number);
        printf("\n");
    }
    printf("  %-9s %-6s print this and stop\n", "--help", "");
}

static void refuse(const char *program, const char *what, const char *argument)
{
    fprintf(stderr, "%s: %s \"%s\"; --help lists the options\n", program, what, argument);
    exit(2);
}

static const option *find_option(const option *options, const char *name)
{
    for (const option *o = options; o->name; ++o)
        if (strcmp(o->name, name) == 0) return o;
    return NULL;
}

static bool parse_number(const char *text, size_t *number)
{
    char *end;
    const unsigned long long value = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || value > SIZE_MAX) return false;
    *number = (size_t)value;
    return true;
}

void read_options(int argc, char **argv, const char *about, const option *options)
{
    const char *slash = strrchr(argv[0], '/');
    const char *program = slash ? slash + 1 : argv[0];
    for (int i = 1; i < argc; ++i) {
        if (strcmp(argv[i], "--help") == 0) {
            print_help(program, about, options);
            exit(0);
        }
        const option *o = find_option(options, argv[i]);
        if (!o) refuse(program, "there is no option", argv[i]);
        if (i + 1 == argc) refuse(program, "nothing follows", argv[i]);
        ++i;
        if (o->words) *o->words = argv[i];
        else if (!parse_number(argv[i], o->number)) refuse(program, "this is no number:", argv[i]);
    }
}

/* ---- devices ---- */

void open_device(const char *words, bool profiling, ndr_context **context, ndr_queue **queue)
{
    ndr_device_info device;
    MUST(ndr_context_create(words, context));
    MUST(ndr_queue_create(*context, &(ndr_queue_desc){ .is_profiling = profiling }, queue));
    MUST(ndr_context_get_device(*context, &device));
    printf("device: %s, %s\n", device.name, device.platform);
}

/* ---- results ---- */

/* Written so that a NaN is wrong. */
static bool is_near(double got, double expected, double allowed) { return fabs(got - expected) <= allowed; }

bool show_number(const char *what, double got, double expected, double allowed)
{
    const bool right = is_near(got, expected, allowed);
    printf("%-22s %.10g, expected %.10g", what, got, expected);
    if (allowed > 0) printf(" within %.2g", allowed);
    printf(": %s\n", right ? "right" : "WRONG");
    return right;
}

bool show_floats(const char *what, size_t count, const float *got, const double *expected, const double *allowed)
{
    size_t wrong = 0, first = 0;
    for (size_t i = count; i-- > 0;)
        if (!is_near((double)got[i], expected[i], allowed ? allowed[i] : 0)) ++wrong, first = i;
    printf("%s: %zu of %zu elements are right\n", what, count - wrong, count);
    if (wrong > 0)
        printf("  the first wrong one is %zu: got %.9g, expected %.9g\n", first, (double)got[first], expected[first]);
    return wrong == 0;
}

void show_speed(const char *what, uint64_t elapsed_ns, double amount, const char *unit)
{
    const double ns = elapsed_ns > 0 ? (double)elapsed_ns : 1;
    printf("%-22s %.3f ms, %.2f %s\n", what, ns * 1e-6, amount / ns, unit);
}

/* ---- pictures ---- */

void save_picture(ndr_queue *queue, ndr_buffer *rgb, size_t rows, size_t cols, const char *path)
{
    MUST(ndr_queue_finish(queue)); /* PoCL may crash if the program ends before */
    if (!path) return;
    unsigned char *pixels = allocate(rows * cols, 3);
    MUST(ndr_buffer_read(queue, rgb, 0, rows * cols * 3, pixels, NULL));
    FILE *file = fopen(path, "wb");
    const bool is_written = file && fprintf(file, "P6\n%zu %zu\n255\n", cols, rows) > 0
                            && fwrite(pixels, 3, rows * cols, file) == rows * cols;
    if (!file || fclose(file) != 0 || !is_written) {
        fprintf(stderr, "%s cannot be written\n", path);
        exit(1);
    }
    free(pixels);
    printf("picture: %s\n", path);
}
