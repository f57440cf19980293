/* test_halves.c - the first kernel of the rows `halves` and `rounded`: half parts of elements, their places, and
 * the marks of elements to which parts do not do justice. */
#include "ops/parts.h"

/* The first step of a stretch: the last one has at least 32 steps, or all; along a short depth each has 32, but it. */
static size_t first_step(const bench *s, size_t stretch)
{
    const size_t late = (s->k - 32) / 8 * 8;
    if (s->k < NDR_SPLIT_SHORT) return ndr_min_size(NDR_SPLIT_DEPTH * stretch, s->k);
    return stretch == s->stretches ? s->k : ndr_min_size(steps_of(s) * stretch, late);
}

/* The power of two of a line's stretch. */
static float factor_at(const bench *s, bool is_b, size_t line, size_t stretch)
{
    const size_t lines = is_b ? s->tile_n : NDR_SPLIT_ROWS;
    float factor;
    memcpy(&factor, stretch_at(s, is_b, line, stretch) + lines * steps_of(s) * s->parts * 2 + line % lines * 4,
           sizeof factor);
    return factor;
}

/* h + l / 2^11 is the element divided by the line's factor, up to half a bit of l; or h, up to half a bit of h. */
static void check_halves_of(const bench *s, bool is_b, size_t line, size_t stretch)
{
    const size_t first = first_step(s, stretch), count = first_step(s, stretch + 1) - first;
    const float factor = factor_at(s, is_b, line, stretch);
    double most = 0;
    assert_true(count <= steps_of(s) && (count >= 25 || s->k < NDR_SPLIT_SHORT));
    for (size_t step = 0; step < steps_of(s); ++step) {
        const double wanted = step < count ? (double)element_at(s, is_b, line, first + step) / (double)factor : 0;
        const double h = (double)part_at(s, is_b, line, stretch, step, 0);
        if (s->parts == 2) {
            const double l = (double)part_at(s, is_b, line, stretch, step, 1);
            assert_true(fabs(h + l * 0x1p-11 - wanted) <= fmax(fabs(wanted) * 0x1p-23, 0x1p-36));
            assert_true(fabs(l) <= fmax(fabs(h), 0x1p-14));
        } else assert_true(fabs(h - wanted) <= fmax(fabs(wanted) * 0x1p-11, 0x1p-25));
        most = fmax(most, fabs(wanted));
    }
    if (most == 0) assert_true(factor == 1);
    else assert_true(most >= 0x1p14 && most < 0x1p15);
}

static void check_halves(const bench *s)
{
    for (size_t stretch = 0; stretch < s->stretches; ++stretch) {
        for (size_t line = 0; line < s->blocks_m * NDR_SPLIT_ROWS; ++line) check_halves_of(s, false, line, stretch);
        for (size_t line = 0; line < s->blocks_n * s->tile_n; ++line) check_halves_of(s, true, line, stretch);
    }
}

/* libndr takes the kernels only where they fit; the tests force them. */
static void skip_without_local_memory(void)
{
    enum { DECLARED_BYTES = 53760 };
    skip_without(device.local_memory_bytes >= DECLARED_BYTES, "the kernels declare more local memory than there is");
}

static void test_halves__of_elements_times_a_power_of_two(void **state)
{
    skip_without_local_memory();
    const struct {
        size_t m, n, k, gap, offset;
        unsigned parts, tile_n;
    } cases[] = { { 3, 5, 70, 0, 0, 2, 64 },     { 3, 5, 130, 0, 0, 1, 64 },      { 129, 65, 200, 1, 3, 2, 64 },
                  { 129, 65, 200, 1, 3, 1, 64 }, { 128, 130, 256, 4, 4, 2, 128 }, { 128, 130, 288, 4, 4, 1, 128 },
                  { 130, 66, 64, 1, 3, 2, 64 } };
    for (size_t i = 0; i < (quick() ? 2 : NDR_COUNT_OF(cases)); ++i) {
        bench s = open_bench(cases[i].m, cases[i].n, cases[i].k, cases[i].gap, cases[i].offset, cases[i].parts,
                             cases[i].tile_n);
        const size_t lines = quick() ? 1 : s.m, steps = quick() ? 32 : s.k; /* so that one item sets a mark */
        for (size_t j = 0; j < lines; ++j) /* numbers that a half has only as subnormal ones, and zeros */
            for (size_t p = j % 7; p < steps; p += 7)
                s.a[s.offset + j * (s.k + s.gap) + p] *= p % 2 ? 0 : ldexpf(1, -(int)(p % 41));
        split(&s);
        check_halves(&s);
        close_bench(&s);
    }
}

/* Elements of 1 to 2, of which those that `change` is for are others. */
enum { LINE = 1, FIRST = 64, STEPS = 36 }; /* a line, and its last stretch */
typedef struct change {
    float value;
    size_t every; /* step of the stretch */
    unsigned marks;
} change;

enum { BEYOND = 1 << NDR_HALVES_BEYOND, COARSE = 1 << NDR_HALVES_COARSE, SPARSE = 1 << NDR_HALVES_SPARSE };

static unsigned marks_after(const change *c, unsigned parts, bool in_b)
{
    bench s = open_bench(2, 2, FIRST + STEPS, 0, 0, parts, 64);
    for (size_t i = 0; i < s.m * s.k; ++i) s.a[i] = 1 + fabsf(s.a[i]) / 2;
    for (size_t i = 0; i < s.n * s.k; ++i) s.b[i] = 1 + fabsf(s.b[i]) / 2;
    for (size_t i = c->every - 1; i < STEPS; i += c->every)
        *(in_b ? &s.b[(FIRST + i) * s.n + LINE] : &s.a[LINE * s.k + FIRST + i]) = c->value;
    split(&s);
    const unsigned marks = marks_of(&s, NDR_HALVES_MARKS);
    close_bench(&s);
    return marks;
}

static void check_marks_after(const change *c, unsigned parts)
{
    const unsigned seen = ~(c->marks & BEYOND ? COARSE | SPARSE : 0u);
    assert_int_equal(marks_after(c, parts, false) & seen, c->marks);
    assert_int_equal(marks_after(c, parts, true) & seen, c->marks);
}

static void test_halves__marks_what_they_do_not_prove(void **state)
{
    skip_without_local_memory();
    const change cases[] = {
        { 1, 1, 0 },
        { 0, 1, 0 },             /* a line of zeros has no errors */
        { 0, 2, SPARSE },        /* half of them: no errors, but nothing to hide others' errors either */
        { 0, 4, 0 },             /* 27 of 36 are large */
        { 0, 3, SPARSE },        /* 24 */
        { 0x1p-30f, 4, COARSE }, /* enough large ones */
        { 0x1p-30f, 3, COARSE | SPARSE },
        { 0x1p30f, STEPS, COARSE | SPARSE }, /* an outlier: the others are small beside it */
        { 0x1p18f, STEPS, SPARSE },          /* not so small */
        { 0x1.fffffep59f, 1, 0 },
        { 0x1p60f, 1, BEYOND },
        { INFINITY, STEPS, BEYOND },
        { -NAN, STEPS, BEYOND },
        { -0x1p-49f, 1, 0 },
        { 0x1.fffffep-50f, 1, BEYOND },
        { -0x1p-149f, STEPS, COARSE },
    };
    const change of_two[] = { { 0x1p-29f, 3, SPARSE },      /* times 2^14 they are 2^-15 */
                              { 0x1p29f, STEPS, SPARSE } }; /* times 2^-15 the others are at least 2^-15 */
    const change of_one[] = { { 0x1p-28f, 3, SPARSE },      /* times 2^14 they are 2^-14 */
                              { 0x1p-29f, 3, COARSE | SPARSE },
                              { 0x1p28f, STEPS, SPARSE }, /* times 2^-14 the others are normal halves */
                              { 0x1p29f, STEPS, COARSE | SPARSE } };
    if (quick()) {
        check_marks_after(&cases[6], 2);
        return;
    }
    for (size_t i = 0; i < NDR_COUNT_OF(cases); ++i)
        for (unsigned parts = 1; parts <= 2; ++parts) check_marks_after(&cases[i], parts);
    for (size_t i = 0; i < NDR_COUNT_OF(of_two); ++i) check_marks_after(&of_two[i], 2);
    for (size_t i = 0; i < NDR_COUNT_OF(of_one); ++i) check_marks_after(&of_one[i], 1);
}

/* ---- the bound ---- */

/* Elements of 2^-range to 1, of which one of `zeros` is not 0: only the largest ones, only the smallest ones, or any. */
static void fill_line(float *to, size_t step, size_t count, int range, uint32_t zeros, uint32_t *state)
{
    const uint32_t kind = (*state >> 20) % 3;
    for (size_t i = 0; i < count; ++i) {
        const float x = random_float(state);
        const int exponent = kind == 0             ? 0
                             : kind == 1 && i % 16 ? range
                                                   : (int)((*state >> 16) % (uint32_t)(range + 1));
        to[i * step] = (*state >> 8) % zeros ? 0 : ldexpf(copysignf(1 + fabsf(x) / 2, x), -exponent);
    }
}

/* The sum of the products of parts that gemm_halves() adds, without rounding: three, or h*h alone. */
static double multiply_parts(const bench *s, size_t row, size_t col)
{
    double sum = 0;
    for (size_t t = 0; t < s->stretches; ++t) {
        const double x = (double)factor_at(s, false, row, t), y = (double)factor_at(s, true, col, t);
        double part = 0;
        for (size_t i = 0; i < steps_of(s); ++i) {
            const double a = (double)part_at(s, false, row, t, i, 0), b = (double)part_at(s, true, col, t, i, 0);
            part += a * b;
            if (s->parts == 1) continue;
            part += a * (double)part_at(s, true, col, t, i, 1) * 0x1p-11;
            part += (double)part_at(s, false, row, t, i, 1) * b * 0x1p-11;
        }
        sum += part * x * y;
    }
    return sum;
}

/* docs/appendix/proofs.md: the errors of the parts, and what the products leave out. */
static void check_bound(const bench *s)
{
    const double bound = s->parts == 2 ? 18.3 * 0x1p-23 : 0x1p-10 + 10.1 * 0x1p-23;
    for (size_t i = 0; i < s->m; ++i)
        for (size_t j = 0; j < s->n; ++j) {
            double sum = 0, size = 0;
            for (size_t p = 0; p < s->k; ++p) {
                const double term = (double)element_at(s, false, i, p) * (double)element_at(s, true, j, p);
                sum += term;
                size += fabs(term);
            }
            assert_true(fabs(multiply_parts(s, i, j) - sum) <= bound * size);
        }
}

static bool is_accepted(const bench *s)
{
    const unsigned marks = marks_of(s, NDR_HALVES_MARKS);
    return !(marks & BEYOND) && (marks & (COARSE | SPARSE)) != (COARSE | SPARSE);
}

/* Any zeros are accepted, as results of max(x, 0) have them, if the others are at least 2^-28 of the largest. */
static size_t check_accepted(uint64_t seed, unsigned parts)
{
    uint32_t random = (uint32_t)seed * 2654435761u;
    const int range = quick() ? 8 : seed % 3 ? 28 : 40; /* 8: no item sets a mark */
    const uint32_t zeros = quick() ? 0 : (uint32_t)seed;
    bench s = open_bench(3, 4, 200, 1, 3, parts, 64);
    for (size_t i = 0; i < s.m; ++i)
        fill_line(s.a + s.offset + i * (s.k + s.gap), 1, s.k, range, 1 + zeros % 4, &random);
    for (size_t j = 0; j < s.n; ++j) fill_line(s.b + s.offset + j, s.n + s.gap, s.k, range, 1 + zeros % 5, &random);
    split(&s);
    const bool is_refused = !is_accepted(&s);
    if (is_refused && range < 40) fail_msg("NDR_TEST_SEED=%d is refused with %u parts", (int)seed, parts);
    if (!is_refused) check_bound(&s);
    close_bench(&s);
    return is_refused;
}

static void test_halves__keep_the_bound_of_what_they_accept(void **state)
{
    skip_without_local_memory();
    const uint64_t first = number_from_env("NDR_TEST_SEED", 1);
    size_t refused[3] = { 0 };
    for (uint64_t seed = first; seed < first + (quick() ? 1 : 24); ++seed)
        for (unsigned parts = quick() ? 2 : 1; parts <= 2; ++parts) refused[parts] += check_accepted(seed, parts);
    assert_true(quick() || (refused[1] > 0 && refused[2] > 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_halves__of_elements_times_a_power_of_two),
        cmocka_unit_test(test_halves__marks_what_they_do_not_prove),
        cmocka_unit_test(test_halves__keep_the_bound_of_what_they_accept),
    };
    return cmocka_run_group_tests_name("halves", tests, open_device, close_device);
}
