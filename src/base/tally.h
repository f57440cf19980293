/* tally.h - durations by name. */
#ifndef NDR_TALLY_H
#define NDR_TALLY_H

#include "base/base.h"

enum { NDR_TALLY_BUCKETS = 61 * 16, NDR_TALLY_MAX_NAMES = 500 };

/* Durations under one name. All zeros: none. */
typedef struct ndr_tally {
    struct ndr_tally *next;
    const char *category; /* "kernel", "transfer", "order", "region" */
    uint64_t count, min_ns, max_ns, total_ns;
    uint64_t bytes, flops; /* declared for all of them together */
    uint64_t buckets[NDR_TALLY_BUCKETS];
    char name[];
} ndr_tally;

/* A region contains commands that have tallies of their own. */
static inline bool ndr_tally_is_region(const ndr_tally *tally) { return *tally->category == 'r'; }

void ndr_tally_add(ndr_tally *tally, uint64_t ns);

/* Within 3.2 % of the lower median. */
uint64_t ndr_tally_median_ns(const ndr_tally *tally);

/* Get the tally of that name; make it if there is none. If the list has NDR_TALLY_MAX_NAMES, new names share
 * "(others)". NULL: there is no memory. `category` is a constant. */
ndr_tally *ndr_tally_get(ndr_tally **list, const char *category, const char *name);
void ndr_tallies_free(ndr_tally **list);

/* Append the table: commands, then regions, each by total. Shares are of the total of all commands. */
void ndr_tallies_print(const ndr_tally *list, ndr_text *out);

#endif
