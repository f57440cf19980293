/* test_operations.c - the tables of docs/operations.md: which types, operators, forms and numerics an operation takes, and
 * which implementation runs on a driver. Each cell is tried: what is refused stands as "–", and what is taken must give the
 * right result.
 *
 * NDR_TEST_WRITE=1 writes the tables, and the column of the driver that the test runs on. */
#include "support.h"

#include <math.h>

#include "base/text.h"
#include "device/context.h"
#include "ndr/ndr_ops.h"

/* ---- five numbers of any type ---- */

enum { COUNT = 5, ROOM = 8, BYTES = ROOM * 8 };

static double get(ndr_dtype dtype, const void *host, size_t i)
{
    const char *at = (const char *)host + i * ndr_dtype_size(dtype);
    union {
        int8_t i8;
        uint8_t u8;
        int16_t i16;
        uint16_t u16;
        int32_t i32;
        uint32_t u32;
        int64_t i64;
        uint64_t u64;
        float f32;
        double f64;
    } x;
    memcpy(&x, at, ndr_dtype_size(dtype));
    switch (dtype) {
    case NDR_DTYPE_I8: return x.i8;
    case NDR_DTYPE_U8: return x.u8;
    case NDR_DTYPE_I16: return x.i16;
    case NDR_DTYPE_U16: return x.u16;
    case NDR_DTYPE_I32: return x.i32;
    case NDR_DTYPE_U32: return x.u32;
    case NDR_DTYPE_I64: return (double)x.i64;
    case NDR_DTYPE_U64: return (double)x.u64;
    case NDR_DTYPE_F16: return (double)ndr_f16_to_float(x.u16);
    case NDR_DTYPE_BF16: return (double)ndr_bf16_to_float(x.u16);
    case NDR_DTYPE_F32: return (double)x.f32;
    default: return x.f64;
    }
}

/* A small whole number. */
static void put(ndr_dtype dtype, void *host, size_t i, int value)
{
    const float f32 = (float)value;
    const double f64 = value;
    const uint64_t whole = (uint64_t)(int64_t)value;
    const uint16_t f16 = ndr_f16_from_float(f32), bf16 = ndr_bf16_from_float(f32);
    const void *from = dtype == NDR_DTYPE_F16    ? (const void *)&f16
                       : dtype == NDR_DTYPE_BF16 ? (const void *)&bf16
                       : dtype == NDR_DTYPE_F32  ? (const void *)&f32
                       : dtype == NDR_DTYPE_F64  ? (const void *)&f64
                                                 : (const void *)&whole; /* little-endian */
    memcpy((char *)host + i * ndr_dtype_size(dtype), from, ndr_dtype_size(dtype));
}

static ndr_buffer *numbers(ndr_dtype dtype, const int *values, size_t count)
{
    char host[BYTES] = { 0 };
    for (size_t i = 0; i < count; ++i) put(dtype, host, i, values[i]);
    return buffer_of(sizeof host, host);
}

/* Whether the first numbers of a buffer are these; it is destroyed. */
static bool are(ndr_buffer *buffer, ndr_dtype dtype, size_t count, const int *wanted)
{
    char host[BYTES];
    bool is_same = true;
    take_buffer(buffer, host, sizeof host);
    for (size_t i = 0; i < count; ++i) is_same &= get(dtype, host, i) == wanted[i];
    return is_same;
}

static const int one_to_five[] = { 1, 2, 3, 4, 5 };

/* ---- trials ----
 *
 * A trial makes a call whose types are as the table's column says. With `explains` the call only tells whether it would be
 * taken; otherwise it runs, and `is_right` tells whether the result is as expected. */

typedef struct trial {
    ndr_dtype dtype;
    ndr_op op;
    ndr_numerics numerics;
    size_t count;          /* elements of an explained call */
    ndr_context *explains; /* NULL: run on the shared queue */
    char text[600];        /* what is explained */
    bool is_right;
} trial;

#define EXPLAIN(t, call, desc) \
    if ((t)->explains) return call##_explain((t)->explains, (desc), sizeof(t)->text, (t)->text, NULL)
#define RUN(call, desc)                                     \
    do {                                                    \
        const ndr_status status_ = call(queue, desc, NULL); \
        if (status_ != NDR_OK) return status_;              \
    } while (0)

static ndr_status try_reduce(trial *t)
{
    const int wanted[] = { [NDR_OP_SUM] = 15,      [NDR_OP_MIN] = 1,         [NDR_OP_MAX] = 5,
                           [NDR_OP_PRODUCT] = 120, [NDR_OP_BIT_AND] = 0,     [NDR_OP_BIT_OR] = 7,
                           [NDR_OP_BIT_XOR] = 1,   [NDR_OP_LOGICAL_AND] = 1, [NDR_OP_LOGICAL_OR] = 1 };
    ndr_reduce_desc desc = { .dtype = t->dtype, .op = t->op, .numerics = t->numerics, .count = t->count };
    EXPLAIN(t, ndr_reduce, &desc);
    ndr_buffer *x = numbers(t->dtype, one_to_five, COUNT), *y = numbers(t->dtype, NULL, 0);
    desc.input.buffer = x, desc.output.buffer = y, desc.count = COUNT;
    RUN(ndr_reduce, &desc);
    ndr_buffer_destroy(x);
    t->is_right = are(y, t->dtype, 1, &wanted[t->op]);
    return NDR_OK;
}

static ndr_map_array named(const char *name, ndr_buffer *buffer, ndr_dtype dtype, size_t count)
{
    return (ndr_map_array){ name, ndr_array_of(buffer, dtype, ndr_range_1d(count)) };
}

static ndr_status try_map(trial *t)
{
    static const int wanted[] = { 3, 5, 7, 9, 11 };
    ndr_map_array x = named("x", NULL, t->dtype, t->count), y = named("y", NULL, t->dtype, t->count);
    const ndr_map_desc desc = {
        .statement = "y = 2 * x + 1", .inputs = &x, .input_count = 1, .outputs = &y, .output_count = 1
    };
    EXPLAIN(t, ndr_map, &desc);
    x = named("x", numbers(t->dtype, one_to_five, COUNT), t->dtype, COUNT);
    y = named("y", numbers(t->dtype, NULL, 0), t->dtype, COUNT);
    RUN(ndr_map, &desc);
    ndr_buffer_destroy(x.array.buffer);
    t->is_right = are(y.array.buffer, t->dtype, COUNT, wanted);
    return NDR_OK;
}

/* The arrays have the dtype, the result has, too; combined is in f32. */
static ndr_status try_map_reduce_of_arrays(trial *t)
{
    static const int wanted[] = { 15 };
    ndr_map_array x = named("x", NULL, t->dtype, t->count);
    ndr_map_reduce_desc desc = { .dtype = NDR_DTYPE_F32,
                                 .op = NDR_OP_SUM,
                                 .expression = "x",
                                 .inputs = &x,
                                 .input_count = 1,
                                 .output.dtype = t->dtype };
    EXPLAIN(t, ndr_map_reduce, &desc);
    x = named("x", numbers(t->dtype, one_to_five, COUNT), t->dtype, COUNT);
    desc.output.buffer = numbers(t->dtype, NULL, 0);
    RUN(ndr_map_reduce, &desc);
    ndr_buffer_destroy(x.array.buffer);
    t->is_right = are(desc.output.buffer, t->dtype, 1, wanted);
    return NDR_OK;
}

static ndr_status try_map_reduce(trial *t)
{
    const int wanted[] = {
        [NDR_OP_SUM] = 15,       [NDR_OP_MIN] = 1,     [NDR_OP_MAX] = 5,     [NDR_OP_PRODUCT] = 120,
        [NDR_OP_BIT_AND] = 0,    [NDR_OP_BIT_OR] = 7,  [NDR_OP_BIT_XOR] = 1, [NDR_OP_LOGICAL_AND] = 1,
        [NDR_OP_LOGICAL_OR] = 1, [NDR_OP_ARG_MIN] = 0, [NDR_OP_ARG_MAX] = 4
    };
    const bool is_arg = t->op == NDR_OP_ARG_MIN || t->op == NDR_OP_ARG_MAX;
    ndr_map_array x = named("x", NULL, NDR_DTYPE_I32, t->count);
    ndr_map_reduce_desc desc = { .dtype = t->dtype, .op = t->op, .expression = "x", .inputs = &x, .input_count = 1 };
    EXPLAIN(t, ndr_map_reduce, &desc);
    x = named("x", numbers(NDR_DTYPE_I32, one_to_five, COUNT), NDR_DTYPE_I32, COUNT);
    desc.output.buffer = numbers(t->dtype, NULL, 0);
    RUN(ndr_map_reduce, &desc);
    ndr_buffer_destroy(x.array.buffer);
    t->is_right = are(desc.output.buffer, is_arg ? NDR_DTYPE_U64 : t->dtype, 1, &wanted[t->op]);
    return NDR_OK;
}

static const int scan_results[][COUNT] = {
    [NDR_OP_SUM] = { 1, 3, 6, 10, 15 },     [NDR_OP_MIN] = { 1, 1, 1, 1, 1 },
    [NDR_OP_MAX] = { 1, 2, 3, 4, 5 },       [NDR_OP_PRODUCT] = { 1, 2, 6, 24, 120 },
    [NDR_OP_BIT_AND] = { 1, 0, 0, 0, 0 },   [NDR_OP_BIT_OR] = { 1, 3, 3, 7, 7 },
    [NDR_OP_BIT_XOR] = { 1, 3, 0, 4, 1 },   [NDR_OP_LOGICAL_AND] = { 1, 1, 1, 1, 1 },
    [NDR_OP_LOGICAL_OR] = { 1, 1, 1, 1, 1 }
};

static ndr_status try_scan(trial *t)
{
    ndr_scan_desc desc = { .dtype = t->dtype, .op = t->op, .count = t->count };
    EXPLAIN(t, ndr_scan, &desc);
    ndr_buffer *x = numbers(t->dtype, one_to_five, COUNT);
    desc.input.buffer = desc.output.buffer = x, desc.count = COUNT;
    RUN(ndr_scan, &desc);
    t->is_right = are(x, t->dtype, COUNT, scan_results[t->op]);
    return NDR_OK;
}

/* Columns of a matrix, of which each has the five numbers. */
static ndr_status try_array_scan(trial *t)
{
    enum { COLS = 3, ROOM_OF_ALL = 120 };
    char host[ROOM_OF_ALL] = { 0 };
    const size_t cols = t->explains ? 1 << 10 : COLS, rows = t->explains ? t->count >> 10 : COUNT;
    ndr_array_scan_desc desc = { .op = t->op, .input = ndr_array_of(NULL, t->dtype, ndr_range_2d(rows, cols)) };
    desc.output = desc.input;
    EXPLAIN(t, ndr_array_scan, &desc);
    for (size_t i = 0; i < COUNT * COLS; ++i) put(t->dtype, host, i, (int)(i / COLS) + 1);
    ndr_buffer *x = buffer_of(sizeof host, host);
    desc.input.buffer = desc.output.buffer = x;
    RUN(ndr_array_scan, &desc);
    take_buffer(x, host, sizeof host);
    t->is_right = true;
    for (size_t i = 0; i < COUNT * COLS; ++i) t->is_right &= get(t->dtype, host, i) == scan_results[t->op][i / COLS];
    return NDR_OK;
}

static ndr_status try_select(trial *t)
{
    static const int flags[] = { 1, 0, 1, 0, 1 }, wanted[] = { 1, 3, 5 }, three = 3;
    ndr_select_desc desc = { .dtype = t->dtype, .count = t->count };
    EXPLAIN(t, ndr_select, &desc);
    ndr_buffer *x = numbers(t->dtype, one_to_five, COUNT), *f = numbers(NDR_DTYPE_U8, flags, COUNT);
    ndr_buffer *y = numbers(t->dtype, NULL, 0), *n = numbers(NDR_DTYPE_U64, NULL, 0);
    desc = (ndr_select_desc){ .dtype = t->dtype,
                              .input = { x, 0 },
                              .flags = { f, 0 },
                              .count = COUNT,
                              .output = { y, 0 },
                              .selected = { n, 0 } };
    RUN(ndr_select, &desc);
    ndr_buffer_destroy(x), ndr_buffer_destroy(f);
    t->is_right = are(y, t->dtype, 3, wanted) & are(n, NDR_DTYPE_U64, 1, &three);
    return NDR_OK;
}

static const int mixed[] = { 3, 1, 5, 2, 4 }, five_to_one[] = { 5, 4, 3, 2, 1 };

static ndr_status try_sort(trial *t)
{
    ndr_sort_desc desc = { .dtype = t->dtype, .is_descending = true, .count = t->count };
    EXPLAIN(t, ndr_sort, &desc);
    ndr_buffer *x = numbers(t->dtype, mixed, COUNT);
    desc.keys.buffer = desc.sorted_keys.buffer = x, desc.count = COUNT;
    RUN(ndr_sort, &desc);
    t->is_right = are(x, t->dtype, COUNT, five_to_one);
    return NDR_OK;
}

/* The three largest, and where they were. */
static ndr_status try_top_k(trial *t)
{
    static const int places[] = { 2, 4, 0 };
    ndr_top_k_desc desc = { .dtype = t->dtype, .is_largest = true, .count = t->count, .k = 3 };
    EXPLAIN(t, ndr_top_k, &desc);
    ndr_buffer *x = numbers(t->dtype, mixed, COUNT), *y = numbers(t->dtype, NULL, 0), *i = numbers(NDR_DTYPE_U64, NULL, 0);
    desc.keys.buffer = x, desc.top_keys.buffer = y, desc.top_indexes.buffer = i, desc.count = COUNT;
    RUN(ndr_top_k, &desc);
    ndr_buffer_destroy(x);
    t->is_right = are(y, t->dtype, 3, five_to_one) & are(i, NDR_DTYPE_U64, 3, places);
    return NDR_OK;
}

static ndr_status try_merge(trial *t)
{
    ndr_merge_desc desc = { .dtype = t->dtype, .first_count = t->count, .second_count = t->count };
    EXPLAIN(t, ndr_merge, &desc);
    ndr_buffer *x = numbers(t->dtype, (const int[]){ 1, 3, 5, 2, 4 }, COUNT), *y = numbers(t->dtype, NULL, 0);
    desc.first.buffer = desc.second.buffer = x, desc.second.offset = desc.first_count = 3, desc.second_count = 2;
    desc.output.buffer = y;
    RUN(ndr_merge, &desc);
    ndr_buffer_destroy(x);
    t->is_right = are(y, t->dtype, COUNT, one_to_five);
    return NDR_OK;
}

static ndr_status try_merge_sort(trial *t)
{
    ndr_merge_sort_desc desc = { .dtype = t->dtype, .count = t->count };
    EXPLAIN(t, ndr_merge_sort, &desc);
    ndr_buffer *x = numbers(t->dtype, mixed, COUNT);
    desc.input.buffer = desc.output.buffer = x, desc.count = COUNT;
    RUN(ndr_merge_sort, &desc);
    t->is_right = are(x, t->dtype, COUNT, one_to_five);
    return NDR_OK;
}

static ndr_status try_histogram(trial *t)
{
    static const int wanted[] = { 2, 2, 1 };
    ndr_histogram_desc desc = {
        .dtype = t->dtype, .output_dtype = NDR_DTYPE_U32, .bins = 3, .lower = 1, .upper = 7, .count = t->count
    };
    EXPLAIN(t, ndr_histogram, &desc);
    ndr_buffer *x = numbers(t->dtype, one_to_five, COUNT), *y = numbers(NDR_DTYPE_U32, NULL, 0);
    desc.input.buffer = x, desc.output.buffer = y, desc.count = COUNT;
    RUN(ndr_histogram, &desc);
    ndr_buffer_destroy(x);
    t->is_right = are(y, NDR_DTYPE_U32, 3, wanted);
    return NDR_OK;
}

/* To every second element, backward. */
static ndr_status try_copy(trial *t)
{
    static const int wanted[] = { 3, 0, 2, 0, 1 };
    ndr_array_copy_desc desc = { .input = ndr_array_of(NULL, t->dtype, ndr_range_1d(t->count)) };
    desc.output = desc.input;
    EXPLAIN(t, ndr_array_copy, &desc);
    desc.input = ndr_array_of(numbers(t->dtype, one_to_five, COUNT), t->dtype, ndr_range_1d(3));
    desc.output = desc.input;
    desc.output.buffer = numbers(t->dtype, NULL, 0), desc.output.offset = 4, desc.output.stride[0] = -2;
    RUN(ndr_array_copy, &desc);
    ndr_buffer_destroy(desc.input.buffer);
    t->is_right = are(desc.output.buffer, t->dtype, COUNT, wanted);
    return NDR_OK;
}

static const int indexes[] = { 4, 0, 3, 1, 2 };

static ndr_status gather(trial *t, ndr_dtype dtype, ndr_dtype index_dtype)
{
    static const int wanted[] = { 5, 1, 4, 2, 3 };
    ndr_gather_desc desc = { .dtype = dtype, .index_dtype = index_dtype, .input_count = t->count, .count = t->count };
    EXPLAIN(t, ndr_gather, &desc);
    ndr_buffer *x = numbers(dtype, one_to_five, COUNT), *i = numbers(index_dtype, indexes, COUNT);
    desc.input.buffer = x, desc.indexes.buffer = i, desc.input_count = desc.count = COUNT;
    desc.output.buffer = numbers(dtype, NULL, 0);
    RUN(ndr_gather, &desc);
    ndr_buffer_destroy(x), ndr_buffer_destroy(i);
    t->is_right = are(desc.output.buffer, dtype, COUNT, wanted);
    return NDR_OK;
}

static ndr_status try_gather(trial *t) { return gather(t, t->dtype, NDR_DTYPE_I32); }
static ndr_status try_indexes(trial *t) { return gather(t, NDR_DTYPE_I32, t->dtype); }

static ndr_status try_scatter(trial *t)
{
    static const int wanted[] = { 2, 4, 5, 3, 1 };
    ndr_scatter_desc desc = {
        .dtype = t->dtype, .index_dtype = NDR_DTYPE_I32, .count = t->count, .output_count = t->count
    };
    EXPLAIN(t, ndr_scatter, &desc);
    ndr_buffer *x = numbers(t->dtype, one_to_five, COUNT), *i = numbers(NDR_DTYPE_I32, indexes, COUNT);
    desc.input.buffer = x, desc.indexes.buffer = i, desc.output_count = desc.count = COUNT;
    desc.output.buffer = numbers(t->dtype, NULL, 0);
    RUN(ndr_scatter, &desc);
    ndr_buffer_destroy(x), ndr_buffer_destroy(i);
    t->is_right = are(desc.output.buffer, t->dtype, COUNT, wanted);
    return NDR_OK;
}

/* Values lie in [low, high), and two are different. */
static ndr_status draw(trial *t, ndr_distribution distribution, double low, double high)
{
    char host[BYTES];
    const bool is_whole = distribution == NDR_RANDOM_BELOW || distribution == NDR_RANDOM_PERMUTATION;
    ndr_random_desc desc = {
        .dtype = t->dtype, .distribution = distribution, .below = is_whole ? t->count : 0, .seed = 1, .count = t->count
    };
    EXPLAIN(t, ndr_random, &desc);
    ndr_buffer *y = numbers(t->dtype, NULL, 0);
    desc.output.buffer = y, desc.count = COUNT, desc.below = is_whole ? COUNT : 0;
    RUN(ndr_random, &desc);
    take_buffer(y, host, sizeof host);
    t->is_right = get(t->dtype, host, 0) != get(t->dtype, host, 1) || get(t->dtype, host, 1) != get(t->dtype, host, 2);
    for (size_t i = 0; i < COUNT; ++i) t->is_right &= get(t->dtype, host, i) >= low && get(t->dtype, host, i) < high;
    return NDR_OK;
}

static ndr_status try_uniform(trial *t)
{
    const bool is_float = t->dtype == NDR_DTYPE_F32 || t->dtype == NDR_DTYPE_F64;
    return draw(t, NDR_RANDOM_UNIFORM, is_float ? 0 : -0x1p63, is_float ? 1 : 0x1p64);
}
static ndr_status try_normal(trial *t) { return draw(t, NDR_RANDOM_NORMAL, -10, 10); }
static ndr_status try_below(trial *t) { return draw(t, NDR_RANDOM_BELOW, 0, COUNT); }
static ndr_status try_permutation(trial *t) { return draw(t, NDR_RANDOM_PERMUTATION, 0, COUNT); }

static ndr_status try_matmul(trial *t)
{
    static const int wanted[] = { 55 };
    const size_t n = t->explains ? 1000 : 1, k = t->explains ? 1000 : COUNT;
    const bool is_byte = t->dtype == NDR_DTYPE_I8 || t->dtype == NDR_DTYPE_U8;
    ndr_matmul_desc desc = {
        .dtype = t->dtype, .a = { .rows = n, .cols = k }, .b = { .rows = k, .cols = n }, .c = { .rows = n, .cols = n }
    };
    EXPLAIN(t, ndr_matmul, &desc);
    ndr_buffer *a = numbers(t->dtype, one_to_five, COUNT), *b = numbers(t->dtype, one_to_five, COUNT);
    desc.a.buffer = a, desc.b.buffer = b, desc.c.buffer = numbers(t->dtype, NULL, 0);
    RUN(ndr_matmul, &desc);
    ndr_buffer_destroy(a), ndr_buffer_destroy(b);
    t->is_right = are(desc.c.buffer, is_byte ? NDR_DTYPE_I32 : t->dtype, 1, wanted);
    return NDR_OK;
}

/* ---- the page ---- */

static ndr_text page;

static void page_path(char path[1024]) { snprintf(path, 1024, "%s/../docs/operations.md", getenv("NDR_TEST_DIR")); }

/* What is between the marks of a table. */
static char *table_of(const char *name, size_t *length)
{
    char begins[80];
    snprintf(begins, sizeof begins, "<!-- test_operations: %s -->\n\n", name);
    char *const begin = strstr(page.chars, begins), *const end =
                                                        begin ? strstr(begin, "\n<!-- test_operations ends -->") : NULL;
    if (!end) fail_msg("docs/operations.md has no table \"%s\"", name);
    *length = (size_t)(end - begin) - strlen(begins);
    return begin + strlen(begins);
}

/* The cell of the page, "?" if there is none. Valid until the next call. */
static const char *cell_on_page(const char *table, const char *row, size_t column)
{
    static char cell[40];
    char begin[80];
    size_t length;
    snprintf(begin, sizeof begin, "\n| %s |", row);
    const char *at = strstr(table_of(table, &length), begin);
    if (at) at += strlen(begin) - 2;
    for (size_t bar = 0; at && bar <= column; ++bar) at = strchr(at + 1, '|');
    const char *const end = at ? strchr(at + 1, '|') : NULL;
    const int size = end ? (int)(end - at) - 3 : 0;
    snprintf(cell, sizeof cell, "%.*s", size > 0 ? size : 1, size > 0 ? at + 2 : "?");
    return cell;
}

/* ---- a cell ---- */

/* A context whose device has no f64. */
static ndr_context *without_f64;

/* Where a cell is: a table, the first cell of a row, and the number of a column behind it. */
typedef struct place {
    const char *table, *row;
    size_t column;
} place;

/* "yes", "fp64" if the device must have it, or "–"; what is taken is run, a third each day, on a simulator of three types. Where this
 * device lacks what the call needs, the page cannot be wrong. */
static const char *cell_of(ndr_status (*attempt)(trial *t), trial t, place at)
{
    t.count = 1 << 20;
    t.explains = context;
    const ndr_status status = attempt(&t);
    if (status == NDR_UNSUPPORTED) return cell_on_page(at.table, at.row, at.column);
    if (status != NDR_OK) return "–";
    t.explains = without_f64;
    const char *const cell = attempt(&t) == NDR_OK ? "yes" : "fp64";
    t.explains = NULL;
    static size_t cells;
    if (quick() && t.dtype != NDR_DTYPE_I32 && t.dtype != NDR_DTYPE_F32 && t.dtype != NDR_DTYPE_BF16) return cell;
    if (!is_today(cells++, 5)) return cell;
    assert_ok(attempt(&t));
    if (!t.is_right) fail_msg("%s: wrong results for %s", at.row, ndr_dtype_name(t.dtype));
    return cell;
}

/* ---- the tables ---- */

static const struct {
    const char *name;
    ndr_status (*attempt)(trial *t);
} rows[] = {
    { "`ndr_reduce`", try_reduce },
    { "`ndr_map`, arrays", try_map },
    { "`ndr_map_reduce`, arrays and results", try_map_reduce_of_arrays },
    { "`ndr_map_reduce`, combined in", try_map_reduce },
    { "`ndr_scan`", try_scan },
    { "`ndr_array_scan`", try_array_scan },
    { "`ndr_select`", try_select },
    { "`ndr_sort`, keys", try_sort },
    { "`ndr_top_k`, keys", try_top_k },
    { "`ndr_merge`", try_merge },
    { "`ndr_merge_sort`", try_merge_sort },
    { "`ndr_histogram`", try_histogram },
    { "`ndr_array_copy`", try_copy },
    { "`ndr_gather`", try_gather },
    { "`ndr_gather`, indexes", try_indexes },
    { "`ndr_scatter`", try_scatter },
    { "`ndr_random`, uniform", try_uniform },
    { "`ndr_random`, normal", try_normal },
    { "`ndr_random`, integers below", try_below },
    { "`ndr_random`, permutation", try_permutation },
    { "`ndr_matmul`", try_matmul },
};

static void add_types(ndr_text *out)
{
    static const ndr_dtype types[] = { NDR_DTYPE_I8,  NDR_DTYPE_U8,   NDR_DTYPE_I16, NDR_DTYPE_U16,
                                       NDR_DTYPE_I32, NDR_DTYPE_U32,  NDR_DTYPE_I64, NDR_DTYPE_U64,
                                       NDR_DTYPE_F16, NDR_DTYPE_BF16, NDR_DTYPE_F32, NDR_DTYPE_F64 };
    ndr_text_add_all(out, "|");
    for (size_t c = 0; c < COUNT_OF(types); ++c) ndr_text_add(out, " | %s", ndr_dtype_name(types[c]));
    ndr_text_add_all(out, " |\n|---|");
    for (size_t c = 0; c < COUNT_OF(types); ++c) ndr_text_add_all(out, "---|");
    for (size_t r = 0; r < COUNT_OF(rows); ++r) {
        ndr_text_add_all(out, "\n| ", rows[r].name);
        for (size_t c = 0; c < COUNT_OF(types); ++c)
            ndr_text_add_all(out, " | ",
                             cell_of(rows[r].attempt, (trial){ .dtype = types[c], .op = NDR_OP_SUM },
                                     (place){ "types", rows[r].name, c }));
        ndr_text_add_all(out, " |");
    }
    ndr_text_add_all(out, "\n");
}

/* ---- operators ---- */

static const char *operator_cell(ndr_status (*attempt)(trial *t), ndr_op op, const char *what)
{
    const place at = { "operators", what, 0 };
    const bool of_integers = cell_of(attempt, (trial){ .dtype = NDR_DTYPE_I32, .op = op }, at)[0] == 'y';
    const bool of_floats = cell_of(attempt, (trial){ .dtype = NDR_DTYPE_F32, .op = op }, at)[0] == 'y';
    return of_integers && of_floats ? "yes" : of_integers ? "integers" : of_floats ? "floats" : "–";
}

static ndr_status try_own_operator(trial *t)
{
    static const int wanted[] = { 120 };
    ndr_map_array x = named("x", NULL, t->dtype, t->count);
    ndr_map_reduce_desc desc = {
        .dtype = t->dtype, .combine = "a * b", .identity = "1", .expression = "x", .inputs = &x, .input_count = 1
    };
    EXPLAIN(t, ndr_map_reduce, &desc);
    x = named("x", numbers(t->dtype, one_to_five, COUNT), t->dtype, COUNT);
    desc.output.buffer = numbers(t->dtype, NULL, 0);
    RUN(ndr_map_reduce, &desc);
    ndr_buffer_destroy(x.array.buffer);
    t->is_right = are(desc.output.buffer, t->dtype, 1, wanted);
    return NDR_OK;
}

/* Both take the same operators. */
static ndr_status try_any_scan(trial *t)
{
    const ndr_status status = try_array_scan(t);
    const bool is_right = t->is_right;
    assert_int_equal(try_scan(t), status);
    t->is_right &= is_right;
    return status;
}

static void add_operators(ndr_text *out)
{
    static const struct {
        const char *name;
        ndr_op op;
    } ops[] = { { "sum", NDR_OP_SUM },
                { "product", NDR_OP_PRODUCT },
                { "minimum, maximum", NDR_OP_MIN },
                { "bit and, or, xor", NDR_OP_BIT_AND },
                { "all, any: logical and, or", NDR_OP_LOGICAL_AND },
                { "index of the minimum, of the maximum", NDR_OP_ARG_MIN } };
    static const struct {
        const char *name;
        ndr_status (*attempt)(trial *t);
    } columns[] = { { "`ndr_reduce`", try_reduce },
                    { "`ndr_map_reduce`", try_map_reduce },
                    { "`ndr_scan`, `ndr_array_scan`", try_any_scan } };
    static const ndr_op others[][3] = { [NDR_OP_MIN] = { NDR_OP_MAX },
                                        [NDR_OP_BIT_AND] = { NDR_OP_BIT_OR, NDR_OP_BIT_XOR },
                                        [NDR_OP_LOGICAL_AND] = { NDR_OP_LOGICAL_OR },
                                        [NDR_OP_ARG_MIN] = { NDR_OP_ARG_MAX } };
    ndr_text_add_all(out, "|");
    for (size_t c = 0; c < COUNT_OF(columns); ++c) ndr_text_add_all(out, " | ", columns[c].name);
    ndr_text_add_all(out, " |\n|---|---|---|---|\n");
    for (size_t r = 0; r < COUNT_OF(ops); ++r) {
        ndr_text_add_all(out, "| ", ops[r].name);
        for (size_t c = 0; c < COUNT_OF(columns); ++c) {
            const char *const cell = operator_cell(columns[c].attempt, ops[r].op, columns[c].name);
            for (const ndr_op *o = others[ops[r].op]; *o; ++o)
                assert_string_equal(operator_cell(columns[c].attempt, *o, columns[c].name), cell);
            ndr_text_add_all(out, " | ", cell);
        }
        ndr_text_add_all(out, " |\n");
    }
    ndr_text_add_all(out, "| of your own | – | ", operator_cell(try_own_operator, NDR_OP_NONE, "own operator"),
                     " | – |\n");
}

/* ---- numerics ---- */

static ndr_status try_dot(trial *t)
{
    static const int wanted[] = { 55 };
    ndr_buffer *placeholder = numbers(t->dtype, one_to_five, COUNT); /* whether factors are set is read, too */
    ndr_reduce_desc desc = {
        .dtype = t->dtype, .op = NDR_OP_SUM, .numerics = t->numerics, .count = COUNT, .factors = { placeholder, 0 }
    };
    ndr_status status;
    if (t->explains) {
        status = ndr_reduce_explain(t->explains, &desc, sizeof t->text, t->text, NULL);
        ndr_buffer_destroy(placeholder);
        return status;
    }
    desc.input.buffer = placeholder, desc.output.buffer = numbers(t->dtype, NULL, 0);
    RUN(ndr_reduce, &desc);
    ndr_buffer_destroy(placeholder);
    t->is_right = are(desc.output.buffer, t->dtype, 1, wanted);
    return NDR_OK;
}

static void add_numerics(ndr_text *out)
{
    static const struct {
        const char *name;
        ndr_op op;
        ndr_status (*attempt)(trial *t);
        ndr_dtype dtype;
    } kinds[] = { { "sum of f32", NDR_OP_SUM, try_reduce, NDR_DTYPE_F32 },
                  { "sum of f64", NDR_OP_SUM, try_reduce, NDR_DTYPE_F64 },
                  { "dot product of f32", NDR_OP_SUM, try_dot, NDR_DTYPE_F32 },
                  { "dot product of f64", NDR_OP_SUM, try_dot, NDR_DTYPE_F64 },
                  { "product of f32", NDR_OP_PRODUCT, try_reduce, NDR_DTYPE_F32 },
                  { "product of f64", NDR_OP_PRODUCT, try_reduce, NDR_DTYPE_F64 },
                  { "minimum, maximum of f32", NDR_OP_MIN, try_reduce, NDR_DTYPE_F32 },
                  { "minimum, maximum of f64", NDR_OP_MAX, try_reduce, NDR_DTYPE_F64 },
                  { "f16, bf16", NDR_OP_SUM, try_reduce, NDR_DTYPE_BF16 },
                  { "integers", NDR_OP_SUM, try_reduce, NDR_DTYPE_I32 } };
    ndr_text_add_all(out, "| | FAST | REPRODUCIBLE | EXACT |\n|---|---|---|---|\n");
    for (size_t r = 0; r < COUNT_OF(kinds); ++r) {
        ndr_text_add_all(out, "| ", kinds[r].name);
        for (int n = NDR_NUMERICS_FAST; n <= NDR_NUMERICS_EXACT; ++n)
            ndr_text_add_all(out, " | ",
                             cell_of(kinds[r].attempt,
                                     (trial){ .dtype = kinds[r].dtype, .op = kinds[r].op, .numerics = (ndr_numerics)n },
                                     (place){ "numerics", kinds[r].name, (size_t)n }));
        ndr_text_add_all(out, " |\n");
    }
}

/* ---- forms: each is a call that must give its result ---- */

static ndr_buffer *ints(const int *values, size_t count) { return numbers(NDR_DTYPE_I32, values, count); }

#define ARE(buffer, ...) \
    are(buffer, NDR_DTYPE_I32, COUNT_OF(((const int[]){ __VA_ARGS__ })), (const int[]){ __VA_ARGS__ })
#define GIVES(call, desc, buffer, ...) (call(queue, desc, NULL) == NDR_OK && ARE(buffer, __VA_ARGS__))

static bool map_with_strides(void)
{
    ndr_buffer *x = ints(one_to_five, COUNT), *y = ints(NULL, 0);
    ndr_map_array in = named("x", x, NDR_DTYPE_I32, COUNT), to = named("y", y, NDR_DTYPE_I32, COUNT);
    in.array.offset = 4, in.array.stride[0] = -1;
    const ndr_map_desc desc = {
        .statement = "y = x", .inputs = &in, .input_count = 1, .outputs = &to, .output_count = 1
    };
    const bool is_right = GIVES(ndr_map, &desc, y, 5, 4, 3, 2, 1);
    ndr_buffer_destroy(x);
    return is_right;
}

static bool map_in_place(void)
{
    ndr_buffer *x = ints(one_to_five, COUNT);
    const ndr_map_array both = named("x", x, NDR_DTYPE_I32, COUNT);
    const ndr_map_desc desc = {
        .statement = "x = x * x", .inputs = &both, .input_count = 1, .outputs = &both, .output_count = 1
    };
    return GIVES(ndr_map, &desc, x, 1, 4, 9, 16, 25);
}

static bool map_of_structs(void)
{
    ndr_buffer *x = ints(one_to_five, COUNT);
    const ndr_map_array both = named("x", x, NDR_DTYPE_I32, COUNT);
    const int pair[2] = { 2, 4 };
    const ndr_map_scalar limits = { "p", ndr_arg_struct_(pair, sizeof pair, "struct pair") };
    const ndr_map_desc desc = { .statement = "x = clamp(x, p.low, p.high)",
                                .declarations = "struct pair { int low, high; };",
                                .scalars = &limits,
                                .scalar_count = 1,
                                .inputs = &both,
                                .input_count = 1,
                                .outputs = &both,
                                .output_count = 1 };
    return GIVES(ndr_map, &desc, x, 2, 2, 3, 4, 4);
}

/* Of 1 2 / 3 4 by default. */
static ndr_map_reduce_desc sums(ndr_map_array *x, ndr_buffer *to)
{
    *x = (ndr_map_array){ "x", ndr_array_of(ints(one_to_five, COUNT), NDR_DTYPE_I32, ndr_range_2d(2, 2)) };
    return (ndr_map_reduce_desc){
        .dtype = NDR_DTYPE_I32, .op = NDR_OP_SUM, .expression = "x", .inputs = x, .input_count = 1, .output.buffer = to
    };
}

static bool map_reduce_with_strides(void)
{
    ndr_map_array x;
    ndr_buffer *y = ints(NULL, 0);
    const ndr_map_reduce_desc desc = sums(&x, y);
    x.array = ndr_array_of(x.array.buffer, NDR_DTYPE_I32, ndr_range_1d(3));
    x.array.stride[0] = 2;
    const bool is_right = GIVES(ndr_map_reduce, &desc, y, 9);
    ndr_buffer_destroy(x.array.buffer);
    return is_right;
}

static bool map_reduce_along_axes(void)
{
    bool is_right = true;
    static const int wanted[][2] = { { 10 }, { 4, 6 }, { 3, 7 }, { 10 } };
    for (unsigned axes = 0; axes < 4; ++axes) {
        ndr_map_array x;
        ndr_buffer *y = ints(NULL, 0);
        ndr_map_reduce_desc desc = sums(&x, y);
        desc.axes = axes;
        is_right &= ndr_map_reduce(queue, &desc, NULL) == NDR_OK;
        is_right &= are(y, NDR_DTYPE_I32, axes % 3 ? 2 : 1, wanted[axes]);
        ndr_buffer_destroy(x.array.buffer);
    }
    return is_right;
}

static bool map_reduce_by_offsets(void)
{
    ndr_map_array x;
    ndr_buffer *y = ints(NULL, 0), *ends = numbers(NDR_DTYPE_U64, (const int[]){ 0, 2, 2, 5 }, 4);
    ndr_map_reduce_desc desc = sums(&x, y);
    x.array.shape = ndr_range_1d(COUNT), x.array.stride[0] = 1;
    desc.offsets.buffer = ends, desc.segments = 3;
    const bool is_right = GIVES(ndr_map_reduce, &desc, y, 3, 0, 12);
    ndr_buffer_destroy(x.array.buffer), ndr_buffer_destroy(ends);
    return is_right;
}

static bool map_reduce_of_structs(void)
{
    ndr_map_array x;
    ndr_buffer *y = ints(NULL, 0);
    ndr_map_reduce_desc desc = sums(&x, y);
    desc.dtype = NDR_DTYPE_NONE, desc.op = NDR_OP_NONE;
    desc.declarations = "struct pair { int sum, product; };";
    desc.element = "struct pair", desc.element_bytes = 8;
    desc.expression = "{ x, x }", desc.combine = "{ a.sum + b.sum, a.product * b.product }", desc.identity = "{ 0, 1 }";
    const bool is_right = GIVES(ndr_map_reduce, &desc, y, 10, 24);
    ndr_buffer_destroy(x.array.buffer);
    return is_right;
}

static bool map_reduce_of_several(void)
{
    ndr_map_array x;
    ndr_buffer *y = ints(NULL, 0);
    int host = 0;
    ndr_map_reduce_desc desc = sums(&x, NULL);
    desc.dtype = NDR_DTYPE_NONE, desc.op = NDR_OP_NONE, desc.expression = NULL;
    const ndr_map_reduce_value values[] = {
        { .name = "sum", .dtype = NDR_DTYPE_I32, .op = NDR_OP_SUM, .expression = "x", .output.buffer = y },
        { .name = "most", .dtype = NDR_DTYPE_I32, .op = NDR_OP_MAX, .expression = "x", .host = &host },
    };
    desc.values = values, desc.value_count = 2;
    const bool is_right = GIVES(ndr_map_reduce, &desc, y, 10) && host == 4;
    ndr_buffer_destroy(x.array.buffer);
    return is_right;
}

static bool map_reduce_into_the_output(void)
{
    ndr_map_array x;
    ndr_buffer *y = ints((const int[]){ 100 }, 1);
    ndr_map_reduce_desc desc = sums(&x, y);
    desc.is_combined = true;
    const bool is_right = GIVES(ndr_map_reduce, &desc, y, 110);
    ndr_buffer_destroy(x.array.buffer);
    return is_right;
}

static bool map_reduce_for_the_host(void)
{
    ndr_map_array x;
    int host = 0;
    ndr_map_reduce_desc desc = sums(&x, NULL);
    desc.host = &host;
    const bool is_right = ndr_map_reduce(queue, &desc, NULL) == NDR_OK && host == 10;
    ndr_buffer_destroy(x.array.buffer);
    return is_right;
}

static bool scan_in_place(void)
{
    ndr_buffer *x = ints(one_to_five, COUNT);
    const ndr_scan_desc desc = { .dtype = NDR_DTYPE_I32,
                                 .op = NDR_OP_SUM,
                                 .is_backward = true,
                                 .is_exclusive = true,
                                 .input = { x, 0 },
                                 .count = COUNT,
                                 .output = { x, 0 } };
    return GIVES(ndr_scan, &desc, x, 14, 12, 9, 5, 0);
}

static bool scan_by_length(void)
{
    ndr_buffer *x = ints(one_to_five, COUNT);
    const ndr_scan_desc desc = {
        .dtype = NDR_DTYPE_I32, .op = NDR_OP_SUM, .input = { x, 0 }, .length = 2, .count = COUNT, .output = { x, 0 }
    };
    return GIVES(ndr_scan, &desc, x, 1, 3, 3, 7, 5);
}

static bool scan_by_flags(void)
{
    ndr_buffer *x = ints(one_to_five, COUNT), *flags = numbers(NDR_DTYPE_U8, (const int[]){ 0, 0, 1, 0, 0 }, COUNT);
    const ndr_scan_desc desc = { .dtype = NDR_DTYPE_I32,
                                 .op = NDR_OP_SUM,
                                 .input = { x, 0 },
                                 .flags = { flags, 0 },
                                 .count = COUNT,
                                 .output = { x, 0 } };
    const bool is_right = GIVES(ndr_scan, &desc, x, 1, 3, 3, 7, 12);
    ndr_buffer_destroy(flags);
    return is_right;
}

static bool array_scan_along_columns(void)
{
    trial t = { .dtype = NDR_DTYPE_I32, .op = NDR_OP_SUM };
    return try_array_scan(&t) == NDR_OK && t.is_right;
}

/* Every second element, backward. */
static bool array_scan_with_strides(void)
{
    ndr_buffer *x = ints(one_to_five, COUNT);
    ndr_array_scan_desc desc = { .op = NDR_OP_SUM, .input = ndr_array_of(x, NDR_DTYPE_I32, ndr_range_1d(3)) };
    desc.input.offset = 4, desc.input.stride[0] = -2;
    desc.output = desc.input;
    return GIVES(ndr_array_scan, &desc, x, 9, 2, 8, 4, 5);
}

static bool sort_by_length(void)
{
    ndr_buffer *x = ints(mixed, COUNT);
    const ndr_sort_desc desc = {
        .dtype = NDR_DTYPE_I32, .keys = { x, 0 }, .count = COUNT, .sorted_keys = { x, 0 }, .length = 2
    };
    return GIVES(ndr_sort, &desc, x, 1, 3, 2, 5, 4);
}

static bool sort_by_offsets(void)
{
    ndr_buffer *x = ints(mixed, COUNT), *offsets = numbers(NDR_DTYPE_U64, (const int[]){ 0, 3, 3, 5 }, 4);
    const ndr_sort_desc desc = { .dtype = NDR_DTYPE_I32,
                                 .keys = { x, 0 },
                                 .count = COUNT,
                                 .sorted_keys = { x, 0 },
                                 .offsets = { offsets, 0 },
                                 .segments = 3 };
    const bool is_right = GIVES(ndr_sort, &desc, x, 1, 3, 5, 2, 4);
    ndr_buffer_destroy(offsets);
    return is_right;
}

static bool top_k_by_length(void)
{
    ndr_buffer *x = ints(mixed, 4), *y = ints(NULL, 0);
    const ndr_top_k_desc desc = {
        .dtype = NDR_DTYPE_I32, .keys = { x, 0 }, .length = 2, .count = 4, .k = 1, .top_keys = { y, 0 }
    };
    const bool is_right = GIVES(ndr_top_k, &desc, y, 1, 2);
    ndr_buffer_destroy(x);
    return is_right;
}

static bool sort_in_place(void)
{
    ndr_buffer *x = ints(mixed, COUNT), *values = ints(one_to_five, COUNT);
    const ndr_sort_desc desc = { .dtype = NDR_DTYPE_I32,
                                 .value_bytes = 4,
                                 .keys = { x, 0 },
                                 .values = { values, 0 },
                                 .count = COUNT,
                                 .sorted_keys = { x, 0 },
                                 .sorted_values = { values, 0 } };
    return GIVES(ndr_sort, &desc, x, 1, 2, 3, 4, 5) & ARE(values, 2, 4, 1, 5, 3);
}

static bool merge_by_order(void)
{
    ndr_buffer *x = ints((const int[]){ 5, 3, 1, 4, 2 }, COUNT), *y = ints(NULL, 0);
    const ndr_merge_desc desc = { .element = "int",
                                  .element_bytes = 4,
                                  .less = "a > b",
                                  .first = { x, 0 },
                                  .first_count = 3,
                                  .second = { x, 3 },
                                  .second_count = 2,
                                  .output = { y, 0 } };
    const bool is_right = GIVES(ndr_merge, &desc, y, 5, 4, 3, 2, 1);
    ndr_buffer_destroy(x);
    return is_right;
}

/* By the last bit; stable. */
static ndr_merge_sort_desc merge_sort_of(ndr_buffer *x)
{
    return (ndr_merge_sort_desc){ .element = "int",
                                  .element_bytes = 4,
                                  .less = "a % 2 < b % 2",
                                  .input = { x, 0 },
                                  .count = COUNT,
                                  .output = { x, 0 } };
}

static bool merge_sort_in_place(void)
{
    ndr_buffer *x = ints(one_to_five, COUNT);
    const ndr_merge_sort_desc desc = merge_sort_of(x);
    return GIVES(ndr_merge_sort, &desc, x, 2, 4, 1, 3, 5);
}

static bool merge_sort_by_length(void)
{
    ndr_buffer *x = ints(one_to_five, COUNT);
    ndr_merge_sort_desc desc = merge_sort_of(x);
    desc.length = 2;
    return GIVES(ndr_merge_sort, &desc, x, 2, 1, 4, 3, 5);
}

static bool merge_sort_by_starts(void)
{
    ndr_buffer *x = ints(one_to_five, COUNT), *starts = numbers(NDR_DTYPE_U64, (const int[]){ 3 }, 1);
    ndr_merge_sort_desc desc = merge_sort_of(x);
    desc.starts.buffer = starts, desc.segments = 1;
    const bool is_right = GIVES(ndr_merge_sort, &desc, x, 2, 1, 3, 4, 5);
    ndr_buffer_destroy(starts);
    return is_right;
}

static bool copy_with_strides(void)
{
    trial t = { .dtype = NDR_DTYPE_I32 };
    return try_copy(&t) == NDR_OK && t.is_right;
}

static bool histogram_added(void)
{
    ndr_buffer *x = ints(one_to_five, COUNT), *y = numbers(NDR_DTYPE_U32, (const int[]){ 10, 20 }, 2);
    const ndr_histogram_desc desc = { .dtype = NDR_DTYPE_I32,
                                      .output_dtype = NDR_DTYPE_U32,
                                      .bins = 2,
                                      .lower = 1,
                                      .upper = 5,
                                      .adds = true,
                                      .input = { x, 0 },
                                      .count = COUNT,
                                      .output = { y, 0 } };
    const bool is_right = GIVES(ndr_histogram, &desc, y, 12, 22);
    ndr_buffer_destroy(x);
    return is_right;
}

static bool matmul_added(void)
{
    ndr_buffer *x = numbers(NDR_DTYPE_F32, one_to_five, COUNT), *y = numbers(NDR_DTYPE_F32, (const int[]){ 10 }, 1);
    const int wanted[] = { 2 * 55 + 3 * 10 };
    const ndr_matmul_desc desc = { .dtype = NDR_DTYPE_F32,
                                   .scaling = ndr_scaling_of(2, 3),
                                   .a = { x, 0, 1, COUNT, 0 },
                                   .b = { x, 0, COUNT, 1, 0 },
                                   .c = { y, 0, 1, 1, 0 } };
    const bool is_right = ndr_matmul(queue, &desc, NULL) == NDR_OK && are(y, NDR_DTYPE_F32, 1, wanted);
    ndr_buffer_destroy(x);
    return is_right;
}

static bool matmul_with_pitch(void)
{
    ndr_buffer *x = numbers(NDR_DTYPE_F32, one_to_five, COUNT), *y = numbers(NDR_DTYPE_F32, NULL, 0);
    const int wanted[] = { 1 * 1 + 4 * 2, 0, 0 };
    const ndr_matmul_desc desc = { .dtype = NDR_DTYPE_F32,
                                   .a = { x, 0, 2, 1, 3 },
                                   .b = { x, 0, 2, 1, 1 },
                                   .c = { y, 0, 1, 1, 0 },
                                   .transposes_a = true };
    const bool is_right = ndr_matmul(queue, &desc, NULL) == NDR_OK && are(y, NDR_DTYPE_F32, 3, wanted);
    ndr_buffer_destroy(x);
    return is_right;
}

enum { STRIDES, AXES, SEGMENTS, IN_PLACE, OWN, RESULTS, COLUMNS };

static const struct {
    const char *operation;
    int column;
    const char *words;
    bool (*runs)(void);
} forms[] = {
    { "`ndr_reduce`", COLUMNS, NULL, NULL },
    { "`ndr_map`", STRIDES, "yes", map_with_strides },
    { "`ndr_map`", IN_PLACE, "yes", map_in_place },
    { "`ndr_map`", OWN, "functions, structs", map_of_structs },
    { "`ndr_map_reduce`", STRIDES, "yes", map_reduce_with_strides },
    { "`ndr_map_reduce`", AXES, "any", map_reduce_along_axes },
    { "`ndr_map_reduce`", SEGMENTS, "equal, as rows", map_reduce_along_axes },
    { "`ndr_map_reduce`", SEGMENTS, "by offsets", map_reduce_by_offsets },
    { "`ndr_map_reduce`", OWN, "operators, structs", map_reduce_of_structs },
    { "`ndr_map_reduce`", RESULTS, "several", map_reduce_of_several },
    { "`ndr_map_reduce`", RESULTS, "combined", map_reduce_into_the_output },
    { "`ndr_map_reduce`", RESULTS, "on the host", map_reduce_for_the_host },
    { "`ndr_scan`", SEGMENTS, "equal", scan_by_length },
    { "`ndr_scan`", SEGMENTS, "by flags", scan_by_flags },
    { "`ndr_scan`", IN_PLACE, "yes", scan_in_place },
    { "`ndr_array_scan`", STRIDES, "yes", array_scan_with_strides },
    { "`ndr_array_scan`", AXES, "one", array_scan_along_columns },
    { "`ndr_array_scan`", SEGMENTS, "equal, as rows", array_scan_along_columns },
    { "`ndr_array_scan`", IN_PLACE, "yes", array_scan_along_columns },
    { "`ndr_select`", COLUMNS, NULL, NULL },
    { "`ndr_sort`", SEGMENTS, "equal", sort_by_length },
    { "`ndr_sort`", SEGMENTS, "by offsets", sort_by_offsets },
    { "`ndr_sort`", IN_PLACE, "yes", sort_in_place },
    { "`ndr_top_k`", SEGMENTS, "equal", top_k_by_length },
    { "`ndr_merge`", OWN, "orders, structs", merge_by_order },
    { "`ndr_merge_sort`", SEGMENTS, "equal", merge_sort_by_length },
    { "`ndr_merge_sort`", SEGMENTS, "by starts", merge_sort_by_starts },
    { "`ndr_merge_sort`", IN_PLACE, "yes", merge_sort_in_place },
    { "`ndr_merge_sort`", OWN, "orders, structs", merge_by_order },
    { "`ndr_histogram`", RESULTS, "combined", histogram_added },
    { "`ndr_array_copy`", STRIDES, "yes", copy_with_strides },
    { "`ndr_gather`, `ndr_scatter`", COLUMNS, NULL, NULL },
    { "`ndr_random`", COLUMNS, NULL, NULL },
    { "`ndr_matmul`", STRIDES, "pitches, transposed", matmul_with_pitch },
    { "`ndr_matmul`", RESULTS, "combined", matmul_added },
};

static void add_forms(ndr_text *out)
{
    ndr_text_add_all(out, "| | strides | along axes | segments | in place | of your own | results |\n"
                          "|---|---|---|---|---|---|---|\n");
    for (size_t r = 0; r < COUNT_OF(forms);) {
        size_t end = r;
        while (end < COUNT_OF(forms) && strcmp(forms[end].operation, forms[r].operation) == 0) ++end;
        ndr_text_add_all(out, "| ", forms[r].operation);
        for (int c = 0; c < COLUMNS; ++c) {
            const char *comma = " | ";
            for (size_t i = r; i < end; ++i) {
                if (forms[i].column != c) continue;
                if (!forms[i].runs())
                    fail_msg("%s, %s: wrong or refused: %s", forms[i].operation, forms[i].words, ndr_last_error());
                ndr_text_add_all(out, comma, forms[i].words);
                comma = ", ";
            }
            if (*comma == ' ') ndr_text_add_all(out, " | –");
        }
        ndr_text_add_all(out, " |\n");
        r = end;
    }
}

/* ---- what runs where ---- */

/* "PoCL 3.1"; "" for a driver without a name here. */
static void name_driver(char name[80])
{
    static const char *const platforms[][2] = { { "Portable Computing", "PoCL" },
                                                { "rusticl", "rusticl, Mesa" },
                                                { "Oclgrind", "Oclgrind" },
                                                { "Intel", "Intel CPU" },
                                                { "NVIDIA", "NVIDIA" } };
    *name = '\0';
    const char *version = device.driver + strcspn(device.driver, "0123456789");
    const size_t major = strspn(version, "0123456789"),
                 all = major + (version[major] == '.' ? 1 + strspn(version + major + 1, "0123456789") : 0);
    for (size_t i = 0; i < COUNT_OF(platforms); ++i)
        if (strstr(device.platform, platforms[i][0])) snprintf(name, 80, "%s %.*s", platforms[i][1], (int)all, version);
}

static const struct {
    const char *name;
    ndr_status (*attempt)(trial *t);
} operations[] = {
    { "`ndr_reduce`", try_reduce },         { "`ndr_map`", try_map },
    { "`ndr_map_reduce`", try_map_reduce }, { "`ndr_scan`", try_scan },
    { "`ndr_select`", try_select },         { "`ndr_sort`", try_sort },
    { "`ndr_array_scan`", try_array_scan }, { "`ndr_top_k`", try_top_k },
    { "`ndr_merge`", try_merge },           { "`ndr_merge_sort`", try_merge_sort },
    { "`ndr_histogram`", try_histogram },   { "`ndr_array_copy`", try_copy },
    { "`ndr_gather`", try_gather },         { "`ndr_scatter`", try_scatter },
    { "`ndr_random`", try_uniform },        { "`ndr_matmul`", try_matmul },
};

/* What a call of 2^20 elements of f32 would run, a product of 1000 x 1000 x 1000. */
static void name_row(ndr_status (*attempt)(trial *t), char name[64])
{
    trial t = { .dtype = NDR_DTYPE_F32, .op = NDR_OP_SUM, .count = 1 << 20, .explains = context };
    assert_ok(attempt(&t));
    snprintf(name, 64, "`%.*s`", (int)strcspn(t.text, ";"), t.text);
}

/* A row for each driver; those of others stay as they are on the page. */
static void add_drivers(const char *there, ndr_text *out)
{
    char driver[80], own[1200] = "", name[64];
    name_driver(driver);
    snprintf(own, sizeof own, "| %s |", driver);
    for (size_t i = 0; i < COUNT_OF(operations); ++i) {
        name_row(operations[i].attempt, name);
        snprintf(own + strlen(own), sizeof own - strlen(own), " %s |", name);
    }
    ndr_text_add_all(out, "| |");
    for (size_t i = 0; i < COUNT_OF(operations); ++i) ndr_text_add_all(out, " ", operations[i].name, " |");
    ndr_text_add_all(out, "\n|---|");
    for (size_t i = 0; i < COUNT_OF(operations); ++i) ndr_text_add_all(out, "---|");
    ndr_text_add_all(out, "\n");
    const size_t prefix = strlen(driver) + 3;
    bool is_there = false;
    for (const char *line = there, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        if (strncmp(line, "| ", 2) != 0 || strncmp(line, "| |", 3) == 0) continue;
        const bool is_own = *driver && strncmp(line, own, prefix) == 0;
        if (is_own) ndr_text_add_all(out, own, "\n");
        else ndr_text_add(out, "%.*s\n", (int)(end - line), line);
        is_there |= is_own;
    }
    if (!is_there && *driver && getenv("NDR_TEST_WRITE")) ndr_text_add_all(out, own, "\n");
    if (!is_there) print_message("%s has no row on the page\n", *driver ? driver : "this driver");
}

/* ---- the tables of the page ---- */

static void compare(const char *name, const ndr_text *table)
{
    char path[1024];
    size_t length;
    const char *const there = table_of(name, &length);
    if (length == table->length && memcmp(there, table->chars, length) == 0) return;
    if (getenv("NDR_TEST_WRITE")) {
        ndr_text out = { 0 };
        ndr_text_add_chars(&out, page.chars, (size_t)(there - page.chars));
        ndr_text_add_all(&out, table->chars, there + length);
        page_path(path);
        write_file(path, out.chars);
        ndr_text_free(&page);
        page = out;
        return;
    }
    fail_msg("write the table \"%s\" of docs/operations.md with NDR_TEST_WRITE=1; it should be\n%s", name,
             table->chars);
}

static void check_table(const char *name, void (*add)(ndr_text *out))
{
    ndr_text table = { 0 };
    add(&table);
    compare(name, &table);
    ndr_text_free(&table);
}

static void test_operations__take_the_types_of_the_page(void **state)
{
    check_table("types", add_types);
}

static void test_operations__take_the_operators_of_the_page(void **state)
{
    check_table("operators", add_operators);
}

static void test_operations__take_the_forms_of_the_page(void **state)
{
    check_table("forms", add_forms);
}

static void test_operations__take_the_numerics_of_the_page(void **state)
{
    check_table("numerics", add_numerics);
}

/* With switches other implementations run. */
static void test_operations__run_on_this_driver_as_the_page_says(void **state)
{
    static const char *const switches[] = { "NDR_DISABLE", "NDR_QUIRKS", "NDR_SELFTEST" };
    ndr_text table = { 0 };
    size_t length;
    for (size_t i = 0; i < COUNT_OF(switches); ++i)
        skip_without(!getenv(switches[i]) || !*getenv(switches[i]), "a switch chooses implementations");
    const char *const on_page = table_of("drivers", &length);
    char *const there = strndup(on_page, length);
    assert_non_null(there);
    there[length - 1] = '\n';
    add_drivers(there, &table);
    compare("drivers", &table);
    free(there);
    ndr_text_free(&table);
}

static int open_both(void **state)
{
    char path[1024];
    ndr_file_info info;
    if (open_device(state) != 0) return -1;
    page_path(path);
    assert_int_equal(ndr_file_read(path, 1 << 20, &page, &info), 0);
    set_env("NDR_DISABLE", "fp64");
    assert_ok(ndr_context_create(NULL, &without_f64));
    restore_env();
    return 0;
}

static int close_both(void **state)
{
    ndr_context_destroy(without_f64);
    ndr_text_free(&page);
    return close_device(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_operations__take_the_types_of_the_page),
        cmocka_unit_test(test_operations__take_the_operators_of_the_page),
        cmocka_unit_test(test_operations__take_the_forms_of_the_page),
        cmocka_unit_test(test_operations__take_the_numerics_of_the_page),
        cmocka_unit_test(test_operations__run_on_this_driver_as_the_page_says),
    };
    return cmocka_run_group_tests(tests, open_both, close_both);
}
