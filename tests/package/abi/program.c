/* program.c - every function whose struct may grow, called with structs that end where the memory does: a library that
 * reads or writes past the program's own sizes crashes it.
 *
 * Compiled twice. With the headers of 0.2.0, it runs with a library that has these sizes and with one whose structs are
 * larger. With larger structs (NDR_MAY_GROW), it runs with a library that has fewer members. */
#include <ndr/ndr.h>
#include <ndr/ndr_image.h>
#include <ndr/ndr_shared.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void fail(int line, const char *what)
{
    fprintf(stderr, "line %d: %s: %s\n", line, what, ndr_last_error());
    exit(1);
}

#define MUST(call)                                  \
    do {                                            \
        if ((call) != NDR_OK) fail(__LINE__, #call); \
    } while (0)
#define HOLDS(condition)                                 \
    do {                                                 \
        if (!(condition)) fail(__LINE__, "not: " #condition); \
    } while (0)

/* Zeroed memory that ends where the accessible memory does; never freed. */
static void *at_end(size_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), room = (bytes + page - 1) / page * page;
    char *pages = mmap(NULL, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED || mprotect(pages + room, page, PROT_NONE) != 0) {
        perror("mmap");
        exit(1);
    }
    return pages + room - bytes;
}

static const void *copy_of(const void *value, size_t bytes) { return memcpy(at_end(bytes), value, bytes); }

/* A descriptor, and the address of an array that the library fills in. */
#define DESC(type, ...) ((const type *)copy_of(&(const type){ __VA_ARGS__ }, sizeof(type)))
#define OUT(type, count) ((type *)memset(at_end((count) * sizeof(type)), 0xab, (count) * sizeof(type)))

static int tables, reports;

static void keep_table(const char *text, void *user)
{
    (void)user;
    tables += text[0] != 0;
}

static void keep_progress(const ndr_warm_progress *progress, void *user)
{
    (void)user;
    reports += progress->status == NDR_OK && progress->count == 3;
}

static const char scale[] = "kernel void scale(global float *x, float by) { x[get_global_id(0)] *= by; }";

static ndr_context *open_context(void)
{
    ndr_context *context;
    size_t count;
    ndr_device_info *infos = OUT(ndr_device_info, 1), *info = OUT(ndr_device_info, 1);
    MUST(ndr_device_list(0, NULL, &count));
    HOLDS(count >= 1);
    MUST(ndr_device_list(1, infos, &count));
    HOLDS(infos->name[0] && infos->max_group_size);
    MUST(ndr_trace_start(DESC(ndr_trace_desc, .has_table = true, .callback = keep_table)));
    MUST(ndr_context_create_with(DESC(ndr_context_desc, .check = NDR_CHECK_OFF), &context));
    MUST(ndr_context_get_device(context, info));
    HOLDS(info->name[0] && info->compute_units);
    MUST(ndr_context_get_cache(context, OUT(ndr_cache_info, 1)));
    return context;
}

static void run_kernel(ndr_context *context, ndr_queue *queue)
{
    const float start[4] = { 1, 2, 3, 4 };
    float got[4];
    ndr_buffer *x;
    ndr_kernel *kernel;
    ndr_event *done;
    ndr_kernel_info *info = OUT(ndr_kernel_info, 1);
    ndr_sub_group_info *sub_groups = OUT(ndr_sub_group_info, 1);
    ndr_event_times *times = OUT(ndr_event_times, 1);
    const ndr_range local = ndr_range_1d(4);
    MUST(ndr_buffer_create_with(context, DESC(ndr_buffer_desc, .size_bytes = sizeof start, .contents = start), &x));
    MUST(ndr_kernel_get(context, DESC(ndr_kernel_desc, .name = "scale", .source = scale), &kernel));
    MUST(ndr_kernel_get_info(kernel, info));
    HOLDS(info->arg_count == 2);
    MUST(ndr_kernel_get_sub_groups(kernel, &local, sub_groups));
    HOLDS(sub_groups->count >= 1);
    MUST(ndr_launch_event(queue, kernel, &done, ndr_range_1d(4), x, 2.0f));
    MUST(ndr_buffer_read(ndr_after(queue, done), x, 0, sizeof got, got, NULL));
    HOLDS(got[0] == 2 && got[3] == 8);
    MUST(ndr_event_get_times(done, times));
    HOLDS(times->ended_ns >= times->queued_ns);
    ndr_event_destroy(done);
    ndr_buffer_destroy(x);
}

static void run_operations(ndr_context *context, ndr_queue *queue)
{
    const float ones[16] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
    ndr_buffer *a, *b, *sum;
    float got;
    MUST(ndr_buffer_create_from(context, sizeof ones, ones, &a));
    MUST(ndr_buffer_create(context, sizeof ones, &b));
    MUST(ndr_buffer_create(context, sizeof got, &sum));
    const ndr_matrix square = { .buffer = a, .rows = 4, .cols = 4 }, product = { .buffer = b, .rows = 4, .cols = 4 };
    const ndr_matmul_desc *matmul =
        DESC(ndr_matmul_desc, .dtype = NDR_DTYPE_F32, .a = square, .b = square, .c = product);
    const ndr_reduce_desc *reduce = DESC(ndr_reduce_desc, .dtype = NDR_DTYPE_F32, .op = NDR_OP_SUM,
                                         .input = { .buffer = b }, .count = 16, .output = { .buffer = sum });
    MUST(ndr_matmul(queue, matmul, NULL));
    MUST(ndr_reduce(queue, reduce, NULL));
    MUST(ndr_buffer_read(queue, sum, 0, sizeof got, &got, NULL));
    HOLDS(got == 64);
    const ndr_kernel_desc *kernel = DESC(ndr_kernel_desc, .name = "scale", .source = scale);
    ndr_warm_desc *warm = OUT(ndr_warm_desc, 3);
    warm[0] = (ndr_warm_desc){ .kernel = kernel };
    warm[1] = (ndr_warm_desc){ .reduce = reduce };
    warm[2] = (ndr_warm_desc){ .matmul = matmul };
    MUST(ndr_cache_warm(context, warm, 3, keep_progress, NULL));
    HOLDS(reports == 3);
    ndr_tune_result *result = OUT(ndr_tune_result, 1);
    MUST(ndr_tune(context, DESC(ndr_tune_desc, .dtype = NDR_DTYPE_F32, .m = 8, .n = 8, .k = 8, .max_seconds = 0.001),
                  result));
    HOLDS(result->row[0] && result->seconds > 0);
    ndr_buffer_destroy(a);
    ndr_buffer_destroy(b);
    ndr_buffer_destroy(sum);
}

static void make_the_rest(ndr_context *context)
{
    ndr_image *image;
    ndr_sampler *sampler;
    size_t count;
    ndr_shared_info *shared = OUT(ndr_shared_info, 1);
    const ndr_image_desc *plane = DESC(ndr_image_desc, .format = { NDR_CHANNELS_RGBA, NDR_CHANNEL_F32 },
                                       .size = ndr_range_2d(4, 4));
    MUST(ndr_image_list_formats(context, plane, 0, NULL, &count));
    MUST(ndr_image_create(context, plane, &image));
    MUST(ndr_sampler_create(context, DESC(ndr_sampler_desc, .is_linear = true), &sampler));
    MUST(ndr_shared_get_info(context, NDR_SHARED_ANY, shared));
    ndr_image_destroy(image);
    ndr_sampler_destroy(sampler);
}

#ifdef HAS_GROWN
/* The library lacks `grown`: it refuses a descriptor that sets it, and fills it in with zeros. */
static void be_newer(ndr_context *context)
{
    ndr_queue *queue = NULL;
    ndr_kernel *kernel = NULL;
    ndr_warm_desc warm = { .kernel = DESC(ndr_kernel_desc, .name = "scale", .source = scale, .grown = { 0, 1 }) };
    ndr_device_info *infos = OUT(ndr_device_info, 3);
    size_t count;
    const unsigned long long zeros[9] = { 0 };
    HOLDS(ndr_queue_create(context, DESC(ndr_queue_desc, .grown = { 0, 0, 1 }), &queue) == NDR_UNSUPPORTED && !queue);
    HOLDS(strstr(ndr_last_error(), "ndr_queue_create: the descriptor sets a member at byte "));
    HOLDS(strstr(ndr_last_error(), "but libndr " NDR_VERSION_STRING " knows only its first "));
    HOLDS(ndr_kernel_get(context, warm.kernel, &kernel) == NDR_UNSUPPORTED && !kernel);
    HOLDS(ndr_cache_warm(context, &warm, 1, NULL, NULL) == NDR_UNSUPPORTED);
    warm = (ndr_warm_desc){ .grown = { 1 } };
    HOLDS(ndr_cache_warm(context, &warm, 1, NULL, NULL) == NDR_UNSUPPORTED);
    MUST(ndr_device_list(3, infos, &count));
    for (size_t i = 0; i < count && i < 3; ++i)
        HOLDS(infos[i].name[0] && memcmp(infos[i].grown, zeros, sizeof zeros) == 0);
    ndr_quirk_info *rows = OUT(ndr_quirk_info, 3);
    MUST(ndr_context_get_quirks(context, 3, rows, &count));
    for (size_t i = 0; i < 3; ++i) HOLDS(rows[i].id[0] && memcmp(rows[i].grown, zeros, sizeof zeros) == 0);
}
#endif

int main(void)
{
    ndr_queue *queue, *plain;
    char store[4096];
    HOLDS(getcwd(store, sizeof store - 8) && strcat(store, "/store") && setenv("NDR_CACHE", store, 1) == 0);
    ndr_context *context = open_context();
    MUST(ndr_queue_create(context, NULL, &plain));
    MUST(ndr_queue_create(context, DESC(ndr_queue_desc, .is_profiling = true), &queue));
    run_kernel(context, queue);
    run_operations(context, plain);
    make_the_rest(context);
#ifdef HAS_GROWN
    be_newer(context);
#endif
    ndr_queue_destroy(queue);
    ndr_queue_destroy(plain);
    ndr_context_destroy(context);
    HOLDS(tables == 1);
    printf("sizeof ndr_device_info here: %zu\n", sizeof(ndr_device_info));
    return 0;
}
