/*
 * Each operand is sound on its own when these rules are asked; they compare operands. A rule is a row: the opcode, the
 * operands compared, and the relation of their element counts.
 */
#include "isa/instruction.h"

#include <inttypes.h>

enum relation { EQUAL, AT_MOST };

struct count_rule {
    uint16_t opcode;
    uint8_t n_sources;
    uint8_t relation; /* destination to source */
};

static const struct count_rule count_rules[] = {
    { BIR_OP_TENSOR_TENSOR, 2, EQUAL },
    { BIR_OP_ACTIVATION, 1, EQUAL },
    { BIR_OP_TENSOR_SCALAR, 1, EQUAL },
    { BIR_OP_STREAM_TRANSPOSE, 1, AT_MOST },
};

/* Whether an operand took the static form, whose element count is its pattern's. */
static bool is_static(const struct isa_operand *operand)
{
    return operand->outcome == ISA_ENCODED && isa_slot_info_of(operand->descriptor.slot)->form == ISA_FORM_STATIC;
}

static bool check_counts(const struct isa_operands *operands, const struct count_rule *rule,
                         const struct isa_operand **culprit, struct isa_problem *problem)
{
    const struct isa_operand *dst = &operands->items[BIR_ROLE_OUT][0];
    if (operands->count[BIR_ROLE_OUT] < 1 || operands->count[BIR_ROLE_IN] < rule->n_sources || !is_static(dst))
        return true;
    for (uint32_t i = 0; i < rule->n_sources; i++) {
        const struct isa_operand *src = &operands->items[BIR_ROLE_IN][i];
        if (!is_static(src) || (rule->relation == EQUAL ? dst->elems == src->elems : dst->elems <= src->elems))
            continue;
        *culprit = src;
        return isa_refuse(problem, ISA_RULE_OPERANDS,
                          "ins[%" PRIu32 "] has %" PRIu64 " elements a partition, outs[0] has %" PRIu64
                          ": they must be %s",
                          i, src->elems, dst->elems, rule->relation == EQUAL ? "equal" : "at least as many");
    }
    return true;
}

/* TensorTensor reads one source from each memory, or both from one quadrant of SBUF. */
static bool check_two_sources(const struct isa_operands *operands, const struct isa_operand **culprit,
                              struct isa_problem *problem)
{
    const struct isa_operand *a = &operands->items[BIR_ROLE_IN][0], *b = &operands->items[BIR_ROLE_IN][1];
    if (operands->count[BIR_ROLE_IN] < 2 || !is_static(a) || !is_static(b) || a->is_register || b->is_register)
        return true;
    *culprit = b;
    if (a->space == ISA_SPACE_PSUM && b->space == ISA_SPACE_PSUM)
        return isa_refuse(problem, ISA_RULE_OPERANDS, "both sources are in PSUM, at most one may be");
    uint32_t qa = a->partition / ISA_QUADRANT_PARTITIONS, qb = b->partition / ISA_QUADRANT_PARTITIONS;
    if (a->space == ISA_SPACE_SBUF && b->space == ISA_SPACE_SBUF && qa != qb)
        return isa_refuse(problem, ISA_RULE_OPERANDS,
                          "sources in SBUF start at partitions %" PRIu32 " and %" PRIu32
                          ", they must start in the same quadrant",
                          a->partition, b->partition);
    return true;
}

bool isa_check_instruction(const struct isa_operands *operands, const struct isa_operand **culprit,
                           struct isa_problem *problem)
{
    uint16_t opcode = operands->inst->opcode;
    if (opcode == BIR_OP_TENSOR_TENSOR && !check_two_sources(operands, culprit, problem))
        return false;
    for (size_t i = 0; i < sizeof count_rules / sizeof count_rules[0]; i++)
        if (count_rules[i].opcode == opcode && !check_counts(operands, &count_rules[i], culprit, problem))
            return false;
    return true;
}
