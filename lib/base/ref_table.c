/*
 * A table doubles up to 32 KiB; a larger one grows by half, so between a half and three quarters of its slots are in
 * use, and the old table goes back to the arena. Objects are hashed again then: to hash what they are equal by costs
 * less than four bytes each to keep.
 */
#include "base/ref_table.h"

#define FIRST_CAPACITY 32u
#define SMALL_CAPACITY 8192u /* slots: 32 KiB */

static bool set_capacity(struct bir_ref_table *table, struct bir_arena *arena, uint32_t capacity, bir_ref_hash_fn *hash,
                         const void *user)
{
    struct bir_ref_table grown = { .capacity = capacity };
    grown.slots = bir_arena_alloc_array(arena, BIR_MEM_TABLES, grown.capacity, sizeof(*grown.slots));
    if (!grown.slots)
        return false;
    for (uint32_t i = 0; i < table->capacity; i++) {
        if (table->slots[i])
            bir_ref_table_add(&grown, hash(user, table->slots[i]), table->slots[i]);
    }
    bir_arena_release(arena, BIR_MEM_TABLES, table->slots, table->capacity * sizeof(*table->slots));
    *table = grown;
    return true;
}

bool bir_ref_table_grow(struct bir_ref_table *table, struct bir_arena *arena, bir_ref_hash_fn *hash, const void *user)
{
    uint32_t capacity = FIRST_CAPACITY;
    uint32_t more = table->capacity < SMALL_CAPACITY ? table->capacity : table->capacity / 2;
    if (table->capacity && __builtin_add_overflow(table->capacity, more, &capacity)) {
        arena->failure = BIR_LIMIT;
        return false;
    }
    return set_capacity(table, arena, capacity, hash, user);
}

bool bir_ref_table_expect(struct bir_ref_table *table, struct bir_arena *arena, uint32_t more, bir_ref_hash_fn *hash,
                          const void *user)
{
    uint64_t wanted = ((uint64_t)table->count + more) / 3 * 4 + 8;
    if (wanted <= table->capacity)
        return true;
    if (wanted > UINT32_MAX) {
        arena->failure = BIR_LIMIT;
        return false;
    }
    return set_capacity(table, arena, (uint32_t)wanted, hash, user);
}
