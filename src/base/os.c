/* os.c - the operating system: POSIX, and Windows with MinGW-w64's POSIX threads, where only the syntax is checked. */
#define _GNU_SOURCE /* POSIX, which the other files do without; dladdr() */
#define _FILE_OFFSET_BITS 64 /* files and disks of any size where long has 32 bits, too */
#include "base/base.h"
#include "shared/core.h"

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
#include <utime.h>
#ifdef _WIN32
#include <windows.h>
#else
#include <dlfcn.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#endif
#ifdef __linux__
#include <sys/auxv.h>
#endif
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

/* ---- threads ---- */

void ndr_thread_yield(void) { sched_yield(); }

void ndr_thread_sleep_ns(int64_t time_ns) { (void)nanosleep(&(struct timespec){ .tv_nsec = (long)time_ns }, NULL); }

#ifdef NDR_CHECK_LOCKS
/* How many locks of each kind this thread holds. */
static _Thread_local unsigned char held[NDR_LOCK_KINDS];

void ndr_lock_check(ndr_lock_kind kind)
{
#define NDR_LOCK_NAME(name) #name,
    static const char *const names[] = { NDR_LOCKS(NDR_LOCK_NAME) };
    for (unsigned k = kind; k < NDR_LOCK_KINDS; ++k)
        if (held[k]) {
            fprintf(stderr, "libndr: the lock %s is taken while %s is held\n", names[kind], names[k]);
            abort();
        }
}

void ndr_lock_taken(ndr_lock_kind kind) { ++held[kind]; }
void ndr_lock_released(ndr_lock_kind kind) { --held[kind]; }
#endif

static ndr_mutex key_lock = NDR_MUTEX_INITIALIZER(NDR_LOCK_THREAD_END);
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

/* When a process exits, its threads may still run. */
void ndr_thread_forget_ends(void)
{
    ndr_mutex_lock(&key_lock);
    if (key_exists) pthread_key_delete(key);
    key_exists = false;
    ndr_mutex_unlock(&key_lock);
}

unsigned long ndr_process_id(void) { return (unsigned long)getpid(); }

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

static bool begins_with_one(const char *text, const char *const *prefixes)
{
    while (*prefixes && strncmp(text, *prefixes, strlen(*prefixes)) != 0) ++prefixes;
    return *prefixes != NULL;
}

ndr_hash ndr_environment_hash(const char *const *prefixes)
{
    ndr_hash sum = { { 0, 0 } };
    for (char **variable = environ; variable && *variable; ++variable) {
        const char *cache = strstr(*variable, "CACHE");
        if (!begins_with_one(*variable, prefixes) || (cache && cache < strchr(*variable, '='))) continue;
        const ndr_hash hash = ndr_hash_bytes(*variable, strlen(*variable));
        sum.words[0] += hash.words[0];
        sum.words[1] += hash.words[1];
    }
    return sum;
}

/* ---- the CPU ---- */

unsigned ndr_cpu_count(void)
{
#ifdef _WIN32
    SYSTEM_INFO system;
    GetSystemInfo(&system);
    return (unsigned)system.dwNumberOfProcessors;
#else
    const long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count > 0 ? (unsigned)count : 1;
#endif
}

ndr_hash ndr_cpu_hash(void)
{
    unsigned long features[6] = { 0 };
#if defined(__x86_64__) || defined(__i386__)
    unsigned a, b, c, d;
    if (__get_cpuid(1, &a, &b, &c, &d)) features[0] = c, features[1] = d; /* b differs from core to core */
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) features[2] = b, features[3] = c;
#endif
#ifdef __linux__
    features[4] = getauxval(AT_HWCAP);
    features[5] = getauxval(AT_HWCAP2);
#endif
    return ndr_hash_bytes(features, sizeof features);
}

unsigned ndr_cpu_features(void)
{
#if defined(__x86_64__) || defined(__i386__)
    return (__builtin_cpu_supports("avx512f") ? NDR_CORE_AVX512F : 0)
           | (__builtin_cpu_supports("avx2") ? NDR_CORE_AVX2 : 0) | (__builtin_cpu_supports("fma") ? NDR_CORE_FMA : 0)
           | (__builtin_cpu_supports("avx") ? NDR_CORE_AVX : 0) | (__builtin_cpu_supports("sse2") ? NDR_CORE_SSE2 : 0);
#elif defined(__aarch64__)
    return NDR_CORE_NEON | NDR_CORE_AARCH64;
#else
    return 0;
#endif
}

size_t ndr_cpu_cache_bytes(unsigned level)
{
#ifdef _SC_LEVEL1_DCACHE_SIZE
    const long bytes = sysconf(level == 1 ? _SC_LEVEL1_DCACHE_SIZE : _SC_LEVEL2_CACHE_SIZE);
    return bytes > 0 ? (size_t)bytes : 0;
#else
    return (void)level, 0;
#endif
}

/* ---- files ---- */

#ifdef _WIN32
enum { OPEN_FLAGS = O_RDONLY | O_BINARY, CREATE_FLAGS = O_WRONLY | O_CREAT | O_EXCL | O_BINARY };
enum { APPEND_FLAGS = O_WRONLY | O_BINARY };
#define CHANGED_NS(about) 0
#define OTHERS_WRITE(about) false
#define IS_OWN(about) true
#define MAKE_FOLDER(path) mkdir(path)
static bool is_past_limit(uint64_t bytes) { return (void)bytes, false; }
enum { FOR_NEW_FILES = W_OK };
static bool is_full(const char *folder) { return (void)folder, false; }
#else
/* Without O_NONBLOCK, opening a pipe waits for a writer. */
enum { OPEN_FLAGS = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK };
enum { CREATE_FLAGS = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, APPEND_FLAGS = O_WRONLY | O_CLOEXEC };
#ifdef __APPLE__
#define CHANGED_NS(about) (about).st_mtimespec.tv_nsec
#else
#define CHANGED_NS(about) (about).st_mtim.tv_nsec
#endif
#define OTHERS_WRITE(about) (((about).st_mode & (S_IWGRP | S_IWOTH)) != 0)
#define IS_OWN(about) ((about).st_uid == geteuid())
#define MAKE_FOLDER(path) mkdir(path, S_IRWXU)

/* A write past the limit for files would end the process with a signal. */
static bool is_past_limit(uint64_t bytes)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && bytes > limit.rlim_cur;
}

enum { FOR_NEW_FILES = W_OK | X_OK };

enum { FEW_BYTES = 1 << 16 };

/* Some file systems count nothing: they have 0 blocks or files in all. */
static bool is_full(const char *folder)
{
    struct statvfs about;
    if (statvfs(folder, &about) != 0) return false;
    const uint64_t blocks = geteuid() == 0 ? about.f_bfree : about.f_bavail, bytes = blocks * about.f_frsize;
    return (about.f_blocks > 0 && bytes <= FEW_BYTES) || (about.f_files > 0 && about.f_ffree == 0);
}
#endif

static int fill_file_info(int failed, const struct stat *about, ndr_file_info *info)
{
    if (failed) return errno;
    *info = (ndr_file_info){ .is_folder = S_ISDIR(about->st_mode),
                             .is_regular = S_ISREG(about->st_mode),
                             .device = (uint64_t)about->st_dev,
                             .node = (uint64_t)about->st_ino,
                             .is_own = IS_OWN(*about),
                             .others_write = OTHERS_WRITE(*about),
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

void ndr_folder_create(const char *path)
{
    ndr_text whole = { 0 };
    ndr_text_add(&whole, "%s/", path);
    for (char *slash = whole.failed ? NULL : strchr(whole.chars + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        MAKE_FOLDER(whole.chars);
        *slash = '/';
    }
    ndr_text_free(&whole);
}

/* Cut a path to the nearest folder or file that exists. */
static const char *existing_part(char *path)
{
    while (access(path, F_OK) != 0) {
        char *slash = strrchr(path, '/');
        if (!slash) return ".";
        if (slash == path) return "/";
        *slash = '\0';
    }
    return path;
}

int ndr_folder_check_write(const char *path)
{
    ndr_text cut = { 0 };
    ndr_file_info info = { 0 };
    ndr_text_add(&cut, "%s", path);
    const char *there = cut.failed ? "/" : existing_part(cut.chars);
    int error = ndr_file_get_info(there, &info);
    if (!error && !info.is_folder) error = ENOTDIR;
    if (!error && access(there, FOR_NEW_FILES) != 0) error = errno;
    if (!error && is_full(there)) error = ENOSPC;
    ndr_text_free(&cut);
    return error;
}

/* `end` is the size of the file afterwards. */
static int write_to_end(int file, const char *bytes, size_t count, uint64_t end)
{
    if (is_past_limit(end)) return EFBIG;
    while (count > 0) {
        const ssize_t done = write(file, bytes, (unsigned)ndr_min_size(count, 1 << 20));
        if (done < 0 && errno != EINTR) return errno;
        if (done > 0) bytes += done, count -= (size_t)done;
    }
    return 0;
}

static int write_and_rename(const char *beside, const char *path, const void *bytes, size_t count)
{
    const int file = open(beside, CREATE_FLAGS, S_IRUSR | S_IWUSR);
    if (file < 0) return errno;
    int error = write_to_end(file, bytes, count, count);
    if (close(file) != 0 && !error) error = errno; /* network folders report a full disk here */
    if (!error && rename(beside, path) != 0) error = errno;
    if (error) unlink(beside);
    return error;
}

int ndr_file_write(const char *path, const void *bytes, size_t count)
{
    static atomic_uint writes;
    ndr_text beside = { 0 };
    ndr_text_add(&beside, "%s.%lx.%llx.%x", path, (long)getpid(), (unsigned long long)ndr_clock_ns(),
                 atomic_fetch_add(&writes, 1));
    const int error = beside.failed ? ENOMEM : write_and_rename(beside.chars, path, bytes, count);
    ndr_text_free(&beside);
    return error;
}

int ndr_file_open_new(const char *path, int *file)
{
    ndr_file_info info = { 0 };
    if (ndr_file_get_info(path, &info) == 0 && info.is_regular) unlink(path);
    *file = open(path, CREATE_FLAGS, S_IRUSR | S_IWUSR);
    return *file < 0 ? errno : 0;
}

int ndr_file_open_at(const char *path, uint64_t offset_bytes, int *file)
{
    *file = open(path, APPEND_FLAGS);
    return *file < 0 || lseek(*file, (off_t)offset_bytes, SEEK_SET) < 0 ? errno : 0;
}

int ndr_file_append(int file, uint64_t size_bytes, const void *bytes, size_t count)
{
    const int error = write_to_end(file, bytes, count, size_bytes + count);
    if (error && ftruncate(file, (off_t)size_bytes) == 0) (void)lseek(file, (off_t)size_bytes, SEEK_SET);
    return error;
}

void ndr_file_close(int file)
{
    if (file >= 0) close(file);
}

void ndr_file_remove(const char *path) { unlink(path); }

int ndr_file_rename(const char *path, const char *to) { return rename(path, to) == 0 ? 0 : errno; }

static bool remove_file(void *folder, const char *name)
{
    ndr_text path = { 0 };
    ndr_text_add(&path, "%s/%s", (const char *)folder, name);
    if (!path.failed) unlink(path.chars);
    ndr_text_free(&path);
    return true;
}

void ndr_folder_remove(const char *path)
{
    char *const folder = ndr_text_copy(path, strlen(path));
    if (folder) ndr_folder_visit(folder, remove_file, folder);
    free(folder);
    rmdir(path);
}

void ndr_file_touch(const char *path) { utime(path, NULL); }

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

const char *ndr_process_library_path(const char *name) { return (void)name, NULL; }
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

const char *ndr_process_library_path(const char *name)
{
    void *process = dlopen(NULL, RTLD_NOW);
    return process ? path_of(dlsym(process, name)) : NULL;
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
    return path ? path : "an unknown path";
}
