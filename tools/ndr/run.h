/* run.h - what the files of `ndr run` share: arguments as written, memory, files, results.
 *
 * A function that gives an exit code (command.h) has printed a sentence unless it gives DONE. */
#ifndef NDR_RUN_H
#define NDR_RUN_H

#include "command.h"

#include <ndr/ndr_image.h>

/* ---- types and memory ---- */

/* A number of OpenCL C, or a vector of 2, 3, 4, 8 or 16. dtype NONE: not known yet. */
typedef struct element {
    ndr_dtype dtype;
    unsigned lanes;
} element;

enum { MAX_DIMS = 8 };

typedef struct shape {
    unsigned dims;
    size_t size[MAX_DIMS]; /* the last is contiguous */
} shape;

/* Elements in the host's memory. */
typedef struct contents {
    element type;
    shape shape;
    size_t count; /* of elements: the product of the shape */
    unsigned char *bytes;
} contents;

/* ---- run_values.c ---- */

typedef struct span {
    const char *at;
    size_t length;
} span;

/* Where an argument's value comes from. */
typedef enum source {
    ZEROS,   /* also if nothing is written */
    NUMBERS, /* fields[0] */
    FILL,    /* fields[1], repeated */
    IOTA,    /* fields[1], the start, and fields[2], the step, if they are there */
    RANDOM,  /* fields[1], the seed, and fields[2], LOW..HIGH, if they are there */
    FROM,    /* the file `path` */
    LOCAL,   /* local memory */
    NOTHING, /* a NULL pointer */
    SAMPLER, /* fields[1] and later: how it samples */
} source;

enum { MAX_FIELDS = 4 };

/* [NAME=]VALUE[:TYPE] as written; refers to that text. */
typedef struct argument {
    const char *text;
    char name[80]; /* "": by position */
    bool is_empty; /* neither a value nor a type is written */
    source source;
    span fields[MAX_FIELDS];
    size_t field_count;
    char *path;   /* free() it */
    element type; /* dtype NONE: that of the parameter */
    bool has_shape;
    shape shape; /* dims 0: as many elements as are given */
} argument;

int parse_argument(const char *text, argument *a);

/* Prints "argument "in=@x": sentence"; gives USAGE. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
int refuse_argument(const argument *a, const char *format, ...);

/* "float4", "f32x4"; false: no such type. */
bool read_element(span text, element *type);

/* "1024", "1024x768" or "1024,768": 1 to `most` sizes. False: it is something else. */
bool read_sizes(span text, unsigned most, shape *sizes);

/* A number of 0 or more, as the tolerance of a comparison. */
bool read_double(span text, double *value);

/* Stores one number as `dtype` at `to`; gives NULL, or what is wrong with it: "is not an integer". */
const char *read_number(span text, ndr_dtype dtype, void *to);

/* How many numbers are written in a list such as "1, 2, 3" or "(1,2)". */
size_t count_numbers(span list);

/* Allocates zeros for a type and a shape that are set; free() the bytes. */
int make_zeros(contents *c);

/* Fills memory whose type and shape are set with what `a` describes; not for files, local memory and NULL. */
int fill_contents(const argument *a, contents *c);

/* Elements of a shape; SIZE_MAX if there are too many to count. Bytes of an element; a vector of 3 takes those of 4. */
size_t count_elements(const shape *s);
size_t element_bytes(element type);
unsigned stored_lanes(element type);

/* "f32x4", "f32"; "[3x4]". `text` is returned. */
const char *print_element(char text[16], element type);
const char *print_shape(char text[200], const shape *s);

/* The shortest text that reads as the same number; the value as a double. */
const char *print_number(char text[40], ndr_dtype dtype, const void *from);
double number_at(ndr_dtype dtype, const void *from);
void store_double(ndr_dtype dtype, double value, void *to);
bool is_float(ndr_dtype dtype);
bool is_stored_as(ndr_dtype dtype, ndr_dtype in_kernel); /* a bf16 is an ushort there */

/* ---- run_files.c ---- */

/* Reads a file: .npy, .pgm and .ppm by these names, others as raw bytes. `type` (dtype NONE: the file's own) and
 * `shape` (dims 0: the file's own) are what the memory must have. free() the bytes. */
int load_file(const char *path, element type, shape shape, contents *c);

/* All bytes of a file; free() them. */
int load_bytes(const char *path, unsigned char **bytes, size_t *count);

/* Writes a file in the format of its name. A regular file of that name is replaced when all is written. */
int save_file(const char *path, const contents *c);

/* The same for bytes. */
int save_bytes(const char *path, const void *bytes, size_t count);

/* ---- run_arguments.c ---- */

/* One parameter of the kernel, and what it is given. */
typedef struct slot {
    ndr_parameter_info parameter;
    const argument *given;
    contents memory; /* of a buffer, an image, a value or a reducer's result */
    bool is_output;  /* the kernel may write it */
    ndr_buffer *buffer;
    ndr_image *image;
    ndr_sampler *sampler;
    ndr_arg arg;
} slot;

typedef struct slots {
    size_t count;
    slot *list;
} slots;

/* The slots of a kernel's parameters, each with its argument: by name, the others in their order. free_slots() in every
 * case. */
int match_arguments(const ndr_kernel *kernel, const argument *arguments, size_t count, slots *all);

/* Makes the values, buffers, images and samplers. `range` gives the size of memory for which none is written. */
int make_arguments(ndr_context *context, const ndr_nd_range *range, slots *all);

/* Reads what the kernel wrote into `memory`. */
int read_slot(ndr_queue *queue, slot *s);

void free_slots(slots *all);

/* Whether a parameter is called `name` in the kernel's text. */
bool is_named(const ndr_parameter_info *p, const char *name);

/* "y (float*)"; an argument of a parameter without a name is called by its number. `text` is returned. */
const char *print_slot(char text[200], const slots *all, const slot *s);

/* ---- run_results.c ---- */

typedef enum result_kind { PRINT, HASH, SAVE, COMPARE } result_kind;

/* What is done with an argument after the launch: NAME, NAME=FILE or NAME=FILE:TOLERANCE as written. */
typedef struct result {
    result_kind kind;
    char name[80]; /* "": all outputs */
    char *path;    /* free() it */
    double tolerance;
} result;

int parse_result(result_kind kind, const char *text, result *r);

/* Shows, saves or compares, and adds to `data`. At most `limit` elements are printed; nothing is if `is_json`. */
int finish_result(const result *r, const slots *all, size_t limit, bool is_json, json_t *data);

#endif
