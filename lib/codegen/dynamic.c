/*
 * Runtime offsets: the companion of a physical operand (lowering.md 5, seed text in section 18).
 *
 * The operand keeps the static geometry; the companion says address = c + sum coef * value(expr), in elements of the
 * operand's dtype. c is the access's start offset, so the operand's own offset is 0 and nobody can count it twice.
 * Exactly one of two offsets is present:
 *
 *   vector   one index a row, from a tensor: IndirectArg 1, coef = elements of a row, indirect_dim W, as many rows as
 * the tensor has scalar   from a register: RuntimeValue; from a one-element tensor: IndirectArg 1. coef = elements per
 * step along indirectDim
 *
 * The index tensor of either is the first operand of indirection_ins; arg_id 1 is its position there (lowering.md,
 * correction 12). A kind-3 node exists only when something uses it, unlike in the reference, which mints one always and
 * drops it.
 */
#include "codegen/context.h"

const struct klr_node *codegen_dynamic_pattern(const struct klr_node *ref)
{
    return klr_node_at(klr_node_at(ref, KLR_TensorRef_abstract_access), KLR_Access_birPattern_access);
}

/* Product of the free extents from `dim` on, on chip in location rows for dim 0; then from elements of the tensor's
 * type to those of the operand's. */
static enum bir_status coefficient(struct codegen *cg, const struct codegen_access *access, int64_t dim,
                                   const struct klr_node *pattern, int64_t *coef)
{
    const struct codegen_tensor *tensor = access->tensor;
    if (dim < 0 || dim >= (int64_t)tensor->rank)
        return codegen_fail(cg, "klr-indirect-dim", pattern, "name a dimension of the tensor",
                            "indirectDim %lld of a tensor of %u dimensions", (long long)dim, tensor->rank);
    int64_t bytes = dim == 0 && tensor->on_chip ? tensor->pitch_bytes
                                                : tensor->stride[dim] * (int64_t)bir_dtype_bytes(tensor->dtype);
    int64_t elem = bir_dtype_bytes(access->dtype);
    if (bytes % elem)
        return codegen_fail(cg, "klr-row-bytes", pattern, NULL, "steps of %lld bytes do not divide into elements of %s",
                            (long long)bytes, bir_dtype_name(access->dtype));
    *coef = bytes / elem;
    if (*coef <= 0)
        return codegen_fail(cg, "klr-indirect-dim", pattern, NULL, "DynamicAPInfo coefficient must be positive");
    return BIR_OK;
}

/* The index operand of `access`, at the end of indirection_ins, and the expression that stands for its value. */
static enum bir_status add_index(struct codegen *cg, struct bir_instruction *inst, const struct klr_node *access,
                                 const struct pelican_expr **expr)
{
    struct codegen_access index;
    if (codegen_access_is_dynamic(access))
        return codegen_fail(cg, "klr-dynamic-access", access, "load the offset into a tensor first",
                            "Dynamic Access is not allowed in the instruction. (an offset inside an offset)");
    BIR_TRY(codegen_access_static(cg, access, &index));
    BIR_TRY(codegen_add_access(cg, inst, BIR_ROLE_INDIRECTION, &index, NULL));
    *expr = pelican_indirect_arg(&cg->module->expressions,
                                 (int64_t)bir_instruction_argument_count(inst, BIR_ROLE_INDIRECTION));
    return *expr ? BIR_OK : codegen_nomem(cg);
}

static enum bir_status vector_term(struct codegen *cg, struct bir_instruction *inst, const struct klr_node *pattern,
                                   const struct codegen_access *access, struct bir_dynamic_info *info,
                                   struct bir_dynamic_term *term)
{
    if (klr_int_at(pattern, KLR_BirAccessPattern_indirectDim) != 0)
        return codegen_fail(cg, "klr-indirect-dim", pattern, "index the first dimension",
                            "When using vector offset, the only supported indirectDim is 0 (here %lld)",
                            (long long)klr_int_at(pattern, KLR_BirAccessPattern_indirectDim));
    BIR_TRY(add_index(cg, inst, klr_node_at(pattern, KLR_BirAccessPattern_vectorOffset), &term->expr));
    BIR_TRY(coefficient(cg, access, 0, pattern, &term->coef));
    info->indirect_dim_max_index = access->tensor->rows; /* sane reading of lowering.md 5.3 d, choice */
    return BIR_OK;
}

static enum bir_status scalar_term(struct codegen *cg, struct bir_instruction *inst, const struct klr_node *pattern,
                                   const struct codegen_access *access, struct bir_dynamic_term *term)
{
    const struct klr_node *scalar = klr_node_at(pattern, KLR_BirAccessPattern_scalarOffset);
    BIR_TRY(coefficient(cg, access, klr_int_at(pattern, KLR_BirAccessPattern_indirectDim), pattern, &term->coef));
    if (scalar->ctor == KLR_ScalarOffset_acc)
        return add_index(cg, inst, klr_node_at(scalar, KLR_ScalarOffset_acc_a), &term->expr);
    const struct bir_str *name = klr_string_at(scalar, KLR_ScalarOffset_reg_r);
    struct bir_register *reg;
    BIR_TRY(codegen_register_get(cg, name, false, &reg));
    if (!reg)
        return codegen_fail(cg, "klr-register-name", scalar, "load or move into the register first",
                            "Cannot find register: %.80s for scalar offset", name->text);
    term->expr = pelican_runtime_value(&cg->module->expressions, reg);
    return term->expr ? BIR_OK : codegen_nomem(cg);
}

/* assembleDynamicInfo (lowering.md 5.2). */
static enum bir_status assemble(struct codegen *cg, struct bir_instruction *inst, const struct klr_node *pattern,
                                const struct codegen_access *access, struct bir_dynamic_info **out)
{
    bool scalar = klr_node_at(pattern, KLR_BirAccessPattern_scalarOffset) != NULL;
    bool vector = klr_node_at(pattern, KLR_BirAccessPattern_vectorOffset) != NULL;
    if (scalar == vector)
        return codegen_fail(cg, "klr-dynamic-access", pattern, "use one of the two",
                            "an access has %s of scalar and vector dynamic offset, exactly one is needed",
                            scalar ? "both" : "neither");
    struct bir_arena *arena = &cg->module->arena;
    struct bir_dynamic_info *info = BIR_NEW(arena, BIR_MEM_ARGUMENTS, struct bir_dynamic_info);
    struct bir_dynamic_term *term = BIR_NEW(arena, BIR_MEM_ARGUMENTS, struct bir_dynamic_term);
    if (!info || !term)
        return codegen_nomem(cg);
    info->actual = bir_pattern_get(cg->module, access->pairs, access->rank);
    if (!info->actual)
        return codegen_nomem(cg);
    info->c_elems = access->offset_elems;
    info->indirect_dim = 0;
    info->terms = term;
    info->n_terms = 1;
    BIR_TRY(vector ? vector_term(cg, inst, pattern, access, info, term) : scalar_term(cg, inst, pattern, access, term));
    *out = info;
    return BIR_OK;
}

enum bir_status codegen_add_dynamic_ref(struct codegen *cg, struct bir_instruction *inst, enum bir_role role,
                                        const struct klr_node *ref)
{
    struct codegen_access access;
    BIR_TRY(codegen_ref_access(cg, ref, true, &access));
    if (!codegen_ref_is_dynamic(ref))
        return codegen_add_access(cg, inst, role, &access, NULL);
    struct bir_dynamic_info *info = NULL;
    struct bir_physical_ap *ap = NULL;
    BIR_TRY(assemble(cg, inst, codegen_dynamic_pattern(ref), &access, &info));
    access.offset_elems = 0;
    BIR_TRY(codegen_add_access(cg, inst, role, &access, &ap));
    struct bir_argument_rare *rare = bir_argument_need_rare(cg->module, &ap->base);
    if (!rare)
        return codegen_nomem(cg);
    rare->dynamic = info;
    return BIR_OK;
}

enum bir_status codegen_extract_index(struct codegen *cg, const struct klr_node *ref, struct codegen_access *out)
{
    if (!codegen_ref_is_dynamic(ref))
        return codegen_fail(cg, "klr-dynamic-access", ref, "give the destination a vector offset",
                            "Compiler Logic Fault: cannot extract dynamic ap from a static access!");
    const struct klr_node *pattern = codegen_dynamic_pattern(ref);
    const struct klr_node *index = klr_node_at(pattern, KLR_BirAccessPattern_vectorOffset);
    if (klr_node_at(pattern, KLR_BirAccessPattern_scalarOffset))
        return codegen_fail(cg, "klr-dynamic-access", pattern, "use a vector offset",
                            "When unique_indices=True, it's expected that the vector_offset is set. Check the "
                            "nisa.dma_copy call");
    if (codegen_access_is_dynamic(index))
        return codegen_fail(cg, "klr-dynamic-access", index, "load the offset into a tensor first",
                            "Dynamic Access is not allowed in the instruction. (an offset inside an offset)");
    return codegen_access_static(cg, index, out);
}
