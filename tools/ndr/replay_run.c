/* replay_run.c - runs a saved launch, in a child process: what a driver does to it is then a result. */
#include "replay.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- the launch's objects ---- */

typedef struct machine {
    ndr_context *context;
    ndr_queue *queue;
    ndr_kernel *kernel;
    ndr_buffer **buffers; /* one for each of the launch */
    ndr_buffer **views;   /* one for each argument that is a part of a buffer; NULL: it is not */
    ndr_arg *args;
} machine;

static ndr_status open_machine(const saved_launch *l, const run_options *o, machine *m)
{
    const ndr_context_desc context = { .device = o->device, .check = o->is_checked ? NDR_CHECK_ON : NDR_CHECK_DEFAULT };
    const bool is_text = strcmp(l->form, "source") == 0, is_spirv = strcmp(l->form, "spirv") == 0;
    const char *const *const more = (const char *const *)(void *)(l->texts + 1);
    const ndr_kernel_desc kernel = { .name = l->kernel,
                                     .source = is_text ? l->texts[0] : NULL,
                                     .linked = is_text && l->text_count > 1 ? more : NULL,
                                     .bundled = is_text || is_spirv ? NULL : l->title,
                                     .spirv = is_spirv ? l->texts[0] : NULL,
                                     .spirv_bytes = is_spirv ? l->text_bytes : 0,
                                     .label = l->title,
                                     .options = l->options,
                                     .sub_group_size = l->sub_group_size };
    ndr_status status = ndr_context_create_with(&context, &m->context);
    if (status == NDR_OK)
        status = ndr_queue_create(m->context, &(ndr_queue_desc){ .is_profiling = o->has_times }, &m->queue);
    return status == NDR_OK ? ndr_kernel_get(m->context, &kernel, &m->kernel) : status;
}

/* Contents that were not saved are zeros. */
static ndr_status fill_buffer(const machine *m, const saved_buffer *b, ndr_buffer *buffer)
{
    static const unsigned char zero;
    if (b->size_bytes == 0) return NDR_OK;
    if (!b->before) return ndr_buffer_fill(m->queue, buffer, 0, b->size_bytes, &zero, 1, NULL);
    return ndr_buffer_write(m->queue, buffer, 0, b->size_bytes, b->before, NULL);
}

static ndr_status make_arg(const saved_launch *l, machine *m, size_t i)
{
    const saved_arg *const a = &l->args[i];
    m->args[i] = a->arg;
    if (a->arg.kind != NDR_ARG_BUFFER && a->arg.kind != NDR_ARG_REDUCER) return NDR_OK;
    const bool is_whole = a->offset_bytes == 0 && a->size_bytes == l->buffers[a->buffer].size_bytes;
    ndr_buffer *const whole = m->buffers[a->buffer];
    const ndr_status status =
        is_whole ? NDR_OK : ndr_buffer_create_view(whole, a->offset_bytes, a->size_bytes, &m->views[i]);
    if (a->arg.kind == NDR_ARG_BUFFER) m->args[i].as.buffer = is_whole ? whole : m->views[i];
    else m->args[i].as.reducer.buffer = is_whole ? whole : m->views[i];
    return status;
}

static ndr_status make_objects(const saved_launch *l, machine *m)
{
    ndr_status status = NDR_OK;
    for (size_t i = 0; status == NDR_OK && i < l->buffer_count; ++i)
        status = ndr_buffer_create(m->context, l->buffers[i].size_bytes, &m->buffers[i]);
    for (size_t i = 0; status == NDR_OK && i < l->arg_count; ++i) status = make_arg(l, m, i);
    return status;
}

static void close_machine(const saved_launch *l, machine *m)
{
    for (size_t i = 0; m->views && i < l->arg_count; ++i) ndr_buffer_destroy(m->views[i]);
    for (size_t i = 0; m->buffers && i < l->buffer_count; ++i) ndr_buffer_destroy(m->buffers[i]);
    free(m->views);
    free(m->buffers);
    free(m->args);
    ndr_queue_destroy(m->queue);
    ndr_context_destroy(m->context);
}

/* ---- one run ---- */

static ndr_status launch(const saved_launch *l, const machine *m, const run_options *o, json_t *times)
{
    ndr_event *event = NULL;
    uint64_t device_ns = 0;
    const double start_s = now_s();
    ndr_status status = ndr_launch_v(m->queue, m->kernel, &l->range, m->args, l->arg_count, &event);
    if (status == NDR_OK) status = ndr_event_wait(event);
    const double host_s = now_s() - start_s;
    if (status == NDR_OK && o->has_times) status = ndr_event_elapsed_ns(event, &device_ns);
    if (status == NDR_OK && o->has_times)
        json_array_append_new(times, json_pack("{sf sI}", "host_ns", host_s * 1e9, "device_ns", (json_int_t)device_ns));
    ndr_event_destroy(event);
    return status;
}

static ndr_status fill_all(const saved_launch *l, const machine *m)
{
    ndr_status status = NDR_OK;
    for (size_t i = 0; status == NDR_OK && i < l->buffer_count; ++i)
        status = fill_buffer(m, &l->buffers[i], m->buffers[i]);
    return status;
}

static ndr_status compare(const saved_launch *l, const machine *m, size_t i, double tolerance, json_t *differences)
{
    const size_t bytes = l->buffers[i].size_bytes;
    unsigned char *const now = malloc(bytes);
    if (!now) return NDR_OUT_OF_HOST_MEMORY;
    const ndr_status status = ndr_buffer_read(m->queue, m->buffers[i], 0, bytes, now, NULL);
    json_t *const found = status == NDR_OK ? compare_buffer(l, i, now, tolerance) : NULL;
    if (found) json_array_append_new(differences, found);
    free(now);
    return status;
}

/* Stops at the first run that fails or differs. */
static ndr_status run_times(const saved_launch *l, const machine *m, const run_options *o, json_t *result)
{
    json_t *const times = json_array(), *const differences = json_array();
    ndr_status status = NDR_OK;
    size_t runs = 0;
    while (status == NDR_OK && runs < o->repeats && json_array_size(differences) == 0) {
        ++runs;
        status = fill_all(l, m);
        if (status == NDR_OK) status = launch(l, m, o, times);
        for (size_t i = 0; status == NDR_OK && i < l->buffer_count; ++i)
            if (l->buffers[i].after) status = compare(l, m, i, o->tolerance, differences);
    }
    json_object_set_new(result, "runs", json_integer((json_int_t)runs));
    json_object_set_new(result, "differences", differences);
    if (o->has_times) json_object_set_new(result, "times", times);
    else json_decref(times);
    return status;
}

static void describe_device(const machine *m, json_t *result)
{
    ndr_device_info info;
    if (!m->context || ndr_context_get_device(m->context, &info) != NDR_OK) return;
    json_object_set_new(result, "device", json_string(info.name));
    json_object_set_new(result, "platform", json_string(info.platform));
    json_object_set_new(result, "driver", json_string(info.driver));
}

static json_t *run_here(const saved_launch *l, const run_options *o)
{
    machine m = { .buffers = calloc(l->buffer_count + 1, sizeof *m.buffers),
                  .views = calloc(l->arg_count + 1, sizeof *m.views),
                  .args = calloc(l->arg_count + 1, sizeof *m.args) };
    json_t *const result = json_object();
    const bool has_memory = m.buffers && m.views && m.args;
    ndr_status status = has_memory ? open_machine(l, o, &m) : NDR_OUT_OF_HOST_MEMORY;
    describe_device(&m, result);
    const bool is_built = status == NDR_OK;
    if (status == NDR_OK) status = make_objects(l, &m);
    if (status == NDR_OK) status = run_times(l, &m, o, result);
    const bool differs = status == NDR_OK && json_array_size(json_object_get(result, "differences")) > 0;
    json_object_set_new(result, "outcome", json_string(differs ? "different" : ndr_status_name(status)));
    json_object_set_new(result, "built", json_boolean(is_built));
    if (status != NDR_OK) {
        json_object_set_new(result, "sentence", json_string(ndr_last_error()));
        json_object_set_new(result, "cl_error", json_integer(ndr_last_cl_error()));
    }
    close_machine(l, &m);
    return result;
}

/* ---- the child ---- */

static json_t *failure(const char *outcome, const char *sentence)
{
    return json_pack("{ss ss}", "outcome", outcome, "sentence", sentence);
}

static _Noreturn void be_child(const saved_launch *l, const run_options *o, int out)
{
    setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
    unsetenv("NDR_DUMP");
    json_t *const result = run_here(l, o);
    const bool is_written = json_dumpfd(result, out, 0) == 0;
    _exit(is_written ? 0 : 1);
}

/* Append what the child writes to `text` until it ends; false: it has not by then. */
static bool read_pipe(int in, double end_s, char **text, size_t *count)
{
    size_t capacity = 0;
    for (;;) {
        struct pollfd wait = { .fd = in, .events = POLLIN };
        const double left_s = end_s - now_s();
        if (end_s > 0 && left_s <= 0) return false;
        if (poll(&wait, 1, end_s > 0 ? (int)(left_s * 1e3) + 1 : -1) <= 0) continue;
        if (capacity - *count < 4096) {
            char *const grown = realloc(*text, capacity += 65536);
            if (!grown) return true;
            *text = grown;
        }
        const ssize_t got = read(in, *text + *count, capacity - *count);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return true;
        *count += (size_t)got;
    }
}

static json_t *describe_end(int state, const char *text, size_t count)
{
    char sentence[160];
    json_t *const result = count ? json_loadb(text, count, 0, NULL) : NULL;
    if (result) return result;
    if (WIFSIGNALED(state))
        snprintf(sentence, sizeof sentence, "the launch ended its process by signal %d (%s)", WTERMSIG(state),
                 strsignal(WTERMSIG(state)));
    else snprintf(sentence, sizeof sentence, "the launch ended its process with exit code %d", WEXITSTATUS(state));
    return failure("crash", sentence);
}

static json_t *wait_for_child(pid_t child, int in, const run_options *o)
{
    char *text = NULL, sentence[80];
    size_t count = 0;
    int state = 0;
    const bool has_ended = read_pipe(in, o->timeout_s ? now_s() + o->timeout_s : 0, &text, &count);
    if (!has_ended) kill(child, SIGKILL);
    while (waitpid(child, &state, 0) < 0 && errno == EINTR) {}
    snprintf(sentence, sizeof sentence, "the launch has not ended within %u s", o->timeout_s);
    json_t *const result = has_ended ? describe_end(state, text, count) : failure("timeout", sentence);
    free(text);
    return result;
}

json_t *run_launch(const saved_launch *l, const run_options *o)
{
    int ends[2];
    if (pipe(ends) != 0) return failure("crash", "the system makes no pipe to another process");
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        be_child(l, o, ends[1]);
    }
    close(ends[1]);
    begin_waiting("of the launch", 0);
    json_t *const result =
        child > 0 ? wait_for_child(child, ends[0], o) : failure("crash", "the system starts no other process");
    end_waiting();
    close(ends[0]);
    return result;
}
