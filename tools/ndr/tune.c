/* tune.c - `ndr tune`: finds the fastest implementation of a product, and keeps the choice. */
#include "operation.h"

#include <string.h>

typedef struct options {
    common common;
    ndr_tune_desc desc;
    bool has_shape;
} options;

enum { OPTION_DTYPE = 0x200, OPTION_ACCURACY, DEFAULT_SECONDS = 30 };

static const struct argp_option list[] = {
    { "dtype", OPTION_DTYPE, "TYPE", 0, "f32 or f64; f32 if not given", 0 },
    { "accuracy", OPTION_ACCURACY, "WORD", 0, "full, or tf32 if a and b may be rounded; full if not given", 0 },
    { "seconds", 's', "SECONDS", 0, "No new run starts after this time; 30 if not given", 0 },
    { 0 },
};

static void parse_shape(options *o, const struct argp_state *state, const char *text)
{
    size_t sizes[3];
    if (o->has_shape) argp_error(state, "too many arguments: \"%s\"", text);
    read_shape(state, text, 3, 1 << 30, sizes);
    o->desc.m = sizes[0], o->desc.n = sizes[1], o->desc.k = sizes[2];
    o->has_shape = true;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    options *o = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &o->common; return 0;
    case ARGP_KEY_ARG: parse_shape(o, state, arg); return 0;
    case ARGP_KEY_END:
        if (!o->has_shape) argp_error(state, "no shape is given; give three numbers like 1024x512x256");
        return 0;
    case OPTION_DTYPE: o->desc.dtype = (ndr_dtype)read_word(state, "--dtype", arg, words_of_products); return 0;
    case OPTION_ACCURACY:
        o->desc.accuracy = (ndr_accuracy)read_word(state, "--accuracy", arg, words_of_accuracies);
        return 0;
    case 's': o->desc.max_seconds = read_positive(state, "--seconds", arg, 86400); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    .options = list,
    .parser = parse_option,
    .args_doc = "MxNxK",
    .doc = "Measures the implementations of ndr_matmul() for products of an M x K and a K x N matrix. libndr then uses "
           "the fastest one for all products of the same class on this device. The device should be idle.",
    .children = (const struct argp_child[]){ { .argp = &common_argp }, { 0 } },
};

/* ---- where the choice is kept ---- */

/* The implementation that a new program gets for such a product. */
static ndr_status explain_anew(const options *o, size_t capacity, char *text)
{
    const ndr_tune_desc *const d = &o->desc;
    const ndr_matmul_desc product = { .dtype = d->dtype,
                                      .accuracy = d->accuracy,
                                      .a = { .rows = d->m, .cols = d->k },
                                      .b = { .rows = d->k, .cols = d->n },
                                      .c = { .rows = d->m, .cols = d->n } };
    ndr_context *context;
    ndr_status status = ndr_context_create(o->common.device, &context);
    if (status != NDR_OK) return status;
    status = ndr_matmul_explain(context, &product, capacity, text, NULL);
    ndr_context_destroy(context);
    return status;
}

static ndr_status add_place(json_t *data, const options *o)
{
    char folder[4096], text[4096];
    const ndr_status status = ndr_cache_get_folder(sizeof folder, folder, NULL);
    if (status != NDR_OK && status != NDR_NOT_KEPT) return status;
    if (status == NDR_OK) json_object_set_new(data, "folder", text_json(folder));
    else json_object_set_new(data, "not_kept", text_json(ndr_last_error()));
    const ndr_status explained = explain_anew(o, sizeof text, text);
    if (explained == NDR_OK) add_explanation(data, text);
    return explained;
}

/* ---- the result ---- */

/* The class has the sizes with the same least power of two that is not smaller. */
static json_t *class_of(size_t size)
{
    size_t last = 1;
    while (last < size) last *= 2;
    return json_pack("[II]", (json_int_t)(last / 2 + 1), (json_int_t)last);
}

static void print_class(const json_t *data)
{
    static const char *const names[] = { "m", "n", "k" };
    for (int i = 0; i < 3; ++i) {
        const json_t *const ends = json_object_get(json_object_get(data, "class"), names[i]);
        printf("%s%s from %lld to %lld",
               i == 0   ? ""
               : i == 1 ? ", "
                        : " and ",
               names[i], (long long)json_integer_value(json_array_get(ends, 0)),
               (long long)json_integer_value(json_array_get(ends, 1)));
    }
}

static void print_place(const json_t *data)
{
    const char *const folder = json_string_value(json_object_get(data, "folder"));
    const char *const why = json_string_value(json_object_get(data, "not_kept"));
    const char *const anew = json_string_value(json_object_get(data, "implementation"));
    if (why) printf("not kept for other programs: %s\n", why);
    else if (strcmp(anew, json_string_value(json_object_get(data, "row"))) != 0)
        printf("%snot kept%s: a new program gets %s; \"%s\" cannot be written, as `ndr doctor` should say\n",
               style_begin(WARNING), style_end(), anew, folder);
    else {
        printf("kept in \"%s\" for products with ", folder);
        print_class(data);
        printf("; `ndr cache clear` removes it\n");
    }
}

static void print_result(const json_t *data, const options *o, const ndr_tune_result *found)
{
    char before[32], after[32];
    printf("product of %zux%zux%zu, %s, on device \"%s\"\n", o->desc.m, o->desc.n, o->desc.k,
           ndr_dtype_name(o->desc.dtype), json_string_value(json_object_get(data, "device")));
    printf("  before: %-16s %s\n", found->listed_row, with_prefix(before, found->listed_seconds, "s"));
    printf("  after:  %s%-16s%s %s", style_begin(GOOD), found->row, style_end(),
           with_prefix(after, found->seconds, "s"));
    if (strcmp(found->row, found->listed_row) == 0) printf(", as no other is more than 3 %% faster\n");
    else printf(", %.2f times as fast\n", found->listed_seconds / found->seconds);
    print_place(data);
}

/* ---- the command ---- */

static int tune(ndr_context *context, const options *o)
{
    ndr_device_info device;
    ndr_tune_result found;
    ndr_status status = ndr_context_get_device(context, &device);
    begin_waiting("of measuring", o->desc.max_seconds > 0 ? o->desc.max_seconds : DEFAULT_SECONDS);
    if (status == NDR_OK) status = ndr_tune(context, &o->desc, &found);
    end_waiting();
    if (status != NDR_OK) return fail(status);
    json_t *const data = json_pack("{so ss s{so so so} ss sf ss sf}", "device", text_json(device.name), "dtype",
                                   ndr_dtype_name(o->desc.dtype), "class", "m", class_of(o->desc.m), "n",
                                   class_of(o->desc.n), "k", class_of(o->desc.k), "listed_row", found.listed_row,
                                   "listed_seconds", found.listed_seconds, "row", found.row, "seconds", found.seconds);
    status = add_place(data, o);
    if (status != NDR_OK) return json_decref(data), fail(status);
    if (o->common.is_json) return print_json(data);
    print_result(data, o, &found);
    json_decref(data);
    return fflush(stdout) == 0 ? DONE : fail_with("the result cannot be written to stdout");
}

static int run(int argc, char **argv)
{
    options o = { .desc = { .dtype = NDR_DTYPE_F32 } };
    ndr_context *context;
    parse(&argp, argc, argv, &o);
    const ndr_status status = ndr_context_create(o.common.device, &context);
    if (status != NDR_OK) return fail(status);
    const int code = tune(context, &o);
    ndr_context_destroy(context);
    return code;
}

const command tune_command = { "tune", "finds the fastest implementation of a product", run };
