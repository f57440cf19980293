/* broken_icd.c - a driver that ends or hangs the process that opens it: BROKEN_ICD_DOES is "crash" or "hang". */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((constructor)) static void do_it(void)
{
    const char *what = getenv("BROKEN_ICD_DOES");
    if (what && strcmp(what, "crash") == 0) raise(SIGSEGV);
    while (what && strcmp(what, "hang") == 0) pause();
}
