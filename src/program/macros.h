/* macros.h - what is known about macros at a place of a text, without its compiler. */
#ifndef NDR_MACROS_H
#define NDR_MACROS_H

#include "program/code.h"

/* Set the first two; the rest is zero. */
typedef struct ndr_macros {
    const ndr_code *code; /* of the text so far */
    const char *options;
    ndr_text list, bodies; /* of the macros that the text tests, that name a file, or that are the vocabulary's */
    unsigned branches;     /* number of open branches */
    bool is_incomplete;    /* a part of the text is read only by the compiler */
} ndr_macros;

void ndr_macros_free(ndr_macros *macros);

/* `rest` is the text behind #define or #undef. */
void ndr_macros_define(ndr_macros *macros, const char *rest);
void ndr_macros_undefine(ndr_macros *macros, const char *rest);

/* The compiler includes a file here that libndr does not find: all macros become unknown, except those that begin
 * with NDR_, which is reserved. */
void ndr_macros_forget(ndr_macros *macros);

/* Whether a macro is certainly defined here; whether some line or option so far may have defined it. */
bool ndr_macros_has(ndr_macros *macros, const char *name);
bool ndr_macros_may_have(ndr_macros *macros, const char *name);

/* The body of a macro that names a file, if it is known; otherwise NULL. */
const char *ndr_macros_get_body(ndr_macros *macros, const char *word);

/* The branches from an #if to its #endif. */
typedef struct ndr_branch {
    bool is_skipped; /* certainly not compiled */
    bool outer_is_skipped;
    bool is_new;  /* no line or option so far may have defined the macro */
    size_t guard; /* 1 plus the index of the macro of an #ifndef; 0: none */
} ndr_branch;

/* `condition` is the directive from its "if" on; NULL for #else. */
void ndr_branch_open(ndr_macros *macros, ndr_branch *branch, const char *condition, bool outer_is_skipped);
void ndr_branch_next(ndr_macros *macros, ndr_branch *branch, const char *condition);

/* `is_file`: these branches span a whole file. Returns true if what follows is only known provided that the macro
 * that guards the file is defined nowhere else. */
bool ndr_branch_close(ndr_macros *macros, ndr_branch *branch, bool is_file);

#endif
