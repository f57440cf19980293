/* kernel_source.c - the file of kernels and its build options, of the subcommands that build one. */
#include "kernel_source.h"

#include "run.h"

#include <stdlib.h>
#include <string.h>

static const struct argp_option options[] = {
    { "define", 'D', "NAME[=TEXT]", 0, "Define a macro", 6 },
    { "include", 'I', "FOLDER", 0, "Search included files in FOLDER", 6 },
    { "build-options", 'b', "TEXT", 0, "Other options of the compiler", 6 },
    { 0 },
};

/* The list always has a NULL behind its last folder. */
static int add_folder(kernel_source *s, const char *folder)
{
    const char **const more = realloc(s->include_dirs, (s->include_count + 2) * sizeof *more);
    if (!more) return fail_with("there is no memory for a folder");
    s->include_dirs = more;
    more[s->include_count++] = folder;
    more[s->include_count] = NULL;
    return DONE;
}

static int add_option(kernel_source *s, const char *begin, const char *text, const char *end)
{
    const size_t used = s->options ? strlen(s->options) : 0;
    const size_t size = used + strlen(begin) + strlen(text) + strlen(end) + 2;
    char *const more = realloc(s->options, size);
    if (!more) return fail_with("there is no memory for build options");
    s->options = more;
    snprintf(more + used, size - used, "%s%s%s%s", used ? " " : "", begin, text, end);
    return DONE;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    kernel_source *s = state->input;
    int code = DONE;
    switch (key) {
    case 'D': code = strpbrk(arg, " \t") ? add_option(s, "\"-D", arg, "\"") : add_option(s, "-D", arg, ""); break;
    case 'I': code = add_folder(s, arg); break;
    case 'b': code = add_option(s, "", arg, ""); break;
    default: return ARGP_ERR_UNKNOWN;
    }
    if (code != DONE) exit(code);
    return 0;
}

const struct argp kernel_source_argp = { .options = options, .parser = parse_option };

static bool ends_with(const char *text, const char *end)
{
    const size_t length = strlen(text), wanted = strlen(end);
    return length > wanted && strcmp(text + length - wanted, end) == 0;
}

bool is_spirv_file(const char *path) { return ends_with(path, ".spv"); }
bool is_binary_file(const char *path) { return ends_with(path, ".bin"); }

int describe_kernel(kernel_source *s, const char *name, ndr_kernel_desc *desc)
{
    const bool is_spirv = is_spirv_file(s->file), is_binary = is_binary_file(s->file);
    *desc = (ndr_kernel_desc){ .name = name, .options = s->options };
    if (!is_spirv && !is_binary) {
        desc->file = s->file;
        desc->include_dirs = s->include_dirs;
        return DONE;
    }
    if (s->include_dirs) {
        fail_with("--include is for texts, and \"%s\" is compiled already; leave it out", s->file);
        return USAGE;
    }
    const int code = s->bytes ? DONE : load_bytes(s->file, &s->bytes, &s->byte_count);
    if (code != DONE) return code;
    desc->label = s->file;
    if (is_spirv) desc->spirv = s->bytes, desc->spirv_bytes = s->byte_count;
    else desc->binary = s->bytes, desc->binary_bytes = s->byte_count;
    return DONE;
}

void free_kernel_source(kernel_source *s)
{
    free(s->options);
    free(s->include_dirs);
    free(s->bytes);
}
