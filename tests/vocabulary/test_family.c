/* test_family.c - random kernels of several group functions, compared with a model on the host.
 *
 * A compiler that turns items into a loop has to keep, for each item, the values that are used again after a barrier.
 * Which values those are depends on the whole kernel, so kernels are generated. They have two to four group functions,
 * whose operands depend on conditions over data, ids and arguments, in uniform loops and ifs.
 *
 * The first seed is printed. NDR_TEST_SEED=n begins with the kernel of seed n, NDR_TEST_KERNELS=n makes n of them, and
 * NDR_TEST_LONG=1 several hundred. Of the seeds without these, half belong to each day. */
#include "support.h"

#include "reference.h"

enum {
    VARS = 4,
    FLAGS = 3,
    MODES = 3,      /* arguments of the kernel that choose what it does */
    MAX_ITEMS = 64, /* of a group */
    GROUPS = 2,
    PER_PROGRAM = 6, /* kernels: building a program costs more than building a kernel */
    MAX_NODES = 4096
};

static uint64_t seed;

static uint32_t below(uint32_t n)
{
    return (uint32_t)(random_bits(&seed) >> 33) % n;
}

/* ---- one item, as the model has it ---- */

typedef struct item {
    uint32_t var[VARS], flag[FLAGS];
    uint32_t data, local, group, turn;
    uint32_t sub_group, lane; /* as the kernel itself reports */
} item;

static const uint32_t *modes; /* of this launch */

/* ---- expressions: every value is a uint, every condition 0 or 1 ---- */

typedef enum node_kind {
    NUMBER, VAR, FLAG, MODE, DATA, LOCAL, GROUP, TURN,
    ADD, SUBTRACT, XOR, REMAINDER, CHOOSE,
    EQUAL, LESS, AND, OR, NOT
} node_kind;

typedef struct node {
    node_kind kind;
    uint32_t value;
    struct node *kid[3];
} node;

static node nodes[MAX_NODES];
static size_t node_count;
static bool in_loop;

static node *make(node_kind kind, uint32_t value, node *a, node *b, node *c)
{
    assert_true(node_count < MAX_NODES);
    nodes[node_count] = (node){ kind, value, { a, b, c } };
    return &nodes[node_count++];
}

static node *leaf_of(node_kind kind, uint32_t value)
{
    return make(kind, value, NULL, NULL, NULL);
}

static node *leaf(void)
{
    switch (below(in_loop ? 9 : 8)) {
    case 0:
    case 1: return leaf_of(NUMBER, below(6));
    case 2:
    case 3: return leaf_of(VAR, below(VARS));
    case 4:
    case 5: return leaf_of(DATA, 0);
    case 6: return leaf_of(MODE, below(MODES));
    case 7: return leaf_of(below(4) ? LOCAL : GROUP, 0);
    default: return leaf_of(TURN, 0);
    }
}

/* Parts are made in separate statements, so that a seed gives the same kernel with every compiler. */
static node *two(node_kind kind, node *(*part)(int), int depth)
{
    node *first = part(depth);
    node *second = part(depth);
    return make(kind, 0, first, second, NULL);
}

static node *condition(int depth);

static node *value(int depth)
{
    if (depth == 0) return leaf();
    switch (below(6)) {
    case 0: return leaf();
    case 1: return two(ADD, value, depth - 1);
    case 2: return two(below(2) ? XOR : SUBTRACT, value, depth - 1);
    default: {
        node *when = condition(depth), *choice = two(CHOOSE, value, depth - 1);
        return make(CHOOSE, 0, when, choice->kid[0], choice->kid[1]);
    }
    }
}

/* A comparison that differs from item to item, or one of an argument, which does not. */
static node *comparison(void)
{
    const uint32_t limit = 2 + below(3), rest = below(limit);
    switch (below(4)) {
    case 0:
    case 1: return make(EQUAL, 0, leaf_of(MODE, below(MODES)), leaf_of(NUMBER, rest), NULL);
    case 2: {
        node *left = make(REMAINDER, limit, leaf_of(below(3) ? DATA : LOCAL, 0), NULL, NULL);
        return make(EQUAL, 0, left, leaf_of(NUMBER, rest), NULL);
    }
    default: {
        node *less = leaf();
        return make(LESS, 0, less, below(2) ? leaf_of(NUMBER, 1 + 3 * rest) : leaf(), NULL);
    }
    }
}

static node *condition(int depth)
{
    if (depth == 0) return below(3) ? comparison() : leaf_of(FLAG, below(FLAGS));
    switch (below(6)) {
    case 0: return leaf_of(FLAG, below(FLAGS));
    case 1: return comparison();
    case 2: return make(NOT, 0, condition(depth - 1), NULL, NULL);
    case 3: return two(AND, condition, depth - 1);
    default: return two(OR, condition, depth - 1);
    }
}

/* A condition with the same result in all items of a group. */
static node *uniform_condition(void)
{
    node *of = below(4) ? leaf_of(MODE, below(MODES)) : leaf_of(GROUP, 0);
    const node_kind kind = below(2) ? EQUAL : LESS;
    return make(kind, 0, of, leaf_of(NUMBER, 1 + below(2)), NULL);
}

/* Items differ only in one of the group's two cases. PoCL 3.1 to 7.0 treats such a condition as uniform. */
static node *condition_of_few(void)
{
    node *first = uniform_condition(), *second = uniform_condition(), *third = comparison();
    return make(OR, 0, first, make(AND, 0, second, third, NULL), NULL);
}

/* The usual operand: x if an earlier condition is true, else 0. */
static node *operand(void)
{
    if (below(4) == 0) return value(2);
    node *when = below(3) ? leaf_of(FLAG, below(FLAGS)) : condition(2);
    node *x = below(2) ? leaf_of(DATA, 0) : leaf();
    return make(CHOOSE, 0, when, x, leaf_of(NUMBER, below(2)));
}

static node *vote(void)
{
    return below(2) ? leaf_of(FLAG, below(FLAGS)) : condition(2);
}

static uint32_t evaluate(const node *n, const item *it)
{
    const uint32_t a = n->kid[0] && n->kind != CHOOSE ? evaluate(n->kid[0], it) : 0;
    const uint32_t b = n->kid[1] && n->kind != CHOOSE ? evaluate(n->kid[1], it) : 0;
    switch (n->kind) {
    case NUMBER: return n->value;
    case VAR: return it->var[n->value];
    case FLAG: return it->flag[n->value];
    case MODE: return modes[n->value];
    case DATA: return it->data;
    case LOCAL: return it->local;
    case GROUP: return it->group;
    case TURN: return it->turn;
    case ADD: return a + b;
    case SUBTRACT: return a - b;
    case XOR: return a ^ b;
    case REMAINDER: return a % n->value;
    case CHOOSE: return evaluate(n->kid[evaluate(n->kid[0], it) ? 1 : 2], it);
    case EQUAL: return a == b;
    case LESS: return a < b;
    case AND: return a && b;
    case OR: return a || b;
    case NOT: return !a;
    }
    return 0;
}

/* ---- the kernel's text ---- */

static char text[64 * 1024];
static size_t text_length;

static void write_text(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void write_text(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    const int more = vsnprintf(text + text_length, sizeof text - text_length, format, values);
    va_end(values);
    assert_true(more >= 0 && text_length + (size_t)more < sizeof text);
    text_length += (size_t)more;
}

static void write_node(const node *n)
{
    static const char *const between[] = { [ADD] = " + ", [SUBTRACT] = " - ", [XOR] = " ^ ", [EQUAL] = " == ",
                                           [LESS] = " < ", [AND] = " && ", [OR] = " || " };
    switch (n->kind) {
    case NUMBER: write_text("%uu", n->value); return;
    case VAR: write_text("v%u", n->value); return;
    case FLAG: write_text("c%u", n->value); return;
    case MODE: write_text("m%u", n->value); return;
    case DATA: write_text("x[i]"); return;
    case LOCAL: write_text("l"); return;
    case GROUP: write_text("w"); return;
    case TURN: write_text("k"); return;
    case NOT:
        write_text("!");
        write_node(n->kid[0]);
        return;
    case REMAINDER:
        write_node(n->kid[0]);
        write_text(" %% %uu", n->value);
        return;
    case CHOOSE:
        write_text("(");
        write_node(n->kid[0]);
        write_text(" ? ");
        write_node(n->kid[1]);
        write_text(" : ");
        write_node(n->kid[2]);
        write_text(")");
        return;
    default:
        write_text("(");
        write_node(n->kid[0]);
        write_text("%s", between[n->kind]);
        write_node(n->kid[1]);
        write_text(")");
    }
}

/* ---- group functions ---- */

typedef enum element { INT, UINT, LONG, FLOAT, ELEMENTS } element;
typedef enum operation { PLUS, MULTIPLIES, MINIMUM, MAXIMUM, BIT_AND, BIT_OR, BIT_XOR, OPERATIONS } operation;
typedef enum function {
    REDUCE, REDUCE_INIT, INCLUSIVE, INCLUSIVE_INIT, EXCLUSIVE, EXCLUSIVE_INIT, /* these take an operation */
    ANY, ALL, NONE, BROADCAST, SHIFT, JOINT, EXCHANGE, FUNCTIONS
} function;

static const char *const element_names[] = { "int", "uint", "long", "float" };
static const char *const operation_names[] = { "NDR_PLUS",    "NDR_MULTIPLIES", "NDR_MINIMUM", "NDR_MAXIMUM",
                                               "NDR_BIT_AND", "NDR_BIT_OR",     "NDR_BIT_XOR" };

typedef struct call {
    function which;
    element of;
    operation op;
    bool over_sub_group;
    uint32_t init;
    uint32_t at; /* which item of a broadcast, how far an exchange, how many elements jointly */
} call;

/* A float stays a small whole number, so that any order of a sum is exact. */
static int64_t as_element(element of, uint32_t x)
{
    return of == INT ? (int64_t)(int32_t)x : of == FLOAT ? (int64_t)(x & 255) : (int64_t)x;
}

static void write_element(element of, const node *x)
{
    write_text("(%s)(", element_names[of]);
    write_node(x);
    write_text(of == FLOAT ? " & 255u)" : ")");
}

static int64_t combine(const call *c, int64_t a, int64_t b)
{
    uint64_t wide = 0;
    switch (c->op) {
    case PLUS: wide = (uint64_t)a + (uint64_t)b; break;
    case MULTIPLIES: wide = (uint64_t)a * (uint64_t)b; break;
    case MINIMUM: return a < b ? a : b;
    case MAXIMUM: return a < b ? b : a;
    case BIT_AND: wide = (uint64_t)a & (uint64_t)b; break;
    case BIT_OR: wide = (uint64_t)a | (uint64_t)b; break;
    default: wide = (uint64_t)a ^ (uint64_t)b; break;
    }
    return c->of == INT ? (int32_t)(uint32_t)wide : c->of == UINT ? (int64_t)(uint32_t)wide : (int64_t)wide;
}

static bool takes_operation(function which)
{
    return which <= EXCLUSIVE_INIT || which == JOINT;
}

static bool is_vote(function which)
{
    return which >= ANY && which <= NONE;
}

static call random_call(void)
{
    call c = { .of = below(ELEMENTS) };
    c.which = below(3) ? below(EXCLUSIVE_INIT + 1) : ANY + below(FUNCTIONS - ANY);
    c.op = below(c.of == FLOAT ? BIT_AND : OPERATIONS);
    if (c.op == MULTIPLIES && (c.of == FLOAT || c.of == LONG)) c.op = PLUS;
    if (c.which == EXCLUSIVE && c.op != BIT_OR && c.op != BIT_XOR) c.op = PLUS; /* their identity is 0 */
    c.over_sub_group = below(4) == 0 && c.which != JOINT && c.which != EXCHANGE;
    if (c.which == SHIFT) c.over_sub_group = true;
    c.init = below(9);
    c.at = c.which == JOINT ? below(90) : below(7);
    if (c.which == JOINT && c.of != UINT) c.of = UINT; /* the data's own type */
    return c;
}

static void write_call(const call *c, uint32_t target, const node *x)
{
    static const char *const names[] = { "ndr_reduce_over_group",         "ndr_reduce_over_group",
                                         "ndr_inclusive_scan_over_group", "ndr_inclusive_scan_over_group",
                                         "ndr_exclusive_scan_over_group", "ndr_exclusive_scan_over_group",
                                         "ndr_any_of_group",              "ndr_all_of_group",
                                         "ndr_none_of_group",             "ndr_group_broadcast",
                                         "ndr_shift_group_left",          "ndr_joint_reduce" };
    if (c->which == EXCHANGE) { /* volatile: PoCL 7.0 reads again after the second barrier, also in OpenCL C */
        write_text("t[l] = ");
        write_node(x);
        write_text("; ndr_group_barrier(g); v%u = ((volatile local uint *)t)[(l + %uu) %% n]; ndr_group_barrier(g);\n",
                   target, c->at);
        return;
    }
    write_text("v%u = (uint)%s(%s, ", target, names[c->which], c->over_sub_group ? "sg" : "g");
    if (c->which == JOINT) write_text("x, min(%uu, all)", c->at);
    else if (is_vote(c->which)) write_node(x);
    else write_element(c->of, x);
    if (c->which == REDUCE_INIT || c->which == EXCLUSIVE_INIT) write_text(", (%s)%u", element_names[c->of], c->init);
    if (takes_operation(c->which)) write_text(", %s", operation_names[c->op]);
    if (c->which == INCLUSIVE_INIT) write_text(", (%s)%u", element_names[c->of], c->init);
    if (c->which == SHIFT) write_text(", %uu", c->at);
    if (c->which == BROADCAST) write_text(c->over_sub_group ? ", 0u" : ", %uu %% n", c->at);
    write_text(");\n");
}

/* The results for `count` items in their order; x has each item's operand. */
static void model_call(const call *c, size_t count, const uint32_t *x, uint32_t *answer)
{
    int64_t sum[MAX_ITEMS]; /* of the items up to this one */
    uint32_t holds = 0;
    for (size_t i = 0; i < count; ++i) {
        const int64_t mine = as_element(c->of, x[i]);
        sum[i] = i ? combine(c, sum[i - 1], mine) : mine;
        holds += x[i] != 0;
    }
    for (size_t i = 0; i < count; ++i) {
        switch (c->which) {
        case REDUCE: answer[i] = (uint32_t)sum[count - 1]; break;
        case REDUCE_INIT: answer[i] = (uint32_t)combine(c, c->init, sum[count - 1]); break;
        case INCLUSIVE: answer[i] = (uint32_t)sum[i]; break;
        case INCLUSIVE_INIT: answer[i] = (uint32_t)combine(c, c->init, sum[i]); break;
        case EXCLUSIVE: answer[i] = i ? (uint32_t)sum[i - 1] : 0; break;
        case EXCLUSIVE_INIT: answer[i] = i ? (uint32_t)combine(c, c->init, sum[i - 1]) : c->init; break;
        case ANY: answer[i] = holds > 0; break;
        case ALL: answer[i] = holds == count; break;
        case NONE: answer[i] = holds == 0; break;
        case BROADCAST: answer[i] = (uint32_t)as_element(c->of, x[c->over_sub_group ? 0 : c->at % count]); break;
        case SHIFT: answer[i] = (uint32_t)as_element(c->of, x[i + c->at < count ? i + c->at : i]); break;
        default: answer[i] = x[(i + c->at) % count]; break;
        }
    }
}

/* ---- statements ---- */

typedef enum statement_kind { SET, SET_FLAG, CALL, BRANCH, UNIFORM_IF, LOOP } statement_kind;

typedef struct statement {
    statement_kind kind;
    uint32_t target;
    node *value;
    call call;
    struct statement *body, *other, *next;
} statement;

static statement statements[64];
static size_t statement_count, calls_left;
static bool conditional_barriers; /* whether the driver compiles them correctly */

static statement *add(statement_kind kind)
{
    assert_true(statement_count < sizeof statements / sizeof statements[0]);
    statement *made = &statements[statement_count++];
    *made = (statement){ .kind = kind };
    return made;
}

static statement *set(void)
{
    const bool flag = below(4) == 0;
    statement *made = add(flag ? SET_FLAG : SET);
    made->target = below(flag ? FLAGS : VARS);
    made->value = flag ? condition(2) : value(2);
    return made;
}

static statement *block(int depth, size_t length);

static statement *random_statement(int depth)
{
    statement *made;
    const uint32_t roll = below(12);
    if (calls_left > 0 && (roll < 6 || depth == 0)) {
        made = add(CALL);
        --calls_left;
        made->call = random_call();
        made->target = below(VARS);
        made->value = is_vote(made->call.which) ? vote() : operand();
    } else if (roll < 8) {
        made = add(BRANCH);
        made->value = condition(2);
        made->body = set();
        if (below(2)) made->other = set();
    } else if (depth > 0 && calls_left > 0 && roll < 10) {
        made = add(UNIFORM_IF);
        made->value = uniform_condition();
        const size_t later = conditional_barriers ? 0 : calls_left;
        calls_left -= later;
        made->body = block(depth - 1, 1 + below(2));
        if (below(2)) made->other = block(depth - 1, 1);
        calls_left += later;
    } else if (depth > 0 && calls_left > 0 && !in_loop && roll < 11) {
        made = add(LOOP);
        made->value = leaf_of(NUMBER, 1 + below(3));
        if (conditional_barriers && below(2)) made->value = leaf_of(MODE, below(MODES)); /* may be 0 iterations */
        in_loop = true;
        made->body = block(depth - 1, 1 + below(2));
        in_loop = false;
    } else {
        made = set();
    }
    return made;
}

static statement *block(int depth, size_t length)
{
    statement *first = NULL, **end = &first;
    for (size_t i = 0; i < length; ++i) {
        *end = random_statement(depth);
        end = &(*end)->next;
    }
    return first;
}

static void write_block(const statement *s, int depth)
{
    for (; s; s = s->next) {
        write_text("%*s", 4 * depth, "");
        switch (s->kind) {
        case SET:
        case SET_FLAG:
            write_text("%c%u = ", s->kind == SET ? 'v' : 'c', s->target);
            write_node(s->value);
            write_text(";\n");
            continue;
        case CALL: write_call(&s->call, s->target, s->value); continue;
        case LOOP: write_text("for (uint k = 0; k < "); break;
        default: write_text("if ("); break;
        }
        write_node(s->value);
        write_text(s->kind == LOOP ? "; ++k) {\n" : ") {\n");
        write_block(s->body, depth + 1);
        if (s->other) {
            write_text("%*s} else {\n", 4 * depth, "");
            write_block(s->other, depth + 1);
        }
        write_text("%*s}\n", 4 * depth, "");
    }
}

static void run_block(const statement *s, item *items, size_t count, const uint32_t *data);

static void run_joint(const statement *s, item *items, size_t count, const uint32_t *data)
{
    const size_t all = s->call.at < GROUPS * count ? s->call.at : GROUPS * count;
    const bool ones = s->call.op == MINIMUM || s->call.op == BIT_AND;
    int64_t sum = s->call.op == MULTIPLIES ? 1 : ones ? UINT32_MAX : 0;
    for (size_t i = 0; i < all; ++i) sum = combine(&s->call, sum, data[i]);
    for (size_t i = 0; i < count; ++i) items[i].var[s->target] = (uint32_t)sum;
}

/* Run a call over the items with these numbers, in this order. */
static void run_call_of(const statement *s, item *items, const size_t *who, size_t count)
{
    uint32_t x[MAX_ITEMS], answer[MAX_ITEMS];
    for (size_t i = 0; i < count; ++i) x[i] = evaluate(s->value, &items[who[i]]);
    model_call(&s->call, count, x, answer);
    for (size_t i = 0; i < count; ++i) items[who[i]].var[s->target] = answer[i];
}

static void run_call(const statement *s, item *items, size_t count, const uint32_t *data)
{
    if (s->call.which == JOINT) {
        run_joint(s, items, count, data);
        return;
    }
    for (uint32_t part = 0; part < (s->call.over_sub_group ? count : 1); ++part) {
        size_t who[MAX_ITEMS] = { 0 }, members = 0;
        for (size_t i = 0; i < count; ++i) {
            if (s->call.over_sub_group && items[i].sub_group != part) continue;
            who[s->call.over_sub_group ? items[i].lane : i] = i;
            ++members;
        }
        run_call_of(s, items, who, members);
    }
}

static void run_set(const statement *s, item *it)
{
    *(s->kind == SET ? &it->var[s->target] : &it->flag[s->target]) = evaluate(s->value, it);
}

static void run_block(const statement *s, item *items, size_t count, const uint32_t *data)
{
    for (; s; s = s->next) {
        switch (s->kind) {
        case SET:
        case SET_FLAG:
            for (size_t i = 0; i < count; ++i) run_set(s, &items[i]);
            break;
        case BRANCH:
            for (size_t i = 0; i < count; ++i) {
                const statement *way = evaluate(s->value, &items[i]) ? s->body : s->other;
                if (way) run_set(way, &items[i]);
            }
            break;
        case CALL: run_call(s, items, count, data); break;
        case UNIFORM_IF: run_block(evaluate(s->value, items) ? s->body : s->other, items, count, data); break;
        case LOOP:
            for (uint32_t k = 0, turns = evaluate(s->value, items); k < turns; ++k) {
                for (size_t i = 0; i < count; ++i) items[i].turn = k;
                run_block(s->body, items, count, data);
            }
            break;
        }
    }
}

/* ---- one kernel ---- */

typedef struct shape {
    uint32_t dims;
    size_t local[2];
} shape;

static const shape shapes[] = { { 1, { 7 } }, { 1, { 16 } }, { 1, { 31 } }, { 1, { 64 } },
                                { 2, { 3, 5 } }, { 2, { 4, 8 } }, { 2, { 2, 7 } } };

typedef struct family_member {
    uint64_t seed;
    shape of;
    statement *body;
    node *first[VARS + FLAGS];
} family_member;

static size_t items_of(const shape *of)
{
    return of->dims == 1 ? of->local[0] : of->local[0] * of->local[1];
}

/* The same seed gives the same kernel, whatever the other kernels of its program are. */
static family_member generate(uint64_t of_seed)
{
    seed = of_seed << 32; /* far from the next one's, since random_bits() counts up */
    node_count = statement_count = 0;
    family_member made = { .seed = of_seed, .of = shapes[below(sizeof shapes / sizeof shapes[0])] };
    if (items_of(&made.of) > device.max_group_size) made.of = shapes[0];
    for (size_t v = 0; v < VARS; ++v) made.first[v] = leaf_of(v ? LOCAL : GROUP, 0); /* no x yet: it is read in branches */
    made.first[VARS] = condition_of_few();
    for (size_t c = 1; c < FLAGS; ++c) made.first[VARS + c] = condition(2);
    calls_left = 2 + below(3);
    statement *last = made.body = block(2, 2 + calls_left);
    while (last->next) last = last->next;
    for (; calls_left > 0; last = last->next) last->next = random_statement(0);
    return made;
}

static void write_kernel(const family_member *f)
{
    write_text("kernel void f%llu(global const uint *x, global uint *out, global uint *place, "
               "uint m0, uint m1, uint m2, NDR_ND_RANGE(%u))\n{\n"
               "    const ndr_nd_item it = NDR_ND_ITEM(%u);\n"
               "    const ndr_group g = ndr_get_group(it);\n"
               "    const ndr_sub_group sg = ndr_get_sub_group(it);\n"
               "    const uint l = (uint)ndr_local_linear_id(g), n = (uint)ndr_local_linear_range(g);\n"
               "    const uint w = (uint)ndr_group_linear_id(it), i = w * n + l, all = %u * n;\n"
               "    local uint t[%u];\n",
               (unsigned long long)f->seed, f->of.dims, f->of.dims, GROUPS, MAX_ITEMS);
    write_text("    uint v0 = 0, v1 = 0, v2 = 0, v3 = 0;\n    bool c0 = false, c1 = false, c2 = false;\n");
    for (uint32_t k = 0; k < VARS + FLAGS; ++k) {
        write_text("    %c%u = ", k < VARS ? 'v' : 'c', k < VARS ? k : k - VARS);
        write_node(f->first[k]);
        write_text(";\n");
    }
    write_block(f->body, 1);
    write_text("    place[2 * i] = ndr_group_linear_id(sg); place[2 * i + 1] = ndr_local_linear_id(sg);\n"
               "    out[4 * i] = v0; out[4 * i + 1] = v1; out[4 * i + 2] = v2; out[4 * i + 3] = v3;\n}\n");
}

static void model(const family_member *f, const uint32_t *data, const uint32_t *place, uint32_t *out)
{
    const size_t count = items_of(&f->of);
    for (uint32_t w = 0; w < GROUPS; ++w) {
        item items[MAX_ITEMS] = { 0 };
        for (uint32_t l = 0; l < count; ++l) {
            const size_t i = w * count + l;
            items[l] = (item){ .data = data[i], .local = l, .group = w,
                               .sub_group = place[2 * i], .lane = place[2 * i + 1] };
            for (size_t k = 0; k < VARS + FLAGS; ++k)
                *(k < VARS ? &items[l].var[k] : &items[l].flag[k - VARS]) = evaluate(f->first[k], &items[l]);
        }
        run_block(f->body, items, count, data);
        for (uint32_t l = 0; l < count; ++l) memcpy(out + VARS * (w * count + l), items[l].var, sizeof items[l].var);
    }
}

/* What the model reads from the kernel's output. */
static void check_places(const uint32_t *place, size_t count)
{
    for (size_t i = 0; i < GROUPS * count; ++i) assert_true(place[2 * i] < count && place[2 * i + 1] < count);
}

static ndr_nd_range range_of(const shape *of)
{
    return of->dims == 1 ? ndr_nd_range_1d(GROUPS * of->local[0], of->local[0])
                         : ndr_nd_range_2d(GROUPS * of->local[0], of->local[1], of->local[0], of->local[1]);
}

/* Whether all items of one launch have the model's values; prints the first difference. */
static bool agrees(const family_member *f, ndr_kernel *kernel, const uint32_t *m)
{
    const size_t count = GROUPS * items_of(&f->of);
    uint32_t data[GROUPS * MAX_ITEMS], place[2 * GROUPS * MAX_ITEMS];
    uint32_t got[VARS * GROUPS * MAX_ITEMS], wanted[VARS * GROUPS * MAX_ITEMS];
    for (size_t i = 0; i < count; ++i) data[i] = (uint32_t)(i * 7 + i * i % 5) % 13;
    ndr_buffer *x = buffer_of(count * sizeof data[0], data), *out = buffer_of(count * VARS * sizeof got[0], NULL);
    ndr_buffer *where = buffer_of(2 * count * sizeof place[0], NULL);
    assert_ok(ndr_launch(queue, kernel, range_of(&f->of), x, out, where, m[0], m[1], m[2]));
    take_buffer(out, got, count * VARS * sizeof got[0]);
    take_buffer(where, place, 2 * count * sizeof place[0]);
    ndr_buffer_destroy(x);
    check_places(place, items_of(&f->of));
    modes = m;
    model(f, data, place, wanted);
    for (size_t i = 0; i < VARS * count; ++i) {
        if (got[i] == wanted[i]) continue;
        print_error("seed %llu, groups of %zu x %zu, m0 %u, m1 %u, m2 %u: v%zu of item %zu is %u, not %u\n",
                    (unsigned long long)f->seed, f->of.local[0], f->of.dims > 1 ? f->of.local[1] : 1, m[0], m[1], m[2],
                    i % VARS, i / VARS, got[i], wanted[i]);
        return false;
    }
    return true;
}

/* The kernel is the same for groups of any size; some drivers take fewer items than the device does. */
static void fit_groups(family_member *f, const ndr_kernel *kernel)
{
    ndr_kernel_info limits;
    assert_ok(ndr_kernel_get_info(kernel, &limits));
    if (items_of(&f->of) > limits.max_group_size) f->of = shapes[f->of.dims == 1 ? 0 : 4];
}

/* Run each kernel with several modes; print the text of a kernel that fails. */
static bool kernel_agrees(uint64_t of_seed, const char *source)
{
    static const uint32_t ways[][MODES] = { { 0, 1, 2 }, { 1, 2, 0 }, { 2, 0, 1 }, { 1, 1, 1 }, { 3, 3, 3 } };
    family_member f = generate(of_seed);
    char name[32];
    snprintf(name, sizeof name, "f%llu", (unsigned long long)of_seed);
    ndr_kernel *kernel = kernel_of(source, name);
    fit_groups(&f, kernel);
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; ++i) {
        if (agrees(&f, kernel, ways[i])) continue;
        text_length = 0;
        write_kernel(&f);
        fputs(text, stderr); /* too long for CMocka */
        return false;
    }
    return true;
}

static size_t program_fails(uint64_t first, size_t count)
{
    static char source[sizeof text];
    text_length = 0;
    write_text("#include \"ndr/sub_group.clh\"\n#include \"ndr/joint.clh\"\n");
    for (size_t k = 0; k < count; ++k) {
        const family_member f = generate(first + k);
        write_kernel(&f);
    }
    memcpy(source, text, text_length + 1);
    size_t failed = 0;
    for (size_t k = 0; k < count; ++k) failed += !kernel_agrees(first + k, source);
    return failed;
}

/* ---- faults of the driver in plain OpenCL C ---- */

/* A barrier in an if with the same condition in all items: in PoCL 3.1 to 7.0, c is false for all items after it. This
 * is plain OpenCL C, so no vocabulary can avoid it. A loop that may have 0 iterations is such an if. */
static const char barrier_in_an_if[] =
    "kernel void f(global const uint *x, global uint *y, local uint *t, uint a, uint b)\n"
    "{\n"
    "    size_t i = get_local_id(0);\n"
    "    uint v = 0;\n"
    "    bool c = 4 < x[i], d = c;\n"
    "    if (a < 2) d = b == 0;\n"
    "    else {\n"
    "        t[i] = a;\n"
    "        barrier(CLK_LOCAL_MEM_FENCE);\n"
    "        v = t[0];\n"
    "    }\n"
    "    if (d && (i % 4 == 3 || c)) v = c;\n"
    "    y[i] = v;\n"
    "}\n";

static bool barriers_in_ifs_work(void)
{
    const uint32_t x[8] = { 0, 8, 5, 12, 3, 9, 4, 1 };
    uint32_t y[8];
    ndr_buffer *in = buffer_of(sizeof x, x), *out = buffer_of(sizeof y, NULL);
    ndr_kernel *kernel = kernel_of(barrier_in_an_if, "f");
    assert_ok(ndr_launch(queue, kernel, ndr_nd_range_1d(8, 8), in, out, ndr_local(uint32_t, 8), 2u, 0u));
    take_buffer(out, y, sizeof y);
    ndr_buffer_destroy(in);
    bool work = true;
    for (size_t i = 0; i < 8; ++i) work = work && y[i] == (x[i] > 4 ? 1 : 2);
    return work;
}

static void test_family__agrees_with_a_model_whatever_stands_in_a_row(void **state)
{
    const uint64_t first = number_from_env("NDR_TEST_SEED", 30); /* 32 and 50 were wrong on PoCL 3.1 */
    const char *all = getenv("NDR_TEST_LONG");
    const size_t count = (size_t)number_from_env("NDR_TEST_KERNELS", all && *all ? 600 : quick() ? 4 : 24);
    print_message("%zu kernels from NDR_TEST_SEED=%llu on\n", count, (unsigned long long)first);
    const bool is_given = getenv("NDR_TEST_SEED") || getenv("NDR_TEST_KERNELS");
    conditional_barriers = barriers_in_ifs_work();
    if (!conditional_barriers)
        print_message("left out: group functions in ifs and loops of 0 iterations (a fault of this driver)\n");
    size_t failed = 0;
    for (size_t done = 0; done < count; done += PER_PROGRAM)
        if (is_given || takes_case(done / PER_PROGRAM, 2))
            failed += program_fails(first + done, count - done < PER_PROGRAM ? count - done : PER_PROGRAM);
    if (failed) print_error("%zu of %zu kernels are wrong\n", failed, count);
    assert_int_equal(failed, 0);
}

/* ---- the first kernel that failed ---- */

static const char in_a_row[] =
    "#include \"ndr/group.clh\"\n"
    "kernel void sums(global const uint *x, global uint *out, uint mode, NDR_ND_RANGE(1))\n"
    "{\n"
    "    const ndr_nd_item it = NDR_ND_ITEM(1);\n"
    "    const ndr_group g = ndr_get_group(it);\n"
    "    const size_t i = ndr_global_id(it, 0);\n"
    "    const bool in = mode == 0 || (mode == 1 && x[i] % 2 == 1);\n"
    "    out[3 * i] = ndr_reduce_over_group(g, in ? x[i] : 0u, NDR_PLUS);\n"
    "    out[3 * i + 1] = ndr_reduce_over_group(g, in ? 1u : 0u, NDR_PLUS);\n"
    "    out[3 * i + 2] = ndr_inclusive_scan_over_group(g, in ? 2u : 1u, NDR_PLUS);\n"
    "}\n";

static void check_in_a_row(ndr_kernel *kernel, size_t count, uint32_t mode)
{
    uint32_t x[MAX_ITEMS], got[3 * MAX_ITEMS], sum = 0, holds = 0, scan = 0;
    for (size_t i = 0; i < count; ++i) x[i] = (uint32_t)i * 7 % 13;
    ndr_buffer *in = buffer_of(count * sizeof x[0], x), *out = buffer_of(3 * count * sizeof x[0], NULL);
    assert_ok(ndr_launch(queue, kernel, ndr_nd_range_1d(count, count), in, out, mode));
    take_buffer(out, got, 3 * count * sizeof x[0]);
    ndr_buffer_destroy(in);
    for (size_t i = 0; i < count; ++i) {
        const bool is_in = mode == 0 || (mode == 1 && x[i] % 2 == 1);
        sum += is_in ? x[i] : 0;
        holds += is_in;
        scan += is_in ? 2 : 1;
        assert_int_equal(got[3 * i + 2], scan);
    }
    for (size_t i = 0; i < count; ++i) {
        assert_int_equal(got[3 * i], sum);
        assert_int_equal(got[3 * i + 1], holds);
    }
}

static void test_family__three_in_a_row_see_the_same_condition(void **state)
{
    ndr_kernel *kernel = kernel_of(in_a_row, "sums");
    for (uint32_t mode = 0; mode < 3; ++mode) {
        check_in_a_row(kernel, 7, mode);
        check_in_a_row(kernel, 32, mode);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_family__three_in_a_row_see_the_same_condition),
        cmocka_unit_test(test_family__agrees_with_a_model_whatever_stands_in_a_row),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
