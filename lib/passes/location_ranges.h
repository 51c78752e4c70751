/* When each on-chip location holds something: the first and the last instruction that may touch it. */
#ifndef BIR_PASSES_LOCATION_RANGES_H
#define BIR_PASSES_LOCATION_RANGES_H

#include "passes/pass.h"

/* Program indices (bir_function_number), both inclusive. first > last: no instruction touches it. */
struct location_range {
    uint32_t first, last;
    bool bound; /* an instruction that is no DMA uses it together with another on-chip location */
};

struct location_ranges {
    struct bir_map of; /* storage (location or set) -> struct location_range */
    uint32_t instructions;
};

/* Numbers the function and finds the ranges. What a loop or a backward branch encloses counts as one moment: a location
 * touched anywhere in it lives through all of it, unless it is a temporary of one block (location_ranges.c).
 * Instructions of queues may run at any time. */
enum bir_status location_ranges_find(struct bir_function *function, const struct bir_pass_context *context,
                                     struct location_ranges *out) BIR_MUST_CHECK;

/* Range of a location: its own uses and those of its set. */
struct location_range location_range_of(const struct location_ranges *ranges, const struct bir_location *location);

#endif
