/* chunks.cl - scans on CPUs, with groups of one item, in two passes over chunks of the input.
 *
 *             | direct chunks | chunk | chunk | chunk | chunk | chunk | chunk |
 *   pass 1    | group 0 scans |  other groups store partials  | nothing       |
 *   pass 2    |               | group 0 scans | group 1 scans | group 2 scans |
 *
 * A partial is a chunk's elements combined. A group combines the partials before its first chunk, and scans from there
 * on, chunk by chunk. Group 0 scans some chunks in the first pass, which takes it as long as the other groups take for
 * their partials; each is still in a cache after its partial is computed. So a single group needs one pass.
 *
 * Which elements are combined, and in which order, depends on `count` alone, not on which group does it: the same bits
 * on every run, with any number of threads. There are no barriers, so a CPU driver compiles a group to one plain loop;
 * a vector is scanned in its register.
 */
#include "scan/scan.clh"

#define LANES 16
#include "vectors.clh"

/* The vector moved by 1 to 8 lanes in the direction of the scan; `none` takes the free lanes. */
#if IS_BACKWARD
#define MOVE_1(v, none) (V)((v).s12345678, (v).s9abc, (v).sde, (v).sf, none)
#define MOVE_2(v, none) (V)((v).s23456789, (v).sabcd, (v).sef, none, none)
#define MOVE_4(v, none) (V)((v).s456789ab, (v).scdef, none, none, none, none)
#define MOVE_8(v, none) (V)((v).s89abcdef, none, none, none, none, none, none, none, none)
#define LAST_LANE(v) (v).s0
#else
#define MOVE_1(v, none) (V)(none, (v).s01234567, (v).s89ab, (v).scd, (v).se)
#define MOVE_2(v, none) (V)(none, none, (v).s01234567, (v).s89ab, (v).scd)
#define MOVE_4(v, none) (V)(none, none, none, none, (v).s01234567, (v).s89ab)
#define MOVE_8(v, none) (V)(none, none, none, none, none, none, none, none, (v).s01234567)
#define LAST_LANE(v) (v).sf
#endif

/* A value so far of at most 64^3 and more parts, in rows of 64 and of 64 rows, so that rounding errors stay small. */
typedef struct tally {
    T total, longer, row;
    ulong count; /* of parts */
} tally;

static inline tally tally_from(const T carry)
{
    tally t;
    t.total = carry;
    t.longer = t.row = NEUTRAL;
    t.count = 0;
    return t;
}

/* The next 64 parts begin: close the rows that are full. */
static inline void close_rows(tally *t)
{
    t->longer = COMBINE(t->longer, t->row);
    t->row = NEUTRAL;
    if (t->count % (64 * 64) == 0) {
        t->total = COMBINE(t->total, t->longer);
        t->longer = NEUTRAL;
    }
}

static inline T tally_value(const tally t)
{
    const T rows = COMBINE(t.longer, t.row);
    return COMBINE(t.total, rows);
}

static inline V scan_lanes(V v)
{
    const T none = NEUTRAL;
    V moved = MOVE_1(v, none);
    v = COMBINE(moved, v);
    moved = MOVE_2(v, none);
    v = COMBINE(moved, v);
    moved = MOVE_4(v, none);
    v = COMBINE(moved, v);
    moved = MOVE_8(v, none);
    return COMBINE(moved, v);
}

/* Scan x[0..n) to y from `carry` on. y may be x. */
static inline void scan_run(global const T *x, global T *y, const ulong n, const T carry)
{
    const T none = NEUTRAL;
    const ulong vectors = n / LANES;
    tally t = tally_from(carry);
    while (t.count < vectors) {
        const ulong end = min(vectors, t.count + 64);
        const V base = (V)(tally_value(t));
        V row = (V)(none);
        for (; t.count < end; ++t.count) {
            const ulong at = IS_BACKWARD ? n - (t.count + 1) * LANES : t.count * LANES;
            const V own = scan_lanes(AT(global const, 0, x + at));
#if IS_EXCLUSIVE
            const V shown = MOVE_1(own, none), in_row = COMBINE(row, shown);
#else
            const V in_row = COMBINE(row, own);
#endif
            const V last = (V)(LAST_LANE(own));
            AT(global, 0, y + at) = COMBINE(base, in_row);
            row = COMBINE(row, last);
        }
        t.row = row.s0;
        close_rows(&t);
    }
    T value = tally_value(t);
    for (ulong i = vectors * LANES; i < n; ++i) {
        const ulong at = IS_BACKWARD ? n - 1 - i : i;
        const T own = x[at], before = value;
        value = COMBINE(before, own);
        y[at] = IS_EXCLUSIVE ? before : value;
    }
}

/* ---- the value of a chunk ---- */

#define ACCUMULATORS 8
#define STEP (LANES * ACCUMULATORS)

/* Prefetch lines of a STEP of elements at NDR_FETCH_BYTES_ behind x; addresses past the end are harmless. */
static inline void fetch_ahead(global const T *x)
{
#if FETCH_AHEAD
    global const char *const far = (global const char *)x + NDR_FETCH_BYTES_;
#pragma unroll
    for (uint byte = 0; byte < STEP * sizeof(T); byte += NDR_FETCH_EVERY_) FETCH(far + byte, 0, 2);
#endif
    (void)x;
}

/* Combine x[0..n) in rows of at most 64 vectors. */
static inline T reduce_run(global const T *x, const ulong n)
{
    const T none = NEUTRAL;
    V total[ACCUMULATORS];
#pragma unroll
    for (uint j = 0; j < ACCUMULATORS; ++j) total[j] = (V)(none);
    ulong i = 0;
    while (i + STEP <= n) {
        const ulong end = min(n / STEP * STEP, i + 64 * STEP);
        V row[ACCUMULATORS];
#pragma unroll
        for (uint j = 0; j < ACCUMULATORS; ++j) row[j] = (V)(none);
        for (; i < end; i += STEP) {
            fetch_ahead(x + i);
#pragma unroll
            for (uint j = 0; j < ACCUMULATORS; ++j) {
                const V v = AT(global const, j, x + i);
                row[j] = COMBINE(row[j], v);
            }
        }
#pragma unroll
        for (uint j = 0; j < ACCUMULATORS; ++j) total[j] = COMBINE(total[j], row[j]);
    }
#pragma unroll
    for (uint width = ACCUMULATORS / 2; width > 0; width /= 2)
#pragma unroll
        for (uint j = 0; j < width; ++j) total[j] = COMBINE(total[j], total[j + width]);
    const V lanes = scan_lanes(total[0]);
    T value = LAST_LANE(lanes);
    for (; i < n; ++i) value = COMBINE(value, x[i]);
    return value;
}

/* ---- chunks ---- */

/* What is the same for all chunks. Chunks are numbered in the direction of the scan. */
typedef struct scan {
    global const T *input;
    global T *output;
    segments of;
    start from;
    ulong chunk, chunks;
} scan;

static inline scan scan_of(global const T *input, global T *output, const segments of, const start from,
                           const ulong chunk)
{
    scan s;
    s.input = input;
    s.output = output;
    s.of = of;
    s.from = from;
    s.chunk = chunk;
    s.chunks = max((of.count + chunk - 1) / chunk, (ulong)1);
    return s;
}

static inline ulong begin_of(const scan s, const ulong n)
{
    return (IS_BACKWARD ? s.chunks - 1 - n : n) * s.chunk;
}

static inline ulong end_of(const scan s, const ulong n)
{
    return min(s.of.count, begin_of(s, n) + s.chunk);
}

/* What a chunk passes on to the next one: the value of its elements from the last cut on, and whether there is one. A
 * cut at the place where the next one begins is that one's. */
typedef struct partial {
    T value;
    bool is_closed;
} partial;

static inline partial reduce_partial(const scan s, const ulong n)
{
    const ulong begin = begin_of(s, n), end = end_of(s, n);
    const ulong from = IS_BACKWARD ? begin : last_cut(s.of, begin, end);
    const ulong to = IS_BACKWARD ? next_cut(s.of, begin, end) : end;
    partial p;
    p.value = reduce_run(s.input + from, to - from);
    p.is_closed = IS_BACKWARD ? to < end || is_cut(s.of, end) : from > begin || is_cut(s.of, begin);
    return p;
}

/* Scan a chunk, segment by segment. `carry` is the value of what comes before it. */
static inline void scan_chunk(const scan s, const ulong n, T carry)
{
    ulong begin = begin_of(s, n), end = end_of(s, n);
    bool is_first = is_cut(s.of, IS_BACKWARD ? end : begin);
    if (is_first) carry = s.from.carry;
    while (begin < end) {
        const ulong at = IS_BACKWARD ? last_cut(s.of, begin, end) : begin;
        const ulong to = IS_BACKWARD ? end : next_cut(s.of, begin, end);
        scan_run(s.input + at, s.output + at, to - at, carry);
        if (IS_EXCLUSIVE && is_first) s.output[IS_BACKWARD ? to - 1 : at] = s.from.of_none;
        carry = s.from.carry;
        is_first = true;
        if (IS_BACKWARD) end = at;
        else begin = to;
    }
}

static inline void add_partial(tally *t, const partial p, const T carry)
{
    if (p.is_closed) {
        t->total = carry;
        t->longer = t->row = NEUTRAL;
    }
    t->row = COMBINE(t->row, p.value);
    if (++t->count % 64 == 0) close_rows(t);
}

static inline global uchar *closed_in(global uint *workspace, const ulong chunks)
{
    return (global uchar *)(partials_in(workspace) + chunks);
}

static inline void store_partial(global uint *workspace, const ulong chunks, const ulong n, const partial p)
{
    partials_in(workspace)[n] = p.value;
    closed_in(workspace, chunks)[n] = p.is_closed;
}

static inline partial load_partial(global uint *workspace, const ulong chunks, const ulong n)
{
    partial p;
    p.value = partials_in(workspace)[n];
    p.is_closed = closed_in(workspace, chunks)[n];
    return p;
}

/* ---- kernels ---- */

/* The first of the chunks [0, chunks) that a group takes. */
static inline ulong share_begin(const ulong group, const ulong groups, const ulong chunks)
{
    return chunks / groups * group + min(group, chunks % groups);
}

/* The first chunk of the last group of the second pass. No other group needs partials from there on. */
static inline ulong last_share(const ulong direct, const ulong groups, const ulong chunks)
{
    return direct + share_begin(groups - 1, groups, chunks - direct);
}

/* The first pass. `workspace` NULL: one group scans all chunks, as `direct` says. */
kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
scan_first_chunks(global const T *input, ulong offset, ulong count, ulong chunk, ulong direct,
                  global const uchar *flags, ulong flags_offset, ulong length, uint has_initial, ulong initial,
                  global uint *workspace, global T *output, ulong output_offset, NDR_ND_RANGE(1))
{
    const ndr_group g = ndr_get_group(NDR_ND_ITEM(1));
    const ulong groups = ndr_group_range(g, 0), group = ndr_group_id(g, 0);
    const scan s = scan_of(input + offset, output + output_offset, segments_of(flags, flags_offset, length, count),
                           start_of(has_initial, initial), chunk);
    if (group == 0) {
        tally before = tally_from(s.from.carry);
        for (ulong n = 0; n < direct; ++n) {
            partial p;
            if (n + 1 < s.chunks) p = reduce_partial(s, n);
            scan_chunk(s, n, tally_value(before));
            if (n + 1 == s.chunks) break;
            add_partial(&before, p, s.from.carry);
            if (workspace) store_partial(workspace, s.chunks, n, p);
        }
    } else {
        const ulong reduced = last_share(direct, groups, s.chunks) - direct;
        const ulong end = direct + share_begin(group, groups - 1, reduced);
        for (ulong n = direct + share_begin(group - 1, groups - 1, reduced); n < end; ++n)
            store_partial(workspace, s.chunks, n, reduce_partial(s, n));
    }
}

/* The second pass. The last group computes the partials of its own chunks. */
kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
scan_other_chunks(global const T *input, ulong offset, ulong count, ulong chunk, ulong direct,
                  global const uchar *flags, ulong flags_offset, ulong length, uint has_initial, ulong initial,
                  global uint *workspace, global T *output, ulong output_offset, NDR_ND_RANGE(1))
{
    const ndr_group g = ndr_get_group(NDR_ND_ITEM(1));
    const ulong groups = ndr_group_range(g, 0), group = ndr_group_id(g, 0);
    const scan s = scan_of(input + offset, output + output_offset, segments_of(flags, flags_offset, length, count),
                           start_of(has_initial, initial), chunk);
    const ulong end = direct + share_begin(group + 1, groups, s.chunks - direct);
    const ulong first = direct + share_begin(group, groups, s.chunks - direct);
    const ulong reduced = last_share(direct, groups, s.chunks);
    tally before = tally_from(s.from.carry);
    for (ulong n = 0; n < first; ++n) add_partial(&before, load_partial(workspace, s.chunks, n), s.from.carry);
    for (ulong n = first; n < end; ++n) {
        const partial p = n < reduced ? load_partial(workspace, s.chunks, n) : reduce_partial(s, n);
        scan_chunk(s, n, tally_value(before));
        add_partial(&before, p, s.from.carry);
    }
}
