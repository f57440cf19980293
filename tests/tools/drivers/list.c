/* list.c - print a line for each device of every driver: index, type, OpenCL version, driver, platform, name. */
#include <stdio.h>
#include <stdlib.h>

#include "ndr/ndr.h"

int main(void)
{
    ndr_device_info devices[64];
    size_t count = 0;
    if (ndr_device_list(64, devices, &count) != NDR_OK) {
        fprintf(stderr, "%s\n", ndr_last_error());
        return EXIT_FAILURE;
    }
    for (size_t i = 0; i < count && i < 64; ++i)
        printf("%zu\t%s\t%s\t%s\t%s\t%s\n", i, ndr_device_type_name(devices[i].type), devices[i].opencl,
               devices[i].driver, devices[i].platform, devices[i].name);
    return EXIT_SUCCESS;
}
