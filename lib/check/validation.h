/*
 * Translation validation of address lowering: the emitted register program is executed, and every address it computes
 * is compared with the symbolic expression it came from (lowering.md 8.7 and 14).
 */
#ifndef BIR_CHECK_VALIDATION_H
#define BIR_CHECK_VALIDATION_H

#include "base/cancel.h"
#include "base/diag.h"
#include "bir/module.h"

/* Points of one loop nest that full validation executes one by one; a larger nest is sampled. */
#define BIR_VALIDATION_FULL_POINTS (UINT64_C(1) << 20)

enum bir_validation_mode {
    BIR_VALIDATION_SAMPLE, /* corners of the loop domain and at least 8 seeded points an operand */
    BIR_VALIDATION_FULL,   /* every point */
};

/* How registers are told apart: by object before colouring, by (engine, physical id) after it, so that a wrong
 * colouring shows. */
enum bir_validation_registers {
    BIR_VALIDATION_REGISTERS_AUTO, /* physical when the first lowered operand's register has an id */
    BIR_VALIDATION_REGISTERS_SYMBOLIC,
    BIR_VALIDATION_REGISTERS_PHYSICAL,
};

struct bir_validation_options {
    enum bir_validation_mode mode;
    enum bir_validation_registers registers;
    uint64_t seed;
    struct bir_cancel *cancel; /* or NULL */
};

struct bir_validation_stats {
    uint64_t operands;    /* checked */
    uint64_t points;      /* summed over the operands */
    uint64_t not_lowered; /* recorded operands that no pass has replaced */
    uint64_t unfinished;  /* threads of branches that were stopped after too many steps, so seen in part */
};

struct bir_validation;

/* Remembers every operand that address lowering is going to replace, and which register code is not its work. To be
 * called right before the first address-lowering pass; everything lives in arena. Passes that follow may change the
 * module in place, but must keep the order of the instructions that exist now. BIR_OK, BIR_NOMEM, BIR_LIMIT (without
 * diagnostic: the arena's limit). */
enum bir_status bir_validation_record(const struct bir_module *module, struct bir_arena *arena,
                                      struct bir_validation **out) BIR_MUST_CHECK;

/* How many operands were recorded. */
uint64_t bir_validation_operand_count(const struct bir_validation *validation);

/* Executes the lowered module (the one that was recorded) and compares. Uses the registers' scratch fields, so the
 * module must not be shared with another thread. stats are added to.
 *
 * BIR_INTERNAL: the emitted code is wrong. "check-address-mismatch" has the counter-example; other codes are
 * "check-register-code", "check-register-id", "check-operand-missing", "check-counter", "check-branch".
 * BIR_INVALID, the input's fault: an operand leaves its set ("check-operand-domain"), or its offset reads a register
 * that the module writes only later ("check-register-unwritten").
 * BIR_CANCELLED, BIR_NOMEM, BIR_LIMIT. */
enum bir_status bir_validation_run(struct bir_validation *validation, const struct bir_module *lowered,
                                   const struct bir_validation_options *options, struct bir_diags *diags,
                                   struct bir_validation_stats *stats) BIR_MUST_CHECK;

#endif
