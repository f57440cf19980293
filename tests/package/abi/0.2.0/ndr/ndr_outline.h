/** @file ndr_outline.h
 * What the text of a source shows, without a device and without compiling it: for generators such as `ndr bind`.
 *
 * An outline is read as ndr_kernel_get() reads a source, but macros and conditions are the compiler's: a name that has
 * several definitions stays as it is written, and a kernel is listed although a condition may leave it out. */
#ifndef NDR_NDR_OUTLINE_H
#define NDR_NDR_OUTLINE_H

#include "ndr/ndr.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The kernels and constants of a source. */
typedef struct ndr_outline ndr_outline;

/** Read the `source` or `file` of `desc` with its `options`, `include_dirs` and `label`; the other members are ignored.
 * Refuses a kernel whose parameters the text does not show, because a function-like macro or a condition gives them. */
NDR_SIZED ndr_status ndr_outline_create(const ndr_kernel_desc *desc, ndr_outline **outline);

/** Destroy an outline, and all strings that it gave. */
NDR_API void ndr_outline_destroy(ndr_outline *outline);

/** A source as a whole. Strings and lists last as long as the outline. */
typedef struct ndr_outline_info {
    /** A text for ndr_kernel_desc.source that needs no file: in place of each include is the file. Includes of the
     * vocabulary stay, because the library that runs has it. In `#line` marks, and so in build logs, files have names
     * relative to the folder of `file`, or to that of `include_dirs` in which they were found. */
    const char *text;
    const char *key;           /**< A hash of the text, for ndr_kernel_desc.source_key. */
    const char *const *files;  /**< The paths of the files that were read, ended by a NULL. */
    const char *const *absent; /**< A sentence for each included file that was not found, ended by a NULL. Its include
                                    stays in the text; the source builds if no such line is compiled. */
    size_t kernel_count;       /**< Kernels with a body. */
    size_t constant_count;     /**< Constants. */
    const char *full_text;     /**< For other compilers: the text with the vocabulary, too, in place of its includes, and
                                    with whole names in `#line` marks. */
    NDR_MAY_GROW
} ndr_outline_info;

/** Describe the source. */
NDR_SIZED ndr_status ndr_outline_get_info(const ndr_outline *outline, ndr_outline_info *info);

/** One kernel of an outline. */
typedef struct ndr_outline_kernel {
    const char *name;              /**< Its name. */
    size_t param_count;            /**< Arguments that a launch passes. */
    unsigned dims;                 /**< The dimensions of its range: 1 to 3; 0: any. */
    bool takes_groups;             /**< It ends in NDR_ND_RANGE: a launch takes an ndr_nd_range only. */
    unsigned char unused[3];       /**< Not used. */
    size_t required_local_size[3]; /**< As in ndr_kernel_info; zeros, too, if the text does not show the numbers. */
    NDR_MAY_GROW
} ndr_outline_kernel;

/** Describe kernel `index`, in the order of the text. */
NDR_SIZED ndr_status ndr_outline_get_kernel(const ndr_outline *outline, size_t index, ndr_outline_kernel *kernel);

/** What a parameter takes. */
typedef enum ndr_outline_kind {
    NDR_OUTLINE_ANY = 0,     /**< The text does not show its type. */
    NDR_OUTLINE_BUFFER = 1,  /**< A pointer to global or constant memory. */
    NDR_OUTLINE_LOCAL = 2,   /**< A pointer to local memory. */
    NDR_OUTLINE_NUMBER = 3,  /**< A number. */
    NDR_OUTLINE_VECTOR = 4,  /**< A vector. */
    NDR_OUTLINE_STRUCT = 5,  /**< A struct or a union. */
    NDR_OUTLINE_IMAGE = 6,   /**< An image. */
    NDR_OUTLINE_SAMPLER = 7, /**< A sampler. */
    NDR_OUTLINE_REDUCER = 8  /**< A reducer of NDR_REDUCTION(). */
} ndr_outline_kind;

/** One parameter of a kernel. */
typedef struct ndr_outline_param {
    const char *name;        /**< Its name. */
    const char *declaration; /**< As it is written, with macros replaced: "global const float *x". */
    const char *type_name;   /**< The type of the value, or of what it points to, without qualifiers: "float",
                                  "struct pair". */
    const char *header;      /**< The included file that declares this type, if it is a `.h` that the host can include;
                                  otherwise NULL. Named as in ndr_outline_info.text. */
    ndr_outline_kind kind;   /**< What it takes. */
    ndr_dtype dtype;         /**< Of a number, and of the elements of a vector; of a pointer, of its target.
                                  NDR_DTYPE_NONE for other types. */
    unsigned lanes;          /**< 1 for a number, 2 to 16 for a vector; 0 for other types. */
    bool is_const;           /**< The kernel only reads through it. */
    unsigned char unused[3]; /**< Not used. */
    NDR_MAY_GROW
} ndr_outline_param;

/** Describe parameter `index` of kernel `kernel`. */
NDR_SIZED ndr_status ndr_outline_get_param(const ndr_outline *outline, size_t kernel, size_t index,
                                           ndr_outline_param *param);

/** A constant that the text shows: a macro that is one integer expression of 32 bits, also of the options
 * (`#define TILE 16`, -DTILE=16); an integer constant at program scope (`constant int radius = 3`); the number of
 * elements of an array there (`constant float weights[9]` gives "weights_count"). */
typedef struct ndr_outline_constant {
    const char *name; /**< Its name. */
    int64_t value;    /**< Its value. */
    NDR_MAY_GROW
} ndr_outline_constant;

/** Describe constant `index`. */
NDR_SIZED ndr_status ndr_outline_get_constant(const ndr_outline *outline, size_t index, ndr_outline_constant *constant);

/* As in ndr_sized.h. */
NDR_MUST_CHECK ndr_status ndr_outline_create_sized(const ndr_kernel_desc *desc, size_t desc_bytes,
                                                   ndr_outline **outline);
NDR_MUST_CHECK ndr_status ndr_outline_get_info_sized(const ndr_outline *outline, ndr_outline_info *info,
                                                     size_t info_bytes);
NDR_MUST_CHECK ndr_status ndr_outline_get_kernel_sized(const ndr_outline *outline, size_t index,
                                                       ndr_outline_kernel *kernel, size_t kernel_bytes);
NDR_MUST_CHECK ndr_status ndr_outline_get_param_sized(const ndr_outline *outline, size_t kernel, size_t index,
                                                      ndr_outline_param *param, size_t param_bytes);
NDR_MUST_CHECK ndr_status ndr_outline_get_constant_sized(const ndr_outline *outline, size_t index,
                                                         ndr_outline_constant *constant, size_t constant_bytes);

#ifndef NDR_BUILDING

static inline ndr_status ndr_outline_create(const ndr_kernel_desc *desc_, ndr_outline **outline_)
{
    return ndr_outline_create_sized(desc_, sizeof *desc_, outline_);
}

static inline ndr_status ndr_outline_get_info(const ndr_outline *outline_, ndr_outline_info *info_)
{
    return ndr_outline_get_info_sized(outline_, info_, sizeof *info_);
}

static inline ndr_status ndr_outline_get_kernel(const ndr_outline *outline_, size_t index_, ndr_outline_kernel *kernel_)
{
    return ndr_outline_get_kernel_sized(outline_, index_, kernel_, sizeof *kernel_);
}

static inline ndr_status ndr_outline_get_param(const ndr_outline *outline_, size_t of_, size_t index_,
                                               ndr_outline_param *param_)
{
    return ndr_outline_get_param_sized(outline_, of_, index_, param_, sizeof *param_);
}

static inline ndr_status ndr_outline_get_constant(const ndr_outline *outline_, size_t index_,
                                                  ndr_outline_constant *constant_)
{
    return ndr_outline_get_constant_sized(outline_, index_, constant_, sizeof *constant_);
}

#endif

#ifdef __cplusplus
}
#endif

#endif
