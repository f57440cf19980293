/* system.c - what is asked of the operating system: its environment variables, the text of its errors. */
#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/auxv.h>
#endif

/* Whether the program runs with rights that whoever started it has not: set-user-ID, set-group-ID, capabilities. */
static bool has_more_rights_than_its_caller(void)
{
#ifdef __linux__
    return getauxval(AT_SECURE) != 0;
#else
    return getuid() != geteuid() || getgid() != getegid();
#endif
}

const char *ndr_environment(const char *name) { return has_more_rights_than_its_caller() ? NULL : getenv(name); }

/* strerror_r() has two forms: POSIX's returns 0 and writes into `chars`; GNU's returns the text, which may stand
 * elsewhere. */
static inline const char *text_of_posix(int result, const char *chars) { return result == 0 ? chars : "unknown error"; }
static inline const char *text_of_gnu(const char *result, const char *chars) { return result ? result : chars; }
#define TEXT_OF(result, chars) _Generic((result), int: text_of_posix, default: text_of_gnu)((result), (chars))

ndr_errno_text ndr_errno_print(int error)
{
    ndr_errno_text out;
    char chars[sizeof out.chars] = "";
    snprintf(out.chars, sizeof out.chars, "%s", TEXT_OF(strerror_r(error, chars, sizeof chars), chars));
    return out;
}
