/* test_unload.c - unloading the library leaves nothing behind. */
#define _GNU_SOURCE
#include "support.h"

#include <dlfcn.h>
#include <pthread.h>

typedef long module_fail(long *blocks, int length);
typedef bool module_open(void);

static void *load_with(const char *name, void *function)
{
    void *module = dlopen(UNLOAD_MODULE, RTLD_NOW | RTLD_LOCAL);
    if (!module) fail_msg("%s", dlerror());
    void *found = dlsym(module, name);
    assert_non_null(found);
    memcpy(function, &found, sizeof found);
    return module;
}

static void *load(module_fail **failing) { return load_with("module_fail", failing); }

/* Unload the module and check that it is really unloaded. */
static void unload(void *module)
{
    assert_int_equal(dlclose(module), 0);
    assert_null(dlopen(UNLOAD_MODULE, RTLD_NOW | RTLD_NOLOAD));
}

static void test_unload__leaves_no_sentence_behind(void **state)
{
    static const int lengths[] = { 10, 1023, 1024, 97 * 1024 };
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; ++i) {
        long blocks = 0;
        module_fail *failing;
        void *module = load(&failing);
        assert_int_equal(failing(&blocks, lengths[i]), lengths[i]);
        assert_int_equal(blocks, lengths[i] > 1023);
        unload(module);
        assert_int_equal(blocks, 0);
    }
}

static module_fail *fail_in_thread;
static long blocks_of_thread;

static void *fail_and_end(void *unused)
{
    return fail_in_thread(&blocks_of_thread, 5000) == 5000 ? &blocks_of_thread : NULL;
}

static void test_unload__after_threads_that_failed_leaves_nothing(void **state)
{
    void *module = load(&fail_in_thread), *told;
    for (int i = 0; i < 3; ++i) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, fail_and_end, NULL), 0);
        assert_int_equal(pthread_join(thread, &told), 0);
        assert_ptr_equal(told, &blocks_of_thread);
        assert_int_equal(blocks_of_thread, 0); /* freed with its thread */
    }
    unload(module);
    assert_int_equal(blocks_of_thread, 0);
}

/* The module takes one of a process's thread-local keys, about 1024, and gives it back. */
static void test_unload__gives_back_its_key(void **state)
{
    for (int i = 0; i < 1100; ++i) {
        long blocks = 0;
        module_fail *failing;
        void *module = load(&failing);
        assert_int_equal(failing(&blocks, 2000), 2000); /* whole: there was a key */
        unload(module);
        assert_int_equal(blocks, 0);
    }
}

/* Drivers have their own threads. These still run after the library that opened the loader is unloaded. */
static void test_unload__leaves_the_loader_open(void **state)
{
    assert_null(dlopen(OLD_LOADER, RTLD_NOW | RTLD_NOLOAD));
    module_open *open_loader;
    void *module = load_with("module_open", &open_loader);
    set_env("NDR_OPENCL", OLD_LOADER);
    assert_false(open_loader()); /* too old, but open */
    restore_env();
    unload(module);
    assert_non_null(dlopen(OLD_LOADER, RTLD_NOW | RTLD_NOLOAD));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unload__leaves_no_sentence_behind),
        cmocka_unit_test(test_unload__after_threads_that_failed_leaves_nothing),
        cmocka_unit_test(test_unload__gives_back_its_key),
        cmocka_unit_test(test_unload__leaves_the_loader_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
