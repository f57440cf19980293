/* json.c - checks JSON text. */
#include "json.h"

typedef struct cursor {
    const char *at, *end;
} cursor;

static void skip_blanks(cursor *c)
{
    while (c->at < c->end && memchr(" \t\r\n", *c->at, 4)) ++c->at;
}

static bool take(cursor *c, char wanted)
{
    skip_blanks(c);
    if (c->at >= c->end || *c->at != wanted) return false;
    ++c->at;
    return true;
}

static bool take_escape(cursor *c)
{
    if (c->at >= c->end) return false;
    const char kind = *c->at++;
    if (kind != 'u') return memchr("\"\\/bfnrt", kind, 8) != NULL;
    for (unsigned i = 0; i < 4; ++i, ++c->at)
        if (c->at >= c->end || !memchr("0123456789abcdefABCDEF", *c->at, 22)) return false;
    return true;
}

static bool take_string(cursor *c)
{
    if (!take(c, '"')) return false;
    while (c->at < c->end && *c->at != '"') {
        const unsigned char here = (unsigned char)*c->at++;
        if (here < 0x20 || (here == '\\' && !take_escape(c))) return false;
    }
    return take(c, '"');
}

static bool take_digits(cursor *c)
{
    const char *start = c->at;
    while (c->at < c->end && *c->at >= '0' && *c->at <= '9') ++c->at;
    return c->at > start;
}

static bool take_number(cursor *c)
{
    skip_blanks(c);
    if (c->at < c->end && *c->at == '-') ++c->at;
    const char *start = c->at;
    if (!take_digits(c) || (*start == '0' && c->at > start + 1)) return false;
    if (c->at < c->end && *c->at == '.' && (++c->at, !take_digits(c))) return false;
    if (c->at >= c->end || (*c->at != 'e' && *c->at != 'E')) return true;
    ++c->at;
    if (c->at < c->end && (*c->at == '+' || *c->at == '-')) ++c->at;
    return take_digits(c);
}

static bool take_value(cursor *c);

static bool take_members(cursor *c, char closing, bool has_keys)
{
    if (take(c, closing)) return true;
    do
        if ((has_keys && (!take_string(c) || !take(c, ':'))) || !take_value(c)) return false;
    while (take(c, ','));
    return take(c, closing);
}

static bool take_word(cursor *c, const char *word)
{
    const size_t length = strlen(word);
    if ((size_t)(c->end - c->at) < length || memcmp(c->at, word, length) != 0) return false;
    c->at += length;
    return true;
}

static bool take_value(cursor *c)
{
    skip_blanks(c);
    if (c->at >= c->end) return false;
    if (take_word(c, "true") || take_word(c, "false") || take_word(c, "null")) return true;
    if (*c->at == '"') return take_string(c);
    if (take(c, '{')) return take_members(c, '}', true);
    if (take(c, '[')) return take_members(c, ']', false);
    return take_number(c);
}

void json_check(const char *text, size_t length)
{
    cursor c = { text, text + length };
    const bool is_value = take_value(&c);
    skip_blanks(&c);
    if (!is_value || c.at != c.end)
        fail_msg("no JSON at byte %td of %zu: %.60s", c.at - text, length, c.at - text > 60 ? c.at - 60 : text);
}

bool json_field(const char *record, const char *key, char *value, size_t size)
{
    char wanted[64], line[2048];
    const int length = snprintf(wanted, sizeof wanted, "\"%s\":", key);
    snprintf(line, sizeof line, "%.*s", (int)strcspn(record, "\n"), record);
    const char *at = strstr(line, wanted);
    if (!at) return false;
    at += length + (at[length] == '"');
    snprintf(value, size, "%.*s", (int)strcspn(at, at[-1] == '"' ? "\"" : ",}"), at);
    return true;
}
