/* types.c - the names of OpenCL C's types. Pure. */
#include "program/types.h"

#include <string.h>

static const struct {
    const char *name;
    ndr_dtype dtype;
} numbers[] = {
    { "char", NDR_DTYPE_I8 },           { "uchar", NDR_DTYPE_U8 },   { "unsigned char", NDR_DTYPE_U8 },
    { "short", NDR_DTYPE_I16 },         { "ushort", NDR_DTYPE_U16 }, { "unsigned short", NDR_DTYPE_U16 },
    { "int", NDR_DTYPE_I32 },           { "uint", NDR_DTYPE_U32 },   { "unsigned int", NDR_DTYPE_U32 },
    { "unsigned", NDR_DTYPE_U32 },      { "long", NDR_DTYPE_I64 },   { "ulong", NDR_DTYPE_U64 },
    { "unsigned long", NDR_DTYPE_U64 }, { "float", NDR_DTYPE_F32 },  { "double", NDR_DTYPE_F64 },
    { "half", NDR_DTYPE_F16 },
};

const ndr_lanes ndr_lane_counts[NDR_LANE_COUNTS] = { { 1, "" },  { 2, "2" }, { 3, "3" },
                                                     { 4, "4" }, { 8, "8" }, { 16, "16" } };

ndr_builtin ndr_builtin_named(const char *type_name)
{
    for (size_t i = 0; i < NDR_COUNT_OF(numbers); ++i) {
        const size_t length = strlen(numbers[i].name);
        if (strncmp(type_name, numbers[i].name, length) != 0) continue;
        const bool has_vectors = strcmp(numbers[i].name, "unsigned") != 0; /* unsigned4 is not a type */
        for (size_t n = 0; n < (has_vectors ? NDR_LANE_COUNTS : 1); ++n)
            if (strcmp(type_name + length, ndr_lane_counts[n].name) == 0)
                return (ndr_builtin){ numbers[i].dtype, ndr_lane_counts[n].count };
    }
    return (ndr_builtin){ NDR_DTYPE_NONE, 0 };
}

/* The target may be an atomic type: "unsigned int" for "unsigned int*", "int" for "atomic_int *". */
ndr_builtin ndr_builtin_of_pointee(const char *type_name)
{
    char name[32];
    if (strncmp(type_name, "atomic_", 7) == 0) type_name += 7;
    const char *star = strrchr(type_name, '*');
    size_t length = star && !star[1] ? (size_t)(star - type_name) : 0;
    while (length > 0 && type_name[length - 1] == ' ') --length;
    if (length >= sizeof name) length = 0;
    memcpy(name, type_name, length);
    name[length] = '\0';
    return ndr_builtin_named(name);
}

size_t ndr_builtin_bytes(ndr_builtin type)
{
    const unsigned kept = type.lanes == 3 ? 4 : type.lanes; /* a vector of three takes the space of four */
    return kept * ndr_dtype_size(type.dtype);
}

bool ndr_names_equal(const char *a, const char *b, const char *ignored)
{
    for (;; ++a, ++b) {
        a += strspn(a, ignored);
        b += strspn(b, ignored);
        if (*a != *b) return false;
        if (!*a) return true;
    }
}

bool ndr_points_to_void(const char *type_name) { return ndr_names_equal(type_name, "void*", " "); }

bool ndr_is_opaque(const char *type_name)
{
    const char *space = strrchr(type_name, ' '), *name = space ? space + 1 : type_name; /* "read_only image2d_t" */
    const bool is_image = strncmp(name, "image", 5) == 0 && name[5] >= '1' && name[5] <= '3' && name[6] == 'd';
    return (is_image && strstr(name, "_t")) || strcmp(name, "sampler_t") == 0 || strcmp(name, "event_t") == 0;
}
