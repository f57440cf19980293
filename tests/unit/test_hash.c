/* test_hash.c - the hash of sources and requests: the published function; each bit changes it. */
#include "support.h"

#include "base/base.h"

/* Entries on disk are found by their hash. If a new version of the hash library changed it, all would be lost. */
static void test_hash__is_xxh3_of_128_bits(void **state)
{
    const ndr_hash empty = ndr_hash_bytes("", 0), text = ndr_hash_bytes("kernel void k() {}", 18);
    assert_true(empty.words[1] == 0x99aa06d3014798d8 && empty.words[0] == 0x6001c324468d497f);
    assert_true(text.words[1] == 0x4c9f41dce41caf2d && text.words[0] == 0x3f411c10958329eb);
}

static unsigned bits_of(uint64_t word)
{
    unsigned bits = 0;
    for (; word; word &= word - 1) ++bits;
    return bits;
}

/* One bit of a text changes about half of both words, whatever its place. */
static void test_hash__of_texts_that_differ_in_a_bit_differs(void **state)
{
    for (size_t length = 1; length <= 40; ++length)
        for (size_t bit = 0; bit < 8 * length; ++bit) {
            unsigned char text[40];
            memset(text, 'x', sizeof text);
            const ndr_hash before = ndr_hash_bytes(text, length);
            text[bit / 8] ^= (unsigned char)(1u << bit % 8);
            const ndr_hash after = ndr_hash_bytes(text, length);
            assert_false(ndr_hash_equal(before, after));
            for (int w = 0; w < 2; ++w) assert_in_range(bits_of(before.words[w] ^ after.words[w]), 8, 56);
        }
}

/* A hash has 128 bits. Two hashes that share only one half are not equal. */
static void test_hash__is_equal_in_both_words_only(void **state)
{
    const ndr_hash a = { { 1, 2 } }, b = { { 1, 3 } }, c = { { 3, 2 } };
    assert_true(ndr_hash_equal(a, a));
    assert_false(ndr_hash_equal(a, b));
    assert_false(ndr_hash_equal(a, c));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hash__is_xxh3_of_128_bits),
        cmocka_unit_test(test_hash__of_texts_that_differ_in_a_bit_differs),
        cmocka_unit_test(test_hash__is_equal_in_both_words_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
