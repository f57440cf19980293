/* first_call.c - times first calls: a child process with its own PoCL cache makes the call and prints the seconds. */
#define _XOPEN_SOURCE 700
#include "bench.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- caches ---- */

void make_cache(char path[CACHE_PATH_SIZE])
{
    snprintf(path, CACHE_PATH_SIZE, "/tmp/ndr-bench-XXXXXX");
    if (mkdtemp(path)) return;
    perror("bench: cannot create an empty cache in /tmp");
    exit(2);
}

static size_t programs_found;

/* PoCL keeps one program.bc for each program that was built. */
static int count_and_remove(const char *path, const struct stat *about, int type, struct FTW *place)
{
    (void)about, (void)type;
    if (strcmp(path + place->base, "program.bc") == 0) ++programs_found;
    return remove(path);
}

size_t remove_cache(const char *path)
{
    programs_found = 0;
    nftw(path, count_and_remove, 16, FTW_DEPTH | FTW_PHYS);
    return programs_found;
}

/* ---- the child ---- */

static double read_seconds(const char *command)
{
    double seconds;
    FILE *child = popen(command, "r");
    const bool was_printed = child && fscanf(child, "%lf", &seconds) == 1;
    const bool succeeded = child && pclose(child) == 0;
    if (was_printed && succeeded) return seconds;
    fprintf(stderr, "bench: this command failed: %s\n", command);
    exit(2);
}

double first_call_s(const first_call *call, const char *cache)
{
    char itself[512], command[1024];
    const ssize_t length = readlink("/proc/self/exe", itself, sizeof itself - 1);
    itself[length > 0 ? length : 0] = '\0';
    snprintf(command, sizeof command, "POCL_CACHE_DIR='%s' '%s' --device '%s'%s --first-call '%s'", cache, itself,
             the_device_text, the_one_thread ? " --one-thread" : "", call->name);
    return read_seconds(command);
}

double cold_call_s(const first_call *call, size_t *programs)
{
    char cache[CACHE_PATH_SIZE];
    make_cache(cache);
    const double seconds = first_call_s(call, cache);
    const size_t built = remove_cache(cache);
    if (programs) *programs = built;
    return seconds;
}
