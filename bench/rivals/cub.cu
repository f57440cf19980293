// cub.cu - CUB's reductions of one type: compiled once for each of those in cub.c, with TYPE and NAME.
#include <cub/device/device_reduce.cuh>

#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)

// op: 1 sum, 2 minimum, 3 maximum. 16 MiB of temporary storage are enough for any count. Returns CUDA's code.
extern "C" int JOIN(cub_reduce_, NAME)(int op, const void *input, void *output, size_t count, void *stream_)
{
    static void *temporary;
    static size_t have;
    const TYPE *in = static_cast<const TYPE *>(input);
    TYPE *out = static_cast<TYPE *>(output);
    const cudaStream_t stream = static_cast<cudaStream_t>(stream_);
    const long long n = static_cast<long long>(count);
    if (!temporary) {
        have = size_t(1) << 24;
        const cudaError_t error = cudaMalloc(&temporary, have);
        if (error != cudaSuccess) return error;
    }
    size_t bytes = have;
    return op == 1   ? cub::DeviceReduce::Sum(temporary, bytes, in, out, n, stream)
           : op == 2 ? cub::DeviceReduce::Min(temporary, bytes, in, out, n, stream)
                     : cub::DeviceReduce::Max(temporary, bytes, in, out, n, stream);
}
