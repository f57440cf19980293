/* main.c - a linked list of words in shared memory: built on the host, changed on the device, printed by the host. */
#include "example.h"

#include <ndr/ndr_shared.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The same struct as in linked_list.cl. */
typedef struct word {
    struct word *next;
    char *text;
    int length;
} word;

static const char *const given[] = { "pointers", "in",   "shared", "memory", "are",
                                     "the",      "same", "on",     "both",   "sides" };
enum { WORDS = sizeof given / sizeof given[0], LETTERS = 64 };

/* Link the words, each with its letters in another allocation. */
static void build(word *words, char *letters)
{
    for (int i = 0; i < WORDS; ++i) {
        words[i].next = i + 1 < WORDS ? &words[i + 1] : NULL;
        words[i].text = letters;
        words[i].length = (int)strlen(given[i]);
        memcpy(letters, given[i], strlen(given[i]));
        letters += words[i].length;
    }
}

static void print(const word *first)
{
    for (const word *w = first; w; w = w->next) printf("%.*s%s", w->length, w->text, w->next ? " " : "\n");
}

static bool walk(ndr_context *context, ndr_queue *queue)
{
    ndr_shared *words, *letters, *counts;
    MUST(ndr_shared_create(context, NDR_SHARED_ANY, WORDS * sizeof(word), &words));
    MUST(ndr_shared_create(context, NDR_SHARED_ANY, LETTERS, &letters));
    MUST(ndr_shared_create(context, NDR_SHARED_ANY, 2 * sizeof(int), &counts));
    word *first = ndr_shared_pointer(words);

    MUST(ndr_shared_map(queue, words, NDR_MAP_WRITE, 0, WORDS * sizeof(word), NULL));
    MUST(ndr_shared_map(queue, letters, NDR_MAP_WRITE, 0, LETTERS, NULL));
    build(first, ndr_shared_pointer(letters));
    MUST(ndr_shared_unmap(queue, words, first, NULL));
    MUST(ndr_shared_unmap(queue, letters, ndr_shared_pointer(letters), NULL));

    /* The kernel reaches the letters only through pointers in the words. */
    ndr_kernel *capitalize;
    const ndr_kernel_desc desc = { .name = "capitalize", .file = EXAMPLE_DIR "/linked_list.cl" };
    MUST(ndr_kernel_get(context, &desc, &capitalize));
    MUST(ndr_launch(queue, capitalize, ndr_range_1d(1), words, counts, ndr_reaches(letters)));

    int got[2], expected = 0;
    MUST(ndr_shared_read(queue, counts, 0, sizeof got, got, NULL));
    MUST(ndr_shared_map(queue, words, NDR_MAP_READ, 0, WORDS * sizeof(word), NULL));
    MUST(ndr_shared_map(queue, letters, NDR_MAP_READ, 0, LETTERS, NULL));
    print(first);
    MUST(ndr_shared_unmap(queue, letters, ndr_shared_pointer(letters), NULL));
    MUST(ndr_shared_unmap(queue, words, first, NULL));

    for (int i = 0; i < WORDS; ++i) expected += (int)strlen(given[i]);
    const bool counts_words = show_number("words", got[0], WORDS, 0);
    const bool counts_letters = show_number("letters", got[1], expected, 0);
    ndr_shared_destroy(words);
    ndr_shared_destroy(letters);
    ndr_shared_destroy(counts);
    return counts_words && counts_letters;
}

int main(int argc, char **argv)
{
    const char *device = NULL;
    const option options[] = { OPTION_DEVICE(&device), { NULL, NULL, NULL, NULL } };
    read_options(argc, argv, "A linked list in shared memory.", options);
    ndr_context *context;
    ndr_queue *queue;
    ndr_shared_info shared;
    open_device(device, false, &context, &queue);
    MUST(ndr_shared_get_info(context, NDR_SHARED_ANY, &shared));
    if (!shared.is_available) printf("this device has no shared memory: nothing to show\n");
    const bool is_right = !shared.is_available || walk(context, queue);
    ndr_queue_destroy(queue);
    ndr_context_destroy(context);
    return is_right ? EXIT_SUCCESS : EXIT_FAILURE;
}
