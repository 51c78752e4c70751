/* Names that nothing has yet. */
#ifndef BIR_PASSES_FREE_NAME_H
#define BIR_PASSES_FREE_NAME_H

#include "base/map.h"
#include "base/str.h"

/* The numbers given out so far. Zeroed it is empty; one serves one `taken` map. */
struct bir_free_names {
    struct bir_map last; /* base -> last number, as a pointer-sized integer */
};

/* The first of base, "base-2", "base-3", ... that `taken` (names to anything) has not. The caller enters it there. NULL
 * on allocation failure, and when base is NULL, so that a failed bir_intern_printf can be passed on. */
const struct bir_str *bir_free_name(struct bir_free_names *names, struct bir_strtab *strings, struct bir_arena *scratch,
                                    const struct bir_map *taken, const struct bir_str *base);

#endif
