/*
 * Vector, scalar and copy engines: TensorTensor, the copy family, TensorScalar, Activation, Memset, IndirectCopy
 * (descriptors.md 7.5, 7.6, 7.8).
 */
#include "isa/word_values.h"

/* A key whose wire code no source gives: it has to be at its neutral member, else the field stays zero and is named. */
static void expect_neutral(struct isa_word_builder *b, const char *key, enum bir_enum_id id)
{
    if (isa_word_enum(b, key, id, 0) != 0)
        isa_word_unknown(b, key);
}

/* Both types in one byte, low nibble first. */
static bool pair_of_tags(struct isa_word_builder *b, uint8_t low, uint8_t high)
{
    if (low > 0x0F || high > 0x0F)
        return isa_word_fail(b, "a packed FP4 type has no place in a pair of types");
    b->values.value[ISA_VAL_TAGS] = (uint64_t)(low | (unsigned)high << 4);
    return true;
}

static bool tensor_tensor(struct isa_word_builder *b)
{
    const struct isa_operand *second = isa_word_operand(b, BIR_ROLE_IN, 1);
    if (!isa_word_source_and_destination(b) || !isa_word_alu(b, "op", ISA_VAL_OP0))
        return false;
    if (!second)
        return isa_word_fail(b, "a source or destination has no descriptor");
    b->values.operand[ISA_VAL_SRC1] = second;
    if (!pair_of_tags(b, b->values.operand[ISA_VAL_SRC0]->tag, second->tag))
        return false;
    expect_neutral(b, "acc", BIR_ENUM_ACCUMULATION);
    bool bitwise = isa_alu_is_bitwise(isa_word_enum(b, "op", BIR_ENUM_ALU_OP, BIR_ALU_BYPASS));
    return isa_word_emit(b, bitwise ? ISA_OP_TENSOR_TENSOR_BITWISE : ISA_OP_TENSOR_TENSOR);
}

/* The word of TensorTensor without an op: src0 is the predicate, src1 the data. */
static bool copy_predicated(struct isa_word_builder *b)
{
    const struct isa_operand *data = isa_word_operand(b, BIR_ROLE_IN, ISA_COPY_PREDICATED_DATA);
    const struct isa_operand *predicate = isa_word_operand(b, BIR_ROLE_IN, ISA_COPY_PREDICATED_PREDICATE);
    if (b->operands->count[BIR_ROLE_IN] > 2)
        return isa_word_fail(b, "no layout is known for SelectReduce");
    if (!isa_word_source_and_destination(b))
        return false;
    if (!data || !predicate)
        return isa_word_fail(b, "a source or destination has no descriptor");
    b->values.operand[ISA_VAL_SRC0] = predicate;
    b->values.operand[ISA_VAL_SRC1] = data;
    if (!pair_of_tags(b, predicate->tag, data->tag))
        return false;
    expect_neutral(b, "accumulator_cmd", BIR_ENUM_ACCUMULATION);
    expect_neutral(b, "reduce_op", BIR_ENUM_ALU_OP);
    if (isa_word_bool(b, "reverse_pred"))
        isa_word_unknown(b, "reverse_pred");
    bool casts = data->argument->dtype != b->values.operand[ISA_VAL_DST]->argument->dtype;
    return isa_word_emit(b, casts ? ISA_OP_CAST_PREDICATED : ISA_OP_COPY_PREDICATED);
}

static bool copy(struct isa_word_builder *b)
{
    if (!isa_word_source_and_destination(b))
        return false;
    const struct bir_argument *src = b->values.operand[ISA_VAL_SRC0]->argument,
                              *dst = b->values.operand[ISA_VAL_DST]->argument;
    switch (b->inst->opcode) {
    case BIR_OP_RECIPROCAL: return isa_word_emit(b, ISA_OP_RECIPROCAL);
    case BIR_OP_STREAM_TRANSPOSE: return isa_word_emit(b, ISA_OP_STREAM_TRANSPOSE);
    case BIR_OP_STREAM_SHUFFLE: isa_word_unknown(b, "mask"); return isa_word_emit(b, ISA_OP_STREAM_SHUFFLE);
    default: return isa_word_emit(b, src->dtype != dst->dtype ? ISA_OP_CAST : ISA_OP_COPY);
    }
}

static bool reduce(struct isa_word_builder *b)
{
    int axis = isa_word_enum(b, "axis", BIR_ENUM_AXIS_LIST, -1);
    if (!isa_word_source_and_destination(b) || !isa_word_alu(b, "op", ISA_VAL_OP0))
        return false;
    if (axis < 0 || axis > 3)
        return isa_word_fail(b, "only the axes X, XY, XYZ and XYZW have a code in the word");
    b->values.value[ISA_VAL_SUBDIM] = (uint64_t)axis + 2;
    b->values.value[ISA_VAL_NEGATED] = isa_word_bool(b, "negate");
    if (isa_word_bool(b, "apply_transpose"))
        isa_word_unknown(b, "apply_transpose");
    bool bitwise = isa_alu_is_bitwise(isa_word_enum(b, "op", BIR_ENUM_ALU_OP, BIR_ALU_BYPASS));
    return isa_word_emit(b, bitwise ? ISA_OP_REDUCE_BITWISE : ISA_OP_REDUCE);
}

/* --- scalars: 0 immediate, 1 pointer, 2 pointer in a register --- */

enum { SCALAR_IMMEDIATE = 0, SCALAR_POINTER = 1, SCALAR_REGISTER_POINTER = 2 };

/* The i-th input as a scalar; false when it is neither. bits and source are left alone when there is no such input. */
static bool scalar_operand(struct isa_word_builder *b, uint32_t i, enum isa_value source, enum isa_value bits)
{
    const struct bir_argument *argument = isa_word_argument(b, BIR_ROLE_IN, i);
    const struct isa_operand *operand = isa_word_operand(b, BIR_ROLE_IN, i);
    if (!argument)
        return true;
    if (argument->kind == BIR_ARG_IMM_VALUE) {
        b->values.value[source] = SCALAR_IMMEDIATE;
        b->values.value[bits] = (uint32_t)((const struct bir_imm_value *)argument)->bits;
        return true;
    }
    if (!operand || operand->descriptor.slot != ISA_SLOT_ADDR4)
        return isa_word_fail(b, "a scalar is neither an immediate nor a pointer");
    b->values.value[source] = operand->is_register ? SCALAR_REGISTER_POINTER : SCALAR_POINTER;
    b->values.value[bits] = operand->descriptor.u.addr4;
    return true;
}

static bool tensor_scalar(struct isa_word_builder *b)
{
    if (isa_word_bool(b, "is_scalar_tensor_tensor") || isa_word_bool(b, "is_tensor_tensor_scan"))
        return isa_word_fail(b, "no layout is known for this form of TensorScalarPtr");
    uint64_t *v = b->values.value;
    v[ISA_VAL_IMM0] = isa_word_float_bits(b, "const0", 0);
    v[ISA_VAL_IMM1] = isa_word_float_bits(b, "const1", 0);
    if (!isa_word_source_and_destination(b) || !isa_word_alu(b, "op0", ISA_VAL_OP0) ||
        !isa_word_alu(b, "op1", ISA_VAL_OP1) || !scalar_operand(b, 1, ISA_VAL_IMM0_SRC, ISA_VAL_IMM0) ||
        !scalar_operand(b, 2, ISA_VAL_IMM1_SRC, ISA_VAL_IMM1))
        return false;
    v[ISA_VAL_REVERSE] = (uint64_t)(isa_word_bool(b, "reverse0") | isa_word_bool(b, "reverse1") << 1);
    static const char *const unmapped[] = { "apply_transpose", "is_tensor_scalar_addr", "negate_second_output" };
    for (size_t i = 0; i < sizeof unmapped / sizeof unmapped[0]; i++)
        if (isa_word_bool(b, unmapped[i]))
            isa_word_unknown(b, unmapped[i]);
    expect_neutral(b, "acc", BIR_ENUM_ACCUMULATION);
    bool bitwise = isa_alu_is_bitwise(isa_word_enum(b, "op0", BIR_ENUM_ALU_OP, BIR_ALU_BYPASS)) ||
                   isa_alu_is_bitwise(isa_word_enum(b, "op1", BIR_ENUM_ALU_OP, BIR_ALU_BYPASS));
    return isa_word_emit(b, bitwise ? ISA_OP_TENSOR_SCALAR_BITWISE : ISA_OP_TENSOR_SCALAR);
}

enum { BIAS_POINTER = 0, BIAS_IMMEDIATE = 1, TAG_FLOAT32 = 0x0A };

/* ins[1] is the bias, ins[2] the scale, when they are operands (choice: the order of the kernel operator's fields). */
static bool activation(struct isa_word_builder *b)
{
    uint64_t *v = b->values.value;
    const struct isa_operand *bias = isa_word_operand(b, BIR_ROLE_IN, 1);
    if (isa_word_bool(b, "is_activate2"))
        return isa_word_fail(b, "no layout is known for the second form of Activation");
    if (!isa_word_source_and_destination(b))
        return false;
    v[ISA_VAL_IMM0] = isa_word_float_bits(b, "scale", 0);
    v[ISA_VAL_IMM1] = isa_word_float_bits(b, "alpha", 0);
    if (!scalar_operand(b, 1, ISA_VAL_BIAS_SRC, ISA_VAL_BIAS) || !scalar_operand(b, 2, ISA_VAL_IMM0_SRC, ISA_VAL_IMM0))
        return false;
    v[ISA_VAL_BIAS_SRC] = v[ISA_VAL_BIAS_SRC] == SCALAR_IMMEDIATE ? BIAS_IMMEDIATE : BIAS_POINTER;
    if (!pair_of_tags(b, b->values.operand[ISA_VAL_SRC0]->tag, bias ? bias->tag : TAG_FLOAT32))
        return false;
    expect_neutral(b, "acc", BIR_ENUM_ACCUMULATION);
    expect_neutral(b, "reduce_op", BIR_ENUM_ALU_OP);
    isa_word_unknown(b, "function"); /* its numbering is not documented */
    return isa_word_emit(b, ISA_OP_ACTIVATION);
}

static bool memset_word(struct isa_word_builder *b)
{
    const struct isa_operand *dst = isa_word_operand(b, BIR_ROLE_OUT, 0);
    if (!dst)
        return isa_word_fail(b, "a source or destination has no descriptor");
    if (isa_word_enum(b, "mode", BIR_ENUM_MEMSET_MODE, 0) != 0)
        return isa_word_fail(b, "no layout is known for a random memset");
    int64_t fill = isa_word_int(b, "constant", 0);
    if (fill < INT32_MIN || fill > UINT32_MAX || dst->elems > UINT32_MAX)
        return isa_word_fail(b, "the fill value or element count does not fit 32 bits");
    b->values.operand[ISA_VAL_DST] = dst;
    b->values.value[ISA_VAL_OUT_TAG] = dst->tag;
    b->values.value[ISA_VAL_CHANNELS] = dst->partitions;
    b->values.value[ISA_VAL_ELEMS] = dst->elems;
    b->values.value[ISA_VAL_FILL] = (uint32_t)fill;
    return isa_word_emit(b, ISA_OP_MEMSET);
}

static bool indirect_copy(struct isa_word_builder *b)
{
    if (!isa_word_source_and_destination(b))
        return false;
    const struct isa_operand *src = b->values.operand[ISA_VAL_SRC0], *dst = b->values.operand[ISA_VAL_DST];
    uint64_t indices = src->descriptor.u.indirect.num_elem;
    uint64_t per_index = indices ? dst->elems / indices : 0;
    if (src->tag != dst->tag)
        return isa_word_fail(b, "source and destination of an indirect copy have the same type");
    if (dst->partitions % 16 != 0)
        return isa_word_fail(b, "an indirect copy works on a multiple of 16 partitions");
    if (per_index == 0 || per_index > 32 || (per_index & (per_index - 1)) != 0 || per_index * indices != dst->elems)
        return isa_word_fail(b, "elements per index must be 1, 2, 4, 8, 16 or 32");
    if (src->elems > UINT16_MAX)
        return isa_word_fail(b, "the source has more than 65535 elements a partition");
    b->values.value[ISA_VAL_PER_INDEX] = per_index;
    b->values.value[ISA_VAL_SRC_SIZE] = src->elems;
    return isa_word_emit(b, ISA_OP_INDIRECT_COPY);
}

bool isa_words_tensor(struct isa_word_builder *b)
{
    switch (b->inst->opcode) {
    case BIR_OP_TENSOR_TENSOR: return tensor_tensor(b);
    case BIR_OP_COPY_PREDICATED: return copy_predicated(b);
    case BIR_OP_TENSOR_REDUCE: return reduce(b);
    case BIR_OP_TENSOR_SCALAR:
    case BIR_OP_TENSOR_SCALAR_PTR: return tensor_scalar(b);
    case BIR_OP_ACTIVATION: return activation(b);
    case BIR_OP_MEMSET: return memset_word(b);
    case BIR_OP_INDIRECT_COPY: return indirect_copy(b);
    default: return copy(b);
    }
}
