/* base.h - ground floor: failing, text, element types, sizes. Knows nothing of devices. */
#ifndef NDR_BASE_H
#define NDR_BASE_H

#include "ndr/ndr.h"

/* ---- status.c ---- */

/* Record why, and return `status`, so that one line both explains and fails. The sentence may quote
 * ndr_last_error(). */
ndr_status ndr_fail(ndr_status status, const char *format, ...) __attribute__((cold, format(printf, 2, 3)));

/* The same, remembering the OpenCL code behind it. */
ndr_status ndr_fail_with_code(ndr_status status, int32_t cl_error, const char *format, ...)
    __attribute__((cold, format(printf, 3, 4)));

/* Stop here if `call` failed; whoever failed has already said why. */
#define NDR_TRY(call)                                  \
    do {                                               \
        const ndr_status try_status_ = (call);         \
        if (try_status_ != NDR_OK) return try_status_; \
    } while (0)

/* Stop with `status` and a sentence unless `condition` holds. */
#define NDR_REQUIRE_AS(status, condition, ...)                       \
    do {                                                             \
        if (!(condition)) return ndr_fail((status), __VA_ARGS__);    \
    } while (0)

#define NDR_REQUIRE(condition, ...) NDR_REQUIRE_AS(NDR_BAD_ARGUMENT, condition, __VA_ARGS__)

/* Refuse a NULL by its name. */
#define NDR_REQUIRE_SET(pointer) NDR_REQUIRE((pointer) != NULL, "%s: " #pointer " is NULL", __func__)

/* ---- text.c ---- */

/* A growing string. Start from {0}. A failed append marks it and later ones do nothing, so callers check
 * once, when they take the result. */
typedef struct ndr_text {
    char *chars; /* NULL while empty */
    size_t length, capacity;
    bool failed;
} ndr_text;

void ndr_text_add(ndr_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void ndr_text_add_chars(ndr_text *text, const char *chars, size_t count);
void ndr_text_clear(ndr_text *text); /* empty again, memory kept */
void ndr_text_free(ndr_text *text);

/* "1000" or "(16, 8)": sizes whole and in our order, as sentences print them. Lives in `text`. */
typedef struct ndr_size_text {
    char chars[80];
} ndr_size_text;
ndr_size_text ndr_sizes_print(unsigned dims, const size_t sizes[3]);

bool ndr_text_equal_ignoring_case(const char *a, const char *b);
bool ndr_text_contains_ignoring_case(const char *text, const char *part);

/* ---- hash.c ---- */

/* What stands for a text that need not be kept. */
typedef struct ndr_hash {
    uint64_t words[2];
} ndr_hash;

ndr_hash ndr_hash_bytes(const void *bytes, size_t count, uint32_t seed);
bool ndr_hash_equal(ndr_hash a, ndr_hash b);

/* ---- system.c ---- */

/* The environment variable's value, or NULL. A program that has more rights than whoever started it (set-user-ID) has
 * none: its environment is another's. The only place that reads the environment. */
const char *ndr_environment(const char *name);

/* What an errno means: strerror() may be called by one thread at a time only, this by any number. */
typedef struct ndr_errno_text {
    char chars[128];
} ndr_errno_text;
ndr_errno_text ndr_errno_print(int error);

/* ---- dtype.c ---- */

typedef struct ndr_dtype_info {
    const char *name;    /* "f32": what users read */
    const char *cl_name; /* "float": what OpenCL C says */
    const char *macro;   /* "F32": what kernels/ndr_dtype.clh is told */
    size_t size_bytes;
    bool is_float, is_signed;
} ndr_dtype_info;

/* NULL for a value that is no dtype. */
const ndr_dtype_info *ndr_dtype_describe(ndr_dtype dtype);

/* ---- sizes ---- */

static inline size_t ndr_ceil_div(size_t a, size_t b) { return a / b + (a % b != 0); }
static inline size_t ndr_min_size(size_t a, size_t b) { return a < b ? a : b; }
static inline size_t ndr_max_size(size_t a, size_t b) { return a > b ? a : b; }

/* Sums and products that say when they do not fit; `*out` counts only when they do. */
static inline bool ndr_add_fits(size_t a, size_t b, size_t *out) { return !__builtin_add_overflow(a, b, out); }
static inline bool ndr_mul_fits(size_t a, size_t b, size_t *out) { return !__builtin_mul_overflow(a, b, out); }

#endif
