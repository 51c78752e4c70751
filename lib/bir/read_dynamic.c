/*
 * dynamic_ap_info: the runtime offset of a physical access pattern (bir-json.md section 10).
 *
 * The nesting of offset_expr, aff_expr and coef is not public. Accepted are a list of {aff_expr, coef} under
 * offset_expr, a list of {offset_expr, coef} under aff_expr, and a single object in place of either list; written is
 * the first (choice). Its expressions are of version 2 whatever the document's version.
 */
#include <inttypes.h>

#include "bir/read.h"

struct term_list {
    BIR_VEC(struct bir_dynamic_term) terms;
};

static enum bir_status read_term(struct read_context *ctx, struct term_list *list)
{
    struct key_set seen = { { 0 } };
    struct bir_dynamic_term term = { 0 };
    uint32_t base = ctx->pending.count, offset = read_offset(ctx);
    struct bir_slice text;
    enum read_key key;
    BIR_TRY(bir_json_object_begin(&ctx->json));
    while (read_next_key(ctx, &seen, &text, &key)) {
        if ((key == READ_AFF_EXPR || key == READ_OFFSET_EXPR) && !term.expr)
            BIR_TRY(read_expr(ctx, EXPR_V2_ONLY, &term.expr));
        else if (key == READ_COEF)
            BIR_TRY(bir_json_i64(&ctx->json, &term.coef));
        else
            BIR_TRY(read_other(ctx, text, "a term of a runtime offset"));
    }
    BIR_TRY(ctx->json.status);
    if (!term.expr)
        return read_fail_missing(ctx, offset, "a term of a runtime offset", "aff_expr");
    BIR_TRY(read_require(ctx, &seen, offset, "a term of a runtime offset", READ_COEF));
    BIR_TRY(read_take_props(ctx, base, &term.props));
    return bir_vec_push(ctx->scratch, &list->terms, term) ? BIR_OK : read_fail_memory(ctx);
}

static enum bir_status read_terms(struct read_context *ctx, struct term_list *list)
{
    if (bir_json_peek(&ctx->json) == BIR_JSON_OBJECT)
        return read_term(ctx, list);
    BIR_TRY(bir_json_array_begin(&ctx->json));
    while (bir_json_array_next(&ctx->json))
        BIR_TRY(read_term(ctx, list));
    return ctx->json.status;
}

static enum bir_status read_indirect_dim(struct read_context *ctx, uint8_t *dim)
{
    struct bir_slice name;
    BIR_TRY(bir_json_string(&ctx->json, &name));
    int value = bir_enum_value(BIR_ENUM_INDIRECT_DIM, name.text, name.len);
    if (value < 0)
        return read_fail_enum(ctx, ctx->json.value_start, BIR_ENUM_INDIRECT_DIM, name.text, name.len);
    *dim = (uint8_t)value;
    return BIR_OK;
}

static enum bir_status read_field(struct read_context *ctx, struct bir_dynamic_info *info, struct term_list *list,
                                  enum read_key key, struct bir_slice text)
{
    switch (key) {
    case READ_ACTUAL_AP: return read_pattern(ctx, &info->actual);
    case READ_C: return bir_json_i64(&ctx->json, &info->c_elems);
    case READ_INDIRECT_DIM: return read_indirect_dim(ctx, &info->indirect_dim);
    case READ_INDIRECT_MAX: /* must be positive (BIR030) */
        return bir_json_i64_in(&ctx->json, "indirect_dim_max_index", 1, INT64_MAX, &info->indirect_dim_max_index);
    case READ_OFFSET_EXPR:
    case READ_AFF_EXPR: return read_terms(ctx, list);
    default: return read_other(ctx, text, "dynamic_ap_info");
    }
}

enum bir_status read_dynamic_info(struct read_context *ctx, struct bir_dynamic_info **out)
{
    struct bir_dynamic_info *info = BIR_NEW(&ctx->module->arena, BIR_MEM_ARGUMENTS, struct bir_dynamic_info);
    if (!info)
        return read_fail_memory(ctx);
    struct term_list list = { { 0 } };
    struct key_set seen = { { 0 } };
    uint32_t base = ctx->pending.count;
    uint32_t offset = read_offset(ctx);
    struct bir_slice text;
    enum read_key key;
    BIR_TRY(bir_json_object_begin(&ctx->json));
    while (read_next_key(ctx, &seen, &text, &key))
        BIR_TRY(read_field(ctx, info, &list, key, text));
    BIR_TRY(ctx->json.status);
    BIR_TRY(read_require(ctx, &seen, offset, "dynamic_ap_info", READ_ACTUAL_AP));
    BIR_TRY(read_take_props(ctx, base, &info->props));
    info->n_terms = list.terms.count;
    if (info->n_terms > 0) {
        struct bir_dynamic_term *terms =
            bir_arena_alloc_array(&ctx->module->arena, BIR_MEM_ARGUMENTS, info->n_terms, sizeof(*terms));
        if (!terms)
            return read_fail_memory(ctx);
        memcpy(terms, list.terms.items, info->n_terms * sizeof(*terms));
        info->terms = terms;
    }
    *out = info;
    return BIR_OK;
}
