/*
 * Growable array in an arena. Declare with BIR_VEC(type); a zeroed vector is empty and valid.
 *
 *     BIR_VEC(struct bir_block *) blocks = { 0 };
 *     if (!bir_vec_push(arena, &blocks, block)) return bir_arena_failure(arena);
 */
#ifndef BIR_BASE_VEC_H
#define BIR_BASE_VEC_H

#include "base/arena.h"

#define BIR_VEC(type)                                                                                                  \
    struct {                                                                                                           \
        type *items;                                                                                                   \
        uint32_t count;                                                                                                \
        uint32_t capacity;                                                                                             \
    }

/* Makes room for one more item of item_size bytes; false on failure (see arena->failure). */
bool bir_vec_reserve_one(struct bir_arena *arena, void **items, uint32_t count, uint32_t *capacity,
                         size_t item_size) BIR_MUST_CHECK;

#define bir_vec_push(arena, vec, ...)                                                                                  \
    ((vec)->count < (vec)->capacity || bir_vec_reserve_one((arena), (void **)&(vec)->items, (vec)->count,              \
                                                           &(vec)->capacity, sizeof(*(vec)->items))                    \
         ? ((vec)->items[(vec)->count++] = (__VA_ARGS__), true)                                                        \
         : false)

#endif
