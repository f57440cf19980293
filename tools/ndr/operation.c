/* operation.c - words of the command line of `ndr bench` and `ndr tune`. */
#include "operation.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const choice words_of_products[] = { { "f32", NDR_DTYPE_F32 }, { "f64", NDR_DTYPE_F64 }, { 0 } };
const choice words_of_ops[] = { { "sum", NDR_OP_SUM }, { "min", NDR_OP_MIN }, { "max", NDR_OP_MAX }, { 0 } };
const choice words_of_methods[] = {
    { "tree", NDR_REDUCE_TREE }, { "atomic", NDR_REDUCE_ATOMIC }, { "recursive", NDR_REDUCE_RECURSIVE }, { 0 }
};
const choice words_of_accuracies[] = { { "full", NDR_ACCURACY_FULL }, { "tf32", NDR_ACCURACY_TF32 }, { 0 } };

int read_word(const struct argp_state *state, const char *option, const char *text, const choice *words)
{
    char all[400] = "";
    for (const choice *w = words; w->name; ++w) {
        if (strcmp(w->name, text) == 0) return w->value;
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s",
                 w == words  ? ""
                 : w[1].name ? ", "
                             : " or ",
                 w->name);
    }
    argp_error(state, "%s is \"%s\"; give %s", option, text, all);
    return 0;
}

void read_shape(const struct argp_state *state, const char *text, size_t count, uint64_t most, size_t *sizes)
{
    const char *at = text;
    for (size_t i = 0; i < count; ++i) {
        char *end;
        errno = 0;
        const unsigned long long size = *at >= '0' && *at <= '9' ? strtoull(at, &end, 10) : 0;
        if (size < 1 || errno != 0 || size > most || *end != (i + 1 < count ? 'x' : '\0'))
            argp_error(state, "the shape is \"%s\"; give %s, from 1 to %llu%s", text,
                       count == 1   ? "a number"
                       : count == 2 ? "two numbers like 1024x512, which are rows and columns"
                                    : "three numbers like 1024x512x256, which are m, n and k",
                       (unsigned long long)most, count == 1 ? "" : " each");
        sizes[i] = (size_t)size;
        at = end + 1;
    }
}

void add_explanation(json_t *to, char *text)
{
    char *const end = text + strcspn(text, ";");
    json_object_set_new(to, "reasons", text_json(*end ? end + strspn(end, "; ") : ""));
    *end = '\0';
    json_object_set_new(to, "implementation", text_json(text));
}
