// cub_sort.cu - CUB's radix sorts of unsigned keys, without and with unsigned values.
#include <cub/device/device_radix_sort.cuh>

#include "cub_storage.cuh"

extern "C" int cub_sort(const unsigned *keys, unsigned *sorted_keys, const unsigned *values, unsigned *sorted_values,
                        size_t count, void *stream_)
{
    const cudaStream_t stream = static_cast<cudaStream_t>(stream_);
    const int n = static_cast<int>(count);
    if (!values)
        return with_storage([=](void *temporary, size_t &bytes) {
            return cub::DeviceRadixSort::SortKeys(temporary, bytes, keys, sorted_keys, n, 0, 32, stream);
        });
    return with_storage([=](void *temporary, size_t &bytes) {
        return cub::DeviceRadixSort::SortPairs(temporary, bytes, keys, sorted_keys, values, sorted_values, n, 0, 32,
                                               stream);
    });
}
