/* The option target: an instruction by name, or one operand of it. */
#ifndef BIR_COMPILE_TARGET_H
#define BIR_COMPILE_TARGET_H

#include "base/diag.h"
#include "bir/module.h"

struct bir_target {
    const char *name; /* of instructions, borrowed; NULL: any */
    size_t name_len;
    int role; /* enum bir_role, -1: all operands */
    uint32_t position;
};

/* "NAME", "NAME/ins/0", "NAME/indirection_ins/1", "NAME/outs/0"; NULL or "" means every instruction. Names may hold
 * slashes. */
struct bir_target bir_target_parse(const char *text);

/* Whether the instruction has the name, and the operand if one is asked for. */
bool bir_target_is(const struct bir_target *target, const struct bir_instruction *inst);

/* Nothing is the target: fails, with the names that are near, or with the number of operands that the instruction has.
 * in_queues: instructions of queues could have been the target, too. */
enum bir_status bir_target_fail(const struct bir_target *target, const char *code, const struct bir_module *module,
                                bool in_queues, struct bir_diags *diags);

#endif
