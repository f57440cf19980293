/* test_core.c - the properties of a CPU's core: from its feature bits, from the device's compiler, or forced. */
#include "support.h"

#include "device/context.h"
#include "device/caps.h"
#include "ops/core.h"
#include "program/program.h"

static const struct {
    const char *name; /* as POCL_KERNELLIB_NAME has it */
    unsigned features, vector_bytes, registers;
    bool fuses;
} cores[] = {
    { "sse2", NDR_CORE_SSE2, 16, 16, false },
    { "avx", NDR_CORE_SSE2 | NDR_CORE_AVX, 32, 16, false },
    { "avx2", NDR_CORE_SSE2 | NDR_CORE_AVX | NDR_CORE_AVX2 | NDR_CORE_FMA, 32, 16, true },
    { "avx512", NDR_CORE_SSE2 | NDR_CORE_AVX | NDR_CORE_AVX2 | NDR_CORE_FMA | NDR_CORE_AVX512F, 64, 32, true },
    { "neon", NDR_CORE_NEON | NDR_CORE_AARCH64, 16, 32, true },
    { "arm", NDR_CORE_NEON, 16, 16, false },
    { "unknown", 0, 16, 16, false },
};

static void check_core(const ndr_core *core, size_t i)
{
    assert_int_equal(core->vector_bytes, cores[i].vector_bytes);
    assert_int_equal(core->registers, cores[i].registers);
    assert_int_equal(core->fuses, cores[i].fuses);
}

static void test_core__follows_from_its_features(void **state)
{
    for (size_t i = 0; i < COUNT_OF(cores); ++i) {
        const ndr_core core = ndr_core_of(cores[i].features);
        check_core(&core, i);
        assert_int_equal(core.first_cache_bytes, 32 << 10);
        assert_int_equal(core.second_cache_bytes, 512 << 10);
    }
}

/* The features whose macros the device's compiler defines; 0 if it defines none. */
static unsigned features_of_compiler(void)
{
    static const char source[] = "kernel void tell(global uint *out)\n"
                                 "{\n"
                                 "    *out = 0;\n"
                                 "#ifdef __AVX512F__\n    *out |= 1;\n#endif\n"
                                 "#ifdef __AVX2__\n    *out |= 2;\n#endif\n"
                                 "#ifdef __FMA__\n    *out |= 4;\n#endif\n"
                                 "#ifdef __AVX__\n    *out |= 8;\n#endif\n"
                                 "#ifdef __SSE2__\n    *out |= 16;\n#endif\n"
                                 "#ifdef __ARM_NEON\n    *out |= 32;\n#endif\n"
                                 "#ifdef __aarch64__\n    *out |= 64;\n#endif\n"
                                 "}\n";
    ndr_buffer *out = buffer_of(sizeof(uint32_t), NULL);
    assert_ok(ndr_launch(queue, kernel_of(source, "tell"), ndr_nd_range_1d(1, 1), out));
    uint32_t features;
    take_buffer(out, &features, sizeof features);
    return features;
}

static bool is_the_host(void) { return device.type == NDR_DEVICE_TYPE_CPU && device.shares_host_memory; }

static void test_core__is_what_the_compiler_makes_code_for(void **state)
{
    skip_without(ndr_has_vectors(&context->caps), "no item of the device has vector registers by itself");
    const unsigned compiled = features_of_compiler();
    const ndr_core wanted = ndr_core_of(compiled ? compiled : is_the_host() ? ndr_cpu_features() : 0);
    ndr_core core;
    assert_ok(ndr_core_get(context, &core));
    assert_int_equal(core.vector_bytes, wanted.vector_bytes);
    assert_int_equal(core.registers, wanted.registers);
    assert_int_equal(core.fuses, wanted.fuses);
}

/* Its program was planned for what the host's CPU has. With NDR_TEST_CORE the compiler uses less. */
static void test_core__is_told_by_the_first_product(void **state)
{
    (void)state;
    skip_without(ndr_has_vectors(&context->caps), "no item of the device has vector registers by itself");
    enum { N = 40 };
    float ones[N * N], out[N * N];
    for (size_t i = 0; i < N * N; ++i) ones[i] = 1;
    ndr_buffer *a = buffer_of(sizeof ones, ones), *c = buffer_of(sizeof out, NULL);
    const ndr_matrix in = { .buffer = a, .rows = N, .cols = N };
    const ndr_matmul_desc desc = { .dtype = NDR_DTYPE_F32, .a = in, .b = in, .c = { c, 0, N, N, N } };
    ndr_core probed, told;
    assert_ok(ndr_core_get(context, &probed));
    assert_ok(ndr_core_force(context, 0));
    assert_ok(ndr_matmul(queue, &desc, NULL));
    read_buffer(c, out, sizeof out);
    for (size_t i = 0; i < N * N; ++i) assert_true(out[i] == N);
    assert_ok(ndr_core_get(context, &told));
    assert_int_equal(told.vector_bytes, probed.vector_bytes);
    assert_int_equal(told.registers, probed.registers);
    assert_int_equal(told.fuses, probed.fuses);
    assert_int_equal(told.second_cache_bytes, probed.second_cache_bytes);
    ndr_buffer_destroy(a);
    ndr_buffer_destroy(c);
}

/* NDR_TEST_CORE is the core that the driver compiles for; POCL_KERNELLIB_NAME sets it. */
static void test_core__is_the_one_that_the_driver_was_told(void **state)
{
    const char *name = getenv("NDR_TEST_CORE");
    skip_without(name, "NDR_TEST_CORE is not set");
    size_t i = 0;
    while (i < COUNT_OF(cores) && strcmp(cores[i].name, name) != 0) ++i;
    assert_true(i < COUNT_OF(cores));
    skip_without((ndr_cpu_features() & cores[i].features) == cores[i].features, "the CPU is not one of these");
    ndr_core core;
    assert_ok(ndr_core_get(context, &core));
    check_core(&core, i);
}

static void test_core__without_vector_registers_is_not_probed(void **state)
{
    const ndr_device_type type = context->caps.info.type;
    assert_ok(ndr_core_force(context, 0));
    context->caps.info.type = NDR_DEVICE_TYPE_GPU;
    ndr_core core;
    const ndr_status status = ndr_core_get(context, &core);
    context->caps.info.type = type;
    assert_ok(ndr_core_force(context, 0));
    assert_ok(status);
    check_core(&core, COUNT_OF(cores) - 1);
    assert_int_equal(core.second_cache_bytes, 512 << 10);
}

static void test_core__has_the_caches_of_the_host(void **state)
{
    ndr_core core;
    assert_ok(ndr_core_get(context, &core));
    const size_t first = is_the_host() ? ndr_cpu_cache_bytes(1) : 0, second = is_the_host() ? ndr_cpu_cache_bytes(2) : 0;
    assert_int_equal(core.first_cache_bytes, first ? first : 32 << 10);
    assert_int_equal(core.second_cache_bytes, second ? second : 512 << 10);
}

/* A device that is no longer the host would get the default caches, if anything were looked up again. */
static void test_core__is_looked_up_once(void **state)
{
    ndr_core first, again;
    assert_ok(ndr_core_get(context, &first));
    const bool shares = context->caps.info.shares_host_memory;
    context->caps.info.shares_host_memory = !shares;
    const ndr_status status = ndr_core_get(context, &again);
    context->caps.info.shares_host_memory = shares;
    assert_ok(status);
    assert_int_equal(again.first_cache_bytes, first.first_cache_bytes);
    assert_int_equal(again.second_cache_bytes, first.second_cache_bytes);
    assert_int_equal(again.vector_bytes, first.vector_bytes);
}

static void test_core__is_taken_by_force_for_another(void **state)
{
    for (size_t i = 0; i < COUNT_OF(cores); ++i) {
        if (!cores[i].features) continue;
        ndr_core core;
        assert_ok(ndr_core_force(context, cores[i].features));
        assert_ok(ndr_core_get(context, &core));
        check_core(&core, i);
    }
    assert_ok(ndr_core_force(context, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_core__follows_from_its_features),
        cmocka_unit_test(test_core__is_what_the_compiler_makes_code_for),
        cmocka_unit_test(test_core__is_told_by_the_first_product),
        cmocka_unit_test(test_core__is_the_one_that_the_driver_was_told),
        cmocka_unit_test(test_core__without_vector_registers_is_not_probed),
        cmocka_unit_test(test_core__has_the_caches_of_the_host),
        cmocka_unit_test(test_core__is_looked_up_once),
        cmocka_unit_test(test_core__is_taken_by_force_for_another),
    };
    return cmocka_run_group_tests_name("core", tests, open_device, close_device);
}
