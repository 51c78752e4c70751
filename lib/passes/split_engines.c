/*
 * split_engines: code on ALL becomes code on single engines (lowering.md 10, the vendor's expand_all_engine pass).
 *
 * The front end puts register code and branches on ALL and lets every engine run its copy. Here each register on ALL
 * (or on none) is followed from the engines that read it backwards through the code on ALL that computes it; it gets
 * one register for each engine found, the first in its place and the others called `<register>.<Engine>`. An
 * instruction on ALL is stamped with its first engine, and each further one gets a clone `<instruction>.<Engine>` with
 * copied dependencies directly behind it.
 *
 *   RegisterAlu, RegisterMove, TensorLoad   the engines that need a register they write
 *   TensorSave                              SP alone: memory is to be written once
 *   CompareAndBranch, UnconditionalBranch   every engine of the function: each has a program counter
 *   everything else                         stays on ALL: a barrier is one
 *
 * What nobody reads is put on SP.
 */
#include "passes/emit.h"
#include "passes/rewire.h"
#include "passes/rewrite_expr.h"

#define FALLBACK_ENGINE BIR_ENGINE_SP

/* One register that is on no single engine. */
struct split_register {
    struct bir_register *reg;
    unsigned demand; /* bit set of engines */
    bool queued;
    struct bir_register *version[BIR_ENGINE_COUNT];
};

struct splitter {
    struct bir_module *module;
    struct bir_function *function;
    const struct bir_pass_context *context;
    struct bir_diags *diags;
    BIR_VEC(struct split_register) regs; /* reg->scratch is index + 1 */
    BIR_VEC(uint32_t) work;
    struct bir_free_names instruction_names, register_names;
    unsigned function_engines;
    unsigned demand; /* of the operand at hand, for note_demand */
    uint8_t engine;  /* of the instruction at hand, for replace_register */
    bool failed, missing;
    const struct bir_register *missing_register;
};

static const char *inst_name(const struct bir_instruction *inst)
{
    return inst->name ? inst->name->text : "?";
}

static bool is_open(uint8_t engine)
{
    return engine == BIR_ENGINE_ALL || engine == BIR_ENGINE_UNASSIGNED;
}

static bool is_branch(const struct bir_instruction *inst)
{
    return inst->opcode == BIR_OP_COMPARE_AND_BRANCH || inst->opcode == BIR_OP_UNCONDITIONAL_BRANCH;
}

static bool is_register_code(const struct bir_instruction *inst)
{
    return bir_opcode_flags(inst->opcode) & BIR_OPF_REGISTER;
}

/* Does this pass give it engines? */
static bool is_split(const struct bir_instruction *inst)
{
    return is_open(inst->engine) && (is_branch(inst) || is_register_code(inst));
}

/* --- checks --- */

/* The shapes that the vendor's pass insists on (EAE011..029, lowering.md 18); a 64-bit RegisterAlu has pairs. */
struct shape {
    uint16_t opcode;
    uint32_t ins, outs;
    uint16_t source_kinds; /* bit set of enum bir_argument_kind */
    const char *code_ins, *code_outs, *code_source, *code_result;
};

static const struct shape shapes[] = {
    { BIR_OP_REGISTER_ALU, 2, 1, 1 << BIR_ARG_REGISTER_ACCESS | 1 << BIR_ARG_IMM_VALUE, "EAE017", "EAE018", "EAE019",
      "EAE020" },
    { BIR_OP_REGISTER_MOVE, 1, 1, 1 << BIR_ARG_REGISTER_ACCESS | 1 << BIR_ARG_IMM_VALUE, "EAE026", "EAE027", "EAE028",
      "EAE029" },
    { BIR_OP_TENSOR_LOAD, 1, 1, 1 << BIR_ARG_PHYSICAL_AP, "EAE012", "EAE013", "EAE014", "EAE015" },
};

static enum bir_status refuse_shape(struct splitter *s, const struct bir_instruction *inst, const char *vendor,
                                    const char *what)
{
    struct bir_diag *diag = bir_diag_add(s->diags, BIR_ERROR, "split-shape", bir_pass_place(inst->source_offset),
                                         "%s %s on ALL: %s", bir_opcode_name(inst->opcode), inst_name(inst), what);
    diag->vendor = vendor;
    diag->hint = "put it on a single engine, or write it as the front end does";
    return BIR_INVALID;
}

static enum bir_status check_shape(struct splitter *s, const struct bir_instruction *inst)
{
    const struct shape *shape = NULL;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        if (shapes[i].opcode == inst->opcode && inst->engine == BIR_ENGINE_ALL)
            shape = &shapes[i];
    }
    if (!shape || bir_props_find(inst->props, "is_64bit"))
        return BIR_OK;
    if (bir_instruction_argument_count(inst, BIR_ROLE_IN) != shape->ins)
        return refuse_shape(s, inst, shape->code_ins, "wrong number of arguments");
    if (bir_instruction_argument_count(inst, BIR_ROLE_OUT) != shape->outs)
        return refuse_shape(s, inst, shape->code_outs, "must have one output");
    BIR_EACH_ARGUMENT (arg, inst, BIR_ROLE_IN) {
        if (!(shape->source_kinds >> arg->kind & 1))
            return refuse_shape(s, inst, shape->code_source, "an argument is of the wrong kind");
    }
    if (bir_instruction_first(inst, BIR_ROLE_OUT)->kind != BIR_ARG_REGISTER_ACCESS)
        return refuse_shape(s, inst, shape->code_result, "its output must be a register");
    return BIR_OK;
}

/* --- demand --- */

static bool add_demand(struct splitter *s, struct bir_register *reg, unsigned engines)
{
    if (!is_open(reg->engine))
        return true;
    if (reg->scratch == 0) {
        struct split_register fresh = { .reg = reg };
        if (!bir_vec_push(s->context->scratch, &s->regs, fresh))
            return false;
        reg->scratch = s->regs.count;
    }
    struct split_register *r = &s->regs.items[reg->scratch - 1];
    bool grew = (r->demand | engines) != r->demand;
    r->demand |= engines;
    if (!grew || r->queued)
        return true;
    r->queued = true;
    return bir_vec_push(s->context->scratch, &s->work, reg->scratch - 1);
}

static bool note_demand(void *user, struct bir_register *reg, struct bir_register **slot)
{
    struct splitter *s = user;
    (void)slot;
    s->failed = s->failed || !add_demand(s, reg, s->demand);
    return !s->failed;
}

static void demand_operands(struct splitter *s, const struct bir_instruction *inst, unsigned engines)
{
    s->demand = engines;
    for (int role = 0; role < BIR_ROLE_COUNT; role++) {
        BIR_EACH_ARGUMENT (arg, inst, role)
            bir_argument_each_register(arg, note_demand, s);
    }
}

/* The engines on which an instruction is known to run before anything is propagated. */
static unsigned fixed_engines(const struct splitter *s, const struct bir_instruction *inst)
{
    if (bir_engine_is_concrete(inst->engine))
        return 1u << inst->engine;
    if (is_branch(inst))
        return s->function_engines ? s->function_engines : 1u << FALLBACK_ENGINE;
    return inst->opcode == BIR_OP_TENSOR_SAVE ? 1u << FALLBACK_ENGINE : 0;
}

static const struct pelican_expr *note_leaf(void *user, struct pelican_context *ctx, const struct pelican_expr *leaf)
{
    struct splitter *s = user;
    (void)ctx;
    if (leaf->kind == PELICAN_RUNTIME_VALUE && leaf->u.reg && !add_demand(s, leaf->u.reg, s->demand))
        s->failed = true;
    return s->failed ? NULL : leaf;
}

static void demand_expression(struct splitter *s, const struct pelican_expr *e)
{
    if (e && e->has_runtime && !s->failed && !bir_expr_rewrite(&s->module->expressions, e, note_leaf, s))
        s->failed = true;
}

/* Bounds and conditions of region ops are evaluated by every engine of the function. */
static void demand_region(struct splitter *s, const struct bir_instruction *inst)
{
    const struct bir_loop *loop = inst->rare->loop;
    s->demand = s->function_engines;
    for (size_t i = 0; i < BIR_LOOP_BOUNDS; i++)
        demand_expression(s, loop->dynamic_bounds[i]);
    for (uint32_t i = 0; inst->props && i < inst->props->count; i++) {
        if (inst->props->items[i].type == BIR_VALUE_EXPR)
            demand_expression(s, inst->props->items[i].u.e);
    }
}

/* What computes the register on ALL runs wherever the register is needed. */
static void demand_sources(struct splitter *s, const struct split_register *r)
{
    unsigned engines = r->demand;
    for (const struct bir_argument *arg = r->reg->base.writers; arg; arg = bir_argument_next_use(arg)) {
        if (is_split(bir_argument_parent(arg)) && bir_argument_parent(arg)->block)
            demand_operands(s, bir_argument_parent(arg), engines);
    }
}

static enum bir_status collect_demand(struct splitter *s)
{
    struct bir_walk walk;
    uint64_t n = 0;
    bir_walk_init(&walk, &s->function->body);
    for (struct bir_instruction *inst = bir_walk_next(&walk); inst; inst = bir_walk_next(&walk)) {
        if (bir_engine_is_concrete(inst->engine) && !bir_instruction_region(inst))
            s->function_engines |= 1u << inst->engine;
    }
    bir_walk_init(&walk, &s->function->body);
    for (struct bir_instruction *inst = bir_walk_next(&walk); inst && !s->failed; inst = bir_walk_next(&walk)) {
        BIR_TRY(bir_pass_poll_walk(s->context, inst, n++));
        BIR_TRY(check_shape(s, inst));
        demand_operands(s, inst, fixed_engines(s, inst));
        if (bir_instruction_region(inst))
            demand_region(s, inst);
    }
    while (s->work.count > 0 && !s->failed) {
        struct split_register *r = &s->regs.items[s->work.items[--s->work.count]];
        r->queued = false;
        struct split_register copy = *r; /* the list may move */
        demand_sources(s, &copy);
    }
    return s->failed ? bir_arena_failure(s->context->scratch) : BIR_OK;
}

/* --- versions --- */

/* A register written by code of one engine has its value nowhere else; what stays on ALL writes one register only. */
static enum bir_status check_writers(struct splitter *s, const struct split_register *r)
{
    bool shared = (r->demand & (r->demand - 1)) != 0;
    for (const struct bir_argument *arg = r->reg->base.writers; arg; arg = bir_argument_next_use(arg)) {
        const struct bir_instruction *inst = bir_argument_parent(arg);
        uint8_t engine = inst->engine;
        if (shared && is_open(engine) && !is_split(inst))
            return bir_fail(
                s->diags, "split-cross-engine", bir_pass_place(arg->source_offset),
                "write it by register code on ALL (RegisterMove, RegisterAlu, TensorLoad), or read it on "
                "one engine only",
                "register %s is needed on several engines, but instruction %s, which writes it on ALL, cannot be "
                "split",
                r->reg->base.name->text, inst_name(inst));
        if (bir_engine_is_concrete(engine) && (r->demand & ~(1u << engine)))
            return bir_fail(s->diags, "split-cross-engine", bir_pass_place(arg->source_offset),
                            "compute the register on ALL, or read it on one engine only",
                            "register %s is written by %s on %s, but needed on other engines too",
                            r->reg->base.name->text, inst_name(bir_argument_parent(arg)), bir_engine_name(engine));
    }
    return BIR_OK;
}

static struct bir_register *new_version(struct splitter *s, const struct bir_register *reg, uint8_t engine)
{
    struct bir_strtab *strings = &s->module->strings;
    const struct bir_str *base = bir_intern_printf(strings, "%s.%s", reg->base.name->text, bir_engine_name(engine));
    const struct bir_str *name =
        bir_free_name(&s->register_names, strings, s->context->scratch, &s->function->registers, base);
    if (!name)
        return NULL;
    struct bir_register *fresh =
        bir_function_add_register(s->function, name, (enum bir_engine)engine, reg->num_physical);
    if (!fresh)
        return NULL;
    fresh->base.dtype = reg->base.dtype;
    fresh->physical_id = -1;
    s->context->stats->minted_registers++;
    return fresh;
}

static enum bir_status make_versions(struct splitter *s)
{
    for (uint32_t i = 0; i < s->regs.count; i++) {
        struct split_register *r = &s->regs.items[i];
        struct bir_register *first = r->reg;
        if (r->demand == 0)
            r->demand = 1u << FALLBACK_ENGINE;
        BIR_TRY(check_writers(s, r));
        for (uint8_t e = BIR_ENGINE_POOL; e <= BIR_ENGINE_SP; e++) {
            if (!(r->demand >> e & 1))
                continue;
            r->version[e] = first ? first : new_version(s, r->reg, e);
            if (!r->version[e])
                return bir_arena_failure(&s->module->arena);
            first = NULL;
        }
    }
    for (uint32_t i = 0; i < s->regs.count; i++) { /* now that no test of is_open is left */
        for (uint8_t e = BIR_ENGINE_SP; e >= BIR_ENGINE_POOL; e--) {
            if (s->regs.items[i].version[e])
                s->regs.items[i].version[e]->engine = e;
        }
    }
    return BIR_OK;
}

/* --- rewriting --- */

static struct bir_register *version_of(struct splitter *s, struct bir_register *reg)
{
    if (reg->scratch == 0)
        return reg;
    struct bir_register *version = s->regs.items[reg->scratch - 1].version[s->engine];
    if (!version) {
        s->missing = true;
        s->missing_register = reg;
    }
    return version ? version : reg;
}

static bool replace_slot(void *user, struct bir_register *reg, struct bir_register **slot)
{
    if (slot)
        *slot = version_of(user, reg);
    return true;
}

/* The names of the versions for the engine at hand, for the registers in one operand's expressions. */
struct name_collector {
    struct splitter *s;
    struct bir_map names;
};

static bool collect_name(void *user, struct bir_register *reg, struct bir_register **slot)
{
    struct name_collector *c = user;
    const struct bir_str *name = version_of(c->s, reg)->base.name;
    if (!slot && !bir_map_put(&c->names, c->s->context->scratch, reg->base.name, (void *)(uintptr_t)name))
        c->s->failed = true;
    return !c->s->failed;
}

static enum bir_status replace_operand(struct splitter *s, struct bir_argument *arg)
{
    if (arg->kind == BIR_ARG_REGISTER_ACCESS) {
        struct bir_register *reg = (struct bir_register *)arg->location;
        struct bir_register *version = reg ? version_of(s, reg) : NULL;
        if (version != reg)
            bir_argument_set_location(arg, &version->base, arg->role == BIR_ROLE_OUT, true);
        return BIR_OK;
    }
    bir_argument_each_register(arg, replace_slot, s);
    if (arg->kind != BIR_ARG_PHYSICAL_AP || !bir_argument_dynamic(arg))
        return BIR_OK;
    struct name_collector c = { .s = s };
    bir_argument_each_register(arg, collect_name, &c);
    if (s->failed)
        return bir_arena_failure(s->context->scratch);
    return bir_rewire_dynamic_registers(s->module, arg, s->function, &c.names, s->diags);
}

static enum bir_status replace_registers(struct splitter *s, struct bir_instruction *inst)
{
    s->engine = inst->engine;
    for (int role = 0; role < BIR_ROLE_COUNT; role++) {
        BIR_EACH_ARGUMENT (arg, inst, role)
            BIR_TRY(replace_operand(s, arg));
    }
    if (!s->missing)
        return BIR_OK;
    struct bir_diag *diag =
        bir_diag_add(s->diags, BIR_ERROR, "split-unknown-register", bir_pass_place(inst->source_offset),
                     "Register (%s) not found in oldReg2Engine2NewReg!", s->missing_register->base.name->text);
    diag->vendor = "EAE032";
    return BIR_INVALID;
}

/* The engines of a split instruction, once demand is complete. */
static unsigned engines_of(const struct splitter *s, const struct bir_instruction *inst)
{
    unsigned engines = fixed_engines(s, inst);
    BIR_EACH_ARGUMENT (arg, inst, BIR_ROLE_OUT) {
        const struct bir_register *reg = (const struct bir_register *)arg->location;
        if (arg->kind != BIR_ARG_REGISTER_ACCESS || !reg || engines)
            continue;
        engines = reg->scratch ? s->regs.items[reg->scratch - 1].demand : 1u << reg->engine;
    }
    return engines ? engines : 1u << FALLBACK_ENGINE;
}

static struct bir_instruction *clone_for(struct splitter *s, struct bir_instruction *inst, uint8_t engine)
{
    const struct bir_str *base =
        bir_intern_printf(&s->module->strings, "%s.%s", inst_name(inst), bir_engine_name(engine));
    const struct bir_str *name = bir_free_name(&s->instruction_names, &s->module->strings, s->context->scratch,
                                               &s->function->instructions, base);
    struct bir_instruction *clone = name ? bir_instruction_clone(s->module, inst, name) : NULL;
    if (clone) {
        clone->engine = engine;
        s->context->stats->split_instructions++;
    }
    return clone;
}

/* The clones are made of the unchanged original, then each is bound to its engine's registers. */
static enum bir_status split_instruction(struct splitter *s, struct bir_instruction *inst)
{
    unsigned engines = engines_of(s, inst);
    struct bir_instruction *at = inst;
    uint8_t first = (uint8_t)__builtin_ctz(engines);
    for (uint8_t e = (uint8_t)(first + 1); e <= BIR_ENGINE_SP; e++) {
        if (!(engines >> e & 1))
            continue;
        struct bir_instruction *clone = clone_for(s, inst, e);
        if (!clone)
            return bir_arena_failure(&s->module->arena);
        bir_instruction_insert_after(at, clone);
        if (s->module->arena.failure != BIR_OK) /* the name map grows at insertion */
            return s->module->arena.failure;
        at = clone;
        BIR_TRY(replace_registers(s, clone));
    }
    inst->engine = first;
    return replace_registers(s, inst);
}

static enum bir_status rewrite_function(struct splitter *s)
{
    struct bir_walk walk;
    uint64_t n = 0;
    bir_walk_init(&walk, &s->function->body);
    struct bir_instruction *inst = bir_walk_next(&walk);
    while (inst) {
        struct bir_instruction *next = bir_walk_next(&walk); /* before clones stand behind it */
        BIR_TRY(bir_pass_poll_walk(s->context, inst, n++));
        if (is_split(inst))
            BIR_TRY(split_instruction(s, inst));
        else if (bir_engine_is_concrete(inst->engine) && s->regs.count > 0)
            BIR_TRY(replace_registers(s, inst));
        inst = next;
    }
    return BIR_OK;
}

static enum bir_status split_function(struct splitter *s)
{
    for (uint32_t i = 0; i < s->function->storages.count; i++) {
        if (s->function->storages.items[i]->tag == BIR_STORAGE_REGISTER)
            ((struct bir_register *)s->function->storages.items[i])->scratch = 0;
    }
    BIR_TRY(collect_demand(s));
    BIR_TRY(make_versions(s));
    return rewrite_function(s);
}

/*
 * Entry: nothing.
 * Exit: register code and branches are on single engines, and so is every register they, or instructions on single
 * engines, name. Other instructions on ALL (barriers) stay. Invalidates: induction registers (none exist before
 * assign_loop_registers), register colours.
 */
enum bir_status bir_pass_split_engines(struct bir_module *module, const struct bir_pass_context *context,
                                       struct bir_diags *diags)
{
    BIR_EACH_CODE_FUNCTION(f, module)
    {
        struct splitter s = { .module = module, .function = f, .context = context, .diags = diags };
        BIR_TRY(split_function(&s));
    }
    return BIR_OK;
}
