/*
 * What the files of lower_branch share: the function at hand, its blocks, the branches that are made.
 *
 * Internal to lower_branch*.c.
 */
#ifndef BIR_PASSES_LOWER_BRANCH_H
#define BIR_PASSES_LOWER_BRANCH_H

#include "passes/address_table.h"
#include "passes/lower_affine.h"

/* Engines with a program of their own: Pool, Activation, PE, DVE, SP (lowering.md section 2). They meet at barriers. */
#define BIR_BRANCH_ENGINES                                                                                             \
    (1u << BIR_ENGINE_POOL | 1u << BIR_ENGINE_ACTIVATION | 1u << BIR_ENGINE_PE | 1u << BIR_ENGINE_DVE |                \
     1u << BIR_ENGINE_SP)

struct bir_branching {
    struct bir_module *module;
    struct bir_function *function;
    const struct bir_pass_context *context;
    struct bir_diags *diags;
    struct bir_emitter emitter;
    struct bir_dram_space dram;
    bool dram_known;      /* dram has been initialised */
    bool had_branches;    /* blocks may be executed more than once without a loop */
    struct bir_map names; /* block names in use */
    struct bir_free_names free_blocks, free_instructions, free_slots;
    struct bir_map engines; /* loop -> bit set of the engines that run round it, bit 0 marks presence; bits from 8 on
                               are lower_branch.c's own */
    struct bir_map nested;  /* loops in loops */
    struct bir_map joins;   /* loop taken apart -> the barrier behind it */
    struct bir_map guards;  /* predicated instruction -> struct guard of lower_branch_guard.c */
    struct bir_map exits;   /* Break -> its loop */
};

/* Engines that run round a loop. */
static inline unsigned bir_branch_loop_engines(const struct bir_branching *b, const struct bir_instruction *loop)
{
    return (unsigned)(uintptr_t)bir_map_get(&b->engines, loop) & 0xFEu;
}

/* --- lower_branch_blocks.c --- */

/* "OPCODE NAME: text", at the instruction. BIR_INVALID. */
enum bir_status bir_branch_refuse(struct bir_branching *b, const struct bir_instruction *inst, const char *code,
                                  const char *hint, const char *text);

/* A block `<base><suffix>` behind another. NULL on allocation failure. */
struct bir_block *bir_branch_new_block(struct bir_branching *b, const char *base, const char *suffix,
                                       struct bir_block *after);
/* A name that another block has is changed, so that branches mean one block. False on allocation failure. */
bool bir_branch_claim_name(struct bir_branching *b, struct bir_block *block);
/* Splits the block of inst behind it. The part up to inst keeps the block's name and place, what stands behind becomes
 * the block `<inst><suffix>`, which is returned. Either may be the block that was: pointers to it may mean another now.
 * NULL on allocation failure. */
struct bir_block *bir_branch_split(struct bir_branching *b, struct bir_instruction *inst, const char *suffix);

/* Emitted code for one engine goes before inst, which lends its engine field; numbers in names go on. */
void bir_branch_place(struct bir_branching *b, struct bir_instruction *inst, unsigned engine, const char *suffix);

struct bir_branch_test {
    enum bir_branch_compare compare;
    struct bir_register *left, *right; /* right NULL: imm */
    int64_t imm;
    const struct bir_block *on_true, *on_false;
};

/* A CompareAndBranch at the end of a block, on the engine of its left register; `reason` gives name and place. */
bool bir_branch_compare(struct bir_branching *b, const struct bir_instruction *reason, struct bir_block *block,
                        const struct bir_branch_test *test);
/* An UnconditionalBranch at the end of a block. */
bool bir_branch_jump(struct bir_branching *b, const struct bir_instruction *reason, const char *suffix,
                     struct bir_block *block, unsigned engine, const struct bir_block *target);
/* A NoOp on the first of the engines, when the block is empty, which no block may be. */
bool bir_branch_fill(struct bir_branching *b, const struct bir_instruction *reason, const char *suffix,
                     struct bir_block *block, unsigned engines);
/* Makes a terminator an UnconditionalBranch. */
bool bir_branch_make_jump(struct bir_branching *b, struct bir_instruction *inst, const struct bir_block *target);

/* --- lower_branch_guard.c: predicates --- */

/* Reads the predicates of an instruction while its loops still stand: b->guards. Adds to *engines those of the
 * registers that are compared. */
enum bir_status bir_branch_parse_guard(struct bir_branching *b, const struct bir_instruction *inst,
                                       uintptr_t *engines) BIR_MUST_CHECK;
/* Checks all of them, once the engines and counters of the loops are known. */
enum bir_status bir_branch_find_guards(struct bir_branching *b) BIR_MUST_CHECK;
/* Tests the predicates of a loop before it, on the engines that run round it: when one is false they go to on_false.
 * Code and the loop's place move to a later block. Nothing when there are none. */
enum bir_status bir_branch_guard_loop(struct bir_branching *b, struct bir_instruction *loop,
                                      const struct bir_block *on_false) BIR_MUST_CHECK;
/* The same for every other predicated instruction, in the blocks that are left when no loop is. */
enum bir_status bir_branch_guard_instructions(struct bir_branching *b) BIR_MUST_CHECK;

/* --- lower_branch_share.c: values for other engines --- */

struct bir_branch_share {
    struct bir_register *value;                    /* on its own engine */
    struct bir_register *copies[BIR_ENGINE_COUNT]; /* by engine; value on its own */
    struct bir_location *slot;
    struct bir_instruction *save;
};

/* Gives the value a place in DRAM and each of the engines a register. */
enum bir_status bir_branch_share_init(struct bir_branching *b, struct bir_instruction *loop, const char *what,
                                      struct bir_register *value, unsigned engines,
                                      struct bir_branch_share *share) BIR_MUST_CHECK;
/* Code that brings the present value to the other engines: before the loop (or other instruction), or at the end of
 * `block`. `again` when the code may be executed more than once. Nothing when there is no other engine. */
bool bir_branch_share_emit(struct bir_branching *b, struct bir_instruction *loop, struct bir_branch_share *share,
                           struct bir_block *block, bool again);

#endif
