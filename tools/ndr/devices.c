/* devices.c - `ndr devices`: the devices, and which one a program gets. */
#include "command.h"

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
    .doc = "Lists the devices of all drivers, and says which one a program gets and why.",
    .children = (const struct argp_child[]){ { .argp = &common_argp }, { 0 } },
};

/* Why ndr_context_create() takes the device that it takes. */
static const char *reason(const common *c)
{
    static char text[300];
    const char *variable = getenv("NDR_DEVICE");
    if (c->device) snprintf(text, sizeof text, "--device is \"%s\"", c->device);
    else if (variable && *variable) snprintf(text, sizeof text, "NDR_DEVICE is \"%s\"", variable);
    else snprintf(text, sizeof text, "NDR_DEVICE is not set: the first GPU, else accelerator, else CPU, else device");
    return text;
}

static json_t *sizes(const size_t *values, size_t count)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count; ++i) json_array_append_new(array, json_integer((json_int_t)values[i]));
    return array;
}

static json_t *describe(const ndr_device_info *d, size_t index)
{
    json_t *o = json_pack("{sI ss ss ss ss ss ss}", "index", (json_int_t)index, "name", d->name, "vendor", d->vendor,
                          "platform", d->platform, "driver", d->driver, "opencl", d->opencl, "type",
                          ndr_device_type_name(d->type));
    const struct {
        const char *name;
        uint64_t value;
    } numbers[] = { { "compute_units", d->compute_units },
                    { "address_bits", d->address_bits },
                    { "max_group_size", d->max_group_size },
                    { "local_memory_bytes", d->local_memory_bytes },
                    { "max_buffer_bytes", d->max_buffer_bytes },
                    { "max_argument_bytes", d->max_argument_bytes },
                    { "global_memory_bytes", d->global_memory_bytes },
                    { "global_cache_bytes", d->global_cache_bytes },
                    { "warp_size", d->warp_size },
                    { "native_f32_width", d->native_f32_width } };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; ++i)
        json_object_set_new(o, numbers[i].name, json_integer((json_int_t)numbers[i].value));
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

/* The index of the device that a program gets; `count` if a context refuses to be made. */
static size_t choose(const common *c, const ndr_device_info *devices, size_t count)
{
    ndr_context *context;
    ndr_device_info chosen;
    if (ndr_context_create(c->device, &context) != NDR_OK) return count;
    const ndr_status status = ndr_context_get_device(context, &chosen);
    ndr_context_destroy(context);
    size_t i = 0;
    while (status == NDR_OK && i < count && memcmp(&devices[i], &chosen, sizeof chosen) != 0) ++i;
    return status == NDR_OK ? i : count;
}

static void print_device(const json_t *d, bool is_chosen)
{
    char memory[32], buffer[32], local[32];
    const json_t *able = json_object_get(d, "capabilities");
    const char *name;
    json_t *value;
    printf("%s%s%lld: %s%s\n", style_begin(is_chosen ? BOLD : PLAIN), is_chosen ? "* " : "  ",
           (long long)json_integer_value(json_object_get(d, "index")),
           json_string_value(json_object_get(d, "name")), style_end());
#define TEXT(key) json_string_value(json_object_get(d, key))
#define NUMBER(key) json_integer_value(json_object_get(d, key))
    printf("     %s of %s, driver %s, %s\n", TEXT("type"), TEXT("platform"), TEXT("driver"), TEXT("opencl"));
    printf("     %lld compute units, memory %s, largest buffer %s, local memory %s, groups of at most %lld items\n",
           (long long)NUMBER("compute_units"), with_binary_prefix(memory, (uint64_t)NUMBER("global_memory_bytes")),
           with_binary_prefix(buffer, (uint64_t)NUMBER("max_buffer_bytes")),
           with_binary_prefix(local, (uint64_t)NUMBER("local_memory_bytes")), (long long)NUMBER("max_group_size"));
    printf("     has");
    json_object_foreach((json_t *)able, name, value)
        if (json_is_true(value)) printf(" %s", name);
    printf("\n     lacks");
    json_object_foreach((json_t *)able, name, value)
        if (!json_is_true(value)) printf(" %s", name);
    printf("\n");
}

static int run(int argc, char **argv)
{
    options o = { 0 };
    parse(&argp, argc, argv, &o);
    size_t count;
    ndr_status status = ndr_device_list(0, NULL, &count);
    if (status != NDR_OK) return fail(status);
    ndr_device_info *const devices = calloc(count, sizeof *devices);
    if (!devices) return fail_with("there is no memory for %zu devices", count);
    status = ndr_device_list(count, devices, &count);
    if (status != NDR_OK) return free(devices), fail(status);
    const size_t chosen = choose(&o.common, devices, count);
    json_t *const list = json_array();
    for (size_t i = 0; i < count; ++i) json_array_append_new(list, describe(&devices[i], i));
    free(devices);
    json_t *const data = json_pack("{so ss}", "devices", list, "reason", reason(&o.common));
    if (chosen < count) json_object_set_new(data, "chosen", json_integer((json_int_t)chosen));
    else json_object_set_new(data, "error", json_string(ndr_last_error()));
    if (o.common.is_json) return print_json(data);
    for (size_t i = 0; i < count; ++i) print_device(json_array_get(list, i), i == chosen);
    if (chosen < count) printf("* is chosen: %s\n", reason(&o.common));
    const int code = chosen < count ? DONE : fail(NDR_NO_MATCHING_DEVICE);
    json_decref(data);
    return code;
}

const command devices_command = { "devices", "lists the devices, and says which one a program gets", run };
