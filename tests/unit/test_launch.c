/* test_launch.c - launches: every item runs once, every argument is checked, and a refusal enqueues nothing. */
#include "support.h"

#include "driver_faults.h"

#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <unistd.h>

#include "device/context.h"
#include "device/queue.h"
#include "launch/launch.h"

/* The numbers that an item reports about itself. The last four have one number for each of `dims` dimensions. */
enum { SEEN, GLOBAL, GROUP = 4, LOCAL = 7, LOCAL_RANGE = 10, WORDS = 13 };

/* Kernels whose items report where they are. */
static const char item_source[] =
    "#include \"ndr/nd_item.clh\"\n"
    "#define RANGE_KERNEL(d)                                                                   \\\n"
    "    kernel void range_##d(global uint *items, global uint *runs, NDR_RANGE(d))            \\\n"
    "    {                                                                                     \\\n"
    "        atomic_inc(runs);                                                                 \\\n"
    "        const ndr_item it = NDR_ITEM(d);                                                  \\\n"
    "        global uint *mine = items + 13 * ndr_global_linear_id(it);                        \\\n"
    "        atomic_inc(mine);                                                                 \\\n"
    "        for (uint k = 0; k < ndr_dims(it); ++k) mine[1 + k] = (uint)ndr_global_id(it, k); \\\n"
    "    }\n"
    "RANGE_KERNEL(0)\nRANGE_KERNEL(1)\nRANGE_KERNEL(2)\nRANGE_KERNEL(3)\n"
    "\n"
    "#define ND_KERNEL(d)                                                                      \\\n"
    "    kernel void nd_##d(global uint *items, global uint *runs, NDR_ND_RANGE(d))            \\\n"
    "    {                                                                                     \\\n"
    "        const ndr_nd_item it = NDR_ND_ITEM(d);                                            \\\n"
    "        atomic_inc(runs);                                                                 \\\n"
    "        if (!ndr_in_range(it)) return;                                                    \\\n"
    "        global uint *mine = items + 13 * ndr_global_linear_id(it);                        \\\n"
    "        atomic_inc(mine);                                                                 \\\n"
    "        for (uint k = 0; k < ndr_dims(it); ++k) {                                         \\\n"
    "            mine[1 + k] = (uint)ndr_global_id(it, k);                                     \\\n"
    "            mine[4 + k] = (uint)ndr_group_id(it, k);                                      \\\n"
    "            mine[7 + k] = (uint)ndr_local_id(it, k);                                      \\\n"
    "            mine[10 + k] = (uint)ndr_local_range(it, k);                                  \\\n"
    "        }                                                                                 \\\n"
    "    }\n"
    "ND_KERNEL(0)\nND_KERNEL(1)\nND_KERNEL(2)\nND_KERNEL(3)\n";

/* Kernels that report their arguments. */
static const char source[] =
    "#include \"ndr/nd_item.clh\"\n"
    "#ifdef cl_khr_fp64\n"
    "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
    "#endif\n"
    "typedef struct pair { int first; float second; } pair;\n"
    "struct triple { char a; int b; short c; };\n"
    "typedef uint count_t;\n"
    "\n"
    "kernel void saxpy(global float *y, global const float *x, float a, NDR_RANGE(1))\n"
    "{\n"
    "    const ndr_item it = NDR_ITEM(1);\n"
    "    const size_t i = ndr_global_id(it, 0);\n"
    "    y[i] += a * x[i];\n"
    "}\n"
    "\n"
    "kernel void numbers(global long *out, char a, uchar b, short c, ushort d, int e, uint f, long g, "
    "ulong h)\n"
    "{\n"
    "    out[0] = a; out[1] = b; out[2] = c; out[3] = d; out[4] = e; out[5] = f; out[6] = g; out[7] = "
    "(long)h;\n"
    "}\n"
    "kernel void one_float(global long *out, float x) { out[0] = (long)(4 * x); }\n"
    "kernel void one_count(global long *out, count_t n) { out[0] = n; }\n"
    "#ifdef cl_khr_fp64\n"
    "kernel void one_double(global long *out, double x) { out[0] = (long)(4 * x); }\n"
    "#endif\n"
    "kernel void pointers(global long *out, global const int *a, constant int *b)\n"
    "{\n"
    "    out[0] = (a ? a[0] : -1) + 1000 * (b ? b[0] : -1);\n"
    "}\n"
    "kernel void all_null(global int *a, global const int *b, constant int *c, global int *d)\n"
    "{\n"
    "    if (a) a[0] = b ? b[0] : c ? c[0] : d ? d[0] : 1;\n"
    "}\n"
    "kernel void in_local(global long *out, local int *t, int n)\n"
    "{\n"
    "    long sum = 0;\n"
    "    for (int i = 0; i < n; ++i) t[i] = i;\n"
    "    for (int i = 0; i < n; ++i) sum += t[i];\n"
    "    out[0] = sum;\n"
    "}\n"
    "kernel void two_local(global long *out, local char *a, local pair *b)\n"
    "{\n"
    "    a[0] = 1;\n"
    "    b[0].first = 2;\n"
    "    out[0] = a[0] + b[0].first;\n"
    "}\n"
    "struct cell { int a; float b[3]; };\n"
    "typedef struct cell cell_t;\n"
    "typedef float real_t;\n"
    "typedef float4 quad;\n"
    "kernel void cells(global long *out, local struct cell *a, local cell_t *b, local real_t *c, local float4 *d,\n"
    "                  local quad *e, local void *f)\n"
    "{\n"
    "    a[0].b[2] = 1; b[0].b[2] = 2; c[0] = 3; d[0].w = 4; e[0].w = 5;\n"
    "    ((local char *)f)[0] = 6;\n"
    "    out[0] = (long)(a[0].b[2] + b[0].b[2] + c[0] + d[0].w + e[0].w) + ((local char *)f)[0];\n"
    "}\n"
    "kernel void structs(global long *out, pair p, struct triple t)\n"
    "{\n"
    "    out[0] = p.first; out[1] = (long)(4 * p.second); out[2] = t.a; out[3] = t.b; out[4] = t.c;\n"
    "}\n"
    "kernel void vectors(global long *out, float4 a, int3 b, uchar16 c)\n"
    "{\n"
    "    out[0] = (long)(a.x + a.y + a.z + a.w); out[1] = b.x * 100 + b.y * 10 + b.z; out[2] = c.s0 + "
    "c.sf;\n"
    "}\n"
    "kernel void colours(global long *out, float3 a, quad b)\n"
    "{\n"
    "    out[0] = (long)(a.x + 10 * a.y + 100 * a.z + 1000 * b.x + 10000 * b.w);\n"
    "}\n"
    "kernel __attribute__((reqd_work_group_size(4, 2, 1))) void required(global long *out)\n"
    "{\n"
    "    out[0] = (long)(10 * get_local_size(1) + get_local_size(0));\n"
    "}\n"
    "kernel void store(global int *out, int where, int value, int again)\n"
    "{\n"
    "    out[where] = value == again ? value : -1;\n"
    "}\n";

/* Kernels of many arguments. */
static const char many_source[] =
    "#define INTS8(p) int p##0, int p##1, int p##2, int p##3, int p##4, int p##5, int p##6, int p##7\n"
    "#define SUM8(p) p##0 + 2 * p##1 + 3 * p##2 + 4 * p##3 + 5 * p##4 + 6 * p##5 + 7 * p##6 + 8 * p##7\n"
    "kernel void takes_32(global long *out, INTS8(a), INTS8(b), INTS8(c), int d0, int d1, int d2, int d3, "
    "int d4,\n"
    "                     int d5, int d6)\n"
    "{\n"
    "    out[0] = SUM8(a) + 100 * (SUM8(b)) + 10000 * (SUM8(c)) + d0 + d1 + d2 + d3 + d4 + d5 + d6;\n"
    "}\n"
    "#define INTS40(p) INTS8(p##a), INTS8(p##b), INTS8(p##c), INTS8(p##d), INTS8(p##e)\n"
    "#define ADD8(p) h = 31 * h + p##0; h = 31 * h + p##1; h = 31 * h + p##2; h = 31 * h + p##3; \\\n"
    "                h = 31 * h + p##4; h = 31 * h + p##5; h = 31 * h + p##6; h = 31 * h + p##7;\n"
    "#define ADD40(p) ADD8(p##a) ADD8(p##b) ADD8(p##c) ADD8(p##d) ADD8(p##e)\n"
    "kernel void takes_33(global long *out, INTS8(a), INTS8(b), INTS8(c), INTS8(d))\n"
    "{\n"
    "    uint h = 0;\n"
    "    ADD8(a) ADD8(b) ADD8(c) ADD8(d)\n"
    "    out[0] = (int)h;\n"
    "}\n"
    "kernel void takes_64(global long *out, INTS40(a), INTS8(b), INTS8(c), int d0, int d1, int d2, int d3, int d4,\n"
    "                     int d5, global const int *d6)\n"
    "{\n"
    "    uint h = 0;\n"
    "    ADD40(a) ADD8(b) ADD8(c)\n"
    "    h = 31 * h + d0; h = 31 * h + d1; h = 31 * h + d2; h = 31 * h + d3; h = 31 * h + d4; h = 31 * h + d5;\n"
    "    out[0] = (int)(31 * h + d6[0]);\n"
    "}\n"
    "kernel void takes_163(global long *out, INTS40(a), INTS40(b), INTS40(c), INTS40(d), int e, int f)\n"
    "{\n"
    "    uint h = 0;\n"
    "    ADD40(a) ADD40(b) ADD40(c) ADD40(d)\n"
    "    h = 31 * h + e;\n"
    "    out[0] = (int)(31 * h + f);\n"
    "}\n";

static ndr_kernel *kernel(const char *name) { return kernel_of(source, name); }
static ndr_kernel *kernel_of_many(const char *name) { return kernel_of(many_source, name); }
static ndr_kernel *item_kernel(const char *name) { return kernel_of(item_source, name); }

/* ---- refusals ---- */

/* The buffer that refused launches would have written to. */
enum { VICTIM = 8 };
static ndr_buffer *victim;

static void assert_victim_is(int64_t first)
{
    int64_t out[VICTIM];
    assert_ok(ndr_queue_finish(queue));
    read_buffer(victim, out, sizeof out);
    for (int i = 1; i < VICTIM; ++i) assert_int_equal(out[i], 77);
    assert_int_equal(out[0], first);
}

static void restore_victim(void)
{
    const int64_t value = 77;
    assert_ok(ndr_buffer_fill(queue, victim, 0, VICTIM * sizeof value, &value, sizeof value, NULL));
}

/* Check that nothing was enqueued or written and that the same objects still work. */
static void assert_unharmed(void)
{
    assert_victim_is(77);
    assert_ok(ndr_launch(queue, kernel("one_count"), ndr_range_1d(1), victim, 5));
    assert_victim_is(5);
    restore_victim();
}

#define launch_refused(status, call, ...)               \
    do {                                                \
        assert_refused((status), call, __VA_ARGS__);    \
        assert_unharmed();                              \
    } while (0)

static int open_and_make_victim(void **state)
{
    if (open_device(state) != 0) return -1;
    int64_t values[VICTIM];
    for (int i = 0; i < VICTIM; ++i) values[i] = 77;
    return ndr_buffer_create_from(context, sizeof values, values, &victim) == NDR_OK ? 0 : -1;
}

static int close_all(void **state)
{
    ndr_buffer_destroy(victim);
    return close_device(state);
}

/* ---- one call ---- */

static void test_launch__runs_saxpy(void **state)
{
    enum { MOST = 1000 };
    const size_t n = quick() ? 100 : MOST;
    static float x[MOST], y[MOST], out[MOST];
    for (size_t i = 0; i < n; ++i) x[i] = (float)i, y[i] = 1.0f;
    ndr_buffer *dx = buffer_of(n * sizeof *x, x), *dy = buffer_of(n * sizeof *y, y);
    assert_ok(ndr_launch(queue, kernel("saxpy"), ndr_range_1d(n), dy, dx, 2.0f));
    take_buffer(dy, out, n * sizeof *out);
    for (size_t i = 0; i < n; ++i) assert_true(out[i] == 2.0f * x[i] + 1.0f);
    ndr_buffer_destroy(dx);
}

/* ndr_queue_finish() and fflush(stdout) are enough: some drivers write to C's stdout, some to its file descriptor. */
static void test_launch__puts_the_text_of_printf_on_stdout(void **state)
{
    static const char text[] = "kernel void say(int a, float4 v) { printf(\"<%d %.1f>\\n\", a, v.w); }\n";
    char printed[256] = "";
    ndr_kernel *say = kernel_of(text, "say");
    fflush(stdout);
    const int kept = dup(STDOUT_FILENO), file = open("printed.txt", O_RDWR | O_CREAT | O_TRUNC, 0600);
    assert_true(kept >= 0 && file >= 0 && dup2(file, STDOUT_FILENO) >= 0);
    const ndr_status launched = ndr_launch(queue, say, ndr_range_1d(1), 42, ndr_vector(float, 0, 0, 0, 2.5f));
    const ndr_status finished = ndr_queue_finish(queue);
    fflush(stdout);
    assert_true(dup2(kept, STDOUT_FILENO) >= 0);
    assert_ok(launched);
    assert_ok(finished);
    assert_true(pread(file, printed, sizeof printed - 1, 0) > 0);
    assert_non_null(strstr(printed, "<42 2.5>\n"));
    close(kept);
    close(file);
}

/* An argument that OpenCL's kernel already holds is not set again. Each launch changes one argument or none. */
static void test_launch__takes_its_own_arguments_after_any_others(void **state)
{
    static const char text[] =
        "#include \"ndr/nd_item.clh\"\n"
        "typedef struct { int first, second; } pair;\n"
        "kernel void tell(global int *out, int a, float b, wide c, pair d, local int *room, NDR_ND_RANGE(1))\n"
        "{\n"
        "    const ndr_nd_item it = NDR_ND_ITEM(1);\n"
        "    const size_t items = ndr_local_range(it, 0);\n"
        "    room[ndr_local_id(it, 0)] = 1;\n"
        "    ndr_group_barrier(ndr_get_group(it));\n"
        "    if (ndr_global_id(it, 0) > 0) return;\n"
        "    out[0] = a;\n"
        "    out[1] = as_int(b);\n"
        "    out[2] = (int)c + d.second;\n"
        "    out[3] = (int)ndr_global_range(it, 0);\n"
        "    for (size_t i = 0; i < items; ++i) out[4] += room[i];\n"
        "}\n";
    typedef struct {
        int first, second;
    } pair;
    const struct {
        int a;
        float b;
        int64_t c;
        size_t n, group;
        enum { SAME, RENEWED, ANOTHER } buffer;
    } steps[] = { { 1, 2, 3, 64, 16, SAME },    { 1, 2, 3, 64, 16, SAME },    { 2, 2, 3, 64, 16, SAME },
                  { 2, 0.0f, 3, 64, 16, SAME }, { 2, -0.0f, 3, 64, 16, SAME }, { 2, -0.0f, 4, 64, 16, SAME },
                  { 2, -0.0f, 4, 32, 16, SAME }, { 2, -0.0f, 4, 32, 32, SAME }, { 2, -0.0f, 4, 33, 32, SAME },
                  { 2, -0.0f, 4, 33, 32, RENEWED }, { 2, -0.0f, 4, 33, 32, ANOTHER }, { -1, -0.0f, 4, 33, 32, RENEWED },
                  { -1, -0.0f, -1, 33, 32, ANOTHER } };
    ndr_kernel *tell;
    const ndr_kernel_desc desc = { .name = "tell", .source = text, .options = "-Dwide=long" };
    assert_ok(ndr_kernel_get(context, &desc, &tell));
    ndr_buffer *out = buffer_of(5 * sizeof(int), NULL);
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; ++i) {
        const int zeros[5] = { 0 };
        if (steps[i].buffer == RENEWED) { /* the new buffer may get the old one's handle */
            ndr_buffer_destroy(out);
            out = buffer_of(5 * sizeof(int), NULL);
        } else if (steps[i].buffer == ANOTHER) {
            ndr_buffer *before = out;
            out = buffer_of(5 * sizeof(int), NULL);
            ndr_buffer_destroy(before);
        }
        assert_ok(ndr_buffer_write(queue, out, 0, sizeof zeros, zeros, NULL));
        ndr_nd_range range = ndr_nd_range_1d(steps[i].n, steps[i].group);
        range.edge = NDR_EDGE_SPLIT;
        const pair of_step = { 5, (int)i };
        assert_ok(ndr_launch(queue, tell, range, out, steps[i].a, steps[i].b, steps[i].c,
                             ndr_struct(pair, of_step), ndr_local(int, steps[i].group)));
        int told[5], bits;
        read_buffer(out, told, sizeof told);
        memcpy(&bits, &steps[i].b, sizeof bits);
        assert_int_equal(told[0], steps[i].a);
        assert_int_equal(told[1], bits);
        assert_int_equal(told[2], (int)steps[i].c + (int)i);
        assert_int_equal(told[3], (int)steps[i].n);
        assert_int_equal(told[4], (int)steps[i].group);
    }
    ndr_buffer_destroy(out);
}

/* A wrong argument is refused even if its bits equal those that the kernel holds. A mapped buffer is refused too. */
static void test_launch__refuses_after_what_fits_what_does_not(void **state)
{
    static const char text[] =
        "kernel void put(global int *out, int a, float b, wide c) { out[0] = a + (int)b + (int)c; }\n";
    ndr_kernel *put;
    const ndr_kernel_desc desc = { .name = "put", .source = text, .options = "-Dwide=long" };
    assert_ok(ndr_kernel_get(context, &desc, &put));
    ndr_buffer *out = buffer_of(sizeof(int), NULL);
    const ndr_range one = ndr_range_1d(1);
    assert_ok(ndr_launch(queue, put, one, out, -1, 2.0f, -1LL));
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, put, one, out, UINT64_MAX, 2.0f, -1LL),
                   "argument 1 \"a\"");
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, put, one, out, -1, 0x40000000, -1LL),
                   "argument 2 \"b\"");
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, put, one, out, -1, 2.0, -1LL), "argument 2 \"b\"");
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, put, one, out, -1, 2.0f, UINT64_MAX),
                   "argument 3 \"c\"");
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, put, one, (ndr_buffer *)NULL, -1, 2.0f, -1LL),
                   "argument 0 \"out\"");
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, put, one, 1, -1, 2.0f, -1LL), "argument 0 \"out\"");

    void *mapped;
    assert_ok(ndr_buffer_map(queue, out, NDR_MAP_READ, 0, sizeof(int), &mapped));
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, put, one, out, -1, 2.0f, -1LL), "mapped");
    assert_ok(ndr_buffer_unmap(queue, out, mapped, NULL));

    const int seven = 7;
    int told;
    assert_ok(ndr_buffer_write(queue, out, 0, sizeof seven, &seven, NULL));
    assert_ok(ndr_launch(queue, put, one, out, -1, 2.0f, -1LL)); /* no refused argument is held */
    read_buffer(out, &told, sizeof told);
    assert_int_equal(told, 0);
    assert_ok(ndr_launch(queue, put, one, out, 40, 2.0f, (int64_t)0));
    take_buffer(out, &told, sizeof told);
    assert_int_equal(told, 42);
}

/* A launch reuses the plan of the previous one only if the range is the same. */
static void test_launch__runs_over_its_own_range_after_any_other(void **state)
{
    static const char text[] = "#include \"ndr/nd_item.clh\"\n"
                               "kernel void where(global uint *out, NDR_ND_RANGE(0))\n"
                               "{\n"
                               "    const ndr_nd_item it = NDR_ND_ITEM(0);\n"
                               "    atomic_inc(out);\n"
                               "    if (ndr_global_linear_id(it) > 0) return;\n"
                               "    out[1] = ndr_dims(it);\n"
                               "    out[2] = (uint)ndr_global_range(it, 0);\n"
                               "    out[3] = (uint)ndr_local_range(it, 0);\n"
                               "    out[4] = (uint)ndr_global_id(it, 0);\n"
                               "}\n";
    enum { WORDS_OUT = 5 };
    const struct {
        ndr_nd_range range;
        cl_uint out[WORDS_OUT]; /* items run, dimensions, global and local size, first id */
    } steps[] = {
#define OF(n, l) .global = { .dims = 1, .size = { n } }, .local = { .dims = 1, .size = { l } }
        { { OF(64, 16) }, { 64, 1, 64, 16, 0 } },
        { { OF(64, 16) }, { 64, 1, 64, 16, 0 } },
        { { OF(48, 16) }, { 48, 1, 48, 16, 0 } },
        { { OF(48, 8) }, { 48, 1, 48, 8, 0 } },
        { { .groups = { 1, { 48 } }, .local = { 1, { 8 } } }, { 384, 1, 384, 8, 0 } },
        { { .groups = { 1, { 48 } }, .local = { 1, { 8 } } }, { 384, 1, 384, 8, 0 } },
        { { .groups = { 1, { 40 } }, .local = { 1, { 8 } } }, { 320, 1, 320, 8, 0 } },
        { { OF(48, 8) }, { 48, 1, 48, 8, 0 } },
        { { OF(48, 8), .offset = { 5 } }, { 48, 1, 48, 8, 5 } },
        { { OF(50, 8), .edge = NDR_EDGE_SPLIT }, { 50, 1, 50, 8, 0 } },
        { { OF(50, 8), .edge = NDR_EDGE_ROUND_UP }, { 56, 1, 50, 8, 0 } },
        { { OF(0, 8) }, { 0, 0, 0, 0, 0 } },
        { { OF(8, 8) }, { 8, 1, 8, 8, 0 } },
        { { .global = { .dims = 2, .size = { 8, 3 } }, .local = { .dims = 2, .size = { 8, 1 } } }, { 24, 2, 8, 8, 0 } },
        { { .global = { .dims = 2, .size = { 8, 4 } }, .local = { .dims = 2, .size = { 8, 1 } } }, { 32, 2, 8, 8, 0 } },
        { { OF(8, 8) }, { 8, 1, 8, 8, 0 } },
#undef OF
    };
    ndr_kernel *where = kernel_of(text, "where");
    ndr_buffer *out = buffer_of(sizeof steps[0].out, NULL);
    const ndr_nd_range none = { .global = { .dims = 0 } }; /* also as the first launch */
    assert_refused(NDR_BAD_RANGE, ndr_launch(queue, where, none, out), "1 to 3 dimensions");
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; ++i) {
        const cl_uint zeros[WORDS_OUT] = { 0 };
        cl_uint told[WORDS_OUT];
        assert_ok(ndr_buffer_write(queue, out, 0, sizeof zeros, zeros, NULL));
        assert_ok(ndr_launch(queue, where, steps[i].range, out));
        read_buffer(out, told, sizeof told);
        for (int w = 0; w < WORDS_OUT; ++w) assert_int_equal(told[w], steps[i].out[w]);
    }
    ndr_buffer_destroy(out);
}

static void test_launch__gives_an_event_if_one_is_wanted(void **state)
{
    ndr_event *done = NULL;
    assert_ok(ndr_launch_event(queue, kernel("one_count"), &done, ndr_range_1d(1), victim, 9));
    assert_non_null(done);
    assert_ok(ndr_event_wait(done));
    ndr_event_destroy(done);
    assert_victim_is(9);
    restore_victim();
}

static void test_launch__needs_no_arguments(void **state)
{
    assert_ok(ndr_launch(queue, kernel_without_parameters(), ndr_range_1d(4)));
    assert_ok(ndr_queue_finish(queue));
}

static void test_launch__of_a_plain_kernel_adopts_its_required_size(void **state)
{
    assert_ok(ndr_launch(queue, kernel("required"), ndr_range_2d(4, 8), victim));
    assert_victim_is(24);
    restore_victim();
}

/* ---- every item once ---- */

static size_t items_of(const ndr_range *range)
{
    size_t items = 1;
    for (unsigned d = 0; d < range->dims; ++d) items *= range->size[d];
    return items;
}

/* The report that a plain loop expects of one item. `local` is the size of groups; NULL means no groups. */
static void assert_item(const uint32_t *item, const ndr_nd_range *range, const ndr_range *local,
                        const size_t step[3])
{
    assert_int_equal(item[SEEN], 1);
    for (unsigned d = 0; d < range->global.dims; ++d) {
        assert_int_equal(item[GLOBAL + d], step[d] + range->offset[d]);
        if (!local) continue;
        const size_t size = local->size[d], group = step[d] / size,
                     left = range->global.size[d] - group * size;
        assert_int_equal(item[GROUP + d], group);
        assert_int_equal(item[LOCAL + d], step[d] % size);
        assert_int_equal(item[LOCAL_RANGE + d],
                         range->edge == NDR_EDGE_ROUND_UP ? size : ndr_min_size(size, left));
    }
}

static void assert_items(const uint32_t *items, const ndr_nd_range *range, const ndr_range *local)
{
    size_t size[3] = { 1, 1, 1 }; /* padded at the end, so linear ids stay the same */
    for (unsigned d = 0; d < range->global.dims; ++d) size[d] = range->global.size[d];
    size_t at = 0;
    for (size_t i = 0; i < size[0]; ++i)
        for (size_t j = 0; j < size[1]; ++j)
            for (size_t k = 0; k < size[2]; ++k) {
                const size_t step[3] = { i, j, k };
                assert_item(items + WORDS * at++, range, local, step);
            }
}

/* Launch a kernel whose items report, and check the reports. `runs` items must have run. */
static void check_items(const char *name, ndr_nd_range range, const ndr_range *local, size_t runs)
{
    const size_t words = WORDS * items_of(&range.global);
    uint32_t *items = calloc(words + 1, sizeof *items);
    assert_non_null(items);
    ndr_buffer *buffer = buffer_of(words * sizeof *items, items),
               *counter = buffer_of(sizeof *items, items);
    const ndr_arg args[] = { ndr_arg_of(buffer), ndr_arg_of(counter) };
    assert_ok(ndr_launch_v(queue, item_kernel(name), &range, args, 2, NULL));
    take_buffer(counter, items, sizeof *items);
    assert_int_equal(items[0], runs);
    take_buffer(buffer, items, words * sizeof *items);
    assert_items(items, &range, local);
    free(items);
}

static ndr_nd_range over(ndr_range global)
{
    return ndr_nd_range_of(global, (ndr_range){ 0, { 0, 0, 0 } });
}

static void check_range(const char *name, ndr_range global)
{
    check_items(name, over(global), NULL, items_of(&global));
}

static void check_nd(const char *name, ndr_range global, ndr_range local, ndr_edge edge)
{
    ndr_nd_range range = ndr_nd_range_of(global, local);
    range.edge = edge;
    size_t runs = 1;
    for (unsigned d = 0; d < global.dims; ++d)
        runs *= edge == NDR_EDGE_ROUND_UP ? ndr_ceil_div(global.size[d], local.size[d]) * local.size[d]
                                          : global.size[d];
    check_items(name, range, &local, runs);
}

static void test_launch__range_runs_each_item_once_in_1_d(void **state)
{
    static const size_t sizes[] = { 1, 61, 64, 256, 257, 1000 };
    for (size_t i = 0; i < (quick() ? 3 : 6); ++i) check_range("range_1", ndr_range_1d(sizes[i]));
}

static void test_launch__range_runs_each_item_once_in_2_d(void **state)
{
    check_range("range_2", ndr_range_2d(5, 7));
    if (!quick()) check_range("range_2", ndr_range_2d(13, 61));
}

static void test_launch__range_runs_each_item_once_in_3_d(void **state)
{
    check_range("range_3", ndr_range_3d(3, 5, 7));
    if (!quick()) check_range("range_3", ndr_range_3d(7, 11, 13));
}

static void test_launch__range_of_any_dimensions_runs_each_item_once(void **state)
{
    check_range("range_0", ndr_range_1d(13));
    check_range("range_0", ndr_range_2d(5, 7));
    check_range("range_0", ndr_range_3d(2, 3, 5));
}

static void test_launch__range_takes_an_offset(void **state)
{
    ndr_nd_range range = over(ndr_range_3d(3, 5, 7));
    range.offset[0] = 100;
    range.offset[1] = 20;
    range.offset[2] = 3;
    check_items("range_3", range, NULL, 105);
}

static void test_launch__range_may_be_rounded_up(void **state)
{
    ndr_nd_range range = over(ndr_range_2d(5, 7));
    range.edge = NDR_EDGE_ROUND_UP;
    check_items("range_2", range, NULL, 64); /* 8 x 8 */
}

static void test_launch__even_groups_know_their_ids(void **state)
{
    check_nd("nd_1", ndr_range_1d(64), ndr_range_1d(16), NDR_EDGE_REJECT);
    check_nd("nd_2", ndr_range_2d(6, 8), ndr_range_2d(2, 4), NDR_EDGE_REJECT);
    check_nd("nd_3", ndr_range_3d(4, 6, 6), ndr_range_3d(2, 2, 3), NDR_EDGE_REJECT);
    check_nd("nd_0", ndr_range_2d(6, 8), ndr_range_2d(2, 4), NDR_EDGE_REJECT);
}

static void test_launch__split_groups_know_their_ids(void **state)
{
    check_nd("nd_1", ndr_range_1d(61), ndr_range_1d(16), NDR_EDGE_SPLIT);
    check_nd("nd_1", ndr_range_1d(5), ndr_range_1d(16), NDR_EDGE_SPLIT);
    check_nd("nd_2", ndr_range_2d(5, 7), ndr_range_2d(2, 3), NDR_EDGE_SPLIT);
    check_nd("nd_3", ndr_range_3d(3, 5, 7), ndr_range_3d(2, 2, 3), NDR_EDGE_SPLIT);
    check_nd("nd_0", ndr_range_2d(5, 7), ndr_range_2d(2, 3), NDR_EDGE_SPLIT);
}

static void test_launch__rounded_up_items_know_whether_they_count(void **state)
{
    check_nd("nd_1", ndr_range_1d(61), ndr_range_1d(16), NDR_EDGE_ROUND_UP);
    check_nd("nd_2", ndr_range_2d(5, 7), ndr_range_2d(2, 3), NDR_EDGE_ROUND_UP);
    check_nd("nd_3", ndr_range_3d(3, 5, 7), ndr_range_3d(2, 2, 3), NDR_EDGE_ROUND_UP);
}

static void test_launch__offset_moves_global_ids_only(void **state)
{
    for (int edge = NDR_EDGE_ROUND_UP; edge <= NDR_EDGE_SPLIT; ++edge) {
        ndr_nd_range range = ndr_nd_range_2d(5, 7, 2, 3);
        range.edge = (ndr_edge)edge;
        range.offset[0] = 1000;
        range.offset[1] = 7;
        check_items("nd_2", range, &range.local, edge == NDR_EDGE_SPLIT ? 35 : 54);
    }
}

static void test_launch__automatic_groups_know_their_ids(void **state)
{
    const ndr_range globals[] = { ndr_range_1d(61), ndr_range_2d(5, 67), ndr_range_3d(3, 5, 7),
                                  ndr_range_1d(509) };
    static const char *const names[] = { "nd_1", "nd_2", "nd_3", "nd_1" };
    for (size_t i = 0; i < (quick() ? 3 : 4); ++i) {
        ndr_range local;
        assert_ok(ndr_kernel_suggest_local(item_kernel(names[i]), &globals[i], &local));
        const ndr_nd_range range = ndr_nd_range_of(globals[i], (ndr_range){ globals[i].dims, { 0, 0, 0 } });
        check_items(names[i], range, &local, items_of(&globals[i])); /* the edges are split without a request */
    }
}

static void test_launch__may_count_groups(void **state)
{
    enum { ITEMS = 12 };
    uint32_t items[WORDS * ITEMS] = { 0 };
    ndr_buffer *buffer = buffer_of(sizeof items, items), *counter = buffer_of(sizeof *items, items);
    assert_ok(ndr_launch(queue, item_kernel("nd_1"), ndr_groups_of(ndr_range_1d(3), ndr_range_1d(4)),
                         buffer, counter));
    take_buffer(buffer, items, sizeof items);
    for (uint32_t i = 0; i < ITEMS; ++i) {
        assert_int_equal(items[WORDS * i + SEEN], 1);
        assert_int_equal(items[WORDS * i + GROUP], i / 4);
    }
    ndr_buffer_destroy(counter);
}

/* ---- empty ranges ---- */

static void test_launch__of_nothing_succeeds_in_any_dimension(void **state)
{
    for (unsigned dims = 1; dims <= 3; ++dims)
        for (unsigned zero = 0; zero < dims; ++zero) {
            ndr_range global = { dims, { 3, 3, 3 } };
            global.size[zero] = 0;
            ndr_event *done = NULL;
            assert_ok(ndr_launch_event(queue, kernel("one_count"), &done, global, victim, 5));
            assert_ok(ndr_event_wait(done));
            ndr_event_destroy(done);
            assert_ok(ndr_launch(queue, kernel("one_count"), global, victim, 5));
        }
    assert_unharmed();
}

static void test_launch__of_nothing_is_checked_all_the_same(void **state)
{
    launch_refused(NDR_BAD_KERNEL_ARGUMENT,
                   ndr_launch(queue, kernel("one_count"), ndr_range_1d(0), victim, 1.0f),
                   "takes an integer");
}

/* ---- numbers ---- */

/* The arguments of `numbers`, all in range. */
static void fill_numbers(ndr_arg args[9])
{
    args[0] = ndr_arg_of(victim);
    for (int i = 1; i < 9; ++i) args[i] = ndr_arg_of(i);
}

static ndr_status launch_numbers(const ndr_arg args[9])
{
    const ndr_nd_range one = over(ndr_range_1d(1));
    return ndr_launch_v(queue, kernel("numbers"), &one, args, 9, NULL);
}

static void assert_numbers(const int64_t wanted[8])
{
    int64_t out[8];
    read_buffer(victim, out, sizeof out);
    for (int i = 0; i < 8; ++i) assert_int_equal(out[i], wanted[i]);
    restore_victim();
}

static const int64_t lowest[] = { INT8_MIN, 0, INT16_MIN, 0, INT32_MIN, 0, INT64_MIN, 0 };
static const uint64_t highest[] = { INT8_MAX,  UINT8_MAX,  INT16_MAX, UINT16_MAX,
                                    INT32_MAX, UINT32_MAX, INT64_MAX, UINT64_MAX };

static void test_args__pass_every_integer_type(void **state)
{
    const int64_t wanted[8] = { -1, 200, -300, 60000, -70000, 4000000000, -5000000000, 6000000000 };
    assert_ok(ndr_launch(queue, kernel("numbers"), ndr_range_1d(1), victim, (signed char)-1,
                         (unsigned char)200, (short)-300, (unsigned short)60000, -70000, 4000000000u,
                         -5000000000l, 6000000000ul));
    assert_numbers(wanted);
}

static void test_args__pass_bool_char_and_long_long(void **state)
{
    const int64_t wanted[8] = { 'x', 1, 0, 1, 'y', 1, -7, 8 };
    assert_ok(ndr_launch(queue, kernel("numbers"), ndr_range_1d(1), victim, (char)'x', (bool)true,
                         (bool)false, (bool)true, (char)'y', (bool)true, -7ll, 8ull));
    assert_numbers(wanted);
}

static void test_args__pass_the_smallest_and_the_largest(void **state)
{
    ndr_arg args[9];
    int64_t wanted[8];
    fill_numbers(args);
    for (int i = 0; i < 8; ++i) args[i + 1] = ndr_arg_of(lowest[i]);
    assert_ok(launch_numbers(args));
    assert_numbers(lowest);
    for (int i = 0; i < 8; ++i) {
        args[i + 1] = ndr_arg_of(highest[i]);
        wanted[i] = (int64_t)highest[i];
    }
    assert_ok(launch_numbers(args));
    assert_numbers(wanted);
}

static void test_args__refuse_integers_that_do_not_fit(void **state)
{
    static const char *const types[] = {
        "\"a\" (char)", "\"b\" (uchar)", "\"c\" (short)", "\"d\" (ushort)",
        "\"e\" (int)",  "\"f\" (uint)",  "\"g\" (long)",  "\"h\" (ulong)"
    };
    for (int i = 0; i < 8; ++i) {
        ndr_arg args[9];
        char value[64];
        if (lowest[i] != INT64_MIN) {
            fill_numbers(args);
            args[i + 1] = ndr_arg_of(lowest[i] - 1);
            snprintf(value, sizeof value, "cannot hold %lld", (long long)lowest[i] - 1);
            launch_refused(NDR_BAD_KERNEL_ARGUMENT, launch_numbers(args), "kernel \"numbers\", argument ",
                           types[i], value);
        }
        if (highest[i] != UINT64_MAX) {
            fill_numbers(args);
            args[i + 1] = ndr_arg_of(highest[i] + 1);
            snprintf(value, sizeof value, "cannot hold %llu", (unsigned long long)highest[i] + 1);
            launch_refused(NDR_BAD_KERNEL_ARGUMENT, launch_numbers(args), types[i], value);
        }
    }
}

/* The sentence suggests a cast if the value fits the parameter's bits. A wider value gets no such advice. */
static void test_args__refuse_a_bit_pattern_of_the_other_sign_with_its_cast(void **state)
{
    const struct {
        int index;
        ndr_arg arg;
        const char *why;
    } rows[] = {
        { 1, ndr_arg_of(255),
          "(char) cannot hold 255, because char holds -128 to 127; if the bit pattern is meant, cast it: "
          "(int8_t)value" },
        { 2, ndr_arg_of(-1),
          "(uchar) cannot hold -1, because uchar holds 0 to 255; if the bit pattern is meant, cast it: "
          "(uint8_t)value" },
        { 3, ndr_arg_of(0xFFFFu),
          "(short) cannot hold 65535, because short holds -32768 to 32767; if the bit pattern is meant, cast it: "
          "(int16_t)value" },
        { 4, ndr_arg_of(-2),
          "(ushort) cannot hold -2, because ushort holds 0 to 65535; if the bit pattern is meant, cast it: "
          "(uint16_t)value" },
        { 5, ndr_arg_of(0xFFFFFFFFu),
          "(int) cannot hold 4294967295, because int holds -2147483648 to 2147483647; if the bit pattern is meant, "
          "cast it: (int32_t)value" },
        { 6, ndr_arg_of(-1),
          "(uint) cannot hold -1, because uint holds 0 to 4294967295; if the bit pattern is meant, cast it: "
          "(uint32_t)value" },
        { 7, ndr_arg_of(UINT64_MAX),
          "(long) cannot hold 18446744073709551615, because long holds -9223372036854775808 to 9223372036854775807; if "
          "the bit pattern is meant, cast it: (int64_t)value" },
        { 8, ndr_arg_of(-1),
          "(ulong) cannot hold -1, because ulong holds 0 to 18446744073709551615; if the bit pattern is meant, cast "
          "it: (uint64_t)value" },
    };
    ndr_arg args[9];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        fill_numbers(args);
        args[rows[i].index] = rows[i].arg;
        launch_refused(NDR_BAD_KERNEL_ARGUMENT, launch_numbers(args), rows[i].why);
    }
    fill_numbers(args);
    args[5] = ndr_arg_of(UINT32_MAX + INT64_C(1));
    launch_refused(
        NDR_BAD_KERNEL_ARGUMENT, launch_numbers(args),
        "(int) cannot hold 4294967296, because int holds -2147483648 to 2147483647; declare the parameter long "
        "in the kernel, or pass such a value");
    assert_null(strstr(ndr_last_error(), "cast"));
    args[5] = ndr_arg_of(UINT64_MAX);
    launch_refused(NDR_BAD_KERNEL_ARGUMENT, launch_numbers(args), "declare the parameter ulong in the kernel");
    args[5] = ndr_arg_of((int32_t)0xFFFFFFFFu);
    assert_ok(launch_numbers(args));
    int64_t out[8];
    read_buffer(victim, out, sizeof out);
    assert_int_equal(out[4], -1);
    restore_victim();
}

static void test_args__refuse_floats_for_integers(void **state)
{
    launch_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, kernel("one_count"), ndr_range_1d(1), victim, 1.0),
                   "kernel \"one_count\", argument 1 \"n\" (count_t) takes an integer, but the "
                   "double 1 is given; cast it: (uint32_t)value");
    launch_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, kernel("one_count"), ndr_range_1d(1), victim, 1.0f),
                   "takes an integer, but the float 1 is given; cast it: (uint32_t)value");
}

/* A cast of such a value is undefined in C. */
static void test_args__suggest_no_cast_of_a_float_that_does_not_fit(void **state)
{
    static const struct {
        int index;
        double value;
        const char *why; /* NULL: the cast is suggested */
    } rows[] = {
        { 5, 5e9,
          "takes an integer, but the double 5e+09 is given, and int holds -2147483648 to 2147483647; declare the "
          "parameter long in the kernel, or pass an integer that fits" },
        { 5, -2147483649.0, "int holds" },
        { 5, 2147483648.0, "int holds" },
        { 5, 2147483647.5, NULL },
        { 5, -2147483648.0, NULL },
        { 6, -1.0, "uint holds 0 to" },
        { 6, -0.5, NULL },
        { 6, 4294967296.0, "uint holds" },
        { 6, 4294967295.0, NULL },
        { 7, 1e30, "declare the parameter double" },
        { 8, 18446744073709551616.0, "ulong holds 0 to 18446744073709551615" },
        { 8, 1e19, NULL },
        { 1, NAN, "char holds" },
    };
    ndr_arg args[9];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        fill_numbers(args);
        args[rows[i].index] = ndr_arg_of(rows[i].value);
        launch_refused(NDR_BAD_KERNEL_ARGUMENT, launch_numbers(args), rows[i].why ? rows[i].why : "cast it: (");
        assert_int_equal(strstr(ndr_last_error(), "cast") != NULL, !rows[i].why);
    }
}

static void test_args__in_another_order_are_refused_with_the_parameters(void **state)
{
    launch_refused(
        NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, kernel("one_float"), ndr_range_1d(1), 2.5f, victim),
        "argument 0 \"out\" (long*) takes a buffer, but a float is given; the parameters in order are out (long*), "
        "x (float)");
}

static void test_args__pass_a_typedef_as_what_it_is(void **state)
{
    assert_ok(ndr_launch(queue, kernel("one_count"), ndr_range_1d(1), victim, 4000000000u));
    assert_victim_is(4000000000);
    restore_victim();
    launch_refused(NDR_BAD_KERNEL_ARGUMENT,
                   ndr_launch(queue, kernel("one_count"), ndr_range_1d(1), victim, -1),
                   "(count_t) cannot hold -1");
}

static void test_args__pass_a_float(void **state)
{
    assert_ok(ndr_launch(queue, kernel("one_float"), ndr_range_1d(1), victim, 2.25f));
    assert_victim_is(9);
    restore_victim();
}

static void test_args__refuse_other_numbers_for_a_float(void **state)
{
    launch_refused(NDR_BAD_KERNEL_ARGUMENT,
                   ndr_launch(queue, kernel("one_float"), ndr_range_1d(1), victim, 2.5),
                   "argument 1 \"x\" (float) takes a float, but the double 2.5 is given", "2.0f");
    launch_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, kernel("one_float"), ndr_range_1d(1), victim, 2),
                   "takes a float, but the integer 2 is given; write it as in 2.0f or cast it to float");
    launch_refused(NDR_BAD_KERNEL_ARGUMENT,
                   ndr_launch(queue, kernel("one_float"), ndr_range_1d(1), victim, victim),
                   "takes a float, but a buffer is given");
}

static ndr_arg real_of(double value)
{
    ndr_arg arg = ndr_arg_of(value);
    arg.kind = NDR_ARG_REAL;
    return arg;
}

static void test_args__round_a_real_to_the_parameter(void **state)
{
    const char *const names[] = { "one_float", "one_double" };
    for (int i = 0; i < (device.has_f64 ? 2 : 1); ++i)
        for (int twice = 0; twice < 2; ++twice) { /* the second launch finds it set */
            assert_ok(ndr_launch(queue, kernel(names[i]), ndr_range_1d(1), victim, real_of(2.25)));
            assert_victim_is(9);
            restore_victim();
        }
    assert_ok(ndr_launch(queue, kernel("one_float"), ndr_range_1d(1), victim, real_of(3.4e38)));
    assert_ok(ndr_launch(queue, kernel("one_float"), ndr_range_1d(1), victim, real_of((double)INFINITY)));
    restore_victim();
    launch_refused(NDR_BAD_KERNEL_ARGUMENT,
                   ndr_launch(queue, kernel("one_float"), ndr_range_1d(1), victim, real_of(1e300)),
                   "argument 1 \"x\" (float) cannot hold 1e+300, because float holds at most 3.40282e+38", "double");
    launch_refused(NDR_BAD_KERNEL_ARGUMENT,
                   ndr_launch(queue, kernel("one_count"), ndr_range_1d(1), victim, real_of(2.5)),
                   "takes an integer, but the floating-point number 2.5 is given");
    launch_refused(NDR_BAD_KERNEL_ARGUMENT,
                   ndr_launch(queue, kernel("one_float"), ndr_range_1d(1), real_of(2.5), 1.0f),
                   "takes a buffer, but a floating-point number is given");
}

static void test_args__pass_a_double(void **state)
{
    skip_without(device.has_f64, "the device has no double");
    assert_ok(ndr_launch(queue, kernel("one_double"), ndr_range_1d(1), victim, 2.25));
    assert_victim_is(9);
    restore_victim();
}

static void test_args__refuse_other_numbers_for_a_double(void **state)
{
    skip_without(device.has_f64, "the device has no double");
    launch_refused(NDR_BAD_KERNEL_ARGUMENT,
                   ndr_launch(queue, kernel("one_double"), ndr_range_1d(1), victim, 2.5f),
                   "takes a double, but the float 2.5 is given; cast it to double");
    launch_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, kernel("one_double"), ndr_range_1d(1), victim, 2),
                   "takes a double, but the integer 2 is given; write it as in 2.0 or cast it to double");
}

/* ---- buffers ---- */

static void test_args__pass_buffers_and_deliberate_nulls(void **state)
{
    const int seven = 7, nine = 9;
    ndr_buffer *a = buffer_of(sizeof seven, &seven), *b = buffer_of(sizeof nine, &nine);
    assert_ok(ndr_launch(queue, kernel("pointers"), ndr_range_1d(1), victim, a, b));
    assert_victim_is(9007);
    assert_ok(ndr_launch(queue, kernel("pointers"), ndr_range_1d(1), victim, ndr_null, b));
    assert_victim_is(8999);
    assert_ok(ndr_launch(queue, kernel("pointers"), ndr_range_1d(1), victim, a, ndr_null));
    assert_victim_is(-993);
    restore_victim();
    destroy_buffers(a, b);
}

static void test_args__may_all_be_null(void **state)
{
    assert_ok(
        ndr_launch(queue, kernel("all_null"), ndr_range_1d(1), ndr_null, ndr_null, ndr_null, ndr_null));
    assert_ok(ndr_queue_finish(queue));
}

static void test_args__forget_a_null_of_the_launch_before(void **state)
{
    const int seven = 7;
    ndr_buffer *a = buffer_of(sizeof seven, &seven);
    assert_ok(ndr_launch(queue, kernel("pointers"), ndr_range_1d(1), victim, ndr_null, ndr_null));
    assert_ok(ndr_launch(queue, kernel("pointers"), ndr_range_1d(1), victim, a, a));
    assert_victim_is(7007);
    restore_victim();
    ndr_buffer_destroy(a);
}

static void test_args__take_a_buffer_of_0_bytes(void **state)
{
    ndr_buffer *empty = buffer_of(0, NULL);
    assert_ok(ndr_launch(queue, kernel("saxpy"), ndr_range_1d(0), empty, empty, 1.0f));
    ndr_buffer_destroy(empty);
}

static void test_args__refuse_a_null_buffer(void **state)
{
    launch_refused(
        NDR_BAD_KERNEL_ARGUMENT,
        ndr_launch(queue, kernel("pointers"), ndr_range_1d(1), victim, (ndr_buffer *)NULL, ndr_null),
        "kernel \"pointers\", argument 1 \"a\" (int*) is a NULL buffer; write ndr_null if that is meant");
}

static void test_args__refuse_a_buffer_of_another_context(void **state)
{
    ndr_context *other;
    ndr_buffer *theirs;
    assert_ok(ndr_context_create(NULL, &other));
    assert_ok(ndr_buffer_create(other, 64, &theirs));
    launch_refused(NDR_BAD_KERNEL_ARGUMENT,
                   ndr_launch(queue, kernel("pointers"), ndr_range_1d(1), victim, theirs, ndr_null),
                   "argument 1 \"a\" (int*) is a buffer of another context");
    ndr_buffer_destroy(theirs);
    ndr_context_destroy(other);
}

static void test_args__refuse_other_things_for_a_buffer(void **state)
{
    const struct { int32_t first; float second; } pair = { 1, 2 };
    launch_refused(NDR_BAD_KERNEL_ARGUMENT,
                   ndr_launch(queue, kernel("pointers"), ndr_range_1d(1), victim, 0, ndr_null),
                   "takes a buffer, but an integer is given");
    launch_refused(NDR_BAD_KERNEL_ARGUMENT,
                   ndr_launch(queue, kernel("pointers"), ndr_range_1d(1), victim, ndr_null, 1.0f),
                   "argument 2 \"b\" (int*) takes a buffer, but a float is given");
    launch_refused(
        NDR_BAD_KERNEL_ARGUMENT,
        ndr_launch(queue, kernel("pointers"), ndr_range_1d(1), victim, ndr_local(int, 4), ndr_null),
        "takes a buffer, but local memory is given");
    launch_refused(NDR_BAD_KERNEL_ARGUMENT,
                   ndr_launch(queue, kernel("pointers"), ndr_range_1d(1), victim,
                              ndr_arg_struct_(&pair, sizeof pair, NULL), ndr_null),
                   "takes a buffer, but a struct is given");
    launch_refused(NDR_BAD_KERNEL_ARGUMENT,
                   ndr_launch(queue, kernel("one_count"), ndr_range_1d(1), victim, ndr_null),
                   "takes an integer, but ndr_null is given");
}

/* ---- local memory ---- */

typedef struct pair {
    int32_t first;
    float second;
} pair;

static void test_args__ask_for_local_memory_of_one_to_three_extents(void **state)
{
    assert_ok(ndr_launch(queue, kernel("in_local"), ndr_nd_range_1d(1, 1), victim, ndr_local(int, 24), 24));
    assert_victim_is(276);
    assert_ok(
        ndr_launch(queue, kernel("in_local"), ndr_nd_range_1d(1, 1), victim, ndr_local(int, 4, 6), 24));
    assert_victim_is(276);
    assert_ok(
        ndr_launch(queue, kernel("in_local"), ndr_nd_range_1d(1, 1), victim, ndr_local(int, 2, 3, 4), 24));
    assert_victim_is(276);
    restore_victim();
}

static void test_args__local_memory_may_be_of_structs(void **state)
{
    assert_ok(ndr_launch(queue, kernel("two_local"), ndr_nd_range_1d(1, 1), victim, ndr_local(char, 3),
                         ndr_local(struct pair, 2)));
    assert_victim_is(3);
    restore_victim();
}

static void test_args__refuse_more_local_memory_than_the_device_has(void **state)
{
    const size_t limit = device.local_memory_bytes;
    char has[64];
    snprintf(has, sizeof has, "the device has %zu for a group", limit);
    launch_refused(NDR_LIMIT_EXCEEDED,
                   ndr_launch(queue, kernel("in_local"), ndr_nd_range_1d(1, 1), victim,
                              ndr_local(int, limit / 4 + 1), 1),
                   "kernel \"in_local\" would need", has);
    const ndr_arg half = ndr_local(char, limit / 2 + 1), other_half = ndr_local(pair, limit / 16 + 1);
    launch_refused(NDR_LIMIT_EXCEEDED,
                   ndr_launch(queue, kernel("two_local"), ndr_nd_range_1d(1, 1), victim, half, other_half),
                   "kernel \"two_local\" would need", has);
}

/* PoCL's assertion would end the process. Other compilers refuse such a kernel. */
static void test_args__refuse_more_local_memory_in_the_kernel_than_the_device_has(void **state)
{
    char text[256], wanted[128];
    const size_t floats = device.local_memory_bytes / sizeof(float) + 1;
    snprintf(text, sizeof text,
             "kernel void wide(global float *x) { local float t[%zu]; t[get_local_id(0)] = x[0];\n"
             "    barrier(CLK_LOCAL_MEM_FENCE); x[0] = t[0] + t[%zu]; }\n",
             floats, floats - 1);
    ndr_kernel *kernel;
    if (ndr_kernel_get(context, &(ndr_kernel_desc){ .name = "wide", .source = text }, &kernel) != NDR_OK) {
        print_message("skipped: the compiler refuses the kernel: %s\n", ndr_last_error());
        skip();
    }
    ndr_kernel_info info;
    assert_ok(ndr_kernel_get_info(kernel, &info));
    skip_without(info.local_memory_bytes > 1, "the driver does not tell a kernel's own local memory before it is launched");
    ndr_buffer *x = buffer_of(4, NULL);
    snprintf(wanted, sizeof wanted,
             "kernel \"wide\" declares %zu bytes of local memory inside it; the device has %zu for a group: ",
             info.local_memory_bytes, device.local_memory_bytes);
    assert_true(info.local_memory_bytes >= floats * sizeof(float));
    const bool is_dedicated = context->caps.info.has_dedicated_local_memory;
    context->caps.info.has_dedicated_local_memory = false; /* the next test is for the others */
    assert_refused(NDR_LIMIT_EXCEEDED, ndr_launch(queue, kernel, ndr_range_1d(1), x), wanted,
                   "make its local arrays smaller, or move them to a buffer");
    context->caps.info.has_dedicated_local_memory = is_dedicated;
    ndr_buffer_destroy(x);
}

/* As NVIDIA's: it reports 48 KiB, and runs kernels with more. */
static void test_args__leave_the_kernel_s_own_local_memory_to_a_driver_with_separate_memory(void **state)
{
    static const char text[] = "kernel void roomy(global int *x) { local int t[512]; t[get_local_id(0)] = 3;\n"
                               "    barrier(CLK_LOCAL_MEM_FENCE); x[0] = t[0]; }\n";
    const ndr_device_info before = context->caps.info;
    ndr_kernel *kernel;
    ndr_prepared *prepared;
    int got = 0;
    ndr_buffer *x = buffer_of(sizeof got, &got);
    assert_ok(ndr_kernel_get(context, &(ndr_kernel_desc){ .name = "roomy", .source = text }, &kernel));
    context->caps.info.local_memory_bytes = 1;
    context->caps.info.has_dedicated_local_memory = true;
    const ndr_status launched = ndr_launch(queue, kernel, ndr_nd_range_1d(1, 1), x);
    const ndr_status made = ndr_prepare(kernel, &prepared, ndr_nd_range_1d(1, 1), x);
    context->caps.info = before;
    assert_ok(launched);
    assert_ok(made);
    ndr_prepared_destroy(prepared);
    take_buffer(x, &got, sizeof got);
    assert_int_equal(got, 3);
}

static void test_args__refuse_local_memory_that_cannot_be_counted(void **state)
{
    const size_t many = (size_t)1 << (5 * sizeof(size_t)); /* whose square passes SIZE_MAX */
    char asked[96];
    snprintf(asked, sizeof asked, "(1, %zu, %zu) elements", many, many);
    launch_refused(
        NDR_LIMIT_EXCEEDED,
        ndr_launch(queue, kernel("in_local"), ndr_nd_range_1d(1, 1), victim, ndr_local(int, SIZE_MAX / 2), 1),
        "\"t\" (int*)", "exceeds the address space");
    launch_refused(NDR_LIMIT_EXCEEDED,
                   ndr_launch(queue, kernel("in_local"), ndr_nd_range_1d(1, 1), victim,
                              ndr_local(int, 1, many, many), 1),
                   asked);
    const ndr_arg half = ndr_local(char, SIZE_MAX / 2 + 1), other_half = ndr_local(pair, SIZE_MAX / 16 + 1);
    launch_refused(NDR_LIMIT_EXCEEDED,
                   ndr_launch(queue, kernel("two_local"), ndr_nd_range_1d(1, 1), victim, half, other_half),
                   "would need");
}

static void test_args__refuse_local_memory_of_nothing(void **state)
{
    launch_refused(NDR_BAD_KERNEL_ARGUMENT,
                   ndr_launch(queue, kernel("in_local"), ndr_nd_range_1d(1, 1), victim, ndr_local(int, 4, 0), 1),
                   "asks for no local memory");
}

static void test_args__refuse_a_fourth_extent(void **state)
{
    launch_refused(
        NDR_BAD_KERNEL_ARGUMENT,
        ndr_launch(queue, kernel("in_local"), ndr_nd_range_1d(1, 1), victim, ndr_local(int, 1, 1, 1, 1), 1),
        "was never set", "ndr_local takes 1 to 3 extents");
}

static void test_args__refuse_local_memory_of_another_type(void **state)
{
    launch_refused(
        NDR_BAD_KERNEL_ARGUMENT,
        ndr_launch(queue, kernel("in_local"), ndr_nd_range_1d(1, 1), victim, ndr_local(float, 4), 1),
        "kernel \"in_local\", argument 1 \"t\" (int*) points to another type than the float given to "
        "ndr_local");
}

struct cell {
    int32_t a;
    float b[3];
};
typedef struct cell cell_t;
struct other {
    float b[4];
}; /* as large */
typedef cl_float4 colour;
typedef float real_t;

static const size_t CELLS = 6;

/* The six arguments of `cells`, with exactly its types. */
static void fill_cells(ndr_arg args[7])
{
    args[0] = ndr_arg_of(victim);
    args[1] = ndr_local(struct cell, 2);
    args[2] = ndr_local(cell_t, 2);
    args[3] = ndr_local(float, 2);
    args[4] = ndr_local(cl_float4, 2);
    args[5] = ndr_local(cl_float4, 2);
    args[6] = ndr_local(char, 2);
}

static ndr_status launch_cells(size_t index, ndr_arg local)
{
    ndr_arg args[7];
    const ndr_nd_range one = ndr_nd_range_1d(1, 1);
    fill_cells(args);
    args[index] = local;
    return ndr_launch_v(queue, kernel("cells"), &one, args, 1 + CELLS, NULL);
}

static void test_args__local_memory_may_be_of_structs_typedefs_and_vectors(void **state)
{
    const struct {
        size_t index;
        ndr_arg local;
    } fine[] = {
        { 1, ndr_local(struct cell, 2) }, { 1, ndr_arg_local_(NDR_DTYPE_NONE, sizeof(struct cell), 1, 2, 1, 1) },
        { 2, ndr_local(cell_t, 2) },
        { 3, ndr_local(real_t, 2) },      { 3, ndr_arg_local_(NDR_DTYPE_F32, sizeof(float), 1, 2, 1, 1) },
        { 4, ndr_local(cl_float3, 2) },   { 4, ndr_local(colour, 2) },
        { 5, ndr_local(colour, 2) },      { 6, ndr_local(struct other, 2) },
    };
    for (size_t i = 0; i < sizeof fine / sizeof fine[0]; ++i) {
        assert_ok(launch_cells(fine[i].index, fine[i].local));
        assert_victim_is(21);
    }
    restore_victim();
}

static void test_args__refuse_local_memory_of_another_struct_or_vector(void **state)
{
    const struct {
        size_t index;
        ndr_arg local;
        const char *place, *why;
    } wrong[] = {
        { 1, ndr_local(float, 16), "argument 1 \"a\" (struct cell*)", "points to another type than the float" },
        { 1, ndr_local(struct other, 16), "argument 1",
          "another type than the struct other given to ndr_local; name the same" },
        { 1, ndr_local(cl_float4, 16), "argument 1", "points to another type than the cl_float4" },
        { 1, ndr_arg_local_(NDR_DTYPE_NONE, 8, 1, 16, 1, 1), "argument 1", "elements of 16 bytes on the device" },
        { 2, ndr_local(pair, 16), "argument 2 \"b\" (cell_t*)", "points to another type than the pair" },
        { 3, ndr_local(int, 16), "argument 3 \"c\" (real_t*)", "points to another type than the int" },
        { 3, ndr_local(pair, 16), "argument 3",
          "elements of 4 bytes on the device, but those of the pair given to ndr_local have 8" },
        { 4, ndr_local(cl_int4, 16), "argument 4 \"d\" (float4*)", "points to another type than the cl_int4" },
        { 4, ndr_local(float, 64), "argument 4", "points to another type than the float" },
        { 4, ndr_local(pair, 16), "argument 4",
          "elements of 16 bytes on the device, but those of the pair given to ndr_local have 8" },
        { 5, ndr_local(cl_int4, 16), "argument 5 \"e\" (quad*)", "points to another type than the cl_int4" },
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; ++i)
        launch_refused(NDR_BAD_KERNEL_ARGUMENT, launch_cells(wrong[i].index, wrong[i].local), "kernel \"cells\"",
                       wrong[i].place, wrong[i].why);
}

static void test_args__local_memory_may_be_of_arrays(void **state)
{
    static const char rows[] =
        "#include <ndr/nd_item.clh>\n"
        "kernel void k(global long *out, local float (*a)[4], local float *b, local int2 *c, NDR_ND_RANGE(1))\n"
        "{ a[2][3] = 1; b[11] = 2; c[5] = (int2)(3, 4); out[0] = (long)(a[2][3] + b[11]) + c[5].x + c[5].y; }\n";
    ndr_kernel *k = kernel_of(rows, "k");
    const ndr_nd_range one = ndr_nd_range_1d(1, 1);
    const ndr_arg a = ndr_local(float[4], 3), b = ndr_local(float[2][3], 2), c = ndr_local(int[4], 3);
    assert_ok(ndr_launch(queue, k, one, victim, a, b, c));
    assert_victim_is(10);
    const ndr_arg spelt = ndr_local(cl_float [4], 3), vectors = ndr_local(cl_int2[3], 2);
    assert_ok(ndr_launch(queue, k, one, victim, spelt, spelt, vectors));
    assert_victim_is(10);
    restore_victim();
    const struct {
        ndr_arg a, b, c;
        const char *place, *why;
    } wrong[] = {
        { ndr_local(float, 12), b, c, "argument 1 \"a\"", "another type than the float given to ndr_local; name the same" },
        { ndr_local(float[3], 4), b, c, "argument 1", "another type than the float[3]" },
        { ndr_local(int[4], 3), b, c, "argument 1", "another type than the int[4]" },
        { a, ndr_local(int[4], 3), c, "argument 2 \"b\" (float*)", "another type than the int[4]" },
        { a, b, ndr_local(int[3], 4), "argument 3 \"c\" (int2*)", "elements of 8 bytes on the device, but those of the int[3]" },
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; ++i)
        launch_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, k, one, victim, wrong[i].a, wrong[i].b, wrong[i].c),
                       wrong[i].place, wrong[i].why);
}

/* A struct whose name begins with "void" is not void. */
static void test_args__know_a_pointer_to_void_by_its_whole_name(void **state)
{
    static const char voidlike[] = "#include <ndr/nd_item.clh>\n"
                                   "typedef struct { int x[4]; } void_cell;\n"
                                   "kernel void k(global long *out, local void_cell *cells, NDR_ND_RANGE(1))\n"
                                   "{ cells[0].x[0] = 1; out[0] = cells[0].x[0]; }\n";
    launch_refused(NDR_BAD_KERNEL_ARGUMENT,
                   ndr_launch(queue, kernel_of(voidlike, "k"), ndr_nd_range_1d(1, 1), victim, ndr_local(float, 4)),
                   "argument 1 \"cells\" (void_cell*)", "points to another type than the float");
}

static void test_args__refuse_other_things_for_local_memory(void **state)
{
    launch_refused(NDR_BAD_KERNEL_ARGUMENT,
                   ndr_launch(queue, kernel("in_local"), ndr_nd_range_1d(1, 1), victim, victim, 1),
                   "takes local memory (ndr_local), but a buffer is given");
    launch_refused(NDR_BAD_KERNEL_ARGUMENT,
                   ndr_launch(queue, kernel("in_local"), ndr_nd_range_1d(1, 1), victim, ndr_null, 1),
                   "takes local memory (ndr_local), but ndr_null is given");
}

/* ---- structs and vectors ---- */

struct triple {
    int8_t a;
    int32_t b;
    int16_t c;
};

static void test_args__pass_structs_by_value(void **state)
{
    skip_for_fault(driver_refuses_padded_structs(), "it refuses a struct that ends in padding");
    const pair p = { -5, 2.5f };
    const struct triple t = { 1, 2, 3 };
    int64_t out[VICTIM];
    assert_ok(ndr_launch(queue, kernel("structs"), ndr_range_1d(1), victim, ndr_struct(pair, p),
                         ndr_struct(struct triple, t)));
    read_buffer(victim, out, sizeof out);
    static const int64_t wanted[5] = { -5, 10, 1, 2, 3 };
    for (int i = 0; i < 5; ++i) assert_int_equal(out[i], wanted[i]);
    restore_victim();
}

static void test_args__take_a_struct_with_or_without_its_keyword(void **state)
{
    skip_for_fault(driver_refuses_padded_structs(), "it refuses a struct that ends in padding");
    const pair p = { 1, 1 };
    const struct triple t = { 1, 2, 3 };
    assert_ok(ndr_launch(queue, kernel("structs"), ndr_range_1d(1), victim, ndr_struct(struct pair, p),
                         ndr_arg_struct_(&t, sizeof t, "triple")));
    assert_ok(ndr_launch(queue, kernel("structs"), ndr_range_1d(1), victim,
                         ndr_arg_struct_(&p, sizeof p, NULL), ndr_arg_struct_(&t, sizeof t, NULL)));
    assert_ok(ndr_queue_finish(queue));
    restore_victim();
}

static void test_args__refuse_a_struct_of_another_name(void **state)
{
    const pair p = { 1, 1 };
    const struct triple t = { 1, 2, 3 };
    launch_refused(NDR_BAD_KERNEL_ARGUMENT,
                   ndr_launch(queue, kernel("structs"), ndr_range_1d(1), victim,
                              ndr_struct(struct triple, t), ndr_struct(pair, p)),
                   "kernel \"structs\", argument 1 \"p\" (",
                   "is given a struct triple; name the same type on both sides");
}

struct small_and_large {
    char small;
    int64_t large;
};

/* i386's C aligns members of 64 bits to 4 bytes, and the sentence says what to do. */
static void test_args__refuse_a_struct_of_another_size(void **state)
{
    const int64_t large[2] = { 0, 0 };
    const struct triple t = { 1, 2, 3 };
    launch_refused(NDR_BAD_KERNEL_ARGUMENT,
                   ndr_launch(queue, kernel("structs"), ndr_range_1d(1), victim,
                              ndr_arg_struct_(large, 4, "pair"), ndr_struct(struct triple, t)),
                   "has 8 bytes on the device, but 4 are given; declare the same members on both sides",
                   sizeof(struct small_and_large) < 16 ? "sides, those of 64 bits with _Alignas(8)" : "sides");
    launch_refused(NDR_BAD_KERNEL_ARGUMENT,
                   ndr_launch(queue, kernel("structs"), ndr_range_1d(1), victim,
                              ndr_arg_struct_(large, 16, "pair"), ndr_struct(struct triple, t)),
                   "has 8 bytes on the device, but 16 are given");
    launch_refused(NDR_BAD_KERNEL_ARGUMENT,
                   ndr_launch(queue, kernel("structs"), ndr_range_1d(1), victim,
                              ndr_arg_struct_(large, 0, "pair"), ndr_struct(struct triple, t)),
                   "but 0 are given");
}

static void test_args__refuse_other_things_for_a_struct(void **state)
{
    const struct triple t = { 1, 2, 3 };
    launch_refused(
        NDR_BAD_KERNEL_ARGUMENT,
        ndr_launch(queue, kernel("structs"), ndr_range_1d(1), victim, 5, ndr_struct(struct triple, t)),
        "takes a struct (ndr_struct), but an integer is given");
    launch_refused(NDR_BAD_KERNEL_ARGUMENT,
                   ndr_launch(queue, kernel("structs"), ndr_range_1d(1), victim,
                              ndr_arg_struct_(NULL, 8, "pair"), ndr_struct(struct triple, t)),
                   "is a struct at NULL");
}

static void test_args__pass_vectors_as_structs_of_their_size(void **state)
{
    const cl_float4 a = { { 1, 2, 3, 4 } };
    const cl_int3 b = { { 1, 2, 3 } };
    const cl_uchar16 c = { { 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 6 } };
    int64_t out[VICTIM];
    assert_ok(ndr_launch(queue, kernel("vectors"), ndr_range_1d(1), victim, ndr_struct(cl_float4, a),
                         ndr_struct(cl_int3, b), ndr_struct(cl_uchar16, c)));
    read_buffer(victim, out, sizeof out);
    assert_int_equal(out[0], 10);
    assert_int_equal(out[1], 123);
    assert_int_equal(out[2], 11);
    restore_victim();
}

static void test_args__refuse_vectors_of_another_size(void **state)
{
    const cl_float2 a = { { 1, 2 } };
    const cl_int3 b = { { 1, 2, 3 } };
    launch_refused(NDR_BAD_KERNEL_ARGUMENT,
                   ndr_launch(queue, kernel("vectors"), ndr_range_1d(1), victim, ndr_struct(cl_float2, a),
                              ndr_struct(cl_int3, b), ndr_struct(cl_int3, b)),
                   "argument 1 \"a\" (float4) has 16 bytes on the device, but 8 are given");
    launch_refused(NDR_BAD_KERNEL_ARGUMENT,
                   ndr_launch(queue, kernel("vectors"), ndr_range_1d(1), victim, 1.0f,
                              ndr_struct(cl_int3, b), ndr_struct(cl_int3, b)),
                   "takes a vector (ndr_vector), but a float is given");
}

static void test_args__take_vectors_under_every_name(void **state)
{
    const cl_float4 a = { { 1, 2, 3, 0 } }, b = { { 4, 0, 0, 5 } };
    assert_ok(ndr_launch(queue, kernel("colours"), ndr_range_1d(1), victim, ndr_struct(cl_float3, a),
                         ndr_struct(cl_float4, b)));
    assert_victim_is(54321);
    assert_ok(
        ndr_launch(queue, kernel("colours"), ndr_range_1d(1), victim, ndr_struct(cl_float4, a), ndr_struct(colour, b)));
    assert_victim_is(54321);
    assert_ok(ndr_launch(queue, kernel("colours"), ndr_range_1d(1), victim, ndr_struct(colour, a),
                         ndr_arg_struct_(&b, sizeof b, NULL)));
    assert_victim_is(54321);
    assert_ok(ndr_launch(queue, kernel("colours"), ndr_range_1d(1), victim, ndr_arg_struct_(&a, sizeof a, "float3"),
                         ndr_arg_struct_(&b, sizeof b, "quad")));
    assert_victim_is(54321);
    restore_victim();
}

/* Typedefs of typedefs, by value and in local memory. The plain type is known, so other types are refused. */
static void test_args__take_vectors_through_typedefs(void **state)
{
    static const char typedefs[] =
        "#include <ndr/nd_item.clh>\n"
        "typedef float4 quad;\ntypedef quad colour_t;\ntypedef uchar16 bytes_t;\n"
        "#define K(name, T) kernel void name(global long *out, T a, local bytes_t *b, local T *c, NDR_ND_RANGE(1)) \\\n"
        "    { b[1].sf = 7; c[1].w = a.w; out[0] = b[1].sf + (long)c[1].w; }\n"
        "K(shown, colour_t)\n"
        "kernel void plain(global long *out, colour_t a, local bytes_t *b, local colour_t *c, NDR_ND_RANGE(1))\n"
        "    { b[1].sf = 7; c[1].w = a.w; out[0] = b[1].sf + (long)c[1].w; }\n";
    static const char *const names[] = { "plain", "shown" };
    const cl_float4 v = { { 1, 2, 3, 30 } };
    const cl_int4 w = { { 1, 2, 3, 4 } };
    const ndr_nd_range one = ndr_nd_range_1d(1, 1);
    const ndr_arg a = ndr_struct(cl_float4, v), b = ndr_local(cl_uchar16, 2), c = ndr_local(cl_float4, 2);
    const ndr_arg ints = ndr_struct(cl_int4, w), local_ints = ndr_local(cl_int4, 2);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
        ndr_kernel *k = kernel_of(typedefs, names[i]);
        assert_ok(ndr_launch(queue, k, one, victim, a, b, c));
        assert_victim_is(37);
        restore_victim();
        launch_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, k, one, victim, ints, b, c),
                       "argument 1 \"a\" (colour_t) is given a cl_int4; pass a cl_float4");
        launch_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, k, one, victim, a, b, local_ints),
                       "argument 3 \"c\" (colour_t*) points to another type than the cl_int4");
    }
}

static void test_args__refuse_vectors_of_another_type(void **state)
{
    const cl_float4 a = { { 1, 2, 3, 0 } };
    const cl_int4 b = { { 1, 2, 3, 4 } };
    const cl_double2 c = { { 1, 2 } };
    launch_refused(
        NDR_BAD_KERNEL_ARGUMENT,
        ndr_launch(queue, kernel("colours"), ndr_range_1d(1), victim, ndr_struct(cl_int4, b), ndr_struct(cl_float4, a)),
        "kernel \"colours\", argument 1 \"a\" (float3) is given a cl_int4; pass a cl_float3");
    launch_refused(
        NDR_BAD_KERNEL_ARGUMENT,
        ndr_launch(queue, kernel("colours"), ndr_range_1d(1), victim, ndr_struct(cl_float4, a), ndr_struct(cl_int4, b)),
        "argument 2 \"b\" (quad) is given a cl_int4; pass a cl_float4");
    launch_refused(NDR_BAD_KERNEL_ARGUMENT,
                   ndr_launch(queue, kernel("colours"), ndr_range_1d(1), victim, ndr_struct(cl_double2, c),
                              ndr_struct(cl_float4, a)),
                   "is given a cl_double2; pass a cl_float3");
}

/* ---- vectors by their elements ---- */

/* A kernel for each type, with a vector of each width: it stores the lanes of all. */
static const char lanes_source[] =
    "#define K(T) kernel void lanes_of_##T(global T *out, T##2 a, T##3 b, T##4 c, T##8 d, T##16 e) \\\n"
    "    { vstore2(a, 0, out); vstore3(b, 0, out + 2); vstore4(c, 0, out + 5); vstore8(d, 0, out + 9); \\\n"
    "      vstore16(e, 0, out + 17); }\n"
    "K(char) K(uchar) K(short) K(ushort) K(int) K(uint) K(long) K(ulong) K(float)\n"
    "#ifdef DOUBLE\n"
    "K(double)\n"
    "#endif\n";
enum { WIDTHS = 5, LANES = 2 + 3 + 4 + 8 + 16 };
static const unsigned widths[WIDTHS] = { 2, 3, 4, 8, 16 };

static ndr_kernel *lanes_kernel(ndr_dtype dtype)
{
    char name[32];
    snprintf(name, sizeof name, "lanes_of_%s", ndr_dtype_describe(dtype)->cl_name);
    const ndr_kernel_desc desc = { .name = name, .source = lanes_source, .options = device.has_f64 ? "-DDOUBLE" : "" };
    ndr_kernel *found;
    assert_ok(ndr_kernel_get(context, &desc, &found));
    return found;
}

/* Another type is refused, and one element, or one byte, more or less. */
static void check_wrong_lanes(ndr_kernel *k, ndr_dtype dtype, ndr_arg args[1 + WIDTHS], size_t i)
{
    const ndr_arg right = args[i];
    const ndr_dtype other = dtype == NDR_DTYPE_I8 ? NDR_DTYPE_U8 : (ndr_dtype)(dtype - 1);
    const size_t element = ndr_dtype_size(dtype), sizes[] = { element, (size_t)0 - element, 1, SIZE_MAX, 0 };
    for (size_t n = 0; n < sizeof sizes / sizeof sizes[0]; ++n) {
        if (sizes[n] == 0) args[i].dtype = other;
        args[i].size_bytes = right.size_bytes + sizes[n];
        const ndr_status status = ndr_launch_v(queue, k, &(ndr_nd_range){ .global = ndr_range_1d(1) }, args, 6, NULL);
        assert_refused(NDR_BAD_KERNEL_ARGUMENT, status, "takes a vector of", ndr_dtype_describe(dtype)->cl_name);
        args[i] = right;
    }
}

/* Each byte of the elements differs. */
static void check_lanes(ndr_dtype dtype)
{
    uint8_t given[(LANES + 1) * 8], stored[LANES * 8];
    const size_t element = ndr_dtype_size(dtype);
    for (size_t i = 0; i < sizeof given; ++i) given[i] = (uint8_t)(i + 1);
    ndr_buffer *out = buffer_of(sizeof stored, stored);
    ndr_kernel *k = lanes_kernel(dtype);
    ndr_arg args[1 + WIDTHS] = { ndr_arg_of(out) };
    size_t first = 0;
    for (size_t i = 0; i < WIDTHS; first += widths[i++])
        args[1 + i] = ndr_arg_vector_(dtype, given + first * element, widths[i] * element);
    for (size_t i = 1; i <= WIDTHS; ++i) check_wrong_lanes(k, dtype, args, i);
    assert_ok(ndr_launch_v(queue, k, &(ndr_nd_range){ .global = ndr_range_1d(1) }, args, 6, NULL));
    take_buffer(out, stored, LANES * element);
    assert_memory_equal(stored, given, LANES * element);
}

static void test_vectors__of_every_type_and_width_are_passed(void **state)
{
    for (ndr_dtype dtype = NDR_DTYPE_I8; dtype <= NDR_DTYPE_F64; ++dtype)
        if (device.has_f64 || dtype != NDR_DTYPE_F64) check_lanes(dtype);
}

static void test_vectors__are_written_as_their_elements(void **state)
{
    assert_ok(ndr_launch(queue, kernel("vectors"), ndr_range_1d(1), victim, ndr_vector(float, 1, 2, 3, 4),
                         ndr_vector(int, 1, 2, 3),
                         ndr_vector(uint8_t, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 6)));
    int64_t out[VICTIM];
    read_buffer(victim, out, sizeof out);
    assert_int_equal(out[0], 10);
    assert_int_equal(out[1], 123);
    assert_int_equal(out[2], 11);
    restore_victim();
}

/* An argument that a launch has set is compared with the next one: two vectors may be at one address. */
static void test_vectors__change_from_launch_to_launch(void **state)
{
    float v[3] = { 1, 2, 0 };
    for (int i = 0; i < 3; ++i) {
        v[2] = (float)i;
        assert_ok(ndr_launch(queue, kernel("colours"), ndr_range_1d(1), victim,
                             ndr_arg_vector_(NDR_DTYPE_F32, v, sizeof v), ndr_vector(float, 4, 0, 0, 5)));
        assert_victim_is(54021 + 100 * i);
    }
    restore_victim();
}

static void test_vectors__that_do_not_fit_are_refused(void **state)
{
    const struct {
        ndr_arg a;
        const char *sentence;
    } wrong[] = {
        { ndr_vector(int, 1, 2, 3), "kernel \"colours\", argument 1 \"a\" (float3) takes a vector of 3 float, but one of 3 int is given" },
        { ndr_vector(float, 1, 2, 3, 4), "takes a vector of 3 float, but one of 4 float is given" },
        { ndr_vector(float, 1), "takes a vector of 3 float, but one of 1 float is given" },
        { ndr_vector(bool, 1, 0, 1), "argument 1 \"a\" (float3) is a vector of elements that are not numbers" },
        { ndr_arg_vector_(NDR_DTYPE_F32, NULL, 12), "argument 1 \"a\" (float3) is a vector at NULL" },
        { ndr_arg_of(1.0f), "argument 1 \"a\" (float3) takes a vector (ndr_vector), but a float is given" },
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; ++i)
        launch_refused(NDR_BAD_KERNEL_ARGUMENT,
                       ndr_launch(queue, kernel("colours"), ndr_range_1d(1), victim, wrong[i].a,
                                  ndr_vector(float, 1, 2, 3, 4)),
                       wrong[i].sentence);
    const struct triple t = { 1, 2, 3 };
    launch_refused(NDR_BAD_KERNEL_ARGUMENT,
                   ndr_launch(queue, kernel("structs"), ndr_range_1d(1), victim, ndr_vector(int, 1, 2),
                              ndr_struct(struct triple, t)),
                   "takes a struct (ndr_struct), but a vector is given");
    launch_refused(NDR_BAD_KERNEL_ARGUMENT,
                   ndr_launch(queue, kernel("one_float"), ndr_range_1d(1), victim, ndr_vector(float, 1, 2)),
                   "takes a float, but a vector is given");
}

/* ---- half ---- */

static const char half_source[] =
    "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n"
    "typedef half real_t;\n"
    "typedef half3 real3_t;\n"
    "kernel void halves(global half *out, half x, real_t y, half2 a, real3_t b)\n"
    "{\n"
    "    out[0] = x; out[1] = y; out[2] = a.x; out[3] = a.y; out[4] = b.x; out[5] = b.y; out[6] = b.z;\n"
    "}\n";

/* 2049 lies between two halves and goes to the even one; 1e6 is beyond the largest. */
static void test_half__is_rounded_from_a_float(void **state)
{
    skip_without(device.has_f16, "the device has no half");
    static const uint16_t wanted[] = { 0x3c00, 0x6800, 0x6802, 0x7c00, 0x8000, 0x4000, 0x4200 };
    static const uint16_t with_bits[] = { 0x1234, 0x6800, 0x4000, 0x7c00, 0x4200, 0x4400, 0x4500 };
    const cl_half2 pair_of_bits = { { 0x4000, 0x7c00 } };
    cl_half bits = 0;
    uint16_t out[7];
    ndr_kernel *k = kernel_of(half_source, "halves");
    assert_ok(ndr_launch(queue, k, ndr_range_1d(1), victim, 1.0f, 2049.0f, ndr_vector(float, 2051, 1e6f),
                         ndr_vector(float, -0.0f, 2, 3)));
    read_buffer(victim, out, sizeof out);
    assert_memory_equal(out, wanted, sizeof out);
    assert_ok(ndr_launch(queue, k, ndr_range_1d(1), victim, real_of(1.0), real_of(2049.0), ndr_vector(float, 2051, 1e6f),
                         ndr_vector(float, -0.0f, 2, 3)));
    read_buffer(victim, out, sizeof out);
    assert_memory_equal(out, wanted, sizeof out);
    const ndr_arg at_bits = ndr_arg_struct_(&bits, sizeof bits, "cl_half");
    for (int i = 0; i < 2; ++i, bits = 0x1234) /* the second launch finds other bits at the same address */
        assert_ok(ndr_launch(queue, k, ndr_range_1d(1), victim, at_bits, 2049.0f, ndr_struct(cl_half2, pair_of_bits),
                             ndr_vector(float, 3, 4, 5)));
    read_buffer(victim, out, sizeof out);
    assert_memory_equal(out, with_bits, sizeof out);
    restore_victim();
}

static void test_half__takes_no_other_number(void **state)
{
    skip_without(device.has_f16, "the device has no half");
    const ndr_arg a = ndr_vector(float, 1, 2), b = ndr_vector(float, 1, 2, 3);
    const uint32_t wide = 1;
    const struct {
        ndr_arg args[4];
        const char *sentence;
    } wrong[] = {
        { { ndr_arg_of(1.0), ndr_arg_of(1.0f), a, b },
          "argument 1 \"x\" (half) takes a float, but the double 1 is given" },
        { { ndr_arg_of(1), ndr_arg_of(1.0f), a, b },
          "argument 1 \"x\" (half) takes a float, but the integer 1 is given; write it as in 2.0f" },
        { { ndr_struct(uint32_t, wide), ndr_arg_of(1.0f), a, b }, "has 2 bytes on the device, but 4 are given" },
        { { ndr_arg_of(1.0f), ndr_arg_of(2), a, b }, "argument 2 \"y\" (real_t) takes a float" },
        { { ndr_arg_of(1.0f), ndr_arg_of(1.0f), b, b }, "takes a vector of 2 half, but one of 3 float is given" },
        { { ndr_arg_of(1.0f), ndr_arg_of(1.0f), ndr_vector(double, 1, 2), b },
          "takes a vector of 2 half, but one of 2 double is given" },
        { { ndr_arg_of(1.0f), ndr_arg_of(1.0f), a, a }, "takes a vector of 3 half, but one of 2 float is given" },
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; ++i) {
        const ndr_arg *w = wrong[i].args;
        launch_refused(NDR_BAD_KERNEL_ARGUMENT,
                       ndr_launch(queue, kernel_of(half_source, "halves"), ndr_range_1d(1), victim, w[0], w[1], w[2], w[3]),
                       wrong[i].sentence);
    }
}

static void test_half__by_value_needs_a_device_that_has_it(void **state)
{
    skip_without(!device.has_f16, "the device has half");
    static const char text[] = "kernel void k(global int *out, half x) { out[0] = (int)x; }\n";
    ndr_kernel *k;
    assert_refused(NDR_BUILD_FAILED, ndr_kernel_get(context, &(ndr_kernel_desc){ .name = "k", .source = text }, &k),
                   "take a float, or a pointer to half with vload_half()");
}

/* Kernels have bf16 as ushort. */
static void test_bfloat__is_an_ushort(void **state)
{
    static const char text[] =
        "kernel void k(global ushort *out, ushort4 v, local ushort *t) { t[0] = v.y; out[0] = t[0]; out[1] = v.w; }\n";
    static const uint16_t lanes[] = { 1, 2, 3, 4 };
    uint16_t out[2];
    const ndr_arg args[] = {
        ndr_arg_of(victim),
        { .kind = NDR_ARG_VECTOR, .dtype = NDR_DTYPE_BF16, .size_bytes = sizeof lanes, .as.value.bytes = lanes },
        { .kind = NDR_ARG_LOCAL, .dtype = NDR_DTYPE_BF16, .size_bytes = 2, .as.extent = { 1, 1, 1 } },
    };
    const ndr_nd_range range = ndr_nd_range_1d(1, 1);
    assert_ok(ndr_launch_v(queue, kernel_of(text, "k"), &range, args, 3, NULL));
    read_buffer(victim, out, sizeof out);
    assert_true(out[0] == 2 && out[1] == 4);
    restore_victim();
}

/* Pointers to half need nothing of the device. On the host cl_half is another name for uint16_t. */
static void test_half__is_pointed_to_on_every_device(void **state)
{
    static const char text[] = "kernel void k(global half *out, local half *a, local half *b, local half *c)\n"
                                 "{ vstore_half(2.5f, 1, a); vstore_half(vload_half(1, a), 0, out); }\n";
    ndr_kernel *k = kernel_of(text, "k");
    const ndr_arg a = ndr_local(cl_half, 2), b = ndr_local(cl_half[2], 2), c = ndr_local(cl_half[1], 2);
    const ndr_nd_range one = ndr_nd_range_1d(1, 1);
    uint16_t out;
    assert_ok(ndr_launch(queue, k, one, victim, a, b, c));
    read_buffer(victim, &out, sizeof out);
    assert_int_equal(out, 0x4100);
    restore_victim();
    const ndr_arg floats = ndr_local(float, 2);
    launch_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, k, one, victim, floats, b, c),
                   "argument 1 \"a\" (half*) points to another type than the float given to ndr_local");
}

/* ---- types of unknown size ---- */

/* The driver names the type, but its scope ends with the parameter list. */
static void test_args__of_a_type_that_nobody_can_size_are_refused(void **state)
{
    static const char hidden[] = "typedef float real_t;\n"
                                 "kernel void k(global int *out, struct hidden { int x; } h, real_t f)\n"
                                 "{ out[0] = h.x + (int)(4 * f); }\n";
    ndr_kernel *k = kernel_of(hidden, "k");
    const int64_t too_large = 1;
    launch_refused(
        NDR_UNSUPPORTED,
        ndr_launch(queue, k, ndr_range_1d(1), victim, ndr_arg_struct_(&too_large, sizeof too_large, "hidden"), 2.5f),
        "kernel \"k\", argument 1 \"h\" (struct hidden) is of a type whose size the driver's compiler does not report; declare a "
        "struct before the kernel, or pass it in a buffer");
    assert_int_equal(k->params[2].kind, NDR_PARAM_NUMBER); /* the other type is still known */
    assert_int_equal(k->params[2].type.dtype, NDR_DTYPE_F32);
}

/* ---- by value ---- */

static void test_args__are_taken_when_the_launch_returns(void **state)
{
    skip_for_fault(driver_refuses_padded_structs(), "it refuses a struct that ends in padding");
    skip_where_launches_are_waited_for();
    pair p = { 41, 1 };
    struct triple t = { 1, 2, 3 };
    cl_int error;
    int64_t out[VICTIM];
    cl_event gate =
        clCreateUserEvent(context->cl, &error); /* holds the launch back until the host has changed all */
    assert_int_equal(error, CL_SUCCESS);
    assert_int_equal(clEnqueueBarrierWithWaitList(queue->cl, 1, &gate, NULL), CL_SUCCESS);
    assert_ok(ndr_launch(queue, kernel("structs"), ndr_range_1d(1), victim, ndr_struct(pair, p),
                         ndr_struct(struct triple, t)));
    p.first = 42;
    t.b = 43;
    assert_int_equal(clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
    clReleaseEvent(gate);
    read_buffer(victim, out, sizeof out);
    assert_int_equal(out[0], 41);
    assert_int_equal(out[3], 2);
    restore_victim();
}

static void test_args__are_those_of_their_own_launch(void **state)
{
    enum { LAUNCHES = 100 };
    int out[LAUNCHES] = { 0 };
    ndr_buffer *buffer = buffer_of(sizeof out, out);
    for (int i = 0; i < LAUNCHES; ++i)
        assert_ok(ndr_launch(queue, kernel("store"), ndr_range_1d(1), buffer, i, 3 * i, 3 * i));
    take_buffer(buffer, out, sizeof out);
    for (int i = 0; i < LAUNCHES; ++i) assert_int_equal(out[i], 3 * i);
}

/* ---- the number of arguments ---- */

static void test_args__missing_are_listed(void **state)
{
    launch_refused(
        NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, kernel("saxpy"), ndr_range_1d(1), victim),
        "kernel \"saxpy\" takes 3 arguments, but 1 is given; its parameters are y (float*), x (float*), a (float)");
    launch_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, kernel("saxpy"), ndr_range_1d(1)),
                   "takes 3 arguments, but 0 are given");
}

static void test_args__of_local_memory_are_refused_where_there_are_no_groups(void **state)
{
    static const char ungrouped[] = "#include <ndr/item.clh>\n"
                                    "kernel void alone(global int *x, local int *t, NDR_RANGE(1)) { x[0] = 1; }\n";
    launch_refused(NDR_BAD_KERNEL_ARGUMENT,
                   ndr_launch(queue, kernel_of(ungrouped, "alone"), ndr_range_1d(1), victim, ndr_local(int32_t, 4)),
                   "argument 1 \"t\"", "a range has none: write NDR_ND_RANGE");
}

static void test_args__too_many_are_refused(void **state)
{
    launch_refused(NDR_BAD_KERNEL_ARGUMENT,
                   ndr_launch(queue, kernel("one_count"), ndr_range_1d(1), victim, 1, 2),
                   "kernel \"one_count\" takes 2 arguments, but 3 are given");
    launch_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, kernel_without_parameters(), ndr_range_1d(1), victim),
                   "kernel \"nothing\" takes 0 arguments, but 1 is given; its parameters are none");
}

static void test_args__may_be_32(void **state)
{
    assert_ok(ndr_launch(queue, kernel_of_many("takes_32"), ndr_range_1d(1), victim, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2,
                         2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3, 1, 2, 3, 4, 5, 6, 7));
    assert_victim_is(36 + 7200 + 1080000 + 28);
    restore_victim();
}

/* The result of takes_33 and the other kernels of many arguments. */
static int add_up(const int *values, size_t count)
{
    uint32_t h = 0;
    for (size_t i = 0; i < count; ++i) h = 31 * h + (uint32_t)values[i];
    return (int)h;
}

static void test_args__may_be_64_in_the_macro(void **state)
{
    const int values[63] = { 1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
                             22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42,
                             43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, -63 };
    ndr_buffer *last = buffer_of(sizeof(int), &values[62]);
    assert_ok(ndr_launch(queue, kernel_of_many("takes_64"), ndr_range_1d(1), victim, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13,
                         14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37,
                         38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61,
                         62, last));
    assert_victim_is(add_up(values, 63));
    restore_victim();
    ndr_buffer_destroy(last);
}

static void test_args__may_be_any_number_in_an_array(void **state)
{
    static const struct {
        const char *name;
        size_t count;
    } rows[] = { { "takes_33", 33 }, { "takes_163", 163 } };
    const ndr_nd_range one = over(ndr_range_1d(1));
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; ++r) {
        ndr_arg args[163];
        int values[162];
        args[0] = ndr_arg_of(victim);
        for (size_t i = 1; i < rows[r].count; ++i) args[i] = ndr_arg_of(values[i - 1] = 7 * (int)i - 500);
        ndr_kernel *k = kernel_of_many(rows[r].name);
        assert_ok(ndr_launch_v(queue, k, &one, args, rows[r].count, NULL));
        assert_victim_is(add_up(values, rows[r].count - 1));
        args[rows[r].count - 1] = ndr_arg_of(values[rows[r].count - 2] = 3); /* only the last one is new */
        assert_ok(ndr_launch_v(queue, k, &one, args, rows[r].count, NULL));
        assert_victim_is(add_up(values, rows[r].count - 1));
        restore_victim();
        args[rows[r].count - 1] = ndr_arg_of(2.5);
        launch_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch_v(queue, k, &one, args, rows[r].count, NULL),
                       "takes an integer, but the double 2.5 is given");
        launch_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch_v(queue, k, &one, args, rows[r].count - 1, NULL),
                       "arguments, but ");
    }
}

static void test_args__not_set_are_refused(void **state)
{
    const ndr_arg zeroed = { 0 };
    launch_refused(NDR_BAD_KERNEL_ARGUMENT,
                   ndr_launch(queue, kernel("one_count"), ndr_range_1d(1), victim, zeroed),
                   "kernel \"one_count\", argument 1 \"n\" (count_t) was never set");
    launch_refused(NDR_BAD_KERNEL_ARGUMENT,
                   ndr_launch(queue, kernel("one_count"), ndr_range_1d(1), zeroed, 1),
                   "argument 0 \"out\" (long*) was never set");
}

static void test_args__of_no_known_kind_are_refused(void **state)
{
    ndr_arg odd = ndr_arg_of(1);
    odd.kind = (ndr_arg_kind)99;
    launch_refused(NDR_BAD_KERNEL_ARGUMENT,
                   ndr_launch(queue, kernel("one_count"), ndr_range_1d(1), victim, odd),
                   "99 is not an ndr_arg_kind");
    odd.kind = (ndr_arg_kind)-1;
    launch_refused(NDR_BAD_KERNEL_ARGUMENT,
                   ndr_launch(queue, kernel("one_count"), ndr_range_1d(1), victim, odd),
                   "-1 is not an ndr_arg_kind");
}

static void test_args__at_null_are_refused(void **state)
{
    const ndr_nd_range one = over(ndr_range_1d(1));
    launch_refused(NDR_BAD_ARGUMENT, ndr_launch_v(queue, kernel("one_count"), &one, NULL, 2, NULL),
                   "args is NULL, but arg_count is 2");
    assert_ok(ndr_launch_v(queue, kernel_without_parameters(), &one, NULL, 0, NULL));
}

static void test_args__of_an_image_are_refused(void **state)
{
    const ndr_kernel_desc desc = { .name = "k", .source = "kernel void k(read_only image2d_t i) {}\n" };
    ndr_kernel *with_image;
    skip_without(ndr_kernel_get(context, &desc, &with_image) == NDR_OK, "the device has no images");
    launch_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, with_image, ndr_range_1d(1), victim),
                   "\"i\" (image2d_t) takes an image, but a buffer is given");
}

/* Buffers of types whose names only begin like those of images or samplers. */
static void test_args__of_names_like_an_images_are_buffers(void **state)
{
    static const char alike[] =
        "typedef struct { int x; } image_header, pipeline, event_times, queue_tail, sampler_table, reserve_id_tag;\n"
        "kernel void k(global image_header *a, global pipeline *b, global event_times *c, global queue_tail *d,\n"
        "              constant sampler_table *e, global reserve_id_tag *f)\n"
        "{\n"
        "    a[0].x = b[0].x + c[0].x + d[0].x + e[0].x + f[0].x;\n"
        "}\n"
        "kernel void by_value(global int *out, pipeline p, event_times t) { out[0] = p.x + t.x; }\n";
    const int seven = 7;
    const struct { int32_t x; } two = { 2 }, three = { 3 };
    int got = 0;
    ndr_buffer *a = buffer_of(sizeof got, &got), *b = buffer_of(sizeof seven, &seven);
    assert_ok(ndr_launch(queue, kernel_of(alike, "k"), ndr_range_1d(1), a, b, b, b, b, b));
    read_buffer(a, &got, sizeof got);
    assert_int_equal(got, 35);
    assert_ok(ndr_launch(queue, kernel_of(alike, "by_value"), ndr_range_1d(1), a,
                         ndr_arg_struct_(&two, sizeof two, "pipeline"),
                         ndr_arg_struct_(&three, sizeof three, "event_times")));
    take_buffer(a, &got, sizeof got);
    assert_int_equal(got, 5);
    ndr_buffer_destroy(b);
}

/* Check for pipes before building a kernel with one, because some compilers crash on it. */
static bool has_pipes(void)
{
    cl_uint count = 0;
    return clGetDeviceInfo(context->device, CL_DEVICE_MAX_PIPE_ARGS, sizeof count, &count, NULL) == CL_SUCCESS && count > 0;
}

static void test_args__of_a_pipe_are_refused(void **state)
{
    skip_without(has_pipes(), "the device has no pipes");
    const ndr_kernel_desc desc = { .name = "k", .options = "-cl-std=CL2.0",
                                   .source = "kernel void k(read_only pipe int p, global int *x) { x[0] = 1; }\n" };
    ndr_kernel *with_pipe;
    assert_ok(ndr_kernel_get(context, &desc, &with_pipe));
    launch_refused(NDR_UNSUPPORTED, ndr_launch(queue, with_pipe, ndr_range_1d(1), victim, victim),
                   "\"p\" (", "is of a type that libndr cannot pass");
}

/* ---- the total size of the arguments ---- */

/* A kernel whose arguments have `bytes` bytes: a pointer, what libndr adds, and one struct with the rest. */
static ndr_status get_kernel_of_bytes(size_t bytes, bool is_plain, size_t *struct_bytes, ndr_kernel **kernel)
{
    char options[64];
    *struct_bytes = bytes - device.address_bits / 8 - (is_plain ? 0 : 152);
    snprintf(options, sizeof options, "-DWORDS=%zu %s", *struct_bytes / 4, is_plain ? "-DPLAIN" : "");
    return ndr_kernel_get(context,
                          &(ndr_kernel_desc){ .name = "k", .options = options, .source =
                              "#include \"ndr/item.clh\"\n"
                              "typedef struct { int x[WORDS]; } large;\n"
                              "#ifdef PLAIN\n"
                              "kernel void k(global long *out, large v)\n"
                              "#else\n"
                              "kernel void k(global long *out, large v, NDR_RANGE(1))\n"
                              "#endif\n"
                              "{ out[0] = v.x[0] + v.x[WORDS - 1]; }\n" }, kernel);
}

/* Most drivers take more than the device promises. */
static void test_args__beyond_what_the_device_promises_are_left_to_the_driver(void **state)
{
    static const size_t more[] = { 0, 4, 84, 3072 };
    const size_t limit = device.max_argument_bytes / 4 * 4 - 64; /* some drivers add hidden arguments */
    for (size_t i = 0; i < 2 * sizeof more / sizeof *more; ++i) {
        size_t bytes;
        ndr_kernel *k = NULL;
        const size_t beyond = more[i / 2] ? 64 + more[i / 2] : 0;
        const ndr_status built = get_kernel_of_bytes(limit + beyond, i % 2, &bytes, &k);
        if (!beyond) assert_ok(built);
        if (built != NDR_OK) continue; /* NVIDIA's compiler refuses it */
        int32_t *words = calloc(bytes, 1);
        assert_non_null(words);
        words[0] = 3;
        words[bytes / 4 - 1] = 4;
        const ndr_status status = ndr_launch(queue, k, ndr_range_1d(1), victim, ndr_arg_struct_(words, bytes, "large"));
        if (beyond && status != NDR_OK) assert_refused(NDR_LIMIT_EXCEEDED, status, "the driver refused them");
        else assert_ok(status);
        if (status == NDR_OK) assert_victim_is(7);
        restore_victim();
        free(words);
    }
}

static __typeof__(clSetKernelArg) *real_set_arg;
static __typeof__(clEnqueueNDRangeKernel) *real_launch;

static cl_int CL_API_CALL refuse_large(cl_kernel kernel, cl_uint index, size_t size, const void *value)
{
    return size > device.max_argument_bytes / 2 ? CL_INVALID_ARG_SIZE : real_set_arg(kernel, index, size, value);
}

static cl_int CL_API_CALL refuse_launch(cl_command_queue line, cl_kernel kernel, cl_uint dims, const size_t *offset,
                                        const size_t *global, const size_t *local, cl_uint count,
                                        const cl_event *events, cl_event *event)
{
    return CL_OUT_OF_RESOURCES;
}

static void test_args__beyond_what_the_driver_takes_are_refused(void **state)
{
    const size_t limit = device.max_argument_bytes / 4 * 4;
    real_set_arg = ndr_cl.clSetKernelArg;
    real_launch = ndr_cl.clEnqueueNDRangeKernel;
    for (int i = 0; i < 4; ++i) {
        size_t bytes;
        char has[128];
        ndr_kernel *k = NULL;
        if (get_kernel_of_bytes(limit + 4, i % 2, &bytes, &k) != NDR_OK) continue; /* NVIDIA's compiler refuses it */
        int32_t *words = calloc(bytes, 1);
        assert_non_null(words);
        snprintf(has, sizeof has, "has arguments of %zu bytes together, hidden ones included; the device supports %zu",
                 limit + 4, device.max_argument_bytes);
        if (i < 2) ndr_cl.clSetKernelArg = refuse_large;
        else ndr_cl.clEnqueueNDRangeKernel = refuse_launch;
        const ndr_status status = ndr_launch(queue, k, ndr_range_1d(1), victim, ndr_arg_struct_(words, bytes, "large"));
        ndr_cl.clSetKernelArg = real_set_arg;
        ndr_cl.clEnqueueNDRangeKernel = real_launch;
        launch_refused(NDR_LIMIT_EXCEEDED, status, "kernel \"k\"", has, ": put large arguments in a buffer",
                       i < 2 ? "CL_INVALID_ARG_SIZE" : "CL_OUT_OF_RESOURCES");
        free(words);
    }
}

/* ---- long names ---- */

static void test_args__are_named_in_a_sentence_of_any_length(void **state)
{
    char name[201], text[1024];
    memset(name, 'k', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    snprintf(text, sizeof text, "kernel void %s(global long *out, float factor) { out[0] = (long)factor; }\n", name);
    ndr_kernel *k = kernel_of(text, name);
    launch_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, k, ndr_range_1d(1), victim, 2.0),
                   "kk\", argument 1 \"factor\" (float) takes a float, but the double 2 is given");
}

/* ---- the other things a launch needs ---- */

static void test_launch__refuses_null(void **state)
{
    const ndr_arg args[] = { ndr_arg_of(victim), ndr_arg_of(5) };
    const ndr_nd_range one = over(ndr_range_1d(1));
    launch_refused(NDR_BAD_ARGUMENT, ndr_launch_v(NULL, kernel("one_count"), &one, args, 2, NULL),
                   "ndr_launch: queue is NULL");
    launch_refused(NDR_BAD_ARGUMENT, ndr_launch_v(queue, NULL, &one, args, 2, NULL),
                   "ndr_launch: kernel is NULL");
    launch_refused(NDR_BAD_ARGUMENT, ndr_launch_v(queue, kernel("one_count"), NULL, args, 2, NULL),
                   "range is NULL", "one_count");
}

static void test_launch__refuses_a_kernel_of_another_context(void **state)
{
    ndr_context *other;
    ndr_kernel *theirs;
    const ndr_kernel_desc desc = { .name = "one_count", .source = source };
    assert_ok(ndr_context_create(NULL, &other));
    assert_ok(ndr_kernel_get(other, &desc, &theirs));
    launch_refused(NDR_BAD_ARGUMENT, ndr_launch(queue, theirs, ndr_range_1d(1), victim, 5),
                   "kernel \"one_count\" and the queue belong to different contexts");
    ndr_context_destroy(other);
}

static void test_launch__refuses_what_the_range_refuses(void **state)
{
    ndr_kernel *k = kernel("one_count");
    launch_refused(NDR_BAD_RANGE, ndr_launch(queue, k, ndr_nd_range_1d(10, 4), victim, 5),
                   "kernel \"one_count\"", "global size 10 is not a multiple of local size 4");
    launch_refused(NDR_LIMIT_EXCEEDED, ndr_launch(queue, k, ndr_nd_range_1d(1 << 24, 1 << 24), victim, 5),
                   "local size 16777216");
    launch_refused(NDR_BAD_RANGE, ndr_launch(queue, k, ((ndr_range){ 0, { 1, 1, 1 } }), victim, 5),
                   "1 to 3 dimensions");
    launch_refused(NDR_BAD_RANGE, ndr_launch(queue, item_kernel("nd_1"), ndr_range_1d(1), victim, victim),
                   "works in groups");
    launch_refused(NDR_BAD_RANGE,
                   ndr_launch(queue, item_kernel("range_1"), ndr_nd_range_1d(1, 1), victim, victim),
                   "has no groups");
    launch_refused(NDR_BAD_RANGE,
                   ndr_launch(queue, item_kernel("range_1"), ndr_range_2d(1, 1), victim, victim),
                   "written for 1 dimension");
}

static void test_launch__refused_leaves_its_event_alone(void **state)
{
    ndr_event *done = (ndr_event *)(void *)&state;
    launch_refused(NDR_BAD_KERNEL_ARGUMENT,
                   ndr_launch_event(queue, kernel("one_count"), &done, ndr_range_1d(1), victim, 1.0f),
                   "takes an integer");
    assert_ptr_equal(done, &state);
}

/* ---- threads ---- */

enum { THREADS = 8, LAUNCHES_EACH = 1000 };

static pthread_barrier_t start; /* all start at once, or the first would end before the last begin */

typedef struct worker {
    ndr_queue *line;
    ndr_kernel *store;
    ndr_buffer *out;
    int number;
    bool failed;
} worker;

/* The thread's cells of `out` get its values, unless another thread's arguments replace them. */
static void *launch_many(void *argument)
{
    worker *w = argument;
    pthread_barrier_wait(&start);
    for (int i = 0; i < LAUNCHES_EACH && !w->failed; ++i) {
        const int where = w->number * LAUNCHES_EACH + i, value = 1000 * where + 7;
        w->failed = ndr_launch(w->line, w->store, ndr_range_1d(1), w->out, where, value, value) != NDR_OK;
    }
    w->failed = w->failed || ndr_queue_finish(w->line) != NDR_OK;
    return NULL;
}

static void check_threads(bool own_queues)
{
    skip_without(strcmp(device.platform, "Oclgrind") != 0,
                 "Oclgrind simulates the kernels of one thread at a time");
    static int out[THREADS * LAUNCHES_EACH];
    memset(out, 0, sizeof out);
    ndr_buffer *buffer = buffer_of(sizeof out, out);
    pthread_t threads[THREADS];
    worker workers[THREADS];
    assert_int_equal(pthread_barrier_init(&start, NULL, THREADS), 0);
    for (int i = 0; i < THREADS; ++i) {
        workers[i] = (worker){ queue, kernel("store"), buffer, i, false };
        if (own_queues) assert_ok(ndr_queue_create(context, NULL, &workers[i].line));
    }
    for (int i = 0; i < THREADS; ++i)
        assert_int_equal(pthread_create(&threads[i], NULL, launch_many, &workers[i]), 0);
    for (int i = 0; i < THREADS; ++i) assert_int_equal(pthread_join(threads[i], NULL), 0);
    pthread_barrier_destroy(&start);
    read_buffer(buffer, out, sizeof out);
    for (int t = 0; t < THREADS; ++t) {
        assert_false(workers[t].failed);
        for (int i = 0; i < LAUNCHES_EACH; ++i) {
            const int where = t * LAUNCHES_EACH + i;
            assert_int_equal(out[where], 1000 * where + 7);
        }
        if (own_queues) ndr_queue_destroy(workers[t].line);
    }
    ndr_buffer_destroy(buffer);
}

static void test_launch__of_one_kernel_from_many_threads_keeps_arguments_apart(void **state)
{
    check_threads(false);
}

static void test_launch__of_one_kernel_to_many_queues_keeps_arguments_apart(void **state)
{
    check_threads(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_launch__runs_saxpy),
        cmocka_unit_test(test_launch__puts_the_text_of_printf_on_stdout),
        cmocka_unit_test(test_launch__takes_its_own_arguments_after_any_others),
        cmocka_unit_test(test_launch__refuses_after_what_fits_what_does_not),
        cmocka_unit_test(test_launch__runs_over_its_own_range_after_any_other),
        cmocka_unit_test(test_launch__gives_an_event_if_one_is_wanted),
        cmocka_unit_test(test_launch__needs_no_arguments),
        cmocka_unit_test(test_launch__of_a_plain_kernel_adopts_its_required_size),
        cmocka_unit_test(test_launch__range_runs_each_item_once_in_1_d),
        cmocka_unit_test(test_launch__range_runs_each_item_once_in_2_d),
        cmocka_unit_test(test_launch__range_runs_each_item_once_in_3_d),
        cmocka_unit_test(test_launch__range_of_any_dimensions_runs_each_item_once),
        cmocka_unit_test(test_launch__range_takes_an_offset),
        cmocka_unit_test(test_launch__range_may_be_rounded_up),
        cmocka_unit_test(test_launch__even_groups_know_their_ids),
        cmocka_unit_test(test_launch__split_groups_know_their_ids),
        cmocka_unit_test(test_launch__rounded_up_items_know_whether_they_count),
        cmocka_unit_test(test_launch__offset_moves_global_ids_only),
        cmocka_unit_test(test_launch__automatic_groups_know_their_ids),
        cmocka_unit_test(test_launch__may_count_groups),
        cmocka_unit_test(test_launch__of_nothing_succeeds_in_any_dimension),
        cmocka_unit_test(test_launch__of_nothing_is_checked_all_the_same),
        cmocka_unit_test(test_args__pass_every_integer_type),
        cmocka_unit_test(test_args__pass_bool_char_and_long_long),
        cmocka_unit_test(test_args__pass_the_smallest_and_the_largest),
        cmocka_unit_test(test_args__refuse_integers_that_do_not_fit),
        cmocka_unit_test(test_args__refuse_a_bit_pattern_of_the_other_sign_with_its_cast),
        cmocka_unit_test(test_args__refuse_floats_for_integers),
        cmocka_unit_test(test_args__suggest_no_cast_of_a_float_that_does_not_fit),
        cmocka_unit_test(test_args__in_another_order_are_refused_with_the_parameters),
        cmocka_unit_test(test_args__pass_a_typedef_as_what_it_is),
        cmocka_unit_test(test_args__pass_a_float),
        cmocka_unit_test(test_args__refuse_other_numbers_for_a_float),
        cmocka_unit_test(test_args__round_a_real_to_the_parameter),
        cmocka_unit_test(test_args__pass_a_double),
        cmocka_unit_test(test_args__refuse_other_numbers_for_a_double),
        cmocka_unit_test(test_args__pass_buffers_and_deliberate_nulls),
        cmocka_unit_test(test_args__may_all_be_null),
        cmocka_unit_test(test_args__forget_a_null_of_the_launch_before),
        cmocka_unit_test(test_args__take_a_buffer_of_0_bytes),
        cmocka_unit_test(test_args__refuse_a_null_buffer),
        cmocka_unit_test(test_args__refuse_a_buffer_of_another_context),
        cmocka_unit_test(test_args__refuse_other_things_for_a_buffer),
        cmocka_unit_test(test_args__ask_for_local_memory_of_one_to_three_extents),
        cmocka_unit_test(test_args__local_memory_may_be_of_structs),
        cmocka_unit_test(test_args__refuse_more_local_memory_than_the_device_has),
        cmocka_unit_test(test_args__refuse_more_local_memory_in_the_kernel_than_the_device_has),
        cmocka_unit_test(test_args__leave_the_kernel_s_own_local_memory_to_a_driver_with_separate_memory),
        cmocka_unit_test(test_args__refuse_local_memory_that_cannot_be_counted),
        cmocka_unit_test(test_args__refuse_local_memory_of_nothing),
        cmocka_unit_test(test_args__refuse_a_fourth_extent),
        cmocka_unit_test(test_args__refuse_local_memory_of_another_type),
        cmocka_unit_test(test_args__local_memory_may_be_of_structs_typedefs_and_vectors),
        cmocka_unit_test(test_args__refuse_local_memory_of_another_struct_or_vector),
        cmocka_unit_test(test_args__local_memory_may_be_of_arrays),
        cmocka_unit_test(test_args__know_a_pointer_to_void_by_its_whole_name),
        cmocka_unit_test(test_args__refuse_other_things_for_local_memory),
        cmocka_unit_test(test_args__pass_structs_by_value),
        cmocka_unit_test(test_args__take_a_struct_with_or_without_its_keyword),
        cmocka_unit_test(test_args__refuse_a_struct_of_another_name),
        cmocka_unit_test(test_args__refuse_a_struct_of_another_size),
        cmocka_unit_test(test_args__refuse_other_things_for_a_struct),
        cmocka_unit_test(test_args__pass_vectors_as_structs_of_their_size),
        cmocka_unit_test(test_args__refuse_vectors_of_another_size),
        cmocka_unit_test(test_args__take_vectors_under_every_name),
        cmocka_unit_test(test_args__take_vectors_through_typedefs),
        cmocka_unit_test(test_args__refuse_vectors_of_another_type),
        cmocka_unit_test(test_vectors__of_every_type_and_width_are_passed),
        cmocka_unit_test(test_vectors__are_written_as_their_elements),
        cmocka_unit_test(test_vectors__change_from_launch_to_launch),
        cmocka_unit_test(test_vectors__that_do_not_fit_are_refused),
        cmocka_unit_test(test_half__is_rounded_from_a_float),
        cmocka_unit_test(test_half__takes_no_other_number),
        cmocka_unit_test(test_half__by_value_needs_a_device_that_has_it),
        cmocka_unit_test(test_half__is_pointed_to_on_every_device),
        cmocka_unit_test(test_bfloat__is_an_ushort),
        cmocka_unit_test(test_args__of_a_type_that_nobody_can_size_are_refused),
        cmocka_unit_test(test_args__are_taken_when_the_launch_returns),
        cmocka_unit_test(test_args__are_those_of_their_own_launch),
        cmocka_unit_test(test_args__missing_are_listed),
        cmocka_unit_test(test_args__of_local_memory_are_refused_where_there_are_no_groups),
        cmocka_unit_test(test_args__too_many_are_refused),
        cmocka_unit_test(test_args__may_be_32),
        cmocka_unit_test(test_args__may_be_64_in_the_macro),
        cmocka_unit_test(test_args__may_be_any_number_in_an_array),
        cmocka_unit_test(test_args__not_set_are_refused),
        cmocka_unit_test(test_args__of_no_known_kind_are_refused),
        cmocka_unit_test(test_args__at_null_are_refused),
        cmocka_unit_test(test_args__of_an_image_are_refused),
        cmocka_unit_test(test_args__of_names_like_an_images_are_buffers),
        cmocka_unit_test(test_args__of_a_pipe_are_refused),
        cmocka_unit_test(test_args__beyond_what_the_device_promises_are_left_to_the_driver),
        cmocka_unit_test(test_args__beyond_what_the_driver_takes_are_refused),
        cmocka_unit_test(test_args__are_named_in_a_sentence_of_any_length),
        cmocka_unit_test(test_launch__refuses_null),
        cmocka_unit_test(test_launch__refuses_a_kernel_of_another_context),
        cmocka_unit_test(test_launch__refuses_what_the_range_refuses),
        cmocka_unit_test(test_launch__refused_leaves_its_event_alone),
        cmocka_unit_test(test_launch__of_one_kernel_from_many_threads_keeps_arguments_apart),
        cmocka_unit_test(test_launch__of_one_kernel_to_many_queues_keeps_arguments_apart),
    };
    return cmocka_run_group_tests(tests, open_and_make_victim, close_all);
}
