/*
 * Capacity doubles, so n pushes copy O(n) items; the vector that grows alone at the end of its arena does not copy at
 * all (bir_arena_grow extends it in place). Counts are 32-bit: a vector that would need more fails like a limit.
 */
#include "base/vec.h"

#include <string.h>

#define FIRST_CAPACITY 4u

bool bir_vec_reserve_one(struct bir_arena *arena, void **items, uint32_t count, uint32_t *capacity, size_t item_size)
{
    if (count < *capacity)
        return true;
    uint32_t grown = *capacity ? *capacity : FIRST_CAPACITY / 2;
    size_t new_bytes;
    if (__builtin_mul_overflow(grown, 2u, &grown) || __builtin_mul_overflow((size_t)grown, item_size, &new_bytes)) {
        arena->failure = BIR_LIMIT;
        return false;
    }
    void *old; /* memcpy, because the pointer's declared type is the item's, not void * */
    memcpy(&old, items, sizeof(old));
    void *block = bir_arena_grow(arena, BIR_MEM_TABLES, old, *capacity * item_size, new_bytes);
    if (!block)
        return false;
    memcpy(items, &block, sizeof(block));
    *capacity = grown;
    return true;
}
