/* The derivation of an operand's bytes, step by step, for people and editors. */
#ifndef BIR_ISA_EXPLAIN_H
#define BIR_ISA_EXPLAIN_H

#include "base/buf.h"
#include "isa/operand.h"

/* Appends the steps from pattern and location to address, slot, fields and bytes, one a line, each line ended by a
 * newline. An operand that is refused or has no bytes is explained as far as it goes, then the rule or reason.
 * position: in its list. */
void isa_explain_operand(struct bir_buf *out, const struct bir_argument *argument, uint32_t position,
                         enum isa_generation generation);

/* Every operand of the instruction, then its words, byte for byte with the layout's fields. */
void isa_explain_instruction(struct bir_buf *out, const struct bir_instruction *inst, enum isa_generation generation);

#endif
