/* example.h - what the examples share: one way to fail, options, and results shown beside what was expected.
 *
 * An example may end the process where a library may not. */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include <ndr/ndr.h>

/* ---- failing ---- */

/* Go on only if a libndr call went well; otherwise print the call and libndr's sentence, and exit with 1. */
#define MUST(call) must_have_worked((call), #call)
void must_have_worked(ndr_status status, const char *call);

/* Memory for `count` elements of `bytes` each, or exit. Free it with free(). */
void *allocate(size_t count, size_t bytes);

/* ---- options ---- */

/* One option of the command line, such as "--n 1000", and the destination of its value: a number or words. */
typedef struct option {
    const char *name; /* "--n"; NULL ends a list */
    const char *help;
    size_t *number;     /* holds the default until then; NULL if the option takes words */
    const char **words; /* the same */
} option;

/* The option that all examples have. NULL, its default, leaves the choice to NDR_DEVICE and libndr. */
#define OPTION_DEVICE(variable) \
    { "--device", "gpu, cpu, accelerator, an index or part of a device's name", NULL, (variable) }

/* Read the command line into the options. --help prints `about` and the options, and exits with 0; anything
 * unknown exits with 2. */
void read_options(int argc, char **argv, const char *about, const option *options);

/* ---- devices ---- */

/* Open the device and a queue on it, and print which one it is. */
void open_device(const char *words, bool profiling, ndr_context **context, ndr_queue **queue);

/* ---- results ---- */

/* Print a number beside the expected one, and whether they differ by at most `allowed`. */
bool show_number(const char *what, double got, double expected, double allowed);

/* The same for many: element i may be `allowed[i]` away, or must be equal where `allowed` is NULL. */
bool show_floats(const char *what, size_t count, const float *got, const double *expected, const double *allowed);

/* Print a time and a rate, such as "0.52 ms, 64.5 GFLOP/s". */
void show_speed(const char *what, uint64_t elapsed_ns, double amount, const char *unit);

/* ---- pictures ---- */

/* The option of examples that make a picture. */
#define OPTION_PICTURE(variable) { "--picture", "write the picture to this PPM file", NULL, (variable) }

/* Wait for the queue, and write a buffer of rows * cols pixels, a byte each of red, green and blue, to a PPM file; no
 * file if the path is NULL. */
void save_picture(ndr_queue *queue, ndr_buffer *rgb, size_t rows, size_t cols, const char *path);

#endif
