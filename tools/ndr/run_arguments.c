/* run_arguments.c - gives each parameter of a kernel its argument: values, buffers, images, samplers. */
#include "run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- matching ---- */

const char *print_slot(char text[200], const slots *all, const slot *s)
{
    const ndr_parameter_info *p = &s->parameter;
    if (p->kind == NDR_PARAMETER_ANY) snprintf(text, 200, "argument %zu", (size_t)(s - all->list));
    else snprintf(text, 200, "%.80s (%.80s)", p->name, p->type_name);
    return text;
}

/* "x (float*), n (int)" */
static const char *print_slots(char text[1000], const slots *all)
{
    char one[200];
    size_t used = 0;
    snprintf(text, 1000, "none");
    for (size_t i = 0; i < all->count && used < 800; ++i)
        used += (size_t)snprintf(text + used, 1000 - used, "%s%s", i ? ", " : "", print_slot(one, all, &all->list[i]));
    return text;
}

/* What may be written for a parameter. */
static const char *example_of(const ndr_parameter_info *p)
{
    switch (p->kind) {
    case NDR_PARAMETER_GLOBAL:
    case NDR_PARAMETER_CONSTANT: return p->access == NDR_ACCESS_READ ? "=iota" : "=zeros";
    case NDR_PARAMETER_LOCAL: return p->dtype ? "=local:[64]" : "=local:f32[64]";
    case NDR_PARAMETER_VECTOR:
    case NDR_PARAMETER_NUMBER: return "=1";
    case NDR_PARAMETER_IMAGE: return p->access == NDR_ACCESS_READ ? "=@picture.ppm" : ":u8x4[480x640]";
    case NDR_PARAMETER_SAMPLER: return "=sampler";
    case NDR_PARAMETER_REDUCER: return "";
    default: return "=@data.bin";
    }
}

/* PoCL puts "_cl_" in front of a name that is also a built-in function's, such as step. */
bool is_named(const ndr_parameter_info *p, const char *name)
{
    const size_t skipped = strncmp(p->name, "_cl_", 4) == 0 ? 4 : 0;
    return strcmp(p->name, name) == 0 || strcmp(p->name + skipped, name) == 0;
}

static slot *find_slot(const slots *all, const char *name)
{
    for (size_t i = 0; i < all->count; ++i)
        if (is_named(&all->list[i].parameter, name)) return &all->list[i];
    return NULL;
}

static bool are_named(const slots *all) { return all->count == 0 || all->list[0].parameter.kind != NDR_PARAMETER_ANY; }

static int match_named(const argument *a, slots *all, const char *kernel)
{
    char list[1000];
    slot *const s = find_slot(all, a->name);
    if (!s)
        return refuse_argument(a, "the kernel \"%.80s\" has no parameter \"%s\"; it has %s", kernel, a->name,
                               print_slots(list, all));
    if (s->given) return refuse_argument(a, "\"%s\" is given already; leave one of the two out", a->name);
    s->given = a;
    return DONE;
}

/* An argument without a name is for the first parameter that has none. */
static int match_next(const argument *a, slots *all, const char *kernel)
{
    char list[1000];
    size_t i = 0;
    while (i < all->count && all->list[i].given) ++i;
    if (i == all->count)
        return refuse_argument(a, "the kernel \"%.80s\" has no parameter left for it; it has %s", kernel,
                               print_slots(list, all));
    all->list[i].given = a;
    return DONE;
}

static int check_all_given(const slots *all, const char *kernel)
{
    char text[200];
    for (size_t i = 0; i < all->count; ++i) {
        const slot *s = &all->list[i];
        if (s->given) continue;
        fail_with("the kernel \"%s\" takes %zu argument%s, and %s is not given; add it, as in --arg %s%s", kernel,
                  all->count, all->count == 1 ? "" : "s", print_slot(text, all, s),
                  are_named(all) ? s->parameter.name : "", are_named(all) ? example_of(&s->parameter) : "1");
        return USAGE;
    }
    return DONE;
}

static int read_parameters(const ndr_kernel *kernel, slots *all)
{
    ndr_kernel_info info;
    ndr_status status = ndr_kernel_get_info(kernel, &info);
    if (status != NDR_OK) return fail(status);
    all->list = calloc(info.arg_count ? info.arg_count : 1, sizeof *all->list);
    if (!all->list) return fail_with("there is no memory for %u arguments", info.arg_count);
    all->count = info.arg_count;
    for (size_t i = 0; i < all->count && status == NDR_OK; ++i)
        status = ndr_kernel_get_parameter(kernel, i, &all->list[i].parameter);
    return status == NDR_OK ? DONE : fail(status);
}

/* Names first, so that the others fill what is left. Without names of parameters all are in their order. */
int match_arguments(const ndr_kernel *kernel, const argument *arguments, size_t count, slots *all)
{
    ndr_kernel_info info;
    int code = read_parameters(kernel, all);
    if (code != DONE) return code;
    const ndr_status status = ndr_kernel_get_info(kernel, &info);
    if (status != NDR_OK) return fail(status);
    const bool has_names = are_named(all);
    for (size_t i = 0; i < count && code == DONE; ++i)
        if (has_names && arguments[i].name[0]) code = match_named(&arguments[i], all, info.name);
    for (size_t i = 0; i < count && code == DONE; ++i)
        if (!has_names || !arguments[i].name[0]) code = match_next(&arguments[i], all, info.name);
    return code == DONE ? check_all_given(all, info.name) : code;
}

/* ---- memory ---- */

/* What the arguments are made with. */
typedef struct maker {
    ndr_context *context;
    const ndr_nd_range *range;
    size_t most_bytes; /* of a buffer */
} maker;

static element type_of(const ndr_parameter_info *p) { return (element){ p->dtype, p->lanes }; }

/* The type that is written, otherwise the parameter's, otherwise `other`. */
static element choose_type(const slot *s, element other)
{
    if (s->given->type.dtype) return s->given->type;
    return s->parameter.dtype ? type_of(&s->parameter) : other;
}

/* The number of elements that is written, otherwise as many as numbers are, otherwise as the range has items. */
static int choose_shape(const maker *m, const slot *s, element type, shape *chosen)
{
    const argument *a = s->given;
    const ndr_range *all = &m->range->global;
    *chosen = a->shape;
    if (a->shape.dims) return DONE;
    if (a->source == NUMBERS) {
        *chosen = (shape){ 1, { (count_numbers(a->fields[0]) + type.lanes - 1) / type.lanes } };
        return DONE;
    }
    if (all->dims == 0)
        return refuse_argument(a, "its size is not written, and a range of groups gives none; write it, as in %s[1024]",
                               type.dtype ? ndr_dtype_name(type.dtype) : "f32");
    chosen->dims = all->dims;
    memcpy(chosen->size, all->size, all->dims * sizeof *all->size);
    return DONE;
}

static int check_bytes(const maker *m, const slot *s, const contents *c)
{
    const size_t count = count_elements(&c->shape), bytes = element_bytes(c->type);
    char name[16];
    if (count <= m->most_bytes / bytes) return DONE;
    refuse_argument(s->given,
                    "%zu elements of %s are more than the largest buffer of the device holds, %zu; write fewer", count,
                    print_element(name, c->type), m->most_bytes / bytes);
    return FAILED;
}

static int load_memory(const slot *s, element type, contents *c)
{
    return load_file(s->given->path, type, s->given->shape, c);
}

/* Host memory for an argument that is memory. */
static int make_memory(const maker *m, const slot *s, element other, contents *c)
{
    c->type = choose_type(s, other);
    if (s->given->source == FROM) return load_memory(s, c->type, c);
    if (!c->type.dtype) return refuse_argument(s->given, "its type is not written; write it, as in :f32[1024]");
    int code = choose_shape(m, s, c->type, &c->shape);
    if (code == DONE) code = check_bytes(m, s, c);
    if (code == DONE) code = make_zeros(c);
    return code == DONE ? fill_contents(s->given, c) : code;
}

/* ---- buffers ---- */

/* Other elements than the kernel declares may be meant, as bits or bytes. */
static void warn_of_type(const slots *all, const slot *s)
{
    char text[200], name[16];
    const element is = type_of(&s->parameter), given = s->memory.type;
    const bool is_same = is_stored_as(given.dtype, is.dtype) && (given.lanes == 1 || given.lanes == is.lanes);
    if (!is.dtype || !given.dtype || is_same) return;
    fail_with("warning: %s is given elements of %s; the kernel gets their bytes as they are", print_slot(text, all, s),
              print_element(name, given));
}

static int make_buffer(const maker *m, const slots *all, slot *s)
{
    const argument *a = s->given;
    if (a->source == LOCAL || a->source == SAMPLER)
        return refuse_argument(a, "it is for a buffer; write zeros, iota, numbers or @FILE");
    if (a->source == NOTHING) {
        s->arg = (ndr_arg){ .kind = NDR_ARG_NULL };
        return DONE;
    }
    const int code = make_memory(m, s, (element){ NDR_DTYPE_NONE, 1 }, &s->memory);
    if (code != DONE) return code;
    warn_of_type(all, s);
    s->is_output = s->parameter.access != NDR_ACCESS_READ;
    const size_t bytes = s->memory.count * element_bytes(s->memory.type);
    const ndr_status status = ndr_buffer_create_from(m->context, bytes, s->memory.bytes, &s->buffer);
    s->arg = ndr_arg_of(s->buffer);
    return status == NDR_OK ? DONE : fail(status);
}

static int make_local(const maker *m, slot *s)
{
    const argument *a = s->given;
    const ndr_range *group = &m->range->local;
    const element type = choose_type(s, (element){ NDR_DTYPE_NONE, 1 });
    if (a->source != LOCAL && a->source != ZEROS)
        return refuse_argument(a, "it is for local memory; write local:f32[64]");
    if (!type.dtype) return refuse_argument(a, "its type is not written; write it, as in local:f32[64]");
    if (a->shape.dims > 3) return refuse_argument(a, "local memory has 1 to 3 sizes, as in [16x16]; write fewer");
    s->arg = (ndr_arg){ .kind = NDR_ARG_LOCAL,
                        .dtype = type.lanes == 1 ? type.dtype : NDR_DTYPE_NONE,
                        .size_bytes = element_bytes(type),
                        .as.extent = { 1, 1, 1 } };
    const unsigned dims = a->shape.dims ? a->shape.dims : group->dims;
    for (unsigned d = 0; d < dims; ++d) s->arg.as.extent[d] = a->shape.dims ? a->shape.size[d] : group->size[d];
    if (dims == 0 || s->arg.as.extent[0] == 0)
        return refuse_argument(a, "its size is not written, and --local gives none; write it, as in local:f32[64]");
    return DONE;
}

/* ---- values ---- */

/* `bytes` are those of a number of a known type. */
static ndr_arg number_arg(ndr_dtype dtype, const unsigned char *bytes)
{
    ndr_arg arg = { .dtype = dtype == NDR_DTYPE_BF16 ? NDR_DTYPE_U16 : dtype };
    switch (dtype) {
    case NDR_DTYPE_F16: return (ndr_arg){ .kind = NDR_ARG_STRUCT, .size_bytes = 2, .as.value.bytes = bytes };
    case NDR_DTYPE_F32: arg.kind = NDR_ARG_FLOAT; break;
    case NDR_DTYPE_F64: arg.kind = NDR_ARG_DOUBLE; break;
    case NDR_DTYPE_I8:
    case NDR_DTYPE_I16:
    case NDR_DTYPE_I32:
    case NDR_DTYPE_I64: arg.kind = NDR_ARG_SIGNED; break;
    default: arg.kind = NDR_ARG_UNSIGNED; break;
    }
    memcpy(&arg.as, bytes, ndr_dtype_size(dtype));
    if (arg.kind == NDR_ARG_SIGNED) arg.as.i = (int64_t)number_at(dtype, bytes);
    if (dtype == NDR_DTYPE_I64) memcpy(&arg.as.i, bytes, sizeof arg.as.i);
    return arg;
}

static int check_value_type(const slots *all, const slot *s)
{
    char text[200], name[16];
    const element is = type_of(&s->parameter), given = s->given->type;
    if (s->given->has_shape)
        return refuse_argument(s->given, "%s is a value, and [] is for memory; leave it out", print_slot(text, all, s));
    if (!given.dtype || !is.dtype || (is_stored_as(given.dtype, is.dtype) && is.lanes == given.lanes)) return DONE;
    return refuse_argument(s->given, "%s does not take %s; leave the type out", print_slot(text, all, s),
                           print_element(name, given));
}

static int make_value(const slots *all, slot *s)
{
    char text[200];
    const argument *a = s->given;
    contents *c = &s->memory;
    int code = check_value_type(all, s);
    if (code != DONE) return code;
    if (a->is_empty || a->source == LOCAL || a->source == NOTHING || a->source == SAMPLER)
        return refuse_argument(a, "%s takes %s; write it, as in %s=1", print_slot(text, all, s),
                               s->parameter.lanes > 1 ? "numbers" : "a number", s->parameter.name);
    c->type = choose_type(s, (element){ NDR_DTYPE_NONE, 1 });
    c->shape = (shape){ 1, { 1 } };
    if (!c->type.dtype) return refuse_argument(a, "its type is not written; write it, as in 1:i32");
    code = a->source == FROM ? load_file(a->path, c->type, c->shape, c) : make_zeros(c);
    if (code == DONE && a->source != FROM) code = fill_contents(a, c);
    if (code != DONE) return code;
    s->arg = number_arg(c->type.dtype, c->bytes);
    if (c->type.lanes > 1)
        s->arg = (ndr_arg){ .kind = NDR_ARG_VECTOR,
                            .dtype = c->type.dtype,
                            .size_bytes = c->type.lanes * ndr_dtype_size(c->type.dtype),
                            .as.value.bytes = c->bytes };
    return DONE;
}

/* The bytes of a struct, as the kernel lays them out. */
static int make_struct(const maker *m, const slots *all, slot *s)
{
    char text[200];
    const argument *a = s->given;
    if (a->is_empty || a->source == LOCAL || a->source == NOTHING || a->source == SAMPLER)
        return refuse_argument(a, "%s takes the bytes of a struct; write @FILE, or numbers such as 1,2:i32[2]",
                               print_slot(text, all, s));
    int code = make_memory(m, s, (element){ NDR_DTYPE_U8, 1 }, &s->memory);
    if (code != DONE) return code;
    s->arg = (ndr_arg){ .kind = NDR_ARG_STRUCT,
                        .size_bytes = s->memory.count * element_bytes(s->memory.type),
                        .as.value.bytes = s->memory.bytes };
    return DONE;
}

/* ---- reducers ---- */

/* The value that changes no other. */
static void store_identity(ndr_op op, ndr_dtype dtype, void *to)
{
    const size_t size = ndr_dtype_size(dtype);
    const bool is_signed =
        dtype == NDR_DTYPE_I8 || dtype == NDR_DTYPE_I16 || dtype == NDR_DTYPE_I32 || dtype == NDR_DTYPE_I64;
    unsigned char *const bytes = to;
    memset(to, 0, size);
    if (op == NDR_OP_PRODUCT) store_double(dtype, 1, to);
    if (op == NDR_OP_BIT_AND) memset(to, 0xff, size);
    if (op != NDR_OP_MIN && op != NDR_OP_MAX) return;
    if (is_float(dtype)) {
        store_double(dtype, op == NDR_OP_MIN ? (double)INFINITY : -(double)INFINITY, to);
        return;
    }
    memset(to, op == NDR_OP_MIN ? 0xff : 0, size); /* the largest or smallest of an unsigned type */
    if (is_signed) bytes[size - 1] ^= 0x80;
}

static int make_reducer(const maker *m, const slots *all, slot *s)
{
    const argument *a = s->given;
    contents *c = &s->memory;
    int code = check_value_type(all, s);
    c->type = (element){ s->parameter.dtype, 1 };
    c->shape = (shape){ 1, { 1 } };
    if (code == DONE && a->source != ZEROS && a->source != NUMBERS)
        code = refuse_argument(a, "it is for a reducer; write its initial value, or the name alone");
    if (code == DONE) code = make_zeros(c);
    if (code == DONE && a->is_empty) store_identity(s->parameter.op, c->type.dtype, c->bytes);
    else if (code == DONE) code = fill_contents(a, c);
    if (code != DONE) return code;
    const ndr_status status = ndr_buffer_create_from(m->context, element_bytes(c->type), c->bytes, &s->buffer);
    if (status != NDR_OK) return fail(status);
    const ndr_arg initial = number_arg(c->type.dtype, c->bytes);
    s->arg = ndr_reducer(s->parameter.op, initial, s->buffer, 0);
    s->is_output = true;
    return DONE;
}

/* ---- images and samplers ---- */

static bool choose_format(element type, ndr_image_format *format)
{
    static const ndr_channel_type channels[] = {
        [NDR_DTYPE_I8] = NDR_CHANNEL_SNORM8,   [NDR_DTYPE_U8] = NDR_CHANNEL_UNORM8,
        [NDR_DTYPE_I16] = NDR_CHANNEL_SNORM16, [NDR_DTYPE_U16] = NDR_CHANNEL_UNORM16,
        [NDR_DTYPE_I32] = NDR_CHANNEL_I32,     [NDR_DTYPE_U32] = NDR_CHANNEL_U32,
        [NDR_DTYPE_F32] = NDR_CHANNEL_F32,     [NDR_DTYPE_F16] = NDR_CHANNEL_F16
    };
    format->channels = type.lanes == 1 ? NDR_CHANNELS_R : type.lanes == 2 ? NDR_CHANNELS_RG : NDR_CHANNELS_RGBA;
    format->type = (size_t)type.dtype < sizeof channels / sizeof channels[0] ? channels[type.dtype] : NDR_CHANNEL_NONE;
    return format->type != NDR_CHANNEL_NONE && (type.lanes == 1 || type.lanes == 2 || type.lanes == 4);
}

static int make_image(const maker *m, const slots *all, slot *s)
{
    char text[200];
    contents *c = &s->memory;
    const argument *a = s->given;
    if (a->source == LOCAL || a->source == NOTHING || a->source == SAMPLER)
        return refuse_argument(a, "%s takes an image; write @picture.ppm or :u8x4[480x640]", print_slot(text, all, s));
    const int code = make_memory(m, s, (element){ NDR_DTYPE_U8, 4 }, c);
    if (code != DONE) return code;
    ndr_image_desc desc = { .size.dims = c->shape.dims, .contents = c->bytes, .kernels = s->parameter.access };
    if (!choose_format(c->type, &desc.format) || c->shape.dims > 3)
        return refuse_argument(a,
                               "an image has 1 to 3 sizes and elements of i8, u8, i16, u16, i32, u32, f16 or f32, or "
                               "vectors of 2 or 4 of them; write such a type");
    memcpy(desc.size.size, c->shape.size, sizeof desc.size.size);
    desc.is_array = strstr(s->parameter.type_name, "array") != NULL;
    desc.is_read_write = desc.kernels == NDR_ACCESS_READ_WRITE;
    s->is_output = desc.kernels != NDR_ACCESS_READ;
    const ndr_status status = ndr_image_create(m->context, &desc, &s->image);
    s->arg = ndr_arg_of(s->image);
    return status == NDR_OK ? DONE : fail(status);
}

static int make_sampler(const maker *m, const slots *all, slot *s)
{
    static const struct {
        const char *word;
        ndr_sampler_desc means;
    } words[] = { { "linear", { .is_linear = true } },
                  { "normalized", { .is_normalized = true } },
                  { "clamp", { .addressing = NDR_ADDRESSING_CLAMP } },
                  { "repeat", { .addressing = NDR_ADDRESSING_REPEAT } },
                  { "mirrored", { .addressing = NDR_ADDRESSING_MIRRORED_REPEAT } },
                  { "none", { .addressing = NDR_ADDRESSING_NONE } } };
    enum { WORDS = sizeof words / sizeof words[0] };
    const argument *a = s->given;
    ndr_sampler_desc desc = { 0 };
    char text[200];
    if (a->source != SAMPLER && !a->is_empty)
        return refuse_argument(a, "%s takes a sampler; write sampler, or sampler:linear:normalized:repeat",
                               print_slot(text, all, s));
    for (size_t i = 1; i < a->field_count; ++i) {
        size_t w = 0;
        while (w < WORDS
               && !(strlen(words[w].word) == a->fields[i].length
                    && strncmp(words[w].word, a->fields[i].at, a->fields[i].length) == 0))
            ++w;
        if (w == WORDS)
            return refuse_argument(
                a, "\"%.*s\" is none of linear, normalized, clamp, repeat, mirrored and none; write one of these",
                (int)a->fields[i].length, a->fields[i].at);
        desc.is_linear |= words[w].means.is_linear;
        desc.is_normalized |= words[w].means.is_normalized;
        if (words[w].means.addressing) desc.addressing = words[w].means.addressing;
    }
    const ndr_status status = ndr_sampler_create(m->context, &desc, &s->sampler);
    s->arg = ndr_arg_of(s->sampler);
    return status == NDR_OK ? DONE : fail(status);
}

/* ---- all ---- */

/* Of a parameter that the driver does not describe, the argument tells what it is. */
static int make_any(const maker *m, const slots *all, slot *s)
{
    const argument *a = s->given;
    if (a->source == LOCAL) return make_local(m, s);
    return a->has_shape || a->source == FROM || a->source == NOTHING ? make_buffer(m, all, s) : make_value(all, s);
}

static int make_one(const maker *m, const slots *all, slot *s)
{
    char text[200];
    switch (s->parameter.kind) {
    case NDR_PARAMETER_GLOBAL:
    case NDR_PARAMETER_CONSTANT: return make_buffer(m, all, s);
    case NDR_PARAMETER_LOCAL: return make_local(m, s);
    case NDR_PARAMETER_NUMBER:
    case NDR_PARAMETER_VECTOR: return make_value(all, s);
    case NDR_PARAMETER_STRUCT: return make_struct(m, all, s);
    case NDR_PARAMETER_IMAGE: return make_image(m, all, s);
    case NDR_PARAMETER_SAMPLER: return make_sampler(m, all, s);
    case NDR_PARAMETER_REDUCER: return make_reducer(m, all, s);
    case NDR_PARAMETER_ANY: return make_any(m, all, s);
    default:
        return fail_with("%s is of a type that libndr cannot pass; pass its data in a buffer",
                         print_slot(text, all, s));
    }
}

int make_arguments(ndr_context *context, const ndr_nd_range *range, slots *all)
{
    ndr_device_info device;
    const ndr_status status = ndr_context_get_device(context, &device);
    if (status != NDR_OK) return fail(status);
    const maker m = { context, range, device.max_buffer_bytes };
    int code = DONE;
    for (size_t i = 0; i < all->count && code == DONE; ++i) code = make_one(&m, all, &all->list[i]);
    return code;
}

/* A vector of 3 has a gap, whose bytes mean nothing. */
static void clear_gaps(contents *c)
{
    const size_t size = ndr_dtype_size(c->type.dtype);
    for (size_t i = 0; c->type.lanes == 3 && i < c->count; ++i) memset(c->bytes + (4 * i + 3) * size, 0, size);
}

int read_slot(ndr_queue *queue, slot *s)
{
    contents *c = &s->memory;
    ndr_status status = NDR_OK;
    if (s->buffer) status = ndr_buffer_read(queue, s->buffer, 0, c->count * element_bytes(c->type), c->bytes, NULL);
    else if (s->image) status = ndr_image_read(queue, s->image, NULL, c->bytes, NULL);
    if (status != NDR_OK) return fail(status);
    clear_gaps(c);
    return DONE;
}

void free_slots(slots *all)
{
    for (size_t i = 0; i < all->count; ++i) {
        ndr_buffer_destroy(all->list[i].buffer);
        ndr_image_destroy(all->list[i].image);
        ndr_sampler_destroy(all->list[i].sampler);
        free(all->list[i].memory.bytes);
    }
    free(all->list);
}
