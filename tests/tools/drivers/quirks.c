/* quirks.c - print a line for each known fault of drivers: id, how libndr tells it. */
#include <stdio.h>
#include <stdlib.h>

#include "device/quirks.h"

int main(void)
{
    for (size_t i = 0; i < ndr_quirk_row_count; ++i)
        printf("%s\t%s\n", ndr_quirk_rows[i].id, ndr_quirk_rows[i].sign->text);
    return EXIT_SUCCESS;
}
