/* written.c - kernels whose text an operation writes around a text of the caller, and errors in the caller's lines. */
#include "ops/written.h"
#include "program/program.h"

#include <stdio.h>

/* The line of that number behind the mark of that title; NULL: there is none. */
static const char *find_line(const char *text, const char *title, unsigned long number)
{
    char mark[64];
    snprintf(mark, sizeof mark, "\n#line 1 \"%s\"\n", title);
    const char *at = strstr(text, mark);
    if (at) at += strlen(mark);
    for (; at && number > 1; --number) {
        at = strchr(at, '\n');
        if (at) ++at;
    }
    return at;
}

/* The first place in a log that names a title of the caller's, "expression:2:9"; NULL: there is none. */
static const char *find_first(const char *log, const char **title)
{
    static const char *const titles[] = { "expression", "declarations", "combine", "identity", "finish", "less", "epilogue" };
    const char *first = NULL;
    for (size_t i = 0; i < NDR_COUNT_OF(titles); ++i) {
        char named[32];
        snprintf(named, sizeof named, "%s:", titles[i]);
        const char *found = strstr(log, named);
        if (!found || (first && first < found)) continue;
        first = found;
        *title = titles[i];
    }
    return first;
}

/* Some drivers' logs name line and column of an error, but do not show the line. */
static ndr_status show_mistake(ndr_status status, const char *text)
{
    unsigned long line = 0, column = 0;
    const char *const sentence = ndr_last_error(), *title = "";
    const char *const found = find_first(sentence, &title);
    if (!found || strstr(sentence, " ^")) return status;
    if (sscanf(found + strlen(title), ":%lu:%lu", &line, &column) != 2 || line == 0 || column == 0) return status;
    const char *const own = find_line(text, title, line);
    const size_t length = own ? strcspn(own, "\n") : 0;
    if (column > length + 1) return status;
    return ndr_fail_with_log(status, ndr_last_cl_error(), ndr_last_build_log(), "%s\n%.*s\n%*s", sentence, (int)length,
                             own, (int)column, "^");
}

ndr_status ndr_written_get(ndr_context *context, const ndr_kernel_desc *desc, ndr_text *text, ndr_kernel **kernel)
{
    if (desc->bundled) ndr_text_add(text, "#include \"%s\"\n", desc->bundled);
    if (text->failed) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for the text of kernel \"%s\"", desc->name);
    const ndr_kernel_desc written = { .name = desc->name,
                                      .source = text->chars,
                                      .options = desc->options,
                                      .label = ndr_written_label };
    const ndr_status status = ndr_kernel_get(context, &written, kernel);
    return status == NDR_BUILD_FAILED ? show_mistake(status, text->chars) : status;
}

/* ---- elements of the caller's type ---- */

ndr_status ndr_written_check_type(const char *call, ndr_dtype dtype, const char *element, size_t element_bytes,
                                  const ndr_device_info *device)
{
    enum { MAX_ELEMENT_BYTES = 256 };
    const bool is_number = dtype >= NDR_DTYPE_I8 && dtype <= NDR_DTYPE_F64;
    NDR_REQUIRE(element ? dtype == NDR_DTYPE_NONE : is_number,
                element ? "%s: dtype is %s and element is set, too; set one of them"
                        : "%s: dtype is %s; use i8, u8, i16, u16, i32, u32, i64, u64, f32 or f64, or set element",
                call, dtype == NDR_DTYPE_NONE ? "not set" : ndr_dtype_name(dtype));
    NDR_REQUIRE(!element || (element_bytes > 0 && element_bytes <= MAX_ELEMENT_BYTES),
                "%s: element_bytes is %zu; set the size of \"%s\", at most %d", call, element_bytes, element,
                MAX_ELEMENT_BYTES);
    NDR_REQUIRE_AS(NDR_UNSUPPORTED, dtype != NDR_DTYPE_F64 || device->has_f64,
                   "%s: device \"%s\" has no f64; use f32", call, device->name);
    return NDR_OK;
}

void ndr_written_add_type(const char *type, size_t bytes, ndr_text *out)
{
    ndr_text_add_all(out, "typedef ", type, " ndr_element;\n");
    if (bytes)
        ndr_text_add(out, "typedef char ndr_element_bytes_differ[sizeof(ndr_element) == %zu ? 1 : -1];\n", bytes);
}

ndr_status ndr_written_explain_size(ndr_status status, const char *call, const char *element, size_t element_bytes)
{
    if (status != NDR_BUILD_FAILED || !strstr(ndr_last_error(), "ndr_element_bytes_differ")) return status;
    return ndr_fail(NDR_BAD_ARGUMENT,
                    "%s: element_bytes is %zu, but \"%s\" has another size on the device; use members of the same sizes "
                    "and order in both structs, and sizeof of that of the host",
                    call, element_bytes, element);
}
