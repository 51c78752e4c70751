/*
 * Results by node, so that walks over shared subtrees stay linear. Internal to lib/pelican.
 *
 * The first PELICAN_MEMO_FREE_VISITS nodes of a walk are not remembered: nearly every expression of a real module is a
 * single affine node, and for those a table would cost more than the walk.
 */
#ifndef BIR_PELICAN_MEMO_H
#define BIR_PELICAN_MEMO_H

#include "base/map.h"
#include "pelican/expr.h"

#define PELICAN_MEMO_FREE_VISITS 64

/* Deepest nesting any walk follows; readers refuse documents far shallower. */
#define PELICAN_MAX_DEPTH 2048

struct pelican_memo {
    struct bir_arena arena;
    struct bir_map map; /* node -> result object of the walk */
    uint32_t visits;
};

static inline void pelican_memo_init(struct pelican_memo *memo)
{
    *memo = (struct pelican_memo){ 0 };
    bir_arena_init(&memo->arena, 0);
}

static inline void pelican_memo_deinit(struct pelican_memo *memo)
{
    bir_arena_deinit(&memo->arena);
}

/* The remembered result, or NULL. Counts a visit. */
static inline void *pelican_memo_get(struct pelican_memo *memo, const struct pelican_expr *e)
{
    memo->visits++;
    return bir_map_get(&memo->map, e);
}

/* Remembers a copy of the result once the walk is long enough; false on allocation failure. */
static inline bool pelican_memo_put(struct pelican_memo *memo, const struct pelican_expr *e, const void *result,
                                    size_t size)
{
    if (memo->visits <= PELICAN_MEMO_FREE_VISITS)
        return true;
    void *copy = bir_arena_alloc(&memo->arena, BIR_MEM_TABLES, size);
    if (!copy)
        return false;
    memcpy(copy, result, size);
    return bir_map_put(&memo->map, &memo->arena, e, copy);
}

#endif
