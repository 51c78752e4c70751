/*
 * Registers that operands read before the module writes them.
 *
 * Internal to lib/check.
 */
#ifndef BIR_CHECK_UNWRITTEN_H
#define BIR_CHECK_UNWRITTEN_H

#include "check/plan.h"

/* Finds watched registers of the recorded function that an operand reads, in program order, before their first write
 * (they have writers: others are arguments already). With branches the order of the blocks says little, so they hold
 * data from the start, like arguments; else the first such operand becomes input->unwritten. Uses the registers'
 * scratch fields. BIR_OK, BIR_NOMEM, BIR_LIMIT. */
enum bir_status bir_unwritten_record(struct bir_plan_input *input, struct bir_arena *arena) BIR_MUST_CHECK;

/* BIR_INVALID with "check-register-unwritten" when there is such an operand, else BIR_OK. */
enum bir_status bir_unwritten_report(const struct bir_plan_input *input, struct bir_diags *diags) BIR_MUST_CHECK;

/* The register that makes an operation of a thread read a slot that nothing wrote, when the module has it: NULL when
 * all registers that the operation lacks are lowering's own. */
struct bir_register *bir_unwritten_of(struct bir_plan *plan, const struct bir_machine_op *op);

#endif
