/* sub_groups.c - what drivers do wrong with sub-groups, in plain OpenCL.
 *
 *   last_sub_group_full         The last sub-group reports more items than it has, or the group too few sub-groups.
 *   shuffle_of_one              A shuffle in a group of one item does not link.
 *   sub_group_barrier_of_group  A barrier of a sub-group is one of the group. */
#include "raw.h"

enum { ITEMS = 64, ODD = 20 };

/* Sub-groups of 16 where the driver takes the attribute. */
#define KERNEL "__attribute__((intel_reqd_sub_group_size(16))) kernel void k(global int *out)\n"

static cl_kernel new_kernel_with_sub_groups(const char *text)
{
    cl_uint most = 0;
    const cl_program program = new_program(text);
    (void)clGetDeviceInfo(device, CL_DEVICE_MAX_NUM_SUB_GROUPS, sizeof most, &most, NULL);
    if (most == 0 || !builds(program, "-cl-std=CL3.0")) _exit(NOT_TRIED_EXIT);
    return kernel_of(program, "k");
}

static int last(void)
{
    static const char text[] = KERNEL "{\n"
                                      "    global int *const own = out + 3 * get_local_id(0);\n"
                                      "    own[0] = get_sub_group_id();\n"
                                      "    own[1] = get_sub_group_size();\n"
                                      "    own[2] = get_num_sub_groups();\n"
                                      "}\n";
    cl_int out[ODD][3], sizes[ODD] = { 0 }, count = 0;
    MUST(run_kernel(new_kernel_with_sub_groups(text), ODD, ODD, out[0], sizeof out / sizeof out[0][0]));
    for (int i = 0; i < ODD; ++i) count += sizes[out[i][0] % ODD]++ == 0;
    for (int i = 0; i < ODD; ++i)
        if (out[i][1] != sizes[out[i][0] % ODD] || out[i][2] != count) return WRONG;
    return RIGHT;
}

static int shuffle(void)
{
    static char extensions[1 << 14];
    cl_int out = 0;
    MUST(clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, sizeof extensions - 1, extensions, NULL));
    if (!strstr(extensions, "cl_khr_subgroup_shuffle")) return NOT_TRIED;
    const cl_kernel kernel =
        new_kernel_with_sub_groups("kernel void k(global int *x) { *x = sub_group_shuffle(7, 0); }\n");
    return run_kernel(kernel, 1, 1, &out, 1) == CL_SUCCESS && out == 7 ? RIGHT : WRONG;
}

/* The n-th sub-group passes on its items' values n + 1 times. */
static int barrier(void)
{
    static const char text[] = KERNEL "{\n"
                                      "    local int t[64];\n"
                                      "    const int i = get_local_id(0), own = get_sub_group_local_id();\n"
                                      "    const int first = i - own, size = get_sub_group_size();\n"
                                      "    const int times = get_sub_group_id() + 1;\n"
                                      "    int x = i;\n"
                                      "    for (int n = 0; n < times; ++n) {\n"
                                      "        t[i] = x;\n"
                                      "        sub_group_barrier(CLK_LOCAL_MEM_FENCE);\n"
                                      "        x = t[first + (own + 1) % size];\n"
                                      "        sub_group_barrier(CLK_LOCAL_MEM_FENCE);\n"
                                      "    }\n"
                                      "    out[i] = x == first + (own + times) % size;\n"
                                      "}\n";
    cl_int out[ITEMS];
    MUST(run_kernel(new_kernel_with_sub_groups(text), ITEMS, ITEMS, out, ITEMS));
    for (int i = 0; i < ITEMS; ++i)
        if (!out[i]) return WRONG;
    return RIGHT;
}

const fault sub_groups_faults[] = {
    { "last_sub_group_full", last, NULL },
    { "shuffle_of_one", shuffle, NULL },
    { "sub_group_barrier_of_group", barrier, NULL },
    { NULL, NULL, NULL },
};
