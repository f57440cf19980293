/* sub_group.c - chooses the kind and size of a kernel's sub-groups.
 *
 *   the device has OpenCL's sub-groups       native, of its own size or of a supported requested size
 *   it has warps and accepts inline PTX      warps
 *   a size is requested otherwise            virtual ones, in local memory
 *   otherwise                                each group is one sub-group
 *
 * kernels/ndr/sub_group.clh has one branch for each, selected by the macros defined here. */
#include "device/cache.h"
#include "device/context.h"
#include "program/registry.h"

#include <string.h>

/* ---- questions ---- */

/* Ask a device something once, with the build lock held; `known` is 0, or 1 for no and 2 for yes. The answer is kept on
 * disk, too. A failure of the driver is not kept. */
static ndr_status ask(ndr_context *context, const char *question, ndr_status (*find)(ndr_context *, bool *), int *known,
                      bool *answer)
{
    ndr_text kept = { 0 };
    *answer = *known == 2;
    if (*known) return NDR_OK;
    if (ndr_cache_get(context, question, &kept)) {
        *answer = strcmp(kept.chars, "yes") == 0;
    } else {
        NDR_TRY(find(context, answer));
        ndr_cache_put(context, question, *answer ? "yes" : "no", *answer ? 3 : 2);
    }
    ndr_text_free(&kept);
    *known = *answer ? 2 : 1;
    return NDR_OK;
}

static ndr_status builds_ptx(ndr_context *context, bool *builds)
{
    cl_program program = NULL;
    NDR_TRY(ndr_build_try(context, ndr_source_find("probe/ptx.inc")->text, "", &program));
    *builds = program != NULL;
    if (program) ndr_cl.clReleaseProgram(program);
    return NDR_OK;
}

/* ---- rows ---- */

/* Whether the driver divides each row of a group by itself without saying so: it names a largest size that such rows
 * cannot have. A row is the items along OpenCL's dimension 0; in the group asked about, each has one. */
static ndr_status divides_rows(const ndr_context *context, cl_kernel kernel, bool *rows)
{
    static const size_t column[] = { 1, 4 };
    size_t largest, count;
    NDR_TRY_CL(clGetKernelSubGroupInfo(kernel, context->device, CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE, sizeof column,
                                       column, sizeof largest, &largest, NULL));
    NDR_TRY_CL(clGetKernelSubGroupInfo(kernel, context->device, CL_KERNEL_SUB_GROUP_COUNT_FOR_NDRANGE, sizeof column,
                                       column, sizeof count, &count, NULL));
    *rows = largest > 1 && count == column[1];
    return NDR_OK;
}

static ndr_status ask_a_kernel(const ndr_context *context, cl_program program, bool *rows)
{
    cl_int error;
    cl_kernel kernel = ndr_cl.clCreateKernel(program, "probe", &error);
    NDR_TRY_CL_AS("clCreateKernel", error);
    const ndr_status status = divides_rows(context, kernel, rows);
    ndr_cl.clReleaseKernel(kernel);
    return status;
}

static ndr_status build_and_ask(ndr_context *context, bool *rows)
{
    cl_program program = NULL;
    NDR_TRY(ndr_build_try(context, ndr_source_find("probe/rows.inc")->text, "", &program));
    *rows = false;
    if (!program) return NDR_OK;
    const ndr_status status = ask_a_kernel(context, program, rows);
    ndr_cl.clReleaseProgram(program);
    return status;
}

/* ---- choosing ---- */

static ndr_status check_native_size(const ndr_device_info *device, size_t requested)
{
    ndr_text sizes = { 0 };
    bool is_there = false;
    for (unsigned i = 0; i < device->sub_group_size_count; ++i) {
        ndr_text_add(&sizes, "%s%zu", i ? ", " : "", device->sub_group_sizes[i]);
        is_there |= device->sub_group_sizes[i] == requested;
    }
    const ndr_status status =
        is_there ? NDR_OK
                 : ndr_fail(NDR_UNSUPPORTED,
                            "a sub-group size of %zu is requested, but device \"%s\" has %s; request 0 for any",
                            requested, device->name, sizes.chars ? sizes.chars : "none");
    ndr_text_free(&sizes);
    return status;
}

static ndr_status choose_native(ndr_registry *registry, ndr_program *program, ndr_text *options)
{
    ndr_context *context = program->context;
    const bool uses_sub_groups = ndr_source_includes(&program->source, "ndr/sub_group.clh");
    program->sub_groups = NDR_SUB_GROUP_NATIVE;
    ndr_text_add(options, " -DNDR_SUB_GROUPS_NATIVE=1");
    if (!uses_sub_groups) return NDR_OK;
    if (program->sub_group_size) NDR_TRY(check_native_size(&context->caps.info, program->sub_group_size));
    bool rows;
    NDR_TRY(ask(context, "sub-groups divide rows", build_and_ask, &registry->divides_rows, &rows));
    if (rows) ndr_text_add(options, " -DNDR_SUB_GROUPS_IN_ROWS=1");
    return NDR_OK;
}

ndr_status ndr_sub_groups_choose(size_t requested, ndr_program *program, ndr_text *options)
{
    ndr_context *context = program->context;
    const ndr_device_info *device = &context->caps.info;
    NDR_REQUIRE_AS(
        NDR_UNSUPPORTED, requested <= device->max_group_size,
        "a sub-group size of %zu is requested, but device \"%s\" has groups of at most %zu; request a smaller "
        "one, or 0 for any",
        requested, device->name, device->max_group_size);
    ndr_registry *registry;
    NDR_TRY(ndr_registry_get(context, &registry));
    bool supports_ptx = false;
    if (device->warp_size > 0 && !(context->caps.disabled & NDR_DISABLE_PTX))
        NDR_TRY(ask(context, "inline PTX builds", builds_ptx, &registry->supports_ptx, &supports_ptx));
    if (supports_ptx) ndr_text_add(options, " -DNDR_PTX=1");
    if (requested) ndr_text_add(options, " -DNDR_SUB_GROUP_SIZE=%zu", requested);
    program->sub_group_size = requested;
    if (device->has_sub_groups && (requested == 0 || device->sub_group_size_count > 0)) {
        return choose_native(registry, program, options);
    } else if (supports_ptx && (requested == 0 || requested == device->warp_size)) {
        program->sub_groups = NDR_SUB_GROUP_WARP;
        program->sub_group_size = device->warp_size;
        ndr_text_add(options, " -DNDR_SUB_GROUP_PTX=%u", device->warp_size);
    } else {
        program->sub_groups = requested ? NDR_SUB_GROUP_VIRTUAL : NDR_SUB_GROUP_WHOLE;
    }
    return NDR_OK;
}

/* ---- checking a built kernel ---- */

ndr_status ndr_sub_groups_check(const ndr_kernel *kernel)
{
    const ndr_program *program = kernel->program;
    if (program->sub_groups != NDR_SUB_GROUP_NATIVE || program->sub_group_size == 0
        || !ndr_source_includes(&program->source, "ndr/sub_group.clh"))
        return NDR_OK;
    size_t size = 0;
    const cl_int error = ndr_cl.clGetKernelSubGroupInfo(
        kernel->cl, kernel->context->device, CL_KERNEL_COMPILE_SUB_GROUP_SIZE_INTEL, 0, NULL, sizeof size, &size, NULL);
    /* A driver may support the attribute but not this query. */
    if (error == CL_INVALID_VALUE || error == CL_INVALID_OPERATION) return NDR_OK;
    NDR_TRY_CL_AS("clGetKernelSubGroupInfo", error);
    NDR_REQUIRE_AS(NDR_BAD_ARGUMENT, size == program->sub_group_size,
                   "kernel \"%s\": a sub-group size of %zu is requested, but the kernel is built with %zu; write "
                   "NDR_SUB_GROUP_KERNEL in front of `kernel`",
                   kernel->name, program->sub_group_size, size);
    return NDR_OK;
}

/* ---- queries ---- */

static ndr_status query_driver(const ndr_kernel *kernel, const ndr_range *local, cl_kernel_sub_group_info what,
                               size_t *value)
{
    size_t cl_local[3];
    ndr_reverse_dims(local->dims, local->size, cl_local);
    NDR_TRY_CL(clGetKernelSubGroupInfo(kernel->cl, kernel->context->device, what, local->dims * sizeof cl_local[0],
                                       cl_local, sizeof *value, value, NULL));
    return NDR_OK;
}

/* Limits the driver's values by the group, as kernels/ndr/sub_group.clh does in the kernel. Some drivers ignore the
 * requested size in this query; then their count is not used. */
static ndr_status query_native(const ndr_kernel *kernel, const ndr_range *local, size_t items, ndr_sub_group_info *info)
{
    size_t max_size, count;
    NDR_TRY(query_driver(kernel, local, CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE, &max_size));
    NDR_TRY(query_driver(kernel, local, CL_KERNEL_SUB_GROUP_COUNT_FOR_NDRANGE, &count));
    bool rows;
    NDR_TRY(divides_rows(kernel->context, kernel->cl, &rows));
    const size_t size = kernel->sub_group_size ? kernel->sub_group_size : max_size;
    const size_t longest = rows ? local->size[local->dims - 1] : items;
    info->max_size = ndr_max_size(1, ndr_min_size(size, longest));
    info->count = ndr_max_size(size == max_size ? count : 0, ndr_ceil_div(items, info->max_size));
    return NDR_OK;
}

ndr_status ndr_kernel_get_sub_groups(const ndr_kernel *kernel, const ndr_range *local, ndr_sub_group_info *info)
{
    NDR_REQUIRE_SET(kernel, local, info);
    NDR_REQUIRE_AS(NDR_BAD_RANGE, local->dims >= 1 && local->dims <= 3,
                   "kernel \"%s\": a local range has 1 to 3 dimensions, not %u", kernel->name, local->dims);
    const size_t items = ndr_sizes_product(local->dims, local->size);
    NDR_REQUIRE_AS(NDR_BAD_RANGE, items > 0 && items <= kernel->info.max_group_size,
                   "kernel \"%s\": groups of %zu work-items; this kernel on this device takes 1 to %zu", kernel->name,
                   items, kernel->info.max_group_size);
    ndr_sub_group_info asked = { .kind = kernel->sub_groups };
    if (kernel->sub_groups == NDR_SUB_GROUP_NATIVE) NDR_TRY(query_native(kernel, local, items, &asked));
    else {
        asked.max_size =
            kernel->sub_groups == NDR_SUB_GROUP_WHOLE ? items : ndr_min_size(items, kernel->sub_group_size);
        asked.count = ndr_ceil_div(items, asked.max_size);
    }
    *info = asked;
    return NDR_OK;
}
