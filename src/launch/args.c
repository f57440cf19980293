/* args.c - kernel arguments by their kinds: checks them against the signature, uses, sets and keeps them. values.c
 * converts numbers and bytes. */
#include "device/buffer.h"
#include "device/context.h"
#include "device/image.h"
#include "device/shared.h"
#include "launch/args.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- sentences ---- */

ndr_arg_text ndr_arg_print(const ndr_kernel *kernel, size_t index, const ndr_arg *arg)
{
    ndr_arg_text out;
    const ndr_param *param = index < kernel->info.arg_count ? &kernel->params[index] : NULL;
    const int used = snprintf(out.chars, sizeof out.chars, "kernel \"%.80s\", argument %zu", kernel->name, index);
    snprintf(out.chars + used, sizeof out.chars - (size_t)used, param ? " \"%.100s\" (%.100s)" : "%.0s (%.40s)",
             param ? param->name : "", param ? ndr_param_shown_type(param) : ndr_arg_kind_name(arg));
    return out;
}

ndr_status ndr_arg_refuse(const ndr_arg_check *p, ndr_status status, const char *format, ...)
{
    ndr_text why = { 0 };
    va_list values;
    va_start(values, format);
    ndr_text_add_v(&why, format, values);
    va_end(values);
    ndr_fail(status, "%s %s", ndr_arg_print(p->kernel, p->index, p->arg).chars, why.chars ? why.chars : "");
    ndr_text_free(&why);
    return status;
}

/* "x (float*), a (float)": the parameters. */
static void add_parameters(const ndr_kernel *kernel, ndr_text *out)
{
    for (unsigned i = 0; i < kernel->info.arg_count; ++i)
        ndr_text_add(out, "%s%s (%s)", i ? ", " : "", kernel->params[i].name, ndr_param_shown_type(&kernel->params[i]));
}

/* Arguments in another order are the usual cause, so the sentence has the parameters. */
ndr_status ndr_arg_refuse_kind(const ndr_arg_check *p, const char *wanted)
{
    ndr_text list = { 0 };
    const bool has_order = p->kernel->info.arg_count > 1;
    if (has_order) add_parameters(p->kernel, &list);
    ndr_arg_refuse(p, NDR_BAD_KERNEL_ARGUMENT, "takes %s, but %s is given%s%s", wanted, ndr_arg_kind_name(p->arg),
                   has_order ? "; the parameters in order are " : "", list.chars ? list.chars : "");
    ndr_text_free(&list);
    return NDR_BAD_KERNEL_ARGUMENT;
}

/* ---- the kinds ---- */

/* What is known of a kind of argument. The members from `missing` on are of kinds with an object, where `as` begins. */
typedef struct arg_kind {
    const char *name;             /* in sentences */
    ndr_arg_convert *convert;     /* whatever the parameter is */
    const char *missing, *object; /* "is a NULL buffer; ...", "is a buffer" */
    ndr_handle_kind handle;
    size_t context, cl; /* where the object has its context, and OpenCL's handle */
    void (*keep)(const ndr_arg *arg);
    void (*release)(const ndr_arg *arg);
    bool (*is_free)(const ndr_arg *arg, bool device_writes);            /* NULL: always */
    ndr_status (*add_user)(const ndr_arg *arg, const ndr_queue *queue); /* NULL: OpenCL knows the users */
} arg_kind;

static void keep_buffer(const ndr_arg *arg) { (void)ndr_buffer_keep(arg->as.buffer); }
static void keep_image(const ndr_arg *arg) { ndr_image_keep(arg->as.image); }
static void keep_sampler(const ndr_arg *arg) { ndr_sampler_keep(arg->as.sampler); }
static void keep_shared(const ndr_arg *arg) { ndr_shared_keep(arg->as.shared.allocation); }
static void release_buffer(const ndr_arg *arg) { ndr_buffer_release(arg->as.buffer); }
static void release_image(const ndr_arg *arg) { ndr_image_release(arg->as.image); }
static void release_sampler(const ndr_arg *arg) { ndr_sampler_release(arg->as.sampler); }
static void release_shared(const ndr_arg *arg) { ndr_shared_release(arg->as.shared.allocation); }
static bool is_buffer_free(const ndr_arg *arg, bool writes) { return ndr_buffer_is_free(arg->as.buffer, writes); }
static bool is_image_free(const ndr_arg *arg, bool writes) { return ndr_image_is_free(arg->as.image, writes); }
static bool is_shared_free(const ndr_arg *arg, bool writes)
{
    return ndr_shared_is_free(arg->as.shared.allocation, writes);
}
static ndr_status add_buffer_user(const ndr_arg *arg, const ndr_queue *queue)
{
    return ndr_buffer_add_user(arg->as.buffer, queue);
}
static ndr_status add_shared_user(const ndr_arg *arg, const ndr_queue *queue)
{
    return ndr_shared_add_user(arg->as.shared.allocation, queue);
}

static ndr_arg_convert convert_null, convert_object, convert_shared, refuse_none, refuse_reached;

#define OBJECT(type, kind, noun) kind, offsetof(type, context), offsetof(type, cl), keep_##noun, release_##noun
#define A_BUFFER OBJECT(ndr_buffer, NDR_HANDLE_BUFFER, buffer), is_buffer_free
#define AN_ALLOCATION                                                                                           \
    "is a shared allocation", NDR_HANDLE_SHARED, offsetof(ndr_shared, context), 0, keep_shared, release_shared, \
        is_shared_free, add_shared_user

static const arg_kind kinds[] = {
    [NDR_ARG_NONE] = { .name = "nothing", .convert = refuse_none },
    [NDR_ARG_BUFFER] = { "a buffer", convert_object, "is a NULL buffer; write ndr_null if that is meant", "is a buffer",
                         A_BUFFER, NULL },
    [NDR_ARG_NULL] = { .name = "ndr_null", .convert = convert_null },
    [NDR_ARG_SIGNED] = { .name = "an integer", .convert = ndr_convert_any_number },
    [NDR_ARG_UNSIGNED] = { .name = "an integer", .convert = ndr_convert_any_number },
    [NDR_ARG_FLOAT] = { .name = "a float", .convert = ndr_convert_any_number },
    [NDR_ARG_DOUBLE] = { .name = "a double", .convert = ndr_convert_any_number },
    [NDR_ARG_STRUCT] = { .name = "a struct", .convert = ndr_convert_any_struct },
    [NDR_ARG_LOCAL] = { .name = "local memory", .convert = ndr_convert_local },
    [NDR_ARG_VECTOR] = { .name = "a vector", .convert = ndr_convert_any_vector },
    [NDR_ARG_IMAGE] = { "an image", convert_object, "is a NULL image; pass one made by ndr_image_create()",
                        "is an image", OBJECT(ndr_image, NDR_HANDLE_IMAGE, image), is_image_free, NULL },
    [NDR_ARG_SAMPLER] = { "a sampler", convert_object, "is a NULL sampler; pass one made by ndr_sampler_create()",
                          "is a sampler", OBJECT(ndr_sampler, NDR_HANDLE_SAMPLER, sampler), NULL, NULL },
    [NDR_ARG_REDUCER] = { "a reducer", ndr_convert_any_number,
                          "is a reducer without a buffer; pass the buffer that receives the result", "has a buffer",
                          A_BUFFER, NULL },
    [NDR_ARG_SHARED] = { "a shared allocation", convert_shared,
                         "is a NULL shared allocation; write ndr_null if that is meant", AN_ALLOCATION },
    [NDR_ARG_REACHED] = { "ndr_reaches()", refuse_reached,
                          "is a NULL shared allocation; pass one made by ndr_shared_create()", AN_ALLOCATION },
    [NDR_ARG_REACHED_BUFFER] = { "ndr_reaches_buffer()", refuse_reached,
                                 "is a NULL buffer; pass one with an address (ndr_buffer_desc.has_address)",
                                 "is a buffer", A_BUFFER, add_buffer_user },
    [NDR_ARG_REAL] = { .name = "a floating-point number", .convert = ndr_convert_any_number },
};

static const arg_kind *kind_of(const ndr_arg *arg)
{
    return &kinds[(unsigned)arg->kind < NDR_COUNT_OF(kinds) ? arg->kind : NDR_ARG_NONE];
}

const char *ndr_arg_kind_name(const ndr_arg *arg) { return kind_of(arg)->name; }
ndr_handle_kind ndr_arg_handle(const ndr_arg *arg) { return kind_of(arg)->handle; }

static bool is_reached(const ndr_arg *arg)
{
    return arg->kind == NDR_ARG_REACHED || arg->kind == NDR_ARG_REACHED_BUFFER;
}

void ndr_arg_keep(const ndr_arg *arg)
{
    if (kind_of(arg)->keep) kind_of(arg)->keep(arg);
}

void ndr_arg_release(const ndr_arg *arg)
{
    if (kind_of(arg)->release) kind_of(arg)->release(arg);
}

static bool has_bytes(const ndr_arg *arg) { return arg->kind == NDR_ARG_STRUCT || arg->kind == NDR_ARG_VECTOR; }

/* The bytes, and the name behind them. */
static ndr_status take_bytes(const ndr_arg *arg, ndr_arg *taken)
{
    const char *const name = arg->as.value.type_name;
    const size_t name_bytes = name ? strlen(name) + 1 : 0;
    char *const copy = malloc(arg->size_bytes + name_bytes);
    NDR_REQUIRE_AS(NDR_OUT_OF_HOST_MEMORY, copy, "no memory for a copy of an argument");
    memcpy(copy, arg->as.value.bytes, arg->size_bytes);
    if (name) memcpy(copy + arg->size_bytes, name, name_bytes);
    *taken = *arg;
    taken->as.value.bytes = copy;
    taken->as.value.type_name = name ? copy + arg->size_bytes : NULL;
    return NDR_OK;
}

ndr_status ndr_arg_take(const ndr_arg *arg, ndr_arg *taken)
{
    *taken = (ndr_arg){ .kind = NDR_ARG_NONE };
    if (has_bytes(arg)) return take_bytes(arg, taken);
    *taken = *arg;
    ndr_arg_keep(taken);
    return NDR_OK;
}

void ndr_arg_drop(const ndr_arg *taken)
{
    if (has_bytes(taken)) free((void *)(uintptr_t)taken->as.value.bytes);
    else ndr_arg_release(taken);
}

/* ---- objects ---- */

static const char *object_of(const ndr_arg *arg) { return (const char *)arg->as.buffer; }

static ndr_status check_object(const ndr_arg_check *p)
{
    const arg_kind *kind = kind_of(p->arg);
    const char *object = object_of(p->arg);
    NDR_REQUIRE_ARG(p, object, "%s", kind->missing);
    NDR_REQUIRE_ARG(p, *(ndr_context *const *)(const void *)(object + kind->context) == p->kernel->context,
                    "%s of another context than the kernel's%s; create it in that one", kind->object,
                    ndr_handle_or_destroyed());
    return NDR_OK;
}

static ndr_status convert_object(const ndr_arg_check *p, ndr_bound *out)
{
    NDR_TRY(check_object(p));
    out->size_bytes = sizeof(cl_mem); /* and of a cl_sampler */
    out->value = object_of(p->arg) + kind_of(p->arg)->cl;
    return NDR_OK;
}

static ndr_status convert_null(const ndr_arg_check *p, ndr_bound *out)
{
    static const cl_mem null = NULL;
    (void)p;
    out->size_bytes = sizeof null;
    out->value = &null;
    return NDR_OK;
}

static ndr_status convert_shared(const ndr_arg_check *p, ndr_bound *out)
{
    NDR_TRY(check_object(p));
    const ndr_shared *shared = p->arg->as.shared.allocation;
    const unsigned char *pointer = p->arg->as.shared.pointer;
    if (!pointer) pointer = shared->start;
    NDR_REQUIRE_ARG(p, (uintptr_t)pointer - (uintptr_t)shared->start <= shared->size_bytes,
                    "is given the address %p, which is not in the shared allocation of %zu bytes at %p; pass an "
                    "address in it",
                    (const void *)pointer, shared->size_bytes, (void *)shared->start);
    out->shared = shared;
    out->size_bytes = sizeof pointer;
    out->value = pointer;
    return NDR_OK;
}

ndr_status ndr_args_check_handles(const ndr_kernel *kernel, size_t first, const ndr_arg *args, size_t arg_count)
{
    for (size_t i = 0; args && i < arg_count; ++i) {
        const char *const who = ndr_arg_print(kernel, first + i, &args[i]).chars;
        NDR_TRY(ndr_handle_require(ndr_arg_handle(&args[i]), object_of(&args[i]), who, NULL));
    }
    return NDR_OK;
}

static ndr_status check_access(const ndr_arg_check *p)
{
    const ndr_access access = p->arg->as.buffer->kernel_access;
    const bool writes = ndr_param_is_written(p->param);
    NDR_REQUIRE_ARG(p, !writes || access != NDR_ACCESS_READ,
                    "is a buffer that was created read-only for kernels (ndr_buffer_desc.kernels), but this kernel may "
                    "write to it; declare the parameter const");
    NDR_REQUIRE_ARG(p, writes || access != NDR_ACCESS_WRITE,
                    "is a buffer that was created write-only for kernels (ndr_buffer_desc.kernels), but this kernel "
                    "reads it; change that field");
    return NDR_OK;
}

static ndr_status convert_pointer(const ndr_arg_check *p, ndr_bound *out)
{
    const ndr_arg_kind kind = p->arg->kind;
    if (kind != NDR_ARG_BUFFER && kind != NDR_ARG_SHARED && kind != NDR_ARG_NULL)
        return ndr_arg_refuse_kind(p, "a buffer");
    NDR_TRY(kinds[kind].convert(p, out));
    return kind == NDR_ARG_BUFFER ? check_access(p) : NDR_OK;
}

static ndr_status check_image(const ndr_arg_check *p, const char *type_name)
{
    static const char *const uses[] = { "reads and writes", "reads", "writes" };
    static const char *const created[] = { "", "read-only for kernels", "write-only for kernels",
                                           "without kernel access" };
    const ndr_image *image = p->arg->as.image;
    const ndr_access access = p->param->access;
    NDR_REQUIRE_ARG(p, strcmp(image->type_name, type_name) == 0,
                    "is given an %s; compare the dimensions and ndr_image_desc.is_array, buffer and format",
                    image->type_name);
    NDR_REQUIRE_ARG(
        p, image->kernel_access == NDR_ACCESS_READ_WRITE || image->kernel_access == access,
        "is an image that was created %s (ndr_image_desc.kernels), but this kernel %s it; change that field",
        created[image->kernel_access], uses[access]);
    NDR_REQUIRE_ARG_AS(NDR_UNSUPPORTED, p, access != NDR_ACCESS_READ_WRITE || image->is_read_write,
                       "is an image of a format that the device does not have for read_write parameters; "
                       "ndr_image_list_formats() lists those it has (ndr_image_desc.is_read_write)");
    return NDR_OK;
}

/* The type may have an access qualifier in front. A typedef of an image or a sampler is not known. */
static ndr_status convert_opaque(const ndr_arg_check *p, ndr_bound *out)
{
    const char *space = strrchr(p->param->type_name, ' '), *type = space ? space + 1 : p->param->type_name;
    const bool is_image = strncmp(type, "image", 5) == 0;
    NDR_REQUIRE_ARG_AS(NDR_UNSUPPORTED, p, is_image || strcmp(type, "sampler_t") == 0,
                       "is of a type that libndr cannot pass; pass its data in a buffer");
    if (p->arg->kind != (is_image ? NDR_ARG_IMAGE : NDR_ARG_SAMPLER))
        return ndr_arg_refuse_kind(p, is_image ? "an image" : "a sampler");
    NDR_TRY(convert_object(p, out));
    return is_image ? check_image(p, type) : NDR_OK;
}

static ndr_status convert_reducer(const ndr_arg_check *p, ndr_bound *out)
{
    if (p->arg->kind != NDR_ARG_REDUCER) return ndr_arg_refuse_kind(p, "a reducer (ndr_reducer)");
    NDR_TRY(ndr_convert_initial(p, out));
    NDR_TRY(convert_object(p, out));
    const size_t element = p->arg->as.reducer.element, bytes = p->param->size_bytes;
    const size_t count = p->arg->as.reducer.buffer->size_bytes / bytes;
    NDR_REQUIRE_ARG_AS(NDR_OUT_OF_BOUNDS, p, element < count,
                       "goes to element %zu, but its buffer holds %zu elements of %zu bytes, counted from 0; lower it",
                       element, count, bytes);
    return check_access(p);
}

/* ---- checking ---- */

static ndr_status refuse_none(const ndr_arg_check *p, ndr_bound *out)
{
    (void)out;
    NDR_REQUIRE_ARG(p, p->arg->kind == NDR_ARG_NONE,
                    "has a wrong kind: %d is not an ndr_arg_kind; make the argument with ndr_arg_of()",
                    (int)p->arg->kind);
    return ndr_arg_refuse(p, NDR_BAD_KERNEL_ARGUMENT,
                          "was never set: make it with ndr_arg_of() (ndr_local takes 1 to 3 extents, ndr_reducer a "
                          "number)");
}

static ndr_status refuse_reached(const ndr_arg_check *p, ndr_bound *out)
{
    (void)out;
    return ndr_arg_refuse(p, NDR_BAD_KERNEL_ARGUMENT,
                          "is given %s, which is not an argument; put it after the last argument",
                          ndr_arg_kind_name(p->arg));
}

/* NULL for a parameter of unknown type, which takes any argument. */
static ndr_arg_convert *const by_param[] = {
    [NDR_PARAM_GLOBAL] = convert_pointer,  [NDR_PARAM_CONSTANT] = convert_pointer,
    [NDR_PARAM_LOCAL] = ndr_convert_local, [NDR_PARAM_NUMBER] = ndr_convert_number,
    [NDR_PARAM_BYTES] = ndr_convert_bytes, [NDR_PARAM_OPAQUE] = convert_opaque,
    [NDR_PARAM_REDUCER] = convert_reducer, [NDR_PARAM_ANY] = NULL,
};

static ndr_status convert_arg(const ndr_arg_check *p, ndr_bound *out)
{
    ndr_arg_convert *const any = kind_of(p->arg)->convert, *const own = by_param[p->param->kind];
    return (!own || any == refuse_none || any == refuse_reached ? any : own)(p, out);
}

static const char *hint_for_count(const ndr_kernel *kernel, const ndr_arg *args, size_t count)
{
    for (size_t i = 0; args && i < count; ++i)
        if (is_reached(&args[i])) return "; move ndr_reaches() behind them";
    return kernel->arg_count > 0 && kernel->params[0].kind == NDR_PARAM_ANY
               ? "; the driver does not describe them, so the hidden one of NDR_RANGE or NDR_ND_RANGE counts: build "
                 "the program with -cl-kernel-arg-info, or get a kernel that has one from its source"
               : "";
}

__attribute__((cold)) static ndr_status refuse_count(const ndr_kernel *kernel, const ndr_arg *args, size_t arg_count)
{
    const unsigned wanted = kernel->info.arg_count;
    ndr_text list = { 0 };
    add_parameters(kernel, &list);
    const ndr_status status = ndr_fail(
        NDR_BAD_KERNEL_ARGUMENT, "kernel \"%s\" takes %u argument%s, but %zu %s given; its parameters are %s%s",
        kernel->name, wanted, wanted == 1 ? "" : "s", arg_count, arg_count == 1 ? "is" : "are",
        list.chars ? list.chars : "none", hint_for_count(kernel, args, arg_count));
    ndr_text_free(&list);
    return status;
}

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

ndr_status ndr_args_check_one(const ndr_kernel *kernel, size_t index, const ndr_arg *arg, ndr_bound *bound,
                              ndr_args_found *found)
{
    const ndr_param *param = &kernel->params[index];
    bound->given = mark_of(param, arg);
    bound->shared = NULL;
    NDR_TRY(convert_arg(&(ndr_arg_check){ kernel, index, param, arg }, bound));
    found->has_new = true;
    found->has_shared |= bound->shared != NULL;
    if (arg->kind == NDR_ARG_LOCAL && !ndr_add_fits(found->local_bytes, bound->size_bytes, &found->local_bytes))
        found->local_bytes = SIZE_MAX;
    return NDR_OK;
}

ndr_status ndr_args_check(const ndr_kernel *kernel, const ndr_arg *args, size_t arg_count, ndr_bound *bound,
                          ndr_args_found *found)
{
    *found = (ndr_args_found){ .local_bytes = 0 };
    if (arg_count != kernel->info.arg_count) return refuse_count(kernel, args, arg_count);
    NDR_REQUIRE(args || arg_count == 0,
                "kernel \"%s\": args is NULL, but arg_count is %zu; pass an array of that length", kernel->name,
                arg_count);
    for (size_t i = 0; i < arg_count; ++i) {
        bound[i].is_set = is_set_already(&args[i], bound[i].set);
        if (!bound[i].is_set) NDR_TRY(ndr_args_check_one(kernel, i, &args[i], &bound[i], found));
    }
    return NDR_OK;
}

/* ---- memory that a kernel reaches without an argument ---- */

size_t ndr_args_count_reached(const ndr_arg *args, size_t arg_count)
{
    size_t count = 0;
    while (args && count < arg_count && is_reached(&args[arg_count - 1 - count])) ++count;
    return count;
}

ndr_status ndr_args_check_reached(const ndr_kernel *kernel, const ndr_arg *args, size_t arg_count)
{
    for (size_t i = kernel->info.arg_count; i < arg_count; ++i) {
        const ndr_arg_check p = { kernel, i, NULL, &args[i] };
        NDR_TRY(check_object(&p));
        NDR_REQUIRE_ARG(&p, args[i].kind != NDR_ARG_REACHED_BUFFER || args[i].as.buffer->address,
                        "was created without an address; set ndr_buffer_desc.has_address");
    }
    return NDR_OK;
}

/* ---- using ---- */

/* Whether nothing more is to be checked: no part of the buffer is mapped. */
static inline bool is_usable(const ndr_kernel *kernel, const ndr_arg *arg, size_t index)
{
    enum {
        OTHERS = 1 << NDR_ARG_NONE | 1 << NDR_ARG_REDUCER | 1 << NDR_ARG_IMAGE | 1 << NDR_ARG_SHARED
                 | 1 << NDR_ARG_REACHED | 1 << NDR_ARG_REACHED_BUFFER
    };
    if (arg->kind != NDR_ARG_BUFFER) return !(OTHERS >> arg->kind & 1);
    return ndr_mappings_allow(&arg->as.buffer->whole->mappings, ndr_param_is_written(&kernel->params[index]));
}

/* Of an argument, or of what the kernel reaches without one, which it may write. */
static ndr_status use_object(const ndr_arg_check *p, const ndr_queue *queue)
{
    const arg_kind *kind = kind_of(p->arg);
    const bool is_image = p->arg->kind == NDR_ARG_IMAGE;
    const bool writes = !p->param || (is_image ? p->param->access != NDR_ACCESS_READ : ndr_param_is_written(p->param));
    NDR_REQUIRE_ARG(p, p->arg->kind != NDR_ARG_NONE,
                    "is not set, because OpenCL failed; set it again with ndr_prepared_set()");
    NDR_REQUIRE_ARG(p, kind->is_free(p->arg, writes), "%s%s that the host has mapped; unmap it first", kind->object,
                    is_image && p->arg->as.image->buffer ? " over a buffer" : "");
    return kind->add_user ? kind->add_user(p->arg, queue) : NDR_OK;
}

ndr_status ndr_args_use(const ndr_kernel *kernel, const ndr_queue *queue, const ndr_arg *args, size_t arg_count)
{
    for (size_t i = 0; i < arg_count; ++i) {
        if (is_usable(kernel, &args[i], i)) continue;
        const ndr_param *param = i < kernel->info.arg_count ? &kernel->params[i] : NULL;
        NDR_TRY(use_object(&(ndr_arg_check){ kernel, i, param, &args[i] }, queue));
    }
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
    const char *call = !bound->shared        ? "clSetKernelArg"
                       : bound->shared->free ? "clSetKernelArgMemPointerINTEL"
                                             : "clSetKernelArgSVMPointer";
    const ndr_status driver = ndr_fail_cl(error, call);
    const bool is_any = kernel->params[index].kind == NDR_PARAM_ANY;
    const ndr_status status =
        ndr_fail_with_code(is_about_the_argument(error) ? NDR_BAD_KERNEL_ARGUMENT : driver, error,
                           "%s, of %zu bytes: %s%s", ndr_arg_print(kernel, index, NULL).chars, bound->size_bytes,
                           ndr_last_error(), is_any ? "; give it the type that the kernel declares" : "");
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
    for (size_t i = 0; args && i < arg_count && i < kernel->info.arg_count; ++i)
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
        bound[i].had_shared |= bound[i].shared != NULL;
    }
    return NDR_OK;
}
