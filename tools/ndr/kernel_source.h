/* kernel_source.h - the file of kernels and its build options, of the subcommands that build one. */
#ifndef NDR_KERNEL_SOURCE_H
#define NDR_KERNEL_SOURCE_H

#include "command.h"

/* All zeros at first; free_kernel_source() in every case. */
typedef struct kernel_source {
    const char *file; /* the subcommand sets it */
    char *options;
    const char **include_dirs;
    size_t include_count;
    unsigned char *bytes; /* of SPIR-V or a binary; NULL: text */
    size_t byte_count;
} kernel_source;

/* -D, -I and --build-options; the child's input is a `kernel_source`. */
extern const struct argp kernel_source_argp;

/* Describes the kernel `name` of the file: text, or SPIR-V (.spv), or a driver's binary (.bin), which are read here. */
int describe_kernel(kernel_source *source, const char *name, ndr_kernel_desc *desc);

/* The kind of a file, by the end of its name; others are texts. */
bool is_spirv_file(const char *path);
bool is_binary_file(const char *path);

void free_kernel_source(kernel_source *source);

#endif
