/* program.h - a program that is built: from its text, its texts, SPIR-V or a binary. */
#ifndef NDR_PROGRAM_H
#define NDR_PROGRAM_H

#include "program/kernel.h"
#include "program/source.h"

typedef struct ndr_program {
    ndr_hash key; /* hash of the request */
    cl_program cl;
    char *title; /* its name in sentences and logs */
    char *options;
    size_t asked_options;   /* so many characters of `options` came from the caller */
    size_t asked_sub_group; /* the size that the caller asked for */
    const char *form;       /* "source", "bundled" (its name is `title`), "spirv" or "binary" */
    ndr_source source;      /* without its text once it is built: the driver keeps that */
    size_t text_length;     /* of the text without the probes */
    struct ndr_type *types; /* see probe.c; guarded by the build lock */
    bool is_linked;         /* of several texts */
    bool is_part;           /* compiled to be linked, not built */
    bool is_compiled;       /* it came as SPIR-V or a binary: there is no text */
    ndr_sub_group_kind sub_groups;
    size_t sub_group_size; /* requested, or the warp's; 0 for the device's own */
    ndr_text kernels, log; /* of a program that came from disk: what is known of its kernels, and its build's log */
    ndr_text question;     /* its binary is to be kept under this; empty: it is not */
    bool is_kept;          /* it is on disk */
    ndr_text refusal;      /* why the driver or the text does not let it be kept; empty: the log says */
    int32_t refusal_code;  /* OpenCL's, or 0 */
    ndr_context *context;  /* no reference: the context owns the program */
} ndr_program;

/* ---- program.c ---- */

/* Make a program of what `desc` describes, and keep it in the registry under `key`. */
ndr_status ndr_program_make(ndr_context *context, const ndr_kernel_desc *desc, ndr_hash key, ndr_program **program);
void ndr_program_free(ndr_program *program); /* NULL is allowed */

/* Read the text of `desc` and the files that it includes into an empty `source`, to be freed in every case. */
ndr_status ndr_program_read(const ndr_kernel_desc *desc, bool is_outline, ndr_source *source);

/* The name in sentences of a program that `desc` describes. */
const char *ndr_program_title(const ndr_kernel_desc *desc);

/* The label of texts that operations write: one with this address may include all files of kernels/. */
extern const char ndr_written_label[];

/* Fill in a kernel whose context is set. The caller holds the build lock, or is alone. */
ndr_status ndr_program_fill_kernel(ndr_program *program, const char *name, ndr_kernel *kernel);

/* Pure: whether compilers get vector instructions out of the loop of one item: on CPUs, if a register does not hold
 * several items. */
bool ndr_has_vectors(const ndr_caps *caps);

/* ---- build.c ---- */

/* Pure: append the options for a device's compiler: the newest usable language version unless the user names one,
 * argument info (launches are checked against it), macros for NDR_DISABLE, and the user's `options`. */
void ndr_build_add_options(const ndr_caps *caps, const char *options, ndr_text *out);

/* Pure: refuse a word that is no option and no option's value, -D or -I without one, and an unterminated quote. Some
 * drivers crash on them. */
ndr_status ndr_build_check_options(const char *title, const char *options);

/* Fail for a program whose build or link failed, with its log and a hint from its text. `built` is OpenCL's program,
 * `call` its function. */
ndr_status ndr_build_fail(const ndr_program *program, cl_program built, cl_int error, const char *call,
                          const char *options);

/* Compile the text of a program, whose title and source are set, followed by `probes` (NULL: none), with the user's
 * `options`. If only the probes fail, it is built without them and loses its types. ndr_last_error() has the log of a
 * failure. If the user names no language and the text uses names that are reserved in newer ones, it is built as
 * OpenCL C 1.2 and `options` then contain that. */
ndr_status ndr_build(ndr_program *program, const char *probes, ndr_text *options);
#define NDR_PROBES_TITLE "ndr probes" /* the file name of the probes in logs */

/* The same for a text that may fail to build: then NDR_OK is returned and `*program` is NULL. */
ndr_status ndr_build_try(ndr_context *context, const char *text, const char *options, cl_program *program);

/* Link compiled programs into `program`, whose title is set. */
ndr_status ndr_build_link(const ndr_program *parts, size_t count, const char *options, ndr_program *program);

/* The log of a build that succeeded, without lines about probes; free() it. */
ndr_status ndr_build_get_log(cl_program program, cl_device_id device, char **log);

/* The source text of a program without the probes, from the driver; free() it. */
ndr_status ndr_build_get_text(const ndr_program *program, char **text);

/* The names of a program's kernels with semicolons between them, those of probes included; free() them. */
ndr_status ndr_build_read_names(cl_program program, char **names);

/* Cut the next of these names off, without those of probes; NULL: there is none. */
char *ndr_build_next_name(char **names);

/* Create a kernel of a program. The sentence of NDR_NOT_FOUND lists its kernels. */
ndr_status ndr_build_take_kernel(const ndr_program *program, const char *name, cl_kernel *kernel);

/* ---- compiled.c ---- */

/* Build the SPIR-V module or the binary of `desc` into a program whose title is set. */
ndr_status ndr_compiled_build(const ndr_kernel_desc *desc, ndr_program *program);

/* ---- probe.c ---- */

/* Build a program whose title and source are set, like ndr_build(), and find its kernels' types. */
ndr_status ndr_probe_build(ndr_program *program, ndr_text *options);

/* The same for a program of several texts: `parts` are compiled and linked. */
ndr_status ndr_probe_link(ndr_program *parts, size_t count, ndr_text *options, ndr_program *program);

/* Fill in a parameter whose type the driver names without describing it. */
ndr_status ndr_probe_param(ndr_program *program, ndr_param *param);

void ndr_probe_forget(ndr_program *program); /* its types */
bool ndr_probe_is_kernel(const char *name);  /* pure: a kernel of probes, which users do not see */

/* ---- units.c ---- */

/* Append which matrix units ndr/matrix.clh takes, and the target that they need. Nothing if the program does not use it
 * or the device has none. NDR_PTX is decided before. */
void ndr_units_choose(const ndr_program *program, ndr_text *options);

/* Whether the program includes ndr/matrix.clh. */
bool ndr_units_are_used(const ndr_program *program);

/* ---- ptx.c ---- */

/* What build options ask for: by -DNDR_PTX_TARGET=sm_90a the target, "": as it is; by -DNDR_PTX_GROUPS=2 how many
 * groups of a kernel with a required size a multiprocessor holds at least, 0: any number. */
typedef struct ndr_ptx_changes {
    char target[16];
    unsigned groups;
} ndr_ptx_changes;

/* Pure. */
ndr_ptx_changes ndr_ptx_changes_of(const char *options);

/* Pure: append PTX with "sm_90" as its target changed to the target "sm_90a", what it has behind "//@ " in comments
 * uncommented, and the number of groups added to its kernels. Refuses what is no PTX, and a target that is no shorter
 * form of the wanted one. */
ndr_status ndr_ptx_patch(const char *ptx, const ndr_ptx_changes *changes, ndr_text *out);

/* ---- binary.c ---- */

/* Set up a program whose title and source are set from its binary on disk: true. Otherwise it is to be built; the log
 * tells why. */
bool ndr_binary_find(const char *options, ndr_program *program);

/* Write a program that was not found on disk, once: when its context ends, or for ndr_cache_warm(). Returns whether it
 * is there. */
bool ndr_binary_keep(ndr_program *program);

/* Append "kernels axpy, dot" of a program's entry in the store; nothing if it has none. */
void ndr_binary_list_kernels(const char *value, size_t value_bytes, ndr_text *names);

/* Fill in a kernel of a program that was found, as ndr_signature_read() and ndr_guard_read() do otherwise. */
ndr_status ndr_binary_read_kernel(const ndr_program *program, ndr_kernel *kernel);

/* Fill in a kernel whose cl, context and name are set, of a program that came compiled. If the driver tells nothing of
 * its parameters, it is compared with the programs that libndr has built in this context. The build lock is held. */
ndr_status ndr_binary_read_foreign(cl_program binary, ndr_kernel *kernel);

/* Load a built program again from its binary, with ndr_ptx_patch(). The build lock is held. NDR_BUILD_FAILED: the
 * driver's binaries are no such PTX, or it refuses the result. */
ndr_status ndr_binary_patch(const ndr_ptx_changes *changes, const char *options, ndr_program *program);

/* ---- sub_group.c ---- */

/* Choose the kind of sub-groups of a program whose source is set, and add the options for kernels/ndr/sub_group.clh.
 * `requested` 0: the device's own size. */
ndr_status ndr_sub_groups_choose(size_t requested, ndr_program *program, ndr_text *options);

/* Check that the built kernel has the requested sub-group size. */
ndr_status ndr_sub_groups_check(const ndr_kernel *kernel);

#endif
