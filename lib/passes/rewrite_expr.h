/* Copies of expressions with other leaves. Nodes are immutable, so changing a leaf means building its parents anew. */
#ifndef BIR_PASSES_REWRITE_EXPR_H
#define BIR_PASSES_REWRITE_EXPR_H

#include "passes/pass.h"

/* What stands for a leaf (AFFINE_IV, RUNTIME_VALUE, INDIRECT_ARG, SHARD_ID, CC_GET_RANK): the leaf itself, or another
 * node, which must be of the index family where the leaf is the index of an affine term. NULL on failure. */
typedef const struct pelican_expr *bir_leaf_fn(void *user, struct pelican_context *ctx,
                                               const struct pelican_expr *leaf);

/* Each node is visited once a call, whatever is shared. NULL on allocation failure, when a fn gave NULL, or when
 * nesting is too deep. */
const struct pelican_expr *bir_expr_rewrite(struct pelican_context *ctx, const struct pelican_expr *e, bir_leaf_fn *fn,
                                            void *user);

/* The dynamic info of an operand with rewritten terms, in place of the old one, which other operands may share. False
 * on failure. */
bool bir_dynamic_rewrite(struct bir_module *module, struct bir_argument *arg, bir_leaf_fn *fn,
                         void *user) BIR_MUST_CHECK;

#endif
