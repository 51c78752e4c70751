/* Tables of hash-consed lists and records. Internal to lib/bir. */
#ifndef BIR_BIR_CONS_H
#define BIR_BIR_CONS_H

#include "bir/module.h"

struct bir_cons;

/* NULL when out of memory. */
struct bir_cons *bir_cons_new(struct bir_arena *arena) BIR_MUST_CHECK;

/* A shared record with these members, but for what cannot be shared: an instruction's loop, sync and texts, an
 * operand's dynamic. NULL on allocation failure. */
const struct bir_instruction_rare *bir_instruction_rare_get(struct bir_module *module,
                                                            const struct bir_instruction_rare *rare) BIR_MUST_CHECK;
const struct bir_argument_rare *bir_argument_rare_get(struct bir_module *module,
                                                      const struct bir_argument_rare *rare) BIR_MUST_CHECK;

#endif
