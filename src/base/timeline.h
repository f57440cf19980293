/* timeline.h - a trace file of JSON objects. */
#ifndef NDR_TIMELINE_H
#define NDR_TIMELINE_H

#include "base/base.h"

enum { NDR_TIMELINE_BYTES = 1 << 30, NDR_JSON_TEXT_BYTES = 240 };

/* A JSON value in the making; all zeros: empty. `is_cut`: it does not fit. */
typedef struct ndr_json {
    size_t length;
    bool is_cut;
    char chars[1024];
} ndr_json;

void ndr_json_add_chars(ndr_json *json, const char *raw, size_t length);
static inline void ndr_json_add(ndr_json *json, const char *raw) { ndr_json_add_chars(json, raw, strlen(raw)); }
void ndr_json_add_number(ndr_json *json, uint64_t number);
void ndr_json_add_us(ndr_json *json, int64_t ns); /* as microseconds; 0 if it is less */

/* In quotes, escaped; bytes that are not UTF-8 become U+FFFD. A longer text ends in "..." after NDR_JSON_TEXT_BYTES. */
void ndr_json_add_text(ndr_json *json, const char *text);

/* Pure: the first character of a text that is not empty, as a string of JSON has it. Returns its bytes in the text. */
size_t ndr_json_escape(const char *text, char out[8]);

/* The file of a trace. */
typedef struct ndr_timeline {
    int file;
    unsigned long process; /* that opened it; in others, made by fork(), nothing is written */
    ndr_hash path;
    uint64_t size_bytes, lost; /* written; records that are not in the file */
    bool is_continued;         /* the file has records of an earlier trace */
    bool is_full;              /* nothing more is written, and the log has the reason */
    size_t used;
    char page[4096]; /* `used` bytes wait to be written */
} ndr_timeline;

/* Make the file, over an earlier one; or continue it, if it is the process's latest: 0, or an errno. */
int ndr_timeline_open(ndr_timeline *timeline, const char *path);
void ndr_timeline_add(ndr_timeline *timeline, const ndr_json *record);
void ndr_timeline_flush(ndr_timeline *timeline);
void ndr_timeline_close(ndr_timeline *timeline);

#endif
