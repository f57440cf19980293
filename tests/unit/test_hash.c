/* test_hash.c - the hash that stands for sources and requests: the published one, and each bit counts. */
#include "support.h"

#include "base/base.h"

static void store_low_first(uint64_t word, unsigned char *bytes)
{
    for (int i = 0; i < 8; ++i) bytes[i] = (unsigned char)(word >> 8 * i);
}

/* Its author's own check: the hash of the hashes of 0 to 255 bytes 0, 1, 2, ..., seeded with 256 less their number. */
static void test_hash__is_murmur_hash_3_of_128_bits(void **state)
{
    (void)state;
    unsigned char bytes[256], hashes[256 * 16];
    for (unsigned i = 0; i < 256; ++i) {
        bytes[i] = (unsigned char)i;
        const ndr_hash hash = ndr_hash_bytes(bytes, i, 256 - i);
        store_low_first(hash.words[0], hashes + 16 * i);
        store_low_first(hash.words[1], hashes + 16 * i + 8);
    }
    assert_int_equal(ndr_hash_bytes(hashes, sizeof hashes, 0).words[0] & 0xffffffff, 0x6384BA69);
}

static unsigned bits_of(uint64_t word)
{
    unsigned bits = 0;
    for (; word; word &= word - 1) ++bits;
    return bits;
}

/* One bit of a text changes about half of both words, wherever it stands. */
static void test_hash__of_texts_that_differ_in_a_bit_differs(void **state)
{
    (void)state;
    for (size_t length = 1; length <= 40; ++length)
        for (size_t bit = 0; bit < 8 * length; ++bit) {
            unsigned char text[40];
            memset(text, 'x', sizeof text);
            const ndr_hash before = ndr_hash_bytes(text, length, 0);
            text[bit / 8] ^= (unsigned char)(1u << bit % 8);
            const ndr_hash after = ndr_hash_bytes(text, length, 0);
            assert_false(ndr_hash_equal(before, after));
            for (int w = 0; w < 2; ++w) assert_in_range(bits_of(before.words[w] ^ after.words[w]), 8, 56);
        }
}

/* A hash is 128 bits: two that share either half are not equal. */
static void test_hash__is_equal_in_both_words_only(void **state)
{
    (void)state;
    const ndr_hash a = { { 1, 2 } }, b = { { 1, 3 } }, c = { { 3, 2 } };
    assert_true(ndr_hash_equal(a, a));
    assert_false(ndr_hash_equal(a, b));
    assert_false(ndr_hash_equal(a, c));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hash__is_murmur_hash_3_of_128_bits),
        cmocka_unit_test(test_hash__of_texts_that_differ_in_a_bit_differs),
        cmocka_unit_test(test_hash__is_equal_in_both_words_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
