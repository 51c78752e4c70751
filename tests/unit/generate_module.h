/*
 * Random modules for tests and benchmarks: BIR-JSON with nested loops, symbolic operands on SBUF and PSUM, moving
 * operands, block tensors, foldable expressions, predicates and runtime offsets. Legal by construction: 0 <= tile and 0
 * <= block < blocks at every point that predicates admit, and every partition stays below 128. The same seed and
 * options give the same bytes on every machine.
 */
#ifndef TESTS_GENERATE_MODULE_H
#define TESTS_GENERATE_MODULE_H

#include "base/buf.h"

struct generate_options {
    uint32_t max_depth;        /* of loops, at most 8 */
    uint32_t max_nests;        /* statements of the function's block: loop nests and single instructions */
    uint32_t max_statements;   /* of each loop body */
    uint32_t max_points;       /* of one loop nest */
    uint32_t max_instructions; /* consumers in all; reached exactly when exact is set */
    bool exact;                /* go on until there are max_instructions */
    bool dynamic;              /* runtime offsets too */
    bool empty_loops;          /* a few loops without iterations */
    bool mixed;                /* runtime fetches into symbolic operands */
    bool predicates;           /* on instructions and loops; some keep an operand inside its set */
};

struct generate_counts {
    uint64_t consumers;
    uint64_t operands; /* that address lowering replaces, outside loops without iterations */
    uint64_t points;   /* that predicates admit, summed over those operands */
    uint64_t predicates;
};

void generate_options_init(struct generate_options *options);

/* Appends the module's text to out. False when memory failed. counts may be NULL. */
bool generate_module(uint64_t seed, const struct generate_options *options, struct bir_buf *out,
                     struct generate_counts *counts);

#endif
