/* variant.h - an operation and its implementations, the variants. docs/appendix/architecture.md says how to add one.
 *
 * An operation is a folder: its contract and a list of variants. A call chooses the first variant that can run its
 * request and suits it, plans, gets kernels and workspace, and launches. */
#ifndef NDR_OPS_VARIANT_H
#define NDR_OPS_VARIANT_H

#include "device/caps.h"

enum { NDR_OPTIONS_SIZE = 320, NDR_OTHER_KERNELS = 4 };

/* What a variant builds its kernels with, and launches, for a request. */
typedef struct ndr_op_plan {
    char options[NDR_OPTIONS_SIZE];
    ndr_nd_range range;     /* of its main kernel */
    size_t local_bytes;     /* of local memory, in arguments and declared, for a group of it */
    size_t workspace_bytes; /* 0: it needs none */
    bool leaves_others;     /* the request needs none of the variant's other kernels */
    size_t numbered_bytes;  /* with a workspace: of words that hold a launch's number; 0: it needs none */
} ndr_op_plan;

/* Needs of a variant beyond OpenCL 1.2, bits of ndr_op_variant.needs. select.c has a description of each. */
typedef enum ndr_need {
    NDR_NEEDS_DEVICE_ORDER = 1u << 0, /* acquire and release between groups */
    NDR_NEEDS_F64_MMA = 1u << 1,      /* inline PTX that multiplies matrices of f64 */
    NDR_NEEDS_BF16_MMA = 1u << 2,     /* PTX, loaded as a binary, that multiplies matrices of bfloat16 */
    NDR_NEEDS_LARGE_GROUPS = 1u << 3, /* groups of 512 items with 32 KiB of local memory */
    NDR_NEEDS_F16_MMA = 1u << 4,      /* the same for half and bfloat16 */
    NDR_NEEDS_ROUNDED_MMA = 1u << 5,  /* the same, of kernels with one half for each element */
    NDR_NEEDS_PROGRESS = 1u << 6,     /* groups that go on while others wait for them */
    NDR_NEEDS_COPY_ENGINE = 1u << 7,  /* the same, and PTX that copies to and from local memory */
    NDR_NEEDS_VOTES = 1u << 8,        /* the same of 256 items, and votes of warps */
    NDR_NEEDS_NARROW_MMA = 1u << 9,   /* the same for half, bfloat16 and bytes, which the copy engine brings */
    NDR_NEEDS_RESIDUES = 1u << 10,    /* the same for bytes, and for f64 */
    NDR_NEEDS_SMALL_MMA = 1u << 11,   /* inline PTX that multiplies matrices of half and bfloat16 */
} ndr_need;

/* What is left out for a device: needs in the low half; variants, by their place in the operation's list, in the high
 * half. */
typedef uint64_t ndr_lacks;
enum { NDR_FIRST_VARIANT = 32 };

typedef struct ndr_op_job ndr_op_job;
typedef struct ndr_op_variant ndr_op_variant;

/* What a variant is asked about. */
typedef struct ndr_op_case {
    const ndr_op_variant *variant;
    const ndr_caps *caps; /* of the device; cannot() does not read them */
    const void *request;  /* the operation's struct */
} ndr_op_case;

/* One implementation. cannot() and unsuited() return the reason, or NULL; a NULL function never has a reason. These,
 * write() and plan() are pure. */
struct ndr_op_variant {
    const char *name;
    const char *file;                      /* under kernels/; NULL: the text of write() is all */
    const char *kernel;                    /* the main one; NULL: launch() needs none */
    const char *others[NDR_OTHER_KERNELS]; /* that are launched, too, if the plan has a workspace; NULL: none */
    unsigned needs;
    unsigned form;                                  /* tells variants apart that share functions */
    const char *(*cannot)(const ndr_op_case *of);   /* why it cannot run the request */
    const char *(*unsuited)(const ndr_op_case *of); /* why a later variant is better */
    /* Appends a text for the request, behind which the file is included; or nothing. NULL: never. */
    void (*write)(const ndr_op_case *of, ndr_text *out);
    void (*plan)(const ndr_op_case *of, ndr_op_plan *plan);
    ndr_status (*launch)(ndr_op_job *job);
    /* Of a variant that uses more than OpenCL C, which is tried before its first use: whether its results on this device
     * are right. NULL: it uses no more. */
    ndr_status (*prove)(ndr_queue *queue, const ndr_op_variant *variant, bool *is_right);
    /* prove() takes seconds: a thread tries the variant while calls take others, whose results may have other bits. */
    bool proves_later;
    const ndr_op_variant *meanwhile; /* builds faster, and runs while another is tried; NULL: itself */
    const ndr_op_variant *instead;   /* runs if there is no memory for the workspace; NULL: the call fails */
};

/* Define a variant whose kernels are in a file of its name. `main` is the main kernel; the rest are members. */
#define NDR_OP_VARIANT(operation, variant, main, need, ...)                                                     \
    const ndr_op_variant ndr_##operation##_##variant = {                                                        \
        .name = #variant, .file = #operation "/" #variant ".cl", .kernel = (main), .needs = (need), __VA_ARGS__ \
    }

/* What a request declares for traces: bytes read and written, each once, and floating-point operations. */
typedef struct ndr_op_work {
    uint64_t bytes, flops;
} ndr_op_work;

/* The variants in their order of selection. For each request there is one without needs that can run it and suits it. */
typedef struct ndr_operation {
    const char *name; /* "reduce" */
    const ndr_op_variant *const *variants;
    size_t variant_count;
    uint32_t (*class_of)(const void *request); /* requests of one class are tuned together; NULL: never tuned */
    ndr_op_work (*work_of)(const void *request);
} ndr_operation;

#endif
