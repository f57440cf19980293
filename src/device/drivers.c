/* drivers.c - why a machine has no driver or no device, for sentences: what is installed, but cannot be used. */
#include "device/drivers.h"

#include <string.h>

static const char how_to_install[] =
    "install one, such as Debian's pocl-opencl-icd for the CPU or your GPU vendor's, or point OCL_ICD_VENDORS "
    "at the folder of its .icd file";

/* ---- .icd files: each has the name or path of a driver's library ---- */

typedef struct icd_search {
    const char *folder;
    ndr_text *broken; /* "a; b": the files whose libraries cannot be opened */
} icd_search;

static void add_if_broken(const char *path, ndr_text *broken)
{
    ndr_text library = { 0 }, why = { 0 };
    ndr_file_info info;
    const int error = ndr_file_read(path, 4096, &library, &info);
    const char *separator = broken->length ? "; " : "";
    if (library.chars) library.chars[strcspn(library.chars, "\r\n")] = '\0';
    if (error) ndr_text_add(broken, "%s\"%s\" cannot be read (%s)", separator, path, ndr_errno_print(error).chars);
    else if (!library.chars || !*library.chars) ndr_text_add(broken, "%s\"%s\" names no library", separator, path);
    else if (!ndr_library_open(library.chars, &why))
        ndr_text_add(broken, "%s\"%s\" names a library that cannot be opened (%s)", separator, path,
                     why.chars ? why.chars : library.chars);
    ndr_text_free(&why);
    ndr_text_free(&library);
}

static bool is_icd(const char *name)
{
    const size_t length = strlen(name);
    return length > 4 && strcmp(name + length - 4, ".icd") == 0;
}

static bool visit_icd(void *search, const char *name)
{
    const icd_search *s = search;
    ndr_text path = { 0 };
    ndr_text_add(&path, "%s/%s", s->folder, name);
    if (is_icd(name) && !path.failed) add_if_broken(path.chars, s->broken);
    ndr_text_free(&path);
    return true;
}

/* Where the loader looks: OCL_ICD_VENDORS is a folder, or an .icd file. */
static void find_broken_drivers(ndr_text *broken)
{
    const char *chosen = ndr_environment("OCL_ICD_VENDORS");
    icd_search search = { chosen ? chosen : "/etc/OpenCL/vendors", broken };
    ndr_file_info info;
    if (ndr_file_get_info(search.folder, &info) != 0) return;
    if (info.is_folder) ndr_folder_visit(search.folder, visit_icd, &search);
    else if (is_icd(search.folder)) add_if_broken(search.folder, broken);
}

/* ---- no driver ---- */

/* These variables restrict where the loader looks for drivers. */
static ndr_status fail_where_none_is(cl_int error)
{
    static const char *const variables[][2] = {
        { "OCL_ICD_VENDORS", "the folder of a driver's .icd file" },
        { "OCL_ICD_FILENAMES", "the path of a driver's library" },
    };
    for (size_t i = 0; i < NDR_COUNT_OF(variables); ++i) {
        const char *value = ndr_environment(variables[i][0]);
        if (value)
            return ndr_fail_with_code(
                NDR_NO_DRIVER, error,
                "no OpenCL driver is found, as the environment variable %s is \"%s\": unset it to use "
                "the installed drivers, or set it to %s",
                variables[i][0], value, variables[i][1]);
    }
    return ndr_fail_with_code(NDR_NO_DRIVER, error, "no OpenCL driver is installed: %s", how_to_install);
}

ndr_status ndr_fail_without_driver(cl_int error)
{
    ndr_text broken = { 0 };
    find_broken_drivers(&broken);
    const ndr_status status =
        broken.length == 0 ? fail_where_none_is(error)
                           : ndr_fail_with_code(NDR_NO_DRIVER, error,
                                                "no OpenCL driver could be loaded: %s; reinstall that driver, or "
                                                "correct or remove its .icd file",
                                                broken.chars);
    ndr_text_free(&broken);
    return status;
}

/* ---- no device ---- */

static bool is_set(const char *variable)
{
    const char *value = ndr_environment(variable);
    return value && *value;
}

int ndr_drivers_check_folder(ndr_text *folder, const char **variable)
{
    static const char *const folders[][2] = { { "POCL_CACHE_DIR", "" },
                                              { "XDG_CACHE_HOME", "" },
                                              { "HOME", "/.cache" } };
    size_t i = 0;
    while (i < NDR_COUNT_OF(folders) && !is_set(folders[i][0])) ++i;
    *variable = i < NDR_COUNT_OF(folders) ? folders[i][0] : "HOME";
    if (i < NDR_COUNT_OF(folders)) ndr_text_add(folder, "%s%s", ndr_environment(folders[i][0]), folders[i][1]);
    else ndr_text_add(folder, "/tmp/pocl/kcache"); /* PoCL's without any of them, whoever has made it first */
    return folder->failed ? 0 : ndr_folder_check_write(folder->chars);
}

/* PoCL has no device without such a folder. */
static void add_folder_if_unwritable(ndr_text *causes)
{
    ndr_text folder = { 0 };
    const char *variable;
    if (ndr_drivers_check_folder(&folder, &variable))
        ndr_text_add(causes,
                     "this user cannot write to \"%s\" (%s%s%s), and drivers such as PoCL have no device without a "
                     "folder for their files: set POCL_CACHE_DIR or HOME to one that this user can write to; or ",
                     folder.chars, is_set(variable) ? "from " : "", variable, is_set(variable) ? "" : " is not set");
    ndr_text_free(&folder);
}

ndr_status ndr_fail_without_device(unsigned drivers, const ndr_catalog *catalog)
{
    const char *are = drivers == 1 ? " is" : "s are";
    if (catalog->skipped.length > 0)
        return ndr_fail_with_code(
            NDR_NO_DEVICE, catalog->cl_error,
            "%u OpenCL driver%s installed, but none has a device that could be queried: %s; run `ndr doctor`, which "
            "tests each driver, and reinstall the one that fails",
            drivers, are, catalog->skipped.chars);
    ndr_text causes = { 0 };
    find_broken_drivers(&causes);
    if (causes.length > 0) ndr_text_add(&causes, ": reinstall that driver; or ");
    add_folder_if_unwritable(&causes);
    const ndr_status status =
        ndr_fail(NDR_NO_DEVICE,
                 "%u OpenCL driver%s installed, but none offers a device: %scheck that the device is plugged in and "
                 "that this user may open it, or %s",
                 drivers, are, causes.chars ? causes.chars : "", how_to_install);
    ndr_text_free(&causes);
    return status;
}
