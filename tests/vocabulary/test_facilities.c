/* test_facilities.c - facilities of docs/appendix/conformance.md that no other file tests: A6, A7, A9, A11, A13, A16, A28,
 * A36, A45, A67. */
#include "support.h"

#include "ndr/ndr_cl.h"
#include "ndr/ndr_index.h"

static const char kernels[] =
    "#include <ndr/atomic.clh>\n"
    "#include <ndr/local.clh>\n"
    "#include <ndr/nd_item.clh>\n"
    "\n"
    "kernel void triple_in_groups(global int *x, NDR_ND_RANGE(1))\n"
    "{\n"
    "    x[ndr_global_id(NDR_ND_ITEM(1), 0)] *= 3;\n"
    "}\n"
    "kernel void triple(global int *x, NDR_RANGE(1))\n"
    "{\n"
    "    x[ndr_global_id(NDR_ITEM(1), 0)] *= 3;\n"
    "}\n"
    "kernel void triple_plainly(global int *x)\n"
    "{\n"
    "    x[get_global_id(0)] *= 3;\n"
    "}\n"
    "\n"
    "/* An array and its shape, as one argument and one buffer. */\n"
    "typedef struct shape { ulong rows, cols; } shape;\n"
    "kernel void read_shape(global const int *x, const shape s, global long *out, NDR_RANGE(1))\n"
    "{\n"
    "    const ndr_item it = NDR_ITEM(1);\n"
    "    long last = 0;\n"
    "    for (size_t col = 0; col < s.cols; ++col) last += x[ndr_at(s.cols, s.rows - 1, col)];\n"
    "    out[3 * ndr_global_id(it, 0)] = s.rows;\n"
    "    out[3 * ndr_global_id(it, 0) + 1] = s.cols;\n"
    "    out[3 * ndr_global_id(it, 0) + 2] = last;\n"
    "}\n"
    "\n"
    "kernel void count_up(global float *x, NDR_RANGE(1))\n"
    "{\n"
    "    const ndr_item it = NDR_ITEM(1);\n"
    "    x[ndr_global_id(it, 0)] = (float)ndr_global_id(it, 0);\n"
    "}\n"
    "\n"
    "kernel void agree(global int *out, NDR_ND_RANGE(2))\n"
    "{\n"
    "    const ndr_nd_item it = NDR_ND_ITEM(2);\n"
    "    int same = 0;\n"
    "    for (uint d = 0; d < 2; ++d) {\n"
    "        const uint cl = 1 - d;\n"
    "        same += ndr_global_id(it, d) == (cl ? get_global_id(1) : get_global_id(0));\n"
    "        same += ndr_global_range(it, d) == (cl ? get_global_size(1) : get_global_size(0));\n"
    "        same += ndr_local_id(it, d) == (cl ? get_local_id(1) : get_local_id(0));\n"
    "        same += ndr_local_range(it, d) == (cl ? get_local_size(1) : get_local_size(0));\n"
    "        same += ndr_group_id(it, d) == (cl ? get_group_id(1) : get_group_id(0));\n"
    "        same += ndr_group_range(it, d) == (cl ? get_num_groups(1) : get_num_groups(0));\n"
    "        same += ndr_offset(it, d) == (cl ? get_global_offset(1) : get_global_offset(0));\n"
    "    }\n"
    "    const size_t row = ndr_global_id(it, 0) - ndr_offset(it, 0), col = ndr_global_id(it, 1) - ndr_offset(it, 1);\n"
    "    out[ndr_at(ndr_global_range(it, 1), row, col)] = same + (ndr_dims(it) == get_work_dim());\n"
    "}\n"
    "\n"
    "kernel void take_ticket(global int *next, global int *ticket, NDR_ND_RANGE(1))\n"
    "{\n"
    "    const ndr_group g = ndr_get_group(NDR_ND_ITEM(1));\n"
    "    if (ndr_leader(g)) ticket[ndr_group_id(g, 0)] = ndr_atomic_fetch_add(next, 1);\n"
    "}\n"
    "\n"
    "/* Each item writes a letter, then its flag; an item that sees the flag must see the letter. No item waits for a flag. */\n"
    "kernel void post(global int *letter, global int *flag, global int *lost, NDR_ND_RANGE(1))\n"
    "{\n"
    "    const ndr_nd_item it = NDR_ND_ITEM(1);\n"
    "    const size_t first = ndr_group_id(it, 0) * ndr_local_range(it, 0);\n"
    "    ndr_atomic_store(&letter[ndr_global_id(it, 0)], 42);\n"
    "    ndr_atomic_fence(NDR_RELEASE, NDR_SCOPE_WORK_GROUP);\n"
    "    ndr_atomic_store(&flag[ndr_global_id(it, 0)], 1);\n"
    "    int missing = 0;\n"
    "    for (size_t i = ndr_local_range(it, 0); i-- > 0;) {\n"
    "        const bool seen = ndr_atomic_load(&flag[first + i]) != 0;\n"
    "        ndr_atomic_fence(NDR_ACQUIRE, NDR_SCOPE_WORK_GROUP);\n"
    "        missing += seen && ndr_atomic_load(&letter[first + i]) != 42;\n"
    "    }\n"
    "    lost[ndr_global_id(it, 0)] = missing;\n"
    "}\n"
    "\n"
    "/* `grain` neighbouring elements for each item, in any number of dimensions. */\n"
    "kernel void add(global const int *a, global const int *b, global int *c, ulong n, ulong grain, NDR_RANGE(0))\n"
    "{\n"
    "    const ndr_item it = NDR_ITEM(0);\n"
    "    const size_t first = ndr_global_linear_id(it) * grain;\n"
    "    for (size_t i = first; i < first + grain && i < n; ++i) c[i] = a[i] + b[i];\n"
    "}\n";

enum { N = 60 };

/* A buffer of 0, 1, 2 ... */
static ndr_buffer *numbers(void)
{
    int32_t x[N];
    for (int i = 0; i < N; ++i) x[i] = i;
    return buffer_of(sizeof x, x);
}

/* Check that each element is `factor` times its old value, and destroy the buffer. */
static void check_numbers(ndr_buffer *buffer, int32_t factor)
{
    int32_t x[N];
    take_buffer(buffer, x, sizeof x);
    for (int i = 0; i < N; ++i) assert_int_equal(x[i], factor * i);
}

/* ---- launches ---- */

/* The read waits for the launch; no other call has to. */
static void test_facilities__a06_a_read_behind_a_launch_has_its_result(void **state)
{
    ndr_buffer *x = numbers();
    for (int turn = 0; turn < 4; ++turn) assert_ok(ndr_launch(queue, kernel_of(kernels, "triple"), ndr_range_1d(N), x));
    check_numbers(x, 81);
}

static void test_facilities__a07_given_or_chosen_groups_give_the_same(void **state)
{
    static const size_t locals[] = { 0, 1, 5, 12, 60 };
    for (size_t i = 0; i < sizeof locals / sizeof locals[0]; ++i) {
        ndr_kernel *kernel = kernel_of(kernels, "triple_in_groups");
        if (fitting_group(kernel, locals[i]) < locals[i]) continue;
        ndr_buffer *x = numbers();
        assert_ok(ndr_launch(queue, kernel, ndr_nd_range_1d(N, locals[i]), x));
        check_numbers(x, 3);
    }
    ndr_buffer *x = numbers();
    assert_ok(ndr_launch(queue, kernel_of(kernels, "triple"), ndr_range_1d(N), x));
    assert_ok(ndr_launch(queue, kernel_of(kernels, "triple_plainly"), ndr_range_1d(N), x));
    assert_ok(ndr_launch(queue, kernel_of(kernels, "triple_plainly"), ndr_nd_range_1d(N, 12), x));
    check_numbers(x, 27);
}

/* ---- where kernels come from ---- */

/* OpenCL reads the kernel's program back from its binary. The kernel is launched like every other kernel. */
static void triple_from_binary(ndr_buffer *x)
{
    cl_kernel of = ndr_kernel_cl(kernel_of(kernels, "triple_plainly"));
    cl_device_id device_id = ndr_context_cl_device(context);
    cl_program built;
    size_t size = 0;
    cl_int error;
    assert_int_equal(clGetKernelInfo(of, CL_KERNEL_PROGRAM, sizeof built, &built, NULL), CL_SUCCESS);
    assert_int_equal(clGetProgramInfo(built, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL), CL_SUCCESS);
    unsigned char *binary = malloc(size);
    assert_non_null(binary);
    assert_int_equal(clGetProgramInfo(built, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL), CL_SUCCESS);

    const unsigned char *text = binary;
    cl_program program = clCreateProgramWithBinary(ndr_context_cl(context), 1, &device_id, &size, &text, NULL, &error);
    assert_int_equal(error, CL_SUCCESS);
    assert_int_equal(clBuildProgram(program, 1, &device_id, "", NULL, NULL), CL_SUCCESS);
    cl_kernel kernel = clCreateKernel(program, "triple_plainly", &error);
    assert_int_equal(error, CL_SUCCESS);
    ndr_kernel *triple;
    assert_ok(ndr_kernel_from_cl(context, kernel, &triple));
    assert_ok(ndr_launch(queue, triple, ndr_range_1d(N), x));
    clReleaseKernel(kernel);
    clReleaseProgram(program);
    free(binary);
}

static void test_facilities__a09_source_file_library_and_binary_work_side_by_side(void **state)
{
    ndr_kernel *from_file = NULL;
    ndr_buffer *x = numbers(), *sum = buffer_of(sizeof(int32_t), NULL);
    write_file("triple.cl", kernels);
    assert_ok(ndr_kernel_get(context, &(ndr_kernel_desc){ .name = "triple", .file = "triple.cl" }, &from_file));
    assert_ok(ndr_launch(queue, kernel_of(kernels, "triple"), ndr_range_1d(N), x));
    assert_ok(ndr_launch(queue, from_file, ndr_range_1d(N), x));
    triple_from_binary(x);
    assert_ok(ndr_reduce(queue,
                         &(ndr_reduce_desc){ .dtype = NDR_DTYPE_I32, .op = NDR_OP_SUM, .input = { x, 0 }, .count = N,
                                             .output = { sum, 0 } },
                         NULL));
    int32_t total;
    take_buffer(sum, &total, sizeof total);
    assert_int_equal(total, 27 * N * (N - 1) / 2);
    check_numbers(x, 27);
}

/* ---- arrays ---- */

static void test_facilities__a11_a_kernel_knows_the_shape_of_an_array(void **state)
{
    typedef struct shape {
        uint64_t rows, cols;
    } shape;
    const shape s = { 6, 10 };
    int64_t got[3];
    ndr_buffer *x = numbers(), *out = buffer_of(sizeof got, NULL);
    assert_ok(ndr_launch(queue, kernel_of(kernels, "read_shape"), ndr_range_1d(1), x, ndr_struct(shape, s), out));
    take_buffer(out, got, sizeof got);
    assert_int_equal(got[0], 6);
    assert_int_equal(got[1], 10);
    assert_int_equal(got[2], 50 + 51 + 52 + 53 + 54 + 55 + 56 + 57 + 58 + 59);
    ndr_buffer_destroy(x);
}

static void test_facilities__a13_arrays_of_zeros_ones_and_counts_make_the_round_trip(void **state)
{
    const float zero = 0, one = 1;
    float start[N], x[N];
    for (int i = 0; i < N; ++i) start[i] = (float)i / 7;

    ndr_buffer *buffer = buffer_of(sizeof start, start); /* to the device and back */
    read_buffer(buffer, x, sizeof x);
    assert_memory_equal(x, start, sizeof x);

    assert_ok(ndr_buffer_fill(queue, buffer, 0, sizeof x, &zero, sizeof zero, NULL));
    read_buffer(buffer, x, sizeof x);
    for (int i = 0; i < N; ++i) assert_true(x[i] == 0);

    assert_ok(ndr_buffer_fill(queue, buffer, 0, sizeof x, &one, sizeof one, NULL));
    read_buffer(buffer, x, sizeof x);
    for (int i = 0; i < N; ++i) assert_true(x[i] == 1);

    assert_ok(ndr_launch(queue, kernel_of(kernels, "count_up"), ndr_range_1d(N), buffer));
    ndr_buffer *copy = buffer_of(sizeof x, NULL); /* device to device */
    assert_ok(ndr_buffer_copy(queue, buffer, 0, copy, 0, sizeof x, NULL));
    take_buffer(copy, x, sizeof x);
    for (int i = 0; i < N; ++i) assert_true(x[i] == (float)i);
    ndr_buffer_destroy(buffer);
}

/* ---- groups ---- */

/* The sliding windows of seeds/groups.cl, with the group sizes that the seed's option --wg takes. */
static void test_facilities__a16_any_group_size_gives_the_same_product(void **state)
{
    enum { SIDE = 23 };
    static const size_t sides[] = { 1, 2, 5, 16, 23 };
    static float x[SIDE * SIDE], first[SIDE * SIDE], c[SIDE * SIDE];
    char path[1024];
    ndr_kernel *slide = NULL;
    snprintf(path, sizeof path, "%s/vocabulary/seeds/groups.cl", getenv("NDR_TEST_DIR"));
    assert_ok(ndr_kernel_get(context, &(ndr_kernel_desc){ .name = "slide", .file = path }, &slide));
    ndr_kernel_info limits;
    assert_ok(ndr_kernel_get_info(slide, &limits));
    for (int i = 0; i < SIDE * SIDE; ++i) x[i] = (float)(i % 11);
    ndr_buffer *in = buffer_of(sizeof x, x), *out = buffer_of(sizeof c, c);
    for (size_t i = 0; i < sizeof sides / sizeof sides[0]; ++i) {
        ndr_nd_range range = ndr_nd_range_2d(SIDE, SIDE, sides[i], sides[i]);
        range.edge = NDR_EDGE_ROUND_UP;
        if (sides[i] * sides[i] > limits.max_group_size) continue;
        assert_ok(ndr_launch(queue, slide, range, in, in, ndr_local(float, sides[i], sides[i]),
                             ndr_local(float, sides[i], sides[i]), out, (int)SIDE, (int)SIDE, (int)SIDE));
        read_buffer(out, c, sizeof c);
        if (i == 0) memcpy(first, c, sizeof c);
        assert_memory_equal(c, first, sizeof c);
    }
    float expected = 0;
    for (int k = 0; k < SIDE; ++k) expected += x[SIDE + k] * x[SIDE * k + 2];
    assert_true(first[SIDE + 2] == expected);
    destroy_buffers(in, out);
}

/* libndr's ids and OpenCL's, which have the reverse order. */
static void test_facilities__a28_opencl_s_own_queries_say_the_same(void **state)
{
    enum { ROWS = 6, COLS = 12 };
    int32_t same[ROWS * COLS];
    ndr_nd_range range = ndr_nd_range_2d(ROWS, COLS, 2, 4);
    range.offset[0] = 5;
    range.offset[1] = 7;
    ndr_buffer *out = buffer_of(sizeof same, NULL);
    assert_ok(ndr_launch(queue, kernel_of(kernels, "agree"), range, out));
    take_buffer(out, same, sizeof same);
    for (int i = 0; i < ROWS * COLS; ++i) assert_int_equal(same[i], 15);
}

/* Groups communicate through global atomics only. Each takes a number in the order in which the groups run. */
static void test_facilities__a36_each_group_takes_its_own_ticket(void **state)
{
    const size_t groups = quick() ? 200 : 20000;
    int32_t *ticket = malloc(groups * sizeof *ticket), zero = 0;
    char *taken = calloc(groups, 1);
    ndr_buffer *next = buffer_of(sizeof zero, &zero), *tickets = buffer_of(groups * sizeof *ticket, NULL);
    assert_ok(ndr_launch(queue, kernel_of(kernels, "take_ticket"), ndr_nd_range_1d(groups * 4, 4), next, tickets));
    take_buffer(tickets, ticket, groups * sizeof *ticket);
    for (size_t i = 0; i < groups; ++i) {
        assert_in_range(ticket[i], 0, groups - 1);
        assert_int_equal(taken[ticket[i]]++, 0);
    }
    ndr_buffer_destroy(next);
    free(ticket);
    free(taken);
}

/* Fences order memory but do not wait for other items. */
static void test_facilities__a45_what_came_before_a_fence_is_seen_behind_one(void **state)
{
    enum { MOST = 4096 };
    const size_t n = quick() ? 64 : MOST;
    static int32_t lost[MOST];
    for (size_t i = 0; i < n; ++i) lost[i] = 0;
    ndr_buffer *letter = buffer_of(n * sizeof *lost, lost), *flag = buffer_of(n * sizeof *lost, lost);
    ndr_buffer *out = buffer_of(n * sizeof *lost, lost);
    ndr_kernel *post = kernel_of(kernels, "post");
    assert_ok(ndr_launch(queue, post, ndr_nd_range_1d(n, fitting_group(post, 64)), letter, flag, out));
    take_buffer(out, lost, n * sizeof *lost);
    for (size_t i = 0; i < n; ++i) assert_int_equal(lost[i], 0);
    destroy_buffers(letter, flag);
}

/* ---- one kernel for all ---- */

static void check_add(ndr_range range, size_t n, size_t grain)
{
    int32_t a[N], b[N], c[N];
    for (int i = 0; i < N; ++i) {
        a[i] = i;
        b[i] = 100 * i;
        c[i] = -1;
    }
    ndr_buffer *in_a = buffer_of(sizeof a, a), *in_b = buffer_of(sizeof b, b), *out = buffer_of(sizeof c, c);
    assert_ok(ndr_launch(queue, kernel_of(kernels, "add"), range, in_a, in_b, out, n, grain));
    take_buffer(out, c, sizeof c);
    for (size_t i = 0; i < N; ++i) assert_int_equal(c[i], i < n ? 101 * (int32_t)i : -1);
    destroy_buffers(in_a, in_b);
}

static void test_facilities__a67_one_kernel_serves_1_2_and_3_dimensions_in_any_grain(void **state)
{
    check_add(ndr_range_1d(N), N, 1);
    check_add(ndr_range_2d(6, 10), N, 1);
    check_add(ndr_range_3d(3, 4, 5), N, 1);
    check_add(ndr_range_1d(20), N, 3);
    check_add(ndr_range_2d(2, 4), 59, 8);
    check_add(ndr_range_3d(2, 2, 1), 57, 15);
    check_add(ndr_range_1d(1), 60, 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_facilities__a06_a_read_behind_a_launch_has_its_result),
        cmocka_unit_test(test_facilities__a07_given_or_chosen_groups_give_the_same),
        cmocka_unit_test(test_facilities__a09_source_file_library_and_binary_work_side_by_side),
        cmocka_unit_test(test_facilities__a11_a_kernel_knows_the_shape_of_an_array),
        cmocka_unit_test(test_facilities__a13_arrays_of_zeros_ones_and_counts_make_the_round_trip),
        cmocka_unit_test(test_facilities__a16_any_group_size_gives_the_same_product),
        cmocka_unit_test(test_facilities__a28_opencl_s_own_queries_say_the_same),
        cmocka_unit_test(test_facilities__a36_each_group_takes_its_own_ticket),
        cmocka_unit_test(test_facilities__a45_what_came_before_a_fence_is_seen_behind_one),
        cmocka_unit_test(test_facilities__a67_one_kernel_serves_1_2_and_3_dimensions_in_any_grain),
    };
    return cmocka_run_group_tests_name("facilities", tests, open_device, close_device);
}
