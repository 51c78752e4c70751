/*
 * lower_branch: structured loops become blocks with branches (lowering.md 7). Optional: everything else keeps Loop
 * containers.
 *
 * A loop in the middle of block B, with body blocks P .. Q, becomes
 *
 *     B        what stood before it; per engine of the body: iv := lb
 *     P .. Q   the body, nested loops taken apart in turn
 *     latch    per engine: iv := iv + stride; branch to P while iv is below ub (above, for a negative stride), else
 *              to `join`
 *     join     an all-engine barrier, then what stood behind the loop
 *
 * Only engines with instructions in the body get counters and branches: the others run through it. A Loop that never
 * runs is skipped by an unconditional branch per engine, one that runs at all is entered without a test. A
 * DynamicForLoop tests at its entry too, against a limit register; a DoWhile repeats while its register is not 0. The
 * last two are supported on one engine, because their register is on one.
 */
#include "passes/emit.h"
#include "passes/induction.h"
#include "pelican/simplify.h"

struct branching {
    struct bir_module *module;
    struct bir_function *function;
    const struct bir_pass_context *context;
    struct bir_diags *diags;
    struct bir_emitter emitter;
    struct bir_map names; /* block names in use */
    struct bir_free_names free_blocks, free_instructions;
    struct bir_map joins; /* loop taken apart -> the barrier behind it */
};

/* The loop at hand. */
struct shape {
    struct bir_instruction *inst;
    struct bir_loop *loop;
    unsigned engines;
    struct bir_block *head, *body, *latch, *join;
    struct bir_register *iv[BIR_ENGINE_COUNT];
    struct bir_register *limit;     /* DynamicForLoop */
    struct bir_register *condition; /* DoWhile */
    int64_t lb, ub, stride;         /* ub: only of a Loop */
};

static const char *inst_name(const struct bir_instruction *inst)
{
    return inst->name ? inst->name->text : "loop";
}

static enum bir_status refuse(struct branching *b, const struct bir_instruction *inst, const char *code,
                              const char *hint, const char *text)
{
    return bir_fail(b->diags, code, bir_pass_place(inst->source_offset), hint, "%s %s: %s",
                    bir_opcode_name(inst->opcode), inst_name(inst), text);
}

/* --- checks --- */

/* Nothing in a body may still name the axis. */
static enum bir_status check_body_instruction(struct branching *b, struct bir_instruction *inst)
{
    for (int role = 0; role < BIR_ROLE_COUNT; role++) {
        BIR_EACH_ARGUMENT (arg, inst, role) {
            if (arg->kind == BIR_ARG_SYMBOLIC_AP || arg->kind == BIR_ARG_SYMBOLIC_IMM_VALUE)
                return refuse(b, inst, "branch-symbolic", "run lower_ap first", "it still has a symbolic operand");
        }
    }
    if (inst->rare && inst->rare->texts && inst->rare->texts->predicates)
        return refuse(b, inst, "branch-predicate", "unroll the loop", "predicates are not lowered to branches");
    if (inst->rare) {
        struct bir_instruction_rare *rare = inst->rare->loopnest ? bir_instruction_need_rare(b->module, inst) : NULL;
        if (inst->rare->loopnest && !rare)
            return bir_pass_out_of_memory(b->context, b->module);
        if (rare)
            rare->loopnest = NULL;
        if (inst->rare->texts)
            inst->rare->texts->loopnest = inst->rare->texts->order = NULL;
    }
    return BIR_OK;
}

static enum bir_status survey(struct branching *b, struct shape *s)
{
    struct bir_walk walk;
    uint64_t n = 0;
    bir_walk_init(&walk, &s->loop->region);
    for (struct bir_instruction *inst = bir_walk_next(&walk); inst; inst = bir_walk_next(&walk)) {
        BIR_TRY(bir_pass_poll_walk(b->context, inst, n++));
        if (bir_engine_is_concrete(inst->engine) && !bir_instruction_region(inst))
            s->engines |= 1u << inst->engine;
        BIR_TRY(check_body_instruction(b, inst));
    }
    return BIR_OK;
}

static bool fits_int32(int64_t v)
{
    return v >= INT32_MIN && v <= INT32_MAX;
}

static enum bir_status check_loop(struct branching *b, struct shape *s)
{
    struct pelican_axis *axis = s->loop->axis;
    int64_t end;
    if (!axis)
        return refuse(b, s->inst, "lower-loop-axis", "give the Loop a LoopAxis", "it has no axis");
    s->lb = axis->lb;
    s->ub = axis->ub;
    s->stride = axis->stride;
    if (!fits_int32(s->lb) || !fits_int32(s->ub) || !fits_int32(s->stride) ||
        __builtin_add_overflow(s->ub, s->stride, &end) || !fits_int32(end))
        return refuse(b, s->inst, "branch-overflow", "counters have 32 bits", "its bounds do not fit int32");
    for (unsigned e = BIR_ENGINE_POOL; e <= BIR_ENGINE_SP; e++) {
        if (!(s->engines >> e & 1))
            continue;
        s->iv[e] = bir_induction_register(axis, (enum bir_engine)e);
        if (!s->iv[e])
            return refuse(b, s->inst, "lower-no-register", "run assign_loop_registers first",
                          "loop axis hasn't been assigned register for induction variable!");
    }
    return BIR_OK;
}

static bool constant_bound(const struct pelican_expr *e, int64_t *value)
{
    struct pelican_range r = { 0 };
    if (e)
        r = pelican_range_of(e);
    *value = r.inf;
    return r.known && r.inf == r.sup && fits_int32(r.inf);
}

/* The one engine of a loop that a register steers. */
static enum bir_status check_single_engine(struct branching *b, struct shape *s, const struct bir_register *reg)
{
    if (s->engines != 0 && s->engines != 1u << reg->engine)
        return refuse(b, s->inst, "branch-engines", "use one loop per engine",
                      "its body runs on other engines than the register that steers it");
    s->engines = 1u << reg->engine;
    return bir_engine_is_concrete(reg->engine)
               ? BIR_OK
               : refuse(b, s->inst, "branch-engines", "run split_engines first", "its register is on no single engine");
}

static enum bir_status check_dynamic(struct branching *b, struct shape *s)
{
    const struct pelican_expr *ub = s->loop->dynamic_bounds[1];
    if (!constant_bound(s->loop->dynamic_bounds[0], &s->lb) ||
        !constant_bound(s->loop->dynamic_bounds[2], &s->stride) || s->stride == 0 || !ub ||
        ub->kind != PELICAN_AFFINE || ub->u.affine.n_terms != 1 ||
        ub->u.affine.terms[0].index->kind != PELICAN_RUNTIME_VALUE || !fits_int32(ub->u.affine.c) ||
        !fits_int32(ub->u.affine.terms[0].coef))
        return refuse(b, s->inst, "branch-bounds",
                      "lb and stride are constants, ub is constant plus coefficient times register",
                      "Only scalar values supported in Dynamic For Loop upper bound expressions currently");
    return check_single_engine(b, s, ub->u.affine.terms[0].index->u.reg);
}

static enum bir_status check_do_while(struct branching *b, struct shape *s)
{
    const struct bir_prop *cond = bir_props_find(s->inst->props, "cond");
    if (!cond || cond->type != BIR_VALUE_EXPR || cond->u.e->kind != PELICAN_RUNTIME_VALUE)
        return refuse(b, s->inst, "branch-bounds", "name a register", "its condition is no register");
    s->condition = cond->u.e->u.reg;
    return check_single_engine(b, s, s->condition);
}

/* --- blocks --- */

static struct bir_block *new_block(struct branching *b, const char *base, const char *suffix, struct bir_block *after)
{
    struct bir_strtab *strings = &b->module->strings;
    const struct bir_str *name = bir_free_name(&b->free_blocks, strings, b->context->scratch, &b->names,
                                               bir_intern_printf(strings, "%s%s", base, suffix));
    struct bir_block *block = BIR_NEW(&b->module->arena, BIR_MEM_INSTRUCTIONS, struct bir_block);
    if (!name || !block || !bir_map_put(&b->names, b->context->scratch, name, block))
        return NULL;
    block->name = name;
    block->region = after->region;
    block->source_offset = BIR_NO_SOURCE;
    block->prev = after;
    block->next = after->next;
    *(after->next ? &after->next->prev : &after->region->last) = block;
    after->next = block;
    return block;
}

/* Moves what stands behind inst into a block of its own. */
static void move_tail(struct bir_instruction *inst, struct bir_block *to)
{
    while (inst->next) {
        struct bir_instruction *moved = inst->next;
        bir_instruction_unlink(moved);
        bir_block_append(to, moved);
    }
}

/* A name that another block has is changed, so that branches mean one block. */
static bool claim_name(struct branching *b, struct bir_block *block)
{
    if (bir_map_get(&b->names, block->name) == block)
        return true;
    const struct bir_str *name =
        bir_free_name(&b->free_blocks, &b->module->strings, b->context->scratch, &b->names, block->name);
    if (!name || !bir_map_put(&b->names, b->context->scratch, name, block))
        return false;
    block->name = name;
    return true;
}

static void rehome(struct bir_block *block, struct bir_region *region)
{
    block->region = region;
    BIR_EACH_INSTRUCTION (inst, block) {
        struct bir_region *nested = bir_instruction_region(inst);
        if (nested)
            nested->depth = region->depth + 1;
    }
}

/* The body's blocks into the list, behind `after`; the last of them, or `after` when there is none. */
static struct bir_block *splice_body(struct branching *b, struct shape *s, struct bir_block *after)
{
    struct bir_region *region = after->region, *body = &s->loop->region;
    s->body = body->first;
    for (struct bir_block *block = body->first, *next; block; block = next) {
        next = block->next;
        if (!claim_name(b, block))
            return NULL;
        rehome(block, region);
        block->prev = after;
        block->next = after->next;
        *(after->next ? &after->next->prev : &region->last) = block;
        after->next = block;
        after = block;
    }
    body->first = body->last = NULL;
    return after;
}

/* --- emission --- */

static bool set_text(struct branching *b, struct bir_instruction *inst, const char *key, const char *value)
{
    struct bir_prop prop = { .type = BIR_VALUE_TEXT, .u.s = bir_intern_cstr(&b->module->strings, value) };
    inst->props = prop.u.s ? bir_props_with(b->module, inst->props, key, &prop) : NULL;
    return inst->props != NULL;
}

/* A branch at the end of the block: to on_true when left compare right (right NULL: imm), else to on_false. */
static bool compare_and_branch(struct branching *b, struct shape *s, struct bir_block *block,
                               enum bir_branch_compare compare, struct bir_register *left, struct bir_register *right,
                               int64_t imm, const struct bir_block *on_true, const struct bir_block *on_false)
{
    struct bir_strtab *strings = &b->module->strings;
    const struct bir_str *name =
        bir_free_name(&b->free_instructions, strings, b->context->scratch, &b->function->instructions,
                      bir_intern_printf(strings, "%s-branch-%u", inst_name(s->inst), b->emitter.next++));
    struct bir_instruction *inst =
        name ? bir_instruction_new(b->module, BIR_OP_COMPARE_AND_BRANCH, (enum bir_engine)left->engine, name) : NULL;
    if (!inst || !set_text(b, inst, "comp_op", bir_enum_name(BIR_ENUM_BRANCH_COMPARE, (int)compare)) ||
        !set_text(b, inst, "on_true", on_true->name->text) || !set_text(b, inst, "on_false", on_false->name->text) ||
        !bir_add_register_access(b->module, inst, BIR_ROLE_IN, left, BIR_EMIT_DTYPE))
        return false;
    inst->source_offset = s->inst->source_offset;
    bool added = right ? bir_add_register_access(b->module, inst, BIR_ROLE_IN, right, BIR_EMIT_DTYPE) != NULL
                       : bir_add_imm_int(b->module, inst, BIR_EMIT_DTYPE, imm) != NULL;
    bir_block_append(block, inst);
    return added;
}

static bool skip_branch(struct branching *b, struct shape *s, struct bir_block *block, unsigned engine)
{
    const struct bir_str *name =
        bir_intern_printf(&b->module->strings, "%s-skip.%s", inst_name(s->inst), bir_engine_name((uint8_t)engine));
    struct bir_instruction *inst =
        name ? bir_instruction_new(b->module, BIR_OP_UNCONDITIONAL_BRANCH, (enum bir_engine)engine, name) : NULL;
    if (!inst || !set_text(b, inst, "target", s->join->name->text))
        return false;
    bir_block_append(block, inst);
    return true;
}

/* Register code for one engine goes before the region op, which is about to vanish and lends its engine. */
static void place(struct branching *b, struct shape *s, unsigned engine, const char *suffix)
{
    uint32_t next = b->emitter.next;
    s->inst->engine = (uint8_t)engine;
    bir_emitter_place(&b->emitter, s->inst, suffix);
    b->emitter.next = next;
}

static bool emit_entry(struct branching *b, struct shape *s, unsigned e)
{
    const struct pelican_expr *ub = s->loop->dynamic_bounds[1];
    place(b, s, e, "-iv-init-");
    if (s->inst->opcode == BIR_OP_DYNAMIC_FOR_LOOP) {
        struct pelican_axis *axis = s->loop->dynamic_axis;
        s->iv[e] = axis ? bir_induction_register(axis, (enum bir_engine)e) : NULL;
        if (!s->iv[e])
            s->iv[e] = bir_emit_mint(&b->emitter, "-iv-", e, 1);
        s->limit = bir_emit_mint(&b->emitter, "-limit-", e, 1);
        bir_emitter_suffix(&b->emitter, "-limit-init-");
        if (b->emitter.failed)
            return false;
        bir_emit_alu_reg_imm(&b->emitter, BIR_ALU_MULT, s->limit, ub->u.affine.terms[0].index->u.reg,
                             ub->u.affine.terms[0].coef);
        bir_emit_alu_reg_imm(&b->emitter, BIR_ALU_ADD, s->limit, s->limit, ub->u.affine.c);
        bir_emitter_suffix(&b->emitter, "-iv-init-");
    }
    if (s->iv[e])
        bir_emit_move_imm(&b->emitter, s->iv[e], s->lb);
    return !b->emitter.failed;
}

/* iv := iv + stride, in the latch. */
static bool emit_step(struct branching *b, struct shape *s, unsigned e)
{
    struct bir_instruction *before = bir_instruction_prev(s->inst);
    place(b, s, e, "-iv-step-");
    bir_emit_alu_reg_imm(&b->emitter, BIR_ALU_ADD, s->iv[e], s->iv[e], s->stride);
    if (b->emitter.failed || bir_instruction_prev(s->inst) == before)
        return false;
    struct bir_instruction *step = bir_instruction_prev(s->inst);
    bir_instruction_unlink(step);
    bir_block_append(s->latch, step);
    return true;
}

static bool emit_back_branch(struct branching *b, struct shape *s, unsigned e)
{
    bool up = s->stride > 0;
    if (s->condition)
        return compare_and_branch(b, s, s->latch, BIR_BRANCH_IS_NEIMM, s->condition, NULL, 0, s->body, s->join);
    if (s->limit)
        return compare_and_branch(b, s, s->latch, up ? BIR_BRANCH_IS_LTREG : BIR_BRANCH_IS_GTREG, s->iv[e], s->limit, 0,
                                  s->body, s->join);
    return compare_and_branch(b, s, s->latch, up ? BIR_BRANCH_IS_LTIMM : BIR_BRANCH_IS_GTIMM, s->iv[e], NULL, s->ub,
                              s->body, s->join);
}

static bool emit_entry_branch(struct branching *b, struct shape *s, unsigned e)
{
    bool up = s->stride > 0;
    if (s->inst->opcode == BIR_OP_LOOP && pelican_axis_trip_count(s->loop->axis) == 0)
        return skip_branch(b, s, s->head, e);
    if (s->inst->opcode == BIR_OP_DYNAMIC_FOR_LOOP)
        return compare_and_branch(b, s, s->head, up ? BIR_BRANCH_IS_GEREG : BIR_BRANCH_IS_LEREG, s->iv[e], s->limit, 0,
                                  s->join, s->body);
    return true;
}

static struct bir_instruction *new_barrier(struct branching *b, struct shape *s)
{
    const struct bir_str *name = bir_intern_printf(&b->module->strings, "%s-join", inst_name(s->inst));
    struct bir_instruction *barrier =
        name ? bir_instruction_new(b->module, BIR_OP_ALL_ENGINE_BARRIER, BIR_ENGINE_ALL, name) : NULL;
    if (!barrier || !bir_map_put(&b->joins, b->context->scratch, s->inst, barrier))
        return NULL;
    barrier->edges = s->inst->edges;
    barrier->source_offset = s->inst->source_offset;
    bir_block_append(s->join, barrier);
    return barrier;
}

/* --- taking apart --- */

static bool build_blocks(struct branching *b, struct shape *s)
{
    s->join = new_block(b, inst_name(s->inst), "-join", s->head);
    if (!s->join || !new_barrier(b, s))
        return false;
    move_tail(s->inst, s->join);
    struct bir_block *last = splice_body(b, s, s->head);
    s->latch = last && s->body ? new_block(b, inst_name(s->inst), "-latch", last) : NULL;
    return last && (!s->body || s->latch);
}

/* Calls emit for each engine of the body, in ordinal order. */
typedef bool engine_fn(struct branching *b, struct shape *s, unsigned engine);

static bool each_engine(struct branching *b, struct shape *s, engine_fn *emit)
{
    for (unsigned e = BIR_ENGINE_POOL; e <= BIR_ENGINE_SP && s->body; e++) {
        if (s->engines >> e & 1 && !emit(b, s, e))
            return false;
    }
    return true;
}

static bool rebuild(struct branching *b, struct shape *s)
{
    s->head = s->inst->block;
    b->emitter.next = 0;
    if (!build_blocks(b, s))
        return false;
    if (!s->condition && (!each_engine(b, s, emit_entry) || !each_engine(b, s, emit_step)))
        return false;
    bir_instruction_drop_uses(s->inst);
    bir_instruction_unlink(s->inst);
    if (!each_engine(b, s, emit_entry_branch) || !each_engine(b, s, emit_back_branch))
        return false;
    b->context->stats->lowered_loops++;
    return b->module->arena.failure == BIR_OK;
}

static enum bir_status take_apart(struct branching *b, struct bir_instruction *inst)
{
    struct shape s = { .inst = inst, .loop = inst->rare->loop };
    BIR_TRY(survey(b, &s));
    if (inst->opcode == BIR_OP_LOOP)
        BIR_TRY(check_loop(b, &s));
    else if (inst->opcode == BIR_OP_DYNAMIC_FOR_LOOP)
        BIR_TRY(check_dynamic(b, &s));
    else
        BIR_TRY(check_do_while(b, &s));
    return rebuild(b, &s) ? BIR_OK : bir_pass_out_of_memory(b->context, b->module);
}

static bool is_loop(const struct bir_instruction *inst)
{
    return (inst->opcode == BIR_OP_LOOP || inst->opcode == BIR_OP_DYNAMIC_FOR_LOOP ||
            inst->opcode == BIR_OP_DO_WHILE) &&
           bir_instruction_region(inst);
}

/* Edges to a loop mean its end: the barrier. */
static void retarget_edges(struct branching *b)
{
    struct bir_walk walk;
    bir_walk_init(&walk, &b->function->body);
    for (struct bir_instruction *inst = bir_walk_next(&walk); inst; inst = bir_walk_next(&walk)) {
        BIR_EACH_EDGE (edge, inst) {
            struct bir_instruction *join = bir_map_get(&b->joins, edge->target);
            if (join)
                edge->target = join;
        }
    }
}

static enum bir_status branch_function(struct branching *b)
{
    uint64_t n = 0;
    for (struct bir_block *block = b->function->body.first; block; block = block->next) {
        BIR_TRY(bir_pass_poll(b->context, 0));
        if (!claim_name(b, block))
            return bir_pass_out_of_memory(b->context, b->module);
    }
    for (struct bir_block *block = b->function->body.first; block; block = block->next) {
        struct bir_instruction *inst = block->first; /* a loop ends its block, whose tail is a later block then */
        while (inst && !is_loop(inst)) {
            BIR_TRY(bir_pass_poll_walk(b->context, inst, n++));
            inst = inst->next;
        }
        if (inst)
            BIR_TRY(take_apart(b, inst));
    }
    retarget_edges(b);
    return BIR_OK;
}

/*
 * Entry: loops have induction registers (assign_loop_registers); no symbolic operand is left in a body (lower_ap).
 * Exit: no Loop, DynamicForLoop or DoWhile remains; instructions are in the order they were in.
 * Invalidates: register colours, when the module has a DynamicForLoop (its counters and limits are new).
 */
enum bir_status bir_pass_lower_branch(struct bir_module *module, const struct bir_pass_context *context,
                                      struct bir_diags *diags)
{
    BIR_EACH_CODE_FUNCTION(f, module)
    {
        struct branching b = { .module = module, .function = f, .context = context, .diags = diags };
        bir_emitter_init(&b.emitter, module, context);
        BIR_TRY(branch_function(&b));
    }
    return BIR_OK;
}
