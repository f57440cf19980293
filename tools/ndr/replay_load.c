/* replay_load.c - reads the folder of a saved launch. Nothing in it is trusted: each fault is a message. */
#include "replay.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_JSON_BYTES = 64 << 20, MAX_TEXT_BYTES = 64 << 20, MAX_ITEMS = 100000 };

/* ---- files ---- */

static int refuse(const saved_launch *l, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prints "FOLDER/launch.json: ...". */
static int refuse(const saved_launch *l, const char *format, ...)
{
    char why[600];
    va_list values;
    va_start(values, format);
    vsnprintf(why, sizeof why, format, values);
    va_end(values);
    return fail_with("\"%s/launch.json\": %s; save the launch again with NDR_DUMP", l->folder, why);
}

/* Read an open file of `*count` bytes, or of at most `most` if `*count` is SIZE_MAX; a 0 follows. */
static int read_open_file(int file, const char *path, size_t most, unsigned char **bytes, size_t *count)
{
    struct stat about;
    if (fstat(file, &about) != 0 || !S_ISREG(about.st_mode)) return fail_with("\"%s\" is no regular file", path);
    const uint64_t size = (uint64_t)about.st_size;
    if (*count != SIZE_MAX && size != *count)
        return fail_with("\"%s\" has %" PRIu64 " bytes, but launch.json says %zu; the folder is damaged", path, size,
                         *count);
    if (size > most)
        return fail_with("\"%s\" has %" PRIu64 " bytes, more than the %zu that are read", path, size, most);
    unsigned char *const made = malloc((size_t)size + 1);
    if (!made) return fail_with("there is no memory for the %" PRIu64 " bytes of \"%s\"", size, path);
    size_t done = 0;
    for (ssize_t got = 1; done < size && got > 0; done += (size_t)got) {
        got = read(file, made + done, (size_t)size - done);
        if (got < 0) got = 0;
    }
    made[done] = 0;
    *bytes = made; /* the caller frees it in every case */
    *count = done;
    return done == size ? DONE : fail_with("\"%s\" cannot be read to its end: %s", path, strerror(errno));
}

static int read_file(const saved_launch *l, const char *name, size_t most, unsigned char **bytes, size_t *count)
{
    char path[4096];
    if (strchr(name, '/') || name[0] == '.' || name[0] == '\0')
        return refuse(l, "\"%s\" is not the name of a file in this folder", name);
    if (snprintf(path, sizeof path, "%s/%s", l->folder, name) >= (int)sizeof path)
        return fail_with("the path of \"%s\" is too long", name);
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) return fail_with("\"%s\" cannot be read: %s", path, strerror(errno));
    const int code = read_open_file(file, path, most, bytes, count);
    close(file);
    return code;
}

static int read_json(saved_launch *l)
{
    unsigned char *text = NULL;
    size_t bytes = SIZE_MAX;
    json_error_t error;
    const int code = read_file(l, "launch.json", MAX_JSON_BYTES, &text, &bytes);
    if (code == DONE) l->root = json_loadb((const char *)text, bytes, JSON_REJECT_DUPLICATES, &error);
    free(text);
    if (code != DONE) return code;
    return l->root ? DONE : refuse(l, "line %d is not JSON: %s", error.line, error.text);
}

/* ---- parts of launch.json ---- */

static int refuse_entry(const saved_launch *l, const char *list, size_t index, const json_error_t *error)
{
    return refuse(l, "entry %zu of \"%s\": %s", index, list, error->text);
}

/* A member that is a size; `fallback` if there is none. */
static int read_size(const saved_launch *l, const json_t *object, const char *key, size_t fallback, size_t *size)
{
    const json_t *const value = json_object_get(object, key);
    *size = fallback;
    if (!value) return DONE;
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return refuse(l, "\"%s\" is not a number from 0 on", key);
    *size = (size_t)json_integer_value(value);
    return DONE;
}

/* A member that is a list of up to 3 sizes. */
static int read_sizes(const saved_launch *l, const json_t *object, const char *key, ndr_range *out)
{
    const json_t *const list = json_object_get(object, key);
    *out = (ndr_range){ 0 };
    if (list && (!json_is_array(list) || json_array_size(list) > 3))
        return refuse(l, "\"%s\" is not a list of up to 3 sizes", key);
    for (size_t i = 0; i < json_array_size(list); ++i) {
        const json_t *const value = json_array_get(list, i);
        if (!json_is_integer(value) || json_integer_value(value) < 0)
            return refuse(l, "\"%s\" has a size that is not a number from 0 on", key);
        out->size[i] = (size_t)json_integer_value(value);
    }
    out->dims = (unsigned)json_array_size(list);
    return DONE;
}

static int digit_of(char c)
{
    const char *const digits = "0123456789abcdef", *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* A member that is bytes in hexadecimal. */
static int read_hex(const saved_launch *l, const json_t *object, unsigned char **bytes, size_t *count)
{
    const char *const text = json_string_value(json_object_get(object, "bytes"));
    if (!text) return refuse(l, "an argument lacks its \"bytes\"");
    *count = strlen(text) / 2;
    *bytes = malloc(*count + 1);
    if (!*bytes) return fail_with("there is no memory for an argument");
    for (size_t i = 0; i < *count; ++i) {
        const int high = digit_of(text[2 * i]), low = digit_of(text[2 * i + 1]);
        if (high < 0 || low < 0) return refuse(l, "the \"bytes\" of an argument are not hexadecimal digits");
        (*bytes)[i] = (unsigned char)(high << 4 | low);
    }
    return strlen(text) % 2 == 0 ? DONE : refuse(l, "the \"bytes\" of an argument end within a byte");
}

static int read_dtype(const saved_launch *l, const json_t *object, ndr_dtype *dtype)
{
    const char *const name = json_string_value(json_object_get(object, "dtype"));
    *dtype = NDR_DTYPE_NONE;
    if (!name) return DONE;
    for (ndr_dtype t = NDR_DTYPE_I8; t <= NDR_DTYPE_BF16; ++t)
        if (strcmp(name, ndr_dtype_name(t)) == 0) *dtype = t;
    return *dtype ? DONE : refuse(l, "the dtype \"%.40s\" is not known", name);
}

/* ---- the range ---- */

static const char *const edges[] = { "reject", "round_up", "split" };

static json_t *list_of(unsigned dims, const size_t *sizes)
{
    json_t *const list = json_array();
    for (unsigned d = 0; d < dims; ++d) json_array_append_new(list, json_integer((json_int_t)sizes[d]));
    return list;
}

json_t *describe_range(const ndr_nd_range *range)
{
    return json_pack("{ss so so so so}", "edge", edges[range->edge], "global",
                     list_of(range->global.dims, range->global.size), "groups",
                     list_of(range->groups.dims, range->groups.size), "local",
                     list_of(range->local.dims, range->local.size), "offset",
                     list_of(range->global.dims | range->groups.dims, range->offset));
}

static int read_range(saved_launch *l, const json_t *range)
{
    const char *const edge = json_string_value(json_object_get(range, "edge"));
    ndr_range offset = { 0 };
    unsigned e = 0;
    while (edge && e < 3 && strcmp(edge, edges[e]) != 0) ++e;
    if (!edge || e == 3) return refuse(l, "the range's \"edge\" is not reject, round_up or split");
    l->range.edge = (ndr_edge)e;
    int code = read_sizes(l, range, "global", &l->range.global);
    if (code == DONE) code = read_sizes(l, range, "groups", &l->range.groups);
    if (code == DONE) code = read_sizes(l, range, "local", &l->range.local);
    if (code == DONE) code = read_sizes(l, range, "offset", &offset);
    memcpy(l->range.offset, offset.size, sizeof offset.size);
    if (code == DONE && (l->range.global.dims == 0) == (l->range.groups.dims == 0))
        code = refuse(l, "the range has both or neither of \"global\" and \"groups\"");
    return code;
}

/* ---- the kernel ---- */

static int read_text(saved_launch *l, const json_t *files, size_t i)
{
    const char *const name = json_string_value(json_array_get(files, i));
    unsigned char *text = NULL;
    size_t bytes = SIZE_MAX;
    if (!name) return refuse(l, "the kernel's \"files\" are not names");
    const int code = read_file(l, name, MAX_TEXT_BYTES, &text, &bytes);
    l->texts[i] = (char *)text;
    if (i == 0) l->text_bytes = bytes;
    return code;
}

static int read_kernel(saved_launch *l, json_t *kernel)
{
    const char *not_saved = NULL;
    json_error_t error;
    json_t *files = NULL;
    if (json_unpack_ex(kernel, &error, 0, "{s:s, s?s}", "name", &l->kernel, "not_saved", &not_saved) != 0)
        return refuse(l, "\"kernel\": %s", error.text);
    if (not_saved) return fail_with("kernel \"%s\" was not saved: %s; it cannot run again", l->kernel, not_saved);
    if (json_unpack_ex(kernel, &error, 0, "{s:s, s:s, s:s, s?o}", "title", &l->title, "options", &l->options, "form",
                       &l->form, "files", &files)
        != 0)
        return refuse(l, "\"kernel\": %s", error.text);
    if (strcmp(l->form, "source") != 0 && strcmp(l->form, "bundled") != 0 && strcmp(l->form, "spirv") != 0)
        return refuse(l, "the kernel's \"form\" is \"%.40s\", not source, bundled or spirv", l->form);
    const bool is_bundled = strcmp(l->form, "bundled") == 0;
    const size_t count = is_bundled ? 0 : json_array_size(files);
    if (!is_bundled && (count == 0 || count > MAX_ITEMS)) return refuse(l, "the kernel has no \"files\", or too many");
    int code = read_size(l, kernel, "sub_group_size", 0, &l->sub_group_size);
    l->texts = calloc(count + 1, sizeof *l->texts);
    if (!l->texts) return fail_with("there is no memory for the kernel's text");
    for (; code == DONE && l->text_count < count; ++l->text_count) code = read_text(l, files, l->text_count);
    return code;
}

/* ---- buffers ---- */

static int read_bytes(const saved_launch *l, const char *name, saved_buffer *b, unsigned char **bytes)
{
    size_t count = b->size_bytes;
    return name ? read_file(l, name, SIZE_MAX, bytes, &count) : DONE;
}

static int read_buffer(saved_launch *l, size_t i, json_t *entry)
{
    saved_buffer *const b = &l->buffers[i];
    const char *before = NULL, *after = NULL;
    int is_written = 1;
    json_error_t error;
    if (json_unpack_ex(entry, &error, 0, "{s:b, s?s, s?s, s?s}", "is_written", &is_written, "before", &before, "after",
                       &after, "not_saved", &b->missing)
        != 0)
        return refuse_entry(l, "buffers", i, &error);
    b->is_written = is_written != 0;
    int code = read_size(l, entry, "size_bytes", SIZE_MAX, &b->size_bytes);
    if (code == DONE && b->size_bytes == SIZE_MAX) code = refuse(l, "buffer %zu lacks its \"size_bytes\"", i);
    if (code == DONE) code = read_bytes(l, before, b, &b->before);
    if (code == DONE) code = read_bytes(l, after, b, &b->after);
    if (code == DONE && !before && b->size_bytes > 0 && !b->missing) b->missing = "launch.json names no file";
    return code;
}

/* ---- arguments ---- */

/* The names of launch.json, in the order of ndr_arg_kind. */
static const char *const kinds[] = { "none",    "buffer", "null",    "signed",         "unsigned", "float",
                                     "double",  "struct", "local",   "vector",         "image",    "sampler",
                                     "reducer", "shared", "reached", "reached_buffer", "real" };
enum { KIND_COUNT = sizeof kinds / sizeof kinds[0] };

static int read_integer(const saved_launch *l, const json_t *entry, saved_arg *a)
{
    const char *const value = json_string_value(json_object_get(entry, "value"));
    char *end = NULL;
    if (!value || !*value) return refuse(l, "an argument lacks its \"value\"");
    errno = 0;
    if (a->arg.kind == NDR_ARG_SIGNED) a->arg.as.i = strtoll(value, &end, 10);
    else a->arg.as.u = strtoull(value, &end, 10);
    return *end || errno ? refuse(l, "the value \"%.40s\" of an argument is not an integer of 64 bits", value) : DONE;
}

/* The bytes of a float, a double or a reducer's initial value. */
static int read_number_bytes(const saved_launch *l, const json_t *entry, void *to, size_t wanted)
{
    unsigned char *bytes = NULL;
    size_t count = 0;
    int code = read_hex(l, entry, &bytes, &count);
    if (code == DONE && count != wanted) code = refuse(l, "a number of %zu bytes has %zu", wanted, count);
    if (code == DONE) memcpy(to, bytes, wanted);
    free(bytes);
    return code;
}

static int read_struct(const saved_launch *l, const json_t *entry, saved_arg *a)
{
    unsigned char *bytes = NULL;
    const int code = read_hex(l, entry, &bytes, &a->arg.size_bytes);
    a->bytes = bytes;
    a->arg.as.value.bytes = bytes;
    a->arg.as.value.type_name = json_string_value(json_object_get(entry, "type_name"));
    return code;
}

static int read_local(const saved_launch *l, const json_t *entry, saved_arg *a)
{
    ndr_range extents;
    int code = read_size(l, entry, "element_bytes", 0, &a->arg.size_bytes);
    if (code == DONE) code = read_sizes(l, entry, "extents", &extents);
    if (code == DONE && extents.dims != 3) code = refuse(l, "local memory has not 3 \"extents\"");
    if (code == DONE) memcpy(a->arg.as.extent, extents.size, sizeof extents.size);
    a->arg.element_name = json_string_value(json_object_get(entry, "element_name"));
    return code;
}

static int read_place(saved_launch *l, const json_t *entry, saved_arg *a)
{
    int code = read_size(l, entry, "buffer", SIZE_MAX, &a->buffer);
    if (code == DONE && a->buffer >= l->buffer_count)
        code = refuse(l, "an argument names a buffer that is not there; there are %zu", l->buffer_count);
    if (code != DONE) return code;
    saved_buffer *const b = &l->buffers[a->buffer];
    code = read_size(l, entry, "offset_bytes", 0, &a->offset_bytes);
    if (code == DONE) code = read_size(l, entry, "size_bytes", b->size_bytes, &a->size_bytes);
    if (code == DONE && (a->offset_bytes > b->size_bytes || a->size_bytes > b->size_bytes - a->offset_bytes))
        code = refuse(l, "an argument reaches past the end of its buffer of %zu bytes", b->size_bytes);
    if (!b->name) {
        b->name = json_string_value(json_object_get(entry, "name"));
        b->type = json_string_value(json_object_get(entry, "type"));
        const char *const op_end = a->arg.kind == NDR_ARG_REDUCER ? strrchr(b->type, '_') : NULL; /* "SUM_int*" */
        if (op_end) b->type = op_end + 1;
    }
    return code;
}

static int read_reducer(saved_launch *l, const json_t *entry, saved_arg *a)
{
    size_t op = 0;
    int code = read_place(l, entry, a);
    if (code == DONE) code = read_size(l, entry, "op", 0, &op);
    if (code == DONE) code = read_size(l, entry, "element", 0, &a->arg.as.reducer.element);
    if (code == DONE && op > NDR_OP_BIT_XOR) code = refuse(l, "the reducer's \"op\" is %zu, not 1 to 7", op);
    a->arg.as.reducer.op = (ndr_op)op;
    return code == DONE ? read_number_bytes(l, entry, &a->arg.as.reducer.initial, sizeof a->arg.as.reducer.initial)
                        : code;
}

static int read_value(saved_launch *l, const json_t *entry, saved_arg *a)
{
    switch (a->arg.kind) {
    case NDR_ARG_BUFFER: return read_place(l, entry, a);
    case NDR_ARG_REDUCER: return read_reducer(l, entry, a);
    case NDR_ARG_SIGNED:
    case NDR_ARG_UNSIGNED: return read_integer(l, entry, a);
    case NDR_ARG_FLOAT: return read_number_bytes(l, entry, &a->arg.as.f, sizeof a->arg.as.f);
    case NDR_ARG_DOUBLE:
    case NDR_ARG_REAL: return read_number_bytes(l, entry, &a->arg.as.d, sizeof a->arg.as.d);
    case NDR_ARG_STRUCT:
    case NDR_ARG_VECTOR: return read_struct(l, entry, a);
    case NDR_ARG_LOCAL: return read_local(l, entry, a);
    case NDR_ARG_NULL: return DONE;
    default: return refuse(l, "an argument of kind %s has a value", kinds[a->arg.kind]);
    }
}

static int read_arg(saved_launch *l, size_t i, json_t *entry)
{
    saved_arg *const a = &l->args[i];
    const char *kind = "", *name = "", *type = "", *not_saved = NULL;
    json_error_t error;
    if (json_unpack_ex(entry, &error, 0, "{s:s, s:s, s:s, s?s}", "kind", &kind, "name", &name, "type", &type,
                       "not_saved", &not_saved)
        != 0)
        return refuse_entry(l, "args", i, &error);
    if (not_saved)
        return fail_with("argument %zu \"%s\" (%s) of kernel \"%s\" was not saved: %s; the launch cannot run again", i,
                         name, type, l->kernel, not_saved);
    unsigned k = 0;
    while (k < KIND_COUNT && strcmp(kind, kinds[k]) != 0) ++k;
    if (k == KIND_COUNT) return refuse(l, "the kind \"%.40s\" of argument %zu is not known", kind, i);
    a->arg.kind = (ndr_arg_kind)k;
    const int code = read_dtype(l, entry, &a->arg.dtype);
    return code == DONE ? read_value(l, entry, a) : code;
}

/* ---- the launch ---- */

static int read_all(saved_launch *l, const json_t *items, int (*read_one)(saved_launch *, size_t, json_t *))
{
    int code = DONE;
    for (size_t i = 0; code == DONE && i < json_array_size(items); ++i) code = read_one(l, i, json_array_get(items, i));
    return code;
}

static int read_launch(saved_launch *l)
{
    json_t *kernel, *range, *buffers, *args;
    int version = 0, is_checked = 0;
    size_t reached = 0;
    json_error_t error;
    if (json_unpack_ex(l->root, &error, 0, "{s:i, s:s, s:b, s:o, s:o, s:o, s:o}", "ndr_dump", &version, "status",
                       &l->status, "check", &is_checked, "kernel", &kernel, "range", &range, "buffers", &buffers,
                       "args", &args)
        != 0)
        return refuse(l, "%s", error.text);
    if (version != 1) return refuse(l, "\"ndr_dump\" is %d, but this command reads version 1", version);
    l->is_checked = is_checked != 0;
    l->is_shrunk = json_object_get(l->root, "shrunk_from") != NULL;
    l->buffer_count = json_array_size(buffers);
    l->arg_count = json_array_size(args);
    if (l->buffer_count > MAX_ITEMS || l->arg_count > MAX_ITEMS)
        return refuse(l, "it has too many buffers or arguments");
    l->buffers = calloc(l->buffer_count + 1, sizeof *l->buffers);
    l->args = calloc(l->arg_count + 1, sizeof *l->args);
    if (!l->buffers || !l->args) return fail_with("there is no memory for the launch");
    int code = read_kernel(l, kernel);
    if (code == DONE) code = read_size(l, l->root, "reached", 0, &reached);
    if (code == DONE && reached > 0)
        code = fail_with("kernel \"%s\" reaches memory by its address (ndr_reaches), which was not saved; the launch "
                         "cannot run again",
                         l->kernel);
    if (code == DONE) code = read_range(l, range);
    if (code == DONE) code = read_all(l, buffers, read_buffer);
    return code == DONE ? read_all(l, args, read_arg) : code;
}

int load_launch(const char *folder, saved_launch *l)
{
    *l = (saved_launch){ .folder = strdup(folder) };
    if (!l->folder) return fail_with("there is no memory for the launch");
    for (size_t end = strlen(l->folder); end > 1 && l->folder[end - 1] == '/'; --end) l->folder[end - 1] = '\0';
    const int code = read_json(l);
    return code == DONE ? read_launch(l) : code;
}

void free_launch(saved_launch *l)
{
    for (size_t i = 0; l->texts && i < l->text_count; ++i) free(l->texts[i]);
    for (size_t i = 0; l->buffers && i < l->buffer_count; ++i) free(l->buffers[i].before), free(l->buffers[i].after);
    for (size_t i = 0; l->args && i < l->arg_count; ++i) free(l->args[i].bytes);
    free(l->texts);
    free(l->buffers);
    free(l->args);
    json_decref(l->root);
    free(l->folder);
}
