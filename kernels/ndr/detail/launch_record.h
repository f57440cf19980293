/* launch_record.h - what an item cannot ask its own OpenCL launch: the last, hidden argument of a kernel. C and OpenCL C
 * compile this file. */
#ifndef NDR_DETAIL_LAUNCH_RECORD_H
#define NDR_DETAIL_LAUNCH_RECORD_H

#ifdef __OPENCL_C_VERSION__
#define NDR_RECORD_WORD_ ulong
#else
#define NDR_RECORD_WORD_ cl_ulong
#endif

/* Dimensions in our order, of which the first `dims` count. */
typedef struct ndr_record {
    NDR_RECORD_WORD_ global_range[3];
    NDR_RECORD_WORD_ offset[3];
    NDR_RECORD_WORD_ group_range[3];
    NDR_RECORD_WORD_ first_group[3]; /* how many groups other launches of this range have before ours */
    NDR_RECORD_WORD_ local_range[3]; /* of a whole group; those at the edges may be smaller */
    NDR_RECORD_WORD_ base[3];        /* to add to OpenCL's global ids: 0 but where they would pass 32 bits */
    NDR_RECORD_WORD_ dims;
} ndr_record;

#endif
