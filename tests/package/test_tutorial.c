/* test_tutorial.c - the tutorial's transpose stays inside its buffers, also with sizes and edges that its page does not
 * show. */
#include "support.h"

/* The kernel file `name` among the code blocks of docs/tutorial/groups.md: the block after <!-- test: name -->. */
static char *page_block(const char *name)
{
    static char text[1 << 16];
    char path[4096], mark[128];
    snprintf(path, sizeof path, "%s/../docs/tutorial/groups.md", getenv("NDR_TEST_DIR"));
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    snprintf(mark, sizeof mark, "<!-- test: %s -->\n```c\n", name);
    char *begin = strstr(text, mark);
    assert_non_null(begin);
    begin += strlen(mark);
    char *end = strstr(begin, "\n```");
    assert_non_null(end);
    end[1] = '\0';
    return begin;
}

enum { MOST = 40, GUARD = 4096 };

static const float untouched = -7;

/* `out` holds rows * cols elements and then GUARD that no item may write. */
static void check_transposed(const float *out, size_t rows, size_t cols)
{
    for (size_t i = 0; i < rows; ++i)
        for (size_t j = 0; j < cols; ++j) assert_true(out[j * rows + i] == (float)(i * cols + j));
    for (size_t i = 0; i < GUARD; ++i) assert_true(out[rows * cols + i] == untouched);
}

static void transpose(ndr_kernel *kernel, ndr_nd_range range)
{
    static float in[MOST * MOST], out[MOST * MOST + GUARD];
    const size_t rows = range.global.size[0], cols = range.global.size[1];
    for (size_t i = 0; i < rows * cols; ++i) in[i] = (float)i;
    for (size_t i = 0; i < rows * cols + GUARD; ++i) out[i] = untouched;
    ndr_buffer *from = buffer_of(rows * cols * sizeof *in, in);
    ndr_buffer *to = buffer_of((rows * cols + GUARD) * sizeof *out, out);
    print_message("%zu x %zu in groups of %zu x %zu, edge %d\n", rows, cols, range.local.size[0], range.local.size[1],
                  (int)range.edge);
    assert_ok(ndr_launch(queue, kernel, range, from, ndr_local(float, range.local.size[0], range.local.size[1]), to));
    read_buffer(to, out, (rows * cols + GUARD) * sizeof *out);
    check_transposed(out, rows, cols);
    ndr_buffer_destroy(from);
    ndr_buffer_destroy(to);
}

static void test_tutorial__transposes_any_size_at_any_edge(void **state)
{
    static const size_t globals[][2] = { { 1, 1 }, { 16, 16 }, { 1, 37 }, { 31, 1 }, { 17, 31 }, { 32, 29 }, { 40, 39 } };
    static const size_t locals[][2] = { { 1, 1 }, { 4, 4 }, { 16, 16 }, { 2, 8 }, { 5, 3 }, { 1, 7 }, { 32, 1 } };
    ndr_kernel *kernel = kernel_of(page_block("transpose.cl"), "transpose");
    ndr_kernel_info info;
    assert_ok(ndr_kernel_get_info(kernel, &info));
    for (size_t g = 0; g < sizeof globals / sizeof globals[0]; ++g)
        for (size_t l = 0; l < sizeof locals / sizeof locals[0]; ++l) {
            if (locals[l][0] * locals[l][1] > info.max_group_size) continue; /* the launch would be refused */
            if (quick() && (g + l) % 3) continue;
            ndr_nd_range range = ndr_nd_range_2d(globals[g][0], globals[g][1], locals[l][0], locals[l][1]);
            range.edge = NDR_EDGE_ROUND_UP;
            transpose(kernel, range);
            range.edge = NDR_EDGE_SPLIT;
            transpose(kernel, range);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tutorial__transposes_any_size_at_any_edge),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
