/*
 * A set of strings by their bytes (base/ref_table.h). Strings lie close together and keep no hash: a probe compares
 * length and bytes, which for names costs no more than comparing hashes first.
 *
 * Strings that are known to be new wait in a list until somebody looks for one: a pass makes a hundred thousand names
 * at a time that nobody asks for again, and a place in a table that no cache holds costs more than the string.
 *
 * The hash is seeded with the addresses of the table and its arena, which differ from run to run, so that a hostile
 * input cannot come with names that collide. Nothing iterates over the table: no output depends on the seed.
 */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/str.h"

#include <stdio.h>

#define PENDING_FIRST 64u

void bir_strtab_init(struct bir_strtab *table, struct bir_arena *arena)
{
    *table = (struct bir_strtab){ .arena = arena };
    table->seed = (uint64_t)(uintptr_t)table * UINT64_C(0x9E3779B97F4A7C15) ^ (uint64_t)(uintptr_t)arena;
}

static uint32_t hash_bytes(const struct bir_strtab *table, const char *text, size_t len)
{
    return (uint32_t)XXH3_64bits_withSeed(text, len, table->seed);
}

static uint32_t hash_string(const void *user, bir_ref object)
{
    const struct bir_strtab *strings = user;
    const struct bir_str *s = bir_arena_at(strings->arena, object);
    return hash_bytes(strings, s->text, s->len);
}

/* The slot of the string, or the free slot where it belongs. The table is not empty. */
static bir_ref *probe(const struct bir_strtab *strings, const char *text, size_t len)
{
    const struct bir_ref_table *table = &strings->table;
    uint32_t i = bir_ref_table_first(table, hash_bytes(strings, text, len));
    for (; table->slots[i]; i = bir_ref_table_next(table, i)) {
        const struct bir_str *s = bir_arena_at(strings->arena, table->slots[i]);
        if (s->len == len && memcmp(s->text, text, len) == 0)
            break;
    }
    return &table->slots[i];
}

/* What could be entered does not wait any more, even when it fails. */
static bool enter_pending(struct bir_strtab *table)
{
    while (table->pending_count > 0) {
        bir_ref last = table->pending[table->pending_count - 1];
        if (!bir_ref_table_reserve(&table->table, table->arena, hash_string, table))
            return false;
        bir_ref_table_add(&table->table, hash_string(table, last), last);
        table->pending_count--;
    }
    return true;
}

static bool is_too_long(struct bir_strtab *table, size_t len)
{
    if (len <= UINT32_MAX - 16)
        return false;
    table->arena->failure = BIR_LIMIT;
    return true;
}

static struct bir_str *make(struct bir_strtab *table, const char *text, size_t len)
{
    struct bir_str *made = bir_arena_alloc_packed(table->arena, BIR_MEM_STRINGS, sizeof(*made) + len + 1);
    if (!made)
        return NULL;
    made->len = (uint32_t)len;
    memcpy(made->text, text, len);
    return made;
}

const struct bir_str *bir_intern(struct bir_strtab *table, const char *text, size_t len)
{
    if (is_too_long(table, len) || !enter_pending(table) ||
        !bir_ref_table_reserve(&table->table, table->arena, hash_string, table))
        return NULL;
    if (len == 0)
        text = "";
    bir_ref *slot = probe(table, text, len);
    if (*slot)
        return bir_arena_at(table->arena, *slot);
    struct bir_str *made = make(table, text, len);
    if (!made)
        return NULL;
    *slot = bir_ref_of(made);
    table->table.count++;
    return made;
}

const struct bir_str *bir_intern_new(struct bir_strtab *table, const char *text, size_t len)
{
    if (is_too_long(table, len))
        return NULL;
    bool room = table->pending_count < table->pending_capacity ||
                bir_strtab_expect_new(table, table->pending_capacity ? table->pending_capacity : PENDING_FIRST);
    struct bir_str *made = room ? make(table, text, len) : NULL;
    if (made)
        table->pending[table->pending_count++] = bir_ref_of(made);
    return made;
}

bool bir_strtab_expect_new(struct bir_strtab *table, uint32_t more)
{
    uint32_t capacity;
    if (__builtin_add_overflow(table->pending_count, more, &capacity)) {
        table->arena->failure = BIR_LIMIT;
        return false;
    }
    if (capacity <= table->pending_capacity)
        return true;
    bir_ref *pending = bir_arena_alloc_array(table->arena, BIR_MEM_TABLES, capacity, sizeof *pending);
    if (!pending)
        return false;
    if (table->pending_count > 0)
        memcpy(pending, table->pending, table->pending_count * sizeof *pending);
    bir_arena_release(table->arena, BIR_MEM_TABLES, table->pending, table->pending_capacity * sizeof *pending);
    table->pending = pending;
    table->pending_capacity = capacity;
    return true;
}

bool bir_strtab_any(const struct bir_strtab *table, bool (*holds)(const struct bir_str *s, void *user), void *user)
{
    for (uint32_t i = 0; i < table->table.capacity; i++) {
        const struct bir_str *s = bir_arena_at(table->arena, table->table.slots[i]);
        if (s && holds(s, user))
            return true;
    }
    for (uint32_t i = 0; i < table->pending_count; i++) {
        if (holds(bir_arena_at(table->arena, table->pending[i]), user))
            return true;
    }
    return false;
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

/* When there is no memory to enter them. */
static const struct bir_str *search_pending(const struct bir_strtab *table, const char *text, size_t len)
{
    for (uint32_t i = 0; i < table->pending_count; i++) {
        const struct bir_str *s = bir_arena_at(table->arena, table->pending[i]);
        if (s->len == len && memcmp(s->text, text, len) == 0)
            return s;
    }
    return NULL;
}

const struct bir_str *bir_intern_find(const struct bir_strtab *table, const char *text, size_t len)
{
    const struct bir_str *found = NULL;
    if (len == 0)
        text = "";
    /* const to the caller: what the table has stays the same */
    if (!enter_pending((struct bir_strtab *)(uintptr_t)table))
        found = search_pending(table, text, len);
    if (found || table->table.count == 0 || len > UINT32_MAX - 16)
        return found;
    return bir_arena_at(table->arena, *probe(table, text, len));
}

int bir_str_compare(const struct bir_str *a, const struct bir_str *b)
{
    uint32_t common = a->len < b->len ? a->len : b->len;
    int order = memcmp(a->text, b->text, common);
    if (order != 0)
        return order;
    return (a->len > b->len) - (a->len < b->len);
}
