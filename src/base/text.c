/* text.c - a growing string for options, keys and sources. */
#include "base/base.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool reserve(ndr_text *text, size_t extra)
{
    size_t needed, capacity = text->capacity ? text->capacity : 256;
    text->failed |= !ndr_add_fits(text->length, extra, &needed) || needed > SIZE_MAX / 4;
    if (text->failed || needed < text->capacity) return !text->failed;
    while (capacity <= needed) capacity *= 2;
    char *chars = realloc(text->chars, capacity);
    text->failed = !chars;
    if (!chars) return false;
    text->chars = chars;
    text->capacity = capacity;
    return true;
}

void ndr_text_add_chars(ndr_text *text, const char *chars, size_t count)
{
    if (!reserve(text, count)) return;
    memcpy(text->chars + text->length, chars, count);
    text->length += count;
    text->chars[text->length] = '\0';
}

void ndr_text_add_strings(ndr_text *text, const char *const *strings)
{
    for (size_t i = 0; strings[i]; ++i) ndr_text_add_chars(text, strings[i], strlen(strings[i]));
}

static void add_number(ndr_text *text, bool is_negative, size_t magnitude)
{
    char digits[24];
    size_t at = sizeof digits;
    do digits[--at] = (char)('0' + magnitude % 10);
    while (magnitude /= 10);
    if (is_negative) digits[--at] = '-';
    ndr_text_add_chars(text, digits + at, sizeof digits - at);
}

/* The conversions of most formats: printf() takes ten times as long, and operations write a text at every call. False:
 * there is another one. */
static bool add_simply(ndr_text *text, const char *format, va_list args)
{
    for (;;) {
        size_t literal = 0;
        while (format[literal] && format[literal] != '%') ++literal;
        ndr_text_add_chars(text, format, literal);
        format += literal;
        if (!*format) return true;
        const char kind = format[1];
        if (kind == 's') ndr_text_add_strings(text, (const char *const[]){ va_arg(args, const char *), NULL });
        else if (kind == 'c') ndr_text_add_chars(text, &(char){ (char)va_arg(args, int) }, 1);
        else if (kind == 'u') add_number(text, false, va_arg(args, unsigned));
        else if (kind == 'd') {
            const int number = va_arg(args, int);
            add_number(text, number < 0, number < 0 ? 0 - (size_t)number : (size_t)number);
        } else if (kind == 'z' && format[2] == 'u') {
            add_number(text, false, va_arg(args, size_t));
            ++format;
        } else if (strncmp(format, "%.*s", 4) == 0) {
            const size_t most = (size_t)va_arg(args, int); /* negative: all */
            const char *const string = va_arg(args, const char *);
            size_t length = 0;
            while (length < most && string[length]) ++length;
            ndr_text_add_chars(text, string, length);
            format += 2;
        } else return false;
        format += 2;
    }
}

void ndr_text_add_v(ndr_text *text, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    const size_t before = text->length;
    const bool is_added = add_simply(text, format, again);
    va_end(again);
    if (is_added) return;
    text->length = before;
    if (text->chars) text->chars[before] = '\0';
    va_copy(again, args);
    const int needed = vsnprintf(NULL, 0, format, args);
    if (needed < 0) text->failed = true;
    else if (reserve(text, (size_t)needed)) {
        vsnprintf(text->chars + text->length, (size_t)needed + 1, format, again);
        text->length += (size_t)needed;
    }
    va_end(again);
}

void ndr_text_add(ndr_text *text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    ndr_text_add_v(text, format, args);
    va_end(args);
}

void ndr_text_clear(ndr_text *text)
{
    text->length = 0;
    text->failed = false;
    if (text->chars) text->chars[0] = '\0';
}

void ndr_text_free(ndr_text *text)
{
    free(text->chars);
    *text = (ndr_text){ 0 };
}

char *ndr_text_copy(const char *chars, size_t count)
{
    char *copy = calloc(count + 1, 1);
    return copy ? memcpy(copy, chars, count) : NULL;
}

ndr_size_text ndr_sizes_print(unsigned dims, const size_t sizes[3])
{
    ndr_size_text out;
    if (dims == 2) snprintf(out.chars, sizeof out.chars, "(%zu, %zu)", sizes[0], sizes[1]);
    else if (dims == 3) snprintf(out.chars, sizeof out.chars, "(%zu, %zu, %zu)", sizes[0], sizes[1], sizes[2]);
    else snprintf(out.chars, sizeof out.chars, "%zu", sizes[0]);
    return out;
}

size_t ndr_text_distance(const char *a, const char *b)
{
    size_t row[256]; /* row[j]: of the first i characters of `a` and j of `b` */
    const size_t length = strlen(b);
    if (length >= NDR_COUNT_OF(row)) return SIZE_MAX;
    for (size_t j = 0; j <= length; ++j) row[j] = j;
    for (size_t i = 0; a[i]; ++i) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < length; ++j) {
            const size_t replaced = diagonal + (a[i] != b[j]);
            diagonal = row[j + 1];
            row[j + 1] = ndr_min_size(replaced, ndr_min_size(row[j], row[j + 1]) + 1);
        }
    }
    return row[length];
}

/* tolower() depends on the program's locale: in a Turkish one "I" is not an "i". */
static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

bool ndr_text_equal_ignoring_case(const char *a, const char *b)
{
    while (*a && lower(*a) == lower(*b)) ++a, ++b;
    return lower(*a) == lower(*b);
}

static bool starts_with_ignoring_case(const char *text, const char *part)
{
    while (*part && lower(*text) == lower(*part)) ++text, ++part;
    return *part == '\0';
}

bool ndr_text_contains_ignoring_case(const char *text, const char *part)
{
    for (;; ++text) {
        if (starts_with_ignoring_case(text, part)) return true;
        if (!*text) return false;
    }
}

/* ---- words ---- */

const char *ndr_word_skip_blanks(const char *at) { return at + strspn(at, " "); }
bool ndr_word_has(char c)
{
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

size_t ndr_word_length(const char *at)
{
    size_t length = 0;
    while (!isdigit((unsigned char)*at) && ndr_word_has(at[length])) ++length;
    return length;
}

const char *ndr_word_take(const char *at, const char *token)
{
    const size_t length = strlen(token);
    if (strncmp(at, token, length) != 0 || (ndr_word_has(*token) && ndr_word_has(at[length]))) return NULL;
    return ndr_word_skip_blanks(at + length);
}

bool ndr_word_is_one_of(const char *at, const char *const *words)
{
    while (*words && !ndr_word_take(at, *words)) ++words;
    return *words != NULL;
}

const char *ndr_word_find_start(const char *text, const char *start)
{
    const char *at = strstr(text, start);
    while (at && at > text && ndr_word_has(at[-1])) at = strstr(at + 1, start);
    return at;
}

const char *ndr_word_find(const char *text, const char *word)
{
    const char *at = ndr_word_find_start(text, word);
    while (at && ndr_word_has(at[strlen(word)])) at = ndr_word_find_start(at + 1, word);
    return at;
}
