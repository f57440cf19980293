/** @file ndr_args.h
 * The macros of ndr_launch(), ndr_prepare() and ndr_after(). ndr.h includes this file; do not include it yourself.
 *
 * Names that end in an underscore are not for callers. The overloads are _Generic in C and functions in C++.
 * A type without an overload (for example a host float *) does not compile in either. */
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

static inline ndr_arg ndr_arg_image_(ndr_image *image)
{
    ndr_arg arg = { NDR_ARG_IMAGE, NDR_DTYPE_NONE, 0, { 0 }, 0 };
    arg.as.image = image;
    return arg;
}

static inline ndr_arg ndr_arg_sampler_(ndr_sampler *sampler)
{
    ndr_arg arg = { NDR_ARG_SAMPLER, NDR_DTYPE_NONE, 0, { 0 }, 0 };
    arg.as.sampler = sampler;
    return arg;
}

static inline ndr_arg ndr_arg_shared_(ndr_shared *shared)
{
    ndr_arg arg = { NDR_ARG_SHARED, NDR_DTYPE_NONE, 0, { 0 }, 0 };
    arg.as.shared.allocation = shared;
    return arg;
}

/** An address in a shared allocation (ndr_shared.h), as an argument; NULL: its first byte. */
static inline ndr_arg ndr_shared_at(ndr_shared *shared, const void *pointer)
{
    ndr_arg arg = ndr_arg_shared_(shared);
    arg.as.shared.pointer = pointer;
    return arg;
}

/** Declare, after the last argument, that the kernel uses this allocation through pointers in memory (ndr_shared.h). */
static inline ndr_arg ndr_reaches(ndr_shared *shared)
{
    ndr_arg arg = ndr_arg_shared_(shared);
    arg.kind = NDR_ARG_REACHED;
    return arg;
}

/** The same for a buffer that the kernel uses by its address (ndr_buffer_get_address()). */
static inline ndr_arg ndr_reaches_buffer(ndr_buffer *buffer)
{
    ndr_arg arg = { NDR_ARG_REACHED_BUFFER, NDR_DTYPE_NONE, 0, { 0 }, 0 };
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

static inline ndr_arg ndr_arg_vector_(ndr_dtype dtype, const void *elements, size_t size_bytes)
{
    ndr_arg arg = { NDR_ARG_VECTOR, dtype, 0, { 0 }, 0 };
    arg.size_bytes = size_bytes;
    arg.as.value.bytes = elements;
    return arg;
}

/* An initial value that is not a number makes the argument NDR_ARG_NONE, which every launch refuses. */
static inline ndr_arg ndr_arg_reducer_(ndr_op op, ndr_arg initial, ndr_buffer *buffer, size_t element)
{
    const bool is_number = initial.kind >= NDR_ARG_SIGNED && initial.kind <= NDR_ARG_DOUBLE;
    ndr_arg arg = { is_number ? NDR_ARG_REDUCER : NDR_ARG_NONE, initial.dtype, 0, { 0 }, 0 };
    arg.as.reducer.buffer = buffer;
    arg.as.reducer.element = element;
    arg.as.reducer.initial = initial.as.u;
    arg.as.reducer.op = op;
    return arg;
}

/* A fourth extent makes the argument NDR_ARG_NONE, which every launch refuses. */
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

/* One function for each type. */
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

/** Local memory: `ndr_local(float, rows, cols)` is rows * cols floats for each group, for a `local float *`
 * parameter. A number's type is C's, such as uint32_t for uint; a struct has the same name as in the kernel. For a
 * vector write OpenCL's host type (CL/cl_platform.h): `ndr_local(cl_float4, n)` is n elements for a `local float4 *`.
 * `ndr_local(float[4], n)` is for a `local float (*)[4]`, or for a `local float *`, where it is flat. 1 to 3 extents;
 * the kernel indexes the memory flat or with ndr_at(). Contents are undefined at first. */
#define ndr_local(type, ...)                                                                             \
    ndr_arg_with_elements_(#type, ndr_arg_local_(NDR_DTYPE_OF_(type), sizeof(type), NDR_COUNT_(__VA_ARGS__), \
                                                 NDR_FIRST_THREE_(__VA_ARGS__, 1, 1, 1)))

/** Where the result of a reducer goes: `ndr_reducer(NDR_OP_SUM, 0.0f, results, 3)` stores 0.0f plus all values that the
 * kernel's indexes add in element 3 of the buffer `results`, counted in elements of the reducer's type. The element's
 * earlier value is not read. The operator must be the kernel's. `initial` must be a number that a parameter of the
 * reducer's type takes: 0.0f for float, 0.0 for double, 0 for integers; NaN is refused for a minimum and a maximum. Two
 * reducers of a launch must not have the same element, and the kernel must not access the element in another way. */
#define ndr_reducer(op, initial, buffer, element) ndr_arg_reducer_((op), ndr_arg_of(initial), (buffer), (element))

#define NDR_FIRST_THREE_(a, b, c, ...) (size_t)(a), (size_t)(b), (size_t)(c)

/* The number of arguments, up to 65; 99 for 66 to 193. The count stands after the arguments in a list, whose first 193
 * elements are dropped. */
#define NDR_COUNT_(...)                                        \
    NDR_PICK_(NDR_DROP_(NDR_DROP_(__VA_ARGS__, NDR_64_(99), NDR_64_(99), \
        65, 64, 63, 62, 61, 60, 59, 58, 57, 56, 55, 54, 53, 52, 51, 50, 49, 48, 47, 46, 45, 44, 43, 42, 41, 40, 39, \
        38, 37, 36, 35, 34, 33, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, \
        11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)))
#define NDR_64_(x) NDR_16_(x), NDR_16_(x), NDR_16_(x), NDR_16_(x)
#define NDR_16_(x) x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x
#define NDR_DROP_(...) NDR_DROP2_(__VA_ARGS__)
#define NDR_DROP2_(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, a21, \
        a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, a32, a33, a34, a35, a36, a37, a38, a39, a40, a41, a42, a43, \
        a44, a45, a46, a47, a48, a49, a50, a51, a52, a53, a54, a55, a56, a57, a58, a59, a60, a61, a62, a63, a64, ...) \
        __VA_ARGS__
#define NDR_PICK_(...) NDR_PICK2_(__VA_ARGS__)
#define NDR_PICK2_(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, a21, \
        a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, a32, a33, a34, a35, a36, a37, a38, a39, a40, a41, a42, a43, \
        a44, a45, a46, a47, a48, a49, a50, a51, a52, a53, a54, a55, a56, a57, a58, a59, a60, a61, a62, a63, a64, n, \
        ...) n

/* ---- the commands, which take a queue or ndr_after() ------------------------------------------------------------- */

#ifndef NDR_BUILDING
#define ndr_queue_mark(queue, ...) ndr_queue_mark(NDR_QUEUE_(queue), __VA_ARGS__)
#define ndr_queue_barrier(queue, ...) ndr_queue_barrier(NDR_QUEUE_(queue), __VA_ARGS__)
#define ndr_host_task(queue, ...) ndr_host_task(NDR_QUEUE_(queue), __VA_ARGS__)
#define ndr_buffer_write(queue, ...) ndr_buffer_write(NDR_QUEUE_(queue), __VA_ARGS__)
#define ndr_buffer_read(queue, ...) ndr_buffer_read(NDR_QUEUE_(queue), __VA_ARGS__)
#define ndr_buffer_fill(queue, ...) ndr_buffer_fill(NDR_QUEUE_(queue), __VA_ARGS__)
#define ndr_buffer_copy(queue, ...) ndr_buffer_copy(NDR_QUEUE_(queue), __VA_ARGS__)
#define ndr_buffer_transfer(queue, from, offset, to_queue, ...) \
    ndr_buffer_transfer(NDR_QUEUE_(queue), from, offset, NDR_QUEUE_(to_queue), __VA_ARGS__)
#define ndr_buffer_copy_rect(queue, ...) ndr_buffer_copy_rect(NDR_QUEUE_(queue), __VA_ARGS__)
#define ndr_buffer_write_rect(queue, ...) ndr_buffer_write_rect(NDR_QUEUE_(queue), __VA_ARGS__)
#define ndr_buffer_read_rect(queue, ...) ndr_buffer_read_rect(NDR_QUEUE_(queue), __VA_ARGS__)
#define ndr_buffer_map(queue, ...) ndr_buffer_map(NDR_QUEUE_(queue), __VA_ARGS__)
#define ndr_buffer_unmap(queue, ...) ndr_buffer_unmap(NDR_QUEUE_(queue), __VA_ARGS__)
#define ndr_launch_v(queue, ...) ndr_launch_v(NDR_QUEUE_(queue), __VA_ARGS__)
#define ndr_launch_desc_v(queue, ...) ndr_launch_desc_v(NDR_QUEUE_(queue), __VA_ARGS__)
#define ndr_prepared_run(queue, ...) ndr_prepared_run(NDR_QUEUE_(queue), __VA_ARGS__)
#define ndr_reduce(queue, ...) ndr_reduce(NDR_QUEUE_(queue), __VA_ARGS__)
#define ndr_matmul(queue, ...) ndr_matmul(NDR_QUEUE_(queue), __VA_ARGS__)
#endif

#ifndef __cplusplus

static inline ndr_queue_after ndr_queue_after_same_(ndr_queue_after after_) { return after_; }
static inline ndr_queue_after ndr_queue_after_none_(ndr_queue *queue_)
{
    const ndr_queue_after plain_ = { 0, queue_, NULL, 0 };
    return plain_;
}

static inline ndr_queue *ndr_queue_passed_(ndr_queue_after *after_)
{
    return after_->seal == NDR_AFTER_SEAL ? (ndr_queue *)(void *)after_ : after_->queue;
}

/* What a command gets as its queue. */
#define NDR_QUEUE_(queue)                                                                                   \
    ndr_queue_passed_((ndr_queue_after[1]){                                                                 \
        _Generic((queue), ndr_queue_after: ndr_queue_after_same_, default: ndr_queue_after_none_)(queue) })

/** A queue with the events that a command waits for: `ndr_launch(ndr_after(queue, a, b), ...)`. */
#define ndr_after(queue, ...)                                     \
    ndr_after_all((queue), ((ndr_event *const[]){ __VA_ARGS__ }), \
                  sizeof((ndr_event *const[]){ __VA_ARGS__ }) / sizeof(ndr_event *))

/** The same for an array of `count` events. */
#define ndr_after_all(queue, events, count) ((ndr_queue_after){ NDR_AFTER_SEAL, (queue), (events), (count) })

#endif

/* ---- types that are not arguments: the compiler's error contains a name that says what to write ------------------ */

struct _cl_mem; /* a cl_mem points to one */

#ifndef __cplusplus

#define NDR_NOT_TAKEN_(advice, result)           \
    struct advice {                              \
        int unused;                              \
    };                                           \
    result advice(struct advice unused)

NDR_NOT_TAKEN_(ndr_use_ndr_buffer_or_ndr_struct, ndr_arg);
NDR_NOT_TAKEN_(ndr_use_ndr_null_or_ndr_buffer, ndr_arg);
NDR_NOT_TAKEN_(ndr_use_ndr_buffer_from_cl, ndr_arg);
NDR_NOT_TAKEN_(ndr_use_ndr_range_1d_or_ndr_nd_range_1d, ndr_nd_range);

/* Each type of an integer in a _Generic(), with the function that makes an argument of it. */
#define NDR_INTEGERS_                    \
    _Bool: ndr_arg_bool_,                \
    char: ndr_arg_char_,                 \
    signed char: ndr_arg_schar_,         \
    unsigned char: ndr_arg_uchar_,       \
    short: ndr_arg_short_,               \
    unsigned short: ndr_arg_ushort_,     \
    int: ndr_arg_int_,                   \
    unsigned: ndr_arg_uint_,             \
    long: ndr_arg_long_,                 \
    unsigned long: ndr_arg_ulong_,       \
    long long: ndr_arg_llong_,           \
    unsigned long long: ndr_arg_ullong_

/** One argument: a buffer, an image, a sampler, a shared allocation, an integer, a float, a double, or an ndr_arg. */
#define ndr_arg_of(x)                     \
    _Generic((x),                         \
        ndr_arg: ndr_arg_same_,           \
        ndr_buffer *: ndr_arg_buffer_,    \
        ndr_image *: ndr_arg_image_,      \
        ndr_sampler *: ndr_arg_sampler_,  \
        ndr_shared *: ndr_arg_shared_,    \
        float: ndr_arg_f32_,              \
        double: ndr_arg_f64_,             \
        NDR_INTEGERS_,                    \
        void *: ndr_use_ndr_null_or_ndr_buffer, \
        struct _cl_mem *: ndr_use_ndr_buffer_from_cl, \
        default: ndr_use_ndr_buffer_or_ndr_struct)(x)

/** A struct by value: `ndr_struct(struct pair, p)` or `ndr_struct(struct pair, (struct pair){ 1, 2 })`; in C++ also
 * `ndr_struct(pair, 1, 2)`. Write the type as in the kernel. */
#define ndr_struct(type, ...) ndr_arg_struct_((type[1]){ __VA_ARGS__ }, sizeof(type), #type)

/** A vector by value: `ndr_vector(float, x, y, z, w)` for a float4. 2, 3, 4, 8 or 16 values of the host's type of one
 * element, such as float, int or unsigned char; they convert as in an initializer. */
#define ndr_vector(type, ...) \
    ndr_arg_vector_(NDR_DTYPE_OF_(type), (const type[]){ __VA_ARGS__ }, NDR_COUNT_(__VA_ARGS__) * sizeof(type))

/* Selected by a function type with this parameter, because (float[4] *) is not valid C. */
#define NDR_DTYPE_OF_(type)                           \
    _Generic((void (*)(type))0,                       \
        void (*)(char): NDR_DTYPE_I8,                 \
        void (*)(signed char): NDR_DTYPE_I8,          \
        void (*)(unsigned char): NDR_DTYPE_U8,        \
        void (*)(short): NDR_DTYPE_I16,               \
        void (*)(unsigned short): NDR_DTYPE_U16,      \
        void (*)(int): NDR_DTYPE_I32,                 \
        void (*)(unsigned): NDR_DTYPE_U32,            \
        void (*)(long): NDR_DTYPE_LONG_,              \
        void (*)(unsigned long): NDR_DTYPE_ULONG_,    \
        void (*)(long long): NDR_DTYPE_I64,           \
        void (*)(unsigned long long): NDR_DTYPE_U64,  \
        void (*)(float): NDR_DTYPE_F32,               \
        void (*)(double): NDR_DTYPE_F64,              \
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
    ndr_launch_v(queue, (kernel), (const ndr_nd_range[]){ NDR_RANGE_OF_(NDR_FIRST_(__VA_ARGS__, 0)) },  \
                 (const ndr_arg[]){ { NDR_ARG_NONE, NDR_DTYPE_NONE, 0, { 0 }, 0 } NDR_REST_(__VA_ARGS__) } + 1, \
                 NDR_COUNT_(__VA_ARGS__) - 1, (event))

/** Prepare a launch: `ndr_prepare(kernel, &prepared, ndr_range_1d(n), x, 2.0f)`. */
#define ndr_prepare(kernel, prepared, ...)                                                                \
    ndr_prepare_v((kernel), (const ndr_nd_range[]){ NDR_RANGE_OF_(NDR_FIRST_(__VA_ARGS__, 0)) },          \
                  (const ndr_arg[]){ { NDR_ARG_NONE, NDR_DTYPE_NONE, 0, { 0 }, 0 } NDR_REST_(__VA_ARGS__) } + 1, \
                  NDR_COUNT_(__VA_ARGS__) - 1, (prepared))

#define NDR_RANGE_OF_(range) \
    _Generic((range),                                                       \
        ndr_range: ndr_nd_range_from_range_,                                \
        ndr_nd_range: ndr_nd_range_same_,                                   \
        default: ndr_use_ndr_range_1d_or_ndr_nd_range_1d)(range)

#define NDR_FIRST_(first, ...) first

/* ", ndr_arg_of(a), ndr_arg_of(b)" for the arguments after the range. */
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
#define NDR_REST_34(r, a, ...) , ndr_arg_of(a) NDR_REST_33(r, __VA_ARGS__)
#define NDR_REST_35(r, a, ...) , ndr_arg_of(a) NDR_REST_34(r, __VA_ARGS__)
#define NDR_REST_36(r, a, ...) , ndr_arg_of(a) NDR_REST_35(r, __VA_ARGS__)
#define NDR_REST_37(r, a, ...) , ndr_arg_of(a) NDR_REST_36(r, __VA_ARGS__)
#define NDR_REST_38(r, a, ...) , ndr_arg_of(a) NDR_REST_37(r, __VA_ARGS__)
#define NDR_REST_39(r, a, ...) , ndr_arg_of(a) NDR_REST_38(r, __VA_ARGS__)
#define NDR_REST_40(r, a, ...) , ndr_arg_of(a) NDR_REST_39(r, __VA_ARGS__)
#define NDR_REST_41(r, a, ...) , ndr_arg_of(a) NDR_REST_40(r, __VA_ARGS__)
#define NDR_REST_42(r, a, ...) , ndr_arg_of(a) NDR_REST_41(r, __VA_ARGS__)
#define NDR_REST_43(r, a, ...) , ndr_arg_of(a) NDR_REST_42(r, __VA_ARGS__)
#define NDR_REST_44(r, a, ...) , ndr_arg_of(a) NDR_REST_43(r, __VA_ARGS__)
#define NDR_REST_45(r, a, ...) , ndr_arg_of(a) NDR_REST_44(r, __VA_ARGS__)
#define NDR_REST_46(r, a, ...) , ndr_arg_of(a) NDR_REST_45(r, __VA_ARGS__)
#define NDR_REST_47(r, a, ...) , ndr_arg_of(a) NDR_REST_46(r, __VA_ARGS__)
#define NDR_REST_48(r, a, ...) , ndr_arg_of(a) NDR_REST_47(r, __VA_ARGS__)
#define NDR_REST_49(r, a, ...) , ndr_arg_of(a) NDR_REST_48(r, __VA_ARGS__)
#define NDR_REST_50(r, a, ...) , ndr_arg_of(a) NDR_REST_49(r, __VA_ARGS__)
#define NDR_REST_51(r, a, ...) , ndr_arg_of(a) NDR_REST_50(r, __VA_ARGS__)
#define NDR_REST_52(r, a, ...) , ndr_arg_of(a) NDR_REST_51(r, __VA_ARGS__)
#define NDR_REST_53(r, a, ...) , ndr_arg_of(a) NDR_REST_52(r, __VA_ARGS__)
#define NDR_REST_54(r, a, ...) , ndr_arg_of(a) NDR_REST_53(r, __VA_ARGS__)
#define NDR_REST_55(r, a, ...) , ndr_arg_of(a) NDR_REST_54(r, __VA_ARGS__)
#define NDR_REST_56(r, a, ...) , ndr_arg_of(a) NDR_REST_55(r, __VA_ARGS__)
#define NDR_REST_57(r, a, ...) , ndr_arg_of(a) NDR_REST_56(r, __VA_ARGS__)
#define NDR_REST_58(r, a, ...) , ndr_arg_of(a) NDR_REST_57(r, __VA_ARGS__)
#define NDR_REST_59(r, a, ...) , ndr_arg_of(a) NDR_REST_58(r, __VA_ARGS__)
#define NDR_REST_60(r, a, ...) , ndr_arg_of(a) NDR_REST_59(r, __VA_ARGS__)
#define NDR_REST_61(r, a, ...) , ndr_arg_of(a) NDR_REST_60(r, __VA_ARGS__)
#define NDR_REST_62(r, a, ...) , ndr_arg_of(a) NDR_REST_61(r, __VA_ARGS__)
#define NDR_REST_63(r, a, ...) , ndr_arg_of(a) NDR_REST_62(r, __VA_ARGS__)
#define NDR_REST_64(r, a, ...) , ndr_arg_of(a) NDR_REST_63(r, __VA_ARGS__)
#define NDR_REST_65(r, a, ...) , ndr_arg_of(a) NDR_REST_64(r, __VA_ARGS__)
#define NDR_REST_99(...) , ndr_launch_takes_at_most_64_arguments_use_ndr_launch_v

#else /* C++ */

extern "C++" { /* needed if the header is included inside extern "C", which has neither overloads nor templates */

inline ndr_arg ndr_arg_of(ndr_arg arg) { return arg; }
inline ndr_arg ndr_arg_of(ndr_buffer *buffer) { return ndr_arg_buffer_(buffer); }
inline ndr_arg ndr_arg_of(ndr_image *image) { return ndr_arg_image_(image); }
inline ndr_arg ndr_arg_of(ndr_sampler *sampler) { return ndr_arg_sampler_(sampler); }
inline ndr_arg ndr_arg_of(ndr_shared *shared) { return ndr_arg_shared_(shared); }
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

struct ndr_use_ndr_buffer_or_ndr_struct;
struct ndr_use_ndr_null_or_ndr_buffer;
struct ndr_use_ndr_buffer_from_cl;
template <class T> ndr_use_ndr_buffer_or_ndr_struct ndr_arg_of(T *);
ndr_use_ndr_buffer_or_ndr_struct ndr_arg_of(...);
ndr_use_ndr_null_or_ndr_buffer ndr_arg_of(void *);
ndr_use_ndr_null_or_ndr_buffer ndr_arg_of(decltype(nullptr));
ndr_use_ndr_buffer_from_cl ndr_arg_of(_cl_mem *);

/* `{ value }` binds to the value itself; members in braces make a value that lives until the end of the statement. */
template <class T> ndr_arg ndr_arg_object_(const T &value, const char *type_name)
{
    return ndr_arg_struct_(&value, sizeof value, type_name);
}
#define ndr_struct(type, ...) ndr_arg_object_<type>({ __VA_ARGS__ }, #type)

template <class T> struct ndr_type_ {};
template <class T> constexpr ndr_dtype ndr_dtype_of_(ndr_type_<T>) { return NDR_DTYPE_NONE; }
constexpr ndr_dtype ndr_dtype_of_(ndr_type_<char>) { return NDR_DTYPE_I8; }
constexpr ndr_dtype ndr_dtype_of_(ndr_type_<signed char>) { return NDR_DTYPE_I8; }
constexpr ndr_dtype ndr_dtype_of_(ndr_type_<unsigned char>) { return NDR_DTYPE_U8; }
constexpr ndr_dtype ndr_dtype_of_(ndr_type_<short>) { return NDR_DTYPE_I16; }
constexpr ndr_dtype ndr_dtype_of_(ndr_type_<unsigned short>) { return NDR_DTYPE_U16; }
constexpr ndr_dtype ndr_dtype_of_(ndr_type_<int>) { return NDR_DTYPE_I32; }
constexpr ndr_dtype ndr_dtype_of_(ndr_type_<unsigned>) { return NDR_DTYPE_U32; }
constexpr ndr_dtype ndr_dtype_of_(ndr_type_<long>) { return NDR_DTYPE_LONG_; }
constexpr ndr_dtype ndr_dtype_of_(ndr_type_<unsigned long>) { return NDR_DTYPE_ULONG_; }
constexpr ndr_dtype ndr_dtype_of_(ndr_type_<long long>) { return NDR_DTYPE_I64; }
constexpr ndr_dtype ndr_dtype_of_(ndr_type_<unsigned long long>) { return NDR_DTYPE_U64; }
constexpr ndr_dtype ndr_dtype_of_(ndr_type_<float>) { return NDR_DTYPE_F32; }
constexpr ndr_dtype ndr_dtype_of_(ndr_type_<double>) { return NDR_DTYPE_F64; }
#define NDR_DTYPE_OF_(type) ndr_dtype_of_(ndr_type_<type>())

/* Lives until the end of the launch's statement. A constant must fit the type, as in any C++ initializer. */
template <class T> struct ndr_elements_ {
    T of[16];
};
template <class T> ndr_arg ndr_arg_elements_(const ndr_elements_<T> &elements, int count)
{
    return ndr_arg_vector_(NDR_DTYPE_OF_(T), elements.of, static_cast<size_t>(count) * sizeof(T));
}
#define ndr_vector(type, ...) ndr_arg_elements_(ndr_elements_<type>{ { __VA_ARGS__ } }, NDR_COUNT_(__VA_ARGS__))

inline ndr_nd_range ndr_nd_range_of_(const ndr_nd_range &range) { return range; }
inline ndr_nd_range ndr_nd_range_of_(const ndr_range &range)
{
    return ndr_nd_range_of(range, ndr_range());
}

struct ndr_use_ndr_range_1d_or_ndr_nd_range_1d;
ndr_use_ndr_range_1d_or_ndr_nd_range_1d ndr_nd_range_of_(...);

inline ndr_queue_after ndr_after_all(ndr_queue *queue, ndr_event *const *events, size_t count)
{
    return { NDR_AFTER_SEAL, queue, events, count };
}

/* The array lives until the end of the expression. */
template <size_t Count> ndr_queue_after ndr_after_(ndr_queue *queue, ndr_event *const (&events)[Count])
{
    return ndr_after_all(queue, events, Count);
}
#define ndr_after(queue, ...) ndr_after_((queue), { __VA_ARGS__ })

inline ndr_queue *ndr_queue_passed_(ndr_queue *queue) { return queue; }
inline ndr_queue *ndr_queue_passed_(const ndr_queue_after &after)
{
    return reinterpret_cast<ndr_queue *>(const_cast<ndr_queue_after *>(&after));
}

/* What a command gets as its queue. */
#define NDR_QUEUE_(queue) ndr_queue_passed_(queue)

template <class Range, class... Args>
ndr_status ndr_launch_event_(ndr_queue *queue, ndr_kernel *kernel, ndr_event **event, const Range &range,
                             const Args &...args)
{
    const ndr_nd_range whole = ndr_nd_range_of_(range);
    const ndr_arg list[] = { ndr_arg(), ndr_arg_of(args)... };
    return ndr_launch_v(queue, kernel, &whole, list + 1, sizeof...(args), event);
}

#define ndr_launch_event(queue, ...) ndr_launch_event_(NDR_QUEUE_(queue), __VA_ARGS__)
#define ndr_launch(queue, kernel, ...) \
    ndr_launch_event_(NDR_QUEUE_(queue), (kernel), static_cast<ndr_event **>(nullptr), __VA_ARGS__)

template <class Range, class... Args>
ndr_status ndr_prepare(ndr_kernel *kernel, ndr_prepared **prepared, const Range &range, const Args &...args)
{
    const ndr_nd_range whole = ndr_nd_range_of_(range);
    const ndr_arg list[] = { ndr_arg(), ndr_arg_of(args)... };
    return ndr_prepare_v(kernel, &whole, list + 1, sizeof...(args), prepared);
}

} /* extern "C++" */

#endif

#endif
