/* Rules of meaning that the types of a .klr file do not express. Private to lib/klr. */
#ifndef KLR_SEMANTICS_H
#define KLR_SEMANTICS_H

#include "klr/klr.h"

/* Checks TensorNames, AccessBasics and Slices (each node once) and reports every fault. */
enum bir_status klr_semantics_check(const struct klr_node *const *nodes, uint32_t count,
                                    struct bir_diags *diags) BIR_MUST_CHECK;

#endif
