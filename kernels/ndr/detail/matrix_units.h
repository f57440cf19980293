/* matrix_units.h - NVIDIA's matrix units for ndr/matrix.clh: the instructions, and what every kind of tiles shares.
 *
 * The library defines NDR_MATRIX_UNITS: 1 for compute capability 8.0 and more, whose warps multiply at once (mma.sync),
 * 2 for 9.0, whose teams of 4 warps begin products of tiles in local memory and go on (wgmma). What is marked
 * NDR_MATRIX_LATER_ is not in the language of the OpenCL compiler's target: src/program/ptx.c removes the mark.
 *
 * A tile in local memory has lines of 128 bytes, 8 of them at a multiple of 1024 bytes. Its 16 bytes q of line l are at
 * q ^ l % 8, so that neither copies nor units meet a bank twice. Where lines are longer, 128 bytes of all lines follow
 * the 128 bytes before. */
#ifndef NDR_DETAIL_MATRIX_UNITS_H
#define NDR_DETAIL_MATRIX_UNITS_H

#include "ndr/nd_item.clh"

/* Without optimisation nothing keeps sums in registers while products run. */
#if !defined(NDR_MATRIX_UNITS) || !defined(NDR_PTX)
#undef NDR_MATRIX_UNITS
#define NDR_MATRIX_UNITS 0
#elif !defined(__OPTIMIZE__) && NDR_MATRIX_UNITS > 1
#undef NDR_MATRIX_UNITS
#define NDR_MATRIX_UNITS 1
#endif

/* How many tiles of A and of B are in local memory, which the device has at least so much of. Two groups share it if
 * each can have 3. */
#define NDR_MATRIX_LOCAL_BYTES_ (NDR_MATRIX_UNITS == 2 ? 224 * 1024 : 96 * 1024)
#define NDR_MATRIX_PAIR_BYTES_ ((NDR_MATRIX_ROWS + NDR_MATRIX_COLS) * 128)
#define NDR_MATRIX_HALF_ (NDR_MATRIX_LOCAL_BYTES_ / 2 / NDR_MATRIX_PAIR_BYTES_)
#define NDR_MATRIX_MOST_ (NDR_MATRIX_HALF_ >= 3 ? NDR_MATRIX_HALF_ : NDR_MATRIX_LOCAL_BYTES_ / NDR_MATRIX_PAIR_BYTES_)

#define NDR_MATRIX_FITS_                                                                                     \
    (NDR_MATRIX_UNITS >= NDR_MATRIX_NEEDED_UNITS_ && NDR_MATRIX_ROWS % 16 == 0 && NDR_MATRIX_COLS % 64 == 0  \
     && NDR_MATRIX_COLS <= 256 && NDR_MATRIX_MOST_ >= 2)
#define NDR_MATRIX_FORM (!NDR_MATRIX_FITS_ ? 0 : NDR_MATRIX_UNITS == 2 && NDR_MATRIX_ROWS % 64 == 0 ? 2 : 1)

#if NDR_MATRIX_UNITS > 0

#include "ndr/detail/squares.h"

#define NDR_MATRIX_LATER_ "//@ "
#define NDR_MATRIX_ADDRESS_(pointer) ((uint)(uintptr_t)(pointer))

/* The byte of a tile of `lines` lines where the 16 bytes `piece` of a line are. */
NDR_INLINE_ uint ndr_matrix_place_(const uint line, const uint piece, const uint lines)
{
    return (piece / 8 * lines + line) * 128 + ((piece ^ line) & 7) * 16;
}

/* ---- copies ---- */

/* Copy 16 bytes, of which `bytes` exist and the others become zeros, without waiting. */
NDR_INLINE_ void ndr_matrix_copy_(const uint to, global const void *from, const uint bytes)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
}

NDR_INLINE_ void ndr_matrix_copy_whole_(const uint to, global const void *from)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}

#define NDR_MATRIX_WAIT_(newest) asm volatile("cp.async.wait_group " #newest ";" ::: "memory")

/* Close a batch, and wait for this item's copies of all but the newest ones. */
NDR_INLINE_ void ndr_matrix_wait_for_copies_(const uint newest)
{
    asm volatile("cp.async.commit_group;" ::: "memory");
    if (newest == 0) NDR_MATRIX_WAIT_(0);
    else if (newest == 1) NDR_MATRIX_WAIT_(1);
    else if (newest == 2) NDR_MATRIX_WAIT_(2);
    else if (newest == 3) NDR_MATRIX_WAIT_(3);
    else if (newest == 4) NDR_MATRIX_WAIT_(4);
    else if (newest == 5) NDR_MATRIX_WAIT_(5);
    else if (newest == 6) NDR_MATRIX_WAIT_(6);
    else NDR_MATRIX_WAIT_(7);
}

/* ---- products of a warp ---- */

/* sum += 16 rows of A times 8 columns of B, over 32 bytes. */
#define NDR_MATRIX_MMA_(shape, kind, sum, a, b)                                                              \
    asm volatile("mma.sync.aligned." shape " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"\
                 : kind((sum)[0]), kind((sum)[1]), kind((sum)[2]), kind((sum)[3])                            \
                 : "r"((a)[0]), "r"((a)[1]), "r"((a)[2]), "r"((a)[3]), "r"((b)[0]), "r"((b)[1]))
#define NDR_MATRIX_multiply_of_f16(sum, a, b)                                                                \
    NDR_MATRIX_MMA_("m16n8k16.row.col.f32.f16.f16.f32", "+f", sum, a, b)
#define NDR_MATRIX_multiply_of_bf16(sum, a, b)                                                               \
    NDR_MATRIX_MMA_("m16n8k16.row.col.f32.bf16.bf16.f32", "+f", sum, a, b)
#define NDR_MATRIX_multiply_of_i8(sum, a, b)                                                                 \
    NDR_MATRIX_MMA_("m16n8k32.row.col.s32.s8.s8.s32", "+r", sum, a, b)
#define NDR_MATRIX_MULTIPLY_(sum, a, b) NDR_MATRIX_OF_TYPE_(multiply)(sum, a, b)

/* ---- products of a team ---- */

#define NDR_MATRIX_shape_of_f16 "k16.f32.f16.f16"
#define NDR_MATRIX_shape_of_bf16 "k16.f32.bf16.bf16"
#define NDR_MATRIX_shape_of_i8 "k32.s32.s8.s8"
#define NDR_MATRIX_kind_of_f16 "+f"
#define NDR_MATRIX_kind_of_bf16 "+f"
#define NDR_MATRIX_kind_of_i8 "+r"

/* 64 bits that describe a tile: its address / 16, that 8 lines are 1024 bytes, that 16 bytes of lines are exchanged;
 * of a tile of B by rows, that 64 of its columns are 8192 bytes. */
#define NDR_MATRIX_TILE_AT_(at) ((8192ul / 16) << 16 | (1024ul / 16) << 32 | 1ul << 62 | (ulong)(at) >> 4)

#if NDR_MATRIX_UNITS > 1
#define NDR_MATRIX_BEGIN_() asm volatile(NDR_MATRIX_LATER_ "wgmma.fence.sync.aligned;" ::: "memory")
#define NDR_MATRIX_CLOSE_() asm volatile(NDR_MATRIX_LATER_ "wgmma.commit_group.sync.aligned;" ::: "memory")
#define NDR_MATRIX_SHOW_() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")
#define NDR_MATRIX_END_() asm volatile(NDR_MATRIX_LATER_ "wgmma.wait_group.sync.aligned 0;" ::: "memory")
#endif

/* The first 32, 64, 96 and 128 operands. */
#define NDR_MATRIX_NAMES_32_                                                                                 \
    "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27," \
    "%28,%29,%30,%31"
#define NDR_MATRIX_NAMES_64_                                                                                 \
    NDR_MATRIX_NAMES_32_                                                                                     \
    ",%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57," \
    "%58,%59,%60,%61,%62,%63"
#define NDR_MATRIX_NAMES_96_                                                                                 \
    NDR_MATRIX_NAMES_64_                                                                                     \
    ",%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,%80,%81,%82,%83,%84,%85,%86,%87,%88,%89," \
    "%90,%91,%92,%93,%94,%95"
#define NDR_MATRIX_NAMES_128_                                                                                \
    NDR_MATRIX_NAMES_96_                                                                                     \
    ",%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,%111,%112,%113,%114,%115,%116," \
    "%117,%118,%119,%120,%121,%122,%123,%124,%125,%126,%127"
#define NDR_MATRIX_8_(kind, x, i)                                                                            \
    kind((x)[i]), kind((x)[(i) + 1]), kind((x)[(i) + 2]), kind((x)[(i) + 3]), kind((x)[(i) + 4]),            \
        kind((x)[(i) + 5]), kind((x)[(i) + 6]), kind((x)[(i) + 7])
#define NDR_MATRIX_32_(kind, x, i)                                                                           \
    NDR_MATRIX_8_(kind, x, i), NDR_MATRIX_8_(kind, x, (i) + 8), NDR_MATRIX_8_(kind, x, (i) + 16),            \
        NDR_MATRIX_8_(kind, x, (i) + 24)

/* sum += 64 rows of A times `cols` columns of B over 32 bytes, without waiting; a and b are the operands' names. */
#define NDR_MATRIX_WGMMA_(cols, shape, names, forms, a, b)                                                   \
    NDR_MATRIX_LATER_ "wgmma.mma_async.sync.aligned.m64n" cols shape " {" names "}, " a ", " b ", 1" forms ";"

#endif

/* ---- waiting ---- */

/* Close a batch of loads. Wait for all batches but the `newest`, and for all products. */
NDR_FUNCTION_ void ndr_matrix_wait(const ndr_group g, const uint newest)
{
    (void)g, (void)newest;
#if NDR_MATRIX_UNITS > 0
    ndr_matrix_wait_for_copies_(newest);
#endif
#if NDR_MATRIX_UNITS > 1
    NDR_MATRIX_SHOW_();
    NDR_MATRIX_END_();
#endif
    barrier(CLK_LOCAL_MEM_FENCE);
}

#endif
