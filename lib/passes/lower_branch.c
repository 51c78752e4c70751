/*
 * lower_branch: structured loops and predicates become blocks with branches (lowering.md 7). Optional: everything else
 * keeps Loop containers.
 *
 * A loop in the middle of block B, with body blocks P .. Q, becomes
 *
 *     B        what stood before it; per engine: iv := lb
 *     P .. Q   the body, nested loops taken apart in turn
 *     latch    per engine: iv := iv + stride; branch to P while iv is below ub (above, for a negative stride), else
 *              to `join`
 *     join     an all-engine barrier, then what stood behind the loop
 *
 * The engines of a loop are those with instructions in its body; the others run through it. When the body contains code
 * on ALL - the join of a nested loop is such code - every engine goes round the loop, so that all meet at the barrier
 * equally often (choice); those that have no induction register get one.
 *
 * A Loop that never runs is skipped by a test that is always true (choice: an unconditional branch would leave a body
 * that only its own back branch leads to); one that runs at all is entered without a test. A DynamicForLoop tests at
 * its entry too, against a limit register; a DoWhile repeats while its register is not 0. Limit and condition are in a
 * register of one engine; the others get copies (lower_branch_share.c): of the limit before the loop, of the condition
 * in each latch, so that engine goes round a DoWhile in any case. A Break becomes a branch to the join. Predicates: see
 * lower_branch_guard.c.
 */
#include "passes/lower_branch.h"

#include "bir/predicate.h"
#include "passes/induction.h"

/* The loop at hand. */
struct shape {
    struct bir_instruction *inst;
    struct bir_loop *loop;
    unsigned engines;
    struct bir_block *head, *body, *latch, *join;
    struct bir_register *iv[BIR_ENGINE_COUNT];
    struct bir_register *steering; /* DynamicForLoop: in its bound; DoWhile: its condition */
    struct bir_branch_share share; /* of the limit or condition */
    bool again;                    /* executed more than once */
    int64_t lb, ub, stride;        /* ub: only of a Loop */
};

static const char *inst_name(const struct bir_instruction *inst)
{
    return inst->name ? inst->name->text : "loop";
}

static bool is_loop(const struct bir_instruction *inst)
{
    return (inst->opcode == BIR_OP_LOOP || inst->opcode == BIR_OP_DYNAMIC_FOR_LOOP ||
            inst->opcode == BIR_OP_DO_WHILE) &&
           bir_instruction_region(inst);
}

/* --- survey --- */

#define OWN_SHIFT 8 /* of the bit set of engines with instructions of their own */

/* Adds engines to all loops around an instruction. */
static enum bir_status note_engines(struct bir_branching *b, const struct bir_instruction *inst, uintptr_t engines)
{
    for (struct bir_instruction *owner = inst->block->region->owner; owner; owner = owner->block->region->owner) {
        uintptr_t known = (uintptr_t)bir_map_get(&b->engines, owner);
        if ((known & engines) == engines)
            return BIR_OK;
        if (!bir_map_put(&b->engines, b->context->scratch, owner, (void *)(known | engines | 1)))
            return bir_arena_failure(b->context->scratch);
    }
    return BIR_OK;
}

static bool runs_on_all(const struct bir_instruction *inst)
{
    return inst->engine == BIR_ENGINE_ALL && !(bir_opcode_flags(inst->opcode) & BIR_OPF_TERMINATOR);
}

/* Register that steers the loop, or NULL. */
static struct bir_register *steering_register(const struct bir_instruction *inst)
{
    const struct bir_loop *loop = inst->rare->loop;
    const struct pelican_expr *e = NULL;
    if (inst->opcode == BIR_OP_DYNAMIC_FOR_LOOP) {
        const struct pelican_expr *ub = loop->dynamic_bounds[1];
        e = ub && ub->kind == PELICAN_AFFINE && ub->u.affine.n_terms == 1 ? ub->u.affine.terms[0].index : NULL;
    } else if (inst->opcode == BIR_OP_DO_WHILE) {
        const struct bir_prop *cond = bir_props_find(inst->props, "cond");
        e = cond && cond->type == BIR_VALUE_EXPR ? cond->u.e : NULL;
    }
    return e && e->kind == PELICAN_RUNTIME_VALUE ? e->u.reg : NULL;
}

static enum bir_status survey_loop(struct bir_branching *b, struct bir_instruction *inst)
{
    const struct bir_register *steering = steering_register(inst);
    uintptr_t own = (uintptr_t)bir_map_get(&b->engines, inst) | 1;
    if (steering && inst->opcode == BIR_OP_DO_WHILE && bir_engine_is_concrete(steering->engine))
        own |= (uintptr_t)1 << steering->engine;
    if (inst->block->region->owner && !bir_map_put(&b->nested, b->context->scratch, inst, inst))
        return bir_arena_failure(b->context->scratch);
    if (!bir_map_put(&b->engines, b->context->scratch, inst, (void *)own))
        return bir_arena_failure(b->context->scratch);
    return note_engines(b, inst, BIR_BRANCH_ENGINES); /* the join */
}

/* Nothing in a body may still name the axis. */
static enum bir_status check_body_instruction(struct bir_branching *b, struct bir_instruction *inst)
{
    for (int role = 0; role < BIR_ROLE_COUNT; role++) {
        BIR_EACH_ARGUMENT (arg, inst, role) {
            if (arg->kind == BIR_ARG_SYMBOLIC_AP || arg->kind == BIR_ARG_SYMBOLIC_IMM_VALUE)
                return bir_branch_refuse(b, inst, "branch-symbolic", "run lower_ap first",
                                         "it still has a symbolic operand");
        }
    }
    if (inst->rare && (inst->rare->loopnest || inst->rare->texts)) {
        struct bir_instruction_rare *rare = bir_instruction_need_rare(b->module, inst);
        if (!rare)
            return bir_pass_out_of_memory(b->context, b->module);
        rare->loopnest = NULL;
        if (rare->texts)
            rare->texts->loopnest = rare->texts->order = NULL;
    }
    return BIR_OK;
}

/* The engines of every loop; checks of what stands in loops. */
static enum bir_status survey(struct bir_branching *b)
{
    struct bir_walk walk;
    uint64_t n = 0;
    bir_walk_init(&walk, &b->function->body);
    for (struct bir_instruction *inst = bir_walk_next(&walk); inst; inst = bir_walk_next(&walk)) {
        BIR_TRY(bir_pass_poll_walk(b->context, inst, n++));
        struct bir_instruction *owner = inst->block->region->owner;
        uintptr_t tested = 0;
        b->had_branches =
            b->had_branches || inst->opcode == BIR_OP_COMPARE_AND_BRANCH || inst->opcode == BIR_OP_UNCONDITIONAL_BRANCH;
        if (is_loop(inst))
            BIR_TRY(survey_loop(b, inst));
        if (bir_instruction_is_predicated(inst))
            BIR_TRY(bir_branch_parse_guard(b, inst, &tested));
        if (!owner)
            continue;
        if (runs_on_all(inst))
            BIR_TRY(note_engines(b, inst, BIR_BRANCH_ENGINES));
        else if (bir_engine_is_concrete(inst->engine) && !bir_instruction_region(inst))
            BIR_TRY(note_engines(b, inst, (uintptr_t)(1u | 1u << OWN_SHIFT) << inst->engine));
        if (!is_loop(owner) && (is_loop(inst) || inst->opcode == BIR_OP_BREAK || bir_instruction_is_predicated(inst)))
            return bir_branch_refuse(b, inst, "branch-block", "put it in a loop or in the function",
                                     "no branch can stand among the descriptors of a DMABlock");
        if (inst->opcode == BIR_OP_BREAK && !bir_map_put(&b->exits, b->context->scratch, inst, owner))
            return bir_arena_failure(b->context->scratch);
        BIR_TRY(note_engines(b, inst, tested & BIR_BRANCH_ENGINES));
        BIR_TRY(check_body_instruction(b, inst));
    }
    return BIR_OK;
}

/* Counters of the loop on every engine that goes round it. */
static enum bir_status find_counters(struct bir_branching *b, struct bir_instruction *inst)
{
    struct bir_loop *loop = inst->rare->loop;
    struct pelican_axis *axis = loop->axis ? loop->axis : loop->dynamic_axis;
    uintptr_t engines = (uintptr_t)bir_map_get(&b->engines, inst);
    uint8_t engine = inst->engine;
    for (unsigned e = BIR_ENGINE_POOL; axis && e <= BIR_ENGINE_SP; e++) {
        if (!(engines >> e & 1) || bir_induction_register(axis, (enum bir_engine)e))
            continue;
        if (loop->axis && engines >> e >> OWN_SHIFT & 1)
            return bir_branch_refuse(b, inst, "lower-no-register", "run assign_loop_registers first",
                                     "loop axis hasn't been assigned register for induction variable!");
        bir_branch_place(b, inst, e, "");
        struct bir_register *reg = bir_emit_mint(&b->emitter, "-iv-", e, 1);
        if (!reg || !pelican_axis_set_register(&b->module->expressions, axis, e, reg))
            return bir_pass_out_of_memory(b->context, b->module);
    }
    inst->engine = engine;
    return BIR_OK;
}

static enum bir_status find_all_counters(struct bir_branching *b)
{
    struct bir_walk walk;
    uint64_t n = 0;
    bir_walk_init(&walk, &b->function->body);
    for (struct bir_instruction *inst = bir_walk_next(&walk); inst; inst = bir_walk_next(&walk)) {
        BIR_TRY(bir_pass_poll_walk(b->context, inst, n++));
        if (is_loop(inst))
            BIR_TRY(find_counters(b, inst));
    }
    return BIR_OK;
}

/* --- checks --- */

static bool fits_int32(int64_t v)
{
    return v >= INT32_MIN && v <= INT32_MAX;
}

static enum bir_status check_loop(struct bir_branching *b, struct shape *s)
{
    struct pelican_axis *axis = s->loop->axis;
    int64_t end;
    if (!axis)
        return bir_branch_refuse(b, s->inst, "lower-loop-axis", "give the Loop a LoopAxis", "it has no axis");
    s->lb = axis->lb;
    s->ub = axis->ub;
    s->stride = axis->stride;
    if (!fits_int32(s->lb) || !fits_int32(s->ub) || !fits_int32(s->stride) ||
        __builtin_add_overflow(s->ub, s->stride, &end) || !fits_int32(end))
        return bir_branch_refuse(b, s->inst, "branch-overflow", "counters have 32 bits", "its bounds do not fit int32");
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

static enum bir_status check_steering(struct bir_branching *b, const struct shape *s)
{
    if (!bir_engine_is_concrete(s->steering->engine))
        return bir_branch_refuse(b, s->inst, "branch-engines", "run split_engines first",
                                 "the register that steers it is on no single engine");
    if (s->steering->num_physical == 2)
        return bir_branch_refuse(b, s->inst, "branch-bounds", "branches compare 32 bits",
                                 "the register that steers it has 64 bits");
    return BIR_OK;
}

static enum bir_status check_dynamic(struct bir_branching *b, struct shape *s)
{
    const struct pelican_expr *ub = s->loop->dynamic_bounds[1];
    if (!constant_bound(s->loop->dynamic_bounds[0], &s->lb) ||
        !constant_bound(s->loop->dynamic_bounds[2], &s->stride) || s->stride == 0 || !s->steering ||
        !fits_int32(ub->u.affine.c) || !fits_int32(ub->u.affine.terms[0].coef))
        return bir_branch_refuse(b, s->inst, "branch-bounds",
                                 "lb and stride are constants, ub is constant plus coefficient times register",
                                 "Only scalar values supported in Dynamic For Loop upper bound expressions currently");
    return check_steering(b, s);
}

static enum bir_status check_do_while(struct bir_branching *b, struct shape *s)
{
    if (!s->steering)
        return bir_branch_refuse(b, s->inst, "branch-bounds", "name a register", "its condition is no register");
    return check_steering(b, s);
}

/* --- blocks --- */

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
static struct bir_block *splice_body(struct bir_branching *b, struct shape *s, struct bir_block *after)
{
    struct bir_region *region = after->region, *body = &s->loop->region;
    s->body = body->first;
    for (struct bir_block *block = body->first, *next; block; block = next) {
        next = block->next;
        if (!bir_branch_claim_name(b, block))
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

static struct bir_instruction *new_barrier(struct bir_branching *b, struct shape *s)
{
    const struct bir_str *name = bir_intern_printf(&b->module->strings, "%s-join", inst_name(s->inst));
    struct bir_instruction *barrier =
        name ? bir_instruction_new(b->module, BIR_OP_ALL_ENGINE_BARRIER, BIR_ENGINE_ALL, name) : NULL;
    if (!barrier || !bir_map_put(&b->joins, b->context->scratch, s->inst, barrier))
        return NULL;
    barrier->edges = s->inst->edges;
    barrier->source_offset = s->inst->source_offset;
    if (s->join->first)
        bir_instruction_insert_before(s->join->first, barrier);
    else
        bir_block_append(s->join, barrier);
    return barrier;
}

/* limit := coefficient * register + constant, on the register's engine. */
static bool emit_limit(struct bir_branching *b, struct shape *s)
{
    const struct pelican_expr *ub = s->loop->dynamic_bounds[1];
    struct bir_emitter *e = &b->emitter;
    struct bir_register *limit = s->share.value;
    bir_branch_place(b, s->inst, s->steering->engine, "-limit-init-");
    bir_emit_alu_reg_imm(e, BIR_ALU_MULT, limit, s->steering, ub->u.affine.terms[0].coef);
    bir_emit_alu_reg_imm(e, BIR_ALU_ADD, limit, limit, ub->u.affine.c);
    return !e->failed && bir_branch_share_emit(b, s->inst, &s->share, NULL, s->again);
}

/* The register that steers, or the limit made of it, on every engine: a limit at once, a condition in the latch. */
static enum bir_status share_steering(struct bir_branching *b, struct shape *s)
{
    struct bir_register *value = s->steering;
    if (!s->steering)
        return BIR_OK;
    if (s->inst->opcode == BIR_OP_DYNAMIC_FOR_LOOP) {
        bir_branch_place(b, s->inst, s->steering->engine, "");
        value = bir_emit_mint(&b->emitter, "-limit-", s->steering->engine, 1);
        if (!value)
            return bir_pass_out_of_memory(b->context, b->module);
    }
    bool do_while = s->inst->opcode == BIR_OP_DO_WHILE;
    BIR_TRY(bir_branch_share_init(b, s->inst, do_while ? "condition" : "limit", value, s->engines, &s->share));
    if (!do_while && s->loop->region.first && !emit_limit(b, s))
        return bir_pass_out_of_memory(b->context, b->module);
    return BIR_OK;
}

static enum bir_status build_blocks(struct bir_branching *b, struct shape *s)
{
    s->join = bir_branch_split(b, s->inst, "-join");
    if (!s->join || !new_barrier(b, s))
        return bir_pass_out_of_memory(b->context, b->module);
    BIR_TRY(share_steering(b, s)); /* before the tests, in which the register's engine need not take part */
    BIR_TRY(bir_branch_guard_loop(b, s->inst, s->join));
    s->head = s->inst->block;
    struct bir_block *last = splice_body(b, s, s->head);
    bool latch = s->body && s->engines != 0; /* else nobody has anything to do there */
    s->latch = last && latch ? bir_branch_new_block(b, inst_name(s->inst), "-latch", last) : NULL;
    return last && (!latch || s->latch) ? BIR_OK : bir_pass_out_of_memory(b->context, b->module);
}

/* --- emission --- */

static bool emit_entry(struct bir_branching *b, struct shape *s, unsigned e)
{
    bir_branch_place(b, s->inst, e, "-iv-init-");
    bir_emit_move_imm(&b->emitter, s->iv[e], s->lb);
    return !b->emitter.failed;
}

/* iv := iv + stride, in the latch. */
static bool emit_step(struct bir_branching *b, struct shape *s, unsigned e)
{
    bir_branch_place(b, s->inst, e, "-iv-step-");
    bir_emit_alu_reg_imm(&b->emitter, BIR_ALU_ADD, s->iv[e], s->iv[e], s->stride);
    if (b->emitter.failed)
        return false;
    bir_instruction_unlink(b->emitter.last);
    bir_block_append(s->latch, b->emitter.last);
    return true;
}

static bool emit_back_branch(struct bir_branching *b, struct shape *s, unsigned e)
{
    bool up = s->stride > 0;
    struct bir_branch_test test = { .left = s->iv[e], .on_true = s->body, .on_false = s->join };
    if (s->inst->opcode == BIR_OP_DO_WHILE) {
        test.left = s->share.copies[e];
        test.compare = BIR_BRANCH_IS_NEIMM;
    } else if (s->inst->opcode == BIR_OP_DYNAMIC_FOR_LOOP) {
        test.right = s->share.copies[e];
        test.compare = up ? BIR_BRANCH_IS_LTREG : BIR_BRANCH_IS_GTREG;
    } else {
        test.imm = s->ub;
        test.compare = up ? BIR_BRANCH_IS_LTIMM : BIR_BRANCH_IS_GTIMM;
    }
    return bir_branch_compare(b, s->inst, s->latch, &test);
}

static bool emit_entry_branch(struct bir_branching *b, struct shape *s, unsigned e)
{
    struct bir_branch_test test = { .left = s->iv[e], .on_true = s->join, .on_false = s->body };
    if (s->inst->opcode == BIR_OP_LOOP && pelican_axis_trip_count(s->loop->axis) == 0) {
        test.imm = s->ub;
        test.compare = s->lb >= s->ub ? BIR_BRANCH_IS_GEIMM : BIR_BRANCH_IS_LEIMM; /* true */
        return bir_branch_compare(b, s->inst, s->head, &test);
    }
    if (s->inst->opcode != BIR_OP_DYNAMIC_FOR_LOOP)
        return true;
    test.right = s->share.copies[e];
    test.compare = s->stride > 0 ? BIR_BRANCH_IS_GEREG : BIR_BRANCH_IS_LEREG;
    return bir_branch_compare(b, s->inst, s->head, &test);
}

/* --- taking apart --- */

/* Calls emit for each engine of the body, in ordinal order. */
typedef bool engine_fn(struct bir_branching *b, struct shape *s, unsigned engine);

static bool each_engine(struct bir_branching *b, struct shape *s, engine_fn *emit)
{
    for (unsigned e = BIR_ENGINE_POOL; e <= BIR_ENGINE_SP && s->body; e++) {
        if (s->engines >> e & 1 && !emit(b, s, e))
            return false;
    }
    return true;
}

static bool emit_code(struct bir_branching *b, struct shape *s)
{
    if (s->inst->opcode == BIR_OP_DO_WHILE)
        return !s->latch || bir_branch_share_emit(b, s->inst, &s->share, s->latch, true);
    return each_engine(b, s, emit_entry) && each_engine(b, s, emit_step);
}

static bool rebuild(struct bir_branching *b, struct shape *s)
{
    if (!emit_code(b, s))
        return false;
    bir_instruction_drop_uses(s->inst);
    bir_instruction_unlink(s->inst);
    if (!each_engine(b, s, emit_entry_branch) || !each_engine(b, s, emit_back_branch) ||
        !bir_branch_fill(b, s->inst, "-entry", s->head, s->engines))
        return false;
    b->context->stats->lowered_loops++;
    return b->module->arena.failure == BIR_OK;
}

/* *head: the block that ends where the loop was. */
static enum bir_status take_apart(struct bir_branching *b, struct bir_instruction *inst, struct bir_block **head)
{
    struct shape s = { .inst = inst, .loop = inst->rare->loop, .engines = bir_branch_loop_engines(b, inst) };
    struct pelican_axis *axis = s.loop->axis ? s.loop->axis : s.loop->dynamic_axis;
    s.steering = steering_register(inst);
    s.again = b->had_branches || bir_map_get(&b->nested, inst) != NULL;
    if (inst->opcode == BIR_OP_LOOP)
        BIR_TRY(check_loop(b, &s));
    else if (inst->opcode == BIR_OP_DYNAMIC_FOR_LOOP)
        BIR_TRY(check_dynamic(b, &s));
    else
        BIR_TRY(check_do_while(b, &s));
    for (unsigned e = BIR_ENGINE_POOL; axis && e <= BIR_ENGINE_SP; e++)
        s.iv[e] = s.engines >> e & 1 ? bir_induction_register(axis, (enum bir_engine)e) : NULL;
    b->emitter.next = 0;
    BIR_TRY(build_blocks(b, &s));
    *head = s.head;
    return rebuild(b, &s) ? BIR_OK : bir_pass_out_of_memory(b->context, b->module);
}

/* Edges to a loop mean its end: the barrier. */
static void retarget_edges(struct bir_branching *b)
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

static enum bir_status branch_function(struct bir_branching *b)
{
    uint64_t n = 0;
    BIR_TRY(survey(b));
    BIR_TRY(find_all_counters(b));
    BIR_TRY(bir_branch_find_guards(b));
    for (struct bir_block *block = b->function->body.first; block; block = block->next) {
        BIR_TRY(bir_pass_poll(b->context, 0));
        if (!bir_branch_claim_name(b, block))
            return bir_pass_out_of_memory(b->context, b->module);
    }
    for (struct bir_block *block = b->function->body.first; block; block = block->next) {
        struct bir_instruction *inst = block->first; /* a loop ends its block; its body and the rest come behind */
        while (inst && !is_loop(inst)) {
            BIR_TRY(bir_pass_poll_walk(b->context, inst, n++));
            inst = inst->next;
        }
        if (inst)
            BIR_TRY(take_apart(b, inst, &block));
    }
    retarget_edges(b);
    return bir_branch_guard_instructions(b);
}

/* Does code name a register that has an id? */
static bool is_coloured(const struct bir_module *module)
{
    BIR_EACH_CODE_FUNCTION(f, module)
    {
        for (uint32_t i = 0; i < f->storages.count; i++) {
            const struct bir_register *reg = (const struct bir_register *)f->storages.items[i];
            if (reg->base.tag == BIR_STORAGE_REGISTER && reg->physical_id >= 0)
                return true;
        }
    }
    return false;
}

/* The new registers need ids too. Coalescing and spilling are counted on top of what was, the rest anew. */
static enum bir_status colour_again(struct bir_module *module, const struct bir_pass_context *context,
                                    struct bir_diags *diags)
{
    context->stats->coloured_registers = context->stats->peak_physical_registers = 0;
    context->stats->register_utilisation_percent = 0;
    return bir_pass_color_registers(module, context, diags);
}

/*
 * Entry: loops have induction registers (assign_loop_registers); no symbolic operand is left in a body (lower_ap).
 * Exit: no Loop, DynamicForLoop, DoWhile, Break of one or predicate remains; instructions are in the order they were
 * in. Invalidates: nothing: a module that was coloured, and to which registers were added, is coloured again.
 */
enum bir_status bir_pass_lower_branch(struct bir_module *module, const struct bir_pass_context *context,
                                      struct bir_diags *diags)
{
    bool coloured = is_coloured(module);
    uint64_t minted = context->stats->minted_registers;
    BIR_EACH_CODE_FUNCTION(f, module)
    {
        struct bir_branching b = { .module = module, .function = f, .context = context, .diags = diags };
        bir_emitter_init(&b.emitter, module, context);
        BIR_TRY(branch_function(&b));
    }
    return coloured && context->stats->minted_registers > minted ? colour_again(module, context, diags) : BIR_OK;
}
