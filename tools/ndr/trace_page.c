/* trace_page.c - writes a timeline as one HTML page: trace.html with the data in it. */
#include "trace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace.html.h"

/* JSON inside HTML: "<" could begin a tag, and stands only in strings. */
static int write_safely(const char *text, size_t size, void *file)
{
    for (size_t i = 0; i < size; ++i)
        if ((text[i] == '<' ? fputs("\\u003c", file) : putc(text[i], file)) == EOF) return -1;
    return 0;
}

static void write_member(const char *key, const json_t *value, FILE *file)
{
    fprintf(file, "\"%s\":", key);
    json_dump_callback(value, write_safely, file, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(9));
    fputs(",\n", file);
}

/* A slice is five numbers: ns since the start of the one before, ns, kind, detail, command. */
static void write_track(const track *r, int64_t end_ns, FILE *file)
{
    int64_t before = 0;
    json_t *const name = json_string(r->name);
    fprintf(file, "{\"group\":%u,", r->group);
    write_member("name", name, file);
    fputs("\"slices\":[", file);
    for (const slice *s = r->slices; s < r->slices + r->count && s->start_ns <= end_ns; ++s) {
        fprintf(file, "%s%" PRId64 ",%" PRId64 ",%u,%u,%u", s == r->slices ? "" : ",", s->start_ns - before, s->time_ns,
                s->kind, s->detail, s->command);
        before = s->start_ns;
    }
    fputs("]}", file);
    json_decref(name);
}

/* The start of the last slice that the page takes. */
static int64_t find_end(const timeline *t, size_t max_bars)
{
    int64_t *const starts = t->slice_count > max_bars ? malloc(t->slice_count * sizeof *starts) : NULL;
    size_t count = 0;
    if (!starts) return INT64_MAX;
    for (const track *r = t->tracks; r < t->tracks + t->track_count; ++r)
        for (const slice *s = r->slices; s < r->slices + r->count; ++s) starts[count++] = s->start_ns;
    qsort(starts, count, sizeof *starts, compare_times);
    const int64_t end_ns = starts[max_bars - 1];
    free(starts);
    return end_ns;
}

static void write_data(const timeline *t, const json_t *table, const json_t *about, int64_t end_ns, FILE *file)
{
    fputs("{\n", file);
    write_member("about", about, file);
    write_member("table", table, file);
    write_member("groups", t->groups, file);
    write_member("kinds", t->kinds, file);
    write_member("details", t->details, file);
    if (end_ns < INT64_MAX) fprintf(file, "\"cut_ns\":%" PRId64 ",\n", end_ns);
    fputs("\"rows\":[", file);
    for (size_t i = 0; i < t->track_count; ++i) {
        fputs(i ? ",\n" : "\n", file);
        write_track(&t->tracks[i], end_ns, file);
    }
    fputs("\n]}", file);
}

/* Gives 0, or an errno. */
static int write_file(const timeline *t, const json_t *table, const json_t *about, size_t max_bars, const char *path)
{
    static const char mark[] = "@TRACE@";
    FILE *const file = fopen(path, "w");
    if (!file) return errno;
    const char *const at = strstr(trace_html, mark);
    fwrite(trace_html, 1, (size_t)(at - trace_html), file);
    write_data(t, table, about, find_end(t, max_bars), file);
    fputs(at + strlen(mark), file);
    const bool failed = ferror(file) != 0;
    return fclose(file) != 0 || failed ? (errno ? errno : EIO) : 0;
}

int page_write(const timeline *t, const json_t *table, const json_t *about, size_t max_bars, const char *path)
{
    const size_t size = strlen(path) + sizeof ".part";
    char *const part = malloc(size);
    if (!part) return fail_with("there is no memory for the page \"%s\"", path);
    snprintf(part, size, "%s.part", path);
    errno = 0;
    int error = write_file(t, table, about, max_bars, part);
    if (!error && rename(part, path) != 0) error = errno;
    if (error) unlink(part);
    free(part);
    return error ? fail_with("the page \"%s\" cannot be written: %s", path, strerror(error)) : DONE;
}
