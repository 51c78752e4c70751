/* Building blocks of instruction lists that only lib/bir itself may use. */
#ifndef BIR_BIR_INSTRUCTION_H
#define BIR_BIR_INSTRUCTION_H

#include "bir/module.h"

/* bir_block_append without entering the name into the function's map. */
void bir_block_link(struct bir_block *block, struct bir_instruction *inst);

/* Puts arg at the end of a role list of its parent. Use lists are not touched. */
void bir_argument_link(struct bir_argument *arg, enum bir_role role);

/* A new operand of uint8 at the end of a list (immediates: always ins), with room for the address expressions of a
 * symbolic_ap: n_addrs is 0 for others, and addrs stays to be set. NULL on allocation failure. */
struct bir_argument *bir_argument_new_last(struct bir_module *module, struct bir_instruction *inst,
                                           enum bir_argument_kind kind, enum bir_role role,
                                           uint32_t n_addrs) BIR_MUST_CHECK;
/* The same, behind another operand of its list: without the search for the end. */
struct bir_argument *bir_argument_new_behind(struct bir_module *module, struct bir_argument *position,
                                             enum bir_argument_kind kind, uint32_t n_addrs) BIR_MUST_CHECK;

/* Room for exactly so many edges more. False on allocation failure. */
bool bir_instruction_reserve_edges(struct bir_module *module, struct bir_instruction *inst,
                                   uint32_t more) BIR_MUST_CHECK;

/* Bytes of the operand itself. */
size_t bir_argument_bytes(const struct bir_argument *arg);

#endif
