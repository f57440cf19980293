/* test_binary.c - programs kept on disk: loading gives the same program as compiling. Anything different or damaged
 * makes libndr compile the source. */
#include "driver_faults.h"
#include "files.h"
#include "support.h"

#include "device/cache.h"
#include "device/context.h"
#include "program/program.h"

#include "ndr/ndr_cl.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- contexts with a store of their own ---- */

static char folder[1024];
static ndr_text logged;          /* "id: text\n" */
static unsigned compiled, taken; /* programs created from source, and from a binary */
static __typeof__(clCreateProgramWithSource) *real_source;
static __typeof__(clCreateProgramWithBinary) *real_binary;

static void collect(ndr_log_level level, const char *id, const char *text, void *user)
{
    ndr_text_add(&logged, "%s: %s\n", id, text);
}

static bool has_logged(const char *id, const char *part)
{
    const char *at = logged.chars ? strstr(logged.chars, id) : NULL;
    return at && strstr(at, part);
}

#define assert_logged(id, part)                                                                                      \
    do {                                                                                                             \
        if (!has_logged(id, part)) fail_msg("no %s with \"%s\" in: %s", id, part, logged.chars ? logged.chars : ""); \
    } while (0)

static cl_program CL_API_CALL count_source(cl_context c, cl_uint count, const char **texts, const size_t *lengths,
                                           cl_int *error)
{
    ++compiled;
    return real_source(c, count, texts, lengths, error);
}

static cl_program CL_API_CALL count_binary(cl_context c, cl_uint count, const cl_device_id *devices,
                                           const size_t *lengths, const unsigned char **binaries, cl_int *status,
                                           cl_int *error)
{
    ++taken;
    return real_binary(c, count, devices, lengths, binaries, status, error);
}

/* Without warps: probing for them would add one program and one entry on disk. */
static ndr_context *open_context(void)
{
    ndr_context *made;
    assert_ok(ndr_context_create(NULL, &made));
    made->caps.info.warp_size = 0;
    ndr_text_clear(&logged);
    compiled = taken = 0;
    return made;
}

static int open_all(void **state)
{
    if (open_device(state) != 0 || !getcwd(folder, sizeof folder - 16)) return -1;
    strcat(folder, "/store");
    real_source = ndr_cl.clCreateProgramWithSource;
    real_binary = ndr_cl.clCreateProgramWithBinary;
    return ndr_log_set(NDR_LOG_INFO, collect, NULL) != NDR_OK;
}

static int begin(void **state)
{
    remove_folder(folder);
    setenv("NDR_CACHE", folder, 1);
    ndr_cl.clCreateProgramWithSource = count_source;
    ndr_cl.clCreateProgramWithBinary = count_binary;
    return 0;
}

static int end(void **state)
{
    ndr_cl.clCreateProgramWithSource = real_source;
    ndr_cl.clCreateProgramWithBinary = real_binary;
    remove_folder(folder);
    return 0;
}

static ndr_kernel *get(ndr_context *in, const ndr_kernel_desc *desc)
{
    ndr_kernel *kernel;
    assert_ok(ndr_kernel_get(in, desc, &kernel));
    return kernel;
}

static void assert_counts(const ndr_context *of, size_t hits, size_t misses)
{
    ndr_cache_info info;
    assert_ok(ndr_context_get_cache(of, &info));
    assert_int_equal(info.hits, hits);
    assert_int_equal(info.misses, misses);
    assert_string_equal(info.folder, folder);
}

/* ---- a program and its result ---- */

static const char plus[] = "kernel void plus(global int *x) { x[get_global_id(0)] += STEP; }\n";

/* What the kernel adds to 100. */
static int run(ndr_context *in, ndr_kernel *kernel)
{
    int value = 100;
    ndr_queue *on;
    ndr_buffer *buffer;
    assert_ok(ndr_queue_create(in, NULL, &on));
    assert_ok(ndr_buffer_create_from(in, sizeof value, &value, &buffer));
    assert_ok(ndr_launch(on, kernel, ndr_range_1d(1), buffer));
    assert_ok(ndr_buffer_read(on, buffer, 0, sizeof value, &value, NULL));
    ndr_buffer_destroy(buffer);
    ndr_queue_destroy(on);
    return value - 100;
}

/* Get `plus` in a context of its own and run it. The counts show whether it was compiled or loaded. */
static int add_in_a_context(const char *options)
{
    ndr_context *made = open_context();
    const int step = run(made, get(made, &(ndr_kernel_desc){ .name = "plus", .source = plus, .options = options }));
    ndr_context_destroy(made);
    return step;
}

/* Check that a first context keeps the program on disk. */
static void fill_store(void)
{
    assert_int_equal(add_in_a_context("-DSTEP=3"), 3);
    assert_logged("cache.miss", "\"source\" with \"-DSTEP=3");
    assert_logged("cache.miss", "it is not there");
    assert_logged("program.built", "\"source\" in ");
    assert_logged("cache.kept", "\"source\" with \"-DSTEP=3");
    assert_int_equal(count_files(folder, NULL, 0), 1);
    assert_int_equal(taken, 0);
}

static void assert_taken(int step)
{
    assert_int_equal(step, 3);
    assert_int_equal(compiled, 0);
    assert_int_equal(taken, 1);
    assert_logged("cache.hit", "\"source\" in ");
    assert_false(has_logged("program.built", ""));
    assert_false(has_logged("cache.kept", "")); /* it is not kept a second time */
}

static void assert_built(int step)
{
    assert_int_equal(step, 3);
    assert_true(compiled > 0);
    assert_logged("program.built", "\"source\" in ");
    assert_false(has_logged("cache.hit", ""));
}

static void test_binary__starts_warm_without_the_compiler(void **state)
{
    fill_store();
    assert_taken(add_in_a_context("-DSTEP=3"));
    assert_taken(add_in_a_context("-DSTEP=3"));
    assert_int_equal(count_files(folder, NULL, 0), 1);
}

/* A change in any of the texts is another program. */
static void test_binary__keeps_a_program_linked_of_several_texts(void **state)
{
    skip_for_fault(driver_links_few_texts(), "most texts are not linked");
    static const char text[] = "int step(void);\nkernel void plus(global int *x) { x[0] = 100 + step(); }\n";
    static const char *const three[] = { "int step(void) { return 3; }\n", NULL };
    static const char *const four[] = { "int step(void) { return 4; }\n", NULL };
    const struct {
        const char *const *linked;
        int step;
        unsigned taken;
    } runs[] = { { three, 3, 0 }, { three, 3, 1 }, { four, 4, 0 }, { three, 3, 1 }, { four, 4, 1 } };
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; ++i) {
        ndr_context *made = open_context();
        const ndr_kernel_desc desc = { .name = "plus", .source = text, .linked = runs[i].linked };
        assert_int_equal(run(made, get(made, &desc)), runs[i].step);
        assert_int_equal(taken, runs[i].taken);
        assert_int_equal(compiled, runs[i].taken ? 0 : 2);
        ndr_context_destroy(made);
    }
    assert_int_equal(count_files(folder, NULL, 0), 2);
}

static void test_binary__counts_hits_and_misses(void **state)
{
    ndr_context *first = open_context();
    const ndr_kernel_desc three = { .name = "plus", .source = plus, .options = "-DSTEP=3" };
    assert_counts(first, 0, 0);
    get(first, &three);
    assert_counts(first, 0, 1);
    get(first, &three); /* already built in this context */
    assert_counts(first, 0, 1);
    ndr_context_destroy(first);
    ndr_context *second = open_context();
    get(second, &three);
    assert_counts(second, 1, 0);
    ndr_context_destroy(second);
}

static void test_binary__refuses_to_tell_nothing_of_nothing(void **state)
{
    ndr_cache_info info;
    assert_refused(NDR_BAD_ARGUMENT, ndr_context_get_cache(NULL, &info), "ndr_context_get_cache: context is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_context_get_cache(context, NULL), "ndr_context_get_cache: info is NULL");
}

static void test_binary__keeps_nothing_where_the_store_is_off(void **state)
{
    ndr_cache_info info;
    setenv("NDR_CACHE", "off", 1);
    assert_built(add_in_a_context("-DSTEP=3"));
    assert_built(add_in_a_context("-DSTEP=3"));
    assert_false(has_logged("cache.", ""));
    ndr_context *made = open_context();
    assert_ok(ndr_context_get_cache(made, &info));
    assert_null(info.folder);
    assert_int_equal(info.hits + info.misses, 0);
    ndr_context_destroy(made);
    assert_int_equal(access(folder, F_OK), -1);
}

/* ---- what is known about the kernels ---- */

static const char many[] =
    "#include <ndr/nd_item.clh>\n"
    "typedef struct { float a; char b; } pair;\n"
    "typedef uint word;\n"
    "#define HIDDEN kernel void hidden(global int *x, pair p, word w) { x[0] = p.b + w; }\n"
    "HIDDEN\n"
    "kernel void values(global int *x, const float f, uchar c, float3 v, pair p, word w, local word *l)\n"
    "{ l[0] = w; x[0] = (int)(f + c + v.x + p.a + l[0]); }\n"
    "kernel void spaces(global const float *a, constant int *b, local double4_or *c, global void *d, global int *x)\n"
    "{ x[0] = b[0] + (int)a[0]; }\n"
    "kernel void guarded(global int *x, NDR_RANGE(1))\n"
    "{ const ndr_item it = NDR_ITEM(1); x[ndr_global_id(it, 0)] += 1; }\n"
    "kernel void grouped(global int *x, NDR_ND_RANGE(2))\n"
    "{ const ndr_nd_item it = NDR_ND_ITEM(2); x[ndr_global_id(it, 1)] = 2; }\n"
    "kernel __attribute__((reqd_work_group_size(4, 2, 1))) void sized(global int *x) { x[get_global_id(0)] = 3; }\n";

static const char *const many_names[] = { "hidden", "values", "spaces", "guarded", "grouped", "sized" };

static void assert_same_kernel(const ndr_kernel *a, const ndr_kernel *b)
{
    assert_string_equal(a->name, b->name);
    assert_int_equal(a->arg_count, b->arg_count);
    assert_int_equal(a->argument_bytes, b->argument_bytes);
    assert_int_equal(a->form, b->form);
    assert_int_equal(a->dims, b->dims);
    assert_int_equal(a->has_scratch, b->has_scratch);
    assert_int_equal(a->reducer_count, b->reducer_count);
    assert_int_equal(a->is_guarded, b->is_guarded);
    assert_int_equal(a->sub_groups, b->sub_groups);
    assert_int_equal(a->sub_group_size, b->sub_group_size);
    assert_int_equal(a->info.arg_count, b->info.arg_count);
    assert_int_equal(a->info.max_group_size, b->info.max_group_size);
    assert_int_equal(a->info.local_memory_bytes, b->info.local_memory_bytes);
    assert_memory_equal(a->info.required_local_size, b->info.required_local_size, sizeof a->info.required_local_size);
    for (unsigned i = 0; i < a->arg_count; ++i) {
        const ndr_param *p = &a->params[i], *q = &b->params[i];
        assert_string_equal(p->name, q->name);
        assert_string_equal(p->type_name, q->type_name);
        assert_int_equal(p->kind, q->kind);
        assert_int_equal(p->type.dtype, q->type.dtype);
        assert_int_equal(p->type.lanes, q->type.lanes);
        assert_int_equal(p->size_bytes, q->size_bytes);
        assert_int_equal(p->is_const, q->is_const);
    }
}

static void test_binary__knows_of_each_kernel_what_its_source_tells(void **state)
{
    enum { COUNT = sizeof many_names / sizeof many_names[0] };
    ndr_kernel_desc desc = { .source = many, .options = "-Ddouble4_or=int4" };
    ndr_kernel *cold[COUNT], *warm[COUNT], *other;
    ndr_context *first = open_context();
    desc.name = "spaces"; /* the others are kept without a request */
    get(first, &desc);
    ndr_context_destroy(first);
    ndr_context *second = open_context();
    setenv("NDR_CACHE", "off", 1);
    ndr_context *third = open_context();
    for (size_t i = 0; i < COUNT; ++i) {
        desc.name = many_names[i];
        cold[i] = get(third, &desc);
    }
    compiled = 0;
    for (size_t i = 0; i < COUNT; ++i) {
        desc.name = many_names[i];
        warm[i] = get(second, &desc);
        assert_same_kernel(cold[i], warm[i]);
    }
    assert_int_equal(compiled, 0);
    assert_true(warm[3]->is_guarded);
    assert_int_equal(warm[0]->params[1].size_bytes, 8);
    desc.name = "none";
    assert_refused(NDR_NOT_FOUND, ndr_kernel_get(third, &desc, &other), "has no kernel called \"none\"; it has ");
    assert_refused(NDR_NOT_FOUND, ndr_kernel_get(second, &desc, &other), "has no kernel called \"none\"; it has ",
                   "guarded");
    ndr_context_destroy(third);
    ndr_context_destroy(second);
}

/* A driver tells an empty name for it. */
static void test_binary__takes_a_parameter_without_a_name(void **state)
{
    static const ndr_kernel_desc desc = {
        .name = "unnamed", .source = "kernel void unnamed(global int *x, int, local float *) { x[0] = 3; }\n"
    };
    ndr_context *first = open_context(), *second;
    ndr_kernel *kernel;
    const ndr_status status = ndr_kernel_get(first, &desc, &kernel);
    ndr_context_destroy(first);
    skip_without(status != NDR_BUILD_FAILED, "this compiler requires the names of parameters, as C11 does");
    assert_ok(status);
    setenv("NDR_CACHE", "off", 1);
    first = open_context();
    setenv("NDR_CACHE", folder, 1);
    second = open_context();
    ndr_kernel *cold = get(first, &desc);
    compiled = 0;
    ndr_kernel *warm = get(second, &desc);
    assert_int_equal(compiled, 0);
    assert_same_kernel(cold, warm);
    assert_string_equal(warm->params[1].type_name, cold->params[1].type_name); /* not all drivers tell "int" */
    ndr_context_destroy(first);
    ndr_context_destroy(second);
}

/* A reducer's operator and type decide what a launch accepts. */
static void test_binary__knows_the_reducers_of_a_kernel(void **state)
{
    static const char adding[] =
        "#include <ndr/reduction.clh>\n"
        "kernel void add(global const int *x, NDR_REDUCTION(1, (SUM, int, sum), (BIT_XOR, ushort, bits)))\n"
        "{ NDR_REDUCE(i, 1, bits, sum) { const int v = x[ndr_global_id(i, 0)];\n"
        "  NDR_COMBINE(sum, v); NDR_COMBINE(bits, v); } }\n";
    const ndr_kernel_desc desc = { .name = "add", .source = adding };
    const int ints[3] = { 1, 20, 300 };
    for (int i = 0; i < 2; ++i) {
        int got[2] = { 0 };
        ndr_queue *on;
        ndr_buffer *x, *to;
        ndr_context *made = open_context();
        ndr_kernel *kernel = get(made, &desc);
        assert_int_equal(compiled > 0, i == 0);
        assert_int_equal(kernel->form, NDR_FORM_REDUCTION);
        assert_int_equal(kernel->reducer_count, 2);
        assert_ok(ndr_queue_create(made, NULL, &on));
        assert_ok(ndr_buffer_create_from(made, sizeof ints, ints, &x));
        assert_ok(ndr_buffer_create_from(made, sizeof got, got, &to));
        const ndr_arg sum = ndr_reducer(NDR_OP_SUM, 4000, to, 0), bits = ndr_reducer(NDR_OP_BIT_XOR, 7, to, 2);
        assert_ok(ndr_launch(on, kernel, ndr_range_1d(3), x, sum, bits));
        assert_ok(ndr_buffer_read(on, to, 0, sizeof got, got, NULL));
        assert_int_equal(got[0], 4321);
        assert_int_equal(got[1], 7 ^ 1 ^ 20 ^ 300);
        assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(on, kernel, ndr_range_1d(3), x, bits, sum), "argument 1",
                       "\"sum\"", "NDR_OP_BIT_XOR", "NDR_OP_SUM");
        assert_refused(NDR_BAD_KERNEL_ARGUMENT,
                       ndr_launch(on, kernel, ndr_range_1d(3), x, sum, ndr_reducer(NDR_OP_BIT_XOR, 70000, to, 2)),
                       "argument 2", "\"bits\"");
        destroy_buffers(x, to);
        ndr_queue_destroy(on);
        ndr_context_destroy(made);
    }
}

static void test_binary__has_the_log_of_its_build(void **state)
{
    static const char source[] = "#warning look here\n"
                                 "kernel void warned(global int *x) { int unused; x[0] = 1; }\n";
    char cold[4096], warm[4096];
    const ndr_kernel_desc desc = { .name = "warned", .source = source };
    for (int i = 0; i < 2; ++i) {
        ndr_context *made = open_context();
        assert_ok(ndr_kernel_get_log(get(made, &desc), sizeof cold, i ? warm : cold, NULL));
        assert_int_equal(compiled > 0, i == 0);
        ndr_context_destroy(made);
    }
    assert_string_equal(cold, warm);
}

static cl_int CL_API_CALL tell_no_arguments(cl_kernel kernel, cl_uint index, cl_kernel_arg_info what, size_t bytes,
                                            void *value, size_t *needed)
{
    return CL_KERNEL_ARG_INFO_NOT_AVAILABLE;
}

/* Some drivers report no arguments for a binary. They are on disk, also for a kernel that comes back from OpenCL. */
static void test_binary__does_not_ask_for_arguments(void **state)
{
    static const ndr_kernel_desc desc = { .name = "guarded", .source = many, .options = "-Ddouble4_or=int4" };
    __typeof__(clGetKernelArgInfo) *const real_info = ndr_cl.clGetKernelArgInfo;
    ndr_kernel *again = NULL;
    ndr_context *first = open_context();
    get(first, &desc);
    ndr_context_destroy(first);
    ndr_context *second = open_context();
    ndr_cl.clGetKernelArgInfo = tell_no_arguments;
    ndr_kernel *warm = get(second, &desc);
    const ndr_status status = ndr_kernel_from_cl(second, ndr_kernel_cl(warm), &again);
    ndr_cl.clGetKernelArgInfo = real_info;
    assert_ok(status);
    assert_ptr_not_equal(warm, again);
    assert_same_kernel(warm, again);
    ndr_context_destroy(second);
}

/* ---- binaries that come back without what the driver knows of their kernels ---- */

static __typeof__(clGetKernelArgInfo) *real_arg_info;
static cl_program untold;

static cl_int CL_API_CALL tell_nothing_of_one(cl_kernel kernel, cl_uint index, cl_kernel_arg_info what, size_t bytes,
                                              void *value, size_t *needed)
{
    cl_program of = NULL;
    ndr_cl.clGetKernelInfo(kernel, CL_KERNEL_PROGRAM, sizeof of, &of, NULL);
    return of == untold ? CL_KERNEL_ARG_INFO_NOT_AVAILABLE : real_arg_info(kernel, index, what, bytes, value, needed);
}

static cl_program program_of(cl_kernel kernel)
{
    cl_program program;
    assert_int_equal(ndr_cl.clGetKernelInfo(kernel, CL_KERNEL_PROGRAM, sizeof program, &program, NULL), CL_SUCCESS);
    return program;
}

static unsigned char *read_binary(cl_program program, size_t *count)
{
    assert_int_equal(ndr_cl.clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof *count, count, NULL), CL_SUCCESS);
    unsigned char *binary = malloc(*count);
    assert_int_equal(ndr_cl.clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL), CL_SUCCESS);
    return binary;
}

/* A kernel of the program that the driver makes of a binary. */
static cl_kernel load_binary(ndr_context *in, const unsigned char *binary, size_t count, const char *name)
{
    cl_int error;
    const cl_device_id id = ndr_context_cl_device(in);
    untold = real_binary(ndr_context_cl(in), 1, &id, &count, &binary, NULL, &error);
    assert_int_equal(error, CL_SUCCESS);
    assert_int_equal(ndr_cl.clBuildProgram(untold, 1, &id, "", NULL, NULL), CL_SUCCESS);
    cl_kernel made = ndr_cl.clCreateKernel(untold, name, &error);
    assert_int_equal(error, CL_SUCCESS);
    return made;
}

static void test_binary__knows_the_kernels_of_one_that_comes_back(void **state)
{
    const ndr_kernel_desc desc = { .name = "guarded", .source = many, .options = "-Ddouble4_or=int4" };
    size_t count, again_count;
    setenv("NDR_CACHE", "off", 1);
    ndr_context *made = open_context();
    ndr_kernel *kernel = get(made, &desc), *adopted, *taken_back;
    unsigned char *binary = read_binary(program_of(ndr_kernel_cl(kernel)), &count);
    cl_kernel cl = load_binary(made, binary, count, "guarded");
    unsigned char *again = read_binary(untold, &again_count);
    const bool is_same = again_count == count && memcmp(again, binary, count) == 0;
    real_arg_info = ndr_cl.clGetKernelArgInfo;
    ndr_cl.clGetKernelArgInfo = tell_nothing_of_one;
    const ndr_status status = ndr_kernel_from_cl(made, cl, &adopted);
    ndr_cl.clGetKernelArgInfo = real_arg_info;
    assert_ok(status);
    if (is_same) {
        assert_same_kernel(kernel, adopted);
        assert_int_equal(run(made, adopted), 1);
        const ndr_kernel_desc back = { .name = "values", .binary = binary, .binary_bytes = count };
        taken_back = get(made, &back);
        kernel = get(made, &(ndr_kernel_desc){ .name = "values", .source = many, .options = desc.options });
        assert_string_equal(taken_back->params[1].name, kernel->params[1].name);
    }
    ndr_cl.clReleaseKernel(cl);
    ndr_cl.clReleaseProgram(untold);
    free(binary);
    free(again);
    ndr_context_destroy(made);
    skip_without(is_same, "the driver gives another binary of a program that it made of one");
}

static void test_binary__names_the_fix_for_a_kernel_that_nothing_is_known_of(void **state)
{
    const ndr_kernel_desc desc = { .name = "guarded", .source = many, .options = "-Ddouble4_or=int4" };
    size_t count;
    setenv("NDR_CACHE", "off", 1);
    ndr_context *builder = open_context();
    unsigned char *binary = read_binary(program_of(ndr_kernel_cl(get(builder, &desc))), &count);
    ndr_context *other = open_context();
    cl_kernel cl = load_binary(other, binary, count, "guarded");
    ndr_kernel *adopted;
    ndr_queue *on;
    ndr_buffer *x;
    real_arg_info = ndr_cl.clGetKernelArgInfo;
    ndr_cl.clGetKernelArgInfo = tell_nothing_of_one;
    const ndr_status status = ndr_kernel_from_cl(other, cl, &adopted);
    ndr_cl.clGetKernelArgInfo = real_arg_info;
    assert_ok(status);
    assert_ok(ndr_queue_create(other, NULL, &on));
    assert_ok(ndr_buffer_create(other, 4, &x));
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(on, adopted, ndr_range_1d(1), x),
                   "kernel \"guarded\" takes 2 arguments, but 1 is given; its parameters are ? (type unknown), ",
                   "; the driver does not describe them, so the hidden one of NDR_RANGE or NDR_ND_RANGE counts: build "
                   "the program with -cl-kernel-arg-info, or get a kernel that has one from its source");
    ndr_buffer_destroy(x);
    ndr_queue_destroy(on);
    ndr_cl.clReleaseKernel(cl);
    ndr_cl.clReleaseProgram(untold);
    free(binary);
    ndr_context_destroy(other);
    ndr_context_destroy(builder);
}

/* ---- anything different ---- */

static void test_binary__is_for_one_source_and_its_options(void **state)
{
    fill_store();
    assert_int_equal(add_in_a_context("-DSTEP=4"), 4);
    assert_int_equal(taken, 0);
    assert_int_equal(add_in_a_context("-DSTEP=4 -DOTHER"), 4);
    assert_int_equal(taken, 0);
    ndr_context *made = open_context();
    const char other[] = "kernel void plus(global int *x) { x[get_global_id(0)] -= STEP; }\n";
    assert_int_equal(run(made, get(made, &(ndr_kernel_desc){ .name = "plus", .source = other, .options = "-DSTEP=3" })),
                     -3);
    assert_int_equal(taken, 0);
    ndr_context_destroy(made);
    assert_taken(add_in_a_context(" -DSTEP=3  ")); /* blanks make no difference */
}

static void test_binary__is_for_one_setting_of_the_driver(void **state)
{
    fill_store();
    setenv("POCL_TEST_SETTING", "1", 1);
    assert_built(add_in_a_context("-DSTEP=3"));
    unsetenv("POCL_TEST_SETTING");
    assert_int_equal(taken, 0);
    setenv("POCL_TEST_CACHE_FOLDER", "1", 1); /* the location of a cache makes no difference */
    setenv("OTHER_POCL_SETTING", "1", 1);
    assert_taken(add_in_a_context("-DSTEP=3"));
    unsetenv("POCL_TEST_CACHE_FOLDER");
    unsetenv("OTHER_POCL_SETTING");
}

/* The number that a kernel gets from a file, which it includes by name or through a macro. */
static int included_number(const char *including, bool *is_taken)
{
    const char *dirs[] = { ".", NULL };
    ndr_context *made = open_context();
    const ndr_kernel_desc desc = { .name = "plus", .source = including, .include_dirs = dirs };
    const int step = run(made, get(made, &desc));
    *is_taken = taken > 0;
    ndr_context_destroy(made);
    return step;
}

static void test_binary__sees_a_changed_file_that_is_included(void **state)
{
    static const char by_name[] = "#include \"number.clh\"\nkernel void plus(global int *x) { x[0] += NUMBER; }\n";
    bool is_taken;
    write_file("number.clh", "#define NUMBER 5\n");
    assert_int_equal(included_number(by_name, &is_taken), 5);
    assert_int_equal(included_number(by_name, &is_taken), 5);
    assert_true(is_taken);
    write_file("number.clh", "#define NUMBER 6\n");
    assert_int_equal(included_number(by_name, &is_taken), 6);
    assert_false(is_taken);
}

static void test_binary__does_not_keep_what_only_the_compiler_can_read(void **state)
{
    static const char by_macro[] = "#define TEXT(x) #x\n#define NAME(x) TEXT(x)\n#include NAME(number.clh)\n"
                                   "kernel void plus(global int *x) { x[0] += NUMBER; }\n";
    bool is_taken;
    for (int number = 5; number < 7; ++number) {
        write_file("number.clh", number == 5 ? "#define NUMBER 5\n" : "#define NUMBER 6\n");
        assert_int_equal(included_number(by_macro, &is_taken), number);
        assert_false(is_taken);
        assert_logged("cache.miss", "it includes a file that only the compiler finds");
        assert_false(has_logged("cache.kept", ""));
    }
    static const char asked[] = "#if __has_include(\"missing.clh\")\n#define STEP 1\n#else\n#define STEP 3\n#endif\n"
                                "kernel void plus(global int *x) { x[0] += STEP; }\n";
    ndr_context *made = open_context();
    ndr_kernel *kernel;
    if (ndr_kernel_get(made, &(ndr_kernel_desc){ .name = "plus", .source = asked }, &kernel) == NDR_OK)
        assert_logged("cache.miss", "it includes a file that only the compiler finds");
    ndr_context_destroy(made);
    assert_int_equal(count_files(folder, NULL, 0), 0);
}

static void test_binary__keeps_nothing_of_what_does_not_build(void **state)
{
    ndr_kernel *kernel;
    for (int i = 0; i < 2; ++i) {
        ndr_context *made = open_context();
        assert_refused(NDR_BUILD_FAILED,
                       ndr_kernel_get(made, &(ndr_kernel_desc){ .name = "plus", .source = plus }, &kernel), "STEP");
        assert_true(compiled > 0);
        ndr_context_destroy(made);
        assert_int_equal(count_files(folder, NULL, 0), 0);
    }
}

/* ---- entries and binaries that are wrong ---- */

static void test_binary__shows_the_driver_no_damaged_entry(void **state)
{
    static unsigned char bytes[1 << 20];
    char path[2048];
    fill_store();
    assert_int_equal(count_files(folder, path, sizeof path), 1);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    const size_t count = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    assert_true(count > 100 && count < sizeof bytes);
    const size_t lengths[] = { 0, 31, count / 2, count - 1, count };
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; ++i) {
        const bool is_whole = lengths[i] == count;
        bytes[count - 20] ^= is_whole; /* in the binary */
        assert_non_null(file = fopen(path, "wb"));
        assert_int_equal(fwrite(bytes, 1, lengths[i], file), lengths[i]);
        fclose(file);
        bytes[count - 20] ^= is_whole;
        assert_built(add_in_a_context("-DSTEP=3"));
        assert_int_equal(taken, 0);
        assert_logged("cache.ignored", path);
        assert_logged("cache.kept", "");
    }
    assert_taken(add_in_a_context("-DSTEP=3"));
}

/* ---- entries that another program made, with right checksums ---- */

static uint64_t seed;

static size_t pick(size_t count)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (size_t)(seed >> 33) % count;
}

static ndr_text whole_binary; /* what the driver wrote */

/* The driver would have to take any bytes: it is shown only those that it wrote. All are read. */
static cl_program CL_API_CALL take_only_its_own(cl_context c, cl_uint count, const cl_device_id *devices,
                                                const size_t *lengths, const unsigned char **binaries, cl_int *status,
                                                cl_int *error)
{
    const bool is_same =
        *lengths == whole_binary.length && memcmp(*binaries, whole_binary.chars, whole_binary.length) == 0;
    unsigned sum = 0;
    for (size_t i = 0; i < *lengths; ++i) sum += (*binaries)[i];
    if (is_same) return count_binary(c, count, devices, lengths, binaries, status, error);
    *error = sum ? CL_INVALID_BINARY : CL_INVALID_VALUE;
    return NULL;
}

/* Of what precedes the binary: a byte, a number of the text, a length, or the end changes. */
static void damage(ndr_text *value, size_t head)
{
    static const uint64_t lengths[] = { 0, 1, 7, 8, UINT64_MAX, UINT64_MAX - 7, INT64_MAX, 1u << 31 };
    uint64_t length;
    const size_t at = pick(head);
    char *digit = value->chars + at;
    switch (pick(5)) {
    case 0: value->chars[at] = (char)pick(256); break;
    case 1: value->length = pick(value->length + 1); break;
    case 2: memcpy(value->chars + (pick(2) ? 0 : at), &lengths[pick(8)], sizeof length); break;
    case 3:
        memcpy(&length, value->chars, sizeof length);
        length += pick(64) - 32;
        memcpy(value->chars, &length, sizeof length);
        break;
    default:
        while (digit < value->chars + head && (*digit < '0' || *digit > '9')) ++digit;
        if (digit < value->chars + head) *digit = "0123456789 \n-"[pick(13)];
    }
}

static size_t part_end(const ndr_text *value, size_t at)
{
    uint64_t length;
    memcpy(&length, value->chars + at, sizeof length);
    return at + sizeof length + (size_t)length;
}

static void get_from_store(const ndr_kernel_desc *desc)
{
    ndr_context *made = open_context();
    ndr_kernel_info info;
    assert_ok(ndr_kernel_get_info(get(made, desc), &info));
    ndr_context_destroy(made);
}

static void test_binary__reads_no_entry_past_its_end(void **state)
{
    const ndr_kernel_desc desc = { .name = "guarded", .source = many, .options = "-Ddouble4_or=int4" };
    const size_t rounds = (size_t)number_from_env("NDR_TEST_ROUNDS", 100);
    ndr_text question = { 0 }, value = { 0 };
    seed = number_from_env("NDR_TEST_SEED", 20260);
    print_message("NDR_TEST_SEED=%llu\n", (unsigned long long)seed);
    ndr_context *writer = open_context();
    ndr_text_add(&question, "%s", get(writer, &desc)->program->question.chars);
    ndr_context_destroy(writer);
    writer = open_context();
    assert_true(ndr_cache_get(writer, question.chars, &value));
    const size_t head = part_end(&value, part_end(&value, 0)) + sizeof(uint64_t);
    ndr_text_add_chars(&whole_binary, value.chars + head, value.length - head);
    ndr_cl.clCreateProgramWithBinary = take_only_its_own;
    for (size_t round = 0; round < rounds; ++round) {
        ndr_text changed = { 0 };
        ndr_text_add_chars(&changed, value.chars, value.length);
        damage(&changed, head);
        assert_true(ndr_cache_put(writer, question.chars, changed.chars, changed.length));
        ndr_text_free(&changed);
        get_from_store(&desc);
    }
    ndr_context_destroy(writer);
    ndr_text_free(&question);
    ndr_text_free(&value);
    ndr_text_free(&whole_binary);
}

static void test_binary__builds_where_an_entry_does_not_add_up(void **state)
{
    static const char *const kernels[] = { "", "kernel plus", "kernel plus 4000000000 0 0 0 0\n",
                                           "kernel plus 2 0 0 0 0\n0 0 0 0 0 0 .x .int*\n",
                                           "kernel plus 1 - 0 0 0\n0 0 0 0 0 0 .x .int*\n",
                                           "kernel plus 1 0 0 0 0\n", "kernel plus 1 0 0 0 0\n9",
                                           "kernel plus 1 0 0 0 0\n0 0 0 0 0 0 .x" };
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; ++i) {
        ndr_text value = { 0 }, changed = { 0 };
        const ndr_kernel_desc desc = { .name = "plus", .source = plus, .options = "-DSTEP=3" };
        const size_t bytes = strlen(kernels[i]) + 1;
        const uint64_t length = bytes;
        remove_folder(folder);
        ndr_context *made = open_context();
        char question[512];
        snprintf(question, sizeof question, "%s", get(made, &desc)->program->question.chars);
        ndr_context_destroy(made);
        made = open_context();
        assert_true(ndr_cache_get(made, question, &value));
        ndr_text_add_chars(&changed, (const char *)&length, sizeof length);
        ndr_text_add_chars(&changed, kernels[i], bytes);
        ndr_text_add_chars(&changed, value.chars + part_end(&value, 0), value.length - part_end(&value, 0));
        assert_true(ndr_cache_put(made, question, changed.chars, changed.length));
        ndr_context_destroy(made);
        assert_built(add_in_a_context("-DSTEP=3"));
        assert_logged("cache.miss", i < 2 ? "has no kernel called \"plus\"" : "\"plus\" is damaged");
        assert_taken(add_in_a_context("-DSTEP=3"));
        ndr_text_free(&value);
        ndr_text_free(&changed);
    }
}

/* ---- binaries that are wrong ---- */

/* When a driver refuses a binary: at creation, in its device's status, in the build, when a kernel is created. */
typedef enum place { AT_ONCE, FOR_THE_DEVICE, WHEN_BUILT, WHEN_ASKED, PLACES } place;
static place refusing;
static __typeof__(clBuildProgram) *real_build;
static __typeof__(clCreateKernel) *real_kernel;

static cl_program CL_API_CALL refuse_binary(cl_context c, cl_uint count, const cl_device_id *devices,
                                            const size_t *lengths, const unsigned char **binaries, cl_int *status,
                                            cl_int *error)
{
    ++taken;
    if (refusing == AT_ONCE) return *error = CL_INVALID_BINARY, NULL;
    cl_program made = real_binary(c, count, devices, lengths, binaries, status, error);
    if (refusing == FOR_THE_DEVICE) *status = CL_INVALID_BINARY;
    return made;
}

static cl_int CL_API_CALL refuse_build(cl_program p, cl_uint count, const cl_device_id *devices, const char *options,
                                       void(CL_CALLBACK *notify)(cl_program, void *), void *user)
{
    const bool refuses = refusing == WHEN_BUILT && taken > 0 && compiled == 0;
    return refuses ? CL_INVALID_BINARY : real_build(p, count, devices, options, notify, user);
}

static cl_kernel CL_API_CALL refuse_kernel(cl_program p, const char *name, cl_int *error)
{
    if (refusing != WHEN_ASKED || compiled > 0) return real_kernel(p, name, error);
    *error = CL_INVALID_BINARY;
    return NULL;
}

static void test_binary__builds_what_the_driver_refuses(void **state)
{
    fill_store();
    real_build = ndr_cl.clBuildProgram;
    real_kernel = ndr_cl.clCreateKernel;
    ndr_cl.clCreateProgramWithBinary = refuse_binary;
    ndr_cl.clBuildProgram = refuse_build;
    ndr_cl.clCreateKernel = refuse_kernel;
    for (refusing = AT_ONCE; refusing < PLACES; ++refusing) {
        const int step = add_in_a_context("-DSTEP=3");
        if (taken != 1 || compiled == 0) print_message("place %d\n", (int)refusing);
        assert_int_equal(taken, 1);
        assert_built(step);
        assert_logged("cache.miss", "CL_INVALID_BINARY");
        assert_logged("cache.kept", "");
    }
    ndr_cl.clBuildProgram = real_build;
    ndr_cl.clCreateKernel = real_kernel;
    ndr_cl.clCreateProgramWithBinary = count_binary;
    assert_taken(add_in_a_context("-DSTEP=3"));
}

/* The result of a probe, on a device that the test makes look as if it could run inline PTX. */
static unsigned builds;
static bool builds_first;

static cl_int CL_API_CALL build_no_ptx(cl_program p, cl_uint count, const cl_device_id *devices, const char *options,
                                       void(CL_CALLBACK *notify)(cl_program, void *), void *user)
{
    return builds++ == 0 && builds_first ? CL_SUCCESS : CL_BUILD_PROGRAM_FAILURE;
}

static void test_binary__keeps_the_answer_of_a_probe(void **state)
{
    static const ndr_kernel_desc desc = { .name = "plus", .source = plus, .options = "-DSTEP=3" };
    ndr_kernel *kernel;
    real_build = ndr_cl.clBuildProgram;
    for (int i = 0; i < 4; ++i) {
        ndr_context *made = open_context();
        made->caps.info.warp_size = 32;
        const bool is_masked = made->caps.disabled & NDR_DISABLE_PTX;
        builds_first = i == 0 && !is_masked;
        builds = 0;
        if (i == 2) remove_folder(folder);
        ndr_cl.clBuildProgram = build_no_ptx;
        const ndr_status status = ndr_kernel_get(made, &desc, &kernel);
        ndr_cl.clBuildProgram = real_build;
        assert_int_equal(status, NDR_BUILD_FAILED); /* from the kernel's own text */
        assert_int_equal(strstr(ndr_last_error(), "-DNDR_PTX=1") != NULL, i < 2 && !is_masked);
        assert_int_equal(builds, is_masked || i % 2 ? 1 : 2);
        ndr_context_destroy(made);
    }
}

static __typeof__(clGetProgramInfo) *real_info;

static cl_int CL_API_CALL have_no_binary(cl_program p, cl_program_info what, size_t bytes, void *value, size_t *needed)
{
    const cl_int error = real_info(p, what, bytes, value, needed);
    if (what == CL_PROGRAM_BINARY_SIZES && value) *(size_t *)value = 0;
    return error;
}

static cl_int CL_API_CALL fail_at_binary(cl_program p, cl_program_info what, size_t bytes, void *value, size_t *needed)
{
    return what == CL_PROGRAM_BINARIES ? CL_OUT_OF_RESOURCES : real_info(p, what, bytes, value, needed);
}

static void test_binary__does_without_binaries(void **state)
{
    real_info = ndr_cl.clGetProgramInfo;
    ndr_cl.clGetProgramInfo = have_no_binary;
    assert_built(add_in_a_context("-DSTEP=3"));
    assert_logged("cache.left_out", "the driver has no binary of it");
    ndr_cl.clGetProgramInfo = fail_at_binary;
    assert_built(add_in_a_context("-DSTEP=3"));
    assert_logged("cache.left_out", "CL_OUT_OF_RESOURCES");
    ndr_cl.clGetProgramInfo = real_info;
    assert_int_equal(count_files(folder, NULL, 0), 0);
}

static unsigned asked_for_binaries;

static cl_int CL_API_CALL count_requests(cl_program p, cl_program_info what, size_t bytes, void *value, size_t *needed)
{
    asked_for_binaries += what == CL_PROGRAM_BINARY_SIZES || what == CL_PROGRAM_BINARIES;
    return real_info(p, what, bytes, value, needed);
}

/* Drivers take long to make a binary, and may end the process where they lack their compiler's files. */
static void test_binary__asks_for_no_binary_that_cannot_be_written(void **state)
{
    char path[1100];
    assert_true((size_t)snprintf(path, sizeof path, "%s/no_folder", folder) < sizeof path);
    assert_int_equal(mkdir(folder, 0700), 0);
    write_file(path, "");
    setenv("NDR_CACHE", path, 1);
    real_info = ndr_cl.clGetProgramInfo;
    ndr_cl.clGetProgramInfo = count_requests;
    asked_for_binaries = 0;
    assert_built(add_in_a_context("-DSTEP=3"));
    assert_int_equal(asked_for_binaries, 0);
    assert_logged("cache.refused", "it is not a folder");
    setenv("NDR_CACHE", folder, 1);
    assert_built(add_in_a_context("-DSTEP=3"));
    ndr_cl.clGetProgramInfo = real_info;
    assert_true(asked_for_binaries > 0);
}

static void test_binary__does_without_a_folder(void **state)
{
    write_file("no_folder", "");
    char path[1100];
    assert_non_null(getcwd(path, sizeof path - 16));
    strcat(path, "/no_folder");
    setenv("NDR_CACHE", path, 1);
    assert_built(add_in_a_context("-DSTEP=3"));
    assert_logged("cache.refused", "it is not a folder");
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_int_equal(chmod(folder, 0777), 0);
    setenv("NDR_CACHE", folder, 1);
    assert_built(add_in_a_context("-DSTEP=3"));
    assert_logged("cache.refused", "its group or other users may write to it");
    assert_int_equal(count_files(folder, NULL, 0), 0);
}

/* ---- several at once ---- */

static void *add_in_a_thread(void *unused)
{
    ndr_context *made;
    ndr_kernel *kernel = NULL;
    const ndr_kernel_desc desc = { .name = "plus", .source = plus, .options = "-DSTEP=3" };
    if (ndr_context_create(NULL, &made) != NDR_OK) return NULL;
    made->caps.info.warp_size = 0; /* as in open_context() */
    const bool is_made = ndr_kernel_get(made, &desc, &kernel) == NDR_OK;
    ndr_context_destroy(made);
    return is_made ? folder : NULL;
}

static void test_binary__is_shared_by_contexts_in_threads(void **state)
{
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    ndr_cl.clCreateProgramWithSource = real_source; /* the counts are not thread-safe */
    ndr_cl.clCreateProgramWithBinary = real_binary;
    for (int round = 0; round < 2; ++round) {
        for (int i = 0; i < THREADS; ++i) assert_int_equal(pthread_create(&threads[i], NULL, add_in_a_thread, NULL), 0);
        for (int i = 0; i < THREADS; ++i) {
            void *result;
            assert_int_equal(pthread_join(threads[i], &result), 0);
            assert_non_null(result);
        }
    }
    assert_int_equal(count_files(folder, NULL, 0), 1);
    assert_false(has_logged("cache.ignored", ""));
}

static const char *self;

static void test_binary__is_shared_by_processes(void **state)
{
    enum { PROCESSES = 3 };
    fflush(NULL);
    for (int i = 0; i < PROCESSES; ++i)
        if (fork() == 0) {
            execl(self, self, "add", (char *)NULL);
            _exit(9);
        }
    for (int i = 0, status; i < PROCESSES; ++i) {
        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
    assert_int_equal(count_files(folder, NULL, 0), 1);
    assert_taken(add_in_a_context("-DSTEP=3"));
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "add") == 0) _exit(add_in_a_thread(NULL) ? 0 : 1);
    self = argv[0];
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(test_binary__starts_warm_without_the_compiler),
        TEST(test_binary__keeps_a_program_linked_of_several_texts),
        TEST(test_binary__counts_hits_and_misses),
        TEST(test_binary__refuses_to_tell_nothing_of_nothing),
        TEST(test_binary__keeps_nothing_where_the_store_is_off),
        TEST(test_binary__knows_of_each_kernel_what_its_source_tells),
        TEST(test_binary__takes_a_parameter_without_a_name),
        TEST(test_binary__knows_the_reducers_of_a_kernel),
        TEST(test_binary__does_not_ask_for_arguments),
        TEST(test_binary__knows_the_kernels_of_one_that_comes_back),
        TEST(test_binary__names_the_fix_for_a_kernel_that_nothing_is_known_of),
        TEST(test_binary__has_the_log_of_its_build),
        TEST(test_binary__is_for_one_source_and_its_options),
        TEST(test_binary__is_for_one_setting_of_the_driver),
        TEST(test_binary__sees_a_changed_file_that_is_included),
        TEST(test_binary__does_not_keep_what_only_the_compiler_can_read),
        TEST(test_binary__keeps_nothing_of_what_does_not_build),
        TEST(test_binary__shows_the_driver_no_damaged_entry),
        TEST(test_binary__reads_no_entry_past_its_end),
        TEST(test_binary__builds_where_an_entry_does_not_add_up),
        TEST(test_binary__builds_what_the_driver_refuses),
        TEST(test_binary__keeps_the_answer_of_a_probe),
        TEST(test_binary__does_without_binaries),
        TEST(test_binary__asks_for_no_binary_that_cannot_be_written),
        TEST(test_binary__does_without_a_folder),
        TEST(test_binary__is_shared_by_contexts_in_threads),
        TEST(test_binary__is_shared_by_processes),
    };
    return cmocka_run_group_tests(tests, open_all, close_device);
}
