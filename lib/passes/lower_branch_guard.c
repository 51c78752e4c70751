/*
 * Predicates become branches (lowering.md 7, convertPredToBranch).
 *
 * A predicated instruction I with the predicates p and q, alone on its engine E, becomes
 *
 *     block        what stood before it; E: value of p; branch to I-if when p holds, else to I-end
 *     I-if         E: value of q; branch to I-if-2 when q holds, else to I-end
 *     I-if-2       I
 *     I-end        what stood behind it
 *
 * Other engines have no branch there and run through. A loop is tested by every engine that runs round it, and left
 * for its join; code on ALL by every engine that runs round the loop it stands in, or by all.
 *
 * The affine part of a predicate is lowered into a register of the engine by the walk that addresses use, before the
 * comparison: with the constant 0 when nothing else is left, with a register when one runtime register has the
 * coefficient 1 or -1. Everything else is the vendor's Unsupported comparison, and refused.
 *
 * choice: the register of a predicate is on the engine that branches; the sheet puts it on SP, because there one branch
 * stands for all engines, and here each has its own.
 * choice: a register of another engine is brought to those that test it (lower_branch_share.c).
 * choice: register code that computes an address for I stays unguarded before it, as the passes emit it.
 *
 * Predicates are read and checked while the loops stand, since their axes are looked up by the enclosing loops.
 */
#include "passes/lower_branch.h"

#include <stdio.h>

#include "bir/predicate.h"

struct condition {
    struct bir_affine left;     /* of engines: the same expression, checked for each */
    struct bir_register *right; /* or NULL: 0 */
    enum bir_branch_compare compare;
    struct bir_branch_share share; /* of right */
};

struct guard {
    struct bir_predicates predicates;
    unsigned engines;
    bool again; /* the instruction may be executed more than once */
    struct condition *conditions;
};

static const char *inst_name(const struct bir_instruction *inst)
{
    return inst->name ? inst->name->text : "loop";
}

/* --- finding --- */

/* The engines that have to decide. */
static unsigned guard_engines(const struct bir_branching *b, const struct bir_instruction *inst)
{
    const struct bir_instruction *loop = inst->block->region->owner;
    if (bir_instruction_region(inst))
        return bir_branch_loop_engines(b, inst);
    if (bir_engine_is_concrete(inst->engine))
        return 1u << inst->engine;
    return loop ? bir_branch_loop_engines(b, loop) : BIR_BRANCH_ENGINES;
}

/* Takes the runtime register out of an affine expression: rest >= register or, with coefficient 1, -rest <= register.
 * NULL on failure of an allocation or of a negation. */
static const struct pelican_expr *split_register(struct bir_branching *b, const struct pelican_expr *e, uint32_t at,
                                                 struct condition *condition, bool at_least)
{
    struct pelican_context *p = &b->module->expressions;
    uint32_t n = e->u.affine.n_terms;
    bool negate = e->u.affine.terms[at].coef == 1;
    struct pelican_term *terms = bir_arena_alloc_array(b->context->scratch, BIR_MEM_OTHER, n, sizeof *terms);
    if (!terms)
        return NULL;
    memcpy(terms, e->u.affine.terms, n * sizeof *terms);
    condition->right = terms[at].index->u.reg;
    condition->compare = !at_least ? BIR_BRANCH_IS_EQREG : negate ? BIR_BRANCH_IS_LEREG : BIR_BRANCH_IS_GEREG;
    terms[at] = terms[n - 1];
    const struct pelican_expr *rest = pelican_affine(p, e->u.affine.c, terms, n - 1);
    const struct pelican_expr *turned = rest && negate ? pelican_mult(p, rest, -1) : rest;
    return turned ? pelican_simplify(p, turned) : NULL;
}

/* Sides of the comparison. *left stays NULL when the expression is none that has one. */
static enum bir_status find_sides(struct bir_branching *b, const struct bir_predicate *predicate,
                                  struct condition *condition, const struct pelican_expr **left)
{
    struct pelican_context *p = &b->module->expressions;
    const struct pelican_expr *e = pelican_simplify(p, predicate->expr);
    uint32_t found = 0, at = 0;
    *left = e;
    condition->compare = predicate->at_least ? BIR_BRANCH_IS_GEIMM : BIR_BRANCH_IS_EQIMM;
    for (uint32_t i = 0; e && e->kind == PELICAN_AFFINE && i < e->u.affine.n_terms; i++) {
        if (e->u.affine.terms[i].index->kind != PELICAN_RUNTIME_VALUE)
            continue;
        found++;
        at = i;
    }
    if (found == 1 && (e->u.affine.terms[at].coef == 1 || e->u.affine.terms[at].coef == -1))
        *left = split_register(b, e, at, condition, predicate->at_least);
    else if (found > 0)
        *left = NULL;
    if (*left || (found > 0 && !condition->right) || p->overflow)
        return BIR_OK;
    return bir_pass_out_of_memory(b->context, b->module);
}

static enum bir_status check_register(struct bir_branching *b, const struct bir_instruction *inst,
                                      const struct bir_register *reg)
{
    if (reg->num_physical != 2 && bir_engine_is_concrete(reg->engine))
        return BIR_OK;
    return bir_branch_refuse(b, inst, "branch-predicate", "compare with a 32-bit register of a single engine",
                             "a predicate names a register that no branch can compare");
}

static enum bir_status prepare_condition(struct bir_branching *b, struct bir_instruction *inst, uint32_t number,
                                         const struct bir_predicate *predicate, const struct guard *guard)
{
    struct condition *condition = &guard->conditions[number];
    const struct pelican_expr *left;
    char what[32];
    uint8_t engine = inst->engine;
    enum bir_status status = BIR_OK;
    BIR_TRY(find_sides(b, predicate, condition, &left));
    if (!left)
        return bir_branch_refuse(b, inst, "branch-predicate",
                                 "write constant plus coefficient times axis, and at most one register, alone",
                                 "a predicate has no compare-and-branch form (Unsupported)");
    if (condition->right)
        BIR_TRY(check_register(b, inst, condition->right));
    snprintf(what, sizeof what, "predicate %u", number);
    struct bir_affine_site site = { .inst = inst, .source_offset = inst->source_offset, .what = what };
    site.suffix = bir_arena_printf(b->diags->arena, "/predicates/%u/expr", number); /* diagnostics keep it */
    if (!site.suffix)
        return bir_arena_failure(b->diags->arena);
    for (unsigned e = BIR_ENGINE_POOL; e <= BIR_ENGINE_SP && status == BIR_OK; e++) {
        if (!(guard->engines >> e & 1))
            continue;
        inst->engine = (uint8_t)e;
        status = bir_affine_prepare(b->module, &site, left, b->diags, &condition->left);
    }
    inst->engine = engine;
    return status;
}

enum bir_status bir_branch_parse_guard(struct bir_branching *b, const struct bir_instruction *inst, uintptr_t *engines)
{
    struct bir_arena *scratch = b->context->scratch;
    struct guard *guard = BIR_NEW(scratch, BIR_MEM_OTHER, struct guard);
    if (!guard || !bir_map_put(&b->guards, scratch, inst, guard))
        return bir_arena_failure(scratch);
    BIR_TRY(bir_predicates_parse(b->module, inst, scratch, &guard->predicates));
    if (guard->predicates.foreign)
        return bir_branch_refuse(b, inst, "branch-predicate", "write {\"expr\": ..., \"ge\": true or false}",
                                 "a predicate has an unknown shape");
    guard->conditions =
        bir_arena_alloc_array(scratch, BIR_MEM_OTHER, guard->predicates.count, sizeof *guard->conditions);
    if (!guard->conditions)
        return bir_arena_failure(scratch);
    for (uint32_t i = 0; i < guard->predicates.count; i++) {
        const struct pelican_expr *left;
        BIR_TRY(find_sides(b, &guard->predicates.items[i], &guard->conditions[i], &left));
        if (guard->conditions[i].right)
            *engines |= (uintptr_t)1 << guard->conditions[i].right->engine;
    }
    return BIR_OK;
}

static enum bir_status find_guard(struct bir_branching *b, struct bir_instruction *inst)
{
    struct guard *guard = bir_map_get(&b->guards, inst);
    guard->engines = guard_engines(b, inst);
    guard->again = b->had_branches || inst->block->region->owner;
    for (uint32_t i = 0; i < guard->predicates.count; i++)
        BIR_TRY(prepare_condition(b, inst, i, &guard->predicates.items[i], guard));
    return BIR_OK;
}

enum bir_status bir_branch_find_guards(struct bir_branching *b)
{
    struct bir_walk walk;
    uint64_t n = 0;
    bir_walk_init(&walk, &b->function->body);
    for (struct bir_instruction *inst = bir_walk_next(&walk); inst; inst = bir_walk_next(&walk)) {
        BIR_TRY(bir_pass_poll_walk(b->context, inst, n++));
        if (bir_map_get(&b->guards, inst))
            BIR_TRY(find_guard(b, inst));
    }
    return BIR_OK;
}

/* --- emission --- */

/* One engine's value for one condition, before inst. */
static struct bir_register *emit_value(struct bir_branching *b, struct bir_instruction *inst,
                                       const struct condition *condition, unsigned engine)
{
    bir_branch_place(b, inst, engine, "");
    struct bir_register *value = bir_emit_mint(&b->emitter, "-test-", engine, 1), *tmp = NULL;
    if (condition->left.expr->u.affine.n_terms > 0)
        tmp = bir_emit_mint(&b->emitter, "-test-tmp-", engine, 1);
    bir_emitter_suffix(&b->emitter, "-test-");
    if (b->emitter.failed)
        return NULL;
    bir_lower_affine(&b->emitter, &condition->left, value, tmp);
    return b->emitter.failed ? NULL : value;
}

/* The registers of all conditions, before the first test: their engines do not take part in the tests. */
static enum bir_status share_registers(struct bir_branching *b, struct bir_instruction *inst, const struct guard *guard)
{
    uint8_t engine = inst->engine;
    for (uint32_t i = 0; i < guard->predicates.count; i++) {
        struct condition *condition = &guard->conditions[i];
        if (!condition->right)
            continue;
        BIR_TRY(bir_branch_share_init(b, inst, "tested", condition->right, guard->engines, &condition->share));
        if (!bir_branch_share_emit(b, inst, &condition->share, NULL, guard->again))
            return bir_pass_out_of_memory(b->context, b->module);
    }
    inst->engine = engine;
    return BIR_OK;
}

/* Tests of one condition at the end of the block of inst, which goes to a block of its own behind it. */
static enum bir_status emit_test(struct bir_branching *b, struct bir_instruction *inst, const struct guard *guard,
                                 const struct condition *condition, const struct bir_block *on_false)
{
    struct bir_block *block = inst->block, *next = bir_branch_new_block(b, inst_name(inst), "-if", block);
    struct bir_register *value[BIR_ENGINE_COUNT] = { NULL };
    uint8_t engine = inst->engine;
    for (unsigned e = BIR_ENGINE_POOL; next && e <= BIR_ENGINE_SP; e++) {
        if (guard->engines >> e & 1 && !(value[e] = emit_value(b, inst, condition, e)))
            return bir_pass_out_of_memory(b->context, b->module);
    }
    inst->engine = engine;
    if (!next)
        return bir_pass_out_of_memory(b->context, b->module);
    bir_instruction_unlink(inst);
    bir_block_append(next, inst);
    for (unsigned e = BIR_ENGINE_POOL; e <= BIR_ENGINE_SP; e++) {
        struct bir_branch_test test = { .compare = condition->compare,
                                        .left = value[e],
                                        .right = condition->share.copies[e] };
        test.on_true = next;
        test.on_false = on_false;
        if (value[e] && !bir_branch_compare(b, inst, block, &test))
            return bir_pass_out_of_memory(b->context, b->module);
    }
    return BIR_OK;
}

/* inst, the last of its block, gets a block of its own behind the tests. */
static enum bir_status emit_tests(struct bir_branching *b, struct bir_instruction *inst, const struct guard *guard,
                                  const struct bir_block *on_false)
{
    if (guard->engines == 0)
        return BIR_OK;
    BIR_TRY(share_registers(b, inst, guard));
    for (uint32_t i = 0; i < guard->predicates.count; i++)
        BIR_TRY(emit_test(b, inst, guard, &guard->conditions[i], on_false));
    return BIR_OK;
}

enum bir_status bir_branch_guard_loop(struct bir_branching *b, struct bir_instruction *loop,
                                      const struct bir_block *on_false)
{
    const struct guard *guard = bir_map_get(&b->guards, loop);
    return guard ? emit_tests(b, loop, guard, on_false) : BIR_OK;
}

/* Where control goes on behind inst: its own block's rest, or the next block. A block is never left empty. */
static struct bir_block *block_behind(struct bir_branching *b, struct bir_instruction *inst, unsigned engines)
{
    struct bir_block *block = inst->block;
    if (!inst->next && block->next)
        return block->next;
    struct bir_block *behind = bir_branch_split(b, inst, "-end");
    return behind && bir_branch_fill(b, inst, "-end", behind, engines) ? behind : NULL;
}

static enum bir_status guard_instruction(struct bir_branching *b, struct bir_instruction *inst,
                                         const struct guard *guard)
{
    if (guard->predicates.count == 0 || guard->engines == 0)
        return BIR_OK;
    struct bir_block *behind = block_behind(b, inst, guard->engines);
    b->emitter.next = 0;
    return behind ? emit_tests(b, inst, guard, behind) : bir_pass_out_of_memory(b->context, b->module);
}

/* A Break goes to the join of its loop; one on no single engine becomes a branch on every engine of the loop. */
static bool make_exit(struct bir_branching *b, struct bir_instruction *inst, const struct bir_instruction *loop)
{
    const struct bir_instruction *barrier = bir_map_get(&b->joins, loop);
    const struct bir_block *join = barrier->block;
    unsigned engines = bir_engine_is_concrete(inst->engine) ? 1u << inst->engine : bir_branch_loop_engines(b, loop);
    bool first = true;
    for (unsigned e = BIR_ENGINE_POOL; e <= BIR_ENGINE_SP; e++) {
        if (!(engines >> e & 1))
            continue;
        if (first)
            inst->engine = (uint8_t)e;
        if (first ? !bir_branch_make_jump(b, inst, join) : !bir_branch_jump(b, inst, "", inst->block, e, join))
            return false;
        first = false;
    }
    return true;
}

static enum bir_status lower_instruction(struct bir_branching *b, struct bir_instruction *inst)
{
    const struct guard *guard = bir_map_get(&b->guards, inst);
    const struct bir_instruction *loop = bir_map_get(&b->exits, inst);
    if (guard) {
        struct bir_instruction_rare *rare = bir_instruction_need_rare(b->module, inst);
        if (!rare)
            return bir_arena_failure(&b->module->arena);
        BIR_TRY(guard_instruction(b, inst, guard));
        rare->texts->predicates = NULL;
    }
    return !loop || make_exit(b, inst, loop) ? BIR_OK : bir_pass_out_of_memory(b->context, b->module);
}

enum bir_status bir_branch_guard_instructions(struct bir_branching *b)
{
    uint64_t n = 0;
    for (struct bir_block *block = b->function->body.first; block; block = block->next) {
        /* A guarded instruction moves to a later block, and so does what stands behind it. */
        for (struct bir_instruction *inst = block->first, *next; inst; inst = next) {
            BIR_TRY(bir_pass_poll_walk(b->context, inst, n++));
            next = inst->next;
            bool guarded = bir_map_get(&b->guards, inst) != NULL;
            BIR_TRY(lower_instruction(b, inst));
            if (guarded && inst->block != block) {
                block = inst->block;
                next = inst->next;
            }
        }
    }
    return BIR_OK;
}
