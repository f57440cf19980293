/* test_own_text.c - which expressions, statements and declarations of callers are refused before a kernel is written. */
#include "support.h"

#include "ops/own_text.h"

#define TAKEN(kind, text) assert_ok(ndr_own_check("ndr_map_reduce", "finish", (text), NDR_OWN_##kind))
#define REFUSED(kind, text, ...) \
    assert_refused(NDR_BAD_ARGUMENT, ndr_own_check("ndr_map_reduce", "finish", (text), NDR_OWN_##kind), __VA_ARGS__)

static void test_own_text__names_the_call_the_text_and_the_fix(void **state)
{
    assert_refused(NDR_BAD_ARGUMENT, ndr_own_check("ndr_matmul", "epilogue", "x; 2", NDR_OWN_EXPRESSION),
                   "ndr_matmul: epilogue \"x; 2\" goes on behind a ;: write one value, and call a function of "
                   "declarations where that takes statements");
}

static void test_own_text__takes_one_value(void **state)
{
    static const char *const values[] = {
        "x", "x;", " x ; ; // ;", "x // (", "x /* ; ( */ + y", "x\n+ y\n", "x\r\n+ y", "x \\\n + y", "f(x, y) + a[(int)y]",
        "(x, y)", "{ 0, { 1, 2 } }", "(float4)(1, 2, 3, 4)", "x ? y : ','", "x == '\\'' ? ';' : '('", "sizeof \"a;\\\"(\"",
        "({ int a = x; a; })", "a.x < b.x || (a.x == b.x && a.y < b.y)", "returned", "x // \\\n ( ; 2",
    };
    for (size_t i = 0; i < NDR_COUNT_OF(values); ++i) TAKEN(EXPRESSION, values[i]);
    TAKEN(EXPRESSION, NULL);
}

static void test_own_text__refuses_more_than_one_value(void **state)
{
    REFUSED(EXPRESSION, "x; 2", "goes on behind a ;");
    REFUSED(EXPRESSION, "x;\n}\nint f(void) {", "closes a bracket that it does not open");
    REFUSED(EXPRESSION, "x; /* */ ;y", "goes on behind a ;");
    REFUSED(EXPRESSION, "x, y", "has a comma outside of brackets: put it in parentheses");
    REFUSED(EXPRESSION, "f(x, y), y", "comma");
    REFUSED(EXPRESSION, " return x", "begins with return: write the value alone");
    REFUSED(EXPRESSION, "x\n#define y 2", "has a line that begins with #: move it to declarations");
    REFUSED(EXPRESSION, "%:pragma unroll\nx", "begins with #");
    REFUSED(EXPRESSION, "/* x */ // y", "has no code");
    REFUSED(EXPRESSION, " ;", "has no code");
}

static void test_own_text__refuses_what_ends_elsewhere(void **state)
{
    REFUSED(EXPRESSION, "x) + (y", "closes a bracket that it does not open");
    REFUSED(EXPRESSION, "f(x]", "closes a bracket");
    REFUSED(EXPRESSION, "f(x", "does not close a bracket that it opens: add the closing one");
    REFUSED(EXPRESSION, "f(x /* ) */", "does not close a bracket");
    REFUSED(EXPRESSION, "{ 0, 1", "does not close a bracket");
    REFUSED(EXPRESSION, "x /* y", "begins a comment and does not end it: add */");
    REFUSED(EXPRESSION, "x /*/", "begins a comment");
    REFUSED(EXPRESSION, "x == 'a", "does not close a quote");
    REFUSED(EXPRESSION, "sizeof \"a\n\"", "does not close a quote");
    REFUSED(EXPRESSION, "x \\", "ends with a backslash: remove it");
    REFUSED(EXPRESSION, "x // \\ \t", "ends with a backslash");
}

static void test_own_text__reads_statements_of_a_block(void **state)
{
    static const char *const statements[] = {
        "y = x", "y = x; z = 2", "if (x > 0) { y = x; return; }", "float a = x, b = x; y = a + b",
        "\n#pragma unroll\nfor (int k = 0; k < 4; ++k) y += x;", "#ifdef A\nif (x) {\n#else\n{\n#endif\ny = x; }",
    };
    for (size_t i = 0; i < NDR_COUNT_OF(statements); ++i) TAKEN(STATEMENTS, statements[i]);
    REFUSED(STATEMENTS, "y = x; } if (0) {", "closes a bracket that it does not open");
    REFUSED(STATEMENTS, "#pragma unroll\ny = x; } {", "closes a bracket that it does not open");
    REFUSED(STATEMENTS, "if (x) { y = x", "does not close a bracket");
    REFUSED(STATEMENTS, "y = x /*", "begins a comment");
    REFUSED(STATEMENTS, "// y = x", "has no code");
    REFUSED(STATEMENTS, "y = x \\", "ends with a backslash");
}

static void test_own_text__reads_declarations_of_a_file(void **state)
{
    TAKEN(DECLARATIONS, "");
    TAKEN(DECLARATIONS, "#define BEGIN {\nint f(int x) BEGIN return x; }\n// it's");
    TAKEN(DECLARATIONS, NULL);
    REFUSED(DECLARATIONS, "int f(void); /* f", "begins a comment");
    REFUSED(DECLARATIONS, "#define A \\", "ends with a backslash");
}

static void test_own_text__shows_the_start_of_a_long_text(void **state)
{
    enum { TERMS = 100000 };
    ndr_text text = { 0 };
    for (int i = 0; i < TERMS; ++i) ndr_text_add_all(&text, "x + ");
    ndr_text_add_all(&text, "x");
    assert_false(text.failed);
    TAKEN(EXPRESSION, text.chars);
    ndr_text_add_all(&text, ")");
    REFUSED(EXPRESSION, text.chars, "finish \"x + x + x + x + x + x + x + x + x + x + x + x + x + x + x + ...\" closes");
    ndr_text_clear(&text);
    for (int i = 0; i < 300; ++i) ndr_text_add_all(&text, "(");
    REFUSED(EXPRESSION, text.chars, "has more than 256 brackets in each other");
    ndr_text_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_own_text__names_the_call_the_text_and_the_fix),
        cmocka_unit_test(test_own_text__takes_one_value),
        cmocka_unit_test(test_own_text__refuses_more_than_one_value),
        cmocka_unit_test(test_own_text__refuses_what_ends_elsewhere),
        cmocka_unit_test(test_own_text__reads_statements_of_a_block),
        cmocka_unit_test(test_own_text__reads_declarations_of_a_file),
        cmocka_unit_test(test_own_text__shows_the_start_of_a_long_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
