/* bind_types.h - types that test_bind.c and its kernels share. */
#ifndef BIND_TYPES_H
#define BIND_TYPES_H

struct pair {
    int first;
    float second;
};

typedef struct cell {
    char tag;
    int value;
} cell;

#endif
