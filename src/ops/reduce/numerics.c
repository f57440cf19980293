/* numerics.c - reductions of floats whose bits do not depend on the device, and dot products. */
#include "ops/reduce/reduce.h"

/* ---- the list ---- */

/* In the order in which they are asked. */
#define VARIANTS(V) V(fixed_chunks) V(fixed_groups) V(exact_chunks) V(exact_groups)
#define DECLARE(name) extern const ndr_op_variant ndr_reduce_##name;
#define POINT_TO(name) &ndr_reduce_##name,
VARIANTS(DECLARE)
static const ndr_op_variant *const variants[] = { VARIANTS(POINT_TO) };

static ndr_op_work work_of(const void *request)
{
    const ndr_reduce_request *r = request;
    const uint64_t inputs = ndr_reduce_is_dot(r) ? 2 : 1, n = r->input.cols;
    return (ndr_op_work){ (inputs * n + 1) * ndr_dtype_size(r->dtype), n > 0 ? inputs * n - 1 : 0 };
}

const ndr_operation ndr_numerics_operation = { "reduce", variants, NDR_COUNT_OF(variants), NULL, work_of };

const char *ndr_numerics_cannot(const ndr_op_case *of)
{
    const ndr_reduce_request *r = of->request;
    return of->variant->form == (unsigned)r->numerics ? NULL : "the call asks for other numerics";
}

/* ---- checks ---- */

static const char *const names[] = { "NDR_NUMERICS_FAST", "NDR_NUMERICS_REPRODUCIBLE", "NDR_NUMERICS_EXACT" };

static bool is_extreme(ndr_op op) { return op == NDR_OP_MIN || op == NDR_OP_MAX; }

static ndr_status check_factors(const ndr_reduce_desc *desc)
{
    NDR_REQUIRE(
        desc->op == NDR_OP_SUM && (desc->dtype == NDR_DTYPE_F32 || desc->dtype == NDR_DTYPE_F64),
        "ndr_reduce: factors are set, but the call is NDR_OP_%s of %s; factors are for NDR_OP_SUM of f32 or f64: "
        "use ndr_map_reduce(), with \"x * y\"",
        ndr_op_name(desc->op), ndr_dtype_name(desc->dtype));
    return NDR_OK;
}

/* On a device that flushes, sums of floats can be made right, but not products. */
static ndr_status check_numerics(const ndr_caps *caps, const ndr_reduce_desc *desc)
{
    const bool is_dot = desc->factors.buffer != NULL, multiplies = is_dot || desc->op == NDR_OP_PRODUCT;
    NDR_REQUIRE(!ndr_dtype_is_narrow(desc->dtype),
                "ndr_reduce: numerics is %s, which is for f32 and f64, but dtype is %s; leave numerics out",
                names[desc->numerics], ndr_dtype_name(desc->dtype));
    NDR_REQUIRE(desc->numerics != NDR_NUMERICS_EXACT || desc->op != NDR_OP_PRODUCT,
                "ndr_reduce: numerics is NDR_NUMERICS_EXACT, which has no NDR_OP_PRODUCT of %s; use "
                "NDR_NUMERICS_REPRODUCIBLE",
                ndr_dtype_name(desc->dtype));
    NDR_REQUIRE_AS(NDR_UNSUPPORTED,
                   desc->numerics != NDR_NUMERICS_REPRODUCIBLE || desc->dtype != NDR_DTYPE_F32 || !multiplies
                       || !caps->flushes_f32,
                   "ndr_reduce: device \"%s\" takes subnormal f32 for 0, so that NDR_NUMERICS_REPRODUCIBLE has no %s "
                   "there; use NDR_NUMERICS_%s",
                   caps->info.name, is_dot ? "dot products" : "NDR_OP_PRODUCT", is_dot ? "EXACT" : "FAST");
    return NDR_OK;
}

/* Integers, and truth, have one result. Extremes of floats are those of integers. */
ndr_status ndr_numerics_set(const ndr_caps *caps, const ndr_reduce_desc *desc, ndr_reduce_request *request)
{
    const bool is_dot = desc->factors.buffer != NULL;
    const bool is_real = ndr_dtype_describe(desc->dtype)->is_float
                         && (desc->op == NDR_OP_SUM || desc->op == NDR_OP_PRODUCT || is_extreme(desc->op));
    NDR_REQUIRE((unsigned)desc->numerics < NDR_COUNT_OF(names),
                "ndr_reduce: %d is not an ndr_numerics; use NDR_NUMERICS_FAST, NDR_NUMERICS_REPRODUCIBLE or "
                "NDR_NUMERICS_EXACT",
                (int)desc->numerics);
    if (is_dot) NDR_TRY(check_factors(desc));
    if (!is_real || (desc->numerics == NDR_NUMERICS_FAST && !is_dot)) return NDR_OK;
    NDR_REQUIRE(desc->method == NDR_REDUCE_TREE,
                "ndr_reduce: method is not NDR_REDUCE_TREE, but %s; leave one of them out",
                is_dot ? "factors are set" : names[desc->numerics]);
    NDR_TRY(check_numerics(caps, desc));
    request->numerics =
        desc->numerics == NDR_NUMERICS_EXACT && !is_extreme(desc->op) ? NDR_NUMERICS_EXACT : NDR_NUMERICS_REPRODUCIBLE;
    if (is_dot)
        request->factors =
            ndr_reduce_operand("factors", desc->factors.buffer, desc->factors.offset, desc->count, desc->dtype);
    return NDR_OK;
}
