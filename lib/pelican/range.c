/*
 * Interval arithmetic. A range is exact for an affine node (every index occurs once, each axis attains both ends) and
 * conservative above division nodes and sums, where one axis may occur in several operands.
 *
 * What is unknown stays unknown upwards, but for the remainder: it lies below its divisor whatever its numerator is.
 */
#include "pelican/range.h"

#include "pelican/arith.h"

static const struct pelican_range UNKNOWN = { 0, 0, false };

struct walk {
    struct pelican_memo *memo;
    uint32_t depth;
};

static struct pelican_range range_of(struct walk *w, const struct pelican_expr *e);

static struct pelican_range known(int64_t inf, int64_t sup)
{
    return (struct pelican_range){ inf, sup, true };
}

/* lowering.md 6.3: lb and lb + stride * (trip - 1). */
static struct pelican_range axis_range(const struct pelican_axis *axis)
{
    int64_t trip = pelican_axis_trip_count(axis);
    int64_t last;
    if (trip == 0 || __builtin_mul_overflow(axis->stride, trip - 1, &last) ||
        __builtin_add_overflow(axis->lb, last, &last))
        return UNKNOWN;
    return axis->lb <= last ? known(axis->lb, last) : known(last, axis->lb);
}

static struct pelican_range add(struct pelican_range a, struct pelican_range b)
{
    int64_t inf, sup;
    if (!a.known || !b.known || __builtin_add_overflow(a.inf, b.inf, &inf) ||
        __builtin_add_overflow(a.sup, b.sup, &sup))
        return UNKNOWN;
    return known(inf, sup);
}

static struct pelican_range scale(struct pelican_range r, int64_t k)
{
    int64_t a, b;
    if (k == 0)
        return known(0, 0);
    if (!r.known || __builtin_mul_overflow(r.inf, k, &a) || __builtin_mul_overflow(r.sup, k, &b))
        return UNKNOWN;
    return a <= b ? known(a, b) : known(b, a);
}

static struct pelican_range index_range(const struct pelican_expr *e)
{
    if (e->kind == PELICAN_AFFINE_IV)
        return axis_range(e->u.axis);
    if (e->kind == PELICAN_SHARD_ID && e->u.shard_count > 0)
        return known(0, e->u.shard_count - 1);
    return UNKNOWN;
}

static struct pelican_range affine_range(const struct pelican_expr *e)
{
    struct pelican_range r = known(e->u.affine.c, e->u.affine.c);
    for (uint32_t i = 0; i < e->u.affine.n_terms && r.known; i++)
        r = add(r, scale(index_range(e->u.affine.terms[i].index), e->u.affine.terms[i].coef));
    return r;
}

static struct pelican_range sum_range(struct walk *w, const struct pelican_expr *e)
{
    struct pelican_range r = known(0, 0);
    for (uint32_t i = 0; i < e->u.sum.n_terms && r.known; i++)
        r = add(r, range_of(w, e->u.sum.terms[i]));
    return r;
}

static struct pelican_range floor_div_range(struct pelican_range n, int64_t d)
{
    if (!n.known)
        return UNKNOWN;
    return known(pelican_floor_div_i64(n.inf, d), pelican_floor_div_i64(n.sup, d));
}

/* Within one period of the divisor the remainder is the numerator, moved. */
static struct pelican_range modulo_range(struct pelican_range n, int64_t d)
{
    if (n.known && pelican_floor_div_i64(n.inf, d) == pelican_floor_div_i64(n.sup, d))
        return known(pelican_mod_i64(n.inf, d), pelican_mod_i64(n.sup, d));
    return known(0, d - 1);
}

static struct pelican_range node_range(struct walk *w, const struct pelican_expr *e)
{
    switch ((enum pelican_kind)e->kind) {
    case PELICAN_AFFINE_IV:
    case PELICAN_SHARD_ID: return index_range(e);
    case PELICAN_AFFINE: return affine_range(e);
    case PELICAN_SUM: return sum_range(w, e);
    case PELICAN_MULT: return scale(range_of(w, e->u.mult.operand), e->u.mult.scale);
    case PELICAN_FLOOR_DIV: return floor_div_range(range_of(w, e->u.div.numer), e->u.div.denom);
    case PELICAN_MODULO: return modulo_range(range_of(w, e->u.div.numer), e->u.div.denom);
    case PELICAN_CC_GET_RANK:
    case PELICAN_INDIRECT_ARG:
    case PELICAN_RUNTIME_VALUE:
    case PELICAN_CC_DIV: return UNKNOWN;
    }
    return UNKNOWN;
}

static struct pelican_range range_of(struct walk *w, const struct pelican_expr *e)
{
    const struct pelican_range *remembered = pelican_memo_get(w->memo, e);
    if (remembered)
        return *remembered;
    if (w->depth >= PELICAN_MAX_DEPTH)
        return UNKNOWN;
    w->depth++;
    struct pelican_range r = node_range(w, e);
    w->depth--;
    return pelican_memo_put(w->memo, e, &r, sizeof r) ? r : UNKNOWN;
}

struct pelican_range pelican_range_with(struct pelican_memo *memo, const struct pelican_expr *e)
{
    struct walk w = { .memo = memo };
    return range_of(&w, e);
}

struct pelican_range pelican_range_of(const struct pelican_expr *e)
{
    struct pelican_memo memo;
    pelican_memo_init(&memo);
    struct pelican_range r = pelican_range_with(&memo, e);
    pelican_memo_deinit(&memo);
    return r;
}
