/* devices.c - `ndr devices`: the devices, which one a program gets, and how each would run the operations. */
#include "bench.h"

#include <ndr/ndr_cl.h>
#include <stdlib.h>
#include <string.h>

typedef struct options {
    common common;
} options;

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    options *o = state->input;
    if (key == ARGP_KEY_INIT) state->child_inputs[0] = &o->common;
    else if (key == ARGP_KEY_ARG) argp_error(state, "too many arguments: \"%s\"", arg);
    else return ARGP_ERR_UNKNOWN;
    return 0;
}

static const struct argp argp = {
    .parser = parse_option,
    .doc = "Lists the devices of all drivers, which one a program gets and why, what each can do, and which "
           "implementations of the operations it would run.",
    .children = (const struct argp_child[]){ { .argp = &common_argp }, { 0 } },
};

/* ---- the choice ---- */

/* Why ndr_context_create() takes the device that it takes. */
static const char *reason(const common *c)
{
    static char text[300];
    const char *variable = getenv("NDR_DEVICE");
    if (c->device && *c->device) snprintf(text, sizeof text, "--device is \"%s\"", c->device);
    else if (!c->device && variable && *variable) snprintf(text, sizeof text, "NDR_DEVICE is \"%s\"", variable);
    else
        snprintf(text, sizeof text, "%s: the first GPU, else the first accelerator, CPU or other device",
                 c->device ? "--device is empty" : "NDR_DEVICE is not set");
    return text;
}

/* ---- what a device is ---- */

static json_t *sizes(const size_t *values, size_t count)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count; ++i) json_array_append_new(array, json_integer((json_int_t)values[i]));
    return array;
}

/* As hexadecimal digits; false if the driver does not report it. */
static bool print_uuid(const ndr_device_info *d, char *out)
{
    bool is_known = false;
    for (size_t i = 0; i < sizeof d->uuid; ++i) {
        sprintf(out + 2 * i, "%02x", d->uuid[i]);
        is_known |= d->uuid[i] != 0;
    }
    return is_known;
}

static json_t *describe(const ndr_device_info *d, size_t index)
{
    json_t *o = json_object();
    json_object_set_new(o, "index", json_integer((json_int_t)index));
    const struct {
        const char *name, *value;
    } texts[] = { { "name", d->name },     { "type", ndr_device_type_name(d->type) },
                  { "vendor", d->vendor }, { "platform", d->platform },
                  { "driver", d->driver }, { "opencl", d->opencl } };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; ++i)
        json_object_set_new(o, texts[i].name, text_json(texts[i].value));
    const struct {
        const char *name;
        uint64_t value;
    } numbers[] = { { "compute_units", d->compute_units },
                    { "address_bits", d->address_bits },
                    { "max_group_size", d->max_group_size },
                    { "local_memory_bytes", d->local_memory_bytes },
                    { "max_buffer_bytes", d->max_buffer_bytes },
                    { "view_align_bytes", d->view_align_bytes },
                    { "max_argument_bytes", d->max_argument_bytes },
                    { "global_memory_bytes", d->global_memory_bytes },
                    { "global_cache_bytes", d->global_cache_bytes },
                    { "warp_size", d->warp_size },
                    { "preferred_f32_width", d->preferred_f32_width },
                    { "native_f32_width", d->native_f32_width } };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; ++i)
        json_object_set_new(o, numbers[i].name, json_integer((json_int_t)numbers[i].value));
    char uuid[2 * sizeof d->uuid + 1];
    if (print_uuid(d, uuid)) json_object_set_new(o, "uuid", json_string(uuid));
    if (*d->pci_address) json_object_set_new(o, "pci_address", json_string(d->pci_address));
    json_object_set_new(o, "remote", json_boolean(d->is_remote));
    json_object_set_new(o, "max_local_size", sizes(d->max_local_size, 3));
    json_object_set_new(o, "sub_group_sizes", sizes(d->sub_group_sizes, d->sub_group_size_count));
    const struct {
        const char *name;
        bool is_there;
    } abilities[] = { { "dedicated_local_memory", d->has_dedicated_local_memory },
                      { "shares_host_memory", d->shares_host_memory },
                      { "f64", d->has_f64 },
                      { "f16", d->has_f16 },
                      { "int64_atomics", d->has_int64_atomics },
                      { "spirv", d->has_spirv },
                      { "buffer_addresses", d->has_buffer_addresses },
                      { "sub_groups", d->has_sub_groups } };
    json_t *const list = json_object();
    for (size_t i = 0; i < sizeof abilities / sizeof abilities[0]; ++i)
        json_object_set_new(list, abilities[i].name, json_boolean(abilities[i].is_there));
    json_object_set_new(o, "capabilities", list);
    return o;
}

/* ---- how it runs the operations ---- */

/* Typical calls. */
static const struct request {
    const char *type, *what;
    ndr_dtype dtype;
    operation_id operation;
    size_t sizes[3];
    ndr_accuracy accuracy;
} requests[] = {
    { "i32", "sum of 1000", NDR_DTYPE_I32, REDUCE, .sizes = { 1000 } },
    { "i32", "sum of 10000000", NDR_DTYPE_I32, REDUCE, .sizes = { 10000000 } },
    { "f32", "sum of 1000", NDR_DTYPE_F32, REDUCE, .sizes = { 1000 } },
    { "f32", "sum of 10000000", NDR_DTYPE_F32, REDUCE, .sizes = { 10000000 } },
    { "f32", "product of 64", NDR_DTYPE_F32, MATMUL, .sizes = { 64, 64, 64 } },
    { "f32", "product of 2048", NDR_DTYPE_F32, MATMUL, .sizes = { 2048, 2048, 2048 } },
    { "f32", "product of 2048 and a vector", NDR_DTYPE_F32, MATMUL, .sizes = { 2048, 1, 2048 } },
    { "f32", "scan of 10000000", NDR_DTYPE_F32, SCAN, .sizes = { 10000000 } },
    { "f32", "array_scan of 2048", NDR_DTYPE_F32, ARRAY_SCAN, .sizes = { 2048, 2048 } },
    { "f32", "sort of 10000000", NDR_DTYPE_F32, SORT, .sizes = { 10000000 } },
    { "f32", "top_k of 10000000", NDR_DTYPE_F32, TOP_K, .sizes = { 10000000 } },
    { "f32", "merge of 10000000", NDR_DTYPE_F32, MERGE, .sizes = { 10000000 } },
    { "f32", "merge_sort of 10000000", NDR_DTYPE_F32, MERGE_SORT, .sizes = { 10000000 } },
    { "f32", "select of 10000000", NDR_DTYPE_F32, SELECT, .sizes = { 10000000 } },
    { "f32", "histogram of 10000000", NDR_DTYPE_F32, HISTOGRAM, .sizes = { 10000000 } },
    { "f32", "random of 10000000", NDR_DTYPE_F32, RANDOM, .sizes = { 10000000 } },
    { "f32", "gather of 10000000", NDR_DTYPE_F32, GATHER, .sizes = { 10000000 } },
    { "f32", "scatter of 10000000", NDR_DTYPE_F32, SCATTER, .sizes = { 10000000 } },
    { "f32", "transpose of 2048", NDR_DTYPE_F32, TRANSPOSE, .sizes = { 2048, 2048 } },
    { "f32", "map of 10000000", NDR_DTYPE_F32, MAP, .sizes = { 10000000 } },
    { "f32", "map_reduce of 10000000", NDR_DTYPE_F32, MAP_REDUCE, .sizes = { 10000000 } },
    { "f32, accuracy tf32", "product of 2048", NDR_DTYPE_F32, MATMUL, .sizes = { 2048, 2048, 2048 },
      .accuracy = NDR_ACCURACY_TF32 },
    { "f64", "sum of 10000000", NDR_DTYPE_F64, REDUCE, .sizes = { 10000000 } },
    { "f64", "product of 2048", NDR_DTYPE_F64, MATMUL, .sizes = { 2048, 2048, 2048 } },
};

enum { REQUESTS = sizeof requests / sizeof requests[0] };

static ndr_status explain(ndr_context *context, const struct request *r, char *text, size_t capacity)
{
    work w = { .context = context, .dtype = r->dtype, .op = NDR_OP_SUM, .accuracy = r->accuracy };
    memcpy(w.sizes, r->sizes, sizeof w.sizes);
    set_work(&w, r->operation);
    return explain_work(&w, capacity, text);
}

static json_t *explain_json(ndr_context *context, const struct request *r)
{
    char text[4096];
    json_t *o = json_pack("{ss ss ss}", "operation", operations[r->operation].name, "type", r->type, "what", r->what);
    if (explain(context, r, text, sizeof text) != NDR_OK) {
        json_object_set_new(o, "error", text_json(ndr_last_error()));
        return o;
    }
    char *const end = text + strcspn(text, ";");
    json_object_set_new(o, "reasons", text_json(*end ? end + strspn(end, "; ") : ""));
    *end = '\0';
    json_object_set_new(o, "row", json_string(text));
    return o;
}

static json_t *explain_all(ndr_context *context)
{
    json_t *const list = json_array();
    for (size_t i = 0; i < REQUESTS; ++i) json_array_append_new(list, explain_json(context, &requests[i]));
    return list;
}

/* Opens the device at `index` and adds the operations' rows; `*is_same` says whether it is the device of `chosen`. */
static void add_rows(json_t *device, size_t index, const ndr_context *chosen, bool *is_same)
{
    char text[24];
    ndr_context *context;
    *is_same = false;
    snprintf(text, sizeof text, "%zu", index);
    if (ndr_context_create(text, &context) != NDR_OK) {
        json_object_set_new(device, "error", text_json(ndr_last_error()));
        return;
    }
    *is_same = chosen && ndr_context_cl_device(chosen) == ndr_context_cl_device(context);
    json_object_set_new(device, "rows", explain_all(context));
    ndr_context_destroy(context);
}

/* ---- the text ---- */

#define TEXT(key) json_string_value(json_object_get(d, key))
#define NUMBER(key) json_integer_value(json_object_get(d, key))

static void print_abilities(const json_t *d, const char *what, bool are_there)
{
    const char *name;
    json_t *value;
    printf("     %s", what);
    json_object_foreach(json_object_get(d, "capabilities"), name, value)
        if (json_is_true(value) == are_there) printf(" %s", name);
    printf("\n");
}

/* Each type begins a line; longer ones are broken. */
static void print_rows(const json_t *d)
{
    enum { WIDTH = 110 };
    const char *before = "", *type;
    size_t i;
    json_t *r;
    int column = 0;
    json_array_foreach(json_object_get(d, "rows"), i, r) {
        const char *const what = json_string_value(json_object_get(r, "what"));
        const char *row = json_string_value(json_object_get(r, "row"));
        if (!row) row = "is refused";
        type = json_string_value(json_object_get(r, "type"));
        const int length = (int)(strlen(what) + strlen(row)) + 2;
        if (strcmp(type, before) != 0) column = printf("%s     %s:", i ? "\n" : "", type);
        else if (column + length < WIDTH) column += printf(",");
        else column = printf(",\n         ");
        column += printf(" %s %s", what, row);
        before = type;
    }
    if (TEXT("error")) printf("     %scannot be used: %s%s", style_begin(BAD), TEXT("error"), style_end());
    printf("\n");
}

static void print_device(const json_t *d, bool is_chosen)
{
    char memory[32], buffer[32], local[32];
    printf("%s%s%lld: %s%s\n", style_begin(is_chosen ? BOLD : PLAIN), is_chosen ? "* " : "  ",
           (long long)NUMBER("index"), TEXT("name"), style_end());
    printf("     %s of %s, driver %s, %s\n", TEXT("type"), TEXT("platform"), TEXT("driver"), TEXT("opencl"));
    printf("     %lld compute units, memory %s, largest buffer %s, local memory %s, groups of at most %lld items\n",
           (long long)NUMBER("compute_units"), with_binary_prefix(memory, (uint64_t)NUMBER("global_memory_bytes")),
           with_binary_prefix(buffer, (uint64_t)NUMBER("max_buffer_bytes")),
           with_binary_prefix(local, (uint64_t)NUMBER("local_memory_bytes")), (long long)NUMBER("max_group_size"));
    if (TEXT("uuid")) printf("     UUID %s\n", TEXT("uuid"));
    if (TEXT("pci_address")) printf("     PCI address %s\n", TEXT("pci_address"));
    if (json_is_true(json_object_get(d, "remote"))) printf("     on another machine: each command is a round trip\n");
    print_abilities(d, "has", true);
    print_abilities(d, "lacks", false);
    print_rows(d);
}

/* ---- the command ---- */

static json_t *list_devices(const ndr_device_info *devices, size_t count, const common *c)
{
    ndr_context *chosen = NULL;
    json_t *const list = json_array(), *const data = json_pack("{so ss}", "devices", list, "reason", reason(c));
    if (ndr_context_create(c->device, &chosen) != NDR_OK)
        json_object_set_new(data, "error", text_json(ndr_last_error()));
    for (size_t i = 0; i < count; ++i) {
        bool is_chosen;
        json_t *const device = describe(&devices[i], i);
        add_rows(device, i, chosen, &is_chosen);
        json_array_append_new(list, device);
        if (is_chosen) json_object_set_new(data, "chosen", json_integer((json_int_t)i));
    }
    ndr_context_destroy(chosen);
    return data;
}

static void print_devices(const json_t *data)
{
    size_t i;
    json_t *d;
    const json_t *const chosen = json_object_get(data, "chosen");
    json_array_foreach(json_object_get(data, "devices"), i, d)
        print_device(d, chosen && (size_t)json_integer_value(chosen) == i);
    if (chosen) printf("* is chosen: %s\n", json_string_value(json_object_get(data, "reason")));
}

static ndr_status read_devices(ndr_device_info **devices, size_t *count)
{
    ndr_status status = ndr_device_list(0, NULL, count);
    if (status != NDR_OK) return status;
    *devices = calloc(*count, sizeof **devices);
    status = *devices ? ndr_device_list(*count, *devices, count) : NDR_OUT_OF_HOST_MEMORY;
    if (status != NDR_OK) free(*devices);
    return status;
}

static int run(int argc, char **argv)
{
    options o = { 0 };
    parse(&argp, argc, argv, &o);
    ndr_device_info *devices;
    size_t count;
    const ndr_status listed = read_devices(&devices, &count);
    if (listed != NDR_OK && o.common.is_json)
        print_json(
            json_pack("{s[] ss so}", "devices", "reason", reason(&o.common), "error", text_json(ndr_last_error())));
    if (listed != NDR_OK) return fail(listed);
    begin_waiting("of opening devices", 0);
    json_t *const data = list_devices(devices, count, &o.common);
    end_waiting();
    free(devices);
    const json_t *const error = json_object_get(data, "error");
    int code = error ? NO_DEVICE : DONE;
    if (!o.common.is_json) print_devices(data);
    if (error) fail_with("%s", json_string_value(error));
    if (o.common.is_json && print_json(json_incref(data)) != DONE) code = FAILED;
    json_decref(data);
    return code;
}

const command devices_command = { "devices", "lists the devices, and says which one a program gets", run };
