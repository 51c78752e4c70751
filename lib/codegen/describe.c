/*
 * The operator table as Markdown, and in the form of klr(5): one line or paragraph an operator, from the rows that
 * drive the conversion, so the two cannot differ. Operands are named by their KLR fields, which the schema gives for
 * the payload type of each operator.
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

static void put_keys(struct bir_buf *out, const struct operator_row *row, const char *quote)
{
    const char *separator = "";
    for (const struct key_spec *spec = row->keys; spec && spec->kind != KEY_END; spec++) {
        if (!spec->key)
            continue;
        bir_buf_printf(out, "%s%s%s%s", separator, quote, spec->key, quote);
        if (spec->text)
            bir_buf_printf(out, " = %s", spec->text);
        if (spec->kind == KEY_REVERSE)
            bir_buf_printf(out, ", %sreverse1%s", quote, quote);
        if (spec->kind == KEY_PATTERN)
            bir_buf_printf(out, ", %schannel_multiplier%s, %spattern%s", quote, quote, quote, quote);
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
        put_keys(out, row, "`");
        bir_buf_printf(out, " | %s |\n", row->note ? row->note : "");
    }
}

/* A line of its own when it says something. No label starts with a roff control character. */
static void put_man_line(struct bir_buf *out, const char *label, const struct bir_buf *text)
{
    if (text->len > 0)
        bir_buf_printf(out, ".br\n%s: %.*s\n", label, (int)text->len, text->data);
}

void bir_codegen_describe_operators_man(struct bir_buf *out)
{
    for (uint32_t i = 0; i < codegen_operator_count; i++) {
        const struct operator_row *row = &codegen_operators[i];
        enum klr_type payload = payload_type(row->op);
        struct bir_buf ins, outs, keys;
        bir_buf_printf(out, ".TP\n.B %s\n", klr_ctor_name(KLR_TYPE_Operator, row->op));
        if (row->opcode == BIR_OP_UNKNOWN) {
            bir_buf_printf(out, "refused: %s\n", row->note);
            continue;
        }
        bir_buf_init(&ins, 0);
        bir_buf_init(&outs, 0);
        bir_buf_init(&keys, 0);
        put_operands(&ins, row, payload, BIR_ROLE_IN);
        put_operands(&outs, row, payload, BIR_ROLE_OUT);
        put_keys(&keys, row, "");
        bir_buf_printf(out, "%s on %s%s\n", bir_opcode_name(row->opcode),
                       row->engine_slot >= 0 ? "its own engine, else " : "", bir_engine_name(row->engine));
        put_man_line(out, "ins", &ins);
        put_man_line(out, "outs", &outs);
        put_man_line(out, "keys", &keys);
        if (row->note)
            bir_buf_printf(out, ".br\nnote: %s\n", row->note);
        if (ins.status != BIR_OK || outs.status != BIR_OK || keys.status != BIR_OK)
            out->status = BIR_NOMEM;
        bir_buf_deinit(&ins);
        bir_buf_deinit(&outs);
        bir_buf_deinit(&keys);
    }
}
