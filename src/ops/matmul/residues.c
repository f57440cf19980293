/* residues.c - the product of f64 by a GPU's matrix units for bytes: a number is known by its remainders of division by
 * some moduli, and each of these has a product of its own (kernels/matmul/residues.cl). */
#include "ops/matmul/matmul.h"

#include "shared/residues.h"

/* ---- parts ---- */

/* Rows that run parts of it: residues of c, and the whole product where the elements do not prove the bound. */
extern const ndr_op_variant ndr_matmul_units, ndr_matmul_mma, ndr_matmul_tiled;

static const ndr_op_variant *first_of(const ndr_caps *caps, const ndr_op_variant *variant)
{
    return ndr_op_find_unmet(variant, caps, 0) ? &ndr_matmul_tiled : variant;
}

/* Bytes behind the workspace's head. */
typedef struct layout {
    size_t padded_k, padded_n; /* of rows of planes */
    size_t a, b, c, sums, factors, end;
} layout;

static size_t pad_lines(size_t lines) { return ndr_ceil_div(lines, NDR_RESIDUES_LINES) * NDR_RESIDUES_LINES; }

/* Behind the bytes that the product of residues takes. */
static layout lay_out(const ndr_matmul_request *r, size_t first)
{
    const size_t lines = r->c.rows + r->c.cols, chunks = ndr_ceil_div(r->depth, NDR_RESIDUES_CHUNK);
    layout l = { .padded_k = ndr_ceil_div(r->depth, NDR_RESIDUES_STEPS) * NDR_RESIDUES_STEPS,
                 .padded_n = ndr_ceil_div(r->c.cols, NDR_RESIDUES_STEPS) * NDR_RESIDUES_STEPS,
                 .a = ndr_ceil_div(first, NDR_RESIDUES_STEPS) * NDR_RESIDUES_STEPS };
    l.b = l.a + NDR_RESIDUES * pad_lines(r->c.rows) * l.padded_k;
    l.c = l.b + NDR_RESIDUES * pad_lines(r->c.cols) * l.padded_k;
    l.sums = l.c + NDR_RESIDUES * r->c.rows * l.padded_n;
    l.factors = l.sums + chunks * lines * 2 * sizeof(double);
    l.end = l.factors + lines * sizeof(double);
    return l;
}

/* Of `rows` rows each; the next plane is `all_rows` further. */
static ndr_operand planes_of(const char *name, ndr_buffer *workspace, size_t at, size_t rows, size_t cols, size_t pitch,
                             size_t all_rows)
{
    const ndr_matrix described = { workspace, NDR_WORKSPACE_HEAD_BYTES + at, rows, cols, pitch };
    ndr_operand planes = ndr_matmul_operand("ndr_matmul", name, &described, NDR_DTYPE_I8);
    planes.further = NDR_RESIDUES - 1;
    planes.stride = all_rows * pitch;
    return planes;
}

/* The residues of c, those for all moduli as a batch. `epilogue` and `workspace` may be NULL in a plan. */
static ndr_matmul_request residues_of(const ndr_matmul_request *r, const layout *l, ndr_buffer *workspace,
                                      const ndr_matmul_epilogue *epilogue)
{
    return (ndr_matmul_request){
        .dtype = NDR_DTYPE_I8,
        .output_dtype = NDR_DTYPE_I8,
        .alpha = 1,
        .a = planes_of("a", workspace, l->a, r->c.rows, l->padded_k, l->padded_k, pad_lines(r->c.rows)),
        .b = planes_of("b", workspace, l->b, r->c.cols, l->padded_k, l->padded_k, pad_lines(r->c.cols)),
        .c = planes_of("c", workspace, l->c, r->c.rows, r->c.cols, l->padded_n, r->c.rows),
        .transposes_b = true,
        .core = r->core,
        .depth = l->padded_k,
        .epilogue = epilogue
    };
}

static ndr_matmul_epilogue epilogue_of(const ndr_matmul_request *r)
{
    return (ndr_matmul_epilogue){ .expression = "residue_of_sum(r, (uint)product)",
                                  .names = { .call = "ndr_matmul",
                                             .declarations = "#include \"matmul/residues.clh\"",
                                             .index = "ndr_i",
                                             .along = 3,
                                             .shape = ndr_range_3d(NDR_RESIDUES, r->c.rows, r->c.cols) } };
}

static layout layout_for(const ndr_caps *caps, const ndr_matmul_request *r)
{
    const layout nowhere = lay_out(r, 0);
    const ndr_matmul_request residues = residues_of(r, &nowhere, NULL, NULL);
    const ndr_op_plan plan = ndr_op_make_plan(first_of(caps, &ndr_matmul_units), caps, &residues);
    return lay_out(r, plan.workspace_bytes);
}

/* ---- choosing ---- */

/* Sums of products of bytes are below 2^31, and the proof needs some depth. */
static const char *cannot(const ndr_op_case *of)
{
    enum { LEAST = 128, MOST = (1 << 17) - NDR_RESIDUES_STEPS };
    const ndr_matmul_request *r = of->request;
    const uint64_t most = UINT64_C(1) << 31; /* also of planes, which have some elements more */
    const char *const unusual = ndr_matmul_is_unusual(of);
    if (unusual) return unusual;
    if (r->dtype != NDR_DTYPE_F64) return "the elements are not f64";
    if (r->depth < LEAST || r->depth > MOST)
        return "its error is shown to be within the bound for depths of 128 to 130944";
    if ((uint64_t)r->c.rows * r->depth >= most || (uint64_t)r->c.cols * ndr_max_size(r->depth, r->c.rows) >= most)
        return "the matrices have too many elements for 32-bit numbers";
    return ndr_matmul_is_too_wide(r);
}

/* In ns, as measured on an H200: what `mma` needs for a multiplication, and this row for its launches, an element of a
 * or b, one of c, a multiplication. */
static bool pays(const ndr_matmul_request *r)
{
    const double m = (double)r->c.rows, n = (double)r->c.cols, k = (double)r->depth;
    return 25e3 + 8.4e-3 * (m + n) * k + 13.7e-3 * m * n + 1.6e-5 * m * n * k < 3.5e-5 * m * n * k;
}

static const char *unsuited(const ndr_op_case *of)
{
    enum { SHARE = 8 };
    const ndr_matmul_request *r = of->request;
    if (!pays(r)) return "the products are too small to pay for residues";
    const size_t bytes = NDR_WORKSPACE_HEAD_BYTES + layout_for(of->caps, r).end;
    if (bytes > of->caps->info.max_buffer_bytes || bytes > of->caps->info.global_memory_bytes / SHARE)
        return "the residues of a, b and c need more than an eighth of the device's memory";
    return NULL;
}

/* ---- launching ---- */

enum { ITEMS = NDR_RESIDUES_ITEMS };
enum { SUMS, FACTORS, DECIDE, JOIN }; /* kernels besides the main one */

static ndr_nd_range groups_of(size_t groups) { return ndr_nd_range_1d(groups * ITEMS, ITEMS); }

/* For blocks of lines of a and b, and of their steps. */
static ndr_nd_range blocks_of(const ndr_matmul_request *r, size_t lines, size_t steps)
{
    return groups_of((ndr_ceil_div(r->c.rows, lines) + ndr_ceil_div(r->c.cols, lines)) * ndr_ceil_div(r->depth, steps));
}

static void plan(const ndr_op_case *of, ndr_op_plan *plan)
{
    const ndr_matmul_request *r = of->request;
    *plan = (ndr_op_plan){ .range = blocks_of(r, NDR_RESIDUES_LINES, NDR_RESIDUES_STEPS),
                           .local_bytes = NDR_RESIDUES_STEPS * (NDR_RESIDUES_LINES + 1) * sizeof(uint64_t),
                           .workspace_bytes = NDR_WORKSPACE_HEAD_BYTES + layout_for(of->caps, r).end,
                           .numbered_bytes = NDR_RESIDUES_WORDS * sizeof(uint32_t) };
}

static ndr_status launch_residues(ndr_op_job *job, const ndr_matmul_request *r, const layout *l, unsigned number)
{
    const ndr_arg workspace = ndr_op_workspace_arg(job), words = ndr_op_numbered_arg(job);
    const ndr_arg args[] = { ndr_arg_of((uint32_t)r->c.rows),
                             ndr_arg_of((uint32_t)r->c.cols),
                             ndr_arg_of((uint32_t)r->depth),
                             ndr_operand_arg(&r->a),
                             ndr_arg_of(r->a.offset),
                             ndr_arg_of(r->a.pitch),
                             ndr_arg_of((uint64_t)1),
                             ndr_operand_arg(&r->b),
                             ndr_arg_of(r->b.offset),
                             ndr_arg_of((uint64_t)1),
                             ndr_arg_of(r->b.pitch),
                             workspace,
                             ndr_arg_of(l->sums) };
    enum { MATRICES = NDR_COUNT_OF(args) - 1 };
    const ndr_nd_range chunks = blocks_of(r, NDR_RESIDUES_SUM_LINES, NDR_RESIDUES_CHUNK);
    NDR_TRY(ndr_op_launch_v(job, job->others[SUMS], &chunks, args, NDR_COUNT_OF(args)));
    NDR_TRY(ndr_op_launch(job, job->others[FACTORS], groups_of(ndr_ceil_div(r->c.rows + r->c.cols, ITEMS)),
                          (uint32_t)r->c.rows, (uint32_t)r->c.cols, (uint32_t)r->depth, workspace, l->sums, l->factors,
                          words, number));
    NDR_TRY(ndr_op_launch(job, job->others[DECIDE], groups_of(1), (uint32_t)r->depth, words, number));
    const ndr_arg more[] = {
        ndr_arg_of(l->a), ndr_arg_of(l->b), ndr_arg_of(l->padded_k), ndr_arg_of(l->factors), words, ndr_arg_of(number)
    };
    ndr_arg all[MATRICES + NDR_COUNT_OF(more)];
    memcpy(all, args, MATRICES * sizeof *all);
    memcpy(all + MATRICES, more, sizeof more);
    return ndr_op_launch_v(job, job->kernel, &job->plan.range, all, NDR_COUNT_OF(all));
}

static ndr_status launch_product(ndr_op_job *job, const ndr_matmul_request *r)
{
    const layout l = layout_for(job->of.caps, r);
    const unsigned number = ndr_op_take_number(job);
    const size_t pairs = ndr_ceil_div(r->c.rows, NDR_RESIDUES_ROWS) * ndr_ceil_div(r->c.cols, 2);
    const ndr_matmul_condition proved = { job->numbered, NDR_RESIDUES_PROVED, number, true };
    const ndr_matmul_condition unproved = { job->numbered, NDR_RESIDUES_PROVED, number, false };
    const ndr_matmul_epilogue epilogue = epilogue_of(r);
    ndr_matmul_request residues = residues_of(r, &l, ndr_workspace_buffer(job->workspace), &epilogue);
    ndr_matmul_request plain = *r;
    residues.condition = &proved;
    plain.condition = &unproved;
    NDR_TRY(launch_residues(job, r, &l, number));
    NDR_TRY(ndr_op_run_within(job, first_of(job->of.caps, &ndr_matmul_units), &residues));
    NDR_TRY(ndr_op_launch(job, job->others[JOIN], groups_of(ndr_ceil_div(pairs, ITEMS)), (uint32_t)r->c.rows,
                          (uint32_t)r->c.cols, r->alpha, r->beta, r->c.buffer, r->c.offset, r->c.pitch,
                          ndr_op_workspace_arg(job), l.c, l.padded_n, l.factors, ndr_op_numbered_arg(job), number));
    return ndr_op_run_within(job, first_of(job->of.caps, &ndr_matmul_mma), &plain);
}

/* One product at a time: the workspace has room for its residues. */
static ndr_status launch(ndr_op_job *job) { return ndr_matmul_launch_parts(job, 1, launch_product); }

/* `mma` needs no memory. */
NDR_OP_VARIANT(matmul, residues, "gemm_residues_find", NDR_NEEDS_RESIDUES,
               .others = { "gemm_residues_sums", "gemm_residues_factors", "gemm_residues_decide",
                           "gemm_residues_join" },
               .cannot = cannot, .unsuited = unsuited, .plan = plan, .launch = launch, .prove = ndr_matmul_prove,
               .proves_later = true, .instead = &ndr_matmul_mma);
