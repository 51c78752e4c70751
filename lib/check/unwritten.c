/*
 * One walk in program order over what was recorded. A register's scratch field is 1 once something has written it; a
 * Loop writes the registers that hold its axis. Every iteration but the first finds the registers of the whole body
 * written, so the first iteration, which is program order, decides. Loops without an iteration are left out.
 */
#include "check/unwritten.h"

struct search {
    struct bir_plan_input *input;
    struct bir_arena *arena;
    struct bir_map seen;             /* registers that are arguments by now */
    const struct bir_argument *arg;  /* the operand at hand */
    const struct bir_region *region; /* of the instruction at hand */
    bool dead;                       /* is never executed */
    bool failed;
};

static bool is_dead(const struct bir_region *region)
{
    for (const struct bir_instruction *loop = region->owner; loop; loop = loop->block->region->owner) {
        const struct pelican_axis *axis = loop->rare->loop->axis;
        if (axis && pelican_axis_trip_count(axis) <= 0)
            return true;
    }
    return false;
}

static bool note_read(void *user, struct bir_register *reg, struct bir_register **slot)
{
    struct search *s = user;
    (void)slot;
    if (reg->scratch || !reg->base.writers)
        return true;
    if (!s->input->had_branches) {
        s->input->unwritten = (struct bir_unwritten_read){ reg, bir_argument_parent(s->arg), s->arg->source_offset };
        return false;
    }
    if (bir_map_get(&s->seen, reg))
        return true;
    s->failed = !bir_map_put(&s->seen, s->arena, reg, reg) || !bir_vec_push(s->arena, &s->input->inputs, reg);
    return !s->failed;
}

static void mark(struct bir_register *reg)
{
    if (reg)
        reg->scratch = 1;
}

static void mark_loop(const struct bir_loop *loop)
{
    const struct pelican_axis *axes[] = { loop->axis, loop->dynamic_axis };
    for (uint32_t i = 0; i < loop->registers.count; i++)
        mark(loop->registers.items[i]);
    for (size_t a = 0; a < sizeof axes / sizeof axes[0]; a++)
        for (unsigned e = 0; axes[a] && e < PELICAN_ENGINES; e++)
            mark(axes[a]->registers[e]);
}

static void visit(struct search *s, const struct bir_instruction *inst)
{
    if (inst->block->region != s->region) {
        s->region = inst->block->region;
        s->dead = is_dead(s->region);
    }
    if (s->dead)
        return;
    BIR_EACH_OPERAND(arg, inst)
    {
        s->arg = arg;
        if (arg->kind == BIR_ARG_PHYSICAL_AP && bir_argument_dynamic(arg))
            bir_argument_each_register(arg, note_read, s);
    }
    BIR_EACH_ARGUMENT (arg, inst, BIR_ROLE_OUT) {
        if (arg->kind == BIR_ARG_REGISTER_ACCESS && arg->location && arg->location->tag == BIR_STORAGE_REGISTER)
            mark((struct bir_register *)arg->location);
    }
    if (bir_instruction_region(inst))
        mark_loop(inst->rare->loop);
}

enum bir_status bir_unwritten_record(struct bir_plan_input *input, struct bir_arena *arena)
{
    struct search s = { .input = input, .arena = arena };
    struct bir_walk walk;
    if (input->watched.count == 0)
        return BIR_OK;
    for (uint32_t i = 0; i < input->registers.count; i++)
        input->registers.items[i]->scratch = 0;
    bir_walk_init(&walk, &((struct bir_function *)(uintptr_t)input->function)->body);
    for (struct bir_instruction *inst; !s.failed && !input->unwritten.reg && (inst = bir_walk_next(&walk));)
        visit(&s, inst);
    return s.failed ? bir_arena_failure(arena) : BIR_OK;
}

enum bir_status bir_unwritten_report(const struct bir_plan_input *input, struct bir_diags *diags)
{
    const struct bir_unwritten_read *read = &input->unwritten;
    if (!read->reg)
        return BIR_OK;
    return bir_fail(diags, "check-register-unwritten",
                    read->source_offset == BIR_NO_SOURCE ? BIR_NO_OFFSET : (int64_t)read->source_offset,
                    "write the register before the instruction, on the same engine; a register that nothing ever "
                    "writes is an argument",
                    "instruction %s: its offset reads register %s before anything has written it",
                    read->inst->name ? read->inst->name->text : "?", read->reg->base.name->text);
}

static bool is_recorded(const struct bir_plan_input *input, const struct bir_register *reg)
{
    for (uint32_t i = 0; i < input->registers.count; i++) {
        if (input->registers.items[i] == reg)
            return true;
    }
    return false;
}

struct bir_register *bir_unwritten_of(struct bir_plan *plan, const struct bir_machine_op *op)
{
    const struct bir_machine *m = &plan->machine;
    for (const struct bir_argument *arg = op->inst ? bir_instruction_first(op->inst, BIR_ROLE_IN) : NULL; arg;
         arg = bir_argument_next(arg)) {
        struct bir_register *reg = (struct bir_register *)arg->location;
        uint32_t slot;
        if (arg->kind != BIR_ARG_REGISTER_ACCESS || !reg)
            continue;
        if (bir_machine_slot(&plan->machine, reg, &slot) == BIR_OK && !m->written[slot] &&
            is_recorded(plan->input, reg))
            return reg;
    }
    return NULL;
}
