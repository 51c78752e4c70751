/*
 * Which expressions may address a dimension after delinearisation (lowering.md 6.6).
 *
 * The fact sheet leaves open when an index "needs a predicate". Choice: it does unless the divisor (after the gcd with
 * the coefficient) divides the number of values of the axis; otherwise the last period of the division is cut off.
 */
#include "pelican/memo.h"
#include "pelican/simplify.h"

struct check {
    bool is_partition_dim;
    bool require_no_predicate;
    struct pelican_memo memo; /* node -> bool */
    uint32_t depth;
};

static bool legal(struct check *k, const struct pelican_expr *e);

static int64_t gcd(int64_t a, int64_t b)
{
    while (b != 0) {
        int64_t r = a % b;
        a = b;
        b = r;
    }
    return a < 0 ? -a : a;
}

static bool divides_axis(const struct pelican_expr *index, int64_t denom)
{
    return index->kind == PELICAN_AFFINE_IV && pelican_axis_trip_count(index->u.axis) % denom == 0;
}

static bool division_legal(const struct check *k, const struct pelican_expr *e)
{
    const struct pelican_expr *numer = e->u.div.numer;
    if (pelican_kind_is_index((enum pelican_kind)numer->kind))
        return !k->require_no_predicate || divides_axis(numer, e->u.div.denom);
    if (numer->kind != PELICAN_AFFINE || numer->u.affine.n_terms != 1)
        return false;
    const struct pelican_term *term = &numer->u.affine.terms[0];
    return divides_axis(term->index, e->u.div.denom / gcd(e->u.div.denom, term->coef));
}

static bool sum_legal(struct check *k, const struct pelican_expr *e)
{
    for (uint32_t i = 0; i < e->u.sum.n_terms; i++) {
        if (!legal(k, e->u.sum.terms[i]))
            return false;
    }
    return true;
}

static bool node_legal(struct check *k, const struct pelican_expr *e)
{
    switch ((enum pelican_kind)e->kind) {
    case PELICAN_AFFINE_IV:
    case PELICAN_RUNTIME_VALUE:
    case PELICAN_SHARD_ID: return true;
    case PELICAN_AFFINE: return e->u.affine.n_terms == 0 || !k->is_partition_dim || e->u.affine.c == 0;
    case PELICAN_SUM: return sum_legal(k, e);
    case PELICAN_MULT: return legal(k, e->u.mult.operand);
    case PELICAN_FLOOR_DIV:
    case PELICAN_MODULO:
    case PELICAN_CC_DIV: return division_legal(k, e);
    case PELICAN_CC_GET_RANK:
    case PELICAN_INDIRECT_ARG: return false;
    }
    return false;
}

static bool legal(struct check *k, const struct pelican_expr *e)
{
    const bool *known = pelican_memo_get(&k->memo, e);
    if (known)
        return *known;
    if (k->depth >= PELICAN_MAX_DEPTH)
        return false;
    k->depth++;
    bool result = node_legal(k, e);
    k->depth--;
    return pelican_memo_put(&k->memo, e, &result, sizeof result) && result;
}

bool pelican_is_legal_delinearised(const struct pelican_expr *e, bool is_partition_dim, bool require_no_predicate)
{
    struct check k = { .is_partition_dim = is_partition_dim, .require_no_predicate = require_no_predicate };
    pelican_memo_init(&k.memo);
    bool result = legal(&k, e);
    pelican_memo_deinit(&k.memo);
    return result;
}
