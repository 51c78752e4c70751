/*
 * Register code: RegisterMove, RegisterAlu, TensorLoad, TensorSave and branches (descriptors.md 7.2 to 7.4, section 8).
 *
 * A 64-bit value is two physical registers: a register of width two, or two operands, low before high. Both spellings
 * are flattened into one list of ids before anything else looks at them.
 */
#include "isa/word_values.h"

enum { MAX_IDS = 6 };

/* Ids of the register operands of a list in order, and its immediate. */
struct flat {
    uint8_t ids[MAX_IDS];
    uint32_t n_ids;
    uint32_t n_immediates;
    uint32_t immediate_after; /* ids before the first immediate */
    uint64_t immediate;
};

static bool flatten_register(struct isa_word_builder *b, const struct bir_register *reg, struct flat *flat)
{
    if (reg->physical_id < 0)
        return isa_word_fail(b, "a register has no physical id");
    for (unsigned i = 0; i < reg->num_physical; i++) {
        unsigned id = (unsigned)reg->physical_id + i;
        if (id >= ISA_REGISTERS)
            return isa_word_fail(b, "a register id is above 63");
        if (flat->n_ids == MAX_IDS)
            return isa_word_fail(b, "more registers than the word has places for");
        flat->ids[flat->n_ids++] = (uint8_t)id;
    }
    return true;
}

/* Operands that are neither register nor immediate (the memory of a TensorLoad) are skipped. */
static bool flatten(struct isa_word_builder *b, enum bir_role role, struct flat *flat)
{
    *flat = (struct flat){ 0 };
    const struct bir_argument *argument;
    for (uint32_t i = 0; (argument = isa_word_argument(b, role, i)) != NULL; i++) {
        if (argument->kind == BIR_ARG_REGISTER_ACCESS) {
            if (!argument->location || argument->location->tag != BIR_STORAGE_REGISTER)
                return isa_word_fail(b, "a register operand names no register");
            if (!flatten_register(b, (const struct bir_register *)argument->location, flat))
                return false;
        } else if (argument->kind == BIR_ARG_IMM_VALUE) {
            if (flat->n_immediates++ == 0) {
                flat->immediate_after = flat->n_ids;
                flat->immediate = ((const struct bir_imm_value *)argument)->bits;
            }
        } else if (argument->kind == BIR_ARG_SYMBOLIC_IMM_VALUE || argument->kind == BIR_ARG_IMM_ARRAY) {
            return isa_word_fail(b, "an immediate is not a single known value");
        }
    }
    return true;
}

static uint8_t argument_tag(const struct isa_word_builder *b, enum bir_role role, uint32_t i)
{
    const struct bir_argument *argument = isa_word_argument(b, role, i);
    return argument ? isa_dtype_tag(argument->dtype, b->generation) : 0;
}

enum { TAG_UINT64 = 0x01, TAG_INT32 = 0x08, TAG_UINT32 = 0x09, TAG_FLOAT32 = 0x0A };

static bool register_move(struct isa_word_builder *b)
{
    struct flat src, dst;
    uint64_t *v = b->values.value;
    if (!flatten(b, BIR_ROLE_IN, &src) || !flatten(b, BIR_ROLE_OUT, &dst))
        return false;
    if (dst.n_ids < 1 || dst.n_ids > 2 || src.n_ids + src.n_immediates != 1)
        return isa_word_fail(b, "a move takes one source and one or two destination registers");
    bool wide = dst.n_ids == 2;
    if (wide && !src.n_immediates)
        return isa_word_fail(b, "a 64-bit move needs an immediate source");
    uint8_t tag = wide ? TAG_INT32 : argument_tag(b, BIR_ROLE_OUT, 0);
    if (tag != TAG_INT32 && tag != TAG_UINT32 && tag != TAG_FLOAT32)
        return isa_word_fail(b, "a move works on float32, uint32, int32 or a 64-bit pair");
    v[ISA_VAL_REG_COUNT] = dst.n_ids;
    v[ISA_VAL_IN_TAG] = tag;
    v[ISA_VAL_SRC_MODE] = src.n_immediates;
    v[ISA_VAL_SRC0_LOW] = src.n_ids ? src.ids[0] : 0;
    v[ISA_VAL_DST_LOW] = dst.ids[0];
    v[ISA_VAL_DST_HIGH] = wide ? dst.ids[1] : 0;
    v[ISA_VAL_IMMEDIATE] = wide ? src.immediate : (uint32_t)src.immediate;
    return isa_word_emit(b, ISA_OP_REGISTER_MOVE);
}

static bool register_alu(struct isa_word_builder *b)
{
    struct flat src, dst;
    uint64_t *v = b->values.value;
    int op = isa_word_enum(b, "op", BIR_ENUM_ALU_OP, -1);
    bool wide = isa_word_bool(b, "is_64bit");
    uint32_t width = wide ? 2 : 1;
    if (op < 0)
        return isa_word_fail(b, "the instruction has no ALU op");
    if (op >= BIR_ALU_ABS_MAX)
        return isa_word_fail(b, "the ALU op has no byte in the word"); /* registers know the ops of 7.9 alone */
    if (wide && op != BIR_ALU_ADD && op != BIR_ALU_SUBTRACT && op != BIR_ALU_MULT)
        return isa_word_fail(b, "64-bit register arithmetic knows add, subtract and mult only");
    if (!isa_word_alu(b, "op", ISA_VAL_OP0) || !flatten(b, BIR_ROLE_IN, &src) || !flatten(b, BIR_ROLE_OUT, &dst))
        return false;
    if (src.n_immediates && src.immediate_after == 0)
        return isa_word_fail(b, "an immediate as first operand has no known encoding");
    if (dst.n_ids != width || src.n_immediates > 1 || src.n_ids != (src.n_immediates ? width : 2 * width))
        return isa_word_fail(b, "the number of registers does not fit the operation's width");
    v[ISA_VAL_IN_TAG] = wide ? TAG_UINT64 : argument_tag(b, BIR_ROLE_IN, 0);
    v[ISA_VAL_OUT_TAG] = wide ? TAG_UINT64 : argument_tag(b, BIR_ROLE_OUT, 0);
    v[ISA_VAL_SRC_MODE] = src.n_immediates;
    v[ISA_VAL_SRC0_LOW] = src.ids[0];
    v[ISA_VAL_SRC0_HIGH] = wide ? src.ids[1] : 0;
    v[ISA_VAL_SRC1_LOW] = src.n_immediates ? 0 : src.ids[width];
    v[ISA_VAL_SRC1_HIGH] = wide && !src.n_immediates ? src.ids[width + 1] : 0;
    v[ISA_VAL_DST_LOW] = dst.ids[0];
    v[ISA_VAL_DST_HIGH] = wide ? dst.ids[1] : 0;
    /* Choice of 7.3: a 32-bit immediate is four bytes, the rest stays zero. */
    v[ISA_VAL_IMMEDIATE] = wide ? src.immediate : (uint32_t)src.immediate;
    return isa_word_emit(b, ISA_OP_REGISTER_ALU);
}

/* --- branches --- */

/* Name of the block that follows the branch's own, or NULL. */
static const struct bir_str *next_block(const struct isa_word_builder *b)
{
    const struct bir_block *block = b->inst->block;
    return block && block->next ? block->next->name : NULL;
}

static bool names_next_block(const struct isa_word_builder *b, const char *key)
{
    const struct bir_prop *prop = bir_props_find(b->inst->props, key);
    const struct bir_str *next = next_block(b);
    return prop && prop->type == BIR_VALUE_TEXT && next && bir_str_compare(prop->u.s, next) == 0;
}

static bool unconditional_branch(struct isa_word_builder *b)
{
    b->words->needs_none = names_next_block(b, "target");
    if (b->words->needs_none)
        return isa_word_fail(b, "falls through to the next block: no word is emitted");
    b->values.value[ISA_VAL_COMPARE] = 0;
    isa_word_unknown(b, "target (instruction index in the engine's stream)");
    return isa_word_emit(b, ISA_OP_BRANCH);
}

static bool compare_and_branch(struct isa_word_builder *b)
{
    /* LT GE, LE GT, EQ NE are each other's negation; wire codes: immediate forms 1..6, register forms 9..14. */
    static const uint8_t negated[6] = { 4, 5, 3, 2, 0, 1 };
    struct flat src;
    uint64_t *v = b->values.value;
    int compare = isa_word_enum(b, "comp_op", BIR_ENUM_BRANCH_COMPARE, BIR_BRANCH_UNSUPPORTED);
    if (compare >= BIR_BRANCH_UNSUPPORTED)
        return isa_word_fail(b, "the comparison has no code in the word");
    if (!flatten(b, BIR_ROLE_IN, &src))
        return false;
    bool by_register = compare >= BIR_BRANCH_IS_LTREG;
    int relation = by_register ? compare - BIR_BRANCH_IS_LTREG : compare;
    if (src.n_ids != (by_register ? 2u : 1u) || src.n_immediates != (by_register ? 0u : 1u) ||
        (!by_register && src.immediate_after == 0))
        return isa_word_fail(b, "the operands do not fit the comparison");
    if (names_next_block(b, "on_true"))
        relation = negated[relation];
    v[ISA_VAL_COMPARE] = (uint64_t)(relation + (by_register ? 9 : 1));
    v[ISA_VAL_IN_TAG] = argument_tag(b, BIR_ROLE_IN, 0);
    v[ISA_VAL_IMMEDIATE] = (uint32_t)src.immediate;
    v[ISA_VAL_SRC0_LOW] = src.ids[0];
    v[ISA_VAL_SRC1_LOW] = by_register ? src.ids[1] : 0;
    isa_word_unknown(b, "target (instruction index in the engine's stream)");
    return isa_word_emit(b, ISA_OP_BRANCH);
}

/* --- register loads and saves --- */

/* The memory side: in ins for a load, in outs for a save. */
static const struct bir_argument *memory_argument(const struct isa_word_builder *b, enum bir_role role)
{
    const struct bir_argument *argument = isa_word_argument(b, role, 0);
    return argument && (argument->kind == BIR_ARG_PHYSICAL_AP || argument->kind == BIR_ARG_REGISTER_AP) ? argument
                                                                                                        : NULL;
}

/* Immediate form: variable and byte offset of a DRAM location. */
static bool static_memory(struct isa_word_builder *b, const struct bir_physical_ap *access)
{
    if (!access->base.location || access->base.location->tag != BIR_STORAGE_LOCATION)
        return isa_word_fail(b, "the memory operand names no location");
    const struct bir_location *location = (const struct bir_location *)access->base.location;
    const struct bir_prop *variable = bir_props_find(location->base.props, "var_id");
    int64_t offset_bytes;
    if (__builtin_mul_overflow(access->offset_elems, (int64_t)bir_dtype_bytes(access->base.dtype), &offset_bytes) ||
        location->addr_bytes > INT64_MAX ||
        __builtin_add_overflow(offset_bytes, (int64_t)location->addr_bytes, &offset_bytes) || offset_bytes < 0 ||
        offset_bytes > UINT32_MAX)
        return isa_word_fail(b, "the offset does not fit 32 bits");
    b->values.value[ISA_VAL_OFFSET] = (uint64_t)offset_bytes;
    if (variable && variable->type == BIR_VALUE_INT && variable->u.i >= 0 && variable->u.i <= UINT32_MAX)
        b->values.value[ISA_VAL_VARIABLE] = (uint64_t)variable->u.i;
    else
        isa_word_unknown(b, "variable");
    return true;
}

static bool tensor_access(struct isa_word_builder *b, bool is_load)
{
    const struct bir_argument *memory = memory_argument(b, is_load ? BIR_ROLE_IN : BIR_ROLE_OUT);
    if (!memory)
        return isa_word_fail(b, "the memory operand is not an access pattern");
    isa_word_unknown(b, "register");
    isa_word_unknown(b, "dtype");
    isa_word_unknown(b, "counts and steps");
    if (memory->kind == BIR_ARG_PHYSICAL_AP)
        return static_memory(b, (const struct bir_physical_ap *)memory) &&
               isa_word_emit(b, is_load ? ISA_OP_TENSOR_LOAD_IMM : ISA_OP_TENSOR_SAVE_IMM);
    const struct bir_register_ap *access = (const struct bir_register_ap *)memory;
    if (!access->address || access->address->physical_id < 0)
        return isa_word_fail(b, "a register has no physical id");
    b->values.value[ISA_VAL_BASE_REGISTER] = (uint64_t)access->address->physical_id;
    return isa_word_emit(b, is_load ? ISA_OP_TENSOR_LOAD_REG : ISA_OP_TENSOR_SAVE_REG);
}

bool isa_words_registers(struct isa_word_builder *b)
{
    switch (b->inst->opcode) {
    case BIR_OP_REGISTER_MOVE: return register_move(b);
    case BIR_OP_REGISTER_ALU: return register_alu(b);
    case BIR_OP_COMPARE_AND_BRANCH: return compare_and_branch(b);
    case BIR_OP_UNCONDITIONAL_BRANCH: return unconditional_branch(b);
    case BIR_OP_TENSOR_LOAD: return tensor_access(b, true);
    default: return tensor_access(b, false);
    }
}
