/* test_matrix.c - tiles of matrices that groups multiply, in every form that the device has, beside plain loops. */
#include "support.h"

#include "device/context.h"
#include "reference.h"

/* ---- types ---- */

typedef struct element_type {
    const char *name, *in, *sum; /* of libndr; of elements and sums in kernels */
    size_t in_bytes, sum_bytes;
    unsigned rows, cols; /* of a tile of sums */
    const char *options;
} element_type;

/* Tiles of 64 columns may be multiplied by matrix units, others are not. */
static const element_type types[] = {
    { "f16", "half", "float", 2, 4, 64, 64, "" },
    { "f16", "half", "float", 2, 4, 16, 128, "-DNDR_MATRIX_B_BY_COLUMNS=1" },
    { "bf16", "ushort", "float", 2, 4, 128, 64, "" },
    { "i8", "char", "int", 1, 4, 64, 64, "-DNDR_MATRIX_B_BY_COLUMNS=1" },
    { "f32", "float", "float", 4, 4, 12, 48, "" },
    { "f64", "double", "double", 8, 8, 16, 16, "" },
};
enum { TYPES = sizeof types / sizeof types[0] };

static unsigned depth_of(const element_type *t) { return 128 / (unsigned)t->in_bytes; }

static void put(const element_type *t, void *array, size_t i, int value)
{
    if (!strcmp(t->name, "f16")) ((uint16_t *)array)[i] = ndr_f16_from_float((float)value);
    else if (!strcmp(t->name, "bf16")) ((uint16_t *)array)[i] = ndr_bf16_from_float((float)value);
    else if (!strcmp(t->name, "i8")) ((int8_t *)array)[i] = (int8_t)value;
    else if (!strcmp(t->name, "f32")) ((float *)array)[i] = (float)value;
    else ((double *)array)[i] = value;
}

static double sum_at(const element_type *t, const void *array, size_t i)
{
    if (!strcmp(t->sum, "float")) return ((const float *)array)[i];
    return !strcmp(t->sum, "int") ? ((const int32_t *)array)[i] : ((const double *)array)[i];
}

static void put_sum(const element_type *t, void *array, size_t i, int value)
{
    if (!strcmp(t->sum, "float")) ((float *)array)[i] = (float)value;
    else if (!strcmp(t->sum, "int")) ((int32_t *)array)[i] = value;
    else ((double *)array)[i] = value;
}

/* ---- products ---- */

/* C = A B + START, to which APPLY adds each element's place; START is 3, or the old C. The loop is the header's. */
static const char product_source[] =
    "#include \"ndr/matrix.clh\"\n"
    "enum { TILES = NDR_MATRIX_TILES, AHEAD = TILES - 2 };\n"
    "NDR_MATRIX_KERNEL kernel void product(ulong m, ulong n, ulong k, global const IN *a, ulong a_first,\n"
    "    ulong a_row, ulong a_col, global const IN *b, ulong b_first, ulong b_row, ulong b_col, global SUM *c,\n"
    "    ulong pitch, uint adds, NDR_ND_RANGE(2))\n"
    "{\n"
    "    ndr_matrix_a of_a[TILES];\n"
    "    ndr_matrix_b of_b[TILES];\n"
    "    ndr_matrix sum;\n"
    "    const ndr_nd_item it = NDR_ND_ITEM(2);\n"
    "    const ndr_group g = ndr_get_group(it);\n"
    "    const ulong row = ndr_group_id(g, 0) * NDR_MATRIX_ROWS, col = ndr_group_id(g, 1) * NDR_MATRIX_COLS;\n"
    "    const ulong steps = (k + NDR_MATRIX_DEPTH - 1) / NDR_MATRIX_DEPTH;\n"
    "    a += a_first, b += b_first, c += row * pitch + col;\n"
    "    if (adds) ndr_matrix_load(g, &sum, c, pitch, m - row, n - col);\n"
    "    else ndr_matrix_fill(g, &sum, 3);\n"
    "    for (ulong s = 0; s < steps + AHEAD; ++s) {\n"
    "        const ulong at = s * NDR_MATRIX_DEPTH;\n"
    "        if (s < steps) {\n"
    "            if (a_col == 1)\n"
    "                ndr_matrix_load(g, &of_a[s % TILES], a + row * a_row + at, a_row, m - row, k - at);\n"
    "            else\n"
    "                ndr_matrix_load(g, &of_a[s % TILES], a + row * a_row + at * a_col, a_row, a_col, m - row, k - at);\n"
    "            ndr_matrix_load(g, &of_b[s % TILES], b + at * b_row + col * b_col, b_row, b_col, k - at, n - col);\n"
    "        }\n"
    "        ndr_matrix_wait(g, AHEAD);\n"
    "        if (s >= AHEAD) ndr_matrix_mad(g, &sum, &of_a[(s - AHEAD) % TILES], &of_b[(s - AHEAD) % TILES]);\n"
    "    }\n"
    "    NDR_MATRIX_APPLY(g, sum, x, i, j) x += 2 * (int)(row + i) + (int)(col + j);\n"
    "    ndr_matrix_store(g, &sum, c, pitch, m - row, n - col);\n"
    "}\n";

/* How a matrix lies in memory. */
typedef struct layout {
    size_t first, row, col; /* elements before it; distances of rows and of columns */
} layout;

typedef struct product {
    size_t m, n, k;
    layout a, b;
    size_t pitch; /* of c */
    bool adds;
} product;

enum { MOST = 1 << 17 };

static size_t at(const layout *l, size_t row, size_t col) { return l->first + row * l->row + col * l->col; }

static size_t end_of(const layout *l, size_t rows, size_t cols)
{
    return rows && cols ? at(l, rows - 1, cols - 1) + 1 : l->first + 1;
}

static int element(size_t row, size_t col, size_t salt) { return (int)((row * 37 + col * 11 + salt) % 7) - 3; }

/* A buffer for the layout, with 99 where no element is. */
static ndr_buffer *make_matrix(const element_type *t, const layout *l, size_t rows, size_t cols, size_t salt)
{
    static char host[8 * MOST];
    const size_t end = end_of(l, rows, cols);
    assert_true(end <= MOST);
    for (size_t i = 0; i < end; ++i) put(t, host, i, 99);
    for (size_t i = 0; i < rows; ++i)
        for (size_t j = 0; j < cols; ++j) put(t, host, at(l, i, j), element(i, j, salt));
    return buffer_of(end * t->in_bytes, host);
}

static double wanted_at(const product *p, size_t row, size_t col)
{
    double sum = (p->adds ? element(row, col, 5) : 3) + 2 * (double)row + (double)col;
    for (size_t s = 0; s < p->k; ++s) sum += (double)element(row, s, 1) * element(s, col, 2);
    return sum;
}

static void check_product(const element_type *t, ndr_kernel *kernel, const product *p)
{
    static char c[8 * MOST];
    const size_t all = p->m * p->pitch;
    assert_true(all <= MOST);
    for (size_t i = 0; i < all; ++i)
        put_sum(t, c, i, i % p->pitch < p->n ? element(i / p->pitch, i % p->pitch, 5) : 77);
    ndr_buffer *const a = make_matrix(t, &p->a, p->m, p->k, 1), *const b = make_matrix(t, &p->b, p->k, p->n, 2);
    ndr_buffer *const to = buffer_of(all * t->sum_bytes, c);
    const size_t down = (p->m + t->rows - 1) / t->rows, across = (p->n + t->cols - 1) / t->cols, items = 2 * t->rows;
    assert_ok(ndr_launch(queue, kernel, ndr_nd_range_2d(down, across * items, 1, items), (uint64_t)p->m, (uint64_t)p->n,
                         (uint64_t)p->k, a, (uint64_t)p->a.first, (uint64_t)p->a.row, (uint64_t)p->a.col, b,
                         (uint64_t)p->b.first, (uint64_t)p->b.row, (uint64_t)p->b.col, to, (uint64_t)p->pitch,
                         (uint32_t)p->adds));
    read_buffer(to, c, all * t->sum_bytes);
    for (size_t i = 0; i < all; ++i) {
        const size_t row = i / p->pitch, col = i % p->pitch;
        const double wanted = col < p->n ? wanted_at(p, row, col) : 77;
        if (sum_at(t, c, i) != wanted)
            fail_msg("%s %s, %zu x %zu x %zu: element (%zu, %zu) is %g, not %g", t->name, t->options, p->m, p->n, p->k,
                     row, col, sum_at(t, c, i), wanted);
    }
    destroy_buffers(a, b, to);
}

/* ---- cases ---- */

/* The form of the device, and those that an option asks for where there are several. */
static const char *const forms[] = { "", "-DNDR_MATRIX_UNITS=1", "-DNDR_MATRIX_UNITS=0" };

static size_t count_forms(void)
{
    const bool has_units = context->caps.compute_capability >= 800 && !(context->caps.disabled & NDR_DISABLE_PTX);
    return has_units ? sizeof forms / sizeof forms[0] : 1;
}

static ndr_kernel *kernel_for(const char *source, const char *name, const element_type *t, const char *form)
{
    char options[256];
    snprintf(options, sizeof options,
             "-DIN=%s -DSUM=%s -DNDR_MATRIX_TYPE=%s -DNDR_MATRIX_ROWS=%u -DNDR_MATRIX_COLS=%u %s %s", t->in, t->sum,
             t->name, t->rows, t->cols, t->options, form);
    return kernel_with(source, name, options);
}

/* Rows that are contiguous and aligned, rows that are not aligned, or columns. */
static layout layout_of(unsigned which, const element_type *t, size_t rows, size_t cols)
{
    const size_t piece = 16 / t->in_bytes;
    if (which == 0) return (layout){ 2 * piece, (cols + piece) / piece * piece, 1 };
    return which == 1 ? (layout){ 1, cols + 1, 1 } : (layout){ piece, 1, (rows + piece) / piece * piece };
}

static product random_product(const element_type *t, uint64_t *seed)
{
    product p = { .m = 1 + random_below(seed, 2 * t->rows + 2), .n = 1 + random_below(seed, 2 * t->cols + 2),
                  .k = random_below(seed, (is_simulated() ? 1 : 5) * depth_of(t) + 2), .adds = random_below(seed, 2) };
    p.a = layout_of((unsigned)random_below(seed, 3), t, p.m, p.k);
    p.b = layout_of((unsigned)random_below(seed, 3), t, p.k, p.n);
    p.pitch = p.n + random_below(seed, 3);
    return p;
}

/* A simulator takes minutes for larger tiles. */
static element_type sized(const element_type *t)
{
    element_type small = *t;
    small.rows = 4, small.cols = 16;
    return is_simulated() ? small : *t;
}

static void check_products(const element_type *t, const char *form, uint64_t *seed)
{
    const size_t depth = depth_of(t);
    const size_t sizes[][3] = { { 1, 1, 1 },
                                { t->rows, t->cols, depth },
                                { t->rows + 1, t->cols - 1, 0 },
                                { 2 * t->rows - 1, t->cols + 1, 4 * depth + 1 },
                                { t->rows, 2 * t->cols, 7 * depth - 1 } };
    ndr_kernel *const kernel = kernel_for(product_source, "product", t, form);
    const size_t cases = is_simulated() ? 3 : sizeof sizes / sizeof sizes[0], all = cases + (is_simulated() ? 1 : 6);
    for (size_t i = 0; i < all; ++i) {
        product p = random_product(t, seed);
        if (i < cases) {
            p = (product){ .m = sizes[i][0], .n = sizes[i][1], .k = sizes[i][2], .adds = i % 2 };
            p.pitch = p.n + i;
            p.a = layout_of(i % 2, t, p.m, p.k);
            p.b = layout_of(i / 2 % 2, t, p.k, p.n);
        }
        check_product(t, kernel, &p);
    }
}

static void test_matrix__multiplies_every_type_and_size(void **state)
{
    uint64_t seed = number_from_env("NDR_TEST_SEED", 29);
    print_message("seed %llu\n", (unsigned long long)seed);
    for (size_t i = 0; i < TYPES; ++i) {
        const element_type t = sized(&types[i]);
        for (size_t form = 0; form < count_forms(); ++form)
            if (device.has_f64 || strcmp(t.name, "f64") != 0) check_products(&t, forms[form], &seed);
    }
}

/* ---- local memory, other results, and two kinds in one program ---- */

/* D = (A B) E over one group: A B is stored as halves to local memory, and read from there as tiles of a second kind. A
 * comes through local memory, too, and E by columns. 40 columns of D exist, and all rows but one. */
static const char chain_source[] =
    "#define NDR_MATRIX_TYPE f16\n"
    "#define NDR_MATRIX_ROWS ROWS\n"
    "#include \"ndr/matrix.clh\"\n"
    "#undef NDR_MATRIX_COLS\n"
    "#undef NDR_MATRIX_NAME\n"
    "#undef NDR_MATRIX_B_BY_COLUMNS\n"
    "#define NDR_MATRIX_COLS COLS\n"
    "#define NDR_MATRIX_NAME second\n"
    "#define NDR_MATRIX_B_BY_COLUMNS 1\n"
    "#include \"ndr/matrix.clh\"\n"
    "NDR_MATRIX_KERNEL kernel void chain(global const half *a, global const half *b, global const half *e,\n"
    "                                    global OUT *d, NDR_ND_RANGE(1))\n"
    "{\n"
    "    ndr_matrix_a of_a;\n"
    "    ndr_matrix_b of_b;\n"
    "    second_a of_ab;\n"
    "    second_b of_e;\n"
    "    ndr_matrix ab;\n"
    "    second sum;\n"
    "    local ushort bits[ROWS * 66];\n"
    "    const ndr_nd_item it = NDR_ND_ITEM(1);\n"
    "    const ndr_group g = ndr_get_group(it);\n"
    "    local half *const copy = (local half *)bits;\n"
    "    for (uint i = ndr_local_id(it, 0); i < ROWS * 64; i += ndr_local_range(it, 0))\n"
    "        bits[i / ROWS * ROWS + i % ROWS] = ((global const ushort *)a)[i % ROWS * 64 + i / ROWS];\n"
    "    ndr_group_barrier(g);\n"
    "    ndr_matrix_fill(g, &ab, 0);\n"
    "    ndr_matrix_load(g, &of_a, copy, 1, ROWS, ROWS, 64);\n"
    "    ndr_matrix_load(g, &of_b, b, 64, 64, 64);\n"
    "    ndr_matrix_wait(g, 0);\n"
    "    ndr_matrix_mad(g, &ab, &of_a, &of_b);\n"
    "    ndr_matrix_wait(g, 0);\n"
    "    ndr_matrix_store(g, &ab, copy, 66, ROWS, 64);\n"
    "    ndr_group_barrier(g);\n"
    "    ndr_matrix_fill(g, &sum, 0);\n"
    "    ndr_matrix_load(g, &of_ab, copy, 66, ROWS, 64);\n"
    "    ndr_matrix_load(g, &of_e, e, 1, 64, 64, 40);\n"
    "    ndr_matrix_wait(g, 0);\n"
    "    ndr_matrix_mad(g, &sum, &of_ab, &of_e);\n"
    "    ndr_matrix_store(g, &sum, d, 40, ROWS - 1, 40);\n"
    "}\n";

static void check_chain(const char *form, const char *out, unsigned cols)
{
    enum { N = 64, COLS = 40 };
    const size_t rows = is_simulated() ? 4 : N;
    uint16_t a[N * N], b[N * N], e[N * COLS], d[N * COLS * 2];
    char options[128];
    for (size_t i = 0; i < N * N; ++i) {
        a[i] = ndr_f16_from_float((float)element(i / N, i % N, 1));
        b[i] = ndr_f16_from_float((float)element(i / N, i % N, 2));
        if (i < N * COLS) e[i] = ndr_f16_from_float((float)element(i / N, i % N, 3)); /* turned */
    }
    snprintf(options, sizeof options, "-DOUT=%s -DROWS=%zu -DCOLS=%u %s", out, rows, cols, form);
    ndr_kernel *const kernel = kernel_with(chain_source, "chain", options);
    ndr_buffer *const buffers[] = { buffer_of(sizeof a, a), buffer_of(sizeof b, b), buffer_of(sizeof e, e),
                                    buffer_of(sizeof d, NULL) };
    assert_ok(ndr_launch(queue, kernel, ndr_nd_range_1d(2 * rows, 2 * rows), buffers[0], buffers[1], buffers[2],
                         buffers[3]));
    read_buffer(buffers[3], d, sizeof d);
    for (size_t i = 0; i + 1 < rows; ++i)
        for (size_t j = 0; j < COLS; ++j) {
            double sum = 0, ab;
            for (size_t s = 0; s < N; ++s) {
                ab = 0;
                for (size_t k = 0; k < N; ++k) ab += (double)element(i, k, 1) * element(k, s, 2);
                sum += ab * element(j, s, 3);
            }
            const size_t place = i * COLS + j;
            const float value = !strcmp(out, "half")     ? ndr_f16_to_float(d[place])
                                : !strcmp(out, "ushort") ? ndr_bf16_to_float(d[place])
                                                         : ((float *)(void *)d)[place];
            const float wanted = !strcmp(out, "half")     ? ndr_f16_to_float(ndr_f16_from_float((float)sum))
                                 : !strcmp(out, "ushort") ? ndr_bf16_to_float(ndr_bf16_from_float((float)sum))
                                                          : (float)sum;
            if (value != wanted)
                fail_msg("%s, %u columns %s: element (%zu, %zu) is %g, not %g", out, cols, form, i, j, value, wanted);
        }
    for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; ++i) ndr_buffer_destroy(buffers[i]);
}

static void test_matrix__chains_products_through_local_memory(void **state)
{
    for (size_t form = 0; form < count_forms(); ++form) {
        check_chain(forms[form], "half", 64);
        check_chain(forms[form], "ushort", 48);
    }
}

static void test_matrix__refuses_tiles_that_do_not_divide(void **state)
{
    ndr_kernel *kernel = NULL;
    const ndr_kernel_desc desc = { .name = "product", .source = product_source,
                                   .options = "-DIN=half -DSUM=float -DNDR_MATRIX_ROWS=6" };
    assert_refused(NDR_BUILD_FAILED, ndr_kernel_get(context, &desc, &kernel),
                   "NDR_MATRIX_ROWS is a multiple of 4, and NDR_MATRIX_COLS one of 16");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matrix__multiplies_every_type_and_size),
        cmocka_unit_test(test_matrix__chains_products_through_local_memory),
        cmocka_unit_test(test_matrix__refuses_tiles_that_do_not_divide),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
