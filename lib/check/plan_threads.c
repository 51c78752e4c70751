/*
 * Checking a function whose loops and predicates have become branches (lower_branch): each engine's thread is executed
 * along its jumps.
 *
 * The loops as they were recorded say which points an operand must be met at, and in which order: an odometer for each
 * site runs over its loops in step with the thread, past the points where a predicate is false. A wrong counter, bound
 * or branch therefore shows as a wrong address or as a wrong number of visits. A predicated instruction without such an
 * operand has an odometer all the same. Where a predicate or an inner trip count depends on a register, or the code had
 * branches before, the thread may be at any point from the last on where predicates hold and the address agrees. All
 * lanes do the same.
 *
 * Engines pass values to each other through tensors: a load with an edge to a save of another engine takes, the n-th
 * time, what the save wrote the n-th time. The threads run in turns, each until it waits for a value that is not there
 * yet. Barriers are counted: every engine must come to each equally often.
 */
#include <inttypes.h>

#include "check/plan.h"
#include "check/unwritten.h"

/* Operations a thread may execute. Sampling looks at the first ones; a full check must come to the end. */
#define SAMPLE_STEPS (UINT64_C(1) << 16)
#define FULL_STEPS   (UINT64_C(1) << 27)
/* Points of a loop nest with predicates that are looked through for the next one. */
#define MAX_GUARDED_POINTS (UINT64_C(1) << 22)

struct block_start {
    const struct bir_block *block;
    uint32_t op;
};

/* How often, and at which points, a place is met. */
struct odometer {
    const struct bir_instruction *inst;
    const struct bir_nest *nest;
    const struct bir_guard *guard;
    uint64_t visits;
    uint64_t next;   /* the point to look at next; with predicates more than visits */
    uint64_t points; /* in one turn over the domain; UINT64_MAX when there are more */
    bool counted;    /* no loop of unknown trip count is around */
    bool guarded, has_runtime;
    bool repeats;   /* a loop of unknown trip count is inside one with an axis: points may come several times */
    uint8_t engine; /* whose thread it is in */
};

enum event_type { EVENT_SITE, EVENT_VISIT, EVENT_BARRIER, EVENT_SEND, EVENT_RECEIVE };

/* What a CONSUME operation stands for. */
struct event {
    enum event_type type;
    uint8_t engine;
    uint32_t index; /* of the site, odometer, barrier or channel */
    uint32_t odometer;
};

struct barrier {
    const struct bir_instruction *inst;
    uint64_t visits[BIR_ENGINE_COUNT];
};

struct row {
    int32_t low[BIR_MACHINE_LANES], high[BIR_MACHINE_LANES];
};

/* From a save to one load on another engine. */
struct channel {
    const struct bir_instruction *save, *load;
    uint32_t cell; /* slot */
    uint32_t taken;
    BIR_VEC(struct row) rows;
};

struct thread {
    uint32_t pc;
    uint64_t steps;
    bool ended, cut; /* came to its end; was stopped after too many steps */
};

struct threads {
    struct bir_plan *plan;
    BIR_VEC(struct block_start) blocks; /* of the current engine */
    BIR_VEC(struct odometer) odometers;
    BIR_VEC(struct event) events;
    BIR_VEC(struct barrier) barriers;
    BIR_VEC(struct channel) channels;
    struct bir_map block_of_name;           /* to index + 1 */
    struct bir_map barrier_of, receiver_of; /* instruction to index + 1 */
    struct thread threads[BIR_ENGINE_COUNT];
    uint8_t engine; /* being decoded */
};

/* --- decoding --- */

static enum bir_status append(struct threads *t, uint8_t code, int64_t imm, struct bir_instruction *inst)
{
    struct bir_machine_op op = { .code = code, .imm = imm, .inst = inst };
    return bir_machine_append(&t->plan->machine, &op);
}

static enum bir_status out_of_memory(const struct threads *t)
{
    return bir_arena_failure(t->plan->arena);
}

static enum bir_status add_event(struct threads *t, enum event_type type, uint32_t index, uint32_t odometer,
                                 struct bir_instruction *inst)
{
    struct event event = { .type = type, .engine = t->engine, .index = index, .odometer = odometer };
    if (!bir_vec_push(t->plan->arena, &t->events, event))
        return out_of_memory(t);
    return append(t, BIR_MACHINE_CONSUME, t->events.count - 1, inst);
}

static enum bir_status add_odometer(struct threads *t, const struct bir_instruction *inst, const struct bir_nest *nest,
                                    const struct bir_guard *guard, uint32_t *index)
{
    struct odometer odometer = { .inst = inst, .nest = nest, .guard = guard, .points = 1, .counted = true };
    odometer.engine = t->engine;
    odometer.guarded = guard != NULL;
    odometer.has_runtime = guard && guard->has_runtime;
    for (; nest; nest = nest->parent) {
        bool known = nest->axis != NULL || nest->loop->opcode == BIR_OP_DMA_BLOCK;
        odometer.repeats |= nest->axis && !odometer.counted;
        odometer.counted &= known;
        odometer.guarded |= nest->guard != NULL;
        odometer.has_runtime |= nest->guard && nest->guard->has_runtime;
        uint64_t trip = nest->axis ? (uint64_t)pelican_axis_trip_count(nest->axis) : 1;
        if (__builtin_mul_overflow(odometer.points, trip, &odometer.points))
            odometer.points = UINT64_MAX;
    }
    if (odometer.guarded && odometer.points > MAX_GUARDED_POINTS)
        odometer.counted = false;
    *index = t->odometers.count;
    return bir_vec_push(t->plan->arena, &t->odometers, odometer) ? BIR_OK : out_of_memory(t);
}

/* The recorded operands of the instruction, or its predicates alone. */
static enum bir_status add_visits(struct threads *t, struct bir_instruction *inst)
{
    struct bir_plan *plan = t->plan;
    const struct bir_guard *guard = plan->input->had_guards ? bir_map_get(&plan->input->guards, inst) : NULL;
    uint32_t first, odometer;
    BIR_TRY(bir_plan_add_sites(plan, inst, &first));
    for (uint32_t i = first; i < plan->sites.count; i++) {
        const struct bir_operand *operand = plan->sites.items[i].operand;
        BIR_TRY(add_odometer(t, inst, operand->nest, operand->guard, &odometer));
        BIR_TRY(add_event(t, EVENT_SITE, i, odometer, inst));
    }
    if (plan->sites.count > first) {
        plan->code_begin = plan->machine.ops.count;
    } else if (guard && inst->engine != BIR_ENGINE_ALL) {
        BIR_TRY(add_odometer(t, inst, guard->nest, guard, &odometer));
        BIR_TRY(add_event(t, EVENT_VISIT, 0, odometer, inst));
    }
    return BIR_OK;
}

static enum bir_status add_barrier(struct threads *t, struct bir_instruction *inst)
{
    uint32_t index = (uint32_t)(uintptr_t)bir_map_get(&t->barrier_of, inst);
    struct barrier barrier = { .inst = inst };
    if (index == 0) {
        if (!bir_vec_push(t->plan->arena, &t->barriers, barrier))
            return out_of_memory(t);
        index = t->barriers.count;
        if (!bir_map_put(&t->barrier_of, t->plan->arena, inst, (void *)(uintptr_t)index))
            return out_of_memory(t);
    }
    return add_event(t, EVENT_BARRIER, index - 1, 0, inst);
}

static enum bir_status add_sends(struct threads *t, struct bir_instruction *inst)
{
    for (uint32_t i = 0; i < t->channels.count; i++) {
        if (t->channels.items[i].save == inst)
            BIR_TRY(add_event(t, EVENT_SEND, i, 0, inst));
    }
    return BIR_OK;
}

static enum bir_status add_instruction(struct threads *t, struct bir_instruction *inst)
{
    uint32_t receiver = 0;
    if (t->channels.count > 0 && inst->opcode == BIR_OP_TENSOR_LOAD)
        receiver = (uint32_t)(uintptr_t)bir_map_get(&t->receiver_of, inst);
    if (inst->opcode == BIR_OP_ALL_ENGINE_BARRIER && inst->engine == BIR_ENGINE_ALL)
        BIR_TRY(add_barrier(t, inst));
    if (receiver)
        BIR_TRY(add_event(t, EVENT_RECEIVE, receiver - 1, 0, inst));
    BIR_TRY(add_visits(t, inst));
    BIR_TRY(bir_plan_add_code(t->plan, inst));
    return t->channels.count > 0 && inst->opcode == BIR_OP_TENSOR_SAVE ? add_sends(t, inst) : BIR_OK;
}

/* --- channels --- */

static const struct bir_physical_ap *physical(const struct bir_instruction *inst, enum bir_role role)
{
    const struct bir_argument *arg = bir_instruction_first(inst, role);
    return arg && arg->kind == BIR_ARG_PHYSICAL_AP && arg->location ? (const struct bir_physical_ap *)arg : NULL;
}

/* The save of another engine that an emitted load waits for, or NULL. */
static const struct bir_instruction *sender_of(const struct bir_plan *plan, const struct bir_instruction *load)
{
    const struct bir_physical_ap *from = physical(load, BIR_ROLE_IN), *to;
    if (!from || bir_map_get(&plan->input->code, load))
        return NULL;
    BIR_EACH_EDGE (edge, load) {
        const struct bir_instruction *save = edge->target;
        if (edge->list != BIR_EDGES_NORMAL || save->opcode != BIR_OP_TENSOR_SAVE || save->engine == load->engine)
            continue;
        to = physical(save, BIR_ROLE_OUT);
        if (to && to->base.location == from->base.location && to->offset_elems == from->offset_elems)
            return save;
    }
    return NULL;
}

static enum bir_status find_channels(struct threads *t)
{
    struct bir_plan *plan = t->plan;
    BIR_EACH_BLOCK (block, &plan->input->function->body) {
        BIR_EACH_INSTRUCTION (inst, block) {
            struct channel channel = { .load = inst };
            channel.save = inst->opcode == BIR_OP_TENSOR_LOAD ? sender_of(plan, inst) : NULL;
            if (!channel.save)
                continue;
            const struct bir_physical_ap *from = physical(inst, BIR_ROLE_IN);
            BIR_TRY(bir_machine_cell(&plan->machine, (const struct bir_location *)from->base.location,
                                     from->offset_elems, from->base.dtype, &channel.cell));
            if (!bir_vec_push(plan->arena, &t->channels, channel) ||
                !bir_map_put(&t->receiver_of, plan->arena, inst, (void *)(uintptr_t)t->channels.count))
                return out_of_memory(t);
        }
    }
    return BIR_OK;
}

static enum bir_status send(struct threads *t, struct channel *channel)
{
    struct bir_machine *m = &t->plan->machine;
    struct row row;
    memcpy(row.low, m->values[channel->cell], sizeof row.low);
    memcpy(row.high, m->values[channel->cell + 1], sizeof row.high);
    return bir_vec_push(t->plan->arena, &channel->rows, row) ? BIR_OK : out_of_memory(t);
}

static void receive(struct threads *t, struct channel *channel)
{
    struct bir_machine *m = &t->plan->machine;
    if (channel->taken == channel->rows.count) {
        m->waits = true;
        return;
    }
    const struct row *row = &channel->rows.items[channel->taken++];
    memcpy(m->values[channel->cell], row->low, sizeof row->low);
    memcpy(m->values[channel->cell + 1], row->high, sizeof row->high);
}

/* --- branches --- */

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
    uint32_t first = plan->machine.ops.count;
    plan->next_operand = plan->input->operands;
    t->blocks.count = 0;
    t->engine = (uint8_t)engine;
    t->threads[engine].pc = first;
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
    link_jumps(t, first);
    return BIR_OK;
}

/* --- points --- */

/* Sets the axis values of a point, innermost loop fastest. */
static void set_axes(struct bir_plan *plan, const struct bir_nest *nest, uint64_t point)
{
    for (; nest; nest = nest->parent) {
        if (!nest->axis)
            continue;
        uint64_t trip = (uint64_t)pelican_axis_trip_count(nest->axis);
        int64_t value = (int64_t)((uint64_t)nest->axis->lb + point % trip * (uint64_t)nest->axis->stride);
        for (unsigned l = 0; l < BIR_MACHINE_LANES; l++)
            plan->axis[nest->depth - 1][l] = value;
        point /= trip;
    }
}

/* Goes to the next point where the predicates hold and, when a register has a say in that and there is a site, where
 * the address is right. False: there is none in this turn over the domain. */
static bool advance(struct threads *t, struct odometer *odometer, const struct bir_plan_site *site)
{
    struct bir_plan *plan = t->plan;
    bool open = site && (odometer->has_runtime || odometer->repeats || plan->input->had_branches);
    uint64_t end = odometer->points < MAX_GUARDED_POINTS ? odometer->points : MAX_GUARDED_POINTS;
    if (!odometer->guarded && !open) {
        set_axes(plan, odometer->nest, odometer->next++);
        return true;
    }
    if (odometer->repeats && odometer->next > 0)
        odometer->next--;
    while (odometer->next < end) {
        set_axes(plan, odometer->nest, odometer->next++);
        if (bir_guards_hold(plan, odometer->nest, odometer->guard) && (!open || bir_plan_agrees(plan, site)))
            return true;
    }
    return false;
}

/* Is every visit to be accounted for? */
static bool is_exact(const struct threads *t, const struct odometer *odometer)
{
    return odometer->counted && !t->plan->input->had_branches;
}

/* more: there are points left over, else too few. */
static enum bir_status visits_wrong(struct threads *t, const struct odometer *odometer, bool more)
{
    const char *name = odometer->inst->name ? odometer->inst->name->text : "?";
    if (odometer->guarded)
        bir_diag_add(t->plan->diags, BIR_ERROR, "check-branch", BIR_NO_OFFSET,
                     "instruction %s: executed %" PRIu64 " times along its branches, its predicates hold %s often",
                     name, odometer->visits, more ? "more" : "less");
    else
        bir_diag_add(t->plan->diags, BIR_ERROR, "check-branch", BIR_NO_OFFSET,
                     "instruction %s: executed %" PRIu64 " times along its branches, its loops have %" PRIu64 " points",
                     name, odometer->visits, odometer->points);
    return BIR_INTERNAL;
}

/* --- execution --- */

static enum bir_status visit(struct threads *t, const struct event *event)
{
    struct odometer *odometer = &t->odometers.items[event->odometer];
    const struct bir_plan_site *site = event->type == EVENT_SITE ? &t->plan->sites.items[event->index] : NULL;
    odometer->visits++;
    if (odometer->points == 0 || (is_exact(t, odometer) && !odometer->guarded && odometer->visits > odometer->points))
        return visits_wrong(t, odometer, false);
    if (!advance(t, odometer, site)) {
        if (is_exact(t, odometer))
            return visits_wrong(t, odometer, false);
        odometer->next = 0; /* the next turn */
        if (!advance(t, odometer, site) && odometer->guarded) {
            if (site)
                BIR_TRY(bir_plan_compare(t->plan, site)); /* a wrong address says more */
            return visits_wrong(t, odometer, false);
        }
    }
    return site ? bir_plan_compare(t->plan, site) : BIR_OK;
}

static enum bir_status consume(void *user, int64_t number)
{
    struct threads *t = user;
    const struct event *event = &t->events.items[number];
    if (t->plan->polls++ % 64 == 0 && bir_cancelled(t->plan->options->cancel))
        return BIR_CANCELLED;
    switch (event->type) {
    case EVENT_SITE:
    case EVENT_VISIT: return visit(t, event);
    case EVENT_BARRIER: t->barriers.items[event->index].visits[event->engine]++; return BIR_OK;
    case EVENT_SEND: return send(t, &t->channels.items[event->index]);
    case EVENT_RECEIVE: receive(t, &t->channels.items[event->index]); return BIR_OK;
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

/* Runs one thread until it ends, waits, or has used up its steps. *moved: it did something. */
static enum bir_status run_thread(struct threads *t, struct thread *thread, bool *moved)
{
    struct bir_plan *plan = t->plan;
    struct bir_machine_fault fault;
    bool full = plan->options->mode == BIR_VALIDATION_FULL;
    uint64_t limit = full ? FULL_STEPS : SAMPLE_STEPS;
    plan->thread = (uint8_t)(thread - t->threads);
    BIR_TRY(bir_machine_run_thread(&plan->machine, thread->pc, limit - thread->steps, consume, t, &fault));
    thread->ended = fault.trap == BIR_TRAP_NONE;
    *moved |= thread->ended;
    if (thread->ended)
        return BIR_OK;
    if (fault.trap == BIR_TRAP_WAITS) {
        *moved |= fault.steps > 0;
        thread->steps += fault.steps;
        thread->pc = (uint32_t)(fault.op - plan->machine.ops.items);
        return BIR_OK;
    }
    if (fault.trap == BIR_TRAP_STEPS && (!full || !all_points_fit(t))) {
        thread->ended = thread->cut = *moved = true;
        plan->stats->unfinished++;
        return BIR_OK;
    }
    struct bir_register *reg = fault.trap == BIR_TRAP_UNWRITTEN ? bir_unwritten_of(plan, fault.op) : NULL;
    if (reg) { /* what writes it may have been skipped, as in the module: it holds data */
        *moved = true;
        thread->steps += fault.steps;
        thread->pc = (uint32_t)(fault.op - plan->machine.ops.items);
        return bir_plan_give(plan, reg);
    }
    bir_diag_add(plan->diags, BIR_ERROR, "check-address-mismatch", BIR_NO_OFFSET, "instruction %s: %s",
                 fault.op->inst && fault.op->inst->name ? fault.op->inst->name->text : "?", bir_trap_name(fault.trap));
    return BIR_INTERNAL;
}

static enum bir_status deadlock(struct threads *t)
{
    for (uint32_t i = 0; i < t->channels.count; i++) {
        const struct channel *channel = &t->channels.items[i];
        if (channel->taken < channel->rows.count || t->threads[channel->load->engine].ended)
            continue;
        bir_diag_add(t->plan->diags, BIR_ERROR, "check-branch", BIR_NO_OFFSET,
                     "engine %s waits in %s for a value that %s does not send", bir_engine_name(channel->load->engine),
                     channel->load->name->text, channel->save->name->text);
        break;
    }
    return BIR_INTERNAL;
}

static enum bir_status run_threads(struct threads *t, bool *cut)
{
    for (bool busy = true, moved = true; busy; busy = moved) {
        bool waiting = false;
        moved = false;
        for (int e = BIR_ENGINE_POOL; e <= BIR_ENGINE_SP; e++) {
            if (!t->threads[e].ended)
                BIR_TRY(run_thread(t, &t->threads[e], &moved));
            waiting |= !t->threads[e].ended;
            *cut |= t->threads[e].cut;
        }
        if (!waiting)
            return BIR_OK;
    }
    return *cut ? BIR_OK : deadlock(t); /* who waits for a thread that was stopped is stopped too */
}

static enum bir_status check_visits(struct threads *t)
{
    for (uint32_t i = 0; i < t->odometers.count; i++) {
        struct odometer *odometer = &t->odometers.items[i];
        if (!is_exact(t, odometer) || odometer->has_runtime || t->threads[odometer->engine].cut)
            continue;
        if (odometer->guarded ? advance(t, odometer, NULL) : odometer->visits != odometer->points)
            return visits_wrong(t, odometer, true);
    }
    return BIR_OK;
}

/* Engines with a program come to a barrier equally often, and what is sent is received. */
static enum bir_status check_meetings(struct threads *t)
{
    static const uint8_t others[] = { BIR_ENGINE_ACTIVATION, BIR_ENGINE_PE, BIR_ENGINE_DVE, BIR_ENGINE_SP };
    for (uint32_t i = 0; i < t->barriers.count; i++) {
        const struct barrier *barrier = &t->barriers.items[i];
        for (size_t k = 0; k < sizeof others; k++) {
            if (barrier->visits[others[k]] == barrier->visits[BIR_ENGINE_POOL])
                continue;
            bir_diag_add(t->plan->diags, BIR_ERROR, "check-branch", BIR_NO_OFFSET,
                         "%s is reached %" PRIu64 " times by %s, %" PRIu64 " times by %s", barrier->inst->name->text,
                         barrier->visits[BIR_ENGINE_POOL], bir_engine_name(BIR_ENGINE_POOL), barrier->visits[others[k]],
                         bir_engine_name(others[k]));
            return BIR_INTERNAL;
        }
    }
    for (uint32_t i = 0; i < t->channels.count; i++) {
        const struct channel *channel = &t->channels.items[i];
        if (channel->taken == channel->rows.count)
            continue;
        bir_diag_add(t->plan->diags, BIR_ERROR, "check-branch", BIR_NO_OFFSET,
                     "%s sends %" PRIu32 " values, %s takes %" PRIu32, channel->save->name->text, channel->rows.count,
                     channel->load->name->text, channel->taken);
        return BIR_INTERNAL;
    }
    return BIR_OK;
}

enum bir_status bir_plan_threads(struct bir_plan *plan)
{
    struct threads t = { .plan = plan };
    uint32_t number = 0;
    bool cut = false;
    for (const struct bir_block *block = plan->input->function->body.first; block; block = block->next) {
        number++;
        if (!bir_map_get(&t.block_of_name, block->name) &&
            !bir_map_put(&t.block_of_name, plan->arena, block->name, (void *)(uintptr_t)number))
            return bir_arena_failure(plan->arena);
    }
    BIR_TRY(find_channels(&t));
    for (int engine = BIR_ENGINE_POOL; engine <= BIR_ENGINE_SP; engine++)
        BIR_TRY(decode_thread(&t, (enum bir_engine)engine));
    plan->active = 1;
    /* Address code stands before the branch of its predicate, and need not work where that is false. */
    plan->machine.lanes_off = plan->input->had_guards ? UINT16_MAX : 0;
    BIR_TRY(run_threads(&t, &cut));
    BIR_TRY(check_visits(&t));
    return cut ? BIR_OK : check_meetings(&t);
}
