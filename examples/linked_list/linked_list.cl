/* linked_list.cl - walks a list of texts that the host built. The same structs as in main.c. */

typedef struct word {
    global struct word *next;
    global char *text;
    int length;
} word;

/* Turn the first letter of each word into a capital; count the words and their letters. One work-item walks. */
kernel void capitalize(global word *first, global int *counts)
{
    int words = 0, letters = 0;
    for (global word *w = first; w; w = w->next) {
        if (w->length > 0 && w->text[0] >= 'a' && w->text[0] <= 'z') w->text[0] -= 'a' - 'A';
        letters += w->length;
        ++words;
    }
    counts[0] = words;
    counts[1] = letters;
}
