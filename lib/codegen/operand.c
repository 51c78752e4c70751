/*
 * Operands of an instruction: access patterns, immediates, registers (lowering.md 3.6 and 4).
 *
 * A KLR Operand is an immediate or a tensor; both become inputs, in the order in which the operator's row in the table
 * names them. Immediates have exactly two types here: int32 and float32. The register and pointer arms of Immediate
 * have no BIR form and are refused with the reference's text (lowering.md, correction 2).
 */
#include "codegen/context.h"

#include <float.h>
#include <string.h>

#include "base/json_writer.h"

enum bir_status codegen_add_access(struct codegen *cg, struct bir_instruction *inst, enum bir_role role,
                                   const struct codegen_access *access, struct bir_physical_ap **out)
{
    const struct bir_pattern *pattern = bir_pattern_get(cg->module, access->pairs, access->rank);
    struct bir_physical_ap *ap = pattern ? bir_add_physical_ap(cg->module, inst, role, access->location, pattern,
                                                               access->offset_elems, access->dtype)
                                         : NULL;
    if (!ap)
        return codegen_nomem(cg);
    ap->base.source_offset = access->source_offset;
    if (access->whole_location) {
        static const int64_t unit[] = { 1, 1, 1 }; /* access_shape of the literal form (lowering.md 3.3) */
        struct bir_argument_rare *rare = bir_argument_need_rare(cg->module, &ap->base);
        const struct bir_ints *shape = rare ? bir_ints_get(cg->module, unit, 3) : NULL;
        if (!shape)
            return codegen_nomem(cg);
        rare->access_shape = shape;
        ap->base.flags |= BIR_ARGF_WHOLE_LOCATION;
    }
    if (out)
        *out = ap;
    return BIR_OK;
}

enum bir_status codegen_add_ref(struct codegen *cg, struct bir_instruction *inst, enum bir_role role,
                                const struct klr_node *ref)
{
    struct codegen_access access;
    BIR_TRY(codegen_ref_access(cg, ref, false, &access));
    return codegen_add_access(cg, inst, role, &access, NULL);
}

enum bir_status codegen_add_refs(struct codegen *cg, struct bir_instruction *inst, enum bir_role role,
                                 const struct klr_list *refs)
{
    for (uint64_t i = 0; i < refs->count; i++)
        BIR_TRY(codegen_add_ref(cg, inst, role, refs->items[i].node));
    return BIR_OK;
}

enum bir_status codegen_immediate_value(struct codegen *cg, const struct klr_node *immediate, bool *is_float,
                                        double *value)
{
    *is_float = immediate->ctor == KLR_Immediate_float;
    switch (immediate->ctor) {
    case KLR_Immediate_int: *value = (double)klr_int_at(immediate, KLR_Immediate_int_i); return BIR_OK;
    case KLR_Immediate_float: *value = (double)klr_float_at(immediate, KLR_Immediate_float_f); return BIR_OK;
    default:
        return codegen_fail(cg, "klr-immediate", immediate, "use an integer or a float",
                            "Unsupported immediate type encountered (%s, in %s)",
                            klr_ctor_name(KLR_TYPE_Immediate, immediate->ctor), cg->operator_name);
    }
}

const char *codegen_number(double value, char text[32])
{
    if (value != value)
        return "nan";
    if (value > DBL_MAX || value < -DBL_MAX)
        return value > 0 ? "inf" : "-inf";
    bir_format_double(value, text);
    return text;
}

enum bir_status codegen_immediate_int(struct codegen *cg, const struct klr_node *immediate, int64_t *value)
{
    bool is_float;
    double number = 0;
    char text[32];
    BIR_TRY(codegen_immediate_value(cg, immediate, &is_float, &number));
    /* A float that holds a whole number of 32 bits counts as one. */
    if (!(number >= INT32_MIN && number <= INT32_MAX) || number != (double)(int64_t)number)
        return codegen_fail(cg, "klr-immediate", immediate, "use an integer", "%s is not an integer of 32 bits (in %s)",
                            codegen_number(number, text), cg->operator_name);
    *value = (int64_t)number;
    return BIR_OK;
}

enum bir_status codegen_add_float(struct codegen *cg, struct bir_instruction *inst, float value)
{
    struct bir_argument *arg = bir_argument_new(cg->module, inst, BIR_ARG_IMM_VALUE, BIR_ROLE_IN, BIR_DTYPE_FLOAT32);
    if (!arg)
        return codegen_nomem(cg);
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    ((struct bir_imm_value *)arg)->bits = bits;
    return BIR_OK;
}

enum bir_status codegen_add_immediate(struct codegen *cg, struct bir_instruction *inst,
                                      const struct klr_node *immediate)
{
    bool is_float;
    double value = 0;
    BIR_TRY(codegen_immediate_value(cg, immediate, &is_float, &value));
    enum bir_dtype dtype = is_float ? BIR_DTYPE_FLOAT32 : BIR_DTYPE_INT32;
    struct bir_argument *arg = bir_argument_new(cg->module, inst, BIR_ARG_IMM_VALUE, BIR_ROLE_IN, dtype);
    if (!arg)
        return codegen_nomem(cg);
    arg->source_offset = codegen_source(immediate);
    ((struct bir_imm_value *)arg)->bits = is_float ? klr_float_bits_at(immediate, KLR_Immediate_float_f)
                                                   : (uint64_t)klr_int_at(immediate, KLR_Immediate_int_i);
    return BIR_OK;
}

enum bir_status codegen_add_operand(struct codegen *cg, struct bir_instruction *inst, const struct klr_node *operand)
{
    switch (operand->ctor) {
    case KLR_Operand_imm: return codegen_add_immediate(cg, inst, klr_node_at(operand, KLR_Operand_imm_i));
    case KLR_Operand_tile: return codegen_add_ref(cg, inst, BIR_ROLE_IN, klr_node_at(operand, KLR_Operand_tile_t));
    default: return codegen_fail(cg, "klr-operand", operand, NULL, "Unrecognized operand type encountered");
    }
}

enum bir_status codegen_add_register(struct codegen *cg, struct bir_instruction *inst, enum bir_role role,
                                     const struct bir_str *name, const struct klr_node *place)
{
    struct bir_register *reg = NULL;
    if (name->len == 0)
        return codegen_fail(cg, "klr-register-name", place, "name a register", "empty register name in %s",
                            cg->operator_name);
    BIR_TRY(codegen_register_get(cg, name, true, &reg));
    struct bir_register_access *access = bir_add_register_access(cg->module, inst, role, reg, BIR_DTYPE_INT32);
    if (!access)
        return codegen_nomem(cg);
    access->base.source_offset = codegen_source(place);
    return BIR_OK;
}
