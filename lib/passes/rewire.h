/* Registers inside runtime offsets, bound again after renaming (lowering.md 10). */
#ifndef BIR_PASSES_REWIRE_H
#define BIR_PASSES_REWIRE_H

#include "passes/pass.h"

/* A register name as the vendor's map keys it: blanks around it, a type prefix up to the last '>' and a leading '*' are
 * dropped. Borrowed from name. */
struct bir_register_token {
    const char *text;
    size_t len;
};
struct bir_register_token bir_register_token(const char *name, size_t len);

/* For every runtime value in the operand's dynamic info: the register whose name the map gives for the present one,
 * when the function has it; a name that the map lacks is the error "split-unknown-register" (EAE032). names: interned
 * name -> interned name. No companion: nothing to do. An identity map changes nothing. */
enum bir_status bir_rewire_dynamic_registers(struct bir_module *module, struct bir_argument *arg,
                                             struct bir_function *function, const struct bir_map *names,
                                             struct bir_diags *diags) BIR_MUST_CHECK;

#endif
