/*
 * Blocks, branches and register operations (lowering.md 4.5, klr-format.md 9.6).
 *
 * Blocks keep label and order. Only the last statement of a block may branch, and only to a label of the same body. BIR
 * demands that one target of a CompareAndBranch is the next block; where neither is, a block `<label>.else` with a jump
 * to the false target is put in between. Register operations are on engine ALL, and so is the branch, which the
 * reference leaves unassigned, because the engine split gives each engine its own. A block without statements gets a
 * NoOp, because BIR has no empty blocks.
 */
#include "codegen/maps.h"
#include "codegen/operators.h"

enum bir_status codegen_register_move(struct codegen *cg, const struct klr_node *op, struct bir_instruction *inst,
                                      struct codegen_keys *keys)
{
    (void)keys;
    return bir_add_imm_int(cg->module, inst, BIR_DTYPE_INT32, klr_int_at(op, KLR_RegisterMove_imm)) ? BIR_OK
                                                                                                    : codegen_nomem(cg);
}

enum bir_status codegen_register_alu(struct codegen *cg, const struct klr_node *op, struct bir_instruction *inst,
                                     struct codegen_keys *keys)
{
    uint32_t wire = klr_enum_at(op, KLR_RegisterAluOp_op);
    (void)keys;
    /* The register ALU lacks average (lowering.md 2); elemwise_mul has no KLR name. */
    if (wire == KLR_AluOp_average)
        return codegen_fail(cg, "klr-alu-op", op, "use another operation",
                            "Unsupported ALU operation (average of registers)");
    return bir_add_imm_int(cg->module, inst, BIR_DTYPE_INT32, klr_int_at(op, KLR_RegisterAluOp_imm))
               ? BIR_OK
               : codegen_nomem(cg);
}

static enum bir_status find_label(struct codegen *cg, const struct klr_node *op, const struct bir_str *label,
                                  const struct bir_str **out)
{
    *out = codegen_text(cg, label);
    if (!*out)
        return codegen_nomem(cg);
    if (bir_map_get(&cg->labels, *out))
        return BIR_OK;
    return codegen_fail(cg, "klr-unknown-label", op, "branch to a block of the same body",
                        "no block has the label '%.80s'", label->text);
}

/* Whether the comparison is with a register; `always` is not asked. */
static bool compares_registers(uint32_t wire)
{
    return wire >= KLR_BrCmpOp_lt_reg;
}

enum bir_status codegen_branch(struct codegen *cg, const struct klr_node *op, struct bir_instruction *inst,
                               struct codegen_keys *keys)
{
    uint32_t wire = klr_enum_at(op, KLR_CmpBranch_op);
    const struct bir_str *on_true, *on_false;
    int compare = codegen_map_branch(wire);
    if (!cg->at_block_end)
        return codegen_fail(cg, "klr-branch-not-last", op, "start a new block after it",
                            "a branch must be the last statement of its block");
    BIR_TRY(find_label(cg, op, klr_string_at(op, KLR_CmpBranch_trueLabel), &on_true));
    if (wire == KLR_BrCmpOp_always) {
        inst->opcode = BIR_OP_UNCONDITIONAL_BRANCH;
        codegen_key_str(keys, "target", on_true);
        return BIR_OK;
    }
    if (compare < 0)
        return codegen_fail(cg, "klr-branch-op", op, NULL, "comparison number %u is not known", wire);
    BIR_TRY(find_label(cg, op, klr_string_at(op, KLR_CmpBranch_falseLabel), &on_false));
    BIR_TRY(codegen_add_register(cg, inst, BIR_ROLE_IN, klr_string_at(op, KLR_CmpBranch_reg1), op));
    if (compares_registers(wire))
        BIR_TRY(codegen_add_register(cg, inst, BIR_ROLE_IN, klr_string_at(op, KLR_CmpBranch_reg2), op));
    else if (!bir_add_imm_int(cg->module, inst, BIR_DTYPE_INT32, klr_int_at(op, KLR_CmpBranch_imm)))
        return codegen_nomem(cg);
    codegen_key_enum(keys, "comp_op", BIR_ENUM_BRANCH_COMPARE, compare);
    codegen_key_str(keys, "on_true", on_true);
    if (on_true == cg->next_label || on_false == cg->next_label) {
        codegen_key_str(keys, "on_false", on_false);
        return BIR_OK;
    }
    cg->else_label = codegen_text_with(cg, cg->block->name, ".else");
    cg->else_target = on_false;
    codegen_key_str(keys, "on_false", cg->else_label);
    return BIR_OK;
}

/* An instruction that no statement asks for, called `<block>-<suffix>`, at the end of the block. */
static enum bir_status add_filler(struct codegen *cg, struct bir_block *block, enum bir_opcode opcode,
                                  const char *suffix, struct codegen_keys *keys)
{
    const struct bir_str *name = codegen_text_with(cg, block->name, suffix);
    if (name && bir_map_get(&cg->function->instructions, name))
        name = codegen_fresh_name(cg, name);
    struct bir_instruction *inst = name ? bir_instruction_new(cg->module, opcode, BIR_ENGINE_ALL, name) : NULL;
    if (!inst)
        return codegen_nomem(cg);
    inst->source_offset = block->source_offset;
    BIR_TRY(codegen_keys_set(keys, inst));
    bir_block_append(block, inst);
    return BIR_OK;
}

/* The block `<label>.else` that the branch just converted asked for. */
static enum bir_status add_else_block(struct codegen *cg, const struct klr_node *place)
{
    if (bir_map_get(&cg->labels, cg->else_label))
        return codegen_fail(cg, "klr-duplicate-label", place, "rename the block",
                            "the label '%.80s' is needed for a jump", cg->else_label->text);
    struct codegen_keys keys = { .cg = cg };
    struct bir_block *block = bir_block_new(cg->module, &cg->function->body, cg->else_label);
    if (!block)
        return codegen_nomem(cg);
    block->source_offset = codegen_source(place);
    codegen_key_str(&keys, "target", cg->else_target);
    return add_filler(cg, block, BIR_OP_UNCONDITIONAL_BRANCH, "-jump", &keys);
}

/* BIR has no empty blocks (BIR078), and others may branch to this one: a NoOp fills it. */
static enum bir_status fill_empty_block(struct codegen *cg)
{
    struct codegen_keys none = { .cg = cg };
    return add_filler(cg, cg->block, BIR_OP_NOOP, "-nop", &none);
}

static enum bir_status read_labels(struct codegen *cg, const struct klr_list *blocks)
{
    enum bir_status result = BIR_OK;
    cg->labels = (struct bir_map){ 0 };
    for (uint64_t i = 0; i < blocks->count; i++) {
        const struct klr_node *block = blocks->items[i].node;
        const struct bir_str *label = codegen_text(cg, klr_string_at(block, KLR_Block_label));
        if (!label)
            return codegen_nomem(cg);
        if (bir_map_get(&cg->labels, label))
            result = codegen_fail(cg, "klr-duplicate-label", block, "give each block its own label",
                                  "two blocks have the label '%.80s'", label->text);
        else if (!bir_map_put(&cg->labels, &cg->scratch, label, cg))
            return codegen_nomem(cg);
    }
    return result;
}

/* Polled by count, so that a block of a million statements can be stopped too. */
static enum bir_status poll(struct codegen *cg)
{
    return cg->statements_done++ % 1024 == 0 && bir_cancelled(cg->options->cancel) ? BIR_CANCELLED : BIR_OK;
}

static enum bir_status convert_block(struct codegen *cg, const struct klr_node *block)
{
    const struct klr_list *body = klr_list_at(block, KLR_Block_body);
    const struct bir_str *label = codegen_text(cg, klr_string_at(block, KLR_Block_label));
    enum bir_status result = BIR_OK;
    cg->block = label ? bir_block_new(cg->module, &cg->function->body, label) : NULL;
    if (!cg->block)
        return codegen_nomem(cg);
    cg->block->source_offset = codegen_source(block);
    cg->else_label = NULL;
    for (uint64_t i = 0; i < body->count; i++) {
        BIR_TRY(poll(cg));
        cg->at_block_end = i + 1 == body->count;
        enum bir_status status = codegen_statement(cg, body->items[i].node);
        if (status == BIR_INVALID)
            result = BIR_INVALID;
        else if (status != BIR_OK)
            return status;
    }
    if (result != BIR_OK)
        return result;
    if (body->count == 0)
        return fill_empty_block(cg);
    BIR_TRY(codegen_accumulate(cg, cg->block));
    if (klr_bool_at(block, KLR_Block_noReorder))
        BIR_TRY(codegen_keep_order(cg, cg->block));
    return cg->else_label ? add_else_block(cg, block) : BIR_OK;
}

enum bir_status codegen_blocks(struct codegen *cg, const struct klr_list *blocks)
{
    enum bir_status result = read_labels(cg, blocks);
    if (result != BIR_OK && result != BIR_INVALID)
        return result;
    for (uint64_t i = 0; i < blocks->count; i++) {
        const struct klr_node *next = i + 1 < blocks->count ? blocks->items[i + 1].node : NULL;
        if (bir_cancelled(cg->options->cancel))
            return BIR_CANCELLED;
        cg->next_label = next ? codegen_text(cg, klr_string_at(next, KLR_Block_label)) : NULL;
        if (next && !cg->next_label)
            return codegen_nomem(cg);
        enum bir_status status = convert_block(cg, blocks->items[i].node);
        if (status == BIR_INVALID)
            result = BIR_INVALID;
        else if (status != BIR_OK)
            return status;
    }
    return result;
}
