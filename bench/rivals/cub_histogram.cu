// cub_histogram.cu - CUB's histogram of bytes in 256 bins.
#include <cub/device/device_histogram.cuh>

#include "cub_storage.cuh"

extern "C" int cub_histogram(const unsigned char *input, unsigned *output, size_t count, void *stream_)
{
    const cudaStream_t stream = static_cast<cudaStream_t>(stream_);
    const int n = static_cast<int>(count);
    return with_storage([=](void *temporary, size_t &bytes) {
        return cub::DeviceHistogram::HistogramEven(temporary, bytes, input, output, 257, 0, 256, n, stream);
    });
}
