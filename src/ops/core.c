/* core.c - what a core of a CPU has: vector registers, multiply-add, caches. */
#include "device/context.h"
#include "ops/choices.h"
#include "program/program.h"

/* ---- from instructions to registers ---- */

/* The first entry whose features are all there. */
static const struct {
    unsigned features, vector_bytes, registers;
    bool fuses;
} kinds[] = {
    { NDR_CORE_AVX512F, 64, 32, true },
    { NDR_CORE_AVX | NDR_CORE_FMA, 32, 16, true },
    { NDR_CORE_AVX, 32, 16, false },
    { NDR_CORE_NEON | NDR_CORE_AARCH64, 16, 32, true },
    { 0, 16, 16, false }, /* SSE2; also assumed for unknown CPUs */
};

ndr_core ndr_core_of(unsigned features)
{
    enum { FIRST_CACHE_BYTES = 32 << 10, SECOND_CACHE_BYTES = 512 << 10 };
    size_t i = 0;
    while ((features & kinds[i].features) != kinds[i].features) ++i;
    return (ndr_core){ .vector_bytes = kinds[i].vector_bytes,
                       .registers = kinds[i].registers,
                       .fuses = kinds[i].fuses,
                       .first_cache_bytes = FIRST_CACHE_BYTES,
                       .second_cache_bytes = SECOND_CACHE_BYTES };
}

/* ---- probing ---- */

static bool is_the_host(const ndr_caps *caps)
{
    return caps->info.type == NDR_DEVICE_TYPE_CPU && caps->info.shares_host_memory;
}

/* The compiler's macros show what it uses, which may be less than the CPU has. Compilers that go through SPIR-V
 * define none: then the features are those of the host's CPU, if it is the device. `probe` is NULL if it did not build. */
static unsigned read_features(const ndr_caps *caps, const ndr_kernel *probe)
{
    const size_t size = probe ? probe->info.required_local_size[2] : 0;
    const unsigned features = size > 1 ? (unsigned)size - 1 : is_the_host(caps) ? ndr_cpu_features() : 0;
    ndr_log(NDR_LOG_DEBUG, "op.core", "device \"%s\": features %#x, by %s", caps->info.name, features,
            size > 1 ? "its compiler's macros" : "the host's CPU");
    return features;
}

/* A core with these features, and the host's caches if the host is the device. */
static ndr_core core_here(const ndr_caps *caps, unsigned features)
{
    ndr_core core = ndr_core_of(features);
    if (!is_the_host(caps)) return core;
    if (ndr_cpu_cache_bytes(1)) core.first_cache_bytes = ndr_cpu_cache_bytes(1);
    if (ndr_cpu_cache_bytes(2)) core.second_cache_bytes = ndr_cpu_cache_bytes(2);
    return core;
}

/* Threads that look at the same time find the same: the first one keeps it. */
static void keep(ndr_choices *c, const ndr_caps *caps, unsigned features, ndr_core *core)
{
    ndr_mutex_lock(&c->base.lock);
    if (!atomic_load(&c->has_core)) c->core = core_here(caps, features);
    atomic_store(&c->has_core, true);
    ndr_mutex_unlock(&c->base.lock);
    *core = c->core;
}

static ndr_status probe(ndr_context *context, ndr_choices *c, ndr_core *core)
{
    ndr_kernel *kernel;
    const ndr_kernel_desc desc = { .name = NDR_CORE_PROBE, .bundled = "probe/core.cl" };
    const ndr_status status = ndr_kernel_get(context, &desc, &kernel);
    if (status != NDR_OK && status != NDR_BUILD_FAILED) return status;
    keep(c, &context->caps, read_features(&context->caps, status == NDR_OK ? kernel : NULL), core);
    return NDR_OK;
}

static ndr_status get(ndr_context *context, ndr_choices *c, ndr_core *core)
{
    if (atomic_load(&c->has_core)) *core = c->core;
    else if (ndr_has_vectors(&context->caps)) return probe(context, c, core);
    else keep(c, &context->caps, 0, core);
    return NDR_OK;
}

ndr_status ndr_core_get(ndr_context *context, ndr_core *core)
{
    ndr_choices *c;
    NDR_TRY(ndr_choices_get(context, &c));
    return get(context, c, core);
}

ndr_status ndr_core_assume(ndr_context *context, ndr_core *core, bool *is_assumed)
{
    ndr_choices *c;
    NDR_TRY(ndr_choices_get(context, &c));
    *is_assumed = !atomic_load(&c->has_core) && ndr_has_vectors(&context->caps) && is_the_host(&context->caps);
    if (!*is_assumed) return get(context, c, core);
    *core = core_here(&context->caps, ndr_cpu_features());
    return NDR_OK;
}

ndr_status ndr_core_learn(ndr_context *context, const ndr_kernel *probe, ndr_core *core)
{
    ndr_choices *c;
    NDR_TRY(ndr_choices_get(context, &c));
    keep(c, &context->caps, read_features(&context->caps, probe), core);
    return NDR_OK;
}

ndr_status ndr_core_force(ndr_context *context, unsigned features)
{
    ndr_choices *c;
    NDR_TRY(ndr_choices_get(context, &c));
    c->core = core_here(&context->caps, features);
    atomic_store(&c->has_core, features != 0);
    return NDR_OK;
}
