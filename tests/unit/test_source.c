/* test_source.c - source text with its #includes followed: what is pasted, what is left, which line is named. */
#include "faults/between.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "program/explain.h"

/* Expand a text, append the result to `out`, and the options that it needs to `flags` if that is not NULL. */
static ndr_status expand(const ndr_source_desc *desc, ndr_text *out, ndr_text *flags)
{
    ndr_source source = { 0 };
    const ndr_status status = ndr_source_expand(desc, &source);
    if (status == NDR_OK) ndr_text_add(out, "%s", source.text.chars);
    if (status == NDR_OK && flags) ndr_text_add(flags, "%s", source.flags.chars ? source.flags.chars : "");
    ndr_source_free(&source);
    return out->failed || (flags && flags->failed) ? NDR_OUT_OF_HOST_MEMORY : status;
}

/* The folders and files that the tests below find. */
static int make_files(void **state)
{
    static const char *const folders[] = { "sub", "sub/deep", "include_a", "include_b" };
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; ++i) (void)mkdir(folders[i], 0777);
    write_file("sub/beside.clh", "beside\n");
    write_file("sub/deep/inner.clh", "#include \"../beside.clh\"\ninner\n");
    write_file("sub/both.clh", "beside both\n");
    write_file("include_a/both.clh", "a both\n");
    write_file("include_b/both.clh", "b both\n");
    write_file("include_b/only_b.clh", "only b\n");
    write_file("sub/no_newline.clh", "last line without an end");
    write_file("sub/empty.clh", "");
    write_file("sub/ping.clh", "ping\n#include \"pong.clh\"\n");
    write_file("sub/pong.clh", "pong\n#include \"ping.clh\"\n");
    write_file("sub/up.clh", "#ifndef UP\n#define UP\n#include \"../sub/down.clh\"\n#endif\n");
    write_file("sub/down.clh", "#ifndef DOWN\n#define DOWN\n#include \"../sub/up.clh\"\n#endif\n");
    return 0;
}

/* What a file called `title` with that text becomes; free() it. */
static char *expanded_from(const char *title, const char *text, bool is_file,
                           const char *const *include_dirs)
{
    const ndr_source_desc source = {
        .title = title, .text = text, .is_file = is_file, .include_dirs = include_dirs
    };
    ndr_text out = { 0 };
    assert_ok(expand(&source, &out, NULL));
    return out.chars;
}

/* A text without a folder, whose expansion must be `wanted` or, with `wanted` NULL, the text itself. */
static void assert_expands(const char *text, const char *wanted)
{
    char *got = expanded_from("t", text, false, NULL);
    char itself[4096];
    snprintf(itself, sizeof itself, "#line 1 \"t\"\n%s\n", text);
    assert_string_equal(got, wanted ? wanted : itself);
    free(got);
}

static void assert_file_expands(const char *text, const char *const *include_dirs, const char *wanted)
{
    char *got = expanded_from("sub/main.cl", text, true, include_dirs);
    assert_string_equal(got, wanted);
    free(got);
}

static size_t count_of(const char *text, const char *part)
{
    size_t count = 0;
    for (const char *at = strstr(text, part); at; at = strstr(at + 1, part)) ++count;
    return count;
}

/* ---- the text itself ---- */

static void test_source__without_includes_is_left_as_it_is(void **state)
{
    assert_expands("", NULL);
    assert_expands("kernel void k() {}", NULL);
    assert_expands("one\n\nthree\n", NULL);
    assert_expands("x \"s\"#include <ndr/op.clh>\n/**/ y /**/ # include <ndr/op.clh>\n", NULL);
    assert_expands("#define include \"x\"\n#pragma include \"ndr/item.clh\"\n", NULL);
}

static void test_source__names_itself_in_the_first_line(void **state)
{
    char *got = expanded_from("folder/my \"odd\\name\".cl", "x\n", false, NULL);
    assert_string_equal(got, "#line 1 \"folder/my \\\"odd\\\\name\\\".cl\"\nx\n\n");
    free(got);
}

/* ---- the library's vocabulary ---- */

/* Also in a branch that may not be compiled, and after an include that only the compiler can find. */
static void test_include__of_the_vocabulary_pastes_only_the_bodies_of_its_own_functions(void **state)
{
    char *text = expanded_from("t", "#include <unknown.h>\n#ifdef UNKNOWN\n#include <ndr/group.clh>\n#endif\n", false,
                               NULL);
    assert_int_equal(count_of(text, "#line 1 \"kernels/ndr/detail/op.inc\""), 10);
    assert_int_equal(count_of(text, "#line 1 \"kernels/ndr/detail/group.inc\""), 10);
    assert_int_equal(count_of(text, "#line 1 \"kernels/ndr/detail/sub_group.inc\""), 0);
    assert_int_equal(count_of(text, "#line 1 \"kernels/ndr/detail/joint.inc\""), 0);
    assert_int_equal(count_of(text, "#include \""), 0);
    free(text);
}

static void test_include__of_the_vocabulary_is_known_in_every_spelling(void **state)
{
    static const char *const spellings[] = {
        "#include \"ndr/item.clh\"\n", "#include <ndr/item.clh>\n",
        "  #include <ndr/item.clh>\n", "\t# \tinclude\t<ndr/item.clh>\n",
        "#include<ndr/item.clh>\n",    "#include \"ndr/item.clh\" // why\n",
        "#include \"ndr/item.clh\"",   "#include \"ndr/item.clh\"\r\n",
    };
    for (size_t i = 0; i < sizeof spellings / sizeof spellings[0]; ++i) {
        char *got = expanded_from("t", spellings[i], false, NULL);
        assert_non_null(strstr(got, "#line 1 \"kernels/ndr/item.clh\"\n"));
        assert_non_null(strstr(got, "#define NDR_RANGE(dims)"));
        assert_null(strstr(got, "#include \"ndr/item.clh\""));
        free(got);
    }
}

static void test_include__of_the_vocabulary_follows_its_own_includes(void **state)
{
    char *got = expanded_from("t", "#include <ndr/ndr.clh>\n", false, NULL);
    assert_non_null(strstr(got, "#line 1 \"kernels/ndr/ndr.clh\""));
    assert_non_null(strstr(got, "#line 1 \"kernels/ndr/group.clh\""));
    assert_int_equal(count_of(got, "#include \"ndr/"), 0);
    free(got);
}

/* Several of its headers include the same ones. Bodies over a type (.inc) are included once for each type. */
static void test_include__of_the_vocabulary_pastes_each_of_its_files_once(void **state)
{
    char *got = expanded_from("t", "#include <ndr/ndr.clh>\n", false, NULL);
    for (const ndr_source_file *file = ndr_embedded_files; file->name; ++file) {
        char mark[128];
        snprintf(mark, sizeof mark, "#line 1 \"kernels/%s\"\n", file->name);
        const bool is_body = strstr(file->name, ".inc") != NULL;
        if (!is_body) assert_true(count_of(got, mark) <= 1);
    }
    assert_non_null(strstr(got, "#line 1 \"kernels/ndr/item.clh\"\n"));
    assert_non_null(strstr(got, "#line 1 \"kernels/ndr/hierarchy.clh\"\n"));
    free(got);
}

static void test_include__of_the_vocabulary_needs_no_folder(void **state)
{
    assert_file_expands("#include \"../ndr/item.clh\"\n", NULL,
                        "#line 1 \"sub/main.cl\"\n#include \"../ndr/item.clh\"\n\n");
}

/* ---- files ---- */

static void test_include__is_found_beside_its_file(void **state)
{
    assert_file_expands(
        "a\n#include \"beside.clh\"\nb\n", NULL,
        "#line 1 \"sub/main.cl\"\na\n#line 1 \"sub/beside.clh\"\nbeside\n\n#line 3 \"sub/main.cl\"\nb\n\n");
}

static void test_include__is_found_beside_the_file_that_includes_it(void **state)
{
    char *got = expanded_from("sub/main.cl", "#include \"deep/inner.clh\"\n", true, NULL);
    assert_non_null(strstr(
        got, "#line 1 \"sub/deep/../beside.clh\"\nbeside\n\n#line 2 \"sub/deep/inner.clh\"\ninner\n"));
    free(got);
}

static void test_include__in_brackets_is_not_looked_for_beside(void **state)
{
    assert_file_expands("#include <beside.clh>\n", NULL,
                        "#line 1 \"sub/main.cl\"\n#include <beside.clh>\n\n");
}

static void test_include__of_a_text_is_not_looked_for_beside(void **state)
{
    assert_expands("#include \"sub/beside.clh\"\n", NULL);
}

static void test_include__is_found_in_the_folders_in_their_order(void **state)
{
    const char *const dirs[] = { "include_a", "include_b", NULL };
    char *got = expanded_from("t", "#include <both.clh>\n#include \"only_b.clh\"\n", false, dirs);
    assert_non_null(strstr(got, "#line 1 \"include_a/both.clh\"\na both\n"));
    assert_non_null(strstr(got, "#line 1 \"include_b/only_b.clh\"\nonly b\n"));
    assert_null(strstr(got, "b both"));
    free(got);
}

static void test_include__looks_beside_before_the_folders(void **state)
{
    const char *const dirs[] = { "include_a", NULL };
    char *got = expanded_from("sub/main.cl", "#include \"both.clh\"\n", true, dirs);
    assert_non_null(strstr(got, "beside both"));
    free(got);
    got = expanded_from("sub/main.cl", "#include <both.clh>\n", true, dirs);
    assert_non_null(strstr(got, "a both"));
    free(got);
}

static void test_include__takes_an_absolute_path(void **state)
{
    char folder[4096], text[4200];
    assert_non_null(getcwd(folder, sizeof folder));
    snprintf(text, sizeof text, "#include \"%s/sub/beside.clh\"\n", folder);
    char *got = expanded_from("t", text, false, NULL);
    assert_non_null(strstr(got, "\nbeside\n"));
    free(got);
}

static void test_include__is_found_in_the_folders_of_the_options(void **state)
{
    static const char *const dirs[] = { "include_a", NULL };
    ndr_source_desc source = { .title = "t", .text = "#include <both.clh>\n#include <only_b.clh>\n", .include_dirs = dirs,
                          .options = "-DX -I nowhere -Iinclude_b" };
    ndr_text out = { 0 };
    assert_ok(expand(&source, &out, NULL));
    assert_non_null(strstr(out.chars, "#line 1 \"include_a/both.clh\""));
    assert_non_null(strstr(out.chars, "#line 1 \"include_b/only_b.clh\""));
    ndr_text_clear(&out);
    source.options = "-D X-Iinclude_b -I \"include_b\" -I"; /* libndr does not interpret quotes */
    assert_ok(expand(&source, &out, NULL));
    assert_non_null(strstr(out.chars, "\n#include <only_b.clh>\n"));
    ndr_text_free(&out);
}

static void test_include__that_nobody_has_is_left_to_the_compiler(void **state)
{
    assert_expands("#include \"nobody.clh\"\nx\n", NULL);
    assert_expands("#include <ndr/nobody.clh>\n", NULL);
    assert_file_expands("#include \"nobody.clh\"\n", NULL,
                        "#line 1 \"sub/main.cl\"\n#include \"nobody.clh\"\n\n");
}

static void test_include__that_nobody_has_is_explained(void **state)
{
    static const char *const dirs[] = { "include_a", "include_b", NULL }, *const odd[] = { "a\nb", "c\\", NULL };
    const struct {
        const char *text;
        bool is_file;
        const char *const *dirs;
        const char *wanted;
    } cases[] = {
        { "#include \"bside.clh\"\n", true, NULL,
          "'bside.clh' is not in \"sub\"; there is \"sub/beside.clh\": correct the name\n" },
        { "#include <onlyb.clh>\n", true, dirs,
          "'onlyb.clh' is not in \"include_a\", \"include_b\"; there is \"include_b/only_b.clh\": correct the name\n" },
        { "#include \"sub/Beside.clh\"\n", false, (const char *const[]){ ".", NULL },
          "'sub/Beside.clh' is not in \".\"; there is \"./sub/beside.clh\": correct the name\n" },
        { "#include \"another.h\"\n", true, dirs,
          "'another.h' is not in \"sub\", \"include_a\", \"include_b\": correct the name, or add its folder to "
          "include_dirs\n" },
        { "#include \"helper.h\"\n", false, NULL,
          "'helper.h' is not searched for in any folder, because a text has none of its own: set include_dirs, or -I" },
        { "#include <helper.h>\n", true, NULL, "because <> leaves out the file's own: set include_dirs, or -I" },
        { "#include \"/nowhere/helper.h\"\n", false, dirs, "'/nowhere/helper.h' is not there: correct the path\n" },
        { "#define H \"helper.h\"\n#include H\n", true, NULL, "'helper.h' is not in \"sub\": correct the name" },
        { "#include \"helper.h\"\n", false, odd, "'helper.h' is not in \"a b\", \"c\\\": correct the name" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        char log[64] = "t.cl:1:2: error: 'x' file not found\n";
        ndr_source got = { 0 };
        assert_ok(ndr_source_expand(&(ndr_source_desc){ .title = "sub/main.cl",
                                                        .text = cases[i].text,
                                                        .is_file = cases[i].is_file,
                                                        .include_dirs = cases[i].dirs },
                                    &got));
        const char *name = got.absent.chars;
        if (!name || !strstr(name, cases[i].wanted)) fail_msg("%zu: no \"%s\" in %s", i, cases[i].wanted, name);
        ndr_text out = { 0 };
        ndr_explain_log(&got, "", log, &out);
        assert_int_equal(out.length, 0);
        snprintf(log, sizeof log, "t.cl:1:2: error: %.*s file not found\n", (int)strcspn(name + 1, "'") + 2, name);
        ndr_explain_log(&got, "", log, &out);
        assert_int_equal(out.length, strcspn(name, "\n"));
        assert_memory_equal(out.chars, name, out.length);
        ndr_text_free(&out);
        ndr_source_free(&got);
    }
}

static void test_include__without_a_plain_name_is_left_to_the_compiler(void **state)
{
    assert_expands("#include NAME\n#include \"open\n#include <open\n#include\n", NULL);
}

static void test_include__of_a_file_without_a_last_line_end_is_whole(void **state)
{
    assert_file_expands(
        "#include \"no_newline.clh\"\nb\n", NULL,
        "#line 1 \"sub/main.cl\"\n#line 1 \"sub/no_newline.clh\"\nlast line without an end\n"
        "#line 2 \"sub/main.cl\"\nb\n\n");
}

static void test_include__of_an_empty_file_adds_nothing(void **state)
{
    assert_file_expands(
        "#include \"empty.clh\"\n", NULL,
        "#line 1 \"sub/main.cl\"\n\n\n");
}

/* ---- text that the preprocessor evaluates twice ---- */

static void test_include__that_may_be_skipped_is_pasted_again_behind(void **state)
{
    char *got = expanded_from(
        "sub/main.cl", "#if A\n#include \"beside.clh\"\n#endif\n#include \"beside.clh\"\n", true, NULL);
    assert_int_equal(count_of(got, "\nbeside\n"), 2);
    free(got);
    got = expanded_from("t", "#if A\n#include <ndr/item.clh>\n#endif\n#include <ndr/item.clh>\n", false,
                        NULL);
    assert_int_equal(count_of(got, "#define NDR_ITEM_CLH"), 2); /* the compiler drops one of them by its guard */
    free(got);
}

static void test_include__that_is_skipped_is_not_looked_for(void **state)
{
    assert_file_expands("#if 0\n#include \"beside.clh\"\n#include \"nobody.clh\"\n#endif\n", NULL,
                        "#line 1 \"sub/main.cl\"\n#if 0\n\n\n#endif\n\n");
}

static void test_include__inside_a_comment_is_left(void **state)
{
    assert_expands("/*\n#include <ndr/item.clh>\n*/\n", NULL);
    assert_expands("x /* // */ y /* \"\n#include <ndr/item.clh>\n*/\n", NULL);
    assert_expands("//#include <ndr/item.clh>\n", NULL);
    assert_expands("// goes on \\\n#include <ndr/item.clh>\n", NULL);
}

static void test_include__after_a_comment_is_pasted(void **state)
{
    static const char *const openings[] = { "/* one */\n",       "/*\n two\n*/\n", "/**/\n",
                                            "x = \"/*\";\n",     "// /*\n",        "c = '\"'; /* \" */\n",
                                            "s = \"\\\"/*\";\n", "/* /* */\n" };
    for (size_t i = 0; i < sizeof openings / sizeof openings[0]; ++i) {
        char text[256];
        snprintf(text, sizeof text, "%s#include <ndr/item.clh>\n", openings[i]);
        char *got = expanded_from("t", text, false, NULL);
        assert_non_null(strstr(got, "#define NDR_ITEM_CLH"));
        free(got);
    }
}

/* The comment is a part of the directive's line. */
static void test_include__ends_with_a_comment_that_starts_behind_it(void **state)
{
    assert_file_expands(
        "#include \"beside.clh\" /* for\n#include \"both.clh\"\nitems */\nx\n", NULL,
        "#line 1 \"sub/main.cl\"\n#line 1 \"sub/beside.clh\"\nbeside\n\n#line 4 \"sub/main.cl\"\nx\n\n");
}

/* Compilers stop with an error at some depth. libndr's text has an #error there, which a skipped branch may hide. */
static void test_include__in_a_circle_ends_with_an_error(void **state)
{
    char *got = expanded_from("sub/main.cl", "#include \"ping.clh\"\n", true, NULL);
    assert_int_equal(count_of(got, "\nping\n"), count_of(got, "\npong\n"));
    assert_int_equal(count_of(got, "#line 1 \"sub/ping.clh\"\n#error this file is included too deep, or by itself"), 1);
    free(got);
}

static void test_include__in_a_circle_of_longer_and_longer_paths_ends(void **state)
{
    char *got = expanded_from("sub/main.cl", "#include \"up.clh\"\n", true, NULL);
    assert_non_null(strstr(got, "#define DOWN"));
    free(got);
}

static void test_include__of_itself_ends_with_an_error(void **state)
{
    write_file("sub/self.cl", "self\n#include \"self.cl\"\n");
    char *got = expanded_from("sub/self.cl", "self\n#include \"self.cl\"\n", true, NULL);
    assert_int_equal(count_of(got, "\nself\n"), 64);
    assert_int_equal(count_of(got, "#error this file is included too deep, or by itself too often: libndr pastes files "
                                   "200 deep, and one 64 times inside itself"),
                     1);
    free(got);
}

/* ---- an include that is there and cannot be read ---- */

static const char *const both_dirs[] = { "include_a", "include_b", NULL };

static ndr_status expand_include(const char *text, const char *const *include_dirs, ndr_text *out)
{
    const ndr_source_desc source = { .title = "sub/main.cl", .text = text, .is_file = true, .include_dirs = include_dirs };
    return expand(&source, out, NULL);
}

/* include_b also has a file of that name. It must not be taken instead. */
static void assert_stands_in_the_way(const char *folder, ndr_status status, const char *reason)
{
    const char *const dirs[] = { folder, "include_b", NULL };
    char sentence[128];
    snprintf(sentence, sizeof sentence, "kernel file \"%s/both.clh\" %s", folder, reason);
    ndr_text out = { 0 };
    assert_refused(status, expand_include("#include <both.clh>\n", dirs, &out), sentence);
    ndr_text_free(&out);
}

static void test_include__that_cannot_be_read_is_refused_rather_than_passed_over(void **state)
{
    static const char *const folders[] = { "loop", "pipe" };
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; ++i) (void)mkdir(folders[i], 0777);
    (void)symlink("both.clh", "loop/both.clh");
    (void)mkfifo("pipe/both.clh", 0666);
    assert_stands_in_the_way("loop", NDR_NOT_FOUND, "cannot be read: Too many levels of symbolic links");
    assert_stands_in_the_way("pipe", NDR_BAD_ARGUMENT, "is a device or a pipe; only regular files are read");
}

static void test_include__beside_its_file_that_cannot_be_read_is_refused(void **state)
{
    (void)symlink("loop.clh", "sub/loop.clh");
    write_file("include_a/loop.clh", "a loop\n");
    ndr_text out = { 0 };
    assert_refused(NDR_NOT_FOUND, expand_include("#include \"loop.clh\"\n", both_dirs, &out),
                   "kernel file \"sub/loop.clh\" cannot be read: Too many levels");
    ndr_text_free(&out);
}

static void test_include__passes_over_folders_that_are_not_there(void **state)
{
    /* The second is a file, the third has a folder of that name. */
    const char *const dirs[] = { "nowhere", "include_a/both.clh", "folder", "include_b", NULL };
    (void)mkdir("folder", 0777);
    (void)mkdir("folder/both.clh", 0777);
    ndr_text out = { 0 };
    assert_ok(expand_include("#include <both.clh>\n", dirs, &out));
    assert_non_null(strstr(out.chars, "b both"));
    ndr_text_free(&out);
}

/* The process cannot open more files. This is temporary, so no other file is taken instead. */
static void test_include__without_a_descriptor_left_is_out_of_host_memory(void **state)
{
    struct rlimit before, none;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    none.rlim_cur = 0;
    ndr_text out = { 0 };
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    const ndr_status of_include = expand_include("#include <both.clh>\n", both_dirs, &out);
    const ndr_status of_file = ndr_source_read("sub/beside.clh", &out);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(of_include, NDR_OUT_OF_HOST_MEMORY);
    assert_refused(NDR_OUT_OF_HOST_MEMORY, of_file,
                   "kernel file \"sub/beside.clh\" cannot be read: Too many open files");
    ndr_text_free(&out);
}

/* Each allocation fails once. The result is a refusal or the usual text. */
static void test_include__without_memory_is_refused_and_nothing_else_is_taken(void **state)
{
    const ndr_source_desc source = {
        .title = "sub/main.cl",
        .is_file = true,
        .include_dirs = both_dirs,
        .options = "-DX=<both.clh> -I sub",
        .text =
            "#include \"both.clh\"\n#include <both.clh>\n#include <only_b.clh>\n#include <ndr/op.clh>\n#line 5 \"x\"\n"
            "#if A\n#include \"deep/../once_only.clh\"\n#elif __has_include(<both.clh>)\n#include X\n#endif\n"
            "#include <once_only.clh>\n#include H\n#ifndef B\n#endif\n"
    };
    ndr_text wanted = { 0 }, wanted_flags = { 0 };
    write_file("sub/once_only.clh", "#pragma once\n#define B \"b\"\n");
    assert_ok(expand(&source, &wanted, &wanted_flags));
    size_t refusals = 0;
    for (size_t n = 0;; ++n) {
        ndr_text out = { 0 }, flags = { 0 };
        refuse(CALL_malloc, n, 0);
        const ndr_status status = expand(&source, &out, &flags);
        const bool refused = refuse_none();
        if (status == NDR_OK) {
            assert_string_equal(out.chars, wanted.chars);
            assert_string_equal(flags.chars, wanted_flags.chars);
        } else {
            assert_int_equal(status, NDR_OUT_OF_HOST_MEMORY);
        }
        ndr_text_free(&out);
        ndr_text_free(&flags);
        if (!refused) break;
        assert_int_not_equal(status, NDR_OK);
        ++refusals;
    }
    assert_true(refusals >= 30);
    ndr_text_free(&wanted);
    ndr_text_free(&wanted_flags);
}

/* ---- line marks ---- */

static void test_include__is_followed_by_the_number_of_the_next_line(void **state)
{
    char *got =
        expanded_from("t", "1\n2\n#include <ndr/item.clh>\n4\n#include <ndr/item.clh>\n6\n", false, NULL);
    assert_non_null(strstr(got, "#line 4 \"t\"\n4\n\n6\n")); /* nothing is left of the second */
    free(got);
}

/* The compiler counts the lines of a branch that it skips. */
static void test_mark__stands_behind_each_branch_that_holds_a_file(void **state)
{
    assert_file_expands(
        "#if A\n#include \"beside.clh\"\n#else\nx\n#endif\ny\n", NULL,
        "#line 1 \"sub/main.cl\"\n#if A\n#line 1 \"sub/beside.clh\"\nbeside\n\n#line 3 \"sub/main.cl\"\n"
        "#else\n#line 4 \"sub/main.cl\"\nx\n#endif\n#line 6 \"sub/main.cl\"\ny\n\n");
}

/* The mark comes before the condition, because the condition is also one of the following lines. */
static void test_mark__stands_before_the_condition_of_an_elif(void **state)
{
    assert_file_expands(
        "#if A\n#include \"beside.clh\"\n#elif B\nx\n#endif\ny\n", NULL,
        "#line 1 \"sub/main.cl\"\n#if A\n#line 1 \"sub/beside.clh\"\nbeside\n\n#line 3 \"sub/main.cl\"\n"
        "#else\n#line 3 \"sub/main.cl\"\n#if B\nx\n#endif\n#endif\n#line 6 \"sub/main.cl\"\ny\n\n");
}

static void test_mark__keeps_to_what_a_line_of_the_users_says(void **state)
{
    assert_file_expands(
        "#line 70 \"scale.y\"\na\n#include \"beside.clh\"\nb\n# 9\n#include \"beside.clh\"\nc\n", NULL,
        "#line 1 \"sub/main.cl\"\n#line 70 \"scale.y\"\na\n#line 1 \"sub/beside.clh\"\nbeside\n\n"
        "#line 72 \"scale.y\"\nb\n# 9\n#line 1 \"sub/beside.clh\"\nbeside\n\n#line 10 \"scale.y\"\nc\n\n");
    char *got =
        expanded_from("sub/main.cl", "#ifndef A\n#line 70\n#else\n#include \"beside.clh\"\nx\n#endif\n", true, NULL);
    assert_non_null(strstr(got, "#line 5 \"sub/main.cl\"\nx\n")); /* a #line in a skipped branch has no effect */
    free(got);
}

/* ---- what is left out because nothing of it would be compiled ---- */

static void test_once__leaves_out_what_is_known_to_be_there(void **state)
{
    write_file("sub/once.clh", "#pragma once\nonly\n");
    char *got = expanded_from("sub/main.cl", "#include \"once.clh\"\n#include \"deep/../once.clh\"\nx\n", true, NULL);
    assert_string_equal(got, "#line 1 \"sub/main.cl\"\n#line 1 \"sub/once.clh\"\n#define NDR_ONCE_0_\nonly\n\n"
                             "#line 2 \"sub/main.cl\"\n\nx\n\n");
    free(got);
}

static void test_once__is_left_to_the_compiler_where_only_it_knows(void **state)
{
    write_file("sub/once.clh", "#pragma once\nonly\n");
    char *got =
        expanded_from("sub/main.cl", "#if A\n#include \"once.clh\"\n#endif\n#include \"once.clh\"\n", true, NULL);
    assert_non_null(strstr(got, "#ifndef NDR_ONCE_0_\n#line 1 \"sub/once.clh\"\n#define NDR_ONCE_0_\nonly\n\n#endif\n"
                                "#line 5 \"sub/main.cl\"\n"));
    assert_int_equal(count_of(got, "\nonly\n"), 2);
    free(got);
}

static void test_once__holds_for_the_text_itself(void **state)
{
    write_file("sub/self.cl", "#pragma once\nself\n#include \"self.cl\"\n");
    char *got = expanded_from("sub/self.cl", "#pragma once\nself\n#include \"self.cl\"\n", true, NULL);
    assert_int_equal(count_of(got, "self\n"), 1);
    free(got);
}

/* In the main text the compiler warns about it and ignores it. */
static void test_system_header__is_left_out_of_what_is_pasted(void **state)
{
    write_file("sub/system.clh",
               "#pragma GCC \\\n  system_header\nx\n# pragma clang system_header // of\n#pragma mine\n");
    assert_file_expands("#pragma GCC system_header\n#include \"system.clh\"\n", NULL,
                        "#line 1 \"sub/main.cl\"\n#pragma GCC system_header\n#line 1 \"sub/system.clh\"\n\n\nx\n\n"
                        "#pragma mine\n\n#line 3 \"sub/main.cl\"\n\n");
}

/* A file with that text is included. It is refused with `sentence`, or accepted if that is NULL. */
static void assert_pasted_is_refused(const char *text, const char *place, const char *sentence)
{
    ndr_text out = { 0 };
    write_file("sub/lost.clh", text);
    const ndr_status status = expand_include("#include \"lost.clh\"\n", NULL, &out);
    if (sentence) assert_refused(NDR_BAD_ARGUMENT, status, place, sentence);
    else assert_ok(status);
    ndr_text_free(&out);
}

static void test_include__of_what_pasting_would_lose_is_refused(void **state)
{
    static const char level[] = "__INCLUDE_LEVEL__ is 0 in pasted files: define a macro of your own, and count in it";
    assert_pasted_is_refused("\n#if __INCLUDE_LEVEL__ == 1\n#endif\n", "\"sub/lost.clh\", line 2: ", level);
    assert_pasted_is_refused("#if 1 <\\\n__INCLUDE_LEVEL__\n#endif\n", "\"sub/lost.clh\", line 1: ", level);
    assert_pasted_is_refused("#if 0\n#elif __INCLUDE_LEVEL__\n#endif\n", "\"sub/lost.clh\", line 2: ", level);
    assert_pasted_is_refused("#ifdef A\n#include \"beside.clh\"\n#elif __INCLUDE_LEVEL__\n#endif\n",
                             "\"sub/lost.clh\", line 3: ", level);
    assert_pasted_is_refused("// __INCLUDE_LEVEL__\n/*\n__INCLUDE_LEVEL__ */\n", NULL, NULL);
    assert_pasted_is_refused("#if 0\n#if __INCLUDE_LEVEL__\n#endif\n#endif\n", NULL, NULL);
    assert_expands("#if __INCLUDE_LEVEL__ == 0\n#endif\n", NULL);
    ndr_text out = { 0 };
    assert_refused(NDR_BAD_ARGUMENT, expand_include("\n#define LEVEL __INCLUDE_LEVEL__\n", NULL, &out),
                   "\"sub/main.cl\", line 2: ", level);
    ndr_text_free(&out);
}

/* `count` files that all include each other, and the expansion of a text that includes the last one `times` times. */
static char *expanded_from_circle(const char *head, const char *guard, const char *end, size_t count)
{
    ndr_text text = { 0 };
    char path[64];
    for (size_t i = 0; i < count; ++i) {
        ndr_text_clear(&text);
        ndr_text_add(&text, guard, i, i);
        for (size_t other = 0; other < count; ++other) ndr_text_add(&text, "#include \"g%zu.clh\"\n", other);
        ndr_text_add(&text, "file %zu\n%s", i, end);
        snprintf(path, sizeof path, "sub/g%zu.clh", i);
        write_file(path, text.chars);
    }
    ndr_text_free(&text);
    return expanded_from("sub/main.cl", head, true, NULL);
}

static void assert_each_once(const char *guard, const char *end)
{
    char *got = expanded_from_circle("#include \"g39.clh\"\n#include \"g3.clh\"\n", guard, end, 40);
    for (size_t i = 0; i < 40; ++i) {
        char line[32];
        snprintf(line, sizeof line, "\nfile %zu\n", i);
        assert_int_equal(count_of(got, line), 1);
    }
    free(got);
}

static void test_include_guard__pastes_files_that_include_each_other_once(void **state)
{
    assert_each_once("// a file\n#ifndef G%zu\n#define G%zu /* here */\n", "#endif // G\n");
    assert_each_once("#if !defined(G%zu)\n#define G%zu\n", "#endif\n\n");
    assert_each_once("#pragma once\n#define G%zu %zu\n", "");
}

/* libndr cannot see whether the compiler also defines G. If it does, the text left out for G would be missing. */
static void test_include_guard__that_the_compiler_defines_itself_is_an_error(void **state)
{
    char *got = expanded_from_circle("#include \"g1.clh\"\n", "#ifndef G%zu\n#define G%zu\n", "#endif\n", 2);
    assert_non_null(strstr(got, "file 1\n#else\n#line 6 \"sub/g1.clh\"\n"
                                "#error the macro that guards this file is defined elsewhere, too"));
    assert_null(strstr(got, "file 0\n#else\n")); /* nothing was left out for that one */
    free(got);
}

/* Each makes it possible that the file is needed again. */
/* INT_MAX and cl_khr_fp64 may be defined before the text. */
static void test_include_guard__is_none_that_the_compiler_may_define(void **state)
{
    static const char *const guards[] = { "INT_MAX 2147483647", "cl_khr_fp64 1", "__OPENCL_VERSION__ 0" };
    for (size_t i = 0; i < sizeof guards / sizeof guards[0]; ++i) {
        char text[256];
        snprintf(text, sizeof text, "#ifndef %.*s\n#define %s\n#ifndef REAL\n#define REAL double\n#endif\n#endif\n",
                 (int)strcspn(guards[i], " "), guards[i], guards[i]);
        write_file("sub/limits.clh", text);
        char *got = expanded_from("sub/main.cl", "#include \"limits.clh\"\n#include \"limits.clh\"\n", true, NULL);
        assert_null(strstr(got, "#error"));
        free(got);
    }
}

static void test_include_guard__counts_for_nothing_where_its_macro_may_be_undefined(void **state)
{
    static const char *const between[] = { "#undef G\n", "#if A\n#undef G\n#endif\n", "#include <nobody.clh>\n",
                                           "#und\\\nef /* */ G\n", "#pragma pop_macro(\"G\")\n", "#include H\n" };
    write_file("sub/guarded.clh", "#ifndef G\n#define G\nguarded\n#endif\n");
    for (size_t i = 0; i < sizeof between / sizeof between[0]; ++i) {
        char text[256];
        snprintf(text, sizeof text, "#include \"guarded.clh\"\n%s#include \"guarded.clh\"\n", between[i]);
        char *got = expanded_from("sub/main.cl", text, true, NULL);
        assert_int_equal(count_of(got, "\nguarded\n"), 2);
        free(got);
    }
}

/* ---- spellings ---- */

static void test_include__is_read_as_a_compiler_reads_it(void **state)
{
    static const char *const spellings[] = {
        "/* c */ #include \"beside.clh\"\n",
        "#/**/include/* \" */\"beside.clh\"\n",
        "%:include \"beside.clh\"\n",
        "#include \\\n \"beside.clh\"\n",
        "#in\\\nclude \"beside.clh\"\n",
        "/* a\n b */ #include \"beside.clh\"\n",
        "#include \"bes\\\nide.clh\"\n",
        "#include <..//sub/beside.clh>\n",
        "#include \"../sub//beside.clh\"\n",
        "# \\\r\n include \"beside.clh\"\r\n",
        "\xEF\xBB\xBF#include \"beside.clh\"\n",
        "#define H \"beside.clh\"\n#include H\n",
        "#define H /* */ <beside.clh> // H\n #include H /* */\n",
    };
    const char *const dirs[] = { "sub", NULL };
    for (size_t i = 0; i < sizeof spellings / sizeof spellings[0]; ++i) {
        char *got = expanded_from("sub/main.cl", spellings[i], true, dirs);
        if (!strstr(got, "beside.clh\"\nbeside\n")) fail_msg("not pasted: %s", spellings[i]);
        assert_int_equal(count_of(spellings[i], "\n") + 1,
                         strtoul(strstr(strstr(got, "beside.clh\"\nbeside\n"), "#line ") + 6, NULL, 10));
        free(got);
    }
}

static void test_include__ends_at_any_line_end(void **state)
{
    static const char wanted[] =
        "#line 1 \"sub/main.cl\"\n#line 1 \"sub/ends.clh\"\n#line 1 \"sub/beside.clh\"\nbeside\n\n"
        "#line 2 \"sub/ends.clh\"\none \\\nline\n\n\n#line 2 \"sub/main.cl\"\n\nthree\n\n";
    static const char *const ends[] = { "\n", "\r", "\r\n" };
    for (size_t i = 0; i < 3; ++i) {
        char text[256];
        const char *end = ends[i];
        snprintf(text, sizeof text, "#include \"beside.clh\"%sone \\%sline%s%s", end, end, end, end);
        write_file("sub/ends.clh", text);
        snprintf(text, sizeof text, "#include \"ends.clh\"%s%sthree%s", end, end, end);
        assert_file_expands(text, NULL, wanted);
    }
}

/* Of the nine, those that change how a line is read. The compiler warns about the others. */
static void test_include__of_a_file_with_a_byte_order_mark_pastes_what_follows(void **state)
{
    write_file("sub/marked.clh", "\xEF\xBB\xBFmarked\n");
    char *got = expanded_from("sub/main.cl", "#include \"marked.clh\"\n", true, NULL);
    assert_non_null(strstr(got, "#line 1 \"sub/marked.clh\"\nmarked\n"));
    free(got);
}

static void test_include_next__is_refused(void **state)
{
    static const char *const texts[] = { "\n#include_next <next.clh>\n", "\n# import \"beside.clh\"\n",
                                         "\n#if __has_include_next(<next.clh>)\n#endif\n" };
    ndr_text out = { 0 };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; ++i)
        assert_refused(NDR_BAD_ARGUMENT, expand_include(texts[i], NULL, &out), "\"sub/main.cl\", line 2: #import",
                       "write #include or __has_include, with a path that leads to the file");
    assert_expands("#if 0\n#import \"x\"\n#endif\n", NULL);
    ndr_text_free(&out);
}

static void test_has_include__is_answered_where_the_file_is_found(void **state)
{
    assert_expands("#if my__has_include(A)\n#endif\n", NULL);
    assert_file_expands("#if __has_include(\"beside.clh\") && !__has_include ( <ndr/item.clh> )\n#endif\n", NULL,
                        "#line 1 \"sub/main.cl\"\n#if 1 && !1 \n#endif\n\n");
    assert_file_expands("#if __has_include(<nobody.clh>)\n#endif\n", NULL,
                        "#line 1 \"sub/main.cl\"\n#if __has_include(<nobody.clh>)\n#endif\n\n");
}

/* ---- what only the compiler can decide ---- */

static const char *const folder_a[] = { "include_a", NULL };

/* The flags for a text, "" for none; free() them. */
static char *flags_for(const char *text, const char *options, const char *const *dirs)
{
    const ndr_source_desc source = {
        .title = "sub/main.cl", .text = text, .options = options, .is_file = true, .include_dirs = dirs
    };
    ndr_text out = { 0 }, flags = { 0 };
    ndr_text_add(&flags, "%s", "");
    assert_ok(expand(&source, &out, &flags));
    assert_true((strstr(out.chars, "\n// folders as of ") != NULL) == (flags.length > 0));
    ndr_text_free(&out);
    return flags.chars;
}

static void assert_flags(const char *text, const char *options, const char *wanted)
{
    char *got = flags_for(text, options, folder_a);
    assert_string_equal(got, wanted);
    free(got);
}

static void test_folders__are_passed_on_only_where_the_compiler_needs_them(void **state)
{
    static const char both[] = " -I sub/ -I include_a";
    assert_flags("#include <both.clh>\n#include <nobody.clh>\n#ifdef __has_include\n#endif\n", NULL, "");
    assert_flags("#if __has_include(<both.clh>) || __has_include(<nobody.clh>)\n#endif\n", NULL, "");
    assert_flags("#define H <both.clh>\n#include H\n", NULL, "");
    assert_flags("#ifndef H\n#define H <both.clh>\n#endif\n#include H\n", NULL, "");
    assert_flags("#include H\n", "-DH=<both.clh>", both);
    assert_flags("#ifndef H\n#define H <both.clh>\n#endif\n#include H\n", "-D H=<nobody.clh>", both);
    assert_flags("#if 0\n#include H\n#endif\n", NULL, "");
    assert_flags("#include H\n", NULL, both);
    assert_flags("#include H(x)\n", NULL, both);
    assert_flags("#if A\n#define H <both.clh>\n#else\n#define H <nobody.clh>\n#endif\n#include H\n", NULL, both);
    assert_flags("#if __has_include(H)\n#endif\n", NULL, both);
}

static void test_has_include__in_a_macro_is_refused(void **state)
{
    ndr_text out = { 0 };
    assert_refused(NDR_BAD_ARGUMENT, expand_include("\n#define HAS(x) __has_include(x)\n", NULL, &out),
                   "\"sub/main.cl\", line 2: a macro contains __has_include", "write __has_include in the #if itself");
    assert_expands("#ifdef __has_include\n#if 0\n#define HAS __has_include\n#endif\n#endif\n", NULL);
    ndr_text_free(&out);
}

/* A driver's cache may identify a program by its text and options only. */
static void test_folders__whose_files_change_change_the_text(void **state)
{
    ndr_text before = { 0 }, same = { 0 }, after = { 0 };
    const ndr_source_desc source = { .title = "t", .text = "#include H\n", .include_dirs = folder_a };
    ndr_text flags = { 0 };
    (void)mkdir("include_a/deep", 0777);
    write_file("include_a/deep/h.clh", "1\n");
    assert_ok(expand(&source, &before, &flags));
    assert_ok(expand(&source, &same, &flags));
    write_file("include_a/deep/h.clh", "22\n");
    assert_ok(expand(&source, &after, &flags));
    assert_string_equal(before.chars, same.chars);
    assert_string_not_equal(before.chars, after.chars);
    ndr_text_free(&before);
    ndr_text_free(&same);
    ndr_text_free(&after);
    ndr_text_free(&flags);
}

static void test_folders__that_cannot_be_passed_on_are_refused(void **state)
{
    static const char *const names[] = { "in clude", "in\"clude", "in\\clude" };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
        const char *const dirs[] = { names[i], NULL };
        ndr_source_desc source = { .title = "t", .text = "#include H\n", .include_dirs = dirs };
        ndr_text out = { 0 }, flags = { 0 };
        assert_refused(NDR_BAD_ARGUMENT, expand(&source, &out, &flags),
                       "the compiler has to search folder", names[i], "rename it, or write the file's name out");
        source.text = "#include <nobody.clh>\n";
        assert_ok(expand(&source, &out, &flags));
        ndr_text_free(&out);
        ndr_text_free(&flags);
    }
}

static void test_folders__of_two_files_that_need_their_own_are_refused(void **state)
{
    write_file("include_a/computes.clh", "#include H\n");
    ndr_text out = { 0 };
    assert_refused(NDR_BAD_ARGUMENT, expand_include("#include H\n#include <computes.clh>\n", folder_a, &out),
                   "\"include_a/computes.clh\"", "\"sub/\"", "write the name itself");
    ndr_text_free(&out);
}

/* ---- files that are not whole ---- */

/* In a skipped branch, compilers read only the word of a directive. */
static void test_branch__begins_and_ends_at_whole_words(void **state)
{
    assert_expands("#if 0\n#endif_old\n#iffy\n#elephant\n#endif\nkept\n", NULL);
}

static void test_file__that_leaves_an_if_open_is_refused(void **state)
{
    ndr_text out = { 0 };
    write_file("sub/open.clh", "one\n#if A\n#if \\\nB\n#endif\n");
    assert_refused(NDR_BUILD_FAILED, expand_include("#if B\n#include \"open.clh\"\n#endif\nx\n", NULL, &out),
                   "\"sub/open.clh\", line 2: this #if has no #endif in its file");
    write_file("sub/closed.clh", "one\n/* \n */ #endif\n");
    assert_refused(NDR_BUILD_FAILED, expand_include("#if B\n#include \"closed.clh\"\n#endif\nx\n", NULL, &out),
                   "\"sub/closed.clh\", line 2: this branch has no #if in its file");
    assert_refused(NDR_BUILD_FAILED, expand_include("#else\n", NULL, &out), "\"sub/main.cl\", line 1: this branch");
    assert_refused(NDR_BUILD_FAILED, expand_include("x\n#line 7 \"made of.h\"\ny\n#if A\nz\n", NULL, &out),
                   "\"made of.h\", line 8: this #if has no #endif in its file");
    ndr_text_free(&out);
}

/* ---- refusals ---- */

static void test_include__may_be_200_deep(void **state)
{
    char path[32], text[64];
    for (int i = 0; i < 202; ++i) {
        snprintf(path, sizeof path, "sub/deep/%d.clh", i);
        snprintf(text, sizeof text, "level %d\n#include \"%d.clh\"\n", i, i + 1);
        write_file(path, text);
    }
    write_file("sub/deep/202.clh", "the end\n");
    char *deep = expanded_from("sub/deep/main.cl", "#include \"2.clh\"\n", true, NULL);
    assert_non_null(strstr(deep, "#line 1 \"sub/deep/201.clh\"\n#error this file is included too deep"));
    char *fine = expanded_from("sub/deep/main.cl", "#include \"4.clh\"\n", true, NULL);
    assert_non_null(strstr(fine, "the end"));
    assert_null(strstr(fine, "#error"));
    free(deep);
    free(fine);
}

static void test_include__that_doubles_without_end_is_refused(void **state)
{
    char path[32], text[8192];
    for (int i = 0; i < 31; ++i) {
        snprintf(path, sizeof path, "sub/deep/d%d.clh", i);
        snprintf(text, sizeof text, "%8000s\n#include \"d%d.clh\"\n#include \"d%d.clh\"\n", "", i + 1,
                 i + 1);
        write_file(path, text);
    }
    write_file("sub/deep/d31.clh", "x\n");
    const ndr_source_desc source = { .title = "sub/deep/main.cl",
                                .text = "#include \"d4.clh\"\n",
                                .is_file = true };
    ndr_text out = { 0 };
    assert_refused(NDR_LIMIT_EXCEEDED, expand(&source, &out, NULL),
                   "makes the source longer than 16777216 bytes");
    ndr_text_free(&out);
}

/* Nothing is left of any of them, so the length of the text does not end it. */
static void test_include__of_empty_files_that_double_without_end_is_refused(void **state)
{
    char path[32], text[64];
    for (int i = 0; i < 60; ++i) {
        snprintf(path, sizeof path, "sub/deep/e%d.clh", i);
        snprintf(text, sizeof text, "#include \"e%d.clh\"\n#include \"e%d.clh\"\n", i + 1, i + 1);
        write_file(path, text);
    }
    write_file("sub/deep/e60.clh", "");
    const ndr_source_desc doubling = { .title = "sub/deep/main.cl", .text = "#include \"e0.clh\"\n", .is_file = true };
    const ndr_source_desc small = { .title = "sub/deep/main.cl", .text = "#include \"e46.clh\"\n", .is_file = true };
    ndr_text out = { 0 };
    assert_refused(NDR_LIMIT_EXCEEDED, expand(&doubling, &out, NULL),
                   "\"sub/deep/main.cl\" includes files 50000 times in all, the most that libndr pastes, and then \"",
                   "sub/deep/e", "\": write #pragma once into each file that others include");
    out.length = 0;
    assert_ok(expand(&small, &out, NULL)); /* 2^15 - 1 times */
    for (int i = 0; i < 60; ++i) {
        snprintf(path, sizeof path, "sub/deep/e%d.clh", i);
        snprintf(text, sizeof text, "#pragma once\n#include \"e%d.clh\"\n#include \"e%d.clh\"\n", i + 1, i + 1);
        write_file(path, text);
    }
    out.length = 0;
    assert_ok(expand(&doubling, &out, NULL));
    ndr_text_free(&out);
}

/* With a file that includes itself, it is tried again with fewer repetitions. */
static void test_include__of_an_empty_file_twice_in_itself_ends(void **state)
{
    write_file("sub/deep/itself.clh", "#include \"itself.clh\"\n#include \"itself.clh\"\n");
    const ndr_source_desc source = { .title = "sub/deep/main.cl", .text = "#include \"itself.clh\"\n", .is_file = true };
    ndr_text out = { 0 };
    assert_ok(expand(&source, &out, NULL));
    assert_non_null(strstr(out.chars, "#error this file is included too deep"));
    ndr_text_free(&out);
}

static void test_source__with_thousands_of_ifs_inside_each_other_is_refused(void **state)
{
    ndr_text text = { 0 }, out = { 0 };
    for (int i = 0; i < 2001; ++i) ndr_text_add(&text, "#if A\n");
    for (int i = 0; i < 2001; ++i) ndr_text_add(&text, "#endif\n");
    assert_refused(NDR_LIMIT_EXCEEDED, expand_include(text.chars, NULL, &out), "more than 2000 #ifs inside each other");
    text.chars[text.length - strlen("#endif\n")] = '\0';
    assert_ok(expand_include(text.chars + strlen("#if A\n"), NULL, &out));
    ndr_text_free(&text);
    ndr_text_free(&out);
}

static void test_source_read__refuses_a_file_that_is_not_there(void **state)
{
    ndr_text out = { 0 };
    assert_refused(NDR_NOT_FOUND, ndr_source_read("sub/nobody.cl", &out),
                   "kernel file \"sub/nobody.cl\" cannot be read: No such file");
    ndr_text_free(&out);
}

static void test_source_read__refuses_a_folder(void **state)
{
    ndr_text out = { 0 };
    assert_refused(NDR_NOT_FOUND, ndr_source_read("sub", &out),
                   "kernel file \"sub\" cannot be read: Is a directory");
    ndr_text_free(&out);
}

static void test_source_read__refuses_devices_and_pipes_at_once(void **state)
{
    (void)mkfifo("fifo.cl", 0666);
    ndr_text out = { 0 };
    assert_refused(NDR_BAD_ARGUMENT, ndr_source_read("/dev/zero", &out),
                   "kernel file \"/dev/zero\" is a device or a pipe; only regular files are read");
    assert_refused(NDR_BAD_ARGUMENT, ndr_source_read("fifo.cl", &out), "kernel file \"fifo.cl\" is a device or a pipe");
    ndr_text_free(&out);
}

static void test_source_read__takes_16_mib_and_not_a_byte_more(void **state)
{
    enum { MOST = 16 << 20 };
    char *text = malloc(MOST + 2);
    assert_non_null(text);
    memset(text, ' ', MOST + 1);
    text[MOST + 1] = '\0';
    write_file("too_large.cl", text);
    text[MOST] = '\0';
    write_file("large.cl", text);
    ndr_text out = { 0 };
    ndr_text_add(&out, "before"); /* the limit is for the file alone */
    assert_ok(ndr_source_read("large.cl", &out));
    assert_int_equal(out.length, MOST + 6);
    ndr_text_free(&out);
    assert_refused(NDR_LIMIT_EXCEEDED, ndr_source_read("too_large.cl", &out),
                   "kernel file \"too_large.cl\" has more than 16777216 bytes, the most that libndr reads");
    ndr_text_free(&out);
    assert_refused(NDR_LIMIT_EXCEEDED, expand_include("#include \"../too_large.cl\"\n", NULL, &out),
                   "has more than 16777216 bytes");
    ndr_text_free(&out);
    assert_int_equal(remove("large.cl") + remove("too_large.cl"), 0);
    free(text);
}

static void test_source_read__refuses_a_0_byte(void **state)
{
    FILE *file = fopen("zero.cl", "wb");
    assert_non_null(file);
    assert_int_equal(fwrite("a\0b", 1, 3, file), 3);
    assert_int_equal(fclose(file), 0);
    ndr_text out = { 0 };
    assert_refused(NDR_BAD_ARGUMENT, ndr_source_read("zero.cl", &out),
                   "kernel file \"zero.cl\" contains a 0 byte");
    ndr_text_free(&out);
}

static void test_source_read__appends_the_whole_file(void **state)
{
    enum { LENGTH = 20000 }; /* several chunks */
    static char text[LENGTH + 1];
    memset(text, 'x', LENGTH);
    text[LENGTH - 1] = 'y';
    write_file("long.cl", text);
    ndr_text out = { 0 };
    ndr_text_add(&out, "before");
    assert_ok(ndr_source_read("long.cl", &out));
    assert_int_equal(out.length, LENGTH + 6);
    assert_string_equal(out.chars + 6, text);
    ndr_text_free(&out);
}

static void test_source_find__knows_the_embedded_files_only(void **state)
{
    const ndr_source_file *item = ndr_source_find("ndr/item.clh");
    assert_non_null(item);
    assert_int_equal(strlen(item->text), item->length);
    assert_null(ndr_source_find("item.clh"));
    assert_null(ndr_source_find(""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_source__without_includes_is_left_as_it_is),
        cmocka_unit_test(test_source__names_itself_in_the_first_line),
        cmocka_unit_test(test_include__of_the_vocabulary_pastes_only_the_bodies_of_its_own_functions),
        cmocka_unit_test(test_include__of_the_vocabulary_is_known_in_every_spelling),
        cmocka_unit_test(test_include__of_the_vocabulary_follows_its_own_includes),
        cmocka_unit_test(test_include__of_the_vocabulary_pastes_each_of_its_files_once),
        cmocka_unit_test(test_include__of_the_vocabulary_needs_no_folder),
        cmocka_unit_test(test_include__is_found_beside_its_file),
        cmocka_unit_test(test_include__is_found_beside_the_file_that_includes_it),
        cmocka_unit_test(test_include__in_brackets_is_not_looked_for_beside),
        cmocka_unit_test(test_include__of_a_text_is_not_looked_for_beside),
        cmocka_unit_test(test_include__is_found_in_the_folders_in_their_order),
        cmocka_unit_test(test_include__looks_beside_before_the_folders),
        cmocka_unit_test(test_include__takes_an_absolute_path),
        cmocka_unit_test(test_include__is_found_in_the_folders_of_the_options),
        cmocka_unit_test(test_include__that_nobody_has_is_left_to_the_compiler),
        cmocka_unit_test(test_include__that_nobody_has_is_explained),
        cmocka_unit_test(test_include__without_a_plain_name_is_left_to_the_compiler),
        cmocka_unit_test(test_include__of_a_file_without_a_last_line_end_is_whole),
        cmocka_unit_test(test_include__of_an_empty_file_adds_nothing),
        cmocka_unit_test(test_include__that_may_be_skipped_is_pasted_again_behind),
        cmocka_unit_test(test_include__that_is_skipped_is_not_looked_for),
        cmocka_unit_test(test_include__inside_a_comment_is_left),
        cmocka_unit_test(test_include__after_a_comment_is_pasted),
        cmocka_unit_test(test_include__ends_with_a_comment_that_starts_behind_it),
        cmocka_unit_test(test_include__in_a_circle_ends_with_an_error),
        cmocka_unit_test(test_include__in_a_circle_of_longer_and_longer_paths_ends),
        cmocka_unit_test(test_include__of_itself_ends_with_an_error),
        cmocka_unit_test(test_include__that_cannot_be_read_is_refused_rather_than_passed_over),
        cmocka_unit_test(test_include__beside_its_file_that_cannot_be_read_is_refused),
        cmocka_unit_test(test_include__passes_over_folders_that_are_not_there),
        cmocka_unit_test(test_include__without_a_descriptor_left_is_out_of_host_memory),
        cmocka_unit_test(test_include__without_memory_is_refused_and_nothing_else_is_taken),
        cmocka_unit_test(test_include__is_followed_by_the_number_of_the_next_line),
        cmocka_unit_test(test_mark__stands_behind_each_branch_that_holds_a_file),
        cmocka_unit_test(test_mark__stands_before_the_condition_of_an_elif),
        cmocka_unit_test(test_mark__keeps_to_what_a_line_of_the_users_says),
        cmocka_unit_test(test_once__leaves_out_what_is_known_to_be_there),
        cmocka_unit_test(test_once__is_left_to_the_compiler_where_only_it_knows),
        cmocka_unit_test(test_once__holds_for_the_text_itself),
        cmocka_unit_test(test_system_header__is_left_out_of_what_is_pasted),
        cmocka_unit_test(test_include__of_what_pasting_would_lose_is_refused),
        cmocka_unit_test(test_include_guard__pastes_files_that_include_each_other_once),
        cmocka_unit_test(test_include_guard__that_the_compiler_defines_itself_is_an_error),
        cmocka_unit_test(test_include_guard__is_none_that_the_compiler_may_define),
        cmocka_unit_test(test_include_guard__counts_for_nothing_where_its_macro_may_be_undefined),
        cmocka_unit_test(test_include__is_read_as_a_compiler_reads_it),
        cmocka_unit_test(test_include__ends_at_any_line_end),
        cmocka_unit_test(test_include__of_a_file_with_a_byte_order_mark_pastes_what_follows),
        cmocka_unit_test(test_include_next__is_refused),
        cmocka_unit_test(test_has_include__is_answered_where_the_file_is_found),
        cmocka_unit_test(test_folders__are_passed_on_only_where_the_compiler_needs_them),
        cmocka_unit_test(test_has_include__in_a_macro_is_refused),
        cmocka_unit_test(test_folders__whose_files_change_change_the_text),
        cmocka_unit_test(test_folders__that_cannot_be_passed_on_are_refused),
        cmocka_unit_test(test_folders__of_two_files_that_need_their_own_are_refused),
        cmocka_unit_test(test_branch__begins_and_ends_at_whole_words),
        cmocka_unit_test(test_file__that_leaves_an_if_open_is_refused),
        cmocka_unit_test(test_include__may_be_200_deep),
        cmocka_unit_test(test_include__that_doubles_without_end_is_refused),
        cmocka_unit_test(test_include__of_empty_files_that_double_without_end_is_refused),
        cmocka_unit_test(test_include__of_an_empty_file_twice_in_itself_ends),
        cmocka_unit_test(test_source__with_thousands_of_ifs_inside_each_other_is_refused),
        cmocka_unit_test(test_source_read__refuses_a_file_that_is_not_there),
        cmocka_unit_test(test_source_read__refuses_a_folder),
        cmocka_unit_test(test_source_read__refuses_devices_and_pipes_at_once),
        cmocka_unit_test(test_source_read__takes_16_mib_and_not_a_byte_more),
        cmocka_unit_test(test_source_read__refuses_a_0_byte),
        cmocka_unit_test(test_source_read__appends_the_whole_file),
        cmocka_unit_test(test_source_find__knows_the_embedded_files_only),
    };
    return cmocka_run_group_tests(tests, make_files, NULL);
}
