/* outline.h - the kernels of a source as its text shows them. */
#ifndef NDR_OUTLINE_H
#define NDR_OUTLINE_H

#include "program/plain.h"

#include "ndr/ndr_outline.h"

/* A parameter of a kernel that is being read: its text, in which macros are replaced. */
typedef struct ndr_param_text {
    const char *at, *end;
    const char *kernel, *title; /* for sentences */
    size_t index;
} ndr_param_text;

/* ---- parameter.c ---- */

/* Pure: read one parameter. Its strings are to be freed in every case. */
ndr_status ndr_parameter_read(const ndr_plain *plain, const ndr_param_text *text, ndr_outline_param *param);
void ndr_parameter_free(ndr_outline_param *param);

/* Pure: read one reducer of NDR_REDUCTION(), "(SUM, float, sum)". */
ndr_status ndr_parameter_read_reducer(const ndr_plain *plain, const ndr_param_text *text, ndr_outline_param *param);

#endif
