/* os.h - the operating system: threads, the clock, files, the environment, dynamic libraries. Only os.h and os.c
 * include system headers. */
#ifndef NDR_OS_H
#define NDR_OS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ndr_text;
struct ndr_hash;

/* ---- threads ---- */

/* The kinds of locks. A thread that holds one takes only kinds behind it: docs/appendix/architecture.md. */
#define NDR_LOCKS(LOCK)                                                                                          \
    LOCK(GROUP) LOCK(CHOICES) LOCK(TRIALS) LOCK(WARM) LOCK(BUILD) LOCK(REGISTRY) LOCK(PREPARED) LOCK(KERNEL) LOCK(WORKSPACE) \
    LOCK(TURNS) LOCK(CHECKER) LOCK(MAPPINGS) LOCK(TASK) LOCK(QUEUE) LOCK(FAIL) LOCK(ENQUEUE) LOCK(ORDER)         \
    LOCK(LIST) LOCK(TRACE) LOCK(OPENCL) LOCK(HANDLE) LOCK(LOG) LOCK(THREAD_END)
#define NDR_LOCK_RANK(name) NDR_LOCK_##name,
typedef enum ndr_lock_kind { NDR_LOCKS(NDR_LOCK_RANK) NDR_LOCK_KINDS } ndr_lock_kind;

typedef struct ndr_mutex {
    pthread_mutex_t of;
    ndr_lock_kind kind;
} ndr_mutex;

/* In debug builds, NDR_CHECK_LOCKS, a thread that takes locks in another order ends the process, with both names. */
#ifdef NDR_CHECK_LOCKS
void ndr_lock_check(ndr_lock_kind kind); /* before it is taken */
void ndr_lock_taken(ndr_lock_kind kind);
void ndr_lock_released(ndr_lock_kind kind);
#else
static inline void ndr_lock_check(ndr_lock_kind kind) { (void)kind; }
static inline void ndr_lock_taken(ndr_lock_kind kind) { (void)kind; }
static inline void ndr_lock_released(ndr_lock_kind kind) { (void)kind; }
#endif

#define NDR_MUTEX_INITIALIZER(kind) { PTHREAD_MUTEX_INITIALIZER, kind }
static inline void ndr_mutex_init(ndr_mutex *mutex, ndr_lock_kind kind)
{
    pthread_mutex_init(&mutex->of, NULL);
    mutex->kind = kind;
}
static inline void ndr_mutex_destroy(ndr_mutex *mutex) { pthread_mutex_destroy(&mutex->of); }
static inline void ndr_mutex_lock(ndr_mutex *mutex)
{
    ndr_lock_check(mutex->kind);
    pthread_mutex_lock(&mutex->of);
    ndr_lock_taken(mutex->kind);
}
static inline bool ndr_mutex_try_lock(ndr_mutex *mutex)
{
    if (pthread_mutex_trylock(&mutex->of) != 0) return false;
    ndr_lock_taken(mutex->kind);
    return true;
}
static inline void ndr_mutex_unlock(ndr_mutex *mutex)
{
    ndr_lock_released(mutex->kind);
    pthread_mutex_unlock(&mutex->of);
}

/* Waiting releases the mutex meanwhile, and may return early. */
typedef pthread_cond_t ndr_condition;
#define NDR_CONDITION_INITIALIZER PTHREAD_COND_INITIALIZER
static inline void ndr_condition_init(ndr_condition *condition) { pthread_cond_init(condition, NULL); }
static inline void ndr_condition_destroy(ndr_condition *condition) { pthread_cond_destroy(condition); }
static inline void ndr_condition_wait(ndr_condition *c, ndr_mutex *mutex) { pthread_cond_wait(c, &mutex->of); }
static inline void ndr_condition_wake_all(ndr_condition *condition) { pthread_cond_broadcast(condition); }

typedef pthread_t ndr_thread;
static inline bool ndr_thread_start(ndr_thread *thread, void *(*run)(void *), void *argument)
{
    return pthread_create(thread, NULL, run, argument) == 0;
}
static inline void ndr_thread_join(ndr_thread thread) { pthread_join(thread, NULL); }
static inline void ndr_thread_detach(ndr_thread thread) { pthread_detach(thread); }

/* Yield this thread's core to other threads. */
void ndr_thread_yield(void);

/* Sleep for about that time, less than a second. */
void ndr_thread_sleep_ns(int64_t time_ns);

/* Call `at_end` with `value` when the calling thread ends; NULL cancels. There is one value for each thread and one
 * function for all threads. False: the system cannot do it. */
bool ndr_thread_at_end(void (*at_end)(void *), void *value);

/* Cancel it in all threads: the library is unloaded. */
void ndr_thread_forget_ends(void);

/* The number of this process. A child made by fork() has another one. */
unsigned long ndr_process_id(void);

/* ---- the clock ---- */

/* Nanoseconds of a monotonic clock. */
int64_t ndr_clock_ns(void);

/* ---- the environment ---- */

/* The value of an environment variable, or NULL. A program with more rights than its caller (set-user-ID) always
 * gets NULL, because its caller controls its environment. No other function reads the environment. */
const char *ndr_environment(const char *name);

/* A hash of the variables whose names begin with one of `prefixes` (ends with NULL) and lack "CACHE", in any order. */
struct ndr_hash ndr_environment_hash(const char *const *prefixes);

/* ---- the CPU ---- */

/* The cores of this machine, 1 or more. */
unsigned ndr_cpu_count(void);

/* A hash of what this machine's CPU can do, as far as the system tells. */
struct ndr_hash ndr_cpu_hash(void);

/* Its features, bits of kernels/shared/core.h; 0: not known. */
unsigned ndr_cpu_features(void);

/* The bytes of a core's first (for data) or second cache; 0: not known. */
size_t ndr_cpu_cache_bytes(unsigned level);

/* ---- files ---- */

typedef struct ndr_file_info {
    bool is_folder, is_regular;
    uint64_t device, node;     /* these two identify the file, whatever its name */
    bool is_own, others_write; /* it belongs to the process's user; its group or others may write to it */
    int64_t size_bytes, changed_s, changed_ns;
} ndr_file_info;

/* 0, or an errno. */
int ndr_file_get_info(const char *path, ndr_file_info *info);

/* Append a regular file to `out`: 0, or an errno. Reading stops soon after `max_bytes`. Files that are not regular
 * are not read. `out->failed` means that there was no memory. */
int ndr_file_read(const char *path, size_t max_bytes, struct ndr_text *out, ndr_file_info *info);

/* Call `visit` for each file and folder in a folder until it returns false. Names that begin with a dot are skipped. */
void ndr_folder_visit(const char *path, bool (*visit)(void *visitor, const char *name), void *visitor);

/* Make a folder, and those above it, for this user alone. A failure shows when it is used. */
void ndr_folder_create(const char *path);

/* Why this process cannot make a file in a folder: 0, or an errno. If the folder is not there, the nearest one above it
 * decides. A disk that is full counts (at most 64 KiB are left), a quota does not. */
int ndr_folder_check_write(const char *path);

/* Write a file for this user alone: 0, or an errno. It is written beside `path`, under a longer name, and then renamed,
 * so that no reader sees a part of it. */
int ndr_file_write(const char *path, const void *bytes, size_t count);

/* Open a file to append to: 0, or an errno. The first makes it for this user alone, in the place of a regular file of
 * that name; the second opens it and goes to that byte. */
int ndr_file_open_new(const char *path, int *file);
int ndr_file_open_at(const char *path, uint64_t offset_bytes, int *file);

/* Append to a file that has `size_bytes`, by one write if possible: 0, or an errno, and then nothing is appended. */
int ndr_file_append(int file, uint64_t size_bytes, const void *bytes, size_t count);
void ndr_file_close(int file);

void ndr_file_remove(const char *path);
int ndr_file_rename(const char *path, const char *to); /* also a folder: 0, or an errno */
void ndr_folder_remove(const char *path);              /* with its files; one with folders in it stays */
void ndr_file_touch(const char *path); /* set the time of its last change to now */

/* Write the path of the working directory; false if it is unknown or too long. */
bool ndr_working_directory(char *path, size_t capacity);

/* The message for an errno. Unlike strerror(), this may be called by several threads at a time. */
typedef struct ndr_errno_text {
    char chars[128];
} ndr_errno_text;
ndr_errno_text ndr_errno_print(int error);

/* ---- dynamic libraries ---- */

/* Open a dynamic library by name or path. NULL: it failed, and the reason is appended to `why`, after "; " if `why`
 * is not empty. Libraries are never closed. */
void *ndr_library_open(const char *path, struct ndr_text *why);

/* Write the address of the library's function `name` to the function pointer at `function`; NULL and false if there
 * is none. */
bool ndr_library_find(void *library, const char *name, void *function);

/* The path of the library that contains the function `name`, for messages. */
const char *ndr_library_path(void *library, const char *name);

/* The path of the library from which the process has the function `name`, because it is linked with it or the library
 * is preloaded. NULL: it has none. */
const char *ndr_process_library_path(const char *name);

#endif
