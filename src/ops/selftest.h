/* selftest.h - ndr_selftest() of any operations, for its tests. */
#ifndef NDR_OPS_SELFTEST_H
#define NDR_OPS_SELFTEST_H

#include "ops/answers.h"

ndr_status ndr_selftest_run(ndr_context *context, const ndr_answers *answers, size_t count, ndr_selftest_callback *each,
                            void *user);

#endif
