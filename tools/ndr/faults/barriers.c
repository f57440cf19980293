/* barriers.c - what compilers of drivers do wrong with barriers and local memory, in plain OpenCL.
 *
 *   barrier_in_loop     Compiling barriers in eight loops takes more than sixteen times as long as in two.
 *   read_again          A value that is read before a barrier is read again after it.
 *   shared_local_array  Groups share a local array if a function that is not inlined writes to it. */
#include "raw.h"

enum { ITEMS = 64, GROUPS = 64 };

/* ---- time ---- */

static const char begin[] = "kernel void k(global int *x, uint n)\n"
                            "{\n"
                            "    local int t[64];\n"
                            "    const uint i = get_local_id(0);\n"
                            "    t[i] = x[i];\n"
                            "    barrier(CLK_LOCAL_MEM_FENCE);\n";
static const char loop[] = "    for (uint s = n; s > 0; s /= 2) {\n"
                           "        if (i < s) t[i] += t[i + s];\n"
                           "        barrier(CLK_LOCAL_MEM_FENCE);\n"
                           "    }\n"
                           "    x[i] += t[0];\n"
                           "    t[i] = x[i];\n"
                           "    barrier(CLK_LOCAL_MEM_FENCE);\n";

/* The process's CPU time, in seconds, to build and run a kernel with that many loops. */
static double seconds_for(int loops)
{
    char text[8192];
    size_t length = (size_t)snprintf(text, sizeof text, "%s", begin);
    cl_int out[ITEMS];
    for (int i = 0; i < loops; ++i) length += (size_t)snprintf(text + length, sizeof text - length, "%s", loop);
    snprintf(text + length, sizeof text - length, "}\n");
    const clock_t before = clock();
    const cl_kernel kernel = new_kernel(text, "k");
    MUST(clSetKernelArg(kernel, 1, sizeof(cl_uint), &(const cl_uint){ ITEMS / 2 }));
    MUST(run_kernel(kernel, ITEMS, ITEMS, out, ITEMS));
    return (double)(clock() - before) / CLOCKS_PER_SEC;
}

static int loops(void)
{
    (void)seconds_for(1); /* what the driver loads for its first kernel */
    const double two = seconds_for(2);
    return seconds_for(8) > 16 * two ? WRONG : RIGHT;
}

/* ---- wrong code ---- */

static int read_again(void)
{
    static const char text[] = "kernel void k(global int *out)\n"
                               "{\n"
                               "    local int t[64];\n"
                               "    const int i = get_local_id(0);\n"
                               "    t[i] = i;\n"
                               "    barrier(CLK_LOCAL_MEM_FENCE);\n"
                               "    const int other = t[63 - i];\n"
                               "    barrier(CLK_LOCAL_MEM_FENCE);\n"
                               "    t[i] = 1000 + i;\n"
                               "    barrier(CLK_LOCAL_MEM_FENCE);\n"
                               "    out[i] = other * 10000 + t[i ^ 1];\n"
                               "}\n";
    cl_int out[ITEMS];
    MUST(run_kernel(new_kernel(text, "k"), ITEMS, ITEMS, out, ITEMS));
    for (int i = 0; i < ITEMS; ++i)
        if (out[i] != (63 - i) * 10000 + 1000 + (i ^ 1)) return WRONG;
    return RIGHT;
}

/* The driver's threads run groups at the same time, so it may be right by chance. */
static int shared_array(void)
{
    static const char text[] =
        "static __attribute__((noinline)) void store(local int *t, int at, int x) { t[at] = x; }\n"
        "kernel void k(global int *out)\n"
        "{\n"
        "    local int t[64];\n"
        "    int sum = 0;\n"
        "    for (int turn = 0; turn < 2; ++turn) {\n"
        "        store(t, get_local_id(0), get_group_id(0) + turn);\n"
        "        barrier(CLK_LOCAL_MEM_FENCE);\n"
        "        for (int i = 0; i < 64; ++i) sum += t[i];\n"
        "        barrier(CLK_LOCAL_MEM_FENCE);\n"
        "    }\n"
        "    out[get_global_id(0)] = sum;\n"
        "}\n";
    static cl_int out[GROUPS * ITEMS];
    const cl_kernel kernel = new_kernel(text, "k");
    for (unsigned k = 0; k < ROUNDS / 200; ++k) {
        MUST(run_kernel(kernel, GROUPS * ITEMS, ITEMS, out, GROUPS * ITEMS));
        for (int i = 0; i < GROUPS * ITEMS; ++i)
            if (out[i] != 64 * (2 * (i / ITEMS) + 1)) return WRONG;
    }
    return RIGHT;
}

/* Compile, for the time. */
static void compile_anew(void) { setenv("POCL_KERNEL_CACHE", "0", 1); }

const fault barriers_faults[] = {
    { "barrier_in_loop", loops, compile_anew },
    { "read_again", read_again, compile_anew },
    { "shared_local_array", shared_array, compile_anew },
    { NULL, NULL, NULL },
};
