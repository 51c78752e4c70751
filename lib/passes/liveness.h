/*
 * Which registers of a function are live where (lowering.md 11, items 2 and 3). Everything is in the scratch arena
 * given.
 *
 * Registers that code names get dense numbers, "nodes", by first appearance. Code is cut into segments: runs of
 * instructions of one block without a region op, and two artificial ones around each region's body.
 */
#ifndef BIR_PASSES_LIVENESS_H
#define BIR_PASSES_LIVENESS_H

#include "passes/pass.h"

enum bir_segment_kind {
    BIR_SEGMENT_CODE,
    BIR_SEGMENT_ENTER, /* before the body of `owner`: writes its induction registers, reads its bounds */
    BIR_SEGMENT_LATCH, /* behind the body: reads what the next iteration or the exit test needs */
};

struct bir_segment {
    enum bir_segment_kind kind;
    uint32_t count;                       /* instructions of a CODE segment */
    struct bir_instruction *first, *last; /* of a CODE segment, when count > 0 */
    struct bir_instruction *owner;        /* of the others */
    uint32_t depth;                       /* loops around it */
    uint32_t first_step;                  /* a step is one instruction, or an artificial segment as a whole */
};

struct bir_node {
    struct bir_register *reg;
    uint64_t cost; /* lowering.md 11 item 7: width * (defs + uses), times 10 a loop, saturating */
    uint32_t defs, uses;
    bool at_entry; /* live when the function starts: its value comes from outside */
};

/* Lists by key, one after the other: of key i they are items[first[i]] .. items[first[i + 1] - 1]. */
struct bir_lists {
    uint32_t *first;
    uint32_t *items;
};

/* One access of a register by an instruction or an artificial segment. */
struct bir_access {
    uint32_t node;
    bool use, def; /* a predicated def is both */
};
typedef BIR_VEC(struct bir_access) bir_access_vec;

/* A RegisterMove between registers, perhaps a plain copy. */
struct bir_copy {
    uint32_t step;
    struct bir_instruction *inst;
};

struct bir_liveness {
    struct bir_function *function;
    const struct bir_pass_context *context;
    BIR_VEC(struct bir_segment) segments; /* in program order; 0 is the entry */
    BIR_VEC(struct bir_node) nodes;
    struct bir_lists live_out;           /* by segment: nodes */
    BIR_VEC(struct bir_copy) copies;     /* by ascending step */
    bir_access_vec accesses;             /* of all steps, one after the other */
    BIR_VEC(uint32_t) steps;             /* where those of each begin, and the end of the last */
    const struct bir_props *plain_props; /* the last list found to name no register */
};

/* Numbers registers (reg->scratch is node + 1), cuts segments and solves the flow equations. Errors: "colour-engine"
 * for a register in use that is on no single engine, BIR_LIMIT "colour-too-large". */
enum bir_status bir_liveness_build(struct bir_function *function, const struct bir_pass_context *context,
                                   struct bir_diags *diags, struct bir_liveness *live) BIR_MUST_CHECK;

/* Appends the accesses of one instruction, or of an artificial segment (inst NULL), uses and defs mixed. */
enum bir_status bir_liveness_add_accesses(struct bir_liveness *live, const struct bir_segment *segment,
                                          struct bir_instruction *inst, bir_access_vec *out) BIR_MUST_CHECK;

/* The same without the operands: registers that op keys and waits name. */
enum bir_status bir_liveness_add_fixed(struct bir_liveness *live, struct bir_instruction *inst,
                                       bir_access_vec *out) BIR_MUST_CHECK;

/* True for a 32-bit access of a 2-wide register: written, it leaves the high half as it was. */
bool bir_access_is_partial(const struct bir_argument *arg);

/* Forgets the numbers: reg->scratch = 0 for every register of the function. */
void bir_liveness_reset(struct bir_function *function);

#endif
