/* DRAM locations that hold the value of one register. */
#ifndef BIR_PASSES_REGISTER_SLOT_H
#define BIR_PASSES_REGISTER_SLOT_H

#include "passes/address_table.h"

/* A set `<name>_set` (Internal, int32, or int64 for a 64-bit register) with one location `name` of one element. Errors:
 * "colour-spill-name" when the name is taken, "colour-spill-dram" when no DRAM address is left. */
enum bir_status bir_register_slot_new(struct bir_dram_space *dram, struct bir_function *function,
                                      const struct bir_str *name, const struct bir_register *reg,
                                      struct bir_diags *diags, struct bir_location **out) BIR_MUST_CHECK;

#endif
