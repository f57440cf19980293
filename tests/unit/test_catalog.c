/* test_catalog.c - devices chosen from made-up lists, and machines without a driver or a device.
 *
 * The loader looks for drivers only once per process, so each such machine is a child process. */
#include "support.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device/caps.h"
#include "device/catalog.h"

/* ---- choosing ---- */

static const ndr_device_info machine[] = {
    { .name = "pthread-AMD EPYC", .platform = "Portable Computing Language", .type = NDR_DEVICE_TYPE_CPU },
    { .name = "NVIDIA H200", .platform = "NVIDIA CUDA", .type = NDR_DEVICE_TYPE_GPU },
    { .name = "gfx1100", .platform = "AMD Accelerated Parallel Processing", .type = NDR_DEVICE_TYPE_GPU },
    { .name = "FPGA board 1", .platform = "Vendor SDK", .type = NDR_DEVICE_TYPE_ACCELERATOR },
    { .name = "A tool that likes the gpu", .platform = "cpu emulator", .type = NDR_DEVICE_TYPE_OTHER },
};
enum { COUNT = sizeof machine / sizeof machine[0] };

static size_t chosen_of(const char *words, const ndr_device_info *devices, size_t count)
{
    size_t chosen = 999;
    assert_ok(ndr_catalog_choose(words, "test", devices, count, &chosen));
    return chosen;
}

static size_t chosen(const char *words) { return chosen_of(words, machine, COUNT); }

static void test_catalog__prefers_gpu_then_accelerator_then_cpu(void **state)
{
    const ndr_device_info without_gpu[] = { machine[4], machine[0], machine[3] };
    const ndr_device_info with_cpu[] = { machine[4], machine[0] };
    const ndr_device_info with_other[] = { machine[4] };
    assert_int_equal(chosen(NULL), 1);
    assert_int_equal(chosen_of(NULL, without_gpu, 3), 2);
    assert_int_equal(chosen_of(NULL, with_cpu, 2), 1);
    assert_int_equal(chosen_of(NULL, with_other, 1), 0);
}

static void test_catalog__takes_empty_words_for_the_default(void **state)
{
    assert_int_equal(chosen(""), 1);
}

static void test_catalog__finds_the_first_of_a_type(void **state)
{
    assert_int_equal(chosen("cpu"), 0);
    assert_int_equal(chosen("gpu"), 1);
    assert_int_equal(chosen("accelerator"), 3);
    assert_int_equal(chosen("GPU"), 1);
}

static void test_catalog__never_looks_a_type_up_as_a_name(void **state)
{
    const ndr_device_info named_gpu[] = { machine[0], machine[4] };
    size_t index = 999;
    assert_refused(NDR_NO_MATCHING_DEVICE, ndr_catalog_choose("gpu", "test", named_gpu, 2, &index),
                   "test asks for \"gpu\", but there is no device of that type");
    assert_int_equal(index, 999);
}

static void test_catalog__takes_an_index(void **state)
{
    assert_int_equal(chosen("0"), 0);
    assert_int_equal(chosen("4"), 4);
    assert_int_equal(chosen("04"), 4);
}

static void test_catalog__refuses_an_index_past_the_end(void **state)
{
    size_t index = 999;
    assert_refused(NDR_NO_MATCHING_DEVICE, ndr_catalog_choose("5", "test", machine, COUNT, &index),
                   "test asks for \"5\", but there is no device with that index");
    assert_refused(NDR_NO_MATCHING_DEVICE,
                   ndr_catalog_choose("99999999999999999999999999", "test", machine, COUNT, &index),
                   "99999999999");
    assert_int_equal(index, 999);
}

static void test_catalog__takes_the_nth_of_a_type(void **state)
{
    assert_int_equal(chosen("gpu:0"), 1);
    assert_int_equal(chosen("GPU:1"), 2);
    assert_int_equal(chosen("cpu:0"), 0);
    assert_int_equal(chosen("3:0"), 3);
}

static void test_catalog__takes_the_nth_of_a_name(void **state)
{
    const ndr_device_info twins[] = { machine[1], machine[0], machine[1], { .name = "gfx90a:sramecc+:xnack-" } };
    assert_int_equal(chosen_of("h200:0", twins, 4), 0);
    assert_int_equal(chosen_of("NVIDIA:1", twins, 4), 2);
    assert_int_equal(chosen_of("gfx90a:sramecc+:xnack-", twins, 4), 3);
    assert_int_equal(chosen_of("sramecc+:xnack-:0", twins, 4), 3);
}

static void test_catalog__refuses_a_number_past_the_matches(void **state)
{
    size_t index = 999;
    assert_refused(NDR_NO_MATCHING_DEVICE, ndr_catalog_choose("gpu:2", "test", machine, COUNT, &index),
                   "test asks for \"gpu:2\", but there are fewer devices of that type; the first is :0; choose from 0:");
    assert_refused(NDR_NO_MATCHING_DEVICE, ndr_catalog_choose("H200:1", "test", machine, COUNT, &index),
                   "test asks for \"H200:1\", but fewer devices have that in their name or their platform's");
    assert_refused(NDR_NO_MATCHING_DEVICE, ndr_catalog_choose("accelerator:0", "test", machine, 3, &index),
                   "there is no device of that type");
    assert_refused(NDR_NO_MATCHING_DEVICE, ndr_catalog_choose("1:1", "test", machine, COUNT, &index),
                   "an index names one device");
    static const char *const names[] = { "radeon:0", ":0", "gpu:", "gpu:x", "gpu:1:0", "gpu:99999999999999999999999999" };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i)
        assert_refused(NDR_NO_MATCHING_DEVICE, ndr_catalog_choose(names[i], "test", machine, COUNT, &index),
                       "no device's or platform's name contains that");
    assert_int_equal(index, 999);
}

static void test_catalog__finds_part_of_a_name_ignoring_case(void **state)
{
    assert_int_equal(chosen("h200"), 1);
    assert_int_equal(chosen("GFX"), 2);
    assert_int_equal(chosen("epyc"), 0);
    assert_int_equal(chosen("board 1"), 3);
}

static void test_catalog__finds_part_of_a_platform_s_name(void **state)
{
    assert_int_equal(chosen("portable"), 0);
    assert_int_equal(chosen("accelerated"), 2); /* this is not the name of a type */
    assert_int_equal(chosen("CPU emulator"), 4);
}

static void test_catalog__refuses_a_name_that_nobody_has(void **state)
{
    size_t index = 999;
    assert_refused(NDR_NO_MATCHING_DEVICE, ndr_catalog_choose("radeon", "NDR_DEVICE", machine, COUNT, &index),
                   "NDR_DEVICE asks for \"radeon\"", "no device's or platform's name contains that",
                   "choose from 0: cpu \"pthread-AMD EPYC\" (Portable Computing Language); 1: gpu \"NVIDIA H200\"",
                   "4: other \"A tool that likes the gpu\"");
    assert_int_equal(index, 999);
}

static void test_catalog__says_whose_words_were_refused(void **state)
{
    size_t index;
    assert_refused(NDR_NO_MATCHING_DEVICE, ndr_catalog_choose("x86", "ndr_context_create", machine, 1, &index),
                   "ndr_context_create asks for \"x86\"", "choose from 0: cpu");
    assert_refused(NDR_NO_MATCHING_DEVICE, ndr_catalog_choose("x86", "NDR_DEVICE", machine, 1, &index),
                   "NDR_DEVICE asks for \"x86\"");
}

static void test_device_type__has_the_name_that_chooses_it(void **state)
{
    assert_string_equal(ndr_device_type_name(NDR_DEVICE_TYPE_CPU), "cpu");
    assert_string_equal(ndr_device_type_name(NDR_DEVICE_TYPE_GPU), "gpu");
    assert_string_equal(ndr_device_type_name(NDR_DEVICE_TYPE_ACCELERATOR), "accelerator");
    assert_string_equal(ndr_device_type_name(NDR_DEVICE_TYPE_OTHER), "other");
    assert_string_equal(ndr_device_type_name((ndr_device_type)77), "other");
}

/* ---- NDR_DISABLE ---- */

static unsigned disabled_by(const char *words)
{
    unsigned disabled = 0xffff;
    assert_ok(ndr_caps_parse_disable(words, &disabled));
    return disabled;
}

static void test_disable__is_nothing_unless_set(void **state)
{
    assert_int_equal(disabled_by(NULL), 0);
    assert_int_equal(disabled_by(""), 0);
    assert_int_equal(disabled_by(","), 0);
}

static void test_disable__knows_its_words(void **state)
{
    assert_int_equal(disabled_by("fp64"), NDR_DISABLE_FP64);
    assert_int_equal(disabled_by("int64_atomics"), NDR_DISABLE_INT64_ATOMICS);
    assert_int_equal(disabled_by("sub_groups"), NDR_DISABLE_SUB_GROUPS);
    assert_int_equal(disabled_by("float_atomics"), NDR_DISABLE_FLOAT_ATOMICS);
    assert_int_equal(disabled_by("memory_order"), NDR_DISABLE_MEMORY_ORDER);
    assert_int_equal(disabled_by("ptx"), NDR_DISABLE_PTX);
    assert_int_equal(disabled_by("progress"), NDR_DISABLE_PROGRESS);
    assert_int_equal(disabled_by("sub_groups,fp64"), NDR_DISABLE_SUB_GROUPS | NDR_DISABLE_FP64);
    assert_int_equal(disabled_by("fp64,,fp64,"), NDR_DISABLE_FP64);
}

static void test_disable__refuses_a_word_it_does_not_know(void **state)
{
    static const char *const invalid[] = { "fp", "fp644", "FP64", "fp64 ", "fp64;sub_groups" };
    unsigned disabled = 0xffff;
    for (size_t i = 0; i < sizeof invalid / sizeof invalid[0]; ++i) {
        char named[64];
        snprintf(named, sizeof named, "NDR_DISABLE names \"%s\"", invalid[i]);
        assert_refused(NDR_BAD_ARGUMENT, ndr_caps_parse_disable(invalid[i], &disabled), named, "fp64");
    }
    assert_refused(NDR_BAD_ARGUMENT, ndr_caps_parse_disable("fp64,half", &disabled), "names \"half\"");
    assert_int_equal(disabled, 0xffff);
}

/* ---- other machines ---- */

/* What a child process reported. */
typedef struct answer {
    ndr_status status, create_status;
    int32_t cl_error;
    bool untouched;
    char sentence[1024], create_sentence[1024];
} answer;

static answer ask(void)
{
    answer report = { .untouched = false };
    size_t count = 77;
    ndr_device_info info;
    ndr_context *made = (ndr_context *)&info;
    report.status = ndr_device_list(1, &info, &count);
    report.cl_error = ndr_last_cl_error();
    snprintf(report.sentence, sizeof report.sentence, "%s", ndr_last_error());
    report.create_status = ndr_context_create("gpu", &made);
    snprintf(report.create_sentence, sizeof report.create_sentence, "%s", ndr_last_error());
    report.untouched = count == 77 && made == (ndr_context *)&info;
    return report;
}

/* If it has a name, the only variable that gives drivers a folder. */
static struct {
    const char *name, *value;
} cache;

static void set_cache(void)
{
    unsetenv("POCL_CACHE_DIR");
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    setenv(cache.name, cache.value, 1);
}

static void become(const char *vendors, const char *files, const char *platforms, const char *error)
{
    unsetenv("OPENCL_LAYERS");
    unsetenv("OCL_ICD_FILENAMES");
    if (files) setenv("OCL_ICD_FILENAMES", files, 1);
    unsetenv("NDR_DEVICE");
    setenv("OCL_ICD_VENDORS", vendors, 1);
    if (platforms) setenv("NDR_STUB_PLATFORMS", platforms, 1);
    if (error) setenv("NDR_STUB_ERROR", error, 1);
    if (cache.name) set_cache();
}

static answer ask_machine(const char *vendors, const char *files, const char *platforms, const char *error)
{
    int pipe_ends[2];
    assert_int_equal(pipe(pipe_ends), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        become(vendors, files, platforms, error);
        const answer report = ask();
        _exit(write(pipe_ends[1], &report, sizeof report) == (ssize_t)sizeof report ? 0 : 1);
    }
    close(pipe_ends[1]);
    answer report;
    assert_int_equal(read(pipe_ends[0], &report, sizeof report), sizeof report);
    close(pipe_ends[0]);
    int ended;
    assert_int_equal(waitpid(child, &ended, 0), child);
    assert_int_equal(ended, 0);
    return report;
}

static const char *empty_folder(void)
{
    (void)mkdir("no-drivers", 0777); /* may exist from an earlier run */
    return "no-drivers";
}

static answer ask_bare_machine(void) { return ask_machine(empty_folder(), NULL, NULL, NULL); }

/* A machine with only the stub driver. Debian's loaders take its folder, old Khronos loaders take its file. */
static answer ask_stub_machine(const char *platforms, const char *error)
{
    const answer report = ask_machine(STUB_ICD, NULL, platforms, error);
    return report.status == NDR_NO_DRIVER ? ask_machine(empty_folder(), STUB_FILE, platforms, error) : report;
}

static void test_catalog__without_a_driver_says_where_the_loader_looked(void **state)
{
    const answer report = ask_bare_machine();
    assert_int_equal(report.status, NDR_NO_DRIVER);
    assert_non_null(strstr(report.sentence,
                           "no OpenCL driver is found, as the environment variable OCL_ICD_VENDORS is "
                           "\"no-drivers\": unset it to use the installed drivers, or set it to the folder"));
    assert_true(report.untouched);
}

/* A machine whose only .icd file has `line`. */
static answer ask_machine_with_icd(const char *line, const char *vendors)
{
    (void)mkdir("broken-drivers", 0777); /* may exist from an earlier run */
    FILE *icd = fopen("broken-drivers/gone.icd", "w");
    assert_non_null(icd);
    fputs(line, icd);
    assert_int_equal(fclose(icd), 0);
    return ask_machine(vendors, NULL, NULL, NULL);
}

static void test_catalog__names_a_driver_s_library_that_is_missing(void **state)
{
    static const char *const vendors[] = { "broken-drivers", "broken-drivers/gone.icd" };
    for (size_t i = 0; i < NDR_COUNT_OF(vendors); ++i) {
        const answer report = ask_machine_with_icd("libgone.so.1\n", vendors[i]);
        assert_int_equal(report.status, NDR_NO_DRIVER);
        assert_non_null(strstr(report.sentence, "no OpenCL driver could be loaded: \"broken-drivers/gone.icd\" names a "
                                                "library that cannot be opened (libgone.so.1"));
        assert_non_null(strstr(report.sentence, "); reinstall that driver, or correct or remove its .icd file"));
        assert_string_equal(report.create_sentence, report.sentence);
        assert_true(report.untouched);
    }
    assert_non_null(strstr(ask_machine_with_icd("\n", vendors[0]).sentence,
                           "could be loaded: \"broken-drivers/gone.icd\" names no library; reinstall"));
}

static void test_catalog__without_a_driver_no_context_is_made(void **state)
{
    const answer report = ask_bare_machine();
    assert_int_equal(report.create_status, NDR_NO_DRIVER); /* not the sentence that no device is a GPU */
    assert_string_equal(report.create_sentence, report.sentence);
}

static void test_catalog__without_a_driver_keeps_the_loader_s_code(void **state)
{
    assert_int_equal(ask_bare_machine().cl_error, CL_PLATFORM_NOT_FOUND_KHR);
}

static void test_catalog__without_a_device_says_what_to_check(void **state)
{
    const answer report = ask_stub_machine(NULL, NULL);
    assert_int_equal(report.status, NDR_NO_DEVICE);
    assert_non_null(strstr(report.sentence, "1 OpenCL driver is installed, but none offers a device"));
    assert_non_null(strstr(report.sentence, "this user may open it"));
    assert_int_equal(report.create_status, NDR_NO_DEVICE);
    assert_true(report.untouched);
}

/* PoCL has no device without a folder for its files. */
static void test_catalog__without_a_device_names_a_folder_that_cannot_be_written(void **state)
{
    static const struct {
        const char *variable, *value, *named;
    } rows[] = {
        { "POCL_CACHE_DIR", "/dev/null/cache", "write to \"/dev/null/cache\" (from POCL_CACHE_DIR)" },
        { "XDG_CACHE_HOME", "/dev/null", "write to \"/dev/null\" (from XDG_CACHE_HOME)" },
        { "HOME", "/dev/null", "write to \"/dev/null/.cache\" (from HOME)" },
    };
    for (size_t i = 0; i < NDR_COUNT_OF(rows); ++i) {
        cache.name = rows[i].variable, cache.value = rows[i].value;
        const answer report = ask_stub_machine(NULL, NULL);
        cache.name = NULL;
        assert_int_equal(report.status, NDR_NO_DEVICE);
        assert_non_null(strstr(report.sentence, rows[i].named));
        assert_non_null(strstr(report.sentence, "set POCL_CACHE_DIR or HOME to one that this user can write to"));
    }
}

static void test_catalog__counts_the_drivers_without_a_device(void **state)
{
    const answer report = ask_stub_machine("3", NULL);
    assert_int_equal(report.status, NDR_NO_DEVICE);
    assert_non_null(strstr(report.sentence, "3 OpenCL drivers are installed, but none offers a device"));
}

static void test_catalog__takes_an_empty_list_for_no_device(void **state)
{
    const answer report = ask_stub_machine(NULL, "0");
    assert_int_equal(report.status, NDR_NO_DEVICE);
    assert_int_equal(report.cl_error, 0);
    assert_non_null(strstr(report.sentence, "none offers a device: check"));
}

static void test_catalog__says_why_a_driver_cannot_list(void **state)
{
    const answer report = ask_stub_machine("2", "-6");
    assert_int_equal(report.status, NDR_NO_DEVICE);
    assert_int_equal(report.cl_error, -6);
    assert_non_null(strstr(report.sentence,
                           "2 OpenCL drivers are installed, but none has a device that could be queried: platform "
                           "\"stub without devices\": clGetDeviceIDs gave CL_OUT_OF_HOST_MEMORY (-6); platform "));
    assert_null(strstr(report.sentence, "plugged in"));
    assert_string_equal(report.create_sentence, report.sentence);
    assert_true(report.untouched);
}

static void test_device_list__refuses_null_outputs(void **state)
{
    size_t count = 77;
    assert_refused(NDR_BAD_ARGUMENT, ndr_device_list(2, NULL, &count),
                   "devices is NULL, but capacity is 2");
    assert_refused(NDR_BAD_ARGUMENT, ndr_device_list(0, NULL, NULL), "count is NULL");
    assert_int_equal(count, 77);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_catalog__prefers_gpu_then_accelerator_then_cpu),
        cmocka_unit_test(test_catalog__takes_empty_words_for_the_default),
        cmocka_unit_test(test_catalog__finds_the_first_of_a_type),
        cmocka_unit_test(test_catalog__never_looks_a_type_up_as_a_name),
        cmocka_unit_test(test_catalog__takes_an_index),
        cmocka_unit_test(test_catalog__refuses_an_index_past_the_end),
        cmocka_unit_test(test_catalog__takes_the_nth_of_a_type),
        cmocka_unit_test(test_catalog__takes_the_nth_of_a_name),
        cmocka_unit_test(test_catalog__refuses_a_number_past_the_matches),
        cmocka_unit_test(test_catalog__finds_part_of_a_name_ignoring_case),
        cmocka_unit_test(test_catalog__finds_part_of_a_platform_s_name),
        cmocka_unit_test(test_catalog__refuses_a_name_that_nobody_has),
        cmocka_unit_test(test_catalog__says_whose_words_were_refused),
        cmocka_unit_test(test_device_type__has_the_name_that_chooses_it),
        cmocka_unit_test(test_disable__is_nothing_unless_set),
        cmocka_unit_test(test_disable__knows_its_words),
        cmocka_unit_test(test_disable__refuses_a_word_it_does_not_know),
        cmocka_unit_test(test_catalog__without_a_driver_says_where_the_loader_looked),
        cmocka_unit_test(test_catalog__names_a_driver_s_library_that_is_missing),
        cmocka_unit_test(test_catalog__without_a_driver_no_context_is_made),
        cmocka_unit_test(test_catalog__without_a_driver_keeps_the_loader_s_code),
        cmocka_unit_test(test_catalog__without_a_device_says_what_to_check),
        cmocka_unit_test(test_catalog__without_a_device_names_a_folder_that_cannot_be_written),
        cmocka_unit_test(test_catalog__counts_the_drivers_without_a_device),
        cmocka_unit_test(test_catalog__takes_an_empty_list_for_no_device),
        cmocka_unit_test(test_catalog__says_why_a_driver_cannot_list),
        cmocka_unit_test(test_device_list__refuses_null_outputs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
