/*
 * Decimal digits of integers, put straight into memory that the caller has made room for.
 */
#ifndef BIR_BASE_DECIMAL_H
#define BIR_BASE_DECIMAL_H

#include <stdint.h>

#define BIR_DECIMAL_MAX 20 /* characters of the longest: UINT64_MAX, INT64_MIN with its sign */

/* The digits of value at out; returns the position behind them. */
static inline char *bir_decimal_put(char *out, uint64_t value)
{
    uint32_t count = 1;
    for (uint64_t rest = value; rest >= 10; rest /= 10)
        count++;
    for (char *p = out + count; p != out; value /= 10)
        *--p = (char)('0' + value % 10);
    return out + count;
}

static inline char *bir_decimal_put_signed(char *out, int64_t value)
{
    if (value >= 0)
        return bir_decimal_put(out, (uint64_t)value);
    *out++ = '-';
    return bir_decimal_put(out, 0 - (uint64_t)value);
}

#endif
