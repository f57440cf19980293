/* rival.h - what a rival is: a library that does some of the work that libndr does.
 *
 * Each library has a file here, which defines `const rival rival_<id>`; no other file includes the library's headers.
 * CMakeLists.txt compiles it where the library is found, and lists its id in found_rivals.inc. Rows find its contenders
 * by their names. To add a library, write its file, its part of CMakeLists.txt, and its name in its rows. */
#ifndef RIVAL_H
#define RIVAL_H

#include "bench.h"

#include <stdio.h>

/* One work that the library does. */
typedef struct rival_entry {
    const work *work;
    contender contender;
} rival_entry;

typedef struct rival {
    const char *name;
    void (*describe)(void);         /* prints version and settings, without a newline */
    void (*prepare)(void);          /* see rivals_prepare(); may be NULL */
    void (*tune)(const char *path); /* see rival_tune(); may be NULL */
    bool (*works_here)(void);       /* false: all its entries are left out; may be NULL */
    rival_entry entries[16];        /* ended by one without work */
} rival;

#define RIVAL(id) extern const rival rival_##id;
#include "found_rivals.inc"
#undef RIVAL

/* ---- rival_process.c: rivals that measure in a process of their own, such as those for Python ---- */

/* A program that reads questions, one a line, and answers each with seconds. `arguments` start it, ended by NULL; the
 * text that selects the device is added. It starts with the first question and ends with the bench. */
typedef struct rival_process {
    const char *const *arguments;
    FILE *questions, *answers;
} rival_process;

double ask_rival(rival_process *process, const char *question);

#endif
