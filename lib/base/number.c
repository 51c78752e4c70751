/*
 * Decimal to double and back, the same on every machine and in every locale.
 *
 * Reading: a significand below 2^53 and a power of ten up to 10^22 are both exact doubles, so one multiplication or
 * division rounds correctly (Clinger). Anything else goes to strtod, as digits and exponent without a decimal point,
 * because the point is the only part of strtod that depends on the locale. 769 significant digits decide every
 * rounding; digits beyond KEPT_DIGITS are represented by a single non-zero one.
 *
 * Writing: the shortest digits that read back as the same double. Numbers with few decimals, which is most of them, are
 * found by scaling with a power of ten; the rest by printing with growing precision and reading back. At a power of two
 * the gap below is half the gap above, so the nearest candidate of a precision can fail where its upper neighbour
 * succeeds.
 */
#include "base/json_writer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_scan.h"

#define KEPT_DIGITS       800
#define EXACT_POWER_MAX   22
#define EXACT_INTEGER_MAX (UINT64_C(1) << 53)

static const double exact_powers[EXACT_POWER_MAX + 1] = { 1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                          1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                                          1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };

/* Reading */

/* digits * 10^exponent by strtod; digits has room for the exponent behind `count` digits. */
static double digits_to_double(char *digits, size_t count, int32_t exponent)
{
    (void)snprintf(digits + count, 16, "e%d", exponent);
    return strtod(digits, NULL);
}

/* From the number's text, which may have any number of digits. */
static double text_to_double(const struct bir_json_decimal *decimal, const char *text, size_t len)
{
    char digits[KEPT_DIGITS + 1 + 16];
    size_t count = 0;
    size_t dropped = 0;
    bool nonzero_dropped = false;
    for (size_t i = 0; i < len && (text[i] | 0x20) != 'e'; i++) {
        if (!bir_json_is_digit(text[i]) || (count == 0 && text[i] == '0'))
            continue;
        if (count < KEPT_DIGITS) {
            digits[count++] = text[i];
        } else {
            dropped++;
            nonzero_dropped |= text[i] != '0';
        }
    }
    if (count == 0)
        return decimal->negative ? -0.0 : 0.0;
    /* decimal->exponent scales the digits that fit its mantissa; here more of them stand before the exponent. */
    size_t scaled = count < BIR_JSON_MANTISSA_DIGITS ? count : BIR_JSON_MANTISSA_DIGITS;
    int64_t exponent = (int64_t)decimal->exponent - (int64_t)(count - scaled);
    if (decimal->integral)
        exponent = (int64_t)dropped;
    if (nonzero_dropped) {
        digits[count++] = '1';
        exponent--;
    }
    if (exponent > INT32_MAX)
        exponent = INT32_MAX;
    double value = digits_to_double(digits, count, (int32_t)exponent);
    return decimal->negative ? -value : value;
}

double bir_json_decimal_to_double(const struct bir_json_decimal *decimal, const char *text, size_t len)
{
    if (!decimal->exact || decimal->mantissa > EXACT_INTEGER_MAX || decimal->exponent > EXACT_POWER_MAX ||
        decimal->exponent < -EXACT_POWER_MAX)
        return text_to_double(decimal, text, len);
    double value = (double)decimal->mantissa;
    if (decimal->exponent < 0)
        value /= exact_powers[-decimal->exponent];
    else
        value *= exact_powers[decimal->exponent];
    return decimal->negative ? -value : value;
}

double bir_parse_double(const char *text, size_t len)
{
    struct bir_json_decimal decimal;
    struct bir_json_fault fault;
    if (bir_json_scan_number(text, text + len, &decimal, &fault) != text + len)
        return NAN;
    return bir_json_decimal_to_double(&decimal, text, len);
}

/* Writing */

/* value = 0.d1d2...dn * 10^point, d1 and dn not zero. */
struct shortest {
    char digits[17 + 1 + 16]; /* room for digits_to_double */
    int count;
    int point;
};

static void set_integer(struct shortest *s, uint64_t digits, int decimals)
{
    while (digits % 10 == 0) {
        digits /= 10;
        decimals--;
    }
    s->count = snprintf(s->digits, sizeof(s->digits), "%llu", (unsigned long long)digits);
    s->point = s->count - decimals;
}

/* Tries value = m / 10^decimals with m below 10^15, where at most one m of each length reads back as value. */
static bool few_decimals(double value, struct shortest *s)
{
    for (int decimals = 0; decimals <= EXACT_POWER_MAX; decimals++) {
        double scaled = value * exact_powers[decimals];
        if (scaled >= 1e15)
            return false;
        uint64_t digits = (uint64_t)(scaled + 0.5);
        if (digits != 0 && (double)digits / exact_powers[decimals] == value) {
            set_integer(s, digits, decimals);
            return true;
        }
    }
    return false;
}

static bool reads_back(struct shortest *s, double value)
{
    return digits_to_double(s->digits, (size_t)s->count, s->point - s->count) == value;
}

static void trim(struct shortest *s)
{
    while (s->count > 1 && s->digits[s->count - 1] == '0')
        s->count--;
    s->digits[s->count] = '\0';
}

/* The next larger decimal of the same precision. */
static void increment(struct shortest *s)
{
    int i = s->count - 1;
    while (i >= 0 && s->digits[i] == '9')
        s->digits[i--] = '0';
    if (i >= 0) {
        s->digits[i]++;
        return;
    }
    s->digits[0] = '1'; /* 99..9 became 100..0 */
    s->point++;
}

static bool try_precision(double value, int precision, struct shortest *s)
{
    char text[48];
    (void)snprintf(text, sizeof(text), "%.*e", precision - 1, value);
    const char *e = strchr(text, 'e');
    s->count = precision;
    s->digits[0] = text[0];
    memcpy(s->digits + 1, e - (precision - 1), (size_t)precision - 1); /* behind the locale's decimal point */
    s->point = (int)strtol(e + 1, NULL, 10) + 1;
    int binary_exponent;
    if (reads_back(s, value))
        return true;
    if (frexp(value, &binary_exponent) != 0.5)
        return false;
    increment(s);
    return reads_back(s, value);
}

static void find_shortest(double value, struct shortest *s)
{
    if (few_decimals(value, s))
        return;
    /* A normal double keeps 15 digits, so a shorter form shows as zeros at the end of the 15-digit one. */
    int precision = fpclassify(value) == FP_SUBNORMAL ? 1 : 15;
    while (precision < 17 && !try_precision(value, precision, s))
        precision++;
    if (precision == 17)
        (void)try_precision(value, 17, s);
    trim(s);
}

static char *put(char *out, const char *text, int count)
{
    memcpy(out, text, (size_t)count);
    return out + count;
}

static char *put_zeros(char *out, int count)
{
    memset(out, '0', (size_t)count);
    return out + count;
}

#define FIXED_POINT_MIN (-4) /* exclusive */
#define FIXED_POINT_MAX 15   /* inclusive */

static char *lay_out(const struct shortest *s, char *out)
{
    if (s->count <= s->point && s->point <= FIXED_POINT_MAX) {
        out = put(out, s->digits, s->count);
        out = put_zeros(out, s->point - s->count);
        return put(out, ".0", 2);
    }
    if (s->point > 0 && s->point <= FIXED_POINT_MAX) {
        out = put(out, s->digits, s->point);
        out = put(out, ".", 1);
        return put(out, s->digits + s->point, s->count - s->point);
    }
    if (s->point > FIXED_POINT_MIN && s->point <= 0) {
        out = put(out, "0.", 2);
        out = put_zeros(out, -s->point);
        return put(out, s->digits, s->count);
    }
    *out++ = s->digits[0];
    if (s->count > 1) {
        *out++ = '.';
        out = put(out, s->digits + 1, s->count - 1);
    }
    int exponent = s->point - 1;
    return out + snprintf(out, 7, "e%c%02d", exponent < 0 ? '-' : '+', abs(exponent));
}

size_t bir_format_double(double value, char out[32])
{
    char *p = out;
    if (signbit(value)) {
        *p++ = '-';
        value = -value;
    }
    if (value == 0.0) {
        p = put(p, "0.0", 3);
    } else {
        struct shortest s;
        find_shortest(value, &s);
        p = lay_out(&s, p);
    }
    *p = '\0';
    return (size_t)(p - out);
}
