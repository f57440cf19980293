/* cache.c - what a context keeps on disk: answers about its device, with a key of everything that they depend on. */
#include "device/cache.h"
#include "device/context.h"

/* Settings of drivers and compilers that change the code that they make. */
static const char *const settings[] = { "POCL_",      "OCLGRIND_", "RUSTICL_", "LP_",   "GALLIVM_",
                                        "CL_CONFIG_", "IGC_",      "NEO",      "CUDA_", NULL };

static void add_hash(ndr_text *out, const char *what, ndr_hash hash)
{
    ndr_text_add(out, "%s %016llx%016llx\n", what, (unsigned long long)hash.words[0],
                 (unsigned long long)hash.words[1]);
}

void ndr_cache_open(ndr_context *context, cl_platform_id platform)
{
    const ndr_device_info *device = &context->caps.info;
    char version[1024] = "";
    ndr_disk_open(&context->disk);
    if (!context->disk.folder.chars) return;
    context->cache_key.failed =
        ndr_cl.clGetPlatformInfo(platform, CL_PLATFORM_VERSION, sizeof version - 1, version, NULL) != CL_SUCCESS;
    ndr_text_add(&context->cache_key, "%s\n%s\n%s\n%s\n%s\n%s\n%u bits, C %u, without %x\n", device->name,
                 device->vendor, device->driver, device->opencl, device->platform, version, device->address_bits,
                 context->caps.c_version, context->caps.disabled);
    add_hash(&context->cache_key, "cpu", ndr_cpu_hash());
    add_hash(&context->cache_key, "settings", ndr_environment_hash(settings));
}

ndr_status ndr_cache_share(ndr_context *context, const ndr_context *other)
{
    context->disk = (ndr_disk){ .limit_bytes = other->disk.limit_bytes, .root = other->disk.root };
    if (!other->disk.folder.chars) return NDR_OK;
    ndr_text_add_all(&context->disk.folder, other->disk.folder.chars);
    if (other->cache_key.chars) ndr_text_add_all(&context->cache_key, other->cache_key.chars);
    context->cache_key.failed |= other->cache_key.failed;
    return context->disk.folder.failed ? ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for a store's name") : NDR_OK;
}

void ndr_cache_close(ndr_context *context)
{
    ndr_disk_close(&context->disk);
    ndr_text_free(&context->cache_key);
}

static ndr_text key_of(const ndr_context *context, const char *question)
{
    ndr_text key = { 0 };
    ndr_text_add(&key, "%s%s", context->cache_key.chars ? context->cache_key.chars : "", question);
    key.failed |= context->cache_key.failed;
    return key;
}

bool ndr_cache_get(ndr_context *context, const char *question, ndr_text *value)
{
    if (!context->disk.folder.chars) return false;
    ndr_text key = key_of(context, question);
    const bool is_found = !key.failed && ndr_disk_get(&context->disk, key.chars, value);
    ndr_text_free(&key);
    return is_found;
}

bool ndr_cache_put(ndr_context *context, const char *question, const void *value, size_t value_bytes)
{
    if (!context->disk.folder.chars) return false;
    ndr_text key = key_of(context, question);
    const bool is_kept = !key.failed && ndr_disk_put(&context->disk, key.chars, value, value_bytes);
    ndr_text_free(&key);
    return is_kept;
}

ndr_status ndr_context_get_cache(const ndr_context *context, ndr_cache_info *info)
{
    NDR_REQUIRE_SET(context, info);
    *info = (ndr_cache_info){ .folder = context->disk.folder.chars,
                              .hits = atomic_load(&context->cache_hits),
                              .misses = atomic_load(&context->cache_misses) };
    return NDR_OK;
}
