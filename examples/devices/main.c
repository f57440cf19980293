/* main.c - lists the devices of every driver, and shows which one a program opens. */
#include "example.h"

#include <stdio.h>
#include <stdlib.h>

static void show_sub_groups(const ndr_device_info *device)
{
    for (unsigned i = 0; i < device->sub_group_size_count; ++i)
        printf("%s %zu", i == 0 ? ", sub-groups of" : " or", device->sub_group_sizes[i]);
    if (device->has_sub_groups && device->sub_group_size_count == 0) printf(", sub-groups");
}

static void show_device(size_t index, const ndr_device_info *device)
{
    const unsigned long long memory_bytes = device->global_memory_bytes, buffer_bytes = device->max_buffer_bytes;
    printf("%zu: %s \"%s\"\n", index, ndr_device_type_name(device->type), device->name);
    printf("   platform %s, driver %s, %s\n", device->platform, device->driver, device->opencl);
    printf("   %u compute units, groups of at most %zu items, %zu KiB of local memory\n", device->compute_units,
           device->max_group_size, device->local_memory_bytes >> 10);
    printf("   %llu MiB of memory, buffers of at most %llu MiB\n", memory_bytes >> 20, buffer_bytes >> 20);
    printf("   float%s%s%s", device->has_f64 ? ", double" : "", device->has_f16 ? ", half" : "",
           device->has_int64_atomics ? ", 64-bit atomics" : "");
    show_sub_groups(device);
    printf("\n");
}

static void list_devices(void)
{
    size_t count, listed;
    MUST(ndr_device_list(0, NULL, &count));
    ndr_device_info *devices = allocate(count, sizeof *devices);
    MUST(ndr_device_list(count, devices, &listed)); /* the list may have changed since */
    for (size_t i = 0; i < count && i < listed; ++i) show_device(i, &devices[i]);
    free(devices);
}

static void show_chosen(const char *words)
{
    ndr_context *context;
    ndr_device_info device;
    MUST(ndr_context_create(words, &context));
    MUST(ndr_context_get_device(context, &device));
    printf("chosen: %s, %s\n", device.name, device.platform);
    ndr_context_destroy(context);
}

int main(int argc, char **argv)
{
    const char *device = NULL;
    const option options[] = { OPTION_DEVICE(&device), { NULL, NULL, NULL, NULL } };
    read_options(argc, argv, "lists the devices", options);
    list_devices();
    show_chosen(device);
    return EXIT_SUCCESS;
}
