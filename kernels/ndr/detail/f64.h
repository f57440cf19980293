/* f64.h - whether kernels have double. */
#ifndef NDR_DETAIL_F64_H
#define NDR_DETAIL_F64_H

#if (defined(cl_khr_fp64) || defined(__opencl_c_fp64)) && !defined(NDR_DISABLE_FP64)
#define NDR_HAS_F64_ 1
#if __OPENCL_C_VERSION__ < 120
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#else
#define NDR_HAS_F64_ 0
#endif

#endif
