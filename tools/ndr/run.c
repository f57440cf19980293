/* run.c - `ndr run`: launches a kernel of a file over a range, with arguments from the command line. */
#include "kernel_source.h"
#include "run.h"

#include <stdlib.h>
#include <string.h>

/* ---- options ---- */

typedef struct options {
    common common;
    kernel_source source;
    const char *kernel;
    const char *global, *local, *groups, *offset, *edge, *trace;
    argument *arguments;
    size_t argument_count;
    result *results;
    size_t result_count;
    size_t limit, repeat, timed; /* timed 0: no times */
    bool is_checked;
} options;

enum {
    OPTION_GROUPS = 0x200,
    OPTION_OFFSET,
    OPTION_EDGE,
    OPTION_PRINT,
    OPTION_LIMIT,
    OPTION_HASH,
    OPTION_SAVE,
    OPTION_COMPARE,
    OPTION_TIME,
    OPTION_REPEAT,
    OPTION_CHECK,
    OPTION_TRACE,
};

static const struct argp_option option_list[] = {
    { "global", 'g', "SIZES", 0, "Work-items: 1024, 768x1024 or 4x768x1024; the last size is the contiguous one", 2 },
    { "local", 'l', "SIZES", 0, "Work-items of a group, or auto: the library chooses", 2 },
    { "groups", OPTION_GROUPS, "SIZES", 0, "Groups, instead of --global", 2 },
    { "offset", OPTION_OFFSET, "SIZES", 0, "Added to global ids", 2 },
    { "edge", OPTION_EDGE, "HOW", 0, "Sizes that --local does not divide: reject (default), round or split", 2 },
    { "arg", 'a', "[NAME=]VALUE[:TYPE]", 0, "The next argument, or that of the parameter NAME; values are listed below",
      3 },
    { "print", OPTION_PRINT, "NAME", OPTION_ARG_OPTIONAL,
      "Print an argument after the launch; without NAME all that the kernel may write. Default if no other result is "
      "wanted",
      5 },
    { "limit", OPTION_LIMIT, "COUNT", 0, "Print at most COUNT elements of an argument (default: 64)", 5 },
    { "hash", OPTION_HASH, "NAME", OPTION_ARG_OPTIONAL, "Print the XXH128 hash of an argument's bytes", 5 },
    { "save", OPTION_SAVE, "NAME=FILE", 0, "Save an argument: .npy, .pgm, .ppm, or raw bytes", 5 },
    { "compare", OPTION_COMPARE, "NAME=FILE[:TOLERANCE]", 0,
      "Compare an argument with a file; fail if |is - expected| > TOLERANCE * max(1, |expected|) (default: 0)", 5 },
    { "repeat", OPTION_REPEAT, "COUNT", 0, "Launch COUNT times before results are read (default: 1)", 6 },
    { "time", OPTION_TIME, "COUNT", OPTION_ARG_OPTIONAL,
      "Then time COUNT more launches (default: 20), and print the median", 6 },
    { "check", OPTION_CHECK, NULL, 0, "Find writes outside of buffers, as NDR_CHECK=1", 6 },
    { "trace", OPTION_TRACE, "FILE", 0, "Write a timeline for Perfetto", 6 },
    { 0 },
};

#define ARGUMENTS_HELP                                                                                                \
    "Runs a kernel of a file of OpenCL C over a range.\v"                                                             \
    "Values of --arg:\n"                                                                                              \
    "  1024, -1.5, 0x10, nan       a number; 1,2,3,4 a vector or several elements\n"                                  \
    "  @FILE                       a file: .npy, .pgm, .ppm, others raw\n"                                            \
    "  zeros, iota[:START[:STEP]], random[:SEED[:LOW..HIGH]], fill:NUMBER\n"                                          \
    "  local                       local memory, as in local:f32[64]\n"                                               \
    "  sampler[:linear][:normalized][:repeat]\n"                                                                      \
    "  null                        a NULL pointer\n"                                                                  \
    "The type is f32, i32x4, float4 or the like, with [1024] or [768x1024] behind it for memory. It may be left out " \
    "if the kernel's parameter shows it, and the size if it is that of the range.\n\n"                                \
    "Example: ndr run saxpy.cl saxpy -g 8 -a a=2 -a x=iota -a y=fill:1"

/* Appends a zeroed element to a list; NULL: there is no memory. */
static void *append(void **list, size_t *count, size_t bytes)
{
    char *const more = realloc(*list, (*count + 1) * bytes);
    if (!more) return NULL;
    *list = more;
    return memset(more + (*count)++ * bytes, 0, bytes);
}

static int add_argument(options *o, const char *text)
{
    void *list = o->arguments;
    argument *const made = append(&list, &o->argument_count, sizeof *made);
    o->arguments = list;
    return made ? parse_argument(text, made) : fail_with("there is no memory for an argument");
}

static int add_result(options *o, result_kind kind, const char *text)
{
    void *list = o->results;
    result *const made = append(&list, &o->result_count, sizeof *made);
    o->results = list;
    return made ? parse_result(kind, text, made) : fail_with("there is no memory for an option");
}

static int parse_count(const char *option, const char *text, size_t least, size_t *count)
{
    shape one;
    if (read_sizes((span){ text, strlen(text) }, 1, &one) && one.size[0] >= least) return *count = one.size[0], DONE;
    fail_with("--%s=%s: it takes a number of at least %zu", option, text, least);
    return USAGE;
}

static int parse_result_option(options *o, int key, const char *arg)
{
    switch (key) {
    case OPTION_PRINT: return add_result(o, PRINT, arg);
    case OPTION_HASH: return add_result(o, HASH, arg);
    case OPTION_SAVE: return add_result(o, SAVE, arg);
    case OPTION_COMPARE: return add_result(o, COMPARE, arg);
    case OPTION_LIMIT: return parse_count("limit", arg, 0, &o->limit);
    case OPTION_REPEAT: return parse_count("repeat", arg, 1, &o->repeat);
    default: return parse_count("time", arg ? arg : "20", 1, &o->timed);
    }
}

static error_t parse_word(options *o, char *arg, struct argp_state *state)
{
    if (state->arg_num == 0) o->source.file = arg;
    else if (state->arg_num == 1) o->kernel = arg;
    else if (strchr(arg, '='))
        argp_error(state, "\"%s\" is one word too many; an argument is written as --arg %s", arg, arg);
    else argp_error(state, "\"%s\" is one word too many; results are written with =, as in --print=%s", arg, arg);
    return 0;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    options *o = state->input;
    int code = DONE;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &o->common;
        state->child_inputs[1] = &o->source;
        return 0;
    case ARGP_KEY_ARG: return parse_word(o, arg, state);
    case ARGP_KEY_END:
        if (!o->kernel)
            argp_error(state, "name a file and a kernel: ndr run FILE.cl KERNEL --global 1024 ...; `ndr build FILE.cl` "
                              "lists kernels");
        return 0;
    case 'g': o->global = arg; return 0;
    case 'l': o->local = arg; return 0;
    case OPTION_GROUPS: o->groups = arg; return 0;
    case OPTION_OFFSET: o->offset = arg; return 0;
    case OPTION_EDGE: o->edge = arg; return 0;
    case OPTION_TRACE: o->trace = arg; return 0;
    case OPTION_CHECK: o->is_checked = true; return 0;
    case 'a': code = add_argument(o, arg); break;
    case OPTION_PRINT:
    case OPTION_HASH:
    case OPTION_SAVE:
    case OPTION_COMPARE:
    case OPTION_LIMIT:
    case OPTION_REPEAT:
    case OPTION_TIME: code = parse_result_option(o, key, arg); break;
    default: return ARGP_ERR_UNKNOWN;
    }
    if (code != DONE) exit(code);
    return 0;
}

static const struct argp argp = {
    .options = option_list,
    .parser = parse_option,
    .args_doc = "FILE KERNEL",
    .doc = ARGUMENTS_HELP,
    .children = (const struct argp_child[]){ { .argp = &common_argp }, { .argp = &kernel_source_argp }, { 0 } },
};

static void free_options(options *o)
{
    for (size_t i = 0; i < o->argument_count; ++i) free(o->arguments[i].path);
    for (size_t i = 0; i < o->result_count; ++i) free(o->results[i].path);
    free(o->arguments);
    free(o->results);
    free_kernel_source(&o->source);
}

/* ---- the range ---- */

static int parse_range(const char *option, const char *text, ndr_range *range)
{
    shape sizes;
    if (!read_sizes((span){ text, strlen(text) }, 3, &sizes)) {
        fail_with("--%s=%s: it takes 1 to 3 sizes, as in 1024 or 768x1024", option, text);
        return USAGE;
    }
    *range = (ndr_range){ .dims = sizes.dims };
    memcpy(range->size, sizes.size, sizes.dims * sizeof *sizes.size);
    return DONE;
}

static int parse_edge(const char *text, ndr_edge *edge)
{
    static const char *const names[] = {
        [NDR_EDGE_REJECT] = "reject", [NDR_EDGE_ROUND_UP] = "round", [NDR_EDGE_SPLIT] = "split"
    };
    for (unsigned i = 0; i < 3; ++i)
        if (strcmp(text, names[i]) == 0) return *edge = (ndr_edge)i, DONE;
    fail_with("--edge=%s: it takes reject, round or split", text);
    return USAGE;
}

static int parse_local(const options *o, ndr_nd_range *range)
{
    if (strcmp(o->local, "auto") != 0) return parse_range("local", o->local, &range->local);
    range->local.dims = range->global.dims ? range->global.dims : range->groups.dims;
    return DONE;
}

/* The library's sentence is for programs in C. */
static int check_division(const ndr_nd_range *range)
{
    for (unsigned d = 0; d < range->global.dims && d < range->local.dims && range->edge == NDR_EDGE_REJECT; ++d) {
        const size_t global = range->global.size[d], local = range->local.size[d];
        if (local == 0 || global % local == 0) continue;
        fail_with(
            "the size %zu of --global is not a multiple of the size %zu of --local; make it one, or write "
            "--edge=split for smaller groups at the edge, or --edge=round if the kernel leaves out items past its "
            "range",
            global, local);
        return USAGE;
    }
    return DONE;
}

static int make_range(const options *o, ndr_nd_range *range)
{
    ndr_range offset = { 0 };
    *range = (ndr_nd_range){ .edge = NDR_EDGE_REJECT };
    if (!o->global == !o->groups) {
        fail_with(o->global ? "--global and --groups exclude each other; leave one of them out"
                            : "the range is missing; write --global 1024, or another number of work-items");
        return USAGE;
    }
    int code =
        o->global ? parse_range("global", o->global, &range->global) : parse_range("groups", o->groups, &range->groups);
    if (code == DONE && o->local) code = parse_local(o, range);
    if (code == DONE && o->edge) code = parse_edge(o->edge, &range->edge);
    if (code == DONE && o->offset) code = parse_range("offset", o->offset, &offset);
    const unsigned dims = range->global.dims + range->groups.dims;
    if (code == DONE && o->offset && offset.dims != dims) {
        fail_with("--offset=%s: it has %u sizes, but the range has %u; write as many", o->offset, offset.dims, dims);
        return USAGE;
    }
    memcpy(range->offset, offset.size, sizeof range->offset);
    return code == DONE ? check_division(range) : code;
}

/* The library's sentences are for programs in C. */
static int check_form(const ndr_kernel_info *info, const ndr_nd_range *range)
{
    const unsigned dims = range->global.dims + range->groups.dims;
    const bool has_groups = info->form == NDR_KERNEL_PLAIN || info->form == NDR_KERNEL_ND_RANGE;
    if (info->form != NDR_KERNEL_PLAIN && info->range_dims && dims != info->range_dims)
        fail_with(
            "the kernel \"%s\" is written for a range of %u dimension%s, but %u size%s given; write %u, as in --global "
            "%s",
            info->name, info->range_dims, info->range_dims == 1 ? "" : "s", dims, dims == 1 ? " is" : "s are",
            info->range_dims,
            info->range_dims == 1   ? "1024"
            : info->range_dims == 2 ? "768x1024"
                                    : "4x768x1024");
    else if (!has_groups && (range->local.dims || range->groups.dims))
        fail_with("the kernel \"%s\" takes a range without groups; leave out --local, and write --global", info->name);
    else return DONE;
    return USAGE;
}

/* A kernel that works in groups gets groups of the library's choice. */
static void choose_groups(const ndr_kernel_info *info, ndr_nd_range *range)
{
    const bool needs_groups = info->form == NDR_KERNEL_ND_RANGE || range->groups.dims;
    if (needs_groups && range->local.dims == 0) range->local.dims = range->global.dims + range->groups.dims;
}

/* ---- running ---- */

typedef struct job {
    options *options;
    ndr_nd_range range;
    ndr_context *context;
    ndr_queue *queue;
    ndr_kernel *kernel;
    slots slots;
    ndr_arg *arguments;
    json_t *data;
} job;

static int open_device(job *j)
{
    const options *o = j->options;
    ndr_status status = NDR_OK;
    if (o->trace) status = ndr_trace_start(&(ndr_trace_desc){ .file = o->trace });
    if (status == NDR_OK)
        status =
            ndr_context_create_with(&(ndr_context_desc){ .device = o->common.device,
                                                         .check = o->is_checked ? NDR_CHECK_ON : NDR_CHECK_DEFAULT },
                                    &j->context);
    if (status == NDR_OK)
        status = ndr_queue_create(j->context, &(ndr_queue_desc){ .is_profiling = o->timed > 0 }, &j->queue);
    if (status != NDR_OK) return fail(status);
    ndr_kernel_desc desc;
    const int code = describe_kernel(&j->options->source, o->kernel, &desc);
    if (code != DONE) return code;
    begin_waiting("of compiling", 0);
    status = ndr_kernel_get(j->context, &desc, &j->kernel);
    end_waiting();
    return status == NDR_OK ? DONE : fail(status);
}

static int prepare(job *j)
{
    ndr_kernel_info info;
    const options *o = j->options;
    const ndr_status status = ndr_kernel_get_info(j->kernel, &info);
    if (status != NDR_OK) return fail(status);
    int code = match_arguments(j->kernel, o->arguments, o->argument_count, &j->slots);
    if (code != DONE) return code;
    code = check_form(&info, &j->range);
    if (code != DONE) return code;
    choose_groups(&info, &j->range);
    code = make_arguments(j->context, &j->range, &j->slots);
    if (code != DONE) return code;
    j->arguments = calloc(j->slots.count + 1, sizeof *j->arguments);
    if (!j->arguments) return fail_with("there is no memory for %zu arguments", j->slots.count);
    for (size_t i = 0; i < j->slots.count; ++i) j->arguments[i] = j->slots.list[i].arg;
    return DONE;
}

static ndr_status launch(const job *j, ndr_event **event)
{
    return ndr_launch_v(j->queue, j->kernel, &j->range, j->arguments, j->slots.count, event);
}

static int run_launches(const job *j)
{
    const size_t count = j->options->repeat;
    ndr_status status = NDR_OK;
    for (size_t i = 0; i < count && status == NDR_OK; ++i) {
        show_progress("launches", i, count);
        status = launch(j, NULL);
        if (status == NDR_OK && i % 64 == 63) status = ndr_queue_finish(j->queue);
    }
    if (status == NDR_OK) status = ndr_queue_finish(j->queue);
    show_progress("launches", count, count);
    return status == NDR_OK ? DONE : fail(status);
}

/* ---- times ---- */

/* One launch by the device's clock and by the host's, which includes enqueueing and waiting. */
static ndr_status time_launch(const job *j, uint64_t *device_ns, uint64_t *host_ns)
{
    ndr_event *event;
    uint64_t before, after;
    ndr_status status = ndr_queue_finish_timed(j->queue, &before);
    if (status == NDR_OK) status = launch(j, &event);
    if (status != NDR_OK) return status;
    status = ndr_queue_finish_timed(j->queue, &after);
    if (status == NDR_OK) status = ndr_event_elapsed_ns(event, device_ns);
    ndr_event_destroy(event);
    if (status == NDR_OK) *host_ns = after - before;
    return status;
}

static json_t *describe_times(uint64_t *times, size_t count)
{
    qsort(times, count, sizeof *times, compare_times);
    return json_pack("{sI sI sI}", "median_ns", (json_int_t)times[count / 2], "shortest_ns", (json_int_t)times[0],
                     "longest_ns", (json_int_t)times[count - 1]);
}

static void print_times(const char *clock, const json_t *times)
{
    char text[3][32];
    static const char *const keys[] = { "median_ns", "shortest_ns", "longest_ns" };
    for (size_t i = 0; i < 3; ++i)
        with_prefix(text[i], 1e-9 * (double)json_integer_value(json_object_get(times, keys[i])), "s");
    printf("%s: median %s, shortest %s, longest %s\n", clock, text[0], text[1], text[2]);
}

static int time_launches(job *j)
{
    const size_t count = j->options->timed;
    if (count == 0) return DONE;
    uint64_t *const times = calloc(2 * count, sizeof *times);
    if (!times) return fail_with("there is no memory for %zu times", count);
    ndr_status status = NDR_OK;
    for (size_t i = 0; i < count && status == NDR_OK; ++i) {
        show_progress("timed launches", i, count);
        status = time_launch(j, &times[i], &times[count + i]);
    }
    show_progress("timed launches", count, count);
    if (status != NDR_OK) return free(times), fail(status);
    json_t *const device = describe_times(times, count), *const host = describe_times(times + count, count);
    free(times);
    if (!j->options->common.is_json) {
        printf("%zu launches\n", count);
        print_times("  on the device", device);
        print_times("  from call to end", host);
    }
    json_object_set_new(j->data, "time",
                        json_pack("{sI so so}", "count", (json_int_t)count, "device", device, "host", host));
    return DONE;
}

/* ---- results ---- */

static int read_results(const job *j)
{
    int code = DONE;
    for (size_t i = 0; i < j->slots.count && code == DONE; ++i) code = read_slot(j->queue, &j->slots.list[i]);
    return code;
}

static bool has_other_result(const options *o) { return o->result_count > 0 || o->timed > 0; }

static int finish_results(const job *j)
{
    const options *o = j->options;
    const result all = { .kind = PRINT };
    int code = DONE;
    for (size_t i = 0; i < o->result_count; ++i) {
        const int one = finish_result(&o->results[i], &j->slots, o->limit, o->common.is_json, j->data);
        if (code == DONE) code = one;
    }
    if (!has_other_result(o)) code = finish_result(&all, &j->slots, o->limit, o->common.is_json, j->data);
    return code;
}

static int report_check(const job *j)
{
    char report[4000];
    if (!j->options->is_checked) return DONE;
    const ndr_status status = ndr_context_get_check_report(j->context, sizeof report, report, NULL);
    if (status != NDR_OK) return fail(status);
    if (!j->options->common.is_json)
        printf("%s%s", report, report[0] && report[strlen(report) - 1] == '\n' ? "" : "\n");
    json_object_set_new(j->data, "check", json_string(report));
    return DONE;
}

static json_t *range_json(const ndr_range *range)
{
    json_t *const sizes = json_array();
    for (unsigned d = 0; d < range->dims; ++d) json_array_append_new(sizes, json_integer((json_int_t)range->size[d]));
    return sizes;
}

static int describe(job *j)
{
    ndr_device_info device;
    const options *o = j->options;
    const ndr_status status = ndr_context_get_device(j->context, &device);
    if (status != NDR_OK) return fail(status);
    const bool has_groups = j->range.groups.dims > 0;
    j->data =
        json_pack("{so so so so sI}", "file", text_json(o->source.file), "kernel", text_json(o->kernel), "device",
                  text_json(device.name), has_groups ? "groups" : "global",
                  range_json(has_groups ? &j->range.groups : &j->range.global), "launches", (json_int_t)o->repeat);
    return j->data ? DONE : fail_with("there is no memory for the result");
}

static int run_job(job *j)
{
    const int range = make_range(j->options, &j->range);
    if (range != DONE) return range;
    int code = open_device(j);
    if (code == DONE) code = prepare(j);
    if (code == DONE) code = describe(j);
    if (code == DONE) code = run_launches(j);
    if (code == DONE) code = read_results(j);
    if (code != DONE) return code;
    code = finish_results(j);
    if (code != USAGE && time_launches(j) != DONE) code = FAILED;
    if (code != USAGE && report_check(j) != DONE) code = FAILED;
    return code;
}

static void free_job(job *j)
{
    free_slots(&j->slots);
    free(j->arguments);
    ndr_queue_destroy(j->queue);
    ndr_context_destroy(j->context);
    json_decref(j->data);
}

static int run(int argc, char **argv)
{
    options o = { .limit = 64, .repeat = 1 };
    parse(&argp, argc, argv, &o);
    job j = { .options = &o };
    int code = run_job(&j);
    if (j.data && o.common.is_json && code != USAGE) {
        const int printed = print_json(json_incref(j.data));
        if (code == DONE) code = printed;
    }
    free_job(&j);
    free_options(&o);
    return code;
}

const command run_command = { "run", "launches a kernel of a file, with arguments from the command line", run };
