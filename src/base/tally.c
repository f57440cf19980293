/* tally.c - counts durations by name, in constant memory for each name, and prints them as a table. */
#include "base/tally.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- durations ---- */

/* Buckets are one 16th of a power of two wide, those below 16 ns one ns. */
enum { STEPS_BITS = 4, STEPS = 1 << STEPS_BITS };

static size_t bucket_of(uint64_t ns)
{
    if (ns < STEPS) return (size_t)ns;
    const unsigned shift = 63 - (unsigned)__builtin_clzll(ns) - STEPS_BITS;
    return shift * STEPS + (size_t)(ns >> shift);
}

static uint64_t middle_of(size_t bucket)
{
    if (bucket < 2 * STEPS) return bucket;
    const size_t shift = bucket / STEPS - 1;
    return ((uint64_t)(STEPS + bucket % STEPS) << shift) + ((uint64_t)1 << shift) / 2;
}

void ndr_tally_add(ndr_tally *tally, uint64_t ns)
{
    tally->min_ns = tally->count == 0 || ns < tally->min_ns ? ns : tally->min_ns;
    tally->max_ns = ns > tally->max_ns ? ns : tally->max_ns;
    tally->total_ns += ns;
    ++tally->count;
    ++tally->buckets[bucket_of(ns)];
}

uint64_t ndr_tally_median_ns(const ndr_tally *tally)
{
    uint64_t before = 0;
    size_t bucket = 0;
    while (bucket + 1 < NDR_TALLY_BUCKETS && 2 * (before + tally->buckets[bucket]) < tally->count)
        before += tally->buckets[bucket++];
    const uint64_t middle = middle_of(bucket);
    return middle < tally->min_ns ? tally->min_ns : middle > tally->max_ns ? tally->max_ns : middle;
}

/* ---- names ---- */

/* The link to the tally of that name, or to NULL. A list, because a program has tens of kernels; the names in use are
 * at its front. */
static ndr_tally **find(ndr_tally **list, const char *category, const char *name, size_t *length)
{
    ndr_tally **link = list;
    for (*length = 0; *link; link = &(*link)->next, ++*length)
        if (strcmp((*link)->name, name) == 0 && strcmp((*link)->category, category) == 0) break;
    return link;
}

static ndr_tally *make(const char *category, const char *name)
{
    ndr_tally *made = calloc(1, sizeof *made + strlen(name) + 1);
    if (!made) return NULL;
    made->category = category;
    return strcpy(made->name, name), made;
}

ndr_tally *ndr_tally_get(ndr_tally **list, const char *category, const char *name)
{
    size_t length;
    ndr_tally **link = find(list, category, name, &length);
    if (!*link && length >= NDR_TALLY_MAX_NAMES) link = find(list, category, name = "(others)", &length);
    ndr_tally *found = *link;
    if (found) *link = found->next;
    else if (!(found = make(category, name))) return NULL;
    found->next = *list;
    return *list = found;
}

void ndr_tallies_free(ndr_tally **list)
{
    while (*list) {
        ndr_tally *next = (*list)->next;
        free(*list);
        *list = next;
    }
}

/* ---- the table ---- */

typedef struct cell {
    char chars[24];
} cell;

static cell print_ns(double ns)
{
    static const char *const units[] = { "ns", "us", "ms", "s" };
    unsigned unit = 0;
    for (; ns >= 999.5 && unit < 3; ns /= 1000) ++unit;
    cell out;
    snprintf(out.chars, sizeof out.chars, "%.*f %s",
             unit == 0 || ns >= 99.95 ? 0
             : ns >= 9.995            ? 1
                                      : 2,
             ns, units[unit]);
    return out;
}

/* Bytes or operations of a ns are billions of a second. */
static cell print_rate(uint64_t amount, uint64_t ns)
{
    cell out = { "-" };
    if (amount && ns) snprintf(out.chars, sizeof out.chars, "%.3g", (double)amount / (double)ns);
    return out;
}

static void print_row(const ndr_tally *t, uint64_t whole_ns, ndr_text *out)
{
    ndr_text_add(out, "%-36.36s %9llu %9s %9s %9s %9s %7.1f %8s %8s\n", t->name, (unsigned long long)t->count,
                 print_ns((double)t->min_ns).chars, print_ns((double)ndr_tally_median_ns(t)).chars,
                 print_ns((double)t->max_ns).chars, print_ns((double)t->total_ns).chars,
                 whole_ns ? 100 * (double)t->total_ns / (double)whole_ns : 0.0, print_rate(t->bytes, t->total_ns).chars,
                 print_rate(t->flops, t->total_ns).chars);
}

/* The tally of a section with the largest total below `below`, which comes next in the table; NULL: none. Ties are
 * broken by the address. */
static const ndr_tally *find_next(const ndr_tally *list, bool are_regions, const ndr_tally *below)
{
    const ndr_tally *next = NULL;
    for (const ndr_tally *t = list; t; t = t->next) {
        const bool is_left = !below || t->total_ns < below->total_ns || (t->total_ns == below->total_ns && t > below);
        const bool is_better = !next || t->total_ns > next->total_ns || (t->total_ns == next->total_ns && t < next);
        if (ndr_tally_is_region(t) == are_regions && t->count && is_left && is_better) next = t;
    }
    return next;
}

static void print_section(const ndr_tally *list, bool are_regions, const char *title, uint64_t whole_ns, ndr_text *out)
{
    const ndr_tally *t = find_next(list, are_regions, NULL);
    if (t || !are_regions)
        ndr_text_add(out, "%-36s %9s %9s %9s %9s %9s %7s %8s %8s\n", title, "count", "min", "median", "max", "total",
                     "share %", "GB/s", "GFLOP/s");
    for (; t; t = find_next(list, are_regions, t)) print_row(t, whole_ns, out);
}

void ndr_tallies_print(const ndr_tally *list, ndr_text *out)
{
    uint64_t whole_ns = 0;
    for (const ndr_tally *t = list; t; t = t->next) whole_ns += ndr_tally_is_region(t) ? 0 : t->total_ns;
    print_section(list, false, "command", whole_ns, out);
    print_section(list, true, "operation or region", whole_ns, out);
}
