/*
 * The simplifier: a table of rules applied bottom-up to a fixed point.
 *
 * A node is rebuilt from the normal forms of its children, then the rules of its kind are tried in table order; the
 * first that changes it starts the node over. Every rule removes a node, shrinks a divisor chain or brings a
 * coefficient into [0, denom), so this ends. Results are remembered by node, so shared subtrees cost once.
 *
 * Normal forms, on which rules rely:
 *   AFFINE     no zero coefficient; axes by id, then other indices by node id. A bare index is 1 * index + 0.
 *   MULT       scale is neither 0 nor 1, and the operand is none of AFFINE, SUM, MULT.
 *   SUM        at least two operands: at most one AFFINE, first and not zero; the others distinct, by node id, each
 * alone or below a MULT. FLOOR_DIV, MODULO   what no rule can fold: the only reason why an expression does not become
 * AFFINE, besides the opaque kinds INDIRECT_ARG, CC_GET_RANK and CC_DIV.
 *
 * Linear combinations are the common currency of the rules: a constant, terms over indices, terms over opaque nodes.
 *
 * A sum or product whose constant leaves 64 bits fails as a whole (ctx->overflow). A folding rule of division that
 * would overflow is merely not applied: the unfolded form is still right.
 */
#include "pelican/simplify.h"

#include <stdlib.h>

#include "base/vec.h"
#include "pelican/arith.h"
#include "pelican/range.h"

struct simplifier {
    struct pelican_context *ctx;
    struct bir_arena scratch;
    struct bir_map done; /* node -> its normal form */
    struct pelican_memo ranges;
    uint32_t depth;
};

typedef const struct pelican_expr *rule_fn(struct simplifier *s, const struct pelican_expr *e);

static const struct pelican_expr *simplify(struct simplifier *s, const struct pelican_expr *e);

/* --- linear combinations --- */

struct linear {
    int64_t c;
    BIR_VEC(struct pelican_term) indices; /* may repeat until linear_tidy */
    BIR_VEC(struct pelican_term) nodes;   /* index holds any node that is not linear itself */
};

enum outcome { DONE, OVERFLOWED, FAILED };

static enum outcome linear_add(struct simplifier *s, struct linear *lin, const struct pelican_expr *e, int64_t coef);

static enum outcome add_index(struct simplifier *s, struct linear *lin, const struct pelican_expr *index, int64_t coef)
{
    struct pelican_term term = { index, coef };
    return bir_vec_push(&s->scratch, &lin->indices, term) ? DONE : FAILED;
}

static enum outcome add_node(struct simplifier *s, struct linear *lin, const struct pelican_expr *node, int64_t coef)
{
    struct pelican_term term = { node, coef };
    return bir_vec_push(&s->scratch, &lin->nodes, term) ? DONE : FAILED;
}

static enum outcome add_affine(struct simplifier *s, struct linear *lin, const struct pelican_expr *e, int64_t coef)
{
    int64_t v;
    if (__builtin_mul_overflow(e->u.affine.c, coef, &v) || __builtin_add_overflow(lin->c, v, &lin->c))
        return OVERFLOWED;
    for (uint32_t i = 0; i < e->u.affine.n_terms; i++) {
        if (__builtin_mul_overflow(e->u.affine.terms[i].coef, coef, &v))
            return OVERFLOWED;
        enum outcome o = add_index(s, lin, e->u.affine.terms[i].index, v);
        if (o != DONE)
            return o;
    }
    return DONE;
}

/* lin += coef * e. Looks through one level of SUM and MULT, which is all that a normal form has. */
static enum outcome linear_add(struct simplifier *s, struct linear *lin, const struct pelican_expr *e, int64_t coef)
{
    int64_t scaled;
    if (pelican_kind_is_index((enum pelican_kind)e->kind))
        return add_index(s, lin, e, coef);
    switch ((enum pelican_kind)e->kind) {
    case PELICAN_AFFINE: return add_affine(s, lin, e, coef);
    case PELICAN_MULT:
        if (__builtin_mul_overflow(e->u.mult.scale, coef, &scaled))
            return OVERFLOWED;
        if (e->u.mult.operand->kind == PELICAN_AFFINE)
            return add_affine(s, lin, e->u.mult.operand, scaled);
        return add_node(s, lin, e->u.mult.operand, scaled);
    case PELICAN_SUM:
        for (uint32_t i = 0; i < e->u.sum.n_terms; i++) {
            const struct pelican_expr *term = e->u.sum.terms[i];
            enum outcome o = term->kind == PELICAN_SUM ? add_node(s, lin, term, coef) : linear_add(s, lin, term, coef);
            if (o != DONE)
                return o;
        }
        return DONE;
    default: return add_node(s, lin, e, coef);
    }
}

/* Axes by id first, then the other indices and nodes by creation. */
static int compare_terms(const void *a, const void *b)
{
    const struct pelican_expr *x = ((const struct pelican_term *)a)->index;
    const struct pelican_expr *y = ((const struct pelican_term *)b)->index;
    bool x_axis = x->kind == PELICAN_AFFINE_IV;
    bool y_axis = y->kind == PELICAN_AFFINE_IV;
    if (x_axis != y_axis)
        return x_axis ? -1 : 1;
    uint32_t p = x_axis ? x->u.axis->id : x->id;
    uint32_t q = y_axis ? y->u.axis->id : y->id;
    return (p > q) - (p < q);
}

/* Sorts, merges equal indices, drops zeros. False on overflow. */
static bool merge_terms(struct pelican_term *terms, uint32_t *count)
{
    uint32_t n = 0;
    if (*count > 1)
        qsort(terms, *count, sizeof *terms, compare_terms);
    for (uint32_t i = 0; i < *count;) {
        struct pelican_term term = terms[i++];
        for (; i < *count && terms[i].index == term.index; i++) {
            if (__builtin_add_overflow(term.coef, terms[i].coef, &term.coef))
                return false;
        }
        if (term.coef != 0)
            terms[n++] = term;
    }
    *count = n;
    return true;
}

static bool linear_tidy(struct linear *lin)
{
    return merge_terms(lin->indices.items, &lin->indices.count) && merge_terms(lin->nodes.items, &lin->nodes.count);
}

/* The normal form of a tidy combination of normal nodes. NULL on failure. */
static const struct pelican_expr *linear_build(struct simplifier *s, const struct linear *lin)
{
    const struct pelican_expr *affine = pelican_affine(s->ctx, lin->c, lin->indices.items, lin->indices.count);
    if (!affine || lin->nodes.count == 0)
        return affine;
    BIR_VEC(const struct pelican_expr *) operands = { 0 };
    bool zero = lin->c == 0 && lin->indices.count == 0;
    if (!zero && !bir_vec_push(&s->scratch, &operands, affine))
        return NULL;
    for (uint32_t i = 0; i < lin->nodes.count; i++) {
        const struct pelican_expr *node = lin->nodes.items[i].index;
        if (lin->nodes.items[i].coef != 1)
            node = pelican_mult(s->ctx, node, lin->nodes.items[i].coef);
        if (!node || !bir_vec_push(&s->scratch, &operands, node))
            return NULL;
    }
    return operands.count == 1 ? operands.items[0] : pelican_sum(s->ctx, operands.items, operands.count);
}

/* The combination equal to e, tidy. */
static enum outcome linear_of(struct simplifier *s, struct linear *lin, const struct pelican_expr *e)
{
    *lin = (struct linear){ 0 };
    enum outcome o = linear_add(s, lin, e, 1);
    return o == DONE && !linear_tidy(lin) ? OVERFLOWED : o;
}

/* What a rule of sums and products returns: an overflow fails. */
static const struct pelican_expr *finish(struct simplifier *s, struct linear *lin, enum outcome o)
{
    if (o == DONE && !linear_tidy(lin))
        o = OVERFLOWED;
    if (o == DONE)
        return linear_build(s, lin);
    s->ctx->overflow = o == OVERFLOWED;
    return NULL;
}

/* What a folding rule returns: an overflow leaves e as it is. */
static const struct pelican_expr *finish_or_keep(struct simplifier *s, struct linear *lin, enum outcome o,
                                                 const struct pelican_expr *e)
{
    if (o == DONE && !linear_tidy(lin))
        o = OVERFLOWED;
    return o == OVERFLOWED ? e : finish(s, lin, o);
}

/* --- rules --- */

/* A bare index is 1 * index + 0. */
static const struct pelican_expr *rule_index(struct simplifier *s, const struct pelican_expr *e)
{
    struct pelican_term term = { e, 1 };
    return pelican_affine(s->ctx, 0, &term, 1);
}

static bool affine_is_normal(const struct pelican_expr *e)
{
    for (uint32_t i = 0; i < e->u.affine.n_terms; i++) {
        const struct pelican_term *term = &e->u.affine.terms[i];
        if (term->coef == 0 || (i > 0 && compare_terms(term - 1, term) >= 0))
            return false;
    }
    return true;
}

/* Zero terms go, indices take their order. */
static const struct pelican_expr *rule_affine(struct simplifier *s, const struct pelican_expr *e)
{
    if (affine_is_normal(e))
        return e;
    struct linear lin = { 0 };
    return finish(s, &lin, linear_add(s, &lin, e, 1));
}

/* Constants fold, affine operands merge by index, nested sums flatten, equal operands collect. */
static const struct pelican_expr *rule_sum(struct simplifier *s, const struct pelican_expr *e)
{
    struct linear lin = { 0 };
    enum outcome o = DONE;
    for (uint32_t i = 0; i < e->u.sum.n_terms && o == DONE; i++)
        o = linear_add(s, &lin, e->u.sum.terms[i], 1);
    return finish(s, &lin, o);
}

/* A factor moves into affine nodes, sums and other products; 0 and 1 vanish. */
static const struct pelican_expr *rule_mult(struct simplifier *s, const struct pelican_expr *e)
{
    struct linear lin = { 0 };
    if (e->u.mult.scale == 0)
        return pelican_constant(s->ctx, 0);
    return finish(s, &lin, linear_add(s, &lin, e->u.mult.operand, e->u.mult.scale));
}

static const struct pelican_expr *rule_div_by_one(struct simplifier *s, const struct pelican_expr *e)
{
    (void)s;
    return e->u.div.denom == 1 ? e->u.div.numer : e;
}

static const struct pelican_expr *rule_mod_by_one(struct simplifier *s, const struct pelican_expr *e)
{
    return e->u.div.denom == 1 ? pelican_constant(s->ctx, 0) : e;
}

/* The quotient that the whole range of the numerator shares; false when there is none. */
static bool common_quotient(struct simplifier *s, const struct pelican_expr *e, int64_t *q)
{
    struct pelican_range r = pelican_range_with(&s->ranges, e->u.div.numer);
    *q = r.known ? pelican_floor_div_i64(r.inf, e->u.div.denom) : 0;
    return r.known && *q == pelican_floor_div_i64(r.sup, e->u.div.denom);
}

/* inf and sup in one period of d: the quotient is constant (also the (x mod m) floordiv d of m <= d). */
static const struct pelican_expr *rule_div_range(struct simplifier *s, const struct pelican_expr *e)
{
    int64_t q;
    return common_quotient(s, e, &q) ? pelican_constant(s->ctx, q) : e;
}

/* inf and sup in one period of d: the remainder is the numerator, moved (also the (x mod m) mod n of n >= m). */
static const struct pelican_expr *rule_mod_range(struct simplifier *s, const struct pelican_expr *e)
{
    int64_t q, shift;
    if (!common_quotient(s, e, &q) || __builtin_mul_overflow(q, e->u.div.denom, &shift) || shift == INT64_MIN)
        return e;
    struct linear lin = { .c = -shift };
    return finish_or_keep(s, &lin, linear_add(s, &lin, e->u.div.numer, 1), e);
}

/* (x floordiv a) floordiv b = x floordiv (a * b). */
static const struct pelican_expr *rule_div_of_div(struct simplifier *s, const struct pelican_expr *e)
{
    const struct pelican_expr *inner = e->u.div.numer;
    int64_t denom;
    if (inner->kind != PELICAN_FLOOR_DIV || __builtin_mul_overflow(inner->u.div.denom, e->u.div.denom, &denom))
        return e;
    return pelican_floor_div(s->ctx, inner->u.div.numer, denom);
}

/* Moves every term that d divides, and the whole multiples of d in the constant, from `from` to `quotient`. */
static enum outcome extract_multiples(struct simplifier *s, struct linear *from, int64_t d, struct linear *quotient)
{
    enum outcome o = DONE;
    uint32_t kept = 0;
    quotient->c = pelican_floor_div_i64(from->c, d);
    from->c = pelican_mod_i64(from->c, d);
    for (uint32_t i = 0; i < from->indices.count && o == DONE; i++) {
        struct pelican_term term = from->indices.items[i];
        if (term.coef % d == 0)
            o = add_index(s, quotient, term.index, term.coef / d);
        else
            from->indices.items[kept++] = term;
    }
    from->indices.count = kept;
    kept = 0;
    for (uint32_t i = 0; i < from->nodes.count && o == DONE; i++) {
        struct pelican_term term = from->nodes.items[i];
        if (term.coef % d == 0)
            o = add_node(s, quotient, term.index, term.coef / d);
        else
            from->nodes.items[kept++] = term;
    }
    from->nodes.count = kept;
    return o;
}

/* (d * y + z) floordiv d = y + z floordiv d; with nothing left in z the division is gone. */
static const struct pelican_expr *rule_div_extract(struct simplifier *s, const struct pelican_expr *e)
{
    struct linear rest, quotient = { 0 };
    int64_t d = e->u.div.denom;
    enum outcome o = linear_of(s, &rest, e->u.div.numer);
    if (o == DONE)
        o = extract_multiples(s, &rest, d, &quotient);
    if (o != DONE)
        return finish_or_keep(s, &quotient, o, e);
    if (quotient.c == 0 && quotient.indices.count == 0 && quotient.nodes.count == 0)
        return e;
    const struct pelican_expr *numer = linear_build(s, &rest);
    const struct pelican_expr *division = numer ? pelican_floor_div(s->ctx, numer, d) : NULL;
    return finish_or_keep(s, &quotient, division ? add_node(s, &quotient, division, 1) : FAILED, e);
}

/* (c + sum a x) mod n: c and every a become their remainders; inner (y mod m) with n | m becomes y. */
static const struct pelican_expr *rule_mod_reduce(struct simplifier *s, const struct pelican_expr *e)
{
    struct linear from, reduced = { 0 };
    int64_t n = e->u.div.denom;
    enum outcome o = linear_of(s, &from, e->u.div.numer);
    if (o != DONE)
        return finish_or_keep(s, &reduced, o, e);
    reduced.c = pelican_mod_i64(from.c, n);
    for (uint32_t i = 0; i < from.indices.count && o == DONE; i++)
        o = add_index(s, &reduced, from.indices.items[i].index, pelican_mod_i64(from.indices.items[i].coef, n));
    for (uint32_t i = 0; i < from.nodes.count && o == DONE; i++) {
        const struct pelican_expr *node = from.nodes.items[i].index;
        if (node->kind == PELICAN_MODULO && node->u.div.denom % n == 0)
            node = node->u.div.numer;
        o = linear_add(s, &reduced, node, pelican_mod_i64(from.nodes.items[i].coef, n));
    }
    if (o == OVERFLOWED || (o == DONE && !linear_tidy(&reduced)))
        return e;
    const struct pelican_expr *numer = o == DONE ? linear_build(s, &reduced) : NULL;
    return numer ? pelican_modulo(s->ctx, numer, n) : NULL;
}

/* In order within a kind; lowering.md 6.4. The range rules stand first: reducing a coefficient may widen a range. */
static const struct {
    enum pelican_kind kind;
    rule_fn *apply;
} rules[] = {
    { PELICAN_AFFINE_IV, rule_index },
    { PELICAN_RUNTIME_VALUE, rule_index },
    { PELICAN_SHARD_ID, rule_index },
    { PELICAN_AFFINE, rule_affine },
    { PELICAN_SUM, rule_sum },
    { PELICAN_MULT, rule_mult },
    { PELICAN_FLOOR_DIV, rule_div_by_one },
    { PELICAN_FLOOR_DIV, rule_div_range },
    { PELICAN_FLOOR_DIV, rule_div_extract },
    { PELICAN_FLOOR_DIV, rule_div_of_div },
    { PELICAN_MODULO, rule_mod_by_one },
    { PELICAN_MODULO, rule_mod_range },
    { PELICAN_MODULO, rule_mod_reduce },
};

/* --- driver --- */

static const struct pelican_expr *simplify_sum_operands(struct simplifier *s, const struct pelican_expr *e)
{
    const struct pelican_expr **operands =
        bir_arena_alloc_array(&s->scratch, BIR_MEM_TABLES, e->u.sum.n_terms, sizeof *operands);
    if (!operands)
        return NULL;
    for (uint32_t i = 0; i < e->u.sum.n_terms; i++) {
        operands[i] = simplify(s, e->u.sum.terms[i]);
        if (!operands[i])
            return NULL;
    }
    return pelican_sum(s->ctx, operands, e->u.sum.n_terms);
}

/* e over the normal forms of its children. */
static const struct pelican_expr *simplify_children(struct simplifier *s, const struct pelican_expr *e)
{
    const struct pelican_expr *child;
    switch ((enum pelican_kind)e->kind) {
    case PELICAN_SUM: return simplify_sum_operands(s, e);
    case PELICAN_MULT:
        child = simplify(s, e->u.mult.operand);
        return child ? pelican_mult(s->ctx, child, e->u.mult.scale) : NULL;
    case PELICAN_FLOOR_DIV:
        child = simplify(s, e->u.div.numer);
        return child ? pelican_floor_div(s->ctx, child, e->u.div.denom) : NULL;
    case PELICAN_MODULO:
        child = simplify(s, e->u.div.numer);
        return child ? pelican_modulo(s->ctx, child, e->u.div.denom) : NULL;
    case PELICAN_CC_DIV:
        child = simplify(s, e->u.div.numer);
        return child ? pelican_cc_div(s->ctx, child, e->u.div.denom, e->u.div.replica_groups_id) : NULL;
    default: return e;
    }
}

/* The first rule that changes e decides; e itself when none does. */
static const struct pelican_expr *apply_rules(struct simplifier *s, const struct pelican_expr *e)
{
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        if ((enum pelican_kind)e->kind != rules[i].kind)
            continue;
        const struct pelican_expr *next = rules[i].apply(s, e);
        if (next != e)
            return next;
    }
    return e;
}

static const struct pelican_expr *simplify_new(struct simplifier *s, const struct pelican_expr *e)
{
    const struct pelican_expr *rebuilt = simplify_children(s, e);
    if (!rebuilt)
        return NULL;
    const struct pelican_expr *next = apply_rules(s, rebuilt);
    return !next || next == rebuilt ? next : simplify(s, next);
}

static const struct pelican_expr *simplify(struct simplifier *s, const struct pelican_expr *e)
{
    if (e->kind == PELICAN_AFFINE && affine_is_normal(e))
        return e;
    const struct pelican_expr *result = bir_map_get(&s->done, e);
    if (result)
        return result;
    if (s->depth >= PELICAN_MAX_DEPTH)
        return e;
    s->depth++;
    result = simplify_new(s, e);
    s->depth--;
    if (!result || !bir_map_put(&s->done, &s->scratch, e, (void *)(uintptr_t)result))
        return NULL;
    return result;
}

const struct pelican_expr *pelican_simplify(struct pelican_context *ctx, const struct pelican_expr *e)
{
    ctx->overflow = false;
    if (e->kind == PELICAN_AFFINE && affine_is_normal(e))
        return e;
    struct simplifier s = { .ctx = ctx };
    bir_arena_init_scratch(&s.scratch, 0);
    pelican_memo_init(&s.ranges);
    const struct pelican_expr *result = simplify(&s, e);
    bir_arena_deinit(&s.scratch);
    pelican_memo_deinit(&s.ranges);
    return result;
}
