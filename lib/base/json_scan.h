/*
 * Lexical scanners of JSON (RFC 8259), shared by reader, pointer search and writer. Internal to lib/base, but for
 * bir_json_copy_plain, which the writer of modules uses too.
 *
 * A scanner takes the rest of the text as [p, end) and gives the position behind what it recognised, or NULL after
 * filling *fault. Nothing here allocates or reports.
 */
#ifndef BIR_BASE_JSON_SCAN_H
#define BIR_BASE_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Deepest nesting that any reader admits; a reader's own max_depth is lowered to it. */
#define BIR_JSON_DEPTH_BOUND 4096u

struct bir_json_fault {
    const char *code;    /* diagnostic code */
    const char *message; /* without place */
    const char *at;
};

static inline bool bir_json_is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static inline bool bir_json_is_digit(char c)
{
    return (unsigned char)(c - '0') <= 9;
}

static inline const char *bir_json_scan_space(const char *p, const char *end)
{
    if (p < end && (unsigned char)*p > ' ') /* compact text: no space in most places */
        return p;
    while (p < end && bir_json_is_space(*p))
        p++;
    return p;
}

/* Eight bytes, the first one least significant. */
static inline uint64_t bir_json_load8(const char *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof(word));
    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? word : __builtin_bswap64(word);
}

/* High bit set in each byte that needs care inside a string: quote, backslash, control, and (when `wide`) not ASCII. A
 * borrow can mark bytes above a marked one wrongly, never below it: only the lowest mark is reliable. */
static inline uint64_t bir_json_special8(uint64_t word, bool wide)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    uint64_t quote = word ^ (ones * '"');
    uint64_t backslash = word ^ (ones * '\\');
    uint64_t found = ((quote - ones) & ~quote) | ((backslash - ones) & ~backslash) | ((word - ones * 0x20) & ~word);
    return (found | (wide ? word : 0)) & (ones * 0x80);
}

static inline bool bir_json_is_special(char c, bool wide)
{
    unsigned char byte = (unsigned char)c;
    return byte < 0x20 || byte == '"' || byte == '\\' || (wide && byte >= 0x80);
}

/* First byte of [p, end) that is special as above, or end. */
static inline const char *bir_json_scan_plain(const char *p, const char *end, bool wide)
{
    while (end - p >= 8) {
        uint64_t found = bir_json_special8(bir_json_load8(p), wide);
        if (found != 0)
            return p + (__builtin_ctzll(found) >> 3);
        p += 8;
    }
    while (p < end && !bir_json_is_special(*p, wide))
        p++;
    return p;
}

typedef unsigned char bir_json_bytes16 __attribute__((vector_size(16)));

/* Copies 16 bytes; gives a vector with a bit set where one is special as above, in the narrow sense. */
static inline bir_json_bytes16 bir_json_copy16(char *out, const char *text)
{
    bir_json_bytes16 bytes;
    memcpy(&bytes, text, sizeof bytes);
    memcpy(out, &bytes, sizeof bytes);
    return (bir_json_bytes16)((bytes < 0x20) | (bytes == '"') | (bytes == '\\'));
}

static inline uint64_t bir_json_copy8(char *out, const char *text)
{
    memcpy(out, text, 8);
    return bir_json_special8(bir_json_load8(text), false);
}

/* The text with quotes around it at out, which has room for it: the position behind, or NULL when something in it needs
 * an escape. The end of a text that is no multiple of a step is copied with the bytes before it, a second time. */
static inline char *bir_json_copy_plain(char *out, const char *text, size_t len)
{
    uint64_t special = 0;
    *out++ = '"';
    if (len >= 16) {
        bir_json_bytes16 found = bir_json_copy16(out + len - 16, text + len - 16);
        for (size_t at = 0; at + 16 < len; at += 16)
            found |= bir_json_copy16(out + at, text + at);
        uint64_t halves[2];
        memcpy(halves, &found, sizeof halves);
        special = halves[0] | halves[1];
    } else if (len >= 8) {
        special = bir_json_copy8(out, text) | bir_json_copy8(out + len - 8, text + len - 8);
    } else {
        for (size_t at = 0; at < len; at++) {
            special |= bir_json_is_special(text[at], false);
            out[at] = text[at];
        }
    }
    out[len] = '"';
    return special == 0 ? out + len + 1 : NULL;
}

/* p is behind the opening quote; gives the closing quote. *escaped tells whether a backslash occurred. Checks UTF-8,
 * control characters, escapes and surrogate pairs. */
const char *bir_json_scan_string_rest(const char *p, const char *end, bool *escaped, struct bir_json_fault *fault);

static inline const char *bir_json_scan_string(const char *p, const char *end, bool *escaped,
                                               struct bir_json_fault *fault)
{
    const char *stop = bir_json_scan_plain(p, end, true);
    *escaped = false;
    if (stop < end && *stop == '"')
        return stop;
    return bir_json_scan_string_rest(stop, end, escaped, fault);
}

/* Copies the text between the quotes with escapes resolved; out has room for len bytes. Returns the length. Text that
 * bir_json_scan_string refuses is copied as it stands where it is malformed. */
size_t bir_json_unescape(const char *text, size_t len, char *out);

/* One character of a string's source text: its bytes as UTF-8, and how many source bytes it took. */
struct bir_json_char {
    char bytes[4];
    uint8_t byte_count;
    uint8_t source_count;
};
struct bir_json_char bir_json_next_char(const char *p, const char *end);

#define BIR_JSON_MANTISSA_DIGITS 19 /* 10^19 - 1 fits 64 bits */

/* The decimal number of a JSON number text: (-1)^negative * mantissa * 10^exponent, when exact. */
struct bir_json_decimal {
    uint64_t mantissa;
    int32_t exponent; /* saturates far outside the range of a double */
    bool negative;
    bool integral; /* neither fraction nor exponent */
    bool exact;    /* mantissa and exponent tell all: only zeros had to be left out of mantissa */
};

const char *bir_json_scan_number(const char *p, const char *end, struct bir_json_decimal *out,
                                 struct bir_json_fault *fault);

/* Fast path of integers that have at most 18 digits: their end, or NULL when the text is anything else (a longer or
 * real number, a leading zero, no number), which says nothing about its validity. */
static inline const char *bir_json_scan_short_integer(const char *p, const char *end, int64_t *out)
{
    bool negative = p < end && *p == '-';
    const char *first = p + negative;
    const char *limit = end - first > 18 ? first + 18 : end;
    int64_t value = 0;
    for (p = first; p < limit && bir_json_is_digit(*p); p++)
        value = value * 10 + (*p - '0');
    bool more = p < end && (bir_json_is_digit(*p) || *p == '.' || (*p | 0x20) == 'e');
    if (p == first || more || (*first == '0' && p - first > 1))
        return NULL;
    *out = negative ? -value : value;
    return p;
}

/* true, false or null, whichever *p begins. */
const char *bir_json_scan_literal(const char *p, const char *end, struct bir_json_fault *fault);

/* One whole value, at most max_depth containers deep. */
const char *bir_json_scan_value(const char *p, const char *end, uint32_t max_depth, struct bir_json_fault *fault);

/* The double nearest to the number whose text [text, text + len) was scanned into *decimal. */
double bir_json_decimal_to_double(const struct bir_json_decimal *decimal, const char *text, size_t len);

#endif
