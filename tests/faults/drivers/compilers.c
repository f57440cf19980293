/* compilers.c - what the compilers of drivers do wrong, in plain OpenCL.
 *
 *   compilers short_word     A word of one character in the options ends the process.
 *   compilers string_macro   A string in the options ends the process.
 *   compilers renamed        A kernel with the name of a built-in function has another name.
 *   compilers parentheses    A kernel's name in parentheses crashes the compiler.
 *   compilers no_parameters  A kernel that has reqd_work_group_size and no parameter is refused.
 *   compilers required_size  The largest group of a kernel is smaller than the size that it requires.
 *   compilers variadic       Variadic macros are refused for -cl-std=CL1.2.
 *   compilers early_return   After a return of whole groups all items of the other groups take one way.
 *   compilers one_value      A value that differs between items is the same in all after a barrier. */
#include "raw.h"

enum { ITEMS = 64 };

static bool builds(cl_program program, const char *options)
{
    return clBuildProgram(program, 1, &device, options, NULL, NULL) == CL_SUCCESS;
}

static int build(const char *text, const char *options)
{
    return builds(new_program(text), options) ? RIGHT : WRONG;
}

static int short_word(unsigned rounds)
{
    (void)rounds;
    return build("kernel void k(global int *x) {\n#ifdef N\n*x = N;\n#endif\n}\n", "-D N");
}

static int string_macro(unsigned rounds)
{
    (void)rounds;
    (void)build("kernel void k(global char *x) { x[0] = NAME[0]; }\n", "-DNAME=\\\"a\\\"");
    return RIGHT; /* drivers may read quotes otherwise */
}

static int renamed(unsigned rounds)
{
    (void)rounds;
    cl_int error;
    const cl_program program = new_program("kernel void dot(global int *x) { *x = 1; }\n");
    if (!builds(program, "")) return NOT_TRIED;
    (void)clCreateKernel(program, "dot", &error);
    return error == CL_SUCCESS ? RIGHT : WRONG;
}

static int parentheses(unsigned rounds)
{
    (void)rounds;
    (void)new_kernel("kernel void (k)(global int *x) { *x = 1; }\n", "k");
    return RIGHT;
}

static int no_parameters(unsigned rounds)
{
    (void)rounds;
    return build("kernel __attribute__((reqd_work_group_size(8, 1, 1))) void k(void) {}\n", "");
}

static int required_size(unsigned rounds)
{
    (void)rounds;
    size_t most = 0, reported = 0;
    char text[160];
    MUST(clGetDeviceInfo(device, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof most, &most, NULL));
    snprintf(text, sizeof text,
             "kernel __attribute__((reqd_work_group_size(%zu, 1, 1))) void k(global int *x) { *x = 1; }\n", most);
    MUST(clGetKernelWorkGroupInfo(new_kernel(text, "k"), device, CL_KERNEL_WORK_GROUP_SIZE, sizeof reported, &reported,
                                  NULL));
    return reported < most ? WRONG : RIGHT;
}

static int variadic(unsigned rounds)
{
    (void)rounds;
    return build("#define LAST(a, ...) __VA_ARGS__\nkernel void k(global int *x) { *x = LAST(1, 2); }\n",
                 "-cl-std=CL1.2");
}

/* ---- wrong code ---- */

static cl_mem zeros(size_t count)
{
    const cl_command_queue queue = new_queue(0);
    const cl_mem made = new_buffer(count * sizeof(cl_int));
    MUST(clEnqueueFillBuffer(queue, made, &(const cl_int){ 0 }, sizeof(cl_int), 0, count * sizeof(cl_int), 0, NULL, NULL));
    MUST(clFinish(queue));
    MUST(clReleaseCommandQueue(queue));
    return made;
}

static void run(cl_kernel kernel, size_t groups, cl_mem from, cl_int *out, size_t count)
{
    const size_t global = groups * ITEMS, local = ITEMS;
    const cl_command_queue queue = new_queue(0);
    MUST(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL));
    MUST(clEnqueueReadBuffer(queue, from, CL_TRUE, 0, count * sizeof *out, out, 0, NULL, NULL));
}

static int early_return(unsigned rounds)
{
    (void)rounds;
    static const char text[] = "kernel void f(global int *c, uint n, uint part, uint odd)\n"
                               "{\n"
                               "    local int t[128];\n"
                               "    const uint i = get_local_id(0);\n"
                               "    if (get_group_id(0) >= part) { c[i] = 7; return; }\n"
                               "    if (odd) {\n"
                               "        barrier(CLK_LOCAL_MEM_FENCE);\n"
                               "        t[i] = i;\n"
                               "        barrier(CLK_LOCAL_MEM_FENCE);\n"
                               "        c[i] = t[i ^ 1];\n"
                               "        return;\n"
                               "    }\n"
                               "    if (get_global_id(0) < n) c[get_global_id(0)] = 1;\n"
                               "}\n";
    const cl_uint n = 100, part = 2, odd = 0;
    const cl_kernel kernel = new_kernel(text, "f");
    const cl_mem c = zeros(2 * ITEMS);
    cl_int out[2 * ITEMS];
    MUST(clSetKernelArg(kernel, 0, sizeof c, &c));
    MUST(clSetKernelArg(kernel, 1, sizeof n, &n));
    MUST(clSetKernelArg(kernel, 2, sizeof part, &part));
    MUST(clSetKernelArg(kernel, 3, sizeof odd, &odd));
    run(kernel, 2, c, out, 2 * ITEMS);
    for (cl_uint i = 0; i < 2 * ITEMS; ++i)
        if (out[i] != (i < n)) return WRONG;
    return RIGHT;
}

/* Items whose x is 1 add 1 to their id behind the barrier, the others 100. */
static int one_value(unsigned rounds)
{
    (void)rounds;
    static const char text[] = "kernel void k(global const int *x, global int *out, int m)\n"
                               "{\n"
                               "    local int t[64];\n"
                               "    const int i = get_local_id(0);\n"
                               "    int y = 100;\n"
                               "    if (m == 0 || x[i] == 1) y = 1;\n"
                               "    t[i] = i;\n"
                               "    barrier(CLK_LOCAL_MEM_FENCE);\n"
                               "    out[i] = t[i ^ 1] + y;\n"
                               "}\n";
    const cl_int m = 1;
    const cl_kernel kernel = new_kernel(text, "k");
    const cl_mem x = zeros(ITEMS), out = zeros(ITEMS);
    const cl_command_queue queue = new_queue(0);
    cl_int values[ITEMS];
    for (int i = 0; i < ITEMS; ++i) values[i] = i % 2;
    MUST(clEnqueueWriteBuffer(queue, x, CL_TRUE, 0, sizeof values, values, 0, NULL, NULL));
    MUST(clSetKernelArg(kernel, 0, sizeof x, &x));
    MUST(clSetKernelArg(kernel, 1, sizeof out, &out));
    MUST(clSetKernelArg(kernel, 2, sizeof m, &m));
    run(kernel, 1, out, values, ITEMS);
    for (int i = 0; i < ITEMS; ++i)
        if (values[i] != (i ^ 1) + (i % 2 ? 1 : 100)) return WRONG;
    return RIGHT;
}

int main(int argc, char **argv)
{
    static const raw_case cases[] = {
        { "short_word", short_word },       { "string_macro", string_macro },   { "renamed", renamed },
        { "parentheses", parentheses },     { "no_parameters", no_parameters }, { "required_size", required_size },
        { "variadic", variadic },           { "early_return", early_return },   { "one_value", one_value },
    };
    return run_case(cases, sizeof cases / sizeof cases[0], argc, argv);
}
