/* test_outline.c - what a source shows without a device: its text, kernels, parameters and constants. */
#include "support.h"

#include "base/base.h"

#include <ndr/ndr_outline.h>

#include <sys/stat.h>

static ndr_outline *outline_of(const char *text, const char *options)
{
    ndr_outline *outline;
    assert_ok(ndr_outline_create(&(ndr_kernel_desc){ .source = text, .options = options, .label = "k.cl" }, &outline));
    return outline;
}

/* ---- kernels ---- */

/* "name dims groups(x, y, z): declaration, declaration" of each kernel, a line each. */
static void print_kernels(const ndr_outline *outline, ndr_text *out)
{
    ndr_outline_info info;
    ndr_outline_kernel kernel;
    ndr_outline_param param;
    assert_ok(ndr_outline_get_info(outline, &info));
    for (size_t k = 0; k < info.kernel_count; ++k) {
        assert_ok(ndr_outline_get_kernel(outline, k, &kernel));
        const size_t *size = kernel.required_local_size;
        ndr_text_add(out, "%s %u", kernel.name, kernel.dims);
        if (kernel.takes_groups) ndr_text_add(out, " groups");
        if (size[0]) ndr_text_add(out, " of %zu %zu %zu", size[0], size[1], size[2]);
        for (size_t i = 0; i < kernel.param_count; ++i) {
            assert_ok(ndr_outline_get_param(outline, k, i, &param));
            ndr_text_add(out, "%s%s", i > 0 ? ", " : ": ", param.declaration);
        }
        ndr_text_add(out, "\n");
    }
}

static void assert_kernels(const char *text, const char *options, const char *wanted)
{
    ndr_text got = { 0 };
    ndr_outline *outline = outline_of(text, options);
    print_kernels(outline, &got);
    assert_string_equal(got.chars ? got.chars : "", wanted);
    ndr_text_free(&got);
    ndr_outline_destroy(outline);
}

static void test_outline__lists_kernels(void **state)
{
    assert_kernels("kernel void a(global int *x) {}\n__kernel\nvoid b(void) {} kernel void c() {}", NULL,
                   "a 0: global int *x\nb 0\nc 0\n");
    assert_kernels("kernel void a(int x); kernel void a(int x) {} // kernel void b(int x) {}\nvoid c(int kernels) {}", NULL,
                   "a 0: int x\n");
    assert_kernels("kernel void a(int x,\n  /* a */ float\ty, NDR_RANGE(2)) {\n#if A\n}\n#else\n}\n#endif\n", NULL,
                   "a 2: int x, float y\n");
    assert_kernels("kernel void a(float x, NDR_ND_RANGE( 3 )) {} kernel void b(NDR_ND_RANGE(0)) {}", NULL,
                   "a 3 groups: float x\nb 0 groups\n");
    assert_kernels("kernel void a(global int *x, NDR_REDUCTION(1, (SUM, float, s), (MIN, int , m))) {}", NULL,
                   "a 1: global int *x, (SUM, float, s), (MIN, int , m)\n");
    assert_kernels("", NULL, "");
}

static void test_outline__tells_required_groups(void **state)
{
    assert_kernels("kernel __attribute__((reqd_work_group_size(8, 4, 1))) void a(NDR_ND_RANGE(2)) {}", NULL,
                   "a 2 groups of 1 4 8\n");
    assert_kernels("#define T 4\nkernel void a() __attribute__((reqd_work_group_size(T * 2, T+D, 2))) {}", "-DD=3",
                   "a 0 of 2 7 8\n");
    assert_kernels("kernel __attribute__((reqd_work_group_size(T, 4, 1))) void a() {} kernel void b() {}", NULL,
                   "a 0\nb 0\n");
}

static void test_outline__replaces_macros_of_one_definition(void **state)
{
    assert_kernels("#define REAL float\n#define ARGS global REAL *x, int n\nkernel void a(ARGS, NDR_RANGE(1)) {}", NULL,
                   "a 1: global float *x, int n\n");
    assert_kernels("#ifndef REAL\n#define REAL float\n#endif\nkernel void a(REAL x) {}", "-D REAL=double -DB", "a 0: double x\n");
    assert_kernels("#ifdef B\n#define REAL float\n#else\n#define REAL double\n#endif\nkernel void a(REAL x) {}", NULL,
                   "a 0: REAL x\n");
    assert_kernels("#define REAL float\n#undef REAL\n#define X X\nkernel void a(REAL X) {}", NULL, "a 0: REAL X\n");
}

static void test_outline__lists_a_kernel_of_two_branches_once(void **state)
{
    ndr_outline *outline = NULL;
    assert_kernels("#if A\nkernel void a(int x) {}\n#else\nkernel void a( int  x ) {}\n#endif\n", NULL, "a 0: int x\n");
    const ndr_kernel_desc two = { .source = "#if A\nkernel void a(int x) {}\n#else\nkernel void a(float x) {}\n#endif\n" };
    assert_refused(NDR_UNSUPPORTED, ndr_outline_create(&two, &outline),
                   "\"source\" has two kernels \"a\" with different parameters; give each its own name");
    assert_null(outline);
}

static void test_outline__refuses_parameters_that_the_text_does_not_show(void **state)
{
    ndr_outline *outline = NULL;
    const ndr_kernel_desc hidden = { .source = "#define P(t, n) t n\nkernel void a(int x, P(int, y)) {}", .label = "k.cl" };
    assert_refused(NDR_UNSUPPORTED, ndr_outline_create(&hidden, &outline),
                   "\"k.cl\", kernel \"a\": parameter 1, \"P(int, y)\", is not an address space, a type and a name; "
                   "write these instead of a macro with arguments");
    const ndr_kernel_desc split = { .source = "kernel void a(int x\n#if B\n, int y\n#endif\n) {}", .label = "k.cl" };
    assert_refused(NDR_UNSUPPORTED, ndr_outline_create(&split, &outline),
                   "\"k.cl\" has a kernel with a directive such as #if among its parameters; write two kernels, or put "
                   "the directive in front of the kernel");
    assert_refused(NDR_UNSUPPORTED, ndr_outline_create(&(ndr_kernel_desc){ .source = "kernel void a(NDR_REDUCTION(1, SUM)) {}" }, &outline),
                   "\"source\", kernel \"a\": parameter 0, \"SUM\", is not an address space, a type and a name; write "
                   "these instead of a macro with arguments");
    assert_refused(NDR_BAD_ARGUMENT, ndr_outline_create(&(ndr_kernel_desc){ .name = "a" }, &outline),
                   "ndr_outline_create: none of desc->source and desc->file is set; set just one");
    assert_refused(NDR_BAD_ARGUMENT, ndr_outline_create(&(ndr_kernel_desc){ .source = "", .file = "" }, &outline),
                   "ndr_outline_create: each of desc->source and desc->file is set; set just one");
}

/* ---- parameters ---- */

/* "kind type dtype lanes", with "const" and the header. */
static void assert_param(const char *before, const char *declaration, const char *name, const char *wanted)
{
    static const char *const kinds[] = { "any", "buffer", "local", "number", "vector", "struct", "image", "sampler", "reducer" };
    ndr_text text = { 0 }, got = { 0 };
    ndr_outline_param param;
    ndr_text_add(&text, "%s\nkernel void k(%s) {}", before, declaration);
    ndr_outline *outline = outline_of(text.chars, NULL);
    assert_ok(ndr_outline_get_param(outline, 0, 0, &param));
    ndr_text_add(&got, "%s %s %s %u%s", kinds[param.kind], param.type_name, ndr_dtype_name(param.dtype), param.lanes,
                 param.is_const ? " const" : "");
    assert_string_equal(param.name, name);
    assert_string_equal(got.chars, wanted);
    ndr_outline_destroy(outline);
    ndr_text_free(&text);
    ndr_text_free(&got);
}

static void test_outline__classifies_parameters(void **state)
{
    assert_param("", "global const float *restrict x", "x", "buffer float f32 1 const");
    assert_param("", "const __global volatile uint4*x", "x", "buffer uint4 u32 4 const");
    assert_param("", "__constant struct pair * x", "x", "buffer struct pair ? 0 const");
    assert_param("", "global float *const x", "x", "buffer float f32 1");
    assert_param("", "global int x[]", "x", "buffer int i32 1");
    assert_param("", "global float (*rows)[4]", "rows", "buffer float f32 1");
    assert_param("", "global int **x", "x", "buffer int ? 0");
    assert_param("", "local double *t", "t", "local double f64 1");
    assert_param("", "__local float3 t[16]", "t", "local float3 f32 3");
    assert_param("", "local float (*t)[4]", "t", "any float f32 1");
    assert_param("", "const unsigned int n", "n", "number unsigned int u32 1");
    assert_param("", "__private ulong n", "n", "number ulong u64 1");
    assert_param("", "half h", "h", "number half f16 1");
    assert_param("", "char16 v", "v", "vector char16 i8 16");
    assert_param("", "read_only image2d_array_t i", "i", "image image2d_array_t ? 0");
    assert_param("", "image3d_t i", "i", "image image3d_t ? 0");
    assert_param("", "sampler_t s", "s", "sampler sampler_t ? 0");
    assert_param("", "struct pair p", "p", "struct struct pair ? 0");
    assert_param("typedef struct { int a[2]; } cell;", "cell c", "c", "struct cell ? 0");
    assert_param("", "enum mode m", "m", "any enum mode ? 0");
    assert_param("", "unknown u", "u", "any unknown ? 0");
    assert_param("", "__attribute__((unused)) int n", "n", "number int i32 1");
    assert_param("", "NDR_REDUCTION(2, (MAX, double, m))", "m", "reducer double f64 1");
}

static void test_outline__resolves_typedefs_of_one_definition(void **state)
{
    assert_param("typedef float real;", "real x", "x", "number real f32 1");
    assert_param("typedef float4 vec; typedef const vec vecs;", "vec x", "x", "vector vec f32 4");
    assert_param("#define R double\ntypedef R real; typedef real inner;", "local inner *x", "x", "local inner f64 1");
    assert_param("#if D\ntypedef double real;\n#else\ntypedef float real;\n#endif", "real x", "x", "any real ? 0");
    assert_param("typedef float rows[4]; typedef a b; typedef b a;", "rows x", "x", "any rows ? 0");
    assert_param("typedef a b; typedef b a;", "a x", "x", "any a ? 0");
}

/* ---- constants ---- */

static void assert_constants(const char *text, const char *options, const char *wanted)
{
    ndr_text got = { 0 };
    ndr_outline_info info;
    ndr_outline_constant constant;
    ndr_outline *outline = outline_of(text, options);
    assert_ok(ndr_outline_get_info(outline, &info));
    for (size_t i = 0; i < info.constant_count; ++i) {
        assert_ok(ndr_outline_get_constant(outline, i, &constant));
        ndr_text_add(&got, "%s=%lld ", constant.name, (long long)constant.value);
    }
    assert_string_equal(got.chars ? got.chars : "", wanted);
    ndr_text_free(&got);
    ndr_outline_destroy(outline);
}

static void test_outline__lists_constants(void **state)
{
    assert_constants("#define A 16\n#define B (A * 2 + 1)\n#define C -0x1Fu\n#define D 010\n#define E ~0\n", NULL,
                     "A=16 B=33 C=-31 D=8 E=-1 ");
    assert_constants("#define A 1 << 4 | 3\n#define B (7 - 2 - 1) / 2 % 3\n#define C (1 ^ 3) & 2 >> 1\n", NULL,
                     "A=19 B=2 C=0 ");
    assert_constants("#ifndef N\n#define N 4\n#endif\n#define M N\n", "-DN=9 -D K -D F=1.0f", "N=9 K=1 M=9 ");
    assert_constants("constant int n = 3;\n__constant uint m = n_ + 1;\nconstant const uchar k = 2 * 8;", NULL, "n=3 k=16 ");
    assert_constants("#define R 1\nconstant float w[2 * R + 1] = { 0 }; constant int v[4];", NULL, "R=1 w_count=3 v_count=4 ");
    assert_constants("#define A 2147483647\n#define B 2147483648\n#define C -2147483647 - 1\n", NULL,
                     "A=2147483647 C=-2147483648 ");
}

static void test_outline__lists_no_constants_that_are_not_plain(void **state)
{
    assert_constants("#define A 1.0\n#define B 1e3\n#define C 'c'\n#define D x\n#define E(x) 1\n#define F\n#define G 1 +\n",
                     NULL, "");
    assert_constants("#define A 1\n#undef A\n#define B 1\n#if X\n#define B 2\n#endif\n#define C 1 / 0\n#define D 1 && 2\n", NULL,
                     "");
    assert_constants("#define A 65536 * 65536\n#define B 08\n#define C 0x\n#define D (1\n#define E 1)\n#define F 1 << 40\n", NULL,
                     "");
    assert_constants("constant float x = 1; constant int y = f(3); constant int z[] = { 1 };", NULL, "");
    assert_constants("kernel void k(constant int *n, constant float w[9]) {}", NULL, "");
    assert_constants("#include <ndr/nd_item.clh>\n", NULL, "");
}

/* ---- the text ---- */

static void test_outline__has_the_text_with_includes(void **state)
{
    (void)mkdir("kernels", 0777);
    (void)mkdir("shared", 0777);
    write_file("shared/pair.h", "#ifndef PAIR\n#define PAIR\n#ifndef __OPENCL_VERSION__\n#include <nowhere.h>\n#endif\n"
                                "struct pair { int a; };\n#endif\n");
    write_file("kernels/b.clh", "#include <ndr/op.clh>\n#include \"pair.h\"\nint b;");
    write_file("kernels/a.cl", "#include <ndr/item.clh>\n#include \"b.clh\"\n"
                               "kernel void k(struct pair p, local struct pair *q) {}\n");
    ndr_outline *outline;
    ndr_outline_info info;
    ndr_outline_param param;
    const char *const dirs[] = { "shared", NULL };
    assert_ok(ndr_outline_create(&(ndr_kernel_desc){ .file = "kernels/a.cl", .include_dirs = dirs }, &outline));
    assert_ok(ndr_outline_get_info(outline, &info));
    assert_string_equal(info.text, "#line 1 \"a.cl\"\n#include <ndr/item.clh>\n#line 1 \"b.clh\"\n#include <ndr/op.clh>\n"
                                   "#line 1 \"pair.h\"\n#ifndef PAIR\n#define PAIR\n#ifndef __OPENCL_VERSION__\n"
                                   "#include <nowhere.h>\n#endif\nstruct pair { int a; };\n#endif\n\n#line 3 \"b.clh\"\nint b;\n"
                                   "#line 3 \"a.cl\"\nkernel void k(struct pair p, local struct pair *q) {}\n\n");
    assert_null(strstr(info.full_text, "#include <ndr/"));
    assert_non_null(strstr(info.full_text, "ndr_record;"));
    assert_non_null(strstr(info.full_text, "#line 3 \"kernels/b.clh\"\nint b;\n"));
    assert_string_equal(info.files[0], "kernels/a.cl");
    assert_string_equal(info.files[1], "kernels/b.clh");
    assert_string_equal(info.files[2], "shared/pair.h");
    assert_null(info.files[3]);
    assert_non_null(strstr(info.absent[0], "'nowhere.h' is not in "));
    assert_null(info.absent[1]);
    for (size_t i = 0; i < 2; ++i) {
        assert_ok(ndr_outline_get_param(outline, 0, i, &param));
        assert_string_equal(param.header, "pair.h");
    }
    ndr_outline_destroy(outline);
}

static void test_outline__refuses_a_file_that_only_the_compiler_finds(void **state)
{
    ndr_outline *outline = NULL;
    const ndr_kernel_desc desc = { .source = "#include NAME(x)\nkernel void k() {}", .options = "-I/tmp", .label = "k.cl" };
    assert_refused(NDR_UNSUPPORTED, ndr_outline_create(&desc, &outline),
                   "\"k.cl\" includes a file whose name only the compiler can expand, so its text cannot be taken in: write "
                   "the name out");
    assert_null(outline);
}

static void test_outline__refuses_wrong_indexes(void **state)
{
    ndr_outline_kernel kernel;
    ndr_outline_param param;
    ndr_outline_constant constant;
    ndr_outline *outline = outline_of("kernel void k(int n) {}", NULL);
    assert_refused(NDR_BAD_ARGUMENT, ndr_outline_get_kernel(outline, 1, &kernel),
                   "ndr_outline_get_kernel: index is 1, but \"k.cl\" has 1 kernels");
    assert_refused(NDR_BAD_ARGUMENT, ndr_outline_get_param(outline, 0, 1, &param),
                   "ndr_outline_get_param: index is 1, but kernel \"k\" has 1 parameters");
    assert_refused(NDR_BAD_ARGUMENT, ndr_outline_get_constant(outline, 0, &constant),
                   "ndr_outline_get_constant: index is 0, but \"k.cl\" has 0 constants");
    ndr_outline_destroy(outline);
    ndr_outline_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_outline__lists_kernels),
        cmocka_unit_test(test_outline__tells_required_groups),
        cmocka_unit_test(test_outline__replaces_macros_of_one_definition),
        cmocka_unit_test(test_outline__lists_a_kernel_of_two_branches_once),
        cmocka_unit_test(test_outline__refuses_parameters_that_the_text_does_not_show),
        cmocka_unit_test(test_outline__classifies_parameters),
        cmocka_unit_test(test_outline__resolves_typedefs_of_one_definition),
        cmocka_unit_test(test_outline__lists_constants),
        cmocka_unit_test(test_outline__lists_no_constants_that_are_not_plain),
        cmocka_unit_test(test_outline__has_the_text_with_includes),
        cmocka_unit_test(test_outline__refuses_a_file_that_only_the_compiler_finds),
        cmocka_unit_test(test_outline__refuses_wrong_indexes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
