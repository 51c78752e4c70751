/*
 * Spilling: a register becomes a DRAM location `<register>-spill` (DRAM, because a TensorSave to PSUM is illegal and
 * one to SBUF is illegal on arch 20). Every instruction that names the register gets a fresh one, `<register>-r<n>`,
 * loaded before it when it reads and saved behind it when it writes. All registers of a round are spilled in one walk
 * over the function.
 *
 * Load and save are on the same engine, which executes them in order; the load still records a Flow edge to the last
 * save before it.
 */
#include "passes/spill.h"

#include "passes/register_slot.h"

struct spilled {
    struct bir_register *old;
    struct bir_location *location;
    struct bir_register *fresh; /* of the instruction at hand, or NULL */
    bool used, defined;         /* by the instruction at hand */
    struct bir_instruction *last_save;
    uint32_t n_fresh;
};

struct walk_state {
    struct bir_spiller *spiller;
    struct spilled *items;
    uint32_t count;
    BIR_VEC(uint32_t) touched; /* items that the instruction at hand names */
    bool def, use;             /* of the operand at hand */
    bool failed;
};

void bir_spiller_init(struct bir_spiller *spiller, struct bir_module *module, const struct bir_pass_context *context)
{
    *spiller = (struct bir_spiller){ .module = module, .context = context };
    bir_emitter_init(&spiller->emitter, module, context);
    bir_dram_space_init(&spiller->dram, module);
}

/* --- candidates --- */

struct exemption {
    struct bir_spiller *spiller;
    bool failed;
};

static bool exempt_fixed(void *user, struct bir_register *reg, struct bir_register **slot)
{
    struct exemption *x = user;
    if (!slot && !bir_map_put(&x->spiller->exempt, x->spiller->context->scratch, reg, reg))
        x->failed = true;
    return !x->failed;
}

/* Registers that an artificial segment or an op key names: all that the collector finds beyond the operands. */
static enum bir_status exempt_other(struct bir_liveness *live, struct bir_instruction *inst, bir_access_vec *accesses)
{
    struct bir_segment enter = { .kind = BIR_SEGMENT_ENTER, .owner = inst };
    accesses->count = 0;
    if (bir_instruction_region(inst))
        return bir_liveness_add_accesses(live, &enter, NULL, accesses);
    return bir_liveness_add_fixed(live, inst, accesses);
}

enum bir_status bir_spiller_exempt(struct bir_spiller *spiller, struct bir_function *function)
{
    struct exemption x = { .spiller = spiller };
    struct bir_liveness live = { .function = function, .context = spiller->context };
    bir_access_vec accesses = { 0 };
    struct bir_walk walk;
    bir_liveness_reset(function);
    bir_walk_init(&walk, &function->body);
    for (struct bir_instruction *inst = bir_walk_next(&walk); inst; inst = bir_walk_next(&walk)) {
        for (int role = 0; role < BIR_ROLE_COUNT && !x.failed; role++) {
            BIR_EACH_ARGUMENT (arg, inst, role)
                bir_argument_each_register(arg, exempt_fixed, &x);
        }
        accesses.count = 0;
        BIR_TRY(exempt_other(&live, inst, &accesses));
        for (uint32_t i = 0; i < accesses.count && !x.failed; i++)
            exempt_fixed(&x, live.nodes.items[accesses.items[i].node].reg, NULL);
        if (x.failed)
            return bir_arena_failure(spiller->context->scratch);
    }
    return BIR_OK;
}

bool bir_spiller_may_spill(const struct bir_spiller *spiller, const struct bir_node *node)
{
    const struct bir_register *reg = node->reg;
    if (node->at_entry || bir_map_get(&spiller->exempt, reg))
        return false;
    const struct bir_argument *def = reg->base.writers, *use = reg->base.readers;
    bool one_each =
        node->defs == 1 && node->uses == 1 && def && use && !bir_argument_next_use(def) && !bir_argument_next_use(use);
    return !(one_each && bir_argument_parent(def)->next == bir_argument_parent(use));
}

/* --- rewriting --- */

static bool note_register(void *user, struct bir_register *reg, struct bir_register **slot)
{
    struct walk_state *w = user;
    (void)slot;
    if (reg->scratch == 0)
        return true;
    struct spilled *s = &w->items[reg->scratch - 1];
    if (!s->used && !s->defined && !bir_vec_push(w->spiller->context->scratch, &w->touched, reg->scratch - 1)) {
        w->failed = true;
        return false;
    }
    s->used = s->used || w->use;
    s->defined = s->defined || w->def;
    return true;
}

static bool replace_register(void *user, struct bir_register *reg, struct bir_register **slot)
{
    struct walk_state *w = user;
    if (reg->scratch != 0 && slot)
        *slot = w->items[reg->scratch - 1].fresh;
    return true;
}

static void visit_operands(struct walk_state *w, struct bir_instruction *inst, bir_register_fn *fn)
{
    for (int role = 0; role < BIR_ROLE_COUNT; role++) {
        BIR_EACH_ARGUMENT (arg, inst, role) {
            w->def = role == BIR_ROLE_OUT && arg->kind == BIR_ARG_REGISTER_ACCESS;
            w->use = !w->def || bir_access_is_partial(arg);
            bir_argument_each_register(arg, fn, w);
        }
    }
}

/* register_access is rebound through its location, so that use lists stay right; the others through their slots. */
static void replace_operands(struct walk_state *w, struct bir_instruction *inst)
{
    for (int role = 0; role < BIR_ROLE_COUNT; role++) {
        BIR_EACH_ARGUMENT (arg, inst, role) {
            if (arg->kind != BIR_ARG_REGISTER_ACCESS) {
                bir_argument_each_register(arg, replace_register, w);
                continue;
            }
            struct bir_register *reg = (struct bir_register *)arg->location;
            if (reg && reg->scratch != 0)
                bir_argument_set_location(arg, &w->items[reg->scratch - 1].fresh->base, role == BIR_ROLE_OUT, true);
        }
    }
}

static bool is_predicated(const struct bir_instruction *inst)
{
    return inst->rare && inst->rare->texts && inst->rare->texts->predicates;
}

static bool emit_reload(struct walk_state *w, struct spilled *s)
{
    struct bir_emitter *e = &w->spiller->emitter;
    bir_emitter_suffix(e, "-spill-load-");
    bir_emit_tensor_load(e, s->fresh, NULL, s->location, 0, (enum bir_dtype)s->location->set->base.dtype);
    return !e->failed && (!s->last_save || bir_instruction_add_dependency(w->spiller->module, e->last, s->last_save,
                                                                          BIR_EDGE_FLOW, false));
}

static bool rewrite_instruction(struct walk_state *w, struct bir_instruction *inst)
{
    struct bir_emitter *e = &w->spiller->emitter;
    struct bir_arena *scratch = w->spiller->context->scratch;
    bir_emitter_place(e, inst, "");
    for (uint32_t i = 0; i < w->touched.count; i++) {
        struct spilled *s = &w->items[w->touched.items[i]];
        s->fresh = bir_emit_mint_like(e, s->old, s->n_fresh++);
        if (!s->fresh || !bir_map_put(&w->spiller->exempt, scratch, s->fresh, s->fresh))
            return false;
        if ((s->used || is_predicated(inst)) && !emit_reload(w, s))
            return false;
    }
    replace_operands(w, inst);
    for (uint32_t i = 0; i < w->touched.count; i++) {
        struct spilled *s = &w->items[w->touched.items[i]];
        if (s->defined) {
            bir_emitter_suffix(e, "-spill-save-");
            s->last_save = bir_emit_tensor_save_behind(e, s->location, s->fresh);
        }
        s->fresh = NULL;
        s->used = s->defined = false;
    }
    return !e->failed;
}

static enum bir_status new_location(struct bir_spiller *spiller, struct bir_function *function, struct spilled *s,
                                    struct bir_diags *diags)
{
    struct bir_module *module = spiller->module;
    const struct bir_str *name = bir_intern_printf(&module->strings, "%s-spill", s->old->base.name->text);
    if (!name)
        return bir_arena_failure(&module->arena);
    return bir_register_slot_new(&spiller->dram, function, name, s->old, diags, &s->location);
}

enum bir_status bir_spiller_spill(struct bir_spiller *spiller, struct bir_function *function,
                                  struct bir_register *const *regs, uint32_t count, struct bir_diags *diags)
{
    struct bir_arena *scratch = spiller->context->scratch;
    struct walk_state w = { .spiller = spiller, .count = count };
    w.items = bir_arena_alloc_array(scratch, BIR_MEM_TABLES, count, sizeof *w.items);
    if (!w.items)
        return bir_arena_failure(scratch);
    bir_liveness_reset(function);
    for (uint32_t i = 0; i < count; i++) {
        w.items[i].old = regs[i];
        regs[i]->scratch = i + 1;
        BIR_TRY(new_location(spiller, function, &w.items[i], diags));
        spiller->context->stats->spilled_registers++;
    }
    struct bir_walk walk;
    uint64_t n = 0;
    bir_walk_init(&walk, &function->body);
    for (struct bir_instruction *inst = bir_walk_next(&walk); inst; inst = bir_walk_next(&walk)) {
        BIR_TRY(bir_pass_poll_walk(spiller->context, inst, n++));
        w.touched.count = 0;
        visit_operands(&w, inst, note_register);
        if (w.touched.count > 0 && !w.failed)
            w.failed = !rewrite_instruction(&w, inst);
        if (w.failed)
            return bir_pass_out_of_memory(spiller->context, spiller->module);
    }
    return BIR_OK;
}
