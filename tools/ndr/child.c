/* child.c - children in which drivers run: one that crashes or hangs does not end the command. */
#include "child.h"

#include "command.h"
#include "faults/faults.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

enum { STAGE_BYTES = 200 };

/* What the present child does, in memory that it shares with its parent. */
static char *shared_stage;

void set_stage(const char *stage)
{
    if (shared_stage) snprintf(shared_stage, STAGE_BYTES, "%s", stage);
}

static void clear_stage(void)
{
    if (!shared_stage) {
        void *const made = mmap(NULL, STAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        shared_stage = made == MAP_FAILED ? NULL : made;
    }
    set_stage("");
}

/* ---- the child ---- */

/* Its own children are in its group, and end with it. */
static void be_child(child_work *work, const void *input, int to)
{
    setpgid(0, 0);
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
    json_t *const result = work(input);
    _exit(result && json_dumpfd(result, to, JSON_COMPACT) == 0 ? 0 : 1);
}

/* ---- the parent ---- */

/* The end of the time for the child's present stage, which begins when the child sets it. */
typedef struct deadline {
    double seconds, end_s;
    char stage[STAGE_BYTES];
} deadline;

static bool is_over(deadline *d)
{
    char stage[STAGE_BYTES] = "";
    if (shared_stage) memcpy(stage, shared_stage, STAGE_BYTES - 1);
    if (strcmp(stage, d->stage) != 0 || d->end_s == 0) d->end_s = now_s() + d->seconds;
    memcpy(d->stage, stage, STAGE_BYTES);
    return now_s() >= d->end_s;
}

/* Reads what the child writes until it closes its end; false: the time is over. */
static bool read_until(int from, deadline *end, char **bytes, size_t *count)
{
    enum { LOOK_MS = 100 };
    for (;;) {
        char chunk[4096];
        struct pollfd ready = { .fd = from, .events = POLLIN };
        if (is_over(end)) return false;
        if (poll(&ready, 1, LOOK_MS) <= 0) continue;
        const ssize_t got = read(from, chunk, sizeof chunk);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return true;
        char *const grown = realloc(*bytes, *count + (size_t)got);
        if (!grown) return true; /* what is missing makes the JSON invalid */
        *bytes = grown;
        memcpy(grown + *count, chunk, (size_t)got);
        *count += (size_t)got;
    }
}

/* A process in the kernel's hands, as of a driver that hangs, does not end at once. */
static bool wait_for_end(pid_t child, double end_s, int *ended)
{
    while (waitpid(child, ended, WNOHANG) == 0) {
        if (now_s() >= end_s) return false;
        poll(NULL, 0, 5);
    }
    return true;
}

static void say_why(char why[300], const char *what, const char *detail)
{
    const bool has_stage = shared_stage && *shared_stage;
    snprintf(why, 300, "it %s%s%s%s%s", what, has_stage ? " while it " : "", has_stage ? shared_stage : "",
             *detail ? ": " : "", detail);
}

/* `ended` is as of waitpid(). */
static json_t *take_result(const char *bytes, size_t count, int ended, char why[300])
{
    char detail[80] = "";
    if (WIFSIGNALED(ended)) {
        snprintf(detail, sizeof detail, "%s", strsignal(WTERMSIG(ended)));
        say_why(why, "crashed", detail);
        return NULL;
    }
    if (WIFEXITED(ended) && WEXITSTATUS(ended) == NOT_TRIED_EXIT) return json_null();
    json_t *const result = count ? json_loadb(bytes, count, 0, NULL) : NULL;
    if (!result) snprintf(detail, sizeof detail, "exit code %d", WIFEXITED(ended) ? WEXITSTATUS(ended) : -1);
    if (!result) say_why(why, "ended the process", detail);
    return result;
}

static json_t *watch(pid_t child, int from, double seconds, char why[300])
{
    char *bytes = NULL, limit[80];
    size_t count = 0;
    int ended = 0;
    json_t *result = NULL;
    const double grace_s = 2;
    deadline end = { .seconds = seconds };
    if (read_until(from, &end, &bytes, &count) && wait_for_end(child, now_s() + seconds, &ended))
        result = take_result(bytes, count, ended, why);
    else {
        kill(-child, SIGKILL);
        kill(child, SIGKILL);
        snprintf(limit, sizeof limit, "--timeout is %g s; on a busy machine a longer one may do", seconds);
        say_why(why, wait_for_end(child, now_s() + grace_s, &ended) ? "hung" : "hung, and cannot be ended,", limit);
    }
    free(bytes);
    return result;
}

json_t *run_in_child(child_work *work, const void *input, double seconds, char why[300])
{
    int ends[2];
    clear_stage();
    fflush(NULL);
    if (pipe2(ends, O_CLOEXEC) != 0) return snprintf(why, 300, "no pipe: %s", strerror(errno)), NULL;
    const pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        be_child(work, input, ends[1]);
    }
    close(ends[1]);
    json_t *result = NULL;
    if (child < 0) snprintf(why, 300, "no child process: %s", strerror(errno));
    else {
        begin_waiting("of work in a driver", 0);
        result = watch(child, ends[0], seconds, why);
        end_waiting();
    }
    close(ends[0]);
    return result;
}
