/* log.c - log messages, to stderr or to a callback. Off by default. */
#include "base/base.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Higher than all levels until NDR_LOG is read: the first message then reads it. */
enum { UNREAD = NDR_LOG_DEBUG + 1 };
atomic_int ndr_log_limit = UNREAD;

static ndr_mutex lock = NDR_MUTEX_INITIALIZER(NDR_LOCK_LOG); /* held while a message is delivered; also guards the next two */
static ndr_log_callback *receiver;                       /* NULL: stderr */
static void *receiver_user;

static _Thread_local bool is_delivering; /* a callback's own calls neither log nor lock */

static const char *const level_names[] = {
    [NDR_LOG_OFF] = "off",   [NDR_LOG_ERROR] = "error", [NDR_LOG_WARN] = "warn",
    [NDR_LOG_INFO] = "info", [NDR_LOG_DEBUG] = "debug",
};

/* Returns NDR_LOG_DEFAULT for an unknown word. */
static ndr_log_level level_of(const char *word)
{
    if (!word || !*word) return NDR_LOG_OFF;
    for (unsigned level = NDR_LOG_OFF; level <= NDR_LOG_DEBUG; ++level)
        if (strcmp(word, level_names[level]) == 0) return (ndr_log_level)level;
    return NDR_LOG_DEFAULT;
}

ndr_status ndr_log_check(const char *word)
{
    NDR_REQUIRE(level_of(word) != NDR_LOG_DEFAULT, "NDR_LOG is \"%s\"; set it to error, warn, info, debug or off",
                word);
    return NDR_OK;
}

/* Has no effect if ndr_log_set() was called first. */
static void read_environment(void)
{
    int unread = UNREAD;
    atomic_compare_exchange_strong(&ndr_log_limit, &unread, (int)level_of(ndr_environment("NDR_LOG")));
}

static bool is_enabled(ndr_log_level level)
{
    if (atomic_load(&ndr_log_limit) == UNREAD) read_environment();
    return ndr_logs(level);
}

static void deliver(ndr_log_level level, const char *id, const char *text)
{
    if (receiver) receiver(level, id, text, receiver_user);
    else fprintf(stderr, "libndr %s %s: %s\n", level_names[level], id, text);
}

void ndr_log_write(ndr_log_level level, const char *id, const char *format, ...)
{
    if (is_delivering || !is_enabled(level)) return;
    ndr_text text = { 0 };
    va_list args;
    va_start(args, format);
    ndr_text_add_v(&text, format, args);
    va_end(args);
    ndr_mutex_lock(&lock);
    is_delivering = true;
    if (is_enabled(level)) deliver(level, id, text.failed ? "(no memory for the message)" : text.chars);
    is_delivering = false;
    ndr_mutex_unlock(&lock);
    ndr_text_free(&text);
}

static void set_receiver(ndr_log_level level, ndr_log_callback *callback, void *user)
{
    receiver = callback;
    receiver_user = user;
    atomic_store(&ndr_log_limit, level == NDR_LOG_DEFAULT ? UNREAD : (int)level);
}

ndr_status ndr_log_set(ndr_log_level level, ndr_log_callback *callback, void *user)
{
    NDR_REQUIRE((unsigned)level <= NDR_LOG_DEBUG,
                "ndr_log_set: level is %d, which is not valid; use NDR_LOG_DEFAULT, NDR_LOG_OFF, NDR_LOG_ERROR, "
                "NDR_LOG_WARN, NDR_LOG_INFO or NDR_LOG_DEBUG",
                (int)level);
    if (!is_delivering) ndr_mutex_lock(&lock);
    set_receiver(level, callback, user);
    if (!is_delivering) ndr_mutex_unlock(&lock);
    return NDR_OK;
}
