/* source.h - a program's text, and what the reader of its files learns. */
#ifndef NDR_SOURCE_H
#define NDR_SOURCE_H

#include "base/base.h"

/* ---- source.c ---- */

/* One file of kernels/, as embedded by the build. */
typedef struct ndr_source_file {
    const char *name; /* relative to kernels/, such as "ndr/item.clh" */
    const char *text; /* ends with a 0 that `length` does not count */
    size_t length;
} ndr_source_file;

extern const ndr_source_file ndr_embedded_files[]; /* ends with a NULL name */

/* The embedded file of that name, or NULL. */
const ndr_source_file *ndr_source_find(const char *name);

enum { NDR_SOURCE_BYTES = 16 << 20 }; /* the longest text */

/* Append a whole regular file to `out`. A refusal states the reason. */
ndr_status ndr_source_read(const char *path, ndr_text *out);

/* A text with the places to search for included files. */
typedef struct ndr_source_desc {
    const char *title; /* its name in logs: a path or a label */
    const char *text;
    const char *options;             /* build options, whose macros count; NULL for none */
    bool is_file;                    /* `title` is a path whose folder is searched first */
    bool is_bundled;                 /* a file of kernels/, which may include any other */
    bool is_outline;                 /* includes of the vocabulary stay, and marks have no folders: see outline.c */
    const char *const *include_dirs; /* ends with NULL; NULL for none */
} ndr_source_desc;

/* The file that an #include or a __has_include names. */
typedef struct ndr_include {
    char name[512];
    bool is_quoted;
} ndr_include;

/* The result: an embedded file, or one on disk. */
typedef struct ndr_included {
    bool is_there;
    const ndr_source_file *embedded;
    ndr_text path, text;
    ndr_file_info info;
} ndr_included;

/* Parse "name" or <name>. Returns the position behind it, or NULL if there is neither. */
const char *ndr_include_read(const char *at, ndr_include *include);

/* Search the embedded files, the folder of `beside`, and the include folders. `beside` is the path of the file that
 * contains the #include, or NULL if it has none. Free `file` in every case. */
ndr_status ndr_include_find(const ndr_source_desc *desc, const char *beside, const ndr_include *include,
                            ndr_included *file);
void ndr_include_free(ndr_included *file);

/* Append a line about a file that ndr_include_find() did not find: "'NAME' is not in ...". */
void ndr_include_explain(const ndr_source_desc *desc, const char *beside, const ndr_include *include, ndr_text *out);

/* ---- paste.c ---- */

/* The program's own part of a text, without the vocabulary. */
typedef struct ndr_code {
    ndr_text chars;  /* without comments, all blanks as ' ', "" for each string and # for each directive */
    ndr_text macros; /* a line for each directive: "NAME BODY" of a macro, " NAME" of one that is undefined, "include"
                        of a file that only the compiler finds, otherwise empty; the first is empty, too */
    ndr_text places; /* a line for each place in `chars` from where on the code is of another file: "OFFSET NAME" */
} ndr_code;

/* What is learned of a program's text; {0} is empty. */
typedef struct ndr_source {
    ndr_text text;   /* each #include replaced by its file if that is found, with #line marks for build logs */
    ndr_text flags;  /* options that the compiler needs for included files that only it can determine */
    ndr_text files;  /* a line for each file of kernels/ that is in the text: "ndr/item.clh" */
    ndr_text absent; /* a line for each file that was not found: "'NAME' is not in ..." */
    ndr_text paths;  /* a line for each file on disk that was read */
    ndr_text saved;  /* for NDR_DUMP: the text with each #include of the vocabulary left in it, and a 0 behind */
    ndr_code code;
} ndr_source;

/* Read a text and the files that it includes into an empty `source`, to be freed in every case. */
ndr_status ndr_source_expand(const ndr_source_desc *desc, ndr_source *source);
void ndr_source_free(ndr_source *source);

/* Append what is known of another text of the same program. */
void ndr_source_add(ndr_source *source, const ndr_source *other);
bool ndr_source_failed(const ndr_source *source); /* out of memory */

/* Whether the text contains a file of kernels/ whose name starts with `name`: "ndr/" for any of the vocabulary. */
bool ndr_source_includes(const ndr_source *source, const char *name);

#endif
