/* own_text.h - checks of texts of the caller that an operation writes into a kernel. */
#ifndef NDR_OPS_OWN_TEXT_H
#define NDR_OPS_OWN_TEXT_H

#include "base/base.h"

typedef enum ndr_own_kind {
    NDR_OWN_EXPRESSION,   /* one value; may also be an initializer, "{ 0, 1 }" */
    NDR_OWN_STATEMENTS,   /* of a block */
    NDR_OWN_DECLARATIONS, /* of a file */
} ndr_own_kind;

/* Refuse a text that would end before its end, go on behind it, or be more than its kind: the compiler would accept some
 * of these, and leave out a part. `what` names it in sentences: "values[1].expression". NULL: there is no text. */
ndr_status ndr_own_check(const char *call, const char *what, const char *text, ndr_own_kind kind);

#endif
