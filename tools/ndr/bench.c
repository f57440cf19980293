/* bench.c - `ndr bench`: how long an operation takes on a device. */
#include "operation.h"

#include <stdlib.h>
#include <string.h>

typedef enum operation { MATMUL, REDUCE, COPY, FILL, LAUNCH } operation;

static const choice words_of_operations[] = { { "matmul", MATMUL }, { "reduce", REDUCE }, { "copy", COPY },
                                            { "fill", FILL },     { "launch", LAUNCH }, { 0 } };

typedef struct options {
    common common;
    size_t arguments; /* that are read */
    operation operation;
    size_t sizes[3]; /* m, n and k; or elements, bytes or items */
    const char *dtype, *op, *method, *accuracy;
    double seconds;
    size_t runs;
} options;

enum { OPTION_DTYPE = 0x200, OPTION_OP, OPTION_METHOD, OPTION_ACCURACY, MOST_RUNS = 1000000 };

static const struct argp_option list[] = {
    { "dtype", OPTION_DTYPE, "TYPE", 0, "Of matmul f32 or f64, of reduce also i32, u32, i64 or u64; f32 if not given",
      0 },
    { "op", OPTION_OP, "WORD", 0, "Of reduce: sum, min or max; sum if not given", 0 },
    { "method", OPTION_METHOD, "WORD", 0, "Of reduce: tree, atomic or recursive; tree if not given", 0 },
    { "accuracy", OPTION_ACCURACY, "WORD", 0, "Of matmul: full, or tf32 if a and b may be rounded; full if not given",
      0 },
    { "runs", 'n', "NUMBER", 0, "How many runs are measured; 50 if not given", 0 },
    { "seconds", 's', "SECONDS", 0, "No new run starts after this time, but there are three; 2 if not given", 0 },
    { 0 },
};

static void parse_argument(options *o, const struct argp_state *state, const char *text)
{
    static const uint64_t most[] = {
        [MATMUL] = 1 << 30, [REDUCE] = 1ull << 40, [COPY] = 1ull << 40, [FILL] = 1ull << 40, [LAUNCH] = 1ull << 40
    };
    switch (o->arguments++) {
    case 0: o->operation = (operation)read_word(state, "the operation", text, words_of_operations); break;
    case 1: read_shape(state, text, o->operation == MATMUL ? 3 : 1, most[o->operation], o->sizes); break;
    default: argp_error(state, "too many arguments: \"%s\"", text);
    }
}

static void check_words(const options *o, const struct argp_state *state)
{
    const struct {
        const char *name;
        bool is_given, is_taken;
    } given[] = { { "--dtype", o->dtype, o->operation == MATMUL || o->operation == REDUCE },
                  { "--op", o->op, o->operation == REDUCE },
                  { "--method", o->method, o->operation == REDUCE },
                  { "--accuracy", o->accuracy, o->operation == MATMUL } };
    if (o->arguments < 2) argp_error(state, "give an operation and a shape, such as: reduce 16777216");
    for (size_t i = 0; i < sizeof given / sizeof given[0]; ++i)
        if (given[i].is_given && !given[i].is_taken)
            argp_error(state, "%s takes no option %s", words_of_operations[o->operation].name, given[i].name);
    if (o->dtype)
        (void)read_word(state, "--dtype", o->dtype, o->operation == MATMUL ? words_of_products : words_of_reductions);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    options *o = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &o->common; return 0;
    case ARGP_KEY_ARG: parse_argument(o, state, arg); return 0;
    case ARGP_KEY_END: check_words(o, state); return 0;
    case OPTION_DTYPE: o->dtype = arg; return 0;
    case OPTION_OP: o->op = arg; return read_word(state, "--op", arg, words_of_ops), 0;
    case OPTION_METHOD: o->method = arg; return read_word(state, "--method", arg, words_of_methods), 0;
    case OPTION_ACCURACY: o->accuracy = arg; return read_word(state, "--accuracy", arg, words_of_accuracies), 0;
    case 'n': o->runs = (size_t)read_positive(state, "--runs", arg, MOST_RUNS); break;
    case 's': o->seconds = read_positive(state, "--seconds", arg, 86400); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
    if (o->runs < 1) argp_error(state, "--runs is \"%s\"; give a whole number from 1", arg);
    return 0;
}

static const struct argp argp = {
    .options = list,
    .parser = parse_option,
    .args_doc = "matmul MxNxK\nreduce ELEMENTS\ncopy BYTES\nfill BYTES\nlaunch ITEMS",
    .doc =
        "Measures how long an operation takes, from the call to its end: a product of an M x K and a K x N matrix, a "
        "reduction, a copy or a fill of a buffer, or the launch of a kernel that does almost nothing.",
    .children = (const struct argp_child[]){ { .argp = &common_argp }, { 0 } },
};

/* ---- what is measured ---- */

typedef struct bench {
    ndr_context *context;
    operation operation;
    ndr_matmul_desc product;
    ndr_reduce_desc reduction;
    ndr_buffer *buffers[3]; /* a, b, c; input, output; from, to */
    size_t bytes;           /* of a copy or fill */
    ndr_kernel *kernel;
    size_t items;
    uint64_t moved, flops; /* bytes read and written, each once; operations on floating-point numbers */
} bench;

/* Small numbers of both signs, exact in each type. */
static ndr_status make_buffer(bench *b, ndr_queue *queue, size_t bytes, ndr_dtype dtype, ndr_buffer **buffer)
{
    enum { PATTERN = 128 };
    union {
        float f32[PATTERN / 4];
        double f64[PATTERN / 8];
        uint8_t bytes[PATTERN];
    } x;
    for (size_t i = 0; i < PATTERN; ++i) x.bytes[i] = (uint8_t)(37 * i + 5);
    for (int i = 0; dtype == NDR_DTYPE_F32 && i < PATTERN / 4; ++i) x.f32[i] = (float)(37 * i % 17 - 8) / 8;
    for (int i = 0; dtype == NDR_DTYPE_F64 && i < PATTERN / 8; ++i) x.f64[i] = (double)(37 * i % 17 - 8) / 8;
    const size_t rounded = (bytes + PATTERN - 1) / PATTERN * PATTERN;
    TRY(ndr_buffer_create(b->context, rounded, buffer));
    return ndr_buffer_fill(queue, *buffer, 0, rounded, &x, PATTERN, NULL);
}

static int value_of(const char *text, const choice *words, int otherwise)
{
    for (const choice *w = words; text && w->name; ++w)
        if (strcmp(text, w->name) == 0) return w->value;
    return otherwise;
}

static ndr_status prepare_product(bench *b, const options *o, ndr_queue *queue)
{
    const ndr_dtype dtype = (ndr_dtype)value_of(o->dtype, words_of_products, NDR_DTYPE_F32);
    const size_t m = o->sizes[0], n = o->sizes[1], k = o->sizes[2], each = ndr_dtype_size(dtype);
    TRY(make_buffer(b, queue, m * k * each, dtype, &b->buffers[0]));
    TRY(make_buffer(b, queue, k * n * each, dtype, &b->buffers[1]));
    TRY(make_buffer(b, queue, m * n * each, dtype, &b->buffers[2]));
    b->product =
        (ndr_matmul_desc){ .dtype = dtype,
                           .accuracy = (ndr_accuracy)value_of(o->accuracy, words_of_accuracies, NDR_ACCURACY_FULL),
                           .a = { .buffer = b->buffers[0], .rows = m, .cols = k },
                           .b = { .buffer = b->buffers[1], .rows = k, .cols = n },
                           .c = { .buffer = b->buffers[2], .rows = m, .cols = n } };
    b->moved = (m * k + k * n + m * n) * each;
    b->flops = 2 * (uint64_t)m * n * k;
    return NDR_OK;
}

static ndr_status prepare_reduction(bench *b, const options *o, ndr_queue *queue)
{
    const ndr_dtype dtype = (ndr_dtype)value_of(o->dtype, words_of_reductions, NDR_DTYPE_F32);
    TRY(make_buffer(b, queue, o->sizes[0] * ndr_dtype_size(dtype), dtype, &b->buffers[0]));
    TRY(make_buffer(b, queue, ndr_dtype_size(dtype), dtype, &b->buffers[1]));
    b->reduction =
        (ndr_reduce_desc){ .dtype = dtype,
                           .op = (ndr_op)value_of(o->op, words_of_ops, NDR_OP_SUM),
                           .method = (ndr_reduce_method)value_of(o->method, words_of_methods, NDR_REDUCE_TREE),
                           .input = { .buffer = b->buffers[0] },
                           .count = o->sizes[0],
                           .output = { .buffer = b->buffers[1] } };
    b->moved = o->sizes[0] * ndr_dtype_size(dtype);
    return NDR_OK;
}

static ndr_status prepare_bytes(bench *b, const options *o, ndr_queue *queue)
{
    b->bytes = o->sizes[0];
    TRY(make_buffer(b, queue, b->bytes, NDR_DTYPE_U8, &b->buffers[0]));
    if (o->operation == COPY) TRY(make_buffer(b, queue, b->bytes, NDR_DTYPE_U8, &b->buffers[1]));
    b->moved = b->bytes * (o->operation == COPY ? 2 : 1);
    return NDR_OK;
}

static ndr_status prepare_launch(bench *b, const options *o, ndr_queue *queue)
{
    static const char source[] = "#include <ndr/item.clh>\n"
                                 "kernel void bench_launch(global uint *x, NDR_RANGE(1))\n"
                                 "{\n"
                                 "    const ndr_item it = NDR_ITEM(1);\n"
                                 "    if (ndr_global_id(it, 0) == 0) *x += 1;\n"
                                 "}\n";
    b->items = o->sizes[0];
    TRY(make_buffer(b, queue, sizeof(uint32_t), NDR_DTYPE_U32, &b->buffers[0]));
    return ndr_kernel_get(b->context, &(ndr_kernel_desc){ .name = "bench_launch", .source = source }, &b->kernel);
}

static ndr_status prepare(bench *b, const options *o, ndr_queue *queue)
{
    static ndr_status (*const of[])(bench * b, const options *o, ndr_queue *queue) = {
        [MATMUL] = prepare_product, [REDUCE] = prepare_reduction, [COPY] = prepare_bytes,
        [FILL] = prepare_bytes,     [LAUNCH] = prepare_launch,
    };
    return of[o->operation](b, o, queue);
}

static ndr_status enqueue(const bench *b, ndr_queue *queue, ndr_event **event)
{
    static const uint8_t zero = 0;
    switch (b->operation) {
    case MATMUL: return ndr_matmul(queue, &b->product, event);
    case REDUCE: return ndr_reduce(queue, &b->reduction, event);
    case COPY: return ndr_buffer_copy(queue, b->buffers[0], 0, b->buffers[1], 0, b->bytes, event);
    case FILL: return ndr_buffer_fill(queue, b->buffers[0], 0, b->bytes, &zero, 1, event);
    default: return ndr_launch_event(queue, b->kernel, event, ndr_range_1d(b->items), b->buffers[0]);
    }
}

static ndr_status explain(const bench *b, json_t *data)
{
    char text[8192];
    if (b->operation == MATMUL) TRY(ndr_matmul_explain(b->context, &b->product, sizeof text, text, NULL));
    else if (b->operation == REDUCE) TRY(ndr_reduce_explain(b->context, &b->reduction, sizeof text, text, NULL));
    else return NDR_OK;
    add_explanation(data, text);
    return NDR_OK;
}

/* ---- times ---- */

typedef struct times {
    uint64_t *ns;
    size_t count;
} times;

/* From the call to the end of the work, or on the device as the driver records it. */
static ndr_status time_run(const bench *b, ndr_queue *queue, bool is_on_device, uint64_t *ns)
{
    uint64_t before, after;
    ndr_event *event;
    if (!is_on_device) {
        TRY(ndr_queue_finish_timed(queue, &before));
        TRY(enqueue(b, queue, NULL));
        TRY(ndr_queue_finish_timed(queue, &after));
        *ns = after - before;
        return NDR_OK;
    }
    TRY(enqueue(b, queue, &event));
    const ndr_status status = ndr_event_elapsed_ns(event, ns);
    ndr_event_destroy(event);
    return status;
}

/* The first run builds kernels, and the second may still be slow; neither counts. */
static ndr_status measure(const bench *b, const options *o, ndr_queue *queue, bool is_on_device, times *t)
{
    enum { LEAST = 3 };
    uint64_t start, now;
    for (int i = 0; i < 2; ++i) TRY(enqueue(b, queue, NULL));
    TRY(ndr_queue_finish_timed(queue, &start));
    for (t->count = 0; t->count < o->runs; ++t->count) {
        TRY(ndr_queue_finish_timed(queue, &now));
        if (t->count >= LEAST && (double)(now - start) * 1e-9 > o->seconds) break;
        show_progress(is_on_device ? "runs, times of the device" : "runs", t->count, o->runs);
        TRY(time_run(b, queue, is_on_device, &t->ns[t->count]));
    }
    show_progress("runs", o->runs, o->runs);
    return NDR_OK;
}

/* Spread: the distance of the quartiles, as a part of the median. */
static json_t *summarize(times *t)
{
    qsort(t->ns, t->count, sizeof *t->ns, compare_times);
    const size_t last = t->count - 1;
    const double median = (double)(t->ns[last / 2] + t->ns[t->count / 2]) / 2;
    const double between = (double)(t->ns[3 * last / 4] - t->ns[last / 4]);
    return json_pack("{sI sf sf sf}", "runs", (json_int_t)t->count, "median_s", median * 1e-9, "minimum_s",
                     (double)t->ns[0] * 1e-9, "spread", median > 0 ? between / median : 0.0);
}

static double number_in(const json_t *data, const char *object, const char *key)
{
    return json_real_value(json_object_get(json_object_get(data, object), key));
}

/* A driver that records no times reports 0. */
static ndr_status measure_on_device(const bench *b, const options *o, times *t, json_t *data)
{
    ndr_queue *queue;
    if (ndr_queue_create(b->context, &(ndr_queue_desc){ .is_profiling = true }, &queue) != NDR_OK) return NDR_OK;
    const ndr_status status = measure(b, o, queue, true, t);
    ndr_queue_destroy(queue);
    if (status != NDR_OK) return status;
    json_object_set_new(data, "on_device", summarize(t));
    if (!(number_in(data, "on_device", "median_s") > 0)) json_object_del(data, "on_device");
    return NDR_OK;
}

static ndr_status measure_all(bench *b, const options *o, ndr_queue *queue, times *t, json_t *data)
{
    TRY(prepare(b, o, queue));
    TRY(measure(b, o, queue, false, t));
    json_object_set_new(data, "call", summarize(t));
    TRY(explain(b, data)); /* after the runs: an implementation that does not build has been replaced */
    return measure_on_device(b, o, t, data);
}

/* ---- the result ---- */

static void add_rates(json_t *data, const bench *b)
{
    const double seconds = number_in(data, "call", "median_s");
    if (b->moved && seconds > 0) json_object_set_new(data, "gb_per_s", json_real((double)b->moved / seconds * 1e-9));
    if (b->flops && seconds > 0) json_object_set_new(data, "gflop_per_s", json_real((double)b->flops / seconds * 1e-9));
}

static void print_times(const json_t *data, const char *object, const char *what)
{
    char median[32], minimum[32];
    if (!json_object_get(data, object)) {
        printf("  %-16s the driver records no times\n", what);
        return;
    }
    printf("  %-16s median %s, minimum %s, spread %.1f %%, %lld runs\n", what,
           with_prefix(median, number_in(data, object, "median_s"), "s"),
           with_prefix(minimum, number_in(data, object, "minimum_s"), "s"), 100 * number_in(data, object, "spread"),
           (long long)json_integer_value(json_object_get(json_object_get(data, object), "runs")));
}

static void print_result(const json_t *data)
{
    char rate[32];
    const char *const implementation = json_string_value(json_object_get(data, "implementation"));
    const char *const dtype = json_string_value(json_object_get(data, "dtype"));
    const json_t *const bytes = json_object_get(data, "gb_per_s"), *const flops = json_object_get(data, "gflop_per_s");
    printf("%s %s%s%s on device \"%s\"\n", json_string_value(json_object_get(data, "operation")),
           json_string_value(json_object_get(data, "shape")), dtype ? " of " : "", dtype ? dtype : "",
           json_string_value(json_object_get(data, "device")));
    if (implementation) printf("  %-16s %s\n", "implementation", implementation);
    print_times(data, "call", "call to end");
    print_times(data, "on_device", "on the device");
    if (flops) printf("  %-16s %s\n", "speed", with_prefix(rate, 1e9 * json_real_value(flops), "FLOP/s"));
    if (bytes) printf("  %-16s %s\n", "memory", with_prefix(rate, 1e9 * json_real_value(bytes), "B/s"));
}

static json_t *describe(const bench *b, const options *o, const char *device)
{
    char shape[80];
    const ndr_dtype dtype = b->operation == MATMUL ? b->product.dtype : b->reduction.dtype;
    if (o->operation == MATMUL) snprintf(shape, sizeof shape, "%zux%zux%zu", o->sizes[0], o->sizes[1], o->sizes[2]);
    else snprintf(shape, sizeof shape, "%zu", o->sizes[0]);
    json_t *const data = json_pack("{so ss ss}", "device", text_json(device), "operation",
                                   words_of_operations[o->operation].name, "shape", shape);
    if (dtype != NDR_DTYPE_NONE) json_object_set_new(data, "dtype", json_string(ndr_dtype_name(dtype)));
    return data;
}

/* ---- the command ---- */

static ndr_status run_bench(bench *b, const options *o, times *t, json_t **data)
{
    ndr_device_info device;
    ndr_queue *queue;
    json_t *const found = json_object();
    TRY(ndr_context_get_device(b->context, &device));
    TRY(ndr_queue_create(b->context, NULL, &queue));
    const ndr_status status = measure_all(b, o, queue, t, found);
    ndr_queue_destroy(queue);
    *data = describe(b, o, device.name);
    json_object_update(*data, found);
    json_decref(found);
    add_rates(*data, b);
    return status;
}

static int run(int argc, char **argv)
{
    options o = { .seconds = 2, .runs = 50 };
    parse(&argp, argc, argv, &o);
    bench b = { .operation = o.operation };
    times t = { .ns = malloc(o.runs * sizeof *t.ns) };
    json_t *data = NULL;
    if (!t.ns) return fail_with("the host has no memory for the times of %zu runs; give fewer --runs", o.runs);
    ndr_status status = ndr_context_create(o.common.device, &b.context);
    if (status == NDR_OK) status = run_bench(&b, &o, &t, &data);
    int code = status == NDR_OK ? DONE : fail(status);
    if (code == DONE && o.common.is_json) code = print_json(json_incref(data));
    else if (code == DONE) print_result(data);
    for (size_t i = 0; i < 3; ++i) ndr_buffer_destroy(b.buffers[i]);
    ndr_context_destroy(b.context);
    json_decref(data);
    free(t.ns);
    if (code == DONE && fflush(stdout) != 0) return fail_with("the result cannot be written to stdout");
    return code;
}

const command bench_command = { "bench", "measures how long an operation takes", run };
