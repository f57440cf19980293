/* faults.h - reproducers of known faults of drivers: small programs in plain OpenCL, each in a function. */
#ifndef NDR_FAULTS_H
#define NDR_FAULTS_H

/* How one ends. A crash, or no end, also means that the fault is there. NOT_TRIED: the device cannot run it. */
enum { RIGHT, WRONG, NOT_TRIED };

enum { NOT_TRIED_EXIT = 77 }; /* the exit code of a process that finds so deep in a call */

typedef struct fault {
    const char *id;        /* as in NDR_QUIRKS and docs/appendix/drivers.md */
    int (*run)(void);      /* gives RIGHT, WRONG or NOT_TRIED */
    void (*prepare)(void); /* sets what the driver reads when it is loaded; may be NULL */
} fault;

/* Ended by an element without an id. */
extern const fault barriers_faults[], compilers_faults[], failed_events_faults[], memory_faults[], queues_faults[],
    simulators_faults[], sub_groups_faults[];

/* NULL: there is none. */
const fault *find_fault(const char *id);

/* Runs one on a device, a cl_device_id; NULL: the first of the first platform. The driver may crash or hang, and the
 * process is of no use afterwards: call it in a child, after prepare() if that is set. */
int run_fault(const fault *f, void *on_device);

#endif
