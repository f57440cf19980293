/* histogram.c - ndr_histogram(): its checks and the list of its implementations. */
#include "device/context.h"
#include "device/queue.h"
#include "ndr/ndr_ops.h"
#include "ops/histogram/histogram.h"

#include <math.h>

/* ---- the list ---- */

#define VARIANTS(V) V(chunks) V(bytes) V(groups) V(atomics)
#define DECLARE(name) extern const ndr_op_variant ndr_histogram_##name;
#define POINT_TO(name) &ndr_histogram_##name,
VARIANTS(DECLARE)
static const ndr_op_variant *const variants[] = { VARIANTS(POINT_TO) };

static ndr_op_work work_of(const void *request)
{
    const ndr_histogram_request *r = request;
    const size_t element = r->input.element_bytes + (r->has_weights ? r->weights.element_bytes : 0);
    return (ndr_op_work){ r->input.cols * element + r->output.cols * r->output.element_bytes, 0 };
}

const ndr_operation ndr_histogram_operation = { "histogram", variants, NDR_COUNT_OF(variants), NULL, work_of };

size_t ndr_histogram_table(const ndr_histogram_request *request)
{
    return (size_t)request->channels * (request->bin_count + (size_t)1);
}

/* ---- checks ---- */

static ndr_operand operand_of(const char *name, ndr_span span, size_t count, ndr_dtype dtype)
{
    return ndr_operand_of("ndr_histogram", name, span, count, ndr_dtype_size(dtype));
}

static const char *shown(ndr_dtype dtype) { return dtype == NDR_DTYPE_NONE ? "not set" : ndr_dtype_name(dtype); }

static ndr_status check_types(const ndr_device_info *device, const ndr_histogram_desc *desc)
{
    const bool has_weights = desc->weights.buffer;
    const ndr_dtype out = desc->output_dtype;
    NDR_REQUIRE(ndr_dtype_describe(desc->dtype) && desc->dtype != NDR_DTYPE_I64 && desc->dtype != NDR_DTYPE_U64
                    && !ndr_dtype_is_narrow(desc->dtype),
                "ndr_histogram: dtype is %s; use i8, u8, i16, u16, i32, u32, f32 or f64", shown(desc->dtype));
    NDR_REQUIRE_AS(NDR_UNSUPPORTED, desc->dtype != NDR_DTYPE_F64 || device->has_f64,
                   "ndr_histogram: device \"%s\" has no f64; use f32", device->name);
    NDR_REQUIRE(out == NDR_DTYPE_U32 || out == (has_weights ? NDR_DTYPE_F32 : NDR_DTYPE_U64),
                "ndr_histogram: output_dtype is %s; use u32 or %s weights", shown(out),
                has_weights ? "f32, the dtype of the" : "u64, or f32 with");
    return NDR_OK;
}

static ndr_status check_counts(const ndr_histogram_desc *desc, unsigned channels)
{
    NDR_REQUIRE(channels <= 4, "ndr_histogram: channels is %u; use 1 to 4", channels);
    NDR_REQUIRE(desc->bins > 0, "ndr_histogram: bins is 0; use 1 or more");
    NDR_REQUIRE_AS(NDR_LIMIT_EXCEEDED, desc->bins < ((size_t)1 << 31) / channels,
                   "ndr_histogram: %zu bins in each of %u channels are too many; use less than 2^31 in all", desc->bins,
                   channels);
    NDR_REQUIRE(
        desc->count % channels == 0,
        "ndr_histogram: count is %zu, which is not a multiple of %u channels; count the elements of all channels",
        desc->count, channels);
    return NDR_OK;
}

/* The range of an integer dtype, whose greatest value and 1 is `end`. */
static void find_range(ndr_dtype dtype, double *least, double *end)
{
    const ndr_dtype_info *const info = ndr_dtype_describe(dtype);
    const double values = (double)(UINT64_C(1) << 8 * info->size_bytes);
    *least = info->is_signed ? -values / 2 : 0;
    *end = *least + values;
}

/* The s for which values is bins * 2^s; 32: there is none. */
static unsigned find_shift(uint64_t bins, uint64_t values)
{
    unsigned shift = 0;
    while (shift < 32 && bins << shift != values) ++shift;
    return shift;
}

static ndr_status set_integer_bins(const ndr_histogram_desc *desc, ndr_histogram_request *r)
{
    double least, end;
    find_range(desc->dtype, &least, &end);
    NDR_REQUIRE(desc->lower >= least && desc->upper <= end,
                "ndr_histogram: bins of %s are from %.0f to %.0f; use a range within %.0f to %.0f",
                ndr_dtype_name(desc->dtype), desc->lower, desc->upper, least, end);
    NDR_REQUIRE((double)(int64_t)desc->lower == desc->lower && (double)(int64_t)desc->upper == desc->upper,
                "ndr_histogram: bins of %s are from %g to %g; use whole numbers, or edges", ndr_dtype_name(desc->dtype),
                desc->lower, desc->upper);
    const uint64_t values = (uint64_t)((int64_t)desc->upper - (int64_t)desc->lower);
    const unsigned shift = find_shift(r->bin_count, values);
    r->first = (uint32_t)(int64_t)desc->lower;
    r->limit = (uint32_t)(values - 1);
    r->step = shift < 32 ? shift : ((uint64_t)r->bin_count << 32) / values;
    r->bins = shift == 32 ? NDR_BINS_OF_RATIO : (double)values == end - least ? NDR_BINS_OF_ALL : NDR_BINS_OF_SHIFT;
    return NDR_OK;
}

static ndr_status set_bins(const ndr_histogram_desc *desc, ndr_histogram_request *r)
{
    const bool is_f32 = desc->dtype == NDR_DTYPE_F32;
    r->bins = NDR_BINS_OF_EDGES;
    if (desc->edges.buffer) return NDR_OK;
    r->lower = is_f32 ? (double)(float)desc->lower : desc->lower;
    r->upper = is_f32 ? (double)(float)desc->upper : desc->upper;
    NDR_REQUIRE(isfinite(r->upper - r->lower) && r->lower < r->upper,
                "ndr_histogram: lower is %g and upper is %g; use finite numbers, upper the greater one, or edges",
                desc->lower, desc->upper);
    if (!ndr_dtype_describe(desc->dtype)->is_float) return set_integer_bins(desc, r);
    r->bins = NDR_BINS_OF_REALS;
    return NDR_OK;
}

static ndr_status make_request(const ndr_context *context, const ndr_histogram_desc *desc, ndr_histogram_request *r)
{
    NDR_REQUIRE(desc, "ndr_histogram: desc is NULL; pass the address of a descriptor whose members are set");
    const unsigned channels = desc->channels ? desc->channels : 1;
    const ndr_dtype weight = desc->output_dtype == NDR_DTYPE_F32 ? NDR_DTYPE_F32 : NDR_DTYPE_U32;
    NDR_TRY(check_types(&context->caps.info, desc));
    NDR_TRY(check_counts(desc, channels));
    *r = (ndr_histogram_request){
        .dtype = desc->dtype,
        .output_dtype = desc->output_dtype,
        .has_weights = desc->weights.buffer,
        .adds = desc->adds,
        .channels = channels,
        .bin_count = (uint32_t)desc->bins,
        .input = operand_of("input", desc->input, desc->count, desc->dtype),
        .weights = operand_of("weights", desc->weights, desc->weights.buffer ? desc->count : 0, weight),
        .edges = operand_of("edges", desc->edges, desc->edges.buffer ? desc->bins + 1 : 0, desc->dtype),
        .output = operand_of("output", desc->output, desc->bins * channels, desc->output_dtype),
    };
    return set_bins(desc, r);
}

static ndr_status check(ndr_queue *queue, const ndr_histogram_desc *desc, ndr_histogram_request *r)
{
    NDR_REQUIRE_SET_IN("ndr_histogram", queue);
    NDR_TRY(make_request(queue->context, desc, r));
    const ndr_operand *const read[] = { &r->input, &r->weights, &r->edges };
    NDR_TRY(ndr_operand_check(&r->output, queue));
    for (size_t i = 0; i < NDR_COUNT_OF(read); ++i) {
        NDR_TRY(ndr_operand_check(read[i], queue));
        NDR_TRY(ndr_operand_check_apart(&r->output, read[i]));
    }
    return NDR_OK;
}

ndr_status ndr_histogram(ndr_queue *queue, const ndr_histogram_desc *desc, ndr_event **event)
{
    const ndr_order order = ndr_order_of(queue);
    ndr_histogram_request request;
    NDR_TRY(check(order.queue, desc, &request));
    return ndr_op_run(&ndr_histogram_operation, &order, &request, event);
}

NDR_OP_EXPLAIN(ndr_histogram, ndr_histogram_request, make_request(context, desc, &r), &ndr_histogram_operation)
