/* bench_operations.c - the operations of libndr as `ndr bench` measures and `ndr devices` explains them: descriptors and data
 * of a typical call. */
#include "bench.h"

#include <string.h>

/* ---- data ---- */

/* Small numbers of both signs, exact in each type. */
static ndr_status add_numbers(work *w, ndr_queue *queue, size_t count, ndr_dtype dtype, ndr_buffer **buffer)
{
    enum { PATTERN = 128 };
    union {
        float f32[PATTERN / 4];
        double f64[PATTERN / 8];
        uint16_t narrow[PATTERN / 2];
        uint8_t bytes[PATTERN];
    } x;
    float floats[PATTERN / 2];
    for (int i = 0; i < PATTERN / 2; ++i) floats[i] = (float)(37 * i % 17 - 8) / 8;
    for (size_t i = 0; i < PATTERN; ++i) x.bytes[i] = (uint8_t)(37 * i + 5);
    for (int i = 0; dtype == NDR_DTYPE_F32 && i < PATTERN / 4; ++i) x.f32[i] = floats[i];
    for (int i = 0; dtype == NDR_DTYPE_F64 && i < PATTERN / 8; ++i) x.f64[i] = (double)floats[i];
    if (dtype == NDR_DTYPE_F16 || dtype == NDR_DTYPE_BF16) TRY(ndr_narrow_floats(dtype, PATTERN / 2, floats, x.narrow));
    const size_t rounded = (count * ndr_dtype_size(dtype) + PATTERN - 1) / PATTERN * PATTERN;
    TRY(ndr_buffer_create(w->context, rounded, buffer));
    return ndr_buffer_fill(queue, *buffer, 0, rounded, &x, PATTERN, NULL);
}

/* All values of an integer type, and floats in [0, 1). */
static ndr_status add_random(work *w, ndr_queue *queue, size_t count, ndr_dtype dtype, ndr_buffer **buffer)
{
    TRY(ndr_buffer_create(w->context, count * ndr_dtype_size(dtype), buffer));
    const ndr_random_desc random = {
        .dtype = dtype, .distribution = NDR_RANDOM_UNIFORM, .seed = 1, .count = count, .output = { *buffer, 0 }
    };
    return ndr_random(queue, &random, NULL);
}

/* The numbers below `count`, each once, in an order that looks random. */
static ndr_status add_permutation(work *w, ndr_queue *queue, size_t count, ndr_dtype dtype, ndr_buffer **buffer)
{
    TRY(ndr_buffer_create(w->context, count * ndr_dtype_size(dtype), buffer));
    const ndr_random_desc random = {
        .dtype = dtype, .distribution = NDR_RANDOM_PERMUTATION, .seed = 1, .count = count, .output = { *buffer, 0 }
    };
    return ndr_random(queue, &random, NULL);
}

static ndr_status add_room(work *w, size_t count, ndr_dtype dtype, ndr_buffer **buffer)
{
    return ndr_buffer_create(w->context, count * ndr_dtype_size(dtype), buffer);
}

/* ---- operations: `set` fills a descriptor without buffers, `fill` makes them and their data ---- */

static void set_matmul(work *w)
{
    const size_t m = w->sizes[0], n = w->sizes[1], k = w->sizes[2];
    w->desc.matmul = (ndr_matmul_desc){ .dtype = w->dtype,
                                        .accuracy = w->accuracy,
                                        .a = { .rows = m, .cols = k },
                                        .b = { .rows = k, .cols = n },
                                        .c = { .rows = m, .cols = n } };
    w->moved = (m * k + k * n + m * n) * ndr_dtype_size(w->dtype);
    w->flops = 2 * (uint64_t)m * n * k;
}

static ndr_status fill_matmul(work *w, ndr_queue *queue)
{
    const size_t m = w->sizes[0], n = w->sizes[1], k = w->sizes[2];
    TRY(add_numbers(w, queue, m * k, w->dtype, &w->buffers[0]));
    TRY(add_numbers(w, queue, k * n, w->dtype, &w->buffers[1]));
    TRY(add_numbers(w, queue, m * n, w->dtype, &w->buffers[2]));
    w->desc.matmul.a.buffer = w->buffers[0], w->desc.matmul.b.buffer = w->buffers[1];
    w->desc.matmul.c.buffer = w->buffers[2];
    return NDR_OK;
}

static void set_reduce(work *w)
{
    w->desc.reduce = (ndr_reduce_desc){ .dtype = w->dtype, .op = w->op, .method = w->method, .count = w->sizes[0] };
    w->moved = w->sizes[0] * ndr_dtype_size(w->dtype);
}

static ndr_status fill_reduce(work *w, ndr_queue *queue)
{
    TRY(add_numbers(w, queue, w->sizes[0], w->dtype, &w->buffers[0]));
    TRY(add_room(w, 1, w->dtype, &w->buffers[1]));
    w->desc.reduce.input.buffer = w->buffers[0], w->desc.reduce.output.buffer = w->buffers[1];
    return NDR_OK;
}

static void set_scan(work *w)
{
    w->desc.scan = (ndr_scan_desc){ .dtype = w->dtype, .op = w->op, .count = w->sizes[0] };
    w->moved = 2 * w->sizes[0] * ndr_dtype_size(w->dtype);
}

static ndr_status fill_scan(work *w, ndr_queue *queue)
{
    TRY(add_numbers(w, queue, w->sizes[0], w->dtype, &w->buffers[0]));
    TRY(add_room(w, w->sizes[0], w->dtype, &w->buffers[1]));
    w->desc.scan.input.buffer = w->buffers[0], w->desc.scan.output.buffer = w->buffers[1];
    return NDR_OK;
}

/* Of each row of a matrix. */
static void set_array_scan(work *w)
{
    const ndr_array matrix = ndr_array_of(NULL, w->dtype, ndr_range_2d(w->sizes[0], w->sizes[1]));
    w->desc.array_scan = (ndr_array_scan_desc){ .op = w->op, .axis = 1, .input = matrix, .output = matrix };
    w->moved = 2 * w->sizes[0] * w->sizes[1] * ndr_dtype_size(w->dtype);
}

static ndr_status fill_array_scan(work *w, ndr_queue *queue)
{
    TRY(add_numbers(w, queue, w->sizes[0] * w->sizes[1], w->dtype, &w->buffers[0]));
    TRY(add_room(w, w->sizes[0] * w->sizes[1], w->dtype, &w->buffers[1]));
    w->desc.array_scan.input.buffer = w->buffers[0], w->desc.array_scan.output.buffer = w->buffers[1];
    return NDR_OK;
}

static void set_sort(work *w)
{
    w->desc.sort = (ndr_sort_desc){ .dtype = w->dtype, .count = w->sizes[0] };
    w->moved = 2 * w->sizes[0] * ndr_dtype_size(w->dtype);
}

static ndr_status fill_sort(work *w, ndr_queue *queue)
{
    TRY(add_random(w, queue, w->sizes[0], w->dtype, &w->buffers[0]));
    TRY(add_room(w, w->sizes[0], w->dtype, &w->buffers[1]));
    w->desc.sort.keys.buffer = w->buffers[0], w->desc.sort.sorted_keys.buffer = w->buffers[1];
    return NDR_OK;
}

/* The 100 smallest, or as many as there are. */
static void set_top_k(work *w)
{
    enum { MOST_K = 100 };
    const size_t count = w->sizes[0], k = count < MOST_K ? count : MOST_K;
    w->desc.top_k = (ndr_top_k_desc){ .dtype = w->dtype, .count = count, .k = k };
    w->moved = (count + k) * ndr_dtype_size(w->dtype);
}

static ndr_status fill_top_k(work *w, ndr_queue *queue)
{
    TRY(add_random(w, queue, w->sizes[0], w->dtype, &w->buffers[0]));
    TRY(add_room(w, w->desc.top_k.k, w->dtype, &w->buffers[1]));
    w->desc.top_k.keys.buffer = w->buffers[0], w->desc.top_k.top_keys.buffer = w->buffers[1];
    return NDR_OK;
}

/* Two sorted halves. */
static void set_merge(work *w)
{
    const size_t half = w->sizes[0] / 2;
    w->desc.merge = (ndr_merge_desc){
        .dtype = w->dtype, .first_count = half, .second = { NULL, half }, .second_count = w->sizes[0] - half
    };
    w->moved = 2 * w->sizes[0] * ndr_dtype_size(w->dtype);
}

static ndr_status fill_merge(work *w, ndr_queue *queue)
{
    const ndr_merge_desc *const m = &w->desc.merge;
    TRY(add_random(w, queue, w->sizes[0], w->dtype, &w->buffers[0]));
    TRY(add_room(w, w->sizes[0], w->dtype, &w->buffers[1]));
    ndr_sort_desc sort = { .dtype = w->dtype, .keys = { w->buffers[0], 0 }, .count = m->first_count };
    sort.sorted_keys = sort.keys;
    TRY(ndr_sort(queue, &sort, NULL));
    sort.keys.offset = m->first_count, sort.count = m->second_count;
    sort.sorted_keys = sort.keys;
    TRY(ndr_sort(queue, &sort, NULL));
    w->desc.merge.first.buffer = w->desc.merge.second.buffer = w->buffers[0];
    w->desc.merge.output.buffer = w->buffers[1];
    return NDR_OK;
}

static void set_merge_sort(work *w)
{
    w->desc.merge_sort = (ndr_merge_sort_desc){ .dtype = w->dtype, .count = w->sizes[0] };
    w->moved = 2 * w->sizes[0] * ndr_dtype_size(w->dtype);
}

static ndr_status fill_merge_sort(work *w, ndr_queue *queue)
{
    TRY(add_random(w, queue, w->sizes[0], w->dtype, &w->buffers[0]));
    TRY(add_room(w, w->sizes[0], w->dtype, &w->buffers[1]));
    w->desc.merge_sort.input.buffer = w->buffers[0], w->desc.merge_sort.output.buffer = w->buffers[1];
    return NDR_OK;
}

/* Every second element. */
static void set_select(work *w)
{
    const size_t count = w->sizes[0], each = ndr_dtype_size(w->dtype);
    w->desc.select = (ndr_select_desc){ .dtype = w->dtype, .count = count };
    w->moved = count * each + count + count / 2 * each;
}

static ndr_status fill_select(work *w, ndr_queue *queue)
{
    static const uint8_t flags[] = { 0, 1 };
    const size_t rounded = (w->sizes[0] + 1) / 2 * 2;
    TRY(add_numbers(w, queue, w->sizes[0], w->dtype, &w->buffers[0]));
    TRY(add_room(w, w->sizes[0], w->dtype, &w->buffers[1]));
    TRY(ndr_buffer_create(w->context, rounded, &w->buffers[2]));
    TRY(ndr_buffer_fill(queue, w->buffers[2], 0, rounded, flags, sizeof flags, NULL));
    TRY(add_room(w, 1, NDR_DTYPE_U64, &w->buffers[3]));
    w->desc.select.input.buffer = w->buffers[0], w->desc.select.output.buffer = w->buffers[1];
    w->desc.select.flags.buffer = w->buffers[2], w->desc.select.selected.buffer = w->buffers[3];
    return NDR_OK;
}

/* 256 even bins over all values of an integer type, or over [0, 1). */
static void set_histogram(work *w)
{
    const double two_to_32 = 4294967296.0;
    const bool is_signed = w->dtype == NDR_DTYPE_I32, is_integer = is_signed || w->dtype == NDR_DTYPE_U32;
    const double lower = is_signed ? -two_to_32 / 2 : 0;
    w->desc.histogram = (ndr_histogram_desc){ .dtype = w->dtype,
                                              .output_dtype = NDR_DTYPE_U32,
                                              .bins = 256,
                                              .lower = lower,
                                              .upper = is_integer ? lower + two_to_32 : 1,
                                              .count = w->sizes[0] };
    w->moved = w->sizes[0] * ndr_dtype_size(w->dtype);
}

static ndr_status fill_histogram(work *w, ndr_queue *queue)
{
    TRY(add_random(w, queue, w->sizes[0], w->dtype, &w->buffers[0]));
    TRY(add_room(w, w->desc.histogram.bins, NDR_DTYPE_U32, &w->buffers[1]));
    w->desc.histogram.input.buffer = w->buffers[0], w->desc.histogram.output.buffer = w->buffers[1];
    return NDR_OK;
}

static void set_random(work *w)
{
    w->desc.random =
        (ndr_random_desc){ .dtype = w->dtype, .distribution = NDR_RANDOM_UNIFORM, .seed = 1, .count = w->sizes[0] };
    w->moved = w->sizes[0] * ndr_dtype_size(w->dtype);
}

static ndr_status fill_random(work *w, ndr_queue *queue)
{
    (void)queue;
    TRY(add_room(w, w->sizes[0], w->dtype, &w->buffers[0]));
    w->desc.random.output.buffer = w->buffers[0];
    return NDR_OK;
}

/* Of a permutation. */
static void set_gather(work *w)
{
    const size_t count = w->sizes[0];
    w->desc.gather =
        (ndr_gather_desc){ .dtype = w->dtype, .index_dtype = NDR_DTYPE_U32, .input_count = count, .count = count };
    w->moved = count * (2 * ndr_dtype_size(w->dtype) + sizeof(uint32_t));
}

static ndr_status fill_gather(work *w, ndr_queue *queue)
{
    TRY(add_numbers(w, queue, w->sizes[0], w->dtype, &w->buffers[0]));
    TRY(add_permutation(w, queue, w->sizes[0], NDR_DTYPE_U32, &w->buffers[1]));
    TRY(add_room(w, w->sizes[0], w->dtype, &w->buffers[2]));
    w->desc.gather.input.buffer = w->buffers[0], w->desc.gather.indexes.buffer = w->buffers[1];
    w->desc.gather.output.buffer = w->buffers[2];
    return NDR_OK;
}

static void set_scatter(work *w)
{
    const size_t count = w->sizes[0];
    w->desc.scatter =
        (ndr_scatter_desc){ .dtype = w->dtype, .index_dtype = NDR_DTYPE_U32, .count = count, .output_count = count };
    w->moved = count * (2 * ndr_dtype_size(w->dtype) + sizeof(uint32_t));
}

static ndr_status fill_scatter(work *w, ndr_queue *queue)
{
    TRY(add_numbers(w, queue, w->sizes[0], w->dtype, &w->buffers[0]));
    TRY(add_permutation(w, queue, w->sizes[0], NDR_DTYPE_U32, &w->buffers[1]));
    TRY(add_room(w, w->sizes[0], w->dtype, &w->buffers[2]));
    w->desc.scatter.input.buffer = w->buffers[0], w->desc.scatter.indexes.buffer = w->buffers[1];
    w->desc.scatter.output.buffer = w->buffers[2];
    return NDR_OK;
}

static void set_transpose(work *w)
{
    const size_t rows = w->sizes[0], cols = w->sizes[1];
    w->desc.copy.input = ndr_array_of(NULL, w->dtype, ndr_range_2d(cols, rows));
    w->desc.copy.output = w->desc.copy.input;
    w->desc.copy.input.stride[0] = 1, w->desc.copy.input.stride[1] = (int64_t)cols;
    w->moved = 2 * rows * cols * ndr_dtype_size(w->dtype);
}

static ndr_status fill_transpose(work *w, ndr_queue *queue)
{
    TRY(add_numbers(w, queue, w->sizes[0] * w->sizes[1], w->dtype, &w->buffers[0]));
    TRY(add_room(w, w->sizes[0] * w->sizes[1], w->dtype, &w->buffers[1]));
    w->desc.copy.input.buffer = w->buffers[0], w->desc.copy.output.buffer = w->buffers[1];
    return NDR_OK;
}

/* y = 3 * x + y */
static void set_map(work *w)
{
    const ndr_array array = ndr_array_of(NULL, w->dtype, ndr_range_1d(w->sizes[0]));
    w->inputs[0] = (ndr_map_array){ "x", array };
    w->inputs[1] = w->output = (ndr_map_array){ "y", array };
    w->desc.map = (ndr_map_desc){
        .statement = "y = 3 * x + y", .inputs = w->inputs, .input_count = 2, .outputs = &w->output, .output_count = 1
    };
    w->moved = 3 * w->sizes[0] * ndr_dtype_size(w->dtype);
}

static ndr_status fill_map(work *w, ndr_queue *queue)
{
    TRY(add_numbers(w, queue, w->sizes[0], w->dtype, &w->buffers[0]));
    TRY(add_numbers(w, queue, w->sizes[0], w->dtype, &w->buffers[1]));
    w->inputs[0].array.buffer = w->buffers[0];
    w->inputs[1].array.buffer = w->output.array.buffer = w->buffers[1];
    return NDR_OK;
}

/* The sum of x * y. */
static void set_map_reduce(work *w)
{
    const ndr_array array = ndr_array_of(NULL, w->dtype, ndr_range_1d(w->sizes[0]));
    w->inputs[0] = (ndr_map_array){ "x", array };
    w->inputs[1] = (ndr_map_array){ "y", array };
    w->desc.map_reduce = (ndr_map_reduce_desc){ .dtype = w->dtype,
                                                .op = w->op,
                                                .expression = "x * y",
                                                .inputs = w->inputs,
                                                .input_count = 2,
                                                .output = { .dtype = w->dtype } };
    w->moved = 2 * w->sizes[0] * ndr_dtype_size(w->dtype);
}

static ndr_status fill_map_reduce(work *w, ndr_queue *queue)
{
    TRY(add_numbers(w, queue, w->sizes[0], w->dtype, &w->buffers[0]));
    TRY(add_numbers(w, queue, w->sizes[0], w->dtype, &w->buffers[1]));
    TRY(add_room(w, 1, w->dtype, &w->buffers[2]));
    w->inputs[0].array.buffer = w->buffers[0], w->inputs[1].array.buffer = w->buffers[1];
    w->desc.map_reduce.output.buffer = w->buffers[2];
    return NDR_OK;
}

static void set_copy(work *w) { w->moved = 2 * w->sizes[0]; }

static ndr_status fill_copy(work *w, ndr_queue *queue)
{
    TRY(add_numbers(w, queue, w->sizes[0], NDR_DTYPE_U8, &w->buffers[0]));
    return add_numbers(w, queue, w->sizes[0], NDR_DTYPE_U8, &w->buffers[1]);
}

static void set_fill(work *w) { w->moved = w->sizes[0]; }

static ndr_status fill_fill(work *w, ndr_queue *queue)
{
    return add_numbers(w, queue, w->sizes[0], NDR_DTYPE_U8, &w->buffers[0]);
}

static void set_launch(work *w) { (void)w; }

static ndr_status fill_launch(work *w, ndr_queue *queue)
{
    static const char source[] = "#include <ndr/item.clh>\n"
                                 "kernel void bench_launch(global uint *x, NDR_RANGE(1))\n"
                                 "{\n"
                                 "    const ndr_item it = NDR_ITEM(1);\n"
                                 "    if (ndr_global_id(it, 0) == 0) *x += 1;\n"
                                 "}\n";
    TRY(add_numbers(w, queue, 1, NDR_DTYPE_U32, &w->buffers[0]));
    return ndr_kernel_get(w->context, &(ndr_kernel_desc){ .name = "bench_launch", .source = source }, &w->kernel);
}

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
    [MATMUL] = { "matmul", 3, MOST_SIDE, products, false, set_matmul, fill_matmul },
    [REDUCE] = { "reduce", 1, MOST, of_reductions, true, set_reduce, fill_reduce },
    [SCAN] = { "scan", 1, MOST, numbers, true, set_scan, fill_scan },
    [ARRAY_SCAN] = { "array_scan", 2, MOST_SIDE, numbers, true, set_array_scan, fill_array_scan },
    [SORT] = { "sort", 1, MOST, numbers, false, set_sort, fill_sort },
    [TOP_K] = { "top_k", 1, MOST, numbers, false, set_top_k, fill_top_k },
    [MERGE] = { "merge", 1, MOST, numbers, false, set_merge, fill_merge },
    [MERGE_SORT] = { "merge_sort", 1, MOST, numbers, false, set_merge_sort, fill_merge_sort },
    [SELECT] = { "select", 1, MOST, numbers, false, set_select, fill_select },
    [HISTOGRAM] = { "histogram", 1, MOST, of_histograms, false, set_histogram, fill_histogram },
    [RANDOM] = { "random", 1, MOST, numbers, false, set_random, fill_random },
    [GATHER] = { "gather", 1, MOST_INDEX, numbers, false, set_gather, fill_gather },
    [SCATTER] = { "scatter", 1, MOST_INDEX, numbers, false, set_scatter, fill_scatter },
    [TRANSPOSE] = { "transpose", 2, MOST_SIDE, numbers, false, set_transpose, fill_transpose },
    [MAP] = { "map", 1, MOST, numbers, false, set_map, fill_map },
    [MAP_REDUCE] = { "map_reduce", 1, MOST, numbers, true, set_map_reduce, fill_map_reduce },
    [COPY] = { "copy", 1, MOST, NULL, false, set_copy, fill_copy },
    [FILL] = { "fill", 1, MOST, NULL, false, set_fill, fill_fill },
    [LAUNCH] = { "launch", 1, MOST, NULL, false, set_launch, fill_launch },
};

void set_work(work *w, operation_id id)
{
    w->operation = id;
    operations[id].set(w);
}

ndr_status fill_work(work *w, ndr_queue *queue) { return operations[w->operation].fill(w, queue); }

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
