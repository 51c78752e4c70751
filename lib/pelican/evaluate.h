/* Exact 64-bit evaluation of an expression at one point (lowering.md 6.2). */
#ifndef BIR_PELICAN_EVALUATE_H
#define BIR_PELICAN_EVALUATE_H

#include "pelican/expr.h"

/* Value of a leaf (AFFINE_IV, RUNTIME_VALUE, INDIRECT_ARG, SHARD_ID, CC_GET_RANK). False: not evaluable. */
typedef bool pelican_leaf_fn(void *user, const struct pelican_expr *leaf, int64_t *value);

/* False when a leaf is not evaluable, an induction value lies outside its axis, or an operation overflows. Bounded stack: shared
 * subtrees are evaluated once per call for trees beyond a small size. */
bool pelican_evaluate(const struct pelican_expr *e, pelican_leaf_fn *leaf, void *user, int64_t *value);

#endif
