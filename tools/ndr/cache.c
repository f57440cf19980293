/* cache.c - `ndr cache`: the store of built programs: lists it, finds damage, empties it, builds files ahead. */
#include "command.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef enum action { LS, VERIFY, CLEAR, WARM, ACTIONS } action;

static const char *const action_names[ACTIONS] = {
    [LS] = "ls", [VERIFY] = "verify", [CLEAR] = "clear", [WARM] = "warm"
};

typedef struct options {
    common common;
    action action; /* ACTIONS: not given yet */
    char **files;  /* of warm, ended by NULL: the rest of argv */
    const char *build_options;
    bool is_broken; /* clear only what is never used */
    long days;      /* clear only what was not used for so long; -1: any */
} options;

/* ---- the command line ---- */

enum { OPTION_BROKEN = 0x200, OPTION_UNUSED };

static const struct argp_option list[] = {
    { "broken", OPTION_BROKEN, NULL, 0, "clear: only files that are never used: damaged ones, and unfinished ones", 0 },
    { "unused", OPTION_UNUSED, "DAYS", 0, "clear: only files that were not used for DAYS days", 0 },
    { "build-options", 'b', "TEXT", 0, "warm: the build options, such as \"-DTILE=16 -Iinclude\"", 0 },
    { 0 },
};

static void take_action(options *o, const char *name, struct argp_state *state)
{
    while (o->action > 0 && strcmp(action_names[o->action - 1], name) != 0) --o->action;
    if (o->action == 0) argp_error(state, "\"%s\" is not an action; use ls, verify, clear or warm", name);
    --o->action;
}

static void check(const options *o, struct argp_state *state)
{
    if (o->action == ACTIONS) argp_error(state, "no action is given; use ls, verify, clear or warm");
    if (o->action != CLEAR && (o->is_broken || o->days >= 0)) argp_error(state, "--broken and --unused are for clear");
    if (o->action != WARM && o->build_options) argp_error(state, "--build-options is for warm");
    if (o->action == WARM && !o->files) argp_error(state, "warm: no file is given");
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    options *o = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &o->common; return 0;
    case OPTION_BROKEN: o->is_broken = true; return 0;
    case OPTION_UNUSED: o->days = (long)read_count(state, "--unused", arg, 0, 36500); return 0;
    case 'b': o->build_options = arg; return 0;
    case ARGP_KEY_ARG:
        if (o->action == ACTIONS) take_action(o, arg, state);
        else if (o->action != WARM) argp_error(state, "%s takes no argument: \"%s\"", action_names[o->action], arg);
        else return ARGP_ERR_UNKNOWN; /* with all that follow: the next case */
        return 0;
    case ARGP_KEY_ARGS: o->files = state->argv + state->next; return 0;
    case ARGP_KEY_END: check(o, state); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    .options = list,
    .parser = parse_option,
    .args_doc = "ls\nverify\nclear\nwarm FILE...",
    .doc = "Looks after the store on disk, in which libndr keeps built programs and tuned choices.\v"
           "ls lists its files, the most recently used first. verify reads all of them and fails if some are never "
           "used. clear removes them, or those that --broken and --unused name. warm builds files of kernels and keeps "
           "their programs, so that later processes compile nothing. ls, verify and clear need no device.",
    .children = (const struct argp_child[]){ { .argp = &common_argp }, { 0 } },
};

/* ---- a visit ---- */

typedef struct visit {
    const options *options;
    json_t *entries; /* of the files that the action is about */
    size_t count;    /* of all files */
    int64_t now_s;
} visit;

static json_t *describe(const ndr_cache_entry *e, int64_t now_s)
{
    json_t *const o =
        json_pack("{so so so so so so sI sI sb}", "file", text_json(e->path), "what", text_json(e->what), "options",
                  text_json(e->options), "device", text_json(e->device), "driver", text_json(e->driver), "library",
                  text_json(e->library), "size_bytes", (json_int_t)e->size_bytes, "age_seconds",
                  (json_int_t)(now_s > e->used_s ? now_s - e->used_s : 0), "is_of_this_library", e->is_of_this_library);
    if (e->fault) json_object_set_new(o, "fault", text_json(e->fault));
    return o;
}

static bool is_meant(const options *o, const ndr_cache_entry *e, int64_t now_s)
{
    if (o->action == VERIFY || o->is_broken) return e->fault != NULL;
    return o->days < 0 || now_s - e->used_s >= (int64_t)o->days * 86400;
}

static bool visit_entry(const ndr_cache_entry *e, void *user)
{
    visit *const v = user;
    ++v->count;
    if (!is_meant(v->options, e, v->now_s)) return false;
    json_array_append_new(v->entries, describe(e, v->now_s));
    return v->options->action == CLEAR;
}

/* ---- results ---- */

#define TEXT(key) json_string_value(json_object_get(e, key))
#define NUMBER(key) json_integer_value(json_object_get(e, key))

static const char *print_age(char text[32], json_int_t seconds)
{
    static const struct {
        int seconds;
        const char *name;
    } units[] = { { 86400, "d" }, { 3600, "h" }, { 60, "min" }, { 1, "s" } };
    size_t i = 0;
    while (i < 3 && seconds < units[i].seconds) ++i;
    snprintf(text, 32, "%lld %s", (long long)seconds / units[i].seconds, units[i].name);
    return text;
}

static void print_entry(const json_t *e)
{
    char size[32], age[32];
    const char *const fault = TEXT("fault"), *const built_with = TEXT("options");
    printf("%10s  %7s  ", with_binary_prefix(size, (uint64_t)NUMBER("size_bytes")),
           print_age(age, NUMBER("age_seconds")));
    if (fault) printf("%s%s%s: %s\n", style_begin(BAD), fault, style_end(), TEXT("file"));
    else
        printf("%s%s%s, for %s%s\n", TEXT("what"), *built_with ? " with " : "", built_with, TEXT("device"),
               json_is_true(json_object_get(e, "is_of_this_library")) ? "" : ", of another build of libndr");
}

static int compare_ages(const void *a, const void *b)
{
    json_t *const *const first = a, *const *const second = b;
    const json_int_t x = json_integer_value(json_object_get(*first, "age_seconds"));
    const json_int_t y = json_integer_value(json_object_get(*second, "age_seconds"));
    return (x > y) - (x < y);
}

/* Returns a new list. */
static json_t *sort(json_t *entries)
{
    const size_t count = json_array_size(entries);
    json_t **const all = calloc(count ? count : 1, sizeof *all), *const sorted = json_array();
    for (size_t i = 0; all && i < count; ++i) all[i] = json_array_get(entries, i);
    if (all) qsort(all, count, sizeof *all, compare_ages);
    for (size_t i = 0; all && i < count; ++i) json_array_append(sorted, all[i]);
    free(all);
    return sorted;
}

static uint64_t add_sizes(const json_t *entries)
{
    size_t i;
    json_t *e;
    uint64_t bytes = 0;
    json_array_foreach(entries, i, e) bytes += (uint64_t)NUMBER("size_bytes");
    return bytes;
}

/* `read` is the number of all files. */
static void print_summary(const options *o, const char *folder, const json_t *entries, size_t read, bool is_whole)
{
    char size[32], of_all[32] = "";
    static const char *const words[] = { [LS] = "", [VERIFY] = " damaged or unfinished", [CLEAR] = " removed" };
    const size_t count = json_array_size(entries), named = o->action == VERIFY ? read : count;
    if (o->action == VERIFY) snprintf(of_all, sizeof of_all, "%zu of ", count);
    printf("%s%zu file%s%s, %s, in %s\n", of_all, named, named == 1 ? "" : "s",
           is_whole ? words[o->action] : " to remove", with_binary_prefix(size, add_sizes(entries)), folder);
    if (o->action == VERIFY && count)
        printf("libndr builds those programs again; `ndr cache clear --broken` removes the files\n");
}

/* `is_whole` is false if the visit failed; the sentence is printed by the caller. */
static int show(const options *o, const char *folder, const json_t *entries, size_t read, bool is_whole)
{
    size_t i;
    json_t *e;
    const bool has_fault = o->action == VERIFY && json_array_size(entries) > 0;
    if (o->common.is_json)
        return print_json(json_pack("{ss sO sI}", "folder", folder, "entries", entries, "bytes",
                                    (json_int_t)add_sizes(entries)))
                           == DONE
                       && is_whole && !has_fault
                   ? DONE
                   : FAILED;
    if (o->action != CLEAR)
        json_array_foreach(entries, i, e) print_entry(e);
    print_summary(o, folder, entries, read, is_whole);
    return is_whole && !has_fault ? DONE : FAILED;
}

static int look(const options *o)
{
    char folder[4096];
    if (ndr_cache_get_folder(sizeof folder, folder, NULL) != NDR_OK) return fail_with("%s", ndr_last_error());
    visit v = { .options = o, .entries = json_array(), .now_s = (int64_t)time(NULL) };
    const ndr_status status = ndr_cache_visit(visit_entry, &v);
    json_t *const sorted = sort(v.entries);
    const int code = show(o, folder, sorted, v.count, status == NDR_OK);
    json_decref(sorted);
    json_decref(v.entries);
    return status == NDR_OK ? code : fail_with("%s", ndr_last_error());
}

/* ---- warm ---- */

typedef struct warming {
    char **files;
    json_t *results;
    bool is_json;
} warming;

static void note(const ndr_warm_progress *p, void *user)
{
    const warming *const w = user;
    json_t *const result = json_pack("{so sb}", "file", text_json(w->files[p->index]), "is_kept", p->status == NDR_OK);
    if (p->status != NDR_OK) json_object_set_new(result, "error", text_json(p->error));
    json_array_set_new(w->results, p->index, result);
    show_progress("files", p->done, p->count);
    if (w->is_json) return;
    if (p->status == NDR_OK) printf("%s is in the store\n", w->files[p->index]);
    else printf("%s%s%s: %s\n", style_begin(BAD), w->files[p->index], style_end(), p->error);
}

static int build(const options *o, ndr_context *context, size_t count)
{
    ndr_kernel_desc *const kernels = calloc(count, sizeof *kernels);
    ndr_warm_desc *const descs = calloc(count, sizeof *descs);
    warming w = { o->files, json_array(), o->common.is_json };
    for (size_t i = 0; kernels && descs && i < count; ++i) {
        kernels[i] = (ndr_kernel_desc){ .file = o->files[i], .options = o->build_options };
        descs[i] = (ndr_warm_desc){ .kernel = &kernels[i] };
        json_array_append_new(w.results, json_null());
    }
    show_progress("files", 0, count);
    ndr_status status = NDR_OUT_OF_HOST_MEMORY;
    if (kernels && descs) status = ndr_cache_warm(context, descs, count, note, &w);
    const bool is_tried = count > 0 && !json_is_null(json_array_get(w.results, 0));
    free(kernels);
    free(descs);
    if (!is_tried) return json_decref(w.results), fail(status); /* nothing was said yet */
    if (!o->common.is_json) json_decref(w.results);
    else if (print_json(json_pack("{so}", "files", w.results)) != DONE) return FAILED;
    return status == NDR_OK ? DONE : FAILED;
}

static int warm(const options *o)
{
    size_t count = 0;
    ndr_context *context;
    while (o->files[count]) ++count;
    const ndr_status status = ndr_context_create(o->common.device, &context);
    if (status != NDR_OK) return fail(status);
    const int code = build(o, context, count);
    ndr_context_destroy(context);
    return code;
}

static int run(int argc, char **argv)
{
    options o = { .action = ACTIONS, .days = -1 };
    parse(&argp, argc, argv, &o);
    return o.action == WARM ? warm(&o) : look(&o);
}

const command cache_command = { "cache", "lists, verifies, clears or fills the store of built programs", run };
