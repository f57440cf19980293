/* os.h - the operating system: threads, the clock, files, the environment, dynamic libraries. Nothing but os.h and os.c
 * includes its headers. */
#ifndef NDR_OS_H
#define NDR_OS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ndr_text;

/* ---- threads ---- */

typedef pthread_mutex_t ndr_mutex;
#define NDR_MUTEX_INITIALIZER PTHREAD_MUTEX_INITIALIZER
static inline void ndr_mutex_init(ndr_mutex *mutex) { pthread_mutex_init(mutex, NULL); }
static inline void ndr_mutex_destroy(ndr_mutex *mutex) { pthread_mutex_destroy(mutex); }
static inline void ndr_mutex_lock(ndr_mutex *mutex) { pthread_mutex_lock(mutex); }
static inline void ndr_mutex_unlock(ndr_mutex *mutex) { pthread_mutex_unlock(mutex); }

/* Let other threads have this thread's core. */
void ndr_thread_yield(void);

/* Have `forget` called with `value` when the calling thread ends; NULL: not any more. There is one value for each thread,
 * and one function for all. False: that cannot be had. */
bool ndr_thread_at_end(void (*at_end)(void *), void *value);

/* Never call it again, in any thread: the library is unloaded. */
void ndr_thread_forget_ends(void);

/* ---- the clock ---- */

/* Nanoseconds since some moment, never going back. */
int64_t ndr_clock_ns(void);

/* ---- the environment ---- */

/* The environment variable's value, or NULL. A program that has more rights than its caller (set-user-ID) gets none: its
 * environment is another's. The only place that reads the environment. */
const char *ndr_environment(const char *name);

/* ---- files ---- */

typedef struct ndr_file_info {
    bool is_folder, is_regular;
    uint64_t device, node; /* the same two for one file under any of its names */
    int64_t size_bytes, changed_s, changed_ns;
} ndr_file_info;

/* 0, or an errno. */
int ndr_file_get_info(const char *path, ndr_file_info *info);

/* Append a regular file to `out`, at most `max_bytes` and then some: 0, or an errno. Anything else that is there is not
 * read. `out->failed` tells that there was no memory. */
int ndr_file_read(const char *path, size_t max_bytes, struct ndr_text *out, ndr_file_info *info);

/* Call `visit` for each file and folder in a folder whose name does not begin with a dot, until it returns false. */
void ndr_folder_visit(const char *path, bool (*visit)(void *visitor, const char *name), void *visitor);

/* Write the path of the working directory; false where it is not known or too long. */
bool ndr_working_directory(char *path, size_t capacity);

/* What an errno means: strerror() may be called by one thread at a time only, this by any number. */
typedef struct ndr_errno_text {
    char chars[128];
} ndr_errno_text;
ndr_errno_text ndr_errno_print(int error);

/* ---- dynamic libraries ---- */

/* Open a dynamic library, by name or path. NULL: it does not open, and `why` gets the reason, after "; " where it has
 * one already. Never closed. */
void *ndr_library_open(const char *path, struct ndr_text *why);

/* Write the address of the library's function `name` to the function pointer at `function`; NULL and false: it has
 * none. */
bool ndr_library_find(void *library, const char *name, void *function);

/* The path of the library that its function `name` comes from, for people. */
const char *ndr_library_path(void *library, const char *name);

#endif
