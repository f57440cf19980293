/* rows_gpu_matmul.c - products on a GPU, beside cuBLAS and CLBlast. */
#include "gpu.h"

#include <stdlib.h>
#include <string.h>

/* ---- operands ---- */

static ndr_buffer *create(const gpu_matmul *j, size_t bytes)
{
    ndr_buffer *buffer;
    MUST(ndr_buffer_create(the_context, bytes + j->offset * j->on_host.element_bytes, &buffer));
    return buffer;
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
    j->a = create(j, matmul_a_bytes(m));
    j->b = create(j, matmul_b_bytes(m));
    j->c = create(j, matmul_c_bytes(m));
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
    const matmul *m = &j->on_host;
    const matmul_shape *s = &m->of;
    const ndr_matmul_desc desc = { .dtype = s->dtype,
                                   .scaling = ndr_scaling_of(s->alpha, s->beta),
                                   .a = { j->a, j->offset, s->m, s->k, m->a_pitch },
                                   .b = { j->b, j->offset, s->k, s->n, m->b_pitch },
                                   .c = { j->c, j->offset, s->m, s->n, m->c_pitch },
                                   .count = m->count,
                                   .a_stride = m->a_stride,
                                   .b_stride = m->b_stride,
                                   .c_stride = m->c_stride,
                                   .accuracy = m->accuracy };
    MUST(ndr_matmul(queue, &desc, event));
}

void gpu_matmul_reset(void *job)
{
    gpu_matmul *j = job;
    const matmul *m = &j->on_host;
    const size_t bytes = matmul_c_bytes(m), offset = j->offset * m->element_bytes;
    if (m->of.beta != 0) MUST(ndr_buffer_write(the_queue, j->c, offset, bytes, m->c_before, NULL));
    else MUST(ndr_buffer_fill(the_queue, j->c, offset, bytes, &(uint32_t){ 0xffffffff }, sizeof(uint32_t), NULL));
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
    MUST(ndr_buffer_read(the_queue, j->c, j->offset * m->element_bytes, matmul_c_bytes(m), m->c.host, NULL));
}

static double time_libndr(void *job)
{
    static const gpu_calls calls = { NULL, gpu_matmul_reset, enqueue, time_one, gpu_finish, gpu_matmul_download };
    return gpu_time(&calls, job, ((gpu_matmul *)job)->back_to_back);
}

const contender gpu_matmul_own[] = { { .name = "libndr", .time = time_libndr, .leaves_result = true }, { 0 } };

/* ---- rows ---- */

#define ROW(name_, back_, dtype_, m_, n_, k_, padding_, offset_, alpha_, beta_, count_, rounds_, pass_, aim_, others_) \
    {                                                                                                                  \
        .name = "gpu: " name_ ROW_END_##back_, .work = &gpu_matmul_work,                                               \
        .amount = 2.0 * (count_) * (m_) * (n_) * (k_), .unit = &teraflops, .max_rounds = rounds_,                      \
        .shape = &(const gpu_matmul_shape){ { dtype_, m_, n_, k_, padding_, alpha_, beta_, count_ },                   \
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
#define AND_NONE
#define AND_TF32
#define AND_CLBLAST                            \
    ,                                          \
    {                                          \
        "CLBlast", { RATE_AT_LEAST, 1.4, 1.4 } \
    }

#define ACCURACY_NONE NDR_ACCURACY_FULL
#define ACCURACY_CLBLAST NDR_ACCURACY_FULL
#define ACCURACY_TF32 NDR_ACCURACY_TF32 /* of cuBLAS, too */

/* One call by events, and calls back to back. */
#define BOTH(...) ROW_(0, __VA_ARGS__), ROW_(1, __VA_ARGS__)
#define ROW_(back, name, ...) ROW(name, back, __VA_ARGS__)
#define SGEMM_ROUNDS(n, rounds, pass, aim) \
    BOTH("sgemm " #n, NDR_DTYPE_F32, n, n, n, 0, 0, 1, 0, 1, rounds, pass, aim, CLBLAST)
#define SGEMM(n, pass, aim) SGEMM_ROUNDS(n, 0, pass, aim)
#define SGEMM_TF32(n, rounds) BOTH("sgemm " #n " at TF32", NDR_DTYPE_F32, n, n, n, 0, 0, 1, 0, 1, rounds, 0.7, 1, TF32)
#define SGEMM_OF(m, n, k) BOTH("sgemm " #m " x " #n " x " #k, NDR_DTYPE_F32, m, n, k, 0, 0, 1, 0, 1, 0, 0.9, 1, NONE)
#define DGEMM_OF(m, n, k) BOTH("dgemm " #m " x " #n " x " #k, NDR_DTYPE_F64, m, n, k, 0, 0, 1, 0, 1, 0, 0.9, 1, NONE)
#define SGEMM_ALL(n) BOTH("sgemm " #n " all four", NDR_DTYPE_F32, n, n, n, 27, 3, 2, 0.5, 1, 0, 0.9, 1, NONE)
#define DGEMM_ROUNDS(n, rounds) BOTH("dgemm " #n, NDR_DTYPE_F64, n, n, n, 0, 0, 1, 0, 1, rounds, 0.9, 1, NONE)
#define DGEMM(n) DGEMM_ROUNDS(n, 0)
#define BATCH(name, dtype, count, n) BOTH(name " " #count " x " #n, dtype, n, n, n, 0, 0, 1, 0, count, 0, 0.9, 1, NONE)
#define SGEMM_BATCH_OF(count, m, n, k) \
    BOTH("sgemm " #count " x (" #m " x " #n " x " #k ")", NDR_DTYPE_F32, m, n, k, 0, 0, 1, 0, count, 0, 0.9, 1, NONE)

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
    SGEMM_ALL(1024),
    SGEMM_ALL(2048),
    BATCH("sgemm", NDR_DTYPE_F32, 1000, 16),
    BATCH("sgemm", NDR_DTYPE_F32, 1000, 32),
    BATCH("sgemm", NDR_DTYPE_F32, 1000, 64),
    SGEMM_BATCH_OF(1000, 63, 65, 67),
    SGEMM_BATCH_OF(1000, 127, 129, 131),
    DGEMM(1024),
    DGEMM(2048),
    DGEMM(4096),
    DGEMM_ROUNDS(8192, 3),
    DGEMM(1000),
    DGEMM(4097),
    DGEMM_OF(4096, 8, 4096),
    DGEMM_OF(8, 4096, 4096),
    DGEMM_OF(7, 4095, 4095),
    DGEMM_OF(8, 16384, 1024),
    DGEMM_OF(1, 4096, 4096),
    BATCH("dgemm", NDR_DTYPE_F64, 1000, 16),
    BATCH("dgemm", NDR_DTYPE_F64, 1000, 32),
    BATCH("dgemm", NDR_DTYPE_F64, 1000, 64),
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
