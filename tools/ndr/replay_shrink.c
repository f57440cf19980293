/* replay_shrink.c - finds the smallest range of a saved launch that still fails, by halving, and saves that launch. */
#include "replay.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- tries ---- */

typedef struct search {
    saved_launch *launch; /* its range is the smallest that ended as wanted */
    const run_options *options;
    const char *outcome;       /* the wanted one */
    size_t found, tries, most; /* smaller ranges; `most` is an estimate, for the progress bar */
    json_t *last;              /* the result of the smallest range */
} search;

/* Run the launch over `range`. If it ends as wanted, that is the range from now on. */
static bool is_enough(search *s, const ndr_nd_range *range)
{
    const ndr_nd_range before = s->launch->range;
    s->launch->range = *range;
    show_progress("tries", ++s->tries < s->most ? s->tries : s->most - 1, s->most);
    json_t *const result = run_launch(s->launch, s->options);
    const char *const outcome = json_string_value(json_object_get(result, "outcome"));
    const bool is_wanted = outcome && strcmp(outcome, s->outcome) == 0;
    if (is_wanted) {
        ++s->found;
        json_decref(s->last);
        s->last = result;
    } else {
        json_decref(result);
        s->launch->range = before;
    }
    return is_wanted;
}

/* ---- ranges ---- */

static ndr_range *counts_of(ndr_nd_range *range) { return range->groups.dims ? &range->groups : &range->global; }

/* Sizes must be multiples of it. */
static size_t unit_of(const ndr_nd_range *range, unsigned d)
{
    const bool is_multiple = range->global.dims && range->local.dims && range->edge == NDR_EDGE_REJECT;
    return is_multiple && range->local.size[d] ? range->local.size[d] : 1;
}

/* The range with `units` units in dimension `d`, without the first `skipped` of its own. */
static ndr_nd_range part_of(const ndr_nd_range *range, unsigned d, size_t skipped, size_t units)
{
    ndr_nd_range part = *range;
    const size_t unit = unit_of(range, d);
    counts_of(&part)->size[d] = units * unit;
    part.offset[d] += skipped * unit;
    return part;
}

/* The fewest units from the range's start that are enough. */
static void cut_end(search *s, unsigned d)
{
    const ndr_nd_range whole = s->launch->range;
    size_t too_few = 0, enough = counts_of(&s->launch->range)->size[d] / unit_of(&whole, d);
    while (enough - too_few > 1 && enough > 1) {
        const size_t middle = too_few + (enough - too_few) / 2;
        const ndr_nd_range part = part_of(&whole, d, 0, middle);
        if (is_enough(s, &part)) enough = middle;
        else too_few = middle;
    }
}

/* The most units that can be left out at the start. A range of groups has no place to begin elsewhere. */
static void cut_start(search *s, unsigned d)
{
    const ndr_nd_range whole = s->launch->range;
    const size_t units = whole.groups.dims ? 0 : whole.global.size[d] / unit_of(&whole, d);
    size_t enough = 0, too_many = units;
    while (too_many - enough > 1 && units > 1) {
        const size_t middle = enough + (too_many - enough) / 2;
        const ndr_nd_range part = part_of(&whole, d, middle, units - middle);
        if (is_enough(s, &part)) enough = middle;
        else too_many = middle;
    }
}

static size_t log2_of(size_t n)
{
    size_t bits = 0;
    for (; n; n >>= 1) ++bits;
    return bits;
}

/* Sizes of one dimension can depend on those of others, so all are tried again until none shrinks. */
static void shrink_range(search *s)
{
    enum { ROUNDS = 3 };
    const unsigned dims = counts_of(&s->launch->range)->dims;
    for (unsigned d = 0; d < dims; ++d) s->most += 4 * log2_of(counts_of(&s->launch->range)->size[d]);
    for (int round = 0; round < ROUNDS; ++round) {
        const size_t before = s->found;
        for (unsigned d = 0; d < dims; ++d) cut_end(s, d), cut_start(s, d);
        if (s->found == before) break;
    }
    show_progress("tries", s->most, s->most);
}

/* ---- the shrunk launch ---- */

static int write_bytes(const char *folder, const char *name, const void *bytes, size_t count)
{
    char path[4200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *const file = fopen(path, "wbx");
    if (!file) return fail_with("\"%s\" cannot be made: %s", path, strerror(errno));
    const bool is_written = fwrite(bytes, 1, count, file) == count;
    return fclose(file) == 0 && is_written ? DONE : fail_with("\"%s\" cannot be written: %s", path, strerror(errno));
}

/* The file that `entry` names by `key`; nothing if it names none. */
static int write_named(const char *folder, const json_t *entry, const char *key, const void *bytes, size_t count)
{
    const char *const name = json_string_value(json_object_get(entry, key));
    return name && bytes ? write_bytes(folder, name, bytes, count) : DONE;
}

static int write_program(const saved_launch *l, const char *folder)
{
    const json_t *const files = json_object_get(json_object_get(l->root, "kernel"), "files");
    int code = DONE;
    for (size_t i = 0; code == DONE && i < l->text_count; ++i)
        code = write_bytes(folder, json_string_value(json_array_get(files, i)), l->texts[i],
                           i == 0 ? l->text_bytes : strlen(l->texts[i]));
    return code;
}

static int write_buffers(const saved_launch *l, const char *folder)
{
    const json_t *const buffers = json_object_get(l->root, "buffers");
    int code = DONE;
    for (size_t i = 0; code == DONE && i < l->buffer_count; ++i) {
        const json_t *const entry = json_array_get(buffers, i);
        code = write_named(folder, entry, "before", l->buffers[i].before, l->buffers[i].size_bytes);
        if (code == DONE) code = write_named(folder, entry, "after", l->buffers[i].after, l->buffers[i].size_bytes);
    }
    return code;
}

/* launch.json says how the shrunk launch ended here. */
static int write_json(const search *s, const char *folder)
{
    static const char *const members[] = { "sentence", "cl_error", "device", "platform", "driver" };
    json_t *const root = s->launch->root;
    const bool differs = strcmp(s->outcome, "different") == 0;
    if (!json_object_get(root, "shrunk_from")) json_object_set(root, "shrunk_from", json_object_get(root, "range"));
    json_object_set_new(root, "range", describe_range(&s->launch->range));
    json_object_set_new(root, "check", json_boolean(s->options->is_checked));
    json_object_set_new(root, "status", json_string(differs ? "NDR_OK" : s->outcome));
    for (size_t i = 0; i < sizeof members / sizeof members[0]; ++i) {
        json_t *const value = json_object_get(s->last, members[i]);
        if (value) json_object_set(root, members[i], value);
        else if (i < 2) json_object_del(root, members[i]);
    }
    char *const text = json_dumps(root, JSON_INDENT(1));
    const int code =
        text ? write_bytes(folder, "launch.json", text, strlen(text)) : fail_with("there is no memory for launch.json");
    free(text);
    return code;
}

static void remove_folder(const char *path)
{
    char file[4500];
    DIR *const folder = opendir(path);
    for (const struct dirent *entry; folder && (entry = readdir(folder));) {
        snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
        if (entry->d_name[0] != '.') unlink(file);
    }
    if (folder) closedir(folder);
    rmdir(path);
}

static int write_folder(const search *s, const char *beside, const char *folder)
{
    if (mkdir(beside, 0700) != 0) return fail_with("\"%s\" cannot be made: %s", beside, strerror(errno));
    int code = write_program(s->launch, beside);
    if (code == DONE) code = write_buffers(s->launch, beside);
    if (code == DONE) code = write_json(s, beside);
    if (code == DONE && rename(beside, folder) != 0)
        code = fail_with("\"%s\" cannot be renamed to \"%s\": %s", beside, folder, strerror(errno));
    if (code != DONE) remove_folder(beside);
    return code;
}

int shrink_launch(saved_launch *l, const run_options *o, json_t *first, json_t *result)
{
    char folder[4096], beside[4128];
    run_options one = *o;
    one.repeats = 1;
    one.has_times = false;
    if (snprintf(folder, sizeof folder, "%s-shrunk", l->folder) >= (int)sizeof folder)
        return fail_with("the path \"%s\" is too long", l->folder);
    snprintf(beside, sizeof beside, "%s.%ld", folder, (long)getpid());
    search s = { .launch = l, .options = &one, .last = json_incref(first) };
    s.outcome = json_string_value(json_object_get(first, "outcome"));
    int code = access(folder, F_OK) == 0 ? fail_with("\"%s\" exists; move it away", folder) : DONE;
    l->is_shrunk = true; /* smaller ranges leave out elements */
    if (code == DONE) {
        shrink_range(&s);
        code = write_folder(&s, beside, folder);
    }
    json_object_set_new(result, "range", describe_range(&l->range));
    json_object_set_new(result, "tries", json_integer((json_int_t)s.tries));
    json_object_set_new(result, "folder", json_string(folder));
    json_object_set(result, "last", s.last);
    json_decref(s.last);
    return code;
}
