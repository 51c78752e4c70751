/*
 * Recording before address lowering, and the driver of the checks after it.
 *
 * The record holds pointers to instructions, which stay valid because passes work in place and nothing is freed. It is
 * made in one walk: operands in program order, so that the later walk over the lowered code meets them in the same
 * order and needs no lookup.
 */
#include "check/validation.h"

#include "check/plan.h"
#include "check/unwritten.h"
#include "pelican/simplify.h"

#define MAX_EXPRESSION_DEPTH 2048

struct bir_validation {
    struct bir_arena *arena;
    struct bir_operand_context context;
    struct bir_map nests;                       /* region -> struct bir_nest */
    BIR_VEC(struct bir_plan_input *) functions; /* those with operands */
    uint64_t n_operands;
};

struct recording {
    struct bir_validation *validation;
    struct bir_plan_input *input;
    BIR_VEC(struct bir_operand) operands;
    struct bir_map watched;
    struct bir_register_list *watched_list;
    enum bir_status status; /* of a callback */
};

/* --- record --- */

/* The nest node of a region, made when missing; NULL for a function's own blocks. Owners are walked before their
 * bodies, so the parent exists. */
static enum bir_status nest_of_region(struct bir_validation *v, const struct bir_region *region, struct bir_nest **out)
{
    *out = NULL;
    if (!region->owner)
        return BIR_OK;
    struct bir_nest *nest = bir_map_get(&v->nests, region);
    if (!nest) {
        const struct bir_region *outer = region->owner->block->region;
        const struct bir_nest *parent = outer->owner ? bir_map_get(&v->nests, outer) : NULL;
        nest = BIR_NEW(v->arena, BIR_MEM_OTHER, struct bir_nest);
        if (!nest || !bir_map_put(&v->nests, v->arena, region, nest))
            return bir_arena_failure(v->arena);
        const struct bir_loop *loop = region->owner->rare ? region->owner->rare->loop : NULL;
        *nest = (struct bir_nest){ .parent = parent,
                                   .loop = region->owner,
                                   .axis = loop ? loop->axis : NULL,
                                   .depth = parent ? parent->depth + 1 : 1 };
    }
    *out = nest;
    return BIR_OK;
}

static bool watch_register(struct recording *r, struct bir_register *reg)
{
    if (bir_map_get(&r->watched, reg))
        return true;
    return bir_map_put(&r->watched, r->validation->arena, reg, reg) &&
           bir_vec_push(r->validation->arena, &r->input->watched, reg);
}

static bool watch_callback(void *user, struct bir_register *reg, struct bir_register **slot)
{
    struct recording *r = user;
    (void)slot;
    if (!watch_register(r, reg))
        r->status = bir_arena_failure(r->validation->arena);
    return r->status == BIR_OK;
}

static bool watch_expression(struct recording *r, const struct pelican_expr *e, uint32_t depth)
{
    bool done = true;
    if (!e->has_runtime || depth > MAX_EXPRESSION_DEPTH)
        return true;
    switch ((enum pelican_kind)e->kind) {
    case PELICAN_RUNTIME_VALUE: return watch_register(r, e->u.reg);
    case PELICAN_MULT: return watch_expression(r, e->u.mult.operand, depth + 1);
    case PELICAN_FLOOR_DIV:
    case PELICAN_MODULO:
    case PELICAN_CC_DIV: return watch_expression(r, e->u.div.numer, depth + 1);
    case PELICAN_SUM:
        for (uint32_t i = 0; done && i < e->u.sum.n_terms; i++)
            done = watch_expression(r, e->u.sum.terms[i], depth + 1);
        return done;
    case PELICAN_AFFINE:
        for (uint32_t i = 0; done && i < e->u.affine.n_terms; i++)
            done = watch_expression(r, e->u.affine.terms[i].index, depth + 1);
        return done;
    default: return true;
    }
}

/* The predicates of an instruction, whose registers are watched. NULL when it has none. */
static enum bir_status record_guard(struct recording *r, const struct bir_instruction *inst,
                                    const struct bir_guard **out)
{
    struct bir_arena *arena = r->validation->arena;
    *out = NULL;
    if (!bir_instruction_is_predicated(inst))
        return BIR_OK;
    struct bir_guard *guard = BIR_NEW(arena, BIR_MEM_OTHER, struct bir_guard);
    struct bir_nest *nest;
    if (!guard || !bir_map_put(&r->input->guards, arena, inst, guard))
        return bir_arena_failure(arena);
    guard->inst = inst;
    BIR_TRY(nest_of_region(r->validation, inst->block->region, &nest));
    guard->nest = nest;
    BIR_TRY(bir_predicates_parse(r->input->function->module, inst, arena, &guard->predicates));
    guard->has_runtime = guard->predicates.foreign;
    for (uint32_t i = 0; i < guard->predicates.count; i++) {
        const struct pelican_expr *e = guard->predicates.items[i].expr;
        guard->has_runtime |= !pelican_range_of(e).known;
        if (!watch_expression(r, e, 0))
            return bir_arena_failure(arena);
    }
    r->input->had_guards = true;
    *out = guard;
    return BIR_OK;
}

/* Positions of indirection operands close up behind the scalar index operands that expansion takes away. */
static void close_up(struct bir_operand *operands, uint32_t first, uint32_t end)
{
    for (uint32_t i = first; i < end; i++) {
        if (operands[i].role != BIR_ROLE_INDIRECTION)
            continue;
        uint64_t gone = 0; /* bit a: arg_id a, positions beyond 63 do not occur with index operands */
        uint32_t before = 0;
        for (uint32_t k = first; k < end; k++) {
            for (uint32_t a = 0; a < operands[k].n_indices; a++)
                gone |= operands[k].indices[a].arg_id < 64 ? UINT64_C(1) << operands[k].indices[a].arg_id : 0;
        }
        for (uint32_t a = 1; a < 64 && a <= operands[i].position; a++)
            before += (gone >> a & 1) != 0;
        operands[i].position -= before;
    }
}

static enum bir_status record_operands(struct recording *r, struct bir_instruction *inst, const struct bir_guard *guard)
{
    struct bir_validation *v = r->validation;
    uint32_t first = r->operands.count;
    for (int role = 0; role < BIR_ROLE_COUNT; role++) {
        uint32_t position = 0;
        BIR_EACH_ARGUMENT (arg, inst, role) {
            uint32_t at = position++;
            if (arg->kind != BIR_ARG_SYMBOLIC_AP && arg->kind != BIR_ARG_PHYSICAL_AP)
                continue;
            struct bir_operand operand;
            struct bir_nest *nest;
            bool recorded;
            BIR_TRY(nest_of_region(v, inst->block->region, &nest));
            BIR_TRY(bir_operand_describe(&v->context, arg, at, nest, &operand, &recorded));
            operand.guard = guard;
            if (recorded && !bir_vec_push(v->arena, &r->operands, operand))
                return bir_arena_failure(v->arena);
            if (recorded && operand.kind == BIR_OPERAND_DYNAMIC)
                bir_argument_each_register(arg, watch_callback, r);
            BIR_TRY(r->status);
        }
    }
    close_up(r->operands.items, first, r->operands.count);
    return BIR_OK;
}

static enum bir_status record_watched_writers(struct recording *r)
{
    for (uint32_t i = 0; i < r->input->watched.count; i++) {
        struct bir_register *reg = r->input->watched.items[i];
        for (struct bir_argument *arg = reg->base.writers; arg; arg = bir_argument_next_use(arg)) {
            if (!bir_map_put(&r->input->watched_writers, r->validation->arena, arg, reg))
                return bir_arena_failure(r->validation->arena);
        }
    }
    return BIR_OK;
}

static enum bir_status record_registers(struct recording *r)
{
    struct bir_arena *arena = r->validation->arena;
    const struct bir_function *function = r->input->function;
    for (uint32_t i = 0; i < function->storages.count; i++) {
        struct bir_register *reg = (struct bir_register *)function->storages.items[i];
        if (reg->base.tag != BIR_STORAGE_REGISTER)
            continue;
        if (!bir_vec_push(arena, &r->input->registers, reg))
            return bir_arena_failure(arena);
        bool read = reg->base.readers || bir_map_get(&r->watched, reg);
        if (read && !reg->base.writers && !bir_vec_push(arena, &r->input->inputs, reg))
            return bir_arena_failure(arena);
    }
    return BIR_OK;
}

static enum bir_status record_function(struct bir_validation *v, struct bir_function *function)
{
    struct bir_plan_input *input = BIR_NEW(v->arena, BIR_MEM_OTHER, struct bir_plan_input);
    if (!input)
        return bir_arena_failure(v->arena);
    input->function = function;
    struct recording r = { .validation = v, .input = input };
    struct bir_walk walk;
    bir_walk_init(&walk, &function->body);
    for (struct bir_instruction *inst = bir_walk_next(&walk); inst; inst = bir_walk_next(&walk)) {
        unsigned flags = bir_opcode_flags(inst->opcode);
        struct bir_nest *nest;
        const struct bir_guard *guard;
        BIR_TRY(record_guard(&r, inst, &guard));
        if (flags & BIR_OPF_REGION) {
            input->had_loops |= inst->opcode != BIR_OP_DMA_BLOCK;
            if (bir_instruction_region(inst)) {
                BIR_TRY(nest_of_region(v, bir_instruction_region(inst), &nest));
                nest->guard = guard;
            }
            continue;
        }
        input->had_branches |= inst->opcode == BIR_OP_COMPARE_AND_BRANCH ||
                               inst->opcode == BIR_OP_UNCONDITIONAL_BRANCH || inst->opcode == BIR_OP_BREAK ||
                               (guard && (flags & BIR_OPF_TERMINATOR));
        if ((flags & BIR_OPF_REGISTER) && !bir_map_put(&input->code, v->arena, inst, inst))
            return bir_arena_failure(v->arena);
        BIR_TRY(record_operands(&r, inst, guard));
    }
    if (r.operands.count == 0 && !input->had_guards)
        return BIR_OK;
    input->operands = r.operands.items;
    input->n_operands = r.operands.count;
    v->n_operands += r.operands.count;
    BIR_TRY(record_registers(&r));
    BIR_TRY(record_watched_writers(&r));
    BIR_TRY(bir_unwritten_record(input, v->arena));
    return bir_vec_push(v->arena, &v->functions, input) ? BIR_OK : bir_arena_failure(v->arena);
}

enum bir_status bir_validation_record(const struct bir_module *module, struct bir_arena *arena,
                                      struct bir_validation **out)
{
    struct bir_validation *v = BIR_NEW(arena, BIR_MEM_OTHER, struct bir_validation);
    if (!v)
        return bir_arena_failure(arena);
    v->arena = arena;
    v->context.arena = arena;
    for (struct bir_function *f = module->functions; f; f = f->next)
        BIR_TRY(record_function(v, f));
    for (struct bir_function *f = module->nki_functions; f; f = f->next)
        BIR_TRY(record_function(v, f));
    *out = v;
    return BIR_OK;
}

uint64_t bir_validation_operand_count(const struct bir_validation *validation)
{
    return validation->n_operands;
}

/* --- run --- */

/* Loops or predicates: what lower_branch leaves none of. */
static bool is_structured(const struct bir_function *function)
{
    BIR_EACH_BLOCK (block, &function->body) {
        BIR_EACH_INSTRUCTION (inst, block) {
            if ((bir_opcode_flags(inst->opcode) & BIR_OPF_REGION) && inst->opcode != BIR_OP_DMA_BLOCK)
                return true;
            if (bir_instruction_is_predicated(inst))
                return true;
        }
    }
    return false;
}

static enum bir_status run_function(const struct bir_plan_input *input, size_t limit_bytes,
                                    const struct bir_validation_options *options, struct bir_diags *diags,
                                    struct bir_validation_stats *stats)
{
    struct bir_arena arena;
    bir_arena_init_scratch(&arena, limit_bytes);
    struct bir_plan *plan = BIR_NEW(&arena, BIR_MEM_OTHER, struct bir_plan);
    enum bir_status status =
        plan ? bir_plan_init(plan, input, &arena, options, diags, stats) : bir_arena_failure(&arena);
    if (status == BIR_OK) {
        bool threads = (input->had_loops || input->had_guards) && !is_structured(input->function);
        status = threads ? bir_plan_threads(plan) : bir_plan_structured(plan);
    }
    bir_arena_deinit(&arena);
    return status;
}

enum bir_status bir_validation_run(struct bir_validation *validation, const struct bir_module *lowered,
                                   const struct bir_validation_options *options, struct bir_diags *diags,
                                   struct bir_validation_stats *stats)
{
    for (uint32_t i = 0; i < validation->functions.count; i++) {
        const struct bir_plan_input *input = validation->functions.items[i];
        if (input->function->module != lowered) {
            bir_diag_add(diags, BIR_ERROR, "check-module", BIR_NO_OFFSET,
                         "function %s was recorded in another module than the one to check",
                         input->function->name->text);
            return BIR_INTERNAL;
        }
        BIR_TRY(bir_unwritten_report(input, diags));
        uint32_t errors = diags->errors;
        enum bir_status status = run_function(input, validation->arena->limit_bytes, options, diags, stats);
        if (status == BIR_LIMIT && diags->errors == errors)
            return bir_fail_limit(diags, "check-limit", BIR_NO_OFFSET, "raise the arena limit, or lower with check off",
                                  "function %s: its register code does not fit the arena limit of %zu bytes",
                                  input->function->name->text, validation->arena->limit_bytes);
        BIR_TRY(status);
    }
    return BIR_OK;
}
