// cub_storage.cuh - temporary storage of CUB's calls, which grows as they ask for it.
#ifndef CUB_STORAGE_CUH
#define CUB_STORAGE_CUH

#include <cstddef>

// Call(temporary, bytes) is CUB's function. Returns CUDA's code.
template <class Call> int with_storage(Call call)
{
    static void *temporary;
    static size_t have;
    size_t bytes = 0;
    cudaError_t error = call(nullptr, bytes);
    if (error == cudaSuccess && bytes > have) {
        cudaFree(temporary);
        have = bytes;
        error = cudaMalloc(&temporary, have);
    }
    return error == cudaSuccess ? call(temporary, bytes) : error;
}

#endif
