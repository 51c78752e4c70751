/*
 * Hash map from pointers (interned strings, objects) to pointers, in an arena. A zeroed map is empty and valid.
 *
 * A map of named objects, set up by bir_map_init_named, keeps four bytes an entry instead of sixteen: its values are
 * blocks of one arena, and each begins with the pointer that is its key (a name). It may forget its entries when they
 * can be found elsewhere, and learns them again when it is asked.
 */
#ifndef BIR_BASE_MAP_H
#define BIR_BASE_MAP_H

#include "base/arena.h"
#include "base/ref_table.h"

struct bir_map_slot {
    const void *key; /* NULL = free */
    void *value;
};

/* The object behind `previous`, the first one for NULL; NULL at the end. */
typedef void *bir_map_next_fn(void *user, void *previous);

struct bir_map {
    struct bir_map_slot *slots;
    uint32_t capacity;
    uint32_t count;          /* includes tombstones until the next growth */
    struct bir_arena *named; /* the arena of named objects; they are in `objects`, slots is unused */
    struct bir_ref_table objects;
    bir_map_next_fn *next; /* the objects of a map that has forgotten, else NULL */
    void *user;
};

/* An empty map of named objects of the arena. The name of an object that is in the map must not change. */
void bir_map_init_named(struct bir_map *map, struct bir_arena *arena);

/* Drops the table of a map of named objects, whose memory the caller has or gives up. next must give what the map has;
 * of several objects of a name the first counts. */
void bir_map_forget(struct bir_map *map, bir_map_next_fn *next, void *user);

/* Entries of a map of named objects; UINT32_MAX when there is no memory to learn them again. */
uint32_t bir_map_count(struct bir_map *map);

/* NULL when absent. */
void *bir_map_get(const struct bir_map *map, const void *key);

/* Inserts or replaces; key not NULL. False on allocation failure, with the map unchanged. */
bool bir_map_put(struct bir_map *map, struct bir_arena *arena, const void *key, void *value) BIR_MUST_CHECK;

/* For maps of named objects, whose key the caller knows to be absent: it is not looked for, and a map that has
 * forgotten stays so, if `next` will give the object. False on allocation failure. */
bool bir_map_put_new(struct bir_map *map, struct bir_arena *arena, const void *key, void *value) BIR_MUST_CHECK;
/* Room for so many more named objects at once; false on failure. */
bool bir_map_expect(struct bir_map *map, struct bir_arena *arena, uint32_t more) BIR_MUST_CHECK;

/* Removes when present. */
void bir_map_remove(struct bir_map *map, const void *key);

#endif
