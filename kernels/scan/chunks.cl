/* chunks.cl - scans on CPUs in one launch, with groups of one item, by chunks of the input.
 *
 * Each group takes the next chunk that no group has taken, stores its value for the others, combines the values of all
 * chunks before it, and scans it while it is in a cache. No group waits: a value that its group has not stored yet is
 * computed again. So memory is read once, and groups need no promise that others go on.
 *
 * Which elements are combined, and in which order, depends on `count` alone, not on which group does it: the same bits
 * on every run, with any number of threads. There are no barriers, so a CPU driver compiles a group to one plain loop;
 * a vector is scanned in its register.
 */
#include "once.clh"
#include "reduce/slot.clh"
#include "scan/run.clh"

/* ---- chunks, numbered in the direction of the scan ---- */

static inline ulong count_chunks(const scan *s) { return max((s->count + s->size - 1) / s->size, (ulong)1); }

static inline ulong begin_of(const scan *s, const ulong n)
{
    return (IS_BACKWARD ? count_chunks(s) - 1 - n : n) * s->size;
}

static inline ulong end_of(const scan *s, const ulong n) { return min(s->count, begin_of(s, n) + s->size); }

/* The first cut after `begin`, or `end` if that comes first. */
static inline ulong next_cut(const scan *s, const ulong begin, const ulong end)
{
    ulong place = begin + 1;
    if (SEGMENTS == 0) return end;
    if (SEGMENTS == 2) return min(end, begin - begin % s->length + s->length);
    while (place + 8 <= end && as_ulong(vload8(0, s->flags + place)) == 0) place += 8;
    while (place < end && s->flags[place] == 0) ++place;
    return place;
}

/* The last cut before `end`, or `begin` if that comes last. */
static inline ulong last_cut(const scan *s, const ulong begin, const ulong end)
{
    ulong place = end - 1;
    if (SEGMENTS == 0) return begin;
    if (SEGMENTS == 2) return max(begin, place - place % s->length);
    while (place >= begin + 8 && as_ulong(vload8(0, s->flags + place - 7)) == 0) place -= 8;
    while (place > begin && s->flags[place] == 0) --place;
    return place;
}

/* The value of a chunk, and whether a cut is in it. */
ONCE T reduce_part(const scan *s, const ulong n, bool *has_cut)
{
    const ulong begin = begin_of(s, n), end = end_of(s, n);
    const ulong from = IS_BACKWARD ? begin : last_cut(s, begin, end);
    const ulong to = IS_BACKWARD ? next_cut(s, begin, end) : end;
    *has_cut = IS_BACKWARD ? to < end || is_cut(s, end) : from > begin || is_cut(s, begin);
    return reduce_chunk(s->x, 0, from, to - from);
}

/* Scan a chunk, segment by segment. `carry` is the value of what comes before it. */
static inline void scan_chunk(const scan *s, const ulong n, T carry)
{
    ulong begin = begin_of(s, n), end = end_of(s, n);
    bool is_first = is_cut(s, IS_BACKWARD ? end : begin);
    if (is_first) carry = s->initial;
    while (begin < end) {
        const ulong at = IS_BACKWARD ? last_cut(s, begin, end) : begin;
        const ulong to = IS_BACKWARD ? end : next_cut(s, begin, end);
        scan_run(s->x + at, s->y + at, to - at, carry);
        if (IS_EXCLUSIVE && is_first) s->y[IS_BACKWARD ? to - 1 : at] = s->of_none;
        carry = s->initial;
        is_first = true;
        if (IS_BACKWARD) end = at;
        else begin = to;
    }
}

/* ---- values of chunks ---- */

/* What the groups share: the values of chunks, and for each a word whose upper half is the number of the launch that has
 * stored it. Without it there is one group. */
typedef struct board {
    global uint *workspace, *slot;
    volatile global ulong *words;
    uint number; /* of this launch */
} board;

/* The next chunk that no group has taken; `chunks` or more: there is none. The last of these zeroes the counter. */
static inline ulong take_chunk(const board *b, const ulong turn, const ulong chunks, const ulong groups)
{
    if (!b->slot) return turn;
    const ulong n = take_number(b->slot + NDR_SLOT_TAKEN);
    if (n + 1 == chunks + groups) clear_number(b->slot + NDR_SLOT_TAKEN);
    return n;
}

/* Before the group writes to the chunk, as the output may be the input. */
static inline void store_part(const board *b, const ulong chunks, const ulong n, const T value, const bool has_cut)
{
    values_in(b->workspace)[n] = value;
    cuts_in(b->workspace, chunks)[n] = has_cut;
    NDR_FENCE_DEVICE_;
    b->words[n] = (ulong)b->number << 32;
    NDR_FENCE_DEVICE_;
}

static inline bool is_stored(const board *b, const ulong n)
{
    NDR_FENCE_DEVICE_;
    const bool is = b->words[n] >> 32 == b->number;
    NDR_FENCE_DEVICE_;
    return is;
}

/* The value of a chunk of another group. What is computed here counts if that group has not stored it meanwhile, and so
 * has not written to the chunk. */
static inline T find_part(const board *b, const scan *s, const ulong chunks, const ulong n, bool *has_cut)
{
    if (!is_stored(b, n)) {
        const T value = reduce_part(s, n, has_cut);
        if (!is_stored(b, n)) return value;
    }
    *has_cut = cuts_in(b->workspace, chunks)[n];
    return values_in(b->workspace)[n];
}

/* ---- the kernel ---- */

ONCE void scan_own_chunks(const scan *s, const board *b, const ulong groups)
{
    const ulong chunks = count_chunks(s);
    ulong known = 0; /* chunks whose values are in `before` */
    tally before;
    begin_tally(&before, s->initial);
    for (ulong turn = 0, n; (n = take_chunk(b, turn, chunks, groups)) < chunks; ++turn) {
        T value = NEUTRAL;
        bool has_cut = false;
        if (n + 1 < chunks) {
            value = reduce_part(s, n, &has_cut);
            if (b->slot) store_part(b, chunks, n, value, has_cut);
        }
        for (; known < n; ++known) {
            bool is_other_cut;
            const T other = find_part(b, s, chunks, known, &is_other_cut);
            add_part(&before, other, is_other_cut, s->initial);
        }
        scan_chunk(s, n, tally_value(&before));
        add_part(&before, value, has_cut, s->initial);
        ++known;
    }
}

kernel __attribute__((reqd_work_group_size(1, 1, 1))) void scan_chunks(PARAMETERS, uint slot, global ulong *words,
                                                                       uint number, NDR_ND_RANGE(1))
{
    const ndr_group g = ndr_get_group(NDR_ND_ITEM(1));
    const scan s = SCAN_OF_PARAMETERS;
    const board b = { workspace, open_slot(g, workspace, slot), words, number };
    scan_own_chunks(&s, &b, ndr_group_range(g, 0));
}
