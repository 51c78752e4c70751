/*
 * Direct-mapped: one slot a hash, the newer request wins. The texts are compared in full, so a collision is a miss.
 */
#include "daemon/memo.h"

#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

void memo_deinit(struct memo *memo)
{
    for (size_t i = 0; i < MEMO_SLOTS; i++) {
        free(memo->slots[i].text);
        memo->slots[i] = (struct memo_slot){ 0 };
    }
}

const struct memo_slot *memo_find(const struct memo *memo, const char *text, size_t len)
{
    if (len == 0 || len > MEMO_TEXT_BYTES)
        return NULL;
    uint64_t hash = XXH3_64bits(text, len);
    const struct memo_slot *slot = &memo->slots[hash % MEMO_SLOTS];
    return slot->hash == hash && slot->len == len && memcmp(slot->text, text, len) == 0 ? slot : NULL;
}

void memo_put(struct memo *memo, const char *text, size_t len, const struct bir_digest *key, unsigned method)
{
    if (len == 0 || len > MEMO_TEXT_BYTES || memo_find(memo, text, len))
        return;
    char *copy = malloc(len);
    if (!copy)
        return;
    memcpy(copy, text, len);
    uint64_t hash = XXH3_64bits(text, len);
    struct memo_slot *slot = &memo->slots[hash % MEMO_SLOTS];
    free(slot->text);
    *slot = (struct memo_slot){ .hash = hash, .len = len, .text = copy, .key = *key, .method = method };
}
