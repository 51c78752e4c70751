/*
 * Bits for the search, counts for overlaps.
 *
 * A search looks at most at 128 words a quadrant (256 KiB in granules of 32 bytes), whatever lives there, so placing a
 * location costs the same in the first and in the last of a million.
 */
#include "passes/memory_map.h"

bool memory_map_init(struct memory_map *map, struct bir_arena *arena, uint64_t partition_bytes)
{
    *map = (struct memory_map){ .granules = (uint32_t)(partition_bytes / MEMORY_GRANULE_BYTES) };
    map->words = (map->granules + 63) / 64;
    for (int q = 0; q < MEMORY_QUADRANTS; q++) {
        map->taken[q] = bir_arena_alloc_array(arena, BIR_MEM_TABLES, map->words, sizeof *map->taken[q]);
        map->users[q] = bir_arena_alloc_array(arena, BIR_MEM_TABLES, map->granules, sizeof *map->users[q]);
        if (!map->taken[q] || !map->users[q])
            return false;
    }
    return true;
}

unsigned memory_quadrants(uint32_t base, uint32_t partitions)
{
    unsigned set = 0;
    for (unsigned q = 0; q < MEMORY_QUADRANTS; q++) {
        uint64_t low = (uint64_t)q * MEMORY_QUADRANT_PARTITIONS, high = low + MEMORY_QUADRANT_PARTITIONS;
        if (base < high && (uint64_t)base + partitions > low)
            set |= 1u << q;
    }
    return set;
}

static uint32_t end_of(const struct memory_map *map, struct memory_block block)
{
    uint64_t end = (uint64_t)block.first + block.count;
    return end < map->granules ? (uint32_t)end : map->granules;
}

void memory_map_take(struct memory_map *map, struct memory_block block)
{
    uint32_t end = end_of(map, block);
    for (unsigned q = 0; q < MEMORY_QUADRANTS; q++)
        for (uint32_t g = block.first; block.quadrants >> q & 1 && g < end; g++)
            if (map->users[q][g]++ == 0)
                map->taken[q][g / 64] |= UINT64_C(1) << (g % 64);
}

void memory_map_release(struct memory_map *map, struct memory_block block)
{
    uint32_t end = end_of(map, block);
    for (unsigned q = 0; q < MEMORY_QUADRANTS; q++)
        for (uint32_t g = block.first; block.quadrants >> q & 1 && g < end; g++)
            if (--map->users[q][g] == 0)
                map->taken[q][g / 64] &= ~(UINT64_C(1) << (g % 64));
}

/* Word w of what is taken in any of the quadrants. */
static uint64_t taken_word(const struct memory_map *map, const uint64_t *const *also, unsigned quadrants, uint32_t w)
{
    uint64_t word = 0;
    for (unsigned q = 0; q < MEMORY_QUADRANTS; q++)
        if (quadrants >> q & 1)
            word |= map->taken[q][w] | (also ? also[q][w] : 0);
    return word;
}

/* First granule in [from, to) that is taken (or free, with `free_ones`); `to` when there is none. */
static uint32_t next_granule(const struct memory_map *map, const uint64_t *const *also, unsigned quadrants,
                             uint32_t from, uint32_t to, bool free_ones)
{
    while (from < to) {
        uint64_t word = taken_word(map, also, quadrants, from / 64);
        word = (free_ones ? ~word : word) >> (from % 64);
        if (word) {
            uint32_t found = from + (uint32_t)__builtin_ctzll(word);
            return found < to ? found : to;
        }
        from = (from / 64 + 1) * 64;
    }
    return to;
}

int64_t memory_map_find(const struct memory_map *map, const uint64_t *const *also, unsigned quadrants, uint32_t from,
                        uint32_t to, uint32_t count, bool best_fit, uint32_t *largest)
{
    int64_t best = -1;
    uint32_t best_length = UINT32_MAX, longest = 0;
    to = to < map->granules ? to : map->granules;
    for (uint32_t at = from; at < to;) {
        uint32_t start = next_granule(map, also, quadrants, at, to, true);
        uint32_t end = next_granule(map, also, quadrants, start, to, false);
        uint32_t length = end - start;
        longest = length > longest ? length : longest;
        if (length >= count && start < to && length < best_length) {
            best = start;
            best_length = length;
            if (!best_fit)
                break;
        }
        at = end > start ? end : to;
    }
    if (largest)
        *largest = longest;
    return best;
}
