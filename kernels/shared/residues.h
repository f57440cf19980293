/* residues.h - the moduli by which kernels/matmul/residues.cl multiplies, and what it has in memory. C and OpenCL C
 * compile this file.
 *
 *     | workspace of the product of residues | planes of A, B and C, one for each modulus | sums | factors |
 *
 * Rows of A and columns of B are lines along k. A plane of A or B has a line's residues in a row, padded with zeros to
 * a multiple of NDR_RESIDUES_STEPS, and lines of zeros up to a multiple of NDR_RESIDUES_LINES. Of so many steps byte
 * 4 * l + i is that of step l + 32 * i, in both matrices. A plane of C has its rows. Sums are [chunk][line], two doubles
 * each; factors are [line]; lines of A come first. */
#ifndef NDR_SHARED_RESIDUES_H
#define NDR_SHARED_RESIDUES_H

#define NDR_RESIDUES 14
#define NDR_RESIDUES_STEPS 128
#define NDR_RESIDUES_LINES 16  /* of a group that computes residues of so many steps */
#define NDR_RESIDUES_CHUNK 128 /* steps of a group that adds those of NDR_RESIDUES_SUM_LINES lines */
#define NDR_RESIDUES_SUM_LINES 32
#define NDR_RESIDUES_ROWS 2    /* of C, of an item that joins residues */
#define NDR_RESIDUES_ITEMS 256 /* of all groups */

/* The largest numbers up to 256 of which no two have a common factor, and three parts of each one's weight: the number
 * that is 1 modulo it and 0 modulo the others, nearest to 0. The parts are multiples of 2^74, 2^37 and 1 of at most 37
 * bits. */
#define NDR_RESIDUES_EACH(X)                                       \
    X(256, 0x1.4af9bb238p107, 0x1.c03da6cc2p72, 0x1.8dfec3804p34)  \
    X(255, -0x1.7031e5978p107, -0x1.9faa02f38p70, -0x1.d03d92cp34) \
    X(253, -0x1.3ccc23468p108, 0x1.366ce8916p72, 0x1.7eb4a34p35)   \
    X(251, 0x1.11b44dafp106, 0x1.c55fe3384p71, -0x1.faa8038p33)    \
    X(247, -0x1.4dc39d8ap108, -0x1.634413b4p69, 0x1.7116adp35)     \
    X(241, -0x1.a217078ep107, 0x1.6512f51cp70, -0x1.2e795fp34)     \
    X(239, 0x1.c71fc396p108, 0x1.04f9cd46p72, 0x1.16a1bfap35)      \
    X(233, -0x1.9cc9d3de8p108, -0x1.422f6372p69, 0x1.a133dcp32)    \
    X(229, -0x1.7bffb0f1p106, 0x1.5b13a09c6p72, 0x1.77963eap35)    \
    X(227, -0x1.75423bedcp108, 0x1.c711b3c5p72, 0x1.49509a8p34)    \
    X(223, -0x1.5d259983p106, 0x1.5d78a71ap70, 0x1.6af3774p34)     \
    X(217, -0x1.ab651bdf4p108, 0x1.245502d1ap72, -0x1.441fe14p34)  \
    X(211, -0x1.a744cff98p107, -0x1.e79560798p72, -0x1.25de164p34) \
    X(199, -0x1.47f6ba7acp108, -0x1.a775e8ce8p71, 0x1.4414d5ap35)

/* The product P of the moduli, in the same parts, and (1 - 2^-16) P / 2: the square of the most that a line's norm is
 * scaled to. */
#define NDR_RESIDUES_P_1 0x1.1e3fc471fp110
#define NDR_RESIDUES_P_2 -0x1.2ec423ffp72
#define NDR_RESIDUES_P_3 0x1.0dd235ap35
#define NDR_RESIDUES_MOST 0x1.1e3ea63226d3p109

/* Words that hold a launch's number: for each matrix and i, whether a line's spread is above (i - 1) / 255 and at most
 * i / 255; the last one also if the line is not one that residues take. Then, whether the bound is proved. */
#define NDR_RESIDUES_BINS 256
#define NDR_RESIDUES_PROVED (2 * NDR_RESIDUES_BINS)
#define NDR_RESIDUES_WORDS (NDR_RESIDUES_PROVED + 1)

#endif
