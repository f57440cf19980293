/* turns.h - which chunks a group takes, where groups take them in turn.
 *
 * A turn is a run of neighbouring chunks, which are read faster than single ones. The first runs are long: half of all
 * chunks, in two turns for each group. Then come half of what is left, and so on, down to single chunks at the end: so
 * no group waits long for a slow one. This is "factoring" (Hummel, Schonberg and Flynn, 1992). */
#ifndef NDR_DETAIL_TURNS_H
#define NDR_DETAIL_TURNS_H

typedef struct ndr_turn_ {
    ulong begin, end; /* begin >= `chunks`: no chunk is left */
} ndr_turn_;

/* Turn `number`, from 0, of a launch of `groups` over `chunks`. */
static inline ndr_turn_ ndr_turn_of_(ulong number, const ulong chunks, const ulong groups)
{
    const ulong turns = 2 * groups; /* with runs of one length */
    ulong begin = 0, run = chunks / (2 * turns);
    while (run > 1 && number >= turns) {
        number -= turns;
        begin += turns * run;
        run = (chunks - begin) / (2 * turns);
    }
    run = max(run, (ulong)1);
    ndr_turn_ turn;
    turn.begin = begin + number * run;
    turn.end = min(turn.begin + run, chunks);
    return turn;
}

#endif
