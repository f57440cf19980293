/* early_return.h - the kernel that shows the fault return_before_barrier, for its reproducer and for tests. */
#ifndef NDR_FAULTS_EARLY_RETURN_H
#define NDR_FAULTS_EARLY_RETURN_H

/* In two groups of 64 items, with `part` 2 and `odd` 0: the first n elements of c become 1, the others stay. */
static const char early_return_kernel[] = "kernel void k(global int *c, uint n, uint part, uint odd)\n"
                                          "{\n"
                                          "    local int t[128];\n"
                                          "    const uint i = get_local_id(0);\n"
                                          "    if (get_group_id(0) >= part) { c[i] = 7; return; }\n"
                                          "    if (odd) {\n"
                                          "        barrier(CLK_LOCAL_MEM_FENCE);\n"
                                          "        t[i] = i;\n"
                                          "        barrier(CLK_LOCAL_MEM_FENCE);\n"
                                          "        c[i] = t[i ^ 1];\n"
                                          "        return;\n"
                                          "    }\n"
                                          "    if (get_global_id(0) < n) c[get_global_id(0)] = 1;\n"
                                          "}\n";

#endif
