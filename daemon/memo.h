/*
 * Requests seen before, by their text: what a request without payload means does not change, so that a repeated one
 * finds its cache key without being parsed.
 */
#ifndef DAEMON_MEMO_H
#define DAEMON_MEMO_H

#include "base/digest.h"

#define MEMO_SLOTS 4096
/* Longer texts are not worth remembering: a request by digest has some 200 bytes. */
#define MEMO_TEXT_BYTES 1024

struct memo_slot {
    uint64_t hash;
    size_t len; /* of text; 0 = free */
    char *text;
    struct bir_digest key;
    unsigned method;
};

struct memo {
    struct memo_slot slots[MEMO_SLOTS];
};

void memo_deinit(struct memo *memo); /* a zeroed memo is empty */

/* text is the request behind its id. NULL when it is not known. */
const struct memo_slot *memo_find(const struct memo *memo, const char *text, size_t len);

/* Remembers, in place of whatever had the slot; does nothing when the text is long or memory is short. */
void memo_put(struct memo *memo, const char *text, size_t len, const struct bir_digest *key, unsigned method);

#endif
