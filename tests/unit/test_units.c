/* test_units.c - which matrix units the tiles of a program take. */
#include "support.h"

#include "device/context.h"
#include "program/program.h"

/* The options of a program with the include `file` on such a device. */
static void check_options(unsigned capability, bool is_linked, const char *file, const char *before, const char *added)
{
    static ndr_context device_context;
    char files[64];
    ndr_text options = { 0 };
    ndr_program program = { .context = &device_context, .is_linked = is_linked };
    device_context.caps.compute_capability = capability;
    snprintf(files, sizeof files, "\n%s\n", file);
    program.source.files = (ndr_text){ .chars = files, .length = strlen(files) };
    ndr_text_add(&options, "%s", before);
    ndr_units_choose(&program, &options);
    assert_memory_equal(options.chars, before, strlen(before));
    assert_string_equal(options.chars + strlen(before), added);
    ndr_text_free(&options);
}

static void test_units__depend_on_the_compute_capability(void **state)
{
    static const char tiles[] = "ndr/matrix.clh", ptx[] = "-w -DNDR_PTX=1", teams[] = " -DNDR_PTX_TARGET=sm_90a";
    check_options(0, false, tiles, ptx, "");
    check_options(750, false, tiles, ptx, "");
    check_options(800, false, tiles, ptx, " -DNDR_MATRIX_UNITS=1");
    check_options(900, false, tiles, ptx, " -DNDR_MATRIX_UNITS=2 -DNDR_PTX_TARGET=sm_90a");
    check_options(1200, false, tiles, ptx, " -DNDR_MATRIX_UNITS=1");
    check_options(900, true, tiles, ptx, " -DNDR_MATRIX_UNITS=1");
    check_options(900, false, tiles, "-w", "");
    check_options(900, false, "ndr/item.clh", ptx, "");
    check_options(900, false, tiles, "-DNDR_MATRIX_UNITS=1 -DNDR_PTX=1", "");
    check_options(900, false, tiles, "-DNDR_MATRIX_UNITS=2 -DNDR_PTX=1", teams);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_units__depend_on_the_compute_capability),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
