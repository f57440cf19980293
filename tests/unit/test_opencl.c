/* test_opencl.c - opening the ICD loader: none can be opened, one is too old, one lacks the functions after 1.2.
 *
 * A loader stays open once it has been opened, so the refusals are tested first. */
#define _GNU_SOURCE /* dladdr() */
#include "support.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device/opencl.h"
#include "ndr/ndr_cl.h"

static void assert_nothing_is_open(void)
{
    const ndr_cl_functions none = { 0 };
    assert_memory_equal(&ndr_cl, &none, sizeof none);
}

static void assert_list_is_refused(const char *const parts[3])
{
    size_t count = 77;
    assert_refused(NDR_NO_DRIVER, ndr_device_list(0, NULL, &count), parts[0], parts[1], parts[2]);
    assert_int_equal(count, 77);
    assert_int_equal(ndr_last_cl_error(), 0);
    assert_nothing_is_open();
}

static void test_opencl__without_a_loader_names_the_one_chosen(void **state)
{
    set_env("NDR_OPENCL", "/no-such-folder/libOpenCL.so");
    assert_list_is_refused((const char *const[]){
        "the OpenCL library that NDR_OPENCL names cannot be opened: /no-such-folder/libOpenCL.so: ",
        "unset NDR_OPENCL to use the installed one", "set it to the path of an ICD loader" });
    restore_env();
}

static void test_opencl__without_a_loader_no_context_is_made(void **state)
{
    set_env("NDR_OPENCL", "/no-such-folder/libOpenCL.so");
    ndr_context *made = (ndr_context *)&made;
    assert_refused(NDR_NO_DRIVER, ndr_context_create("cpu", &made), "cannot be opened");
    assert_refused(NDR_NO_DRIVER, ndr_context_from_cl((cl_context)&made, (cl_device_id)&made, &made), "cannot be opened");
    assert_ptr_equal(made, &made);
    assert_nothing_is_open();
    restore_env();
}

static void test_opencl__names_the_function_that_an_old_loader_lacks(void **state)
{
    set_env("NDR_OPENCL", OLD_LOADER);
    assert_list_is_refused((const char *const[]){ "the OpenCL library " OLD_LOADER " is too old: it has no clGetDeviceIDs",
                                                  "which OpenCL 1.2 has", "install a newer ICD loader" });
    restore_env();
}

static char opened[1024];

static void hear_opened(ndr_log_level level, const char *id, const char *text, void *user)
{
    if (strcmp(id, "opencl.opened") == 0) snprintf(opened, sizeof opened, "%s", text);
}

static void test_opencl__opens_after_it_was_refused(void **state)
{
    assert_ok(ndr_log_set(NDR_LOG_INFO, hear_opened, NULL));
    set_env("NDR_OPENCL", "");
    assert_nothing_is_open();
    assert_ok(ndr_cl_open());
    assert_non_null(ndr_cl.clGetPlatformIDs);
    assert_ok(ndr_log_set(NDR_LOG_DEFAULT, NULL, NULL));
    assert_non_null(strstr(opened, ", which is /"));
    restore_env();
}

static void test_opencl__keeps_the_loader_that_it_has(void **state)
{
    assert_ok(ndr_cl_open());
    const ndr_cl_functions before = ndr_cl;
    set_env("NDR_OPENCL", "/no-such-folder/libOpenCL.so");
    assert_ok(ndr_cl_open());
    assert_memory_equal(&before, &ndr_cl, sizeof before);
    restore_env();
}

/* libndr uses the loader that the program has already opened, so that they can exchange OpenCL objects. */
static void test_opencl__is_the_loader_that_the_program_is_linked_with(void **state)
{
    assert_ok(ndr_cl_open());
    cl_int (CL_API_CALL *const linked)(cl_uint, cl_platform_id *, cl_uint *) = clGetPlatformIDs;
    Dl_info ours, theirs;
    void *address;
    memcpy(&address, &ndr_cl.clGetPlatformIDs, sizeof address);
    assert_int_not_equal(dladdr(address, &ours), 0);
    memcpy(&address, &linked, sizeof address);
    assert_int_not_equal(dladdr(address, &theirs), 0);
    assert_string_equal(ours.dli_fname, theirs.dli_fname);
}

/* Run in a process of its own, with a library preloaded: whether libndr uses that one. */
static int use_what_is_preloaded(const char *preloaded)
{
    size_t count;
    return ndr_device_list(0, NULL, &count) == NDR_NO_DRIVER && strstr(ndr_last_error(), preloaded) ? 0 : 10;
}

static void test_opencl__is_the_library_that_is_preloaded(void **state)
{
    set_env("NDR_OPENCL", "");
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        setenv("LD_PRELOAD", OLD_LOADER, 1);
        setenv("ASAN_OPTIONS", "verify_asan_link_order=0", 1);
        execl("/proc/self/exe", "test_opencl", "preloaded", (char *)NULL);
        _exit(1);
    }
    restore_env();
    int ended = -1;
    assert_int_equal(waitpid(child, &ended, 0), child);
    assert_true(WIFEXITED(ended));
    assert_int_equal(WEXITSTATUS(ended), 0);
}

static void *open_in_thread(void *unused)
{
    return ndr_cl_open() == NDR_OK && ndr_cl.clGetPlatformIDs ? &ndr_cl : NULL;
}

static void test_opencl__opens_for_several_threads(void **state)
{
    pthread_t threads[4];
    for (size_t i = 0; i < 4; ++i) assert_int_equal(pthread_create(&threads[i], NULL, open_in_thread, NULL), 0);
    for (size_t i = 0; i < 4; ++i) {
        void *told;
        assert_int_equal(pthread_join(threads[i], &told), 0);
        assert_ptr_equal(told, &ndr_cl);
    }
}

static size_t count_with_sub_groups(void)
{
    ndr_device_info devices[8];
    size_t count = 0, having = 0;
    const ndr_status status = ndr_device_list(8, devices, &count);
    if (status != NDR_OK) assert_in_range(status, NDR_NO_DRIVER, NDR_NO_DEVICE);
    for (size_t i = 0; i < count && i < 8; ++i) having += devices[i].has_sub_groups;
    return having;
}

/* OpenCL 2.1's query: without it a device is used as one without sub-groups. */
static void test_opencl__does_without_a_function_newer_than_1_2(void **state)
{
    assert_ok(ndr_cl_open());
    skip_without(count_with_sub_groups() > 0, "no device has sub-groups");
    __typeof__(clGetKernelSubGroupInfo) *const there = ndr_cl.clGetKernelSubGroupInfo;
    ndr_cl.clGetKernelSubGroupInfo = NULL;
    const size_t without = count_with_sub_groups();
    ndr_cl.clGetKernelSubGroupInfo = there;
    assert_int_equal(without, 0);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "preloaded") == 0) return use_what_is_preloaded(OLD_LOADER " is too old");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_opencl__without_a_loader_names_the_one_chosen),
        cmocka_unit_test(test_opencl__without_a_loader_no_context_is_made),
        cmocka_unit_test(test_opencl__names_the_function_that_an_old_loader_lacks),
        cmocka_unit_test(test_opencl__opens_after_it_was_refused),
        cmocka_unit_test(test_opencl__keeps_the_loader_that_it_has),
        cmocka_unit_test(test_opencl__is_the_loader_that_the_program_is_linked_with),
        cmocka_unit_test(test_opencl__is_the_library_that_is_preloaded),
        cmocka_unit_test(test_opencl__opens_for_several_threads),
        cmocka_unit_test(test_opencl__does_without_a_function_newer_than_1_2),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
