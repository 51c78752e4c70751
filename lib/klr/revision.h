/* Which revision of the format a foreign file is likely to have (klr-format.md 7). Private to lib/klr. */
#ifndef KLR_REVISION_H
#define KLR_REVISION_H

#include "klr/schema.h"

/* Bytes of the file from the fault on, in which the next statement may betray the revision. */
struct klr_evidence {
    const uint8_t *bytes;
    size_t len;
};

/* Hint for a value of `type` that announces `count` fields, or that carries type tag `tag`. NULL on allocation failure.
 */
const char *klr_revision_of_count(struct bir_arena *arena, struct klr_evidence rest, enum klr_type type,
                                  uint64_t count);
const char *klr_revision_of_tag(struct bir_arena *arena, struct klr_evidence rest, enum klr_type type, uint32_t tag);

#endif
