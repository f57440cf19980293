/* build_spirv.h - SPIR-V of a file, made by clang and llvm-spirv. */
#ifndef NDR_BUILD_SPIRV_H
#define NDR_BUILD_SPIRV_H

#include "command.h"

/* Compiles desc->file, a text, and writes a module. */
int save_spirv(const ndr_kernel_desc *desc, const char *path);

#endif
