/* Rewriting bottom-up with a table of finished nodes. An unchanged subtree is the same pointer afterwards, because
 * nodes are hash-consed. */
#include "passes/rewrite_expr.h"

#define DEPTH_MAX 2048

struct rewriter {
    struct pelican_context *ctx;
    bir_leaf_fn *fn;
    void *user;
    struct bir_arena scratch;
    struct bir_map done;
    uint32_t depth;
};

static const struct pelican_expr *rewrite(struct rewriter *r, const struct pelican_expr *e);

static const struct pelican_expr *rewrite_affine(struct rewriter *r, const struct pelican_expr *e)
{
    uint32_t n = e->u.affine.n_terms;
    struct pelican_term *terms = bir_arena_alloc_array(&r->scratch, BIR_MEM_TABLES, n, sizeof *terms);
    if (!terms)
        return NULL;
    for (uint32_t i = 0; i < n; i++) {
        terms[i] = (struct pelican_term){ rewrite(r, e->u.affine.terms[i].index), e->u.affine.terms[i].coef };
        if (!terms[i].index)
            return NULL;
    }
    return pelican_affine(r->ctx, e->u.affine.c, terms, n);
}

static const struct pelican_expr *rewrite_sum(struct rewriter *r, const struct pelican_expr *e)
{
    uint32_t n = e->u.sum.n_terms;
    const struct pelican_expr **terms = bir_arena_alloc_array(&r->scratch, BIR_MEM_TABLES, n, sizeof *terms);
    if (!terms)
        return NULL;
    for (uint32_t i = 0; i < n; i++) {
        terms[i] = rewrite(r, e->u.sum.terms[i]);
        if (!terms[i])
            return NULL;
    }
    return pelican_sum(r->ctx, terms, n);
}

static const struct pelican_expr *rewrite_node(struct rewriter *r, const struct pelican_expr *e)
{
    const struct pelican_expr *child;
    switch ((enum pelican_kind)e->kind) {
    case PELICAN_AFFINE: return rewrite_affine(r, e);
    case PELICAN_SUM: return rewrite_sum(r, e);
    case PELICAN_MULT:
        child = rewrite(r, e->u.mult.operand);
        return child ? pelican_mult(r->ctx, child, e->u.mult.scale) : NULL;
    case PELICAN_FLOOR_DIV:
        child = rewrite(r, e->u.div.numer);
        return child ? pelican_floor_div(r->ctx, child, e->u.div.denom) : NULL;
    case PELICAN_MODULO:
        child = rewrite(r, e->u.div.numer);
        return child ? pelican_modulo(r->ctx, child, e->u.div.denom) : NULL;
    case PELICAN_CC_DIV:
        child = rewrite(r, e->u.div.numer);
        return child ? pelican_cc_div(r->ctx, child, e->u.div.denom, e->u.div.replica_groups_id) : NULL;
    default: return r->fn(r->user, r->ctx, e);
    }
}

static const struct pelican_expr *rewrite(struct rewriter *r, const struct pelican_expr *e)
{
    const struct pelican_expr *result = bir_map_get(&r->done, e);
    if (result || r->depth >= DEPTH_MAX)
        return result;
    r->depth++;
    result = rewrite_node(r, e);
    r->depth--;
    if (!result || !bir_map_put(&r->done, &r->scratch, e, (void *)(uintptr_t)result))
        return NULL;
    return result;
}

const struct pelican_expr *bir_expr_rewrite(struct pelican_context *ctx, const struct pelican_expr *e, bir_leaf_fn *fn,
                                            void *user)
{
    struct rewriter r = { .ctx = ctx, .fn = fn, .user = user };
    bir_arena_init_scratch(&r.scratch, 0);
    const struct pelican_expr *result = rewrite(&r, e);
    bir_arena_deinit(&r.scratch);
    return result;
}

bool bir_dynamic_rewrite(struct bir_module *module, struct bir_argument *arg, bir_leaf_fn *fn, void *user)
{
    const struct bir_dynamic_info *old = bir_argument_dynamic(arg);
    struct bir_dynamic_term *terms =
        bir_arena_alloc_array(&module->arena, BIR_MEM_ARGUMENTS, old->n_terms, sizeof *terms);
    struct bir_dynamic_info *info = BIR_NEW(&module->arena, BIR_MEM_ARGUMENTS, struct bir_dynamic_info);
    if (!terms || !info)
        return false;
    for (uint32_t i = 0; i < old->n_terms; i++) {
        terms[i] = old->terms[i];
        terms[i].expr = bir_expr_rewrite(&module->expressions, old->terms[i].expr, fn, user);
        if (!terms[i].expr)
            return false;
    }
    *info = *old;
    info->terms = terms;
    struct bir_argument_rare *rare = bir_argument_need_rare(module, arg);
    if (rare)
        rare->dynamic = info;
    return rare != NULL;
}
