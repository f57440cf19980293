/** @file ndr_args.h
 * The macros behind ndr_launch(): included by ndr.h, never by hand.
 *
 * Names that end in an underscore are not for callers. C gets its overloads from _Generic, C++ from
 * functions; a type that no overload names (a host float *, say) does not compile in either. */
#ifndef NDR_NDR_ARGS_H
#define NDR_NDR_ARGS_H

#include "ndr/ndr.h"

/* ---- one argument -------------------------------------------------------------------------------- */

static inline ndr_arg ndr_arg_signed_(ndr_dtype dtype, int64_t value)
{
    ndr_arg arg = { NDR_ARG_SIGNED, dtype, 0, { 0 }, 0 };
    arg.as.i = value;
    return arg;
}

static inline ndr_arg ndr_arg_unsigned_(ndr_dtype dtype, uint64_t value)
{
    ndr_arg arg = { NDR_ARG_UNSIGNED, dtype, 0, { 0 }, 0 };
    arg.as.u = value;
    return arg;
}

static inline ndr_arg ndr_arg_f32_(float value)
{
    ndr_arg arg = { NDR_ARG_FLOAT, NDR_DTYPE_F32, 0, { 0 }, 0 };
    arg.as.f = value;
    return arg;
}

static inline ndr_arg ndr_arg_f64_(double value)
{
    ndr_arg arg = { NDR_ARG_DOUBLE, NDR_DTYPE_F64, 0, { 0 }, 0 };
    arg.as.d = value;
    return arg;
}

static inline ndr_arg ndr_arg_buffer_(ndr_buffer *buffer)
{
    ndr_arg arg = { NDR_ARG_BUFFER, NDR_DTYPE_NONE, 0, { 0 }, 0 };
    arg.as.buffer = buffer;
    return arg;
}

static inline ndr_arg ndr_arg_null_(void)
{
    ndr_arg arg = { NDR_ARG_NULL, NDR_DTYPE_NONE, 0, { 0 }, 0 };
    return arg;
}

static inline ndr_arg ndr_arg_struct_(const void *bytes, size_t size_bytes, const char *type_name)
{
    ndr_arg arg = { NDR_ARG_STRUCT, NDR_DTYPE_NONE, 0, { 0 }, 0 };
    arg.size_bytes = size_bytes;
    arg.as.value.bytes = bytes;
    arg.as.value.type_name = type_name;
    return arg;
}

/* A fourth extent is kept as a kind that no launch accepts. */
static inline ndr_arg ndr_arg_local_(ndr_dtype dtype, size_t element_bytes, int extents, size_t a, size_t b,
                                     size_t c)
{
    ndr_arg arg = { NDR_ARG_LOCAL, dtype, 0, { 0 }, 0 };
    if (extents > 3) arg.kind = NDR_ARG_NONE;
    arg.size_bytes = element_bytes;
    arg.as.extent[0] = a;
    arg.as.extent[1] = b;
    arg.as.extent[2] = c;
    return arg;
}

static inline ndr_arg ndr_arg_with_elements_(const char *type_name, ndr_arg arg)
{
    arg.element_name = type_name;
    return arg;
}

/* On 32-bit systems and on Windows long has 32 bits. */
#define NDR_DTYPE_LONG_ (sizeof(long) == 8 ? NDR_DTYPE_I64 : NDR_DTYPE_I32)
#define NDR_DTYPE_ULONG_ (sizeof(long) == 8 ? NDR_DTYPE_U64 : NDR_DTYPE_U32)

/* Each type by the name it has in a function's name below. */
static inline ndr_arg ndr_arg_same_(ndr_arg arg) { return arg; }
static inline ndr_arg ndr_arg_bool_(bool value) { return ndr_arg_unsigned_(NDR_DTYPE_U8, value); }
static inline ndr_arg ndr_arg_char_(char value) { return ndr_arg_signed_(NDR_DTYPE_I8, value); }
static inline ndr_arg ndr_arg_schar_(signed char value) { return ndr_arg_signed_(NDR_DTYPE_I8, value); }
static inline ndr_arg ndr_arg_uchar_(unsigned char value) { return ndr_arg_unsigned_(NDR_DTYPE_U8, value); }
static inline ndr_arg ndr_arg_short_(short value) { return ndr_arg_signed_(NDR_DTYPE_I16, value); }
static inline ndr_arg ndr_arg_ushort_(unsigned short value) { return ndr_arg_unsigned_(NDR_DTYPE_U16, value); }
static inline ndr_arg ndr_arg_int_(int value) { return ndr_arg_signed_(NDR_DTYPE_I32, value); }
static inline ndr_arg ndr_arg_uint_(unsigned value) { return ndr_arg_unsigned_(NDR_DTYPE_U32, value); }
static inline ndr_arg ndr_arg_long_(long value) { return ndr_arg_signed_(NDR_DTYPE_LONG_, value); }
static inline ndr_arg ndr_arg_ulong_(unsigned long value) { return ndr_arg_unsigned_(NDR_DTYPE_ULONG_, value); }
static inline ndr_arg ndr_arg_llong_(long long value) { return ndr_arg_signed_(NDR_DTYPE_I64, value); }
static inline ndr_arg ndr_arg_ullong_(unsigned long long value) { return ndr_arg_unsigned_(NDR_DTYPE_U64, value); }

/** A deliberate NULL, for a global or constant pointer parameter. */
#define ndr_null ndr_arg_null_()

/** Local memory: `ndr_local(float, rows, cols)` gives a `local float *` parameter rows * cols floats for
 * each group, and the type is spelt as the kernel spells it. A vector is spelt as OpenCL's host headers do:
 * `ndr_local(cl_float4, n)` gives a `local float4 *` n of them. 1 to 3 extents; the kernel indexes it flat or with
 * ndr_at(). Contents start undefined. */
#define ndr_local(type, ...)                                                                             \
    ndr_arg_with_elements_(#type, ndr_arg_local_(NDR_DTYPE_OF_(type), sizeof(type), NDR_COUNT_(__VA_ARGS__), \
                                                 NDR_FIRST_THREE_(__VA_ARGS__, 1, 1, 1)))

#define NDR_FIRST_THREE_(a, b, c, ...) (size_t)(a), (size_t)(b), (size_t)(c)

/* How many arguments there are, up to 33; 99 for more. */
#define NDR_COUNT_(...) NDR_COUNT2_(__VA_ARGS__, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 33, 32, 31, 30, 29, 28, 27, 26, 25, \
                         24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define NDR_COUNT2_(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, a21, a22, \
    a23, a24, a25, a26, a27, a28, a29, a30, a31, a32, a33, a34, a35, a36, a37, a38, a39, a40, a41, a42, \
    a43, a44, a45, a46, a47, a48, a49, n, ...) n

#ifndef __cplusplus

/** One argument: a buffer, an integer, a float, a double, or an ndr_arg. */
#define ndr_arg_of(x)                     \
    _Generic((x),                         \
        ndr_arg: ndr_arg_same_,           \
        ndr_buffer *: ndr_arg_buffer_,    \
        float: ndr_arg_f32_,              \
        double: ndr_arg_f64_,             \
        _Bool: ndr_arg_bool_, \
        char: ndr_arg_char_, \
        signed char: ndr_arg_schar_, \
        unsigned char: ndr_arg_uchar_, \
        short: ndr_arg_short_, \
        unsigned short: ndr_arg_ushort_, \
        int: ndr_arg_int_, \
        unsigned: ndr_arg_uint_, \
        long: ndr_arg_long_, \
        unsigned long: ndr_arg_ulong_, \
        long long: ndr_arg_llong_, \
        unsigned long long: ndr_arg_ullong_)(x)

/** A struct by value: `ndr_struct(struct pair, p)`, the type spelt as the kernel spells it. */
#define ndr_struct(type, value) ndr_arg_struct_((type[1]){ value }, sizeof(type), #type)

#define NDR_DTYPE_OF_(type)                  \
    _Generic((type *)0,                      \
        char *: NDR_DTYPE_I8,                \
        signed char *: NDR_DTYPE_I8,         \
        unsigned char *: NDR_DTYPE_U8,       \
        short *: NDR_DTYPE_I16,              \
        unsigned short *: NDR_DTYPE_U16,     \
        int *: NDR_DTYPE_I32,                \
        unsigned *: NDR_DTYPE_U32,           \
        long *: NDR_DTYPE_LONG_,             \
        unsigned long *: NDR_DTYPE_ULONG_,   \
        long long *: NDR_DTYPE_I64,          \
        unsigned long long *: NDR_DTYPE_U64, \
        float *: NDR_DTYPE_F32,              \
        double *: NDR_DTYPE_F64,             \
        default: NDR_DTYPE_NONE)

static inline ndr_nd_range ndr_nd_range_same_(ndr_nd_range range) { return range; }
static inline ndr_nd_range ndr_nd_range_from_range_(ndr_range range)
{
    return ndr_nd_range_of(range, (ndr_range){ 0, { 0, 0, 0 } });
}

/** Enqueue a kernel: `ndr_launch(queue, kernel, ndr_range_1d(n), x, 2.0f)`. */
#define ndr_launch(queue, kernel, ...) ndr_launch_event(queue, kernel, NULL, __VA_ARGS__)

/** The same, with an event: `ndr_launch_event(queue, kernel, &event, range, args...)`. */
#define ndr_launch_event(queue, kernel, event, ...)                                                       \
    ndr_launch_v((queue), (kernel), (const ndr_nd_range[]){ NDR_RANGE_OF_(NDR_FIRST_(__VA_ARGS__, 0)) },  \
                 (const ndr_arg[]){ { NDR_ARG_NONE, NDR_DTYPE_NONE, 0, { 0 }, 0 } NDR_REST_(__VA_ARGS__) } + 1, \
                 NDR_COUNT_(__VA_ARGS__) - 1, (event))

#define NDR_RANGE_OF_(range) \
    _Generic((range), ndr_range: ndr_nd_range_from_range_, ndr_nd_range: ndr_nd_range_same_)(range)

#define NDR_FIRST_(first, ...) first

/* ", ndr_arg_of(a), ndr_arg_of(b)" of everything behind the range. */
#define NDR_REST_(...) NDR_PASTE_(NDR_REST_, NDR_COUNT_(__VA_ARGS__))(__VA_ARGS__)
#define NDR_PASTE_(a, b) NDR_PASTE2_(a, b)
#define NDR_PASTE2_(a, b) a##b
#define NDR_REST_1(r)
#define NDR_REST_2(r, a) , ndr_arg_of(a)
#define NDR_REST_3(r, a, ...) , ndr_arg_of(a) NDR_REST_2(r, __VA_ARGS__)
#define NDR_REST_4(r, a, ...) , ndr_arg_of(a) NDR_REST_3(r, __VA_ARGS__)
#define NDR_REST_5(r, a, ...) , ndr_arg_of(a) NDR_REST_4(r, __VA_ARGS__)
#define NDR_REST_6(r, a, ...) , ndr_arg_of(a) NDR_REST_5(r, __VA_ARGS__)
#define NDR_REST_7(r, a, ...) , ndr_arg_of(a) NDR_REST_6(r, __VA_ARGS__)
#define NDR_REST_8(r, a, ...) , ndr_arg_of(a) NDR_REST_7(r, __VA_ARGS__)
#define NDR_REST_9(r, a, ...) , ndr_arg_of(a) NDR_REST_8(r, __VA_ARGS__)
#define NDR_REST_10(r, a, ...) , ndr_arg_of(a) NDR_REST_9(r, __VA_ARGS__)
#define NDR_REST_11(r, a, ...) , ndr_arg_of(a) NDR_REST_10(r, __VA_ARGS__)
#define NDR_REST_12(r, a, ...) , ndr_arg_of(a) NDR_REST_11(r, __VA_ARGS__)
#define NDR_REST_13(r, a, ...) , ndr_arg_of(a) NDR_REST_12(r, __VA_ARGS__)
#define NDR_REST_14(r, a, ...) , ndr_arg_of(a) NDR_REST_13(r, __VA_ARGS__)
#define NDR_REST_15(r, a, ...) , ndr_arg_of(a) NDR_REST_14(r, __VA_ARGS__)
#define NDR_REST_16(r, a, ...) , ndr_arg_of(a) NDR_REST_15(r, __VA_ARGS__)
#define NDR_REST_17(r, a, ...) , ndr_arg_of(a) NDR_REST_16(r, __VA_ARGS__)
#define NDR_REST_18(r, a, ...) , ndr_arg_of(a) NDR_REST_17(r, __VA_ARGS__)
#define NDR_REST_19(r, a, ...) , ndr_arg_of(a) NDR_REST_18(r, __VA_ARGS__)
#define NDR_REST_20(r, a, ...) , ndr_arg_of(a) NDR_REST_19(r, __VA_ARGS__)
#define NDR_REST_21(r, a, ...) , ndr_arg_of(a) NDR_REST_20(r, __VA_ARGS__)
#define NDR_REST_22(r, a, ...) , ndr_arg_of(a) NDR_REST_21(r, __VA_ARGS__)
#define NDR_REST_23(r, a, ...) , ndr_arg_of(a) NDR_REST_22(r, __VA_ARGS__)
#define NDR_REST_24(r, a, ...) , ndr_arg_of(a) NDR_REST_23(r, __VA_ARGS__)
#define NDR_REST_25(r, a, ...) , ndr_arg_of(a) NDR_REST_24(r, __VA_ARGS__)
#define NDR_REST_26(r, a, ...) , ndr_arg_of(a) NDR_REST_25(r, __VA_ARGS__)
#define NDR_REST_27(r, a, ...) , ndr_arg_of(a) NDR_REST_26(r, __VA_ARGS__)
#define NDR_REST_28(r, a, ...) , ndr_arg_of(a) NDR_REST_27(r, __VA_ARGS__)
#define NDR_REST_29(r, a, ...) , ndr_arg_of(a) NDR_REST_28(r, __VA_ARGS__)
#define NDR_REST_30(r, a, ...) , ndr_arg_of(a) NDR_REST_29(r, __VA_ARGS__)
#define NDR_REST_31(r, a, ...) , ndr_arg_of(a) NDR_REST_30(r, __VA_ARGS__)
#define NDR_REST_32(r, a, ...) , ndr_arg_of(a) NDR_REST_31(r, __VA_ARGS__)
#define NDR_REST_33(r, a, ...) , ndr_arg_of(a) NDR_REST_32(r, __VA_ARGS__)
#define NDR_REST_99(...) , a_launch_takes_at_most_32_arguments

#else /* C++ */

inline ndr_arg ndr_arg_of(ndr_arg arg) { return arg; }
inline ndr_arg ndr_arg_of(ndr_buffer *buffer) { return ndr_arg_buffer_(buffer); }
inline ndr_arg ndr_arg_of(float value) { return ndr_arg_f32_(value); }
inline ndr_arg ndr_arg_of(double value) { return ndr_arg_f64_(value); }
inline ndr_arg ndr_arg_of(bool value) { return ndr_arg_bool_(value); }
inline ndr_arg ndr_arg_of(char value) { return ndr_arg_char_(value); }
inline ndr_arg ndr_arg_of(signed char value) { return ndr_arg_schar_(value); }
inline ndr_arg ndr_arg_of(unsigned char value) { return ndr_arg_uchar_(value); }
inline ndr_arg ndr_arg_of(short value) { return ndr_arg_short_(value); }
inline ndr_arg ndr_arg_of(unsigned short value) { return ndr_arg_ushort_(value); }
inline ndr_arg ndr_arg_of(int value) { return ndr_arg_int_(value); }
inline ndr_arg ndr_arg_of(unsigned value) { return ndr_arg_uint_(value); }
inline ndr_arg ndr_arg_of(long value) { return ndr_arg_long_(value); }
inline ndr_arg ndr_arg_of(unsigned long value) { return ndr_arg_ulong_(value); }
inline ndr_arg ndr_arg_of(long long value) { return ndr_arg_llong_(value); }
inline ndr_arg ndr_arg_of(unsigned long long value) { return ndr_arg_ullong_(value); }
template <class T> ndr_arg ndr_arg_of(T *) = delete; /* a host pointer is no argument; without this, true */

#define ndr_struct(type, value) ndr_arg_struct_(&static_cast<const type &>(value), sizeof(type), #type)

constexpr ndr_dtype ndr_dtype_of_(const volatile void *) { return NDR_DTYPE_NONE; }
constexpr ndr_dtype ndr_dtype_of_(char *) { return NDR_DTYPE_I8; }
constexpr ndr_dtype ndr_dtype_of_(signed char *) { return NDR_DTYPE_I8; }
constexpr ndr_dtype ndr_dtype_of_(unsigned char *) { return NDR_DTYPE_U8; }
constexpr ndr_dtype ndr_dtype_of_(short *) { return NDR_DTYPE_I16; }
constexpr ndr_dtype ndr_dtype_of_(unsigned short *) { return NDR_DTYPE_U16; }
constexpr ndr_dtype ndr_dtype_of_(int *) { return NDR_DTYPE_I32; }
constexpr ndr_dtype ndr_dtype_of_(unsigned *) { return NDR_DTYPE_U32; }
constexpr ndr_dtype ndr_dtype_of_(long *) { return NDR_DTYPE_LONG_; }
constexpr ndr_dtype ndr_dtype_of_(unsigned long *) { return NDR_DTYPE_ULONG_; }
constexpr ndr_dtype ndr_dtype_of_(long long *) { return NDR_DTYPE_I64; }
constexpr ndr_dtype ndr_dtype_of_(unsigned long long *) { return NDR_DTYPE_U64; }
constexpr ndr_dtype ndr_dtype_of_(float *) { return NDR_DTYPE_F32; }
constexpr ndr_dtype ndr_dtype_of_(double *) { return NDR_DTYPE_F64; }
#define NDR_DTYPE_OF_(type) ndr_dtype_of_(static_cast<type *>(nullptr))

inline ndr_nd_range ndr_nd_range_of_(const ndr_nd_range &range) { return range; }
inline ndr_nd_range ndr_nd_range_of_(const ndr_range &range)
{
    return ndr_nd_range_of(range, ndr_range());
}

template <class Range, class... Args>
ndr_status ndr_launch_event(ndr_queue *queue, ndr_kernel *kernel, ndr_event **event, const Range &range,
                            const Args &...args)
{
    const ndr_nd_range whole = ndr_nd_range_of_(range);
    const ndr_arg list[] = { ndr_arg(), ndr_arg_of(args)... };
    return ndr_launch_v(queue, kernel, &whole, list + 1, sizeof...(args), event);
}

template <class Range, class... Args>
ndr_status ndr_launch(ndr_queue *queue, ndr_kernel *kernel, const Range &range, const Args &...args)
{
    return ndr_launch_event(queue, kernel, static_cast<ndr_event **>(nullptr), range, args...);
}

#endif

#endif
