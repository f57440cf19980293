/* bench.c - `ndr bench`: how long an operation takes on a device. */
#include "bench.h"

#include <stdlib.h>
#include <string.h>

typedef struct options {
    common common;
    size_t arguments; /* that are read */
    operation_id operation;
    size_t sizes[3];
    const char *dtype, *op, *method, *accuracy;
    double seconds;
    size_t runs;
} options;

enum { OPTION_DTYPE = 0x200, OPTION_OP, OPTION_METHOD, OPTION_ACCURACY, MOST_RUNS = 1000000 };

static const struct argp_option list[] = {
    { "dtype", OPTION_DTYPE, "TYPE", 0,
      "Of elements: f32 (default), f64, i32, u32, i64 or u64; of reduce also f16 or bf16; of matmul f32 or f64; of "
      "histogram not i64 or u64",
      0 },
    { "op", OPTION_OP, "WORD", 0, "Of reduce, scan, array_scan and map_reduce: sum, min or max; sum if not given", 0 },
    { "method", OPTION_METHOD, "WORD", 0, "Of reduce: tree, atomic or recursive; tree if not given", 0 },
    { "accuracy", OPTION_ACCURACY, "WORD", 0, "Of matmul: full, or tf32 if a and b may be rounded; full if not given",
      0 },
    { "runs", 'n', "NUMBER", 0, "How many runs are measured; 50 if not given", 0 },
    { "seconds", 's', "SECONDS", 0, "No new run starts after this time, but there are three; 2 if not given", 0 },
    { 0 },
};

static operation_id read_operation(const struct argp_state *state, const char *text)
{
    choice words[OPERATIONS + 1] = { { 0 } };
    for (int i = 0; i < OPERATIONS; ++i) words[i] = (choice){ operations[i].name, i };
    return (operation_id)read_word(state, "the operation", text, words);
}

static void parse_argument(options *o, const struct argp_state *state, const char *text)
{
    const operation *const of = &operations[o->operation];
    switch (o->arguments++) {
    case 0: o->operation = read_operation(state, text); break;
    case 1: read_shape(state, text, of->dims, of->most, o->sizes); break;
    default: argp_error(state, "too many arguments: \"%s\"", text);
    }
}

static void check_words(const options *o, const struct argp_state *state)
{
    const operation *const of = &operations[o->operation];
    const struct {
        const char *name;
        bool is_given, is_taken;
    } given[] = { { "--dtype", o->dtype, of->dtypes != NULL },
                  { "--op", o->op, of->has_op },
                  { "--method", o->method, o->operation == REDUCE },
                  { "--accuracy", o->accuracy, o->operation == MATMUL } };
    if (o->arguments < 2) argp_error(state, "give an operation and a shape, such as: reduce 16777216");
    for (size_t i = 0; i < sizeof given / sizeof given[0]; ++i)
        if (given[i].is_given && !given[i].is_taken)
            argp_error(state, "%s takes no option %s", of->name, given[i].name);
    if (o->dtype) (void)read_word(state, "--dtype", o->dtype, of->dtypes);
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
    .args_doc = "matmul MxNxK\nreduce ELEMENTS\nscan ELEMENTS\narray_scan ROWSxCOLUMNS\nsort ELEMENTS\n"
                "top_k ELEMENTS\nmerge ELEMENTS\nmerge_sort ELEMENTS\nselect ELEMENTS\nhistogram ELEMENTS\n"
                "random ELEMENTS\ngather ELEMENTS\nscatter ELEMENTS\ntranspose ROWSxCOLUMNS\nmap ELEMENTS\n"
                "map_reduce ELEMENTS\ncopy BYTES\nfill BYTES\nlaunch ITEMS",
    .doc = "Measures how long an operation takes, from the call to its end: a product of an M x K and a K x N matrix, "
           "other operations of libndr on that many elements, a copy or a fill of a buffer, or the launch of a kernel "
           "that does almost nothing.",
    .children = (const struct argp_child[]){ { .argp = &common_argp }, { 0 } },
};

static int value_of(const char *text, const choice *words, int otherwise)
{
    for (const choice *w = words; text && w->name; ++w)
        if (strcmp(text, w->name) == 0) return w->value;
    return otherwise;
}

static void set_from(work *w, const options *o)
{
    const choice *const dtypes = operations[o->operation].dtypes;
    memcpy(w->sizes, o->sizes, sizeof w->sizes);
    if (dtypes) w->dtype = (ndr_dtype)value_of(o->dtype, dtypes, NDR_DTYPE_F32);
    w->op = (ndr_op)value_of(o->op, words_of_ops, NDR_OP_SUM);
    w->method = (ndr_reduce_method)value_of(o->method, words_of_methods, NDR_REDUCE_TREE);
    w->accuracy = (ndr_accuracy)value_of(o->accuracy, words_of_accuracies, NDR_ACCURACY_FULL);
    set_work(w, o->operation);
}

static ndr_status explain(const work *w, json_t *data)
{
    char text[8192];
    TRY(explain_work(w, sizeof text, text));
    if (*text) add_explanation(data, text);
    return NDR_OK;
}

/* ---- times ---- */

typedef struct times {
    uint64_t *ns;
    size_t count;
} times;

/* From the call to the end of the work, or on the device as the driver records it. */
static ndr_status time_run(const work *w, ndr_queue *queue, bool is_on_device, uint64_t *ns)
{
    uint64_t before, after;
    ndr_event *event;
    if (!is_on_device) {
        TRY(ndr_queue_finish_timed(queue, &before));
        TRY(enqueue_work(w, queue, NULL));
        TRY(ndr_queue_finish_timed(queue, &after));
        *ns = after - before;
        return NDR_OK;
    }
    TRY(enqueue_work(w, queue, &event));
    const ndr_status status = ndr_event_elapsed_ns(event, ns);
    ndr_event_destroy(event);
    return status;
}

/* The first run builds kernels, and the second may still be slow; neither counts. */
static ndr_status measure(const work *w, const options *o, ndr_queue *queue, bool is_on_device, times *t)
{
    enum { LEAST = 3 };
    uint64_t start, now;
    begin_waiting("of first runs", 0);
    ndr_status status = enqueue_work(w, queue, NULL);
    if (status == NDR_OK) status = enqueue_work(w, queue, NULL);
    if (status == NDR_OK) status = ndr_queue_finish(queue);
    end_waiting();
    TRY(status);
    TRY(ndr_queue_finish_timed(queue, &start));
    for (t->count = 0; t->count < o->runs; ++t->count) {
        TRY(ndr_queue_finish_timed(queue, &now));
        if (t->count >= LEAST && (double)(now - start) * 1e-9 > o->seconds) break;
        show_progress(is_on_device ? "runs, times of the device" : "runs", t->count, o->runs);
        TRY(time_run(w, queue, is_on_device, &t->ns[t->count]));
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
static ndr_status measure_on_device(const work *w, const options *o, times *t, json_t *data)
{
    ndr_queue *queue;
    if (ndr_queue_create(w->context, &(ndr_queue_desc){ .is_profiling = true }, &queue) != NDR_OK) return NDR_OK;
    const ndr_status status = measure(w, o, queue, true, t);
    ndr_queue_destroy(queue);
    if (status != NDR_OK) return status;
    json_object_set_new(data, "on_device", summarize(t));
    if (!(number_in(data, "on_device", "median_s") > 0)) json_object_del(data, "on_device");
    return NDR_OK;
}

static ndr_status measure_all(work *w, const options *o, ndr_queue *queue, times *t, json_t *data)
{
    begin_waiting("of preparation", 0);
    const ndr_status status = fill_work(w, queue);
    end_waiting();
    TRY(status);
    TRY(measure(w, o, queue, false, t));
    json_object_set_new(data, "call", summarize(t));
    TRY(explain(w, data)); /* after the runs: an implementation that does not build has been replaced */
    return measure_on_device(w, o, t, data);
}

/* ---- the result ---- */

static void add_rates(json_t *data, const work *w)
{
    const double seconds = number_in(data, "call", "median_s");
    if (w->moved && seconds > 0) json_object_set_new(data, "gb_per_s", json_real((double)w->moved / seconds * 1e-9));
    if (w->flops && seconds > 0) json_object_set_new(data, "gflop_per_s", json_real((double)w->flops / seconds * 1e-9));
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

static json_t *describe(const work *w, const options *o, const char *device)
{
    char shape[80] = "";
    const operation *const of = &operations[o->operation];
    for (unsigned i = 0; i < of->dims; ++i)
        snprintf(shape + strlen(shape), sizeof shape - strlen(shape), "%s%zu", i ? "x" : "", o->sizes[i]);
    json_t *const data = json_pack("{so ss ss}", "device", text_json(device), "operation", of->name, "shape", shape);
    if (of->dtypes) json_object_set_new(data, "dtype", json_string(ndr_dtype_name(w->dtype)));
    return data;
}

/* ---- the command ---- */

static ndr_status run_bench(work *w, const options *o, times *t, json_t **data)
{
    ndr_device_info device;
    ndr_queue *queue;
    json_t *const found = json_object();
    TRY(ndr_context_get_device(w->context, &device));
    TRY(ndr_queue_create(w->context, NULL, &queue));
    const ndr_status status = measure_all(w, o, queue, t, found);
    ndr_queue_destroy(queue);
    *data = describe(w, o, device.name);
    json_object_update(*data, found);
    json_decref(found);
    add_rates(*data, w);
    return status;
}

static int run(int argc, char **argv)
{
    options o = { .seconds = 2, .runs = 50 };
    parse(&argp, argc, argv, &o);
    work w = { 0 };
    set_from(&w, &o);
    times t = { .ns = malloc(o.runs * sizeof *t.ns) };
    json_t *data = NULL;
    if (!t.ns) return fail_with("the host has no memory for the times of %zu runs; give fewer --runs", o.runs);
    ndr_status status = ndr_context_create(o.common.device, &w.context);
    if (status == NDR_OK) status = run_bench(&w, &o, &t, &data);
    int code = status == NDR_OK ? DONE : fail(status);
    if (code == DONE && o.common.is_json) code = print_json(json_incref(data));
    else if (code == DONE) print_result(data);
    for (size_t i = 0; i < w.need_count; ++i) ndr_buffer_destroy(w.buffers[i]);
    ndr_context_destroy(w.context);
    json_decref(data);
    free(t.ns);
    if (code == DONE && fflush(stdout) != 0) return fail_with("the result cannot be written to stdout");
    return code;
}

const command bench_command = { "bench", "measures how long an operation takes", run };
