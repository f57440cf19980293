/* compiled.c - programs that come compiled: as a SPIR-V module, or as a binary of the driver. */
#include "device/context.h"
#include "program/program.h"

#include <string.h>

/* ---- creating ---- */

/* In the host's byte order or the other one. */
static bool starts_as_spirv(const void *bytes, size_t count)
{
    uint32_t first;
    if (count < 5 * sizeof first || count % sizeof first != 0) return false;
    memcpy(&first, bytes, sizeof first);
    return first == 0x07230203 || first == 0x03022307;
}

static ndr_status create_from_spirv(ndr_context *context, const ndr_kernel_desc *desc, ndr_program *program)
{
    NDR_REQUIRE(
        starts_as_spirv(desc->spirv, desc->spirv_bytes),
        "ndr_kernel_get: the %zu bytes at desc->spirv, for kernel \"%s\", are not a SPIR-V module, which "
        "consists of words of 4 bytes and begins with 0x07230203; pass the bytes of a .spv file, and OpenCL C as "
        "desc->source",
        desc->spirv_bytes, desc->name);
    NDR_REQUIRE_AS(NDR_UNSUPPORTED, context->caps.info.has_spirv,
                   "\"%s\" is a SPIR-V module, which device \"%s\" does not accept (has_spirv of ndr_device_info); "
                   "set source or file to its OpenCL C",
                   program->title, context->caps.info.name);
    cl_int error;
    cl_program made = ndr_cl.clCreateProgramWithIL(context->cl, desc->spirv, desc->spirv_bytes, &error);
    NDR_TRY_CL_AS("clCreateProgramWithIL", error);
    program->cl = made; /* released with the program in every case */
    return NDR_OK;
}

static ndr_status create_from_binary(ndr_context *context, const ndr_kernel_desc *desc, ndr_program *program)
{
    NDR_REQUIRE(desc->binary_bytes > 0,
                "ndr_kernel_get: desc->binary_bytes is 0 for kernel \"%s\"; set it to the size of desc->binary",
                desc->name);
    const unsigned char *binary = desc->binary;
    cl_int error, status = CL_SUCCESS;
    cl_program made = ndr_cl.clCreateProgramWithBinary(context->cl, 1, &context->device, &desc->binary_bytes, &binary,
                                                       &status, &error);
    if (error == CL_SUCCESS) program->cl = made;
    if (error == CL_SUCCESS) error = status;
    if (error == CL_INVALID_BINARY)
        return ndr_fail_with_code(NDR_BUILD_FAILED, error,
                                  "\"%s\", of %zu bytes, is not a binary of the driver of \"%s\"; take one from "
                                  "clGetProgramInfo() with the same device and version of the driver",
                                  program->title, desc->binary_bytes, context->caps.info.name);
    NDR_TRY_CL_AS("clCreateProgramWithBinary", error);
    return NDR_OK;
}

/* ---- building ---- */

ndr_status ndr_compiled_build(const ndr_kernel_desc *desc, ndr_program *program)
{
    ndr_context *context = program->context;
    const char *options = desc->options ? desc->options : "";
    const ndr_device_info *device = &context->caps.info;
    program->options = ndr_text_copy(options, strlen(options));
    if (!program->options) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for a program");
    program->asked_options = strlen(options);
    program->is_compiled = true;
    program->sub_groups = device->has_sub_groups ? NDR_SUB_GROUP_NATIVE : NDR_SUB_GROUP_WHOLE;
    NDR_TRY((desc->spirv ? create_from_spirv : create_from_binary)(context, desc, program));
    const cl_int error = ndr_cl.clBuildProgram(program->cl, 1, &context->device, program->options, NULL, NULL);
    if (error == CL_SUCCESS) return NDR_OK;
    return ndr_build_fail(program, program->cl, error, "clBuildProgram", program->options);
}
