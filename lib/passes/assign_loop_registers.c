/*
 * Induction registers: one register per loop axis and engine that executes an instruction in the loop's body, nested
 * bodies included (lowering.md 7, our choice for the unknown producer of LoopAxis.engineRegMap).
 *
 * The register holds the induction VALUE, is 1 wide, int32, and is called `<axis>-iv-<Engine>`. Two loops never share a
 * register, even when their axes have the same name and their bodies cannot be live together: colouring reuses the
 * physical number anyway. So when the name is taken, "-2", "-3", ... is appended.
 *
 * Which engines a loop needs is found in one walk: from each instruction upwards, until a loop that knows the engine
 * already.
 */
#include "passes/free_name.h"
#include "passes/induction.h"

struct assign {
    struct bir_function *function;
    const struct bir_pass_context *context;
    struct bir_map
        engines; /* loop instruction -> bit set of engines, as a pointer-sized number; bit 0 marks presence */
    struct bir_free_names names;
    BIR_VEC(struct bir_instruction *) loops; /* in program order */
};

static enum bir_status note_engine(struct assign *a, const struct bir_instruction *inst)
{
    uintptr_t bit = (uintptr_t)1 << inst->engine;
    for (struct bir_instruction *owner = inst->block->region->owner; owner; owner = owner->block->region->owner) {
        uintptr_t known = (uintptr_t)bir_map_get(&a->engines, owner);
        if (known & bit)
            return BIR_OK;
        if (!bir_map_put(&a->engines, a->context->scratch, owner, (void *)(known | bit | 1)))
            return bir_arena_failure(a->context->scratch);
    }
    return BIR_OK;
}

static enum bir_status collect(struct assign *a)
{
    struct bir_walk walk;
    uint64_t n = 0;
    bir_walk_init(&walk, &a->function->body);
    for (struct bir_instruction *inst = bir_walk_next(&walk); inst; inst = bir_walk_next(&walk)) {
        BIR_TRY(bir_pass_poll_walk(a->context, inst, n++));
        if (inst->opcode == BIR_OP_LOOP && !bir_vec_push(a->context->scratch, &a->loops, inst))
            return bir_arena_failure(a->context->scratch);
        if (bir_engine_is_concrete(inst->engine) && !(bir_opcode_flags(inst->opcode) & BIR_OPF_REGION))
            BIR_TRY(note_engine(a, inst));
    }
    return BIR_OK;
}

/* `<axis>-iv-<Engine>`, or that with the first free number. NULL on allocation failure. */
static const struct bir_str *free_name(struct assign *a, const struct pelican_axis *axis, enum bir_engine engine)
{
    struct bir_strtab *strings = &a->function->module->strings;
    return bir_free_name(&a->names, strings, a->context->scratch, &a->function->registers,
                         bir_intern_printf(strings, "%s-iv-%s", axis->name->text, bir_engine_name((uint8_t)engine)));
}

/* Is this one of the registers a Loop read from a dump lists for the engine? */
static bool is_induction_register(const struct bir_register *reg, const struct pelican_axis *axis,
                                  enum bir_engine engine)
{
    const struct bir_str *name = reg->base.name;
    size_t len = axis->name->len;
    return reg->engine == engine && name->len > len + 4 && memcmp(name->text, axis->name->text, len) == 0 &&
           memcmp(name->text + len, "-iv-", 4) == 0;
}

struct bir_register *bir_induction_register(struct pelican_axis *axis, enum bir_engine engine)
{
    const struct bir_instruction *inst = axis->loop;
    const struct bir_loop *loop = inst && inst->rare ? inst->rare->loop : NULL;
    if (axis->registers[engine] || !loop)
        return axis->registers[engine];
    struct bir_register *found = NULL;
    for (uint32_t i = 0; i < loop->registers.count; i++) {
        if (is_induction_register(loop->registers.items[i], axis, engine))
            found = loop->registers.items[i];
    }
    return found;
}

static enum bir_status mint_register(struct assign *a, struct bir_loop *loop, enum bir_engine engine)
{
    struct bir_module *module = a->function->module;
    const struct bir_str *name = free_name(a, loop->axis, engine);
    struct bir_register *reg = name ? bir_function_add_register(a->function, name, engine, 1) : NULL;
    if (!reg || !bir_vec_push(&module->arena, &loop->registers, reg) ||
        !pelican_axis_set_register(&module->expressions, loop->axis, engine, reg))
        return bir_pass_out_of_memory(a->context, module);
    a->context->stats->loop_registers++;
    a->context->stats->minted_registers++;
    return BIR_OK;
}

static enum bir_status assign_loop(struct assign *a, struct bir_instruction *inst, struct bir_diags *diags)
{
    struct bir_loop *loop = inst->rare ? inst->rare->loop : NULL;
    if (!loop || !loop->axis)
        return bir_fail(diags, "lower-loop-axis", bir_pass_place(inst->source_offset), "give the Loop a LoopAxis",
                        "Loop %s has no axis", inst->name ? inst->name->text : "without name");
    uintptr_t engines = (uintptr_t)bir_map_get(&a->engines, inst);
    for (unsigned e = BIR_ENGINE_POOL; e <= BIR_ENGINE_SP; e++) {
        if (!(engines & ((uintptr_t)1 << e)))
            continue;
        struct bir_register *reg = bir_induction_register(loop->axis, (enum bir_engine)e);
        if (!reg)
            BIR_TRY(mint_register(a, loop, (enum bir_engine)e));
        else if (!loop->axis->registers[e] &&
                 !pelican_axis_set_register(&a->function->module->expressions, loop->axis, e, reg))
            return bir_pass_out_of_memory(a->context, a->function->module);
    }
    return BIR_OK;
}

/*
 * Entry: every instruction in a loop body that is to be lowered is on a concrete engine.
 * Exit: axis->registers[e] is set for every Loop and engine e of its body, and listed in the Loop's registers by engine
 * ordinal (after those listed before, when a dump was read). Running it again changes nothing. Invalidates: nothing.
 */
enum bir_status bir_pass_assign_loop_registers(struct bir_module *module, const struct bir_pass_context *context,
                                               struct bir_diags *diags)
{
    BIR_EACH_CODE_FUNCTION(f, module)
    {
        struct assign a = { .function = f, .context = context };
        BIR_TRY(collect(&a));
        for (uint32_t i = 0; i < a.loops.count; i++) {
            BIR_TRY(bir_pass_poll(context, i));
            BIR_TRY(assign_loop(&a, a.loops.items[i], diags));
        }
    }
    return BIR_OK;
}
