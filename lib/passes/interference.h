/* Which registers must not share a physical one, and where most are live (lowering.md 11, items 3 and 4). */
#ifndef BIR_PASSES_INTERFERENCE_H
#define BIR_PASSES_INTERFERENCE_H

#include "passes/liveness.h"

/* The place of an engine where the registers live at once are widest. */
struct bir_pressure_peak {
    uint32_t width;   /* physical registers */
    uint32_t segment; /* of live->segments */
    uint32_t behind;  /* steps of the segment that are in front of the place */
    bool at_write;    /* the registers include what the step in front writes to no use */
};

struct bir_move {
    uint32_t step;
    uint32_t dst, src; /* nodes of equal width */
};

struct bir_interference {
    struct bir_lists neighbours; /* by node, symmetric, no duplicates */
    struct bir_pressure_peak peaks[BIR_ENGINE_COUNT];
    BIR_VEC(struct bir_move) moves; /* register to register, by ascending step */
};

enum bir_status bir_interference_build(struct bir_liveness *live, struct bir_diags *diags,
                                       struct bir_interference *out) BIR_MUST_CHECK;

/* The instruction directly in front of a peak; NULL when there is none in the block, and at the end of a segment. */
struct bir_instruction *bir_interference_peak_instruction(const struct bir_liveness *live,
                                                          const struct bir_pressure_peak *peak);

/* The nodes live at the peak of an engine. */
typedef BIR_VEC(uint32_t) bir_node_vec;
enum bir_status bir_interference_at_peak(struct bir_liveness *live, const struct bir_interference *interference,
                                         enum bir_engine engine, bir_node_vec *out) BIR_MUST_CHECK;

#endif
