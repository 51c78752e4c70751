/* Sets of integers as nested arithmetic progressions of runs: the bytes (or partitions) that an access pattern covers.
 */
#ifndef BIR_CHECK_HAZARD_BYTES_H
#define BIR_CHECK_HAZARD_BYTES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

#define HAZARD_DIMS 16u /* BIR_PATTERN_MAX_RANK */

struct hazard_dim {
    int64_t step, num;
};

/* { start + sum of i_k * step_k + r : 0 <= i_k < num_k, 0 <= r < run }. Normal form: steps positive, descending,
 * greater than run, no num below 2; so a set without dims is one run. At most HAZARD_DIMS dims. */
struct hazard_set {
    int64_t start, run;
    uint32_t n_dims;
    struct hazard_dim *dims;
};

/* Brings a set to normal form, in place: the same integers. False when some member is outside int64
 * (or INT64_MAX itself, so that the end of a set is a number too). Every num and run
 * >= 1. */
bool hazard_set_normalise(struct hazard_set *set) BIR_MUST_CHECK;

/* Greatest member of a set in normal form. */
int64_t hazard_set_last(const struct hazard_set *set);

/* Have two sets in normal form a member in common? 1 yes, 0 no, -1 not found out within HAZARD_MEET_STEPS: deciding it
 * is a knapsack problem when both have many steps of similar size. */
#define HAZARD_MEET_STEPS 1000000u
int hazard_set_meet(const struct hazard_set *a, const struct hazard_set *b);

struct hazard_run {
    int64_t first, last;
};

/* Runs of the set (normal form) that touch [first, last], in any order, at most max of them. How many there are, or max
 * + 1 when there are more than max (or too many places to look at). */
uint32_t hazard_set_runs(const struct hazard_set *set, int64_t first, int64_t last, struct hazard_run *runs,
                         uint32_t max);

#endif
