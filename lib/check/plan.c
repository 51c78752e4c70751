/*
 * Building a plan: one walk over the lowered function in program order.
 *
 * Three things happen to an instruction, in this order: operands recorded of it become sites, its register code becomes
 * operations, and when it opens a region the body follows as a loop item. Because operations are decoded in the order
 * in which the first iteration executes them, a read of a register that nothing wrote is found here and costs nothing
 * later; loops that execute no iteration are left out.
 *
 * With symbolic names, registers that lowering minted are forgotten after each piece: what is not consumed by then
 * never is, and a million operands would need seven million rows of lanes.
 */
#include "check/plan.h"

#include "check/address.h"

/* A piece ends at a top-level place once it has this many operations. */
#define PIECE_OPS 4096

/* --- start --- */

static enum bir_status watch_slot(struct bir_plan *plan, struct bir_register *reg)
{
    uint32_t slot;
    BIR_TRY(bir_machine_new_slots(&plan->machine, 2, &slot));
    bool put = bir_map_put(&plan->watch_slots, plan->arena, reg, (void *)((uintptr_t)slot + 1));
    return put ? BIR_OK : bir_arena_failure(plan->arena);
}

enum bir_status bir_plan_give(struct bir_plan *plan, struct bir_register *reg)
{
    struct bir_machine *m = &plan->machine;
    uint32_t slot, watch = (uint32_t)(uintptr_t)bir_map_get(&plan->watch_slots, reg);
    BIR_TRY(bir_machine_slot(m, reg, &slot));
    for (unsigned word = 0; word < (reg->num_physical == 2 ? 2u : 1u); word++) {
        bir_machine_set(m, slot + word, 0);
        for (unsigned l = 0; word == 0 && l < BIR_MACHINE_LANES; l++)
            m->values[slot][l] = bir_machine_data(m, bir_str_hash(reg->base.name), l);
        if (watch) {
            memcpy(m->values[watch - 1 + word], m->values[slot + word], sizeof(m->values[0]));
            m->written[watch - 1 + word] = 1;
        }
    }
    return BIR_OK;
}

static const struct bir_register_ap *lowered_form(const struct bir_operand *operand)
{
    struct bir_argument *arg = bir_instruction_argument(operand->inst, (enum bir_role)operand->role, operand->position);
    return arg && arg->kind == BIR_ARG_REGISTER_AP ? (const struct bir_register_ap *)arg : NULL;
}

static enum bir_machine_names choose_names(const struct bir_plan_input *input, enum bir_validation_registers registers)
{
    if (registers != BIR_VALIDATION_REGISTERS_AUTO)
        return registers == BIR_VALIDATION_REGISTERS_PHYSICAL ? BIR_MACHINE_PHYSICAL : BIR_MACHINE_SYMBOLIC;
    for (uint32_t i = 0; i < input->n_operands; i++) {
        const struct bir_register_ap *ap = lowered_form(&input->operands[i]);
        if (ap && ap->address)
            return ap->address->physical_id >= 0 ? BIR_MACHINE_PHYSICAL : BIR_MACHINE_SYMBOLIC;
    }
    return BIR_MACHINE_SYMBOLIC;
}

enum bir_status bir_plan_init(struct bir_plan *plan, const struct bir_plan_input *input, struct bir_arena *arena,
                              const struct bir_validation_options *options, struct bir_diags *diags,
                              struct bir_validation_stats *stats)
{
    *plan = (struct bir_plan){ .arena = arena, .diags = diags, .options = options, .stats = stats, .input = input };
    uint64_t bound = UINT64_C(1) << 16;
    for (uint32_t i = 0; i < input->n_operands; i++) {
        uint64_t own = bir_operand_index_bound(&input->operands[i]);
        bound = own < bound ? own : bound;
    }
    struct bir_machine *m = &plan->machine;
    BIR_TRY(bir_machine_init(m, arena, diags, choose_names(input, options->registers), options->seed, bound));
    m->forgiving = true;
    plan->random = options->seed;
    plan->next_operand = input->operands;
    plan->end_operand = input->n_operands > 0 ? input->operands + input->n_operands : input->operands;
    for (uint32_t i = 0; m->names == BIR_MACHINE_SYMBOLIC && i < input->registers.count; i++) {
        uint32_t slot;
        BIR_TRY(bir_machine_slot(m, input->registers.items[i], &slot));
    }
    for (uint32_t i = 0; i < input->watched.count; i++)
        BIR_TRY(watch_slot(plan, input->watched.items[i]));
    for (uint32_t i = 0; i < input->inputs.count; i++)
        BIR_TRY(bir_plan_give(plan, input->inputs.items[i]));
    return BIR_OK;
}

/* --- code --- */

/* Copies of the watched registers that the instruction writes. */
static enum bir_status watch_outputs(struct bir_plan *plan, struct bir_instruction *inst)
{
    BIR_EACH_ARGUMENT (arg, inst, BIR_ROLE_OUT) {
        const struct bir_register *reg = bir_map_get(&plan->input->watched_writers, arg);
        uint32_t watch = reg ? (uint32_t)(uintptr_t)bir_map_get(&plan->watch_slots, reg) : 0;
        struct bir_machine_op op = { .code = BIR_MACHINE_MOVE, .inst = inst };
        if (!watch || arg->kind != BIR_ARG_REGISTER_ACCESS || !arg->location)
            continue;
        BIR_TRY(bir_machine_slot(&plan->machine, (struct bir_register *)arg->location, &op.a));
        op.out = watch - 1;
        if (((struct bir_register *)arg->location)->num_physical == 2) {
            op.code = BIR_MACHINE_MOVE64;
            op.flags = BIR_MACHINE_WIDE;
            op.a_high = op.a + 1;
            op.out_high = op.out + 1;
        }
        BIR_TRY(bir_machine_append(&plan->machine, &op));
    }
    return BIR_OK;
}

enum bir_status bir_plan_add_code(struct bir_plan *plan, struct bir_instruction *inst)
{
    bool is_code = (bir_opcode_flags(inst->opcode) & BIR_OPF_REGISTER) != 0;
    bool strict = is_code && !bir_map_get(&plan->input->code, inst);
    BIR_TRY(bir_machine_decode(&plan->machine, inst, strict));
    if (!strict) {
        if (plan->input->watched.count > 0)
            BIR_TRY(watch_outputs(plan, inst));
        plan->code_begin = plan->machine.ops.count;
    }
    return BIR_OK;
}

/* --- sites --- */

static enum bir_status wrong_operand(struct bir_plan *plan, const struct bir_operand *operand, const char *problem)
{
    static const char *const lists[BIR_ROLE_COUNT] = { "ins", "indirection_ins", "outs" };
    struct bir_instruction *inst = operand->inst;
    bir_diag_add(plan->diags, BIR_ERROR, "check-address-mismatch",
                 inst->source_offset == BIR_NO_SOURCE ? BIR_NO_OFFSET : (int64_t)inst->source_offset,
                 "instruction %s, %s[%u] on %s: %s", inst->name ? inst->name->text : "?", lists[operand->role],
                 operand->position, operand->set->base.name->text, problem);
    return BIR_INTERNAL;
}

/* The slot of a register that the consumer reads; it must have been written. */
static enum bir_status site_slot(struct bir_plan *plan, const struct bir_operand *operand, struct bir_register *reg,
                                 uint32_t *slot)
{
    *slot = BIR_PLAN_NO_SLOT;
    if (!reg)
        return BIR_OK;
    if (reg->engine != operand->inst->engine)
        return wrong_operand(plan, operand, "the lowered operand names a register of another engine");
    BIR_TRY(bir_machine_slot(&plan->machine, reg, slot));
    if (plan->machine.check_order && !plan->machine.written[*slot])
        return wrong_operand(plan, operand, "the lowered operand names a register that nothing wrote");
    return BIR_OK;
}

/* A runtime offset counts from the start of one location, which the lowered operand names by set and block. */
static bool names_location(const struct bir_register_ap *ap, const struct bir_location *location)
{
    if (ap->offset || ap->sub_tensor)
        return false;
    return location->set->locations.count == 1 || ap->const_sub_tensor_id == location->tensor_id;
}

static enum bir_status add_site(struct bir_plan *plan, const struct bir_operand *operand)
{
    struct bir_argument *arg = bir_instruction_argument(operand->inst, (enum bir_role)operand->role, operand->position);
    if (!arg)
        return wrong_operand(plan, operand, "the operand is gone");
    if (arg->kind == BIR_ARG_SYMBOLIC_AP || arg->kind == BIR_ARG_PHYSICAL_AP) {
        if ((arg->kind == BIR_ARG_SYMBOLIC_AP) != (operand->kind == BIR_OPERAND_SYMBOLIC))
            return wrong_operand(plan, operand, "the operand has changed its kind but was not lowered to registers");
        plan->stats->not_lowered++;
        return BIR_OK;
    }
    const struct bir_register_ap *ap = (const struct bir_register_ap *)arg;
    bool symbolic = operand->kind == BIR_OPERAND_SYMBOLIC;
    if (plan->machine.check_order && plan->depth != (operand->nest ? operand->nest->depth : 0))
        return wrong_operand(plan, operand, "the loops around the instruction have changed");
    if (arg->kind != BIR_ARG_REGISTER_AP || !ap->address || bir_argument_set(arg) != operand->set)
        return wrong_operand(plan, operand, "the lowered operand is no register access to the same set");
    if (ap->pattern != operand->pattern || arg->dtype != operand->dtype)
        return wrong_operand(plan, operand, "the lowered operand has another pattern or dtype");
    if (ap->address_is_offset == symbolic)
        return wrong_operand(plan, operand,
                             symbolic ? "regref must be an address, not an offset" : "regref must be an offset");
    if (operand->location && !names_location(ap, operand->location))
        return wrong_operand(plan, operand, "the lowered operand does not name the block that it was in");
    struct bir_plan_site site = { .operand = operand, .ap = ap, .first_op = plan->code_begin };
    site.end_op = plan->machine.ops.count;
    BIR_TRY(site_slot(plan, operand, ap->address, &site.address));
    BIR_TRY(site_slot(plan, operand, ap->offset, &site.offset));
    BIR_TRY(site_slot(plan, operand, ap->sub_tensor, &site.sub_tensor));
    for (uint32_t i = 0; i < operand->n_indices; i++) { /* made before execution, while slots may still move */
        uint32_t cell;
        const struct bir_operand_index *index = &operand->indices[i];
        BIR_TRY(bir_machine_cell(&plan->machine, index->location, index->offset_elems, index->dtype, &cell));
    }
    plan->stats->operands++;
    return bir_vec_push(plan->arena, &plan->sites, site) ? BIR_OK : bir_arena_failure(plan->arena);
}

enum bir_status bir_plan_add_sites(struct bir_plan *plan, struct bir_instruction *inst, uint32_t *first)
{
    *first = plan->sites.count;
    for (; plan->next_operand < plan->end_operand && plan->next_operand->inst == inst; plan->next_operand++)
        BIR_TRY(add_site(plan, plan->next_operand));
    return BIR_OK;
}

/* --- items --- */

static enum bir_status push_item(struct bir_plan *plan, struct bir_plan_item item)
{
    return bir_vec_push(plan->arena, &plan->items, item) ? BIR_OK : bir_arena_failure(plan->arena);
}

static enum bir_status add_item(struct bir_plan *plan, enum bir_plan_item_type type, uint32_t first, uint32_t end)
{
    return push_item(plan, (struct bir_plan_item){ .type = type, .first = first, .end = end });
}

/* The operations since the last item: the predicated instruction's own when masked, else its address code. */
static enum bir_status close_guarded(struct bir_plan *plan, const struct bir_guard *guard, bool masked)
{
    struct bir_plan_item item = { .type = BIR_PLAN_OPS, .first = plan->ops_begin, .end = plan->machine.ops.count };
    item.guard = guard;
    item.masked = masked;
    plan->ops_begin = item.end;
    return item.first < item.end ? push_item(plan, item) : BIR_OK;
}

static enum bir_status close_ops(struct bir_plan *plan)
{
    return close_guarded(plan, NULL, false);
}

static enum bir_status add_instruction(struct bir_plan *plan, struct bir_instruction *inst)
{
    const struct bir_guard *guard = plan->input->had_guards ? bir_map_get(&plan->input->guards, inst) : NULL;
    if (guard)
        BIR_TRY(close_guarded(plan, guard, false));
    if (plan->next_operand < plan->end_operand && plan->next_operand->inst == inst) {
        uint32_t first;
        BIR_TRY(close_ops(plan));
        BIR_TRY(bir_plan_add_sites(plan, inst, &first));
        for (uint32_t i = first; i < plan->sites.count; i++)
            BIR_TRY(add_item(plan, BIR_PLAN_SITE, i, i + 1));
        plan->code_begin = plan->machine.ops.count;
    }
    BIR_TRY(bir_plan_add_code(plan, inst));
    return guard ? close_guarded(plan, guard, true) : BIR_OK;
}

static enum bir_status add_loop_slot(struct bir_plan *plan, struct bir_register *reg)
{
    uint32_t slot, watch = (uint32_t)(uintptr_t)bir_map_get(&plan->watch_slots, reg);
    if (!reg)
        return BIR_OK;
    BIR_TRY(bir_machine_slot(&plan->machine, reg, &slot));
    plan->machine.written[slot] = 1;
    if (!bir_vec_push(plan->arena, &plan->slots, slot) ||
        (watch && !bir_vec_push(plan->arena, &plan->slots, watch - 1)))
        return bir_arena_failure(plan->arena);
    return BIR_OK;
}

/* The registers that hold the axis value in the body: those the Loop lists, and those of the axis. */
static enum bir_status add_loop_slots(struct bir_plan *plan, const struct bir_loop *loop, struct bir_plan_loop *out)
{
    out->first_slot = plan->slots.count;
    for (uint32_t i = 0; i < loop->registers.count; i++)
        BIR_TRY(add_loop_slot(plan, loop->registers.items[i]));
    for (unsigned e = 0; loop->axis && e < PELICAN_ENGINES; e++) {
        struct bir_register *reg = loop->axis->registers[e];
        bool listed = reg == NULL;
        for (uint32_t i = 0; i < loop->registers.count; i++)
            listed |= loop->registers.items[i] == reg;
        if (!listed)
            BIR_TRY(add_loop_slot(plan, reg));
    }
    out->n_slots = plan->slots.count - out->first_slot;
    return BIR_OK;
}

static uint64_t saturating_product(uint64_t a, uint64_t b)
{
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

/* Operands of a body that is never executed need no check. */
static void skip_region(struct bir_plan *plan, struct bir_region *region)
{
    struct bir_walk walk;
    bir_walk_init(&walk, region);
    for (struct bir_instruction *inst = bir_walk_next(&walk); inst; inst = bir_walk_next(&walk)) {
        while (plan->next_operand < plan->end_operand && plan->next_operand->inst == inst)
            plan->next_operand++;
    }
}

static enum bir_status add_region(struct bir_plan *plan, struct bir_region *region);

static enum bir_status add_loop(struct bir_plan *plan, struct bir_instruction *inst, struct bir_loop *loop)
{
    struct bir_plan_loop made = { .axis = loop->axis, .level = plan->depth, .trip = 2 };
    made.guard = plan->input->had_guards ? bir_map_get(&plan->input->guards, inst) : NULL;
    made.name = loop->axis && loop->axis->name ? loop->axis->name->text : "?";
    if (loop->axis)
        made.trip = pelican_axis_trip_count(loop->axis);
    else if (inst->opcode == BIR_OP_DMA_BLOCK)
        made.trip = 1;
    if (made.trip == 0) {
        skip_region(plan, &loop->region);
        return BIR_OK;
    }
    if (plan->depth == BIR_PLAN_MAX_DEPTH)
        return bir_fail_limit(plan->diags, "check-depth", BIR_NO_OFFSET, "nest fewer loops, or lower with check off",
                              "loop %s: loops are nested deeper than the checker's limit of %d",
                              inst->name ? inst->name->text : "?", BIR_PLAN_MAX_DEPTH);
    BIR_TRY(close_ops(plan));
    BIR_TRY(add_loop_slots(plan, loop, &made));
    uint32_t item = plan->items.count, number = plan->loops.count;
    uint64_t outer_points = plan->points;
    if (!bir_vec_push(plan->arena, &plan->loops, made))
        return bir_arena_failure(plan->arena);
    BIR_TRY(add_item(plan, BIR_PLAN_LOOP, number, 0));
    plan->points = saturating_product(outer_points, (uint64_t)made.trip);
    plan->max_points = plan->points > plan->max_points ? plan->points : plan->max_points;
    plan->depth++;
    plan->max_depth = plan->depth > plan->max_depth ? plan->depth : plan->max_depth;
    plan->code_begin = plan->machine.ops.count;
    BIR_TRY(add_region(plan, &loop->region));
    BIR_TRY(close_ops(plan));
    plan->code_begin = plan->machine.ops.count;
    plan->depth--;
    plan->points = outer_points;
    plan->items.items[item].end = plan->items.count;
    plan->loops.items[number].has_inner = plan->loops.count > number + 1;
    return BIR_OK;
}

/* Executes what has been gathered and starts afresh. */
static enum bir_status finish_piece(struct bir_plan *plan)
{
    struct bir_machine *m = &plan->machine;
    BIR_TRY(close_ops(plan));
    BIR_TRY(bir_plan_execute(plan));
    plan->items.count = plan->sites.count = plan->loops.count = plan->slots.count = 0;
    m->ops.count = 0;
    plan->ops_begin = plan->code_begin = 0;
    plan->max_depth = 0;
    plan->max_points = 1;
    if (m->names == BIR_MACHINE_SYMBOLIC && m->cells.count == plan->first_cells)
        bir_machine_forget(m, plan->first_slot);
    plan->first_slot = m->n_slots;
    plan->first_cells = m->cells.count;
    return BIR_OK;
}

static enum bir_status add_region(struct bir_plan *plan, struct bir_region *region)
{
    BIR_EACH_BLOCK (block, region) {
        if (bir_cancelled(plan->options->cancel))
            return BIR_CANCELLED;
        BIR_EACH_INSTRUCTION (inst, block) {
            bool region_op = (bir_opcode_flags(inst->opcode) & BIR_OPF_REGION) && inst->rare && inst->rare->loop;
            if (region_op)
                BIR_TRY(add_loop(plan, inst, inst->rare->loop));
            else
                BIR_TRY(add_instruction(plan, inst));
            bool consumer = !(bir_opcode_flags(inst->opcode) & BIR_OPF_REGISTER);
            if (plan->depth == 0 && consumer && plan->machine.ops.count >= PIECE_OPS)
                BIR_TRY(finish_piece(plan));
        }
    }
    return BIR_OK;
}

enum bir_status bir_plan_structured(struct bir_plan *plan)
{
    plan->machine.check_order = true;
    plan->points = plan->max_points = 1;
    plan->first_slot = plan->machine.n_slots;
    plan->first_cells = plan->machine.cells.count;
    BIR_TRY(add_region(plan, &((struct bir_function *)(uintptr_t)plan->input->function)->body));
    BIR_TRY(finish_piece(plan));
    if (plan->next_operand < plan->end_operand) {
        const struct bir_operand *operand = plan->next_operand;
        bir_diag_add(
            plan->diags, BIR_ERROR, "check-operand-missing", BIR_NO_OFFSET,
            "instruction %s was moved before its predecessors or removed by a pass; its operands cannot be checked",
            operand->inst->name ? operand->inst->name->text : "?");
        return BIR_INTERNAL;
    }
    return BIR_OK;
}
