/* files.c - a folder that a test has for a store or the like. */
#include "support.h"

#include <dirent.h>

#include "files.h"

void remove_folder(const char *path)
{
    char command[9000];
    assert_in_range(snprintf(command, sizeof command, "chmod -R u+rwx '%s' 2>/dev/null; rm -rf '%s'", path, path), 1,
                    sizeof command - 1);
    assert_true(system(command) != -1);
}

unsigned count_files(const char *folder, char *last, size_t capacity)
{
    unsigned count = 0;
    DIR *const opened = opendir(folder);
    for (struct dirent *entry; opened && (entry = readdir(opened));) {
        if (entry->d_name[0] == '.') continue;
        if (last) assert_true((size_t)snprintf(last, capacity, "%s/%s", folder, entry->d_name) < capacity);
        ++count;
    }
    if (opened) closedir(opened);
    return count;
}
