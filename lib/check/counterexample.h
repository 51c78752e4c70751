/*
 * The counter-example of a failed comparison: which operand, at which iteration, what was expected and computed, and
 * the first emitted instruction that computes something else than its term.
 *
 * Internal to lib/check. The report functions give the status to return.
 */
#ifndef BIR_CHECK_COUNTEREXAMPLE_H
#define BIR_CHECK_COUNTEREXAMPLE_H

#include "check/plan.h"

/* Where a symbolic operand is at one point, by parts. */
struct bir_point {
    int64_t tile, block;
    int64_t entry, part_bytes, free_bytes;
    int64_t address;
};

/* Fills in everything below tile and block. False: they are outside the set, or the address does not fit the chip's 31
 * bits. */
bool bir_point_expected(const struct bir_operand *operand, struct bir_point *point);

/* The point of a symbolic site in a lane; false when it has none. */
bool bir_plan_point(struct bir_plan *plan, const struct bir_plan_site *site, unsigned lane, struct bir_point *point);

/* Value of an axis or runtime register for code in a nest; false when it has none. */
bool bir_plan_leaf(const struct bir_plan *plan, const struct bir_nest *nest, const struct pelican_expr *leaf,
                   unsigned lane, int64_t *value);

/* Value of a 32-bit slot (sign-extended) or of a pair. */
int64_t bir_plan_register_value(const struct bir_plan *plan, uint32_t slot, bool wide, unsigned lane);

/* True when the operation belongs to the site's own address code. */
bool bir_site_owns(const struct bir_plan *plan, const struct bir_plan_site *site, const struct bir_machine_op *op);

/* note: the operation that overflowed or divided a negative number when the values agree all the same, else NULL. */
enum bir_status bir_report_symbolic(struct bir_plan *plan, const struct bir_plan_site *site, unsigned lane,
                                    const struct bir_point *point, const struct bir_machine_fault *note);
enum bir_status bir_report_dynamic(struct bir_plan *plan, const struct bir_plan_site *site, unsigned lane,
                                   int64_t expected, int64_t computed);
enum bir_status bir_report_trap(struct bir_plan *plan, const struct bir_plan_site *site,
                                const struct bir_machine_fault *fault);
enum bir_status bir_report_domain(struct bir_plan *plan, const struct bir_plan_site *site, unsigned lane,
                                  const struct bir_point *point);
enum bir_status bir_report_no_value(struct bir_plan *plan, const struct bir_plan_site *site, unsigned lane);

#endif
