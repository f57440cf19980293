/* disk.c - the store on disk: bytes by key, in files of one folder, kept between processes.
 *
 * An entry is one file. Processes and threads share the folder without a lock: a file appears whole, because it is
 * renamed, and is checked before it is used. A failure is logged; the caller then works without the entry. */
#include "base/disk.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the folder ---- */

ndr_status ndr_disk_check(const char *folder, const char *mib)
{
    NDR_REQUIRE(!folder || !*folder || *folder == '/' || strcmp(folder, "off") == 0,
                "NDR_CACHE is \"%s\"; set it to off, or to the path of a folder, which begins with /", folder);
    const bool is_count = !mib || (mib[strspn(mib, "0123456789")] == '\0' && mib[strspn(mib, "0")] != '\0');
    NDR_REQUIRE(is_count || !*mib, "NDR_CACHE_MIB is \"%s\"; set it to a number of MiB, 1 or more; NDR_CACHE=off keeps "
                "nothing", mib);
    return NDR_OK;
}

static uint64_t read_limit(void)
{
    const char *mib = ndr_environment("NDR_CACHE_MIB");
    const long long limit = mib ? strtoll(mib, NULL, 10) : 0, most = INT64_MAX >> 20;
    return (uint64_t)(limit <= 0 ? NDR_DISK_MIB : limit > most ? most : limit) << 20;
}

void ndr_disk_open(ndr_disk *disk)
{
    const char *chosen = ndr_environment("NDR_CACHE"), *caches = ndr_environment("XDG_CACHE_HOME");
    const char *home = ndr_environment("HOME"), *off = NULL;
    *disk = (ndr_disk){ .limit_bytes = read_limit() };
    ndr_file_get_info("/", &disk->root);
    if (chosen && strcmp(chosen, "off") == 0) off = "NDR_CACHE is off";
    else if (chosen && *chosen) ndr_text_add(&disk->folder, "%s", chosen);
    else if (caches && *caches == '/') ndr_text_add(&disk->folder, "%s/ndr", caches);
    else if (home && *home == '/') ndr_text_add(&disk->folder, "%s/.cache/ndr", home);
    else off = "neither NDR_CACHE, XDG_CACHE_HOME nor HOME gives a folder";
    if (off) ndr_log(NDR_LOG_INFO, "cache.off", "nothing is kept on disk: %s", off);
}

/* After chroot() the path is another folder's, and drivers lack their compilers. */
static bool has_another_root(const ndr_disk *disk)
{
    ndr_file_info root;
    return ndr_file_get_info("/", &root) != 0 || root.device != disk->root.device || root.node != disk->root.node;
}

/* Other users who may write to the folder could choose the code that runs here. NULL: there is no fault. */
static const char *find_fault_of_folder(const ndr_disk *disk, const ndr_file_info *info)
{
    return has_another_root(disk) ? "the process has called chroot() since the context was created"
           : !info->is_folder     ? "it is not a folder"
           : !info->is_own        ? "it belongs to another user"
           : info->others_write   ? "its group or other users may write to it; chmod go-w changes that"
                                  : NULL;
}

enum { REFUSED = -1 }; /* the log has the reason, once */

/* 0, an errno, or REFUSED. */
static int check_folder(ndr_disk *disk)
{
    ndr_file_info info;
    const int error = disk->folder.chars ? ndr_file_get_info(disk->folder.chars, &info) : ENOENT;
    if (error) return error;
    const char *fault = find_fault_of_folder(disk, &info);
    if (fault && !atomic_exchange(&disk->has_refused, true))
        ndr_log(NDR_LOG_WARN, "cache.refused", "folder \"%s\" is not used: %s", disk->folder.chars, fault);
    return fault ? REFUSED : 0;
}

/* ---- entries ---- */

/* The start of a file; the key and the value follow. The checksum covers everything after it. */
typedef struct header {
    char magic[8];
    uint64_t checksum, key_bytes, value_bytes;
} header;

enum { CHECKED_FROM = offsetof(header, key_bytes), NAME_LENGTH = sizeof "ndr-" - 1 + 32 };
static const char magic[] = "ndrkept1";

static uint64_t checksum_of(const ndr_text *entry)
{
    return ndr_hash_bytes(entry->chars + CHECKED_FROM, entry->length - CHECKED_FROM).words[0];
}

/* A key with the build of libndr, so that other builds do not find the entry, and the path of its file. */
typedef struct place {
    ndr_text key, path;
} place;

/* "FOLDER/ndr-" and the digits of the key's hash. */
static void add_path(const ndr_disk *disk, const char *key, size_t key_bytes, ndr_text *path)
{
    const ndr_hash hash = ndr_hash_bytes(key, key_bytes);
    ndr_text_add(path, "%s/ndr-%016llx%016llx", disk->folder.chars, (unsigned long long)hash.words[0],
                 (unsigned long long)hash.words[1]);
}

static bool find_place(const ndr_disk *disk, const char *key, place *out)
{
    *out = (place){ 0 };
    ndr_text_add(&out->key, "libndr %s\n%s", ndr_library_build, key);
    if (out->key.failed) return false;
    add_path(disk, out->key.chars, out->key.length, &out->path);
    return !out->path.failed;
}

static void free_place(place *p)
{
    ndr_text_free(&p->key);
    ndr_text_free(&p->path);
}

static ndr_text make_entry(const ndr_text *key, const void *value, size_t value_bytes)
{
    ndr_text out = { 0 };
    header h = { .key_bytes = key->length, .value_bytes = value_bytes };
    memcpy(h.magic, magic, sizeof h.magic);
    ndr_text_add_chars(&out, (const char *)&h, sizeof h);
    ndr_text_add_chars(&out, key->chars, key->length);
    ndr_text_add_chars(&out, value, value_bytes);
    if (out.failed) return out;
    h.checksum = checksum_of(&out);
    memcpy(out.chars, &h, sizeof h);
    return out;
}

/* Why a file is not an entry; NULL: it is one, and `h` is its header. */
static const char *find_damage(const ndr_text *entry, const ndr_file_info *info, header *h)
{
    if (entry->failed) return "there is no memory to read it";
    if (!info->is_regular || !info->is_own || info->others_write) return "others may have written it";
    if (entry->length < sizeof *h) return "it is cut short";
    memcpy(h, entry->chars, sizeof *h);
    if (memcmp(h->magic, magic, sizeof h->magic) != 0) return "it is not an entry of this store";
    return checksum_of(entry) == h->checksum ? NULL : "it is damaged: its checksum is wrong";
}

/* Why a file is not the entry of `key`; NULL: it is. */
static const char *find_fault(const ndr_text *entry, const ndr_file_info *info, const ndr_text *key)
{
    header h;
    const char *damage = find_damage(entry, info, &h);
    if (damage) return damage;
    const size_t rest = entry->length - sizeof h;
    const bool is_same = h.key_bytes == key->length && key->length <= rest && h.value_bytes == rest - key->length
                         && memcmp(entry->chars + sizeof h, key->chars, key->length) == 0;
    return is_same ? NULL : "it belongs to another key";
}

static bool read_entry(const place *p, ndr_text *value)
{
    ndr_file_info info;
    ndr_text entry = { 0 };
    const size_t before = sizeof(header) + p->key.length;
    const int error = ndr_file_read(p->path.chars, NDR_DISK_ENTRY_BYTES, &entry, &info);
    const ndr_errno_text reason = ndr_errno_print(error);
    const char *fault = error ? reason.chars : find_fault(&entry, &info, &p->key);
    if (fault && error != ENOENT) ndr_log(NDR_LOG_WARN, "cache.ignored", "\"%s\" is ignored: %s", p->path.chars, fault);
    if (!fault) ndr_text_add_chars(value, entry.chars + before, entry.length - before);
    ndr_text_free(&entry);
    return !fault && !value->failed;
}

bool ndr_disk_get(ndr_disk *disk, const char *key, ndr_text *value)
{
    place p;
    if (check_folder(disk) != 0) return false;
    const bool is_found = find_place(disk, key, &p) && read_entry(&p, value);
    if (is_found) ndr_file_touch(p.path.chars); /* the least recently used are removed first */
    free_place(&p);
    return is_found;
}

/* 0, an errno, or REFUSED. */
static int prepare_folder(ndr_disk *disk)
{
    if (!has_another_root(disk)) ndr_folder_create(disk->folder.chars);
    const int error = check_folder(disk);
    return error ? error : ndr_folder_check_write(disk->folder.chars);
}

bool ndr_disk_can_put(ndr_disk *disk)
{
    const int error = disk->folder.chars ? prepare_folder(disk) : 0;
    if (error > 0)
        ndr_log(NDR_LOG_WARN, "cache.not_kept",
                "nothing is kept in \"%s\": %s; set NDR_CACHE to a folder that this user can write to, or to off",
                disk->folder.chars, ndr_errno_print(error).chars);
    return disk->folder.chars && !error;
}

bool ndr_disk_put(ndr_disk *disk, const char *key, const void *value, size_t value_bytes)
{
    place p = { 0 };
    if (!disk->folder.chars) return false;
    ndr_text entry = { 0 };
    int error = prepare_folder(disk);
    if (!error && find_place(disk, key, &p)) entry = make_entry(&p.key, value, value_bytes);
    if (!error) error = !entry.chars || entry.failed ? ENOMEM : entry.length > NDR_DISK_ENTRY_BYTES ? EFBIG : 0;
    if (!error) error = ndr_file_write(p.path.chars, entry.chars, entry.length);
    if (error > 0)
        ndr_log(NDR_LOG_WARN, "cache.not_kept", "%zu bytes are not kept in \"%s\": %s", value_bytes, disk->folder.chars,
                ndr_errno_print(error).chars);
    if (!error) atomic_store(&disk->has_grown, true);
    free_place(&p);
    ndr_text_free(&entry);
    return !error;
}

/* ---- the limit ---- */

/* Limits the work when a context ends: each removal reads the whole folder. */
enum { MAX_REMOVED = 500 };

typedef struct sweep {
    const char *folder;
    int64_t total_bytes, oldest_ns;
    ndr_text oldest; /* its path */
} sweep;

/* The user may have other files there. libndr's are "ndr-", 32 digits, and more if a process ended while it wrote. */
static bool is_ours(const char *name)
{
    return strncmp(name, "ndr-", 4) == 0 && 4 + strspn(name + 4, "0123456789abcdef") == NAME_LENGTH
           && (!name[NAME_LENGTH] || name[NAME_LENGTH] == '.');
}

static bool add_file(void *visitor, const char *name)
{
    sweep *s = visitor;
    ndr_file_info info;
    ndr_text path = { 0 };
    ndr_text_add(&path, "%s/%s", s->folder, name);
    if (!is_ours(name) || path.failed || ndr_file_get_info(path.chars, &info) != 0) info.size_bytes = 0;
    const int64_t changed_ns = info.size_bytes ? info.changed_s * 1000000000 + info.changed_ns : INT64_MAX;
    s->total_bytes += info.size_bytes;
    if (changed_ns < s->oldest_ns) {
        s->oldest_ns = changed_ns;
        ndr_text_clear(&s->oldest);
        ndr_text_add(&s->oldest, "%s", path.chars);
    }
    ndr_text_free(&path);
    return true;
}

/* Returns whether there was one to remove. */
static bool remove_oldest(const ndr_disk *disk)
{
    sweep s = { .folder = disk->folder.chars, .oldest_ns = INT64_MAX };
    ndr_folder_visit(s.folder, add_file, &s);
    const bool is_over = s.total_bytes > (int64_t)disk->limit_bytes && s.oldest.length && !s.oldest.failed;
    if (is_over) ndr_file_remove(s.oldest.chars);
    ndr_text_free(&s.oldest);
    return is_over;
}

void ndr_disk_close(ndr_disk *disk)
{
    unsigned left = MAX_REMOVED;
    if (atomic_load(&disk->has_grown) && check_folder(disk) == 0)
        while (left > 0 && remove_oldest(disk)) --left;
    ndr_text_free(&disk->folder);
}

/* ---- all entries ---- */

static ndr_status fail_without_store(void)
{
    const char *chosen = ndr_environment("NDR_CACHE");
    return ndr_fail(NDR_NOT_KEPT, "there is no store: %s",
                    chosen && *chosen ? "NDR_CACHE is off; unset it, or set it to a folder"
                                      : "HOME is not set; set NDR_CACHE to a folder");
}

typedef struct tour {
    const ndr_disk *disk;
    ndr_disk_visitor *visit;
    void *visitor;
    ndr_text *left; /* the first file that could not be removed */
} tour;

/* The key of a whole file and what follows it. `e->fault` is set if they are not what the file's name says. */
static void read_parts(const tour *t, const ndr_text *file, const header *h, ndr_disk_entry *e, ndr_text *key)
{
    ndr_text path = { 0 };
    const size_t rest = file->length - sizeof *h;
    const bool fits = h->key_bytes <= rest && h->value_bytes == rest - h->key_bytes;
    if (fits) ndr_text_add_chars(key, file->chars + sizeof *h, (size_t)h->key_bytes);
    if (fits) add_path(t->disk, file->chars + sizeof *h, (size_t)h->key_bytes, &path);
    if (key->failed || path.failed) e->fault = "there is no memory to read it";
    else if (!fits || strcmp(path.chars, e->path) != 0) e->fault = "its name belongs to another key";
    if (!e->fault) {
        e->key = key->chars ? key->chars : "";
        e->value = file->chars + sizeof *h + h->key_bytes;
        e->value_bytes = (size_t)h->value_bytes;
    }
    ndr_text_free(&path);
}

static bool visit_entry(tour *t, ndr_disk_entry *e, bool is_finished)
{
    header h;
    ndr_text file = { 0 }, key = { 0 };
    const int error = ndr_file_read(e->path, NDR_DISK_ENTRY_BYTES, &file, &e->info);
    const ndr_errno_text reason = ndr_errno_print(error);
    if (error) e->fault = reason.chars;
    else if (!is_finished) e->fault = "a process ended while it wrote it, or is writing it";
    else e->fault = find_damage(&file, &e->info, &h);
    if (!e->fault) read_parts(t, &file, &h, e, &key);
    const bool is_to_remove = error != ENOENT && t->visit(t->visitor, e);
    ndr_text_free(&file);
    ndr_text_free(&key);
    return is_to_remove;
}

static bool visit_file(void *visitor, const char *name)
{
    tour *t = visitor;
    ndr_text path = { 0 };
    if (!is_ours(name)) return true;
    ndr_text_add(&path, "%s/%s", t->disk->folder.chars, name);
    if (!path.failed
        && visit_entry(t, &(ndr_disk_entry){ .path = path.chars, .key = "", .value = "" }, name[NAME_LENGTH] == '\0')) {
        ndr_file_info info;
        ndr_file_remove(path.chars);
        if (t->left->length == 0 && ndr_file_get_info(path.chars, &info) == 0) ndr_text_add(t->left, "%s", path.chars);
    }
    ndr_text_free(&path);
    return true;
}

static ndr_status visit_folder(const ndr_disk *disk, ndr_disk_visitor *visit, void *visitor)
{
    ndr_file_info info;
    ndr_text left = { 0 };
    tour t = { disk, visit, visitor, &left };
    if (ndr_file_get_info(disk->folder.chars, &info) != 0) return NDR_OK;
    const char *fault = find_fault_of_folder(disk, &info);
    NDR_REQUIRE_AS(NDR_NOT_KEPT, !fault, "the store \"%s\" is not used: %s", disk->folder.chars, fault);
    ndr_folder_visit(disk->folder.chars, visit_file, &t);
    const ndr_status status = left.length == 0
                                  ? NDR_OK
                                  : ndr_fail(NDR_NOT_KEPT, "\"%s\" cannot be removed: %s", left.chars,
                                             ndr_errno_print(ndr_folder_check_write(disk->folder.chars)).chars);
    ndr_text_free(&left);
    return status;
}

ndr_status ndr_disk_visit(ndr_disk_visitor *visit, void *visitor)
{
    ndr_disk disk;
    NDR_TRY(ndr_disk_check(ndr_environment("NDR_CACHE"), ndr_environment("NDR_CACHE_MIB")));
    ndr_disk_open(&disk);
    const ndr_status status = disk.folder.chars ? visit_folder(&disk, visit, visitor) : fail_without_store();
    ndr_disk_close(&disk);
    return status;
}

ndr_status ndr_cache_get_folder(size_t capacity, char *text, size_t *length)
{
    ndr_disk disk;
    NDR_REQUIRE(text || capacity == 0,
                "ndr_cache_get_folder: text is NULL, but capacity is %zu; pass memory of that size, or 0", capacity);
    NDR_TRY(ndr_disk_check(ndr_environment("NDR_CACHE"), ndr_environment("NDR_CACHE_MIB")));
    ndr_disk_open(&disk);
    const bool is_there = disk.folder.chars && !disk.folder.failed;
    if (is_there && capacity) snprintf(text, capacity, "%s", disk.folder.chars);
    if (is_there && length) *length = disk.folder.length;
    const ndr_status status = is_there ? NDR_OK : fail_without_store();
    ndr_disk_close(&disk);
    return status;
}
