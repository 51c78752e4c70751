/*
 * The second byte of a sequence has a range that depends on the first (Unicode, table 3-7): that range is what excludes
 * overlong forms, surrogates and values above U+10FFFF. Later bytes are plain continuation bytes.
 */
#include "base/utf8.h"

#include <stdbool.h>
#include <string.h>

#include "base/json_reader.h"

struct lead_rule {
    unsigned char first, last; /* range of lead bytes */
    unsigned char length;
    unsigned char second_min, second_max;
};

static const struct lead_rule lead_rules[] = {
    { 0x00, 0x7F, 1, 0x00, 0x00 }, { 0xC2, 0xDF, 2, 0x80, 0xBF }, { 0xE0, 0xE0, 3, 0xA0, 0xBF },
    { 0xE1, 0xEC, 3, 0x80, 0xBF }, { 0xED, 0xED, 3, 0x80, 0x9F }, { 0xEE, 0xEF, 3, 0x80, 0xBF },
    { 0xF0, 0xF0, 4, 0x90, 0xBF }, { 0xF1, 0xF3, 4, 0x80, 0xBF }, { 0xF4, 0xF4, 4, 0x80, 0x8F },
};

size_t bir_utf8_sequence(const char *text, size_t len)
{
    const unsigned char *bytes = (const unsigned char *)text;
    const struct lead_rule *rule = lead_rules;
    const struct lead_rule *end = rule + sizeof(lead_rules) / sizeof(lead_rules[0]);
    while (rule < end && (bytes[0] < rule->first || bytes[0] > rule->last))
        rule++;
    if (rule == end || rule->length > len)
        return 0;
    if (rule->length > 1 && (bytes[1] < rule->second_min || bytes[1] > rule->second_max))
        return 0;
    for (size_t i = 2; i < rule->length; i++) {
        if ((bytes[i] & 0xC0) != 0x80)
            return 0;
    }
    return rule->length;
}

size_t bir_utf8_encode(uint32_t scalar, char out[4])
{
    if (scalar < 0x80) {
        out[0] = (char)scalar;
        return 1;
    }
    size_t length = scalar < 0x800 ? 2 : scalar < 0x10000 ? 3 : 4;
    static const unsigned char lead_marks[] = { 0, 0, 0xC0, 0xE0, 0xF0 };
    for (size_t i = length - 1; i > 0; i--) {
        out[i] = (char)(0x80 | (scalar & 0x3F));
        scalar >>= 6;
    }
    out[0] = (char)(lead_marks[length] | scalar);
    return length;
}

bool bir_utf8_valid(const char *text, size_t len, size_t *bad)
{
    size_t at = 0;
    while (at < len) {
        uint64_t word;
        if (len - at >= sizeof(word)) {
            memcpy(&word, text + at, sizeof(word));
            if ((word & UINT64_C(0x8080808080808080)) == 0) {
                at += sizeof(word);
                continue;
            }
        }
        size_t length = bir_utf8_sequence(text + at, len - at);
        if (length == 0) {
            if (bad)
                *bad = at;
            return false;
        }
        at += length;
    }
    return true;
}
