/* args.h - arguments of kernels: checked against the signature, and set in OpenCL's kernel. */
#ifndef NDR_LAUNCH_ARGS_H
#define NDR_LAUNCH_ARGS_H

#include "base/base.h"
#include "device/shared.h"
#include "program/program.h"

/* Enough of an argument to detect that the next one is the same. */
typedef struct ndr_arg_mark {
    ndr_arg_kind kind; /* NDR_ARG_NONE: equal to no other */
    uint64_t value;    /* the bits of a number, the identity of a buffer */
} ndr_arg_mark;

/* One argument for clSetKernelArg(). */
typedef struct ndr_bound {
    ndr_arg_mark set; /* set in OpenCL's kernel by an earlier launch */
    ndr_arg_mark given;
    bool had_shared; /* an argument that was set was a pointer into shared memory */
    bool is_set;     /* `given` is set already; the members below are not used */
    size_t size_bytes;
    const void *value; /* in the ndr_arg, its object, or `copy`; NULL for local memory; the pointer into `shared` */
    const ndr_shared *shared; /* NULL: another argument */
    union {
        uint8_t u8;
        uint16_t u16, halves[16];
        uint32_t u32;
        uint64_t u64, three[4];
    } copy; /* an integer or a half in the parameter's width; a vector of halves or of three */
} ndr_bound;

/* What checking some arguments has found. */
typedef struct ndr_args_found {
    size_t local_bytes; /* of local memory in arguments */
    bool has_new;       /* some are not set already */
    bool has_shared;    /* some are pointers into shared memory */
} ndr_args_found;

/* Check arguments against the kernel's signature and convert each to an element of `bound`, which has room for
 * info.arg_count. Nothing is set yet. */
ndr_status ndr_args_check(const ndr_kernel *kernel, const ndr_arg *args, size_t arg_count, ndr_bound *bound,
                          ndr_args_found *found);

/* The same for one argument, which is added to `*found`. */
ndr_status ndr_args_check_one(const ndr_kernel *kernel, size_t index, const ndr_arg *arg, ndr_bound *bound,
                              ndr_args_found *found);

/* How many of the last arguments fill no parameter, because the kernel reaches them without; and their checks. */
size_t ndr_args_count_reached(const ndr_arg *args, size_t arg_count);
ndr_status ndr_args_check_reached(const ndr_kernel *kernel, const ndr_arg *args, size_t arg_count);

/* Refuse arguments whose objects are not live handles; `first` is the index of the first one. */
ndr_status ndr_args_check_handles(const ndr_kernel *kernel, size_t first, const ndr_arg *args, size_t arg_count);

/* Of checked arguments, before a launch on `queue`: refuse memory that the device cannot use now, because the host has
 * it mapped, and note that the queue uses it. */
ndr_status ndr_args_use(const ndr_kernel *kernel, const ndr_queue *queue, const ndr_arg *args, size_t arg_count);

/* Before the arguments are checked: whether one is given where OpenCL's kernel had a pointer into shared memory, and is
 * none itself, where a driver has the fault shared_then_buffer. */
bool ndr_args_need_new_kernel(const ndr_kernel *kernel, const ndr_bound *bound, const ndr_arg *args, size_t arg_count);

/* Set the arguments that are not set already in `cl`, which is `kernel`'s own or a clone of it. No other thread uses
 * `cl`. */
ndr_status ndr_args_bind(const ndr_kernel *kernel, cl_kernel cl, ndr_bound *bound, size_t arg_count);
ndr_status ndr_args_bind_one(const ndr_kernel *kernel, cl_kernel cl, size_t index, const ndr_bound *bound);

/* After the driver has refused an argument or a launch with `status`: if the arguments exceed the device's limit, say
 * so. Most drivers accept more than they promise, so nothing is refused before. Returns the status. */
ndr_status ndr_args_fail_for_bytes(const ndr_kernel *kernel, ndr_status status) __attribute__((cold));

/* Take or return a reference to the object of a checked argument. */
void ndr_arg_keep(const ndr_arg *arg);
void ndr_arg_release(const ndr_arg *arg);

/* Copy a checked argument so that it outlives the caller's: with a reference to its object, or with the bytes and the
 * type's name of a struct. If that fails, `*taken` is empty. */
ndr_status ndr_arg_take(const ndr_arg *arg, ndr_arg *taken);
void ndr_arg_drop(const ndr_arg *taken);

/* The kind of the object that is the argument of a parameter; NDR_HANDLE_NONE: there is none. */
ndr_handle_kind ndr_arg_handle(const ndr_arg *arg);

/* "kernel "scale", argument 0 "x" (float*)"; in place of a name and a type, the kind of an argument without
 * parameter. */
typedef struct ndr_arg_text {
    char chars[384];
} ndr_arg_text;
ndr_arg_text ndr_arg_print(const ndr_kernel *kernel, size_t index, const ndr_arg *arg);

/* ---- values.c, for args.c ---- */

/* An argument that is checked. */
typedef struct ndr_arg_check {
    const ndr_kernel *kernel;
    size_t index;
    const ndr_param *param; /* NULL: it fills none */
    const ndr_arg *arg;
} ndr_arg_check;

/* Refuse an argument: the sentence begins with ndr_arg_print(). */
ndr_status ndr_arg_refuse(const ndr_arg_check *p, ndr_status status, const char *format, ...)
    __attribute__((cold, format(printf, 3, 4)));

/* Return such a refusal unless `condition` holds. */
#define NDR_REQUIRE_ARG_AS(status, p, condition, ...)                        \
    do {                                                                     \
        if (!(condition)) return ndr_arg_refuse((p), (status), __VA_ARGS__); \
    } while (0)

#define NDR_REQUIRE_ARG(p, condition, ...) NDR_REQUIRE_ARG_AS(NDR_BAD_KERNEL_ARGUMENT, p, condition, __VA_ARGS__)

/* Refuse an argument of another kind than `wanted`: "a buffer". */
ndr_status ndr_arg_refuse_kind(const ndr_arg_check *p, const char *wanted) __attribute__((cold));

/* "an integer": the kind in sentences. */
const char *ndr_arg_kind_name(const ndr_arg *arg);

/* Check an argument for a parameter of one kind, and convert it. */
typedef ndr_status ndr_arg_convert(const ndr_arg_check *p, ndr_bound *out);
ndr_arg_convert ndr_convert_local, ndr_convert_number, ndr_convert_bytes;

/* For a parameter of unknown type: the argument as it is given, a number with its size on the host. */
ndr_arg_convert ndr_convert_any_number, ndr_convert_any_vector, ndr_convert_any_struct;

/* The initial value of a reducer, in `out->copy`. */
ndr_arg_convert ndr_convert_initial;

#endif
