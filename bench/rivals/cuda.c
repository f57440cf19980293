/* cuda.c - the stream, events and memory of the rivals on CUDA. */
#include "cuda.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>

void end_if_cuda_failed(int code, const char *call)
{
    if (code == 0) return;
    fprintf(stderr, "bench: %s\n  CUDA error %d\n", call, code);
    exit(2);
}

bool cuda_works_here(void)
{
    static int devices = -1;
    if (devices < 0 && cudaGetDeviceCount(&devices) != cudaSuccess) devices = 0;
    return devices > 0;
}

void *cuda_stream(void)
{
    static cudaStream_t stream;
    if (!stream) MUST_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    return stream;
}

double cuda_time_one(void (*enqueue)(void *job), void *job)
{
    static cudaEvent_t before, after;
    float ms;
    if (!before) MUST_CUDA(cudaEventCreate(&before));
    if (!after) MUST_CUDA(cudaEventCreate(&after));
    MUST_CUDA(cudaEventRecord(before, cuda_stream()));
    enqueue(job);
    MUST_CUDA(cudaEventRecord(after, cuda_stream()));
    MUST_CUDA(cudaEventSynchronize(after));
    MUST_CUDA(cudaEventElapsedTime(&ms, before, after));
    return (double)ms * 1e-3;
}

void cuda_finish(void) { MUST_CUDA(cudaStreamSynchronize(cuda_stream())); }

void *cuda_memory(size_t slot, size_t bytes)
{
    static struct {
        void *memory;
        size_t bytes;
    } slots[CUDA_SLOTS];
    if (slots[slot].bytes >= bytes) return slots[slot].memory;
    MUST_CUDA(cudaFree(slots[slot].memory));
    MUST_CUDA(cudaMalloc(&slots[slot].memory, bytes));
    slots[slot].bytes = bytes;
    return slots[slot].memory;
}

/* ---- copies, in the stream's order ---- */

static void copy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    MUST_CUDA(cudaMemcpyAsync(to, from, bytes, kind, cuda_stream()));
    cuda_finish();
}

void cuda_write(void *to, const void *host, size_t bytes) { copy(to, host, bytes, cudaMemcpyHostToDevice); }
void cuda_read(void *host, const void *from, size_t bytes) { copy(host, from, bytes, cudaMemcpyDeviceToHost); }
void cuda_copy(void *to, const void *from, size_t bytes) { copy(to, from, bytes, cudaMemcpyDeviceToDevice); }
void cuda_fill_ff(void *to, size_t bytes) { MUST_CUDA(cudaMemsetAsync(to, 0xff, bytes, cuda_stream())); }
