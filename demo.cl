#include <ndr/nd_item.clh>
typedef struct { int first, second; } pair;
struct cell { int a, b, c, d; };
kernel void scale(global float *x, float a, NDR_RANGE(1)) { x[ndr_global_id(NDR_ITEM(1), 0)] *= a; }
#include <ndr/group.clh>
kernel void smooth(global float *x, uint n, local float *t, NDR_ND_RANGE(1)) { x[0] = n; t[0] = x[0]; }
kernel __attribute__((reqd_work_group_size(8, 4, 1))) void fixed(global float *x, NDR_ND_RANGE(2)) { x[0] = 1; }
kernel void sumpair(global int *x, pair p, NDR_RANGE(1)) { x[0] = p.first + p.second; }
kernel void plain(global float *x) { x[get_global_id(0)] = 1; }
kernel void colours(global float *x, float3 a, NDR_RANGE(1)) { x[0] = a.y; }
kernel void numbers(global int *x, int n) { x[0] = n; }
kernel void cells(global int *x, local struct cell *a, NDR_ND_RANGE(1)) { a[0].d = x[0]; x[0] = a[0].d; }
