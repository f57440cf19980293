/* vocabulary.cl - a kernel for each function of kernels/ndr and each type that it takes, expanded from the rows below.
 *
 * No kernel here runs. tests/tools/spirv/run compiles the file to SPIR-V, which has only the functions that are called,
 * and compares these with the functions that kernels/ndr defines. So a new function there needs a row here. */
#include "ndr/ndr.clh"

/* ---- the types ---- */

#if (defined(cl_khr_fp64) || defined(__opencl_c_fp64)) && !defined(NDR_DISABLE_FP64)
#define DOUBLE(text) text
#else
#define DOUBLE(text)
#endif

#if defined(cl_khr_int64_base_atomics) && !defined(NDR_DISABLE_INT64_ATOMICS)
#define WIDE(text) text
#else
#define WIDE(text)
#endif

#ifdef FEW_TYPES /* a small one, a signed one and a wide one */
#define INTEGERS(ROW) ROW(uchar) ROW(int) ROW(ulong)
#else
#define INTEGERS(ROW) ROW(char) ROW(uchar) ROW(short) ROW(ushort) ROW(int) ROW(uint) ROW(long) ROW(ulong)
#endif
#define FLOATS(ROW) ROW(float) DOUBLE(ROW(double))
#define TYPES(ROW) INTEGERS(ROW) FLOATS(ROW)

#define ATOMIC_INTEGERS(ROW) ROW(int) ROW(uint) WIDE(ROW(long) ROW(ulong))
#define ATOMIC_TYPES(ROW) ATOMIC_INTEGERS(ROW) ROW(float) WIDE(DOUBLE(ROW(double)))

/* ---- what a kernel is ---- */

/* One that does `statement` with these: it, g, sg, x, y, n, out, in, tile. */
#define KERNEL(name, T, statement)                                                           \
    kernel void name(global T *out, global const T *in, local T *tile, ulong n, NDR_ND_RANGE(3)) \
    {                                                                                        \
        const ndr_nd_item it = NDR_ND_ITEM(3);                                               \
        const ndr_group g = ndr_get_group(it);                                               \
        const ndr_sub_group sg = ndr_get_sub_group(it);                                      \
        const T x = in[0], y = in[1];                                                        \
        (void)sg.id, (void)g.dims, (void)x, (void)y;                                         \
        statement;                                                                           \
    }

/* One that leaves a value of type T. */
#define VALUE(name, T, expression) KERNEL(name, T, out[0] = (T)(expression))

/* ---- item.clh, nd_item.clh: where an item is ---- */

#define RANGE(dims)                                                                                                \
    kernel void range_##dims(global ulong *out, NDR_RANGE(dims))                                                   \
    {                                                                                                              \
        const ndr_item it = NDR_ITEM(dims);                                                                        \
        out[0] = ndr_dims(it) + ndr_global_id(it, 0) + ndr_global_range(it, 0) + ndr_offset(it, 0)                 \
                 + ndr_global_linear_id(it) + ndr_global_linear_range(it) + ndr_in_range(it);                      \
        NDR_FOR_GLOBAL(i, it, out[1]) out[i] = i;                                                                  \
    }                                                                                                              \
    kernel void nd_range_##dims(global ulong *out, NDR_ND_RANGE(dims))                                             \
    {                                                                                                              \
        const ndr_nd_item it = NDR_ND_ITEM(dims);                                                                  \
        const ndr_group g = ndr_get_group(it);                                                                     \
        out[0] = ndr_dims(it) + ndr_global_id(it, 0) + ndr_global_range(it, 0) + ndr_offset(it, 0)                 \
                 + ndr_global_linear_id(it) + ndr_global_linear_range(it) + ndr_in_range(it);                      \
        out[1] = ndr_local_id(it, 0) + ndr_local_range(it, 0) + ndr_max_local_range(it, 0) + ndr_group_id(it, 0)   \
                 + ndr_group_range(it, 0) + ndr_local_linear_id(it) + ndr_local_linear_range(it)                   \
                 + ndr_group_linear_id(it) + ndr_group_linear_range(it);                                           \
        out[2] = ndr_local_id(g, 0) + ndr_local_range(g, 0) + ndr_max_local_range(g, 0) + ndr_group_id(g, 0)       \
                 + ndr_group_range(g, 0) + ndr_local_linear_id(g) + ndr_local_linear_range(g)                      \
                 + ndr_group_linear_id(g) + ndr_group_linear_range(g) + ndr_dims(g) + ndr_leader(g);               \
        NDR_FOR_GROUPS(i, g, out[3]) out[i] = i;                                                                   \
        NDR_FOR_LOCAL(i, g, out[3]) out[i] = i;                                                                    \
    }                                                                                                              \
    kernel void hierarchy_##dims(global ulong *out, NDR_ND_RANGE(dims))                                            \
    {                                                                                                              \
        const ndr_group g = NDR_GROUP(dims);                                                                       \
        NDR_GROUP_LOCAL(ulong, n, g, out[0]);                                                                      \
        NDR_PRIVATE(ulong, own);                                                                                   \
        NDR_WORK_ITEMS(h, g)                                                                                       \
        {                                                                                                          \
            own[ndr_mine(h)] = ndr_dims(h) + ndr_global_id(h, 0) + ndr_global_range(h, 0) + ndr_offset(h, 0)       \
                               + ndr_global_linear_id(h) + ndr_global_linear_range(h) + ndr_in_range(h);           \
        }                                                                                                          \
        NDR_WORK_ITEMS_OVER(h, g, ndr_range_##dims##d(NDR_SIZES_##dims))                                           \
        {                                                                                                          \
            out[n] = ndr_logical_local_id(h, 0) + ndr_logical_local_range(h, 0) + ndr_local_id(h, 0)               \
                     + ndr_local_range(h, 0) + ndr_physical_local_id(h, 0) + ndr_physical_local_range(h, 0)        \
                     + own[ndr_mine(h)];                                                                           \
        }                                                                                                          \
        NDR_ONCE(g) out[1] = n;                                                                                    \
    }
#define NDR_SIZES_1 n
#define NDR_SIZES_2 n, n
#define NDR_SIZES_3 n, n, n
RANGE(1)
RANGE(2)
RANGE(3)

kernel void dims_of_the_launch(global ulong *out, NDR_RANGE(0))
{
    const ndr_item it = NDR_ITEM(0);
    out[0] = ndr_global_linear_id(it);
}
kernel void nd_dims_of_the_launch(global ulong *out, NDR_ND_RANGE(0))
{
    const ndr_nd_item it = NDR_ND_ITEM(0);
    out[0] = ndr_global_linear_id(it);
}

KERNEL(barrier_local, int, ndr_group_barrier(g, NDR_FENCE_LOCAL))
KERNEL(barrier_global, int, ndr_group_barrier(g, NDR_FENCE_GLOBAL))
KERNEL(barrier_both, int, ndr_group_barrier(g, NDR_FENCE_BOTH))
KERNEL(barrier_of_group, int, ndr_group_barrier(g))

/* ---- local.clh ---- */

constant size_t sizes[3] = { 2, 3, 4 };
VALUE(at_2, ulong, ndr_at(n, n, n))
VALUE(at_3, ulong, ndr_at(n, n, n, n, n))
kernel void linear(global ulong *out, ulong n)
{
    const size_t own[3] = { n, n, n };
    size_t id[3];
    ndr_delinearize(n, 3, sizes, id);
    out[0] = ndr_linearize(3, sizes, id);
    ndr_delinearize(n, 3, own, id);
    out[1] = ndr_linearize(3, own, id);
}

/* ---- op.clh ---- */

#define OPS(T)                                              \
    VALUE(combine_##T, T, ndr_combine(x, y, NDR_PLUS))      \
    VALUE(identity_##T, T, NDR_IDENTITY(T, NDR_MULTIPLIES)) \
    VALUE(neutral_##T, T, NDR_NEUTRAL(T, NDR_MINIMUM))      \
    VALUE(maximum_##T, T, NDR_NEUTRAL(T, NDR_MAXIMUM))      \
    VALUE(logical_and_##T, T, ndr_combine(x, y, NDR_LOGICAL_AND)) \
    VALUE(logical_or_##T, T, ndr_combine(x, y, NDR_LOGICAL_OR))
TYPES(OPS)
#define BIT_OPS(T)                                               \
    VALUE(combine_bits_##T, T, ndr_combine(x, y, NDR_BIT_AND))   \
    VALUE(identity_bits_##T, T, NDR_IDENTITY(T, NDR_BIT_OR))     \
    VALUE(neutral_bits_##T, T, NDR_NEUTRAL(T, NDR_BIT_XOR))
INTEGERS(BIT_OPS)

/* ---- group.clh, sub_group.clh: over a group's own x ---- */

/* `of` is g or sg. */
#define COMBINING(T, op, op_name, of)                                                                           \
    VALUE(of##_reduce_##op_name##_##T, T, ndr_reduce_over_group(of, x, op))                                     \
    VALUE(of##_reduce_init_##op_name##_##T, T, ndr_reduce_over_group(of, x, y, op))                             \
    VALUE(of##_inclusive_##op_name##_##T, T, ndr_inclusive_scan_over_group(of, x, op))                          \
    VALUE(of##_inclusive_init_##op_name##_##T, T, ndr_inclusive_scan_over_group(of, x, op, y))                  \
    VALUE(of##_exclusive_##op_name##_##T, T, ndr_exclusive_scan_over_group(of, x, op))                          \
    VALUE(of##_exclusive_init_##op_name##_##T, T, ndr_exclusive_scan_over_group(of, x, y, op))
#define COMBINING_ANY(T) COMBINING(T, NDR_PLUS, op, g) COMBINING(T, NDR_PLUS, op, sg)
#define COMBINING_BITS(T) COMBINING(T, NDR_BIT_OR, bit_op, g) COMBINING(T, NDR_BIT_OR, bit_op, sg)
TYPES(COMBINING_ANY)
INTEGERS(COMBINING_BITS)

#define BROADCASTS(T)                                                     \
    VALUE(g_broadcast_##T, T, ndr_group_broadcast(g, x))                  \
    VALUE(g_broadcast_1_##T, T, ndr_group_broadcast(g, x, n))             \
    VALUE(g_broadcast_2_##T, T, ndr_group_broadcast(g, x, n, n))          \
    VALUE(g_broadcast_3_##T, T, ndr_group_broadcast(g, x, n, n, n))       \
    VALUE(sg_broadcast_##T, T, ndr_group_broadcast(sg, x))                \
    VALUE(sg_broadcast_1_##T, T, ndr_group_broadcast(sg, x, (uint)n))     \
    VALUE(sg_select_##T, T, ndr_select_from_group(sg, x, (uint)n))        \
    VALUE(sg_left_##T, T, ndr_shift_group_left(sg, x, (uint)n))           \
    VALUE(sg_right_##T, T, ndr_shift_group_right(sg, x, (uint)n))         \
    VALUE(sg_xor_##T, T, ndr_permute_group_by_xor(sg, x, (uint)n))
TYPES(BROADCASTS)

#define VOTES(of)                                        \
    VALUE(of##_any, int, ndr_any_of_group(of, x > 0))    \
    VALUE(of##_all, int, ndr_all_of_group(of, x > 0))    \
    VALUE(of##_none, int, ndr_none_of_group(of, x > 0))
VOTES(g)
VOTES(sg)

/* ---- group.clh: over n elements ---- */

/* `from` and `to` are in one memory, which `where` names. */
#define JOINT_COMBINING(T, op, op_name, where, from, to)                                                       \
    VALUE(joint_reduce_##where##_##op_name##_##T, T, ndr_joint_reduce(g, from, n, op))                         \
    VALUE(joint_reduce_init_##where##_##op_name##_##T, T, ndr_joint_reduce(g, from, n, x, op))                 \
    KERNEL(joint_inclusive_##where##_##op_name##_##T, T, ndr_joint_inclusive_scan(g, from, n, to, op))         \
    KERNEL(joint_inclusive_init_##where##_##op_name##_##T, T, ndr_joint_inclusive_scan(g, from, n, to, op, x)) \
    KERNEL(joint_exclusive_##where##_##op_name##_##T, T, ndr_joint_exclusive_scan(g, from, n, to, op))         \
    KERNEL(joint_exclusive_init_##where##_##op_name##_##T, T, ndr_joint_exclusive_scan(g, from, n, to, x, op))
#define JOINT_COMBINING_ANY(T) \
    JOINT_COMBINING(T, NDR_PLUS, op, global, in, out) JOINT_COMBINING(T, NDR_PLUS, op, local, tile, tile)
#define JOINT_COMBINING_BITS(T) \
    JOINT_COMBINING(T, NDR_BIT_OR, bit_op, global, in, out) JOINT_COMBINING(T, NDR_BIT_OR, bit_op, local, tile, tile)
TYPES(JOINT_COMBINING_ANY)
INTEGERS(JOINT_COMBINING_BITS)

#define JOINT_VOTES(T)                                                     \
    VALUE(joint_any_global_##T, T, ndr_joint_any_of(g, in, n))             \
    VALUE(joint_all_global_##T, T, ndr_joint_all_of(g, in, n))             \
    VALUE(joint_none_global_##T, T, ndr_joint_none_of(g, in, n))           \
    VALUE(joint_any_local_##T, T, ndr_joint_any_of(g, tile, n))            \
    VALUE(joint_all_local_##T, T, ndr_joint_all_of(g, tile, n))            \
    VALUE(joint_none_local_##T, T, ndr_joint_none_of(g, tile, n))
TYPES(JOINT_VOTES)

/* ---- sub_group.clh: where an item is ---- */

NDR_SUB_GROUP_KERNEL
KERNEL(sub_group, ulong, {
    out[0] = ndr_dims(sg) + ndr_group_linear_id(sg) + ndr_group_linear_range(sg) + ndr_local_linear_id(sg)
             + ndr_local_linear_range(sg) + ndr_max_local_range(sg) + ndr_leader(sg);
    out[1] = ndr_group_id(sg, 0) + ndr_group_range(sg, 0) + ndr_local_id(sg, 0) + ndr_local_range(sg, 0)
             + ndr_max_local_range(sg, 0);
})
KERNEL(sub_group_barrier_local, int, ndr_group_barrier(sg, NDR_FENCE_LOCAL))
KERNEL(sub_group_barrier_global, int, ndr_group_barrier(sg, NDR_FENCE_GLOBAL))
KERNEL(sub_group_barrier_both, int, ndr_group_barrier(sg, NDR_FENCE_BOTH))
KERNEL(sub_group_barrier_plain, int, ndr_group_barrier(sg))

/* ---- copy.clh ---- */

#define COPIES(T)                                                                 \
    KERNEL(copy_in_##T, T, ndr_group_wait(g, ndr_group_copy(g, tile, in, n)))     \
    KERNEL(copy_in_stride_##T, T, ndr_group_wait(g, ndr_group_copy(g, tile, in, n, n))) \
    KERNEL(copy_out_##T, T, ndr_group_wait(g, ndr_group_copy(g, out, (local const T *)tile, n))) \
    KERNEL(copy_out_stride_##T, T, ndr_group_wait(g, ndr_group_copy(g, out, (local const T *)tile, n, n)))
#define VECTOR_COPY(V)                                                                               \
    ndr_group_wait(g, ndr_group_copy(g, (local V *)tile, (global const V *)in, n));                  \
    ndr_group_wait(g, ndr_group_copy(g, (local V *)tile, (global const V *)in, n, n));               \
    ndr_group_wait(g, ndr_group_copy(g, (global V *)out, (local const V *)tile, n));                 \
    ndr_group_wait(g, ndr_group_copy(g, (global V *)out, (local const V *)tile, n, n));
#define VECTOR_COPIES(T) \
    KERNEL(copy_vectors_##T, T, { VECTOR_COPY(T##2) VECTOR_COPY(T##3) VECTOR_COPY(T##4) VECTOR_COPY(T##8) VECTOR_COPY(T##16) })
TYPES(COPIES)
TYPES(VECTOR_COPIES)

/* ---- atomic.clh ---- */

/* `...` is nothing, or order and scope after a comma. */
#define ATOMICS(T, name, p, load_order, store_order, order)                                                    \
    VALUE(load_##name##_##T, T, ndr_atomic_load(p load_order))                                                 \
    KERNEL(store_##name##_##T, T, ndr_atomic_store(p, x store_order))                                          \
    VALUE(exchange_##name##_##T, T, ndr_atomic_exchange(p, x order))                                           \
    KERNEL(compare_exchange_##name##_##T, T, { T seen = y; if (ndr_atomic_compare_exchange(p, &seen, x order)) out[1] = seen; }) \
    VALUE(fetch_add_##name##_##T, T, ndr_atomic_fetch_add(p, x order))                                         \
    VALUE(fetch_sub_##name##_##T, T, ndr_atomic_fetch_sub(p, x order))                                         \
    VALUE(fetch_min_##name##_##T, T, ndr_atomic_fetch_min(p, x order))                                         \
    VALUE(fetch_max_##name##_##T, T, ndr_atomic_fetch_max(p, x order))
#define ATOMIC_BITS(T, name, p, order)                                 \
    VALUE(fetch_and_##name##_##T, T, ndr_atomic_fetch_and(p, x order)) \
    VALUE(fetch_or_##name##_##T, T, ndr_atomic_fetch_or(p, x order))   \
    VALUE(fetch_xor_##name##_##T, T, ndr_atomic_fetch_xor(p, x order))
#define NOTHING
#define ACQUIRE , NDR_ACQUIRE, NDR_SCOPE_WORK_GROUP
#define RELEASE , NDR_RELEASE, NDR_SCOPE_WORK_GROUP
#define ACQ_REL , NDR_ACQ_REL, NDR_SCOPE_SUB_GROUP
#define TWO_ORDERS , NDR_ACQ_REL, NDR_ACQUIRE, NDR_SCOPE_WORK_GROUP
#define RELAXED , NDR_RELAXED, NDR_SCOPE_DEVICE

#define BOTH_ORDERS(T, name, p)                                                       \
    KERNEL(compare_exchange_two_##name##_##T, T, { T seen = y; out[1] = (T)ndr_atomic_compare_exchange(p, &seen, x TWO_ORDERS); })
#define ALL_ATOMICS(T)                                                              \
    ATOMICS(T, global, out, NOTHING, NOTHING, NOTHING)                              \
    ATOMICS(T, local, tile, NOTHING, NOTHING, NOTHING)                              \
    ATOMICS(T, ordered_global, out, ACQUIRE, RELEASE, ACQ_REL)                      \
    ATOMICS(T, ordered_local, tile, ACQUIRE, RELEASE, ACQ_REL)                      \
    ATOMICS(T, relaxed_global, out, RELAXED, RELAXED, RELAXED)                      \
    BOTH_ORDERS(T, global, out)                                                     \
    BOTH_ORDERS(T, local, tile)
#define ALL_ATOMIC_BITS(T)                       \
    ATOMIC_BITS(T, global, out, NOTHING)         \
    ATOMIC_BITS(T, local, tile, NOTHING)         \
    ATOMIC_BITS(T, ordered_global, out, ACQ_REL) \
    ATOMIC_BITS(T, ordered_local, tile, ACQ_REL)
ATOMIC_TYPES(ALL_ATOMICS)
ATOMIC_INTEGERS(ALL_ATOMIC_BITS)

KERNEL(fence_item, int, ndr_atomic_fence(NDR_ACQ_REL, NDR_SCOPE_WORK_ITEM))
KERNEL(fence_group, int, ndr_atomic_fence(NDR_ACQ_REL, NDR_SCOPE_WORK_GROUP))
#if NDR_ORDERS_DEVICE_
KERNEL(fence_device, int, ndr_atomic_fence(NDR_ACQ_REL, NDR_SCOPE_DEVICE))
VALUE(add_across_device, int, ndr_atomic_fetch_add(out, x, NDR_ACQ_REL, NDR_SCOPE_DEVICE))
#endif
#if NDR_ORDERS_ALL_
KERNEL(fence_all, int, ndr_atomic_fence(NDR_SEQ_CST, NDR_SCOPE_WORK_GROUP))
VALUE(load_in_order, int, ndr_atomic_load(out, NDR_SEQ_CST, NDR_SCOPE_WORK_GROUP))
#endif
/* NDR_SCOPE_SYSTEM is refused on global memory, and counts as the group on local memory. */
VALUE(add_for_all, int, ndr_atomic_fetch_add(tile, x, NDR_ACQ_REL, NDR_SCOPE_SYSTEM))

/* ---- reduction.clh ---- */

/* Both loops: `run` compiles them with NDR_REDUCTION_VECTORS, too, which is the form for CPUs. */
#define REDUCED(T, dims)                                                                                       \
    kernel void reduce_##dims##_##T(global const T *in, NDR_REDUCTION(dims, (SUM, T, sum), (PRODUCT, T, product), \
                                                                      (MIN, T, least), (MAX, T, most)))        \
    {                                                                                                          \
        NDR_AHEAD(in);                                                                                         \
        NDR_REDUCE(i, dims, sum, product, least, most) {                                                       \
            const T x = in[ndr_global_id(i, (dims) - 1) + ndr_global_linear_id(i) + ndr_offset(i, 0)];         \
            NDR_COMBINE(sum, x);                                                                               \
            NDR_COMBINE(product, x);                                                                           \
            NDR_COMBINE(least, (T)ndr_global_range(i, 0));                                                     \
            NDR_COMBINE(most, (T)(ndr_global_linear_range(i) + ndr_dims(i)));                                  \
        }                                                                                                      \
    }
#define REDUCED_BITS(T)                                                                                         \
    kernel void reduce_bits_##T(global const T *in, NDR_REDUCTION(1, (BIT_AND, T, all), (BIT_OR, T, any), (BIT_XOR, T, odd))) \
    {                                                                                                           \
        NDR_REDUCE(i, 1, all, any, odd) {                                                                       \
            NDR_COMBINE(all, in[ndr_global_id(i, 0)]);                                                          \
            NDR_COMBINE(any, in[ndr_global_id(i, 0)]);                                                          \
            NDR_COMBINE(odd, in[ndr_global_id(i, 0)]);                                                          \
        }                                                                                                       \
    }
#define REDUCED_DIMS(T) REDUCED(T, 1) REDUCED(T, 2) REDUCED(T, 3)
TYPES(REDUCED_DIMS)
INTEGERS(REDUCED_BITS)

/* ---- random.clh ---- */

#define RANDOM ndr_random_of(n, n)
VALUE(philox, uint, ndr_philox((uint4)(x), (uint2)(y)).x)
VALUE(random_uint, uint, ndr_random_uint(RANDOM, n))
VALUE(random_ulong, ulong, ndr_random_ulong(RANDOM, n))
VALUE(random_uint_below, uint, ndr_random_uint_below(RANDOM, n, x))
VALUE(random_ulong_below, ulong, ndr_random_ulong_below(RANDOM, n, x))
VALUE(random_float, float, ndr_random_float(RANDOM, n))
VALUE(random_float_normal, float, ndr_random_float_normal(RANDOM, n))
VALUE(random_uint4, uint, ndr_random_uint4(RANDOM, n).x)
VALUE(random_ulong2, ulong, ndr_random_ulong2(RANDOM, n).x)
VALUE(random_float4, float, ndr_random_float4(RANDOM, n).x)
VALUE(random_float4_normal, float, ndr_random_float4_normal(RANDOM, n).x)
VALUE(random_permuted, ulong, ndr_random_permuted(RANDOM, n, x))
DOUBLE(VALUE(random_double, double, ndr_random_double(RANDOM, n)))
DOUBLE(VALUE(random_double_normal, double, ndr_random_double_normal(RANDOM, n)))
DOUBLE(VALUE(random_double2, double, ndr_random_double2(RANDOM, n).x))
DOUBLE(VALUE(random_double2_normal, double, ndr_random_double2_normal(RANDOM, n).x))

/* ---- matrix.clh: tiles of each type of elements ---- */

#define PRODUCT(tiles, T, S)                                                                                     \
    NDR_MATRIX_KERNEL kernel void product_of_##tiles(global S *to, global const T *from, ulong n, NDR_ND_RANGE(1)) \
    {                                                                                                            \
        const ndr_group g = ndr_get_group(NDR_ND_ITEM(1));                                                       \
        tiles sum;                                                                                               \
        tiles##_a a[NDR_MATRIX_TILES];                                                                           \
        tiles##_b b[NDR_MATRIX_TILES];                                                                           \
        ndr_matrix_fill(g, &sum, (S)(1));                                                                        \
        ndr_matrix_load(g, &sum, to, n, n, n);                                                                   \
        ndr_matrix_load(g, &a[0], from, n, n, n);                                                                \
        ndr_matrix_load(g, &b[0], from + NDR_MATRIX_DEPTH, 1, n, n, n);                                          \
        ndr_matrix_wait(g, 0);                                                                                   \
        ndr_matrix_mad(g, &sum, &a[0], &b[0]);                                                                   \
        ndr_matrix_wait(g, 0);                                                                                   \
        NDR_MATRIX_APPLY(g, sum, x, row, col) x += (S)(row * NDR_MATRIX_ITEMS + col);                            \
        ndr_matrix_store(g, &sum, to, n, n, n);                                                                  \
    }

#define NDR_MATRIX_ROWS 32
#define NDR_MATRIX_COLS 16
#define NDR_MATRIX_B_BY_COLUMNS 1

#define NDR_MATRIX_TYPE f16
#define NDR_MATRIX_NAME tiles_f16
#include "ndr/matrix.clh"
PRODUCT(tiles_f16, half, float)

#undef NDR_MATRIX_TYPE
#undef NDR_MATRIX_NAME
#define NDR_MATRIX_TYPE bf16
#define NDR_MATRIX_NAME tiles_bf16
#include "ndr/matrix.clh"
PRODUCT(tiles_bf16, ushort, float)

#undef NDR_MATRIX_TYPE
#undef NDR_MATRIX_NAME
#define NDR_MATRIX_TYPE i8
#define NDR_MATRIX_NAME tiles_i8
#include "ndr/matrix.clh"
PRODUCT(tiles_i8, char, int)

#undef NDR_MATRIX_TYPE
#undef NDR_MATRIX_NAME
#define NDR_MATRIX_TYPE f32
#define NDR_MATRIX_NAME tiles_f32
#include "ndr/matrix.clh"
PRODUCT(tiles_f32, float, float)

#if (defined(cl_khr_fp64) || defined(__opencl_c_fp64)) && !defined(NDR_DISABLE_FP64)
#undef NDR_MATRIX_TYPE
#undef NDR_MATRIX_NAME
#define NDR_MATRIX_TYPE f64
#define NDR_MATRIX_NAME tiles_f64
#include "ndr/matrix.clh"
PRODUCT(tiles_f64, double, double)
#endif
