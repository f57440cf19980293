/* folders.h - the folders in which included files are searched. */
#ifndef NDR_FOLDERS_H
#define NDR_FOLDERS_H

#include "base/base.h"

/* {0} has none. */
typedef struct ndr_folders {
    const char *const *dirs; /* ends with NULL; NULL for none */
    ndr_text names, list;    /* those of the options, and all */
    ndr_text own;            /* the folder of a file with an #include that only the compiler can resolve */
    bool are_needed;         /* by the compiler */
} ndr_folders;

/* `include_dirs`, and then those of -I in `options`; NULL for none. Free `folders` in every case. */
void ndr_folders_read(ndr_folders *folders, const char *const *include_dirs, const char *options);
void ndr_folders_free(ndr_folders *folders);
bool ndr_folders_failed(const ndr_folders *folders); /* out of memory */

/* The compiler needs them: in the file `path` (NULL: not on disk) an unknown macro gives the name of a file. */
ndr_status ndr_folders_need(ndr_folders *folders, const char *path);

/* If the compiler needs them, append them to its `flags`, and a hash of their files to `text`. */
ndr_status ndr_folders_add(const ndr_folders *folders, ndr_text *flags, ndr_text *text);

size_t ndr_folder_length(const char *path); /* up to and including its last slash */

#endif
