/*
 * Compute operators whose keys or opcode depend on their operands.
 */
#include <math.h>
#include <string.h>

#include "codegen/maps.h"
#include "codegen/operators.h"

/* NcActivate.scale: an immediate is the key, a tensor is the third input and the key stays 1.0, choice. */
enum bir_status codegen_activation_scale(struct codegen *cg, const struct klr_node *op, struct bir_instruction *inst,
                                         struct codegen_keys *keys)
{
    const struct klr_node *scale = klr_node_at(op, KLR_NcActivate_scale);
    double value = 1;
    bool is_float;
    if (scale->ctor == KLR_Operand_imm)
        BIR_TRY(codegen_immediate_value(cg, klr_node_at(scale, KLR_Operand_imm_i), &is_float, &value));
    else
        BIR_TRY(codegen_add_operand(cg, inst, scale));
    codegen_key_float(keys, "scale", value);
    return BIR_OK;
}

enum bir_status codegen_activate2(struct codegen *cg, const struct klr_node *op, struct bir_instruction *inst,
                                  struct codegen_keys *keys)
{
    const struct klr_node *relu = klr_node_at(op, KLR_Activate2_reluParam);
    double value = 0;
    bool is_float;
    (void)inst;
    if (relu->ctor == KLR_Operand_imm)
        BIR_TRY(codegen_immediate_value(cg, klr_node_at(relu, KLR_Operand_imm_i), &is_float, &value));
    codegen_key_float(keys, "alpha", value);
    return BIR_OK;
}

/* Both scalars immediates: TensorScalar with const0 and const1. A tensor among them: TensorScalarPtr, both as inputs,
 * choice; the seed says that every scalar goes through addOperandToInst, but TensorScalar requires its constants as
 * keys (bir-json.md 13.5). */
enum bir_status codegen_tensor_scalar(struct codegen *cg, const struct klr_node *op, struct bir_instruction *inst,
                                      struct codegen_keys *keys)
{
    const struct klr_node *scalars[2] = { klr_node_at(op, KLR_TensorScalar_imm0),
                                          klr_node_at(op, KLR_TensorScalar_imm1) };
    static const char *const names[2] = { "const0", "const1" };
    if (scalars[0]->ctor == KLR_Operand_imm && (!scalars[1] || scalars[1]->ctor == KLR_Operand_imm)) {
        for (int i = 0; i < 2; i++) {
            double value = 0;
            bool is_float;
            if (scalars[i])
                BIR_TRY(codegen_immediate_value(cg, klr_node_at(scalars[i], KLR_Operand_imm_i), &is_float, &value));
            codegen_key_float(keys, names[i], value);
        }
        return BIR_OK;
    }
    inst->opcode = BIR_OP_TENSOR_SCALAR_PTR;
    for (int i = 0; i < 2; i++)
        if (scalars[i])
            BIR_TRY(codegen_add_operand(cg, inst, scalars[i]));
    return BIR_OK;
}

/* --- memset --- */

/* Width of an integer dtype in bits and whether it is signed; 0 for others. */
static unsigned integer_bits(uint8_t dtype, bool *is_signed)
{
    *is_signed =
        dtype == BIR_DTYPE_INT8 || dtype == BIR_DTYPE_INT16 || dtype == BIR_DTYPE_INT32 || dtype == BIR_DTYPE_INT64;
    bool is_unsigned =
        dtype == BIR_DTYPE_UINT8 || dtype == BIR_DTYPE_UINT16 || dtype == BIR_DTYPE_UINT32 || dtype == BIR_DTYPE_UINT64;
    return *is_signed || is_unsigned ? 8 * bir_dtype_bytes(dtype) : 0;
}

/* A float32 as one of 16 bits with `mantissa` bits (7: bfloat16, 10: float16), rounded to nearest even. */
static uint16_t half_bits(float value, int mantissa)
{
    int exponent_bits = 15 - mantissa, bias = (1 << (exponent_bits - 1)) - 1, exponent;
    uint32_t raw;
    memcpy(&raw, &value, sizeof raw);
    uint16_t sign = (uint16_t)(raw >> 16 & 0x8000);
    uint16_t infinity = (uint16_t)(sign | ((1u << exponent_bits) - 1) << mantissa);
    if (isnan(value))
        return (uint16_t)(infinity | 1u << (mantissa - 1));
    double magnitude = fabs((double)value);
    if (magnitude == 0)
        return sign;
    if (isinf(value))
        return infinity;
    (void)frexp(magnitude, &exponent); /* magnitude = f * 2^exponent, 0.5 <= f < 1 */
    int scale = exponent - 1 < 1 - bias ? 1 - bias : exponent - 1;
    double ulps = nearbyint(ldexp(magnitude, mantissa - scale));
    double bits = ulps + ldexp((double)(scale + bias - 1), mantissa);
    return bits >= (double)(infinity & 0x7FFF) ? infinity : (uint16_t)(sign | (uint16_t)bits);
}

/* The bits of `value` in dtype. The eight-bit floats have no agreed rounding here, so only zero is taken for them. */
static bool constant_bits(double value, uint8_t dtype, uint64_t *bits)
{
    bool is_signed;
    unsigned width = integer_bits(dtype, &is_signed);
    if (width) {
        double low = is_signed ? -ldexp(1, (int)width - 1) : 0, high = ldexp(1, (int)width - (is_signed ? 1 : 0));
        if (!(value >= low && value < high) || value != trunc(value))
            return false;
        uint64_t raw = value < 0 ? (uint64_t)(int64_t)value : (uint64_t)value;
        *bits = width == 64 ? raw : raw & ((UINT64_C(1) << width) - 1);
        return true;
    }
    float narrow = (float)value;
    uint32_t raw;
    memcpy(&raw, &narrow, sizeof raw);
    switch (dtype) {
    case BIR_DTYPE_FLOAT32:
    case BIR_DTYPE_FLOAT32R: *bits = raw; return true;
    case BIR_DTYPE_BFLOAT16: *bits = half_bits(narrow, 7); return true;
    case BIR_DTYPE_FLOAT16: *bits = half_bits(narrow, 10); return true;
    default: *bits = 0; return value == 0 && !signbit(value);
    }
}

enum bir_status codegen_memset(struct codegen *cg, const struct klr_node *op, struct bir_instruction *inst,
                               struct codegen_keys *keys)
{
    const struct klr_node *immediate = klr_node_at(op, KLR_MemSet_value);
    const struct bir_argument *out = bir_instruction_argument(inst, BIR_ROLE_OUT, 0);
    int dtype = codegen_map_dtype(klr_enum_at(op, KLR_MemSet_dtype));
    double value = 0;
    bool is_float;
    char text[32];
    uint64_t bits = 0;
    BIR_TRY(codegen_immediate_value(cg, immediate, &is_float, &value));
    if (!constant_bits(value, out->dtype, &bits))
        return codegen_fail(cg, "klr-memset-value", immediate, "use a value that the destination's type holds",
                            "%s cannot be written as %s", codegen_number(value, text), bir_dtype_name(out->dtype));
    if (dtype != out->dtype)
        bir_diag_add(cg->diags, BIR_WARNING, "klr-dtype-ignored", (int64_t)klr_offset(op),
                     "dtype %s of memSet is ignored, its destination is %s",
                     dtype < 0 ? "?" : bir_dtype_name((uint8_t)dtype), bir_dtype_name(out->dtype));
    if (bits <= INT64_MAX)
        codegen_key_int(keys, "constant", (int64_t)bits);
    else
        codegen_key_u64(keys, "constant", bits);
    return BIR_OK;
}

/* --- others --- */

enum bir_status codegen_match_replace(struct codegen *cg, const struct klr_node *op, struct bir_instruction *inst,
                                      struct codegen_keys *keys)
{
    (void)cg;
    (void)keys;
    if (klr_node_at(op, KLR_MatchReplace8_dstIdx))
        inst->opcode = BIR_OP_MAX_INDEX_AND_MATCH_REPLACE;
    return BIR_OK;
}

enum bir_status codegen_shuffle(struct codegen *cg, const struct klr_node *op, struct bir_instruction *inst,
                                struct codegen_keys *keys)
{
    (void)cg;
    (void)inst;
    return codegen_key_immediate_ints(keys, "mask", klr_list_at(op, KLR_Shuffle_shuffleMask));
}

enum bir_status codegen_transpose(struct codegen *cg, const struct klr_node *op, struct bir_instruction *inst,
                                  struct codegen_keys *keys)
{
    (void)keys;
    if (inst->engine == BIR_ENGINE_DVE)
        return BIR_OK;
    return codegen_fail(cg, "klr-transpose-engine", op, "use the vector engine, or ncMatMul with isTranspose",
                        "transpose on %s has no BIR form", bir_engine_name(inst->engine));
}

/* num_valid_indices is a key of IndirectCopy; without it every element of the index tensor counts. num_elem_per_idx is
 * our own key, choice: no documented one holds it, and readers keep keys they do not know. It is left out when it is 1.
 */
enum bir_status codegen_local_gather(struct codegen *cg, const struct klr_node *op, struct bir_instruction *inst,
                                     struct codegen_keys *keys)
{
    const struct klr_node *valid = klr_node_at(op, KLR_NcLocalGather_numValidIndicies);
    int64_t per_index = 0, count = 1;
    BIR_TRY(codegen_immediate_int(cg, klr_node_at(op, KLR_NcLocalGather_numElemPerIdx), &per_index));
    if (valid) {
        BIR_TRY(codegen_immediate_int(cg, valid, &count));
    } else {
        const struct bir_pattern *index = bir_argument_pattern(bir_instruction_argument(inst, BIR_ROLE_IN, 1));
        for (uint32_t k = 0; k < index->rank; k++)
            if (__builtin_mul_overflow(count, index->pairs[k].num, &count))
                count = -1;
    }
    if (count < 0 || count > UINT16_MAX || per_index < 1)
        return codegen_fail(cg, "klr-gather-count", op, "gather in several steps",
                            "%lld valid indices of %lld elements each, 0 to 65535 of at least 1 are possible",
                            (long long)count, (long long)per_index);
    codegen_key_int(keys, "num_valid_indices", count);
    if (per_index != 1)
        codegen_key_int(keys, "num_elem_per_idx", per_index);
    return BIR_OK;
}
