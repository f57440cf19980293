/* run_values.c - the text of arguments: parses it, and makes memory of what it describes. Needs no device. */
#include "run.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

/* ---- sentences ---- */

int refuse_argument(const argument *a, const char *format, ...)
{
    char why[600];
    va_list list;
    va_start(list, format);
    vsnprintf(why, sizeof why, format, list);
    va_end(list);
    fail_with("argument \"%.200s\": %s", a->text, why);
    return USAGE;
}

/* For "%.*s". */
static int shown(span text) { return text.length < 80 ? (int)text.length : 80; }

static bool is_equal(span text, const char *word)
{
    return text.length == strlen(word) && memcmp(text.at, word, text.length) == 0;
}

static span trim(span text)
{
    while (text.length && isspace((unsigned char)text.at[0])) ++text.at, --text.length;
    while (text.length && isspace((unsigned char)text.at[text.length - 1])) --text.length;
    return text;
}

/* ---- types ---- */

static const struct {
    ndr_dtype dtype;
    const char *cl_name; /* NULL: OpenCL C has no such type */
} types[] = { { NDR_DTYPE_I8, "char" },    { NDR_DTYPE_U8, "uchar" },   { NDR_DTYPE_I16, "short" },
              { NDR_DTYPE_U16, "ushort" }, { NDR_DTYPE_I32, "int" },    { NDR_DTYPE_U32, "uint" },
              { NDR_DTYPE_I64, "long" },   { NDR_DTYPE_U64, "ulong" },  { NDR_DTYPE_F16, "half" },
              { NDR_DTYPE_F32, "float" },  { NDR_DTYPE_F64, "double" }, { NDR_DTYPE_BF16, NULL } };

#define TYPES_ARE                                                                                                   \
    "types are i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64, or char to double as in OpenCL C, and vectors such " \
    "as f32x4 or float4"

static bool read_lanes(span text, unsigned *lanes)
{
    static const struct {
        const char *name;
        unsigned lanes;
    } counts[] = { { "2", 2 }, { "3", 3 }, { "4", 4 }, { "8", 8 }, { "16", 16 } };
    for (size_t i = 0; i < COUNT_OF(counts); ++i)
        if (is_equal(text, counts[i].name)) return *lanes = counts[i].lanes, true;
    return false;
}

/* Whether the text is `name`, alone or with `joint` and a number of lanes behind it. */
static bool is_type(span text, const char *name, const char *joint, unsigned *lanes)
{
    const size_t length = strlen(name), all = length + strlen(joint);
    if (is_equal(text, name)) return *lanes = 1, true;
    return text.length > all && strncmp(text.at, name, length) == 0
           && strncmp(text.at + length, joint, all - length) == 0
           && read_lanes((span){ text.at + all, text.length - all }, lanes);
}

bool read_element(span text, element *type)
{
    for (size_t i = 0; i < COUNT_OF(types); ++i) {
        unsigned lanes;
        const bool is_named = types[i].cl_name && is_type(text, types[i].cl_name, "", &lanes);
        if (!is_named && !is_type(text, ndr_dtype_name(types[i].dtype), "x", &lanes)) continue;
        *type = (element){ types[i].dtype, lanes };
        return true;
    }
    return false;
}

unsigned stored_lanes(element type) { return type.lanes == 3 ? 4 : type.lanes; }
size_t element_bytes(element type) { return stored_lanes(type) * ndr_dtype_size(type.dtype); }

const char *print_element(char text[16], element type)
{
    if (type.lanes > 1) snprintf(text, 16, "%sx%u", ndr_dtype_name(type.dtype), type.lanes);
    else snprintf(text, 16, "%s", ndr_dtype_name(type.dtype));
    return text;
}

static bool is_narrow(ndr_dtype dtype) { return dtype == NDR_DTYPE_F16 || dtype == NDR_DTYPE_BF16; }

bool is_float(ndr_dtype dtype) { return is_narrow(dtype) || dtype == NDR_DTYPE_F32 || dtype == NDR_DTYPE_F64; }

bool is_stored_as(ndr_dtype dtype, ndr_dtype in_kernel)
{
    return dtype == in_kernel || (dtype == NDR_DTYPE_BF16 && in_kernel == NDR_DTYPE_U16);
}

static bool is_signed(ndr_dtype dtype)
{
    return dtype == NDR_DTYPE_I8 || dtype == NDR_DTYPE_I16 || dtype == NDR_DTYPE_I32 || dtype == NDR_DTYPE_I64;
}

/* ---- sizes ---- */

static bool read_size(span text, size_t *size)
{
    *size = 0;
    for (size_t i = 0; i < text.length; ++i) {
        const size_t digit = (size_t)(text.at[i] - '0');
        if (text.at[i] < '0' || text.at[i] > '9' || *size > (SIZE_MAX - digit) / 10) return false;
        *size = *size * 10 + digit;
    }
    return text.length > 0;
}

/* The text up to the first of `ends`; `rest` begins behind that, and is at NULL if there is none. */
static span cut(span text, const char *ends, span *rest)
{
    size_t n = 0;
    while (n < text.length && !(text.at[n] && strchr(ends, text.at[n]))) ++n;
    *rest = n < text.length ? (span){ text.at + n + 1, text.length - n - 1 } : (span){ NULL, 0 };
    return (span){ text.at, n };
}

bool read_sizes(span text, unsigned most, shape *sizes)
{
    sizes->dims = 0;
    for (span rest = text; rest.at;) {
        const span one = cut(rest, "x,", &rest);
        if (sizes->dims == most || !read_size(trim(one), &sizes->size[sizes->dims])) return false;
        ++sizes->dims;
    }
    return true;
}

size_t count_elements(const shape *s)
{
    size_t count = 1;
    for (unsigned d = 0; d < s->dims; ++d) {
        if (s->size[d] && count > SIZE_MAX / s->size[d]) return SIZE_MAX;
        count *= s->size[d];
    }
    return count;
}

const char *print_shape(char text[200], const shape *s)
{
    int used = snprintf(text, 200, "[");
    for (unsigned d = 0; d < s->dims; ++d)
        used += snprintf(text + used, 200 - (size_t)used, "%s%zu", d ? "x" : "", s->size[d]);
    snprintf(text + used, 200 - (size_t)used, "]");
    return text;
}

/* ---- floats of 16 bits ---- */

/* The bits of the fraction, without the hidden one. */
static int fraction_bits(ndr_dtype dtype) { return dtype == NDR_DTYPE_F16 ? 10 : 7; }

static int exponent_bias(ndr_dtype dtype) { return dtype == NDR_DTYPE_F16 ? 15 : 127; }

/* The least number that rounds to infinity. */
static double narrow_limit(ndr_dtype dtype)
{
    const int bits = fraction_bits(dtype) + 2;
    return ldexp((1 << bits) - 1, exponent_bias(dtype) + 1 - bits);
}

/* The bits of the nearest one, ties to even: rounded once, unlike by float. */
static uint16_t narrow_bits(ndr_dtype dtype, double value)
{
    const int fraction = fraction_bits(dtype), least = 2 - exponent_bias(dtype),
              infinite = 0x7fff >> fraction << fraction;
    const int sign = signbit(value) ? 0x8000 : 0;
    int exponent;
    if (isnan(value)) return (uint16_t)(sign | infinite | 1 << (fraction - 1));
    if (value == 0) return (uint16_t)sign;
    if (fabs(value) >= narrow_limit(dtype)) return (uint16_t)(sign | infinite);
    frexp(value, &exponent);
    if (exponent < least) exponent = least;
    const int units = (int)rint(ldexp(fabs(value), fraction + 1 - exponent)); /* may carry into the exponent */
    return (uint16_t)(sign | (((exponent - least) << fraction) + units));
}

/* ---- numbers ---- */

/* The value of an integer; of an unsigned one in two's complement. */
static int64_t integer_at(ndr_dtype dtype, const void *from)
{
    int64_t whole = 0;
    const size_t size = ndr_dtype_size(dtype);
    memcpy(&whole, from, size); /* little-endian, as all that OpenCL runs on */
    const unsigned unused = (unsigned)(64 - 8 * size);
    return is_signed(dtype) ? (int64_t)((uint64_t)whole << unused) >> unused : whole;
}

double number_at(ndr_dtype dtype, const void *from)
{
    union {
        uint16_t narrow;
        float f;
        double d;
    } v;
    if (!is_float(dtype)) {
        const int64_t whole = integer_at(dtype, from);
        return dtype == NDR_DTYPE_U64 ? (double)(uint64_t)whole : (double)whole;
    }
    memcpy(&v, from, ndr_dtype_size(dtype));
    return dtype == NDR_DTYPE_F16    ? (double)ndr_f16_to_float(v.narrow)
           : dtype == NDR_DTYPE_BF16 ? (double)ndr_bf16_to_float(v.narrow)
           : dtype == NDR_DTYPE_F32  ? (double)v.f
                                     : v.d;
}

static void store_integer(ndr_dtype dtype, uint64_t value, void *to) { memcpy(to, &value, ndr_dtype_size(dtype)); }

/* Of an integer's dtype the value must fit. */
void store_double(ndr_dtype dtype, double value, void *to)
{
    const uint16_t narrow = is_narrow(dtype) ? narrow_bits(dtype, value) : 0;
    const float single = (float)value;
    if (is_narrow(dtype)) memcpy(to, &narrow, sizeof narrow);
    else if (dtype == NDR_DTYPE_F32) memcpy(to, &single, sizeof single);
    else if (dtype == NDR_DTYPE_F64) memcpy(to, &value, sizeof value);
    else store_integer(dtype, value < 0 ? (uint64_t)(int64_t)value : (uint64_t)value, to);
}

const char *print_number(char text[40], ndr_dtype dtype, const void *from)
{
    if (!is_float(dtype)) {
        snprintf(text, 40, dtype == NDR_DTYPE_U64 ? "%" PRIu64 : "%" PRId64, integer_at(dtype, from));
        return text;
    }
    const double value = number_at(dtype, from);
    double again;
    for (int digits = 1; digits <= 17; ++digits) {
        snprintf(text, 40, "%.*g", digits, value);
        store_double(dtype, strtod(text, NULL), &again);
        if (isnan(value) || memcmp(&again, from, ndr_dtype_size(dtype)) == 0) break;
    }
    if (strchr(text, 'e') && fabs(value) >= 1e-4 && fabs(value) < 1e6) snprintf(text, 40, "%.6g", value);
    return text;
}

/* A number's text with a 0 behind it; "" if it is too long for a number. */
typedef struct number_text {
    char chars[80];
} number_text;

static number_text copy_number(span text)
{
    number_text copy = { "" };
    text = trim(text);
    if (text.length < sizeof copy.chars && !memchr(text.at ? text.at : "", '\0', text.length))
        memcpy(copy.chars, text.at ? text.at : "", text.length);
    return copy;
}

bool read_double(span text, double *value)
{
    const number_text copy = copy_number(text);
    char *end;
    const double read = strtod(copy.chars, &end);
    if (end == copy.chars || *end) return false;
    *value = read;
    return true;
}

static const char *const limits[] = {
    [NDR_DTYPE_I8] = "does not fit i8, which holds -128 to 127; write a number in that range",
    [NDR_DTYPE_U8] = "does not fit u8, which holds 0 to 255; write a number in that range",
    [NDR_DTYPE_I16] = "does not fit i16, which holds -32768 to 32767; write a number in that range",
    [NDR_DTYPE_U16] = "does not fit u16, which holds 0 to 65535; write a number in that range",
    [NDR_DTYPE_I32] = "does not fit i32, which holds -2147483648 to 2147483647; write a number in that range",
    [NDR_DTYPE_U32] = "does not fit u32, which holds 0 to 4294967295; write a number in that range",
    [NDR_DTYPE_I64] =
        "does not fit i64, which holds -9223372036854775808 to 9223372036854775807; write a number in that range",
    [NDR_DTYPE_U64] = "does not fit u64, which holds 0 to 18446744073709551615; write a number in that range",
    [NDR_DTYPE_F16] = "does not fit f16, which holds up to 65504; write a smaller number, or inf",
    [NDR_DTYPE_BF16] = "does not fit bf16, which holds up to 3.39e38; write a smaller number, or inf",
    [NDR_DTYPE_F32] = "does not fit f32, which holds up to 3.4e38; write a smaller number, or inf",
    [NDR_DTYPE_F64] = "does not fit f64, which holds up to 1.8e308; write a smaller number, or inf",
};

static const char *read_real(span text, ndr_dtype dtype, void *to)
{
    const number_text copy = copy_number(text);
    double value;
    if (!read_double(text, &value)) return "is not a number; write one such as 2, 1e-3 or inf";
    const float single = strtof(copy.chars, NULL); /* rounded once */
    const bool is_finite = !strpbrk(copy.chars, "iInN") || strpbrk(copy.chars, "xX");
    const bool is_large = is_narrow(dtype)         ? fabs(value) >= narrow_limit(dtype)
                          : dtype == NDR_DTYPE_F32 ? isinf(single)
                                                   : isinf(value);
    if (is_finite && is_large) return limits[dtype];
    if (dtype == NDR_DTYPE_F32) memcpy(to, &single, sizeof single);
    else store_double(dtype, value, to);
    return NULL;
}

static const char *read_integer(span text, ndr_dtype dtype, void *to)
{
    const number_text copy = copy_number(text);
    const bool is_negative = copy.chars[0] == '-';
    const char *digits = copy.chars + (is_negative || copy.chars[0] == '+');
    const bool is_hex = digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X');
    const size_t bits = 8 * ndr_dtype_size(dtype);
    const uint64_t highest = UINT64_MAX >> (64 - bits + is_signed(dtype));
    char *end;
    errno = 0;
    const uint64_t size = strtoull(digits, &end, is_hex ? 16 : 10);
    if (!isxdigit((unsigned char)digits[0]) || *end) return "is not an integer; write one such as 1024 or 0x400";
    const uint64_t most = !is_negative ? highest : is_signed(dtype) ? highest + 1 : 0;
    if (errno == ERANGE || size > most) return limits[dtype];
    store_integer(dtype, is_negative ? 0 - size : size, to);
    return NULL;
}

const char *read_number(span text, ndr_dtype dtype, void *to)
{
    return is_float(dtype) ? read_real(text, dtype, to) : read_integer(text, dtype, to);
}

/* ---- parsing an argument ---- */

static size_t count_name(const char *text)
{
    size_t n = 0;
    if (isdigit((unsigned char)text[0])) return 0;
    while (isalnum((unsigned char)text[n]) || text[n] == '_') ++n;
    return n;
}

/* `most` fields may be behind the word, at least `least`. */
static const struct {
    const char *word;
    source source;
    size_t least, most;
    const char *form;
} words[] = { { "zeros", ZEROS, 0, 0, "zeros" },
              { "iota", IOTA, 0, 2, "iota[:START[:STEP]]" },
              { "random", RANDOM, 0, 2, "random[:SEED[:LOW..HIGH]]" },
              { "fill", FILL, 1, 1, "fill:NUMBER" },
              { "local", LOCAL, 0, 0, "local:TYPE[COUNT]" },
              { "null", NOTHING, 0, 0, "null" },
              { "sampler", SAMPLER, 0, 3, "sampler[:linear][:normalized][:repeat]" } };

static size_t find_word(span text)
{
    size_t i = 0;
    while (i < COUNT_OF(words) && !is_equal(text, words[i].word)) ++i;
    return i;
}

static bool is_number_word(span text)
{
    double value;
    return read_double(text, &value);
}

/* "f32[1024]", "f32", "[1024]" or "f32[]". */
static int parse_type(argument *a, span text)
{
    span rest;
    const span name = cut(text, "[", &rest);
    if (name.length && !read_element(name, &a->type))
        return refuse_argument(a, "\"%.*s\" is not a type; " TYPES_ARE, shown(name), name.at);
    if (!rest.at) return DONE;
    a->has_shape = true;
    const bool is_closed = rest.length > 0 && rest.at[rest.length - 1] == ']';
    const span sizes = { rest.at, rest.length - is_closed };
    if (is_closed && sizes.length == 0) return DONE;
    if (!is_closed || !read_sizes(sizes, MAX_DIMS, &a->shape))
        return refuse_argument(a, "\"[%.*s\" is not a number of elements; write it as [1024] or [768x1024]",
                               shown(rest), rest.at);
    if (count_elements(&a->shape) > SIZE_MAX / 128)
        return refuse_argument(a, "[%.*s are more elements than memory can hold; write fewer", shown(rest), rest.at);
    return DONE;
}

/* @PATH or @PATH:TYPE. A path may contain colons if a type is behind it. */
static int parse_path(argument *a, span text)
{
    size_t n = text.length;
    while (n > 0 && text.at[n - 1] != ':' && text.at[n - 1] != '/') --n;
    const bool has_type = n > 0 && text.at[n - 1] == ':';
    const span type = { text.at + n, text.length - n }, path = { text.at, has_type ? n - 1 : text.length };
    if (path.length == 0) return refuse_argument(a, "no file is named behind @; write @data.bin:f32");
    a->source = FROM;
    a->path = strndup(path.at, path.length);
    if (!a->path) return fail_with("there is no memory for a path");
    return has_type ? parse_type(a, type) : DONE;
}

static bool starts_type(span field)
{
    return field.length > 0 && (field.at[0] == '[' || (isalpha((unsigned char)field.at[0]) && !is_number_word(field)));
}

static int parse_fields(argument *a, span text)
{
    span rest = text;
    while (rest.at && a->field_count < MAX_FIELDS) a->fields[a->field_count++] = cut(rest, ":", &rest);
    if (rest.at) return refuse_argument(a, "there are too many colons; write [NAME=]VALUE[:TYPE]");
    const span last = a->fields[a->field_count - 1];
    if (a->field_count > 1 && starts_type(last) && !is_equal(a->fields[0], "sampler")) {
        --a->field_count;
        return parse_type(a, last);
    }
    return DONE;
}

static int parse_word(argument *a)
{
    const size_t found = find_word(a->fields[0]), given = a->field_count - 1;
    const span first = a->fields[0];
    if (found < COUNT_OF(words)) {
        a->source = words[found].source;
        if (given >= words[found].least && given <= words[found].most) return DONE;
        return refuse_argument(a, "\"%s\" is written as %s, and a type may follow it, as in :f32[1024]",
                               words[found].word, words[found].form);
    }
    a->source = first.length || a->field_count > 1 ? NUMBERS : ZEROS;
    if (given > 0)
        return refuse_argument(a, "\"%.*s\" is not a type; " TYPES_ARE, shown(a->fields[1]), a->fields[1].at);
    double value;
    span others;
    span one = trim(first);
    if (one.length && one.at[0] == '(') ++one.at, --one.length;
    const span number = cut(one, ",)", &others);
    if (a->source == NUMBERS && memchr(first.at, '[', first.length))
        return refuse_argument(a, "a number of elements is written behind a colon, as in x:[1024] or x=iota:f32[1024]");
    if (a->source == NUMBERS && !read_double(number, &value))
        return refuse_argument(
            a,
            "\"%.*s\" is not a value; write a number, numbers with commas, @FILE, iota, random:SEED, "
            "fill:NUMBER, "
            "zeros, local, sampler or null",
            shown(first), first.at);
    return DONE;
}

/* The name: "in=...", or "out" and "out:f32[8]" unless that is a value. */
static int parse_name(argument *a, span *value)
{
    const size_t n = count_name(a->text);
    const span word = { a->text, n };
    const bool is_set = a->text[n] == '=', is_alone = a->text[n] == '\0' || a->text[n] == ':';
    *value = (span){ a->text, strlen(a->text) };
    if (n == 0 || !(is_set || (is_alone && find_word(word) == COUNT_OF(words) && !is_number_word(word)))) return DONE;
    if (n >= sizeof a->name)
        return refuse_argument(a, "a parameter's name has at most %zu letters", sizeof a->name - 1);
    memcpy(a->name, a->text, n);
    *value = (span){ a->text + n + is_set, strlen(a->text) - n - is_set };
    a->is_empty = value->length == 0;
    if (a->is_empty && is_set) return refuse_argument(a, "nothing is behind the =; write a value, or leave out the =");
    return DONE;
}

int parse_argument(const char *text, argument *a)
{
    span value;
    *a = (argument){ .text = text };
    const int code = parse_name(a, &value);
    if (code != DONE) return code;
    if (value.length && value.at[0] == '@') return parse_path(a, (span){ value.at + 1, value.length - 1 });
    const int fields = parse_fields(a, value);
    return fields != DONE ? fields : parse_word(a);
}

/* ---- lists ---- */

/* Without the parentheses. */
static span skip_parentheses(span list)
{
    list = trim(list);
    if (list.length >= 2 && list.at[0] == '(' && list.at[list.length - 1] == ')') ++list.at, list.length -= 2;
    return list;
}

size_t count_numbers(span list)
{
    size_t count = 1;
    for (size_t i = 0; i < list.length; ++i) count += list.at[i] == ',';
    return count;
}

/* ---- filling ---- */

int make_zeros(contents *c)
{
    const size_t bytes = element_bytes(c->type);
    c->count = count_elements(&c->shape);
    if (c->count > SIZE_MAX / bytes) return fail_with("there is no memory for %zu elements", c->count);
    c->bytes = calloc(c->count ? c->count : 1, bytes);
    return c->bytes ? DONE : fail_with("there is no memory for %zu bytes", c->count * bytes);
}

/* The place of number `k` of memory, whose vectors of 3 have a gap. */
static void *place(const contents *c, size_t k)
{
    const size_t at = k / c->type.lanes * stored_lanes(c->type) + k % c->type.lanes;
    return c->bytes + at * ndr_dtype_size(c->type.dtype);
}

/* Numbers in the order in which they are written; with `is_repeated` those of one element again and again. */
static int fill_numbers(const argument *a, span list, bool is_repeated, contents *c)
{
    const size_t all = c->count * c->type.lanes, given = count_numbers(list);
    const size_t period = is_repeated ? c->type.lanes : all;
    char type[16];
    if (given != period && !(given == 1 && period == c->type.lanes))
        return refuse_argument(a, "%zu numbers are written, but %zu of %s %s %zu; write as many", given,
                               is_repeated ? (size_t)1 : c->count, print_element(type, c->type),
                               is_repeated || c->count == 1 ? "takes" : "take", period);
    span rest = skip_parentheses(list), number = { NULL, 0 };
    for (size_t k = 0; k < all; ++k) {
        if (rest.at) number = cut(rest, ",", &rest);
        const bool is_again = k >= given;
        const char *const why = is_again ? NULL : read_number(number, c->type.dtype, place(c, k));
        if (why) return refuse_argument(a, "\"%.*s\" %s", shown(number), number.at, why);
        if (is_again) memcpy(place(c, k), place(c, k - given), ndr_dtype_size(c->type.dtype));
    }
    return DONE;
}

static int fill_iota(const argument *a, contents *c)
{
    const bool is_real = is_float(c->type.dtype);
    const ndr_dtype wide = is_real ? NDR_DTYPE_F64 : NDR_DTYPE_I64;
    const span texts[2] = { a->fields[1], a->fields[2] };
    union {
        double real;
        int64_t whole;
    } given[2];
    for (size_t i = 0; i < 2; ++i) {
        const bool is_written = a->field_count > i + 1;
        const char *why = read_number(is_written ? texts[i] : (span){ i ? "1" : "0", 1 }, wide, &given[i]);
        if (why) return refuse_argument(a, "\"%.*s\" %s", shown(texts[i]), texts[i].at, why);
    }
    for (size_t k = 0; k < c->count * c->type.lanes; ++k) {
        if (is_real) store_double(c->type.dtype, given[0].real + (double)k * given[1].real, place(c, k));
        else store_integer(c->type.dtype, (uint64_t)given[0].whole + k * (uint64_t)given[1].whole, place(c, k));
    }
    return DONE;
}

/* SplitMix64: the same numbers on every machine. */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* The ends of LOW..HIGH, each a number of the memory's type. */
static int read_limits(const argument *a, ndr_dtype dtype, uint64_t ends[2])
{
    const span text = a->fields[2];
    size_t n = 0;
    while (n + 1 < text.length && !(text.at[n] == '.' && text.at[n + 1] == '.')) ++n;
    if (n + 1 >= text.length)
        return refuse_argument(a, "\"%.*s\" has no limits; write them as random:SEED:LOW..HIGH", shown(text), text.at);
    const span parts[2] = { { text.at, n }, { text.at + n + 2, text.length - n - 2 } };
    for (size_t i = 0; i < 2; ++i) {
        const char *why = read_number(parts[i], dtype, &ends[i]);
        if (why) return refuse_argument(a, "\"%.*s\" %s", shown(parts[i]), parts[i].at, why);
    }
    const double low = number_at(dtype, &ends[0]), high = number_at(dtype, &ends[1]);
    if (!isfinite(low) || !isfinite(high) || low > high)
        return refuse_argument(a,
                               "the limits %.*s are no interval; write LOW..HIGH, two finite numbers, the smaller "
                               "one first",
                               shown(text), text.at);
    return DONE;
}

/* Floats of 0 to 1 (without 1) and integers of all values, unless the argument has limits. */
static int fill_random(const argument *a, contents *c)
{
    const ndr_dtype dtype = c->type.dtype;
    const bool has_limits = a->field_count > 2, is_real = is_float(dtype);
    uint64_t state = 0, ends[2] = { 0, 0 };
    if (a->field_count > 1) {
        const char *why = read_number(a->fields[1], NDR_DTYPE_U64, &state);
        if (why) return refuse_argument(a, "the seed \"%.*s\" %s", shown(a->fields[1]), a->fields[1].at, why);
    }
    const int code = has_limits ? read_limits(a, dtype, ends) : DONE;
    if (code != DONE) return code;
    const double low = has_limits && is_real ? number_at(dtype, &ends[0]) : 0;
    const double high = has_limits && is_real ? number_at(dtype, &ends[1]) : 1;
    const uint64_t first = is_real ? 0 : (uint64_t)integer_at(dtype, &ends[0]);
    const uint64_t count = has_limits && !is_real ? (uint64_t)integer_at(dtype, &ends[1]) - first + 1 : 0;
    const int bits = is_narrow(dtype) ? fraction_bits(dtype) + 1 : dtype == NDR_DTYPE_F32 ? 24 : 53;
    for (size_t k = 0; k < c->count * c->type.lanes; ++k) {
        const uint64_t any = next_random(&state);
        const double part = ldexp((double)(any >> (64 - bits)), -bits);
        if (is_real) store_double(dtype, (1 - part) * low + part * high, place(c, k));
        else store_integer(dtype, first + (count ? any % count : any), place(c, k));
    }
    return DONE;
}

int fill_contents(const argument *a, contents *c)
{
    switch (a->source) {
    case NUMBERS: return fill_numbers(a, a->fields[0], false, c);
    case FILL: return fill_numbers(a, a->fields[1], true, c);
    case IOTA: return fill_iota(a, c);
    case RANDOM: return fill_random(a, c);
    default: return DONE;
    }
}
