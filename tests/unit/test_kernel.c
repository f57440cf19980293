/* test_kernel.c - kernels from text, files and the library: built once, their signature and limits. */
#include "support.h"

#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include "device/context.h"
#include "program/registry.h"

/* ---- the memory that libndr holds: the linker sends libndr's calls here (tests/CMakeLists.txt) ---- */

static atomic_size_t bytes_held;

void *__real_malloc(size_t size_bytes);
void *__real_calloc(size_t count, size_t size_bytes);
void *__real_realloc(void *memory, size_t size_bytes);
void __real_free(void *memory);
void *__wrap_malloc(size_t size_bytes);
void *__wrap_calloc(size_t count, size_t size_bytes);
void *__wrap_realloc(void *memory, size_t size_bytes);
void __wrap_free(void *memory);

static void *held(void *memory)
{
    bytes_held += malloc_usable_size(memory);
    return memory;
}

static void *let_go(void *memory)
{
    bytes_held -= malloc_usable_size(memory);
    return memory;
}

void *__wrap_malloc(size_t size_bytes) { return held(__real_malloc(size_bytes)); }
void *__wrap_calloc(size_t count, size_t size_bytes) { return held(__real_calloc(count, size_bytes)); }
void *__wrap_realloc(void *memory, size_t size_bytes) { return held(__real_realloc(let_go(memory), size_bytes)); }
void __wrap_free(void *memory) { __real_free(let_go(memory)); }

/* Kernels of every kind in one source. */
static const char many[] =
    "#include \"ndr/group.clh\"\n"
    "typedef uint count_t;\n"
    "typedef struct pair { int first; float second; } pair_t;\n"
    "struct triple { char a; int b; short c; };\n"
    "typedef struct { long a[40]; } big_t;\n"
    "typedef float4 quad;\n"
    "kernel void range_1(global int *x, NDR_RANGE(1)) {}\n"
    "kernel void range_any(global int *x, NDR_RANGE(0)) {}\n"
    "kernel void nd_2(global int *x, float a, NDR_ND_RANGE(2)) {}\n"
    "kernel void only_record(NDR_RANGE(3)) {}\n"
    "kernel void pointers(global float *a, global const int *b, constant ulong *c, local short *d,\n"
    "                     global pair_t *e, global void *f) {}\n"
    "kernel void numbers(char a, uchar b, short c, ushort d, int e, uint f, long g, ulong h, float i,\n"
    "                    unsigned int j) {}\n"
    "kernel void vectors(float4 a, int3 b, uchar16 c, long2 d) {}\n"
    "kernel void named(count_t a, pair_t b, struct triple c, big_t d, quad e) {}\n"
    "kernel __attribute__((reqd_work_group_size(8, 4, 1))) void required(global int *x, NDR_ND_RANGE(2)) "
    "{}\n"
    "kernel void in_local(global int *x, NDR_ND_RANGE(1))\n"
    "{\n"
    "    local int t[100];\n"
    "    const size_t i = get_local_id(0) % 100;\n"
    "    t[i] = x[i];\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    x[i] = t[99 - i];\n"
    "}\n";

static int open_and_make_folders(void **state)
{
    (void)mkdir("include", 0777);
    return open_device(state);
}

static ndr_kernel *get(const ndr_kernel_desc desc)
{
    ndr_kernel *kernel = NULL;
    assert_ok(ndr_kernel_get(context, &desc, &kernel));
    assert_non_null(kernel);
    return kernel;
}

/* A refusal does not change the output. */
#define get_refused(status, of, ...)                                                  \
    do {                                                                              \
        const ndr_kernel_desc desc_ = of;                                             \
        ndr_kernel *kernel_ = (ndr_kernel *)(uintptr_t)&desc_;                        \
        assert_refused((status), ndr_kernel_get(context, &desc_, &kernel_), __VA_ARGS__); \
        assert_ptr_equal(kernel_, &desc_);                                            \
    } while (0)
#define DESC(...) { __VA_ARGS__ }

static size_t program_count(void)
{
    ndr_registry *registry;
    assert_ok(ndr_registry_get(context, &registry));
    return registry->programs.count;
}

static ndr_kernel_info info_of(const char *name)
{
    ndr_kernel_info info;
    assert_ok(ndr_kernel_get_info(kernel_of(many, name), &info));
    return info;
}

/* The value of x after one launch of a kernel (global int *x) over one item. */
static int run(ndr_kernel *kernel, int x)
{
    ndr_buffer *buffer = buffer_of(sizeof x, &x);
    assert_ok(ndr_launch(queue, kernel, ndr_range_1d(1), buffer));
    take_buffer(buffer, &x, sizeof x);
    return x;
}

/* ---- where kernels come from ---- */

static void test_kernel__is_got_from_text(void **state)
{
    assert_int_equal(run(kernel_of(plain_kernels, "add_one"), 41), 42);
}

static void test_kernel__is_got_from_a_file(void **state)
{
    write_file("from_file.cl",
               "#include <ndr/item.clh>\nkernel void k(global int *x, NDR_RANGE(1)) { x[0] = 17; }\n");
    assert_int_equal(run(get((ndr_kernel_desc){ .name = "k", .file = "from_file.cl" }), 0), 17);
}

static void test_kernel__is_got_from_the_library(void **state)
{
    ndr_kernel_info info;
    ndr_kernel *kernel = get((ndr_kernel_desc){ .name = "reduce_tree", .bundled = "reduce/tree_groups.cl" });
    assert_ok(ndr_kernel_get_info(kernel, &info));
    assert_int_equal(info.arg_count, 6); /* without scratch and record */
}

static void test_kernel__file_is_read_once_for_each_context(void **state)
{
    write_file("read_once.cl", "kernel void k(global int *x) { x[0] = 1; }\n");
    ndr_kernel *first = get((ndr_kernel_desc){ .name = "k", .file = "read_once.cl" });
    write_file("read_once.cl", "this does not compile\n");
    assert_ptr_equal(get((ndr_kernel_desc){ .name = "k", .file = "read_once.cl" }), first);
    assert_int_equal(run(first, 0), 1);
}

static void test_kernel__finds_includes_beside_its_file(void **state)
{
    write_file("include/value.clh", "#define VALUE 23\n");
    write_file("include/beside.cl",
               "#include \"value.clh\"\nkernel void k(global int *x) { x[0] = VALUE; }\n");
    assert_int_equal(run(get((ndr_kernel_desc){ .name = "k", .file = "include/beside.cl" }), 0), 23);
}

static void test_kernel__finds_includes_in_its_folders(void **state)
{
    write_file("include/value.clh", "#define VALUE 23\n");
    const char *const dirs[] = { "nowhere", "include", NULL };
    const ndr_kernel_desc desc = {
        .name = "k",
        .source = "#include <value.clh>\nkernel void k(global int *x) { x[0] = VALUE; }\n",
        .include_dirs = dirs
    };
    assert_int_equal(run(get(desc), 0), 23);
}

static void test_kernel__is_built_with_its_options(void **state)
{
    const char source[] = "kernel void k(global int *x) { x[0] = VALUE; }\n";
    ndr_kernel *three = get((ndr_kernel_desc){ .name = "k", .source = source, .options = "-DVALUE=3" });
    ndr_kernel *four = get((ndr_kernel_desc){ .name = "k", .source = source, .options = "-DVALUE=4" });
    assert_ptr_not_equal(three, four);
    assert_int_equal(run(three, 0), 3);
    assert_int_equal(run(four, 0), 4);
}

/* Mesa 22.3 would end the process if it got the words as they are. */
static void test_kernel__takes_a_macro_of_one_letter_in_a_word_of_its_own(void **state)
{
    static const char source[] = "kernel void k(global int *x) { x[0] = N + M; }";
    const ndr_kernel_desc desc = { .name = "k", .source = source, .options = " -D\tN\n -D M=3 " };
    assert_int_equal(run(get(desc), 0), 4);
}

static void test_kernel__is_built_for_the_language_of_the_device(void **state)
{
    ndr_kernel *kernel =
        kernel_of("kernel void k(global int *x) { x[0] = __OPENCL_C_VERSION__; }\n", "k");
    assert_int_equal(run(kernel, 0), context->caps.c_version);
}

static void test_kernel__is_built_for_the_language_that_it_names(void **state)
{
    const ndr_kernel_desc desc = { .name = "k",
                                   .source =
                                       "kernel void k(global int *x) { x[0] = __OPENCL_C_VERSION__; }\n",
                                   .options = "-cl-std=CL1.2" };
    assert_int_equal(run(get(desc), 0), 120);
}

static void test_kernel__without_the_vocabulary_is_taken_as_it_is(void **state)
{
    const char source[] =
        "__kernel void vadd(__global const float *a, __global const float *b, __global float *c,\n"
        "                   const unsigned int n)\n"
        "{\n"
        "    int i = get_global_id(0);\n"
        "    if (i < n) c[i] = a[i] + b[i];\n"
        "}\n";
    ndr_kernel *vadd = kernel_of(source, "vadd");
    assert_int_equal(vadd->form, NDR_FORM_PLAIN);
    float x[5] = { 1, 2, 3, 4, 5 }, y[5] = { 10, 20, 30, 40, 50 }, z[5];
    ndr_buffer *a = buffer_of(sizeof x, x), *b = buffer_of(sizeof y, y), *c = buffer_of(sizeof z, NULL);
    assert_ok(ndr_launch(queue, vadd, ndr_range_1d(5), a, b, c, 5));
    take_buffer(c, z, sizeof z);
    for (int i = 0; i < 5; ++i) assert_true(z[i] == x[i] + y[i]);
    destroy_buffers(a, b);
}

/* ---- built once ---- */

static void test_kernel__asked_for_again_is_the_same(void **state)
{
    ndr_kernel *first = kernel_of(many, "nd_2");
    const size_t before = program_count();
    char copy[sizeof many];
    memcpy(copy, many, sizeof many); /* texts are compared, not addresses */
    assert_ptr_equal(kernel_of(copy, "nd_2"), first);
    assert_int_equal(program_count(), before);
}

static void test_kernel__of_one_source_share_one_build(void **state)
{
    ndr_kernel *a = kernel_of(many, "range_1");
    const size_t before = program_count();
    ndr_kernel *b = kernel_of(many, "only_record");
    assert_ptr_not_equal(a, b);
    assert_int_equal(program_count(), before);
    cl_program of_a = NULL, of_b = NULL;
    assert_int_equal(clGetKernelInfo(a->cl, CL_KERNEL_PROGRAM, sizeof of_a, &of_a, NULL), CL_SUCCESS);
    assert_int_equal(clGetKernelInfo(b->cl, CL_KERNEL_PROGRAM, sizeof of_b, &of_b, NULL), CL_SUCCESS);
    assert_ptr_equal(of_a, of_b);
}

static void test_kernel__of_other_options_or_label_is_another(void **state)
{
    const char source[] = "kernel void k(global int *x) {}\n";
    ndr_kernel *bare = get((ndr_kernel_desc){ .name = "k", .source = source });
    assert_ptr_not_equal(get((ndr_kernel_desc){ .name = "k", .source = source, .options = "-DX" }), bare);
    assert_ptr_not_equal(get((ndr_kernel_desc){ .name = "k", .source = source, .label = "other" }), bare);
    assert_ptr_equal(get((ndr_kernel_desc){ .name = "k", .source = source, .options = "" }), bare);
}

/* Different requests whose parts, each on its own line, form the same text. */
static void test_kernel__of_parts_that_join_to_the_same_is_another(void **state)
{
    static const char source[] = "\n#ifndef X\n#define X 0\n#endif\nkernel void k(global int *x) { x[0] = X; }\n";
    ndr_kernel *zero = get((ndr_kernel_desc){ .name = "k", .source = source + 1, .label = "a\n-DX=1" });
    ndr_kernel *one = get((ndr_kernel_desc){ .name = "k", .source = source, .label = "a", .options = "-DX=1" });
    assert_ptr_not_equal(zero, one);
    assert_int_equal(run(zero, 7), 0);
    assert_int_equal(run(one, 7), 1);
    const char *const two_dirs[] = { "a", "b", NULL }, *const one_dir[] = { "a\nb", NULL };
    assert_ptr_not_equal(get((ndr_kernel_desc){ .name = "k", .source = source, .include_dirs = two_dirs }),
                         get((ndr_kernel_desc){ .name = "k", .source = source, .include_dirs = one_dir }));
}

/* A text with the whole vocabulary has some hundred KiB. A program that tunes itself has thousands of kernels. */
static void test_kernel__leaves_no_text_behind(void **state)
{
    enum { PROGRAMS = 4, MAX_BYTES = 16 << 10 };
    static const char source[] = "#include <ndr/ndr.clh>\nkernel void k(global int *x, NDR_RANGE(1)) { x[0] = N; }\n";
    for (int i = 0; i <= PROGRAMS; ++i) {
        char options[16];
        snprintf(options, sizeof options, "-DN=%d", i);
        const size_t before = bytes_held;
        (void)get((ndr_kernel_desc){ .name = "k", .source = source, .options = options });
        const size_t more = bytes_held - before;
        if (i > 0) assert_in_range(more, 1, MAX_BYTES); /* the first may also allocate the device's own data */
    }
}

static void test_kernel__of_another_context_is_another(void **state)
{
    ndr_context *other;
    ndr_kernel *theirs;
    const ndr_kernel_desc desc = { .name = "add_one", .source = plain_kernels };
    assert_ok(ndr_context_create(NULL, &other));
    assert_ok(ndr_kernel_get(other, &desc, &theirs));
    assert_ptr_not_equal(theirs, get(desc));
    ndr_context_destroy(other);
}

static const char wanted_by_many_threads[] = "kernel void wanted(global int *x) { x[0] = 5; }\n"
                                             "kernel void also(global int *x) { x[0] = 6; }\n";

/* NULL if the request was refused. CMocka's assertions work in the main thread only. */
static void *get_wanted(void *name)
{
    ndr_kernel *kernel = NULL;
    const ndr_kernel_desc desc = { .name = name, .source = wanted_by_many_threads };
    return ndr_kernel_get(context, &desc, &kernel) == NDR_OK ? kernel : NULL;
}

static void test_kernel__asked_for_by_many_threads_is_built_once(void **state)
{
    enum { THREADS = 8 };
    pthread_t threads[THREADS];
    void *got[THREADS];
    static char names[2][8] = { "wanted", "also" };
    const size_t before = program_count();
    for (int i = 0; i < THREADS; ++i)
        assert_int_equal(pthread_create(&threads[i], NULL, get_wanted, names[i % 2]), 0);
    for (int i = 0; i < THREADS; ++i) assert_int_equal(pthread_join(threads[i], &got[i]), 0);
    for (int i = 0; i < THREADS; ++i) {
        assert_non_null(got[i]);
        assert_ptr_equal(got[i], got[i % 2]);
    }
    assert_ptr_not_equal(got[0], got[1]);
    assert_int_equal(program_count(), before + 1);
}

/* ---- invalid requests ---- */

static void test_kernel__refuses_null(void **state)
{
    const ndr_kernel_desc desc = { .name = "add_one", .source = plain_kernels };
    ndr_kernel *kernel = NULL;
    ndr_kernel_info info;
    assert_refused(NDR_BAD_ARGUMENT, ndr_kernel_get(NULL, &desc, &kernel),
                   "ndr_kernel_get: context is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_kernel_get(context, NULL, &kernel), "desc is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_kernel_get(context, &desc, NULL), "kernel is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_kernel_get_info(NULL, &info),
                   "ndr_kernel_get_info: kernel is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_kernel_get_info(get(desc), NULL), "info is NULL");
    assert_null(kernel);
}

static void test_kernel__refuses_a_forgotten_name(void **state)
{
    get_refused(NDR_BAD_ARGUMENT, DESC(.source = many), "desc->name is not set");
    get_refused(NDR_BAD_ARGUMENT, DESC(.name = "", .source = many), "desc->name is not set");
}

static void test_kernel__refuses_no_source_and_more_than_one(void **state)
{
    get_refused(NDR_BAD_ARGUMENT, DESC(.name = "k"),
                "none of desc->source, file, bundled, spirv and binary is set for kernel \"k\"");
    get_refused(NDR_BAD_ARGUMENT, DESC(.name = "k", .source = many, .file = "x.cl"), "more than one of",
                "set just one");
    get_refused(NDR_BAD_ARGUMENT, DESC(.name = "k", .source = many, .file = "x.cl", .bundled = "y.cl"),
                "more than one");
    get_refused(NDR_BAD_ARGUMENT, DESC(.name = "k", .file = "x.cl", .bundled = "y.cl"), "more than one");
}

/* Before the driver sees it: some compilers accept the name. */
/* PoCL aborts the process when a kernel with a name of 252 characters is linked. */
static void test_kernel__with_a_long_name_is_refused(void **state)
{
    enum { MOST = 200 };
    char name[MOST + 2], text[MOST + 64];
    memset(name, 'k', sizeof name - 1);
    name[MOST + 1] = '\0';
    get_refused(NDR_LIMIT_EXCEEDED, DESC(.name = name, .source = "kernel void k(void) {}"), "has 201 characters",
                "the limit is 200", "give the kernel a shorter name");
    name[MOST] = '\0';
    snprintf(text, sizeof text, "kernel void %s(global int *out) { out[0] = 7; }\n", name);
    ndr_buffer *const out = buffer_of(sizeof(int), NULL);
    int got = 0;
    assert_ok(ndr_launch(queue, kernel_of(text, name), ndr_range_1d(1), out));
    take_buffer(out, &got, sizeof got);
    assert_int_equal(got, 7);
}

static void test_kernel__called_main_is_refused(void **state)
{
    static const char text[] = "kernel void main(global int *x) { x[0] = 1; }";
    get_refused(NDR_BAD_ARGUMENT, DESC(.name = "main", .source = text), "desc->name is \"main\"", "choose another name");
    get_refused(NDR_BAD_ARGUMENT, DESC(.name = "main", .file = "main.cl"), "desc->name is \"main\"");
}

static void test_kernel__of_an_unknown_name_lists_those_there_are(void **state)
{
    get_refused(NDR_NOT_FOUND, DESC(.name = "add_two", .source = plain_kernels, .label = "mine"),
                "\"mine\" has no kernel called \"add_two\"; it has ", "add_one", "copy_ints", "spin");
    assert_int_equal(ndr_last_cl_error(), CL_INVALID_KERNEL_NAME);
    assert_int_equal(
        run(get((ndr_kernel_desc){ .name = "add_one", .source = plain_kernels, .label = "mine" }), 1), 2);
}

static void test_kernel__called_like_a_built_in_is_found_or_said_to_be_renamed(void **state)
{
    const ndr_kernel_desc desc = { .name = "dot", .source = "kernel void dot(global int *x) { x[0] = 1; }" };
    ndr_kernel *kernel = NULL;
    const ndr_status status = ndr_kernel_get(context, &desc, &kernel);
    if (status == NDR_OK) assert_string_equal(kernel->name, "dot");
    else assert_refused(NDR_NOT_FOUND, ndr_kernel_get(context, &desc, &kernel), "_cl_dot", "the driver has renamed it");
}

static void test_kernel__of_an_unknown_file_says_why(void **state)
{
    get_refused(NDR_NOT_FOUND, DESC(.name = "k", .file = "nowhere/nobody.cl"),
                "kernel file \"nowhere/nobody.cl\" cannot be read: No such file");
}

static void test_kernel__of_an_unknown_bundled_file_is_refused(void **state)
{
    get_refused(NDR_NOT_FOUND, DESC(.name = "k", .bundled = "nobody.cl"),
                "no bundled kernel file \"nobody.cl\"");
}

/* ---- source that does not compile ---- */

/* Oclgrind's logs name Oclgrind's own file and ignore #line. */
static bool log_heeds_line_marks(void)
{
    const ndr_kernel_desc desc = { .name = "k", .source = "#line 55 \"probe.cl\"\nkernel void k( {}\n" };
    ndr_kernel *kernel;
    return ndr_kernel_get(context, &desc, &kernel) == NDR_BUILD_FAILED &&
           strstr(ndr_last_error(), "probe.cl:55");
}
static const char heeds_none[] = "the driver's logs do not heed #line";

static void test_kernel__that_does_not_compile_brings_the_log(void **state)
{
    get_refused(NDR_BUILD_FAILED,
                DESC(.name = "k", .source = "kernel void k(global int *x)\n{\n    x[0] = nobody;\n}\n"),
                "\"source\" did not build for \"", device.name, "-cl-std=CL", "nobody");
    assert_true(ndr_last_cl_error() < 0);
}

static void test_kernel__that_does_not_compile_names_its_line(void **state)
{
    skip_without(log_heeds_line_marks(), heeds_none);
    get_refused(NDR_BUILD_FAILED,
                DESC(.name = "k", .source = "kernel void k(global int *x)\n{\n    x[0] = nobody;\n}\n"),
                "source:3:");
}

static void test_kernel__that_does_not_compile_names_label_and_line(void **state)
{
    skip_without(log_heeds_line_marks(), heeds_none);
    get_refused(NDR_BUILD_FAILED,
                DESC(.name = "k", .label = "my text", .options = "-DBROKEN",
                     .source = "#include \"ndr/item.clh\"\n\nkernel void k(global int *x, "
                               "NDR_RANGE(1))\n{\n    nobody();;\n"
                               "    x[0] = nobody;\n}\n"),
                "\"my text\" did not build", "-DBROKEN", "my text:6:");
}

static void test_kernel__that_does_not_compile_names_file_and_line(void **state)
{
    skip_without(log_heeds_line_marks(), heeds_none);
    write_file("include/fine.clh", "// one\n// two\n");
    write_file("broken.cl",
               "#include \"include/fine.clh\"\n#include <ndr/item.clh>\n#include \"include/fine.clh\"\n"
               "kernel void k(global int *x) { x[0] = nobody; }\n");
    get_refused(NDR_BUILD_FAILED, DESC(.name = "k", .file = "broken.cl"), "\"broken.cl\" did not build",
                "broken.cl:4:");
}

static void test_kernel__whose_include_does_not_compile_names_the_include(void **state)
{
    skip_without(log_heeds_line_marks(), heeds_none);
    write_file("include/broken.clh", "// one\nint broken(void) { return nobody; }\n");
    write_file("includes_broken.cl",
               "// one\n// two\n#include \"include/broken.clh\"\nkernel void k(global int *x) {}\n");
    get_refused(NDR_BUILD_FAILED, DESC(.name = "k", .file = "includes_broken.cl"),
                "\"includes_broken.cl\" did not build", "include/broken.clh:2:");
}

static void test_kernel__names_a_missing_include(void **state)
{
    get_refused(NDR_BUILD_FAILED, DESC(.name = "k", .source = "kernel void k(global int *x, NDR_RANGE(1)) {}\n"),
                "NDR_RANGE is declared in ndr/item.clh: #include \"ndr/item.clh\", or \"ndr/ndr.clh\"");
    get_refused(NDR_BUILD_FAILED, DESC(.name = "k", .source = "kernel void k(global int *x, NDR_ND_RANGE(2)) {}\n"),
                "NDR_ND_RANGE is declared in ndr/nd_item.clh: #include");
}

static void test_kernel__names_no_include_that_is_there(void **state)
{
    get_refused(
        NDR_BUILD_FAILED,
        DESC(.name = "k",
             .source =
                 "#include <ndr/item.clh>\nkernel void k(global int *x, NDR_RANGE(1)) { nobody(); !}\n"),
        "did not build");
    assert_null(strstr(ndr_last_error(), "is declared in"));
}

static void test_kernel__that_does_not_compile_is_not_kept(void **state)
{
    const size_t before = program_count();
    get_refused(NDR_BUILD_FAILED, DESC(.name = "k", .source = "kernel void k( {}\n"), "did not build");
    assert_int_equal(program_count(), before);
    get_refused(NDR_BUILD_FAILED, DESC(.name = "k", .source = "kernel void k( {}\n"),
                "did not build"); /* again */
}

static void test_kernel__whose_types_need_a_second_build_leaves_the_sentence_alone(void **state)
{
    ndr_fail(NDR_BAD_ARGUMENT, "from before");
    (void)kernel_of(
        "typedef struct { int x; } hidden;\nkernel void k(global int *x, hidden h) { x[0] = h.x; }\n", "k");
    assert_string_equal(ndr_last_error(), "from before");
}

/* ---- signatures ---- */

static void test_kernel__tells_its_form_by_its_record(void **state)
{
    static const struct {
        const char *name;
        ndr_form form;
        unsigned dims;
    } table[] = {
        { "pointers", NDR_FORM_PLAIN, 0 },
        { "range_1", NDR_FORM_RANGE, 1 }, { "range_any", NDR_FORM_RANGE, 0 },
        { "nd_2", NDR_FORM_ND_RANGE, 2 }, { "only_record", NDR_FORM_RANGE, 3 },
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; ++i) {
        const ndr_kernel *kernel = kernel_of(many, table[i].name);
        assert_int_equal(kernel->form, table[i].form);
        assert_int_equal(kernel->dims, table[i].dims);
    }
}

static void test_kernel_info__counts_no_hidden_arguments(void **state)
{
    assert_int_equal(info_of("only_record").arg_count, 0);
    assert_int_equal(info_of("range_1").arg_count, 1);
    assert_int_equal(info_of("nd_2").arg_count, 2); /* scratch and record are hidden */
    assert_int_equal(info_of("numbers").arg_count, 10);
}

static void test_kernel_info__knows_limits(void **state)
{
    const ndr_kernel_info info = info_of("range_1");
    assert_in_range(info.max_group_size, 1, device.max_group_size);
    assert_true(info.preferred_group_multiple >= 1);
    for (unsigned d = 0; d < 3; ++d) assert_int_equal(info.required_local_size[d], 0);
}

static void test_kernel_info__has_the_required_size_in_our_order(void **state)
{
    const ndr_kernel_info info = info_of("required"); /* (8, 4, 1) in OpenCL's order */
    assert_int_equal(info.required_local_size[0], 1);
    assert_int_equal(info.required_local_size[1], 4);
    assert_int_equal(info.required_local_size[2], 8);
}

static void test_kernel_info__counts_local_memory_declared_inside(void **state)
{
    const size_t bytes = info_of("in_local").local_memory_bytes;
    skip_without(bytes > 1, "the driver does not tell a kernel's own local memory before it is launched");
    assert_true(bytes >= 100 * sizeof(int));
}

static void test_signature__tells_pointers_apart(void **state)
{
    const ndr_param *p = kernel_of(many, "pointers")->params;
    static const struct {
        ndr_param_kind kind;
        ndr_dtype dtype;
        bool is_const;
    } wanted[] = {
        { NDR_PARAM_GLOBAL, NDR_DTYPE_F32, false },  { NDR_PARAM_GLOBAL, NDR_DTYPE_I32, true },
        { NDR_PARAM_CONSTANT, NDR_DTYPE_U64, true }, { NDR_PARAM_LOCAL, NDR_DTYPE_I16, false },
        { NDR_PARAM_GLOBAL, NDR_DTYPE_NONE, false }, { NDR_PARAM_GLOBAL, NDR_DTYPE_NONE, false },
    };
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; ++i) {
        assert_int_equal(p[i].kind, wanted[i].kind);
        assert_int_equal(p[i].type.dtype, wanted[i].dtype);
        if (p[i].kind == NDR_PARAM_GLOBAL) assert_int_equal(p[i].is_const, wanted[i].is_const);
        assert_int_equal(p[i].name[0], 'a' + (char)i);
    }
}

static void test_signature__knows_every_number(void **state)
{
    const ndr_param *p = kernel_of(many, "numbers")->params;
    static const ndr_dtype wanted[] = { NDR_DTYPE_I8,  NDR_DTYPE_U8,  NDR_DTYPE_I16, NDR_DTYPE_U16,
                                        NDR_DTYPE_I32, NDR_DTYPE_U32, NDR_DTYPE_I64, NDR_DTYPE_U64,
                                        NDR_DTYPE_F32, NDR_DTYPE_U32 };
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; ++i) {
        assert_int_equal(p[i].kind, NDR_PARAM_NUMBER);
        assert_int_equal(p[i].type.dtype, wanted[i]);
        assert_int_equal(p[i].size_bytes, ndr_dtype_size(wanted[i]));
    }
}

static void test_signature__knows_the_bytes_of_vectors(void **state)
{
    const ndr_param *p = kernel_of(many, "vectors")->params;
    static const size_t wanted[] = { 16, 16, 16, 16 };
    for (size_t i = 0; i < 4; ++i) {
        assert_int_equal(p[i].kind, NDR_PARAM_BYTES);
        assert_int_equal(p[i].size_bytes, wanted[i]);
    }
}

static void test_signature__proves_what_typedefs_and_structs_are(void **state)
{
    const ndr_param *p = kernel_of(many, "named")->params;
    assert_int_equal(p[0].kind, NDR_PARAM_NUMBER); /* typedef uint count_t */
    assert_int_equal(p[0].type.dtype, NDR_DTYPE_U32);
    assert_int_equal(p[0].size_bytes, 4);
    static const size_t sizes[] = { 4, 8, 12, 320, 16 }; /* one of more than 256 among them */
    for (size_t i = 1; i < 5; ++i) {
        assert_int_equal(p[i].kind, NDR_PARAM_BYTES);
        assert_int_equal(p[i].size_bytes, sizes[i]);
    }
}

/* libndr appends kernels to a text to find out its types. Users must not see these kernels. */
static void test_signature__asks_for_types_unseen(void **state)
{
    static const char source[] = "typedef struct { int x; } own;\n"
                                 "kernel void k(global int *out, own o) { out[0] = o.x; }\n";
    get_refused(NDR_NOT_FOUND, DESC(.name = "nobody", .source = source), "has no kernel called \"nobody\"; it has k");
    assert_null(strstr(ndr_last_error(), "ndr_probe"));
    get_refused(NDR_BUILD_FAILED, DESC(.name = "k", .source = source, .options = "-Down=4"), "did not build");
    assert_null(strstr(ndr_last_error(), "probe"));
    char log[4096] = "";
    assert_ok(ndr_kernel_get_log(get((ndr_kernel_desc){ .name = "k", .source = source, .options = "-Werror" }),
                                 sizeof log, log, NULL));
    assert_null(strstr(log, "ndr_probe"));
}

/* The names of libndr's probes are macros in this program, and so are other likely names. Its kernel avoids them. */
static void test_signature__knows_types_whatever_macros_there_are(void **state)
{
    static const char *const words[] = {
        "kernel", "global", "local", "constant", "private",  "x",     "size",  "what",    "type",   "name",    "code",
        "low",    "high",   "known", "digit",    "number",   "probe", "index", "builtin", "opaque", "is",      "value",
        "TYPE",   "NAME",   "CODE",  "SIZE",     "PROBE",    "NUMBER", "T",    "N",       "KERNEL", "GLOBAL",  "LOCAL",
        "restrict", "uint8_t", "size", "BUILTIN", "lanes",   "min_size", "typeof", "bool8", "queue", "sampler", "unused"
    };
    ndr_text text = { 0 };
    ndr_text_add(&text, "typedef struct { int m0, m1; } mine;\ntypedef float2 pair_of;\n"
                        "__kernel void go(__global int *m2, mine m3, __local mine *m4, pair_of m5) { m2[0] = m3.m1; }\n");
    for (char c = 'A'; c <= 'z'; ++c)
        if (c <= 'Z' || c >= 'a') ndr_text_add(&text, "#undef %c\n#define %c )broken(\n", c, c);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; ++i)
        ndr_text_add(&text, "#undef %s\n#define %s )broken(\n", words[i], words[i]);
    const ndr_param *p = kernel_of(text.chars, "go")->params;
    assert_int_equal(p[1].size_bytes, 8);
    assert_int_equal(p[2].size_bytes, 8);
    assert_int_equal(p[3].size_bytes, 8);
    assert_int_equal(p[3].type.dtype, NDR_DTYPE_F32);
    assert_int_equal(p[3].type.lanes, 2);
    ndr_text_free(&text);
}

/* Texts whose last line would absorb the text that follows. */
static void test_signature__knows_types_behind_any_end_of_a_text(void **state)
{
    static const char *const ends[] = { "", "// a comment", "// a comment \\", "// a comment \\\n", "#define LAST \\", "/* */" };
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; ++i) {
        ndr_text text = { 0 };
        ndr_text_add(&text, "typedef struct { char c[%zu]; } own; kernel void k(own o) {}\n%s", 3 + i, ends[i]);
        assert_int_equal(kernel_of(text.chars, "k")->params[0].size_bytes, 3 + i);
        ndr_text_free(&text);
    }
}

/* Names that mean one type in the parameter list and another one elsewhere. */
static void test_signature__takes_names_for_what_they_are_in_the_kernel(void **state)
{
    static const char source[] =
        "struct pair { int x; };\ntypedef struct { int x[4]; } pair;\n"
        "typedef struct { int x[2]; } point;\ntypedef struct { int x[3]; } queue_t;\n"
        "#define double float\n#define double2 float2\ntypedef double real;\ntypedef double2 reals;\n"
        "kernel void k(struct pair a, pair b, point c, queue_t d, real e, reals f, local struct pair *g, local pair *h) {}\n"
        "#define point int\n";
    static const size_t sizes[] = { 4, 16, 8, 12, 4, 8, 4, 16 };
    const ndr_kernel_desc desc = { .name = "k", .source = source, .options = "-cl-std=CL1.2" }; /* 2.0 has a queue_t */
    const ndr_param *p = get(desc)->params;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) assert_int_equal(p[i].size_bytes, sizes[i]);
    for (size_t i = 0; i < 6; ++i) assert_int_equal(p[i].kind, i == 4 ? NDR_PARAM_NUMBER : NDR_PARAM_BYTES);
    for (size_t i = 4; i < 6; ++i) assert_int_equal(p[i].type.dtype, NDR_DTYPE_F32);
}

/* Types that are neither buffers nor values, even behind a typedef. Passing a buffer or struct would crash. */
static void test_signature__takes_images_and_samplers_for_what_they_are(void **state)
{
    cl_bool has_images = CL_FALSE;
    assert_int_equal(clGetDeviceInfo(context->device, CL_DEVICE_IMAGE_SUPPORT, sizeof has_images, &has_images, NULL),
                     CL_SUCCESS);
    skip_without(has_images, "the device has no images");
    static const char source[] =
        "typedef image2d_t I;\ntypedef sampler_t S;\n"
        "typedef global float *floats;\ntypedef constant int *ints;\n"
        "kernel void k(I a, read_only image2d_t b, S c, sampler_t d, floats e, ints f) { e[0] = f[0]; }\n"
        "#define TAKES(type) kernel void hidden(type a) {}\nTAKES(S)\n";
    static const ndr_param_kind wanted[] = { NDR_PARAM_OPAQUE, NDR_PARAM_OPAQUE, NDR_PARAM_OPAQUE,
                                             NDR_PARAM_OPAQUE, NDR_PARAM_GLOBAL, NDR_PARAM_CONSTANT };
    const ndr_param *p = kernel_of(source, "k")->params;
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; ++i) assert_int_equal(p[i].kind, wanted[i]);
    assert_int_equal(kernel_of(source, "hidden")->params[0].kind, NDR_PARAM_OPAQUE);
    const uint64_t bits = 0;
    assert_refused(NDR_UNSUPPORTED,
                   ndr_launch(queue, kernel_of(source, "hidden"), ndr_range_1d(1), ndr_arg_struct_(&bits, 8, "S")),
                   "argument 0 \"a\" (S) is of a type that libndr cannot pass");
}

static void test_signature__takes_queues_and_their_events_for_what_they_are(void **state)
{
    /* rusticl 22.3 has no device queues. It crashes on such a kernel, in plain OpenCL as well. */
    cl_command_queue_properties own = 0;
    (void)clGetDeviceInfo(context->device, CL_DEVICE_QUEUE_ON_DEVICE_PROPERTIES, sizeof own, &own, NULL);
    skip_without(own != 0, "the device has no queues of its own");
    const ndr_kernel_desc desc = { .name = "k",
                                   .source = "typedef queue_t Q;\ntypedef clk_event_t E;\n"
                                             "kernel void k(queue_t a, Q b, clk_event_t c, E d, global int *x) {}\n",
                                   .options = "-cl-std=CL2.0" };
    ndr_kernel *kernel;
    const ndr_status status = ndr_kernel_get(context, &desc, &kernel);
    skip_without(status == NDR_OK, "the compiler knows no queue_t as OpenCL C 2.0");
    for (size_t i = 0; i < 4; ++i) assert_int_equal(kernel->params[i].kind, NDR_PARAM_OPAQUE);
}

/* ---- suggestions ---- */

static void test_suggest_local__is_what_an_automatic_launch_gets(void **state)
{
    const ndr_range global = ndr_range_2d(1000, 1000);
    ndr_range local = { 0, { 0, 0, 0 } };
    ndr_kernel *kernel = kernel_of(many, "nd_2");
    assert_ok(ndr_kernel_suggest_local(kernel, &global, &local));
    assert_int_equal(local.dims, 2);
    assert_in_range(local.size[0] * local.size[1], 2, 256);
    ndr_buffer *x = buffer_of(4, NULL);
    assert_ok(ndr_launch(queue, kernel,
                         ndr_nd_range_of(ndr_range_2d(local.size[0] * 2, local.size[1]), local), x, 1.0f));
    assert_ok(ndr_queue_finish(queue));
    ndr_buffer_destroy(x);
}

static void test_suggest_local__is_the_required_size(void **state)
{
    const ndr_range global = ndr_range_2d(40, 80);
    ndr_range local;
    assert_ok(ndr_kernel_suggest_local(kernel_of(many, "required"), &global, &local));
    assert_int_equal(local.size[0], 4);
    assert_int_equal(local.size[1], 8);
}

static void test_suggest_local__for_nothing_is_one(void **state)
{
    const ndr_range global = ndr_range_2d(0, 80);
    ndr_range local;
    assert_ok(ndr_kernel_suggest_local(kernel_of(many, "nd_2"), &global, &local));
    assert_int_equal(local.dims, 2);
    assert_int_equal(local.size[0], 1);
    assert_int_equal(local.size[1], 1);
}

static void test_suggest_local__refuses_what_a_launch_would_refuse(void **state)
{
    const ndr_range one = ndr_range_1d(100), none = { 0, { 0, 0, 0 } }, five = { 5, { 1, 1, 1 } };
    ndr_range local = { 7, { 7, 7, 7 } };
    ndr_kernel *kernel = kernel_of(many, "nd_2");
    assert_refused(NDR_BAD_RANGE, ndr_kernel_suggest_local(kernel, &one, &local),
                   "written for 2 dimensions");
    assert_refused(NDR_BAD_RANGE, ndr_kernel_suggest_local(kernel, &none, &local),
                   "1 to 3 dimensions, not 0");
    assert_refused(NDR_BAD_RANGE, ndr_kernel_suggest_local(kernel, &five, &local),
                   "1 to 3 dimensions, not 5");
    assert_refused(NDR_BAD_ARGUMENT, ndr_kernel_suggest_local(NULL, &one, &local), "kernel is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_kernel_suggest_local(kernel, NULL, &local), "global is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_kernel_suggest_local(kernel, &one, NULL), "local is NULL");
    assert_int_equal(local.dims, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kernel__is_got_from_text),
        cmocka_unit_test(test_kernel__is_got_from_a_file),
        cmocka_unit_test(test_kernel__is_got_from_the_library),
        cmocka_unit_test(test_kernel__file_is_read_once_for_each_context),
        cmocka_unit_test(test_kernel__finds_includes_beside_its_file),
        cmocka_unit_test(test_kernel__finds_includes_in_its_folders),
        cmocka_unit_test(test_kernel__is_built_with_its_options),
        cmocka_unit_test(test_kernel__takes_a_macro_of_one_letter_in_a_word_of_its_own),
        cmocka_unit_test(test_kernel__is_built_for_the_language_of_the_device),
        cmocka_unit_test(test_kernel__is_built_for_the_language_that_it_names),
        cmocka_unit_test(test_kernel__without_the_vocabulary_is_taken_as_it_is),
        cmocka_unit_test(test_kernel__asked_for_again_is_the_same),
        cmocka_unit_test(test_kernel__of_one_source_share_one_build),
        cmocka_unit_test(test_kernel__of_other_options_or_label_is_another),
        cmocka_unit_test(test_kernel__of_parts_that_join_to_the_same_is_another),
        cmocka_unit_test(test_kernel__leaves_no_text_behind),
        cmocka_unit_test(test_kernel__of_another_context_is_another),
        cmocka_unit_test(test_kernel__asked_for_by_many_threads_is_built_once),
        cmocka_unit_test(test_kernel__refuses_null),
        cmocka_unit_test(test_kernel__refuses_a_forgotten_name),
        cmocka_unit_test(test_kernel__with_a_long_name_is_refused),
        cmocka_unit_test(test_kernel__called_main_is_refused),
        cmocka_unit_test(test_kernel__refuses_no_source_and_more_than_one),
        cmocka_unit_test(test_kernel__of_an_unknown_name_lists_those_there_are),
        cmocka_unit_test(test_kernel__called_like_a_built_in_is_found_or_said_to_be_renamed),
        cmocka_unit_test(test_kernel__of_an_unknown_file_says_why),
        cmocka_unit_test(test_kernel__of_an_unknown_bundled_file_is_refused),
        cmocka_unit_test(test_kernel__that_does_not_compile_brings_the_log),
        cmocka_unit_test(test_kernel__that_does_not_compile_names_its_line),
        cmocka_unit_test(test_kernel__that_does_not_compile_names_label_and_line),
        cmocka_unit_test(test_kernel__that_does_not_compile_names_file_and_line),
        cmocka_unit_test(test_kernel__whose_include_does_not_compile_names_the_include),
        cmocka_unit_test(test_kernel__names_a_missing_include),
        cmocka_unit_test(test_kernel__names_no_include_that_is_there),
        cmocka_unit_test(test_kernel__that_does_not_compile_is_not_kept),
        cmocka_unit_test(test_kernel__whose_types_need_a_second_build_leaves_the_sentence_alone),
        cmocka_unit_test(test_kernel__tells_its_form_by_its_record),
        cmocka_unit_test(test_kernel_info__counts_no_hidden_arguments),
        cmocka_unit_test(test_kernel_info__knows_limits),
        cmocka_unit_test(test_kernel_info__has_the_required_size_in_our_order),
        cmocka_unit_test(test_kernel_info__counts_local_memory_declared_inside),
        cmocka_unit_test(test_signature__tells_pointers_apart),
        cmocka_unit_test(test_signature__knows_every_number),
        cmocka_unit_test(test_signature__knows_the_bytes_of_vectors),
        cmocka_unit_test(test_signature__proves_what_typedefs_and_structs_are),
        cmocka_unit_test(test_signature__asks_for_types_unseen),
        cmocka_unit_test(test_signature__knows_types_whatever_macros_there_are),
        cmocka_unit_test(test_signature__knows_types_behind_any_end_of_a_text),
        cmocka_unit_test(test_signature__takes_names_for_what_they_are_in_the_kernel),
        cmocka_unit_test(test_signature__takes_images_and_samplers_for_what_they_are),
        cmocka_unit_test(test_signature__takes_queues_and_their_events_for_what_they_are),
        cmocka_unit_test(test_suggest_local__is_what_an_automatic_launch_gets),
        cmocka_unit_test(test_suggest_local__is_the_required_size),
        cmocka_unit_test(test_suggest_local__for_nothing_is_one),
        cmocka_unit_test(test_suggest_local__refuses_what_a_launch_would_refuse),
    };
    return cmocka_run_group_tests(tests, open_and_make_folders, close_device);
}
