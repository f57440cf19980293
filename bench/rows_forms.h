/* rows_forms.h - the operands of products in other forms, for rivals. */
#ifndef ROWS_FORMS_H
#define ROWS_FORMS_H

#include "bench.h"

typedef enum forms_epilogue { FORMS_NONE, FORMS_BIAS, FORMS_GELU } forms_epilogue;

/* c = op(a) * op(b), square, or `count` such products. */
typedef struct forms_shape {
    ndr_dtype dtype;
    size_t n, count;
    bool transposes_a, transposes_b;
    forms_epilogue epilogue;
} forms_shape;

typedef struct forms {
    forms_shape of;
    shared_memory a, b, bias, c;    /* of the shape's types; bias and c of I8 are I32, otherwise F32 */
    shared_memory plain_a, plain_b; /* the same elements in F32 */
} forms;

extern const work forms_work;

#endif
