/* test_paste.c - programs of several files, compared with the driver's own reading of the same files.
 *
 * Random files write __LINE__, the length of __FILE__ and macros into a buffer, through libndr's one text and
 * through -I; both must be the same. The first seed is printed. NDR_TEST_SEED=n begins with the files of seed n,
 * NDR_TEST_LONG=1 makes 300 programs. */
#include "support.h"

#include <sys/stat.h>

#include "ndr/ndr_cl.h"
#include "reference.h"

enum { FILES = 6, MACROS = 4, NOTES = 4096 };

/* ---- a program of files ---- */

static uint64_t seed;

static unsigned below(unsigned n) { return (unsigned)(random_bits(&seed) >> 33) % n; }

typedef struct program {
    char text[FILES + 1][8192]; /* the last is the main file's */
    size_t length[FILES + 1];
    const char *folder[FILES];
} program;

static void add(program *p, size_t file, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const size_t left = sizeof p->text[file] - p->length[file];
    const int length = vsnprintf(p->text[file] + p->length[file], left, format, args);
    va_end(args);
    assert_true(length >= 0 && (size_t)length < left);
    p->length[file] += (size_t)length;
}

static void add_note(program *p, size_t file) { add(p, file, "NOTE(M%u)\n", below(MACROS)); }

static void add_condition(program *p, size_t file, const char *word)
{
    const unsigned a = below(MACROS), b = below(MACROS);
    switch (below(8)) {
    case 0: add(p, file, "#%s defined(M%u)\n", word, a); break;
    case 1: add(p, file, "#%s !defined M%u\n", word, a); break;
    case 2: add(p, file, "#%s M%u == %u\n", word, a, below(3)); break;
    case 3: add(p, file, "#%s M%u > M%u\n", word, a, b); break;
    case 4: add(p, file, "#%s defined M%u && M%u + 0 == %u\n", word, a, b, below(3)); break;
    case 5: add(p, file, "#%s /* is\n it */ __LINE__ > %u\n", word, below(20)); break;
    case 6: add(p, file, "#%s \\\n %u\n", word, below(2)); break;
    default: add(p, file, "#%s M%u\n", word, a); break;
    }
}

/* An #include of a later file, so that inclusion ends. Files in a folder are found through the folder. */
static void add_include(program *p, size_t file)
{
    const size_t next = file == FILES ? below(FILES) : file + 1 + below(FILES);
    if (next >= FILES) {
        add_note(p, file);
        return;
    }
    char name[64];
    snprintf(name, sizeof name, "%cf%zu.clh%c", *p->folder[next] ? '<' : '"', next, *p->folder[next] ? '>' : '"');
    switch (below(10)) {
    case 0: add(p, file, "/* c */ #include %s // of it\n", name); break;
    case 1: add(p, file, "#inc\\\nlude %s /* to\n be */\n", name); break;
    case 2: add(p, file, "%%:include %s\n", name); break;
    case 3: add(p, file, "#define H%zu %s\n#include H%zu\n#undef H%zu\n", file, name, file, file); break;
    case 4: add(p, file, "#if __has_include(%s)\n#include %s\n#else\nNOTE(0)\n#endif\n", name, name); break;
    default: add(p, file, "#include %s\n", name); break;
    }
}

static void add_lines(program *p, size_t file, unsigned depth);

static void add_branches(program *p, size_t file, unsigned depth)
{
    if (below(2)) add_condition(p, file, "if");
    else add(p, file, "#%s M%u\n", below(2) ? "ifdef" : "ifndef", below(MACROS));
    add_lines(p, file, depth + 1);
    while (below(3) == 0) {
        add_condition(p, file, "elif");
        add_lines(p, file, depth + 1);
    }
    if (below(2)) {
        add(p, file, "#else\n");
        add_lines(p, file, depth + 1);
    }
    add(p, file, "#endif%s\n", below(4) ? "" : " /* of\n it */");
}

static void add_lines(program *p, size_t file, unsigned depth)
{
    for (unsigned lines = 1 + below(5); lines > 0; --lines) {
        const unsigned what = below(12);
        if (what < 3) add_include(p, file);
        else if (what < 5 && depth < 3) add_branches(p, file, depth);
        else if (what == 5) add(p, file, "#undef M%u\n", below(MACROS));
        else if (what == 6) {
            const unsigned m = below(MACROS);
            add(p, file, "#undef M%u\n#define M%u %u\n", m, m, below(3));
        } else if (what == 7 && depth == 0) add(p, file, "#line %u%s\n", 1 + below(500), below(2) ? "" : " \"made.y\"");
        else if (what == 8) add(p, file, "// a line \\\n and more\n/* \" */\n");
        else add_note(p, file);
    }
}

/* A file of a random kind: with a guard, with #pragma once, including itself with a macro or counter, or plain. */
static void add_file(program *p, size_t file)
{
    const unsigned kind = below(6);
    p->length[file] = 0;
    if (below(8) == 0) add(p, file, "\xEF\xBB\xBF");
    if (kind < 2) add(p, file, "// guarded\n#ifndef G%zu\n#define G%zu\n", file, file);
    else if (kind == 2) add(p, file, "#pragma once\n");
    else if (kind == 3)
        add(p, file,
            "#ifndef T%zu\n#define T%zu 1\nNOTE(T%zu)\n#include \"f%zu.clh\"\n#undef T%zu\n"
            "#define T%zu 2\n#include \"f%zu.clh\"\nNOTE(T%zu)\n#undef T%zu\n#else\nNOTE(T%zu)\n",
            file, file, file, file, file, file, file, file, file, file);
    else if (kind == 4)
        add(p, file,
            "#ifndef C%zu\n#define C%zu 0\n#elif C%zu == 0\n#undef C%zu\n#define C%zu 1\n#endif\n"
            "#if C%zu < 1\n#include \"f%zu.clh\"\nNOTE(C%zu)\n#else\n",
            file, file, file, file, file, file, file, file);
    add_lines(p, file, kind == 3 || kind == 4);
    if (kind < 2 || kind == 3 || kind == 4) add(p, file, "#endif\n");
    if (kind == 4) add(p, file, "NOTE(0)\n#undef C%zu\n#define C%zu 1\n", file, file);
    char path[64];
    snprintf(path, sizeof path, "of_program/%sf%zu.clh", p->folder[file], file);
    write_file(path, p->text[file]);
}

/* Macros that are not defined are variables. */
#define START                                                                                         \
    "#line 1 \"of_program/main.cl\"\n"                                                                \
    "#define NOTE(m) if (n < 4093) { x[n++] = __LINE__; x[n++] = sizeof(__FILE__); x[n++] = (m); }\n" \
    "kernel void k(global int *x)\n{\n    int n = 1;\n    const int M0 = 10, M1 = 11, M2 = 12, M3 = 13;\n"

static void add_main(program *p)
{
    p->length[FILES] = 0;
    add(p, FILES, START);
    add_lines(p, FILES, 0);
    for (int i = 0; i < 3; ++i) add_include(p, FILES);
    add(p, FILES, "    x[0] = n;\n}\n");
    write_file("of_program/main.cl", p->text[FILES]);
}

/* ---- both ways ---- */

/* Build and run the program without libndr; false if it does not build. */
static bool run_by_driver(const char *text, cl_int notes[NOTES])
{
    cl_int error;
    const cl_device_id cl_device = ndr_context_cl_device(context);
    cl_program built = clCreateProgramWithSource(ndr_context_cl(context), 1, &text, NULL, &error);
    assert_int_equal(error, CL_SUCCESS);
    const bool builds =
        clBuildProgram(built, 1, &cl_device, "-I of_program -I of_program/of_include", NULL, NULL) == CL_SUCCESS;
    cl_kernel k = builds ? clCreateKernel(built, "k", &error) : NULL;
    if (k) {
        const size_t one = 1;
        ndr_buffer *x = buffer_of(NOTES * sizeof *notes, notes);
        const cl_mem cl_x = ndr_buffer_cl(x);
        assert_int_equal(clSetKernelArg(k, 0, sizeof cl_x, &cl_x), CL_SUCCESS);
        assert_int_equal(clEnqueueNDRangeKernel(ndr_queue_cl(queue), k, 1, NULL, &one, NULL, 0, NULL, NULL),
                         CL_SUCCESS);
        take_buffer(x, notes, NOTES * sizeof *notes);
        clReleaseKernel(k);
    }
    clReleaseProgram(built);
    return builds;
}

static ndr_status run_by_libndr(const char *options, cl_int notes[NOTES])
{
    static const char *const dirs[] = { "of_program", "of_program/of_include", NULL };
    const ndr_kernel_desc desc = {
        .name = "k", .file = "of_program/main.cl", .options = options, .include_dirs = dirs
    };
    ndr_kernel *k;
    const ndr_status status = ndr_kernel_get(context, &desc, &k);
    if (status != NDR_OK) return status;
    ndr_buffer *x = buffer_of(NOTES * sizeof *notes, notes);
    assert_ok(ndr_launch(queue, k, ndr_range_1d(1), x));
    take_buffer(x, notes, NOTES * sizeof *notes);
    return NDR_OK;
}

static void compare(uint64_t of_seed)
{
    static program p;
    static cl_int wanted[NOTES], got[NOTES];
    char options[64]; /* a file is read once for each set of them */
    seed = of_seed << 32;
    for (size_t file = 0; file < FILES; ++file) p.folder[file] = below(3) ? "" : "of_include/";
    for (size_t file = 0; file < FILES; ++file) add_file(&p, file);
    add_main(&p);
    snprintf(options, sizeof options, "-DSEED=%llu", (unsigned long long)of_seed);
    memset(wanted, 0, sizeof wanted);
    memset(got, 0, sizeof got);
    const bool builds = run_by_driver(p.text[FILES], wanted);
    const ndr_status status = run_by_libndr(options, got);
    if (builds != (status == NDR_OK))
        fail_msg("seed %llu: builds %d, %s", (unsigned long long)of_seed, builds, ndr_last_error());
    for (size_t i = 0; builds && i < NOTES; ++i)
        if (wanted[i] != got[i])
            fail_msg("seed %llu: number %zu is %d, not %d", (unsigned long long)of_seed, i, (int)got[i],
                     (int)wanted[i]);
}

static void test_paste__makes_of_any_files_what_the_driver_makes_of_them(void **state)
{
    const char *first = getenv("NDR_TEST_SEED");
    const uint64_t from = first ? strtoull(first, NULL, 10) : 1;
    const unsigned count = getenv("NDR_TEST_LONG") ? 300 : quick() ? 2 : 6;
    print_message("first seed: %llu\n", (unsigned long long)from);
    for (uint64_t i = from; i < from + count; ++i) compare(i);
}

/* ---- programs written by hand ---- */

/* A kernel called k that writes one int. */
static ndr_status run_file(ndr_context *of, const char *file, const char *options, cl_int *written)
{
    static const char *const dirs[] = { "of_hand", NULL };
    const ndr_kernel_desc desc = { .name = "k", .file = file, .options = options, .include_dirs = dirs };
    ndr_kernel *k;
    ndr_queue *q;
    ndr_buffer *x;
    const ndr_status status = ndr_kernel_get(of, &desc, &k);
    if (status != NDR_OK) return status;
    assert_ok(ndr_queue_create(of, NULL, &q));
    assert_ok(ndr_buffer_create(of, sizeof *written, &x));
    assert_ok(ndr_launch(q, k, ndr_range_1d(1), x));
    assert_ok(ndr_buffer_read(q, x, 0, sizeof *written, written, NULL));
    ndr_buffer_destroy(x);
    ndr_queue_destroy(q);
    return NDR_OK;
}

#define KERNEL "kernel void k(global int *x) { x[0] = VALUE; }\n"

static void assert_writes(const char *text, const char *options, cl_int wanted)
{
    cl_int got = -1;
    static unsigned count;
    char path[64];
    snprintf(path, sizeof path, "of_hand/%u.cl", count++);
    write_file(path, text);
    assert_ok(run_file(context, path, options, &got));
    assert_int_equal(got, wanted);
}

/* The guard macro of ndr/op.clh shows that the file was pasted. */
static void test_paste__spelled_by_a_macro_finds_files_and_the_vocabulary(void **state)
{
    assert_writes("#define TEXT_(x) #x\n#define TEXT(x) TEXT_(x)\n#define NAME five.clh\n#include TEXT(NAME)\n" KERNEL,
                  NULL, 5);
    assert_writes("#include NAME\n" KERNEL, "-DNAME=<five.clh>", 5);
    assert_writes("#define NAME <ndr/op.clh>\n#include NAME\n#ifdef NDR_OP_CLH\n#define VALUE 6\n#endif\n" KERNEL, NULL,
                  6);
    cl_int got;
    write_file("of_hand/lost.cl", "#define TEXT(x) #x\n#include TEXT(ndr/op.clh)\n");
    assert_refused(NDR_BUILD_FAILED, run_file(context, "of_hand/lost.cl", NULL, &got), "lost.cl", "ndr/op.clh");
    if (strstr(ndr_last_error(), "'ndr/op.clh' file not found"))
        assert_non_null(strstr(ndr_last_error(), "included by their own names, which no macro puts together"));
    write_file("of_hand/lost.cl", "#include NAME\n");
    assert_refused(NDR_BUILD_FAILED, run_file(context, "of_hand/lost.cl", "-DNAME=<ndr/op.clh>", &got), "ndr/op.clh");
    assert_writes("#if __has_include(<ndr/op.clh>) && __has_include(\"five.clh\")\n#define VALUE 8\n#endif\n" KERNEL,
                  NULL, 8);
}

/* Programs written for plain OpenCL. If the compiler also found a file by itself, its text would be there twice. */
static void test_paste__through_an_option_knows_what_is_there_already(void **state)
{
    write_file("of_hand/type.clh", "#pragma once\ntypedef struct pair { int a, b; } pair;\n");
    write_file("of_program/of_include/uses.clh",
               "#include \"../../of_hand/type.clh\"\n#define VALUE ((pair){ 9, 8 }).a\n");
    assert_writes("#include \"type.clh\"\n#include <uses.clh>\n" KERNEL, "-I of_program/of_include", 9);
}

/* The compiler does not know that the file was pasted. */
static void test_paste__of_a_once_file_that_a_macro_spells_too_is_explained(void **state)
{
    cl_int got;
    write_file("of_hand/twice.cl", "#define TEXT(x) #x\n#include \"twice.clh\"\n#include TEXT(twice.clh)\n" KERNEL);
    write_file("of_hand/twice.clh", "#pragma once\n#define VALUE five()\nint five(void) { return 5; }\n");
    assert_refused(NDR_BUILD_FAILED, run_file(context, "of_hand/twice.cl", NULL, &got),
                   "a file with #pragma once is there twice if one #include writes its name and a macro spells it in "
                   "another: write the name in both");
}

/* The same as a compiler that has the files. */
static void test_paste__is_the_same_with_old_line_ends_and_system_headers(void **state)
{
    write_file("of_hand/old.clh",
               "#pragma GCC system_header\r#include \"five.clh\"\r\rint line(void) { return __LINE__; }\r");
    assert_writes("// why\\\r#error a comment\r#include \"old.clh\"\rint line(void);\r"
                  "kernel void k(global int *x) { x[0] = VALUE * 100 + line() * 10 + __LINE__; }\r",
                  "-Werror", 500 + 40 + 5);
}

/* In a new context, because a context reads a file only once. The driver may have its own cache. */
static void test_paste__that_the_compiler_finds_is_found_anew_when_it_has_changed(void **state)
{
    for (cl_int i = 0; i < 2; ++i) {
        char text[64];
        cl_int got = -1;
        ndr_context *fresh;
        snprintf(text, sizeof text, "#define VALUE %d\n", 20 + (int)i);
        write_file("of_hand/changes.clh", text);
        write_file("of_hand/computes.cl", "#define TEXT(x) #x\n#include TEXT(changes.clh)\n" KERNEL);
        assert_ok(ndr_context_create(NULL, &fresh));
        assert_ok(run_file(fresh, "of_hand/computes.cl", NULL, &got));
        ndr_context_destroy(fresh);
        assert_int_equal(got, 20 + i);
    }
}

/* The place that a build's log must name. */
static void assert_blames(const char *text, const char *place)
{
    cl_int got;
    static unsigned count;
    char path[64];
    snprintf(path, sizeof path, "of_hand/broken%u.cl", count++);
    write_file(path, text);
    assert_refused(NDR_BUILD_FAILED, run_file(context, path, NULL, &got), place);
}

static void test_paste__leaves_the_lines_behind_it_right_in_every_branch(void **state)
{
    cl_int got;
    write_file("of_hand/mark.cl", "#line 55 \"probe.cl\"\nkernel void k( {}\n");
    skip_without(run_file(context, "of_hand/mark.cl", NULL, &got) == NDR_BUILD_FAILED
                     && strstr(ndr_last_error(), "probe.cl:55"),
                 "the driver's logs do not heed #line");
    write_file("of_hand/long.clh", "#define A\n#define B\n#define C\n#define D\n#define E\n");
    assert_blames("#if NO\n#include \"long.clh\"\n#endif\n#error 4\n", "broken0.cl:4:");
    assert_blames("#if NO\n#include \"long.clh\"\n#else\n#error 4\n#endif\n", "broken1.cl:4:");
    assert_blames("#if NO\n#include \"long.clh\"\n#elif nonsense(\n#endif\n", "broken2.cl:3:");
    assert_blames("#if NO\n#if NO\n#include \"long.clh\"\n#endif\n#endif\n#error 6\n", "broken3.cl:6:");
    assert_blames("#line 70 \"scale.y\"\n#include \"long.clh\"\n#error 71\n", "scale.y:71:");
    write_file("of_hand/guard.clh",
               "#ifndef __ENDIAN_LITTLE__\n#define __ENDIAN_LITTLE__\n#include \"inner.clh\"\n#endif\n");
    write_file("of_hand/inner.clh", "#ifndef INNER\n#define INNER\n#include \"long.clh\"\n#endif\n");
    assert_blames("#include \"guard.clh\"\n", "of_hand/guard.clh:4:");
    write_file("of_hand/broken.clh", "#if NO\n#include \"long.clh\"\n#endif\nint broken = nobody;\n");
    assert_blames("// one\n#include \"broken.clh\"\n", "of_hand/broken.clh:4:");
}

static int open_with_files(void **state)
{
    static const char *const folders[] = { "of_program", "of_program/of_include", "of_hand" };
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; ++i) (void)mkdir(folders[i], 0777);
    write_file("of_hand/five.clh", "#define VALUE 5\n");
    return open_device(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paste__makes_of_any_files_what_the_driver_makes_of_them),
        cmocka_unit_test(test_paste__spelled_by_a_macro_finds_files_and_the_vocabulary),
        cmocka_unit_test(test_paste__through_an_option_knows_what_is_there_already),
        cmocka_unit_test(test_paste__of_a_once_file_that_a_macro_spells_too_is_explained),
        cmocka_unit_test(test_paste__is_the_same_with_old_line_ends_and_system_headers),
        cmocka_unit_test(test_paste__that_the_compiler_finds_is_found_anew_when_it_has_changed),
        cmocka_unit_test(test_paste__leaves_the_lines_behind_it_right_in_every_branch),
    };
    return cmocka_run_group_tests(tests, open_with_files, close_device);
}
