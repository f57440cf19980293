/* raw_opencl.c - README's vector add without libndr: OpenCL 1.2 alone, every call checked and reported. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <stdio.h>
#include <stdlib.h>

#define TRY(code, call)                                                 \
    do {                                                                \
        const cl_int code_ = (code);                                    \
        if (code_ != CL_SUCCESS) {                                      \
            fprintf(stderr, "%s: OpenCL error %d\n", call, (int)code_); \
            return EXIT_FAILURE;                                        \
        }                                                               \
    } while (0)

static const char source[] =
    "kernel void add(global const float *a, global const float *b, global float *c)\n"
    "{\n"
    "    const size_t i = get_global_id(0);\n"
    "    c[i] = a[i] + b[i];\n"
    "}\n";

static int find_device(cl_device_id *device)
{
    static const cl_device_type types[] = { CL_DEVICE_TYPE_GPU, CL_DEVICE_TYPE_ACCELERATOR, CL_DEVICE_TYPE_CPU };
    cl_platform_id platforms[16];
    cl_uint count = 0;
    TRY(clGetPlatformIDs(16, platforms, &count), "clGetPlatformIDs");
    if (count > 16) count = 16;
    for (size_t t = 0; t < sizeof types / sizeof types[0]; ++t)
        for (cl_uint i = 0; i < count; ++i) {
            const cl_int error = clGetDeviceIDs(platforms[i], types[t], 1, device, NULL);
            if (error == CL_SUCCESS) return EXIT_SUCCESS;
            if (error != CL_DEVICE_NOT_FOUND) TRY(error, "clGetDeviceIDs");
        }
    fprintf(stderr, "no OpenCL device found\n");
    return EXIT_FAILURE;
}

static int print_build_log(cl_program program, cl_device_id device)
{
    size_t bytes = 0;
    TRY(clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, NULL, &bytes), "clGetProgramBuildInfo");
    char *log = calloc(bytes + 1, 1);
    if (!log) return EXIT_FAILURE;
    const cl_int error = clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, bytes, log, NULL);
    fprintf(stderr, "%s\n", log);
    free(log);
    TRY(error, "clGetProgramBuildInfo");
    return EXIT_SUCCESS;
}

int main(void)
{
    float a[1000], b[1000], c[1000];
    for (int i = 0; i < 1000; ++i) a[i] = (float)i, b[i] = 2.0f * a[i];

    cl_int error;
    cl_device_id device;
    if (find_device(&device) != EXIT_SUCCESS) return EXIT_FAILURE;
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    TRY(error, "clCreateContext");
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &error);
    TRY(error, "clCreateCommandQueue");

    const char *text = source;
    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &error);
    TRY(error, "clCreateProgramWithSource");
    error = clBuildProgram(program, 1, &device, "", NULL, NULL);
    if (error != CL_SUCCESS) print_build_log(program, device);
    TRY(error, "clBuildProgram");
    cl_kernel add = clCreateKernel(program, "add", &error);
    TRY(error, "clCreateKernel");

    cl_mem x = clCreateBuffer(context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, sizeof a, a, &error);
    TRY(error, "clCreateBuffer");
    cl_mem y = clCreateBuffer(context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, sizeof b, b, &error);
    TRY(error, "clCreateBuffer");
    cl_mem z = clCreateBuffer(context, CL_MEM_WRITE_ONLY, sizeof c, NULL, &error);
    TRY(error, "clCreateBuffer");

    const size_t items = 1000;
    TRY(clSetKernelArg(add, 0, sizeof x, &x), "clSetKernelArg");
    TRY(clSetKernelArg(add, 1, sizeof y, &y), "clSetKernelArg");
    TRY(clSetKernelArg(add, 2, sizeof z, &z), "clSetKernelArg");
    TRY(clEnqueueNDRangeKernel(queue, add, 1, NULL, &items, NULL, 0, NULL, NULL), "clEnqueueNDRangeKernel");
    TRY(clEnqueueReadBuffer(queue, z, CL_TRUE, 0, sizeof c, c, 0, NULL, NULL), "clEnqueueReadBuffer");
    printf("%g + %g = %g\n", (double)a[999], (double)b[999], (double)c[999]);

    clReleaseMemObject(x);
    clReleaseMemObject(y);
    clReleaseMemObject(z);
    clReleaseKernel(add);
    clReleaseProgram(program);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    return c[999] == 2997.0f ? EXIT_SUCCESS : EXIT_FAILURE;
}
