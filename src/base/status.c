/* status.c - the last failure of each thread: a status to branch on and a sentence to read.
 *
 * The sentence is kept in a fixed array, or on the heap if it is longer (a build log). It is freed when its thread
 * ends. When the library is unloaded, the destructor frees only the sentence of the unloading thread: it also runs
 * at process exit, while other threads may still read theirs. */
#include "base/base.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct error_state {
    char *longer;    /* NULL while `chars` is large enough; the build log follows the sentence */
    const char *log; /* in `longer`, or NULL */
    int32_t cl_error;
    char chars[1024];
} error_state;

#define NO_ERROR "no error"
static _Thread_local error_state last = { .chars = NO_ERROR };

/* Resets the pointers, because destructors of other keys may still fail in a thread that ends. */
static void free_longer(void *longer)
{
    free(longer);
    last.longer = NULL;
    last.log = NULL;
}

/* Keep `longer` (may be NULL) for this thread and free the previous one. Without a destructor to free it, it is not
 * kept. */
static void set_longer(char *longer)
{
    free_longer(last.longer);
    if (ndr_thread_at_end(free_longer, longer)) last.longer = longer;
    else free(longer);
}

/* The system must not keep a pointer to an unloaded library. */
__attribute__((destructor)) static void forget_all(void)
{
    free_longer(last.longer);
    ndr_thread_forget_ends();
}

const char *ndr_status_name(ndr_status status)
{
    switch (status) {
    case NDR_OK: return "NDR_OK";
    case NDR_BAD_ARGUMENT: return "NDR_BAD_ARGUMENT";
    case NDR_BAD_RANGE: return "NDR_BAD_RANGE";
    case NDR_BAD_KERNEL_ARGUMENT: return "NDR_BAD_KERNEL_ARGUMENT";
    case NDR_OUT_OF_BOUNDS: return "NDR_OUT_OF_BOUNDS";
    case NDR_NOT_FOUND: return "NDR_NOT_FOUND";
    case NDR_LIMIT_EXCEEDED: return "NDR_LIMIT_EXCEEDED";
    case NDR_NO_DRIVER: return "NDR_NO_DRIVER";
    case NDR_NO_DEVICE: return "NDR_NO_DEVICE";
    case NDR_NO_MATCHING_DEVICE: return "NDR_NO_MATCHING_DEVICE";
    case NDR_UNSUPPORTED: return "NDR_UNSUPPORTED";
    case NDR_NOT_KEPT: return "NDR_NOT_KEPT";
    case NDR_BUILD_FAILED: return "NDR_BUILD_FAILED";
    case NDR_OUT_OF_HOST_MEMORY: return "NDR_OUT_OF_HOST_MEMORY";
    case NDR_OUT_OF_DEVICE_MEMORY: return "NDR_OUT_OF_DEVICE_MEMORY";
    case NDR_TIMEOUT: return "NDR_TIMEOUT";
    case NDR_DRIVER_ERROR: return "NDR_DRIVER_ERROR";
    }
    return "unknown ndr_status";
}

ndr_status ndr_error_set(ndr_status status, const char *sentence)
{
    return ndr_fail(status, "%s", sentence ? sentence : "");
}

const char *ndr_version(void) { return NDR_VERSION_STRING; }

const char *ndr_last_error(void) { return last.longer ? last.longer : last.chars; }

bool ndr_has_error(void) { return strcmp(ndr_last_error(), NO_ERROR) != 0; }

int32_t ndr_last_cl_error(void) { return last.cl_error; }

const char *ndr_last_build_log(void) { return last.log ? last.log : ""; }

/* A sentence of `length` characters followed by the log; NULL without memory. */
static char *print_longer(size_t length, const char *log, const char *format, va_list args)
{
    const size_t log_bytes = log ? strlen(log) + 1 : 0;
    char *longer = malloc(length + 1 + log_bytes);
    if (!longer) return NULL;
    vsnprintf(longer, length + 1, format, args);
    if (log) memcpy(longer + length + 1, log, log_bytes);
    return longer;
}

/* The new sentence may quote the old one, so it is formatted before the old one is freed. */
static void set_last_error(ndr_status status, int32_t cl_error, const char *log, const char *format, va_list args)
{
    char fits[sizeof last.chars];
    va_list again;
    va_copy(again, args);
    const int length = vsnprintf(fits, sizeof fits, format, args);
    char *longer = NULL;
    if (length >= (int)sizeof fits || log) longer = print_longer((size_t)length, log, format, again);
    va_end(again);
    snprintf(last.chars, sizeof last.chars, "%s", fits);
    set_longer(longer);
    last.log = !log ? NULL : last.longer ? last.longer + length + 1 : "(no memory for the build's log)";
    last.cl_error = cl_error;
    ndr_log(NDR_LOG_ERROR, "failure", "%s: %s", ndr_status_name(status), ndr_last_error());
}

ndr_status ndr_fail_with_log(ndr_status status, int32_t cl_error, const char *log, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    set_last_error(status, cl_error, log, format, args);
    va_end(args);
    return status;
}
