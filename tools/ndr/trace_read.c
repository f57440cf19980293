/* trace_read.c - reads the timeline that libndr writes, a record a line. The end may be missing, if its process was
 * killed. */
#include "trace.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

/* ---- numbers for texts ---- */

/* The index of `text` among those of its sort, which `prefix` tells apart; `count` if it is new. -1: no memory. */
static int64_t number_of(timeline *t, char prefix, const char *text, size_t count)
{
    const size_t size = strlen(text) + 2;
    char *const key = malloc(size);
    if (!key) return -1;
    snprintf(key, size, "%c%s", prefix, text);
    const json_t *const known = json_object_get(t->found, key);
    int64_t index = known ? json_integer_value(known) : (int64_t)count;
    if (!known && json_object_set_new(t->found, key, json_integer(index)) != 0) index = -1;
    free(key);
    return index;
}

/* The index of `value` in `list`, where its text makes it one of a kind. Releases `value`. */
static int64_t intern(timeline *t, char prefix, json_t *list, json_t *value)
{
    char *const text = json_dumps(value, JSON_COMPACT | JSON_SORT_KEYS);
    const size_t count = json_array_size(list);
    const int64_t index = text ? number_of(t, prefix, text, count) : -1;
    free(text);
    if (index == (int64_t)count) return json_array_append_new(list, value) == 0 ? index : -1;
    json_decref(value);
    return index;
}

/* ---- records ---- */

static int64_t ns_of(const json_t *record, const char *key)
{
    const double us = json_number_value(json_object_get(record, key));
    return us > 0 && us < 1e15 ? llround(us * 1e3) : 0;
}

static unsigned unsigned_of(const json_t *record, const char *key)
{
    const json_int_t value = json_integer_value(json_object_get(record, key));
    return value > 0 && value < UINT32_MAX ? (unsigned)value : 0;
}

static const char *text_of(const json_t *record, const char *key)
{
    const char *text = json_string_value(json_object_get(record, key));
    return text ? text : "";
}

static track *find_track(timeline *t, unsigned group, unsigned number)
{
    char key[32];
    snprintf(key, sizeof key, "%u.%u", group, number);
    const int64_t index = number_of(t, 't', key, t->track_count);
    if (index < 0) return NULL;
    if (index < (int64_t)t->track_count) return &t->tracks[index];
    if (t->track_count == t->track_room) {
        const size_t room = t->track_room ? 2 * t->track_room : 16;
        track *const larger = realloc(t->tracks, room * sizeof *larger);
        if (!larger) return NULL;
        t->tracks = larger;
        t->track_room = room;
    }
    t->tracks[t->track_count] = (track){ .group = group, .number = number };
    return &t->tracks[t->track_count++];
}

static slice *add_slice(timeline *t, track *r)
{
    if (!r) return NULL;
    if (r->count == r->capacity) {
        const size_t capacity = r->capacity ? 2 * r->capacity : 256;
        slice *const larger = realloc(r->slices, capacity * sizeof *larger);
        if (!larger) return NULL;
        r->slices = larger;
        r->capacity = capacity;
    }
    ++t->slice_count;
    return &r->slices[r->count++];
}

/* Numbers of commands count from 1, so a larger one is no such number. */
static const unsigned MAX_COMMAND = 1 << 25;

static bool read_slice(timeline *t, const json_t *record)
{
    json_t *const arguments = json_object();
    json_object_update(arguments, json_object_get(record, "args"));
    const unsigned number = unsigned_of(arguments, "command");
    json_object_del(arguments, "command");
    const int64_t detail = intern(t, 'd', t->details, arguments);
    const int64_t kind = intern(t, 'k', t->kinds, json_pack("[ss]", text_of(record, "cat"), text_of(record, "name")));
    slice *const s = detail < 0 || kind < 0
                         ? NULL
                         : add_slice(t, find_track(t, unsigned_of(record, "pid"), unsigned_of(record, "tid")));
    if (!s) return false;
    *s = (slice){ ns_of(record, "ts"), ns_of(record, "dur"), (uint32_t)kind, (uint32_t)detail,
                  number <= MAX_COMMAND ? number : 0 };
    if (s->start_ns + s->time_ns > t->end_ns) t->end_ns = s->start_ns + s->time_ns;
    if (s->command > t->commands) t->commands = s->command;
    return true;
}

static json_t *find_group(timeline *t, unsigned number)
{
    size_t i;
    json_t *group;
    json_array_foreach(t->groups, i, group) if (unsigned_of(group, "group") == number) return group;
    group = json_pack("{si ss ss}", "group", (int)number, "name", "", "labels", "");
    return json_array_append_new(t->groups, group) == 0 ? group : NULL;
}

/* The name of a track or a group, or what else is known of the group. */
static bool read_name(timeline *t, const json_t *record)
{
    char key[32];
    const char *const what = text_of(record, "name");
    json_t *const arguments = json_object_get(record, "args");
    const unsigned group = unsigned_of(record, "pid");
    if (strcmp(what, "thread_name") == 0) {
        snprintf(key, sizeof key, "%u.%u", group, unsigned_of(record, "tid"));
        return json_object_set(t->names, key, json_object_get(arguments, "name")) == 0;
    }
    const char *const kept = strcmp(what, "process_name") == 0 ? "name" : "labels";
    json_t *const value = json_object_get(arguments, kept);
    return !value || json_object_set(find_group(t, group), kept, value) == 0;
}

/* A line, which may be no record. False: there is no memory. */
static bool read_line(timeline *t, const char *line, size_t length, bool *is_record)
{
    json_t *const record = length > 1 ? json_loadb(line, length, 0, NULL) : NULL;
    *is_record = json_is_object(record);
    const char *const phase = text_of(record, "ph");
    const bool is_done = strcmp(phase, "X") == 0   ? read_slice(t, record)
                         : strcmp(phase, "M") == 0 ? read_name(t, record)
                                                   : true;
    json_decref(record);
    return is_done;
}

/* ---- the file ---- */

static size_t size_mb(FILE *file)
{
    const bool is_known = fseeko(file, 0, SEEK_END) == 0;
    const off_t bytes = is_known ? ftello(file) : 0;
    rewind(file);
    return bytes > 0 ? (size_t)(bytes / 1000000) : 0;
}

static bool read_lines(timeline *t, FILE *file)
{
    static const char what[] = "MB of the timeline";
    const size_t whole_mb = size_mb(file);
    char *line = NULL;
    size_t room = 0;
    bool is_done = true;
    uint64_t at = 0;
    for (ssize_t length; is_done && (length = getline(&line, &room, file)) >= 0; at += (uint64_t)length) {
        bool is_record;
        size_t used = (size_t)length; /* without the comma and blanks */
        while (used > 0 && strchr(" \n,", line[used - 1])) --used;
        t->is_complete = strcmp(line, "]\n") == 0;
        is_done = read_line(t, line, used, &is_record);
        if (at / 1000000 < whole_mb) show_progress(what, (size_t)(at / 1000000), whole_mb);
        if (is_record) t->whole_bytes = at + used;
    }
    show_progress(what, whole_mb, whole_mb);
    free(line);
    return is_done;
}

static int compare_slices(const void *left, const void *right)
{
    const slice *const a = left, *const b = right;
    if (a->start_ns != b->start_ns) return a->start_ns < b->start_ns ? -1 : 1;
    return a->time_ns > b->time_ns ? -1 : a->time_ns < b->time_ns;
}

static int compare_tracks(const void *left, const void *right)
{
    const track *const a = left, *const b = right;
    if (a->group != b->group) return a->group < b->group ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

static void sort(timeline *t)
{
    char key[32];
    for (track *r = t->tracks; r < t->tracks + t->track_count; ++r) {
        snprintf(key, sizeof key, "%u.%u", r->group, r->number);
        r->name = text_of(t->names, key);
        qsort(r->slices, r->count, sizeof *r->slices, compare_slices);
    }
    if (t->track_count) qsort(t->tracks, t->track_count, sizeof *t->tracks, compare_tracks);
}

int timeline_read(timeline *t, const char *path)
{
    *t = (timeline){ .groups = json_array(),
                     .kinds = json_array(),
                     .details = json_array(),
                     .names = json_object(),
                     .found = json_object() };
    FILE *const file = fopen(path, "r");
    if (!file) return fail_with("the file \"%s\" cannot be read: %s", path, strerror(errno));
    char opening[3] = "";
    const bool is_timeline = fgets(opening, sizeof opening, file) && strcmp(opening, "[\n") == 0;
    const bool is_done = is_timeline && read_lines(t, file);
    const bool failed = ferror(file) != 0;
    fclose(file);
    if (!is_timeline)
        return fail_with("the file \"%s\" is no timeline of libndr: give one that NDR_TRACE or ndr_trace_start() made",
                         path);
    if (failed) return fail_with("the file \"%s\" cannot be read: %s", path, strerror(errno));
    if (!is_done) return fail_with("there is no memory for the timeline \"%s\"", path);
    sort(t);
    return DONE;
}

void timeline_free(timeline *t)
{
    for (size_t i = 0; i < t->track_count; ++i) free(t->tracks[i].slices);
    free(t->tracks);
    json_decref(t->groups);
    json_decref(t->kinds);
    json_decref(t->details);
    json_decref(t->names);
    json_decref(t->found);
}

static const char *kind_part(const timeline *t, const slice *s, size_t part)
{
    return json_string_value(json_array_get(json_array_get(t->kinds, s->kind), part));
}

const char *kind_category(const timeline *t, const slice *s) { return kind_part(t, s, 0); }
const char *kind_name(const timeline *t, const slice *s) { return kind_part(t, s, 1); }
