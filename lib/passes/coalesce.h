/* Registers that copies connect and that may share a physical one become one class (lowering.md 11 item 4). */
#ifndef BIR_PASSES_COALESCE_H
#define BIR_PASSES_COALESCE_H

#include "passes/interference.h"

/* By node: the node that stands for its class; a node stands for itself when nothing was merged. *merged counts the
 * copies that became moves of a register to itself. */
enum bir_status bir_coalesce(const struct bir_liveness *live, const struct bir_interference *interference,
                             unsigned colours, uint32_t **representative, uint64_t *merged) BIR_MUST_CHECK;

#endif
