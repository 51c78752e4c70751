/*
 * Predicates at the points of a plan: in which lanes an instruction is executed.
 *
 * Internal to lib/check.
 */
#ifndef BIR_CHECK_GUARD_H
#define BIR_CHECK_GUARD_H

#include "bir/predicate.h"
#include "check/operand.h"

struct bir_plan;

/* The predicates of an instruction and where it stands. */
struct bir_guard {
    const struct bir_instruction *inst;
    const struct bir_nest *nest; /* the loops around it, or NULL */
    struct bir_predicates predicates;
    bool has_runtime; /* they depend on more than the axes of known loops */
};

/* Bit sets of lanes. */
struct bir_lanes {
    uint16_t off;   /* some predicate is false: not executed */
    uint16_t loose; /* it cannot be told: perhaps not executed */
};

/* Adds the lanes of one guard (NULL: none) at the plan's current point. */
struct bir_lanes bir_guard_lanes(struct bir_plan *plan, const struct bir_guard *guard, struct bir_lanes lanes);

/* Whether the guard of an instruction and those of the loops around it hold in lane 0; what cannot be told holds. */
bool bir_guards_hold(struct bir_plan *plan, const struct bir_nest *nest, const struct bir_guard *guard);

#endif
