/* Expressions in version 2, keys in byte order (bir-json.md 9.1). A shared node is written wherever it occurs. What the
 * extra of a node points to are property lists: further members of its object and of its term's. */
#include "bir/write.h"

static void write_affine(struct bir_json_writer *w, struct prop_cursor *props, const struct pelican_expr *e)
{
    WRITE_FIELD(w, props, "c");
    bir_json_put_i64(w, e->u.affine.c);
    WRITE_FIELD(w, props, "kind");
    WRITE_NAME(w, "AffExprKind");
    WRITE_FIELD(w, props, "terms");
    bir_json_put_array_begin(w);
    for (uint32_t i = 0; i < e->u.affine.n_terms; i++) {
        const struct pelican_expr *index = e->u.affine.terms[i].index;
        struct prop_cursor rest = write_cursor(pelican_extra_of(index).term);
        bir_json_put_object_begin(w);
        WRITE_FIELD(w, &rest, "coeff");
        bir_json_put_i64(w, e->u.affine.terms[i].coef);
        WRITE_FIELD(w, &rest, "idx");
        bir_write_expr(w, index);
        write_rest(w, &rest);
        bir_json_put_object_end(w);
    }
    bir_json_put_array_end(w);
}

static void write_sum(struct bir_json_writer *w, struct prop_cursor *props, const struct pelican_expr *e)
{
    WRITE_FIELD(w, props, "kind");
    WRITE_NAME(w, "SumKind");
    WRITE_FIELD(w, props, "n_terms");
    bir_json_put_u64(w, e->u.sum.n_terms);
    WRITE_FIELD(w, props, "terms");
    bir_json_put_array_begin(w);
    for (uint32_t i = 0; i < e->u.sum.n_terms; i++)
        bir_write_expr(w, e->u.sum.terms[i]);
    bir_json_put_array_end(w);
}

static void write_mult(struct bir_json_writer *w, struct prop_cursor *props, const struct pelican_expr *e)
{
    WRITE_FIELD(w, props, "kind");
    WRITE_NAME(w, "MultKind");
    WRITE_FIELD(w, props, "scale");
    bir_json_put_i64(w, e->u.mult.scale);
    WRITE_FIELD(w, props, "var");
    bir_write_expr(w, e->u.mult.operand);
}

static void write_div(struct bir_json_writer *w, struct prop_cursor *props, const struct pelican_expr *e)
{
    WRITE_FIELD(w, props, "denom");
    bir_json_put_i64(w, e->u.div.denom);
    WRITE_FIELD(w, props, "kind");
    write_name(w, e->kind == PELICAN_FLOOR_DIV ? "FloorDivKind"
                  : e->kind == PELICAN_MODULO  ? "ModuloKind"
                                               : "CCDivKind");
    WRITE_FIELD(w, props, "numer");
    bir_write_expr(w, e->u.div.numer);
    if (e->kind != PELICAN_CC_DIV)
        return;
    WRITE_FIELD(w, props, "replica_groups_id");
    bir_json_put_u64(w, e->u.div.replica_groups_id);
}

static void write_rank(struct bir_json_writer *w, struct prop_cursor *props, const struct pelican_expr *e)
{
    WRITE_FIELD(w, props, "channel_id");
    bir_json_put_i64(w, e->u.rank.channel_id);
    WRITE_FIELD(w, props, "iteration_id");
    bir_json_put_i64(w, e->u.rank.iteration_id);
    WRITE_FIELD(w, props, "kind");
    WRITE_NAME(w, "CCGetRankKind");
}

static void write_members(struct bir_json_writer *w, struct prop_cursor *props, const struct pelican_expr *e)
{
    switch ((enum pelican_kind)e->kind) {
    case PELICAN_AFFINE: write_affine(w, props, e); break;
    case PELICAN_SUM: write_sum(w, props, e); break;
    case PELICAN_MULT: write_mult(w, props, e); break;
    case PELICAN_FLOOR_DIV:
    case PELICAN_MODULO:
    case PELICAN_CC_DIV: write_div(w, props, e); break;
    case PELICAN_CC_GET_RANK: write_rank(w, props, e); break;
    case PELICAN_AFFINE_IV:
        WRITE_FIELD(w, props, "axis");
        write_str(w, e->u.axis->name);
        WRITE_FIELD(w, props, "kind");
        WRITE_NAME(w, "AffIVKind");
        break;
    case PELICAN_RUNTIME_VALUE:
        WRITE_FIELD(w, props, "kind");
        WRITE_NAME(w, "IntRuntimeValueKind");
        WRITE_FIELD(w, props, "regref");
        write_str(w, ((const struct bir_storage *)(const void *)e->u.reg)->name);
        break;
    case PELICAN_SHARD_ID:
        WRITE_FIELD(w, props, "kind");
        WRITE_NAME(w, "ShardIDKind");
        WRITE_FIELD(w, props, "ub");
        bir_json_put_i64(w, e->u.shard_count);
        break;
    case PELICAN_INDIRECT_ARG:
        WRITE_FIELD(w, props, "arg_id");
        bir_json_put_i64(w, e->u.arg_id);
        WRITE_FIELD(w, props, "kind");
        WRITE_NAME(w, "IndirectArgId");
        break;
    }
}

void bir_write_expr(struct bir_json_writer *w, const struct pelican_expr *expr)
{
    struct prop_cursor props = write_cursor(pelican_extra_of(expr).node);
    bir_json_put_object_begin(w);
    if (w->buf->status == BIR_OK) /* too deep: stop here */
        write_members(w, &props, expr);
    write_rest(w, &props);
    bir_json_put_object_end(w);
}
