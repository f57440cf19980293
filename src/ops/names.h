/* names.h - the names in a caller's expression, and the text of a kernel that defines them. */
#ifndef NDR_OPS_NAMES_H
#define NDR_OPS_NAMES_H

#include "ops/array.h"

/* The outputs of ndr_map() count among the names, those of ndr_map_reduce() do not. */
enum { NDR_MAX_NAMES = 24, NDR_MAX_RESULTS = 8, NDR_NAMES_ARGS = 2 * (NDR_MAX_NAMES + NDR_MAX_RESULTS) + 3 };

/* What an expression names. */
typedef struct ndr_names {
    const char *call; /* for sentences: "ndr_map" */
    const char *declarations;
    const ndr_map_scalar *scalars;
    const ndr_map_array *inputs, *outputs;
    size_t scalar_count, input_count, output_count;
    ndr_range shape;
    bool is_flat;        /* all arrays are packed: their elements are numbered alike */
    const char *index;   /* of elements: the start of the indexes' names, "ndr_j"; NULL: "i" */
    const char *element; /* and the type of outputs without a dtype */
    const char *const *taken; /* names that the expression has besides, NULL last; NULL: i, i0, i1 and i2 */
    unsigned along;      /* 1 + the dimension in which strides of 1 are constants, those of 0 in all; 0: none */
} ndr_names;

/* Refuse lists that are NULL or too long; what is wrong with names, types and shapes, and set `is_flat`. Buffers are not
 * read. */
ndr_status ndr_names_check_list(const ndr_names *names);
ndr_status ndr_names_check(ndr_names *names, const ndr_device_info *device);

/* Refuse what is wrong with the buffers. */
ndr_status ndr_names_check_buffers(const ndr_names *names, const ndr_context *context);

/* Pure: the elements, and the bytes that are read and written. */
size_t ndr_names_count(const ndr_names *names);
uint64_t ndr_names_bytes(const ndr_names *names);

/* Arguments, and the offsets and strides to which some of them point. */
typedef struct ndr_names_args {
    ndr_arg list[NDR_NAMES_ARGS];
    int64_t places[NDR_MAX_NAMES + NDR_MAX_RESULTS][4];
} ndr_names_args;

/* Pure: the arguments of the parameters below; how many. */
size_t ndr_names_fill_args(const ndr_names *names, ndr_names_args *args);

/* Pure: the type of an array's elements in expressions. */
const char *ndr_names_value_type(ndr_dtype dtype);

/* Pure: append parts of a kernel's text:
 * - what the arrays' types need, and the caller's declarations;
 * - the parameters, "global const float *ndr_in_x, const ulong ndr_in_x_at, ..."; or only their names;
 * - prefetches of LANES elements of each input whose stride along `along` is 1;
 * - definitions of i0, i1 and i2, of which i is one or more;
 * - the definition of each name, as a variable, and at the end what stores the outputs;
 * - the definitions of scalars alone; the element of an array, and the statement that stores a value there;
 * - a text of the caller, between marks that make errors point into it as `title`. */
void ndr_names_add_declarations(const ndr_names *names, bool on_cpu, ndr_text *out);
void ndr_names_add_parameters(const ndr_names *names, bool with_types, ndr_text *out);
void ndr_names_add_prefetches(const ndr_names *names, ndr_text *out);
void ndr_names_add_dimensions(const ndr_names *names, ndr_text *out);
void ndr_names_add_values(const ndr_names *names, ndr_text *out);
void ndr_names_add_scalars(const ndr_names *names, ndr_text *out);
void ndr_names_add_load(const ndr_names *names, size_t index, ndr_text *out); /* inputs first */
void ndr_names_add_store(const ndr_names *names, size_t index, const char *value, ndr_text *out);
void ndr_names_add_stores(const ndr_names *names, ndr_text *out);
void ndr_names_add_own(const char *text, const char *title, ndr_text *out);

#endif
