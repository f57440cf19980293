/* quirks.c - the table of drivers' faults. docs/appendix/drivers.md is made from it; other files name a row by its id.
 *
 * A row without a switch is avoided by how the code is written, at no cost where the fault is absent, or not at all. */
#include "device/context.h"
#include "device/quirks.h"

#include <stdio.h>

/* ---- signs ---- */

static bool is_always(const ndr_caps *caps) { return caps; }

static bool runs_commands_in_waits(const ndr_caps *caps) { return caps->wait_helps; }

static bool has_own_memory(const ndr_caps *caps) { return !caps->info.shares_host_memory; }

static bool is_pocl(const ndr_caps *caps)
{
    return ndr_text_contains_ignoring_case(caps->info.platform, "Portable Computing Language");
}

static bool is_pocl_on_cpu(const ndr_caps *caps) { return is_pocl(caps) && caps->info.type == NDR_DEVICE_TYPE_CPU; }

/* Mesa's llvmpipe. */
static bool is_rusticl_on_cpu(const ndr_caps *caps)
{
    return ndr_text_contains_ignoring_case(caps->info.platform, "rusticl") && caps->info.type == NDR_DEVICE_TYPE_CPU;
}

/* A probe for the first of these would hold work back, and then clFlush() of a simulator does not return. */
static const ndr_quirk_sign pocl = { "the platform's name", is_pocl };
static const ndr_quirk_sign pocl_on_cpu = { "the platform's name, and the device is a CPU", is_pocl_on_cpu };
static const ndr_quirk_sign rusticl_on_cpu = { "the platform's name, and the device is a CPU", is_rusticl_on_cpu };
static const ndr_quirk_sign helping_wait = { "`cl_intel_exec_by_local_thread`", runs_commands_in_waits };
static const ndr_quirk_sign own_memory = { "the device has its own memory", has_own_memory };
static const ndr_quirk_sign always = { "always", is_always };
static const ndr_quirk_sign in_the_code = { "no switch", NULL }, not_avoided = { "not avoided", NULL };

/* ---- rows ---- */

/* clang-format off */
const ndr_quirk_row ndr_quirk_rows[] = {
    /* queues */
    [NDR_QUIRK_MARK_WAITS_FOR_ALL] = { "mark_waits_for_all", "PoCL 3.1, 5.0, 7.0",
      "In an out-of-order queue a marker with a wait list also waits for all earlier commands, and fails if one of "
      "them does.", &pocl,
      "A mark with a wait list fills an unused byte." },
    [NDR_QUIRK_WAIT_RUNS_COMMANDS] = { "wait_runs_commands", "Intel CPU 2026.2",
      "A waiting thread runs commands of all queues of the process. Inside a command of an out-of-order queue it may "
      "run another thread's wait for that queue, which cannot end before the command does: both hang.", &helping_wait,
      "Once the process has an out-of-order queue there, one thread at a time waits in the driver. The others poll." },
    [NDR_QUIRK_ENQUEUE_RACES] = { "enqueue_races", "Intel CPU 2026.2",
      "The driver crashes if a thread calls `clFinish()` for an out-of-order queue, or enqueues a marker or a barrier "
      "there, while another thread enqueues there.", &helping_wait,
      "Once the process has such a queue, threads enqueue in turn, and a wait for a marker replaces `clFinish()`." },
    [NDR_QUIRK_FINISH_LOCKS] = { "finish_locks", "Mesa 22.3",
      "`clFinish()` holds a lock that another thread needs to wait for an event of the queue.", &always,
      "Once a context has had a user event, a wait for a marker replaces `clFinish()`." },
    [NDR_QUIRK_MARK_MISSES_WORK] = { "mark_misses_work", "Oclgrind 21.10",
      "In an out-of-order queue a marker without a wait list does not wait for all earlier commands.", &always,
      "After the marker, `ndr_queue_finish()` also calls `clFinish()`." },

    /* failures */
    [NDR_QUIRK_FAIL_ENDS_TWICE] = { "fail_ends_twice", "PoCL 3.1, 5.0, 7.0",
      "A command that waits for two events ends twice if one of them fails while the other ends: the process crashes.",
      &pocl,
      "libndr fails a user event only when the driver has released the other event. It waits for that at most "
      "20 ms after the end of the work." },
    [NDR_QUIRK_FAILED_EVENT_USED] = { "failed_event_used", "PoCL 3.1",
      "The driver accesses the event of a failed command after its state has changed, and aborts if it has been "
      "released.",
      &always,
      "The context keeps such events until 1024 more commands have failed." },
    [NDR_QUIRK_FAILED_ORDER_LOST] = { "failed_order_lost", "PoCL 3.1, 5.0, 7.0",
      "In an in-order queue, if a command fails before the one ahead of it has run, commands enqueued afterwards "
      "overtake that one.",
      &pocl,
      "The wait list of the later command names the earlier one." },

    /* memory */
    [NDR_QUIRK_REMAP_IS_OLD] = { "remap_is_old", "NVIDIA 580",
      "A mapping shows old bytes if an unmapping from the same first byte, of another size, has not ended when the "
      "mapping is enqueued, although the mapping waits for it.", &own_memory,
      "Before memory is mapped again, the host waits for what the mapping waits for." },
    [NDR_QUIRK_SAME_ADDRESS_UNMAP] = { "same_address_unmap", "PoCL 3.1, 5.0, 7.0",
      "An unmapping may end another unfinished mapping at the same address, and free memory that the mapping still "
      "uses.", &always,
      "The thread that waits for the other mapping unmaps both." },
    [NDR_QUIRK_FILL_31_BITS] = { "fill_31_bits", "NVIDIA 580",
      "A fill counts patterns from the start of the buffer in 31 bits; past that it writes elsewhere or breaks the "
      "queue (one byte: 2 GiB, four: 8 GiB).", &always,
      "Such fills use patterns of 128 bytes, and copies for the rest." },
    [NDR_QUIRK_LAST_PITCH_REFUSED] = { "last_pitch_refused", "NVIDIA 580",
      "A rectangle is refused if its last row or plane, counted with its whole pitch, passes the end of the buffer.",
      &always,
      "The last row or plane has a command of its own." },
    [NDR_QUIRK_SUB_BUFFER_RELEASED] = { "sub_buffer_released", "PoCL 7.0",
      "Each command that uses a buffer walks its sub-buffers without a lock, and crashes if one is released meanwhile.",
      &always,
      "The latest 256 sub-buffers that no view uses are kept until the buffer is destroyed." },
    [NDR_QUIRK_SHARED_THEN_BUFFER] = { "shared_then_buffer", "NVIDIA 580",
      "If an argument of an OpenCL kernel was a pointer into shared memory and is then set to a buffer, each launch "
      "is refused (`CL_INVALID_KERNEL_ARGS`).", &always,
      "A new OpenCL kernel is made. A prepared launch refuses such a change." },

    /* compilers */
    [NDR_QUIRK_ONE_VALUE_FOR_ALL] = { "one_value_for_all", "PoCL 3.1, 7.0",
      "After the next barrier all items share one item's outcome of `m == 0 || x[i] == 1`, with an argument `m`: the "
      "compiler takes a block to be uniform if one path to it is.", &pocl_on_cpu,
      "`ndr_get_group()` and `ndr_get_sub_group()` contain a branch that depends on the item; the compiler's search "
      "for uniform blocks ends there." },
    [NDR_QUIRK_LOOPS_END_EARLY] = { "loops_end_early", "Mesa 22.3",
      "The loops of an item end, without an error, when they have run 65,535 times in all. Nested loops and loops "
      "after each other count together, and each later loop runs once.", &rusticl_on_cpu,
      "Operations divide long loops among more items or launches. Products that cannot be divided, and sorts with very "
      "long values, are refused. Give your own kernels more items, or launch them several times." },

    /* Without a switch: queues and failures */
    { "released_queue_hangs", "Intel CPU 2026.2",
      "One of the driver's threads hangs if an out-of-order queue is released when its work has just ended.",
      &not_avoided,
      "Keep such queues instead of making one for each task." },
    { "fail_while_enqueued", "PoCL 3.1, 5.0, 7.0",
      "A command never ends, or the process crashes, if an event of its wait list fails while it is enqueued.",
      &in_the_code,
      "A lock excludes one while the other runs." },
    { "unheld_failure_aborts", "PoCL 3.1",
      "The process aborts if a command fails whose event has no reference and that has others of its queue behind it.",
      &in_the_code,
      "A queue keeps the events of commands behind one with a wait list." },
    { "two_events_fail", "Intel CPU 2026.2",
      "The driver crashes if several events of one wait list fail.", &in_the_code,
      "An event is listed once, and pieces of a launch wait for each other. A wait list in which several events fail "
      "independently still crashes." },
    { "failure_without_cause", "Intel CPU 2026.2",
      "A command that waits for failed work does not run, but its event ends as complete.", &in_the_code,
      "libndr finds the first cause by the events that a command waits for." },
    { "callback_not_called", "PoCL 3.1, 5.0, 7.0, Mesa 22.3, NVIDIA 580",
      "The callback of an event is not called if the command fails, or, on PoCL 7.0, told that it is complete.",
      &in_the_code,
      "libndr reads the states of events instead." },
    { "callback_locked", "Mesa 22.3",
      "Callbacks of events run with the event's lock held: a query of its state hangs.", &in_the_code,
      "libndr reads the states of events instead." },
    { "many_markers_starve", "NVIDIA 580",
      "Enqueueing thousands of markers behind an unfinished user event, with other user events, takes minutes: a "
      "thread of the driver holds its lock most of the time.", &not_avoided,
      "Wait for one event of a kind instead of thousands." },

    /* memory */
    { "migrate_reads_late", "NVIDIA 580",
      "A migration of memory objects behind an event reads its list of memory objects after the call has returned.",
      &in_the_code,
      "libndr does not use the call. A program that does must keep the list until the command has ended." },
    { "older_sub_buffer_first", "NVIDIA 580",
      "The driver crashes if the older one of two overlapping sub-buffers that commands have used is released first.",
      &in_the_code,
      "A sub-buffer is kept while a newer one overlaps it." },
    { "indirect_list_refused", "Intel CPU 2026.2",
      "Each launch of a kernel that has `CL_KERNEL_EXEC_INFO_USM_PTRS_INTEL` is refused.", &in_the_code,
      "`CL_KERNEL_EXEC_INFO_INDIRECT_HOST_ACCESS_INTEL` and so on declare what a kernel reaches." },
    { "image_buffer_origin", "Mesa 22.3",
      "The origin of a transfer of an image over a buffer counts bytes instead of elements.", &in_the_code,
      "libndr transfers and maps the buffer instead." },
    { "no_memory_aborts", "PoCL 3.1, 5.0, 7.0, Oclgrind 21.10",
      "The process aborts at the first use of a buffer for which the host has no memory.", &not_avoided,
      "Leave the host some memory." },

    /* compilers: options and names */
    { "short_word_crashes", "Mesa 22.3",
      "A word of one character in build options, `-D N`, ends the process.", &in_the_code,
      "libndr passes `-DN`." },
    { "string_macro_crashes", "Mesa 22.3",
      "A string in build options, `-DNAME=\"a\"`, ends the process.", &not_avoided,
      "Define strings in the source." },
    { "kernel_renamed", "PoCL 3.1, 5.0, 7.0",
      "A kernel with the name of a built-in function, `dot`, is named `_cl_dot`.", &not_avoided,
      "Choose another name; the error of `ndr_kernel_get()` says so." },
    { "name_in_parentheses", "Intel CPU 2026.2",
      "A kernel's name in parentheses crashes the compiler, `kernel void (k)(...)`.", &not_avoided,
      "Leave out the parentheses." },
    { "no_parameters_refused", "NVIDIA 580",
      "The assembler refuses a kernel without parameters that has `reqd_work_group_size`.", &in_the_code,
      "libndr's probe kernels have a parameter. Give your kernels one." },
    { "required_size_256", "NVIDIA 580, Mesa 22.3",
      "`CL_KERNEL_WORK_GROUP_SIZE` is 256, or 32 on Mesa, for a kernel that requires more items.", &in_the_code,
      "libndr allows a required size whatever the driver reports." },
    { "variadic_refused", "NVIDIA 580",
      "Variadic macros are refused for `-cl-std=CL1.2`.", &not_avoided,
      "Build reducers with the default, OpenCL C 3.0." },
    { "offset_32_bits", "NVIDIA 580",
      "Global offsets, and `get_global_size()`, are kept in 32 bits, of which the highest is a sign, without an error.",
      &in_the_code,
      "A kernel with an item adds an offset past 31 bits itself, and has the size from its record." },
    { "no_kernel_names", "NVIDIA 580",
      "The query `CL_PROGRAM_KERNEL_NAMES` writes past its memory if the program has no kernels.", &in_the_code,
      "libndr queries the names only if there are kernels." },
    { "line_ignored", "NVIDIA 580, Oclgrind 21.10",
      "The compiler's messages ignore `#line`.", &in_the_code,
      "libndr finds the name and the line by the line that the compiler shows." },
    { "cl20_without_support", "Oclgrind 21.10",
      "`-cl-std=CL2.0` is accepted, but a kernel with its atomics cannot be made.", &in_the_code,
      "libndr builds for OpenCL C 1.2 or 3.0." },

    /* compilers: barriers and local memory */
    { "return_before_barrier", "PoCL 3.1, 7.0",
      "After a `return` of some items, or on 7.0 of whole groups, one item may decide a branch after a barrier for "
      "all: docs/wrong-results.md.", &not_avoided,
      "Kernels that libndr runs there have no `return` and no `if` around a barrier; `blocked`, for GPUs, has. "
      "`POCL_WORK_GROUP_METHOD=cbs` also avoids it on 7.0." },
    { "barrier_in_loop", "PoCL 3.1, 5.0, 7.0",
      "The time to compile barriers in loops grows exponentially: six loops take 1 s, eight 6 s, ten over 100 s.",
      &in_the_code,
      "Barriers of group functions are in straight-line code." },
    { "read_again", "PoCL 7.0",
      "A value that is read before a barrier and used after it may be read again after it.", &in_the_code,
      "Group functions read it through a volatile pointer. Do so in your kernels, too." },
    { "shared_local_array", "PoCL 3.1, 5.0, 7.0",
      "The driver's threads share a local array if a function that is not inlined has its address as a constant, which "
      "it has if each call passes the same array: results are wrong at random, or LLVM crashes.", &in_the_code,
      "Such functions are `always_inline`. Mark your own, too." },
    { "local_size_of_variable", "PoCL 3.1",
      "`get_local_size(n)` and `get_group_id(n)` may not link if `n` is not a constant: the launch aborts.",
      &in_the_code,
      "All three dimensions are queried; the compiler removes two." },
    { "all_ones_constant", "Intel CPU 2026.2, AVX-512",
      "The constant ~0 is encoded wrongly between two unsigned minima or maxima.", &in_the_code,
      "A volatile variable separates them in `atomic`." },
    { "last_of_loop", "Intel CPU 2026.2",
      "The compiler crashes or never ends if a loop computes f64 values and only the last one is used, as f32: "
      "`for (i = 0; i < n; ++i) last = sqrt(x[i]);`.", &not_avoided,
      "libndr's kernels have no such loop. In yours: `#pragma clang loop vectorize(disable)`." },
    { "loop_of_two", "PoCL 3.1, 5.0",
      "In a loop with a barrier, a loop from `get_local_id(0) % 2` on ends after one turn in the first item of a group "
      "of two, or never. On 3.1 the process aborts instead, also in groups of one item.", &not_avoided,
      "Launch groups of more items." },

    /* compilers: sub-groups */
    { "last_sub_group_full", "PoCL 5.0, 7.0",
      "The last sub-group reports the full size although it has fewer items, and the number of sub-groups is rounded "
      "down.", &in_the_code,
      "Both are limited by the items of the group." },
    { "shuffle_of_one", "PoCL 5.0",
      "Shuffles do not link in groups of one item.", &in_the_code,
      "libndr exchanges through local memory unless a driver has both shuffle extensions." },
    { "sub_group_barrier_of_group", "PoCL 5.0, 7.0",
      "A barrier of a sub-group is a barrier of the whole group.", &not_avoided,
      "Call sub-group functions in all items of the group." },

    /* simulators */
    { "vector_part_uninitialised", "Oclgrind 21.10",
      "`--uninitialized` reports parts of a vector, such as `v.lo`, without cause, or crashes.", &in_the_code,
      "Lanes are combined through an array." },
    { "atomic_write_uninitialised", "Oclgrind 21.10",
      "`--uninitialized` takes local memory that atomics or copies with a stride have written, and buffers that a "
      "command has filled, for uninitialised.",
      &not_avoided,
      "Write such memory once before." },
    { "inline_unoptimised", "Oclgrind 21.10",
      "With `-cl-opt-disable` it cannot run `always_inline` functions that return a struct.", &in_the_code,
      "They are only in builds that optimise." },
};
/* clang-format on */

const size_t ndr_quirk_row_count = NDR_COUNT_OF(ndr_quirk_rows);

/* ---- choosing ---- */

static bool is_id(const char *id, const char *word, size_t length)
{
    return strlen(id) == length && memcmp(id, word, length) == 0;
}

static ndr_status refuse(const char *word, size_t length)
{
    ndr_text ids = { 0 };
    for (size_t i = 0; i < NDR_QUIRK_COUNT; ++i) ndr_text_add(&ids, "%s%s", i ? ", " : "", ndr_quirk_rows[i].id);
    const ndr_status status = ndr_fail(NDR_BAD_ARGUMENT, "NDR_QUIRKS names \"%.*s\"; use + or - with one of %s",
                                       (int)length, word, ids.chars ? ids.chars : "the ids of docs/appendix/drivers.md");
    ndr_text_free(&ids);
    return status;
}

static ndr_status switch_one(const char *word, size_t length, uint64_t *quirks)
{
    size_t i = 0;
    if (length == 0) return NDR_OK;
    while (i < NDR_QUIRK_COUNT && !is_id(ndr_quirk_rows[i].id, word + 1, length - 1)) ++i;
    if (i == NDR_QUIRK_COUNT || (*word != '+' && *word != '-')) return refuse(word, length);
    if (*word == '+') *quirks |= NDR_QUIRK_BIT(i);
    else *quirks &= ~NDR_QUIRK_BIT(i);
    return NDR_OK;
}

ndr_status ndr_quirks_choose(const ndr_caps *caps, const char *words, uint64_t *quirks)
{
    uint64_t chosen = 0;
    for (size_t i = 0; i < NDR_QUIRK_COUNT; ++i)
        if (ndr_quirk_rows[i].sign->is_there(caps)) chosen |= NDR_QUIRK_BIT(i);
    for (const char *word = words ? words : ""; *word;) {
        const size_t length = strcspn(word, ",");
        NDR_TRY(switch_one(word, length, &chosen));
        word += length + (word[length] == ',');
    }
    *quirks = chosen;
    return NDR_OK;
}

/* ---- listing ---- */

ndr_status ndr_context_get_quirks_sized(const ndr_context *context, size_t capacity, ndr_quirk_info *quirks,
                                        size_t quirk_bytes, size_t *count)
{
    NDR_REQUIRE_SET_IN("ndr_context_get_quirks", context, count);
    NDR_REQUIRE(quirks || capacity == 0,
                "ndr_context_get_quirks: quirks is NULL, but capacity is %zu; pass an array of that many elements, or "
                "capacity 0",
                capacity);
    for (size_t i = 0; i < ndr_quirk_row_count && i < capacity; ++i) {
        const ndr_quirk_row *row = &ndr_quirk_rows[i];
        const bool is_on = i < NDR_QUIRK_COUNT && (context->caps.quirks & NDR_QUIRK_BIT(i));
        const ndr_quirk_info info = { row->id, row->seen, row->fault, row->instead, row->sign->text, is_on };
        ndr_info_write(&info, sizeof info, (char *)quirks + i * quirk_bytes, quirk_bytes);
    }
    *count = ndr_quirk_row_count;
    return NDR_OK;
}
