/*
 * An operand as it was before address lowering: what its address has to be at every point of its loops.
 *
 * Internal to lib/check.
 */
#ifndef BIR_CHECK_OPERAND_H
#define BIR_CHECK_OPERAND_H

#include "base/diag.h"
#include "bir/module.h"

struct bir_guard;

/* The loops around an instruction: a tree, one node a region, depth 1 for a region in the function's own blocks. */
struct bir_nest {
    const struct bir_nest *parent; /* NULL at depth 1 */
    const struct bir_instruction *loop;
    struct pelican_axis *axis;     /* NULL unless loop is a Loop */
    const struct bir_guard *guard; /* of the loop, or NULL */
    uint32_t depth;
};

struct bir_operand_term {
    uint32_t level; /* depth - 1 of the nest node that has the axis */
    int64_t coef;
};

/* c + sum coef * axis value when flat (then no sum overflows inside the domain), else only the expression. */
struct bir_operand_affine {
    const struct pelican_expr *expr; /* NULL: constant 0 */
    int64_t c;
    uint32_t n_terms;
    const struct bir_operand_term *terms; /* outermost first, no zero coefficients */
    bool flat;
};

/* Engine addresses of a set's blocks; -1 where there is none. */
struct bir_operand_blocks {
    int64_t count;
    const int64_t *entry;
};

/* The element that an IndirectArg expression stands for. */
struct bir_operand_index {
    int64_t arg_id;
    const struct bir_location *location;
    int64_t offset_elems;
    uint8_t dtype;
};

enum bir_operand_kind {
    BIR_OPERAND_SYMBOLIC, /* symbolic_ap: address from tile and block */
    BIR_OPERAND_DYNAMIC,  /* physical_ap with a scalar runtime offset: element offset */
    BIR_OPERAND_WIDE,     /* physical_ap whose static byte offset needs more than 32 bits (lowering.md 9.4) */
};

struct bir_operand {
    struct bir_instruction *inst;
    const struct bir_nest *nest;   /* NULL: no loop */
    const struct bir_guard *guard; /* of inst, or NULL */
    uint8_t kind;                  /* enum bir_operand_kind */
    uint8_t role;                  /* enum bir_role */
    uint8_t dtype;
    uint32_t position; /* in its list once scalar index operands are gone (lowering.md 9.2) */
    const struct bir_set *set;
    const struct bir_pattern *pattern; /* that the lowered operand must have */
    /* symbolic */
    struct bir_operand_affine tile, block;
    const struct bir_operand_blocks *blocks;
    int64_t step_elems, stride_bytes, elem_bytes, bias_bytes;
    /* dynamic and wide */
    const struct bir_location *location;
    /* dynamic */
    const struct bir_dynamic_info *dynamic;
    const struct bir_operand_index *indices;
    uint32_t n_indices;
    /* wide */
    int64_t offset_elems;
};

/* What an operand that is to be recorded is made of. */
struct bir_operand_context {
    struct bir_arena *arena;
    struct bir_map blocks; /* set -> struct bir_operand_blocks */
};

/* Describes the operand when address lowering is going to replace it. BIR_OK with *recorded false when it is none of
 * the three kinds, or is one that the passes refuse (a symbolic operand in DRAM, no positive partition step, ...). */
enum bir_status bir_operand_describe(struct bir_operand_context *context, struct bir_argument *arg, uint32_t position,
                                     const struct bir_nest *nest, struct bir_operand *operand,
                                     bool *recorded) BIR_MUST_CHECK;

/* Largest index that keeps a dynamic operand inside its location, at least 1: the exclusive bound of index values. */
uint64_t bir_operand_index_bound(const struct bir_operand *operand);

#endif
