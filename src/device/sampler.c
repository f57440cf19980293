/* sampler.c - samplers: how kernels read images. */
#include "device/context.h"
#include "device/format.h"
#include "device/image.h"

#include "ndr/ndr_cl.h"

/* Takes over the reference of `cl` in every case. */
static ndr_status wrap_sampler(ndr_context *context, cl_sampler cl, ndr_sampler **sampler)
{
    ndr_sampler *made = ndr_handle_new(NDR_HANDLE_SAMPLER, sizeof *made, context->checker != NULL);
    if (!made) {
        ndr_cl.clReleaseSampler(cl);
        return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for a sampler");
    }
    atomic_init(&made->references, 1);
    made->context = ndr_context_keep(context);
    made->cl = cl;
    *sampler = made;
    return NDR_OK;
}

ndr_status ndr_sampler_create(ndr_context *context, const ndr_sampler_desc *desc, ndr_sampler **sampler)
{
    static const cl_addressing_mode modes[] = { CL_ADDRESS_CLAMP_TO_EDGE, CL_ADDRESS_CLAMP, CL_ADDRESS_REPEAT,
                                                CL_ADDRESS_MIRRORED_REPEAT, CL_ADDRESS_NONE };
    NDR_REQUIRE_SET(context, sampler);
    const ndr_sampler_desc d = desc ? *desc : (ndr_sampler_desc){ 0 };
    const bool repeats = d.addressing == NDR_ADDRESSING_REPEAT || d.addressing == NDR_ADDRESSING_MIRRORED_REPEAT;
    NDR_REQUIRE((unsigned)d.addressing <= NDR_ADDRESSING_NONE,
                "ndr_sampler_create: addressing is %d, not an ndr_addressing; use one of ndr_image.h",
                (int)d.addressing);
    NDR_REQUIRE(
        !repeats || d.is_normalized,
        "ndr_sampler_create: addressing repeats the image, which needs normalised coordinates; set is_normalized");
    NDR_TRY(ndr_image_require(context));
    cl_int error;
    cl_sampler cl = ndr_cl.clCreateSampler(context->cl, d.is_normalized, modes[d.addressing],
                                           d.is_linear ? CL_FILTER_LINEAR : CL_FILTER_NEAREST, &error);
    if (error != CL_SUCCESS) return ndr_fail_cl(error, "clCreateSampler");
    return wrap_sampler(context, cl, sampler);
}

cl_sampler ndr_sampler_cl(const ndr_sampler *sampler) { return NDR_IS_LIVE(sampler) ? sampler->cl : NULL; }

ndr_status ndr_sampler_from_cl(ndr_context *context, cl_sampler cl, ndr_sampler **sampler)
{
    NDR_REQUIRE_SET(context, cl, sampler);
    cl_context owner = NULL;
    NDR_TRY_CL(clGetSamplerInfo(cl, CL_SAMPLER_CONTEXT, sizeof owner, &owner, NULL));
    NDR_REQUIRE(
        owner == context->cl,
        "ndr_sampler_from_cl: the sampler belongs to another OpenCL context; create it in that of ndr_context_cl()");
    NDR_TRY_CL(clRetainSampler(cl));
    return wrap_sampler(context, cl, sampler);
}

void ndr_sampler_keep(ndr_sampler *sampler) { atomic_fetch_add(&sampler->references, 1); }

void ndr_sampler_release(ndr_sampler *sampler)
{
    if (atomic_fetch_sub(&sampler->references, 1) > 1) return;
    ndr_cl.clReleaseSampler(sampler->cl);
    ndr_context_release(sampler->context);
    ndr_handle_free(sampler);
}

void ndr_sampler_destroy(ndr_sampler *sampler)
{
    if (ndr_handle_retire(NDR_HANDLE_SAMPLER, sampler, __func__)) ndr_sampler_release(sampler);
}
