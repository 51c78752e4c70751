/* Registers moved to memory (lowering.md 11 items 7 and 8). */
#ifndef BIR_PASSES_SPILL_H
#define BIR_PASSES_SPILL_H

#include "passes/address_table.h"
#include "passes/emit.h"
#include "passes/liveness.h"

struct bir_spiller {
    struct bir_module *module;
    const struct bir_pass_context *context;
    struct bir_emitter emitter;
    struct bir_dram_space dram;
    struct bir_map exempt; /* registers that must not be spilled */
};

void bir_spiller_init(struct bir_spiller *spiller, struct bir_module *module, const struct bir_pass_context *context);

/* Finds the registers of a function that cannot be spilled: induction registers, and those that loop bounds,
 * conditions, waits or runtime offsets name, where no other register can be put. Call it before the first spill of a
 * function. */
enum bir_status bir_spiller_exempt(struct bir_spiller *spiller, struct bir_function *function) BIR_MUST_CHECK;

/* False for exempt registers (those made by spilling are), and for those with nothing to shorten: one def directly
 * before the only use. */
bool bir_spiller_may_spill(const struct bir_spiller *spiller, const struct bir_node *node);

/* Gives each register a location in DRAM, a TensorSave after each def and a TensorLoad into a fresh register before
 * each use. The scratch fields of the function's registers are used. Errors: "colour-spill-dram" when no DRAM address
 * is left. */
enum bir_status bir_spiller_spill(struct bir_spiller *spiller, struct bir_function *function,
                                  struct bir_register *const *regs, uint32_t count,
                                  struct bir_diags *diags) BIR_MUST_CHECK;

#endif
