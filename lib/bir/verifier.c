/*
 * The verifier: one walk over each function.
 *
 * Rules are a table: code, vendor's code, what to do, and whether breaking it is an error always or in strict mode
 * only. Checks are grouped by what they look at: storages and operands here, blocks and branches in verify_control.c,
 * register programs in verify_registers.c. Nothing is changed and nothing stops at the first finding.
 */
#include <inttypes.h>
#include <stdio.h>

#include "bir/verify.h"

#define TENSOR_BYTES_BOUND (UINT64_C(1) << 32) /* BIR156: a tensor is smaller than 4 GB */

static const struct {
    const char *code, *vendor, *hint;
    bool is_strict_only;
} rules[RULE_COUNT] = {
    [RULE_BLOCK_EMPTY] = { "verify-block-empty", "BIR078", "remove the block", true },
    [RULE_TERMINATOR_LAST] = { "verify-terminator", "BIR079", "move it in front of the terminator", false },
    [RULE_BREAK_OUTSIDE] = { "verify-terminator", "BIR081", "use Break inside loops only", false },
    [RULE_BRANCH_OPERANDS] = { "verify-branch", "BIR072", "compare two operands of type float32, int32 or uint32",
                               false },
    [RULE_BRANCH_TARGET] = { "verify-branch", "BIR111", "name a block", false },
    [RULE_BRANCH_NEXT] = { "verify-branch", "BIR142", "make one target the next block", true },
    [RULE_BLOCK_ENTRY] = { "verify-control-flow", "BIR082", "remove the block or branch to it", true },
    [RULE_BLOCK_EXIT] = { "verify-control-flow", "BIR084", "leave the function from one block", true },
    [RULE_BLOCK_ORDER] = { "verify-control-flow", "BIR090", "put the block behind one that leads to it", true },
    [RULE_LOOP_STRIDE] = { "verify-loop", NULL, "give the axis a stride", false },
    [RULE_LOOPNEST] = { "verify-loop", "BIR227", "list the enclosing loops, outermost first", true },
    [RULE_DYNAMIC_LOOP] = { "verify-loop", "BIR135", "lb and stride constant, ub = c + coeff * register", false },
    [RULE_DYNAMIC_NESTED] = { "verify-loop", "BIR149", "move it into a block of the function", false },
    [RULE_DO_WHILE] = { "verify-loop", "BIR070", "make cond an IntRuntimeValueKind", false },
    [RULE_TENSOR_SIZE] = { "verify-tensor-size", "BIR156", "split the tensor", false },
    [RULE_ALIGNMENT] = { "verify-alignment", "BIR429", "place the tensor at a multiple of the element size", false },
    [RULE_VECTOR_OFFSET] = { "verify-dynamic", NULL, "use indirect_dim W", false },
    [RULE_REGISTER_OPERANDS] = { "verify-register-operands", NULL, "see the operands of register code", false },
    [RULE_REGISTER_WIDTH] = { "verify-register-width", "EBIR010", "use inputs of one width", false },
    [RULE_MEMORY_WIDTH] = { "verify-register-width", "EBIR011", "load as many bytes as the registers hold", false },
    [RULE_MOVE_WIDTH] = { "verify-register-width", "EBIR012", "move between equal widths", false },
    [RULE_WIDE_OP] = { "verify-register-op", "EBIR013", "64-bit operations are add, subtract and mult", false },
    [RULE_REGISTER_MEMORY] = { "verify-register-memory", "BIR145", "use another memory", false },
};

void verify_report(struct verifier *v, enum verify_rule rule, uint32_t source_offset, const char *fmt, ...)
{
    char message[400];
    va_list args;
    va_start(args, fmt);
    vsnprintf(message, sizeof message, fmt, args);
    va_end(args);
    enum bir_severity severity = rules[rule].is_strict_only && !v->strict ? BIR_WARNING : BIR_ERROR;
    int64_t offset = source_offset == BIR_NO_SOURCE ? BIR_NO_OFFSET : (int64_t)source_offset;
    struct bir_diag *diag = bir_diag_add(v->diags, severity, rules[rule].code, offset, "%s", message);
    diag->vendor = rules[rule].vendor;
    diag->hint = rules[rule].hint;
}

const char *verify_name(const struct bir_instruction *inst, char buffer[160])
{
    snprintf(buffer, 160, "instruction \"%.80s\" (%s)", inst->name ? inst->name->text : "",
             bir_opcode_name(inst->opcode));
    return buffer;
}

/* Storages */

static void verify_location(struct verifier *v, const struct bir_location *location)
{
    uint64_t bytes = 1;
    bool fits = true;
    for (uint32_t i = 0; location->dims && i < location->dims->count; i++) {
        int64_t dim = location->dims->items[i];
        fits = fits && dim >= 0 && !__builtin_mul_overflow(bytes, (uint64_t)dim, &bytes);
    }
    if (!fits || bytes >= TENSOR_BYTES_BOUND)
        verify_report(v, RULE_TENSOR_SIZE, location->base.source_offset,
                      "location \"%.80s\" has %" PRIu64 " bytes%s, the limit is %" PRIu64, location->base.name->text,
                      bytes, fits ? "" : " or dims beyond all bounds", TENSOR_BYTES_BOUND - 1);
}

static void verify_storages(struct verifier *v, const struct bir_function *function)
{
    for (uint32_t i = 0; i < function->storages.count; i++) {
        if (function->storages.items[i]->tag != BIR_STORAGE_SET)
            continue;
        const struct bir_set *set = (const struct bir_set *)function->storages.items[i];
        for (uint32_t k = 0; k < set->locations.count; k++)
            verify_location(v, set->locations.items[k]);
    }
}

/* Operands */

/* Bytes at whose multiples an element may start (enums.md section 1; packed types have byte alignment). */
static uint32_t alignment_bytes(uint8_t dtype)
{
    bool is_packed =
        dtype == BIR_DTYPE_FLOAT4_E2M1FN_X4 || dtype == BIR_DTYPE_FLOAT8_E4M3FN_X4 || dtype == BIR_DTYPE_FLOAT8_E5M2_X4;
    uint32_t bytes = bir_dtype_bytes(dtype);
    return is_packed || bytes == 0 ? 1 : bytes;
}

static void verify_alignment(struct verifier *v, const struct bir_argument *arg)
{
    char name[160];
    uint32_t alignment = alignment_bytes(arg->dtype);
    const struct bir_location *location = (const struct bir_location *)arg->location;
    if (!location || location->addr_bytes % alignment == 0)
        return;
    verify_report(v, RULE_ALIGNMENT, arg->source_offset,
                  "%s accesses \"%.60s\" at byte address %" PRIu64 " as %s, which needs multiples of %" PRIu32,
                  verify_name(bir_argument_parent(arg), name), location->base.name->text, location->addr_bytes,
                  bir_dtype_name(arg->dtype), alignment);
}

static void verify_dynamic(struct verifier *v, const struct bir_argument *arg)
{
    char name[160];
    const struct bir_dynamic_info *dynamic = bir_argument_dynamic(arg);
    for (uint32_t i = 0; dynamic && i < dynamic->n_terms; i++)
        if (dynamic->terms[i].expr->kind == PELICAN_INDIRECT_ARG && dynamic->indirect_dim != 0)
            verify_report(v, RULE_VECTOR_OFFSET, arg->source_offset,
                          "%s has a vector offset along %s, only W is possible",
                          verify_name(bir_argument_parent(arg), name),
                          bir_enum_name(BIR_ENUM_INDIRECT_DIM, dynamic->indirect_dim));
}

static void verify_arguments(struct verifier *v, const struct bir_instruction *inst)
{
    for (enum bir_role role = BIR_ROLE_IN; role < BIR_ROLE_COUNT; role++)
        BIR_EACH_ARGUMENT (arg, inst, role) {
            if (arg->kind != BIR_ARG_PHYSICAL_AP)
                continue;
            verify_alignment(v, arg);
            verify_dynamic(v, arg);
        }
}

/* Loops */

static void verify_loopnest(struct verifier *v, const struct bir_instruction *inst)
{
    char name[160];
    const struct bir_instruction_rare *rare = inst->rare;
    if (!rare || !rare->loopnest)
        return;
    uint32_t at = rare->loopnest->count;
    const struct bir_instruction *loop = inst->block->region->owner;
    for (; loop; loop = loop->block->region->owner) { /* innermost first, so from the end of the list */
        const struct bir_loop *record = loop->rare->loop;
        const struct pelican_axis *axis = record->axis ? record->axis : record->dynamic_axis;
        if (axis && (at == 0 || rare->loopnest->items[--at] != axis))
            break;
    }
    if (loop || at != 0)
        verify_report(v, RULE_LOOPNEST, inst->source_offset, "loopnest of %s is not the list of its loops",
                      verify_name(inst, name));
}

static bool is_constant(const struct pelican_expr *e)
{
    return e && pelican_is_constant(e);
}

static void verify_dynamic_loop(struct verifier *v, const struct bir_instruction *inst)
{
    char name[160];
    const struct bir_loop *loop = inst->rare ? inst->rare->loop : NULL;
    const struct pelican_expr *ub = loop ? loop->dynamic_bounds[1] : NULL;
    bool is_ub = ub && ub->kind == PELICAN_AFFINE && ub->u.affine.n_terms == 1 &&
                 ub->u.affine.terms[0].index->kind == PELICAN_RUNTIME_VALUE;
    if (!loop || !loop->dynamic_axis || !is_ub || !is_constant(loop->dynamic_bounds[0]) ||
        !is_constant(loop->dynamic_bounds[2]))
        verify_report(v, RULE_DYNAMIC_LOOP, inst->source_offset,
                      "the bounds of %s are not a constant, one scaled register and a constant",
                      verify_name(inst, name));
    if (inst->block->region->owner)
        verify_report(v, RULE_DYNAMIC_NESTED, inst->source_offset, "%s stands inside another loop",
                      verify_name(inst, name));
}

static void verify_loop(struct verifier *v, const struct bir_instruction *inst)
{
    char name[160];
    if (inst->opcode == BIR_OP_DYNAMIC_FOR_LOOP)
        verify_dynamic_loop(v, inst);
    const struct bir_prop *cond = inst->opcode == BIR_OP_DO_WHILE ? bir_props_find(inst->props, "cond") : NULL;
    if (inst->opcode == BIR_OP_DO_WHILE &&
        !(cond && cond->type == BIR_VALUE_EXPR && cond->u.e->kind == PELICAN_RUNTIME_VALUE))
        verify_report(v, RULE_DO_WHILE, inst->source_offset, "the condition of %s is not a register",
                      verify_name(inst, name));
    if (inst->opcode == BIR_OP_LOOP && inst->rare && inst->rare->loop && inst->rare->loop->axis &&
        inst->rare->loop->axis->stride == 0)
        verify_report(v, RULE_LOOP_STRIDE, inst->source_offset, "axis \"%.60s\" of %s has stride 0",
                      inst->rare->loop->axis->name->text, verify_name(inst, name));
}

/* Everything */

static void verify_walk(struct verifier *v, const struct bir_region *region)
{
    struct bir_walk walk;
    verify_region(v, region);
    bir_walk_init(&walk, (struct bir_region *)(uintptr_t)region);
    for (const struct bir_instruction *inst; (inst = bir_walk_next(&walk));) {
        const struct bir_region *nested = bir_instruction_region(inst);
        if (nested)
            verify_region(v, nested);
        verify_arguments(v, inst);
        verify_loop(v, inst);
        verify_loopnest(v, inst);
        verify_branch(v, inst);
        verify_register_code(v, inst);
    }
}

static void verify_functions(struct verifier *v, const struct bir_function *first)
{
    for (const struct bir_function *function = first; function; function = function->next) {
        v->function = function;
        verify_storages(v, function);
        verify_walk(v, &function->body);
    }
}

enum bir_status bir_module_verify(const struct bir_module *module, bool strict, struct bir_diags *diags)
{
    struct verifier v = { .module = module, .diags = diags, .strict = strict };
    uint32_t errors = diags->errors;
    bir_arena_init_scratch(&v.scratch, 0);
    verify_functions(&v, module->functions);
    verify_functions(&v, module->nki_functions);
    bir_arena_deinit(&v.scratch);
    if (v.out_of_memory)
        return BIR_NOMEM;
    return diags->errors > errors ? BIR_INVALID : BIR_OK;
}
