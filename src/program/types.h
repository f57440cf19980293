/* types.h - the types of kernels' parameters. */
#ifndef NDR_TYPES_H
#define NDR_TYPES_H

#include "base/base.h"

/* A number or a vector of OpenCL C: "uint" is one lane of u32, "float3" three of f32. 0 lanes: neither. */
typedef struct ndr_builtin {
    ndr_dtype dtype;
    unsigned lanes;
} ndr_builtin;

/* Numbers of lanes, and the suffix of a vector's name. */
typedef struct ndr_lanes {
    unsigned count;
    const char *name;
} ndr_lanes;
enum { NDR_LANE_COUNTS = 6 };
extern const ndr_lanes ndr_lane_counts[NDR_LANE_COUNTS];

/* The number or vector type called `type_name` in OpenCL C; the same for the target of a pointer type; its bytes, 0 for
 * neither. */
ndr_builtin ndr_builtin_named(const char *type_name);
ndr_builtin ndr_builtin_of_pointee(const char *type_name);
size_t ndr_builtin_bytes(ndr_builtin type);

/* Whether two names are equal but for characters that are in `ignored`. */
bool ndr_names_equal(const char *a, const char *b, const char *ignored);

/* Whether that is the name of a pointer to void; of an image, a sampler or an event. */
bool ndr_points_to_void(const char *type_name);
bool ndr_is_opaque(const char *type_name);

#endif
