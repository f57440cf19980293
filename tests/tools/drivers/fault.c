/* fault.c - driver_fault ID: run a reproducer of tools/ndr/faults on the first device of the first driver.
 *
 * Prints "right", "wrong" or "not tried"; the exit code is 0, 1, or 2 or 77. A crash or a hang also means that the fault is
 * there. */
#include "faults/faults.h"

#include <stdio.h>

int main(int argc, char **argv)
{
    static const char *const words[] = { [RIGHT] = "right", [WRONG] = "wrong", [NOT_TRIED] = "not tried" };
    const fault *const f = argc == 2 ? find_fault(argv[1]) : NULL;
    if (!f) fprintf(stderr, "usage: %s ID, as docs/appendix/drivers.md has it\n", argv[0]);
    if (!f) return NOT_TRIED;
    if (f->prepare) f->prepare();
    const int result = run_fault(f, NULL);
    printf("%s\n", words[result]);
    return result;
}
