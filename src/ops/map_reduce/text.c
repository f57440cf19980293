/* text.c - the text in front of the kernels of ndr_map_reduce(): what kernels/map_reduce/values.clh lists. */
#include "ops/map_reduce/map_reduce.h"

/* ---- types ---- */

static const char *type_of(const ndr_map_reduce_request *r, const ndr_reduced_value *v)
{
    return r->desc->element ? r->desc->element : ndr_dtype_describe(v->given.dtype)->cl_name;
}

/* What is stored. */
static const char *result_type(const ndr_map_reduce_request *r, const ndr_reduced_value *v)
{
    const ndr_dtype dtype = v->given.output.dtype;
    return dtype == NDR_DTYPE_NONE ? r->desc->element : ndr_names_value_type(dtype);
}

/* Of ndr/op.clh, by which values of a type are combined. */
static const char *operator_of(ndr_op op)
{
    static const char *const names[] = {
        [NDR_OP_SUM] = "NDR_PLUS",
        [NDR_OP_MIN] = "NDR_MINIMUM",
        [NDR_OP_MAX] = "NDR_MAXIMUM",
        [NDR_OP_PRODUCT] = "NDR_MULTIPLIES",
        [NDR_OP_BIT_AND] = "NDR_BIT_AND",
        [NDR_OP_BIT_OR] = "NDR_BIT_OR",
        [NDR_OP_BIT_XOR] = "NDR_BIT_XOR",
        [NDR_OP_LOGICAL_AND] = "NDR_LOGICAL_AND",
        [NDR_OP_LOGICAL_OR] = "NDR_LOGICAL_OR",
        [NDR_OP_ARG_MIN] = "NDR_MINIMUM",
        [NDR_OP_ARG_MAX] = "NDR_MAXIMUM",
    };
    return names[op];
}

/* "r", or "r.NAME". */
static void add_value(const char *r, const ndr_reduced_value *v, ndr_text *out)
{
    ndr_text_add_all(out, r);
    if (v->given.name) ndr_text_add_all(out, ".", v->given.name);
}

/* ---- indexes ---- */

/* Of the axes: ndr_j0 and so on. Two reduced axes in one index are divided. */
static void add_axes(const ndr_reduced_layout *l, bool only_kept, ndr_text *out)
{
    unsigned left[2] = { 0, 0 }; /* kept, reduced */
    for (unsigned d = 0; d < l->dims; ++d) ++left[l->axes[d].is_reduced];
    const bool is_divided = left[1] == 3;
    for (unsigned d = 0; d < l->dims; ++d) {
        const bool is_reduced = l->axes[d].is_reduced;
        const unsigned from_last = --left[is_reduced];
        ndr_text_add(out, "const ulong ndr_j%u = ", d);
        if (is_reduced && only_kept) ndr_text_add_all(out, "0; ");
        else if (is_divided && from_last == 2) ndr_text_add_all(out, "ndr_r0 / ndr_shape_1; ");
        else if (is_divided && from_last == 1) ndr_text_add_all(out, "ndr_r0 - ndr_j0 * ndr_shape_1; ");
        else ndr_text_add(out, "ndr_%c%d; ", is_reduced ? 'r' : 'k', from_last == 0);
    }
}

/* The index of an axis, without its dimensions behind the `at`th. */
static void add_quotient(const ndr_reduced_axis *axis, unsigned j, unsigned at, ndr_text *out)
{
    ndr_text_add(out, "ndr_j%u", j);
    for (unsigned inner = at + 1; inner < axis->count; ++inner)
        ndr_text_add(out, " / ndr_sizes.s%u", axis->from[inner]);
}

/* The index of a dimension of the call, which is the `at`th of an axis. Without %: of / and % of the same numbers LLVM
 * makes an instruction that Oclgrind lacks. */
static void add_index(const ndr_reduced_axis *axis, unsigned j, unsigned at, ndr_text *out)
{
    add_quotient(axis, j, at, out);
    if (at == 0) return;
    ndr_text_add_all(out, " - ");
    add_quotient(axis, j, at - 1, out);
    ndr_text_add(out, " * ndr_sizes.s%u", axis->from[at]);
}

/* Of the call: i0 and so on, and i. */
static void add_indexes(const ndr_map_reduce_request *r, ndr_text *out)
{
    const ndr_reduced_layout *l = &r->layout;
    const unsigned dims = r->names.shape.dims;
    for (unsigned d = 0; d < dims; ++d) {
        ndr_text_add(out, "const ulong i%u = ", d);
        bool is_found = false;
        for (unsigned j = 0; j < l->dims; ++j)
            for (unsigned at = 0; at < l->axes[j].count; ++at) {
                if (l->axes[j].from[at] != d) continue;
                is_found = true;
                add_index(&l->axes[j], j, at, out);
            }
        ndr_text_add_all(out, is_found ? "; " : "0; ");
    }
    ndr_text_add_all(out, dims == 1   ? "const ulong i = i0; "
                          : dims == 2 ? "const ulong i = i0 * ndr_sizes.s1 + i1; "
                                      : "const ulong i = (i0 * ndr_sizes.s1 + i1) * ndr_sizes.s2 + i2; ");
}

/* The index among the elements of a result. */
static void add_place(const ndr_map_reduce_request *r, ndr_text *out)
{
    const unsigned axes = r->desc->axes ? r->desc->axes : 7;
    ndr_text_add_all(out, "const ulong ndr_result = 0");
    for (unsigned d = 0; d < r->names.shape.dims; ++d) {
        if (!(axes >> d & 1)) continue;
        ndr_text_add(out, " + i%u", d);
        for (unsigned inner = d + 1; inner < r->names.shape.dims; ++inner)
            if (axes >> inner & 1) ndr_text_add(out, " * ndr_sizes.s%u", inner);
    }
    ndr_text_add_all(out, "; ");
}

/* ---- functions ---- */

/* A function with the parameters that returns an expression or initializer of the caller's. */
static void add_function(const char *type, const char *name, const char *parameters, const char *text,
                         const char *title, ndr_text *out)
{
    ndr_text_add_all(out, "static inline ", type, " ", name, "(", parameters, ")\n{ const ", type, " ndr_result =");
    ndr_names_add_own(text, title, out);
    ndr_text_add_all(out, "; return ndr_result; }\n");
}

static void add_parameters(const ndr_map_reduce_request *r, bool with_types, ndr_text *out)
{
    ndr_names_add_parameters(&r->canonical, with_types, out);
    ndr_text_add_all(out, with_types ? ", const ulong4 ndr_sizes" : ", ndr_sizes");
}

/* Part k of an element: the value of an expression, or the index of an element if that is NULL. */
static void add_element(const ndr_map_reduce_request *r, unsigned k, const char *expression, ndr_text *out)
{
    ndr_names inputs = r->canonical;
    inputs.output_count = 0;
    ndr_text_add(out, "static inline ndr_t%u ndr_value_%u(", k, k);
    add_parameters(r, true, out);
    ndr_text_add_all(out, ", const ulong ndr_k0, const ulong ndr_k1, const ulong ndr_r0, const ulong ndr_r1)\n{ ");
    add_axes(&r->layout, false, out);
    add_indexes(r, out);
    if (expression) {
        ndr_names_add_values(&inputs, out);
        ndr_text_add(out, "const ndr_t%u ndr_result =", k);
        ndr_names_add_own(expression, "expression", out);
        ndr_text_add_all(out, "; ");
    } else add_place(r, out);
    ndr_text_add_all(out, "return ndr_result; }\n");
}

/* Prefetches for as many lanes. */
static void add_fetches(const ndr_map_reduce_request *r, ndr_text *out)
{
    ndr_text_add_all(out, "#define FETCH_INPUTS(ndr_k0, ndr_k1, ndr_r0, ndr_r1) { ");
    add_axes(&r->layout, false, out);
    ndr_names_add_prefetches(&r->canonical, out);
    ndr_text_add_all(out, "}\n");
}

static void add_own_operator(const ndr_map_reduce_desc *desc, ndr_text *out)
{
    add_function("ndr_t0", "ndr_own_combine", "const ndr_t0 a, const ndr_t0 b", desc->combine, "combine", out);
    add_function("ndr_t0", "ndr_own_identity", "void", desc->identity, "identity", out);
    ndr_text_add_all(out, "#define INTO_0 A(0) = ndr_own_combine(A(0), B(0));\n"
                          "#define NEUTRAL_0 ndr_own_identity()\n#define IDENTITY_0 ndr_own_identity()\n");
}

static void add_operator(unsigned k, ndr_op op, ndr_text *out)
{
    const char *name = operator_of(op);
    ndr_text_add(out,
                 "#define INTO_%u A(%u) = ndr_combine(A(%u), B(%u), %s);\n#define NEUTRAL_%u NDR_NEUTRAL(ndr_t%u, %s)\n"
                 "#define IDENTITY_%u NDR_IDENTITY(ndr_t%u, %s)\n",
                 k, k, k, k, name, k, k, name, k, k, name);
}

/* The index of the preferred one of two values: that of a number before NaN, and of equal values the first one. The
 * part after it is the value, which is combined later. */
static void add_index_operator(unsigned k, ndr_op op, ndr_text *out)
{
    ndr_text_add(
        out,
        "static inline ulong ndr_first_%u(const ndr_t%u a, const ulong at_a, const ndr_t%u b, const ulong at_b)\n"
        "{ return (b %c a) | ((a != a) & (b == b)) | (((a == b) | ((a != a) & (b != b))) & (at_b < at_a)) ? "
        "at_b : at_a; }\n"
        "#define INTO_%u A(%u) = ndr_first_%u(A(%u), A(%u), B(%u), B(%u));\n"
        "#define NEUTRAL_%u ULONG_MAX\n#define IDENTITY_%u ULONG_MAX\n",
        k, k + 1, k + 1, op == NDR_OP_ARG_MIN ? '<' : '>', k, k, k, k + 1, k, k + 1, k, k, k);
}

/* ---- the parts of all values ---- */

static void add_member(unsigned k, const ndr_reduced_value *v, const char *member, ndr_text *out)
{
    ndr_text_add(out, "#define MEMBER_%u(r) (", k);
    add_value("(r)", v, out);
    ndr_text_add_all(out, member, ")\n");
}

/* The types, and ndr_r. */
static void add_types(const ndr_map_reduce_request *r, ndr_text *out)
{
    ndr_text object = { 0 };
    unsigned k = 0;
    for (size_t i = 0; i < r->value_count; ++i) {
        const ndr_reduced_value *v = &r->values[i];
        const bool is_arg = ndr_op_is_arg(v->given.op);
        if (is_arg) ndr_text_add(out, "typedef ulong ndr_t%u;\n", k++);
        ndr_text_add(out, "typedef %s ndr_t%u;\n", type_of(r, v), k);
        if (is_arg) ndr_text_add(&object, "struct { ulong index; ndr_t%u value; }", k);
        else ndr_text_add(&object, "ndr_t%u", k);
        ndr_text_add_all(&object, " ", v->given.name ? v->given.name : "ndr_r", ";\n");
        ++k;
    }
    if (r->values[0].given.name) ndr_text_add_all(out, "typedef struct ndr_r {\n", object.chars, "} ndr_r;\n");
    else ndr_text_add_all(out, "typedef ", object.chars);
    out->failed |= object.failed;
    ndr_text_free(&object);
    if (r->desc->element)
        ndr_text_add(out, "typedef char ndr_element_bytes_differ[sizeof(ndr_t0) == %zu ? 1 : -1];\n",
                     r->desc->element_bytes);
}

static void add_parts(const ndr_map_reduce_request *r, ndr_text *out)
{
    unsigned k = 0;
    for (size_t i = 0; i < r->value_count; ++i) {
        const ndr_reduced_value *v = &r->values[i];
        const bool is_arg = ndr_op_is_arg(v->given.op);
        if (is_arg) {
            add_element(r, k, NULL, out);
            add_index_operator(k, v->given.op, out);
            add_member(k++, v, ".index", out);
        }
        add_element(r, k, v->given.expression, out);
        if (r->desc->combine) add_own_operator(r->desc, out);
        else add_operator(k, v->given.op, out);
        add_member(k++, v, is_arg ? ".value" : "", out);
    }
    ndr_text_add_all(out, "#define EACH(X) ");
    for (unsigned i = 0; i < k; ++i) ndr_text_add(out, "X(%u) ", i);
    ndr_text_add_all(out, "\n");
}

/* ---- results ---- */

/* Combine what the output holds into part k, whose output is the `o`th. */
static void add_held(const ndr_map_reduce_request *r, const ndr_reduced_value *v, unsigned k, size_t o, ndr_text *out)
{
    ndr_text_add(out, "{ const ndr_t%u ndr_held = ", k);
    ndr_names_add_load(&r->canonical, r->canonical.input_count + o, out);
    ndr_text_add_all(out, "; ");
    if (r->desc->combine) ndr_text_add_all(out, "*ndr_all = ndr_own_combine(ndr_held, *ndr_all); }\n");
    else
        ndr_text_add(out, "MEMBER_%u(*ndr_all) = ndr_combine(ndr_held, MEMBER_%u(*ndr_all), %s); }\n", k, k,
                     operator_of(v->given.op));
}

static void add_result(const ndr_map_reduce_request *r, const ndr_reduced_value *v, size_t o, ndr_text *out)
{
    ndr_text_add_all(out, "{ const ", result_type(r, v), " ndr_result =");
    if (v->given.finish) ndr_names_add_own(v->given.finish, "finish", out);
    else {
        ndr_text_add_all(out, " ");
        add_value("r", v, out);
        if (ndr_op_is_arg(v->given.op)) ndr_text_add_all(out, ".index");
    }
    ndr_text_add_all(out, "; ");
    ndr_names_add_store(&r->canonical, r->canonical.input_count + o, "ndr_result", out);
    ndr_text_add_all(out, "}\n");
}

static void add_store(const ndr_map_reduce_request *r, ndr_text *out)
{
    unsigned k = 0;
    size_t o = 0;
    ndr_text_add_all(out, "static inline void ndr_store(");
    add_parameters(r, true, out);
    ndr_text_add_all(out, ", const ulong ndr_k0, const ulong ndr_k1, ndr_r *ndr_all)\n{ ");
    add_axes(&r->layout, true, out);
    ndr_names_add_scalars(&r->canonical, out);
    for (size_t i = 0; i < r->value_count; ++i, ++k) {
        const ndr_reduced_value *v = &r->values[i];
        if (r->desc->is_combined && v->is_stored) add_held(r, v, k, o++, out);
    }
    ndr_text_add_all(out, "const ndr_r r = *ndr_all;\n");
    o = 0;
    for (size_t i = 0; i < r->value_count; ++i)
        if (r->values[i].is_stored) add_result(r, &r->values[i], o++, out);
    ndr_text_add_all(out, "}\n");
}

void ndr_map_reduce_write(const ndr_op_case *of, ndr_text *out)
{
    const ndr_map_reduce_request *r = of->request;
    ndr_text_add_all(out, "#include \"ndr/op.clh\"\n");
    ndr_names_add_declarations(&r->canonical, of->caps->info.type == NDR_DEVICE_TYPE_CPU, out);
    add_types(r, out);
    add_parts(r, out);
    add_store(r, out);
    add_fetches(r, out);
    ndr_text_add_all(out, "#define INPUT ");
    add_parameters(r, true, out);
    ndr_text_add_all(out, "\n#define INPUT_VALUES ");
    add_parameters(r, false, out);
    ndr_text_add_all(out, "\n");
}
