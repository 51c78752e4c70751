/*
 * The bare table of a hash set of an arena's objects: four bytes a slot, three quarters full at most. Whoever owns it
 * knows what equality is and probes by himself:
 *
 *     uint32_t i = bir_ref_table_first(&table, hash);
 *     for (; table.slots[i]; i = bir_ref_table_next(&table, i))
 *         if (is_it(bir_arena_at(arena, table.slots[i]))) ...
 *     table.slots[i] = bir_ref_of(fresh), table.count++;     after bir_ref_table_reserve
 *
 * A zeroed table is empty and valid, but probing one needs capacity > 0.
 */
#ifndef BIR_BASE_REF_TABLE_H
#define BIR_BASE_REF_TABLE_H

#include "base/arena.h"

struct bir_ref_table {
    bir_ref *slots; /* open addressing with linear probing, 0 = free */
    uint32_t capacity;
    uint32_t count;
};

/* Hash of an object that is in the table: the same as it was put in with, all 32 bits good. */
typedef uint32_t bir_ref_hash_fn(const void *user, bir_ref object);

/* The table itself is in `arena`, which need not be that of the objects. False on failure, with the table unchanged. */
bool bir_ref_table_grow(struct bir_ref_table *table, struct bir_arena *arena, bir_ref_hash_fn *hash,
                        const void *user) BIR_MUST_CHECK;

/* Makes room for `more` at once, so that filling it does not grow it again; false on failure, with the table unchanged.
 */
bool bir_ref_table_expect(struct bir_ref_table *table, struct bir_arena *arena, uint32_t more, bir_ref_hash_fn *hash,
                          const void *user) BIR_MUST_CHECK;

/* Makes room for one more; false on failure, with the table unchanged. */
static inline BIR_MUST_CHECK bool bir_ref_table_reserve(struct bir_ref_table *table, struct bir_arena *arena,
                                                        bir_ref_hash_fn *hash, const void *user)
{
    return table->count < table->capacity / 4 * 3 || bir_ref_table_grow(table, arena, hash, user);
}

/* Any capacity will do: the hash is scaled, not masked. */
static inline uint32_t bir_ref_table_first(const struct bir_ref_table *table, uint32_t hash)
{
    return (uint32_t)((uint64_t)hash * table->capacity >> 32);
}

static inline uint32_t bir_ref_table_next(const struct bir_ref_table *table, uint32_t i)
{
    return i + 1 < table->capacity ? i + 1 : 0;
}

/* Enters an object that the table does not have and has room for. */
static inline void bir_ref_table_add(struct bir_ref_table *table, uint32_t hash, bir_ref object)
{
    uint32_t i = bir_ref_table_first(table, hash);
    while (table->slots[i])
        i = bir_ref_table_next(table, i);
    table->slots[i] = object;
    table->count++;
}

/* Of an address that is the key itself. */
static inline uint32_t bir_ref_hash_pointer(const void *pointer)
{
    return (uint32_t)((((uint64_t)(uintptr_t)pointer >> 2) * UINT64_C(0x9E3779B97F4A7C15)) >> 32);
}

#endif
