/* timeline.c - a file in the Trace Event format, an array of JSON objects, that is valid whenever its process dies.
 *
 * The format allows the closing bracket to be missing. A killed process can tear a write where a page of the file ends,
 * so each write stays inside one page: blanks fill the page if the next record would not fit. */
#include "base/timeline.h"

#include <stdio.h>
#include <string.h>

/* ---- records ---- */

void ndr_json_add_chars(ndr_json *json, const char *raw, size_t length)
{
    if (length < sizeof json->chars - json->length) memcpy(json->chars + json->length, raw, length);
    else json->is_cut = true;
    if (!json->is_cut) json->length += length;
}

void ndr_json_add_number(ndr_json *json, uint64_t number)
{
    char digits[21], *at = digits + sizeof digits - 1;
    *at = '\0';
    do *--at = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    ndr_json_add(json, at);
}

void ndr_json_add_us(ndr_json *json, int64_t ns)
{
    const uint64_t whole = ns > 0 ? (uint64_t)ns : 0;
    const char fraction[] = { '.', (char)('0' + whole / 100 % 10), (char)('0' + whole / 10 % 10),
                              (char)('0' + whole % 10), '\0' };
    ndr_json_add_number(json, whole / 1000);
    ndr_json_add(json, fraction);
}

/* The bytes of the UTF-8 character at `at`; 0: there is none. */
static size_t character_bytes(const unsigned char *at)
{
    const size_t bytes = at[0] < 0x80   ? 1
                         : at[0] < 0xc2 ? 0
                         : at[0] < 0xe0 ? 2
                         : at[0] < 0xf0 ? 3
                         : at[0] < 0xf5 ? 4
                                        : 0;
    for (size_t i = 1; i < bytes; ++i)
        if ((at[i] & 0xc0) != 0x80) return 0;
    const unsigned second = bytes > 2 ? at[1] : 0x80u;
    if (at[0] == 0xe0 && second < 0xa0) return 0; /* longer than it need be */
    if (at[0] == 0xed && second > 0x9f) return 0; /* half of a pair of UTF-16 */
    if (at[0] == 0xf0 && second < 0x90) return 0; /* longer than it need be */
    if (at[0] == 0xf4 && second > 0x8f) return 0; /* past the last character */
    return bytes;
}

size_t ndr_json_escape(const char *text, char out[8])
{
    const size_t bytes = character_bytes((const unsigned char *)text);
    memset(out, 0, 8);
    if (bytes == 0) snprintf(out, 8, "\\ufffd");
    else if (*text == '"' || *text == '\\') snprintf(out, 8, "\\%c", *text);
    else if ((unsigned char)*text < 0x20) snprintf(out, 8, "\\u%04x", (unsigned char)*text);
    else memcpy(out, text, bytes);
    return bytes ? bytes : 1;
}

static bool is_plain(char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; }

void ndr_json_add_text(ndr_json *json, const char *text)
{
    const size_t end = json->length + NDR_JSON_TEXT_BYTES;
    ndr_json_add(json, "\"");
    while (*text && json->length < end && !json->is_cut) {
        if (is_plain(*text) && json->length + 1 < sizeof json->chars) {
            json->chars[json->length++] = *text++;
            continue;
        }
        char out[8];
        text += ndr_json_escape(text, out);
        ndr_json_add(json, out);
    }
    ndr_json_add(json, *text ? "...\"" : "\"");
}

/* ---- the file ---- */

enum { PAGE = sizeof((ndr_timeline *)NULL)->page };
static const char opening[] = "[\n", closing[] = "\n]\n";

/* The latest file of the process. The next one with its path continues it. */
static struct {
    ndr_hash path;
    uint64_t size_bytes; /* without the closing bracket; 0: there is none */
} latest;

static int open_file(const char *path, ndr_hash hash, ndr_timeline *made)
{
    ndr_file_info info;
    const bool is_latest = latest.size_bytes && ndr_hash_equal(hash, latest.path) && ndr_file_get_info(path, &info) == 0
                           && info.size_bytes == (int64_t)(latest.size_bytes + strlen(closing));
    made->size_bytes = is_latest ? latest.size_bytes : 0;
    made->is_continued = is_latest;
    made->path = hash;
    return is_latest ? ndr_file_open_at(path, made->size_bytes, &made->file) : ndr_file_open_new(path, &made->file);
}

static void stop(ndr_timeline *timeline, const char *why)
{
    timeline->is_full = true;
    ndr_log(NDR_LOG_WARN, "trace.cut",
            "the trace file gets no more records: %s; free space there, or name another file", why);
}

static void write_bytes(ndr_timeline *timeline, const char *bytes, size_t count)
{
    if (timeline->is_full || timeline->process != ndr_process_id()) return;
    const int error = ndr_file_append(timeline->file, timeline->size_bytes, bytes, count);
    if (error) stop(timeline, ndr_errno_print(error).chars);
    else timeline->size_bytes += count;
}

void ndr_timeline_flush(ndr_timeline *timeline)
{
    const size_t used = timeline->used;
    timeline->used = 0;
    if (used) write_bytes(timeline, timeline->page, used);
}

/* Whatever follows starts at a page. */
static void fill_page(ndr_timeline *timeline, size_t left)
{
    memset(timeline->page + timeline->used, ' ', left);
    timeline->used += left;
    ndr_timeline_flush(timeline);
}

void ndr_timeline_add(ndr_timeline *timeline, const ndr_json *record)
{
    const bool is_first = timeline->size_bytes + timeline->used == strlen(opening);
    const size_t bytes = record->length + (is_first ? 0 : strlen(",\n"));
    const size_t left = PAGE - (size_t)(timeline->size_bytes + timeline->used) % PAGE;
    if (timeline->size_bytes >= NDR_TIMELINE_BYTES && !timeline->is_full)
        stop(timeline, "it has reached its limit of 1 GiB");
    if (record->is_cut || timeline->is_full) {
        ++timeline->lost;
        return;
    }
    if (bytes > left) fill_page(timeline, left);
    if (!is_first) memcpy(timeline->page + timeline->used, ",\n", 2);
    memcpy(timeline->page + timeline->used + bytes - record->length, record->chars, record->length);
    timeline->used += bytes;
    if (bytes == left) ndr_timeline_flush(timeline);
}

int ndr_timeline_open(ndr_timeline *timeline, const char *path)
{
    *timeline = (ndr_timeline){ .file = -1, .process = ndr_process_id() };
    const int error = open_file(path, ndr_hash_bytes(path, strlen(path)), timeline);
    if (!error && timeline->size_bytes == 0) write_bytes(timeline, opening, strlen(opening));
    return error;
}

void ndr_timeline_close(ndr_timeline *timeline)
{
    ndr_timeline_flush(timeline);
    const int error = ndr_file_append(timeline->file, timeline->size_bytes, closing, strlen(closing));
    ndr_file_close(timeline->file);
    latest.path = timeline->path;
    latest.size_bytes = error || timeline->is_full ? 0 : timeline->size_bytes;
}
