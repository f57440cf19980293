/* merge.h - the runs that a merge sort begins with. C and OpenCL C compile this file. */
#ifndef NDR_SHARED_MERGE_H
#define NDR_SHARED_MERGE_H

#define NDR_MERGE_RUN 16 /* elements */

#endif
