/* Random JSON texts from a seed, valid ones and damaged ones, for differential tests. */
#ifndef TESTS_RANDOM_JSON_H
#define TESTS_RANDOM_JSON_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/random.h"

/* A text under construction. Zero it, set random (the seed) and what else is wanted. */
struct random_json {
    char bytes[4096];
    size_t len;
    uint32_t next_key; /* keys of one text are distinct */
    uint64_t random;
    bool unusual; /* with real numbers, and escape sequences that a writer would not choose */
};

static inline void random_json_add(struct random_json *t, const char *piece)
{
    size_t len = strlen(piece);
    if (t->len + len < sizeof(t->bytes)) {
        memcpy(t->bytes + t->len, piece, len);
        t->len += len;
    }
}

static inline const char *random_json_pick(struct random_json *t, const char *const *pieces, size_t count)
{
    return pieces[bir_random_below(&t->random, count)];
}

#define RANDOM_JSON_PICK(t, pieces) random_json_pick((t), (pieces), sizeof(pieces) / sizeof((pieces)[0]))

static inline void random_json_space(struct random_json *t)
{
    static const char *const spaces[] = { "", "", "", "", " ", "\n  ", "\t\r\n" };
    random_json_add(t, RANDOM_JSON_PICK(t, spaces));
}

static inline void random_json_string(struct random_json *t, const char *prefix)
{
    static const char *const plain[] = { "a",
                                         "Z",
                                         " ",
                                         "kernel_7",
                                         "12345678",
                                         "long text without escapes",
                                         "\\n",
                                         "\\\"",
                                         "\\\\",
                                         "\\b\\f\\r\\t",
                                         "\xc3\xa9",
                                         "\xe2\x82\xac",
                                         "\xf0\x9f\x98\x80",
                                         "\x7f",
                                         "~/" };
    static const char *const unusual[] = { "\\u00e9", "\\/", "\\ud83d\\ude00", "\\u0001", "\\u0041" };
    random_json_add(t, "\"");
    random_json_add(t, prefix);
    for (uint64_t n = bir_random_below(&t->random, 5); n > 0; n--) {
        bool pick_unusual = t->unusual && bir_random_below(&t->random, 4) == 0;
        random_json_add(t, pick_unusual ? RANDOM_JSON_PICK(t, unusual) : RANDOM_JSON_PICK(t, plain));
    }
    random_json_add(t, "\"");
}

static inline void random_json_number(struct random_json *t)
{
    static const char *const special[] = { "-0",
                                           "-0.0",
                                           "0.1",
                                           "1e5",
                                           "1E-5",
                                           "1.7976931348623157e308",
                                           "5e-324",
                                           "2.2250738585072011e-308",
                                           "0.30000000000000004",
                                           "9007199254740993.0",
                                           "1e-400",
                                           "3.0e+2" };
    static const char *const integers[] = { "0", "-1", "9223372036854775807", "-9223372036854775808",
                                            "123456789012345678" };
    char number[64];
    uint64_t bits = bir_random_next(&t->random);
    unsigned shift = (unsigned)bir_random_below(&t->random, 63) + 1;
    switch (bir_random_below(&t->random, t->unusual ? 5 : 2)) {
    case 0: random_json_add(t, RANDOM_JSON_PICK(t, integers)); return;
    case 1: snprintf(number, sizeof(number), "%lld", (long long)(bits >> shift)); break;
    case 2: random_json_add(t, RANDOM_JSON_PICK(t, special)); return;
    case 3: snprintf(number, sizeof(number), "-%llu.%03u", (unsigned long long)(bits >> shift), shift); break;
    default:
        snprintf(number, sizeof(number), "%llu.%llue%d", (unsigned long long)(bits % 10),
                 (unsigned long long)(bits >> shift), (int)shift * 9 - 300);
        break;
    }
    random_json_add(t, number);
}

static inline void random_json_value(struct random_json *t, int depth)
{
    static const char *const literals[] = { "true", "false", "null" };
    char prefix[16];
    uint64_t items = bir_random_below(&t->random, 5);
    random_json_space(t);
    switch (bir_random_below(&t->random, depth > 0 ? 7 : 4)) {
    case 0: random_json_string(t, ""); break;
    case 1: random_json_add(t, RANDOM_JSON_PICK(t, literals)); break;
    case 2:
    case 3: random_json_number(t); break;
    case 4:
        random_json_add(t, "[");
        for (uint64_t i = 0; i < items; i++) {
            random_json_add(t, i > 0 ? "," : "");
            random_json_value(t, depth - 1);
        }
        random_json_add(t, "]");
        break;
    default:
        random_json_add(t, "{");
        for (uint64_t i = 0; i < items; i++) {
            random_json_add(t, i > 0 ? "," : "");
            random_json_space(t);
            snprintf(prefix, sizeof(prefix), "%c%u-", (int)('a' + bir_random_below(&t->random, 26)), t->next_key++);
            random_json_string(t, prefix);
            random_json_space(t);
            random_json_add(t, ":");
            random_json_value(t, depth - 1);
        }
        random_json_add(t, "}");
        break;
    }
    random_json_space(t);
}

static inline void random_json_mutate(struct random_json *t)
{
    static const char bytes[] = "{}[]:,\"\\0123456789.eE+-truefalsn u\t\n\x00\x80\xc3\xff\xed\xf4";
    if (t->len == 0)
        return;
    size_t at = bir_random_below(&t->random, t->len);
    char byte = bytes[bir_random_below(&t->random, sizeof(bytes) - 1)];
    switch (bir_random_below(&t->random, 4)) {
    case 0: t->bytes[at] = byte; break;
    case 1: t->len = at; break;
    case 2:
        memmove(t->bytes + at, t->bytes + at + 1, t->len - at - 1);
        t->len--;
        break;
    default:
        if (t->len + 1 < sizeof(t->bytes)) {
            memmove(t->bytes + at + 1, t->bytes + at, t->len - at);
            t->bytes[at] = byte;
            t->len++;
        }
        break;
    }
}

#endif
