/* text.h - a growing string, and words in a text. */
#ifndef NDR_TEXT_H
#define NDR_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/* A growing string; {0} is empty. After a failed append it is marked as failed and later appends do nothing, so
 * callers check once, when they use the result. */
typedef struct ndr_text {
    char *chars; /* NULL while empty */
    size_t length, capacity;
    bool failed;
} ndr_text;

void ndr_text_add(ndr_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void ndr_text_add_v(ndr_text *text, const char *format, va_list args) __attribute__((format(printf, 2, 0)));
#define ndr_text_add_all(text, ...) ndr_text_add_strings((text), (const char *const[]){ __VA_ARGS__, NULL })
void ndr_text_add_strings(ndr_text *text, const char *const *strings); /* ended by NULL: faster than a format */
void ndr_text_add_chars(ndr_text *text, const char *chars, size_t count);
void ndr_text_clear(ndr_text *text); /* set to empty; keep the memory */
void ndr_text_free(ndr_text *text);
char *ndr_text_copy(const char *chars, size_t count); /* as a string, to be freed; NULL: no memory */

/* "1000" or "(16, 8)": sizes in libndr's order, as sentences print them. */
typedef struct ndr_size_text {
    char chars[80];
} ndr_size_text;
ndr_size_text ndr_sizes_print(unsigned dims, const size_t sizes[3]);

/* How many characters must be added, removed or replaced to make one of the other; SIZE_MAX for longer texts than names
 * of files. */
size_t ndr_text_distance(const char *a, const char *b);

bool ndr_text_equal_ignoring_case(const char *a, const char *b);
bool ndr_text_contains_ignoring_case(const char *text, const char *part);

/* For text whose blanks are all ' '. Skip blanks; skip `token` and blanks, or return NULL if there is another token;
 * the length of the name at `at`. */
const char *ndr_word_skip_blanks(const char *at);
const char *ndr_word_take(const char *at, const char *token);
size_t ndr_word_length(const char *at);
bool ndr_word_is_one_of(const char *at, const char *const *words); /* `words` ends with NULL */

/* Whether a character may be part of a name; the next name that starts with `start`; the next name that equals
 * `word`; NULL if there is none. */
bool ndr_word_has(char c);
const char *ndr_word_find_start(const char *text, const char *start);
const char *ndr_word_find(const char *text, const char *word);

#endif
