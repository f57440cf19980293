/* pyopencl.c - the child that measures PyOpenCL: started by the first question, ended with the bench. */
#define _POSIX_C_SOURCE 200809L
#include "bench.h"

#ifdef BENCH_PYOPENCL

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static void become_child(int socket)
{
    dup2(socket, STDIN_FILENO);
    dup2(socket, STDOUT_FILENO);
    setenv("PYOPENCL_NO_CACHE", "1", 1);
    execl(BENCH_PYOPENCL, BENCH_PYOPENCL, BENCH_DIR "/pyopencl_reduce.py", the_device_words, (char *)NULL);
    _exit(127);
}

/* One end of a line to the child, which ends when it is closed. */
static int start_child(void)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return -1;
    const pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        become_child(ends[1]);
    }
    close(ends[1]);
    return child > 0 ? ends[0] : -1;
}

double pyopencl_reduce_s(ndr_dtype dtype, ndr_op op, size_t count)
{
    static const char *const ops[] = { [NDR_OP_SUM] = "sum", [NDR_OP_MIN] = "min", [NDR_OP_MAX] = "max" };
    static FILE *questions, *answers;
    if (!questions) {
        const int line = start_child();
        questions = line < 0 ? NULL : fdopen(line, "w");
        answers = line < 0 ? NULL : fdopen(dup(line), "r");
    }
    double seconds;
    if (questions && answers && fprintf(questions, "%s %s %zu\n", ndr_dtype_name(dtype), ops[op], count) > 0
        && fflush(questions) == 0 && fscanf(answers, "%lf", &seconds) == 1)
        return seconds;
    fprintf(stderr, "bench: PyOpenCL's child gave no answer\n");
    exit(2);
}

#endif
