/* traces.c - a traced context, and what its trace says. */
#include "traces.h"

#include "base/base.h"

#include "json.h"

/* ---- a traced context ---- */

ndr_context *traced;
ndr_queue *line;
char table[8192];

void keep_table(const char *text, void *user)
{
    assert_ptr_equal(user, &traced);
    snprintf(table, sizeof table, "%s", text);
}

const ndr_context_desc unchecked = { .check = NDR_CHECK_OFF };

void start_trace(const char *file)
{
    table[0] = '\0';
    assert_ok(
        ndr_trace_start(&(ndr_trace_desc){ .file = file, .has_table = true, .callback = keep_table, .user = &traced }));
}

void open_traced(const char *file)
{
    start_trace(file);
    assert_ok(ndr_context_create_with(&unchecked, &traced));
    assert_ok(ndr_queue_create(traced, NULL, &line));
}

void close_traced(void)
{
    ndr_queue_destroy(line);
    ndr_context_destroy(traced);
}

/* ---- what the file says ---- */

slice slices[MAX_SLICES];
size_t slice_count, row_names;

static double number_of(const char *record, const char *key)
{
    char text[64];
    return json_field(record, key, text, sizeof text) ? strtod(text, NULL) : 0;
}

static void read_sizes(const char *record, const char *key, char *sizes, size_t size)
{
    const char *at = strstr(record, key), *end = strchr(record, '\n');
    if (!at || (end && at > end)) return;
    at += strlen(key);
    snprintf(sizes, size, "%.*s", (int)strcspn(at, "]"), at);
}

static void read_slice(const char *record)
{
    slice *s = &slices[slice_count++];
    *s = (slice){ .group = (unsigned long)number_of(record, "pid"),
                  .row = (unsigned long)number_of(record, "tid"),
                  .bytes = (unsigned long)number_of(record, "bytes"),
                  .flops = (unsigned long)number_of(record, "flops"),
                  .command = (unsigned long)number_of(record, "command"),
                  .start_us = number_of(record, "ts"),
                  .time_us = number_of(record, "dur") };
    assert_true(json_field(record, "name", s->name, sizeof s->name));
    assert_true(json_field(record, "cat", s->category, sizeof s->category));
    (void)json_field(record, "in", s->in, sizeof s->in);
    (void)json_field(record, "result", s->result, sizeof s->result);
    read_sizes(record, "\"global\":[", s->global, sizeof s->global);
    read_sizes(record, "\"local\":[", s->local, sizeof s->local);
    assert_true(s->start_us >= 0 && s->time_us >= 0);
}

void read_slices(const char *path, const char *closing)
{
    ndr_text text = { 0 };
    ndr_file_info info;
    assert_int_equal(ndr_file_read(path, 1 << 30, &text, &info), 0);
    ndr_text_add(&text, "%s", closing);
    json_check(text.chars, text.length);
    slice_count = row_names = 0;
    for (const char *at = text.chars; (at = strstr(at, "\n{")) && slice_count < MAX_SLICES; ++at) {
        if (strncmp(at, "\n{\"ph\":\"X\"", 10) == 0) read_slice(at + 1);
        else row_names += strstr(at, "thread_name") != NULL;
    }
    ndr_text_free(&text);
}

size_t count_slices(const char *category, const char *name)
{
    size_t count = 0;
    for (const slice *s = slices; s < slices + slice_count; ++s)
        count += strcmp(s->category, category) == 0 && (!name || strcmp(s->name, name) == 0);
    return count;
}

const slice *find_slice(const char *category, const char *name)
{
    for (const slice *s = slices; s < slices + slice_count; ++s)
        if (strcmp(s->category, category) == 0 && strcmp(s->name, name) == 0) return s;
    fail_msg("no slice \"%s\" of category %s", name, category);
    return NULL;
}

const char *check_row(const char *name, unsigned long count)
{
    char wanted[64];
    snprintf(wanted, sizeof wanted, "\n%-36s %9lu ", name, count);
    const char *row = strstr(table, wanted);
    if (!row) fail_msg("no row \"%s\" with count %lu in\n%s", name, count, table);
    return row + 1;
}
