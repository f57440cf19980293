/* embedded_kernels.c - the embedded kernels are the files under kernels/, byte for byte, and all of them.
 *
 *     test_embedded_kernels <kernels folder> */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "program/source.h"

static const ndr_source_file *find(const char *name)
{
    for (const ndr_source_file *file = ndr_embedded_files; file->name; file++)
        if (strcmp(file->name, name) == 0) return file;
    return NULL;
}

static int is_kernel(const char *name)
{
    const char *dot = strrchr(name, '.');
    static const char *const endings[] = { ".cl", ".clh", ".inc", ".h" };
    for (size_t i = 0; dot && i < sizeof endings / sizeof endings[0]; ++i)
        if (strcmp(dot, endings[i]) == 0) return 1;
    return 0;
}

/* Whether the file at `path` holds the embedded bytes, and a 0 follows them. */
static int same(const char *path, const ndr_source_file *embedded)
{
    FILE *file = fopen(path, "rb");
    if (!file) return 0;
    size_t at = 0;
    int c;
    while ((c = getc(file)) != EOF) {
        if (at >= embedded->length || (unsigned char)embedded->text[at] != c) break;
        at++;
    }
    const int ended = feof(file);
    fclose(file);
    return ended && at == embedded->length && embedded->text[at] == '\0';
}

/* Compare the kernels in `root`/`folder` and below; return their number, or -1 after printing what is wrong. */
static int compare(const char *root, const char *folder)
{
    char path[4096];
    char name[2048];
    snprintf(path, sizeof path, "%s/%s", root, folder);
    DIR *dir = opendir(path);
    if (!dir) return 0; /* an ordinary file that is no kernel */

    int count = 0;
    for (struct dirent *entry; count >= 0 && (entry = readdir(dir));) {
        if (entry->d_name[0] == '.') continue;
        snprintf(name, sizeof name, "%s%s%s", folder, *folder ? "/" : "", entry->d_name);
        snprintf(path, sizeof path, "%s/%s", root, name);
        if (is_kernel(name)) {
            const ndr_source_file *embedded = find(name);
            if (embedded && same(path, embedded)) {
                count++;
            } else {
                fprintf(stderr, "%s: %s\n", path, embedded ? "embedded with other bytes" : "not embedded");
                count = -1;
            }
        } else {
            const int below = compare(root, name);
            count = below < 0 ? -1 : count + below;
        }
    }
    closedir(dir);
    return count;
}

int main(int argc, char **argv)
{
    if (argc != 2) fprintf(stderr, "usage: %s <kernels folder>\n", argv[0]);
    if (argc != 2) return 2;
    int embedded = 0;
    while (ndr_embedded_files[embedded].name) embedded++;
    const int files = compare(argv[1], "");
    printf("%d files, %d embedded\n", files, embedded);
    return files > 0 && files == embedded ? EXIT_SUCCESS : EXIT_FAILURE;
}
