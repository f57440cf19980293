/* test_lock.c - the order of locks: a thread that breaks it ends a debug build, with the names of both. */
#include "support.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"

typedef struct locks {
    ndr_mutex order, queue, other_queue;
} locks;

static locks new_locks(void)
{
    locks l;
    ndr_mutex_init(&l.order, NDR_LOCK_ORDER);
    ndr_mutex_init(&l.queue, NDR_LOCK_QUEUE);
    ndr_mutex_init(&l.other_queue, NDR_LOCK_QUEUE);
    return l;
}

static void take_in_order(locks *l)
{
    ndr_mutex_lock(&l->queue);
    ndr_mutex_lock(&l->order);
    ndr_mutex_unlock(&l->order);
    ndr_mutex_unlock(&l->queue);
    ndr_mutex_lock(&l->other_queue);
    ndr_mutex_unlock(&l->other_queue);
}

static void take_an_earlier_kind(locks *l)
{
    ndr_mutex_lock(&l->order);
    ndr_mutex_lock(&l->queue);
}

static void take_two_of_one_kind(locks *l)
{
    ndr_mutex_lock(&l->queue);
    ndr_mutex_lock(&l->other_queue);
}

/* How a child process ends that calls `take`, and what it prints. */
static int run_child(void (*take)(locks *l), char *said, size_t capacity)
{
    int ends[2], status;
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        locks l = new_locks();
        (void)dup2(ends[1], STDERR_FILENO);
        (void)signal(SIGABRT, SIG_DFL);
        take(&l);
        _exit(0);
    }
    (void)close(ends[1]);
    const ssize_t count = read(ends[0], said, capacity - 1);
    said[count > 0 ? count : 0] = 0;
    (void)close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void skip_unless_checked(void)
{
#ifndef NDR_CHECK_LOCKS
    print_message("skipped: only debug builds check the order of locks\n");
    skip();
#endif
}

static void test_lock__may_be_taken_in_the_order_of_kinds(void **state)
{
    char said[256];
    const int status = run_child(take_in_order, said, sizeof said);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_string_equal(said, "");
}

static void test_lock__of_an_earlier_kind_ends_a_debug_build(void **state)
{
    skip_unless_checked();
    char said[256];
    const int status = run_child(take_an_earlier_kind, said, sizeof said);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    assert_string_equal(said, "libndr: the lock QUEUE is taken while ORDER is held\n");
}

static void test_lock__of_the_same_kind_ends_a_debug_build(void **state)
{
    skip_unless_checked();
    char said[256];
    const int status = run_child(take_two_of_one_kind, said, sizeof said);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    assert_string_equal(said, "libndr: the lock QUEUE is taken while QUEUE is held\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lock__may_be_taken_in_the_order_of_kinds),
        cmocka_unit_test(test_lock__of_an_earlier_kind_ends_a_debug_build),
        cmocka_unit_test(test_lock__of_the_same_kind_ends_a_debug_build),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
