/* core.c - microarchitectures with fewer instructions than this CPU: PoCL generates code for them, and OpenBLAS uses
 * their kernels. */
#define _POSIX_C_SOURCE 200809L
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *the_core;

enum { AVX512F = 1, AVX2 = 2, FMA = 4 };

/* `instructions`: which of these three PoCL's code for the core uses. */
static const struct {
    const char *name; /* as in POCL_KERNELLIB_NAME */
    const char *openblas;
    unsigned instructions;
} cores[] = {
    { "avx512", "SkylakeX", AVX512F | AVX2 | FMA },
    { "avx2", "Haswell", AVX2 | FMA },
    { "sse2", "Nehalem", 0 },
};

static size_t find(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(cores); ++i)
        if (strcmp(cores[i].name, name) == 0) return i;
    fprintf(stderr, "bench: no core \"%s\"; there are avx512, avx2 and sse2\n", name);
    exit(2);
}

void core_prepare(const char *name, const char *cache)
{
    char path[4096];
    snprintf(path, sizeof path, "%s-%s", cache, name);
    setenv("POCL_CACHE_DIR", path, 1);
    setenv("POCL_KERNELLIB_NAME", name, 1);
    setenv("OPENBLAS_CORETYPE", cores[find(name)].openblas, 1);
}

static unsigned instructions_of_device(void)
{
    static const char source[] = "kernel void tell(global uint *out)\n"
                                 "{\n"
                                 "    *out = 0;\n"
                                 "#ifdef __AVX512F__\n    *out |= 1;\n#endif\n"
                                 "#ifdef __AVX2__\n    *out |= 2;\n#endif\n"
                                 "#ifdef __FMA__\n    *out |= 4;\n#endif\n"
                                 "}\n";
    cl_int code;
    cl_kernel kernel = raw_kernel(source, "tell");
    cl_mem out = clCreateBuffer(ndr_context_cl(the_context), CL_MEM_READ_WRITE, sizeof(cl_uint), NULL, &code);
    MUST_CL(code);
    const size_t one = 1;
    cl_uint instructions;
    cl_command_queue queue = ndr_queue_cl(the_queue);
    MUST_CL(clSetKernelArg(kernel, 0, sizeof out, &out));
    MUST_CL(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &one, 0, NULL, NULL));
    MUST_CL(clEnqueueReadBuffer(queue, out, CL_TRUE, 0, sizeof instructions, &instructions, 0, NULL, NULL));
    clReleaseMemObject(out);
    clReleaseKernel(kernel);
    return instructions;
}

void core_check(const char *name)
{
    if (instructions_of_device() == cores[find(name)].instructions) return;
    fprintf(stderr, "bench: PoCL generates no code for %s here: its code has other instructions\n", name);
    exit(3);
}

/* ---- multiplying and adding in registers ---- */

#define DECLARE(core) double multiply_##core(size_t steps), flop_##core(size_t steps);
DECLARE(native)
#ifdef __x86_64__
DECLARE(sse2)
DECLARE(avx2)
DECLARE(avx512)
#endif

static const multiplier multipliers[] = {
    { "native", multiply_native, flop_native },
#ifdef __x86_64__
    { "sse2", multiply_sse2, flop_sse2 },
    { "avx2", multiply_avx2, flop_avx2 },
    { "avx512", multiply_avx512, flop_avx512 },
#endif
};

const multiplier *core_multiplier(const char *name)
{
    for (size_t i = 0; name && i < COUNT_OF(multipliers); ++i)
        if (strcmp(multipliers[i].name, name) == 0) return &multipliers[i];
    return &multipliers[0];
}
