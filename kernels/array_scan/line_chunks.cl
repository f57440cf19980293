/* line_chunks.cl - scans of lines on CPUs, by groups of one item. A group takes a part of some neighbouring lines:
 *
 *   ALONG 1   each line by itself, its elements follow each other: long ones are scanned in vector registers
 *   ALONG 0   all together, step by step: neighbouring lines are the lanes of vectors
 */
#include "once.clh"
#include "scan/run.clh"
#include "array_scan/lines.clh"

/* Defaults, so that the file compiles alone; the library sets others. */
#ifndef ALONG
#define ALONG 0
#endif
#ifndef IS_UNIT
#define IS_UNIT 1 /* of ALONG 0: neighbouring lines are neighbours in memory */
#endif

/* The lines of block b of all: `span` neighbouring ones of an index of the outer dimension. */
static inline ulong find_block(const ulong b, const ulong inner, const ulong span, uint *width)
{
    const ulong per = (inner + span - 1) / span, begin = b % per * span;
    *width = (uint)min(span, inner - begin);
    return b / per * inner + begin;
}

#if ALONG

#define SHORT 64 /* elements that are scanned one after the other */

/* Element `at` of the line, or of a backward scan counted from its end, is the first of `n` in memory. */
static inline ulong lowest(const ulong at, const ulong n) { return IS_BACKWARD ? at + n - 1 : at; }

ONCE void reduce_block(LINE_PARAMETERS, const ulong block, const uint width, const ulong begin, const ulong n)
{
    for (uint i = 0; i < width; ++i) {
        global const T *const x = input_line(LINE_ARGUMENTS, block + i) + input_step * (long)lowest(begin, n);
        *value_of(LINE_ARGUMENTS, block + i, begin / size) = reduce_chunk(x, 0, 0, n);
    }
}

ONCE void scan_block(LINE_PARAMETERS, const ulong block, const uint width, const ulong begin, const ulong n)
{
    for (uint i = 0; i < width; ++i) {
        global const T *const x = input_line(LINE_ARGUMENTS, block + i) + input_step * (long)lowest(begin, n);
        global T *const y = output_line(LINE_ARGUMENTS, block + i) + output_step * (long)lowest(begin, n);
        T value = value_before(LINE_ARGUMENTS, block + i, begin / size);
        if (n > SHORT) scan_run(x, y, n, value);
        else
            for (ulong k = 0; k < n; ++k) {
                const ulong at = IS_BACKWARD ? n - 1 - k : k;
                const T own = x[at], before = value;
                value = COMBINE(before, own);
                y[at] = IS_EXCLUSIVE ? before : value;
            }
        if (IS_EXCLUSIVE && begin == 0) y[IS_BACKWARD ? n - 1 : 0] = OF_NONE;
    }
}

#else

#define MOST 1024 /* lines of a block */
#define ROW 64    /* elements that are combined before they are combined with the rest, where that is rounded */
#define LINE_LOOP _Pragma("clang loop unroll(disable) vectorize_width(8) interleave_count(1)")
#pragma clang diagnostic ignored "-Wpass-failed"
#define X(i) x[IS_UNIT ? (long)(i) : (long)(i) * input_inner]
#define Y(i) y[IS_UNIT ? (long)(i) : (long)(i) * output_inner]

#define ROUNDS_SUM IS_REAL
#define ROUNDS_PRODUCT IS_REAL
#define ROUNDS_MIN 0
#define ROUNDS_MAX 0
#define ROUNDS_BIT_AND 0
#define ROUNDS_BIT_OR 0
#define ROUNDS_BIT_XOR 0
#define HAS_ROWS(n) (JOIN(ROUNDS_, OP_NAME) && (n) > ROW)

/* The values so far of each line, in rows of ROW elements and of ROW rows, so that rounding errors stay small: as tally. */
typedef struct tallies {
    T total[MOST], longer[MOST], row[MOST];
} tallies;

static inline void begin_all(tallies *t, const uint width)
{
    for (uint i = 0; i < width; ++i) t->total[i] = t->longer[i] = t->row[i] = NEUTRAL;
}

static inline void close_all(tallies *t, const uint width, const ulong count)
{
    for (uint i = 0; i < width; ++i) t->longer[i] = COMBINE(t->longer[i], t->row[i]);
    for (uint i = 0; i < width; ++i) t->row[i] = NEUTRAL;
    if (count % (ROW * ROW) != 0) return;
    for (uint i = 0; i < width; ++i) t->total[i] = COMBINE(t->total[i], t->longer[i]);
    for (uint i = 0; i < width; ++i) t->longer[i] = NEUTRAL;
}

ONCE void reduce_block(LINE_PARAMETERS, const ulong block, const uint width, const ulong begin, const ulong n)
{
    tallies t;
    global const T *x = input_line(LINE_ARGUMENTS, block) + input_step * (long)begin;
    global T *const value = value_of(LINE_ARGUMENTS, block, begin / size);
    begin_all(&t, width);
    for (ulong k = 0; k < n; x += input_step) {
        LINE_LOOP for (uint i = 0; i < width; ++i) {
            const T own = X(i);
            t.row[i] = COMBINE(t.row[i], own);
        }
        if (++k % ROW == 0 && HAS_ROWS(n)) close_all(&t, width, k);
    }
    for (uint i = 0; i < width; ++i) {
        const T rows = COMBINE(t.longer[i], t.row[i]);
        value[i] = COMBINE(t.total[i], rows);
    }
}

/* Scan n elements of each line from base[] on, in rows. */
static inline void scan_rows(LINE_PARAMETERS, global const T *x, global T *y, T *base, const uint width, const ulong n)
{
    tallies t;
    begin_all(&t, width);
    for (uint i = 0; i < width; ++i) t.total[i] = base[i];
    for (ulong k = 0; k < n; x += input_step, y += output_step) {
        LINE_LOOP for (uint i = 0; i < width; ++i) {
            const T own = X(i), before = t.row[i], row = COMBINE(before, own);
            const T shown = IS_EXCLUSIVE ? before : row;
            t.row[i] = row;
            Y(i) = COMBINE(base[i], shown);
        }
        if (++k % ROW > 0) continue;
        close_all(&t, width, k);
        for (uint i = 0; i < width; ++i) base[i] = COMBINE(t.total[i], t.longer[i]);
    }
}

ONCE void scan_block(LINE_PARAMETERS, const ulong block, const uint width, const ulong begin, const ulong n)
{
    T value[MOST];
    global const T *x = input_line(LINE_ARGUMENTS, block) + input_step * (long)begin;
    global T *const first = output_line(LINE_ARGUMENTS, block) + output_step * (long)begin, *y = first;
    for (uint i = 0; i < width; ++i)
        value[i] = begin > 0 ? value_before(LINE_ARGUMENTS, block + i, begin / size) : has_initial ? initial : NEUTRAL;
    if (HAS_ROWS(n)) scan_rows(LINE_ARGUMENTS, x, y, value, width, n);
    for (ulong k = 0; !HAS_ROWS(n) && k < n; ++k, x += input_step, y += output_step) {
        LINE_LOOP for (uint i = 0; i < width; ++i) {
            const T own = X(i), before = value[i], after = COMBINE(before, own);
            value[i] = after;
            Y(i) = IS_EXCLUSIVE ? before : after;
        }
    }
    y = first;
    for (uint i = 0; IS_EXCLUSIVE && begin == 0 && i < width; ++i) Y(i) = OF_NONE;
}

#endif

/* Launch groups of one item over the parts of all blocks, the blocks of the first part first. `span`: lines of a block. */
kernel __attribute__((reqd_work_group_size(1, 1, 1))) void scan_reduce_line_chunks(LINE_PARAMETERS, ulong span,
                                                                                   NDR_ND_RANGE(1))
{
    const ulong group = ndr_group_id(NDR_ND_ITEM(1), 0), blocks = lines / inner * ((inner + span - 1) / span);
    const ulong begin = min(count, group / blocks * size);
    uint width;
    const ulong block = find_block(group % blocks, inner, span, &width);
    reduce_block(LINE_ARGUMENTS, block, width, begin, min(size, count - begin));
}

kernel __attribute__((reqd_work_group_size(1, 1, 1))) void scan_line_chunks(LINE_PARAMETERS, ulong span, NDR_ND_RANGE(1))
{
    const ulong group = ndr_group_id(NDR_ND_ITEM(1), 0), blocks = lines / inner * ((inner + span - 1) / span);
    const ulong begin = min(count, group / blocks * size);
    uint width;
    const ulong block = find_block(group % blocks, inner, span, &width);
    scan_block(LINE_ARGUMENTS, block, width, begin, min(size, count - begin));
}
