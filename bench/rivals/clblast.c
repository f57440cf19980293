/* clblast.c - CLBlast: products and sums, with its default parameters or those that its own tuner found best.
 *
 *   clblast_tuner_xgemm -precision 32 -m 1024 -n 1024 -k 1024      writes clblast_xgemm_1_32.json (or _2_, _11_, _12_)
 *   bench --clblast clblast_xgemm_1_32.json */
#include "gpu.h"
#include "rival.h"
#include "rows_reduce.h"

#include <clblast_c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- contenders ---- */

static void finish(CLBlastStatusCode code, cl_command_queue queue)
{
    MUST_CL((cl_int)code);
    MUST_CL(clFinish(queue));
}

/* Enqueues the product of matrices that begin `offset` elements after the start of their buffers. */
static void gemm(const matmul *j, cl_mem a, cl_mem b, cl_mem c, size_t offset, cl_command_queue queue)
{
    const matmul_shape *s = &j->of;
    MUST_CL((cl_int)(s->dtype == NDR_DTYPE_F32
                         ? CLBlastSgemm(CLBlastLayoutRowMajor, CLBlastTransposeNo, CLBlastTransposeNo, s->m, s->n, s->k,
                                        (float)s->alpha, a, offset, j->a_pitch, b, offset, j->b_pitch, (float)s->beta,
                                        c, offset, j->c_pitch, &queue, NULL)
                         : CLBlastDgemm(CLBlastLayoutRowMajor, CLBlastTransposeNo, CLBlastTransposeNo, s->m, s->n, s->k,
                                        s->alpha, a, offset, j->a_pitch, b, offset, j->b_pitch, s->beta, c, offset,
                                        j->c_pitch, &queue, NULL)));
}

static void run_gemm(void *job)
{
    const matmul *j = job;
    cl_command_queue queue = ndr_queue_cl(the_queue);
    gemm(j, ndr_buffer_cl(j->a.buffer), ndr_buffer_cl(j->b.buffer), ndr_buffer_cl(j->c.buffer), 0, queue);
    MUST_CL(clFinish(queue));
}

static void run_sum(void *job)
{
    reduction *j = job;
    cl_command_queue queue = ndr_queue_cl(the_queue);
    const cl_mem input = ndr_buffer_cl(j->input.buffer), output = ndr_buffer_cl(j->output.buffer);
    finish(j->of.dtype == NDR_DTYPE_F32 ? CLBlastSsum(j->of.count, output, 0, input, take_offset(j), 1, &queue, NULL)
                                        : CLBlastDsum(j->of.count, output, 0, input, take_offset(j), 1, &queue, NULL),
           queue);
}

/* ---- on a GPU, on libndr's operands ---- */

static void gemm_on_gpu(const gpu_matmul *j, ndr_queue *queue)
{
    gemm(&j->on_host, ndr_buffer_cl(j->a), ndr_buffer_cl(j->b), ndr_buffer_cl(j->c), j->offset, ndr_queue_cl(queue));
}

static void enqueue_on_gpu(void *job) { gemm_on_gpu(job, the_queue); }

static cl_ulong end_of(cl_event marker)
{
    cl_ulong ns;
    MUST_CL(clGetEventProfilingInfo(marker, CL_PROFILING_COMMAND_END, sizeof ns, &ns, NULL));
    MUST_CL(clReleaseEvent(marker));
    return ns;
}

/* Between two markers, because a product is several kernels. */
static double time_one_on_gpu(void *job)
{
    cl_command_queue queue = ndr_queue_cl(gpu_timed_queue());
    cl_event before, after;
    MUST_CL(clEnqueueMarkerWithWaitList(queue, 0, NULL, &before));
    gemm_on_gpu(job, gpu_timed_queue());
    MUST_CL(clEnqueueMarkerWithWaitList(queue, 0, NULL, &after));
    MUST_CL(clFinish(queue));
    const cl_ulong start = end_of(before);
    return (double)(end_of(after) - start) * 1e-9;
}

static double time_on_gpu(void *job)
{
    const gpu_calls calls = {
        NULL, gpu_matmul_reset, enqueue_on_gpu, time_one_on_gpu, gpu_finish, gpu_matmul_download
    };
    return gpu_time(&calls, job, ((gpu_matmul *)job)->back_to_back);
}

/* ---- parameters ---- */

enum { MAX_TEXT = 1 << 20, MAX_PARAMETERS = 64 };

static void fail(const char *what, const char *path)
{
    fprintf(stderr, "bench: %s: %s\n", path, what);
    exit(2);
}

/* The text between the quotes after "key": "..."; ends it with a 0 in `json`. */
static char *field(char *json, const char *key, const char *path)
{
    char *at = strstr(json, key);
    char *open = at ? strchr(at + strlen(key), '"') : NULL;
    char *close = open ? strchr(open + 1, '"') : NULL;
    if (!close) fail("not a file that CLBlast's tuner wrote", path);
    *close = '\0';
    return open + 1;
}

/* "GEMMK=0 KREG=1 ..." */
static void override_with(const char *kernel, char *parameters, CLBlastPrecision precision, const char *path)
{
    const char *names[MAX_PARAMETERS];
    size_t values[MAX_PARAMETERS], count = 0;
    for (char *pair = strtok(parameters, " "); pair && count < MAX_PARAMETERS; pair = strtok(NULL, " ")) {
        char *equals = strchr(pair, '=');
        if (!equals) continue;
        *equals = '\0';
        if (strcmp(pair, "PRECISION") == 0) continue;
        names[count] = pair;
        values[count++] = strtoul(equals + 1, NULL, 10);
    }
    const CLBlastStatusCode code =
        CLBlastOverrideParameters(ndr_context_cl_device(the_context), kernel, precision, count, names, values);
    if (code != CLBlastSuccess) fail("CLBlast refused these parameters", path);
}

static void tune(const char *path)
{
    static char text[MAX_TEXT];
    FILE *file = fopen(path, "r");
    if (!file || fread(text, 1, sizeof text - 1, file) == 0) fail("cannot be read", path);
    fclose(file);
    /* From the last field to the first, because field() ends the text after each. */
    char *parameters = field(text, "\"best_parameters\":", path);
    const long bits = strtol(field(text, "\"precision\":", path), NULL, 10);
    const char *family = field(text, "\"kernel_family\":", path);
    const char *kernel = strncmp(family, "xgemm_direct", 12) == 0 ? "XgemmDirect" : "Xgemm";
    override_with(kernel, parameters, bits == 64 ? CLBlastPrecisionDouble : CLBlastPrecisionSingle, path);
    printf("CLBlast   %s with the parameters of %s\n", kernel, path);
}

/* ---- the rival ---- */

static void describe(void) { printf("as installed, with its default parameters"); }

const rival rival_clblast = {
    .name = "CLBlast",
    .describe = describe,
    .tune = tune,
    .entries = { { &matmul_work, { .name = "CLBlast", .on_device = true, .run = run_gemm } },
                 { &reduce_work, { .name = "CLBlast", .on_device = true, .run = run_sum } },
                 { &gpu_matmul_work, { .name = "CLBlast", .time = time_on_gpu, .leaves_result = true } } },
};
