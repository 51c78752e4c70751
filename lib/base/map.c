/*
 * Open addressing with linear probing over a power-of-two table that is at most half full, tombstones included, so
 * every probe ends at a free slot. A removed entry leaves a tombstone, which a later insertion reuses; growth drops the
 * rest. Nothing iterates over a map, so the addresses that it hashes cannot influence any output.
 *
 * Named objects are in a table of references (base/ref_table.h). A removal there closes the gap instead: entries that
 * were pushed past it move up. A table that was forgotten is filled again at the next call; when there is no memory for
 * that, a look-up searches the objects themselves, so that its answer is the same.
 */
#include "base/map.h"

#include <assert.h>
#include <string.h>

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
    bir_arena_release(arena, BIR_MEM_TABLES, map->slots, map->capacity * sizeof(*map->slots));
    *map = bigger;
    return true;
}

/* Named objects */

void bir_map_init_named(struct bir_map *map, struct bir_arena *arena)
{
    *map = (struct bir_map){ .named = arena };
}

static const void *name_of(const void *object)
{
    const void *name;
    memcpy(&name, object, sizeof(name));
    return name;
}

static uint32_t hash_name(const void *user, bir_ref object)
{
    const struct bir_map *map = user;
    return bir_ref_hash_pointer(name_of(bir_arena_at(map->named, object)));
}

/* The slot of the name, or the free one where it belongs. The table is not empty. */
static uint32_t find_named(const struct bir_map *map, const void *key)
{
    const struct bir_ref_table *table = &map->objects;
    uint32_t i = bir_ref_table_first(table, bir_ref_hash_pointer(key));
    while (table->slots[i] && name_of(bir_arena_at(map->named, table->slots[i])) != key)
        i = bir_ref_table_next(table, i);
    return i;
}

static bool insert_named(struct bir_map *map, struct bir_arena *arena, const void *key, void *value, bool replace)
{
    struct bir_ref_table *table = &map->objects;
    if (!bir_ref_table_reserve(table, arena, hash_name, map))
        return false;
    bir_ref *slot = &table->slots[find_named(map, key)];
    if (*slot && !replace)
        return true;
    table->count += *slot ? 0u : 1u;
    *slot = bir_ref_of(value);
    return true;
}

void bir_map_forget(struct bir_map *map, bir_map_next_fn *next, void *user)
{
    map->objects = (struct bir_ref_table){ 0 };
    map->next = next;
    map->user = user;
}

/* Fills the table of a map that has forgotten; false when there is no memory for it. */
static bool recall(struct bir_map *map)
{
    for (void *object = map->next(map->user, NULL); object; object = map->next(map->user, object)) {
        const void *name = name_of(object);
        if (name && !insert_named(map, map->named, name, object, false)) {
            bir_map_forget(map, map->next, map->user);
            return false;
        }
    }
    map->next = NULL;
    return true;
}

static void *search_named(const struct bir_map *map, const void *key)
{
    void *object = map->next(map->user, NULL);
    while (object && name_of(object) != key)
        object = map->next(map->user, object);
    return object;
}

/* Looking up is const to the caller: what the map means stays the same when it recalls. */
static void *get_named(const struct bir_map *map, const void *key)
{
    if (map->next && !recall((struct bir_map *)(uintptr_t)map))
        return search_named(map, key);
    return map->objects.count ? bir_arena_at(map->named, map->objects.slots[find_named(map, key)]) : NULL;
}

static bool put_named(struct bir_map *map, struct bir_arena *arena, const void *key, void *value)
{
    assert(name_of(value) == key);
    return (!map->next || recall(map)) && insert_named(map, arena, key, value, true);
}

/* Steps from slot `from` to slot `to`, round the end. */
static uint32_t distance(const struct bir_ref_table *table, uint32_t from, uint32_t to)
{
    return to >= from ? to - from : to + (table->capacity - from);
}

static void remove_named(struct bir_map *map, const void *key)
{
    if (map->next && !recall(map))
        return; /* nothing to take out */
    struct bir_ref_table *table = &map->objects;
    uint32_t gap = table->count ? find_named(map, key) : 0;
    if (table->count == 0 || !table->slots[gap])
        return;
    for (uint32_t i = bir_ref_table_next(table, gap); table->slots[i]; i = bir_ref_table_next(table, i)) {
        uint32_t first = bir_ref_table_first(table, hash_name(map, table->slots[i]));
        if (distance(table, first, i) < distance(table, gap, i))
            continue; /* it belongs behind the gap */
        table->slots[gap] = table->slots[i];
        gap = i;
    }
    table->slots[gap] = 0;
    table->count--;
}

/* All maps */

void *bir_map_get(const struct bir_map *map, const void *key)
{
    if (map->named)
        return get_named(map, key);
    const struct bir_map_slot *slot = find(map, key);
    return slot ? slot->value : NULL;
}

bool bir_map_put(struct bir_map *map, struct bir_arena *arena, const void *key, void *value)
{
    if (map->named)
        return put_named(map, arena, key, value);
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

uint32_t bir_map_count(struct bir_map *map)
{
    assert(map->named);
    return map->next && !recall(map) ? UINT32_MAX : map->objects.count;
}

bool bir_map_put_new(struct bir_map *map, struct bir_arena *arena, const void *key, void *value)
{
    assert(map->named && name_of(value) == key);
    if (map->next)
        return true;
    if (!bir_ref_table_reserve(&map->objects, arena, hash_name, map))
        return false;
    bir_ref_table_add(&map->objects, bir_ref_hash_pointer(key), bir_ref_of(value));
    return true;
}

bool bir_map_expect(struct bir_map *map, struct bir_arena *arena, uint32_t more)
{
    assert(map->named);
    return map->next || bir_ref_table_expect(&map->objects, arena, more, hash_name, map);
}

void bir_map_remove(struct bir_map *map, const void *key)
{
    if (map->named) {
        remove_named(map, key);
        return;
    }
    struct bir_map_slot *slot = find(map, key);
    if (slot)
        *slot = (struct bir_map_slot){ .key = &tombstone, .value = NULL };
}
