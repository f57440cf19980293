/* rivals.c - the libraries that were found at build time. */
#include "rivals/rival.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RIVAL(id) &rival_##id,
static const rival *const rivals[] = {
#include "found_rivals.inc"
    NULL
};

const char *the_rival;

const contender *find_contender(const work *w, const char *name)
{
    for (const contender *own = w->own; own->name; ++own)
        if (strcmp(own->name, name) == 0) return own;
    if (the_rival && strcmp(name, the_rival) != 0) return NULL;
    for (size_t i = 0; rivals[i]; ++i) {
        if (rivals[i]->works_here && !rivals[i]->works_here()) continue;
        for (const rival_entry *entry = rivals[i]->entries; entry->work; ++entry)
            if (entry->work == w && strcmp(entry->contender.name, name) == 0) return &entry->contender;
    }
    return NULL;
}

void rivals_prepare(void)
{
    for (size_t i = 0; rivals[i]; ++i)
        if (rivals[i]->prepare) rivals[i]->prepare();
}

void rivals_describe(void)
{
    for (size_t i = 0; rivals[i]; ++i) {
        printf("%-9s ", rivals[i]->name);
        rivals[i]->describe();
        putchar('\n');
    }
    if (*BENCH_MISSING) printf("not found when the bench was configured: %s\n", BENCH_MISSING);
}

void rival_tune(const char *name, const char *path)
{
    for (size_t i = 0; rivals[i]; ++i)
        if (strcmp(rivals[i]->name, name) == 0 && rivals[i]->tune) {
            rivals[i]->tune(path);
            return;
        }
    fprintf(stderr, "bench: cannot use %s: %s was not found when the bench was configured\n", path, name);
    exit(2);
}
