/* selftest_operations.c - the implementations of ndr_reduce() and ndr_matmul() that the device takes for a list of hard
 * sizes, and their results beside those of plain C. */
#include "selftest.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the requests: each number has a request at the same place in every child ---- */

typedef struct request {
    bool is_product;
    ndr_dtype dtype;
    ndr_op op; /* of a reduction, as its method and count */
    ndr_reduce_method method;
    size_t count;
    size_t m, n, k; /* of a product, as the rest */
    ndr_accuracy accuracy;
    bool is_padded; /* with pitches, offsets and factors */
} request;

static const size_t counts[] = { 1, 2, 31, 127, 1009, 4097, 65537, 1000003 };
static const struct {
    ndr_dtype dtype;
    ndr_op op;
} reductions[] = { { NDR_DTYPE_I32, NDR_OP_SUM },
                   { NDR_DTYPE_U64, NDR_OP_MIN },
                   { NDR_DTYPE_F32, NDR_OP_SUM },
                   { NDR_DTYPE_F64, NDR_OP_MAX } };
static const ndr_reduce_method methods[] = { NDR_REDUCE_TREE, NDR_REDUCE_ATOMIC, NDR_REDUCE_RECURSIVE };

/* m, n, k. The last ones are for GPUs, whose implementations for large products smaller ones do not select. */
static const size_t shapes[][3] = { { 1, 1, 1 },       { 1, 31, 4097 },      { 31, 1, 4097 },     { 4097, 3, 5 },
                                    { 2, 4097, 7 },    { 3, 1031, 1033 },    { 7, 13, 4097 },     { 31, 37, 41 },
                                    { 127, 131, 137 }, { 257, 263, 269 },    { 67, 1033, 1031 },  { 7, 8209, 1031 },
                                    { 8209, 7, 1031 }, { 1031, 1033, 1039 }, { 2053, 2063, 1031 } };
static const struct {
    ndr_dtype dtype;
    ndr_accuracy accuracy;
} products[] = { { NDR_DTYPE_F32, NDR_ACCURACY_FULL },
                 { NDR_DTYPE_F32, NDR_ACCURACY_TF32 },
                 { NDR_DTYPE_F64, NDR_ACCURACY_FULL } };

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

enum {
    COUNTS = COUNT_OF(counts),
    SHAPES = COUNT_OF(shapes),
    SHAPES_OF_GPUS = 4,
    REDUCTIONS = COUNTS * COUNT_OF(reductions) * COUNT_OF(methods),
    REQUESTS = REDUCTIONS + SHAPES * COUNT_OF(products)
};

static request request_at(size_t i)
{
    if (i < REDUCTIONS) {
        const size_t which = i / COUNTS;
        return (request){ .dtype = reductions[which % COUNT_OF(reductions)].dtype,
                          .op = reductions[which % COUNT_OF(reductions)].op,
                          .method = methods[which / COUNT_OF(reductions)],
                          .count = counts[i % COUNTS] };
    }
    const size_t at = i - REDUCTIONS;
    const size_t *const s = shapes[at % SHAPES];
    return (request){ .is_product = true,
                      .dtype = products[at / SHAPES].dtype,
                      .accuracy = products[at / SHAPES].accuracy,
                      .m = s[0],
                      .n = s[1],
                      .k = s[2],
                      .is_padded = at % 2 == 1 };
}

static bool applies(size_t i, const ndr_device_info *device)
{
    const request r = request_at(i);
    const bool is_for_gpus =
        r.is_product && ((i - REDUCTIONS) % SHAPES >= SHAPES - SHAPES_OF_GPUS || r.accuracy != NDR_ACCURACY_FULL);
    const bool needs_long_atomics = !r.is_product && r.method == NDR_REDUCE_ATOMIC && ndr_dtype_size(r.dtype) == 8;
    if (needs_long_atomics && !device->has_int64_atomics) return false;
    return (r.dtype != NDR_DTYPE_F64 || device->has_f64) && (!is_for_gpus || device->type == NDR_DEVICE_TYPE_GPU);
}

static const char *describe(const request *r, char text[120])
{
    static const char *const names_of_methods[] = { "tree", "atomic", "recursive" };
    static const char *const names_of_ops[] = { [NDR_OP_SUM] = "sum", [NDR_OP_MIN] = "min", [NDR_OP_MAX] = "max" };
    if (r->is_product)
        snprintf(text, 120, "matmul %zux%zux%zu of %s%s%s", r->m, r->n, r->k, ndr_dtype_name(r->dtype),
                 r->accuracy == NDR_ACCURACY_TF32 ? ", accuracy tf32" : "",
                 r->is_padded ? ", with pitches, alpha 2 and beta -1" : "");
    else
        snprintf(text, 120, "reduce %zu of %s, %s, method %s", r->count, ndr_dtype_name(r->dtype), names_of_ops[r->op],
                 names_of_methods[r->method]);
    return text;
}

/* Without buffers. */
static ndr_reduce_desc reduction_of(const request *r)
{
    return (ndr_reduce_desc){ .dtype = r->dtype, .op = r->op, .method = r->method, .count = r->count };
}

static ndr_matmul_desc product_of(const request *r)
{
    return (ndr_matmul_desc){ .dtype = r->dtype,
                              .accuracy = r->accuracy,
                              .scaling = r->is_padded ? ndr_scaling_of(2, -1) : (ndr_scaling){ 0 },
                              .a = { .rows = r->m, .cols = r->k },
                              .b = { .rows = r->k, .cols = r->n },
                              .c = { .rows = r->m, .cols = r->n } };
}

/* ---- which implementation takes a request ---- */

static ndr_status explain(trial *t, const request *r, size_t capacity, char *text)
{
    const ndr_reduce_desc reduction = reduction_of(r);
    const ndr_matmul_desc product = product_of(r);
    return r->is_product ? ndr_matmul_explain(t->context, &product, capacity, text, NULL)
                         : ndr_reduce_explain(t->context, &reduction, capacity, text, NULL);
}

/* One that is about the device says most, and another method least. */
static int weight_of(const char *reason)
{
    return strncmp(reason, "the device", 10) == 0 ? 2 : strncmp(reason, "the call asks", 13) != 0;
}

/* The reasons are like "not tiled: it comes later in the list; not direct: ...". */
static void add_reasons(json_t *others, const char *operation, char *reasons)
{
    char *rest = NULL;
    for (char *one = strtok_r(reasons, ";", &rest); one; one = strtok_r(NULL, ";", &rest)) {
        char name[64], key[100];
        int length = 0;
        if (sscanf(one, " not %63[^:]: %n", name, &length) != 1 || length == 0) continue;
        snprintf(key, sizeof key, "%s %s", operation, name);
        const char *const known = json_string_value(json_object_get(others, key));
        if (!known || weight_of(one + length) > weight_of(known))
            json_object_set_new(others, key, text_json(one + length));
    }
}

static void add_request(json_t *rows, json_t *others, size_t index, const char *operation, char *text)
{
    char key[100];
    char *const end = text + strcspn(text, ";");
    if (*end) add_reasons(others, operation, end + 1);
    *end = '\0';
    snprintf(key, sizeof key, "%s %.80s", operation, text);
    if (!json_object_get(rows, key)) json_object_set_new(rows, key, json_array());
    json_array_append_new(json_object_get(rows, key), json_integer((json_int_t)index));
}

ndr_status list_implementations(trial *t, json_t **list)
{
    char text[8192], what[120];
    const char *name;
    json_t *const rows = json_object(), *const others = json_object(), *value;
    *list = json_pack("{so so}", "rows", rows, "others", others);
    for (size_t i = 0; i < REQUESTS; ++i) {
        const request r = request_at(i);
        if (!applies(i, &t->device)) continue;
        snprintf(text, sizeof text, "chose the implementation of %s", describe(&r, what));
        set_stage(text);
        TRY(explain(t, &r, sizeof text, text));
        add_request(rows, others, i, r.is_product ? "matmul" : "reduce", text);
    }
    json_object_foreach(rows, name, value) json_object_del(others, name);
    return NDR_OK;
}

/* ---- numbers ---- */

static uint32_t mix(uint64_t x)
{
    x = (x ^ (x >> 31)) * 0x9E3779B97F4A7C15u;
    return (uint32_t)((x ^ (x >> 29)) * 0xBF58476D1CE4E5B9u >> 32);
}

/* Rounded to the type, or modulo its width. */
static void store(ndr_dtype dtype, void *array, size_t i, int64_t value)
{
    switch (dtype) {
    case NDR_DTYPE_I32: ((int32_t *)array)[i] = (int32_t)(uint32_t)value; break;
    case NDR_DTYPE_U64: ((uint64_t *)array)[i] = (uint64_t)value; break;
    case NDR_DTYPE_F32: ((float *)array)[i] = (float)value; break;
    default: ((double *)array)[i] = (double)value; break;
    }
}

static const char *show(ndr_dtype dtype, const void *array, size_t i, char text[40])
{
    switch (dtype) {
    case NDR_DTYPE_I32: snprintf(text, 40, "%" PRId32, ((const int32_t *)array)[i]); break;
    case NDR_DTYPE_U64: snprintf(text, 40, "%" PRIu64, ((const uint64_t *)array)[i]); break;
    case NDR_DTYPE_F32: snprintf(text, 40, "%.9g", (double)((const float *)array)[i]); break;
    default: snprintf(text, 40, "%.17g", ((const double *)array)[i]); break;
    }
    return text;
}

/* ---- reductions: of whole numbers, so that any order of floats gives the same bits ---- */

/* Sums stay below 2^24. Sums of 32 bits wrap; the others have more bits than a float. */
static int64_t element_of(const request *r, size_t i)
{
    const int64_t h = mix(i + 1);
    if (r->dtype == NDR_DTYPE_I32) return h;
    if (r->dtype == NDR_DTYPE_F32) return h % 17 - 8;
    return h * 1000003 + (r->dtype == NDR_DTYPE_F64 ? -((int64_t)1 << 50) : 5);
}

static int64_t combine(ndr_op op, int64_t a, int64_t b)
{
    if (op == NDR_OP_SUM) return (int64_t)((uint64_t)a + (uint64_t)b);
    return (op == NDR_OP_MIN) == (a < b) ? a : b;
}

/* The input has elements before and after it that would change the result, and so has the output. */
static ndr_status test_reduction(trial *t, const request *r)
{
    enum { BEFORE = 3, AFTER = 5, OUT = 3 };
    char what[120], got[40], wanted[40];
    const size_t bytes = ndr_dtype_size(r->dtype), total = BEFORE + r->count + AFTER;
    const int64_t poison = r->op == NDR_OP_MIN ? 1 : (int64_t)1 << (r->op == NDR_OP_MAX ? 52 : 20);
    void *const x = malloc(total * bytes);
    uint64_t expected[OUT], out[OUT];
    int64_t result = element_of(r, 0);
    ndr_reduce_desc desc = reduction_of(r);
    if (!x) return snprintf(t->wrong, sizeof t->wrong, "the host has no memory for the test"), NDR_OK;
    for (size_t i = 0; i < total; ++i)
        store(r->dtype, x, i, i < BEFORE || i >= BEFORE + r->count ? poison : element_of(r, i - BEFORE));
    for (size_t i = 1; i < r->count; ++i) result = combine(r->op, result, element_of(r, i));
    for (size_t i = 0; i < OUT; ++i) store(r->dtype, expected, i, i == 1 ? result : 77);
    for (size_t i = 0; i < OUT; ++i) store(r->dtype, out, i, 77);
    desc.input.offset = BEFORE;
    desc.output.offset = 1;
    TRY(ndr_buffer_create_from(t->context, total * bytes, x, &desc.input.buffer));
    TRY(ndr_buffer_create_from(t->context, OUT * bytes, out, &desc.output.buffer));
    TRY(ndr_reduce(t->queue, &desc, NULL));
    TRY(ndr_buffer_read(t->queue, desc.output.buffer, 0, OUT * bytes, out, NULL));
    if (memcmp(out, expected, OUT * bytes) != 0)
        snprintf(t->wrong, sizeof t->wrong, "%s gives %s instead of %s%s", describe(r, what),
                 show(r->dtype, out, 1, got), show(r->dtype, expected, 1, wanted),
                 strcmp(got, wanted) == 0 ? ", but changes its neighbours" : "");
    ndr_buffer_destroy(desc.input.buffer);
    ndr_buffer_destroy(desc.output.buffer);
    free(x);
    return NDR_OK;
}

/* ---- products ---- */

/* Whole numbers have exact products; fractions have all bits of a float. */
typedef enum numbers { WHOLE, FRACTIONS } numbers;

static double number_of(numbers kind, size_t i)
{
    const uint32_t h = mix(i + 1);
    return kind == WHOLE ? (double)(h % 16) - 8 : (double)(h >> 8) / (1 << 23) - 1;
}

typedef struct matrix {
    ndr_matrix of;
    size_t count; /* elements of its buffer */
    double *x;    /* what they are */
} matrix;

static double *row_of(const matrix *m, size_t row) { return m->x + m->of.offset + row * m->of.pitch; }

static ndr_status write_all(trial *t, ndr_dtype dtype, const matrix *m)
{
    const size_t bytes = m->count * ndr_dtype_size(dtype);
    float *const floats = dtype == NDR_DTYPE_F32 ? malloc(bytes) : NULL;
    for (size_t i = 0; floats && i < m->count; ++i) floats[i] = (float)m->x[i];
    TRY(ndr_buffer_write(t->queue, m->of.buffer, 0, bytes, floats ? (void *)floats : (void *)m->x, NULL));
    free(floats);
    return NDR_OK;
}

static ndr_status make_matrix(trial *t, const request *r, numbers kind, size_t rows, size_t cols, matrix *m)
{
    const size_t pad = r->is_padded ? 3 : 0;
    *m = (matrix){ .of = { .rows = rows, .cols = cols, .pitch = cols + pad, .offset = pad } };
    m->count = rows * m->of.pitch + 2 * pad;
    m->x = malloc(m->count * sizeof(double));
    if (!m->x) return snprintf(t->wrong, sizeof t->wrong, "the host has no memory for the test"), NDR_OK;
    for (size_t i = 0; i < m->count; ++i) m->x[i] = number_of(kind, i + rows * 131 + cols);
    TRY(ndr_buffer_create(t->context, m->count * ndr_dtype_size(r->dtype), &m->of.buffer));
    return write_all(t, r->dtype, m);
}

static void destroy_matrix(matrix *m)
{
    ndr_buffer_destroy(m->of.buffer);
    free(m->x);
}

typedef struct product {
    const request *request;
    numbers kind;
    matrix a, b, c; /* c as it was before */
    double *got;    /* all elements of the buffer of c */
    double *sum, *size;
} product;

/* Row i of a * b, and of |a| * |b|. */
static void multiply_row(const product *p, size_t i)
{
    const size_t n = p->request->n;
    const double *const a = row_of(&p->a, i);
    memset(p->sum, 0, n * sizeof(double));
    memset(p->size, 0, n * sizeof(double));
    for (size_t l = 0; l < p->request->k; ++l) {
        const double *const b = row_of(&p->b, l);
        for (size_t j = 0; j < n; ++j) {
            p->sum[j] += a[l] * b[j];
            p->size[j] += fabs(a[l] * b[j]);
        }
    }
}

/* By the bound of ndr_matmul(); that of whole numbers is 0. */
static void check_row(trial *t, const product *p, size_t i)
{
    char what[120];
    const request *const r = p->request;
    const double alpha = r->is_padded ? 2 : 1, beta = r->is_padded ? -1 : 0;
    const double eps = r->dtype == NDR_DTYPE_F32 ? FLT_EPSILON : DBL_EPSILON;
    const double of_tf32 = r->accuracy == NDR_ACCURACY_TF32 ? 0x1p-10 : 0;
    const double *const before = row_of(&p->c, i), *const got = p->got + (before - p->c.x);
    multiply_row(p, i);
    for (size_t j = 0; j < r->n && !*t->wrong; ++j) {
        const double wanted = alpha * p->sum[j] + beta * before[j], product_size = alpha * p->size[j];
        /* twice the first term in f64, as the sum to compare with has an error, too */
        const double rounding = (double)(r->k + 2) * eps * (r->dtype == NDR_DTYPE_F64 ? 2 : 1);
        const double bound = rounding * (product_size + fabs(beta * before[j])) + of_tf32 * product_size;
        if (!(fabs(got[j] - wanted) <= (p->kind == WHOLE ? 0 : bound)))
            snprintf(t->wrong, sizeof t->wrong, "%s: element (%zu, %zu) is %.17g instead of %.17g", describe(r, what),
                     i, j, got[j], wanted);
    }
}

/* What lies between and around the rows of c is as it was. */
static void check_padding(trial *t, const product *p)
{
    char what[120];
    const ndr_matrix *const c = &p->c.of;
    for (size_t i = 0; i < p->c.count && !*t->wrong; ++i) {
        const bool is_inside =
            i >= c->offset && i < c->offset + c->rows * c->pitch && (i - c->offset) % c->pitch < c->cols;
        if (!is_inside && p->got[i] != (p->request->dtype == NDR_DTYPE_F32 ? (double)(float)p->c.x[i] : p->c.x[i]))
            snprintf(t->wrong, sizeof t->wrong, "%s: it writes outside of c, at element %zu of its buffer",
                     describe(p->request, what), i);
    }
}

static ndr_status read_product(trial *t, product *p)
{
    const size_t count = p->c.count;
    TRY(ndr_buffer_read(t->queue, p->c.of.buffer, 0, count * ndr_dtype_size(p->request->dtype), p->got, NULL));
    if (p->request->dtype == NDR_DTYPE_F32) /* from the end, as the floats lie at the start of the same memory */
        for (size_t i = count; i-- > 0;) {
            float x;
            memcpy(&x, (const char *)p->got + i * sizeof x, sizeof x);
            p->got[i] = (double)x;
        }
    return NDR_OK;
}

/* All rows, or of a large product as many as take about a tenth of a second. */
static void check_product(trial *t, const product *p)
{
    const size_t work = p->request->m * p->request->n * p->request->k, step = 1 + (work >> 24);
    check_padding(t, p);
    for (size_t i = 0; i < p->request->m; i += step) check_row(t, p, i);
    check_row(t, p, p->request->m - 1);
}

static ndr_status test_product(trial *t, const request *r, numbers kind)
{
    product p = { .request = r, .kind = kind };
    ndr_matmul_desc desc = product_of(r);
    TRY(make_matrix(t, r, kind, r->m, r->k, &p.a));
    TRY(make_matrix(t, r, kind, r->k, r->n, &p.b));
    TRY(make_matrix(t, r, kind, r->m, r->n, &p.c));
    p.got = calloc(p.c.count, sizeof(double));
    p.sum = calloc(r->n, sizeof(double));
    p.size = calloc(r->n, sizeof(double));
    if (!p.got || !p.sum || !p.size) snprintf(t->wrong, sizeof t->wrong, "the host has no memory for the test");
    if (*t->wrong) return NDR_OK;
    desc.a = p.a.of;
    desc.b = p.b.of;
    desc.c = p.c.of;
    TRY(ndr_matmul(t->queue, &desc, NULL));
    TRY(read_product(t, &p));
    check_product(t, &p);
    destroy_matrix(&p.a);
    destroy_matrix(&p.b);
    destroy_matrix(&p.c);
    free(p.got);
    free(p.sum);
    free(p.size);
    return NDR_OK;
}

/* ---- the requests of a part ---- */

static ndr_status test_request(trial *t, const request *r)
{
    char text[200], what[120];
    snprintf(text, sizeof text, "ran %s", describe(r, what));
    set_stage(text);
    if (!r->is_product) return test_reduction(t, r);
    TRY(test_product(t, r, WHOLE));
    return *t->wrong ? NDR_OK : test_product(t, r, FRACTIONS);
}

ndr_status test_requests(trial *t, const part *p)
{
    size_t i;
    json_t *index;
    json_array_foreach(p->indexes, i, index) {
        const request r = request_at((size_t)json_integer_value(index));
        if (!*t->wrong && applies((size_t)json_integer_value(index), &t->device)) TRY(test_request(t, &r));
    }
    return NDR_OK;
}
