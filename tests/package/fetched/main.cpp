// main.cpp - a user's program in C++: one typed launch and a check of its result.
#include <cstdio>

#include "triple.cl.h"

static int fail(ndr_status status)
{
    std::fprintf(stderr, "%s: %s\n", ndr_status_name(status), ndr_last_error());
    return 1;
}

int main()
{
    int x[1000];
    for (int i = 0; i < 1000; ++i) x[i] = i;

    ndr_context *context = nullptr;
    ndr_queue *queue = nullptr;
    ndr_buffer *buffer = nullptr;
    ndr_status status = ndr_context_create(nullptr, &context);
    if (status == NDR_OK) status = ndr_queue_create(context, nullptr, &queue);
    if (status == NDR_OK) status = ndr_buffer_create_from(context, sizeof x, x, &buffer);
    if (status == NDR_OK) status = triple(queue, ndr_range_1d(1000), buffer);
    if (status == NDR_OK) status = ndr_buffer_read(queue, buffer, 0, sizeof x, x, nullptr);
    if (status != NDR_OK) return fail(status);
    ndr_buffer_destroy(buffer);
    ndr_queue_destroy(queue);
    ndr_context_destroy(context);

    for (int i = 0; i < 1000; ++i) {
        if (x[i] != 3 * i) return std::printf("x[%d] is %d\n", i, x[i]), 1;
    }
}
