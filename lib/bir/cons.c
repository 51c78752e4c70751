/*
 * Hash-consing: equal lists are one object.
 *
 * The kinds of list begin alike (count, hash), so one kind of table (base/ref_table.h) serves each; a record that is
 * shared is a list of one item. Two lists are equal when their items are equal byte for byte. Items with padding are
 * normalised (padding zero, properties sorted by key) before anything looks at their bytes; floats compare by their
 * bits, which keeps -0.0 and 0.0 apart as the wire does.
 *
 * Hashes are seeded with an address, as in base/str.c: no input can aim at collisions, and nothing iterates.
 */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "bir/cons.h"

#include <stdlib.h>

struct list_head {
    uint32_t count;
    uint32_t hash;
};

struct bir_cons {
    struct bir_arena *arena;
    struct bir_ref_table patterns, ints, axes, props, instruction_rares, argument_rares;
};

/* What find_or_make needs to know of a list: its items' bytes stand behind the head. */
struct candidate {
    const void *items;
    size_t bytes;
    uint32_t count;
    enum bir_memory category;
};

_Static_assert(offsetof(struct bir_pattern, pairs) == sizeof(struct list_head), "items follow the head");
_Static_assert(offsetof(struct bir_ints, items) == sizeof(struct list_head), "items follow the head");
_Static_assert(offsetof(struct bir_axes, items) == sizeof(struct list_head), "items follow the head");
_Static_assert(offsetof(struct bir_props, items) == sizeof(struct list_head), "items follow the head");

#define INSERTION_SORT_COUNT 16u /* beyond it qsort */

struct bir_cons *bir_cons_new(struct bir_arena *arena)
{
    struct bir_cons *cons = BIR_NEW(arena, BIR_MEM_TABLES, struct bir_cons);
    if (cons)
        cons->arena = arena;
    return cons;
}

static uint32_t hash_of(const void *user, bir_ref object)
{
    const struct bir_cons *cons = user;
    return ((const struct list_head *)bir_arena_at(cons->arena, object))->hash;
}

static bool is_candidate(const struct list_head *list, const struct candidate *c, uint32_t hash)
{
    if (list->hash != hash || list->count != c->count)
        return false;
    return c->bytes == 0 || memcmp(list + 1, c->items, c->bytes) == 0;
}

static const void *find_or_make(struct bir_cons *cons, struct bir_ref_table *table, const struct candidate *c)
{
    if (!bir_ref_table_reserve(table, cons->arena, hash_of, cons))
        return NULL;
    uint32_t hash = (uint32_t)XXH3_64bits_withSeed(c->items, c->bytes, (uint64_t)(uintptr_t)cons);
    uint32_t i = bir_ref_table_first(table, hash);
    for (; table->slots[i]; i = bir_ref_table_next(table, i)) {
        const struct list_head *list = bir_arena_at(cons->arena, table->slots[i]);
        if (is_candidate(list, c, hash))
            return list;
    }
    struct list_head *made = bir_arena_alloc(cons->arena, c->category, sizeof(*made) + c->bytes);
    if (!made)
        return NULL;
    made->count = c->count;
    made->hash = hash;
    if (c->bytes > 0)
        memcpy(made + 1, c->items, c->bytes);
    table->slots[i] = bir_ref_of(made);
    table->count++;
    return made;
}

/* A list of count items, or NULL with the arena's failure set when the byte count overflows. */
static const void *get_list(struct bir_cons *cons, struct bir_ref_table *table, const void *items, uint32_t count,
                            size_t item_bytes, enum bir_memory category)
{
    struct candidate c = { .items = count > 0 ? items : "", .count = count, .category = category };
    if (__builtin_mul_overflow((size_t)count, item_bytes, &c.bytes)) {
        cons->arena->failure = BIR_LIMIT;
        return NULL;
    }
    return find_or_make(cons, table, &c);
}

const struct bir_pattern *bir_pattern_get(struct bir_module *module, const struct bir_pair *pairs, uint32_t rank)
{
    return get_list(module->cons, &module->cons->patterns, pairs, rank, sizeof(*pairs), BIR_MEM_PROPERTIES);
}

const struct bir_ints *bir_ints_get(struct bir_module *module, const int64_t *items, uint32_t count)
{
    return get_list(module->cons, &module->cons->ints, items, count, sizeof(*items), BIR_MEM_PROPERTIES);
}

const struct bir_axes *bir_axes_get(struct bir_module *module, struct pelican_axis *const *items, uint32_t count)
{
    return get_list(module->cons, &module->cons->axes, items, count, sizeof(*items), BIR_MEM_INSTRUCTIONS);
}

const struct bir_instruction_rare *bir_instruction_rare_get(struct bir_module *module,
                                                            const struct bir_instruction_rare *rare)
{
    struct bir_instruction_rare clean;
    memset(&clean, 0, sizeof(clean));
    clean.debug = rare->debug;
    clean.loopnest = rare->loopnest;
    clean.scheduled_start = rare->scheduled_start;
    clean.scheduled_end = rare->scheduled_end;
    clean.engine_id = rare->engine_id;
    clean.shared = true;
    const struct list_head *list =
        get_list(module->cons, &module->cons->instruction_rares, &clean, 1, sizeof(clean), BIR_MEM_INSTRUCTIONS);
    return list ? (const struct bir_instruction_rare *)(const void *)(list + 1) : NULL;
}

const struct bir_argument_rare *bir_argument_rare_get(struct bir_module *module, const struct bir_argument_rare *rare)
{
    struct bir_argument_rare clean;
    memset(&clean, 0, sizeof(clean));
    clean.access_shape = rare->access_shape;
    clean.props = rare->props;
    clean.num_tensor_indirect_indices = rare->num_tensor_indirect_indices;
    clean.shared = true;
    const struct list_head *list =
        get_list(module->cons, &module->cons->argument_rares, &clean, 1, sizeof(clean), BIR_MEM_ARGUMENTS);
    return list ? (const struct bir_argument_rare *)(const void *)(list + 1) : NULL;
}

/* The same property with every byte defined. */
static void normalise(struct bir_prop *item)
{
    struct bir_prop clean;
    memset(&clean, 0, sizeof(clean));
    clean.key = item->key;
    clean.type = item->type;
    switch (item->type) {
    case BIR_VALUE_BOOL: clean.u.b = item->u.b; break;
    case BIR_VALUE_INT: clean.u.i = item->u.i; break;
    case BIR_VALUE_FLOAT: clean.u.f = item->u.f; break;
    case BIR_VALUE_EXPR: clean.u.e = item->u.e; break;
    case BIR_VALUE_TEXT:
    case BIR_VALUE_JSON: clean.u.s = item->u.s; break;
    }
    memcpy(item, &clean, sizeof(clean));
}

static int compare_keys(const void *a, const void *b)
{
    const struct bir_prop *left = a, *right = b;
    return left->key == right->key ? 0 : bir_str_compare(left->key, right->key);
}

static void sort_items(struct bir_prop *items, uint32_t count)
{
    if (count > INSERTION_SORT_COUNT) {
        qsort(items, count, sizeof(*items), compare_keys);
        return;
    }
    for (uint32_t i = 1; i < count; i++) {
        struct bir_prop moving;
        memcpy(&moving, &items[i], sizeof(moving));
        uint32_t j = i;
        for (; j > 0 && compare_keys(&items[j - 1], &moving) > 0; j--)
            memcpy(&items[j], &items[j - 1], sizeof(moving));
        memcpy(&items[j], &moving, sizeof(moving));
    }
}

const struct bir_props *bir_props_get(struct bir_module *module, struct bir_prop *items, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        normalise(&items[i]);
    sort_items(items, count);
    return get_list(module->cons, &module->cons->props, items, count, sizeof(*items), BIR_MEM_PROPERTIES);
}

const struct bir_prop *bir_props_find(const struct bir_props *props, const char *key)
{
    if (!props)
        return NULL;
    for (uint32_t i = 0; i < props->count; i++)
        if (bir_str_is(props->items[i].key, key))
            return &props->items[i];
    return NULL;
}

const struct bir_props *bir_props_with(struct bir_module *module, const struct bir_props *props, const char *key,
                                       const struct bir_prop *value)
{
    uint32_t old_count = props ? props->count : 0;
    struct bir_prop few[INSERTION_SORT_COUNT];
    struct bir_prop *items = few;
    if (old_count >= INSERTION_SORT_COUNT) {
        items = bir_arena_alloc_array(&module->arena, BIR_MEM_PROPERTIES, (size_t)old_count + 1, sizeof(*items));
        if (!items)
            return NULL;
    }
    uint32_t count = 0;
    for (uint32_t i = 0; i < old_count; i++)
        if (!bir_str_is(props->items[i].key, key))
            items[count++] = props->items[i];
    if (value) {
        items[count] = *value;
        items[count].key = bir_intern_cstr(&module->strings, key);
        if (!items[count++].key)
            return NULL;
    }
    return bir_props_get(module, items, count);
}
