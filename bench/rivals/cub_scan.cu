// cub_scan.cu - CUB's inclusive sums.
#include <cub/device/device_scan.cuh>

#include "cub_storage.cuh"

extern "C" int cub_scan(int is_f32, const void *input, void *output, size_t count, void *stream_)
{
    const cudaStream_t stream = static_cast<cudaStream_t>(stream_);
    const long long n = static_cast<long long>(count);
    if (is_f32)
        return with_storage([=](void *temporary, size_t &bytes) {
            return cub::DeviceScan::InclusiveSum(temporary, bytes, static_cast<const float *>(input),
                                                 static_cast<float *>(output), n, stream);
        });
    return with_storage([=](void *temporary, size_t &bytes) {
        return cub::DeviceScan::InclusiveSum(temporary, bytes, static_cast<const unsigned *>(input),
                                             static_cast<unsigned *>(output), n, stream);
    });
}
