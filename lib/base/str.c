/*
 * Open addressing with linear probing over a power-of-two table that is at most half full. A slot is a pointer; the
 * string carries its hash, so growth does not hash again and a probe compares bytes only when hash and length agree.
 *
 * The hash is seeded with the addresses of the table and its arena, which differ from run to run, so that a hostile
 * input cannot come with names that collide. Nothing iterates over the table: no output depends on the seed.
 */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/str.h"

#include <stdio.h>

#define FIRST_CAPACITY 64u

void bir_strtab_init(struct bir_strtab *table, struct bir_arena *arena)
{
    *table = (struct bir_strtab){ .arena = arena };
    table->seed = (uint64_t)(uintptr_t)table * UINT64_C(0x9E3779B97F4A7C15) ^ (uint64_t)(uintptr_t)arena;
}

static uint32_t hash_bytes(const struct bir_strtab *table, const char *text, size_t len)
{
    return (uint32_t)XXH3_64bits_withSeed(text, len, table->seed);
}

/* The slot of the string, or the free slot where it belongs. The table is not empty. */
static const struct bir_str **probe(const struct bir_strtab *table, const char *text, size_t len, uint32_t hash)
{
    uint32_t mask = table->capacity - 1;
    for (uint32_t i = hash & mask;; i = (i + 1) & mask) {
        const struct bir_str *s = table->slots[i];
        if (!s || (s->hash == hash && s->len == len && memcmp(s->text, text, len) == 0))
            return &table->slots[i];
    }
}

static bool grow(struct bir_strtab *table)
{
    uint32_t capacity = table->capacity ? table->capacity : FIRST_CAPACITY / 2;
    if (__builtin_mul_overflow(capacity, 2u, &capacity)) {
        table->arena->failure = BIR_LIMIT;
        return false;
    }
    const struct bir_str **slots = bir_arena_alloc_array(table->arena, BIR_MEM_TABLES, capacity, sizeof(*slots));
    if (!slots)
        return false;
    for (uint32_t i = 0; i < table->capacity; i++) {
        const struct bir_str *s = table->slots[i];
        if (!s)
            continue;
        uint32_t j = s->hash & (capacity - 1);
        while (slots[j])
            j = (j + 1) & (capacity - 1);
        slots[j] = s;
    }
    table->slots = slots;
    table->capacity = capacity;
    return true;
}

const struct bir_str *bir_intern(struct bir_strtab *table, const char *text, size_t len)
{
    if (len > UINT32_MAX - 16) {
        table->arena->failure = BIR_LIMIT;
        return NULL;
    }
    if (table->count >= table->capacity / 2 && !grow(table))
        return NULL;
    if (len == 0)
        text = "";
    uint32_t hash = hash_bytes(table, text, len);
    const struct bir_str **slot = probe(table, text, len, hash);
    if (*slot)
        return *slot;
    struct bir_str *made = bir_arena_alloc(table->arena, BIR_MEM_STRINGS, sizeof(*made) + len + 1);
    if (!made)
        return NULL;
    made->len = (uint32_t)len;
    made->hash = hash;
    memcpy(made->text, text, len);
    *slot = made;
    table->count++;
    return made;
}

const struct bir_str *bir_intern_cstr(struct bir_strtab *table, const char *text)
{
    return bir_intern(table, text, strlen(text));
}

const struct bir_str *bir_intern_printf(struct bir_strtab *table, const char *fmt, ...)
{
    char small[256];
    va_list args;
    va_start(args, fmt);
    int len = vsnprintf(small, sizeof(small), fmt, args);
    va_end(args);
    if (len >= 0 && (size_t)len < sizeof(small))
        return bir_intern(table, small, (size_t)len);
    va_start(args, fmt);
    char *text = bir_arena_vprintf(table->arena, fmt, args);
    va_end(args);
    return text ? bir_intern(table, text, (size_t)len) : NULL;
}

const struct bir_str *bir_intern_find(const struct bir_strtab *table, const char *text, size_t len)
{
    if (table->count == 0 || len > UINT32_MAX - 16)
        return NULL;
    if (len == 0)
        text = "";
    return *probe(table, text, len, hash_bytes(table, text, len));
}

int bir_str_compare(const struct bir_str *a, const struct bir_str *b)
{
    uint32_t common = a->len < b->len ? a->len : b->len;
    int order = memcmp(a->text, b->text, common);
    if (order != 0)
        return order;
    return (a->len > b->len) - (a->len < b->len);
}
