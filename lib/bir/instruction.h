/* Building blocks of instruction lists that only lib/bir itself may use. */
#ifndef BIR_BIR_INSTRUCTION_H
#define BIR_BIR_INSTRUCTION_H

#include "bir/module.h"

/* bir_block_append without entering the name into the function's map. */
void bir_block_link(struct bir_block *block, struct bir_instruction *inst);

/* Puts arg at the end of a role list of its parent, respectively takes it out. Use lists are not touched. */
void bir_argument_link(struct bir_argument *arg, enum bir_role role);

#endif
