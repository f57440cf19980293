/* doctor_folders.c - the folders that drivers and libndr write to, and the store of built programs. */
#include "doctor.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* ---- a folder ---- */

/* Cuts a path to the nearest parent that exists. */
static void cut_to_existing(char *path)
{
    while (access(path, F_OK) != 0) {
        char *const slash = strrchr(path, '/');
        if (!slash) strcpy(path, ".");
        else if (slash == path) strcpy(path, "/");
        else *slash = '\0';
    }
}

/* Of a folder that exists. Some file systems count nothing: they have 0 blocks or files. */
static const char *find_fault_of_disk(const char *path)
{
    enum { FEW_BYTES = 1 << 20 };
    static char text[100];
    struct statvfs about;
    if (statvfs(path, &about) != 0) return NULL;
    const uint64_t bytes = (uint64_t)(geteuid() == 0 ? about.f_bfree : about.f_bavail) * about.f_frsize;
    if (about.f_files > 0 && about.f_ffree == 0) return "its disk has no room for another file";
    if (about.f_blocks == 0 || bytes >= FEW_BYTES) return NULL;
    snprintf(text, sizeof text, "its disk is full: %" PRIu64 " KiB are left", bytes >> 10);
    return text;
}

const char *find_fault_of_folder(const char *path)
{
    static char text[200];
    struct stat about;
    char *const there = strdup(path);
    const char *fault = NULL;
    if (!there) return NULL;
    cut_to_existing(there);
    if (stat(there, &about) == 0 && !S_ISDIR(about.st_mode)) fault = "a file is where the folder should be";
    else if (access(there, W_OK | X_OK) != 0) {
        snprintf(text, sizeof text, "this user cannot write to it (%s)", strerror(errno));
        fault = text;
    } else fault = find_fault_of_disk(there);
    free(there);
    return fault;
}

static void report_folder(report *r, const char *check, const char *what, const char *path, const char *fix)
{
    const char *const fault = find_fault_of_folder(path);
    if (fault) add_finding(r, FAULT, check, fix, "%s, \"%s\": %s", what, path, fault);
    else add_finding(r, OK, check, NULL, "%s, \"%s\": files can be written", what, path);
}

/* ---- which folders ---- */

static const char *value_of(const char *variable)
{
    const char *const value = getenv(variable);
    return value && *value ? value : NULL;
}

/* PoCL 3.1 ends the process then, with a failed assertion. */
static void check_for_empty_value(report *r)
{
    const char *const value = getenv("POCL_CACHE_DIR");
    if (!value || *value) return;
    add_finding(r, FAULT, "environment", "unset it, or set it to a folder of this user",
                "POCL_CACHE_DIR is set, but empty: PoCL ends each process that uses OpenCL");
    unsetenv("POCL_CACHE_DIR");
    r->has_refused_value = true;
}

/* PoCL has no device without it; other drivers compile again in each process. */
static void check_folder_of_drivers(report *r)
{
    static const char *const places[][2] = { { "POCL_CACHE_DIR", "" },
                                             { "XDG_CACHE_HOME", "" },
                                             { "HOME", "/.cache" } };
    static const char shared[] = "/tmp/pocl/kcache"; /* PoCL's without any of them, whoever has made it first */
    for (size_t i = 0; i < sizeof places / sizeof places[0]; ++i) {
        char path[4096], what[80];
        const char *const value = value_of(places[i][0]);
        if (!value) continue;
        snprintf(path, sizeof path, "%s%s", value, places[i][1]);
        snprintf(what, sizeof what, "the folder of drivers' files (from %s)", places[i][0]);
        report_folder(r, "folder", what, path,
                      "set POCL_CACHE_DIR or HOME to a folder of this user with some room; without one PoCL has no "
                      "device");
        return;
    }
    if (find_fault_of_folder(shared))
        report_folder(r, "folder", "the folder of drivers' files (HOME is not set)", shared,
                      "set HOME or POCL_CACHE_DIR to a folder of this user; without one PoCL has no device");
    else
        add_finding(r, NOTE, "folder", "set HOME, or POCL_CACHE_DIR",
                    "HOME is not set, so drivers may find no folder for their files");
}

/* ---- the store ---- */

typedef struct contents {
    size_t files, faults, others;
    uint64_t bytes;
    char first[4096]; /* that has a fault */
    char why[200];
} contents;

static bool count(const ndr_cache_entry *e, void *user)
{
    contents *c = user;
    ++c->files;
    c->bytes += e->size_bytes;
    if (e->fault && c->faults++ == 0) {
        snprintf(c->first, sizeof c->first, "%s", e->path);
        snprintf(c->why, sizeof c->why, "%s", e->fault);
    } else if (!e->fault) c->others += !e->is_of_this_library;
    return false;
}

static void check_contents(report *r)
{
    char size[32];
    contents c = { 0 };
    if (ndr_cache_visit(count, &c) != NDR_OK) {
        add_finding(r, FAULT, "store", NULL, "%s", ndr_last_error());
        return;
    }
    add_finding(r, OK, "store", NULL, "the store has %zu file%s, %s; of other builds of libndr: %zu", c.files,
                c.files == 1 ? "" : "s", with_binary_prefix(size, c.bytes), c.others);
    if (c.faults)
        add_finding(r, FAULT, "store", "run `ndr cache clear --broken`; until then libndr builds those programs again",
                    "%zu of %zu files of the store cannot be used; the first, \"%s\": %s", c.faults, c.files, c.first,
                    c.why);
}

static void check_store(report *r)
{
    char path[4096];
    const ndr_status status = ndr_cache_get_folder(sizeof path, path, NULL);
    if (status == NDR_NOT_KEPT)
        add_finding(r, NOTE, "store", NULL, "%s; without one each process builds its programs again", ndr_last_error());
    if (status != NDR_OK) return; /* a value that is refused is a finding of check_environment() */
    report_folder(r, "store", "the store of built programs", path,
                  "set NDR_CACHE to a folder of this user with some room, or to off");
    check_contents(r);
}

void check_folders(report *r)
{
    const char *const temporary = value_of("TMPDIR");
    check_for_empty_value(r);
    check_folder_of_drivers(r);
    report_folder(r, "folder",
                  temporary ? "the folder of temporary files (from TMPDIR)" : "the folder of temporary files",
                  temporary ? temporary : "/tmp", "make room there, or set TMPDIR to another folder");
    check_store(r);
}
