/*
 * A value of one engine's register for the other engines.
 *
 * An instruction can only name registers of its own engine, so a loop whose bound or condition is in a register of
 * engine F cannot be steered by it on engine E. The route is the one that spilling takes (lowering.md 11 item 8): F
 * saves the register to a DRAM location of one element, E loads it into a register of its own. That, like every other
 * transfer between engines at this stage, is ordered by dependency edges, from which the synchroniser makes its
 * semaphores: the load has a Flow edge to the save; where the code is executed more than once the next save has a
 * loop-carried Anti edge to each load.
 *
 * choice: the value travels through DRAM, because a TensorSave to SBUF is illegal on arch 20 and one to PSUM anywhere.
 */
#include "passes/lower_branch.h"
#include "passes/register_slot.h"

enum bir_status bir_branch_share_init(struct bir_branching *b, struct bir_instruction *loop, const char *what,
                                      struct bir_register *value, unsigned engines, struct bir_branch_share *share)
{
    *share = (struct bir_branch_share){ .value = value };
    share->copies[value->engine] = value;
    if ((engines & ~(1u << value->engine)) == 0)
        return BIR_OK;
    if (!b->dram_known)
        bir_dram_space_init(&b->dram, b->module);
    b->dram_known = true;
    struct bir_strtab *strings = &b->module->strings;
    const struct bir_str *name =
        bir_free_name(&b->free_slots, strings, b->context->scratch, &b->function->locations,
                      bir_intern_printf(strings, "%s-%s", loop->name ? loop->name->text : "loop", what));
    if (!name)
        return bir_pass_out_of_memory(b->context, b->module);
    BIR_TRY(bir_register_slot_new(&b->dram, b->function, name, value, b->diags, &share->slot));
    for (unsigned e = BIR_ENGINE_POOL; e <= BIR_ENGINE_SP; e++) {
        if (!(engines >> e & 1) || e == value->engine)
            continue;
        bir_branch_place(b, loop, e, "");
        share->copies[e] = bir_emit_mint(&b->emitter, "-copy-", e, 1);
        if (!share->copies[e])
            return bir_pass_out_of_memory(b->context, b->module);
    }
    return BIR_OK;
}

/* Code that was emitted at the loop goes to where it belongs. */
static void settle(struct bir_instruction *inst, struct bir_instruction *loop, struct bir_block *block)
{
    bir_instruction_unlink(inst);
    if (block)
        bir_block_append(block, inst);
    else
        bir_instruction_insert_before(loop, inst);
}

static bool emit_save(struct bir_branching *b, struct bir_instruction *loop, struct bir_branch_share *share,
                      struct bir_block *block)
{
    bir_branch_place(b, loop, share->value->engine, "-share-save-");
    share->save = bir_emit_tensor_save_behind(&b->emitter, share->slot, share->value);
    if (!share->save || b->emitter.failed)
        return false;
    settle(share->save, loop, block);
    return true;
}

bool bir_branch_share_emit(struct bir_branching *b, struct bir_instruction *loop, struct bir_branch_share *share,
                           struct bir_block *block, bool again)
{
    if (!share->slot)
        return true;
    if (!emit_save(b, loop, share, block))
        return false;
    for (unsigned e = BIR_ENGINE_POOL; e <= BIR_ENGINE_SP; e++) {
        if (!share->copies[e] || share->copies[e] == share->value)
            continue;
        bir_branch_place(b, loop, e, "-share-load-");
        bir_emit_tensor_load(&b->emitter, share->copies[e], NULL, share->slot, 0,
                             (enum bir_dtype)share->slot->set->base.dtype);
        struct bir_instruction *load = b->emitter.last;
        if (b->emitter.failed || !bir_instruction_add_dependency(b->module, load, share->save, BIR_EDGE_FLOW, false))
            return false;
        settle(load, loop, block);
        if (again && !bir_instruction_add_dependency(b->module, share->save, load, BIR_EDGE_ANTI, true))
            return false;
    }
    return true;
}
