/* answers.c - the requests of self-tests, of sizes around the parts into which implementations divide the work, and their
 * results by plain loops. All are exact. */
#include "device/context.h"
#include "device/queue.h"
#include "ops/answers.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- arrays, with elements before and after them that would change results ---- */

enum { BEFORE = 3, AFTER = 5, POISON = 0x5A };

typedef struct array {
    size_t count, element_bytes, all_bytes;
    uint8_t *all; /* on the host */
    ndr_buffer *buffer;
} array;

/* Elements of 4 bytes. */
static uint32_t *words_of(const array *a) { return (uint32_t *)(void *)a->all + BEFORE; }

static ndr_span span_of(const array *a) { return (ndr_span){ a->buffer, BEFORE }; }

static ndr_status allocate(ndr_trial *t, size_t bytes, uint8_t **out)
{
    *out = malloc(bytes);
    if (!*out) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "ndr_selftest: no memory for %zu bytes", bytes);
    t->hosts[t->host_count++] = *out;
    return NDR_OK;
}

static ndr_status make(ndr_trial *t, size_t count, size_t element_bytes, array *a)
{
    *a = (array){ .count = count, .element_bytes = element_bytes, .all_bytes = (BEFORE + count + AFTER) * element_bytes };
    NDR_TRY(allocate(t, a->all_bytes, &a->all));
    memset(a->all, POISON, a->all_bytes);
    return NDR_OK;
}

static ndr_status upload(ndr_trial *t, array *a)
{
    NDR_TRY(ndr_buffer_create_from(t->queue->context, a->all_bytes, a->all, &a->buffer));
    t->buffers[t->buffer_count++] = a->buffer;
    return NDR_OK;
}

/* An output, and memory for what it should hold. */
static ndr_status make_output(ndr_trial *t, size_t count, size_t element_bytes, array *a)
{
    NDR_TRY(make(t, count, element_bytes, a));
    return upload(t, a);
}

/* For messages. */
static uint64_t read_element(const array *a, const uint8_t *all, size_t i)
{
    uint64_t bits = 0;
    for (size_t b = a->element_bytes; b-- > 0;) bits = bits << 8 | all[i * a->element_bytes + b];
    return bits;
}

/* The whole buffer, so that nothing is written beside the output. */
static ndr_status check(ndr_trial *t, const array *a, const char *what)
{
    uint8_t *got;
    size_t i = 0;
    NDR_TRY(allocate(t, a->all_bytes, &got));
    NDR_TRY(ndr_buffer_read(t->queue, a->buffer, 0, a->all_bytes, got, NULL));
    if (memcmp(got, a->all, a->all_bytes) == 0 || *t->fault) return NDR_OK;
    while (read_element(a, got, i) == read_element(a, a->all, i)) ++i;
    snprintf(t->fault, sizeof t->fault, "%s: element %td of %zu is 0x%" PRIx64 " instead of 0x%" PRIx64, what,
             (ptrdiff_t)i - BEFORE, a->count, read_element(a, got, i), read_element(a, a->all, i));
    return NDR_OK;
}

static uint32_t mix(size_t i)
{
    uint64_t x = (i + 1) * UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ x >> 32) * UINT64_C(0xD6E8FEB86659FD93);
    return (uint32_t)(x >> 32);
}

/* From -8 to 7. Sums of a million are exact in f32, in any order. */
static int small(size_t i) { return (int)(mix(i) % 16) - 8; }

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

#define EXPLAIN(t, function, desc) \
    if ((t)->explains) return function((t)->queue->context, &(desc), sizeof (t)->taken, (t)->taken, NULL)

/* ---- reduce: sums ---- */

static const size_t sizes[] = { 1, 255, 4097, 70001, 1000003 };

enum { SIZES = NDR_COUNT_OF(sizes) };

static const struct {
    ndr_dtype dtype;
    ndr_reduce_method method;
} reductions[] = { { NDR_DTYPE_F32, NDR_REDUCE_TREE },
                   { NDR_DTYPE_I32, NDR_REDUCE_ATOMIC },
                   { NDR_DTYPE_F32, NDR_REDUCE_RECURSIVE } };

static ndr_status ask_reduce(ndr_trial *t, size_t i)
{
    array in, out;
    int sum = 0;
    ndr_reduce_desc desc = { .dtype = reductions[i / SIZES].dtype,
                             .op = NDR_OP_SUM,
                             .method = reductions[i / SIZES].method,
                             .count = sizes[i % SIZES] };
    const bool is_float = desc.dtype == NDR_DTYPE_F32;
    EXPLAIN(t, ndr_reduce_explain, desc);
    NDR_TRY(make(t, desc.count, 4, &in));
    for (size_t j = 0; j < desc.count; ++j) {
        sum += small(j);
        words_of(&in)[j] = is_float ? bits_of((float)small(j)) : (uint32_t)small(j);
    }
    NDR_TRY(upload(t, &in));
    NDR_TRY(make_output(t, 1, 4, &out));
    *words_of(&out) = is_float ? bits_of((float)sum) : (uint32_t)sum;
    desc.input = span_of(&in);
    desc.output = span_of(&out);
    NDR_TRY(ndr_reduce(t->queue, &desc, NULL));
    return check(t, &out, is_float ? "the sum of f32" : "the sum of i32");
}

/* ---- scan: sums ---- */

static ndr_status ask_scan(ndr_trial *t, size_t i)
{
    array in, out;
    uint32_t sum = 0;
    ndr_scan_desc desc = { .dtype = NDR_DTYPE_U32, .op = NDR_OP_SUM, .count = sizes[i] };
    EXPLAIN(t, ndr_scan_explain, desc);
    NDR_TRY(make(t, desc.count, 4, &in));
    for (size_t j = 0; j < desc.count; ++j) words_of(&in)[j] = mix(j);
    NDR_TRY(upload(t, &in));
    NDR_TRY(make_output(t, desc.count, 4, &out));
    for (size_t j = 0; j < desc.count; ++j) words_of(&out)[j] = sum += mix(j);
    desc.input = span_of(&in);
    desc.output = span_of(&out);
    NDR_TRY(ndr_scan(t->queue, &desc, NULL));
    return check(t, &out, "the scan of u32");
}

/* ---- scans of lines: sums along either dimension of a matrix ---- */

static ndr_status ask_array_scan(ndr_trial *t, size_t i)
{
    array in, out;
    const size_t axis = i / SIZES, size = ndr_max_size(sizes[i % SIZES] / 37, 1);
    const ndr_range shape = axis ? ndr_range_2d(37, size) : ndr_range_2d(size, 37);
    const ndr_array matrix = ndr_array_of(NULL, NDR_DTYPE_U32, shape);
    ndr_array_scan_desc desc = { .op = NDR_OP_SUM, .axis = (unsigned)axis, .input = matrix, .output = matrix };
    const size_t count = size * 37, step = axis ? 1 : 37, line = axis ? size : count;
    if (axis) ++desc.input.stride[0]; /* rows that are apart, which are not segments */
    desc.input.offset = desc.output.offset = BEFORE;
    EXPLAIN(t, ndr_array_scan_explain, desc);
    NDR_TRY(make(t, count + 37 * axis, 4, &in));
    NDR_TRY(make_output(t, count, 4, &out));
    for (size_t j = 0; j < count; ++j) {
        words_of(&in)[axis ? j + j / size : j] = mix(j);
        words_of(&out)[j] = mix(j) + (j % line < step ? 0 : words_of(&out)[j - step]);
    }
    NDR_TRY(upload(t, &in));
    desc.input.buffer = in.buffer;
    desc.output.buffer = out.buffer;
    NDR_TRY(ndr_array_scan(t->queue, &desc, NULL));
    return check(t, &out, axis ? "the scans of rows of u32" : "the scans of columns of u32");
}

/* ---- select ---- */

static ndr_status ask_select(ndr_trial *t, size_t i)
{
    array in, flags, out, selected;
    uint64_t count = 0;
    ndr_select_desc desc = { .dtype = NDR_DTYPE_U32, .count = sizes[i] };
    EXPLAIN(t, ndr_select_explain, desc);
    NDR_TRY(make(t, desc.count, 4, &in));
    NDR_TRY(make(t, desc.count, 1, &flags));
    for (size_t j = 0; j < desc.count; ++j) {
        words_of(&in)[j] = mix(j);
        flags.all[BEFORE + j] = mix(j) >> 20 & 2;
    }
    NDR_TRY(upload(t, &in));
    NDR_TRY(upload(t, &flags));
    NDR_TRY(make_output(t, desc.count, 4, &out));
    NDR_TRY(make_output(t, 1, 8, &selected));
    for (size_t j = 0; j < desc.count; ++j)
        if (flags.all[BEFORE + j]) words_of(&out)[count++] = words_of(&in)[j];
    memcpy(selected.all + BEFORE * sizeof count, &count, sizeof count);
    desc.input = span_of(&in);
    desc.flags = span_of(&flags);
    desc.output = span_of(&out);
    desc.selected = span_of(&selected);
    NDR_TRY(ndr_select(t->queue, &desc, NULL));
    NDR_TRY(check(t, &selected, "the number of selected elements"));
    return check(t, &out, "the selected elements");
}

/* ---- sort: keys of which many are equal, and where each was ---- */

static const size_t sorted_sizes[] = { 1, 255, 4097, 16385, 70001 };

static const size_t segment_lengths[] = { 7, 300, 20011 };

static uint32_t key_of(size_t i) { return mix(i) & 0xF00FF0F0; }

static int compare(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static int compare_words(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Segments of `length` keys, or of all. */
static ndr_status ask_sorted(ndr_trial *t, ndr_sort_desc desc, size_t length)
{
    array keys, values, sorted_keys, sorted_values, pairs;
    NDR_TRY(make(t, desc.count, 4, &keys));
    NDR_TRY(make(t, desc.count, 4, &values));
    NDR_TRY(make(t, desc.count, 8, &pairs));
    uint64_t *const all = (uint64_t *)(void *)pairs.all;
    for (size_t j = 0; j < desc.count; ++j) {
        words_of(&keys)[j] = key_of(j);
        words_of(&values)[j] = (uint32_t)j;
        all[j] = (uint64_t)key_of(j) << 32 | j;
    }
    for (size_t j = 0; j < desc.count; j += length)
        qsort(all + j, ndr_min_size(length, desc.count - j), sizeof *all, compare);
    NDR_TRY(upload(t, &keys));
    NDR_TRY(upload(t, &values));
    NDR_TRY(make_output(t, desc.count, 4, &sorted_keys));
    NDR_TRY(make_output(t, desc.count, 4, &sorted_values));
    for (size_t j = 0; j < desc.count; ++j) {
        words_of(&sorted_keys)[j] = (uint32_t)(all[j] >> 32);
        words_of(&sorted_values)[j] = (uint32_t)all[j];
    }
    desc.keys = span_of(&keys);
    desc.values = span_of(&values);
    desc.sorted_keys = span_of(&sorted_keys);
    desc.sorted_values = span_of(&sorted_values);
    NDR_TRY(ndr_sort(t->queue, &desc, NULL));
    NDR_TRY(check(t, &sorted_keys, desc.length ? "the sorted segments of u32" : "the sorted keys of u32"));
    return check(t, &sorted_values, "the values of sorted keys");
}

static ndr_status ask_sort(ndr_trial *t, size_t i)
{
    const ndr_sort_desc desc = { .dtype = NDR_DTYPE_U32, .value_bytes = 4, .count = sorted_sizes[i] };
    EXPLAIN(t, ndr_sort_explain, desc);
    return ask_sorted(t, desc, desc.count);
}

/* Segments of equal length, long and short. */
static ndr_status ask_sort_segments(ndr_trial *t, size_t i)
{
    const ndr_sort_desc desc = { .dtype = NDR_DTYPE_U32, .value_bytes = 4, .count = 70001, .length = segment_lengths[i] };
    EXPLAIN(t, ndr_sort_explain, desc);
    return ask_sorted(t, desc, desc.length);
}

/* ---- top k: the largest keys of a row, and where each was ---- */

static const struct {
    size_t length, k;
} searches[] = { { 1, 1 },      { 255, 20 },    { 1024, 1000 }, { 4097, 128 },
                 { 70001, 10 }, { 70001, 300 }, { 20011, 9000 } };

/* Of one of two operations: which of them takes a request depends on the device. */
static ndr_status explain_top_k(ndr_trial *t, const ndr_top_k_desc *desc, bool selects)
{
    static const char selecting[] = "select_";
    NDR_TRY(ndr_top_k_explain(t->queue->context, desc, sizeof t->taken, t->taken, NULL));
    if ((strncmp(t->taken, selecting, strlen(selecting)) == 0) != selects) *t->taken = '\0';
    return NDR_OK;
}

static ndr_status ask_top(ndr_trial *t, size_t i, bool selects)
{
    array keys, top_keys, top_indexes, pairs;
    ndr_top_k_desc desc = { .dtype = NDR_DTYPE_U32, .is_largest = true, .count = searches[i].length, .k = searches[i].k };
    if (t->explains) return explain_top_k(t, &desc, selects);
    NDR_TRY(make(t, desc.count, 4, &keys));
    NDR_TRY(make(t, desc.count, 8, &pairs));
    uint64_t *const all = (uint64_t *)(void *)pairs.all;
    for (size_t j = 0; j < desc.count; ++j) {
        words_of(&keys)[j] = key_of(j);
        all[j] = (uint64_t)~key_of(j) << 32 | j;
    }
    qsort(all, desc.count, sizeof *all, compare);
    NDR_TRY(upload(t, &keys));
    NDR_TRY(make_output(t, desc.k, 4, &top_keys));
    NDR_TRY(make_output(t, desc.k, 8, &top_indexes));
    for (size_t j = 0; j < desc.k; ++j) {
        const uint64_t index = (uint32_t)all[j];
        words_of(&top_keys)[j] = ~(uint32_t)(all[j] >> 32);
        memcpy(top_indexes.all + (BEFORE + j) * sizeof index, &index, sizeof index);
    }
    desc.keys = span_of(&keys);
    desc.top_keys = span_of(&top_keys);
    desc.top_indexes = span_of(&top_indexes);
    NDR_TRY(ndr_top_k(t->queue, &desc, NULL));
    NDR_TRY(check(t, &top_keys, "the largest keys of u32"));
    return check(t, &top_indexes, "the indexes of the largest keys");
}

static ndr_status ask_top_k(ndr_trial *t, size_t i) { return ask_top(t, i, false); }
static ndr_status ask_top_k_select(ndr_trial *t, size_t i) { return ask_top(t, i, true); }

/* ---- merge, and sort by a comparison: of pairs, of which the comparison reads half ---- */

/* The order of `less` below: keys in the upper halves, then places in the lower ones, which a stable sort keeps. */
static ndr_merge_sort_desc by_upper_half(size_t count)
{
    return (ndr_merge_sort_desc){ .dtype = NDR_DTYPE_U32, .less = "(a >> 20) < (b >> 20)", .count = count };
}

static uint32_t keyed(size_t i) { return mix(i) % 100 << 20 | (uint32_t)i; }

static ndr_status ask_merge_sort(ndr_trial *t, size_t i)
{
    array in, out;
    ndr_merge_sort_desc desc = by_upper_half(sizes[i]);
    EXPLAIN(t, ndr_merge_sort_explain, desc);
    NDR_TRY(make(t, desc.count, 4, &in));
    for (size_t j = 0; j < desc.count; ++j) words_of(&in)[j] = keyed(j);
    NDR_TRY(upload(t, &in));
    NDR_TRY(make_output(t, desc.count, 4, &out));
    memcpy(words_of(&out), words_of(&in), desc.count * 4);
    qsort(words_of(&out), desc.count, 4, compare_words);
    desc.input = span_of(&in);
    desc.output = span_of(&out);
    NDR_TRY(ndr_merge_sort(t->queue, &desc, NULL));
    return check(t, &out, "elements sorted by a comparison");
}

/* Elements of the first input are even, those of the second odd, so that of equal keys the first's come first. */
static ndr_status ask_merge(ndr_trial *t, size_t i)
{
    array first, second, out;
    ndr_merge_desc desc = { .dtype = NDR_DTYPE_U32, .less = "a / 2 < b / 2", .first_count = sizes[i],
                            .second_count = sizes[i] / 3 };
    EXPLAIN(t, ndr_merge_explain, desc);
    NDR_TRY(make(t, desc.first_count, 4, &first));
    NDR_TRY(make(t, desc.second_count, 4, &second));
    for (size_t j = 0; j < desc.first_count; ++j) words_of(&first)[j] = (uint32_t)(j / 3) * 2;
    for (size_t j = 0; j < desc.second_count; ++j) words_of(&second)[j] = (uint32_t)(j / 2) * 2 + 1;
    NDR_TRY(upload(t, &first));
    NDR_TRY(upload(t, &second));
    NDR_TRY(make_output(t, desc.first_count + desc.second_count, 4, &out));
    memcpy(words_of(&out), words_of(&first), desc.first_count * 4);
    memcpy(words_of(&out) + desc.first_count, words_of(&second), desc.second_count * 4);
    qsort(words_of(&out), out.count, 4, compare_words);
    desc.first = span_of(&first);
    desc.second = span_of(&second);
    desc.output = span_of(&out);
    NDR_TRY(ndr_merge(t->queue, &desc, NULL));
    return check(t, &out, "merged arrays");
}

/* ---- histogram: few bins, and more than local memory holds ---- */

static uint32_t bin_of(size_t i, bool is_large)
{
    return mix(i) % (is_large ? 1 << 16 : i % 2 ? 256 : 2);
}

static ndr_status ask_histogram(ndr_trial *t, size_t i)
{
    enum { MANY = 1 << 16 };
    array in, out;
    const bool is_large = i == SIZES;
    ndr_histogram_desc desc = { .dtype = is_large ? NDR_DTYPE_U16 : NDR_DTYPE_U8,
                                .output_dtype = NDR_DTYPE_U32,
                                .bins = is_large ? MANY : 256,
                                .upper = is_large ? MANY : 256,
                                .count = is_large ? 70001 : sizes[i] };
    if (is_large && t->queue->context->caps.info.type == NDR_DEVICE_TYPE_CPU) return NDR_OK; /* as with few bins */
    EXPLAIN(t, ndr_histogram_explain, desc);
    NDR_TRY(make(t, desc.count, is_large ? 2 : 1, &in));
    for (size_t j = 0; j < desc.count; ++j) {
        const uint16_t wide = (uint16_t)bin_of(j, is_large);
        if (is_large) memcpy(in.all + 2 * (BEFORE + j), &wide, sizeof wide);
        else in.all[BEFORE + j] = (uint8_t)wide;
    }
    NDR_TRY(upload(t, &in));
    NDR_TRY(make_output(t, desc.bins, 4, &out));
    memset(words_of(&out), 0, 4 * desc.bins);
    for (size_t j = 0; j < desc.count; ++j)
        ++words_of(&out)[bin_of(j, is_large)];
    desc.input = span_of(&in);
    desc.output = span_of(&out);
    NDR_TRY(ndr_histogram(t->queue, &desc, NULL));
    return check(t, &out, is_large ? "the histogram of u16" : "the histogram of u8");
}

/* ---- random numbers ---- */

/* Philox 4x32-10 as published. */
static void philox(uint32_t words[4], uint64_t seed)
{
    uint32_t low = (uint32_t)seed, high = (uint32_t)(seed >> 32);
    for (int round = 0; round < 10; ++round, low += 0x9E3779B9, high += 0xBB67AE85) {
        const uint64_t a = UINT64_C(0xD2511F53) * words[0], b = UINT64_C(0xCD9E8D57) * words[2];
        words[0] = (uint32_t)(b >> 32) ^ words[1] ^ low;
        words[2] = (uint32_t)(a >> 32) ^ words[3] ^ high;
        words[1] = (uint32_t)b;
        words[3] = (uint32_t)a;
    }
}

static ndr_status ask_random(ndr_trial *t, size_t i)
{
    array out;
    ndr_random_desc desc = { .dtype = NDR_DTYPE_U32,
                             .distribution = NDR_RANDOM_UNIFORM,
                             .seed = UINT64_C(0x123456789ABCDEF),
                             .stream = UINT64_C(0xFEDCBA9876543210),
                             .first = UINT64_C(0x3FFFFFFF1), /* whose blocks pass 32 bits, and begin within one */
                             .count = sizes[i] };
    EXPLAIN(t, ndr_random_explain, desc);
    NDR_TRY(make_output(t, desc.count, 4, &out));
    for (size_t j = 0; j < desc.count; ++j) {
        const uint64_t at = desc.first + j, block = at / 4;
        uint32_t words[] = { (uint32_t)block, (uint32_t)(block >> 32), (uint32_t)desc.stream,
                             (uint32_t)(desc.stream >> 32) };
        philox(words, desc.seed);
        words_of(&out)[j] = words[at % 4];
    }
    desc.output = span_of(&out);
    NDR_TRY(ndr_random(t->queue, &desc, NULL));
    return check(t, &out, "random numbers of u32");
}

/* ---- map: of elements that follow each other, and of a transposed matrix ---- */

static ndr_status ask_map(ndr_trial *t, size_t i)
{
    enum { ROWS = 67 };
    array in, out;
    const bool is_flat = i < SIZES;
    const size_t cols = is_flat ? 1 : sizes[i % SIZES] % 1000 + 1, rows = is_flat ? sizes[i] : ROWS;
    const ndr_range shape = is_flat ? ndr_range_1d(rows) : ndr_range_2d(rows, cols);
    const ndr_map_scalar scalar = { "a", ndr_arg_of(3.0f) };
    ndr_map_array x = { "x", ndr_array_of(NULL, NDR_DTYPE_F32, shape) };
    ndr_map_array y = { "y", ndr_array_of(NULL, NDR_DTYPE_F32, shape) };
    ndr_map_desc desc = { .statement = "y = a * x + (float)(i % 100)",
                          .scalars = &scalar, .scalar_count = 1,
                          .inputs = &x, .input_count = 1,
                          .outputs = &y, .output_count = 1 };
    x.array.offset = y.array.offset = BEFORE;
    if (!is_flat) {
        x.array.stride[0] = 1;
        x.array.stride[1] = ROWS;
    }
    EXPLAIN(t, ndr_map_explain, desc);
    NDR_TRY(make(t, rows * cols, 4, &in));
    for (size_t j = 0; j < rows * cols; ++j) words_of(&in)[j] = bits_of((float)small(j));
    NDR_TRY(upload(t, &in));
    NDR_TRY(make_output(t, rows * cols, 4, &out));
    for (size_t j = 0; j < rows * cols; ++j) {
        const size_t from = is_flat ? j : j % cols * ROWS + j / cols;
        words_of(&out)[j] = bits_of((float)(3 * small(from) + (int)(j % 100)));
    }
    x.array.buffer = in.buffer;
    y.array.buffer = out.buffer;
    NDR_TRY(ndr_map(t->queue, &desc, NULL));
    return check(t, &out, is_flat ? "a map of f32" : "a map of a transposed matrix");
}

/* ---- map_reduce: sums of all elements, and along a dimension, which three shapes of arrays take ---- */

static const struct {
    size_t rows, cols;
    unsigned axes; /* 0: all */
} reduced[] = { { 1, 4097, 0 },      { 67, 1031, 0 },     { 67, 1031, 1u << 0 },
                { 67, 1031, 1u << 1 }, { 70001, 3, 1u << 0 }, { 3, 70001, 1u << 1 } };

static ndr_status ask_map_reduce(ndr_trial *t, size_t i)
{
    array in, out;
    const size_t rows = reduced[i].rows, cols = reduced[i].cols;
    const bool keeps_rows = reduced[i].axes == 1u << 1, keeps_cols = reduced[i].axes == 1u << 0;
    ndr_map_array x = { "x", ndr_array_of(NULL, NDR_DTYPE_F32, ndr_range_2d(rows, cols)) };
    ndr_map_reduce_desc desc = { .dtype = NDR_DTYPE_F32, .op = NDR_OP_SUM, .expression = "2 * x + (float)(i1 % 2)",
                                 .axes = reduced[i].axes, .inputs = &x, .input_count = 1 };
    x.array.offset = desc.output.offset = BEFORE;
    EXPLAIN(t, ndr_map_reduce_explain, desc);
    const size_t results = keeps_rows ? rows : keeps_cols ? cols : 1;
    int *sums;
    NDR_TRY(make(t, rows * cols, 4, &in));
    NDR_TRY(allocate(t, results * sizeof *sums, (uint8_t **)&sums));
    memset(sums, 0, results * sizeof *sums);
    for (size_t j = 0; j < rows * cols; ++j) {
        words_of(&in)[j] = bits_of((float)small(j));
        sums[keeps_rows ? j / cols : keeps_cols ? j % cols : 0] += 2 * small(j) + (int)(j % cols % 2);
    }
    NDR_TRY(upload(t, &in));
    NDR_TRY(make_output(t, results, 4, &out));
    for (size_t r = 0; r < results; ++r) words_of(&out)[r] = bits_of((float)sums[r]);
    x.array.buffer = in.buffer;
    desc.output.buffer = out.buffer;
    NDR_TRY(ndr_map_reduce(t->queue, &desc, NULL));
    return check(t, &out, keeps_rows ? "sums of rows" : keeps_cols ? "sums of columns" : "a sum of an expression");
}

/* ---- copy, gather, scatter ---- */

/* A matrix with rows in reverse order, or transposed. */
static ndr_status ask_array_copy(ndr_trial *t, size_t i)
{
    enum { ROWS = 67 };
    array in, out;
    const bool transposes = i < SIZES;
    const size_t cols = sizes[i % SIZES] % 1000 + 1, count = ROWS * cols;
    const ndr_range shape = ndr_range_2d(ROWS, cols);
    ndr_array_copy_desc desc = { ndr_array_of(NULL, NDR_DTYPE_U32, shape), ndr_array_of(NULL, NDR_DTYPE_U32, shape) };
    desc.input.offset = BEFORE + (transposes ? 0 : count - cols);
    desc.input.stride[0] = transposes ? 1 : -(int64_t)cols;
    desc.input.stride[1] = transposes ? ROWS : 1;
    desc.output.offset = BEFORE;
    EXPLAIN(t, ndr_array_copy_explain, desc);
    NDR_TRY(make(t, count, 4, &in));
    for (size_t j = 0; j < count; ++j) words_of(&in)[j] = mix(j);
    NDR_TRY(upload(t, &in));
    NDR_TRY(make_output(t, count, 4, &out));
    for (size_t j = 0; j < count; ++j)
        words_of(&out)[j] = mix(transposes ? j % cols * ROWS + j / cols : (ROWS - 1 - j / cols) * cols + j % cols);
    desc.input.buffer = in.buffer;
    desc.output.buffer = out.buffer;
    NDR_TRY(ndr_array_copy(t->queue, &desc, NULL));
    return check(t, &out, transposes ? "a transposed matrix" : "a matrix with rows in reverse order");
}

/* Some indexes are past the end. */
static ndr_status ask_gather(ndr_trial *t, size_t i)
{
    array in, indexes, out;
    ndr_gather_desc desc = { .dtype = NDR_DTYPE_U32, .index_dtype = NDR_DTYPE_U32, .count = sizes[i] };
    const size_t most = desc.input_count = desc.count / 2 + 1;
    EXPLAIN(t, ndr_gather_explain, desc);
    NDR_TRY(make(t, most, 4, &in));
    NDR_TRY(make(t, desc.count, 4, &indexes));
    for (size_t j = 0; j < most; ++j) words_of(&in)[j] = mix(j);
    for (size_t j = 0; j < desc.count; ++j) words_of(&indexes)[j] = mix(j) % (uint32_t)(most + 3);
    NDR_TRY(upload(t, &in));
    NDR_TRY(upload(t, &indexes));
    NDR_TRY(make_output(t, desc.count, 4, &out));
    for (size_t j = 0; j < desc.count; ++j)
        words_of(&out)[j] = words_of(&indexes)[j] < most ? mix(words_of(&indexes)[j]) : 0;
    desc.input = span_of(&in);
    desc.indexes = span_of(&indexes);
    desc.output = span_of(&out);
    NDR_TRY(ndr_gather(t->queue, &desc, NULL));
    return check(t, &out, "gathered elements");
}

/* Each index once, and the last places are past the end; `sizes` have no divisor 7. */
static ndr_status ask_scatter(ndr_trial *t, size_t i)
{
    array in, indexes, out;
    ndr_scatter_desc desc = { .dtype = NDR_DTYPE_U32, .index_dtype = NDR_DTYPE_U32, .count = sizes[i] };
    const size_t most = desc.output_count = desc.count / 2 + 1;
    EXPLAIN(t, ndr_scatter_explain, desc);
    NDR_TRY(make(t, desc.count, 4, &in));
    NDR_TRY(make(t, desc.count, 4, &indexes));
    for (size_t j = 0; j < desc.count; ++j) {
        words_of(&in)[j] = mix(j);
        words_of(&indexes)[j] = (uint32_t)(j * 7 % desc.count);
    }
    NDR_TRY(upload(t, &in));
    NDR_TRY(upload(t, &indexes));
    NDR_TRY(make_output(t, most, 4, &out));
    for (size_t j = 0; j < desc.count; ++j)
        if (words_of(&indexes)[j] < most) words_of(&out)[words_of(&indexes)[j]] = mix(j);
    desc.input = span_of(&in);
    desc.indexes = span_of(&indexes);
    desc.output = span_of(&out);
    NDR_TRY(ndr_scatter(t->queue, &desc, NULL));
    return check(t, &out, "scattered elements");
}

/* ---- all ---- */

#define OPERATIONS(V)                                                                                             \
    V(reduce) V(matmul) V(map) V(map_reduce) V(array_copy) V(gather) V(scatter) V(scan) V(array_scan) V(select) \
        V(sort) V(sort_segments) V(merge) V(merge_sort) V(top_k) V(top_k_select) V(histogram) V(random)
#define DECLARE(name) extern const ndr_operation ndr_##name##_operation;
OPERATIONS(DECLARE)

const ndr_answers ndr_all_answers[] = {
    { &ndr_reduce_operation, NDR_COUNT_OF(reductions) * SIZES, ask_reduce },
    { &ndr_matmul_operation, NDR_MATMUL_ANSWERS, ndr_matmul_ask },
    { &ndr_map_operation, 2 * SIZES, ask_map },
    { &ndr_map_reduce_operation, NDR_COUNT_OF(reduced), ask_map_reduce },
    { &ndr_array_copy_operation, 2 * SIZES, ask_array_copy },
    { &ndr_gather_operation, SIZES, ask_gather },
    { &ndr_scatter_operation, SIZES, ask_scatter },
    { &ndr_scan_operation, SIZES, ask_scan },
    { &ndr_array_scan_operation, 2 * SIZES, ask_array_scan },
    { &ndr_select_operation, SIZES, ask_select },
    { &ndr_sort_operation, NDR_COUNT_OF(sorted_sizes), ask_sort },
    { &ndr_sort_segments_operation, NDR_COUNT_OF(segment_lengths), ask_sort_segments },
    { &ndr_merge_operation, SIZES, ask_merge },
    { &ndr_merge_sort_operation, SIZES, ask_merge_sort },
    { &ndr_top_k_operation, NDR_COUNT_OF(searches), ask_top_k },
    { &ndr_top_k_select_operation, NDR_COUNT_OF(searches), ask_top_k_select },
    { &ndr_histogram_operation, SIZES + 1, ask_histogram },
    { &ndr_random_operation, SIZES, ask_random },
};
const size_t ndr_all_answers_count = NDR_COUNT_OF(ndr_all_answers);
