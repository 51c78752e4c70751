/* Rules over several operands of one instruction (end of descriptors.md section 5). */
#ifndef BIR_ISA_INSTRUCTION_H
#define BIR_ISA_INSTRUCTION_H

#include "isa/words.h"

/* True, or the first rule that the encoded operands break together; *culprit is the operand to report. Operands that
 * have no bytes or are addressed by registers are left out of rules about places. */
bool isa_check_instruction(const struct isa_operands *operands, const struct isa_operand **culprit,
                           struct isa_problem *problem);

#endif
