/* Symbolic immediates with one value (lowering.md 8.1). */
#ifndef BIR_PASSES_FOLD_IMMEDIATE_H
#define BIR_PASSES_FOLD_IMMEDIATE_H

#include "passes/pass.h"

/* Finds the one value of a symbolic immediate as the bits of a plain one. Errors: "lower-immediate" when it has several
 * or none, or when the dtype cannot hold it. */
enum bir_status bir_immediate_value(struct bir_module *module, const struct bir_symbolic_imm_value *imm,
                                    struct bir_diags *diags, uint64_t *bits) BIR_MUST_CHECK;

/* Puts a plain immediate in its place. False on allocation failure. */
bool bir_immediate_replace(struct bir_module *module, struct bir_symbolic_imm_value *imm, uint64_t bits) BIR_MUST_CHECK;

#endif
