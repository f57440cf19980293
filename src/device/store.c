/* store.c - built programs and their kernels, kept so that no source is compiled twice.
 *
 * Lists, not hash tables: a process builds tens of kernels, and walking them is nothing beside a launch. */
#include "device/device.h"

#include <stdlib.h>
#include <string.h>

ndr_status ndr_store_create(ndr_store **store)
{
    ndr_store *made = calloc(1, sizeof *made);
    if (!made) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for a kernel store");
    pthread_mutex_init(&made->lock, NULL);
    pthread_mutex_init(&made->build_lock, NULL);
    *store = made;
    return NDR_OK;
}

void ndr_kernel_free(ndr_kernel *kernel)
{
    if (!kernel) return;
    if (kernel->cl) clReleaseKernel(kernel->cl);
    for (unsigned i = 0; kernel->params && i < kernel->arg_count; ++i) {
        free(kernel->params[i].name);
        free(kernel->params[i].type_name);
    }
    free(kernel->params);
    free(kernel->name);
    free(kernel->last_plan);
    pthread_mutex_destroy(&kernel->lock);
    free(kernel);
}

void ndr_program_free(ndr_program *program)
{
    if (!program) return;
    for (ndr_kernel *kernel = program->kernels, *next; kernel; kernel = next) {
        next = kernel->next;
        ndr_kernel_free(kernel);
    }
    if (program->cl) clReleaseProgram(program->cl);
    free(program->key);
    free(program->title);
    free(program->text);
    free(program->options);
    free(program);
}

void ndr_store_destroy(ndr_store *store)
{
    if (!store) return;
    for (ndr_program *program = store->programs, *next; program; program = next) {
        next = program->next;
        ndr_program_free(program);
    }
    pthread_mutex_destroy(&store->lock);
    pthread_mutex_destroy(&store->build_lock);
    free(store);
}

ndr_program *ndr_store_find(ndr_store *store, const char *key)
{
    pthread_mutex_lock(&store->lock);
    ndr_program *program = store->programs;
    while (program && strcmp(program->key, key) != 0) program = program->next;
    pthread_mutex_unlock(&store->lock);
    return program;
}

ndr_kernel *ndr_store_find_kernel(ndr_store *store, const ndr_program *program, const char *name)
{
    pthread_mutex_lock(&store->lock);
    ndr_kernel *kernel = program->kernels;
    while (kernel && strcmp(kernel->name, name) != 0) kernel = kernel->next;
    pthread_mutex_unlock(&store->lock);
    return kernel;
}

void ndr_store_keep(ndr_store *store, ndr_program *program)
{
    pthread_mutex_lock(&store->lock);
    program->next = store->programs;
    store->programs = program;
    pthread_mutex_unlock(&store->lock);
}

void ndr_store_keep_kernel(ndr_store *store, ndr_program *program, ndr_kernel *kernel)
{
    pthread_mutex_lock(&store->lock);
    kernel->next = program->kernels;
    program->kernels = kernel;
    pthread_mutex_unlock(&store->lock);
}
