/*
 * The text that the reader kept is its own canonical form, so the reader's expression parser is run over it once more,
 * with the axes of the loops around the instruction in scope. What does not parse is foreign, not an error: the module
 * was accepted with it.
 */
#include "bir/predicate.h"

#include "bir/json.h"
#include "bir/read.h"

struct parse {
    struct read_context *ctx;
    BIR_VEC(struct bir_predicate) items;
};

static enum bir_status no_memory(const struct parse *p)
{
    const struct bir_arena *own = &p->ctx->module->arena;
    return own->failure != BIR_OK ? own->failure : bir_arena_failure(p->ctx->scratch);
}

/* The axes of the loops around an instruction, innermost first. False on allocation failure. */
static bool open_axes(struct read_context *ctx, const struct bir_instruction *inst)
{
    const struct axis_frame **link = &ctx->axes;
    const struct bir_instruction *owner = inst->block ? inst->block->region->owner : NULL;
    for (; owner; owner = owner->block ? owner->block->region->owner : NULL) {
        const struct bir_loop *loop = owner->rare ? owner->rare->loop : NULL;
        struct pelican_axis *axis = loop && loop->axis ? loop->axis : loop ? loop->dynamic_axis : NULL;
        if (!axis)
            continue;
        struct axis_frame *frame = BIR_NEW(ctx->scratch, BIR_MEM_OTHER, struct axis_frame);
        if (!frame)
            return false;
        frame->axis = axis;
        *link = frame;
        link = &frame->outer;
    }
    return true;
}

static struct read_context *context_new(struct bir_module *module, const struct bir_instruction *inst,
                                        struct bir_arena *scratch, struct bir_diags *ignored)
{
    static const struct bir_read_options options = { .strict = true };
    struct read_context *ctx = BIR_NEW(scratch, BIR_MEM_OTHER, struct read_context);
    const struct bir_str *text = inst->rare->texts->predicates;
    if (!ctx)
        return NULL;
    ctx->module = module;
    ctx->options = &options;
    ctx->diags = ignored;
    ctx->scratch = scratch;
    ctx->strict = true;
    ctx->function = inst->block ? inst->block->region->function : NULL;
    ctx->first_v1 = ctx->first_v2 = BIR_NO_OFFSET;
    bir_buf_init(&ctx->text, 0);
    read_keys_init(ctx);
    bir_json_reader_init(&ctx->json, text->text, text->len, BIR_JSON_DEPTH_DEFAULT, scratch, ignored);
    return open_axes(ctx, inst) ? ctx : NULL;
}

/* One element: exactly an expression and a flag. */
static enum bir_status parse_predicate(struct parse *p)
{
    struct bir_json_reader *r = &p->ctx->json;
    struct bir_predicate predicate = { .expr = NULL };
    bool has_flag = false;
    BIR_TRY(bir_json_object_begin(r));
    for (struct bir_slice key; bir_json_object_next(r, &key);) {
        if (key.len == 4 && memcmp(key.text, "expr", 4) == 0 && !predicate.expr) {
            BIR_TRY(read_expr(p->ctx, EXPR_V2_ONLY, &predicate.expr));
        } else if (key.len == 2 && memcmp(key.text, "ge", 2) == 0 && !has_flag) {
            BIR_TRY(bir_json_bool(r, &predicate.at_least));
            has_flag = true;
        } else {
            return BIR_INVALID;
        }
    }
    BIR_TRY(r->status);
    if (!predicate.expr || !has_flag)
        return BIR_INVALID;
    return bir_vec_push(p->ctx->scratch, &p->items, predicate) ? BIR_OK : no_memory(p);
}

static enum bir_status parse_list(struct parse *p)
{
    BIR_TRY(bir_json_array_begin(&p->ctx->json));
    while (bir_json_array_next(&p->ctx->json))
        BIR_TRY(parse_predicate(p));
    return p->ctx->json.status;
}

static enum bir_status keep(const struct parse *p, struct bir_arena *arena, struct bir_predicates *out)
{
    struct bir_predicate *items = bir_arena_alloc_array(arena, BIR_MEM_OTHER, p->items.count, sizeof *items);
    if (!items)
        return bir_arena_failure(arena);
    if (p->items.count > 0)
        memcpy(items, p->items.items, p->items.count * sizeof *items);
    *out = (struct bir_predicates){ .items = items, .count = p->items.count };
    return BIR_OK;
}

enum bir_status bir_predicates_parse(struct bir_module *module, const struct bir_instruction *inst,
                                     struct bir_arena *arena, struct bir_predicates *out)
{
    struct bir_arena scratch;
    struct bir_diags ignored;
    bir_arena_init(&scratch, 0);
    bir_diags_init(&ignored, &scratch, 0);
    struct parse p = { .ctx = context_new(module, inst, &scratch, &ignored) };
    enum bir_status status = p.ctx ? parse_list(&p) : bir_arena_failure(&scratch);
    if (status == BIR_OK)
        status = keep(&p, arena, out);
    bool too_deep = status == BIR_LIMIT && scratch.failure == BIR_OK && module->arena.failure == BIR_OK;
    if (status == BIR_INVALID || too_deep) {
        *out = (struct bir_predicates){ .foreign = true };
        status = BIR_OK;
    }
    if (p.ctx)
        bir_buf_deinit(&p.ctx->text);
    bir_arena_deinit(&scratch);
    return status;
}

bool bir_instruction_may_be_skipped(const struct bir_instruction *inst)
{
    while (inst && !bir_instruction_is_predicated(inst))
        inst = inst->block ? inst->block->region->owner : NULL;
    return inst != NULL;
}
