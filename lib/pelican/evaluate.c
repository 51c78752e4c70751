/*
 * Evaluation at a point: one recursive walk with checked arithmetic, bounded by PELICAN_MAX_DEPTH, remembering results
 * by node once an expression proves to be large.
 */
#include "pelican/evaluate.h"

#include "pelican/arith.h"
#include "pelican/memo.h"

struct evaluation {
    pelican_leaf_fn *leaf;
    void *user;
    struct pelican_memo memo;
    uint32_t depth;
};

static bool evaluate(struct evaluation *ev, const struct pelican_expr *e, int64_t *value);

/* lowering.md 6.2: an induction value outside its axis is "not evaluable". */
static bool axis_contains(const struct pelican_axis *axis, int64_t v)
{
    if (axis->stride > 0)
        return axis->lb <= v && v < axis->ub;
    return axis->stride < 0 && axis->ub < v && v <= axis->lb;
}

static bool evaluate_leaf(struct evaluation *ev, const struct pelican_expr *e, int64_t *value)
{
    if (!ev->leaf || !ev->leaf(ev->user, e, value))
        return false;
    return e->kind != PELICAN_AFFINE_IV || axis_contains(e->u.axis, *value);
}

static bool evaluate_affine(struct evaluation *ev, const struct pelican_expr *e, int64_t *value)
{
    int64_t sum = e->u.affine.c;
    for (uint32_t i = 0; i < e->u.affine.n_terms; i++) {
        const struct pelican_term *term = &e->u.affine.terms[i];
        int64_t v;
        if (!evaluate_leaf(ev, term->index, &v) || __builtin_mul_overflow(v, term->coef, &v) ||
            __builtin_add_overflow(sum, v, &sum))
            return false;
    }
    *value = sum;
    return true;
}

static bool evaluate_sum(struct evaluation *ev, const struct pelican_expr *e, int64_t *value)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < e->u.sum.n_terms; i++) {
        int64_t v;
        if (!evaluate(ev, e->u.sum.terms[i], &v) || __builtin_add_overflow(sum, v, &sum))
            return false;
    }
    *value = sum;
    return true;
}

static bool evaluate_node(struct evaluation *ev, const struct pelican_expr *e, int64_t *value)
{
    int64_t v;
    switch ((enum pelican_kind)e->kind) {
    case PELICAN_CC_GET_RANK:
    case PELICAN_INDIRECT_ARG:
    case PELICAN_AFFINE_IV:
    case PELICAN_RUNTIME_VALUE:
    case PELICAN_SHARD_ID: return evaluate_leaf(ev, e, value);
    case PELICAN_AFFINE: return evaluate_affine(ev, e, value);
    case PELICAN_SUM: return evaluate_sum(ev, e, value);
    case PELICAN_MULT: return evaluate(ev, e->u.mult.operand, &v) && !__builtin_mul_overflow(v, e->u.mult.scale, value);
    case PELICAN_FLOOR_DIV:
        if (!evaluate(ev, e->u.div.numer, &v))
            return false;
        *value = pelican_floor_div_i64(v, e->u.div.denom);
        return true;
    case PELICAN_MODULO:
        if (!evaluate(ev, e->u.div.numer, &v))
            return false;
        *value = pelican_mod_i64(v, e->u.div.denom);
        return true;
    case PELICAN_CC_DIV: /* depends on replica groups that no expression carries */ return false;
    }
    return false;
}

static bool evaluate(struct evaluation *ev, const struct pelican_expr *e, int64_t *value)
{
    const int64_t *known = pelican_memo_get(&ev->memo, e);
    if (known) {
        *value = *known;
        return true;
    }
    if (ev->depth >= PELICAN_MAX_DEPTH)
        return false;
    ev->depth++;
    bool ok = evaluate_node(ev, e, value) && pelican_memo_put(&ev->memo, e, value, sizeof *value);
    ev->depth--;
    return ok;
}

bool pelican_evaluate(const struct pelican_expr *e, pelican_leaf_fn *leaf, void *user, int64_t *value)
{
    struct evaluation ev = { .leaf = leaf, .user = user };
    int64_t v;
    pelican_memo_init(&ev.memo);
    bool ok = evaluate(&ev, e, &v);
    pelican_memo_deinit(&ev.memo);
    if (ok)
        *value = v;
    return ok;
}
