/*
 * Blocks and terminators for lower_branch. A block has at most one terminator an engine, all at its end.
 *
 * A block of many loops or predicated instructions is split at each of them, from front to back. Of the two parts the
 * shorter one moves to the new block, so an instruction moves as often as the part that it is in halves, not once for
 * every split before it.
 */
#include "passes/lower_branch.h"

static const char *inst_name(const struct bir_instruction *inst)
{
    return inst->name ? inst->name->text : "loop";
}

enum bir_status bir_branch_refuse(struct bir_branching *b, const struct bir_instruction *inst, const char *code,
                                  const char *hint, const char *text)
{
    return bir_fail(b->diags, code, bir_pass_place(inst->source_offset), hint, "%s %s: %s",
                    bir_opcode_name(inst->opcode), inst_name(inst), text);
}

/* --- blocks --- */

struct bir_block *bir_branch_new_block(struct bir_branching *b, const char *base, const char *suffix,
                                       struct bir_block *after)
{
    struct bir_strtab *strings = &b->module->strings;
    const struct bir_str *name = bir_free_name(&b->free_blocks, strings, b->context->scratch, &b->names,
                                               bir_intern_printf(strings, "%s%s", base, suffix));
    struct bir_block *block = BIR_NEW(&b->module->arena, BIR_MEM_INSTRUCTIONS, struct bir_block);
    if (!name || !block || !bir_map_put(&b->names, b->context->scratch, name, block))
        return NULL;
    block->name = name;
    block->region = after->region;
    block->source_offset = BIR_NO_SOURCE;
    block->prev = after;
    block->next = after->next;
    *(after->next ? &after->next->prev : &after->region->last) = block;
    after->next = block;
    return block;
}

bool bir_branch_claim_name(struct bir_branching *b, struct bir_block *block)
{
    if (bir_map_get(&b->names, block->name) == block)
        return true;
    const struct bir_str *name =
        bir_free_name(&b->free_blocks, &b->module->strings, b->context->scratch, &b->names, block->name);
    if (!name || !bir_map_put(&b->names, b->context->scratch, name, block))
        return false;
    block->name = name;
    return true;
}

static void move_first(struct bir_block *from, struct bir_block *to)
{
    struct bir_instruction *moved = from->first;
    bir_instruction_unlink(moved);
    bir_block_append(to, moved);
}

static void move_behind(struct bir_instruction *inst, struct bir_block *to)
{
    while (inst->next) {
        struct bir_instruction *moved = inst->next;
        bir_instruction_unlink(moved);
        bir_block_append(to, moved);
    }
}

/* Costs no more than the shorter part. */
static bool head_is_shorter(struct bir_instruction *inst)
{
    struct bir_instruction *before = bir_instruction_prev(inst), *behind = inst->next;
    for (; before && behind; before = bir_instruction_prev(before))
        behind = behind->next;
    return behind != NULL;
}

/* `later`, which stands right behind `block`, is to be the earlier part instead, and to look like it. */
static bool change_places(struct bir_branching *b, struct bir_block *block, struct bir_block *later)
{
    struct bir_block was = *block;
    block->prev = later;
    block->next = later->next;
    later->prev = was.prev;
    later->next = block;
    *(was.prev ? &was.prev->next : &block->region->first) = later;
    *(block->next ? &block->next->prev : &block->region->last) = block;
    block->name = later->name;
    block->source_offset = later->source_offset;
    block->origin = later->origin;
    block->props = later->props;
    later->name = was.name;
    later->source_offset = was.source_offset;
    later->origin = was.origin;
    later->props = was.props;
    return bir_map_put(&b->names, b->context->scratch, later->name, later) &&
           bir_map_put(&b->names, b->context->scratch, block->name, block);
}

struct bir_block *bir_branch_split(struct bir_branching *b, struct bir_instruction *inst, const char *suffix)
{
    struct bir_block *block = inst->block, *fresh = bir_branch_new_block(b, inst_name(inst), suffix, block);
    if (!fresh)
        return NULL;
    if (!head_is_shorter(inst)) {
        move_behind(inst, fresh);
        return fresh;
    }
    if (!change_places(b, block, fresh))
        return NULL;
    while (inst->block != fresh)
        move_first(block, fresh);
    return block;
}

/* --- code --- */

void bir_branch_place(struct bir_branching *b, struct bir_instruction *inst, unsigned engine, const char *suffix)
{
    uint32_t next = b->emitter.next;
    inst->engine = (uint8_t)engine;
    bir_emitter_place(&b->emitter, inst, suffix);
    b->emitter.next = next;
}

static bool set_text(struct bir_branching *b, struct bir_instruction *inst, const char *key, const char *value)
{
    struct bir_prop prop = { .type = BIR_VALUE_TEXT, .u.s = bir_intern_cstr(&b->module->strings, value) };
    inst->props = prop.u.s ? bir_props_with(b->module, inst->props, key, &prop) : NULL;
    return inst->props != NULL;
}

static struct bir_instruction *new_instruction(struct bir_branching *b, const struct bir_instruction *reason,
                                               enum bir_opcode opcode, unsigned engine, const struct bir_str *base)
{
    const struct bir_str *name = bir_free_name(&b->free_instructions, &b->module->strings, b->context->scratch,
                                               &b->function->instructions, base);
    struct bir_instruction *inst = name ? bir_instruction_new(b->module, opcode, (enum bir_engine)engine, name) : NULL;
    if (inst)
        inst->source_offset = reason->source_offset;
    return inst;
}

bool bir_branch_compare(struct bir_branching *b, const struct bir_instruction *reason, struct bir_block *block,
                        const struct bir_branch_test *test)
{
    struct bir_instruction *inst =
        new_instruction(b, reason, BIR_OP_COMPARE_AND_BRANCH, test->left->engine,
                        bir_intern_printf(&b->module->strings, "%s-branch-%u", inst_name(reason), b->emitter.next++));
    if (!inst || !set_text(b, inst, "comp_op", bir_enum_name(BIR_ENUM_BRANCH_COMPARE, (int)test->compare)) ||
        !set_text(b, inst, "on_true", test->on_true->name->text) ||
        !set_text(b, inst, "on_false", test->on_false->name->text) ||
        !bir_add_register_access(b->module, inst, BIR_ROLE_IN, test->left, BIR_EMIT_DTYPE))
        return false;
    bool added = test->right
                     ? bir_add_register_access(b->module, inst, BIR_ROLE_IN, test->right, BIR_EMIT_DTYPE) != NULL
                     : bir_add_imm_int(b->module, inst, BIR_EMIT_DTYPE, test->imm) != NULL;
    bir_block_append(block, inst);
    return added;
}

bool bir_branch_jump(struct bir_branching *b, const struct bir_instruction *reason, const char *suffix,
                     struct bir_block *block, unsigned engine, const struct bir_block *target)
{
    struct bir_instruction *inst = new_instruction(b, reason, BIR_OP_UNCONDITIONAL_BRANCH, engine,
                                                   bir_intern_printf(&b->module->strings, "%s%s.%s", inst_name(reason),
                                                                     suffix, bir_engine_name((uint8_t)engine)));
    if (!inst || !set_text(b, inst, "target", target->name->text))
        return false;
    bir_block_append(block, inst);
    return true;
}

bool bir_branch_fill(struct bir_branching *b, const struct bir_instruction *reason, const char *suffix,
                     struct bir_block *block, unsigned engines)
{
    if (block->first)
        return true;
    unsigned engine = engines ? (unsigned)__builtin_ctz(engines) : BIR_ENGINE_SP;
    struct bir_instruction *inst =
        new_instruction(b, reason, BIR_OP_NOOP, engine,
                        bir_intern_printf(&b->module->strings, "%s%s", inst_name(reason), suffix));
    if (inst)
        bir_block_append(block, inst);
    return inst != NULL;
}

bool bir_branch_make_jump(struct bir_branching *b, struct bir_instruction *inst, const struct bir_block *target)
{
    inst->opcode = BIR_OP_UNCONDITIONAL_BRANCH;
    return set_text(b, inst, "target", target->name->text);
}
