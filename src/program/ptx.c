/* ptx.c - what the OpenCL compiler's PTX lacks: instructions of another target, which kernels have in comments, and how
 * many groups a multiprocessor has to hold. */
#include "program/program.h"

#include <stdlib.h>
#include <string.h>

#define MARK "//@ "

static void add_uncommented(const char *at, ndr_text *out)
{
    for (const char *mark; (mark = strstr(at, MARK)) != NULL; at = mark + strlen(MARK))
        ndr_text_add_chars(out, at, (size_t)(mark - at));
    ndr_text_add_chars(out, at, strlen(at));
}

/* Behind each line with the size that a kernel's groups have. The compiler then keeps to as many registers. */
static void add_with_groups(const char *at, unsigned groups, ndr_text *out)
{
    static const char size[] = ".reqntid";
    for (const char *found; (found = strstr(at, size)) != NULL;) {
        const char *const end = found + strcspn(found, "\n");
        ndr_text_add_chars(out, at, (size_t)(end - at));
        ndr_text_add(out, "\n.minnctapersm %u", groups);
        at = end;
    }
    ndr_text_add_chars(out, at, strlen(at));
}

static ndr_status retarget(const char *ptx, const char *target, ndr_text *out)
{
    static const char directive[] = ".target ";
    const char *found = strstr(ptx, directive);
    NDR_REQUIRE_AS(NDR_UNSUPPORTED, found, "the driver's binary is not PTX");
    const char *name = found + strlen(directive);
    const size_t length = strcspn(name, ", \t\r\n");
    if (!*target) target = name;
    NDR_REQUIRE_AS(NDR_UNSUPPORTED, length > 0 && strncmp(name, target, length) == 0,
                   "the driver's PTX is for %.*s, not for %s", (int)length, name, target);
    ndr_text_add_chars(out, ptx, (size_t)(name - ptx));
    ndr_text_add_chars(out, target, target == name ? length : strlen(target));
    add_uncommented(name + length, out);
    return NDR_OK;
}

ndr_status ndr_ptx_patch(const char *ptx, const ndr_ptx_changes *changes, ndr_text *out)
{
    ndr_text targeted = { 0 };
    const ndr_status status = retarget(ptx, changes->target, &targeted);
    if (status == NDR_OK && changes->groups && !targeted.failed) add_with_groups(targeted.chars, changes->groups, out);
    else if (status == NDR_OK) ndr_text_add_chars(out, targeted.chars, targeted.length);
    const bool failed = targeted.failed || out->failed;
    ndr_text_free(&targeted);
    if (status != NDR_OK) return status;
    return failed ? ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for PTX") : NDR_OK;
}

ndr_ptx_changes ndr_ptx_changes_of(const char *options)
{
    static const char of_target[] = "-DNDR_PTX_TARGET=", of_groups[] = "-DNDR_PTX_GROUPS=";
    ndr_ptx_changes changes = { "", 0 };
    const char *target = strstr(options, of_target), *groups = strstr(options, of_groups);
    const size_t length = target ? strcspn(target + strlen(of_target), " ") : 0;
    if (length < sizeof changes.target && target) memcpy(changes.target, target + strlen(of_target), length);
    if (groups) changes.groups = (unsigned)strtoul(groups + strlen(of_groups), NULL, 10);
    return changes;
}
