/* fences.h - the fences that order memory in a group and between groups. */
#ifndef NDR_DETAIL_FENCES_H
#define NDR_DETAIL_FENCES_H

/* The fences, and which orders the device has. OpenCL 1.2's fence acquires and releases within a group. OpenCL 2.0's
 * fences are not used: the fault cl20_without_support. NVIDIA's OpenCL C has no more
 * than 1.2's, but its PTX has all. */
#define NDR_BOTH_ (CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#if defined(NDR_DISABLE_MEMORY_ORDER)
#define NDR_FENCE_GROUP_ mem_fence(NDR_BOTH_)
#elif defined(NDR_PTX)
#define NDR_ORDERS_DEVICE_ 1
#define NDR_ORDERS_ALL_ 1
#define NDR_FENCE_GROUP_ __asm__ volatile("fence.acq_rel.cta;" ::: "memory")
#define NDR_FENCE_GROUP_ALL_ __asm__ volatile("fence.sc.cta;" ::: "memory")
#define NDR_FENCE_DEVICE_ __asm__ volatile("fence.acq_rel.gpu;" ::: "memory")
#define NDR_FENCE_DEVICE_ALL_ __asm__ volatile("fence.sc.gpu;" ::: "memory")
#elif __OPENCL_C_VERSION__ >= 300
#define NDR_FENCE_GROUP_ atomic_work_item_fence(NDR_BOTH_, memory_order_acq_rel, memory_scope_work_group)
#if defined(__opencl_c_atomic_order_acq_rel) && defined(__opencl_c_atomic_scope_device)
#define NDR_ORDERS_DEVICE_ 1
#define NDR_FENCE_DEVICE_ atomic_work_item_fence(NDR_BOTH_, memory_order_acq_rel, memory_scope_device)
#endif
#if defined(__opencl_c_atomic_order_seq_cst)
#define NDR_ORDERS_ALL_ 1
#define NDR_FENCE_GROUP_ALL_ atomic_work_item_fence(NDR_BOTH_, memory_order_seq_cst, memory_scope_work_group)
#if defined(__opencl_c_atomic_scope_device)
#define NDR_FENCE_DEVICE_ALL_ atomic_work_item_fence(NDR_BOTH_, memory_order_seq_cst, memory_scope_device)
#endif
#endif
#else
#define NDR_FENCE_GROUP_ mem_fence(NDR_BOTH_)
#endif

/* Unsupported orders are refused by the compiler and need no fence. */
#ifndef NDR_ORDERS_ALL_
#define NDR_ORDERS_ALL_ 0
#define NDR_FENCE_GROUP_ALL_ NDR_FENCE_GROUP_
#endif
#ifndef NDR_ORDERS_DEVICE_
#define NDR_ORDERS_DEVICE_ 0
#define NDR_FENCE_DEVICE_ NDR_FENCE_GROUP_
#endif
#ifndef NDR_FENCE_DEVICE_ALL_
#define NDR_FENCE_DEVICE_ALL_ NDR_FENCE_GROUP_ALL_
#endif

#endif
