/* bench_operations.c - the operations of libndr as `ndr bench` measures and `ndr devices` explains them: descriptors and data
 * of a typical call. */
#include "bench.h"

#include <string.h>

/* ---- data ---- */

enum { PATTERN = 128 };

/* Small numbers of both signs, exact in each type. */
static ndr_status write_numbers(ndr_queue *queue, const need *n, ndr_buffer *buffer)
{
    union {
        float f32[PATTERN / 4];
        double f64[PATTERN / 8];
        uint16_t narrow[PATTERN / 2];
        uint8_t bytes[PATTERN];
    } x;
    float floats[PATTERN / 2];
    for (int i = 0; i < PATTERN / 2; ++i) floats[i] = (float)(37 * i % 17 - 8) / 8;
    for (size_t i = 0; i < PATTERN; ++i) x.bytes[i] = (uint8_t)(37 * i + 5);
    for (int i = 0; n->dtype == NDR_DTYPE_F32 && i < PATTERN / 4; ++i) x.f32[i] = floats[i];
    for (int i = 0; n->dtype == NDR_DTYPE_F64 && i < PATTERN / 8; ++i) x.f64[i] = (double)floats[i];
    if (n->dtype == NDR_DTYPE_F16 || n->dtype == NDR_DTYPE_BF16)
        TRY(ndr_narrow_floats(n->dtype, PATTERN / 2, floats, x.narrow));
    return ndr_buffer_fill(queue, buffer, 0, ndr_buffer_size(buffer), &x, PATTERN, NULL);
}

static ndr_status write_flags(ndr_queue *queue, ndr_buffer *buffer)
{
    static const uint8_t flags[] = { 0, 1 };
    return ndr_buffer_fill(queue, buffer, 0, ndr_buffer_size(buffer), flags, sizeof flags, NULL);
}

static ndr_status write_random(ndr_queue *queue, const need *n, ndr_buffer *buffer)
{
    const ndr_random_desc random = {
        .dtype = n->dtype,
        .distribution = n->contents == PERMUTATION ? NDR_RANDOM_PERMUTATION : NDR_RANDOM_UNIFORM,
        .seed = 1,
        .count = n->count,
        .output = { buffer, 0 },
    };
    return ndr_random(queue, &random, NULL);
}

static ndr_status sort_part(ndr_queue *queue, const need *n, ndr_buffer *buffer, size_t from, size_t count)
{
    const ndr_span keys = { buffer, from };
    return ndr_sort(queue, &(ndr_sort_desc){ .dtype = n->dtype, .keys = keys, .sorted_keys = keys, .count = count },
                    NULL);
}

static ndr_status write_data(ndr_queue *queue, const need *n, ndr_buffer *buffer)
{
    const size_t half = n->count / 2;
    switch (n->contents) {
    case NUMBERS: return write_numbers(queue, n, buffer);
    case FLAGS: return write_flags(queue, buffer);
    case UNIFORM:
    case PERMUTATION: return write_random(queue, n, buffer);
    case SORTED_HALVES:
        TRY(write_random(queue, n, buffer));
        TRY(sort_part(queue, n, buffer, 0, half));
        return sort_part(queue, n, buffer, half, n->count - half);
    default: return NDR_OK;
    }
}

/* ---- operations: each fills a descriptor, and says which buffers it needs and where it has them ---- */

static need *add(work *w, contents what, size_t count, ndr_dtype dtype, ndr_buffer **place)
{
    need *const n = &w->needs[w->need_count++];
    *n = (need){ what, count, dtype, { place, NULL } };
    return n;
}

static void set_matmul(work *w)
{
    const size_t m = w->sizes[0], n = w->sizes[1], k = w->sizes[2];
    ndr_matmul_desc *const d = &w->desc.matmul;
    *d = (ndr_matmul_desc){ .dtype = w->dtype,
                            .accuracy = w->accuracy,
                            .a = { .rows = m, .cols = k },
                            .b = { .rows = k, .cols = n },
                            .c = { .rows = m, .cols = n } };
    add(w, NUMBERS, m * k, w->dtype, &d->a.buffer);
    add(w, NUMBERS, k * n, w->dtype, &d->b.buffer);
    add(w, NUMBERS, m * n, w->dtype, &d->c.buffer);
    w->moved = (m * k + k * n + m * n) * ndr_dtype_size(w->dtype);
    w->flops = 2 * (uint64_t)m * n * k;
}

static void set_reduce(work *w)
{
    ndr_reduce_desc *const d = &w->desc.reduce;
    *d = (ndr_reduce_desc){ .dtype = w->dtype, .op = w->op, .method = w->method, .count = w->sizes[0] };
    add(w, NUMBERS, d->count, w->dtype, &d->input.buffer);
    add(w, ROOM, 1, w->dtype, &d->output.buffer);
    w->moved = d->count * ndr_dtype_size(w->dtype);
}

static void set_scan(work *w)
{
    ndr_scan_desc *const d = &w->desc.scan;
    *d = (ndr_scan_desc){ .dtype = w->dtype, .op = w->op, .count = w->sizes[0] };
    add(w, NUMBERS, d->count, w->dtype, &d->input.buffer);
    add(w, ROOM, d->count, w->dtype, &d->output.buffer);
    w->moved = 2 * d->count * ndr_dtype_size(w->dtype);
}

/* Of each row of a matrix. */
static void set_array_scan(work *w)
{
    const ndr_array matrix = ndr_array_of(NULL, w->dtype, ndr_range_2d(w->sizes[0], w->sizes[1]));
    const size_t count = w->sizes[0] * w->sizes[1];
    w->desc.array_scan = (ndr_array_scan_desc){ .op = w->op, .axis = 1, .input = matrix, .output = matrix };
    add(w, NUMBERS, count, w->dtype, &w->desc.array_scan.input.buffer);
    add(w, ROOM, count, w->dtype, &w->desc.array_scan.output.buffer);
    w->moved = 2 * count * ndr_dtype_size(w->dtype);
}

static void set_sort(work *w)
{
    ndr_sort_desc *const d = &w->desc.sort;
    *d = (ndr_sort_desc){ .dtype = w->dtype, .count = w->sizes[0] };
    add(w, UNIFORM, d->count, w->dtype, &d->keys.buffer);
    add(w, ROOM, d->count, w->dtype, &d->sorted_keys.buffer);
    w->moved = 2 * d->count * ndr_dtype_size(w->dtype);
}

/* The 100 smallest, or as many as there are. */
static void set_top_k(work *w)
{
    enum { MOST_K = 100 };
    ndr_top_k_desc *const d = &w->desc.top_k;
    const size_t count = w->sizes[0];
    *d = (ndr_top_k_desc){ .dtype = w->dtype, .count = count, .k = count < MOST_K ? count : MOST_K };
    add(w, UNIFORM, count, w->dtype, &d->keys.buffer);
    add(w, ROOM, d->k, w->dtype, &d->top_keys.buffer);
    w->moved = (count + d->k) * ndr_dtype_size(w->dtype);
}

static void set_merge(work *w)
{
    const size_t count = w->sizes[0], half = count / 2;
    ndr_merge_desc *const d = &w->desc.merge;
    *d = (ndr_merge_desc){
        .dtype = w->dtype, .first_count = half, .second = { NULL, half }, .second_count = count - half
    };
    add(w, SORTED_HALVES, count, w->dtype, &d->first.buffer)->places[1] = &d->second.buffer;
    add(w, ROOM, count, w->dtype, &d->output.buffer);
    w->moved = 2 * count * ndr_dtype_size(w->dtype);
}

static void set_merge_sort(work *w)
{
    ndr_merge_sort_desc *const d = &w->desc.merge_sort;
    *d = (ndr_merge_sort_desc){ .dtype = w->dtype, .count = w->sizes[0] };
    add(w, UNIFORM, d->count, w->dtype, &d->input.buffer);
    add(w, ROOM, d->count, w->dtype, &d->output.buffer);
    w->moved = 2 * d->count * ndr_dtype_size(w->dtype);
}

/* Every second element. */
static void set_select(work *w)
{
    const size_t count = w->sizes[0], each = ndr_dtype_size(w->dtype);
    ndr_select_desc *const d = &w->desc.select;
    *d = (ndr_select_desc){ .dtype = w->dtype, .count = count };
    add(w, NUMBERS, count, w->dtype, &d->input.buffer);
    add(w, ROOM, count, w->dtype, &d->output.buffer);
    add(w, FLAGS, count, NDR_DTYPE_U8, &d->flags.buffer);
    add(w, ROOM, 1, NDR_DTYPE_U64, &d->selected.buffer);
    w->moved = count * each + count + count / 2 * each;
}

/* 256 even bins over all values of an integer type, or over [0, 1). */
static void set_histogram(work *w)
{
    const double two_to_32 = 4294967296.0;
    const bool is_signed = w->dtype == NDR_DTYPE_I32, is_integer = is_signed || w->dtype == NDR_DTYPE_U32;
    const double lower = is_signed ? -two_to_32 / 2 : 0;
    ndr_histogram_desc *const d = &w->desc.histogram;
    *d = (ndr_histogram_desc){ .dtype = w->dtype,
                               .output_dtype = NDR_DTYPE_U32,
                               .bins = 256,
                               .lower = lower,
                               .upper = is_integer ? lower + two_to_32 : 1,
                               .count = w->sizes[0] };
    add(w, UNIFORM, d->count, w->dtype, &d->input.buffer);
    add(w, ROOM, d->bins, NDR_DTYPE_U32, &d->output.buffer);
    w->moved = d->count * ndr_dtype_size(w->dtype);
}

static void set_random(work *w)
{
    ndr_random_desc *const d = &w->desc.random;
    *d = (ndr_random_desc){ .dtype = w->dtype, .distribution = NDR_RANDOM_UNIFORM, .seed = 1, .count = w->sizes[0] };
    add(w, ROOM, d->count, w->dtype, &d->output.buffer);
    w->moved = d->count * ndr_dtype_size(w->dtype);
}

/* Of a permutation. */
static void set_gather(work *w)
{
    const size_t count = w->sizes[0];
    ndr_gather_desc *const d = &w->desc.gather;
    *d = (ndr_gather_desc){ .dtype = w->dtype, .index_dtype = NDR_DTYPE_U32, .input_count = count, .count = count };
    add(w, NUMBERS, count, w->dtype, &d->input.buffer);
    add(w, PERMUTATION, count, NDR_DTYPE_U32, &d->indexes.buffer);
    add(w, ROOM, count, w->dtype, &d->output.buffer);
    w->moved = count * (2 * ndr_dtype_size(w->dtype) + sizeof(uint32_t));
}

static void set_scatter(work *w)
{
    const size_t count = w->sizes[0];
    ndr_scatter_desc *const d = &w->desc.scatter;
    *d = (ndr_scatter_desc){ .dtype = w->dtype, .index_dtype = NDR_DTYPE_U32, .count = count, .output_count = count };
    add(w, NUMBERS, count, w->dtype, &d->input.buffer);
    add(w, PERMUTATION, count, NDR_DTYPE_U32, &d->indexes.buffer);
    add(w, ROOM, count, w->dtype, &d->output.buffer);
    w->moved = count * (2 * ndr_dtype_size(w->dtype) + sizeof(uint32_t));
}

static void set_transpose(work *w)
{
    const size_t rows = w->sizes[0], cols = w->sizes[1];
    ndr_array_copy_desc *const d = &w->desc.copy;
    d->input = d->output = ndr_array_of(NULL, w->dtype, ndr_range_2d(cols, rows));
    d->input.stride[0] = 1, d->input.stride[1] = (int64_t)cols;
    add(w, NUMBERS, rows * cols, w->dtype, &d->input.buffer);
    add(w, ROOM, rows * cols, w->dtype, &d->output.buffer);
    w->moved = 2 * rows * cols * ndr_dtype_size(w->dtype);
}

/* Arrays x and y for an expression. */
static void set_inputs(work *w)
{
    const ndr_array array = ndr_array_of(NULL, w->dtype, ndr_range_1d(w->sizes[0]));
    w->inputs[0] = (ndr_map_array){ "x", array };
    w->inputs[1] = w->output = (ndr_map_array){ "y", array };
    add(w, NUMBERS, w->sizes[0], w->dtype, &w->inputs[0].array.buffer);
    add(w, NUMBERS, w->sizes[0], w->dtype, &w->inputs[1].array.buffer)->places[1] = &w->output.array.buffer;
}

/* y = 3 * x + y */
static void set_map(work *w)
{
    set_inputs(w);
    w->desc.map = (ndr_map_desc){
        .statement = "y = 3 * x + y", .inputs = w->inputs, .input_count = 2, .outputs = &w->output, .output_count = 1
    };
    w->moved = 3 * w->sizes[0] * ndr_dtype_size(w->dtype);
}

/* The sum of x * y. */
static void set_map_reduce(work *w)
{
    set_inputs(w);
    w->desc.map_reduce = (ndr_map_reduce_desc){ .dtype = w->dtype,
                                                .op = w->op,
                                                .expression = "x * y",
                                                .inputs = w->inputs,
                                                .input_count = 2,
                                                .output = { .dtype = w->dtype } };
    add(w, ROOM, 1, w->dtype, &w->desc.map_reduce.output.buffer);
    w->moved = 2 * w->sizes[0] * ndr_dtype_size(w->dtype);
}

static void set_copy(work *w)
{
    add(w, NUMBERS, w->sizes[0], NDR_DTYPE_U8, NULL);
    add(w, NUMBERS, w->sizes[0], NDR_DTYPE_U8, NULL);
    w->moved = 2 * w->sizes[0];
}

static void set_fill(work *w)
{
    add(w, NUMBERS, w->sizes[0], NDR_DTYPE_U8, NULL);
    w->moved = w->sizes[0];
}

static void set_launch(work *w) { add(w, NUMBERS, 1, NDR_DTYPE_U32, NULL); }

/* ---- the table ---- */

static const choice products[] = { { "f32", NDR_DTYPE_F32 }, { "f64", NDR_DTYPE_F64 }, { 0 } };
static const choice numbers[] = { { "i32", NDR_DTYPE_I32 },
                                  { "u32", NDR_DTYPE_U32 },
                                  { "i64", NDR_DTYPE_I64 },
                                  { "u64", NDR_DTYPE_U64 },
                                  { "f32", NDR_DTYPE_F32 },
                                  { "f64", NDR_DTYPE_F64 },
                                  { 0 } };
static const choice of_reductions[] = { { "i32", NDR_DTYPE_I32 }, { "u32", NDR_DTYPE_U32 },   { "i64", NDR_DTYPE_I64 },
                                        { "u64", NDR_DTYPE_U64 }, { "f32", NDR_DTYPE_F32 },   { "f64", NDR_DTYPE_F64 },
                                        { "f16", NDR_DTYPE_F16 }, { "bf16", NDR_DTYPE_BF16 }, { 0 } };
static const choice of_histograms[] = {
    { "i32", NDR_DTYPE_I32 }, { "u32", NDR_DTYPE_U32 }, { "f32", NDR_DTYPE_F32 }, { "f64", NDR_DTYPE_F64 }, { 0 }
};

enum { MOST_SIDE = 1 << 30 };
#define MOST (UINT64_C(1) << 40)
#define MOST_INDEX (UINT64_C(1) << 32)

const operation operations[] = {
    [MATMUL] = { "matmul", 3, MOST_SIDE, products, false, set_matmul },
    [REDUCE] = { "reduce", 1, MOST, of_reductions, true, set_reduce },
    [SCAN] = { "scan", 1, MOST, numbers, true, set_scan },
    [ARRAY_SCAN] = { "array_scan", 2, MOST_SIDE, numbers, true, set_array_scan },
    [SORT] = { "sort", 1, MOST, numbers, false, set_sort },
    [TOP_K] = { "top_k", 1, MOST, numbers, false, set_top_k },
    [MERGE] = { "merge", 1, MOST, numbers, false, set_merge },
    [MERGE_SORT] = { "merge_sort", 1, MOST, numbers, false, set_merge_sort },
    [SELECT] = { "select", 1, MOST, numbers, false, set_select },
    [HISTOGRAM] = { "histogram", 1, MOST, of_histograms, false, set_histogram },
    [RANDOM] = { "random", 1, MOST, numbers, false, set_random },
    [GATHER] = { "gather", 1, MOST_INDEX, numbers, false, set_gather },
    [SCATTER] = { "scatter", 1, MOST_INDEX, numbers, false, set_scatter },
    [TRANSPOSE] = { "transpose", 2, MOST_SIDE, numbers, false, set_transpose },
    [MAP] = { "map", 1, MOST, numbers, false, set_map },
    [MAP_REDUCE] = { "map_reduce", 1, MOST, numbers, true, set_map_reduce },
    [COPY] = { "copy", 1, MOST, NULL, false, set_copy },
    [FILL] = { "fill", 1, MOST, NULL, false, set_fill },
    [LAUNCH] = { "launch", 1, MOST, NULL, false, set_launch },
};

void set_work(work *w, operation_id id)
{
    w->operation = id;
    operations[id].set(w);
}

static ndr_status get_kernel(work *w)
{
    static const char source[] = "#include <ndr/item.clh>\n"
                                 "kernel void bench_launch(global uint *x, NDR_RANGE(1))\n"
                                 "{\n"
                                 "    const ndr_item it = NDR_ITEM(1);\n"
                                 "    if (ndr_global_id(it, 0) == 0) *x += 1;\n"
                                 "}\n";
    return ndr_kernel_get(w->context, &(ndr_kernel_desc){ .name = "bench_launch", .source = source }, &w->kernel);
}

ndr_status fill_work(work *w, ndr_queue *queue)
{
    for (size_t i = 0; i < w->need_count; ++i) {
        const need *const n = &w->needs[i];
        size_t bytes = n->count * ndr_dtype_size(n->dtype);
        if (n->contents == NUMBERS || n->contents == FLAGS) bytes = (bytes + PATTERN - 1) / PATTERN * PATTERN;
        TRY(ndr_buffer_create(w->context, bytes, &w->buffers[i]));
        for (size_t p = 0; p < 2; ++p)
            if (n->places[p]) *n->places[p] = w->buffers[i];
        TRY(write_data(queue, n, w->buffers[i]));
    }
    return w->operation == LAUNCH ? get_kernel(w) : NDR_OK;
}

ndr_status enqueue_work(const work *w, ndr_queue *queue, ndr_event **event)
{
    static const uint8_t zero = 0;
    switch (w->operation) {
    case MATMUL: return ndr_matmul(queue, &w->desc.matmul, event);
    case REDUCE: return ndr_reduce(queue, &w->desc.reduce, event);
    case SCAN: return ndr_scan(queue, &w->desc.scan, event);
    case ARRAY_SCAN: return ndr_array_scan(queue, &w->desc.array_scan, event);
    case SORT: return ndr_sort(queue, &w->desc.sort, event);
    case TOP_K: return ndr_top_k(queue, &w->desc.top_k, event);
    case MERGE: return ndr_merge(queue, &w->desc.merge, event);
    case MERGE_SORT: return ndr_merge_sort(queue, &w->desc.merge_sort, event);
    case SELECT: return ndr_select(queue, &w->desc.select, event);
    case HISTOGRAM: return ndr_histogram(queue, &w->desc.histogram, event);
    case RANDOM: return ndr_random(queue, &w->desc.random, event);
    case GATHER: return ndr_gather(queue, &w->desc.gather, event);
    case SCATTER: return ndr_scatter(queue, &w->desc.scatter, event);
    case TRANSPOSE: return ndr_array_copy(queue, &w->desc.copy, event);
    case MAP: return ndr_map(queue, &w->desc.map, event);
    case MAP_REDUCE: return ndr_map_reduce(queue, &w->desc.map_reduce, event);
    case COPY: return ndr_buffer_copy(queue, w->buffers[0], 0, w->buffers[1], 0, w->sizes[0], event);
    case FILL: return ndr_buffer_fill(queue, w->buffers[0], 0, w->sizes[0], &zero, 1, event);
    default: return ndr_launch_event(queue, w->kernel, event, ndr_range_1d(w->sizes[0]), w->buffers[0]);
    }
}

ndr_status explain_work(const work *w, size_t capacity, char *text)
{
    *text = '\0';
    switch (w->operation) {
    case MATMUL: return ndr_matmul_explain(w->context, &w->desc.matmul, capacity, text, NULL);
    case REDUCE: return ndr_reduce_explain(w->context, &w->desc.reduce, capacity, text, NULL);
    case SCAN: return ndr_scan_explain(w->context, &w->desc.scan, capacity, text, NULL);
    case ARRAY_SCAN: return ndr_array_scan_explain(w->context, &w->desc.array_scan, capacity, text, NULL);
    case SORT: return ndr_sort_explain(w->context, &w->desc.sort, capacity, text, NULL);
    case TOP_K: return ndr_top_k_explain(w->context, &w->desc.top_k, capacity, text, NULL);
    case MERGE: return ndr_merge_explain(w->context, &w->desc.merge, capacity, text, NULL);
    case MERGE_SORT: return ndr_merge_sort_explain(w->context, &w->desc.merge_sort, capacity, text, NULL);
    case SELECT: return ndr_select_explain(w->context, &w->desc.select, capacity, text, NULL);
    case HISTOGRAM: return ndr_histogram_explain(w->context, &w->desc.histogram, capacity, text, NULL);
    case RANDOM: return ndr_random_explain(w->context, &w->desc.random, capacity, text, NULL);
    case GATHER: return ndr_gather_explain(w->context, &w->desc.gather, capacity, text, NULL);
    case SCATTER: return ndr_scatter_explain(w->context, &w->desc.scatter, capacity, text, NULL);
    case TRANSPOSE: return ndr_array_copy_explain(w->context, &w->desc.copy, capacity, text, NULL);
    case MAP: return ndr_map_explain(w->context, &w->desc.map, capacity, text, NULL);
    case MAP_REDUCE: return ndr_map_reduce_explain(w->context, &w->desc.map_reduce, capacity, text, NULL);
    default: return NDR_OK;
    }
}
