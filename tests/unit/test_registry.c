/* test_registry.c - the kernels and programs that a context keeps: a look-up among many is as fast as among few. */
#include "support.h"

#include "device/context.h"
#include "program/registry.h"

enum { MANY = 10000 };

/* A context that has nothing but its registry. */
static ndr_context keeper;

static ndr_registry *make_registry(void)
{
    ndr_registry *registry;
    assert_ok(ndr_registry_get(&keeper, &registry));
    return registry;
}

static void destroy_registry(void) { ndr_attachments_free(&keeper.attachments); }

static ndr_hash key_of(size_t i) { return ndr_hash_bytes(&i, sizeof i); }

static ndr_program *program_of(ndr_hash key)
{
    ndr_program *made = calloc(1, sizeof *made);
    assert_non_null(made);
    made->key = key;
    return made;
}

static ndr_registry *registry_of_many(ndr_program **programs)
{
    ndr_registry *registry = make_registry();
    for (size_t i = 0; i < MANY; ++i) {
        programs[i] = program_of(key_of(i));
        assert_ok(ndr_registry_keep(registry, &registry->programs, programs[i]->key, programs[i]));
    }
    return registry;
}

static void test_registry__finds_each_of_many(void **state)
{
    static ndr_program *programs[MANY];
    ndr_registry *registry = registry_of_many(programs);
    for (size_t i = 0; i < MANY; ++i) assert_ptr_equal(ndr_registry_find(registry, &registry->programs, key_of(i)), programs[i]);
    for (size_t i = MANY; i < 2 * MANY; ++i) assert_null(ndr_registry_find(registry, &registry->programs, key_of(i)));
    destroy_registry();
}

static void test_registry__that_is_empty_finds_nothing(void **state)
{
    ndr_registry *registry = make_registry();
    assert_null(ndr_registry_find(registry, &registry->programs, key_of(0)));
    assert_null(ndr_registry_find(registry, &registry->kernels, key_of(0)));
    destroy_registry();
}

/* Keys that start in one slot, that start in the last slot, and that share 64 bits are still distinguished. */
static void test_registry__tells_keys_apart_that_meet(void **state)
{
    enum { KEYS = 40 };
    static const uint64_t starts[] = { 0, 15, UINT64_MAX };
    for (size_t s = 0; s < 3; ++s) {
        ndr_registry *registry = make_registry();
        ndr_program *programs[KEYS];
        for (uint64_t i = 0; i < KEYS; ++i) {
            programs[i] = program_of((ndr_hash){ { starts[s], i } });
            assert_ok(ndr_registry_keep(registry, &registry->programs, programs[i]->key, programs[i]));
        }
        for (uint64_t i = 0; i < KEYS; ++i)
            assert_ptr_equal(ndr_registry_find(registry, &registry->programs, (ndr_hash){ { starts[s], i } }), programs[i]);
        assert_null(ndr_registry_find(registry, &registry->programs, (ndr_hash){ { starts[s], KEYS } }));
        destroy_registry();
    }
}

/* How many keys a look-up compares: the number of taken slots from the key's first slot on. */
static size_t comparisons_for(const ndr_table *table, ndr_hash key)
{
    size_t count = 0, at = (size_t)key.words[0] & (table->capacity - 1);
    for (; table->slots[at].value; at = (at + 1) & (table->capacity - 1)) {
        ++count;
        if (ndr_hash_equal(table->slots[at].key, key)) break;
    }
    return count;
}

static void test_registry__compares_few_keys_however_many_there_are(void **state)
{
    static ndr_program *programs[MANY];
    ndr_registry *registry = registry_of_many(programs);
    size_t all = 0, most = 0;
    for (size_t i = 0; i < 2 * MANY; ++i) { /* the second half is not in the registry */
        const size_t count = comparisons_for(&registry->programs, key_of(i));
        all += count;
        most = count > most ? count : most;
    }
    print_message("%zu look-ups among %d programs: %zu comparisons, at most %zu\n", (size_t)(2 * MANY), MANY, all,
                  most);
    assert_true(all <= 4 * MANY); /* 2 a look-up */
    assert_true(most <= 64);
    assert_int_equal(registry->programs.count, MANY);
    assert_true(registry->programs.capacity <= 8 * MANY);
    destroy_registry();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_registry__finds_each_of_many),
        cmocka_unit_test(test_registry__that_is_empty_finds_nothing),
        cmocka_unit_test(test_registry__tells_keys_apart_that_meet),
        cmocka_unit_test(test_registry__compares_few_keys_however_many_there_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
