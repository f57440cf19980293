/* select.c - selects the variant of an operation that runs a request, and explains the choice. */
#include "device/context.h"
#include "device/queue.h"
#include "device/trace.h"
#include "ops/choices.h"
#include "ops/select.h"

#include <stdio.h>

/* ---- needs ---- */

static bool has_device_order(const ndr_caps *caps) { return caps->orders_device; }

/* As far as a device reports it. The variants' prove() shows the rest. */
static bool may_take_mma(const ndr_caps *caps)
{
    return caps->info.warp_size == 32 && !(caps->disabled & NDR_DISABLE_PTX);
}

/* The copy engine reads maps where buffers begin. */
static bool may_take_maps(const ndr_caps *caps)
{
    enum { MAP_BYTES = 128 };
    return may_take_mma(caps) && caps->info.view_align_bytes % MAP_BYTES == 0;
}

static bool has_progress_of(const ndr_caps *caps, size_t items)
{
    return caps->groups_progress && caps->info.max_group_size >= items && caps->info.max_local_size[2] >= items;
}

/* Of a group half of the items wait for tiles. */
static bool has_progress(const ndr_caps *caps) { return has_progress_of(caps, 2); }

static bool has_votes(const ndr_caps *caps) { return has_progress_of(caps, 256); }

static bool has_copy_engine(const ndr_caps *caps) { return has_progress(caps) && caps->compute_capability >= 900; }

static bool has_large_groups(const ndr_caps *caps)
{
    const ndr_device_info *device = &caps->info;
    return device->max_group_size >= 512 && device->max_local_size[2] >= 512
           && device->local_memory_bytes >= (size_t)32 << 10;
}

static const struct {
    unsigned bit;
    const char *what; /* "it needs ..." */
    bool (*is_met)(const ndr_caps *caps);
} needs[] = {
    { NDR_NEEDS_DEVICE_ORDER, "memory order between groups (OpenCL 3.0's acq_rel at device scope, or PTX)",
      has_device_order },
    { NDR_NEEDS_F64_MMA, "inline PTX that multiplies matrices of f64", may_take_mma },
    { NDR_NEEDS_BF16_MMA, "PTX that multiplies matrices of bfloat16", may_take_mma },
    { NDR_NEEDS_SMALL_MMA, "inline PTX that multiplies matrices of half and bfloat16", may_take_mma },
    { NDR_NEEDS_LARGE_GROUPS, "groups of 512 items with 32 KiB of local memory", has_large_groups },
    { NDR_NEEDS_F16_MMA, "PTX that multiplies matrices of half", may_take_mma },
    { NDR_NEEDS_ROUNDED_MMA, "PTX that multiplies matrices of rounded elements", may_take_mma },
    { NDR_NEEDS_NARROW_MMA, "PTX that copies and multiplies matrices of half, bfloat16 and bytes", may_take_maps },
    { NDR_NEEDS_RESIDUES, "PTX that copies and multiplies matrices of bytes for f64", may_take_maps },
    { NDR_NEEDS_PROGRESS, "groups that go on while others wait for them", has_progress },
    { NDR_NEEDS_VOTES, "groups of 256 items that go on while others wait for them, and votes of warps", has_votes },
    { NDR_NEEDS_COPY_ENGINE,
      "groups that go on while others wait for them, and the copy engine of compute capability 9.0", has_copy_engine },
};

const char *ndr_op_find_unmet(const ndr_op_variant *variant, const ndr_caps *caps, ndr_lacks lacks)
{
    unsigned left = variant->needs; /* asked for all variants of each call: most have one need, or none */
    for (size_t i = 0; left && i < NDR_COUNT_OF(needs); ++i) {
        if (!(left & needs[i].bit)) continue;
        if ((lacks & needs[i].bit) || !needs[i].is_met(caps)) return needs[i].what;
        left &= ~needs[i].bit;
    }
    return NULL;
}

ndr_lacks ndr_op_leave_out(const ndr_operation *operation, const ndr_op_variant *variant)
{
    for (size_t i = 0; i < operation->variant_count; ++i)
        if (operation->variants[i] == variant) return (ndr_lacks)1 << (NDR_FIRST_VARIANT + i);
    return 0;
}

const char *ndr_op_lacks_vectors(const ndr_op_case *of)
{
    return ndr_has_vectors(of->caps) ? NULL : "the device is not a CPU whose items have vector registers";
}

const char *ndr_op_registers(const ndr_caps *caps) { return caps->limits_registers ? " -cl-nv-maxrregcount=64" : ""; }

/* ---- choosing ---- */

const char *ndr_op_cannot(const ndr_op_variant *variant, const void *request)
{
    return variant->cannot ? variant->cannot(&(ndr_op_case){ variant, NULL, request }) : NULL;
}

const char *ndr_op_unsuited(const ndr_op_variant *variant, const ndr_caps *caps, const void *request)
{
    return variant->unsuited ? variant->unsuited(&(ndr_op_case){ variant, caps, request }) : NULL;
}

ndr_op_plan ndr_op_make_plan(const ndr_op_variant *variant, const ndr_caps *caps, const void *request)
{
    ndr_op_plan plan;
    variant->plan(&(ndr_op_case){ variant, caps, request }, &plan);
    return plan;
}

static bool is_left_out(const ndr_operation *operation, const ndr_op_variant *variant, ndr_lacks lacks)
{
    return lacks >> NDR_FIRST_VARIANT && lacks & ndr_op_leave_out(operation, variant);
}

static bool can_run(const ndr_operation *operation, const ndr_op_variant *variant, const ndr_caps *caps,
                    ndr_lacks lacks, const void *request)
{
    return !ndr_op_find_unmet(variant, caps, lacks) && !is_left_out(operation, variant, lacks)
           && !ndr_op_cannot(variant, request);
}

/* If those that suit the request are left out, the last one that can run it: the later ones have fewer needs. */
const ndr_op_variant *ndr_op_select(const ndr_operation *operation, const ndr_caps *caps, ndr_lacks lacks,
                                    const ndr_op_variant *preferred, const void *request)
{
    const ndr_op_variant *last = NULL;
    if (preferred && can_run(operation, preferred, caps, lacks, request)) return preferred;
    for (size_t i = 0; i < operation->variant_count; ++i) {
        const ndr_op_variant *v = operation->variants[i];
        if (!can_run(operation, v, caps, lacks, request)) continue;
        if (!ndr_op_unsuited(v, caps, request)) return v;
        last = v;
    }
    return last;
}

void ndr_op_explain(const ndr_operation *operation, const ndr_caps *caps, ndr_lacks lacks,
                    const ndr_op_variant *preferred, const void *request, ndr_text *out)
{
    const ndr_op_variant *taken = ndr_op_select(operation, caps, lacks, preferred, request);
    ndr_text_add(out, "%s: %s", operation->name, taken ? taken->name : "none");
    for (size_t i = 0; i < operation->variant_count; ++i) {
        const ndr_op_variant *v = operation->variants[i];
        const char *unmet = ndr_op_find_unmet(v, caps, lacks), *why = unmet ? unmet : ndr_op_cannot(v, request);
        if (v == taken) continue;
        if (!why && is_left_out(operation, v, lacks)) why = "its results are wrong on this device";
        if (!why) why = ndr_op_unsuited(v, caps, request);
        if (!why) why = taken == preferred ? "another is preferred" : "it comes later in the list";
        ndr_text_add(out, "; not %s: %s%s", v->name, unmet ? "the device lacks " : "", why);
    }
}

static void log_choice(const ndr_operation *operation, const ndr_caps *caps, ndr_lacks lacks,
                       const ndr_op_variant *preferred, const void *request)
{
    ndr_text text = { 0 };
    ndr_op_explain(operation, caps, lacks, preferred, request, &text);
    ndr_log(NDR_LOG_DEBUG, "op.row", "%s", text.chars ? text.chars : operation->name);
    ndr_text_free(&text);
}

static ndr_status refuse_all(const ndr_operation *operation, const ndr_context *context)
{
    return ndr_fail(NDR_UNSUPPORTED,
                    "ndr_%s: no implementation gives right results on device \"%s\" (driver %s); `ndr selftest` shows "
                    "why. Update the driver, or set NDR_SELFTEST=off to use it nevertheless",
                    operation->name, context->caps.info.name, context->caps.info.driver);
}

/* The variants that must be tried and have not been. */
static ndr_lacks find_untried(const ndr_operation *operation, ndr_context *context)
{
    ndr_preference *known;
    ndr_lacks untried = 0;
    if (ndr_op_get_every_class(context, operation, &known) != NDR_OK) return 0;
    for (size_t i = 0; i < operation->variant_count; ++i)
        if (operation->variants[i]->prove) untried |= ndr_op_leave_out(operation, operation->variants[i]);
    return untried & ~atomic_load(&known->judged);
}

/* Whether a variant is tried in a thread, and meanwhile another one can run the request; `left_out` gets those that
 * must be tried first. Such a thread itself tries what it needs. */
static bool waits_for_trial(const ndr_operation *operation, ndr_context *context, const void *request, ndr_lacks lacks,
                            const ndr_op_variant *variant, ndr_lacks *left_out)
{
    ndr_choices *choices;
    const ndr_lacks untried = find_untried(operation, context);
    if (!variant->proves_later || !(untried & ndr_op_leave_out(operation, variant))) return false;
    if (ndr_choices_get(context, &choices) != NDR_OK) return false;
    if (atomic_load(&choices->trusts) || choices->tried_for) return false;
    if (!ndr_op_select(operation, &context->caps, lacks | untried, NULL, request)) return false;
    if (!ndr_op_tries(operation, context, variant)) return false;
    *left_out |= untried;
    return true;
}

/* A variant whose results are wrong is recorded, and another is selected, as instead of one that cannot be tried now.
 * Nothing of `left_out` is selected. One that must be tried is tried now if a test or ndr_tune() prefers it, or if
 * `waits` is NULL; otherwise `waits` becomes true, and another is selected. */
static ndr_status select_variant(const ndr_operation *operation, ndr_context *context, const void *request,
                                 ndr_lacks left_out, bool *waits, const ndr_op_variant **variant)
{
    ndr_lacks lacks;
    const uint32_t request_class = operation->class_of ? operation->class_of(request) : NDR_EVERY_CLASS;
    const ndr_op_variant *preferred;
    bool is_right = false;
    do {
        NDR_TRY(ndr_op_get_preferred(context, operation, request_class, &preferred, &lacks));
        lacks |= left_out;
        *variant = ndr_op_select(operation, &context->caps, lacks, preferred, request);
        if (!*variant) return refuse_all(operation, context);
        if (waits && *variant != preferred
            && waits_for_trial(operation, context, request, lacks, *variant, &left_out)) {
            *waits = true;
            continue;
        }
        NDR_TRY(ndr_op_prove(operation, context, *variant, &is_right));
        if (!is_right) left_out |= ndr_op_leave_out(operation, *variant);
    } while (!is_right);
    if (ndr_logs(NDR_LOG_DEBUG)) log_choice(operation, &context->caps, lacks, preferred, request);
    return NDR_OK;
}

ndr_status ndr_op_explain_in(const ndr_operation *operation, ndr_context *context, const void *request, size_t capacity,
                             char *text, size_t *length)
{
    const uint32_t request_class = operation->class_of ? operation->class_of(request) : NDR_EVERY_CLASS;
    const ndr_op_variant *variant, *preferred;
    ndr_lacks lacks;
    ndr_text whole = { 0 };
    NDR_REQUIRE(text || capacity == 0,
                "ndr_%s_explain: text is NULL, but capacity is %zu; pass memory of that size, "
                "or 0",
                operation->name, capacity);
    NDR_TRY(select_variant(operation, context, request, 0, NULL, &variant));
    NDR_TRY(ndr_op_get_preferred(context, operation, request_class, &preferred, &lacks));
    ndr_op_explain(operation, &context->caps, lacks, preferred, request, &whole);
    const bool failed = whole.failed;
    const char *after_name = failed ? "" : whole.chars + strlen(operation->name) + strlen(": ");
    if (!failed && capacity) snprintf(text, capacity, "%s", after_name);
    if (!failed && length) *length = strlen(after_name);
    ndr_text_free(&whole);
    return failed ? ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for the reasons") : NDR_OK;
}

/* ---- running ---- */

/* In a trace, the launches of a variant are a region. */
static ndr_status run_traced(const ndr_operation *operation, const ndr_op_variant *variant, const ndr_order *order,
                             const void *request, ndr_event **event)
{
    char label[96];
    const ndr_op_work work = operation->work_of(request);
    snprintf(label, sizeof label, "%s %s", operation->name, variant->name);
    ndr_trace_begin(label, work.bytes, work.flops);
    const ndr_status status = ndr_op_run_variant(variant, order, request, event);
    ndr_trace_end();
    return status;
}

/* Whether the caller wrote a part of the kernel's text. */
static bool has_own_text(const ndr_op_variant *variant, const ndr_caps *caps, const void *request)
{
    ndr_text text = { 0 };
    if (variant->write) variant->write(&(ndr_op_case){ variant, caps, request }, &text);
    const bool has = text.length > 0;
    ndr_text_free(&text);
    return has;
}

/* If a variant's kernel does not build although the device reports its needs, record that; the next one is tried. If the
 * reason may be the caller's text, only this call leaves the needs out. */
static bool is_to_try_again(const ndr_operation *operation, ndr_context *context, const ndr_op_variant *variant,
                            const void *request, ndr_status status, ndr_lacks *left_out)
{
    ndr_choices *choices;
    if (status != NDR_BUILD_FAILED || !variant->needs || ndr_choices_get(context, &choices) != NDR_OK) return false;
    *left_out |= variant->needs;
    if (has_own_text(variant, &context->caps, request)) return true;
    ndr_log(NDR_LOG_WARN, "op.lacks", "%s: %s did not build, although device \"%s\" reports what it needs: %s",
            operation->name, variant->name, context->caps.info.name, ndr_last_error());
    atomic_fetch_or(&choices->lacks, variant->needs);
    return true;
}

ndr_status ndr_op_run(const ndr_operation *operation, const ndr_order *order, const void *request, ndr_event **event)
{
    ndr_context *const context = order->queue->context;
    const ndr_op_variant *variant;
    ndr_status status;
    ndr_lacks left_out = 0;
    bool waits = false;
    do {
        NDR_TRY(select_variant(operation, context, request, left_out, &waits, &variant));
        if (waits && variant->meanwhile) variant = variant->meanwhile;
        status = ndr_is_traced() ? run_traced(operation, variant, order, request, event)
                                 : ndr_op_run_variant(variant, order, request, event);
    } while (is_to_try_again(operation, context, variant, request, status, &left_out));
    if (waits) ndr_op_start_trials(context);
    return status;
}

ndr_status ndr_op_build(const ndr_operation *operation, ndr_context *context, const void *request, const char *name,
                        ndr_kernel **kernel)
{
    const ndr_op_variant *variant;
    ndr_status status;
    ndr_lacks left_out = 0;
    do {
        NDR_TRY(select_variant(operation, context, request, left_out, NULL, &variant));
        status = ndr_op_build_variant(variant, context, request, name, kernel);
    } while (is_to_try_again(operation, context, variant, request, status, &left_out));
    return status;
}
