/*
 * Register code: RegisterAlu, RegisterMove, TensorLoad, TensorSave (lowering.md 1.11, EBIR010 to EBIR013 of section 18,
 * bir-json.md 13.2).
 *
 * A 64-bit operand is one register of two physical ones, or two operands (low, high) of one each. So the width of an
 * operand list is the sum over its registers, while the inputs of one ALU op must agree register by register.
 */
#include <inttypes.h>

#include "bir/verify.h"

#define PHYSICAL_REGISTER_BYTES 4u

static const struct bir_register *register_of(const struct bir_argument *arg)
{
    if (!arg || arg->kind != BIR_ARG_REGISTER_ACCESS || !arg->location)
        return NULL;
    return (const struct bir_register *)arg->location;
}

static bool is_pattern(const struct bir_argument *arg)
{
    return bir_argument_class_of((enum bir_argument_kind)arg->kind)->has_pattern;
}

/* Bytes of all registers of a list; *others counts the operands that are none. */
static uint32_t register_bytes(const struct bir_instruction *inst, enum bir_role role, uint32_t *others)
{
    uint32_t bytes = 0;
    *others = 0;
    BIR_EACH_ARGUMENT (arg, inst, role) {
        const struct bir_register *reg = register_of(arg);
        bytes += reg ? reg->num_physical * PHYSICAL_REGISTER_BYTES : 0;
        *others += !reg;
    }
    return bytes;
}

static void fail_operands(struct verifier *v, const struct bir_instruction *inst, const char *expected)
{
    char name[160];
    verify_report(v, RULE_REGISTER_OPERANDS, inst->source_offset, "%s must have %s", verify_name(inst, name), expected);
}

/* RegisterAlu */

static void verify_alu_widths(struct verifier *v, const struct bir_instruction *inst)
{
    char name[160];
    const struct bir_register *first = NULL;
    BIR_EACH_ARGUMENT (arg, inst, BIR_ROLE_IN) {
        const struct bir_register *reg = register_of(arg);
        if (!reg)
            continue;
        if (first && first->num_physical != reg->num_physical)
            verify_report(v, RULE_REGISTER_WIDTH, arg->source_offset,
                          "inputs \"%.40s\" and \"%.40s\" of %s have %u and %u bits", first->base.name->text,
                          reg->base.name->text, verify_name(inst, name), first->num_physical * 32u,
                          reg->num_physical * 32u);
        first = first ? first : reg;
    }
}

static bool is_wide_op(const struct bir_prop *op)
{
    if (!op || op->type != BIR_VALUE_TEXT)
        return true; /* an unknown op is the reader's business */
    return bir_str_is(op->u.s, "add") || bir_str_is(op->u.s, "subtract") || bir_str_is(op->u.s, "mult");
}

static void verify_alu(struct verifier *v, const struct bir_instruction *inst)
{
    char name[160];
    const struct bir_prop *wide = bir_props_find(inst->props, "is_64bit");
    if (wide && wide->type == BIR_VALUE_EXPR)
        return;
    bool is_wide = wide && wide->type == BIR_VALUE_BOOL && wide->u.b;
    uint32_t others, ins = bir_instruction_argument_count(inst, BIR_ROLE_IN);
    uint32_t outs = bir_instruction_argument_count(inst, BIR_ROLE_OUT);
    (void)register_bytes(inst, BIR_ROLE_OUT, &others);
    bool counts_fit = is_wide ? ins >= 2 && ins <= 4 && outs >= 1 && outs <= 2 : ins == 2 && outs == 1;
    if (!counts_fit || others > 0 || !register_of(bir_instruction_first(inst, BIR_ROLE_IN))) {
        fail_operands(v, inst,
                      is_wide ? "two inputs (or low and high halves), the first a register, and one output (or halves)"
                              : "two inputs, the first a register, and one output register");
        return;
    }
    verify_alu_widths(v, inst);
    const struct bir_prop *op = bir_props_find(inst->props, "op");
    if (is_wide && !is_wide_op(op))
        verify_report(v, RULE_WIDE_OP, inst->source_offset, "%s does %.40s on 64 bits", verify_name(inst, name),
                      op->u.s->text);
}

/* RegisterMove */

static bool is_move_dtype(uint8_t dtype)
{
    return dtype == BIR_DTYPE_FLOAT32 || dtype == BIR_DTYPE_UINT32 || dtype == BIR_DTYPE_INT32 ||
           dtype == BIR_DTYPE_INT64 || dtype == BIR_DTYPE_UINT64;
}

static void verify_move(struct verifier *v, const struct bir_instruction *inst)
{
    char name[160];
    const struct bir_argument *source = bir_instruction_first(inst, BIR_ROLE_IN);
    uint32_t others, to_bytes = register_bytes(inst, BIR_ROLE_OUT, &others);
    bool is_immediate = source && source->kind == BIR_ARG_IMM_VALUE;
    if (bir_instruction_argument_count(inst, BIR_ROLE_IN) != 1 || to_bytes == 0 || others > 0 ||
        (!is_immediate && !register_of(source))) {
        fail_operands(v, inst, "one register or immediate as input and registers as output");
        return;
    }
    uint32_t from_bytes = is_immediate ? bir_dtype_bytes(source->dtype) : register_bytes(inst, BIR_ROLE_IN, &others);
    if (from_bytes != to_bytes || (is_immediate && !is_move_dtype(source->dtype)))
        verify_report(v, RULE_MOVE_WIDTH, source->source_offset, "%s moves %" PRIu32 " bytes (%s) to %" PRIu32 " bytes",
                      verify_name(inst, name), from_bytes, bir_dtype_name(source->dtype), to_bytes);
    else if (!is_immediate && from_bytes > PHYSICAL_REGISTER_BYTES)
        verify_report(v, RULE_MOVE_WIDTH, source->source_offset,
                      "%s moves 64 bits from a register, which needs an immediate", verify_name(inst, name));
}

/* TensorLoad, TensorSave */

static const struct bir_argument *memory_operand(const struct bir_instruction *inst, enum bir_role role)
{
    BIR_EACH_ARGUMENT (arg, inst, role)
        if (is_pattern(arg))
            return arg;
    return NULL;
}

/* Bytes that the pattern covers, UINT64_MAX beyond 64 bits. */
static uint64_t access_bytes(const struct bir_argument *arg)
{
    const struct bir_pattern *pattern = bir_argument_pattern(arg);
    uint64_t bytes = bir_dtype_bytes(arg->dtype);
    for (uint32_t i = 0; i < pattern->rank; i++)
        if (__builtin_mul_overflow(bytes, (uint64_t)pattern->pairs[i].num, &bytes))
            return UINT64_MAX;
    return bytes;
}

static void verify_memory(struct verifier *v, const struct bir_instruction *inst, const struct bir_argument *memory)
{
    char name[160];
    const struct bir_set *set = bir_argument_set(memory);
    enum bir_memory_type type = bir_argument_memory(memory);
    bool is_save = inst->opcode == BIR_OP_TENSOR_SAVE;
    if (is_save && (type == BIR_MEMORY_PSUM || (type == BIR_MEMORY_SB && v->module->arch == BIR_ARCH_SUNDA)))
        verify_report(v, RULE_REGISTER_MEMORY, memory->source_offset, "%s stores registers to %s, which %s cannot",
                      verify_name(inst, name), bir_enum_name(BIR_ENUM_MEMORY_TYPE, (int)type),
                      bir_arch_name(v->module->arch));
    if (set && set->kind != BIR_TENSOR_CONST && set->kind != BIR_TENSOR_INTERNAL && set->kind != BIR_TENSOR_POINTER &&
        set->kind != BIR_ENUM_UNKNOWN)
        verify_report(v, RULE_REGISTER_MEMORY, memory->source_offset,
                      "%s accesses a tensor of kind %s, allowed are Const, Internal and Pointer",
                      verify_name(inst, name), bir_enum_name(BIR_ENUM_TENSOR_KIND, set->kind));
}

static void verify_transfer(struct verifier *v, const struct bir_instruction *inst)
{
    char name[160];
    bool is_save = inst->opcode == BIR_OP_TENSOR_SAVE;
    const struct bir_argument *memory = memory_operand(inst, is_save ? BIR_ROLE_OUT : BIR_ROLE_IN);
    uint32_t others, bytes = register_bytes(inst, is_save ? BIR_ROLE_IN : BIR_ROLE_OUT, &others);
    if (!memory || bytes == 0 || others > 0) {
        fail_operands(v, inst,
                      is_save ? "registers as inputs and memory as output"
                              : "memory as input and registers as outputs");
        return;
    }
    verify_memory(v, inst, memory);
    uint64_t moved = access_bytes(memory);
    if (moved != bytes && memory->dtype != BIR_ENUM_UNKNOWN)
        verify_report(v, RULE_MEMORY_WIDTH, memory->source_offset,
                      "%s moves %" PRIu64 " bytes of memory and %" PRIu32 " bytes of registers",
                      verify_name(inst, name), moved, bytes);
}

void verify_register_code(struct verifier *v, const struct bir_instruction *inst)
{
    switch (inst->opcode) {
    case BIR_OP_REGISTER_ALU: verify_alu(v, inst); break;
    case BIR_OP_REGISTER_MOVE: verify_move(v, inst); break;
    case BIR_OP_TENSOR_LOAD:
    case BIR_OP_TENSOR_SAVE: verify_transfer(v, inst); break;
    default: break;
    }
}
