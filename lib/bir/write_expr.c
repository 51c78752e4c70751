/* Expressions in version 2, keys in byte order (bir-json.md 9.1). A shared node is written wherever it occurs. */
#include "bir/write.h"

static void write_affine(struct bir_json_writer *w, const struct pelican_expr *e)
{
    WRITE_KEY(w, "c");
    bir_json_put_i64(w, e->u.affine.c);
    WRITE_KEY(w, "kind");
    WRITE_NAME(w, "AffExprKind");
    WRITE_KEY(w, "terms");
    bir_json_put_array_begin(w);
    for (uint32_t i = 0; i < e->u.affine.n_terms; i++) {
        bir_json_put_object_begin(w);
        WRITE_KEY(w, "coeff");
        bir_json_put_i64(w, e->u.affine.terms[i].coef);
        WRITE_KEY(w, "idx");
        bir_write_expr(w, e->u.affine.terms[i].index);
        bir_json_put_object_end(w);
    }
    bir_json_put_array_end(w);
}

static void write_sum(struct bir_json_writer *w, const struct pelican_expr *e)
{
    WRITE_KEY(w, "kind");
    WRITE_NAME(w, "SumKind");
    WRITE_KEY(w, "n_terms");
    bir_json_put_u64(w, e->u.sum.n_terms);
    WRITE_KEY(w, "terms");
    bir_json_put_array_begin(w);
    for (uint32_t i = 0; i < e->u.sum.n_terms; i++)
        bir_write_expr(w, e->u.sum.terms[i]);
    bir_json_put_array_end(w);
}

static void write_mult(struct bir_json_writer *w, const struct pelican_expr *e)
{
    WRITE_KEY(w, "kind");
    WRITE_NAME(w, "MultKind");
    WRITE_KEY(w, "scale");
    bir_json_put_i64(w, e->u.mult.scale);
    WRITE_KEY(w, "var");
    bir_write_expr(w, e->u.mult.operand);
}

static void write_div(struct bir_json_writer *w, const struct pelican_expr *e)
{
    WRITE_KEY(w, "denom");
    bir_json_put_i64(w, e->u.div.denom);
    WRITE_KEY(w, "kind");
    write_name(w, e->kind == PELICAN_FLOOR_DIV ? "FloorDivKind"
                  : e->kind == PELICAN_MODULO  ? "ModuloKind"
                                               : "CCDivKind");
    WRITE_KEY(w, "numer");
    bir_write_expr(w, e->u.div.numer);
    if (e->kind != PELICAN_CC_DIV)
        return;
    WRITE_KEY(w, "replica_groups_id");
    bir_json_put_u64(w, e->u.div.replica_groups_id);
}

static void write_rank(struct bir_json_writer *w, const struct pelican_expr *e)
{
    WRITE_KEY(w, "channel_id");
    bir_json_put_i64(w, e->u.rank.channel_id);
    WRITE_KEY(w, "iteration_id");
    bir_json_put_i64(w, e->u.rank.iteration_id);
    WRITE_KEY(w, "kind");
    WRITE_NAME(w, "CCGetRankKind");
}

static void write_members(struct bir_json_writer *w, const struct pelican_expr *e)
{
    switch ((enum pelican_kind)e->kind) {
    case PELICAN_AFFINE: write_affine(w, e); break;
    case PELICAN_SUM: write_sum(w, e); break;
    case PELICAN_MULT: write_mult(w, e); break;
    case PELICAN_FLOOR_DIV:
    case PELICAN_MODULO:
    case PELICAN_CC_DIV: write_div(w, e); break;
    case PELICAN_CC_GET_RANK: write_rank(w, e); break;
    case PELICAN_AFFINE_IV:
        WRITE_KEY(w, "axis");
        write_str(w, e->u.axis->name);
        WRITE_KEY(w, "kind");
        WRITE_NAME(w, "AffIVKind");
        break;
    case PELICAN_RUNTIME_VALUE:
        WRITE_KEY(w, "kind");
        WRITE_NAME(w, "IntRuntimeValueKind");
        WRITE_KEY(w, "regref");
        write_str(w, ((const struct bir_storage *)(const void *)e->u.reg)->name);
        break;
    case PELICAN_SHARD_ID:
        WRITE_KEY(w, "kind");
        WRITE_NAME(w, "ShardIDKind");
        WRITE_KEY(w, "ub");
        bir_json_put_i64(w, e->u.shard_count);
        break;
    case PELICAN_INDIRECT_ARG:
        WRITE_KEY(w, "arg_id");
        bir_json_put_i64(w, e->u.arg_id);
        WRITE_KEY(w, "kind");
        WRITE_NAME(w, "IndirectArgId");
        break;
    }
}

void bir_write_expr(struct bir_json_writer *w, const struct pelican_expr *expr)
{
    bir_json_put_object_begin(w);
    if (w->buf->status == BIR_OK) /* too deep: stop here */
        write_members(w, expr);
    bir_json_put_object_end(w);
}
