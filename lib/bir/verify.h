/* Internals of the verifier, shared by lib/bir/verif*.c. */
#ifndef BIR_BIR_VERIFY_H
#define BIR_BIR_VERIFY_H

#include "bir/verifier.h"

enum verify_rule {
    RULE_BLOCK_EMPTY,
    RULE_TERMINATOR_LAST,
    RULE_BREAK_OUTSIDE,
    RULE_BRANCH_OPERANDS,
    RULE_BRANCH_TARGET,
    RULE_BRANCH_NEXT,
    RULE_BLOCK_ENTRY,
    RULE_BLOCK_EXIT,
    RULE_BLOCK_ORDER,
    RULE_LOOP_STRIDE,
    RULE_LOOPNEST,
    RULE_DYNAMIC_LOOP,
    RULE_DYNAMIC_NESTED,
    RULE_DO_WHILE,
    RULE_TENSOR_SIZE,
    RULE_ALIGNMENT,
    RULE_VECTOR_OFFSET,
    RULE_REGISTER_OPERANDS,
    RULE_REGISTER_WIDTH,
    RULE_MEMORY_WIDTH,
    RULE_MOVE_WIDTH,
    RULE_WIDE_OP,
    RULE_REGISTER_MEMORY,
    RULE_COUNT
};

struct verifier {
    const struct bir_module *module;
    const struct bir_function *function; /* being checked */
    struct bir_diags *diags;
    struct bir_arena scratch;
    bool strict;
    bool out_of_memory;
};

/* Adds the rule's diagnostic at a byte offset of the source (BIR_NO_SOURCE: none). */
void verify_report(struct verifier *v, enum verify_rule rule, uint32_t source_offset, const char *fmt, ...)
    BIR_PRINTF(4, 5);

/* "instruction \"x\" (TensorCopy)" for messages; buffer of 160 bytes. */
const char *verify_name(const struct bir_instruction *inst, char buffer[160]);

void verify_region(struct verifier *v, const struct bir_region *region);           /* verify_control.c */
void verify_branch(struct verifier *v, const struct bir_instruction *inst);        /* verify_control.c */
void verify_register_code(struct verifier *v, const struct bir_instruction *inst); /* verify_registers.c */

#endif
