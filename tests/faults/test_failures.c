/* test_failures.c - each call of the driver and each allocation fails once, in scenes that cover all public functions.
 *
 * A scene is a sequence of steps. One call in it is refused. The step that needed the call must fail with a sentence
 * that names the call and the code, and must change nothing. The same step must then work, and so must all later ones.
 * At the end no object is left.
 *
 * There are some thousand refusals, with several codes for each call. NDR_TEST_LONG=1 tries all of them. Otherwise a
 * scene takes about a second and tries as many as fit, evenly spread. A seed chooses the first one. It is printed,
 * and NDR_TEST_SEED sets it. */
#include "faults/between.h"

#include <time.h>

#include "ndr/ndr_cl.h"
#include "ndr/ndr_group.h"
#include "ndr/ndr_image.h"
#include "ndr/ndr_ops.h"
#include "ndr/ndr_outline.h"
#include "ndr/ndr_shared.h"
#include "driver_faults.h"
#include "forcing.h"
#include "device/context.h"
#include "device/part.h"
#include "device/shared.h"
#include "ops/histogram/histogram.h"
#include "ops/move/move.h"
#include "ops/random/random.h"
#include "ops/ranks/ranks.h"
#include "ops/scan/lines.h"
#include "ops/select/select.h"
#include "ops/sort/sort.h"
#include "ops/sort/top_k.h"
#include "ops/matmul/matmul.h"
#include "ops/merge/merge.h"
#include "ops/reduce/reduce.h"


enum { INTS = 100, MAX_STEPS = 40, MAX_POLLS = 8 };

/* What a scene has created. All of it is destroyed at the scene's end. */
typedef struct world {
    ndr_context *made, *wrapped;
    ndr_queue *line, *wrapped_line;
    ndr_buffer *x, *y, *over, *view, *wrapped_x;
    ndr_image *picture, *other_picture, *wrapped_picture;
    ndr_sampler *sampler, *wrapped_sampler;
    ndr_shared *coarse, *other_shared;
    ndr_event *event, *gate;
    ndr_kernel *kernel;
    ndr_prepared *prepared;
    ndr_outline *outline;
    ndr_group *group;
    void *mapped;
} world;

static world w;
static int host[INTS], got[INTS], under[INTS];

typedef ndr_status step(void);

static ndr_context *here(void) { return w.made ? w.made : context; }

/* ---- steps: devices ---- */

static ndr_status list_devices(void)
{
    ndr_device_info devices[8];
    size_t count;
    return ndr_device_list(8, devices, &count);
}

static ndr_status create_context(void) { return ndr_context_create(NULL, &w.made); }
static ndr_status create_checked(void)
{
    return ndr_context_create_with(&(ndr_context_desc){ .check = NDR_CHECK_ON }, &w.made);
}

static bool is_halved; /* asked before any call is refused */

/* One of two halves; a device that cannot be divided is opened whole. */
static ndr_status create_part(void)
{
    const size_t parts = is_halved ? 2 : 0;
    return ndr_context_create_with(&(ndr_context_desc){ .part_count = parts, .part = parts / 2 }, &w.made);
}

static ndr_status create_part_of_one_unit(void)
{
    const unsigned units[] = { 1, 1 };
    const size_t parts = is_halved ? 2 : 0;
    return ndr_context_create_with(&(ndr_context_desc){ .part_count = parts, .part_units = parts ? units : NULL },
                                   &w.made);
}

static ndr_status wrap_device(void) { return ndr_context_from_cl(context->cl, context->device, &w.made); }
static ndr_status wrap_context(void) { return ndr_context_from_cl(here()->cl, here()->device, &w.wrapped); }
static ndr_status wrap_queue(void) { return ndr_queue_from_cl(w.wrapped, ndr_queue_cl(w.line), &w.wrapped_line); }
static ndr_status wrap_buffer(void) { return ndr_buffer_from_cl(w.wrapped, ndr_buffer_cl(w.x), &w.wrapped_x); }

static ndr_status get_device(void)
{
    ndr_device_info info;
    return ndr_context_get_device(here(), &info);
}

static ndr_status get_cache(void)
{
    ndr_cache_info info;
    return ndr_context_get_cache(here(), &info);
}

static ndr_status get_report(void)
{
    char report[64];
    return ndr_context_get_check_report(here(), sizeof report, report, NULL);
}

static ndr_status get_quirks(void)
{
    size_t count;
    return ndr_context_get_quirks(here(), 0, NULL, &count);
}

static ndr_status create_queue(void)
{
    return ndr_queue_create(here(), &(ndr_queue_desc){ .is_profiling = true }, &w.line);
}

static ndr_status flush(void) { return ndr_queue_flush(w.line); }
static ndr_status finish(void) { return ndr_queue_finish(w.line); }
static ndr_status take_time(void) { return ndr_queue_finish_timed(w.line, &(uint64_t){ 0 }); }

/* ---- steps: buffers ---- */

static ndr_status create_x(void) { return ndr_buffer_create(here(), sizeof host, &w.x); }
static ndr_status create_y(void) { return ndr_buffer_create_from(here(), sizeof host, host, &w.y); }
static ndr_status create_over(void) { return ndr_buffer_create_over(here(), sizeof under, under, &w.over); }
static ndr_status create_pinned(void)
{
    const ndr_buffer_desc desc = {
        .size_bytes = sizeof host, .contents = host, .is_pinned = true, .kernels = NDR_ACCESS_READ
    };
    return ndr_buffer_create_with(here(), &desc, &w.x);
}

static ndr_status create_view(void) { return ndr_buffer_create_view(w.x, 0, sizeof host, &w.view); }
static ndr_status map_view(void)
{
    return ndr_buffer_map(w.line, w.view, NDR_MAP_READ, 4, 8, &w.mapped);
}

static ndr_status write_x(void) { return ndr_buffer_write(w.line, w.x, 0, sizeof host, host, NULL); }
static ndr_status read_x(void) { return ndr_buffer_read(w.line, w.x, 0, sizeof got, got, NULL); }
static ndr_status read_y(void) { return ndr_buffer_read(w.line, w.y, 0, sizeof got, got, NULL); }
static ndr_status copy_x_to_y(void) { return ndr_buffer_copy(w.line, w.x, 0, w.y, 0, sizeof host, &w.event); }

/* Another context, of the whole device where that cannot be divided. */
static ndr_status create_other(void)
{
    return ndr_context_create_with(&(ndr_context_desc){ .part_count = is_halved ? 2 : 0 }, &w.wrapped);
}
static ndr_status create_other_queue(void) { return ndr_queue_create(w.wrapped, NULL, &w.wrapped_line); }
static ndr_status create_other_x(void) { return ndr_buffer_create(w.wrapped, sizeof host, &w.wrapped_x); }
static ndr_status read_other_x(void)
{
    return ndr_buffer_read(w.wrapped_line, w.wrapped_x, 0, sizeof got, got, NULL);
}

static ndr_status pass_x(ndr_event **event)
{
    return ndr_buffer_transfer(w.line, w.x, 0, w.wrapped_line, w.wrapped_x, 0, sizeof host, event);
}
static ndr_status pass_x_small(void) { return pass_x(NULL); }
static ndr_status pass_x_mapped(void)
{
    const size_t small_bytes = ndr_max_small_bytes;
    ndr_max_small_bytes = 0;
    const ndr_status status = pass_x(NULL);
    ndr_max_small_bytes = small_bytes;
    return status;
}
static ndr_status pass_x_later(void) { return pass_x(&w.event); }
static ndr_status pass_x_in_pieces(void)
{
    ndr_device_info *const infos[] = { &here()->caps.info, &w.wrapped->caps.info };
    const bool shares[] = { infos[0]->shares_host_memory, infos[1]->shares_host_memory };
    infos[0]->shares_host_memory = infos[1]->shares_host_memory = false;
    const ndr_status status = pass_x_mapped();
    infos[0]->shares_host_memory = shares[0], infos[1]->shares_host_memory = shares[1];
    return status;
}
static ndr_status mark(void) { return ndr_queue_mark(w.line, &w.event); }

static ndr_status write_without_waiting(void) { return ndr_buffer_write(w.line, w.x, 0, sizeof host, host, &w.event); }

static ndr_status read_without_waiting(void) { return ndr_buffer_read(w.line, w.x, 0, sizeof got, got, &w.event); }

static ndr_status fill_y(void)
{
    return ndr_buffer_fill(w.line, w.y, 0, sizeof host, &(const int){ 8 }, sizeof(int), &w.event);
}

static ndr_status map_x(void)
{
    return ndr_buffer_map(w.line, w.x, NDR_MAP_READ_WRITE, 0, sizeof host, &w.mapped);
}

static ndr_status map_x_to_read(void)
{
    return ndr_buffer_map(w.line, w.x, NDR_MAP_READ, 0, sizeof host, &w.mapped);
}

static ndr_status map_over(void)
{
    return ndr_buffer_map(w.line, w.over, NDR_MAP_READ, 0, sizeof under, &w.mapped);
}

static ndr_status unmap(ndr_buffer *buffer)
{
    const ndr_status status = ndr_buffer_unmap(w.line, buffer, w.mapped, NULL);
    if (status == NDR_OK) w.mapped = NULL;
    return status;
}

static ndr_status unmap_x(void) { return unmap(w.x); }
static ndr_status unmap_over(void) { return unmap(w.over); }
static ndr_status unmap_view(void) { return unmap(w.view); }

/* ---- steps: rectangles ---- */

/* The left and the right half of 10 rows of 10 ints. */
static const ndr_rect_desc left = {
    { 2, { 10, 5, 0 } }, sizeof(int), { .row_pitch_bytes = 40 }, { .row_pitch_bytes = 40 }
};
static const ndr_rect_desc right = {
    { 2, { 10, 5, 0 } }, sizeof(int), { 0, { 0, 5, 0 }, 40, 0 }, { 0, { 0, 5, 0 }, 40, 0 }
};

/* The pitch of the last row passes the buffer's end, so that row has a command of its own. */
static const ndr_rect_desc to_the_end = {
    { 2, { 9, 4, 0 } }, sizeof(int), { .row_pitch_bytes = 48 }, { .row_pitch_bytes = 48 }
};

static ndr_status write_left(void) { return ndr_buffer_write_rect(w.line, w.x, &left, host, NULL); }
static ndr_status write_right_without_waiting(void)
{
    return ndr_buffer_write_rect(w.line, w.x, &right, host, &w.event);
}

static ndr_status write_to_the_end_without_waiting(void)
{
    return ndr_buffer_write_rect(w.line, w.x, &to_the_end, host, &w.event);
}
static ndr_status read_to_the_end(void) { return ndr_buffer_read_rect(w.line, w.x, &to_the_end, got, NULL); }

static ndr_status copy_left(void) { return ndr_buffer_copy_rect(w.line, w.x, w.y, &left, &w.event); }
static ndr_status read_left(void) { return ndr_buffer_read_rect(w.line, w.y, &left, got, NULL); }
static ndr_status read_right_without_waiting(void) { return ndr_buffer_read_rect(w.line, w.x, &right, got, &w.event); }

/* ---- steps: images ---- */

static ndr_status make_image(const void *contents, ndr_image **image)
{
    const ndr_image_desc desc = {
        .format = { NDR_CHANNELS_RGBA, NDR_CHANNEL_I8 }, .size = { 2, { 10, 10, 0 } }, .contents = contents
    };
    return ndr_image_create(here(), &desc, image);
}

static ndr_status list_formats(void)
{
    const ndr_image_desc use = { .size = { 3, { 0 } }, .is_array = true };
    ndr_image_format formats[4];
    size_t count;
    return ndr_image_list_formats(here(), &use, 4, formats, &count);
}

static ndr_status create_picture(void) { return make_image(host, &w.picture); }
static ndr_status create_other_picture(void) { return make_image(NULL, &w.other_picture); }
static ndr_status create_sampler(void) { return ndr_sampler_create(here(), NULL, &w.sampler); }
static ndr_status write_picture(void) { return ndr_image_write(w.line, w.other_picture, NULL, host, NULL); }
static ndr_status read_picture(void) { return ndr_image_read(w.line, w.other_picture, NULL, got, NULL); }
static ndr_status copy_picture(void)
{
    return ndr_image_copy(w.line, w.picture, NULL, w.other_picture, NULL, &w.event);
}

static ndr_status fill_picture(void)
{
    return ndr_image_fill(w.line, w.other_picture, NULL, (const int[]){ 8, 0, 0, 0 }, &w.event);
}

static ndr_status map_picture(void)
{
    ndr_mapped_part mapped = { 0 };
    const ndr_status status = ndr_image_map(w.line, w.other_picture, NDR_MAP_READ_WRITE, NULL, &mapped);
    w.mapped = mapped.host;
    return status;
}

static ndr_status unmap_picture(void)
{
    const ndr_status status = ndr_image_unmap(w.line, w.other_picture, w.mapped, NULL);
    if (status == NDR_OK) w.mapped = NULL;
    return status;
}

static ndr_status unmap_picture_with_event(void)
{
    const ndr_status status = ndr_image_unmap(w.line, w.other_picture, w.mapped, &w.event);
    if (status == NDR_OK) w.mapped = NULL;
    return status;
}

static ndr_status wrap_picture(void) { return ndr_image_from_cl(context, ndr_image_cl(w.other_picture), &w.wrapped_picture); }
static ndr_status wrap_sampler(void) { return ndr_sampler_from_cl(context, ndr_sampler_cl(w.sampler), &w.wrapped_sampler); }
static ndr_status copy_to_wrapped(void)
{
    return ndr_image_copy(w.line, w.picture, NULL, w.wrapped_picture, NULL, &w.event);
}

static ndr_status write_picture_without_waiting(void)
{
    return ndr_image_write(w.line, w.other_picture, NULL, host, &w.event);
}

static ndr_status read_picture_without_waiting(void)
{
    return ndr_image_read(w.line, w.other_picture, NULL, got, &w.event);
}

/* ---- steps: shared allocations ---- */

static ndr_status create_coarse(void) { return ndr_shared_create(here(), NDR_SHARED_COARSE, sizeof host, &w.coarse); }
static ndr_status create_any(void) { return ndr_shared_create(here(), NDR_SHARED_ANY, sizeof host, &w.other_shared); }
static ndr_status map_coarse(void)
{
    return ndr_shared_map(w.line, w.coarse, NDR_MAP_READ_WRITE, 0, sizeof host, NULL);
}


/* Under NDR_CHECK only the check that follows may have failed. */
static ndr_status unmap_coarse(void)
{
    return w.coarse->mappings.first ? ndr_shared_unmap(w.line, w.coarse, w.coarse->start, &w.event)
                                    : ndr_queue_mark(w.line, &w.event);
}

static ndr_status prefetch(void) { return ndr_shared_prefetch(w.line, w.coarse, 0, sizeof host, &w.event); }
static ndr_status write_coarse(void) { return ndr_shared_write(w.line, w.coarse, 0, sizeof host, host, NULL); }
static ndr_status read_coarse(void) { return ndr_shared_read(w.line, w.coarse, 0, sizeof got, got, NULL); }
static ndr_status copy_shared(void)
{
    return ndr_shared_copy(w.line, w.other_shared, 0, w.coarse, 0, sizeof host, &w.event);
}

static ndr_status launch_put_shared(void) { return ndr_launch(w.line, w.kernel, ndr_range_1d(INTS), w.coarse, 8); }
static ndr_status launch_put_reaching(void)
{
    return ndr_launch_event(w.line, w.kernel, &w.event, ndr_range_1d(INTS), w.other_shared, 5, ndr_reaches(w.coarse));
}

/* A buffer without an address if the device has none. */
static ndr_status create_with_address(void)
{
    const ndr_buffer_desc desc = { .size_bytes = sizeof host, .has_address = device.has_buffer_addresses };
    return ndr_buffer_create_with(here(), &desc, &w.y);
}

static ndr_status ask_address(void)
{
    uint64_t address;
    return device.has_buffer_addresses ? ndr_buffer_get_address(w.y, &address) : NDR_OK;
}

static ndr_status launch_put_reaching_buffer(void)
{
    return device.has_buffer_addresses
               ? ndr_launch(w.line, w.kernel, ndr_range_1d(INTS), w.coarse, 5, ndr_reaches_buffer(w.y))
               : ndr_launch(w.line, w.kernel, ndr_range_1d(INTS), w.coarse, 5);
}

/* ---- steps: events that are destroyed afterwards ---- */

static ndr_status gone_after(ndr_status status)
{
    if (status != NDR_OK) return status;
    ndr_event_destroy(w.event);
    w.event = NULL;
    return NDR_OK;
}

static ndr_status wait(void) { return gone_after(ndr_event_wait(w.event)); }

static ndr_status wait_within(void) { return gone_after(ndr_event_wait_within(w.event, NDR_FOREVER - 1)); }

static ndr_status measure(void)
{
    uint64_t elapsed_ns;
    return gone_after(ndr_event_elapsed_ns(w.event, &elapsed_ns));
}

static ndr_status get_times(void)
{
    ndr_event_times times;
    return gone_after(ndr_event_get_times(w.event, &times));
}

static ndr_status query(void)
{
    ndr_event_state state;
    return ndr_event_get_state(w.event, &state);
}

/* ---- steps: order ---- */

static ndr_status create_gate(void) { return ndr_event_create(here(), &w.gate); }
static ndr_status complete_gate(void) { return ndr_event_complete(w.gate); }
static ndr_status fail_gate(void) { return ndr_event_fail(w.gate, NDR_NOT_FOUND, "lost"); }
static ndr_status add_barrier(void) { return ndr_queue_barrier(ndr_after(w.line, w.gate), &w.event); }
static ndr_status finish_within(void) { return ndr_queue_finish_within(w.line, NDR_FOREVER - 1); }

static ndr_status launch_after_gate(void)
{
    return ndr_launch_event(ndr_after(w.line, w.gate), w.kernel, &w.event, ndr_range_1d(INTS), w.x, 3);
}

static ndr_status copy_after_gate(void)
{
    return ndr_buffer_copy(ndr_after(w.line, w.gate), w.x, 0, w.y, 0, sizeof host, NULL);
}

static ndr_status unmap_after_gate(void)
{
    const ndr_status status = ndr_buffer_unmap(ndr_after(w.line, w.gate), w.x, w.mapped, &w.event);
    if (status == NDR_OK) w.mapped = NULL;
    return status;
}

static ndr_status wait_any(void)
{
    size_t which;
    return gone_after(ndr_event_wait_any(&w.event, 1, NDR_FOREVER, &which));
}

static ndr_status wait_all(void) { return gone_after(ndr_event_wait_all(&w.event, 1, NDR_FOREVER)); }

static ndr_status drop_gate(void)
{
    ndr_event_destroy(w.gate);
    w.gate = NULL;
    return NDR_OK;
}

/* The step succeeds if the call reports the cause. */
static ndr_status finish_lost(void)
{
    const ndr_status status = ndr_queue_finish(w.line);
    assert_int_not_equal(status, NDR_OK);
    return status == NDR_NOT_FOUND && strstr(ndr_last_error(), "lost") ? NDR_OK : status;
}

/* ---- steps: functions of the host ---- */

static atomic_int functions_run;

static ndr_status count_task(void *unused)
{
    atomic_fetch_add(&functions_run, 1);
    return NDR_OK;
}

static void count_callback(ndr_status status, const char *sentence, void *unused)
{
    if (status == NDR_OK) (void)count_task(unused);
}

static ndr_status add_task(void) { return ndr_host_task(w.line, count_task, NULL, &w.event); }
static ndr_status add_callback(void) { return ndr_event_set_callback(w.event, count_callback, NULL); }

static ndr_status expect_both(void)
{
    while (atomic_load(&functions_run) < 2) ndr_thread_yield();
    return atomic_exchange(&functions_run, 0) == 2 ? NDR_OK : NDR_BAD_ARGUMENT;
}

/* ---- steps: results ---- */

static ndr_status expect(int wanted)
{
    for (size_t i = 0; i < INTS; ++i) assert_int_equal(got[i], wanted);
    memset(got, 0, sizeof got);
    return NDR_OK;
}

static ndr_status expect_3(void) { return expect(3); }
static ndr_status expect_5(void) { return expect(5); }
static ndr_status expect_8(void) { return expect(8); }
static ndr_status expect_16(void) { return expect(16); }

/* ---- steps: kernels ---- */

static const char source[] = "#include \"ndr/ndr.clh\"\n"
                             "#include \"failures.clh\"\n"
                             "typedef struct pair { int a; float b; } pair;\n"
                             "typedef float real;\n"
                             "kernel void put(global int *x, int value, NDR_RANGE(1))\n"
                             "{\n"
                             "    const ndr_item it = NDR_ITEM(1);\n"
                             "    x[ndr_global_id(it, 0)] = value + ZERO;\n"
                             "}\n"
                             "kernel void put_pair(global int *x, pair p, real r, local int *room, NDR_ND_RANGE(1))\n"
                             "{\n"
                             "    const ndr_nd_item it = NDR_ND_ITEM(1);\n"
                             "    const ndr_group g = ndr_get_group(it);\n"
                             "    room[ndr_local_id(it, 0)] = 1;\n"
                             "    ndr_group_barrier(g);\n"
                             "    const int items = ndr_reduce_over_group(g, room[ndr_local_id(it, 0)], NDR_PLUS);\n"
                             "    x[ndr_global_id(it, 0)] = p.a + (int)r + (items > 0 ? 0 : 100);\n"
                             "}\n"
                             "NDR_SUB_GROUP_KERNEL kernel void put_sub_group(global int *x, NDR_ND_RANGE(1))\n"
                             "{\n"
                             "    const ndr_nd_item it = NDR_ND_ITEM(1);\n"
                             "    const ndr_sub_group sg = ndr_get_sub_group(it);\n"
                             "    const int one = ndr_reduce_over_group(sg, 1, NDR_MAXIMUM);\n"
                             "    if (ndr_in_range(it)) x[ndr_global_id(it, 0)] = 15 + one;\n"
                             "}\n";

/* Adds 2 to the first channel. */
static const char picture_source[] =
    "kernel void put_picture(read_only image2d_t from, sampler_t s, write_only image2d_t to)\n"
    "{\n"
    "    int2 at = (int2)(get_global_id(0), get_global_id(1));\n"
    "    write_imagei(to, at, read_imagei(from, s, at) + (int4)(2, 0, 0, 0));\n"
    "}\n";

typedef struct pair {
    int a;
    float b;
} pair;

static const char wrong[] = "kernel void wrong(global int *x) { x[0] = unheard_of; }\n";

static const char *const include_dirs[] = { ".", NULL };

static ndr_status get_kernel(const char *name, size_t sub_group_size)
{
    const ndr_kernel_desc desc = { .name = name,
                                   .source = source,
                                   .include_dirs = include_dirs,
                                   .sub_group_size = sub_group_size };
    return ndr_kernel_get(here(), &desc, &w.kernel);
}

static ndr_status get_put(void) { return get_kernel("put", 0); }
static ndr_status get_put_pair(void) { return get_kernel("put_pair", 0); }
static ndr_status get_put_sub_group(void) { return get_kernel("put_sub_group", 4); }

static ndr_status adopt(void) { return ndr_kernel_from_cl(here(), w.kernel->cl, &w.kernel); }

static ndr_status get_from_file(void)
{
    return ndr_kernel_get(here(), &(ndr_kernel_desc){ .name = "add_one", .file = "failures.cl" }, &w.kernel);
}

/* A part that is lost without memory would change the numbers. */
static ndr_status read_outline(void)
{
    static const char text[] = "#define N 4\n#define M (2 * N)\ntypedef float4 quad;\n#include \"failures.clh\"\n"
                               "kernel __attribute__((reqd_work_group_size(M, 1, 1)))\n"
                               "void k(quad x, local struct pair *y, NDR_REDUCTION(1, (SUM, int, s))) {}\n"
                               "#include <not_there.h>\n";
    return ndr_outline_create(&(ndr_kernel_desc){ .source = text, .options = "-DK=1", .include_dirs = include_dirs }, &w.outline);
}

static ndr_status expect_outline(void)
{
    ndr_outline_info info;
    ndr_outline_kernel kernel;
    ndr_outline_param param;
    ndr_outline_constant constant;
    assert_ok(ndr_outline_get_info(w.outline, &info));
    assert_int_equal(info.constant_count, 4); /* of failures.clh, too */
    assert_ok(ndr_outline_get_constant(w.outline, 2, &constant));
    assert_string_equal(constant.name, "M");
    assert_ok(ndr_outline_get_kernel(w.outline, 0, &kernel));
    assert_int_equal(kernel.param_count, 3);
    assert_int_equal(kernel.required_local_size[2], 8);
    assert_ok(ndr_outline_get_param(w.outline, 0, 0, &param));
    assert_int_equal(param.lanes, 4);
    return NDR_OK;
}

/* A struct in each text, so that each has probes. */
static ndr_status get_linked(void)
{
    static const char first[] = "#include \"ndr/item.clh\"\n"
                                "typedef struct { int a; } one;\n"
                                "int three(void);\n"
                                "kernel void put(global int *x, int a, NDR_RANGE(1))\n"
                                "{\n"
                                "    const ndr_item it = NDR_ITEM(1);\n"
                                "    x[ndr_global_id(it, 0)] = a + three() - 3;\n"
                                "}\n"
                                "kernel void of_one(global int *x, one y) { x[0] = y.a; }\n";
    static const char second[] = "typedef struct { int a[2]; } two;\n"
                                 "int three(void) { return 3; }\n"
                                 "kernel void of_two(global int *x, two y) { x[0] = y.a[1]; }\n";
    static const char *const linked[] = { second, NULL };
    const ndr_kernel_desc desc = { .name = "put", .source = first, .linked = linked };
    return ndr_kernel_get(here(), &desc, &w.kernel);
}

/* The driver's binary of the kernel's program. */
static ndr_status get_from_binary(void)
{
    static unsigned char binary[1 << 20], *to = binary;
    cl_program program;
    size_t bytes = 0;
    assert_int_equal(clGetKernelInfo(w.kernel->cl, CL_KERNEL_PROGRAM, sizeof program, &program, NULL), CL_SUCCESS);
    assert_int_equal(clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof bytes, &bytes, NULL), CL_SUCCESS);
    assert_true(bytes > 0 && bytes <= sizeof binary);
    assert_int_equal(clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof to, &to, NULL), CL_SUCCESS);
    const ndr_kernel_desc desc = { .name = "of_one", .binary = binary, .binary_bytes = bytes };
    ndr_kernel *kernel;
    return ndr_kernel_get(here(), &desc, &kernel);
}

/* A module with one function that does nothing: kernel void k(void) {} */
static ndr_status get_from_spirv(void)
{
    static const uint32_t module[] = {
        0x07230203, 0x00010000, 0, 5, 0, /* version 1.0, ids below 5 */
        0x00020011, 4,                   /* OpCapability Addresses */
        0x00020011, 6,                   /* OpCapability Kernel */
        0x0003000e, 2, 2,                /* OpMemoryModel Physical64 OpenCL */
        0x0004000f, 6, 3, 'k',           /* OpEntryPoint Kernel %3 "k" */
        0x00020013, 1,                   /* %1 = OpTypeVoid */
        0x00030021, 2, 1,                /* %2 = OpTypeFunction %1 */
        0x00050036, 1, 3, 0, 2,          /* %3 = OpFunction %1 None %2 */
        0x000200f8, 4,                   /* %4 = OpLabel */
        0x000100fd, 0x00010038,          /* OpReturn, OpFunctionEnd */
    };
    const ndr_kernel_desc desc = { .name = "k", .spirv = module, .spirv_bytes = sizeof module };
    ndr_kernel *kernel;
    return device.has_spirv ? ndr_kernel_get(here(), &desc, &kernel) : NDR_OK;
}

/* The step succeeds if the call gives the log. */
static ndr_status get_wrong(void)
{
    const ndr_status status = ndr_kernel_get(here(), &(ndr_kernel_desc){ .name = "wrong", .source = wrong }, &w.kernel);
    assert_int_not_equal(status, NDR_OK);
    const bool has_log = strstr(ndr_last_error(), "unheard_of") && strstr(ndr_last_build_log(), "unheard_of");
    return status == NDR_BUILD_FAILED && has_log ? NDR_OK : status;
}

/* The step succeeds if the call lists the program's kernels. */
static ndr_status get_missing(void)
{
    const ndr_status status = get_kernel("nobody", 0);
    assert_int_not_equal(status, NDR_OK);
    return status == NDR_NOT_FOUND && strstr(ndr_last_error(), "put_pair") ? NDR_OK : status;
}

static ndr_status ask_kernel(void)
{
    ndr_kernel_info info;
    return ndr_kernel_get_info(w.kernel, &info);
}

static ndr_status get_all(void)
{
    enum { MOST = 64 };
    ndr_kernel *kernels[MOST] = { NULL };
    size_t count = 0;
    const ndr_kernel_desc desc = { .source = source, .include_dirs = include_dirs };
    const ndr_status status = ndr_kernel_get_all(here(), &desc, MOST, kernels, &count);
    if (status == NDR_OK) assert_true(count > 1 && count <= MOST && kernels[count - 1]);
    else assert_int_equal(count, 0);
    return status;
}

static ndr_status ask_parameter(void)
{
    ndr_parameter_info parameter;
    return ndr_kernel_get_parameter(w.kernel, 0, &parameter);
}

static ndr_status ask_binary(void)
{
    size_t length;
    return ndr_kernel_get_binary(w.kernel, 0, NULL, &length);
}

static ndr_status ask_log(void)
{
    char log[64];
    return ndr_kernel_get_log(w.kernel, sizeof log, log, NULL);
}

static ndr_status ask_sub_groups(void)
{
    ndr_sub_group_info info;
    return ndr_kernel_get_sub_groups(w.kernel, &(ndr_range){ 1, { 8 } }, &info);
}

static ndr_status ask_local(void)
{
    ndr_range local;
    return ndr_kernel_suggest_local(w.kernel, &(ndr_range){ 1, { INTS } }, &local);
}

static ndr_status get_put_picture(void)
{
    return ndr_kernel_get(here(), &(ndr_kernel_desc){ .name = "put_picture", .source = picture_source }, &w.kernel);
}

static ndr_status launch_put_picture(void)
{
    return ndr_launch(w.line, w.kernel, ndr_range_2d(10, 10), w.picture, w.sampler, w.other_picture);
}

static ndr_status launch_put(void) { return ndr_launch(w.line, w.kernel, ndr_range_1d(INTS), w.x, 3); }

static ndr_status launch_put_of_desc(void)
{
    const ndr_kernel_desc desc = { .name = "put", .source = source, .include_dirs = include_dirs };
    const ndr_nd_range range = ndr_nd_range_of(ndr_range_1d(INTS), (ndr_range){ 0 });
    return ndr_launch_desc_v(w.line, &desc, &range, (const ndr_arg[]){ ndr_arg_of(w.x), ndr_arg_of(5) }, 2, NULL);
}

static ndr_status launch_put_with_event(void)
{
    return ndr_launch_event(w.line, w.kernel, &w.event, ndr_range_1d(INTS), w.x, 5);
}

/* 100 in groups of 16: two pieces. */
static ndr_status launch_split(void)
{
    ndr_nd_range range = ndr_nd_range_1d(INTS, 16);
    range.edge = NDR_EDGE_SPLIT;
    const pair p = { 3, 0 };
    return ndr_launch_event(w.line, w.kernel, &w.event, range, w.x, ndr_struct(pair, p), 5.0f, ndr_local(int, 16));
}

static ndr_status prepare_split(void)
{
    ndr_nd_range range = ndr_nd_range_1d(INTS, 16);
    range.edge = NDR_EDGE_SPLIT;
    const pair p = { 3, 0 };
    return ndr_prepare(w.kernel, &w.prepared, range, w.x, ndr_struct(pair, p), 2.0f, ndr_local(int, 16));
}

static ndr_status set_prepared(void) { return ndr_prepared_set(w.prepared, 2, ndr_arg_of(5.0f)); }
static ndr_status run_prepared(void) { return ndr_prepared_run(w.line, w.prepared, &w.event); }

static ndr_status launch_sub_groups(void)
{
    ndr_nd_range range = ndr_nd_range_1d(INTS, 8);
    range.edge = NDR_EDGE_ROUND_UP;
    return ndr_launch(w.line, w.kernel, range, w.x);
}

static ndr_status launch_nothing(void)
{
    return ndr_launch_event(w.line, w.kernel, &w.event, ndr_range_1d(0), w.x, 5);
}

/* ---- steps: reducers ---- */

enum { MANY = (1 << 14) + 3 }; /* two chunks on CPUs, more elsewhere */

static const char adding[] = "#include \"ndr/reduction.clh\"\n"
                             "kernel void add_up(global int *x, NDR_REDUCTION(1, (SUM, int, a), (MAX, int, b)))\n"
                             "{ NDR_REDUCE(i, 1, a, b) { NDR_COMBINE(a, x[ndr_global_id(i, 0) % 100]); NDR_COMBINE(b, 8); } }\n";

/* A driver without such queues makes one in order. */
static ndr_status create_loose(void)
{
    const ndr_status status = ndr_queue_create(here(), &(ndr_queue_desc){ .is_out_of_order = true }, &w.line);
    return status == NDR_UNSUPPORTED ? ndr_queue_create(here(), NULL, &w.line) : status;
}

static ndr_status get_add_up(void)
{
    return ndr_kernel_get(here(), &(ndr_kernel_desc){ .name = "add_up", .source = adding }, &w.kernel);
}

static ndr_status add_up(size_t count)
{
    return ndr_launch_event(w.line, w.kernel, &w.event, ndr_range_1d(count), w.x, ndr_reducer(NDR_OP_SUM, 2, w.y, 5),
                            ndr_reducer(NDR_OP_MAX, 1, w.y, 7));
}

static ndr_status add_up_few(void) { return add_up(INTS); }
static ndr_status add_up_many(void) { return add_up(MANY); }

static ndr_status prepare_add_up_many(void)
{
    return ndr_prepare(w.kernel, &w.prepared, ndr_range_1d(MANY), w.x, ndr_reducer(NDR_OP_SUM, 0, w.y, 5),
                       ndr_reducer(NDR_OP_MAX, 1, w.y, 7));
}

static ndr_status set_reducer(void) { return ndr_prepared_set(w.prepared, 1, ndr_reducer(NDR_OP_SUM, 2, w.y, 5)); }

static ndr_status expect_added(int wanted)
{
    for (size_t i = 0; i < INTS; ++i) assert_int_equal(got[i], i == 5 ? wanted : i == 7 ? 8 : 3);
    return NDR_OK;
}

static ndr_status expect_few(void) { return expect_added(2 + 3 * INTS); }
static ndr_status expect_many(void) { return expect_added(2 + 3 * MANY); }

/* ---- steps: operations ---- */

enum { COUNT = 2100, M = 10 }; /* sum() leaves the output in x[0], multiply() products of M x M elements in x */

static ndr_reduce_method method;
static ndr_buffer *threes; /* COUNT ints of 3 */
static ndr_buffer *floats; /* M * M of 2.0f */

static ndr_status sum(void)
{
    return ndr_reduce(w.line,
                      &(ndr_reduce_desc){ .dtype = NDR_DTYPE_I32,
                                          .op = NDR_OP_SUM,
                                          .method = method,
                                          .input = { threes, 0 },
                                          .count = COUNT,
                                          .output = { w.x, 0 } },
                      &w.event);
}

static ndr_status expect_sum(void)
{
    assert_int_equal(got[0], 3 * COUNT);
    for (size_t i = 1; i < INTS; ++i) assert_int_equal(got[i], 3);
    return NDR_OK;
}

/* A batch of two. */
static ndr_status multiply(void)
{
    const size_t m = is_forced(&ndr_matmul_operation, "thin") ? 8 : M;
    return ndr_matmul(w.line,
                      &(ndr_matmul_desc){ .dtype = NDR_DTYPE_F32,
                                          .a = { floats, 0, m / 2, M, 0 },
                                          .b = { floats, 0, M, M, 0 },
                                          .c = { w.x, 0, m / 2, M, 0 },
                                          .count = 2,
                                          .c_stride = m / 2 * M },
                      &w.event);
}

static ndr_status expect_product(void)
{
    const size_t m = is_forced(&ndr_matmul_operation, "thin") ? 8 : M;
    float products[INTS];
    memcpy(products, got, sizeof got);
    for (size_t i = 0; i < m * M; ++i) assert_true(products[i] == 4 * M);
    return NDR_OK;
}

static ndr_status count_threes(void)
{
    return ndr_histogram(w.line,
                         &(ndr_histogram_desc){ .dtype = NDR_DTYPE_I32,
                                                .output_dtype = NDR_DTYPE_U32,
                                                .bins = 4,
                                                .lower = 0,
                                                .upper = 8,
                                                .input = { threes, 0 },
                                                .count = COUNT,
                                                .output = { w.x, 0 } },
                         &w.event);
}

static ndr_status expect_counts(void)
{
    for (size_t i = 0; i < INTS; ++i) assert_int_equal(got[i], i == 1 ? COUNT : i < 4 ? 0 : 3);
    return NDR_OK;
}

/* The first bytes of 4 threes, transposed as rows of 2. */
static ndr_array_copy_desc bytes_of_threes(void)
{
    ndr_array_copy_desc desc = { .input = ndr_array_of(threes, NDR_DTYPE_U8, ndr_range_2d(2, 2)),
                                 .output = ndr_array_of(w.x, NDR_DTYPE_U8, ndr_range_2d(2, 2)) };
    desc.input.stride[0] = 4, desc.input.stride[1] = 8;
    return desc;
}

static ndr_status transpose_threes(void)
{
    const ndr_array_copy_desc desc = bytes_of_threes();
    return ndr_array_copy(w.line, &desc, &w.event);
}

static ndr_status explain_transpose(void)
{
    char text[4000];
    const ndr_array_copy_desc desc = bytes_of_threes();
    return ndr_array_copy_explain(here(), &desc, sizeof text, text, NULL);
}

static ndr_status expect_bytes(void)
{
    for (size_t i = 0; i < INTS; ++i) assert_int_equal(got[i], i == 0 ? 0x03030303 : 3);
    return NDR_OK;
}

/* All indexes are 3, one too many: 0. */
static ndr_status gather_zeros(void)
{
    return ndr_gather(w.line,
                      &(ndr_gather_desc){ .dtype = NDR_DTYPE_I32,
                                          .index_dtype = NDR_DTYPE_U32,
                                          .input = { threes, 0 },
                                          .indexes = { threes, 0 },
                                          .input_count = 3,
                                          .count = 4,
                                          .output = { w.x, 0 } },
                      &w.event);
}

static ndr_status expect_zeros(void)
{
    for (size_t i = 0; i < INTS; ++i) assert_int_equal(got[i], i < 4 ? 0 : 3);
    return NDR_OK;
}

/* The first byte to byte 3. */
static ndr_status scatter_a_byte(void)
{
    return ndr_scatter(w.line,
                       &(ndr_scatter_desc){ .dtype = NDR_DTYPE_U8,
                                            .index_dtype = NDR_DTYPE_U32,
                                            .input = { threes, 0 },
                                            .indexes = { threes, 0 },
                                            .count = 1,
                                            .output_count = 4,
                                            .output = { w.x, 0 } },
                       &w.event);
}

static ndr_status expect_a_byte(void)
{
    for (size_t i = 0; i < INTS; ++i) assert_int_equal(got[i], i == 0 ? 0x03000003 : 3);
    return NDR_OK;
}

static ndr_status explain_gathers(void)
{
    char text[4000];
    const ndr_gather_desc from = { .dtype = NDR_DTYPE_I32, .index_dtype = NDR_DTYPE_U32, .count = 4 };
    const ndr_scatter_desc to = { .dtype = NDR_DTYPE_I32, .index_dtype = NDR_DTYPE_U32, .count = 4 };
    const ndr_status status = ndr_gather_explain(here(), &from, sizeof text, text, NULL);
    return status != NDR_OK ? status : ndr_scatter_explain(here(), &to, sizeof text, text, NULL);
}

static ndr_status draw_dice(void)
{
    return ndr_random(w.line,
                      &(ndr_random_desc){ .dtype = NDR_DTYPE_I32,
                                          .distribution = NDR_RANDOM_BELOW,
                                          .below = 1,
                                          .low = 6,
                                          .count = 4,
                                          .output = { w.x, 0 } },
                      &w.event);
}

static ndr_status expect_dice(void)
{
    for (size_t i = 0; i < INTS; ++i) assert_int_equal(got[i], i < 4 ? 6 : 3);
    return NDR_OK;
}

static ndr_status explain_dice(void)
{
    char text[4000];
    const ndr_random_desc desc = { .dtype = NDR_DTYPE_F32, .distribution = NDR_RANDOM_UNIFORM, .count = 4 };
    return ndr_random_explain(here(), &desc, sizeof text, text, NULL);
}

static ndr_status explain_counts(void)
{
    char text[4000];
    const ndr_histogram_desc desc = { .dtype = NDR_DTYPE_U8, .output_dtype = NDR_DTYPE_U32, .bins = 4, .upper = 256 };
    return ndr_histogram_explain(here(), &desc, sizeof text, text, NULL);
}

/* Of pairs: 3, 6, 3, 6 ... */
static ndr_status scan_threes(void)
{
    return ndr_scan(w.line,
                    &(ndr_scan_desc){ .dtype = NDR_DTYPE_I32,
                                      .op = NDR_OP_SUM,
                                      .input = { threes, 0 },
                                      .length = 2,
                                      .count = INTS,
                                      .output = { w.x, 0 } },
                    &w.event);
}

static ndr_status expect_scan(void)
{
    for (size_t i = 0; i < INTS; ++i) assert_int_equal(got[i], i % 2 ? 6 : 3);
    return NDR_OK;
}

/* Columns of two elements, and whether there are any: in two steps. */
static ndr_status scan_columns(void)
{
    const ndr_array array = ndr_array_of(threes, NDR_DTYPE_I32, ndr_range_2d(2, INTS / 2));
    ndr_array_scan_desc desc = { .op = NDR_OP_SUM, .input = array, .output = array };
    desc.output.buffer = w.x;
    return ndr_array_scan(w.line, &desc, &w.event);
}

static ndr_status expect_scanned_columns(void)
{
    for (size_t i = 0; i < INTS; ++i) assert_int_equal(got[i], i < INTS / 2 ? 3 : 6);
    return NDR_OK;
}

static ndr_status scan_truth(void)
{
    return ndr_scan(w.line,
                    &(ndr_scan_desc){ .dtype = NDR_DTYPE_I32,
                                      .op = NDR_OP_LOGICAL_AND,
                                      .input = { threes, 0 },
                                      .count = INTS,
                                      .output = { w.x, 0 } },
                    &w.event);
}

static ndr_status expect_truth(void)
{
    for (size_t i = 0; i < INTS; ++i) assert_int_equal(got[i], 1);
    return NDR_OK;
}

/* Of each 3 in memory one byte is not 0. */
static ndr_status select_threes(void)
{
    return ndr_select(w.line,
                      &(ndr_select_desc){ .dtype = NDR_DTYPE_I32,
                                          .input = { threes, 0 },
                                          .flags = { threes, 0 },
                                          .count = INTS,
                                          .output = { w.x, 0 },
                                          .selected = { w.y, 0 } },
                      &w.event);
}

static ndr_status expect_selected(void)
{
    assert_int_equal(got[0], (INTS + 3) / 4);
    assert_int_equal(got[1], 0);
    return NDR_OK;
}

static ndr_status merge_sort_ints(void)
{
    return ndr_merge_sort(
        w.line,
        &(ndr_merge_sort_desc){ .dtype = NDR_DTYPE_I32, .input = { w.x, 0 }, .count = INTS, .output = { w.x, 0 } },
        &w.event);
}

static ndr_status merge_ints(void)
{
    return ndr_merge(w.line,
                     &(ndr_merge_desc){ .dtype = NDR_DTYPE_I32,
                                        .first = { threes, 0 },
                                        .first_count = 1,
                                        .second = { threes, 1 },
                                        .second_count = 3,
                                        .output = { w.x, 0 } },
                     &w.event);
}

static ndr_status explain_merges(void)
{
    char text[4000];
    NDR_TRY(ndr_merge_explain(here(), &(ndr_merge_desc){ .dtype = NDR_DTYPE_I32 }, sizeof text, text, NULL));
    return ndr_merge_sort_explain(here(), &(ndr_merge_sort_desc){ .dtype = NDR_DTYPE_I32 }, sizeof text, text, NULL);
}

static ndr_status sort_ints(void)
{
    return ndr_sort(
        w.line,
        &(ndr_sort_desc){ .dtype = NDR_DTYPE_I32, .keys = { w.x, 0 }, .count = INTS, .sorted_keys = { w.x, 0 } },
        &w.event);
}

/* Each half by itself. */
static ndr_status sort_halves(void)
{
    return ndr_sort(w.line,
                    &(ndr_sort_desc){ .dtype = NDR_DTYPE_I32,
                                      .keys = { w.x, 0 },
                                      .count = INTS,
                                      .sorted_keys = { w.x, 0 },
                                      .length = INTS / 2 },
                    &w.event);
}

static ndr_status expect_sorted(void)
{
    for (size_t i = 0; i < INTS; ++i) assert_int_equal(got[i], i < INTS / 2 ? 3 : 6);
    return NDR_OK;
}

static ndr_status expect_sorted_halves(void)
{
    for (size_t i = 0; i < INTS; ++i) assert_int_equal(got[i], i % (INTS / 2) < INTS / 4 ? 3 : 6);
    return NDR_OK;
}

/* The largest of what scan_threes() gives, and which they are. */
static ndr_status find_largest(void)
{
    return ndr_top_k(w.line,
                     &(ndr_top_k_desc){ .dtype = NDR_DTYPE_I32,
                                        .value_bytes = sizeof(int),
                                        .is_largest = true,
                                        .keys = { w.x, 0 },
                                        .values = { w.x, 0 },
                                        .count = INTS,
                                        .k = INTS / 2,
                                        .top_values = { w.y, 0 } },
                     &w.event);
}

static ndr_status expect_largest(void)
{
    for (size_t i = 0; i < INTS / 2; ++i) assert_int_equal(got[i], 6);
    return NDR_OK;
}

/* So many that they are selected, sorted and then give values. */
static ndr_status find_first_threes(void)
{
    return ndr_top_k(w.line,
                     &(ndr_top_k_desc){ .dtype = NDR_DTYPE_I32,
                                        .value_bytes = sizeof(int),
                                        .keys = { threes, 0 },
                                        .values = { threes, 0 },
                                        .count = COUNT,
                                        .k = INTS,
                                        .top_values = { w.y, 0 } },
                     &w.event);
}

static ndr_status explain_others(void)
{
    char text[4000];
    const ndr_scan_desc scan = { .dtype = NDR_DTYPE_I32, .op = NDR_OP_SUM, .count = COUNT };
    const ndr_select_desc select = { .dtype = NDR_DTYPE_I32, .count = COUNT };
    const ndr_sort_desc sort = { .dtype = NDR_DTYPE_I32, .count = COUNT };
    const ndr_array array = ndr_array_of(NULL, NDR_DTYPE_I32, ndr_range_2d(3, 4));
    const ndr_array_scan_desc array_scan = { .op = NDR_OP_SUM, .input = array, .output = array };
    NDR_TRY(ndr_scan_explain(here(), &scan, sizeof text, text, NULL));
    NDR_TRY(ndr_array_scan_explain(here(), &array_scan, sizeof text, text, NULL));
    NDR_TRY(ndr_select_explain(here(), &select, sizeof text, text, NULL));
    NDR_TRY(ndr_sort_explain(here(), &sort, sizeof text, text, NULL));
    const ndr_top_k_desc top = { .dtype = NDR_DTYPE_I32, .count = COUNT, .k = 1 };
    return ndr_top_k_explain(here(), &top, sizeof text, text, NULL);
}

/* Only the row that the list selects. The others make the same calls and take more time. */
static ndr_status tune(void)
{
    return ndr_tune(here(), &(ndr_tune_desc){ .dtype = NDR_DTYPE_F32, .m = 3, .n = 5, .k = 4, .max_seconds = 1e-9 }, NULL);
}

static ndr_status explain_sum(void)
{
    char text[4000];
    const ndr_reduce_desc desc = { .dtype = NDR_DTYPE_I32, .op = NDR_OP_SUM, .count = COUNT };
    return ndr_reduce_explain(here(), &desc, sizeof text, text, NULL);
}

static ndr_status explain_product(void)
{
    char text[4000];
    const ndr_matrix square = { .rows = M, .cols = M };
    const ndr_matmul_desc desc = { .dtype = NDR_DTYPE_F32, .a = square, .b = square, .c = square };
    return ndr_matmul_explain(here(), &desc, sizeof text, text, NULL);
}

/* Leaves 4 in each int of x. */
static ndr_status map_text(void)
{
    const ndr_map_array input = { "t", ndr_array_of(threes, NDR_DTYPE_I32, ndr_range_1d(INTS)) },
                        output = { "x", ndr_array_of(w.x, NDR_DTYPE_I32, ndr_range_1d(INTS)) };
    const ndr_map_desc desc = {
        .statement = "x = t + 1", .inputs = &input, .input_count = 1, .outputs = &output, .output_count = 1
    };
    return ndr_map(w.line, &desc, &w.event);
}

static ndr_status expect_mapped(void)
{
    for (size_t i = 0; i < INTS; ++i) assert_int_equal(got[i], 4);
    return NDR_OK;
}

static ndr_map_reduce_desc sum_of_text(const ndr_map_array *input)
{
    return (ndr_map_reduce_desc){ .dtype = NDR_DTYPE_I32,
                                  .op = NDR_OP_SUM,
                                  .expression = "t",
                                  .inputs = input,
                                  .input_count = 1,
                                  .output.buffer = w.x };
}

static ndr_map_array all_threes(void)
{
    return (ndr_map_array){ "t", ndr_array_of(threes, NDR_DTYPE_I32, ndr_range_1d(COUNT)) };
}

static ndr_status sum_text(void)
{
    const ndr_map_array input = all_threes();
    const ndr_map_reduce_desc desc = sum_of_text(&input);
    return ndr_map_reduce(w.line, &desc, &w.event);
}

static ndr_status explain_texts(void)
{
    char text[4000];
    const ndr_map_array input = all_threes();
    const ndr_map_reduce_desc sum_desc = sum_of_text(&input);
    const ndr_map_desc desc = { .statement = "t = 1", .outputs = &input, .output_count = 1 };
    const ndr_status status = ndr_map_explain(here(), &desc, sizeof text, text, NULL);
    return status == NDR_OK ? ndr_map_reduce_explain(here(), &sum_desc, sizeof text, text, NULL) : status;
}

/* ---- scenes ---- */

/* ---- steps: groups, of one rank, which has no thread of its own ---- */

static ndr_status create_group(void)
{
    ndr_context *const contexts[] = { here() };
    return ndr_group_create(&(ndr_group_desc){ .contexts = contexts, .context_count = 1 }, &w.group);
}

static ndr_status create_group_of_devices(void)
{
    return ndr_group_create(&(ndr_group_desc){ .part_count = is_halved ? 2 : 0 }, &w.group);
}

/* From now on it gets arrays in chunks. */
static ndr_status stop_sharing(void)
{
    w.group->ranks[0].device.shares_host_memory = false;
    return NDR_OK;
}

static ndr_status ask_group(void)
{
    const bool has_all = ndr_group_size(w.group) == 1 && ndr_group_context(w.group, 0) && ndr_group_queue(w.group, 0);
    return has_all ? NDR_OK : NDR_BAD_ARGUMENT;
}

static ndr_status do_nothing(size_t rank, ndr_queue *line, size_t first, size_t count, void *user)
{
    return rank == 0 && line && first == 0 && count == 7 ? NDR_OK : NDR_BAD_ARGUMENT;
}
static ndr_status each_of_group(void) { return ndr_group_each(w.group, 7, do_nothing, NULL); }

static float factors[2][4] = { { 1, 2, 3, 4 }, { 1, 0, 0, 1 } }, product_of_group[4];
static ndr_status multiply_by_group(void)
{
    return ndr_group_matmul(w.group, &(ndr_group_matmul_desc){ .dtype = NDR_DTYPE_F32, .m = 2, .n = 2, .k = 2,
                                                               .a = factors[0], .b = factors[1],
                                                               .c = product_of_group });
}

enum { LONG_COUNT = 70000 }; /* two chunks */
static int long_input[LONG_COUNT], long_output[LONG_COUNT];
static ndr_status sum_by_group(void)
{
    return ndr_group_reduce(w.group, &(ndr_group_reduce_desc){ .dtype = NDR_DTYPE_I32, .op = NDR_OP_SUM,
                                                               .input = long_input, .count = LONG_COUNT,
                                                               .output = long_output });
}

static ndr_status map_by_group(void)
{
    const ndr_group_array array = { "x", NDR_DTYPE_I32, NULL, long_input };
    return ndr_group_map(w.group, &(ndr_group_map_desc){ .statement = "x = 1", .arrays = &array, .array_count = 1,
                                                         .count = LONG_COUNT });
}

static ndr_status scan_by_group(void)
{
    return ndr_group_scan(w.group, &(ndr_group_scan_desc){ .dtype = NDR_DTYPE_I32, .op = NDR_OP_SUM,
                                                           .input = long_input, .count = LONG_COUNT,
                                                           .output = long_output });
}

static ndr_status expect_of_group(void)
{
    const bool is_right = memcmp(product_of_group, factors[0], sizeof product_of_group) == 0
                          && long_output[0] == 1 && long_output[LONG_COUNT - 1] == LONG_COUNT;
    return is_right ? NDR_OK : NDR_BAD_ARGUMENT;
}

typedef struct scene {
    const char *name;
    step *steps[MAX_STEPS];
} scene;

static const scene opening = { "opening",
                               { list_devices, create_context, get_device, get_cache, get_report, get_quirks, create_queue, create_x, wrap_context, wrap_queue,
                                 wrap_buffer, flush, finish, take_time } };

static const scene halves = {
    "halves", { create_part, create_queue, create_x, write_x, read_x, expect_3, wrap_context, wrap_queue }
};
static const scene small_parts = { "small parts",
                                   { create_part_of_one_unit, create_queue, create_x, write_x, read_x, expect_3 } };

static const scene transfers = { "transfers",
                                 { create_queue, create_x, create_y, write_x, read_x, expect_3, copy_x_to_y, query, wait,
                                   read_y, expect_3, fill_y, measure, read_y, expect_8, write_without_waiting, wait_within,
                                   read_without_waiting, wait, expect_3, mark, wait, flush, finish } };

static const scene between_contexts = { "between contexts",
                               { create_context, create_queue, create_x, write_x, create_other, create_other_queue, create_other_x,
                                 pass_x_small, read_other_x, expect_3, pass_x_mapped, read_other_x, expect_3, pass_x_in_pieces, read_other_x, expect_3,
                                 pass_x_later, wait, read_other_x, expect_3 } };
static const scene mappings = { "mappings",
                                { create_queue, create_pinned, write_x, map_x, unmap_x, create_over, map_over, unmap_over,
                                  create_view, map_view, unmap_view, read_x, expect_3, map_view, map_x_to_read } };

static const scene rectangles = { "rectangles",
                                  { create_queue, create_x, create_y, write_left, write_right_without_waiting, wait,
                                    write_to_the_end_without_waiting, wait, copy_left, wait, read_left,
                                    read_right_without_waiting, wait, read_to_the_end, expect_3 } };

static const scene images = { "images",
                              { create_queue, list_formats, create_picture, create_other_picture, create_sampler,
                                write_picture, read_picture, expect_3, fill_picture, wait, read_picture, expect_8,
                                copy_picture, wait, read_picture, expect_3, write_picture_without_waiting, wait,
                                read_picture_without_waiting, wait, expect_3, get_put_picture, launch_put_picture,
                                read_picture, expect_5, map_picture, unmap_picture, map_picture,
                                unmap_picture_with_event, wait, wrap_picture, wrap_sampler,
                                copy_to_wrapped, wait, read_picture, expect_3, map_picture } };

static const scene sharing = { "sharing",
                               { create_queue, create_coarse, create_any, map_coarse, unmap_coarse, wait, prefetch, wait,
                                 write_coarse, read_coarse, expect_3, get_put, launch_put_shared, read_coarse, expect_8,
                                 launch_put_reaching, wait, copy_shared, wait, read_coarse, expect_5,
                                 launch_put_shared, create_with_address, ask_address, launch_put_reaching_buffer,
                                 read_coarse, expect_5 } };

static const scene launches = { "launches",
                                { create_queue, create_x, get_put, ask_kernel, ask_local, launch_put, read_x,
                                  expect_3, launch_put_with_event, measure, read_x, expect_5, launch_nothing, wait, get_put_pair,
                                  launch_split, wait, read_x, expect_8, launch_split, query, finish, get_times, launch_put_of_desc,
                                  read_x, expect_5 } };

static const scene preparing = { "preparing",
                                 { create_queue, create_x, get_put_pair, prepare_split, run_prepared, wait, read_x,
                                   set_prepared, run_prepared, wait, read_x, expect_8 } };
static const scene ordering = { "ordering",
                                { create_queue, create_x, create_y, get_put, create_gate, launch_after_gate, copy_after_gate,
                                  complete_gate, wait_any, finish_within, read_y, expect_3, drop_gate, create_gate,
                                  add_barrier, complete_gate, wait_all, drop_gate, map_x, create_gate, unmap_after_gate,
                                  complete_gate, wait_all, read_x, expect_3 } };

/* Without memory or the state of an event, another sentence is reported: these are not refused here. */
static const scene failing = { "failing",
                               { create_queue, create_x, get_put, create_gate, launch_after_gate, fail_gate,
                                 finish_lost } };

static const scene tasking = { "tasking", { create_queue, add_task, add_callback, wait, finish, expect_both } };

static const scene checking = { "checking",
                                { create_checked, create_queue, create_x, write_x, read_x, expect_3, create_y,
                                  copy_x_to_y, wait, get_put, launch_put, launch_put_with_event, wait,
                                  read_x, expect_5 } };

static const scene building = { "building",
                                { wrap_device, create_queue, create_x, get_put, launch_put, read_x, expect_3,
                                  adopt, launch_put_with_event, wait, read_x, expect_5, get_put_pair, ask_kernel, ask_log,
                                  launch_split, wait, read_x, expect_8, get_from_file } };

static const scene linking = { "linking",
                               { wrap_device, create_queue, create_x, get_linked, launch_put, read_x, expect_3,
                                 get_from_binary, get_from_spirv } };

static const scene describing = { "describing", { get_put, get_all, ask_parameter, ask_binary } };
static const scene outlining = { "outlining", { read_outline, expect_outline } };

static const scene wrong_builds = { "wrong builds", { wrap_device, get_missing, get_wrong, get_wrong } };

static const scene sub_groups = { "sub-groups",
                                  { wrap_device, create_queue, create_x, get_put_sub_group, ask_sub_groups,
                                    launch_sub_groups, read_x,
                                    expect_16 } };

static const scene reducing = { "reducing", { create_queue, create_x, write_x, sum, wait, read_x, expect_sum } };

/* A launch that one chunk suffices for, and two that share the queue's memory. */
static const scene adding_up = { "adding up",
                                 { create_loose, create_x, write_x, create_y, get_add_up, add_up_few, wait, read_y,
                                   expect_few, add_up_many, wait, add_up_many, wait, read_y, expect_many,
                                   prepare_add_up_many, run_prepared, wait, set_reducer, run_prepared, wait, read_y,
                                   expect_many } };

static const scene multiplying = { "multiplying", { create_queue, create_x, multiply, wait, read_x, expect_product } };

static const scene scanning = { "scanning",
                                { create_queue, create_x, write_x, scan_threes, wait, read_x, expect_scan } };

static const scene scanning_columns = { "scanning_columns",
                                        { create_queue, create_x, scan_columns, wait, read_x, expect_scanned_columns } };
static const scene scanning_truth = { "scanning_truth",
                                      { create_queue, create_x, scan_truth, wait, read_x, expect_truth } };
static const scene selecting = { "selecting",
                                 { create_queue, create_x, create_y, select_threes, wait, read_y, expect_selected } };

static const scene merge_sorting = {
    "merge_sorting", { create_queue, create_x, write_x, scan_threes, wait, merge_sort_ints, wait, read_x, expect_sorted }
};
static const scene merging = { "merging", { create_queue, create_x, write_x, merge_ints, wait, read_x, expect_3 } };
static const scene sorting = {
    "sorting", { create_queue, create_x, write_x, scan_threes, wait, sort_ints, wait, read_x, expect_sorted }
};
static const scene finding = {
    "finding",
    { create_queue, create_x, create_y, write_x, scan_threes, wait, find_largest, wait, read_y, expect_largest }
};
static const scene finding_many = { "finding_many",
                                    { create_queue, create_y, find_first_threes, wait, read_y, expect_3 } };
static const scene sorting_segments = {
    "sorting_segments",
    { create_queue, create_x, write_x, scan_threes, wait, sort_halves, wait, read_x, expect_sorted_halves }
};

static const scene counting = { "counting",
                                { create_queue, create_x, write_x, count_threes, wait, read_x, expect_counts } };

static const scene drawing = { "drawing",
                               { create_queue, create_x, write_x, draw_dice, wait, read_x, expect_dice } };

static const scene transposing = { "transposing",
                                   { create_queue, create_x, write_x, transpose_threes, wait, read_x, expect_bytes } };
static const scene gathering = { "gathering",
                                 { create_queue, create_x, write_x, gather_zeros, wait, read_x, expect_zeros } };
static const scene scattering = { "scattering",
                                  { create_queue, create_x, write_x, scatter_a_byte, wait, read_x, expect_a_byte } };

static const scene mapping = { "mapping", { create_queue, create_x, map_text, wait, read_x, expect_mapped } };
static const scene reducing_texts = { "reducing texts",
                                      { create_queue, create_x, write_x, sum_text, wait, read_x, expect_sum } };

static const scene grouping = { "grouping",
                                { create_group, ask_group, each_of_group, multiply_by_group, map_by_group, sum_by_group,
                                  scan_by_group, expect_of_group, stop_sharing, multiply_by_group, map_by_group,
                                  sum_by_group, scan_by_group, expect_of_group } };
static const scene opening_groups = { "opening groups", { create_group_of_devices } };
static const scene tuning = { "tuning", { tune, explain_sum, explain_product, explain_counts, explain_others, explain_texts, explain_dice, explain_transpose, explain_gathers, explain_merges } };

/* ---- one run ---- */

static int end_scene(void **state)
{
    ndr_event_destroy(w.gate);
    ndr_event_destroy(w.event);
    ndr_prepared_destroy(w.prepared);
    ndr_outline_destroy(w.outline);
    ndr_buffer_destroy(w.x); /* it may be mapped */
    ndr_buffer_destroy(w.y);
    ndr_buffer_destroy(w.over);
    ndr_buffer_destroy(w.view); /* the last of x's memory */
    ndr_group_destroy(w.group);
    ndr_buffer_destroy(w.wrapped_x);
    ndr_image_destroy(w.picture);
    ndr_image_destroy(w.other_picture);
    ndr_image_destroy(w.wrapped_picture);
    ndr_sampler_destroy(w.sampler);
    ndr_sampler_destroy(w.wrapped_sampler);
    ndr_shared_destroy(w.coarse);
    ndr_shared_destroy(w.other_shared);
    ndr_queue_destroy(w.line);
    ndr_queue_destroy(w.wrapped_line);
    ndr_context_destroy(w.made);
    ndr_context_destroy(w.wrapped);
    ndr_divisions_forget();
    memset(&w, 0, sizeof w);
    assert_refused(NDR_BAD_ARGUMENT, ndr_queue_flush(NULL), "queue is NULL"); /* a short sentence needs no block */
    return 0;
}

/* The call that is refused, for messages. */
typedef struct refusal {
    const scene *scene;
    call kind;
    size_t passing;
    cl_int code;
} refusal;

static bool is_made; /* whether the last scene that was played made the refused call */

static void fail_at(const refusal *r, size_t at, const char *what)
{
    fail_msg("%s, step %zu: %s %zu refused with %d: %s\n  the sentence: %s", r->scene->name, at, call_names[r->kind],
             r->passing, (int)r->code, what, ndr_last_error());
}

/* Check that the sentence names the failed call and its code. */
static void check_sentence(const refusal *r, size_t at, ndr_status status)
{
    char code[32];
    snprintf(code, sizeof code, "(%d)", (int)r->code);
    const bool has_lost_log = strncmp(ndr_last_build_log(), "(no memory", 10) == 0;
    const bool has_no_log = status == NDR_BUILD_FAILED && (has_lost_log || strstr(ndr_last_error(), "\n(no "));
    const bool has_no_list = status == NDR_NOT_FOUND && strstr(ndr_last_error(), "no kernel called \"nobody\"");
    if (r->kind == CALL_clSVMAlloc) { /* it tells no code */
        if (status != NDR_OUT_OF_DEVICE_MEMORY || !strstr(ndr_last_error(), "clSVMAlloc")) fail_at(r, at, "not named");
        return;
    }
    if (r->kind == CALL_clGetExtensionFunctionAddressForPlatform) {
        if (!strstr(ndr_last_error(), call_names[r->kind])) fail_at(r, at, "the call is not named");
        return;
    }
    if (r->kind == CALL_malloc) {
        if (status != NDR_OUT_OF_HOST_MEMORY && !has_no_log && !has_no_list) fail_at(r, at, ndr_status_name(status));
        if (!has_no_list && !has_lost_log && !strstr(ndr_last_error(), "memory")) fail_at(r, at, "memory is not named");
        return;
    }
    if (!strstr(ndr_last_error(), call_names[r->kind])) fail_at(r, at, "the call is not named");
    if (!strstr(ndr_last_error(), code) || !strstr(ndr_last_error(), ndr_cl_error_name(r->code)))
        fail_at(r, at, "the code is not named");
    if (has_no_log || has_no_list) return; /* the error to report is the driver's */
    if (ndr_last_cl_error() != r->code) fail_at(r, at, "ndr_last_cl_error() is a different code");
    if (status == NDR_BUILD_FAILED || (status < NDR_NO_DRIVER && status != NDR_LIMIT_EXCEEDED))
        fail_at(r, at, "the status is for mistakes of the caller");
}

/* The context keeps some. */
static void release_failed_events(void)
{
    const unsigned usual = ndr_max_failed_events;
    if (!context) return;
    ndr_max_failed_events = 0;
    ndr_failed_trim(context);
    ndr_max_failed_events = usual;
}

/* Play the scene. Returns whether a step reported the refusal. If libndr does not need the call, no step does. A call
 * that depends on time, such as that for a list of work that has not ended, may not be made at all this time. */
static bool play(const refusal *r)
{
    bool has_failed = false;
    memset(got, 0, sizeof got);
    for (size_t at = 0; at < MAX_STEPS && r->scene->steps[at]; ++at) {
        const world before = w;
        const ndr_status status = r->scene->steps[at]();
        if (status == NDR_OK) continue;
        if (has_failed || !refuse_none()) fail_at(r, at, "failed of itself");
        has_failed = true;
        check_sentence(r, at, status);
        if (memcmp(&w, &before, sizeof w) != 0) fail_at(r, at, "an output has changed");
        if (r->scene->steps[at]() != NDR_OK) fail_at(r, at, "fails again");
    }
    is_made = refuse_none() || has_failed;
    end_scene(NULL);
    while (atomic_load(&threads_running) > 0) ndr_thread_yield();
    release_failed_events();
    return has_failed;
}

/* ---- all of them ---- */

static const cl_int codes[] = { CL_OUT_OF_RESOURCES, CL_OUT_OF_HOST_MEMORY, CL_MEM_OBJECT_ALLOCATION_FAILURE,
                                CL_INVALID_OPERATION, -9999 };

static bool goes_through_all;
static unsigned seed;
static size_t stride, next; /* one of `stride` refusals is tried; the first `next` are left out */
static size_t tried, unnoticed[CALLS];

/* Polling an event before waiting for it, and retaining it for that; unmapping a buffer that is destroyed while mapped.
 * A hint about a wrong build is left out for want of memory; get_wrong() asks for the log.
 * A driver need not support the query of the sub-group size that a kernel was built with. */
static bool can_do_without(const refusal *r)
{
    const bool waits = r->kind == CALL_clFinish || r->kind == CALL_clWaitForEvents
                       || r->kind == CALL_clEnqueueMarkerWithWaitList;
    if (waits && r->scene == &failing) return true; /* the cause is reported instead */
    if (r->kind == CALL_clFinish && r->scene == &sharing) return true; /* before an allocation is freed */
    if (r->kind == CALL_clFlush && r->scene == &ordering) return true; /* needless if the work has ended already */
    if (r->kind == CALL_malloc && r->scene == &wrong_builds) return true;
    if (r->kind == CALL_clGetKernelSubGroupInfo) return r->code == CL_INVALID_OPERATION;
    return r->kind == CALL_clGetEventInfo || r->kind == CALL_clRetainEvent || r->kind == CALL_clEnqueueUnmapMemObject;
}

/* If there are several drivers, the list leaves out one that fails, and a device of another may be taken. */
static bool is_of_another_driver(call kind)
{
    cl_uint drivers = 0;
    if (kind != CALL_clGetDeviceIDs && kind != CALL_clGetDeviceInfo && kind != CALL_clGetPlatformInfo) return false;
    assert_int_equal(clGetPlatformIDs(0, NULL, &drivers), CL_SUCCESS);
    return drivers > 1;
}

static size_t codes_of(call kind) { return kind == CALL_malloc ? 1 : COUNT_OF(codes); }

/* The live objects. A checked context's handles are left out, because they are kept after they are destroyed. */
static alive alive_of(const scene *s)
{
    alive is = now;
    if (s == &checking || context->checker) is.blocks = 0;
    return is;
}

static double now_s(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec + 1e-9 * (double)at.tv_nsec;
}

static void try_one(refusal r)
{
    const alive before = alive_of(r.scene);
    refuse(r.kind, r.passing, r.code);
    ++tried;
    if (!play(&r) && is_made) {
        if (!can_do_without(&r) && !is_of_another_driver(r.kind)) fail_at(&r, MAX_STEPS, "no step has failed");
        ++unnoticed[r.kind];
    }
    const alive after = alive_of(r.scene);
    if (memcmp(&after, &before, sizeof after) != 0)
        fail_msg("%s: %s %zu refused with %d: left behind %ld contexts, %ld queues, %ld buffers, %ld shared, %ld samplers, %ld programs, %ld "
                 "kernels, %ld events, %ld open gates, %ld mappings, %ld blocks",
                 r.scene->name, call_names[r.kind], r.passing, (int)r.code, after.contexts - before.contexts,
                 after.queues - before.queues, after.buffers - before.buffers, after.shared - before.shared, after.samplers - before.samplers, after.programs - before.programs,
                 after.kernels - before.kernels, after.events - before.events, after.gates - before.gates, after.mappings - before.mappings,
                 after.blocks - before.blocks);
}

static void try_all_of(const scene *s, call kind, size_t count)
{
    for (size_t passing = 0; passing < count; ++passing)
        for (size_t c = 0; c < codes_of(kind); ++c) {
            if (next-- > 0) continue;
            next = stride - 1;
            try_one((refusal){ s, kind, passing, codes[c] });
        }
}

/* A play with a refusal is assumed to take as long as one without. */
static void choose_stride(const size_t *counted, double play_s)
{
    enum { SCENE_S = 1, FEWEST = 10 };
    size_t all = 0;
    for (call kind = NO_CALL + 1; kind < CALLS; ++kind) all += counted[kind] * codes_of(kind);
    const double affordable = SCENE_S / play_s;
    const bool is_all = goes_through_all || affordable > (double)all;
    stride = is_all ? 1 : all / (affordable > FEWEST ? (size_t)affordable : FEWEST) + 1;
    next = seed % stride;
}

/* Play twice without a refusal: first to create what the context keeps, then to count the calls. */
static void try_scene(const scene *s)
{
    const refusal none = { s, NO_CALL, 0, CL_SUCCESS };
    assert_false(play(&none));
    const alive before = alive_of(s);
    memset(calls, 0, sizeof calls);
    const double began = now_s();
    assert_false(play(&none));
    const alive after = alive_of(s);
    assert_memory_equal(&after, &before, sizeof after);
    size_t counted[CALLS];
    memcpy(counted, calls, sizeof counted);
    if (counted[CALL_clGetEventInfo] > MAX_POLLS) counted[CALL_clGetEventInfo] = MAX_POLLS; /* polled until done */
    choose_stride(counted, now_s() - began);
    const size_t tried_before = tried;
    if (s == &failing) counted[CALL_malloc] = counted[CALL_clGetEventInfo] = 0;
    for (call kind = NO_CALL + 1; kind < CALLS; ++kind) try_all_of(s, kind, counted[kind]);
    print_message("%s: %zu refusals, one of %zu\n", s->name, tried - tried_before, stride);
}

/* ---- tests ---- */

static void test_failures__of_opening_a_device(void **state)
{
    try_scene(&opening);
    is_halved = can_be_halved();
    try_scene(&halves);
    try_scene(&small_parts);
    try_scene(&opening_groups);
}

static bool has_coarse(void)
{
    ndr_shared_info info;
    assert_ok(ndr_shared_get_info(context, NDR_SHARED_COARSE, &info));
    return info.is_available;
}

static bool has_images(void)
{
    cl_bool has = CL_FALSE;
    assert_int_equal(clGetDeviceInfo(context->device, CL_DEVICE_IMAGE_SUPPORT, sizeof has, &has, NULL), CL_SUCCESS);
    return has;
}

/* With the device's way of waiting, then with the other one. */
static void test_failures__of_transfers_and_mappings(void **state)
{
    for (int turn = 0; turn < 2; ++turn) {
        try_scene(&transfers);
        try_scene(&rectangles);
        try_scene(&between_contexts);
        if (has_images()) try_scene(&images);
        if (!context->checker) try_scene(&mappings); /* a checked context reads the buffer after unmapping */
        context->caps.wait_sleeps = !context->caps.wait_sleeps;
    }
}

static void test_failures__of_shared_memory(void **state)
{
    skip_without(has_coarse(), "the device has no coarse-grained memory");
    try_scene(&sharing);
}

static void test_failures__of_launches(void **state)
{
    try_scene(&launches);
    try_scene(&preparing);
    try_scene(&adding_up);
}

static void test_failures__of_work_in_order(void **state)
{
    if (context->checker) skip(); /* a checked launch would wait for the gate */
    try_scene(&ordering);
    try_scene(&failing);
    try_scene(&tasking);
}

static void test_failures__of_building(void **state)
{
    try_scene(&building);
    try_scene(&outlining);
    try_scene(&sub_groups);
    try_scene(&wrong_builds);
    try_scene(&describing);
    try_scene(&checking);
}

static void test_failures__of_linking(void **state)
{
    skip_for_fault(driver_links_few_texts(), "most texts are not linked");
    try_scene(&linking);
}

static void try_variants(const ndr_operation *operation, const scene *of)
{
    for (size_t i = 0; i < operation->variant_count; ++i) {
        if (!takes_variant(operation, operation->variants[i])) continue;
        force(operation, operation->variants[i]->name);
        try_scene(of);
    }
    force(operation, NULL);
}

static void test_failures__of_operations(void **state)
{
    static const ndr_reduce_method methods[] = { NDR_REDUCE_TREE, NDR_REDUCE_ATOMIC, NDR_REDUCE_RECURSIVE };
    for (size_t i = 0; i < ndr_reduce_operation.variant_count; ++i)
        for (size_t m = 0; m < sizeof methods / sizeof methods[0]; ++m) {
            const ndr_op_variant *variant = ndr_reduce_operation.variants[i];
            if (ndr_op_cannot(variant, &(ndr_reduce_request){ .method = methods[m] })) continue;
            if (!takes_variant(&ndr_reduce_operation, variant)) continue;
            force(&ndr_reduce_operation, variant->name);
            method = methods[m];
            try_scene(&reducing);
        }
    force(&ndr_reduce_operation, NULL);
    try_variants(&ndr_matmul_operation, &multiplying);
    try_variants(&ndr_histogram_operation, &counting);
    try_variants(&ndr_random_operation, &drawing);
    try_variants(&ndr_array_copy_operation, &transposing);
    try_variants(&ndr_gather_operation, &gathering);
    try_variants(&ndr_scatter_operation, &scattering);
    try_variants(&ndr_scan_operation, &scanning);
    try_variants(&ndr_array_scan_operation, &scanning_columns);
    try_scene(&scanning_truth);
    try_variants(&ndr_select_operation, &selecting);
    try_variants(&ndr_sort_operation, &sorting);
    try_variants(&ndr_sort_segments_operation, &sorting_segments);
    try_variants(&ndr_top_k_operation, &finding);
    try_variants(&ndr_top_k_select_operation, &finding_many);
    try_variants(&ndr_merge_operation, &merging);
    try_variants(&ndr_merge_sort_operation, &merge_sorting);
    try_scene(&tuning);
    try_scene(&mapping);
    try_scene(&grouping);
    try_scene(&reducing_texts);
}

/* ---- what they share ---- */

static int open_and_fill(void **state)
{
    if (open_device(state) != 0) return -1;
    static int ints[COUNT];
    static float twos[M * M];
    for (size_t i = 0; i < COUNT; ++i) ints[i] = 3;
    for (size_t i = 0; i < M * M; ++i) twos[i] = 2;
    for (size_t i = 0; i < INTS; ++i) host[i] = 3;
    threes = buffer_of(sizeof ints, ints);
    floats = buffer_of(sizeof twos, twos);
    write_file("failures.clh", "#define ZERO 0\n");
    write_file("failures.cl", plain_kernels);
    const char *set = getenv("NDR_TEST_SEED"), *is_long = getenv("NDR_TEST_LONG");
    seed = set ? (unsigned)atoi(set) : (unsigned)time(NULL);
    goes_through_all = is_long && *is_long;
    print_message("NDR_TEST_SEED=%u\n", seed);
    return 0;
}

static int say_and_close(void **state)
{
    for (call kind = NO_CALL + 1; kind < CALLS; ++kind)
        if (unnoticed[kind]) print_message("%s: %zu refusals that did no harm\n", call_names[kind], unnoticed[kind]);
    print_message("%zu refusals\n", tried);
    ndr_buffer_destroy(threes);
    ndr_buffer_destroy(floats);
    return close_device(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_failures__of_opening_a_device, end_scene),
        cmocka_unit_test_teardown(test_failures__of_transfers_and_mappings, end_scene),
        cmocka_unit_test_teardown(test_failures__of_shared_memory, end_scene),
        cmocka_unit_test_teardown(test_failures__of_launches, end_scene),
        cmocka_unit_test_teardown(test_failures__of_work_in_order, end_scene),
        cmocka_unit_test_teardown(test_failures__of_building, end_scene),
        cmocka_unit_test_teardown(test_failures__of_linking, end_scene),
        cmocka_unit_test_teardown(test_failures__of_operations, end_scene),
    };
    return cmocka_run_group_tests(tests, open_and_fill, say_and_close);
}
