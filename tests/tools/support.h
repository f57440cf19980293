/* support.h - what the tests share: a device to run on, and checks of results and refusals.
 *
 * Include it first: it brings CMocka and what CMocka needs. Internals come through "launch/launch.h" and the
 * like, which the tests may include as well. */
#ifndef NDR_TESTS_SUPPORT_H
#define NDR_TESTS_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ndr/ndr.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* The context and queue (a profiling one) that a group of tests shares; made by open_device(). */
extern ndr_context *context;
extern ndr_queue *queue;
extern ndr_device_info device;

/* Group fixtures for cmocka_run_group_tests(). */
int open_device(void **state);
int close_device(void **state);

/* The call must succeed. If it fails, its sentence is printed. */
#define assert_ok(call) assert_ok_((call), #call, __FILE__, __LINE__)
void assert_ok_(ndr_status status, const char *call, const char *file, int line);

/* The call must be refused with `status`, in a sentence that contains each of the parts (up to 8). */
#define assert_refused(status, call, ...) \
    assert_refused_((status), (call), #call, __FILE__, __LINE__, (const char *const[]){ __VA_ARGS__, NULL })
void assert_refused_(ndr_status wanted, ndr_status status, const char *call, const char *file, int line,
                     const char *const *parts);

/* Skip the test and print which capability is missing. */
#define skip_without(capability, why)                    \
    do {                                                 \
        if (!(capability)) {                             \
            print_message("skipped: %s\n", (why));       \
            skip();                                      \
        }                                                \
    } while (0)

/* Skip the test if libndr waits for each launch, as with NDR_CHECK. For tests in which an OpenCL event holds work back
 * until the test continues. */
void skip_where_launches_are_waited_for(void);

/* Whether the device can be divided into two parts, equal ones or of given compute units. */
bool can_be_halved(void);

/* Skip the test if a kernel takes fewer items in a group than its text needs. */
void skip_without_group(const ndr_kernel *kernel, size_t items);

/* Whether kernels for items with vector registers can run here. False on a CPU whose registers hold several items,
 * because compiling such a kernel takes minutes there. A simulator does not compile. */
bool takes_vectors(void);

/* True if sizes should be small: on a simulator, and where NDR_TEST_QUICK is "sizes". */
bool quick(void);

/* Whether the device is a simulator: NDR_TEST_QUICK is set to something else. */
bool is_simulated(void);

/* Whether NDR_TEST_LONG asks for all of the cases of which a test otherwise takes a few. */
bool all_cases(void);

/* Whether case `i` of a list belongs to this run: one case in `days`, so that runs of as many days in sequence take each.
 * NDR_TEST_DAY=n sets the day, which open_device() prints; with NDR_TEST_LONG all belong to it. */
bool is_today(size_t i, size_t days);

/* The same for cases inside of a test, each with kernels of its own, which take a CPU's driver up to a second to compile. A
 * simulator does not compile: all cases that the test has there belong to its run. `days` has no factor in common with
 * those of forcing.h, so that each variant meets each case. */
bool takes_case(size_t i, size_t days);

/* A kernel from source text; the test fails if it does not build. */
ndr_kernel *kernel_of(const char *source, const char *name);

/* The same with the compiler's options, which may be NULL. */
ndr_kernel *kernel_with(const char *source, const char *name, const char *options);

/* A kernel without parameters, "nothing". Skips the test if the driver cannot build one (NVIDIA's assembler cannot). */
ndr_kernel *kernel_without_parameters(void);

/* `wanted` items for a group, or as many as the kernel takes on this device if those are fewer. */
size_t fitting_group(const ndr_kernel *kernel, size_t wanted);

/* A buffer that starts as a copy of `host`, or undefined if `host` is NULL. */
ndr_buffer *buffer_of(size_t size_bytes, const void *host);

/* destroy_buffers(a, b): each may be NULL. */
#define destroy_buffers(...) \
    destroy_buffers_((ndr_buffer *[]){ __VA_ARGS__ }, COUNT_OF(((ndr_buffer *[]){ __VA_ARGS__ })))
void destroy_buffers_(ndr_buffer *const *buffers, size_t count);

/* Write a file into the folder that the test runs in. */
void write_file(const char *path, const char *text);

/* An environment variable for the length of a test: put back by restore_env(), which the test calls last. NULL
 * unsets it. */
void set_env(const char *name, const char *value);
void restore_env(void);

/* The number that an environment variable holds; `otherwise` if it is unset or empty. */
uint64_t number_from_env(const char *name, uint64_t otherwise);

/* A few kernels for tests of other things, one source so that it is built once:
 *   add_one(global int *x, NDR_RANGE(1))                        x[i] += 1
 *   copy_ints(global int *to, global const int *from, NDR_RANGE(1))
 *   spin(global int *x, int turns, NDR_ND_RANGE(1))             takes a while and then does x[i] += 1 */
extern const char plain_kernels[];

/* Read a whole buffer, or its first `size_bytes`. */
void read_buffer(ndr_buffer *buffer, void *host, size_t size_bytes);

/* The same, and destroy it. */
void take_buffer(ndr_buffer *buffer, void *host, size_t size_bytes);

#endif
