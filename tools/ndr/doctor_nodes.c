/* doctor_nodes.c - the nodes of GPUs in /dev, and who may open them; /sys, where drivers look for devices. */
#include "doctor.h"

#include <glob.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const patterns[] = { "/dev/dri/renderD*", "/dev/kfd", "/dev/nvidia[0-9]*", "/dev/nvidiactl",
                                        "/dev/nvidia-uvm" };

static const char *name_of_user(void)
{
    const struct passwd *const user = getpwuid(geteuid());
    return user ? user->pw_name : "USER";
}

static void report_closed_node(report *r, const char *path, const struct stat *about)
{
    char fix[300];
    const struct group *const group = getgrgid(about->st_gid);
    const bool may_group = (about->st_mode & (S_IRGRP | S_IWGRP)) == (S_IRGRP | S_IWGRP);
    if (group && may_group)
        snprintf(fix, sizeof fix, "sudo usermod -aG %s %s, and log in again", group->gr_name, name_of_user());
    else
        snprintf(fix, sizeof fix,
                 "ask the administrator to let this user read and write it, or in a container pass the "
                 "device with its rights");
    add_finding(r, FAULT, "node", fix, "this user may not read and write %s (group %s, mode %04o)", path,
                group ? group->gr_name : "unknown", (unsigned)about->st_mode & 07777);
}

static void check_node(report *r, const char *path)
{
    struct stat about;
    if (stat(path, &about) != 0) return;
    if (access(path, R_OK | W_OK) != 0) report_closed_node(r, path, &about);
    else add_finding(r, OK, "node", NULL, "this user may read and write %s", path);
}

/* ---- without nodes ---- */

/* The number in a file such as /sys/bus/pci/devices/0000:01:00.0/vendor, "0x10de"; 0 if there is none. */
static unsigned long read_number(const char *folder, const char *name)
{
    char path[4200], text[32] = "";
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *const file = fopen(path, "r");
    const bool is_read = file && fgets(text, sizeof text, file);
    if (file) fclose(file);
    return is_read ? strtoul(text, NULL, 16) : 0;
}

/* The vendor of the first GPU on the PCI bus for which OpenCL drivers exist; NULL: there is none. */
static const char *find_vendor(void)
{
    enum { DISPLAY = 3 };
    static const struct {
        unsigned long number;
        const char *name;
    } vendors[] = { { 0x10de, "NVIDIA" }, { 0x1002, "AMD" }, { 0x8086, "Intel" } };
    const char *found = NULL;
    glob_t folders;
    if (glob("/sys/bus/pci/devices/*", 0, NULL, &folders) != 0) return NULL;
    for (size_t i = 0; i < folders.gl_pathc && !found; ++i) {
        if (read_number(folders.gl_pathv[i], "class") >> 16 != DISPLAY) continue;
        const unsigned long vendor = read_number(folders.gl_pathv[i], "vendor");
        for (size_t v = 0; v < sizeof vendors / sizeof vendors[0]; ++v)
            if (vendors[v].number == vendor) found = vendors[v].name;
    }
    globfree(&folders);
    return found;
}

static void report_no_node(report *r)
{
    const char *const vendor = find_vendor();
    if (vendor)
        add_finding(r, NOTE, "node", "install or load its kernel driver; a container must pass the nodes",
                    "this machine has a GPU of %s, but no node for it (/dev/dri/renderD*, /dev/kfd, /dev/nvidia*)",
                    vendor);
    else add_finding(r, OK, "node", NULL, "there is no GPU: no node in /dev, and none on the PCI bus");
}

/* ---- all nodes ---- */

/* A bare chroot or container may lack it. PoCL 3.1 then says that it has not enough memory. */
static bool has_sysfs(report *r)
{
    if (access("/sys/devices/system", F_OK) == 0) return true;
    add_finding(r, FAULT, "node", "run `mount -t sysfs sysfs /sys`, or start the container with it",
                "/sys is not mounted: drivers look there for processors and GPUs, and PoCL aborts without it");
    return false;
}

void check_nodes(report *r)
{
    const bool can_look = has_sysfs(r);
    size_t found = 0;
    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; ++i) {
        glob_t paths;
        if (glob(patterns[i], 0, NULL, &paths) != 0) continue;
        found += paths.gl_pathc;
        for (size_t k = 0; k < paths.gl_pathc; ++k) check_node(r, paths.gl_pathv[k]);
        globfree(&paths);
    }
    if (found == 0 && can_look) report_no_node(r);
}
