/* compilers.c - what the compilers of drivers do wrong, in plain OpenCL.
 *
 *   short_word_crashes      A word of one character in the options ends the process.
 *   string_macro_crashes    A string in the options ends the process.
 *   kernel_renamed          A kernel with the name of a built-in function has another name.
 *   name_in_parentheses     A kernel's name in parentheses crashes the compiler.
 *   no_parameters_refused   A kernel that has reqd_work_group_size and no parameter is refused.
 *   required_size_256       The largest group of a kernel is smaller than the size that it requires.
 *   variadic_refused        Variadic macros are refused for -cl-std=CL1.2.
 *   local_size_of_variable  A kernel that passes a variable to get_local_size() does not link. PoCL 3.1 aborts.
 *   offset_32_bits          Global ids lose the upper half of an offset past 31 bits, of which they repeat the highest.
 *   no_kernel_names         The names of no kernels are written past their memory.
 *   line_ignored            Errors have the line of the text instead of that of #line.
 *   cl20_without_support    A program is built for OpenCL C 2.0, but its atomics do not run.
 *   inline_unoptimised      A function that is always inlined and returns a struct does not run if it is not optimised.
 *   return_before_barrier   After a return, also one that never runs, all items take one way.
 *   one_value_for_all       A value that differs between items is the same in all after a barrier.
 *   all_ones_constant       The inverse of a minimum is wrong.
 *   last_of_loop            The compiler does not survive a loop of which only the last value is used, as f32.
 *   loop_of_two             In a group of two a loop ends early.
 *   loops_end_early         Loops end before their end. */
#include "early_return.h"
#include "raw.h"

enum { ITEMS = 64 };

static int build(const char *text, const char *options) { return builds(new_program(text), options) ? RIGHT : WRONG; }

static int short_word(void)
{
    return build("kernel void k(global int *x) {\n#ifdef N\n*x = N;\n#endif\n}\n", "-D N");
}

static int string_macro(void)
{
    (void)build("kernel void k(global char *x) { x[0] = NAME[0]; }\n", "-DNAME=\\\"a\\\"");
    return RIGHT; /* drivers may read quotes otherwise */
}

static int renamed(void)
{
    cl_int error;
    const cl_program program = new_program("kernel void dot(global int *x) { *x = 1; }\n");
    if (!builds(program, "")) return NOT_TRIED;
    (void)clCreateKernel(program, "dot", &error);
    return error == CL_SUCCESS ? RIGHT : WRONG;
}

static int parentheses(void)
{
    (void)new_kernel("kernel void (k)(global int *x) { *x = 1; }\n", "k");
    return RIGHT;
}

static int no_parameters(void)
{
    return build("kernel __attribute__((reqd_work_group_size(8, 1, 1))) void k(void) {}\n", "");
}

static int required_size(void)
{
    size_t most = 0, reported = 0;
    char text[160];
    MUST(clGetDeviceInfo(device, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof most, &most, NULL));
    snprintf(text, sizeof text,
             "kernel __attribute__((reqd_work_group_size(%zu, 1, 1))) void k(global int *x) { *x = 1; }\n", most);
    MUST(clGetKernelWorkGroupInfo(new_kernel(text, "k"), device, CL_KERNEL_WORK_GROUP_SIZE, sizeof reported, &reported,
                                  NULL));
    return reported < most ? WRONG : RIGHT;
}

static int variadic(void)
{
    return build("#define LAST(a, ...) __VA_ARGS__\nkernel void k(global int *x) { *x = LAST(1, 2); }\n",
                 "-cl-std=CL1.2");
}

static int line(void)
{
    char log[4096] = "";
    const cl_program program = new_program("#line 4321\nkernel void k(global int *x) { *x = unknown; }\n");
    if (builds(program, "")) return NOT_TRIED;
    MUST(clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof log - 1, log, NULL));
    return strstr(log, "4321") ? RIGHT : WRONG;
}

/* A driver may refuse the query. */
static int no_names(void)
{
    char memory[64], *const names = memory + 16;
    size_t bytes = 0;
    const cl_program program = new_program("int f(int x) { return x; }\n");
    memset(memory, '#', sizeof memory);
    if (!builds(program, "")) return NOT_TRIED;
    (void)clGetProgramInfo(program, CL_PROGRAM_KERNEL_NAMES, 0, NULL, &bytes);
    if (bytes > 16) return WRONG;
    (void)clGetProgramInfo(program, CL_PROGRAM_KERNEL_NAMES, bytes, names, NULL);
    for (char *c = memory; c < memory + sizeof memory; ++c)
        if ((c < names || c >= names + bytes) && *c != '#') return WRONG;
    return RIGHT;
}

/* ---- launches ---- */

/* As run_kernel(), for a kernel k of an array and a number. */
static cl_int run_with_number(const char *text, size_t bytes, const void *number, size_t global, size_t local,
                              cl_int *out, size_t count)
{
    const cl_kernel kernel = new_kernel(text, "k");
    MUST(clSetKernelArg(kernel, 1, bytes, number));
    return run_kernel(kernel, global, local, out, count);
}

static int local_size(void)
{
    static const char text[] = "kernel void k(global ulong *x, uint n)\n"
                               "{\n"
                               "    x[0] = n > 1 ? get_local_size(n - 2) : 1;\n"
                               "    x[1] = n == 1 ? 3 : get_local_size(n - 2);\n"
                               "}\n";
    const cl_uint n = 2;
    cl_int out[4];
    MUST(run_with_number(text, sizeof n, &n, 8, 4, out, 4));
    return out[0] == 4 && out[2] == 4 ? RIGHT : WRONG;
}

/* A driver may refuse an offset. */
static int offset(void)
{
    const cl_ulong wanted[] = { ((cl_ulong)1 << 31) + 5, ((cl_ulong)1 << 32) + 5 };
    const cl_command_queue queue = new_queue(0);
    const cl_mem memory = new_buffer(sizeof wanted[0]);
    const cl_kernel kernel = new_kernel("kernel void k(global ulong *x) { *x = get_global_id(0); }\n", "k");
    MUST(clSetKernelArg(kernel, 0, sizeof memory, &memory));
    for (unsigned i = 0; i < 2; ++i) {
        const size_t one = 1, far = (size_t)wanted[i];
        cl_ulong id = 0;
        if (far != wanted[i]) return NOT_TRIED; /* size_t has 32 bits */
        if (clEnqueueNDRangeKernel(queue, kernel, 1, &far, &one, &one, 0, NULL, NULL) != CL_SUCCESS) continue;
        MUST(clEnqueueReadBuffer(queue, memory, CL_TRUE, 0, sizeof id, &id, 0, NULL, NULL));
        if (id != wanted[i]) return WRONG;
    }
    return RIGHT;
}

/* Build it with the options, and run 4 items. A driver may refuse the options. */
static int run_built(const char *text, const char *options, cl_int expected)
{
    cl_int error, out = 0;
    const cl_program program = new_program(text);
    if (!builds(program, options)) return RIGHT;
    const cl_kernel kernel = clCreateKernel(program, "k", &error);
    if (error != CL_SUCCESS) return WRONG;
    return run_kernel(kernel, 4, 4, &out, 1) == CL_SUCCESS && out == expected ? RIGHT : WRONG;
}

static int cl20(void)
{
    return run_built("kernel void k(global atomic_int *x) { atomic_fetch_add(x, 2); }\n", "-cl-std=CL2.0", 8);
}

static int inlined(void)
{
    static const char text[] = "typedef struct four { int part[4]; } four;\n"
                               "static inline __attribute__((always_inline)) four four_of(int x)\n"
                               "{\n"
                               "    const four made = { { x, x, x, 7 } };\n"
                               "    return made;\n"
                               "}\n"
                               "kernel void k(global int *x) { *x = four_of(1).part[3]; }\n";
    return run_built(text, "-cl-opt-disable", 7);
}

/* ---- wrong code ---- */

/* Items past n must write nothing; the return never runs. */
static bool keeps_guard(void)
{
    static const char text[] = "kernel void g(global int *out, int n, int last)\n"
                               "{\n"
                               "    local int flag;\n"
                               "    const int i = get_global_id(0);\n"
                               "    if (get_local_id(0) == 0) flag = 0;\n"
                               "    barrier(CLK_LOCAL_MEM_FENCE);\n"
                               "    if (i < n) {\n"
                               "        if (i > last) return;\n"
                               "        out[i] = 1;\n"
                               "    }\n"
                               "    barrier(CLK_LOCAL_MEM_FENCE);\n"
                               "    if (flag) out[0] = 2;\n"
                               "}\n";
    const cl_int n = 50, last = n - 1;
    const cl_kernel kernel = new_kernel(text, "g");
    cl_int out[ITEMS];
    MUST(clSetKernelArg(kernel, 1, sizeof n, &n));
    MUST(clSetKernelArg(kernel, 2, sizeof last, &last));
    MUST(run_kernel(kernel, ITEMS, ITEMS, out, ITEMS));
    for (int i = 0; i < ITEMS; ++i)
        if (out[i] != (i < n)) return false;
    return true;
}

static int early_return(void)
{
    if (!keeps_guard()) return WRONG;
    const cl_uint n = 100, part = 2, odd = 0;
    const cl_kernel kernel = new_kernel(early_return_kernel, "k");
    cl_int out[2 * ITEMS];
    MUST(clSetKernelArg(kernel, 1, sizeof n, &n));
    MUST(clSetKernelArg(kernel, 2, sizeof part, &part));
    MUST(clSetKernelArg(kernel, 3, sizeof odd, &odd));
    MUST(run_kernel(kernel, 2 * ITEMS, ITEMS, out, 2 * ITEMS));
    for (cl_uint i = 0; i < 2 * ITEMS; ++i)
        if (out[i] != (i < n)) return WRONG;
    return RIGHT;
}

/* The items with an odd id add 1 to their id behind the barrier, the others 100. */
static int one_value(void)
{
    static const char text[] = "kernel void k(global int *out, global const int *x, int m)\n"
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
    const cl_mem x = new_buffer(ITEMS * sizeof(cl_int));
    const cl_command_queue queue = new_queue(0);
    cl_int values[ITEMS];
    for (int i = 0; i < ITEMS; ++i) values[i] = i % 2;
    MUST(clEnqueueWriteBuffer(queue, x, CL_TRUE, 0, sizeof values, values, 0, NULL, NULL));
    MUST(clFinish(queue)); /* the write may still run when the call returns */
    MUST(clSetKernelArg(kernel, 1, sizeof x, &x));
    MUST(clSetKernelArg(kernel, 2, sizeof m, &m));
    MUST(run_kernel(kernel, ITEMS, ITEMS, values, ITEMS));
    for (int i = 0; i < ITEMS; ++i)
        if (values[i] != (i ^ 1) + (i % 2 ? 1 : 100)) return WRONG;
    return RIGHT;
}

static int all_ones(void)
{
    static const char text[] = "kernel void k(global ulong *y, ulong first)\n"
                               "{\n"
                               "    ulong m = y[0] + first;\n"
                               "    for (uint i = 1; i < 256; ++i) m = min(m, y[i] + first);\n"
                               "    *y = ~m;\n"
                               "}\n";
    const cl_ulong first = 1000;
    cl_int out[512];
    MUST(run_with_number(text, sizeof first, &first, 1, 1, out, 512));
    return out[0] == ~1000 && out[1] == -1 ? RIGHT : WRONG;
}

static int last_of_loop(void)
{
    if (build("kernel void k(global double *x) { x[0] = 1; }\n", "") == WRONG) return NOT_TRIED;
    return build("kernel void k(global float *y, global const double *x, uint n)\n"
                 "{\n"
                 "    for (uint i = 0; i < n; ++i) y[0] = sqrt(x[i]);\n"
                 "}\n",
                 "");
}

static int loop_of_two(void)
{
    static const char text[] = "kernel void k(global int *x, uint n)\n"
                               "{\n"
                               "    const uint id = get_local_id(0);\n"
                               "    for (uint j = 0; j < n; j += 16) {\n"
                               "        for (uint i = id % 2; i < 16; i += 2) x[i] = id + 1;\n"
                               "        barrier(CLK_GLOBAL_MEM_FENCE);\n"
                               "    }\n"
                               "}\n";
    const cl_uint n = 16;
    cl_int out[16];
    MUST(run_with_number(text, sizeof n, &n, 2, 2, out, 16));
    for (int i = 0; i < 16; ++i)
        if (out[i] != i % 2 + 1) return WRONG;
    return RIGHT;
}

/* Each loop is short. The zeros are volatile so that no compiler computes the sum without the loops. */
static int early_end(void)
{
    static const char text[] = "kernel void k(global volatile int *x, uint n)\n"
                               "{\n"
                               "    int sum = 0;\n"
                               "    for (uint i = 0; i < n; ++i)\n"
                               "        for (uint j = 0; j < n; ++j) sum += 1 + x[j & 3];\n"
                               "    x[0] = sum;\n"
                               "}\n";
    const cl_uint n = 300;
    cl_int out[4];
    MUST(run_with_number(text, sizeof n, &n, 1, 1, out, 4));
    return out[0] == 300 * 300 ? RIGHT : WRONG;
}

const fault compilers_faults[] = {
    { "short_word_crashes", short_word, NULL },
    { "string_macro_crashes", string_macro, NULL },
    { "kernel_renamed", renamed, NULL },
    { "name_in_parentheses", parentheses, NULL },
    { "no_parameters_refused", no_parameters, NULL },
    { "required_size_256", required_size, NULL },
    { "variadic_refused", variadic, NULL },
    { "local_size_of_variable", local_size, NULL },
    { "offset_32_bits", offset, NULL },
    { "no_kernel_names", no_names, NULL },
    { "line_ignored", line, NULL },
    { "cl20_without_support", cl20, NULL },
    { "inline_unoptimised", inlined, NULL },
    { "return_before_barrier", early_return, NULL },
    { "one_value_for_all", one_value, NULL },
    { "all_ones_constant", all_ones, NULL },
    { "last_of_loop", last_of_loop, NULL },
    { "loop_of_two", loop_of_two, NULL },
    { "loops_end_early", early_end, NULL },
    { NULL, NULL, NULL },
};
