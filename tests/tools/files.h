/* files.h - a folder that a test has for a store or the like. */
#ifndef NDR_TESTS_FILES_H
#define NDR_TESTS_FILES_H

#include <stddef.h>

/* Remove a folder and all in it, whatever its permissions; there may be none. */
void remove_folder(const char *path);

/* The number of files in a folder, without hidden ones; 0: there is no folder. `last`, unless it is NULL, gets the path of
 * one of them. */
unsigned count_files(const char *folder, char *last, size_t capacity);

#endif
