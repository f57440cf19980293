/* build_spirv.c - `ndr build`: SPIR-V of a file, made by clang and llvm-spirv. */
#include "build_spirv.h"

#include "run.h"

#include <ndr/ndr_outline.h>

#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- the programs ---- */

typedef struct programs {
    char clang[32], translator[32];
} programs;

static bool is_installed(const char *name)
{
    char file[4096];
    size_t length;
    for (const char *path = getenv("PATH"); path && *path; path += length + (path[length] == ':')) {
        length = strcspn(path, ":");
        const int written = snprintf(file, sizeof file, "%.*s/%s", (int)length, path, name);
        if (written < (int)sizeof file && access(file, X_OK) == 0) return true;
    }
    return false;
}

/* Both of one version, because llvm-spirv reads what its own LLVM writes: those without a number in their names, or the
 * newest ones. */
static int find_programs(programs *p)
{
    enum { NEWEST = 30, OLDEST = 14 };
    bool has_clang = false, has_translator = false;
    for (int version = NEWEST + 1; version >= OLDEST; --version) {
        char number[8] = "";
        if (version <= NEWEST) snprintf(number, sizeof number, "-%d", version);
        snprintf(p->clang, sizeof p->clang, "clang%s", number);
        snprintf(p->translator, sizeof p->translator, "llvm-spirv%s", number);
        const bool is_clang = is_installed(p->clang), is_translator = is_installed(p->translator);
        if (is_clang && is_translator) return DONE;
        has_clang |= is_clang;
        has_translator |= is_translator;
    }
    return fail_with("SPIR-V is made by clang and llvm-spirv of the same version, and %s: install them (Debian: "
                     "clang-15 and llvm-spirv-15)",
                     has_clang && has_translator ? "those in PATH are of different versions"
                     : has_clang                 ? "llvm-spirv is not in PATH"
                     : has_translator            ? "clang is not in PATH"
                                                 : "neither is in PATH");
}

static int run_program(const char *const *arguments, const char *file)
{
    pid_t child;
    int ended = 0;
    const int error = posix_spawnp(&child, arguments[0], NULL, NULL, (char *const *)(uintptr_t)arguments, environ);
    if (error != 0) return fail_with("%s cannot be started: %s", arguments[0], strerror(error));
    while (waitpid(child, &ended, 0) < 0 && errno == EINTR) continue;
    if (WIFEXITED(ended) && WEXITSTATUS(ended) == 0) return DONE;
    return fail_with("%s made no SPIR-V of \"%s\"; what it printed is above", arguments[0], file);
}

/* ---- the steps ---- */

/* Files in a folder that is removed. */
typedef enum step { TEXT_FILE, OPTIONS_FILE, BITCODE_FILE, MODULE_FILE, STEP_COUNT } step;

typedef struct files {
    char folder[4096];
    char path[STEP_COUNT][4160];
    char options[4200]; /* "@" and the file with the options, as clang takes it */
} files;

static int make_folder(files *f)
{
    static const char *const names[] = { "kernels.cl", "options", "kernels.bc", "kernels.spv" };
    const char *const set = getenv("TMPDIR"), *const parent = set && *set ? set : "/tmp";
    const int length = snprintf(f->folder, sizeof f->folder, "%s/ndr-XXXXXX", parent);
    if (length >= (int)sizeof f->folder || !mkdtemp(f->folder))
        return fail_with("no folder can be made in \"%s\": %s; set TMPDIR to another one", parent, strerror(errno));
    for (step s = 0; s < STEP_COUNT; ++s) snprintf(f->path[s], sizeof f->path[s], "%s/%s", f->folder, names[s]);
    snprintf(f->options, sizeof f->options, "@%s", f->path[OPTIONS_FILE]);
    return DONE;
}

static void remove_folder(const files *f)
{
    for (step s = 0; s < STEP_COUNT; ++s) remove(f->path[s]);
    rmdir(f->folder);
}

/* -O1 for what the text may ask (__OPTIMIZE__), but without passes: the driver optimises. The options follow the
 * language, so that they may choose another one; in a file, clang divides them into words as drivers do. */
static int compile(const programs *p, const files *f, const char *file)
{
    const char *const clang[] = { p->clang,
                                  "-x",
                                  "cl",
                                  "-target",
                                  "spir64",
                                  "-cl-std=CL1.2",
                                  "-cl-kernel-arg-info",
                                  "-O1",
                                  "-Xclang",
                                  "-disable-llvm-passes",
                                  "-Xclang",
                                  "-finclude-default-header",
                                  f->options,
                                  "-emit-llvm",
                                  "-c",
                                  f->path[TEXT_FILE],
                                  "-o",
                                  f->path[BITCODE_FILE],
                                  NULL };
    /* 1.3 is the first version with sub-groups, and allowed is what libndr's atomics of floats need. A module that needs
     * neither is of version 1.0. */
    const char *const translator[] = { p->translator,
                                       "--spirv-max-version=1.3",
                                       "--spirv-ext=+SPV_EXT_shader_atomic_float_add",
                                       f->path[BITCODE_FILE],
                                       "-o",
                                       f->path[MODULE_FILE],
                                       NULL };
    const int code = run_program(clang, file);
    return code == DONE ? run_program(translator, file) : code;
}

static int make(const programs *p, const files *f, const ndr_kernel_desc *desc, const char *text, const char *path)
{
    const char *const options = desc->options ? desc->options : "";
    unsigned char *bytes = NULL;
    size_t count = 0;
    int code = save_bytes(f->path[TEXT_FILE], text, strlen(text));
    if (code == DONE) code = save_bytes(f->path[OPTIONS_FILE], options, strlen(options));
    if (code == DONE) code = compile(p, f, desc->file);
    if (code == DONE) code = load_bytes(f->path[MODULE_FILE], &bytes, &count);
    if (code == DONE) code = save_bytes(path, bytes, count);
    free(bytes);
    return code;
}

static int make_in_folder(const programs *p, const ndr_kernel_desc *desc, const ndr_outline *outline, const char *path)
{
    files f;
    ndr_outline_info info;
    const ndr_status status = ndr_outline_get_info(outline, &info);
    if (status != NDR_OK) return fail(status);
    int code = make_folder(&f);
    if (code != DONE) return code;
    code = make(p, &f, desc, info.full_text, path);
    remove_folder(&f);
    return code;
}

int save_spirv(const ndr_kernel_desc *desc, const char *path)
{
    programs p;
    ndr_outline *outline;
    int code = find_programs(&p);
    if (code != DONE) return code;
    const ndr_status status = ndr_outline_create(desc, &outline);
    if (status != NDR_OK) return fail(status);
    code = make_in_folder(&p, desc, outline, path);
    ndr_outline_destroy(outline);
    return code;
}
