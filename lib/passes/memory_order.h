/*
 * Who wrote and who read which bytes last, in program order: the interval structure behind the dependency passes
 * (lowering.md 12.3, 12.4).
 */
#ifndef BIR_PASSES_MEMORY_ORDER_H
#define BIR_PASSES_MEMORY_ORDER_H

#include "passes/footprint.h"

/* What a pass records: Flow, or Anti and Output. */
struct bir_memory_order_kinds {
    bool flow, anti_output;
};

/* Adds the edges of a whole function, loop bodies in place; between two instructions at most one a list, of the
 * strongest kind. */
enum bir_status bir_memory_order(struct bir_function *function, const struct bir_pass_context *context,
                                 struct bir_memory_order_kinds kinds) BIR_MUST_CHECK;

#endif
