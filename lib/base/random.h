/* SplitMix64: the seeded generator of sampled validation. Same seed, same points, on every machine. */
#ifndef BIR_BASE_RANDOM_H
#define BIR_BASE_RANDOM_H

#include <stdint.h>

static inline uint64_t bir_random_next(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9E3779B97F4A7C15));
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

/* 0 <= result < bound; bound > 0. The bias of the modulo is below 2^-32 for bounds below 2^32. */
static inline uint64_t bir_random_below(uint64_t *state, uint64_t bound)
{
    return bir_random_next(state) % bound;
}

#endif
