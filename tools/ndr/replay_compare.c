/* replay_compare.c - compares buffers after a run with what was saved, by the elements of the kernel's parameter. */
#include "replay.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SHOWN = 10 };

/* The element of a pointer's type, "const float4*" or "float*"; U8 if it is not a number. */
static ndr_dtype element_of(const char *type)
{
    static const struct {
        const char *name;
        ndr_dtype dtype;
    } types[] = { { "char", NDR_DTYPE_I8 },    { "uchar", NDR_DTYPE_U8 },  { "short", NDR_DTYPE_I16 },
                  { "ushort", NDR_DTYPE_U16 }, { "int", NDR_DTYPE_I32 },   { "uint", NDR_DTYPE_U32 },
                  { "long", NDR_DTYPE_I64 },   { "ulong", NDR_DTYPE_U64 }, { "half", NDR_DTYPE_F16 },
                  { "float", NDR_DTYPE_F32 },  { "double", NDR_DTYPE_F64 } };
    const size_t length = type ? strcspn(type, "0123456789*") : 0;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; ++i)
        if (strlen(types[i].name) == length && strncmp(type, types[i].name, length) == 0) return types[i].dtype;
    return NDR_DTYPE_U8;
}

static bool read_real(ndr_dtype dtype, const unsigned char *at, double *value)
{
    float single;
    if (dtype == NDR_DTYPE_F64) memcpy(value, at, sizeof *value);
    else if (dtype == NDR_DTYPE_F32) memcpy(&single, at, sizeof single), *value = (double)single;
    else return false;
    return true;
}

/* Two NaN are equal, and so are numbers within the tolerance. */
static bool are_equal(ndr_dtype dtype, const unsigned char *a, const unsigned char *b, double tolerance)
{
    double x, y;
    if (memcmp(a, b, ndr_dtype_size(dtype)) == 0) return true;
    if (!read_real(dtype, a, &x) || !read_real(dtype, b, &y)) return false;
    if (isnan(x) || isnan(y)) return isnan(x) && isnan(y);
    return x == y || (isfinite(x) && isfinite(y) && fabs(x - y) <= tolerance * fmax(fabs(x), fabs(y)));
}

/* "1.5", "-3" or, of a half, its bits. */
static json_t *print_element(ndr_dtype dtype, const unsigned char *at)
{
    char text[40];
    double real;
    int64_t i = 0;
    uint64_t u = 0;
    const size_t bytes = ndr_dtype_size(dtype);
    const bool is_signed =
        dtype == NDR_DTYPE_I8 || dtype == NDR_DTYPE_I16 || dtype == NDR_DTYPE_I32 || dtype == NDR_DTYPE_I64;
    memcpy(&u, at, bytes);
    i = (int64_t)(u << (64 - 8 * bytes)) >> (64 - 8 * bytes);
    if (read_real(dtype, at, &real)) snprintf(text, sizeof text, "%.*g", dtype == NDR_DTYPE_F32 ? 9 : 17, real);
    else if (dtype == NDR_DTYPE_F16) snprintf(text, sizeof text, "0x%04" PRIx64, u);
    else if (is_signed) snprintf(text, sizeof text, "%" PRId64, i);
    else snprintf(text, sizeof text, "%" PRIu64, u);
    return json_string(text);
}

json_t *compare_buffer(const saved_launch *l, size_t buffer, const unsigned char *now, double tolerance)
{
    const saved_buffer *const b = &l->buffers[buffer];
    const ndr_dtype found = element_of(b->type);
    const ndr_dtype dtype = b->size_bytes % ndr_dtype_size(found) == 0 ? found : NDR_DTYPE_U8;
    const size_t bytes = ndr_dtype_size(dtype), count = b->size_bytes / bytes;
    size_t different = 0;
    json_t *const first = json_array();
    for (size_t i = 0; i < count; ++i) {
        const unsigned char *const here = now + i * bytes, *const saved = b->after + i * bytes;
        if (are_equal(dtype, here, saved, tolerance)) continue;
        if (l->is_shrunk && b->before && memcmp(here, b->before + i * bytes, bytes) == 0) continue; /* not computed */
        if (++different <= MAX_SHOWN)
            json_array_append_new(first, json_pack("{sI so so}", "element", (json_int_t)i, "here",
                                                   print_element(dtype, here), "saved", print_element(dtype, saved)));
    }
    if (different == 0) return json_decref(first), NULL;
    return json_pack("{sI ss ss sI sI so}", "buffer", (json_int_t)buffer, "name", b->name ? b->name : "", "dtype",
                     ndr_dtype_name(dtype), "elements", (json_int_t)count, "different", (json_int_t)different, "first",
                     first);
}
