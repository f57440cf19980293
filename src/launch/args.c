/* args.c - kernel arguments: checks them against the signature, converts and sets them. */
#include "device/buffer.h"
#include "device/context.h"
#include "device/image.h"
#include "device/shared.h"
#include "launch/launch.h"

#include <stdio.h>
#include <string.h>

/* The argument that is checked, with the data for its error sentences. */
typedef struct arg_check {
    const ndr_kernel *kernel;
    unsigned index;
    const ndr_param *param;
    const ndr_arg *arg;
} arg_check;

const char *ndr_param_shown_type(const ndr_param *param)
{
    static const char hidden[] = "ndr_reducer_";
    const char *found = param->kind == NDR_PARAM_REDUCER ? strstr(param->type_name, hidden) : NULL;
    return found ? found + strlen(hidden) : param->type_name;
}

/* "kernel "scale", argument 2 "a" (float)": the start of every refusal. */
#define REFUSE_AS(status, p, format, ...)                                                                      \
    ndr_fail((status), "kernel \"%s\", argument %u \"%s\" (%s)" format, (p)->kernel->name, (p)->index,           \
             (p)->param->name, ndr_param_shown_type((p)->param), __VA_ARGS__)

#define REFUSE(p, ...) REFUSE_AS(NDR_BAD_KERNEL_ARGUMENT, p, __VA_ARGS__)

static ndr_status refuse_as(ndr_status status, const arg_check *p, const char *why)
{
    return REFUSE_AS(status, p, " %s", why);
}

static ndr_status refuse(const arg_check *p, const char *why) { return refuse_as(NDR_BAD_KERNEL_ARGUMENT, p, why); }

static const char *kind_name(const ndr_arg *arg)
{
    static const char *const names[] = {
        [NDR_ARG_NONE] = "nothing",       [NDR_ARG_BUFFER] = "a buffer",      [NDR_ARG_NULL] = "ndr_null",
        [NDR_ARG_SIGNED] = "an integer",  [NDR_ARG_UNSIGNED] = "an integer",  [NDR_ARG_FLOAT] = "a float",
        [NDR_ARG_DOUBLE] = "a double",    [NDR_ARG_STRUCT] = "a struct",      [NDR_ARG_LOCAL] = "local memory",
        [NDR_ARG_VECTOR] = "a vector",    [NDR_ARG_IMAGE] = "an image",       [NDR_ARG_SAMPLER] = "a sampler",
        [NDR_ARG_REDUCER] = "a reducer",  [NDR_ARG_SHARED] = "a shared allocation",
    };
    return names[arg->kind];
}

/* "x (float*), a (float)": the parameters. */
static void add_parameters(const ndr_kernel *kernel, ndr_text *out)
{
    for (unsigned i = 0; i < kernel->info.arg_count; ++i)
        ndr_text_add(out, "%s%s (%s)", i ? ", " : "", kernel->params[i].name, ndr_param_shown_type(&kernel->params[i]));
}

/* Arguments in another order are the usual cause, so the sentence has the parameters. */
static ndr_status refuse_kind(const arg_check *p, const char *wanted)
{
    ndr_text list = { 0 };
    if (p->kernel->info.arg_count > 1) ndr_text_add(&list, "; the parameters in order are ");
    if (p->kernel->info.arg_count > 1) add_parameters(p->kernel, &list);
    const ndr_status status =
        REFUSE(p, " takes %s, but %s is given%s", wanted, kind_name(p->arg), list.chars ? list.chars : "");
    ndr_text_free(&list);
    return status;
}

/* ---- buffers ---- */

static bool writes_through(const ndr_param *param) { return !param->is_const && param->kind != NDR_PARAM_CONSTANT; }

/* Whether the kernel writes is not known of a parameter of unknown type. */
static ndr_status check_access(const arg_check *p, ndr_access access)
{
    if (access == NDR_ACCESS_READ_WRITE || p->param->kind == NDR_PARAM_ANY) return NDR_OK;
    const bool writes = writes_through(p->param);
    if (writes && access == NDR_ACCESS_READ)
        return refuse(p,
                      "is a buffer that was created read-only for kernels (ndr_buffer_desc.kernels), but this kernel "
                      "may write to it; declare the parameter const");
    if (!writes && access == NDR_ACCESS_WRITE)
        return refuse(p,
                      "is a buffer that was created write-only for kernels (ndr_buffer_desc.kernels), but this kernel "
                      "reads it; change that field");
    return NDR_OK;
}

static ndr_status convert_shared(const arg_check *p, ndr_bound *out)
{
    const ndr_shared *shared = p->arg->as.shared.allocation;
    const unsigned char *pointer = p->arg->as.shared.pointer;
    if (!shared) return refuse(p, "is a NULL shared allocation; write ndr_null if that is meant");
    if (shared->context != p->kernel->context)
        return refuse(p, "is a shared allocation of another context than the kernel's; create it in that one");
    if (!pointer) pointer = shared->start;
    if ((uintptr_t)pointer - (uintptr_t)shared->start > shared->size_bytes)
        return REFUSE(p, " is given the address %p, which is not in the shared allocation of %zu bytes at %p; pass an "
                         "address in it",
                      (const void *)pointer, shared->size_bytes, (void *)shared->start);
    out->shared = shared;
    out->size_bytes = sizeof pointer;
    out->value = pointer;
    return NDR_OK;
}

static ndr_status convert_buffer(const arg_check *p, ndr_bound *out)
{
    static const cl_mem null = NULL;
    const ndr_buffer *buffer = p->arg->as.buffer;
    out->size_bytes = sizeof null;
    out->value = &null;
    if (p->arg->kind == NDR_ARG_NULL) return NDR_OK;
    if (p->arg->kind == NDR_ARG_SHARED) return convert_shared(p, out);
    if (p->arg->kind != NDR_ARG_BUFFER) return refuse_kind(p, "a buffer");
    if (!buffer) return refuse(p, "is a NULL buffer; write ndr_null if that is meant");
    if (buffer->context != p->kernel->context)
        return REFUSE(p, " is a buffer of another context than the kernel's%s; create it in that one",
                      ndr_handle_or_destroyed());
    out->value = &buffer->cl;
    return check_access(p, buffer->kernel_access);
}

static ndr_status check_image_use(const arg_check *p)
{
    const ndr_image *image = p->arg->as.image;
    if (ndr_image_is_free(image, p->param->access != NDR_ACCESS_READ)) return NDR_OK;
    return refuse(p, image->buffer ? "is an image over a buffer that the host has mapped; unmap it first"
                                   : "is an image that the host has mapped; unmap it first");
}

/* Of an argument, or of what the kernel reaches without one, which has no parameter. */
static ndr_status use_shared(const ndr_kernel *kernel, size_t index, const ndr_arg *arg, const ndr_queue *queue)
{
    ndr_shared *shared = arg->as.shared.allocation;
    const ndr_param *param = arg->kind == NDR_ARG_SHARED ? &kernel->params[index] : NULL;
    if (ndr_shared_is_free(shared, !param || writes_through(param))) return ndr_shared_add_user(shared, queue);
    if (param)
        return refuse(&(arg_check){ kernel, (unsigned)index, param, arg },
                      "is a shared allocation that the host has mapped; unmap it first");
    return ndr_fail(NDR_BAD_KERNEL_ARGUMENT,
                    "kernel \"%s\": the host has the allocation of ndr_reaches(), %zu bytes at %p, mapped; unmap it "
                    "first",
                    kernel->name, shared->size_bytes, (void *)shared->start);
}

static ndr_status use_reached_buffer(const ndr_kernel *kernel, ndr_buffer *buffer, const ndr_queue *queue)
{
    NDR_REQUIRE_AS(NDR_BAD_KERNEL_ARGUMENT, ndr_buffer_is_free(buffer, true),
                   "kernel \"%s\": the host has the buffer of ndr_reaches_buffer(), %zu bytes, mapped; unmap it first",
                   kernel->name, buffer->size_bytes);
    return ndr_buffer_add_user(buffer, queue);
}

/* Whether nothing more is to be checked. */
static inline bool is_usable(const ndr_kernel *kernel, const ndr_arg *arg, size_t index)
{
    enum {
        OTHERS = 1 << NDR_ARG_NONE | 1 << NDR_ARG_IMAGE | 1 << NDR_ARG_SHARED | 1 << NDR_ARG_REACHED
                 | 1 << NDR_ARG_REACHED_BUFFER
    };
    if (!ndr_arg_has_buffer(arg)) return !(OTHERS >> arg->kind & 1);
    return ndr_buffer_is_free(arg->as.buffer, writes_through(&kernel->params[index]));
}

static ndr_status check_use(const ndr_kernel *kernel, const ndr_arg *arg, size_t index, const ndr_queue *queue)
{
    if (ndr_arg_has_shared(arg)) return use_shared(kernel, index, arg, queue);
    if (arg->kind == NDR_ARG_REACHED_BUFFER) return use_reached_buffer(kernel, arg->as.buffer, queue);
    const arg_check p = { kernel, (unsigned)index, &kernel->params[index], arg };
    if (arg->kind == NDR_ARG_IMAGE) return check_image_use(&p);
    return refuse(&p, arg->kind == NDR_ARG_NONE
                          ? "is not set, because OpenCL failed; set it again with ndr_prepared_set()"
                          : "is a buffer that the host has mapped; unmap it first");
}

ndr_status ndr_args_check_use(const ndr_kernel *kernel, const ndr_queue *queue, const ndr_arg *args, size_t arg_count)
{
    for (size_t i = 0; i < arg_count; ++i)
        if (!is_usable(kernel, &args[i], i)) NDR_TRY(check_use(kernel, &args[i], i, queue));
    return NDR_OK;
}

/* ---- memory that a kernel reaches without an argument ---- */

static bool is_reached(const ndr_arg *arg)
{
    return arg->kind == NDR_ARG_REACHED || arg->kind == NDR_ARG_REACHED_BUFFER;
}

size_t ndr_args_count_reached(const ndr_arg *args, size_t arg_count)
{
    size_t count = 0;
    while (args && count < arg_count && is_reached(&args[arg_count - 1 - count])) ++count;
    return count;
}

static ndr_status check_reached_buffer(const ndr_kernel *kernel, const ndr_buffer *buffer, size_t index)
{
    const char *const wrong = !buffer            ? "is NULL"
                              : !buffer->address ? "was created without an address; set ndr_buffer_desc.has_address"
                                                 : NULL;
    NDR_REQUIRE_AS(NDR_BAD_KERNEL_ARGUMENT, !buffer || buffer->context == kernel->context,
                   "kernel \"%s\": the buffer of ndr_reaches_buffer() %zu belongs to another context%s; create it in "
                   "the kernel's",
                   kernel->name, index, ndr_handle_or_destroyed());
    NDR_REQUIRE_AS(NDR_BAD_KERNEL_ARGUMENT, !wrong, "kernel \"%s\": the buffer of ndr_reaches_buffer() %zu %s",
                   kernel->name, index, wrong);
    return NDR_OK;
}

ndr_status ndr_args_check_reached(const ndr_kernel *kernel, const ndr_arg *reached, size_t count)
{
    for (size_t i = 0; i < count; ++i) {
        if (reached[i].kind == NDR_ARG_REACHED_BUFFER) {
            NDR_TRY(check_reached_buffer(kernel, reached[i].as.buffer, i));
            continue;
        }
        const ndr_shared *shared = reached[i].as.shared.allocation;
        NDR_REQUIRE_AS(
            NDR_BAD_KERNEL_ARGUMENT, shared,
            "kernel \"%s\": ndr_reaches() %zu is a NULL shared allocation; pass one made by ndr_shared_create()",
            kernel->name, i);
        NDR_REQUIRE_AS(NDR_BAD_KERNEL_ARGUMENT, shared->context == kernel->context,
                       "kernel \"%s\": the allocation of ndr_reaches() %zu belongs to another context; create it in "
                       "the kernel's",
                       kernel->name, i);
    }
    return NDR_OK;
}

/* ---- images and samplers ---- */

static ndr_status pass_image(const arg_check *p, ndr_bound *out)
{
    const ndr_image *image = p->arg->as.image;
    if (!image) return refuse(p, "is a NULL image; pass one made by ndr_image_create()");
    if (image->context != p->kernel->context)
        return refuse(p, "is an image of another context than the kernel's; create it in that one");
    out->size_bytes = sizeof image->cl;
    out->value = &image->cl;
    return check_image_use(p);
}

static ndr_status convert_image(const arg_check *p, const char *type_name, ndr_bound *out)
{
    static const char *const uses[] = { "reads and writes", "reads", "writes" };
    static const char *const created[] = { "", "read-only for kernels", "write-only for kernels",
                                           "without kernel access" };
    const ndr_image *image = p->arg->as.image;
    if (p->arg->kind != NDR_ARG_IMAGE) return refuse_kind(p, "an image");
    NDR_TRY(pass_image(p, out));
    if (strcmp(image->type_name, type_name) != 0)
        return REFUSE(p, " is given an %s; compare the dimensions and ndr_image_desc.is_array, buffer and format",
                      image->type_name);
    if (image->kernel_access != NDR_ACCESS_READ_WRITE && image->kernel_access != p->param->access)
        return REFUSE(
            p, " is an image that was created %s (ndr_image_desc.kernels), but this kernel %s it; change that field",
            created[image->kernel_access], uses[p->param->access]);
    if (p->param->access == NDR_ACCESS_READ_WRITE && !image->is_read_write)
        return refuse_as(NDR_UNSUPPORTED, p,
                         "is an image of a format that the device does not have for read_write parameters; "
                         "ndr_image_list_formats() lists those it has (ndr_image_desc.is_read_write)");
    return NDR_OK;
}

static ndr_status pass_sampler(const arg_check *p, ndr_bound *out)
{
    const ndr_sampler *sampler = p->arg->as.sampler;
    if (!sampler) return refuse(p, "is a NULL sampler; pass one made by ndr_sampler_create()");
    if (sampler->context != p->kernel->context)
        return refuse(p, "is a sampler of another context than the kernel's; create it in that one");
    out->size_bytes = sizeof sampler->cl;
    out->value = &sampler->cl;
    return NDR_OK;
}

/* The type may have an access qualifier in front. A typedef of an image or a sampler is not known. */
static ndr_status convert_object(const arg_check *p, ndr_bound *out)
{
    const char *space = strrchr(p->param->type_name, ' '), *name = space ? space + 1 : p->param->type_name;
    if (strncmp(name, "image", 5) == 0) return convert_image(p, name, out);
    if (strcmp(name, "sampler_t") != 0)
        return refuse_as(NDR_UNSUPPORTED, p, "is of a type that libndr cannot pass; pass its data in a buffer");
    return p->arg->kind == NDR_ARG_SAMPLER ? pass_sampler(p, out) : refuse_kind(p, "a sampler");
}

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

/* On the host cl_half is another name for uint16_t. */
static bool is_half(const ndr_arg *arg)
{
    return arg->element_name && strcmp(unprefixed_name(arg->element_name), "half") == 0;
}

static bool is_element_of(const ndr_param *param, const ndr_arg *arg)
{
    if (arg->dtype && param->type.lanes > 0)
        return is_same_builtin((ndr_builtin){ is_half(arg) ? NDR_DTYPE_F16 : arg->dtype, 1 }, param->type);
    return is_named_like(param, arg->element_name ? arg->element_name : arg->dtype ? element_name(arg) : NULL);
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

/* An array also fits a pointer to its elements. */
static ndr_status check_element(const arg_check *p)
{
    const ndr_arg *arg = p->arg;
    const ndr_builtin element = find_array_element(arg), type = p->param->type;
    const bool is_flat = element.lanes > 0 && type.lanes > 0;
    if (p->param->kind == NDR_PARAM_ANY || ndr_points_to_void(p->param->type_name)) return NDR_OK;
    if (is_flat ? element.dtype != type.dtype : !is_element_of(p->param, arg))
        return REFUSE(p, " points to another type than the %s given to ndr_local%s", element_name(arg),
                      p->param->type.lanes ? "; give ndr_local the kernel's type"
                                           : "; name the same type on both sides");
    const size_t wanted = p->param->size_bytes;
    if (wanted && (is_flat ? arg->size_bytes % wanted != 0 : arg->size_bytes != wanted))
        return REFUSE(
            p,
            " points to elements of %zu bytes on the device, but those of the %s given to ndr_local have %zu; "
            "declare the same members on both sides",
            wanted, element_name(arg), arg->size_bytes);
    return NDR_OK;
}

static ndr_status convert_local(const arg_check *p, ndr_bound *out, size_t *local_bytes)
{
    if (p->kernel->form == NDR_FORM_RANGE)
        return refuse(p, "is local memory, which belongs to a group, and a range has none: write NDR_ND_RANGE");
    if (p->arg->kind != NDR_ARG_LOCAL) return refuse_kind(p, "local memory (ndr_local)");
    NDR_TRY(check_element(p));
    const ndr_arg *arg = p->arg;
    size_t bytes = arg->size_bytes;
    for (unsigned d = 0; d < 3; ++d)
        if (!ndr_mul_fits(bytes, arg->as.extent[d], &bytes))
            return REFUSE_AS(NDR_LIMIT_EXCEEDED, p,
                             " asks for local memory of %s elements, which exceeds the address space",
                             ndr_sizes_print(3, arg->as.extent).chars);
    if (bytes == 0) return refuse(p, "asks for no local memory; ask for at least one element");
    out->size_bytes = bytes;
    out->value = NULL;
    if (!ndr_add_fits(*local_bytes, bytes, local_bytes)) *local_bytes = SIZE_MAX;
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

static bool is_integer(const ndr_arg *arg) { return arg->kind == NDR_ARG_SIGNED || arg->kind == NDR_ARG_UNSIGNED; }
static bool is_real(const ndr_arg *arg) { return arg->kind == NDR_ARG_FLOAT || arg->kind == NDR_ARG_DOUBLE; }

typedef struct number_text {
    char chars[80];
} number_text;

static number_text print_number(const ndr_arg *arg)
{
    number_text out;
    if (arg->kind == NDR_ARG_SIGNED) snprintf(out.chars, sizeof out.chars, "%lld", (long long)arg->as.i);
    else if (arg->kind == NDR_ARG_UNSIGNED)
        snprintf(out.chars, sizeof out.chars, "%llu", (unsigned long long)arg->as.u);
    else snprintf(out.chars, sizeof out.chars, "%g", arg->kind == NDR_ARG_FLOAT ? (double)arg->as.f : arg->as.d);
    return out;
}

/* "int holds -2147483648 to 2147483647" */
static number_text print_limits(const ndr_dtype_info *type)
{
    const unsigned bits = (unsigned)type->size_bytes * 8;
    const uint64_t highest = UINT64_MAX >> (64 - bits + type->is_signed);
    number_text out;
    if (type->is_signed)
        snprintf(out.chars, sizeof out.chars, "%s holds %lld to %llu", type->cl_name, -(long long)highest - 1,
                 (unsigned long long)highest);
    else snprintf(out.chars, sizeof out.chars, "%s holds 0 to %llu", type->cl_name, (unsigned long long)highest);
    return out;
}

/* If the value fits the same width with the other signedness, suggest a cast. */
static ndr_status refuse_value(const arg_check *p, const ndr_dtype_info *type)
{
    const unsigned bits = (unsigned)type->size_bytes * 8;
    const bool is_large = p->arg->kind == NDR_ARG_UNSIGNED && p->arg->as.u > INT64_MAX;
    char fix[96];
    if (fits_bits(p->arg, bits, !type->is_signed))
        snprintf(fix, sizeof fix, "if the bit pattern is meant, cast it: (%sint%u_t)value", type->is_signed ? "" : "u",
                 bits);
    else
        snprintf(fix, sizeof fix, "declare the parameter %s in the kernel, or pass such a value",
                 is_large ? "ulong" : "long");
    return REFUSE(p, " cannot hold %s, because %s; %s", print_number(p->arg).chars, print_limits(type).chars, fix);
}

/* A cast of a value that does not fit is undefined in C. */
static ndr_status refuse_real(const arg_check *p, const ndr_dtype_info *type)
{
    const double value = p->arg->kind == NDR_ARG_FLOAT ? (double)p->arg->as.f : p->arg->as.d;
    const double end = (double)(UINT64_C(1) << (type->size_bytes * 8 - 1)) * (type->is_signed ? 1 : 2);
    const bool fits = value < end && (type->is_signed ? value >= -end : value > -1);
    const char *const kind = p->arg->kind == NDR_ARG_FLOAT ? "float" : "double";
    if (fits)
        return REFUSE(p, " takes an integer, but the %s %s is given; cast it: (%sint%zu_t)value", kind,
                      print_number(p->arg).chars, type->is_signed ? "" : "u", type->size_bytes * 8);
    return REFUSE(p,
                  " takes an integer, but the %s %s is given, and %s; declare the parameter %s in the kernel, or pass "
                  "an integer that fits",
                  kind, print_number(p->arg).chars, print_limits(type).chars, type->size_bytes < 8 ? "long" : kind);
}

static ndr_status convert_integer(const arg_check *p, ndr_bound *out)
{
    const ndr_arg *arg = p->arg;
    const ndr_dtype_info *type = ndr_dtype_describe(p->param->type.dtype);
    if (is_real(arg)) return refuse_real(p, type);
    if (!is_integer(arg)) return refuse_kind(p, "an integer");
    if (!fits_bits(arg, (unsigned)type->size_bytes * 8, type->is_signed)) return refuse_value(p, type);
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

static ndr_status convert_float(const arg_check *p, ndr_bound *out)
{
    const ndr_arg *arg = p->arg;
    if (arg->kind == NDR_ARG_DOUBLE)
        return REFUSE(p, " takes a float, but the double %g is given; write it as in 2.0f or cast it to float",
                      arg->as.d);
    if (is_integer(arg))
        return REFUSE(p, " takes a float, but the integer %s is given; write it as in 2.0f or cast it to float",
                      print_number(arg).chars);
    if (arg->kind != NDR_ARG_FLOAT) return refuse_kind(p, "a float");
    out->size_bytes = sizeof arg->as.f;
    out->value = &arg->as.f;
    return NDR_OK;
}

static ndr_status convert_double(const arg_check *p, ndr_bound *out)
{
    const ndr_arg *arg = p->arg;
    if (arg->kind == NDR_ARG_FLOAT)
        return REFUSE(p, " takes a double, but the float %g is given; cast it to double", (double)arg->as.f);
    if (is_integer(arg))
        return REFUSE(p, " takes a double, but the integer %s is given; write it as in 2.0 or cast it to double",
                      print_number(arg).chars);
    if (arg->kind != NDR_ARG_DOUBLE) return refuse_kind(p, "a double");
    out->size_bytes = sizeof arg->as.d;
    out->value = &arg->as.d;
    return NDR_OK;
}

static ndr_status convert_bytes(const arg_check *p, ndr_bound *out);

/* A float, or the bits as a cl_half. */
static ndr_status convert_half(const arg_check *p, ndr_bound *out)
{
    if (p->arg->kind == NDR_ARG_STRUCT) return convert_bytes(p, out);
    NDR_TRY(convert_float(p, out));
    out->copy.u16 = ndr_half_bits(p->arg->as.f);
    out->size_bytes = sizeof out->copy.u16;
    out->value = &out->copy;
    return NDR_OK;
}

static ndr_status convert_number(const arg_check *p, ndr_bound *out)
{
    switch (p->param->type.dtype) {
    case NDR_DTYPE_F16: return convert_half(p, out);
    case NDR_DTYPE_F32: return convert_float(p, out);
    case NDR_DTYPE_F64: return convert_double(p, out);
    default: return convert_integer(p, out);
    }
}

/* ---- reducers ---- */

/* The initial value as an argument for a number. */
static ndr_arg initial_of(const ndr_arg *arg)
{
    const ndr_dtype_info *type = ndr_dtype_describe(arg->dtype);
    ndr_arg number = { .kind = NDR_ARG_NONE, .dtype = arg->dtype };
    if (type) number.kind = arg->dtype == NDR_DTYPE_F32   ? NDR_ARG_FLOAT
                            : arg->dtype == NDR_DTYPE_F64 ? NDR_ARG_DOUBLE
                            : type->is_signed             ? NDR_ARG_SIGNED
                                                          : NDR_ARG_UNSIGNED;
    memcpy(&number.as, &arg->as.reducer.initial, sizeof arg->as.reducer.initial);
    return number;
}

static bool is_nan(const ndr_arg *number)
{
    return number->kind == NDR_ARG_FLOAT    ? number->as.f != number->as.f
           : number->kind == NDR_ARG_DOUBLE ? number->as.d != number->as.d
                                            : false;
}

static const char *op_name(ndr_op op)
{
    static const char *const names[] = { "NDR_OP_NONE",    "NDR_OP_SUM",     "NDR_OP_MIN",    "NDR_OP_MAX",
                                         "NDR_OP_PRODUCT", "NDR_OP_BIT_AND", "NDR_OP_BIT_OR", "NDR_OP_BIT_XOR" };
    return (unsigned)op < NDR_COUNT_OF(names) ? names[op] : "a number that is not an ndr_op";
}

/* `out->copy` receives the initial value. */
static ndr_status convert_initial(const arg_check *p, ndr_bound *out)
{
    const ndr_op op = p->arg->as.reducer.op;
    const ndr_arg initial = initial_of(p->arg);
    uint64_t bits = 0;
    if (initial.kind == NDR_ARG_NONE)
        return refuse(p, "is a reducer whose initial value is not a number; set ndr_arg.dtype");
    if (op != ndr_reducer_op(p->param))
        return REFUSE(p, " is given %s, but the kernel's reducer has %s; use the same operator in both", op_name(op),
                      op_name(ndr_reducer_op(p->param)));
    NDR_TRY(convert_number(&(arg_check){ p->kernel, p->index, p->param, &initial }, out));
    if ((op == NDR_OP_MIN || op == NDR_OP_MAX) && is_nan(&initial))
        return refuse(p, "has NaN as its initial value, which a minimum or maximum ignores; use an infinity");
    memcpy(&bits, out->value, out->size_bytes);
    out->copy.u64 = bits;
    return NDR_OK;
}

static ndr_status convert_reducer(const arg_check *p, ndr_bound *out)
{
    const ndr_buffer *buffer = p->arg->as.reducer.buffer;
    const size_t element = p->arg->as.reducer.element;
    if (p->arg->kind != NDR_ARG_REDUCER) return refuse_kind(p, "a reducer (ndr_reducer)");
    NDR_TRY(convert_initial(p, out));
    if (!buffer) return refuse(p, "is a reducer without a buffer; pass the buffer that receives the result");
    if (buffer->context != p->kernel->context)
        return REFUSE(p, " has a buffer of another context than the kernel's%s; create it in that one",
                      ndr_handle_or_destroyed());
    NDR_TRY(check_access(p, buffer->kernel_access));
    if (element >= buffer->size_bytes / p->param->size_bytes)
        return REFUSE_AS(
            NDR_OUT_OF_BOUNDS, p,
            " goes to element %zu, but its buffer holds %zu elements of %zu bytes, counted from 0; lower it", element,
            buffer->size_bytes / p->param->size_bytes, p->param->size_bytes);
    out->size_bytes = sizeof buffer->cl;
    out->value = &buffer->cl;
    return NDR_OK;
}

/* ---- vectors ---- */

/* A vector of three has the layout of one of four. A float becomes a half by rounding. */
static void copy_lanes(const ndr_arg *arg, ndr_builtin type, ndr_bound *out)
{
    const float *floats = arg->as.value.bytes;
    memset(&out->copy, 0, sizeof out->copy);
    out->value = &out->copy;
    if (arg->dtype == type.dtype) memcpy(&out->copy, arg->as.value.bytes, arg->size_bytes);
    else for (unsigned i = 0; i < type.lanes; ++i) out->copy.halves[i] = ndr_half_bits(floats[i]);
}

static ndr_status convert_vector(const arg_check *p, ndr_builtin wanted, ndr_bound *out)
{
    const ndr_arg *arg = p->arg;
    const ndr_dtype_info *element = ndr_dtype_describe(arg->dtype), *type = ndr_dtype_describe(wanted.dtype);
    if (!element) return refuse(p, "is a vector of elements that are not numbers; set ndr_arg.dtype");
    if (!arg->as.value.bytes) return refuse(p, "is a vector at NULL; pass the address of its elements");
    const bool is_rounded = wanted.dtype == NDR_DTYPE_F16 && arg->dtype == NDR_DTYPE_F32;
    if ((arg->dtype != wanted.dtype && !is_rounded) || arg->size_bytes != wanted.lanes * element->size_bytes)
        return REFUSE(p, " takes a vector of %u %s, but one of %zu %s is given; pass %u of that type", wanted.lanes,
                      type->cl_name, arg->size_bytes / element->size_bytes, element->cl_name, wanted.lanes);
    out->size_bytes = ndr_builtin_bytes(wanted);
    out->value = arg->as.value.bytes;
    if (is_rounded || wanted.lanes == 3) copy_lanes(arg, wanted, out);
    return NDR_OK;
}

/* ---- structs ---- */

static ndr_status refuse_name(const arg_check *p, const char *given)
{
    const ndr_builtin type = p->param->type;
    if (type.lanes == 0) return REFUSE(p, " is given a %s; name the same type on both sides", given);
    return REFUSE(p, " is given a %s; pass a cl_%s%u", given, ndr_dtype_describe(type.dtype)->cl_name, type.lanes);
}

static ndr_status convert_struct_bytes(const arg_check *p, ndr_bound *out)
{
    if (!p->arg->as.value.bytes) return refuse(p, "is a struct at NULL; pass its address");
    out->size_bytes = p->arg->size_bytes;
    out->value = p->arg->as.value.bytes;
    return NDR_OK;
}

static ndr_status convert_bytes(const arg_check *p, ndr_bound *out)
{
    const ndr_arg *arg = p->arg;
    const ndr_param *param = p->param;
    if (arg->kind == NDR_ARG_VECTOR && param->type.lanes > 0) return convert_vector(p, param->type, out);
    if (arg->kind != NDR_ARG_STRUCT)
        return refuse_kind(p, param->type.lanes ? "a vector (ndr_vector)" : "a struct (ndr_struct)");
    NDR_TRY(convert_struct_bytes(p, out));
    const char *given = arg->as.value.type_name;
    const bool is_named_so = is_named_like(param, given);
    if (!is_named_so && param->type.lanes == 0) return refuse_name(p, given);
    if (param->size_bytes == 0)
        return refuse_as(
            NDR_UNSUPPORTED, p,
            "is of a type whose size the driver's compiler does not report; declare a struct before the kernel, "
            "or pass it in a buffer");
    if (param->size_bytes != arg->size_bytes)
        return REFUSE(p, " has %zu bytes on the device, but %zu are given; declare the same members on both sides",
                      param->size_bytes, arg->size_bytes);
    return is_named_so ? NDR_OK : refuse_name(p, given);
}

/* ---- parameters of unknown type ---- */

static ndr_status convert_unknown_vector(const arg_check *p, ndr_bound *out)
{
    const size_t bytes = ndr_dtype_size(p->arg->dtype), lanes = bytes ? p->arg->size_bytes / bytes : 0;
    const bool is_vector = lanes == 2 || lanes == 3 || lanes == 4 || lanes == 8 || lanes == 16;
    if (bytes && !is_vector)
        return REFUSE(p, " is given a vector of %zu elements; vectors have 2, 3, 4, 8 or 16", lanes);
    return convert_vector(p, (ndr_builtin){ p->arg->dtype, (unsigned)lanes }, out);
}

/* Pass the argument as it is given: a number with its size on the host. */
static ndr_status convert_as_given(const arg_check *p, ndr_bound *out, size_t *local_bytes)
{
    switch (p->arg->kind) {
    case NDR_ARG_BUFFER:
    case NDR_ARG_SHARED:
    case NDR_ARG_NULL: return convert_buffer(p, out);
    case NDR_ARG_LOCAL: return convert_local(p, out, local_bytes);
    case NDR_ARG_STRUCT: return convert_struct_bytes(p, out);
    case NDR_ARG_VECTOR: return convert_unknown_vector(p, out);
    case NDR_ARG_IMAGE: return pass_image(p, out);
    case NDR_ARG_SAMPLER: return pass_sampler(p, out);
    default: break;
    }
    if (!ndr_dtype_describe(p->arg->dtype)) return refuse(p, "is given a number without a dtype; set ndr_arg.dtype");
    ndr_param number = *p->param;
    number.type = (ndr_builtin){ p->arg->dtype, 1 };
    return convert_number(&(arg_check){ p->kernel, p->index, &number, p->arg }, out);
}

/* ---- all of them ---- */

static ndr_status convert_arg(const arg_check *p, ndr_bound *out, size_t *local_bytes)
{
    if (p->arg->kind == NDR_ARG_NONE)
        return refuse(p, "was never set: make it with ndr_arg_of() (ndr_local takes 1 to 3 extents, "
                         "ndr_reducer a number)");
    if (is_reached(p->arg))
        return refuse(p, "is given ndr_reaches(), which is not an argument; put it after the last argument");
    if ((unsigned)p->arg->kind > NDR_ARG_REACHED_BUFFER)
        return REFUSE(p, ": %d is not an ndr_arg_kind; make the argument with ndr_arg_of()", (int)p->arg->kind);
    switch (p->param->kind) {
    case NDR_PARAM_GLOBAL:
    case NDR_PARAM_CONSTANT: return convert_buffer(p, out);
    case NDR_PARAM_LOCAL: return convert_local(p, out, local_bytes);
    case NDR_PARAM_NUMBER: return convert_number(p, out);
    case NDR_PARAM_BYTES: return convert_bytes(p, out);
    case NDR_PARAM_REDUCER: return convert_reducer(p, out);
    case NDR_PARAM_ANY: return convert_as_given(p, out, local_bytes);
    case NDR_PARAM_OPAQUE: break;
    }
    return convert_object(p, out);
}

static bool has_reached(const ndr_arg *args, size_t count)
{
    for (size_t i = 0; args && i < count; ++i)
        if (is_reached(&args[i])) return true;
    return false;
}

static const char *hint_for_count(const ndr_kernel *kernel, const ndr_arg *args, size_t count)
{
    if (has_reached(args, count)) return "; move ndr_reaches() behind them";
    return kernel->arg_count > 0 && kernel->params[0].kind == NDR_PARAM_ANY
               ? "; the driver does not describe them, so the hidden one of NDR_RANGE or NDR_ND_RANGE counts: build "
                 "the program with -cl-kernel-arg-info, or get a kernel that has one from its source"
               : "";
}

static ndr_status check_count(const ndr_kernel *kernel, const ndr_arg *args, size_t arg_count)
{
    const unsigned wanted = kernel->info.arg_count;
    if (arg_count != wanted) {
        ndr_text list = { 0 };
        add_parameters(kernel, &list);
        const ndr_status status = ndr_fail(
            NDR_BAD_KERNEL_ARGUMENT, "kernel \"%s\" takes %u argument%s, but %zu %s given; its parameters are %s%s",
            kernel->name, wanted, wanted == 1 ? "" : "s", arg_count, arg_count == 1 ? "is" : "are",
            list.chars ? list.chars : "none", hint_for_count(kernel, args, arg_count));
        ndr_text_free(&list);
        return status;
    }
    NDR_REQUIRE(args || arg_count == 0,
                "kernel \"%s\": args is NULL, but arg_count is %zu; pass an array of that length", kernel->name,
                arg_count);
    return NDR_OK;
}

/* ---- arguments that are set already ---- */

static uint64_t number_bits(const ndr_arg *arg)
{
    uint32_t bits;
    if (arg->kind != NDR_ARG_FLOAT) return arg->as.u;
    memcpy(&bits, &arg->as.f, sizeof bits);
    return bits;
}

/* Only buffers and numbers are compared; other arguments are set again at every launch. */
static ndr_arg_mark mark_of(const ndr_param *param, const ndr_arg *arg)
{
    if (param->kind == NDR_PARAM_NUMBER && arg->kind != NDR_ARG_STRUCT)
        return (ndr_arg_mark){ arg->kind, number_bits(arg) };
    if (arg->kind == NDR_ARG_BUFFER && arg->as.buffer) return (ndr_arg_mark){ arg->kind, arg->as.buffer->identity };
    return (ndr_arg_mark){ NDR_ARG_NONE, 0 };
}

/* An argument that passed its checks before passes again. */
static inline bool is_set_already(const ndr_arg *arg, ndr_arg_mark set)
{
    if (arg->kind != set.kind || arg->kind == NDR_ARG_NONE) return false;
    if (arg->kind == NDR_ARG_BUFFER) return arg->as.buffer && arg->as.buffer->identity == set.value;
    return number_bits(arg) == set.value;
}

static inline ndr_status check_arg(const ndr_kernel *kernel, size_t index, const ndr_arg *arg, ndr_bound *bound,
                                   size_t *local_bytes)
{
    const ndr_param *param = &kernel->params[index];
    bound->is_set = is_set_already(arg, bound->set);
    if (bound->is_set) return NDR_OK;
    bound->given = mark_of(param, arg);
    bound->shared = NULL;
    return convert_arg(&(arg_check){ kernel, (unsigned)index, param, arg }, bound, local_bytes);
}

ndr_status ndr_args_check_one(const ndr_kernel *kernel, size_t index, const ndr_arg *arg, ndr_bound *bound,
                              size_t *local_bytes)
{
    return check_arg(kernel, index, arg, bound, local_bytes);
}

ndr_status ndr_args_check(const ndr_kernel *kernel, const ndr_arg *args, size_t arg_count, ndr_bound *bound,
                          size_t *local_bytes)
{
    NDR_TRY(check_count(kernel, args, arg_count));
    *local_bytes = 0;
    for (size_t i = 0; i < arg_count; ++i)
        NDR_TRY(check_arg(kernel, i, &args[i], &bound[i], local_bytes));
    return NDR_OK;
}

/* ---- setting ---- */

/* Whether an error of clSetKernelArg() is about the argument's value. */
static bool is_about_the_argument(cl_int error)
{
    return error == CL_INVALID_ARG_VALUE || error == CL_INVALID_ARG_SIZE || error == CL_INVALID_MEM_OBJECT
           || error == CL_MAX_SIZE_RESTRICTION_EXCEEDED;
}

ndr_status ndr_args_fail_for_bytes(const ndr_kernel *kernel, ndr_status status)
{
    const size_t limit = kernel->context->caps.info.max_argument_bytes;
    if (kernel->argument_bytes <= limit) return status;
    return ndr_fail_with_code(NDR_LIMIT_EXCEEDED, ndr_last_cl_error(),
                              "kernel \"%s\" has arguments of %zu bytes together, hidden ones included; the device "
                              "supports %zu: put large arguments in a buffer; the driver refused them: %s",
                              kernel->name, kernel->argument_bytes, limit, ndr_last_error());
}

static ndr_status fail_to_set(const ndr_kernel *kernel, size_t index, cl_int error, const ndr_bound *bound)
{
    const ndr_param *param = &kernel->params[index];
    const char *call = !bound->shared       ? "clSetKernelArg"
                       : bound->shared->free ? "clSetKernelArgMemPointerINTEL"
                                             : "clSetKernelArgSVMPointer";
    const ndr_status driver = ndr_fail_cl(error, call);
    const ndr_status status = ndr_fail_with_code(
        is_about_the_argument(error) ? NDR_BAD_KERNEL_ARGUMENT : driver, error,
        "kernel \"%s\", argument %zu \"%s\" (%s), of %zu bytes: %s%s", kernel->name, index, param->name,
        ndr_param_shown_type(param), bound->size_bytes, ndr_last_error(),
        param->kind == NDR_PARAM_ANY ? "; give it the type that the kernel declares" : "");
    return ndr_args_fail_for_bytes(kernel, status);
}

ndr_status ndr_args_bind_one(const ndr_kernel *kernel, cl_kernel cl, size_t index, const ndr_bound *bound)
{
    const ndr_shared *shared = bound->shared;
    const cl_int error = shared ? shared->set_arg(cl, (cl_uint)index, bound->value)
                                : ndr_cl.clSetKernelArg(cl, (cl_uint)index, bound->size_bytes, bound->value);
    return error == CL_SUCCESS ? NDR_OK : fail_to_set(kernel, index, error, bound);
}

bool ndr_args_need_new_kernel(const ndr_kernel *kernel, const ndr_bound *bound, const ndr_arg *args, size_t arg_count)
{
    if (!ndr_avoids(kernel->context, NDR_QUIRK_SHARED_THEN_BUFFER)) return false;
    for (size_t i = 0; args && i < arg_count; ++i)
        if (bound[i].had_shared && args[i].kind != NDR_ARG_SHARED) return true;
    return false;
}

ndr_status ndr_args_bind(const ndr_kernel *kernel, cl_kernel cl, ndr_bound *bound, size_t arg_count)
{
    for (size_t i = 0; i < arg_count; ++i) {
        if (bound[i].is_set) continue;
        bound[i].set.kind = NDR_ARG_NONE;
        NDR_TRY(ndr_args_bind_one(kernel, cl, i, &bound[i]));
        bound[i].set = bound[i].given;
        bound[i].had_shared = bound[i].shared != NULL;
    }
    return NDR_OK;
}
