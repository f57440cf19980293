/* test_check.c - NDR_CHECK: writes outside a buffer are reported exactly, correct programs are not reported, and
 * an invalid handle is refused.
 *
 * All contexts here are checked, except in one test. While an unchecked context is open, an unknown pointer may be one
 * of its handles. */
#include "support.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "device/buffer.h"
#include "device/check.h"
#include "device/context.h"
#include "ndr/ndr_cl.h"
#include "ndr/ndr_image.h"
#include "reference.h"

static const char kernels[] = "#include <ndr/nd_item.clh>\n"
                              "kernel void put(global uchar *x, long at, uchar value, NDR_RANGE(1))\n"
                              "{\n"
                              "    const ndr_item it = NDR_ITEM(1);\n"
                              "    x[at + (long)ndr_global_id(it, 0)] = value;\n"
                              "}\n"
                              "kernel void fill_1d(global float *x, NDR_RANGE(1))\n"
                              "{\n"
                              "    const ndr_item it = NDR_ITEM(1);\n"
                              "    x[ndr_global_linear_id(it)] = 1;\n"
                              "}\n"
                              "kernel void fill_2d(global float *x, NDR_RANGE(2))\n"
                              "{\n"
                              "    const ndr_item it = NDR_ITEM(2);\n"
                              "    x[ndr_global_linear_id(it)] = 1;\n"
                              "}\n"
                              "kernel void fill_3d(global float *x, NDR_RANGE(3))\n"
                              "{\n"
                              "    const ndr_item it = NDR_ITEM(3);\n"
                              "    x[ndr_global_linear_id(it)] = 1;\n"
                              "}\n"
                              "kernel void fill_groups(global float *x, NDR_ND_RANGE(1))\n"
                              "{\n"
                              "    const ndr_nd_item it = NDR_ND_ITEM(1);\n"
                              "    x[ndr_global_id(it, 0)] = 1;\n"
                              "}\n"
                              "kernel void fill_guarded(global float *x, NDR_ND_RANGE(1))\n"
                              "{\n"
                              "    const ndr_nd_item it = NDR_ND_ITEM(1);\n"
                              "    if (ndr_in_range(it)) x[ndr_global_id(it, 0)] = 1;\n"
                              "}\n"
                              "kernel void twice(global float *x, long by, NDR_RANGE(1))\n"
                              "{\n"
                              "    const ndr_item it = NDR_ITEM(1);\n"
                              "    x[(long)ndr_global_id(it, 0) + by] *= 2;\n"
                              "}\n"
                              "kernel void fill_plain(global float *x) { x[get_global_id(0)] = 1; }\n"
                              "kernel void copy(global const float *from, global float *to, NDR_RANGE(1))\n"
                              "{\n"
                              "    const ndr_item it = NDR_ITEM(1);\n"
                              "    to[ndr_global_id(it, 0)] = from[ndr_global_id(it, 0)];\n"
                              "}\n"
                              "kernel void tell_address(global const uchar *x, global ulong *out, NDR_RANGE(1))\n"
                              "{\n"
                              "    const ndr_item it = NDR_ITEM(1);\n"
                              "    out[ndr_global_id(it, 0)] = (ulong)x;\n"
                              "}\n"
                              "kernel void put_far(global uchar *x, ulong here, ulong there, NDR_RANGE(1))\n"
                              "{\n"
                              "    const ndr_item it = NDR_ITEM(1);\n"
                              "    x[there - here + ndr_global_id(it, 0)] = 7;\n"
                              "}\n";

enum { N = 1000, BYTES = N * (int)sizeof(float) };

static ndr_kernel *get(const char *name) { return kernel_of(kernels, name); }

static int open_checked(void **state)
{
    const ndr_context_desc desc = { .check = NDR_CHECK_ON };
    if (ndr_context_create_with(&desc, &context) != NDR_OK || ndr_queue_create(context, NULL, &queue) != NDR_OK
        || ndr_context_get_device(context, &device) != NDR_OK) {
        print_error("%s\n", ndr_last_error());
        return -1;
    }
    print_message("on %s (%s)\n", device.name, device.platform);
    return 0;
}

static ndr_status put(ndr_buffer *buffer, int64_t at, size_t count, unsigned value)
{
    return ndr_launch(queue, get("put"), ndr_range_1d(count), buffer, at, value);
}

/* "byte 4000 (of element 1000), 96 bytes are changed;" */
static const char *found_in(int64_t first, size_t element_bytes, size_t count)
{
    static _Thread_local char text[96];
    char element[40] = "";
    if (element_bytes)
        snprintf(element, sizeof element, " (of element %lld)", (long long)(first / (int64_t)element_bytes));
    snprintf(text, sizeof text, "the first changed byte is byte %lld%s, %zu byte%s changed;", (long long)first, element,
             count, count == 1 ? " is" : "s are");
    return text;
}

static const char *found(int64_t first, size_t count) { return found_in(first, 1, count); }

/* ---- writes outside ---- */

static const size_t sizes[] = { 1, 2, 127, 128, 129, 1009, 4096, 4097, 65537, 200003 };
enum { SIZES = sizeof sizes / sizeof sizes[0] };

static ndr_buffer *buffer_as(size_t size_bytes, bool is_copy)
{
    unsigned char *host = calloc(1, size_bytes);
    assert_non_null(host);
    ndr_buffer *buffer = buffer_of(size_bytes, is_copy ? host : NULL);
    free(host);
    return buffer;
}

static void test_check__finds_one_byte_past_the_end(void **state)
{
    for (size_t i = 0; i < 2 * SIZES; ++i) {
        ndr_buffer *buffer = buffer_as(sizes[i / 2], i % 2);
        assert_refused(NDR_OUT_OF_BOUNDS, put(buffer, (int64_t)sizes[i / 2], 1, 7), "past the end of its buffer",
                       found((int64_t)sizes[i / 2], 1));
        ndr_buffer_destroy(buffer);
    }
}

static void test_check__finds_one_byte_before_the_start(void **state)
{
    for (size_t i = 0; i < 2 * SIZES; ++i) {
        ndr_buffer *buffer = buffer_as(sizes[i / 2], i % 2);
        assert_refused(NDR_OUT_OF_BOUNDS, put(buffer, -1, 1, 7), "before the start of its buffer", found(-1, 1));
        ndr_buffer_destroy(buffer);
    }
}

static void test_check__finds_both_ends(void **state)
{
    ndr_buffer *buffer = buffer_of(100, NULL);
    assert_refused(
        NDR_OUT_OF_BOUNDS, put(buffer, -5, 112, 7),
        "the first changed byte is byte 100 (of element 100), 7 bytes are changed, and others before its start");
    ndr_buffer_destroy(buffer);
}

static void test_check__finds_the_only_byte_of_a_buffer_of_none(void **state)
{
    for (int is_copy = 0; is_copy < 2; ++is_copy) {
        ndr_buffer *buffer;
        if (is_copy) assert_ok(ndr_buffer_create_from(context, 0, NULL, &buffer));
        else assert_ok(ndr_buffer_create(context, 0, &buffer));
        assert_refused(NDR_OUT_OF_BOUNDS, put(buffer, 0, 1, 7), "its buffer (0 bytes, 0 elements)", found(0, 1));
        ndr_buffer_destroy(buffer);
    }
}

static void test_check__looks_as_far_as_its_zones_reach(void **state)
{
    ndr_buffer *small = buffer_of(1, NULL), *large = buffer_of(100000, NULL);
    assert_refused(NDR_OUT_OF_BOUNDS, put(small, 65536, 1, 7), found(65536, 1));
    assert_refused(NDR_OUT_OF_BOUNDS, put(small, -65536, 1, 7), found(-65536, 1));
    assert_refused(NDR_OUT_OF_BOUNDS, put(large, 199999, 1, 7), found(199999, 1));
    assert_refused(NDR_OUT_OF_BOUNDS, put(large, -100000, 1, 7), found(-100000, 1));
    destroy_buffers(small, large);
}

static ndr_status fill(const char *kernel, ndr_nd_range range)
{
    ndr_buffer *buffer = buffer_of(BYTES, NULL);
    const ndr_arg arg = ndr_arg_of(buffer);
    const ndr_status status = ndr_launch_v(queue, get(kernel), &range, &arg, 1, NULL);
    ndr_buffer_destroy(buffer);
    return status;
}

static ndr_nd_range no_groups(ndr_range global) { return (ndr_nd_range){ .global = global }; }

static void test_check__finds_a_range_larger_than_the_buffer_in_each_form(void **state)
{
    ndr_nd_range ragged = ndr_nd_range_1d(N, 16);
    ragged.edge = NDR_EDGE_ROUND_UP;
    const struct {
        const char *kernel;
        ndr_nd_range range;
        const char *range_text;
        size_t more; /* elements */
    } cases[] = {
        { "fill_1d", no_groups(ndr_range_1d(1001)), "the range, global 1001, with", 1 },
        { "fill_2d", no_groups(ndr_range_2d(13, 77)), "the range, global (13, 77), with", 1 },
        { "fill_3d", no_groups(ndr_range_3d(7, 11, 13)), "the range, global (7, 11, 13), with", 1 },
        { "fill_plain", no_groups(ndr_range_1d(1024)), "the range, global 1024, with", 24 },
        { "fill_groups", ndr_nd_range_1d(1024, 0), "the range, global 1024, with", 24 },
        { "fill_groups", ndr_nd_range_1d(1008, 16), "the range, global 1008, local 16, with", 8 },
        { "fill_groups", ndr_groups_of(ndr_range_1d(64), ndr_range_1d(16)), "the range, groups 64, local 16, with",
          24 },
        { "fill_groups", ragged, "the range, global 1000, local 16, rounded up, with", 8 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i)
        assert_refused(NDR_OUT_OF_BOUNDS, fill(cases[i].kernel, cases[i].range), cases[i].kernel, cases[i].range_text,
                       found_in(BYTES, sizeof(float), cases[i].more * sizeof(float)));
}

/* Doubling a float changes only its upper bytes. */
static void test_check__names_the_element(void **state)
{
    ndr_buffer *x = buffer_of(BYTES, NULL);
    assert_refused(NDR_OUT_OF_BOUNDS, ndr_launch(queue, get("twice"), ndr_range_1d(1), x, (int64_t)N), "past the end",
                   "(of element 1000)");
    assert_refused(NDR_OUT_OF_BOUNDS, ndr_launch(queue, get("twice"), ndr_range_1d(1), x, (int64_t)-3),
                   "before the start", "(of element -3)");
    ndr_buffer_destroy(x);
}

/* ---- what kernels do to the element past the end ---- */

/* The half is that of OpenCL C without cl_khr_fp16, rounded to the nearest. */
#define ADD(T, of)                                                                  \
    "kernel void add_" #T "(global " of " *y, " of " a, global const " of " *x) {\n" \
    "    const size_t i = get_global_id(0); y[i + 1] += a * x[i]; }\n"
static const char additions[] = ADD(float, "float") ADD(int, "int")
    "kernel void add_half(global half *y, float a, global const half *x) {\n"
    "    const size_t i = get_global_id(0); vstore_half(vload_half(i + 1, y) + a * vload_half(i, x), i + 1, y); }\n"
    "kernel void store_1(global uchar *y, ulong at, ulong v) { y[at] = v; }\n"
    "kernel void store_2(global ushort *y, ulong at, ulong v) { y[at] = v; }\n"
    "kernel void store_4(global uint *y, ulong at, ulong v) { y[at] = v; }\n"
    "kernel void store_8(global ulong *y, ulong at, ulong v) { y[at] = v; }\n";

static const char double_additions[] = ADD(double, "double");

typedef struct misses {
    unsigned tried, missed;
} misses;

static void count_launch(misses *c, ndr_status status)
{
    ++c->tried;
    c->missed += status == NDR_OK;
    if (status != NDR_OK) assert_int_equal(status, NDR_OUT_OF_BOUNDS);
}

/* `one` is 1 in the element type. 10 to the powers from `least` to `most`, times +-2.5. */
static void add_past_the_end(ndr_kernel *kernel, ndr_dtype dtype, const void *one, int least, int most, misses *c)
{
    const size_t bytes = ndr_dtype_size(dtype);
    for (size_t n = 1; n <= 8; ++n) {
        ndr_buffer *y = buffer_of(n * bytes, NULL), *x = buffer_of(n * bytes, NULL);
        assert_ok(ndr_buffer_fill(queue, y, 0, n * bytes, one, bytes, NULL));
        assert_ok(ndr_buffer_fill(queue, x, 0, n * bytes, one, bytes, NULL));
        for (int e = least; e <= most; ++e)
            for (int sign = -1; sign <= 1; sign += 2) {
                const double a = sign * 2.5 * pow(10, e);
                const ndr_arg given = dtype == NDR_DTYPE_F64   ? ndr_arg_of(a)
                                      : dtype == NDR_DTYPE_I32 ? ndr_arg_of((int)a)
                                                               : ndr_arg_of((float)a);
                const ndr_arg args[] = { ndr_arg_of(y), given, ndr_arg_of(x) };
                const ndr_nd_range range = no_groups(ndr_range_1d(n));
                count_launch(c, ndr_launch_v(queue, kernel, &range, args, 3, NULL));
            }
        destroy_buffers(y, x);
    }
}

static void test_check__finds_what_is_added_past_the_end(void **state)
{
    misses c = { 0, 0 };
    add_past_the_end(kernel_of(additions, "add_float"), NDR_DTYPE_F32, &(float){ 1 }, -9, 9, &c);
    if (device.has_f64)
        add_past_the_end(kernel_of(double_additions, "add_double"), NDR_DTYPE_F64, &(double){ 1 }, -12, 12, &c);
    add_past_the_end(kernel_of(additions, "add_half"), NDR_DTYPE_F16, &(uint16_t){ 0x3c00 }, -4, 3, &c);
    add_past_the_end(kernel_of(additions, "add_int"), NDR_DTYPE_I32, &(int32_t){ 1 }, 0, 8, &c);
    print_message("additions: %u of %u are missed\n", c.missed, c.tried);
    assert_true(c.tried >= 500);
    assert_int_equal(c.missed, 0);
}

static void test_check__finds_what_is_often_stored_past_the_end(void **state)
{
    static const float floats[] = { 0, 1, -1, 0.5f, 2, 3, 10, 100, 1e-3f, 1e6f, (float)INFINITY, (float)NAN };
    static const double doubles[] = { 0, 1, -1, 0.5, 2, 3, 10, 100, 1e-3, 1e6, (double)INFINITY, (double)NAN };
    static const int64_t integers[] = { 0, 1, -1, 2, 3, 4, 5, 7, 8, 10, 16, 42, 64, 100, 127, -128, 'A', 'z', ' ', '\n' };
    misses c = { 0, 0 };
    for (size_t n = 1; n <= 8; ++n)
        for (size_t bytes = 1; bytes <= 8; bytes *= 2) {
            char name[16];
            ndr_buffer *y = buffer_of(n * bytes, NULL);
            snprintf(name, sizeof name, "store_%zu", bytes);
            ndr_kernel *store = kernel_of(additions, name);
            for (size_t i = 0; i < sizeof integers / sizeof *integers; ++i)
                count_launch(&c, ndr_launch(queue, store, ndr_range_1d(1), y, (cl_ulong)n, (cl_ulong)integers[i]));
            for (size_t i = 0; bytes >= 4 && i < sizeof floats / sizeof *floats; ++i) {
                cl_ulong bits = 0;
                if (bytes == 4) memcpy(&bits, &floats[i], 4);
                else memcpy(&bits, &doubles[i], 8);
                count_launch(&c, ndr_launch(queue, store, ndr_range_1d(1), y, (cl_ulong)n, bits));
            }
            ndr_buffer_destroy(y);
        }
    print_message("stores: %u of %u are missed\n", c.missed, c.tried);
    assert_int_equal(c.missed, 0);
}

/* Both buffers' zones are read and written at the same place. */
static void test_check__finds_a_copy_that_passes_the_end_of_both_buffers(void **state)
{
    ndr_buffer *from = buffer_of(BYTES, NULL), *to = buffer_of(BYTES, NULL);
    assert_refused(NDR_OUT_OF_BOUNDS, ndr_launch(queue, get("copy"), ndr_range_1d(N + 8), from, to),
                   "argument 1 \"to\"", "past the end");
    destroy_buffers(from, to);
}

/* The example of docs/wrong-results.md, and what it prints there. */
static void test_check__says_it_word_for_word(void **state)
{
    static const char source[] = "#include <ndr/item.clh>\n"
                                 "kernel void scale(global float *x, float a, NDR_RANGE(1))\n"
                                 "{\n"
                                 "    const ndr_item it = NDR_ITEM(1);\n"
                                 "    x[ndr_global_id(it, 0)] *= a;\n"
                                 "}\n";
    static const char said[] =
        "kernel \"scale\", argument 0 \"x\" (float*): launch 1 of this context wrote past the end of its buffer (4000 "
        "bytes, 1000 elements): the first changed byte is byte 4002 (of element 1000), 48 bytes are changed; compare the "
        "kernel's indices and the range, global 1024, with the buffer's size";
    ndr_context *made;
    ndr_queue *line;
    ndr_buffer *x;
    ndr_kernel *scale;
    assert_ok(ndr_context_create_with(&(ndr_context_desc){ .check = NDR_CHECK_ON }, &made));
    assert_ok(ndr_queue_create(made, NULL, &line));
    assert_ok(ndr_buffer_create(made, BYTES, &x));
    assert_ok(ndr_kernel_get(made, &(ndr_kernel_desc){ .name = "scale", .source = source }, &scale));
    assert_int_equal(ndr_launch(line, scale, ndr_range_1d(1024), x, 2.0f), NDR_OUT_OF_BOUNDS);
    assert_string_equal(ndr_last_error(), said);
    ndr_buffer_destroy(x);
    ndr_queue_destroy(line);
    ndr_context_destroy(made);

    char path[1024];
    static char page[1 << 16];
    snprintf(path, sizeof path, "%s/../docs/wrong-results.md", getenv("NDR_TEST_DIR"));
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    page[fread(page, 1, sizeof page - 1, file)] = '\0';
    assert_int_equal(fclose(file), 0);
    assert_non_null(strstr(page, said));
}

static void test_check__names_a_buffer_that_was_not_given(void **state)
{
    ndr_buffer *x = buffer_of(100, NULL), *other = buffer_of(333, NULL), *out = buffer_of(16, NULL);
    cl_ulong here, there;
    assert_ok(ndr_launch(queue, get("tell_address"), ndr_range_1d(1), x, out));
    read_buffer(out, &here, sizeof here);
    assert_ok(ndr_launch(queue, get("tell_address"), ndr_range_1d(1), other, out));
    take_buffer(out, &there, sizeof there);
    char which[64];
    snprintf(which, sizeof which, "number %llu of this context", (unsigned long long)ndr_zones_number(other->zones));
    assert_refused(NDR_OUT_OF_BOUNDS, ndr_launch(queue, get("put_far"), ndr_range_1d(3), x, here, there + 333),
                   "kernel \"put_far\": launch", "a buffer that is not among its arguments", which, "(333 bytes)",
                   found_in(333, 0, 3));
    destroy_buffers(x, other);
}

static void test_check__blames_no_later_launch(void **state)
{
    ndr_buffer *x = buffer_of(BYTES, NULL);
    for (int i = 0; i < 3; ++i) {
        assert_refused(NDR_OUT_OF_BOUNDS, ndr_launch(queue, get("fill_1d"), ndr_range_1d(N + 1), x),
                       found_in(BYTES, sizeof(float), 4));
        assert_ok(ndr_launch(queue, get("fill_1d"), ndr_range_1d(N), x));
    }
    ndr_buffer_destroy(x);
}

static void test_check__of_a_refused_launch_hands_out_no_event(void **state)
{
    ndr_buffer *x = buffer_of(BYTES, NULL);
    ndr_event *event = NULL;
    assert_refused(NDR_OUT_OF_BOUNDS, ndr_launch_event(queue, get("fill_1d"), &event, ndr_range_1d(N + 1), x),
                   "byte 4000");
    assert_null(event);
    assert_ok(ndr_launch_event(queue, get("fill_1d"), &event, ndr_range_1d(N), x));
    ndr_event_state how;
    assert_ok(ndr_event_get_state(event, &how));
    assert_int_equal(how, NDR_EVENT_COMPLETE); /* the launch has been waited for */
    ndr_event_destroy(event);
    ndr_buffer_destroy(x);
}

static void test_check__refuses_any_wrong_count_of_arguments(void **state)
{
    static const size_t counts[] = { 0, 2, SIZE_MAX / sizeof(ndr_arg) - 1, SIZE_MAX };
    const ndr_nd_range range = { .global = ndr_range_1d(N) };
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; ++i)
        assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch_v(queue, get("fill_1d"), &range, NULL, counts[i], NULL),
                       "kernel \"fill_1d\" takes 1 argument");
}

static size_t below(uint64_t *seed, size_t limit) { return (size_t)(random_bits(seed) % limit); }

static void test_check__finds_every_write_at_the_byte(void **state)
{
    const char *given = getenv("NDR_TEST_SEED");
    uint64_t seed = given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
    print_message("NDR_TEST_SEED=%llu\n", (unsigned long long)seed);
    for (int i = 0; i < (quick() ? 20 : 300); ++i) {
        const size_t size = below(&seed, 100000), out = below(&seed, 65536), count = 1 + below(&seed, 65536 - out);
        const bool is_behind = below(&seed, 2);
        const unsigned any = (unsigned)below(&seed, 0xc0);
        const unsigned value = (any & 0x78) == 0x18 ? 0 : any; /* zones hold 18 to 1f, 98 to 9f and c0 to df */
        const int64_t first = is_behind ? (int64_t)(size + out) : -(int64_t)(out + count);
        ndr_buffer *buffer = buffer_as(size ? size : 1, below(&seed, 2));
        const size_t held = ndr_buffer_size(buffer);
        assert_refused(NDR_OUT_OF_BOUNDS, put(buffer, is_behind ? (int64_t)(held + out) : first, count, value),
                       found(is_behind ? (int64_t)(held + out) : first, count));
        ndr_buffer_destroy(buffer);
    }
}

/* ---- views ---- */

/* A view ends inside its buffer, which the report says. Writes outside that buffer are found. */
static void test_check__finds_writes_outside_the_buffer_of_a_view(void **state)
{
    const size_t align = device.view_align_bytes;
    char report[512];
    ndr_buffer *whole = buffer_of(3 * align, NULL), *view;
    assert_ok(ndr_buffer_create_view(whole, align, align, &view));
    assert_ok(put(view, -(int64_t)align, 3 * align, 7));
    assert_refused(NDR_OUT_OF_BOUNDS, put(view, 2 * (int64_t)align, 1, 7), "argument 0 \"x\"",
                   "past the end of the whole buffer of its view", found(3 * (int64_t)align, 1));
    ndr_buffer_destroy(whole); /* the view keeps it and its zones */
    assert_refused(NDR_OUT_OF_BOUNDS, put(view, -(int64_t)align - 1, 1, 7), "before the start of the whole buffer",
                   found(-1, 1));
    assert_ok(ndr_context_get_check_report(context, sizeof report, report, NULL));
    assert_non_null(strstr(report, "made by ndr_buffer_create_view(), which end inside other buffers; the first is"));
    ndr_buffer_destroy(view);
}

/* Two views share a buffer. Each reaches a zone at one end, and the other view's bytes at its other end. */
static void test_check__finds_writes_where_the_ends_of_a_view_are_those_of_its_buffer(void **state)
{
    const size_t align = device.view_align_bytes;
    const int64_t half = (int64_t)align;
    ndr_buffer *whole = buffer_of(2 * align - 1, NULL), *left, *right;
    assert_ok(ndr_buffer_create_view(whole, 0, align, &left));
    assert_ok(ndr_buffer_create_view(whole, align, align - 1, &right));
    assert_ok(put(left, 0, 2 * align - 1, 7)); /* not found: all of it is in the viewed buffer */
    assert_ok(put(right, -half, 2 * align - 1, 7));
    assert_refused(NDR_OUT_OF_BOUNDS, put(left, -1, 1, 7), "before the start of the whole buffer of its view", found(-1, 1));
    assert_refused(NDR_OUT_OF_BOUNDS, put(left, half, align, 7), "past the end of the whole buffer of its view",
                   found(2 * half - 1, 1));
    assert_refused(NDR_OUT_OF_BOUNDS, put(right, half - 1, 3, 7), "past the end of the whole buffer of its view",
                   found(2 * half - 1, 3));
    assert_refused(NDR_OUT_OF_BOUNDS, put(right, -half - 2, 2, 7), "before the start of the whole buffer of its view",
                   found(-2, 2));
    destroy_buffers(left, right, whole);
}

/* A buffer with a zone before it begins inside OpenCL's memory object, where no image can begin. */
static void test_check__refuses_an_image_over_a_buffer_with_zones(void **state)
{
    ndr_buffer *buffer = buffer_of(4 * device.view_align_bytes, NULL), *view;
    ndr_image_desc desc = { .size = ndr_range_1d(1), .buffer = buffer };
    ndr_image *image = NULL;
    size_t count = 0;
    const ndr_status listed = ndr_image_list_formats(context, &desc, 1, &desc.format, &count);
    skip_without(listed == NDR_OK && count > 0, "the device has no images over buffers");
    assert_refused(NDR_UNSUPPORTED, ndr_image_create(context, &desc, &image), "NDR_CHECK has put a guard zone before");
    assert_ok(ndr_buffer_create_view(buffer, 0, device.view_align_bytes, &view));
    desc.buffer = view;
    assert_refused(NDR_UNSUPPORTED, ndr_image_create(context, &desc, &image), "NDR_CHECK has put a guard zone before");
    assert_null(image);
    destroy_buffers(view, buffer);
}

/* The reducers' destinations have handles and zones as all buffers. Each launch borrows the queue's memory. */
static void test_check__finds_writes_outside_what_reducers_reach(void **state)
{
    static const char adding[] =
        "#include <ndr/reduction.clh>\n"
        "kernel void add(global const int *x, int at, NDR_REDUCTION(1, (SUM, int, sum)))\n"
        "{ NDR_REDUCE(i, 1, sum) {\n"
        "    sum[at].value = 7;\n"
        "    NDR_COMBINE(sum, x[ndr_global_id(i, 0)]); } }\n";
    /* `sum` points to structs of 8 bytes. Mesa drops an index behind a cast of it. */
    static int ints[20000]; /* more than one chunk */
    const int count = (int)(device.view_align_bytes / sizeof(int)), few = 9;
    ndr_kernel *kernel = kernel_of(adding, "add");
    ndr_buffer *x = buffer_of(sizeof ints, ints), *to = buffer_of((size_t)(2 * count) * sizeof(int), NULL), *view;
    assert_ok(ndr_buffer_create_view(to, (size_t)count * sizeof(int), (size_t)count * sizeof(int), &view));
    const int sizes_of[] = { 0, few, 20000 };
    for (size_t i = 0; i < 3; ++i) {
        const ndr_range range = ndr_range_1d((size_t)sizes_of[i]);
        int got;
        assert_ok(ndr_launch(queue, kernel, range, x, 1, ndr_reducer(NDR_OP_SUM, 5, to, 1)));
        assert_ok(ndr_buffer_read(queue, to, sizeof got, sizeof got, &got, NULL));
        assert_int_equal(got, 5);
        if (sizes_of[i] == 0) continue;
        assert_refused(NDR_OUT_OF_BOUNDS, ndr_launch(queue, kernel, range, x, count, ndr_reducer(NDR_OP_SUM, 5, to, 1)),
                       "argument 2 \"sum\" (SUM_int*)", "past the end of its buffer",
                       found_in(2 * count * (int)sizeof(int), sizeof(int), sizeof(int)));
        assert_refused(NDR_OUT_OF_BOUNDS,
                       ndr_launch(queue, kernel, range, x, count / 2, ndr_reducer(NDR_OP_SUM, 5, view, 1)),
                       "argument 2 \"sum\" (SUM_int*)", "past the end of the whole buffer of its view");
    }
    ndr_buffer_destroy(view);
    assert_refused(NDR_BAD_ARGUMENT,
                   ndr_launch(queue, kernel, ndr_range_1d(9), x, 1, ndr_reducer(NDR_OP_SUM, 5, view, 1)),
                   "argument 2 \"sum\" (SUM_int*)", "destroyed");
    destroy_buffers(x, to);
}

/* ---- correct programs ---- */

/* Rows of 5 bytes, 7 bytes apart, that reach the first and the last byte of the buffer, or of a view at its end. */
static void check_rects(ndr_buffer *to, ndr_buffer *from)
{
    enum { ROWS = 3, ROW = 5, PITCH = 7, ALL = (ROWS - 1) * PITCH + ROW };
    unsigned char host[ROWS * ROW], got[ROWS * ROW] = { 0 };
    for (size_t i = 0; i < sizeof host; ++i) host[i] = (unsigned char)(i + 1);
    const ndr_rect_side dense = { 0 }, apart = { .row_pitch_bytes = PITCH };
    const ndr_rect_desc in = { .extent = ndr_range_2d(ROWS, ROW), .element_bytes = 1, .from = dense, .to = apart },
                        out = { .extent = in.extent, .element_bytes = 1, .from = apart, .to = dense },
                        across = { .extent = in.extent, .element_bytes = 1, .from = apart, .to = apart };
    assert_int_equal(ndr_buffer_size(to), ALL);
    assert_ok(ndr_buffer_write_rect(queue, from, &in, host, NULL));
    assert_ok(ndr_buffer_copy_rect(queue, from, to, &across, NULL));
    assert_ok(ndr_buffer_read_rect(queue, to, &out, got, NULL));
    assert_memory_equal(got, host, sizeof host);
    assert_ok(put(to, ROW, 1, 7)); /* the launch inspects the zones of all buffers */
}

static void test_check__keeps_rectangles_inside(void **state)
{
    const size_t align = device.view_align_bytes;
    ndr_buffer *x = buffer_of(19, NULL), *y = buffer_of(19, NULL), *whole = buffer_of(align + 19, NULL), *view;
    assert_ok(ndr_buffer_create_view(whole, align, 19, &view));
    check_rects(x, y);
    check_rects(view, x);
    check_rects(x, view);
    destroy_buffers(view, x, y, whole);
}

static void test_check__lets_correct_kernels_pass(void **state)
{
    ndr_nd_range up = ndr_nd_range_1d(N, 16), split = up;
    up.edge = NDR_EDGE_ROUND_UP;
    split.edge = NDR_EDGE_SPLIT;
    assert_ok(fill("fill_1d", no_groups(ndr_range_1d(N))));
    assert_ok(fill("fill_1d", no_groups(ndr_range_1d(0))));
    assert_ok(fill("fill_2d", no_groups(ndr_range_2d(25, 40))));
    assert_ok(fill("fill_3d", no_groups(ndr_range_3d(2, 5, 100))));
    assert_ok(fill("fill_groups", ndr_nd_range_1d(N, 8)));
    assert_ok(fill("fill_groups", split));
    assert_ok(fill("fill_guarded", up));
    assert_ok(fill("fill_plain", no_groups(ndr_range_1d(N))));
}

static void test_check__lets_operations_pass(void **state)
{
    enum { SIDE = 67 };
    float *host = malloc(SIDE * SIDE * sizeof *host);
    assert_non_null(host);
    for (int i = 0; i < SIDE * SIDE; ++i) host[i] = 1;
    const size_t bytes = SIDE * SIDE * sizeof *host;
    ndr_buffer *a = buffer_of(bytes, host), *b = buffer_of(bytes, host), *c = buffer_of(bytes, NULL);
    const ndr_matrix matrices[] = { { a, 0, SIDE, SIDE, 0 }, { b, 0, SIDE, SIDE, 0 }, { c, 0, SIDE, SIDE, 0 } };
    assert_ok(ndr_matmul(
        queue, &(ndr_matmul_desc){ .dtype = NDR_DTYPE_F32, .a = matrices[0], .b = matrices[1], .c = matrices[2] },
        NULL));
    ndr_buffer *sum = buffer_of(sizeof(float), NULL);
    assert_ok(ndr_reduce(
        queue,
        &(ndr_reduce_desc){
            .dtype = NDR_DTYPE_F32, .op = NDR_OP_SUM, .input = { c, 0 }, .count = SIDE * SIDE, .output = { sum, 0 } },
        NULL));
    float got;
    take_buffer(sum, &got, sizeof got);
    assert_true(got == (float)(SIDE * SIDE * SIDE));
    destroy_buffers(a, b, c);
    free(host);
}

static void test_check__keeps_transfers_inside(void **state)
{
    unsigned char host[4097], got[4097];
    for (size_t i = 0; i < sizeof host; ++i) host[i] = (unsigned char)(i * 7);
    ndr_buffer *x = buffer_of(sizeof host, NULL), *y = buffer_of(sizeof host, host);
    assert_ok(ndr_buffer_copy(queue, y, 0, x, 0, sizeof host, NULL));
    read_buffer(x, got, sizeof got);
    assert_memory_equal(got, host, sizeof host);
    const unsigned char two = 2;
    assert_ok(ndr_buffer_fill(queue, x, 0, sizeof host, &two, 1, NULL));
    assert_ok(ndr_buffer_write(queue, x, 1, sizeof host - 2, host, NULL));
    void *mapped;
    assert_ok(ndr_buffer_map(queue, x, NDR_MAP_READ_WRITE, 1, sizeof host - 1, &mapped));
    assert_memory_equal(mapped, host, sizeof host - 2);
    memset(mapped, 9, sizeof host - 1);
    assert_ok(put(y, 0, sizeof host, 3)); /* another launch meanwhile */
    assert_ok(ndr_buffer_unmap(queue, x, mapped, NULL));
    take_buffer(x, got, sizeof got);
    for (size_t i = 0; i < sizeof got; ++i) assert_int_equal(got[i], i == 0 ? 2 : 9);
    ndr_buffer_destroy(y);
}

static void test_check__shows_what_a_new_buffer_has_not_been_given(void **state)
{
    uint32_t words[1001];
    ndr_buffer *buffer = buffer_of(sizeof words - 1, NULL);
    take_buffer(buffer, words, sizeof words - 1);
    for (int i = 0; i < 1000; ++i) assert_int_equal(words[i], 0xfff0bad1u);
    assert_memory_equal(&words[1000], "\xd1\xba\xf0", 3);
    float f;
    double d;
    memcpy(&f, words, sizeof f);
    memcpy(&d, words, sizeof d);
    assert_true(f != f && d != d);
}

/* If mapping makes a copy, the host cannot reach the buffer's zones. `mapped` is the buffer or a view of all of it. */
static void leave_what_is_mapped(ndr_buffer *mapped)
{
    unsigned char *host;
    assert_ok(ndr_buffer_map(queue, mapped, NDR_MAP_READ_WRITE, 0, 4097, (void **)&host));
    if (device.shares_host_memory) host[4097] = 7;
    const ndr_status status = ndr_buffer_unmap(queue, mapped, host, NULL);
    if (device.shares_host_memory)
        assert_refused(NDR_OUT_OF_BOUNDS, status, "ndr_buffer_unmap: while the buffer was mapped, the host or a launch",
                       "wrote past the end of the buffer (4097 bytes)", "byte 4097, 1 byte is changed");
    else assert_ok(status);
    assert_ok(put(mapped, 0, 4097, 1));
}

static void test_check__says_when_the_host_leaves_what_it_has_mapped(void **state)
{
    ndr_buffer *buffer = buffer_of(4097, NULL), *view;
    assert_ok(ndr_buffer_create_view(buffer, 0, 4097, &view));
    leave_what_is_mapped(buffer);
    leave_what_is_mapped(view);
    destroy_buffers(view, buffer);
}

enum { THREADS = 4, TIMES = 25 };

/* Odd threads write one byte too many each time. */
static void *launch_often(void *index)
{
    const size_t i = (size_t)(uintptr_t)index;
    ndr_queue *line = NULL;
    ndr_buffer *x = NULL;
    size_t right = 0;
    if (ndr_queue_create(context, NULL, &line) == NDR_OK && ndr_buffer_create(context, 500 + i, &x) == NDR_OK)
        for (int t = 0; t < TIMES; ++t) {
            const ndr_status status = ndr_launch(line, get("put"), ndr_range_1d(500 + i + i % 2), x, (int64_t)0, 1u);
            right += status == (i % 2 ? NDR_OUT_OF_BOUNDS : NDR_OK);
            if (i % 2) right -= strstr(ndr_last_error(), found((int64_t)(500 + i), 1)) == NULL;
        }
    ndr_buffer_destroy(x);
    ndr_queue_destroy(line);
    return (void *)(uintptr_t)right;
}

static void test_check__blames_the_right_one_of_many_threads(void **state)
{
    pthread_t threads[THREADS];
    (void)get("put");
    for (size_t i = 0; i < THREADS; ++i)
        assert_int_equal(pthread_create(&threads[i], NULL, launch_often, (void *)(uintptr_t)i), 0);
    for (size_t i = 0; i < THREADS; ++i) {
        void *right;
        pthread_join(threads[i], &right);
        assert_int_equal((uintptr_t)right, TIMES);
    }
}

enum { RUNS = 8 * TIMES };

static void *run_often(void *prepared)
{
    ndr_queue *line = NULL;
    size_t right = 0;
    if (ndr_queue_create(context, NULL, &line) == NDR_OK)
        for (int t = 0; t < RUNS; ++t) right += ndr_prepared_run(line, prepared, NULL) == NDR_OK;
    ndr_queue_destroy(line);
    return (void *)(uintptr_t)right;
}

/* Each ndr_prepared_set() releases the last reference to a buffer, whose guard zones a run may be inspecting. */
static void test_check__runs_a_prepared_launch_while_its_buffers_change(void **state)
{
    pthread_t thread;
    void *right;
    ndr_prepared *prepared;
    ndr_buffer *x = buffer_of(1, NULL);
    assert_ok(ndr_prepare(get("put"), &prepared, ndr_range_1d(1), x, (int64_t)0, 1u));
    assert_int_equal(pthread_create(&thread, NULL, run_often, prepared), 0);
    for (int t = 0; t < RUNS; ++t) {
        ndr_buffer_destroy(x);
        x = buffer_of(1, NULL);
        assert_ok(ndr_prepared_set(prepared, 0, ndr_arg_of(x)));
    }
    pthread_join(thread, &right);
    assert_int_equal((uintptr_t)right, RUNS);
    ndr_prepared_destroy(prepared);
    ndr_buffer_destroy(x);
}

typedef struct change {
    ndr_prepared *prepared;
    ndr_buffer *buffers[2];
    atomic_bool has_ended;
} change;

static void *set_often(void *change_)
{
    change *c = change_;
    size_t wrong = 0;
    for (size_t t = 0; !atomic_load(&c->has_ended); ++t)
        wrong += ndr_prepared_set(c->prepared, 0, ndr_arg_of(c->buffers[t % 2])) != NDR_OK;
    return (void *)(uintptr_t)wrong;
}

/* Each run writes past the end of the buffer that is set when it starts. Another may be set when its zones are
 * inspected. */
static void test_check__blames_the_argument_that_a_prepared_launch_ran_with(void **state)
{
    pthread_t thread;
    void *wrong;
    change c = { .buffers = { buffer_of(1, NULL), buffer_of(1, NULL) } };
    assert_ok(ndr_prepare(get("put"), &c.prepared, ndr_range_1d(2), c.buffers[0], (int64_t)0, 1u));
    assert_int_equal(pthread_create(&thread, NULL, set_often, &c), 0);
    size_t right = 0;
    for (int t = 0; t < RUNS; ++t)
        right += ndr_prepared_run(queue, c.prepared, NULL) == NDR_OUT_OF_BOUNDS
                 && strstr(ndr_last_error(), "kernel \"put\", argument 0 \"x\"");
    atomic_store(&c.has_ended, true);
    pthread_join(thread, &wrong);
    assert_int_equal(right, RUNS);
    assert_int_equal((uintptr_t)wrong, 0);
    ndr_prepared_destroy(c.prepared);
    for (int i = 0; i < 2; ++i) ndr_buffer_destroy(c.buffers[i]);
}

/* ---- what is not checked ---- */

static const char *report(void)
{
    static char text[2048];
    size_t length = 0;
    assert_ok(ndr_context_get_check_report(context, sizeof text, text, &length));
    assert_int_equal(length, strlen(text));
    return text;
}

static void test_check__reports_what_it_cannot_check_once(void **state)
{
    ndr_context *before = context;
    assert_ok(ndr_context_create_with(&(ndr_context_desc){ .check = NDR_CHECK_ON }, &context));
    assert_string_equal(report(), "checking is on: 0 launches were checked, 0 buffers have guard zones now\n");
    static _Alignas(4096) unsigned char host[4096];
    ndr_buffer *guarded, *over, *over_too, *foreign;
    assert_ok(ndr_buffer_create(context, 10, &guarded));
    assert_ok(ndr_buffer_create_over(context, sizeof host, host, &over));
    assert_ok(ndr_buffer_create_over(context, 64, host, &over_too));
    assert_string_equal(
        report(),
        "checking is on: 0 launches were checked, 1 buffers have guard zones now\n"
        "unchecked: 2 of the buffers made by ndr_buffer_create_over(); the first is number 2, of 4096 bytes\n");
    assert_ok(ndr_buffer_from_cl(context, ndr_buffer_cl(guarded), &foreign));
    (void)ndr_buffer_cl(guarded); /* it is already listed */
    assert_string_equal(
        report(), "checking is on: 0 launches were checked, 0 buffers have guard zones now\n"
                  "unchecked: 2 of the buffers made by ndr_buffer_create_over(); the first is number 2, of 4096 bytes\n"
                  "unchecked: 1 of the buffers made by ndr_buffer_from_cl(); the first is number 4, of 10 bytes\n"
                  "unchecked: 1 of the buffers whose cl_mem ndr_buffer_cl() handed out; the first is number 1, of 10 "
                  "bytes\n");
    destroy_buffers(guarded, over, over_too, foreign);
    ndr_context_destroy(context);
    context = before;
}

static void test_check__reports_how_many_images_have_no_zones(void **state)
{
    ndr_image_desc desc = { .size = ndr_range_2d(3, 5) };
    ndr_image *images[2];
    size_t count = 0;
    const ndr_status listed = ndr_image_list_formats(context, &desc, 1, &desc.format, &count);
    skip_without(listed == NDR_OK && count > 0, "the device has no images");
    ndr_context *before = context;
    assert_ok(ndr_context_create_with(&(ndr_context_desc){ .check = NDR_CHECK_ON }, &context));
    for (size_t i = 0; i < 2; ++i) assert_ok(ndr_image_create(context, &desc, &images[i]));
    assert_string_equal(report(), "checking is on: 0 launches were checked, 0 buffers have guard zones now\n"
                                  "unchecked: 2 images, which have no guard zones\n");
    for (size_t i = 0; i < 2; ++i) ndr_image_destroy(images[i]);
    ndr_context_destroy(context);
    context = before;
}

static void test_check__report_may_be_cut(void **state)
{
    char text[12];
    size_t length = 0;
    assert_ok(ndr_context_get_check_report(context, 0, NULL, &length));
    assert_true(length > 20);
    assert_ok(ndr_context_get_check_report(context, sizeof text, text, NULL));
    assert_string_equal(text, "checking is");
    assert_refused(NDR_BAD_ARGUMENT, ndr_context_get_check_report(context, 1, NULL, NULL), "text is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_context_get_check_report(NULL, 0, NULL, NULL), "context is NULL");
}

static void test_check__leaves_a_handed_out_buffer_alone(void **state)
{
    ndr_buffer *buffer = buffer_of(100, NULL);
    (void)ndr_buffer_cl(buffer);
    assert_ok(put(buffer, 100, 1, 7));
    ndr_buffer_destroy(buffer);
}

static void test_check__makes_do_with_smaller_zones(void **state)
{
    size_t *limit = &context->caps.info.max_buffer_bytes;
    const size_t before = *limit;
    *limit = 500000 + 2 * 70000;
    ndr_buffer *buffer = buffer_of(500000, NULL);
    assert_refused(NDR_OUT_OF_BOUNDS, put(buffer, 500000 + 65535, 1, 7), found(500000 + 65535, 1));
    assert_refused(NDR_OUT_OF_BOUNDS, put(buffer, -65536, 1, 7), found(-65536, 1));
    ndr_buffer_destroy(buffer);
    *limit = 500000 + 2 * 60000;
    buffer = buffer_of(500000, NULL);
    assert_ok(put(buffer, 0, 500000, 7));
    assert_non_null(strstr(report(), "too large for guard zones on this device"));
    ndr_buffer_destroy(buffer);
    *limit = before;
}

/* ---- handles ---- */

static void test_check__refuses_what_was_destroyed(void **state)
{
    ndr_buffer *buffer = buffer_of(64, NULL), *live = buffer_of(64, NULL);
    ndr_kernel *kernel = get("put");
    char host[64];
    ndr_buffer_destroy(buffer);
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_read(queue, buffer, 0, 1, host, NULL),
                   "ndr_buffer_read: buffer is a buffer that has been destroyed");
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_copy(queue, live, 0, buffer, 0, 1, NULL),
                   "a buffer that has been destroyed");
    assert_refused(NDR_BAD_ARGUMENT, ndr_launch(queue, kernel, ndr_range_1d(1), buffer, (int64_t)0, 1u),
                   "kernel \"put\", argument 0 \"x\" (uchar*) is a buffer that has been destroyed");
    assert_refused(
        NDR_BAD_ARGUMENT,
        ndr_reduce(
            queue,
            &(ndr_reduce_desc){
                .dtype = NDR_DTYPE_F32, .op = NDR_OP_SUM, .count = 1, .input = { buffer, 0 }, .output = { live, 0 } },
            NULL),
        "ndr_reduce: input is a buffer that has been destroyed");
    assert_int_equal(ndr_buffer_size(buffer), 0);
    assert_null(ndr_buffer_cl(buffer));
    ndr_event *event;
    ndr_queue *line;
    assert_ok(ndr_queue_create(context, NULL, &line));
    assert_ok(ndr_launch_event(line, kernel, &event, ndr_range_1d(1), live, (int64_t)0, 1u));
    ndr_event_destroy(event);
    ndr_queue_destroy(line);
    assert_refused(NDR_BAD_ARGUMENT, ndr_event_wait(event),
                   "ndr_event_wait: event is an event that has been destroyed");
    assert_refused(NDR_BAD_ARGUMENT, ndr_queue_finish(line),
                   "ndr_queue_finish: queue is a queue that has been destroyed");
    assert_refused(NDR_BAD_ARGUMENT, ndr_launch(line, kernel, ndr_range_1d(1), live, (int64_t)0, 1u),
                   "ndr_launch: queue is a queue that has been destroyed");
    ndr_buffer_destroy(live);
}

/* A view and a prepared launch keep the memory, but not the handle. */
static void test_check__refuses_a_destroyed_buffer_that_is_kept(void **state)
{
    ndr_buffer *buffer = buffer_of(8192, NULL), *view;
    ndr_kernel *kernel = get("put");
    ndr_prepared *prepared;
    unsigned char byte = 0;
    assert_ok(ndr_buffer_create_view(buffer, 0, 64, &view));
    assert_ok(ndr_prepare(kernel, &prepared, ndr_range_1d(1), buffer, (int64_t)0, 7u));
    ndr_buffer_destroy(buffer);
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_read(queue, buffer, 0, 1, &byte, NULL),
                   "ndr_buffer_read: buffer is a buffer that has been destroyed");
    assert_refused(NDR_BAD_ARGUMENT, ndr_launch(queue, kernel, ndr_range_1d(1), buffer, (int64_t)0, 1u),
                   "kernel \"put\", argument 0 \"x\" (uchar*) is a buffer that has been destroyed");
    assert_int_equal(ndr_buffer_size(buffer), 0);
    assert_ok(ndr_prepared_run(queue, prepared, NULL));
    assert_ok(ndr_buffer_read(queue, view, 0, 1, &byte, NULL));
    assert_int_equal(byte, 7);
    ndr_prepared_destroy(prepared);
    ndr_buffer_destroy(view);
}

/* Every handle is known here, so a buffer of another context is not said to be perhaps a destroyed one. */
static void test_check__tells_another_context_from_destruction(void **state)
{
    ndr_context *other;
    ndr_buffer *buffer;
    char byte;
    assert_ok(ndr_context_create_with(&(ndr_context_desc){ .check = NDR_CHECK_ON }, &other));
    assert_ok(ndr_buffer_create(other, 64, &buffer));
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, put(buffer, 0, 1, 7),
                   "is a buffer of another context than the kernel's; create it in that one");
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_read(queue, buffer, 0, 1, &byte, NULL),
                   "queue and buffer belong to different contexts; create both in one");
    ndr_buffer_destroy(buffer);
    ndr_context_destroy(other);
}

/* Destroying the last object of a context frees the context and its kernels. */
static void test_check__refuses_a_context_and_kernels_that_are_gone(void **state)
{
    ndr_context *made;
    ndr_queue *line;
    ndr_kernel *kernel;
    ndr_kernel_info info;
    assert_ok(ndr_context_create_with(&(ndr_context_desc){ .check = NDR_CHECK_ON }, &made));
    assert_ok(ndr_kernel_get(made, &(ndr_kernel_desc){ .name = "fill_plain", .source = kernels }, &kernel));
    assert_ok(ndr_queue_create(made, NULL, &line));
    ndr_context_destroy(made);
    ndr_context_destroy(made);
    assert_string_equal(
        ndr_last_error(),
        "ndr_context_destroy: the handle to destroy is a context that has been destroyed; destroy it only "
        "once");
    assert_ok(ndr_kernel_get_info(kernel, &info)); /* the queue keeps the kernels alive */
    ndr_queue_destroy(line);
    assert_refused(NDR_BAD_ARGUMENT, ndr_queue_create(made, NULL, &line),
                   "context is a context that has been destroyed");
    assert_refused(NDR_BAD_ARGUMENT, ndr_kernel_get_info(kernel, &info), "kernel is a kernel that has been destroyed");
}

static void test_check__destroys_nothing_twice(void **state)
{
    ndr_buffer *buffer = buffer_of(64, NULL);
    destroy_buffers(buffer, buffer);
    assert_string_equal(
        ndr_last_error(),
        "ndr_buffer_destroy: the handle to destroy is a buffer that has been destroyed; destroy it only once");
    assert_non_null(strstr(report(), "could not be destroyed; the first: ndr_"));
    ndr_buffer *other = buffer_of(64, NULL); /* at another address */
    assert_ptr_not_equal(other, buffer);
    ndr_buffer_destroy(other);
}

static void test_check__refuses_a_smashed_handle(void **state)
{
    ndr_buffer *buffer = buffer_of(64, NULL);
    char kept[8];
    memcpy(kept, buffer, sizeof kept);
    memset(buffer, 0, sizeof kept); /* as a program does that confuses a buffer with its memory */
    assert_refused(NDR_BAD_ARGUMENT, put(buffer, 0, 1, 7),
                   "argument 0 \"x\" (uchar*) is a buffer whose handle was overwritten");
    ndr_buffer_destroy(buffer);
    assert_non_null(strstr(ndr_last_error(), "is a buffer whose handle was overwritten"));
    memcpy(buffer, kept, sizeof kept);
    assert_ok(put(buffer, 0, 1, 7));
    ndr_buffer_destroy(buffer);
}

static void test_check__refuses_what_is_no_handle(void **state)
{
    float host[4] = { 0 };
    ndr_buffer *wrong = (ndr_buffer *)(void *)host;
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_read(queue, wrong, 0, 4, host, NULL),
                   "buffer is not a buffer: there is no handle at");
    assert_refused(NDR_BAD_ARGUMENT, put(wrong, 0, 1, 7), "argument 0 \"x\" (uchar*) is not a buffer");
    assert_refused(NDR_BAD_ARGUMENT, put((ndr_buffer *)(void *)queue, 0, 1, 7), "is a queue, not a buffer");
    assert_refused(NDR_BAD_ARGUMENT, ndr_queue_flush((ndr_queue *)(void *)context), "queue is a context, not a queue");
    ndr_buffer_destroy(wrong);
    assert_non_null(strstr(ndr_last_error(), "ndr_buffer_destroy: the handle to destroy is not a buffer"));
}

static void test_check__remembers_a_thousand_destroyed_handles(void **state)
{
    ndr_buffer *first = buffer_of(1, NULL);
    ndr_buffer_destroy(first);
    for (int i = 0; i < 1023; ++i) {
        ndr_event *event;
        assert_ok(ndr_queue_mark(queue, &event));
        ndr_event_destroy(event);
    }
    assert_refused(NDR_BAD_ARGUMENT, put(first, 0, 1, 7), "is a buffer that has been destroyed");
}

/* ---- on and off ---- */

static bool is_checked(ndr_check_mode mode)
{
    ndr_context *made;
    char text[64] = "";
    assert_ok(ndr_context_create_with(&(ndr_context_desc){ .check = mode }, &made));
    assert_ok(ndr_context_get_check_report(made, sizeof text, text, NULL));
    ndr_context_destroy(made);
    return strncmp(text, "checking is on", 14) == 0;
}

static void test_check__is_off_by_default(void **state)
{
    set_env("NDR_CHECK", NULL);
    assert_false(is_checked(NDR_CHECK_DEFAULT));
    set_env("NDR_CHECK", "");
    assert_false(is_checked(NDR_CHECK_DEFAULT));
    set_env("NDR_CHECK", "0");
    assert_false(is_checked(NDR_CHECK_DEFAULT));
    restore_env();
}

static void test_check__is_turned_on_by_the_environment(void **state)
{
    set_env("NDR_CHECK", "1");
    assert_true(is_checked(NDR_CHECK_DEFAULT));
    ndr_context *made;
    assert_ok(ndr_context_create(NULL, &made));
    assert_non_null(made->checker);
    ndr_context_destroy(made);
    assert_ok(ndr_context_create_with(NULL, &made));
    assert_non_null(made->checker);
    ndr_context_destroy(made);
    assert_ok(ndr_context_from_cl(ndr_context_cl(context), ndr_context_cl_device(context), &made));
    assert_non_null(made->checker);
    ndr_context_destroy(made);
    restore_env();
}

static void test_check__descriptor_stands_above_the_environment(void **state)
{
    set_env("NDR_CHECK", "1");
    assert_false(is_checked(NDR_CHECK_OFF));
    set_env("NDR_CHECK", "0");
    assert_true(is_checked(NDR_CHECK_ON));
    set_env("NDR_CHECK", "what");
    assert_true(is_checked(NDR_CHECK_ON)); /* the variable is not read */
    restore_env();
}

static void test_check__refuses_words_it_does_not_know(void **state)
{
    ndr_context *made = NULL;
    set_env("NDR_CHECK", "yes");
    assert_refused(NDR_BAD_ARGUMENT, ndr_context_create(NULL, &made), "NDR_CHECK is \"yes\"; set it to 1 or 0");
    assert_refused(NDR_BAD_ARGUMENT, ndr_context_create_with(&(ndr_context_desc){ .check = (ndr_check_mode)3 }, &made),
                   "check is 3, not an ndr_check_mode");
    assert_null(made);
    restore_env();
}

static void test_check__descriptor_chooses_a_device(void **state)
{
    ndr_context *made = NULL;
    ndr_device_info info;
    assert_ok(ndr_context_create_with(&(ndr_context_desc){ .device = device.name, .check = NDR_CHECK_ON }, &made));
    assert_ok(ndr_context_get_device(made, &info));
    assert_string_equal(info.name, device.name);
    ndr_context_destroy(made);
    assert_refused(NDR_NO_MATCHING_DEVICE, ndr_context_create_with(&(ndr_context_desc){ .device = "no such" }, &made),
                   "ndr_context_create_with asks for \"no such\"");
    assert_refused(NDR_BAD_ARGUMENT, ndr_context_create_with(NULL, NULL), "context is NULL");
}

/* Handles of an unchecked context are not listed and not checked. */
static void test_check__leaves_other_contexts_alone(void **state)
{
    ndr_context *plain;
    ndr_queue *line;
    ndr_buffer *x;
    ndr_kernel *kernel;
    assert_ok(ndr_context_create_with(&(ndr_context_desc){ .check = NDR_CHECK_OFF }, &plain));
    assert_ok(ndr_queue_create(plain, NULL, &line));
    assert_ok(ndr_buffer_create(plain, BYTES, &x));
    assert_null(x->zones);
    assert_ok(ndr_kernel_get(plain, &(ndr_kernel_desc){ .name = "fill_1d", .source = kernels }, &kernel));
    assert_ok(ndr_launch(line, kernel, ndr_range_1d(N), x));
    assert_ok(ndr_queue_finish(line));
    char text[128];
    assert_ok(ndr_context_get_check_report(plain, sizeof text, text, NULL));
    assert_string_equal(text, "checking is off: set NDR_CHECK=1, or ndr_context_desc.check\n");
    ndr_buffer_destroy(x);
    ndr_queue_destroy(line);
    ndr_context_destroy(plain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_check__finds_one_byte_past_the_end),
        cmocka_unit_test(test_check__finds_one_byte_before_the_start),
        cmocka_unit_test(test_check__finds_both_ends),
        cmocka_unit_test(test_check__finds_the_only_byte_of_a_buffer_of_none),
        cmocka_unit_test(test_check__looks_as_far_as_its_zones_reach),
        cmocka_unit_test(test_check__finds_a_range_larger_than_the_buffer_in_each_form),
        cmocka_unit_test(test_check__names_the_element),
        cmocka_unit_test(test_check__finds_what_is_added_past_the_end),
        cmocka_unit_test(test_check__finds_what_is_often_stored_past_the_end),
        cmocka_unit_test(test_check__finds_a_copy_that_passes_the_end_of_both_buffers),
        cmocka_unit_test(test_check__says_it_word_for_word),
        cmocka_unit_test(test_check__names_a_buffer_that_was_not_given),
        cmocka_unit_test(test_check__blames_no_later_launch),
        cmocka_unit_test(test_check__of_a_refused_launch_hands_out_no_event),
        cmocka_unit_test(test_check__refuses_any_wrong_count_of_arguments),
        cmocka_unit_test(test_check__finds_every_write_at_the_byte),
        cmocka_unit_test(test_check__finds_writes_outside_the_buffer_of_a_view),
        cmocka_unit_test(test_check__finds_writes_where_the_ends_of_a_view_are_those_of_its_buffer),
        cmocka_unit_test(test_check__refuses_an_image_over_a_buffer_with_zones),
        cmocka_unit_test(test_check__keeps_rectangles_inside),
        cmocka_unit_test(test_check__finds_writes_outside_what_reducers_reach),
        cmocka_unit_test(test_check__lets_correct_kernels_pass),
        cmocka_unit_test(test_check__lets_operations_pass),
        cmocka_unit_test(test_check__keeps_transfers_inside),
        cmocka_unit_test(test_check__shows_what_a_new_buffer_has_not_been_given),
        cmocka_unit_test(test_check__says_when_the_host_leaves_what_it_has_mapped),
        cmocka_unit_test(test_check__blames_the_right_one_of_many_threads),
        cmocka_unit_test(test_check__runs_a_prepared_launch_while_its_buffers_change),
        cmocka_unit_test(test_check__blames_the_argument_that_a_prepared_launch_ran_with),
        cmocka_unit_test(test_check__reports_what_it_cannot_check_once),
        cmocka_unit_test(test_check__reports_how_many_images_have_no_zones),
        cmocka_unit_test(test_check__report_may_be_cut),
        cmocka_unit_test(test_check__leaves_a_handed_out_buffer_alone),
        cmocka_unit_test(test_check__makes_do_with_smaller_zones),
        cmocka_unit_test(test_check__refuses_what_was_destroyed),
        cmocka_unit_test(test_check__refuses_a_destroyed_buffer_that_is_kept),
        cmocka_unit_test(test_check__tells_another_context_from_destruction),
        cmocka_unit_test(test_check__refuses_a_context_and_kernels_that_are_gone),
        cmocka_unit_test(test_check__destroys_nothing_twice),
        cmocka_unit_test(test_check__refuses_a_smashed_handle),
        cmocka_unit_test(test_check__refuses_what_is_no_handle),
        cmocka_unit_test(test_check__remembers_a_thousand_destroyed_handles),
        cmocka_unit_test(test_check__is_off_by_default),
        cmocka_unit_test(test_check__is_turned_on_by_the_environment),
        cmocka_unit_test(test_check__descriptor_stands_above_the_environment),
        cmocka_unit_test(test_check__refuses_words_it_does_not_know),
        cmocka_unit_test(test_check__descriptor_chooses_a_device),
        cmocka_unit_test(test_check__leaves_other_contexts_alone),
    };
    return cmocka_run_group_tests(tests, open_checked, close_device);
}
