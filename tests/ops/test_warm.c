/* test_warm.c - ndr_cache_warm(): what it was given is in the store afterwards, and what cannot be is named. */
#include "support.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "files.h"
#include "device/context.h"
#include "ops/warm.h"

enum { PROGRAMS = 4, KERNELS = 2 * PROGRAMS, MOST = 16 };

/* Four programs of two kernels each. */
static const char source[] = "kernel void one(global int *x) { x[get_global_id(0)] += STEP; }\n"
                             "kernel void two(global int *x) { x[get_global_id(0)] += 2 * STEP; }\n";
static const char *const steps[] = { "-DSTEP=1", "-DSTEP=10", "-DSTEP=100", "-DSTEP=1000" };

static char folder[1024];
static ndr_context *made;

static ndr_kernel_desc desc_of(size_t i)
{
    return (ndr_kernel_desc){ .name = i / PROGRAMS ? "two" : "one", .source = source, .options = steps[i % PROGRAMS] };
}

static ndr_kernel_desc kernels[KERNELS];

static void fill_descs(ndr_warm_desc descs[KERNELS])
{
    for (size_t i = 0; i < KERNELS; ++i) {
        kernels[i] = desc_of(i);
        descs[i] = (ndr_warm_desc){ .kernel = &kernels[i] };
    }
}

/* Without PTX: probing for it would add an entry. */
static void open_made(void)
{
    assert_ok(ndr_context_create(NULL, &made));
    made->caps.info.warp_size = 0;
}

static int begin(void **state)
{
    remove_folder(folder);
    set_env("NDR_CACHE", folder);
    open_made();
    return 0;
}

/* As the device is: its rows of operations may take PTX. */
static int begin_with_ptx(void **state)
{
    if (begin(state) != 0) return -1;
    ndr_context_destroy(made);
    assert_ok(ndr_context_create(NULL, &made));
    return 0;
}

static int end(void **state)
{
    ndr_context_destroy(made);
    restore_env();
    return 0;
}

/* ---- progress ---- */

typedef struct record {
    size_t calls, count;
    unsigned seen[MOST];
    ndr_status statuses[MOST];
    char errors[MOST][200];
    atomic_uint inside;
    bool overlapped, is_out_of_step;
} record;

static void note(const ndr_warm_progress *progress, void *user)
{
    record *r = user;
    r->overlapped |= atomic_fetch_add(&r->inside, 1) > 0;
    for (int i = 0; i < 2000; ++i) sched_yield(); /* time for another thread to come */
    r->is_out_of_step |= progress->done != ++r->calls;
    r->count = progress->count;
    ++r->seen[progress->index];
    r->statuses[progress->index] = progress->status;
    snprintf(r->errors[progress->index], sizeof r->errors[0], "%s", progress->error);
    atomic_fetch_sub(&r->inside, 1);
}

static void assert_one_call_each(const record *r, size_t count)
{
    assert_int_equal(r->calls, count);
    assert_int_equal(r->count, count);
    for (size_t i = 0; i < count; ++i) assert_int_equal(r->seen[i], 1);
    assert_false(r->overlapped);
    assert_false(r->is_out_of_step);
}

/* ---- tests ---- */

static void test_warm__makes_later_requests_hits(void **state)
{
    ndr_warm_desc descs[KERNELS];
    ndr_cache_info info;
    record progress = { 0 };
    fill_descs(descs);
    assert_ok(ndr_cache_warm(made, descs, KERNELS, note, &progress));
    assert_one_call_each(&progress, KERNELS);
    for (size_t i = 0; i < KERNELS; ++i) {
        assert_int_equal(progress.statuses[i], NDR_OK);
        assert_string_equal(progress.errors[i], "");
    }
    assert_int_equal(count_files(folder, NULL, 0), PROGRAMS); /* now, not when a context ends */
    for (size_t i = 0; i < KERNELS; ++i) {
        ndr_kernel *kernel;
        assert_ok(ndr_kernel_get(made, &kernels[i], &kernel));
    }
    assert_ok(ndr_context_get_cache(made, &info));
    assert_int_equal(info.hits, PROGRAMS);
    assert_int_equal(info.misses, 0);

    memset(&progress, 0, sizeof progress);
    assert_ok(ndr_cache_warm(made, descs, KERNELS, note, &progress)); /* again, from the store */
    assert_one_call_each(&progress, KERNELS);
    assert_ok(ndr_cache_warm(made, descs, 1, NULL, NULL));
}

static void test_warm__keeps_a_kernel_that_computes_the_same(void **state)
{
    const ndr_kernel_desc desc = desc_of(KERNELS - 1);
    const ndr_warm_desc warm = { .kernel = &desc };
    int value = 5;
    ndr_queue *line;
    ndr_kernel *kernel;
    ndr_buffer *buffer;
    assert_ok(ndr_cache_warm(made, &warm, 1, NULL, NULL));
    assert_ok(ndr_queue_create(made, NULL, &line));
    assert_ok(ndr_buffer_create_from(made, sizeof value, &value, &buffer));
    assert_ok(ndr_kernel_get(made, &desc, &kernel));
    assert_ok(ndr_launch(line, kernel, ndr_range_1d(1), buffer));
    assert_ok(ndr_buffer_read(line, buffer, 0, sizeof value, &value, NULL));
    assert_int_equal(value, 2005);
    ndr_buffer_destroy(buffer);
    ndr_queue_destroy(line);
}

static void test_warm__names_the_first_that_fails_and_keeps_the_others(void **state)
{
    ndr_warm_desc descs[KERNELS];
    record progress = { 0 };
    fill_descs(descs);
    kernels[2].source = "kernel void one(global int *x) { x[0] = nowhere; }\n";
    kernels[5].name = "three";
    kernels[6].name = "";
    assert_refused(NDR_BUILD_FAILED, ndr_cache_warm(made, descs, KERNELS, note, &progress),
                   "ndr_cache_warm: 3 of 8 elements are not in the store; the first, descs[2]: ", "nowhere");
    assert_one_call_each(&progress, KERNELS);
    assert_int_equal(progress.statuses[2], NDR_BUILD_FAILED);
    assert_int_equal(progress.statuses[5], NDR_NOT_FOUND);
    assert_int_equal(progress.statuses[6], NDR_BAD_ARGUMENT);
    assert_non_null(strstr(progress.errors[5], "no kernel called \"three\"; it has "));
    assert_non_null(strstr(progress.errors[6], "desc->name is not set"));
    for (size_t i = 0; i < KERNELS; ++i)
        if (i != 2 && i != 5 && i != 6) assert_int_equal(progress.statuses[i], NDR_OK);
    assert_int_equal(count_files(folder, NULL, 0), PROGRAMS - 1); /* nothing of the program with the step 100 is built */
}

static void test_warm__keeps_a_program_without_the_name_of_a_kernel(void **state)
{
    ndr_cache_info info;
    ndr_kernel *kernel;
    ndr_kernel_desc desc = desc_of(0);
    desc.name = NULL;
    assert_ok(ndr_cache_warm(made, &(ndr_warm_desc){ .kernel = &desc }, 1, NULL, NULL));
    assert_int_equal(count_files(folder, NULL, 0), 1);
    desc = desc_of(PROGRAMS); /* the other kernel */
    assert_ok(ndr_kernel_get(made, &desc, &kernel));
    assert_ok(ndr_context_get_cache(made, &info));
    assert_int_equal(info.hits, 1);
    assert_int_equal(info.misses, 0);
}

static void test_warm__refuses_a_program_without_kernels(void **state)
{
    const ndr_kernel_desc desc = { .source = "int one(int x) { return x + 1; }\n" };
    assert_refused(NDR_NOT_FOUND, ndr_cache_warm(made, &(ndr_warm_desc){ .kernel = &desc }, 1, NULL, NULL),
                   "descs[0]: \"source\" has no kernel");
}

static void test_warm__needs_a_store(void **state)
{
    const ndr_kernel_desc kernel = desc_of(0);
    const ndr_warm_desc desc = { .kernel = &kernel };
    record progress = { 0 };
    ndr_context_destroy(made);
    setenv("NDR_CACHE", "off", 1);
    open_made();
    assert_refused(NDR_NOT_KEPT, ndr_cache_warm(made, &desc, 1, note, &progress),
                   "ndr_cache_warm: this context has no store to put kernels into; unset NDR_CACHE");
    assert_int_equal(progress.calls, 0);
}

/* A file where the folder should be: a user who may write everywhere cannot write there either. */
static void test_warm__says_what_the_store_does_not_take(void **state)
{
    const ndr_kernel_desc kernel = desc_of(0);
    const ndr_warm_desc desc = { .kernel = &kernel };
    record progress = { 0 };
    write_file(folder, "");
    assert_refused(NDR_NOT_KEPT, ndr_cache_warm(made, &desc, 1, note, &progress),
                   "1 of 1 elements are not in the store; the first, descs[0]: \"source\" is built, but it is not in "
                   "the store \"");
    assert_int_equal(progress.statuses[0], NDR_NOT_KEPT);
}

static __typeof__(clGetProgramInfo) *real_info;

static cl_int CL_API_CALL fail_at_binary(cl_program p, cl_program_info what, size_t bytes, void *value, size_t *needed)
{
    return what == CL_PROGRAM_BINARIES ? CL_OUT_OF_RESOURCES : real_info(p, what, bytes, value, needed);
}

/* Two kernels of one program: the driver is asked once. */
static void test_warm__passes_on_the_driver_s_call_and_code(void **state)
{
    const ndr_kernel_desc one = desc_of(0), two = desc_of(PROGRAMS);
    const ndr_warm_desc descs[] = { { .kernel = &one }, { .kernel = &two } };
    record progress = { 0 };
    real_info = ndr_cl.clGetProgramInfo;
    ndr_cl.clGetProgramInfo = fail_at_binary;
    const ndr_status status = ndr_cache_warm(made, descs, 2, note, &progress);
    ndr_cl.clGetProgramInfo = real_info;
    assert_refused(NDR_NOT_KEPT, status, "2 of 2 elements are not in the store; the first, descs[0]: \"source\" is built",
                   "\": clGetProgramInfo gave CL_OUT_OF_RESOURCES (-5)");
    assert_int_equal(ndr_last_cl_error(), CL_OUT_OF_RESOURCES);
    assert_non_null(strstr(progress.errors[1], "clGetProgramInfo gave CL_OUT_OF_RESOURCES"));
}

static void test_warm__passes_on_the_log_of_a_build(void **state)
{
    const ndr_kernel_desc wrong = { .name = "one", .source = "kernel void one(global int *x) { x[0] = nowhere; }\n" };
    const ndr_warm_desc descs[] = { { .kernel = &wrong } };
    assert_refused(NDR_BUILD_FAILED, ndr_cache_warm(made, descs, 1, NULL, NULL), "1 of 1 elements", "nowhere");
    assert_non_null(strstr(ndr_last_build_log(), "nowhere"));
    assert_null(strstr(ndr_last_build_log(), "elements"));
    assert_int_not_equal(ndr_last_cl_error(), 0);
}

static void test_warm__refuses_what_is_missing_and_takes_nothing(void **state)
{
    const ndr_kernel_desc kernel = desc_of(0);
    const ndr_warm_desc desc = { .kernel = &kernel };
    assert_refused(NDR_BAD_ARGUMENT, ndr_cache_warm(NULL, &desc, 1, NULL, NULL), "ndr_cache_warm: context is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_cache_warm(made, NULL, 1, NULL, NULL),
                   "ndr_cache_warm: descs is NULL, but count is 1");
    assert_ok(ndr_cache_warm(made, NULL, 0, NULL, NULL));
}

static void test_warm__takes_the_kernels_of_operations(void **state)
{
    ndr_cache_info info;
    const ndr_reduce_desc sum = { .dtype = NDR_DTYPE_I32, .op = NDR_OP_SUM, .count = 100000 };
    const ndr_matrix square = { .rows = 40, .cols = 40 };
    const ndr_matmul_desc product = { .dtype = NDR_DTYPE_F32, .a = square, .b = square, .c = square };
    const ndr_warm_desc descs[] = { { .reduce = &sum }, { .matmul = &product } };
    assert_ok(ndr_cache_warm(made, descs, 2, NULL, NULL));

    float values[1600] = { 1 };
    ndr_queue *line;
    ndr_buffer *a, *c;
    assert_ok(ndr_queue_create(made, NULL, &line));
    assert_ok(ndr_buffer_create(made, 400000, &a));
    assert_ok(ndr_buffer_create_from(made, sizeof values, values, &c));
    ndr_reduce_desc full_sum = sum;
    full_sum.input.buffer = a;
    full_sum.output.buffer = c;
    ndr_matmul_desc full_product = product;
    full_product.a.buffer = full_product.b.buffer = a;
    full_product.c.buffer = c;
    assert_ok(ndr_reduce(line, &full_sum, NULL));
    assert_ok(ndr_matmul(line, &full_product, NULL));
    assert_ok(ndr_queue_finish(line));
    assert_ok(ndr_context_get_cache(made, &info));
    assert_int_equal(info.misses, 0);
    assert_true(info.hits >= 2); /* and the probe of the CPU's cores */
    destroy_buffers(a, c);
    ndr_queue_destroy(line);
}

static void test_warm__refuses_an_element_that_is_not_one_thing(void **state)
{
    const ndr_kernel_desc kernel = desc_of(0);
    const ndr_reduce_desc typeless = { .op = NDR_OP_SUM };
    const ndr_matmul_desc empty = { .dtype = NDR_DTYPE_F32 };
    const ndr_matrix tall = { .rows = SIZE_MAX / 16 + 1, .cols = 32 }, small = { .rows = 32, .cols = 32 };
    const ndr_matmul_desc huge = { .dtype = NDR_DTYPE_F32, .a = tall, .b = small, .c = tall };
    const ndr_warm_desc descs[] = { { 0 },
                                    { .kernel = &kernel, .matmul = &empty },
                                    { .reduce = &typeless },
                                    { .matmul = &empty },
                                    { .matmul = &huge } };
    record progress = { 0 };
    assert_refused(NDR_BAD_ARGUMENT, ndr_cache_warm(made, descs, 5, note, &progress), "5 of 5 elements", "descs[0]: none of kernel");
    assert_one_call_each(&progress, 5);
    assert_non_null(strstr(progress.errors[1], "more than one of kernel, reduce and matmul is set; set exactly one"));
    assert_non_null(strstr(progress.errors[2], "ndr_reduce: dtype is not set"));
    assert_non_null(strstr(progress.errors[3], "c is 0 x 0; a product without elements runs no kernel"));
    assert_non_null(strstr(progress.errors[4], "ndr_cache_warm: a product of "));
    assert_non_null(strstr(progress.errors[4], " x 32 x 32 exceeds the address space"));
}

static ndr_warm_desc all[KERNELS];

static void *warm_all(void *failed)
{
    if (ndr_cache_warm(made, all, KERNELS, NULL, NULL) != NDR_OK) *(bool *)failed = true;
    return NULL;
}

static void test_warm__may_run_twice_at_once(void **state)
{
    pthread_t threads[2];
    bool failed[2] = { false, false };
    fill_descs(all);
    for (int i = 0; i < 2; ++i) assert_int_equal(pthread_create(&threads[i], NULL, warm_all, &failed[i]), 0);
    for (int i = 0; i < 2; ++i) assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_false(failed[0] || failed[1]);
    assert_int_equal(count_files(folder, NULL, 0), PROGRAMS);
}

static int open_all(void **state)
{
    if (open_device(state) != 0 || !getcwd(folder, sizeof folder - 16)) return -1;
    strcat(folder, "/warm");
    return 0;
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_warm__makes_later_requests_hits),
        CASE(test_warm__keeps_a_kernel_that_computes_the_same),
        CASE(test_warm__names_the_first_that_fails_and_keeps_the_others),
        CASE(test_warm__keeps_a_program_without_the_name_of_a_kernel),
        CASE(test_warm__refuses_a_program_without_kernels),
        CASE(test_warm__needs_a_store),
        CASE(test_warm__says_what_the_store_does_not_take),
        CASE(test_warm__passes_on_the_driver_s_call_and_code),
        CASE(test_warm__passes_on_the_log_of_a_build),
        CASE(test_warm__refuses_what_is_missing_and_takes_nothing),
        cmocka_unit_test_setup_teardown(test_warm__takes_the_kernels_of_operations, begin_with_ptx, end),
        CASE(test_warm__refuses_an_element_that_is_not_one_thing),
        CASE(test_warm__may_run_twice_at_once),
    };
    return cmocka_run_group_tests(tests, open_all, close_device);
}
