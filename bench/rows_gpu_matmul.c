/* rows_gpu_matmul.c - products on a GPU, beside cuBLAS and CLBlast. */
#include "gpu.h"

#include "ndr/ndr_ops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- operands ---- */

static ndr_buffer *create(const gpu_matmul *j, size_t bytes, size_t element_bytes)
{
    ndr_buffer *buffer;
    MUST(ndr_buffer_create(the_context, bytes + j->offset * element_bytes, &buffer));
    return buffer;
}

static ndr_matmul_desc describe(const gpu_matmul *j)
{
    const matmul *m = &j->on_host;
    const matmul_shape *s = &m->of;
    const size_t a_rows = s->transposes_a ? s->k : s->m, b_rows = s->transposes_b ? s->n : s->k;
    return (ndr_matmul_desc){ .dtype = s->dtype,
                              .output_dtype = m->output,
                              .scaling = ndr_scaling_of(s->alpha, s->beta),
                              .a = { j->a, j->offset, a_rows, s->m + s->k - a_rows, m->a_pitch },
                              .b = { j->b, j->offset, b_rows, s->n + s->k - b_rows, m->b_pitch },
                              .c = { j->c, j->offset, s->m, s->n, m->c_pitch },
                              .count = m->count,
                              .a_stride = m->count > 1 ? m->a_stride : 0,
                              .b_stride = m->count > 1 ? m->b_stride : 0,
                              .c_stride = m->count > 1 ? m->c_stride : 0,
                              .accuracy = m->accuracy,
                              .transposes_a = s->transposes_a,
                              .transposes_b = s->transposes_b };
}

/* Of a column, for the rows with an epilogue. */
static float bias_of(size_t col) { return (float)(col % 17) / 16 - 0.5f; }

static ndr_buffer *create_bias(size_t cols)
{
    ndr_buffer *buffer;
    float *bias = allocate(cols * sizeof *bias);
    for (size_t i = 0; i < cols; ++i) bias[i] = bias_of(i);
    MUST(ndr_buffer_create_from(the_context, cols * sizeof *bias, bias, &buffer));
    free(bias);
    return buffer;
}

/* An implementation that must be tried before its first use is tried now. Otherwise the first calls take another. */
static void try_implementations(const gpu_matmul *j)
{
    const ndr_matmul_desc desc = describe(j);
    MUST(ndr_matmul_explain(the_context, &desc, 0, NULL, NULL));
}

static void *begin(const void *shape_)
{
    const gpu_matmul_shape *shape = shape_;
    gpu_matmul *j = allocate(sizeof *j);
    memset(j, 0, sizeof *j);
    matmul *m = &j->on_host;
    matmul_set(m, &shape->of);
    m->accuracy = shape->accuracy;
    j->offset = shape->offset;
    j->back_to_back = shape->back_to_back;
    m->a.host = allocate(matmul_a_bytes(m));
    m->b.host = allocate(matmul_b_bytes(m));
    m->c.host = allocate(matmul_c_bytes(m));
    m->c_before = allocate(matmul_c_bytes(m));
    j->a = create(j, matmul_a_bytes(m), m->element_bytes);
    j->b = create(j, matmul_b_bytes(m), m->element_bytes);
    j->c = create(j, matmul_c_bytes(m), m->c_element_bytes);
    j->bias = create_bias(m->of.n);
    try_implementations(j);
    return j;
}

static void end(void *job)
{
    gpu_matmul *j = job;
    MUST(ndr_queue_finish(gpu_timed_queue()));
    gpu_finish();
    ndr_buffer_destroy(j->a);
    ndr_buffer_destroy(j->b);
    ndr_buffer_destroy(j->c);
    ndr_buffer_destroy(j->bias);
    free(j->on_host.a.host);
    free(j->on_host.b.host);
    free(j->on_host.c.host);
    free(j->on_host.c_before);
    free(j);
}

/* Once for each row: new operands in each round would take most of the time. */
static void refill(void *job, uint64_t seed)
{
    gpu_matmul *j = job;
    const matmul *m = &j->on_host;
    if (j->number) return;
    matmul_work.refill(job, seed);
    const size_t offset = j->offset * m->element_bytes;
    MUST(ndr_buffer_write(the_queue, j->a, offset, matmul_a_bytes(m), m->a.host, NULL));
    MUST(ndr_buffer_write(the_queue, j->b, offset, matmul_b_bytes(m), m->b.host, NULL));
    j->number = gpu_next_number();
}

/* 64 elements of each product; those of thousands of rows and columns are not all computed again. */
static bool check(void *job, const contender *who, size_t calls, bool thoroughly)
{
    (void)thoroughly;
    return matmul_work.check(job, who, calls, false);
}

const work gpu_matmul_work = { .own = gpu_matmul_own, .begin = begin, .end = end, .refill = refill, .check = check };

/* ---- contenders ---- */

static void multiply(const gpu_matmul *j, ndr_queue *queue, ndr_event **event)
{
    const ndr_matmul_desc desc = describe(j);
    MUST(ndr_matmul(queue, &desc, event));
}

void gpu_matmul_reset(void *job)
{
    gpu_matmul *j = job;
    const matmul *m = &j->on_host;
    const size_t bytes = matmul_c_bytes(m), offset = j->offset * m->c_element_bytes;
    if (m->of.beta != 0) MUST(ndr_buffer_write(the_queue, j->c, offset, bytes, m->c_before, NULL));
    else MUST(ndr_buffer_fill(the_queue, j->c, offset, bytes, &(uint8_t){ 0xff }, 1, NULL));
}

static void enqueue(void *job) { multiply(job, the_queue, NULL); }

static double time_one(void *job)
{
    ndr_event *event;
    multiply(job, gpu_timed_queue(), &event);
    return gpu_event_seconds(event);
}

void gpu_matmul_download(void *job)
{
    gpu_matmul *j = job;
    const matmul *m = &j->on_host;
    MUST(ndr_buffer_read(the_queue, j->c, j->offset * m->c_element_bytes, matmul_c_bytes(m), m->c.host, NULL));
}

static double time_libndr(void *job)
{
    static const gpu_calls calls = { NULL, gpu_matmul_reset, enqueue, time_one, gpu_finish, gpu_matmul_download };
    return gpu_time(&calls, job, ((gpu_matmul *)job)->back_to_back);
}

/* ---- with an epilogue ---- */

static void multiply_and_finish(const gpu_matmul *j, ndr_queue *queue, ndr_event **event)
{
    ndr_matmul_desc desc = describe(j);
    const ndr_map_array bias = { "bias",
                                 { .buffer = j->bias,
                                   .dtype = NDR_DTYPE_F32,
                                   .shape = ndr_range_2d(j->on_host.of.m, j->on_host.of.n),
                                   .stride = { 0, 1 } } };
    desc.declarations = "static inline float gelu(float x)\n{\n"
                        "    return native_divide(x, 1 + native_exp(x * (-1.5957691f - 0.0713548f * x * x)));\n}\n";
    desc.epilogue = "gelu(r + bias)";
    desc.inputs = &bias;
    desc.input_count = 1;
    MUST(ndr_matmul(queue, &desc, event));
}

static void enqueue_finished(void *job) { multiply_and_finish(job, the_queue, NULL); }

static double time_one_finished(void *job)
{
    ndr_event *event;
    multiply_and_finish(job, gpu_timed_queue(), &event);
    return gpu_event_seconds(event);
}

static double time_finished(void *job)
{
    static const gpu_calls calls = { NULL,       gpu_matmul_reset,   enqueue_finished, time_one_finished,
                                     gpu_finish, gpu_matmul_download };
    return gpu_time(&calls, job, ((gpu_matmul *)job)->back_to_back);
}

/* Its slope is below 1.13; functions of the device's own have errors. */
static double finish(double result, size_t col, double *bound)
{
    const double x = result + (double)bias_of(col);
    *bound = 1.13 * *bound + 1e-5 * (1 + fabs(x));
    return x / (1 + exp(x * (-1.5957691 - 0.0713548 * x * x)));
}

const contender gpu_matmul_own[] = { { .name = "libndr", .time = time_libndr, .leaves_result = true }, { 0 } };

static const contender finished_own[] = {
    { .name = "libndr", .time = time_finished, .leaves_result = true, .finish = finish },
    { .name = "libndr without epilogue", .time = time_libndr, .leaves_result = true },
    { 0 }
};

static const work finished_work = { .own = finished_own, .begin = begin, .end = end, .refill = refill, .check = check };

/* ---- rows ---- */

#define ROW(name_, back_, dtype_, m_, n_, k_, padding_, offset_, alpha_, beta_, count_, rounds_, pass_, aim_, others_, \
            ...)                                                                                                       \
    {                                                                                                                  \
        .name = "gpu: " name_ ROW_END_##back_, .work = &gpu_matmul_work,                                               \
        .amount = 2.0 * (count_) * (m_) * (n_) * (k_), .unit = &teraflops, .max_rounds = rounds_,                      \
        .shape = &(const gpu_matmul_shape){ { dtype_, m_, n_, k_, padding_, alpha_, beta_, count_, __VA_ARGS__ },      \
                                            offset_,                                                                   \
                                            back_,                                                                     \
                                            ACCURACY_##others_ },                                                      \
        .flop_per_byte = 2.0 * (m_) * (n_) * (k_) / ELEMENT_##dtype_                                                   \
                         / (1.0 * (m_) * (k_) + 1.0 * (k_) * (n_) + ((beta_) != 0 ? 2.0 : 1.0) * (m_) * (n_)),         \
        .rivals = { { "cuBLAS", { RATE_AT_LEAST, pass_, aim_ } } AND_##others_ },                                      \
    }
#define ROW_END_0 ""
#define ROW_END_1 " back to back"
#define ELEMENT_NDR_DTYPE_F32 4
#define ELEMENT_NDR_DTYPE_F64 8
#define ELEMENT_NDR_DTYPE_F16 2
#define ELEMENT_NDR_DTYPE_BF16 2
#define ELEMENT_NDR_DTYPE_I8 1
#define AND_NONE
#define AND_TF32
#define AND_K_MAJOR                                 \
    ,                                               \
    {                                               \
        "cuBLAS b k-major", { RATE_AT_LEAST, 1, 1 } \
    }
#define AND_CLBLAST                            \
    ,                                          \
    {                                          \
        "CLBlast", { RATE_AT_LEAST, 1.4, 1.4 } \
    }

#define ACCURACY_NONE NDR_ACCURACY_FULL
#define ACCURACY_K_MAJOR NDR_ACCURACY_FULL
#define ACCURACY_CLBLAST NDR_ACCURACY_FULL
#define ACCURACY_TF32 NDR_ACCURACY_TF32 /* of cuBLAS, too */

/* One call by events, and calls back to back. */
#define BOTH(...) BOTH_OF(__VA_ARGS__, MATMUL_PLAIN)
#define BOTH_OF(...) ROW_(0, __VA_ARGS__), ROW_(1, __VA_ARGS__)
#define ROW_(back, name, ...) ROW(name, back, __VA_ARGS__)
#define SGEMM_ROUNDS(n, rounds, pass, aim) \
    BOTH("sgemm " #n, NDR_DTYPE_F32, n, n, n, 0, 0, 1, 0, 1, rounds, pass, aim, CLBLAST)
#define SGEMM(n, pass, aim) SGEMM_ROUNDS(n, 0, pass, aim)
#define SGEMM_TF32(n, rounds) BOTH("sgemm " #n " at TF32", NDR_DTYPE_F32, n, n, n, 0, 0, 1, 0, 1, rounds, 0.7, 1, TF32)
#define SGEMM_OF(m, n, k) BOTH("sgemm " #m " x " #n " x " #k, NDR_DTYPE_F32, m, n, k, 0, 0, 1, 0, 1, 0, 0.9, 1, NONE)
#define DGEMM_OF(m, n, k) BOTH("dgemm " #m " x " #n " x " #k, NDR_DTYPE_F64, m, n, k, 0, 0, 1, 0, 1, 0, 0.9, 1, NONE)
#define SGEMM_ALL(n) BOTH("sgemm " #n " all four", NDR_DTYPE_F32, n, n, n, 27, 3, 2, 0.5, 1, 0, 0.9, 1, NONE)
#define DGEMM_ROUNDS(n, rounds, pass, aim) \
    BOTH("dgemm " #n, NDR_DTYPE_F64, n, n, n, 0, 0, 1, 0, 1, rounds, pass, aim, NONE)
#define DGEMM(n, pass, aim) DGEMM_ROUNDS(n, 0, pass, aim)
#define BATCH(name, dtype, count, n) BOTH(name " " #count " x " #n, dtype, n, n, n, 0, 0, 1, 0, count, 0, 0.9, 1, NONE)
#define NARROW(name, dtype, n, pass, aim) BOTH(name " " #n, dtype, n, n, n, 0, 0, 1, 0, 1, 0, pass, aim, NONE)
#define HGEMM(n, pass, aim) NARROW("hgemm", NDR_DTYPE_F16, n, pass, aim)
#define BGEMM(n, pass, aim) NARROW("bgemm", NDR_DTYPE_BF16, n, pass, aim)
/* cuBLAS's fast kernels for bytes read b along k. It is measured on b as it is, and on a transposed copy, without the
 * time to make it. */
#define IGEMM(n) BOTH("igemm " #n, NDR_DTYPE_I8, n, n, n, 0, 0, 1, 0, 1, 0, 1, 1, K_MAJOR)
#define IGEMM_TURNED(n) \
    BOTH_OF("igemm " #n " b transposed", NDR_DTYPE_I8, n, n, n, 0, 0, 1, 0, 1, 0, 1, 1, NONE, 0, false, true)
#define HGEMM_OF(name, m, n, k, count, pass, ...) \
    BOTH_OF("hgemm " name, NDR_DTYPE_F16, m, n, k, 0, 0, 1, 0, count, 0, pass, 1, NONE, __VA_ARGS__)
#define SGEMM_BATCH_OF(count, m, n, k) \
    BOTH("sgemm " #count " x (" #m " x " #n " x " #k ")", NDR_DTYPE_F32, m, n, k, 0, 0, 1, 0, count, 0, 0.9, 1, NONE)

/* A product with an epilogue, beside the same one without. */
#define FINISHED(n) FINISHED_(n, 0), FINISHED_(n, 1)
#define FINISHED_(n, back_)                                                                       \
    {                                                                                             \
        .name = "gpu: hgemm " #n " gelu and bias" ROW_END_##back_, .work = &finished_work,        \
        .amount = 2.0 * (n) * (n) * (n), .unit = &teraflops,                                      \
        .shape = &(const gpu_matmul_shape){ { NDR_DTYPE_F16, n, n, n, 0, 1, 0, 1, MATMUL_PLAIN }, \
                                            0,                                                    \
                                            back_,                                                \
                                            NDR_ACCURACY_FULL },                                  \
        .rivals = { { "libndr without epilogue", { RATE_AT_LEAST, 0.98, 0.98 } } },               \
    }

static bench_row rows[] = {
    SGEMM(256, 1, 1),
    SGEMM(512, 1, 1),
    SGEMM(1024, 1.9, 2.3),
    SGEMM(1536, 1.9, 2.3),
    SGEMM(2048, 2.3, 4),
    SGEMM(3072, 2.3, 4),
    SGEMM(4096, 2.3, 4),
    SGEMM_ROUNDS(8192, 3, 2.3, 4),
    SGEMM(1000, 0.9, 1),
    SGEMM(4095, 0.9, 1),
    SGEMM(4097, 0.9, 1),
    SGEMM_TF32(1024, 0),
    SGEMM_TF32(2048, 0),
    SGEMM_TF32(4096, 0),
    SGEMM_TF32(8192, 3),
    SGEMM_TF32(4095, 0),
    SGEMM_OF(4096, 8, 4096),
    SGEMM_OF(1, 4096, 4096),
    SGEMM_OF(4096, 1, 4096),
    SGEMM_OF(4096, 4096, 8),
    SGEMM_OF(128, 128, 65536),
    SGEMM_OF(64, 16384, 4096),
    SGEMM_OF(33, 50000, 1000),
    SGEMM_ALL(1024),
    SGEMM_ALL(2048),
    BATCH("sgemm", NDR_DTYPE_F32, 1000, 16),
    BATCH("sgemm", NDR_DTYPE_F32, 1000, 32),
    BATCH("sgemm", NDR_DTYPE_F32, 1000, 64),
    SGEMM_BATCH_OF(1000, 63, 65, 67),
    SGEMM_BATCH_OF(1000, 127, 129, 131),
    DGEMM(1024, 0.9, 1),
    DGEMM(2048, 0.95, 1),
    DGEMM(4096, 1.3, 1.4),
    DGEMM_ROUNDS(8192, 3, 1.4, 1.4),
    DGEMM(1000, 0.9, 1),
    DGEMM(4097, 1.4, 1.4),
    DGEMM_OF(4096, 8, 4096),
    DGEMM_OF(8, 4096, 4096),
    DGEMM_OF(7, 4095, 4095),
    DGEMM_OF(8, 16384, 1024),
    DGEMM_OF(1, 4096, 4096),
    BATCH("dgemm", NDR_DTYPE_F64, 1000, 16),
    BATCH("dgemm", NDR_DTYPE_F64, 1000, 32),
    BATCH("dgemm", NDR_DTYPE_F64, 1000, 64),
    HGEMM(512, 0.85, 1),
    HGEMM(1024, 0.85, 1),
    HGEMM(1536, 0.85, 1),
    HGEMM(2048, 0.95, 1),
    HGEMM(3072, 0.95, 1),
    HGEMM(4096, 0.95, 1),
    HGEMM(8192, 0.95, 1),
    HGEMM(4095, 3, 3),
    HGEMM(4104, 0.9, 1),
    HGEMM_OF("4096 to f32", 4096, 4096, 4096, 1, 0.95, NDR_DTYPE_F32, false, false),
    HGEMM_OF("4096 a transposed", 4096, 4096, 4096, 1, 0.95, 0, true, false),
    HGEMM_OF("4096 b transposed", 4096, 4096, 4096, 1, 0.95, 0, false, true),
    HGEMM_OF("2048 both transposed", 2048, 2048, 2048, 1, 0.95, 0, true, true),
    HGEMM_OF("128 x 128 x 65536", 128, 128, 65536, 1, 0.9, MATMUL_PLAIN),
    HGEMM_OF("64 x 16384 x 4096", 64, 16384, 4096, 1, 0.9, MATMUL_PLAIN),
    HGEMM_OF("1 x 4096 x 4096", 1, 4096, 4096, 1, 0.9, MATMUL_PLAIN),
    HGEMM_OF("1000 x 128", 128, 128, 128, 1000, 0.9, MATMUL_PLAIN),
    HGEMM_OF("1000 x (127 x 129 x 131)", 127, 129, 131, 1000, 0.9, MATMUL_PLAIN),
    HGEMM_OF("32 x 1024", 1024, 1024, 1024, 32, 0.9, MATMUL_PLAIN),
    BOTH("hgemm 2048 all four", NDR_DTYPE_F16, 2048, 2048, 2048, 27, 3, 2, 0.5, 1, 0, 0.9, 1, NONE),
    BGEMM(2048, 0.95, 1),
    BGEMM(4096, 1, 1),
    BGEMM(8192, 1, 1),
    IGEMM(2048),
    IGEMM(4096),
    IGEMM(8192),
    IGEMM_TURNED(2048),
    IGEMM_TURNED(4096),
    IGEMM_TURNED(8192),
    FINISHED(2048),
    FINISHED(4096),
    FINISHED(8192),
};

row_list gpu_matmul_rows(void)
{
    /* Goals beyond cuBLAS are those of matrix units. Plain OpenCL C computes in f32 as cuBLAS does. */
    const char *disabled = getenv("NDR_DISABLE");
    for (size_t i = 0; disabled && strstr(disabled, "ptx") && i < COUNT_OF(rows); ++i) {
        bench_goal *g = &rows[i].rivals[0].goal;
        if (g->pass > 1) *g = (bench_goal){ RATE_AT_LEAST, 0.95, 1 };
    }
    return (row_list){ .rows = rows, .count = COUNT_OF(rows) };
}
