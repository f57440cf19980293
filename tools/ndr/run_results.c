/* run_results.c - what is done with arguments after a launch: printed, hashed, saved, compared. */
#include "run.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* ---- as written ---- */

static const char *const options[] = { "--print", "--hash", "--save", "--compare" };

static int refuse_result(result_kind kind, const char *text, const char *why)
{
    fail_with("%s=%.200s: %s", options[kind], text, why);
    return USAGE;
}

/* A file's name may contain colons; what follows the last one is the tolerance if it is a number. */
static int parse_file(result_kind kind, const char *text, const char *path, result *r)
{
    const char *const colon = kind == COMPARE ? strrchr(path, ':') : NULL;
    const size_t all = strlen(path);
    size_t length = all;
    if (colon && read_double((span){ colon + 1, all - (size_t)(colon + 1 - path) }, &r->tolerance))
        length = (size_t)(colon - path);
    if (length == 0) return refuse_result(kind, text, "no file is named; write NAME=FILE, as in y=out.npy");
    if (!(r->tolerance >= 0))
        return refuse_result(kind, text, "the tolerance must be 0 or more; write such a number behind the colon");
    r->path = strndup(path, length);
    return r->path ? DONE : fail_with("there is no memory for a path");
}

int parse_result(result_kind kind, const char *text, result *r)
{
    const bool has_file = kind == SAVE || kind == COMPARE;
    const char *const equals = text ? strchr(text, '=') : NULL;
    const size_t length = equals ? (size_t)(equals - text) : text ? strlen(text) : 0;
    *r = (result){ .kind = kind };
    if (has_file && !equals)
        return refuse_result(kind, text ? text : "", "no file is named; write NAME=FILE, as in y=out.npy");
    if (!has_file && equals) return refuse_result(kind, text, "it takes a name alone; write the name of a parameter");
    if (length >= sizeof r->name)
        return refuse_result(kind, text, "the name is too long; write the name of a parameter");
    if (has_file && length == 0)
        return refuse_result(kind, text, "no parameter is named; write NAME=FILE, as in y=out.npy");
    if (text) memcpy(r->name, text, length);
    return has_file ? parse_file(kind, text, equals + 1, r) : DONE;
}

/* ---- numbers ---- */

static const unsigned char *place_of(const contents *c, size_t i, unsigned lane)
{
    return c->bytes + i * element_bytes(c->type) + lane * ndr_dtype_size(c->type.dtype);
}

/* JSON has no NaN and no infinity, and jansson no integer above 2^63: these are texts. */
static json_t *number_json(ndr_dtype dtype, const void *at)
{
    char text[40];
    const double value = number_at(dtype, at);
    if (!isfinite(value) || (dtype == NDR_DTYPE_U64 && value > 9e18)) return json_string(print_number(text, dtype, at));
    if (is_float(dtype)) return json_real(strtod(print_number(text, dtype, at), NULL));
    return json_integer(strtoll(print_number(text, dtype, at), NULL, 10));
}

static json_t *element_json(const contents *c, size_t i)
{
    if (c->type.lanes == 1) return number_json(c->type.dtype, place_of(c, i, 0));
    json_t *const lanes = json_array();
    for (unsigned k = 0; k < c->type.lanes; ++k)
        json_array_append_new(lanes, number_json(c->type.dtype, place_of(c, i, k)));
    return lanes;
}

static json_t *shape_json(const contents *c)
{
    json_t *const sizes = json_array();
    for (unsigned d = 0; d < c->shape.dims; ++d)
        json_array_append_new(sizes, json_integer((json_int_t)c->shape.size[d]));
    return sizes;
}

/* ---- printing ---- */

static void print_one(const contents *c, size_t i)
{
    char text[40];
    const unsigned lanes = c->type.lanes;
    for (unsigned k = 0; k < lanes; ++k)
        printf("%s%s%s", lanes > 1 ? k ? "," : "(" : "", print_number(text, c->type.dtype, place_of(c, i, k)),
               lanes > 1 && k + 1 == lanes ? ")" : "");
}

/* A line for each row, or for each 10 elements of one dimension. */
static void print_text(const slots *all, const slot *s, size_t shown)
{
    const contents *c = &s->memory;
    char text[200], type[16], size[200];
    const size_t last = c->shape.dims > 1 ? c->shape.size[c->shape.dims - 1] : 10;
    printf("%s%s%s, %s%s:", style_begin(BOLD), print_slot(text, all, s), style_end(), print_element(type, c->type),
           print_shape(size, &c->shape));
    for (size_t i = 0; i < shown; ++i) {
        printf("%s", i % last == 0 ? "\n  " : " ");
        print_one(c, i);
    }
    printf("%s\n", c->count ? "" : " no elements");
    if (shown < c->count) printf("  and %zu more; --limit=%zu shows all\n", c->count - shown, c->count);
}

static int print_result(const slots *all, const slot *s, size_t limit, bool is_json, json_t *data)
{
    const contents *c = &s->memory;
    const size_t shown = c->count < limit ? c->count : limit;
    if (!is_json) print_text(all, s, shown);
    json_t *const values = json_array();
    for (size_t i = 0; is_json && i < shown; ++i) json_array_append_new(values, element_json(c, i));
    json_object_set_new(data, "values", values);
    return DONE;
}

/* ---- hashing ---- */

static int hash_result(const slots *all, const slot *s, bool is_json, json_t *data)
{
    char text[200], digits[40];
    const XXH128_hash_t hash = XXH3_128bits(s->memory.bytes, s->memory.count * element_bytes(s->memory.type));
    snprintf(digits, sizeof digits, "%016" PRIx64 "%016" PRIx64, hash.high64, hash.low64);
    if (!is_json) printf("%s: xxh128 %s\n", print_slot(text, all, s), digits);
    json_object_set_new(data, "xxh128", json_string(digits));
    return DONE;
}

/* ---- saving ---- */

static int save_result(const result *r, const slots *all, const slot *s, bool is_json, json_t *data)
{
    char text[200];
    const int code = save_file(r->path, &s->memory);
    if (code != DONE) return code;
    if (!is_json) printf("%s: saved to %s\n", print_slot(text, all, s), r->path);
    json_object_set_new(data, "saved", text_json(r->path));
    return DONE;
}

/* ---- comparing ---- */

typedef struct difference {
    size_t count, first; /* of elements that differ */
    double largest;
} difference;

/* |a - b| <= tolerance * max(1, |b|); two NaN are equal. */
static bool is_near(ndr_dtype dtype, const void *a, const void *b, double tolerance, double *by)
{
    const double is = number_at(dtype, a), expected = number_at(dtype, b);
    *by = 0;
    if (memcmp(a, b, ndr_dtype_size(dtype)) == 0 || (isnan(is) && isnan(expected))) return true;
    *by = fabs(is - expected);
    if (!is_float(dtype) && *by == 0) *by = 1; /* integers that are equal as doubles */
    if (is_float(dtype) && is == expected) return true;
    return *by <= tolerance * fmax(1, fabs(expected));
}

static difference find_difference(const contents *is, const contents *expected, double tolerance)
{
    difference d = { 0, 0, 0 };
    for (size_t i = 0; i < is->count; ++i) {
        bool is_same = true;
        for (unsigned k = 0; k < is->type.lanes; ++k) {
            double by;
            is_same &= is_near(is->type.dtype, place_of(is, i, k), place_of(expected, i, k), tolerance, &by);
            if (by > d.largest || isnan(by)) d.largest = by;
        }
        if (!is_same && d.count++ == 0) d.first = i;
    }
    return d;
}

static void add_difference(const result *r, const difference *d, const contents *is, const contents *expected,
                           json_t *data)
{
    json_t *const o = json_pack("{so sf sI}", "file", text_json(r->path), "tolerance", r->tolerance, "different",
                                (json_int_t)d->count);
    json_object_set_new(o, "largest_difference", number_json(NDR_DTYPE_F64, &d->largest));
    if (d->count)
        json_object_set_new(o, "first",
                            json_pack("{sI so so}", "index", (json_int_t)d->first, "is", element_json(is, d->first),
                                      "expected", element_json(expected, d->first)));
    json_object_set_new(data, "compared", o);
}

static void print_difference(const slots *all, const slot *s, const result *r, const difference *d,
                             const contents *expected)
{
    char text[200];
    print_slot(text, all, s);
    if (d->count == 0) {
        printf("%s: equal to %s%s\n", text, r->path, r->tolerance > 0 ? " within the tolerance" : "");
        return;
    }
    printf("%s%s: differs from %s%s in %zu of %zu elements; the first is [%zu]: ", style_begin(BAD), text, r->path,
           style_end(), d->count, s->memory.count, d->first);
    print_one(&s->memory, d->first);
    printf(", expected ");
    print_one(expected, d->first);
    printf("; the largest difference is %g\n", d->largest);
}

static int compare_result(const result *r, const slots *all, const slot *s, bool is_json, json_t *data)
{
    char text[200];
    contents expected;
    const contents *c = &s->memory;
    const int code = load_file(r->path, c->type, (shape){ 0 }, &expected);
    if (code != DONE) return code;
    if (expected.count != c->count) {
        fail_with("%s has %zu elements, but the file \"%s\" has %zu; compare with a file of as many",
                  print_slot(text, all, s), c->count, r->path, expected.count);
        free(expected.bytes);
        return FAILED;
    }
    const difference d = find_difference(c, &expected, r->tolerance);
    add_difference(r, &d, c, &expected, data);
    if (!is_json) print_difference(all, s, r, &d, &expected);
    free(expected.bytes);
    return d.count ? FAILED : DONE;
}

/* ---- all ---- */

/* The object of an argument in the list of `data`. */
static json_t *entry_of(const slots *all, const slot *s, json_t *data)
{
    json_t *list = json_object_get(data, "arguments");
    const size_t index = (size_t)(s - all->list);
    char type[16];
    if (!list) json_object_set_new(data, "arguments", list = json_array());
    while (json_array_size(list) < all->count) {
        const slot *one = &all->list[json_array_size(list)];
        json_t *const o =
            json_pack("{so so}", "name", text_json(one->parameter.name), "type", text_json(one->parameter.type_name));
        if (one->memory.bytes) {
            json_object_set_new(o, "elements", json_string(print_element(type, one->memory.type)));
            json_object_set_new(o, "shape", shape_json(&one->memory));
        }
        json_array_append_new(list, o);
    }
    return json_array_get(list, index);
}

static int finish_one(const result *r, const slots *all, const slot *s, size_t limit, bool is_json, json_t *data)
{
    json_t *const entry = entry_of(all, s, data);
    switch (r->kind) {
    case PRINT: return print_result(all, s, limit, is_json, entry);
    case HASH: return hash_result(all, s, is_json, entry);
    case SAVE: return save_result(r, all, s, is_json, entry);
    default: return compare_result(r, all, s, is_json, entry);
    }
}

/* A parameter's name, the name that an argument was given, or its number, counted from 0. */
static bool is_called(const slots *all, const slot *s, const char *name)
{
    char number[24];
    snprintf(number, sizeof number, "%zu", (size_t)(s - all->list));
    return is_named(&s->parameter, name) || strcmp(name, s->given->name) == 0 || strcmp(name, number) == 0;
}

int finish_result(const result *r, const slots *all, size_t limit, bool is_json, json_t *data)
{
    int code = DONE;
    bool is_found = false;
    for (size_t i = 0; i < all->count; ++i) {
        const slot *s = &all->list[i];
        const bool has_memory = s->memory.bytes && (s->buffer || s->image);
        if (!has_memory || !(r->name[0] ? is_called(all, s, r->name) : s->is_output)) continue;
        is_found = true;
        const int one = finish_one(r, all, s, limit, is_json, data);
        if (code == DONE) code = one;
    }
    if (is_found || !r->name[0]) return code;
    fail_with("%s: there is no buffer or image \"%s\" among the arguments; write the name of a parameter that is one",
              options[r->kind], r->name);
    return USAGE;
}
