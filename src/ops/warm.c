/* warm.c - ndr_cache_warm(): builds programs in threads and puts them into the store on disk. */
#include "device/catalog.h"
#include "device/context.h"
#include "ops/warm.h"

#include <stdlib.h>

enum { MAX_WORKERS = 16 };

/* What the threads share. */
typedef struct warming {
    const ndr_warm_desc *descs;
    size_t count;
    ndr_warm_callback *progress;
    void *user;
    ndr_hash *keys; /* elements that may share a program have the same */
    bool *is_taken; /* by a thread */
    ndr_mutex lock; /* held for the members below and while `progress` runs */
    size_t done, failed;
    ndr_warm_progress first; /* of the failures, by index; its error is in `error` */
    int32_t first_code;
    ndr_text error, log; /* the log is empty if no build failed */
} warming;

/* One thread, with a context of its own over the caller's OpenCL context: a context builds one program at a time. */
typedef struct worker {
    warming *w;
    ndr_context *context;
    ndr_thread thread;
} worker;

/* The first element that no thread has taken, with all others of its key; `count`: there is none. */
static size_t take_key(warming *w)
{
    size_t first = 0;
    ndr_mutex_lock(&w->lock);
    while (first < w->count && w->is_taken[first]) ++first;
    for (size_t i = first; i < w->count; ++i)
        if (ndr_hash_equal(w->keys[i], w->keys[first])) w->is_taken[i] = true;
    ndr_mutex_unlock(&w->lock);
    return first;
}

/* A program is kept with all its kernels, so the name of one is not needed. */
static ndr_kernel_desc with_name(const ndr_kernel_desc *desc)
{
    ndr_kernel_desc named = *desc;
    if (!named.name) named.name = "of any name";
    return named;
}

static ndr_status build(ndr_context *context, const ndr_warm_desc *desc, ndr_program **program)
{
    const int given = (desc->kernel != NULL) + (desc->reduce != NULL) + (desc->matmul != NULL);
    ndr_kernel *kernel;
    NDR_REQUIRE(given == 1, "%s of kernel, reduce and matmul is set; set exactly one",
                given ? "more than one" : "none");
    if (desc->kernel && !desc->kernel->name) {
        const ndr_kernel_desc named = with_name(desc->kernel);
        return ndr_kernel_get_program(context, &named, program);
    }
    if (desc->kernel) NDR_TRY(ndr_kernel_get(context, desc->kernel, &kernel));
    if (desc->reduce) NDR_TRY(ndr_reduce_build(context, desc->reduce, &kernel));
    if (desc->matmul) NDR_TRY(ndr_matmul_build(context, desc->matmul, &kernel));
    *program = kernel->program;
    return NDR_OK;
}

static ndr_status build_and_keep(ndr_context *context, const ndr_warm_desc *desc)
{
    ndr_program *program;
    NDR_TRY(build(context, desc, &program));
    if (ndr_binary_keep(program)) return NDR_OK;
    const char *why = program->refusal.length ? program->refusal.chars : NULL;
    return ndr_fail_with_code(NDR_NOT_KEPT, program->refusal_code,
                              "\"%s\" is built, but it is not in the store \"%s\"%s%s", program->title,
                              context->disk.folder.chars, why ? ": " : "", why ? why : "; NDR_LOG=info says why");
}

static void keep_first_failure(warming *w, const ndr_warm_progress *failure)
{
    if (w->failed++ > 0 && failure->index > w->first.index) return;
    w->first = *failure;
    w->first_code = ndr_last_cl_error();
    ndr_text_clear(&w->error);
    ndr_text_clear(&w->log);
    ndr_text_add(&w->error, "%s", failure->error);
    ndr_text_add(&w->log, "%s", ndr_last_build_log());
}

static void report(warming *w, size_t index, ndr_status status)
{
    ndr_mutex_lock(&w->lock);
    const ndr_warm_progress made = { index, status, status == NDR_OK ? "" : ndr_last_error(), ++w->done, w->count };
    if (status != NDR_OK) keep_first_failure(w, &made);
    if (w->progress) w->progress(&made, w->user);
    ndr_mutex_unlock(&w->lock);
}

static void *work(void *argument)
{
    const worker *me = argument;
    warming *w = me->w;
    for (size_t first; (first = take_key(w)) < w->count;)
        for (size_t i = first; i < w->count; ++i)
            if (ndr_hash_equal(w->keys[i], w->keys[first])) report(w, i, build_and_keep(me->context, &w->descs[i]));
    return NULL;
}

/* What is refused later has a key of its own. */
static ndr_hash key_of(const ndr_warm_desc *desc, size_t index)
{
    enum { REFUSED, REDUCE, MATMUL };
    ndr_hash key;
    const ndr_reduce_desc *r = desc->reduce;
    if (r) return (ndr_hash){ { (uint64_t)r->dtype << 32 | (uint64_t)r->op << 16 | (uint64_t)r->method, REDUCE } };
    if (desc->matmul) return (ndr_hash){ { desc->matmul->dtype, MATMUL } };
    const ndr_kernel_desc named = desc->kernel ? with_name(desc->kernel) : (ndr_kernel_desc){ 0 };
    return desc->kernel && ndr_kernel_read_key(&named, &key) == NDR_OK ? key : (ndr_hash){ { index, REFUSED } };
}

/* Returns how many different ones there are. */
static size_t read_keys(warming *w)
{
    size_t keys = 0;
    for (size_t i = 0; i < w->count; ++i) {
        w->keys[i] = key_of(&w->descs[i], i);
        size_t same = 0;
        while (!ndr_hash_equal(w->keys[same], w->keys[i])) ++same;
        keys += same == i;
    }
    return keys;
}

/* The calling thread is the first worker. Without the means for another worker there are fewer. */
static ndr_status run_workers(warming *w, ndr_context *context, size_t count)
{
    ndr_catalog_entry entry = { .device = context->device, .caps = context->caps };
    worker workers[MAX_WORKERS];
    size_t made = 0, started = 1;
    ndr_status status = NDR_OK;
    NDR_TRY_CL(clGetDeviceInfo(entry.device, CL_DEVICE_PLATFORM, sizeof entry.platform, &entry.platform, NULL));
    while (made < count && status == NDR_OK) {
        workers[made] = (worker){ .w = w };
        status = ndr_context_open(&entry, context->cl, NDR_CHECK_OFF, &workers[made].context);
        made += status == NDR_OK;
    }
    if (made == 0) return status;
    while (started < made && ndr_thread_start(&workers[started].thread, work, &workers[started])) ++started;
    work(&workers[0]);
    for (size_t i = 1; i < started; ++i) ndr_thread_join(workers[i].thread);
    for (size_t i = 0; i < made; ++i) ndr_context_destroy(workers[i].context);
    return NDR_OK;
}

static ndr_status warm(warming *w, ndr_context *context)
{
    w->keys = calloc(w->count, sizeof *w->keys);
    w->is_taken = calloc(w->count, sizeof *w->is_taken);
    NDR_REQUIRE_AS(NDR_OUT_OF_HOST_MEMORY, w->keys && w->is_taken, "no memory for a list of %zu elements", w->count);
    const size_t threads = ndr_min_size(ndr_min_size(read_keys(w), ndr_cpu_count()), MAX_WORKERS);
    NDR_TRY(run_workers(w, context, threads));
    if (w->failed == 0) return NDR_OK;
    return ndr_fail_with_log(w->first.status, w->first_code, w->log.length ? w->log.chars : NULL,
                             "ndr_cache_warm: %zu of %zu elements are not in the store; the first, descs[%zu]: %s",
                             w->failed, w->count, w->first.index,
                             w->error.failed ? "(no memory for the reason)" : w->error.chars);
}

ndr_status ndr_cache_warm(ndr_context *context, const ndr_warm_desc *descs, size_t count, ndr_warm_callback *progress,
                          void *user)
{
    NDR_REQUIRE_SET(context);
    NDR_REQUIRE(descs || count == 0, "ndr_cache_warm: descs is NULL, but count is %zu; pass an array of that length",
                count);
    NDR_REQUIRE_AS(
        NDR_NOT_KEPT, context->disk.folder.chars,
        "ndr_cache_warm: this context has no store to put kernels into; unset NDR_CACHE, or set it to a folder "
        "(docs/cache.md)");
    if (count == 0) return NDR_OK;
    warming w = { .descs = descs, .count = count, .progress = progress, .user = user };
    ndr_mutex_init(&w.lock, NDR_LOCK_WARM);
    const ndr_status status = warm(&w, context);
    ndr_mutex_destroy(&w.lock);
    ndr_text_free(&w.error);
    ndr_text_free(&w.log);
    free(w.keys);
    free(w.is_taken);
    return status;
}
