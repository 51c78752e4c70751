/* Names that somebody may have meant who wrote another one. */
#ifndef BIR_BASE_NEAR_H
#define BIR_BASE_NEAR_H

#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"

#define BIR_NEAR_NAMES 3

struct bir_near {
    const char *wanted;
    size_t wanted_len;
    size_t count;
    struct {
        const char *name; /* borrowed */
        size_t len;
        size_t distance;
    } best[BIR_NEAR_NAMES]; /* nearest first, then in the order of the offers */
};

/* wanted is borrowed and need not end with a NUL. */
void bir_near_init(struct bir_near *near, const char *wanted, size_t len);

/* Keeps the name (borrowed) when it is near and among the nearest; the same text counts once. */
void bir_near_offer(struct bir_near *near, const char *name, size_t len);

/* "a", "a or b", "a, b or c": each quoted as `quote` says (may be ""); nothing when no name is near. */
void bir_near_write(const struct bir_near *near, const char *quote, struct bir_buf *out);

/* "did you mean a or b?" in the arena, or `otherwise` when no name is near; NULL when there is no memory. */
const char *bir_near_hint(const struct bir_near *near, struct bir_arena *arena, const char *otherwise);

#endif
