/* Compiled by the program and by its kernels. */
#ifndef WEIGHTS_H
#define WEIGHTS_H

struct weights {
    float factor;
    int shift;
};

#endif
