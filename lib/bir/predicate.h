/*
 * Predicates of instructions (bir-json.md 9.5), parsed on demand.
 *
 * A module keeps them as JSON text, because few passes look at them and foreign shapes must survive. An instruction is
 * executed at a point only when all its predicates hold there; a region op with its whole body.
 */
#ifndef BIR_PREDICATE_H
#define BIR_PREDICATE_H

#include "base/diag.h"
#include "bir/module.h"

struct bir_predicate {
    const struct pelican_expr *expr;
    bool at_least; /* expr >= 0; else expr == 0 */
};

struct bir_predicates {
    const struct bir_predicate *items;
    uint32_t count;
    bool foreign; /* some element is no {"expr", "ge"} over the axes and registers in scope; then items is NULL */
};

static inline bool bir_instruction_is_predicated(const struct bir_instruction *inst)
{
    return inst->rare && inst->rare->texts && inst->rare->texts->predicates;
}

/* Has the instruction or a loop around it predicates? */
bool bir_instruction_may_be_skipped(const struct bir_instruction *inst);

/* The predicates of an instruction that has some, by its enclosing loops: call it before they are taken apart. Items
 * live in arena, expressions in the module. BIR_OK (look at out->foreign), BIR_NOMEM or BIR_LIMIT. */
enum bir_status bir_predicates_parse(struct bir_module *module, const struct bir_instruction *inst,
                                     struct bir_arena *arena, struct bir_predicates *out) BIR_MUST_CHECK;

#endif
