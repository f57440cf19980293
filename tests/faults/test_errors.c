/* test_errors.c - docs/appendix/errors.md: each mistake of its tables is made here, and the call's sentence must be the
 * page's. docs/errors.md has some of them.
 *
 * NDR_TEST_WRITE=1 writes the tables instead. Names like {device} replace what differs from machine to machine. */
#include "support.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "forcing.h"
#include "ndr/ndr_image.h"
#include "ndr/ndr_ops.h"
#include "ndr/ndr_shared.h"

#include "device/context.h"
#include "ops/matmul/matmul.h"
#include "ops/reduce/reduce.h"
#include "ops/scan/lines.h"
#include "ops/sort/sort.h"
#include "ops/sort/top_k.h"

#include "ndr/ndr_cl.h"
#include "program/explain.h"
#include "program/program.h"

#define SKIPPED ((ndr_status)-1) /* a row that this device or loader cannot reproduce */

static const char demo[] =
    "#include <ndr/nd_item.clh>\n"
    "typedef struct { int first, second; } pair;\n"
    "struct cell { int a, b, c, d; };\n"
    "kernel void scale(global float *x, float a, NDR_RANGE(1)) { x[ndr_global_id(NDR_ITEM(1), 0)] *= a; }\n"
    "#include <ndr/group.clh>\n"
    "kernel void smooth(global float *x, uint n, local float *t, NDR_ND_RANGE(1)) { x[0] = n; t[0] = x[0]; }\n"
    "kernel __attribute__((reqd_work_group_size(8, 4, 1))) void fixed(global float *x, NDR_ND_RANGE(2)) { x[0] = 1; }\n"
    "kernel void sumpair(global int *x, pair p, NDR_RANGE(1)) { x[0] = p.first + p.second; }\n"
    "kernel void plain(global float *x) { x[get_global_id(0)] = 1; }\n"
    "kernel void colours(global float *x, float3 a, NDR_RANGE(1)) { x[0] = a.y; }\n"
    "kernel void numbers(global int *x, int n) { x[0] = n; }\n"
    "kernel void cells(global int *x, local struct cell *a, NDR_ND_RANGE(1)) { a[0].d = x[0]; x[0] = a[0].d; }\n";

enum { FLOATS = 1000 };
static ndr_kernel *scale, *smooth, *fixed, *sumpair, *plain, *colours, *cells, *numbers;
static ndr_buffer *x, *y;

static int open_demo(void **state)
{
    struct {
        ndr_kernel **kernel;
        const char *name;
    } wanted[] = { { &scale, "scale" }, { &smooth, "smooth" },   { &fixed, "fixed" }, { &sumpair, "sumpair" },
                   { &plain, "plain" }, { &colours, "colours" }, { &cells, "cells" }, { &numbers, "numbers" } };
    if (open_device(state) != 0) return -1;
    write_file("demo.cl", demo);
    x = buffer_of(FLOATS * sizeof(float), NULL);
    y = buffer_of(FLOATS * sizeof(float), NULL);
    for (size_t i = 0; i < COUNT_OF(wanted); ++i)
        assert_ok(
            ndr_kernel_get(context, &(ndr_kernel_desc){ .name = wanted[i].name, .file = "demo.cl" }, wanted[i].kernel));
    return 0;
}

static int close_demo(void **state)
{
    destroy_buffers(x, y);
    return close_device(state);
}

/* ---- what differs from machine to machine ---- */

static struct {
    char value[256], name[32];
} hidden[16];
static size_t hidden_count;

static void hide(const char *value, const char *name)
{
    assert_in_range(hidden_count, 0, COUNT_OF(hidden) - 1);
    snprintf(hidden[hidden_count].value, sizeof hidden[0].value, "%s", value);
    snprintf(hidden[hidden_count++].name, sizeof hidden[0].name, "%s", name);
}

/* Returns the number. The page has `name` instead of it. */
static size_t limit(size_t number, const char *name)
{
    char digits[32];
    snprintf(digits, sizeof digits, "%zu", number);
    hide(digits, name);
    return number;
}

/* On the page SIZE_MAX and half of it are those of 64 bits. */
static size_t all_ones(void) { return limit(SIZE_MAX, "18446744073709551615"); }
static size_t half_of_all(void) { return limit(SIZE_MAX / 2, "9223372036854775807"); }

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* Replace `value` by `name`. A number is replaced only as a whole. */
static void replace(ndr_text *text, const char *value, const char *name)
{
    ndr_text out = { 0 };
    const size_t length = strlen(value);
    for (const char *c = text->chars; *c;) {
        const bool is_whole = !is_digit(*value) || ((c == text->chars || !is_digit(c[-1])) && !is_digit(c[length]));
        if (length > 0 && strncmp(c, value, length) == 0 && is_whole) {
            ndr_text_add(&out, "%s", name);
            c += length;
        } else ndr_text_add_chars(&out, c++, 1);
    }
    ndr_text_free(text);
    *text = out;
}

/* Replace the text between `from` and one of the characters of `to` by `name`. */
static void replace_span(ndr_text *text, const char *from, const char *to, const char *name)
{
    const char *start = text->chars ? strstr(text->chars, from) : NULL;
    if (!start) return;
    start += strlen(from);
    ndr_text out = { 0 };
    ndr_text_add_chars(&out, text->chars, (size_t)(start - text->chars));
    ndr_text_add(&out, "%s%s", name, start + strcspn(start, to));
    ndr_text_free(text);
    *text = out;
}

/* The sentence as the page has it: the first line. A compiler's log may follow. */
static void print_sentence(const char *sentence, ndr_text *out)
{
    ndr_text_add(out, "%.*s", (int)strcspn(sentence, "\n"), sentence);
    replace_span(out, " did not build for \"", "\"", "{device}");
    replace_span(out, "{device}\" with \"", "\"", "{options}");
    replace_span(out, "working directory, \"", "\"", "{folder}");
    replace_span(out, "in arguments, ", " ", "{few}"); /* some drivers declare a byte in a kernel that declares none */
    replace_span(out, " NDR_OPENCL names cannot be opened: ", ";", "{reason}");
    replace_span(out, "; choose from ", "", "{devices}");
    replace_span(out, "something wrote to ", ".", "{address}");
    replace_span(out, "; use + or - with one of ", "", "{ids}");
    replace_span(out, "\" has at most ", " ", "{most}");
    replace(out, ", those of 64 bits with _Alignas(8)", ""); /* on i386 */
    for (size_t i = 0; i < hidden_count; ++i) replace(out, hidden[i].value, hidden[i].name);
    replace(out, device.name, "{device}");
    replace(out, "*", "\\*"); /* for Markdown */
    replace(out, "|", "\\|");
}

/* ---- ranges ---- */

static ndr_nd_range range_of(unsigned dims, unsigned local_dims)
{
    return (ndr_nd_range){ .global = { dims, { 64, 64, 64 } }, .local = { local_dims, { 4, 4, 4 } } };
}

#define MISTAKE(name, call) \
    static ndr_status name(void) { return (call); }

MISTAKE(no_dimension, ndr_launch(queue, scale, range_of(0, 0), x, 2.0f))
MISTAKE(four_dimensions, ndr_launch(queue, scale, range_of(4, 0), x, 2.0f))
MISTAKE(other_dimensions, ndr_launch(queue, scale, ndr_range_2d(10, 10), x, 2.0f))
MISTAKE(mixed_dimensions, ndr_launch(queue, smooth, range_of(1, 2), x, 3, ndr_local(float, 64)))
MISTAKE(local_zero, ndr_launch(queue, fixed, ndr_nd_range_2d(64, 64, 4, 0), x))
MISTAKE(group_too_large, (limit(fixed->info.max_group_size, "{group}"),
                          ndr_launch(queue, fixed, ndr_nd_range_2d(9990, 9990, 999, 999), x)))
MISTAKE(not_required, ndr_launch(queue, fixed, ndr_nd_range_2d(64, 64, 2, 2), x))
MISTAKE(ragged_required, ndr_launch(queue, fixed, ndr_nd_range_2d(62, 64, 4, 8), x))
MISTAKE(ragged, ndr_launch(queue, smooth, ndr_nd_range_1d(1000, 16), x, 3, ndr_local(float, 64)))
MISTAKE(range_for_groups, ndr_launch(queue, smooth, ndr_range_1d(1000), x, 3, ndr_local(float, 64)))
MISTAKE(groups_for_range, ndr_launch(queue, scale, ndr_nd_range_1d(1000, 10), x, 2.0f))
MISTAKE(negative, ndr_launch(queue, scale, ndr_range_1d(all_ones()), x, 2.0f))
MISTAKE(no_range, ndr_launch_v(queue, scale, NULL, NULL, 0, NULL))

static ndr_status local_too_long(void)
{
    const size_t most = limit(device.max_local_size[2], "{most}");
    return ndr_launch(queue, smooth, ndr_nd_range_1d(1 << 20, limit(2 * most, "{twice as many}")), x, 3,
                      ndr_local(float, 64));
}

static ndr_status split_plain(void)
{
    ndr_nd_range range = ndr_nd_range_1d(1000, 16);
    range.edge = NDR_EDGE_SPLIT;
    return ndr_launch(queue, plain, range, x);
}

static ndr_status unknown_edge(void)
{
    ndr_nd_range range = ndr_nd_range_1d(1000, 16);
    range.edge = (ndr_edge)7;
    return ndr_launch(queue, smooth, range, x, 3, ndr_local(float, 64));
}

static ndr_status too_many_items(void)
{
    if (device.address_bits < 64) return SKIPPED;
    return ndr_launch(queue, fixed, ndr_nd_range_2d((size_t)(UINT64_C(1) << 40), (size_t)(UINT64_C(1) << 40), 0, 0), x);
}

static ndr_status too_many_groups(void)
{
    if (device.address_bits < 64) return SKIPPED;
    return ndr_launch(queue, smooth, ndr_nd_range_1d((size_t)(UINT64_C(1) << 35), 16), x, 3, ndr_local(float, 64));
}

static ndr_status past_largest_id(void)
{
    if (sizeof(size_t) < 8) return SKIPPED;
    ndr_nd_range range = ndr_nd_range_1d(128, 16);
    const size_t largest = limit(device.address_bits < 64 ? UINT32_MAX : SIZE_MAX / 2, "{largest}");
    range.offset[0] = limit(largest - 10, "{offset}");
    return ndr_launch(queue, smooth, range, x, 3, ndr_local(float, 64));
}

MISTAKE(swapped_sizes, ndr_launch(queue, smooth, ndr_nd_range_1d(1, 2), x, 3, ndr_local(float, 64)))

/* ---- arguments and local memory ---- */

static ndr_status smooth_with(ndr_arg count, ndr_arg local)
{
    return ndr_launch(queue, smooth, ndr_nd_range_1d(64, 16), x, count, local);
}

MISTAKE(missing, ndr_launch(queue, scale, ndr_range_1d(10), x))
MISTAKE(extra, ndr_launch(queue, scale, ndr_range_1d(10), x, 2.0f, 3))
MISTAKE(unset, ndr_launch(queue, scale, ndr_range_1d(10), (ndr_arg){ .kind = NDR_ARG_NONE }, 2.0f))
MISTAKE(double_for_float, ndr_launch(queue, scale, ndr_range_1d(10), x, 2.0))
MISTAKE(integer_for_float, ndr_launch(queue, scale, ndr_range_1d(10), x, 2))
MISTAKE(float_for_integer, smooth_with(ndr_arg_of(3.0f), ndr_local(float, 64)))
MISTAKE(does_not_fit, smooth_with(ndr_arg_of(-1), ndr_local(float, 64)))
MISTAKE(number_for_buffer, ndr_launch(queue, scale, ndr_range_1d(10), 2.0f, 2.0f))
MISTAKE(buffer_for_local, smooth_with(ndr_arg_of(3), ndr_arg_of(x)))
MISTAKE(beyond_int, ndr_launch(queue, numbers, ndr_range_1d(10), x, 5000000000))
MISTAKE(beyond_int_as_double, ndr_launch(queue, numbers, ndr_range_1d(10), x, 5e9))
MISTAKE(null_buffer, ndr_launch(queue, scale, ndr_range_1d(10), (ndr_buffer *)NULL, 2.0f))
MISTAKE(no_kernel, ndr_launch(queue, NULL, ndr_range_1d(10), x, 2.0f))
MISTAKE(no_queue, ndr_launch(NULL, scale, ndr_range_1d(10), x, 2.0f))
MISTAKE(other_vector, ndr_launch(queue, colours, ndr_range_1d(10), x, ndr_struct(cl_int4, (cl_int4){ .x = 1 })))
MISTAKE(local_uncountable, smooth_with(ndr_arg_of(3), ndr_local(float, half_of_all(), 4)))
MISTAKE(local_of_nothing, smooth_with(ndr_arg_of(3), ndr_local(float, 0)))
MISTAKE(local_of_another_type, smooth_with(ndr_arg_of(3), ndr_local(double, 64)))
MISTAKE(local_of_another_struct, ndr_launch(queue, cells, ndr_nd_range_1d(64, 16), x, ndr_local(float, 64)))

struct three {
    int a, b, c;
};
typedef struct pair {
    int a, b, c;
} pair;
struct cell {
    int a, b, c;
};
MISTAKE(other_struct, ndr_launch(queue, sumpair, ndr_range_1d(10), x, ndr_struct(struct three, { 0 })))
MISTAKE(struct_of_another_size, ndr_launch(queue, sumpair, ndr_range_1d(10), x, ndr_struct(pair, { 0 })))
MISTAKE(local_cell_of_another_size, ndr_launch(queue, cells, ndr_nd_range_1d(64, 16), x, ndr_local(struct cell, 64)))

static ndr_status local_too_large(void)
{
    if (limit(device.local_memory_bytes, "{local memory}") >= 1u << 30) return SKIPPED;
    return smooth_with(ndr_arg_of(3), ndr_local(float, 1 << 28));
}

static ndr_status mapped_buffer(void)
{
    void *host;
    assert_ok(ndr_buffer_map(queue, x, NDR_MAP_WRITE, 0, 4, &host));
    const ndr_status status = ndr_launch(queue, scale, ndr_range_1d(10), x, 2.0f);
    assert_ok(ndr_buffer_unmap(queue, x, host, NULL));
    return status;
}

/* Make a mistake with a buffer of another context. */
static ndr_status with_foreign(ndr_status (*mistake)(ndr_buffer *foreign))
{
    ndr_context *other;
    ndr_buffer *foreign;
    assert_ok(ndr_context_create(NULL, &other));
    assert_ok(ndr_buffer_create(other, 64, &foreign));
    const ndr_status status = mistake(foreign);
    ndr_buffer_destroy(foreign);
    ndr_context_destroy(other);
    return status;
}

static ndr_status launch_foreign(ndr_buffer *foreign)
{
    return ndr_launch(queue, scale, ndr_range_1d(10), foreign, 2.0f);
}
static ndr_status read_foreign(ndr_buffer *foreign)
{
    char host[8];
    return ndr_buffer_read(queue, foreign, 0, sizeof host, host, NULL);
}
static ndr_status copy_foreign(ndr_buffer *foreign) { return ndr_buffer_copy(queue, x, 0, foreign, 0, 8, NULL); }
/* Under NDR_CHECK=1 libndr knows more. */
MISTAKE(other_context, context->checker ? SKIPPED : with_foreign(launch_foreign))
MISTAKE(copy_between_contexts, context->checker ? SKIPPED : with_foreign(copy_foreign))
MISTAKE(buffer_of_another_context, context->checker ? SKIPPED : with_foreign(read_foreign))

/* As a driver that takes no more than the device promises. */
static __typeof__(clSetKernelArg) *real_set_arg;

static cl_int CL_API_CALL refuse_large(cl_kernel kernel, cl_uint index, size_t size, const void *value)
{
    return size > device.max_argument_bytes ? CL_INVALID_ARG_SIZE : real_set_arg(kernel, index, size, value);
}

static ndr_status too_many_bytes(void)
{
    char options[64];
    const size_t most = limit(device.max_argument_bytes, "{most}"), pointer = device.address_bits / 8;
    limit(most + 16 + pointer, "{bytes}");
    limit(most + 16, "{of it}");
    snprintf(options, sizeof options, "-DBYTES=%zu", most + 16);
    const ndr_kernel_desc desc = {
        .name = "k",
        .source = "typedef struct { char bytes[BYTES]; } big;\n"
                  "kernel void k(global int *x, big b) { x[0] = b.bytes[0]; }\n",
        .options = options,
    };
    ndr_kernel *kernel;
    if (most > 1 << 14 || ndr_kernel_get(context, &desc, &kernel) != NDR_OK) return SKIPPED;
    static char bytes[(1 << 14) + 16];
    const ndr_arg args[] = { ndr_arg_of(x),
                             { .kind = NDR_ARG_STRUCT, .size_bytes = most + 16, .as.value = { bytes, NULL } } };
    real_set_arg = ndr_cl.clSetKernelArg;
    ndr_cl.clSetKernelArg = refuse_large;
    const ndr_status status = ndr_launch_v(queue, kernel, &(ndr_nd_range){ .global = ndr_range_1d(1) }, args, 2, NULL);
    ndr_cl.clSetKernelArg = real_set_arg;
    return status;
}

static ndr_status kernel_of_another_context(void)
{
    ndr_context *other;
    ndr_kernel *foreign;
    assert_ok(ndr_context_create(NULL, &other));
    assert_ok(ndr_kernel_get(other, &(ndr_kernel_desc){ .name = "plain", .file = "demo.cl" }, &foreign));
    const ndr_status status = ndr_launch(queue, foreign, ndr_range_1d(10), x);
    ndr_context_destroy(other);
    return status;
}

/* Some drivers refuse to build it, and where local memory is hardware of its own they refuse the launch. */
static ndr_status large_local_array(void)
{
    char options[64];
    if (device.has_dedicated_local_memory || device.local_memory_bytes >= 1u << 28) return SKIPPED;
    snprintf(options, sizeof options, "-D COUNT=%zu", (size_t)device.local_memory_bytes / sizeof(float) + 8);
    const ndr_kernel_desc desc = { .name = "k",
                                   .label = "demo.cl",
                                   .source =
                                       "kernel void k(global float *x) { local float t[COUNT];\n"
                                       "t[get_local_id(0)] = x[0]; barrier(CLK_LOCAL_MEM_FENCE); x[0] = t[5]; }",
                                   .options = options };
    ndr_kernel *large;
    if (ndr_kernel_get(context, &desc, &large)) return SKIPPED;
    if (large->info.local_memory_bytes <= device.local_memory_bytes) return SKIPPED; /* PoCL 5.0 reports 0 bytes */
    limit(large->info.local_memory_bytes, "{bytes}");
    limit(device.local_memory_bytes, "{local memory}");
    return ndr_launch(queue, large, ndr_range_1d(8), x);
}

/* ---- buffers ---- */

static char host[8];
static ndr_buffer *made;

MISTAKE(read_past_end, ndr_buffer_read(queue, x, 3996, 8, host, NULL))
MISTAKE(write_past_end, ndr_buffer_write(queue, x, all_ones(), 8, host, NULL))
MISTAKE(fill_past_end, ndr_buffer_fill(queue, x, 3992, 16, host, 8, NULL))
MISTAKE(too_large, (limit(device.max_buffer_bytes, "{most}"), ndr_buffer_create(context, all_ones(), &made)))
MISTAKE(odd_pattern, ndr_buffer_fill(queue, x, 0, 9, host, 3, NULL))
MISTAKE(ragged_fill, ndr_buffer_fill(queue, x, 4, 8, host, 8, NULL))
MISTAKE(overlap, ndr_buffer_copy(queue, x, 0, x, 8, 16, NULL))
MISTAKE(no_host, ndr_buffer_read(queue, x, 0, 8, NULL, NULL))
MISTAKE(no_contents, ndr_buffer_create_from(context, 8, NULL, &made))
MISTAKE(nothing_to_lie_over, ndr_buffer_create_over(context, 8, NULL, &made))
MISTAKE(no_buffer, ndr_buffer_read(queue, NULL, 0, 8, host, NULL))
MISTAKE(no_output, ndr_buffer_create(context, 8, NULL))
MISTAKE(map_nothing, ndr_buffer_map(queue, x, NDR_MAP_READ, 0, 0, (void **)&made))
MISTAKE(unknown_access, ndr_buffer_map(queue, x, (ndr_map_access)0, 0, 8, (void **)&made))

static ndr_status written_while_mapped(void)
{
    void *mapped;
    assert_ok(ndr_buffer_map(queue, x, NDR_MAP_WRITE, 0, 4, &mapped));
    const ndr_status status = ndr_buffer_write(queue, x, 0, 8, host, NULL);
    assert_ok(ndr_buffer_unmap(queue, x, mapped, NULL));
    return status;
}

static ndr_status mapped_twice(void)
{
    void *mapped, *again;
    assert_ok(ndr_buffer_map(queue, x, NDR_MAP_WRITE, 0, 8, &mapped));
    const ndr_status status = ndr_buffer_map(queue, x, NDR_MAP_READ, 4, 8, &again);
    assert_ok(ndr_buffer_unmap(queue, x, mapped, NULL));
    return status;
}

static ndr_status unmap_elsewhere(void)
{
    char address[32];
    snprintf(address, sizeof address, "%p", (void *)host);
    hide(address, "{address}");
    return ndr_buffer_unmap(queue, x, host, NULL);
}

/* ---- reducers, shared allocations, prepared launches ---- */

/* Launch a kernel with two reducers, of which the second is `least`. */
static ndr_status reduce_into(ndr_arg first, ndr_arg least)
{
    const ndr_kernel_desc desc = {
        .name = "total",
        .source = "#include <ndr/reduction.clh>\n"
                  "kernel void total(global const int *x, NDR_REDUCTION(1, (SUM, int, sum), (MIN, int, least)))\n"
                  "{ NDR_REDUCE(i, 1, sum, least) { const int a = x[ndr_global_id(i, 0)];\n"
                  "  NDR_COMBINE(sum, a); NDR_COMBINE(least, a); } }\n",
    };
    ndr_kernel *total;
    if (ndr_kernel_get(context, &desc, &total) != NDR_OK) return SKIPPED; /* no variadic macros */
    return ndr_launch(queue, total, ndr_range_1d(10), first, ndr_reducer(NDR_OP_SUM, 0, x, 900), least);
}
#define REDUCER(op, initial, buffer, element) \
    reduce_into(ndr_arg_of(x), ndr_reducer(op, initial, (ndr_buffer *)(buffer), element))
MISTAKE(reducer_of_another_op, REDUCER(NDR_OP_MAX, 0, x, 901))
MISTAKE(reducer_of_another_type, REDUCER(NDR_OP_MIN, 0.0f, x, 901))
MISTAKE(reducer_without_buffer, REDUCER(NDR_OP_MIN, 0, NULL, 901))
MISTAKE(reducer_past_end, REDUCER(NDR_OP_MIN, 0, x, FLOATS))
MISTAKE(two_reducers_one_element, REDUCER(NDR_OP_MIN, 0, x, 900))
MISTAKE(buffer_for_reducer, reduce_into(ndr_arg_of(x), ndr_arg_of(x)))

/* Make a mistake with 64 bytes of shared memory. */
static ndr_status with_shared(ndr_status (*mistake)(ndr_shared *shared))
{
    ndr_shared *shared;
    if (ndr_shared_create(context, NDR_SHARED_ANY, 64, &shared) != NDR_OK) return SKIPPED;
    const ndr_status status = mistake(shared);
    ndr_shared_destroy(shared);
    return status;
}

static ndr_status set_buffer_for_shared(ndr_shared *shared)
{
    ndr_prepared *prepared;
    assert_ok(ndr_prepare(plain, &prepared, ndr_range_1d(1), shared));
    const ndr_status status = ndr_prepared_set(prepared, 0, ndr_arg_of(x));
    ndr_prepared_destroy(prepared);
    return status;
}
static ndr_status shared_past_end(ndr_shared *shared) { return ndr_shared_read(queue, shared, 60, 8, host, NULL); }
static ndr_status shared_among_arguments(ndr_shared *shared)
{
    return ndr_launch(queue, plain, ndr_range_1d(1), ndr_reaches(shared));
}
MISTAKE(buffer_for_shared, with_shared(set_buffer_for_shared))
MISTAKE(read_past_shared, with_shared(shared_past_end))
MISTAKE(reaches_for_argument, with_shared(shared_among_arguments))
MISTAKE(null_shared, ndr_launch(queue, plain, ndr_range_1d(1), (ndr_shared *)NULL))

/* ---- views, rectangles, images ---- */

static ndr_status ragged_view(void)
{
    if (device.view_align_bytes < 2) return SKIPPED;
    limit(device.view_align_bytes, "{multiple}");
    return ndr_buffer_create_view(x, 1, 8, &made);
}
MISTAKE(view_past_end, ndr_buffer_create_view(x, 0, 4001, &made))

static ndr_status rect_with(size_t rows, size_t pitch)
{
    const ndr_rect_desc desc = { .extent = ndr_range_2d(rows, 10), .from.row_pitch_bytes = pitch };
    static char block[4096];
    return ndr_buffer_read_rect(queue, x, &desc, block, NULL);
}
MISTAKE(rect_pitch_too_small, rect_with(3, 9))
MISTAKE(rect_past_end, rect_with(401, 10))

static ndr_status not_for_the_host(void)
{
    assert_ok(ndr_buffer_create_with(context, &(ndr_buffer_desc){ .size_bytes = 8, .host = NDR_ACCESS_NONE }, &made));
    const ndr_status status = ndr_buffer_read(queue, made, 0, 8, host, NULL);
    ndr_buffer_destroy(made);
    return status;
}

static ndr_status not_for_kernels(void)
{
    assert_ok(ndr_buffer_create_with(context, &(ndr_buffer_desc){ .size_bytes = 8, .kernels = NDR_ACCESS_READ }, &made));
    const ndr_status status = ndr_launch(queue, plain, ndr_range_1d(1), made);
    ndr_buffer_destroy(made);
    return status;
}

/* Make a mistake with an image of 4 x 5 floats. */
static ndr_status with_image(ndr_status (*mistake)(ndr_kernel *kernel, ndr_image *image))
{
    ndr_image *image;
    ndr_kernel *kernel;
    const ndr_image_desc desc = { .format = { NDR_CHANNELS_R, NDR_CHANNEL_F32 },
                                  .size = ndr_range_2d(4, 5),
                                  .kernels = NDR_ACCESS_READ };
    const ndr_kernel_desc source = { .name = "k", .source = "kernel void k(write_only image2d_t to) { }\n"
                                                            "kernel void line(read_only image1d_t from) { }\n" };
    if (ndr_image_create(context, &desc, &image) != NDR_OK) return SKIPPED;
    assert_ok(ndr_kernel_get(context, &source, &kernel));
    const ndr_status status = mistake(kernel, image);
    ndr_image_destroy(image);
    return status;
}

static ndr_status write_image(ndr_kernel *kernel, ndr_image *image)
{
    return ndr_launch(queue, kernel, ndr_range_1d(1), image);
}
static ndr_status buffer_for_image(ndr_kernel *kernel, ndr_image *image)
{
    return ndr_launch(queue, kernel, ndr_range_1d(1), x);
}
static ndr_status read_outside_image(ndr_kernel *kernel, ndr_image *image)
{
    const ndr_image_part part = { .origin = { 0, 4 }, .extent = ndr_range_2d(4, 2) };
    return ndr_image_read(queue, image, &part, host, NULL);
}
MISTAKE(image_to_read, with_image(write_image))
MISTAKE(buffer_as_image, with_image(buffer_for_image))
MISTAKE(outside_image, with_image(read_outside_image))

/* ---- events and order ---- */

/* Make a mistake with an event of ndr_event_create() that has ended already, with success or not. */
static ndr_status with_event(ndr_status end, ndr_status (*mistake)(ndr_event *event))
{
    ndr_event *event;
    assert_ok(ndr_event_create(context, &event));
    assert_ok(end == NDR_OK ? ndr_event_complete(event) : ndr_event_fail(event, end, "the file is not there"));
    const ndr_status status = mistake(event);
    ndr_event_destroy(event);
    return status;
}
static ndr_status launch_after(ndr_event *event)
{
    return ndr_launch(ndr_after(queue, event), plain, ndr_range_1d(1), x);
}
MISTAKE(ended_twice, with_event(NDR_OK, ndr_event_complete))
MISTAKE(after_failed, with_event(NDR_NOT_FOUND, launch_after))
MISTAKE(wait_for_any_of_none, ndr_event_wait_any(NULL, 0, NDR_FOREVER, &(size_t){ 0 }))
MISTAKE(task_without_function, ndr_host_task(queue, NULL, NULL, NULL))

static ndr_status not_ended(void)
{
    ndr_event *event;
    assert_ok(ndr_event_create(context, &event));
    const ndr_status status = ndr_event_wait_within(event, 1000);
    ndr_event_destroy(event);
    return status;
}

static ndr_status complete_work(void)
{
    ndr_event *event;
    assert_ok(ndr_queue_mark(queue, &event));
    const ndr_status status = ndr_event_complete(event);
    assert_ok(ndr_event_wait(event));
    ndr_event_destroy(event);
    return status;
}

/* ---- kernels and files ---- */

static ndr_kernel *built;
#define GET(...) ndr_kernel_get(context, &(ndr_kernel_desc){ __VA_ARGS__ }, &built)

MISTAKE(no_such_kernel, GET(.name = "scal", .file = "demo.cl"))
MISTAKE(missing_file, GET(.name = "scale", .file = "missing.cl"))
MISTAKE(path_in_home, GET(.name = "scale", .file = "~/demo.cl"))
MISTAKE(name_with_parentheses, GET(.name = "scale()", .file = "demo.cl"))
MISTAKE(missing_folder, GET(.name = "k", .label = "demo.cl", .include_dirs = (const char *const[]){ "no_folder", NULL },
                            .source = "#include \"mine.h\"\nkernel void k(global int *x) { x[0] = 1; }\n"))
MISTAKE(a_folder, GET(.name = "scale", .file = "."))
MISTAKE(a_device, GET(.name = "scale", .file = "/dev/zero"))
MISTAKE(missing_bundled, GET(.name = "scale", .bundled = "missing.cl"))
MISTAKE(no_source, GET(.name = "scale"))
MISTAKE(two_sources, GET(.name = "scale", .file = "demo.cl", .bundled = "reduce/tree_groups.cl"))
MISTAKE(no_name, GET(.file = "demo.cl"))
MISTAKE(name_main, GET(.name = "main", .source = "kernel void main(global float *x) { x[0] = 1; }\n"))
MISTAKE(file_as_source, GET(.name = "scale", .source = "demo.cl"))
MISTAKE(no_kernel_word, GET(.name = "k", .source = "void k(global float *x) { x[0] = 1; }\n", .label = "demo.cl"))
/* clang 7 has them for OpenCL C 3.0, but not for 1.2. */
static ndr_status no_variadic_macros(void)
{
    const ndr_kernel_desc desc = { .name = "k",
                                   .source = "#include <ndr/reduction.clh>\n"
                                             "kernel void k(NDR_REDUCTION(1, (SUM, int, sum)))\n"
                                             "{ NDR_REDUCE(i, 1, sum) NDR_COMBINE(sum, 1); }\n",
                                   .label = "demo.cl",
                                   .options = "-cl-std=CL1.2" };
    const ndr_status status = ndr_kernel_get(context, &desc, &built);
    return status == NDR_OK ? SKIPPED : status;
}

MISTAKE(linked_alone, GET(.name = "scale", .bundled = "probe/core.cl", .linked = (const char *const[]){ "", NULL }))
MISTAKE(no_module, GET(.name = "scale", .spirv = "text", .spirv_bytes = 4))
MISTAKE(empty_binary, GET(.name = "scale", .binary = ""))
MISTAKE(no_sub_groups_that_large,
        (limit(device.max_group_size, "{most}"), GET(.name = "scale", .file = "demo.cl", .sub_group_size = 1 << 20)))

static cl_int CL_API_CALL build_without_reason(cl_program p, cl_uint count, const cl_device_id *devices,
                                               const char *options, void(CL_CALLBACK *notify)(cl_program, void *),
                                               void *user)
{
    return CL_BUILD_PROGRAM_FAILURE;
}

/* As PoCL does on a full disk. A file in place of the folder is wrong for each user. */
static ndr_status build_where(const char *variable)
{
    __typeof__(clBuildProgram) *const real = ndr_cl.clBuildProgram;
    char path[1100];
    assert_non_null(getcwd(path, sizeof path - 16));
    strcat(path, "/no_folder");
    write_file(path, "");
    hide(path, "{path}");
    static const char *const variables[] = { "POCL_CACHE_DIR", "XDG_CACHE_HOME", "HOME", "TMPDIR" };
    char *before[COUNT_OF(variables)];
    for (size_t i = 0; i < COUNT_OF(variables); ++i) {
        before[i] = getenv(variables[i]) ? strdup(getenv(variables[i])) : NULL;
        if (strcmp(variables[i], variable) == 0) setenv(variables[i], path, 1);
        else if (i < 2) unsetenv(variables[i]);
        else setenv(variables[i], "/tmp", 1);
    }
    ndr_cl.clBuildProgram = build_without_reason;
    const ndr_status status = GET(.name = "k", .source = "kernel void k(global int *x) { }\n", .label = "demo.cl");
    ndr_cl.clBuildProgram = real;
    for (size_t i = 0; i < COUNT_OF(variables); ++i) {
        if (before[i]) setenv(variables[i], before[i], 1);
        else unsetenv(variables[i]);
        free(before[i]);
    }
    return status;
}

MISTAKE(cache_of_driver, build_where("POCL_CACHE_DIR"))
MISTAKE(cache_in_home, build_where("HOME"))
MISTAKE(temporary_files, build_where("TMPDIR"))

static ndr_status huge_file(void)
{
    write_file("huge.cl", "");
    assert_int_equal(truncate("huge.cl", (16 << 20) + 1), 0);
    const ndr_status status = GET(.name = "scale", .file = "huge.cl");
    assert_int_equal(unlink("huge.cl"), 0);
    return status;
}

/* Root may read every file. */
static ndr_status forbidden_file(void)
{
    const uid_t user = geteuid();
    write_file("forbidden.cl", demo);
    assert_int_equal(chmod("forbidden.cl", 0), 0);
    if (user == 0) assert_int_equal(seteuid(65534), 0);
    const ndr_status status = GET(.name = "scale", .file = "forbidden.cl");
    if (user == 0) assert_int_equal(seteuid(user), 0);
    assert_int_equal(unlink("forbidden.cl"), 0);
    return status;
}

static ndr_status zero_byte(void)
{
    write_file("zero.cl", "kernel void k(global int *x) {}\n");
    assert_int_equal(truncate("zero.cl", 100), 0);
    return GET(.name = "k", .file = "zero.cl");
}

static ndr_status too_many_files(void)
{
    struct rlimit before, none;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    const ndr_status status = GET(.name = "other", .file = "demo.cl", .options = "-DANOTHER");
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    return status;
}

/* ---- operations ---- */

static ndr_status reduce_with(ndr_dtype dtype, ndr_op op, ndr_reduce_method method, size_t offset, ndr_buffer *output)
{
    const ndr_reduce_desc desc = { .dtype = dtype, .op = op, .method = method, .input = { x, offset }, .count = FLOATS,
                                   .output = { output, 5 } };
    return ndr_reduce(queue, &desc, NULL);
}

MISTAKE(reduce_past_end, reduce_with(NDR_DTYPE_F32, NDR_OP_SUM, NDR_REDUCE_TREE, 1, x))
MISTAKE(reduce_into_itself, reduce_with(NDR_DTYPE_F32, NDR_OP_SUM, NDR_REDUCE_TREE, 0, x))
MISTAKE(reduce_exact_product,
        ndr_reduce(queue,
                   &(ndr_reduce_desc){ .dtype = NDR_DTYPE_F32, .op = NDR_OP_PRODUCT, .input = { x, 0 }, .count = 5,
                                       .output = { x, 9 }, .numerics = NDR_NUMERICS_EXACT },
                   NULL))
MISTAKE(reduce_factors_of_max,
        ndr_reduce(queue,
                   &(ndr_reduce_desc){ .dtype = NDR_DTYPE_F32, .op = NDR_OP_MAX, .input = { x, 0 }, .count = 5,
                                       .output = { x, 9 }, .factors = { x, 0 } },
                   NULL))
MISTAKE(reduce_no_dtype, reduce_with(NDR_DTYPE_NONE, NDR_OP_SUM, NDR_REDUCE_TREE, 0, x))
MISTAKE(reduce_bad_dtype, reduce_with(NDR_DTYPE_F16, NDR_OP_SUM, NDR_REDUCE_RECURSIVE, 0, x))
MISTAKE(reduce_no_op, reduce_with(NDR_DTYPE_F32, NDR_OP_NONE, NDR_REDUCE_TREE, 0, x))
MISTAKE(reduce_bad_method, reduce_with(NDR_DTYPE_F32, NDR_OP_SUM, (ndr_reduce_method)7, 0, x))
MISTAKE(reduce_no_output, reduce_with(NDR_DTYPE_F32, NDR_OP_SUM, NDR_REDUCE_TREE, 0, NULL))
MISTAKE(reduce_no_desc, ndr_reduce(queue, NULL, NULL))

static ndr_status multiply(size_t b_rows, ndr_matrix c, double alpha)
{
    const ndr_matmul_desc desc = { .dtype = NDR_DTYPE_F32,
                                   .scaling = { .alpha = alpha },
                                   .a = { x, 0, 20, 20, 0 },
                                   .b = { x, 0, b_rows, 10, 0 },
                                   .c = c };
    return ndr_matmul(queue, &desc, NULL);
}

MISTAKE(inner_sizes, multiply(30, (ndr_matrix){ x, 700, 20, 10, 0 }, 0))
MISTAKE(outer_sizes, multiply(20, (ndr_matrix){ x, 700, 10, 20, 0 }, 0))
MISTAKE(c_overlaps_a, multiply(20, (ndr_matrix){ x, 300, 20, 10, 0 }, 0))
MISTAKE(c_past_end, multiply(20, (ndr_matrix){ x, 900, 20, 10, 0 }, 0))
static ndr_status batch_without_stride(void)
{
    const ndr_matmul_desc desc = { .dtype = NDR_DTYPE_F32,
                                   .a = { x, 0, 4, 4, 0 },
                                   .b = { x, 100, 4, 4, 0 },
                                   .c = { x, 500, 4, 4, 0 },
                                   .count = 3,
                                   .a_stride = 16,
                                   .b_stride = 16 };
    return ndr_matmul(queue, &desc, NULL);
}
MISTAKE(pitch_too_small, multiply(20, (ndr_matrix){ x, 700, 20, 10, 8 }, 0))
MISTAKE(forgotten_scaling, multiply(20, (ndr_matrix){ x, 700, 20, 10, 0 }, 2))

/* Scan the first 100 elements of x into those from `offset` on. */
static ndr_status scan_with(ndr_dtype dtype, ndr_op op, ndr_arg initial, size_t length, size_t offset)
{
    const ndr_scan_desc desc = { .dtype = dtype,
                                 .op = op,
                                 .initial = initial,
                                 .input = { x, 0 },
                                 .flags = { length ? x : NULL, 0 },
                                 .length = length,
                                 .count = 100,
                                 .output = { x, offset } };
    return ndr_scan(queue, &desc, NULL);
}

MISTAKE(scan_no_dtype, scan_with(NDR_DTYPE_NONE, NDR_OP_SUM, (ndr_arg){ 0 }, 0, 100))
MISTAKE(scan_no_op, scan_with(NDR_DTYPE_F32, NDR_OP_NONE, (ndr_arg){ 0 }, 0, 100))
MISTAKE(scan_bits_of_floats, scan_with(NDR_DTYPE_F32, NDR_OP_BIT_OR, (ndr_arg){ 0 }, 0, 100))
MISTAKE(scan_bad_initial, scan_with(NDR_DTYPE_U32, NDR_OP_SUM, ndr_arg_of(-1), 0, 100))
MISTAKE(scan_two_segments, scan_with(NDR_DTYPE_F32, NDR_OP_SUM, (ndr_arg){ 0 }, 5, 100))
MISTAKE(scan_into_half, scan_with(NDR_DTYPE_F32, NDR_OP_SUM, (ndr_arg){ 0 }, 0, 50))

/* Scan 6 rows of 10 floats of x along an axis into an array of as many rows. */
static ndr_status array_scan_with(unsigned axis, size_t cols, bool transposes)
{
    ndr_array_scan_desc desc = { .op = NDR_OP_SUM, .axis = axis,
                                 .input = ndr_array_of(x, NDR_DTYPE_F32, ndr_range_2d(6, 10)),
                                 .output = ndr_array_of(x, NDR_DTYPE_F32, ndr_range_2d(6, cols)) };
    if (transposes) desc.output.stride[0] = 1, desc.output.stride[1] = 6;
    return ndr_array_scan(queue, &desc, NULL);
}

MISTAKE(array_scan_no_axis, array_scan_with(2, 10, false))
MISTAKE(array_scan_of_another_shape, array_scan_with(1, 11, false))
MISTAKE(array_scan_into_transposed, array_scan_with(1, 10, true))

/* Sort the first 100 elements of x into those from `offset` on. */
static ndr_status sort_with(ndr_dtype dtype, unsigned begin_bit, unsigned end_bit, size_t offset)
{
    const ndr_sort_desc desc = { .dtype = dtype,
                                 .begin_bit = begin_bit,
                                 .end_bit = end_bit,
                                 .keys = { x, 0 },
                                 .count = 100,
                                 .sorted_keys = { x, offset } };
    return ndr_sort(queue, &desc, NULL);
}

MISTAKE(sort_into_half, sort_with(NDR_DTYPE_F32, 0, 0, 50))
MISTAKE(sort_no_dtype, sort_with(NDR_DTYPE_NONE, 0, 0, 100))
MISTAKE(sort_bits_past_end, sort_with(NDR_DTYPE_U32, 0, 33, 100))
MISTAKE(sort_no_bits, sort_with(NDR_DTYPE_U32, 8, 8, 100))

static ndr_status sort_segments_with(size_t length, size_t segments, size_t sorted_offset)
{
    const ndr_sort_desc desc = { .dtype = NDR_DTYPE_U32,
                                 .keys = { x, 0 },
                                 .count = 100,
                                 .sorted_keys = { x, sorted_offset },
                                 .length = length,
                                 .offsets = { x, 0 },
                                 .segments = segments };
    return ndr_sort(queue, &desc, NULL);
}

MISTAKE(sort_two_segmentations, sort_segments_with(5, 4, 100))
MISTAKE(sort_over_offsets, sort_segments_with(0, 60, 100))

static ndr_status top_k_with(size_t length, size_t k, size_t top_offset)
{
    const ndr_top_k_desc desc = { .dtype = NDR_DTYPE_U32,
                                  .keys = { x, 0 },
                                  .length = length,
                                  .count = 100,
                                  .k = k,
                                  .top_keys = { top_offset ? x : NULL, top_offset } };
    return ndr_top_k(queue, &desc, NULL);
}

MISTAKE(top_k_too_many, top_k_with(20, 21, 100))
MISTAKE(top_k_ragged, top_k_with(30, 5, 100))
MISTAKE(top_k_no_output, top_k_with(0, 5, 0))
MISTAKE(top_k_over_keys, top_k_with(0, 5, 99))

/* Map 100 floats of x to y. */
static ndr_status map_with(const char *statement, const char *input, size_t outputs)
{
    const ndr_map_array in = { input, ndr_array_of(x, NDR_DTYPE_F32, ndr_range_1d(100)) };
    const ndr_map_array out = { "y", ndr_array_of(y, NDR_DTYPE_F32, ndr_range_1d(100)) };
    const ndr_map_desc desc = {
        .statement = statement, .inputs = &in, .input_count = 1, .outputs = &out, .output_count = outputs
    };
    return ndr_map(queue, &desc, NULL);
}

MISTAKE(map_unknown_name, map_with("y = a * x", "x", 1))
MISTAKE(map_index, map_with("y[i] = x[i]", "x", 1))
MISTAKE(map_into_input, map_with("x = 0; y = x", "x", 1))
MISTAKE(map_no_assignment, map_with("x + 1", "x", 1))
MISTAKE(map_no_statement, map_with(NULL, "x", 1))
MISTAKE(map_no_output, map_with("y = x", "x", 0))
MISTAKE(map_bad_name, map_with("y = x", "my x", 1))
MISTAKE(map_index_as_name, map_with("y = i", "i", 1))

/* Sum 100 floats of x. */
static ndr_status map_reduce_with(ndr_op op, const char *combine, unsigned axes)
{
    const ndr_map_array in = { "x", ndr_array_of(x, NDR_DTYPE_F32, ndr_range_1d(100)) };
    const ndr_map_reduce_desc desc = { .dtype = NDR_DTYPE_F32,
                                       .op = op,
                                       .combine = combine,
                                       .axes = axes,
                                       .expression = "x",
                                       .inputs = &in,
                                       .input_count = 1,
                                       .output = { .buffer = y, .dtype = NDR_DTYPE_F32 } };
    return ndr_map_reduce(queue, &desc, NULL);
}

MISTAKE(map_reduce_no_op, map_reduce_with(NDR_OP_NONE, NULL, 0))
MISTAKE(map_reduce_no_identity, map_reduce_with(NDR_OP_NONE, "a + b", 0))
MISTAKE(map_reduce_bad_axes, map_reduce_with(NDR_OP_SUM, NULL, 2))

/* The same with an operator of one's own. */
static ndr_status map_reduce_by(const char *combine, const char *identity, const char *finish)
{
    const ndr_map_array in = { "x", ndr_array_of(x, NDR_DTYPE_F32, ndr_range_1d(100)) };
    const ndr_map_reduce_desc desc = { .dtype = NDR_DTYPE_F32,
                                       .combine = combine,
                                       .identity = identity,
                                       .expression = "x",
                                       .finish = finish,
                                       .inputs = &in,
                                       .input_count = 1,
                                       .output = { .buffer = y, .dtype = NDR_DTYPE_F32 } };
    return ndr_map_reduce(queue, &desc, NULL);
}

MISTAKE(map_reduce_two_values, map_reduce_by("a + b", "0", "r; 2"))
MISTAKE(combine_unknown_name, map_reduce_by("a + x", "0", NULL))
MISTAKE(identity_unknown_name, map_reduce_by("a + b", "zero", NULL))
MISTAKE(finish_unknown_name, map_reduce_by("a + b", "0", "r / n"))
MISTAKE(epilogue_unknown_name, ndr_matmul(queue,
                                          &(ndr_matmul_desc){ .dtype = NDR_DTYPE_F32,
                                                              .a = { x, 0, 3, 4, 0 },
                                                              .b = { x, 0, 4, 5, 0 },
                                                              .c = { y, 0, 3, 5, 0 },
                                                              .epilogue = "r + bias" },
                                          NULL))
MISTAKE(copy_of_another_type,
        ndr_array_copy(queue,
                       &(ndr_array_copy_desc){ ndr_array_of(x, NDR_DTYPE_F32, ndr_range_1d(8)),
                                               ndr_array_of(y, NDR_DTYPE_I32, ndr_range_1d(8)) },
                       NULL))
MISTAKE(gather_by_floats,
        ndr_gather(queue,
                   &(ndr_gather_desc){ .dtype = NDR_DTYPE_F32,
                                       .index_dtype = NDR_DTYPE_F32,
                                       .input = { x, 0 },
                                       .indexes = { x, 0 },
                                       .input_count = 10,
                                       .count = 10,
                                       .output = { y, 0 } },
                   NULL))

static ndr_status histogram_with(size_t bins, double upper, unsigned channels)
{
    const ndr_histogram_desc desc = { .dtype = NDR_DTYPE_F32,
                                      .output_dtype = NDR_DTYPE_U32,
                                      .bins = bins,
                                      .upper = upper,
                                      .channels = channels,
                                      .input = { x, 0 },
                                      .count = 20,
                                      .output = { y, 0 } };
    return ndr_histogram(queue, &desc, NULL);
}

MISTAKE(histogram_no_bins, histogram_with(0, 1, 1))
MISTAKE(histogram_no_range, histogram_with(4, 0, 1))
MISTAKE(histogram_of_5_channels, histogram_with(4, 1, 5))
MISTAKE(random_normal_integers,
        ndr_random(queue,
                   &(ndr_random_desc){
                       .dtype = NDR_DTYPE_I32, .distribution = NDR_RANDOM_NORMAL, .count = 10, .output = { x, 0 } },
                   NULL))
MISTAKE(random_below_nothing,
        ndr_random(queue,
                   &(ndr_random_desc){
                       .dtype = NDR_DTYPE_I32, .distribution = NDR_RANDOM_BELOW, .count = 10, .output = { x, 0 } },
                   NULL))
MISTAKE(select_without_flags,
        ndr_select(queue,
                   &(ndr_select_desc){ .dtype = NDR_DTYPE_F32, .input = { x, 0 }, .count = 10, .output = { y, 0 } },
                   NULL))

static ndr_status merge_with(const char *element, const char *less)
{
    const ndr_merge_desc desc = { .dtype = element ? NDR_DTYPE_NONE : NDR_DTYPE_F32,
                                  .element = element,
                                  .element_bytes = element ? 4 : 0,
                                  .less = less,
                                  .first = { x, 0 },
                                  .first_count = 4,
                                  .second = { x, 4 },
                                  .second_count = 4,
                                  .output = { y, 0 } };
    return ndr_merge(queue, &desc, NULL);
}

MISTAKE(merge_without_order, merge_with("uint", NULL))
MISTAKE(merge_by_a_name, merge_with(NULL, "before"))

/* Make a mistake on a device that lacks what it needs. */
static ndr_status on_disabled(const char *words, const ndr_reduce_desc *desc)
{
    ndr_context *lacking;
    ndr_queue *line;
    set_env("NDR_DISABLE", words);
    assert_ok(ndr_context_create(NULL, &lacking));
    restore_env();
    assert_ok(ndr_queue_create(lacking, NULL, &line));
    const ndr_status status = ndr_reduce(line, desc, NULL);
    ndr_queue_destroy(line);
    ndr_context_destroy(lacking);
    return status;
}

MISTAKE(no_f64, on_disabled("fp64", &(ndr_reduce_desc){ .dtype = NDR_DTYPE_F64, .op = NDR_OP_SUM }))
MISTAKE(no_int64_atomics,
        on_disabled("int64_atomics",
                    &(ndr_reduce_desc){ .dtype = NDR_DTYPE_I64, .op = NDR_OP_SUM, .method = NDR_REDUCE_ATOMIC }))

/* ---- drivers, devices and events ---- */

static ndr_context *opened;
MISTAKE(unknown_device, ndr_context_create("nope", &opened))
MISTAKE(index_past_end, ndr_context_create("77", &opened))
MISTAKE(unknown_check, ndr_context_create_with(&(ndr_context_desc){ .check = (ndr_check_mode)7 }, &opened))
MISTAKE(no_context, ndr_queue_create(NULL, NULL, NULL))
MISTAKE(no_devices, ndr_device_list(2, NULL, &(size_t){ 0 }))

/* Of a device that is no CPU there is another sentence. */
static ndr_status fewer_devices(void)
{
    return context->caps.info.type == NDR_DEVICE_TYPE_CPU ? ndr_context_create("cpu:77", &opened) : SKIPPED;
}

static ndr_status no_accelerator(void)
{
    const ndr_status status = ndr_context_create("accelerator", &opened);
    if (status != NDR_OK) return status;
    ndr_context_destroy(opened);
    return SKIPPED;
}

static ndr_status with_env(const char *name, const char *value)
{
    set_env(name, value);
    const ndr_status status = ndr_context_create(NULL, &opened);
    restore_env();
    return status;
}
MISTAKE(unknown_device_by_env, with_env("NDR_DEVICE", "nosuchdevice"))
MISTAKE(unknown_word, with_env("NDR_DISABLE", "fp16"))
MISTAKE(unknown_switch, with_env("NDR_CHECK", "yes"))
MISTAKE(relative_store, with_env("NDR_CACHE", "kernels"))
MISTAKE(unknown_limit, with_env("NDR_CACHE_MIB", "big"))
MISTAKE(limit_with_unit, with_env("NDR_CACHE_MIB", "512MB"))
MISTAKE(unknown_level, with_env("NDR_LOG", "loud"))
MISTAKE(level_past_end, ndr_log_set((ndr_log_level)9, NULL, NULL))

static ndr_status warm_without_store(void)
{
    ndr_context *lacking;
    set_env("NDR_CACHE", "off");
    assert_ok(ndr_context_create(NULL, &lacking));
    restore_env();
    const ndr_kernel_desc kernel = { .name = "scale", .file = "demo.cl" };
    const ndr_status status = ndr_cache_warm(lacking, &(ndr_warm_desc){ .kernel = &kernel }, 1, NULL, NULL);
    ndr_context_destroy(lacking);
    return status;
}

static ndr_status no_times(void)
{
    ndr_queue *line;
    ndr_event *event;
    uint64_t elapsed;
    assert_ok(ndr_queue_create(context, NULL, &line));
    assert_ok(ndr_buffer_fill(line, x, 0, 8, host, 8, &event));
    const ndr_status status = ndr_event_elapsed_ns(event, &elapsed);
    assert_ok(ndr_queue_finish(line));
    ndr_event_destroy(event);
    ndr_queue_destroy(line);
    return status;
}

/* The result of ndr_device_list() in another process, because a loader reads its environment only once. */
static struct machine {
    const char *variable, *value;
    ndr_status status;
    char sentence[1024];
} machines[] = { { .variable = "OCL_ICD_VENDORS", .value = "no-drivers" },
                 { .variable = "OCL_ICD_VENDORS", .value = STUB_ICD },
                 { .variable = "NDR_STUB_ERROR", .value = "-6" },
                 { .variable = "OCL_ICD_VENDORS", .value = "" },
                 { .variable = "NDR_OPENCL", .value = "no-such-library" },
                 { .variable = "NDR_OPENCL", .value = OLD_LOADER },
                 { .variable = "OCL_ICD_VENDORS", .value = "broken-drivers" },
                 { .variable = "POCL_CACHE_DIR", .value = "/dev/null/cache" } };

static void ask_in_child(struct machine *m, int out)
{
    size_t count;
    unsetenv("OPENCL_LAYERS");
    unsetenv("OCL_ICD_FILENAMES");
    setenv("OCL_ICD_VENDORS", STUB_ICD, 1);
    setenv(m->variable, m->value, 1);
    m->status = ndr_device_list(0, NULL, &count);
    snprintf(m->sentence, sizeof m->sentence, "%s", ndr_last_error());
    _exit(write(out, m, sizeof *m) == (ssize_t)sizeof *m ? 0 : 1);
}

/* Before this process calls OpenCL. */
static void ask_machines(void)
{
    (void)mkdir("no-drivers", 0777); /* may exist from an earlier run */
    (void)mkdir("broken-drivers", 0777);
    write_file("broken-drivers/gone.icd", "libgone.so.1\n");
    for (size_t i = 0; i < COUNT_OF(machines); ++i) {
        int ends[2];
        if (pipe(ends) != 0) abort();
        const pid_t child = fork();
        if (child == 0) ask_in_child(&machines[i], ends[1]);
        if (child < 0 || read(ends[0], &machines[i], sizeof machines[i]) != (ssize_t)sizeof machines[i]) abort();
        waitpid(child, NULL, 0);
        close(ends[0]);
        close(ends[1]);
    }
}

static ndr_status on_machine(const struct machine *m, ndr_status wanted)
{
    return m->status == wanted ? ndr_fail(m->status, "%s", m->sentence) : SKIPPED; /* the loader has other rules */
}
MISTAKE(vendors_without_driver, on_machine(&machines[0], NDR_NO_DRIVER))
MISTAKE(driver_without_device, on_machine(&machines[1], NDR_NO_DEVICE))
MISTAKE(driver_without_library, on_machine(&machines[6], NDR_NO_DRIVER))
MISTAKE(driver_without_folder, on_machine(&machines[7], NDR_NO_DEVICE))
MISTAKE(driver_that_fails, on_machine(&machines[2], NDR_NO_DEVICE))
MISTAKE(no_loader, on_machine(&machines[4], NDR_NO_DRIVER))

static ndr_status old_loader(void)
{
    hide(OLD_LOADER, "{path}");
    return on_machine(&machines[5], NDR_NO_DRIVER);
}

MISTAKE(unknown_quirk, with_env("NDR_QUIRKS", "finish_lock"))
MISTAKE(unknown_selftest, with_env("NDR_SELFTEST", "no"))
MISTAKE(unknown_trace, with_env("NDR_TRACE", "on"))
MISTAKE(trace_without_folder, with_env("NDR_TRACE", "/no-such-folder/trace.json"))
MISTAKE(unknown_dump, with_env("NDR_DUMP", "dumps,slower=1"))
MISTAKE(trace_of_nothing, ndr_trace_start(&(ndr_trace_desc){ 0 }))
MISTAKE(check_in_words, with_env("NDR_CHECK", "true"))
MISTAKE(no_store, ndr_cache_get_folder(4, NULL, &(size_t){ 0 }))

/* ---- other objects ---- */

static ndr_prepared *prepared_scale(void)
{
    ndr_prepared *prepared;
    assert_ok(ndr_prepare(scale, &prepared, ndr_range_1d(1), x, 2.0f));
    return prepared;
}

static ndr_status set_prepared(size_t index, ndr_arg arg)
{
    ndr_prepared *prepared = prepared_scale();
    const ndr_status status = ndr_prepared_set(prepared, index, arg);
    ndr_prepared_destroy(prepared);
    return status;
}
MISTAKE(prepared_index, set_prepared(2, ndr_arg_of(x)))
MISTAKE(prepared_number, set_prepared(0, ndr_arg_of(1.0f)))
MISTAKE(no_prepared, ndr_prepared_run(queue, NULL, NULL))
MISTAKE(nowhere_to_prepare, ndr_prepare(plain, (ndr_prepared **)NULL, ndr_range_1d(1), x))
MISTAKE(parameter_past_end, ndr_kernel_get_parameter(plain, 1, &(ndr_parameter_info){ 0 }))

static ndr_status create_image(ndr_image_desc desc)
{
    ndr_image *image;
    const ndr_status status = ndr_image_create(context, &desc, &image);
    return status == NDR_UNSUPPORTED ? SKIPPED : status; /* no images */
}
#define FLOATS_2D .format = { NDR_CHANNELS_R, NDR_CHANNEL_F32 }, .size
MISTAKE(image_without_size, create_image((ndr_image_desc){ .format = { NDR_CHANNELS_R, NDR_CHANNEL_F32 } }))
MISTAKE(image_of_nothing, create_image((ndr_image_desc){ FLOATS_2D = ndr_range_2d(0, 5) }))
MISTAKE(image_too_large, create_image((ndr_image_desc){ FLOATS_2D = ndr_range_2d((size_t)1 << 30, 5) }))
MISTAKE(image_without_format, create_image((ndr_image_desc){ .size = ndr_range_2d(4, 5) }))
static ndr_status read_line_of_image(ndr_kernel *kernel, ndr_image *image)
{
    return ndr_image_read(queue, image, &(ndr_image_part){ .extent = ndr_range_1d(4) }, host, NULL);
}
MISTAKE(part_of_other_dimensions, with_image(read_line_of_image))

static ndr_status create_sampler(ndr_addressing addressing)
{
    ndr_sampler *sampler;
    const ndr_status status =
        ndr_sampler_create(context, &(ndr_sampler_desc){ .addressing = addressing }, &sampler);
    return status == NDR_UNSUPPORTED ? SKIPPED : status;
}
MISTAKE(repeat_in_elements, create_sampler(NDR_ADDRESSING_REPEAT))
MISTAKE(no_image, ndr_image_read(queue, NULL, NULL, host, NULL))

static ndr_status ask_time(ndr_event *event) { return ndr_event_elapsed_ns(event, &(uint64_t){ 0 }); }
MISTAKE(time_of_own_event, with_event(NDR_OK, ask_time))
static ndr_status fail_with_ok(ndr_event *event) { return ndr_event_fail(event, NDR_OK, "done"); }
static ndr_status fail_without_why(ndr_event *event) { return ndr_event_fail(event, NDR_NOT_FOUND, NULL); }
static ndr_status no_callback(ndr_event *event) { return ndr_event_set_callback(event, NULL, NULL); }
MISTAKE(failed_with_ok, with_event(NDR_OK, fail_with_ok))
MISTAKE(failed_without_why, with_event(NDR_OK, fail_without_why))
MISTAKE(callback_of_nothing, with_event(NDR_OK, no_callback))
MISTAKE(no_event, ndr_event_wait(NULL))
MISTAKE(no_events, ndr_event_wait_all(NULL, 2, NDR_FOREVER))

static ndr_status map_no_shared(ndr_shared *shared)
{
    void *mapped;
    return ndr_shared_map(queue, shared, NDR_MAP_READ, 0, 0, &mapped);
}
MISTAKE(shared_map_of_nothing, with_shared(map_no_shared))
MISTAKE(no_shared, ndr_shared_read(queue, NULL, 0, 8, host, NULL))
MISTAKE(over_and_contents,
        ndr_buffer_create_with(context, &(ndr_buffer_desc){ .size_bytes = 8, .contents = host, .over = host }, &made))
MISTAKE(unknown_host_access,
        ndr_buffer_create_with(context, &(ndr_buffer_desc){ .size_bytes = 8, .host = (ndr_access)9 }, &made))
MISTAKE(no_address, ndr_buffer_get_address(x, &(uint64_t){ 0 }))
MISTAKE(no_pattern, ndr_buffer_fill(queue, x, 0, 8, NULL, 8, NULL))

/* Some devices take these. */
static ndr_status refused(ndr_status status) { return status == NDR_OK ? SKIPPED : status; }
MISTAKE(static_variable, refused(GET(.name = "k", .label = "demo.cl",
                                     .source = "kernel void k(global int *x) { static int n; x[0] = n++; }\n")))
MISTAKE(variable_outside, refused(GET(.name = "k", .label = "demo.cl",
                                      .source = "float a[2] = { 1, 2 };\n"
                                                "kernel void k(global float *x) { x[0] = a[0]; }\n")))
static ndr_status unknown_option(void)
{
    const ndr_status status = GET(.name = "k", .label = "demo.cl", .options = "--fast",
                                  .source = "kernel void k(global int *x) { x[0] = 7; }\n");
    return ndr_last_cl_error() == CL_INVALID_BUILD_OPTIONS ? status : SKIPPED; /* some drivers use another code */
}
MISTAKE(struct_of_size_t, refused(GET(.name = "k", .label = "demo.cl",
                                      .source = "typedef struct { size_t n; } s;\n"
                                                "kernel void k(global int *x, s a) { x[0] = a.n; }\n")))

MISTAKE(power_of_integers, refused(GET(.name = "k", .label = "demo.cl",
                                       .source = "kernel void k(global float *x, int n) { x[0] = pow(2, n); }\n")))
MISTAKE(struct_of_pointer, refused(GET(.name = "k", .label = "demo.cl",
                                       .source = "struct s { global float *p; };\n"
                                                 "kernel void k(struct s a) { a.p[0] = 1; }\n")))
/* Some compilers refuse it themselves, as a parameter without a type. */
static ndr_status range_without_dimensions(void)
{
    const ndr_status status = GET(.name = "k", .label = "demo.cl",
                                  .source = "#include <ndr/item.clh>\n"
                                            "kernel void k(global float *x, NDR_RANGE) { x[0] = 1; }\n");
    if (!strstr(ndr_last_error(), "did not build")) return status;
    assert_non_null(strstr(ndr_last_error(), "need their dimensions, as in NDR_RANGE(1)"));
    return SKIPPED;
}
/* Oclgrind builds it, and reports a fault of its own when it makes the kernel. */
static ndr_status undefined_function(void)
{
    if (quick()) return SKIPPED;
    const ndr_status status = GET(.name = "k", .label = "demo.cl",
                                  .source = "float f(float a);\n"
                                            "kernel void k(global float *x) { x[0] = f(x[0]); }\n");
    if (status == NDR_NOT_FOUND) assert_non_null(strstr(ndr_last_error(), "the text that does to desc->linked"));
    return status == NDR_BUILD_FAILED ? status : SKIPPED;
}

/* ---- with NDR_CHECK=1 ---- */

static ndr_status checked(ndr_status (*mistake)(ndr_context *context, ndr_queue *queue, ndr_buffer *buffer))
{
    ndr_context *watched;
    ndr_queue *line;
    ndr_buffer *buffer;
    assert_ok(ndr_context_create_with(&(ndr_context_desc){ .check = NDR_CHECK_ON }, &watched));
    assert_ok(ndr_queue_create(watched, NULL, &line));
    assert_ok(ndr_buffer_create(watched, 4000, &buffer));
    const ndr_status status = mistake(watched, line, buffer);
    ndr_buffer_destroy(buffer);
    ndr_queue_destroy(line);
    ndr_context_destroy(watched);
    return status;
}

static ndr_status write_past(ndr_context *watched, ndr_queue *line, ndr_buffer *buffer)
{
    ndr_kernel *kernel;
    if (quick()) return SKIPPED; /* Oclgrind reports the write as well */
    assert_ok(ndr_kernel_get(watched, &(ndr_kernel_desc){ .name = "plain", .file = "demo.cl" }, &kernel));
    return ndr_launch(line, kernel, ndr_range_1d(1002), buffer);
}

static ndr_status use_destroyed(ndr_context *watched, ndr_queue *line, ndr_buffer *buffer)
{
    ndr_buffer *gone;
    assert_ok(ndr_buffer_create(watched, 8, &gone));
    ndr_buffer_destroy(gone);
    return ndr_buffer_read(line, gone, 0, 8, host, NULL);
}

static ndr_status use_context_as_queue(ndr_context *watched, ndr_queue *line, ndr_buffer *buffer)
{
    return ndr_queue_flush((ndr_queue *)watched);
}
MISTAKE(wrote_past_end, checked(write_past))
MISTAKE(destroyed_handle, checked(use_destroyed))
MISTAKE(another_handle, checked(use_context_as_queue))

/* ---- the table ---- */

typedef struct row {
    const char *section; /* a heading, with nothing else; or NULL */
    const char *mistake;
    const char *fix;          /* the words that suggest it; NULL: the sentence has only the fault */
    ndr_status (*make)(void); /* NULL: `text` is built, as "demo.cl" */
    const char *text, *options;
} row;

#define SECTION(title) { title, NULL, NULL, NULL, NULL, NULL }
#define CALL(mistake, fix, make) { NULL, mistake, fix, make, NULL, NULL }
#define BUILD(mistake, fix, text) { NULL, mistake, fix, NULL, text, NULL }

#define KERNEL(parameters, body) "kernel void k(" parameters ") { " body " }\n"
#define ALL "#include <ndr/ndr.clh>\n"
#define ITEMS "#include <ndr/item.clh>\n"
#define REDUCERS "#include <ndr/reduction.clh>\n"
#define ND_ITEMS "#include <ndr/nd_item.clh>\n"

static const row rows[] = {
    SECTION("Ranges"),
    CALL("dimension 0", "ndr_range_1d()", no_dimension),
    CALL("dimension 4", "ndr_range_1d()", four_dimensions),
    CALL("not the kernel's dimensions", "launch it over ndr_range_1d()", other_dimensions),
    CALL("global and local of different dimensions", "give both the same number", mixed_dimensions),
    CALL("no range", "pass the address of a range", no_range),
    CALL("local size 0", "set every dimension, or leave all 0", local_zero),
    CALL("larger than the device allows in a dimension", "make it smaller", local_too_long),
    CALL("larger than the kernel allows", "make it smaller", group_too_large),
    CALL("not the `reqd_work_group_size`", "give that one", not_required),
    CALL("a size that the required one does not divide", "make it a multiple, or set edge to", ragged_required),
    CALL("a size that does not divide", "make it a multiple, or set edge to", ragged),
    CALL("a range for a kernel that works in groups", "launch it over an ndr_nd_range", range_for_groups),
    CALL("groups for a kernel that has none", "launch it over an ndr_range", groups_for_range),
    CALL("splitting a plain kernel", "use a multiple of local size", split_plain),
    CALL("an edge that is none", "use NDR_EDGE_REJECT", unknown_edge),
    CALL("more items than can be counted", "launch parts of it", too_many_items),
    CALL("a negative number", "use 0 or more", negative),
    CALL("too many groups", "make groups larger", too_many_groups),
    CALL("offset and size past the end", "make one of them smaller", past_largest_id),
    CALL("global and local size swapped", "global sizes precede local ones", swapped_sizes),

    SECTION("Arguments"),
    CALL("missing", "its parameters are x (float", missing),
    CALL("extra", "its parameters are x (float", extra),
    CALL("unset", "make it with ndr_arg_of()", unset),
    CALL("a double for a float", "write it as in 2.0f", double_for_float),
    CALL("an integer for a float", "write it as in 2.0f", integer_for_float),
    CALL("a float for an integer", "cast it", float_for_integer),
    CALL("a value that does not fit", "cast it", does_not_fit),
    CALL("a number for a buffer", "the parameters in order are", number_for_buffer),
    CALL("a buffer for local memory", "(ndr_local)", buffer_for_local),
    CALL("a NULL buffer", "write ndr_null", null_buffer),
    CALL("another context's buffer", "NDR_CHECK=1 tells which", other_context),
    CALL("a mapped buffer", "unmap it first", mapped_buffer),
    CALL("a struct of another name", "name the same type on both sides", other_struct),
    CALL("a struct of another size", "declare the same members", struct_of_another_size),
    CALL("a vector of another type", "pass a cl_float3", other_vector),
    CALL("more bytes than the driver passes", "put large arguments in a buffer", too_many_bytes),
    CALL("a number beyond the parameter's type", "declare the parameter long", beyond_int),
    CALL("the same as a double", "declare the parameter long", beyond_int_as_double),
    CALL("a kernel of another context", "get the kernel from the queue's context", kernel_of_another_context),
    CALL("no kernel", "get one with ndr_kernel_get()", no_kernel),
    CALL("no queue", "make one with ndr_queue_create()", no_queue),

    SECTION("Local memory"),
    CALL("over the limit", "reduce the ndr_local() arguments or the group size", local_too_large),
    CALL("more than can be counted", "ask for fewer", local_uncountable),
    CALL("too much declared in the kernel", "make its local arrays smaller", large_local_array),
    CALL("none at all", "ask for at least one element", local_of_nothing),
    CALL("of another type", "give ndr_local the kernel's type", local_of_another_type),
    CALL("of another struct", "name the same type on both sides", local_of_another_struct),
    CALL("of a struct of another size", "declare the same members", local_cell_of_another_size),

    SECTION("Buffers"),
    CALL("reading past the end", "at most 4 fit there", read_past_end),
    CALL("the same with an offset near 2^64", "at most 0 fit there", write_past_end),
    CALL("filling past the end", "at most 8 fit there", fill_past_end),
    CALL("larger than the device gives", "use several", too_large),
    CALL("a pattern of 3 bytes", "has 1, 2, 4", odd_pattern),
    CALL("a pattern that does not divide", "must both be multiples", ragged_fill),
    CALL("copying onto itself", "via another buffer", overlap),
    CALL("no host memory", "pass memory of that size", no_host),
    CALL("nothing to start from", "call ndr_buffer_create()", no_contents),
    CALL("nothing to lie over", "call ndr_buffer_create()", nothing_to_lie_over),
    CALL("another context's queue", "or the buffer has been destroyed", buffer_of_another_context),
    CALL("copying between contexts", "create both in one", copy_between_contexts),
    CALL("no buffer", "make one with ndr_buffer_create()", no_buffer),
    CALL("nowhere to put the result", "pass the address of a variable", no_output),
    CALL("mapping nothing", "map at least one byte", map_nothing),
    CALL("mapping for nothing", "use NDR_MAP_READ", unknown_access),
    CALL("mapping twice, once for writing", "unmap the earlier one first", mapped_twice),
    CALL("writing while it is mapped", "unmap it first", written_while_mapped),
    CALL("unmapping another address", "pass the address that ndr_buffer_map() returned", unmap_elsewhere),

    CALL("a view that starts between two multiples", "start it at", ragged_view),
    CALL("a view past the end", "at most 4000 fit there", view_past_end),
    CALL("a row pitch below the row", "increase it", rect_pitch_too_small),
    CALL("a rectangle past the end", "row_pitch_bytes", rect_past_end),
    CALL("reading a buffer that is not for the host", "change ndr_buffer_desc.host", not_for_the_host),
    CALL("writing a buffer that kernels only read", "declare the parameter const", not_for_kernels),
    CALL("memory of the host and contents at once", "set only one", over_and_contents),
    CALL("an access of the host that is none", "use NDR_ACCESS_READ_WRITE", unknown_host_access),
    CALL("the address of a buffer without one", "set ndr_buffer_desc.has_address", no_address),
    CALL("filling with nothing", "pass the address of the value", no_pattern),

    SECTION("Reducers"),
    CALL("another operator", "use the same operator in both", reducer_of_another_op),
    CALL("an initial value of another type", "cast it: (int32_t)value", reducer_of_another_type),
    CALL("no buffer for the result", "pass the buffer that receives the result", reducer_without_buffer),
    CALL("an element past the end", "lower it", reducer_past_end),
    CALL("two reducers of one element", "give each its own element", two_reducers_one_element),
    CALL("a buffer for a reducer", "(ndr_reducer)", buffer_for_reducer),

    SECTION("Shared allocations"),
    CALL("a buffer in place of a shared allocation, in a prepared launch", "prepare", buffer_for_shared),
    CALL("reading past its end", "at most 4 fit there", read_past_shared),
    CALL("ndr_reaches() in place of an argument", "put it after the last argument", reaches_for_argument),
    CALL("a NULL allocation", "write ndr_null", null_shared),
    CALL("mapping nothing of it", "map at least one byte", shared_map_of_nothing),
    CALL("no allocation", "make one with ndr_shared_create()", no_shared),

    SECTION("Prepared launches and parameters"),
    CALL("an index that the kernel lacks", "pass a smaller one", prepared_index),
    CALL("a number for a buffer, in a prepared launch", "the parameters in order are", prepared_number),
    CALL("no prepared launch", "make one with ndr_prepare()", no_prepared),
    CALL("nowhere to put a prepared launch", "pass the address of a variable", nowhere_to_prepare),
    CALL("asking for a parameter that there is not", "pass a smaller one", parameter_past_end),

    SECTION("Images"),
    CALL("writing an image that kernels only read", "ndr_image_desc.kernels", image_to_read),
    CALL("a buffer for an image", NULL, buffer_as_image),
    CALL("reading outside of an image", "make one of them smaller", outside_image),
    CALL("no size", "make it 1, 2 or 3", image_without_size),
    CALL("a size of 0", "give it at least one", image_of_nothing),
    CALL("no format", "set channels and type", image_without_format),
    CALL("larger than the device gives, as an image", "use several images", image_too_large),
    CALL("a part of other dimensions", "make extent with ndr_range_2d()", part_of_other_dimensions),
    CALL("no image", "make one with ndr_image_create()", no_image),
    CALL("a sampler that repeats, in elements", "set is_normalized", repeat_in_elements),

    SECTION("Events and order"),
    CALL("a wait that reaches its limit", "wait again", not_ended),
    CALL("ending an event twice", "end it only once", ended_twice),
    CALL("ending an event of enqueued work", "pass an event of ndr_event_create()", complete_work),
    CALL("a command after work that failed", NULL, after_failed),
    CALL("waiting for one of no events", "pass at least one event", wait_for_any_of_none),
    CALL("a host task without a function", "pass the function to run", task_without_function),
    CALL("the time of an event of one's own", "pass the event of a command", time_of_own_event),
    CALL("failing an event with NDR_OK", "call ndr_event_complete()", failed_with_ok),
    CALL("failing an event without a reason", "pass a text", failed_without_why),
    CALL("a callback that is NULL", "pass the function to call", callback_of_nothing),
    CALL("no event", "or one of ndr_event_create()", no_event),
    CALL("no array of events", "pass an array", no_events),

    SECTION("Kernels and files"),
    CALL("a name that the source lacks", "it has scale, smooth", no_such_kernel),
    CALL("a function without `kernel`", "write `kernel` in front of it", no_kernel_word),
    CALL("a file's name in place of its text", "set desc->file to it", file_as_source),
    CALL("a file that is not there", "relative to the working directory", missing_file),
    CALL("a path that begins with ~", "write the path of the home folder", path_in_home),
    CALL("a file that this user may not read", "give this user the permission", forbidden_file),
    CALL("a name with ()", "it has scale, smooth", name_with_parentheses),
    CALL("a folder", "name a file in it", a_folder),
    CALL("too many open files", "raise the limit", too_many_files),
    CALL("a device or a pipe", "only regular files are read", a_device),
    CALL("more than 16 MiB", "in buffers", huge_file),
    CALL("no text", "save it as UTF-8", zero_byte),
    CALL("a bundled file that is not there", "set desc->file", missing_bundled),
    CALL("no source", "set just one", no_source),
    CALL("two of them", "set just one", two_sources),
    CALL("no name", "set it to the kernel function's name", no_name),
    CALL("a kernel called main", "choose another name", name_main),
    CALL("other texts, but no first one", "set one of them", linked_alone),
    CALL("text as SPIR-V", "pass the bytes of a .spv file", no_module),
    CALL("a binary of 0 bytes", "set it to the size", empty_binary),
    CALL("sub-groups larger than a group", "request a smaller one", no_sub_groups_that_large),

    SECTION("Building"),
    BUILD("NDR_RANGE forgotten", "add that to the kernel",
          ITEMS KERNEL("global float *x", "const ndr_item it = NDR_ITEM(1); x[ndr_global_id(it, 0)] = 1;")),
    BUILD("NDR_ND_RANGE forgotten", "add that to the kernel",
          "#include <ndr/group.clh>\n" KERNEL("global float *x",
                                              "const ndr_nd_item it = NDR_ND_ITEM(1); x[0] = it.dims;")),
    BUILD("NDR_RANGE not last", "move it to the end", ITEMS KERNEL("NDR_RANGE(1), global float *x", "x[0] = 1;")),
    BUILD("NDR_ITEM in a helper function", "pass the item to helper functions",
          ITEMS "float f(void) { const ndr_item it = NDR_ITEM(1); return ndr_global_id(it, 0); }\n" KERNEL(
              "global float *x, NDR_RANGE(1)", "x[0] = f();")),
    BUILD("NDR_ITEM of other dimensions", "write the same number in both",
          ITEMS KERNEL("global float *x, NDR_RANGE(1)", "const ndr_item it = NDR_ITEM(2); x[0] = it.dims;")),
    BUILD(
        "NDR_ND_ITEM of other dimensions", "write the same number in both",
        ND_ITEMS KERNEL("global float *x, NDR_ND_RANGE(2)", "const ndr_nd_item it = NDR_ND_ITEM(1); x[0] = it.dims;")),
    BUILD("four dimensions", "1 to 3", ITEMS KERNEL("global float *x, NDR_RANGE(4)", "x[0] = 1;")),
    BUILD("NDR_ITEM in a kernel with NDR_ND_RANGE", "use a matching pair",
          ND_ITEMS KERNEL("global float *x, NDR_ND_RANGE(1)", "const ndr_item it = NDR_ITEM(1); x[0] = it.dims;")),
    BUILD("NDR_ND_ITEM in a kernel with NDR_RANGE", "use a matching pair",
          ND_ITEMS KERNEL("global float *x, NDR_RANGE(1)", "const ndr_nd_item it = NDR_ND_ITEM(1); x[0] = it.dims;")),
    BUILD("the same where group functions are included", "use a matching pair",
          "#include <ndr/group.clh>\n" KERNEL("global float *x, NDR_RANGE(1)",
                                              "const ndr_nd_item it = NDR_ND_ITEM(1); x[0] = it.dims;")),
    BUILD("ndr_nd_item for NDR_ITEM", "name that type",
          ND_ITEMS KERNEL("global float *x, NDR_RANGE(1)", "const ndr_nd_item it = NDR_ITEM(1); x[0] = it.dims;")),
    BUILD("no header at all", "#include \"ndr/item.clh\"", KERNEL("global float *x, NDR_RANGE(1)", "x[0] = 1;")),
    BUILD("another header than the barrier's", "#include \"ndr/nd_item.clh\"",
          ITEMS KERNEL("global float *x, NDR_RANGE(1)", "ndr_group_barrier(1); x[0] = 1;")),
    BUILD("another header than the atomics'", "#include \"ndr/atomic.clh\"",
          ITEMS KERNEL("global int *x, NDR_RANGE(1)", "ndr_atomic_fetch_add(x, 1);")),
    BUILD("another header than the loop's", "#include \"ndr/loops.clh\"",
          ITEMS KERNEL("global int *x, NDR_RANGE(1)", "NDR_FOR_GLOBAL(i, NDR_ITEM(1), 5) x[i] = 1;")),
    BUILD("no header of tiles of matrices", "#include \"ndr/matrix.clh\"",
          ALL KERNEL("global float *x, NDR_ND_RANGE(1)", "ndr_matrix sum; x[0] = 1;")),
    BUILD("a reduction of an item", "g is ndr_get_group(it)",
          ALL KERNEL("global float *x, NDR_ND_RANGE(1)",
                     "const ndr_nd_item it = NDR_ND_ITEM(1); x[0] = ndr_reduce_over_group(it, 1.0f, NDR_PLUS);")),
    BUILD("a scan whose init has another type", "once for each component of a vector",
          ALL KERNEL("global float *x, NDR_ND_RANGE(1)",
                     "x[0] = ndr_exclusive_scan_over_group(ndr_get_group(NDR_ND_ITEM(1)), 1.0f, 0, NDR_PLUS);")),
    BUILD("a copy from one type to another", "cast any other pointer",
          ALL KERNEL(
              "global float4 *x, local float *t, NDR_ND_RANGE(1)",
              "const ndr_group g = ndr_get_group(NDR_ND_ITEM(1)); ndr_group_wait(g, ndr_group_copy(g, t, x, 5));")),
    BUILD("waiting for a copy with an item", "pass ndr_get_group(it)",
          "#include <ndr/copy.clh>\n" KERNEL("global float *x, local float *t, NDR_ND_RANGE(1)",
                                             "const ndr_nd_item it = NDR_ND_ITEM(1); const ndr_copy c = "
                                             "ndr_group_copy(ndr_get_group(it), t, x, 5); ndr_group_wait(it, c);")),
    BUILD("a barrier with OpenCL's flag", "fence is NDR_FENCE_LOCAL",
          ND_ITEMS KERNEL("global float *x, NDR_ND_RANGE(1)",
                          "ndr_group_barrier(ndr_get_group(NDR_ND_ITEM(1)), CLK_LOCAL_MEM_FENCE); x[0] = 1;")),
    BUILD("a kernel with reducers, but no NDR_REDUCE", "write it there",
          REDUCERS KERNEL("NDR_REDUCTION(1, (SUM, int, sum))", "")),
    BUILD("return in a kernel with reducers", "end an index with `continue`",
          REDUCERS KERNEL("NDR_REDUCTION(1, (SUM, int, sum))", "NDR_REDUCE(i, 1, sum) { return; }")),
    BUILD("an operator that a reducer's type lacks", "for integers BIT_AND",
          REDUCERS KERNEL("NDR_REDUCTION(1, (BIT_AND, float, sum))", "NDR_REDUCE(i, 1, sum) NDR_COMBINE(sum, 1.0f);")),
    BUILD("NDR_REDUCE of other dimensions", "write the same dimensions and reducers in both",
          REDUCERS KERNEL("NDR_REDUCTION(1, (SUM, int, sum))", "NDR_REDUCE(i, 2, sum) NDR_COMBINE(sum, 1);")),
    BUILD("NDR_COMBINE of another reducer", "NDR_REDUCE names",
          REDUCERS KERNEL("NDR_REDUCTION(1, (SUM, int, sum))", "NDR_REDUCE(i, 1, sum) NDR_COMBINE(most, 1);")),
    BUILD("NDR_REDUCE twice", "combine all its reducers in that",
          REDUCERS KERNEL("NDR_REDUCTION(1, (SUM, int, sum))",
                          "NDR_REDUCE(i, 1, sum) NDR_COMBINE(sum, 1); NDR_REDUCE(j, 1, sum) NDR_COMBINE(sum, 1);")),
    CALL("reducers on a compiler without variadic macros", "leave out -cl-std", no_variadic_macros),
    BUILD("an atomic that fits nothing", "for an integer, cast a float",
          "#include <ndr/atomic.clh>\n" KERNEL("global int *x, NDR_RANGE(1)",
                                               "ndr_atomic_fetch_add(x, (float4)(1)); ndr_atomic_fetch_add(x, 1.5f);")),
    BUILD("a barrier in a kernel over a range", "make it an nd_range",
          ND_ITEMS KERNEL("global float *x, NDR_RANGE(1)", "const ndr_item it = NDR_ITEM(1); ndr_group_barrier(it);")),
    BUILD("an operator of the host", "in a kernel write NDR_PLUS",
          ALL KERNEL("global float *x, NDR_ND_RANGE(1)", "const ndr_group g = ndr_get_group(NDR_ND_ITEM(1)); "
                                                         "x[0] = ndr_reduce_over_group(g, 1.0f, NDR_OP_SUM);")),
    BUILD("an operator of group functions for a reducer", "write (SUM, float, s)",
          ALL KERNEL("NDR_REDUCTION(1, (NDR_PLUS, float, sum))", "NDR_REDUCE(i, 1, sum) NDR_COMBINE(sum, 1.0f);")),
    BUILD("adding to a reducer without NDR_COMBINE", "write NDR_COMBINE(sum, x)",
          REDUCERS KERNEL("NDR_REDUCTION(1, (SUM, float, sum))", "NDR_REDUCE(i, 1, sum) sum += 1.0f;")),
    BUILD("a file of the vocabulary that there is not", "#include \"ndr/item.clh\"",
          "#include <ndr/items.clh>\n" KERNEL("global float *x", "x[0] = 1;")),
    BUILD("the same with no name near it", "in ndr/ it has atomic.clh",
          "#include <ndr/warp_shuffles.clh>\n" KERNEL("global float *x", "x[0] = 1;")),
    BUILD("an included file that is not found", "set include_dirs",
          "#include \"helper.h\"\n" KERNEL("global float *x", "x[0] = 1;")),
    BUILD("rand()", "a seed that the host passes", KERNEL("global float *x", "x[0] = rand();")),
    BUILD("a size_t as a parameter", "write ulong", KERNEL("global float *x, size_t n", "x[0] = n;")),
    { NULL, "a word in the options without its -", "as in -DTILE=16", NULL, KERNEL("global float *x", "x[0] = 1;"),
      "-w -DN=1 TILE=16" },
    { NULL, "an option without its macro or folder", "add a macro to -D", NULL, KERNEL("global float *x", "x[0] = 1;"),
      "-D N=1 -I " },
    { NULL, "an unterminated quote in the options", "close it", NULL, KERNEL("global float *x", "x[0] = 1;"),
      "-DNAME=\"n" },
    { NULL, "a macro in the options with a name that the vocabulary uses", "define it behind the #include", NULL,
      ITEMS KERNEL("global float *x, NDR_RANGE(1)", "x[0] = n;"), "-D n=17" },
    BUILD("such a macro in the text", "define it behind the #include",
          "#define d 0\n" ITEMS KERNEL("global float *x, NDR_RANGE(1)", "x[0] = d;")),
    { NULL, "the vocabulary in OpenCL C 1.1", "write -cl-std=CL1.2", NULL,
      ITEMS KERNEL("global float *x, NDR_RANGE(1)", "x[0] = 1;"), "-cl-std=CL1.1" },
    CALL("`NDR_RANGE` without its dimensions", "write, for example, NDR_RANGE(1)", range_without_dimensions),
    BUILD("the host's header", "write #include \"ndr/ndr.clh\"",
          "#include <ndr/ndr.h>\n" KERNEL("global float *x", "x[0] = 1;")),
    CALL("an include folder that is not there", "correct the name, or add its folder", missing_folder),
    CALL("a function that no text defines", "add the text or file that does to desc->linked", undefined_function),
    CALL("a folder that the driver cannot write to", "set POCL_CACHE_DIR to another folder", cache_of_driver),
    CALL("the same in the home folder", "set HOME to another folder", cache_in_home),
    CALL("the same for temporary files", "set TMPDIR to another folder", temporary_files),
    BUILD("any other error: the log follows", NULL,
          KERNEL("global float *x", "switch ((int)x[0]) { case 1: case 1: x[0] = 1; }")),

    SECTION("Words of C, C++ and CUDA in a kernel"),
    BUILD("`__syncthreads()`", "write ndr_group_barrier(ndr_get_group(it))",
          KERNEL("global float *x", "__syncthreads(); x[0] = 1;")),
    BUILD("`threadIdx.x`", "write get_local_id(0)", KERNEL("global float *x", "x[threadIdx.x] = 1;")),
    BUILD("`blockIdx.x`", "write get_group_id(0)", KERNEL("global float *x", "x[blockIdx.x] = 1;")),
    BUILD("`blockDim.x`", "write get_local_size(0)", KERNEL("global float *x", "x[blockDim.x] = 1;")),
    BUILD("`atomicAdd()`", "write ndr_atomic_fetch_add()", KERNEL("global int *x", "atomicAdd(&x[0], 1);")),
    BUILD("`__global__`", "write kernel", "__global__ void k(float *x) { x[0] = 1; }\n"),
    BUILD("`__device__`", "leave it out",
          "__device__ float f(float a) { return a; }\n" KERNEL("global float *x", "x[0] = f(1);")),
    BUILD("`__shared__`", "write local",
          KERNEL("global float *x", "__shared__ float t[64]; t[0] = x[0]; x[1] = t[0];")),
    BUILD("`warpSize`", "write get_max_sub_group_size()", KERNEL("global float *x", "x[0] = warpSize;")),
    BUILD("`__shfl_down_sync()`", "write ndr_shift_group_left()",
          KERNEL("global float *x", "x[0] = __shfl_down_sync(0xff, x[0], 1);")),
    BUILD("`make_float4()`", "write (float4)(a, b, c, d)",
          KERNEL("global float4 *x", "x[0] = make_float4(1.0f, 2.0f, 3.0f, 4.0f);")),
    BUILD("`__expf()`", "write native_exp", KERNEL("global float *x", "x[0] = __expf(x[1]);")),
    BUILD("`__ldg()`", "read x[i] itself", KERNEL("global float *x", "x[0] = __ldg(&x[1]);")),
    BUILD("`malloc()`", "take a buffer as a parameter",
          KERNEL("global float *x", "float *p = malloc(4); x[0] = p[0];")),
    BUILD("`memcpy()`", "in a loop", KERNEL("global float *x", "memcpy(x, x + 4, 4);")),
    BUILD("`fprintf()`", "write printf()", KERNEL("global float *x", "fprintf(stderr, \"a\"); x[0] = 1;")),
    BUILD("`assert()`", "store a code in a buffer", KERNEL("global float *x", "assert(x[0] > 0); x[0] = 1;")),
    BUILD("`exit()`", "end the work-item with return", KERNEL("global float *x", "if (x[0] < 0) exit(1); x[0] = 1;")),
    BUILD("`clock()`", "measure on the host", KERNEL("global long *x", "x[0] = clock();")),
    BUILD("`sinf()`", "write sin()", KERNEL("global float *x", "x[0] = sinf(x[0]);")),
    BUILD("`uint64_t`", "write ulong", KERNEL("global float *x", "uint64_t n = 1; x[0] = n;")),
    BUILD("`INT32_MAX`", "write INT_MAX", KERNEL("global float *x", "x[0] = INT32_MAX;")),
    BUILD("`template`", "write one function for each type",
          "template <typename T> T f(T a) { return a; }\n" KERNEL("global float *x", "x[0] = f(1.0f);")),
    BUILD("`class`", "write a typedef of a struct",
          "class point { float a; };\n" KERNEL("global float *x", "x[0] = 1;")),
    BUILD("`new`", "take a buffer as a parameter", KERNEL("global float *x", "float *p = new float[3]; x[0] = p[0];")),
    BUILD("`nullptr`", "write 0, or NULL", KERNEL("global float *x", "if (x == nullptr) return; x[0] = 1;")),
    BUILD("`static_cast<float>(n)`", "write (float)n",
          KERNEL("global float *x, int n", "x[0] = static_cast<float>(n);")),
    BUILD("`vec4`", "write float4", KERNEL("global float *x", "vec4 v = (vec4)(1); x[0] = v.x;")),
    BUILD("`std::min()`", "leave out std::", KERNEL("global float *x", "x[0] = std::min(x[0], x[1]);")),
    BUILD("`using namespace`", "leave the line out", "using namespace sycl;\n" KERNEL("global float *x", "x[0] = 1;")),
    BUILD("`throw`", "store a code in a buffer", KERNEL("global float *x", "if (x[0] < 0) throw 1; x[0] = 1;")),
    BUILD("`auto` for a type", "write the type", KERNEL("global float *x", "auto i = get_global_id(0); x[i] = 1;")),
    BUILD(
        "`it.get_global_id(0)`", "write ndr_global_id(it, 0)",
        ITEMS KERNEL("global float *x, NDR_RANGE(1)", "const ndr_item it = NDR_ITEM(1); x[it.get_global_id(0)] = 1;")),
    BUILD("`__syncwarp()`", "write ndr_group_barrier(ndr_get_sub_group(it))",
          KERNEL("global float *x", "__syncwarp(); x[0] = 1;")),
    BUILD("`std::vector`", "an array in place of std::vector",
          KERNEL("global float *x", "std::vector<float> v; x[0] = 1;")),
    BUILD("`string`", "a buffer of char", KERNEL("global float *x", "string s = \"a\"; x[0] = 1;")),
    BUILD("`max<float>()`", "write max(a, b)", KERNEL("global float *x", "x[0] = max<float>(x[0], 1.0f);")),
    BUILD("a reference", "take a pointer",
          "void f(float &a) { a = 1; }\n" KERNEL("global float *x", "float a; f(a); x[0] = a;")),
    BUILD("a default argument", "pass each argument",
          "float f(float a = 1) { return a; }\n" KERNEL("global float *x", "x[0] = f();")),
    BUILD("a function in a struct", "outside of the struct",
          "struct point { float a; void set() { a = 1; } };\n" KERNEL("global float *x", "x[0] = 1;")),
    BUILD("`extern \"C\"`", "leave out extern \"C\"", "extern \"C\" " KERNEL("global float *x", "x[0] = 1;")),
    BUILD("`foreach`", "write for (int i = 0; i < n; ++i)",
          KERNEL("global float *x", "foreach (int i in x) { x[i] = 1; }")),
    BUILD("a slice", "write a loop", KERNEL("global float *x", "x[0:4] = 1;")),
    BUILD("Python's `def`", "write a kernel in C", "def k(x):\n    x[0] = 1\n"),
    BUILD("Python's comment", "begin a comment with //", "# a kernel\n" KERNEL("global float *x", "x[0] = 1;")),
    BUILD("`#include <math.h>`", "leave it out", "#include <math.h>\n" KERNEL("global float *x", "x[0] = 1;")),

    SECTION("Rules of OpenCL C"),
    BUILD("a pointer without an address space", "write global in front of its type", KERNEL("float *x", "x[0] = 1;")),
    BUILD("a pointer to pointers", "pass one buffer", KERNEL("global float **x", "x[0][0] = 1;")),
    BUILD("an array whose size is a variable", "write -DN=64",
          KERNEL("global float *x, int n", "float t[n]; t[0] = x[0]; x[1] = t[0];")),
    BUILD("local memory in a helper function", "declare it there",
          "float f(float a) { local float t[4]; t[0] = a; return t[0]; }\n" KERNEL("global float *x", "x[0] = f(1);")),
    BUILD("a local variable with a value", "declare it without one",
          KERNEL("global float *x", "local float t = 0; x[0] = t;")),
    BUILD("a pointer to a function", "choose with if",
          "float f(float a) { return a; }\n" KERNEL("global float *x", "float (*p)(float) = f; x[0] = p(1);")),
    BUILD("a kernel that returns a number", "write kernel void", "kernel int k(global int *x) { return x[0]; }\n"),
    BUILD("a local pointer to global memory", "declare it with the same word",
          KERNEL("global float *x", "local float *p = x; p[0] = 1;")),
    BUILD("two address spaces", "leave one of", KERNEL("local global float *x", "x[0] = 1;")),
    BUILD("min() of a float and an int", "cast them to one type",
          KERNEL("global float *x, int n", "x[0] = min(x[0], n);")),
    BUILD("get_global_id() without a dimension", "get_global_id(0)",
          KERNEL("global float *x", "x[get_global_id()] = 1;")),
    BUILD("barrier() without a fence", "barrier(CLK_LOCAL_MEM_FENCE)",
          KERNEL("global float *x", "barrier(); x[0] = 1;")),
    BUILD("ndr_global_id() without an item", "ndr_global_id(it, 0)",
          ITEMS KERNEL("global float *x, NDR_RANGE(1)", "x[ndr_global_id(0)] = 1;")),
    BUILD("no comma in front of NDR_RANGE", "behind a comma",
          ITEMS KERNEL("global float *x NDR_RANGE(1)", "x[ndr_global_id(NDR_ITEM(1), 0)] = 1;")),
    BUILD("atomic_add() of a float", "write ndr_atomic_fetch_add",
          KERNEL("global float *x", "atomic_add(&x[0], 1.0f);")),
    BUILD("writing to what is const", "leave out const", KERNEL("global const float *x", "x[0] = 1;")),
    BUILD("restrict in front of the star", "restrict belongs behind the star",
          KERNEL("global float restrict *x", "x[0] = 1;")),
    BUILD("an image read with [ ]", "read_imagef(", KERNEL("read_only image2d_t a, global float *x", "x[0] = a[0];")),
    BUILD("float4(a, b, c, d)", "write (float4)(a, b, c, d)",
          KERNEL("global float4 *x", "x[0] = float4(1.0f, 2.0f, 3.0f, 4.0f);")),
    BUILD("a struct's name without struct", "write struct point p",
          "struct point { float a; };\n" KERNEL("global float *x", "point p; p.a = 1; x[0] = p.a;")),
    BUILD("a bool as a parameter", "write int for the parameter", KERNEL("global float *x, bool a", "x[0] = a;")),
    BUILD("a name that is not declared", "declare it above that line", KERNEL("global float *x", "x[0] = b;")),
    BUILD("a function that is not declared", "it above that line",
          KERNEL("global float *x", "x[0] = weight_of(x[1]);")),
    BUILD("a variable called like a type", "another name",
          KERNEL("global float *x", "float half = 0.5f; x[0] = half;")),
    BUILD("a parameter called like a word", "another name", KERNEL("global float *kernel", "kernel[0] = 1;")),
    BUILD("a constant that the device computes", "compute what depends on the item or the device in the kernel",
          "constant int n = get_global_size(0);\n" KERNEL("global float *x", "x[0] = n;")),
    BUILD("a variable number of arguments", "pass an array and its length",
          "int f(int n, ...) { return n; }\n" KERNEL("global float *x", "x[0] = f(1, 2);")),
    BUILD("a missing semicolon", "add it", KERNEL("global float *x", "float a = x[0]\n x[1] = a;")),
    BUILD("a missing brace", "add the }", "kernel void k(global float *x) { if (x[0] > 1) { x[1] = 1; \n"),
    BUILD("a misspelt word", "write global", KERNEL("gloabl float *x", "x[0] = 1;")),
    BUILD("`%` of floats", "write fmod(a, b)", KERNEL("global float *x", "x[0] = x[1] % 2.0f;")),
    BUILD("`^` for a power", "pow(a, b)", KERNEL("global float *x", "x[0] = x[1] ^ 2;")),
    BUILD("arithmetic with a pointer", "take an element", KERNEL("global float *x", "x[0] = x * 2.0f;")),
    CALL("pow() of integers", "cast them to one type", power_of_integers),
    BUILD("a component that the vector lacks", "declare a longer vector",
          KERNEL("global float *x", "float3 v = (float3)(1, 2, 3); x[0] = v.w;")),
    BUILD("a missing parenthesis", "a ( is not closed", KERNEL("global float *x", "x[0] = sqrt(x[1];")),
    BUILD("a comment without an end", "has no end: add", "/* a kernel\n" KERNEL("global float *x", "x[0] = 1;")),
    CALL("a pointer in a struct that is a parameter", "a parameter of its own", struct_of_pointer),
    CALL("a static variable", "write constant in front", static_variable),
    CALL("a variable outside of a function", "write constant in front", variable_outside),
    CALL("a size_t in a struct that is a parameter", "with ulong in place of size_t", struct_of_size_t),
    CALL("an option that the driver does not know", "leave it out", unknown_option),

    SECTION("Operations"),
    CALL("more elements than the buffer holds", "lower the count or the offset", reduce_past_end),
    CALL("output inside the input", "move one of them", reduce_into_itself),
    CALL("exact product", "use NDR_NUMERICS_REPRODUCIBLE", reduce_exact_product),
    CALL("factors of a maximum", "ndr_map_reduce()", reduce_factors_of_max),
    CALL("no element type", "use i8, u8", reduce_no_dtype),
    CALL("a type that the method does not take", "use NDR_REDUCE_TREE", reduce_bad_dtype),
    CALL("no operator", "use NDR_OP_SUM", reduce_no_op),
    CALL("no such method", "use NDR_REDUCE_TREE", reduce_bad_method),
    CALL("no output", "set output.buffer", reduce_no_output),
    CALL("no type of a scan", "use i8, u8", scan_no_dtype),
    CALL("no operator of a scan", "use NDR_OP_SUM", scan_no_op),
    CALL("bits of floats", "or another operator", scan_bits_of_floats),
    CALL("an initial value of another type", "ndr_arg_of() of one", scan_bad_initial),
    CALL("flags and a length", "leave out the other", scan_two_segments),
    CALL("a scan into half of its input", "move one of them", scan_into_half),
    CALL("a scan along a dimension that there is not", "use 0 to 1", array_scan_no_axis),
    CALL("a scan into an array of another shape", "make them the same", array_scan_of_another_shape),
    CALL("a scan along rows into the transposed matrix", "move one of them", array_scan_into_transposed),
    CALL("no descriptor", "whose members are set", reduce_no_desc),
    CALL("keys sorted into half of themselves", "move one of them", sort_into_half),
    CALL("no type of the keys", "NDR_DTYPE_I8 to", sort_no_dtype),
    CALL("bits that the keys do not have", "use at most 32", sort_bits_past_end),
    CALL("no bits to sort by", "must be lower", sort_no_bits),
    CALL("segments by offsets and by their length", "leave out the other", sort_two_segmentations),
    CALL("keys sorted over the offsets of their segments", "move one of them", sort_over_offsets),
    CALL("more of the smallest keys than there are", "use 1 to 20", top_k_too_many),
    CALL("the smallest keys of segments of which one has fewer", "use a multiple of the length", top_k_ragged),
    CALL("the smallest keys, and nowhere to store them", "set top_keys.buffer", top_k_no_output),
    CALL("the smallest keys stored over the keys", "move one of them", top_k_over_keys),
    CALL("inner sizes disagree", "a needs as many columns as b has rows", inner_sizes),
    CALL("outer sizes disagree", "make c that size", outer_sizes),
    CALL("c overlaps a", "move one of them", c_overlaps_a),
    CALL("c past the end", "make the matrix or its offset smaller", c_past_end),
    CALL("a pitch below the width", "use at least 10", pitch_too_small),
    CALL("products of a batch in one place", "make c_stride 16 or more", batch_without_stride),
    CALL("factors that are not set", "write .scaling = ndr_scaling_of(2, 0)", forgotten_scaling),
    CALL("an expression of a name that is not there", "pass a scalar or an array of that name", map_unknown_name),
    CALL("an index in an expression", "write x in place of x[i]", map_index),
    CALL("an assignment to an input", "pass the array as an output, too", map_into_input),
    CALL("an output without a value", "assign it", map_no_assignment),
    CALL("no statement", "set it to OpenCL C such as", map_no_statement),
    CALL("no output of a map", "set outputs", map_no_output),
    CALL("a name with a blank", "use letters", map_bad_name),
    CALL("the index as a name", "choose another name", map_index_as_name),
    CALL("no operator of an expression", "use NDR_OP_SUM", map_reduce_no_op),
    CALL("an operator without its identity", "set both or none", map_reduce_no_identity),
    CALL("two values in an expression", "write one value", map_reduce_two_values),
    CALL("a dimension that the shape lacks", "use bit 0", map_reduce_bad_axes),
    CALL("an operator of one's own that names an array", "belongs in expression", combine_unknown_name),
    CALL("an identity that is not declared", "correct the name", identity_unknown_name),
    CALL("a scalar that finish lacks", "pass a scalar of that name", finish_unknown_name),
    CALL("an array that an epilogue lacks", "pass a scalar or an array of that name", epilogue_unknown_name),
    CALL("a copy to another type", "convert with ndr_map()", copy_of_another_type),
    CALL("indexes that are floats", "use i32", gather_by_floats),
    CALL("a histogram without bins", "use 1 or more", histogram_no_bins),
    CALL("bins of no range", "upper the greater one", histogram_no_range),
    CALL("too many channels", "use 1 to 4", histogram_of_5_channels),
    CALL("normal values of integers", "use f32 or f64", random_normal_integers),
    CALL("random integers below 0", "set it to the number of values", random_below_nothing),
    CALL("a selection by nothing", "set flags.buffer", select_without_flags),
    CALL("elements without an order", "set less to OpenCL C", merge_without_order),
    CALL("the name of a function as the order", "write a < b", merge_by_a_name),
    CALL("f64 where there is none", "use f32", no_f64),
    CALL("64-bit atomics where there are none", "use NDR_REDUCE_TREE", no_int64_atomics),

    SECTION("Drivers, devices and events"),
    CALL("NDR_OPENCL naming no library", "unset NDR_OPENCL", no_loader),
    CALL("an OpenCL library without OpenCL 1.2's functions", "install a newer ICD loader", old_loader),
    CALL("OCL_ICD_VENDORS naming a folder without drivers", "unset it", vendors_without_driver),
    CALL("an .icd file whose library is missing", "reinstall that driver", driver_without_library),
    CALL("a driver without a device", "check that the device is plugged in", driver_without_device),
    CALL("the same for a user without a folder to write to", "set POCL_CACHE_DIR or HOME", driver_without_folder),
    CALL("a driver that fails when asked for its devices", "run `ndr doctor`", driver_that_fails),
    CALL("a name that no device has", "choose from {devices}", unknown_device),
    CALL("a type that is not there", "choose from {devices}", no_accelerator),
    CALL("an index that is not there", "choose from {devices}", index_past_end),
    CALL("a number past the devices of a type", "choose from {devices}", fewer_devices),
    CALL("a name in the environment", "choose from {devices}", unknown_device_by_env),
    CALL("a word that NDR_DISABLE does not know", "use fp64", unknown_word),
    CALL("a word that NDR_CHECK does not know", "set it to 1 or 0", unknown_switch),
    CALL("a relative path as the store", "which begins with /", relative_store),
    CALL("a limit of the store that is no number", "set it to a number of MiB", unknown_limit),
    CALL("the same with its unit", "set it to a number of MiB", limit_with_unit),
    CALL("warming a store that is off", "unset NDR_CACHE", warm_without_store),
    CALL("a word that NDR_LOG does not know", "set it to error", unknown_level),
    CALL("a fault that NDR_QUIRKS does not know", "use + or -", unknown_quirk),
    CALL("a word that NDR_SELFTEST does not know", "use off", unknown_selftest),
    CALL("a word that NDR_TRACE does not know", "set it to table", unknown_trace),
    CALL("a trace in a folder that is not there", "choose a folder", trace_without_folder),
    CALL("a trace of nothing", "set one or both", trace_of_nothing),
    CALL("a word that NDR_DUMP does not know", "set it to a folder", unknown_dump),
    CALL("NDR_CHECK as a word", "set it to 1 or 0", check_in_words),
    CALL("no memory for a text", "pass memory of that size", no_store),
    CALL("a level that there is not", "use NDR_LOG_DEFAULT", level_past_end),
    CALL("a check mode that is none", "NDR_CHECK_ON or NDR_CHECK_OFF", unknown_check),
    CALL("no context", "make one with ndr_context_create()", no_context),
    CALL("nowhere to put devices", "pass an array of that many elements", no_devices),
    CALL("a time that was not kept", "create it with ndr_queue_desc.is_profiling", no_times),

    SECTION("With NDR_CHECK=1"),
    CALL("a launch that wrote past the end", "compare the kernel's indices and the range", wrote_past_end),
    CALL("a destroyed handle", "destroy it after its last use", destroyed_handle),
    CALL("another kind of handle", "pass a queue", another_handle),
};

/* ---- the page ---- */

static const char begins[] = "<!-- errors: written by test_errors, see above -->\n", ends[] = "<!-- errors: end -->\n";
static const char all_mistakes[] = "appendix/errors.md";

/* NVIDIA's compiler knows CUDA's words. */
static bool may_be_accepted(const char *mistake)
{
    return context->caps.info.warp_size == 32 && strstr(mistake, "__syncthreads") != NULL;
}

/* Clang reports std in a statement as undeclared since it parses :: in C, too, and takes std: for a label before. */
static bool has_another_sentence(const char *mistake, const char *sentence)
{
    return strstr(mistake, "std::vector") && strstr(sentence, "std is a word of C++");
}

/* Make the mistake and write its line of the page; false if that is not possible here. */
static bool print_row(const row *r, ndr_text *out)
{
    hidden_count = 0;
    const ndr_kernel_desc desc = { .name = "k", .source = r->text, .label = "demo.cl", .options = r->options };
    const ndr_status status = r->make ? r->make() : ndr_kernel_get(context, &desc, &built);
    if (status == SKIPPED) return false;
    if (status == NDR_OK && r->text && may_be_accepted(r->mistake)) return false;
    if (status == NDR_OK) fail_msg("\"%s\" was not refused", r->mistake);
    ndr_text sentence = { 0 };
    print_sentence(ndr_last_error(), &sentence);
    if (r->fix && !strstr(sentence.chars, r->fix))
        print_error("\"%s\": the sentence lacks its fix, \"%s\"\n  %s\n", r->mistake, r->fix, ndr_last_error());
    assert_true(!r->fix || strstr(sentence.chars, r->fix));
    const bool is_of_page = !has_another_sentence(r->mistake, sentence.chars);
    if (is_of_page) ndr_text_add(out, "| %s | `%s` | %s |\n", r->mistake, ndr_status_name(status), sentence.chars);
    ndr_text_free(&sentence);
    return is_of_page;
}

static size_t count_mistakes(bool with_fix)
{
    size_t count = 0;
    for (size_t i = 0; i < COUNT_OF(rows); ++i) count += rows[i].mistake && (rows[i].fix || !with_fix);
    return count;
}

static void page_path(const char *name, char path[1024])
{
    snprintf(path, 1024, "%s/../docs/%s", getenv("NDR_TEST_DIR"), name);
}

static void read_page(const char *name, ndr_text *page)
{
    char path[1024];
    page_path(name, path);
    assert_ok(ndr_source_read(path, page));
}

static void write_page(const char *page, const char *begin, const char *tables, const char *end)
{
    char path[1024];
    ndr_text out = { 0 };
    ndr_text_add_chars(&out, page, (size_t)(begin - page));
    ndr_text_add(&out, "%s%s", tables, end);
    page_path(all_mistakes, path);
    write_file(path, out.chars);
    ndr_text_free(&out);
}

/* One row or heading. A mistake that is not possible here keeps its line of the page. */
static void print_piece(const row *r, const char *page, ndr_text *out)
{
    char begin[128];
    snprintf(begin, sizeof begin, "| %s | `", r->mistake ? r->mistake : "");
    if (r->section) ndr_text_add(out, "\n### %s\n\n| | status | sentence |\n|---|---|---|\n", r->section);
    else if (!print_row(r, out)) {
        const char *there = strstr(page, begin);
        print_message("\"%s\" cannot be made here\n", r->mistake);
        assert_non_null(there);
        ndr_text_add(out, "%.*s\n", (int)strcspn(there, "\n"), there);
    }
}

/* Print the lines in which two texts differ; true if none does. */
static bool compare(const char *page, const char *calls)
{
    bool same = true;
    while (*page || *calls) {
        const size_t there = strcspn(page, "\n"), here = strcspn(calls, "\n");
        if (there != here || memcmp(page, calls, here) != 0) {
            print_error("the page has\n%.*s\nand the calls give\n%.*s\n", (int)there, page, (int)here, calls);
            same = false;
        }
        page += there + (page[there] == '\n');
        calls += here + (calls[here] == '\n');
    }
    return same;
}

static void test_errors__are_as_the_page_says(void **state)
{
    ndr_text page = { 0 }, tables = { 0 };
    read_page(all_mistakes, &page);
    for (size_t i = 0; i < COUNT_OF(rows); ++i) print_piece(&rows[i], page.chars, &tables);
    ndr_text_add(&tables, "\n%zu mistakes; %zu of these sentences name the fix.\n\n", count_mistakes(false),
                 count_mistakes(true));
    const char *begin = strstr(page.chars, begins), *end = strstr(page.chars, ends);
    assert_true(begin && end);
    begin += strlen(begins);
    if (getenv("NDR_TEST_WRITE")) write_page(page.chars, begin, tables.chars, end);
    ndr_text there = { 0 };
    ndr_text_add_chars(&there, begin, (size_t)(end - begin));
    const bool same = getenv("NDR_TEST_WRITE") || compare(there.chars, tables.chars);
    ndr_text_free(&there);
    ndr_text_free(&page);
    ndr_text_free(&tables);
    assert_true(same);
}

static void test_errors__frequent_mistakes_have_the_same_sentences(void **state)
{
    ndr_text guide = { 0 }, page = { 0 };
    read_page("errors.md", &guide);
    read_page(all_mistakes, &page);
    char *line = strstr(guide.chars, "\n## Ten frequent mistakes\n");
    assert_true(line && (line = strstr(line, "|---|---|---|\n")));
    size_t count = 0;
    for (line = strtok(line, "\n"); (line = strtok(NULL, "\n")) && *line == '|'; ++count) {
        const char *const said = strstr(line, "| `NDR_");
        const bool is_there = said && strstr(page.chars, said);
        if (!is_there) print_error("docs/%s does not have the sentence of docs/errors.md\n%s\n", all_mistakes, line);
        assert_true(is_there);
    }
    assert_int_equal(count, 10);
    ndr_text_free(&guide);
    ndr_text_free(&page);
}

static void test_errors__name_an_empty_variable_as_the_cause(void **state)
{
    const struct machine *m = &machines[3];
    skip_without(m->status != NDR_OK, "this loader takes an empty OCL_ICD_VENDORS for none");
    assert_refused(NDR_NO_DRIVER, ndr_fail(m->status, "%s", m->sentence), "OCL_ICD_VENDORS is \"\": unset it");
}

static void test_errors__mostly_tell_the_fix(void **state)
{
    assert_true(count_mistakes(false) >= 60);
    assert_true(60 * count_mistakes(true) >= 45 * count_mistakes(false));
}

/* ---- compilers' logs ---- */

/* What is known of a text that includes what a kernel over a range does; free `source`. */
static void expand_text(const char *text, ndr_source *source)
{
    *source = (ndr_source){ 0 };
    assert_ok(ndr_source_expand(&(ndr_source_desc){ .title = "demo.cl", .text = text }, source));
}

/* Explain the log of a text; free `out`. */
static void explain(const char *text, const char *options, const char *log, ndr_text *out)
{
    ndr_source source;
    expand_text(text, &source);
    ndr_explain_log(&source, options, log, out);
    ndr_source_free(&source);
}

static const char ranged[] = "#include <ndr/nd_item.clh>\nkernel void k(global float *x) { }\n";

/* NVIDIA's and Oclgrind's compilers ignore #line. */
static void test_explain__finds_the_file_and_line_of_a_compiler_that_counts_the_whole_text(void **state)
{
    static const char text[] = "int a;\n#line 1 \"demo.cl\"\nint b;\nwrong c;\n#line 7\n"
                               "wrong d;\n#line 20 \"other.clh\"\n\nwrong e;\n";
    static const struct {
        const char *log, *placed;
    } cases[] = {
        { "<kernel>:4:1: error: unknown\nwrong c;\n^\n", "demo.cl:2:1: error: unknown\nwrong c;\n^\n" },
        { "x\n<kernel>:6:1: error: no\nwrong d;\n^\n<kernel>:9:1: note: no\nwrong e;",
          "x\ndemo.cl:7:1: error: no\nwrong d;\n^\nother.clh:21:1: note: no\nwrong e;" },
        { "demo.cl:4:1: error: no\nwrong c;\n", NULL },                       /* its own file's line 4 */
        { "<kernel>:5:1: error: no\nwrong c;\n", NULL },                      /* another line is shown */
        { "<kernel>:1:1: error: no\nint a;\n", NULL },                        /* before the first #line */
        { "<kernel>:4:1: error: no\n", NULL },                                 /* none is shown */
        { "<kernel>:40:1: error: no\nwrong c;\n", NULL },                     /* behind the text */
        { "<kernel>: error: no\n4:1\n\n:::\nx:99999999999999999999:1:\n\n", NULL },
        { "<kernel>:4:1: error: no", NULL },
        { "", "" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); ++i) {
        ndr_text out = { 0 };
        ndr_explain_places(text, cases[i].log, &out);
        assert_string_equal(out.chars ? out.chars : "", cases[i].placed ? cases[i].placed : cases[i].log);
        ndr_text_free(&out);
    }
}

static void test_explain__knows_an_error_by_its_names_in_any_compiler_s_words(void **state)
{
    static const struct {
        const char *log, *sentence;
    } cases[] = {
        { "error: t.cl:2:54: use of undeclared identifier 'ndr_record_'\n", "add that to the kernel" },
        { "<kernel>:2:54: error: identifier \"ndr_record_\" is undefined\n  x\n", "add that to the kernel" },
        { "t.cl:2:5: warning: unused ndr_record_\nt.cl:3:5: error: ndr_scratch_ unknown\n", "a matching pair" },
        { "1:1: error: no way from ndr_range_record_1 to ndr_nd_range_record_1\n", "a matching pair" },
        { "1:1: error: no way from ndr_range_record_1 to ndr_range_record_2\n", "the same number in both" },
        { "1:1: fatal error: ndr_reduce_over_group?\n", "is declared in ndr/group.clh: #include \"ndr/group.clh\"" },
        { "1:1: error: no b\n1:2: error: no NDR_FOR_LOCAL\n", "NDR_FOR_LOCAL is declared in ndr/loops.clh" },
        { "1:1: error: call to 'ndr_group_barrier' fits nothing\n", "ndr_group_barrier takes (g)" },
        { "1:1: error: call to 'ndr_combine' fits nothing\n", "ndr_combine is declared in ndr/op.clh" },
        { "1:1: warning: no ndr_group_barrier\nptxas fatal   : Unresolved extern function 'ndr_combine'\n",
          "ndr_combine is declared in ndr/op.clh" },
        { "1:1: warning: implicit declaration of NDR_FOR_LOCAL\n1:1: error: unknown i\n",
          "NDR_FOR_LOCAL is declared in ndr/loops.clh" },
        { "1:1: error: assigning to 'ndr_reducer_SUM_float *' from incompatible type\n", "NDR_COMBINE(sum, x)" },
        { "1:1: error: implicit declaration of function 'rand' is invalid\n", "OpenCL C has no rand()" },
        { "1:1: warning: implicit declaration of 'rand'\nptxas fatal   : Unresolved extern function 'rand'\n",
          "OpenCL C has no rand()" },
        { "1:1: error: redefinition of 'rand'\n", NULL },
        { "1:1: error: 'bool' cannot be used as the type of a kernel parameter\n", "write int for the parameter" },
        { "1:1: error: kernel cannot be called 'main'\n", "a kernel is not called main: choose another name" },
        { "<kernel>:1:9: error: identifier \"threadIdx\" is undefined\n", "write get_local_id(0)" },
        { "1:1: error: call to undeclared function 'sinf'; did you mean 'sin'?\n", "write sin()" },
        { "1:1: warning: no 'malloc'\nptxas fatal   : Cannot take address of function 'malloc' \n", "take a buffer" },
        { "1:1: warning: implicit declaration of 'malloc'\nptxas fatal   : Unresolved extern function 'malloc'\n",
          "take a buffer" },
        { "1:1: error: redefinition of 'clock'\n", NULL },
        { "Error(s) while linking:\nCannot find symbol f in kernel library\n", "to desc->linked" },
        { "ptxas fatal   : Unresolved extern function 'f'\n", "to desc->linked" },
        { "(file=input,line=0): Unresolved external reference to \"f\".\n", "to desc->linked" },
        { "1:1: error: variables in function scope cannot be declared static\n", "write constant" },
        { "1:1: error: type specifier missing, defaults to 'int'\n", "as in NDR_RANGE(1)" },
        { "1:1: error: use of type 'double' requires cl_khr_fp64 support\n", "choose a device" },
        { "1:1: error: kernel parameter cannot be declared as a pointer to a pointer\n", "pass one buffer" },
        { "1:1: error: static local variable must reside in global or constant address space\n", "write constant" },
        { "1:1: error: duplicate case value\n1:9: error: expected '}'\n", NULL },
        { "less:3:1: error: use of undeclared identifier 'f'\n", "write a < b" },
        { "k.cl:1:1: error: use of undeclared identifier 'less'\n", "declare it above that line" },
        { "1:1: error: '/usr/include/math.h' has it\n", NULL },
        { "1:1: error: no NDR_OP_BIT_AND\n", "write NDR_BIT_AND (ndr/op.clh), and BIT_AND in the parentheses" },
        { "1:1: error: 'ndr_leader' is unavailable: why; and how\n", "ndr_leader: why; and how" },
        { "1:1: error: 'mine' is unavailable: why\n", NULL },
        { "1:1: error: call to unavailable function 'ndr_group_barrier': why\n", "ndr_group_barrier: why" },
        { "1:1: error: 'ndr/itme.clh' not found\n", "has no ndr/itme.clh: write #include \"ndr/item.clh\"" },
        { "1:1: error: 'ndr/item.clh' not found\n", "no macro puts together: write #include \"ndr/item.clh\"" },
        { "1:1: error: ndr_item is not ndr_itemised\n", NULL },
        { "1:1: error: my_ndr_record_ and ndr_record are mine\n", NULL },
        { "2:54: note: ndr_record_\n2:55: warning: ndr_record_\nndr_record_", NULL },
        { "", NULL },
    };
    for (size_t i = 0; i < COUNT_OF(cases); ++i) {
        ndr_text out = { 0 };
        explain(ranged, "", cases[i].log, &out);
        if (cases[i].sentence) assert_non_null(strstr(out.chars ? out.chars : "", cases[i].sentence));
        else assert_int_equal(out.length, 0);
        ndr_text_free(&out);
    }
}

static void test_explain__names_the_macro_that_changes_the_vocabulary(void **state)
{
    const ndr_source_file *file = ndr_source_find("ndr/item.clh");
    unsigned number = 1;
    for (const char *at = file->text; at < strstr(file->text, "ndr_pick_(uint n"); ++at) number += *at == '\n';
    static const struct {
        const char *text, *options, *macro; /* NULL: no sentence */
    } cases[] = {
        { "", "-D n=17", "n" },          { "", "-DT=float -D\tn", "n" },   { "", "-Dof3=1 -Dn1 -DN=2", NULL },
        { "", "-DNDR_INLINE_=", NULL }, { " # define  n 17\n", "", "n" }, { "#define of1(a) a\n", "-D T=n", "of1" },
        { "#define\n", "-D", NULL },    { "#undef n\n", "", NULL },
        { "#include <ndr/op.clh>\n", "", NULL },
    };
    static const char *const logs[] = { "error: kernels/ndr/item.clh:%u:35: expected ')'\n",
                                        "kernels/ndr/item.clh:%u:35: error: expected ')'\n",
                                        "kernels/ndr/item.clh:1:2: error: e\nkernels/ndr/item.clh:%u:1: note: here\n" };
    for (size_t i = 0; i < COUNT_OF(cases); ++i)
        for (size_t j = 0; j < COUNT_OF(logs); ++j) {
            ndr_text out = { 0 };
            char log[128], wanted[64];
            snprintf(log, sizeof log, logs[j], number);
            snprintf(wanted, sizeof wanted, "the macro %s changes ndr/item.clh,", cases[i].macro);
            explain(cases[i].text, cases[i].options, log, &out);
            if (cases[i].macro) assert_non_null(strstr(out.chars ? out.chars : "", wanted));
            else assert_int_equal(out.length, 0);
            ndr_text_free(&out);
        }
    ndr_text out = { 0 }; /* a compiler that shows lines, without the names of files */
    explain("", "-D n=17", "input.cl:173:35: error: expected ')'\n  NDR_INLINE_ size_t ndr_pick_(uint n, size_t of0\n", &out);
    assert_non_null(strstr(out.chars, "the macro n changes ndr/item.clh,"));
    ndr_text_clear(&out);
    explain("", "-D n=17", "input.cl:173:35: error: duplicate case value\n    return n;\n", &out);
    assert_int_equal(out.length, 0);
    /* places that there are not, and an error of the user's own text */
    explain("", "-D n=17",
                    "error: kernels/ndr/item.clh:99999:1: e\nerror: kernels/ndr/none.clh:3:1: e\n"
                    "error: kernels/ndr/item.clh: e\nerror: demo.cl:3:1: e\n",
                    &out);
    assert_int_equal(out.length, 0);
    ndr_text_free(&out);
}

/* Each name with the header that declares it. With that header each of these texts builds. */
static void test_explain__names_the_header_that_is_missing(void **state)
{
    static const char *const names[][2] = {
        { "ndr_global_id", "item" },
        { "NDR_RANGE", "item" },
        { "ndr_nd_item", "nd_item" },
        { "ndr_group_barrier", "nd_item" },
        { "NDR_ND_RANGE", "nd_item" },
        { "ndr_leader", "nd_item" },
        { "NDR_PLUS", "op" },
        { "ndr_combine", "op" },
        { "ndr_atomic_fetch_add", "atomic" },
        { "NDR_RELAXED", "atomic" },
        { "ndr_joint_reduce",  "joint" },
        { "ndr_all_of_group", "group" },
        { "ndr_sub_group", "sub_group" },
        { "ndr_group_copy", "copy" },
        { "ndr_group_wait", "copy" },
        { "NDR_FOR_GROUPS", "loops" },
        { "ndr_h_item", "hierarchy" },
        { "ndr_at", "local" },
    };
    for (size_t i = 0; i < COUNT_OF(names); ++i) {
        ndr_text out = { 0 };
        char log[128], wanted[128];
        snprintf(log, sizeof log, "error: t.cl:1:1: unknown '%s'\n", names[i][0]);
        snprintf(wanted, sizeof wanted, "%s is declared in ndr/%s.clh: #include \"ndr/%s.clh\", or \"ndr/ndr.clh\"",
                 names[i][0], names[i][1], names[i][1]);
        explain("kernel void k() {}\n", "", log, &out);
        assert_string_equal(out.chars, wanted);
        ndr_text_free(&out);
    }
    /* A compiler that tells of a macro's argument only. */
    static const char *const uses[][2] = {
        { "NDR_FOR_GLOBAL(i, it, 5) x[i] = 1;", "loops" },   { "NDR_FOR_GROUPS(i, g, 5) x[i] = 1;", "loops" },
        { "NDR_FOR_LOCAL(i, g, 5) x[i] = 1;", "loops" },     { "NDR_WORK_ITEMS(i, g) x[i] = 1;", "hierarchy" },
        { "NDR_WORK_ITEMS_OVER(i, g, 5) ;", "hierarchy" },   { "NDR_PRIVATE(int, i); x[i] = 1;", "hierarchy" },
        { "NDR_GROUP_LOCAL(int, i, g, 0);", "hierarchy" },   { "NDR_REDUCE(i, 1, sum) sum += i;", "reduction" },
        { "int i = 1; x[i] = 1;", NULL },
    };
    for (size_t i = 0; i < COUNT_OF(uses); ++i) {
        ndr_text out = { 0 };
        char text[128], wanted[128] = "a name is not declared";
        snprintf(text, sizeof text, "kernel void k(global int *x) { %s }\n", uses[i][0]);
        if (uses[i][1]) snprintf(wanted, sizeof wanted, "is declared in ndr/%s.clh: #include ", uses[i][1]);
        explain(text, "", "t.cl:1:1: error: use of undeclared identifier 'i'\n", &out);
        if (!strstr(out.chars, wanted)) fail_msg("%s: %s", uses[i][0], out.chars);
        ndr_text_free(&out);
    }
}

static void test_build__reads_words_of_options_as_compilers_do(void **state)
{
    static const char *const taken[] = { "", " \t\n", "-DA=1 ", " -D A=1\t-DB=(2) -I . -I/x -cl-std=CL1.2", "-D \"A=1 2\"",
                                         "\"-DA=1 2\" -w", "-DA=\\\"", "-DA=\\\"a\\\" -DB", "-cl-nv-maxrregcount 32",
                                         "-include a.h -w", "-D -DA", "-DA=-1" };
    static const char *const refused[] = { "A", "-", "-DA B", "-D A B", "-I. B", "-w A B", "-D", "-I", "-DA -D\n", "\"",
                                           "-DA=\"1", "-DA \"B\"", "- A" };
    for (size_t i = 0; i < COUNT_OF(taken); ++i) assert_ok(ndr_build_check_options("t", taken[i]));
    for (size_t i = 0; i < COUNT_OF(refused); ++i)
        assert_refused(NDR_BAD_ARGUMENT, ndr_build_check_options("t", refused[i]), "\"t\": options");
}

static void test_explain__keeps_errors_with_their_notes_and_drops_warnings(void **state)
{
    ndr_text out = { 0 };
    ndr_explain_shorten("In another's words:\n1:1: warning: w\n  source\n1:1: note: of w\n1:2: error: e\n  source\n"
                        "1:3: note: of e\n1:4: warning: v\n1:5: error: f\n2 errors generated.\n",
                        &out);
    assert_string_equal(out.chars,
                        "In another's words:\n1:2: error: e\n  source\n1:3: note: of e\n1:5: error: f\n"
                        "2 errors generated.\n(4 lines of the log are left out; ndr_last_build_log() has all)");
    ndr_text_clear(&out);
    ndr_explain_shorten("1:1: warning: w\n1:1: error: e", &out);
    assert_string_equal(out.chars, "1:1: error: e\n(1 lines of the log are left out; ndr_last_build_log() has all)");
    ndr_text_clear(&out);
    ndr_explain_shorten("1:1: warning: w\nassembler fatal : nothing known", &out);
    assert_string_equal(out.chars, "1:1: warning: w\nassembler fatal : nothing known");
    ndr_text_free(&out);
}

static size_t count_lines(const char *text)
{
    size_t lines = 0;
    for (; *text; ++text) lines += *text == '\n';
    return lines;
}

static void test_explain__cuts_a_long_log(void **state)
{
    ndr_text log = { 0 }, out = { 0 };
    for (int e = 0; e < 30; ++e) {
        ndr_text_add(&log, "1:%d: error: e%d.\n", e, e);
        for (int note = 0; note < 50; ++note) ndr_text_add(&log, "1:1: note: candidate %d of e%d.\n", note, e);
    }
    ndr_explain_shorten(log.chars, &out);
    assert_int_equal(count_lines(log.chars), 30 * 51);
    assert_int_equal(count_lines(out.chars), 10 * 12);
    assert_non_null(strstr(out.chars, "candidate 10 of e9."));
    assert_null(strstr(out.chars, "candidate 11 of"));
    assert_null(strstr(out.chars, "e10."));
    assert_non_null(strstr(out.chars, "(1410 lines of the log are left out"));
    ndr_text_free(&log);
    ndr_text_free(&out);
}

/* Sixteen errors and a warning. The sentence is cut, and the log has all of them. */
static void test_build__keeps_the_log_that_its_sentence_cuts(void **state)
{
    ndr_text text = { 0 };
    ndr_text_add(&text, "kernel void k(global int *x)\n{\n");
    for (int e = 1; e <= 16; ++e) ndr_text_add(&text, "    x[0] = nobody%d;\n", e);
    ndr_text_add(&text, "}\n");
    assert_refused(NDR_BUILD_FAILED, GET(.name = "k", .source = text.chars), "nobody1'", "nobody10'",
                   "of the log are left out; ndr_last_build_log() has all)");
    ndr_text_free(&text);
    assert_null(strstr(ndr_last_error(), "nobody11"));
    assert_non_null(strstr(ndr_last_build_log(), "nobody1'"));
    assert_non_null(strstr(ndr_last_build_log(), "nobody16'"));
    assert_null(strstr(ndr_last_build_log(), "did not build"));
    assert_ok(GET(.name = "scale", .file = "demo.cl")); /* a call that succeeds does not change it */
    assert_non_null(strstr(ndr_last_build_log(), "nobody16'"));
    assert_int_equal(ndr_queue_create(NULL, NULL, NULL), NDR_BAD_ARGUMENT);
    assert_string_equal(ndr_last_build_log(), "");
}

/* ---- warnings ---- */

/* A line that compilers build with a warning. The number makes each text different. */
#define WARNED "kernel void k(global int *x)\n{\n    if (x[0] = %lld) x[1] = 1;\n}\n"

/* Build a new text, because a driver's cache would return a known one without warnings. */
static void build_with_warning(void)
{
    char text[256];
    snprintf(text, sizeof text, WARNED, ((long long)time(NULL) * 1000 + getpid()) % 1000000000);
    assert_ok(GET(.name = "k", .source = text, .label = "warned.cl"));
}

/* The driver's own log of the build of `built`. */
static void ask_driver_for_log(size_t capacity, char *log)
{
    cl_program program;
    assert_int_equal(clGetKernelInfo(built->cl, CL_KERNEL_PROGRAM, sizeof program, &program, NULL), CL_SUCCESS);
    assert_int_equal(clGetProgramBuildInfo(program, context->device, CL_PROGRAM_BUILD_LOG, capacity, log, NULL),
                     CL_SUCCESS);
}

static void test_kernel__log_has_the_warnings(void **state)
{
    char log[4096], start[8], wanted[4096] = "";
    size_t length = 0, again = 0;
    build_with_warning();
    ask_driver_for_log(sizeof wanted, wanted);
    skip_without(strstr(wanted, "warning"), "the driver keeps no warnings of a build that succeeded");
    assert_ok(ndr_kernel_get_log(built, 0, NULL, &length));
    assert_ok(ndr_kernel_get_log(built, sizeof log, log, NULL));
    assert_true(length < sizeof log && strlen(log) == length);
    assert_string_equal(log, wanted);
    assert_ok(ndr_kernel_get_log(built, sizeof start, start, &again));
    assert_int_equal(again, length);
    assert_int_equal(strlen(start), sizeof start - 1);
    assert_memory_equal(start, log, sizeof start - 1);
}

static void test_kernel__log_refuses_what_it_cannot_fill(void **state)
{
    char log[8] = "before";
    size_t length = 77;
    assert_refused(NDR_BAD_ARGUMENT, ndr_kernel_get_log(scale, 8, NULL, &length), "text is NULL, but capacity is 8");
    assert_refused(NDR_BAD_ARGUMENT, ndr_kernel_get_log(NULL, 8, log, &length), "kernel is NULL");
    assert_int_equal(length, 77);
    assert_string_equal(log, "before");
}

/* A warning has a place in the text, unless it is a remark of a back end on a loop that it did not vectorise as asked. */
static bool has_warning(const char *log)
{
    for (const char *at = log; (at = strstr(at, "warning")); ++at)
        if (strncmp(at, "warning: <unknown>:", strlen("warning: <unknown>:")) != 0) return true;
    return false;
}

static void check_log_of_built(void)
{
    size_t length = 0;
    assert_ok(ndr_kernel_get_log(built, 0, NULL, &length));
    char *log = test_malloc(length + 1);
    assert_ok(ndr_kernel_get_log(built, length + 1, log, NULL));
    assert_false(has_warning(log));
    test_free(log);
}

/* With -Werror a warning fails the build, even with a driver's cache. Not all drivers support it. */
static void build_strictly(const ndr_op_variant *built_row, const ndr_op_plan *plan)
{
    char strict[NDR_OPTIONS_SIZE + 16];
    snprintf(strict, sizeof strict, "%s -Werror", plan->options);
    assert_ok(GET(.name = built_row->kernel, .bundled = built_row->file, .options = strict));
    check_log_of_built();
}

/* Each row that the device takes, for those of `count` requests that it can run, at least one. */
static void build_rows_strictly(const ndr_operation *operation, const void *const *requests, size_t count)
{
    for (size_t i = 0; i < operation->variant_count; ++i) {
        const ndr_op_variant *variant = operation->variants[i];
        unsigned tried = 0;
        if (!takes_variant(operation, variant)) continue;
        for (size_t r = 0; r < count; ++r) {
            if (ndr_op_cannot(variant, requests[r])) continue;
            const ndr_op_plan plan = ndr_op_make_plan(variant, &context->caps, requests[r]);
            build_strictly(variant, &plan);
            ++tried;
        }
        if (tried == 0) fail_msg("%s: no request here is one for %s", operation->name, variant->name);
    }
}

static void build_for(const ndr_operation *operation, const void *request) { build_rows_strictly(operation, &request, 1); }

static void skip_without_warnings(void)
{
    char text[256];
    snprintf(text, sizeof text, WARNED, 1LL);
    const ndr_status status = GET(.name = "k", .source = text, .options = "-Werror");
    char log[4096] = "";
    if (status == NDR_OK) ask_driver_for_log(sizeof log, log);
    skip_without(status != NDR_OK || strstr(log, "warning"), "the driver neither heeds -Werror nor tells warnings");
}

static void test_kernel__of_the_library_builds_without_a_warning(void **state)
{
    skip_without_warnings();
    const ndr_reduce_request sum = { .dtype = NDR_DTYPE_F32, .op = NDR_OP_SUM, .input = { .cols = 1 << 20 } };
    ndr_reduce_request atomic = sum, recursive = sum;
    atomic.method = NDR_REDUCE_ATOMIC;
    recursive.method = NDR_REDUCE_RECURSIVE;
    const void *const sums[] = { &sum, &atomic, &recursive };
    const ndr_matmul_request product = {
        .dtype = NDR_DTYPE_F32, .c = { .rows = 512, .cols = 512 }, .core = ndr_core_of(0), .depth = 512
    };
    ndr_matmul_request rounded = product, narrow = product, wide = product, thin = product;
    rounded.accuracy = NDR_ACCURACY_TF32;
    narrow.dtype = NDR_DTYPE_F16;
    wide.dtype = NDR_DTYPE_F64;
    thin.c.rows = thin.c.cols = 4;
    const void *const products[] = { &product, &rounded, &narrow, &thin, &wide };
    build_rows_strictly(&ndr_reduce_operation, sums, COUNT_OF(sums));
    for (unsigned form = 0; form < 3; ++form) {
        const ndr_scan_request scan = { .dtype = NDR_DTYPE_F32,
                                        .op = NDR_OP_MIN,
                                        .is_exclusive = form > 0,
                                        .is_backward = form == 1,
                                        .segments = (ndr_scan_segments)form,
                                        .input = { .cols = 1 << 20, .element_bytes = sizeof(float) } };
        build_for(&ndr_scan_operation, &scan);
    }
    const ndr_array matrix = ndr_array_of(NULL, NDR_DTYPE_F32, ndr_range_2d(100, 200));
    for (unsigned axis = 0; axis < 2; ++axis) {
        ndr_line_request lines = { .scan = { .dtype = NDR_DTYPE_F32, .op = NDR_OP_SUM, .is_exclusive = axis } };
        ndr_lines_lay_out(&matrix, &matrix, axis, &lines);
        build_for(&ndr_array_scan_operation, &lines);
    }
    const ndr_sort_request sort = { .dtype = NDR_DTYPE_F32, .bits = 32, .count = 1000, .value_bytes = 12 };
    ndr_sort_request segments = sort;
    build_rows_strictly(&ndr_matmul_operation, products, COUNT_OF(products) - !device.has_f64);
    build_for(&ndr_sort_operation, &sort);
    build_for(&ndr_sort_segments_operation, &segments);
    segments.length = 10;
    build_for(&ndr_sort_segments_operation, &segments);
    const ndr_top_k_request top = {
        .order = { .dtype = NDR_DTYPE_F32, .bits = 32, .value_bytes = 8 }, .rows = 3, .length = 1000, .k = 10, .value_bytes = 12
    };
    build_for(&ndr_top_k_operation, &top);
    build_for(&ndr_top_k_select_operation, &top);
    build_for(&ndr_top_k_values_operation, &top);
}

static void test_kernel__with_the_whole_vocabulary_builds_without_a_warning(void **state)
{
    skip_without_warnings();
    static const char all[] = ALL KERNEL("global float *x, NDR_ND_RANGE(1)", "x[NDR_ND_ITEM(1).dims] = 1;");
    assert_ok(GET(.name = "k", .source = all, .options = "-Werror"));
    check_log_of_built();
    if (context->caps.c_version <= 120) return;
    assert_ok(GET(.name = "k", .source = all, .options = "-Werror -cl-std=CL1.2"));
    check_log_of_built();
}

/* ---- the language ---- */

static void test_build__takes_names_that_only_older_languages_leave_free(void **state)
{
    static const char text[] =
        "/* a pipe */\nkernel void k(global int *x) { int pipe = 40; x[0] = pipe + __OPENCL_C_VERSION__; }\n";
    int32_t version = 0;
    const ndr_status status = GET(.name = "k", .source = text, .options = "-cl-std=CL1.2");
    skip_without(status == NDR_OK, "the compiler reserves pipe in OpenCL C 1.2 as well");
    ndr_fail(NDR_BAD_ARGUMENT, "from before");
    assert_ok(GET(.name = "k", .source = text));
    assert_string_equal(ndr_last_error(), "from before");
    assert_ok(ndr_launch(queue, built, ndr_range_1d(1), x));
    read_buffer(x, &version, sizeof version);
    assert_true(version == 160 || version == 40 + (int)context->caps.c_version); /* if pipe is free there too */
    if (context->caps.c_version > 120 && version == 160) {
        assert_refused(NDR_BUILD_FAILED, GET(.name = "k", .source = text, .options = "-cl-std=CL3.0"), "did not build");
    }
}

/* If the older language fails as well, the sentence has the errors of the first build. */
static void test_build__tells_the_errors_of_the_language_that_was_asked_for(void **state)
{
    char wanted[32];
    snprintf(wanted, sizeof wanted, "-cl-std=CL%u.%u", context->caps.c_version / 100,
             context->caps.c_version / 10 % 10);
    assert_refused(NDR_BUILD_FAILED,
                   GET(.name = "k", .source = KERNEL("global int *x", "int pipe = 1; x[0] = nobody;")), wanted,
                   "nobody");
}

static void test_build__takes_an_older_language_for_what_has_no_vocabulary(void **state)
{
    const ndr_status status =
        GET(.name = "k", .source = KERNEL("global int *x", "x[0] = 1;"), .options = "-cl-std=CL1.1");
    if (status != NDR_OK) assert_refused(NDR_BUILD_FAILED, status, "did not build"); /* not libndr's refusal */
}

int main(void)
{
    ask_machines();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_errors__are_as_the_page_says),
        cmocka_unit_test(test_errors__frequent_mistakes_have_the_same_sentences),
        cmocka_unit_test(test_errors__mostly_tell_the_fix),
        cmocka_unit_test(test_errors__name_an_empty_variable_as_the_cause),
        cmocka_unit_test(test_explain__finds_the_file_and_line_of_a_compiler_that_counts_the_whole_text),
        cmocka_unit_test(test_explain__knows_an_error_by_its_names_in_any_compiler_s_words),
        cmocka_unit_test(test_build__reads_words_of_options_as_compilers_do),
        cmocka_unit_test(test_explain__names_the_macro_that_changes_the_vocabulary),
        cmocka_unit_test(test_explain__names_the_header_that_is_missing),
        cmocka_unit_test(test_explain__keeps_errors_with_their_notes_and_drops_warnings),
        cmocka_unit_test(test_explain__cuts_a_long_log),
        cmocka_unit_test(test_build__keeps_the_log_that_its_sentence_cuts),
        cmocka_unit_test(test_build__takes_names_that_only_older_languages_leave_free),
        cmocka_unit_test(test_build__tells_the_errors_of_the_language_that_was_asked_for),
        cmocka_unit_test(test_build__takes_an_older_language_for_what_has_no_vocabulary),
        cmocka_unit_test(test_kernel__log_has_the_warnings),
        cmocka_unit_test(test_kernel__log_refuses_what_it_cannot_fill),
        cmocka_unit_test(test_kernel__of_the_library_builds_without_a_warning),
        cmocka_unit_test(test_kernel__with_the_whole_vocabulary_builds_without_a_warning),
    };
    return cmocka_run_group_tests(tests, open_demo, close_demo);
}
