/* chunks.cl - scans on CPUs, with groups of one item, in two passes over chunks of the input.
 *
 *             | direct chunks | chunk | chunk | chunk | chunk | chunk | chunk |
 *   pass 1    | group 0 scans |   other groups store values   | nothing       |
 *   pass 2    |               | group 0 scans | group 1 scans | group 2 scans |
 *
 * A group combines the values of the chunks before its first one, and scans from there on, chunk by chunk. Group 0 scans
 * some chunks in the first pass, which takes it as long as the other groups take for their values; each is still in a
 * cache after its value is computed. So a single group needs one pass.
 *
 * Which elements are combined, and in which order, depends on `count` alone, not on which group does it: the same bits
 * on every run, with any number of threads. There are no barriers, so a CPU driver compiles a group to one plain loop;
 * a vector is scanned in its register.
 */
#include "once.clh"
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

/* ---- kernels ---- */

/* Group 0 scans the direct chunks in the time that the others take for their values: a scan takes as long as three. */
static inline ulong count_direct(const ulong groups, const ulong chunks)
{
    return groups == 1 ? chunks : max(chunks / (3 * groups + 1), (ulong)1);
}

/* The first of the chunks [0, chunks) that a group takes. */
static inline ulong share_begin(const ulong group, const ulong groups, const ulong chunks)
{
    return chunks / groups * group + min(group, chunks % groups);
}

/* The first chunk of the last group of the second pass. No other group needs values from there on. */
static inline ulong last_share(const ulong direct, const ulong groups, const ulong chunks)
{
    return direct + share_begin(groups - 1, groups, chunks - direct);
}

/* Scan chunks [first, end). The workspace, if there is one, gives the values of those before `known`; `stores`: it gets
 * the values of these. */
ONCE void scan_chunks(const scan *s, global uint *workspace, const ulong first, const ulong end,
                               const ulong known, const bool stores)
{
    const ulong chunks = count_chunks(s);
    tally before;
    begin_tally(&before, s->initial);
    for (ulong n = 0; n < end; ++n) {
        T value = NEUTRAL;
        bool has_cut = false;
        if (n < known) {
            value = values_in(workspace)[n];
            has_cut = cuts_in(workspace, chunks)[n];
        } else if (n + 1 < chunks) {
            value = reduce_part(s, n, &has_cut);
        }
        if (n >= first) scan_chunk(s, n, tally_value(&before));
        add_part(&before, value, has_cut, s->initial);
        if (stores) {
            values_in(workspace)[n] = value;
            cuts_in(workspace, chunks)[n] = has_cut;
        }
    }
}

/* The first pass. */
kernel __attribute__((reqd_work_group_size(1, 1, 1))) void scan_first_chunks(PARAMETERS, NDR_ND_RANGE(1))
{
    const ndr_group g = ndr_get_group(NDR_ND_ITEM(1));
    const ulong groups = ndr_group_range(g, 0), group = ndr_group_id(g, 0);
    const scan s = SCAN_OF_PARAMETERS;
    const ulong chunks = count_chunks(&s), direct = count_direct(groups, chunks);
    if (group == 0) {
        scan_chunks(&s, workspace, 0, direct, 0, workspace != 0);
        return;
    }
    const ulong needed = last_share(direct, groups, chunks) - direct;
    const ulong end = direct + share_begin(group, groups - 1, needed);
    for (ulong n = direct + share_begin(group - 1, groups - 1, needed); n < end; ++n) {
        bool has_cut;
        values_in(workspace)[n] = reduce_part(&s, n, &has_cut);
        cuts_in(workspace, chunks)[n] = has_cut;
    }
}

/* The second pass. The last group computes the values of its own chunks. */
kernel __attribute__((reqd_work_group_size(1, 1, 1))) void scan_other_chunks(PARAMETERS, NDR_ND_RANGE(1))
{
    const ndr_group g = ndr_get_group(NDR_ND_ITEM(1));
    const ulong groups = ndr_group_range(g, 0), group = ndr_group_id(g, 0);
    const scan s = SCAN_OF_PARAMETERS;
    const ulong chunks = count_chunks(&s), direct = count_direct(groups, chunks);
    scan_chunks(&s, workspace, direct + share_begin(group, groups, chunks - direct),
                direct + share_begin(group + 1, groups, chunks - direct), last_share(direct, groups, chunks), false);
}
