/** @file ndr_ops.h
 * Operations on arrays in buffers, beside ndr_reduce() and ndr_matmul() of ndr.h. Contiguous elements are an ndr_span and
 * a count, others an ndr_array.
 *
 * Each has a descriptor, whose members are in this order: element types, operator, options, inputs, sizes, outputs. Members
 * that are not set have a documented default. A call checks everything that the host can know before anything is
 * enqueued. It enqueues on a queue or ndr_after(); `event` may be NULL. Temporary memory is the queue's. The order in
 * which elements are combined depends on the sizes and on limits of the device alone, unless an operation says
 * otherwise: then all runs on a device give the same bits. docs/operations.md has a program for each. */
#ifndef NDR_NDR_OPS_H
#define NDR_NDR_OPS_H

#include "ndr/ndr.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- arrays -------------------------------------------------------------------------------------- */

/** Elements of a buffer in 1 to 3 dimensions. Element (i0, i1, i2) is element offset + i0 * stride[0] + i1 * stride[1]
 * + i2 * stride[2] of the buffer. The struct is fixed. */
typedef struct ndr_array {
    ndr_buffer *buffer; /**< The buffer; may be NULL when the array has no elements. */
    ndr_dtype dtype;    /**< The type of its elements. */
    size_t offset;      /**< The offset of element (0, 0, 0), in elements. */
    ndr_range shape;    /**< Elements of each dimension; may be 0. */
    int64_t stride[3];  /**< Elements from one index of a dimension to the next; may be negative. 0 repeats an input
                             along the dimension; of an output no two indexes may have one element. */
} ndr_array;

#ifdef __cplusplus
#define NDR_SIGNED_(x) static_cast<int64_t>(x)
#else
#define NDR_SIGNED_(x) ((int64_t)(x))
#endif

/** The array of that shape whose elements follow each other from the first element of the buffer on. */
static inline ndr_array ndr_array_of(ndr_buffer *buffer, ndr_dtype dtype, ndr_range shape)
{
    ndr_array array = { buffer, dtype, 0, shape, { 0, 0, 0 } };
    int64_t stride = 1;
    unsigned d = shape.dims < 3 ? shape.dims : 3;
    while (d-- > 0) {
        array.stride[d] = stride;
        stride *= NDR_SIGNED_(shape.size[d]);
    }
    return array;
}

/* ---- map ----------------------------------------------------------------------------------------- */

/** An array with its name in an expression. The struct is fixed. */
typedef struct ndr_map_array {
    const char *name; /**< A name of C. Not i, i0, i1 or i2, and not one that begins with ndr_. */
    ndr_array array;  /**< The array. Elements of F16 and BF16 are floats in the expression. */
} ndr_map_array;

/** A value with its name in an expression. The struct is fixed. */
typedef struct ndr_map_scalar {
    const char *name; /**< As of an array. */
    ndr_arg value;    /**< A number, ndr_arg_of(2.0f); a vector, ndr_vector(float, 1, 2); or a struct that the
                           declarations declare, ndr_struct(struct pair, value). */
} ndr_map_scalar;

/** For each index of the outputs' shape, run a statement: "y = a * x + y" is axpy.
 *
 * In `statement`, OpenCL C, each name stands for the element of that index, or for the scalar. Inputs and scalars are
 * constants; the value that the name of an output has at the end is stored. It starts as 0, or, if an input has the
 * same name, as that input's element. `i` is the index in the order of the elements, `i0`, `i1` and `i2` are those of
 * the dimensions that the arrays have; all are ulong. The statement may be several, with variables of their own, and
 * return ends it without storing. One that does not name an output is refused, unless the declarations do so or have
 * ##.
 *
 * All arrays have the same shape; an input with stride 0 in a dimension has the same elements for all its indexes. An
 * output may be an input: the same buffer, offset and strides (in place). It must not overlap one in any other way, nor
 * another output. Without elements nothing runs.
 *
 * The statement is compiled once for each text, types and number of dimensions, and again if the elements do not follow
 * each other; then it is found again, also on disk. If it does not compile, NDR_BUILD_FAILED, and the sentence shows its
 * lines as lines of "expression". */
typedef struct ndr_map_desc {
    const char *statement;         /**< "y = a * x + y". */
    const char *declarations;      /**< OpenCL C before the kernel: functions, structs, macros. NULL: none. */
    const ndr_map_scalar *scalars; /**< `scalar_count` values. */
    size_t scalar_count;           /**< May be 0. */
    const ndr_map_array *inputs;   /**< `input_count` arrays, which are read. */
    size_t input_count;            /**< May be 0. */
    const ndr_map_array *outputs;  /**< `output_count` arrays, which are written. */
    size_t output_count;           /**< 1 or more; with scalars and inputs at most 24. */
    size_t first; /**< The value of `i` and `i0` at the first element, for arrays of one dimension that are parts of longer
                       ones. Default: 0. */
    NDR_MAY_GROW
} ndr_map_desc;

/** Enqueue a map. */
NDR_SIZED ndr_status ndr_map(ndr_queue *queue, const ndr_map_desc *desc, ndr_event **event);

/** Which implementation the call ndr_map() with `desc` would run in this context, as ndr_reduce_explain(). The buffers
 * may be NULL; nothing is compiled. */
NDR_SIZED ndr_status ndr_map_explain(ndr_context *context, const ndr_map_desc *desc, size_t capacity, char *text,
                                     size_t *length);

/* ---- map and reduce -------------------------------------------------------------------------------- */

/** One of several values that a reduction combines in one pass. The struct is fixed. */
typedef struct ndr_map_reduce_value {
    const char *name;       /**< Of the combined value, as `r.NAME`. A name of C. */
    ndr_dtype dtype;        /**< In which it is combined: I8 to U64, F32 or F64. */
    ndr_op op;              /**< Any. */
    const char *expression; /**< The value of an index: "x * x". */
    const char *finish;     /**< What is stored: "r.NAME / r.OTHER"; NULL: `r.NAME`. */
    ndr_array output;       /**< As ndr_map_reduce_desc.output. Without a buffer it is not stored there. */
    void *host;             /**< As ndr_map_reduce_desc.host. */
} ndr_map_reduce_value;

/** Combine the values of an expression over all indexes of a shape: "x * y" with NDR_OP_SUM is a dot product. Or along
 * some dimensions, with a result for each index of the others: the sums of rows. Or over segments.
 *
 * Names and indexes in `expression`, OpenCL C, are those of ndr_map(). Its value is converted to `dtype`, in which it is
 * combined: a sum of products of floats in F64 is "(double)x * y". The operator is `op`, or `combine`, an expression of
 * two values `a` and `b`, with `identity`, which changes no value. It must be associative and commutative, as far as the
 * result is to be independent of the order.
 *
 * NDR_OP_ARG_MIN and NDR_OP_ARG_MAX find the first index of the smallest or largest value. The combined value has two
 * members: `r.index`, a ulong, which is stored as U64 without `finish`, and `r.value`. The index counts the elements
 * along the reduced dimensions, from 0; with offsets it is `i`. NaN is left out; if all values are NaN, it is the first
 * index. Over no elements it is UINT64_MAX.
 *
 * Values of a type of your own, such as a struct, have its name in `element` and its size in `element_bytes`;
 * `declarations` declare it. Then `combine` and `identity` are needed. Each text may be an initializer, "{ 0, 0 }".
 *
 * `finish` is an expression of the combined value `r` and the scalars, which is stored in its place: "sqrt(r)". Over no
 * elements, r is the identity.
 *
 * Several values are combined in one pass with `values`. Then `r` is a struct of them, and each has a result:
 * { "mean", NDR_DTYPE_F64, NDR_OP_SUM, "x", "r.mean / n" }.
 *
 * An output is by default packed, in the order of the indexes of the dimensions that are kept, from its offset on: only
 * `buffer` is set, and perhaps `offset`. Its dtype is by default the one that is combined; another number, also F16
 * and BF16, converts the result. If its shape is set, that has the dimensions of the call's shape, with 1 in those that are
 * reduced, and its strides are used. It must not overlap an input or another output.
 *
 * The order of combination depends on shape, strides and limits of the device alone, so every run gives the same
 * bits. Minima and maxima of floats leave NaN out, as ndr_reduce(). Float sums of n <= 2^34 values have the bound of
 * ndr_reduce_desc, with |values| in place of |x|. */
typedef struct ndr_map_reduce_desc {
    ndr_dtype dtype;        /**< In which values are combined: I8 to U64, F32 or F64; NONE with `element`. */
    const char *element;    /**< A type of your own: "struct moments"; NULL: `dtype`. */
    size_t element_bytes;   /**< Its size, at most 256. */
    ndr_op op;              /**< Any; NONE with `combine`. */
    const char *combine;    /**< "a + b"; NULL: `op`. */
    const char *identity;   /**< "0"; NULL only without `combine`. */
    const char *expression; /**< The value of an index: "x * y". */
    const char *finish;     /**< "sqrt(r)"; NULL: the combined value is stored. */
    const ndr_map_reduce_value *values; /**< Several values, instead of the members above and `output`. NULL: one. */
    size_t value_count;                 /**< At most 8. */
    unsigned axes;    /**< The dimensions that are reduced: bit d, 1u << d, is dimension d. 0: all; one result. */
    bool is_combined; /**< Combine each result with what its output holds; only without `finish`. Default: replace. */
    const char *declarations;      /**< OpenCL C before the kernel: functions, structs, macros. NULL: none. */
    const ndr_map_scalar *scalars; /**< `scalar_count` values; not in `combine` and `identity`. */
    size_t scalar_count;           /**< May be 0. */
    const ndr_map_array *inputs;   /**< `input_count` arrays. */
    size_t input_count;            /**< May be 0; with scalars at most 24. */
    ndr_range shape;               /**< The indexes; without dimensions: those of the first input. */
    ndr_span offsets; /**< Of segments of a shape of one dimension: `segments` + 1 elements of U64, not decreasing.
                           Segment s is the indexes from offsets[s] on to offsets[s + 1], not included; those past the
                           shape are left out. There is a result for each segment. Buffer NULL: no segments. */
    size_t segments;  /**< May be 0, and then nothing is stored. */
    ndr_array output; /**< The results. Its buffer may be NULL if `host` is set. */
    void *host;       /**< If set, the call waits for the results and copies them here; then the output is packed. */
    NDR_MAY_GROW
} ndr_map_reduce_desc;

/** Enqueue a reduction of an expression. The first call with a text compiles it, as ndr_map(). */
NDR_SIZED ndr_status ndr_map_reduce(ndr_queue *queue, const ndr_map_reduce_desc *desc, ndr_event **event);

/** Which implementation the call ndr_map_reduce() with `desc` would run in this context: as ndr_map_explain(). */
NDR_SIZED ndr_status ndr_map_reduce_explain(ndr_context *context, const ndr_map_reduce_desc *desc, size_t capacity,
                                            char *text, size_t *length);

/* ---- copy, gather, scatter ----------------------------------------------------------------------- */

/** Copy an array into one of the same shape and dtype, whose strides may be others: to transpose, to reverse, to take
 * every second element, to repeat. ndr_map() copies with a conversion. */
typedef struct ndr_array_copy_desc {
    ndr_array input;  /**< Read only; stride 0 repeats its elements along a dimension. */
    ndr_array output; /**< Must not overlap the input; no two indexes may have one element. */
    NDR_MAY_GROW
} ndr_array_copy_desc;

/** Enqueue a copy of an array. */
NDR_SIZED ndr_status ndr_array_copy(ndr_queue *queue, const ndr_array_copy_desc *desc, ndr_event **event);

/** Which implementation ndr_array_copy() would run, as ndr_reduce_explain(). */
NDR_SIZED ndr_status ndr_array_copy_explain(ndr_context *context, const ndr_array_copy_desc *desc, size_t capacity,
                                            char *text, size_t *length);

/** output[i] = input[indexes[i]]. An index that is negative, or not below `input_count`, gives 0. */
typedef struct ndr_gather_desc {
    ndr_dtype dtype;       /**< Of the elements: any, because their bits are copied. */
    ndr_dtype index_dtype; /**< Of the indexes: I32, U32, I64 or U64. */
    ndr_span input;        /**< `input_count` elements, which are read. */
    ndr_span indexes;      /**< `count` indexes. */
    size_t input_count;    /**< May be 0. */
    size_t count;          /**< May be 0, and then the buffers may be NULL. */
    ndr_span output;       /**< `count` elements; must not overlap the others. */
    NDR_MAY_GROW
} ndr_gather_desc;

/** Enqueue a gathering. */
NDR_SIZED ndr_status ndr_gather(ndr_queue *queue, const ndr_gather_desc *desc, ndr_event **event);

/** Which implementation ndr_gather() would run, as ndr_reduce_explain(). */
NDR_SIZED ndr_status ndr_gather_explain(ndr_context *context, const ndr_gather_desc *desc, size_t capacity, char *text,
                                        size_t *length);

/** output[indexes[i]] = input[i]. An index that is negative, or not below `output_count`, writes nothing. Of elements with
 * one index it is not said which one stays. */
typedef struct ndr_scatter_desc {
    ndr_dtype dtype;       /**< Of the elements: any, because their bits are copied. */
    ndr_dtype index_dtype; /**< Of the indexes: I32, U32, I64 or U64. */
    ndr_span input;        /**< `count` elements, which are read. */
    ndr_span indexes;      /**< `count` indexes. */
    size_t count;          /**< May be 0, and then the buffers may be NULL. */
    size_t output_count;   /**< May be 0. */
    ndr_span output;       /**< `output_count` elements, of which others keep their values; must not overlap the rest. */
    NDR_MAY_GROW
} ndr_scatter_desc;

/** Enqueue a scattering. */
NDR_SIZED ndr_status ndr_scatter(ndr_queue *queue, const ndr_scatter_desc *desc, ndr_event **event);

/** Which implementation ndr_scatter() would run, as ndr_reduce_explain(). */
NDR_SIZED ndr_status ndr_scatter_explain(ndr_context *context, const ndr_scatter_desc *desc, size_t capacity, char *text,
                                         size_t *length);

/* ---- histogram ----------------------------------------------------------------------------------- */

/** Count the elements in each bin, or add up their weights.
 *
 * Without edges the bins of a channel are even: bin i has the elements from lower + i * (upper - lower) / bins on, that
 * value included, to the same for i + 1, which is not. For integers this is exact. For floats the bin is
 * (x - lower) * (bins / (upper - lower)), rounded down, where each step is rounded to the dtype. With edges bin i has
 * the elements from edges[i] on, included, to edges[i + 1], not included. Elements in no bin are not counted; NaN is
 * in none.
 *
 * Element i is of channel i % channels. The output has the bins of channel 0 first, then those of the next channels.
 * Integers wrap modulo 2^32 or 2^64. Sums of weights of F32 may differ in their last bits from run to run on GPUs. */
typedef struct ndr_histogram_desc {
    ndr_dtype dtype;        /**< Of an element: I8, U8, I16, U16, I32, U32, F32 or F64. */
    ndr_dtype output_dtype; /**< Of a count: U32 or U64. With weights, of these and of their sums: U32 or F32. */
    size_t bins;            /**< Of each channel: 1 or more, and less than 2^31 in all channels. */
    double lower;           /**< The start of bin 0, a whole number of the dtype's range if that is an integer. Not
                                 used with edges, as `upper`. */
    double upper;           /**< The end of the last bin, greater than lower; of an integer dtype at most its greatest
                                 value and 1. */
    unsigned channels;      /**< 1 to 4; 0 means 1. */
    bool adds;              /**< True: add to what the output holds; false: replace it. */
    ndr_span input;         /**< Read only. */
    size_t count;           /**< Elements of the input, of all channels; a multiple of channels. May be 0, and then
                                 input.buffer may be NULL. */
    ndr_span weights;       /**< One for each element; buffer NULL: an element counts 1. */
    ndr_span edges;         /**< bins + 1 elements of the dtype, ascending, for all channels; buffer NULL: even bins.
                                 In other orders it is not said in which bin an element counts. */
    ndr_span output;        /**< channels * bins elements; must not overlap the others. */
    NDR_MAY_GROW
} ndr_histogram_desc;

/** Enqueue a histogram. */
NDR_SIZED ndr_status ndr_histogram(ndr_queue *queue, const ndr_histogram_desc *desc, ndr_event **event);

/** As ndr_reduce_explain(), for ndr_histogram(). */
NDR_SIZED ndr_status ndr_histogram_explain(ndr_context *context, const ndr_histogram_desc *desc, size_t capacity,
                                           char *text, size_t *length);

/* ---- random numbers ------------------------------------------------------------------------------ */

/** What the values of ndr_random() are. */
typedef enum ndr_distribution {
    NDR_RANDOM_NONE = 0,       /**< Not set. */
    NDR_RANDOM_UNIFORM = 1,    /**< Integers: all values of the type. F32: multiples of 2^-24 in [0, 1). F64: of
                                    2^-53. */
    NDR_RANDOM_NORMAL = 2,     /**< F32 and F64, of mean 0 and standard deviation 1; at most 6.7 and 9.5 in size. */
    NDR_RANDOM_BELOW = 3,      /**< Integers from `low` to `low` + `below` - 1, all with the same probability. */
    NDR_RANDOM_PERMUTATION = 4 /**< Each of these integers once, in an order that looks random. */
} ndr_distribution;

/** Random numbers: values `first` to `first` + `count` - 1 of a stream.
 *
 * A value depends on the type, the distribution, `seed`, `stream` and its own index in the stream: two fills, of [0, k)
 * and of [k, n) by `first`, give the same elements as one fill of [0, n). The bits are the same on every device that
 * rounds correctly as OpenCL demands. Kernels get the same values from ndr/random.clh, one by one
 * (docs/vocabulary/random.md). The generator is Philox 4x32-10: not for secrets.
 *
 * Values of different seeds or streams are independent. Values of one stream in two types or distributions are not:
 * they are made of the same bits. Use another stream for each purpose.
 *
 * A permutation is determined by `seed`, `stream` and its length `below`. It is computed element by element, by a
 * bijection (a Feistel network in 24 rounds), without a sort: of the `below`! orders only some occur. Those of up to 8
 * elements occur with about the same probability, within 10 %. */
typedef struct ndr_random_desc {
    ndr_dtype dtype;               /**< I32, U32, I64, U64, F32 or F64. */
    ndr_distribution distribution; /**< What the values are. */
    uint64_t below;                /**< Of BELOW and PERMUTATION: the number of values. 0: of a permutation, `count`. */
    int64_t low;                   /**< Of BELOW and PERMUTATION: the smallest value. */
    uint64_t seed;                 /**< Any number. */
    uint64_t stream;               /**< One of 2^64 streams of the seed. */
    uint64_t first;                /**< The index of output[0] in the stream; `first` + `count` is at most 2^48. */
    size_t count;                  /**< Elements of output; may be 0, and then output.buffer may be NULL. */
    ndr_span output;               /**< Is overwritten. */
    NDR_MAY_GROW
} ndr_random_desc;

/** Enqueue a fill with random numbers. */
NDR_SIZED ndr_status ndr_random(ndr_queue *queue, const ndr_random_desc *desc, ndr_event **event);

/** Which implementation ndr_random() would run, as ndr_reduce_explain(): the buffer may be NULL. */
NDR_SIZED ndr_status ndr_random_explain(ndr_context *context, const ndr_random_desc *desc, size_t capacity, char *text,
                                        size_t *length);

/* ---- scan ---------------------------------------------------------------------------------------- */

/** Prefix sums and the like: output[i] is input[0..i] combined, with input[i] if the scan is inclusive, and without it
 * if it is exclusive. A backward scan combines input[i..count).
 *
 * The initial value comes first. Without one, the result of no elements is the identity of the operator, as the first
 * one of an exclusive scan. Segments are scanned each by itself, from the initial value on.
 *
 * Results have the same bits on every run: the order of combination depends on `count`, the options and the device's
 * largest group alone. Integers wrap modulo 2^width. A float minimum or maximum leaves out NaN, and is NaN if all
 * elements so far are. A float sum s of at most 2^34 elements satisfies |s - exact| <= 256 * eps * sum|x|, over the
 * initial value and the elements that s combines, on devices with groups of 256 items; docs/numerics.md has more. */
typedef struct ndr_scan_desc {
    ndr_dtype dtype;   /**< I8 to U64, F32 or F64. */
    ndr_op op;         /**< Any but ARG_MIN and ARG_MAX; the bit operators for integers only. */
    bool is_exclusive; /**< Leave out the element itself. Default: inclusive. */
    bool is_backward;  /**< From the last element to the first one. */
    ndr_arg initial;   /**< ndr_arg_of() of a value of the dtype; not set: none. */
    ndr_span input;    /**< Read only. */
    ndr_span flags;    /**< `count` elements of U8: a segment begins at each that is not 0, and at element 0. A backward
                            scan has the same segments. Buffer NULL: none. */
    size_t length;     /**< Elements of each segment, such as the columns of a matrix; the last one may be shorter. 0: all
                            elements are one segment. Only without flags. */
    size_t count;      /**< Elements of input and output; may be 0, and then the buffers may be NULL. */
    ndr_span output;   /**< The same elements as input (a scan in place), or none of them; none of flags. */
    NDR_MAY_GROW
} ndr_scan_desc;

/** Enqueue a scan. */
NDR_SIZED ndr_status ndr_scan(ndr_queue *queue, const ndr_scan_desc *desc, ndr_event **event);

/** Which implementation ndr_scan() would run, as ndr_reduce_explain(). Whether flags.buffer is NULL is read, too. */
NDR_SIZED ndr_status ndr_scan_explain(ndr_context *context, const ndr_scan_desc *desc, size_t capacity, char *text,
                                      size_t *length);

/** The same along a dimension of an array: each line of elements along `axis` is scanned by itself, for each index of the other
 * dimensions. Along dimension 1 of a matrix these are its rows, along 0 its columns.
 *
 * Results have the same bits on every run: the order of combination depends on shape, strides, options and limits of the
 * device alone. Integers, NaN and float sums are as of ndr_scan(). */
typedef struct ndr_array_scan_desc {
    ndr_op op;         /**< As of ndr_scan(). */
    bool is_exclusive; /**< Leave out the element itself. Default: inclusive. */
    bool is_backward;  /**< From the last element of a line to the first one. */
    unsigned axis;     /**< The dimension along which lines lie. Default: 0. */
    ndr_arg initial;   /**< ndr_arg_of() of a value of the dtype; not set: none. */
    ndr_array input;   /**< Read only. I8 to U64, F32 or F64. */
    ndr_array output;  /**< Of the same dtype and shape. The same elements as the input (a scan in place), or none of them. */
    NDR_MAY_GROW
} ndr_array_scan_desc;

/** Enqueue scans along an axis. */
NDR_SIZED ndr_status ndr_array_scan(ndr_queue *queue, const ndr_array_scan_desc *desc, ndr_event **event);

/** Which implementation ndr_array_scan() would run, as ndr_reduce_explain(). It may be one of ndr_scan(). */
NDR_SIZED ndr_status ndr_array_scan_explain(ndr_context *context, const ndr_array_scan_desc *desc, size_t capacity,
                                            char *text, size_t *length);

/* ---- select -------------------------------------------------------------------------------------- */

/** Copy the elements whose flags are not 0 to the start of the output, in their order (compaction). The number of these
 * elements stays on the device, for later commands, or to be read.
 *
 * With `keeps_others` the other elements follow them, in their order, too (a stable partition). By runs, the first of
 * each run of equal elements is selected (unique; of sorted elements, each value once), and `starts` tells where the
 * runs are: run k is elements starts[k] to starts[k + 1] - 1 (run-length encoding). Elements are equal if their bits are,
 * so -0 and +0 differ, and a NaN equals itself. */
typedef struct ndr_select_desc {
    ndr_dtype dtype;   /**< Of the elements: any, because their bits are copied. */
    bool by_runs;      /**< Select the first element of each run. Default: by flags. */
    bool keeps_others; /**< Store the others behind the selected elements. Default: they are left out. */
    ndr_span input;    /**< Read only. */
    ndr_span flags;    /**< An element of U8 for each of the input. Not with by_runs. */
    size_t count;      /**< Elements of the input; may be 0, and then buffers but those of `selected` and `starts` may be
                            NULL. */
    ndr_span output;   /**< Room for `count` elements. Those behind the last one stored are kept. */
    ndr_span selected; /**< An element of U64: how many elements were selected. No output may overlap anything else. */
    ndr_span starts;   /**< With by_runs: room for `count` + 1 elements of U64, the index of each selected element, and
                            `count` behind the last one. Buffer NULL: none. */
    NDR_MAY_GROW
} ndr_select_desc;

/** Enqueue a selection. */
NDR_SIZED ndr_status ndr_select(ndr_queue *queue, const ndr_select_desc *desc, ndr_event **event);

/** Which implementation ndr_select() would run, as ndr_reduce_explain(). */
NDR_SIZED ndr_status ndr_select_explain(ndr_context *context, const ndr_select_desc *desc, size_t capacity, char *text,
                                        size_t *length);

/* ---- sort ---------------------------------------------------------------------------------------- */

/** Sort keys, and values along with them. The sort is stable, also in descending order: elements with equal keys keep
 * their order.
 *
 * Segments are sorted each by itself: of equal `length`, or by offsets. A segment by offsets may be empty; what is in no
 * segment is not stored. With offsets in another order, it is not said which elements are stored.
 *
 * Floats: -0 and +0 are equal. All NaN are equal to each other and greater than +infinity, whatever their sign: they
 * come last in ascending order, and first in descending order. Each key keeps its bits. No device needs has_f64.
 *
 * With a range of bits only these bits of the keys are compared; bit 0 is the least significant one. The bits of a signed
 * integer count as if 2^(width - 1) had been added to it. The bits of a float count as those of its order: for a float
 * that is not negative its bits with the sign bit set, for a negative one its inverted bits, for a NaN all ones.
 *
 * The outputs may be the inputs: `sorted_keys` the same span as `keys`, `sorted_values` as `values`. Any other overlap
 * of an output with an input or with the other output is refused. The queue keeps temporary memory of about the size of
 * the keys and values. */
typedef struct ndr_sort_desc {
    ndr_dtype dtype;        /**< Of the keys: any. */
    size_t value_bytes;     /**< Bytes of a value, less than 2^32; 0: no values. 1, 2, 4, 8 and 16 are the fastest. */
    bool is_descending;     /**< Default: the smallest key first. */
    unsigned begin_bit;     /**< The first bit that is compared. */
    unsigned end_bit;       /**< The bit behind the last one that is compared; 0: the width of the type. */
    ndr_span keys;          /**< `count` keys. */
    ndr_span values;        /**< As many values; the offset counts values. Not read if value_bytes is 0. */
    size_t count;           /**< May be 0, and then the buffers may be NULL. */
    ndr_span sorted_keys;   /**< The keys in order; may be `keys`. */
    ndr_span sorted_values; /**< The value of each of them; may be `values`. Not read if value_bytes is 0. */
    size_t length;          /**< Keys of each segment, such as the columns of a matrix; the last one may have fewer. 0: all
                                 keys are one segment. Only without offsets. */
    ndr_span offsets;       /**< Of segments of any length: `segments` + 1 elements of U64, not decreasing. Segment s is the
                                 keys from offsets[s] on to offsets[s + 1], not included. Those past `count` count as
                                 `count`. Buffer NULL: none. */
    size_t segments;        /**< May be 0, and then nothing is stored. */
    NDR_MAY_GROW
} ndr_sort_desc;

/** Enqueue a sort. */
NDR_SIZED ndr_status ndr_sort(ndr_queue *queue, const ndr_sort_desc *desc, ndr_event **event);

/** Which implementation ndr_sort() would run, as ndr_reduce_explain(). Whether a sort is in place is read, too. */
NDR_SIZED ndr_status ndr_sort_explain(ndr_context *context, const ndr_sort_desc *desc, size_t capacity, char *text,
                                      size_t *length);

/* ---- top k --------------------------------------------------------------------------------------- */

/** The k smallest or largest of keys, in order, with their values, their indexes or both: what the first k elements of a sort
 * by ndr_sort() are, of the whole array or of each segment.
 *
 * The order is that of ndr_sort(): of equal keys, those with the lower index come first; -0 and +0 are equal; NaN is greater
 * than +infinity, so it is among the largest. Each key keeps its bits. No device needs has_f64.
 *
 * A call with a k that is much smaller than the number of keys reads these about once, or twice on GPUs. The queue keeps
 * temporary memory: bytes for each key that may be among the results, at most four times as many as the keys have. */
typedef struct ndr_top_k_desc {
    ndr_dtype dtype;      /**< Of the keys: any. */
    size_t value_bytes;   /**< Bytes of a value, less than 2^32; 0: no values. */
    bool is_largest;      /**< The largest keys, the largest one first. Default: the smallest, the smallest one first. */
    ndr_span keys;        /**< `count` keys. */
    ndr_span values;      /**< As many values; the offset counts values. Not read if value_bytes is 0. */
    size_t length;        /**< Keys of each segment, such as the columns of a matrix. 0: all keys are one segment. */
    size_t count;         /**< A multiple of `length`; may be 0, and then the buffers may be NULL. */
    size_t k;             /**< Elements of each segment that are stored: 1 to its keys. */
    ndr_span top_keys;    /**< k keys of each segment, one segment after the other. Buffer NULL: they are not stored. */
    ndr_span top_values;  /**< The values of these. Not read if value_bytes is 0. */
    ndr_span top_indexes; /**< Their indexes in the segment, elements of U64. Buffer NULL: they are not stored. At least one
                               output is needed, and none may overlap anything else. */
    NDR_MAY_GROW
} ndr_top_k_desc;

/** Enqueue a search for the k smallest or largest. */
NDR_SIZED ndr_status ndr_top_k(ndr_queue *queue, const ndr_top_k_desc *desc, ndr_event **event);

/** Which implementation ndr_top_k() would run, as ndr_reduce_explain(). */
NDR_SIZED ndr_status ndr_top_k_explain(ndr_context *context, const ndr_top_k_desc *desc, size_t capacity, char *text,
                                       size_t *length);

/* ---- merge --------------------------------------------------------------------------------------- */

/** Merge two sorted arrays into one.
 *
 * `less` is an expression, OpenCL C, of two elements `a` and `b`: whether a comes before b, such as "a > b" for a
 * descending order, or "a.key < b.key". It must be a strict weak order: false of equal elements. Without it numbers are
 * in ascending order, NaN last, and -0 and +0 are equal. Of equal elements those of `first` come first.
 *
 * Elements of a type of your own, such as a struct with a key and a value, have its name in `element` and its size in
 * `element_bytes`; `declarations` declare it. The text is compiled once, as that of ndr_map(); an error is shown in a
 * line of "less". Inputs that are not sorted by `less` give their elements in another order. */
typedef struct ndr_merge_desc {
    ndr_dtype dtype;          /**< Of an element: I8 to U64, F32 or F64; NONE with `element`. */
    const char *element;      /**< A type of your own: "struct pair"; NULL: `dtype`. */
    size_t element_bytes;     /**< Its size, at most 256. */
    const char *less;         /**< "a < b"; NULL: ascending. With `element` it must be set. */
    const char *declarations; /**< OpenCL C before the kernel: structs, functions, macros. NULL: none. */
    ndr_span first;           /**< `first_count` elements. */
    size_t first_count;       /**< May be 0, and then the buffer may be NULL. */
    ndr_span second;          /**< `second_count` elements. */
    size_t second_count;      /**< As first_count. */
    ndr_span output;          /**< All elements; must not overlap the others. */
    NDR_MAY_GROW
} ndr_merge_desc;

/** Enqueue a merge. */
NDR_SIZED ndr_status ndr_merge(ndr_queue *queue, const ndr_merge_desc *desc, ndr_event **event);

/** Which implementation ndr_merge() would run, as ndr_reduce_explain(). */
NDR_SIZED ndr_status ndr_merge_explain(ndr_context *context, const ndr_merge_desc *desc, size_t capacity, char *text,
                                       size_t *length);

/** Sort elements of any type by a comparison, as a whole or each segment by itself. The sort is stable: equal elements
 * keep their order. Order and types are those of ndr_merge(). ndr_sort() is faster for numbers as a whole. The queue
 * keeps temporary memory of the size of the elements. */
typedef struct ndr_merge_sort_desc {
    ndr_dtype dtype;          /**< As of ndr_merge(), with the next four. */
    const char *element;      /**< A type of your own: "struct pair"; NULL: `dtype`. */
    size_t element_bytes;     /**< Its size, at most 256. */
    const char *less;         /**< "a < b"; NULL: ascending. With `element` it must be set. */
    const char *declarations; /**< OpenCL C before the kernel: structs, functions, macros. NULL: none. */
    ndr_span input;           /**< `count` elements. */
    ndr_span starts;          /**< `segments` elements of U64, ascending: a segment begins at each of these indexes, and at
                                   0. Indexes from `count` on are ignored. In another order, it is not said where. */
    size_t segments;          /**< 0: all elements are one segment, and starts is not read. */
    size_t length;            /**< Elements of each segment, as of ndr_scan(); only without starts. */
    size_t count;             /**< May be 0, and then the buffers may be NULL. */
    ndr_span output;          /**< The input (a sort in place), or apart from it. */
    NDR_MAY_GROW
} ndr_merge_sort_desc;

/** Enqueue a sort by a comparison. */
NDR_SIZED ndr_status ndr_merge_sort(ndr_queue *queue, const ndr_merge_sort_desc *desc, ndr_event **event);

/** Which implementation ndr_merge_sort() would run, as ndr_reduce_explain(). */
NDR_SIZED ndr_status ndr_merge_sort_explain(ndr_context *context, const ndr_merge_sort_desc *desc, size_t capacity,
                                            char *text, size_t *length);

/* ---- self-test ----------------------------------------------------------------------------------- */

/** Whether the results of an implementation are right on a driver. */
typedef enum ndr_verdict {
    NDR_VERDICT_UNKNOWN = 0, /**< It was not tested, or could not be. */
    NDR_VERDICT_RIGHT = 1,   /**< They are. */
    NDR_VERDICT_WRONG = 2    /**< They are not, its kernels do not build, or it was refused: it is not used. */
} ndr_verdict;

/** An implementation that is about to be tested, or was. */
typedef struct ndr_selftest_row {
    const char *operation;      /**< "scan". */
    const char *implementation; /**< "tiles", as ndr_scan_explain() names it. */
    bool is_done;               /**< False: this call decides what is done. True: it is done. */
    ndr_verdict verdict;        /**< Before: what the store on disk has. Afterwards: what is known now. */
    const char *fault;          /**< If it is WRONG, or could not be tested, why: the first wrong result, or the error.
                                     Otherwise "". Valid during the callback only. */
    bool is_kept;               /**< Afterwards: the store on disk has the verdict. */
    NDR_MAY_GROW
} ndr_selftest_row;

/** What to do with an implementation. */
typedef enum ndr_selftest_action {
    NDR_SELFTEST_DEFAULT = 0, /**< Test it unless the store has a verdict. */
    NDR_SELFTEST_RUN = 1,     /**< Test it. */
    NDR_SELFTEST_SKIP = 2,    /**< Do not test it. */
    NDR_SELFTEST_REFUSE = 3   /**< Do not test it, but do not use it either: it ended or held up a process. */
} ndr_selftest_action;

/** Called for each implementation twice, before and after; what it returns afterwards is not read. */
typedef ndr_selftest_action ndr_selftest_callback(const ndr_selftest_row *row, void *user);

/** Run each implementation of the operations that the device would take, on sizes around the parts into which it divides
 * the work, and compare the results with those of plain C. One whose results are wrong is not used any more in this
 * context, and the next one is tested. The verdicts are kept in the store on disk, for this version of the driver and
 * this build of libndr: contexts that are made later read them there. `each` may be NULL: DEFAULT for all.
 *
 * Takes some three seconds where the driver has the kernels in its own cache, longer where it compiles them, and
 * milliseconds when all verdicts are known. Only the types that it runs are tested, not all that an operation takes. A
 * driver that crashes or hangs does so in this process: the command `ndr selftest` makes this call in a process of its
 * own, tells REFUSE for what crashes or hangs, and leaves the verdicts in the store. Without a store, or if it is
 * read-only, verdicts are those of this context alone.
 *
 * NDR_UNSUPPORTED: calls of an operation, perhaps only of some sizes, have no implementation with right results;
 * they will be refused. With NDR_SELFTEST=off nothing is tested, and verdicts are neither read nor kept, except
 * those that libndr needs before it uses more than OpenCL C. */
NDR_MUST_CHECK ndr_status ndr_selftest(ndr_context *context, ndr_selftest_callback *each, void *user);

/* ---- as in ndr_sized.h --------------------------------------------------------------------------- */

NDR_MUST_CHECK ndr_status ndr_array_copy_sized(ndr_queue *queue, const ndr_array_copy_desc *desc, size_t desc_bytes,
                                               ndr_event **event);
NDR_MUST_CHECK ndr_status ndr_array_copy_explain_sized(ndr_context *context, const ndr_array_copy_desc *desc,
                                                       size_t desc_bytes, size_t capacity, char *text, size_t *length);
NDR_MUST_CHECK ndr_status ndr_gather_sized(ndr_queue *queue, const ndr_gather_desc *desc, size_t desc_bytes,
                                           ndr_event **event);
NDR_MUST_CHECK ndr_status ndr_gather_explain_sized(ndr_context *context, const ndr_gather_desc *desc,
                                                   size_t desc_bytes, size_t capacity, char *text, size_t *length);
NDR_MUST_CHECK ndr_status ndr_scatter_sized(ndr_queue *queue, const ndr_scatter_desc *desc, size_t desc_bytes,
                                            ndr_event **event);
NDR_MUST_CHECK ndr_status ndr_scatter_explain_sized(ndr_context *context, const ndr_scatter_desc *desc,
                                                    size_t desc_bytes, size_t capacity, char *text, size_t *length);
NDR_MUST_CHECK ndr_status ndr_histogram_sized(ndr_queue *queue, const ndr_histogram_desc *desc, size_t desc_bytes,
                                              ndr_event **event);
NDR_MUST_CHECK ndr_status ndr_histogram_explain_sized(ndr_context *context, const ndr_histogram_desc *desc,
                                                      size_t desc_bytes, size_t capacity, char *text, size_t *length);
NDR_MUST_CHECK ndr_status ndr_random_sized(ndr_queue *queue, const ndr_random_desc *desc, size_t desc_bytes,
                                           ndr_event **event);
NDR_MUST_CHECK ndr_status ndr_random_explain_sized(ndr_context *context, const ndr_random_desc *desc, size_t desc_bytes,
                                                   size_t capacity, char *text, size_t *length);
NDR_MUST_CHECK ndr_status ndr_select_sized(ndr_queue *queue, const ndr_select_desc *desc, size_t desc_bytes,
                                           ndr_event **event);
NDR_MUST_CHECK ndr_status ndr_select_explain_sized(ndr_context *context, const ndr_select_desc *desc, size_t desc_bytes,
                                                   size_t capacity, char *text, size_t *length);
NDR_MUST_CHECK ndr_status ndr_scan_sized(ndr_queue *queue, const ndr_scan_desc *desc, size_t desc_bytes,
                                         ndr_event **event);
NDR_MUST_CHECK ndr_status ndr_scan_explain_sized(ndr_context *context, const ndr_scan_desc *desc, size_t desc_bytes,
                                                 size_t capacity, char *text, size_t *length);
NDR_MUST_CHECK ndr_status ndr_sort_sized(ndr_queue *queue, const ndr_sort_desc *desc, size_t desc_bytes,
                                         ndr_event **event);
NDR_MUST_CHECK ndr_status ndr_sort_explain_sized(ndr_context *context, const ndr_sort_desc *desc, size_t desc_bytes,
                                                 size_t capacity, char *text, size_t *length);
NDR_MUST_CHECK ndr_status ndr_array_scan_sized(ndr_queue *queue, const ndr_array_scan_desc *desc, size_t desc_bytes,
                                               ndr_event **event);
NDR_MUST_CHECK ndr_status ndr_array_scan_explain_sized(ndr_context *context, const ndr_array_scan_desc *desc,
                                                       size_t desc_bytes, size_t capacity, char *text, size_t *length);
NDR_MUST_CHECK ndr_status ndr_top_k_sized(ndr_queue *queue, const ndr_top_k_desc *desc, size_t desc_bytes,
                                          ndr_event **event);
NDR_MUST_CHECK ndr_status ndr_top_k_explain_sized(ndr_context *context, const ndr_top_k_desc *desc, size_t desc_bytes,
                                                  size_t capacity, char *text, size_t *length);
NDR_MUST_CHECK ndr_status ndr_merge_sized(ndr_queue *queue, const ndr_merge_desc *desc, size_t desc_bytes,
                                         ndr_event **event);
NDR_MUST_CHECK ndr_status ndr_merge_explain_sized(ndr_context *context, const ndr_merge_desc *desc, size_t desc_bytes,
                                                 size_t capacity, char *text, size_t *length);
NDR_MUST_CHECK ndr_status ndr_merge_sort_sized(ndr_queue *queue, const ndr_merge_sort_desc *desc, size_t desc_bytes,
                                         ndr_event **event);
NDR_MUST_CHECK ndr_status ndr_merge_sort_explain_sized(ndr_context *context, const ndr_merge_sort_desc *desc, size_t desc_bytes,
                                                 size_t capacity, char *text, size_t *length);
NDR_MUST_CHECK ndr_status ndr_map_sized(ndr_queue *queue, const ndr_map_desc *desc, size_t desc_bytes,
                                        ndr_event **event);
NDR_MUST_CHECK ndr_status ndr_map_explain_sized(ndr_context *context, const ndr_map_desc *desc, size_t desc_bytes,
                                                size_t capacity, char *text, size_t *length);
NDR_MUST_CHECK ndr_status ndr_map_reduce_sized(ndr_queue *queue, const ndr_map_reduce_desc *desc, size_t desc_bytes,
                                               ndr_event **event);
NDR_MUST_CHECK ndr_status ndr_map_reduce_explain_sized(ndr_context *context, const ndr_map_reduce_desc *desc,
                                                       size_t desc_bytes, size_t capacity, char *text, size_t *length);

#ifndef NDR_BUILDING

static inline ndr_status ndr_array_copy(ndr_queue *queue_, const ndr_array_copy_desc *desc_, ndr_event **event_)
{
    return ndr_array_copy_sized(queue_, desc_, sizeof *desc_, event_);
}

static inline ndr_status ndr_array_copy_explain(ndr_context *context_, const ndr_array_copy_desc *desc_, size_t capacity_,
                                                char *text_, size_t *length_)
{
    return ndr_array_copy_explain_sized(context_, desc_, sizeof *desc_, capacity_, text_, length_);
}

static inline ndr_status ndr_gather(ndr_queue *queue_, const ndr_gather_desc *desc_, ndr_event **event_)
{
    return ndr_gather_sized(queue_, desc_, sizeof *desc_, event_);
}

static inline ndr_status ndr_gather_explain(ndr_context *context_, const ndr_gather_desc *desc_, size_t capacity_,
                                            char *text_, size_t *length_)
{
    return ndr_gather_explain_sized(context_, desc_, sizeof *desc_, capacity_, text_, length_);
}

static inline ndr_status ndr_scatter(ndr_queue *queue_, const ndr_scatter_desc *desc_, ndr_event **event_)
{
    return ndr_scatter_sized(queue_, desc_, sizeof *desc_, event_);
}

static inline ndr_status ndr_scatter_explain(ndr_context *context_, const ndr_scatter_desc *desc_, size_t capacity_,
                                             char *text_, size_t *length_)
{
    return ndr_scatter_explain_sized(context_, desc_, sizeof *desc_, capacity_, text_, length_);
}

static inline ndr_status ndr_histogram(ndr_queue *queue_, const ndr_histogram_desc *desc_, ndr_event **event_)
{
    return ndr_histogram_sized(queue_, desc_, sizeof *desc_, event_);
}

static inline ndr_status ndr_histogram_explain(ndr_context *context_, const ndr_histogram_desc *desc_, size_t capacity_,
                                               char *text_, size_t *length_)
{
    return ndr_histogram_explain_sized(context_, desc_, sizeof *desc_, capacity_, text_, length_);
}

static inline ndr_status ndr_random(ndr_queue *queue_, const ndr_random_desc *desc_, ndr_event **event_)
{
    return ndr_random_sized(queue_, desc_, sizeof *desc_, event_);
}

static inline ndr_status ndr_random_explain(ndr_context *context_, const ndr_random_desc *desc_, size_t capacity_,
                                            char *text_, size_t *length_)
{
    return ndr_random_explain_sized(context_, desc_, sizeof *desc_, capacity_, text_, length_);
}

static inline ndr_status ndr_scan(ndr_queue *queue_, const ndr_scan_desc *desc_, ndr_event **event_)
{
    return ndr_scan_sized(queue_, desc_, sizeof *desc_, event_);
}

static inline ndr_status ndr_scan_explain(ndr_context *context_, const ndr_scan_desc *desc_, size_t capacity_,
                                          char *text_, size_t *length_)
{
    return ndr_scan_explain_sized(context_, desc_, sizeof *desc_, capacity_, text_, length_);
}

static inline ndr_status ndr_select(ndr_queue *queue_, const ndr_select_desc *desc_, ndr_event **event_)
{
    return ndr_select_sized(queue_, desc_, sizeof *desc_, event_);
}

static inline ndr_status ndr_select_explain(ndr_context *context_, const ndr_select_desc *desc_, size_t capacity_,
                                            char *text_, size_t *length_)
{
    return ndr_select_explain_sized(context_, desc_, sizeof *desc_, capacity_, text_, length_);
}

static inline ndr_status ndr_sort(ndr_queue *queue_, const ndr_sort_desc *desc_, ndr_event **event_)
{
    return ndr_sort_sized(queue_, desc_, sizeof *desc_, event_);
}

static inline ndr_status ndr_sort_explain(ndr_context *context_, const ndr_sort_desc *desc_, size_t capacity_,
                                          char *text_, size_t *length_)
{
    return ndr_sort_explain_sized(context_, desc_, sizeof *desc_, capacity_, text_, length_);
}

static inline ndr_status ndr_array_scan(ndr_queue *queue_, const ndr_array_scan_desc *desc_, ndr_event **event_)
{
    return ndr_array_scan_sized(queue_, desc_, sizeof *desc_, event_);
}

static inline ndr_status ndr_array_scan_explain(ndr_context *context_, const ndr_array_scan_desc *desc_, size_t capacity_,
                                                char *text_, size_t *length_)
{
    return ndr_array_scan_explain_sized(context_, desc_, sizeof *desc_, capacity_, text_, length_);
}

static inline ndr_status ndr_top_k(ndr_queue *queue_, const ndr_top_k_desc *desc_, ndr_event **event_)
{
    return ndr_top_k_sized(queue_, desc_, sizeof *desc_, event_);
}

static inline ndr_status ndr_top_k_explain(ndr_context *context_, const ndr_top_k_desc *desc_, size_t capacity_,
                                           char *text_, size_t *length_)
{
    return ndr_top_k_explain_sized(context_, desc_, sizeof *desc_, capacity_, text_, length_);
}

static inline ndr_status ndr_merge(ndr_queue *queue_, const ndr_merge_desc *desc_, ndr_event **event_)
{
    return ndr_merge_sized(queue_, desc_, sizeof *desc_, event_);
}

static inline ndr_status ndr_merge_explain(ndr_context *context_, const ndr_merge_desc *desc_, size_t capacity_,
                                          char *text_, size_t *length_)
{
    return ndr_merge_explain_sized(context_, desc_, sizeof *desc_, capacity_, text_, length_);
}

static inline ndr_status ndr_merge_sort(ndr_queue *queue_, const ndr_merge_sort_desc *desc_, ndr_event **event_)
{
    return ndr_merge_sort_sized(queue_, desc_, sizeof *desc_, event_);
}

static inline ndr_status ndr_merge_sort_explain(ndr_context *context_, const ndr_merge_sort_desc *desc_, size_t capacity_,
                                          char *text_, size_t *length_)
{
    return ndr_merge_sort_explain_sized(context_, desc_, sizeof *desc_, capacity_, text_, length_);
}

static inline ndr_status ndr_map(ndr_queue *queue_, const ndr_map_desc *desc_, ndr_event **event_)
{
    return ndr_map_sized(queue_, desc_, sizeof *desc_, event_);
}

static inline ndr_status ndr_map_explain(ndr_context *context_, const ndr_map_desc *desc_, size_t capacity_,
                                         char *text_, size_t *length_)
{
    return ndr_map_explain_sized(context_, desc_, sizeof *desc_, capacity_, text_, length_);
}

static inline ndr_status ndr_map_reduce(ndr_queue *queue_, const ndr_map_reduce_desc *desc_, ndr_event **event_)
{
    return ndr_map_reduce_sized(queue_, desc_, sizeof *desc_, event_);
}

static inline ndr_status ndr_map_reduce_explain(ndr_context *context_, const ndr_map_reduce_desc *desc_,
                                                size_t capacity_, char *text_, size_t *length_)
{
    return ndr_map_reduce_explain_sized(context_, desc_, sizeof *desc_, capacity_, text_, length_);
}

#endif

#ifdef __cplusplus
}
#endif

/* The commands, which take a queue or ndr_after(). */
#ifndef NDR_BUILDING
#define ndr_map(queue, ...) ndr_map(NDR_QUEUE_(queue), __VA_ARGS__)
#define ndr_map_reduce(queue, ...) ndr_map_reduce(NDR_QUEUE_(queue), __VA_ARGS__)
#define ndr_array_copy(queue, ...) ndr_array_copy(NDR_QUEUE_(queue), __VA_ARGS__)
#define ndr_gather(queue, ...) ndr_gather(NDR_QUEUE_(queue), __VA_ARGS__)
#define ndr_scatter(queue, ...) ndr_scatter(NDR_QUEUE_(queue), __VA_ARGS__)
#define ndr_histogram(queue, ...) ndr_histogram(NDR_QUEUE_(queue), __VA_ARGS__)
#define ndr_random(queue, ...) ndr_random(NDR_QUEUE_(queue), __VA_ARGS__)
#define ndr_scan(queue, ...) ndr_scan(NDR_QUEUE_(queue), __VA_ARGS__)
#define ndr_array_scan(queue, ...) ndr_array_scan(NDR_QUEUE_(queue), __VA_ARGS__)
#define ndr_select(queue, ...) ndr_select(NDR_QUEUE_(queue), __VA_ARGS__)
#define ndr_merge(queue, ...) ndr_merge(NDR_QUEUE_(queue), __VA_ARGS__)
#define ndr_merge_sort(queue, ...) ndr_merge_sort(NDR_QUEUE_(queue), __VA_ARGS__)
#define ndr_sort(queue, ...) ndr_sort(NDR_QUEUE_(queue), __VA_ARGS__)
#define ndr_top_k(queue, ...) ndr_top_k(NDR_QUEUE_(queue), __VA_ARGS__)
#endif

#endif
