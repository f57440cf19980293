/* test_disk.c - the store on disk: an entry is found whole or not at all, and a damaged store does no harm. */
#define _FILE_OFFSET_BITS 64 /* as base/os.c */
#include "support.h"

#include "files.h"
#include "base/disk.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ANOTHER = 65534, HEADER = 32 };

/* ---- a store of each test's own ---- */

static char folder[1024]; /* of the current test; it does not exist at the start */
static ndr_disk disk;
static ndr_text logged; /* "id: text\n" */

static void collect(ndr_log_level level, const char *id, const char *text, void *user)
{
    ndr_text_add(&logged, "%s: %s\n", id, text);
}

static void assert_logged(const char *id, const char *part)
{
    const char *at = logged.chars ? strstr(logged.chars, id) : NULL;
    if (!at || !strstr(at, part)) fail_msg("no %s with \"%s\" in: %s", id, part, logged.chars ? logged.chars : "");
    ndr_text_clear(&logged);
}

static void assert_silent(void)
{
    if (logged.length) fail_msg("logged %s", logged.chars);
}

static void open_store(const char *chosen)
{
    ndr_disk_close(&disk);
    setenv("NDR_CACHE", chosen, 1);
    ndr_disk_open(&disk);
}

static int begin(void **state)
{
    assert_non_null(getcwd(folder, sizeof folder - 16));
    strcat(folder, "/store");
    remove_folder(folder);
    open_store(folder);
    ndr_text_clear(&logged);
    return ndr_log_set(NDR_LOG_DEBUG, collect, NULL) != NDR_OK;
}

static int end(void **state)
{
    ndr_disk_close(&disk);
    remove_folder(folder);
    return 0;
}

static void put(const char *key, const char *value) { assert_true(ndr_disk_put(&disk, key, value, strlen(value))); }

static bool finds(const char *key, const char *value)
{
    ndr_text got = { 0 };
    const bool is_found = ndr_disk_get(&disk, key, &got);
    const bool is_same = is_found && got.length == strlen(value) && memcmp(got.chars, value, got.length) == 0;
    assert_true(is_same || !is_found); /* never another value */
    ndr_text_free(&got);
    return is_found;
}

static const char *only_file(void)
{
    static char path[2048];
    assert_int_equal(count_files(folder, path, sizeof path), 1);
    return path;
}

static size_t read_bytes(const char *path, unsigned char *bytes, size_t capacity)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    const size_t count = fread(bytes, 1, capacity, file);
    fclose(file);
    assert_true(count < capacity);
    return count;
}

static void write_bytes(const char *path, const unsigned char *bytes, size_t count)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    fclose(file);
}

/* Root's tests run in a folder that run_without_rights() can enter, because the build may be in one that only root can,
 * such as /root. */
static char open_to_all[] = "/tmp/ndr-test-disk-XXXXXX";

static int enter_open_folder(void **state)
{
    if (geteuid() != 0) return 0;
    return !mkdtemp(open_to_all) || chmod(open_to_all, 0755) != 0 || chdir(open_to_all) != 0;
}

static int leave_open_folder(void **state)
{
    if (geteuid() == 0) remove_folder(open_to_all);
    return 0;
}

/* Run in a child process, as an ordinary user if this user is root. A failure in the child fails this test. */
static void run_without_rights(void (*run)(void))
{
    if (geteuid() == 0) assert_int_equal(chown(folder, ANOTHER, ANOTHER), 0);
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        if (geteuid() == 0 && (setgid(ANOTHER) != 0 || setuid(ANOTHER) != 0)) _exit(3);
        run();
        _exit(0);
    }
    int ended;
    assert_int_equal(waitpid(child, &ended, 0), child);
    assert_true(WIFEXITED(ended));
    assert_int_equal(WEXITSTATUS(ended), 0);
}

/* For child processes: after a failed CMocka assertion the child would continue with the parent's other tests. */
#define REQUIRE(condition, status)         \
    do {                                   \
        if (!(condition)) _exit((status)); \
    } while (0)

/* ---- finding ---- */

static void test_disk__finds_what_was_put(void **state)
{
    assert_false(finds("a", ""));
    assert_false(finds("b", ""));
    assert_int_equal(count_files(folder, NULL, 0), 0);
    assert_int_equal(access(folder, F_OK), -1); /* a search creates nothing */
    put("a", "one");
    put("b", "two");
    put("", "for the empty key");
    put("c", "");
    assert_true(finds("a", "one"));
    assert_true(finds("b", "two"));
    assert_true(finds("", "for the empty key"));
    assert_true(finds("c", ""));
    put("a", "another");
    assert_true(finds("a", "another"));
    assert_int_equal(count_files(folder, NULL, 0), 4);
    open_store(folder);
    assert_true(finds("a", "another"));
    assert_false(finds("d", ""));
    assert_silent();
}

static void test_disk__keeps_bytes_of_any_size(void **state)
{
    static const size_t sizes[] = { 0, 1, 7, 16383, 16384, 16385, 1000003 };
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; ++s) {
        unsigned char *bytes = malloc(sizes[s] + 1);
        for (size_t i = 0; i < sizes[s]; ++i) bytes[i] = (unsigned char)(i * 31 >> 3);
        assert_true(ndr_disk_put(&disk, "bytes", bytes, sizes[s]));
        ndr_text got = { 0 };
        ndr_text_add(&got, "before");
        assert_true(ndr_disk_get(&disk, "bytes", &got));
        assert_int_equal(got.length, sizes[s] + 6);
        assert_memory_equal(got.chars, "before", 6);
        if (sizes[s]) assert_memory_equal(got.chars + 6, bytes, sizes[s]);
        ndr_text_free(&got);
        free(bytes);
    }
}

static void test_disk__is_for_its_user_alone(void **state)
{
    struct stat about;
    const mode_t before = umask(0);
    put("a", "one");
    umask(before);
    assert_int_equal(stat(folder, &about), 0);
    assert_int_equal(about.st_mode & 0777, 0700);
    assert_int_equal(stat(only_file(), &about), 0);
    assert_int_equal(about.st_mode & 0777, 0600);
}

/* ---- entries that are wrong ---- */

static void test_disk__ignores_an_entry_of_any_other_length(void **state)
{
    unsigned char bytes[512] = { 0 };
    put("key", "a value");
    const char *path = only_file();
    const size_t count = read_bytes(path, bytes, sizeof bytes);
    for (size_t length = 0; length < count; ++length) {
        write_bytes(path, bytes, length);
        assert_false(finds("key", ""));
        assert_logged("cache.ignored", length < HEADER ? "cut short" : "checksum");
    }
    write_bytes(path, bytes, count + 1);
    assert_false(finds("key", ""));
    assert_logged("cache.ignored", "checksum");
    put("key", "a value"); /* replaces the entry */
    assert_true(finds("key", "a value"));
}

static void test_disk__ignores_an_entry_with_any_bit_changed(void **state)
{
    unsigned char bytes[512];
    put("key", "a value");
    const char *path = only_file();
    const size_t count = read_bytes(path, bytes, sizeof bytes);
    for (size_t bit = 0; bit < 8 * count; ++bit) {
        bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
        write_bytes(path, bytes, count);
        assert_false(finds("key", ""));
        assert_logged("cache.ignored", bit < 64 ? "not an entry" : "checksum");
        bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
    write_bytes(path, bytes, count);
    assert_true(finds("key", "a value"));
}

/* Correct the checksum of a changed entry. */
static void seal(unsigned char *bytes, size_t count)
{
    const uint64_t checksum = XXH3_128bits(bytes + 16, count - 16).low64;
    memcpy(bytes + 8, &checksum, sizeof checksum);
}

static void test_disk__ignores_an_entry_of_another_key_under_the_same_name(void **state)
{
    unsigned char bytes[512];
    put("key 1", "a value");
    const char *path = only_file();
    const size_t count = read_bytes(path, bytes, sizeof bytes);
    unsigned char *end_of_key = bytes + count - strlen("a value") - 1;
    assert_int_equal(*end_of_key, '1');
    *end_of_key = '2';
    seal(bytes, count);
    write_bytes(path, bytes, count);
    assert_false(finds("key 1", ""));
    assert_logged("cache.ignored", "another key");
    assert_false(finds("key 2", ""));
}

static void test_disk__ignores_an_entry_of_another_build_of_libndr(void **state)
{
    unsigned char bytes[512];
    put("key", "a value");
    const char *path = only_file();
    const size_t count = read_bytes(path, bytes, sizeof bytes);
    const size_t build = HEADER + strlen("libndr ");
    assert_memory_equal(bytes + build, ndr_library_build, strlen(ndr_library_build));
    bytes[build] ^= 1;
    seal(bytes, count);
    write_bytes(path, bytes, count);
    assert_false(finds("key", ""));
    assert_logged("cache.ignored", "another key");
}

static void test_disk__ignores_sizes_that_do_not_add_up(void **state)
{
    static const uint64_t sizes[] = { 0, 1, UINT64_MAX, UINT64_MAX - HEADER, INT64_MAX, 1u << 31 };
    unsigned char bytes[512];
    put("key", "a value");
    const char *path = only_file();
    const size_t count = read_bytes(path, bytes, sizeof bytes);
    for (size_t field = 16; field < HEADER; field += 8)
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
            unsigned char changed[512];
            memcpy(changed, bytes, count);
            memcpy(changed + field, &sizes[i], sizeof sizes[i]);
            seal(changed, count);
            write_bytes(path, changed, count);
            assert_false(finds("key", ""));
            assert_logged("cache.ignored", "another key");
        }
}

static uint64_t seed;

static size_t pick(size_t count)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (size_t)(seed >> 33) % count;
}

/* Change the length of the file, the sizes in its header, or any byte. Returns the new length. */
static size_t damage(unsigned char *bytes, size_t count)
{
    size_t length = pick(3) ? count : pick(count + 16);
    if (length < HEADER) length = HEADER;
    if (pick(3) == 0) bytes[8 + pick(length - 8)] = (unsigned char)pick(256);
    for (size_t field = 16; field < HEADER; field += 8) {
        uint64_t size;
        memcpy(&size, bytes + field, sizeof size);
        /* Also what is left of the file behind a key of the right length, which may be less than nothing. */
        if (pick(4) == 0) size = field == 24 ? length - HEADER - (count - HEADER - strlen("a value")) : size + pick(9) - 4;
        if (pick(16) == 0) size = UINT64_MAX - pick(64);
        memcpy(bytes + field, &size, sizeof size);
    }
    seal(bytes, length);
    return length;
}

/* It does not fit into the memory that a short entry is read into. */
static const char *long_key(void)
{
    static char key[1001];
    memset(key, 'k', sizeof key - 1);
    return key;
}

static void test_disk__reads_no_entry_past_its_end(void **state)
{
    unsigned char bytes[2048] = { 0 }, changed[2048];
    put(long_key(), "a value");
    const char *path = only_file();
    const size_t count = read_bytes(path, bytes, sizeof bytes);
    seed = number_from_env("NDR_TEST_SEED", 20260);
    print_message("NDR_TEST_SEED=%llu\n", (unsigned long long)seed);
    for (uint64_t round = number_from_env("NDR_TEST_ROUNDS", 1000); round > 0; --round) {
        memcpy(changed, bytes, sizeof changed);
        const size_t length = damage(changed, count);
        ndr_text got = { 0 };
        write_bytes(path, changed, length);
        if (ndr_disk_get(&disk, long_key(), &got)) {
            assert_true(length >= count - strlen("a value"));
            const size_t left = length - (count - strlen("a value"));
            assert_int_equal(got.length, left);
            if (left) assert_memory_equal(got.chars, changed + length - left, left);
        }
        ndr_text_free(&got);
        ndr_text_clear(&logged);
    }
}

static void test_disk__ignores_an_entry_that_ends_in_its_key(void **state)
{
    unsigned char bytes[2048] = { 0 };
    put(long_key(), "");
    const char *path = only_file();
    const size_t count = read_bytes(path, bytes, sizeof bytes);
    for (size_t length = HEADER; length < count; ++length) {
        const uint64_t size = length - count; /* less than 0 */
        memcpy(bytes + 24, &size, sizeof size);
        seal(bytes, length);
        write_bytes(path, bytes, length);
        assert_false(finds(long_key(), ""));
        assert_logged("cache.ignored", "another key");
    }
}

static void test_disk__ignores_what_is_no_file_of_its_own(void **state)
{
    put("key", "a value");
    const char *path = only_file();
    assert_int_equal(chmod(path, 0620), 0);
    assert_false(finds("key", ""));
    assert_logged("cache.ignored", "others may have written it");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0); /* no process writes to it */
    assert_false(finds("key", ""));
    assert_logged("cache.ignored", "others may have written it");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_false(finds("key", ""));
    assert_logged("cache.ignored", "");
    assert_false(ndr_disk_put(&disk, "key", "a value", 7));
    assert_logged("cache.not_kept", "directory");
    assert_int_equal(count_files(folder, NULL, 0), 1); /* no other file */
    assert_int_equal(rmdir(path), 0);
}

/* ---- folders that are wrong ---- */

static void test_disk__refuses_a_folder_that_others_can_write_to(void **state)
{
    static const mode_t modes[] = { 0777, 0770, 0720, 0702, 01777 };
    put("key", "a value");
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; ++i) {
        open_store(folder);
        assert_int_equal(chmod(folder, modes[i]), 0);
        assert_false(finds("key", ""));
        assert_logged("cache.refused", "its group or other users may write to it; chmod go-w");
        assert_false(ndr_disk_put(&disk, "new", "value", 5));
        assert_false(ndr_disk_can_put(&disk));
        assert_false(finds("key", ""));
        assert_silent(); /* the log has it once */
        assert_int_equal(count_files(folder, NULL, 0), 1);
    }
    assert_int_equal(chmod(folder, 0755), 0);
    assert_true(finds("key", "a value"));
}

static void test_disk__refuses_a_folder_of_another_user(void **state)
{
    put("key", "a value");
    if (geteuid() == 0) assert_int_equal(chown(folder, ANOTHER, (gid_t)-1), 0);
    else open_store("/usr");
    assert_false(finds("key", ""));
    assert_logged("cache.refused", "it belongs to another user");
    assert_false(ndr_disk_put(&disk, "new", "value", 5));
    assert_silent();
    open_store(geteuid() == 0 ? folder : "/usr");
    assert_false(ndr_disk_put(&disk, "new", "value", 5));
    assert_logged("cache.refused", "it belongs to another user");
}

static void test_disk__refuses_what_is_no_folder(void **state)
{
    write_file("file", "");
    snprintf(folder + strlen(folder) - strlen("store"), 16, "file");
    open_store(folder);
    assert_false(finds("key", ""));
    assert_logged("cache.refused", "it is not a folder");
    strcat(folder, "/in/it");
    open_store(folder);
    assert_false(finds("key", ""));
    assert_false(ndr_disk_put(&disk, "key", "value", 5));
    assert_logged("cache.not_kept", "Not a directory");
}

static void use_read_only(void)
{
    ndr_text got = { 0 };
    REQUIRE(!ndr_disk_put(&disk, "new", "value", 5), 10);
    REQUIRE(logged.chars && strstr(logged.chars, "cache.not_kept") && strstr(logged.chars, "Permission denied"), 11);
    REQUIRE(ndr_disk_get(&disk, "key", &got) && got.length == 7, 12);
    REQUIRE(!ndr_disk_get(&disk, "new", &got), 13);
    ndr_disk_close(&disk);
}

static void test_disk__reads_from_a_folder_that_cannot_be_written_to(void **state)
{
    put("key", "a value");
    if (geteuid() == 0) assert_int_equal(chown(only_file(), ANOTHER, ANOTHER), 0);
    assert_int_equal(chmod(folder, 0500), 0);
    run_without_rights(use_read_only);
    assert_int_equal(count_files(folder, NULL, 0), 1);
}

static void check_read_only(void)
{
    REQUIRE(!ndr_disk_can_put(&disk), 10);
    REQUIRE(logged.chars && strstr(logged.chars, "cache.not_kept: nothing is kept in"), 11);
    REQUIRE(strstr(logged.chars, "Permission denied"), 12);
    ndr_disk_close(&disk);
}

static void test_disk__tells_beforehand_whether_it_can_be_written_to(void **state)
{
    assert_true(ndr_disk_can_put(&disk)); /* it makes the folder */
    assert_int_equal(count_files(folder, NULL, 0), 0);
    assert_silent();
    assert_int_equal(chmod(folder, 0500), 0);
    run_without_rights(check_read_only);
    open_store("/proc/none");
    assert_false(ndr_disk_can_put(&disk));
    assert_logged("cache.not_kept: nothing is kept in \"/proc/none\"", "No such file");
    open_store("off");
    ndr_text_clear(&logged);
    assert_false(ndr_disk_can_put(&disk));
    assert_silent();
}

int chroot(const char *path); /* not in POSIX */

static void use_another_root(void)
{
    ndr_text got = { 0 };
    REQUIRE(ndr_disk_get(&disk, "key", &got), 10);
    REQUIRE(chroot(folder) == 0 && chdir("/") == 0 && mkdir("/tmp", 0700) == 0, 11);
    REQUIRE(!ndr_disk_can_put(&disk) && access("/store", F_OK) != 0, 12);
    REQUIRE(!ndr_disk_put(&disk, "new", "value", 5) && !ndr_disk_get(&disk, "key", &got), 13);
    ndr_disk_close(&disk);
}

/* The folder of that name inside of the new root is another one. */
static void test_disk__is_not_used_under_another_root(void **state)
{
    if (geteuid() != 0) {
        print_message("skipped: only root may call chroot()\n");
        skip();
    }
    put("key", "a value");
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        use_another_root();
        _exit(0);
    }
    int ended;
    assert_int_equal(waitpid(child, &ended, 0), child);
    assert_int_equal(ended, 0);
    assert_int_equal(count_files(folder, NULL, 0), 2); /* the entry and tmp */
}

static void use_unreadable(void)
{
    ndr_text got = { 0 };
    REQUIRE(!ndr_disk_get(&disk, "key", &got), 10);
    REQUIRE(logged.chars && strstr(logged.chars, "cache.ignored") && strstr(logged.chars, "Permission denied"), 11);
    REQUIRE(ndr_disk_put(&disk, "new", "value", 5), 12); /* the folder is writable */
    ndr_disk_close(&disk);
}

static void test_disk__misses_an_entry_that_cannot_be_read(void **state)
{
    put("key", "a value");
    if (geteuid() == 0) assert_int_equal(chown(only_file(), ANOTHER, ANOTHER), 0);
    assert_int_equal(chmod(only_file(), 0), 0);
    run_without_rights(use_unreadable);
}

static void test_disk__does_without_a_folder_that_goes(void **state)
{
    put("key", "a value");
    remove_folder(folder);
    assert_false(finds("key", ""));
    assert_silent();
    put("key", "a value");
    assert_true(finds("key", "a value"));
}

static void test_disk__takes_a_path_that_is_too_long(void **state)
{
    char path[6000];
    memset(path, 'x', sizeof path);
    path[0] = '/';
    path[sizeof path - 1] = '\0';
    open_store(path);
    assert_false(finds("key", ""));
    assert_false(ndr_disk_put(&disk, "key", "value", 5));
    assert_logged("cache.not_kept", "too long");
}

/* ---- a disk that is full ---- */

/* How many bytes the next calls of write() accept, in parts, before the disk is full. With -1 there is no limit. */
static ssize_t bytes_left = -1;
static bool fails_at_close;
ssize_t __real_write(int file, const void *bytes, size_t count);
ssize_t __wrap_write(int file, const void *bytes, size_t count);
int __real_close(int file);
int __wrap_close(int file);

ssize_t __wrap_write(int file, const void *bytes, size_t count)
{
    static bool is_interrupted;
    if (bytes_left < 0) return __real_write(file, bytes, count);
    is_interrupted = !is_interrupted;
    errno = is_interrupted ? EINTR : ENOSPC;
    if (is_interrupted || bytes_left == 0) return -1;
    const size_t part = count < 40 ? count : 40, passing = (size_t)bytes_left < part ? (size_t)bytes_left : part;
    bytes_left -= (ssize_t)passing;
    return __real_write(file, bytes, passing);
}

int __wrap_close(int file)
{
    const int result = __real_close(file);
    if (!fails_at_close) return result;
    errno = EDQUOT;
    return -1;
}

/* How many blocks of 4 KiB statvfs() tells; -1: what the system tells. */
static long blocks_left = -1;
#ifdef __GLIBC__ /* its name for files of 64 bits */
#define __real_statvfs __real_statvfs64
#define __wrap_statvfs __wrap_statvfs64
#endif
int __real_statvfs(const char *path, struct statvfs *about);
int __wrap_statvfs(const char *path, struct statvfs *about);

int __wrap_statvfs(const char *path, struct statvfs *about)
{
    const int result = __real_statvfs(path, about);
    if (blocks_left < 0) return result;
    *about = (struct statvfs){ .f_frsize = 4096, .f_blocks = 1000, .f_files = 10, .f_ffree = 1 };
    about->f_bfree = about->f_bavail = (fsblkcnt_t)blocks_left;
    return 0;
}

static void test_disk__tells_beforehand_that_the_disk_is_full(void **state)
{
    static const struct {
        long left;
        bool can;
    } rows[] = { { 0, false }, { 1, false }, { 16, false }, { 17, true }, { 1000, true } };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        blocks_left = rows[i].left;
        const bool can = ndr_disk_can_put(&disk);
        blocks_left = -1;
        assert_int_equal(can, rows[i].can);
        if (!can) assert_logged("cache.not_kept: nothing is kept in ", "No space left");
    }
}

static void test_disk__keeps_nothing_that_was_written_in_part(void **state)
{
    unsigned char bytes[512];
    put("key", "a value");
    const size_t count = read_bytes(only_file(), bytes, sizeof bytes);
    for (ssize_t room = 0; room < (ssize_t)count; room += 13) {
        bytes_left = room;
        const bool is_put = ndr_disk_put(&disk, "key", "another", 7);
        bytes_left = -1;
        assert_false(is_put);
        assert_logged("cache.not_kept", "No space left");
        assert_true(finds("key", "a value")); /* as before */
        assert_int_equal(count_files(folder, NULL, 0), 1);
    }
    bytes_left = (ssize_t)count; /* just enough, in parts */
    const bool is_put = ndr_disk_put(&disk, "key", "another", 7);
    bytes_left = -1;
    assert_true(is_put);
    assert_true(finds("key", "another"));
}

static void test_disk__keeps_nothing_that_fails_to_close(void **state)
{
    put("key", "a value");
    fails_at_close = true;
    const bool is_put = ndr_disk_put(&disk, "key", "another", 7);
    fails_at_close = false;
    assert_false(is_put);
    assert_logged("cache.not_kept", "uota");
    assert_true(finds("key", "a value"));
    assert_int_equal(count_files(folder, NULL, 0), 1);
}

static void use_limited(void)
{
    const struct rlimit limit = { 64, 64 };
    REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0, 10);
    REQUIRE(!ndr_disk_put(&disk, "new", "value", 5), 11); /* SIGXFSZ would end this process */
    REQUIRE(logged.chars && strstr(logged.chars, "cache.not_kept") && strstr(logged.chars, "too large"), 12);
    ndr_disk_close(&disk);
}

static void test_disk__respects_the_limit_of_a_process(void **state)
{
    put("key", "a value");
    const int there = (int)count_files(folder, NULL, 0);
    run_without_rights(use_limited);
    assert_int_equal(count_files(folder, NULL, 0), there);
}

/* ---- several at once ---- */

enum { WRITERS = 4, WRITES = 60, LONGEST = 9973 };

/* A value that shows whether it is whole: it repeats one letter, and the letter determines its length. */
static size_t length_of(char letter) { return (size_t)(letter - 'a') * 919 % LONGEST; }

static void write_many(ndr_disk *to, char letter)
{
    char value[LONGEST];
    memset(value, letter, sizeof value);
    for (int i = 0; i < WRITES; ++i) ndr_disk_put(to, "shared", value, length_of(letter));
}

static bool read_whole(void)
{
    ndr_text got = { 0 };
    bool is_whole = !ndr_disk_get(&disk, "shared", &got);
    if (!is_whole) {
        const char letter = got.length ? got.chars[0] : 'a';
        is_whole = got.length == length_of(letter);
        for (size_t i = 0; i < got.length; ++i) is_whole = is_whole && got.chars[i] == letter;
    }
    ndr_text_free(&got);
    return is_whole;
}

static void test_disk__is_shared_by_processes(void **state)
{
    fflush(NULL);
    for (int w = 0; w < WRITERS; ++w)
        if (fork() == 0) { /* the children use the store that the parent opened */
            write_many(&disk, (char)('b' + w));
            _exit(logged.length ? 1 : 0);
        }
    int ended = 0, left = WRITERS;
    for (int status; left > 0; left -= waitpid(-1, &status, WNOHANG) > 0 && (ended |= status, true))
        assert_true(read_whole());
    assert_int_equal(ended, 0);
    assert_silent();
    assert_int_equal(count_files(folder, NULL, 0), 1);
    assert_true(read_whole());
}

static void *write_in_a_thread(void *letter)
{
    write_many(&disk, *(char *)letter);
    return NULL;
}

static void test_disk__is_shared_by_threads(void **state)
{
    pthread_t threads[WRITERS];
    char letters[WRITERS];
    for (int w = 0; w < WRITERS; ++w) {
        letters[w] = (char)('b' + w);
        assert_int_equal(pthread_create(&threads[w], NULL, write_in_a_thread, &letters[w]), 0);
    }
    for (int i = 0; i < WRITES; ++i) assert_true(read_whole());
    for (int w = 0; w < WRITERS; ++w) assert_int_equal(pthread_join(threads[w], NULL), 0);
    assert_silent();
    assert_int_equal(count_files(folder, NULL, 0), 1);
}

/* ---- the limit ---- */

static void path_in_folder(const char *name, char *path, size_t capacity)
{
    assert_true((size_t)snprintf(path, capacity, "%s/%s", folder, name) < capacity);
}

static void set_age(const char *path, long seconds)
{
    const struct timespec times[2] = { { 1000000000 - seconds, 0 }, { 1000000000 - seconds, 0 } };
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* Put a value of 1000 bytes, last used `age` seconds before a time long ago. */
static void put_aged(const char *key, long age)
{
    static const char value[1000];
    char before[64][256], path[2048];
    unsigned count = 0;
    DIR *opened = opendir(folder);
    for (struct dirent *e; opened && (e = readdir(opened));) snprintf(before[count++], 256, "%s", e->d_name);
    if (opened) closedir(opened);
    assert_true(ndr_disk_put(&disk, key, value, sizeof value));
    assert_non_null(opened = opendir(folder));
    for (struct dirent *e; (e = readdir(opened));) {
        unsigned i = 0;
        while (i < count && strcmp(before[i], e->d_name) != 0) ++i;
        if (i < count || e->d_name[0] == '.') continue;
        path_in_folder(e->d_name, path, sizeof path);
        set_age(path, age);
    }
    closedir(opened);
}

static bool has(const char *key)
{
    ndr_text got = { 0 };
    const bool is_there = ndr_disk_get(&disk, key, &got);
    ndr_text_free(&got);
    return is_there;
}

static void test_disk__removes_what_was_not_used_for_longest(void **state)
{
    static const char *const others[] = { "ndr-of-the-user-in-32-characters-xyz",
                                          "ndr-0123456789abcdef0123456789abcdefx", "ndr-notes", "data" };
    char path[2048];
    put_aged("c", 30);
    put_aged("a", 50);
    put_aged("b", 40);
    put_aged("d", 20);
    path_in_folder("ndr-0123456789abcdef0123456789abcdef.12.34.5", path, sizeof path); /* of a writer that was killed */
    write_file(path, "half an en");
    set_age(path, 60);
    for (size_t i = 0; i < 4; ++i) {
        path_in_folder(others[i], path, sizeof path);
        write_file(path, "of the user");
        set_age(path, 1000);
    }
    assert_true(has("a")); /* used just now */
    disk.limit_bytes = 3600;
    ndr_disk_close(&disk);
    open_store(folder);
    assert_int_equal(count_files(folder, NULL, 0), 7);
    assert_true(has("a") && has("c") && has("d"));
    assert_false(has("b"));
    assert_silent();
}

static void test_disk__keeps_its_limit_in_the_environment(void **state)
{
    static const struct {
        const char *words;
        uint64_t mib;
    } rows[] = { { "1", 1 }, { "1000", 1000 }, { "", 256 }, { "0012", 12 }, { "17592186044416", INT64_MAX >> 20 },
                 { "99999999999999999999", INT64_MAX >> 20 } };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        setenv("NDR_CACHE_MIB", rows[i].words, 1);
        open_store(folder);
        assert_int_equal(disk.limit_bytes, rows[i].mib << 20);
    }
    unsetenv("NDR_CACHE_MIB");
    open_store(folder);
    assert_int_equal(disk.limit_bytes, 256u << 20);
}

/* ---- which folder ---- */

static void check_folder(const char *cache, const char *caches, const char *home, const char *wanted, const char *why)
{
    ndr_disk_close(&disk);
    if (cache) setenv("NDR_CACHE", cache, 1);
    else unsetenv("NDR_CACHE");
    if (caches) setenv("XDG_CACHE_HOME", caches, 1);
    else unsetenv("XDG_CACHE_HOME");
    if (home) setenv("HOME", home, 1);
    else unsetenv("HOME");
    ndr_disk_open(&disk);
    if (wanted) {
        assert_string_equal(disk.folder.chars, wanted);
        assert_silent();
    } else {
        assert_null(disk.folder.chars);
        assert_logged("cache.off: nothing is kept on disk: ", why);
        assert_false(ndr_disk_put(&disk, "key", "value", 5));
        assert_false(finds("key", ""));
        assert_silent();
    }
}

static void test_disk__has_its_folder_from_the_environment(void **state)
{
    char *home = getenv("HOME"), *caches = getenv("XDG_CACHE_HOME");
    home = home ? strdup(home) : NULL;
    caches = caches ? strdup(caches) : NULL;
    check_folder("/a/b", "/c", "/h", "/a/b", NULL);
    check_folder(NULL, "/c", "/h", "/c/ndr", NULL);
    check_folder("", "/c", "/h", "/c/ndr", NULL);
    check_folder(NULL, NULL, "/h", "/h/.cache/ndr", NULL);
    check_folder(NULL, "", "/h", "/h/.cache/ndr", NULL);
    check_folder(NULL, "not/absolute", "/h", "/h/.cache/ndr", NULL);
    check_folder(NULL, NULL, NULL, NULL, "neither NDR_CACHE, XDG_CACHE_HOME nor HOME gives a folder");
    check_folder(NULL, NULL, "", NULL, "neither NDR_CACHE");
    check_folder("off", "/c", "/h", NULL, "NDR_CACHE is off");
    if (home) setenv("HOME", home, 1);
    if (caches) setenv("XDG_CACHE_HOME", caches, 1);
    free(home);
    free(caches);
}

static void test_disk__refuses_words_that_it_does_not_know(void **state)
{
    static const char *const folders[] = { "relative", "./here", "OFF", " /a" };
    static const char *const limits[] = { "big", "0", "00", "-1", "1.5", "12 MiB", " 3" };
    for (size_t i = 0; i < sizeof folders / sizeof *folders; ++i)
        assert_refused(NDR_BAD_ARGUMENT, ndr_disk_check(folders[i], NULL), "NDR_CACHE is \"", folders[i],
                       "\"; set it to off, or to the path of a folder, which begins with /");
    for (size_t i = 0; i < sizeof limits / sizeof *limits; ++i)
        assert_refused(NDR_BAD_ARGUMENT, ndr_disk_check("/a", limits[i]), "NDR_CACHE_MIB is \"", limits[i],
                       "\"; set it to a number of MiB, 1 or more; NDR_CACHE=off keeps nothing");
    assert_ok(ndr_disk_check(NULL, NULL));
    assert_ok(ndr_disk_check("", ""));
    assert_ok(ndr_disk_check("off", "1"));
}

static void test_disk__makes_the_folders_above_its_own(void **state)
{
    struct stat about;
    char deep[1100];
    snprintf(deep, sizeof deep, "%s/x/y/z", folder);
    open_store(deep);
    put("key", "a value");
    assert_true(finds("key", "a value"));
    assert_int_equal(stat(folder, &about), 0);
    assert_int_equal(about.st_mode & 0777, 0700);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(test_disk__finds_what_was_put),
        TEST(test_disk__keeps_bytes_of_any_size),
        TEST(test_disk__is_for_its_user_alone),
        TEST(test_disk__ignores_an_entry_of_any_other_length),
        TEST(test_disk__ignores_an_entry_with_any_bit_changed),
        TEST(test_disk__ignores_an_entry_of_another_key_under_the_same_name),
        TEST(test_disk__ignores_an_entry_of_another_build_of_libndr),
        TEST(test_disk__ignores_sizes_that_do_not_add_up),
        TEST(test_disk__reads_no_entry_past_its_end),
        TEST(test_disk__ignores_an_entry_that_ends_in_its_key),
        TEST(test_disk__ignores_what_is_no_file_of_its_own),
        TEST(test_disk__refuses_a_folder_that_others_can_write_to),
        TEST(test_disk__refuses_a_folder_of_another_user),
        TEST(test_disk__refuses_what_is_no_folder),
        TEST(test_disk__reads_from_a_folder_that_cannot_be_written_to),
        TEST(test_disk__tells_beforehand_whether_it_can_be_written_to),
        TEST(test_disk__is_not_used_under_another_root),
        TEST(test_disk__misses_an_entry_that_cannot_be_read),
        TEST(test_disk__does_without_a_folder_that_goes),
        TEST(test_disk__takes_a_path_that_is_too_long),
        TEST(test_disk__tells_beforehand_that_the_disk_is_full),
        TEST(test_disk__keeps_nothing_that_was_written_in_part),
        TEST(test_disk__keeps_nothing_that_fails_to_close),
        TEST(test_disk__respects_the_limit_of_a_process),
        TEST(test_disk__is_shared_by_processes),
        TEST(test_disk__is_shared_by_threads),
        TEST(test_disk__removes_what_was_not_used_for_longest),
        TEST(test_disk__keeps_its_limit_in_the_environment),
        TEST(test_disk__has_its_folder_from_the_environment),
        TEST(test_disk__refuses_words_that_it_does_not_know),
        TEST(test_disk__makes_the_folders_above_its_own),
    };
    return cmocka_run_group_tests(tests, enter_open_folder, leave_open_folder);
}
