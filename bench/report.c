/* report.c - the measurements beside the goals, as a table and as CSV. */
#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const unit gflops = { "GFLOP/s", 1e9, false }, teraflops = { "TFLOP/s", 1e12, false },
           gigabytes = { "GB/s", 1e9, false }, microseconds = { "us", 1e-6, true }, seconds_each = { "s", 1, true },
           programs_each = { "", 1, true };

static FILE *csv;
static size_t missed;

/* ---- figures ---- */

static double in_unit(const bench_row *row, double seconds)
{
    return row->unit->is_time ? seconds / row->amount / row->unit->scale : row->amount / seconds / row->unit->scale;
}

static bool reaches(goal_kind kind, double value, double limit)
{
    return kind == RATE_AT_LEAST ? value >= limit : value <= limit;
}

/* Both the median and the p90 have to reach the goal. */
static const char *mark(const bench_result *result, const measurement *theirs, const bench_goal *goal,
                        const comparison *c)
{
    const measurement *ours = &result->of[0];
    const size_t max_launches = result->row->max_launches;
    if (!ours->is_correct || (theirs && !theirs->is_correct)) return "WRONG";
    if (goal->kind == NO_GOAL) return "";
    if (max_launches && ours->launches > max_launches) return "SHORT";
    const double median = goal->kind == VALUE_AT_MOST ? c->ours : c->median;
    const double p90 = goal->kind == VALUE_AT_MOST ? c->ours : c->p90;
    if (reaches(goal->kind, median, goal->aim) && reaches(goal->kind, p90, goal->aim)) return "aim";
    return reaches(goal->kind, median, goal->pass) && reaches(goal->kind, p90, goal->pass) ? "pass" : "SHORT";
}

/* NULL: the rival was not found at build time, or there is none. */
static const measurement *find_rival(const bench_result *result, const row_rival *rival)
{
    for (size_t i = 1; rival->name && i < result->count; ++i)
        if (strcmp(result->of[i].who->name, rival->name) == 0) return &result->of[i];
    return NULL;
}

comparison compare(const bench_result *result, const row_rival *rival)
{
    const measurement *ours = &result->of[0], *theirs = find_rival(result, rival);
    comparison c = { .ours = in_unit(result->row, quantile(ours->seconds, ours->rounds, 0.5)) };
    if (theirs) {
        const size_t rounds = ours->rounds < theirs->rounds ? ours->rounds : theirs->rounds;
        const bool of_times = rival->goal.kind == TIME_AT_MOST;
        double ratios[MAX_ROUNDS];
        for (size_t i = 0; i < rounds; ++i) {
            const double faster = theirs->seconds[i] / ours->seconds[i];
            ratios[i] = of_times ? 1 / faster : faster;
        }
        c.theirs = in_unit(result->row, quantile(theirs->seconds, theirs->rounds, 0.5));
        c.median = quantile(ratios, rounds, 0.5);
        c.quarter = quantile(ratios, rounds, 0.25);
        c.three_quarters = quantile(ratios, rounds, 0.75);
        /* The 90th percentile of rates is the 10th of times. */
        const double faster = quantile(theirs->seconds, rounds, 0.1) / quantile(ours->seconds, rounds, 0.1);
        c.p90 = of_times ? 1 / faster : faster;
    }
    c.mark = mark(result, theirs, &rival->goal, &c);
    return c;
}

/* ---- lines ---- */

enum { CELL = 16 };

/* The cells of a line that may be empty, in the CSV too. */
typedef struct line {
    char theirs[CELL], median[CELL], quarter[CELL], three_quarters[CELL], p90[CELL], pass[CELL], aim[CELL];
} line;

/* Three significant digits. */
static void write_number(char text[CELL], double value)
{
    const int digits = value == 0 ? 0 : value >= 100 ? 0 : value >= 10 ? 1 : value >= 1 ? 2 : value >= 0.1 ? 3 : 4;
    snprintf(text, CELL, "%.*f", digits, value);
}

static line write_line(const bench_goal *goal, const comparison *c)
{
    line text;
    memset(&text, 0, sizeof text);
    if (c->theirs > 0) {
        write_number(text.theirs, c->theirs);
        write_number(text.median, c->median);
        write_number(text.quarter, c->quarter);
        write_number(text.three_quarters, c->three_quarters);
        write_number(text.p90, c->p90);
    }
    if (goal->kind != NO_GOAL) {
        write_number(text.pass, goal->pass);
        write_number(text.aim, goal->aim);
    }
    return text;
}

static const char *const kinds[] = {
    [NO_GOAL] = "rate", [RATE_AT_LEAST] = "rate", [TIME_AT_MOST] = "time", [VALUE_AT_MOST] = "value"
};
static const char *const signs[] = {
    [NO_GOAL] = "", [RATE_AT_LEAST] = ">=", [TIME_AT_MOST] = "<=", [VALUE_AT_MOST] = "<="
};

static void report_line(const bench_result *result, const row_rival *rival)
{
    const bench_row *row = result->row;
    const goal_kind kind = rival->goal.kind;
    const comparison c = compare(result, rival);
    const line text = write_line(&rival->goal, &c);
    const char *who = result->of[0].who->name, *against = rival->name ? rival->name : "";
    char ours[CELL];
    write_number(ours, c.ours);
    printf("%-41s %8s %-7s  %-16s %8s  %6s %6s%s%-6s %6s   %2s%-5s %2s%-5s %s\n", row->name, ours, row->unit->name,
           against, text.theirs, text.median, text.quarter, c.theirs > 0 ? "-" : " ", text.three_quarters, text.p90,
           signs[kind], text.pass, signs[kind], text.aim, c.mark);
    if (csv)
        fprintf(csv, "%s,%s,%s,%s,%s,%s,%s,%s,%s,%s,%s,%s,%s,%s,%zu,%zu,%.4g\n", row->name, row->unit->name, who, ours,
                against, text.theirs, kinds[kind], text.median, text.quarter, text.three_quarters, text.p90, text.pass,
                text.aim, c.mark, result->of[0].rounds, result->of[0].launches, row->flop_per_byte);
    if (strcmp(c.mark, "SHORT") == 0 || strcmp(c.mark, "WRONG") == 0) ++missed;
}

/* ---- reporting ---- */

bool report_to_csv(const char *path)
{
    csv = fopen(path, "w");
    if (csv)
        fprintf(csv, "work,unit,who,value,against,their_value,ratio_of,median,q1,q3,p90,pass,aim,mark,rounds,launches,"
                     "flop_per_byte\n");
    return csv != NULL;
}

void report_head(void)
{
    printf("\n%-41s %8s %-7s  %-16s %8s  %6s %6s-%-6s %6s   %-7s %-7s %s\n", "work", "median", "", "against", "median",
           "ratio", "q1", "q3", "p90", "pass", "aim", "mark");
}

void report(const bench_result *result)
{
    size_t lines = 0;
    for (const row_rival *r = result->row->rivals; r->name || r->goal.kind != NO_GOAL; ++r) {
        if (r->name && !find_rival(result, r)) continue;
        report_line(result, r);
        ++lines;
    }
    if (lines == 0) report_line(result, &(row_rival){ .name = NULL });
    fflush(stdout);
    if (csv) fflush(csv);
}

size_t missed_goals(void) { return missed; }
