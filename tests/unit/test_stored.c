/* test_stored.c - ndr_cache_visit(): each file of the store is described, and removed if the visitor says so. */
#include "support.h"

#include "base/disk.h"

#include <dirent.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 8, ANOTHER = 65534 };

static char folder[1024];

/* ---- what a visit finds ---- */

typedef struct found {
    char path[1200], what[200], options[200], device[200], library[200], fault[200];
    uint64_t size_bytes;
    int64_t used_s;
    bool is_of_this_library, has_fault;
} found;

static found entries[MOST];
static size_t entry_count;

static bool keep(const ndr_cache_entry *e, void *user)
{
    assert_true(entry_count < MOST);
    found *f = &entries[entry_count++];
    snprintf(f->path, sizeof f->path, "%s", e->path);
    snprintf(f->what, sizeof f->what, "%s", e->what);
    snprintf(f->options, sizeof f->options, "%s", e->options);
    snprintf(f->device, sizeof f->device, "%s", e->device);
    snprintf(f->library, sizeof f->library, "%s", e->library);
    snprintf(f->fault, sizeof f->fault, "%s", e->fault ? e->fault : "");
    f->size_bytes = e->size_bytes;
    f->used_s = e->used_s;
    f->is_of_this_library = e->is_of_this_library;
    f->has_fault = e->fault != NULL;
    return user && strcmp(user, e->fault ? "faults" : "whole") == 0;
}

/* `removed` is "faults", "whole" or NULL. Returns how many files there were. */
static size_t visit(const char *removed)
{
    entry_count = 0;
    assert_ok(ndr_cache_visit(keep, (void *)(uintptr_t)removed));
    return entry_count;
}

/* ---- a store with one program ---- */

static void put_program(void)
{
    ndr_context *made;
    const ndr_kernel_desc desc = { .options = "-DBY=2",
                                   .source = "kernel void twice(global int *x) { x[0] *= BY; }\n"
                                             "kernel void once(global int *x) { x[0] += BY; }\n" };
    assert_ok(ndr_context_create(NULL, &made));
    assert_ok(ndr_cache_warm(made, &(ndr_warm_desc){ .kernel = &desc }, 1, NULL, NULL));
    ndr_context_destroy(made);
}

/* The program is the entry at index 0. Probes for PTX may have added others. */
static void visit_program(void)
{
    size_t at = 0;
    put_program();
    assert_true(visit(NULL) > 0);
    while (at < entry_count && strncmp(entries[at].what, "kernels ", 8) != 0) ++at;
    assert_true(at < entry_count);
    entries[0] = entries[at];
}

static int begin(void **state)
{
    char command[2200];
    if (!getcwd(folder, sizeof folder - 16)) return -1;
    strcat(folder, "/store");
    snprintf(command, sizeof command, "chmod -R u+rwx '%s' 2>/dev/null; rm -rf '%s'", folder, folder);
    if (system(command) == -1) return -1;
    set_env("NDR_CACHE", folder);
    return 0;
}

static int end(void **state)
{
    restore_env();
    return 0;
}

/* ---- tests ---- */

static void test_stored__describes_a_program(void **state)
{
    visit_program();
    struct stat about;
    const found *f = &entries[0];
    assert_string_equal(f->what, "kernels twice, once");
    assert_non_null(strstr(f->options, "-DBY=2"));
    assert_string_equal(f->device, device.name);
    assert_string_equal(f->library, ndr_library_build);
    assert_true(f->is_of_this_library);
    assert_false(f->has_fault);
    assert_int_equal(stat(f->path, &about), 0);
    assert_int_equal(f->size_bytes, about.st_size);
    assert_int_equal(f->used_s, about.st_mtime);
}

static void test_stored__tells_the_folder(void **state)
{
    char text[1100], start[5];
    size_t length = 0;
    assert_ok(ndr_cache_get_folder(sizeof text, text, &length));
    assert_string_equal(text, folder);
    assert_int_equal(length, strlen(folder));
    assert_ok(ndr_cache_get_folder(sizeof start, start, NULL));
    assert_memory_equal(start, folder, 4);
    assert_int_equal(start[4], '\0');
    assert_refused(NDR_BAD_ARGUMENT, ndr_cache_get_folder(1, NULL, NULL), "text is NULL");
    assert_int_equal(visit(NULL), 0); /* it does not exist */
}

static void test_stored__finds_damage(void **state)
{
    visit_program();
    const found whole = entries[0];
    FILE *file = fopen(whole.path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, -1, SEEK_END), 0);
    fputc(0x5a, file);
    fclose(file);
    visit(NULL);
    size_t at = 0;
    while (at < entry_count && !entries[at].has_fault) ++at;
    assert_true(at < entry_count);
    assert_string_equal(entries[at].path, whole.path);
    assert_string_equal(entries[at].fault, "it is damaged: its checksum is wrong");
    assert_string_equal(entries[at].what, "");
    const size_t before = visit("faults");
    assert_int_equal(visit(NULL), before - 1);
}

static void test_stored__finds_files_of_writers_that_ended_and_of_other_keys(void **state)
{
    char cut[1300], other[1300], command[8000];
    visit_program();
    snprintf(cut, sizeof cut, "%s.1.2.3", entries[0].path);
    snprintf(other, sizeof other, "%s/ndr-%032x", folder, 7u);
    snprintf(command, sizeof command, "cp '%s' '%s'; cp '%s' '%s'; touch '%s/mine'", entries[0].path, cut,
             entries[0].path, other, folder);
    assert_int_equal(system(command), 0);
    visit(NULL);
    for (size_t i = 0; i < entry_count; ++i) {
        const char *fault = "";
        if (strcmp(entries[i].path, cut) == 0) fault = "a process ended while it wrote it, or is writing it";
        if (strcmp(entries[i].path, other) == 0) fault = "its name belongs to another key";
        assert_string_equal(entries[i].fault, fault);
        assert_null(strstr(entries[i].path, "mine"));
    }
    const size_t before = visit("faults");
    assert_int_equal(visit(NULL), before - 2);
}

static void test_stored__removes_what_the_visitor_says_and_no_other_file(void **state)
{
    char mine[1100];
    put_program();
    snprintf(mine, sizeof mine, "%s/mine", folder);
    write_file(mine, "mine");
    assert_true(visit("whole") > 0);
    assert_int_equal(visit(NULL), 0);
    assert_int_equal(access(mine, F_OK), 0);
}

static void test_stored__is_refused_without_a_store(void **state)
{
    char text[16];
    setenv("NDR_CACHE", "off", 1);
    assert_refused(NDR_NOT_KEPT, ndr_cache_visit(keep, NULL), "there is no store: NDR_CACHE is off; unset it");
    assert_refused(NDR_NOT_KEPT, ndr_cache_get_folder(sizeof text, text, NULL), "NDR_CACHE is off");
    setenv("NDR_CACHE", "here", 1);
    assert_refused(NDR_BAD_ARGUMENT, ndr_cache_visit(keep, NULL), "NDR_CACHE is \"here\"");
    assert_refused(NDR_BAD_ARGUMENT, ndr_cache_get_folder(0, NULL, NULL), "NDR_CACHE is \"here\"");
    assert_refused(NDR_BAD_ARGUMENT, ndr_cache_visit(NULL, NULL), "visitor is NULL");
}

static void test_stored__is_refused_where_others_may_write(void **state)
{
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_int_equal(chmod(folder, 0777), 0);
    assert_refused(NDR_NOT_KEPT, ndr_cache_visit(keep, NULL), folder, "chmod go-w");
}

static void test_stored__says_which_file_cannot_be_removed(void **state)
{
    skip_without(geteuid() == 0, "needs root, to become a user without rights");
    put_program();
    assert_int_equal(chmod(folder, 0500), 0);
    assert_int_equal(chown(folder, ANOTHER, ANOTHER), 0);
    const pid_t child = fork();
    if (child == 0) {
        if (setgid(ANOTHER) != 0 || setuid(ANOTHER) != 0) _exit(2);
        const ndr_status status = ndr_cache_visit(keep, (void *)(uintptr_t)"faults"); /* they are root's */
        const bool is_named = strstr(ndr_last_error(), "/ndr-") && strstr(ndr_last_error(), "\" cannot be removed: ");
        _exit(status == NDR_NOT_KEPT && is_named ? 0 : 1);
    }
    int ended;
    assert_int_equal(waitpid(child, &ended, 0), child);
    assert_int_equal(chown(folder, 0, 0), 0);
    assert_int_equal(ended, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_stored__describes_a_program),
        TEST(test_stored__tells_the_folder),
        TEST(test_stored__finds_damage),
        TEST(test_stored__finds_files_of_writers_that_ended_and_of_other_keys),
        TEST(test_stored__removes_what_the_visitor_says_and_no_other_file),
        TEST(test_stored__is_refused_without_a_store),
        TEST(test_stored__is_refused_where_others_may_write),
        TEST(test_stored__says_which_file_cannot_be_removed),
    };
    return cmocka_run_group_tests_name("stored", tests, open_device, close_device);
}
