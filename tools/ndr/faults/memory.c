/* memory.c - what drivers do wrong with memory, in plain OpenCL.
 *
 *   remap_is_old            A mapping behind an unmapping of another size has old bytes.
 *   fill_31_bits            A fill of single bytes past 2 GiB writes elsewhere or breaks the queue.
 *   last_pitch_refused      A rectangle whose last row ends with the buffer is refused.
 *   sub_buffer_released     A thread releases sub-buffers of a buffer that another thread uses.
 *   shared_then_buffer      A kernel that gets a buffer for an argument that was shared memory is refused.
 *   migrate_reads_late      A migration behind an event reads its list after the call has returned.
 *   image_buffer_origin     The origin of a read of an image over a buffer counts bytes.
 *   same_address_unmap      The finished one of two mappings at one address is unmapped, which ends the other.
 *   older_sub_buffer_first  The older one of two overlapping sub-buffers is released first.
 *   indirect_list_refused   A kernel with a list of the shared memory that it reaches is refused.
 *   no_memory_aborts        A buffer is used for which the host has no memory. PoCL aborts. */
#include "raw.h"

#include <CL/cl_ext.h>
#include <stdint.h>
#include <sys/resource.h>

enum { INTS = 1024, BYTES = INTS * (int)sizeof(cl_int) };

static const char text[] = "kernel void set(global int *x) { x[0] = 7; }\n";

static cl_command_queue queue;

static void write_zeros(cl_mem memory, size_t bytes)
{
    MUST(clEnqueueFillBuffer(queue, memory, "", 1, 0, bytes, 0, NULL, NULL));
}

static int *map(cl_mem memory, size_t bytes, cl_bool blocks)
{
    cl_int error;
    int *const host =
        clEnqueueMapBuffer(queue, memory, blocks, CL_MAP_READ | CL_MAP_WRITE, 0, bytes, 0, NULL, NULL, &error);
    must(error, "clEnqueueMapBuffer");
    return host;
}

static int remap(void)
{
    queue = new_queue(0);
    const cl_mem memory = new_buffer(BYTES);
    write_zeros(memory, BYTES);
    int *host = map(memory, BYTES, CL_TRUE);
    for (int i = 0; i < INTS; ++i) host[i] = 7;
    const cl_event gate = new_event();
    MUST(clEnqueueUnmapMemObject(queue, memory, host, 1, &gate, NULL));
    host = map(memory, BYTES / 2, CL_FALSE);
    MUST(clFlush(queue));
    MUST(clSetUserEventStatus(gate, CL_COMPLETE));
    MUST(clFinish(queue));
    return host[0] == 7 && host[INTS / 2 - 1] == 7 ? RIGHT : WRONG;
}

static int fill(void)
{
    const size_t far = (size_t)1 << 31;
    cl_ulong most = 0;
    cl_uchar byte = 0;
    MUST(clGetDeviceInfo(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof most, &most, NULL));
    if (most < far + BYTES) return NOT_TRIED;
    queue = new_queue(0);
    const cl_mem memory = new_buffer(far + BYTES);
    write_zeros(memory, BYTES);
    MUST(clEnqueueWriteBuffer(queue, memory, CL_TRUE, far, 1, &byte, 0, NULL, NULL));
    if (clEnqueueFillBuffer(queue, memory, "\7", 1, far, BYTES, 0, NULL, NULL) != CL_SUCCESS) return WRONG;
    if (clFinish(queue) != CL_SUCCESS) return WRONG;
    if (clEnqueueReadBuffer(queue, memory, CL_TRUE, far, 1, &byte, 0, NULL, NULL) != CL_SUCCESS) return WRONG;
    return byte == 7 ? RIGHT : WRONG;
}

/* Two rows of 8 bytes, 16 bytes apart, in 24 bytes. */
static int pitch(void)
{
    const size_t origin[3] = { 0, 0, 0 }, extent[3] = { 8, 2, 1 };
    unsigned char host[16];
    queue = new_queue(0);
    const cl_int error = clEnqueueReadBufferRect(queue, new_buffer(24), CL_TRUE, origin, origin, extent, 16, 0, 8, 0,
                                                 host, 0, NULL, NULL);
    return error == CL_SUCCESS ? RIGHT : WRONG;
}

/* ---- sub-buffers ---- */

enum { PARTS = 100 * ROUNDS };

static cl_mem whole;

static void *make_and_release(void *unused)
{
    (void)unused;
    const cl_buffer_region region = { 0, BYTES };
    for (unsigned i = 0; i < PARTS; ++i) {
        cl_int error;
        const cl_mem part = clCreateSubBuffer(whole, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &error);
        must(error, "clCreateSubBuffer");
        MUST(clReleaseMemObject(part));
    }
    return NULL;
}

static int sub_buffers(void)
{
    pthread_t thread;
    queue = new_queue(0);
    whole = new_buffer(16 * BYTES);
    const cl_kernel kernel = new_kernel(text, "set");
    MUST(clSetKernelArg(kernel, 0, sizeof whole, &whole));
    if (pthread_create(&thread, NULL, make_and_release, NULL)) return NOT_TRIED;
    for (unsigned i = 0; i < PARTS / 10; ++i) {
        const size_t one = 1;
        MUST(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, NULL, 0, NULL, NULL));
        if (i % 16 == 0) MUST(clFinish(queue));
    }
    pthread_join(thread, NULL);
    MUST(clFinish(queue));
    return RIGHT;
}

static cl_mem new_sub_buffer(size_t offset)
{
    cl_int error;
    const cl_buffer_region region = { offset, 2 * BYTES };
    const cl_mem made = clCreateSubBuffer(whole, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &error);
    must(error, "clCreateSubBuffer");
    return made;
}

static void set(cl_mem memory)
{
    const size_t one = 1;
    const cl_kernel kernel = new_kernel(text, "set");
    MUST(clSetKernelArg(kernel, 0, sizeof memory, &memory));
    MUST(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, NULL, 0, NULL, NULL));
    MUST(clFinish(queue));
    MUST(clReleaseKernel(kernel));
}

static int older_first(void)
{
    queue = new_queue(0);
    whole = new_buffer(16 * BYTES);
    const cl_mem older = new_sub_buffer(0), newer = new_sub_buffer(BYTES);
    set(older);
    set(newer);
    MUST(clReleaseMemObject(older));
    set(newer);
    MUST(clReleaseMemObject(newer));
    set(whole);
    MUST(clReleaseMemObject(whole));
    return RIGHT;
}

/* ---- mappings at one address ---- */

static void *map_behind(cl_command_queue on, cl_mem memory, const cl_event *gate)
{
    cl_int error;
    void *const host = clEnqueueMapBuffer(on, memory, !gate, CL_MAP_READ, 0, BYTES, gate ? 1 : 0, gate, NULL, &error);
    must(error, "clEnqueueMapBuffer");
    return host;
}

static int same_address(void)
{
    const cl_command_queue other = new_queue(0);
    const cl_mem memory = new_buffer(BYTES);
    queue = new_queue(0);
    write_zeros(memory, BYTES);
    MUST(clFinish(queue));
    const cl_event gate = new_event();
    void *const held = map_behind(queue, memory, &gate), *const host = map_behind(other, memory, NULL);
    MUST(clEnqueueUnmapMemObject(other, memory, host, 0, NULL, NULL));
    MUST(clFinish(other));
    MUST(clSetUserEventStatus(gate, CL_COMPLETE));
    MUST(clFinish(queue));
    MUST(clEnqueueUnmapMemObject(queue, memory, held, 0, NULL, NULL));
    MUST(clFinish(queue));
    return RIGHT;
}

/* ---- others ---- */

static int shared(void)
{
    const size_t one = 1;
    queue = new_queue(0);
    const cl_kernel kernel = new_kernel(text, "set");
    const cl_mem memory = new_buffer(BYTES);
    void *const svm = clSVMAlloc(context, CL_MEM_READ_WRITE, BYTES, 0);
    if (!svm) return NOT_TRIED;
    MUST(clSetKernelArgSVMPointer(kernel, 0, svm));
    MUST(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, NULL, 0, NULL, NULL));
    MUST(clFinish(queue));
    MUST(clSetKernelArg(kernel, 0, sizeof memory, &memory));
    const cl_int error = clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, NULL, 0, NULL, NULL);
    return error == CL_SUCCESS && clFinish(queue) == CL_SUCCESS ? RIGHT : WRONG;
}

static int migrate(void)
{
    queue = new_queue(0);
    cl_mem list[] = { new_buffer(BYTES) };
    const cl_event gate = new_event();
    MUST(clEnqueueMigrateMemObjects(queue, 1, list, CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED, 1, &gate, NULL));
    memset(list, 0x55, sizeof list);
    MUST(clFlush(queue));
    MUST(clSetUserEventStatus(gate, CL_COMPLETE));
    return clFinish(queue) == CL_SUCCESS ? RIGHT : WRONG;
}

static int image_origin(void)
{
    cl_int values[INTS], error, read = 0;
    cl_bool has_images = CL_FALSE;
    const size_t origin[3] = { 8, 0, 0 }, extent[3] = { 1, 1, 1 };
    MUST(clGetDeviceInfo(device, CL_DEVICE_IMAGE_SUPPORT, sizeof has_images, &has_images, NULL));
    if (!has_images) return NOT_TRIED;
    queue = new_queue(0);
    const cl_mem memory = new_buffer(BYTES);
    for (int i = 0; i < INTS; ++i) values[i] = i;
    MUST(clEnqueueWriteBuffer(queue, memory, CL_TRUE, 0, BYTES, values, 0, NULL, NULL));
    const cl_image_desc desc = { .image_type = CL_MEM_OBJECT_IMAGE1D_BUFFER, .image_width = INTS, .buffer = memory };
    const cl_mem image =
        clCreateImage(context, CL_MEM_READ_ONLY, &(cl_image_format){ CL_R, CL_SIGNED_INT32 }, &desc, NULL, &error);
    must(error, "clCreateImage");
    MUST(clEnqueueReadImage(queue, image, CL_TRUE, origin, extent, 0, 0, &read, 0, NULL, NULL));
    return read == 8 ? RIGHT : WRONG;
}

/* Bytes are copied, because C does not convert an address to a function. */
static bool find_function(const char *name, void *function)
{
    cl_platform_id platform;
    MUST(clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL));
    void *const found = clGetExtensionFunctionAddressForPlatform(platform, name);
    memcpy(function, &found, sizeof found);
    return found;
}

static int indirect(void)
{
    static const char follow[] = "kernel void follow(global ulong *x) { *(global int *)*x = 7; }\n";
    const size_t one = 1;
    cl_int error;
    clHostMemAllocINTEL_fn allocate;
    clSetKernelArgMemPointerINTEL_fn set_arg;
    if (!find_function("clHostMemAllocINTEL", &allocate)) return NOT_TRIED;
    if (!find_function("clSetKernelArgMemPointerINTEL", &set_arg)) return NOT_TRIED;
    queue = new_queue(0);
    int *const reached = allocate(context, NULL, sizeof *reached, 0, &error);
    must(error, "clHostMemAllocINTEL");
    cl_ulong *const link = allocate(context, NULL, sizeof *link, 0, &error);
    must(error, "clHostMemAllocINTEL");
    *link = (cl_ulong)(uintptr_t)reached;
    const cl_kernel kernel = new_kernel(follow, "follow");
    MUST(set_arg(kernel, 0, link));
    MUST(clSetKernelExecInfo(kernel, CL_KERNEL_EXEC_INFO_USM_PTRS_INTEL, sizeof reached, &reached));
    if (clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, NULL, 0, NULL, NULL) != CL_SUCCESS) return WRONG;
    MUST(clFinish(queue));
    return *reached == 7 ? RIGHT : WRONG;
}

/* The process may grow by 256 MiB more. */
static bool limit_memory(void)
{
    unsigned long pages = 0;
    FILE *const sizes = fopen("/proc/self/statm", "r");
    const bool is_read = sizes && fscanf(sizes, "%lu", &pages) == 1;
    if (sizes) fclose(sizes);
    const rlim_t most = (rlim_t)pages * 4096 + ((rlim_t)256 << 20);
    return is_read && setrlimit(RLIMIT_AS, &(struct rlimit){ most, most }) == 0;
}

/* A driver may refuse the buffer or the fill. */
static int none_left(void)
{
    const size_t bytes = (size_t)1 << 30;
    cl_int error;
    queue = new_queue(0);
    write_zeros(new_buffer(BYTES), BYTES);
    MUST(clFinish(queue));
    if (!limit_memory()) return NOT_TRIED;
    const cl_mem memory = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, &error);
    if (error == CL_SUCCESS) (void)clEnqueueFillBuffer(queue, memory, "", 1, 0, bytes, 0, NULL, NULL);
    (void)clFinish(queue);
    return RIGHT;
}

const fault memory_faults[] = {
    { "remap_is_old", remap, NULL },
    { "fill_31_bits", fill, NULL },
    { "last_pitch_refused", pitch, NULL },
    { "sub_buffer_released", sub_buffers, NULL },
    { "shared_then_buffer", shared, NULL },
    { "migrate_reads_late", migrate, NULL },
    { "image_buffer_origin", image_origin, NULL },
    { "same_address_unmap", same_address, NULL },
    { "older_sub_buffer_first", older_first, NULL },
    { "indirect_list_refused", indirect, NULL },
    { "no_memory_aborts", none_left, NULL },
    { NULL, NULL, NULL },
};
