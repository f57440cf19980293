/* memory.c - the device, and operands that host and device share. The calls here end the bench if they fail. */
#define _POSIX_C_SOURCE 200809L
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>

ndr_context *the_context;
ndr_queue *the_queue;
const char *the_device_text;

/* ---- failing ---- */

void end_if_failed(ndr_status status, const char *call)
{
    if (status == NDR_OK) return;
    fprintf(stderr, "bench: %s\n  %s: %s\n", call, ndr_status_name(status), ndr_last_error());
    exit(2);
}

void end_if_failed_cl(cl_int code, const char *call)
{
    if (code == CL_SUCCESS) return;
    fprintf(stderr, "bench: %s\n  OpenCL error %d\n", call, (int)code);
    exit(2);
}

void *allocate(size_t bytes)
{
    enum { PAGE = 4096 };
    void *memory = NULL;
    if (posix_memalign(&memory, PAGE, (bytes + PAGE - 1) / PAGE * PAGE) == 0) return memory;
    fprintf(stderr, "bench: no memory for %zu bytes\n", bytes);
    exit(2);
}

/* ---- device ---- */

void open_device(const char *text)
{
    the_device_text = text;
    MUST(ndr_context_create(text, &the_context));
    MUST(ndr_queue_create(the_context, NULL, &the_queue));
}

void close_device(void)
{
    ndr_queue_destroy(the_queue);
    ndr_context_destroy(the_context);
}

cl_program raw_program(const char *source)
{
    cl_int code;
    const cl_device_id device = ndr_context_cl_device(the_context);
    cl_program program = clCreateProgramWithSource(ndr_context_cl(the_context), 1, &source, NULL, &code);
    MUST_CL(code);
    MUST_CL(clBuildProgram(program, 1, &device, "", NULL, NULL));
    return program;
}

cl_kernel raw_kernel(const char *source, const char *name)
{
    cl_int code;
    const cl_program program = raw_program(source);
    const cl_kernel kernel = clCreateKernel(program, name, &code);
    MUST_CL(code);
    MUST_CL(clReleaseProgram(program));
    return kernel;
}

/* ---- shared memory ---- */

shared_memory shared_create(size_t bytes)
{
    shared_memory memory = { .host = allocate(bytes), .is_on_device = true };
    MUST(ndr_buffer_create_over(the_context, bytes, memory.host, &memory.buffer));
    shared_hand_over(&memory, false);
    return memory;
}

void shared_destroy(shared_memory *memory)
{
    shared_hand_over(memory, true);
    MUST(ndr_queue_finish(the_queue));
    ndr_buffer_destroy(memory->buffer);
    free(memory->host);
}

void shared_hand_over(shared_memory *memory, bool to_device)
{
    if (memory->is_on_device == to_device) return;
    void *host = memory->host;
    if (to_device) MUST(ndr_buffer_unmap(the_queue, memory->buffer, host, NULL));
    else MUST(ndr_buffer_map(the_queue, memory->buffer, NDR_MAP_READ_WRITE, 0, ndr_buffer_size(memory->buffer), &host));
    if (host != memory->host) {
        fprintf(stderr, "bench: this device copies a zero-copy buffer to map it; choose another with --device\n");
        exit(2);
    }
    memory->is_on_device = to_device;
}

/* ---- values ---- */

/* Each of 8 neighbours has a random stream of its own, so that the compiler can use vectors. */
#define DEFINE_FILL(name, T, params, value)                                        \
    void name(T *x, size_t n, params uint64_t seed)                                \
    {                                                                              \
        enum { STREAMS = 8 };                                                      \
        uint64_t state[STREAMS];                                                   \
        for (size_t s = 0; s < STREAMS; ++s) state[s] = next_random(&seed) | 1;    \
        for (size_t i = 0; i < n; i += STREAMS)                                    \
            for (size_t s = 0; s < STREAMS && i + s < n; ++s) {                    \
                state[s] = state[s] * 6364136223846793005u + 1442695040888963407u; \
                const uint64_t bits = state[s] >> 33;                              \
                x[i + s] = (value);                                                \
            }                                                                      \
    }
#define COMMA ,
DEFINE_FILL(fill_f32, float, float low COMMA float span COMMA, low + span * (float)(bits >> 8) * 0x1p-23f)
DEFINE_FILL(fill_f64, double, double low COMMA double span COMMA, low + span * (double)bits * 0x1p-31)
DEFINE_FILL(fill_i32, int32_t, , (int32_t)(uint32_t)(bits << 1))

static void fill_f16(uint16_t *x, size_t n, uint64_t seed), fill_bf16(uint16_t *x, size_t n, uint64_t seed);
static void fill_i8(int8_t *x, size_t n, uint64_t seed);
DEFINE_FILL(fill_f16, uint16_t, , ndr_f16_from_float((float)(bits >> 8) * 0x1p-22f - 1))
DEFINE_FILL(fill_bf16, uint16_t, , ndr_bf16_from_float((float)(bits >> 8) * 0x1p-22f - 1))
DEFINE_FILL(fill_i8, int8_t, , (int8_t)(uint8_t)(bits >> 20))

void fill_elements(ndr_dtype dtype, void *x, size_t n, uint64_t seed)
{
    switch (dtype) {
    case NDR_DTYPE_F32: fill_f32(x, n, -1, 2, seed); break;
    case NDR_DTYPE_F64: fill_f64(x, n, -1, 2, seed); break;
    case NDR_DTYPE_F16: fill_f16(x, n, seed); break;
    case NDR_DTYPE_BF16: fill_bf16(x, n, seed); break;
    case NDR_DTYPE_I8: fill_i8(x, n, seed); break;
    default: fill_i32(x, n, seed);
    }
}

double element_at(ndr_dtype dtype, const void *x, size_t index)
{
    switch (dtype) {
    case NDR_DTYPE_F64: return ((const double *)x)[index];
    case NDR_DTYPE_F16: return (double)ndr_f16_to_float(((const uint16_t *)x)[index]);
    case NDR_DTYPE_BF16: return (double)ndr_bf16_to_float(((const uint16_t *)x)[index]);
    case NDR_DTYPE_F32: return (double)((const float *)x)[index];
    case NDR_DTYPE_I8: return ((const int8_t *)x)[index];
    default: return ((const int32_t *)x)[index];
    }
}
