/* rival_process.c - a rival that measures in a process of its own. */
#define _POSIX_C_SOURCE 200809L
#include "rival.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static void become(const rival_process *process, int socket)
{
    enum { MAX_ARGUMENTS = 8 };
    char *arguments[MAX_ARGUMENTS + 2] = { NULL };
    size_t count = 0;
    for (; process->arguments[count] && count < MAX_ARGUMENTS; ++count)
        arguments[count] = (char *)(uintptr_t)process->arguments[count];
    arguments[count] = (char *)(uintptr_t)the_device_text;
    dup2(socket, STDIN_FILENO);
    dup2(socket, STDOUT_FILENO);
    execv(arguments[0], arguments);
    _exit(127);
}

/* Our end of the connection; the child ends when it is closed. */
static int start(const rival_process *process)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return -1;
    const pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        become(process, ends[1]);
    }
    close(ends[1]);
    return child > 0 ? ends[0] : -1;
}

double ask_rival(rival_process *process, const char *question)
{
    if (!process->questions) {
        const int connection = start(process);
        process->questions = connection < 0 ? NULL : fdopen(connection, "w");
        process->answers = connection < 0 ? NULL : fdopen(dup(connection), "r");
    }
    double seconds;
    if (process->questions && process->answers && fprintf(process->questions, "%s\n", question) > 0
        && fflush(process->questions) == 0 && fscanf(process->answers, "%lf", &seconds) == 1)
        return seconds;
    fprintf(stderr, "bench: %s did not answer \"%s\"\n", process->arguments[0], question);
    exit(2);
}
