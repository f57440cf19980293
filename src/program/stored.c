/* stored.c - describes the files of the store on disk: ndr_cache_visit(). */
#include "base/disk.h"
#include "program/program.h"

/* The lines of a key, in the order of ndr_cache_open(). */
enum { LIBRARY, DEVICE, VENDOR, DRIVER, OPENCL, PLATFORM, VERSION, ABOUT, CPU, SETTINGS, QUESTION, LINES };

/* Cut a key into its lines; lines that are not there are "". */
static void cut(char *key, const char *lines[LINES])
{
    for (unsigned i = 0; i < LINES; ++i) {
        lines[i] = key;
        key += strcspn(key, "\n");
        if (*key) *key++ = '\0';
    }
}

static const char *skip(const char *text, const char *start)
{
    const size_t length = strlen(start);
    return strncmp(text, start, length) == 0 ? text + length : text;
}

/* "program 2 HASH, OPTIONS" */
static const char *options_of(const char *question)
{
    const char *comma = strstr(question, ", ");
    return comma ? comma + 2 : "";
}

typedef struct visit {
    ndr_cache_visitor *visitor;
    void *user;
} visit;

/* `key` is a copy that is cut. */
static bool describe(const visit *v, const ndr_disk_entry *file, char *key, ndr_text *what)
{
    const char *lines[LINES];
    cut(key, lines);
    const bool is_program = strncmp(lines[QUESTION], "program ", 8) == 0;
    const char *library = skip(lines[LIBRARY], "libndr ");
    if (is_program) ndr_binary_list_kernels(file->value, file->value_bytes, what);
    const ndr_cache_entry entry = { .path = file->path,
                                    .what = what->chars ? what->chars : lines[QUESTION],
                                    .options = is_program ? options_of(lines[QUESTION]) : "",
                                    .device = lines[DEVICE],
                                    .driver = lines[DRIVER],
                                    .library = library,
                                    .fault = file->fault,
                                    .size_bytes = (uint64_t)file->info.size_bytes,
                                    .used_s = file->info.changed_s,
                                    .is_of_this_library = strcmp(library, ndr_library_build) == 0 };
    return v->visitor(&entry, v->user);
}

static bool visit_file(void *visitor, const ndr_disk_entry *file)
{
    ndr_text key = { 0 }, what = { 0 };
    char none[1] = "";
    ndr_text_add(&key, "%s", file->key);
    const bool is_to_remove = describe(visitor, file, key.chars && !key.failed ? key.chars : none, &what);
    ndr_text_free(&key);
    ndr_text_free(&what);
    return is_to_remove;
}

ndr_status ndr_cache_visit(ndr_cache_visitor *visitor, void *user)
{
    NDR_REQUIRE(visitor, "ndr_cache_visit: visitor is NULL");
    return ndr_disk_visit(visit_file, &(visit){ visitor, user });
}
