/* ptx.c - PTX that the OpenCL compiler's target lacks: kernels have it in comments, and it is uncommented here. */
#include "program/program.h"

#include <string.h>

#define MARK "//@ "

static void add_uncommented(const char *at, ndr_text *out)
{
    for (const char *mark; (mark = strstr(at, MARK)) != NULL; at = mark + strlen(MARK))
        ndr_text_add_chars(out, at, (size_t)(mark - at));
    ndr_text_add_chars(out, at, strlen(at));
}

ndr_status ndr_ptx_patch(const char *ptx, const char *target, ndr_text *out)
{
    static const char directive[] = ".target ";
    const char *found = strstr(ptx, directive);
    NDR_REQUIRE_AS(NDR_UNSUPPORTED, found, "the driver's binary is not PTX");
    const char *name = found + strlen(directive);
    const size_t length = strcspn(name, ", \t\r\n");
    NDR_REQUIRE_AS(NDR_UNSUPPORTED, length > 0 && strncmp(name, target, length) == 0,
                   "the driver's PTX is for %.*s, not for %s", (int)length, name, target);
    ndr_text_add_chars(out, ptx, (size_t)(name - ptx));
    ndr_text_add_chars(out, target, strlen(target));
    add_uncommented(name + length, out);
    return out->failed ? ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for PTX") : NDR_OK;
}

ndr_ptx_target ndr_ptx_target_of(const char *options)
{
    static const char option[] = "-DNDR_PTX_TARGET=";
    ndr_ptx_target target = { "" };
    const char *found = strstr(options, option);
    const size_t length = found ? strcspn(found + strlen(option), " ") : 0;
    if (length < sizeof target.name && found) memcpy(target.name, found + strlen(option), length);
    return target;
}
