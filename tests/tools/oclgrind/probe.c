/* probe.c - proves that the Oclgrind run detects faults: kernels with one fault each, in plain OpenCL.
 *
 *     probe platform | clean | race | uninitialized | bounds | sum_into_input | reverse_by_global_id
 *
 * `platform` prints the name of the only platform. The others run the kernel of that name and end with 0;
 * tests/tools/oclgrind/run reads Oclgrind's reports. test_seeds.c has the last two in a correct form: a sum into a cell
 * that is also an input (E7), and a local array indexed by global id, in two groups (E4). */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <string.h>

static const char source[] =
    "#line 1 \"probe.cl\"\n"
    "kernel void clean(global int *out) { out[get_global_id(0)] = 1; }\n"
    "kernel void race(global int *out) { out[0] += (int)get_global_id(0); }\n"
    "kernel void uninitialized(global int *out, local int *scratch) {\n"
    "    if (scratch[get_local_id(0)] > 0)\n"
    "        out[get_global_id(0)] = 1; }\n"
    "kernel void bounds(global int *out) { out[get_global_id(0) + 8] = 1; }\n"
    "kernel void sum_into_input(global int *out) { atomic_add(&out[0], out[get_global_id(0)]); }\n"
    "kernel void reverse_by_global_id(global int *out) {\n"
    "    const size_t i = get_global_id(0);\n"
    "    local int t[8];\n"
    "    t[i] = out[i];\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    if (t[7 - i] >= 0) out[i] = 1; }\n";

#define REQUIRE(condition)                                                        \
    do {                                                                          \
        if (!(condition)) {                                                       \
            fprintf(stderr, "probe: line %d: not so: %s\n", __LINE__, #condition); \
            return 1;                                                             \
        }                                                                         \
    } while (0)

static int run(cl_context context, cl_device_id device, const char *name)
{
    const char *text = source;
    const size_t items = 8, group = strcmp(name, "reverse_by_global_id") == 0 ? 4 : 8;
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, NULL);
    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, NULL);
    cl_mem out = clCreateBuffer(context, CL_MEM_READ_WRITE, items * sizeof(cl_int), NULL, NULL);
    REQUIRE(queue && program && out);
    REQUIRE(clBuildProgram(program, 1, &device, "", NULL, NULL) == CL_SUCCESS);
    cl_kernel kernel = clCreateKernel(program, name, NULL);
    REQUIRE(kernel);
    /* Oclgrind treats this as uninitialised unless layer.c is loaded. */
    const cl_int zero = 0;
    REQUIRE(clEnqueueFillBuffer(queue, out, &zero, sizeof zero, 0, items * sizeof zero, 0, NULL, NULL) ==
            CL_SUCCESS);
    REQUIRE(clSetKernelArg(kernel, 0, sizeof out, &out) == CL_SUCCESS);
    if (strcmp(name, "uninitialized") == 0)
        REQUIRE(clSetKernelArg(kernel, 1, items * sizeof(cl_int), NULL) == CL_SUCCESS);
    REQUIRE(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, &group, 0, NULL, NULL) == CL_SUCCESS);
    REQUIRE(clFinish(queue) == CL_SUCCESS);
    clReleaseKernel(kernel);
    clReleaseMemObject(out);
    clReleaseProgram(program);
    clReleaseCommandQueue(queue);
    return 0;
}

int main(int argc, char **argv)
{
    REQUIRE(argc == 2);
    cl_platform_id platform;
    cl_device_id device;
    cl_uint count = 0;
    REQUIRE(clGetPlatformIDs(1, &platform, &count) == CL_SUCCESS && count == 1);
    if (strcmp(argv[1], "platform") == 0) {
        char name[256] = "";
        REQUIRE(clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof name, name, NULL) == CL_SUCCESS);
        return puts(name) < 0;
    }
    REQUIRE(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) == CL_SUCCESS);
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    REQUIRE(context);
    const int failed = run(context, device, argv[1]);
    clReleaseContext(context);
    return failed;
}
