/* trace_table.c - the table of a timeline: how often each command and region ran, and how long. */
#include "trace.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The times of a kind. */
typedef struct tally {
    int64_t *times;
    size_t count, room;
    int64_t total_ns, bytes, flops;
} tally;

typedef struct counting {
    const timeline *t;
    tally *tallies;       /* of each kind */
    int64_t *command_ns;  /* of each command on the device; -1: unknown */
    size_t timed, called; /* commands */
    bool failed;          /* there is no memory */
} counting;

static int64_t argument(const timeline *t, const slice *s, const char *key)
{
    return json_integer_value(json_object_get(json_array_get(t->details, s->detail), key));
}

static void add(counting *c, const slice *s, int64_t ns)
{
    tally *const to = &c->tallies[s->kind];
    if (to->count == to->room) {
        const size_t room = to->room ? 2 * to->room : 16;
        int64_t *const larger = realloc(to->times, room * sizeof *larger);
        if (!larger) {
            c->failed = true;
            return;
        }
        to->times = larger;
        to->room = room;
    }
    to->times[to->count++] = ns;
    to->total_ns += ns;
    to->bytes += argument(c->t, s, "bytes");
    to->flops += argument(c->t, s, "flops");
}

static void count_commands(counting *c, const track *r)
{
    for (const slice *s = r->slices; s < r->slices + r->count; ++s) {
        if (s->command && c->command_ns[s->command] < 0) ++c->timed;
        c->command_ns[s->command] = s->time_ns;
        add(c, s, s->time_ns);
    }
}

/* ---- regions ---- */

typedef struct region {
    const slice *slice;
    int64_t total_ns;
    size_t commands;
    bool is_untimed;
} region;

static void leave(counting *c, const region *r, region *outer)
{
    if (r->commands && !r->is_untimed) add(c, r->slice, r->total_ns);
    if (!outer) return;
    outer->total_ns += r->total_ns;
    outer->commands += r->commands;
    outer->is_untimed |= r->is_untimed;
}

/* A thread's regions contain each other, and the calls that enqueued commands. */
static void count_regions(counting *c, const track *r, region *stack)
{
    size_t depth = 0;
    for (const slice *s = r->slices; s <= r->slices + r->count; ++s) {
        const bool is_end = s == r->slices + r->count;
        while (depth && (is_end || s->start_ns >= stack[depth - 1].slice->start_ns + stack[depth - 1].slice->time_ns)) {
            --depth;
            leave(c, &stack[depth], depth ? &stack[depth - 1] : NULL);
        }
        if (is_end) return;
        const char *const category = kind_category(c->t, s);
        if (strcmp(category, "region") == 0) stack[depth++] = (region){ .slice = s };
        if (strcmp(category, "enqueue") != 0) continue;
        ++c->called;
        if (!depth) continue;
        const int64_t ns = c->command_ns[s->command];
        ++stack[depth - 1].commands;
        if (ns < 0) stack[depth - 1].is_untimed = true;
        else stack[depth - 1].total_ns += ns;
    }
}

/* ---- the table ---- */

static bool is_region(const char *category) { return strcmp(category, "region") == 0; }

static json_t *make_row(tally *of, const char *category, const char *name, int64_t whole_ns)
{
    qsort(of->times, of->count, sizeof *of->times, compare_times);
    return json_pack("{ss ss sI sI sI sI sI sf sI sI}", "name", name, "category", category, "count",
                     (json_int_t)of->count, "min_ns", (json_int_t)of->times[0], "median_ns",
                     (json_int_t)of->times[(of->count - 1) / 2], "max_ns", (json_int_t)of->times[of->count - 1],
                     "total_ns", (json_int_t)of->total_ns, "share",
                     whole_ns ? (double)of->total_ns / (double)whole_ns : 0.0, "bytes", (json_int_t)of->bytes, "flops",
                     (json_int_t)of->flops);
}

static int64_t total_of(const json_t *row) { return json_integer_value(json_object_get(row, "total_ns")); }

/* Where a row belongs in a list by total. */
static size_t place_of(const json_t *list, const json_t *row)
{
    size_t at = 0;
    while (at < json_array_size(list) && total_of(json_array_get(list, at)) >= total_of(row)) ++at;
    return at;
}

static json_t *make_table(counting *c)
{
    int64_t whole_ns = 0;
    json_t *const commands = json_array(), *const regions = json_array();
    for (size_t pass = 0; pass < 2; ++pass)
        for (size_t kind = 0; kind < json_array_size(c->t->kinds); ++kind) {
            const slice any = { .kind = (uint32_t)kind };
            const char *const category = kind_category(c->t, &any);
            tally *const of = &c->tallies[kind];
            if (pass == 0 && !is_region(category)) whole_ns += of->total_ns;
            if (pass == 0 || !of->count) continue;
            json_t *const row = make_row(of, category, kind_name(c->t, &any), whole_ns);
            json_t *const list = is_region(category) ? regions : commands;
            c->failed |= json_array_insert_new(list, place_of(list, row), row) != 0;
        }
    const size_t untimed = c->called > c->timed ? c->called - c->timed : 0;
    return json_pack("{so so sI sI}", "commands", commands, "regions", regions, "timed", (json_int_t)c->timed,
                     "untimed", (json_int_t)untimed);
}

static void count_all(counting *c)
{
    const timeline *const t = c->t;
    size_t most = 0;
    for (size_t i = 0; i <= t->commands; ++i) c->command_ns[i] = -1;
    for (const track *r = t->tracks; r < t->tracks + t->track_count; ++r) {
        if (r->group != HOST) count_commands(c, r);
        else if (r->count > most) most = r->count;
    }
    c->command_ns[0] = -1; /* of slices without a number */
    region *const stack = malloc((most + 1) * sizeof *stack);
    c->failed |= !stack;
    for (const track *r = t->tracks; stack && r < t->tracks + t->track_count; ++r)
        if (r->group == HOST) count_regions(c, r, stack);
    free(stack);
}

json_t *table_make(const timeline *t)
{
    json_t *table = NULL;
    const size_t kinds = json_array_size(t->kinds);
    counting c = { .t = t,
                   .tallies = calloc(kinds + 1, sizeof *c.tallies),
                   .command_ns = malloc(((size_t)t->commands + 1) * sizeof *c.command_ns) };
    if (c.tallies && c.command_ns) {
        count_all(&c);
        table = make_table(&c);
    }
    for (size_t i = 0; c.tallies && i < kinds; ++i) free(c.tallies[i].times);
    free(c.tallies);
    free(c.command_ns);
    if (!c.failed) return table;
    json_decref(table);
    return NULL;
}

/* ---- as text ---- */

typedef struct cell {
    char text[32];
} cell;

static cell time_cell(const json_t *row, const char *key)
{
    cell out;
    with_prefix(out.text, (double)json_integer_value(json_object_get(row, key)) * 1e-9, "s");
    return out;
}

/* Bytes or operations of a ns are billions of a second. */
static cell rate_cell(const json_t *row, const char *key)
{
    cell out = { "-" };
    const double amount = (double)json_integer_value(json_object_get(row, key));
    if (amount > 0 && total_of(row) > 0) snprintf(out.text, sizeof out.text, "%.3g", amount / (double)total_of(row));
    return out;
}

static void print_rows(const json_t *rows, const char *title, FILE *to)
{
    size_t i;
    json_t *row;
    if (json_array_size(rows))
        fprintf(to, "%-36s %9s %9s %9s %9s %9s %7s %8s %8s\n", title, "count", "min", "median", "max", "total",
                "share %", "GB/s", "GFLOP/s");
    json_array_foreach((json_t *)rows, i, row)
        fprintf(to, "%-36.36s %9" JSON_INTEGER_FORMAT " %9s %9s %9s %9s %7.1f %8s %8s\n",
                json_string_value(json_object_get(row, "name")), json_integer_value(json_object_get(row, "count")),
                time_cell(row, "min_ns").text, time_cell(row, "median_ns").text, time_cell(row, "max_ns").text,
                time_cell(row, "total_ns").text, 100 * json_real_value(json_object_get(row, "share")),
                rate_cell(row, "bytes").text, rate_cell(row, "flops").text);
}

void table_print(const json_t *table, FILE *to)
{
    print_rows(json_object_get(table, "commands"), "command", to);
    print_rows(json_object_get(table, "regions"), "operation or region", to);
}
