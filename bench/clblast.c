/* clblast.c - CLBlast with the parameters that its own tuner found best.
 *
 *   clblast_tuner_xgemm -precision 32 -m 1024 -n 1024 -k 1024      leaves clblast_xgemm_1_32.json (or _2_, _11_, _12_)
 *   bench --clblast clblast_xgemm_1_32.json */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef BENCH_CLBLAST

#include <clblast_c.h>

enum { MOST_TEXT = 1 << 20, MOST_PARAMETERS = 64 };

static void fail(const char *what, const char *path)
{
    fprintf(stderr, "bench: %s: %s\n", path, what);
    exit(2);
}

/* What stands between the quotes behind "key": "..."; cut out of `json`. */
static char *field(char *json, const char *key, const char *path)
{
    char *at = strstr(json, key);
    char *open = at ? strchr(at + strlen(key), '"') : NULL;
    char *close = open ? strchr(open + 1, '"') : NULL;
    if (!close) fail("this is no file of CLBlast's tuner", path);
    *close = '\0';
    return open + 1;
}

/* "GEMMK=0 KREG=1 ..." */
static void override_with(const char *kernel, char *parameters, CLBlastPrecision precision, const char *path)
{
    const char *names[MOST_PARAMETERS];
    size_t values[MOST_PARAMETERS], count = 0;
    for (char *pair = strtok(parameters, " "); pair && count < MOST_PARAMETERS; pair = strtok(NULL, " ")) {
        char *equals = strchr(pair, '=');
        if (!equals) continue;
        *equals = '\0';
        if (strcmp(pair, "PRECISION") == 0) continue;
        names[count] = pair;
        values[count++] = strtoul(equals + 1, NULL, 10);
    }
    const CLBlastStatusCode code =
        CLBlastOverrideParameters(ndr_context_cl_device(the_context), kernel, precision, count, names, values);
    if (code != CLBlastSuccess) fail("CLBlast does not take these parameters", path);
}

void clblast_tune(const char *path)
{
    static char text[MOST_TEXT];
    FILE *file = fopen(path, "r");
    if (!file || fread(text, 1, sizeof text - 1, file) == 0) fail("cannot be read", path);
    fclose(file);
    /* From the last field to the first, for each is cut out where it ends. */
    char *parameters = field(text, "\"best_parameters\":", path);
    const long bits = strtol(field(text, "\"precision\":", path), NULL, 10);
    const char *family = field(text, "\"kernel_family\":", path);
    const char *kernel = strncmp(family, "xgemm_direct", 12) == 0 ? "XgemmDirect" : "Xgemm";
    override_with(kernel, parameters, bits == 64 ? CLBlastPrecisionDouble : CLBlastPrecisionSingle, path);
    printf("CLBlast   with %s, as %s has it\n", kernel, path);
}

#else

void clblast_tune(const char *path)
{
    fprintf(stderr, "bench: %s: CLBlast was not there at build time\n", path);
    exit(2);
}

#endif
