/*
 * The common case of each token is inline in json_scan.h or at the head of its function: strings without escapes eight
 * bytes at a time, numbers of up to 19 digits in one pass. Text beyond that takes the careful path.
 *
 * A whole value is scanned without recursion: one bit a level remembers whether the container is an object, so depth
 * costs no C stack and the bound is only a matter of policy.
 */
#include "base/json_scan.h"

#include "base/utf8.h"

static const char *fail(struct bir_json_fault *fault, const char *code, const char *message, const char *at)
{
    *fault = (struct bir_json_fault){ .code = code, .message = message, .at = at };
    return NULL;
}

/* Strings */

static int hex_digit(char c)
{
    if (bir_json_is_digit(c))
        return c - '0';
    char lower = (char)(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* The UTF-16 unit of the \uXXXX at p, or -1. */
static int32_t escaped_unit(const char *p, const char *end)
{
    if (end - p < 6 || p[0] != '\\' || p[1] != 'u')
        return -1;
    int32_t unit = 0;
    for (int i = 2; i < 6; i++) {
        int digit = hex_digit(p[i]);
        if (digit < 0)
            return -1;
        unit = unit * 16 + digit;
    }
    return unit;
}

static struct bir_json_char verbatim(const char *p)
{
    return (struct bir_json_char){ .bytes = { *p }, .byte_count = 1, .source_count = 1 };
}

static struct bir_json_char unicode_char(const char *p, const char *end)
{
    int32_t unit = escaped_unit(p, end);
    uint8_t source_count = 6;
    if (unit >= 0xD800 && unit < 0xDC00) {
        int32_t low = escaped_unit(p + 6, end);
        if (low < 0xDC00 || low > 0xDFFF)
            return verbatim(p);
        unit = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
        source_count = 12;
    } else if (unit < 0 || (unit >= 0xDC00 && unit < 0xE000)) {
        return verbatim(p);
    }
    struct bir_json_char c = { .source_count = source_count };
    c.byte_count = (uint8_t)bir_utf8_encode((uint32_t)unit, c.bytes);
    return c;
}

struct bir_json_char bir_json_next_char(const char *p, const char *end)
{
    static const char escapes[] = "\"\\/bfnrt";
    static const char meanings[] = "\"\\/\b\f\n\r\t";
    if (*p != '\\' || end - p < 2)
        return verbatim(p);
    if (p[1] == 'u')
        return unicode_char(p, end);
    const char *known = memchr(escapes, p[1], sizeof(escapes) - 1);
    if (!known)
        return verbatim(p);
    return (struct bir_json_char){ .bytes = { meanings[known - escapes] }, .byte_count = 1, .source_count = 2 };
}

static const char *fail_escape(const char *p, const char *end, struct bir_json_fault *fault)
{
    if (escaped_unit(p, end) >= 0)
        return fail(fault, "json-syntax", "unpaired surrogate in a string", p);
    return fail(fault, "json-syntax", "invalid escape sequence in a string", p);
}

const char *bir_json_scan_string_rest(const char *p, const char *end, bool *escaped, struct bir_json_fault *fault)
{
    while (p < end) {
        if (*p == '"')
            return p;
        if (*p == '\\') {
            struct bir_json_char c = bir_json_next_char(p, end);
            if (c.source_count < 2)
                return fail_escape(p, end, fault);
            *escaped = true;
            p += c.source_count;
        } else if ((unsigned char)*p < 0x20) {
            return fail(fault, "json-syntax", "raw control character in a string", p);
        } else {
            size_t length = bir_utf8_sequence(p, (size_t)(end - p));
            if (length == 0)
                return fail(fault, "json-utf8", "invalid UTF-8 in a string", p);
            p += length;
        }
        p = bir_json_scan_plain(p, end, true);
    }
    return fail(fault, "json-syntax", "string is not closed", end);
}

size_t bir_json_unescape(const char *text, size_t len, char *out)
{
    const char *p = text;
    const char *end = text + len;
    char *start = out;
    while (p < end) {
        const char *stop = memchr(p, '\\', (size_t)(end - p));
        size_t run = (size_t)((stop ? stop : end) - p);
        memcpy(out, p, run);
        out += run;
        p += run;
        if (p == end)
            break;
        struct bir_json_char c = bir_json_next_char(p, end);
        memcpy(out, c.bytes, c.byte_count);
        out += c.byte_count;
        p += c.source_count;
    }
    return (size_t)(out - start);
}

/* Numbers */

#define EXPONENT_BOUND 100000000

/* Digits collected so far; those beyond the 19th significant one only move the exponent. */
struct digits {
    uint64_t mantissa;
    int32_t significant;
    int64_t dropped;
    bool nonzero_dropped;
};

static inline const char *scan_digits(const char *p, const char *end, struct digits *d)
{
    for (; p < end && bir_json_is_digit(*p); p++) {
        if (d->significant < BIR_JSON_MANTISSA_DIGITS) {
            d->mantissa = d->mantissa * 10 + (uint64_t)(*p - '0');
            d->significant += d->mantissa != 0;
        } else {
            d->dropped++;
            d->nonzero_dropped |= *p != '0';
        }
    }
    return p;
}

static int32_t clamp_exponent(int64_t exponent)
{
    if (exponent > EXPONENT_BOUND)
        return EXPONENT_BOUND;
    return exponent < -EXPONENT_BOUND ? -EXPONENT_BOUND : (int32_t)exponent;
}

static const char *scan_exponent(const char *p, const char *end, int64_t *exponent, struct bir_json_fault *fault)
{
    bool negative = p < end && *p == '-';
    if (p < end && (*p == '-' || *p == '+'))
        p++;
    if (p == end || !bir_json_is_digit(*p))
        return fail(fault, "json-syntax", "number has no digits in its exponent", p);
    int64_t value = 0;
    for (; p < end && bir_json_is_digit(*p); p++) {
        if (value < INT64_C(1) << 40)
            value = value * 10 + (*p - '0');
    }
    *exponent += negative ? -value : value;
    return p;
}

/* Fraction and exponent, from the '.' or 'e' at p. */
static const char *scan_real_part(const char *p, const char *end, struct digits *d, int64_t *exponent,
                                  struct bir_json_fault *fault)
{
    if (*p == '.') {
        const char *fraction = p + 1;
        p = scan_digits(fraction, end, d);
        if (p == fraction)
            return fail(fault, "json-syntax", "number has no digits after its decimal point", p);
        *exponent -= p - fraction;
    }
    if (p < end && (*p == 'e' || *p == 'E'))
        p = scan_exponent(p + 1, end, exponent, fault);
    return p;
}

/* An integer of 20 digits may still fit 64 bits. */
static bool twenty_digits(const char *p, uint64_t *mantissa)
{
    uint64_t value = 0;
    for (int i = 0; i < BIR_JSON_MANTISSA_DIGITS + 1; i++) {
        if (__builtin_mul_overflow(value, UINT64_C(10), &value) ||
            __builtin_add_overflow(value, (uint64_t)(p[i] - '0'), &value))
            return false;
    }
    *mantissa = value;
    return true;
}

const char *bir_json_scan_number(const char *p, const char *end, struct bir_json_decimal *out,
                                 struct bir_json_fault *fault)
{
    struct digits d = { 0 };
    int64_t exponent = 0;
    out->negative = p < end && *p == '-';
    const char *first = p + out->negative;
    if (first == end || !bir_json_is_digit(*first))
        return fail(fault, "json-syntax", "number has no digits", first);
    p = scan_digits(first, end, &d);
    if (*first == '0' && p - first > 1)
        return fail(fault, "json-syntax", "number has a leading zero", first);
    out->integral = p == end || (*p != '.' && (*p | 0x20) != 'e');
    if (out->integral && d.dropped == 1 && twenty_digits(first, &d.mantissa)) {
        d.dropped = 0;
        d.nonzero_dropped = false;
    }
    if (!out->integral)
        p = scan_real_part(p, end, &d, &exponent, fault);
    out->mantissa = d.mantissa;
    out->exponent = clamp_exponent(exponent + d.dropped);
    out->exact = !d.nonzero_dropped;
    return p;
}

/* Whole values */

const char *bir_json_scan_literal(const char *p, const char *end, struct bir_json_fault *fault)
{
    static const char *const literals[] = { "true", "false", "null" };
    for (size_t i = 0; i < sizeof(literals) / sizeof(literals[0]); i++) {
        size_t len = strlen(literals[i]);
        if ((size_t)(end - p) >= len && memcmp(p, literals[i], len) == 0)
            return p + len;
    }
    return fail(fault, "json-syntax", "not a JSON value", p);
}

static const char *scan_scalar(const char *p, const char *end, struct bir_json_fault *fault)
{
    if (*p == '"') {
        bool escaped;
        p = bir_json_scan_string(p + 1, end, &escaped, fault);
        return p ? p + 1 : NULL;
    }
    if (*p == '-' || bir_json_is_digit(*p)) {
        struct bir_json_decimal decimal;
        int64_t value;
        const char *stop = bir_json_scan_short_integer(p, end, &value);
        if (stop)
            return stop;
        return bir_json_scan_number(p, end, &decimal, fault);
    }
    return bir_json_scan_literal(p, end, fault);
}

/* A key with its colon, up to the value. */
static const char *scan_key(const char *p, const char *end, struct bir_json_fault *fault)
{
    if (p == end || *p != '"')
        return fail(fault, "json-syntax", p == end ? "object is not closed" : "expected a key", p);
    bool escaped;
    p = bir_json_scan_string(p + 1, end, &escaped, fault);
    if (!p)
        return NULL;
    p = bir_json_scan_space(p + 1, end);
    if (p == end || *p != ':')
        return fail(fault, "json-syntax", "expected ':' after a key", p);
    return bir_json_scan_space(p + 1, end);
}

struct levels {
    uint64_t is_object[BIR_JSON_DEPTH_BOUND / 64];
    uint32_t depth;
    uint32_t max_depth;
};

static inline bool in_object(const struct levels *levels)
{
    uint32_t level = levels->depth - 1;
    return levels->is_object[level / 64] >> (level % 64) & 1;
}

static inline bool enter(struct levels *levels, bool object)
{
    if (levels->depth >= levels->max_depth)
        return false;
    uint64_t bit = UINT64_C(1) << (levels->depth % 64);
    uint64_t *word = &levels->is_object[levels->depth / 64];
    *word = object ? *word | bit : *word & ~bit;
    levels->depth++;
    return true;
}

/* From behind a value to where the next one starts; *done when the outermost value is complete. */
static const char *scan_after_value(const char *p, const char *end, struct levels *levels, bool *done,
                                    struct bir_json_fault *fault)
{
    while (levels->depth > 0) {
        bool object = in_object(levels);
        p = bir_json_scan_space(p, end);
        if (p == end)
            return fail(fault, "json-syntax", object ? "object is not closed" : "array is not closed", p);
        if (*p == ',') {
            p = bir_json_scan_space(p + 1, end);
            return object ? scan_key(p, end, fault) : p;
        }
        if (*p != (object ? '}' : ']'))
            return fail(fault, "json-syntax", object ? "expected ',' or '}'" : "expected ',' or ']'", p);
        p++;
        levels->depth--;
    }
    *done = true;
    return p;
}

const char *bir_json_scan_value(const char *p, const char *end, uint32_t max_depth, struct bir_json_fault *fault)
{
    struct levels levels;
    levels.depth = 0;
    levels.max_depth = max_depth < BIR_JSON_DEPTH_BOUND ? max_depth : BIR_JSON_DEPTH_BOUND;
    bool done = false;
    p = bir_json_scan_space(p, end);
    while (!done) {
        if (p == end)
            return fail(fault, "json-syntax", "expected a value, found the end of the text", p);
        if (*p == '{' || *p == '[') {
            bool object = *p == '{';
            if (!enter(&levels, object))
                return fail(fault, "json-depth", "objects and arrays are nested too deeply", p);
            p = bir_json_scan_space(p + 1, end);
            bool empty = p < end && *p == (object ? '}' : ']');
            if (!empty) {
                p = object ? scan_key(p, end, fault) : p;
                if (!p)
                    return NULL;
                continue;
            }
        } else {
            p = scan_scalar(p, end, fault);
            if (!p)
                return NULL;
        }
        p = scan_after_value(p, end, &levels, &done, fault);
        if (!p)
            return NULL;
    }
    return p;
}
