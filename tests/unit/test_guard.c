/* test_guard.c - which kernels can be launched over more items than the range has, judged by their text. */
#include "faults/between.h"

#include <sys/stat.h>

#include "program/code.h"

static bool is_first_in(const char *title, const char *text, const char *options, const char *name)
{
    const char *const dirs[] = { ".", NULL };
    const ndr_source_desc desc = { .title = title, .text = text, .include_dirs = dirs };
    ndr_source source = { 0 };
    assert_ok(ndr_source_expand(&desc, &source));
    bool first;
    assert_ok(ndr_guard_read(&source.code, options, name, &first));
    ndr_source_free(&source);
    return first;
}

static bool is_first_with(const char *text, const char *options) { return is_first_in("source", text, options, "k"); }

#define INCLUDE "#include <ndr/item.clh>\n"
#define HEAD "kernel void k(global int *x, NDR_RANGE(1))"
#define ITEM "const ndr_item it = NDR_ITEM(1);"
#define REST " x[ndr_global_id(it, 0)] = 1; }\n"
#define PLAIN HEAD "\n{\n    " ITEM "\n   " REST

#define assert_first(text) assert_true(is_first_with(INCLUDE text, ""))
#define assert_not_first(text) assert_false(is_first_with(INCLUDE text, ""))

/* ---- guarded ---- */

static void test_guard__is_seen_where_the_item_is_first(void **state)
{
    assert_first(PLAIN);
    assert_first("__" PLAIN);
    assert_first(HEAD "{ndr_item it=NDR_ITEM(1);" REST);
    assert_first("kernel void k(global int *x, NDR_RANGE(2)) { const ndr_item it = NDR_ITEM(2);" REST);
    assert_first("kernel void k(global int *x, NDR_RANGE(3)) { const ndr_item it = NDR_ITEM( 3 );" REST);
    assert_first(HEAD "{ const size_t i = ndr_global_id(NDR_ITEM(1), 0); x[i] = 1; }");
    assert_first("int f(int a) { return a; }" PLAIN "kernel void other(global int *x, NDR_RANGE(1)) { x[0] = 1; }");
}

static void test_guard__is_seen_through_blanks_and_comments(void **state)
{
    assert_first("kernel\n  void\tk /* k */ (global int *x, // k(\n NDR_RANGE(1) )\n\n{ /* get_global_size( */\n"
                 "  // atomic_inc(x);\\\n  atomic_inc(x);\n  const\n\tndr_item   it\n=\n  NDR_ITEM\n (1);" REST);
    assert_first("/* kernel void k( */\n" PLAIN "// k, barrier\n");
    assert_first(HEAD " \\\n{ const ndr_\\\nitem it = NDR_ITEM(1);" REST);
    assert_first(PLAIN "constant char s[] = \"k \\\" get_global_size ## /*\";");
    assert_first("kernel void k(global int *x, int n __attribute__((unused)), NDR_RANGE(1)) {" ITEM REST);
}

/* The vocabulary's own text has calls that a kernel may not have. */
static void test_guard__is_looked_for_in_the_programs_own_text(void **state)
{
    assert_true(is_first_with("#include <ndr/ndr.clh>\n" PLAIN, ""));
    assert_true(is_first_with(INCLUDE PLAIN, "-DN=3 -cl-finite-math-only"));
    write_file("has_it.clh", PLAIN);
    write_file("asks.clh", "size_t all(void) { return get_global_size(0); }\n");
    assert_first("#include \"has_it.clh\"\n");
    assert_not_first("#include \"asks.clh\"\n" PLAIN);
    assert_true(is_first_in("kernels/ndr/mine.clh", INCLUDE PLAIN, "", "k"));
}

/* A program's folder may have the same name as the vocabulary's. Its files still belong to the program. */
static void test_guard__is_not_looked_for_behind_our_names(void **state)
{
    (void)mkdir("kernels", 0777); /* may exist from an earlier run */
    (void)mkdir("kernels/ndr", 0777);
    write_file("kernels/ndr/item.clh", "#define NDR_ITEM(dims) another\n");
    const ndr_source_desc desc = { .title = "main.cl", .text = "#include \"kernels/ndr/item.clh\"\n" PLAIN, .is_file = true };
    ndr_source source = { 0 };
    bool first = true;
    assert_ok(ndr_source_expand(&desc, &source));
    assert_ok(ndr_guard_read(&source.code, "", "k", &first));
    assert_false(first);
    assert_non_null(strstr(source.text.chars, "#define NDR_ITEM(dims) another"));
    ndr_source_free(&source);

    const char *const dirs[] = { "kernels/ndr", NULL }; /* found through an include folder */
    const ndr_source_desc other = { .title = "main.cl", .text = "#include <item.clh>\n" PLAIN, .include_dirs = dirs };
    assert_ok(ndr_source_expand(&other, &source));
    assert_non_null(strstr(source.text.chars, "#define NDR_ITEM(dims) another"));
    first = true;
    assert_ok(ndr_guard_read(&source.code, "", "k", &first));
    assert_false(first);
    ndr_source_free(&source);
}

#define OTHER "kernel void other(local int *t) { if (t[0]) { barrier(1); } }\n"

/* Without memory the bodies of other kernels cannot be left out. The result must be an error and not "not guarded". */
static void test_guard__without_memory_is_not_decided(void **state)
{
    ndr_source source = { 0 };
    assert_ok(ndr_source_expand(&(ndr_source_desc){ .title = "source", .text = OTHER PLAIN }, &source));
    size_t refusals = 0;
    for (bool refused = true; refused; refusals += refused) {
        bool first = false;
        refuse(CALL_malloc, refusals, 0);
        const ndr_status status = ndr_guard_read(&source.code, "", "k", &first);
        refused = refuse_none();
        assert_int_equal(status, refused ? NDR_OUT_OF_HOST_MEMORY : NDR_OK);
        assert_int_equal(first, !refused);
    }
    assert_true(refusals >= 1);
    ndr_source_free(&source);
}

/* ---- not shown to be guarded ---- */

static void test_guard__is_not_seen_behind_other_code(void **state)
{
    assert_not_first(HEAD "{ x[0] = 1; }");
    assert_not_first(HEAD "{ atomic_inc(x); " ITEM REST);
    assert_not_first(HEAD "{ ; " ITEM REST);
    assert_not_first(HEAD "{ { " ITEM REST "}");
    assert_not_first(HEAD "{ int i = 0; " ITEM REST);
    assert_not_first(HEAD "{ const ndr_item it = atomic_inc(x) ? NDR_ITEM(1) : NDR_ITEM(1);" REST);
    assert_not_first(HEAD "{ const ndr_item it = (atomic_inc(x), NDR_ITEM(1));" REST);
    assert_not_first(HEAD "{ const size_t i = f(x, NDR_ITEM(1)); }");
    assert_not_first(HEAD "{ const int y = atomic_inc(x), z = 1; " ITEM REST);
    assert_not_first(HEAD "{ x[ndr_global_id(NDR_ITEM(1), 0)] = 1; }");
    assert_not_first(HEAD "{ f(NDR_ITEM(1)); }");
    assert_not_first(HEAD "{ const size_t i = ndr_global_id(NDR_ITEM(1), atomic_inc(x) * 0); x[i] = 1; }");
    assert_not_first(HEAD "{ const size_t i = ndr_global_id(NDR_ITEM(1), 0 * atomic_inc(x)); x[i] = 1; }");
    assert_not_first(HEAD "{ const size_t i = ndr_global_id(NDR_ITEM(1), 0) + atomic_inc(x); x[i] = 1; }");
    assert_not_first(HEAD "{ x[atomic_inc(x)] = ndr_global_id(NDR_ITEM(1), 0); }");
    assert_not_first("kernel void k(global int *x, NDR_RANGE(0)) { const ndr_item it = NDR_ITEM(0);" REST);
    assert_not_first("kernel void k(global int *x, NDR_RANGE(DIMS)) { const ndr_item it = NDR_ITEM(DIMS);" REST);
    assert_not_first(HEAD ";");
    assert_not_first(HEAD);
    assert_not_first(HEAD "{");
    assert_not_first("kernel void k(");
    assert_not_first("");
}

static void test_guard__is_not_seen_in_other_kernels(void **state)
{
    assert_not_first("kernel void kk(global int *x, NDR_RANGE(1)) {" ITEM REST);
    assert_not_first("kernel void k2(global int *x, NDR_RANGE(1)) {" ITEM REST "kernel void k(NDR_RANGE(1)) {}");
    assert_not_first("void k(global int *x, NDR_RANGE(1)) {" ITEM REST);
    assert_not_first("nokernel void k(global int *x, NDR_RANGE(1)) {" ITEM REST);
}

static void test_guard__is_not_seen_where_the_name_stands_twice(void **state)
{
    assert_not_first(HEAD ";\n" PLAIN);
    assert_not_first("#if 1\n" PLAIN "#else\n" HEAD "{ x[0] = 1; }\n#endif\n");
    assert_not_first(PLAIN "kernel void j(global int *x, NDR_RANGE(1)) { k(x, ndr_record_); }\n");
    assert_not_first("#if 0\n" PLAIN "#endif\n"
                     "#define K(k) kernel void k(global int *x, NDR_RANGE(1)) { x[0] = 1; }\nK(k)\n");
    assert_false(is_first_with(INCLUDE "#if 0\n" PLAIN "#endif\nkernel void NAME(NDR_RANGE(1)) {}\n", "-D NAME=k"));
}

static void test_guard__is_not_seen_through_the_preprocessor(void **state)
{
    assert_not_first("#define KERNEL " HEAD " {" ITEM REST "KERNEL");
    assert_not_first("#define KERNEL kernel void k(global int *x, NDR_RANGE(1)) \\\n {" ITEM REST "KERNEL");
    assert_false(is_first_in("source",
                             INCLUDE "#define K(n) kernel void k##n(global int *x, NDR_RANGE(1)) { x[0] = 1; }\nK(2)\n"
                                     "#if 0\nkernel void k2(global int *x, NDR_RANGE(1)) {" ITEM REST "#endif\n",
                             "", "k2"));
    assert_not_first(HEAD "{\n#ifdef COUNT\n x[0] = 1;\n#endif\n" ITEM REST);
    assert_not_first("kernel void k(global int *x,\n#if 1\nNDR_RANGE(1)) {" ITEM
                     "\n#else\nNDR_RANGE(1)) {\n#endif\n" REST);
    assert_not_first("#include \"nowhere.clh\"\n" PLAIN);
    assert_not_first("#  include <nowhere.clh>\n" PLAIN);
}

static void test_guard__is_not_seen_where_its_words_are_macros(void **state)
{
    static const char *const words[] = { "const", "ndr_item", "it", "NDR_ITEM" };
    for (size_t i = 0; i < 4; ++i) {
        char text[512], option[64];
        snprintf(text, sizeof text, INCLUDE "#define %s what\n" PLAIN, words[i]);
        assert_false(is_first_with(text, ""));
        snprintf(text, sizeof text, INCLUDE "# undef  %s\n" PLAIN, words[i]);
        assert_false(is_first_with(text, ""));
        snprintf(option, sizeof option, "-cl-mad-enable -D%s=what", words[i]);
        assert_false(is_first_with(INCLUDE PLAIN, option));
        snprintf(option, sizeof option, "-D %s", words[i]);
        assert_false(is_first_with(INCLUDE PLAIN, option));
    }
    assert_not_first("#undef NDR_ITEM\n" HEAD "{ const size_t i = ndr_global_id(NDR_ITEM(1), 0); x[i] = 1; }");
    assert_not_first("#define ndr_global_id(it, d) atomic_inc(x)\n" HEAD
                     "{ const size_t i = ndr_global_id(NDR_ITEM(1), 0); }");
}

static void test_guard__is_seen_beside_attributes(void **state)
{
    assert_first("kernel __attribute__((reqd_work_group_size(8, 1, 1)))\n"
                 "void k(global int *x, NDR_RANGE(1)) {" ITEM REST);
    assert_first(HEAD " __attribute__((vec_type_hint(int))) {" ITEM REST);
}

/* ---- functions that depend on the number of items launched ---- */

static const char *const launch_calls[] = {
    "get_global_size(0)", "get_global_linear_id()", "get_local_size(0)", "get_local_id(0)", "get_group_id(0)",
    "get_local_linear_id()", "get_enqueued_local_size(0)", "get_num_groups(0)", "get_sub_group_size()",
    "get_num_sub_groups()", "get_max_sub_group_size()", "barrier(CLK_LOCAL_MEM_FENCE)", "work_group_all(1)",
    "work_group_barrier(1)", "sub_group_any(1)", "intel_sub_group_shuffle(1, 1)", "wait_group_events(1, e)",
};

static bool is_first_beside(const char *before, const char *word, const char *after)
{
    char text[512];
    snprintf(text, sizeof text, INCLUDE "%s%s%s", before, word, after);
    return is_first_with(text, "");
}

static void test_guard__does_not_count_beside_what_sees_opencl_s_launch(void **state)
{
    for (size_t i = 0; i < sizeof launch_calls / sizeof launch_calls[0]; ++i) {
        char option[64];
        snprintf(option, sizeof option, "-DWHAT=%s", launch_calls[i]);
        assert_false(is_first_with(INCLUDE PLAIN, option));
        assert_false(is_first_beside("size_t f(void) { return ", launch_calls[i], "; }\n" PLAIN));
        assert_false(is_first_beside("#define WHAT ", launch_calls[i], "\n" PLAIN));
        assert_false(is_first_beside(HEAD " {" ITEM " x[0] = ", launch_calls[i], ";" REST));
        assert_true(is_first_beside("constant char f[] = \"", launch_calls[i], "\";\n" PLAIN));
    }
    assert_first("size_t f(void) { return get_global_id(0) + get_global_offset(0) + get_work_dim(); }\n" PLAIN);
    assert_first("void f(void) { ndr_group_barrier(1); my_get_local_size(); }\n" PLAIN);
}

static void test_guard__counts_beside_what_other_kernels_do(void **state)
{
    for (size_t i = 0; i < sizeof launch_calls / sizeof launch_calls[0]; ++i)
        assert_true(is_first_beside(PLAIN "kernel void other(global int *x) { x[0] = ", launch_calls[i], "; }\n"));
    assert_first(OTHER PLAIN "__kernel __attribute__((reqd_work_group_size(8, 1, 1))) void more(NDR_RANGE(1)) { barrier(2); }\n");
    assert_first("int f(void) { return 1; }\n" OTHER "#pragma unroll\n" PLAIN);
    assert_first("#if A\n" OTHER "#endif\n" PLAIN);
}

static void test_guard__reads_over_pragmas_that_leave_macros_alone(void **state)
{
    assert_first(HEAD "{" ITEM "\n#pragma unroll 4\nfor (int i = 0; i < 4; ++i) x[i] = 1; }");
    assert_first(HEAD "{\n#pragma OPENCL FP_CONTRACT OFF\n" ITEM REST);
    assert_not_first(HEAD "{" ITEM "\n#pragma push_macro(\"F\")\n" REST);
    assert_not_first(HEAD "{" ITEM "\n# pragma pop_macro(\"F\")\n" REST);
    assert_not_first(HEAD "{" ITEM "\n#if A\n" REST "\n#endif\n");
}

/* Other kernels do count if this kernel may call them, or if their end is not certain. */
static void test_guard__does_not_count_beside_kernels_that_may_be_its_own(void **state)
{
    assert_not_first(OTHER HEAD " {" ITEM " other(x);" REST);
    assert_not_first(OTHER "void f(void) { other(0); }\n" PLAIN);
    assert_not_first(OTHER "#define CALL other(0)\n" PLAIN);
    assert_false(is_first_with(INCLUDE OTHER PLAIN, "-DCALL=other"));
    assert_not_first("kernel void other(local int *t) {\n#if A\n}\n#else\n}\n#endif\nvoid f(void) { barrier(1); }\n" PLAIN);
    assert_not_first("#define END }\nkernel void other(void) { END\nvoid f(void) { barrier(1); }}\n" PLAIN);
    assert_false(is_first_with(INCLUDE "kernel void other(void) { END\nvoid f(void) { barrier(1); }}\n" PLAIN, "-DEND=}"));
    assert_not_first("kernel void other(void) { %>\nvoid f(void) <% barrier(1); }\n" PLAIN);
    assert_not_first("kernel void other(void) { x?\?/\n; }\n" PLAIN);
    assert_not_first("kernel void other(void) { { barrier(1); }\n" PLAIN);
    assert_not_first("#define MAKE(other) kernel void other(void) { barrier(1); }\n" PLAIN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_guard__without_memory_is_not_decided),
        cmocka_unit_test(test_guard__is_seen_where_the_item_is_first),
        cmocka_unit_test(test_guard__is_seen_through_blanks_and_comments),
        cmocka_unit_test(test_guard__is_looked_for_in_the_programs_own_text),
        cmocka_unit_test(test_guard__is_not_looked_for_behind_our_names),
        cmocka_unit_test(test_guard__is_not_seen_behind_other_code),
        cmocka_unit_test(test_guard__is_not_seen_in_other_kernels),
        cmocka_unit_test(test_guard__is_not_seen_where_the_name_stands_twice),
        cmocka_unit_test(test_guard__is_not_seen_through_the_preprocessor),
        cmocka_unit_test(test_guard__is_not_seen_where_its_words_are_macros),
        cmocka_unit_test(test_guard__is_seen_beside_attributes),
        cmocka_unit_test(test_guard__does_not_count_beside_what_sees_opencl_s_launch),
        cmocka_unit_test(test_guard__counts_beside_what_other_kernels_do),
        cmocka_unit_test(test_guard__reads_over_pragmas_that_leave_macros_alone),
        cmocka_unit_test(test_guard__does_not_count_beside_kernels_that_may_be_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
