/* Normal form, ranges and legality (lowering.md section 6). */
#ifndef BIR_PELICAN_SIMPLIFY_H
#define BIR_PELICAN_SIMPLIFY_H

#include "pelican/expr.h"

/* The expression rewritten by the rules of lowering.md 6.4 to a fixed point: an AFFINE node (zero terms dropped, indices merged,
 * axes ordered outermost first by axis id) whenever the rules can reach one. Has the same value at every point of the axes' domains.
 * NULL on allocation failure or (ctx->overflow) when a folded constant does not fit 64 bits. Linear in distinct nodes. */
const struct pelican_expr *pelican_simplify(struct pelican_context *ctx, const struct pelican_expr *e);

struct pelican_range {
    int64_t inf, sup; /* both attained or conservative; inf <= sup */
    bool known;       /* false: runtime values, an empty axis, or an overflow */
};

/* Interval arithmetic over the axes' domains (lowering.md 6.3). */
struct pelican_range pelican_range_of(const struct pelican_expr *e);

/* isLegalDelinearizedAddress of lowering.md 6.6. */
bool pelican_is_legal_delinearised(const struct pelican_expr *e, bool is_partition_dim, bool require_no_predicate);

#endif
