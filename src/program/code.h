/* code.h - what a program's own code shows: its macros, its kernels and their types. Everything here is pure. */
#ifndef NDR_CODE_H
#define NDR_CODE_H

#include "program/source.h"

/* ---- code.c ---- */

/* Whether a macro, in the text or from -D, redefines the name at `at`. */
bool ndr_code_redefines(const ndr_code *code, const char *options, const char *at);

/* Whether the code, or the body of a macro in it, uses a name. */
bool ndr_code_uses(const ndr_code *code, const char *name);

/* Whether it has `void name(`. */
bool ndr_code_has_function(const ndr_code *code, const char *name);

/* A kernel of the text: its name, the parenthesis before its parameters, its body and the position behind it. The
 * body is NULL for a declaration, and if it contains a directive. */
typedef struct ndr_code_kernel {
    const char *name, *list, *body, *end;
} ndr_code_kernel;

/* Find the next kernel from `*at` on that is not in a macro; false: none. */
bool ndr_code_next_kernel(const char **at, ndr_code_kernel *found);

/* The next word `kernel` from `at` on, with the position behind it; NULL: none. Read the kernel there; false: it is
 * none, or its parameters contain a directive. */
const char *ndr_code_find_kernel(const char *at, const char **word);
bool ndr_code_read_kernel(const char *at, ndr_code_kernel *out);

/* Append a line for each kernel parameter that may have a type of the program: "pair", "struct pair", or "pair*" for a
 * pointer to local memory. Some are not types, and some are missing, because macros hide them. */
void ndr_code_list_types(const ndr_code *code, const char *options, ndr_text *out);

/* ---- guard.c ---- */

/* Whether the kernel `name` starts with NDR_ITEM(), which returns from it in items past the range: then its launch can
 * be rounded up. False if that is not certain. */
ndr_status ndr_guard_read(const ndr_code *code, const char *options, const char *name, bool *is_first);

/* Refuse a kernel with reducers whose text shows that it leaves the loop over indexes, waits, or has no loop. */
ndr_status ndr_guard_check_reduction(const ndr_code *code, const char *name);

#endif
