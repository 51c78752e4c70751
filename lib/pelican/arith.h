/* Division as the expression algebra means it (lowering.md 6.2): d > 0, floor rounding, Euclidean remainder. */
#ifndef BIR_PELICAN_ARITH_H
#define BIR_PELICAN_ARITH_H

#include <stdint.h>

static inline int64_t pelican_floor_div_i64(int64_t v, int64_t d)
{
    return v / d - (v % d < 0);
}

static inline int64_t pelican_mod_i64(int64_t v, int64_t d)
{
    int64_t r = v % d;
    return r < 0 ? r + d : r;
}

#endif
