/*
 * Open addressing with linear probing over a power-of-two table that is at most half full, tombstones included, so
 * every probe ends at a free slot. A removed entry leaves a tombstone, which a later insertion reuses; growth drops the
 * rest. Nothing iterates over a map, so the addresses that it hashes cannot influence any output.
 */
#include "base/map.h"

#define FIRST_CAPACITY 16u

static const char tombstone; /* its address marks a removed entry */

static uint32_t first_slot(const void *key, uint32_t capacity)
{
    uint64_t mixed = ((uint64_t)(uintptr_t)key >> 3) * UINT64_C(0x9E3779B97F4A7C15);
    return (uint32_t)(mixed >> 32) & (capacity - 1);
}

static struct bir_map_slot *find(const struct bir_map *map, const void *key)
{
    if (map->capacity == 0)
        return NULL;
    for (uint32_t i = first_slot(key, map->capacity);; i = (i + 1) & (map->capacity - 1)) {
        struct bir_map_slot *slot = &map->slots[i];
        if (slot->key == key)
            return slot;
        if (!slot->key)
            return NULL;
    }
}

/* Where a key that is absent goes: a tombstone on its way or the free slot at the end. */
static struct bir_map_slot *vacant(const struct bir_map *map, const void *key)
{
    uint32_t i = first_slot(key, map->capacity);
    while (map->slots[i].key && map->slots[i].key != &tombstone)
        i = (i + 1) & (map->capacity - 1);
    return &map->slots[i];
}

static bool grow(struct bir_map *map, struct bir_arena *arena)
{
    uint32_t live = 0;
    for (uint32_t i = 0; i < map->capacity; i++)
        live += map->slots[i].key && map->slots[i].key != &tombstone;
    struct bir_map bigger = { .capacity = map->capacity ? map->capacity : FIRST_CAPACITY / 2, .count = live };
    bool mostly_tombstones = live < map->capacity / 4;
    if (!mostly_tombstones && __builtin_mul_overflow(bigger.capacity, 2u, &bigger.capacity)) {
        arena->failure = BIR_LIMIT;
        return false;
    }
    if (map->capacity == 0)
        bigger.capacity = FIRST_CAPACITY;
    bigger.slots = bir_arena_alloc_array(arena, BIR_MEM_TABLES, bigger.capacity, sizeof(*bigger.slots));
    if (!bigger.slots)
        return false;
    for (uint32_t i = 0; i < map->capacity; i++) {
        const struct bir_map_slot *slot = &map->slots[i];
        if (slot->key && slot->key != &tombstone)
            *vacant(&bigger, slot->key) = *slot;
    }
    *map = bigger;
    return true;
}

void *bir_map_get(const struct bir_map *map, const void *key)
{
    const struct bir_map_slot *slot = find(map, key);
    return slot ? slot->value : NULL;
}

bool bir_map_put(struct bir_map *map, struct bir_arena *arena, const void *key, void *value)
{
    struct bir_map_slot *slot = find(map, key);
    if (slot) {
        slot->value = value;
        return true;
    }
    if (map->count >= map->capacity / 2 && !grow(map, arena))
        return false;
    slot = vacant(map, key);
    map->count += slot->key ? 0u : 1u;
    *slot = (struct bir_map_slot){ .key = key, .value = value };
    return true;
}

void bir_map_remove(struct bir_map *map, const void *key)
{
    struct bir_map_slot *slot = find(map, key);
    if (slot)
        *slot = (struct bir_map_slot){ .key = &tombstone, .value = NULL };
}
