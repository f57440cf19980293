/* doctor.h - what the files of `ndr doctor` share: findings, and checks. */
#ifndef NDR_DOCTOR_H
#define NDR_DOCTOR_H

#include "child.h"
#include "command.h"

/* ---- findings: doctor.c ---- */

typedef enum level { OK, NOTE, FAULT } level;

/* The known faults whose reproducers run. */
typedef enum faults_run { NO_FAULTS, OPEN_FAULTS, ALL_FAULTS } faults_run;

typedef struct report {
    json_t *findings; /* of {check, level, text, fix} */
    bool is_json;     /* otherwise each finding is printed when it is found */
    faults_run faults;
    size_t counts[FAULT + 1];
    bool has_dead_driver;     /* one crashes or hangs as soon as it is loaded: no other check loads drivers */
    bool has_refused_value;   /* of a variable, which is unset for the checks that follow */
    json_int_t named_devices; /* those of the libraries in OCL_ICD_FILENAMES */
} report;

/* Adds a finding of the check `check`. `fix` NULL or "": the text has it, or there is nothing to do. */
#if defined(__GNUC__)
__attribute__((format(printf, 5, 6)))
#endif
void add_finding(report *r, level l, const char *check, const char *fix, const char *format, ...);

/* ---- checks ---- */

/* doctor_environment.c: the values of variables. Those that libndr refuses are unset afterwards, as are those that make
 * it print or write files. */
void check_environment(report *r, double seconds);

/* Unsets the variables of libndr, except NDR_OPENCL and `kept`, which may be NULL: for a check of something else. */
void unset_variables(const char *kept);

/* doctor_folders.c: the folders that drivers and libndr write to, and the store. */
void check_folders(report *r);

/* The fault of a folder, or of its nearest parent that exists; NULL: files can be made there. */
const char *find_fault_of_folder(const char *path);

/* doctor_nodes.c: the nodes of GPUs in /dev. */
void check_nodes(report *r);

/* doctor_drivers.c: the .icd files. */
void check_icd_files(report *r, double seconds);

/* doctor_device.c: the loader and the list of devices, then a kernel on each device, or on the one that `device`
 * chooses if it is not NULL. */
void check_devices(report *r, const char *device, double seconds);

/* doctor_quirks.c: the faults of drivers that libndr knows, as JSON, in a child; then those of the driver of a device,
 * which has the members platform and quirks, and which `words` choose as --device does. */
json_t *list_quirks(const ndr_context *context);
void report_quirks(report *r, const json_t *device, const char *words, double seconds);

/* The same of what self-tests found, the member verdicts. */
json_t *list_verdicts(ndr_context *context);
void report_verdicts(report *r, const json_t *device);

#endif
