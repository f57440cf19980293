/* cuda.h - what the rivals on CUDA share: their stream, events and memory. */
#ifndef BENCH_CUDA_H
#define BENCH_CUDA_H

#include <stdbool.h>
#include <stddef.h>

/* End the bench, and print the call and its code, if the call fails. */
#define MUST_CUDA(call) end_if_cuda_failed((int)(call), #call)
void end_if_cuda_failed(int code, const char *call);

bool cuda_works_here(void); /* a driver and a device */
void *cuda_stream(void);    /* a cudaStream_t; made at the first use */
double cuda_time_one(void (*enqueue)(void *job), void *job);
void cuda_finish(void);

/* Device memory of at least that many bytes, one for each slot; what a smaller one held is lost. */
enum { CUDA_A, CUDA_B, CUDA_C, CUDA_TURNED, CUDA_INPUT, CUDA_OUTPUT, CUDA_VALUES, CUDA_SORTED, CUDA_SLOTS };
void *cuda_memory(size_t slot, size_t bytes);

void cuda_write(void *to, const void *host, size_t bytes);
void cuda_read(void *host, const void *from, size_t bytes);
void cuda_copy(void *to, const void *from, size_t bytes);
void cuda_fill_ff(void *to, size_t bytes);

#endif
