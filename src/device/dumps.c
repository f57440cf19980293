/* dumps.c - reads NDR_DUMP: FOLDER, and behind commas `all`, `kernel=NAME` and `slow=MILLISECONDS`. */
#include "device/dumps.h"

#include <stdlib.h>

static const char advice[] = "set it to a folder, and behind commas to all, kernel=NAME or slow=MILLISECONDS";

/* The value of `key=value` in a word of that length; NULL: it is another word. */
static const char *value_of(const char *key, const char *word, size_t length)
{
    const size_t skipped = strlen(key);
    return length > skipped && strncmp(word, key, skipped) == 0 ? word + skipped : NULL;
}

static bool read_slow(const char *digits, size_t length, ndr_dumps *dumps)
{
    enum { MOST_DIGITS = 9 };
    if (length > MOST_DIGITS || strspn(digits, "0123456789") < length) return false;
    dumps->slow_ns = strtoll(digits, NULL, 10) * 1000000;
    return dumps->slow_ns > 0;
}

static ndr_status read_word(const char *words, const char *word, size_t length, ndr_dumps *dumps)
{
    const char *const kernel = value_of("kernel=", word, length), *const slow = value_of("slow=", word, length);
    const size_t left = length - (size_t)((kernel ? kernel : slow ? slow : word) - word);
    if (kernel && !dumps->kernel) {
        dumps->kernel = ndr_text_copy(kernel, left);
        return dumps->kernel ? NDR_OK : ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for NDR_DUMP");
    }
    const bool is_all = length == strlen("all") && strncmp(word, "all", length) == 0;
    dumps->saves_all |= is_all;
    NDR_REQUIRE(is_all || (slow && read_slow(slow, left, dumps)), "NDR_DUMP is \"%s\", where \"%.*s\" is not known; %s",
                words, (int)length, word, advice);
    return NDR_OK;
}

static ndr_status read_folder(const char *words, size_t length, ndr_dumps *dumps)
{
    char here[1024];
    ndr_text path = { 0 };
    NDR_REQUIRE(length > 0, "NDR_DUMP is \"%s\", which names no folder; %s", words, advice);
    if (*words != '/' && ndr_working_directory(here, sizeof here)) ndr_text_add(&path, "%s/", here);
    ndr_text_add_chars(&path, words, length);
    dumps->folder = path.chars;
    return path.failed ? ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for NDR_DUMP") : NDR_OK;
}

ndr_status ndr_dumps_parse(const char *words, ndr_dumps *dumps)
{
    if (!words || !*words) return NDR_OK;
    const char *end = words + strcspn(words, ",");
    NDR_TRY(read_folder(words, (size_t)(end - words), dumps));
    while (*end) {
        const char *const word = end + 1;
        end = word + strcspn(word, ",");
        NDR_TRY(read_word(words, word, (size_t)(end - word), dumps));
    }
    dumps->saves_all |= dumps->kernel && dumps->slow_ns == 0;
    return NDR_OK;
}

ndr_status ndr_dumps_open(const char *words, ndr_dumps *dumps)
{
    NDR_TRY(ndr_dumps_parse(words, dumps));
    if (!dumps->folder) return NDR_OK;
    const int error = ndr_folder_check_write(dumps->folder);
    NDR_REQUIRE(!error, "NDR_DUMP: launches cannot be saved in \"%s\": %s; choose a folder that this user can write to",
                dumps->folder, ndr_errno_print(error).chars);
    return NDR_OK;
}

void ndr_dumps_free(ndr_dumps *dumps)
{
    free(dumps->folder);
    free(dumps->kernel);
}
