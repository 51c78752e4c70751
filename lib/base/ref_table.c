/*
 * A small table doubles. A large one grows by half, so between a half and three quarters of its slots are in use, and
 * the old table goes back to the arena. Objects are hashed again then: to hash what they are equal by costs less than
 * four bytes each to keep.
 */
#include "base/ref_table.h"

#define FIRST_CAPACITY 32u
#define SMALL_CAPACITY 1024u /* slots of a table that has a chunk of its own, near enough */

bool bir_ref_table_grow(struct bir_ref_table *table, struct bir_arena *arena, bir_ref_hash_fn *hash, const void *user)
{
    struct bir_ref_table grown = { .capacity = FIRST_CAPACITY, .count = table->count };
    uint32_t more = table->capacity < SMALL_CAPACITY ? table->capacity : table->capacity / 2;
    if (table->capacity && __builtin_add_overflow(table->capacity, more, &grown.capacity)) {
        arena->failure = BIR_LIMIT;
        return false;
    }
    grown.slots = bir_arena_alloc_array(arena, BIR_MEM_TABLES, grown.capacity, sizeof(*grown.slots));
    if (!grown.slots)
        return false;
    for (uint32_t i = 0; i < table->capacity; i++) {
        if (!table->slots[i])
            continue;
        uint32_t j = bir_ref_table_first(&grown, hash(user, table->slots[i]));
        while (grown.slots[j])
            j = bir_ref_table_next(&grown, j);
        grown.slots[j] = table->slots[i];
    }
    bir_arena_release(arena, BIR_MEM_TABLES, table->slots, table->capacity * sizeof(*table->slots));
    *table = grown;
    return true;
}
