/* sort.h - shared by the implementations of ndr_sort(). */
#ifndef NDR_OPS_SORT_H
#define NDR_OPS_SORT_H

#include "ops/operand.h"
#include "ops/select.h"

#include "shared/sort.h"

/* Keys and the values beside them. */
typedef struct ndr_sort_elements {
    ndr_operand keys, values; /* values.cols is 0 without values */
} ndr_sort_elements;

/* A checked sort. Plans read no buffers. */
typedef struct ndr_sort_request {
    ndr_dtype dtype;
    bool is_descending, is_in_place; /* in place: of the keys, the values or both */
    unsigned begin_bit, bits;
    size_t count, value_bytes;
    ndr_sort_elements input, output;
    bool is_segmented;       /* each of `segments` segments is sorted by itself */
    size_t segments, length; /* length 0: segments by offsets */
    ndr_operand offsets;
} ndr_sort_request;

/* Sorts of all keys, and of segments. */
extern const ndr_operation ndr_sort_operation, ndr_sort_segments_operation;

/* ---- sort.c ---- */

/* Pure: of traces. */
ndr_op_work ndr_sort_work_of(const void *request);

/* Pure: the passes over the elements. In place their number is even, so that the last one writes to the output. */
unsigned ndr_sort_passes(const ndr_sort_request *request);

/* Pure: the bytes of a workspace for elements after so many counts. */
size_t ndr_sort_workspace_bytes(const ndr_sort_request *request, size_t counts);

/* Pure: the words by which a value is moved: their bytes, and their type. */
size_t ndr_sort_word_bytes(size_t value_bytes);
const char *ndr_sort_word_name(size_t value_bytes);

/* Pure: the build options of all kernels of kernels/sort/, and `more`. */
void ndr_sort_print_options(const ndr_sort_request *request, const char *more, char options[NDR_OPTIONS_SIZE]);

/* The arguments that all kernels take: the words of a value, and what makes ranks of keys. */
ndr_arg ndr_sort_words_arg(const ndr_sort_request *request);
ndr_arg ndr_sort_flip_arg(const ndr_sort_request *request);

/* The elements in the workspace, after so many counts. */
ndr_sort_elements ndr_sort_temp(const ndr_op_job *job, size_t counts);

/* One pass. */
typedef struct ndr_sort_pass {
    ndr_sort_elements from, to;
    unsigned shift, bits, number;
} ndr_sort_pass;

/* Run all passes, each by one call of `run`. `counts` is how many the workspace has. */
ndr_status ndr_sort_run_passes(ndr_op_job *job, size_t counts,
                               ndr_status (*run)(ndr_op_job *job, const ndr_sort_pass *pass));

/* From so many keys on one_sweep counts in 64 bits. Tests lower it. */
extern size_t ndr_sort_large_count;

/* Whether a variant whose groups wait for each other gives right results. */
ndr_status ndr_sort_prove(ndr_queue *queue, const ndr_op_variant *variant, bool *is_right);

/* As arguments: where elements begin. */
#define NDR_SORT_ARGS(elements)                                                                     \
    ndr_operand_arg(&(elements).keys), (elements).keys.offset, ndr_operand_arg(&(elements).values), \
        (elements).values.offset

/* ---- sizes ---- */

/* Pure: the elements of a chunk on CPUs. */
size_t ndr_sort_chunk_for(const ndr_caps *caps, size_t count);

/* Pure: groups of at most `group` items that sort a tile in local memory. It holds so many ushorts for each key, of which one
 * is its place. */
typedef struct ndr_sort_tile {
    size_t group, per_item, local_bytes;
} ndr_sort_tile;
ndr_sort_tile ndr_sort_tile_for(const ndr_caps *caps, const ndr_sort_request *request, size_t group,
                                size_t ushorts);
size_t ndr_sort_tile_bytes(const ndr_sort_request *request, size_t group, size_t per_item, size_t ushorts);

/* Launch a kernel that adds up the counts of so many tiles, which begin behind `counts` ulongs of the workspace, by
 * groups of `group` items; several times where the fault loops_end_early would end its loops. */
ndr_status ndr_sort_add_counts(ndr_op_job *job, ndr_kernel *kernel, size_t group, size_t tiles, size_t counts);

/* Refuse values of more words than the loops of an item reach; each word takes `turns` iterations of an item: one for
 * each key of the item where values are moved one after the other, NDR_SORT_WHOLE_TURNS where a word of all is. */
#define NDR_SORT_WHOLE_TURNS(per_item) (2 * (per_item) + 3)
ndr_status ndr_sort_check_words(const ndr_op_job *job, const char *call, size_t value_bytes, size_t turns);

/* The counts begin behind the head of the workspace. */
enum { NDR_SORT_COUNTS_OFFSET = NDR_WORKSPACE_HEAD_BYTES / sizeof(cl_ulong) };

#endif
