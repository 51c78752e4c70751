/*
 * Affine expressions, both spellings (bir-json.md section 9), read in one pass whatever the order of keys.
 *
 * An object under "terms" may be a term of version 2 ({idx, coeff}), a term of version 1 ({AxisLabel, coef}) or an
 * expression, and which one is right depends on a "kind" that may follow. So every object is read into the same field
 * record and turned into a node whose form says what it was; the parent then accepts or refuses the form. Nodes of open
 * "terms" arrays stand on the context's stack.
 *
 * The version key usually comes last in a document. The reader notes where it met the first expression of each
 * spelling, and read_module.c compares with the version at the end.
 *
 * Unknown keys become properties, the extra of the node. A known key that the object's kind does not have was read into
 * the field record like any other; that happens so rarely that the object is simply gone through again for them. What a
 * term has of these goes to its index.
 *
 * Recursion is bounded by the JSON depth limit.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/json_writer.h"
#include "bir/read.h"
#include "bir/write.h"

/* All kinds of version 2 and the keys they need; index kinds may be the index of a term. */
enum expr_kind {
    KIND_AFFINE,
    KIND_SUM,
    KIND_MULT,
    KIND_FLOOR_DIV,
    KIND_MODULO,
    KIND_CC_DIV,
    KIND_CC_MOD,
    KIND_AFFINE_IV,
    KIND_RUNTIME,
    KIND_SHARD,
    KIND_INDIRECT,
    KIND_RANK,
    KIND_COUNT
};

#define KEY_BIT(key, word)         ((key) / 64 == (word) ? UINT64_C(1) << (key) % 64 : 0)
#define KEY_BITS(a, b, c, d, word) (KEY_BIT(a, word) | KEY_BIT(b, word) | KEY_BIT(c, word) | KEY_BIT(d, word))
#define KEY_SET(a, b, c, d)                                                                                            \
    {                                                                                                                  \
        {                                                                                                              \
            KEY_BITS(a, b, c, d, 0), KEY_BITS(a, b, c, d, 1)                                                           \
        }                                                                                                              \
    }

static const struct {
    const char *name;
    enum read_key required[3]; /* READ_OTHER = no more */
    struct key_set own;        /* these and the kind */
} kinds[KIND_COUNT] = {
#define KIND_ROW(name, a, b, c)                                                                                        \
    {                                                                                                                  \
        name, { a, b, c }, KEY_SET(READ_KIND, a, b, c)                                                                 \
    }
    [KIND_AFFINE] = KIND_ROW("AffExprKind", READ_TERMS, READ_C, READ_OTHER),
    [KIND_SUM] = KIND_ROW("SumKind", READ_TERMS, READ_N_TERMS, READ_OTHER),
    [KIND_MULT] = KIND_ROW("MultKind", READ_VAR, READ_SCALE, READ_OTHER),
    [KIND_FLOOR_DIV] = KIND_ROW("FloorDivKind", READ_NUMER, READ_DENOM, READ_OTHER),
    [KIND_MODULO] = KIND_ROW("ModuloKind", READ_NUMER, READ_DENOM, READ_OTHER),
    [KIND_CC_DIV] = KIND_ROW("CCDivKind", READ_NUMER, READ_DENOM, READ_REPLICA_GROUPS_ID),
    [KIND_CC_MOD] = KIND_ROW("CCModKind", READ_NUMER, READ_DENOM, READ_OTHER),
    [KIND_AFFINE_IV] = KIND_ROW("AffIVKind", READ_AXIS, READ_OTHER, READ_OTHER),
    [KIND_RUNTIME] = KIND_ROW("IntRuntimeValueKind", READ_REGREF, READ_OTHER, READ_OTHER),
    [KIND_SHARD] = KIND_ROW("ShardIDKind", READ_UB, READ_OTHER, READ_OTHER),
    [KIND_INDIRECT] = KIND_ROW("IndirectArgId", READ_ARG_ID, READ_OTHER, READ_OTHER),
    [KIND_RANK] = KIND_ROW("CCGetRankKind", READ_ITERATION_ID, READ_CHANNEL_ID, READ_OTHER),
#undef KIND_ROW
};

/* What else an object may be: a term, a term of version 1, an expression of version 1. */
static const struct key_set own_of_term = KEY_SET(READ_IDX, READ_COEFF, READ_OTHER, READ_OTHER);
static const struct key_set own_of_v1_term = KEY_SET(READ_AXIS_LABEL, READ_COEF, READ_OTHER, READ_OTHER);
static const struct key_set own_of_v1 = KEY_SET(READ_TERMS, READ_C, READ_OP, READ_OP_PARAM);

struct expr_fields {
    struct key_set seen;
    struct bir_slice kind, op;
    int64_t c, coeff, coef, scale, denom, n_terms, replica_groups_id, arg_id, ub, iteration_id, channel_id, op_param;
    const struct pelican_expr *idx, *var, *numer;
    const struct bir_str *axis, *label, *regref;
    uint32_t first_node, node_count;
    struct read_mark object;
    const struct key_set *own; /* keys of what it turned out to be */
    uint32_t object_offset, kind_offset, op_offset, op_param_offset, denom_offset, arg_id_offset, n_terms_offset,
        name_offset, idx_offset;
    enum expr_rule rule;
};

static enum bir_status read_node(struct read_context *ctx, enum expr_rule rule, struct read_node *node);

/* Names */

struct pelican_axis *read_find_axis(const struct read_context *ctx, const struct bir_str *name)
{
    for (const struct axis_frame *frame = ctx->axes; frame; frame = frame->outer)
        if (frame->axis->name == name)
            return frame->axis;
    return NULL;
}

static enum bir_status fail_axis(struct read_context *ctx, uint32_t offset, const struct bir_str *name)
{
    char scope[200] = "";
    size_t used = 0;
    for (const struct axis_frame *frame = ctx->axes; frame && used < sizeof scope - 1; frame = frame->outer)
        used +=
            (size_t)snprintf(scope + used, sizeof scope - used, "%s%.40s", used ? ", " : "", frame->axis->name->text);
    return read_fail(ctx, "bir-axis-scope", "BIR227", offset, "name an axis of an enclosing loop",
                     "axis \"%.60s\" is not of an enclosing loop; axes in scope: %s", name->text,
                     ctx->axes ? scope : "none");
}

/* Fields */

static enum bir_status read_terms(struct read_context *ctx, struct expr_fields *f)
{
    f->first_node = ctx->nodes.count;
    BIR_TRY(bir_json_array_begin(&ctx->json));
    while (bir_json_array_next(&ctx->json)) {
        struct read_node node;
        BIR_TRY(read_node(ctx, f->rule, &node));
        if (!bir_vec_push(ctx->scratch, &ctx->nodes, node))
            return read_fail_memory(ctx);
    }
    f->node_count = ctx->nodes.count - f->first_node;
    return ctx->json.status;
}

static enum bir_status read_child(struct read_context *ctx, struct expr_fields *f, const struct pelican_expr **out)
{
    struct read_node node;
    BIR_TRY(read_node(ctx, f->rule, &node));
    if (node.form != NODE_EXPR)
        return read_fail(ctx, "bir-unknown-kind", NULL, node.offset, "give it a kind",
                         "a term stands where an expression must");
    *out = node.expr;
    return BIR_OK;
}

static enum bir_status read_int_at(struct read_context *ctx, int64_t *value, uint32_t *offset)
{
    *offset = read_offset(ctx);
    return bir_json_i64(&ctx->json, value);
}

static enum bir_status read_field(struct read_context *ctx, struct expr_fields *f, enum read_key key,
                                  struct bir_slice text)
{
    struct bir_json_reader *r = &ctx->json;
    switch (key) {
    case READ_KIND: f->kind_offset = read_offset(ctx); return bir_json_string(r, &f->kind);
    case READ_TERMS: return read_terms(ctx, f);
    case READ_C: return bir_json_i64(r, &f->c);
    case READ_COEFF: return bir_json_i64(r, &f->coeff);
    case READ_COEF: return bir_json_i64(r, &f->coef);
    case READ_SCALE: return bir_json_i64(r, &f->scale);
    case READ_DENOM: return read_int_at(ctx, &f->denom, &f->denom_offset);
    case READ_N_TERMS:
        f->n_terms_offset = read_offset(ctx);
        return bir_json_i64_in(r, "n_terms", 0, INT64_MAX, &f->n_terms);
    case READ_REPLICA_GROUPS_ID: return bir_json_i64_in(r, "replica_groups_id", 0, INT64_MAX, &f->replica_groups_id);
    case READ_ARG_ID: return read_int_at(ctx, &f->arg_id, &f->arg_id_offset);
    case READ_UB: return bir_json_i64(r, &f->ub);
    case READ_ITERATION_ID: return bir_json_i64_in(r, "iteration_id", 0, INT64_MAX, &f->iteration_id);
    case READ_CHANNEL_ID: return bir_json_i64_in(r, "channel_id", 0, INT64_MAX, &f->channel_id);
    case READ_IDX: f->idx_offset = read_offset(ctx); return read_child(ctx, f, &f->idx);
    case READ_VAR: return read_child(ctx, f, &f->var);
    case READ_NUMER: return read_child(ctx, f, &f->numer);
    case READ_AXIS: f->name_offset = read_offset(ctx); return read_text(ctx, &f->axis);
    case READ_AXIS_LABEL: f->name_offset = read_offset(ctx); return read_text(ctx, &f->label);
    case READ_REGREF: f->name_offset = read_offset(ctx); return read_text(ctx, &f->regref);
    case READ_OP: f->op_offset = read_offset(ctx); return bir_json_string(r, &f->op);
    case READ_OP_PARAM: return read_int_at(ctx, &f->op_param, &f->op_param_offset);
    default: return read_other(ctx, text, "an expression");
    }
}

/* Construction */

static enum bir_status made(struct read_context *ctx, const struct expr_fields *f, const struct pelican_expr *expr,
                            const struct pelican_expr **out)
{
    *out = expr;
    if (expr)
        return BIR_OK;
    if (ctx->module->expressions.overflow)
        return read_fail(ctx, "bir-range", NULL, f->object_offset, "use smaller coefficients",
                         "the merged coefficients of one index do not fit 64 bits");
    return read_fail_memory(ctx);
}

static enum bir_status check_denom(struct read_context *ctx, int64_t denom, uint32_t offset)
{
    if (denom > 0)
        return BIR_OK;
    return read_fail(ctx, "bir-range", NULL, offset, "denominators are positive",
                     "denominator is %" PRId64 ", the least allowed is 1", denom);
}

static enum bir_status axis_value(struct read_context *ctx, const struct expr_fields *f, const struct bir_str *name,
                                  const struct pelican_expr **out)
{
    struct pelican_axis *axis = read_find_axis(ctx, name);
    if (!axis)
        return fail_axis(ctx, f->name_offset, name);
    return made(ctx, f, pelican_affine_iv(&ctx->module->expressions, axis), out);
}

static enum bir_status runtime_value(struct read_context *ctx, const struct expr_fields *f,
                                     const struct pelican_expr **out)
{
    struct bir_register *reg;
    BIR_TRY(read_find_register(ctx, f->regref, f->name_offset, &reg));
    return made(ctx, f, pelican_runtime_value(&ctx->module->expressions, reg), out);
}

static enum bir_status indirect_arg(struct read_context *ctx, const struct expr_fields *f, int64_t id, uint32_t offset,
                                    const struct pelican_expr **out)
{
    if (id < 0)
        return read_fail(ctx, "bir-range", "BIR298", offset, "ids count from 1",
                         "indirection argument id is %" PRId64 ", the least allowed is 0", id);
    if ((uint64_t)id >= ctx->max_arg_id) {
        ctx->max_arg_id = (uint64_t)id;
        ctx->max_arg_id_offset = offset;
    }
    return made(ctx, f, pelican_indirect_arg(&ctx->module->expressions, id), out);
}

/* The nodes of f as terms of an affine node. form says which spelling they must have. */
static enum bir_status affine(struct read_context *ctx, const struct expr_fields *f, enum node_form form,
                              const struct pelican_expr **out)
{
    struct pelican_term few[8];
    struct pelican_term *terms = few;
    if (f->node_count > sizeof few / sizeof *few) {
        terms = bir_arena_alloc_array(ctx->scratch, BIR_MEM_OTHER, f->node_count, sizeof(*terms));
        if (!terms)
            return read_fail_memory(ctx);
    }
    for (uint32_t i = 0; i < f->node_count; i++) {
        const struct read_node *node = &ctx->nodes.items[f->first_node + i];
        if (node->form != form)
            return read_fail(ctx, "bir-unknown-kind", NULL, node->offset,
                             form == NODE_TERM ? "a term is {\"idx\", \"coeff\"}"
                                               : "a term is {\"AxisLabel\", \"coef\"}",
                             "not a term of an affine expression");
        terms[i] = (struct pelican_term){ .index = node->expr, .coef = node->coef };
    }
    return made(ctx, f, pelican_affine(&ctx->module->expressions, f->c, terms, f->node_count), out);
}

static enum bir_status sum(struct read_context *ctx, const struct expr_fields *f, const struct pelican_expr **out)
{
    if (f->n_terms != (int64_t)f->node_count)
        return read_fail(ctx, "bir-range", NULL, f->n_terms_offset, "make n_terms the length of terms",
                         "n_terms is %" PRId64 ", terms has %" PRIu32 " elements", f->n_terms, f->node_count);
    const struct pelican_expr **terms =
        bir_arena_alloc_array(ctx->scratch, BIR_MEM_OTHER, f->node_count, sizeof(*terms));
    if (!terms)
        return read_fail_memory(ctx);
    for (uint32_t i = 0; i < f->node_count; i++) {
        const struct read_node *node = &ctx->nodes.items[f->first_node + i];
        if (node->form != NODE_EXPR)
            return read_fail(ctx, "bir-unknown-kind", NULL, node->offset, "give it a kind",
                             "a term stands where an expression must");
        terms[i] = node->expr;
    }
    return made(ctx, f, pelican_sum(&ctx->module->expressions, terms, f->node_count), out);
}

static enum bir_status build_v2(struct read_context *ctx, const struct expr_fields *f, enum expr_kind kind,
                                const struct pelican_expr **out)
{
    struct pelican_context *p = &ctx->module->expressions;
    switch (kind) {
    case KIND_AFFINE: return affine(ctx, f, NODE_TERM, out);
    case KIND_SUM: return sum(ctx, f, out);
    case KIND_MULT: return made(ctx, f, pelican_mult(p, f->var, f->scale), out);
    case KIND_AFFINE_IV: return axis_value(ctx, f, f->axis, out);
    case KIND_RUNTIME: return runtime_value(ctx, f, out);
    case KIND_SHARD: return made(ctx, f, pelican_shard_id(p, f->ub), out);
    case KIND_INDIRECT: return indirect_arg(ctx, f, f->arg_id, f->arg_id_offset, out);
    case KIND_RANK: return made(ctx, f, pelican_cc_get_rank(p, f->iteration_id, f->channel_id), out);
    default: break;
    }
    BIR_TRY(check_denom(ctx, f->denom, f->denom_offset));
    if (kind == KIND_FLOOR_DIV)
        return made(ctx, f, pelican_floor_div(p, f->numer, f->denom), out);
    if (kind == KIND_CC_DIV)
        return made(ctx, f, pelican_cc_div(p, f->numer, f->denom, (uint64_t)f->replica_groups_id), out);
    return made(ctx, f, pelican_modulo(p, f->numer, f->denom), out); /* CCModKind reads as ModuloKind */
}

static enum bir_status expr_v2(struct read_context *ctx, struct expr_fields *f, const struct pelican_expr **out)
{
    for (enum expr_kind kind = 0; kind < KIND_COUNT; kind++) {
        if (strlen(kinds[kind].name) != f->kind.len || memcmp(kinds[kind].name, f->kind.text, f->kind.len) != 0)
            continue;
        for (size_t i = 0; i < 3 && kinds[kind].required[i] != READ_OTHER; i++)
            BIR_TRY(read_require(ctx, &f->seen, f->object_offset, kinds[kind].name, kinds[kind].required[i]));
        f->own = &kinds[kind].own;
        if (f->rule == EXPR_BY_VERSION && kind != KIND_SHARD && ctx->first_v2 == BIR_NO_OFFSET)
            ctx->first_v2 = f->object_offset;
        return build_v2(ctx, f, kind, out);
    }
    return read_fail(ctx, "bir-unknown-kind", "BIR132", f->kind_offset, "see the expression kinds of version 2",
                     "unknown expression kind \"%.*s\"", f->kind.len > 60 ? 60 : (int)f->kind.len, f->kind.text);
}

/* Version 1: a flat affine part with an optional operator on top (bir-json.md 9.2). */
static enum bir_status expr_v1(struct read_context *ctx, struct expr_fields *f, const struct pelican_expr **out)
{
    struct pelican_context *p = &ctx->module->expressions;
    if (f->rule == EXPR_V2_ONLY)
        return read_fail_missing(ctx, f->object_offset, "an expression of dynamic_ap_info", "kind");
    if (ctx->first_v1 == BIR_NO_OFFSET)
        ctx->first_v1 = f->object_offset;
    f->own = &own_of_v1;
    bool has_op = key_set_has(&f->seen, READ_OP);
    bool is_indirect = has_op && f->op.len == 13 && memcmp(f->op.text, "IndirectArgId", 13) == 0;
    if (has_op)
        BIR_TRY(read_require(ctx, &f->seen, f->object_offset, "an expression with op", READ_OP_PARAM));
    if (is_indirect && f->c == 0 && f->node_count == 0)
        return indirect_arg(ctx, f, f->op_param, f->op_param_offset, out);
    if (is_indirect)
        return read_fail(ctx, "bir-range", NULL, f->object_offset, "leave terms and c out",
                         "the affine part of IndirectArgId must be 0");
    BIR_TRY(read_require(ctx, &f->seen, f->object_offset, "an expression", READ_TERMS));
    BIR_TRY(read_require(ctx, &f->seen, f->object_offset, "an expression", READ_C));
    const struct pelican_expr *numer;
    BIR_TRY(affine(ctx, f, NODE_V1_TERM, &numer));
    *out = numer;
    if (!has_op)
        return BIR_OK;
    BIR_TRY(check_denom(ctx, f->op_param, f->op_param_offset));
    if (f->op.len == 3 && memcmp(f->op.text, "Div", 3) == 0)
        return made(ctx, f, pelican_floor_div(p, numer, f->op_param), out);
    if (f->op.len == 3 && memcmp(f->op.text, "Mod", 3) == 0)
        return made(ctx, f, pelican_modulo(p, numer, f->op_param), out);
    if (f->op.len == 9 && memcmp(f->op.text, "CCGetRank", 9) == 0)
        return made(ctx, f, pelican_cc_div(p, numer, f->op_param, 0), out);
    return read_fail(ctx, "bir-unknown-kind", "BIR132", f->op_offset, "Div, Mod, CCGetRank or IndirectArgId",
                     "unknown operator \"%.*s\"", f->op.len > 60 ? 60 : (int)f->op.len, f->op.text);
}

static enum bir_status term_v2(struct read_context *ctx, struct expr_fields *f, struct read_node *node)
{
    BIR_TRY(read_require(ctx, &f->seen, f->object_offset, "a term", READ_IDX));
    BIR_TRY(read_require(ctx, &f->seen, f->object_offset, "a term", READ_COEFF));
    if (!pelican_kind_is_index((enum pelican_kind)f->idx->kind))
        return read_fail(ctx, "bir-unknown-kind", NULL, f->idx_offset,
                         "an index is AffIVKind, ShardIDKind or IntRuntimeValueKind",
                         "this kind cannot be the index of a term");
    f->own = &own_of_term;
    node->form = NODE_TERM;
    node->expr = f->idx;
    node->coef = f->coeff;
    return BIR_OK;
}

static enum bir_status term_v1(struct read_context *ctx, struct expr_fields *f, struct read_node *node)
{
    BIR_TRY(read_require(ctx, &f->seen, f->object_offset, "a term", READ_AXIS_LABEL));
    BIR_TRY(read_require(ctx, &f->seen, f->object_offset, "a term", READ_COEF));
    f->own = &own_of_v1_term;
    node->form = NODE_V1_TERM;
    node->coef = f->coef;
    return axis_value(ctx, f, f->label, &node->expr);
}

/* Further members */

static bool has_foreign_key(const struct expr_fields *f)
{
    return (f->seen.words[0] & ~f->own->words[0]) | (f->seen.words[1] & ~f->own->words[1]);
}

static enum bir_status keep_foreign(struct read_context *ctx, const struct expr_fields *f)
{
    BIR_TRY(read_count_again(ctx, f->object.pos, "remove the keys that other kinds of expression have",
                             "expressions with foreign keys inside each other"));
    struct read_mark place = read_seek(ctx, f->object);
    struct bir_slice text;
    BIR_TRY(bir_json_object_begin(&ctx->json));
    while (bir_json_object_next(&ctx->json, &text)) {
        enum read_key key = read_key_of(ctx, text);
        if (key != READ_OTHER && !key_set_has(f->own, key))
            BIR_TRY(read_other(ctx, text, "an expression of this kind"));
        else
            BIR_TRY(bir_json_skip(&ctx->json, NULL));
    }
    BIR_TRY(ctx->json.status);
    read_resume(ctx, place);
    return BIR_OK;
}

/* What stands above base on the stack of properties becomes the extra of the node. */
static enum bir_status keep_extra(struct read_context *ctx, struct read_node *node, uint32_t base)
{
    const struct bir_props *props;
    BIR_TRY(read_take_props(ctx, base, &props));
    struct pelican_extra extra = pelican_extra_of(node->expr);
    *(node->form == NODE_EXPR ? &extra.node : &extra.term) = props;
    node->expr = pelican_with_extra(&ctx->module->expressions, node->expr, extra);
    return node->expr ? BIR_OK : read_fail_memory(ctx);
}

static enum bir_status read_node(struct read_context *ctx, enum expr_rule rule, struct read_node *node)
{
    struct expr_fields f = {
        .rule = rule, .object = read_mark_here(ctx), .object_offset = read_offset(ctx), .first_node = ctx->nodes.count
    };
    uint32_t base = ctx->nodes.count, pending = ctx->pending.count;
    struct bir_slice text;
    enum read_key key;
    node->offset = f.object_offset;
    BIR_TRY(bir_json_object_begin(&ctx->json));
    while (read_next_key(ctx, &f.seen, &text, &key))
        BIR_TRY(read_field(ctx, &f, key, text));
    BIR_TRY(ctx->json.status);
    node->form = NODE_EXPR;
    if (key_set_has(&f.seen, READ_KIND))
        BIR_TRY(expr_v2(ctx, &f, &node->expr));
    else if (key_set_has(&f.seen, READ_IDX) || key_set_has(&f.seen, READ_COEFF))
        BIR_TRY(term_v2(ctx, &f, node));
    else if (key_set_has(&f.seen, READ_AXIS_LABEL) || key_set_has(&f.seen, READ_COEF))
        BIR_TRY(term_v1(ctx, &f, node));
    else
        BIR_TRY(expr_v1(ctx, &f, &node->expr));
    ctx->nodes.count = base;
    if (has_foreign_key(&f))
        BIR_TRY(keep_foreign(ctx, &f));
    return ctx->pending.count > pending ? keep_extra(ctx, node, pending) : BIR_OK;
}

enum bir_status read_expr(struct read_context *ctx, enum expr_rule rule, const struct pelican_expr **out)
{
    struct expr_fields f = { .rule = rule };
    return read_child(ctx, &f, out);
}

/* Lists of expressions that travel as text */

enum bir_status read_put_expr(struct read_context *ctx, const struct pelican_expr *expr)
{
    struct bir_json_writer w;
    bir_json_writer_init(&w, &ctx->text, 0);
    bir_write_expr(&w, expr);
    if (ctx->text.status == BIR_LIMIT)
        return read_fail(ctx, "bir-range", NULL, ctx->json.pos, "flatten the expression",
                         "the expression is nested too deep");
    return ctx->text.status;
}

static enum bir_status take_text(struct read_context *ctx, const struct bir_str **out)
{
    if (ctx->text.status != BIR_OK)
        return ctx->text.status;
    *out = bir_intern(&ctx->module->strings, ctx->text.data, ctx->text.len);
    return *out ? BIR_OK : read_fail_memory(ctx);
}

static enum bir_status put_raw_value(struct read_context *ctx)
{
    struct bir_slice raw;
    BIR_TRY(bir_json_skip(&ctx->json, &raw));
    bir_buf_put(&ctx->text, raw.text, raw.len);
    return BIR_OK;
}

/* An object that is an expression by the look of it: others stay as they are. */
static enum bir_status put_expr_value(struct read_context *ctx)
{
    if (bir_json_peek(&ctx->json) != BIR_JSON_OBJECT)
        return put_raw_value(ctx);
    const struct pelican_expr *expr;
    BIR_TRY(read_expr(ctx, EXPR_BY_VERSION, &expr));
    return read_put_expr(ctx, expr);
}

static enum bir_status put_predicate(struct read_context *ctx)
{
    if (bir_json_peek(&ctx->json) != BIR_JSON_OBJECT)
        return put_raw_value(ctx);
    BIR_TRY(bir_json_object_begin(&ctx->json));
    bir_buf_putc(&ctx->text, '{');
    size_t first = ctx->text.len;
    for (struct bir_slice key; bir_json_object_next(&ctx->json, &key);) {
        if (ctx->text.len > first)
            bir_buf_putc(&ctx->text, ',');
        struct bir_json_writer w;
        bir_json_writer_init(&w, &ctx->text, 0);
        bir_json_put_string(&w, key.text, key.len);
        bir_buf_putc(&ctx->text, ':');
        BIR_TRY(read_key_of(ctx, key) == READ_EXPR ? put_expr_value(ctx) : put_raw_value(ctx));
    }
    bir_buf_putc(&ctx->text, '}');
    return ctx->json.status;
}

static enum bir_status read_list_text(struct read_context *ctx, enum bir_status (*put)(struct read_context *),
                                      const struct bir_str **out)
{
    ctx->text.len = 0;
    BIR_TRY(bir_json_array_begin(&ctx->json));
    bir_buf_putc(&ctx->text, '[');
    while (bir_json_array_next(&ctx->json)) {
        if (ctx->text.len > 1)
            bir_buf_putc(&ctx->text, ',');
        BIR_TRY(put(ctx));
    }
    BIR_TRY(ctx->json.status);
    bir_buf_putc(&ctx->text, ']');
    return take_text(ctx, out);
}

enum bir_status read_expr_list_text(struct read_context *ctx, const struct bir_str **out)
{
    return read_list_text(ctx, put_expr_value, out);
}

enum bir_status read_predicates_text(struct read_context *ctx, const struct bir_str **out)
{
    return read_list_text(ctx, put_predicate, out);
}
