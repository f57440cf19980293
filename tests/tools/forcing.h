/* forcing.h - run each variant of an operation, not only that which the device would choose. */
#ifndef NDR_TESTS_FORCING_H
#define NDR_TESTS_FORCING_H

#include "support.h"

#include "ops/choices.h"
#include "ops/select.h"

/* Make a context take the variant of that name wherever it can run; NULL: its own choice. Refuses an unknown name, and a
 * variant whose needs the device does not meet. */
ndr_status force_in(ndr_context *in, const ndr_operation *operation, const char *name);

/* The name of the variant that is forced, or NULL. */
const char *forced_in(ndr_context *in, const ndr_operation *operation);

/* The same for the shared context. */
void force(const ndr_operation *operation, const char *name);

/* Whether the shared context can take a variant without compiling its kernels for minutes, and without the fault that
 * driver_returns_for_all() shows, which libndr does not avoid in kernels for GPUs. */
bool takes_variant(const ndr_operation *operation, const ndr_op_variant *variant);

/* Whether a variant, or what is forced, is the one of that name. */
bool is_variant(const ndr_op_variant *variant, const char *name);
bool is_forced(const ndr_operation *operation, const char *name);

/* The variant of that name; the test fails if there is none. */
const ndr_op_variant *variant_of(const ndr_operation *operation, const char *name);

/* As open_device(), for variants whose groups wait for each other: the drivers of CPUs run each group to its end on a
 * thread of the system, so that groups go on while others wait, although none documents it. There no variant is tried
 * before it is used, as none is replaced in silence; test_prove tries them. */
int open_with_progress(void **state);

/* A test of results runs with the device's choice on one in CHOSEN_DAYS days, with another variant forced on one in
 * FORCED_DAYS. */
enum { CHOSEN_DAYS = 2, FORCED_DAYS = 8 };

/* Run those of `count` tests whose day it is, as test `first` of `days` and so on; on a simulator all. Returns the number
 * of failures. */
int run_todays(const char *name, const struct CMUnitTest *tests, size_t count, size_t first, size_t days,
               CMFixtureFunction open, CMFixtureFunction close);

/* The variant that run_variants() forces; NULL if the device chooses. */
extern const ndr_op_variant *forced_variant;

typedef struct variant_tests {
    const struct CMUnitTest *all, *results;
    size_t all_count, result_count;
    bool (*is_chosen)(const ndr_op_variant *variant);
} variant_tests;

/* Run an operation's tests: `all` of them with the device's choice, then `results` with each other variant forced that
 * the device can take. `is_chosen` reports those that it chooses anyway. Of `results` those run whose day it is. With
 * NDR_TEST_PART=K/N only every Nth test of each group runs, from the Kth, with today/N from another one each day; with
 * NDR_TEST_ROWS, a list of names, only those variants are forced; with NDR_TEST_QUICK no test that only looks for
 * refusals runs. Returns the number of failures. */
int run_variants(const ndr_operation *operation, const variant_tests *tests);

#endif
