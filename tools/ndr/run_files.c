/* run_files.c - the files of `ndr run`: raw bytes, NumPy's .npy, PGM and PPM images. Needs no device. */
#include "run.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

typedef enum format { RAW, NPY, PGM, PPM } format;

static format format_of(const char *path)
{
    static const char *const ends[] = { [NPY] = ".npy", [PGM] = ".pgm", [PPM] = ".ppm" };
    const size_t length = strlen(path);
    for (format f = NPY; f <= PPM; ++f)
        if (length > 4 && strcmp(path + length - 4, ends[f]) == 0) return f;
    return RAW;
}

/* ---- reading ---- */

/* A file, with a 0 behind its last byte. */
typedef struct file {
    const char *path;
    unsigned char *bytes;
    size_t length;
} file;

static int read_stream(FILE *from, file *f)
{
    size_t capacity = 0;
    do {
        if (capacity - f->length < 2) {
            capacity = capacity ? 2 * capacity : 1 << 16;
            unsigned char *const more = realloc(f->bytes, capacity);
            if (!more) return fail_with("there is no memory for the file \"%s\"", f->path);
            f->bytes = more;
        }
        f->length += fread(f->bytes + f->length, 1, capacity - f->length - 1, from);
    } while (!feof(from) && !ferror(from));
    f->bytes[f->length] = 0;
    if (ferror(from))
        return fail_with("the file \"%s\" cannot be read: %s; name a file, and no folder", f->path, strerror(errno));
    return DONE;
}

static int read_file(file *f)
{
    FILE *const from = fopen(f->path, "rb");
    if (!from)
        return fail_with("the file \"%s\" cannot be opened: %s; check its path and permissions", f->path,
                         strerror(errno));
    const int code = read_stream(from, f);
    fclose(from);
    return code;
}

int load_bytes(const char *path, unsigned char **bytes, size_t *count)
{
    file f = { .path = path };
    const int code = read_file(&f);
    if (code != DONE) return free(f.bytes), code;
    *bytes = f.bytes;
    *count = f.length;
    return DONE;
}

/* ---- what the file has, and what is wanted ---- */

/* Elements as a file has them, before the wanted type and shape are compared. */
typedef struct stored {
    const char *path;
    ndr_dtype dtype;
    shape shape;                /* of numbers */
    const unsigned char *bytes; /* numbers without gaps */
} stored;

/* Takes the last dimension as the lanes of vectors. A .npy file of float3 may have 3 numbers for each, or 4. */
static int group_lanes(const stored *s, element *type, shape *of_elements, unsigned *given_lanes)
{
    char text[200], name[16];
    *of_elements = s->shape;
    *given_lanes = 1;
    if (type->lanes == 1) return DONE;
    const size_t last = s->shape.dims ? s->shape.size[s->shape.dims - 1] : 0;
    if (last == type->lanes || last == stored_lanes(*type)) {
        --of_elements->dims;
        *given_lanes = (unsigned)last;
        return DONE;
    }
    return fail_with("the file \"%s\" has the shape %s, but %s needs a last dimension of %u", s->path,
                     print_shape(text, &s->shape), print_element(name, *type), type->lanes);
}

static bool is_same_shape(const shape *a, const shape *b)
{
    return a->dims == b->dims && memcmp(a->size, b->size, a->dims * sizeof *a->size) == 0;
}

/* A shape of one dimension takes any shape of as many elements. */
static int check_shape(const char *path, const shape *has, const shape *wanted)
{
    char text[200], other[200];
    const bool is_flat = wanted->dims == 1 && count_elements(has) == wanted->size[0];
    if (wanted->dims == 0 || is_flat || is_same_shape(has, wanted)) return DONE;
    return fail_with("the file \"%s\" has %zu elements, %s, but %s is written; write the file's size, or leave it out",
                     path, count_elements(has), print_shape(text, has), print_shape(other, wanted));
}

static int take(const stored *s, element type, const shape *wanted, contents *c)
{
    unsigned lanes;
    c->type = type;
    int code = group_lanes(s, &c->type, &c->shape, &lanes);
    if (code == DONE) code = check_shape(s->path, &c->shape, wanted);
    if (code == DONE && wanted->dims) c->shape = *wanted;
    if (code == DONE) code = make_zeros(c);
    const size_t size = ndr_dtype_size(type.dtype), stride = element_bytes(type);
    for (size_t i = 0; code == DONE && i < c->count; ++i)
        memcpy(c->bytes + i * stride, s->bytes + i * lanes * size, lanes * size);
    return code;
}

/* ---- raw bytes ---- */

static int load_raw(const file *f, element type, const shape *wanted, contents *c)
{
    char name[16];
    const size_t size = type.dtype ? element_bytes(type) : 1;
    if (!type.dtype)
        return fail_with("the file \"%s\" has no type; write it behind a colon, as in @%s:f32", f->path, f->path);
    if (f->length % size != 0)
        return fail_with("the file \"%s\" has %zu bytes, which is not a multiple of the %zu bytes of %s; write the "
                         "type of its elements",
                         f->path, f->length, size, print_element(name, type));
    const shape has = { 1, { f->length / size } };
    const size_t count = count_elements(wanted);
    if (wanted->dims && count != has.size[0]) {
        char text[200];
        return fail_with("the file \"%s\" has %zu element%s of %s, but %s is written, which has %zu; write the file's "
                         "size, or leave it out",
                         f->path, has.size[0], has.size[0] == 1 ? "" : "s", print_element(name, type),
                         print_shape(text, wanted), count);
    }
    c->type = type;
    c->shape = wanted->dims ? *wanted : has;
    const int code = make_zeros(c);
    if (code == DONE) memcpy(c->bytes, f->bytes, f->length);
    return code;
}

/* ---- .npy ---- */

static const struct {
    ndr_dtype dtype;
    const char *code;
} npy_types[] = { { NDR_DTYPE_I8, "i1" },  { NDR_DTYPE_U8, "u1" },  { NDR_DTYPE_I16, "i2" }, { NDR_DTYPE_U16, "u2" },
                  { NDR_DTYPE_I32, "i4" }, { NDR_DTYPE_U32, "u4" }, { NDR_DTYPE_I64, "i8" }, { NDR_DTYPE_U64, "u8" },
                  { NDR_DTYPE_F16, "f2" }, { NDR_DTYPE_F32, "f4" }, { NDR_DTYPE_F64, "f8" }, { NDR_DTYPE_U8, "b1" },
                  { NDR_DTYPE_BF16, "V2" } }; /* as the package ml_dtypes saves it */

/* What follows 'key': in the header; NULL if it is not there. */
static const char *find_key(const char *header, const char *key)
{
    const char *at = strstr(header, key);
    if (!at) return NULL;
    at += strlen(key);
    at += *at == '\'' || *at == '"';
    while (*at == ' ') ++at;
    if (*at++ != ':') return NULL;
    while (*at == ' ') ++at;
    return at;
}

static int read_npy_type(const file *f, const char *header, ndr_dtype *dtype)
{
    const char *const at = find_key(header, "descr");
    if (!at || (*at != '\'' && *at != '"'))
        return fail_with("the file \"%s\" has no simple type; save an array of numbers", f->path);
    if (at[1] == '>')
        return fail_with("the file \"%s\" is big-endian; save it as little-endian: a.astype('<%.2s')", f->path, at + 2);
    const bool has_order = at[1] == '<' || at[1] == '|' || at[1] == '=';
    for (size_t i = 0; has_order && i < COUNT_OF(npy_types); ++i)
        if (strncmp(at + 2, npy_types[i].code, 2) == 0 && at[4] == at[0]) return *dtype = npy_types[i].dtype, DONE;
    return fail_with(
        "the file \"%s\" has elements of NumPy's type \"%.*s\"; save it as one of i1 to i8, u1 to u8, f2, f4 "
        "and f8, as in a.astype('<f4')",
        f->path, (int)strcspn(at + 1, "'\"\n"), at + 1);
}

static int read_npy_shape(const file *f, const char *header, shape *s)
{
    const char *at = find_key(header, "shape");
    bool is_whole = at && *at++ == '(';
    s->dims = 0;
    while (is_whole && *at != ')') {
        char *end;
        errno = 0;
        const unsigned long long size = strtoull(at, &end, 10);
        is_whole = isdigit((unsigned char)*at) && s->dims < MAX_DIMS && errno == 0 && (*end == ',' || *end == ')');
        if (is_whole) s->size[s->dims++] = (size_t)size;
        at = end + (*end == ',');
        while (*at == ' ') ++at;
    }
    if (is_whole && count_elements(s) < SIZE_MAX / 16) return DONE;
    return fail_with("the file \"%s\" has no shape of at most %d dimensions in its header; save it again with "
                     "numpy.save()",
                     f->path, MAX_DIMS);
}

static int check_npy_order(const file *f, const char *header, const shape *s)
{
    const char *const at = find_key(header, "fortran_order");
    if (s->dims < 2 || (at && strncmp(at, "False", 5) == 0)) return DONE;
    return fail_with("the file \"%s\" is in the order of Fortran; save it as numpy.ascontiguousarray(a)", f->path);
}

/* The header as a text, and the numbers behind it. The file's bytes end with a 0, so the text does. */
static int split_npy(file *f, const char **header, const unsigned char **numbers)
{
    static const unsigned char magic[] = { 0x93, 'N', 'U', 'M', 'P', 'Y' };
    const unsigned char *b = f->bytes;
    const bool is_npy = f->length >= 10 && memcmp(b, magic, sizeof magic) == 0 && b[6] >= 1 && b[6] <= 3;
    const size_t start = is_npy && b[6] > 1 ? 12 : 10;
    if (!is_npy || f->length < start)
        return fail_with("the file \"%s\" is no .npy file; save it with numpy.save()", f->path);
    const size_t length =
        b[6] > 1 ? b[8] | (size_t)b[9] << 8 | (size_t)b[10] << 16 | (size_t)b[11] << 24 : b[8] | (size_t)b[9] << 8;
    if (length == 0 || length > f->length - start)
        return fail_with("the file \"%s\" ends in its header; save it again with numpy.save()", f->path);
    *header = (const char *)b + start;
    *numbers = b + start + length;
    f->bytes[start + length - 1] = 0; /* the header's newline */
    return DONE;
}

static int load_npy(file *f, element type, const shape *wanted, contents *c)
{
    stored s = { .path = f->path };
    const char *header = "";
    int code = split_npy(f, &header, &s.bytes);
    if (code == DONE) code = read_npy_type(f, header, &s.dtype);
    if (code == DONE) code = read_npy_shape(f, header, &s.shape);
    if (code == DONE) code = check_npy_order(f, header, &s.shape);
    if (code != DONE) return code;
    const size_t bytes = count_elements(&s.shape) * ndr_dtype_size(s.dtype),
                 there = f->length - (size_t)(s.bytes - f->bytes);
    if (there != bytes)
        return fail_with("the file \"%s\" has %zu bytes of numbers, but its header says %zu; save it again", f->path,
                         there, bytes);
    if (!type.dtype) type = (element){ s.dtype, 1 };
    if (type.dtype != s.dtype)
        return fail_with("the file \"%s\" has elements of %s, but %s is wanted; save it with that type", f->path,
                         ndr_dtype_name(s.dtype), ndr_dtype_name(type.dtype));
    return take(&s, type, wanted, c);
}

/* ---- PGM and PPM ---- */

typedef struct picture {
    size_t rows, cols;
    unsigned channels; /* 1 or 3 */
    unsigned highest;  /* of a sample */
    bool is_text;
} picture;

/* A number of a picture's header or text; comments run from # to the end of the line. */
static bool read_pnm_number(const file *f, size_t *at, size_t most, size_t *number)
{
    while (*at < f->length && (isspace(f->bytes[*at]) || f->bytes[*at] == '#')) {
        if (f->bytes[*at] == '#')
            while (*at < f->length && f->bytes[*at] != '\n') ++*at;
        else ++*at;
    }
    const size_t start = *at;
    *number = 0;
    while (*at < f->length && isdigit(f->bytes[*at]) && *number <= most)
        *number = *number * 10 + (size_t)(f->bytes[(*at)++] - '0');
    return *at > start && *number <= most;
}

/* `at`: where the samples begin. */
static int read_pnm_header(const file *f, picture *p, size_t *at)
{
    size_t highest = 0;
    const char kind = f->length > 2 && f->bytes[0] == 'P' ? (char)f->bytes[1] : '0';
    if (!strchr("2356", kind))
        return fail_with("the file \"%s\" is no PGM or PPM image (P2, P3, P5, P6); convert it", f->path);
    *p = (picture){ .channels = kind == '3' || kind == '6' ? 3 : 1, .is_text = kind < '4' };
    *at = 2;
    const bool is_whole = read_pnm_number(f, at, 1 << 30, &p->cols) && read_pnm_number(f, at, 1 << 30, &p->rows)
                          && read_pnm_number(f, at, 65535, &highest) && highest > 0;
    if (!is_whole)
        return fail_with("the image \"%s\" has no header of width, height and highest value up to 65535; save it again",
                         f->path);
    p->highest = (unsigned)highest;
    if (!p->is_text) ++*at; /* one blank */
    return DONE;
}

static int check_pnm_length(const file *f, const picture *p, size_t at)
{
    const size_t samples = p->rows * p->cols * p->channels, bytes = samples * (p->highest > 255 ? 2 : 1);
    const size_t there = at < f->length ? f->length - at : 0;
    if (p->is_text ? there >= samples : there >= bytes) return DONE;
    return fail_with("the image \"%s\" ends too early: %zux%zu pixels are %zu bytes, and %zu are there; save it again",
                     f->path, p->cols, p->rows, bytes, there);
}

/* The next sample; false: the text has no more, or one above the highest. */
static bool read_sample(const file *f, const picture *p, size_t *at, unsigned *sample)
{
    size_t number;
    if (p->is_text) {
        if (!read_pnm_number(f, at, p->highest, &number)) return false;
        *sample = (unsigned)number;
        return true;
    }
    *sample = f->bytes[(*at)++];
    if (p->highest > 255) *sample = *sample << 8 | f->bytes[(*at)++];
    return *sample <= p->highest;
}

/* A sample as a number: 0 to 1 in a float. */
static void store_sample(ndr_dtype dtype, unsigned sample, unsigned highest, void *to)
{
    store_double(dtype, is_float(dtype) ? (double)sample / highest : (double)sample, to);
}

/* In vectors of 3 or 4 a grey pixel is three equal numbers, and the fourth number, alpha, is the highest. */
static int read_samples(const file *f, const picture *p, size_t at, contents *c)
{
    const size_t size = ndr_dtype_size(c->type.dtype);
    const unsigned per_pixel = stored_lanes(c->type) == 4 ? 4 : p->channels;
    unsigned char *to = c->bytes;
    for (size_t i = 0; i < p->rows * p->cols; ++i) {
        unsigned sample[4] = { 0, 0, 0, p->highest };
        for (unsigned k = 0; k < p->channels; ++k)
            if (!read_sample(f, p, &at, &sample[k]))
                return fail_with("the image \"%s\" has no sample of at most %u for pixel %zu; save it again", f->path,
                                 p->highest, i);
        if (p->channels == 1) sample[1] = sample[2] = sample[0];
        for (unsigned k = 0; k < per_pixel; ++k, to += size) store_sample(c->type.dtype, sample[k], p->highest, to);
    }
    return DONE;
}

static bool holds(ndr_dtype dtype, unsigned highest)
{
    return dtype == NDR_DTYPE_I8    ? highest <= 127
           : dtype == NDR_DTYPE_U8  ? highest <= 255
           : dtype == NDR_DTYPE_I16 ? highest <= 32767
                                    : true;
}

static int load_pnm(const file *f, element type, const shape *wanted, contents *c)
{
    picture p;
    size_t at;
    char name[16];
    int code = read_pnm_header(f, &p, &at);
    if (code == DONE) code = check_pnm_length(f, &p, at);
    if (code != DONE) return code;
    if (!type.dtype) type = (element){ p.highest > 255 ? NDR_DTYPE_U16 : NDR_DTYPE_U8, 1 };
    if ((type.lanes != 1 && stored_lanes(type) != 4) || !holds(type.dtype, p.highest))
        return fail_with(
            "the image \"%s\" has samples up to %u, which cannot be %s; use u8, u16 or f32, or vectors of 4", f->path,
            p.highest, print_element(name, type));
    const bool is_flat = type.lanes == 1 && p.channels == 3;
    const shape has = { is_flat ? 3 : 2, { p.rows, p.cols, 3 } };
    c->type = type;
    c->shape = wanted->dims ? *wanted : has;
    code = check_shape(f->path, &has, wanted);
    if (code == DONE) code = make_zeros(c);
    return code == DONE ? read_samples(f, &p, at, c) : code;
}

int load_file(const char *path, element type, shape wanted, contents *c)
{
    file f = { .path = path };
    const format is = format_of(path);
    *c = (contents){ .bytes = NULL };
    int code = read_file(&f);
    if (code == DONE)
        code = is == NPY   ? load_npy(&f, type, &wanted, c)
               : is == RAW ? load_raw(&f, type, &wanted, c)
                           : load_pnm(&f, type, &wanted, c);
    free(f.bytes);
    if (code == DONE) return DONE;
    free(c->bytes);
    *c = (contents){ .bytes = NULL };
    return code;
}

/* ---- writing ---- */

static int fail_to_write(const char *path)
{
    const char *const fix =
        errno == EISDIR ? "name a file, and no folder" : "check its folder, the permissions and the free space";
    return fail_with("the file \"%s\" cannot be written: %s; %s", path, strerror(errno), fix);
}

/* A device or pipe is written directly. Otherwise the bytes go to a file beside it, which then takes its name. */
static int write_file(const char *path, int (*put)(FILE *to, const void *what), const void *what)
{
    struct stat is;
    char beside[4096];
    const bool is_direct = stat(path, &is) == 0 && !S_ISREG(is.st_mode);
    if (!is_direct && snprintf(beside, sizeof beside, "%s.XXXXXX", path) >= (int)sizeof beside)
        return fail_with("the file's path is longer than %zu bytes; use a shorter one", sizeof beside - 8);
    const int handle = is_direct ? open(path, O_WRONLY) : mkstemp(beside);
    FILE *const to = handle >= 0 ? fdopen(handle, "wb") : NULL;
    if (!to) return fail_to_write(path);
    const mode_t mask = umask(0);
    umask(mask);
    const bool is_open_to_all = is_direct || fchmod(handle, 0666 & ~mask) == 0;
    const bool is_put = put(to, what) == 0 && fflush(to) == 0;
    const bool is_closed = fclose(to) == 0;
    if (is_open_to_all && is_put && is_closed && (is_direct || rename(beside, path) == 0)) return DONE;
    const int code = fail_to_write(path);
    if (!is_direct) unlink(beside);
    return code;
}

typedef struct block {
    const void *bytes;
    size_t count;
} block;

static int put_block(FILE *to, const void *what)
{
    const block *b = what;
    return fwrite(b->bytes, 1, b->count, to) == b->count ? 0 : -1;
}

int save_bytes(const char *path, const void *bytes, size_t count)
{
    return write_file(path, put_block, &(block){ bytes, count });
}

/* The numbers of an element follow one another, without the gap of a vector of 3. */
static int put_numbers(FILE *to, const contents *c)
{
    const size_t size = c->type.lanes * ndr_dtype_size(c->type.dtype), stride = element_bytes(c->type);
    for (size_t i = 0; i < c->count; ++i)
        if (fwrite(c->bytes + i * stride, 1, size, to) != size) return -1;
    return 0;
}

static int put_npy(FILE *to, const void *what)
{
    const contents *c = what;
    char dict[400], sizes[300] = "";
    size_t i = 0, used = 0;
    while (npy_types[i].dtype != c->type.dtype) ++i;
    for (unsigned d = 0; d < c->shape.dims; ++d)
        used += (size_t)snprintf(sizes + used, sizeof sizes - used, "%zu, ", c->shape.size[d]);
    if (c->type.lanes > 1) snprintf(sizes + used, sizeof sizes - used, "%u, ", c->type.lanes);
    const int length = snprintf(dict, sizeof dict, "{'descr': '<%s', 'fortran_order': False, 'shape': (%s), }",
                                npy_types[i].code, sizes);
    const int padded = (10 + length + 1 + 63) / 64 * 64 - 10; /* the numbers begin at a multiple of 64 */
    const unsigned char start[] = {
        0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (unsigned char)padded, (unsigned char)(padded >> 8)
    };
    if (fwrite(start, 1, sizeof start, to) != sizeof start || fprintf(to, "%-*s\n", padded - 1, dict) != padded)
        return -1;
    return put_numbers(to, c);
}

/* A float of 0 to 1 becomes 0 to 255; what is beyond is cut. NaN becomes 0. */
static unsigned sample_of(ndr_dtype dtype, const void *from)
{
    const double value = number_at(dtype, from);
    if (!is_float(dtype)) return (unsigned)value;
    return value >= 1 ? 255 : value > 0 ? (unsigned)rint(value * 255) : 0;
}

static unsigned channels_of(const contents *c)
{
    const unsigned dims = c->shape.dims;
    if (stored_lanes(c->type) == 4) return dims == 2 ? 3 : 0;
    if (c->type.lanes != 1) return 0;
    return dims == 2 ? 1 : dims == 3 && c->shape.size[2] == 3 ? 3 : 0;
}

static int put_pnm(FILE *to, const void *what)
{
    const contents *c = what;
    const unsigned channels = channels_of(c), highest = c->type.dtype == NDR_DTYPE_U16 ? 65535 : 255;
    const unsigned step = stored_lanes(c->type) == 4 ? 4 : channels;
    const size_t size = ndr_dtype_size(c->type.dtype), pixels = c->shape.size[0] * c->shape.size[1];
    fprintf(to, "P%c\n%zu %zu\n%u\n", channels == 3 ? '6' : '5', c->shape.size[1], c->shape.size[0], highest);
    for (size_t i = 0; i < pixels * channels; ++i) {
        const unsigned sample = sample_of(c->type.dtype, c->bytes + (i / channels * step + i % channels) * size);
        if (highest > 255) putc((int)(sample >> 8), to);
        putc((int)(sample & 255), to);
    }
    return ferror(to) ? -1 : 0;
}

static int check_picture(const char *path, format is, const contents *c)
{
    char name[16], text[200];
    const unsigned channels = channels_of(c), wanted = is == PGM ? 1 : 3;
    const ndr_dtype dtype = c->type.dtype;
    if (dtype != NDR_DTYPE_U8 && dtype != NDR_DTYPE_U16 && !is_float(dtype))
        return fail_with("the image \"%s\" cannot be made of %s; use u8, u16, or floats of 0 to 1", path,
                         print_element(name, c->type));
    if (channels != wanted)
        return fail_with("the image \"%s\" cannot be made of %s%s; a .pgm needs [ROWSxCOLUMNS] numbers, a .ppm "
                         "[ROWSxCOLUMNSx3] numbers or [ROWSxCOLUMNS] vectors of 3 or 4",
                         path, print_element(name, c->type), print_shape(text, &c->shape));
    return DONE;
}

int save_file(const char *path, const contents *c)
{
    const format is = format_of(path);
    if (is == NPY) return write_file(path, put_npy, c);
    if (is == RAW) return save_bytes(path, c->bytes, c->count * element_bytes(c->type));
    const int code = check_picture(path, is, c);
    return code == DONE ? write_file(path, put_pnm, c) : code;
}
