/* test_attachment.c - data that higher floors keep with an object: created once for all threads, closed once, newest
 * first. */
#include "support.h"

#include <pthread.h>

#include "device/attachment.h"

enum { CLOSINGS = 8, THREADS = 4 };

static const ndr_attachment_kind *closed[CLOSINGS];
static atomic_uint opened_count, closed_count;

typedef struct numbered {
    ndr_attachment base;
    unsigned number;
} numbered;

static void open_numbered(ndr_attachment *made)
{
    ((numbered *)made)->number = 1 + atomic_fetch_add(&opened_count, 1);
}

static void close_counted(ndr_attachment *gone)
{
    const unsigned place = atomic_fetch_add(&closed_count, 1);
    if (place < CLOSINGS) closed[place] = gone->kind;
}

static const ndr_attachment_kind first_kind = { "a number", sizeof(numbered), NDR_LOCK_REGISTRY, open_numbered, close_counted };
static const ndr_attachment_kind second_kind = { "another", sizeof(numbered), NDR_LOCK_REGISTRY, open_numbered, close_counted };
static const ndr_attachment_kind plain_kind = { "a plain one", sizeof(numbered), NDR_LOCK_REGISTRY, NULL, NULL };

static int forget(void **state)
{
    atomic_store(&opened_count, 0);
    atomic_store(&closed_count, 0);
    return 0;
}

static numbered *get(ndr_attachments *list, const ndr_attachment_kind *kind)
{
    ndr_attachment *found = NULL;
    assert_ok(ndr_attachment_get(list, kind, &found));
    assert_non_null(found);
    assert_ptr_equal(found->kind, kind);
    return (numbered *)found;
}

static void test_attachment__is_made_once_for_each_kind(void **state)
{
    ndr_attachments list = NULL;
    numbered *first = get(&list, &first_kind), *second = get(&list, &second_kind);
    assert_int_equal(first->number, 1);
    assert_int_equal(second->number, 2);
    assert_ptr_equal(get(&list, &first_kind), first);
    assert_ptr_equal(get(&list, &second_kind), second);
    assert_int_equal(get(&list, &plain_kind)->number, 0); /* zeros */
    assert_int_equal(opened_count, 2);
    ndr_attachments_free(&list);
}

static void test_attachment__is_closed_once_and_the_newest_first(void **state)
{
    ndr_attachments list = NULL;
    (void)get(&list, &first_kind);
    (void)get(&list, &plain_kind);
    (void)get(&list, &second_kind);
    ndr_attachments_free(&list);
    assert_int_equal(closed_count, 2);
    assert_ptr_equal(closed[0], &second_kind);
    assert_ptr_equal(closed[1], &first_kind);
    ndr_attachments_free(&list);
    assert_int_equal(closed_count, 2);
}

static void test_attachment__that_has_no_memory_is_refused(void **state)
{
    static const ndr_attachment_kind huge = { "a mountain", SIZE_MAX, NDR_LOCK_REGISTRY, NULL, NULL };
    ndr_attachments list = NULL;
    ndr_attachment *found = NULL;
    assert_refused(NDR_OUT_OF_HOST_MEMORY, ndr_attachment_get(&list, &huge, &found), "no memory for a mountain");
    assert_null(found);
    assert_null(list);
}

/* ---- threads ---- */

static pthread_barrier_t all_are_making;

/* Every thread creates its data before any thread adds its data to the list. */
static void open_together(ndr_attachment *made)
{
    open_numbered(made);
    pthread_barrier_wait(&all_are_making);
}

static const ndr_attachment_kind joint_kind = { "a joint one", sizeof(numbered), NDR_LOCK_REGISTRY, open_together, close_counted };

typedef struct seeker {
    ndr_attachments *list;
    ndr_attachment *found;
} seeker;

static void *seek(void *seeker_)
{
    seeker *s = seeker_;
    return ndr_attachment_get(s->list, &joint_kind, &s->found) == NDR_OK ? s : NULL;
}

static void test_attachment__is_the_same_for_all_threads(void **state)
{
    ndr_attachments list = NULL;
    seeker seekers[THREADS];
    pthread_t threads[THREADS];
    assert_int_equal(pthread_barrier_init(&all_are_making, NULL, THREADS), 0);
    for (size_t t = 0; t < THREADS; ++t) {
        seekers[t] = (seeker){ &list, NULL };
        assert_int_equal(pthread_create(&threads[t], NULL, seek, &seekers[t]), 0);
    }
    for (size_t t = 0; t < THREADS; ++t) assert_int_equal(pthread_join(threads[t], NULL), 0);
    pthread_barrier_destroy(&all_are_making);
    for (size_t t = 0; t < THREADS; ++t) assert_ptr_equal(seekers[t].found, atomic_load(&list));
    assert_null(atomic_load(&list)->next);
    assert_int_equal(opened_count, THREADS);
    assert_int_equal(closed_count, THREADS - 1); /* all but the one in the list */
    ndr_attachments_free(&list);
    assert_int_equal(closed_count, THREADS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_attachment__is_made_once_for_each_kind, forget),
        cmocka_unit_test_setup(test_attachment__is_closed_once_and_the_newest_first, forget),
        cmocka_unit_test_setup(test_attachment__that_has_no_memory_is_refused, forget),
        cmocka_unit_test_setup(test_attachment__is_the_same_for_all_threads, forget),
    };
    return cmocka_run_group_tests_name("attachment", tests, NULL, NULL);
}
