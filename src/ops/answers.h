/* answers.h - requests of each operation whose results the host knows, for self-tests. */
#ifndef NDR_OPS_ANSWERS_H
#define NDR_OPS_ANSWERS_H

#include "ndr/ndr_ops.h"
#include "ops/select.h"

/* Asks of one request either which variant takes it, or for its results. */
typedef struct ndr_trial {
    ndr_queue *queue;
    bool explains;   /* nothing runs: `taken` gets a text of an ndr_..._explain() */
    char taken[600]; /* "": the request does not apply to the device */
    char fault[200]; /* the first wrong result; "": all are right */
    ndr_buffer *buffers[8]; /* which the caller destroys, and frees the arrays on the host */
    void *hosts[16];
    size_t buffer_count, host_count;
} ndr_trial;

/* The requests of an operation. */
typedef struct ndr_answers {
    const ndr_operation *operation;
    size_t count;
    ndr_status (*ask)(ndr_trial *t, size_t i);
} ndr_answers;

extern const ndr_answers ndr_all_answers[];
extern const size_t ndr_all_answers_count;

/* matmul/prove.c */
enum { NDR_MATMUL_ANSWERS = 17 };
ndr_status ndr_matmul_ask(ndr_trial *t, size_t i);

#endif
