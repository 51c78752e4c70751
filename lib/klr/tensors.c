/*
 * Interning of TensorNames: every operand of a file repeats the whole tensor it works on, 42 % of the bytes of a large
 * kernel (klr-format.md 12). The table maps the bytes of a tensor to its node. It holds offsets into the file, no
 * copies, and lives in the reader's scratch arena. The hash takes the string table's seed, so that inputs cannot aim at
 * it.
 */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "klr/reader.h"

enum { FIRST_CAPACITY = 64 };

const struct klr_node *klr_tensor_find(const struct klr_reader *r, size_t start, uint64_t *hash)
{
    const uint8_t *bytes = r->bytes + start;
    size_t len = r->pos - start;
    *hash = XXH3_64bits_withSeed(bytes, len, r->strings->seed);
    if (r->tensor_capacity == 0)
        return NULL;
    uint32_t mask = r->tensor_capacity - 1;
    for (uint32_t i = (uint32_t)*hash & mask;; i = (i + 1) & mask) {
        const struct klr_tensor_entry *entry = &r->tensors[i];
        if (!entry->node)
            return NULL;
        if (entry->hash == *hash && entry->len == len && memcmp(r->bytes + entry->start, bytes, len) == 0)
            return entry->node;
    }
}

static void insert(struct klr_tensor_entry *entries, uint32_t capacity, const struct klr_tensor_entry *entry)
{
    uint32_t i = (uint32_t)entry->hash & (capacity - 1);
    while (entries[i].node)
        i = (i + 1) & (capacity - 1);
    entries[i] = *entry;
}

static bool grow(struct klr_reader *r)
{
    uint32_t capacity = r->tensor_capacity ? r->tensor_capacity : FIRST_CAPACITY / 2;
    if (__builtin_mul_overflow(capacity, 2u, &capacity)) {
        r->scratch.failure = BIR_LIMIT;
        return false;
    }
    struct klr_tensor_entry *entries =
        bir_arena_alloc_array(&r->scratch, BIR_MEM_TABLES, capacity, sizeof(struct klr_tensor_entry));
    if (!entries)
        return false;
    for (uint32_t i = 0; i < r->tensor_capacity; i++) {
        if (r->tensors[i].node)
            insert(entries, capacity, &r->tensors[i]);
    }
    r->tensors = entries;
    r->tensor_capacity = capacity;
    return true;
}

enum bir_status klr_tensor_add(struct klr_reader *r, size_t start, uint64_t hash, const struct klr_node *node)
{
    if (r->tensor_count >= r->tensor_capacity / 2 && !grow(r))
        return klr_fault_memory(r, &r->scratch);
    struct klr_tensor_entry entry = { .node = node, .hash = hash, .start = start, .len = r->pos - start };
    insert(r->tensors, r->tensor_capacity, &entry);
    r->tensor_count++;
    return BIR_OK;
}
