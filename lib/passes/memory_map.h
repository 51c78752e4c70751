/* Which bytes of an on-chip memory are taken at one moment of a sweep: one bit for 32 bytes of 32 partitions. */
#ifndef BIR_PASSES_MEMORY_MAP_H
#define BIR_PASSES_MEMORY_MAP_H

#include "base/arena.h"

/* Alignment and unit of placement, choice: the largest element is 8 bytes, DMA bursts and engine reads like 32. */
enum { MEMORY_GRANULE_BYTES = 32 };
/* Operands start at partition 0, 32, 64 or 96 (descriptors.md 5, V13), so partitions are handed out in these four
 * groups. */
enum { MEMORY_QUADRANTS = 4, MEMORY_QUADRANT_PARTITIONS = 32 };

struct memory_map {
    uint32_t granules; /* of a partition */
    uint32_t words;    /* 64-bit words of a quadrant's bits */
    uint64_t *taken[MEMORY_QUADRANTS];
    uint32_t *users[MEMORY_QUADRANTS]; /* how often each granule is taken: places of the input may overlap */
};

/* A part of the memory: quadrants as a bit set, granules [first, first + count) of each of their partitions. */
struct memory_block {
    unsigned quadrants;
    uint32_t first, count;
};

/* False when out of memory. */
bool memory_map_init(struct memory_map *map, struct bir_arena *arena, uint64_t partition_bytes);
/* Parts beyond the memory's end are ignored. */
void memory_map_take(struct memory_map *map, struct memory_block block);
void memory_map_release(struct memory_map *map, struct memory_block block);

/* Where `count` granules are free in all of `quadrants`, within [from, to): the lowest place, or with best_fit the
 * lowest of the smallest free runs that hold them. -1 when there is none. `also` are bits that count as taken too,
 * [quadrant][word], or NULL. *largest, when not NULL, becomes the longest free run met (all of them when the answer is
 * -1). */
int64_t memory_map_find(const struct memory_map *map, const uint64_t *const *also, unsigned quadrants, uint32_t from,
                        uint32_t to, uint32_t count, bool best_fit, uint32_t *largest);

/* Quadrants that `partitions` (at least 1) partitions from `base` on touch. */
unsigned memory_quadrants(uint32_t base, uint32_t partitions);

#endif
