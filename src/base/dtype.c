/* dtype.c - the element types: their names for users, OpenCL C and bundled kernels, and their sizes. */
#include "base/base.h"

const ndr_dtype_info *ndr_dtype_describe(ndr_dtype dtype)
{
    static const ndr_dtype_info table[] = {
        [NDR_DTYPE_I8] = { "i8", "char", "I8", 1, false, true },
        [NDR_DTYPE_U8] = { "u8", "uchar", "U8", 1, false, false },
        [NDR_DTYPE_I16] = { "i16", "short", "I16", 2, false, true },
        [NDR_DTYPE_U16] = { "u16", "ushort", "U16", 2, false, false },
        [NDR_DTYPE_I32] = { "i32", "int", "I32", 4, false, true },
        [NDR_DTYPE_U32] = { "u32", "uint", "U32", 4, false, false },
        [NDR_DTYPE_I64] = { "i64", "long", "I64", 8, false, true },
        [NDR_DTYPE_U64] = { "u64", "ulong", "U64", 8, false, false },
        [NDR_DTYPE_F32] = { "f32", "float", "F32", 4, true, true },
        [NDR_DTYPE_F64] = { "f64", "double", "F64", 8, true, true },
    };
    const size_t index = (size_t)dtype;
    return index < sizeof table / sizeof table[0] && table[index].name ? &table[index] : NULL;
}

const char *ndr_dtype_name(ndr_dtype dtype)
{
    const ndr_dtype_info *info = ndr_dtype_describe(dtype);
    return info ? info->name : "?";
}

size_t ndr_dtype_size(ndr_dtype dtype)
{
    const ndr_dtype_info *info = ndr_dtype_describe(dtype);
    return info ? info->size_bytes : 0;
}
