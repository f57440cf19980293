/** @file ndr_bind.h
 * What the headers of `ndr bind` and ndr_add_kernels() use: the types of their functions' parameters. docs/typed.md
 * shows them. Such a header includes this file; do not include it yourself.
 *
 * In C a function of a generated header is a macro, too, which refuses an argument of another type by an error whose
 * name tells the parameter: `axpy_parameter_a_takes_a_float`. In C++ the types below refuse it. Names that end in an
 * underscore are not for callers. */
#ifndef NDR_NDR_BIND_H
#define NDR_NDR_BIND_H

#include "ndr/ndr.h"
#include "ndr/ndr_image.h"
#include "ndr/ndr_shared.h"

#ifndef __cplusplus

typedef ndr_queue *ndr_any_queue;   /**< A queue, or ndr_after(). */
typedef ndr_nd_range ndr_any_range; /**< An ndr_range or an ndr_nd_range. */
typedef ndr_arg ndr_memory;         /**< An ndr_buffer *, an ndr_shared *, ndr_null or ndr_shared_at(). */
typedef ndr_arg ndr_integer;        /**< Any integer. The launch refuses a value that the kernel's type cannot hold. */
typedef float ndr_f32;              /**< A float. */
typedef double ndr_f64;             /**< A double or a float. */
typedef ndr_arg ndr_any_arg;        /**< Whatever ndr_launch() takes; the launch checks it. */

#define NDR_AS_(x) (x)

#else

extern "C++" { /* needed if the header is included inside extern "C" */

struct ndr_any_queue {
    ndr_queue *as;
    template <class Queue> ndr_any_queue(const Queue &queue_) : as(NDR_QUEUE_(queue_)) {}
};

struct ndr_any_range {
    ndr_nd_range as;
    ndr_any_range(const ndr_range &range_) : as(ndr_nd_range_of_(range_)) {}
    ndr_any_range(const ndr_nd_range &range_) : as(range_) {}
};

struct ndr_memory {
    ndr_arg as;
    ndr_memory(ndr_buffer *buffer_) : as(ndr_arg_of(buffer_)) {}
    ndr_memory(ndr_shared *shared_) : as(ndr_arg_of(shared_)) {}
    ndr_memory(const ndr_arg &arg_) : as(arg_) {}
};

#define NDR_INTEGER_FROM_(type) \
    ndr_integer(type value_) : as(ndr_arg_of(value_)) {}
struct ndr_integer {
    ndr_arg as;
    NDR_INTEGER_FROM_(bool)
    NDR_INTEGER_FROM_(char)
    NDR_INTEGER_FROM_(signed char)
    NDR_INTEGER_FROM_(unsigned char)
    NDR_INTEGER_FROM_(short)
    NDR_INTEGER_FROM_(unsigned short)
    NDR_INTEGER_FROM_(int)
    NDR_INTEGER_FROM_(unsigned)
    NDR_INTEGER_FROM_(long)
    NDR_INTEGER_FROM_(unsigned long)
    NDR_INTEGER_FROM_(long long)
    NDR_INTEGER_FROM_(unsigned long long)
    ndr_integer(float) = delete;
    ndr_integer(double) = delete;
    template <class Other> ndr_integer(Other *) = delete; /* would be a bool */
};
#undef NDR_INTEGER_FROM_

struct ndr_f32 {
    float as;
    ndr_f32(float value_) : as(value_) {}
    template <class Other> ndr_f32(Other) = delete;
};

struct ndr_f64 {
    double as;
    ndr_f64(double value_) : as(value_) {}
    ndr_f64(float value_) : as(static_cast<double>(value_)) {}
    template <class Other> ndr_f64(Other) = delete;
};

struct ndr_any_arg {
    ndr_arg as;
    template <class Value> ndr_any_arg(const Value &value_) : as(ndr_arg_of(value_)) {}
};

} /* extern "C++" */

#define NDR_AS_(x) (x).as

#endif

/* ---- what a generated function does --------------------------------------------------------------- */

/* Marks a generated function. */
#define NDR_TYPED_ static inline __attribute__((warn_unused_result))

static inline ndr_kernel_desc ndr_typed_desc_(const char *name_, const char *source_, const char *source_key_,
                                              const char *label_, const char *options_)
{
#ifdef __cplusplus
    ndr_kernel_desc desc_ = ndr_kernel_desc();
#else
    ndr_kernel_desc desc_ = { 0 };
#endif
    desc_.name = name_;
    desc_.source = source_;
    desc_.source_key = source_key_;
    desc_.label = label_;
    desc_.options = options_;
    return desc_;
}

NDR_TYPED_ ndr_status ndr_typed_launch_(ndr_queue *queue_, const ndr_kernel_desc desc_, const ndr_nd_range range_,
                                        const ndr_arg *args_, size_t arg_count_, ndr_event **event_)
{
    return (ndr_launch_desc_v)(queue_, &desc_, &range_, args_, arg_count_, event_);
}

NDR_TYPED_ ndr_status ndr_typed_prepare_(ndr_context *context_, const ndr_kernel_desc desc_, const ndr_nd_range range_,
                                         const ndr_arg *args_, size_t arg_count_, ndr_prepared **prepared_)
{
    ndr_kernel *kernel_;
    const ndr_status status_ = ndr_kernel_get(context_, &desc_, &kernel_);
    return status_ == NDR_OK ? ndr_prepare_v(kernel_, &range_, args_, arg_count_, prepared_) : status_;
}

/* Local memory for `count_` elements. A negative count becomes one that is too large, which the launch refuses. */
static inline ndr_arg ndr_typed_local_(const char *type_name_, size_t element_bytes_, const ndr_arg count_)
{
    return ndr_arg_with_elements_(type_name_,
                                  ndr_arg_local_(NDR_DTYPE_NONE, element_bytes_, 1, (size_t)count_.as.u, 1, 1));
}

/* ---- arguments of a macro ------------------------------------------------------------------------- */

#ifndef __cplusplus

static inline float ndr_same_f32_(float value_) { return value_; }
static inline double ndr_same_f64_(double value_) { return value_; }
static inline double ndr_widened_f64_(float value_) { return (double)value_; }
static inline ndr_image *ndr_same_image_(ndr_image *image_) { return image_; }
static inline ndr_sampler *ndr_same_sampler_(ndr_sampler *sampler_) { return sampler_; }
static inline const void *ndr_same_elements_(const void *elements_) { return elements_; }

/* The value, or the error `advice`, a function that NDR_NOT_TAKEN_() declares. */
#define NDR_TAKE_RANGE_(x, advice) \
    _Generic((x), ndr_range: ndr_nd_range_from_range_, ndr_nd_range: ndr_nd_range_same_, default: advice)(x)
#define NDR_TAKE_GROUPS_(x, advice) _Generic((x), ndr_nd_range: ndr_nd_range_same_, default: advice)(x)
#define NDR_TAKE_F32_(x, advice) _Generic((x), float: ndr_same_f32_, default: advice)(x)
#define NDR_TAKE_F64_(x, advice) _Generic((x), float: ndr_widened_f64_, double: ndr_same_f64_, default: advice)(x)
#define NDR_TAKE_IMAGE_(x, advice) _Generic((x), ndr_image *: ndr_same_image_, default: advice)(x)
#define NDR_TAKE_SAMPLER_(x, advice) _Generic((x), ndr_sampler *: ndr_same_sampler_, default: advice)(x)
#define NDR_TAKE_ARG_(x, advice) _Generic((x), ndr_arg: ndr_arg_same_, default: advice)(x)
#define NDR_TAKE_ELEMENTS_(x, type, advice) \
    _Generic((x), type *: ndr_same_elements_, const type *: ndr_same_elements_, default: advice)(x)
#define NDR_TAKE_MEMORY_(x, advice)      \
    _Generic((x),                        \
        ndr_arg: ndr_arg_same_,          \
        ndr_buffer *: ndr_arg_buffer_,   \
        ndr_shared *: ndr_arg_shared_,   \
        default: advice)(x)
#define NDR_TAKE_INTEGER_(x, advice) _Generic((x), NDR_INTEGERS_, default: advice)(x)

#endif

#endif
