/*
 * Checking a function whose loops have become branches (lower_branch): each engine's thread is executed along its
 * jumps.
 *
 * The loops as they were recorded say which points an operand must be met at, and in which order: an odometer for each
 * site runs over its loops in step with the thread. A wrong counter, bound or branch therefore shows as a wrong address
 * or as a wrong number of visits. All lanes do the same.
 */
#include <inttypes.h>

#include "check/plan.h"

/* Operations a thread may execute. Sampling looks at the first ones; a full check must come to the end. */
#define SAMPLE_STEPS (UINT64_C(1) << 16)
#define FULL_STEPS   (UINT64_C(1) << 27)

struct block_start {
    const struct bir_block *block;
    uint32_t op;
};

struct odometer {
    uint64_t visits;
    uint64_t points; /* in one turn over the domain; UINT64_MAX when there are more */
    bool counted;    /* no loop of unknown trip count is around */
};

struct threads {
    struct bir_plan *plan;
    BIR_VEC(struct block_start) blocks; /* of the current engine */
    BIR_VEC(struct odometer) odometers; /* by site */
    struct bir_map block_of_name;       /* to index + 1 */
};

/* --- decoding --- */

static enum bir_status append(struct threads *t, uint8_t code, int64_t imm, struct bir_instruction *inst)
{
    struct bir_machine_op op = { .code = code, .imm = imm, .inst = inst };
    return bir_machine_append(&t->plan->machine, &op);
}

static enum bir_status add_odometer(struct threads *t, const struct bir_operand *operand)
{
    struct odometer odometer = { .points = 1, .counted = true };
    for (const struct bir_nest *nest = operand->nest; nest; nest = nest->parent) {
        odometer.counted &= nest->axis != NULL || nest->loop->opcode == BIR_OP_DMA_BLOCK;
        uint64_t trip = nest->axis ? (uint64_t)pelican_axis_trip_count(nest->axis) : 1;
        if (__builtin_mul_overflow(odometer.points, trip, &odometer.points))
            odometer.points = UINT64_MAX;
    }
    return bir_vec_push(t->plan->arena, &t->odometers, odometer) ? BIR_OK : bir_arena_failure(t->plan->arena);
}

static enum bir_status add_instruction(struct threads *t, struct bir_instruction *inst)
{
    uint32_t first;
    BIR_TRY(bir_plan_add_sites(t->plan, inst, &first));
    for (uint32_t i = first; i < t->plan->sites.count; i++) {
        BIR_TRY(add_odometer(t, t->plan->sites.items[i].operand));
        BIR_TRY(append(t, BIR_MACHINE_CONSUME, i, inst));
    }
    if (t->plan->sites.count > first)
        t->plan->code_begin = t->plan->machine.ops.count;
    return bir_plan_add_code(t->plan, inst);
}

static enum bir_status bad_branch(struct threads *t, const struct bir_instruction *inst, const char *problem)
{
    bir_diag_add(t->plan->diags, BIR_ERROR, "check-branch", BIR_NO_OFFSET, "%s %s: %s", bir_opcode_name(inst->opcode),
                 inst->name ? inst->name->text : "?", problem);
    return BIR_INTERNAL;
}

/* Number of the block that the property names. */
static bool target_block(struct threads *t, const struct bir_instruction *inst, const char *key, uint32_t *target)
{
    const struct bir_prop *prop = bir_props_find(inst->props, key);
    uint32_t number = 0;
    if (prop && prop->type == BIR_VALUE_TEXT)
        number = (uint32_t)(uintptr_t)bir_map_get(&t->block_of_name, prop->u.s);
    *target = number - 1;
    return number != 0;
}

static enum bir_status add_compare(struct threads *t, struct bir_instruction *inst)
{
    struct bir_machine *m = &t->plan->machine;
    struct bir_machine_op op = { .code = BIR_MACHINE_BRANCH, .inst = inst };
    const struct bir_argument *left = bir_instruction_argument(inst, BIR_ROLE_IN, 0);
    const struct bir_argument *right = bir_instruction_argument(inst, BIR_ROLE_IN, 1);
    const struct bir_prop *compare = bir_props_find(inst->props, "comp_op");
    int value = compare && compare->type == BIR_VALUE_TEXT
                    ? bir_enum_value(BIR_ENUM_BRANCH_COMPARE, compare->u.s->text, compare->u.s->len)
                    : -1;
    if (!left || left->kind != BIR_ARG_REGISTER_ACCESS || !right || value < 0 || value >= BIR_BRANCH_UNSUPPORTED)
        return bad_branch(t, inst, "needs a register, a second operand and a comparison");
    if (!target_block(t, inst, "on_true", &op.target[0]) || !target_block(t, inst, "on_false", &op.target[1]))
        return bad_branch(t, inst, "names a block that the function does not have");
    op.compare = (uint8_t)value;
    op.dtype = left->dtype;
    BIR_TRY(bir_machine_slot(m, (struct bir_register *)left->location, &op.a));
    if (right->kind == BIR_ARG_IMM_VALUE) {
        op.flags |= BIR_MACHINE_IMM;
        op.imm = (int64_t)((const struct bir_imm_value *)right)->bits;
    } else if (right->kind == BIR_ARG_REGISTER_ACCESS) {
        BIR_TRY(bir_machine_slot(m, (struct bir_register *)right->location, &op.b));
    } else {
        return bad_branch(t, inst, "the second operand is neither a register nor an immediate");
    }
    return bir_machine_append(m, &op);
}

static enum bir_status add_terminator(struct threads *t, struct bir_instruction *inst)
{
    uint32_t target;
    switch (inst->opcode) {
    case BIR_OP_COMPARE_AND_BRANCH: return add_compare(t, inst);
    case BIR_OP_UNCONDITIONAL_BRANCH:
        if (!target_block(t, inst, "target", &target))
            return bad_branch(t, inst, "names a block that the function does not have");
        return append(t, BIR_MACHINE_JUMP, target, inst);
    default: return append(t, BIR_MACHINE_END, 0, inst);
    }
}

/* Jumps so far name blocks; make them name operations. */
static void link_jumps(struct threads *t, uint32_t first)
{
    struct bir_machine *m = &t->plan->machine;
    for (uint32_t i = first; i < m->ops.count; i++) {
        struct bir_machine_op *op = &m->ops.items[i];
        if (op->code == BIR_MACHINE_JUMP)
            op->imm = t->blocks.items[op->imm].op;
        for (unsigned k = 0; op->code == BIR_MACHINE_BRANCH && k < 2; k++)
            op->target[k] = t->blocks.items[op->target[k]].op;
    }
}

/* The thread of one engine: its own instructions of every block, block after block, as a block without terminator falls
 * through. */
static enum bir_status decode_thread(struct threads *t, enum bir_engine engine)
{
    struct bir_plan *plan = t->plan;
    plan->next_operand = plan->input->operands;
    t->blocks.count = 0;
    for (const struct bir_block *block = plan->input->function->body.first; block; block = block->next) {
        struct block_start start = { .block = block, .op = plan->machine.ops.count };
        if (!bir_vec_push(plan->arena, &t->blocks, start))
            return bir_arena_failure(plan->arena);
        plan->code_begin = plan->machine.ops.count;
        BIR_EACH_INSTRUCTION (inst, block) {
            bool mine = inst->engine == engine || inst->engine == BIR_ENGINE_ALL;
            if (bir_opcode_flags(inst->opcode) & BIR_OPF_TERMINATOR) {
                if (mine)
                    BIR_TRY(add_terminator(t, inst));
            } else if (mine) {
                BIR_TRY(add_instruction(t, inst));
            } else {
                while (plan->next_operand < plan->end_operand && plan->next_operand->inst == inst)
                    plan->next_operand++;
            }
        }
    }
    BIR_TRY(append(t, BIR_MACHINE_END, 0, NULL));
    link_jumps(t, 0);
    return BIR_OK;
}

/* --- execution --- */

/* Sets the axis values of the visit, innermost loop fastest. */
static void set_axes(struct bir_plan *plan, const struct bir_nest *nest, uint64_t visit)
{
    for (; nest; nest = nest->parent) {
        if (!nest->axis)
            continue;
        uint64_t trip = (uint64_t)pelican_axis_trip_count(nest->axis);
        int64_t value = (int64_t)((uint64_t)nest->axis->lb + visit % trip * (uint64_t)nest->axis->stride);
        for (unsigned l = 0; l < BIR_MACHINE_LANES; l++)
            plan->axis[nest->depth - 1][l] = value;
        visit /= trip;
    }
}

static enum bir_status visits_wrong(struct threads *t, const struct bir_plan_site *site,
                                    const struct odometer *odometer)
{
    const struct bir_operand *operand = site->operand;
    bir_diag_add(t->plan->diags, BIR_ERROR, "check-branch", BIR_NO_OFFSET,
                 "instruction %s: executed %" PRIu64 " times along its branches, its loops have %" PRIu64 " points",
                 operand->inst->name ? operand->inst->name->text : "?", odometer->visits, odometer->points);
    return BIR_INTERNAL;
}

static enum bir_status consume(void *user, int64_t number)
{
    struct threads *t = user;
    struct odometer *odometer = &t->odometers.items[number];
    const struct bir_plan_site *site = &t->plan->sites.items[number];
    if (t->plan->polls++ % 64 == 0 && bir_cancelled(t->plan->options->cancel))
        return BIR_CANCELLED;
    odometer->visits++;
    if (odometer->points == 0 ||
        (odometer->counted && !t->plan->input->had_branches && odometer->visits > odometer->points))
        return visits_wrong(t, site, odometer);
    set_axes(t->plan, site->operand->nest, odometer->visits - 1);
    return bir_plan_compare(t->plan, site);
}

static enum bir_status check_visits(struct threads *t)
{
    for (uint32_t i = 0; i < t->plan->sites.count; i++) {
        const struct odometer *odometer = &t->odometers.items[i];
        if (odometer->counted && !t->plan->input->had_branches && odometer->visits != odometer->points)
            return visits_wrong(t, &t->plan->sites.items[i], odometer);
    }
    return BIR_OK;
}

/* True when the steps of a full check suffice for all points, whatever the code between them. */
static bool all_points_fit(const struct threads *t)
{
    bool fit = !t->plan->input->had_branches;
    for (uint32_t i = 0; i < t->odometers.count; i++)
        fit &= t->odometers.items[i].counted && t->odometers.items[i].points <= BIR_VALIDATION_FULL_POINTS;
    return fit;
}

static enum bir_status run_engine(struct threads *t, enum bir_engine engine)
{
    struct bir_plan *plan = t->plan;
    struct bir_machine_fault fault;
    bool full = plan->options->mode == BIR_VALIDATION_FULL;
    plan->machine.ops.count = plan->sites.count = t->odometers.count = 0;
    BIR_TRY(decode_thread(t, engine));
    if (plan->sites.count == 0)
        return BIR_OK;
    plan->active = 1;
    BIR_TRY(bir_machine_run_thread(&plan->machine, 0, full ? FULL_STEPS : SAMPLE_STEPS, consume, t, &fault));
    if (fault.trap == BIR_TRAP_NONE)
        return check_visits(t);
    if (fault.trap == BIR_TRAP_STEPS && (!full || !all_points_fit(t)))
        return BIR_OK;
    bir_diag_add(plan->diags, BIR_ERROR, "check-address-mismatch", BIR_NO_OFFSET, "instruction %s: %s",
                 fault.op->inst && fault.op->inst->name ? fault.op->inst->name->text : "?", bir_trap_name(fault.trap));
    return BIR_INTERNAL;
}

enum bir_status bir_plan_threads(struct bir_plan *plan)
{
    struct threads t = { .plan = plan };
    uint32_t number = 0;
    for (const struct bir_block *block = plan->input->function->body.first; block; block = block->next) {
        number++;
        if (!bir_map_get(&t.block_of_name, block->name) &&
            !bir_map_put(&t.block_of_name, plan->arena, block->name, (void *)(uintptr_t)number))
            return bir_arena_failure(plan->arena);
    }
    for (int engine = BIR_ENGINE_POOL; engine <= BIR_ENGINE_SP; engine++)
        BIR_TRY(run_engine(&t, (enum bir_engine)engine));
    return BIR_OK;
}
