/*
 * Which registers an instruction reads and writes (lowering.md 11 item 2).
 *
 *   writes   register_access in outs; the registers of a Loop, at its entry
 *   reads    register_access in ins and indirection_ins; all three registers of a register_ap, wherever it stands;
 * registers inside expressions (runtime offsets, loop bounds, conditions, affine op keys, predicates); registers that
 * semaphore waits name
 *
 * A write under a predicate may not happen, and one of the low half of a pair leaves the high half: both count as a
 * read too, because the old value must survive.
 */
#include "passes/liveness.h"

#include "bir/predicate.h"

#define EXPRESSION_DEPTH_MAX 2048

struct collector {
    struct bir_liveness *live;
    bir_access_vec *out;
    bool failed;
};

bool bir_access_is_partial(const struct bir_argument *arg)
{
    return arg->kind == BIR_ARG_REGISTER_ACCESS && arg->location &&
           ((const struct bir_register *)arg->location)->num_physical == 2 && bir_dtype_bytes(arg->dtype) == 4;
}

static bool add_node(struct collector *c, struct bir_register *reg)
{
    struct bir_node node = { .reg = reg };
    if (!bir_vec_push(c->live->context->scratch, &c->live->nodes, node)) {
        c->failed = true;
        return false;
    }
    reg->scratch = c->live->nodes.count;
    return true;
}

static inline void add_access(struct collector *c, struct bir_register *reg, bool def, bool use)
{
    if (reg->scratch == 0 && !add_node(c, reg))
        return;
    struct bir_access access = { reg->scratch - 1, use, def };
    if (!bir_vec_push(c->live->context->scratch, c->out, access))
        c->failed = true;
}

static bool operand_register(void *user, struct bir_register *reg, struct bir_register **slot)
{
    struct collector *c = user;
    (void)slot;
    add_access(c, reg, false, true);
    return !c->failed;
}

static void add_expression(struct collector *c, const struct pelican_expr *e, uint32_t depth)
{
    if (!e->has_runtime || depth > EXPRESSION_DEPTH_MAX)
        return;
    switch ((enum pelican_kind)e->kind) {
    case PELICAN_RUNTIME_VALUE: add_access(c, e->u.reg, false, true); return;
    case PELICAN_AFFINE:
        for (uint32_t i = 0; i < e->u.affine.n_terms; i++)
            add_expression(c, e->u.affine.terms[i].index, depth + 1);
        return;
    case PELICAN_SUM:
        for (uint32_t i = 0; i < e->u.sum.n_terms; i++)
            add_expression(c, e->u.sum.terms[i], depth + 1);
        return;
    case PELICAN_MULT: add_expression(c, e->u.mult.operand, depth + 1); return;
    case PELICAN_FLOOR_DIV:
    case PELICAN_MODULO:
    case PELICAN_CC_DIV: add_expression(c, e->u.div.numer, depth + 1); return;
    default: return;
    }
}

static void add_properties(struct collector *c, const struct bir_props *props)
{
    for (uint32_t i = 0; props && i < props->count; i++) {
        if (props->items[i].type == BIR_VALUE_EXPR)
            add_expression(c, props->items[i].u.e, 0);
    }
}

static void add_waits(struct collector *c, const struct bir_sync *sync)
{
    for (uint32_t i = 0; i < sync->waits.count; i++) {
        const struct bir_prop *prop = bir_props_find(sync->waits.items[i].props, "wait_reg");
        struct bir_register *reg = NULL;
        if (prop && prop->type == BIR_VALUE_TEXT)
            reg = bir_function_find_register(c->live->function, prop->u.s);
        if (reg)
            add_access(c, reg, false, true);
    }
}

/* Foreign predicates name no register that is known. */
static void add_predicates(struct collector *c, const struct bir_instruction *inst)
{
    struct bir_predicates predicates;
    if (!bir_instruction_is_predicated(inst))
        return;
    if (bir_predicates_parse(c->live->function->module, inst, c->live->context->scratch, &predicates) != BIR_OK) {
        c->failed = true;
        return;
    }
    for (uint32_t i = 0; i < predicates.count; i++)
        add_expression(c, predicates.items[i].expr, 0);
}

static void add_loop(struct collector *c, const struct bir_segment *segment)
{
    const struct bir_loop *loop = segment->owner->rare->loop;
    for (uint32_t i = 0; i < loop->registers.count; i++)
        add_access(c, loop->registers.items[i], segment->kind == BIR_SEGMENT_ENTER, segment->kind == BIR_SEGMENT_LATCH);
    for (size_t i = 0; i < BIR_LOOP_BOUNDS; i++) {
        if (loop->dynamic_bounds[i])
            add_expression(c, loop->dynamic_bounds[i], 0);
    }
    add_properties(c, segment->owner->props);
    add_predicates(c, segment->owner);
}

static void add_fixed(struct collector *c, const struct bir_instruction *inst)
{
    if (inst->props != c->live->plain_props) { /* most have the list of the instruction before */
        uint32_t before = c->out->count;
        add_properties(c, inst->props);
        c->live->plain_props = c->out->count == before && !c->failed ? inst->props : c->live->plain_props;
    }
    if (inst->rare && inst->rare->sync)
        add_waits(c, inst->rare->sync);
    add_predicates(c, inst);
}

static void add_instruction(struct collector *c, struct bir_instruction *inst)
{
    bool predicated = bir_instruction_is_predicated(inst);
    uint32_t first = c->out->count;
    BIR_EACH_OPERAND(arg, inst)
    {
        bool def = arg->role == BIR_ROLE_OUT && arg->kind == BIR_ARG_REGISTER_ACCESS;
        bool use = !def || bir_access_is_partial(arg);
        if (arg->kind == BIR_ARG_REGISTER_ACCESS && arg->location)
            add_access(c, (struct bir_register *)arg->location, def, use);
        else if (arg->kind != BIR_ARG_IMM_VALUE)
            bir_argument_each_register(arg, operand_register, c);
    }
    for (uint32_t i = first; predicated && i < c->out->count; i++)
        c->out->items[i].use = true;
    add_fixed(c, inst);
}

enum bir_status bir_liveness_add_accesses(struct bir_liveness *live, const struct bir_segment *segment,
                                          struct bir_instruction *inst, bir_access_vec *out)
{
    struct collector c = { .live = live, .out = out };
    if (inst)
        add_instruction(&c, inst);
    else
        add_loop(&c, segment);
    return c.failed ? bir_arena_failure(live->context->scratch) : BIR_OK;
}

enum bir_status bir_liveness_add_fixed(struct bir_liveness *live, struct bir_instruction *inst, bir_access_vec *out)
{
    struct collector c = { .live = live, .out = out };
    add_fixed(&c, inst);
    return c.failed ? bir_arena_failure(live->context->scratch) : BIR_OK;
}
