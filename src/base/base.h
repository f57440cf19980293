/* base.h - the lowest floor: errors, log, handles, text, hashes, element types, sizes. It does not depend on
 * devices. */
#ifndef NDR_BASE_H
#define NDR_BASE_H

#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>

#include "base/os.h"
#include "ndr/ndr.h"
#include "ndr/ndr_image.h"
#include "shared/core.h"

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
#define NDR_REQUIRE_ONE_(call, pointer)                                      \
    do {                                                                     \
        NDR_REQUIRE((pointer) != NULL, "%s: " #pointer " is NULL", call);    \
        NDR_REQUIRE_LIVE(NDR_HANDLE_KIND(pointer), pointer, call, #pointer); \
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

/* ---- handle.c ---- */

/* The kinds of handles: ROW(kind, type, name in sentences). */
#define NDR_HANDLES(ROW)                                        \
    ROW(NDR_HANDLE_CONTEXT, ndr_context, "a context")           \
    ROW(NDR_HANDLE_QUEUE, ndr_queue, "a queue")                 \
    ROW(NDR_HANDLE_EVENT, ndr_event, "an event")                \
    ROW(NDR_HANDLE_BUFFER, ndr_buffer, "a buffer")              \
    ROW(NDR_HANDLE_KERNEL, ndr_kernel, "a kernel")              \
    ROW(NDR_HANDLE_PREPARED, ndr_prepared, "a prepared launch") \
    ROW(NDR_HANDLE_IMAGE, ndr_image, "an image")                \
    ROW(NDR_HANDLE_SAMPLER, ndr_sampler, "a sampler")           \
    ROW(NDR_HANDLE_SHARED, ndr_shared, "a shared allocation")

#define NDR_HANDLE_ENUMERATOR_(kind, type, name) kind,
typedef enum ndr_handle_kind {
    NDR_HANDLE_NONE, /* not a handle */
    NDR_HANDLES(NDR_HANDLE_ENUMERATOR_)
} ndr_handle_kind;

#define NDR_HANDLE_CASE_(kind, type, name) type * : kind, const type * : kind,
#define NDR_HANDLE_KIND(pointer) _Generic((pointer), NDR_HANDLES(NDR_HANDLE_CASE_) default : NDR_HANDLE_NONE)

extern atomic_bool ndr_handles_checked; /* set when the first checked context is opened */
static inline bool ndr_handles_are_checked(void)
{
    return atomic_load_explicit(&ndr_handles_checked, memory_order_relaxed);
}

/* Count contexts. Handles of unchecked contexts are not listed, so while there is one, a pointer that is not listed
 * may still be a valid handle. */
void ndr_handles_add_context(bool is_checked);
void ndr_handles_remove_context(bool is_checked);

/* Return zeroed memory for a handle, or NULL without memory. The struct begins with a uint64_t for the seal. The
 * handle is listed if it is checked. */
void *ndr_handle_new(ndr_handle_kind kind, size_t size_bytes, bool is_checked);

/* The owner destroys a handle: return whether there is one to destroy. Where handles are checked, a handle that is
 * not live records a sentence, is counted as a mistake, and must not be touched. */
bool ndr_handle_retire(ndr_handle_kind kind, const void *handle, const char *call);

/* Free a handle's memory. The memory of a listed handle goes through the quarantine first. */
void ndr_handle_free(void *handle);

/* Refuse a handle that is not a live one of its kind: "CALL: NAME is a buffer that has been destroyed", or without NAME
 * if `name` is NULL. A destroyed context stays live as long as one of its objects is, and a destroyed event as long as
 * something waits for it. */
ndr_status ndr_handle_require(ndr_handle_kind kind, const void *handle, const char *call, const char *name)
    __attribute__((cold));

/* For refusals of a buffer of another context: the other cause that such a difference has where a handle is not listed,
 * because the memory of a destroyed one may contain anything. "" if all handles are listed. */
const char *ndr_handle_or_destroyed(void);

/* For functions that return no status. False for NULL, too. */
#define NDR_IS_LIVE(pointer)        \
    ((pointer)                      \
     && (!ndr_handles_are_checked() \
         || ndr_handle_require(NDR_HANDLE_KIND(pointer), (pointer), __func__, #pointer) == NDR_OK))

#define NDR_REQUIRE_LIVE(kind, handle, call, name)                                                    \
    do {                                                                                              \
        if (ndr_handles_are_checked()) NDR_TRY(ndr_handle_require((kind), (handle), (call), (name))); \
    } while (0)

/* ---- text.c ---- */

/* A growing string; {0} is empty. After a failed append it is marked as failed and later appends do nothing, so
 * callers check once, when they use the result. */
typedef struct ndr_text {
    char *chars; /* NULL while empty */
    size_t length, capacity;
    bool failed;
} ndr_text;

void ndr_text_add(ndr_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void ndr_text_add_v(ndr_text *text, const char *format, va_list args) __attribute__((format(printf, 2, 0)));
void ndr_text_add_chars(ndr_text *text, const char *chars, size_t count);
void ndr_text_clear(ndr_text *text); /* set to empty; keep the memory */
void ndr_text_free(ndr_text *text);

/* "1000" or "(16, 8)": sizes in libndr's order, as sentences print them. */
typedef struct ndr_size_text {
    char chars[80];
} ndr_size_text;
ndr_size_text ndr_sizes_print(unsigned dims, const size_t sizes[3]);

/* Append the mistakes that ndr_handle_retire() counted, in one line; append nothing if there were none. */
void ndr_handle_print_mistakes(ndr_text *out);

/* How many characters must be added, removed or replaced to make one of the other; SIZE_MAX for longer texts than names
 * of files. */
size_t ndr_text_distance(const char *a, const char *b);

bool ndr_text_equal_ignoring_case(const char *a, const char *b);
bool ndr_text_contains_ignoring_case(const char *text, const char *part);

/* For text whose blanks are all ' '. Skip blanks; skip `token` and blanks, or return NULL if there is another token;
 * the length of the name at `at`. */
const char *ndr_word_skip_blanks(const char *at);
const char *ndr_word_take(const char *at, const char *token);
size_t ndr_word_length(const char *at);
bool ndr_word_is_one_of(const char *at, const char *const *words); /* `words` ends with NULL */

/* Whether a character may be part of a name; the next name that starts with `start`; the next name that equals
 * `word`; NULL if there is none. */
bool ndr_word_has(char c);
const char *ndr_word_find_start(const char *text, const char *start);
const char *ndr_word_find(const char *text, const char *word);

/* ---- hash.c ---- */

/* Identifies a text without keeping it. */
typedef struct ndr_hash {
    uint64_t words[2];
} ndr_hash;

ndr_hash ndr_hash_bytes(const void *bytes, size_t count);
bool ndr_hash_equal(ndr_hash a, ndr_hash b);

/* ---- disk.c ---- */

enum { NDR_DISK_MIB = 256, NDR_DISK_ENTRY_BYTES = 128 << 20 };

extern const char ndr_library_build[]; /* version and a hash of the sources; generated by cmake/library_build.cmake */

/* The store on disk. Threads may use one at the same time, and processes one folder. docs/cache.md is for users. */
typedef struct ndr_disk {
    ndr_text folder; /* empty: nothing is kept */
    uint64_t limit_bytes;
    atomic_bool has_grown;
    ndr_file_info root; /* of all paths when it was opened */
} ndr_disk;

/* Pure: refuse values that NDR_CACHE and NDR_CACHE_MIB do not accept; NULL or "": unset. */
ndr_status ndr_disk_check(const char *folder, const char *mib);

/* Read NDR_CACHE, NDR_CACHE_MIB, which are checked, XDG_CACHE_HOME and HOME; log why there is no folder. */
void ndr_disk_open(ndr_disk *disk);

/* Remove what was not used for longest if all files together exceed the limit. */
void ndr_disk_close(ndr_disk *disk);

/* Append the value that was put under `key` by this build of libndr; false: there is none, and if the file is there,
 * the log has the reason. */
bool ndr_disk_get(const ndr_disk *disk, const char *key, ndr_text *value);

/* Whether ndr_disk_put() may succeed, before a value is made; false: it cannot, and the log has the reason. */
bool ndr_disk_can_put(const ndr_disk *disk);

/* Write a value, over an earlier one; false: it is not kept, and the log has the reason. */
bool ndr_disk_put(ndr_disk *disk, const char *key, const void *value, size_t value_bytes);

/* ---- tally.c ---- */

enum { NDR_TALLY_BUCKETS = 61 * 16, NDR_TALLY_MAX_NAMES = 500 };

/* Durations under one name. All zeros: none. */
typedef struct ndr_tally {
    struct ndr_tally *next;
    const char *category; /* "kernel", "transfer", "region" */
    uint64_t count, min_ns, max_ns, total_ns;
    uint64_t bytes, flops; /* declared for all of them together */
    uint64_t buckets[NDR_TALLY_BUCKETS];
    char name[];
} ndr_tally;

/* A region contains commands that have tallies of their own. */
static inline bool ndr_tally_is_region(const ndr_tally *tally) { return *tally->category == 'r'; }

void ndr_tally_add(ndr_tally *tally, uint64_t ns);

/* Within 3.2 % of the lower median. */
uint64_t ndr_tally_median_ns(const ndr_tally *tally);

/* Get the tally of that name; make it if there is none. If the list has NDR_TALLY_MAX_NAMES, new names share
 * "(others)". NULL: there is no memory. `category` is a constant. */
ndr_tally *ndr_tally_get(ndr_tally **list, const char *category, const char *name);
void ndr_tallies_free(ndr_tally **list);

/* Append the table: commands, then regions, each by total. Shares are of the total of all commands. */
void ndr_tallies_print(const ndr_tally *list, ndr_text *out);

/* ---- timeline.c ---- */

enum { NDR_TIMELINE_BYTES = 1 << 30, NDR_JSON_TEXT_BYTES = 240 };

/* A JSON value in the making; all zeros: empty. `is_cut`: it does not fit. */
typedef struct ndr_json {
    size_t length;
    bool is_cut;
    char chars[1024];
} ndr_json;

void ndr_json_add_chars(ndr_json *json, const char *raw, size_t length);
static inline void ndr_json_add(ndr_json *json, const char *raw) { ndr_json_add_chars(json, raw, strlen(raw)); }
void ndr_json_add_number(ndr_json *json, uint64_t number);
void ndr_json_add_us(ndr_json *json, int64_t ns); /* as microseconds; 0 if it is less */

/* In quotes, escaped; bytes that are not UTF-8 become U+FFFD. A longer text ends in "..." after NDR_JSON_TEXT_BYTES. */
void ndr_json_add_text(ndr_json *json, const char *text);

/* The file of a trace. */
typedef struct ndr_timeline {
    int file;
    ndr_hash path;
    uint64_t size_bytes, lost; /* written; records that are not in the file */
    bool is_full;              /* nothing more is written, and the log has the reason */
    size_t used;
    char page[4096]; /* `used` bytes wait to be written */
} ndr_timeline;

/* Make the file, over an earlier one; or continue it, if it is the process's latest: 0, or an errno. */
int ndr_timeline_open(ndr_timeline *timeline, const char *path);
void ndr_timeline_add(ndr_timeline *timeline, const ndr_json *record);
void ndr_timeline_flush(ndr_timeline *timeline);
void ndr_timeline_close(ndr_timeline *timeline);

/* ---- dtype.c ---- */

typedef struct ndr_dtype_info {
    const char *name;    /* "f32": the name for users */
    const char *cl_name; /* "float": the type in OpenCL C */
    size_t size_bytes;
    bool is_float, is_signed;
} ndr_dtype_info;

/* NULL for a value that is no dtype. */
const ndr_dtype_info *ndr_dtype_describe(ndr_dtype dtype);

/* The bits of the half nearest to `value`, of two equally near ones the even one. */
uint16_t ndr_half_bits(float value);

/* ---- sizes ---- */

#define NDR_COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

static inline size_t ndr_ceil_div(size_t a, size_t b) { return a / b + (a % b != 0); }
static inline size_t ndr_min_size(size_t a, size_t b) { return a < b ? a : b; }
static inline size_t ndr_max_size(size_t a, size_t b) { return a > b ? a : b; }
static inline size_t ndr_clamp_size(size_t a, size_t low, size_t high) { return ndr_max_size(low, ndr_min_size(a, high)); }

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
