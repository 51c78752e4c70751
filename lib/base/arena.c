/*
 * Chunks form a list, newest first, and are cut into pages of 16 KiB, aligned to their size; the last page of a chunk
 * may be shorter. Allocation bumps `next` towards `end` in the open page, then opens the next one. A block that would
 * take more than a quarter of a page gets a chunk of its own, linked behind the newest, so that the rest of the open
 * page is not wasted. No byte is handed out twice; a page is zeroed bit by bit, as it is used, so what is never used of
 * a chunk is never touched.
 *
 * Each page begins with a header that names the arena and the page's number, and `pages` leads from numbers to pages:
 * that is how a reference of four bytes is followed. A chunk of a single block is one page, however long: the block
 * starts in its first 16 KiB, and only starts of blocks are referred to.
 *
 * Chunks grow with the arena: half of what is reserved so far, up to 64 KiB, then a huge page each. A small module
 * wastes little; a large one gives back what it leaves unused of its last chunk (bir_arena_trim). Near the limit a
 * chunk shrinks to what the limit still admits. Sizes leave room for the allocator's own header, so that aligned chunks
 * can follow each other closely; huge pages come from the system and have none.
 *
 * Invariants: next, end and page_end are 8-aligned; next <= end <= page_end; what lies between next and end is zero;
 * reserved_bytes is the sum of the chunk sizes and never above limit_bytes. Under AddressSanitizer the free part of a
 * page is poisoned and blocks keep a red zone between them.
 */
#define _POSIX_C_SOURCE 200112L /* posix_memalign: aligned_alloc wants sizes that are multiples */

#include "base/arena.h"
#include "base/pages.h"

#include <assert.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) && !defined(__SANITIZE_ADDRESS__)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#define RED_ZONE_BYTES        ((size_t)8)
#define SLAB_BYTES            ((size_t)0) /* nothing is packed: red zones need whole words */
#define MAPS                  false       /* LeakSanitizer does not look for pointers in mapped memory */
#define POISON(start, size)   ASAN_POISON_MEMORY_REGION((start), (size))
#define UNPOISON(start, size) ASAN_UNPOISON_MEMORY_REGION((start), (size))
#else
#define RED_ZONE_BYTES        ((size_t)0)
#define SLAB_BYTES            ((size_t)512)
#define MAPS                  true
#define POISON(start, size)   ((void)(start), (void)(size))
#define UNPOISON(start, size) ((void)(start), (void)(size))
#endif

#define ALIGNMENT       ((size_t)8)
#define PAGE_BYTES      ((size_t)BIR_ARENA_PAGE_BYTES)
#define MALLOC_BYTES    ((size_t)64) /* an allocator's header and more */
#define CHUNK_MIN_BYTES ((size_t)4096)
#define CHUNK_MAX_BYTES ((size_t)64 << 10)
#define HUGE_FROM_BYTES ((size_t)1 << 20) /* an arena of this size grows by huge pages */
#define READY_BYTES     ((size_t)1024)    /* zeroed at a time */
#define OWN_CHUNK_BYTES (PAGE_BYTES / 4)  /* larger blocks have a chunk of their own */
#define PAGES_MAX       (UINT32_C(1) << (32 - BIR_REF_OFFSET_BITS))

struct bir_arena_chunk {
    struct bir_arena_page page; /* the first one */
    struct bir_arena_chunk *next;
    size_t size_bytes; /* with this header */
    bool is_own;       /* holds one block */
    bool is_mapped;    /* from base/pages.h, and zero where no page was opened */
};

#define HEADER_BYTES      sizeof(struct bir_arena_chunk)
#define PAGE_HEADER_BYTES sizeof(struct bir_arena_page)

static_assert(sizeof(struct bir_arena_chunk) % 8 == 0, "blocks start aligned");
static_assert(sizeof(struct bir_arena_page) % 8 == 0, "blocks start aligned");
static_assert(alignof(struct bir_arena_chunk) <= 8, "blocks start aligned");
static_assert(BIR_ARENA_PAGE_BYTES == (uintptr_t)BIR_REF_UNIT_BYTES << BIR_REF_OFFSET_BITS,
              "a page's blocks fit a reference");

void bir_arena_init(struct bir_arena *arena, size_t limit_bytes)
{
    memset(arena, 0, sizeof(*arena));
    arena->limit_bytes = limit_bytes;
}

void bir_arena_init_scratch(struct bir_arena *arena, size_t limit_bytes)
{
    bir_arena_init(arena, limit_bytes);
    arena->is_scratch = true;
}

static void chunk_free(struct bir_arena_chunk *chunk)
{
    UNPOISON(chunk, chunk->size_bytes);
    if (chunk->is_mapped)
        bir_pages_unmap(chunk, chunk->size_bytes);
    else
        free(chunk);
}

void bir_arena_deinit(struct bir_arena *arena)
{
    struct bir_arena_chunk *chunk = arena->chunks;
    while (chunk) {
        struct bir_arena_chunk *next = chunk->next;
        chunk_free(chunk);
        chunk = next;
    }
    free(arena->pages);
    bool is_scratch = arena->is_scratch;
    bir_arena_init(arena, arena->limit_bytes);
    arena->is_scratch = is_scratch;
}

/* Bytes that a block of `size` occupies, or 0 when the sum overflows. */
static size_t block_bytes(size_t size)
{
    if (size > SIZE_MAX / 2)
        return 0;
    if (size == 0)
        size = 1;
    return ((size + ALIGNMENT - 1) & ~(ALIGNMENT - 1)) + RED_ZONE_BYTES;
}

/* Pages */

/* Room for one more page; false on failure. */
static bool reserve_page(struct bir_arena *arena)
{
    if (arena->page_count < arena->page_capacity)
        return true;
    if (arena->page_count >= PAGES_MAX) {
        arena->failure = BIR_LIMIT;
        return false;
    }
    uint32_t capacity = arena->page_capacity ? 2 * arena->page_capacity : 4;
    char **pages = realloc(arena->pages, capacity * sizeof(*pages));
    if (!pages) {
        arena->failure = BIR_NOMEM;
        return false;
    }
    arena->pages = pages;
    arena->page_capacity = capacity;
    return true;
}

static void number_page(struct bir_arena *arena, char *start)
{
    struct bir_arena_page *page = (struct bir_arena_page *)(void *)start;
    page->arena = arena;
    page->number = arena->page_count;
    arena->pages[arena->page_count++] = start;
}

/* Makes the next page of the newest chunk the open one. */
static bool open_page(struct bir_arena *arena)
{
    if (!reserve_page(arena))
        return false;
    char *start = arena->unopened;
    size_t left = (size_t)(arena->chunk_end - start);
    size_t size = left < PAGE_BYTES ? left : PAGE_BYTES;
    bool is_first = start == (char *)arena->chunks;
    size_t header = is_first ? HEADER_BYTES : PAGE_HEADER_BYTES;
    number_page(arena, start);
    arena->next = arena->end = start + header;
    arena->page_end = arena->unopened = start + size;
    if (arena->chunks->is_mapped)
        arena->end = arena->page_end;
    POISON(arena->next, size - header);
    return true;
}

/* Makes a block of so many bytes at `start` fit the ready part of the open page, when the page has the room. */
static bool make_ready(struct bir_arena *arena, const char *start, size_t occupied)
{
    if ((size_t)(arena->page_end - start) < occupied)
        return false;
    size_t ready = (size_t)(arena->end - start), left = (size_t)(arena->page_end - arena->end);
    size_t more = occupied > ready ? occupied - ready : 0;
    if (more > 0 && more < READY_BYTES)
        more = left < READY_BYTES ? left : READY_BYTES;
    UNPOISON(arena->end, more);
    memset(arena->end, 0, more);
    POISON(arena->end, more);
    arena->end += more;
    return true;
}

/* Chunks */

static size_t preferred_chunk_bytes(const struct bir_arena *arena)
{
    if (MAPS && arena->reserved_bytes >= HUGE_FROM_BYTES)
        return BIR_HUGE_BYTES;
    size_t half = arena->reserved_bytes / 2;
    size_t bytes = half < CHUNK_MIN_BYTES ? CHUNK_MIN_BYTES : half;
    if (bytes > CHUNK_MAX_BYTES)
        bytes = CHUNK_MAX_BYTES;
    if (bytes > PAGE_BYTES)
        bytes &= ~(PAGE_BYTES - 1);
    return (bytes - MALLOC_BYTES) & ~(ALIGNMENT - 1);
}

/* A chunk of `wanted` bytes, or less near the limit, but never below `needed`. Not linked yet. */
static struct bir_arena_chunk *chunk_new(struct bir_arena *arena, size_t wanted, size_t needed)
{
    if (arena->limit_bytes) {
        size_t left = (arena->limit_bytes - arena->reserved_bytes) & ~(ALIGNMENT - 1);
        if (needed > left) {
            arena->failure = BIR_LIMIT;
            return NULL;
        }
        if (wanted > left)
            wanted = left;
    }
    void *memory = wanted >= BIR_HUGE_BYTES && MAPS ? bir_pages_map(wanted) : NULL;
    bool is_mapped = memory;
    if (!memory && posix_memalign(&memory, PAGE_BYTES, wanted) != 0) {
        arena->failure = BIR_NOMEM;
        return NULL;
    }
    struct bir_arena_chunk *chunk = memory;
    *chunk = (struct bir_arena_chunk){ .size_bytes = wanted, .is_mapped = is_mapped };
    arena->reserved_bytes += wanted;
    return chunk;
}

static char *alloc_own_chunk(struct bir_arena *arena, size_t occupied)
{
    size_t needed = occupied + HEADER_BYTES, wanted = needed;
    if (arena->is_scratch && needed > BIR_HUGE_BYTES / 2)
        wanted = (needed + BIR_HUGE_BYTES - 1) & ~(BIR_HUGE_BYTES - 1);
    struct bir_arena_chunk *chunk = reserve_page(arena) ? chunk_new(arena, wanted, needed) : NULL;
    if (!chunk)
        return NULL;
    chunk->is_own = true;
    char *block = (char *)chunk + HEADER_BYTES;
    if (!chunk->is_mapped)
        memset(block, 0, occupied);
    number_page(arena, (char *)chunk);
    POISON(block, occupied);
    /* behind the newest, whose pages are still in use; or as the first, with no page to open */
    struct bir_arena_chunk **link = arena->chunks ? &arena->chunks->next : &arena->chunks;
    chunk->next = *link;
    *link = chunk;
    return block;
}

static bool add_chunk(struct bir_arena *arena, size_t wanted, size_t occupied)
{
    struct bir_arena_chunk *chunk = chunk_new(arena, wanted, occupied + HEADER_BYTES);
    if (!chunk)
        return false;
    chunk->next = arena->chunks;
    arena->chunks = chunk;
    arena->unopened = (char *)chunk;
    arena->chunk_end = (char *)chunk + chunk->size_bytes;
    return true;
}

static char *take(struct bir_arena *arena, size_t occupied)
{
    char *block = arena->next;
    arena->next += occupied;
    arena->last = block;
    return block;
}

/* Pages of the newest chunk, which is made when there is no room, for one block: many faults cheaper than a chunk. */
static char *alloc_pages(struct bir_arena *arena, size_t occupied)
{
    size_t size = (occupied + HEADER_BYTES + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
    if (!reserve_page(arena))
        return NULL;
    if ((size_t)(arena->chunk_end - arena->unopened) < size && !add_chunk(arena, BIR_HUGE_BYTES, size))
        return NULL;
    char *start = arena->unopened;
    char *block = start + (start == (char *)arena->chunks ? HEADER_BYTES : PAGE_HEADER_BYTES);
    if (!arena->chunks->is_mapped)
        memset(block, 0, occupied);
    number_page(arena, start);
    arena->unopened = start + size;
    POISON(block, occupied);
    return block;
}

static char *alloc_from_new_page(struct bir_arena *arena, size_t occupied)
{
    if (make_ready(arena, arena->next, occupied))
        return take(arena, occupied);
    size_t preferred = preferred_chunk_bytes(arena);
    size_t page = preferred < PAGE_BYTES ? preferred : PAGE_BYTES;
    bool is_large = arena->chunks ? occupied > OWN_CHUNK_BYTES : occupied + HEADER_BYTES > page / 4;
    if (is_large || occupied + HEADER_BYTES > page) {
        bool shares = arena->is_scratch && preferred == BIR_HUGE_BYTES && occupied < BIR_HUGE_BYTES / 2;
        return shares ? alloc_pages(arena, occupied) : alloc_own_chunk(arena, occupied);
    }
    while (!make_ready(arena, arena->next, occupied)) {
        if (arena->unopened == arena->chunk_end && !add_chunk(arena, preferred, occupied))
            return NULL;
        if (!open_page(arena))
            return NULL;
    }
    return take(arena, occupied);
}

/* Blocks */

/* Apart, so that the ordinary case below needs no frame. */
static __attribute__((noinline)) void *alloc_slowly(struct bir_arena *arena, enum bir_memory category, size_t size)
{
    size_t occupied = block_bytes(size);
    if (occupied == 0) {
        arena->failure = BIR_LIMIT;
        return NULL;
    }
    char *block = alloc_from_new_page(arena, occupied);
    if (!block)
        return NULL;
    UNPOISON(block, size);
    arena->used_bytes[category] += occupied;
    return block;
}

void *bir_arena_alloc(struct bir_arena *arena, enum bir_memory category, size_t size)
{
    size_t occupied = block_bytes(size);
    char *block = arena->next;
    if (occupied == 0 || (size_t)(arena->end - block) < occupied)
        return alloc_slowly(arena, category, size);
    arena->next = block + occupied;
    arena->last = block;
    UNPOISON(block, size);
    arena->used_bytes[category] += occupied;
    return block;
}

void *bir_arena_alloc_array(struct bir_arena *arena, enum bir_memory category, size_t count, size_t size)
{
    size_t total;
    if (__builtin_mul_overflow(count, size, &total)) {
        arena->failure = BIR_LIMIT;
        return NULL;
    }
    return bir_arena_alloc(arena, category, total);
}

void *bir_arena_grow(struct bir_arena *arena, enum bir_memory category, void *old, size_t old_size, size_t new_size)
{
    if (old && new_size <= old_size)
        return old;
    size_t occupied = block_bytes(new_size);
    if (old && old == arena->last && occupied != 0 && make_ready(arena, arena->last, occupied)) {
        arena->used_bytes[category] += occupied - (size_t)(arena->next - arena->last);
        arena->next = arena->last + occupied;
        UNPOISON(old, new_size);
        return old;
    }
    void *block = bir_arena_alloc(arena, category, new_size);
    if (block && old_size > 0)
        memcpy(block, old, old_size);
    return block;
}

void *bir_arena_alloc_packed(struct bir_arena *arena, enum bir_memory category, size_t size)
{
    size_t occupied = (size + BIR_REF_UNIT_BYTES - 1) & ~(size_t)(BIR_REF_UNIT_BYTES - 1);
    if (size == 0 || size > SLAB_BYTES / 4)
        return bir_arena_alloc(arena, category, size);
    if ((size_t)(arena->packed_end - arena->packed_next) < occupied) {
        char *slab = bir_arena_alloc(arena, category, SLAB_BYTES);
        if (!slab)
            return NULL;
        arena->packed_next = slab;
        arena->packed_end = slab + SLAB_BYTES;
    }
    char *block = arena->packed_next;
    arena->packed_next += occupied;
    return block;
}

void bir_arena_trim(struct bir_arena *arena)
{
    struct bir_arena_chunk *chunk = arena->chunks;
    if (!chunk || !chunk->is_mapped || chunk->is_own || arena->unopened == arena->chunk_end)
        return;
    size_t kept = bir_pages_unmap_tail(chunk, chunk->size_bytes, (size_t)(arena->unopened - (char *)chunk));
    arena->reserved_bytes -= chunk->size_bytes - kept;
    chunk->size_bytes = kept;
    arena->chunk_end = arena->unopened;
}

void bir_arena_release(struct bir_arena *arena, enum bir_memory category, void *block, size_t size)
{
    if (!block || ((uintptr_t)block & (PAGE_BYTES - 1)) != HEADER_BYTES)
        return;
    struct bir_arena_chunk **link = &arena->chunks;
    while (*link && (char *)*link != (char *)block - HEADER_BYTES)
        link = &(*link)->next;
    struct bir_arena_chunk *chunk = *link;
    if (!chunk || !chunk->is_own)
        return;
    *link = chunk->next;
    arena->pages[chunk->page.number] = NULL;
    arena->reserved_bytes -= chunk->size_bytes;
    arena->used_bytes[category] -= block_bytes(size);
    chunk_free(chunk);
}

char *bir_arena_strndup(struct bir_arena *arena, const char *text, size_t len)
{
    if (len == SIZE_MAX) {
        arena->failure = BIR_LIMIT;
        return NULL;
    }
    char *copy = bir_arena_alloc(arena, BIR_MEM_STRINGS, len + 1);
    if (copy && len > 0)
        memcpy(copy, text, len);
    return copy;
}

char *bir_arena_vprintf(struct bir_arena *arena, const char *fmt, va_list args)
{
    char small[256];
    va_list again;
    va_copy(again, args);
    int len = vsnprintf(small, sizeof(small), fmt, args);
    char *text = NULL;
    if (len < 0) {
        arena->failure = BIR_NOMEM;
    } else if ((size_t)len < sizeof(small)) {
        text = bir_arena_strndup(arena, small, (size_t)len);
    } else {
        text = bir_arena_alloc(arena, BIR_MEM_STRINGS, (size_t)len + 1);
        if (text)
            (void)vsnprintf(text, (size_t)len + 1, fmt, again);
    }
    va_end(again);
    return text;
}

char *bir_arena_printf(struct bir_arena *arena, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    char *text = bir_arena_vprintf(arena, fmt, args);
    va_end(args);
    return text;
}

size_t bir_arena_used(const struct bir_arena *arena)
{
    size_t sum = 0;
    for (int i = 0; i < BIR_MEM_COUNT; i++)
        sum += arena->used_bytes[i];
    return sum;
}
