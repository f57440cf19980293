/* test_context.c - choosing and opening a device. */
#include "support.h"

#include "device/catalog.h"
#include "device/context.h"

enum { MAX_DEVICES = 64 };
static ndr_device_info listed[MAX_DEVICES];
static size_t listed_count;

static int list_devices(void **state)
{
    if (ndr_device_list(MAX_DEVICES, listed, &listed_count) == NDR_OK) return 0;
    print_error("%s\n", ndr_last_error());
    return -1;
}

/* Open the device that the words select, and return which device it is. */
static ndr_device_info opened(const char *words)
{
    ndr_context *made = NULL;
    ndr_device_info info;
    assert_ok(ndr_context_create(words, &made));
    assert_ok(ndr_context_get_device(made, &info));
    ndr_context_destroy(made);
    return info;
}

static size_t first_of_type(ndr_device_type type)
{
    size_t i = 0;
    while (i < listed_count && listed[i].type != type) ++i;
    return i;
}

static void assert_same_device(const ndr_device_info *a, const ndr_device_info *b)
{
    assert_string_equal(a->name, b->name);
    assert_string_equal(a->platform, b->platform);
    assert_int_equal(a->type, b->type);
}

/* ---- listing ---- */

static void test_device_list__counts_without_an_array(void **state)
{
    size_t count = 0;
    assert_ok(ndr_device_list(0, NULL, &count));
    assert_int_equal(count, listed_count);
    assert_true(count >= 1);
}

static void test_device_list__writes_no_more_than_there_is_room_for(void **state)
{
    ndr_device_info two[2];
    memset(two, 0x5a, sizeof two);
    const ndr_device_info untouched = two[1];
    size_t count = 0;
    assert_ok(ndr_device_list(1, two, &count));
    assert_int_equal(count, listed_count);
    assert_same_device(&two[0], &listed[0]);
    assert_memory_equal(&two[1], &untouched, sizeof untouched);
}

static void test_device_list__describes_each_device(void **state)
{
    for (size_t i = 0; i < listed_count; ++i) {
        const ndr_device_info *d = &listed[i];
        assert_true(*d->name && *d->platform && *d->driver);
        assert_memory_equal(d->opencl, "OpenCL ", 7);
        assert_true(d->compute_units >= 1);
        assert_true(d->address_bits == 32 || d->address_bits == 64);
        assert_true(d->max_group_size >= 1);
        for (unsigned k = 0; k < 3; ++k) assert_true(d->max_local_size[k] >= 1);
        assert_true(d->local_memory_bytes >= 16384); /* OpenCL's minimum for every device, as in the next two */
        assert_true(d->max_argument_bytes >= 256);
        assert_true(d->max_buffer_bytes >= 1 << 20);
        assert_true(d->global_memory_bytes >= d->max_buffer_bytes);
    }
}

/* ---- choosing ---- */

static void test_context__takes_an_index(void **state)
{
    for (size_t i = 0; i < listed_count; ++i) {
        char index[32];
        snprintf(index, sizeof index, "%zu", i);
        const ndr_device_info info = opened(index);
        assert_same_device(&info, &listed[i]);
    }
}

static void test_context__takes_a_type(void **state)
{
    for (int t = NDR_DEVICE_TYPE_CPU; t <= NDR_DEVICE_TYPE_ACCELERATOR; ++t) {
        const size_t wanted = first_of_type((ndr_device_type)t);
        if (wanted == listed_count) continue;
        const ndr_device_info info = opened(ndr_device_type_name((ndr_device_type)t));
        assert_same_device(&info, &listed[wanted]);
    }
}

static void test_context__takes_a_name(void **state)
{
    const ndr_device_info info = opened(listed[0].name);
    assert_string_equal(info.name, listed[0].name);
}

static void test_context__refuses_what_no_device_matches(void **state)
{
    ndr_context *made = (ndr_context *)&listed;
    assert_refused(NDR_NO_MATCHING_DEVICE, ndr_context_create("no such device", &made),
                   "ndr_context_create asks for \"no such device\"", "0: ", listed[0].name);
    assert_ptr_equal(made, &listed);
}

static void test_context__reads_ndr_device_where_no_words_are_given(void **state)
{
    char last[32];
    snprintf(last, sizeof last, "%zu", listed_count - 1);
    set_env("NDR_DEVICE", last);
    const ndr_device_info info = opened(NULL);
    assert_same_device(&info, &listed[listed_count - 1]);
    restore_env();
}

static void test_context__says_when_ndr_device_cannot_be_had(void **state)
{
    ndr_context *made = NULL;
    set_env("NDR_DEVICE", "no such device");
    assert_refused(NDR_NO_MATCHING_DEVICE, ndr_context_create(NULL, &made),
                   "NDR_DEVICE asks for \"no such device\"");
    assert_null(made);
    restore_env();
}

static void test_context__takes_words_over_ndr_device(void **state)
{
    set_env("NDR_DEVICE", "no such device");
    const ndr_device_info info = opened("0");
    assert_same_device(&info, &listed[0]);
    restore_env();
}

static void test_context__takes_an_empty_ndr_device_for_none(void **state)
{
    set_env("NDR_DEVICE", NULL);
    const ndr_device_info unset = opened(NULL);
    set_env("NDR_DEVICE", "");
    const ndr_device_info empty = opened(NULL);
    assert_same_device(&empty, &unset);
    restore_env();
}

static void test_context__prefers_a_gpu(void **state)
{
    static const ndr_device_type order[] = { NDR_DEVICE_TYPE_GPU, NDR_DEVICE_TYPE_ACCELERATOR,
                                             NDR_DEVICE_TYPE_CPU };
    size_t wanted = listed_count;
    for (size_t i = 0; i < 3 && wanted == listed_count; ++i) wanted = first_of_type(order[i]);
    set_env("NDR_DEVICE", NULL);
    const ndr_device_info info = opened(NULL);
    assert_same_device(&info, &listed[wanted == listed_count ? 0 : wanted]);
    restore_env();
}

/* ---- opening ---- */

static void test_context__describes_its_device_as_opencl_does(void **state)
{
    ndr_context *made;
    ndr_device_info info;
    size_t group = 0, sizes[8] = { 0 };
    cl_uint units = 0;
    cl_ulong local = 0;
    assert_ok(ndr_context_create(NULL, &made));
    assert_ok(ndr_context_get_device(made, &info));
    const cl_device_id cl = made->device;
    assert_int_equal(clGetDeviceInfo(cl, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof group, &group, NULL),
                     CL_SUCCESS);
    assert_int_equal(clGetDeviceInfo(cl, CL_DEVICE_MAX_WORK_ITEM_SIZES, sizeof sizes, sizes, NULL),
                     CL_SUCCESS);
    assert_int_equal(clGetDeviceInfo(cl, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units, NULL),
                     CL_SUCCESS);
    assert_int_equal(clGetDeviceInfo(cl, CL_DEVICE_LOCAL_MEM_SIZE, sizeof local, &local, NULL), CL_SUCCESS);
    assert_int_equal(info.max_group_size, group);
    assert_int_equal(info.compute_units, units);
    assert_int_equal(info.local_memory_bytes, local);
    for (unsigned d = 0; d < 3; ++d)
        assert_int_equal(info.max_local_size[d], sizes[2 - d]); /* libndr's order is (planes, rows, cols) */
    ndr_context_destroy(made);
}

/* ---- which device it is: a driver that knows all of it, and one that knows nothing ---- */

static __typeof__(clGetDeviceInfo) *driver_info;
static bool knows_place;

static cl_int give(const void *answer, size_t bytes, size_t size, void *value, size_t *needed)
{
    if (value && size < bytes) return CL_INVALID_VALUE;
    if (value) memcpy(value, answer, bytes);
    if (needed) *needed = bytes;
    return CL_SUCCESS;
}

static cl_int CL_API_CALL tell_place(cl_device_id asked, cl_device_info what, size_t size, void *value, size_t *needed)
{
    static const char all[] = "cl_khr_device_uuid cl_khr_pci_bus_info", none[] = "cl_khr_device_uuid_2";
    static const cl_device_pci_bus_info_khr pci = { 0x1, 0xa5, 0x1f, 7 };
    const int64_t traffic[6] = { 0 };
    if (what == CL_DEVICE_EXTENSIONS)
        return knows_place ? give(all, sizeof all, size, value, needed) : give(none, sizeof none, size, value, needed);
    if (what == CL_DEVICE_UUID_KHR) return give("0123456789abcdef", 16, size, value, needed);
    if (what == CL_DEVICE_PCI_BUS_INFO_KHR) return give(&pci, sizeof pci, size, value, needed);
    if (what == 0x4501) return knows_place ? give(traffic, sizeof traffic, size, value, needed) : CL_INVALID_VALUE;
    return driver_info(asked, what, size, value, needed);
}

static ndr_device_info described(bool with_place)
{
    ndr_device_info info[1];
    size_t count;
    knows_place = with_place;
    driver_info = ndr_cl.clGetDeviceInfo;
    ndr_cl.clGetDeviceInfo = tell_place;
    const ndr_status status = ndr_device_list(1, info, &count);
    ndr_cl.clGetDeviceInfo = driver_info;
    assert_ok(status);
    return info[0];
}

static void test_device_list__tells_which_device_it_is_and_where(void **state)
{
    const ndr_device_info info = described(true);
    assert_memory_equal(info.uuid, "0123456789abcdef", sizeof info.uuid);
    assert_string_equal(info.pci_address, "0001:a5:1f.7");
    assert_true(info.is_remote);
}

static void test_device_list__leaves_out_what_the_driver_does_not_offer(void **state)
{
    static const uint8_t unknown[16];
    const ndr_device_info info = described(false);
    assert_memory_equal(info.uuid, unknown, sizeof info.uuid);
    assert_string_equal(info.pci_address, "");
    assert_false(info.is_remote);
}

static void test_context__refuses_null(void **state)
{
    ndr_device_info info;
    ndr_context *made;
    assert_refused(NDR_BAD_ARGUMENT, ndr_context_create("0", NULL), "ndr_context_create",
                   "context is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_context_get_device(NULL, &info), "ndr_context_get_device",
                   "context is NULL");
    assert_ok(ndr_context_create("0", &made));
    assert_refused(NDR_BAD_ARGUMENT, ndr_context_get_device(made, NULL), "ndr_context_get_device",
                   "device is NULL");
    ndr_context_destroy(made);
}

static void test_context__destroy_takes_null(void **state)
{
    ndr_context_destroy(NULL);
}

static void test_context__may_be_opened_twice(void **state)
{
    ndr_context *a, *b;
    assert_ok(ndr_context_create("0", &a));
    assert_ok(ndr_context_create("0", &b));
    assert_ptr_not_equal(a, b);
    ndr_context_destroy(a);
    ndr_device_info info;
    assert_ok(ndr_context_get_device(b, &info));
    ndr_context_destroy(b);
}

static void test_context__needs_opencl_1_2(void **state)
{
    ndr_catalog catalog;
    ndr_context *made = NULL;
    assert_ok(ndr_catalog_read(&catalog));
    ndr_catalog_entry old = catalog.entries[0];
    ndr_catalog_free(&catalog);
    old.caps.cl_version = 110;
    strcpy(old.caps.info.opencl, "OpenCL 1.1 old");
    assert_refused(NDR_UNSUPPORTED, ndr_context_open(&old, NULL, NDR_CHECK_DEFAULT, &made), old.caps.info.name,
                   "OpenCL 1.1 old", "needs OpenCL 1.2");
    assert_null(made);
}

/* ---- lifetimes ---- */

static void test_context__destroyed_first_serves_what_was_made_of_it(void **state)
{
    ndr_context *made;
    ndr_queue *line;
    ndr_buffer *buffer;
    ndr_kernel *add_one;
    ndr_event *done;
    int x[4] = { 1, 2, 3, 4 };
    assert_ok(ndr_context_create(NULL, &made));
    assert_ok(ndr_queue_create(made, NULL, &line));
    assert_ok(ndr_buffer_create_from(made, sizeof x, x, &buffer));
    const ndr_kernel_desc desc = { .name = "add_one", .source = plain_kernels };
    assert_ok(ndr_kernel_get(made, &desc, &add_one));
    ndr_context_destroy(made);

    assert_ok(ndr_launch_event(line, add_one, &done, ndr_range_1d(4), buffer));
    assert_ok(ndr_buffer_read(line, buffer, 0, sizeof x, x, NULL));
    assert_int_equal(x[3], 5);
    ndr_queue_destroy(line);
    ndr_buffer_destroy(buffer);
    assert_ok(ndr_event_wait(done)); /* it holds the last reference to the context */
    ndr_event_destroy(done);
}

/* ---- NDR_DISABLE ---- */

static void test_context__hides_what_ndr_disable_names(void **state)
{
    set_env("NDR_DISABLE", "fp64,int64_atomics,sub_groups");
    const ndr_device_info info = opened("0");
    assert_false(info.has_f64 || info.has_int64_atomics || info.has_sub_groups);
    restore_env();
}

static void test_context__tells_kernels_what_ndr_disable_names(void **state)
{
    ndr_context *made;
    ndr_kernel *kernel;
    set_env("NDR_DISABLE", "fp64");
    assert_ok(ndr_context_create("0", &made));
    restore_env();
    const ndr_kernel_desc desc = { .name = "k",
                                   .source = "#ifndef NDR_DISABLE_FP64\n#error not told\n#endif\n"
                                             "#ifdef NDR_DISABLE_SUB_GROUPS\n#error told too much\n#endif\n"
                                             "kernel void k(global int *x) {}\n" };
    assert_ok(ndr_kernel_get(made, &desc, &kernel));
    ndr_context_destroy(made);
}

static void test_context__refuses_an_unknown_word_in_ndr_disable(void **state)
{
    ndr_context *made = NULL;
    set_env("NDR_DISABLE", "fp46");
    assert_refused(NDR_BAD_ARGUMENT, ndr_context_create("0", &made), "NDR_DISABLE names \"fp46\"");
    assert_null(made);
    restore_env();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_device_list__counts_without_an_array),
        cmocka_unit_test(test_device_list__writes_no_more_than_there_is_room_for),
        cmocka_unit_test(test_device_list__describes_each_device),
        cmocka_unit_test(test_context__takes_an_index),
        cmocka_unit_test(test_context__takes_a_type),
        cmocka_unit_test(test_context__takes_a_name),
        cmocka_unit_test(test_context__refuses_what_no_device_matches),
        cmocka_unit_test(test_context__reads_ndr_device_where_no_words_are_given),
        cmocka_unit_test(test_context__says_when_ndr_device_cannot_be_had),
        cmocka_unit_test(test_context__takes_words_over_ndr_device),
        cmocka_unit_test(test_context__takes_an_empty_ndr_device_for_none),
        cmocka_unit_test(test_context__prefers_a_gpu),
        cmocka_unit_test(test_context__describes_its_device_as_opencl_does),
        cmocka_unit_test(test_context__refuses_null),
        cmocka_unit_test(test_context__destroy_takes_null),
        cmocka_unit_test(test_context__may_be_opened_twice),
        cmocka_unit_test(test_context__needs_opencl_1_2),
        cmocka_unit_test(test_context__destroyed_first_serves_what_was_made_of_it),
        cmocka_unit_test(test_device_list__tells_which_device_it_is_and_where),
        cmocka_unit_test(test_device_list__leaves_out_what_the_driver_does_not_offer),
        cmocka_unit_test(test_context__hides_what_ndr_disable_names),
        cmocka_unit_test(test_context__tells_kernels_what_ndr_disable_names),
        cmocka_unit_test(test_context__refuses_an_unknown_word_in_ndr_disable),
    };
    return cmocka_run_group_tests(tests, list_devices, NULL);
}
