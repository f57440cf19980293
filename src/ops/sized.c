/* sized.c - the exported forms of the functions whose structs may grow. The caller's header may be older or newer than
 * the library: each passes the size that its struct has there. */
#include "launch/launch.h"
#include "ndr/ndr_group.h"
#include "ndr/ndr_ops.h"
#include "ndr/ndr_outline.h"
#include "ndr/ndr_shared.h"

#include <stdlib.h>
#include <string.h>

/* Make `whole`, the descriptor as this version has it. Members that the caller's header lacks are zero; of those that
 * this version lacks none may be set. */
static ndr_status read_desc(const char *call, const void *desc, size_t desc_bytes, void *whole, size_t whole_bytes)
{
    memset(whole, 0, whole_bytes);
    if (!desc) return NDR_OK;
    const unsigned char *given = desc;
    memcpy(whole, given, ndr_min_size(desc_bytes, whole_bytes));
    for (size_t i = whole_bytes; i < desc_bytes; ++i)
        NDR_REQUIRE_AS(NDR_UNSUPPORTED, given[i] == 0,
                       "%s: the descriptor sets a member at byte %zu, but libndr %s knows only its first %zu bytes; "
                       "use the version that the program was compiled with, or a later one",
                       call, i, NDR_VERSION_STRING, whole_bytes);
    return NDR_OK;
}

/* ---- functions of one shape ---- */

/* ROW(function, first parameter, descriptor, what it makes) */
#define MAKERS(ROW)                                                       \
    ROW(ndr_queue_create, ndr_context, ndr_queue_desc, ndr_queue)         \
    ROW(ndr_buffer_create_with, ndr_context, ndr_buffer_desc, ndr_buffer) \
    ROW(ndr_image_create, ndr_context, ndr_image_desc, ndr_image)         \
    ROW(ndr_sampler_create, ndr_context, ndr_sampler_desc, ndr_sampler)   \
    ROW(ndr_kernel_get, ndr_context, ndr_kernel_desc, ndr_kernel)         \
    ROW(ndr_reduce, ndr_queue, ndr_reduce_desc, ndr_event)                \
    ROW(ndr_matmul, ndr_queue, ndr_matmul_desc, ndr_event)                \
    ROW(ndr_array_copy, ndr_queue, ndr_array_copy_desc, ndr_event) \
    ROW(ndr_gather, ndr_queue, ndr_gather_desc, ndr_event) \
    ROW(ndr_scatter, ndr_queue, ndr_scatter_desc, ndr_event) \
    ROW(ndr_histogram, ndr_queue, ndr_histogram_desc, ndr_event) \
    ROW(ndr_random, ndr_queue, ndr_random_desc, ndr_event) \
    ROW(ndr_scan, ndr_queue, ndr_scan_desc, ndr_event) \
    ROW(ndr_array_scan, ndr_queue, ndr_array_scan_desc, ndr_event) \
    ROW(ndr_select, ndr_queue, ndr_select_desc, ndr_event) \
    ROW(ndr_merge, ndr_queue, ndr_merge_desc, ndr_event) \
    ROW(ndr_merge_sort, ndr_queue, ndr_merge_sort_desc, ndr_event) \
    ROW(ndr_sort, ndr_queue, ndr_sort_desc, ndr_event) \
    ROW(ndr_top_k, ndr_queue, ndr_top_k_desc, ndr_event) \
    ROW(ndr_map, ndr_queue, ndr_map_desc, ndr_event)                      \
    ROW(ndr_map_reduce, ndr_queue, ndr_map_reduce_desc, ndr_event)

#define MAKE(function, from, type, object)                                                             \
    ndr_status function##_sized(from *first, const type *desc, size_t desc_bytes, object **made)       \
    {                                                                                                  \
        type whole;                                                                                    \
        NDR_TRY(read_desc(#function, desc, desc_bytes, &whole, sizeof whole));                         \
        return function(first, desc ? &whole : NULL, made);                                            \
    }
MAKERS(MAKE)

/* ROW(function, what it describes, the description) */
#define DESCRIBERS(ROW)                                                \
    ROW(ndr_context_get_device, const ndr_context, ndr_device_info)    \
    ROW(ndr_context_get_cache, const ndr_context, ndr_cache_info)      \
    ROW(ndr_kernel_get_info, const ndr_kernel, ndr_kernel_info)        \
    ROW(ndr_event_get_times, ndr_event, ndr_event_times)               \
    ROW(ndr_outline_get_info, const ndr_outline, ndr_outline_info)

#define DESCRIBE(function, object, type)                                               \
    ndr_status function##_sized(object *of, type *info, size_t info_bytes)             \
    {                                                                                  \
        type whole;                                                                    \
        NDR_TRY(function(of, info ? &whole : NULL));                                   \
        ndr_info_write(&whole, sizeof whole, info, info_bytes);                        \
        return NDR_OK;                                                                 \
    }
DESCRIBERS(DESCRIBE)

/* ROW(function, what it describes a part of, the description) */
#define PART_DESCRIBERS(ROW)                                                 \
    ROW(ndr_outline_get_kernel, const ndr_outline, ndr_outline_kernel)       \
    ROW(ndr_outline_get_constant, const ndr_outline, ndr_outline_constant)

#define DESCRIBE_PART(function, object, type)                                              \
    ndr_status function##_sized(object *of, size_t index, type *info, size_t info_bytes)   \
    {                                                                                      \
        type whole;                                                                        \
        NDR_TRY(function(of, index, info ? &whole : NULL));                                \
        ndr_info_write(&whole, sizeof whole, info, info_bytes);                            \
        return NDR_OK;                                                                     \
    }
PART_DESCRIBERS(DESCRIBE_PART)

/* ---- the others ---- */

ndr_status ndr_trace_start_sized(const ndr_trace_desc *desc, size_t desc_bytes)
{
    ndr_trace_desc whole;
    NDR_TRY(read_desc("ndr_trace_start", desc, desc_bytes, &whole, sizeof whole));
    return ndr_trace_start(desc ? &whole : NULL);
}

ndr_status ndr_context_create_with_sized(const ndr_context_desc *desc, size_t desc_bytes, ndr_context **context)
{
    ndr_context_desc whole;
    NDR_TRY(read_desc("ndr_context_create_with", desc, desc_bytes, &whole, sizeof whole));
    return ndr_context_create_with(desc ? &whole : NULL, context);
}

ndr_status ndr_kernel_get_all_sized(ndr_context *context, const ndr_kernel_desc *desc, size_t desc_bytes,
                                    size_t capacity, ndr_kernel **kernels, size_t *count)
{
    ndr_kernel_desc whole;
    NDR_TRY(read_desc("ndr_kernel_get_all", desc, desc_bytes, &whole, sizeof whole));
    return ndr_kernel_get_all(context, desc ? &whole : NULL, capacity, kernels, count);
}

ndr_status ndr_kernel_get_parameter_sized(const ndr_kernel *kernel, size_t index, ndr_parameter_info *parameter,
                                          size_t parameter_bytes)
{
    ndr_parameter_info whole;
    NDR_TRY(ndr_kernel_get_parameter(kernel, index, parameter ? &whole : NULL));
    ndr_info_write(&whole, sizeof whole, parameter, parameter_bytes);
    return NDR_OK;
}

ndr_status ndr_kernel_get_sub_groups_sized(const ndr_kernel *kernel, const ndr_range *local, ndr_sub_group_info *info,
                                           size_t info_bytes)
{
    ndr_sub_group_info whole;
    NDR_TRY(ndr_kernel_get_sub_groups(kernel, local, info ? &whole : NULL));
    ndr_info_write(&whole, sizeof whole, info, info_bytes);
    return NDR_OK;
}

/* ROW(function, descriptor) */
#define EXPLAINERS(ROW) \
    ROW(ndr_reduce_explain, ndr_reduce_desc) \
    ROW(ndr_array_copy_explain, ndr_array_copy_desc) \
    ROW(ndr_gather_explain, ndr_gather_desc) \
    ROW(ndr_scatter_explain, ndr_scatter_desc) \
    ROW(ndr_histogram_explain, ndr_histogram_desc) \
    ROW(ndr_matmul_explain, ndr_matmul_desc) \
    ROW(ndr_random_explain, ndr_random_desc) \
    ROW(ndr_scan_explain, ndr_scan_desc) \
    ROW(ndr_array_scan_explain, ndr_array_scan_desc) \
    ROW(ndr_select_explain, ndr_select_desc) \
    ROW(ndr_merge_explain, ndr_merge_desc) \
    ROW(ndr_merge_sort_explain, ndr_merge_sort_desc) \
    ROW(ndr_sort_explain, ndr_sort_desc) \
    ROW(ndr_top_k_explain, ndr_top_k_desc) \
    ROW(ndr_map_explain, ndr_map_desc) \
    ROW(ndr_map_reduce_explain, ndr_map_reduce_desc)

#define EXPLAIN(function, type)                                                                             \
    ndr_status function##_sized(ndr_context *context, const type *desc, size_t desc_bytes, size_t capacity, \
                                char *text, size_t *length)                                                 \
    {                                                                                                       \
        type whole;                                                                                         \
        NDR_TRY(read_desc(#function, desc, desc_bytes, &whole, sizeof whole));                              \
        return function(context, desc ? &whole : NULL, capacity, text, length);                             \
    }
EXPLAINERS(EXPLAIN)

/* ROW(function, descriptor) */
#define GROUP_CALLS(ROW) \
    ROW(ndr_group_matmul, ndr_group_matmul_desc) \
    ROW(ndr_group_reduce, ndr_group_reduce_desc) \
    ROW(ndr_group_map, ndr_group_map_desc) \
    ROW(ndr_group_scan, ndr_group_scan_desc)

#define CALL_GROUP(function, type)                                                      \
    ndr_status function##_sized(ndr_group *group, const type *desc, size_t desc_bytes) \
    {                                                                                   \
        type whole;                                                                     \
        NDR_TRY(read_desc(#function, desc, desc_bytes, &whole, sizeof whole));          \
        return function(group, desc ? &whole : NULL);                                   \
    }
GROUP_CALLS(CALL_GROUP)

ndr_status ndr_group_create_sized(const ndr_group_desc *desc, size_t desc_bytes, ndr_group **group)
{
    ndr_group_desc whole;
    NDR_TRY(read_desc("ndr_group_create", desc, desc_bytes, &whole, sizeof whole));
    return ndr_group_create(desc ? &whole : NULL, group);
}

ndr_status ndr_launch_desc_v_sized(ndr_queue *queue, const ndr_kernel_desc *desc, size_t desc_bytes,
                                   const ndr_nd_range *range, const ndr_arg *args, size_t arg_count, ndr_event **event)
{
    ndr_kernel_desc whole;
    NDR_TRY(read_desc("ndr_launch_desc_v", desc, desc_bytes, &whole, sizeof whole));
    return ndr_launch_desc_v(queue, desc ? &whole : NULL, range, args, arg_count, event);
}

ndr_status ndr_tune_sized(ndr_context *context, const ndr_tune_desc *desc, size_t desc_bytes, ndr_tune_result *result,
                          size_t result_bytes)
{
    ndr_tune_desc whole;
    NDR_TRY(read_desc("ndr_tune", desc, desc_bytes, &whole, sizeof whole));
    ndr_tune_result found;
    NDR_TRY(ndr_tune(context, desc ? &whole : NULL, result ? &found : NULL));
    if (result) ndr_info_write(&found, sizeof found, result, result_bytes);
    return NDR_OK;
}

ndr_status ndr_image_list_formats_sized(const ndr_context *context, const ndr_image_desc *use, size_t use_bytes,
                                        size_t capacity, ndr_image_format *formats, size_t *count)
{
    ndr_image_desc whole;
    NDR_TRY(read_desc("ndr_image_list_formats", use, use_bytes, &whole, sizeof whole));
    return ndr_image_list_formats(context, use ? &whole : NULL, capacity, formats, count);
}

ndr_status ndr_outline_create_sized(const ndr_kernel_desc *desc, size_t desc_bytes, ndr_outline **outline)
{
    ndr_kernel_desc whole;
    NDR_TRY(read_desc("ndr_outline_create", desc, desc_bytes, &whole, sizeof whole));
    return ndr_outline_create(desc ? &whole : NULL, outline);
}

ndr_status ndr_outline_get_param_sized(const ndr_outline *outline, size_t kernel, size_t index,
                                       ndr_outline_param *param, size_t param_bytes)
{
    ndr_outline_param whole;
    NDR_TRY(ndr_outline_get_param(outline, kernel, index, param ? &whole : NULL));
    ndr_info_write(&whole, sizeof whole, param, param_bytes);
    return NDR_OK;
}

ndr_status ndr_shared_get_info_sized(const ndr_context *context, ndr_shared_kind kind, ndr_shared_info *info,
                                     size_t info_bytes)
{
    ndr_shared_info whole;
    NDR_TRY(ndr_shared_get_info(context, kind, info ? &whole : NULL));
    ndr_info_write(&whole, sizeof whole, info, info_bytes);
    return NDR_OK;
}

/* ---- a list of descriptors that point to others ---- */

typedef struct whole_warm {
    ndr_kernel_desc kernel;
    ndr_reduce_desc reduce;
    ndr_matmul_desc matmul;
} whole_warm;

static ndr_status read_warm(const void *given, const size_t *bytes, ndr_warm_desc *desc, whole_warm *whole)
{
    static const char call[] = "ndr_cache_warm";
    NDR_TRY(read_desc(call, given, bytes[0], desc, sizeof *desc));
    NDR_TRY(read_desc(call, desc->kernel, bytes[1], &whole->kernel, sizeof whole->kernel));
    NDR_TRY(read_desc(call, desc->reduce, bytes[2], &whole->reduce, sizeof whole->reduce));
    NDR_TRY(read_desc(call, desc->matmul, bytes[3], &whole->matmul, sizeof whole->matmul));
    if (desc->kernel) desc->kernel = &whole->kernel;
    if (desc->reduce) desc->reduce = &whole->reduce;
    if (desc->matmul) desc->matmul = &whole->matmul;
    return NDR_OK;
}

ndr_status ndr_cache_warm_sized(ndr_context *context, const ndr_warm_desc *descs, size_t count, const size_t *bytes,
                                size_t bytes_count, ndr_warm_callback *progress, void *user)
{
    enum { KINDS = 4 };
    if (!descs || count == 0) return ndr_cache_warm(context, descs, count, progress, user);
    size_t known[KINDS] = { 0 };
    memcpy(known, bytes, ndr_min_size(bytes_count, KINDS) * sizeof *bytes);
    ndr_warm_desc *list = calloc(count, sizeof *list);
    whole_warm *wholes = calloc(count, sizeof *wholes);
    ndr_status status = list && wholes
                            ? NDR_OK
                            : ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for a list of %zu elements", count);
    for (size_t i = 0; i < count && status == NDR_OK; ++i)
        status = read_warm((const char *)descs + i * known[0], known, &list[i], &wholes[i]);
    if (status == NDR_OK) status = ndr_cache_warm(context, list, count, progress, user);
    free(list);
    free(wholes);
    return status;
}
