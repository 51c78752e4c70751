/* Affine expressions over loop axes as register code (lowering.md 8.4). */
#ifndef BIR_PASSES_LOWER_AFFINE_H
#define BIR_PASSES_LOWER_AFFINE_H

#include "passes/emit.h"
#include "pelican/simplify.h"

/* Where an expression stands, for diagnostics. */
struct bir_affine_site {
    struct bir_instruction *inst; /* its engine executes the code */
    uint32_t source_offset;       /* of the operand */
    const char *what;             /* "addrs/0 (tile)" */
    const char *suffix;           /* its place in the operand: "/addrs/0", or NULL */
};

/* An expression that bir_lower_affine can emit. */
struct bir_affine {
    const struct pelican_expr *expr; /* normal form, AFFINE over axes of loops around the instruction */
    struct pelican_range range;      /* of its values; not known exactly when never_runs */
    bool never_runs;                 /* an axis has no value, so the code is dead */
};

/* Simplifies and checks: affine ("lower-not-affine"), over axes of enclosing Loops ("lower-runtime-term",
 * "lower-dynamic-loop", "lower-axis-scope") with a register for the engine ("lower-no-register"), every constant and
 * every intermediate within int32
 * ("lower-overflow"). */
enum bir_status bir_affine_prepare(struct bir_module *module, const struct bir_affine_site *site,
                                   const struct pelican_expr *e, struct bir_diags *diags,
                                   struct bir_affine *out) BIR_MUST_CHECK;

/* dst := value, with tmp as scratch: 1 + 2 * terms instructions. */
void bir_lower_affine(struct bir_emitter *e, const struct bir_affine *affine, struct bir_register *dst,
                      struct bir_register *tmp);

#endif
