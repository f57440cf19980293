/* base.h - what all files need of the lowest floor: errors, log, handles, text, hashes, element types, sizes. The floor
 * does not depend on devices. */
#ifndef NDR_BASE_H
#define NDR_BASE_H

#include <stdatomic.h>
#include <string.h>

#include "base/handle.h"
#include "base/os.h"
#include "base/text.h"
#include "ndr/ndr.h"

/* ---- status.c ---- */

/* Record a failure's sentence for this thread and return `status`. The sentence may quote ndr_last_error(). `cl_error`
 * is the OpenCL error code behind the failure, or 0. ndr_last_build_log() then returns `log`, which may be NULL. */
ndr_status ndr_fail_with_log(ndr_status status, int32_t cl_error, const char *log, const char *format, ...)
    __attribute__((cold, format(printf, 4, 5)));
#define ndr_fail_with_code(status, cl_error, ...) ndr_fail_with_log((status), (cl_error), NULL, __VA_ARGS__)
#define ndr_fail(status, ...) ndr_fail_with_code((status), 0, __VA_ARGS__)

/* Whether a call has failed on this thread, so that ndr_last_error() has its sentence. */
bool ndr_has_error(void);

/* Return the status of `call` if it failed. The failing function has already recorded its sentence. */
#define NDR_TRY(call)                                  \
    do {                                               \
        const ndr_status try_status_ = (call);         \
        if (try_status_ != NDR_OK) return try_status_; \
    } while (0)

/* Return `status` with a sentence unless `condition` holds. */
#define NDR_REQUIRE_AS(status, condition, ...)                    \
    do {                                                          \
        if (!(condition)) return ndr_fail((status), __VA_ARGS__); \
    } while (0)

#define NDR_REQUIRE(condition, ...) NDR_REQUIRE_AS(NDR_BAD_ARGUMENT, condition, __VA_ARGS__)

/* Refuse NULL pointers by their names: NDR_REQUIRE_SET(context, buffer), one to three of them. Where handles are
 * checked, refuse handles that are not live. */
#define NDR_REQUIRE_SET(...) NDR_REQUIRE_SET_IN(__func__, __VA_ARGS__)
#define NDR_REQUIRE_SET_IN(call, ...) \
    NDR_FOURTH_(__VA_ARGS__, NDR_REQUIRE_THREE_, NDR_REQUIRE_TWO_, NDR_REQUIRE_ONE_, )((call), __VA_ARGS__)
#define NDR_FOURTH_(a, b, c, fourth, ...) fourth
#define NDR_REQUIRE_ONE_(call, pointer)                                                   \
    do {                                                                                  \
        if (!(pointer)) return ndr_refuse_null(NDR_HANDLE_KIND(pointer), call, #pointer); \
        NDR_REQUIRE_LIVE(NDR_HANDLE_KIND(pointer), pointer, call, #pointer);              \
    } while (0)
#define NDR_REQUIRE_TWO_(call, pointer, ...) \
    do {                                     \
        NDR_REQUIRE_ONE_(call, pointer);     \
        NDR_REQUIRE_ONE_(call, __VA_ARGS__); \
    } while (0)
#define NDR_REQUIRE_THREE_(call, pointer, ...) \
    do {                                       \
        NDR_REQUIRE_ONE_(call, pointer);       \
        NDR_REQUIRE_TWO_(call, __VA_ARGS__);   \
    } while (0)

/* Fill in a struct of the caller, whose header may be older or newer than the library: as much as it has there, and
 * zeros for members that this version lacks. */
static inline void ndr_info_write(const void *whole, size_t whole_bytes, void *info, size_t info_bytes)
{
    const size_t both = info_bytes < whole_bytes ? info_bytes : whole_bytes;
    memcpy(info, whole, both);
    memset((char *)info + both, 0, info_bytes - both);
}

/* ---- log.c ---- */

extern atomic_int ndr_log_limit; /* messages of a higher level are not logged */
static inline bool ndr_logs(ndr_log_level level)
{
    return __builtin_expect(atomic_load_explicit(&ndr_log_limit, memory_order_relaxed) >= (int)level, false);
}

/* Log a message: ndr_log(NDR_LOG_INFO, "build.done", "program \"%s\" ...", title). docs/logging.md lists all ids.
 * Nothing is formatted while `level` is off. The caller may hold locks. */
#define ndr_log(level, id, ...)                                       \
    do {                                                              \
        if (ndr_logs(level)) ndr_log_write((level), id, __VA_ARGS__); \
    } while (0)

void ndr_log_write(ndr_log_level level, const char *id, const char *format, ...)
    __attribute__((cold, format(printf, 3, 4)));

/* Pure: refuse a value that NDR_LOG does not accept. */
ndr_status ndr_log_check(const char *word);

/* ---- hash.c ---- */

/* Identifies a text without keeping it. */
typedef struct ndr_hash {
    uint64_t words[2];
} ndr_hash;

ndr_hash ndr_hash_bytes(const void *bytes, size_t count);
bool ndr_hash_equal(ndr_hash a, ndr_hash b);

/* ---- dtype.c ---- */

typedef struct ndr_dtype_info {
    const char *name;    /* "f32": the name for users */
    const char *cl_name; /* "float": the type in OpenCL C; of bf16 that of its bits */
    size_t size_bytes;
    bool is_float, is_signed;
} ndr_dtype_info;

/* NULL for a value that is no dtype. */
const ndr_dtype_info *ndr_dtype_describe(ndr_dtype dtype);

/* "SUM"; NULL for a value that is no operator. */
const char *ndr_op_name(ndr_op op);

/* Whether it is F16 or BF16, which are stored, but computed with as float. */
bool ndr_dtype_is_narrow(ndr_dtype dtype);

/* The build options of kernels/elements.clh for elements of a type: "-DT=float", "-DT=float -DNARROW=1". */
const char *ndr_dtype_options(ndr_dtype dtype);

/* ---- sizes ---- */

#define NDR_COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

static inline size_t ndr_ceil_div(size_t a, size_t b) { return a / b + (a % b != 0); }
static inline size_t ndr_min_size(size_t a, size_t b) { return a < b ? a : b; }
static inline size_t ndr_max_size(size_t a, size_t b) { return a > b ? a : b; }
static inline size_t ndr_clamp_size(size_t a, size_t low, size_t high)
{
    return ndr_max_size(low, ndr_min_size(a, high));
}

/* False if the sum or product overflows; `*out` is valid only if it fits. */
static inline bool ndr_add_fits(size_t a, size_t b, size_t *out) { return !__builtin_add_overflow(a, b, out); }
static inline bool ndr_mul_fits(size_t a, size_t b, size_t *out) { return !__builtin_mul_overflow(a, b, out); }

/* Of `dims` sizes; SIZE_MAX if the product is larger. */
static inline size_t ndr_sizes_product(unsigned dims, const size_t *sizes)
{
    size_t product = 1;
    for (unsigned d = 0; d < dims; ++d)
        if (!ndr_mul_fits(product, sizes[d], &product)) product = SIZE_MAX;
    return product;
}

#endif
