/* simulators.c - what Oclgrind's --uninitialized reports without cause, in plain OpenCL. Its reports go to a file.
 *
 *   vector_part_uninitialised   Parts of a vector.
 *   atomic_write_uninitialised  What an atomic, a copy with a stride, or a fill has written. */
#include "raw.h"

#include <unistd.h>

static char path[] = "/tmp/fault_simulators_XXXXXX";

/* Run an item of the kernel, whose x is a buffer of zeros. A fill is among what is reported wrongly. */
static void run_on(const char *text, bool is_filled)
{
    enum { BYTES = 256 };
    static const char zeros[BYTES];
    const size_t one = 1;
    const cl_command_queue queue = new_queue(0);
    const cl_kernel kernel = new_kernel(text, "k");
    const cl_mem x = new_buffer(BYTES), y = new_buffer(BYTES);
    if (is_filled) MUST(clEnqueueFillBuffer(queue, x, zeros, 1, 0, BYTES, 0, NULL, NULL));
    else MUST(clEnqueueWriteBuffer(queue, x, CL_TRUE, 0, BYTES, zeros, 0, NULL, NULL));
    MUST(clSetKernelArg(kernel, 0, sizeof x, &x));
    MUST(clSetKernelArg(kernel, 1, sizeof y, &y));
    MUST(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &one, 0, NULL, NULL));
    MUST(clFinish(queue));
}

static int reported(void)
{
    char text[4096] = "";
    FILE *const reports = fopen(path, "r");
    if (!reports) return NOT_TRIED;
    (void)!fread(text, 1, sizeof text - 1, reports);
    fclose(reports);
    (void)unlink(path);
    return strstr(text, "Uninitialized") ? WRONG : RIGHT;
}

static int vector_part(void)
{
    run_on("kernel void k(global const float *x, global float *y)\n"
           "{\n"
           "    const float16 v = vload16(0, x) + vload16(1, x);\n"
           "    const float8 w = v.lo < v.hi ? v.lo : v.hi;\n"
           "    *y = w.lo.x > w.hi.x ? w.s0 : w.s7;\n"
           "}\n",
           false);
    return reported();
}

static int written(void)
{
    run_on("kernel void k(global int *x, global int *y) { local int t; (void)atomic_xchg(&t, 5); *y = t; }\n", false);
    run_on("kernel void k(global int *x, global int *y)\n"
           "{\n"
           "    local int t[8];\n"
           "    event_t copy = async_work_group_strided_copy(t, x, 8, 2, 0);\n"
           "    wait_group_events(1, &copy);\n"
           "    *y = t[1];\n"
           "}\n",
           false);
    run_on("kernel void k(global int *x, global int *y) { *y = *x; }\n", true);
    return reported();
}

static void keep_reports(void)
{
    const int file = mkstemp(path);
    if (file < 0) return;
    close(file);
    setenv("OCLGRIND_UNINITIALIZED", "1", 1);
    setenv("OCLGRIND_LOG", path, 1);
}

const fault simulators_faults[] = {
    { "vector_part_uninitialised", vector_part, keep_reports },
    { "atomic_write_uninitialised", written, keep_reports },
    { NULL, NULL, NULL },
};
