/* adopt.c - conversions between libndr's kernels and OpenCL's (include/ndr/ndr_cl.h). Foreign kernels come from a
 * binary, from SPIR-V or from another library. */
#include "device/context.h"
#include "program/registry.h"

#include "ndr/ndr_cl.h"

#include <stdlib.h>

/* ---- from libndr to OpenCL ---- */

cl_kernel ndr_kernel_cl(const ndr_kernel *kernel)
{
    if (!NDR_IS_LIVE(kernel)) return NULL;
    atomic_store(&((ndr_kernel *)(uintptr_t)kernel)->native_handle_exposed, true);
    return kernel->cl;
}

/* ---- from OpenCL to libndr ---- */

static ndr_status check_owner(const ndr_context *context, cl_kernel cl)
{
    cl_context owner = NULL;
    NDR_TRY_CL(clGetKernelInfo(cl, CL_KERNEL_CONTEXT, sizeof owner, &owner, NULL));
    NDR_REQUIRE(owner == context->cl, "ndr_kernel_from_cl: the kernel belongs to another OpenCL context");
    return NDR_OK;
}

static ndr_status read_name(cl_kernel cl, char **name)
{
    NDR_READ_TEXT(name, clGetKernelInfo, cl, CL_KERNEL_FUNCTION_NAME);
    return NDR_OK;
}

static ndr_status fill_foreign_kernel(cl_kernel cl, ndr_kernel *made)
{
    cl_program program;
    NDR_TRY_CL(clRetainKernel(cl));
    made->cl = cl; /* released with the kernel in every case */
    made->sub_groups = made->context->caps.info.has_sub_groups ? NDR_SUB_GROUP_NATIVE : NDR_SUB_GROUP_WHOLE;
    atomic_store(&made->native_handle_exposed, true);
    NDR_TRY(read_name(cl, &made->name));
    NDR_TRY_CL(clGetKernelInfo(cl, CL_KERNEL_PROGRAM, sizeof program, &program, NULL));
    return ndr_binary_read_foreign(program, made);
}

/* The caller holds the build lock. The key is the address: the registry's reference prevents its reuse. */
static ndr_status find_or_adopt(ndr_context *context, ndr_registry *registry, cl_kernel cl, ndr_kernel **kernel)
{
    const ndr_hash key = ndr_hash_bytes(&cl, sizeof cl);
    *kernel = ndr_registry_find(registry, &registry->kernels, key);
    if (*kernel) return NDR_OK;
    ndr_kernel *made;
    NDR_TRY(ndr_kernel_new(context, key, &made));
    ndr_status status = fill_foreign_kernel(cl, made);
    if (status == NDR_OK) status = ndr_registry_keep(registry, &registry->kernels, key, made);
    if (status == NDR_OK) *kernel = made;
    else ndr_kernel_free(made);
    return status;
}

ndr_status ndr_kernel_from_cl(ndr_context *context, cl_kernel cl, ndr_kernel **kernel)
{
    NDR_REQUIRE_SET(context, cl, kernel);
    NDR_TRY(check_owner(context, cl));
    ndr_registry *registry;
    NDR_TRY(ndr_registry_get(context, &registry));
    ndr_kernel *found;
    ndr_mutex_lock(&registry->build_lock);
    const ndr_status status = find_or_adopt(context, registry, cl, &found);
    ndr_mutex_unlock(&registry->build_lock);
    if (status == NDR_OK) *kernel = found;
    return status;
}
