/* Runtime offsets as register code (lowering.md 9.3). */
#ifndef BIR_PASSES_EXPAND_OFFSET_H
#define BIR_PASSES_EXPAND_OFFSET_H

#include "passes/emit.h"

/* One expander serves a pass run; what it remembers is per consuming instruction: emitted code only surely precedes its
 * own consumer. */
struct bir_expander {
    const struct bir_pass_context *context;
    struct bir_diags *diags;
    struct bir_emitter *emitter;
    struct bir_map values[2]; /* expression -> register with its value, 32 and 64 bits wide */
};

/* An operand that is to be expanded; `checked` by bir_expander_check. */
struct bir_expansion {
    struct bir_argument *operand;        /* physical_ap with dynamic info, or a static offset beyond 32 bits */
    const struct bir_dynamic_info *info; /* NULL: only the static offset */
    int64_t static_elems;                /* c with every constant term */
    bool wide;                           /* 64-bit accumulator */
};

/* Checks every term, and finds the width and the static part. Emits nothing. */
enum bir_status bir_expander_check(struct bir_expander *x, struct bir_expansion *expansion) BIR_MUST_CHECK;

/* Forget the values of the previous instruction. */
void bir_expander_reset(struct bir_expander *x);

/* Emits the program at the emitter's place; the register with the complete element offset, NULL on allocation failure.
 */
struct bir_register *bir_expander_emit(struct bir_expander *x, const struct bir_expansion *expansion) BIR_MUST_CHECK;

/* The operand that an IndirectArg names: position arg_id - 1 of indirection_ins (correction 12). NULL when there is
 * none. */
struct bir_physical_ap *bir_index_operand(const struct bir_instruction *inst, int64_t arg_id);
/* True for a static DRAM access whose byte offset needs more than 32 bits (lowering.md 9.4). */
bool bir_offset_is_wide(const struct bir_argument *arg);
/* Elements of a pattern, saturating. */
int64_t bir_pattern_elems(const struct bir_pattern *pattern);

#endif
