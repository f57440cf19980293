/* kernel.h - a kernel that can be launched, with its parameters and limits. */
#ifndef NDR_KERNEL_H
#define NDR_KERNEL_H

#include "device/caps.h"
#include "device/opencl.h"
#include "program/types.h"

#include "ndr/detail/launch_record.h"

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

typedef struct ndr_param {
    ndr_param_kind kind;
    ndr_builtin type;  /* of the value, or of the pointer's target, with typedefs resolved if possible */
    size_t size_bytes; /* of a value, or of one element of local memory; 0 if unknown */
    bool is_const;     /* the kernel only reads through it */
    ndr_access access; /* of an image */
    char *name, *type_name;
} ndr_param;

/* One kernel function of a program. OpenCL keeps a kernel's arguments inside the kernel, so `lock` is held while
 * arguments are set and the kernel is enqueued. */
struct ndr_kernel {
    uint64_t seal;
    ndr_hash key;                /* hash of the request */
    ndr_context *context;        /* no reference: the context owns the kernel */
    struct ndr_program *program; /* NULL: foreign */
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

/* ---- kernel.c ---- */

/* The key of a desc's program in the registry; refuses what ndr_kernel_get() refuses at once. */
ndr_status ndr_kernel_read_key(const ndr_kernel_desc *desc, ndr_hash *program);

/* Build a desc's program, or find it. Of its kernels none is made; a program without kernels is refused. */
ndr_status ndr_kernel_get_program(ndr_context *context, const ndr_kernel_desc *desc, struct ndr_program **program);

/* Create a kernel; only its context and key are set. */
ndr_status ndr_kernel_new(ndr_context *context, ndr_hash key, ndr_kernel **kernel);

/* Free what was not passed to the registry. NULL is allowed. */
void ndr_kernel_free(ndr_kernel *kernel);
void ndr_kernel_free_params(ndr_kernel *kernel); /* only these */

/* Pure: whether the kernel may write through a parameter that is a pointer. */
static inline bool ndr_param_is_written(const ndr_param *param)
{
    return !param->is_const && param->kind != NDR_PARAM_CONSTANT;
}

/* Pure: the type of a parameter as users see it. The driver calls that of a reducer "ndr_reducer_MIN_int*". */
const char *ndr_param_shown_type(const ndr_param *param);

/* Create one more of OpenCL's kernels, with arguments of its own. */
ndr_status ndr_kernel_clone(const ndr_kernel *kernel, cl_kernel *clone);

/* ---- signature.c ---- */

/* Fill in the parameters and limits of `kernel`, whose cl, context and name are set. Of a kernel without a text (its
 * program is NULL or compiled) only the driver's information is known. The caller holds the build lock. */
ndr_status ndr_signature_read(ndr_kernel *kernel);
ndr_status ndr_signature_read_limits(ndr_kernel *kernel); /* only these */

/* Fill in what follows from the parameters: the launch record, the number of visible parameters, their bytes. */
void ndr_signature_complete(ndr_kernel *kernel);

/* Whether the driver tells the name and type of a parameter. */
ndr_status ndr_signature_is_told(cl_kernel kernel, cl_uint index, bool *is_told);

/* Pure: the operator of a reducer's parameter. */
ndr_op ndr_reducer_op(const ndr_param *param);

#endif
