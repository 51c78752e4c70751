/*
 * Which bytes an operand touches (lowering.md 12.6), as rectangles of partitions by bytes in an address space.
 *
 * A rectangle may be larger than what is touched, never smaller: a runtime offset covers its whole location, a symbolic
 * one the range of its tile over the loops, a pattern of very many runs the interval around them.
 */
#ifndef BIR_PASSES_FOOTPRINT_H
#define BIR_PASSES_FOOTPRINT_H

#include "passes/pass.h"

struct bir_rectangle {
    uint32_t space;                    /* SBUF, PSUM, the DRAM arena, or one external tensor or alias group */
    uint32_t partition, partition_end; /* DRAM: 0, 1 */
    uint64_t byte, byte_end;
};

/* The address spaces of a function's storages. */
struct bir_spaces {
    struct bir_arena *scratch;
    struct bir_function *function;
    struct bir_map dram; /* DRAM location -> space number; locations of one alias group share it */
    uint32_t count;
};
enum { BIR_SPACE_SB, BIR_SPACE_PSUM, BIR_SPACE_DRAM_ARENA, BIR_SPACE_FIRST_OTHER };

/* False on allocation failure. */
bool bir_spaces_init(struct bir_spaces *spaces, struct bir_function *function,
                     struct bir_arena *scratch) BIR_MUST_CHECK;

typedef BIR_VEC(struct bir_rectangle) bir_rectangle_vec;

/* Appends the rectangles of an operand; nothing for one that names no memory. False on allocation failure. */
bool bir_footprint_add(struct bir_spaces *spaces, const struct bir_argument *arg,
                       bir_rectangle_vec *out) BIR_MUST_CHECK;

#endif
