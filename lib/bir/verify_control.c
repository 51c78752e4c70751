/*
 * Blocks, terminators and the control-flow graph (bir-json.md sections 6, 13.3, 14).
 *
 * Terminators stand together at the end of a block, one an engine after lowering. Where control goes from a block: to
 * the targets of its terminators that lie in the same region, and to the next block when no terminator ends it for
 * good. Names that the reader could not place are not its business here: a target outside the region leaves it.
 *
 * The order of blocks is topological but for back edges: every block but the first has a predecessor in front of it.
 */
#include "bir/predicate.h"
#include "bir/verify.h"

struct flow {
    struct bir_map index_of; /* block name -> number + 1 as pointer */
    uint8_t *from_before;    /* by block: some earlier block leads to it */
    uint8_t *from_any;
    uint32_t count;
};

static bool is_terminator(const struct bir_instruction *inst)
{
    return bir_opcode_flags(inst->opcode) & BIR_OPF_TERMINATOR;
}

static void verify_block(struct verifier *v, const struct bir_block *block)
{
    char name[160];
    if (!block->first) {
        verify_report(v, RULE_BLOCK_EMPTY, block->source_offset, "block \"%.80s\" has no instructions",
                      block->name ? block->name->text : "");
        return;
    }
    bool ended = false;
    BIR_EACH_INSTRUCTION (inst, block) {
        if (ended && !is_terminator(inst))
            verify_report(v, RULE_TERMINATOR_LAST, inst->source_offset, "%s stands behind a terminator of its block",
                          verify_name(inst, name));
        ended = ended || is_terminator(inst);
    }
}

/* Targets: keys of the terminators that name a block. */
static const char *const target_keys[] = { "target", "on_true", "on_false" };
#define TARGET_KEYS (sizeof target_keys / sizeof *target_keys)

static const struct bir_str *target_of(const struct bir_instruction *inst, size_t key)
{
    if (inst->opcode != BIR_OP_COMPARE_AND_BRANCH && inst->opcode != BIR_OP_UNCONDITIONAL_BRANCH)
        return NULL;
    const struct bir_prop *prop = bir_props_find(inst->props, target_keys[key]);
    return prop && prop->type == BIR_VALUE_TEXT ? prop->u.s : NULL;
}

static void mark(const struct flow *flow, uint32_t from, uint32_t to)
{
    flow->from_any[to] = 1;
    flow->from_before[to] |= from < to;
}

/* Does control leave the region from this block? Marks where else it goes. */
static bool follow(const struct flow *flow, const struct bir_block *block, uint32_t number)
{
    bool ends = false, leaves = false;
    BIR_EACH_INSTRUCTION (inst, block) {
        if (!is_terminator(inst))
            continue;
        ends = ends || !bir_instruction_is_predicated(inst); /* else control may go on */
        leaves = leaves || (inst->opcode != BIR_OP_COMPARE_AND_BRANCH && inst->opcode != BIR_OP_UNCONDITIONAL_BRANCH);
        for (size_t key = 0; key < TARGET_KEYS; key++) {
            const struct bir_str *target = target_of(inst, key);
            uintptr_t found = target ? (uintptr_t)bir_map_get(&flow->index_of, target) : 0;
            if (found)
                mark(flow, number, (uint32_t)(found - 1));
            leaves = leaves || (target && !found);
        }
    }
    if (ends)
        return leaves;
    if (number + 1 < flow->count)
        mark(flow, number, number + 1);
    return number + 1 == flow->count;
}

static bool number_blocks(struct verifier *v, const struct bir_region *region, struct flow *flow)
{
    BIR_EACH_BLOCK (block, region) {
        flow->count++;
        if (block->name && !bir_map_get(&flow->index_of, block->name) &&
            !bir_map_put(&flow->index_of, &v->scratch, block->name, (void *)(uintptr_t)flow->count))
            return false;
    }
    flow->from_before = bir_arena_alloc(&v->scratch, BIR_MEM_OTHER, flow->count);
    flow->from_any = bir_arena_alloc(&v->scratch, BIR_MEM_OTHER, flow->count);
    return flow->from_before && flow->from_any;
}

/* Single entry, single exit, order: of regions with more than one block. */
static void verify_flow(struct verifier *v, const struct bir_region *region)
{
    struct flow flow = { .count = 0 };
    if (!number_blocks(v, region, &flow)) {
        v->out_of_memory = true;
        return;
    }
    uint32_t number = 0, exits = 0;
    BIR_EACH_BLOCK (block, region)
        exits += follow(&flow, block, number++);
    number = 0;
    BIR_EACH_BLOCK (each, region) {
        if (number > 0 && !flow.from_any[number])
            verify_report(v, RULE_BLOCK_ENTRY, each->source_offset, "nothing leads to block \"%.80s\"",
                          each->name ? each->name->text : "");
        else if (number > 0 && !flow.from_before[number])
            verify_report(v, RULE_BLOCK_ORDER, each->source_offset,
                          "block \"%.80s\" stands in front of every block that leads to it",
                          each->name ? each->name->text : "");
        number++;
    }
    if (exits != 1 && !region->owner)
        verify_report(v, RULE_BLOCK_EXIT, region->first->source_offset,
                      "control leaves function \"%.80s\" from %u blocks instead of 1",
                      region->function && region->function->name ? region->function->name->text : "", exits);
}

void verify_region(struct verifier *v, const struct bir_region *region)
{
    BIR_EACH_BLOCK (block, region)
        verify_block(v, block);
    if (region->first && region->first->next)
        verify_flow(v, region);
}

/* Branches */

static bool is_compare_dtype(uint8_t dtype)
{
    return dtype == BIR_DTYPE_FLOAT32 || dtype == BIR_DTYPE_INT32 || dtype == BIR_DTYPE_UINT32;
}

static void verify_compare(struct verifier *v, const struct bir_instruction *inst)
{
    char name[160];
    const struct bir_argument *lhs = bir_instruction_argument(inst, BIR_ROLE_IN, 0);
    const struct bir_argument *rhs = bir_instruction_argument(inst, BIR_ROLE_IN, 1);
    if (!rhs || bir_instruction_argument_count(inst, BIR_ROLE_IN) != 2) {
        verify_report(v, RULE_BRANCH_OPERANDS, inst->source_offset, "%s has %u operands instead of 2",
                      verify_name(inst, name), bir_instruction_argument_count(inst, BIR_ROLE_IN));
        return;
    }
    if (lhs->dtype != rhs->dtype || !is_compare_dtype(lhs->dtype))
        verify_report(v, RULE_BRANCH_OPERANDS, rhs->source_offset, "%s compares %s with %s", verify_name(inst, name),
                      bir_dtype_name(lhs->dtype), bir_dtype_name(rhs->dtype));
}

static bool is_inside_loop(const struct bir_instruction *inst)
{
    return inst->block->region->owner != NULL;
}

void verify_branch(struct verifier *v, const struct bir_instruction *inst)
{
    char name[160];
    const struct bir_str *next = inst->block->next ? inst->block->next->name : NULL;
    switch (inst->opcode) {
    case BIR_OP_BREAK:
        if (!is_inside_loop(inst))
            verify_report(v, RULE_BREAK_OUTSIDE, inst->source_offset, "%s is not inside a loop",
                          verify_name(inst, name));
        break;
    case BIR_OP_UNCONDITIONAL_BRANCH:
        if (!target_of(inst, 0))
            verify_report(v, RULE_BRANCH_TARGET, inst->source_offset, "%s has no target", verify_name(inst, name));
        break;
    case BIR_OP_COMPARE_AND_BRANCH:
        verify_compare(v, inst);
        if (!target_of(inst, 1) || !target_of(inst, 2))
            verify_report(v, RULE_BRANCH_TARGET, inst->source_offset, "%s lacks on_true or on_false",
                          verify_name(inst, name));
        else if (target_of(inst, 1) != next && target_of(inst, 2) != next)
            verify_report(v, RULE_BRANCH_NEXT, inst->source_offset, "no target of %s is the next block",
                          verify_name(inst, name));
        break;
    default: break;
    }
}
