/* trace.h - what `ndr trace` knows of a timeline: the file that libndr writes for NDR_TRACE, docs/tracing.md.
 *
 * Slices of one kind (category and name) and with the same arguments are many, so both are kept once and numbered. */
#ifndef NDR_TRACE_H
#define NDR_TRACE_H

#include "command.h"

typedef struct slice {
    int64_t start_ns, time_ns;
    uint32_t kind, detail;
    uint32_t command; /* the number of the command that it is of; 0: none */
} slice;

/* A thread of the host, or a queue; slices are in the order of their starts, outer ones first. */
typedef struct track {
    unsigned group, number; /* group 1: the host; others: contexts */
    const char *name;
    slice *slices;
    size_t count, capacity;
} track;

enum { HOST = 1 };

typedef struct timeline {
    json_t *groups;  /* an array of { "group", "name", "labels" } */
    json_t *kinds;   /* an array of [ category, name ] */
    json_t *details; /* an array of objects: the arguments of slices, without "command" */
    json_t *names;   /* of tracks, "GROUP.NUMBER" */
    track *tracks;
    size_t track_count, slice_count;
    int64_t end_ns;       /* of the last slice */
    uint32_t commands;    /* the largest number of a command */
    bool is_complete;     /* the file has its closing bracket */
    uint64_t whole_bytes; /* of the file, up to the last whole record */
    json_t *found;        /* the numbers of kinds, details and tracks by their text */
    size_t track_room;
} timeline;

/* Reads the file; gives DONE, or prints why not and gives FAILED. timeline_free() is needed in both cases. */
int timeline_read(timeline *t, const char *path);
void timeline_free(timeline *t);

const char *kind_category(const timeline *t, const slice *s);
const char *kind_name(const timeline *t, const slice *s);

/* The table, as libndr's: { "commands": [...], "regions": [...], "timed": N, "untimed": N }, each row with "name",
 * "category", "count", "min_ns", "median_ns", "max_ns", "total_ns", "share", "bytes" and "flops", by total. NULL: there
 * is no memory. */
json_t *table_make(const timeline *t);
void table_print(const json_t *table, FILE *to);

/* Writes the page, with the first slices of the timeline, at most about `max_bars`. `about` goes into it: title, notes,
 * peaks. Gives DONE, or prints why not and gives FAILED. */
int page_write(const timeline *t, const json_t *table, const json_t *about, size_t max_bars, const char *path);

#endif
