/*
 * Op keys of one instruction: checked, typed and made into its property list by the table of op keys.
 *
 * Instructions by the thousand have equal keys. So the keys are hash-consed as they were read first, and a small
 * direct-mapped table remembers which raw list of which opcode led to which final list; only a list that is not there
 * goes through the checks. Lists with expressions always do, because an expression depends on the loops around it.
 */
#include <inttypes.h>

#include "base/json_writer.h"
#include "bir/read.h"

static enum bir_status fail_type(struct read_context *ctx, const struct read_pending *p, const struct bir_op_key *row)
{
    return read_fail(ctx, "json-type", NULL, p->mark.pos, NULL, "key \"%s\" of %s must be %s%s", row->key,
                     bir_opcode_name(row->opcode), bir_op_key_expected(row),
                     row->flags & BIR_OPKEYF_AFFINE ? " or an expression" : "");
}

static bool is_json(const struct bir_prop *prop, char first)
{
    return prop->type == BIR_VALUE_JSON && prop->u.s->text[0] == first;
}

static enum bir_status make_expr(struct read_context *ctx, struct read_pending *p)
{
    struct read_mark place = read_seek(ctx, p->mark);
    const struct pelican_expr *expr;
    BIR_TRY(read_expr(ctx, EXPR_BY_VERSION, &expr));
    read_resume(ctx, place);
    p->prop.type = BIR_VALUE_EXPR;
    p->prop.u.e = expr;
    return BIR_OK;
}

/* Elements that are expressions become canonical. */
static enum bir_status make_expr_list(struct read_context *ctx, struct read_pending *p)
{
    if (!memchr(p->prop.u.s->text, '{', p->prop.u.s->len))
        return BIR_OK;
    struct read_mark place = read_seek(ctx, p->mark);
    BIR_TRY(read_expr_list_text(ctx, &p->prop.u.s));
    read_resume(ctx, place);
    return BIR_OK;
}

/* An integer beyond int64, kept as text. */
static bool is_large_number(const struct bir_prop *prop)
{
    return prop->type == BIR_VALUE_JSON &&
           (prop->u.s->text[0] == '-' || (prop->u.s->text[0] >= '0' && prop->u.s->text[0] <= '9'));
}

static enum bir_status check_integer(struct read_context *ctx, struct read_pending *p, const struct bir_op_key *row)
{
    bool is_integral = p->prop.type == BIR_VALUE_FLOAT && p->prop.u.f >= -0x1p53 && p->prop.u.f <= 0x1p53 &&
                       (double)(int64_t)p->prop.u.f == p->prop.u.f;
    if (is_integral && !ctx->strict) { /* the vendor's library converts silently */
        p->prop.u.i = (int64_t)p->prop.u.f;
        p->prop.type = BIR_VALUE_INT;
    }
    if (p->prop.type == BIR_VALUE_INT && (row->type == BIR_OPKEY_INT || p->prop.u.i >= 0))
        return BIR_OK;
    return is_large_number(&p->prop) && p->prop.u.s->text[0] != '-' && row->type == BIR_OPKEY_UINT
               ? BIR_OK
               : fail_type(ctx, p, row);
}

static enum bir_status check_float(struct read_context *ctx, struct read_pending *p, const struct bir_op_key *row)
{
    if (p->prop.type == BIR_VALUE_INT) {
        p->prop.u.f = (double)p->prop.u.i;
        p->prop.type = BIR_VALUE_FLOAT;
    } else if (is_large_number(&p->prop)) {
        p->prop.u.f = bir_parse_double(p->prop.u.s->text, p->prop.u.s->len);
        p->prop.type = BIR_VALUE_FLOAT;
    }
    bool is_text =
        p->prop.type == BIR_VALUE_TEXT &&
        (bir_str_is(p->prop.u.s, "inf") || bir_str_is(p->prop.u.s, "-inf") || bir_str_is(p->prop.u.s, "nan"));
    return p->prop.type == BIR_VALUE_FLOAT || is_text ? BIR_OK : fail_type(ctx, p, row);
}

/* The list again, element by element. */
static enum bir_status make_typed_list(struct read_context *ctx, struct read_pending *p, const struct bir_op_key *row)
{
    struct read_mark place = read_seek(ctx, p->mark);
    BIR_TRY(read_typed_list(ctx, (enum bir_op_key_elements)row->enum_id, &p->prop.u.s));
    read_resume(ctx, place);
    return BIR_OK;
}

static enum bir_status check_enum(struct read_context *ctx, struct read_pending *p, const struct bir_op_key *row)
{
    if (p->prop.type != BIR_VALUE_TEXT)
        return fail_type(ctx, p, row);
    const struct bir_str *name = p->prop.u.s;
    enum bir_enum_id id = (enum bir_enum_id)row->enum_id;
    if (!ctx->strict || bir_enum_value(id, name->text, name->len) >= 0)
        return BIR_OK;
    return read_fail_enum(ctx, p->mark.pos, id, name->text, name->len);
}

static enum bir_status check_value(struct read_context *ctx, struct read_pending *p, const struct bir_op_key *row)
{
    bool may_be_expr = row->type == BIR_OPKEY_EXPR || (row->flags & BIR_OPKEYF_AFFINE);
    if (may_be_expr && row->type != BIR_OPKEY_LIST && is_json(&p->prop, '{'))
        return make_expr(ctx, p);
    switch ((enum bir_op_key_type)row->type) {
    case BIR_OPKEY_BOOL: return p->prop.type == BIR_VALUE_BOOL ? BIR_OK : fail_type(ctx, p, row);
    case BIR_OPKEY_INT:
    case BIR_OPKEY_UINT: return check_integer(ctx, p, row);
    case BIR_OPKEY_FLOAT: return check_float(ctx, p, row);
    case BIR_OPKEY_ENUM: return check_enum(ctx, p, row);
    case BIR_OPKEY_TEXT: return p->prop.type == BIR_VALUE_TEXT ? BIR_OK : fail_type(ctx, p, row);
    case BIR_OPKEY_LIST:
        if (!is_json(&p->prop, '['))
            return fail_type(ctx, p, row);
        if (row->enum_id != BIR_ELEMENTS_ANY)
            return make_typed_list(ctx, p, row);
        return row->flags & BIR_OPKEYF_AFFINE ? make_expr_list(ctx, p) : BIR_OK;
    case BIR_OPKEY_EXPR: return fail_type(ctx, p, row);
    case BIR_OPKEY_ANY: return BIR_OK;
    }
    return BIR_INTERNAL;
}

static bool is_header_key(const struct bir_str *key)
{
    return bir_str_is(key, "optin_passes");
}

static enum bir_status check_pending(struct read_context *ctx, uint16_t opcode, uint32_t base)
{
    for (uint32_t i = base; i < ctx->pending.count; i++) {
        struct read_pending p = ctx->pending.items[i];
        const struct bir_str *key = p.prop.key;
        const struct bir_op_key *row = bir_op_key_find(opcode, key->text, key->len);
        if (row)
            BIR_TRY(check_value(ctx, &p, row));
        else if (ctx->strict && opcode != BIR_OP_UNKNOWN && !is_header_key(key))
            return read_fail(ctx, "bir-unknown-key", NULL, p.key_offset, "remove it, or read without --strict",
                             "%s has no key \"%.60s\"", bir_opcode_name(opcode), key->text);
        ctx->pending.items[i] = p;
    }
    return BIR_OK;
}

static enum bir_status check_required(struct read_context *ctx, const struct bir_instruction *inst,
                                      const struct bir_props *props)
{
    unsigned needed = BIR_OPKEYF_REQUIRED | (ctx->strict ? BIR_OPKEYF_STRICT : 0u);
    for (uint16_t op = inst->opcode; op != BIR_OP_UNKNOWN; op = bir_op_key_base(op)) {
        const struct bir_op_key *row;
        for (size_t n = bir_op_key_rows(op, &row); n > 0; n--, row++)
            if ((row->flags & needed) && !bir_props_find(props, row->key))
                return read_fail_missing(ctx, inst->source_offset, bir_opcode_name(inst->opcode), row->key);
    }
    bool is_trigger = inst->opcode == BIR_OP_DMA_TRIGGER;
    const struct bir_prop *blocks = is_trigger ? bir_props_find(props, "dma_blocks") : NULL;
    bool has_blocks = blocks && blocks->type == BIR_VALUE_JSON && !read_is_empty(blocks->u.s); /* [] is the default */
    if (is_trigger && !bir_props_find(props, "queue") && !has_blocks)
        return read_fail_missing(ctx, inst->source_offset, "DMATrigger", "queue");
    return BIR_OK;
}

/* Names */

static enum bir_status check_dma_blocks(struct read_context *ctx, struct read_mark list)
{
    struct read_mark place = read_seek(ctx, list);
    BIR_TRY(bir_json_array_begin(&ctx->json));
    while (bir_json_array_next(&ctx->json)) {
        uint32_t offset = read_offset(ctx);
        const struct bir_str *name;
        BIR_TRY(read_text(ctx, &name));
        BIR_TRY(read_check_name(ctx, CHECK_DMA_BLOCK, name, offset));
    }
    BIR_TRY(ctx->json.status);
    read_resume(ctx, place);
    return BIR_OK;
}

/* Keys whose text names something that must exist (bir-json.md section 14, pass 2). */
static const struct {
    const char *key;
    uint16_t opcode; /* BIR_OP_UNKNOWN: any opcode whose table has the key */
    enum name_check_kind kind;
} references[] = {
    { "queue", BIR_OP_UNKNOWN, CHECK_QUEUE },
    { "on_true", BIR_OP_COMPARE_AND_BRANCH, CHECK_BLOCK },
    { "on_false", BIR_OP_COMPARE_AND_BRANCH, CHECK_BLOCK },
    { "target", BIR_OP_UNCONDITIONAL_BRANCH, CHECK_BLOCK },
    { "associate_branch", BIR_OP_BRANCH_HINT, CHECK_BLOCK },
    { "target", BIR_OP_CALL, CHECK_FUNCTION },
    { "dma_trigger", BIR_OP_DMA_BLOCK, CHECK_INSTRUCTION },
};

static enum bir_status check_references(struct read_context *ctx, uint16_t opcode, uint32_t base)
{
    for (uint32_t i = base; i < ctx->pending.count; i++) {
        struct read_pending p = ctx->pending.items[i];
        if (opcode == BIR_OP_DMA_TRIGGER && bir_str_is(p.prop.key, "dma_blocks"))
            BIR_TRY(check_dma_blocks(ctx, p.mark));
        for (size_t k = 0; k < sizeof references / sizeof *references; k++) {
            if (p.prop.type != BIR_VALUE_TEXT || !bir_str_is(p.prop.key, references[k].key))
                continue;
            bool applies =
                references[k].opcode == opcode ||
                (references[k].opcode == BIR_OP_UNKNOWN && bir_op_key_find(opcode, p.prop.key->text, p.prop.key->len));
            if (applies)
                BIR_TRY(read_check_name(ctx, references[k].kind, p.prop.u.s, (uint32_t)p.mark.pos));
        }
    }
    return BIR_OK;
}

static bool has_objects(const struct read_context *ctx, uint32_t base)
{
    for (uint32_t i = base; i < ctx->pending.count; i++) {
        const struct bir_prop *prop = &ctx->pending.items[i].prop;
        if (prop->type == BIR_VALUE_JSON && memchr(prop->u.s->text, '{', prop->u.s->len))
            return true;
    }
    return false;
}

static struct checked_props *checked_slot(struct read_context *ctx, const struct bir_props *raw, uint16_t opcode)
{
    uint64_t mixed = ((uint64_t)(uintptr_t)raw >> 3 ^ opcode) * UINT64_C(0x9E3779B97F4A7C15);
    return &ctx->checked[mixed >> 56 & (CHECKED_PROPS_SLOTS - 1)];
}

static enum bir_status check_all(struct read_context *ctx, struct bir_instruction *inst, uint32_t base)
{
    BIR_TRY(check_pending(ctx, inst->opcode, base));
    BIR_TRY(check_references(ctx, inst->opcode, base));
    BIR_TRY(read_take_props(ctx, base, &inst->props));
    return check_required(ctx, inst, inst->props);
}

enum bir_status read_finish_op_keys(struct read_context *ctx, struct bir_instruction *inst, uint32_t base)
{
    if (has_objects(ctx, base))
        return check_all(ctx, inst, base);
    const struct bir_props *raw;
    uint32_t count = ctx->pending.count;
    BIR_TRY(read_take_props(ctx, base, &raw));
    struct checked_props *slot = checked_slot(ctx, raw, inst->opcode);
    if (slot->raw == raw && slot->opcode == inst->opcode && raw) {
        inst->props = slot->final;
        return BIR_OK;
    }
    ctx->pending.count = count; /* its items are still there */
    BIR_TRY(check_all(ctx, inst, base));
    *slot = (struct checked_props){ .raw = raw, .final = inst->props, .opcode = inst->opcode };
    return BIR_OK;
}
