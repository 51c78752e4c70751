/*
 * Evaluation of predicates. A lane is a point of the loops; the axes of loops with unknown trip counts have no value,
 * so neither have predicates over them.
 */
#include "check/guard.h"

#include "check/counterexample.h"
#include "pelican/evaluate.h"

struct point {
    const struct bir_plan *plan;
    const struct bir_guard *guard;
    const struct bir_nest *nest;
    unsigned lane;
};

/* In a thread the registers of other engines may be ahead or behind, and what a loop was entered by may have changed.
 */
static bool is_current(const struct point *p, const struct bir_register *reg)
{
    return p->plan->thread == 0 || (reg->engine == p->plan->thread && !bir_instruction_region(p->guard->inst));
}

static bool leaf_value(void *user, const struct pelican_expr *leaf, int64_t *value)
{
    const struct point *p = user;
    if (leaf->kind == PELICAN_RUNTIME_VALUE && !is_current(p, leaf->u.reg))
        return false;
    return bir_plan_leaf(p->plan, p->nest, leaf, p->lane, value);
}

enum verdict { HOLDS, FAILS, OPEN };

static enum verdict judge(const struct bir_plan *plan, const struct bir_guard *guard, unsigned lane)
{
    struct point point = { plan, guard, guard->nest, lane };
    enum verdict verdict = guard->predicates.foreign ? OPEN : HOLDS;
    for (uint32_t i = 0; i < guard->predicates.count; i++) {
        const struct bir_predicate *predicate = &guard->predicates.items[i];
        int64_t value;
        if (!pelican_evaluate(predicate->expr, leaf_value, &point, &value))
            verdict = OPEN;
        else if (predicate->at_least ? value < 0 : value != 0)
            return FAILS;
    }
    return verdict;
}

struct bir_lanes bir_guard_lanes(struct bir_plan *plan, const struct bir_guard *guard, struct bir_lanes lanes)
{
    for (unsigned l = 0; guard && l < BIR_MACHINE_LANES; l++) {
        enum verdict verdict = judge(plan, guard, l);
        if (verdict == FAILS)
            lanes.off |= (uint16_t)(1u << l);
        else if (verdict == OPEN)
            lanes.loose |= (uint16_t)(1u << l);
    }
    return lanes;
}

bool bir_guards_hold(struct bir_plan *plan, const struct bir_nest *nest, const struct bir_guard *guard)
{
    if (guard && judge(plan, guard, 0) == FAILS)
        return false;
    for (; nest; nest = nest->parent) {
        if (nest->guard && judge(plan, nest->guard, 0) == FAILS)
            return false;
    }
    return true;
}
