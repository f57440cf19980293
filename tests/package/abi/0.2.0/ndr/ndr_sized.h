/** @file ndr_sized.h
 * The functions whose structs may grow. ndr.h includes this file; do not include it yourself.
 *
 * The library exports each under its name with the suffix "_sized". There the size of the caller's struct follows the
 * struct's address. C programs call the short form, an inline function, which passes the size in the program's own
 * header. So a program that was compiled with fewer members runs with a later library: docs/abi.md. Bindings of other
 * languages call the exported functions. */
#ifndef NDR_NDR_SIZED_H
#define NDR_NDR_SIZED_H

#include "ndr/ndr.h"

#ifdef __cplusplus
extern "C" {
#endif

NDR_MUST_CHECK ndr_status ndr_trace_start_sized(const ndr_trace_desc *desc, size_t desc_bytes);
NDR_MUST_CHECK ndr_status ndr_device_list_sized(size_t capacity, ndr_device_info *devices, size_t device_bytes,
                                                size_t *count);
NDR_MUST_CHECK ndr_status ndr_context_create_with_sized(const ndr_context_desc *desc, size_t desc_bytes,
                                                        ndr_context **context);
NDR_MUST_CHECK ndr_status ndr_context_get_device_sized(const ndr_context *context, ndr_device_info *device,
                                                       size_t device_bytes);
NDR_MUST_CHECK ndr_status ndr_context_get_cache_sized(const ndr_context *context, ndr_cache_info *info,
                                                      size_t info_bytes);
NDR_MUST_CHECK ndr_status ndr_context_get_quirks_sized(const ndr_context *context, size_t capacity,
                                                       ndr_quirk_info *quirks, size_t quirk_bytes, size_t *count);
NDR_MUST_CHECK ndr_status ndr_queue_create_sized(ndr_context *context, const ndr_queue_desc *desc, size_t desc_bytes,
                                                 ndr_queue **queue);
NDR_MUST_CHECK ndr_status ndr_event_get_times_sized(ndr_event *event, ndr_event_times *times, size_t times_bytes);
NDR_MUST_CHECK ndr_status ndr_buffer_create_with_sized(ndr_context *context, const ndr_buffer_desc *desc,
                                                       size_t desc_bytes, ndr_buffer **buffer);
NDR_MUST_CHECK ndr_status ndr_kernel_get_sized(ndr_context *context, const ndr_kernel_desc *desc, size_t desc_bytes,
                                               ndr_kernel **kernel);
NDR_MUST_CHECK ndr_status ndr_kernel_get_all_sized(ndr_context *context, const ndr_kernel_desc *desc, size_t desc_bytes,
                                                   size_t capacity, ndr_kernel **kernels, size_t *count);
NDR_MUST_CHECK ndr_status ndr_kernel_get_info_sized(const ndr_kernel *kernel, ndr_kernel_info *info, size_t info_bytes);
NDR_MUST_CHECK ndr_status ndr_kernel_get_parameter_sized(const ndr_kernel *kernel, size_t index,
                                                         ndr_parameter_info *parameter, size_t parameter_bytes);
NDR_MUST_CHECK ndr_status ndr_kernel_get_sub_groups_sized(const ndr_kernel *kernel, const ndr_range *local,
                                                          ndr_sub_group_info *info, size_t info_bytes);
NDR_MUST_CHECK ndr_status ndr_launch_desc_v_sized(ndr_queue *queue, const ndr_kernel_desc *desc, size_t desc_bytes,
                                                  const ndr_nd_range *range, const ndr_arg *args, size_t arg_count,
                                                  ndr_event **event);
NDR_MUST_CHECK ndr_status ndr_reduce_sized(ndr_queue *queue, const ndr_reduce_desc *desc, size_t desc_bytes,
                                           ndr_event **event);
NDR_MUST_CHECK ndr_status ndr_matmul_sized(ndr_queue *queue, const ndr_matmul_desc *desc, size_t desc_bytes,
                                           ndr_event **event);
NDR_MUST_CHECK ndr_status ndr_reduce_explain_sized(ndr_context *context, const ndr_reduce_desc *desc, size_t desc_bytes,
                                                   size_t capacity, char *text, size_t *length);
NDR_MUST_CHECK ndr_status ndr_matmul_explain_sized(ndr_context *context, const ndr_matmul_desc *desc, size_t desc_bytes,
                                                   size_t capacity, char *text, size_t *length);
NDR_MUST_CHECK ndr_status ndr_tune_sized(ndr_context *context, const ndr_tune_desc *desc, size_t desc_bytes,
                                         ndr_tune_result *result, size_t result_bytes);

/* `bytes` are `bytes_count` sizes: of ndr_warm_desc, then of the structs that its members point to, in the order of the
 * members. */
NDR_MUST_CHECK ndr_status ndr_cache_warm_sized(ndr_context *context, const ndr_warm_desc *descs, size_t count,
                                               const size_t *bytes, size_t bytes_count, ndr_warm_callback *progress,
                                               void *user);

#ifndef NDR_BUILDING

static inline ndr_status ndr_trace_start(const ndr_trace_desc *desc_)
{
    return ndr_trace_start_sized(desc_, sizeof *desc_);
}

static inline ndr_status ndr_device_list(size_t capacity_, ndr_device_info *devices_, size_t *count_)
{
    return ndr_device_list_sized(capacity_, devices_, sizeof *devices_, count_);
}

static inline ndr_status ndr_context_create_with(const ndr_context_desc *desc_, ndr_context **context_)
{
    return ndr_context_create_with_sized(desc_, sizeof *desc_, context_);
}

static inline ndr_status ndr_context_get_device(const ndr_context *context_, ndr_device_info *device_)
{
    return ndr_context_get_device_sized(context_, device_, sizeof *device_);
}

static inline ndr_status ndr_context_get_cache(const ndr_context *context_, ndr_cache_info *info_)
{
    return ndr_context_get_cache_sized(context_, info_, sizeof *info_);
}

static inline ndr_status ndr_context_get_quirks(const ndr_context *context_, size_t capacity_, ndr_quirk_info *quirks_,
                                                size_t *count_)
{
    return ndr_context_get_quirks_sized(context_, capacity_, quirks_, sizeof *quirks_, count_);
}

static inline ndr_status ndr_queue_create(ndr_context *context_, const ndr_queue_desc *desc_, ndr_queue **queue_)
{
    return ndr_queue_create_sized(context_, desc_, sizeof *desc_, queue_);
}

static inline ndr_status ndr_event_get_times(ndr_event *event_, ndr_event_times *times_)
{
    return ndr_event_get_times_sized(event_, times_, sizeof *times_);
}

static inline ndr_status ndr_buffer_create_with(ndr_context *context_, const ndr_buffer_desc *desc_,
                                                ndr_buffer **buffer_)
{
    return ndr_buffer_create_with_sized(context_, desc_, sizeof *desc_, buffer_);
}

static inline ndr_status ndr_kernel_get(ndr_context *context_, const ndr_kernel_desc *desc_, ndr_kernel **kernel_)
{
    return ndr_kernel_get_sized(context_, desc_, sizeof *desc_, kernel_);
}

static inline ndr_status ndr_kernel_get_all(ndr_context *context_, const ndr_kernel_desc *desc_, size_t capacity_,
                                            ndr_kernel **kernels_, size_t *count_)
{
    return ndr_kernel_get_all_sized(context_, desc_, sizeof *desc_, capacity_, kernels_, count_);
}

static inline ndr_status ndr_kernel_get_info(const ndr_kernel *kernel_, ndr_kernel_info *info_)
{
    return ndr_kernel_get_info_sized(kernel_, info_, sizeof *info_);
}

static inline ndr_status ndr_kernel_get_parameter(const ndr_kernel *kernel_, size_t index_,
                                                  ndr_parameter_info *parameter_)
{
    return ndr_kernel_get_parameter_sized(kernel_, index_, parameter_, sizeof *parameter_);
}

static inline ndr_status ndr_kernel_get_sub_groups(const ndr_kernel *kernel_, const ndr_range *local_,
                                                   ndr_sub_group_info *info_)
{
    return ndr_kernel_get_sub_groups_sized(kernel_, local_, info_, sizeof *info_);
}

/* The names are in parentheses, because macros have the same names. */
static inline ndr_status (ndr_launch_desc_v)(ndr_queue *queue_, const ndr_kernel_desc *desc_,
                                             const ndr_nd_range *range_, const ndr_arg *args_, size_t arg_count_,
                                             ndr_event **event_)
{
    return ndr_launch_desc_v_sized(queue_, desc_, sizeof *desc_, range_, args_, arg_count_, event_);
}

static inline ndr_status (ndr_reduce)(ndr_queue *queue_, const ndr_reduce_desc *desc_, ndr_event **event_)
{
    return ndr_reduce_sized(queue_, desc_, sizeof *desc_, event_);
}

static inline ndr_status (ndr_matmul)(ndr_queue *queue_, const ndr_matmul_desc *desc_, ndr_event **event_)
{
    return ndr_matmul_sized(queue_, desc_, sizeof *desc_, event_);
}

static inline ndr_status ndr_reduce_explain(ndr_context *context_, const ndr_reduce_desc *desc_, size_t capacity_,
                                            char *text_, size_t *length_)
{
    return ndr_reduce_explain_sized(context_, desc_, sizeof *desc_, capacity_, text_, length_);
}

static inline ndr_status ndr_matmul_explain(ndr_context *context_, const ndr_matmul_desc *desc_, size_t capacity_,
                                            char *text_, size_t *length_)
{
    return ndr_matmul_explain_sized(context_, desc_, sizeof *desc_, capacity_, text_, length_);
}

static inline ndr_status ndr_tune(ndr_context *context_, const ndr_tune_desc *desc_, ndr_tune_result *result_)
{
    return ndr_tune_sized(context_, desc_, sizeof *desc_, result_, sizeof *result_);
}

static inline ndr_status ndr_cache_warm(ndr_context *context_, const ndr_warm_desc *descs_, size_t count_,
                                        ndr_warm_callback *progress_, void *user_)
{
    const size_t bytes_[] = { sizeof *descs_, sizeof *descs_->kernel, sizeof *descs_->reduce, sizeof *descs_->matmul };
    return ndr_cache_warm_sized(context_, descs_, count_, bytes_, sizeof bytes_ / sizeof bytes_[0], progress_, user_);
}

#endif

#ifdef __cplusplus
}
#endif

#endif
