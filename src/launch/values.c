/* values.c - converts the values of arguments, numbers, vectors, structs and local memory, to the kernel's types. */
#include "launch/args.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static bool is_integer(const ndr_arg *arg) { return arg->kind == NDR_ARG_SIGNED || arg->kind == NDR_ARG_UNSIGNED; }
static bool is_real(const ndr_arg *arg)
{
    return arg->kind == NDR_ARG_FLOAT || arg->kind == NDR_ARG_DOUBLE || arg->kind == NDR_ARG_REAL;
}
static double real_of(const ndr_arg *arg) { return arg->kind == NDR_ARG_FLOAT ? (double)arg->as.f : arg->as.d; }

/* ---- types by their names ---- */

static const char *skip_prefix(const char *prefix, const char *name)
{
    const size_t length = strlen(prefix);
    return strncmp(name, prefix, length) == 0 ? name + length : name;
}

/* The name without "struct " and "cl_": as the type is called in kernels. */
static const char *unprefixed_name(const char *host_name)
{
    return skip_prefix("cl_", skip_prefix("struct ", host_name));
}

/* On the host cl_float3 is another name for cl_float4, so both are accepted. */
static bool is_same_builtin(ndr_builtin a, ndr_builtin b)
{
    return a.dtype == b.dtype && ndr_builtin_bytes(a) == ndr_builtin_bytes(b);
}

/* A bf16 is in kernels an ushort. */
static ndr_dtype stored_dtype(ndr_dtype dtype) { return dtype == NDR_DTYPE_BF16 ? NDR_DTYPE_U16 : dtype; }

/* Whether the host's type name fits the parameter's; NULL always fits. A built-in type must be the same. A name that
 * the host defined fits every built-in type, because the size is compared, too. A struct must have the same name on
 * both sides, where "float (*)[4]", "__local float[4]*" and "float[4]" are equal, and so are a type and its pointer. */
static bool is_named_like(const ndr_param *param, const char *given)
{
    if (!given) return true;
    const ndr_builtin type = ndr_builtin_named(unprefixed_name(given));
    if (param->type.lanes > 0) return type.lanes == 0 || is_same_builtin(type, param->type);
    const char *wanted = skip_prefix("struct ", skip_prefix("__local ", param->type_name));
    return ndr_names_equal(wanted, unprefixed_name(given), " *()");
}

/* ---- local memory ---- */

/* The name of an element in sentences. */
static const char *element_name(const ndr_arg *arg)
{
    const ndr_dtype_info *number = ndr_dtype_describe(arg->dtype);
    return number ? number->cl_name : arg->element_name ? arg->element_name : "type";
}

static bool is_element_of(const ndr_param *param, const ndr_arg *arg)
{
    const char *const name = arg->element_name ? arg->element_name : arg->dtype ? element_name(arg) : NULL;
    if (!arg->dtype || param->type.lanes == 0) return is_named_like(param, name);
    const bool is_half = strcmp(unprefixed_name(name), "half") == 0; /* on the host another name for uint16_t */
    return is_same_builtin((ndr_builtin){ is_half ? NDR_DTYPE_F16 : stored_dtype(arg->dtype), 1 }, param->type);
}

/* The element type of an array such as "cl_float[4]", if it is built in. */
static ndr_builtin find_array_element(const ndr_arg *arg)
{
    char name[32] = "";
    const char *type = arg->element_name && !arg->dtype ? unprefixed_name(arg->element_name) : "";
    const size_t length = strcspn(type, " [");
    if (length < strlen(type) && length < sizeof name) memcpy(name, type, length);
    return ndr_builtin_named(name);
}

struct aligned {
    char first;
    int64_t second;
};

/* Behind "declare the same members on both sides": on i386 a C compiler aligns members of 64 bits to 4 bytes. */
static const char *align_hint(size_t on_device, size_t given)
{
    return offsetof(struct aligned, second) < 8 && given < on_device ? ", those of 64 bits with _Alignas(8)" : "";
}

/* An array also fits a pointer to its elements. */
static ndr_status check_element(const ndr_arg_check *p)
{
    const ndr_arg *arg = p->arg;
    const ndr_builtin element = find_array_element(arg), type = p->param->type;
    const bool is_flat = element.lanes > 0 && type.lanes > 0;
    const size_t wanted = p->param->size_bytes;
    if (p->param->kind == NDR_PARAM_ANY || ndr_points_to_void(p->param->type_name)) return NDR_OK;
    NDR_REQUIRE_ARG(p, is_flat ? element.dtype == type.dtype : is_element_of(p->param, arg),
                    "points to another type than the %s given to ndr_local; %s", element_name(arg),
                    type.lanes ? "give ndr_local the kernel's type" : "name the same type on both sides");
    NDR_REQUIRE_ARG(p, !wanted || (is_flat ? arg->size_bytes % wanted == 0 : arg->size_bytes == wanted),
                    "points to elements of %zu bytes on the device, but those of the %s given to ndr_local have %zu; "
                    "declare the same members on both sides%s",
                    wanted, element_name(arg), arg->size_bytes, align_hint(wanted, arg->size_bytes));
    return NDR_OK;
}

ndr_status ndr_convert_local(const ndr_arg_check *p, ndr_bound *out)
{
    const ndr_arg *arg = p->arg;
    size_t bytes = arg->size_bytes;
    NDR_REQUIRE_ARG(p, p->kernel->form != NDR_FORM_RANGE,
                    "is local memory, which belongs to a group, and a range has none: write NDR_ND_RANGE");
    if (arg->kind != NDR_ARG_LOCAL) return ndr_arg_refuse_kind(p, "local memory (ndr_local)");
    NDR_TRY(check_element(p));
    for (unsigned d = 0; d < 3; ++d)
        NDR_REQUIRE_ARG_AS(NDR_LIMIT_EXCEEDED, p, ndr_mul_fits(bytes, arg->as.extent[d], &bytes),
                           "asks for local memory of %s elements, which exceeds the address space; ask for fewer",
                           ndr_sizes_print(3, arg->as.extent).chars);
    NDR_REQUIRE_ARG(p, bytes > 0, "asks for no local memory; ask for at least one element");
    out->size_bytes = bytes;
    out->value = NULL;
    return NDR_OK;
}

/* ---- numbers ---- */

/* Whether the integer fits `bits`, signed or unsigned. */
static bool fits_bits(const ndr_arg *arg, unsigned bits, bool is_signed)
{
    const uint64_t highest = is_signed ? UINT64_MAX >> (65 - bits) : UINT64_MAX >> (64 - bits);
    if (arg->kind == NDR_ARG_UNSIGNED) return arg->as.u <= highest;
    if (arg->as.i >= 0) return (uint64_t)arg->as.i <= highest;
    return is_signed && arg->as.i >= -(int64_t)highest - 1;
}

typedef struct number_text {
    char chars[80];
} number_text;

static number_text print_number(const ndr_arg *arg)
{
    number_text out;
    if (is_real(arg)) snprintf(out.chars, sizeof out.chars, "%g", real_of(arg));
    else snprintf(out.chars, sizeof out.chars, arg->kind == NDR_ARG_SIGNED ? "%" PRId64 : "%" PRIu64, arg->as.u);
    return out;
}

/* "int holds -2147483648 to 2147483647" */
static number_text print_limits(const ndr_dtype_info *type)
{
    const uint64_t highest = UINT64_MAX >> (64 - type->size_bytes * 8 + type->is_signed);
    const int64_t lowest = type->is_signed ? -(int64_t)highest - 1 : 0;
    number_text out;
    snprintf(out.chars, sizeof out.chars, "%s holds %" PRId64 " to %" PRIu64, type->cl_name, lowest, highest);
    return out;
}

/* If the value fits the same width with the other signedness, suggest a cast. */
static ndr_status check_integer(const ndr_arg_check *p, const ndr_dtype_info *type)
{
    const unsigned bits = (unsigned)type->size_bytes * 8;
    const bool is_large = p->arg->kind == NDR_ARG_UNSIGNED && p->arg->as.u > INT64_MAX;
    if (fits_bits(p->arg, bits, type->is_signed)) return NDR_OK;
    NDR_REQUIRE_ARG(p, !fits_bits(p->arg, bits, !type->is_signed),
                    "cannot hold %s, because %s; if the bit pattern is meant, cast it: (%sint%u_t)value",
                    print_number(p->arg).chars, print_limits(type).chars, type->is_signed ? "" : "u", bits);
    return ndr_arg_refuse(p, NDR_BAD_KERNEL_ARGUMENT,
                          "cannot hold %s, because %s; declare the parameter %s in the kernel, or pass such a value",
                          print_number(p->arg).chars, print_limits(type).chars, is_large ? "ulong" : "long");
}

/* "float": of the argument's kind. */
static const char *number_name(const ndr_arg *arg) { return strchr(ndr_arg_kind_name(arg), ' ') + 1; }

/* A cast of a value that does not fit is undefined in C. */
static ndr_status refuse_real(const ndr_arg_check *p, const ndr_dtype_info *type)
{
    const double value = real_of(p->arg);
    const double end = (double)(UINT64_C(1) << (type->size_bytes * 8 - 1)) * (type->is_signed ? 1 : 2);
    const bool fits = value < end && (type->is_signed ? value >= -end : value > -1);
    const char *const given = number_name(p->arg);
    NDR_REQUIRE_ARG(p, !fits, "takes an integer, but the %s %g is given; cast it: (%sint%zu_t)value", given, value,
                    type->is_signed ? "" : "u", type->size_bytes * 8);
    return ndr_arg_refuse(
        p, NDR_BAD_KERNEL_ARGUMENT,
        "takes an integer, but the %s %g is given, and %s; declare the parameter %s in the kernel, or "
        "pass an integer that fits",
        given, value, print_limits(type).chars, type->size_bytes < 8 ? "long" : given);
}

static ndr_status convert_integer(const ndr_arg_check *p, ndr_bound *out)
{
    const ndr_arg *arg = p->arg;
    const ndr_dtype_info *type = ndr_dtype_describe(p->param->type.dtype);
    if (is_real(arg)) return refuse_real(p, type);
    if (!is_integer(arg)) return ndr_arg_refuse_kind(p, "an integer");
    NDR_TRY(check_integer(p, type));
    out->size_bytes = type->size_bytes;
    out->value = &out->copy;
    switch (type->size_bytes) { /* the conversion keeps the low bits */
    case 1: out->copy.u8 = (uint8_t)arg->as.u; break;
    case 2: out->copy.u16 = (uint16_t)arg->as.u; break;
    case 4: out->copy.u32 = (uint32_t)arg->as.u; break;
    default: out->copy.u64 = arg->as.u; break;
    }
    return NDR_OK;
}

/* A number without a width of its own. */
static ndr_status round_real(const ndr_arg_check *p, bool is_float, ndr_bound *out)
{
    const double value = p->arg->as.d;
    const float rounded = (float)value;
    NDR_REQUIRE_ARG(p, !is_float || isfinite(rounded) || !isfinite(value),
                    "cannot hold %g, because float holds at most %g; declare the parameter double in the kernel, or "
                    "pass such a value",
                    value, (double)FLT_MAX);
    if (is_float) memcpy(&out->copy, &rounded, sizeof rounded);
    else memcpy(&out->copy, &value, sizeof value);
    out->size_bytes = is_float ? sizeof rounded : sizeof value;
    out->value = &out->copy;
    return NDR_OK;
}

static ndr_status convert_real(const ndr_arg_check *p, ndr_arg_kind wanted, ndr_bound *out)
{
    const ndr_arg *arg = p->arg;
    if (arg->kind == NDR_ARG_REAL) return round_real(p, wanted == NDR_ARG_FLOAT, out);
    const bool is_float = wanted == NDR_ARG_FLOAT;
    const char *const name = is_float ? "float" : "double",
                      *as_integer = is_integer(arg) ? "write it as in 2.0 or " : "";
    if (!is_integer(arg) && !is_real(arg)) return ndr_arg_refuse_kind(p, is_float ? "a float" : "a double");
    NDR_REQUIRE_ARG(p, arg->kind == wanted, "takes a %s, but the %s %s is given; %scast it to %s", name,
                    number_name(arg), print_number(arg).chars, is_float ? "write it as in 2.0f or " : as_integer, name);
    out->size_bytes = is_float ? sizeof arg->as.f : sizeof arg->as.d;
    out->value = &arg->as;
    return NDR_OK;
}

/* A float, or the bits as a cl_half or ushort. */
static ndr_status convert_narrow(const ndr_arg_check *p, ndr_dtype dtype, ndr_bound *out)
{
    if (p->arg->kind == NDR_ARG_STRUCT) return ndr_convert_bytes(p, out);
    float single;
    NDR_TRY(convert_real(p, NDR_ARG_FLOAT, out));
    memcpy(&single, out->value, sizeof single);
    out->copy.u16 = dtype == NDR_DTYPE_F16 ? ndr_f16_from_float(single) : ndr_bf16_from_float(single);
    out->size_bytes = sizeof out->copy.u16;
    out->value = &out->copy;
    return NDR_OK;
}

ndr_status ndr_convert_number(const ndr_arg_check *p, ndr_bound *out)
{
    switch (p->param->type.dtype) {
    case NDR_DTYPE_F16:
    case NDR_DTYPE_BF16: return convert_narrow(p, p->param->type.dtype, out);
    case NDR_DTYPE_F32: return convert_real(p, NDR_ARG_FLOAT, out);
    case NDR_DTYPE_F64: return convert_real(p, NDR_ARG_DOUBLE, out);
    default: return convert_integer(p, out);
    }
}

ndr_status ndr_convert_any_number(const ndr_arg_check *p, ndr_bound *out)
{
    NDR_REQUIRE_ARG(p, ndr_dtype_describe(p->arg->dtype), "is given a number without a dtype; set ndr_arg.dtype");
    ndr_param number = *p->param;
    number.type = (ndr_builtin){ p->arg->dtype, 1 };
    return ndr_convert_number(&(ndr_arg_check){ p->kernel, p->index, &number, p->arg }, out);
}

/* ---- initial values of reducers ---- */

/* As an argument for a number. */
static ndr_arg initial_of(const ndr_arg *arg)
{
    const ndr_dtype_info *type = ndr_dtype_describe(arg->dtype);
    ndr_arg number = { .kind = NDR_ARG_NONE, .dtype = arg->dtype };
    if (type)
        number.kind = arg->dtype == NDR_DTYPE_F32   ? NDR_ARG_FLOAT
                      : arg->dtype == NDR_DTYPE_F64 ? NDR_ARG_DOUBLE
                      : type->is_signed             ? NDR_ARG_SIGNED
                                                    : NDR_ARG_UNSIGNED;
    memcpy(&number.as, &arg->as.reducer.initial, sizeof arg->as.reducer.initial);
    return number;
}

static const char *op_name(ndr_op op)
{
    static const char *const names[] = { "NDR_OP_NONE",    "NDR_OP_SUM",     "NDR_OP_MIN",    "NDR_OP_MAX",
                                         "NDR_OP_PRODUCT", "NDR_OP_BIT_AND", "NDR_OP_BIT_OR", "NDR_OP_BIT_XOR",
                                         "NDR_OP_LOGICAL_AND", "NDR_OP_LOGICAL_OR" };
    return (unsigned)op < NDR_COUNT_OF(names) ? names[op] : "a number that is not an ndr_op";
}

ndr_status ndr_convert_initial(const ndr_arg_check *p, ndr_bound *out)
{
    const ndr_op op = p->arg->as.reducer.op, wanted = ndr_reducer_op(p->param);
    const ndr_arg initial = initial_of(p->arg);
    uint64_t bits = 0;
    NDR_REQUIRE_ARG(p, initial.kind != NDR_ARG_NONE,
                    "is a reducer whose initial value is not a number; set ndr_arg.dtype");
    NDR_REQUIRE_ARG(p, op == wanted, "is given %s, but the kernel's reducer has %s; use the same operator in both",
                    op_name(op), op_name(wanted));
    NDR_TRY(ndr_convert_number(&(ndr_arg_check){ p->kernel, p->index, p->param, &initial }, out));
    const bool is_nan = is_real(&initial) && real_of(&initial) != real_of(&initial);
    NDR_REQUIRE_ARG(p, !is_nan || (op != NDR_OP_MIN && op != NDR_OP_MAX),
                    "has NaN as its initial value, which a minimum or maximum ignores; use an infinity");
    memcpy(&bits, out->value, out->size_bytes);
    out->copy.u64 = bits;
    return NDR_OK;
}

/* ---- vectors ---- */

/* A vector of three has the layout of one of four. A float becomes a half by rounding. */
static void copy_lanes(const ndr_arg *arg, ndr_builtin type, ndr_bound *out)
{
    const float *floats = arg->as.value.bytes;
    memset(&out->copy, 0, sizeof out->copy);
    out->value = &out->copy;
    if (stored_dtype(arg->dtype) == type.dtype) memcpy(&out->copy, arg->as.value.bytes, arg->size_bytes);
    else
        for (unsigned i = 0; i < type.lanes; ++i) out->copy.halves[i] = ndr_f16_from_float(floats[i]);
}

static ndr_status convert_vector(const ndr_arg_check *p, ndr_builtin wanted, ndr_bound *out)
{
    const ndr_arg *arg = p->arg;
    const ndr_dtype_info *element = ndr_dtype_describe(arg->dtype);
    const bool is_rounded = wanted.dtype == NDR_DTYPE_F16 && arg->dtype == NDR_DTYPE_F32;
    NDR_REQUIRE_ARG(p, element, "is a vector of elements that are not numbers; set ndr_arg.dtype");
    NDR_REQUIRE_ARG(p, arg->as.value.bytes, "is a vector at NULL; pass the address of its elements");
    NDR_REQUIRE_ARG(p,
                    (stored_dtype(arg->dtype) == wanted.dtype || is_rounded)
                        && arg->size_bytes == wanted.lanes * element->size_bytes,
                    "takes a vector of %u %s, but one of %zu %s is given; pass %u of that type", wanted.lanes,
                    ndr_dtype_describe(wanted.dtype)->cl_name, arg->size_bytes / element->size_bytes, element->cl_name,
                    wanted.lanes);
    out->size_bytes = ndr_builtin_bytes(wanted);
    out->value = arg->as.value.bytes;
    if (is_rounded || wanted.lanes == 3) copy_lanes(arg, wanted, out);
    return NDR_OK;
}

ndr_status ndr_convert_any_vector(const ndr_arg_check *p, ndr_bound *out)
{
    const size_t bytes = ndr_dtype_size(p->arg->dtype), lanes = bytes ? p->arg->size_bytes / bytes : 0;
    const bool is_vector = lanes == 2 || lanes == 3 || lanes == 4 || lanes == 8 || lanes == 16;
    NDR_REQUIRE_ARG(p, !bytes || is_vector, "is given a vector of %zu elements; vectors have 2, 3, 4, 8 or 16", lanes);
    return convert_vector(p, (ndr_builtin){ stored_dtype(p->arg->dtype), (unsigned)lanes }, out);
}

/* ---- structs ---- */

ndr_status ndr_convert_any_struct(const ndr_arg_check *p, ndr_bound *out)
{
    NDR_REQUIRE_ARG(p, p->arg->as.value.bytes, "is a struct at NULL; pass its address");
    out->size_bytes = p->arg->size_bytes;
    out->value = p->arg->as.value.bytes;
    return NDR_OK;
}

static ndr_status check_name(const ndr_arg_check *p)
{
    const ndr_builtin type = p->param->type;
    const char *const given = p->arg->as.value.type_name;
    if (is_named_like(p->param, given)) return NDR_OK;
    NDR_REQUIRE_ARG(p, type.lanes > 0, "is given a %s; name the same type on both sides", given);
    return ndr_arg_refuse(p, NDR_BAD_KERNEL_ARGUMENT, "is given a %s; pass a cl_%s%u", given,
                          ndr_dtype_describe(type.dtype)->cl_name, type.lanes);
}

ndr_status ndr_convert_bytes(const ndr_arg_check *p, ndr_bound *out)
{
    const ndr_arg *arg = p->arg;
    const ndr_param *param = p->param;
    const bool is_vector = param->type.lanes > 0;
    if (arg->kind == NDR_ARG_VECTOR && is_vector) return convert_vector(p, param->type, out);
    if (arg->kind != NDR_ARG_STRUCT)
        return ndr_arg_refuse_kind(p, is_vector ? "a vector (ndr_vector)" : "a struct (ndr_struct)");
    NDR_TRY(ndr_convert_any_struct(p, out));
    if (!is_vector) NDR_TRY(check_name(p));
    NDR_REQUIRE_ARG_AS(NDR_UNSUPPORTED, p, param->size_bytes > 0,
                       "is of a type whose size the driver's compiler does not report; declare a struct before the "
                       "kernel, or pass it in a buffer");
    NDR_REQUIRE_ARG(p, param->size_bytes == arg->size_bytes,
                    "has %zu bytes on the device, but %zu are given; declare the same members on both sides%s",
                    param->size_bytes, arg->size_bytes, align_hint(param->size_bytes, arg->size_bytes));
    return check_name(p);
}
