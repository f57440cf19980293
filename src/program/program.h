/* program.h - second floor: from source text to a kernel that can be launched. */
#ifndef NDR_PROGRAM_H
#define NDR_PROGRAM_H

#include "device/device.h"

#include "ndr/detail/launch_record.h"

/* ---- programs and kernels ---- */

/* How a kernel says what it is launched over. */
typedef enum ndr_form {
    NDR_FORM_PLAIN,    /* no launch record: any OpenCL C kernel */
    NDR_FORM_RANGE,    /* NDR_RANGE(d) */
    NDR_FORM_ND_RANGE, /* NDR_ND_RANGE(d) */
} ndr_form;

/* What a parameter takes. */
typedef enum ndr_param_kind {
    NDR_PARAM_GLOBAL,   /* a buffer */
    NDR_PARAM_CONSTANT, /* a buffer */
    NDR_PARAM_LOCAL,    /* local memory */
    NDR_PARAM_NUMBER,   /* a number */
    NDR_PARAM_BYTES,    /* a vector or struct */
    NDR_PARAM_OPAQUE,   /* an image, a sampler, a pipe: nothing that an ndr_arg can hold */
    NDR_PARAM_ANY,      /* of a kernel made elsewhere, what the driver does not tell: whatever is given */
} ndr_param_kind;

/* A number or a vector of OpenCL C: "uint" is one lane of u32, "float3" three of f32. No lanes: neither of them. */
typedef struct ndr_builtin {
    ndr_dtype dtype;
    unsigned lanes;
} ndr_builtin;

typedef struct ndr_param {
    ndr_param_kind kind;
    ndr_builtin type;  /* of the value, or of what the pointer points to, typedefs resolved where that is possible */
    size_t size_bytes; /* of a value, or of one element of local memory; 0 where it is not known */
    bool is_const; /* the kernel only reads through it */
    char *name, *type_name;
} ndr_param;

/* One entry point of a program. OpenCL keeps a kernel's arguments inside the kernel, so whoever binds and
 * enqueues holds `lock` meanwhile. */
struct ndr_kernel {
    uint64_t seal;
    ndr_hash key;         /* what it was asked for by */
    ndr_context *context; /* not counted: the context owns the kernel */
    cl_kernel cl;
    char *name;
    ndr_param *params;
    unsigned arg_count; /* of `params`, hidden ones too; info.arg_count counts the visible ones in front */
    size_t argument_bytes; /* of all of them together, as the device's limit counts */
    ndr_form form;
    unsigned dims;    /* of the record: 1 to 3, or 0 for whatever comes */
    bool has_scratch; /* a hidden local argument, just before the record */
    bool is_guarded;  /* items past its range return at once: it may be launched over more than there are */
    ndr_sub_group_kind sub_groups;
    size_t sub_group_size; /* of warps and virtual ones */
    ndr_kernel_info info;
    ndr_mutex lock;
    atomic_bool native_handle_exposed; /* somebody else may set arguments */
    void *attached; /* by the floor above: one block of malloc(), freed with the kernel; or NULL. With the lock */
};

/* A type that a program's kernels take and its driver names without explaining it. */
typedef struct ndr_type {
    struct ndr_type *next;
    bool is_pointee; /* `name` is that of a pointer, the type what it points to */
    size_t number;   /* what is known of it: signature.c's; 0 for nothing */
    char name[];
} ndr_type;

void ndr_types_free(ndr_type *types);

/* A built program. Its text is the driver's to keep: ndr_build_get_text(). */
typedef struct ndr_program {
    ndr_hash key; /* what it was asked for by */
    cl_program cl;
    char *title; /* what sentences and logs call it */
    char *options;
    size_t text_length; /* of the user's part; the rest of what the driver keeps tells the types */
    ndr_type *types;    /* with the build lock */
    ndr_sub_group_kind sub_groups;
    size_t sub_group_size;  /* asked for, or the warp's; 0 for the device's own */
    bool uses_sub_groups; /* its text has the vocabulary's */
} ndr_program;

/* Values under their keys, found in a step or two however many there are: a hash table with open addressing. */
typedef struct ndr_table {
    size_t count, capacity; /* a power of two, at least twice `count`; or 0 */
    struct ndr_table_slot {
        ndr_hash key;
        void *value; /* NULL: the slot is free */
    } *slots;
} ndr_table;

/* ---- store.c ---- */

/* The programs and kernels of a context, under their keys. It keeps; it does not build. */
typedef struct ndr_store {
    ndr_attachment base;        /* of the context */
    ndr_mutex lock;       /* held for look-ups and changes of the tables */
    ndr_mutex build_lock; /* held while one thread builds, so that nothing is built twice */
    ndr_table programs, kernels;
    int supports_ptx;              /* sub_group.c's: 0 not asked yet, 1 no, 2 yes. With the build lock */
} ndr_store;

/* The one of a context, made when first asked for. */
ndr_status ndr_store_get(ndr_context *context, ndr_store **store);

/* What is kept, or NULL. */
ndr_program *ndr_store_find(ndr_store *store, ndr_hash key);
ndr_kernel *ndr_store_find_kernel(ndr_store *store, ndr_hash key);

/* Hand over; where that fails for want of memory, the caller still has it. */
ndr_status ndr_store_keep(ndr_store *store, ndr_program *program);
ndr_status ndr_store_keep_kernel(ndr_store *store, ndr_kernel *kernel);

/* A kernel of which nothing is set yet but its context and key. */
ndr_status ndr_kernel_new(ndr_context *context, ndr_hash key, ndr_kernel **kernel);

/* Free what was never handed over; NULL is fine. */
void ndr_program_free(ndr_program *program);
void ndr_kernel_free(ndr_kernel *kernel);

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

/* Append a whole regular file to `out`; a refusal says why it cannot be read. */
ndr_status ndr_source_read(const char *path, ndr_text *out);

/* The same where one is there; a folder is none. `*missing` is 0, or the errno that says what is missing. */
ndr_status ndr_source_read_if_there(const char *path, ndr_text *out, ndr_file_info *info, int *missing);

/* Where included files are looked for, and what logs call the text itself. */
typedef struct ndr_source {
    const char *title;               /* as logs name it: a path, a label */
    const char *text;
    const char *options;             /* that it is built with, for the macros they define; NULL for none */
    bool is_file;                    /* `title` is a path whose folder is searched first */
    bool is_bundled;                 /* one of ours, which may include any other of ours */
    const char *const *include_dirs; /* ends with NULL; NULL for none */
} ndr_source;

/* What an #include or a __has_include asks for. */
typedef struct ndr_include {
    char name[512];
    bool is_quoted, is_next, is_import;
} ndr_include;

/* The text that it stands in. */
typedef struct ndr_includer {
    const char *title;
    bool is_file;    /* `title` is a path whose folder is searched first */
    size_t next_dir; /* after the include folder that it was found in, or 0 */
} ndr_includer;

/* What was found: a file of ours, or one on disk. */
typedef struct ndr_included {
    bool is_there;
    const ndr_source_file *embedded;
    ndr_text path, text;
    ndr_file_info info;
    size_t next_dir;
} ndr_included;

/* Read "name" or <name>. What follows it, or NULL where `at` is something else. */
const char *ndr_include_read(const char *at, ndr_include *include);

/* Look among our own files, beside `from`, and in the include folders; for #include_next from the folder after its own
 * on. Free `file` whether it is there or not. */
ndr_status ndr_include_find(const ndr_source *source, const ndr_includer *from, const ndr_include *include,
                            ndr_included *file);
void ndr_include_free(ndr_included *file);

size_t ndr_folder_length(const char *path); /* up to its last slash */

/* Append -I for a folder to `flags`, and add to `sum` what changes with any file in it. */
ndr_status ndr_source_add_folder(const char *path, ndr_text *flags, ndr_hash *sum);

/* ---- paste.c ---- */

/* Append the source to `out` with each #include that can be found replaced by its file, and #line marks so
 * that build logs name the right file and line. Others stay for the compiler to find, or to complain of; to `flags`
 * (NULL: nowhere) goes what it needs for those whose file only it can tell. */
ndr_status ndr_source_expand(const ndr_source *source, ndr_text *out, ndr_text *flags);

/* What the expanded text says, with a number after it, where `flags` were needed. */
#define NDR_FOLDERS "// folders as of "

/* Whether an expanded text holds a file of ours whose name starts with `name`: "ndr/" for any of the vocabulary. */
bool ndr_source_includes(const char *text, const char *name);

/* ---- lines.c ---- */

/* In text whose blanks are all ' '. What follows the blanks; what follows `token` and blanks, or NULL where something
 * else stands; how many characters the name at `at` has. */
const char *ndr_word_skip_blanks(const char *at);
const char *ndr_word_take(const char *at, const char *token);
size_t ndr_word_length(const char *at);

/* Whether a character is one of a name; the next place where a name starts with `start`, and where all of a name is
 * `word`, or NULL. */
bool ndr_word_has(char c);
const char *ndr_word_find_start(const char *text, const char *start);
const char *ndr_word_find(const char *text, const char *word);

/* In place: \n for each \r and \r\n, and # \ ^ for their trigraphs, which may hide a directive, a line's end or a quote.
 * Lines keep their numbers. What follows reads clean texts. */
void ndr_line_clean(char *text);

/* One line as a compiler reads it: up to a newline that no backslash continues and no comment holds. */
typedef struct ndr_line {
    const char *next;   /* the line after it */
    size_t newlines;
    bool is_code;       /* neither blank nor a directive */
    ndr_text directive; /* "#if X", without comments and continuations; empty of other lines */
    ndr_text *code;     /* NULL, or what code is appended to, a comment as a blank and a string as "" */
} ndr_line;

/* Read the line at `text` over what `line` held; `directive.failed` tells that there was no memory. */
void ndr_line_read(const char *text, ndr_line *line);

/* What follows a directive's `word`, or NULL if it has another. */
const char *ndr_line_is(const ndr_line *line, const char *word);

/* The same for the words that include a file. */
const char *ndr_line_includes(const ndr_line *line, bool *is_next, bool *is_import);

/* ---- macros.c ---- */

/* What is known of macros at one place of a text; reading on changes it. */
typedef struct ndr_macros ndr_macros;
typedef enum ndr_truth { NDR_UNKNOWN, NDR_NO, NDR_YES } ndr_truth;

ndr_macros *ndr_macros_new(void);
void ndr_macros_free(ndr_macros *macros);
bool ndr_macros_failed(const ndr_macros *macros); /* for want of memory */
void ndr_macros_read_options(ndr_macros *macros, const char *options);

/* `rest` follows #define or #undef. */
void ndr_macros_define(ndr_macros *macros, const char *rest);
void ndr_macros_undefine(ndr_macros *macros, const char *rest);

/* The compiler reads a file here that we do not: all is open but what begins with NDR_, which is ours. */
void ndr_macros_forget(ndr_macros *macros);

/* A name of ours that nothing defines yet; whether it is defined here. */
void ndr_macros_add_own(ndr_macros *macros, const char *name);
ndr_truth ndr_macros_is_defined(ndr_macros *macros, const char *name);

/* The one body that a macro has if it is defined here at all; NULL where there are several or none is known. */
const char *ndr_macros_get_body(ndr_macros *macros, const char *word);

/* The branches from an #if to its #endif. */
typedef struct ndr_branch {
    bool is_skipped, is_taken; /* it is known not to be compiled; it is, where what stands round it is */
    bool outer_is_skipped, is_decided, may_be_another, is_new;
    size_t guard, first, since;
} ndr_branch;

/* `condition` is the directive from its "if" on; NULL for #else. */
void ndr_branch_open(ndr_macros *macros, ndr_branch *branch, const char *condition, bool outer_is_skipped);
void ndr_branch_next(ndr_macros *macros, ndr_branch *branch, const char *condition);

/* `is_file`: these branches are a file from end to end. True where what is known from here on holds only if the macro
 * that guards the file was defined nowhere else. */
bool ndr_branch_close(ndr_macros *macros, ndr_branch *branch, bool is_file);

/* ---- build.c ---- */

/* In a function that returns a status: set `*text` to what a clGet...Info function tells, to be freed. How long it is
 * comes first, since memory that is too short gets nothing at all. */
#define NDR_READ_TEXT(text, get, ...)                                                       \
    do {                                                                                    \
        size_t bytes_ = 0;                                                                  \
        NDR_TRY_CL_AS(#get, ndr_cl.get(__VA_ARGS__, 0, NULL, &bytes_));                     \
        char *read_ = calloc(bytes_ + 1, 1);                                                \
        if (!read_) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for what " #get " tells"); \
        const cl_int error_ = ndr_cl.get(__VA_ARGS__, bytes_, read_, NULL);                 \
        if (error_ == CL_SUCCESS) *(text) = read_;                                          \
        else free(read_);                                                                   \
        NDR_TRY_CL_AS(#get, error_);                                                        \
    } while (0)

/* Pure: append what a device's compiler is called with. The language version that the device is best at, unless the user
 * names one; argument info always, for launches are checked against it; what NDR_DISABLE takes away; then the user's
 * `options`. */
void ndr_build_add_options(const ndr_caps *caps, const char *options, ndr_text *out);

/* Pure: refuse options that name an older language than OpenCL C 1.2, in which the vocabulary is written, for a text that
 * has it. */
ndr_status ndr_build_check_language(const char *title, const char *text, const char *options);

/* Compile `text`, and `probes` (NULL: none) after it, with the user's `options` into a program whose title and types are set;
 * where only the probes do not build it loses both. A failure's log goes to ndr_last_error(). A text that only builds as
 * OpenCL C 1.2, for what it names things, does so where the user names no language: `options` say so then. */
ndr_status ndr_build(ndr_context *context, const char *text, const char *probes, ndr_text *options, ndr_program *program);
#define NDR_PROBES_TITLE "ndr probes" /* what logs call the probes */

/* The same for a text that may well not build: that is no failure, nothing is said, and `*program` is NULL. */
ndr_status ndr_build_try(ndr_context *context, const char *text, const char *options, cl_program *program);

/* The text that a program was built from, which the driver keeps; free() it. */
ndr_status ndr_build_get_text(cl_program program, char **text);

/* Take a kernel from a program; NDR_NOT_FOUND lists those that it has. */
ndr_status ndr_build_take_kernel(cl_program program, const char *title, const char *name, cl_kernel *kernel);

/* ---- explain.c ---- */

/* Pure: append what the errors in the log of an expanded text come from, in one sentence; nothing where that is not
 * known. */
void ndr_explain_log(const char *text, const char *log, ndr_text *out);

/* Pure: whether the log has an error that it finds in the file called `title`, or one of whose line it shows. */
bool ndr_explain_has_error(const char *log, const char *title);

/* Pure: append the log's first errors with their notes, without warnings; a last line counts what is left out. */
void ndr_explain_shorten(const char *log, ndr_text *out);

/* Pure: whether a text of the user's has names that later versions of OpenCL C keep for themselves. */
bool ndr_explain_uses_later_words(const char *text);

/* ---- sub_group.c ---- */

/* Decide where the sub-groups of a program of that text come from, and add to its options what
 * kernels/ndr/sub_group.clh needs to know. `requested` 0 leaves the size to the device. */
ndr_status ndr_sub_groups_choose(ndr_context *context, size_t requested, const char *text, ndr_program *program,
                                 ndr_text *options);

/* With a built kernel in hand: has the device kept to the size asked for? */
ndr_status ndr_sub_groups_check(const ndr_kernel *kernel, const ndr_program *program);

/* ---- code.c ---- */

/* The program's own part of an expanded text, without comments, all blanks ' ', with "" for each string and # for each
 * directive; and a line for each macro that it defines or undefines, or "include" for a file that only the compiler finds. */
typedef struct ndr_code {
    ndr_text chars, macros;
} ndr_code;

/* Pure: false if there is no memory. Free `code` in either case. */
bool ndr_code_read(const char *text, ndr_code *code);
void ndr_code_free(ndr_code *code);

/* Pure: whether a macro gives the name at `at` another meaning, in the text or with -D. */
bool ndr_code_redefines(const ndr_code *code, const char *options, const char *at);

/* A kernel of the text: its name, the parenthesis before its parameters, and its body with what follows that. No body is
 * known of a declaration, and where a directive stands in it. */
typedef struct ndr_code_kernel {
    const char *name, *list, *body, *end;
} ndr_code_kernel;

/* Pure: the first from `*at` on that stands in no macro; false: none. */
bool ndr_code_next_kernel(const char **at, ndr_code_kernel *found);

/* Pure: append a line for each parameter of the text's kernels that may be of a type of the program's own: "pair", "struct
 * pair", or "pair*" of a pointer to local memory. Some are none, and some are missing: what macros hide is not seen. */
ndr_status ndr_code_list_types(const char *text, const char *options, ndr_text *out);

/* ---- guard.c ---- */

/* Pure: find out whether the kernel `name` of an expanded text does nothing before NDR_ITEM(), which returns from it in
 * items past the range, and so may be launched over more items than there are. False wherever that is not plain to see. */
ndr_status ndr_guard_read(const char *text, const char *options, const char *name, bool *is_first);

/* ---- signature.c ---- */

/* Build a program, whose title is set, from `text`, as ndr_build() does, and learn what its kernels' types are. */
ndr_status ndr_signature_build(ndr_context *context, const char *text, ndr_text *options, ndr_program *program);

/* Fill in what `kernel` (its cl, context and name are set), of a program of that text, takes and allows. Both are NULL for
 * a kernel made elsewhere, of which only what the driver tells is known. With the build lock held. */
ndr_status ndr_signature_read(ndr_kernel *kernel, const char *text, ndr_program *program);

/* Pure: the number or vector called `type_name` in OpenCL C; its bytes, 0 of none. */
ndr_builtin ndr_builtin_named(const char *type_name);
size_t ndr_builtin_bytes(ndr_builtin type);

/* Pure: whether that is the name of a pointer to void. */
bool ndr_points_to_void(const char *type_name);

#endif
