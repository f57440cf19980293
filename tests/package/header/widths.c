/* widths.c - how the headers map the C types if long or pointers have 32 bits, in code that is both C11 and C++11.
 *
 * Compiled only, by a compiler for each such system. LONG_BYTES and POINTER_BYTES are the system's sizes. */
#include <ndr/ndr.h>
#include <ndr/ndr_index.h>

#ifdef __cplusplus
#define CHECK(claim) static_assert(claim, #claim)
#else
#define CHECK(claim) _Static_assert(claim, #claim)
#endif

CHECK(sizeof(long) == LONG_BYTES);
CHECK(sizeof(void *) == POINTER_BYTES);
CHECK(NDR_DTYPE_OF_(long) == (LONG_BYTES == 8 ? NDR_DTYPE_I64 : NDR_DTYPE_I32));
CHECK(NDR_DTYPE_OF_(unsigned long) == (LONG_BYTES == 8 ? NDR_DTYPE_U64 : NDR_DTYPE_U32));
CHECK(NDR_DTYPE_LONG_ == NDR_DTYPE_OF_(long));
CHECK(NDR_DTYPE_ULONG_ == NDR_DTYPE_OF_(unsigned long));
CHECK(NDR_DTYPE_OF_(size_t) == (POINTER_BYTES == 8 ? NDR_DTYPE_U64 : NDR_DTYPE_U32));
CHECK(NDR_DTYPE_OF_(ptrdiff_t) == (POINTER_BYTES == 8 ? NDR_DTYPE_I64 : NDR_DTYPE_I32));
CHECK(NDR_DTYPE_OF_(long long) == NDR_DTYPE_I64);
CHECK(NDR_DTYPE_OF_(unsigned long long) == NDR_DTYPE_U64);
CHECK(NDR_DTYPE_OF_(int32_t) == NDR_DTYPE_I32);
CHECK(NDR_DTYPE_OF_(uint32_t) == NDR_DTYPE_U32);
CHECK(NDR_DTYPE_OF_(int64_t) == NDR_DTYPE_I64);
CHECK(NDR_DTYPE_OF_(uint64_t) == NDR_DTYPE_U64);

ndr_status pass(ndr_queue *queue, ndr_kernel *kernel, ndr_buffer *buffer);

ndr_status pass(ndr_queue *queue, ndr_kernel *kernel, ndr_buffer *buffer)
{
    const size_t n = 8;
    return ndr_launch(queue, kernel, ndr_nd_range_1d(n, 4), buffer, 1l, 2ul, 3ll, 4ull, n, ndr_local(long, n));
}
