/* doctor_device.c - the loader, the devices, and a kernel on each device. */
#include "doctor.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* ---- what libndr logs, in a child ---- */

static json_t *messages; /* of {id, text} */

static void keep_message(ndr_log_level l, const char *id, const char *text, void *user)
{
    (void)user;
    if (l <= NDR_LOG_WARN || strcmp(id, "opencl.opened") == 0)
        json_array_append_new(messages, json_pack("{ss so}", "id", id, "text", text_json(text)));
}

/* Returns the list that gets the messages. */
static json_t *keep_messages(void)
{
    messages = json_array();
    return ndr_log_set(NDR_LOG_INFO, keep_message, NULL) == NDR_OK ? messages : NULL;
}

/* Warnings become notes, and the loader's message a finding that is ok. "failure" repeats what a call returns. */
static void report_messages(report *r, const json_t *result, const char *fix_of_store)
{
    size_t i;
    json_t *m;
    json_array_foreach(json_object_get(result, "messages"), i, m) {
        const char *const id = json_string_value(json_object_get(m, "id"));
        const char *const text = json_string_value(json_object_get(m, "text"));
        const bool is_store = strncmp(id, "cache.", 6) == 0;
        if (strcmp(id, "failure") == 0 || strcmp(id, "opencl.opened") == 0) continue;
        add_finding(r, is_store ? FAULT : NOTE, is_store ? "store" : "device", is_store ? fix_of_store : NULL, "%s",
                    text);
    }
}

/* ---- the loader ---- */

/* The extension cl_loader_info, by the numbers of its cl_icdl_info. The loader is open already. */
static void ask_loader(json_t *out)
{
    enum { LOADER_VERSION = 2, LOADER_NAME = 3 };
    void *(*find)(const char *name);
    int (*ask)(unsigned what, size_t capacity, void *value, size_t *bytes);
    const char *const chosen = getenv("NDR_OPENCL");
    void *const library = dlopen(chosen && *chosen ? chosen : "libOpenCL.so.1", RTLD_NOW | RTLD_NOLOAD);
    void *found = library ? dlsym(library, "clGetExtensionFunctionAddress") : NULL;
    char name[200] = "", version[200] = "";
    if (!found) return;
    memcpy(&find, &found, sizeof find);
    found = find("clGetICDLoaderInfoOCLICD");
    if (!found) return;
    memcpy(&ask, &found, sizeof ask);
    if (ask(LOADER_NAME, sizeof name - 1, name, NULL) != 0
        || ask(LOADER_VERSION, sizeof version - 1, version, NULL) != 0)
        return;
    json_object_set_new(out, "loader", text_json(name));
    json_object_set_new(out, "loader_version", text_json(version));
}

static json_t *list_devices(const void *unused)
{
    (void)unused;
    ndr_device_info devices[64];
    size_t count = 0;
    json_t *const kept = keep_messages(), *const names = json_array(), *const out = json_object();
    set_stage("listed the devices");
    const ndr_status status = ndr_device_list(64, devices, &count);
    for (size_t i = 0; i < count && i < 64; ++i) json_array_append_new(names, text_json(devices[i].name));
    ask_loader(out);
    json_object_set_new(out, "messages", kept);
    json_object_set_new(out, "devices", names);
    if (status != NDR_OK) json_object_set_new(out, "error", text_json(ndr_last_error()));
    return out;
}

static void report_loader(report *r, const json_t *result)
{
    size_t i;
    json_t *m;
    const char *const name = json_string_value(json_object_get(result, "loader"));
    const char *const version = json_string_value(json_object_get(result, "loader_version"));
    json_array_foreach(json_object_get(result, "messages"), i, m)
        if (strcmp(json_string_value(json_object_get(m, "id")), "opencl.opened") == 0)
            add_finding(r, OK, "loader", NULL, "the OpenCL library: %s%s%s%s%s",
                        json_string_value(json_object_get(m, "text")), name ? "; " : "", name ? name : "",
                        name ? " " : "", name ? version : "");
}

/* ---- a kernel ---- */

enum { COUNT = 1000 };

static const char source[] = "#include <ndr/item.clh>\n"
                             "kernel void doctor(global const float *a, global float *b, NDR_RANGE(1))\n"
                             "{\n"
                             "    const ndr_item it = NDR_ITEM(1);\n"
                             "    b[ndr_global_id(it, 0)] = 2 * a[ndr_global_id(it, 0)] + 1;\n"
                             "}\n";

/* Made for one device. All are NULL at first. */
typedef struct attempt {
    ndr_context *context;
    ndr_queue *queue;
    ndr_buffer *a, *b;
    float got[COUNT];
} attempt;

static ndr_status run_kernel(attempt *t)
{
    ndr_kernel *kernel;
    float a[COUNT];
    for (int i = 0; i < COUNT; ++i) a[i] = (float)i;
    set_stage("made a queue and buffers");
    TRY(ndr_queue_create(t->context, NULL, &t->queue));
    TRY(ndr_buffer_create_from(t->context, sizeof a, a, &t->a));
    TRY(ndr_buffer_create(t->context, sizeof a, &t->b));
    set_stage("built a kernel");
    TRY(ndr_kernel_get(t->context, &(ndr_kernel_desc){ .name = "doctor", .source = source }, &kernel));
    set_stage("ran a kernel");
    TRY(ndr_launch(t->queue, kernel, ndr_range_1d(COUNT), t->a, t->b));
    return ndr_buffer_read(t->queue, t->b, 0, sizeof t->got, t->got, NULL);
}

/* The index of the first wrong element; COUNT if there is none. */
static size_t find_wrong(const float *got)
{
    size_t i = 0;
    while (i < COUNT && got[i] == 2 * (float)i + 1) ++i;
    return i;
}

static void close_attempt(attempt *t)
{
    set_stage("ended its work");
    ndr_buffer_destroy(t->a);
    ndr_buffer_destroy(t->b);
    ndr_queue_destroy(t->queue);
    ndr_context_destroy(t->context); /* writes the program to the store */
}

static json_t *try_device(const void *input)
{
    attempt t = { 0 };
    ndr_device_info info;
    json_t *const kept = keep_messages(), *const out = json_object();
    set_stage("opened the device");
    ndr_status status = ndr_context_create(input, &t.context);
    if (status == NDR_OK) status = ndr_context_get_device(t.context, &info);
    if (status == NDR_OK) {
        json_object_set_new(out, "name", text_json(info.name));
        json_object_set_new(out, "platform", text_json(info.platform));
        json_object_set_new(out, "driver", text_json(info.driver));
        json_object_set_new(out, "quirks", list_quirks(t.context));
        status = run_kernel(&t);
        if (status == NDR_OK) json_object_set_new(out, "verdicts", list_verdicts(t.context));
    }
    if (status != NDR_OK) json_object_set_new(out, "error", text_json(ndr_last_error()));
    else json_object_set_new(out, "wrong", json_integer((json_int_t)find_wrong(t.got)));
    close_attempt(&t);
    json_object_set_new(out, "messages", kept);
    return out;
}

/* ---- a device ---- */

/* `words` are an index, or as of --device. */
static void check_device(report *r, const char *words, const char *shown, double seconds)
{
    char why[300];
    json_t *const result = run_in_child(try_device, words, seconds, why);
    const char *const error = json_string_value(json_object_get(result, "error"));
    const char *const name = json_string_value(json_object_get(result, "name"));
    const json_int_t wrong = json_integer_value(json_object_get(result, "wrong"));
    if (name) shown = name;
    if (!result)
        add_finding(r, FAULT, "kernel", "update the driver; until then choose another device with NDR_DEVICE",
                    "device \"%s\" does not run a kernel: %s", shown, why);
    else if (error) add_finding(r, FAULT, "kernel", NULL, "device \"%s\" does not run a kernel: %s", shown, error);
    else if (wrong < COUNT)
        add_finding(r, FAULT, "kernel", "update the driver; until then choose another device with NDR_DEVICE",
                    "device \"%s\" gives wrong results: element %lld of a kernel that computes 2 x + 1", shown,
                    (long long)wrong);
    else
        add_finding(r, OK, "kernel", NULL, "device \"%s\" (%s, driver %s) runs a kernel", shown,
                    json_string_value(json_object_get(result, "platform")),
                    json_string_value(json_object_get(result, "driver")));
    report_messages(r, result, "set NDR_CACHE to a folder of this user, or to off");
    if (result && !error) report_quirks(r, result, words, seconds);
    report_verdicts(r, result);
    json_decref(result);
}

static json_t *choose(const void *words)
{
    ndr_context *context;
    ndr_device_info info;
    set_stage("opened the device");
    if (ndr_context_create(words, &context) != NDR_OK) return json_pack("{so}", "error", text_json(ndr_last_error()));
    const ndr_status status = ndr_context_get_device(context, &info);
    return json_pack("{so}", "name", text_json(status == NDR_OK ? info.name : ""));
}

static void report_chosen(report *r, double seconds)
{
    char why[300];
    json_t *const result = run_in_child(choose, NULL, seconds, why);
    const char *const name = json_string_value(json_object_get(result, "name"));
    const char *const error = json_string_value(json_object_get(result, "error"));
    if (name)
        add_finding(r, OK, "device", NULL, "%s program gets device \"%s\"; `ndr devices` says why",
                    r->has_refused_value ? "without the variables that are refused, a" : "a", name);
    else add_finding(r, FAULT, "device", NULL, "a program gets no device: %s", error ? error : why);
    json_decref(result);
}

static void check_list(report *r, const json_t *names, const char *device, double seconds)
{
    size_t i;
    json_t *name;
    report_chosen(r, seconds);
    if (device) {
        check_device(r, device, device, seconds);
        return;
    }
    json_array_foreach(names, i, name) {
        char index[24];
        snprintf(index, sizeof index, "%zu", i);
        check_device(r, index, json_string_value(name), seconds);
    }
}

void check_devices(report *r, const char *device, double seconds)
{
    char why[300];
    if (r->has_dead_driver) {
        add_finding(
            r, NOTE, "device", NULL,
            "devices are not tried: programs that use OpenCL crash or hang as long as that driver is installed");
        return;
    }
    json_t *const result = run_in_child(list_devices, NULL, seconds, why);
    const char *const error = json_string_value(json_object_get(result, "error"));
    report_loader(r, result);
    report_messages(r, result, NULL);
    if (!result)
        add_finding(r, FAULT, "device",
                    "update the drivers; `ndr doctor` with OCL_ICD_VENDORS=FILE.icd shows one alone",
                    "the devices cannot be listed: %s", why);
    else if (error) add_finding(r, FAULT, "device", NULL, "%s", error);
    else check_list(r, json_object_get(result, "devices"), device, seconds);
    json_decref(result);
}
