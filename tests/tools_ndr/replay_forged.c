/* replay_forged.c - `ndr replay` reads folders that are damaged or forged: each gives a message or a launch that is
 * whole, never a crash. The cases are made from one good folder, each from a seed: `replay_forged [FIRST COUNT]`. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../tools/ndr/replay.h"

static const char good[] =
    "{\n \"ndr_dump\": 1,\n"
    " \"libndr\": \"0.2.0\", \"device\": \"d\", \"platform\": \"p\", \"driver\": \"1\", \"check\": true,\n"
    " \"status\": \"NDR_OK\", \"time_ns\": 123,\n"
    " \"kernel\": {\"name\": \"f\", \"title\": \"f.cl\", \"options\": \"-DX=1\", \"sub_group_size\": 0, "
    "\"form\": \"source\", \"files\": [\"kernel.cl\", \"kernel1.cl\"]},\n"
    " \"range\": {\"edge\": \"reject\", \"global\": [8, 16], \"groups\": [], \"local\": [2, 4], \"offset\": [0, 3]},\n"
    " \"buffers\": [\n"
    "  {\"size_bytes\": 64, \"is_written\": false, \"before\": \"buffer0.bin\"},\n"
    "  {\"size_bytes\": 64, \"is_written\": true, \"before\": \"buffer1.bin\", \"after\": \"buffer1.after.bin\"},\n"
    "  {\"size_bytes\": 640000, \"is_written\": true, \"not_saved\": \"it waited\"}],\n"
    " \"args\": [\n"
    "  {\"kind\": \"buffer\", \"name\": \"x\", \"type\": \"float*\", \"buffer\": 0, \"offset_bytes\": 32, "
    "\"size_bytes\": 32},\n"
    "  {\"kind\": \"buffer\", \"name\": \"y\", \"type\": \"double4*\", \"buffer\": 1, \"offset_bytes\": 0, "
    "\"size_bytes\": 64},\n"
    "  {\"kind\": \"null\", \"name\": \"n\", \"type\": \"int*\"},\n"
    "  {\"kind\": \"signed\", \"name\": \"i\", \"type\": \"int\", \"dtype\": \"i32\", \"value\": \"-7\"},\n"
    "  {\"kind\": \"unsigned\", \"name\": \"u\", \"type\": \"ulong\", \"dtype\": \"u64\", \"value\": "
    "\"18446744073709551615\"},\n"
    "  {\"kind\": \"float\", \"name\": \"f\", \"type\": \"float\", \"dtype\": \"f32\", \"bytes\": \"0000803f\"},\n"
    "  {\"kind\": \"double\", \"name\": \"d\", \"type\": \"double\", \"dtype\": \"f64\", \"bytes\": "
    "\"000000000000f03f\"},\n"
    "  {\"kind\": \"struct\", \"name\": \"s\", \"type\": \"pair\", \"type_name\": \"pair\", \"bytes\": "
    "\"0102030405060708\"},\n"
    "  {\"kind\": \"vector\", \"name\": \"v\", \"type\": \"float2\", \"dtype\": \"f32\", \"bytes\": "
    "\"0000803f00000040\"},\n"
    "  {\"kind\": \"local\", \"name\": \"t\", \"type\": \"float*\", \"dtype\": \"f32\", \"element_name\": \"float\", "
    "\"element_bytes\": 4, \"extents\": [8, 1, 1]},\n"
    "  {\"kind\": \"reducer\", \"name\": \"r\", \"type\": \"SUM_float*\", \"buffer\": 2, \"offset_bytes\": 0, "
    "\"size_bytes\": 640000, \"dtype\": \"f32\", \"bytes\": \"0000000000000000\", \"op\": 1, \"element\": 3}],\n"
    " \"reached\": 0\n}\n";

static const char *const files[] = { "buffer0.bin", "buffer1.bin", "buffer1.after.bin", "kernel.cl", "kernel1.cl" };
enum { FILE_COUNT = sizeof files / sizeof files[0], FILE_BYTES = 64 };

/* ---- random numbers ---- */

static uint64_t state;

static size_t below(size_t count)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (size_t)(state >> 33) % count;
}

/* ---- the folder ---- */

static void write_bytes(const char *name, const char *bytes, size_t count)
{
    char path[100];
    snprintf(path, sizeof path, "forged/%s", name);
    FILE *const file = fopen(path, "wb");
    if (!file || fwrite(bytes, 1, count, file) != count || fclose(file) != 0) perror(path), exit(2);
}

static void write_good_files(void)
{
    char bytes[FILE_BYTES];
    mkdir("forged", 0700);
    for (size_t i = 0; i < FILE_COUNT; ++i) {
        memset(bytes, (int)('a' + i), sizeof bytes);
        write_bytes(files[i], bytes, sizeof bytes);
    }
}

/* ---- damage ---- */

typedef struct text {
    char chars[2 * sizeof good + 4096];
    size_t length;
} text;

static void replace(text *t, size_t at, size_t removed, const char *added, size_t count)
{
    if (removed > t->length - at) removed = t->length - at;
    if (t->length - removed + count >= sizeof t->chars) return;
    memmove(t->chars + at + count, t->chars + at + removed, t->length - at - removed);
    memmove(t->chars + at, added, count);
    t->length = t->length - removed + count;
}

/* The start of a value or key, and its length. */
static size_t pick_word(const text *t, size_t *length)
{
    size_t at = below(t->length);
    const char *const ends = ",:{}[]\n";
    while (at > 0 && !strchr(ends, t->chars[at - 1])) --at;
    *length = 0;
    while (at + *length < t->length && !strchr(ends, t->chars[at + *length])) ++*length;
    return at;
}

static void damage(text *t)
{
    static const char *const words[] = { "-1",
                                         "0",
                                         "1e300",
                                         "18446744073709551616",
                                         "9223372036854775807",
                                         "null",
                                         "{}",
                                         "[]",
                                         "\"\"",
                                         "\"../x\"",
                                         "true",
                                         "\"buffer\"",
                                         "\"not_saved\"",
                                         "[[[[",
                                         "\"\\u0000\"",
                                         "\"spirv\"",
                                         "\"kernel.cl\"",
                                         "\"launch.json\"",
                                         "4294967296",
                                         "\"reducer\"" };
    size_t length = 0, other_length = 0;
    char other[4096], byte;
    if (t->length == 0) return;
    const size_t at = pick_word(t, &length);
    switch (below(7)) {
    case 0: t->length = below(t->length); break;
    case 1: byte = (char)below(256), replace(t, below(t->length), 1, &byte, 1); break;
    case 2: replace(t, below(t->length), 1 + below(40), "", 0); break;
    case 3: replace(t, at, length, "", 0); break;
    case 4: {
        const size_t from = pick_word(t, &other_length);
        if (other_length > sizeof other) other_length = sizeof other;
        memcpy(other, t->chars + from, other_length);
        replace(t, at, length, other, other_length);
        break;
    }
    default: {
        const char *const word = words[below(sizeof words / sizeof words[0])];
        replace(t, at, length, word, strlen(word));
        break;
    }
    }
}

static void damage_file(void)
{
    char bytes[2 * FILE_BYTES] = "";
    write_bytes(files[below(FILE_COUNT)], bytes, below(sizeof bytes));
}

/* ---- what must hold ---- */

static const char *find_fault(const saved_launch *l)
{
    if (!l->kernel || !l->title || !l->options || !l->status) return "a name is NULL";
    if (strcmp(l->form, "bundled") != 0 && (l->text_count == 0 || !l->texts[0])) return "there is no text";
    if (l->range.global.dims > 3 || l->range.groups.dims > 3 || l->range.local.dims > 3) return "4 dimensions";
    for (size_t i = 0; i < l->arg_count; ++i) {
        const saved_arg *const a = &l->args[i];
        if (a->arg.kind != NDR_ARG_BUFFER && a->arg.kind != NDR_ARG_REDUCER) continue;
        if (a->buffer >= l->buffer_count) return "an argument has no buffer";
        const size_t bytes = l->buffers[a->buffer].size_bytes;
        if (a->offset_bytes > bytes || a->size_bytes > bytes - a->offset_bytes) return "an argument passes its buffer";
    }
    return NULL;
}

/* Every byte of the contents is read. */
static void use(const saved_launch *l)
{
    json_decref(describe_range(&l->range));
    for (size_t i = 0; i < l->buffer_count; ++i)
        if (l->buffers[i].before && l->buffers[i].after) json_decref(compare_buffer(l, i, l->buffers[i].before, 0));
}

static int read_case(size_t seed, size_t *loaded)
{
    saved_launch l;
    const char *fault = NULL;
    rewind(stderr);
    if (ftruncate(STDERR_FILENO, 0) != 0) return 1;
    const int code = load_launch("forged", &l);
    const bool has_message = lseek(STDERR_FILENO, 0, SEEK_END) > 0;
    if (code == DONE) fault = find_fault(&l);
    else if (!has_message) fault = "there is no message";
    if (code == DONE && !fault) use(&l), ++*loaded;
    free_launch(&l);
    if (fault) printf("replay_forged: seed %zu: %s\n", seed, fault);
    return fault != NULL;
}

/* ---- comparing ---- */

/* Whether `now` differs from `after` where the kernel's parameter is of that type. */
static bool differs(const char *type, const void *now, const void *after, size_t bytes, double tolerance)
{
    saved_buffer b = { .size_bytes = bytes, .after = (unsigned char *)(uintptr_t)after, .type = type };
    const saved_launch l = { .buffers = &b, .buffer_count = 1 };
    json_t *const found = compare_buffer(&l, 0, now, tolerance);
    json_decref(found);
    return found != NULL;
}

static size_t check_comparing(void)
{
    const float one[2] = { 1, NAN }, near[2] = { 1.001f, -NAN }, far[2] = { INFINITY, NAN }, zero[2] = { 0, NAN };
    const float minus[2] = { -0.0f, NAN };
    const bool wanted[] = {
        !differs("float*", one, one, sizeof one, 0),
        differs("float2*", one, near, sizeof one, 0),
        !differs("float2*", one, near, sizeof one, 0.01),
        differs("int*", one, near, sizeof one, 0.01),
        differs("float*", one, far, sizeof one, 0.9),
        !differs("float*", zero, minus, sizeof zero, 0),
        differs("struct s*", zero, minus, sizeof zero, 0),
        !differs(NULL, one, one, sizeof one, 0),
        differs("double*", one, near, 4, 0),
    };
    size_t faults = 0;
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; ++i)
        if (!wanted[i]) printf("replay_forged: comparison %zu is wrong\n", i), ++faults;
    return faults;
}

int main(int argc, char **argv)
{
    const size_t first = argc > 2 ? strtoul(argv[1], NULL, 10) : 0,
                 count = argc > 2 ? strtoul(argv[2], NULL, 10) : 3000;
    size_t faults = check_comparing(), loaded = 0;
    if (!freopen("messages", "w+", stderr)) return 2;
    setvbuf(stderr, NULL, _IONBF, 0);
    write_good_files();
    for (size_t seed = first; seed < first + count; ++seed) {
        static text t;
        memcpy(t.chars, good, sizeof good);
        t.length = sizeof good - 1;
        state = seed;
        const bool has_bad_file = seed > 0 && below(8) == 0;
        if (has_bad_file) damage_file();
        for (size_t times = seed == 0 || has_bad_file ? 0 : 1 + below(3); times > 0; --times) damage(&t);
        write_bytes("launch.json", t.chars, t.length);
        faults += (size_t)read_case(seed, &loaded);
        if (seed == 0 && loaded == 0) printf("replay_forged: the good folder is refused\n"), ++faults;
        if (has_bad_file) write_good_files();
    }
    printf("replay_forged: %zu cases, %zu of them launches, %zu faults\n", count, loaded, faults);
    return faults > 0;
}
