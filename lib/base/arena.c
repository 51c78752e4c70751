/*
 * Chunks form a list, newest first; allocation bumps `next` towards `end` in the newest one. Chunks come from calloc,
 * and no byte is handed out twice, so memory is zero without a memset. A block that would take more than a quarter of a
 * chunk gets a chunk of its own, linked behind the newest, so that the rest of the newest is not wasted.
 *
 * Chunks grow with the arena: half of what is reserved so far, up to 256 KiB, then an eighth, up to 1 MiB. A small
 * module wastes little, a large one makes few calls and leaves at most an eighth unused. Near the limit a chunk shrinks
 * to what the limit still admits.
 *
 * Invariants: next and end are 8-aligned; next <= end; reserved_bytes is the sum of the chunk sizes and never above
 * limit_bytes. Under AddressSanitizer the free part of a chunk is poisoned and blocks keep a red zone between them.
 */
#include "base/arena.h"

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
#define POISON(start, size)   ASAN_POISON_MEMORY_REGION((start), (size))
#define UNPOISON(start, size) ASAN_UNPOISON_MEMORY_REGION((start), (size))
#else
#define RED_ZONE_BYTES        ((size_t)0)
#define POISON(start, size)   ((void)(start), (void)(size))
#define UNPOISON(start, size) ((void)(start), (void)(size))
#endif

#define ALIGNMENT        ((size_t)8)
#define CHUNK_MIN_BYTES  ((size_t)4096)
#define CHUNK_STEP_BYTES ((size_t)256 << 10)
#define CHUNK_MAX_BYTES  ((size_t)1 << 20)

struct bir_arena_chunk {
    struct bir_arena_chunk *next;
    size_t size_bytes; /* with this header */
};

#define HEADER_BYTES sizeof(struct bir_arena_chunk)

static_assert(sizeof(struct bir_arena_chunk) % 8 == 0, "blocks start aligned");
static_assert(alignof(struct bir_arena_chunk) <= 8, "blocks start aligned");

void bir_arena_init(struct bir_arena *arena, size_t limit_bytes)
{
    memset(arena, 0, sizeof(*arena));
    arena->limit_bytes = limit_bytes;
}

void bir_arena_deinit(struct bir_arena *arena)
{
    struct bir_arena_chunk *chunk = arena->chunks;
    while (chunk) {
        struct bir_arena_chunk *next = chunk->next;
        UNPOISON(chunk, chunk->size_bytes);
        free(chunk);
        chunk = next;
    }
    bir_arena_init(arena, arena->limit_bytes);
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

static size_t preferred_chunk_bytes(const struct bir_arena *arena)
{
    size_t half = arena->reserved_bytes / 2, eighth = arena->reserved_bytes / 8;
    size_t bytes = half < CHUNK_MIN_BYTES ? CHUNK_MIN_BYTES : half;
    if (bytes > CHUNK_STEP_BYTES)
        bytes = eighth < CHUNK_STEP_BYTES ? CHUNK_STEP_BYTES : eighth;
    if (bytes > CHUNK_MAX_BYTES)
        bytes = CHUNK_MAX_BYTES;
    return bytes & ~(ALIGNMENT - 1);
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
    struct bir_arena_chunk *chunk = calloc(1, wanted);
    if (!chunk) {
        arena->failure = BIR_NOMEM;
        return NULL;
    }
    chunk->size_bytes = wanted;
    arena->reserved_bytes += wanted;
    POISON((char *)chunk + HEADER_BYTES, wanted - HEADER_BYTES);
    return chunk;
}

static char *alloc_from_new_chunk(struct bir_arena *arena, size_t occupied)
{
    size_t preferred = preferred_chunk_bytes(arena);
    size_t needed = occupied + HEADER_BYTES;
    bool own_chunk = needed > preferred / 4;
    struct bir_arena_chunk *chunk = chunk_new(arena, own_chunk ? needed : preferred, needed);
    if (!chunk)
        return NULL;
    char *block = (char *)chunk + HEADER_BYTES;
    if (own_chunk && arena->chunks) {
        chunk->next = arena->chunks->next;
        arena->chunks->next = chunk;
        return block;
    }
    chunk->next = arena->chunks;
    arena->chunks = chunk;
    arena->next = block + occupied;
    arena->end = (char *)chunk + chunk->size_bytes;
    arena->last = block;
    return block;
}

/* Apart, so that the ordinary case below needs no frame. */
static __attribute__((noinline)) void *alloc_slowly(struct bir_arena *arena, enum bir_memory category, size_t size)
{
    size_t occupied = block_bytes(size);
    if (occupied == 0) {
        arena->failure = BIR_LIMIT;
        return NULL;
    }
    char *block = alloc_from_new_chunk(arena, occupied);
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
    if (old && old == arena->last && occupied != 0 && occupied <= (size_t)(arena->end - arena->last)) {
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
