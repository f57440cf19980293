/* test_ragged.c - kernels over ranges that do not divide: nothing is written past the range, and each item runs once.
 *
 * Random programs have a kernel of each kind below. They run in a checked context: a write outside a buffer
 * fails the launch, and a write in another item's place shows in the counts. Values are compared with the same in C.
 * The first seed is printed. NDR_TEST_SEED=n begins with the program of seed n, NDR_TEST_LONG=1 makes 40 of them. */
#include "support.h"

#include "launch/launch.h"
#include "reference.h"

enum { STEPS = 4 };

static uint64_t seed;

static unsigned below(unsigned n) { return (unsigned)(random_bits(&seed) >> 33) % n; }

/* ---- kinds of kernels ---- */

/* How a kernel begins and ends; @ is its number of dimensions, # its own number. Kernels that wait have one dimension
 * and check what another item of the group has written. */
typedef struct kind {
    const char *start, *end;
    bool is_guarded, counts_ahead, waits;
} kind;

#define ITEM "const ndr_item it = NDR_ITEM(@);\n    const size_t id = ndr_global_linear_id(it);"
#define AHEAD "atomic_inc(&ahead[own_id(@, o0, o1, o2, n1, n2)]);"
#define CHECK_NEXT                                                                                                   \
    "const uint p = (uint)id - (uint)get_local_id(0) + (uint)((get_local_id(0) + 1) % get_local_size(0));\n"   \
    "    ahead[id] = value[p] == of_#(p);"

static const kind kinds[] = {
    { ITEM, "", true, false, false },
    { "const size_t i = ndr_global_id(NDR_ITEM(1), 0);\n    const size_t id = i - o0;", "", true, false, true },
    { "const size_t id = ndr_global_linear_id(NDR_ITEM(@));", "", false, false, false },
    { "const size_t id = ndr_global_linear_id(NDR_ITEM(@)) + 0 * " AHEAD, "", false, true, false },
    { "START(NDR_ITEM(@))\n    const size_t id = ndr_global_linear_id(it);", "", false, true, false },
    { AHEAD ITEM, "", false, true, false },
    { ITEM, "barrier(CLK_GLOBAL_MEM_FENCE);\n    " CHECK_NEXT, false, true, true },
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

/* The same for programs with a helper, macro or kernel that waits and that any kernel may call. */
static const kind beside_waiting[] = {
    { ITEM, "", false, false, false },
    { ITEM, "WAIT;\n    ahead[id] = value[id] == of_#((uint)id);", false, true, false },
    { ITEM, "WAIT;\n    " CHECK_NEXT, false, true, true },
};

static const struct {
    const char *helper;
    const kind *kinds;
    unsigned count;
} programs[] = {
    { "", kinds, KINDS },
    { "void help(void) { barrier(CLK_GLOBAL_MEM_FENCE); }\n#define WAIT help()\n", beside_waiting, 3 },
    { "#define WAIT barrier(CLK_GLOBAL_MEM_FENCE)\n", beside_waiting, 3 },
    { "kernel void meet(global uint *value) { barrier(CLK_GLOBAL_MEM_FENCE); }\n#define WAIT meet(value)\n", beside_waiting, 3 },
};
enum { PROGRAMS = sizeof programs / sizeof programs[0] };

static const char head[] =
    "#include <ndr/item.clh>\n"
    "#define START(item) atomic_inc(&ahead[own_id(ndr_record_.of.dims, o0, o1, o2, n1, n2)]); const ndr_item it = item;\n"
    "size_t own_id(uint dims, uint o0, uint o1, uint o2, uint n1, uint n2)\n"
    "{\n"
    "    return dims == 1   ? get_global_id(0) - o0\n"
    "           : dims == 2 ? (get_global_id(1) - o0) * n1 + get_global_id(0) - o1\n"
    "                       : ((get_global_id(2) - o0) * n1 + get_global_id(1) - o1) * n2 + get_global_id(0) - o2;\n"
    "}\n";

/* ---- programs ---- */

typedef struct made_kernel {
    const kind *kind;
    unsigned dims;
    struct { unsigned what, by; } steps[STEPS];
} made_kernel;

static const char *const steps[] = { "v += %uu; ", "v *= %uu; ", "v ^= %uu; ", "v ^= v >> %uu; ", "v += %uu * id; " };

static uint32_t value_of(const made_kernel *k, uint32_t id)
{
    uint32_t v = id;
    for (size_t i = 0; i < STEPS; ++i) {
        const uint32_t by = k->steps[i].by;
        switch (k->steps[i].what) {
        case 0: v += by; break;
        case 1: v *= by; break;
        case 2: v ^= by; break;
        case 3: v ^= v >> by; break;
        default: v += by * id; break;
        }
    }
    return v;
}

static void add_filled(const char *chars, unsigned dims, unsigned index, ndr_text *out)
{
    for (; *chars; ++chars)
        if (*chars == '@') ndr_text_add(out, "%u", dims);
        else if (*chars == '#') ndr_text_add(out, "%u", index);
        else ndr_text_add_chars(out, chars, 1);
}

static made_kernel add_kernel(const kind *of, unsigned index, ndr_text *out)
{
    made_kernel k = { .kind = of, .dims = of->waits ? 1 : 1 + below(3) };
    ndr_text_add(out, "uint of_%u(uint id)\n{\n    uint v = id;\n    ", index);
    for (size_t i = 0; i < STEPS; ++i) {
        k.steps[i].what = below(5);
        k.steps[i].by = 1 + below(31);
        ndr_text_add(out, steps[k.steps[i].what], k.steps[i].by);
    }
    ndr_text_add(out,
                 "return v;\n}\nkernel void k%u(global uint *value, global uint *times, global uint *ahead, uint o0, uint o1, "
                 "uint o2, uint n1, uint n2,\n               NDR_RANGE(%u))\n{\n    ",
                 index, k.dims);
    add_filled(of->start, k.dims, index, out);
    ndr_text_add(out, "\n    value[id] = of_%u((uint)id);\n    atomic_inc(&times[id]);\n    ", index);
    add_filled(of->end, k.dims, index, out);
    ndr_text_add(out, "\n}\n");
    return k;
}

/* ---- runs ---- */

static ndr_nd_range make_range(unsigned dims)
{
    static const size_t lengths[3][6] = { { 257, 1009, 4097, 255, 1000, 3 }, { 1, 17, 31, 64, 65, 97 }, { 1, 3, 7, 16, 11, 17 } };
    ndr_nd_range range = { .global = { .dims = dims } };
    for (unsigned d = 0; d < dims; ++d) {
        range.global.size[d] = lengths[dims - 1][below(6)];
        range.offset[d] = below(3) ? 0 : below(1000);
    }
    return range;
}

static uint32_t *read_ints(ndr_buffer *buffer, size_t count)
{
    uint32_t *ints = malloc(count * sizeof *ints);
    take_buffer(buffer, ints, count * sizeof *ints);
    return ints;
}

static void check_run(const made_kernel *k, ndr_kernel *kernel, const char *text)
{
    const ndr_nd_range range = make_range(k->dims);
    const size_t *n = range.global.size, *o = range.offset;
    const size_t count = n[0] * (k->dims > 1 ? n[1] : 1) * (k->dims > 2 ? n[2] : 1);
    uint32_t *zeros = calloc(count, sizeof *zeros);
    ndr_buffer *made[3];
    for (size_t i = 0; i < 3; ++i) made[i] = buffer_of(count * sizeof *zeros, zeros);
    const ndr_status status =
        ndr_launch(queue, kernel, range, made[0], made[1], made[2], o[0], o[1], o[2], n[1], n[2]);
    uint32_t *value = read_ints(made[0], count), *times = read_ints(made[1], count), *ahead = read_ints(made[2], count);
    size_t wrong = 0;
    while (wrong < count && value[wrong] == value_of(k, (uint32_t)wrong) && times[wrong] == 1
           && ahead[wrong] == k->kind->counts_ahead)
        ++wrong;
    if (status != NDR_OK || wrong < count)
        fail_msg("%s over %s: %s; item %zu of %zu is wrong in\n%s", kernel->name, ndr_sizes_print(k->dims, n).chars,
                 status == NDR_OK ? "ran" : ndr_last_error(), wrong, count, text);
    free(zeros);
    free(value);
    free(times);
    free(ahead);
}

static void check_program(uint64_t of_seed)
{
    ndr_text text = { 0 };
    made_kernel kernels[KINDS];
    seed = of_seed << 32; /* far from the next one's, since random_bits() counts up */
    const kind *of = programs[of_seed % PROGRAMS].kinds;
    const unsigned count = programs[of_seed % PROGRAMS].count;
    ndr_text_add(&text, "%s%s", head, programs[of_seed % PROGRAMS].helper);
    for (unsigned i = 0; i < count; ++i) kernels[i] = add_kernel(&of[i], i, &text);
    for (unsigned i = 0; i < count; ++i) {
        char name[16];
        snprintf(name, sizeof name, "k%u", i);
        ndr_kernel *kernel = kernel_of(text.chars, name);
        if (kernel->is_guarded != of[i].is_guarded)
            fail_msg("%s is %sguarded in\n%s", name, kernel->is_guarded ? "" : "not ", text.chars);
        for (size_t r = 0; r < 2; ++r) check_run(&kernels[i], kernel, text.chars);
    }
    ndr_text_free(&text);
}

static void test_ragged__ranges_write_nothing_past_their_end(void **state)
{
    const char *given = getenv("NDR_TEST_SEED"), *all = getenv("NDR_TEST_LONG");
    const uint64_t first = given ? strtoull(given, NULL, 10) : 0;
    const uint64_t count = all && *all ? 40 : PROGRAMS;
    print_message("%llu programs from NDR_TEST_SEED=%llu on\n", (unsigned long long)count, (unsigned long long)first);
    for (uint64_t i = 0; i < count; ++i) check_program(first + i);
}

static int open_checked(void **state)
{
    if (open_device(state) != 0) return -1;
    ndr_queue_destroy(queue);
    ndr_context_destroy(context);
    const ndr_context_desc desc = { .check = NDR_CHECK_ON };
    assert_ok(ndr_context_create_with(&desc, &context));
    assert_ok(ndr_queue_create(context, NULL, &queue));
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ragged__ranges_write_nothing_past_their_end),
    };
    return cmocka_run_group_tests(tests, open_checked, close_device);
}
