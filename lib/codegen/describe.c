/*
 * The operator table as Markdown, for the manual: one line an operator, from the rows that drive the conversion, so the
 * two cannot differ. Operands are named by their KLR fields, which the schema gives for the payload type of each
 * operator.
 */
#include <string.h>

#include "codegen/operators.h"

static const char *const operand_marks[] = {
    [OPERAND_END] = "",
    [OPERAND_TENSOR] = "",
    [OPERAND_TENSOR_OPTIONAL] = "?",
    [OPERAND_TENSOR_OR_ZERO] = " (0.0 when absent)",
    [OPERAND_DYNAMIC] = " (may be dynamic)",
    [OPERAND_TENSORS] = "...",
    [OPERAND_ANY] = "",
    [OPERAND_ANY_OPTIONAL] = "?",
    [OPERAND_IMMEDIATE] = "",
    [OPERAND_IMMEDIATE_OPTIONAL] = "?",
    [OPERAND_REGISTER] = " (register)",
};

struct arm_field {
    uint16_t sum, base;
    uint8_t arm;
};

static const struct arm_field arm_fields[] = {
#define KLR_ARM_FIELD(sum, arm, field, wrap, base) { KLR_TYPE_##sum, KLR_TYPE_##base, KLR_##sum##_##arm },
#include "klr/schema.def"
};

static enum klr_type payload_type(uint32_t op)
{
    for (size_t i = 0; i < sizeof arm_fields / sizeof *arm_fields; i++)
        if (arm_fields[i].sum == KLR_TYPE_Operator && arm_fields[i].arm == op)
            return (enum klr_type)arm_fields[i].base;
    return KLR_TYPE_COUNT;
}

static void put_operands(struct bir_buf *out, const struct operator_row *row, enum klr_type payload, enum bir_role role)
{
    const char *separator = "";
    for (const struct operand_spec *spec = row->operands; spec && spec->kind != OPERAND_END; spec++) {
        if (spec->role != role)
            continue;
        bir_buf_printf(out, "%s%s%s", separator, klr_field_name(payload, 0, (uint32_t)spec->slot),
                       operand_marks[spec->kind]);
        separator = ", ";
    }
}

static void put_keys(struct bir_buf *out, const struct operator_row *row)
{
    const char *separator = "";
    for (const struct key_spec *spec = row->keys; spec && spec->kind != KEY_END; spec++) {
        if (!spec->key)
            continue;
        bir_buf_printf(out, "%s`%s`", separator, spec->key);
        if (spec->text)
            bir_buf_printf(out, " = %s", spec->text);
        if (spec->kind == KEY_REVERSE)
            bir_buf_puts(out, ", `reverse1`");
        if (spec->kind == KEY_PATTERN)
            bir_buf_puts(out, ", `channel_multiplier`, `pattern`");
        separator = ", ";
    }
}

void bir_codegen_describe_operators(struct bir_buf *out)
{
    bir_buf_puts(out, "| klr operator | opcode | engine | ins | outs | keys | note |\n|-|-|-|-|-|-|-|\n");
    for (uint32_t i = 0; i < codegen_operator_count; i++) {
        const struct operator_row *row = &codegen_operators[i];
        const char *name = klr_ctor_name(KLR_TYPE_Operator, row->op);
        enum klr_type payload = payload_type(row->op);
        if (row->opcode == BIR_OP_UNKNOWN) {
            bir_buf_printf(out, "| %s | refused | | | | | %s |\n", name, row->note);
            continue;
        }
        bir_buf_printf(out, "| %s | %s | %s%s | ", name, bir_opcode_name(row->opcode),
                       row->engine_slot >= 0 ? "its own, else " : "", bir_engine_name(row->engine));
        put_operands(out, row, payload, BIR_ROLE_IN);
        bir_buf_puts(out, " | ");
        put_operands(out, row, payload, BIR_ROLE_OUT);
        bir_buf_puts(out, " | ");
        put_keys(out, row);
        bir_buf_printf(out, " | %s |\n", row->note ? row->note : "");
    }
}
