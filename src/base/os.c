/* os.c - the operating system: POSIX, and Windows with MinGW-w64's POSIX threads, where only the syntax is checked. */
#define _GNU_SOURCE /* dladdr() */
#include "base/base.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#ifdef _WIN32
#include <windows.h>
#else
#include <dlfcn.h>
#endif
#ifdef __linux__
#include <sys/auxv.h>
#endif

/* ---- threads ---- */

void ndr_thread_yield(void) { sched_yield(); }

static ndr_mutex key_lock = NDR_MUTEX_INITIALIZER;
static pthread_key_t key;
static bool key_exists;

bool ndr_thread_at_end(void (*at_end)(void *), void *value)
{
    ndr_mutex_lock(&key_lock);
    if (!key_exists) key_exists = pthread_key_create(&key, at_end) == 0;
    const bool is_kept = key_exists && pthread_setspecific(key, value) == 0;
    ndr_mutex_unlock(&key_lock);
    return is_kept;
}

void ndr_thread_forget_ends(void)
{
    if (key_exists) pthread_key_delete(key);
    key_exists = false;
}

/* ---- the clock ---- */

int64_t ndr_clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* ---- the environment ---- */

/* Whether the program has rights that its caller lacks: set-user-ID, set-group-ID, capabilities. */
static bool has_more_rights_than_its_caller(void)
{
#if defined(_WIN32)
    return false;
#elif defined(__linux__)
    return getauxval(AT_SECURE) != 0;
#else
    return getuid() != geteuid() || getgid() != getegid();
#endif
}

const char *ndr_environment(const char *name) { return has_more_rights_than_its_caller() ? NULL : getenv(name); }

/* ---- files ---- */

#ifdef _WIN32
enum { OPEN_FLAGS = O_RDONLY | O_BINARY };
#define CHANGED_NS(about) 0
#elif defined(__APPLE__)
enum { OPEN_FLAGS = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK };
#define CHANGED_NS(about) (about).st_mtimespec.tv_nsec
#else
/* Without O_NONBLOCK, opening a pipe waits for a writer. */
enum { OPEN_FLAGS = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK };
#define CHANGED_NS(about) (about).st_mtim.tv_nsec
#endif

static int fill_file_info(int failed, const struct stat *about, ndr_file_info *info)
{
    if (failed) return errno;
    *info = (ndr_file_info){ .is_folder = S_ISDIR(about->st_mode),
                             .is_regular = S_ISREG(about->st_mode),
                             .device = (uint64_t)about->st_dev,
                             .node = (uint64_t)about->st_ino,
                             .size_bytes = about->st_size,
                             .changed_s = about->st_mtime,
                             .changed_ns = CHANGED_NS(*about) };
    return 0;
}

int ndr_file_get_info(const char *path, ndr_file_info *info)
{
    struct stat about;
    return fill_file_info(stat(path, &about), &about, info);
}

/* Read to the end of the file: the size of a growing file, or of one in /proc, is not known in advance. */
static int read_to_end(int file, size_t max_bytes, ndr_text *out)
{
    const size_t before = out->length;
    while (out->length - before <= max_bytes && !out->failed) {
        char chunk[16384];
        const ssize_t got = read(file, chunk, sizeof chunk);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return errno;
        ndr_text_add_chars(out, chunk, (size_t)got);
        if (got == 0) break;
    }
    return 0;
}

int ndr_file_read(const char *path, size_t max_bytes, ndr_text *out, ndr_file_info *info)
{
    struct stat about;
    const int file = open(path, OPEN_FLAGS);
    if (file < 0) return errno;
    int error = fill_file_info(fstat(file, &about), &about, info);
    if (!error && info->is_regular) error = read_to_end(file, max_bytes, out);
    close(file);
    return error;
}

void ndr_folder_visit(const char *path, bool (*visit)(void *visitor, const char *name), void *visitor)
{
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        if (entry->d_name[0] != '.' && !visit(visitor, entry->d_name)) break;
    if (folder) closedir(folder);
}

#ifdef _WIN32
bool ndr_working_directory(char *path, size_t capacity) { return getcwd(path, (int)capacity) != NULL; }

ndr_errno_text ndr_errno_print(int error)
{
    ndr_errno_text out;
    if (strerror_s(out.chars, sizeof out.chars, error) != 0) snprintf(out.chars, sizeof out.chars, "unknown error");
    return out;
}
#else
bool ndr_working_directory(char *path, size_t capacity) { return getcwd(path, capacity) != NULL; }

/* strerror_r() has two forms: POSIX's returns 0 and writes to `chars`; GNU's returns the text, which may be
 * elsewhere. */
static inline const char *text_of_posix(int result, const char *chars) { return result == 0 ? chars : "unknown error"; }
static inline const char *text_of_gnu(const char *result, const char *chars) { return result ? result : chars; }
#define TEXT_OF(result, chars) _Generic((result), int: text_of_posix, default: text_of_gnu)((result), (chars))

ndr_errno_text ndr_errno_print(int error)
{
    ndr_errno_text out;
    char chars[sizeof out.chars] = "";
    snprintf(out.chars, sizeof out.chars, "%s", TEXT_OF(strerror_r(error, chars, sizeof chars), chars));
    return out;
}
#endif

/* ---- dynamic libraries ---- */

#ifdef _WIN32
void *ndr_library_open(const char *path, ndr_text *why)
{
    HMODULE library = LoadLibraryA(path);
    if (!library) ndr_text_add(why, "%s%s: error %lu", why->length ? "; " : "", path, GetLastError());
    return (void *)library;
}

static void *find_symbol(void *library, const char *name)
{
    const FARPROC found = GetProcAddress((HMODULE)library, name);
    void *symbol;
    memcpy(&symbol, &found, sizeof symbol);
    return symbol;
}

static const char *path_of(void *symbol) { return (void)symbol, NULL; }
#else
void *ndr_library_open(const char *path, ndr_text *why)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library) return library;
    const char *reason = dlerror();
    ndr_text_add(why, "%s%s", why->length ? "; " : "", reason ? reason : path);
    return NULL;
}

static void *find_symbol(void *library, const char *name) { return dlsym(library, name); }

static const char *path_of(void *symbol)
{
    Dl_info info = { 0 };
    return symbol && dladdr(symbol, &info) ? info.dli_fname : NULL;
}
#endif

/* ISO C has no cast from an object pointer to a function pointer. */
bool ndr_library_find(void *library, const char *name, void *function)
{
    void *found = find_symbol(library, name);
    memcpy(function, &found, sizeof found);
    return found != NULL;
}

const char *ndr_library_path(void *library, const char *name)
{
    const char *path = path_of(find_symbol(library, name));
    return path ? path : "a path that is not known";
}
