/* What holds of a module beyond what its readers check (bir-json.md section 14, lowering.md section 18). */
#ifndef BIR_BIR_VERIFIER_H
#define BIR_BIR_VERIFIER_H

#include "base/diag.h"
#include "bir/module.h"

/*
 * Checks every function: blocks and terminators, control flow, loops, sizes and alignment of tensors, operands of
 * register code and branches. A violated rule adds a diagnostic that names the instruction, the value and the limit;
 * all of them are found, up to the diagnostics' own limit. Rules that other compilers' dumps may break without being
 * wrong (empty blocks, shape of the control flow, loopnest lists) give warnings, in strict mode errors.
 *
 * BIR_OK without errors, BIR_INVALID with some, BIR_NOMEM.
 */
enum bir_status bir_module_verify(const struct bir_module *module, bool strict, struct bir_diags *diags) BIR_MUST_CHECK;

#endif
