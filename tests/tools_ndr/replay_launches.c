/* replay_launches.c - launches for test_replay.sh, which sets NDR_DUMP: `replay_launches WHICH`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/opencl.h"
#include "ndr/ndr.h"
#include "ndr/ndr_image.h"

#define TRY(call)                                                      \
    do {                                                               \
        if (call) return fprintf(stderr, "%s\n", ndr_last_error()), 1; \
    } while (0)

enum { N = 1000 };

static const char source[] =
    "#include <ndr/nd_item.clh>\n"
    "#include <ndr/item.clh>\n"
    "#include <ndr/reduction.clh>\n"
    "typedef struct line { float factor, addend; } line;\n"
    "kernel void shift(global const float *x, global float *y, int by, NDR_RANGE(1))\n"
    "{\n"
    "    const size_t i = ndr_global_id(NDR_ITEM(1), 0);\n"
    "    y[i + by] = x[i];\n"
    "}\n"
    "kernel void shift_rows(global const float *x, global float *y, int by, NDR_ND_RANGE(2))\n"
    "{\n"
    "    const ndr_nd_item it = NDR_ND_ITEM(2);\n"
    "    const size_t row = ndr_global_id(it, 0), col = ndr_global_id(it, 1);\n"
    "    if (row > 4 && col > 9) y[row * 20 + col + by] = 1;\n"
    "}\n"
    "kernel void apply(global const float *x, global float *y, line f, local float *t, global const float *none,\n"
    "                  NDR_ND_RANGE(1))\n"
    "{\n"
    "    const ndr_nd_item it = NDR_ND_ITEM(1);\n"
    "    const size_t i = ndr_global_id(it, 0);\n"
    "    t[ndr_local_linear_id(it)] = x[i];\n"
    "    y[i] = none ? 0 : f.factor * t[ndr_local_linear_id(it)] + f.addend;\n"
    "}\n"
    "kernel void far(global float *y, ulong at) { y[get_global_id(0) < 70 ? 0 : at] = 1; }\n"
    "kernel void look_at(global const float *x, NDR_REDUCTION(1, (SUM, int, sum), (MIN, float, least)))\n"
    "{\n"
    "    NDR_REDUCE(i, 1, sum, least) {\n"
    "        NDR_COMBINE(sum, (int)x[ndr_global_id(i, 0)]);\n"
    "        NDR_COMBINE(least, -x[ndr_global_id(i, 0)]);\n"
    "    }\n"
    "}\n"
    "kernel void wait(global uint *y, ulong turns)\n"
    "{\n"
    "    uint v = 1;\n"
    "    for (ulong i = 0; i < turns; ++i) v ^= v << 13, v ^= v >> 17, v ^= v << 5;\n"
    "    y[0] = v;\n"
    "}\n"
    "kernel void width(read_only image2d_t image, global int *y) { y[0] = get_image_width(image); }\n";

static ndr_context *context;
static ndr_queue *queue;
static ndr_buffer *x, *y;

static ndr_kernel *kernel(const char *name)
{
    ndr_kernel *found = NULL;
    if (ndr_kernel_get(context, &(ndr_kernel_desc){ .name = name, .source = source }, &found) != NDR_OK)
        fprintf(stderr, "%s\n", ndr_last_error());
    return found;
}

static int out_of_bounds(void)
{
    const ndr_status status = ndr_launch(queue, kernel("shift"), ndr_range_1d(N), x, y, 100);
    return status == NDR_OUT_OF_BOUNDS ? 0 : 1;
}

static int out_of_bounds_in_rows(void)
{
    ndr_buffer *rows;
    TRY(ndr_buffer_create(context, 200 * sizeof(float), &rows));
    const ndr_status status = ndr_launch(queue, kernel("shift_rows"), ndr_nd_range_2d(8, 16, 2, 4), x, rows, 70);
    ndr_buffer_destroy(rows);
    return status == NDR_OUT_OF_BOUNDS ? 0 : 1;
}

static int success(void)
{
    typedef struct line {
        float factor, addend;
    } line;
    const line f = { 2, 1 };
    TRY(ndr_launch(queue, kernel("apply"), ndr_nd_range_1d(N, 4), x, y, ndr_struct(line, f), ndr_local(float, 4),
                   ndr_null));
    return 0;
}

static cl_int CL_API_CALL refuse(cl_command_queue q, cl_kernel k, cl_uint dims, const size_t *offset,
                                 const size_t *global, const size_t *local, cl_uint count, const cl_event *waits,
                                 cl_event *made)
{
    (void)q, (void)k, (void)dims, (void)offset, (void)global, (void)local, (void)count, (void)waits, (void)made;
    return CL_OUT_OF_RESOURCES;
}

static int refused_by(int by)
{
    ndr_kernel *const shift = kernel("shift");
    ndr_cl.clEnqueueNDRangeKernel = refuse;
    return ndr_launch(queue, shift, ndr_range_1d(N), x, y, by) == NDR_DRIVER_ERROR ? 0 : 1;
}

static int refused(void) { return refused_by(0); }
static int refused_and_wrong(void) { return refused_by(1); }

/* It would take a minute or more. */
static int slow(void)
{
    ndr_kernel *const wait = kernel("wait");
    const uint64_t turns = UINT64_C(1) << 36;
    ndr_cl.clEnqueueNDRangeKernel = refuse;
    return ndr_launch(queue, wait, ndr_range_1d(1), y, turns) == NDR_DRIVER_ERROR ? 0 : 1;
}

/* Ends the process on CPUs. */
static int crash(void)
{
    const size_t at = SIZE_MAX / 32;
    TRY(ndr_launch(queue, kernel("far"), ndr_range_1d(100), y, at));
    TRY(ndr_queue_finish(queue));
    return 0;
}

static int image(void)
{
    ndr_image *made;
    const ndr_image_desc desc = { .size = ndr_range_2d(4, 4), .format = { NDR_CHANNELS_RGBA, NDR_CHANNEL_F32 } };
    TRY(ndr_image_create(context, &desc, &made));
    TRY(ndr_launch(queue, kernel("width"), ndr_range_1d(1), made, y));
    ndr_image_destroy(made);
    return 0;
}

static int reduce(void)
{
    TRY(ndr_reduce(queue,
                   &(ndr_reduce_desc){
                       .dtype = NDR_DTYPE_F32, .op = NDR_OP_SUM, .input = { x, 0 }, .count = N, .output = { y, 0 } },
                   NULL));
    return 0;
}

static int reducers(void)
{
    TRY(ndr_launch(queue, kernel("look_at"), ndr_range_1d(N), x, ndr_reducer(NDR_OP_SUM, -7, y, 500),
                   ndr_reducer(NDR_OP_MIN, 1.0f, y, 3)));
    return 0;
}

/* Of a prepared launch, over parts of one buffer. */
static int views(void)
{
    enum { PART = 500 };
    typedef struct line {
        float factor, addend;
    } line;
    const line f = { 2, 1 };
    ndr_buffer *whole, *first, *second;
    ndr_prepared *prepared;
    float host[1024 + PART];
    for (int i = 0; i < 1024 + PART; ++i) host[i] = (float)i;
    TRY(ndr_buffer_create_from(context, sizeof host, host, &whole));
    TRY(ndr_buffer_create_view(whole, 0, PART * sizeof(float), &first));
    TRY(ndr_buffer_create_view(whole, 1024 * sizeof(float), PART * sizeof(float), &second));
    TRY(ndr_prepare(kernel("apply"), &prepared, ndr_nd_range_1d(PART, 4), first, second, ndr_struct(line, f),
                    ndr_local(float, 4), ndr_null));
    TRY(ndr_prepared_run(queue, prepared, NULL));
    ndr_prepared_destroy(prepared);
    ndr_buffer_destroy(first);
    ndr_buffer_destroy(second);
    ndr_buffer_destroy(whole);
    return 0;
}

static int run(const char *which)
{
    static const struct {
        const char *name;
        int (*run)(void);
    } all[] = { { "out_of_bounds", out_of_bounds },
                { "rows", out_of_bounds_in_rows },
                { "success", success },
                { "refused", refused },
                { "crash", crash },
                { "image", image },
                { "reduce", reduce },
                { "refused_and_wrong", refused_and_wrong },
                { "slow", slow },
                { "reducers", reducers },
                { "views", views } };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i)
        if (strcmp(which, all[i].name) == 0) return all[i].run();
    return 2;
}

int main(int argc, char **argv)
{
    float host[N];
    for (int i = 0; i < N; ++i) host[i] = (float)i;
    TRY(ndr_context_create(NULL, &context));
    TRY(ndr_queue_create(context, NULL, &queue));
    TRY(ndr_buffer_create_from(context, sizeof host, host, &x));
    TRY(ndr_buffer_create_from(context, sizeof host, host, &y));
    const int code = run(argc > 1 ? argv[1] : "");
    ndr_buffer_destroy(x);
    ndr_buffer_destroy(y);
    ndr_queue_destroy(queue);
    ndr_context_destroy(context);
    return code;
}
