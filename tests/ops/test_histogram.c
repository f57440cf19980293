/* test_histogram.c - ndr_histogram: generated cases of every form of bins against plain loops, and what it refuses. */
#include "support.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>

#include "ndr/ndr_ops.h"

#include "device/context.h"
#include "forcing.h"
#include "ops/histogram/histogram.h"
#include "reference.h"

static const ndr_dtype dtypes[] = { NDR_DTYPE_I8,  NDR_DTYPE_U8,  NDR_DTYPE_I16, NDR_DTYPE_U16,
                                    NDR_DTYPE_I32, NDR_DTYPE_U32, NDR_DTYPE_F32, NDR_DTYPE_F64 };

/* ---- arrays on the host, of any dtype ---- */

static double get(ndr_dtype dtype, const void *array, size_t i)
{
    switch (dtype) {
    case NDR_DTYPE_I8: return ((const int8_t *)array)[i];
    case NDR_DTYPE_U8: return ((const uint8_t *)array)[i];
    case NDR_DTYPE_I16: return ((const int16_t *)array)[i];
    case NDR_DTYPE_U16: return ((const uint16_t *)array)[i];
    case NDR_DTYPE_I32: return ((const int32_t *)array)[i];
    case NDR_DTYPE_U32: return ((const uint32_t *)array)[i];
    case NDR_DTYPE_U64: return (double)((const uint64_t *)array)[i];
    case NDR_DTYPE_F32: return (double)((const float *)array)[i];
    default: return ((const double *)array)[i];
    }
}

/* Of an integer dtype the low bits. */
static void put(ndr_dtype dtype, void *array, size_t i, double value)
{
    switch (dtype) {
    case NDR_DTYPE_I8:
    case NDR_DTYPE_U8: ((uint8_t *)array)[i] = (uint8_t)(int64_t)value; break;
    case NDR_DTYPE_I16:
    case NDR_DTYPE_U16: ((uint16_t *)array)[i] = (uint16_t)(int64_t)value; break;
    case NDR_DTYPE_I32:
    case NDR_DTYPE_U32: ((uint32_t *)array)[i] = (uint32_t)(int64_t)value; break;
    case NDR_DTYPE_U64: ((uint64_t *)array)[i] = (uint64_t)value; break;
    case NDR_DTYPE_F32: ((float *)array)[i] = (float)value; break;
    default: ((double *)array)[i] = value; break;
    }
}

/* ---- a case ---- */

enum { GUARDS = 3 };

typedef struct histogram {
    ndr_histogram_desc desc; /* without buffers */
    bool has_edges, has_weights;
    void *input, *edges, *weights, *output; /* on the host, from element 0 of each buffer; output: before the call */
} histogram;

static size_t channels_of(const histogram *h) { return h->desc.channels ? h->desc.channels : 1; }
static size_t outputs_of(const histogram *h) { return h->desc.bins * channels_of(h); }

/* floor((x - lower) * bins / (upper - lower)) of integers, or in the steps that ndr_ops.h documents; `bins` for none. */
static size_t even_bin(const ndr_histogram_desc *d, double x)
{
    if (!(x >= d->lower && x < d->upper)) return d->bins;
    if (!is_float(d->dtype))
        return (size_t)((uint64_t)(x - d->lower) * (uint64_t)d->bins / (uint64_t)(d->upper - d->lower));
    size_t bin;
    if (d->dtype == NDR_DTYPE_F32) { /* each step is rounded, on systems with wider registers, too */
        const float width = (float)d->upper - (float)d->lower, part = (float)x - (float)d->lower;
        const float scale = (float)d->bins / width, product = part * scale;
        bin = (size_t)product;
    } else {
        const double width = d->upper - d->lower, part = x - d->lower;
        const double scale = (double)d->bins / width, product = part * scale;
        bin = (size_t)product;
    }
    return bin < d->bins ? bin : d->bins - 1;
}

static size_t bin_among_edges(const histogram *h, double x)
{
    const size_t first = h->desc.edges.offset;
    size_t bin = 0;
    if (!(x >= get(h->desc.dtype, h->edges, first))) return h->desc.bins;
    while (bin < h->desc.bins && get(h->desc.dtype, h->edges, first + bin + 1) <= x) ++bin;
    return bin;
}

/* What the output must hold. */
static void *expect(const histogram *h)
{
    const ndr_histogram_desc *const d = &h->desc;
    const size_t all = d->output.offset + outputs_of(h) + GUARDS, size = ndr_dtype_size(d->output_dtype);
    double *const sums = calloc(outputs_of(h), sizeof *sums);
    char *const wanted = malloc(all * size);
    memcpy(wanted, h->output, all * size);
    for (size_t i = 0; i < d->count; ++i) {
        const double x = get(d->dtype, h->input, d->input.offset + i);
        const size_t bin = h->has_edges ? bin_among_edges(h, x) : even_bin(d, x);
        const double weight = h->has_weights ? get(d->output_dtype, h->weights, d->weights.offset + i) : 1;
        if (bin < d->bins) sums[i % channels_of(h) * d->bins + bin] += weight;
    }
    for (size_t i = 0; i < outputs_of(h); ++i) {
        const double before = d->adds ? get(d->output_dtype, h->output, d->output.offset + i) : 0;
        put(d->output_dtype, wanted, d->output.offset + i, before + sums[i]);
    }
    free(sums);
    return wanted;
}

static size_t bytes_of(ndr_dtype dtype, size_t count) { return (count + GUARDS) * ndr_dtype_size(dtype); }

static void run(const histogram *h, void *got)
{
    ndr_histogram_desc d = h->desc;
    const size_t out_bytes = bytes_of(d.output_dtype, d.output.offset + outputs_of(h));
    d.input.buffer = buffer_of(bytes_of(d.dtype, d.input.offset + d.count), h->input);
    d.output.buffer = buffer_of(out_bytes, h->output);
    if (h->has_edges) d.edges.buffer = buffer_of(bytes_of(d.dtype, d.edges.offset + d.bins + 1), h->edges);
    if (h->has_weights) d.weights.buffer = buffer_of(bytes_of(d.output_dtype, d.weights.offset + d.count), h->weights);
    assert_ok(ndr_histogram(queue, &d, NULL));
    read_buffer(d.output.buffer, got, out_bytes);
    destroy_buffers(d.input.buffer, d.output.buffer, d.edges.buffer, d.weights.buffer);
}

static void check(const histogram *h)
{
    const ndr_histogram_desc *const d = &h->desc;
    const size_t bytes = bytes_of(d->output_dtype, d->output.offset + outputs_of(h));
    void *const wanted = expect(h), *const got = malloc(bytes);
    run(h, got);
    if (memcmp(wanted, got, bytes) != 0) {
        size_t i = 0;
        while (get(d->output_dtype, wanted, i) == get(d->output_dtype, got, i)) ++i;
        print_error("%zu of %s, %zu bins from %g to %g%s%s, %u channels: output %zu (offset %zu) is %g, not %g\n",
                    d->count, ndr_dtype_name(d->dtype), d->bins, d->lower, d->upper, h->has_edges ? ", edges" : "",
                    h->has_weights ? ", weights" : "", d->channels, i, d->output.offset, get(d->output_dtype, got, i),
                    get(d->output_dtype, wanted, i));
        fail();
    }
    free(wanted);
    free(got);
}

/* ---- generated cases ---- */

static size_t below(uint64_t *seed, size_t n) { return (size_t)(random_bits(seed) % n); }

/* Of an integer dtype all values; of floats some at edges, outside, and special ones. Where C computes floats with more
 * bits than they have, PoCL does so, too, and counts those at edges in either bin. */
static double element(ndr_dtype dtype, const ndr_histogram_desc *d, uint64_t *seed)
{
    static const double specials[] = { (double)NAN, (double)INFINITY, (double)-INFINITY, -0.0, 0.0, 1e-40 };
    if (!is_float(dtype)) return (double)(int64_t)(int32_t)random_bits(seed);
    if (below(seed, 8) == 0) return specials[below(seed, COUNT_OF(specials))];
    if (below(seed, 4) == 0 && FLT_EVAL_METHOD == 0)
        return d->lower + (d->upper - d->lower) * (double)below(seed, d->bins + 1) / (double)d->bins;
    return d->lower + (d->upper - d->lower) * ((double)below(seed, 1 << 20) / (1 << 19) - 0.5);
}

/* What a kernel is built for. Few: building takes most of the time. */
typedef struct form {
    ndr_dtype dtype, output_dtype;
    unsigned channels;
    bool has_edges, has_weights;
    enum { ALL, SHIFT, RATIO } integers;
} form;

static form random_form(ndr_dtype dtype, uint64_t *seed)
{
    form f = { .dtype = dtype, .channels = (unsigned)below(seed, 5), .integers = (int)below(seed, 3) };
    f.has_edges = below(seed, 4) == 0;
    f.has_weights = below(seed, 3) == 0;
    f.output_dtype = below(seed, 2) ? NDR_DTYPE_U32 : f.has_weights ? NDR_DTYPE_F32 : NDR_DTYPE_U64;
    return f;
}

static size_t below_size(uint64_t *seed, double end)
{
    return (size_t)((double)below(seed, 1 << 20) / (1 << 20) * end);
}

/* Of bins of a shift or of all values, also how many there are. */
static void set_bounds(ndr_histogram_desc *d, const form *f, uint64_t *seed)
{
    const unsigned bits = 8 * (unsigned)ndr_dtype_size(d->dtype);
    const bool is_signed = d->dtype == NDR_DTYPE_I8 || d->dtype == NDR_DTYPE_I16 || d->dtype == NDR_DTYPE_I32;
    const double values = ldexp(1, (int)bits), least = is_signed ? -values / 2 : 0;
    if (is_float(d->dtype)) {
        d->lower = (double)(float)((double)below(seed, 2000) / 7 - 100);
        d->upper = (double)(float)(d->lower + 0.001 + (double)below(seed, 1000) / 3);
    } else if (f->integers == ALL) {
        d->lower = least;
        d->upper = least + values;
        d->bins = (size_t)1 << below(seed, 9);
    } else if (f->integers == SHIFT) {
        const unsigned shift = (unsigned)below(seed, bits);
        d->bins = 1 + below_size(seed, fmin(ldexp(1, (int)(bits - shift)), 1000) - 1);
        d->lower = least + (double)below_size(seed, values - ldexp((double)d->bins, (int)shift));
        d->upper = d->lower + ldexp((double)d->bins, (int)shift);
    } else {
        d->lower = least + (double)below_size(seed, values - 1);
        d->upper = d->lower + 1 + (double)below_size(seed, least + values - d->lower - 1);
    }
}

static int ascend(const void *a, const void *b)
{
    return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

static void set_edges(histogram *h, uint64_t *seed)
{
    const ndr_histogram_desc *const d = &h->desc;
    double *const edges = malloc((d->bins + 1) * sizeof *edges);
    for (size_t i = 0; i <= d->bins; ++i) {
        put(d->dtype, h->edges, 0,
            is_float(d->dtype) ? d->lower + (double)below(seed, 1000) : element(d->dtype, d, seed));
        edges[i] = get(d->dtype, h->edges, 0);
    }
    qsort(edges, d->bins + 1, sizeof *edges, ascend);
    for (size_t i = 0; i <= d->bins; ++i) put(d->dtype, h->edges, d->edges.offset + i, edges[i]);
    free(edges);
}

static void fill(histogram *h, uint64_t *seed)
{
    const ndr_histogram_desc *const d = &h->desc;
    const size_t outputs = d->output.offset + outputs_of(h) + GUARDS;
    h->input = malloc(bytes_of(d->dtype, d->input.offset + d->count));
    h->output = malloc(bytes_of(d->output_dtype, d->output.offset + outputs_of(h)));
    h->edges = malloc(bytes_of(d->dtype, d->edges.offset + d->bins + 1));
    h->weights = malloc(bytes_of(d->output_dtype, d->weights.offset + d->count));
    for (size_t i = 0; i < d->input.offset + d->count + GUARDS; ++i)
        put(d->dtype, h->input, i, element(d->dtype, d, seed));
    for (size_t i = 0; i < outputs; ++i) put(d->output_dtype, h->output, i, (double)below(seed, 100));
    for (size_t i = 0; i < d->edges.offset + d->bins + 1 + GUARDS; ++i) put(d->dtype, h->edges, i, 0);
    for (size_t i = 0; i < d->weights.offset + d->count + GUARDS; ++i) /* whole: their sums have no rounding */
        put(d->output_dtype, h->weights, i, (double)below(seed, 100));
    if (h->has_edges) set_edges(h, seed);
}

static void release(histogram *h)
{
    free(h->input);
    free(h->output);
    free(h->edges);
    free(h->weights);
}

static histogram generate(const form *f, size_t count, size_t bins, uint64_t *seed)
{
    histogram h = {
        .desc = { .dtype = f->dtype, .output_dtype = f->output_dtype, .bins = bins, .channels = f->channels },
        .has_edges = f->has_edges,
        .has_weights = f->has_weights
    };
    h.desc.count = count / channels_of(&h) * channels_of(&h);
    h.desc.input.offset = below(seed, 5);
    h.desc.edges.offset = below(seed, 5);
    h.desc.weights.offset = below(seed, 5);
    h.desc.output.offset = below(seed, 5);
    h.desc.adds = below(seed, 2);
    set_bounds(&h.desc, f, seed);
    fill(&h, seed);
    return h;
}

static const size_t counts[] = { 0, 1, 2, 3, 4, 5, 31, 127, 1009, 4096, 4097, 65537 };
static const size_t bin_counts[] = { 1, 2, 3, 7, 16, 100, 255, 256, 257, 1000 };

static void test_histogram__agrees_with_a_loop(void **state)
{
    uint64_t seed = number_from_env("NDR_TEST_SEED", 28);
    print_message("seed %" PRIu64 "\n", seed);
    for (size_t i = 0; i < (quick() ? 1 : 2) * COUNT_OF(dtypes); ++i) {
        const form f = random_form(dtypes[i % COUNT_OF(dtypes)], &seed);
        const size_t cases = f.dtype == NDR_DTYPE_F64 && !device.has_f64 ? 0 : all_cases() ? 5 : 2;
        for (size_t j = 0; j < cases; ++j) {
            const size_t count = counts[below(&seed, COUNT_OF(counts) - (quick() ? 4 : 0))];
            histogram h = generate(&f, count, bin_counts[below(&seed, COUNT_OF(bin_counts))], &seed);
            check(&h);
            release(&h);
        }
    }
}

/* More bins than local memory holds, unless a variant is forced that has them there, and more elements than one chunk or
 * one round of groups has. */
static void test_histogram__takes_many_bins_and_elements(void **state)
{
    uint64_t seed = number_from_env("NDR_TEST_SEED", 29);
    const size_t more = quick() ? 5000 : 1000003, local = device.local_memory_bytes / sizeof(cl_uint) - 64;
    const bool needs_local = is_forced(&ndr_histogram_operation, "groups");
    static const form ratio = { NDR_DTYPE_U32, NDR_DTYPE_U32, .integers = RATIO };
    static const form all = { NDR_DTYPE_U8, NDR_DTYPE_U64, .integers = ALL };
    const size_t bins = quick() ? 20000 : 300007;
    histogram h = generate(&ratio, more, needs_local && bins > local ? local : bins, &seed);
    check(&h);
    release(&h);
    h = generate(&all, more, 256, &seed);
    check(&h);
    release(&h);
}

/* Each integer near a bound of two bins, with ratios that are not whole: no rounding is seen. */
static void test_histogram__divides_integers_exactly(void **state)
{
    static const double uppers[] = { 4294967296.0, 4294967295.0, 4294967291.0, 3000000019.0, 65537, 7 };
    static const size_t bins[] = { 3, 7, 4093, 65521 };
    for (size_t u = 0; u < COUNT_OF(uppers); ++u)
        for (size_t b = 0; b < COUNT_OF(bins) - (quick() ? 2 : 0); ++b) {
            histogram h = { .desc = { .dtype = NDR_DTYPE_U32, .output_dtype = NDR_DTYPE_U32, .bins = bins[b] } };
            uint64_t seed = 1;
            h.desc.upper = uppers[u];
            h.desc.count = quick() ? 300 : 30000;
            fill(&h, &seed);
            for (size_t i = 0; i < h.desc.count; ++i) {
                const double bound = ceil((double)(i / 3) * uppers[u] / (double)bins[b]);
                put(NDR_DTYPE_U32, h.input, i, fmin(fmax(bound + (double)(i % 3) - 1, 0), 4294967295.0));
            }
            check(&h);
            release(&h);
        }
}

static void test_histogram__of_any_edges_stays_inside(void **state)
{
    uint64_t seed = 30;
    static const form edges = { NDR_DTYPE_F32, NDR_DTYPE_U32, .has_edges = true };
    histogram h = generate(&edges, 1009, 100, &seed);
    uint64_t total = 0;
    h.desc.adds = false;
    h.desc.output.offset = 0;
    for (size_t i = 0; i <= h.desc.bins; ++i)
        put(NDR_DTYPE_F32, h.edges, h.desc.edges.offset + i, element(NDR_DTYPE_F32, &h.desc, &seed));
    uint32_t *const got = malloc(bytes_of(NDR_DTYPE_U32, outputs_of(&h)));
    run(&h, got);
    for (size_t i = 0; i < outputs_of(&h); ++i) total += got[i];
    assert_true(total <= h.desc.count);
    for (size_t i = 0; i < GUARDS; ++i)
        assert_true(got[outputs_of(&h) + i] == ((uint32_t *)h.output)[outputs_of(&h) + i]);
    free(got);
    release(&h);
}

/* ---- refusals ---- */

static ndr_histogram_desc plain(void)
{
    return (ndr_histogram_desc){
        .dtype = NDR_DTYPE_U8, .output_dtype = NDR_DTYPE_U32, .bins = 4, .upper = 256, .channels = 2, .count = 6
    };
}

#define REFUSED(status, part, ...)                                                         \
    do {                                                                                   \
        ndr_histogram_desc d = plain();                                                    \
        __VA_ARGS__;                                                                       \
        assert_refused((status), ndr_histogram(queue, &d, NULL), "ndr_histogram: ", part); \
    } while (0)

static void test_histogram__refuses_what_has_no_bins(void **state)
{
    REFUSED(NDR_BAD_ARGUMENT, "dtype is not set; use i8", d.dtype = NDR_DTYPE_NONE);
    REFUSED(NDR_BAD_ARGUMENT, "dtype is u64; use i8", d.dtype = NDR_DTYPE_U64);
    REFUSED(NDR_BAD_ARGUMENT, "dtype is f16; use i8", d.dtype = NDR_DTYPE_F16);
    REFUSED(NDR_BAD_ARGUMENT, "output_dtype is not set; use u32 or u64, or f32 with weights", d.output_dtype = 0);
    REFUSED(NDR_BAD_ARGUMENT, "output_dtype is f32; use u32 or u64, or f32 with weights",
            d.output_dtype = NDR_DTYPE_F32);
    REFUSED(NDR_BAD_ARGUMENT, "channels is 5; use 1 to 4", d.channels = 5);
    REFUSED(NDR_BAD_ARGUMENT, "bins is 0; use 1 or more", d.bins = 0);
    REFUSED(NDR_LIMIT_EXCEEDED, "in each of 2 channels are too many", d.bins = (size_t)1 << 30);
    REFUSED(NDR_BAD_ARGUMENT, "count is 7, which is not a multiple of 2 channels", d.count = 7);
    REFUSED(NDR_BAD_ARGUMENT, "lower is 0 and upper is 0; use finite numbers", d.upper = 0);
    REFUSED(NDR_BAD_ARGUMENT, "lower is 9 and upper is 8; use finite numbers", d.lower = 9, d.upper = 8);
    REFUSED(NDR_BAD_ARGUMENT, "use finite numbers", d.dtype = NDR_DTYPE_F32, d.upper = (double)INFINITY);
    REFUSED(NDR_BAD_ARGUMENT, "use finite numbers", d.lower = (double)NAN);
    REFUSED(NDR_BAD_ARGUMENT, "bins of u8 are from 0 to 257; use a range within 0 to 256", d.upper = 257);
    REFUSED(NDR_BAD_ARGUMENT, "bins of i8 are from 0 to 129; use a range within -128 to 128", d.dtype = NDR_DTYPE_I8,
            d.upper = 129);
    REFUSED(NDR_BAD_ARGUMENT, "bins of u8 are from 0.5 to 9; use whole numbers, or edges", d.lower = 0.5, d.upper = 9);
    REFUSED(NDR_BAD_ARGUMENT, "output has no buffer", d.lower = 0);
}

static void test_histogram__refuses_buffers_that_do_not_fit(void **state)
{
    ndr_buffer *const x = buffer_of(64, NULL), *const y = buffer_of(64, NULL);
    REFUSED(NDR_BAD_ARGUMENT, "input has no buffer", d.output.buffer = y);
    REFUSED(NDR_OUT_OF_BOUNDS, "input is 66 elements", d.output.buffer = y, d.input.buffer = x, d.count = 66);
    REFUSED(NDR_OUT_OF_BOUNDS, "output is 8 elements from element 9", d.output.buffer = y, d.output.offset = 9,
            d.input.buffer = x);
    REFUSED(NDR_OUT_OF_BOUNDS, "edges is 5 elements from element 60", d.output.buffer = y, d.input.buffer = x,
            d.edges.buffer = x, d.edges.offset = 60);
    REFUSED(NDR_OUT_OF_BOUNDS, "weights is 18 elements", d.output.buffer = y, d.input.buffer = x, d.weights.buffer = x,
            d.count = 18);
    REFUSED(NDR_BAD_ARGUMENT, "output_dtype is u64; use u32 or f32, the dtype of the weights", d.weights.buffer = x,
            d.output_dtype = NDR_DTYPE_U64);
    REFUSED(NDR_BAD_ARGUMENT, "overlaps input", d.output.buffer = x, d.input.buffer = x);
    REFUSED(NDR_BAD_ARGUMENT, "overlaps edges", d.output.buffer = y, d.input.buffer = x, d.edges.buffer = y);
    REFUSED(NDR_BAD_ARGUMENT, "overlaps weights", d.output.buffer = y, d.input.buffer = x, d.weights.buffer = y);
    assert_refused(NDR_BAD_ARGUMENT, ndr_histogram(NULL, &(ndr_histogram_desc){ 0 }, NULL),
                   "ndr_histogram: queue is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_histogram(queue, NULL, NULL), "ndr_histogram: desc is NULL");
    destroy_buffers(x, y);
}

static void test_histogram__explains_its_choice(void **state)
{
    char text[400];
    const ndr_histogram_desc d = plain();
    size_t length = 0;
    assert_ok(ndr_histogram_explain(context, &d, sizeof text, text, &length));
    const char *const wanted = ndr_has_vectors(&context->caps) ? "chunks; not bytes: " : "groups; not chunks: ";
    if (!forced_variant) assert_memory_equal(text, wanted, strlen(wanted));
    assert_int_equal(length, strlen(text));
}

static bool is_chosen(const ndr_op_variant *variant)
{
    return is_variant(variant, ndr_has_vectors(&context->caps) ? "chunks" : "groups");
}

int main(void)
{
    static const struct CMUnitTest all[] = {
        cmocka_unit_test(test_histogram__agrees_with_a_loop),
        cmocka_unit_test(test_histogram__takes_many_bins_and_elements),
        cmocka_unit_test(test_histogram__divides_integers_exactly),
        cmocka_unit_test(test_histogram__of_any_edges_stays_inside),
        cmocka_unit_test(test_histogram__refuses_what_has_no_bins),
        cmocka_unit_test(test_histogram__refuses_buffers_that_do_not_fit),
        cmocka_unit_test(test_histogram__explains_its_choice),
    };
    const variant_tests tests = {
        .all = all, .results = all, .all_count = COUNT_OF(all), .result_count = 4, .is_chosen = is_chosen
    };
    return run_variants(&ndr_histogram_operation, &tests);
}
