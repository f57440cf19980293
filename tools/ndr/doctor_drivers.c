/* doctor_drivers.c - the .icd files, each of which names the library of a driver: whether it opens and has devices. And
 * OCL_ICD_FILENAMES, which names libraries itself. */
#include "doctor.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct icd {
    char path[4096], library[4096];
    char folder[4096]; /* a temporary one with a link to the file, "one.icd"; "": it cannot be made */
} icd;

/* ---- in a child ---- */

/* The loader finds this driver alone. Some loaders take only a folder, not a file. */
static size_t count_devices(const icd *file)
{
    size_t count = 0;
    unset_variables(NULL);
    unsetenv("OCL_ICD_FILENAMES");
    if (setenv("OCL_ICD_VENDORS", *file->folder ? file->folder : file->path, 1) != 0) return 0;
    return ndr_device_list(0, NULL, &count) == NDR_OK ? count : 0;
}

static json_t *try_icd(const void *input)
{
    const icd *const file = input;
    set_stage("opened its library");
    if (!dlopen(file->library, RTLD_NOW | RTLD_LOCAL)) {
        const char *const reason = dlerror();
        return json_pack("{so}", "error", text_json(reason ? reason : "no reason"));
    }
    set_stage("listed its devices");
    return json_pack("{sI}", "devices", (json_int_t)count_devices(file));
}

/* ---- its folder ---- */

static void make_folder(icd *file)
{
    char link[4200];
    const char *const temporary = getenv("TMPDIR");
    char *const whole = realpath(file->path, NULL);
    snprintf(file->folder, sizeof file->folder, "%.4000s/ndr-doctor-XXXXXX",
             temporary && *temporary ? temporary : "/tmp");
    const bool is_made = whole && mkdtemp(file->folder);
    snprintf(link, sizeof link, "%s/one.icd", file->folder);
    if (is_made && symlink(whole, link) != 0) rmdir(file->folder), *file->folder = '\0';
    if (!is_made) *file->folder = '\0';
    free(whole);
}

static void remove_folder(const icd *file)
{
    char link[4200];
    if (!*file->folder) return;
    snprintf(link, sizeof link, "%s/one.icd", file->folder);
    unlink(link);
    rmdir(file->folder);
}

/* ---- a file ---- */

static const char how_to_mend[] = "reinstall that driver, or correct or remove the file";

/* The first line. Returns whether there is one; otherwise a finding says why not. */
static bool read_library(report *r, icd *file)
{
    FILE *const opened = fopen(file->path, "r");
    const int error = errno;
    const bool is_read = opened && fgets(file->library, sizeof file->library, opened);
    if (opened) fclose(opened);
    if (!opened) add_finding(r, FAULT, "driver", how_to_mend, "\"%s\" cannot be read: %s", file->path, strerror(error));
    else file->library[is_read ? strcspn(file->library, "\r\n") : 0] = '\0';
    if (opened && !*file->library) add_finding(r, FAULT, "driver", how_to_mend, "\"%s\" names no library", file->path);
    return opened && *file->library;
}

static void check_icd_file(report *r, const char *path, double seconds)
{
    char why[300];
    icd file = { .library = "" };
    snprintf(file.path, sizeof file.path, "%s", path);
    if (!read_library(r, &file)) return;
    make_folder(&file);
    json_t *const result = run_in_child(try_icd, &file, seconds, why);
    remove_folder(&file);
    r->has_dead_driver |= !result;
    const char *const error = json_string_value(json_object_get(result, "error"));
    const json_int_t devices = json_integer_value(json_object_get(result, "devices"));
    if (!result)
        add_finding(r, FAULT, "driver", "update or remove that driver, or remove the file so that no program loads it",
                    "\"%s\" names %s: %s", path, file.library, why);
    else if (error)
        add_finding(r, FAULT, "driver", how_to_mend, "\"%s\" names a library that cannot be opened: %s", path, error);
    else if (devices == 0)
        add_finding(r, NOTE, "driver", NULL, "\"%s\": %s opens, but has no device for this user%s", path, file.library,
                    r->named_devices > 0 ? "; OCL_ICD_FILENAMES takes its place" : "");
    else
        add_finding(r, OK, "driver", NULL, "\"%s\": %s opens and has %lld device%s", path, file.library,
                    (long long)devices, devices == 1 ? "" : "s");
    json_decref(result);
}

/* ---- OCL_ICD_FILENAMES ---- */

/* In a child: the devices of the libraries that it names, without those of .icd files. */
static json_t *try_filenames(const void *input)
{
    size_t count = 0;
    (void)input;
    unset_variables(NULL);
    set_stage("listed their devices");
    if (setenv("OCL_ICD_VENDORS", "/dev/null/none.icd", 1) != 0) return NULL;
    return json_pack("{sI}", "devices", ndr_device_list(0, NULL, &count) == NDR_OK ? (json_int_t)count : 0);
}

/* Khronos' loader takes the libraries first and then the .icd files. */
static void check_filenames(report *r, double seconds)
{
    char why[300];
    const char *const names = getenv("OCL_ICD_FILENAMES");
    if (!names || !*names) return;
    json_t *const result = run_in_child(try_filenames, NULL, seconds, why);
    r->has_dead_driver |= !result;
    r->named_devices = json_integer_value(json_object_get(result, "devices"));
    if (!result)
        add_finding(r, FAULT, "driver", "update these drivers, or unset it so that no program loads them",
                    "OCL_ICD_FILENAMES is \"%s\": %s", names, why);
    else if (r->named_devices == 0)
        add_finding(r, NOTE, "driver", "unset it, or set OCL_ICD_VENDORS to a folder of .icd files",
                    "OCL_ICD_FILENAMES is \"%s\", which gives no device: the libraries have none, or the OpenCL "
                    "loader does not read it, as ocl-icd does not",
                    names);
    else
        add_finding(r, OK, "driver", NULL, "OCL_ICD_FILENAMES is \"%s\", which gives %lld device%s", names,
                    (long long)r->named_devices, r->named_devices == 1 ? "" : "s");
    json_decref(result);
}

/* ---- all files ---- */

static bool ends_in_icd(const char *name)
{
    const size_t length = strlen(name);
    return length > 4 && strcmp(name + length - 4, ".icd") == 0;
}

static int is_icd(const struct dirent *entry) { return ends_in_icd(entry->d_name); }

static void check_folder(report *r, const char *folder, double seconds)
{
    struct dirent **names = NULL;
    const int count = scandir(folder, &names, is_icd, alphasort);
    if (count <= 0 && r->named_devices > 0)
        add_finding(r, OK, "driver", NULL, "there is no .icd file in \"%s\"; OCL_ICD_FILENAMES takes its place",
                    folder);
    else if (count <= 0)
        add_finding(r, NOTE, "driver",
                    "install a driver, such as Debian's pocl-opencl-icd for the CPU or your GPU vendor's, or point "
                    "OCL_ICD_VENDORS at the folder of its .icd file",
                    "there is no .icd file in \"%s\"%s%s", folder, count < 0 ? ": " : "",
                    count < 0 ? strerror(errno) : "");
    for (int i = 0; i < count; ++i) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", folder, names[i]->d_name);
        check_icd_file(r, path, seconds);
        free(names[i]);
    }
    free(names);
}

void check_icd_files(report *r, double seconds)
{
    struct stat about;
    const char *const chosen = getenv("OCL_ICD_VENDORS");
    const char *const place = chosen && *chosen ? chosen : "/etc/OpenCL/vendors";
    check_filenames(r, seconds);
    const bool is_file = stat(place, &about) == 0 && !S_ISDIR(about.st_mode);
    if (!is_file) check_folder(r, place, seconds);
    else if (ends_in_icd(place)) check_icd_file(r, place, seconds);
    else
        add_finding(r, FAULT, "driver", "set it to a folder of .icd files, or to one of them",
                    "OCL_ICD_VENDORS is \"%s\", which is neither a folder nor an .icd file", place);
}
