/* main.c - a user's program: one launch with the vocabulary and a check of its result. */
#include <stdio.h>
#include <string.h>

#include <ndr/ndr.h>

static const char source[] = "#include <ndr/item.clh>\n"
                             "kernel void triple(global int *x, NDR_RANGE(1))\n"
                             "{\n"
                             "    const ndr_item it = NDR_ITEM(1);\n"
                             "    x[ndr_global_id(it, 0)] *= 3;\n"
                             "}\n";

#define TRY(call)                                                                          \
    do {                                                                                   \
        const ndr_status status_ = (call);                                                 \
        if (status_ != NDR_OK) {                                                           \
            fprintf(stderr, "%s: %s: %s\n", #call, ndr_status_name(status_), ndr_last_error()); \
            return 1;                                                                      \
        }                                                                                  \
    } while (0)

int main(void)
{
    if (strcmp(ndr_version(), NDR_VERSION_STRING) != 0) {
        fprintf(stderr, "header %s, library %s\n", NDR_VERSION_STRING, ndr_version());
        return 1;
    }

    int x[1000];
    for (int i = 0; i < 1000; i++) x[i] = i;

    ndr_context *context;
    ndr_queue *queue;
    ndr_buffer *buffer;
    ndr_kernel *kernel;
    TRY(ndr_context_create(NULL, &context));
    TRY(ndr_queue_create(context, NULL, &queue));
    TRY(ndr_buffer_create_from(context, sizeof x, x, &buffer));
    TRY(ndr_kernel_get(context, &(ndr_kernel_desc){ .name = "triple", .source = source }, &kernel));
    TRY(ndr_launch(queue, kernel, ndr_range_1d(1000), buffer));
    TRY(ndr_buffer_read(queue, buffer, 0, sizeof x, x, NULL));
    ndr_buffer_destroy(buffer);
    ndr_queue_destroy(queue);
    ndr_context_destroy(context);

    for (int i = 0; i < 1000; i++) {
        if (x[i] != 3 * i) {
            fprintf(stderr, "x[%d] is %d\n", i, x[i]);
            return 1;
        }
    }
    printf("libndr %s: 1000 right\n", ndr_version());
    return 0;
}
