/*
 * Hash map from pointers (interned strings, objects) to pointers, in an arena. A zeroed map is empty and valid.
 */
#ifndef BIR_BASE_MAP_H
#define BIR_BASE_MAP_H

#include "base/arena.h"

struct bir_map_slot {
    const void *key; /* NULL = free */
    void *value;
};

struct bir_map {
    struct bir_map_slot *slots;
    uint32_t capacity;
    uint32_t count; /* includes tombstones until the next growth */
};

/* NULL when absent. */
void *bir_map_get(const struct bir_map *map, const void *key);

/* Inserts or replaces; key not NULL. False on allocation failure, with the map unchanged. */
bool bir_map_put(struct bir_map *map, struct bir_arena *arena, const void *key, void *value) BIR_MUST_CHECK;

/* Removes when present. */
void bir_map_remove(struct bir_map *map, const void *key);

#endif
