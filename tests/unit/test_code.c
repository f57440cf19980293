/* test_code.c - a program's text reduced to code: its macros, its kernels, and the types that they take. */
#include "support.h"

#include "program/code.h"

/* Read a text as that of a program; free `source`. */
static void read_source(const char *text, ndr_source *source)
{
    *source = (ndr_source){ 0 };
    assert_ok(ndr_source_expand(&(ndr_source_desc){ .title = "source", .text = text }, source));
}

static void test_code__has_no_comments_strings_and_directives(void **state)
{
    static const char text[] = "int a; /* b\n c */ int\td; // e \\\n f\n"
                               "#include <ndr/item.clh>\n#line 9 \"source\"\n"
                               "  # /* g */ define  H(i) j \\\n k\n"
                               "char c[] = \"l \\\" /* m\", n = '\"';\n#undef O\n#include <p.h>\n#pragma q\nint \\\nr_\\\nr;";
    ndr_source source;
    read_source(text, &source);
    const ndr_code code = source.code;
    char *at = code.chars.chars, *end = at;
    for (; *at; ++at)
        if (*at != ' ' || (end > code.chars.chars && end[-1] != ' ')) *end++ = *at; /* one blank replaces several */
    *end = '\0';
    assert_string_equal(code.chars.chars, "int a; int d; # char c[] = \"\", n = ''; # # int r_r; ");
    assert_string_equal(code.macros.chars, "\nH(i) j  k\n O\ninclude\n");
    assert_true(ndr_code_redefines(&code, "", "H(1)"));
    assert_true(ndr_code_redefines(&code, "", "O"));
    assert_true(ndr_code_redefines(&code, "-D i=1 -Dk", "i"));
    assert_true(ndr_code_redefines(&code, "-D i=1 -Dk", "k"));
    assert_false(ndr_code_redefines(&code, "", "j"));
    assert_false(ndr_code_redefines(&code, "", "NDR_ITEM"));
    ndr_source_free(&source);
}

static void assert_kernel(const char *text, const char *name, const char *list, const char *body)
{
    ndr_source source;
    ndr_code_kernel found;
    read_source(text, &source);
    const char *at = source.code.chars.chars;
    assert_true(ndr_code_next_kernel(&at, &found));
    assert_memory_equal(found.name, name, strlen(name));
    assert_memory_equal(found.list, list, strlen(list));
    if (body) assert_memory_equal(found.body, body, strlen(body));
    if (body) assert_int_equal(found.end - found.body, strlen(body) + 1); /* plus a blank */
    else assert_null(found.body);
    assert_false(ndr_code_next_kernel(&at, &found));
    ndr_source_free(&source);
}

static void test_code__has_kernels(void **state)
{
    assert_kernel("kernel void k(int a) { if (a) { } } int b;", "k(", "(int a)", "{ if (a) { } }");
    assert_kernel("int b; __kernel __attribute__((x(1))) void k (f(a), g) __attribute__((y)) {}", "k ", "(f(a), g)", "{}");
    assert_kernel("kernel void k(int a);", "k", "(int a)", NULL);
    assert_kernel("kernel void k(int a) {\n#if B\n}\n#endif\n", "k", "(int a)", NULL);
    assert_kernel("kernel void k(int a) { {", "k", "(int a)", NULL);
    assert_kernel("my_kernel kernel 3 kernel; kernel void k(int a) { }", "k", "(int a)", "{ }");
}

static void assert_types(const char *text, const char *options, const char *wanted)
{
    ndr_text got = { 0 };
    ndr_source source;
    read_source(text, &source);
    ndr_code_list_types(&source.code, options, &got);
    assert_string_equal(got.chars ? got.chars : "", wanted);
    ndr_text_free(&got);
    ndr_source_free(&source);
}

static void test_code__lists_types_passed_by_value_or_in_local_memory(void **state)
{
    assert_types("kernel void k(pair a, const struct cell b, union u c, enum e d) {}", "",
                 "pair\nstruct cell\nunion u\nenum e\n");
    assert_types("__kernel void k(__global pair *a, __local const pair *restrict b, local struct cell*c, constant pair *d) {}",
                 "", "pair*\nstruct cell*\n");
    assert_types("void f(pair a); kernel void k(int a, real /* of */ b // real c,\n, real_t d);", "", "int\nreal\nreal_t\n");
    assert_types("kernel __attribute__((reqd_work_group_size(8, 1, 1))) void k(pair a) { f(b, c); }\n"
                 "kernel void l(cell a) __attribute__((unused));", "", "pair\ncell\n");
    assert_types("kernel\nvoid\nk\n(\npair\na\n)\n{\n}\n__kernel void l(cell const b){}", "", "pair\ncell\n");
    assert_types("kernel void k(void) {} kernel void l() {}", "", "");
}

static void test_code__lists_no_types_that_it_cannot_tell(void **state)
{
    assert_types("kernel void k(INTS(a), NDR_RANGE(1), local float (*rows)[4], local pair a[4], pair) {}", "", "");
    assert_types("kernel void k(read_only I a, __write_only I b, unsigned int c, global G d, pipe int e) {}", "", "");
    assert_types("#define T pair\nkernel void k(T a, U b, V c) {}\n#undef V", "-DU=pair", "");
    assert_types("#define K(T) kernel void k(T a) {}\nK(pair)\n#define L kernel \\\n void l(pair a) {}", "", "");
    assert_types("kernel void k(pair a,\n#ifdef B\ncell b\n#endif\n) {}", "", "");
    assert_types("kernel void k(pair a, \"", "", "");
    assert_types("kernel", "", "");
    assert_types("", "", "");
    assert_types("/* kernel void k(pair a) {} */ // kernel void l(cell b) {}\nconstant char c[] = \"kernel void m(pair a) {}\";", "",
                 "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_code__has_no_comments_strings_and_directives),
        cmocka_unit_test(test_code__has_kernels),
        cmocka_unit_test(test_code__lists_types_passed_by_value_or_in_local_memory),
        cmocka_unit_test(test_code__lists_no_types_that_it_cannot_tell),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
