/* forcing.c - run each variant of an operation, not only that which the device would choose. */
#include "forcing.h"

#include <assert.h>

#include "device/context.h"
#include "driver_faults.h"

static const ndr_op_variant *find_variant(const ndr_operation *operation, const char *name)
{
    for (size_t i = 0; i < operation->variant_count; ++i)
        if (is_variant(operation->variants[i], name)) return operation->variants[i];
    return NULL;
}

static ndr_status refuse_name(const ndr_operation *operation, const char *name)
{
    ndr_text names = { 0 };
    for (size_t i = 0; i < operation->variant_count; ++i)
        ndr_text_add(&names, "%s%s", i ? ", " : "", operation->variants[i]->name);
    const ndr_status status =
        ndr_fail(NDR_NOT_FOUND, "%s has no variant \"%s\"; it has %s", operation->name, name, names.chars);
    ndr_text_free(&names);
    return status;
}

ndr_status force_in(ndr_context *in, const ndr_operation *operation, const char *name)
{
    ndr_choices *choices;
    const ndr_op_variant *variant = name ? find_variant(operation, name) : NULL;
    if (name && !variant) return refuse_name(operation, name);
    NDR_TRY(ndr_choices_get(in, &choices));
    const char *unmet = variant ? ndr_op_find_unmet(variant, &in->caps, atomic_load(&choices->lacks)) : NULL;
    NDR_REQUIRE_AS(NDR_UNSUPPORTED, !unmet, "%s: %s needs %s, which device \"%s\" lacks", operation->name, name, unmet,
                   in->caps.info.name);
    return ndr_op_prefer(in, operation, NDR_EVERY_CLASS, variant);
}

const char *forced_in(ndr_context *in, const ndr_operation *operation)
{
    const ndr_op_variant *variant;
    ndr_lacks lacks;
    assert_ok(ndr_op_get_preferred(in, operation, NDR_EVERY_CLASS, &variant, &lacks));
    return variant ? variant->name : NULL;
}

void force(const ndr_operation *operation, const char *name) { assert_ok(force_in(context, operation, name)); }

bool is_variant(const ndr_op_variant *variant, const char *name) { return strcmp(variant->name, name) == 0; }

bool is_forced(const ndr_operation *operation, const char *name)
{
    const char *forced = forced_in(context, operation);
    return forced && strcmp(forced, name) == 0;
}

/* Of the device that the tests share. */
static bool returns_for_all(void)
{
    static int known = -1;
    if (known < 0) known = driver_returns_for_all();
    return known > 0;
}

/* Only variants for items with vector registers have an `unsuited` function. */
bool takes_variant(const ndr_operation *operation, const ndr_op_variant *variant)
{
    const char *before = forced_in(context, operation);
    if (is_variant(variant, "blocked") && returns_for_all()) return false;
    const bool takes = (takes_vectors() || !variant->unsuited) && force_in(context, operation, variant->name) == NDR_OK;
    force(operation, before);
    return takes;
}

const ndr_op_variant *variant_of(const ndr_operation *operation, const char *name)
{
    const ndr_op_variant *found = find_variant(operation, name);
    if (!found) fail_msg("%s has no variant \"%s\"", operation->name, name);
    return found;
}

/* ---- every variant ---- */

const ndr_op_variant *forced_variant;

static const ndr_operation *forced_operation;

/* Needs of variants whose groups wait for each other. A device that reports them has them. */
enum { WAITS = NDR_NEEDS_PROGRESS | NDR_NEEDS_COPY_ENGINE | NDR_NEEDS_VOTES };

int open_with_progress(void **state)
{
    ndr_choices *choices;
    if (open_device(state) != 0) return -1;
    if (device.type != NDR_DEVICE_TYPE_CPU) return 0;
    context->caps.groups_progress = device.has_int64_atomics && !(context->caps.disabled & NDR_DISABLE_PROGRESS);
    assert_ok(ndr_choices_get(context, &choices));
    atomic_store(&choices->trusts, true);
    return 0;
}

static int open_forced(void **state)
{
    if (open_with_progress(state) != 0) return -1;
    force(forced_operation, forced_variant->name);
    return 0;
}

static bool is_on_list(const ndr_op_variant *variant)
{
    const char *list = getenv("NDR_TEST_ROWS");
    return !list || strstr(list, variant->name);
}

/* Whether the variant remains to be tested: the device can take it, and does not choose it anyway. */
static bool is_left(const ndr_operation *operation, const ndr_op_variant *variant, bool (*is_chosen)(const ndr_op_variant *variant))
{
    void *state = NULL;
    const bool is_left = open_with_progress(&state) == 0 && takes_variant(operation, variant) && !is_chosen(variant);
    close_device(&state);
    return is_left;
}

static bool is_in_part(size_t number)
{
    unsigned part = 1, parts = 1;
    const char *text = getenv("NDR_TEST_PART");
    if (text && sscanf(text, "today/%u", &parts) == 1 && parts > 0) return is_today(number, parts);
    if (text && (sscanf(text, "%u/%u", &part, &parts) != 2 || part < 1 || part > parts)) {
        print_error("NDR_TEST_PART is \"%s\"; write K/N or today/N\n", text);
        exit(2);
    }
    return number % parts == part - 1;
}

/* After each test: a variant whose needs the device reports has built, if it was taken. One with a proof may be
 * refused, unless its groups wait for each other. */
static int check_built(void **state)
{
    ndr_choices *choices;
    assert_ok(ndr_choices_get(context, &choices));
    const unsigned lacks = atomic_load(&choices->lacks);
    for (size_t i = 0; i < forced_operation->variant_count; ++i) {
        const ndr_op_variant *variant = forced_operation->variants[i];
        if ((!variant->prove || variant->needs & WAITS) && (variant->needs & lacks))
            fail_msg("%s: %s or another of the same needs did not build or was refused, although the device reports "
                     "them: %s",
                     forced_operation->name, variant->name, ndr_op_find_unmet(variant, &context->caps, lacks));
    }
    return 0;
}

int run_todays(const char *name, const struct CMUnitTest *tests, size_t count, size_t first, size_t days,
               CMFixtureFunction open, CMFixtureFunction close)
{
    struct CMUnitTest part[64];
    size_t taken = 0;
    assert(count <= NDR_COUNT_OF(part));
    for (size_t i = 0; i < count; ++i)
        if (takes_case(first + i, days)) part[taken++] = tests[i];
    return taken ? _cmocka_run_group_tests(name, part, taken, open, close) : 0;
}

/* Of a test of results. On one day variants in sequence have different ones. With NDR_TEST_PART all of a part run. */
static bool is_left_to_another_day(size_t number)
{
    size_t row = 0;
    if (getenv("NDR_TEST_PART")) return false;
    if (!forced_variant) return !is_today(number, CHOSEN_DAYS);
    while (forced_operation->variants[row] != forced_variant) ++row;
    return !is_today(number + row, FORCED_DAYS);
}

static bool is_of_results(const struct CMUnitTest *test, const variant_tests *tests)
{
    for (size_t i = 0; i < tests->result_count; ++i)
        if (test->test_func == tests->results[i].test_func) return true;
    return false;
}

/* Run those of `count` tests that belong to this part and this day. */
static int run_group(const char *name, const struct CMUnitTest *group, size_t count, const variant_tests *tests,
                     CMFixtureFunction open)
{
    struct CMUnitTest part[64];
    size_t taken = 0;
    assert(count <= NDR_COUNT_OF(part));
    for (size_t i = 0; i < count; ++i) {
        if (!is_in_part(i) || (is_of_results(&group[i], tests) && is_left_to_another_day(i))) continue;
        if (is_simulated() && strstr(group[i].name, "__refuses_")) continue;
        assert(!group[i].teardown_func);
        part[taken] = group[i];
        part[taken++].teardown_func = check_built;
    }
    return taken ? _cmocka_run_group_tests(name, part, taken, open, close_device) : 0;
}

int run_variants(const ndr_operation *operation, const variant_tests *tests)
{
    forced_operation = operation;
    forced_variant = NULL; /* that of the operation before */
    int failed = run_group(operation->name, tests->all, tests->all_count, tests, open_device);
    for (size_t i = 0; i < operation->variant_count; ++i) {
        if (!is_on_list(operation->variants[i]) || !is_left(operation, operation->variants[i], tests->is_chosen)) continue;
        forced_variant = operation->variants[i];
        failed += run_group(forced_variant->name, tests->results, tests->result_count, tests, open_forced);
    }
    return failed;
}
