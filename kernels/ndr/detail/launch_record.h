/* launch_record.h - launch data that OpenCL does not provide to an item: the last, hidden argument of a kernel. C
 * and OpenCL C compile this file. */
#ifndef NDR_DETAIL_LAUNCH_RECORD_H
#define NDR_DETAIL_LAUNCH_RECORD_H

#ifdef __OPENCL_C_VERSION__
#define NDR_RECORD_WORD_ ulong
#else
#define NDR_RECORD_WORD_ cl_ulong
#endif

/* In libndr's order of dimensions; the first `dims` are valid. */
typedef struct ndr_record {
    NDR_RECORD_WORD_ global_range[3];
    NDR_RECORD_WORD_ offset[3];
    NDR_RECORD_WORD_ group_range[3];
    NDR_RECORD_WORD_ first_group[3]; /* number of groups in preceding launches of this range */
    NDR_RECORD_WORD_ local_range[3]; /* of a full group; groups at the edges may be smaller */
    NDR_RECORD_WORD_ base[3];        /* added to OpenCL's global ids; not 0 only if they would exceed 31 bits */
    NDR_RECORD_WORD_ dims;
} ndr_record;

/* The record of a kernel with reducers. Its range is divided into chunks. */
typedef struct ndr_reduction_record {
    ndr_record of;
    NDR_RECORD_WORD_ count, chunk, chunks; /* indexes of the range; those of a chunk; how many chunks there are */
    NDR_RECORD_WORD_ combines;             /* 1: the second launch, which combines what the chunks have given */
} ndr_reduction_record;

/* Groups of a kernel with reducers, except on CPUs: the most items of one, and how many values each item keeps. */
#define NDR_REDUCER_GROUP_ 256
#define NDR_REDUCER_LANES_ 4

/* Where the result of one reducer goes. */
typedef struct ndr_reducer_record {
    NDR_RECORD_WORD_ initial; /* begins with the value's bytes */
    NDR_RECORD_WORD_ element;  /* of the buffer */
    NDR_RECORD_WORD_ partials; /* where the values of its chunks begin in the workspace, in ulongs */
    NDR_RECORD_WORD_ slot;     /* of the launch, in the workspace */
} ndr_reducer_record;

#endif
