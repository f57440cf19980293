/* program.h - the third floor: from source text to a kernel that can be launched. */
#ifndef NDR_PROGRAM_H
#define NDR_PROGRAM_H

#include "device/attachment.h"
#include "device/caps.h"
#include "device/opencl.h"

#include "ndr/detail/launch_record.h"

/* ---- programs and kernels ---- */

/* How a kernel declares its range. */
typedef enum ndr_form {
    NDR_FORM_PLAIN,     /* no launch record: any OpenCL C kernel */
    NDR_FORM_RANGE,     /* NDR_RANGE(d) */
    NDR_FORM_ND_RANGE,  /* NDR_ND_RANGE(d) */
    NDR_FORM_REDUCTION, /* NDR_REDUCTION(d, ...) */
} ndr_form;

/* The kinds of parameters. */
typedef enum ndr_param_kind {
    NDR_PARAM_GLOBAL,   /* a buffer */
    NDR_PARAM_CONSTANT, /* a buffer */
    NDR_PARAM_LOCAL,    /* local memory */
    NDR_PARAM_NUMBER,   /* a number */
    NDR_PARAM_BYTES,    /* a vector or struct */
    NDR_PARAM_OPAQUE,   /* an image or a sampler, by its type_name; otherwise not supported by ndr_arg */
    NDR_PARAM_REDUCER,  /* a reducer; the operator is in the type_name */
    NDR_PARAM_ANY,      /* of a foreign kernel, unknown to the driver: any argument is accepted */
} ndr_param_kind;

/* A number or a vector of OpenCL C: "uint" is one lane of u32, "float3" three of f32. 0 lanes: neither. */
typedef struct ndr_builtin {
    ndr_dtype dtype;
    unsigned lanes;
} ndr_builtin;

typedef struct ndr_param {
    ndr_param_kind kind;
    ndr_builtin type;  /* of the value, or of the pointer's target, with typedefs resolved if possible */
    size_t size_bytes; /* of a value, or of one element of local memory; 0 if unknown */
    bool is_const;     /* the kernel only reads through it */
    ndr_access access; /* of an image */
    char *name, *type_name;
} ndr_param;

typedef struct ndr_program ndr_program;

/* One kernel function of a program. OpenCL keeps a kernel's arguments inside the kernel, so `lock` is held while
 * arguments are set and the kernel is enqueued. */
struct ndr_kernel {
    uint64_t seal;
    ndr_hash key;         /* hash of the request */
    ndr_context *context; /* no reference: the context owns the kernel */
    ndr_program *program; /* NULL: foreign */
    cl_kernel cl;
    cl_kernel renewed; /* made later; launches use it instead of `cl` if it is not NULL. Guarded by `lock` */
    char *name;
    ndr_param *params;
    unsigned arg_count;    /* of `params`, with hidden ones; info.arg_count counts the visible ones, which come first */
    size_t argument_bytes; /* of all arguments, as the device's limit counts */
    ndr_form form;
    unsigned dims;          /* of the record: 1 to 3, or 0 for any */
    bool has_scratch;       /* a hidden local argument before the record */
    unsigned reducer_count; /* the last visible parameters */
    bool is_guarded;        /* items past its range return at once: the launch can be rounded up */
    ndr_sub_group_kind sub_groups;
    size_t sub_group_size; /* of warps and virtual ones */
    ndr_kernel_info info;
    ndr_mutex lock;
    atomic_bool native_handle_exposed; /* other code may set arguments */
    void *attached; /* by the launch floor: one block of malloc(), freed with the kernel; or NULL. Guarded by `lock` */
};

/* A type of a kernel's parameter that the driver names without describing it. */
typedef struct ndr_type {
    struct ndr_type *next;
    unsigned index;  /* in the names of its probes: unique in a program */
    bool is_pointee; /* `name` is a pointer type; the entry describes its target */
    size_t number;   /* the result of its probe, see signature.c; 0 if unknown */
    char name[];
} ndr_type;

void ndr_types_free(ndr_type *types);

/* A built program. The driver keeps its text, ndr_build_get_text(), unless it is linked of several. */
struct ndr_program {
    ndr_hash key; /* hash of the request */
    cl_program cl;
    char *title; /* its name in sentences and logs */
    char *options;
    size_t text_length; /* of the text without the probes */
    ndr_type *types;    /* guarded by the build lock */
    ndr_text linked;    /* all of its texts if it is linked of several; otherwise empty */
    bool is_part;       /* compiled to be linked, not built */
    bool is_compiled;   /* it came as SPIR-V or a binary: there is no text */
    ndr_sub_group_kind sub_groups;
    size_t sub_group_size; /* requested, or the warp's; 0 for the device's own */
    bool uses_sub_groups;  /* its text includes ndr/sub_group.clh */
    ndr_text kernels, log; /* of a program that came from disk: what is known of its kernels, and its build's log */
    ndr_text question;     /* its binary is to be kept under this; empty: it is not */
    bool is_kept;          /* it is on disk */
    ndr_text refusal;      /* why the driver or the text does not let it be kept; empty: the log says */
    int32_t refusal_code;  /* OpenCL's, or 0 */
    ndr_context *context;  /* no reference: the context owns the program */
};

/* A hash table with open addressing. */
typedef struct ndr_table {
    size_t count, capacity; /* a power of two, at least twice `count`; or 0 */
    struct ndr_table_slot {
        ndr_hash key;
        void *value; /* NULL: the slot is free */
    } * slots;
} ndr_table;

/* ---- store.c ---- */

/* The programs and kernels of a context by their keys. It does not build. */
typedef struct ndr_store {
    ndr_attachment base;  /* of the context; its lock is held for look-ups and changes of the tables */
    ndr_mutex build_lock; /* held while a thread builds, so that nothing is built twice */
    ndr_table programs, kernels;
    int supports_ptx, divides_rows; /* set by sub_group.c: 0 unknown, 1 no, 2 yes. Guarded by the build lock */
} ndr_store;

/* Get the store of a context; the first call creates it. */
ndr_status ndr_store_get(ndr_context *context, ndr_store **store);

/* The kept one, or NULL. */
ndr_program *ndr_store_find(ndr_store *store, ndr_hash key);
ndr_kernel *ndr_store_find_kernel(ndr_store *store, ndr_hash key);
const ndr_program *ndr_store_find_cl(ndr_store *store, cl_program cl);

/* Pass ownership to the store. If that fails for lack of memory, the caller keeps it. */
ndr_status ndr_store_keep(ndr_store *store, ndr_program *program);
ndr_status ndr_store_keep_kernel(ndr_store *store, ndr_kernel *kernel);

/* Create a kernel; only its context and key are set. */
ndr_status ndr_kernel_new(ndr_context *context, ndr_hash key, ndr_kernel **kernel);

/* Free what was not passed to the store. NULL is allowed. */
void ndr_program_free(ndr_program *program);
void ndr_kernel_free(ndr_kernel *kernel);
void ndr_kernel_free_params(ndr_kernel *kernel); /* only these */

/* ---- source.c ---- */

/* One file of kernels/, as embedded by the build. */
typedef struct ndr_source_file {
    const char *name; /* relative to kernels/, such as "ndr/item.clh" */
    const char *text; /* ends with a 0 that `length` does not count */
    size_t length;
} ndr_source_file;

extern const ndr_source_file ndr_embedded_files[]; /* ends with a NULL name */

/* The embedded file of that name, or NULL. */
const ndr_source_file *ndr_source_find(const char *name);

enum { NDR_SOURCE_BYTES = 16 << 20 }; /* the longest text */

/* Append a whole regular file to `out`. A refusal states the reason. */
ndr_status ndr_source_read(const char *path, ndr_text *out);

/* A source text with the places to search for included files. */
typedef struct ndr_source {
    const char *title; /* its name in logs: a path or a label */
    const char *text;
    const char *options;             /* build options, whose macros count; NULL for none */
    bool is_file;                    /* `title` is a path whose folder is searched first */
    bool is_bundled;                 /* a file of kernels/, which may include any other */
    const char *const *include_dirs; /* ends with NULL; NULL for none */
} ndr_source;

/* The file that an #include or a __has_include names. */
typedef struct ndr_include {
    char name[512];
    bool is_quoted;
} ndr_include;

/* The file that contains the #include. */
typedef struct ndr_includer {
    const char *title;
    bool is_file; /* `title` is a path whose folder is searched first */
} ndr_includer;

/* The result: an embedded file, or one on disk. */
typedef struct ndr_included {
    bool is_there;
    const ndr_source_file *embedded;
    ndr_text path, text;
    ndr_file_info info;
} ndr_included;

/* Parse "name" or <name>. Returns the position behind it, or NULL if there is neither. */
const char *ndr_include_read(const char *at, ndr_include *include);

/* Search the embedded files, the folder of `from`, and the include folders. Free `file` in every case. */
ndr_status ndr_include_find(const ndr_source *source, const ndr_includer *from, const ndr_include *include,
                            ndr_included *file);
void ndr_include_free(ndr_included *file);

/* Append a line that begins with NDR_NOT_THERE, about a file that ndr_include_find() did not find. */
void ndr_include_explain(const ndr_source *source, const ndr_includer *from, const ndr_include *include, ndr_text *out);

size_t ndr_folder_length(const char *path); /* up to and including its last slash */

/* Append -I for a folder to `flags`, and add a hash of its files to `sum`. */
ndr_status ndr_source_add_folder(const char *path, ndr_text *flags, ndr_hash *sum);

/* ---- paste.c ---- */

/* Append the source to `out`, with each #include replaced by its file if that is found, and #line marks so that
 * build logs name the right file and line. The other #includes stay for the compiler. `flags` (NULL: none) gets the
 * options that the compiler needs for included files that only it can determine. */
ndr_status ndr_source_expand(const ndr_source *source, ndr_text *out, ndr_text *flags);

/* The start of a line in the expanded text if `flags` were needed; a hash follows. */
#define NDR_FOLDERS "// folders as of "

/* The start of a line at its end for each file that was not found: "'NAME' is not in ...". */
#define NDR_NOT_THERE "// not there: "

/* Whether an expanded text contains an embedded file whose name starts with `name`: "ndr/" for any file of the
 * vocabulary. */
bool ndr_source_includes(const char *text, const char *name);

/* ---- lines.c ---- */

/* In place: replace \r and \r\n by \n. The functions below expect such a text. */
void ndr_line_clean(char *text);

/* One logical line: up to a newline that neither a backslash nor a comment continues. */
typedef struct ndr_line {
    const char *next; /* the line after it */
    size_t newlines;
    bool is_code;       /* neither blank nor a directive */
    ndr_text directive; /* "#if X", without comments and continuations; empty for other lines */
    ndr_text *code;     /* NULL, or appended with the code: a comment as a blank, a string as "" */
} ndr_line;

/* Read the line at `text` into `line`. `directive.failed` means that there was no memory. */
void ndr_line_read(const char *text, ndr_line *line);

/* The text behind a directive's `word`, or NULL if it is another directive. */
const char *ndr_line_is(const ndr_line *line, const char *word);

/* ---- macros.c ---- */

/* What is known about macros at the current position of a text. */
typedef struct ndr_macros ndr_macros;

ndr_macros *ndr_macros_new(void);
void ndr_macros_free(ndr_macros *macros);
bool ndr_macros_failed(const ndr_macros *macros); /* out of memory */
void ndr_macros_read_options(ndr_macros *macros, const char *options);

/* `rest` is the text behind #define or #undef. */
void ndr_macros_define(ndr_macros *macros, const char *rest);
void ndr_macros_undefine(ndr_macros *macros, const char *rest);

/* The compiler includes a file here that libndr does not find: all macros become unknown, except those that begin
 * with NDR_, which is reserved. */
void ndr_macros_forget(ndr_macros *macros);

/* Whether a macro is certainly defined here; whether some line or option so far may have defined it. */
bool ndr_macros_has(ndr_macros *macros, const char *name);
bool ndr_macros_may_have(const ndr_macros *macros, const char *name);

/* The body of a macro that names a file, if it is known; otherwise NULL. */
const char *ndr_macros_get_body(ndr_macros *macros, const char *word);

/* The branches from an #if to its #endif. */
typedef struct ndr_branch {
    bool is_skipped; /* certainly not compiled */
    bool outer_is_skipped;
    bool is_new;  /* no line or option so far may have defined the macro */
    size_t guard; /* 1 plus the index of the macro of an #ifndef; 0: none */
} ndr_branch;

/* `condition` is the directive from its "if" on; NULL for #else. */
void ndr_branch_open(ndr_macros *macros, ndr_branch *branch, const char *condition, bool outer_is_skipped);
void ndr_branch_next(ndr_macros *macros, ndr_branch *branch, const char *condition);

/* `is_file`: these branches span a whole file. Returns true if what follows is only known provided that the macro
 * that guards the file is defined nowhere else. */
bool ndr_branch_close(ndr_macros *macros, ndr_branch *branch, bool is_file);

/* ---- build.c ---- */

/* Pure: append the options for a device's compiler: the newest usable language version unless the user names one,
 * argument info (launches are checked against it), macros for NDR_DISABLE, and the user's `options`. */
void ndr_build_add_options(const ndr_caps *caps, const char *options, ndr_text *out);

/* Pure: refuse a word that is no option and no option's value, -D or -I without one, and an unterminated quote. Some
 * drivers crash on them. */
ndr_status ndr_build_check_options(const char *title, const char *options);

/* Pure: refuse options for a language older than OpenCL C 1.2 if the text includes the vocabulary, which needs 1.2. */
ndr_status ndr_build_check_language(const char *title, const char *text, const char *options);

/* Fail for a program whose build or link failed, with its log and a hint from `text`. `call` is OpenCL's function. */
ndr_status ndr_build_fail(ndr_context *context, cl_program program, cl_int error, const char *call, const char *title,
                          const char *text, const char *options);

/* Link compiled programs into `program`, whose title is set. */
ndr_status ndr_build_link(ndr_context *context, const cl_program *parts, cl_uint count, const char *options,
                          ndr_program *program);

/* Compile `text`, followed by `probes` (NULL: none), with the user's `options` into a program whose title and types
 * are set. If only the probes fail, the program is built without them and loses its types. ndr_last_error() has the
 * log of a failure. If the user names no language and the text uses names that are reserved in newer ones, it is
 * built as OpenCL C 1.2 and `options` then contain that. */
ndr_status ndr_build(ndr_context *context, const char *text, const char *probes, ndr_text *options,
                     ndr_program *program);
#define NDR_PROBES_TITLE "ndr probes" /* the file name of the probes in logs */

/* The same for a text that may fail to build: then NDR_OK is returned and `*program` is NULL. */
ndr_status ndr_build_try(ndr_context *context, const char *text, const char *options, cl_program *program);

/* The log of a build that succeeded, without lines about probes; free() it. */
ndr_status ndr_build_get_log(cl_program program, cl_device_id device, char **log);

/* The source text of a program, from the driver; free() it. */
ndr_status ndr_build_get_text(cl_program program, char **text);

/* Create a kernel of a program. The sentence of NDR_NOT_FOUND lists its kernels. */
ndr_status ndr_build_take_kernel(cl_program program, const char *title, const char *name, cl_kernel *kernel);

/* ---- compiled.c ---- */

/* Build the SPIR-V module or the binary of `desc` into a program whose title is set. */
ndr_status ndr_compiled_build(ndr_context *context, const ndr_kernel_desc *desc, ndr_program *program);

/* ---- binary.c ---- */

/* Set up a program whose title is set from its binary on disk: true. Otherwise it is to be built; the log tells why. */
bool ndr_binary_find(ndr_context *context, const char *text, const char *options, ndr_program *program);

/* Write a program that was not found on disk, once: when its context ends, or for ndr_cache_warm(). Returns whether it
 * is there. */
bool ndr_binary_keep(ndr_program *program);

/* Fill in a kernel of a program that was found, as ndr_signature_read() and ndr_guard_read() do otherwise. */
ndr_status ndr_binary_read_kernel(const ndr_program *program, ndr_kernel *kernel);

/* Fill in a kernel whose cl, context and name are set, of a program that came compiled. If the driver tells nothing of
 * its parameters, it is compared with the programs that libndr has built in this context. The build lock is held. */
ndr_status ndr_binary_read_foreign(ndr_store *store, cl_program binary, ndr_kernel *kernel);

/* Load a built program again from its binary, with ndr_ptx_patch(). The build lock is held. NDR_BUILD_FAILED: the
 * driver's binaries are no such PTX, or it refuses the result. */
ndr_status ndr_binary_patch(ndr_context *context, const char *target, const char *options, ndr_program *program);

/* ---- ptx.c ---- */

/* Pure: append PTX with "sm_90" as its target changed to `target` "sm_90a", and what it has behind "//@ " in comments
 * uncommented. Refuses what is no PTX, and a target that is no shorter form of `target`. */
ndr_status ndr_ptx_patch(const char *ptx, const char *target, ndr_text *out);

/* Pure: the target that build options ask for by -DNDR_PTX_TARGET=sm_90a; "": none. */
typedef struct ndr_ptx_target {
    char name[16];
} ndr_ptx_target;
ndr_ptx_target ndr_ptx_target_of(const char *options);

/* ---- kernel.c ---- */

/* The key of a desc's program in the store; refuses what ndr_kernel_get() refuses at once. */
ndr_status ndr_kernel_read_key(const ndr_kernel_desc *desc, ndr_hash *program);

/* Fill in a kernel whose context is set. The caller holds the build lock, or is alone. */
ndr_status ndr_kernel_fill(ndr_program *program, const char *name, ndr_kernel *made);

/* ---- explain.c ---- */

/* Pure: append one sentence about the cause of the errors in the log of an expanded text, if it is known. `options`
 * are those of the compiler. */
void ndr_explain_log(const char *text, const char *options, const char *log, ndr_text *out);

/* Pure: whether the log has an error in the file called `title`, or one that shows its source line. */
bool ndr_explain_has_error(const char *log, const char *title);

/* Pure: whether the log has any error. */
bool ndr_explain_has_errors(const char *log);

/* Pure: append the log's first errors with their notes, without warnings. The last line counts the omitted lines. */
void ndr_explain_shorten(const char *log, ndr_text *out);

/* Pure: whether the user's text uses names that newer versions of OpenCL C reserve. */
bool ndr_explain_uses_later_words(const char *text);

/* ---- sub_group.c ---- */

/* Choose the kind of sub-groups of a program with that text, and add the options for kernels/ndr/sub_group.clh.
 * `requested` 0: the device's own size. */
ndr_status ndr_sub_groups_choose(ndr_context *context, size_t requested, const char *text, ndr_program *program,
                                 ndr_text *options);

/* Check that the built kernel has the requested sub-group size. */
ndr_status ndr_sub_groups_check(const ndr_kernel *kernel, const ndr_program *program);

/* ---- code.c ---- */

/* The program's own part of an expanded text: without comments, all blanks as ' ', "" for each string and # for each
 * directive; and one line for each macro that it defines or undefines, or "include" for a file that only the
 * compiler finds. */
typedef struct ndr_code {
    ndr_text chars, macros;
} ndr_code;

/* Pure. Free `code` in every case. */
ndr_status ndr_code_read(const char *text, ndr_code *code);
void ndr_code_free(ndr_code *code);

/* Pure: whether a macro, in the text or from -D, redefines the name at `at`. */
bool ndr_code_redefines(const ndr_code *code, const char *options, const char *at);

/* A kernel of the text: its name, the parenthesis before its parameters, its body and the position behind it. The
 * body is NULL for a declaration, and if it contains a directive. */
typedef struct ndr_code_kernel {
    const char *name, *list, *body, *end;
} ndr_code_kernel;

/* Pure: find the next kernel from `*at` on that is not in a macro; false: none. */
bool ndr_code_next_kernel(const char **at, ndr_code_kernel *found);

/* Pure: append a line for each kernel parameter that may have a type of the program: "pair", "struct pair", or
 * "pair*" for a pointer to local memory. Some are not types, and some are missing, because macros hide them. */
ndr_status ndr_code_list_types(const char *text, const char *options, ndr_text *out);

/* ---- guard.c ---- */

/* Pure: whether the kernel `name` of an expanded text starts with NDR_ITEM(), which returns from it in items past
 * the range: then its launch can be rounded up. False if that is not certain. */
ndr_status ndr_guard_read(const char *text, const char *options, const char *name, bool *is_first);

/* Pure: refuse a kernel with reducers whose text shows that it leaves the loop over indexes, waits, or has no loop. */
ndr_status ndr_guard_check_reduction(const char *text, const char *name);

/* ---- signature.c ---- */

/* Build a program whose title is set, like ndr_build(), and find its kernels' types. */
ndr_status ndr_signature_build(ndr_context *context, const char *text, ndr_text *options, ndr_program *program);

/* The same for a program of several texts, which are compiled and linked. */
typedef struct ndr_part {
    char title[512];
    ndr_text text;
} ndr_part;
ndr_status ndr_signature_link(ndr_context *context, const ndr_part *parts, size_t count, ndr_text *options,
                              ndr_program *program);

/* Fill in the parameters and limits of `kernel`, whose cl, context and name are set. `text` and `program` are NULL
 * for a kernel without a text, of which only the driver's information is known. The caller holds the build lock. */
ndr_status ndr_signature_read(ndr_kernel *kernel, const char *text, ndr_program *program);
ndr_status ndr_signature_read_limits(ndr_kernel *kernel); /* only these */

/* Whether the driver tells the name and type of a parameter. */
ndr_status ndr_signature_is_told(cl_kernel kernel, cl_uint index, bool *is_told);

/* Pure: whether compilers get vector instructions out of the loop of one item: on CPUs, if a register does not hold
 * several items. */
bool ndr_has_vectors(const ndr_caps *caps);

/* Pure: the operator of a reducer's parameter. */
ndr_op ndr_reducer_op(const ndr_param *param);

/* Pure: the number or vector type called `type_name` in OpenCL C; its bytes, 0 for neither. */
ndr_builtin ndr_builtin_named(const char *type_name);
size_t ndr_builtin_bytes(ndr_builtin type);

/* Pure: whether two names are equal but for characters that are in `ignored`. */
bool ndr_names_equal(const char *a, const char *b, const char *ignored);

/* Pure: whether that is the name of a pointer to void. */
bool ndr_points_to_void(const char *type_name);

#endif
