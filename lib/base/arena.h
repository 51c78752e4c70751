/*
 * Chunked arena: everything one module (or one request) owns, freed whole.
 *
 * Every byte handed out is charged to a category, and the sum of reserved chunk bytes never exceeds the limit. Memory
 * is zeroed and aligned to 8 bytes (no object of the model needs more). There is no free, but for large blocks that
 * have been replaced (bir_arena_release); bir_arena_grow extends the newest allocation in place when it can.
 *
 * References: an object of an arena can be named by a bir_ref, half the size of a pointer. Following one needs the
 * arena (bir_arena_at) or any other object of it (bir_ref_at). An arena whose objects refer to each other must stay
 * where it is.
 */
#ifndef BIR_BASE_ARENA_H
#define BIR_BASE_ARENA_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum bir_memory {
    BIR_MEM_OTHER,
    BIR_MEM_STRINGS,
    BIR_MEM_STORAGES,
    BIR_MEM_INSTRUCTIONS,
    BIR_MEM_ARGUMENTS,
    BIR_MEM_EXPRESSIONS,
    BIR_MEM_PROPERTIES,
    BIR_MEM_TABLES, /* hash tables and vectors */
    BIR_MEM_COUNT
};

struct bir_arena_chunk;

struct bir_arena {
    struct bir_arena_chunk *chunks; /* newest first */
    char *next;                     /* first free byte of the open page */
    char *end;                      /* of what is ready in the open page */
    char *page_end;
    char *last;                     /* start of the newest allocation, for bir_arena_grow */
    char *unopened, *chunk_end;     /* pages of the newest chunk that are still to come */
    char *packed_next, *packed_end; /* slab of bir_arena_alloc_packed */
    char **pages;                   /* by number: their first bytes */
    uint32_t page_count, page_capacity;
    size_t limit_bytes;
    size_t reserved_bytes;
    size_t used_bytes[BIR_MEM_COUNT];
    bool is_scratch;
    enum bir_status failure; /* BIR_OK, or why the most recent failed allocation failed */
};

/* limit_bytes bounds the reserved bytes; 0 means no bound. Allocates nothing. */
void bir_arena_init(struct bir_arena *arena, size_t limit_bytes);

/* The same for what lives as long as one step of the work: it may waste memory to be quick, and gives no block back
 * before the end. */
void bir_arena_init_scratch(struct bir_arena *arena, size_t limit_bytes);

/* Frees every chunk. Accepts a zeroed arena; leaves it reusable with the same limit. */
void bir_arena_deinit(struct bir_arena *arena);

/* Zeroed memory of `size` bytes (0 gives a valid unique-enough pointer), or NULL with arena->failure set to BIR_LIMIT
 * or BIR_NOMEM. */
void *bir_arena_alloc(struct bir_arena *arena, enum bir_memory category, size_t size) BIR_MUST_CHECK;

/* The same, aligned to 4 bytes only: for texts, which lie close together. */
void *bir_arena_alloc_packed(struct bir_arena *arena, enum bir_memory category, size_t size) BIR_MUST_CHECK;

/* count * size bytes; an overflowing product fails like a limit. */
void *bir_arena_alloc_array(struct bir_arena *arena, enum bir_memory category, size_t count,
                            size_t size) BIR_MUST_CHECK;

/* A block of new_size bytes that starts with the old_size bytes at old (NULL with old_size 0 is fine). The rest is
 * zero. In place when old is the newest allocation and its chunk has room. */
void *bir_arena_grow(struct bir_arena *arena, enum bir_memory category, void *old, size_t old_size,
                     size_t new_size) BIR_MUST_CHECK;

/* Gives a block back that nothing points to any more. Only a block with a chunk of its own (of more than a quarter of a
 * page, of an arena that is not scratch) is freed; a smaller one stays until the end. Accepts NULL. */
void bir_arena_release(struct bir_arena *arena, enum bir_memory category, void *block, size_t size);

/* Gives back what is unused of a large arena that will not grow for now. It may grow again. */
void bir_arena_trim(struct bir_arena *arena);

/* NUL-terminated copies, charged to BIR_MEM_STRINGS; NULL on failure. */
char *bir_arena_strndup(struct bir_arena *arena, const char *text, size_t len) BIR_MUST_CHECK;
char *bir_arena_printf(struct bir_arena *arena, const char *fmt, ...) BIR_PRINTF(2, 3) BIR_MUST_CHECK;
char *bir_arena_vprintf(struct bir_arena *arena, const char *fmt, va_list args) BIR_PRINTF(2, 0) BIR_MUST_CHECK;

/* Bytes handed out, all categories. */
size_t bir_arena_used(const struct bir_arena *arena);

/* Status to return after an allocation from this arena gave NULL. */
static inline enum bir_status bir_arena_failure(const struct bir_arena *arena)
{
    return arena->failure == BIR_OK ? BIR_NOMEM : arena->failure;
}

/* --- references --- */

typedef uint32_t bir_ref; /* 0 = none */

/* Chunks are cut into pages, aligned to their size. A page begins with its header, so an address leads to it. */
#define BIR_ARENA_PAGE_BYTES ((uintptr_t)16384)
#define BIR_REF_UNIT_BYTES   4u  /* least alignment of a block */
#define BIR_REF_OFFSET_BITS  12u /* units in a page */

struct bir_arena_page {
    struct bir_arena *arena;
    uint32_t number;
};

static inline const struct bir_arena_page *bir_arena_page_of(const void *object)
{
    return (const struct bir_arena_page *)((uintptr_t)object & ~(BIR_ARENA_PAGE_BYTES - 1));
}

/* The start of an allocated block (not an element inside it), or NULL. */
static inline bir_ref bir_ref_of(const void *block)
{
    if (!block)
        return 0;
    uint32_t offset = (uint32_t)((uintptr_t)block & (BIR_ARENA_PAGE_BYTES - 1));
    return bir_arena_page_of(block)->number << BIR_REF_OFFSET_BITS | offset / BIR_REF_UNIT_BYTES;
}

/* What the reference names, NULL for 0. */
static inline void *bir_arena_at(const struct bir_arena *arena, bir_ref ref)
{
    const bir_ref offset_mask = (1u << BIR_REF_OFFSET_BITS) - 1;
    return ref ? arena->pages[ref >> BIR_REF_OFFSET_BITS] + (size_t)(ref & offset_mask) * BIR_REF_UNIT_BYTES : NULL;
}

/* The same, by the start of any block of the same arena. */
static inline void *bir_ref_at(const void *block, bir_ref ref)
{
    return bir_arena_at(bir_arena_page_of(block)->arena, ref);
}

#define BIR_NEW(arena, category, type) ((type *)bir_arena_alloc((arena), (category), sizeof(type)))

#endif
