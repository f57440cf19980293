/* test_os.c - the operating system: the environment, which is ignored in a program with more rights than its
 * caller; folders that can be written; the text of an errno, from any thread. */
#define _GNU_SOURCE
#include "support.h"

#include <errno.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "base/disk.h"

/* ---- the environment ---- */

static void test_os__reads_the_environment(void **state)
{
    set_env("NDR_DEVICE", "a word");
    assert_string_equal(ndr_environment("NDR_DEVICE"), "a word");
    set_env("NDR_DEVICE", "");
    assert_string_equal(ndr_environment("NDR_DEVICE"), "");
    set_env("NDR_DEVICE", NULL);
    assert_null(ndr_environment("NDR_DEVICE"));
    restore_env();
}

static void copy_of_this_program(const char *path)
{
    FILE *from = fopen("/proc/self/exe", "rb"), *to = fopen(path, "wb");
    assert_non_null(from);
    assert_non_null(to);
    static char chunk[1 << 16];
    for (size_t got; (got = fread(chunk, 1, sizeof chunk, from)) > 0;)
        assert_int_equal(fwrite(chunk, 1, got, to), got);
    assert_int_equal(fclose(to), 0);
    fclose(from);
}

/* Another group of this user, or the given group if there is no other. */
static gid_t another_group(gid_t otherwise)
{
    gid_t groups[64];
    const int count = getgroups(64, groups);
    for (int i = 0; i < count; ++i)
        if (groups[i] != getgid()) return groups[i];
    return otherwise;
}

/* Give the file to another user (only root can) or group, and make it run as that user or group. */
static bool takes_the_rights_of_another(const char *path)
{
    enum { ANOTHER = 65534 };
    if (chown(path, ANOTHER, (gid_t)-1) == 0) return chmod(path, 04755) == 0;
    return chown(path, (uid_t)-1, another_group(getgid())) == 0 && chmod(path, 02755) == 0;
}

/* What the copy of this program found. It is the copy's exit status. */
enum { FOUND_NOTHING = 10, FOUND_A_VALUE, RAN_WITH_ITS_CALLERS_RIGHTS };

static int look_from_the_copy(void)
{
    if (getuid() == geteuid() && getgid() == getegid()) return RAN_WITH_ITS_CALLERS_RIGHTS;
    ndr_disk disk; /* its folder would otherwise come from HOME */
    ndr_disk_open(&disk);
    return ndr_environment("NDR_DEVICE") || ndr_environment("NDR_DISABLE") || disk.folder.chars ? FOUND_A_VALUE
                                                                                                : FOUND_NOTHING;
}

static int run_copy(const char *path)
{
    const pid_t child = fork();
    if (child == 0) {
        setenv("NDR_DEVICE", "anything", 1);
        setenv("NDR_DISABLE", "anything", 1);
        setenv("NDR_CACHE", "/anything", 1);
        setenv("HOME", "/anything", 1);
        execl(path, path, "look", (char *)NULL);
        _exit(errno == EACCES || errno == EPERM ? RAN_WITH_ITS_CALLERS_RIGHTS : EXIT_FAILURE);
    }
    int ended = 0;
    assert_int_equal(waitpid(child, &ended, 0), child);
    assert_true(WIFEXITED(ended));
    return WEXITSTATUS(ended);
}

static void test_os__reads_nothing_for_a_program_with_anothers_rights(void **state)
{
    static const char path[] = "./with_anothers_rights";
    unlink(path);
    copy_of_this_program(path);
    const bool is_anothers = takes_the_rights_of_another(path);
    const int found = is_anothers ? run_copy(path) : RAN_WITH_ITS_CALLERS_RIGHTS;
    unlink(path);
    skip_without(found != RAN_WITH_ITS_CALLERS_RIGHTS,
                 "no program can be made here that runs with another's rights (not root, no second group, or nosuid)");
    assert_int_equal(found, FOUND_NOTHING);
}

/* ---- errors ---- */

static void test_os__tells_what_an_errno_means(void **state)
{
    static const int errors[] = { 0, ENOENT, EACCES, ENOMEM, EISDIR, EMFILE };
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; ++i)
        assert_string_equal(ndr_errno_print(errors[i]).chars, strerror(errors[i]));
    assert_true(strlen(ndr_errno_print(-12345).chars) > 0);
    assert_true(strlen(ndr_errno_print(INT32_MAX).chars) > 0);
}

/* ---- folders ---- */

static void test_os__tells_why_a_folder_cannot_be_written(void **state)
{
    write_file("file", "");
    assert_int_equal(ndr_folder_check_write("."), 0);
    assert_int_equal(ndr_folder_check_write("none/of/them"), 0); /* it could be made */
    assert_int_equal(ndr_folder_check_write("file"), ENOTDIR);
    assert_int_equal(ndr_folder_check_write("file/in/it"), ENOTDIR);
    assert_int_equal(ndr_folder_check_write("/"), access("/", W_OK) == 0 ? 0 : errno);
    assert_int_equal(ndr_folder_check_write("/none"), access("/", W_OK) == 0 ? 0 : errno);
    (void)mkdir("closed", 0777); /* may exist from an earlier run; root may write to it all the same */
    assert_int_equal(chmod("closed", 0555), 0);
    const int error = access("closed", W_OK) == 0 ? 0 : EACCES;
    assert_int_equal(ndr_folder_check_write("closed"), error);
    assert_int_equal(ndr_folder_check_write("closed/not/there"), error);
}

static void test_os__renames_a_folder_and_removes_it(void **state)
{
    ndr_folder_remove("renamed");
    ndr_folder_create("made");
    write_file("made/a", "a");
    write_file("made/b", "b");
    assert_int_equal(ndr_file_rename("made", "renamed"), 0);
    assert_int_equal(access("renamed/b", F_OK), 0);
    assert_int_equal(ndr_file_rename("made", "again"), ENOENT);
    ndr_folder_create("other");
    write_file("other/c", "c");
    assert_int_not_equal(ndr_file_rename("other", "renamed"), 0); /* a folder with files is never replaced */
    ndr_folder_remove("other");
    ndr_folder_remove("renamed");
    assert_int_not_equal(access("renamed", F_OK), 0);
    assert_int_not_equal(access("other", F_OK), 0);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "look") == 0) _exit(look_from_the_copy());
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_os__reads_the_environment),
        cmocka_unit_test(test_os__reads_nothing_for_a_program_with_anothers_rights),
        cmocka_unit_test(test_os__tells_what_an_errno_means),
        cmocka_unit_test(test_os__tells_why_a_folder_cannot_be_written),
        cmocka_unit_test(test_os__renames_a_folder_and_removes_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
